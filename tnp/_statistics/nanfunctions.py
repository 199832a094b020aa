"""Reductions and scans that ignore NaN.

Layer: owns the substitute for NaN in each of them. Arrays whose dtype has no NaN use the plain function.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from backend_torch.kernels import reductions as kernels
from backend_torch.kernels import sorting, value_checks
from backend_torch.native import heads
from backend_torch.tensors.casting import cast
from tnp._core.base import ndarray, scalar, wrap, wrap_array
from tnp._core.convert import output_tensor, tensor_of
from tnp._core.dtype_table import Loops
from tnp._core.dtypes import tensor_dtype
from tnp._core.errors import broadcast, normalize_axes, reduced_axes
from tnp._core.strided_views import put_back
from tnp._math import scans
from tnp._math.reductions import argmax, argmin
from tnp._statistics import averages
from tnp._ufunc import errstate
from tnp._ufunc.reduction import FAILURES, FMAX, FMIN, PROD, SUM, deliver, first_along, kept, mask_of, output_of

Tensor = Any
_NoValue: Any = np._NoValue
_nansum = Loops(lambda given: SUM.loops[given] if kernels.is_integer(given) else kernels.nansum(given))


def _filled(a: Any, fill: float) -> Any:
    """Return the array with ``fill`` in place of NaN."""
    return wrap_array(kernels.without_nan(tensor_of(a), fill))


def _chosen(tensor: Tensor, where: Any) -> Any:
    """Return a mask of the elements that are not NaN and that ``where`` chooses; True means all."""
    if kernels.is_integer(tensor.dtype):
        return where
    mask = ~tensor.isnan()
    return wrap_array(mask if where is True else mask & mask_of(where, tensor))


def nansum(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    out: Any = None,
    keepdims: Any = False,
    initial: Any = _NoValue,
    where: Any = True,
) -> ndarray:
    """Sum of the elements along axes, NaN taken as zero.

    Parameters
    ----------
    a : array_like
    axis, dtype, out, keepdims, initial, where
        As in ``sum``.

    Returns
    -------
    ndarray
        A scalar if no axis is left.

    Raises
    ------
    AxisError
        The array has no such axis.

    Notes
    -----
    Source: https://numpy.org/doc/stable/reference/generated/numpy.nansum.html

    Examples
    --------
    >>> import tnp as np
    >>> np.nansum(np.asarray([[1, 1], [1, np.nan]]), axis=0)
    array([2., 1.])
    """
    if (
        isinstance(a, ndarray)
        and (axis is None or axis.__class__ is int)
        and dtype is None
        and out is None
        and initial is _NoValue
        and where is True
    ):
        try:
            reduced = _nansum[a.tensor.dtype](a.tensor, axis, keepdims)
            return wrap(kernels.in_memory_order(reduced, a.tensor, axis, keepdims))
        except FAILURES:
            pass
    return SUM.reduce(_filled(a, 0), axis, dtype, out, keepdims, initial, where)


def nanprod(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    out: Any = None,
    keepdims: Any = False,
    initial: Any = _NoValue,
    where: Any = True,
) -> ndarray:
    """Product of the elements along axes, NaN taken as one.

    Parameters
    ----------
    a : array_like
    axis, dtype, out, keepdims, initial, where
        As in ``prod``.

    Returns
    -------
    ndarray
        A scalar if no axis is left.

    Raises
    ------
    AxisError
        The array has no such axis.

    Notes
    -----
    Source: https://numpy.org/doc/stable/reference/generated/numpy.nanprod.html

    Examples
    --------
    >>> import tnp as np
    >>> np.nanprod(np.asarray([[1, 2], [3, np.nan]]))
    np.float64(6.0)
    """
    return PROD.reduce(_filled(a, 1), axis, dtype, out, keepdims, initial, where)


def nanmax(
    a: Any, axis: Any = None, out: Any = None, keepdims: Any = False, initial: Any = _NoValue, where: Any = True
) -> ndarray:
    """Largest element along axes that is not NaN; NaN where all are.

    Parameters
    ----------
    a : array_like
    axis, out, keepdims, initial, where
        As in ``max``.

    Returns
    -------
    ndarray
        A scalar if no axis is left.

    Raises
    ------
    AxisError
        The array has no such axis.
    ValueError
        There are no elements, and no initial value.

    Notes
    -----
    Differences from NumPy: in a trace, a batch and on an accelerator nothing warns where all elements are NaN.

    Source: https://numpy.org/doc/stable/reference/generated/numpy.nanmax.html

    Examples
    --------
    >>> import tnp as np
    >>> np.nanmax(np.asarray([[1, 2], [3, np.nan]]), axis=1)
    array([2., 3.])
    """
    found = heads.max(a, axis, out, keepdims, initial, where) if axis is None else None
    if found is not None and found == found:
        return found  # there is no NaN
    is_plain = out is None and keepdims is False and initial is _NoValue and where is True
    if not is_plain or (found := heads.any_by_numpy(np.fmax.reduce, a, axis)) is None:
        found = FMAX.reduce(a, axis, None, out, keepdims, initial, where)
    return _warned(found, a)


def nanmin(
    a: Any, axis: Any = None, out: Any = None, keepdims: Any = False, initial: Any = _NoValue, where: Any = True
) -> ndarray:
    """Smallest element along axes that is not NaN; NaN where all are.

    Parameters
    ----------
    a : array_like
    axis, out, keepdims, initial, where
        As in ``min``.

    Returns
    -------
    ndarray
        A scalar if no axis is left.

    Raises
    ------
    AxisError
        The array has no such axis.
    ValueError
        There are no elements, and no initial value.

    Notes
    -----
    Differences from NumPy: in a trace, a batch and on an accelerator nothing warns where all elements are NaN.

    Source: https://numpy.org/doc/stable/reference/generated/numpy.nanmin.html

    Examples
    --------
    >>> import tnp as np
    >>> np.nanmin(np.asarray([[1, 2], [3, np.nan]]), axis=1)
    array([1., 3.])
    """
    found = heads.min(a, axis, out, keepdims, initial, where) if axis is None else None
    if found is not None and found == found:
        return found  # there is no NaN
    is_plain = out is None and keepdims is False and initial is _NoValue and where is True
    if not is_plain or (found := heads.any_by_numpy(np.fmin.reduce, a, axis)) is None:
        found = FMIN.reduce(a, axis, None, out, keepdims, initial, where)
    return _warned(found, a)


def _warned(result: Any, a: Any) -> Any:
    """Return the result, after a warning if it is NaN; NumPy has another text for what is no array."""
    if (known := heads.item(result)) is None:
        known = heads.max(result, None, None, False, _NoValue, True)
    if known is not None and known == known:
        return result
    tensor = tensor_of(result)
    is_array = isinstance(a, (ndarray, np.ndarray)) and not isinstance(a, scalar)
    errstate.warn_where(tensor, tensor.isnan, f"All-NaN {'slice' if is_array else 'axis'} encountered")
    return result


def nanargmax(a: Any, axis: Any = None, out: Any = None, *, keepdims: Any = False) -> ndarray:
    """Index of the first largest element that is not NaN.

    Parameters
    ----------
    a : array_like
    axis, out, keepdims
        As in ``argmax``.

    Returns
    -------
    ndarray
        Of int64; a scalar if no axis is left.

    Raises
    ------
    AxisError
        The array has no such axis.
    ValueError
        There are no elements, or all along the axis are NaN.

    Notes
    -----
    To raise for NaN the values have to be known: this waits for an accelerator. Differences from NumPy: in a function
    compiled for one, which does not wait, the index of nothing but NaN is 0.

    Source: https://numpy.org/doc/stable/reference/generated/numpy.nanargmax.html

    Examples
    --------
    >>> import tnp as np
    >>> np.nanargmax(np.asarray([[np.nan, 4], [2, 3]]), axis=0)
    array([1, 0])
    """
    if kernels.is_without_nan(tensor := tensor_of(a)):
        return argmax(wrap_array(tensor), axis, out, keepdims=keepdims)
    index = argmax(_filled(a, -np.inf), axis, out, keepdims=keepdims)
    _check_some_are_not_nan(tensor, axis)
    return index


def nanargmin(a: Any, axis: Any = None, out: Any = None, *, keepdims: Any = False) -> ndarray:
    """Index of the first smallest element that is not NaN.

    Parameters
    ----------
    a : array_like
    axis, out, keepdims
        As in ``argmin``.

    Returns
    -------
    ndarray
        Of int64; a scalar if no axis is left.

    Raises
    ------
    AxisError
        The array has no such axis.
    ValueError
        There are no elements, or all along the axis are NaN.

    Notes
    -----
    To raise for NaN the values have to be known: this waits for an accelerator. Differences from NumPy: in a function
    compiled for one, which does not wait, the index of nothing but NaN is 0.

    Source: https://numpy.org/doc/stable/reference/generated/numpy.nanargmin.html

    Examples
    --------
    >>> import tnp as np
    >>> np.nanargmin(np.asarray([[np.nan, 4], [2, 3]]), axis=0)
    array([1, 1])
    """
    if kernels.is_without_nan(tensor := tensor_of(a)):
        return argmin(wrap_array(tensor), axis, out, keepdims=keepdims)
    index = argmin(_filled(a, np.inf), axis, out, keepdims=keepdims)
    _check_some_are_not_nan(tensor, axis)
    return index


def _check_some_are_not_nan(tensor: Tensor, axis: Any) -> None:
    if not kernels.is_integer(tensor.dtype):
        value_checks.expect(~kernels.all_nan(tensor, axis), value_checks.ALL_NAN)


def nanmean(
    a: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: Any = False, *, where: Any = True
) -> ndarray:
    """Arithmetic mean along axes of the elements that are not NaN; NaN where all are.

    Parameters
    ----------
    a : array_like
    axis, dtype, out, keepdims, where
        As in ``mean``.

    Returns
    -------
    ndarray
        A scalar if no axis is left.

    Raises
    ------
    AxisError
        The array has no such axis.

    Notes
    -----
    Differences from NumPy: in a trace, a batch and on an accelerator nothing warns where all elements are NaN.

    Source: https://numpy.org/doc/stable/reference/generated/numpy.nanmean.html

    Examples
    --------
    >>> import tnp as np
    >>> np.nanmean(np.asarray([[1, np.nan], [3, 4]]), axis=0)
    array([2., 4.])
    """
    tensor = tensor_of(a)
    _check_inexact(tensor, dtype, out)
    chosen = _chosen(tensor, where)
    return errstate.quietly(averages.mean, wrap_array(tensor), axis, dtype, out, keepdims, where=chosen)


def _check_inexact(tensor: Any, dtype: Any, out: Any) -> None:
    """Raise TypeError if a possible NaN would be written to integers."""
    if kernels.is_integer(tensor.dtype):
        return
    if dtype is not None and kernels.is_integer(tensor_dtype(dtype)):
        raise TypeError("If a is inexact, then dtype must be inexact")
    if out is not None and kernels.is_integer(output_of(out).dtype):
        raise TypeError("If a is inexact, then out must be inexact")


def nanvar(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    out: Any = None,
    ddof: float = 0,
    keepdims: Any = False,
    *,
    where: Any = True,
    mean: Any = _NoValue,
    correction: Any = _NoValue,
) -> ndarray:
    """Variance along axes of the elements that are not NaN; NaN where there are too few.

    Parameters
    ----------
    a : array_like
    axis, dtype, out, ddof, keepdims, where, mean, correction
        As in ``var``.

    Returns
    -------
    ndarray
        Real, for complex numbers too; a scalar if no axis is left.

    Raises
    ------
    AxisError
        The array has no such axis.
    ValueError
        Both ``ddof`` and ``correction`` are given.

    Notes
    -----
    Differences from NumPy: in a trace, a batch and on an accelerator nothing warns where there are too few elements.

    Source: https://numpy.org/doc/stable/reference/generated/numpy.nanvar.html

    Examples
    --------
    >>> import tnp as np
    >>> np.nanvar(np.asarray([[1, np.nan], [3, 4]]), axis=0)
    array([1., 0.])
    """
    tensor = tensor_of(a)
    _check_inexact(tensor, dtype, out)
    if kernels.is_integer(tensor.dtype):
        return averages.var(a, axis, dtype, out, ddof, keepdims, where=where, mean=mean, correction=correction)
    variance, result = _variance(tensor, axis, dtype, ddof, keepdims, where, mean, correction)
    return deliver(cast(variance, result), out, None if out is None else output_of(out), "nanvar")


def nanstd(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    out: Any = None,
    ddof: float = 0,
    keepdims: Any = False,
    *,
    where: Any = True,
    mean: Any = _NoValue,
    correction: Any = _NoValue,
) -> ndarray:
    """Standard deviation along axes of the elements that are not NaN; NaN where there are too few.

    Parameters
    ----------
    a : array_like
    axis, dtype, out, ddof, keepdims, where, mean, correction
        As in ``std``.

    Returns
    -------
    ndarray
        Real, for complex numbers too; a scalar if no axis is left.

    Raises
    ------
    AxisError
        The array has no such axis.
    ValueError
        Both ``ddof`` and ``correction`` are given.

    Notes
    -----
    Differences from NumPy: in a trace, a batch and on an accelerator nothing warns where there are too few elements.

    Source: https://numpy.org/doc/stable/reference/generated/numpy.nanstd.html

    Examples
    --------
    >>> import tnp as np
    >>> np.nanstd(np.asarray([[1, np.nan], [3, 4]]), axis=0)
    array([1., 0.])
    """
    tensor = tensor_of(a)
    _check_inexact(tensor, dtype, out)
    if kernels.is_integer(tensor.dtype):
        return averages.std(a, axis, dtype, out, ddof, keepdims, where=where, mean=mean, correction=correction)
    variance, result = _variance(tensor, axis, dtype, ddof, keepdims, where, mean, correction)
    return deliver(averages.root(variance, result), out, None if out is None else output_of(out), "nanstd")


def _variance(
    tensor: Tensor, axis: Any, dtype: Any, ddof: float, keepdims: Any, where: Any, mean: Any, correction: Any
) -> tuple[Tensor, Any]:
    """Return the variance of the elements that are not NaN, and the result's torch dtype."""
    compute = tensor.dtype if dtype is None else tensor_dtype(dtype)
    result = kernels.real_dtype(compute) if dtype is None else compute
    axes = reduced_axes(axis, tensor.dim())
    mask = _chosen(tensor, where).tensor
    total, count = errstate.quietly(averages.squares, tensor, axes, kept(keepdims), compute, mask, mean)
    freedom = averages.degrees(ddof, correction)
    if isinstance(freedom, ndarray):
        broadcast(tuple(count.shape), freedom.shape)
        freedom = freedom.tensor
    left: Tensor = kernels.degrees_left(count, freedom)
    errstate.warn_where(left, lambda: left <= 0, "Degrees of freedom <= 0 for slice.")
    return kernels.masked(errstate.quietly(kernels.quotient, total, left), left > 0, np.nan), result


def nanmedian(
    a: Any, axis: Any = None, out: Any = None, overwrite_input: bool = False, keepdims: Any = False
) -> ndarray:
    """Median along axes of the elements that are not NaN; NaN where all are.

    Parameters
    ----------
    a : array_like
    axis, out, overwrite_input, keepdims
        As in ``median``.

    Returns
    -------
    ndarray
        Of the array's dtype, float64 for integers and bool; a scalar if no axis is left.

    Raises
    ------
    AxisError
        The array has no such axis.

    Notes
    -----
    Differences from NumPy: in a trace, a batch and on an accelerator nothing warns where all
    elements are NaN. All lines are sorted at once, in a copy of the array, where NumPy takes long ones one by one.

    Source: https://numpy.org/doc/stable/reference/generated/numpy.nanmedian.html

    Examples
    --------
    >>> import tnp as np
    >>> np.nanmedian(np.asarray([[10, np.nan, 4], [3, 2, 1]]), axis=0)
    array([6.5, 2. , 2.5])
    """
    tensor = tensor_of(a)
    axes = normalize_axes(axis, tensor.dim())
    if not tensor.numel():
        return nanmean(a, axis, None, out, keepdims)
    if kernels.is_integer(tensor.dtype):
        middle = errstate.quietly(averages.median, a, axis).tensor
    else:
        middle = sorting.nanmedian(kernels.flattened(tensor, axes), -1)
        errstate.warn_where(middle, middle.isnan, "All-NaN slice encountered", each=True)
    if out is None:
        return wrap(kernels.unflattened(middle, axes, tensor) if keepdims else middle)
    target = output_tensor(out)
    wrap_array(first_along(target, axes, tensor.dim()) if keepdims else target)[...] = wrap(middle)
    return put_back(out, target)


def nancumsum(a: Any, axis: Any = None, dtype: Any = None, out: Any = None) -> ndarray:
    """Cumulative sum along an axis, NaN taken as zero.

    Parameters
    ----------
    a : array_like
    axis, dtype, out
        As in ``cumsum``.

    Returns
    -------
    ndarray

    Raises
    ------
    AxisError
        The array has no such axis.

    Notes
    -----
    Source: https://numpy.org/doc/stable/reference/generated/numpy.nancumsum.html

    Examples
    --------
    >>> import tnp as np
    >>> np.nancumsum(np.asarray([1, np.nan, 2]))
    array([1., 1., 3.])
    """
    return scans.cumsum(_filled(a, 0), axis, dtype, out)


def nancumprod(a: Any, axis: Any = None, dtype: Any = None, out: Any = None) -> ndarray:
    """Cumulative product along an axis, NaN taken as one.

    Parameters
    ----------
    a : array_like
    axis, dtype, out
        As in ``cumprod``.

    Returns
    -------
    ndarray

    Raises
    ------
    AxisError
        The array has no such axis.

    Notes
    -----
    Source: https://numpy.org/doc/stable/reference/generated/numpy.nancumprod.html

    Examples
    --------
    >>> import tnp as np
    >>> np.nancumprod(np.asarray([2, np.nan, 3]))
    array([2., 2., 6.])
    """
    return scans.cumprod(_filled(a, 1), axis, dtype, out)
