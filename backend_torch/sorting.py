"""Sorting: values and indices in NumPy's order, NaN last.

Layer: owns which code sorts a dtype on a device; axes and argument checks are the caller's.

On the CPU the values are sorted in place by NumPy, in a tensor's memory: its vectorised sort takes 2.7 ms for 10**6
float32, torch's 85 (https://github.com/pytorch/pytorch/issues/76654). torch sorts on other
devices, where a gradient is recorded, and where there are no values to look at.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch

from backend_torch import memory
from backend_torch.dtypes import SIGNED
from backend_torch.memory import from_numpy, is_readable, to_numpy
from backend_torch.order import has_nan, nan_class, ordered, precedes, restored, reversed_order

Tensor = torch.Tensor
_LONG = 4096  # shorter lines are sorted stably by NumPy in less time than the detour's calls take


def on_host(tensor: Tensor) -> bool:
    """Whether NumPy can sort the tensor: torch's bfloat16 has no NumPy sort worth having."""
    return (
        memory.host_computes
        and tensor.device.type == "cpu"
        and not (tensor.requires_grad and torch.is_grad_enabled())
        and tensor.dtype is not torch.bfloat16
        and not torch.compiler.is_compiling()
        and is_readable(tensor)
    )


def sort(tensor: Tensor, dim: int, stable: bool = False, descending: bool = False) -> Tensor:
    """The values along ``dim`` in ascending or descending order, NaN last in both."""
    if descending:
        return reversed_order(sort(reversed_order(tensor), dim, stable))
    if on_host(tensor):
        result = tensor.clone()
        to_numpy(result).sort(axis=dim, kind="stable" if stable else None)
        return result
    if tensor.is_complex():
        return tensor.gather(dim, argsort(tensor, dim, stable=True))
    return restored(torch.sort(ordered(tensor), dim=dim, stable=stable)[0], tensor.dtype)


def argsort(tensor: Tensor, dim: int, stable: bool = False, descending: bool = False) -> Tensor:
    """The indices that sort the values along ``dim``; equal ones in their order if ``stable``."""
    if descending:
        return argsort(reversed_order(tensor), dim, stable)
    if on_host(tensor):
        array = to_numpy(tensor)
        return from_numpy(_stable_order(array, dim) if stable else array.argsort(axis=dim))
    if tensor.is_complex():
        return lexsort([tensor.imag, tensor.real, nan_class(tensor)], dim)
    return torch.sort(ordered(tensor), dim=dim, stable=stable)[1]


def _stable_order(array: np.ndarray, axis: int) -> np.ndarray:
    """``array.argsort(axis, kind="stable")``, for 10**6 float64 in 36 ms instead of 220.

    NumPy's vectorised sort is not stable: the positions of equal values are sorted after it, all at once, by the
    number of their value and themselves.
    """
    size = array.shape[axis]
    if size < _LONG or array.dtype.kind not in "iuf" or array.dtype.itemsize < 4:
        return array.argsort(axis=axis, kind="stable")
    lines = np.moveaxis(array, axis, -1)
    order = lines.argsort(axis=-1)
    values = np.take_along_axis(lines, order, -1)
    another = (values[..., 1:] != values[..., :-1]) & (values[..., :-1] == values[..., :-1])  # NaN is one value
    if not another.all():
        number = np.zeros(order.shape, np.int64)
        np.cumsum(another, -1, out=number[..., 1:])
        number *= size
        order += number
        order.sort(axis=-1)
        order -= number
    return np.ascontiguousarray(np.moveaxis(order, -1, axis))


def partition(tensor: Tensor, dim: int, kth: Sequence[int]) -> Tensor:
    """The values with those at ``kth`` where a sort puts them, no larger ones before and no smaller ones after."""
    if on_host(tensor):
        result = tensor.clone()
        to_numpy(result).partition(np.asarray(kth, np.intp), axis=dim)
        return result
    return sort(tensor, dim)


def argpartition(tensor: Tensor, dim: int, kth: Sequence[int]) -> Tensor:
    """The indices that partition the values along ``dim``."""
    if on_host(tensor):
        return from_numpy(to_numpy(tensor).argpartition(np.asarray(kth, np.intp), axis=dim))
    return argsort(tensor, dim)


def lexsort(keys: Sequence[Tensor], dim: int) -> Tensor:
    """The indices that sort by the last key, where it is equal by the one before it, and so on."""
    first, *others = keys
    order = argsort(first, dim, stable=True)
    for key in others:
        # uint16, uint32 and uint64 have no gather (https://github.com/pytorch/pytorch/issues/58734).
        order = order.gather(dim, argsort(ordered(key).gather(dim, order), dim, stable=True))
    return order


def searchsorted(line: Tensor, values: Tensor, right: bool, sorter: Tensor | None = None) -> Tensor:
    """Where each value goes in the sorted 1-d tensor, of the same dtype, before or after those equal to it."""
    if sorter is not None:
        line = restored(ordered(line).index_select(0, sorter), line.dtype)
    if line.is_complex() or (has_nan(line.dtype) and len(line) and (not is_readable(line) or bool(line[-1].isnan()))):
        # torch takes a NaN in the line for less than any value (https://github.com/pytorch/pytorch/issues/158738).
        return _bisect(line, values, right)
    return torch.searchsorted(ordered(line).contiguous(), ordered(values).contiguous(), right=right)


def _bisect(line: Tensor, values: Tensor, right: bool) -> Tensor:
    """``searchsorted`` by NumPy's order, whatever the dtype: log2(n) comparisons of all values at once."""
    low = torch.zeros(values.shape, dtype=torch.int64, device=line.device)
    high = torch.full_like(low, len(line))
    for _ in range(len(line).bit_length()):
        middle = (low + high) // 2
        there = line[middle.clamp(max=len(line) - 1)]
        after = ~precedes(values, there) if right else precedes(there, values)
        open_ = low < high
        low = torch.where(open_ & after, middle + 1, low)
        high = torch.where(open_ & ~after, middle, high)
    return low


def median(tensor: Tensor, dim: int, dtype: torch.dtype) -> Tensor:
    """The middle value along ``dim`` or the mean of the two, in float or complex ``dtype``; NaN if there is one.

    The axis holds at least one element.
    """
    size = tensor.shape[dim]
    middle = (size - 1) // 2, size // 2
    sorted_ = partition(tensor, dim, sorted({*middle, size - 1}))
    low, high = (_at(sorted_, dim, index).to(dtype) for index in middle)
    mean = low if size % 2 else torch.mean(torch.stack([low, high]), 0)
    if not has_nan(tensor.dtype):
        return mean
    last = _at(sorted_, dim, size - 1)
    return torch.where(last.isnan(), last, mean)


def nanmedian(tensor: Tensor, dim: int) -> Tensor:
    """The median of the values along ``dim`` that are not NaN; NaN where there is none. Float or complex."""
    sorted_ = sort(tensor, dim)
    count = (~sorted_.isnan()).sum(dim, keepdim=True)
    low = sorted_.gather(dim, ((count - 1) // 2).clamp(min=0))
    high = sorted_.gather(dim, (count // 2).clamp(max=tensor.shape[dim] - 1))
    mean = torch.mean(torch.cat([low, high], dim), dim, keepdim=True)
    return torch.where(count % 2 == 1, low, mean).squeeze(dim)


def _at(tensor: Tensor, dim: int, index: int) -> Tensor:
    signed = SIGNED.get(tensor.dtype)
    return tensor.select(dim, index) if signed is None else tensor.view(signed).select(dim, index).view(tensor.dtype)
