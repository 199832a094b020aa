"""``python -m bench programs``: NumPy programs as they are, run by NumPy and by tnp, worst first.

All run in one process, in turn: a program's file is loaded by Python and as ``python -m tnp`` loads it, and its
``main(size)`` is timed without imports, its printing caught.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib.util
import io
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.progress import track
from rich.table import Table

from bench import options, place, report, timing

FOLDER = Path(__file__).parent.parent / "examples" / "programs"
TARGETS = {"small": 3.0, "loop": 5.0}
"""Kind -> the target: at most this many times NumPy's time. `bench sigmoid` has the target for large arrays."""


@dataclass(frozen=True)
class Program:
    """A program, the size that it is timed with, and the kind of its work at that size.

    The kinds: operations on "large" arrays, on "small" ones, or a "loop" over single elements.
    """

    name: str
    kind: str
    size: int


PROGRAMS = [
    Program("game_of_life", "large", 512),
    Program("mandelbrot", "large", 256),
    Program("k_means", "large", 50_000),
    Program("pagerank", "large", 1000),
    Program("image_filters", "large", 512),
    Program("fft_filter", "large", 2**18),
    Program("stock_simulation", "large", 4000),
    Program("heat_equation", "large", 300),
    Program("sieve", "large", 3_000_000),
    Program("weather_table", "large", 100_000),
    Program("floyd_warshall", "small", 60),
    Program("n_body", "small", 100),
    Program("runge_kutta", "small", 200),
    Program("neural_network", "small", 256),
    Program("gram_schmidt", "small", 24),
    Program("kalman_filter", "small", 200),
    Program("matrix_factorisation", "small", 20),
    Program("ising", "loop", 10),
    Program("levenshtein", "loop", 40),
]


@dataclass(frozen=True)
class Run:
    """A program's seconds by NumPy and by tnp; the ratio is paired within rounds."""

    program: str
    kind: str
    size: int
    numpy: timing.Summary
    tnp: timing.Summary
    ratio: float


def loaded(program: Program) -> Callable[[int], None]:
    """Run a program's file as a module; return its ``main``."""
    path = FOLDER / f"{program.name}.py"
    spec = importlib.util.spec_from_file_location(program.name, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.main


def output(main: Callable[[int], None], size: int) -> str:
    """Return the text that a program prints."""
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        main(size)
    return printed.getvalue()


def compare(program: Program, rounds: int, device: str = place.HOST, size: int | None = None) -> Run:
    """Time one program each way."""
    from tnp._program import import_hook

    size = program.size if size is None else size
    by_numpy = loaded(program)
    try:
        import_hook.install([str(FOLDER)], device)
        by_tnp = loaded(program)
        contestants = [
            timing.Contestant("numpy", lambda: output(by_numpy, size)),
            timing.Contestant("tnp", lambda: output(by_tnp, size)),
        ]
        samples = timing.measure(contestants, rounds, clock=place.clock(device))
    finally:
        import_hook.remove()
    summaries = {name: timing.Summary.of(times) for name, times in samples.items()}
    ratio = timing.paired_ratio(samples["tnp"], samples["numpy"])
    return Run(program.name, program.kind, size, summaries["numpy"], summaries["tnp"], ratio)


def worst_first(results: list[Run]) -> list[Run]:
    """The largest ratio first."""
    return sorted(results, key=lambda run: -run.ratio)


def missed(results: list[Run]) -> list[Run]:
    """The programs above the target of their kind."""
    return [run for run in results if run.ratio > TARGETS.get(run.kind, float("inf"))]


def table(results: list[Run]) -> Table:
    """The programs, worst first, those above their target in red."""
    out = report.plain_table("NumPy programs, unchanged: tnp over NumPy")
    out.add_column("program")
    out.add_column("kind")
    for name in ("size", "NumPy", "±", "tnp", "±", "tnp / NumPy"):
        out.add_column(name, justify="right")
    late = missed(results)
    for run in worst_first(results):
        out.add_row(
            run.program,
            run.kind,
            f"{run.size:,}",
            report.seconds(run.numpy.median),
            f"{run.numpy.spread:.0%}",
            report.seconds(run.tnp.median),
            f"{run.tnp.spread:.0%}",
            report.significant(run.ratio),
            style="red" if run in late else None,
        )
    return out


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command's options."""
    options.add_repeats(parser, 5)
    place.add_argument(parser)
    parser.add_argument(
        "--only", nargs="+", metavar="NAME", choices=[program.name for program in PROGRAMS], help="these programs only"
    )
    options.add_check(parser)
    options.add_out(parser)


def run(chosen: argparse.Namespace) -> int:
    """Time every program and print the table."""
    console = report.console()
    facts: dict[str, Any] = report.machine(chosen.device)
    picked = [program for program in PROGRAMS if not chosen.only or program.name in chosen.only]
    results = [
        compare(program, chosen.repeats, chosen.device)
        for program in track(picked, "programs", console=console, transient=True)
    ]
    console.print(table(results))
    print(report.headline(facts))
    print("one process, in turn, imports not counted")
    limits = ", ".join(f"{kind} {limit:g}" for kind, limit in TARGETS.items())
    print(f"targets, times NumPy: {limits}; missed by {len(missed(results))} of {len(results)}")
    print(report.write_json(chosen.out / "programs.json", worst_first(results), facts, targets=TARGETS))
    return 1 if chosen.check and missed(results) else 0
