"""Promotion (NEP 50): the dtype and the value of every operation on every pair of dtypes and every kind of scalar.

NumPy's own answer is the table; where it has no loop, or no dtype that a tensor can carry, tnp raises too.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tnp
from tests.oracle import ALL, INTEGERS, Raised, agrees, compare, outcome

BINARY = [
    "add", "subtract", "multiply", "divide", "floor_divide", "remainder", "power", "float_power", "maximum", "fmin",
    "less", "greater_equal", "equal", "not_equal", "bitwise_and", "bitwise_xor", "left_shift", "logical_or", "arctan2",
    "hypot", "copysign", "gcd", "logaddexp", "fmod", "heaviside", "nextafter", "ldexp", "divmod", "matmul",
]  # fmt: skip
UNARY = [
    "negative", "positive", "absolute", "sqrt", "exp", "square", "sign", "reciprocal", "invert", "logical_not",
    "isfinite", "conjugate", "floor", "rint", "modf", "frexp", "signbit", "spacing", "cbrt", "bitwise_count",
]  # fmt: skip
OPERATORS = [operator.add, operator.sub, operator.mul, operator.truediv, operator.floordiv, operator.mod, operator.lt,
             operator.eq, operator.and_, operator.lshift]  # fmt: skip
WEAK = [True, False, 0, 1, -1, 2, 127, 128, 255, 256, -129, 2**31, 2**32, 2**63, -(2**63), 2**64, 10**30, 1.0, -2.5,
        1e300, float("inf"), 1j, 2.5 - 1j]  # fmt: skip
STRONG = [np.bool_(True), np.int8(2), np.uint8(3), np.int64(-2), np.uint64(2), np.float16(1.5), np.float32(2.5),
          np.float64(0.5), np.complex64(1j)]  # fmt: skip
RTOL = {"float16": 2e-3, "float32": 1e-6, "complex64": 1e-6}


def dtype_of(result: Any) -> Any:
    """The dtypes of one result or several, or the class of the exception; as text."""
    if isinstance(result, Raised):
        return "raised"
    return [str(each.dtype) for each in result] if isinstance(result, tuple) else str(result.dtype)


def close_enough(*dtypes: Any) -> float:
    """How far a result of torch's may be from NumPy's: a few units in the last place of the narrowest dtype."""
    return max([RTOL.get(str(dtype), 1e-13) for dtype in dtypes])


def check(function: Callable[[Any], Any]) -> None:
    """Dtype, value and failure agree; the value up to rounding."""
    expected = outcome(function, np)
    results = expected if isinstance(expected, tuple) else (expected,)
    if any(str(getattr(each, "dtype", "")) in ("float128", "complex256", "object") for each in results):
        assert isinstance(outcome(function, tnp), Raised)
        return
    narrow = [] if isinstance(expected, Raised) else [each.dtype for each in results]
    # A comparison or an integer is the same to the bit.
    exact = all(dtype.kind in "biu" for dtype in narrow)
    compare(function, rtol=None if exact else close_enough(*narrow), may_raise=(OverflowError, TypeError))


def operands(xp: Any, first: str, second: str) -> tuple[Any, Any]:
    return xp.asarray(np.array([1, 0, 3, 7]).astype(first)), xp.asarray(np.array([2, 1, 1, 3]).astype(second))


@pytest.mark.parametrize("name", BINARY)
@pytest.mark.parametrize("first", ALL)
def test_every_pair_of_dtypes(first: str, name: str) -> None:
    for second in ALL:
        check(lambda xp, s=second: getattr(xp, name)(*operands(xp, first, s)))


@pytest.mark.parametrize("op", OPERATORS)
@pytest.mark.parametrize("first", ALL)
def test_every_pair_of_dtypes_in_place(first: str, op: Any) -> None:
    in_place = getattr(operator, "__i" + op.__name__.strip("_") + "__", op)
    for second in ALL:

        def run(xp: Any, second: str = second) -> Any:
            x, y = operands(xp, first, second)
            kept = x.copy()
            try:
                return in_place(x, y)
            except TypeError:
                return x, kept  # untouched

        check(run)


@pytest.mark.parametrize("name", UNARY)
@pytest.mark.parametrize("dtype", ALL)
def test_every_dtype(dtype: str, name: str) -> None:
    check(lambda xp: getattr(xp, name)(xp.asarray(np.array([1, 2, 7]).astype(dtype))))


@pytest.mark.parametrize("value", WEAK, ids=repr)
@pytest.mark.parametrize("dtype", ALL)
def test_python_scalars_are_weak(dtype: str, value: Any) -> None:
    for op in OPERATORS:
        if op is operator.lshift and isinstance(value, int) and abs(value) > 2:
            continue  # a shift by more than the width is undefined in C
        check(lambda xp, op=op: op(operands(xp, dtype, dtype)[0], value))
        check(lambda xp, op=op: op(value, operands(xp, dtype, dtype)[1]))
        check(lambda xp, op=op: op(operands(xp, dtype, dtype)[0][0], value))
        check(lambda xp, op=op: op(xp.asarray(operands(xp, dtype, dtype)[0][0]), value))


@pytest.mark.parametrize("value", STRONG, ids=repr)
@pytest.mark.parametrize("dtype", ALL)
def test_numpy_scalars_and_0d_arrays_are_strong(dtype: str, value: Any) -> None:
    for op in OPERATORS:
        check(lambda xp, op=op: op(operands(xp, dtype, dtype)[0], value))
        check(lambda xp, op=op: op(value, operands(xp, dtype, dtype)[1]))
        check(lambda xp, op=op: op(operands(xp, dtype, dtype)[0], xp.asarray(value)))
        check(lambda xp, op=op: op(operands(xp, dtype, dtype)[0], xp.asarray([value])[0]))
        check(lambda xp, op=op: op(xp.asarray(value), operands(xp, dtype, dtype)[1]))


@pytest.mark.parametrize("value", [300, -1, -129, 2**16, 2**32, 2**64, 10**30])
@pytest.mark.parametrize("dtype", INTEGERS)
def test_integers_that_do_not_fit(dtype: str, value: int) -> None:
    for op in (operator.add, operator.mul, operator.and_, operator.iadd):
        compare(lambda xp, op=op: op(xp.asarray(np.array([1, 2]).astype(dtype)), value), may_raise=OverflowError)
        compare(lambda xp, op=op: op(value, xp.asarray(np.array([1, 2]).astype(dtype))), may_raise=OverflowError)
    limits = np.iinfo(dtype)
    for op in (operator.lt, operator.le, operator.gt, operator.ge, operator.eq, operator.ne):
        compare(lambda xp, op=op: op(xp.asarray(np.array([limits.min, 0, limits.max], dtype)), value))
        compare(lambda xp, op=op: op(value, xp.asarray(np.array([limits.min, 0, limits.max], dtype))[1]))


def test_overflow_says_which_integer() -> None:
    with pytest.raises(OverflowError, match="300"):
        tnp.ones(2, np.uint8) + 300


@agrees
def test_values_are_compared_exactly(xp: Any) -> Any:
    big, unsigned = xp.asarray([2**63 - 1, -1, 0]), xp.asarray([2**63, 2**64 - 1, 0], np.uint64)
    return big < unsigned, big == unsigned, unsigned > -1, unsigned == 2**64 - 1, big >= unsigned, big != unsigned


@pytest.mark.parametrize("dtype", ALL)
@agrees
def test_reductions_choose_their_dtype(xp: Any, dtype: str) -> Any:
    x = operands(xp, dtype, dtype)[0]
    return (
        x.sum(),
        x.prod(),
        x.cumsum(),
        x.mean(),
        x.max(),
        x.any(),
        x.argmax(),
        xp.add.reduce(x),
        xp.multiply.reduce(x),
    )


@pytest.mark.parametrize("dtype", ALL)
@pytest.mark.parametrize("value", [True, 2, 2.5, 1j, np.float32(2), np.int64(2)])
def test_other_functions_promote_alike(dtype: str, value: Any) -> None:
    compare(lambda xp: xp.where(xp.asarray([True, False, True, False]), operands(xp, dtype, dtype)[0], value))
    compare(lambda xp: xp.concatenate([operands(xp, dtype, dtype)[0], xp.asarray([value])]))
    compare(lambda xp: xp.full_like(operands(xp, dtype, dtype)[0], value))


@given(st.lists(st.sampled_from(ALL), min_size=1, max_size=4), st.sampled_from([None, True, 3, 0.5, 1j]), st.data())
def test_chains_drawn_at_random(dtypes: list[str], value: Any, data: st.DataObject) -> None:
    ops = [data.draw(st.sampled_from([np.add, np.multiply, np.maximum])).__name__ for _ in dtypes]
    shapes = [data.draw(st.sampled_from([(), (1,), (3,), (2, 1)])) for _ in dtypes]

    def run(xp: Any) -> Any:
        result = xp.ones((), dtypes[0])
        for name, dtype, shape in zip(ops, dtypes, shapes, strict=True):
            result = getattr(xp, name)(result, xp.ones(shape, dtype))
            if value is not None:
                result = result + value
        return result

    compare(run)


@agrees
def test_squares_of_booleans(xp: Any) -> Any:
    """NumPy's operator calls ``square`` for the exponent 2, which has no loop for booleans but for int8."""
    x = xp.asarray([True, False])
    return x**2, x.reshape(2, 1) ** 2, x**3, x**2.0, x**True, xp.power(x, 2), x[0] ** 2
