"""Find memory leaks: call each path of tnp many times, and measure how much more memory the process holds.

Layer: owns the command ``python -m conformance leaks``. tracemalloc counts what Python holds, the process's resident
memory counts all. Caches fill up and are emptied, so the least and the most memory during the last third of the calls
are compared with those of the first third. The garbage collector runs before each count. Objects in reference cycles,
which only the collector frees, are counted apart: a call of a hot path must leave none.
"""

from __future__ import annotations

import argparse
import contextlib
import copy
import fnmatch
import gc
import io
import itertools
import os
import pickle
import threading
import time
import tracemalloc
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import tnp

CALLS = 100_000
COUNTS = 100
"""The number of counts during the calls."""
TRACED, RESIDENT = 1.0, 64.0
"""Bytes a call by which Python's and the resident memory may grow. An array has some hundred bytes; resident memory
grows by pages."""
SLACK = 6 << 10
"""Bytes by which Python's own tables may grow in total, however few the calls are."""
TRACING = 512.0
"""Bytes that a call may keep in addition if it traces: CPython 3.11 keeps the file name of each compiled function."""
CYCLES = {
    "files": "ast.literal_eval, which NumPy reads a header with, has functions that know each other",
    "pullbacks": "torch.func flattens what it is given by a function that knows itself",
    "pushforwards": "the same",
    "Hessians": "the same",
    "persistent tape": "torch.vmap, in Jacobians: the same",
    "traces": "a graph's nodes know their graph, the next one and the one before",
    "traces that are refused": "the same",
    "compiled functions": "the same",
}
"""Path -> why its calls leave reference cycles; calls of other paths must not."""
SLOW = ("traces", "traces that are refused", "compiled functions")
"""Paths whose calls trace a function, which takes milliseconds: they get a tenth of the calls."""


@dataclass(frozen=True)
class Growth:
    """How memory grew during the calls of a path.

    Attributes
    ----------
    traced, resident : float
        Growth of Python's and of the process's memory, in bytes a call.
    cycles : float
        Objects a call that only the collector freed.
    """

    path: str
    calls: int
    traced: float
    resident: float
    cycles: float
    seconds: float

    def problems(self) -> list[str]:
        """Return which growth is too much."""
        slack = SLACK / self.calls
        found = []
        if self.traced > TRACED + slack + TRACING * (self.path in SLOW):
            found.append(f"Python holds {self.traced:.1f} bytes more after each call")
        if self.resident > RESIDENT + 512 * slack + TRACING * (self.path in SLOW):
            found.append(f"the process holds {self.resident:.0f} bytes more after each call")
        if self.cycles and self.path not in CYCLES:
            found.append(f"each call leaves {self.cycles:.1f} objects in reference cycles")
        return found


def resident() -> int:
    """Return this process's resident memory in bytes."""
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGESIZE")


def grown(held: np.ndarray, calls: int) -> float:
    """Return the growth in bytes a call: the lesser one of the minimum and the maximum, from first to last third."""
    first, last = held[: len(held) // 3], held[-(len(held) // 3) :]
    return max(0.0, float(min(last.max() - first.max(), last.min() - first.min())) / (calls * 2 / 3))


def measure(path: str, call: Callable[[], Any], calls: int = CALLS, counts: int = COUNTS) -> Growth:
    """Make the calls, after a tenth as many to warm up, and count; the collector ignores older objects."""
    gc.collect()
    gc.freeze()
    start = time.perf_counter()
    together = max(1, calls // counts)
    tracemalloc.start()  # before the warm-up: memory that replaces the warm-up's is no growth
    try:
        for _ in range(max(10, calls // 10)):
            call()
        few = max(1, min(100, calls // 10))
        gc.collect()
        gc.disable()
        for _ in range(few):
            call()
        cycles = gc.collect() / few
        gc.enable()
        python, process = np.zeros(counts, np.int64), np.zeros(counts, np.int64)
        for count in range(counts):
            for _ in range(together):
                call()
            gc.collect()
            python[count] = tracemalloc.get_traced_memory()[0]
            process[count] = resident()
    finally:
        gc.enable()
        tracemalloc.stop()
    done = together * counts
    return Growth(path, done, grown(python, done), grown(process, done), cycles, time.perf_counter() - start)


def paths() -> dict[str, Callable[[], Any]]:
    """Return name -> a call of each path, on arrays that stay the same."""
    host = np.arange(1.0, 13.0).reshape(3, 4)
    x, y, v = tnp.asarray(host), tnp.asarray(host[::-1].copy()), tnp.arange(1.0, 5.0)
    i, mask = tnp.asarray([2, 0, 1]), tnp.asarray(host > 5)
    square = tnp.eye(3) * 4 + tnp.ones((3, 3))
    target = tnp.zeros((3, 4))
    turns = itertools.count()
    rng = tnp.random.default_rng(0)
    add, doubled = tnp.compile(lambda a, b: (a + b).sum(0), backend="eager"), tnp.compile(lambda a: tnp.exp(a) * 2)
    loop = tnp.compile(lambda a: tnp.fori_loop(0, 3, lambda n, s: s + n, a), backend="eager")
    retraced = tnp.compile(lambda a, n: a * n, backend="eager", cache_size=4)
    open_sizes = tnp.compile(lambda a: a * 2, backend="eager", dynamic=True)
    text = io.StringIO()
    tnp.savetxt(text, x)

    def in_place() -> None:
        nonlocal target
        target += x
        target *= 0.5
        target -= target

    def set_items() -> None:
        target[0] = 1
        target[1, 2] = 2.5
        target[:, ::-1] = x
        target[i] = x
        target[mask] = 0
        target[mask] = x[mask]
        target[i, 1] = v[:3]
        target[...] = target[::-1]

    def ufunc_methods() -> Any:
        tnp.add.at(target, i, 1.0)
        return tnp.add.reduce(x), tnp.add.accumulate(x), tnp.multiply.outer(v, v), tnp.add.reduceat(v, [0, 2])

    def errors() -> None:
        for wrong in (lambda: x + tnp.ones(7), lambda: x[99], lambda: x.reshape(5), lambda: tnp.linalg.inv(x)):
            with contextlib.suppress(ValueError, IndexError):
                wrong()

    def refused_traces() -> None:
        with contextlib.suppress(tnp.TracedValueError):
            tnp.compile(lambda a: float(a.sum()), backend="eager", fullgraph=True)(x)

    def error_state() -> None:
        with tnp.errstate(divide="raise"), contextlib.suppress(FloatingPointError):
            x / 0.0
        with tnp.errstate(over="call", call=lambda *_: None):
            tnp.exp(v * 1000)

    def tape() -> Any:
        with tnp.GradientTape() as tape:
            tape.watch([x, v])
            written = tnp.zeros(4)
            written[1:] = (x * v).sum(0)[1:]
            loss = (written**2).sum()
        return tape.gradient(loss, [x, v])

    def persistent_tape() -> Any:
        with tnp.GradientTape(persistent=True) as tape:
            tape.watch(v)
            with tnp.GradientTape() as inner:
                inner.watch(v)
                cubes = v**3
            first = inner.gradient(cubes, v)
        return tape.gradient(first, v), tape.jacobian(cubes, v)

    def tape_that_is_never_asked() -> None:
        with tnp.GradientTape(persistent=True) as tape:
            tape.watch(v)
            tnp.exp(v).sum()

    def scopes() -> Any:
        with tnp.device("meta"):
            tnp.zeros(3)
        with tnp.use_deterministic(), tnp.allow_host_copies():
            return tnp.zeros(3)

    def transfers() -> Any:
        with tnp.transfers() as log:
            (x + y).sum().item()
        return log

    def files() -> Any:
        file, archive = io.BytesIO(), io.BytesIO()
        tnp.save(file, x)
        tnp.savez(archive, a=x, b=v)
        file.seek(0)
        archive.seek(0)
        with tnp.load(archive) as arrays:
            return tnp.load(file), arrays["a"], tnp.loadtxt(io.StringIO(text.getvalue()))

    def thread() -> None:
        def work() -> None:
            with tnp.device("cpu"), tnp.errstate(all="ignore"):
                (x + y).sum()

        worker = threading.Thread(target=work)
        worker.start()
        worker.join()

    class Named(tnp.ndarray):
        """A subclass that a user defines."""

    named = x.view(Named)

    return {
        "operators": lambda: -(x + y) * 2 / y - 1 // v,
        "operators with new numbers": lambda: x * (next(turns) + 0.5) + next(turns),
        "operators in place": in_place,
        "comparisons": lambda: ((x > y) & ~(x == 2)).any() or bool(x[0, 0] > 1),
        "functions": lambda: tnp.exp(tnp.sin(x), out=target) + tnp.where(mask, x, y) + tnp.clip(x, 2, 5),
        "methods of universal functions": ufunc_methods,
        "scalars": lambda: float(x[0, 0] * x[1, 1] + 1) + int(i[0]),
        "getting items": lambda: (x[1], x[1, 2], x[:, ::-1], x[..., None], x[i], x[mask], x[i, :2], x[i, 1]),
        "setting items": set_items,
        "iteration": lambda: ([row.sum() for row in x], list(x.flat), x.tolist(), list(tnp.ndenumerate(v))),
        "shapes": lambda: (x.T.reshape(2, 6), tnp.stack([v, v]), tnp.concatenate([x, y]), tnp.split(v, 2), x.ravel()),
        "creation": lambda: (tnp.zeros((2, 3)), tnp.arange(5), tnp.linspace(0, 1, 7), tnp.array([[1, 2], [3, 4.5]])),
        "dtypes": lambda: (x.astype(tnp.int16), x.view(tnp.int64), tnp.result_type(x, tnp.int8), x.astype("c8")),
        "reductions": lambda: (x.sum(), x.sum(0), x.mean(1), x.std(), x.argmax(), x.max(0), tnp.nansum(x), x.cumsum()),
        "statistics": lambda: (tnp.histogram(x, 4), tnp.quantile(x, 0.3), tnp.median(x, 0), tnp.bincount(i)),
        "sorting": lambda: (tnp.sort(x), tnp.argsort(y), tnp.unique(i, return_counts=True), tnp.searchsorted(v, 2.5)),
        "products": lambda: (x @ x.T, tnp.dot(v, v), tnp.einsum("ij,kj->ik", x, y), tnp.outer(v, v)),
        "linear algebra": lambda: (tnp.linalg.solve(square, v[:3]), tnp.linalg.svd(x), tnp.linalg.eigh(square)),
        "Fourier transforms": lambda: tnp.fft.irfft(tnp.fft.rfft(x)) + tnp.fft.fft2(x).real,
        "random numbers": lambda: (rng.normal(size=3), rng.integers(9, size=3), rng.permutation(v), tnp.random.rand(2)),
        "new generators": lambda: tnp.random.default_rng(next(turns)).random(3),
        "derived classes": lambda: (named + 1).sum(0),
        "errors": errors,
        "error state": error_state,
        "printing": lambda: (repr(x), str(i), f"{x[0, 0]:.2f}"),
        "NumPy": lambda: (tnp.asnumpy(x), tnp.asarray(host), np.asarray(x), np.add(x, host), np.sum(x), host + x),
        "DLPack": lambda: (np.from_dlpack(x), tnp.from_dlpack(host)),
        "copies and pickles": lambda: (copy.deepcopy(x), x.copy(), pickle.loads(pickle.dumps(x))),
        "files": files,
        "scopes": scopes,
        "transfers": transfers,
        "threads": thread,
        "gradients": lambda: tnp.grad(lambda a: (tnp.sin(a) * v).sum())(x),
        "pullbacks": lambda: tnp.vjp(lambda a: a[i] * 2, x)[1](y),
        "pushforwards": lambda: tnp.jvp(lambda a: a**2, (x,), (y,)),
        "Hessians": lambda: tnp.hessian(lambda a: (a**3).sum())(v),
        "tape": tape,
        "persistent tape": persistent_tape,
        "tape that is never asked": tape_that_is_never_asked,
        "vectorized_map": lambda: tnp.vectorized_map(lambda row: row * row.sum(), x),
        "map_fn": lambda: tnp.map_fn(lambda row: row.sum(), x),
        "loops": lambda: (
            tnp.cond(x.sum() > 0, lambda a: a + 1, lambda a: a, x),
            tnp.while_loop(lambda n: n < 3, lambda n: n + 1, tnp.asarray(0)),
            tnp.scan(lambda s, a: (s + a, s), tnp.asarray(0.0), v),
        ),
        "compiled calls": lambda: add(x, v),
        "compiled calls by turns": lambda: (add(x, v), add(v, v), add(x, 1.0)),
        "compiled loops": lambda: loop(x),
        "compiled gradients": lambda: tnp.grad(lambda a: add(a, v).sum())(x),
        "machine code": lambda: doubled(x),
        "traces": lambda: retraced(x, next(turns) % 100),
        "compiled calls with open sizes": lambda: open_sizes(tnp.ones(2 + next(turns) % 50)),
        "traces that are refused": refused_traces,
        "compiled functions": lambda: tnp.compile(lambda a: a + 1, backend="eager")(x),
    }


def add_arguments(command: argparse.ArgumentParser) -> None:
    """Add the command's options."""
    command.add_argument("--calls", type=int, default=CALLS, help="of each path (default: %(default)s)")
    command.add_argument("--only", default="*", metavar="A,B", help="patterns of paths")
    command.add_argument("--list", action="store_true", help="print the paths")


def main(options: argparse.Namespace) -> int:
    """Measure and report; return 1 if some path's memory grows."""
    chosen = {
        name: call
        for name, call in paths().items()
        if any(fnmatch.fnmatchcase(name, pattern) for pattern in options.only.split(","))
    }
    if options.list:
        print(*chosen, sep="\n")
        return 0
    print("path | calls | bytes a call, Python | bytes a call, resident | objects in cycles | seconds")
    failed = False
    for name, call in chosen.items():
        found = measure(name, call, options.calls // 10 if name in SLOW else options.calls)
        numbers = f"{found.traced:.2f} | {found.resident:.1f} | {found.cycles:.1f} | {found.seconds:.0f}"
        print(f"{found.path} | {found.calls} | {numbers}", flush=True)
        for problem in found.problems():
            failed = True
            print(f"    {problem}", flush=True)
    return 1 if failed else 0
