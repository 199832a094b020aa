"""``python -m bench overhead``: the time that tnp adds to the same raw torch call, by operation, paired in one run."""

from __future__ import annotations

import argparse
import itertools
import time
from dataclasses import dataclass
from typing import Any

from rich.markup import escape
from rich.progress import track
from rich.table import Table

from bench import options, place, report, timing

TARGET = 0.5e-6
SIZES = [1, 2**10]


@dataclass(frozen=True)
class Pair:
    """The same operation written for tnp and for torch."""

    tnp: str
    torch: str


def same(statement: str) -> Pair:
    """Return a pair with the same code for both libraries."""
    return Pair(statement, statement)


PAIRS = [
    same("x + y"),
    same("x * y"),
    same("x + 1."),
    same("-x"),
    same("x < y"),
    same("x @ y"),
    same("add(x, y)"),
    same("exp(x)"),
    Pair("sum(x, axis=0)", "sum(x, dim=0)"),
    same("x.sum()"),
    same("x[1:5]"),
    same("x[i]"),
]


@dataclass(frozen=True)
class Overhead:
    """One operation at one size: seconds a call, and the paired difference and ratio."""

    size: int
    operation: str
    tnp: timing.Summary
    torch: timing.Summary
    difference: float
    ratio: float


def names(size: int, device: str = place.HOST) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the namespaces for both sides' statements; their arrays hold the same values."""
    import torch

    import tnp

    x, y = torch.rand(size, device=device), torch.rand(size, device=device)
    ours = {"x": tnp.asarray(x), "y": tnp.asarray(y), "add": tnp.add, "exp": tnp.exp, "sum": tnp.sum, "i": 0}
    theirs = {"x": x, "y": y, "add": torch.add, "exp": torch.exp, "sum": torch.sum, "i": 0}
    return ours, theirs


def compare(
    pair: Pair,
    size: int,
    rounds: int,
    ours: dict[str, Any],
    theirs: dict[str, Any],
    clock: timing.Clock = time.perf_counter,
) -> Overhead:
    """Measure one pair."""
    contestants = [timing.Contestant("tnp", pair.tnp, ours), timing.Contestant("torch", pair.torch, theirs)]
    samples = timing.measure(contestants, rounds, least=1e-3, clock=clock)
    return Overhead(
        size=size,
        operation=pair.tnp,
        tnp=timing.Summary.of(samples["tnp"]),
        torch=timing.Summary.of(samples["torch"]),
        difference=timing.paired_difference(samples["tnp"], samples["torch"]),
        ratio=timing.paired_ratio(samples["tnp"], samples["torch"]),
    )


def table(results: list[Overhead]) -> Table:
    """The pairs, grouped by size, those above the target in red."""
    out = report.plain_table("tnp over the same raw torch call, float32")
    out.add_column("size", justify="right")
    out.add_column("operation")
    for name in ("tnp µs", "torch µs", "difference µs", "ratio"):
        out.add_column(name, justify="right")
    for number, row in enumerate(results):
        first_of_size = number == 0 or results[number - 1].size != row.size
        if first_of_size and number:
            out.add_section()
        out.add_row(
            report.power(row.size) if first_of_size else "",
            escape(row.operation),  # rich would take x[i] for markup
            f"{row.tnp.median * 1e6:.2f}",
            f"{row.torch.median * 1e6:.2f}",
            f"{row.difference * 1e6:+.2f}",
            f"{row.ratio:.2f}",
            style="red" if row.difference > TARGET else None,
        )
    return out


def above(results: list[Overhead], target: float = TARGET) -> list[Overhead]:
    """The pairs that miss the target."""
    return [row for row in results if row.difference > target]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command's options."""
    place.add_argument(parser)
    options.add_repeats(parser, 200)
    options.add_check(parser)
    options.add_out(parser)


def run(chosen: argparse.Namespace) -> int:
    """Measure every pair at every size, and print the table."""
    console = report.console()
    facts = report.machine(chosen.device)
    clock = place.clock(chosen.device)
    jobs = list(itertools.product(SIZES, PAIRS))
    results = [
        compare(pair, size, chosen.repeats, *names(size, chosen.device), clock)
        for size, pair in track(jobs, "overhead", console=console, transient=True)
    ]
    console.print(table(results))
    print(report.headline(facts))
    missed = above(results)
    print(f"target: at most {report.seconds(TARGET)} over raw torch; missed by {len(missed)} of {len(results)}")
    print(report.write_json(chosen.out / "overhead.json", results, facts, target=TARGET))
    return 1 if chosen.check and missed else 0
