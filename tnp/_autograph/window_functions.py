"""Functions of slices whose length is traced, composed of what `windows` has: arithmetic, sums, extremes, products.

Layer: owns what a function of tnp is of such slices. One that is missing here is refused.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np

from backend_torch.kernels import value_checks
from tnp._autograph.windows import Window, demand, kept, masked, unsupported
from tnp._core.convert import asarray
from tnp._indexing.selection import where
from tnp._manipulation.joining import stack
from tnp._math.mathematics import clip
from tnp._sorting.sorting import argsort, sort
from tnp._ufunc import table


def _plain(function: Callable[..., Any]) -> Callable[..., Any]:
    """Refuse options that a composed function lacks."""

    signature = inspect.signature(function)

    def call(*args: Any, **options: Any) -> Any:
        try:
            signature.bind(*args, **options)
        except TypeError:
            raise unsupported(f"{function.__name__} with such options") from None
        return function(*args, **options)

    return call


def _line(x: Any, name: str) -> Window:
    """Return the operand of a function that is composed for one axis alone."""
    if type(x) is not Window or x.ndim != 1:
        raise unsupported(f"{name} of several axes")
    return x


def _with_axis(x: Any, axis: Any) -> Any:
    """Insert an axis where a reduction has removed one."""
    if axis is None:
        return x
    if isinstance(axis, tuple):
        raise unsupported("an average over some axes")
    return x[(*[slice(None)] * axis, None)] if np.ndim(getattr(x, "values", x)) else x


def _shared(total: Any, count: Any) -> Any:
    """Divide in the dtype of the total, if that is inexact."""
    return total / (count.astype(table.absolute(total).dtype) if total.dtype.kind in "fc" else count)


def var(a: Any, axis: Any = None, ddof: Any = 0) -> Any:
    apart = a - _with_axis(a.mean(axis), axis if axis is None or isinstance(axis, tuple) else axis % a.ndim)
    squares = table.absolute(apart) ** 2 if apart.dtype.kind == "c" else apart * apart
    return _shared(squares.sum(axis), table.maximum(a.count(axis) - ddof, 0))


def std(a: Any, axis: Any = None, ddof: Any = 0) -> Any:
    return table.sqrt(var(a, axis, ddof))


def ptp(a: Any, axis: Any = None) -> Any:
    return a.max(axis) - a.min(axis)


def count_nonzero(a: Any, axis: Any = None) -> Any:
    return (a != 0).sum(axis)


def norm(x: Any, ord: Any = None, axis: Any = None) -> Any:
    sizes = table.absolute(x if x.dtype.kind in "fc" else x.astype(np.float64))
    if ord is None or (ord == 2 and (x.ndim == 1 or isinstance(axis, int))):
        return table.sqrt((sizes * sizes).sum(axis))
    if x.ndim == 1 and ord in (1, np.inf):
        return sizes.sum() if ord == 1 else sizes.max()
    raise unsupported(f"norm with ord={ord}")


def average(a: Any, axis: Any = None, weights: Any = None) -> Any:
    if weights is None:
        return a.mean(axis)
    total = weights.sum(axis)
    demand((total != 0).all(), value_checks.WEIGHTLESS)
    return (a * weights).sum(axis) / total


def nansum(a: Any, axis: Any = None) -> Any:
    return _without_nan(a, 0).sum(axis)


def nanmean(a: Any, axis: Any = None) -> Any:
    return _shared(nansum(a, axis), (a == a).sum(axis))


def nanmax(a: Any) -> Any:
    return where((a == a).any(), _without_nan(a, -np.inf).max(), np.nan).astype(a.dtype)


def nanmin(a: Any) -> Any:
    return where((a == a).any(), _without_nan(a, np.inf).min(), np.nan).astype(a.dtype)


def _without_nan(a: Window, fill: float) -> Window:
    return a if a.dtype.kind not in "fc" else kept(where(a.values != a.values, fill, a.values), a.lengths)


def cov(m: Any, y: Any = None, bias: Any = False, ddof: Any = None) -> Any:
    first, second = _line(m, "cov"), None if y is None else _line(y, "cov")
    count = first.count() - (1 - bool(bias) if ddof is None else ddof)
    lines = [each.astype(np.result_type(each.dtype, np.float64)) for each in (first, second) if each is not None]
    apart = [each - each.mean() for each in lines]
    products = [[one.dot(table.conjugate(other)) / count for other in apart] for one in apart]
    return stack([stack(row) for row in products]) if second is not None else products[0][0]


def corrcoef(x: Any, y: Any) -> Any:
    found = cov(x, y)
    sizes = table.sqrt(stack([found[0, 0].real, found[1, 1].real]))
    return clip(found / sizes[:, None] / sizes, -1, 1)


def vdot(a: Any, b: Any) -> Any:
    return table.conjugate(_line(a, "vdot")).dot(_line(b, "vdot"))


def cumsum(a: Any, axis: Any = None) -> Any:
    return _along("cumsum", a, axis)


def cumprod(a: Any, axis: Any = None) -> Any:
    return _along("cumprod", a, axis)


def _along(name: str, a: Window, axis: Any) -> Window:
    if axis is None:
        _line(a, name)
    return kept(getattr(a.values, name)(axis), a.lengths)


def diff(a: Any, n: Any = 1) -> Any:
    for _ in range(n):
        a = _line(a, "diff")[1:] - a[:-1]
    return a


def trapezoid(y: Any, x: Any = None, dx: Any = 1.0) -> Any:
    steps = dx if x is None else diff(x)
    return (steps * (_line(y, "trapezoid")[1:] + y[:-1]) / 2.0).sum()


def flip(m: Any, axis: Any = None) -> Any:
    return _line(m, "flip")[::-1]


def sorted_(a: Any, axis: Any = -1) -> Any:
    a = _line(a, "sort")
    return kept(sort(_with_the_rest_last(a)), a.lengths)


def order(a: Any, axis: Any = -1, kind: Any = None) -> Any:
    a = _line(a, "argsort")
    return kept(argsort(_with_the_rest_last(a), kind="stable"), a.lengths)


def median(a: Any) -> Any:
    a = _line(a, "median")
    if a.dtype.kind not in "fc":
        a = a.astype(np.float64)
    values, count = sort(_with_the_rest_last(a)), a.count()  # a NaN is behind the numbers; without numbers it is one
    low, high, last = values[(count - 1) // 2], values[count // 2 % len(values)], values[count - 1]
    middle = where(asarray(count % 2 == 1), low, (low + high) / 2)
    return where(last != last, last, middle)


def _with_the_rest_last(a: Window) -> Any:
    """The values with such as come last in order behind those that count."""
    kind = a.dtype.kind
    last = True if kind == "b" else np.nan if kind in "fc" else np.iinfo(a.dtype).max
    return masked(a.values, a.lengths, a.dtype.type(last))


ROWS: dict[str, Callable[..., Any]] = {
    **{
        each.__name__: _plain(each)
        for each in (
            average, corrcoef, count_nonzero, cov, cumprod, cumsum, diff, flip, median, nanmax, nanmean,
            nanmin, nansum, norm, ptp, std, trapezoid, var, vdot,
        )
    },
    "sort": _plain(sorted_),
    "argsort": _plain(order),
}  # fmt: skip
"""Function of tnp -> the same of slices of open length."""
