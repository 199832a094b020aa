"""``x[key]`` and ``x[key] = value``.

Layer: owns the meaning of a key: the items that NumPy allows, the axes that they take, the place of index arrays'
dimensions, and the errors. The backend reads and writes.
"""

from __future__ import annotations

import math
import operator
import sys
from collections.abc import Sequence
from typing import Any

import numpy as np

from backend_torch.kernels import indexing, masking
from backend_torch.kernels.indexing import Plan
from backend_torch.tensors import interop, memory, trace_state
from backend_torch.tensors.casting import cast
from backend_torch.tensors.constants import numbers
from backend_torch.tensors.dtypes import to_torch
from backend_torch.tensors.shape import broadcasts
from backend_torch.torch_private.functorch import innermost
from tnp._core.base import ndarray, number, scalar, wrap, wrap_array
from tnp._core.convert import (
    checked_number,
    element_of,
    is_array,
    sequence_error,
    tensor_of,
    value_of,
    without_class,
)
from tnp._core.dtypes import DtypeError
from tnp._core.errors import MOST_DIMENSIONS, MOST_OPERANDS, explain, shapes_text, unassignable
from tnp._core.mask_selection import Selection, assign, select
from tnp._core.strided_views import indirect_view, is_itself, part

Tensor = Any

_KEPT = frozenset({slice, type(None), type(Ellipsis)})  # items that pick no element of an axis
_BASIC = _KEPT | {int}
_ALL: tuple[Any, ...] = (slice(None),)
_NEW: tuple[Any, ...] = (None,)
_SCALARS = frozenset({float, int, bool, complex})
INT64 = to_torch[np.dtype(np.int64)]
UINT64 = to_torch[np.dtype(np.uint64)]
BOOL = to_torch[np.dtype(np.bool_)]
_INTEGERS = frozenset({to_torch[np.dtype(code)] for code in np.typecodes["AllInteger"] if np.dtype(code) in to_torch})
_TORCH_ERRORS = (IndexError, RuntimeError, ValueError, TypeError)

_INVALID = (
    "only integers, slices (`:`), ellipsis (`...`), numpy.newaxis (`None`) and integer or boolean arrays are valid "
    "indices"
)
_INVALID_DTYPE = "arrays used as indices must be of integer (or boolean) type"


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
        if view.dim() or key is Ellipsis or (type(key) is tuple and Ellipsis in key):
            return wrap_array(view)
        return wrap(view.clone())
    as_torch = _as_torch(tensor, key)
    if as_torch is not None:
        try:
            result = tensor[as_torch]
        except _TORCH_ERRORS:
            pass  # the plan raises NumPy's error
        else:
            if getattr(as_torch, "dtype", None) is BOOL or result.numel():  # else torch has not checked the indices
                return wrap_array(result)
    if view is None and (reversed_view := part(tensor, key)) is not None:
        return reversed_view
    plan = parse(tensor, key)
    if plan.arrays and (not tensor.is_cpu or trace_state.is_tracing()):
        _check_bounds(tensor, plan)
    if plan.arrays and (selected := select(tensor, plan)) is not None:
        return selected
    try:
        result = indexing.get(tensor, plan)
    except (IndexError, RuntimeError) as error:
        raise _explain(error, tensor, plan) from None
    if result.dim() > MOST_DIMENSIONS:
        raise IndexError(
            f"number of dimensions must be within [0, {MOST_DIMENSIONS}], indexing result would have {result.dim()}"
        )
    if plan.is_element:
        return wrap(result if plan.arrays else result.clone())
    if plan.arrays and tensor.is_cpu and not result.numel():
        _check_bounds(tensor, plan)
    if plan.is_view and (plan.arrays or plan.flips):
        return indirect_view(array, plan, result, key)
    return wrap_array(result)


def _view(tensor: Tensor, key: Any) -> Tensor | None:
    """The view that integers, slices, None and one ellipsis select; None for other keys, and where torch has none."""
    kind = type(key)
    if kind is tuple:
        if not _BASIC.issuperset(map(type, key)) or key.count(Ellipsis) > 1:
            return None
        for item in key:
            if type(item) is slice and _goes_back(item):
                return None
    elif kind is scalar:
        if (key := _integer(key)) is None:
            return None
    elif kind is slice:
        if _goes_back(key):
            return None
    elif key is Ellipsis:
        key = (key,)
    elif kind is not int:
        return None
    try:
        return tensor[key] if innermost() is None else memory.sliced(tensor, key)
    except _TORCH_ERRORS:
        return None


def _goes_back(item: slice) -> bool:
    """Whether the step is negative, which torch refuses by an exception that takes longer than the view."""
    step = item.step
    return type(step) is int and step < 0


def _integer(item: ndarray) -> int | None:
    """The value of an integer scalar, with which, as with Python's integers, a key selects a view; None if unknown."""
    tensor = item.tensor
    return int(tensor.item()) if tensor.dtype in _INTEGERS and indexing.has_values(tensor) else None


def _as_torch(tensor: Tensor, key: Any) -> Any:
    """A key of slices and index arrays that torch reads as NumPy does, for a tensor on the CPU; else None."""
    if not tensor.is_cpu:
        return None
    if type(key) is tuple:
        items = []
        for item in key:
            if _goes_back(item) if type(item) is slice else (item := _as_torch(tensor, item)) is None:
                return None
            items.append(item)
        return tuple(items) if len(items) < MOST_OPERANDS else None
    if isinstance(key, ndarray):
        key = key.tensor
    elif not memory.is_tensor(key):
        return None
    if key.dim() and key.is_cpu and (key.dtype is INT64 or (key.dtype is BOOL and not masking.is_unknown(key))):
        return key
    return None


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
            checked = isinstance(value, scalar) and not tensor.is_floating_point()
            if source.dtype is tensor.dtype or not (checked or source.is_complex()):
                try:
                    return indexing.assign(target, source)
                except RuntimeError:
                    pass  # _set raises NumPy's error
    elif kind is ndarray and type(value) in _SCALARS:
        mask = key.tensor
        fits = mask.dtype is BOOL and mask.shape == tensor.shape and tensor.dim() and mask.is_cpu is tensor.is_cpu
        if fits and tensor.dtype not in indexing.SIGNED:  # torch has no kernel for it, and a trace would not notice
            converted = numbers(tensor.dtype, type(value))[value]
            try:
                tensor.masked_fill_(mask, converted)
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
    if is_itself(value, array, key):
        return None
    plan = parse(tensor, key)
    if plan.is_element:
        value = element_of(value, array.dtype)
    elif type(value) is number or not any(each.dim() for each in plan.arrays):  # there NumPy casts the others
        value = checked_number(value, array.dtype)
    if type(value) is Selection and plan.arrays:
        return assign(array, plan, value)
    bad = indexing.out_of_bounds(tensor, plan) if plan.arrays else None
    if bad is not None:  # NumPy checks integers before the value, and index arrays after it
        raise _explain(IndexError(), tensor, plan, value_of(value, array) if plan.arrays[bad[0]].dim() else None)
    source = value_of(value, array)
    if source.dim() and plan.is_element:
        raise sequence_error(value, array.dtype)
    if source.dim() and not is_array(value) and not any(each.dim() for each in plan.arrays):
        selected = indexing.view_of(tensor, plan).dim() - len(plan.arrays)
        if source.dim() > selected:
            raise ValueError(
                "setting an array element with a sequence. "
                f"The requested array would exceed the maximum number of dimension of {selected}."
            )
    if plan.is_mask and source.dim() > 1:
        raise TypeError(
            "NumPy boolean array indexing assignment requires a 0 or 1-dimensional input, input has "
            f"{source.dim()} dimensions"
        )
    try:
        indexing.put(tensor, plan, source)
    except (IndexError, RuntimeError) as error:
        raise _explain(error, tensor, plan, source) from None


def parse(tensor: Tensor, key: Any) -> Plan:
    """The plan by which a key selects from a tensor.

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
            return Plan((), (), (array,), (0,), axes=(0,), is_mask=is_mask, is_view=False)
    items = tuple(key) if isinstance(key, tuple) else (key,)
    entries = [item if type(item) in _KEPT else _entry(item, tensor) for item in items]
    taken = ellipses = 0
    for entry in entries:
        kind = type(entry)
        if kind is int or kind is slice:
            taken += 1
        elif entry is Ellipsis:
            ellipses += 1
        elif entry is not None:
            taken += entry.dim() if entry.dtype is BOOL else 1
    shape = tensor.shape
    missing = len(shape) - taken
    if ellipses > 1:
        raise IndexError("an index can only have a single ellipsis ('...')")
    if missing < 0:
        raise IndexError(f"too many indices for array: array is {len(shape)}-dimensional, but {taken} were indexed")
    if missing and not ellipses:
        entries.append(Ellipsis)

    view: list[Any] = []
    flips: list[int] = []
    arrays: list[Tensor] = []
    dims: list[int] = []
    axes: list[int] = []
    picking: list[int] = []  # the places of integers and arrays in the key
    axis = dim = first = 0  # of the array, of the view, of the view where the first of them picks
    for place, entry in enumerate(entries):
        kind = type(entry)
        if kind is slice:
            if entry.step is not None and operator.index(entry.step) < 0:
                entry = _reversed(entry, shape[axis])
                flips.append(dim)
            view.append(entry)
            axis += 1
            dim += 1
        elif kind in _KEPT:
            view += _NEW if entry is None else _ALL * missing
            axis += 0 if entry is None else missing
            dim += 1 if entry is None else missing
        else:
            if not picking:
                first = dim
            picking.append(place)
            if kind is int:
                if not -shape[axis] <= entry < shape[axis]:
                    raise _bounds_error(entry, axis, shape[axis])
                view.append(entry)
                axis += 1
                continue
            count, array = (entry.dim(), _fitting_mask(entry, shape, axis)) if entry.dtype is BOOL else (1, entry)
            arrays.append(array)
            dims.append(dim)
            axes.append(axis)
            view += _ALL * count or _NEW  # a 0-d mask picks the one element of a new axis, or none
            axis += count
            dim += count or 1
    if len(arrays) >= MOST_OPERANDS:
        raise IndexError(
            "too many advanced (array) indices. This probably means you are indexing with too many booleans. (more "
            f"than {MOST_OPERANDS - 1} found)"
        )
    is_whole = arrays and view == [*_ALL * len(shape)]
    together = arrays and picking[-1] - picking[0] < len(picking)
    return Plan(
        () if is_whole else tuple(view),
        tuple(flips),
        tuple(arrays),
        tuple(dims),
        first if together else 0,
        tuple(axes),
        is_element=len(picking) == len(entries) and not any(each.dim() or each.dtype is BOOL for each in arrays),
        is_mask=len(entries) == 1 and bool(arrays) and arrays[0].dtype is BOOL,
        is_view=all(isinstance(items[place], scalar) or type(entries[place]) is int for place in picking)
        and not any(array.dtype is BOOL for array in arrays),
    )


def checked(tensor: Tensor, key: Any) -> Plan:
    """Parse a key; check that its index arrays are within bounds and broadcast together.

    Raises
    ------
    IndexError
        As in `get_item`.
    """
    plan = parse(tensor, key)
    if not _fits_together(indexing.array_shapes(plan)):
        raise _explain(IndexError(), tensor, plan)
    _check_bounds(tensor, plan)
    return plan


def _entry(item: Any, tensor: Tensor) -> Any:
    """An item of a key as an int, or as an int64 or bool tensor."""
    if type(item) is int:
        return _bounded(item)
    if type(item) is scalar and (integer := _integer(item)) is not None:
        return _bounded(integer)
    if isinstance(item, (ndarray, bool, np.bool_)) or memory.is_tensor(item):
        array = tensor_of(item, device=tensor.device)
    elif isinstance(item, np.ndarray):  # goes to the array's device, as a list does
        try:
            array = interop.moved(tensor_of(without_class(item)), tensor.device)
        except DtypeError:
            raise IndexError(_INVALID_DTYPE) from None
    else:
        try:
            return _bounded(operator.index(item))
        except TypeError:
            array = _array_entry(item, tensor)
    dtype = array.dtype
    if dtype is INT64 or dtype is BOOL:
        return array
    if dtype.is_floating_point or dtype.is_complex:
        raise IndexError(_INVALID_DTYPE if is_array(item) and not isinstance(item, scalar) else _INVALID)
    if not array.dim() and dtype is UINT64 and memory.is_readable(array):
        _bounded(array.item())  # the numbers in an array with axes wrap around instead
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
    if item.start is item.stop is None:  # for any size, which may be symbolic
        step = -operator.index(item.step)
        return slice(None) if step == 1 else slice((size - 1) % step, None, step)
    selected = range(*item.indices(size))
    if not selected:
        return slice(0, 0)
    return slice(selected[-1], selected[0] + 1, -selected.step)


def _fitting_mask(mask: Tensor, shape: tuple[int, ...], axis: int) -> Tensor:
    """Check that a mask has the lengths of the axes from ``axis`` on; a mask of length 0 fits any length."""
    fitting = mask if mask.dim() else mask.reshape(1)
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


def _check_bounds(tensor: Tensor, plan: Plan) -> None:
    found = indexing.out_of_bounds(tensor, plan)
    if found is not None:
        which, value = found
        axis = plan.axes[which]
        raise _bounds_error(value, axis, tensor.shape[axis])


def _bounds_error(value: int, axis: int, size: int) -> IndexError:
    return IndexError(f"index {value} is out of bounds for axis {axis} with size {size}")


def unmatched_error(shapes: Sequence[tuple[int, ...]]) -> IndexError:
    """Return the error that NumPy raises for index arrays whose shapes do not broadcast."""
    text = "shape mismatch: indexing arrays could not be broadcast together with shapes"
    return IndexError(f"{text} {shapes_text(shapes)} ")


def _explain(error: Exception, tensor: Tensor, plan: Plan, value: Tensor | None = None) -> Exception:
    """Return NumPy's exception for ``error``, which torch raised; ``error`` itself for a mask without values."""
    if not indexing.has_shape(plan):
        return explain(error)
    shapes = indexing.array_shapes(plan)
    if not _fits_together(shapes):
        return unmatched_error(shapes)
    if math.prod(map(max, zip(*_padded(shapes), strict=True))) > np.iinfo(np.intp).max:
        return ValueError("iterator is too large")
    if value is not None:
        shape, selected = tuple(value.shape), indexing.shape(tensor, plan)
        if not assignable(shape, selected):
            return _value_error(shape, selected, plan)
    if isinstance(explained := explain(error), MemoryError):
        return explained  # comparing the indices needs memory too
    try:
        _check_bounds(tensor, plan)
    except IndexError as found:
        return found
    if not isinstance(error, RuntimeError):
        return error
    return explain(error, *[each.new_empty(0) for each in (tensor, *plan.arrays)])  # shapes need not broadcast


def _fits_together(shapes: list[tuple[int, ...]]) -> bool:
    return all(len({*lengths} - {1}) <= 1 for lengths in zip(*_padded(shapes), strict=True))


def _padded(shapes: list[tuple[int, ...]]) -> list[tuple[int, ...]]:
    """Prepend ones to shapes, so that all have the same number of dimensions."""
    most = max(map(len, shapes), default=0)
    return [(*[1] * (most - len(shape)), *shape) for shape in shapes]


def assignable(shape: tuple[int, ...], selected: tuple[int, ...]) -> bool:
    """Whether a value of this shape broadcasts to what is selected; leading dimensions of length one do not count."""
    extra = max(0, len(shape) - len(selected))
    return set(shape[:extra]) <= {1} and broadcasts(shape[extra:], selected)


def _value_error(shape: tuple[int, ...], selected: tuple[int, ...], plan: Plan) -> ValueError:
    if plan.is_mask and shape:
        return ValueError(
            f"NumPy boolean array indexing assignment cannot assign {shape[0]} input values to the "
            f"{selected[0]} output values where the mask is true"
        )
    if plan.arrays:
        return unpicked(shape, selected)
    return unassignable(shape, selected)


def unpicked(shape: tuple[int, ...], selected: tuple[int, ...]) -> ValueError:
    """Return the error of a value that does not broadcast to what index arrays select."""
    text = f"shape mismatch: value array of shape {shapes_text([shape])} could not be broadcast to "
    return ValueError(text + f"indexing result of shape {shapes_text([selected])}")
