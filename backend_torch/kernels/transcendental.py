"""Transcendental functions: exponentials, logarithms, trigonometric and hyperbolic functions.

Layer: owns their torch code for floats and complex numbers. The caller casts integers.
"""

from __future__ import annotations

import math
from types import FunctionType

import numpy as np
import torch

from backend_torch.autodiff.autodiff import may_be_differentiated
from backend_torch.kernels.host import HAS_VECTORS, hosted
from backend_torch.kernels.kernel import Function, Kernel
from backend_torch.kernels.writing import DIRECT, together
from backend_torch.tensors.memory import is_readable

Tensor = torch.Tensor
_EXP_OVERFLOWS = {torch.float32: 88.0, torch.float64: 709.0}  # a little above these


def _arccos_complex(z: Tensor) -> Tensor:
    """Use arccosh, which is +-i times arccos: torch's pi / 2 - arcsin(z) loses all digits of a small result."""
    sign = torch.copysign(torch.ones_like(z.real), z.imag)
    other = torch.acosh(z)
    return torch.complex(sign * other.imag, -sign * other.real)


def _arcsin_complex(z: Tensor) -> Tensor:
    """torch's arcsin, or by arccos if it may be differentiated: beyond 1 torch's derivative is that of one side."""
    if not may_be_differentiated(z):
        return torch.asin(z)
    cut = (z.imag == 0) & (torch.abs(z.real) > 1)
    beyond = math.pi / 2 - _arccos_complex(torch.where(cut, z, 2.0))
    return torch.where(cut, beyond, torch.asin(torch.where(cut, 0.0, z)))


def _arcsinh_complex(z: Tensor) -> Tensor:
    """As `_arcsin_complex`, on the imaginary axis: arcsinh(z) is -i arcsin(i z)."""
    if not may_be_differentiated(z):
        return torch.asinh(z)
    turned = _arcsin_complex(torch.complex(z.imag, -z.real))
    return torch.complex(-turned.imag, turned.real)


def _expm1_complex(z: Tensor) -> Tensor:
    """exp(z) - 1 at infinities and NaN, where torch and NumPy have nan: https://github.com/numpy/numpy/issues/21746.

    ``+ 0.0`` makes the negative zero that is left of -0 positive.
    """
    finite = torch.isfinite(z)
    ordinary = torch.expm1(torch.where(finite, z, 0.0))
    limit = torch.exp(torch.where(finite, 0.0, z)) - 1
    return torch.where(finite, torch.complex(ordinary.real + 0.0, ordinary.imag), limit)


def _vectorized(ufunc: np.ufunc, function: Function, **others: Function) -> Kernel:
    """Use NumPy's vectors for float32 and float64, where NumPy has them; torch's functions take twice as long."""
    is_whole = isinstance(function, FunctionType)  # of several steps
    real = hosted(ufunc, function, is_whole=is_whole) if HAS_VECTORS else function
    return Kernel(real, half=function, **{"complex": function, **others})


def _log1p_complex(z: Tensor) -> Tensor:
    """log(1 + z), and near 0 the real part by the real log1p.

    torch.log1p is nan beside infinities and subnormal numbers (https://github.com/pytorch/pytorch/pull/89214).
    """
    x, y = z.real, z.imag
    result = torch.log(torch.complex(x + 1, y))
    near = (torch.abs(x) < 0.5) & (torch.abs(y) < 0.5)
    square = torch.where(near, x * (x + 2) + y * y, 0.0)  # |1 + z| ** 2 - 1
    return torch.complex(torch.where(near, torch.log1p(square) / 2, result.real), result.imag)


def _tanh_complex(z: Tensor) -> Tensor:
    """Give the zero at infinity the sign of the imaginary part: https://github.com/data-apis/array-api/issues/1006."""
    result = torch.tanh(z)
    limit = torch.isinf(z.real) & torch.isfinite(z.imag)
    return torch.complex(result.real, torch.where(limit, torch.copysign(torch.zeros_like(z.imag), z.imag), result.imag))


def _hyperbolic(function: Function, odd: bool) -> Function:
    """torch's sinh or cosh, but half of the exponential where that is nearly infinite.

    On the CPU torch's result is infinite as soon as exp(x) is, a factor of two too early
    (https://github.com/pytorch/pytorch/issues/48641).
    """

    def hyperbolic(x: Tensor) -> Tensor:
        if x.device.type not in ("cpu", "meta"):
            return function(x)
        limit = _EXP_OVERFLOWS[x.dtype]
        if not x.numel() or (is_readable(x) and torch.linalg.vector_norm(x.detach(), math.inf) <= limit):
            return function(x)
        size = torch.abs(x)
        large = size > limit
        half = torch.exp(torch.where(large, size - limit, 0.0)) * (math.exp(limit) / 2)
        return torch.where(large, torch.copysign(half, x) if odd else half, function(torch.where(large, 0.0, x)))

    hyperbolic.__name__ = function.__name__
    return hyperbolic


def _arctan2(y: Tensor, x: Tensor) -> Tensor:
    """torch's function with derivatives 0 beside an infinity and at the origin, where torch's are NaN."""
    if not (x.requires_grad or may_be_differentiated(y)):
        return torch.atan2(y, x)
    none = (torch.isinf(y) & ~torch.isnan(x)) | (torch.isinf(x) & ~torch.isnan(y)) | ((x == 0) & (y == 0))
    limit = torch.atan2(y.detach(), x.detach())
    return torch.where(none, limit, torch.atan2(torch.where(none, 1.0, y), torch.where(none, 1.0, x)))


exp = _vectorized(np.exp, torch.exp)
exp2 = _vectorized(np.exp2, torch.exp2)
# In float64 NumPy's error is half an ulp, and torch's up to one.
expm1 = _vectorized(np.expm1, torch.expm1, double=hosted(np.expm1, torch.expm1), complex=_expm1_complex)
log = _vectorized(np.log, torch.log)
log2 = _vectorized(np.log2, torch.log2)
log10 = _vectorized(np.log10, torch.log10)
log1p = _vectorized(np.log1p, torch.log1p, double=hosted(np.log1p, torch.log1p), complex=_log1p_complex)
_logaddexp = together(torch.logaddexp)
logaddexp = Kernel(_logaddexp, double=hosted(np.logaddexp, _logaddexp))
_logaddexp2 = together(torch.logaddexp2)
logaddexp2 = Kernel(_logaddexp2, double=hosted(np.logaddexp2, _logaddexp2))
sin = _vectorized(np.sin, torch.sin, double=torch.sin)
cos = _vectorized(np.cos, torch.cos, double=torch.cos)
tan = _vectorized(np.tan, torch.tan)
arcsin = _vectorized(np.arcsin, torch.asin, complex=_arcsin_complex)
arccos = _vectorized(np.arccos, torch.acos, complex=_arccos_complex)
arctan = _vectorized(np.arctan, torch.atan)
arctan2 = _vectorized(np.arctan2, _arctan2)
_sinh, _cosh = _hyperbolic(torch.sinh, odd=True), _hyperbolic(torch.cosh, odd=False)
sinh = Kernel(_sinh, double=hosted(np.sinh, _sinh, is_whole=True), half=torch.sinh, complex=torch.sinh)
cosh = Kernel(_cosh, double=hosted(np.cosh, _cosh, is_whole=True), half=torch.cosh, complex=torch.cosh)
tanh = _vectorized(np.tanh, torch.tanh, complex=_tanh_complex)
arcsinh = Kernel(hosted(np.arcsinh, torch.asinh), complex=_arcsinh_complex)
arccosh = _vectorized(np.arccosh, torch.acosh)
arctanh = _vectorized(np.arctanh, torch.atanh)
radians = Kernel(torch.deg2rad)
degrees = Kernel(torch.rad2deg)

DIRECT.update({_arctan2: torch.atan2, _arcsin_complex: torch.asin, _arcsinh_complex: torch.asinh})
