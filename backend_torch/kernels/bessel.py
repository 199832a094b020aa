"""Bessel functions of order 0 and 1: torch's have 8 digits and no gradient.

Layer: owns their rational functions and expansions, from Cephes (S. L. Moshier, Methods and Programs for Mathematical
Functions, 1989).
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch

Tensor = torch.Tensor
Coefficients = Sequence[float]

# Coefficients, highest power first. Beyond 5: numerators and denominators of the expansion's even and odd part.
_ORDER_0: tuple[Coefficients, ...] = (
    (7.96936729297347051624e-4, 8.28352392107440799803e-2, 1.23953371646414299388, 5.44725003058768775090,
     8.74716500199817011941, 5.30324038235394892183, 9.99999999999999997821e-1),
    (9.24408810558863637013e-4, 8.56288474354474431428e-2, 1.25352743901058953537, 5.47097740330417105182,
     8.76190883237069594232, 5.30605288235394617618, 1.00000000000000000218),
    (-1.13663838898469149931e-2, -1.28252718670509318512, -1.95539544257735972385e1, -9.32060152123768231369e1,
     -1.77681167980488050595e2, -1.47077505154951170175e2, -5.14105326766599330220e1, -6.05014350600728481186),
    (1.0, 6.43178256118178023184e1, 8.56430025976980587198e2, 3.88240183605401609683e3, 7.24046774195652478189e3,
     5.93072701187316984827e3, 2.06209331660327847417e3, 2.42005740240291393179e2),
)  # fmt: skip
_ORDER_1: tuple[Coefficients, ...] = (
    (7.62125616208173112003e-4, 7.31397056940917570436e-2, 1.12719608129684925192, 5.11207951146807644818,
     8.42404590141772420927, 5.21451598682361504063, 1.00000000000000000254),
    (5.71323128072548699714e-4, 6.88455908754495404082e-2, 1.10514232634061696926, 5.07386386128601488557,
     8.39985554327604159757, 5.20982848682361821619, 9.99999999999999997461e-1),
    (5.10862594750176621635e-2, 4.98213872951233449420, 7.58238284132545283818e1, 3.66779609360150777800e2,
     7.10856304998926107277e2, 5.97489612400613639965e2, 2.11688757100572135698e2, 2.52070205858023719784e1),
    (1.0, 7.42373277035675149943e1, 1.05644886038262816351e3, 4.98641058337653607651e3, 9.56231892404756170795e3,
     7.99704160447350683650e3, 2.82619278517639096600e3, 3.36093607810698293419e2),
)  # fmt: skip
# Up to 5: squares of the first two zeros of j0 and j1, and the remaining functions when these are divided out.
_ZEROS = (5.78318596294678452118, 3.04712623436620863991e1), (1.46819706421238932572e1, 4.92184563216946036703e1)
_FIRST: tuple[tuple[Coefficients, Coefficients], ...] = (
    (
        (-4.79443220978201773821e9, 1.95617491946556577543e12, -2.49248344360967716204e14, 9.70862251047306323952e15),
        (1.0, 4.99563147152651017219e2, 1.73785401676374683123e5, 4.84409658339962045305e7, 1.11855537045356834862e10,
         2.11277520115489217587e12, 3.10518229857422583814e14, 3.18121955943204943306e16, 1.71086294081043136091e18),
    ),
    (
        (-8.99971225705559398224e8, 4.52228297998194034323e11, -7.27494245221818276015e13, 3.68295732863852883286e15),
        (1.0, 6.20836478118054335476e2, 2.56987256757748830383e5, 8.35146791431949253037e7, 2.21511595479792499675e10,
         4.74914122079991414898e12, 7.84369607876235854894e14, 8.95222336184627338078e16, 5.32278620332680085395e18),
    ),
)  # fmt: skip
# The parts of y0 and y1 without the logarithm.
_SECOND: tuple[tuple[Coefficients, Coefficients], ...] = (
    (
        (1.55924367855235737965e4, -1.46639295903971606143e7, 5.43526477051876500413e9, -9.82136065717911466409e11,
         8.75906394395366999549e13, -3.46628303384729719441e15, 4.42733268572569800351e16, -1.84950800436986690637e16),
        (1.0, 1.04128353664259848412e3, 6.26107330137134956842e5, 2.68919633393814121987e8, 8.64002487103935000337e10,
         2.02979612750105546709e13, 3.17157752842975028269e15, 2.50596256172653059228e17),
    ),
    (
        (1.26320474790178026440e9, -6.47355876379160291031e11, 1.14509511541823727583e14, -8.12770255501325109621e15,
         2.02439475713594898196e17, -7.78877196265950026825e17),
        (1.0, 5.94301592346128195359e2, 2.35564092943068577943e5, 7.34811944459721705660e7, 1.87601316108706159478e10,
         3.88231277496238566008e12, 6.20557727146953693363e14, 6.87141087355300489866e16, 3.97270608116560655612e18),
    ),
)  # fmt: skip
_LIMIT = 5.0


def _polynomial(x: Tensor, coefficients: Coefficients) -> Tensor:
    """Evaluate a polynomial by Horner's rule."""
    result = torch.full_like(x, coefficients[0])
    for coefficient in coefficients[1:]:
        result = result * x + coefficient
    return result


def _quotient(x: Tensor, tables: Sequence[Coefficients]) -> Tensor:
    return _polynomial(x, tables[0]) / _polynomial(x, tables[1])


def _expansion(x: Tensor, order: int) -> tuple[Tensor, Tensor]:
    """Return the functions of the first and second kind for x > 5."""
    tables = (_ORDER_0, _ORDER_1)[order]
    inverse = _LIMIT / x
    square = inverse * inverse
    even, odd = _quotient(square, tables[:2]), inverse * _quotient(square, tables[2:])
    phase = x - math.pi * (2 * order + 1) / 4
    size = math.sqrt(2 / math.pi) / torch.sqrt(x)
    cosine, sine = torch.cos(phase), torch.sin(phase)
    return size * (even * cosine - odd * sine), size * (even * sine + odd * cosine)


def _near(x: Tensor, order: int) -> Tensor:
    """Return the function of the first kind from -5 to 5."""
    square = x * x
    one, other = _ZEROS[order]
    value = (square - one) * (square - other) * _quotient(square, _FIRST[order])
    return value * x if order else value


def _first(x: Tensor, order: int) -> Tensor:
    """The function of the first kind: even for order 0, odd for order 1."""
    size = torch.abs(x)
    near = size <= _LIMIT
    far, _ = _expansion(torch.where(near, 2 * _LIMIT, size), order)
    return torch.where(near, _near(torch.where(near, x, 1.0), order), far * torch.sign(x) if order else far)


def _second(x: Tensor, order: int) -> Tensor:
    """The function of the second kind: -inf at 0, nan below."""
    near = x <= _LIMIT
    _, far = _expansion(torch.where(near, 2 * _LIMIT, x), order)
    inside = torch.where(near & (x > 0), x, 1.0)
    value = _quotient(inside * inside, _SECOND[order])
    logarithm = _near(inside, order) * torch.log(inside)
    value = value * inside + 2 / math.pi * (logarithm - 1 / inside) if order else value + 2 / math.pi * logarithm
    value = torch.where(near, value, far)
    return torch.where(x < 0, torch.nan, torch.where(x == 0, -torch.inf, value))


def j0(x: Tensor) -> Tensor:
    """The function of the first kind of order 0."""
    return _first(x, 0)


def j1(x: Tensor) -> Tensor:
    """The function of the first kind of order 1."""
    return _first(x, 1)


def y0(x: Tensor) -> Tensor:
    """The function of the second kind of order 0."""
    return _second(x, 0)


def y1(x: Tensor) -> Tensor:
    """The function of the second kind of order 1."""
    return _second(x, 1)
