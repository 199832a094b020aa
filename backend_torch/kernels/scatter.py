"""Scatter: an operation applied in place at positions that may repeat; each repetition acts on the previous result.

Layer: owns the handling of repeated positions without a Python loop over elements. Positions are flat, in C order, and
within bounds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import torch

from backend_torch.autodiff import transform_levels
from backend_torch.kernels import host, indexing, masking
from backend_torch.kernels.indexing import Plan, on_bits, put_, same_width
from backend_torch.kernels.reductions import segment_fold
from backend_torch.tensors import trace_state
from backend_torch.tensors.casting import cast
from backend_torch.tensors.dtypes import SIGNED
from backend_torch.tensors.memory import may_overlap
from backend_torch.torch_private.functorch import is_transforming

Tensor = torch.Tensor


def positions(target: Tensor, plan: Plan) -> Tensor:
    """Return the flat position of each element that ``plan`` selects, in the shape of the selection."""
    if target.dim() == len(plan.arrays) == 1 and not plan.flips and plan.arrays[0].dtype is not torch.bool:
        (array,) = plan.arrays
        array = array.to(target.device)
        if target[plan.view].shape == target.shape:
            found = indexing.from_start(array, target.shape[0])
            # A sum instead of a clone: under vmap a clone would exist for each slice, and be unknown.
            return found + 0 if found is array and may_overlap(array, target) else found
    if not target.dim():
        return torch.zeros(indexing.shape(target, plan), dtype=torch.int64, device=target.device)
    result: Any = 0
    for dim, size in enumerate(target.shape):
        # An element's place along this axis; indexed like the target, but with memory for this axis only.
        along = torch.arange(size, device=target.device).reshape(-1, *[1] * (target.dim() - dim - 1))
        result = result * size + indexing.get(along.expand(target.shape), plan)
    return result


def add(target: Tensor, where: Tensor, values: Tensor) -> None:
    """``target[where] += values`` for numbers of the target's dtype, in one pass."""
    if values.dim() and may_overlap(target, values):
        values = values.clone()
    values = values.to(target.device).expand(where.shape)
    put_(same_width(_elements(target)), _indices(target, where), same_width(values), accumulate=True)


_INDEXED = frozenset(["add", "divide", "floor_divide", "fmax", "fmin", "maximum", "minimum", "multiply", "subtract"])
"""The ufuncs of which NumPy has a loop for ``at`` of vectors; it takes a third of the time of torch's index_put."""


def by_numpy(ufunc: np.ufunc, target: Tensor, index: Tensor, values: Tensor, report: host.Report | None = None) -> bool:
    """Run NumPy's ``ufunc.at`` in tensors' memory, with values of the target's dtype; return whether it could.

    The tensors are small, or NumPy has a loop for them (`_INDEXED`). It calls ``report`` for floating-point errors.
    """
    has_loop = ufunc.__name__ in _INDEXED and target.dim() == index.dim() == 1 and index.dtype is torch.int64
    given = host.to_write(target, index, values, most=None if has_loop else host.FEW)
    if given is None or any(np.may_share_memory(given[0], other) for other in given[1:]):
        return False
    with host.errors_to(report):
        ufunc.at(*given)
    return True


def in_order(ufunc: np.ufunc, target: Tensor, where: Tensor, values: Tensor, report: host.Report | None = None) -> bool:
    """`by_numpy` at flat positions of tensors of any size; the target's memory is not among the others'.

    It serves operations that `folded` would round in another order, or overflow: 0 * (1e200 * 1e200).
    """
    given = host.to_write(target, where, values, bfloat16=True)
    if given is None:
        return False
    array, positions, operand = given
    if not array.ndim:
        array = array.reshape(1)
    with host.errors_to(report):
        ufunc.at(array, np.unravel_index(positions, array.shape), operand)
    return True


def negated(values: Tensor) -> Tensor:
    """Return ``-values``; unsigned integers wrap around."""
    signed = SIGNED.get(values.dtype)
    return -values if signed is None else (-values.view(signed)).view(values.dtype)


def folded(
    function: Callable[[Tensor, Tensor], Tensor],
    fold: Callable[[Tensor, Tensor], Tensor],
    target: Tensor,
    where: Tensor,
    values: Tensor,
) -> None:
    """``target[where] = function(target[where], values)`` after values of one position are combined by ``fold``.

    For an operation where ``f(f(x, a), b)`` is ``f(x, fold(a, b))``: each position is written once.
    """
    flat = where.reshape(-1)
    if not flat.numel():
        return
    if trace_state.is_batching():
        in_turn(function, target, where, values)
        return
    ordered, order = torch.sort(flat, stable=True)
    (starts,) = torch.nonzero(_first_of_run(ordered), as_tuple=True)
    values = _select(values.to(target.device).expand(where.shape).reshape(-1), order)
    _apply(function, target, ordered[starts], segment_fold(fold, values, starts, 0, True))


REDUCED = {"multiply": "prod", "maximum": "amax", "minimum": "amin"}
"""Name of a ufunc -> torch's name of the reduction that combines values at positions without known values."""


def reduced(name: str, target: Tensor, where: Tensor, values: Tensor) -> bool:
    """`folded` for positions that differ among the slices of a batch or are traced; return whether they do."""
    if name not in REDUCED or target.dtype in SIGNED or not masking.is_unknown(where):
        return False
    values = values.to(target.device).expand(where.shape).reshape(-1)
    flat, where = target.reshape(-1), where.reshape(-1)
    if name == "multiply" and is_transforming():
        result = flat * _products(where, values, flat.shape[0])
    else:
        result = flat.scatter_reduce(0, where, values, REDUCED[name])
    target.copy_(result.reshape(target.shape))
    return True


def _products(where: Tensor, values: Tensor, size: int) -> Tensor:
    """Return the product of the values at each of so many positions, in log2(n) passes over all values.

    The derivatives of torch's ``scatter_reduce`` of products need values, and are zero in forward mode (torch 2.13).
    """
    ordered, order = torch.sort(where, stable=True)
    values = values[order]
    step = 1
    while step < values.shape[0]:
        of_same = ordered[step:] == ordered[:-step]
        values = torch.cat([values[:step], torch.where(of_same, values[:-step] * values[step:], values[step:])])
        step *= 2
    is_last = torch.cat([ordered[1:] != ordered[:-1], ordered.new_ones(ordered[:1].shape, dtype=torch.bool)])
    none = torch.zeros_like(values).neg()  # adding -0.0 keeps the other number, of either sign
    products = none.new_zeros(size).neg().index_put((ordered,), torch.where(is_last, values, none), accumulate=True)
    is_written = is_last.new_zeros(size).index_put((ordered,), torch.ones_like(is_last))
    return torch.where(is_written, products, products.new_ones(()))


def in_turn(function: Callable[..., Tensor], target: Tensor, where: Tensor, *values: Tensor) -> None:
    """``target[where] = function(target[where], *values)``; a repeated position takes one value after the other.

    One round writes the first occurrences of all positions, the next round the second ones, and so on.
    """
    operands = [value.to(target.device).expand(where.shape).reshape(-1) for value in values]
    operands = [operand.clone() if may_overlap(target, operand) else operand for operand in operands]
    flat = where.reshape(-1)
    for chosen in _rounds(flat):
        _apply(function, target, flat[chosen], *[_select(operand, chosen) for operand in operands])


def _apply(function: Callable[..., Tensor], target: Tensor, where: Tensor, *values: Tensor) -> None:
    # Not torch.take, which keeps the whole target for its gradient, although the target is about to change.
    indices, elements = _indices(target, where), _elements(target)
    result = function(on_bits(torch.Tensor.__getitem__, elements, indices), *values)
    put_(same_width(elements), indices, same_width(cast(result, target.dtype)))


def _elements(target: Tensor) -> Tensor:
    """Return the target, with an axis to index if it is 0-d."""
    return target if target.dim() else target.unsqueeze(0)


def _indices(target: Tensor, where: Tensor) -> tuple[Tensor, ...]:
    """Convert flat positions to an index array for each axis of ``_elements(target)``."""
    return torch.unravel_index(where, target.shape) if target.dim() > 1 else (where,)


def _select(values: Tensor, chosen: Tensor) -> Tensor:
    return on_bits(torch.index_select, values, 0, chosen.to(values.device))


def _first_of_run(ordered: Tensor) -> Tensor:
    """Return where a value in an ordered tensor differs from the one before."""
    return torch.cat([ordered.new_ones(1, dtype=torch.bool), ordered[1:] != ordered[:-1]])


def _rounds(flat: Tensor) -> Iterator[Tensor]:
    """Return the rank of each element among those of its value: first, second, and so on."""
    if not flat.numel():
        return
    if trace_state.is_batching() or is_transforming():  # torch can't compute ranks here, but the positions are known
        yield from map(torch.from_numpy, _known_rounds(transform_levels.values(flat)))
        return
    ordered, order = torch.sort(flat, stable=True)
    count = torch.arange(len(flat), device=flat.device)
    start = torch.where(_first_of_run(ordered), count, 0).cummax(0).values
    rank = count - start
    by_rank = order[torch.argsort(rank, stable=True)]
    yield from by_rank.split(torch.bincount(rank).tolist())


def _known_rounds(flat: np.ndarray) -> list[np.ndarray]:
    rank = np.empty_like(flat)
    rank[np.argsort(flat, kind="stable")] = np.arange(flat.size)
    rank -= np.sort(flat).searchsorted(flat)
    return [np.flatnonzero(rank == each) for each in range(rank.max() + 1)]
