"""Slices whose bounds are values, as in `x[:i] = 0` in a loop of a graph: writes, products, and what is summed of them.

Layer: owns three operations of graphs. A loop in C++ visits the slice's own elements; elsewhere all are computed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import torch

from backend_torch.kernels import graph_operations, host
from backend_torch.kernels.selection import where

Tensor = torch.Tensor
FIRST, ANY = 0, 2
"""Kinds of slices beside steps of 1 and -1: from the first element on, and of any step."""


class Places(NamedTuple):
    """The places of a slice on an axis, which are all on it: scalars of int64."""

    start: Tensor
    step: Tensor
    length: Tensor
    axis: int
    kind: int  # 1 and -1: the step; FIRST: the start is 0 and the step 1


def written(base: Tensor, value: Tensor, places: Sequence[Places]) -> Tensor:
    """Return a copy of a tensor in which slices hold a value.

    The value has the tensor's dtype, and its axes are the last ones of the tensor. Along a slice it has one element,
    or the first elements count.
    """
    return _written(base, value, *map(list, zip(*places, strict=True)))


def _by_steps(base: Tensor, value: Tensor, *fields: Sequence[Any]) -> Tensor:
    """Compute it for all elements; each field of `Places` is a list."""
    inside = None
    for start, step, length, axis, kind in zip(*fields, strict=True):
        size, own = base.shape[axis], axis - base.ndim + value.ndim
        number = torch.arange(size, device=base.device)
        within = None
        if kind != FIRST:
            apart = number - start
            number = apart * kind if kind != ANY else torch.div(apart, step, rounding_mode="floor")
            within = number >= 0 if kind != ANY else (number >= 0) & (number * step == apart)
        within = number < length if within is None else within & (number < length)
        if own >= 0 and value.shape[own] != 1 and not (kind == FIRST and value.shape[own] == size):
            value = value.index_select(own, number.clamp(0, value.shape[own] - 1))
        within = within.reshape((-1,) + (1,) * (base.ndim - axis - 1))
        inside = within if inside is None else inside & within
    assert inside is not None
    return where(inside, value, base).contiguous()


def _on_host(base: Tensor, value: Tensor, *fields: Sequence[Any]) -> Tensor:
    if base.dtype is torch.bfloat16:  # NumPy has none
        return _by_steps(base, value, *fields)
    result = base.clone(memory_format=torch.contiguous_format)
    target, given = host.array(result), host.array(value)
    key, taken = [slice(None)] * base.ndim, [slice(None)] * value.ndim
    for *numbers, axis, _ in zip(*fields, strict=True):
        start, step, length = map(int, numbers)
        if not length:
            return result
        stop = start + step * length
        key[axis] = slice(start, stop if stop >= 0 else None, step)
        own = axis - base.ndim + value.ndim
        if own >= 0 and value.shape[own] != 1:
            taken[own] = slice(length)
    target[tuple(key)] = given[tuple(taken)]
    return result


_written = graph_operations.operation(
    "written_slices(Tensor base, Tensor value, Tensor[] starts, Tensor[] steps, Tensor[] lengths, int[] axes, "
    "int[] kinds) -> Tensor",
    _on_host,
    _by_steps,
)
WRITTEN = torch.ops.tnp.written_slices.default


def padded(values: Tensor, lengths: Sequence[Tensor], axes: Sequence[int], fill: Tensor) -> Tensor:
    """Return a tensor in which ``fill``, of its dtype, is behind the first elements of some axes."""
    return _padded(values, list(lengths), list(axes), fill)


def _padded_by_steps(values: Tensor, lengths: Sequence[Tensor], axes: Sequence[int], fill: Tensor) -> Tensor:
    for length, axis in zip(lengths, axes, strict=True):
        inside = torch.arange(values.shape[axis], device=values.device) < length
        values = where(inside.reshape((-1,) + (1,) * (values.ndim - axis - 1)), values, fill)
    return values


_padded = graph_operations.operation(
    "padded_slices(Tensor values, Tensor[] lengths, int[] axes, Tensor fill) -> Tensor",
    _padded_by_steps,
    _padded_by_steps,
)
PADDED = torch.ops.tnp.padded_slices


def product(one: Tensor, other: Tensor, starts: Sequence[Tensor | None], lengths: Sequence[Tensor | None]) -> Tensor:
    """Return the product of parts of two matrices of one dtype, as the first elements of a result of the whole's shape.

    ``starts`` are those of the rows, of the axes that are summed over, one for each matrix, and of the columns;
    ``lengths`` those of rows, summed axes and columns. None: the whole axis. What is not of the product is zero.
    """
    return _product(one, other, list(starts), list(lengths))


def _product_by_steps(one: Tensor, other: Tensor, starts: Sequence[Any], lengths: Sequence[Any]) -> Tensor:
    rows, inner, columns = lengths
    one = _part(_part(one, 0, starts[0], rows), 1, starts[1], inner)
    other = _part(_part(other, 0, starts[2], inner), 1, starts[3], columns)
    size = min(one.shape[1], other.shape[0])
    return one[:, :size] @ other[:size]


def _part(matrix: Tensor, axis: int, start: Tensor | None, length: Tensor | None) -> Tensor:
    size = matrix.shape[axis]
    number = torch.arange(size, device=matrix.device)
    if start is not None:
        matrix = matrix.index_select(axis, (number + start).clamp(0, max(size - 1, 0)))
    if length is None:
        return matrix
    return where((number < length).reshape((-1, 1) if axis == 0 else (1, -1)), matrix, matrix.new_zeros(()))


def _product_on_host(one: Tensor, other: Tensor, starts: Sequence[Any], lengths: Sequence[Any]) -> Tensor:
    if one.dtype is torch.bfloat16:  # NumPy has none
        return _product_by_steps(one, other, starts, lengths)
    result = one.new_zeros((one.shape[0], other.shape[1]))
    sizes = (*one.shape, *other.shape)
    first = [0 if start is None else int(start) for start in starts]
    rows, inner, columns = [None if length is None else int(length) for length in lengths]
    parts = [
        slice(start, size if length is None else start + length)
        for start, size, length in zip(first, sizes, (rows, inner, inner, columns), strict=True)
    ]
    host.array(result)[:rows, :columns] = host.array(one)[*parts[:2]] @ host.array(other)[*parts[2:]]
    return result


_product = graph_operations.operation(
    "product_of_slices(Tensor one, Tensor other, Tensor?[] starts, Tensor?[] lengths) -> Tensor",
    _product_on_host,
    _product_by_steps,
)
PRODUCT = torch.ops.tnp.product_of_slices
