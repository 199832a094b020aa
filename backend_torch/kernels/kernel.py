"""A kernel: torch's function for an operation, and substitutes on the dtypes that torch lacks.

Layer: owns the choice of torch code for an operation on tensors that already have its dtype. The caller promotes and
casts.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from typing import Any

import torch

from backend_torch.tensors import trace_state
from backend_torch.tensors.dtypes import SIGNED, WIDER

Function = Callable[..., Any]


@dataclass(slots=True, eq=False, repr=False)
class Kernel:
    """One elementwise operation, resolved to a torch function by dtype.

    Parameters
    ----------
    default : callable
        Right for every dtype that has no entry of its own below.
    bool, integer, unsigned, half, double, complex : callable, optional
        For torch.bool; uint8 and the signed integers; uint16, uint32 and uint64; float16 and bfloat16; float64; both
        complex dtypes.
    mixed : callable, optional
        For operands whose loop dtypes differ (int64 with uint64 in comparisons).
    inplace : callable, optional
        torch's method that writes into the first operand (``torch.Tensor.add_``), right wherever ``default`` is.
    scalar_left, scalar_right : callable, optional
        ``f(number, tensor)`` and ``f(tensor, number)`` for a Python number that has the tensor's dtype, if something is
        faster than a 0-d tensor: ``1. / x`` is one reciprocal, ``x ** 2`` one product.
    """

    default: Function
    _: KW_ONLY
    bool: Function | None = None
    integer: Function | None = None
    unsigned: Function | None = None
    half: Function | None = None
    double: Function | None = None
    complex: Function | None = None
    mixed: Function | None = None
    inplace: Function | None = None
    scalar_left: Function | None = None
    scalar_right: Function | None = None

    def resolve(self, *dtypes: torch.dtype) -> Function:
        """Return the function for operands of these loop dtypes."""
        dtype = dtypes[0]
        special = None
        if self.mixed is not None and any(other is not dtype for other in dtypes[1:]):
            special = self.mixed
        elif dtype is torch.bool:
            special = self.bool
        elif dtype in SIGNED:
            special = self.unsigned
        elif dtype.is_complex:
            special = self.complex
        elif dtype is torch.float16 or dtype is torch.bfloat16:
            special = self.half
        elif dtype is torch.float64:
            special = self.double
        elif not dtype.is_floating_point:
            special = self.integer
        return self.default if special is None else special


def large_enough(method: Function) -> Function:
    """Wrap a method that writes to its first operand: check its size, which torch does not do in traces."""

    def inplace(target: torch.Tensor, other: torch.Tensor) -> torch.Tensor:
        if trace_state.is_tracing() and torch.broadcast_shapes(target.shape, other.shape) != target.shape:
            raise RuntimeError("a result is larger than what it is written to")
        return method(target, other)

    return inplace


def same_bits(function: Function) -> Function:
    """Run ``function`` on uint16, uint32 and uint64 through the signed type of the same width, with the same bits.

    A result of another type (a comparison gives bool) is left alone.
    """

    def through_signed(*tensors: torch.Tensor) -> torch.Tensor:
        dtype = tensors[0].dtype
        signed = SIGNED[dtype]
        result = function(*[tensor.view(signed) for tensor in tensors])
        return result.view(dtype) if result.dtype is signed else result

    return through_signed


def same_order(function: Function) -> Function:
    """Run ``function`` on uint64 through int64 with the sign bit flipped, which keeps the order of all values."""
    flip = torch.iinfo(torch.int64).min

    def through_flipped(*tensors: torch.Tensor) -> torch.Tensor:
        result = function(*[tensor.view(torch.int64) ^ flip for tensor in tensors])
        return (result ^ flip).view(torch.uint64) if result.dtype is torch.int64 else result

    return through_flipped


def widened(function: Function, uint64: Function) -> Function:
    """Run ``function`` on uint16 and uint32 through a wider type, and ``uint64`` on the type that has none.

    The result is cast back if the function kept the wider type; bool, from a comparison, is left alone.
    """

    def through_wider(*tensors: torch.Tensor) -> torch.Tensor:
        dtype = tensors[0].dtype
        if dtype is torch.uint64:
            return uint64(*tensors)
        wider = WIDER[dtype]
        result = function(*[tensor.to(wider) for tensor in tensors])
        return result.to(dtype) if result.dtype is wider else result

    return through_wider


def by_parts(function: Function) -> Function:
    """Run ``function`` on complex tensors as its real form on real and imaginary parts separately."""

    def through_parts(first: torch.Tensor, *others: torch.Tensor) -> torch.Tensor:
        parts = [torch.view_as_real(first.resolve_conj())]
        for other in others:
            # A 0-d tensor viewed as parts has an axis, so it no longer combines with another device.
            if other.dim() == 0:
                other = other.to(first.device)
            elif first.dim() == 0:
                parts[0] = parts[0].to(other.device)
            parts.append(torch.view_as_real(other.resolve_conj()))
        return torch.view_as_complex(function(*parts))

    return through_parts
