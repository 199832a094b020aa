"""``python -m bench memory``: the peak memory of each function, compared with NumPy's, worst first.

memray counts all allocations, by NumPy, torch and the libraries below them, whether or not their pages were touched.
Resident memory would say less: memory that was freed and kept hides what a call allocates. The work space that a BLAS
allocates at its first call, and keeps, is not counted. With ``--device`` tnp's memory is the device's, as torch's
allocator counts it.
"""

from __future__ import annotations

import argparse
import functools
import importlib.util
import tempfile
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy
from rich.markup import escape
from rich.progress import track
from rich.table import Table

from bench import calls, functions, options, place, report

TARGET = 2.0
"""The target: at most this many times NumPy's memory."""
EXPLAINED = {"add, where=", "nanmedian, axis"}
"""Calls whose docstrings say that they need more memory."""
LEAST = 1 << 17
"""Fewer bytes count as this many: NumPy's buffers of 8192 elements, small results, Python's own objects."""


@dataclass(frozen=True)
class Peak:
    """A function's peak memory by NumPy and by tnp, in bytes, without the arguments but with the results."""

    size: int
    function: str
    numpy: int
    tnp: int

    @property
    def ratio(self) -> float:
        """tnp's bytes over NumPy's, either at least `LEAST`."""
        return max(self.tnp, LEAST) / max(self.numpy, LEAST)

    @property
    def misses(self) -> bool:
        """Whether the function misses the target, for a reason that could be mended."""
        more = max(self.tnp, LEAST) > TARGET * max(self.numpy, LEAST) + LEAST
        return more and self.function not in calls.VIEWS_IN_NUMPY | EXPLAINED


def peak(call: Callable[[], Any]) -> int:
    """Return the most bytes that a call has allocated at one time, in its second run: the first loads code."""
    import memray

    call()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "allocations"
        with memray.Tracker(path):
            result = call()
        del result
        with memray.FileReader(path) as reader:
            return reader.metadata.peak_memory


def compare(
    size: int, function: str, code: str, theirs: dict[str, Any], ours: dict[str, Any], device: str = place.HOST
) -> Peak:
    """Measure the memory of one call by NumPy and by tnp."""
    import tnp

    count = peak if device == place.HOST else functools.partial(place.peak, device)
    with warnings.catch_warnings(), tnp.device(device):
        warnings.simplefilter("ignore")
        by_numpy = peak(lambda: functions.result_of(code, theirs))
        by_tnp = count(lambda: functions.result_of(code, ours))
    return Peak(size, function, by_numpy, by_tnp)


def table(results: Sequence[Peak], most: int) -> Table:
    """Return a table of the functions with the largest ratios to NumPy; those above the target are red."""
    out = report.plain_table(f"{results[0].size:,} elements, worst first" if results else "nothing measured")
    out.add_column("function")
    for name in ("NumPy MB", "tnp MB", "/ NumPy"):
        out.add_column(name, justify="right")
    for row in sorted(results, key=lambda row: -row.ratio)[:most]:
        out.add_row(
            escape(row.function),
            f"{row.numpy / 1e6:.2f}",
            f"{row.tnp / 1e6:.2f}",
            report.significant(row.ratio),
            style="red" if row.misses else "",
        )
    return out


def summary(results: Sequence[Peak]) -> str:
    """How many functions take more than the target, and more than NumPy."""
    above, missed, more = (
        sum(map(test, results)) for test in (lambda r: r.ratio > TARGET, lambda r: r.misses, lambda r: r.ratio > 1.01)
    )
    return (
        f"{above} of {len(results)} functions above {TARGET:g} times NumPy's memory ({missed} of them neither views in "
        f"NumPy nor explained), {more} above it"
    )


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command's options."""
    parser.add_argument("--size", type=int, default=10**6, metavar="N", help="elements (default: %(default)s)")
    parser.add_argument(
        "--only", type=lambda text: text.split(","), default=[], metavar="A,B", help="functions; 'fft.' is all of fft"
    )
    parser.add_argument("--worst", type=int, default=40, metavar="N", help="rows to print (default: %(default)s)")
    place.add_argument(parser)
    options.add_check(parser)
    options.add_out(parser)


def run(chosen: argparse.Namespace) -> int:
    """Count for each function, print the worst and write all as JSON."""
    if importlib.util.find_spec("memray") is None:
        print("memray counts the allocations: pip install '.[memory]'")
        return 1
    import tnp

    arrays = calls.values(chosen.size)
    theirs, ours = calls.names(numpy, arrays), calls.names(tnp, arrays, device=chosen.device)
    selected = calls.chosen(chosen.only, chosen.device)
    rows = track(selected.items(), console=report.console(stderr=True), transient=True)
    results = [compare(chosen.size, function, code, theirs, ours, chosen.device) for function, code in rows]
    report.console().print(table(results, chosen.worst))
    print(summary(results))
    facts = report.machine(chosen.device)
    print(report.headline(facts))
    print(report.write_json(chosen.out / "memory.json", results, facts))
    return 1 if chosen.check and any(row.misses for row in results) else 0
