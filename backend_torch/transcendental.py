"""Transcendental functions: exponentials, logarithms, trigonometric and hyperbolic functions.

Layer: owns how torch computes them on floats and complex numbers; integers arrive cast.
"""

from __future__ import annotations

import torch

from backend_torch.kernel import Kernel

Tensor = torch.Tensor


def _arccos_complex(z: Tensor) -> Tensor:
    """From arccosh, which is +-i times it: torch's pi / 2 - arcsin(z) loses all digits of a small result."""
    sign = torch.copysign(torch.ones_like(z.real), z.imag)
    other = torch.acosh(z)
    return torch.complex(sign * other.imag, -sign * other.real)


exp = Kernel(torch.exp)
exp2 = Kernel(torch.exp2)
expm1 = Kernel(torch.expm1)
log = Kernel(torch.log)
log2 = Kernel(torch.log2)
log10 = Kernel(torch.log10)
log1p = Kernel(torch.log1p)
logaddexp = Kernel(torch.logaddexp)
logaddexp2 = Kernel(torch.logaddexp2)
sin = Kernel(torch.sin)
cos = Kernel(torch.cos)
tan = Kernel(torch.tan)
arcsin = Kernel(torch.asin)
arccos = Kernel(torch.acos, complex=_arccos_complex)
arctan = Kernel(torch.atan)
arctan2 = Kernel(torch.atan2)
sinh = Kernel(torch.sinh)
cosh = Kernel(torch.cosh)
tanh = Kernel(torch.tanh)
arcsinh = Kernel(torch.asinh)
arccosh = Kernel(torch.acosh)
arctanh = Kernel(torch.atanh)
radians = Kernel(torch.deg2rad)
degrees = Kernel(torch.rad2deg)
