"""``python -m bench pi``: Monte Carlo pi on the CPU, on CUDA, and split: drawn on the CPU, computed on CUDA.

Each call returns the estimate as a Python float, so it includes the wait for the device.
"""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
from matplotlib.figure import Figure
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from bench import options, peak, peers, plots, report, timing
from bench.sigmoid import parse_sizes

SIZES = [10**power for power in range(2, 9)]
TITLE = "Monte Carlo pi, 4 * np.mean(x * x + y * y <= 1)"
NOTES = """\
time: median per call; ±: half the interquartile range of the rounds; / NumPy: its time over NumPy's, paired in rounds
copied: bytes between devices in one call; first call: compiling included, no part of the time
error: of the first call's estimate, whose standard deviation is 1.64 / sqrt(points)
peak: how much more memory a second call had taken at most, in a process of its own; what a library kept from the first
  (TensorFlow keeps its arrays) does not show
"""
PLACES = {"cpu": ("cpu", "cpu"), "cuda": ("cuda", "cuda"), "split": ("cpu", "cuda")}
"""Place -> the devices that draw the random numbers and that do the arithmetic."""
DEVIATION = 4 * math.sqrt(math.pi / 4 * (1 - math.pi / 4))  # of the estimate from one point
TOO_FAR = 6  # standard deviations: once in five hundred million estimates
LINES = {"cpu": "solid", "cuda": (0, (6, 1.5, 1, 1.5)), "split": (0, (1, 1.5))}


def draw(rng: Any, n: int, dtype: str = "float64") -> tuple[Any, Any]:
    """Coordinates of ``n`` points in the unit square."""
    return rng.random(n, dtype), rng.random(n, dtype)


def estimate(x: Any, y: Any, xp: Any) -> Any:
    """Four times the share of the points that lie in the quarter of the disc, as a NumPy user writes it."""
    return 4 * xp.mean(x * x + y * y <= 1)


@dataclass(frozen=True)
class Curve:
    """A name, and how to make the call for a number of points."""

    name: str
    prepare: Callable[[int], Callable[[], float]]


@dataclass(frozen=True)
class Row:
    """One curve with one number of points; times in seconds."""

    size: int
    curve: str
    first_call: float
    steady: timing.Summary
    ratio_to_numpy: float
    estimate: float
    error: float
    copied: int
    peak: int | None
    samples: list[float]


def numpy_call(n: int, dtype: str = "float64") -> Callable[[], float]:
    """NumPy's call."""
    rng = np.random.default_rng(0)
    return lambda: float(estimate(*draw(rng, n, dtype), np))


def curves(places: Sequence[str], dtype: str = "float64") -> Iterator[Curve]:
    """NumPy, tnp eager and compiled in each place, and JAX and TensorFlow where they are installed."""
    yield Curve(report.BASELINE, lambda n: numpy_call(n, dtype))
    for place in places:
        yield Curve(f"tnp eager ({place})", lambda n, place=place: eager(place, n, dtype))
        yield Curve(f"tnp compiled ({place})", lambda n, place=place: compiled(place, n, dtype))
    if peers.jax() is not None:
        yield Curve("JAX jit", lambda n: jax_call(n, dtype))
    if peers.tensorflow() is not None:
        yield Curve("TF function", lambda n: tensorflow_call(n, dtype))


def eager(place: str, n: int, dtype: str = "float64") -> Callable[[], float]:
    """The program as it stands, in device scopes."""
    import tnp

    source, target = map(tnp.device, PLACES[place])
    rng = tnp.random.default_rng(0)

    def call() -> float:
        with source:
            x, y = draw(rng, n, dtype)
        with target:
            if source.where != target.where:
                x, y = tnp.copy(x), tnp.copy(y)
            return float(estimate(x, y, tnp))

    return call


def compiled(place: str, n: int, dtype: str = "float64") -> Callable[[], float]:
    """The same as one graph, or as one on each of two devices."""
    import tnp

    source, target = map(tnp.device, PLACES[place])
    rng = tnp.random.default_rng(0)
    if source.where == target.where:
        whole = tnp.compile(lambda: estimate(*draw(rng, n, dtype), tnp))

        def call() -> float:
            with source:
                return float(whole())

        return call

    drawn = tnp.compile(lambda: draw(rng, n, dtype))
    estimated = tnp.compile(lambda x, y: estimate(x, y, tnp))

    def split_call() -> float:
        with source:
            x, y = drawn()
        with target:
            return float(estimated(tnp.copy(x), tnp.copy(y)))

    return split_call


def jax_call(n: int, dtype: str = "float64") -> Callable[[], float]:
    """JAX's, whose key is split at each call as its users do."""
    jax = peers.jax()

    @jax.jit
    def run(key: Any) -> tuple[Any, Any]:
        key, *drawn = jax.random.split(key, 3)
        return key, estimate(*[jax.random.uniform(one, (n,), dtype) for one in drawn], jax.numpy)

    key = jax.random.key(0)

    def call() -> float:
        nonlocal key
        key, result = run(key)
        return float(result)

    return call


def tensorflow_call(n: int, dtype: str = "float64") -> Callable[[], float]:
    """TensorFlow's, which has a generator of its own in its graph."""
    tf = peers.tensorflow()

    @tf.function
    def run() -> Any:
        x, y = tf.random.uniform([n], dtype=dtype), tf.random.uniform([n], dtype=dtype)
        # The mean in float64, as NumPy's of booleans is: float32 stops counting at 2**24.
        return 4 * tf.reduce_mean(tf.cast(x * x + y * y <= 1, tf.float64))

    return lambda: float(run())


def peaks(names: Sequence[str], n: int, dtype: str) -> dict[str, int | None]:
    """Return the peak memory of a call of each curve, in bytes; None if the system does not tell it."""
    return {name: peak.apart("bench.pi", "call_named", name, n, dtype) if peak.IS_KNOWN else None for name in names}


def call_named(name: str, n: int, dtype: str = "float64") -> Callable[[], float]:
    """The call of the curve of this name."""
    return next(curve for curve in curves(list(PLACES), dtype) if curve.name == name).prepare(n)


def first_call(curve: Curve, call: Callable[[], float], n: int) -> tuple[float, float]:
    """Seconds of the first call, compiling included, and its estimate; SystemExit when that is far from pi."""
    start = time.perf_counter()
    found = call()
    elapsed = time.perf_counter() - start
    if abs(found - math.pi) > TOO_FAR * DEVIATION / math.sqrt(n):
        raise SystemExit(f"{curve.name} is wrong with {n:,} points: {found}")
    return elapsed, found


def bytes_copied(call: Callable[[], float]) -> int:
    """How many bytes one call copies between devices."""
    import tnp

    with tnp.transfers() as log:
        call()
    return sum(transfer.nbytes for transfer in log)


def sweep(
    sizes: Sequence[int], places: Sequence[str], repeats: int, dtype: str, memory: bool, console: Console
) -> list[Row]:
    """Every curve with every number of points."""
    found = list(curves(places, dtype))
    results: list[Row] = []
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True) as progress:
        task = progress.add_task("pi", total=len(sizes) * repeats * len(found))
        for n in sizes:
            progress.update(task, description=f"{power(n)}: warm-up")
            calls = {curve.name: curve.prepare(n) for curve in found}
            firsts = {curve.name: first_call(curve, calls[curve.name], n) for curve in found}
            copied = {name: bytes_copied(call) for name, call in calls.items()}
            progress.update(task, description=f"{power(n)}: {repeats} rounds")
            contestants = [timing.Contestant(name, call) for name, call in calls.items()]
            samples = timing.measure(contestants, repeats, after_sample=lambda: progress.advance(task))
            taken = peaks(list(calls), n, dtype) if memory else {}
            for name, times in samples.items():
                elapsed, value = firsts[name]
                results.append(
                    Row(
                        size=n,
                        curve=name,
                        first_call=elapsed,
                        steady=timing.Summary.of(times),
                        ratio_to_numpy=timing.paired_ratio(times, samples[report.BASELINE]),
                        estimate=value,
                        error=abs(value - math.pi),
                        copied=copied[name],
                        peak=taken.get(name),
                        samples=times,
                    )
                )
    return results


def power(n: int) -> str:
    """A number as a power of ten where it is one."""
    return f"10^{len(str(n)) - 1}" if str(n).strip("0") == "1" else f"{n:,}"


def table(results: Sequence[Row], title: str) -> Table:
    """The rows, grouped by number of points."""
    out = report.plain_table(title)
    out.add_column("points", justify="right")
    out.add_column("curve", no_wrap=True)
    between = any(row.copied for row in results)
    weighed = any(row.peak is not None for row in results)
    for name in ("ms / call", "±", "/ NumPy", "first call", "error", *["copied"] * between, *["peak"] * weighed):
        out.add_column(name, justify="right", no_wrap=True)
    for number, row in enumerate(results):
        first_of_size = number == 0 or results[number - 1].size != row.size
        if first_of_size and number:
            out.add_section()
        out.add_row(
            power(row.size) if first_of_size else "",
            row.curve,
            report.significant(row.steady.median * 1e3),
            f"{row.steady.spread:.0%}",
            report.significant(row.ratio_to_numpy),
            report.seconds(row.first_call),
            f"{row.error:.1e}",
            *[f"{row.copied:,}"] * between,
            *["" if row.peak is None else f"{row.peak / 1e6:,.1f} MB"] * weighed,
        )
    return out


def style(curve: str) -> dict[str, Any]:
    """A curve's looks: the colour of the library, the line of the place."""
    base, _, place = curve.partition(" (")
    looks = {key: value for key, value in plots.STYLES[base].items() if key != "linestyle"}
    return looks | ({"linestyle": LINES[place.rstrip(")")]} if place else {})


def picture(path: Path, results: Sequence[Row], title: str, footnote: str) -> Path:
    """Draw time and error against the number of points."""
    with matplotlib.rc_context(plots.SETTINGS):
        figure = Figure(figsize=(13, 6.6), layout="constrained")
        times, errors = figure.subplots(1, 2)
        for curve in dict.fromkeys(row.curve for row in results):
            rows = [row for row in results if row.curve == curve]
            sizes, looks = [row.size for row in rows], style(curve)
            times.plot(sizes, [row.steady.median for row in rows], label=curve, **looks)
            quartiles = [row.steady.q1 for row in rows], [row.steady.q3 for row in rows]
            times.fill_between(sizes, *quartiles, color=looks["color"], alpha=0.15, linewidth=0)
            errors.plot(sizes, [row.error for row in rows], **looks)
        ends = [min(row.size for row in results), max(row.size for row in results)]
        expected = [DEVIATION / math.sqrt(size) for size in ends]
        errors.plot(ends, expected, color="#999999", linewidth=1.2, label="one standard deviation, 1.64 / √n")
        times.set_title("Time per call (lower is better)")
        errors.set_title("Error of the estimate, |estimate - π|")
        for axis in (times, errors):
            axis.set_xscale("log")
            axis.set_yscale("log")
            axis.set_xlabel("points")
        times.yaxis.set_major_formatter(lambda value, _: plots.tick(value))
        times.legend(loc="upper left")
        errors.legend(loc="upper right")
        figure.suptitle(title, x=0.01, ha="left", fontsize=15, fontweight="bold")
        note = f"line: median of interleaved rounds, band: their middle half. {footnote}"
        figure.supxlabel(note, fontsize=8, color="#666666")
        path.parent.mkdir(parents=True, exist_ok=True)
        figure.savefig(path, dpi=160)
    return path


def parse_places(text: str) -> list[str]:
    """``"cpu,cuda,split"`` as places, in the order given."""
    places = list(dict.fromkeys(part.strip() for part in text.split(",")))
    for place in places:
        if place not in PLACES:
            raise argparse.ArgumentTypeError(f"{place!r} is no place: use {', '.join(PLACES)}")
    return places


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command's options."""
    parser.add_argument("--n", type=parse_sizes, default=SIZES, help="points (default: 10^2,10^3, and on to 10^8)")
    parser.add_argument(
        "--devices", type=parse_places, metavar="PLACES", help="of cpu,cuda,split (default: those that are here)"
    )
    parser.add_argument("--dtype", choices=["float32", "float64"], default="float64", help="of the random numbers")
    parser.add_argument("--memory", action="store_true", help="show what a call takes at most, in processes apart")
    options.add_repeats(parser, 5)
    options.add_out(parser)


def run(chosen: argparse.Namespace) -> int:
    """Sweep, print the table, and write JSON and the picture; 2 if there is no such device."""
    import tnp

    kinds = {device.kind for device in tnp.devices()}
    here = [place for place, needed in PLACES.items() if kinds.issuperset(needed)]
    places = here if chosen.devices is None else chosen.devices
    if absent := [place for place in places if place not in here]:
        print(f"--devices {','.join(absent)}: this machine has {', '.join(sorted(kinds))} only")
        return 2
    console = report.console()
    facts = report.machine()
    title = f"{TITLE}, {chosen.dtype}"
    results = sweep(chosen.n, places, chosen.repeats, chosen.dtype, chosen.memory, console)
    console.print(table(results, title))
    print(NOTES + peers.note())
    print(report.headline(facts))
    print(report.write_json(chosen.out / "pi.json", results, facts, workload=title))
    print(picture(chosen.out / "pi.png", results, title, report.headline(facts)))
    return 0
