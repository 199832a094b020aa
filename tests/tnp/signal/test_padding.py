"""Padding does what NumPy's does, in every mode."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tnp
from tests.oracle import ALL, agrees, compare, sample

STATISTICS = ["maximum", "mean", "median", "minimum"]
MODES = ["constant", "edge", "linear_ramp", "reflect", "symmetric", "wrap", *STATISTICS]
WIDTHS = [0, 2, (1, 3), ((1, 2), (0, 3)), ((9, 11), (7, 8)), {1: 2}, {0: (1, 4), -1: 1}]


def close(dtype: str) -> dict[str, float]:
    """Tolerances for values computed in a dtype."""
    return {"rtol": {"float16": 5e-3, "float32": 1e-5, "complex64": 1e-5}.get(dtype, 1e-12), "atol": 1e-3}


@pytest.mark.parametrize("dtype", ALL)
@pytest.mark.parametrize("mode", MODES)
def test_modes(mode: str, dtype: str) -> None:
    for width in WIDTHS:
        compare(lambda xp, width=width: xp.pad(sample(xp, (3, 4), dtype), width, mode), **close(dtype))


@pytest.mark.parametrize("mode", ["reflect", "symmetric"])
@pytest.mark.parametrize("shape", [(4,), (1,), (2, 3), (1, 1)])
@pytest.mark.parametrize("width", [1, 3, (0, 9), (12, 5)])
@agrees
def test_odd_reflection(xp: Any, mode: str, shape: tuple[int, ...], width: Any) -> Any:
    return xp.pad(sample(xp, shape, "int64"), width, mode, reflect_type="odd")


@pytest.mark.parametrize("options", [
    {"constant_values": 3}, {"constant_values": (1, 2)}, {"constant_values": ((1, 2), (3, 4.5))},
    {"mode": "linear_ramp", "end_values": ((9, -9), (0, 4))}, {"mode": "linear_ramp", "end_values": 5},
    {"mode": "mean", "stat_length": 2}, {"mode": "maximum", "stat_length": ((1, 2), (3, 99))},
    {"mode": "minimum", "stat_length": 0}, {"mode": "median", "stat_length": (1, 3)},
    {"mode": "mean", "stat_length": -1},
    {"mode": "no_such"}, {"mode": "edge", "stat_length": 1}, {"pad_width": -1}, {"pad_width": 1.5},
    {"pad_width": ((1, 2), (3, 4), (5, 6))}, {"mode": 5}, {"constant_values": (1, 2, 3)},
])  # fmt: skip
@pytest.mark.parametrize("dtype", ["int64", "float64"])
def test_options(options: dict[str, Any], dtype: str) -> None:
    compare(
        lambda xp: xp.pad(sample(xp, (3, 4), dtype), **{"pad_width": 3, **options}),
        **close(dtype),
        may_raise=(TypeError, ValueError),
    )


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("shape", [(), (0,), (2, 0, 2)])
@pytest.mark.parametrize("width", [1, [(3,), (0,), (1,)], [(0, 0)]])
def test_of_little(mode: str, shape: tuple[int, ...], width: Any) -> None:
    compare(lambda xp: xp.pad(xp.ones(shape), width, mode), may_raise=ValueError)


def test_function() -> None:
    def frame(vector: Any, width: tuple[int, int], axis: int, kwargs: dict[str, Any]) -> None:
        vector[: width[0]] = kwargs["value"] + axis
        if width[1]:
            vector[-width[1] :] = kwargs["value"]

    compare(lambda xp: xp.pad(xp.arange(6).reshape(2, 3), ((1, 0), (2, 3)), frame, value=10))


def test_empty_and_order() -> None:
    assert tnp.pad(tnp.ones((2, 3)), 1, "empty").shape == (4, 5)
    assert tnp.pad(tnp.asfortranarray(tnp.ones((2, 3))), 1).flags.f_contiguous
    x = tnp.ones(3)
    assert not tnp.shares_memory(tnp.pad(x, 0, "edge"), x)


@settings(max_examples=60, deadline=None)
@given(
    st.sampled_from(MODES),
    st.lists(st.integers(1, 4), min_size=1, max_size=3),
    st.tuples(st.integers(0, 9), st.integers(0, 9)),
)
def test_any(mode: str, shape: list[int], width: tuple[int, int]) -> None:
    compare(lambda xp: xp.pad(sample(xp, tuple(shape), "float64"), width, mode), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("mode", MODES)
def test_gradients(mode: str) -> None:
    x = tnp.asarray([1.0, 2.0, 4.0])
    x.tensor.requires_grad_()
    tnp.pad(x, 2, mode).sum().tensor.backward()
    assert x.tensor.grad is not None
