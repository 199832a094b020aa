"""Histograms and counts do what NumPy's do."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tnp
from tests.oracle import ALL, COMPLEX, FLOATS, INTEGERS, REAL, agrees, assert_same, compare, sample

pytestmark = pytest.mark.usefixtures("computed_by")

RULES = ["auto", "fd", "doane", "scott", "stone", "rice", "sturges", "sqrt"]
CLOSE = {"rtol": 1e-12, "atol": 1e-12}


@pytest.mark.parametrize("dtype", ["bool", *REAL])
@pytest.mark.parametrize("bins", [1, 7, [-60, -3, 0, 0.5, 40], [0, 0, 1], "sqrt"])
@pytest.mark.parametrize("density", [None, True])
def test_histogram(dtype: str, bins: Any, density: Any) -> None:
    tolerance = {"rtol": 2e-3} if dtype == "float16" else {"rtol": 1e-6} if dtype == "float32" else CLOSE
    compare(lambda xp: xp.histogram(sample(xp, (6, 8), dtype), bins, density=density), **tolerance)


@pytest.mark.parametrize("range", [None, (-1, 2.5), (np.float64(-1), 2)])
@pytest.mark.parametrize("dtype", ["uint8", "int64", "float32", "float64"])
def test_histogram_of_many_values(dtype: str, range: Any) -> None:
    compare(lambda xp: xp.histogram(sample(xp, (90, 60), dtype), 13, range), rtol=1e-6)


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("dtype", ["int32", "float64"])
@pytest.mark.parametrize("range", [None, (-1, 2.5)])
def test_rules(rule: str, dtype: str, range: Any) -> None:
    for size in (0, 1, 2, 3, 50, 400):
        compare(lambda xp, size=size: xp.histogram_bin_edges(sample(xp, (size,), dtype), rule, range), **CLOSE)


@pytest.mark.parametrize("dtype", ALL)
@pytest.mark.parametrize("bins", [4, [-3, -1, 0, 0.5, 2]])
def test_weights(dtype: str, bins: Any) -> None:
    def weighed(xp: Any) -> Any:
        x, weights = sample(xp, (5, 5), "float64"), sample(xp, (5, 5), dtype, 2)
        return xp.histogram(x, bins, weights=weights)

    if dtype != "bool":  # NumPy adds up bools as it finds them
        compare(weighed, rtol={"float16": 2e-2, "float32": 1e-5, "complex64": 1e-5}.get(dtype, 1e-12), atol=1e-3)


@pytest.mark.parametrize("arguments", [
    {"bins": 0}, {"bins": 2.5}, {"bins": "no such"}, {"bins": [3, 1, 2]}, {"bins": [[1, 2]]}, {"range": (3, 1)},
    {"range": (0, np.inf)}, {"weights": [1.0]}, {"bins": "auto", "weights": [1.0] * 6}, {"range": (1, 1)},
    {"bins": 2**55, "range": (1, 1 + 2**-50)},
])  # fmt: skip
def test_arguments(arguments: dict[str, Any]) -> None:
    compare(
        lambda xp: xp.histogram(sample(xp, (6,), "float64"), **arguments),
        may_raise=(MemoryError, TypeError, ValueError),
    )


@agrees
def test_edges_nan_and_outliers(xp: Any) -> Any:
    x = xp.asarray([0.0, 1.0, 2.0, xp.nan, -1.0, 3.0, xp.inf, 1.0])
    return xp.histogram(x, 2, (0, 2)), xp.histogram(x, [0, 1, 2]), xp.histogram(x, [-xp.inf, 1, xp.inf])


def test_autodetected_range_must_be_finite() -> None:
    compare(lambda xp: xp.histogram(xp.asarray([1.0, xp.nan]), 3), raises=ValueError)


@agrees
def test_whole_range_of_integers(xp: Any) -> Any:
    return [xp.histogram(xp.asarray([-128, 127], "int8"), "sqrt"), xp.histogram(xp.asarray([-(2**31), 0], "int32"), 4)]


@pytest.mark.parametrize("dtype", ["bool", *INTEGERS, *FLOATS, *COMPLEX])
@pytest.mark.parametrize("minlength", [0, 3, 200])
def test_bincount(dtype: str, minlength: int) -> None:
    def counted(xp: Any) -> Any:
        x = abs(sample(xp, (9,), dtype)) if dtype != "bool" else sample(xp, (9,), dtype)
        return xp.bincount(x, minlength=minlength), xp.bincount(x, sample(xp, (9,), "float32", 1), minlength)

    compare(counted, may_raise=TypeError)


@pytest.mark.parametrize("arguments", [
    ([],), ([[1]],), (3,), ([-1],), ([1], [1, 2]), ([1], None, -1), ([1], None, None), ([1], [1j]), ([1.0],),
    ([1], [2]), ([], []), ([], [], 2),
])  # fmt: skip
def test_bincount_arguments(arguments: tuple[Any, ...]) -> None:
    compare(lambda xp: xp.bincount(*arguments), may_raise=(TypeError, ValueError))


@pytest.mark.parametrize("dtype", ["bool", *REAL, "complex64"])
@pytest.mark.parametrize("right", [False, True])
@pytest.mark.parametrize("bins", [[-2, 0, 3, 3, 9], [9, 3, 0, -2], [1], [], [1, 3, 2], 3, [2.0, 2.0]])
def test_digitize(dtype: str, right: bool, bins: Any) -> None:
    compare(
        lambda xp: xp.digitize(sample(xp, (3, 4), dtype), xp.asarray(bins), right=right),
        may_raise=(TypeError, ValueError),
    )


@pytest.mark.parametrize("bins", [3, [2, 4], [[-1, 0, 1], [0, 1, 5]], [-1.0, 0.0, 1.0], [2, [0, 1, 3]]])
@pytest.mark.parametrize("density", [None, True])
@pytest.mark.parametrize("weighed", [False, True])
@agrees(**CLOSE)
def test_histogram2d(xp: Any, bins: Any, density: Any, weighed: bool) -> Any:
    x, y = sample(xp, (30,), "float64"), sample(xp, (30,), "float64", 1)
    return xp.histogram2d(x, y, bins, density=density, weights=abs(x) if weighed else None)


@pytest.mark.parametrize("bins", [2, (2, 3, 4), ([0, 1], 2, [-1, 0, 1]), (2, 2), (0, 1, 1), [[[1]], 1, 1], (2.5, 1, 1)])
@pytest.mark.parametrize("range", [None, [(-1, 1), None, (0, 2)], [(0, 1)]])
def test_histogramdd(bins: Any, range: Any) -> None:
    compare(
        lambda xp: xp.histogramdd(sample(xp, (20, 3), "float64"), bins, range),
        **CLOSE,
        may_raise=(TypeError, ValueError),
    )
    compare(
        lambda xp: xp.histogramdd(list(sample(xp, (3, 20), "float64")), bins, range, density=True),
        **CLOSE,
        may_raise=(TypeError, ValueError),
    )


def test_lengths_must_fit() -> None:
    compare(lambda xp: xp.histogram2d([1, 2], [1]), raises=ValueError)
    compare(lambda xp: xp.histogram2d([1, 2], [1, 3], weights=[1]), raises=ValueError)
    for weights in (1, [1, 2], [[]], 1j):  # of no points
        compare(lambda xp, weights=weights: xp.histogram2d([], xp.zeros(0), weights=weights))
        compare(lambda xp, weights=weights: xp.histogramdd(xp.zeros((0, 3)), 2, weights=weights))


@settings(max_examples=50, deadline=None)
@given(st.lists(st.integers(-20, 20), max_size=30), st.integers(1, 9))
def test_any(values: list[int], bins: int) -> None:
    compare(lambda xp: xp.histogram(xp.asarray(values, float), bins), **CLOSE)


def test_gradient_reaches_the_weights() -> None:
    weights = tnp.asarray([1.0, 2.0, 3.0])
    weights.tensor.requires_grad_()
    tnp.histogram(tnp.asarray([0.0, 1.0, 1.0]), 2, weights=weights)[0][1].tensor.backward()
    assert tnp.asarray(weights.tensor.grad).tolist() == [0.0, 1.0, 1.0]


@pytest.mark.parametrize(
    "function",
    [
        lambda xp, x: xp.histogram(x, 3)[1],
        lambda xp, x: xp.histogram(x, 3, density=True)[0],
        lambda xp, x: xp.histogram(x, 3, range=(x[0], 7))[1],
        lambda xp, x: xp.histogram(x[:1], 3, weights=x[:1])[1],
        lambda xp, x: xp.histogram2d(x, 1 / x, 2)[2],
    ],
)
def test_gradient_reaches_the_edges(function: Any) -> None:
    """The first and the last are the data's; on a tape their gradient was lost, and grad refused it."""
    x = np.array([1.3, 2.0, 5.0, 3.1])
    weights = np.cos(np.arange(len(function(np, x))))
    moves = 1e-6 * np.eye(4)
    expected = [(function(np, x + move) - function(np, x - move)) @ weights / 2e-6 for move in moves]
    given = tnp.asarray(x)
    with tnp.GradientTape() as tape:
        tape.watch(given)
        value = (function(tnp, given) * weights).sum()
    for found in (tape.gradient(value, given), tnp.grad(lambda x: (function(tnp, x) * weights).sum())(given)):
        np.testing.assert_allclose(tnp.asnumpy(found), expected, rtol=1e-6)


def test_more_values_than_a_block() -> None:
    counts, _ = tnp.histogram(tnp.arange(2**21 + 5), 4)
    assert int(counts.sum()) == 2**21 + 5


def test_bool_is_converted_with_a_warning() -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        tnp.histogram(tnp.asarray([True, False]))
    assert [w.category for w in caught] == [RuntimeWarning]


@agrees(raises=MemoryError)
def test_more_bins_than_there_is_memory(xp: Any) -> Any:
    return xp.bincount(xp.asarray([1]), minlength=2**48)


@pytest.mark.parametrize("weights", [None, [1.0, 2.0], [1, 2], [1j, 2]])
def test_no_edges(weights: Any) -> None:
    compare(lambda xp: xp.histogram(xp.asarray([1.0, 2.0]), [], weights=weights))
    found = tnp.compile(lambda x: tnp.histogram(x, [], weights=weights)[0], backend="eager")(tnp.ones(2))
    assert found.shape == (0,) and found.dtype == np.histogram([1, 2], [], weights=weights)[0].dtype


@pytest.mark.parametrize("bins", [3, [0.0, 1.0, 2.0]])
def test_a_compiled_histogram_of_nothing(bins: Any) -> None:
    expected = np.histogram(np.zeros(0), bins, (0, 1))
    assert_same(expected, tnp.compile(lambda x: tnp.histogram(x, bins, (0, 1)), backend="eager")(tnp.zeros(0)))


@agrees
@pytest.mark.parametrize("dtype", INTEGERS)
@pytest.mark.parametrize("bins", [4, [-5, -5, -2, 1, 3], [0, 2, 3]])
def test_whole_weights_of_any_size(xp: Any, dtype: str, bins: Any) -> Any:
    weights = np.array([np.iinfo(dtype).max, 1, np.iinfo(dtype).max], dtype)
    if bins == 4 and weights.itemsize == 8:  # which are added up in float64
        weights //= 2**11
    return xp.histogram(xp.asarray([0, 1, 2]), bins, weights=xp.asarray(weights))[0]


def ends_of_the_data(xp: Any, x: Any) -> Any:
    """Histograms between the ends of their data, which a compiled function computes."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # bools are converted
        return (
            *xp.histogram(x),
            *xp.histogram(x, 3, density=True),
            *xp.histogram(x[:1], 4, weights=xp.ones(1)),
            *xp.histogram2d(x, x[::-1], [2, 5]),
            xp.histogram_bin_edges(x, 6),
        )


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint64", "int64", "float32", "float64"])
def test_between_the_ends_of_traced_data(dtype: str) -> None:
    values = sample(np, (40,), dtype)
    expected = ends_of_the_data(np, values)
    compiled = tnp.compile(lambda x: ends_of_the_data(tnp, x), backend="eager", fullgraph=True)
    assert_same(expected, compiled(tnp.asarray(values)))
    rows = sample(np, (3, 20), dtype)
    mapped = tnp.vectorized_map(lambda x: ends_of_the_data(tnp, x), tnp.asarray(rows))
    each = zip(*[ends_of_the_data(np, row) for row in rows], strict=True)
    assert_same(tuple([np.array(parts) for parts in each]), mapped)


@pytest.mark.parametrize("wrong", [[np.nan, 1], [1, np.inf], [1e16, 1e16 + 2]])
def test_no_bins_between_the_ends_of_traced_data(wrong: list[float]) -> None:
    with pytest.raises(ValueError) as numpys:
        np.histogram(np.array(wrong))
    with pytest.raises(ValueError) as ours:
        tnp.compile(tnp.histogram, backend="eager", fullgraph=True)(tnp.asarray(wrong))
    assert str(ours.value).split()[:2] == str(numpys.value).split()[:2]


def test_points_of_no_dimension() -> None:
    compare(lambda xp: xp.histogramdd(xp.zeros((1, 0), int)), raises=ValueError)
    compare(lambda xp: xp.histogramdd(-7), raises=TypeError)


def test_histograms_of_points_and_their_edges() -> None:
    def counted(xp: Any) -> Any:
        points = xp.arange(60.0).reshape(20, 3) % 7
        whole, edges = xp.histogramdd(points, bins=4)
        part, ends = xp.histogramdd((points[:, 0], points[:, 1]), bins=3, range=[(0, 5), (0, 9)], weights=xp.ones(20))
        return whole, edges, part, ends, xp.histogramdd(points, bins=2, density=True)

    compare(counted, rtol=1e-12)


def test_many_values_with_weights_density_and_edges() -> None:
    """Of more values than the native core gives to NumPy."""

    def found(xp: Any) -> Any:
        random = np.random.default_rng(0)
        x, weights = xp.asarray(random.normal(size=40_000)), xp.asarray(random.uniform(size=40_000).astype("f4"))
        edges = xp.linspace(-3, 3, 31)
        of_edges = xp.histogram(x, edges, weights=weights.astype("f8"))
        return [
            xp.histogram(x, 50, weights=weights), xp.histogram(x, edges), of_edges, of_edges[1] is edges,
            xp.histogram(x, 20, (-1, 2), density=True), xp.histogram(x, "sqrt", density=True),
        ]  # fmt: skip

    compare(found, rtol=1e-6)


def test_a_number_of_bins_that_is_an_array() -> None:
    compare(lambda xp: xp.histogram(xp.arange(9.0), xp.asarray(4)))
    compare(lambda xp: xp.histogram(xp.arange(40_000.0), xp.asarray(4)))


def test_a_density_of_nothing_is_reported() -> None:
    def refused(xp: Any) -> Any:
        with xp.errstate(invalid="raise"):
            return xp.histogram(xp.asarray([9.0]), xp.asarray([0.0, 1.0, 2.0]), density=True)

    compare(refused, raises=FloatingPointError)


@pytest.mark.parametrize("largest", [2**63 - 1, 2**63 - 2, 2**62])
@pytest.mark.parametrize("weights", [None, [1.0, 2.0]])
def test_bincount_of_more_bins_than_memory_has(largest: int, weights: list[float] | None) -> None:
    """NumPy writes outside of its memory for the last int64."""
    with pytest.raises(ValueError, match="array is too big"):
        tnp.bincount(tnp.asarray([largest, 3]), None if weights is None else tnp.asarray(weights))


@agrees(raises=ValueError)
def test_bincount_looks_at_the_shape_of_weights_first(xp: Any) -> Any:
    return xp.bincount([3], xp.ones((1, 1), "complex128"))
