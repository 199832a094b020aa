"""Graphs with loops that are one C++ function each, with all that is around the loops."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy
import pytest

import tnp as np
from backend_torch.graphs import code_cache, elementwise_code
from backend_torch.torch_private import inductor
from tests.oracle import assert_same

Function = Callable[..., Any]
pytestmark = [
    pytest.mark.filterwarnings("error::RuntimeWarning"),
    pytest.mark.host,  # loops in machine code are the CPU's
]


@pytest.fixture(autouse=True)
def _without_inductor(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*args: Any, **kwargs: Any) -> Any:
        raise AssertionError("Inductor is not needed")

    monkeypatch.setattr(inductor, "compiled", refuse)


def check(function: Function, *args: numpy.ndarray) -> None:
    """That results and arguments are NumPy's."""
    mine, theirs = [np.array(each) for each in args], [each.copy() for each in args]
    actual, expected = np.compile(lambda *given: function(np, *given))(*mine), function(numpy, *theirs)
    for one, other in zip([*expected, *theirs], [*actual, *mine], strict=True):
        assert_same(numpy.asarray(one), other, rtol=1e-12)


def test_what_is_around_loops() -> None:
    def program(xp: Any, x: Any, y: Any) -> Any:
        scale = xp.exp(x).sum() + 2.5
        before = y.copy()
        total = x[0] * 0
        for i in range(20):
            y[i] += scale * x[i] // 0.7
            total = total + y[i]
        y[3:6] = x[:3] @ xp.ones((3, 3))
        if total > 3:
            total = total - xp.tanh(before[::2]).max()
        return total, before, xp.cumsum(y)[::-1] * 2, y > before, y[::-1]

    check(program, numpy.linspace(0, 1, 20), numpy.arange(20.0))


def test_memory_of_any_layout() -> None:
    def program(x: Any, y: Any) -> Any:
        total = x.copy()
        for i in range(12):
            total[:, i % 4] += y[:, i % 3] + i * x[i % 4]
        return total.T, y, total

    x, y = numpy.arange(16.0).reshape(4, 4), numpy.arange(32.0).reshape(8, 4)
    mine = np.array(x), np.array(y)
    for one, other in zip(program(x.T, y[::2].T), np.compile(program)(mine[0].T, mine[1][::2].T), strict=True):
        assert_same(one, other)


def test_steps_that_exchange_arrays_leave_the_arguments_as_they_were_written() -> None:
    def program(xp: Any, x: Any, y: Any) -> Any:
        x[0] = 7
        one, other = x.copy(), y.copy()
        for _ in range(300):
            one, other = other, one * 0.5 + other
        y[:] = one
        return one, other

    check(program, numpy.arange(600.0), numpy.arange(600.0) * 2)


@pytest.mark.parametrize("is_late", [False, True])
def test_asserts_in_loops_hold(is_late: bool) -> None:
    def program(x: Any) -> Any:
        total = x[0] * 0
        for i in range(20):
            if total >= 0:
                assert x[i] > 0
            total = total + x[i]
        return total

    x = np.ones(20)
    fn = np.compile(program)
    assert fn(x) == 20
    x[19 if is_late else 0] = -1
    with pytest.raises(AssertionError, match="an assert of a compiled function failed"):
        fn(x)


def test_another_process_finds_the_code(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    monkeypatch.setenv("TNP_CACHE_DIR", f"{tmp_path}")

    def program(x: Any) -> Any:
        for i in range(1, 20):
            x[i] += x[i - 1]
        return x

    np.compile(program)(np.ones(20))
    assert len(code_cache.entries()) == 1
    elementwise_code.compiled.cache_clear()  # as in another process
    monkeypatch.setattr(elementwise_code, "_built", lambda *args: pytest.fail("compiled again"))
    assert_same(numpy.arange(1.0, 21), np.compile(program)(np.ones(20)))


def test_an_axis_added_to_a_column() -> None:
    """The view of what was read at a traced index had kept the loop from being C++."""

    def program(xp: Any, d: Any) -> Any:
        for k in range(d.shape[0]):
            d[:] = xp.minimum(d, d[:, k][:, None] + d[k])
        return (d,)

    check(program, numpy.random.default_rng(0).random((16, 16)))
