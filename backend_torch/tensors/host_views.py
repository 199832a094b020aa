"""Views of CPU memory that no tensor can describe: negative steps, and strides of any number of bytes.

Layer: owns how such a view, which is a NumPy array, becomes tensors: copies for reading, ordinary tensors over the same
memory, and the place in the original's memory that belongs to a view of a copy.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import torch

from backend_torch.tensors import memory, trace_state
from backend_torch.tensors.dtypes import to_numpy, to_torch
from backend_torch.tensors.shape import flip
from backend_torch.torch_private import functorch
from backend_torch.torch_private.autograd import unseen_by_modes
from backend_torch.torch_private.modes import no_dispatch

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
    return may_be_over_numpy() and not trace_state.is_tracing()


def may_be_over_numpy() -> bool:
    """Whether an array may be a view of a NumPy array's memory now: a trace reads it when the graph runs."""
    return not torch.compiler.is_compiling() and functorch.innermost() is None


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


class Turn(NamedTuple):
    """How an array lies in its `forwards`: with this, that alone gives the values, and takes them."""

    flips: tuple[int, ...]
    """The axes with negative steps."""
    dtype: torch.dtype
    is_of_bytes: bool
    """Whether the elements' bytes are along a further axis."""

    @classmethod
    def of(cls, array: np.ndarray) -> Turn:
        """Return how an array lies in its `forwards`."""
        return _turned_forwards(array)[1]

    def get(self, ahead: Tensor) -> Tensor:
        """Return a copy of the array's values."""
        values = flip(ahead, self.flips)
        return values.contiguous().view(self.dtype)[..., 0] if self.is_of_bytes else values

    def put(self, ahead: Tensor, values: Tensor) -> None:
        """Write a tensor of the array's shape and dtype to the array."""
        if self.is_of_bytes:
            values = values[..., None].contiguous().view(torch.uint8)
        memory.with_history(ahead).copy_(flip(values, self.flips))


def forwards(array: np.ndarray, origin: Tensor) -> tuple[Tensor, Turn]:
    """Return a tensor of an array's elements in the memory of ``origin``, with axes of negative steps reversed.

    If no tensor can describe the elements either, it has their bytes along a further axis.
    """
    ahead, turn = _turned_forwards(array)
    if not turn.is_of_bytes:
        return tensor_over(ahead, origin), turn
    storage = origin.untyped_storage()
    octets = torch.empty(0, dtype=torch.uint8)
    shape, strides = (*ahead.shape, ahead.itemsize), (*ahead.strides, 1)
    return octets.set_(storage, _address(ahead) - storage.data_ptr(), shape, strides), turn


def _turned_forwards(array: np.ndarray) -> tuple[np.ndarray, Turn]:
    flips = tuple([axis for axis, step in enumerate(array.strides) if step < 0])
    ahead = np.flip(array, flips) if flips else array
    return ahead, Turn(flips, to_torch[array.dtype], not is_described(ahead))


def read(array: np.ndarray) -> Tensor:
    """Return a copy of a NumPy array's values; a trace notes how to make it, for the values of each run.

    A derivative takes the values from the stand-in of the memory.
    """
    with no_dispatch(), functorch.disabled(), unseen_by_modes():
        ahead, turn = forwards(array if array.dtype.isnative else _octets(array), memory_of(array))
    values = turn.get(ahead)
    if array.dtype.isnative:
        return values
    dtype = to_torch[array.dtype.newbyteorder("=")]
    return values.reshape(*array.shape, array.itemsize).contiguous().view(dtype)[..., 0]


def _octets(array: np.ndarray) -> np.ndarray:
    """Return the bytes of an array, along two further axes, with those of each number in reverse order."""
    size = array.itemsize // (2 if array.dtype.kind == "c" else 1)
    shape, strides = (*array.shape, array.itemsize // size, size), (*array.strides, size, -1)
    return memory.placed(array, _address(array) + size - 1, shape, strides, "|u1")


def copy_of(array: np.ndarray, ahead: Tensor, turn: Turn) -> Tensor:
    """Return a copy of an array's values, in its memory order; traces and derivatives record the copy.

    ``ahead`` is the array's `forwards`, and ``turn`` how it lies there.
    """
    if are_had() and not has_gradient(ahead):
        return memory.from_numpy(array.copy("K"))
    return turn.get(memory.with_history(ahead))


def write(array: np.ndarray, ahead: Tensor, turn: Turn, values: Tensor) -> None:
    """Write a tensor of an array's shape and dtype to the array; ``ahead`` and ``turn`` are its `forwards`."""
    if are_had() and not (values.requires_grad or has_gradient(ahead)):
        array[...] = memory.to_numpy(values)
        torch.autograd.graph.increment_version(ahead)
        return
    turn.put(ahead, values)


def has_gradient(tensor: Tensor) -> bool:
    """Whether a value with a gradient was written to the memory of a tensor."""
    return (tensor if tensor._base is None else tensor._base).requires_grad


def same_view(layout: memory.Layout, copy: Tensor, array: np.ndarray) -> np.ndarray | None:
    """Return the view of an array that lies in it as a layout lies in its copy; None if no strides describe it."""
    if not copy.numel():
        return np.empty(layout.shape, to_numpy[layout.dtype])  # no element lies anywhere
    strides = [step * layout.dtype.itemsize for step in layout.strides]
    axes = sorted([axis for axis in range(copy.dim()) if copy.shape[axis] > 1], key=copy.stride, reverse=True)
    places = [copy.stride(axis) * copy.itemsize for axis in axes], [array.strides[axis] for axis in axes]

    def place(offset: Any) -> Any:
        within = 0
        for step, own in zip(*places, strict=True):
            index, offset = divmod(offset, step)
            within = within + index * own
        return within + offset % copy.itemsize

    start = layout.offset * layout.dtype.itemsize
    first = place(start)
    along = [*zip(strides, layout.shape, strict=True)]
    steps = tuple([place(start + n) - first if length > 1 else n for n, length in along])
    if not _stays_within([*[copy.shape[axis] for axis in axes], copy.itemsize], [*places[0], 1], start, along):
        indices = np.ogrid[tuple([slice(length) for length in layout.shape])]
        offsets = sum([index * n for index, n in zip(indices, strides, strict=True)], start=start)
        expected = sum([index * n for index, n in zip(indices, steps, strict=True)], start=first)
        if not np.array_equal(place(offsets), expected):
            return None
    dtype = to_numpy[layout.dtype]
    typestr = dtype.str if dtype.isbuiltin == 1 else f"|V{dtype.itemsize}"
    return memory.placed(array, _address(array) + first, layout.shape, steps, typestr).view(dtype)


def _stays_within(lengths: list[int], places: list[int], start: int, along: list[tuple[int, int]]) -> bool:
    """Whether the sum of any steps from the start carries from no axis of a copy to another.

    Each number of bytes has digits, the indices along the copy's axes and the byte within an element. Where their sums
    stay below the axes' lengths, a view's strides in the copy are strides in what was copied, and no element needs to
    be looked at.
    """

    def digits(number: int) -> list[int]:
        found = []
        for place in places:
            index, number = divmod(number, place)
            found.append(index)
        return found

    lowest, highest = digits(start), digits(start)
    for step, length in along:
        for i, digit in enumerate(digits(abs(step))):
            reach = digit * (length - 1) * (1 if step > 0 else -1)
            lowest[i] += min(reach, 0)
            highest[i] += max(reach, 0)
    return all(low >= 0 and high < length for low, high, length in zip(lowest, highest, lengths, strict=True))


def outline(array: np.ndarray, strides: tuple[int, ...]) -> Tensor:
    """Return a tensor with strides and an array's shape and dtype, which has no memory."""
    return torch.empty_strided(array.shape, strides, dtype=to_torch[array.dtype], device="meta")


def placed_in(array: np.ndarray, copy: Tensor, layout: memory.Layout) -> np.ndarray:
    """Return the view of an array that lies in it as a layout lies in the array's copy."""
    view = same_view(layout, copy, array)
    if view is None:
        raise ValueError("no strides describe this view of a view that is selected anew at each read: copy it before")
    return view


def _address(array: np.ndarray) -> int:
    address: int = array.__array_interface__["data"][0]
    return address
