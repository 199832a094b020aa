"""Writes to arrays from around a traced block: in place if nobody needs the old values, and right if somebody does."""

from __future__ import annotations

from typing import Any

import numpy
import pytest

import tnp as np
from backend_torch.graphs import loop_lowering
from tests.oracle import assert_same
from tests.tnp.autograph.test_autograph import same


def branches(x: Any, y: Any) -> Any:
    """Either branch reads what the other writes to, and both read their own before and after."""
    total = 0.0
    for i in range(1, len(x)):
        before = x.copy()
        if x[i] > 0:
            part = x.sum()
            x[i] = part * 0.01
            part += x[i - 1]
        else:
            part = x[0] + y[i]
            y[i - 1] = part
        total += part + before[i] * y.sum()
    return total


def nested(a: Any, b: Any) -> Any:
    """An inner loop's array is read around it, as it was and as it is."""
    for i in range(len(a)):
        before = a.copy()
        total = a[i].sum()
        for j in range(1, a.shape[1]):
            a[i, j] = a[i, j - 1] * 0.5 + b[i] * total
            if a[i, j] > 1:
                b[i] = b[i] * 0.5
        b[i] += before[i, 1] + a[i, -1]
    return a.sum() + b


def triangle(a: Any) -> Any:
    """Bounds that are a loop's index."""
    for i in range(1, len(a)):
        for j in range(i):
            a[i, j] = a[j, i] + i * j
        for j in range(i, 2 * i, 3):
            a[j % 12, i] += 1
    return a


def started(x: Any) -> Any:
    """What a loop carries and reads was made of zeros, and written to before."""
    a, b = np.zeros(len(x)), np.zeros(3)
    a[0], b[1:] = 1.0, 2.0
    for i in range(1, len(x)):
        a[i] = a[i - 1] * 0.5 + b[i % 3] + x[i]
    return a


ROWS = numpy.random.default_rng(0).standard_normal((12, 12))
CASES = [
    (branches, (ROWS[:4].ravel().copy(), ROWS[4:8].ravel().copy())),
    (nested, (ROWS, ROWS[0])),
    (triangle, (ROWS,)),
    (started, (ROWS.ravel(),)),
]


@pytest.mark.parametrize("backend", ["eager", "inductor"])
@pytest.mark.parametrize(("function", "args"), CASES)
def test_writes(function: Any, args: Any, backend: str) -> None:
    same(function, *args, backend=backend, rtol=1e-9)


def test_no_array_is_copied_in_a_step(monkeypatch: pytest.MonkeyPatch) -> None:
    """Element writes of an inner loop, and of a branch in it, are where the array is."""
    found: list[str] = []
    whole = loop_lowering.whole

    def noted(*args: Any) -> Any:
        result = whole(*args)
        found.append("\n".join(result[0].lines))
        return result

    def function(a: Any) -> Any:
        for i in range(1, len(a)):
            for j in range(1, len(a)):
                if a[i, j] > a[i, j - 1]:
                    a[i, j] = a[i - 1, j]
        return a

    monkeypatch.setattr(loop_lowering, "whole", noted)
    np.compile(function)(np.asarray(ROWS))
    (source,) = found
    steps = source[source.index("op::ROUND") :]
    assert "144" not in steps[: steps.rindex("break;")]  # the number of its elements


def test_an_array_that_shares_memory_with_another() -> None:
    def function(x: Any) -> Any:
        y = x[:2]
        while x.sum() < 10:
            x[0] = x[0] + y[1]
        return x

    with pytest.raises(NotImplementedError, match=r"test_writes\.py:\d+: .*shares memory with another one"):
        np.compile(function, backend="eager", fullgraph=True)(np.ones(3))


def swapped(u: Any, steps: Any) -> Any:
    v = u.copy()
    for _ in range(steps):
        v[1:-1] = u[1:-1] + 0.1 * (u[2:] - 2 * u[1:-1] + u[:-2])
        u, v = v, u
    return u


def swapped_while(u: Any, tolerance: Any) -> Any:
    v = u.copy()
    change = tolerance + 1
    while change > tolerance:
        v[1:-1] = u[1:-1] + 0.1 * (u[2:] - 2 * u[1:-1] + u[:-2])
        change = abs(v - u).max()
        u, v = v, u
    return u


def test_names_that_swap_the_callers_array() -> None:
    """Every second step writes to the caller's array."""
    theirs, ours = numpy.arange(10.0) ** 2, np.arange(10.0) ** 2
    expected = swapped(theirs, 25)
    result = np.compile(swapped, backend="eager", fullgraph=True)(ours, 25)
    numpy.testing.assert_allclose(np.asnumpy(result), expected)
    numpy.testing.assert_allclose(np.asnumpy(ours), theirs)
    with pytest.warns(RuntimeWarning, match=r"the 120 steps of a loop are unrolled.*caller's array u.*u = u\.copy\(\)"):
        np.compile(swapped, backend="eager", fullgraph=True)(np.arange(5.0), 120)


def test_a_while_loop_that_swaps_the_callers_array_is_refused() -> None:
    with pytest.raises(TypeError, match=r"test_writes\.py:\d+: the `while` .* caller's array u .*u = u\.copy\(\)"):
        np.compile(swapped_while, backend="eager", fullgraph=True)(np.arange(10.0) ** 2, np.asarray(1e-2))
    copying = np.compile(lambda u, tolerance: swapped_while(u.copy(), tolerance), backend="eager", fullgraph=True)
    given = numpy.arange(10.0) ** 2
    numpy.testing.assert_allclose(np.asnumpy(copying(np.asarray(given), np.asarray(1e-2))), swapped_while(given, 1e-2))


def test_a_view_that_an_inner_loop_leaves() -> None:
    """The outer loop is traced twice, and in the second trace the variable still holds the view of the first."""

    def program(xp: Any, b: Any) -> Any:
        keep = xp.ones(40, bool)
        for i in range(40):
            for j in range(i + 1, 40):
                row = b[j]
                if row[0] > b[i, 1]:
                    keep[j] = False
        return keep

    b = numpy.random.default_rng(0).random((40, 2))
    compiled = np.compile(lambda b: program(np, b), backend="eager", fullgraph=True)
    assert_same(program(numpy, b), compiled(np.array(b)))
