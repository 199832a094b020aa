"""``python -m bench latency``: the wait for a first compiled result, each round in a fresh process."""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench import options, peers, report, timing

ROOT = Path(__file__).parent.parent

# The program of each process: it prints seconds by name, and the number of modules that the first call imported.
_START = """
import json, sys, time
begin = time.perf_counter()
@imports@
imported = time.perf_counter()
modules = len(sys.modules)
@body@
print(json.dumps(found))
"""

# Another factor makes the function new, so that no cache holds it.
_CALLS = """
import numpy
function = @compile@(lambda x: @factor@ / (1 + xp.exp(-x)))
arrays = [@array@(numpy.linspace(-1, 1, size, dtype=numpy.float32)) for size in (1000, 2000)]
found = {"import": imported - begin}
for name, array in zip(("first call", "another shape"), arrays):
    start = time.perf_counter()
    @call@
    found[name] = time.perf_counter() - start
    if name == "first call":
        found["modules"] = len(sys.modules) - modules
"""

_STEP = """
rng = xp.random.default_rng(0)
weights = [rng.random((64, 32)) / 64, rng.random((32, 10)) / 32]
images, labels = rng.random((128, 64)), xp.arange(128) % 10

@xp.compile
def step(weights, images, labels):
    def loss(weights):
        logits = xp.tanh(images @ weights[0]) @ weights[1]
        return -xp.mean(logits[xp.arange(128), labels] - @factor@ * xp.log(xp.sum(xp.exp(logits), axis=1)))
    return [w - 0.1 * g for w, g in zip(weights, xp.grad(loss)(weights))]

start = time.perf_counter()
step(weights, images, labels)
found = {"import": imported - begin, "first call": time.perf_counter() - start, "modules": len(sys.modules) - modules}
"""


_SIZES = """
import numpy
function = xp.compile(lambda x: @factor@ / (1 + xp.exp(-x)))
for size in (2**0, 2**5, 2**10, 2**15, 2**20, 2**24):
    function(xp.asarray(numpy.linspace(-1, 1, size, dtype=numpy.float32)))
found = {}
"""

_IMPORT = """
found = {"import": imported - begin, "modules": 0}
"""


@dataclass(frozen=True)
class Contestant:
    """A name, and Python code: imports and a call, with ``@factor@`` in the place of a number."""

    name: str
    imports: str
    body: str

    def script(self, factor: float) -> str:
        """The program of a process."""
        return _filled(_START, imports=self.imports, body=_filled(self.body, factor=repr(factor)))


@dataclass(frozen=True)
class Row:
    """A contestant's seconds of one kind, one a round, and the number of modules that its first call imported."""

    contestant: str
    cache: str
    what: str
    steady: timing.Summary
    modules: int
    samples: list[float]


def _filled(text: str, **values: str) -> str:
    """Fill in values for the names between two ``@`` in a text."""
    for name, value in values.items():
        text = text.replace(f"@{name}@", value)
    return text


def contestants() -> list[Contestant]:
    """tnp, torch.compile, and jax.jit where JAX is installed."""
    found = [
        Contestant(name, imports, _filled(_CALLS, compile="xp.compile", array="xp.asarray", call="function(array)"))
        for name, imports in (("tnp", "import tnp as xp"), ("torch.compile", "import torch as xp"))
    ]
    if peers.jax() is not None:
        body = _filled(_CALLS, compile="jax.jit", array="xp.asarray", call="function(array).block_until_ready()")
        found.append(Contestant("jax.jit", "import jax, jax.numpy as xp", body))
    found.append(Contestant("torch, imported", "import torch", _IMPORT))
    return [*found, Contestant("tnp, a training step", "import tnp as xp", _STEP)]


def compiles_of_sizes(caches: Path) -> int:
    """Count the compiles in a sweep of six sizes with an empty cache: each compile leaves an entry there."""
    one_process(Contestant("sizes", "import tnp as xp", _SIZES), 1.0, caches)
    return len(list((caches / "tnp").iterdir()))


def targets(rows: list[Row], compiles: int) -> list[tuple[str, str, str]]:
    """Return the targets: what is measured, the measured value, and the most that it may be."""
    of = {(row.contestant, row.cache, row.what): row.steady.median for row in rows}
    most = 1.2 * of.get(("torch, imported", "full", "process"), 0.0) + 0.3
    step = "tnp, a training step"
    asked = [
        ("first result after the import, its code on disk", ("tnp", "full", "first call"), 0.25),
        ("process, its code on disk", ("tnp", "full", "process"), most),
        ("first result of a new function", ("tnp", "of others", "first call"), 1.0),
        ("another shape, elementwise", ("tnp", "of others", "another shape"), 0.25),
        ("a training step, empty cache", (step, "empty", "first call"), 5.0),
        ("a training step, its code on disk", (step, "full", "first call"), 0.5),
    ]
    found = [(what, report.seconds(of[key]), report.seconds(limit)) for what, key, limit in asked if key in of]
    return [*found, ("compiles of six sizes", f"{compiles}", "2")]


def one_process(contestant: Contestant, factor: float, caches: Path) -> dict[str, float]:
    """Run a fresh process; return the seconds that it prints and, as ``process``, its whole time."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    environment.update(TNP_CACHE_DIR=str(caches / "tnp"), TORCHINDUCTOR_CACHE_DIR=str(caches / "inductor"))
    command = [sys.executable, "-c", contestant.script(factor)]
    start = time.perf_counter()
    run = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=True)
    found: dict[str, float] = json.loads(run.stdout.splitlines()[-1])
    return {**found, "process": time.perf_counter() - start}


def measured(chosen: list[Contestant], repeats: int, caches: Path) -> list[Row]:
    """Measure each contestant with empty caches (once), with those of another function, and with its own."""
    warm: dict[str, list[dict[str, float]]] = {each.name: [] for each in chosen}
    new: dict[str, list[dict[str, float]]] = {each.name: [] for each in chosen}
    found = [(each, "empty", [one_process(each, 1.0, caches / each.name)]) for each in chosen]
    for number in range(repeats):
        for contestant in chosen if number % 2 == 0 else reversed(chosen):
            place = caches / contestant.name
            new[contestant.name].append(one_process(contestant, 2.0 + number, place))
            warm[contestant.name].append(one_process(contestant, 1.0, place))
    for contestant in chosen:
        found += [(contestant, "of others", new[contestant.name]), (contestant, "full", warm[contestant.name])]
    return [
        Row(contestant.name, cache, what, timing.Summary.of(times), int(rounds[0]["modules"]), times)
        for contestant, cache, rounds in found
        for what in rounds[0]
        if what != "modules" and (times := [round[what] for round in rounds])
    ]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command's options."""
    options.add_repeats(parser, 10)
    options.add_out(parser)


def run(chosen: argparse.Namespace) -> int:
    """Start the processes, print a table and write all as JSON."""
    with tempfile.TemporaryDirectory() as directory:
        rows = measured(contestants(), chosen.repeats, Path(directory))
        compiles = compiles_of_sizes(Path(directory) / "sizes")
    table: Any = report.plain_table("the wait for a first compiled result; process: from start to end")
    for name in ("contestant", "cache"):
        table.add_column(name)
    for name in ("", "time", "±", "modules"):
        table.add_column(name, justify="right")
    for row in rows:
        seconds = report.seconds(row.steady.median)
        table.add_row(row.contestant, row.cache, row.what, seconds, f"{row.steady.spread:.0%}", str(row.modules))
    report.console().print(table)
    summary: Any = report.plain_table("what is asked of tnp")
    for name in ("", "time", "at most"):
        summary.add_column(name, justify="right" if name else "left")
    for line in targets(rows, compiles):
        summary.add_row(*line)
    report.console().print(summary)
    facts = report.machine()
    print(peers.note() + report.headline(facts))
    print(report.write_json(chosen.out / "latency.json", rows, facts))
    return 0
