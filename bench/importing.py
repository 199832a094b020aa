"""``python -m bench import``: what ``import tnp`` adds to ``import torch``, each round in a fresh process."""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path

from bench import options, report, timing

TARGET = 0.1
ROOT = Path(__file__).parent.parent

# Both in one process: the difference of two whole imports of torch would drown in their noise.
SCRIPT = """
import gc, json, time
start = time.perf_counter()
import torch
gc.collect()  # torch's garbage is torch's
middle = time.perf_counter()
import tnp
print(json.dumps([middle - start, time.perf_counter() - middle]))
"""


def one_round() -> tuple[float, float]:
    """Seconds of ``import torch``, and of ``import tnp`` after it."""
    # With bytecode, as in an installed package: only the first import compiles the sources.
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    run = subprocess.run(
        [sys.executable, "-c", SCRIPT], cwd=ROOT, env=environment, capture_output=True, text=True, check=True
    )
    torch, tnp = json.loads(run.stdout)
    return torch, tnp


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command's options."""
    options.add_repeats(parser, 15)
    options.add_check(parser)


def run(chosen: argparse.Namespace) -> int:
    """Import in fresh processes and print the medians."""
    one_round()  # reads the files from disk and writes the bytecode
    torch, tnp = zip(*(one_round() for _ in range(chosen.repeats)), strict=True)
    for name, times in (("import torch", torch), ("import tnp, after it", tnp)):
        summary = timing.Summary.of(times)
        print(f"{name:21} {report.seconds(summary.median)} ± {summary.spread:.0%}")
    print(f"target: at most {report.seconds(TARGET)} after torch")
    return 1 if chosen.check and timing.Summary.of(tnp).median > TARGET else 0
