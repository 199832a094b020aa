"""Writes to slices whose bounds are values, as in `x[:i] = 0` in a loop of a graph.

Layer: owns one operation of graphs. A loop in C++ visits the slice's own elements; elsewhere all elements are computed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import torch

from backend_torch.kernels import graph_operations, host

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
    return torch.where(inside, value, base).contiguous()


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
OPERATION = torch.ops.tnp.written_slices.default
