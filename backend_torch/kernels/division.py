"""Division with a remainder: quotients, remainders, common divisors and multiples.

Layer: owns how torch computes NumPy's ``floor_divide``, ``remainder``, ``fmod``, ``divmod``, ``gcd`` and ``lcm``.
torch's integer division raises for a zero divisor and kills the process for INT_MIN / -1
(https://github.com/pytorch/pytorch/issues/127804); NumPy's gives 0 and INT_MIN. Its vectorised fmod gives nan where
x / y overflows (https://github.com/pytorch/pytorch/issues/193753).
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from backend_torch.kernels.host import hosted
from backend_torch.kernels.kernel import Function, Kernel, large_enough, widened
from backend_torch.kernels.writing import together
from backend_torch.tensors.constants import constants
from backend_torch.tensors.dtypes import SIGNED

Tensor = torch.Tensor
_HIGH = torch.iinfo(torch.int64).min
_LOW = torch.iinfo(torch.int64).max
_OWN = {*SIGNED, torch.float16, torch.bfloat16}  # dtypes for which torch's division by a number is wrong too


def _special(divisor: Tensor) -> Tensor:
    """Return where an integer division would fault in the processor."""
    return divisor == 0 if divisor.dtype is torch.uint8 else (divisor == 0) | (divisor == -1)


def _floor_divide_integer(x: Tensor, y: Tensor) -> Tensor:
    """Return x // y; for a divisor of 0 or -1, x times the divisor."""
    special = _special(y)
    quotient = torch.div(x, y.masked_fill(special, 1), rounding_mode="floor")
    return quotient * y.masked_fill(~special, 1)


def _remainder_integer(x: Tensor, y: Tensor) -> Tensor:
    return torch.remainder(x, y.masked_fill(_special(y), 1))


def _fmod_integer(x: Tensor, y: Tensor) -> Tensor:
    return torch.fmod(x, y.masked_fill(_special(y), 1))


@together
def _divmod_uint64(x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
    """Return quotient and remainder of uint64 values held as int64 (Hacker's Delight, 9-3); 0 and 0 for a divisor 0."""
    zero, high = y == 0, y < 0
    halved = torch.div((x >> 1) & _LOW, y.masked_fill(zero | high, 1), rounding_mode="trunc")
    quotient = (halved << 1).masked_fill(high, 0)
    rest = x - quotient * y
    more = (rest ^ _HIGH) >= (y ^ _HIGH)
    return (quotient + more).masked_fill(zero, 0), torch.where(more, rest - y, rest).masked_fill(zero, 0)


@together
def _gcd_uint64(x: Tensor, y: Tensor) -> Tensor:
    """Two of Euclid's steps bring any two uint64 below 2**63, where torch's gcd is right."""
    swapped = (x ^ _HIGH) < (y ^ _HIGH)
    large, small = torch.where(swapped, y, x), torch.where(swapped, x, y)
    _, first = _divmod_uint64(large, small)
    _, second = _divmod_uint64(small, first)
    result = torch.where(first == 0, small, torch.gcd(first, second))
    return torch.where(small == 0, large, result)


def _uint64(function: Function) -> Function:
    """Turn a function of int64 tensors that hold uint64 values into one of uint64 tensors."""

    def through_int64(x: Tensor, y: Tensor) -> Tensor:
        return function(x.view(torch.int64), y.view(torch.int64)).view(torch.uint64)

    return through_int64


@together
def _gcd_integer(x: Tensor, y: Tensor) -> Tensor:
    """Correct torch.gcd, which may be negative for INT_MIN: https://github.com/pytorch/pytorch/issues/121343."""
    return torch.abs(torch.gcd(x, y))


def _lcm_integer(x: Tensor, y: Tensor) -> Tensor:
    """Return |x| / gcd * |y|, which wraps around as in NumPy; torch.lcm kills the process for INT_MIN (same issue)."""
    divisor = _gcd_integer(x, y)
    divisor = divisor.masked_fill(divisor == 0, 1)
    return torch.div(torch.abs(x), divisor, rounding_mode="trunc") * torch.abs(y)


def _lcm_uint64(x: Tensor, y: Tensor) -> Tensor:
    quotient, _ = _divmod_uint64(x, _gcd_uint64(x, y))
    return quotient * y


def _lifted(divisor: Tensor) -> Tensor:
    """Return the divisor, times a power of two if it is below 1."""
    scale = 2.0 ** (15 if divisor.dtype is torch.float16 else 1023 if divisor.dtype is torch.float64 else 127)
    return torch.where(torch.abs(divisor) < 1, divisor * scale, divisor)


def _reduced(x: Tensor, divisor: Tensor) -> Tensor:
    """Reduce x by large multiples of the divisor, so that no quotient overflows; subnormal divisors need two steps."""
    lifted = _lifted(divisor)
    return torch.fmod(torch.fmod(x, _lifted(lifted)), lifted)


def _fmod_float(x: Tensor, y: Tensor) -> Tensor:
    return torch.fmod(_reduced(x, y), y)


def _remainder_float(x: Tensor, y: Tensor) -> Tensor:
    """Return Python's remainder, whose zeros have the sign of y; for a negative y, negate that of -x by -y.

    ``+ 0.0`` makes a negative zero positive, and unlike copysign keeps the gradient where the remainder is zero.
    """
    sign = 1.0 - 2.0 * torch.signbit(y).to(y.dtype)  # no constants, which the code of loops can't take from steps
    divisor = y * sign
    return (torch.remainder(_reduced(x * sign, divisor), divisor) + 0.0) * sign


def _floor_divide_float(x: Tensor, y: Tensor | float) -> Tensor:
    """div has the derivative zero; torch.floor_divide has none (https://github.com/pytorch/pytorch/issues/43327)."""
    return torch.div(x, y, rounding_mode="floor")


@large_enough
def _floor_divide_inplace(x: Tensor, y: Tensor) -> Tensor:
    return x.div_(y, rounding_mode="floor")


def _floor_divide_half(x: Tensor, y: Tensor) -> Tensor:
    """Compute in float32, as NumPy does: torch rounds the steps to half."""
    return _floor_divide_float(x.to(torch.float32), y.to(torch.float32)).to(x.dtype)


def _divmod_of(floor_divide: Function, remainder: Function) -> Function:
    def divided(x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
        return floor_divide(x, y), remainder(x, y)

    divided.__name__ = f"{floor_divide.__name__} {remainder.__name__}"
    return divided


def _divmod_unsigned(x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
    return floor_divide.resolve(x.dtype, y.dtype)(x, y), remainder.resolve(x.dtype, y.dtype)(x, y)


def _simple(x: Tensor, number: Any) -> bool:
    """Whether torch divides by this number correctly: it is positive and, for floats, whole."""
    return number >= 1 and x.dtype not in _OWN


def _floor_divide_number(x: Tensor, number: Any) -> Tensor:
    if _simple(x, number):
        return _floor_divide_float(x, number)
    return floor_divide.resolve(x.dtype, x.dtype)(x, constants(x.dtype, type(number))[number])


def _remainder_number(x: Tensor, number: Any) -> Tensor:
    if _simple(x, number):
        result = torch.remainder(x, number)
        return result + 0.0 if x.is_floating_point() else result
    return remainder.resolve(x.dtype, x.dtype)(x, constants(x.dtype, type(number))[number])


floor_divide = Kernel(
    _floor_divide_float,
    integer=hosted(np.floor_divide, _floor_divide_integer, is_whole=True),
    unsigned=hosted(
        np.floor_divide, widened(_floor_divide_integer, uint64=_uint64(lambda x, y: _divmod_uint64(x, y)[0]))
    ),
    half=_floor_divide_half,
    inplace=_floor_divide_inplace,
    scalar_right=_floor_divide_number,
)
remainder = Kernel(
    hosted(np.remainder, _remainder_float, is_whole=True),
    integer=hosted(np.remainder, _remainder_integer, is_whole=True),
    unsigned=hosted(np.remainder, widened(_remainder_integer, uint64=_uint64(lambda x, y: _divmod_uint64(x, y)[1]))),
    scalar_right=_remainder_number,
)
fmod = Kernel(
    hosted(np.fmod, _fmod_float, is_whole=True),
    integer=hosted(np.fmod, _fmod_integer, is_whole=True),
    unsigned=hosted(np.fmod, widened(_fmod_integer, uint64=_uint64(lambda x, y: _divmod_uint64(x, y)[1]))),
)
divmod = Kernel(
    hosted(np.divmod, _divmod_of(_floor_divide_float, _remainder_float), is_whole=True),
    integer=hosted(np.divmod, _divmod_of(_floor_divide_integer, _remainder_integer), is_whole=True),
    unsigned=hosted(np.divmod, _divmod_unsigned),
    half=_divmod_of(_floor_divide_half, _remainder_float),
)
gcd = Kernel(
    hosted(np.gcd, _gcd_integer, is_whole=True),
    unsigned=hosted(np.gcd, widened(together(torch.gcd), uint64=_uint64(_gcd_uint64))),
)
lcm = Kernel(
    hosted(np.lcm, _lcm_integer, is_whole=True),
    unsigned=hosted(np.lcm, widened(_lcm_integer, uint64=_uint64(_lcm_uint64))),
)
