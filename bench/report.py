"""The report of a run: the measured rows and the machine, as a table, JSON and CSV."""

from __future__ import annotations

import csv
import importlib.metadata
import json
import os
import platform
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from rich import box
from rich.console import Console
from rich.table import Table

from bench import place
from bench.timing import Samples, Summary, paired_ratio

PACKAGES = ["tnp", "numpy", "torch", "jax", "tensorflow", "tensorflow-cpu"]
BASELINE = "NumPy"
NOTES = """\
time: median per call; ±: half the interquartile range of the rounds
/ NumPy, / torch: its time over theirs, the median of the ratios within each round; less is faster
first call: warm-up and compiling, no part of the time
"""


@dataclass(frozen=True)
class Row:
    """One curve at one size. Times are in seconds; ratios are paired within rounds."""

    size: int
    curve: str
    first_call: float
    steady: Summary
    ratio_to_numpy: float
    ratio_to_torch: float | None
    samples: list[float]


def rows(size: int, samples: Samples, first_calls: dict[str, float], pairs: dict[str, str]) -> list[Row]:
    """A row for each curve of one size; ``pairs`` names, for some curves, the raw torch curve to compare with."""
    return [
        Row(
            size=size,
            curve=curve,
            first_call=first_calls[curve],
            steady=Summary.of(times),
            ratio_to_numpy=paired_ratio(times, samples[BASELINE]),
            ratio_to_torch=paired_ratio(times, samples[pairs[curve]]) if curve in pairs else None,
            samples=times,
        )
        for curve, times in samples.items()
    ]


def version(package: str) -> str | None:
    """The installed version of ``package``, or None."""
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


def processor() -> str:
    """The processor's own name where Linux tells it."""
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        for line in cpuinfo.read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def machine(device: str = place.HOST) -> dict[str, Any]:
    """Return what the figures depend on: processor, cores, threads, accelerator, device, versions and date."""
    import torch

    return {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "system": platform.platform(),
        "cpu": processor(),
        "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
        "torch_threads": torch.get_num_threads(),
        "load_average": os.getloadavg()[0] if hasattr(os, "getloadavg") else None,
        "cuda": torch.cuda.get_device_name() if torch.cuda.is_available() else None,
        "device": device,
        "device_name": place.name(device),
        "python": platform.python_version(),
        "versions": {package: found for package in PACKAGES if (found := version(package))},
    }


def headline(facts: dict[str, Any]) -> str:
    """The machine in one line."""
    versions = ", ".join(f"{name} {number}" for name, number in facts["versions"].items())
    accelerator = f", {facts['cuda']}" if facts["cuda"] else ""
    if facts.get("device_name"):
        accelerator = f"; on {facts['device']}, {facts['device_name']}"
    return f"{facts['cpu']}, {facts['cores']} cores{accelerator}; Python {facts['python']}, {versions}"


def seconds(value: float) -> str:
    """Format a time with three significant digits and a fitting unit."""
    if value == 0:
        return "0 s"
    for unit, scale in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        # From 0.9995 on, three digits round up to 1.00 of the greater unit.
        if abs(value) >= 0.9995 * scale:
            return f"{significant(value / scale)} {unit}"
    return f"{significant(value / 1e-9)} ns"


def significant(value: float) -> str:
    """Three significant digits without an exponent."""
    digits = f"{value:.3g}"
    return f"{float(digits):.0f}" if "e" in digits else f"{value:#.3g}".rstrip(".")


def power(size: int) -> str:
    """A size as a power of two where it is one."""
    return f"2^{size.bit_length() - 1}" if size > 0 and size & (size - 1) == 0 else f"{size:,}"


def console(**options: Any) -> Console:
    """Return the console on which a benchmark prints; files and pipes get lines of 120 characters."""
    wide = Console(**options)
    return wide if wide.is_terminal else Console(**options, width=120)


def plain_table(title: str) -> Table:
    """An empty table with rules between sections only."""
    return Table(title=title, title_justify="left", title_style="bold", box=box.SIMPLE, pad_edge=False)


def table(results: Sequence[Row], title: str) -> Table:
    """The rows, grouped by size."""
    out = plain_table(title)
    out.add_column("size", justify="right")
    out.add_column("curve")
    for name in ("time", "±", "/ NumPy", "/ torch", "first call"):
        out.add_column(name, justify="right")
    for number, row in enumerate(results):
        first_of_size = number == 0 or results[number - 1].size != row.size
        if first_of_size and number:
            out.add_section()
        out.add_row(
            power(row.size) if first_of_size else "",
            row.curve,
            seconds(row.steady.median),
            f"{row.steady.spread:.0%}",
            significant(row.ratio_to_numpy),
            "" if row.ratio_to_torch is None else significant(row.ratio_to_torch),
            seconds(row.first_call),
        )
    return out


def write_json(path: Path, results: Sequence[Any], facts: dict[str, Any], **more: Any) -> Path:
    """The rows with every sample, and the machine."""
    document = {"machine": facts, **more, "rows": [asdict(row) for row in results]}
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(document, indent=1) + "\n")
    return path


def write_csv(path: Path, results: Sequence[Row]) -> Path:
    """The rows without their samples, a line each; times in seconds."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", newline="") as file:
        columns = ["size", "curve", *Summary.__dataclass_fields__, "ratio_to_numpy", "ratio_to_torch", "first_call"]
        writer = csv.DictWriter(file, columns, extrasaction="ignore")
        writer.writeheader()
        writer.writerows(asdict(row) | asdict(row.steady) for row in results)
    return path
