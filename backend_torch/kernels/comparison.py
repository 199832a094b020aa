"""Comparisons and logic: tensors of bool from tensors of any dtype.

Layer: owns how torch computes NumPy's comparison and ``logical_*`` ufuncs and ``isclose``. As in NumPy, complex
numbers are ordered by their real parts, then by their imaginary ones, and int64 compares with uint64 by value.
"""

from __future__ import annotations

import torch

from backend_torch.kernels.kernel import Function, Kernel, same_bits, same_order, widened
from backend_torch.kernels.writing import together
from backend_torch.torch_private import functorch

Tensor = torch.Tensor


def _ordered_complex(strict: Function, imaginary: Function) -> Function:
    """Compare complex numbers: ``strict`` by the real parts, or by ``imaginary`` if the real parts are equal."""

    def compare(x: Tensor, y: Tensor) -> Tensor:
        comparable = (x.imag == x.imag) & (y.imag == y.imag)
        return (strict(x.real, y.real) & comparable) | ((x.real == y.real) & imaginary(x.imag, y.imag))

    return compare


def _mixed(function: Function) -> Function:
    """Compare int64 with uint64: if a value is outside the other's range, compare -1 with 0 instead."""

    @together
    def compare(x: Tensor, y: Tensor) -> Tensor:
        signed, unsigned = x.view(torch.int64), y.view(torch.int64)
        apart = (signed < 0) | (unsigned < 0)
        if x.dtype is torch.int64:
            return function(signed.masked_fill(apart, -1), unsigned.masked_fill(apart, 0))
        return function(signed.masked_fill(apart, 0), unsigned.masked_fill(apart, -1))

    return compare


less_complex = _ordered_complex(torch.lt, torch.lt)
less_equal_complex = _ordered_complex(torch.lt, torch.le)
greater_complex = _ordered_complex(torch.gt, torch.gt)
greater_equal_complex = _ordered_complex(torch.gt, torch.ge)


def _ordering(function: Function, of_complex: Function) -> Kernel:
    return Kernel(
        function, unsigned=widened(function, uint64=same_order(function)), complex=of_complex, mixed=_mixed(function)
    )


equal = Kernel(torch.eq, unsigned=same_bits(torch.eq), mixed=_mixed(torch.eq))
not_equal = Kernel(torch.ne, unsigned=same_bits(torch.ne), mixed=_mixed(torch.ne))
less = _ordering(torch.lt, less_complex)
less_equal = _ordering(torch.le, less_equal_complex)
greater = _ordering(torch.gt, greater_complex)
greater_equal = _ordering(torch.ge, greater_equal_complex)
_and, _or, _xor = together(torch.logical_and), together(torch.logical_or), together(torch.logical_xor)
logical_and = Kernel(_and, unsigned=same_bits(_and))
logical_or = Kernel(_or, unsigned=same_bits(_or))
logical_xor = Kernel(_xor, unsigned=same_bits(_xor))
logical_not = Kernel(torch.logical_not, unsigned=same_bits(torch.logical_not))


def isclose(one: Tensor, other: Tensor, rtol: float, atol: float, equal_nan: bool) -> Tensor:
    """torch.isclose, for tensors of one inexact dtype and tolerances that are not negative."""
    if equal_nan and one.shape != other.shape:  # torch 2.11 gives the NaN part the first tensor's shape
        one, other = torch.broadcast_tensors(one, other)
    if functorch.is_transforming():  # torch.isclose has no batching rule: torch would loop, and say so
        error = (one - other).abs()
        close = (one == other) | (error <= atol + rtol * other.abs()) & error.isfinite()
        return close | one.isnan() & other.isnan() if equal_nan else close
    return torch.isclose(one, other, rtol, atol, equal_nan)
