"""Sums over sliding windows, and interpolation between points.

Layer: owns the split of a correlation into products that are fast in torch, for every dtype.
"""

from __future__ import annotations

import functools

import numpy as np
import torch

from backend_torch.kernels import host, sorting
from backend_torch.tensors.dtypes import SIGNED
from backend_torch.tensors.memory import is_readable
from backend_torch.tensors.out_of_memory import explaining

Tensor = torch.Tensor
# Up to this length each element of the shorter line is multiplied by the whole longer line.
FEW = 32
# The most elements in a block of windows; each element is in many windows.
BLOCK = 1 << 20


@explaining
def correlate(line: Tensor, window: Tensor, left: int, right: int) -> Tensor:
    """Correlate ``window`` with ``line``, which is padded with zeros; both have one dtype."""
    dtype = line.dtype
    if dtype is torch.bool:
        return correlate(line.to(torch.float32), window.to(torch.float32), left, right) != 0
    if dtype in SIGNED:  # sums and products that wrap around have the same bits
        signed = SIGNED[dtype]
        return correlate(line.view(signed), window.view(signed), left, right).view(dtype)
    if dtype is torch.float16:
        return correlate(line.to(torch.float32), window.to(torch.float32), left, right).to(dtype)
    length = window.shape[0]
    size = line.shape[0] + left + right - length + 1
    if length <= FEW:
        given = host.arrays(line, window.conj())
        if given is not None:  # one pass instead of two for each element of the window
            first = length - 1 - left
            full = np.correlate(given[0], given[1], "full")
            return host.wrapped(full if len(full) == size else full[first : first + size].copy())
    ends = [line.new_zeros(left), line.new_zeros(right)] if left or right else []
    padded = torch.cat([ends[0], line, ends[1]]) if ends else line
    inside = None  # zero times infinity is NaN, but a zero beyond the line is in no product
    if ends and (dtype.is_floating_point or dtype.is_complex) and not _is_finite(window):
        inside = torch.cat([torch.zeros_like(ends[0], dtype=torch.bool), torch.ones_like(line, dtype=torch.bool),
                            torch.zeros_like(ends[1], dtype=torch.bool)])  # fmt: skip
    if length <= FEW:

        def product(shift: int) -> Tensor:
            found = padded[shift : shift + size] * window[shift]
            return found if inside is None else torch.where(inside[shift : shift + size], found, 0)

        return functools.reduce(lambda total, shift: total + product(shift), range(1, length), product(0))
    rows = max(BLOCK // length, 1)
    windows = padded.unfold(0, length, 1).split(rows)
    if inside is not None:
        whole = zip(windows, inside.unfold(0, length, 1).split(rows), strict=True)
        return torch.cat([torch.where(there, block * window, 0).sum(1, dtype=dtype) for block, there in whole])
    if dtype.is_floating_point or dtype.is_complex:
        return torch.cat([torch.mv(block, window) for block in windows])
    return torch.cat([(block * window).sum(1, dtype=dtype) for block in windows])


def _is_finite(window: Tensor) -> bool:
    return window.is_cpu and is_readable(window) and bool(window.isfinite().all())  # another device would be waited for


@explaining
def interpolate(x: Tensor, places: Tensor, values: Tensor, left: Tensor, right: Tensor) -> Tensor:
    """Values between points, on straight lines; ``left`` and ``right`` outside. All real, of one float dtype."""
    given = host.arrays(x, places, values, left, right)
    if given is not None:
        return host.wrapped(np.interp(*given))  # type: ignore[call-overload]
    last = places.shape[0] - 1
    index = sorting.searchsorted(places, x, right=True) - 1
    low = index.clamp(0, max(last - 1, 0))
    high = (low + 1).clamp(max=last)
    between = (x >= places[0]) & (index < last)  # elsewhere there is no line, and no gradient of one
    below, above = places[low], places[high]
    from_, to = (torch.where(between, values[each], 0.0) for each in (low, high))
    slope = (to - from_) / torch.where(between, above - below, 1.0)
    rise = slope * (x - below)
    found = rise + from_
    # Points or values at infinity: interpolate from the other end, and stay flat between equal values.
    found = torch.where(found.isnan(), slope * (x - above) + to, found)
    found = torch.where(found.isnan() & (from_ == to), from_, found)
    # A point gives its own value, even -0.0, and the derivative of the line that begins there.
    found = torch.where(x == below, torch.where(rise.isfinite(), from_ - (rise.detach() - rise), from_), found)
    found = torch.where(index >= last, values[-1], found)
    found = torch.where(x > places[-1], right, found)
    found = torch.where(x < places[0], left, found)
    return torch.where(x.isnan(), x, found)
