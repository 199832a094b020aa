"""Means, medians, variances and averages do what NumPy's do."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tnp
from tests.oracle import ALL, FLOATS, INTEGERS, agrees, compare, sample
from tests.tnp.math.test_reductions import close, permuted

SPREADS = ["var", "std"]
NAMES = ["mean", "median", *SPREADS]


@pytest.mark.parametrize("dtype", ALL)
@pytest.mark.parametrize("name", NAMES)
def test_axes(name: str, dtype: str) -> None:
    for axis in (None, 0, 1, -1, (0, 1), (2, 0), (), (0, 1, 2)):
        for keepdims in (False, True):
            compare(
                lambda xp, axis=axis, keepdims=keepdims: getattr(xp, name)(
                    sample(xp, (3, 2, 4), dtype), axis=axis, keepdims=keepdims
                ),
                **close("float64" if np.dtype(dtype).kind in "biu" else dtype),
            )


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16", "complex128", "int64", "bool"])
@pytest.mark.parametrize("name", ["mean", *SPREADS])
def test_order_of_axes_in_memory(name: str, dtype: str) -> None:
    for axis in (0, 1, -1, (0, 1), (2, 0)):
        for options in ({}, {"keepdims": True}, {"where": True}, {"dtype": "complex128"}):

            def reduced(xp: Any, axis: Any = axis, options: Any = options) -> Any:
                views = permuted(xp, (3, 2, 4), dtype)[: -1 if "where" in options else None]
                masks = [{"where": abs(view) >= 0} if "where" in options else {} for view in views]
                return [
                    getattr(xp, name)(view, axis=axis, **(options | mask))
                    for view, mask in zip(views, masks, strict=True)
                ]

            compare(reduced, **close("float64" if np.dtype(dtype).kind in "biu" else dtype))


@pytest.mark.parametrize("given", ALL)
@pytest.mark.parametrize("dtype", ["int64", "float16", "float32", "float64", "complex64", "complex128"])
@pytest.mark.parametrize("name", ["mean", *SPREADS])
def test_dtype(name: str, dtype: str, given: str) -> None:
    if dtype == "int64" and name == "std":
        return  # NumPy takes the root of what it had cast to int
    tolerance = close("float16" if "float16" in (dtype, given) else "float32")
    compare(lambda xp: getattr(xp, name)(sample(xp, (3, 4), given), axis=0, dtype=dtype), **tolerance)


@pytest.mark.parametrize("given", ["complex64", "complex128"])
@pytest.mark.parametrize("dtype", INTEGERS)
@pytest.mark.parametrize("name", ["mean", *SPREADS])
@agrees
def test_integer_dtype_of_complex_numbers(xp: Any, name: str, dtype: str, given: str) -> Any:
    x = xp.asarray([[3 + 2j, 5 - 1j, 2], [1, 2 + 4j, 7j]], dtype=given)
    return getattr(xp, name)(x, dtype=dtype), None if name.endswith("std") else getattr(xp, name)(x, 1, dtype)


@pytest.mark.parametrize("dtype", ALL)
@pytest.mark.parametrize("name", ["mean", *SPREADS])
def test_where(name: str, dtype: str) -> None:
    def averaged(xp: Any, axis: Any) -> Any:
        mask = xp.asarray([[True, False, True, True], [False, False, True, False]])
        return getattr(xp, name)(sample(xp, (3, 2, 4), dtype), axis, where=mask, keepdims=axis == 0)

    for axis in (None, 0, (1, 2), ()):
        compare(averaged, axis, **close("float64" if np.dtype(dtype).kind in "biu" else dtype))


@pytest.mark.parametrize("name", [*SPREADS, "nanvar", "nanstd"])
@pytest.mark.parametrize(
    "ddof", [np.int8(-128), np.float32(0.1), np.bool(True), np.array([-128], "int8"), [0], np.array([0.1], "float32")]
)
def test_degrees_of_freedom_of_small_dtypes(name: str, ddof: Any) -> None:
    """They are subtracted from a count of 64 bits."""
    compare(lambda xp: getattr(xp, name)(sample(xp, (3, 4), "float64"), axis=0, ddof=ddof))
    if isinstance(ddof, np.ndarray):
        tnps = tnp.grad(lambda x: getattr(tnp, name)(x, ddof=tnp.asarray(ddof)).sum())(tnp.asarray([1.0, 3.0]))
        assert tnp.allclose(tnps, tnp.grad(lambda x: getattr(tnp, name)(x, ddof=ddof.item()))(tnp.asarray([1.0, 3.0])))


@agrees(raises=ValueError)
def test_degrees_of_freedom_of_another_shape(xp: Any) -> Any:
    return xp.nanvar(sample(xp, (3, 4), "float64"), axis=0, ddof=[1, 0])


@pytest.mark.parametrize("dtype", ["int8", "float32", "float64", "complex64"])
@pytest.mark.parametrize("name", SPREADS)
@pytest.mark.parametrize("ddof", [0, 1, 0.5, 3, 4, -1])
def test_degrees_of_freedom(name: str, dtype: str, ddof: float) -> None:
    tolerance = close("float64" if dtype == "int8" else dtype)
    compare(lambda xp: getattr(xp, name)(sample(xp, (3, 4), dtype), axis=0, ddof=ddof), **tolerance)
    compare(lambda xp: getattr(xp, name)(sample(xp, (3, 4), dtype), axis=0, correction=ddof), **tolerance)
    compare(
        lambda xp: getattr(xp, name)(sample(xp, (3, 4), dtype), axis=0, correction=ddof, ddof=1),
        **tolerance,
        raises=ValueError,
    )


@pytest.mark.parametrize("dtype", ["int8", "float32", "float64", "complex64"])
@pytest.mark.parametrize("name", SPREADS)
def test_known_mean(name: str, dtype: str) -> None:
    def spread(xp: Any) -> Any:
        x = sample(xp, (3, 4), dtype)
        return getattr(xp, name)(x, axis=1, mean=xp.mean(x, axis=1, keepdims=True)), getattr(xp, name)(x, mean=0.5)

    compare(spread, **close("float64" if dtype == "int8" else dtype))


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("dtype", ["float64", "float32", "int32", "complex128"])
def test_out(name: str, dtype: str) -> None:
    def written(xp: Any, shape: tuple[int, ...], axis: Any) -> Any:
        out = xp.zeros(shape, dtype)
        assert getattr(xp, name)(sample(xp, (3, 4), "float32"), axis=axis, out=out) is out
        return out

    compare(written, (4,), 0, rtol=1e-5, may_raise=TypeError)
    compare(written, (), None, rtol=1e-4, may_raise=TypeError)
    compare(written, (3,), 0, raises=ValueError)
    compare(written, (1, 4), 0, raises=ValueError)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("axis", [None, 0, -1, (), (0,), 2, -4, (0, 0), 0.5])
def test_zero_dimensions_and_wrong_axes(name: str, axis: Any) -> None:
    compare(lambda xp: getattr(xp, name)(xp.asarray(5.0), axis=axis), may_raise=(np.exceptions.AxisError, TypeError))
    compare(lambda xp: getattr(xp, name)(5, axis=axis, keepdims=True), may_raise=(np.exceptions.AxisError, TypeError))
    compare(lambda xp: getattr(xp, name)(xp.ones((2, 3)), axis=axis), may_raise=(TypeError, ValueError))


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("shape", [(0,), (0, 3), (3, 0)])
def test_empty_is_nan_with_a_warning(name: str, shape: tuple[int, ...]) -> None:
    for axis in (None, *range(len(shape))):
        for dtype in ("float32", "int8"):
            compare(lambda xp, axis=axis, dtype=dtype: getattr(xp, name)(xp.zeros(shape, dtype), axis=axis))
    with pytest.warns(RuntimeWarning, match="Degrees of freedom <= 0" if name in SPREADS else "Mean of empty slice"):
        getattr(tnp, name)(tnp.zeros(shape), axis=shape.index(0))


def test_no_other_warning_is_given() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        tnp.var(tnp.ones((3, 2)), axis=0, ddof=1)
        tnp.std(tnp.ones(1))
        tnp.mean(tnp.ones(3, "complex64"), dtype="float32")


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("name", NAMES)
def test_nan_and_infinity(name: str, dtype: str) -> None:
    values = [[1, np.nan, 3], [np.inf, 5, 2], [-np.inf, np.inf, 2], [np.inf, np.inf, np.inf]]
    for axis in (None, 0, 1):
        compare(lambda xp, axis=axis: getattr(xp, name)(xp.asarray(np.array(values, dtype)), axis=axis), rtol=1e-3)


@pytest.mark.parametrize("name", ["mean", "var"])
@pytest.mark.parametrize("dtype, out", [
    ("int16", "float64"), ("int8", "int16"), ("int64", "bool"), (bool, "float32"), (None, "uint8"), (None, "bool"),
    ("float32", "int64"), ("int16", "complex64"),
])  # fmt: skip
def test_sums_are_kept_in_out(name: str, dtype: Any, out: str) -> None:
    def call(xp: Any) -> Any:
        x = xp.asarray([[1.0, 200.5, 42.25], [0.0, 1.0, 1.0]])
        masked = getattr(xp, name)(x, 1, dtype, xp.zeros(2, out), where=xp.asarray([True, True, False]))
        return getattr(xp, name)(x, 1, dtype, xp.zeros(2, out)), masked

    compare(call, rtol=1e-6)


@pytest.mark.parametrize("out", ["int16", "float32"])
@pytest.mark.parametrize("shape", [(3,), (2, 3)])
def test_deviations_of_integers_in_out(shape: Any, out: str) -> None:
    compare(
        lambda xp: xp.std(sample(xp, shape, "int32"), -1, "int16", xp.zeros(shape[:-1], out)),
        rtol=1e-6,
        may_raise=TypeError,
    )


@agrees(raises=TypeError)
@pytest.mark.parametrize("name", ["median", "nanmedian"])
def test_medians_take_no_tuple_of_outputs(xp: Any, name: str) -> Any:
    return getattr(xp, name)(xp.ones((3, 2)), 0, (xp.zeros(2),))


def test_float16_is_averaged_without_overflow() -> None:
    x = np.full(1000, 6e4, np.float16)
    assert tnp.mean(tnp.asarray(x)) == np.mean(x)
    assert tnp.mean(tnp.asarray(x), where=tnp.asarray(x) > 0) == np.mean(x)
    assert tnp.var(tnp.asarray(x)) == 0


def test_variance_of_values_far_from_zero() -> None:
    x = (1e4 + np.random.default_rng(0).random(10000)).astype(np.float32)
    exact = np.var(x.astype(np.float64))
    assert abs(tnp.var(tnp.asarray(x)) - exact) <= 1e-5 * exact


@pytest.mark.parametrize("dtype", ["uint16", "uint64", "int8", "float16", "float32", "float64", "complex64"])
@pytest.mark.parametrize("n", [1, 2, 5, 6])
def test_median_is_exact(dtype: str, n: int) -> None:
    for axis in (None, 0, 1, (0, 1)):
        compare(lambda xp, axis=axis: xp.median(sample(xp, (n, 3), dtype), axis=axis))


@pytest.mark.parametrize("dtype", ["int16", "bool", "float32", "complex128"])
@pytest.mark.parametrize("values", [[1.0, np.nan], [1.0, 2.0], [1j, np.nan], [np.nan]])
def test_median_writes_nan_to_floats_only(values: list[complex], dtype: str) -> None:
    compare(lambda xp: xp.median(values, out=xp.zeros((), dtype)), may_raise=TypeError)
    compare(lambda xp: xp.median([values], axis=1, out=xp.zeros(1, dtype)), may_raise=TypeError)


def test_median_leaves_its_input() -> None:
    x = tnp.asarray([3.0, 1.0, 2.0])
    assert tnp.median(x, overwrite_input=True) == 2
    assert x.tolist() == [3, 1, 2]


@agrees(rtol=1e-6)
def test_average(xp: Any) -> Any:
    x = sample(xp, (3, 4), "float64")
    w = abs(sample(xp, (3, 4), "float64", seed=1))
    return [
        xp.average(x),
        xp.average(x, axis=0),
        xp.average(x, weights=w),
        xp.average(x, axis=1, weights=w, returned=True),
        xp.average(x, axis=1, weights=w[0], returned=True),
        xp.average(x, axis=1, weights=[1, 2, 3, 4], keepdims=True),
        xp.average(x, axis=(1, 0), weights=w.T, returned=True),
        xp.average(x, returned=True, axis=0),
        xp.average(sample(xp, (3, 4), "int32"), weights=sample(xp, (3, 4), "uint8")),
        xp.average(sample(xp, (3, 4), "float32"), weights=xp.asarray(w, dtype="float32"), axis=0),
        xp.average(sample(xp, (3, 4), "complex64"), weights=[1, 2, 3], axis=0),
        xp.average([1, 2, 3, 4], weights=range(4)),
        xp.average(x, axis=()),
    ]


@pytest.mark.parametrize(
    "options",
    [
        {"weights": [1, -1, 0]},
        {"weights": [1, 2]},
        {"weights": [[1, 2, 3]]},
        {"weights": [1, 2], "axis": 0},
        {"axis": 1},
        {"axis": 1, "weights": [1, 2, 3]},
    ],
)
def test_average_refuses(options: dict[str, Any]) -> None:
    compare(lambda xp: xp.average(xp.arange(3), **options), raises=(TypeError, ValueError, ZeroDivisionError))


@settings(max_examples=40)
@given(st.data())
def test_any_shape(data: st.DataObject) -> None:
    shape = tuple(data.draw(st.lists(st.integers(0, 4), max_size=4)))
    axis = data.draw(
        st.none() | st.integers(-len(shape) - 1, len(shape)) | st.lists(st.integers(-3, 3), max_size=3).map(tuple)
    )
    name = data.draw(st.sampled_from(NAMES))
    if name == "median" and 0 in shape and isinstance(axis, tuple):
        return  # NumPy fails on its own reshape
    dtype = data.draw(st.sampled_from(ALL))
    keepdims = data.draw(st.booleans())
    compare(
        lambda xp: getattr(xp, name)(sample(xp, shape, dtype), axis=axis, keepdims=keepdims),
        **close("float64" if np.dtype(dtype).kind in "biu" else dtype),
    )


@pytest.mark.parametrize("name", NAMES)
def test_gradient(name: str) -> None:
    x = tnp.asarray([[1.0, 2.0, 5.0], [3.0, 4.0, 9.0]])
    x.tensor.requires_grad_()
    tnp.sum(getattr(tnp, name)(x, axis=1)).tensor.backward()
    assert x.tensor.grad.shape == (2, 3) and bool(x.tensor.grad.isfinite().all())


@agrees
@pytest.mark.parametrize("dtype", ["int8", "uint8", "uint16", "uint32", "uint64"])
@pytest.mark.parametrize("name", ["var", "std"])
def test_deviations_in_integers(xp: Any, name: str, dtype: str) -> Any:
    return getattr(xp, name)(xp.asarray([1, 2, 7, 9], "int16"), dtype=dtype)


@pytest.mark.parametrize("given", ALL)
@pytest.mark.parametrize("name", SPREADS)
def test_deviations_in_booleans(name: str, given: str) -> None:
    compare(
        lambda xp: getattr(xp, name)(xp.asarray([[1, 0, 7], [1, 1, 1]], given), axis=1, dtype=bool), may_raise=TypeError
    )
    compare(
        lambda xp: getattr(xp, f"nan{name}")(xp.asarray([[1, 0, 7], [1, 1, 1]], given), dtype=bool), may_raise=TypeError
    )


@pytest.mark.parametrize("name", ["std", "var"])
@pytest.mark.parametrize("dtype", [*INTEGERS, "bool", "float32"])
def test_deviations_from_a_given_mean_have_its_dtype(name: str, dtype: str) -> None:
    """Integers less an integer are integers, and wrap round."""
    for mean in (99, 2.5, np.int8(3), [[1, 2, 3]], [[1.5], [2.0]]):
        for options in ({}, {"axis": 0}, {"where": [True, False, True]}, {"ddof": 1, "axis": 1}, {"dtype": int}):
            compare(
                lambda xp, mean=mean, options=options: getattr(xp, name)(
                    xp.asarray([[1, 120, 3], [0, 7, 50]]).astype(dtype),
                    mean=xp.asarray(mean) if isinstance(mean, list) else mean,
                    **options,
                ),
                rtol=1e-5,
                may_raise=TypeError,
            )


@pytest.mark.parametrize(
    ("name", "dtype"),
    [(name, dtype) for name in [*SPREADS, "nanvar", "nanstd"] for dtype in ("float32", "int32")]
    + [(name, "complex64") for name in SPREADS],
)
def test_deviations_keep_their_precision(name: str, dtype: str) -> None:
    """``dtype=`` is that of the mean and of the sum of squares."""

    def call(xp: Any, more: str, **options: Any) -> Any:
        return getattr(xp, name)(xp.asarray([1e8, 1e8 + 1, 1e8 + 2, 1e8 + 3], more), dtype=dtype, **options)

    refused = TypeError if dtype == "int32" else ()
    for options in ({}, {"axis": 0, "where": [True, False, True, True]}, {"ddof": 1}):
        compare(call, "float64", **options, rtol=1e-6, may_raise=refused)
    if dtype == "complex64":
        compare(call, "complex128", rtol=1e-6)


def test_the_variance_is_rounded_before_its_root() -> None:
    """In each path: the native one, the one of errors that are watched, and that of nanstd."""
    for name in ("std", "nanstd"):
        with np.errstate(all="warn"), tnp.errstate(all="warn"):
            compare(lambda xp, name=name: getattr(xp, name)(xp.asarray([127, 39, 93, 87, 46], "f4"), ddof=0.5), rtol=0)
        compare(lambda xp, name=name: getattr(xp, name)(xp.asarray([127, 39, 93, 87, 46], "f4"), ddof=0.5), rtol=0)
