"""Views of CPU memory that no tensor can describe: negative steps, and strides of any number of bytes.

Layer: owns how such a view, which is a NumPy array, becomes tensors: copies for reading, ordinary tensors over the same
memory, and the place in the original's memory that belongs to a view of a copy.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from backend_torch.tensors import memory, trace_state
from backend_torch.tensors.dtypes import to_numpy, to_torch
from backend_torch.tensors.shape import flip
from backend_torch.torch_private import functorch

Tensor = torch.Tensor


def has_host_views(tensor: Tensor) -> bool:
    """Whether NumPy arrays may be views of the tensor: it is readable, on the CPU, and needs no gradient."""
    return (
        tensor.is_cpu
        and functorch.innermost() is None
        and memory.is_readable(tensor)
        and not (tensor.requires_grad or tensor.is_conj() or tensor.is_neg() or tensor.is_inference())
    )


def is_compiling() -> bool:
    """Whether Dynamo is tracing, which can't handle NumPy's views."""
    return torch.compiler.is_compiling()


def are_had() -> bool:
    """Whether arrays may be views of NumPy's memory now: nothing is traced, batched or differentiated."""
    return not torch.compiler.is_compiling() and functorch.innermost() is None and not trace_state.is_tracing()


def is_described(array: np.ndarray) -> bool:
    """Whether a tensor can describe an array: its strides are non-negative multiples of aligned elements.

    Elements in one place are read-only in a tensor's array.
    """
    least = 1 if array.flags.writeable else 0
    return array.flags.aligned and all(
        (step >= least or (n <= 1 and step == 0)) and not step % array.itemsize
        for n, step in zip(array.shape, array.strides, strict=True)
    )


def memory_of(array: np.ndarray) -> Tensor:
    """Return a tensor of an array's bytes, from the lowest address to the highest."""
    low, high = np.lib.array_utils.byte_bounds(array)
    return memory.from_numpy(memory.placed(array, low, (high - low,), (1,), "|u1"), read_only=True)


def tensor_over(array: np.ndarray, origin: Tensor) -> Tensor:
    """Return a tensor for an array that `is_described` and lies in the memory of ``origin``: if possible a view."""
    size, dtype = array.itemsize, to_torch[array.dtype]
    storage = origin.untyped_storage()
    start, rest = divmod(_address(array) - storage.data_ptr(), size) if array.size else (0, 0)
    strides = [abs(step) // size for step in array.strides]
    if origin.dtype is dtype:
        return origin.as_strided(array.shape, strides, start)
    if rest:
        return memory.from_numpy(array, read_only=True)
    return torch.empty(0, dtype=dtype).set_(storage, start, array.shape, strides)


def is_within(array: np.ndarray, origin: Tensor) -> bool:
    """Whether all of an array lies inside the memory of a tensor."""
    storage = origin.untyped_storage()
    low, high = np.lib.array_utils.byte_bounds(array)
    return not array.size or storage.data_ptr() <= low <= high <= storage.data_ptr() + storage.nbytes()


def forwards(array: np.ndarray, origin: Tensor) -> Tensor:
    """Return a tensor of an array's elements in the memory of ``origin``, with axes of negative steps reversed.

    If no tensor can describe the elements either, the result has their bytes along a further axis.
    """
    key: Any = (*[slice(None, None, -1 if step < 0 else 1) for step in array.strides], ...)
    ahead = array[key]
    if is_described(ahead):
        return tensor_over(ahead, origin)
    storage = origin.untyped_storage()
    octets = torch.empty(0, dtype=torch.uint8)
    shape, strides = (*ahead.shape, ahead.itemsize), (*ahead.strides, 1)
    return octets.set_(storage, _address(ahead) - storage.data_ptr(), shape, strides)


def copy_of(array: np.ndarray, ahead: Tensor) -> Tensor:
    """Return a copy of an array's values, in its memory order; traces and derivatives record the copy.

    ``ahead`` is the array's `forwards`.
    """
    if are_had() and not has_gradient(ahead):
        return memory.from_numpy(array.copy("K"))
    return turned(memory.with_history(ahead), flips_of(array), to_torch[array.dtype])


def turned(ahead: Tensor, flips: tuple[int, ...], dtype: torch.dtype) -> Tensor:
    """Return a copy of an array's values, computed from its `forwards`."""
    values = flip(ahead, flips)
    return values if values.dtype is dtype else values.contiguous().view(dtype)[..., 0]


def write(array: np.ndarray, ahead: Tensor, values: Tensor) -> None:
    """Write a tensor of an array's shape and dtype to the array, whose `forwards` is ``ahead``."""
    if are_had() and not (values.requires_grad or has_gradient(ahead)):
        array[...] = memory.to_numpy(values)
        torch.autograd.graph.increment_version(ahead)
        return
    if ahead.dim() > array.ndim:
        values = values[..., None].contiguous().view(torch.uint8)
    memory.with_history(ahead).copy_(flip(values, flips_of(array)))


def has_gradient(tensor: Tensor) -> bool:
    """Whether a value with a gradient was written to the memory of a tensor."""
    return (tensor if tensor._base is None else tensor._base).requires_grad


def flips_of(array: np.ndarray) -> tuple[int, ...]:
    """Return the axes with negative steps."""
    return tuple([axis for axis, step in enumerate(array.strides) if step < 0])


def same_view(layout: memory.Layout, copy: Tensor, array: np.ndarray) -> np.ndarray | None:
    """Return the view of an array that lies in it as a layout lies in its copy; None if no strides describe it."""
    size, strides = copy.itemsize, np.asarray(layout.strides) * layout.dtype.itemsize
    axes = sorted([axis for axis in range(copy.dim()) if copy.shape[axis] > 1], key=copy.stride, reverse=True)

    def place(offset: Any) -> Any:
        element, within = np.divmod(offset, size)
        for axis in axes:
            index, element = np.divmod(element, copy.stride(axis))
            within = within + index * array.strides[axis]
        return within

    start = layout.offset * layout.dtype.itemsize
    first = int(place(start))
    along = zip(strides, layout.shape, strict=True)
    steps = tuple([int(place(start + n)) - first if length > 1 else int(n) for n, length in along])
    indices = np.ogrid[tuple([slice(length) for length in layout.shape])]
    offsets = sum([index * n for index, n in zip(indices, strides, strict=True)], start=start)
    expected = sum([index * n for index, n in zip(indices, steps, strict=True)], start=first)
    if not np.array_equal(place(offsets), expected):
        return None
    dtype = to_numpy[layout.dtype]
    typestr = dtype.str if dtype.isbuiltin == 1 else f"|V{dtype.itemsize}"
    return memory.placed(array, _address(array) + first, layout.shape, steps, typestr).view(dtype)


def placed_in(array: np.ndarray, copy: Tensor, layout: memory.Layout) -> np.ndarray:
    """Return the view of an array that lies in it as a layout lies in the array's copy."""
    view = same_view(layout, copy, array)
    if view is None:
        raise ValueError("no strides describe this view of a view that is selected anew at each read: copy it before")
    return view


def _address(array: np.ndarray) -> int:
    address: int = array.__array_interface__["data"][0]
    return address
