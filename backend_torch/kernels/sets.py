"""Sets: the distinct values or rows of a tensor, and membership in another tensor.

Layer: owns the search for runs of equal values in a sorted tensor, for every dtype and with NaN.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import torch

from backend_torch.kernels import graph_operations, host, sorting
from backend_torch.kernels.order import has_nan, ordered, restored
from backend_torch.tensors import trace_state
from backend_torch.tensors.memory import is_readable
from backend_torch.tensors.out_of_memory import explaining

Tensor = torch.Tensor

_SPARSE = 6
"""Up to this many flags for each element take less time than a sort."""


class Unique(NamedTuple):
    """Distinct values in order; None for results that were not requested."""

    values: Tensor
    indices: Tensor | None = None
    inverse: Tensor | None = None
    counts: Tensor | None = None


@explaining
def unique(line: Tensor, index: bool, inverse: bool, counts: bool, equal_nan: bool) -> Unique:
    """Return the distinct values of a 1-d tensor: first places, the value of each element, and counts."""
    given = host.small(line) if index or inverse else host.arrays(line)  # the order of many is faster here
    if given is not None:
        found: Any = np.unique(given[0], index, inverse, counts, equal_nan=equal_nan)  # type: ignore[call-overload]
        parts = iter(found if index or inverse or counts else (found,))
        asked = (True, index, inverse, counts)
        results: list[Any] = [host.wrapped(next(parts)) if is_asked else None for is_asked in asked]
        return Unique(*results)
    dtype = line.dtype
    keys = ordered(line)
    if not (index or inverse):
        arranged = sorting.sort(keys, 0)
        mask = _starts(arranged, equal_nan)
        return Unique(restored(arranged[mask], dtype), counts=_lengths(mask) if counts else None)
    order = sorting.argsort(keys, 0, stable=index)
    arranged = keys[order]
    mask = _starts(arranged, equal_nan)
    return _described(restored(arranged[mask], dtype), order, mask, index, inverse, counts)


@explaining
def unique_rows(rows: Tensor, index: bool, inverse: bool, counts: bool) -> Unique:
    """Return the distinct rows of a 2-d tensor in lexicographic order; a row with NaN equals no other."""
    dtype = rows.dtype
    keys = ordered(rows)
    if rows.shape[1]:
        places = keys
        if dtype is torch.float16:  # NumPy's order of records has a NaN of this dtype alone before all numbers
            places = torch.where(keys.isnan(), -torch.inf, keys.to(torch.float32).clamp(min=-1e9))
        order = sorting.lexsort([places[:, i] for i in reversed(range(rows.shape[1]))], 0)
    else:
        order = torch.arange(len(rows), device=rows.device)
    arranged = keys[order]
    mask = torch.ones(len(rows), dtype=torch.bool, device=rows.device)
    mask[1:] = (arranged[1:] != arranged[:-1]).any(1)
    return _described(restored(arranged[mask], dtype), order, mask, index, inverse, counts)


def _described(values: Tensor, order: Tensor, mask: Tensor, index: bool, inverse: bool, counts: bool) -> Unique:
    place = None
    if inverse:
        place = torch.empty_like(order)
        place[order] = mask.cumsum(0) - 1
    return Unique(values, order[mask] if index else None, place, _lengths(mask) if counts else None)


def _starts(arranged: Tensor, equal_nan: bool) -> Tensor:
    """Return where the runs of equal values in a sorted 1-d tensor begin."""
    mask = torch.ones(len(arranged), dtype=torch.bool, device=arranged.device)
    mask[1:] = arranged[1:] != arranged[:-1]
    if equal_nan and has_nan(arranged.dtype):
        nan = arranged.isnan()
        mask[1:] &= ~(nan[1:] & nan[:-1])
    return mask


def _lengths(mask: Tensor) -> Tensor:
    """Return the lengths of the runs."""
    starts = mask.nonzero()[:, 0]
    return torch.diff(starts, append=starts.new_full((1,), len(mask)))


@explaining
def contains(line: Tensor, values: Tensor) -> Tensor:
    """Return which values are in the 1-d tensor of the same dtype; NaN is in none."""
    if not len(line):
        return torch.zeros(values.shape, dtype=torch.bool, device=values.device)
    if not has_nan(line.dtype) and line.device.type == "cpu" and is_readable(line):
        keys = ordered(line)
        least, most = int(keys.min()), int(keys.max())
        if most - least <= _SPARSE * (len(line) + values.numel()):
            return _in_table(keys, ordered(values), least, most)
    if trace_state.is_tracing() and host.is_plain(values) and values.numel() > 1:  # of one, torch asks the value
        return _whole(line, values)
    return _in_sorted(line, values)


def _in_sorted(line: Tensor, values: Tensor) -> Tensor:
    arranged = sorting.sort(line, 0)
    place = sorting.searchsorted(arranged, values, right=False).clamp(max=len(line) - 1)
    return ordered(arranged)[place] == ordered(values)


def _in_table(keys: Tensor, values: Tensor, least: int, most: int) -> Tensor:
    """``contains`` for integers in a small range: each number from the least to the largest has a flag."""
    table = torch.zeros(most - least + 1, dtype=torch.bool, device=keys.device)
    table[keys.to(torch.int64) - least] = True
    places = values.to(torch.int64)
    inside = (places >= least) & (places <= most)
    return table[places.clamp(least, most).sub_(least)] & inside


def _on_host(line: Tensor, values: Tensor) -> Tensor:
    """``contains`` as eager code computes it: NumPy takes less time for few elements."""
    if len(line) and max(len(line), values.numel()) <= host.MANY:
        found: Tensor = host.called(np.isin, values, line)
        return found
    return contains(line, values)


_whole = graph_operations.operation("isin(Tensor line, Tensor values) -> Tensor", _on_host, _in_sorted)


def repeated(arranged: Tensor) -> Tensor:
    """Return where an element of a sorted 1-d tensor equals the next one; the result is one shorter."""
    keys = ordered(arranged)
    return keys[1:] == keys[:-1]


def single(arranged: Tensor) -> Tensor:
    """Return the values that occur once in a sorted 1-d tensor."""
    if not len(arranged):
        return arranged
    keys = ordered(arranged)
    differs = torch.ones(len(keys) + 1, dtype=torch.bool, device=keys.device)
    differs[1:-1] = keys[1:] != keys[:-1]
    return restored(keys[differs[1:] & differs[:-1]], arranged.dtype)


def select(line: Tensor, mask: Tensor) -> Tensor:
    """Return the elements of a 1-d tensor where the mask is true."""
    return restored(ordered(line)[mask], line.dtype)
