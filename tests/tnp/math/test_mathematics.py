"""Clipping, rounding, replacing and parts of complex numbers, against NumPy's."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tnp
from tests.oracle import ALL, COMPLEX, FLOATS, INTEGERS, agrees, compare, sample

SPECIAL = [0.0, -0.0, 0.5, 1.5, 2.5, -2.5, 1.25, 123.456, -1e4, np.inf, -np.inf, np.nan]


def special(xp: Any, dtype: str) -> Any:
    if np.dtype(dtype).kind == "c":
        real, imag = np.meshgrid(SPECIAL, SPECIAL)
        values = np.empty(real.shape, dtype)
        values.real, values.imag = real, imag
        return xp.asarray(values)
    return xp.asarray(np.array(SPECIAL, dtype))


@pytest.mark.parametrize(
    "bounds", [(-1, 1), (0.5, 2.5), (3, -3), (None, 2), (1, None), (None, None), (0, 300), (-300, 300)]
)
@pytest.mark.parametrize("dtype", ALL)
def test_clip(dtype: str, bounds: tuple[Any, Any]) -> None:
    compare(lambda xp: xp.clip(sample(xp, (3, 4), dtype), *bounds), may_raise=(OverflowError, TypeError))


@pytest.mark.host  # where torch computes, signs of zeros are its own
@pytest.mark.parametrize("dtype", COMPLEX)
@agrees
def test_signs_of_zeros_in_powers(xp: Any, dtype: str) -> Any:
    x, y = xp.asarray([0, 1, -2, 2j, 3], dtype), xp.asarray([2, 2, 3, 2, 0.5], dtype)
    return [str(each.tolist()) for each in (x**y, x**3, x[1:] ** -1, xp.reciprocal(x[1:]), xp.float_power(x, y))]


@pytest.mark.parametrize("dtype", FLOATS)
@agrees
def test_clip_of_special_values(xp: Any, dtype: str) -> Any:
    x = special(xp, dtype)
    return xp.clip(x, -1, 1), xp.clip(x, xp.nan, 1), xp.clip(x, -xp.inf, xp.inf), xp.clip(x, min=0), xp.clip(x, max=0.0)


@pytest.mark.parametrize("second", ["int8", "uint64", "float32", "complex64"])
@pytest.mark.parametrize("first", ALL)
@agrees
def test_clip_by_arrays(xp: Any, first: str, second: str) -> Any:
    x, low = sample(xp, (2, 3), first), sample(xp, (3,), second, seed=1)
    return xp.clip(x, low, 2), xp.clip(x, low, low), xp.clip(x, None, low), xp.clip(x, low, None)


@agrees
def test_clip_by_every_name(xp: Any) -> Any:
    x = xp.arange(6)
    return (
        xp.clip(x, 1, a_max=3),
        xp.clip(x, None, a_max=3),
        xp.clip(x, a_min=1, a_max=3),
        xp.clip(x, max=3),
        xp.clip(x, a_min=None, a_max=3),
    )


def test_clip_by_one_bound() -> None:
    """The Array API's way."""
    x = tnp.arange(6)
    assert tnp.clip(x, 2).tolist() == [2, 2, 2, 3, 4, 5]
    assert tnp.clip(x, 1, max=3).tolist() == [1, 1, 2, 3, 3, 3]


@agrees
def test_clip_to_out_and_where(xp: Any) -> Any:
    x = xp.arange(6.0)
    out = xp.zeros(6)
    result = xp.clip(x, 1, 3, out=out)
    assert result is out
    masked = xp.full(6, -1.0)
    xp.clip(x, 1, 3, out=masked, where=x > 1)
    return out, masked, xp.clip(xp.arange(6), 1, 3, dtype="float32"), xp.clip([1, 5], 2, 3), xp.clip(5, 1, 3)


@pytest.mark.parametrize(
    "arguments",
    [
        ((), {"a_min": 1, "a_max": 3, "min": 1}),
        ((300, 400), {}),
        ((), {"a_max": 2}),
        ((), {"a_min": 1, "max": 2}),
        ((), {"a_max": 2, "min": 1, "max": 3}),
        ((np.zeros(5), 1), {}),
    ],
)
def test_bad_clip(arguments: Any) -> None:
    args, kwargs = arguments
    compare(
        lambda xp: xp.clip(xp.asarray(np.arange(3, dtype=np.uint8)), *args, **kwargs),
        raises=(OverflowError, TypeError, ValueError),
    )


@pytest.mark.parametrize("decimals", [-3, -1, 0, 1, 2, 5])
@pytest.mark.parametrize("dtype", ALL)
def test_round(dtype: str, decimals: int) -> None:
    compare(lambda xp: xp.round(sample(xp, (3, 4), dtype), decimals), may_raise=TypeError)
    compare(lambda xp: xp.around(sample(xp, (3, 4), dtype)[0, 0], decimals=decimals), may_raise=TypeError)


@pytest.mark.parametrize("decimals", [-1, 0, 1])
@pytest.mark.parametrize("dtype", FLOATS + COMPLEX)
@agrees
def test_round_of_special_values(xp: Any, dtype: str, decimals: int) -> Any:
    return xp.round(special(xp, dtype), decimals)


@agrees
def test_round_to_out(xp: Any) -> Any:
    x = xp.asarray([1.26, -2.55, 14.4])
    out = xp.zeros(3)
    assert xp.round(x, 1, out=out) is out
    return (
        out,
        xp.round(x, out=xp.zeros(3, "float32")),
        xp.round(xp.asarray([14, 25]), -1, xp.zeros(2)),
        xp.round(2.5),
    )


def test_round_copies() -> None:
    compare(lambda xp: (lambda x, y: (y.__iadd__(1), x))(*(lambda x: (x, xp.round(x)))(xp.arange(3))))
    compare(lambda xp: xp.round(xp.arange(3.0), 1.5), raises=TypeError)
    compare(lambda xp: xp.round(xp.arange(3.0), out=xp.zeros(2)), raises=ValueError)
    compare(lambda xp: xp.round(xp.asarray([14, 25]), -1, xp.zeros(2, int)), raises=TypeError)
    compare(lambda xp: xp.round(xp.asarray([1.5j]), 1, xp.zeros(1)), raises=TypeError)
    compare(lambda xp: xp.round(xp.arange(3.0), out=(xp.zeros(3),)), raises=TypeError)
    compare(lambda xp: xp.round(1j, out=xp.zeros(3, complex)[0]), raises=TypeError)


@pytest.mark.parametrize("decimals", [0, 1, -1])
@pytest.mark.parametrize("dtype", ["bool", "int32", "float32", "complex64"])
def test_round_to_out_of_another_shape(dtype: str, decimals: int) -> None:
    def rounded(xp: Any, shape: tuple[int, ...]) -> Any:
        return xp.round(sample(xp, (3,), dtype), decimals, xp.zeros(shape, "complex128"))

    for shape in ((2, 3), (3, 1), (1, 3), (), (2,)):
        compare(lambda xp, shape=shape: rounded(xp, shape), may_raise=ValueError)


@pytest.mark.parametrize("dtype", ALL)
@agrees
def test_fix(xp: Any, dtype: str) -> Any:
    return xp.fix(sample(xp, (3, 4), dtype) * 3) if np.dtype(dtype).kind != "c" else 0


@pytest.mark.parametrize("dtype", ALL)
@agrees
def test_nan_to_num(xp: Any, dtype: str) -> Any:
    x = special(xp, dtype) if np.dtype(dtype).kind in "fc" else sample(xp, (2, 3), dtype)
    return (
        xp.nan_to_num(x),
        xp.nan_to_num(x, nan=1.0, posinf=2, neginf=-3.5),
        xp.nan_to_num(x, nan=xp.asarray([5.0])),
        xp.nan_to_num(x, posinf=xp.asarray(7)),
        xp.nan_to_num(x[..., -1]),
    )


@pytest.mark.parametrize("dtype", ALL)
@agrees
def test_nan_to_num_in_place(xp: Any, dtype: str) -> Any:
    x = special(xp, dtype) if np.dtype(dtype).kind in "fc" else sample(xp, (2, 3), dtype)
    assert xp.nan_to_num(x, copy=False) is x
    y = xp.nan_to_num(x)
    y[...] = 0
    return x


def test_bad_nan_to_num() -> None:
    compare(lambda xp: xp.nan_to_num([np.nan], copy=False), raises=ValueError)
    compare(lambda xp: xp.nan_to_num(xp.asarray([np.nan]), nan=xp.asarray([1j])), raises=TypeError)
    compare(lambda xp: xp.nan_to_num(np.nan))


@pytest.mark.parametrize("dtype", ALL)
def test_sinc(dtype: str) -> None:
    eps = float(np.finfo(np.result_type(dtype, 1.0)).eps)
    compare(lambda xp: (xp.sinc(sample(xp, (3, 4), dtype)), xp.sinc(sample(xp, (), dtype))), rtol=8 * eps, atol=8 * eps)


@pytest.mark.parametrize("dtype", ALL)
def test_i0(dtype: str) -> None:
    rtol = {"float16": 2e-2, "float32": 1e-5}.get(dtype, 1e-12)
    compare(
        lambda xp: (xp.i0(sample(xp, (3, 4), dtype) / 4), xp.i0(sample(xp, (), dtype))), rtol=rtol, may_raise=TypeError
    )


@pytest.mark.parametrize("dtype", ALL)
def test_angle(dtype: str) -> None:
    x = special if np.dtype(dtype).kind in "fc" else lambda xp, dtype: sample(xp, (2, 3), dtype)
    rtol = 4 * float(np.finfo(np.result_type(dtype, np.float16)).eps)
    compare(
        lambda xp: (xp.angle(x(xp, dtype)), xp.angle(x(xp, dtype), deg=True), xp.angle(1j), xp.angle([1, -1])),
        rtol=rtol,
    )


@pytest.mark.parametrize("dtype", ALL)
@agrees
def test_parts(xp: Any, dtype: str) -> Any:
    x = sample(xp, (2, 3), dtype)
    return xp.real(x), xp.imag(x), xp.real([1, 2j]), xp.imag([1, 2j]), xp.real(1 + 2j), xp.imag(2), xp.real(x[0, 0])


@agrees
def test_parts_are_views(xp: Any) -> Any:
    z = xp.asarray([1 + 2j, 3 + 4j])
    xp.real(z)[0] = 9
    xp.imag(z)[1] = -9
    x = xp.arange(3.0)
    xp.real(x)[0] = 5
    return z, x


@agrees
def test_real_if_close(xp: Any) -> Any:
    return (
        xp.real_if_close(xp.asarray([2.1 + 4e-14j, 5.2 + 3e-15j]), tol=1000),
        xp.real_if_close(xp.asarray([2.1 + 4e-13j, 5.2 + 3e-15j])),
        xp.real_if_close(xp.asarray([2.1 + 1e-3j]), tol=0.1),
        xp.real_if_close(xp.asarray([1, 2])),
        xp.real_if_close(xp.asarray([1 + 1e-7j], dtype="complex64")),
    )


@given(
    dtype=st.sampled_from(INTEGERS + FLOATS),
    values=st.lists(st.integers(0, 100), max_size=5),
    low=st.integers(-200, 200) | st.floats(-5, 5),
    high=st.integers(-200, 200) | st.floats(-5, 5),
)
def test_clip_by_any_numbers(dtype: str, values: list[int], low: Any, high: Any) -> None:
    compare(lambda xp: xp.clip(xp.asarray(np.array(values, dtype)), low, high))


def test_nothing_is_shared() -> None:
    """What equals its operand is still another array."""
    x = tnp.asarray([1.0, 2.0])
    for result in (tnp.clip(x, None, None), tnp.round(x), tnp.nan_to_num(x), tnp.fix(x)):
        assert result.tensor.data_ptr() != x.tensor.data_ptr()


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("size", [100, 100_000])
def test_roots_are_exact(dtype: str, size: int) -> None:
    """Those of MKL, which torch's are on some processors, are off by a bit now and then."""
    values = (np.random.default_rng(0).random(size) * 10.0 ** np.arange(size) ** 0.1).astype(dtype)
    compare(lambda xp: (xp.sqrt(xp.asarray(values)), xp.asarray(values) ** 0.5))


@pytest.mark.parametrize("bound", [2**70, -(2**70), 2**31])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_clip_of_many_by_integers_that_no_dtype_holds(dtype: str, bound: int) -> None:
    compare(lambda xp: xp.clip(xp.ones(40_000, dtype), bound, 5))
