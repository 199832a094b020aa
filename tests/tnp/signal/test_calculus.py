"""Differences, gradients, integrals and interpolation do what NumPy's do."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tnp
from tests.oracle import ALL, agrees, compare, ours, outcome, sample
from tnp._core.numpy_version import NUMPY

pytestmark = pytest.mark.usefixtures("computed_by")


def close(dtype: str) -> dict[str, float]:
    """Tolerances for values computed in a dtype."""
    return {"rtol": {"float16": 5e-3, "float32": 1e-5, "complex64": 1e-5}.get(dtype, 1e-12), "atol": 1e-6}


@pytest.mark.parametrize("dtype", ALL)
@pytest.mark.parametrize("edge_order", [1, 2])
def test_gradient(dtype: str, edge_order: int) -> None:
    def slopes(xp: Any) -> Any:
        x = sample(xp, (3, 4), dtype)
        uneven = xp.asarray([0.0, 1.0, 1.5, 4.0])
        return [
            xp.gradient(x, edge_order=edge_order),
            xp.gradient(x, 2.0, axis=0, edge_order=edge_order),
            xp.gradient(x, 2.0, uneven, edge_order=edge_order),
            xp.gradient(x, uneven, axis=-1, edge_order=edge_order),
            xp.gradient(x, [0, 2, 4], [1, 2, 4, 8], edge_order=edge_order),
            xp.gradient(x, xp.float32(2), axis=1, edge_order=edge_order),
        ]

    compare(slopes, **close(dtype), may_raise=TypeError)


@pytest.mark.parametrize("arguments", [
    ((1, 2, 3), {}), (([1, 2],), {"axis": 0}), (([[1]],), {"axis": 0}), ((), {"edge_order": 3}), ((), {"axis": 5}),
    ((), {"axis": (0, 0)}), ((), {"edge_order": 2, "axis": 2}), ((), {"axis": (1, 0)}), ((), {"axis": ()}),
])  # fmt: skip
def test_gradient_arguments(arguments: Any) -> None:
    compare(
        lambda xp: xp.gradient(sample(xp, (3, 4, 2), "float64"), *arguments[0], **arguments[1]), may_raise=ValueError
    )


@agrees
def test_gradient_of_two_uneven_points(xp: Any) -> Any:
    return xp.gradient(xp.asarray([1.0, 3.0]), xp.asarray([0.0, 4.0])), xp.gradient(xp.asarray([1.0, 2, 4]), [0, 1, 3])


@pytest.mark.parametrize("dtype", ALL)
def test_ediff1d(dtype: str) -> None:
    def differences(xp: Any) -> Any:
        x = sample(xp, (2, 3), dtype)
        return xp.ediff1d(x), xp.ediff1d(x, x[0, :2], 1), xp.ediff1d(x[:0], to_end=x[0]), xp.ediff1d(x, to_begin=x)

    compare(differences, may_raise=TypeError)


@pytest.mark.parametrize("end", [1.5, 1j, 2**40])
def test_ends_of_another_kind(end: Any) -> None:
    compare(lambda xp: xp.ediff1d(xp.asarray([1, 2, 4], "int16"), to_end=end), may_raise=TypeError)


@pytest.mark.parametrize("dtype", ALL)
@pytest.mark.parametrize("axis", [0, 1, -1, 3])
def test_trapezoid(dtype: str, axis: int) -> None:
    def integrals(xp: Any) -> Any:
        y = sample(xp, (3, 4), dtype)
        x = sample(xp, (3, 4), "float64", 1)
        return [
            xp.trapezoid(y, axis=axis),
            xp.trapezoid(y, dx=0.5, axis=axis),
            xp.trapezoid(y, x, axis=axis),
            xp.trapezoid(y, [1, 2, 4, 8][: y.shape[axis]], axis=axis),
        ]

    if dtype != "bool" or axis == 3:  # NumPy adds bools up as it divides them
        compare(integrals, **{"rtol": 1e-2, "atol": 1e-2} if dtype == "float16" else close(dtype), may_raise=IndexError)


@pytest.mark.parametrize("dtype", ALL)
@pytest.mark.parametrize("options", [{}, {"left": -1.5}, {"right": 3}, {"period": 3.0}, {"period": -2}, {"period": 0}])
def test_interp(dtype: str, options: dict[str, Any]) -> None:
    def between(xp: Any) -> Any:
        x = xp.asarray([[-3.0, 0.0, 0.25], [1.0, 7.0, xp.nan]])
        return xp.interp(x, xp.asarray([0.0, 0.5, 1.0, 4.0]), sample(xp, (4,), dtype), **options)

    compare(between, rtol=1e-12, atol=1e-12, may_raise=ValueError)


@agrees
def test_interp_at_the_ends(xp: Any) -> Any:
    inf = xp.inf
    return [
        xp.interp(xp.asarray([0.0, 1.0, 2.0]), [1], [5]),
        xp.interp(xp.asarray([0.0, 1.0, 2.0]), [1], [5], left=-1, right=7),
        xp.interp(1.5, [1, 2], [3, 4]),
        xp.interp(xp.asarray([-1.0, 0.0, 1.0, inf, -inf]), [-inf, 0, inf], [1, 1, 3]),
        xp.interp(xp.asarray([0.5, 1.0]), [0, 1, 2], [inf, inf, 0]),
        xp.interp(xp.asarray([0.5, 1.0, 1.5]), [0, 1, 1, 2], [0, 1, 5, 6]),
        xp.interp(xp.asarray([0.5, 3.0]), [0, 1], [1 + 1j, 2 - 3j], right=2j),
    ]


@pytest.mark.parametrize("arguments", [
    (1, [], []), (1, [1], [1, 2]), (1, [[1]], [[1]]), (1j, [1], [1]), (1, [1j], [1]), ([], [1], [1]),
])  # fmt: skip
def test_interp_arguments(arguments: tuple[Any, ...]) -> None:
    compare(lambda xp: xp.interp(*arguments), may_raise=(TypeError, ValueError))


@pytest.mark.parametrize("of", [lambda xp: xp.complex64(0.5 + 1j), lambda xp: xp.asarray([0.5 + 1j])[0]])
@agrees
def test_interp_drops_the_imaginary_part_of_a_number(xp: Any, of: Callable[[Any], Any]) -> Any:
    return xp.interp(of(xp), [0.0, 1.0], [1.0, 2.0]), xp.interp(of(xp), [0.0, 1.0], [1.0, 2j])


@pytest.mark.parametrize("shape", [(), (1,)])
def test_interp_refuses_complex_arrays_in_numpys_words(shape: tuple[int, ...]) -> None:
    errors = [outcome(lambda xp: xp.interp(xp.zeros(shape, complex), [0, 1], [0, 1]), xp).error for xp in (np, ours())]
    assert (type(errors[1]), str(errors[1])) == (type(errors[0]), str(errors[0]))


@pytest.mark.parametrize("fp", [[1.0, 2.0], [1j, 2.0]])
@pytest.mark.parametrize("x", [[], [[]], 1.0, [0.5]])
def test_interp_with_ends_that_are_no_scalars(x: Any, fp: list[Any]) -> None:
    # Since NumPy 2.5 the ends are read only where there are values.
    refused: Any = {"raises": TypeError} if np.size(x) or NUMPY < "2.5.0" else {}
    compare(lambda xp: xp.interp(x, [0.0, 1.0], fp, right=xp.asarray([5])), **refused)
    compare(lambda xp: xp.interp(x, [0.0, 1.0], fp, left=[1, 2]), **refused)


@settings(max_examples=40, deadline=None)
@given(st.lists(st.integers(-9, 9), min_size=2, max_size=6, unique=True), st.lists(st.floats(-12, 12), max_size=5))
def test_any_points(places: list[int], x: list[float]) -> None:
    def between(xp: Any) -> Any:
        points = xp.sort(xp.asarray(places, float))
        return xp.interp(xp.asarray(x, float), points, points**2 - points)

    compare(between, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("dtype", ALL)
@pytest.mark.parametrize("options", [{}, {"discont": 4}, {"axis": 0}, {"period": 7}, {"period": 8}, {"period": 2.5}])
def test_unwrap(dtype: str, options: dict[str, Any]) -> None:
    compare(
        lambda xp: xp.unwrap(sample(xp, (3, 6), dtype), **options), **close(dtype), may_raise=(OverflowError, TypeError)
    )


def test_gradient_reaches_interpolated_values() -> None:
    values = tnp.asarray([1.0, 2.0, 5.0])
    values.tensor.requires_grad_()
    tnp.interp(1.25, [0, 1, 2], values).tensor.backward()
    assert values.tensor.grad.tolist() == [0.0, 0.75, 0.25]


@pytest.mark.parametrize("order", ["C", "F"])
@agrees
def test_gradients_lie_in_memory_as_the_array_does(xp: Any, order: str) -> Any:
    x = xp.asarray(np.arange(24.0).reshape(2, 3, 4) ** 2, order=order)
    return [each.strides for each in (*xp.gradient(x), xp.gradient(x, axis=1), xp.gradient(x[0], axis=0))]
