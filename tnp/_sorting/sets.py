"""Sets: distinct values of arrays, and their unions, intersections and differences.

Layer: owns flattening, axes, common dtypes and the shapes of the results.
"""

from __future__ import annotations

from typing import Any, Literal, NamedTuple, overload

import numpy as np
from numpy.exceptions import AxisError
from numpy.lib.array_utils import normalize_axis_index

from backend_torch.kernels import sets as kernels
from backend_torch.kernels import sorting
from backend_torch.native import heads
from backend_torch.tensors import memory
from backend_torch.tensors.casting import cast
from backend_torch.tensors.dtypes import to_numpy
from tnp._core.base import ndarray, wrap_array
from tnp._core.convert import tensor_of, tensors_of
from tnp._core.dtypes import tensor_dtype
from tnp._core.errors import moved_axis
from tnp._manipulation.joining import concatenate

Tensor = Any


class UniqueAllResult(NamedTuple):
    """The result of ``unique_all``."""

    values: ndarray
    indices: ndarray
    inverse_indices: ndarray
    counts: ndarray


class UniqueCountsResult(NamedTuple):
    """The result of ``unique_counts``."""

    values: ndarray
    counts: ndarray


class UniqueInverseResult(NamedTuple):
    """The result of ``unique_inverse``."""

    values: ndarray
    inverse_indices: ndarray


@overload
def unique(
    ar: Any,
    return_index: Literal[False] = False,
    return_inverse: Literal[False] = False,
    return_counts: Literal[False] = False,
    axis: Any = None,
    *,
    equal_nan: bool = True,
    sorted: bool = True,
) -> ndarray: ...
@overload
def unique(
    ar: Any,
    return_index: Literal[True],
    return_inverse: Any = False,
    return_counts: Any = False,
    axis: Any = None,
    *,
    equal_nan: bool = True,
    sorted: bool = True,
) -> tuple[ndarray, ...]: ...
@overload
def unique(
    ar: Any,
    return_index: Any = False,
    *,
    return_inverse: Literal[True],
    return_counts: Any = False,
    axis: Any = None,
    equal_nan: bool = True,
    sorted: bool = True,
) -> tuple[ndarray, ...]: ...
@overload
def unique(
    ar: Any,
    return_index: Any = False,
    return_inverse: Any = False,
    *,
    return_counts: Literal[True],
    axis: Any = None,
    equal_nan: bool = True,
    sorted: bool = True,
) -> tuple[ndarray, ...]: ...
@overload
def unique(
    ar: Any,
    return_index: Any = False,
    return_inverse: Any = False,
    return_counts: Any = False,
    axis: Any = None,
    *,
    equal_nan: bool = True,
    sorted: bool = True,
) -> ndarray | tuple[ndarray, ...]: ...
def unique(
    ar: Any,
    return_index: Any = False,
    return_inverse: Any = False,
    return_counts: Any = False,
    axis: Any = None,
    *,
    equal_nan: bool = True,
    sorted: bool = True,
) -> ndarray | tuple[ndarray, ...]:
    """The distinct elements of an array, or its distinct slices along an axis, in ascending order.

    Parameters
    ----------
    ar : array_like
        Flattened unless an axis is given.
    return_index : bool, optional
        Also return the first place of each value.
    return_inverse : bool, optional
        Also return the number of each element's value.
    return_counts : bool, optional
        Also return the number of occurrences of each value.
    axis : int, optional
        The slices along this axis are compared.
    equal_nan : bool, optional
        NaNs are one value.
    sorted : bool, optional
        Without effect: the result is always in ascending order.

    Returns
    -------
    ndarray, or tuple of ndarray if more than the values is requested
        The inverse has the shape of ``ar``; with an axis it is one-dimensional.

    Raises
    ------
    AxisError
        The array has no such axis.

    Notes
    -----
    The size of the result depends on the values, so the host waits for an accelerator.

    Source: https://numpy.org/doc/stable/reference/generated/numpy.unique.html

    Examples
    --------
    >>> import tnp as np
    >>> np.unique(np.asarray([1, 1, 2, 2, 3, 3]))
    array([1, 2, 3])
    >>> np.unique(np.asarray([3, 1, 1]), return_counts=True)
    (array([1, 3]), array([2, 1]))
    """
    tensor = tensor_of(ar)
    if axis is not None:
        axis = _axis_of_slices(axis, tensor.dim())
    options, equal_nan = (bool(return_index), bool(return_inverse), bool(return_counts)), bool(equal_nan)
    if axis is None or tensor.dim() == 1:
        if not any(options) and to_numpy[tensor.dtype].kind in "iuc":
            bool(sorted)  # NumPy has a table of these, and asks for it
        found = kernels.unique(tensor.reshape(-1), *options, equal_nan)
        values, inverse = found.values, found.inverse
        if axis is None and inverse is not None:
            inverse = inverse.reshape(tensor.shape)
    else:
        moved = tensor.movedim(axis, 0)
        rest = tuple(moved.shape[1:])
        found = kernels.unique_rows(moved.reshape(len(moved), int(np.prod(rest))), *options)
        values, inverse = found.values.reshape(len(found.values), *rest).movedim(0, axis), found.inverse
    results = [wrap_array(t) for t in (values, found.indices, inverse, found.counts) if t is not None]
    return tuple(results) if len(results) > 1 else results[0]


def _axis_of_slices(axis: Any, ndim: int) -> int:
    """Return the axis of ``unique``: NumPy gives it to ``moveaxis`` and then indexes a list, which takes no tuple."""
    if ndim == 1:
        return normalize_axis_index(axis, 1)
    try:
        moved_axis(axis, ndim)
    except AxisError:
        raise AxisError(axis, ndim) from None
    return list(range(ndim))[axis]


def unique_all(x: Any) -> UniqueAllResult:
    """The distinct values of an array, their places, inverse and counts; NaNs count as different.

    Parameters
    ----------
    x : array_like

    Returns
    -------
    values, indices, inverse_indices, counts : ndarray
        A namedtuple: the values in ascending order, where each is first, which of them each element is, and how often
        each occurs.

    Notes
    -----
    Source: https://numpy.org/doc/stable/reference/generated/numpy.unique_all.html

    Examples
    --------
    >>> import tnp as np
    >>> np.unique_all(np.asarray([1, 1, 2])).counts
    array([2, 1])
    """
    return UniqueAllResult(*unique(x, True, True, True, equal_nan=False))


def unique_counts(x: Any) -> UniqueCountsResult:
    """The distinct values of an array and how often each occurs; NaNs count as different.

    Parameters
    ----------
    x : array_like

    Returns
    -------
    values, counts : ndarray
        A namedtuple.

    Notes
    -----
    Source: https://numpy.org/doc/stable/reference/generated/numpy.unique_counts.html

    Examples
    --------
    >>> import tnp as np
    >>> np.unique_counts(np.asarray([1, 1, 2])).values
    array([1, 2])
    """
    return UniqueCountsResult(*unique(x, return_counts=True, equal_nan=False))


def unique_inverse(x: Any) -> UniqueInverseResult:
    """The distinct values of an array and which of them each element is; NaNs count as different.

    Parameters
    ----------
    x : array_like

    Returns
    -------
    values, inverse_indices : ndarray
        A namedtuple.

    Notes
    -----
    Source: https://numpy.org/doc/stable/reference/generated/numpy.unique_inverse.html

    Examples
    --------
    >>> import tnp as np
    >>> np.unique_inverse(np.asarray([1, 1, 2])).inverse_indices
    array([0, 0, 1])
    """
    return UniqueInverseResult(*unique(x, return_inverse=True, equal_nan=False))


def unique_values(x: Any) -> ndarray:
    """The distinct values of an array, in ascending order; NaNs count as different.

    Parameters
    ----------
    x : array_like

    Returns
    -------
    ndarray

    Notes
    -----
    Source: https://numpy.org/doc/stable/reference/generated/numpy.unique_values.html

    Examples
    --------
    >>> import tnp as np
    >>> np.unique_values(np.asarray([1, 1, 2]))
    array([1, 2])
    """
    found = heads.by_numpy(np.unique, x, equal_nan=False)  # sorted, unlike NumPy's result
    return unique(x, equal_nan=False) if found is None else found


@overload
def intersect1d(ar1: Any, ar2: Any, assume_unique: bool = False, return_indices: Literal[False] = False) -> ndarray: ...
@overload
def intersect1d(
    ar1: Any, ar2: Any, assume_unique: bool = False, *, return_indices: Literal[True]
) -> tuple[ndarray, ndarray, ndarray]: ...
@overload
def intersect1d(
    ar1: Any, ar2: Any, assume_unique: bool = False, return_indices: bool = False
) -> ndarray | tuple[ndarray, ndarray, ndarray]: ...
def intersect1d(
    ar1: Any, ar2: Any, assume_unique: bool = False, return_indices: bool = False
) -> ndarray | tuple[ndarray, ndarray, ndarray]:
    """The values that are in both arrays, in ascending order.

    Parameters
    ----------
    ar1, ar2 : array_like
        Flattened.
    assume_unique : bool, optional
        States that no value occurs twice in one array; if one does, the result is wrong.
    return_indices : bool, optional
        Also return the first place of each value in either array.

    Returns
    -------
    ndarray, or tuple of three ndarray

    Notes
    -----
    Source: https://numpy.org/doc/stable/reference/generated/numpy.intersect1d.html

    Examples
    --------
    >>> import tnp as np
    >>> np.intersect1d(np.asarray([1, 3, 4, 3]), np.asarray([3, 1, 2, 1]))
    array([1, 3])
    """
    one, other = wrap_array(tensor_of(ar1)), wrap_array(tensor_of(ar2))
    first: Any = None
    second: Any = None
    if assume_unique:
        one, other = one.ravel(), other.ravel()
    elif return_indices:
        (one, first), (other, second) = unique(one, return_index=True), unique(other, return_index=True)
    else:
        one, other = unique(one), unique(other)
    line = concatenate((one, other)).tensor
    if not return_indices:
        arranged = sorting.sort(line, 0)
        return wrap_array(kernels.select(arranged[:-1], kernels.repeated(arranged)))
    order = sorting.argsort(line, 0, stable=True)
    arranged = kernels.select(line, order)
    both = kernels.repeated(arranged)
    values = wrap_array(kernels.select(arranged[:-1], both))
    left, right = wrap_array(order[:-1][both]), wrap_array(order[1:][both] - one.size)
    return (values, left, right) if assume_unique else (values, first[left], second[right])


def union1d(ar1: Any, ar2: Any) -> ndarray:
    """The values that are in one of two arrays or in both, in ascending order.

    Parameters
    ----------
    ar1, ar2 : array_like
        Flattened.

    Returns
    -------
    ndarray

    Notes
    -----
    Source: https://numpy.org/doc/stable/reference/generated/numpy.union1d.html

    Examples
    --------
    >>> import tnp as np
    >>> np.union1d(np.asarray([-1, 0, 1]), np.asarray([-2, 0, 2]))
    array([-2, -1,  0,  1,  2])
    """
    return unique(concatenate((ar1, ar2), axis=None))


def setdiff1d(ar1: Any, ar2: Any, assume_unique: bool = False) -> ndarray:
    """The values of one array that are not in another, in ascending order.

    Parameters
    ----------
    ar1, ar2 : array_like
        Flattened.
    assume_unique : bool, optional
        Keep the values of ``ar1`` in their order, with repetitions.

    Returns
    -------
    ndarray

    Notes
    -----
    Source: https://numpy.org/doc/stable/reference/generated/numpy.setdiff1d.html

    Examples
    --------
    >>> import tnp as np
    >>> np.setdiff1d(np.asarray([1, 2, 3, 2, 4, 1]), np.asarray([3, 4, 5, 6]))
    array([1, 2])
    """
    one = wrap_array(tensor_of(ar1))
    one = one.ravel() if assume_unique else unique(one)
    return wrap_array(kernels.select(one.tensor, isin(one, ar2, invert=True).tensor))


def setxor1d(ar1: Any, ar2: Any, assume_unique: bool = False) -> ndarray:
    """The values that are in exactly one of two arrays, in ascending order.

    Parameters
    ----------
    ar1, ar2 : array_like
        Flattened.
    assume_unique : bool, optional
        States that no value occurs twice in one array; if one does, the result is wrong.

    Returns
    -------
    ndarray

    Notes
    -----
    Source: https://numpy.org/doc/stable/reference/generated/numpy.setxor1d.html

    Examples
    --------
    >>> import tnp as np
    >>> np.setxor1d(np.asarray([1, 2, 3, 2, 4]), np.asarray([2, 3, 5, 7, 5]))
    array([1, 4, 5, 7])
    """
    pair = (ar1, ar2) if assume_unique else (unique(ar1), unique(ar2))
    return wrap_array(kernels.single(sorting.sort(concatenate(pair, axis=None).tensor, 0)))


def isin(
    element: Any, test_elements: Any, assume_unique: bool = False, invert: bool = False, *, kind: Any = None
) -> ndarray:
    """Which elements of one array are in another.

    Parameters
    ----------
    element : array_like
        If it or the other one holds strings, dates or objects, NumPy compares on the host.
    test_elements : array_like
        Flattened.
    assume_unique : bool, optional
        Without effect.
    invert : bool, optional
        Return which elements are not in the other array.
    kind : {None, 'sort', 'table'}, optional
        Checked and without effect: integers in a small range use a table, all others are sorted.

    Returns
    -------
    ndarray
        Of bool and the shape of ``element``.

    Raises
    ------
    ValueError
        ``kind`` is unknown, or 'table' for arrays that are not of integers or bool.

    Notes
    -----
    NaN is in no array.

    Source: https://numpy.org/doc/stable/reference/generated/numpy.isin.html

    Examples
    --------
    >>> import tnp as np
    >>> np.isin(np.asarray([[0, 2], [4, 6]]), [1, 2, 4, 8])
    array([[False,  True],
           [ True, False]])
    """
    if kind not in {None, "sort", "table"}:
        raise ValueError(f"Invalid kind: '{kind}'. Please use None, 'sort' or 'table'.")
    values, line = tensors_of(element, test_elements)
    line = line.reshape(-1)
    dtypes = to_numpy[values.dtype], to_numpy[line.dtype]
    if kind == "table" and any(dtype.kind not in "biu" for dtype in dtypes):
        raise ValueError(
            "The 'table' method is only supported for boolean or integer arrays. Please select 'sort' or None for kind."
        )
    if {dtype.kind for dtype in dtypes} == {"i", "u"} and np.dtype(np.uint64) in dtypes:
        found = _in_mixed(values, line)
    else:
        common = tensor_dtype(np.promote_types(*dtypes))
        found = kernels.contains(cast(line, common), cast(values, common))
    return wrap_array(memory.in_order(~found if invert else found, "C"))


def _in_mixed(values: Tensor, line: Tensor) -> Tensor:
    """``contains`` for uint64 and a signed dtype, which have no common integer dtype."""
    int64 = tensor_dtype(np.int64)
    unsigned = to_numpy[values.dtype].kind == "u"
    values, line = cast(values, int64), cast(line, int64)  # numbers beyond int64 wrap around and count as negative
    if unsigned:
        return kernels.contains(line[line >= 0], values)
    return kernels.contains(line, values) & (values >= 0)
