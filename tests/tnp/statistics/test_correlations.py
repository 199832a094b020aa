"""Covariances, correlations and convolutions do what NumPy's do."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tnp
from tests.oracle import ALL, agrees, assert_same, compare, outcome_compiled, sample

CLOSE = {"rtol": 1e-12, "atol": 1e-12}
NAMES = ["correlate", "convolve"]


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint16", "float32", "float64", "complex64", "complex128"])
@pytest.mark.parametrize("options", [
    {}, {"rowvar": False}, {"bias": True}, {"ddof": 2}, {"fweights": [1, 2, 0, 3]}, {"aweights": [0.5, 1, 2, 0]},
    {"fweights": [1, 2, 0, 3], "aweights": [0.5, 1, 2, 0]}, {"ddof": 0, "fweights": [1, 2, 1, 1]}, {"dtype": "float32"},
])  # fmt: skip
def test_cov(dtype: str, options: dict[str, Any]) -> None:
    shape = (4, 3) if options.get("rowvar") is False else (3, 4)
    tolerance = {"rtol": 1e-4, "atol": 1e-2} if options.get("dtype") else CLOSE
    compare(lambda xp: xp.cov(sample(xp, shape, dtype), **options), **tolerance)
    compare(lambda xp: xp.cov(sample(xp, shape, dtype)[0], **options), **tolerance)
    compare(lambda xp: xp.cov(sample(xp, (4,), dtype), sample(xp, (4,), dtype, 1), **options), **tolerance)


@pytest.mark.parametrize("options", [
    {"ddof": 1.5}, {"fweights": [0.5] * 4}, {"fweights": [1]}, {"fweights": [[1] * 4]}, {"fweights": [-1] * 4},
    {"aweights": [-1] * 4}, {"aweights": [1]}, {"ddof": 7}, {"y": np.zeros((1, 1, 1))}, {"y": [1]},
])  # fmt: skip
def test_cov_arguments(options: dict[str, Any]) -> None:
    compare(
        lambda xp: xp.cov(sample(xp, (3, 4), "float64"), **options),
        **CLOSE,
        may_raise=(RuntimeError, TypeError, ValueError),
    )


@pytest.mark.parametrize("dtype", ["int64", "float32", "complex128"])
@agrees(**CLOSE)
def test_corrcoef(xp: Any, dtype: str) -> Any:
    x, y = sample(xp, (3, 5), dtype), sample(xp, (3, 5), dtype, 1)
    return xp.corrcoef(x), xp.corrcoef(x, rowvar=False), xp.corrcoef(x, y), xp.corrcoef(x[0])


@pytest.mark.parametrize("shape", [(0,), (0, 3), (2, 0)])
def test_of_nothing(shape: tuple[int, ...]) -> None:
    compare(lambda xp: xp.cov(xp.zeros(shape)))
    compare(lambda xp: xp.cov(xp.zeros(shape), dtype=1), raises=TypeError)


@pytest.mark.parametrize("dtype", ALL)
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("mode", ["valid", "same", "full"])
def test_modes(name: str, mode: str, dtype: str) -> None:
    tolerance = {"rtol": {"float16": 1e-2, "float32": 1e-4, "complex64": 1e-4}.get(dtype, 1e-12), "atol": 1e-2}
    for sizes in ((5, 3), (3, 5), (4, 4), (6, 2), (1, 1), (90, 40)):
        one, other = sizes
        compare(
            lambda xp, one=one, other=other: getattr(xp, name)(
                sample(xp, (one,), dtype), sample(xp, (other,), dtype, 1), mode
            ),
            **tolerance,
        )


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("arguments", [
    ([], [1]), ([1], []), ([[1]], [1]), ([1, 2], [[1]]), ([1, 2], [1.5, 1j]), ([1, 2, 3], [1], "some"),
    ([1, 2, 3], [1, 2], 1), ([1, 2, 3], (0.5, 1), "same"), ([True, False], [1, 2**40]), (["a"], [1]), ([None], [1]),
])  # fmt: skip
def test_sequences(name: str, arguments: tuple[Any, ...]) -> None:
    compare(lambda xp: getattr(xp, name)(*arguments), may_raise=(TypeError, ValueError))


@agrees
def test_numbers_convolve(xp: Any) -> Any:
    return xp.convolve(3, xp.asarray([1, 2])), xp.convolve(2, 3)


@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.integers(-9, 9), min_size=1, max_size=9),
    st.lists(st.integers(-9, 9), min_size=1, max_size=9),
    st.sampled_from(["valid", "same", "full"]),
)
def test_any_sequences(one: list[int], other: list[int], mode: str) -> None:
    compare(lambda xp: xp.convolve(xp.asarray(one), xp.asarray(other), mode))
    compare(lambda xp: xp.correlate(xp.asarray(one), xp.asarray(other), mode))


def test_gradients() -> None:
    x = tnp.asarray([1.0, 2.0, 3.0])
    x.tensor.requires_grad_()
    tnp.convolve(x, tnp.asarray([1.0, 2.0])).sum().tensor.backward()
    assert tnp.asarray(x.tensor.grad).tolist() == [3.0, 3.0, 3.0]


@pytest.mark.parametrize("name", ["convolve", "correlate"])
@pytest.mark.parametrize("mode", [None, -1, "v"])
@agrees(raises=Exception)
def test_a_mode_is_one_of_three(xp, name, mode):
    getattr(xp, name)([1.0, 2.0], [1.0], mode=mode)


@pytest.mark.parametrize("mode", ["full", "same", "valid"])
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("length", [2, 40])
def test_infinities_beyond_the_end(name: str, length: int, mode: str) -> None:
    """They meet no element there: zeros in the place of these gave NaN, and so did compiled code for short lines."""
    line, window = np.arange(1.0, 90), np.arange(1.0, length + 1)
    window[[0, -1]] = np.inf, np.nan

    def function(xp: Any) -> Any:
        x, w = xp.asarray(line), xp.asarray(window)
        return getattr(xp, name)(x, w, mode), getattr(xp, name)(w, x, mode)

    expected = compare(function, **CLOSE)
    assert_same(expected, outcome_compiled(function, "eager"), **CLOSE)
