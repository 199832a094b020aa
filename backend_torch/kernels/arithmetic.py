"""Arithmetic: sums, products, powers, roots, rounding, signs and extremes.

Layer: owns how torch computes NumPy's arithmetic ufuncs on tensors that have the loop's dtype. Division with a
remainder has its own chapter, ``division``.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from backend_torch.autodiff.autodiff import may_be_differentiated
from backend_torch.kernels.comparison import greater_equal_complex, less_equal_complex
from backend_torch.kernels.host import HAS_VECTORS, arrays, hosted, wrapped
from backend_torch.kernels.kernel import Function, Kernel, by_parts, large_enough, same_bits, same_order, widened
from backend_torch.kernels.value_checks import NEGATIVE, expect
from backend_torch.kernels.writing import DIRECT
from backend_torch.tensors import memory
from backend_torch.tensors.constants import constants, is_constant
from backend_torch.tensors.dtypes import SIGNED
from backend_torch.tensors.memory import is_readable

Tensor = torch.Tensor


def _divide_number(number: Any, x: Tensor) -> Tensor:
    if number == 1 and x.is_floating_point():
        return torch.reciprocal(x)
    return torch.div(constants(x.dtype, type(number))[number], x)


def _reciprocal_integer(x: Tensor) -> Tensor:
    """Return 1 / x, truncated to an integer; 1 / 0 gives the result of C on x86."""
    result = x * (x.abs() == 1)
    if x.dtype is torch.int32 or x.dtype is torch.int64:
        result = result.masked_fill(x == 0, torch.iinfo(x.dtype).min)
    return result


def _reciprocal_unsigned(x: Tensor) -> Tensor:
    return (x == 1).to(x.dtype)


def _reciprocal_by_torch(z: Tensor) -> Tensor:
    """Correct torch's 1 / 0j, which has an infinite part: NumPy's quotient has it too, but not its reciprocal."""
    parts = torch.view_as_real(torch.reciprocal(z))
    return torch.view_as_complex(parts.masked_fill((z == 0).unsqueeze(-1), torch.nan))


_reciprocal_complex = hosted(np.reciprocal, _reciprocal_by_torch)


def _sign_float(x: Tensor) -> Tensor:
    """Correct torch.sign(nan), which is 0: https://github.com/pytorch/pytorch/issues/41245."""
    return torch.where(torch.isnan(x), x, torch.sign(x))


def _sign_unsigned(x: Tensor) -> Tensor:
    return (x != 0).to(x.dtype)


def _sign_complex(z: Tensor) -> Tensor:
    """Return z / |z|, with limits at infinity, where torch.sgn is nan: https://github.com/pytorch/pytorch/issues/53958.

    Where |z| of finite parts overflows, NumPy returns the imaginary part's sign.
    """
    parts = torch.view_as_real(z.resolve_conj())
    size = torch.abs(z).unsqueeze(-1)
    infinite = torch.isinf(parts)
    limit = torch.where(infinite, torch.sign(parts), 0.0).masked_fill(infinite.all(-1, keepdim=True), torch.nan)
    upwards = torch.stack((torch.zeros_like(parts[..., 0]), torch.sign(parts[..., 1])), -1)
    limit = torch.where(infinite.any(-1, keepdim=True), limit, upwards)
    unit = parts / size.masked_fill(size == 0, 1.0) + 0.0  # no negative zeros, as in NumPy
    return torch.view_as_complex(torch.where(torch.isinf(size), limit, unit))


def _heaviside(x: Tensor, at_zero: Tensor) -> Tensor:
    """torch.heaviside(nan, y) is 0, and has no gradient: https://github.com/pytorch/pytorch/issues/187296."""
    return torch.where(x == 0, at_zero, (_sign_float(x) + 1) / 2)


def _maximum_complex(x: Tensor, y: Tensor) -> Tensor:
    return torch.where(torch.isnan(x) | greater_equal_complex(x, y), x, y)


def _minimum_complex(x: Tensor, y: Tensor) -> Tensor:
    return torch.where(torch.isnan(x) | less_equal_complex(x, y), x, y)


def _sharing(function: Function, of_numbers: Function) -> Function:
    """Return torch's fmax or fmin. For derivatives by ``of_numbers``, which shares them between equal operands: torch's
    gives all to one operand, in forward mode to the other one.
    """

    def of_any(x: Tensor, y: Tensor) -> Tensor:
        if not (x.requires_grad or may_be_differentiated(y)):
            return function(x, y)
        return of_numbers(torch.where(torch.isnan(x), y, x), torch.where(torch.isnan(y), x, y))

    return of_any


def _fmax_complex(x: Tensor, y: Tensor) -> Tensor:
    return torch.where(torch.isnan(y) | greater_equal_complex(x, y), x, y)


def _fmin_complex(x: Tensor, y: Tensor) -> Tensor:
    return torch.where(torch.isnan(y) | less_equal_complex(x, y), x, y)


def _cbrt(x: Tensor) -> Tensor:
    """Return the cube root, which torch lacks: a power of float64, corrected by a Newton step as 1/3 is not a float.

    The sign is a factor, because torch.abs and torch.copysign have the derivative 0 at 0.
    """
    wide = x.to(torch.float64)
    sign = torch.copysign(torch.ones_like(wide), wide.detach())
    root = sign * torch.pow(sign * wide, 1 / 3)
    if x.dtype is not torch.float64:
        return root.to(x.dtype)
    ordinary = torch.isfinite(x) & (x != 0)
    divisor = torch.where(ordinary, root, 1.0)
    return root - torch.where(ordinary, (root - x / divisor / divisor) / 3, 0.0)


def _hypot(x: Tensor, y: Tensor) -> Tensor:
    """torch.hypot with derivatives 0 at the origin, as those of a norm; torch's are 0 / 0."""
    if is_readable(x) and is_readable(y) and not (x.requires_grad or y.requires_grad):
        return torch.hypot(x, y)
    origin = (x == 0) & (y == 0)
    return torch.where(origin, 0.0, torch.hypot(torch.where(origin, 1.0, x), y))


def _refuse_negative(exponent: Tensor) -> None:
    """Raise, as NumPy does, for a negative power of integers: now, or when a graph runs."""
    if is_readable(exponent):
        negative = bool((exponent < 0).any())
    else:
        values = np.asarray(exponent.item()) if is_constant(exponent) else memory.known(exponent)
        negative = values is not None and bool((values < 0).any())
        if values is None:
            expect(exponent >= 0, NEGATIVE)
    if negative:
        raise ValueError(NEGATIVE)


def _power_float(x: Tensor, y: Tensor) -> Tensor:
    """torch.pow with a base moved to CUDA: its derivative by a CUDA exponent refuses a base on the host."""
    if x.is_cpu and not y.is_cpu and (y.requires_grad or may_be_differentiated(y)):
        x = memory.brought(x, y)
    return torch.pow(x, y)


_power_vectors = hosted(np.power, _power_float) if HAS_VECTORS else _power_float


def _power_integer(x: Tensor, y: Tensor) -> Tensor:
    if not torch.compiler.is_compiling():  # Dynamo reads neither values nor lengths
        if not x.numel():  # CUDA computes the power -1 of the host as a reciprocal, which has no integer kernel
            return torch.mul(x, y)
        if y.dtype is not torch.uint8:
            _refuse_negative(y)
        if given := arrays(x, y):
            return wrapped(np.power(*given))
    return torch.pow(x, y)


def _power_uint64(x: Tensor, y: Tensor) -> Tensor:
    """Return x ** y modulo 2**64. The top bit of y stands for x ** 2**63: 1 for an odd x, 0 for an even one."""
    base, exponent = x.view(torch.int64), y.view(torch.int64)
    power = torch.pow(base, exponent & torch.iinfo(torch.int64).max)
    return torch.where(exponent < 0, power * (base & 1), power).view(torch.uint64)


def _power_complex(x: Tensor, y: Tensor) -> Tensor:
    """torch.pow without its nan: for powers of 0 (https://github.com/pytorch/pytorch/issues/54622), inf ** 0."""
    amiss = ((x == 0) & ((y.real <= 0) | (y.imag != 0))) | ((y == 0) & ~torch.isfinite(x))
    power = torch.pow(torch.where(amiss, 1.0, x), y)
    part = torch.where(y.real <= 0, torch.nan, 0.0).to(y.real.dtype)
    return torch.where(amiss & (y != 0), torch.complex(part, part), power)


def _power_whole(z: Tensor, exponent: int) -> Tensor:
    """Raise a complex tensor to one whole power, by products."""
    product, square, rest = None, z, abs(exponent)
    while rest:
        if rest & 1:
            product = square if product is None else product * square
        rest >>= 1
        square = square * square if rest else square
    assert product is not None
    return product.clone() if exponent == 1 else product if exponent > 0 else _reciprocal_complex(product)


def _is_few(number: Any) -> bool:
    """Whether NumPy raises complex numbers to this power by products."""
    return bool(number == number.real and number != 0 and abs(number) < 100 and number.real.is_integer())


_root = hosted(np.sqrt, torch.sqrt)  # MKL's roots, which are torch's on the CPU, are off by a bit now and then


def _power_number(x: Tensor, number: Any) -> Tensor:
    """Return NumPy's shortcuts: the powers -1, 0, 0.5, 1 and 2 are a reciprocal, ones, a root, a copy and a square."""
    if x.is_floating_point():
        if number == 2:
            return torch.square(x)
        if number == 0.5:
            return _root(x)
        if number == -1:
            return torch.reciprocal(x)
        if number != -0.5:  # torch's shortcut through a root has another limit at -inf
            return torch.pow(x, number)
    elif x.is_complex():
        if number == 0.5:
            return torch.sqrt(x)
        if number == -1:
            return _reciprocal_complex(x)
        if _is_few(number) and not arrays(x):
            return _power_whole(x, int(number.real))
    elif x.dtype not in SIGNED:
        if number == 2:
            return torch.square(x)
        if number >= 0:
            return torch.pow(x, number)
    return power.resolve(x.dtype, x.dtype)(x, constants(x.dtype, type(number))[number])


def _float_power_number(x: Tensor, number: Any) -> Tensor:
    """Return the power, by products where NumPy computes it so."""
    if x.is_complex() and _is_few(number) and not arrays(x):
        return _power_whole(x, int(number.real))
    return float_power.resolve(x.dtype, x.dtype)(x, constants(x.dtype, type(number))[number])


# torch multiplies the second operand by alpha = 1+0j, and inf * 0 is nan: https://github.com/pytorch/pytorch/issues/82510
add = Kernel(torch.add, unsigned=same_bits(torch.add), complex=hosted(np.add, by_parts(torch.add)), inplace=Tensor.add_)
subtract = Kernel(
    torch.sub, unsigned=same_bits(torch.sub), complex=hosted(np.subtract, by_parts(torch.sub)), inplace=Tensor.sub_
)
# torch rounds complex products otherwise in its vectors than in what is left of them.
multiply = Kernel(torch.mul, unsigned=same_bits(torch.mul), complex=hosted(np.multiply, torch.mul), inplace=Tensor.mul_)
divide = Kernel(torch.div, inplace=Tensor.div_, scalar_left=_divide_number)
power = Kernel(
    _power_vectors,
    half=_power_float,
    integer=_power_integer,
    unsigned=widened(torch.pow, uint64=_power_uint64),
    complex=hosted(np.power, _power_complex),
    inplace=None if HAS_VECTORS else large_enough(Tensor.pow_),
    scalar_right=_power_number,
)
float_power = Kernel(_power_vectors, complex=hosted(np.power, _power_complex), scalar_right=_float_power_number)
DIRECT[_power_float] = torch.pow
# torch negates 0j to 0j where the vector is long enough.
negative = Kernel(torch.neg, unsigned=same_bits(torch.neg), complex=hosted(np.negative, by_parts(torch.neg)))
positive = Kernel(torch.clone)
conjugate = Kernel(torch.clone, complex=torch.conj_physical)
# torch's absolute values of complex numbers take ten times as long.
absolute = Kernel(torch.abs, bool=torch.clone, unsigned=torch.clone, complex=hosted(np.absolute, torch.abs))
fabs = Kernel(torch.abs)
sign = Kernel(
    hosted(np.sign, _sign_float), half=_sign_float, integer=torch.sign, unsigned=_sign_unsigned, complex=_sign_complex
)
reciprocal = Kernel(
    torch.reciprocal, integer=_reciprocal_integer, unsigned=_reciprocal_unsigned, complex=_reciprocal_complex
)
square = Kernel(torch.square, unsigned=same_bits(torch.square), complex=hosted(np.square, torch.square))
sqrt = Kernel(_root, half=torch.sqrt, complex=torch.sqrt)
cbrt = Kernel(hosted(np.cbrt, _cbrt, is_whole=True), half=_cbrt)
hypot = Kernel(hosted(np.hypot, _hypot), half=_hypot)  # torch's error is up to 0.9 ulp, NumPy's 0.5
heaviside = Kernel(hosted(np.heaviside, _heaviside), half=_heaviside)
rint = Kernel(torch.round, complex=hosted(np.rint, by_parts(torch.round)))
floor = Kernel(torch.floor, bool=torch.clone, integer=torch.clone, unsigned=torch.clone)
ceil = Kernel(torch.ceil, bool=torch.clone, integer=torch.clone, unsigned=torch.clone)
trunc = Kernel(torch.trunc, bool=torch.clone, integer=torch.clone, unsigned=torch.clone)
maximum = Kernel(
    torch.maximum, unsigned=widened(torch.maximum, uint64=same_order(torch.maximum)), complex=_maximum_complex
)
minimum = Kernel(
    torch.minimum, unsigned=widened(torch.minimum, uint64=same_order(torch.minimum)), complex=_minimum_complex
)
_fmax, _fmin = _sharing(torch.fmax, torch.maximum), _sharing(torch.fmin, torch.minimum)
fmax = Kernel(
    hosted(np.fmax, _fmax),
    half=_fmax,
    unsigned=widened(torch.maximum, uint64=same_order(torch.maximum)),
    complex=_fmax_complex,
)
fmin = Kernel(
    hosted(np.fmin, _fmin),
    half=_fmin,
    unsigned=widened(torch.minimum, uint64=same_order(torch.minimum)),
    complex=_fmin_complex,
)
