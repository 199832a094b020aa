"""Padding: parts of a tensor joined to it, and bits packed into bytes.

Layer: owns moving elements of any dtype by index.
"""

from __future__ import annotations

import numpy as np
import torch

from backend_torch.kernels import graph_operations, host
from backend_torch.kernels.indexing import on_bits
from backend_torch.kernels.kernel import Function
from backend_torch.tensors.out_of_memory import explaining

Tensor = torch.Tensor


@explaining
def rearranged(tensor: Tensor, places: list[int], dim: int) -> Tensor:
    """Return the slices at ``places`` along an axis, in that order."""
    index = torch.tensor(places, dtype=torch.int64, device=tensor.device)
    return on_bits(torch.index_select, tensor, dim, index)


def extended(tensor: Tensor, before: list[int], after: list[int], dim: int) -> Tensor:
    """Return the tensor between its own slices at the places ``before`` and ``after`` along an axis."""
    return torch.cat([rearranged(tensor, before, dim), tensor, rearranged(tensor, after, dim)], dim)


def packed(bits: Tensor, is_little: bool) -> Tensor:
    """Pack bools along the last axis into bytes; missing bits of the last byte are zeros."""
    if host.computes(bits):  # torch has no such function: shifts and a sum take 30 times as long
        return host.wrapped(np.packbits(host.array(bits), axis=-1, bitorder="little" if is_little else "big"))
    return _packed(bits.contiguous(), is_little)


def _packed_by_steps(bits: Tensor, is_little: bool) -> Tensor:
    octets = torch.nn.functional.pad(bits.to(torch.uint8), (0, -bits.shape[-1] % 8)).unflatten(-1, (-1, 8))
    return (octets << _shifts(bits, is_little)).sum(-1, dtype=torch.uint8)


def _in_c_order(function: Function) -> Function:
    """Return the kernel of an operation, whose operand and result have the layout that a trace took for granted."""
    return lambda tensor, is_little: function(tensor.contiguous(), is_little).contiguous()


_packed = graph_operations.operation(
    "packbits(Tensor bits, bool is_little) -> Tensor", _in_c_order(packed), _packed_by_steps
)


def unpacked(octets: Tensor, is_little: bool) -> Tensor:
    """Unpack bytes along the last axis into zeros and ones."""
    if host.computes(octets):
        return host.wrapped(np.unpackbits(host.array(octets), axis=-1, bitorder="little" if is_little else "big"))
    return _unpacked(octets.contiguous(), is_little)


def _unpacked_by_steps(octets: Tensor, is_little: bool) -> Tensor:
    bits = (octets.unsqueeze(-1) >> _shifts(octets, is_little)) & 1
    return bits.reshape(*octets.shape[:-1], octets.shape[-1] * 8)


_unpacked = graph_operations.operation(
    "unpackbits(Tensor octets, bool is_little) -> Tensor", _in_c_order(unpacked), _unpacked_by_steps
)


def _shifts(tensor: Tensor, is_little: bool) -> Tensor:
    shifts = torch.arange(8, dtype=torch.uint8, device=tensor.device)
    return shifts if is_little else 7 - shifts
