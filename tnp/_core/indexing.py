"""``x[key]`` and ``x[key] = value``.

Layer: owns the meaning of a key: the items that NumPy allows, the axes that they take, the place of index arrays'
dimensions, and the errors. The backend reads and writes.
"""

from __future__ import annotations

import math
import operator
import sys
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from backend_torch.kernels import indexing, masking
from backend_torch.kernels.indexing import Index
from backend_torch.tensors import interop, memory, trace_state
from backend_torch.tensors.casting import cast
from backend_torch.tensors.constants import numbers
from backend_torch.tensors.dtypes import to_torch
from backend_torch.torch_private.functorch import innermost
from tnp._core.base import ndarray, scalar, wrap, wrap_array
from tnp._core.convert import checked_number, element_of, is_array, sequence_error, tensor_of, value_of
from tnp._core.errors import MOST_DIMENSIONS, MOST_OPERANDS, explain, shapes_text
from tnp._core.mask_selection import Selection, assign, select

Tensor = Any

_BASIC = frozenset({int, slice, type(None), type(Ellipsis)})
_SCALARS = frozenset({float, int, bool, complex})
INT64 = to_torch[np.dtype(np.int64)]
BOOL = to_torch[np.dtype(np.bool_)]
_TORCH_ERRORS = (IndexError, RuntimeError, ValueError, TypeError)

_INVALID = (
    "only integers, slices (`:`), ellipsis (`...`), numpy.newaxis (`None`) and integer or boolean arrays are valid "
    "indices"
)
_INVALID_DTYPE = "arrays used as indices must be of integer (or boolean) type"


class Key(NamedTuple):
    """A key, parsed for the shape of an array."""

    selection: Index
    axes: tuple[int, ...]
    """The array's axis that each index array picks from."""
    is_element: bool
    """Whether it is one integer an axis and nothing else, and so selects a scalar."""
    is_mask: bool
    """Whether it is one boolean array and nothing else."""


def get_item(array: ndarray, key: Any) -> Any:
    """``array[key]``: a scalar for an integer an axis, a view for slices, a copy for index arrays.

    Raises
    ------
    IndexError
        The key has too many items, one out of bounds or of a wrong type, or arrays that do not broadcast.
    """
    tensor = array.tensor
    view = _view(tensor, key)
    if view is not None and view.dim() <= MOST_DIMENSIONS:
        if view.dim() or (type(key) is tuple and Ellipsis in key):
            return wrap_array(view)
        return wrap(view.clone())
    if type(key) is tuple:
        return _get_tuple(tensor, key)
    if isinstance(key, ndarray) and tensor.is_cpu:
        index = key.tensor
        dtype = index.dtype
        try:
            if index.dim():
                if not index.is_cpu:
                    pass  # _get refuses it
                elif dtype is INT64 or (dtype is BOOL and not masking.is_unknown(index)):
                    result = tensor[index]
                    if dtype is BOOL or result.numel():  # else torch has not checked the indices
                        return wrap_array(result)
            elif dtype is INT64 and indexing.has_values(index):
                return wrap(tensor[index.item()].clone())
        except _TORCH_ERRORS:
            pass  # _get raises NumPy's error
    return _get(tensor, key)


def _view(tensor: Tensor, key: Any) -> Tensor | None:
    """The view that integers, slices, None and one ellipsis select; None for other keys, and where torch refuses."""
    kind = type(key)
    if kind is tuple:
        if not _BASIC.issuperset(map(type, key)) or key.count(Ellipsis) > 1:
            return None
    elif kind is not int and kind is not slice:
        return None
    try:
        return tensor[key] if innermost() is None else memory.sliced(tensor, key)
    except _TORCH_ERRORS:
        return None


def _get_tuple(tensor: Tensor, key: tuple[Any, ...]) -> Any:
    """`get_item` of a tuple: a short path where torch reads slices and index arrays as NumPy, else the general one."""
    if len(key) >= MOST_OPERANDS:
        return _get(tensor, key)
    torch_key = [item.tensor if isinstance(item, ndarray) else item for item in key]
    for item in torch_key:
        if type(item) is slice:
            continue
        if not (memory.is_tensor(item) and item.dim() and item.is_cpu):
            return _get(tensor, key)
        if item.dtype is not INT64 and (item.dtype is not BOOL or masking.is_unknown(item)):
            return _get(tensor, key)
    if tensor.is_cpu:
        try:
            result = tensor[tuple(torch_key)]
        except _TORCH_ERRORS:
            return _get(tensor, key)
        if result.numel():
            return wrap_array(result)
    return _get(tensor, key)


def _get(tensor: Tensor, key: Any) -> Any:
    """The general path of `get_item`, for every key."""
    key = read(tensor, key)
    index = key.selection
    if index.arrays and (not tensor.is_cpu or trace_state.is_tracing()):
        _check_bounds(tensor, key)
    if index.arrays and (selected := select(tensor, index)) is not None:
        return selected
    try:
        result = indexing.get(tensor, index)
    except (IndexError, RuntimeError) as error:
        raise _explain(error, tensor, key) from None
    if result.dim() > MOST_DIMENSIONS:
        raise IndexError(
            f"number of dimensions must be within [0, {MOST_DIMENSIONS}], indexing result would have {result.dim()}"
        )
    if key.is_element:
        return wrap(result if index.arrays else result.clone())
    if index.arrays and tensor.is_cpu and not result.numel():  # torch has not looked at the indices
        _check_bounds(tensor, key)
    return wrap_array(result)


def set_item(array: ndarray, key: Any, value: Any) -> None:
    """``array[key] = value``: broadcast and cast the value to the array's dtype, as if it had been copied before.

    Raises
    ------
    IndexError
        As in `get_item`.
    ValueError
        The value does not broadcast to what the key selects; it or an index array is on another device; or the array
        is a broadcast view and so read-only.
    OverflowError
        A Python integer does not fit the array's dtype.
    """
    tensor = array.tensor
    if 0 in tensor.stride() and not memory.is_writeable(tensor):
        raise ValueError("assignment destination is read-only")
    kind = type(key)
    target = _view(tensor, key)
    if target is not None:
        if type(value) in _SCALARS:
            target.fill_(numbers(tensor.dtype, type(value))[value])
            return None
        if isinstance(value, ndarray):
            source = value.tensor
            number = type(value) is scalar and not tensor.is_floating_point()
            if source.dtype is tensor.dtype or not (number or source.is_complex()):
                try:
                    return indexing.assign(target, source)
                except RuntimeError:
                    pass  # _set raises NumPy's error
    elif kind is ndarray and type(value) in _SCALARS:
        mask = key.tensor
        fits = mask.dtype is BOOL and mask.shape == tensor.shape and tensor.dim() and mask.is_cpu is tensor.is_cpu
        if fits and tensor.dtype not in indexing.SIGNED:  # torch has no kernel for it, and a trace would not notice
            number = numbers(tensor.dtype, type(value))[value]
            try:
                tensor.masked_fill_(mask, number)
            except RuntimeError:
                return _set(array, key, value)
            return None
    elif kind is ndarray and type(value) is ndarray and value.tensor.dtype is tensor.dtype:
        index = key.tensor
        if (index.dtype is INT64 or index.dtype is BOOL) and indexing.put_few(tensor, index, value.tensor):
            return None
    return _set(array, key, value)


def _set(array: ndarray, key: Any, value: Any) -> None:
    """The general path of `set_item`."""
    tensor = array.tensor
    read_key = read(tensor, key)
    value = element_of(value, array.dtype) if read_key.is_element else checked_number(value, array.dtype)
    index = read_key.selection
    if type(value) is Selection and index.arrays:
        return assign(array, index, value)
    bad = indexing.out_of_bounds(tensor, index) if index.arrays else None
    if bad is not None:  # NumPy checks integers before the value, and index arrays after it
        raise _explain(IndexError(), tensor, read_key, value_of(value, array) if index.arrays[bad[0]].dim() else None)
    source = value_of(value, array)
    if source.dim() and read_key.is_element:
        raise sequence_error(value, array.dtype)
    if source.dim() and not is_array(value) and not any(array.dim() for array in index.arrays):
        selected = sum(type(item) is not int for item in index.view) - len(index.arrays)
        if source.dim() > selected:
            raise ValueError(
                "setting an array element with a sequence. "
                f"The requested array would exceed the maximum number of dimension of {selected}."
            )
    if read_key.is_mask and source.dim() > 1:
        raise TypeError(
            "NumPy boolean array indexing assignment requires a 0 or 1-dimensional input, input has "
            f"{source.dim()} dimensions"
        )
    try:
        indexing.put(tensor, index, source)
    except (IndexError, RuntimeError) as error:
        raise _explain(error, tensor, read_key, source) from None


def read(tensor: Tensor, key: Any) -> Key:
    """The key in torch's terms.

    Raises
    ------
    IndexError
        The key has too many items, an integer out of bounds, or something that is no index.
    ValueError
        An index array is on another device.
    """
    if isinstance(key, ndarray) and tensor.dim():  # the most common keys first
        array = tensor_of(key, device=tensor.device)
        is_mask = array.dtype is BOOL and array.shape == tensor.shape
        if is_mask or (array.dtype is INT64 and array.dim()):
            return Key(Index((), (), (array,), (0,)), (0,), is_element=False, is_mask=is_mask)
    items = tuple(key) if isinstance(key, tuple) else (key,)
    entries = [
        item if item is None or item is Ellipsis or type(item) is slice else _entry(item, tensor) for item in items
    ]
    taken = 0
    ellipses = 0
    has_arrays = False
    for entry in entries:
        if entry is Ellipsis:
            ellipses += 1
        elif type(entry) is int or type(entry) is slice:
            taken += 1
        elif entry is not None:
            has_arrays = True
            taken += entry.dim() if entry.dtype is BOOL else 1
    if ellipses > 1:
        raise IndexError("an index can only have a single ellipsis ('...')")
    shape = tensor.shape
    missing = len(shape) - taken
    if missing < 0:
        raise IndexError(f"too many indices for array: array is {len(shape)}-dimensional, but {taken} were indexed")
    if not ellipses and missing:
        entries.append(Ellipsis)

    view: list[Any] = []
    flips: list[int] = []
    arrays: list[Tensor] = []
    dims: list[int] = []
    axes: list[int] = []
    axis = dim = 0  # of the array, of the view
    position: int | None = None
    closed = False  # another item has come after an integer or array
    for entry in entries:
        if entry is None:
            view.append(None)
            dim += 1
        elif entry is Ellipsis:
            view.extend([slice(None)] * missing)
            axis += missing
            dim += missing
        elif type(entry) is slice:
            if entry.step is not None and operator.index(entry.step) < 0:
                entry = _reversed(entry, shape[axis])
                flips.append(dim)
            view.append(entry)
            axis += 1
            dim += 1
        else:
            if position is None:
                position = dim
            elif closed:
                position = 0
            if type(entry) is int:
                if not -shape[axis] <= entry < shape[axis]:
                    raise _bounds_error(entry, axis, shape[axis])
                view.append(entry)
                axis += 1
                continue
            arrays.append(entry)
            dims.append(dim)
            axes.append(axis)
            if entry.dtype is not BOOL:
                view.append(slice(None))
                axis += 1
                dim += 1
            elif entry.dim() == 0:  # picks the one element of a new axis, or none
                arrays[-1] = entry.reshape(1)
                view.append(None)
                dim += 1
            else:
                arrays[-1] = _fitting_mask(entry, shape, axis)
                view.extend([slice(None)] * entry.dim())
                axis += entry.dim()
                dim += entry.dim()
            continue
        closed = position is not None
    if len(arrays) >= MOST_OPERANDS:
        raise IndexError(
            "too many advanced (array) indices. This probably means you are indexing with too many booleans. (more "
            f"than {MOST_OPERANDS - 1} found)"
        )
    return Key(
        Index(tuple(view), tuple(flips), tuple(arrays), tuple(dims), position if arrays and position else 0),
        tuple(axes),
        is_element=not (ellipses or missing)
        and all(type(e) is int or (e is not None and type(e) is not slice and _is_integer_0d(e)) for e in entries),
        is_mask=len(items) == 1 and has_arrays and arrays[0].dtype is BOOL and not missing,
    )


def checked(tensor: Tensor, key: Any) -> Index:
    """Parse a key; check that its index arrays are within bounds and broadcast together.

    Raises
    ------
    IndexError
        As in `get_item`.
    """
    read_key = read(tensor, key)
    if not _fits_together(indexing.array_shapes(read_key.selection)):
        raise _explain(IndexError(), tensor, read_key)
    _check_bounds(tensor, read_key)
    return read_key.selection


def _is_integer_0d(entry: Any) -> bool:
    return entry.dim() == 0 and entry.dtype is not BOOL


def _entry(item: Any, tensor: Tensor) -> Any:
    """An item of a key as an int, or as an int64 or bool tensor."""
    if type(item) is int:
        return _bounded(item)
    if isinstance(item, (ndarray, bool, np.bool_)) or memory.is_tensor(item):
        array = tensor_of(item, device=tensor.device)
    elif isinstance(item, np.ndarray):  # goes to the array's device, as a list does
        array = interop.moved(tensor_of(item), tensor.device)
    else:
        try:
            return _bounded(operator.index(item))
        except TypeError:
            array = _array_entry(item, tensor)
    dtype = array.dtype
    if dtype is INT64 or dtype is BOOL:
        return array
    if dtype.is_floating_point or dtype.is_complex:
        is_number = not array.dim() and (type(item) is scalar or not is_array(item))
        raise IndexError(_INVALID if is_number else _INVALID_DTYPE)
    return cast(array, INT64)


def _bounded(index: int) -> int:
    if not -sys.maxsize - 1 <= index <= sys.maxsize:  # NumPy reads it as an array: of uint64, or of objects
        raise OverflowError("Python int too large to convert to C long") if 0 < index < 2**64 else IndexError(_INVALID)
    return index


def _array_entry(item: Any, tensor: Tensor) -> Tensor:
    """Convert a list, or anything that NumPy reads as an array, to a tensor; an empty list holds integers."""
    try:
        array = tensor_of(item, device=tensor.device)
    except TypeError:
        raise IndexError(_INVALID) from None
    return array if array.numel() else cast(array, INT64)


def _reversed(item: slice, size: int) -> slice:
    """Return the slice with a positive step for the elements of one with a negative step."""
    selected = range(*item.indices(size))
    if not selected:
        return slice(0, 0)
    return slice(selected[-1], selected[0] + 1, -selected.step)


def _fitting_mask(mask: Tensor, shape: tuple[int, ...], axis: int) -> Tensor:
    """Check that a mask has the lengths of the axes from ``axis`` on; a mask of length 0 fits any length."""
    fitting = mask
    for offset, size in enumerate(mask.shape):
        if size != shape[axis + offset]:
            if size == 0:
                fitting = mask.new_zeros(shape[axis : axis + mask.dim()])
                continue
            raise IndexError(
                f"boolean index did not match indexed array along axis {axis + offset}; size of axis is "
                f"{shape[axis + offset]} but size of corresponding boolean axis is {size}"
            )
    return fitting


def _check_bounds(tensor: Tensor, key: Key) -> None:
    found = indexing.out_of_bounds(tensor, key.selection)
    if found is not None:
        number, value = found
        axis = key.axes[number]
        raise _bounds_error(value, axis, tensor.shape[axis])


def _bounds_error(value: int, axis: int, size: int) -> IndexError:
    return IndexError(f"index {value} is out of bounds for axis {axis} with size {size}")


def unmatched_error(shapes: Sequence[tuple[int, ...]]) -> IndexError:
    """Return the error that NumPy raises for index arrays whose shapes do not broadcast."""
    text = "shape mismatch: indexing arrays could not be broadcast together with shapes"
    return IndexError(f"{text} {shapes_text(shapes)} ")


def _explain(error: Exception, tensor: Tensor, key: Key, value: Tensor | None = None) -> Exception:
    """Return NumPy's exception for ``error``, which torch raised; ``error`` itself for a mask without values."""
    if not indexing.has_shape(key.selection):
        return explain(error)
    shapes = indexing.array_shapes(key.selection)
    if not _fits_together(shapes):
        return unmatched_error(shapes)
    if math.prod(map(max, zip(*_padded(shapes), strict=True))) > np.iinfo(np.intp).max:
        return ValueError("iterator is too large")
    if value is not None:
        shape, selected = tuple(value.shape), indexing.shape(tensor, key.selection)
        if not assignable(shape, selected):
            return _value_error(shape, selected, key)
    if isinstance(explained := explain(error), MemoryError):
        return explained  # comparing the indices needs memory too
    try:
        _check_bounds(tensor, key)
    except IndexError as found:
        return found
    if not isinstance(error, RuntimeError):
        return error
    return explain(error, *[each.new_empty(0) for each in (tensor, *key.selection.arrays)])  # shapes need not broadcast


def _fits_together(shapes: list[tuple[int, ...]]) -> bool:
    return all(len({*lengths} - {1}) <= 1 for lengths in zip(*_padded(shapes), strict=True))


def _padded(shapes: list[tuple[int, ...]]) -> list[tuple[int, ...]]:
    """Prepend ones to shapes, so that all have the same number of dimensions."""
    most = max(map(len, shapes), default=0)
    return [(*[1] * (most - len(shape)), *shape) for shape in shapes]


def assignable(shape: tuple[int, ...], selected: tuple[int, ...]) -> bool:
    """Whether a value of this shape broadcasts to what is selected; leading dimensions of length one do not count."""
    extra = max(0, len(shape) - len(selected))
    padded = (*[1] * (len(selected) - len(shape)), *shape[extra:])
    return set(shape[:extra]) <= {1} and all(n in (1, m) for n, m in zip(padded, selected, strict=True))


def _value_error(shape: tuple[int, ...], selected: tuple[int, ...], key: Key) -> ValueError:
    if key.is_mask and shape:
        return ValueError(
            f"NumPy boolean array indexing assignment cannot assign {shape[0]} input values to the "
            f"{selected[0]} output values where the mask is true"
        )
    if key.selection.arrays:
        return ValueError(
            f"shape mismatch: value array of shape {shapes_text([shape])} could not be broadcast to "
            f"indexing result of shape {shapes_text([selected])}"
        )
    return ValueError(
        f"could not broadcast input array from shape {shapes_text([shape])} into shape {shapes_text([selected])}"
    )
