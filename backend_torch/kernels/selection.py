"""Selection of elements by condition, by flat position and by diagonal.

Layer: owns these kernels for every dtype. The caller has checked shapes and bounds.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from backend_torch.autodiff import transform_levels
from backend_torch.kernels import host, indexing
from backend_torch.kernels.indexing import Plan, from_start, has_values, on_bits, places, put, same_width
from backend_torch.kernels.value_checks import INVALID, OUTSIDE, demand, expect
from backend_torch.kernels.writing import write_where
from backend_torch.tensors import memory, trace_state
from backend_torch.tensors.dtypes import SIGNED
from backend_torch.tensors.memory import may_overlap
from backend_torch.tensors.out_of_memory import explaining

Tensor = torch.Tensor


def where(condition: Tensor, one: Tensor, other: Tensor) -> Tensor:
    """Elements of ``one`` where the condition is true, of ``other`` elsewhere; both have the same dtype."""
    if condition.dtype is not torch.bool:
        condition = condition.to(torch.bool)
    if one.dtype in SIGNED:
        return torch.where(condition, same_width(one), same_width(other)).view(one.dtype)
    return torch.where(condition, one, other)


def nonzero(tensor: Tensor) -> tuple[Tensor, ...]:
    """Return the places of the elements that are not zero, as one int64 tensor for each dimension."""
    if tensor.dim() and host.computes(tensor):
        return host.wrapped(host.array(tensor).nonzero())
    return places(same_width(tensor)).unbind(1)


def taken(tensor: Tensor, indices: Tensor, dim: int, mode: str) -> Tensor | None:
    """``numpy.take``, which checks the indices itself; None if NumPy may not compute.

    Raises
    ------
    IndexError
        NumPy's own, for indices that are out of bounds.
    """
    given = host.arrays(indices, tensor)
    return None if given is None else host.wrapped(given[1].take(given[0], dim, mode=mode))  # type: ignore[call-overload]


@explaining
def lower_indices(rows: int, columns: int, k: int, device: torch.device | None) -> tuple[Tensor, ...]:
    """Rows and columns of the elements on and below the ``k``-th diagonal, without a mask."""
    return torch.tril_indices(max(rows, 0), max(columns, 0), k, device=device).unbind()


@explaining
def upper_indices(rows: int, columns: int, k: int, device: torch.device | None) -> tuple[Tensor, ...]:
    """Rows and columns of the elements on and above the ``k``-th diagonal."""
    return torch.triu_indices(max(rows, 0), max(columns, 0), k, device=device).unbind()


def argwhere(tensor: Tensor) -> Tensor:
    """The indices of the elements that are not zero, one a row."""
    if tensor.dim() and host.computes(tensor):
        return host.wrapped(np.argwhere(host.array(tensor)))
    return places(same_width(tensor))


@explaining
def outside(array: Tensor, low: int, high: int, text: str = INVALID) -> int | None:
    """Return an element of an integer array outside of ``[low, high)``; None if there is none, or a graph checks."""
    return indexing.outside(array, low, high, text)


def wrapped(array: Tensor, size: int) -> Tensor:
    """Wrap indices around."""
    return torch.remainder(array, size)


def clipped(array: Tensor, size: int) -> Tensor:
    """Clip indices to the valid ones; negative ones are not counted from the end."""
    return array.clamp(0, size - 1)


def cycled(values: Tensor, length: int, positions: Tensor | None = None) -> Tensor:
    """The elements of one-dimensional ``values`` at ``0, 1, ... length - 1``, or at ``positions``, cyclically."""
    if positions is None:
        if values.shape[0] >= length:
            return values[:length]
        positions = torch.arange(length, device=values.device)
    return on_bits(torch.index_select, values, 0, positions % values.shape[0])


def put_flat(tensor: Tensor, positions: Tensor, values: Tensor) -> None:
    """Write one-dimensional ``values`` at positions in C order, which are within bounds."""
    given = host.to_write(tensor, positions, values, most=host.FEW)
    if given is not None:
        given[0].put(given[1], given[2])
        return
    if tensor.is_contiguous():
        put(tensor.view(-1), Plan((slice(None),), (), (positions,), (0,)), values)
        return
    count = tensor.numel()
    if not has_values(positions) and not (trace_state.is_tracing() and memory.known(positions) is not None):
        demand((positions >= -count) & (positions < count), OUTSIDE)  # the indices computed from them always fit
    positions = from_start(positions, count)
    arrays = unravel(positions, tuple(tensor.shape))
    put(tensor, Plan((slice(None),) * tensor.dim(), (), arrays, tuple(range(tensor.dim()))), values)


def put_cycled(tensor: Tensor, mask: Tensor, values: Tensor) -> None:
    """Write to the true places of a mask of the tensor's size the values at the same places, cyclically."""
    given = host.to_write(tensor, mask, values, most=host.FEW) if mask.dtype is torch.bool else None
    if given is not None:
        np.putmask(*given)
        return
    if values.shape[0] == 1:
        values = values[0]
    else:
        values = cycled(values, tensor.numel()).reshape(tensor.shape)
    copy_where(tensor, mask.reshape(tensor.shape), values)


def place(tensor: Tensor, mask: Tensor, values: Tensor) -> None:
    """Write to the true places of a mask, in C order, one value after the other, cyclically."""
    given = None if may_overlap(tensor, values) else host.to_write(tensor, mask, values)
    if given is not None:
        np.place(*given)
        return
    mask = mask.reshape(tensor.shape)
    if values.shape[0] == 1:
        values = values[0]
    else:
        numbers = torch.cumsum(mask.reshape(-1), 0).sub_(1).clamp_(min=0)
        values = cycled(values, tensor.numel(), numbers).reshape(tensor.shape)
    copy_where(tensor, mask, values)


def copy_where(target: Tensor, mask: Tensor, values: Tensor) -> None:
    """Write ``values``, broadcast, to the places of ``target`` where the mask, broadcast, is true."""
    given = host.to_write(target, values, mask, most=host.FEW) if mask.dtype is torch.bool else None
    if given is not None and not np.may_share_memory(given[0], given[2]):  # NumPy reads the mask while it writes
        np.copyto(given[0], given[1], where=given[2])
        return
    if not write_where(target, mask, values):
        target.copy_(where(mask, values, target))


def along(tensor: Tensor, indices: Tensor, dim: int) -> Tensor:
    """Return the elements that ``indices`` selects along a dimension; the other dimensions match or broadcast."""
    size = tensor.shape[dim]
    if not (has_values(indices) or has_values(transform_levels.constant(indices))):  # torch's wraps repeatedly
        others = tensor.shape[:dim] + tensor.shape[dim + 1 :]
        if 0 not in others:  # else NumPy checks no index
            expect((indices >= -size) & (indices < size), OUTSIDE)
    indices = from_start(indices, size)
    return on_bits(torch.take_along_dim, tensor, indices, dim)


def put_along(tensor: Tensor, indices: Tensor, values: Tensor, dim: int) -> None:
    """Write ``values``, broadcast, to the places that ``indices`` selects along a dimension."""
    if not indices.numel():
        return  # torch's rule for batches refuses to broadcast an empty index
    arrays = [
        indices
        if axis == dim
        else torch.arange(size, device=tensor.device).reshape(-1, *[1] * (tensor.dim() - axis - 1))
        for axis, size in enumerate(tensor.shape)
    ]
    put(tensor, Plan((slice(None),) * tensor.dim(), (), tuple(arrays), tuple(range(tensor.dim()))), values)


@explaining
def choose(indices: Tensor, choices: list[Tensor]) -> Tensor:
    """Return at each place the element of the choice that is numbered there; the shapes broadcast."""
    result = choices[0]
    for number, choice in enumerate(choices[1:], 1):
        result = where(indices == number, choice, result)
    return result if len(choices) > 1 else result.expand(torch.broadcast_shapes(result.shape, indices.shape)).clone()


def unravel(positions: Tensor, shape: tuple[int, ...]) -> tuple[Tensor, ...]:
    """Convert positions in C order to one index array for each dimension."""
    arrays: list[Tensor] = []
    for size in reversed(shape):
        arrays.append(positions % size)
        positions = torch.div(positions, size, rounding_mode="floor")
    return tuple(reversed(arrays))


def ravel(arrays: list[Tensor], shape: tuple[int, ...]) -> Tensor:
    """Convert one index array for each dimension to positions in C order."""
    positions = arrays[0]
    for array, size in zip(arrays[1:], shape[1:], strict=True):
        positions = positions * size + array
    return positions


@explaining
def diagonal_matrix(vector: Tensor, k: int) -> Tensor:
    """A square matrix with ``vector`` on its ``k``-th diagonal and zeros elsewhere."""
    return on_bits(torch.diag_embed, vector, k)


def diagonal(tensor: Tensor, offset: int, dim1: int, dim2: int) -> Tensor:
    """A view of the diagonals, which become the last dimension; empty where the matrix has no such diagonal."""
    return torch.diagonal(tensor, offset, dim1, dim2)


def main_diagonal(tensor: Tensor) -> Tensor:
    """A view of the elements whose indices are all the same."""
    while tensor.dim() > 1:
        tensor = torch.diagonal(tensor, 0, 0, 1).movedim(-1, 0)
    return tensor


@explaining
def numbers(length: int, device: Any) -> Tensor:
    """``0, 1, ... length - 1``."""
    return torch.arange(length, device=device)


@explaining
def triangle(rows: int, columns: int, k: int, dtype: torch.dtype, device: Any) -> Tensor:
    """Ones at and below the ``k``-th diagonal, zeros above."""
    column = torch.arange(columns, device=device)
    return (torch.arange(rows, device=device)[:, None] >= column - k).to(dtype)


def tril(tensor: Tensor, k: int) -> Tensor:
    """The lower triangles of the last two dimensions, zeros above the ``k``-th diagonal."""
    return on_bits(torch.tril, tensor, k)


def triu(tensor: Tensor, k: int) -> Tensor:
    """The upper triangles of the last two dimensions, zeros below the ``k``-th diagonal."""
    return on_bits(torch.triu, tensor, k)
