"""Every ufunc on every pair of dtypes, with Python and NumPy scalars and on drawn values, against NumPy's."""

from __future__ import annotations

from typing import Any

import hypothesis.extra.numpy as hnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tnp
from tests.oracle import ALL, COMPLEX, Raised, agrees, assert_same, ours, outcome, sample

UFUNCS = sorted({u.__name__ for u in map(np.__dict__.get, dir(np)) if isinstance(u, np.ufunc) and u.signature is None})
UNARY = [name for name in UFUNCS if getattr(np, name).nin == 1]
BINARY = [name for name in UFUNCS if getattr(np, name).nin == 2]
SCALARS = [True, 0, 1, 2, 3, -1, 300, 2.5, -0.5, 1e300, 1 + 2j, np.float32(2), np.int8(3), np.uint64(5), np.bool_(True)]
# What is exact: every bit must be NumPy's.
EXACT = [
    "add", "subtract", "multiply", "floor_divide", "remainder", "fmod", "divmod", "gcd", "lcm", "maximum", "minimum",
    "fmax", "fmin", "equal", "not_equal", "less", "less_equal", "greater", "greater_equal", "logical_and", "logical_or",
    "logical_xor", "bitwise_and", "bitwise_or", "bitwise_xor", "left_shift", "right_shift", "copysign", "nextafter",
    "heaviside",
]  # fmt: skip


def assert_near(expected: Any, actual: Any, where: str) -> None:
    """The same, floats within 8 times the distance to the next one, complex powers within 200 times."""
    if isinstance(expected, tuple) and not isinstance(actual, Raised):
        assert len(expected) == len(actual)
        for one, other in zip(expected, actual, strict=True):
            assert_near(one, other, where)
        return
    inexact = isinstance(expected, (np.ndarray, np.generic)) and expected.dtype.kind in "fc"
    # A logarithm's or a sum's distance counts in units of its operands, which are about 1.
    eps = float(np.finfo(expected.dtype).eps) if inexact else 0.0
    ulps = 200 if "power" in where and inexact and expected.dtype.kind == "c" else 8
    assert_same(expected, actual, ulps * eps if inexact else None, eps, where)


@pytest.mark.parametrize("name", UFUNCS)
def test_attributes(name: str) -> None:
    mine, theirs = getattr(tnp, name), getattr(np, name)
    for attribute in ("__name__", "nin", "nout", "nargs", "ntypes", "types", "identity", "signature"):
        assert getattr(mine, attribute) == getattr(theirs, attribute)


def test_second_names() -> None:
    for name in dir(np):
        ufunc = getattr(np, name)
        if isinstance(ufunc, np.ufunc) and name != ufunc.__name__:
            assert getattr(tnp, name) is getattr(tnp, ufunc.__name__), name


@pytest.mark.parametrize("name", UNARY)
def test_every_dtype(name: str) -> None:
    def apply(xp: Any, dtype: str) -> Any:
        return getattr(xp, name)(sample(xp, (2, 3), dtype))

    for dtype in ALL:
        assert_near(outcome(apply, np, dtype), outcome(apply, ours(), dtype), f" {name}({dtype})")


@pytest.mark.parametrize("name", BINARY)
def test_every_pair_of_dtypes(name: str) -> None:
    def apply(xp: Any, first: str, second: str) -> Any:
        return getattr(xp, name)(sample(xp, (2, 3), first), sample(xp, (3,), second, seed=1))

    for first in ALL:
        for second in ALL:
            where = f" {name}({first}, {second})"
            assert_near(outcome(apply, np, first, second), outcome(apply, ours(), first, second), where)


@pytest.mark.parametrize("name", BINARY)
def test_scalars(name: str) -> None:
    def right(xp: Any, dtype: str, number: Any) -> Any:
        return getattr(xp, name)(sample(xp, (3,), dtype), number)

    def left(xp: Any, dtype: str, number: Any) -> Any:
        return getattr(xp, name)(number, sample(xp, (3,), dtype))

    for dtype in ALL:
        for number in SCALARS:
            for apply in (right, left):
                where = f" {name}, {apply.__name__} of {dtype}: {number!r}"
                assert_near(outcome(apply, np, dtype, number), outcome(apply, ours(), dtype, number), where)


@pytest.mark.parametrize("name", UNARY)
def test_scalar_results(name: str) -> None:
    def apply(xp: Any, value: Any) -> Any:
        return getattr(xp, name)(value)

    for value in (1, 0.5, True, 0.5 + 1j):
        assert_near(outcome(apply, np, value), outcome(apply, ours(), value), f" {name}({value!r})")


@st.composite
def pairs(draw: Any) -> tuple[np.ndarray, np.ndarray]:
    """Two arrays of any dtypes, values and shapes that broadcast (or now and then do not)."""
    shapes = draw(hnp.mutually_broadcastable_shapes(num_shapes=2, max_dims=3, max_side=4)).input_shapes
    if draw(st.integers(0, 9)) == 0:
        shapes = ((2, 3), (2,))
    return tuple(draw(hnp.arrays(draw(st.sampled_from(ALL)), shape)) for shape in shapes)  # type: ignore[return-value]


def moderate(operand: np.ndarray) -> np.ndarray:
    """No quotient beyond 2**255, which is torch's, and no complex product, which may be a fused one."""
    operand = operand.real.copy()
    if operand.dtype.kind == "f":
        operand = np.where(np.abs(operand) < 1e-30, 0, np.clip(operand, -1e30, 1e30)).astype(operand.dtype)
    return operand


@given(name=st.sampled_from(EXACT), operands=pairs())
def test_any_values(name: str, operands: tuple[np.ndarray, np.ndarray]) -> None:
    if name in ("multiply", "floor_divide", "remainder", "divmod", "fmod"):
        operands = tuple(map(moderate, operands))  # type: ignore[assignment]

    def apply(xp: Any) -> Any:
        return getattr(xp, name)(*[xp.asarray(operand.copy()) for operand in operands])

    assert_same(outcome(apply, np), outcome(apply, ours()))


@agrees
@pytest.mark.parametrize("dtype", COMPLEX)
def test_sign_of_numbers_whose_size_overflows(xp: Any, dtype: str) -> Any:
    most = float(np.finfo(dtype).max)
    parts = [most, -most, most / 2, 0.0, np.inf, -np.inf, np.nan]
    return xp.sign(xp.asarray(np.array([complex(a, b) for a in parts for b in parts], dtype)))
