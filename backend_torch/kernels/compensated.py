"""Elementwise functions of CPU tensors with errors little above half an ulp, from operations that vectorise.

Layer: owns compensated arithmetic: a value is the sum of a float and a far smaller one, which holds the rounding error
(Dekker, "A floating-point technique for extending the available precision", 1971). The error of vectorised libraries is
up to one ulp, that of NumPy's loops half an ulp. `decompositions` replaces the libraries' functions by these.
"""

from __future__ import annotations

import math

import torch

Tensor = torch.Tensor
Pair = tuple[Tensor, Tensor]

# The first part has so few digits that its products by exponents are exact.
_LN2 = float.fromhex("0x1.62e42feep-1"), float.fromhex("0x1.a39ef35793c76p-33")
_SPLIT = 2.0**27 + 1
_ROOT_OF_HALF = 0x3FE6A09E667F3BCD  # the bits of sqrt(0.5)


def _halves(x: Tensor) -> Pair:
    """Split x into two floats of half as many digits, whose products are exact."""
    scaled = x * _SPLIT
    high = scaled - (scaled - x)
    return high, x - high


def _sum(x: Tensor, y: Tensor) -> Pair:
    total = x + y
    back = total - x
    return total, (x - (total - back)) + (y - back)


def _sum_of_ordered(x: Tensor, y: Tensor) -> Pair:
    """Return the sum and its rounding error, if x is 0 or the larger one."""
    total = x + y
    return total, y - (total - x)


def _square(x: Tensor) -> Pair:
    square = x * x
    high, low = _halves(x)
    return square, ((high * high - square) + 2 * (high * low)) + low * low


def _power_of_two(exponent: Tensor) -> Tensor:
    """Return 2 ** exponent for an integer tensor from -1023, where the power counts as 0, to 1023."""
    return ((exponent + 1023) << 52).view(torch.float64)


def _exp(x: Tensor, rest: Tensor | float, k: Tensor) -> Pair:
    """Return exp(x + rest) / 2^k - 1 in float64, with k ln 2 near x, and the first part's rounding error.

    With x = k ln 2 + r it is r + r^2 / 2 and a Taylor series, whose rounding error is small.
    """
    most = x - k * _LN2[0]
    r = most - k * _LN2[1]
    rest = ((most - r) - k * _LN2[1]) + rest
    square, rounded_off = _square(r)
    series = torch.full_like(r, 1 / math.factorial(14))
    for power in range(13, 2, -1):
        series = series * r + 1 / math.factorial(power)
    half = 0.5 * square
    near = r + half
    return near, ((r - near) + half) + ((square * r) * series + 0.5 * rounded_off + rest * (1 + r))


def expm1(x: Tensor) -> Tensor:
    """Return exp(x) - 1 in float64: 2^k (exp(r) - 1) + 2^k - 1, each sum with its rounding error."""
    k = torch.round(x * (1 / math.log(2))).clamp(-60, 1024)
    near, rest = _exp(x, 0.0, k)
    power_of_two = _power_of_two(k.to(torch.int64) - 1)  # because 2 ** 1024 is infinite
    whole = power_of_two - 0.5
    near = near * power_of_two
    total = whole + near
    back = total - whole
    rest = rest * power_of_two + ((whole - (total - back)) + (near - back))
    back = whole - power_of_two
    rest = rest + ((power_of_two - (whole - back)) - (0.5 + back))
    result = 2 * (total + rest)
    result = torch.where(x < -40, -1.0, torch.where(x > 709.8, torch.inf, result))
    return torch.where(torch.abs(x) < 2.0**-54, x, result)


def _log1p(x: Tensor, rest: Tensor | float = 0.0) -> Pair:
    """Return log(1 + x + rest) for -1 < x < inf in float64, and the first part's rounding error.

    With 1 + x = 2^k (1 + f) it is k ln 2 + 2 artanh(s) for s = f / (2 + f), which is s and a series in s^2.
    """
    above, rounded_off = _sum(torch.ones_like(x), x)
    bits = above.view(torch.int64)
    k = (bits - _ROOT_OF_HALF) >> 52
    fraction = (bits - (k << 52)).view(torch.float64)
    f, rest = _sum_of_ordered(fraction - 1, (rounded_off + rest) * _power_of_two((-k).clamp_min(-1023)))
    divisor = 2 + f
    inverse = 1 / divisor
    s = f * inverse
    high, _ = _halves(s)
    upper, lower = _halves(divisor)
    rest = (((f - high * upper) - high * lower) + (rest - s * ((f - (divisor - 2)) + rest))) * inverse
    square = s * s
    series = torch.full_like(s, 1 / 23)
    for power in range(21, 1, -2):
        series = series * square + 1 / power
    exponent = k.to(torch.float64)
    total, rounded_off = _sum_of_ordered(exponent * _LN2[0], 2 * high)
    return total, rounded_off + (exponent * _LN2[1] + 2 * (rest + (s * square) * series))


def log1p(x: Tensor) -> Tensor:
    """log(1 + x) in float64."""
    total, rest = _log1p(x)
    result = torch.where(torch.abs(x) < 2.0**-54, x, total + rest)
    limit = torch.where(x == -1, -torch.inf, torch.where(x < -1, torch.nan, x))
    return torch.where((x > -1) & (x < torch.inf), result, limit)


def logaddexp(x: Tensor, y: Tensor) -> Tensor:
    """log(exp(x) + exp(y)) in float64: the larger one and log(1 + exp(-d)), d their difference."""
    large, small = torch.maximum(x, y), torch.minimum(x, y)
    difference, rest = _sum(small, -large)
    k = torch.round(difference * (1 / math.log(2))).clamp_min(-1080)
    near, rest = _exp(difference.clamp_min(-748), torch.where(torch.isfinite(difference), rest, 0.0), k)
    exponential, rounded_off = _sum(torch.ones_like(near), near)
    exponential, rest = _sum(exponential, rest + rounded_off)
    half = k.to(torch.int64) >> 1  # 2 ** -1074 is not a normal number, so two factors are needed
    factors = _power_of_two(half), _power_of_two(k.to(torch.int64) - half)
    exponential = exponential * factors[0] * factors[1]
    more, rest = _log1p(exponential, rest * factors[0] * factors[1])
    total, rounded_off = _sum(large, more)
    result = torch.where(exponential < 2.0**-54, large + exponential, total + (rounded_off + rest))
    return torch.where(torch.isnan(difference), large, result)


def hypot(x: Tensor, y: Tensor) -> Tensor:
    """Return the root of x * x + y * y, in float32 and float64; the squares of float32 are exact in float64.

    For float64, x and y are divided by a power of two near the larger one, so that no square overflows. The rounding
    errors of the squares, their sum and the root are added to the root.
    """
    infinite = torch.isinf(x) | torch.isinf(y)
    if x.dtype is torch.float32:
        wide_x, wide_y = x.to(torch.float64), y.to(torch.float64)
        return torch.where(infinite, torch.inf, torch.sqrt(wide_x * wide_x + wide_y * wide_y).to(torch.float32))
    x, y = torch.abs(x), torch.abs(y)
    large, small = torch.maximum(x, y), torch.minimum(x, y)
    exponent = (large.view(torch.int64) >> 52).clamp(1, 2045) - 1023
    scale = _power_of_two(-exponent)
    larger, rest = _square(large * scale)
    smaller, rounded_off = _square(small * scale)
    total = larger + smaller
    rest = (smaller - (total - larger)) + (rest + rounded_off)
    root = torch.sqrt(total)
    square, rounded_off = _square(root)
    root = (root + (((total - square) - rounded_off) + rest) / (2 * root)) * _power_of_two(exponent)
    return torch.where(infinite, torch.inf, torch.where(large == 0, 0.0, root))
