"""``python -m bench small``: single elements and small arrays by NumPy and by tnp."""

from __future__ import annotations

import argparse
import time
from dataclasses import dataclass
from typing import Any

from rich.markup import escape
from rich.progress import track
from rich.table import Table

from bench import options, place, report, timing

SIZES = [3, 16, 100, 1000]
ELEMENTS = [
    "x[i]",
    "x[i] = 2.5",
    "m[i, i]",
    "m[i, i] = 2.5",
    "s * s",
    "s + 1.0",
    "s < 1.0",
    "float(s)",
    "for j in r: x[j] = x[j - 1] + x[j]",
    "sum(x)",
]
ARRAYS = [
    "x + y",
    "x * 2.0",
    "x < y",
    "np.sqrt(x)",
    "np.where(c, x, y)",
    "x[1:]",
    "x.sum()",
    "x.max()",
    "np.dot(x, y)",
    "np.linalg.norm(x)",
    "np.concatenate((x, y))",
    "np.zeros(3)",
    "np.array([s, s, 1.0])",
]


@dataclass(frozen=True)
class Result:
    """A statement at one size: seconds by NumPy and by tnp, and their paired ratio."""

    size: int
    statement: str
    numpy: timing.Summary
    tnp: timing.Summary
    ratio: float


def names(np: Any, size: int) -> dict[str, Any]:
    """Return the namespace of the statements for one library."""
    x = np.array([float(i % 7 + 1) for i in range(size)])
    y = x + 1.0
    matrix = np.array([[1.0, 2.0], [3.0, 4.0]])
    return {"np": np, "x": x, "y": y, "c": x < y, "m": matrix, "i": 1, "s": x[1], "r": range(1, size)}


def compare(statement: str, size: int, rounds: int, clock: timing.Clock = time.perf_counter) -> Result:
    """Time one statement by both; tnp's arrays are on its default device."""
    import numpy

    import tnp

    contestants = [
        timing.Contestant("numpy", statement, names(numpy, size)),
        timing.Contestant("tnp", statement, names(tnp, size)),
    ]
    samples = timing.measure(contestants, rounds, least=5e-4, clock=clock)
    return Result(
        size,
        statement,
        timing.Summary.of(samples["numpy"]),
        timing.Summary.of(samples["tnp"]),
        timing.paired_ratio(samples["tnp"], samples["numpy"]),
    )


def table(results: list[Result]) -> Table:
    """The statements, grouped by size."""
    out = report.plain_table("single elements and small arrays, tnp over NumPy, float64")
    out.add_column("size", justify="right")
    out.add_column("statement")
    for name in ("NumPy µs", "tnp µs", "ratio"):
        out.add_column(name, justify="right")
    for number, row in enumerate(results):
        first_of_size = number == 0 or results[number - 1].size != row.size
        if first_of_size and number:
            out.add_section()
        out.add_row(
            str(row.size) if first_of_size else "",
            escape(row.statement),
            f"{row.numpy.median * 1e6:.3f}",
            f"{row.tnp.median * 1e6:.3f}",
            f"{row.ratio:.1f}",
        )
    return out


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command's options."""
    place.add_argument(parser)
    options.add_repeats(parser, 15)
    options.add_out(parser)


def run(chosen: argparse.Namespace) -> int:
    """Measure, and print the table."""
    import tnp

    console = report.console()
    facts = report.machine(chosen.device)
    clock = place.clock(chosen.device)
    jobs = [(SIZES[0], statement) for statement in ELEMENTS]
    jobs += [(size, statement) for size in SIZES for statement in ARRAYS]
    with tnp.device(chosen.device):
        results = [
            compare(statement, size, chosen.repeats, clock)
            for size, statement in track(jobs, "small", console=console, transient=True)
        ]
    console.print(table(results))
    print(report.headline(facts))
    print(report.write_json(chosen.out / "small.json", results, facts))
    return 0
