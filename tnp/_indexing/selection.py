"""Choosing among elements: by condition, by flat index, along an axis.

Layer: owns the arguments of these functions, their index modes, casting rules and errors. Writing to such
elements is in ``assignment``.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any, overload

import numpy as np

from backend_torch.graphs import symbolic
from backend_torch.kernels import indexing, selection
from backend_torch.native import heads
from backend_torch.tensors import memory
from backend_torch.tensors.casting import cast
from backend_torch.tensors.constants import constant
from backend_torch.tensors.dtypes import to_numpy, to_torch
from tnp._core.base import ndarray, number, wrap, wrap_array
from tnp._core.convert import home_of, tensor_of, tensor_of_shape, tensors_of, with_sizes
from tnp._core.errors import MOST_OPERANDS, broadcast, explain, integer_axis, integer_of, normalize_axis
from tnp._core.function_overrides import REFUSALS
from tnp._core.host_fallback import refused_here
from tnp._core.index_arguments import check_output, in_mode, index_mode, index_tensor, target_of
from tnp._core.indexing import BOOL, INT64, unmatched_error
from tnp._core.mask_selection import Selection, over
from tnp._core.numpy_version import NUMPY
from tnp._core.strided_views import put_back

Tensor = Any
_NoValue = np._NoValue
WEAK = (int, float, complex)
_WHERE_WRAPS = NUMPY < "2.5.0"  # where took integers that its dtype can't hold, as choose and select still do


# Arguments.


@functools.cache
def _common_dtype(*kinds: Any) -> np.dtype:
    """Return the dtype to which NumPy promotes these dtypes and types of Python scalars."""
    operands: list[Any] = [kind(0) if isinstance(kind, type) else kind for kind in kinds]
    return np.result_type(*operands)


def _promoted(values: Sequence[Any], home: Any, wraps: bool = True) -> list[Tensor]:
    """Convert arrays and Python scalars to tensors of their promoted dtype; Python data goes to ``home``."""
    if any(map(symbolic.is_symbol, values)):
        values = with_sizes(values)
    operands = [value if type(value) in WEAK else tensor_of(value, device=home) for value in values]
    kinds: list[Any] = [
        given.weak if type(given) is number else type(v) if type(v) in WEAK else to_numpy[v.dtype]
        for given, v in zip(values, operands, strict=True)
    ]
    dtype = _common_dtype(*kinds)
    weak = _weak if wraps else constant
    return [weak(v, dtype) if type(v) in WEAK else cast(v, to_torch[dtype]) for v in operands]


def _weak(value: Any, dtype: np.dtype) -> Tensor:
    """Convert a Python scalar to ``dtype``; unlike in arithmetic, NumPy lets integers wrap here."""
    try:
        return constant(value, dtype)
    except OverflowError:
        return tensor_of(np.asarray(value).astype(dtype))


def _fit_or_raise(*tensors: Tensor) -> None:
    broadcast(*[tuple(tensor.shape) for tensor in tensors])


# Functions.


def take(a: Any, indices: Any, axis: Any = None, out: Any = None, mode: str = "raise") -> ndarray:
    """Take elements from an array along an axis.

    Parameters
    ----------
    a : array_like
        The source.
    indices : array_like of int
        Which elements; any shape.
    axis : int, optional
        The axis to select along; by default the flattened array.
    out : ndarray, optional
        Where the result goes.
    mode : {'raise', 'wrap', 'clip'}, optional
        What to do with indices out of bounds.

    Returns
    -------
    ndarray
        The shape of ``indices`` replaces the axis.

    Raises
    ------
    IndexError
        An index is out of bounds and the mode is 'raise'.
    TypeError
        ``indices`` does not cast safely to int64.

    Notes
    -----
    Source: https://numpy.org/doc/stable/reference/generated/numpy.take.html

    Examples
    --------
    >>> import tnp as np
    >>> np.take([4, 3, 5, 7, 6, 8], [0, 1, 4])
    array([4, 3, 6])
    """
    mode = index_mode(mode)
    tensor = tensor_of(a)
    if axis is None:
        tensor, axis = tensor.reshape(-1), 0
    else:
        tensor = tensor if tensor.dim() else tensor.reshape(1)
        axis = integer_axis(axis, tensor.dim())
    picks = index_tensor(indices, tensor.device, "same_kind")
    if out is None and (found := selection.taken(tensor, picks, axis, mode)) is not None:
        return wrap(found)
    size = tensor.shape[axis]
    before, after = tensor.shape[:axis], tensor.shape[axis + 1 :]
    if out is not None:
        written = target_of(out, a, indices)
        target = check_output(written, (*before, *picks.shape, *after), tensor.dtype, "ndarray.take")
    times = math.prod(before)
    if not size and picks.numel() and times * math.prod(after):
        raise IndexError("cannot do a non-empty take from an empty axes.")
    try:
        if picks.numel() and times:  # NumPy checks the indices once for each of these
            picks = in_mode(picks, axis, size, mode)
        result = indexing.pick(tensor, axis, picks) if size else tensor.new_empty((*before, *picks.shape, *after))
    except RuntimeError as error:
        raise explain(error) from None
    if out is None:
        return wrap(result)
    indexing.assign(target, cast(result, target.dtype))
    put_back(written, target)
    return out


def take_along_axis(arr: Any, indices: Any, axis: Any = -1) -> ndarray:
    """Take values by matching one-dimensional index and data slices.

    Parameters
    ----------
    arr : array_like
        The source.
    indices : ndarray of int
        As many dimensions as the source; the other dimensions match or broadcast.
    axis : int, optional
        The axis to take along; None is the flattened source with one-dimensional indices.

    Returns
    -------
    ndarray

    Raises
    ------
    IndexError
        An index is out of bounds, or ``indices`` has no integer dtype.
    ValueError
        The numbers of dimensions differ.

    Notes
    -----
    Source: https://numpy.org/doc/stable/reference/generated/numpy.take_along_axis.html

    Examples
    --------
    >>> import tnp as np
    >>> a = np.asarray([[10, 30, 20], [60, 40, 50]])
    >>> np.take_along_axis(a, np.asarray([[1], [2]]), axis=1)
    array([[30],
           [50]])
    """
    if type(arr) is type(indices) is ndarray and arr.ndim == indices.ndim == 1 and axis in (0, -1, None):
        if indices.tensor.dtype is INT64:
            return arr[indices]
    if axis is not None:
        normalize_axis(axis, arr.ndim)  # lists have no axes here, as in NumPy
    if not hasattr(indices, "dtype"):
        raise AttributeError(f"{type(indices).__name__!r} object has no attribute 'dtype'")
    tensor, picks = tensors_of(arr, indices)
    tensor, picks, axis = along(tensor, picks, axis)
    return wrap_array(selection.along(tensor, within(tensor, picks, axis), axis))


def along(tensor: Tensor, picks: Tensor, axis: Any) -> tuple[Tensor, Tensor, int]:
    """Return the operands of `take_along_axis` and `put_along_axis`: a tensor, index tensor and dimension."""
    if axis is None and picks.dim() != 1:
        raise ValueError("when axis=None, `indices` must have a single dimension.")
    tensor, axis = (tensor.reshape(-1), 0) if axis is None else (tensor, normalize_axis(axis, tensor.dim()))
    if to_numpy[picks.dtype].kind not in "iu":
        raise IndexError("`indices` must be an integer array")
    if picks.dim() != tensor.dim():
        raise ValueError("`indices` and `arr` must have the same number of dimensions")
    return tensor, picks, axis


def within(tensor: Tensor, picks: Tensor, axis: int, check: Callable[[tuple[int, ...]], object] = len) -> Tensor:
    """Return the indices as int64, checked; ``check`` is first called with the shape that they select."""
    others = (*tensor.shape[:axis], 1, *tensor.shape[axis + 1 :])
    try:
        shape = np.broadcast_shapes(others, tuple(picks.shape))
    except ValueError:
        raise unmatched_error([others, tuple(picks.shape)]) from None
    check(shape)
    picks = cast(picks, INT64)
    return picks if 0 in shape else in_mode(picks, axis, tensor.shape[axis], "raise")


def _check_axes(shape: Sequence[int]) -> None:
    if not len(shape):
        raise ValueError(
            "Calling nonzero on 0d arrays is not allowed. Use np.atleast_1d(scalar).nonzero() instead. "
            "If the context of this error is of the form `arr[nonzero(cond)]`, just use `arr[cond]`."
        )


def nonzero(a: Any) -> tuple[ndarray, ...]:
    """The indices of the elements that are not zero.

    Parameters
    ----------
    a : array_like
        At least one-dimensional.

    Returns
    -------
    tuple of ndarray
        One int64 array for each dimension, in C order of the elements.

    Raises
    ------
    ValueError
        The input has no dimensions.

    Notes
    -----
    Source: https://numpy.org/doc/stable/reference/generated/numpy.nonzero.html

    Examples
    --------
    >>> import tnp as np
    >>> np.nonzero(np.asarray([[3, 0, 0], [0, 4, 0], [5, 6, 0]]))
    (array([0, 1, 2, 2]), array([0, 1, 0, 1]))
    """
    if (found := heads.nonzero(a)) is not None or (found := heads.by_numpy(np.nonzero, a)) is not None:
        return found
    tensor = tensor_of_shape(a, _check_axes)
    _check_axes(tensor.shape)
    return tuple([wrap_array(indices) for indices in selection.nonzero(tensor)])


def flatnonzero(a: Any) -> ndarray:
    """The indices of the elements that are not zero in the flattened array.

    Parameters
    ----------
    a : array_like

    Returns
    -------
    ndarray
        One-dimensional, of dtype int64.

    Notes
    -----
    Source: https://numpy.org/doc/stable/reference/generated/numpy.flatnonzero.html

    Examples
    --------
    >>> import tnp as np
    >>> np.flatnonzero([[0, 2], [3, 0]])
    array([1, 2])
    """
    if (found := heads.nonzero(a)) is not None:
        return found[0]
    if (found := heads.by_numpy(np.flatnonzero, a)) is not None:
        return found
    return wrap_array(selection.nonzero(tensor_of(a).reshape(-1))[0])


def argwhere(a: Any) -> ndarray:
    """The indices of the elements that are not zero, grouped by element.

    Parameters
    ----------
    a : array_like

    Returns
    -------
    ndarray
        A row for each such element and a column for each dimension, of dtype int64.

    Notes
    -----
    Source: https://numpy.org/doc/stable/reference/generated/numpy.argwhere.html

    Examples
    --------
    >>> import tnp as np
    >>> np.argwhere([[0, 2], [3, 0]])
    array([[0, 1],
           [1, 0]])
    """
    return wrap_array(selection.argwhere(tensor_of(a)))


@overload
def where(condition: Any, /) -> tuple[ndarray, ...]: ...
@overload
def where(condition: Any, x: Any, y: Any, /) -> ndarray: ...
def where(condition: Any, x: Any = _NoValue, y: Any = _NoValue, /) -> ndarray | tuple[ndarray, ...]:
    """Elements of ``x`` where a condition is true, of ``y`` elsewhere.

    Parameters
    ----------
    condition : array_like of bool
        With no other argument, this is ``nonzero(condition)``.
    x, y : array_like, optional
        Values; everything broadcasts.

    Returns
    -------
    ndarray, or tuple of ndarray
        Of the dtype that ``x`` and ``y`` promote to.

    Raises
    ------
    ValueError
        Only one of ``x`` and ``y`` is given, or the shapes do not broadcast.

    Notes
    -----
    Source: https://numpy.org/doc/stable/reference/generated/numpy.where.html

    Examples
    --------
    >>> import tnp as np
    >>> np.where([True, False, True], [1, 2, 3], 0.5)
    array([1. , 0.5, 3. ])
    """
    if x is _NoValue and y is _NoValue:
        try:
            return nonzero(condition)
        except REFUSALS as error:
            return refused_here(error, np.where, condition)
    if x is _NoValue or y is _NoValue:
        raise ValueError("either both or neither of x and y should be given")
    if (chosen := heads.where(condition, x, y)) is not None:
        return chosen
    if (
        type(condition) is type(x) is type(y) is ndarray and x.tensor.dtype is y.tensor.dtype
    ):  # the most common case first
        try:
            return wrap_array(selection.where(condition.tensor, x.tensor, y.tensor))
        except RuntimeError:
            pass  # the code below raises the right error
    if Selection in (type(condition), type(x), type(y)):
        return over(where, condition, x, y)
    home = home_of((condition, x, y))
    try:
        mask = tensor_of(condition, device=home)
        one, other = _promoted((x, y), home, _WHERE_WRAPS)
    except REFUSALS as error:
        return refused_here(error, np.where, condition, x, y)
    try:
        return wrap_array(selection.where(mask, one, other))
    except RuntimeError as error:
        raise explain(error, mask, one, other) from None


def choose(a: Any, choices: Any, out: Any = None, mode: str = "raise") -> ndarray:
    """Construct an array from an index array and a list of arrays to choose from.

    Parameters
    ----------
    a : array_like of int
        The number of the choice at each place.
    choices : sequence of array_like
        All broadcast with ``a``.
    out : ndarray, optional
        Where the result goes.
    mode : {'raise', 'wrap', 'clip'}, optional
        What to do with numbers without a choice.

    Returns
    -------
    ndarray
        Of the dtype that the choices promote to.

    Raises
    ------
    ValueError
        There is no such choice and the mode is 'raise', or the shapes do not broadcast.

    Notes
    -----
    Source: https://numpy.org/doc/stable/reference/generated/numpy.choose.html

    Examples
    --------
    >>> import tnp as np
    >>> np.choose([1, 0, 1], [[0, 1, 2], [10, 11, 12]])
    array([10,  1, 12])
    """
    mode = index_mode(mode)
    if not len(choices):
        raise ValueError("0-length sequence.")
    if len(choices) >= MOST_OPERANDS:
        raise ValueError(f"Need at least 0 and at most {MOST_OPERANDS} array objects.")
    home = home_of((a, *choices))
    options = _promoted(list(choices), home)
    numbers = index_tensor(tensor_of(a, device=home), home)
    _fit_or_raise(numbers, *options)
    if mode == "wrap":
        numbers = selection.wrapped(numbers, len(options))
    elif mode == "clip":
        numbers = selection.clipped(numbers, len(options))
    elif selection.outside(numbers, 0, len(options)) is not None:
        raise ValueError("invalid entry in choice array")
    result = selection.choose(numbers, options)
    if out is None:
        return wrap(memory.in_order(result, "C"))
    written = target_of(out, a, *choices)
    target = check_output(written, tuple(result.shape), result.dtype, "ndarray.choose")
    indexing.assign(target, cast(result, target.dtype))
    put_back(written, target)
    return out


def compress(condition: Any, a: Any, axis: Any = None, out: Any = None) -> ndarray:
    """Selected slices of an array along an axis.

    Parameters
    ----------
    condition : array_like of bool
        One-dimensional; slices without an element are left out.
    a : array_like
        The source.
    axis : int, optional
        The axis to select along; by default the flattened array.
    out : ndarray, optional
        Where the result goes.

    Returns
    -------
    ndarray

    Raises
    ------
    ValueError
        The condition is not one-dimensional.
    IndexError
        The condition is true beyond the end of the axis.

    Notes
    -----
    Source: https://numpy.org/doc/stable/reference/generated/numpy.compress.html

    Examples
    --------
    >>> import tnp as np
    >>> np.compress([False, True], [[1, 2], [3, 4], [5, 6]], axis=0)
    array([[3, 4]])
    """
    if out is axis is None and type(a) is type(condition) is ndarray and a.ndim == 1 and a.shape == condition.shape:
        if condition.tensor.dtype is BOOL:
            return a[condition]
    along = integer_of(0 if axis is None else axis)
    source, mask = tensors_of(a, condition)
    if mask.dim() != 1:
        raise ValueError("condition must be a 1-d array")
    normalize_axis(along, source.dim() or 1)  # before the values of a mask are needed
    return take(wrap_array(source), wrap_array(selection.nonzero(mask)[0]), axis, out)


def extract(condition: Any, arr: Any) -> ndarray:
    """The elements of an array where a condition is true.

    Parameters
    ----------
    condition : array_like of bool
        Flattened, as is the array.
    arr : array_like
        The source.

    Returns
    -------
    ndarray
        One-dimensional.

    Notes
    -----
    Source: https://numpy.org/doc/stable/reference/generated/numpy.extract.html

    Examples
    --------
    >>> import tnp as np
    >>> a = np.arange(6).reshape(2, 3)
    >>> np.extract(a % 2 == 0, a)
    array([0, 2, 4])
    """
    return compress(wrap_array(tensor_of(condition).reshape(-1)), arr)


def select(condlist: Any, choicelist: Any, default: Any = 0) -> ndarray:
    """Elements of the first choice whose condition is true.

    Parameters
    ----------
    condlist : sequence of bool ndarray
        Conditions; the first that is true counts.
    choicelist : sequence of array_like
        A choice for each condition.
    default : scalar, optional
        The value where no condition is true.

    Returns
    -------
    ndarray
        Of the dtype that the choices and the default promote to.

    Raises
    ------
    ValueError
        The lists differ in length or are empty, or the shapes do not broadcast.
    TypeError
        A condition is not of dtype bool.

    Notes
    -----
    Source: https://numpy.org/doc/stable/reference/generated/numpy.select.html

    Examples
    --------
    >>> import tnp as np
    >>> x = np.arange(6)
    >>> np.select([x < 3, x > 3], [x, x**2], 42)
    array([ 0,  1,  2, 42, 16, 25])
    """
    if len(condlist) != len(choicelist):
        raise ValueError("list of cases must be same length as list of conditions")
    if not len(condlist):
        raise ValueError("select with an empty condition list is not possible")
    home = home_of((*condlist, *choicelist, default))
    masks = [tensor_of(condition, device=home) for condition in condlist]
    try:
        *options, result = _promoted([*choicelist, default], home)
    except OverflowError:
        if 0 not in broadcast(*[tuple(each.shape) for each in masks], *map(np.shape, choicelist)):
            raise
        *options, result = _promoted([*choicelist, 0], home)  # NumPy converts a default where there is an element
    _fit_or_raise(*masks)
    _fit_or_raise(*options, result)
    for place, mask in enumerate(masks):
        if mask.dtype is not BOOL:
            raise TypeError(f"invalid entry {place} in condlist: should be boolean ndarray")
    _fit_or_raise(*masks, *options, result)
    try:
        for mask, option in zip(reversed(masks), reversed(options), strict=True):
            result = selection.where(mask, option, result)
    except RuntimeError as error:
        raise explain(error) from None
    return wrap_array(result)
