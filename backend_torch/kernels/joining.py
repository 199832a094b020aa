"""Joining, splitting and tiling of tensors.

Layer: owns the memory order of what is joined and the dtypes that torch cannot select from; dtypes and axes come
decided.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np
import torch

from backend_torch.tensors.dtypes import SIGNED
from backend_torch.tensors.memory import from_numpy, owned
from backend_torch.tensors.out_of_memory import explained, explaining
from backend_torch.tensors.shape import common_axes, has_sizes, inverse

Tensor = torch.Tensor


def concatenate(tensors: Sequence[Tensor], axis: int) -> Tensor:
    """Concatenate tensors of one dtype and rank along ``axis``, in the order in memory of the axes of all of them."""
    if not tensors[0].is_contiguous() and all(map(has_sizes, tensors)):
        axes = common_axes(tensors)
        joined = torch.cat([tensor.permute(axes) for tensor in tensors], axes.index(axis))
        return owned(joined.permute(inverse(axes)))
    return torch.cat(tensors, axis)  # type: ignore[arg-type]  # any sequence will do


def select(tensor: Tensor, indices: np.ndarray | Tensor, axis: int) -> Tensor:
    """Return the slices of ``axis`` at a vector of non-negative indices, int32 or int64."""
    if isinstance(indices, np.ndarray):
        indices = from_numpy(indices)
    indices = indices.to(tensor.device)
    try:
        if tensor.dtype in SIGNED:  # https://github.com/pytorch/pytorch/issues/58734
            return tensor.view(SIGNED[tensor.dtype]).index_select(axis, indices).view(tensor.dtype)
        return tensor.index_select(axis, indices)
    except RuntimeError as error:
        raise explained(error) from None


def repeat(tensor: Tensor, repeats: int | Tensor, axis: int) -> Tensor:
    """Repeat each slice of ``axis`` ``repeats`` times, or as often as a vector of counts says."""
    if isinstance(repeats, int):
        length = tensor.shape[axis]
        if not length:
            return tensor.clone()  # torch computes the strides of so many elements
        if repeats < 0 or repeats * length > torch.iinfo(torch.int64).max:  # NumPy's product wraps around
            raise ValueError("negative dimensions are not allowed")
        before, after = tensor.shape[: axis + 1], tensor.shape[axis + 1 :]
        each = tensor.unsqueeze(axis + 1).expand(*before, repeats, *after).clone(memory_format=torch.contiguous_format)
        # repeat_interleave returns a view of such a copy, which would then be the array's base.
        return torch.ops.aten._unsafe_view.default(each, (*before[:-1], length * repeats, *after))
    return select(tensor, torch.repeat_interleave(repeats), axis)


def tile(tensor: Tensor, repeats: tuple[int, ...]) -> Tensor:
    """Tile the tensor ``repeats`` times along each of its axes; a copy."""
    return tensor.repeat(repeats)


def insert(tensor: Tensor, values: Tensor, order: np.ndarray, axis: int) -> Tensor:
    """Join ``tensor`` and ``values`` along ``axis``, and select in ``order``."""
    return select(torch.cat((tensor, values), axis), order, axis)


@explaining
def insert_few(tensor: Tensor, values: Tensor, places: Sequence[int], axis: int) -> Tensor:
    """Insert one slice of ``values`` before each of these places of ``axis``, or all before a single place."""
    order = sorted(range(len(places)), key=places.__getitem__)
    bounds = [0, *[places[index] for index in order], tensor.shape[axis]]
    parts = [tensor.narrow(axis, low, high - low) for low, high in itertools.pairwise(bounds)]
    for number, index in reversed(list(enumerate(order, 1))):
        parts.insert(number, values if len(order) == 1 else values.narrow(axis, index, 1))
    return torch.cat(parts, axis)


def slices(tensor: Tensor, bounds: Sequence[int | None], axis: int) -> list[Tensor]:
    """Return views of ``axis`` between neighbouring bounds, which follow Python's slicing rules; None is an end."""
    before = (slice(None),) * axis
    return [tensor[(*before, slice(low, high))] for low, high in itertools.pairwise(bounds)]


def occupied(tensor: Tensor, axis: int) -> tuple[int, int] | None:
    """Return the first and last slice of ``axis`` with an element that is not zero; None if there is none."""
    others = tuple([other for other in range(tensor.dim()) if other != axis])
    filled = tensor.to(torch.bool)
    places = torch.nonzero(filled.any(others) if others else filled)
    return (int(places[0]), int(places[-1])) if len(places) else None
