"""Sums over sliding windows, and interpolation between points.

Layer: owns the split of a correlation into products that are fast in torch, for every dtype.
"""

from __future__ import annotations

import numpy as np
import torch

from backend_torch.kernels import host, sorting
from backend_torch.tensors.dtypes import SIGNED
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
    padded = torch.cat([line.new_zeros(left), line, line.new_zeros(right)]) if left or right else line
    length, size = window.shape[0], padded.shape[0] - window.shape[0] + 1
    if length <= FEW:
        given = host.arrays(padded, window.conj())
        if given is not None:  # one pass instead of two for each element of the window
            return host.wrapped(np.correlate(given[0], given[1], "valid"))
        total = padded[:size] * window[0]
        for shift in range(1, length):
            total = total + padded[shift : shift + size] * window[shift]
        return total
    rows = max(BLOCK // length, 1)
    windows = padded.unfold(0, length, 1).split(rows)
    if dtype.is_floating_point or dtype.is_complex:
        return torch.cat([torch.mv(block, window) for block in windows])
    return torch.cat([(block * window).sum(1, dtype=dtype) for block in windows])


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
