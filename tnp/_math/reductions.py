"""Reductions: sums, products, extremes, their indices, truth and counts along axes.

Layer: owns the public functions. With all options at their defaults an array goes straight to the loop of its dtype.
The general path handles every option, and whatever fails there.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from backend_torch.kernels import reductions as kernels
from backend_torch.kernels.indexing import assign
from backend_torch.native import heads
from backend_torch.tensors.casting import cast
from backend_torch.tensors.dtypes import to_numpy
from tnp._core.base import ndarray, wrap
from tnp._core.convert import tensor_of
from tnp._core.dtype_table import Loops
from tnp._core.errors import integer_axis, reduced_axes, refuse_cast, shapes_text
from tnp._core.strided_views import put_back
from tnp._ufunc.reduction import ALL, ANY, MAX, MIN, PROD, SUM, kept, output_of
from tnp._ufunc.table import subtract

_NoValue: Any = np._NoValue

_argmax = Loops(lambda given: kernels.argextreme(given, largest=True))
_argmin = Loops(lambda given: kernels.argextreme(given, largest=False))


def sum(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    out: Any = None,
    keepdims: Any = False,
    initial: Any = _NoValue,
    where: Any = True,
) -> ndarray:
    """Sum of the elements along axes.

    Parameters
    ----------
    a : array_like
    axis : int or tuple of int, optional
        Axes to reduce; all by default.
    dtype : dtype_like, optional
        The dtype of the computation; by default the array's, but int64 (uint64 if unsigned) for smaller
        integers and bool.
    out : ndarray, optional
        Where to put the result.
    keepdims : bool, optional
        Keep the axes, with length one.
    initial : scalar, optional
        The start of the sum.
    where : array_like of bool, optional
        Which elements to sum.

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
    Small arrays of float32 and float64 on the CPU are summed in NumPy's order, others in cascade, at least as
    accurately, and float16 in float32.

    Source: https://numpy.org/doc/stable/reference/generated/numpy.sum.html

    Examples
    --------
    >>> import tnp as np
    >>> np.sum(np.asarray([[0, 1], [0, 5]]), axis=0)
    array([0, 6])
    """
    if (found := heads.sum(a, axis, dtype, out, keepdims, initial, where)) is not None:
        return found
    return SUM.reduce(a, axis, dtype, out, keepdims, initial, where)


def prod(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    out: Any = None,
    keepdims: Any = False,
    initial: Any = _NoValue,
    where: Any = True,
) -> ndarray:
    """Product of the elements along axes.

    Parameters
    ----------
    a : array_like
    axis : int or tuple of int, optional
        Axes to reduce; all by default.
    dtype : dtype_like, optional
        The dtype of the computation; by default the array's, but int64 (uint64 if unsigned) for smaller
        integers and bool.
    out : ndarray, optional
        Where to put the result.
    keepdims : bool, optional
        Keep the axes, with length one.
    initial : scalar, optional
        The start of the product.
    where : array_like of bool, optional
        Which elements to multiply.

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
    Source: https://numpy.org/doc/stable/reference/generated/numpy.prod.html

    Examples
    --------
    >>> import tnp as np
    >>> np.prod(np.asarray([[1.0, 2.0], [3.0, 4.0]]), axis=1)
    array([ 2., 12.])
    """
    if (found := heads.prod(a, axis, dtype, out, keepdims, initial, where)) is not None:
        return found
    return PROD.reduce(a, axis, dtype, out, keepdims, initial, where)


def max(
    a: Any, axis: Any = None, out: Any = None, keepdims: Any = False, initial: Any = _NoValue, where: Any = True
) -> ndarray:
    """Largest element along axes; NaN if there is one.

    Parameters
    ----------
    a : array_like
    axis : int or tuple of int, optional
        Axes to reduce; all by default.
    out : ndarray, optional
        Where to put the result.
    keepdims : bool, optional
        Keep the axes, with length one.
    initial : scalar, optional
        The least possible result; required if there may be no elements.
    where : array_like of bool, optional
        Which elements to compare; needs ``initial``.

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
    Complex numbers are ordered by real part, then imaginary part. ``amax`` is another name.

    Source: https://numpy.org/doc/stable/reference/generated/numpy.max.html

    Examples
    --------
    >>> import tnp as np
    >>> np.max(np.asarray([[0, 1], [2, 3]]), axis=0)
    array([2, 3])
    """
    if (found := heads.max(a, axis, out, keepdims, initial, where)) is not None:
        return found
    return MAX.reduce(a, axis, None, out, keepdims, initial, where)


def min(
    a: Any, axis: Any = None, out: Any = None, keepdims: Any = False, initial: Any = _NoValue, where: Any = True
) -> ndarray:
    """Smallest element along axes; NaN if there is one.

    Parameters
    ----------
    a : array_like
    axis : int or tuple of int, optional
        Axes to reduce; all by default.
    out : ndarray, optional
        Where to put the result.
    keepdims : bool, optional
        Keep the axes, with length one.
    initial : scalar, optional
        The largest possible result; required if there may be no elements.
    where : array_like of bool, optional
        Which elements to compare; needs ``initial``.

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
    Complex numbers are ordered by real part, then imaginary part. ``amin`` is another name.

    Source: https://numpy.org/doc/stable/reference/generated/numpy.min.html

    Examples
    --------
    >>> import tnp as np
    >>> np.min(np.asarray([[0, 1], [2, 3]]), axis=1)
    array([0, 2])
    """
    if (found := heads.min(a, axis, out, keepdims, initial, where)) is not None:
        return found
    return MIN.reduce(a, axis, None, out, keepdims, initial, where)


def any(a: Any, axis: Any = None, out: Any = None, keepdims: Any = False, *, where: Any = True) -> ndarray:
    """Whether any element is true along axes.

    Parameters
    ----------
    a : array_like
        Numbers are true if they are not zero; NaN is.
    axis : int or tuple of int, optional
        Axes to reduce; all by default.
    out : ndarray, optional
        Where to put the result.
    keepdims : bool, optional
        Keep the axes, with length one.
    where : array_like of bool, optional
        Which elements to test.

    Returns
    -------
    ndarray
        Of bool; a scalar if no axis is left.

    Raises
    ------
    AxisError
        The array has no such axis.

    Notes
    -----
    Source: https://numpy.org/doc/stable/reference/generated/numpy.any.html

    Examples
    --------
    >>> import tnp as np
    >>> np.any(np.asarray([[True, False], [False, False]]), axis=1)
    array([ True, False])
    """
    if (found := heads.any(a, axis, out, keepdims, where)) is not None:
        return found
    return ANY.reduce(a, axis, None, out, keepdims, _NoValue, where)


def all(a: Any, axis: Any = None, out: Any = None, keepdims: Any = False, *, where: Any = True) -> ndarray:
    """Whether all elements are true along axes.

    Parameters
    ----------
    a : array_like
        Numbers are true if they are not zero; NaN is.
    axis : int or tuple of int, optional
        Axes to reduce; all by default.
    out : ndarray, optional
        Where to put the result.
    keepdims : bool, optional
        Keep the axes, with length one.
    where : array_like of bool, optional
        Which elements to test.

    Returns
    -------
    ndarray
        Of bool; a scalar if no axis is left.

    Raises
    ------
    AxisError
        The array has no such axis.

    Notes
    -----
    Source: https://numpy.org/doc/stable/reference/generated/numpy.all.html

    Examples
    --------
    >>> import tnp as np
    >>> np.all(np.asarray([[True, False], [True, True]]), axis=0)
    array([ True, False])
    """
    if (found := heads.all(a, axis, out, keepdims, where)) is not None:
        return found
    return ALL.reduce(a, axis, None, out, keepdims, _NoValue, where)


def argmax(a: Any, axis: Any = None, out: Any = None, *, keepdims: Any = False) -> ndarray:
    """Index of the first largest element, or of the first NaN.

    Parameters
    ----------
    a : array_like
    axis : int, optional
        The axis to search along; by default the index is that of the flattened array.
    out : ndarray, optional
        Where to put the result.
    keepdims : bool, optional
        Keep the axis, with length one.

    Returns
    -------
    ndarray
        Of int64; a scalar if no axis is left.

    Raises
    ------
    AxisError
        The array has no such axis.
    ValueError
        There are no elements.

    Notes
    -----
    Source: https://numpy.org/doc/stable/reference/generated/numpy.argmax.html

    Examples
    --------
    >>> import tnp as np
    >>> np.argmax(np.asarray([[0, 5, 2], [3, 4, 4]]), axis=1)
    array([1, 1])
    """
    if (found := heads.argmax(a, axis, out, keepdims)) is not None:
        return found
    if out is None and keepdims is False and (found := heads.by_numpy(np.argmax, a, axis)) is not None:
        return found
    return _argextreme(_argmax, a, axis, out, keepdims, "argmax")


def argmin(a: Any, axis: Any = None, out: Any = None, *, keepdims: Any = False) -> ndarray:
    """Index of the first smallest element, or of the first NaN.

    Parameters
    ----------
    a : array_like
    axis : int, optional
        The axis to search along; by default the index is that of the flattened array.
    out : ndarray, optional
        Where to put the result.
    keepdims : bool, optional
        Keep the axis, with length one.

    Returns
    -------
    ndarray
        Of int64; a scalar if no axis is left.

    Raises
    ------
    AxisError
        The array has no such axis.
    ValueError
        There are no elements.

    Notes
    -----
    Source: https://numpy.org/doc/stable/reference/generated/numpy.argmin.html

    Examples
    --------
    >>> import tnp as np
    >>> np.argmin(np.asarray([[0, 5, 2], [3, 4, 3]]), axis=1)
    array([0, 0])
    """
    if (found := heads.argmin(a, axis, out, keepdims)) is not None:
        return found
    if out is None and keepdims is False and (found := heads.by_numpy(np.argmin, a, axis)) is not None:
        return found
    return _argextreme(_argmin, a, axis, out, keepdims, "argmin")


def _argextreme(loops: Loops, a: Any, axis: Any, out: Any, keepdims: Any, name: str) -> Any:
    tensor, keepdims = tensor_of(a), bool(keepdims)
    if axis is not None:
        axis = integer_axis(axis, tensor.dim() or 1)
    if not (tensor.numel() if axis is None or not tensor.dim() else tensor.shape[axis]):
        raise ValueError(f"attempt to get {name} of an empty sequence")
    index = loops[tensor.dtype](tensor, axis, keepdims)
    if out is None:
        return wrap(index)
    target = output_of(out)
    if target.shape != index.shape:
        raise ValueError(
            f"output array does not match result of np.{name}: its shape is {shapes_text([target.shape])}, not "
            f"{shapes_text([index.shape])}"
        )
    refuse_cast(to_numpy[target.dtype], to_numpy[index.dtype], "safe", target.dim())
    assign(target, cast(index, target.dtype))
    return put_back(out, target)


def count_nonzero(a: Any, axis: Any = None, *, keepdims: Any = False) -> ndarray:
    """Number of elements that are not zero.

    Parameters
    ----------
    a : array_like
    axis : int or tuple of int, optional
        Axes to reduce; all by default.
    keepdims : bool, optional
        Keep the axes, with length one.

    Returns
    -------
    ndarray
        Of int64; a scalar if no axis is left.

    Raises
    ------
    AxisError
        The array has no such axis.

    Notes
    -----
    Source: https://numpy.org/doc/stable/reference/generated/numpy.count_nonzero.html

    Examples
    --------
    >>> import tnp as np
    >>> np.count_nonzero(np.asarray([[0, 1, 7], [3, 0, 2]]), axis=1)
    array([2, 2])
    """
    if axis is None and keepdims is False and (count := heads.count_nonzero(a)) is not None:
        return count
    tensor = tensor_of(a)
    axes = None if axis is None else reduced_axes(axis, tensor.dim())
    return wrap(kernels.count_nonzero(tensor, axes, kept(keepdims)))


def ptp(a: Any, axis: Any = None, out: Any = None, keepdims: Any = False) -> ndarray:
    """Peak to peak: the maximum minus the minimum.

    Parameters
    ----------
    a : array_like
    axis : int or tuple of int, optional
        Axes to reduce; all by default.
    out : ndarray, optional
        Where to put the result.
    keepdims : bool, optional
        Keep the axes, with length one.

    Returns
    -------
    ndarray
        Of the array's dtype: the range of a signed integer may wrap around. A scalar if no axis is left.

    Raises
    ------
    AxisError
        The array has no such axis.
    TypeError
        The array is of bool.
    ValueError
        There are no elements.

    Notes
    -----
    Source: https://numpy.org/doc/stable/reference/generated/numpy.ptp.html

    Examples
    --------
    >>> import tnp as np
    >>> np.ptp(np.asarray([[4, 9, 2], [6, 9, 7]]), axis=1)
    array([7, 3])
    """
    return subtract(max(a, axis, out, keepdims), min(a, axis, None, keepdims), out=out)


amax = max
amin = min
