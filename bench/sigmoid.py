"""``python -m bench sigmoid``: 1 / (1 + exp(-x)) in float32 over a sweep of sizes, every curve checked, then timed."""

from __future__ import annotations

import argparse
import re
import time
from typing import Any

import numpy as np
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from bench import curves, options, peers, plots, report, timing

SIZES = [2**0, 2**5, 2**10, 2**15, 2**20, 2**24]
TITLE = "sigmoid, 1. / (1. + np.exp(-x)), float32"


def sigmoid(x: Any, xp: Any) -> Any:
    """The workload, as a NumPy user writes it."""
    return 1.0 / (1.0 + xp.exp(-x))


def parse_sizes(text: str) -> list[int]:
    """``"1,2^5,2**10"`` as sizes, ascending and without repeats."""
    sizes = set()
    for part in text.split(","):
        match = re.fullmatch(r"\s*([1-9]\d*)(?:(?:\^|\*\*)(\d+))?\s*", part)
        if match is None:
            raise argparse.ArgumentTypeError(f"{part!r} is no size: write 1024 or 2^10")
        sizes.add(int(match[1]) ** int(match[2] or 1))
    return sorted(sizes)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command's options."""
    parser.add_argument("--sizes", type=parse_sizes, default=SIZES, help="elements, such as 1,2^10,2^20")
    parser.add_argument(
        "--device", choices=["cpu", "cuda"], help="cpu: leave CUDA out; cuda: insist on it (default: where it is)"
    )
    parser.add_argument("--only", default="", metavar="TEXT", help="NumPy's curve and those whose names hold it")
    options.add_repeats(parser, 30)
    options.add_out(parser)


def first_call(curve: curves.Curve, call: curves.Call, expected: np.ndarray) -> float:
    """Seconds of the first call, compiling included; SystemExit when its result is not NumPy's."""
    start = time.perf_counter()
    result = call()
    elapsed = time.perf_counter() - start
    try:
        np.testing.assert_allclose(curve.to_numpy(result), expected, rtol=1e-5)
    except AssertionError as error:
        raise SystemExit(f"{curve.name} is wrong at {expected.size} elements:{error}") from None
    return elapsed


def sweep(sizes: list[int], repeats: int, cuda: bool, only: str, console: Console) -> list[report.Row]:
    """Every curve at every size; of the rivals, those whose names hold ``only``."""
    found = [each for each in curves.curves(sigmoid, cuda) if only in each.name or each.name == report.BASELINE]
    names = {curve.name for curve in found}
    pairs = {curve.name: curve.pair for curve in found if curve.pair in names}
    results: list[report.Row] = []
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True) as progress:
        task = progress.add_task("sigmoid", total=len(sizes) * repeats * len(found))
        for size in sizes:
            x = np.random.default_rng(0).standard_normal(size, dtype=np.float32)
            expected = sigmoid(x, np)
            progress.update(task, description=f"{report.power(size)}: warm-up")
            first_calls, contestants = {}, []
            for curve in found:
                call = curve.prepare(x)
                first_calls[curve.name] = first_call(curve, call, expected)
                contestants.append(timing.Contestant(curve.name, call))
            progress.update(task, description=f"{report.power(size)}: {repeats} rounds")
            samples = timing.measure(contestants, repeats, after_sample=lambda: progress.advance(task))
            results += report.rows(size, samples, first_calls, pairs)
    return results


def run(chosen: argparse.Namespace) -> int:
    """Sweep, print the table, and write JSON, CSV and the picture."""
    import torch

    console = report.console()
    cuda = torch.cuda.is_available()
    if chosen.device == "cuda" and not cuda:
        raise SystemExit("--device cuda: torch finds no CUDA device here")
    facts = report.machine()
    results = sweep(chosen.sizes, chosen.repeats, cuda and chosen.device != "cpu", chosen.only, console)
    console.print(report.table(results, TITLE))
    print(report.NOTES + peers.note())
    print(report.headline(facts))
    written = [
        report.write_json(chosen.out / "sigmoid.json", results, facts, workload=TITLE),
        report.write_csv(chosen.out / "sigmoid.csv", results),
        plots.sweep(chosen.out / "sigmoid.png", results, TITLE, report.headline(facts)),
    ]
    for path in written:
        print(path)
    return 0
