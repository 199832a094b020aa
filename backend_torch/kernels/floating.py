"""Floating point: the parts of floats, and special values.

Layer: owns how torch computes NumPy's floating point routines: ``isnan``, ``signbit``, ``nextafter``, ``frexp`` and
others.
"""

from __future__ import annotations

import numpy as np
import torch

from backend_torch.kernels.host import hosted
from backend_torch.kernels.kernel import Kernel
from backend_torch.kernels.writing import together

Tensor = torch.Tensor


def _never(x: Tensor) -> Tensor:
    return torch.zeros_like(x, dtype=torch.bool)


def _always(x: Tensor) -> Tensor:
    return torch.ones_like(x, dtype=torch.bool)


_SECOND_ZERO = bool(np.signbit(np.nextafter(np.float16(0.0), np.float16(-0.0))))


def _nextafter_half(x: Tensor, y: Tensor) -> Tensor:
    """Return one of two zeros as NumPy does: before 2.5 half gives the first, wider types the second."""
    return torch.where(x == y, y if _SECOND_ZERO else x, torch.nextafter(x, y))


def _spacing(x: Tensor) -> Tensor:
    """Return the distance to the next value away from zero; from either zero, to the smallest positive value."""
    x = x + 0.0
    return torch.nextafter(x, torch.copysign(torch.full_like(x, torch.inf), x)) - x


def _spacing_half(x: Tensor) -> Tensor:
    """Return NumPy's spacing of half: always the distance upwards. ``x - x`` is nan for an infinity."""
    return torch.nextafter(x, torch.full_like(x, torch.inf)) - x + (x - x)


def _modf(x: Tensor) -> tuple[Tensor, Tensor]:
    """Use fmod, which keeps the sign of a zero and the gradient; ``x - trunc(x)`` and copysign lose them."""
    fraction = torch.fmod(x, 1.0)
    return torch.where(torch.isinf(x), torch.copysign(torch.zeros_like(x), x), fraction), torch.trunc(x)


def _power_of_two(exponent: Tensor, dtype: torch.dtype) -> Tensor:
    """Return 2 ** exponent exactly, from the bits of a float32 or float64, for exponents of normal numbers."""
    if dtype is torch.float64:
        return ((exponent + 1023) << 52).view(dtype)
    return ((exponent + 127) << 23).to(torch.int32).view(dtype)


def _ldexp(x: Tensor, exponent: Tensor) -> Tensor:
    """Correct torch.ldexp: it is x * 2.0 ** exponent, and the power may be infinite or 0 where the product is neither.

    The mantissa is scaled by the sum of both exponents in two steps, of which only the last rounds.
    """
    wide = x if x.dtype is torch.float64 else x.to(torch.float32)
    largest = 1023 if x.dtype is torch.float64 else 127
    mantissa, own = torch.frexp(wide)
    total = exponent.to(torch.int64).clamp(-9999, 9999) + own.to(torch.int64)
    first = total.clamp(2 - largest, largest)
    second = (total - first).clamp(1 - largest, largest)
    return (mantissa * _power_of_two(first, wide.dtype) * _power_of_two(second, wide.dtype)).to(x.dtype)


isnan = Kernel(torch.isnan, bool=_never, integer=_never, unsigned=_never)
isinf = Kernel(hosted(np.isinf, torch.isinf, warns=False), bool=_never, integer=_never, unsigned=_never)
isfinite = Kernel(hosted(np.isfinite, torch.isfinite, warns=False), bool=_always, integer=_always, unsigned=_always)
signbit = Kernel(hosted(np.signbit, torch.signbit, warns=False), half=torch.signbit)
copysign = Kernel(torch.copysign)
nextafter = Kernel(together(torch.nextafter), half=together(_nextafter_half))
spacing = Kernel(hosted(np.spacing, _spacing), half=_spacing_half)
modf = Kernel(hosted(np.modf, _modf))
frexp = Kernel(hosted(np.frexp, torch.frexp, is_whole=True))
ldexp = Kernel(hosted(np.ldexp, _ldexp, is_whole=True))
