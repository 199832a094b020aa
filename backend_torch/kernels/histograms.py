"""Histograms: the bin of each value, and the number or weight of the values in each bin.

Layer: owns counting. The caller checks the edges.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from backend_torch.kernels import graph_operations, host, sorting
from backend_torch.tensors import out_of_memory
from backend_torch.tensors.casting import cast
from backend_torch.tensors.memory import is_readable

Tensor = torch.Tensor
# Values are looked up in blocks, because their indices take more memory than the values.
BLOCK = 1 << 20


def bins(values: Tensor, edges: Tensor) -> Tensor:
    """Return the bin of each value, of the edges' dtype: 0 before the first bin, their number + 1 after the last.

    As in NumPy a bin holds its lower edge, and the last one its upper edge too. NaN comes after all bins, and
    the upper edge behind edges of NaN is -1.
    """
    places = sorting.searchsorted(edges, values, right=True)
    return places - (values == edges[-1]).to(places.dtype)


def counted(indices: Tensor, weights: Tensor | None, size: int) -> Tensor:
    """Count each index below ``size``, as int64, or sum its weights, in their dtype.

    ``torch.bincount`` has no gradient, takes no complex weights and can't be traced.

    Raises
    ------
    MemoryError
        There is not enough memory.
    """
    try:
        return _counted(indices, weights, size)
    except RuntimeError as error:
        raise out_of_memory.explained(error) from None


def _counted(indices: Tensor, weights: Tensor | None, size: int) -> Tensor:
    if weights is None and is_readable(indices):
        return torch.bincount(indices, minlength=size)
    if weights is None:
        weights = torch.ones_like(indices)
    elif weights.dtype is torch.float64 and is_readable(indices) and is_readable(weights) and not weights.requires_grad:
        if indices.is_cpu or not torch.are_deterministic_algorithms_enabled():  # CUDA adds in no fixed order
            return torch.bincount(indices, weights, minlength=size)
    return torch.zeros(size, dtype=weights.dtype, device=indices.device).index_add(0, indices, weights)


def histogram(values: Tensor, edges: Tensor, weights: Tensor | None, common: torch.dtype) -> Tensor:
    """Count the values, or sum the weights, between the edges; values and edges are compared in a common dtype."""
    edges = cast(edges, common)
    if not len(edges):
        return values.new_zeros(0, dtype=torch.int64 if weights is None else weights.dtype)
    if weights is None and host.computes(values):
        return _on_host(values, edges, None, common)
    return _whole(values, edges, weights, common)


def _looked_up(values: Tensor, edges: Tensor, weights: Tensor | None, common: torch.dtype) -> Tensor:
    """`histogram` by the place of each value among the edges."""
    size = len(edges) + 1
    total: Tensor | None = None
    parts = _blocks(values)
    weighings: Sequence[Tensor | None] = [None] * len(parts) if weights is None else _blocks(weights)
    for part, weighing in zip(parts, weighings, strict=True):
        block = counted(bins(cast(part, common), edges).clamp(min=0), weighing, size)
        total = block if total is None else total + block
    assert total is not None
    return total[1:-1]


def _blocks(line: Tensor) -> tuple[Tensor, ...]:
    """Return parts whose indices take little memory; one part, if a trace leaves the size open.

    One part of no elements, too: torch 2.11 can't trace their split.
    """
    return line.split(BLOCK) if type(line.shape[0]) is int and line.shape[0] else (line,)


def _on_host(values: Tensor, edges: Tensor, weights: Tensor | None, common: torch.dtype) -> Tensor:
    if common is torch.bfloat16:  # NumPy has none
        return _looked_up(values, edges, weights, common)
    line, ends = host.array(cast(values, common)), host.array(edges)
    if not (ends[:-1] <= ends[1:]).all():  # NumPy would raise; a check in the graph says what
        return _looked_up(values, edges, weights, common)
    given = None if weights is None else host.array(weights)
    is_exact = given is not None and given.dtype.kind == "i"  # the sums of equal bins are of float64
    if not is_exact and _are_equal(ends):
        counts = np.histogram(line, len(ends) - 1, (ends[0], ends[-1]), weights=given)[0]
    else:
        counts = np.histogram(line, ends, weights=given)[0]
    return host.wrapped(counts)


def _are_equal(edges: Any) -> bool:
    """Whether edges are those of equal bins, in which NumPy finds a value's place without a search."""
    first, last = edges[0], edges[-1]
    if edges.dtype.kind != "f" or not (first < last and np.isfinite(last - first)):
        return False
    return np.array_equal(edges, np.linspace(first, last, len(edges), dtype=edges.dtype))


_whole = graph_operations.operation(
    "histogram(Tensor values, Tensor edges, Tensor? weights, ScalarType common) -> Tensor", _on_host, _looked_up
)
HISTOGRAM = torch.ops.tnp.histogram


def smallest(tensor: Tensor) -> int:
    """Return the smallest element of an integer tensor that is not empty."""
    return int(tensor.min())


def largest(tensor: Tensor) -> int:
    """Return the largest element of an integer tensor that is not empty."""
    return int(tensor.max())


def direction(line: Tensor) -> int:
    """Return 1 if a 1-d tensor never decreases or is empty, -1 if it never increases, else 0."""
    if line.is_meta:
        return 1
    earlier, later = line[:-1], line[1:]
    if bool((earlier <= later).all()):
        return 1
    return -1 if bool((earlier >= later).all()) else 0
