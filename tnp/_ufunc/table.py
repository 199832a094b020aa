"""Elementwise functions: NumPy's ufuncs, one row each.

Layer: owns the pairs of a NumPy ufunc (name, dtype rules, documentation) and its kernel. The kernel handles torch's
differences, and ``ufunc.py`` the calling convention.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import numpy

from backend_torch.kernels import arithmetic, bits, comparison, division, floating, transcendental
from tnp._ufunc.ufunc import BinaryUfunc, UnaryPairUfunc, UnaryUfunc

if TYPE_CHECKING:
    from collections.abc import Callable

    from tnp._core.base import ndarray

    class _BinaryPair(BinaryUfunc):
        """The type of ``divmod`` for type checkers: it returns two arrays."""

        operator: Callable[[Any, Any], tuple[ndarray, ndarray]]  # type: ignore[assignment]
        reflected: Callable[[Any, Any], tuple[ndarray, ndarray]]  # type: ignore[assignment]

        def __call__(  # type: ignore[override]
            self, x1: Any, x2: Any = ..., /, *outs: Any, **options: Any
        ) -> tuple[ndarray, ndarray]: ...


# Arithmetic.
add = BinaryUfunc(numpy.add, arithmetic.add)
subtract = BinaryUfunc(numpy.subtract, arithmetic.subtract)
multiply = BinaryUfunc(numpy.multiply, arithmetic.multiply)
divide = true_divide = BinaryUfunc(numpy.divide, arithmetic.divide)
power = pow = BinaryUfunc(numpy.power, arithmetic.power)
float_power = BinaryUfunc(numpy.float_power, arithmetic.float_power)
negative = UnaryUfunc(numpy.negative, arithmetic.negative)
positive = UnaryUfunc(numpy.positive, arithmetic.positive)
conjugate = conj = UnaryUfunc(numpy.conjugate, arithmetic.conjugate)
absolute = abs = UnaryUfunc(numpy.absolute, arithmetic.absolute)
fabs = UnaryUfunc(numpy.fabs, arithmetic.fabs)
sign = UnaryUfunc(numpy.sign, arithmetic.sign)
reciprocal = UnaryUfunc(numpy.reciprocal, arithmetic.reciprocal)
square = UnaryUfunc(numpy.square, arithmetic.square)
sqrt = UnaryUfunc(numpy.sqrt, arithmetic.sqrt)
cbrt = UnaryUfunc(numpy.cbrt, arithmetic.cbrt)
hypot = BinaryUfunc(numpy.hypot, arithmetic.hypot)
heaviside = BinaryUfunc(numpy.heaviside, arithmetic.heaviside)
rint = UnaryUfunc(numpy.rint, arithmetic.rint)
floor = UnaryUfunc(numpy.floor, arithmetic.floor)
ceil = UnaryUfunc(numpy.ceil, arithmetic.ceil)
trunc = UnaryUfunc(numpy.trunc, arithmetic.trunc)
maximum = BinaryUfunc(numpy.maximum, arithmetic.maximum)
minimum = BinaryUfunc(numpy.minimum, arithmetic.minimum)
fmax = BinaryUfunc(numpy.fmax, arithmetic.fmax)
fmin = BinaryUfunc(numpy.fmin, arithmetic.fmin)

# Division with a remainder.
floor_divide = BinaryUfunc(numpy.floor_divide, division.floor_divide)
remainder = mod = BinaryUfunc(numpy.remainder, division.remainder)
fmod = BinaryUfunc(numpy.fmod, division.fmod)
divmod = cast("_BinaryPair", BinaryUfunc(numpy.divmod, division.divmod))
gcd = BinaryUfunc(numpy.gcd, division.gcd)
lcm = BinaryUfunc(numpy.lcm, division.lcm)

# Exponentials and logarithms.
exp = UnaryUfunc(numpy.exp, transcendental.exp)
exp2 = UnaryUfunc(numpy.exp2, transcendental.exp2)
expm1 = UnaryUfunc(numpy.expm1, transcendental.expm1)
log = UnaryUfunc(numpy.log, transcendental.log)
log2 = UnaryUfunc(numpy.log2, transcendental.log2)
log10 = UnaryUfunc(numpy.log10, transcendental.log10)
log1p = UnaryUfunc(numpy.log1p, transcendental.log1p)
logaddexp = BinaryUfunc(numpy.logaddexp, transcendental.logaddexp)
logaddexp2 = BinaryUfunc(numpy.logaddexp2, transcendental.logaddexp2)

# Trigonometric and hyperbolic functions.
sin = UnaryUfunc(numpy.sin, transcendental.sin)
cos = UnaryUfunc(numpy.cos, transcendental.cos)
tan = UnaryUfunc(numpy.tan, transcendental.tan)
arcsin = asin = UnaryUfunc(numpy.arcsin, transcendental.arcsin)
arccos = acos = UnaryUfunc(numpy.arccos, transcendental.arccos)
arctan = atan = UnaryUfunc(numpy.arctan, transcendental.arctan)
arctan2 = atan2 = BinaryUfunc(numpy.arctan2, transcendental.arctan2)
sinh = UnaryUfunc(numpy.sinh, transcendental.sinh)
cosh = UnaryUfunc(numpy.cosh, transcendental.cosh)
tanh = UnaryUfunc(numpy.tanh, transcendental.tanh)
arcsinh = asinh = UnaryUfunc(numpy.arcsinh, transcendental.arcsinh)
arccosh = acosh = UnaryUfunc(numpy.arccosh, transcendental.arccosh)
arctanh = atanh = UnaryUfunc(numpy.arctanh, transcendental.arctanh)
radians = UnaryUfunc(numpy.radians, transcendental.radians)
degrees = UnaryUfunc(numpy.degrees, transcendental.degrees)
deg2rad = UnaryUfunc(numpy.deg2rad, transcendental.radians)
rad2deg = UnaryUfunc(numpy.rad2deg, transcendental.degrees)

# Comparisons and logic.
equal = BinaryUfunc(numpy.equal, comparison.equal)
not_equal = BinaryUfunc(numpy.not_equal, comparison.not_equal)
less = BinaryUfunc(numpy.less, comparison.less)
less_equal = BinaryUfunc(numpy.less_equal, comparison.less_equal)
greater = BinaryUfunc(numpy.greater, comparison.greater)
greater_equal = BinaryUfunc(numpy.greater_equal, comparison.greater_equal)
logical_and = BinaryUfunc(numpy.logical_and, comparison.logical_and)
logical_or = BinaryUfunc(numpy.logical_or, comparison.logical_or)
logical_xor = BinaryUfunc(numpy.logical_xor, comparison.logical_xor)
logical_not = UnaryUfunc(numpy.logical_not, comparison.logical_not)

# Bits.
bitwise_and = BinaryUfunc(numpy.bitwise_and, bits.bitwise_and)
bitwise_or = BinaryUfunc(numpy.bitwise_or, bits.bitwise_or)
bitwise_xor = BinaryUfunc(numpy.bitwise_xor, bits.bitwise_xor)
invert = bitwise_not = bitwise_invert = UnaryUfunc(numpy.invert, bits.invert)
left_shift = bitwise_left_shift = BinaryUfunc(numpy.left_shift, bits.left_shift)
right_shift = bitwise_right_shift = BinaryUfunc(numpy.right_shift, bits.right_shift)
bitwise_count = UnaryUfunc(numpy.bitwise_count, bits.bitwise_count)

# Floating point.
isnan = UnaryUfunc(numpy.isnan, floating.isnan)
isinf = UnaryUfunc(numpy.isinf, floating.isinf)
isfinite = UnaryUfunc(numpy.isfinite, floating.isfinite)
isnat = UnaryUfunc(numpy.isnat, floating.isnan)  # NumPy's resolver refuses every dtype that a tensor can carry
signbit = UnaryUfunc(numpy.signbit, floating.signbit)
copysign = BinaryUfunc(numpy.copysign, floating.copysign)
nextafter = BinaryUfunc(numpy.nextafter, floating.nextafter)
spacing = UnaryUfunc(numpy.spacing, floating.spacing)
modf = UnaryPairUfunc(numpy.modf, floating.modf)
frexp = UnaryPairUfunc(numpy.frexp, floating.frexp)
ldexp = BinaryUfunc(numpy.ldexp, floating.ldexp)
