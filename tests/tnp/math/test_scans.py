"""Cumulative sums and products and differences do what NumPy's do."""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np
import pytest

from tests.oracle import ALL, agrees, compare, ours, outcome, sample
from tests.tnp.math.test_reductions import close, permuted

CUMULATIVE = ["cumsum", "cumprod"]
ARRAY_API = ["cumulative_sum", "cumulative_prod"]


@pytest.mark.parametrize("dtype", ALL)
@pytest.mark.parametrize("name", CUMULATIVE)
def test_axes(name: str, dtype: str) -> None:
    for axis in (None, 0, 1, -1):
        compare(lambda xp, axis=axis: getattr(xp, name)(sample(xp, (3, 4), dtype), axis=axis), **close(dtype))


@pytest.mark.parametrize("dtype", ["float64", "float32", "complex128", "int64", "uint8", "bool"])
@pytest.mark.parametrize(
    "name",
    [*CUMULATIVE, *ARRAY_API, "add.accumulate", "maximum.accumulate", "logical_or.accumulate", "hypot.accumulate"],
)
def test_order_of_axes_in_memory(name: str, dtype: str) -> None:
    if (name, dtype) == ("hypot.accumulate", "complex128"):
        return
    for axis in (0, 1, -1):

        def scanned(xp: Any, axis: int = axis) -> Any:
            function = functools.reduce(getattr, name.split("."), xp)
            views = (*permuted(xp, (3, 2, 4), dtype), sample(xp, (3, 4), dtype).T, sample(xp, (6, 4), dtype)[::2].T)
            return [function(view, axis=axis) for view in views]

        compare(scanned, **close("float16" if name == "hypot.accumulate" else dtype))


@pytest.mark.parametrize("dtype", ["float64", "float32", "int64", "int16", "uint8", "uint64", "bool"])
@pytest.mark.parametrize("name", CUMULATIVE)
def test_many_elements(name: str, dtype: str) -> None:
    for shape in ((300, 200), (3, 20_000), (20_000, 3), (20, 3, 700)):
        for axis in range(len(shape)):

            def scanned(xp: Any, shape: tuple[int, ...] = shape, axis: int = axis) -> Any:
                x = (xp.arange(math.prod(shape)) % 7 % 3 * 1.2).astype(dtype).reshape(shape)
                return [getattr(xp, name)(view, axis) for view in (x, x[1:], x[::-1], x.T)]

            compare(scanned, rtol=1e-4 if dtype == "float32" else 1e-9)


@pytest.mark.parametrize("given", ALL)
@pytest.mark.parametrize("dtype", ALL)
@pytest.mark.parametrize("name", CUMULATIVE)
def test_dtype(name: str, dtype: str, given: str) -> None:
    tolerance = close("float16" if "float16" in (dtype, given) else "float32")
    compare(lambda xp: getattr(xp, name)(abs(sample(xp, (5,), given)), dtype=dtype), **tolerance)


@pytest.mark.parametrize("axis", [2, -3, (0, 1), 0.5, "a"])
@pytest.mark.parametrize("name", [*CUMULATIVE, *ARRAY_API, "diff"])
def test_wrong_axes(name: str, axis: Any) -> None:
    compare(lambda xp: getattr(xp, name)(xp.ones((2, 3)), axis=axis), raises=(TypeError, ValueError))


@pytest.mark.parametrize("name", [*CUMULATIVE, "diff"])
@pytest.mark.parametrize("axis", [None, 0, -1, 1])
def test_zero_dimensions_and_empty(name: str, axis: Any) -> None:
    compare(lambda xp: getattr(xp, name)(xp.asarray(5), axis=axis), may_raise=ValueError)
    if name == "diff" and axis is None:
        return
    compare(lambda xp: getattr(xp, name)(xp.zeros((0, 3)), axis=axis))
    compare(lambda xp: getattr(xp, name)([1, 2, 4], axis=axis), may_raise=np.exceptions.AxisError)


@pytest.mark.parametrize("name", CUMULATIVE)
@pytest.mark.parametrize("dtype", ["float64", "float32", "int32", "complex64", "bool"])
def test_out(name: str, dtype: str) -> None:
    def written(xp: Any, shape: tuple[int, ...], axis: Any) -> Any:
        out = xp.zeros(shape, dtype)
        assert getattr(xp, name)(abs(sample(xp, (3, 4), "float32")), axis=axis, out=out) is out
        return out

    compare(written, (3, 4), 0, rtol=1e-5)
    compare(written, (12,), None, rtol=1e-5)
    compare(written, (3,), 0, raises=ValueError)


@pytest.mark.parametrize("dtype", ALL)
@pytest.mark.parametrize("name", ARRAY_API)
def test_array_api_names(name: str, dtype: str) -> None:
    for axis in (None, 0, 1):
        for include in (False, True):
            compare(
                lambda xp, axis=axis, include=include: getattr(xp, name)(
                    sample(xp, (3, 4), dtype), axis=axis, include_initial=include
                ),
                **close(dtype),
                may_raise=ValueError,
            )
    compare(lambda xp: getattr(xp, name)(sample(xp, (3,), dtype), include_initial=True), **close(dtype))
    compare(lambda xp: getattr(xp, name)(xp.asarray(3, dtype=dtype)))


@pytest.mark.parametrize("out", [False, True])
@pytest.mark.parametrize("axis", [-3, (0, 1), None])
@pytest.mark.parametrize("name", ARRAY_API)
def test_an_initial_value_is_asked_for_in_numpys_order(name: str, axis: Any, out: bool) -> None:
    def scanned(xp: Any) -> Any:
        options = {"out": xp.zeros(2)} if out else {}
        return getattr(xp, name)(xp.ones(1), axis=axis, include_initial=xp.zeros((2, 0)), **options)

    errors = [outcome(scanned, xp).error for xp in (np, ours())]
    assert (type(errors[1]), str(errors[1])) == (type(errors[0]), str(errors[0]))


@pytest.mark.parametrize("name", ARRAY_API)
def test_out_of_array_api_names(name: str) -> None:
    def written(xp: Any, include: bool) -> Any:
        out = xp.zeros(4, "float32")
        result = getattr(xp, name)(xp.ones(4 - include, "int8"), out=out, include_initial=include)
        assert result is out
        return out

    compare(written, False)
    compare(written, True)


@pytest.mark.parametrize("name", ["cumsum", "cumprod", "nancumsum", "nancumprod"])
@agrees
def test_dtype_in_another_byte_order(xp: Any, name: str) -> Any:
    x = xp.asarray([1.5, 2.5, 3.0])
    results = getattr(xp, name)(x, dtype=">i4"), getattr(xp, name)(x[0], 0, ">f4")
    return results if name.startswith("nan") else (results, getattr(x, name)(dtype=np.dtype(">i4")))


def test_ufuncs_refuse_a_dtype_in_another_byte_order() -> None:
    compare(lambda xp: xp.add.accumulate(xp.ones(3), dtype=">i4"), raises=TypeError)


@pytest.mark.parametrize("name", ["add", "multiply", "maximum", "minimum", "logical_or", "logical_and"])
@pytest.mark.parametrize("dtype", ["bool", "uint16", "int32", "float32", "complex64"])
def test_accumulate_of_ufuncs(name: str, dtype: str) -> None:
    for axis in (0, 1):
        compare(lambda xp, axis=axis: getattr(xp, name).accumulate(sample(xp, (3, 4), dtype), axis), **close(dtype))
    compare(lambda xp: getattr(xp, name).accumulate(5), raises=TypeError)


@pytest.mark.parametrize("name", ["subtract", "divide", "bitwise_xor", "hypot", "fmax", "equal"])
@pytest.mark.parametrize("dtype", ["uint64", "int64", "float64"])
def test_accumulate_of_other_ufuncs(name: str, dtype: str) -> None:
    compare(
        lambda xp: getattr(xp, name).accumulate(abs(sample(xp, (5, 2), dtype)) + 1), rtol=1e-12, may_raise=TypeError
    )


@pytest.mark.parametrize("dtype", ALL)
def test_diff(dtype: str) -> None:
    for axis in (0, 1, -1):
        for n in (0, 1, 2, 3, 7):
            compare(lambda xp, axis=axis, n=n: xp.diff(sample(xp, (3, 4), dtype), n, axis), **close(dtype))


@agrees
def test_diff_with_values_beside(xp: Any) -> Any:
    x = sample(xp, (3, 4), "int16")
    return [
        xp.diff(x, prepend=0),
        xp.diff(x, append=xp.ones((3, 2))),
        xp.diff(x, axis=0, prepend=x[:1], append=5),
        xp.diff([1, 4], n=2, prepend=0, append=[7, 8]),
        xp.diff(xp.asarray([1, 4], dtype="uint8"), prepend=0.5),
        xp.diff([True, False], prepend=True),
    ]


@pytest.mark.parametrize("options", [{"n": -1}, {"n": 1.5}, {"prepend": [1, 2]}, {"axis": 3}])
def test_diff_refuses(options: dict[str, Any]) -> None:
    compare(lambda xp: xp.diff(xp.ones((2, 3)), **options), raises=(TypeError, ValueError))


def test_cumsum_of_nan_and_infinity() -> None:
    compare(lambda xp: xp.cumsum(xp.asarray([1.0, np.inf, 2, -np.inf, 1, np.nan])))
