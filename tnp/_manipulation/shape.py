"""Shapes: the same elements in another shape, and with more or fewer axes.

Layer: owns shape arguments, and NumPy's errors for shapes that do not fit.
"""

from __future__ import annotations

import itertools
import math
import operator
from collections.abc import Sequence
from typing import Any, overload

import numpy as np

from backend_torch.graphs import symbolic
from backend_torch.native import heads
from backend_torch.tensors import host_views, memory
from backend_torch.tensors import shape as kernels
from backend_torch.tensors.trace_state import TracedValueError
from backend_torch.torch_private import messages
from tnp._core.base import indirect, ndarray, scalar, strided, wrap_array
from tnp._core.convert import as_order, asarray, ours, tensor_of
from tnp._core.errors import copy_mode, long_of, normalize_axes, reduced_axes, shapes_text, too_big
from tnp._core.function_overrides import REFUSALS
from tnp._core.host_fallback import refused_here
from tnp._core.readonly_views import view_like, view_of
from tnp._core.strided_views import is_in_order, made_of

Shape = tuple[int, ...]
Tensor = Any
MAXDIMS = 64  # torch has no limit, but NumPy can't read arrays beyond this one


_LENGTHS = frozenset({int})
_REFUSAL = "expected a sequence of integers or a single integer, got '{!r:.100}'"


def as_length(length: Any) -> int:
    """Return a length as an int; a symbolic size of a trace stays as it is."""
    return length if symbolic.is_symbol(length) else operator.index(length)


def as_shape(shape: Any) -> Shape:
    """Return a shape argument, one length or a sequence, as a tuple of ints."""
    if type(shape) is not tuple:
        if isinstance(shape, (bool, np.bool_)):
            raise TypeError(_REFUSAL.format(shape))
        try:
            return (as_length(shape),)
        except TracedValueError:
            raise
        except TypeError:
            is_number = isinstance(shape, ndarray) and not shape.ndim
            if is_number or not hasattr(shape, "__getitem__") or isinstance(shape, dict):  # a sequence to C functions
                raise TypeError(_REFUSAL.format(shape)) from None
    lengths = shape = tuple(shape)
    if not _LENGTHS.issuperset(map(type, shape)):
        if any(isinstance(length, (bool, np.bool_)) for length in shape):
            raise TypeError("an integer is required")
        lengths = tuple(map(as_length, shape))
    if len(lengths) > MAXDIMS:
        raise ValueError(f"maximum supported dimension for an ndarray is currently {MAXDIMS}, found {len(lengths)}")
    return lengths


def shape(a: Any) -> Shape:
    """Return the shape of an array.

    Parameters
    ----------
    a : array_like

    Returns
    -------
    tuple of int

    Notes
    -----
    Source: https://numpy.org/doc/stable/reference/generated/numpy.shape.html

    Examples
    --------
    >>> import tnp as np
    >>> np.shape([[1, 2, 3]])
    (1, 3)
    """
    return a.shape if isinstance(a, ndarray) else tuple(tensor_of(a).shape)


def ndim(a: Any) -> int:
    """Return the number of dimensions of an array.

    Parameters
    ----------
    a : array_like

    Returns
    -------
    int

    Notes
    -----
    Source: https://numpy.org/doc/stable/reference/generated/numpy.ndim.html

    Examples
    --------
    >>> import tnp as np
    >>> np.ndim([[1, 2, 3]])
    2
    """
    return a.ndim if isinstance(a, ndarray) else int(tensor_of(a).dim())


def size(a: Any, axis: int | Sequence[int] | None = None) -> int:
    """Return the number of elements, of the array or along some of its axes.

    Parameters
    ----------
    a : array_like
    axis : int or tuple of int, optional

    Returns
    -------
    int

    Raises
    ------
    AxisError
        An axis that the array does not have.

    Notes
    -----
    Source: https://numpy.org/doc/stable/reference/generated/numpy.size.html

    Examples
    --------
    >>> import tnp as np
    >>> np.size([[1, 2, 3], [4, 5, 6]], axis=1)
    3
    """
    lengths = shape(a)
    return math.prod(lengths if axis is None else [lengths[one] for one in normalize_axes(axis, len(lengths))])


def reshape(a: Any, /, shape: Any, order: Any = "C", *, copy: bool | None = None) -> ndarray:
    """Give an array another shape with the same elements.

    Parameters
    ----------
    a : array_like
    shape : int or tuple of int
        One length may be negative: it is computed from the others.
    order : {'C', 'F', 'A'}, optional
        In which order elements are read and placed; 'A' is 'F' for an array that lies in Fortran order.
    copy : bool, optional
        True always copies, False never does, None only where the strides allow no view.

    Returns
    -------
    ndarray
        A view where the strides allow one.

    Raises
    ------
    ValueError
        The shape has another size; or ``copy=False`` and a view is not possible.

    See Also
    --------
    ravel, resize

    Notes
    -----
    Source: https://numpy.org/doc/stable/reference/generated/numpy.reshape.html

    Examples
    --------
    >>> import tnp as np
    >>> np.reshape(np.arange(6), (2, -1), order="F")
    array([[0, 2, 4],
           [1, 3, 5]])
    """
    if order.__class__ is str and order == "C" and copy is None and (view := heads.reshape(a, shape)) is not None:
        return view
    a = ours(a)
    if type(a) is strided and host_views.are_had():
        host = a.host.reshape(a.shape if shape is None else as_shape(shape), order=order, copy=copy)
        if (made := made_of(a, host)) is not None:
            return made
    try:
        tensor = tensor_of(a)
    except REFUSALS as error:
        return refused_here(error, np.reshape, a, shape, order, copy=copy)
    lengths = tuple(tensor.shape) if shape is None else as_shape(shape)
    copy = copy_mode(copy)
    if order.__class__ is not str or order != "C":
        order = as_order(order)
        if order == "K":
            raise ValueError("order 'K' is not permitted for reshaping")
    is_viewed = type(a) is not indirect or copy is True or is_in_order(a, order, lengths)
    try:
        if not is_viewed and copy is None:
            a = wrap_array(tensor)
        if copy is None:
            return view_of(a, kernels.reshape(tensor, lengths, order))
        if copy:
            order = kernels.effective_order(tensor, order)
            return wrap_array(kernels.reshape_view(memory.copied(tensor, order), lengths, order))
        if not is_viewed:
            raise ValueError("Unable to avoid creating a copy while reshaping.")
        return view_of(a, kernels.reshape_view(tensor, lengths, order))
    except TypeError:  # torch's error for what no int64 holds
        raise ValueError("Maximum allowed dimension exceeded") from None
    except RuntimeError as error:
        if any(length < -1 for length in lengths):  # NumPy accepts every negative length as the unknown one
            return reshape(a, tuple([max(length, -1) for length in lengths]), order, copy=copy)
        raise _reshape_error(error, tensor, lengths) from None


def _text(lengths: Shape) -> str:
    """Return the lengths as NumPy writes them: leading unknown ones left out, others ``newaxis``."""
    known = itertools.dropwhile(lambda length: length < 0, lengths)
    return f"({','.join('newaxis' if length < 0 else str(length) for length in known)})"


def _reshape_error(error: RuntimeError, tensor: Tensor, lengths: Shape) -> Exception:
    """Return NumPy's error, after torch could not give ``tensor`` the shape ``lengths``."""
    known = [length for length in lengths if length >= 0]
    count, product = tensor.numel(), math.prod(known)
    if len(lengths) - len(known) > 1:
        return ValueError("can only specify one unknown dimension")
    if len(known) == len(lengths):
        if count != product or math.prod(itertools.takewhile(bool, lengths)) > np.iinfo(np.intp).max:
            return ValueError(f"cannot reshape array of size {count} into shape {shapes_text([lengths])}")
        if messages.says(error, messages.TOO_BIG):
            return too_big(lengths)
    elif not product or count % product or product > np.iinfo(np.intp).max:
        return ValueError(f"cannot reshape array of size {count} into shape {_text(lengths)}")
    if messages.says(error, messages.NO_VIEW):
        return ValueError("Unable to avoid creating a copy while reshaping.")
    return error


def ravel(a: Any, order: Any = "C") -> ndarray:
    """Return the elements along one contiguous axis.

    Parameters
    ----------
    a : array_like
    order : {'C', 'F', 'A', 'K'}, optional
        In which order elements are read; 'K' is their order in memory.

    Returns
    -------
    ndarray
        A view if the array is contiguous in that order, else a copy.

    See Also
    --------
    ndarray.flatten : always copies

    Notes
    -----
    Source: https://numpy.org/doc/stable/reference/generated/numpy.ravel.html

    Examples
    --------
    >>> import tnp as np
    >>> np.ravel([[1, 2], [3, 4]], order="F")
    array([1, 3, 2, 4])
    """
    if order.__class__ is str and order == "C" and (flat := heads.ravel(a)) is not None:
        return flat
    a = ours(a)
    if type(a) is strided and host_views.are_had():
        if (made := made_of(a, a.host.ravel(as_order(order)))) is not None:  # type: ignore[arg-type]
            return made
    flat = kernels.ravel(tensor_of(a), as_order(order))
    return wrap_array(flat) if type(a) is indirect and not is_in_order(a, as_order(order)) else view_of(a, flat)


def resize(a: Any, new_shape: Any) -> ndarray:
    """Return a new array of another size, which repeats the elements as often as needed.

    Parameters
    ----------
    a : array_like
    new_shape : int or tuple of int

    Returns
    -------
    ndarray
        A copy: the elements in C order, again and again; zeros if there are none.

    Raises
    ------
    ValueError
        A negative length.

    See Also
    --------
    ndarray.resize : in place, and fills with zeros

    Notes
    -----
    Source: https://numpy.org/doc/stable/reference/generated/numpy.resize.html

    Examples
    --------
    >>> import tnp as np
    >>> np.resize([1, 2, 3], (2, 4))
    array([[1, 2, 3, 1],
           [2, 3, 1, 2]])
    """
    if isinstance(new_shape, (ndarray, np.ndarray)) and not isinstance(new_shape, scalar):
        iter(new_shape)  # TypeError for an array of no dimensions, which is a length to other functions
    lengths = as_shape(new_shape)
    if any(length < 0 for length in lengths):
        raise ValueError("all elements of `new_shape` must be non-negative")
    tensor, size = tensor_of(a), math.prod(lengths)
    try:
        return wrap_array(kernels.resize(tensor, lengths, size))
    except ValueError as error:
        if not size or not tensor.numel():
            raise
        long_of(-(-size // tensor.numel()))  # NumPy puts this many copies into a tuple before it counts elements
        raise MemoryError(str(error)) from None


def squeeze(a: Any, axis: int | Sequence[int] | None = None) -> ndarray:
    """Remove axes of length one.

    Parameters
    ----------
    a : array_like
    axis : int or tuple of int, optional
        Which of them; all by default.

    Returns
    -------
    ndarray
        A view.

    Raises
    ------
    ValueError
        An axis whose length is not one.
    AxisError
        An axis that the array does not have.

    See Also
    --------
    expand_dims

    Notes
    -----
    Source: https://numpy.org/doc/stable/reference/generated/numpy.squeeze.html

    Examples
    --------
    >>> import tnp as np
    >>> np.squeeze([[[1], [2]]], axis=0).shape
    (2, 1)
    """
    if axis is None and (view := heads.squeeze(a)) is not None:
        return view
    a = ours(a)
    tensor = tensor_of(a)
    if axis is None:
        return a if isinstance(a, ndarray) and 1 not in tensor.shape else view_like(a, kernels.squeeze(tensor, None))
    axes = reduced_axes(axis, tensor.dim())
    if any(tensor.shape[one] != 1 for one in axes):
        raise ValueError("cannot select an axis to squeeze out which has size not equal to one")
    return view_like(a, kernels.squeeze(tensor, axes))


def expand_dims(a: Any, axis: int | Sequence[int]) -> ndarray:
    """Add axes of length one.

    Parameters
    ----------
    a : array_like
    axis : int or tuple of int
        Where they are in the result.

    Returns
    -------
    ndarray
        A view.

    Raises
    ------
    AxisError
        An axis that the result does not have.

    See Also
    --------
    squeeze

    Notes
    -----
    Source: https://numpy.org/doc/stable/reference/generated/numpy.expand_dims.html

    Examples
    --------
    >>> import tnp as np
    >>> np.expand_dims([1, 2], (0, 2)).shape
    (1, 2, 1)
    """
    a = ours(a)
    if type(a) is ndarray and axis.__class__ is int:
        shape = a.shape
        place = axis if axis >= 0 else axis + len(shape) + 1
        is_axis = 0 <= place <= len(shape)
        if is_axis and (made := heads.reshape(a, (*shape[:place], 1, *shape[place:]))) is not None:
            return made
    tensor = tensor_of(a)
    axes = tuple(axis) if isinstance(axis, (tuple, list)) else (axis,)
    return view_of(a, kernels.unsqueeze(tensor, normalize_axes(axes, tensor.dim() + len(axes))))


@overload
def atleast_1d(ary: Any, /) -> ndarray: ...
@overload
def atleast_1d(*arys: Any) -> tuple[ndarray, ...]: ...
def atleast_1d(*arys: Any) -> ndarray | tuple[ndarray, ...]:
    """View the inputs as arrays with at least one dimension.

    Parameters
    ----------
    *arys : array_like

    Returns
    -------
    ndarray or tuple of ndarray
        One array for one input. Views, or the arrays themselves if they have enough dimensions.

    See Also
    --------
    atleast_2d, atleast_3d

    Notes
    -----
    Source: https://numpy.org/doc/stable/reference/generated/numpy.atleast_1d.html

    Examples
    --------
    >>> import tnp as np
    >>> np.atleast_1d(1.0)
    array([1.])
    """
    return _each(arys, 1, lambda tensor: tensor[None] if tensor.dim() == 0 else None)


@overload
def atleast_2d(ary: Any, /) -> ndarray: ...
@overload
def atleast_2d(*arys: Any) -> tuple[ndarray, ...]: ...
def atleast_2d(*arys: Any) -> ndarray | tuple[ndarray, ...]:
    """View the inputs as arrays with at least two dimensions; a vector becomes a row.

    Parameters
    ----------
    *arys : array_like

    Returns
    -------
    ndarray or tuple of ndarray
        One array for one input. Views, or the arrays themselves if they have enough dimensions.

    See Also
    --------
    atleast_1d, atleast_3d

    Notes
    -----
    Source: https://numpy.org/doc/stable/reference/generated/numpy.atleast_2d.html

    Examples
    --------
    >>> import tnp as np
    >>> np.atleast_2d([1, 2])
    array([[1, 2]])
    """
    return _each(arys, 2, lambda tensor: tensor[(None,) * (2 - tensor.dim())] if tensor.dim() < 2 else None)


@overload
def atleast_3d(ary: Any, /) -> ndarray: ...
@overload
def atleast_3d(*arys: Any) -> tuple[ndarray, ...]: ...
def atleast_3d(*arys: Any) -> ndarray | tuple[ndarray, ...]:
    """View the inputs as arrays with at least three dimensions; a vector becomes the middle one.

    Parameters
    ----------
    *arys : array_like

    Returns
    -------
    ndarray or tuple of ndarray
        One array for one input. Views, or the arrays themselves if they have enough dimensions.

    See Also
    --------
    atleast_1d, atleast_2d

    Notes
    -----
    Source: https://numpy.org/doc/stable/reference/generated/numpy.atleast_3d.html

    Examples
    --------
    >>> import tnp as np
    >>> np.atleast_3d([1, 2]).shape
    (1, 2, 1)
    """
    frames = {0: (None, None, None), 1: (None, ..., None), 2: (..., None)}
    return _each(arys, 3, lambda tensor: tensor[frames[tensor.dim()]] if tensor.dim() < 3 else None)


def _each(arrays: Sequence[Any], axes: int, view: Any) -> Any:
    """Return ``view`` of each array's tensor, which has so many axes, or the array itself if that is None."""
    if len(arrays) == 1 and (only := heads.at_least(arrays[0], axes)) is not None:
        return only
    results = []
    for array in map(asarray, arrays):
        tensor = view(array.tensor)
        results.append(array if tensor is None else view_of(array, tensor))
    return results[0] if len(results) == 1 else tuple(results)
