"""Splitting and editing: dividing arrays, and adding and removing elements.

Layer: owns the places of cuts, and the elements that an index argument adds or removes. Both decide the result's shape,
so the host reads them.
"""

from __future__ import annotations

import itertools
import operator
from collections.abc import Sequence
from typing import Any, TypeVar, overload

import numpy as np

from backend_torch.autodiff import transform_levels
from backend_torch.kernels import joining as kernels
from backend_torch.kernels.indexing import picked_value, without_leading_ones
from backend_torch.native import heads
from backend_torch.tensors import memory
from tnp._core.base import ndarray, wrap, wrap_array
from tnp._core.convert import ours, tensor_of, tensors_of
from tnp._core.errors import long_of, moved_axis, normalize_axes, normalize_axis, unassignable
from tnp._core.indexing import unpicked
from tnp._core.readonly_views import view_of
from tnp._manipulation.joining import concatenate

Tensor = Any
Item = TypeVar("Item")


def array_split(ary: Any, indices_or_sections: Any, axis: int = 0) -> list[ndarray]:
    """Split an array into parts, of almost equal length if only their number is given.

    Parameters
    ----------
    ary : array_like
    indices_or_sections : int or sequence of int
        The number of parts, or the places along the axis to cut at.
    axis : int, optional

    Returns
    -------
    list of ndarray
        Views.

    Raises
    ------
    ValueError
        The number of parts is not positive.
    AxisError
        An axis that the array does not have.

    See Also
    --------
    split : refuses parts that are not equal

    Notes
    -----
    Source: https://numpy.org/doc/stable/reference/generated/numpy.array_split.html

    Examples
    --------
    >>> import tnp as np
    >>> np.array_split(np.arange(5), 2)
    [array([0, 1, 2]), array([3, 4])]
    """
    length = ary.shape[axis] if hasattr(ary, "shape") else len(ary)
    ary = ours(ary)
    whole = heads.at_least(ary, 1)  # the array itself, if its slices are native
    tensor = tensor_of(ary) if whole is None else None
    axis = normalize_axis(axis, ary.ndim if tensor is None else tensor.dim())
    try:
        bounds = [0, *[i if i is None else operator.index(i) for i in indices_or_sections], length]
    except TypeError:
        if np.iterable(indices_or_sections):
            raise
        sections = int(indices_or_sections)
        if sections <= 0:
            raise ValueError("number sections must be larger than 0.") from None
        long_of(sections)
        each, extra = length // sections, length % sections
        bounds = [each * i + min(i, extra) for i in range(sections + 1)]
    if tensor is None:
        before = (slice(None),) * axis
        return [whole[(*before, slice(low, high))] for low, high in itertools.pairwise(bounds)]
    return [view_of(ary, part) for part in kernels.slices(tensor, bounds, axis)]


def split(ary: Any, indices_or_sections: Any, axis: int = 0) -> list[ndarray]:
    """Split an array into parts, of equal length if only their number is given.

    Parameters
    ----------
    ary : array_like
    indices_or_sections : int or sequence of int
        The number of parts, or the places along the axis to cut at.
    axis : int, optional

    Returns
    -------
    list of ndarray
        Views.

    Raises
    ------
    ValueError
        The axis does not divide into so many equal parts.
    AxisError
        An axis that the array does not have.

    See Also
    --------
    array_split, concatenate

    Notes
    -----
    Source: https://numpy.org/doc/stable/reference/generated/numpy.split.html

    Examples
    --------
    >>> import tnp as np
    >>> np.split(np.arange(6), [2, 3])
    [array([0, 1]), array([2]), array([3, 4, 5])]
    """
    if not np.iterable(indices_or_sections) and ary.shape[axis] % indices_or_sections:
        raise ValueError("array split does not result in an equal division")
    return array_split(ary, indices_or_sections, axis)


def hsplit(ary: Any, indices_or_sections: Any) -> list[ndarray]:
    """Split an array along its second axis, a vector along its only one.

    Parameters
    ----------
    ary : array_like
        At least one-dimensional.
    indices_or_sections : int or sequence of int
        The number of equal parts, or the places along the axis to cut at.

    Returns
    -------
    list of ndarray
        Views.

    Raises
    ------
    ValueError
        The array has no dimension, or does not divide.

    See Also
    --------
    split, hstack

    Notes
    -----
    Source: https://numpy.org/doc/stable/reference/generated/numpy.hsplit.html

    Examples
    --------
    >>> import tnp as np
    >>> np.hsplit(np.arange(4), 2)
    [array([0, 1]), array([2, 3])]
    """
    _check_rank(ary, 1, "hsplit")
    return split(ary, indices_or_sections, 1 if ary.ndim > 1 else 0)


def vsplit(ary: Any, indices_or_sections: Any) -> list[ndarray]:
    """Split an array along its first axis.

    Parameters
    ----------
    ary : array_like
        At least two-dimensional.
    indices_or_sections : int or sequence of int
        The number of equal parts, or the places along the axis to cut at.

    Returns
    -------
    list of ndarray
        Views.

    Raises
    ------
    ValueError
        The array has fewer than two dimensions, or does not divide.

    See Also
    --------
    split, vstack

    Notes
    -----
    Source: https://numpy.org/doc/stable/reference/generated/numpy.vsplit.html

    Examples
    --------
    >>> import tnp as np
    >>> np.vsplit(np.eye(2), 2)
    [array([[1., 0.]]), array([[0., 1.]])]
    """
    _check_rank(ary, 2, "vsplit")
    return split(ary, indices_or_sections, 0)


def dsplit(ary: Any, indices_or_sections: Any) -> list[ndarray]:
    """Split an array along its third axis.

    Parameters
    ----------
    ary : array_like
        At least three-dimensional.
    indices_or_sections : int or sequence of int
        The number of equal parts, or the places along the axis to cut at.

    Returns
    -------
    list of ndarray
        Views.

    Raises
    ------
    ValueError
        The array has fewer than three dimensions, or does not divide.

    See Also
    --------
    split, dstack

    Notes
    -----
    Source: https://numpy.org/doc/stable/reference/generated/numpy.dsplit.html

    Examples
    --------
    >>> import tnp as np
    >>> [part.shape for part in np.dsplit(np.zeros((1, 2, 4)), 2)]
    [(1, 2, 2), (1, 2, 2)]
    """
    _check_rank(ary, 3, "dsplit")
    return split(ary, indices_or_sections, 2)


def _check_rank(array: Any, rank: int, name: str) -> None:
    if np.ndim(array) < rank:
        raise ValueError(f"{name} only works on arrays of {rank} or more dimensions")


def unstack(x: Any, /, *, axis: int = 0) -> tuple[ndarray, ...]:
    """Split an array into its slices along an axis, without that axis.

    Parameters
    ----------
    x : array_like
        At least one-dimensional.
    axis : int, optional

    Returns
    -------
    tuple of ndarray
        Views; scalars of a vector.

    Raises
    ------
    ValueError
        The array has no dimension.
    AxisError
        An axis that the array does not have.

    See Also
    --------
    stack, split

    Notes
    -----
    Source: https://numpy.org/doc/stable/reference/generated/numpy.unstack.html

    Examples
    --------
    >>> import tnp as np
    >>> np.unstack(np.eye(2))
    (array([1., 0.]), array([0., 1.]))
    """
    if x.ndim == 0:
        raise ValueError("Input array must be at least 1-d.")
    if axis.__class__ is int and axis == 0 and (whole := heads.at_least(x, 1)) is not None:
        return tuple(whole)
    x = ours(x)
    tensor = tensor_of(x)
    parts = tensor.unbind(moved_axis(axis, tensor.dim()))
    return tuple([view_of(x, part) if part.dim() else wrap(part) for part in parts])


def append(arr: Any, values: Any, axis: int | None = None) -> ndarray:
    """Join values to the end of an array.

    Parameters
    ----------
    arr, values : array_like
        Arrays of one shape, except along ``axis``.
    axis : int, optional
        None flattens both first.

    Returns
    -------
    ndarray
        A copy.

    Raises
    ------
    ValueError
        The shapes do not fit.

    See Also
    --------
    insert, delete, concatenate

    Notes
    -----
    Source: https://numpy.org/doc/stable/reference/generated/numpy.append.html

    Examples
    --------
    >>> import tnp as np
    >>> np.append([1, 2], [[3], [4]])
    array([1, 2, 3, 4])
    """
    parts = tensors_of(arr, values)
    if axis is None:
        return concatenate([wrap_array(part.reshape(-1)) for part in parts])
    return concatenate([wrap_array(part) for part in parts], axis)


def insert(arr: Any, obj: Any, values: Any, axis: int | None = None) -> ndarray:
    """Insert values before places of an axis.

    Parameters
    ----------
    arr : array_like
    obj : int, slice, or sequence of int or bool
        The places before which to insert, in the original array.
    values : array_like
        They get the array's dtype.
    axis : int, optional
        None flattens the array first.

    Returns
    -------
    ndarray
        A copy.

    Raises
    ------
    IndexError
        A place that the axis does not have.
    ValueError
        The values do not fit.

    See Also
    --------
    append, delete

    Notes
    -----
    Source: https://numpy.org/doc/stable/reference/generated/numpy.insert.html

    Examples
    --------
    >>> import tnp as np
    >>> np.insert([1, 2, 3], [1, 1], [10, 20])
    array([ 1, 10, 20,  2,  3])
    """
    tensor, axis = _along(arr, axis)
    length = tensor.shape[axis]
    places = _places(obj, length)
    new = tensor_of(values, wrap_array(tensor).dtype, device=tensor.device)
    if places.size == 1:
        place: Any = operator.index(places.item())
        if not -length <= place <= length:
            raise IndexError(f"index {obj} is out of bounds for axis {axis} with size {length}")
        new = new[(None,) * (tensor.dim() - new.dim())]
        if not places.ndim:  # one place: the values' first axis is what goes there, as in a[:, 0] = values
            new = new.movedim(0, axis)
        count = new.shape[axis]
    else:
        count = len(places)
        place = places
    before: list[int] = []
    if places.size == 1 or (places.size * _FAR_APART <= tensor.numel() and places.dtype.kind in "iu"):
        before = [number + length if number < 0 else number for number in places.reshape(-1).tolist()]
    is_few = bool(before) and min(before) >= 0 and max(before) <= length
    if not is_few:  # NumPy says what is wrong with the places
        indices = np.arange(length + count, dtype=_index_dtype(length + count))
        order = np.insert(indices[:length], place, indices[length:])
    shape = (*tensor.shape[:axis], count, *tensor.shape[axis + 1 :])
    is_slice = places.size == 1  # to NumPy; several places are an index array
    given = (without_leading_ones if is_slice else picked_value)(new, tensor.dim())
    try:
        new = given.to(tensor.device).expand(shape)
    except RuntimeError:
        raise (unassignable if is_slice else unpicked)(tuple(new.shape), shape) from None
    is_fortran = memory.is_fortran(tensor)  # and so is the result
    if is_fortran:
        tensor, new, axis = memory.reversed_axes(tensor), memory.reversed_axes(new), tensor.dim() - 1 - axis
    made = kernels.insert_few(tensor, new, before, axis) if is_few else kernels.insert(tensor, new, order, axis)
    return wrap_array(memory.reversed_axes(made) if is_fortran else made)


_FAR_APART = 2000
"""Elements that are copied as slices in less time than they are picked one by one."""


def _index_dtype(size: int) -> Any:
    """Indices of half the size take half the time."""
    return np.int32 if size < 1 << 31 else np.int64


def delete(arr: Any, obj: Any, axis: int | None = None) -> ndarray:
    """Leave out places of an axis.

    Parameters
    ----------
    arr : array_like
    obj : int, slice, or array_like of int or bool
        Which places.
    axis : int, optional
        None flattens the array first.

    Returns
    -------
    ndarray
        A copy.

    Raises
    ------
    IndexError
        A place that the axis does not have.
    ValueError
        Booleans that are not as many as the axis is long.

    See Also
    --------
    append, insert

    Notes
    -----
    Source: https://numpy.org/doc/stable/reference/generated/numpy.delete.html

    Examples
    --------
    >>> import tnp as np
    >>> np.delete([1, 2, 3, 4], [0, 2])
    array([2, 4])
    """
    tensor, axis = _along(arr, axis)
    # NumPy deletes from the axis' indices, laid along the same axis so that its errors name it.
    length = tensor.shape[axis]
    indices = np.arange(length, dtype=_index_dtype(length)).reshape((1,) * axis + (-1,))
    obj = _host(obj)
    kept = np.delete(indices, obj, axis).reshape(-1)
    if not isinstance(obj, slice) and (np.size(obj) != 1 or np.asarray(obj).dtype.kind not in "iu"):
        # NumPy picks the slices by index: their axis is the slowest, the others have their order in memory.
        strides = tensor.stride()
        axes = [axis, *sorted({*range(tensor.dim())} - {axis}, key=lambda each: (-strides[each], each))]
        return wrap_array(kernels.select(tensor.permute(axes), kept, 0).permute(sorted(axes, key=axes.__getitem__)))
    if memory.is_fortran(tensor):  # and so is the result
        backwards = kernels.select(memory.reversed_axes(tensor), kept, tensor.dim() - 1 - axis)
        return wrap_array(memory.reversed_axes(backwards))
    return wrap_array(kernels.select(tensor, kept, axis))


@overload
def trim_zeros(filt: list[Item], trim: str = "fb", axis: int | Sequence[int] | None = None) -> list[Item]: ...
@overload
def trim_zeros(
    filt: tuple[Item, ...], trim: str = "fb", axis: int | Sequence[int] | None = None
) -> tuple[Item, ...]: ...
@overload
def trim_zeros(filt: Any, trim: str = "fb", axis: int | Sequence[int] | None = None) -> ndarray: ...
def trim_zeros(
    filt: Any, trim: str = "fb", axis: int | Sequence[int] | None = None
) -> ndarray | list[Any] | tuple[Any, ...]:
    """Remove the zeros before the first and after the last nonzero element.

    Parameters
    ----------
    filt : array_like
    trim : {'fb', 'f', 'b'}, optional
        Whether at the front, at the back, or both.
    axis : int or tuple of int, optional
        Along which axes; all by default.

    Returns
    -------
    ndarray, list or tuple
        The rest of the input: a view, or a list for a list.

    Raises
    ------
    ValueError
        Another ``trim``.
    AxisError
        An axis that the array does not have.

    See Also
    --------
    delete

    Notes
    -----
    Source: https://numpy.org/doc/stable/reference/generated/numpy.trim_zeros.html

    Examples
    --------
    >>> import tnp as np
    >>> np.trim_zeros(np.array([0, 0, 1, 0, 2, 0]))
    array([1, 0, 2])
    """
    ends = trim.lower()
    if ends not in ("fb", "bf", "f", "b"):
        raise ValueError(f"unexpected character(s) in `trim`: {trim!r}")
    filt = ours(filt)
    tensor = tensor_of(filt)
    axes = normalize_axes(axis, tensor.dim())
    if not axes:
        return filt
    window = [slice(None)] * tensor.dim()
    for one in axes:
        places = kernels.occupied(tensor, one)
        if places is None:
            window[one] = slice(0, 0)
        else:
            window[one] = slice(places[0] if "f" in ends else None, places[1] + 1 if "b" in ends else None)
    if isinstance(filt, (list, tuple)) and tensor.dim() == 1:
        return filt[window[0]]
    return view_of(filt, tensor[tuple(window)])


def _along(array: Any, axis: int | None) -> tuple[Tensor, int]:
    """Return the tensor, flat for None, and the axis."""
    tensor = tensor_of(array)
    if axis is None:
        return tensor.reshape(-1), 0
    return tensor, normalize_axis(axis, tensor.dim())


def _host(obj: Any) -> Any:
    """Return an index argument as NumPy reads it."""
    if isinstance(obj, ndarray) or memory.is_tensor(obj):
        return transform_levels.values(tensor_of(obj))
    return obj


def _places(obj: Any, length: int) -> np.ndarray:
    """Return the places that an index argument of `insert` names, without a check against the axis."""
    if isinstance(obj, slice):
        return np.arange(*obj.indices(length))
    places = np.array(_host(obj))
    if places.dtype == bool:
        if obj.ndim != 1:
            raise ValueError("boolean array argument obj to insert must be one dimensional")
        return np.flatnonzero(places)
    if places.ndim > 1:
        raise ValueError("index array argument obj to insert must be one dimensional or scalar")
    if not places.size and not isinstance(obj, (np.ndarray, ndarray)):
        return places.astype(np.intp)  # an empty list
    return places
