"""Functions of slices whose length is known only when the graph runs; NumPy is the oracle."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy
import pytest

import tnp as np
from tests.oracle import assert_same

Function = Callable[[Any, Any, Any], Any]


def square(x: Any) -> Any:
    return x[:, None] * x


FUNCTIONS: dict[str, Function] = {
    "var": lambda xp, x, i: xp.var(x[:i], ddof=0.5) + x[i:].var(),
    "std": lambda xp, x, i: xp.std(x[: i + 1], ddof=1) - x[:i].std(),
    "std of rows": lambda xp, x, i: xp.std(square(x)[:i], axis=0).sum() + xp.std(square(x)[:i], axis=1).sum(),
    "var of a part": lambda xp, x, i: xp.var(square(x)[:i, i - 1 :]),
    "ptp": lambda xp, x, i: xp.ptp(x[i - 1 :]),
    "count_nonzero": lambda xp, x, i: xp.count_nonzero(x[:i] > 1.2),
    "norm": lambda xp, x, i: xp.linalg.norm(x[:i]) + xp.linalg.norm(x[:i], 1) - xp.linalg.norm(x[:i], xp.inf),
    "norm of rows": lambda xp, x, i: xp.linalg.norm(square(x)[:i], axis=1).sum() + xp.linalg.norm(square(x)[:i, 1:]),
    "average": lambda xp, x, i: xp.average(x[:i]) + xp.average(x[:i], weights=x[:i]),
    "sums without NaN": lambda xp, x, i: xp.nansum(x[:i] / (x[:i] != 2)) + xp.nanmean(x[:i]),
    "extremes without NaN": lambda xp, x, i: xp.nanmax(x[:i]) - xp.nanmin(x[:i]),
    "cov": lambda xp, x, i: xp.cov(x[: i + 1], x[-i - 1 :])[0, 1] + xp.cov(x[: i + 1]),
    "corrcoef": lambda xp, x, i: xp.corrcoef(x[: i + 1] ** 2, x[-i - 1 :])[1, 0],
    "vdot": lambda xp, x, i: xp.vdot(x[:i], x[:i]),
    "cumsum": lambda xp, x, i: (xp.cumsum(x[i:]) ** 2).sum() + x[:i].cumsum().max(),
    "cumprod": lambda xp, x, i: xp.cumprod(x[:i]).sum(),
    "diff": lambda xp, x, i: (xp.diff(x[:i]) ** 2).sum() + (xp.diff(x[:i], 2) ** 2).sum(),
    "trapezoid": lambda xp, x, i: xp.trapezoid(x[:i]) + xp.trapezoid(x[:i], x[:i] ** 2),
    "flip": lambda xp, x, i: (xp.flip(x[:i]) * x[:i]).sum() + (x[i:][::-1] * x[i:]).sum(),
    "sort": lambda xp, x, i: (xp.sort(-x[:i]) * x[:i]).sum(),
    "argsort": lambda xp, x, i: (xp.argsort(-x[i:]) * x[i:]).sum() + xp.argsort(-x[:i])[0],
    "median": lambda xp, x, i: xp.median(x[:i]) + xp.median(x[i - 1 :] * x[0]),
    "where": lambda xp, x, i: xp.where(x[:i] > 1.3, x[:i], 0).sum(),
    "clip": lambda xp, x, i: xp.clip(x[:i], 1.1, 1.5).sum() + x[:i].clip(1.2, None).sum(),
    "round": lambda xp, x, i: xp.round(x[:i], 1).sum() + x[:i].round(1).sum(),
    "isclose": lambda xp, x, i: xp.isclose(x[:i], 1.0).sum(),
    "elements": lambda xp, x, i: x[:i][0] + x[i - 1 :][-1] + x[:i][i - 1],
    "parts": lambda xp, x, i: x[:i][1:].sum() + x[:i][:-1].sum() + x[:i][:3].sum() + x[:i][1:-1].sum(),
    "size": lambda xp, x, i: x[:i].size + x[i:].shape[0],
}


@pytest.mark.parametrize("dtype", ["f8", "f4", "i8"])
@pytest.mark.parametrize("function", FUNCTIONS.values(), ids=FUNCTIONS)
def test_functions(function: Function, dtype: str) -> None:
    x = (numpy.arange(12)[::-1] if dtype == "i8" else numpy.linspace(1, 2, 12)).astype(dtype)
    compiled = np.compile(lambda x, n: function(np, x, n), backend="eager", fullgraph=True)
    for n in range(1, 11):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)  # of NumPy, for means of nothing
            expected = function(numpy, x, n)
        actual = compiled(np.array(x), np.asarray(n))
        assert_same(numpy.asarray(expected), actual, rtol=1e-5 if dtype == "f4" else 1e-10)


def weights(xp: Any, x: Any, n: Any) -> Any:
    w = xp.exp(x[:n] - x[:n].max())
    v, wide = w, w[None]
    w /= w.sum()
    w *= 2
    u = w - 1
    u -= v
    return (w * x[:n]).sum() + v.sum() + u.sum() + wide.max()


def test_writes_in_place_to_what_was_computed() -> None:
    x = numpy.linspace(0.1, 1, 8)
    compiled = np.compile(lambda x, n: weights(np, x, n), backend="eager", fullgraph=True)
    assert_same(numpy.asarray(weights(numpy, x, 5)), compiled(np.array(x), np.asarray(5)), rtol=1e-12)


def in_a_branch(x: Any, n: Any) -> Any:
    w = x[:n] * 2
    if x[0] > 0:
        w += 1
    return w.sum()


def of_ints(x: Any, n: Any) -> Any:
    w = x[:n].astype(int)
    w += 0.5
    return w.sum()


def of_another_shape(x: Any, n: Any) -> Any:
    w = x[:n] * 2
    w += x[:3, None][:, :n]
    return w.sum()


@pytest.mark.parametrize(
    ("function", "kind", "message"),
    [
        (in_a_branch, NotImplementedError, "a write in place, in a branch or a loop, to what was computed before it"),
        (of_ints, TypeError, "Cannot cast ufunc 'add' output from dtype..float64.. to dtype..int64.. with casting"),
        (of_another_shape, NotImplementedError, "a write in place of another shape"),
    ],
)
def test_refused_writes_in_place(function: Function, kind: type[Exception], message: str) -> None:
    with pytest.raises(kind, match=message):
        np.compile(function, backend="eager", fullgraph=True)(np.linspace(0.1, 1, 8), np.asarray(5))


def test_arange_up_to_a_counter() -> None:
    def program(xp: Any, x: Any) -> Any:
        out = xp.zeros(60)
        for t in range(1, 60):
            out[t] = (xp.arange(t) * x[:t]).sum() + (xp.arange(t, 60) * x[t:]).sum() + xp.arange(t, 20).sum()
            out[t] += xp.arange(2, t + 3, dtype=float).std() + xp.arange(t).max()
        return out

    x = numpy.linspace(0, 1, 60)
    compiled = np.compile(lambda x: program(np, x), backend="eager", fullgraph=True)
    assert_same(program(numpy, x), compiled(np.array(x)), rtol=1e-10)
    assert "a loop of the graph" in str(compiled.explain(np.array(x)))


@pytest.mark.filterwarnings("ignore:All-NaN|Mean of empty:RuntimeWarning")
def test_nan_in_a_slice() -> None:
    x = numpy.array([numpy.nan, 3.0, 1.0, numpy.nan, 2.0, 5.0])
    for name in ("sort", "median", "argsort", "nansum", "nanmax", "nanmin", "nanmean"):
        compiled = np.compile(lambda x, n, name=name: getattr(np, name)(x[:n]).sum(), backend="eager", fullgraph=True)
        for n in (1, 3, 4, 5, 6):
            assert_same(numpy.asarray(getattr(numpy, name)(x[:n]).sum()), compiled(np.array(x), np.asarray(n)))


def test_machine_code_and_derivatives() -> None:
    def loss(xp: Any, x: Any) -> Any:
        total = 0.0
        for k in range(1, 100):
            total = total + xp.std(x[:k]) * xp.linalg.norm(x[k:]) + xp.corrcoef(x[: k + 1], x[-k - 1 :])[0, 1]
        return total

    x = numpy.random.default_rng(0).random(101)
    assert_same(
        numpy.asarray(loss(numpy, x)), np.compile(lambda x: loss(np, x), fullgraph=True)(np.array(x)), rtol=1e-9
    )

    def smooth(x: Any, n: Any) -> Any:
        return np.var(x[:n]) * x[n:].mean() + np.linalg.norm(x[:n][1:]) * np.median(x[n:])

    compiled = np.compile(lambda x, n: np.grad(lambda x: smooth(x, n))(x), backend="eager", fullgraph=True)
    for n in (3, 40):
        expected = np.grad(lambda x, n=n: smooth(x, n))(np.array(x))
        assert_same(np.asnumpy(expected), compiled(np.array(x), np.asarray(n)), rtol=1e-9)


@pytest.mark.parametrize(
    ("function", "kind", "message"),
    [
        (lambda x, n: np.average(x[:n], weights=x[:n] * 0), ZeroDivisionError, "Weights sum to zero"),
        (lambda x, n: np.array_equal(x[:1], x[:n]), NotImplementedError, "array_equal is not kept"),
        (lambda x, n: x[:n][True], NotImplementedError, "an index is not kept"),
    ],
)
def test_what_is_refused(function: Function, kind: type[Exception], message: str) -> None:
    with pytest.raises(kind, match=message):
        np.compile(function, backend="eager", fullgraph=True)(np.linspace(0.1, 1, 8), np.asarray(5))
