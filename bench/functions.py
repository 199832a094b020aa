"""``python -m bench functions``: each function's time beside NumPy's, at three sizes, worst first."""

from __future__ import annotations

import argparse
import ast
import statistics
import time
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy
from rich.markup import escape
from rich.progress import track
from rich.table import Table

from bench import calls, options, place, report, timing

TARGET = 3.0
"""The target: at most this many times NumPy's time."""
GRACE = 2e-5
"""Seconds that a call may take more than NumPy, whatever its size: the cost of a view."""
CHECKED = 10**6
"""The size at which the target is checked."""
PATIENCE = 0.1
"""The most seconds for all rounds of one call."""
FEWEST, MOST = 3, 7
ENDLESS = 0.5
"""A call that takes longer, in seconds, is measured once."""
COMPARED = 10**4
"""The approximate number of elements of a result that are compared with NumPy's."""


@dataclass(frozen=True)
class Timed:
    """One function at one size: seconds a call, and the paired ratio."""

    size: int
    function: str
    numpy: timing.Summary
    tnp: timing.Summary
    ratio: float

    @property
    def misses(self) -> bool:
        """Whether the function misses the target, for a reason that could be mended."""
        late = self.ratio > TARGET and self.tnp.median - self.numpy.median > GRACE
        return late and self.function not in calls.VIEWS_IN_NUMPY


def result_of(code: str, names: dict[str, Any]) -> Any:
    """Return the result of a call; None for a statement."""
    if isinstance(ast.parse(code).body[-1], ast.Expr):
        return eval(code, dict(names))
    exec(code, dict(names))
    return None


def leaves(value: Any) -> list[numpy.ndarray]:
    """Return the arrays in a result as NumPy arrays."""
    import tnp

    if isinstance(value, (list, tuple)):
        return [leaf for item in value for leaf in leaves(item)]
    return [] if value is None else [tnp.asnumpy(value)]


def check(function: str, code: str, theirs: dict[str, Any], ours: dict[str, Any]) -> float:
    """Run both once; return the seconds that this took.

    The run ends if the result, or an array that was written to, differs from NumPy's.
    """
    for names in (theirs, ours):
        names["o"][:] = names["x"]
    start = time.perf_counter()
    expected, actual = (result_of(code, names) for names in (theirs, ours))
    once = time.perf_counter() - start
    if function in calls.UNLIKE or function.startswith("random."):
        return once
    for wanted, got in zip(leaves([expected, theirs["o"]]), leaves([actual, ours["o"]]), strict=True):
        if wanted.shape != got.shape:
            raise AssertionError(f"{function}: the shape is {got.shape}, not {wanted.shape}")
        step = max(wanted.size // COMPARED, 1)
        rtol = 1e-5 if wanted.dtype == numpy.float32 else 1e-6  # sums of a thousand, in another order
        numpy.testing.assert_allclose(
            got.reshape(-1)[::step], wanted.reshape(-1)[::step], rtol=rtol, atol=1e-9, err_msg=function
        )
    return once


def compare(
    size: int, function: str, code: str, theirs: dict[str, Any], ours: dict[str, Any], device: str = place.HOST
) -> Timed:
    """Measure one call, in as many rounds as the time limit allows."""
    import tnp

    with warnings.catch_warnings(), tnp.device(device):
        warnings.simplefilter("ignore")
        once = check(function, code, theirs, ours)
        rounds = min(max(int(PATIENCE / max(once, timing.SAMPLE_SECONDS)), FEWEST), MOST) if once < ENDLESS else 1
        contestants = [timing.Contestant("NumPy", code, theirs), timing.Contestant("tnp", code, ours)]
        least = timing.SAMPLE_SECONDS / 2 if once < PATIENCE else 0.0
        samples = timing.measure(contestants, rounds, least=least, clock=place.clock(device))
    return Timed(
        size,
        function,
        timing.Summary.of(samples["NumPy"]),
        timing.Summary.of(samples["tnp"]),
        timing.paired_ratio(samples["tnp"], samples["NumPy"]),
    )


def table(results: Sequence[Timed], size: int, most: int) -> Table:
    """The worst functions of one size, those above the target in red."""
    out = report.plain_table(f"{size:,} elements, worst first")
    out.add_column("function")
    for name in ("NumPy", "tnp", "/ NumPy"):
        out.add_column(name, justify="right")
    worst = sorted((row for row in results if row.size == size), key=lambda row: -row.ratio)
    for row in worst[:most]:
        out.add_row(
            escape(row.function),
            report.seconds(row.numpy.median),
            report.seconds(row.tnp.median),
            report.significant(row.ratio),
            style="red" if row.misses else "",
        )
    return out


def summary(results: Sequence[Timed], size: int) -> str:
    """How many functions of one size are slower than the target, and than NumPy."""
    rows = [row for row in results if row.size == size]
    ratios = [row.ratio for row in rows]
    slow, slower, missed = sum(r > TARGET for r in ratios), sum(r > 1 for r in ratios), sum(r.misses for r in rows)
    if not ratios:
        return f"{size:,} elements: nothing measured"
    middle = statistics.median(ratios)
    return (
        f"{size:,} elements: {slow} of {len(ratios)} above {TARGET:g} times NumPy ({missed} of them data, not the "
        f"price of a call or a view), {slower} above 1; "
        f"median {report.significant(middle)}, worst {report.significant(max(ratios))}"
    )


def sizes(text: str) -> list[int]:
    """``100,10000`` as numbers."""
    found = [int(size) for size in text.split(",")]
    if min(found) < 100:
        raise argparse.ArgumentTypeError("sizes below 100 leave some calls without elements")
    return found


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command's options."""
    parser.add_argument(
        "--sizes",
        type=sizes,
        default=[10**2, 10**4, 10**6],
        metavar="N,N",
        help="elements (default: 100,10000,1000000)",
    )
    parser.add_argument(
        "--only", type=lambda text: text.split(","), default=[], metavar="A,B", help="functions; 'fft.' is all of fft"
    )
    parser.add_argument("--worst", type=int, default=40, metavar="N", help="rows to print of each size (default: 40)")
    place.add_argument(parser)
    parser.add_argument("--json", action="store_true", help="print the results as JSON instead of tables")
    options.add_check(parser)
    options.add_out(parser)


def run(chosen: argparse.Namespace) -> int:
    """Measure the functions, print the worst and write all as JSON."""
    import tnp

    facts = report.machine(chosen.device)
    console = report.console(stderr=chosen.json)
    results = []
    for size in chosen.sizes:
        arrays = calls.values(size)
        theirs, ours = calls.names(numpy, arrays), calls.names(tnp, arrays, device=chosen.device)
        selected = calls.chosen(chosen.only, chosen.device, size)
        for function, code in track(selected.items(), description=f"{size:,}", console=console, transient=True):
            results.append(compare(size, function, code, theirs, ours, chosen.device))
    path = report.write_json(chosen.out / "functions.json", results, facts)
    if chosen.json:
        print(path.read_text())
    else:
        for size in chosen.sizes:
            console.print(table(results, size, chosen.worst))
        for size in chosen.sizes:
            print(summary(results, size))
        print(report.headline(facts))
        print(path)
    missed = any(row.misses for row in results if row.size == CHECKED)
    return 1 if chosen.check and missed else 0
