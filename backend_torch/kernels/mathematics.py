"""Elementwise functions that are not ufuncs: bounds, replacement of values that are not finite, sinc and Bessel's i0.

Layer: owns their torch code, on tensors of one dtype.
"""

from __future__ import annotations

import math

import torch

from backend_torch.autodiff.autodiff import may_be_differentiated
from backend_torch.tensors.out_of_memory import explained

Tensor = torch.Tensor

clamp = torch.clamp
i0 = torch.special.i0


_SINC = [(-1) ** k * math.pi ** (2 * k) / math.factorial(2 * k + 1) for k in range(8)]
"""Coefficients of sinc(x) by powers of x squared."""


def sinc(tensor: Tensor) -> Tensor:
    """torch's sinc. For derivatives a series near 0: torch's lose digits there, and the second is NaN."""
    if not may_be_differentiated(tensor):
        try:
            return torch.sinc(tensor)
        except RuntimeError as error:
            raise explained(error) from None
    near = tensor.abs() < 0.1
    square = torch.where(near, tensor, 0.0).square()
    series = torch.full_like(square, _SINC[-1])
    for coefficient in reversed(_SINC[:-1]):
        series = series * square + coefficient
    return torch.where(near, series, torch.sinc(torch.where(near, 1.0, tensor)))


def nan_to_num(tensor: Tensor, *replacements: float | None) -> Tensor:
    """Replace nan and the two infinities by numbers; None means the largest finite number. For real dtypes."""
    largest = torch.finfo(tensor.dtype).max
    # torch refuses a number that overflows the dtype; NumPy makes it infinite.
    held = [n if n is None or n != n or abs(n) <= largest else math.copysign(math.inf, n) for n in replacements]
    try:
        return torch.nan_to_num(tensor, *held)
    except RuntimeError as error:
        raise explained(error) from None


def where_not_finite(tensor: Tensor, nan: Tensor, posinf: Tensor | None, neginf: Tensor | None) -> Tensor:
    """nan_to_num with tensors as replacements; None means the largest finite number. For real dtypes."""
    limits = torch.finfo(tensor.dtype)
    result = torch.where(torch.isnan(tensor), nan, tensor)
    result = torch.where(tensor == torch.inf, limits.max if posinf is None else posinf, result)
    return torch.where(tensor == -torch.inf, limits.min if neginf is None else neginf, result)


def parts(tensor: Tensor) -> Tensor:
    """Return the parts of a complex tensor along a new last axis."""
    return torch.view_as_real(tensor.resolve_conj())


def from_parts(tensor: Tensor) -> Tensor:
    """Return the complex tensor with these ``parts``."""
    return torch.view_as_complex(tensor)
