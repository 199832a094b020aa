"""Compensated functions against mpmath's values, and NumPy's at infinities, NaN, zeros and the smallest numbers."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Any

import mpmath
import numpy as np
import pytest
import torch

from backend_torch.kernels import compensated

ENDS = [0.0, -0.0, math.inf, -math.inf, math.nan, 5e-324, -1e-310, 2.3e-308, 1.7e308, -1.7e308, -1.0, -2.0, -0.5, 1.0]
ENDS += [1e-20, -1e-20, 2.0**-54, 3.0, 40.0, 700.0, 709.79, -709.0, -720.0, -744.5, -746.0, -0.3]
EXACT: dict[str, Callable[..., Any]] = {
    "expm1": mpmath.expm1,
    "log1p": mpmath.log1p,
    "logaddexp": lambda x, y: mpmath.log(mpmath.exp(x) + mpmath.exp(y)),
    "hypot": mpmath.hypot,
}


def numbers(name: str) -> tuple[np.ndarray, ...]:
    rng = np.random.default_rng(0)
    small = rng.choice([-1, 1], 300) * 10.0 ** rng.uniform(-25, 0, 300)
    if name == "expm1":
        return (np.concatenate([small, rng.uniform(-2, 2, 700), rng.uniform(-40, 709, 500)]),)
    if name == "log1p":
        return (
            np.concatenate(
                [
                    small,
                    rng.uniform(-1, 3, 700),
                    10.0 ** rng.uniform(-3, 308, 300),
                    10.0 ** rng.uniform(-15, -1, 300) - 1,
                ]
            ),
        )
    if name == "hypot":
        size = 10.0 ** rng.uniform(-300, 300, 500)
        x = np.concatenate([rng.uniform(-2, 2, 1000), size])
        return x, np.concatenate([rng.uniform(-2, 2, 1000), size * rng.uniform(0.01, 2, 500)])
    x = rng.uniform(-50, 50, 500)
    near = rng.uniform(-3, 3, 1000), rng.uniform(-3, 3, 1000)
    return np.concatenate([x, near[0]]), np.concatenate([x + rng.uniform(-40, 40, 500), near[1]])


@pytest.mark.parametrize("name", EXACT)
def test_errors_are_little_more_than_half_an_ulp(name: str) -> None:
    given = numbers(name)
    result = getattr(compensated, name)(*map(torch.from_numpy, given))
    with mpmath.workprec(400):
        for *values, got in zip(*(x.tolist() for x in given), result.tolist(), strict=True):
            unit = math.ulp(got)
            if name == "logaddexp":  # where the sum cancels, its digits are those of the larger number
                unit = max(unit, *map(math.ulp, values))
            assert abs(EXACT[name](*map(mpmath.mpf, values)) - got) <= 0.55 * unit, values


@pytest.mark.parametrize("name", EXACT)
def test_special_values(name: str) -> None:
    ufunc = getattr(np, name)
    given = [np.array(values) for values in zip(*itertools.product(ENDS, repeat=ufunc.nin), strict=True)]
    with np.errstate(all="ignore"):
        expected = ufunc(*given)
    result = getattr(compensated, name)(*map(torch.from_numpy, given)).numpy()
    np.testing.assert_allclose(result, expected, rtol=3e-16, atol=0)
    signed = ~np.isnan(expected)
    assert np.array_equal(np.signbit(result)[signed], np.signbit(expected)[signed])


def test_hypot_of_float32() -> None:
    rng = np.random.default_rng(0)
    numbers = np.concatenate([rng.uniform(-2, 2, 500), 10.0 ** rng.uniform(-44, 38, 500), ENDS])
    with np.errstate(all="ignore"):
        x = numbers.astype(np.float32)
        y = rng.permutation(x)
        expected = np.hypot(x.astype(np.float64), y.astype(np.float64)).astype(np.float32)
    result = compensated.hypot(torch.from_numpy(x), torch.from_numpy(y)).numpy()
    np.testing.assert_array_equal(result, expected)
