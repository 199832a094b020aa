"""Writing to chosen elements: at flat indices, under a mask, along an axis.

Layer: owns the arguments of these functions, their casting rules and errors. Nothing is written by a call that raises.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from backend_torch.kernels import indexing, selection
from backend_torch.tensors.casting import cast
from backend_torch.tensors.constants import constant
from backend_torch.tensors.dtypes import to_numpy
from tnp._core.base import ndarray, wrap_array
from tnp._core.convert import tensor_of, value_of
from tnp._core.dtypes import DtypeError
from tnp._core.errors import long_of, normalize_axis, refuse_cast, unassignable
from tnp._core.index_arguments import has_own_dtype, in_mode, index_mode, index_tensor, target_of, writeable_tensor
from tnp._core.indexing import BOOL, assignable, unpicked
from tnp._core.strided_views import put_back
from tnp._indexing.selection import WEAK, along, within

Tensor = Any
_CASTINGS = ("no", "equiv", "safe", "same_kind", "unsafe")


def _fits(a: ndarray, ind: ndarray, v: ndarray) -> bool:
    """Whether ``put`` of a vector is an assignment by indices."""
    return a.ndim == 1 and ind.shape == v.shape and ind.dtype == np.int64 and v.dtype == a.dtype


def put(a: ndarray, ind: Any, v: Any, mode: str = "raise") -> None:
    """Replace elements of an array at flat indices.

    Parameters
    ----------
    a : ndarray
        The target.
    ind : array_like of int
        Indices into the flattened array; of repeated ones the last counts.
    v : array_like
        Values, repeated as needed and cast to the array's dtype.
    mode : {'raise', 'wrap', 'clip'}, optional
        What to do with indices out of bounds.

    Raises
    ------
    IndexError
        An index is out of bounds and the mode is 'raise'; nothing has been written.

    Notes
    -----
    Difference from NumPy: there the elements before an index out of bounds are written.

    Source: https://numpy.org/doc/stable/reference/generated/numpy.put.html

    Examples
    --------
    >>> import tnp as np
    >>> a = np.arange(5)
    >>> np.put(a, [0, 2], [-44, -55])
    >>> a
    array([-44,   1, -55,   3,   4])
    """
    if type(a) is type(ind) is type(v) is ndarray and mode == "raise" and _fits(a, ind, v):
        try:
            a[ind] = v
            return
        except IndexError:  # NumPy names the place of a flat array in other words
            pass
    a = target_of(a, ind, v)
    message = f"argument 1 must be numpy.ndarray, not {type(a)}"
    target = writeable_tensor(a, message, "put: output array is read-only")
    mode = index_mode(mode)
    positions = index_tensor(ind, target.device).reshape(-1)
    values = value_of(v, a).reshape(-1)
    if not positions.numel():
        return
    if not target.numel():
        raise IndexError("cannot replace elements of an empty array")
    if not values.numel():
        return
    positions = in_mode(positions, 0, target.numel(), mode)
    selection.put_flat(target, positions, selection.cycled(values, positions.numel()))
    put_back(a, target)


def putmask(a: ndarray, /, mask: Any, values: Any) -> None:
    """Replace the elements where a mask is true by the values at the same places.

    Parameters
    ----------
    a : ndarray
        The target.
    mask : array_like
        As many elements as the target.
    values : array_like
        Repeated to the size of the target where they are fewer.

    Raises
    ------
    ValueError
        The mask has another size.
    TypeError
        ``values`` is an array that does not cast safely to the target's dtype.

    Notes
    -----
    Source: https://numpy.org/doc/stable/reference/generated/numpy.putmask.html

    Examples
    --------
    >>> import tnp as np
    >>> x = np.arange(6).reshape(2, 3)
    >>> np.putmask(x, x > 2, x**2)
    >>> x
    array([[ 0,  1,  2],
           [ 9, 16, 25]])
    """
    a = target_of(a, mask, values)
    target = writeable_tensor(a, "putmask: first argument must be an array", "putmask: output array is read-only")
    condition = tensor_of(mask, device=target.device)
    if condition.numel() != target.numel():
        raise ValueError("putmask: mask and data must be the same size")
    replacements = _safe_values(values, a)
    if replacements.numel():
        selection.put_cycled(target, condition, replacements)
        put_back(a, target)


def place(arr: ndarray, mask: Any, vals: Any) -> None:
    """Replace the elements where a mask is true by the first values, in order.

    Parameters
    ----------
    arr : ndarray
        The target.
    mask : array_like
        As many elements as the target.
    vals : array_like
        As many of them are used as the mask has true elements; repeated where they are fewer.

    Raises
    ------
    ValueError
        The mask has another size, or there are no values for its true elements.
    TypeError
        ``vals`` is an array that does not cast safely to the target's dtype.

    Notes
    -----
    Source: https://numpy.org/doc/stable/reference/generated/numpy.place.html

    Examples
    --------
    >>> import tnp as np
    >>> x = np.arange(6).reshape(2, 3)
    >>> np.place(x, x > 2, [44, 55])
    >>> x
    array([[ 0,  1,  2],
           [44, 55, 44]])
    """
    arr = target_of(arr, mask, vals)
    target = writeable_tensor(arr, f"place() argument 1 must be numpy.ndarray, not {type(arr).__name__}")
    condition = cast(tensor_of(mask, device=target.device), BOOL)
    if condition.numel() != target.numel():
        raise ValueError("place: mask and data must be the same size")
    values = _safe_values(vals, arr)
    if values.numel():
        selection.place(target, condition, values)
        put_back(arr, target)
    elif indexing.is_counted(condition) and indexing.count_true(condition):
        raise ValueError("Cannot insert from an empty array!")


def _safe_values(values: Any, array: ndarray) -> Tensor:
    """Return values to write, in one dimension; an array's dtype must cast safely, numbers and lists must fit."""
    if has_own_dtype(values):
        given = tensor_of(values)
        refuse_cast(to_numpy[given.dtype], array.dtype, "safe", given.dim())
    return value_of(values, array).reshape(-1)


def copyto(dst: Any, src: Any, casting: str = "same_kind", where: Any = True) -> None:
    """Copy values from one array to another, broadcasting as necessary.

    Parameters
    ----------
    dst : ndarray
        The target.
    src : array_like
        The source.
    casting : {'no', 'equiv', 'safe', 'same_kind', 'unsafe'}, optional
        What conversions are allowed.
    where : array_like of bool, optional
        Where to copy; broadcast to the target.

    Raises
    ------
    TypeError
        The conversion is not allowed.
    ValueError
        The source or ``where`` does not broadcast to the target.

    Notes
    -----
    Source: https://numpy.org/doc/stable/reference/generated/numpy.copyto.html

    Examples
    --------
    >>> import tnp as np
    >>> a = np.zeros(3)
    >>> np.copyto(a, [4, 5, 6], where=[True, False, True])
    >>> a
    array([4., 0., 6.])
    """
    dst = target_of(dst, src, where)
    if not isinstance(dst, ndarray):
        message = f"copyto() argument 1 must be a numpy.ndarray, not {type(dst).__name__}"
        raise DtypeError(message) if isinstance(dst, np.ndarray) else TypeError(message)
    if not isinstance(casting, str):
        raise TypeError(f"casting must be str, not {type(casting).__name__}")
    if casting not in _CASTINGS:
        raise ValueError(f"casting must be one of {', '.join(map(repr, _CASTINGS))} (got {casting!r})")
    target = writeable_tensor(dst, "")
    source = _copy_source(src, dst, casting)
    _check_assignable(source, target, "input array")
    while source.dim() > target.dim():
        source = source[0]
    if where is True:
        indexing.assign(target, source)
        put_back(dst, target)
        return
    mask = tensor_of(where, device=target.device)
    if mask.dtype is not BOOL:
        if has_own_dtype(where):
            refuse_cast(to_numpy[mask.dtype], np.dtype(bool), "safe", mask.dim())
        mask = cast(mask, BOOL)
    if mask.dim() > target.dim():
        raise unassignable(mask.shape, target.shape, "where mask")
    _check_assignable(mask, target, "where mask")
    selection.copy_where(target, mask, source)
    put_back(dst, target)


def _copy_source(src: Any, dst: ndarray, casting: str) -> Tensor:
    """Return the source in the target's dtype; a Python scalar takes it if the dtype's kind is the same or wider."""
    if type(src) in WEAK and dst.dtype.kind in {int: "iufc", float: "fc", complex: "c"}[type(src)]:
        if casting == "equiv" and dst.dtype != np.dtype(type(src)):
            raise TypeError(f"cannot cast Python {type(src).__name__} to {dst.dtype} under the casting rule 'equiv'")
        return constant(src, dst.dtype)
    if type(src) is int:
        long_of(src)  # NumPy makes an int64 of it
    source = tensor_of(src, device=dst.device)
    refuse_cast(to_numpy[source.dtype], dst.dtype, casting, source.dim())
    return value_of(wrap_array(source), dst)


def _check_assignable(given: Tensor, target: Tensor, what: str) -> None:
    if not assignable(tuple(given.shape), tuple(target.shape)):
        raise unassignable(given.shape, target.shape, what)


def put_along_axis(arr: ndarray, indices: Any, values: Any, axis: Any) -> None:
    """Put values by matching one-dimensional index and data slices.

    Parameters
    ----------
    arr : ndarray
        The target.
    indices : ndarray of int
        As many dimensions as the target; the other dimensions match or broadcast.
    values : array_like
        Broadcast to ``indices`` and cast to the target's dtype; of repeated indices the last counts.
    axis : int or None
        The axis to put along; None is the flattened target with one-dimensional indices.

    Raises
    ------
    IndexError
        An index is out of bounds, or ``indices`` has no integer dtype.
    ValueError
        The numbers of dimensions differ, or the values do not broadcast.

    Notes
    -----
    Difference from NumPy: ``axis=None`` writes to the target, NumPy to a copy that is lost.

    Source: https://numpy.org/doc/stable/reference/generated/numpy.put_along_axis.html

    Examples
    --------
    >>> import tnp as np
    >>> a = np.asarray([[10, 30, 20], [60, 40, 50]])
    >>> np.put_along_axis(a, np.asarray([[1], [0]]), 99, axis=1)
    >>> a
    array([[10, 99, 20],
           [99, 40, 50]])
    """
    if axis is not None:
        normalize_axis(axis, arr.ndim)
    arr = target_of(arr, indices, values)
    target = writeable_tensor(arr, f"put_along_axis() argument 1 must be an array, not {type(arr).__name__}")
    tensor, picks, dim = along(target, tensor_of(indices, device=target.device), axis)
    value = value_of(values, arr)
    source = indexing.picked_value(value, picks.dim())

    def check(selected: tuple[int, ...]) -> None:
        if not assignable(tuple(source.shape), selected):
            raise unpicked(tuple(value.shape), selected)

    picks = within(tensor, picks, dim, check)
    if axis is None:
        selection.put_flat(target, picks, source.expand(picks.shape))
    else:
        selection.put_along(tensor, picks, source, dim)
    put_back(arr, target)
