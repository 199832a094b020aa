"""``python -m bench loops``: compiled loops, compared with Python loops over NumPy, and JAX and Numba if installed."""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy
from rich.progress import track
from rich.table import Table

from bench import options, peers, report, timing

Call = Callable[[], Any]


def recurrence(np: Any, x: Any) -> Any:
    """NumPy: one element after the other."""
    x = x.copy()
    for i in range(1, len(x)):
        x[i] = x[i - 1] * 0.5 + x[i]
    return x


def network(np: Any, h: Any, xs: Any, w: Any) -> Any:
    """NumPy: a recurrent network's states."""
    states = []
    for x in xs:
        h = np.tanh(h @ w + x)
        states.append(h)
    return np.stack(states)


def heat(np: Any, u: Any) -> Any:
    """NumPy: the heat equation, written to the inside."""
    u = u.copy()
    for _ in range(100):
        u[1:-1, 1:-1] += 0.1 * (u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2] - 4 * u[1:-1, 1:-1])
    return u


def network_gradient(np: Any, h: Any, xs: Any, w: Any) -> Any:
    """NumPy: the gradient of the squared states' sum with respect to the weights, backward by hand."""
    states = [h, *network(np, h, xs, w)]
    total, back = w * 0, h * 0
    for before, after in zip(states[-2::-1], states[:0:-1], strict=True):
        slope = (back + 2 * after) * (1 - after * after)
        total = total + np.outer(before, slope)
        back = slope @ w.T
    return total


def collatz(np: Any, n: Any) -> Any:
    """Python: steps until 1."""
    n, steps = int(n), 0
    while n > 1:
        n, steps = n // 2 if n % 2 == 0 else 3 * n + 1, steps + 1
    return steps


def written_recurrence(np: Any, x: Any) -> Any:
    """The recurrence by ``fori_loop``."""

    def body(i: Any, x: Any) -> Any:
        x[i] = x[i - 1] * 0.5 + x[i]
        return x

    return np.fori_loop(1, len(x), body, x)


def scanned_recurrence(np: Any, x: Any) -> Any:
    """The recurrence by ``scan``."""

    def step(last: Any, x: Any) -> Any:
        last = last * 0.5 + x
        return last, last

    return np.scan(step, x[0] * 0, x)[1]


def scanned_network(np: Any, h: Any, xs: Any, w: Any) -> Any:
    """The network by ``scan``."""

    def step(h: Any, x: Any) -> Any:
        h = np.tanh(h @ w + x)
        return h, h

    return np.scan(step, h, xs)[1]


def scanned_gradient(np: Any, h: Any, xs: Any, w: Any) -> Any:
    """The gradient through ``scan``."""
    return np.grad(lambda w: (scanned_network(np, h, xs, w) ** 2).sum())(w)


def unrolled_gradient(np: Any, h: Any, xs: Any, w: Any) -> Any:
    """The gradient through unrolled steps."""

    def loss(w: Any) -> Any:
        state, total = h, 0.0
        for step in range(len(xs)):
            state = np.tanh(state @ w + xs[step])
            total = total + (state**2).sum()
        return total

    return np.grad(loss)(w)


def written_heat(np: Any, u: Any) -> Any:
    """The heat equation by ``fori_loop``."""

    def body(_: Any, u: Any) -> Any:
        u[1:-1, 1:-1] += 0.1 * (u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2] - 4 * u[1:-1, 1:-1])
        return u

    return np.fori_loop(0, 100, body, u)


def looped_collatz(np: Any, n: Any) -> Any:
    """Collatz by ``while_loop``."""

    def step(state: Any) -> Any:
        n, steps = state
        return np.cond(n % 2 == 0, lambda n: n // 2, lambda n: 3 * n + 1, n), steps + 1

    return np.while_loop(lambda state: state[0] > 1, step, (n, 0))[1]


class _Jax:
    """JAX's functions under tnp's names, for loops without writes in place."""

    def __init__(self) -> None:
        jax = peers.jax()
        numpy_of_jax = importlib.import_module("jax.numpy")
        self.jit, self.asarray, self.tanh = jax.jit, numpy_of_jax.asarray, numpy_of_jax.tanh
        self.scan, self.while_loop, self.cond = jax.lax.scan, jax.lax.while_loop, jax.lax.cond
        self.fori_loop, self.grad = jax.lax.fori_loop, jax.grad


def _jax_recurrence(np: Any, x: Any) -> Any:
    return np.fori_loop(1, len(x), lambda i, x: x.at[i].set(x[i - 1] * 0.5 + x[i]), x)


def _jax_heat(np: Any, u: Any) -> Any:
    def body(_: Any, u: Any) -> Any:
        inside = u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2] - 4 * u[1:-1, 1:-1]
        return u.at[1:-1, 1:-1].add(0.1 * inside)

    return np.fori_loop(0, 100, body, u)


@dataclass(frozen=True)
class Loop:
    """A loop written for NumPy, for tnp's and for JAX's functions, and its arguments."""

    title: str
    plain: Callable[..., Any]
    function: Callable[..., Any]
    jax: Callable[..., Any]
    arguments: tuple[Any, ...]


def workloads() -> list[Loop]:
    """The loops."""
    rng = numpy.random.default_rng(0)
    x, u = rng.random(1000), rng.random((200, 200))
    inputs = rng.random(32), rng.random((500, 32)), rng.standard_normal((32, 32)) / 6
    short = rng.random(16), rng.random((50, 16)), rng.standard_normal((16, 16)) / 4
    return [
        Loop("recurrence, 1000 steps, fori_loop", recurrence, written_recurrence, _jax_recurrence, (x,)),
        Loop("recurrence, 1000 steps, scan", recurrence, scanned_recurrence, scanned_recurrence, (x,)),
        Loop("RNN, 500 steps of 32, scan", network, scanned_network, scanned_network, inputs),
        Loop("RNN, its gradient", network_gradient, scanned_gradient, scanned_gradient, inputs),
        Loop("RNN, gradient, 50 steps of 16, unrolled", network_gradient, unrolled_gradient, unrolled_gradient, short),
        Loop("heat equation, 200x200, 100 steps, fori_loop", heat, written_heat, _jax_heat, (u,)),
        Loop("Collatz of 837799, while_loop", collatz, looped_collatz, looped_collatz, (numpy.asarray(837799),)),
    ]


def contestants(loop: Loop) -> dict[str, Call]:
    """Return the loop's calls by contestant; each returns when the result is computed."""
    import tnp

    compiled = tnp.compile(lambda *arguments: loop.function(tnp, *arguments))
    arguments = [tnp.asarray(each) for each in loop.arguments]
    calls: dict[str, Call] = {
        "numpy": lambda: loop.plain(numpy, *loop.arguments),
        "tnp": lambda: compiled(*arguments),
    }
    if peers.jax() is not None:
        jax = _Jax()
        jitted = jax.jit(lambda *arguments: loop.jax(jax, *arguments))
        given = [jax.asarray(each) for each in loop.arguments]
        calls["jax"] = lambda: jitted(*given).block_until_ready()
    if loop.plain is recurrence and importlib.util.find_spec("numba"):
        by_numba = importlib.import_module("numba").njit(_numba_recurrence)
        calls["numba"] = lambda: by_numba(*loop.arguments)
    return calls


def _numba_recurrence(x: Any) -> Any:
    x = x.copy()
    for i in range(1, len(x)):
        x[i] = x[i - 1] * 0.5 + x[i]
    return x


@dataclass(frozen=True)
class Result:
    """A loop's seconds by contestant, and those of the first calls."""

    title: str
    seconds: Mapping[str, timing.Summary]
    first: Mapping[str, float]


def compare(loop: Loop, rounds: int, clock: timing.Clock = time.perf_counter) -> Result:
    """Run one loop by all contestants, check the results, then time them in turn."""
    calls = contestants(loop)
    expected = calls["numpy"]()
    first = {}
    for name, call in calls.items():
        started = clock()
        actual = call()
        first[name] = clock() - started
        numpy.testing.assert_allclose(numpy.asarray(actual), expected, rtol=1e-6, atol=1e-9, err_msg=name)
    samples = timing.measure([timing.Contestant(name, call) for name, call in calls.items()], rounds, clock=clock)
    return Result(loop.title, {name: timing.Summary.of(each) for name, each in samples.items()}, first)


def table(results: list[Result]) -> Table:
    """The loops' times."""
    names = list(dict.fromkeys([name for result in results for name in result.seconds]))
    out = report.plain_table("loops, µs a call, float64")
    out.add_column("loop")
    for name in names:
        out.add_column(name, justify="right")
    compiled = [name for name in names if name != "numpy"]
    for name in compiled:
        out.add_column(f"first {name}, s", justify="right")
    for result in results:
        times = [result.seconds.get(name) for name in names]
        first = [result.first.get(name) for name in compiled]
        out.add_row(
            result.title,
            *["" if each is None else f"{each.median * 1e6:.1f}" for each in times],
            *["" if each is None else f"{each:.2f}" for each in first],
        )
    return out


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command's options."""
    options.add_repeats(parser, 15)
    options.add_out(parser)


def run(chosen: argparse.Namespace) -> int:
    """Measure, and print the table."""
    console = report.console()
    facts = report.machine("cpu")
    jobs = workloads()
    results = [compare(loop, chosen.repeats) for loop in track(jobs, "loops", console=console, transient=True)]
    console.print(table(results))
    print(report.headline(facts))
    print(report.write_json(chosen.out / "loops.json", results, facts))
    return 0
