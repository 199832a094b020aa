"""Joining and tiling: arrays end to end, stacked, in blocks and repeated.

Layer: owns the dtype that joined arrays get, and NumPy's errors for shapes that do not fit together.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from backend_torch.kernels import joining as kernels
from backend_torch.native import heads
from backend_torch.tensors import memory
from backend_torch.tensors.casting import cast
from backend_torch.tensors.dtypes import to_numpy, to_torch
from backend_torch.torch_private import messages
from tnp._core.base import ndarray, wrap_array
from tnp._core.convert import tensor_of, tensors_of
from tnp._core.dtypes import DtypeError, numpy_dtype, tensor_dtype
from tnp._core.errors import explain, integer_axis, integer_of, long_of, normalize_axis, refuse_cast
from tnp._core.function_overrides import REFUSALS
from tnp._core.host_fallback import refused_here
from tnp._manipulation.shape import as_shape, atleast_1d, atleast_2d, atleast_3d

Tensor = Any
CASTINGS = ("no", "equiv", "safe", "same_kind", "unsafe")


@lru_cache(maxsize=1024)
def _common(operands: tuple[Any, ...]) -> Any:
    """Return the torch dtype that holds all of these: torch dtypes and types of weak Python scalars."""
    return to_torch[np.result_type(*[to_numpy[one] if one in to_numpy else one(0) for one in operands])]


def _alike(tensors: Sequence[Tensor], target: Any, casting: str, weak: dict[int, type] | None = None) -> list[Tensor]:
    """Cast the tensors to the dtype ``target``, or to their common dtype if that is None."""
    given = [tensor.dtype for tensor in tensors]
    if target is None:
        first = given[0]
        if not weak and all(dtype is first for dtype in given):
            return list(tensors)
        target = _common(tuple([weak[i] if weak and i in weak else dtype for i, dtype in enumerate(given)]))
        if casting in ("no", "equiv"):
            _check_casting(given, to_numpy[target], casting, weak or {})
    elif any(dtype is not target for dtype in given):
        _check_casting(given, to_numpy[target], casting, weak or {})
    return [cast(tensor, target) for tensor in tensors]


def _check_casting(given: Sequence[Any], target: np.dtype, casting: Any, weak: dict[int, type]) -> None:
    """Raise TypeError for a cast that the rule forbids; a weak scalar may go to any dtype of its kind or above."""
    for i, dtype in enumerate(given):
        rule: Any = "same_kind" if i in weak and casting != "unsafe" else casting
        if not np.can_cast(to_numpy[dtype], target, rule):
            what = f"array data from {to_numpy[dtype]!r} to {target!r}"
            raise TypeError(f"Cannot cast {what} according to the rule '{casting}'")


def concatenate(
    arrays: Any, /, axis: int | None = 0, out: ndarray | None = None, *, dtype: Any = None, casting: str = "same_kind"
) -> ndarray:
    """Join arrays along an existing axis.

    Parameters
    ----------
    arrays : sequence of array_like
        Arrays of one shape, except along ``axis``.
    axis : int, optional
        None flattens the arrays first.
    out : ndarray, optional
        Where the result is written.
    dtype : dtype_like, optional
        The result's dtype, by default the one that holds all arrays'; not together with ``out``.
    casting : {'same_kind', 'no', 'equiv', 'safe', 'unsafe'}, optional
        Which casts are allowed.

    Returns
    -------
    ndarray
        A copy, or ``out``.

    Raises
    ------
    ValueError
        No array at all, arrays without dimensions, or shapes that do not fit.
    TypeError
        A cast that is not allowed.

    See Also
    --------
    stack, block, split

    Notes
    -----
    Source: https://numpy.org/doc/stable/reference/generated/numpy.concatenate.html

    Examples
    --------
    >>> import tnp as np
    >>> np.concatenate(([[1, 2]], [[3, 4.5]]))
    array([[1. , 2. ],
           [3. , 4.5]])
    """
    if out is dtype is None and casting.__class__ is str and casting == "same_kind":
        if axis.__class__ is int and axis == 0 and (joined := heads.concatenate(arrays)) is not None:
            return joined
        if (joined := heads.by_numpy(np.concatenate, arrays, axis)) is not None:
            return joined
    if not hasattr(arrays, "__getitem__"):
        raise TypeError("The first input argument needs to be a sequence")
    if out is not None and dtype is not None:
        raise TypeError("concatenate() only takes `out` or `dtype` as an argument, but both were provided.")
    if dtype is not None and not isinstance(dtype, type) and numpy_dtype(dtype).subdtype is not None:
        raise TypeError(
            f"The dtype `{np.dtype(dtype)!r}` is not a valid dtype for concatenation since it is a subarray dtype (the "
            "subarray dimensions would be added as array dimensions)."
        )
    if axis is not None:
        axis = integer_of(axis)
    try:
        tensors = tensors_of(*arrays)
        if dtype is not None:
            tensor_dtype(dtype)
        if isinstance(out, np.ndarray):
            raise DtypeError("'out' must be an array")
    except REFUSALS as error:
        return refused_here(error, np.concatenate, arrays, axis, out, dtype=dtype, casting=casting)
    if not tensors:
        raise ValueError("need at least one array to concatenate")
    weak = None
    if axis is None:
        weak = {i: type(array) for i, array in enumerate(arrays) if type(array) in (int, float, complex)}
        tensors = [tensor.reshape(-1) for tensor in tensors]
        axis = 0
    elif not tensors[0].dim():
        raise ValueError("zero-dimensional arrays cannot be concatenated")
    axis = normalize_axis(axis, tensors[0].dim())
    return _joined(tensors, axis, out, dtype, casting, weak)


concat = concatenate


def _joined(
    tensors: Sequence[Tensor], axis: int, out: Any, dtype: Any, casting: str, weak: dict[int, type] | None = None
) -> ndarray:
    """Concatenate the tensors, in a common dtype or that of ``dtype`` or ``out``."""
    if out is not None and not isinstance(out, ndarray):
        raise TypeError("'out' must be an array")
    if not isinstance(casting, str):
        raise TypeError(f"casting must be str, not {type(casting).__name__}")
    if casting not in CASTINGS:
        raise ValueError(f"casting must be one of 'no', 'equiv', 'safe', 'same_kind', 'unsafe' (got {casting!r})")
    target = out.tensor.dtype if out is not None else None if dtype is None else tensor_dtype(dtype)
    dimensions = tensors[0].dim()
    for i, tensor in enumerate(tensors):  # torch.cat skips an empty vector among matrices
        if tensor.dim() != dimensions:
            raise ValueError(
                "all the input arrays must have same number of dimensions, but the array at index 0 has "
                f"{dimensions} dimension(s) and the array at index {i} has {tensor.dim()} dimension(s)"
            )
    if out is not None and out.ndim != dimensions:
        raise ValueError("Output array has wrong dimensionality")
    try:
        result = kernels.concatenate(_alike(tensors, target, casting, weak), axis)
    except TypeError as error:
        raise (_mismatch(tensors, axis) or error) from None
    except RuntimeError as error:
        raise _mismatch(tensors, axis) or explain(error, *[t[(slice(0),) * t.dim()] for t in tensors]) from None
    if out is None:
        return wrap_array(result)
    if out.shape != tuple(result.shape):
        raise ValueError("Output array is the wrong shape")
    out[...] = wrap_array(result)
    return out


def _mismatch(tensors: Sequence[Tensor], axis: int) -> ValueError | None:
    """Return NumPy's error for the first array whose shape does not fit that of the first array."""
    first = tensors[0].shape
    for i, tensor in enumerate(tensors):
        for place, (one, other) in enumerate(zip(first, tensor.shape, strict=True)):
            if place != axis and one != other:
                return ValueError(
                    "all the input array dimensions except for the concatenation axis must match exactly, but along "
                    f"dimension {place}, the array at index 0 has size {one} and the array at index {i} has size "
                    f"{other}"
                )
    return None


def _sequence(arrays: Any) -> Any:
    """Return the arrays to stack: anything that can be indexed."""
    if not hasattr(arrays, "__getitem__"):
        raise TypeError('arrays to stack must be passed as a "sequence" type such as list or tuple.')
    return arrays


def stack(
    arrays: Any, axis: int = 0, out: ndarray | None = None, *, dtype: Any = None, casting: str = "same_kind"
) -> ndarray:
    """Join arrays of one shape along a new axis.

    Parameters
    ----------
    arrays : sequence of array_like
    axis : int, optional
        Where the new axis is in the result.
    out : ndarray, optional
        Where the result is written.
    dtype : dtype_like, optional
        The result's dtype, by default the one that holds all arrays'; not together with ``out``.
    casting : {'same_kind', 'no', 'equiv', 'safe', 'unsafe'}, optional
        Which casts are allowed.

    Returns
    -------
    ndarray
        A copy, or ``out``.

    Raises
    ------
    ValueError
        No array at all, or several shapes.
    TypeError
        A cast that is not allowed.

    See Also
    --------
    concatenate, unstack

    Notes
    -----
    Source: https://numpy.org/doc/stable/reference/generated/numpy.stack.html

    Examples
    --------
    >>> import tnp as np
    >>> np.stack(([1, 2], [3, 4]), axis=1)
    array([[1, 3],
           [2, 4]])
    """
    if out is not None and dtype is not None:
        raise TypeError("concatenate() only takes `out` or `dtype` as an argument, but both were provided.")
    tensors = tensors_of(*_sequence(arrays))
    if not tensors:
        raise ValueError("need at least one array to stack")
    if any(tensor.shape != tensors[0].shape for tensor in tensors):
        raise ValueError("all input arrays must have the same shape")
    axis = normalize_axis(axis, tensors[0].dim() + 1)
    return _joined([tensor.unsqueeze(axis) for tensor in tensors], axis, out, dtype, casting)


def _stacked(view: Callable[..., Any], arrays: Any, axis: int | None, dtype: Any, casting: str) -> ndarray:
    """Join the results of ``view``; ``axis`` None means the first axis for vectors, else the second."""
    tensors = [view(wrap_array(tensor)).tensor for tensor in tensors_of(*_sequence(arrays))]
    if not tensors:
        raise ValueError("need at least one array to concatenate")
    if axis is None:
        axis = 0 if tensors[0].dim() == 1 else 1
    return _joined(tensors, axis, None, dtype, casting)


def vstack(tup: Any, *, dtype: Any = None, casting: str = "same_kind") -> ndarray:
    """Join arrays along the first axis; vectors become rows.

    Parameters
    ----------
    tup : sequence of array_like
    dtype : dtype_like, optional
        The result's dtype, by default the one that holds all arrays'.
    casting : {'same_kind', 'no', 'equiv', 'safe', 'unsafe'}, optional
        Which casts are allowed.

    Returns
    -------
    ndarray
        A copy, at least two-dimensional.

    Raises
    ------
    ValueError
        No array at all, or shapes that do not fit.
    TypeError
        A cast that is not allowed.

    See Also
    --------
    concatenate, hstack, dstack

    Notes
    -----
    Source: https://numpy.org/doc/stable/reference/generated/numpy.vstack.html

    Examples
    --------
    >>> import tnp as np
    >>> np.vstack(([1, 2], [3, 4]))
    array([[1, 2],
           [3, 4]])
    """
    return _stacked(atleast_2d, tup, 0, dtype, casting)


def hstack(tup: Any, *, dtype: Any = None, casting: str = "same_kind") -> ndarray:
    """Join arrays along the second axis, vectors along their only one.

    Parameters
    ----------
    tup : sequence of array_like
    dtype : dtype_like, optional
        The result's dtype, by default the one that holds all arrays'.
    casting : {'same_kind', 'no', 'equiv', 'safe', 'unsafe'}, optional
        Which casts are allowed.

    Returns
    -------
    ndarray
        A copy, at least one-dimensional.

    Raises
    ------
    ValueError
        No array at all, or shapes that do not fit.
    TypeError
        A cast that is not allowed.

    See Also
    --------
    concatenate, vstack, dstack

    Notes
    -----
    Source: https://numpy.org/doc/stable/reference/generated/numpy.hstack.html

    Examples
    --------
    >>> import tnp as np
    >>> np.hstack(([1, 2], [3, 4]))
    array([1, 2, 3, 4])
    """
    return _stacked(atleast_1d, tup, None, dtype, casting)


def dstack(tup: Any) -> ndarray:
    """Join arrays along the third axis; vectors become one row of pixels, matrices one channel.

    Parameters
    ----------
    tup : sequence of array_like

    Returns
    -------
    ndarray
        A copy, at least three-dimensional.

    Raises
    ------
    ValueError
        No array at all, or shapes that do not fit.

    See Also
    --------
    concatenate, vstack, hstack

    Notes
    -----
    Source: https://numpy.org/doc/stable/reference/generated/numpy.dstack.html

    Examples
    --------
    >>> import tnp as np
    >>> np.dstack(([1, 2], [3, 4]))
    array([[[1, 3],
            [2, 4]]])
    """
    return _stacked(atleast_3d, tup, 2, None, "same_kind")


def column_stack(tup: Any) -> ndarray:
    """Join arrays along the second axis; vectors become columns.

    Parameters
    ----------
    tup : sequence of array_like

    Returns
    -------
    ndarray
        A copy, at least two-dimensional.

    Raises
    ------
    ValueError
        No array at all, or shapes that do not fit.

    See Also
    --------
    concatenate, hstack

    Notes
    -----
    Source: https://numpy.org/doc/stable/reference/generated/numpy.column_stack.html

    Examples
    --------
    >>> import tnp as np
    >>> np.column_stack(([1, 2], [3, 4]))
    array([[1, 3],
           [2, 4]])
    """

    def column(array: Any) -> ndarray:
        tensor = tensor_of(array)
        return wrap_array(tensor.reshape(-1, 1) if tensor.dim() < 2 else tensor)

    return _stacked(column, tup, 1, None, "same_kind")


def block(arrays: Any) -> ndarray:
    """Join the arrays of nested lists: the innermost along the last axis, the next along the one before it.

    Parameters
    ----------
    arrays : nested list of array_like
        No tuples. Arrays with fewer dimensions than others get leading axes of length one.

    Returns
    -------
    ndarray
        A copy.

    Raises
    ------
    ValueError
        Lists of several depths, an empty list, or shapes that do not fit.
    TypeError
        A tuple among the lists.

    See Also
    --------
    concatenate, vstack, hstack

    Notes
    -----
    Source: https://numpy.org/doc/stable/reference/generated/numpy.block.html

    Examples
    --------
    >>> import tnp as np
    >>> np.block([[np.eye(2), np.zeros((2, 1))], [np.ones((1, 3))]])
    array([[1., 0., 0.],
           [0., 1., 0.],
           [1., 1., 1.]])
    """
    depth, dimensions, empty = _block_depth(arrays, ())
    if empty is not None:
        raise ValueError(f"List at {empty} cannot be empty")
    result = _block(arrays, max(depth, dimensions), depth)
    return result if depth else wrap_array(memory.copied(result.tensor, "C"))


def _block_depth(arrays: Any, place: tuple[int, ...]) -> tuple[int, int, str | None]:
    """Return the depth of the lists below ``place``, the most dimensions of their arrays, and an empty list."""
    name = "arrays" + "".join(f"[{i}]" for i in place)
    if isinstance(arrays, tuple):
        raise TypeError(
            f"{name} is a tuple. Only lists can be used to arrange blocks, and np.block does not allow implicit "
            "conversion from tuple to ndarray."
        )
    if not isinstance(arrays, list):
        return 0, tensor_of(arrays).dim(), None
    if not arrays:
        return 1, 0, name
    inner = [_block_depth(array, (*place, i)) for i, array in enumerate(arrays)]
    depth = inner[0][0]
    for i, (other, _, _) in enumerate(inner):
        if other != depth:
            at = len(place) + 1
            raise ValueError(
                f"List depths are mismatched. First element was at depth {at + depth}, but there is an element at "
                f"depth {at + other} ({name}[{i}])"
            )
    empty = [name for _, _, name in inner if name is not None]
    return depth + 1, max([dimensions for _, dimensions, _ in inner]), empty[-1] if empty else None


def _block(arrays: Any, dimensions: int, depth: int) -> ndarray:
    """Join the lists of this depth into one array of so many dimensions."""
    if not depth:
        tensor = tensor_of(arrays)
        return wrap_array(tensor[(None,) * (dimensions - tensor.dim())])
    parts = [_block(array, dimensions, depth - 1).tensor for array in arrays]
    return _joined(parts, dimensions - depth, None, None, "same_kind")


def tile(A: Any, reps: Any) -> ndarray:
    """Tile copies of the whole array.

    Parameters
    ----------
    A : array_like
    reps : int or sequence of int
        How often along each axis, aligned with the last axis; missing counts are one.

    Returns
    -------
    ndarray
        A copy.

    Raises
    ------
    ValueError
        A negative count.

    See Also
    --------
    repeat : repeats elements, broadcast_to : repeats without a copy

    Notes
    -----
    Source: https://numpy.org/doc/stable/reference/generated/numpy.tile.html

    Examples
    --------
    >>> import tnp as np
    >>> np.tile([1, 2], (2, 2))
    array([[1, 2, 1, 2],
           [1, 2, 1, 2]])
    """
    given = reps if np.iterable(reps) else (reps,)
    tensor, counts = tensor_of(A), as_shape(tuple([long_of(1 * count) for count in given]))  # True is one
    if any(count < 0 for count in counts):
        if tensor.numel():
            raise ValueError("negative dimensions are not allowed")
        return wrap_array(tensor.new_empty(np.tile(np.empty(tuple(tensor.shape)), counts).shape))
    try:
        if all(count == 1 for count in counts):
            return wrap_array(memory.copied(tensor[(None,) * (len(counts) - tensor.dim())]))
        made = kernels.tile(tensor, (1,) * (tensor.dim() - len(counts)) + counts)
        return wrap_array(made.view(made.shape))  # a view, as NumPy's, of which the base is another array
    except RuntimeError as error:
        if not tensor.numel():
            np.tile(np.empty(tuple(tensor.shape)), counts)  # NumPy only multiplies the lengths, and raises for them
        raise explain(error) from None


def repeat(a: Any, repeats: Any, axis: int | None = None) -> ndarray:
    """Repeat each element of the array.

    Parameters
    ----------
    a : array_like
    repeats : int or array_like of int
        How often: one count for all, or one for each slice of the axis.
    axis : int, optional
        None flattens the array first.

    Returns
    -------
    ndarray
        A copy.

    Raises
    ------
    ValueError
        A negative count, or not as many counts as slices.
    TypeError
        Counts that are not integers.

    See Also
    --------
    tile : repeats the whole array

    Notes
    -----
    Source: https://numpy.org/doc/stable/reference/generated/numpy.repeat.html

    Examples
    --------
    >>> import tnp as np
    >>> np.repeat([[1, 2], [3, 4]], [1, 2], axis=0)
    array([[1, 2],
           [3, 4],
           [3, 4]])
    """
    tensor = tensor_of(a)
    if axis is None or (not tensor.dim() and operator.index(axis) in (0, -1)):
        tensor, axis = tensor.reshape(-1), 0
    axis = integer_axis(axis, tensor.dim())
    length = tensor.shape[axis]
    try:
        if type(repeats) is int:
            return wrap_array(kernels.repeat(tensor, long_of(repeats), axis))
        if isinstance(repeats, ndarray) or memory.is_tensor(repeats):
            return wrap_array(kernels.repeat(tensor, _counts(tensor_of(repeats), length), axis))
        return wrap_array(kernels.select(tensor, np.repeat(np.arange(length), repeats), axis))
    except RuntimeError as error:
        if messages.says(error, messages.NEGATIVE):
            if tensor_of(repeats).numel() == 1:
                raise ValueError("negative dimensions are not allowed") from None
            raise ValueError("repeats may not contain negative values.") from None
        raise explain(error) from None


def _counts(counts: Tensor, length: int) -> Tensor:
    """Return counts of repetition as int64, one for each of ``length`` slices."""
    if counts.dim() > 1:
        raise ValueError("object too deep for desired array")
    refuse_cast(to_numpy[counts.dtype], np.dtype(np.int64), "safe", counts.dim())
    if counts.numel() != 1 and counts.numel() != length:
        raise ValueError(f"operands could not be broadcast together with shape ({length},) ({counts.numel()},)")
    return cast(counts, to_torch[np.dtype(np.int64)]).expand(length)
