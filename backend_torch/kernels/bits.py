"""Bits: logic on the bits of integers, shifts and counts.

Layer: owns how torch computes NumPy's ``bitwise_*`` and shift ufuncs. torch's shifts by the width or more give 0 or -1,
as NumPy's do.
"""

from __future__ import annotations

import numpy as np
import torch

from backend_torch.kernels.host import hosted
from backend_torch.kernels.kernel import Kernel, same_bits, widened

Tensor = torch.Tensor


def _right_shift_uint64(x: Tensor, y: Tensor) -> Tensor:
    """Shift right and fill with zeros: shift by one, clear the sign bit, then shift by the rest."""
    value, count = x.view(torch.int64), y.view(torch.int64)
    halved = (value >> 1) & torch.iinfo(torch.int64).max
    return torch.where(count == 0, value, halved >> (count - 1)).view(torch.uint64)


def _count(value: Tensor) -> Tensor:
    """Count the ones in each int64, as uint8: sum ever wider fields, then sum the bytes by a product."""
    value = value - ((value >> 1) & 0x5555555555555555)
    value = (value & 0x3333333333333333) + ((value >> 2) & 0x3333333333333333)
    value = (value + (value >> 4)) & 0x0F0F0F0F0F0F0F0F
    return ((value * 0x0101010101010101) >> 56).to(torch.uint8)


def _count_integer(x: Tensor) -> Tensor:
    """Count the bits of the absolute value, as NumPy does."""
    return _count(torch.abs(x.to(torch.int64)))


def _count_unsigned(x: Tensor) -> Tensor:
    return _count(x.view(torch.int64) if x.dtype is torch.uint64 else x.to(torch.int64))


bitwise_and = Kernel(torch.bitwise_and, unsigned=same_bits(torch.bitwise_and), inplace=Tensor.bitwise_and_)
bitwise_or = Kernel(torch.bitwise_or, unsigned=same_bits(torch.bitwise_or), inplace=Tensor.bitwise_or_)
bitwise_xor = Kernel(torch.bitwise_xor, unsigned=same_bits(torch.bitwise_xor), inplace=Tensor.bitwise_xor_)
invert = Kernel(torch.bitwise_not, unsigned=same_bits(torch.bitwise_not))
left_shift = Kernel(
    torch.bitwise_left_shift, unsigned=same_bits(torch.bitwise_left_shift), inplace=Tensor.bitwise_left_shift_
)
right_shift = Kernel(
    torch.bitwise_right_shift,
    unsigned=widened(torch.bitwise_right_shift, uint64=_right_shift_uint64),
    inplace=Tensor.bitwise_right_shift_,
)
bitwise_count = Kernel(
    hosted(np.bitwise_count, _count_integer, warns=False, is_whole=True),
    unsigned=hosted(np.bitwise_count, _count_unsigned, warns=False),
)
