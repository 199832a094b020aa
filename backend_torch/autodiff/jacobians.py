"""Jacobians: the derivatives of each element of a result, by passes that run at once in chunks.

Layer: owns the numbering of passes and the assembly of their results, with never more than one chunk in memory beside
the whole. ``autodiff`` runs a pass.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch

from backend_torch.autodiff.autodiff import Function, Pullback, Source, is_recording, jvp, may_be_differentiated
from backend_torch.autodiff.replayed_draws import Draws
from backend_torch.autodiff.transform_levels import gradients_of, not_exported, own
from backend_torch.torch_private import messages
from backend_torch.torch_private.autograd import is_exporting
from backend_torch.torch_private.functorch import is_transforming

Tensor = torch.Tensor


def of_recording(
    target: Tensor, sources: Sequence[Source], shapes: Sequence[torch.Size], chunk_size: int | None, batch: bool
) -> list[Tensor | None]:
    """Return, for each source, the derivatives of the elements of ``target``, or of each slice of a batch."""
    shape = target.shape[1:] if batch else target.shape
    count = shape.numel()
    if not sources or not target.requires_grad:
        return [None] * len(sources)
    again = is_recording() or is_transforming()
    if not count:  # which sources are connected is the same as of elements
        weights = torch.zeros_like(target)
        used = gradients_of((target,), sources, weights, retain_graph=True, create_graph=again, allow_unused=True)
        lengths = [((len(target), *shape, *source[1:]) if batch else (*shape, *source)) for source in shapes]
        return own([g if g is None else g.new_zeros(n) for g, n in zip(used, lengths, strict=True)])

    def parts() -> Iterator[tuple[Tensor | None, ...]]:
        for rows in torch.arange(count, device=target.device).split(chunk_size or count):
            basis = torch.zeros(len(rows), count, dtype=target.dtype, device=target.device)
            basis = basis.index_put((torch.arange(len(rows), device=target.device), rows), basis.new_ones(()))
            basis = basis.reshape((len(rows), *shape))
            if batch:
                basis = basis.unsqueeze(1).expand(len(rows), *target.shape)
            yield _rows(target, sources, basis, again)

    results: list[Tensor | None] = []
    for whole, source in zip(_together(parts(), count), shapes, strict=True):
        if whole is None:
            results.append(None)
        elif batch:
            results.append(whole.movedim(0, 1).reshape(len(target), *shape, *source[1:]))
        else:
            results.append(whole.reshape(shape + source))
    return own(results)


def _rows(target: Tensor, sources: Sequence[Source], weights: Tensor, again: bool) -> tuple[Tensor | None, ...]:
    """Return gradients for several weights, along a new first dimension: at once, but one by one of machine code."""
    used: list[bool] = []

    def gradients(weights: Tensor) -> tuple[Tensor, ...]:
        found = gradients_of((target,), sources, weights, retain_graph=True, create_graph=again, allow_unused=True)
        used[:] = [gradient is not None for gradient in found]
        return tuple([gradient for gradient in found if gradient is not None])

    try:
        # Not by is_grads_batched, whose older vmap knows nothing of the levels of transforms, around or in a rule.
        columns = iter(torch.vmap(gradients, randomness="same")(weights))
    except RuntimeError as error:
        if not messages.says(error, messages.MACHINE_CODE):
            raise
        columns = map(torch.stack, zip(*map(gradients, weights), strict=True))
    return tuple([next(columns) if is_used else None for is_used in used])


def _basis(tensors: Sequence[Tensor], rows: Tensor) -> tuple[Tensor, ...]:
    """Return unit vectors along a new first dimension: ones at the numbered elements of all tensors."""
    parts: list[Tensor] = []
    start = 0
    for tensor in tensors:
        columns = torch.arange(start, start + tensor.numel(), device=tensor.device)
        part = (rows.to(tensor.device)[:, None] == columns).to(tensor.dtype)
        parts.append(part.reshape((rows.shape[0], *tensor.shape)))
        start += tensor.numel()
    return tuple(parts)


def _chunks(total: int, chunk_size: int | None) -> tuple[Tensor, ...]:
    numbers = torch.arange(total)
    return numbers.split(chunk_size) if total and chunk_size else (numbers,)  # torch 2.11 traces no split of nothing


def reverse(
    results: Sequence[Tensor], pullback: Pullback, tensors: Sequence[Tensor], chunk_size: int | None
) -> list[list[Tensor]]:
    """Return the derivatives for each result and each tensor, from the pullback that `vjp` returned."""
    total = sum(result.numel() for result in results)
    columns = _together((pullback.all(_basis(results, rows)) for rows in _chunks(total, chunk_size)), total)
    sizes = [result.numel() for result in results]
    rows = [column.split(sizes) for column in columns]
    return [
        own([rows[k][i].reshape(result.shape + tensor.shape) for k, tensor in enumerate(tensors)])
        for i, result in enumerate(results)
    ]


def forward(
    function: Function, tensors: Sequence[Tensor], count: Callable[[], int], chunk_size: int | None
) -> tuple[tuple[Tensor, ...], list[list[Tensor]]]:
    """Return the results of ``function``, and the derivatives of the first ``count()`` of them for each tensor."""
    if is_exporting():  # torch.func.jvp below torch.vmap: fake tensors fail
        raise not_exported()
    values: tuple[Tensor, ...] = ()
    drawn, total = Draws(), sum(tensor.numel() for tensor in tensors)

    def push(*tangents: Tensor) -> tuple[tuple[Tensor, ...], tuple[Tensor, ...]]:
        return jvp(function, tensors, tangents, count)

    def parts() -> Iterator[tuple[Tensor, ...]]:
        nonlocal values
        for start, rows in enumerate(_chunks(total or 1, chunk_size)):  # without elements one pass gives the results
            with drawn.again() if start else drawn:
                outputs, derivatives = torch.vmap(push, randomness="same")(*_basis(tensors, rows))
            values = tuple([output[0] for output in outputs])  # the same for each tangent
            del outputs
            yield derivatives if total else tuple([derivative[:0] for derivative in derivatives])

    columns = _together(parts(), total, -1)
    sizes = [tensor.numel() for tensor in tensors]
    found = []
    for column in columns:
        shape = column.shape[:-1]
        (column,) = own([column])
        found.append([p.reshape(shape + t.shape) for p, t in zip(column.split(sizes, -1), tensors, strict=True)])
    return values, found


def _together(parts: Iterator[Sequence[Any]], total: int, dim: int = 0) -> list[Any]:
    """Assemble chunks, whose elements are along dimension 0, along ``dim`` one after the other.

    There is never more than one chunk beside the whole. If gradients flow, or in a trace or a transform, torch
    concatenates them instead.
    """
    part: Any = next(parts)
    found = [chunk for chunk in part if chunk is not None]
    if not found or found[0].shape[0] == total:
        return [None if chunk is None else chunk.movedim(0, dim) for chunk in part]
    if any(map(may_be_differentiated, found)):
        columns = zip(part, *parts, strict=True)
        return [None if column[0] is None else torch.cat(column).movedim(0, dim) for column in columns]
    wholes = [None if c is None else c.new_empty(_with(c.shape[1:], total, dim)) for c in part]
    start = 0
    while part is not None:
        length = len(found[0])
        for whole, chunk in zip(wholes, part, strict=True):
            if whole is not None:
                whole.narrow(dim, start, length).copy_(chunk.movedim(0, dim))
        start += length
        part = chunk = None  # freed before the next is computed
        found.clear()
        part = next(parts, None)
        found += [chunk for chunk in part or () if chunk is not None]
    return wholes


def _with(shape: torch.Size, length: int, dim: int) -> tuple[int, ...]:
    """Return a shape with an axis of this length at ``dim``, the first or the last."""
    return (length, *shape) if dim == 0 else (*shape, length)
