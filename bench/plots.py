"""Pictures of a sweep: time against size and speed against NumPy's, both logarithmic, as a PNG."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import matplotlib
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

from bench import report

# Colours that colour-blind people tell apart (Okabe and Ito): one a library, solid for tnp and NumPy.
STYLES: dict[str, dict[str, Any]] = {
    "NumPy": {"color": "#222222", "marker": "s"},
    "tnp eager": {"color": "#0072B2", "marker": "o"},
    "tnp compiled": {"color": "#D55E00", "marker": "o"},
    "torch eager": {"color": "#009E73", "marker": "^", "linestyle": (0, (4, 2))},
    "torch compiled": {"color": "#009E73", "marker": "^", "linestyle": (0, (1, 1.5))},
    "tnp CUDA graph": {"color": "#8B3A00", "marker": "o"},
    "torch CUDA graph": {"color": "#00543D", "marker": "^", "linestyle": (0, (1, 1.5))},
    "CuPy": {"color": "#56B4E9", "marker": "P", "linestyle": (0, (4, 2))},
    "JAX eager": {"color": "#CC79A7", "marker": "v", "linestyle": (0, (4, 2))},
    "JAX jit": {"color": "#CC79A7", "marker": "v", "linestyle": (0, (1, 1.5))},
    "TF eager": {"color": "#E69F00", "marker": "D", "linestyle": (0, (4, 2))},
    "TF function": {"color": "#E69F00", "marker": "D", "linestyle": (0, (1, 1.5))},
}
SETTINGS = {
    "font.size": 12,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.titlesize": 13,
    "axes.titlelocation": "left",
    "axes.grid": True,
    "grid.color": "#e4e4e4",
    "legend.frameon": False,
    "lines.linewidth": 2.2,
    "lines.markersize": 6,
}


def style(curve: str) -> dict[str, Any]:
    """A curve's looks; the same curve on another device is hollow."""
    base, _, device = curve.partition(" (")
    looks = STYLES[base] | {"zorder": 4 if base.startswith("tnp") else 3}
    if device:
        looks |= {"markerfacecolor": "white", "linestyle": (0, (6, 1.5, 1, 1.5))}
    return looks


def tick(value: float) -> str:
    """A power of ten of seconds with its unit."""
    return report.seconds(value).replace(".00", "").replace("0.0", "0")


def power(size: int) -> str:
    """A size as a power of two, set as mathematics, where it is one."""
    text = report.power(size)
    return f"$2^{{{text[2:]}}}$" if text.startswith("2^") else text


def sweep(path: Path, results: Sequence[report.Row], title: str, footnote: str) -> Path:
    """Draw the rows of a size sweep."""
    with matplotlib.rc_context(SETTINGS):
        figure = Figure(figsize=(13, 6.6), layout="constrained")
        times, speeds = figure.subplots(1, 2)
        for curve in dict.fromkeys(row.curve for row in results):
            rows = [row for row in results if row.curve == curve]
            sizes = [row.size for row in rows]
            looks = style(curve)
            times.plot(sizes, [row.steady.median for row in rows], label=curve, **looks)
            quartiles = [row.steady.q1 for row in rows], [row.steady.q3 for row in rows]
            times.fill_between(sizes, *quartiles, color=looks["color"], alpha=0.15, linewidth=0)
            speeds.plot(sizes, [1 / row.ratio_to_numpy for row in rows], **looks)
        times.set_title("Time per call (lower is better)")
        speeds.set_title("Speed relative to NumPy (higher is better)")
        for axis in (times, speeds):
            axis.set_xscale("log", base=2)
            axis.set_xticks(sorted({row.size for row in results}))
            axis.xaxis.set_minor_locator(NullLocator())
            axis.xaxis.set_major_formatter(FuncFormatter(lambda size, _: power(int(size))))
            axis.set_xlabel("elements (float32)")
            axis.set_yscale("log")
            axis.yaxis.set_minor_locator(NullLocator())
        times.yaxis.set_major_locator(LogLocator(10))
        times.yaxis.set_major_formatter(FuncFormatter(lambda value, _: tick(value)))
        speeds.yaxis.set_major_locator(LogLocator(10, subs=(1, 2, 5)))
        speeds.yaxis.set_major_formatter("{x:g}x")
        times.legend(loc="upper left")
        figure.suptitle(title, x=0.01, ha="left", fontsize=15, fontweight="bold")
        note = f"line: median of interleaved rounds, band: their middle half. {footnote}"
        figure.supxlabel(note, fontsize=8, color="#666666")
        path.parent.mkdir(parents=True, exist_ok=True)
        figure.savefig(path, dpi=160)
    return path
