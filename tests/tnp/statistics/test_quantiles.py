"""Quantiles and percentiles do what NumPy's do, by every method."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tnp
from tests.oracle import ALL, FLOATS, INTEGERS, agrees, assert_same, compare, ours, outcome, placed, sample

pytestmark = pytest.mark.usefixtures("computed_by")

METHODS = [
    "inverted_cdf", "averaged_inverted_cdf", "closest_observation", "interpolated_inverted_cdf", "hazen", "weibull",
    "linear", "median_unbiased", "normal_unbiased", "lower", "higher", "midpoint", "nearest",
]  # fmt: skip
NAMES = ["quantile", "percentile", "nanquantile", "nanpercentile"]


def close(dtype: str) -> dict[str, float]:
    """Tolerances for values mixed in a dtype."""
    return {"rtol": {"float16": 2e-3, "float32": 1e-6}.get(dtype, 1e-12), "atol": 1e-12}


@pytest.mark.parametrize("dtype", ALL)
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("name", ["quantile", "nanquantile"])
def test_methods(name: str, method: str, dtype: str) -> None:
    def quantiles(xp: Any, q: Any) -> Any:
        x = sample(xp, (3, 5), dtype)
        if name == "nanquantile" and dtype in FLOATS:
            x[1, 2:4] = xp.nan
        return getattr(xp, name)(x, q, axis=1, method=method)

    for q in (0, 1, 0.3, [0.1, 0.5, 0.75]):
        compare(quantiles, q, **close(dtype), may_raise=TypeError)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("q", [0.25, np.float32(0.5), [0.5, 1.0], [0, 1], [[0.0, 0.25]]])
def test_axes(name: str, q: Any) -> None:
    scaled = np.multiply(q, 100).tolist() if "percentile" in name else q
    for axis in (None, 0, -1, (0, 1), (2, 0)):
        for keepdims in (False, True):
            if np.ndim(q) == 2 and "nan" in name:
                continue  # NumPy puts the axes of q in between
            compare(
                lambda xp, axis=axis, keepdims=keepdims: getattr(xp, name)(
                    sample(xp, (3, 2, 4), "float64"), scaled, axis=axis, keepdims=keepdims
                ),
                **close("float64"),
            )


@pytest.mark.parametrize("name", ["quantile", "nanquantile"])
@pytest.mark.parametrize("dtype", ["int32", "float32", "float64"])
@pytest.mark.parametrize("q", [0.0, 0.5, 1.0, [0.1, 0.9]])
def test_weights(name: str, dtype: str, q: Any) -> None:
    def quantiles(xp: Any, axis: Any, shape: tuple[int, ...]) -> Any:
        weights = abs(sample(xp, shape, "float64", 3)).round(1)
        x = sample(xp, (3, 4), dtype)
        if name == "nanquantile" and dtype != "int32":
            x[1, 2] = xp.nan
        return getattr(xp, name)(x, q, axis=axis, weights=weights, method="inverted_cdf")

    for axis, shape in ((None, (3, 4)), (0, (3,)), (1, (4,)), (1, (3, 4)), (None, (3,)), (0, (4,))):
        if name == "quantile" or len(shape) == 2:  # NumPy's nanquantile fails with weights along an axis
            compare(quantiles, axis, shape, may_raise=(TypeError, ValueError))


@agrees
def test_nan_is_the_result(xp: Any) -> Any:
    x = xp.asarray([[1.0, xp.nan, 3.0], [4.0, 5.0, 6.0]])
    return [xp.quantile(x, q, axis=1, method=m) for q in (0.5, [0.0, 1.0]) for m in ("linear", "lower", "hazen")]


@pytest.mark.host  # elsewhere the host would wait for the warning
def test_all_nan_warns() -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        assert np.isnan(float(tnp.nanquantile(tnp.asarray([np.nan, np.nan]), 0.5)))
    assert [str(w.message) for w in caught] == ["All-NaN slice encountered"]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("q", [-0.1, 100.5, [0.5, 200], np.nan])
def test_out_of_range(name: str, q: Any) -> None:
    compare(lambda xp: getattr(xp, name)(sample(xp, (3, 4), "float64"), q), raises=ValueError)


@pytest.mark.parametrize("arguments", [
    {"method": "no_such"}, {"axis": 2}, {"weights": [1.0]}, {"weights": [1.0, -1, 1, 1], "method": "inverted_cdf"},
    {"axis": (0, 0)}, {"weights": np.zeros((3, 4)), "method": "inverted_cdf"},
])  # fmt: skip
def test_errors(arguments: dict[str, Any]) -> None:
    compare(lambda xp: xp.quantile(sample(xp, (3, 4), "float64"), 0.5, **arguments), raises=(TypeError, ValueError))


@pytest.mark.parametrize("shape", [(), (2,), (1, 2), (3,), (4, 2)])
@pytest.mark.parametrize("value", [1.0, -1.0, 3e9, 1e300, np.inf, np.nan])
@pytest.mark.parametrize("name", ["nanmedian", "nanquantile"])
def test_one_result_is_assigned_to_integers_as_a_number(name: str, value: float, shape: tuple[int, ...]) -> None:
    def written(xp: Any) -> Any:
        x, out = xp.asarray([value]), xp.zeros(shape, "int32")
        if name == "nanmedian":
            return xp.nanmedian(x, out=out)
        q = [[0.5, 0.5]] if shape and np.isfinite(value) and abs(value) < 2**31 else 0.5
        with xp.errstate(invalid="ignore"):
            return xp.nanquantile(x, q, out=out), xp.nanquantile(x, 0.5, weights=[1], method="inverted_cdf", out=out)

    compare(written, may_raise=(OverflowError, ValueError))


@pytest.mark.parametrize("value", [2.0, np.nan])
@pytest.mark.parametrize("axis", [None, 0])
@pytest.mark.parametrize("options", [{"method": "nearest"}, {"method": "inverted_cdf", "weights": [[1, 2], [3, 4]]}])
def test_nan_is_not_written_to_integers(options: dict[str, Any], axis: int | None, value: float) -> None:
    def written(xp: Any) -> Any:
        x = xp.asarray([[value, 1.0], [1.0, 3.0]])
        return xp.quantile(x, [0.1, 0.9], axis=axis, out=xp.zeros(2 if axis is None else (2, 2), "int32"), **options)

    found = [outcome(written, xp) for xp in (np, ours())]
    assert str(found[0]) == str(found[1])


@pytest.mark.parametrize("shape", [(2, 1, 4), (2, 3, 4), (2, 0, 4), (2, 1, 1), (1, 4), (3, 3, 4)])
@pytest.mark.parametrize("name", ["median", "nanmedian", "quantile", "nanquantile", "percentile", "nanpercentile"])
def test_kept_axes_in_a_longer_output(name: str, shape: tuple[int, ...]) -> None:
    """The result is where they begin."""

    def written(xp: Any) -> Any:
        x = sample(xp, (2, 3, 4), "float64")
        if name.endswith("median"):
            return getattr(xp, name)(x, axis=1, keepdims=True, out=xp.zeros(shape))
        return [
            getattr(xp, name)(x, q, axis=1, keepdims=True, out=xp.zeros((*np.shape(q), *shape))) for q in (1, [0.5, 1])
        ]

    compare(written, rtol=1e-12, may_raise=(IndexError, ValueError))


@agrees
def test_out(xp: Any) -> Any:
    out = xp.zeros((2, 4))
    assert xp.quantile(sample(xp, (3, 4), "float64"), [0.5, 0.25], axis=0, out=out) is out
    return out


@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.integers(-100, 100), min_size=1, max_size=12),
    st.lists(st.floats(0, 1), min_size=1, max_size=3),
    st.sampled_from(METHODS),
)
def test_any(values: list[int], q: list[float], method: str) -> None:
    compare(lambda xp: xp.quantile(xp.asarray(values, float), q, method=method), rtol=1e-12, atol=1e-9)
    compare(lambda xp: xp.nanquantile(xp.asarray(values + [np.nan]), q, method=method), rtol=1e-12, atol=1e-9)


def test_gradients() -> None:
    x, q = tnp.asarray([4.0, 1.0, 3.0]), tnp.asarray(0.25)
    x.tensor.requires_grad_()
    q.tensor.requires_grad_()
    tnp.quantile(x, q).tensor.backward()
    assert tnp.asarray(x.tensor.grad).tolist() == [0.0, 0.5, 0.5]
    assert float(q.tensor.grad) == 4.0


def test_no_size_limit() -> None:
    assert float(tnp.quantile(tnp.arange(2**24 + 2, dtype="float32"), 1.0)) == 2.0**24


@agrees
@pytest.mark.parametrize("dtype", ["int8", "int64", "float32", "float64"])
def test_nanquantile_of_nothing_is_nan(xp: Any, dtype: str) -> Any:
    return xp.nanquantile(xp.zeros(0, dtype), 0.5), xp.nanpercentile(xp.zeros((2, 0), dtype), 50, axis=1)


@pytest.mark.parametrize("name", ["percentile", "quantile", "nanpercentile", "nanquantile"])
@agrees(raises=ValueError)
def test_no_matrix_of_quantiles_without_elements(xp: Any, name: str) -> Any:
    return getattr(xp, name)(xp.ones(3), xp.ones((0, 2)))


@pytest.mark.parametrize("size", [2, 600])
@pytest.mark.parametrize("dtype", INTEGERS)
@pytest.mark.parametrize("name", ["quantile", "nanquantile"])
def test_a_difference_of_integers_wraps_round(name: str, dtype: str, size: int) -> None:
    info = np.iinfo(dtype)
    values = np.resize(np.array([info.max, info.min], dtype), size)
    q = [0.3 / (size - 1), 0.5, 0.9]
    with np.errstate(all="ignore"):
        expected = getattr(np, name)(values, q)
    function = lambda x: getattr(tnp, name)(x, q)  # noqa: E731
    for found in (function, tnp.compile(function, backend="eager")):
        assert_same(expected, found(placed(tnp, values)))


@pytest.mark.parametrize("name", ["quantile", "percentile", "nanquantile"])
@pytest.mark.parametrize("dtype", ["uint8", "uint16", "uint64", "int64"])
def test_places_of_integers_in_a_batch_and_a_trace(dtype: str, name: str) -> None:
    function = getattr(tnp, name)
    x, q = tnp.asarray([[3, 1, 2], [4, 4, 0]], "int8"), tnp.asarray([[0, 1], [1, 0]], dtype)
    expected = tnp.stack([function(*each) for each in zip(x, q, strict=True)])
    assert_same(tnp.asnumpy(expected), tnp.vmap(function)(x, q))
    assert_same(tnp.asnumpy(expected[0]), tnp.compile(function, backend="eager")(x[0], q[0]))


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("missing", [0, 1, 30_000])
def test_many_elements_of_which_some_are_missing(dtype: str, missing: int) -> None:
    def found(xp: Any) -> Any:
        values = np.random.default_rng(0).normal(size=40_000).astype(dtype)
        values[:missing] = np.nan
        x = xp.asarray(values)
        lines = x.reshape(200, 200)
        return [
            xp.nanmedian(x), xp.nanquantile(x, [0.1, 0.35]), xp.nanpercentile(x, 30, keepdims=True),
            xp.nanmedian(lines, axis=0), xp.nanquantile(lines, 0.3, axis=0), xp.nanmedian(lines[::-1]),
        ]  # fmt: skip

    compare(found)
