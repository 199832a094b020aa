"""Scans: cumulative sums and products, and differences.

Layer: owns the public functions. Their dtype rule and ``out`` are those of the ufuncs' ``accumulate``.
"""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from backend_torch.kernels import scans as kernels
from backend_torch.native import heads
from backend_torch.tensors.dtypes import to_numpy
from backend_torch.tensors.shape import laid_out_as
from tnp._core.base import ndarray, wrap, wrap_array
from tnp._core.convert import tensor_of, tensors_of
from tnp._core.dtypes import native
from tnp._core.errors import integer_axis, integer_of, normalize_axis
from tnp._manipulation.joining import concatenate
from tnp._ufunc.reduction import CUMPROD, CUMSUM, FAILURES, Accumulation, deliver, output_of

_NoValue: Any = np._NoValue
_cumsum, _cumprod = CUMSUM.loops, CUMPROD.loops


def cumsum(a: Any, axis: Any = None, dtype: Any = None, out: Any = None) -> ndarray:
    """Cumulative sum along an axis.

    Parameters
    ----------
    a : array_like
    axis : int, optional
        The axis to sum along; by default the array is flattened.
    dtype : dtype_like, optional
        The dtype of the sum; by default int64, or uint64 if unsigned, for smaller integers and booleans.
    out : ndarray, optional
        Where to put the result.

    Returns
    -------
    ndarray

    Raises
    ------
    AxisError
        The array has no such axis.

    Notes
    -----
    On the CPU floats are summed in double precision and then rounded: more accurate than NumPy's running sum.

    Source: https://numpy.org/doc/stable/reference/generated/numpy.cumsum.html

    Examples
    --------
    >>> import tnp as np
    >>> np.cumsum(np.asarray([[1, 2, 3], [4, 5, 6]]), axis=0)
    array([[1, 2, 3],
           [5, 7, 9]])
    """
    if (found := heads.cumsum(a, axis, dtype, out)) is not None:
        return found
    if axis.__class__ is int and isinstance(a, ndarray) and a.tensor.dim() and dtype is None and out is None:
        try:
            return wrap(laid_out_as(_cumsum[a.tensor.dtype](a.tensor, axis), a.tensor))
        except FAILURES:
            pass
    return CUMSUM.accumulate(*_line(a, axis), native(dtype), out)


def cumprod(a: Any, axis: Any = None, dtype: Any = None, out: Any = None) -> ndarray:
    """Cumulative product along an axis.

    Parameters
    ----------
    a : array_like
    axis : int, optional
        The axis to multiply along; by default the array is flattened.
    dtype : dtype_like, optional
        The dtype of the product; by default int64, or uint64 if unsigned, for smaller integers and booleans.
    out : ndarray, optional
        Where to put the result.

    Returns
    -------
    ndarray

    Raises
    ------
    AxisError
        The array has no such axis.

    Notes
    -----
    Source: https://numpy.org/doc/stable/reference/generated/numpy.cumprod.html

    Examples
    --------
    >>> import tnp as np
    >>> np.cumprod(np.asarray([[1, 2, 3], [4, 5, 6]]), axis=1)
    array([[  1,   2,   6],
           [  4,  20, 120]])
    """
    if (found := heads.cumprod(a, axis, dtype, out)) is not None:
        return found
    if axis.__class__ is int and isinstance(a, ndarray) and a.tensor.dim() and dtype is None and out is None:
        try:
            return wrap(laid_out_as(_cumprod[a.tensor.dtype](a.tensor, axis), a.tensor))
        except FAILURES:
            pass
    return CUMPROD.accumulate(*_line(a, axis), native(dtype), out)


def _line(a: Any, axis: Any) -> tuple[Any, Any]:
    """Return the array and its axis: flattened for None; a 0-d array counts as one element with axis 0."""
    tensor = tensor_of(a)
    if axis is None or not tensor.dim():
        return wrap_array(tensor.reshape(-1)), 0 if axis is None else integer_of(axis)
    return wrap_array(tensor), integer_of(axis)


def cumulative_sum(
    x: Any, /, *, axis: Any = None, dtype: Any = None, out: Any = None, include_initial: bool = False
) -> ndarray:
    """Cumulative sum along an axis (the Array API's ``cumsum``).

    Parameters
    ----------
    x : array_like
    axis : int, optional
        The axis to sum along; may be left out for a one-dimensional array.
    dtype : dtype_like, optional
        As in ``cumsum``.
    out : ndarray, optional
        Where to put the result.
    include_initial : bool, optional
        Put a zero before the first element.

    Returns
    -------
    ndarray

    Raises
    ------
    AxisError
        The array has no such axis.
    ValueError
        The array has several dimensions, and there is no axis.

    Notes
    -----
    Source: https://numpy.org/doc/stable/reference/generated/numpy.cumulative_sum.html

    Examples
    --------
    >>> import tnp as np
    >>> np.cumulative_sum(np.asarray([1, 2, 3]), include_initial=True)
    array([0, 1, 3, 6])
    """
    if include_initial is False and type(x) is ndarray and (x.ndim == 1 or axis is not None):
        if (found := heads.cumsum(x, axis, dtype, out)) is not None:
            return found
    return _cumulative(CUMSUM, x, axis, dtype, out, include_initial, 0)


def cumulative_prod(
    x: Any, /, *, axis: Any = None, dtype: Any = None, out: Any = None, include_initial: bool = False
) -> ndarray:
    """Cumulative product along an axis (the Array API's ``cumprod``).

    Parameters
    ----------
    x : array_like
    axis : int, optional
        The axis to multiply along; may be left out for a one-dimensional array.
    dtype : dtype_like, optional
        As in ``cumprod``.
    out : ndarray, optional
        Where to put the result.
    include_initial : bool, optional
        Put a one before the first element.

    Returns
    -------
    ndarray

    Raises
    ------
    AxisError
        The array has no such axis.
    ValueError
        The array has several dimensions, and there is no axis.

    Notes
    -----
    Source: https://numpy.org/doc/stable/reference/generated/numpy.cumulative_prod.html

    Examples
    --------
    >>> import tnp as np
    >>> np.cumulative_prod(np.asarray([1, 2, 3]))
    array([1, 2, 6])
    """
    if include_initial is False and type(x) is ndarray and (x.ndim == 1 or axis is not None):
        if (found := heads.cumprod(x, axis, dtype, out)) is not None:
            return found
    return _cumulative(CUMPROD, x, axis, dtype, out, include_initial, 1)


def _cumulative(row: Accumulation, x: Any, axis: Any, dtype: Any, out: Any, include_initial: bool, first: int) -> Any:
    array = wrap_array(tensor_of(x))
    if not array.ndim:
        array = wrap_array(array.tensor.reshape(1))
    if axis is None:
        if array.ndim != 1:
            raise ValueError("For arrays which have more than one dimension ``axis`` argument is required.")
        axis = 0
    if out is None or not include_initial:  # NumPy asks for the flag's truth last
        scanned = row.accumulate(array, axis, dtype, out)
        return wrap_array(kernels.after_value(scanned.tensor, first, axis)) if include_initial else scanned
    axis = integer_axis(axis, array.ndim)
    target = output_of(out)
    scanned = row.accumulate(array, axis, to_numpy[target.dtype] if dtype is None else dtype)
    return deliver(kernels.after_value(scanned.tensor, first, axis), out, target, "accumulate")


def _check_line(shape: Any) -> None:
    if not len(shape):
        raise ValueError("diff requires input that is at least one dimensional")


def diff(a: Any, n: int = 1, axis: Any = -1, prepend: Any = _NoValue, append: Any = _NoValue) -> ndarray:
    """Differences between neighbours along an axis.

    Parameters
    ----------
    a : array_like
    n : int, default 1
        How many times to take differences; 0 returns the input.
    axis : int, default -1
        The axis of the neighbours.
    prepend, append : array_like, optional
        Values to put before and after those of the array; a scalar stands for a slice of length one.

    Returns
    -------
    ndarray
        Of the array's dtype: unsigned integers wrap around, bool tells where neighbours differ.

    Raises
    ------
    AxisError
        The array has no such axis.
    ValueError
        ``n`` is negative, or the array is 0-d.

    Notes
    -----
    Source: https://numpy.org/doc/stable/reference/generated/numpy.diff.html

    Examples
    --------
    >>> import tnp as np
    >>> np.diff(np.asarray([1, 2, 4, 7, 0]))
    array([ 1,  2,  3, -7])
    >>> np.diff(np.asarray([1, 2, 4, 7, 0]), n=2)
    array([  1,   1, -10])
    """
    if n == 0:
        return a
    if n < 0:
        raise ValueError(f"order must be non-negative but got {n!r}")
    (tensor,) = tensors_of(a, check=_check_line)
    _check_line(tensor.shape)
    axis = normalize_axis(axis, tensor.dim())
    parts = [
        part if part is a else _slice_for(part, tensor, axis) for part in (prepend, a, append) if part is not _NoValue
    ]
    if len(parts) > 1:
        tensor = concatenate([wrap_array(tensor) if part is a else part for part in parts], axis).tensor
    for _ in range(min(operator.index(n), tensor.shape[axis])):  # no element is left
        tensor = kernels.difference(tensor, axis)
    return wrap_array(tensor)


def _slice_for(value: Any, tensor: Any, axis: int) -> ndarray:
    """Return a value to join to the array: a scalar is broadcast to one slice."""
    beside = tensor_of(value, device=tensor.device)
    if beside.dim():
        return wrap_array(beside)
    return wrap_array(beside.expand([1 if i == axis else length for i, length in enumerate(tensor.shape)]))
