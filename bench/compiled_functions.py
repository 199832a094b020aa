"""``python -m bench compiled-functions``: each function's time compiled beside eager, and JAX's if it is installed."""

from __future__ import annotations

import argparse
import ast
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy
from rich.markup import escape
from rich.progress import track
from rich.table import Table

from bench import calls, functions, options, peers, report, timing

NOISE = 1.05
"""A compiled function above so many times its eager time is slower."""
BESIDE_JAX = 1.2
PATIENCE = 0.4
"""The most seconds for all rounds of one call."""


@dataclass(frozen=True)
class Timed:
    """One function at one size: medians in seconds, and paired ratios; None where there is nothing to compare."""

    size: int
    function: str
    first: float
    eager: float
    compiled: float
    ratio: float
    jax: float | None = None
    beside_jax: float | None = None
    failed: str = ""


def as_function(code: str, names: dict[str, Any]) -> tuple[Callable[..., Any], list[str]]:
    """Return a call of `calls` as a function of the arrays that it names, and their names."""
    used = {node.id for node in ast.walk(ast.parse(code)) if isinstance(node, ast.Name)}
    arrays = sorted([name for name in used if name != "np" and hasattr(names.get(name), "shape")])
    is_value = isinstance(ast.parse(code).body[-1], ast.Expr)
    scope = {key: value for key, value in names.items() if key not in arrays}
    exec(f"def function({', '.join(arrays)}):\n    {'return ' if is_value else ''}{code}", scope)
    return scope["function"], arrays


def by_jax(code: str, arrays: dict[str, Any]) -> Callable[[], Any] | None:
    """Return the call by ``jax.jit``; None if JAX is not installed or does not take it."""
    jax = peers.jax()
    if jax is None:
        return None
    names = {key: jax.numpy.asarray(v) if isinstance(v, numpy.ndarray) else v for key, v in arrays.items()}
    function, own = as_function(code, {"np": jax.numpy, **names})
    given, jitted = [names[name] for name in own], jax.jit(function)
    try:
        jax.block_until_ready(jitted(*given))
    except Exception:  # it lacks the name, the dtype, or writes
        return None
    return lambda: jax.block_until_ready(jitted(*given))


def compare(size: int, name: str, code: str, arrays: dict[str, Any], ours: dict[str, Any]) -> Timed:
    """Measure one call, eager, compiled and by JAX in turn."""
    import tnp

    function, own = as_function(code, ours)
    compiled = tnp.compile(function)
    given = [ours[each] for each in own]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        start = time.perf_counter()
        try:
            compiled(*given)
        except Exception as error:
            return Timed(size, name, 0.0, 0.0, 0.0, 0.0, failed=f"{type(error).__name__}: {error}")
        first = time.perf_counter() - start
        once = time.perf_counter()
        compiled(*given)
        once = time.perf_counter() - once
        contestants = [
            timing.Contestant("eager", lambda: function(*given)),
            timing.Contestant("compiled", lambda: compiled(*given)),
        ]
        if not name.startswith("random.") and (jitted := by_jax(code, arrays)) is not None:
            contestants.append(timing.Contestant("jax", jitted))
        rounds = min(max(int(PATIENCE / max(3 * once, 3 * timing.SAMPLE_SECONDS)), 3), 15)
        samples = timing.measure(contestants, rounds)
    medians = {key: timing.Summary.of(each).median for key, each in samples.items()}
    return Timed(
        size,
        name,
        first,
        medians["eager"],
        medians["compiled"],
        timing.paired_ratio(samples["compiled"], samples["eager"]),
        medians.get("jax"),
        timing.paired_ratio(samples["compiled"], samples["jax"]) if "jax" in samples else None,
    )


def table(results: Sequence[Timed], size: int, most: int) -> Table:
    """Return the worst functions of one size, those that compiling makes slower in red."""
    out = report.plain_table(f"{size:,} elements, worst first")
    out.add_column("function")
    for title in ("eager", "compiled", "/ eager", "jax.jit", "/ jax.jit"):
        out.add_column(title, justify="right")
    worst = sorted([row for row in results if row.size == size and not row.failed], key=lambda row: -row.ratio)
    for row in worst[:most]:
        out.add_row(
            escape(row.function),
            report.seconds(row.eager),
            report.seconds(row.compiled),
            report.significant(row.ratio),
            "" if row.jax is None else report.seconds(row.jax),
            "" if row.beside_jax is None else report.significant(row.beside_jax),
            style="red" if row.ratio > NOISE else "",
        )
    return out


def summary(results: Sequence[Timed], size: int) -> str:
    """How many functions of one size are slower compiled, and slower than JAX."""
    rows = [row for row in results if row.size == size]
    failed = [f"{row.function} ({row.failed.splitlines()[0][:200]})" for row in rows if row.failed]
    slower = [row.function for row in rows if row.ratio > NOISE]
    behind = [f"{row.function} {row.beside_jax:.2g}" for row in rows if (row.beside_jax or 0) > BESIDE_JAX]
    return (
        f"{size:,} elements: {len(slower)} of {len(rows)} slower compiled than eager (above {NOISE}): "
        f"{', '.join(slower)}\nabove {BESIDE_JAX} of jax.jit: {', '.join(behind)}\ndo not compile: {', '.join(failed)}"
    )


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command's options."""
    parser.add_argument(
        "--sizes", type=functions.sizes, default=[10**4, 10**6], metavar="N,N", help="elements (default: 10000,1000000)"
    )
    parser.add_argument("--only", type=lambda text: text.split(","), default=[], metavar="A,B", help="functions")
    parser.add_argument("--worst", type=int, default=60, metavar="N", help="rows to print of each size (default: 60)")
    options.add_out(parser)


def run(chosen: argparse.Namespace) -> int:
    """Measure the functions, print the worst and write all as JSON."""
    import tnp

    facts = report.machine("cpu")
    console = report.console()
    results = []
    for size in chosen.sizes:
        arrays = calls.values(size)
        ours = calls.names(tnp, arrays)
        selected = calls.chosen(chosen.only, size=size)
        for name, code in track(selected.items(), description=f"{size:,}", console=console, transient=True):
            results.append(compare(size, name, code, arrays, ours))
        console.print(table(results, size, chosen.worst))
        print(summary(results, size))
    print(report.headline(facts))
    print(report.write_json(chosen.out / "compiled-functions.json", results, facts))
    return 0
