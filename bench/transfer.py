"""``python -m bench transfer``: bytes per second to the accelerator and back, and a program's share.

The program is Monte Carlo pi with its random numbers drawn on the CPU and its arithmetic on the accelerator.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from rich.progress import track
from rich.table import Table

from bench import options, pi, report, timing
from bench.sigmoid import parse_sizes

SIZES = [2**power for power in range(12, 29, 4)]  # bytes
POINTS = 10**7
Call = Callable[[], object]


@dataclass(frozen=True)
class Row:
    """One way of copying one number of bytes: seconds a copy, and bytes a second."""

    size: int
    copy: str
    steady: timing.Summary
    rate: float
    samples: list[float]


def copies(device: str, nbytes: int) -> Iterator[tuple[str, Call]]:
    """Return the ways to copy, each a call that ends when the copy is done; a copy on the CPU is the baseline."""
    import tnp

    near = tnp.zeros(nbytes, tnp.uint8, device="cpu")
    pinned, far = tnp.pin_memory(near), near.to_device(device)

    def finished(copy: Call) -> Call:
        def call() -> None:
            copy()
            tnp.synchronize(device)

        return call

    yield "host to host", near.copy
    yield f"host to {device}", finished(lambda: near.to_device(device))
    yield f"host to {device}, pinned", finished(lambda: pinned.to_device(device, non_blocking=True))
    yield f"{device} to host", finished(lambda: far.to_device("cpu"))
    yield f"{device} to host, pinned", finished(lambda: far.to_device("cpu", non_blocking=True))


def measure(device: str, nbytes: int, repeats: int) -> list[Row]:
    """Measure each way of copying so many bytes."""
    contestants = [timing.Contestant(name, call) for name, call in copies(device, nbytes)]
    samples = timing.measure(contestants, repeats)
    rows = []
    for name, times in samples.items():
        summary = timing.Summary.of(times)
        rows.append(Row(nbytes, name, summary, nbytes / summary.median, times))
    return rows


def programs(device: str, n: int) -> tuple[Call, Call]:
    """Return Monte Carlo pi split between the CPU and ``device``, and its copies alone."""
    import tnp

    rng = tnp.random.default_rng(0)

    def whole() -> float:
        x, y = pi.draw(rng, n)
        with tnp.device(device):
            return float(pi.estimate(tnp.copy(x), tnp.copy(y), tnp))

    points = pi.draw(rng, n)

    def copied() -> None:
        with tnp.device(device):
            for coordinates in points:
                tnp.copy(coordinates)
        tnp.synchronize(device)

    return whole, copied


def share(device: str, n: int, repeats: int) -> tuple[float, timing.Summary]:
    """Return the copies' share of the program's time, and that time."""
    whole, copied = programs(device, n)
    samples = timing.measure([timing.Contestant("whole", whole), timing.Contestant("copies", copied)], repeats)
    return timing.paired_ratio(samples["copies"], samples["whole"]), timing.Summary.of(samples["whole"])


def table(results: list[Row]) -> Table:
    """The rows, grouped by size."""
    out = report.plain_table("Copies between the host and the accelerator")
    out.add_column("bytes", justify="right")
    out.add_column("copy")
    for name in ("time", "±", "GB/s"):
        out.add_column(name, justify="right")
    for number, row in enumerate(results):
        first_of_size = number == 0 or results[number - 1].size != row.size
        if first_of_size and number:
            out.add_section()
        out.add_row(
            report.power(row.size) if first_of_size else "",
            row.copy,
            report.seconds(row.steady.median),
            f"{row.steady.spread:.0%}",
            report.significant(row.rate / 1e9),
        )
    return out


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command's options."""
    parser.add_argument("--sizes", type=parse_sizes, default=SIZES, help="bytes, such as 2^12,2^28")
    parser.add_argument("--n", type=int, default=POINTS, help="points of the program (default: %(default)s)")
    options.add_repeats(parser, 20)
    options.add_out(parser)


def run(chosen: argparse.Namespace) -> int:
    """Measure, print the table and write JSON; 2 where there is no accelerator."""
    import tnp

    device = next((str(device) for device in tnp.devices() if device.kind != "cpu"), None)
    if device is None:
        print("this machine has no accelerator to copy to", file=sys.stderr)
        return 2
    console = report.console()
    facts = report.machine()
    sizes = track(chosen.sizes, "transfer", console=console, transient=True)
    results = [row for nbytes in sizes for row in measure(device, nbytes, chosen.repeats)]
    console.print(table(results))
    part, steady = share(device, chosen.n, chosen.repeats)
    print(f"Monte Carlo pi, {chosen.n:,} points drawn on the CPU: {report.seconds(steady.median)}, {part:.0%} copies")
    print(report.headline(facts))
    more = {"program": {"points": chosen.n, "seconds": steady.median, "share_of_copies": part}}
    print(report.write_json(chosen.out / "transfer.json", results, facts, **more))
    return 0
