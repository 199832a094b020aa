"""Histograms: in which bin a value lies, and how many, or how much weight, lie in each.

Layer: owns counting; edges and their checks are the caller's.
"""

from __future__ import annotations

import torch

from backend_torch.kernels import host, sorting
from backend_torch.tensors import out_of_memory
from backend_torch.tensors.casting import cast
from backend_torch.tensors.memory import is_readable

Tensor = torch.Tensor
# Values are looked up in blocks: their indices take more memory than they do.
BLOCK = 1 << 20
SORTED = 1 << 16


def bins(values: Tensor, edges: Tensor) -> Tensor:
    """The bin of each value, of the dtype of the edges: 0 before the first bin, one more than their number after it.

    As in NumPy a bin holds its lower edge, and the last one its upper edge too. NaN comes after all bins, and
    the upper edge behind edges of NaN is -1.
    """
    places = sorting.searchsorted(edges, values, right=True)
    return places - (values == edges[-1]).to(places.dtype)


def counted(indices: Tensor, weights: Tensor | None, size: int) -> Tensor:
    """How often each index below ``size`` occurs, as int64, or the sum of its weights, in their dtype.

    ``torch.bincount`` has no gradient, takes no complex weights and can't be traced.

    Raises
    ------
    MemoryError
        There is not as much memory.
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
        if indices.is_cpu or not torch.are_deterministic_algorithms_enabled():  # CUDA's adds up in any order
            return torch.bincount(indices, weights, minlength=size)
    return torch.zeros(size, dtype=weights.dtype, device=indices.device).index_add(0, indices, weights)


def histogram(values: Tensor, edges: Tensor, weights: Tensor | None, common: torch.dtype) -> Tensor:
    """How many values, or how much weight, lie between the edges; looked up in a common dtype, weights as they are."""
    edges = cast(edges, common)
    if weights is None and len(edges) <= len(values) and host.computes(values):
        return _between(values, edges, common)
    if not len(edges):
        return values.new_zeros(0, dtype=torch.int64 if weights is None else weights.dtype)
    size = len(edges) + 1
    total: Tensor | None = None
    for start in range(0, max(len(values), 1), BLOCK):
        indices = bins(cast(values[start : start + BLOCK], common), edges).clamp(min=0)
        block = counted(indices, None if weights is None else weights[start : start + BLOCK], size)
        total = block if total is None else total + block
    assert total is not None
    return total[1:-1]


def _between(values: Tensor, edges: Tensor, common: torch.dtype) -> Tensor:
    """`histogram` by the places of the edges among sorted values: NumPy's sort takes less time than looking each up."""
    places = torch.zeros(len(edges), dtype=torch.int64)
    for start in range(0, len(values), SORTED):
        line = sorting.sort(cast(values[start : start + SORTED], common), 0)
        places[:-1] += sorting.searchsorted(line, edges[:-1], right=False)
        places[-1:] += sorting.searchsorted(line, edges[-1:], right=True)
    return places.diff()


def smallest(tensor: Tensor) -> int:
    """The smallest element of an integer tensor that has some."""
    return int(tensor.min())


def largest(tensor: Tensor) -> int:
    """The largest element of an integer tensor that has some."""
    return int(tensor.max())


def direction(line: Tensor) -> int:
    """1 if a 1-d tensor never decreases, or has no values, -1 if it never increases, 0 otherwise."""
    if line.is_meta:
        return 1
    earlier, later = line[:-1], line[1:]
    if bool((earlier <= later).all()):
        return 1
    return -1 if bool((earlier >= later).all()) else 0
