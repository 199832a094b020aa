"""Loops that are lowered to C++ against the same loops run one step after the other.

Steps of many kinds are carried by one loop, so that it is compiled once.
"""

from __future__ import annotations

import signal
import warnings
from collections.abc import Callable
from typing import Any

import numpy
import pytest
import torch

import tnp as np
from backend_torch.graphs import code_cache, loop_lowering
from backend_torch.torch_private import inductor_loops
from tests.oracle import assert_same

pytestmark = pytest.mark.host  # loops in machine code are the CPU's

Step = Callable[[Any, Any], Any]
Function = Callable[..., Any]


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The source of each loop that is lowered; none comes from the cache on disk."""
    sources: list[str] = []
    tried: list[str] = []  # as a whole with what is around it
    call = inductor_loops.call

    def spied(graph: Any, inputs: Any, source: str, *args: Any) -> Any:
        sources[:] = [*[each for each in sources if each not in tried], source]
        return call(graph, inputs, source, *args)

    whole = loop_lowering.whole

    def noted(module: Any, *args: Any) -> Any:
        found = whole(module, *args)
        kinds = (torch.ops.higher_order.while_loop, torch.ops.higher_order.scan)
        tried.append("\n".join(found[0].lines))
        sources.extend(tried[-1:] * sum([node.target in kinds for node in module.graph.nodes]))
        return found

    monkeypatch.setattr(inductor_loops, "call", spied)
    monkeypatch.setattr(loop_lowering, "whole", noted)
    monkeypatch.setattr(code_cache, "load", lambda name, sizes: None)
    return sources


def lowered(function: Function, *args: Any) -> Any:
    """What the compiled function gives, without a warning that it was not compiled."""
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        return np.compile(function)(*args)


def check(calls: list[str], function: Function, *args: Any, loops: int = 1, rtol: float = 1e-6) -> None:
    """That a function's loops are lowered, and give what they give one step after the other."""
    expected = function(*[copied(each) for each in args])
    actual = lowered(function, *[copied(each) for each in args])
    assert len(calls) == loops
    flat(expected, actual, rtol)


def copied(value: Any) -> Any:
    return np.asarray(value).copy() if isinstance(value, (np.ndarray, numpy.ndarray)) else value


def flat(expected: Any, actual: Any, rtol: float) -> None:
    if isinstance(expected, (tuple, list)):
        for number, (one, other) in enumerate(zip(expected, actual, strict=True)):
            try:
                flat(one, other, rtol)
            except AssertionError as error:
                raise AssertionError(f"number {number}: {error}") from None
    else:
        assert_same(np.asnumpy(expected), actual, rtol=rtol, atol=rtol)


def together(steps: list[Step], start: Any, count: int = 5) -> Function:
    """A loop that carries a value of its own for each of the steps."""

    def run(*starts: Any) -> Any:
        return np.fori_loop(
            0,
            count,
            lambda i, values: tuple([step(i, value) for step, value in zip(steps, values, strict=True)]),
            starts,
        )

    return run


def written(write: Callable[[Any, Any], None]) -> Step:
    """A step that writes to what it gets."""

    def step(i: Any, v: Any) -> Any:
        write(i, v)
        return v

    return step


def set_at(index: Any, value: Callable[[Any, Any], Any]) -> Step:
    """A step that writes a value at an index, which may depend on i."""

    def write(i: Any, v: Any) -> None:
        v[index(i) if callable(index) else index] = value(i, v)

    return written(write)


ELEMENTWISE: list[Step] = [
    lambda i, v: v + 1,
    lambda i, v: v - v * v,
    lambda i, v: -v,
    lambda i, v: abs(v) + i.astype(v.dtype),
    lambda i, v: np.sign(v) + v,
    lambda i, v: np.where(v > 1, v - 1, v + 2),
    lambda i, v: np.maximum(v, 2) - np.minimum(v, 1),
    lambda i, v: np.clip(v, 0, 3) + v,
    lambda i, v: v**2 - v**3,
    lambda i, v: (v // 3) + (v % 3),
    lambda i, v: v[::-1] + 1,
    lambda i, v: np.roll(v, 1) + v[0],
    lambda i, v: (v == v[1]).astype(v.dtype) + v,
    lambda i, v: np.concatenate([v[2:], v[:2]]) + 1,
    lambda i, v: np.cumsum(v).astype(v.dtype),
    lambda i, v: v + v.max() - v.min(),
    lambda i, v: v + np.sum(v).astype(v.dtype),
    lambda i, v: v + np.prod(v[:2]).astype(v.dtype),
    lambda i, v: v + v.argmax().astype(v.dtype) - v.argmin().astype(v.dtype),
    lambda i, v: v.reshape(2, 3).T.reshape(6),
    lambda i, v: (
        np.sum(v.reshape(2, 3), axis=0).astype(v.dtype)[np.arange(6) % 3]
        + np.max(v.reshape(2, 3), axis=1)[np.arange(6) % 2]
    ),
    lambda i, v: v * (v[:, None] > v).any(axis=1).astype(v.dtype),
    lambda i, v: np.where((v > 0).all(), v, -v),
    lambda i, v: np.pad(v[1:-1], 1),
    lambda i, v: v[np.asarray([5, 4, 3, 2, 1, -6])] + v[i],
    lambda i, v: np.take(v, np.asarray([1, 1, 2, 3, 0, 5])) + v[-1],
]
WRITES: list[Step] = [
    set_at(lambda i: i, lambda i, v: v[i - 1] + 1),
    set_at(lambda i: -i - 1, lambda i, v: v[i] + 1),
    set_at(slice(1, -1), lambda i, v: v[2:] + v[:-2]),
    set_at(slice(1, None), lambda i, v: v[:-1]),
    set_at(slice(None, -1), lambda i, v: v[1:]),
    set_at(slice(None, None, 2), lambda i, v: v[1::2] + 1),
    set_at(slice(None), lambda i, v: v[::-1]),
    set_at(..., lambda i, v: 3),
    set_at([0, 3, 3], lambda i, v: v[:3] + 1),
    set_at(slice(2, 4), lambda i, v: v[i]),
    written(lambda i, v: v.__iadd__(v[0])),
    written(lambda i, v: v[1:].__imul__(v[:-1])),
    written(lambda i, v: v.fill(2)),
]


@pytest.mark.parametrize("dtype", ["f8", "f4", "i8", "i4"])
@pytest.mark.parametrize("steps", [ELEMENTWISE, WRITES], ids=["elementwise", "writes"])
def test_steps(calls: list[str], steps: list[Step], dtype: str) -> None:
    start = numpy.asarray([1, -2, 3, 0, 5, 2], dtype)
    check(calls, together(steps, start), *[np.asarray(start)] * len(steps))


SORTED: list[Step] = [
    lambda i, v: np.sort(v)[::-1],
    lambda i, v: np.roll(np.sort(v.reshape(-1, 3), axis=0).reshape(-1), 1) + i.astype(v.dtype),
    lambda i, v: np.sort(v.reshape(-1, 3), axis=1).T.reshape(-1),
    lambda i, v: v[np.argsort(v, stable=True)][::-1],
    lambda i, v: np.roll(v, 7) - np.median(v[3:12]).astype(v.dtype),
    lambda i, v: v * np.partition(v, 4)[4],
    lambda i, v: np.where(np.argsort(v[::-1], stable=True) < 3, v, v[::-1]),
    lambda i, v: v + v[np.argpartition(v, 2)[2]],
    lambda i, v: v - np.percentile(v, 30).astype(v.dtype),
]


@pytest.mark.parametrize("dtype", ["f8", "f4", "i8", "u1"])
def test_sorts(calls: list[str], dtype: str) -> None:
    """Of few elements and of more than one run, with equal ones among them."""
    start = numpy.random.default_rng(0).integers(0, 40, 75).astype(dtype)
    check(calls, together(SORTED, start), *[np.asarray(start)] * len(SORTED))


def test_sorts_with_nan_and_infinities(calls: list[str]) -> None:
    start = numpy.random.default_rng(0).random(51)
    start[[3, 20, 21]], start[[7, 9]] = numpy.nan, [numpy.inf, -numpy.inf]
    steps = [SORTED[0], SORTED[1], SORTED[3], SORTED[6]]
    check(calls, together(steps, start), *[np.asarray(start)] * len(steps))


def test_a_long_sort_in_a_loop_is_numpys(calls: list[str]) -> None:
    start = np.asarray(numpy.random.default_rng(0).random(2000))
    check(calls, together([lambda i, v: np.sort(v)[::-1]], start), start)
    assert "op::call(host, 0" in calls[0]
    assert "op::sort" not in calls[0]


@pytest.mark.parametrize("dtype", ["f2", "i1", "u1", "i2"])
def test_small_dtypes_are_rounded_and_wrap_at_each_step(calls: list[str], dtype: str) -> None:
    steps: list[Step] = [
        lambda i, v: v * 3 + 1,
        lambda i, v: v - 100,
        lambda i, v: v * v,
        lambda i, v: np.where(v > 5, v, v + 7),
        lambda i, v: v // 3 + v % 5,
        lambda i, v: v + np.sum(v).astype(v.dtype),
        lambda i, v: np.maximum(v, v[::-1]),
        *WRITES,
    ]
    start = numpy.asarray([1, 120, 3, 0, 5, 2], dtype)
    check(calls, together(steps, start, 4), *[np.asarray(start)] * len(steps), rtol=1e-3)


def test_integers_wrap_around(calls: list[str]) -> None:
    def run(x: Any) -> Any:
        return np.fori_loop(
            0, 100, lambda i, v: (v[0] * 6364136223846793005 + 1442695040888963407, v[1] + v[0]), (x, x)
        )

    check(calls, run, np.arange(4))


def test_bits_and_booleans(calls: list[str]) -> None:
    def run(x: Any, b: Any) -> Any:
        def body(i: Any, values: Any) -> Any:
            x, b = values
            return (x ^ (x << 3) ^ (x >> 2)) & 0xFFFF | i, ~b ^ (x > 5) | (b & (x == 1))

        return np.fori_loop(0, 20, body, (x, b))

    check(calls, run, np.arange(6), np.arange(6) > 3)


MATHEMATICS: list[Step] = [
    lambda i, v: np.exp(-v * v),
    lambda i, v: np.tanh(v) + 0.1,
    lambda i, v: np.sin(v) * np.cos(v),
    lambda i, v: np.log(abs(v) + 2),
    lambda i, v: np.sqrt(abs(v)) / (1 + v * v),
    lambda i, v: np.arctan2(v, 1 + abs(v)),
    lambda i, v: np.hypot(v, 0.5),
    lambda i, v: np.floor(v * 3) - np.ceil(v) + np.round(v) + np.trunc(v / 2),
    lambda i, v: abs(v) ** 0.5 + abs(v) ** 1.5,
    lambda i, v: np.expm1(v / 4) + np.log1p(abs(v)),
    lambda i, v: np.mean(v) + v - np.var(v),
    lambda i, v: np.where(v > 0, 1 / (1 + np.exp(-v)), v),
    lambda i, v: v / v.sum(),
    lambda i, v: np.isnan(v) + np.copysign(v, -1.0),
    lambda i, v: np.outer(v, v).sum(axis=1) / 30,
    lambda i, v: np.dot(v, v) * v / 40,
    lambda i, v: (v.reshape(2, 3) @ v.reshape(3, 2)).reshape(4)[np.arange(6) % 4] / 9,
    lambda i, v: (np.asarray(v[:3])[None, :] @ v.reshape(3, 2)).reshape(2)[np.arange(6) % 2] / 5,
    lambda i, v: np.linalg.norm(v) * v / 10,
]


@pytest.mark.parametrize("dtype", ["f8", "f4"])
def test_mathematics(calls: list[str], dtype: str) -> None:
    start = numpy.asarray([0.1, -0.2, 1.3, 0, 2.5, 0.7], dtype)
    check(calls, together(MATHEMATICS, start), *[np.asarray(start)] * len(MATHEMATICS), rtol=2e-5)


def test_nan_and_infinity(calls: list[str]) -> None:
    steps: list[Step] = [
        lambda i, v: np.maximum(v, 0),
        lambda i, v: np.minimum(v, v[::-1]),
        lambda i, v: np.fmax(v, 1),
        lambda i, v: np.clip(v, -1, 1),
        lambda i, v: v.max() + 0 * v,
        lambda i, v: np.sign(v),
        lambda i, v: v - v,
        lambda i, v: v % 2 + v // 2,
        lambda i, v: np.where(np.isnan(v), 7, v) * np.inf,
        lambda i, v: v + v.argmax(),
    ]
    start = numpy.asarray([numpy.nan, numpy.inf, -numpy.inf, -0.0, 1.5])
    with numpy.errstate(all="ignore"), np.errstate(all="ignore"):
        check(calls, together(steps, start, 2), *[np.asarray(start)] * len(steps))


def test_large_memory_is_exchanged_and_not_copied(calls: list[str]) -> None:
    def run(u: Any) -> Any:
        def wave(i: Any, values: Any) -> Any:
            before, now = values
            after = 2 * now - before
            after[1:-1, 1:-1] += 0.1 * (now[2:, 1:-1] + now[:-2, 1:-1] - 2 * now[1:-1, 1:-1])
            return now, after

        def heat(i: Any, u: Any) -> Any:
            u[1:-1, 2:-1] = (u[2:, 2:-1] + u[:-2, 2:-1] + u[1:-1, 1:-2]) / 3
            return u

        return (
            np.fori_loop(0, 7, wave, (u, u * 1.1)),
            np.fori_loop(0, 7, heat, u),
            np.fori_loop(0, 7, lambda i, v: (v[1], v[2], v[0] + 1), (u, u + 1, u + 2)),
            np.fori_loop(0, 7, lambda i, v: (v[1], v[1], v[0] + v[1]), (u, u + 1, u + 2)),
            np.fori_loop(0, 7, lambda i, v: v.T + 1, u),
            np.fori_loop(0, 7, lambda i, v: (v[0], v[0] + v[1]), (u, u)),
        )

    check(calls, run, np.asarray(numpy.random.default_rng(0).random((40, 40))), loops=6)


def test_loops_in_loops(calls: list[str]) -> None:
    def lu(a: Any) -> Any:
        def column(k: Any, a: Any) -> Any:
            def row(i: Any, a: Any) -> Any:
                a[i, k] = a[i, k] / a[k, k]

                def element(j: Any, a: Any) -> Any:
                    a[i, j] = a[i, j] - a[i, k] * a[k, j]
                    return a

                return np.fori_loop(k + 1, 6, element, a)

            return np.fori_loop(k + 1, 6, row, a)

        return np.fori_loop(0, 6, column, a)

    def collatz(n: Any) -> Any:
        def steps(n: Any) -> Any:
            step = lambda n: np.cond(n % 2 == 0, lambda n: n // 2, lambda n: 3 * n + 1, n)  # noqa: E731
            return np.while_loop(lambda v: v[1] > 1, lambda v: (v[0] + 1, step(v[1])), (0, n))[0]

        return np.scan(lambda longest, m: (np.maximum(longest, steps(m)), steps(m)), 0, n + 1)

    check(calls, lambda a, n: (lu(a), collatz(n)), np.eye(6) * 9 + np.ones((6, 6)), np.arange(30), loops=2)


def test_views_in_place(calls: list[str]) -> None:
    w = np.asarray(numpy.random.default_rng(0).random((4, 4)))

    def run(x: Any) -> Any:  # a batch of products with a matrix squeezes the rows in place
        row = lambda v: np.fori_loop(0, 3, lambda i, v: np.tanh(v @ w), v)  # noqa: E731
        return np.scan(lambda h, x: (np.vectorized_map(row, h + x), None), x[0], x)[0]

    check(calls, run, np.asarray(numpy.random.default_rng(1).random((5, 6, 4))))


def test_a_copy_that_is_kept(calls: list[str]) -> None:
    def run(x: Any) -> Any:
        def body(i: Any, v: Any) -> Any:
            a, b = v
            old = a.copy()
            view = a[1:]
            a[0] = i + 10
            view += 1
            b += old[::-1] + view[0]
            old[0] = a[1]
            return a, b + old

        return np.fori_loop(0, 4, body, (x, x * 2))

    check(calls, run, np.arange(5))


def test_branches(calls: list[str]) -> None:
    def run(x: Any) -> Any:
        def body(i: Any, v: Any) -> Any:
            big = np.cond(v.sum() > 100, lambda v: v - v.max(), lambda v: v * 2, v)
            a, b = np.cond(i % 2 == 0, lambda: (big, big[0]), lambda: (v, v[1]))
            return a + b

        return np.fori_loop(0, 9, body, x)

    check(calls, run, np.arange(6))


def test_no_steps(calls: list[str]) -> None:
    def run(x: Any, n: Any) -> Any:
        return np.fori_loop(3, 3, set_at(0, lambda i, v: 9), x), np.fori_loop(n, 0, lambda i, v: v[::-1], x), x

    check(calls, run, np.arange(4), np.asarray(2), loops=2)


@pytest.mark.parametrize("reverse", [False, True])
def test_scans(calls: list[str], reverse: bool) -> None:
    def run(h: Any, xs: Any, w: Any) -> Any:
        def step(h: Any, x: Any) -> Any:
            h = np.tanh(h @ w + x @ w.T)
            return h, {"h": h, "first": h[0], "x": x[::-1]}

        h, ys = np.scan(step, h, xs, reverse=reverse)
        return h, ys["h"], ys["first"], ys["x"]

    rng = numpy.random.default_rng(0)
    args = [np.asarray(rng.standard_normal(shape)) for shape in [(19,), (7, 19), (19, 19)]]
    check(calls, run, *args)


def test_what_is_captured_is_read(calls: list[str]) -> None:
    w = np.arange(6.0).reshape(2, 3)
    function = np.compile(lambda x: np.fori_loop(0, 3, lambda i, v: v + w.T[i], x))
    assert function(np.zeros(2)).tolist() == [3, 12]
    w[...] = 1
    assert function(np.zeros(2)).tolist() == [3, 3]
    assert calls


@pytest.mark.parametrize("index", [4, -5])
def test_out_of_bounds(calls: list[str], index: int) -> None:
    def run(x: Any, k: Any) -> Any:
        return np.fori_loop(0, 3, lambda i, v: v + x[:, k], x[:, 0])

    function = np.compile(run)
    x = np.arange(8).reshape(2, 4)
    assert function(x, np.asarray(-4)).tolist() == run(x, -4).tolist()
    with pytest.raises(IndexError, match=rf"index {index} is out of bounds for axis 1 with size 4"):
        function(x, np.asarray(index))
    assert calls


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="Windows has no timers that send signals")
def test_a_loop_that_never_ends_can_be_stopped(calls: list[str]) -> None:
    function = np.compile(lambda x: np.while_loop(lambda v: v >= 0, lambda v: v * 0, x))
    assert function(np.asarray(-1)) == -1
    before = signal.signal(signal.SIGALRM, signal.default_int_handler)
    signal.setitimer(signal.ITIMER_REAL, 0.2)
    try:
        with pytest.raises(KeyboardInterrupt):
            function(np.asarray(1))
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert calls


def test_what_is_not_lowered_runs_as_before(calls: list[str]) -> None:
    start = np.eye(300) + 0.1
    check(calls, lambda x: np.fori_loop(0, 3, lambda i, v: np.linalg.inv(v) + i, x), start, loops=0)


def test_derivatives_of_elements_read_at_indices(calls: list[str]) -> None:
    """Each step adds to these elements alone."""

    def loss(x: Any, w: Any, k: Any) -> Any:
        def step(i: Any, total: Any) -> Any:
            return total * 0.5 + (np.tanh(x[i % 7] * w) * x[k[i]]).sum() + (w[k] * x[1, 2]).sum()

        return np.fori_loop(0, 24, step, x[0, 0])

    rng = numpy.random.default_rng(0)
    x, w = np.asarray(rng.random((7, 5))), np.asarray(rng.random(5))
    k = np.asarray(rng.integers(0, 5, 24))
    check(calls, np.grad(loss, argnums=(0, 1)), x, w, k, loops=2)
    assert sum(["op::add(element" in source for source in calls])
