"""Quantiles: values at places of a sorted axis, and between two of them.

Layer: owns sorting and interpolation. The caller chooses the places by the method.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch

from backend_torch.kernels import arithmetic, reductions, sorting
from backend_torch.kernels.order import has_nan, ordered, restored
from backend_torch.tensors.casting import cast
from backend_torch.tensors.out_of_memory import explaining

Tensor = torch.Tensor


@explaining
def arranged(lanes: Tensor, places: Sequence[int] | None) -> Tensor:
    """Partition the lanes (last axis): the elements at ``places`` are where a sort puts them, and a NaN is last.

    None stands for all places.
    """
    if places is None or len(places) > sorting.MANY_PLACES:
        return sorting.sort(lanes, -1)
    last = lanes.shape[-1] - 1
    kth = sorted({*places, last} if has_nan(lanes.dtype) else set(places))
    return sorting.partition(lanes, -1, kth)


def arranged_for(lanes: Tensor, places: Sequence[Tensor]) -> Tensor:
    """Partition each lane for its own places; a NaN is last."""
    last = torch.full_like(places[0][..., :1], lanes.shape[-1] - 1)
    return sorting.at_places(lanes, -1, torch.cat([*places, last], -1))


def at(lanes: Tensor, places: np.ndarray) -> Tensor:
    """Return the elements at the same places of each lane."""
    index = torch.from_numpy(np.ascontiguousarray(places, np.int64)).to(lanes.device)
    return restored(ordered(lanes).index_select(-1, index), lanes.dtype)


def at_each(lanes: Tensor, places: Tensor) -> Tensor:
    """Return the elements at different places of each lane."""
    return restored(ordered(lanes).gather(-1, places), lanes.dtype)


def between(low: Tensor, high: Tensor, weight: Tensor, dtype: torch.dtype) -> Tensor:
    """Interpolate ``low`` and ``high`` as NumPy does: from the nearer one, by a difference that may wrap around."""
    difference = cast(arithmetic.subtract.resolve(high.dtype, low.dtype)(high, low), dtype)
    low, high = cast(low, dtype), cast(high, dtype)
    weight = weight.to(low.device)
    rest = cast(1 - weight, dtype)
    return torch.where(weight >= 0.5, high - difference * rest, low + difference * cast(weight, dtype))


def or_nan(values: Tensor, lanes: Tensor) -> Tensor:
    """Return the values, with NaN for the lanes whose last element is NaN."""
    if not has_nan(lanes.dtype):
        return values
    last = lanes[..., -1:]
    return torch.where(last.isnan(), last.to(values.dtype), values)


def valid_count(lanes: Tensor) -> Tensor:
    """Count the elements of each lane that are not NaN; the last axis is kept."""
    return reductions.count(~lanes.isnan(), -1, True)


def weighted(lanes: Tensor, weights: Tensor, quantiles: Tensor, skip_nan: bool) -> Tensor | None:
    """Return the inverse of the empirical distribution function; None if a lane's weights have no valid sum."""
    order = sorting.argsort(lanes, -1)
    lanes, weights = at_each(lanes, order), at_each(weights, order).to(torch.float64)
    size = lanes.shape[-1]
    last: Tensor | int = size - 1
    if skip_nan and has_nan(lanes.dtype):
        weights = torch.where(lanes.isnan(), 0, weights)
        last = (valid_count(lanes) - 1).clamp(min=0)
    share = weights.cumsum(-1)
    share = share / share[..., -1:]
    if bool(share[..., -1].isnan().any()) and not skip_nan:
        return None
    if quantiles.is_floating_point():
        share = share.to(quantiles.dtype)
    share = torch.where(share == 0, -1, share)  # an element without weight is never the first one
    wanted = quantiles.to(share.dtype).reshape(-1).expand(*share.shape[:-1], quantiles.numel())
    places = torch.searchsorted(share.contiguous(), wanted.contiguous())
    values = at_each(lanes, places.clamp(max=last))
    return values if skip_nan else or_nan(values, lanes)
