"""Shapes and memory orders: the same elements under other axes.

Layer: owns which tensor is a view and which a copy, and how Fortran order is spelled in strides; axes and shapes come
normalised.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch

from backend_torch.tensors import out_of_memory
from backend_torch.tensors.dtypes import SIGNED
from backend_torch.tensors.memory import in_order, is_fortran, owned, reversed_axes, sliced

Tensor = torch.Tensor


def has_sizes(tensor: Tensor) -> bool:
    """Whether no size of a trace's tensor is open."""
    return all(isinstance(size, int) for size in tensor.shape)


def memory_axes(tensor: Tensor) -> tuple[int, ...]:
    """Return the axes from the slowest to the fastest in memory: NumPy's order "K", where stride 0 is the fastest."""
    return tuple(sorted(range(tensor.dim()), key=tensor.stride().__getitem__, reverse=True))


def iterated_axes(tensor: Tensor) -> tuple[int, ...]:
    """Return the axes as `memory_axes`, but where some have stride 0 or length 1 as NumPy's iterator sorts them."""
    return iterated([[0 if n == 1 else stride for n, stride in zip(tensor.shape, tensor.stride(), strict=True)]])


def iterated(strides: Sequence[Sequence[int]]) -> tuple[int, ...]:
    """Return the axes from the slowest to the fastest, as NumPy's iterator sorts them by the strides of each operand.

    It inserts axis after axis. A stride of 0 compares with none, so the order depends on who comes first.
    """
    found: list[int] = []
    for axis in reversed(range(len(strides[0]))):
        position = len(found)
        for place in reversed(range(len(found))):
            pairs = [(each[axis], each[found[place]]) for each in strides if each[axis] and each[found[place]]]
            if any(other <= stride for stride, other in pairs):
                break
            position = place if pairs else position
        found.insert(position, axis)
    return tuple(found[::-1])


def common_axes(tensors: Sequence[Tensor]) -> tuple[int, ...]:
    """Return the axes of tensors of one rank, the slowest first; of two orders that disagree, C order."""
    axes: list[int] = []
    for axis in range(tensors[0].dim()):
        position = axis
        for place in range(axis - 1, -1, -1):
            other = axes[place]
            told = [each.stride() for each in tensors if each.shape[axis] != 1 != each.shape[other]]
            if told and any(strides[axis] <= strides[other] for strides in told):
                break
            position = place if told else position
        axes.insert(position, axis)
    return tuple(axes)


def inverse(axes: Sequence[int]) -> tuple[int, ...]:
    """Return the inverse permutation of ``axes``."""
    places = [0] * len(axes)
    for place, axis in enumerate(axes):
        places[axis] = place
    return tuple(places)


def laid_out(tensor: Tensor, axes: tuple[int, ...]) -> Tensor:
    """Return the values without gaps, in memory from the slowest of these axes to the fastest."""
    if all(map(int.__eq__, axes, range(len(axes)))):
        return in_order(tensor, "C")
    return owned(in_order(tensor.permute(axes), "C").permute(inverse(axes)))


def laid_out_as(tensor: Tensor, source: Tensor) -> Tensor:
    """Return the values without gaps, in the order in which NumPy's iterator sorts the axes of ``source``, as many."""
    if source.is_contiguous():
        return in_order(tensor, "C")
    return laid_out(tensor, iterated_axes(source)) if has_sizes(source) else tensor


def effective_order(tensor: Tensor, order: str) -> str:
    """Return order "C" or "F"; "A" means "F" for a tensor in Fortran order and "C" for all others."""
    if order == "A":
        return "F" if is_fortran(tensor) else "C"
    return order


def reshape(tensor: Tensor, shape: tuple[int, ...], order: str) -> Tensor:
    """Return the elements, read and laid out in ``order``, in another shape: a view where strides allow."""
    if order != "C" and effective_order(tensor, order) == "F":
        return reversed_axes(reversed_axes(tensor).reshape(shape[::-1]))
    return tensor.reshape(shape)


def reshape_view(tensor: Tensor, shape: tuple[int, ...], order: str) -> Tensor:
    """Reshape without a copy; RuntimeError if `reshape` would copy."""
    if effective_order(tensor, order) == "F":
        return reversed_axes(reversed_axes(tensor.squeeze()).view(shape[::-1]))
    return tensor.squeeze().view(shape)  # a trace merges axes beside an axis of length one


def ravel(tensor: Tensor, order: str) -> Tensor:
    """Return the elements in ``order`` as one contiguous axis: a view if the memory is contiguous in that order."""
    if order == "K":
        tensor = tensor.permute(iterated_axes(tensor))
    elif effective_order(tensor, order) == "F":
        tensor = reversed_axes(tensor)
    try:
        return tensor.reshape(-1).contiguous()  # in this order a copy is a tensor of its own, and no view of one
    except RuntimeError as error:
        raise out_of_memory.explained(error) from None


def flip(tensor: Tensor, axes: tuple[int, ...]) -> Tensor:
    """Reverse the elements along ``axes``; a copy, as torch has no negative strides."""
    try:
        if tensor.dtype in SIGNED:  # https://github.com/pytorch/pytorch/issues/58734
            return tensor.view(SIGNED[tensor.dtype]).flip(axes).view(tensor.dtype)
        return tensor.flip(axes)
    except RuntimeError as error:
        raise out_of_memory.explained(error) from None


def rot90(tensor: Tensor, turns: int, axis: int, other: int) -> Tensor:
    """Rotate ``turns`` times by a right angle, from ``axis`` towards ``other``."""
    turns %= 4
    if turns == 0:
        return sliced(tensor, (...,))
    if turns == 2:
        return flip(tensor, (axis, other))
    if turns == 1:
        return flip(tensor, (other,)).transpose(axis, other)
    return flip(tensor.transpose(axis, other), (other,))


def roll(tensor: Tensor, shifts: tuple[int, ...], axes: tuple[int, ...]) -> Tensor:
    """Shift the elements along ``axes``; those that leave one end return at the other."""
    return _rolled(tensor, shifts, axes) if axes else tensor.clone()


@out_of_memory.explaining
def roll_flat(tensor: Tensor, shift: int) -> Tensor:
    """Shift the elements in C order, across axes."""
    return _rolled(tensor.reshape(-1), (shift,), (0,)).reshape(tensor.shape)


def _rolled(tensor: Tensor, shifts: tuple[int, ...], axes: tuple[int, ...]) -> Tensor:
    """Call torch.roll, which on CUDA has no kernel for uint16, uint32 and uint64."""
    if tensor.dtype in SIGNED:
        return _rolled(tensor.view(SIGNED[tensor.dtype]), shifts, axes).view(tensor.dtype)
    if tensor.is_contiguous() or not has_sizes(tensor):
        return tensor.roll(shifts, axes)
    order = memory_axes(tensor)  # which the result keeps
    places = inverse(order)
    return owned(tensor.permute(order).roll(shifts, [places[axis] for axis in axes]).permute(places))


def squeeze(tensor: Tensor, axes: Sequence[int] | None) -> Tensor:
    """Remove ``axes``, which have length one, or all axes of length one; a view."""
    return tensor.squeeze() if axes is None else tensor.squeeze(axes)  # type: ignore[call-overload]


def unsqueeze(tensor: Tensor, axes: Sequence[int]) -> Tensor:
    """Insert axes of length one at these places of the result; a view."""
    for axis in sorted(axes):
        tensor = tensor.unsqueeze(axis)
    return tensor


def broadcast(tensors: Sequence[Tensor]) -> tuple[Tensor, ...]:
    """Broadcast all tensors to their common shape; views."""
    return tuple(torch.broadcast_tensors(*tensors))


@out_of_memory.explaining
def resize(tensor: Tensor, shape: tuple[int, ...], size: int) -> Tensor:
    """Fill ``shape`` with the elements in C order, repeated from the start; with zeros if there are none."""
    flat = tensor.reshape(-1)
    if not flat.numel() or not size:
        return flat.new_zeros(shape)
    return flat.repeat(-(-size // flat.numel()))[:size].view(shape)


def broadcasts(shape: Sequence[int], target: Sequence[int]) -> bool:
    """Whether a tensor of a shape broadcasts to the target shape."""
    lengths = zip(reversed(shape), reversed(target), strict=False)
    return len(shape) <= len(target) and all(n in (1, m) for n, m in lengths)
