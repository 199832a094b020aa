"""What a gradient is where there is no derivative, where one is easily lost, and of what is not computed at all."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy
import pytest
import torch

import tnp as np

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning", "ignore::RuntimeWarning")

ENDS = torch.__version__ >= (2, 15)  # of clip get all of the derivative


@pytest.mark.parametrize(
    ("function", "x", "expected"),
    [
        (np.abs, 0.0, 0.0),
        (np.sqrt, 0.0, numpy.inf),
        (np.sign, 0.0, 0.0),
        (lambda x: np.maximum(x, 1.0), 1.0, 0.5),
        (lambda x: np.minimum(1.0, x), 1.0, 0.5),
        (lambda x: np.max(np.stack([x, x, x - 1])), 1.0, 1.0),
        (lambda x: np.linalg.norm(np.stack([x, x])), 0.0, 0.0),
        (lambda x: np.hypot(x, x), 0.0, 0.0),
        (lambda x: np.hypot(x, 3.0), 0.0, 0.0),
        (lambda x: np.hypot(x, 3.0), 4.0, 0.8),
        (np.cbrt, 0.0, numpy.inf),
        (np.cbrt, -0.0, numpy.inf),
        (np.cbrt, -8.0, 1 / 12),
        (lambda x: x**0.5, 0.0, numpy.inf),
        (np.log, 0.0, numpy.inf),
        (np.arcsin, 1.0, numpy.inf),
        (lambda x: np.fmax(x, 1.0), 1.0, 0.5),
        (lambda x: np.fmin(1.0, x), 1.0, 0.5),
        (lambda x: np.nanmax(np.append(np.stack([x, x * 2, x * 2]), np.nan)), 1.0, 2.0),
        (lambda x: np.fmin.reduce(np.append(np.stack([x, -x]), np.nan)), 0.0, 0.0),
        (lambda x: np.power(0.0, x), 2.0, 0.0),
        (lambda x: x**1, 0.0, 1.0),
        (lambda x: np.std(np.stack([x, x])), 1.0, 0.0),
        (lambda x: np.where(x > 0, np.sqrt(x), 0.0), 0.0, numpy.nan),
        (lambda x: np.arctan2(x, x), 0.0, 0.0),
        (lambda x: np.where(x > 0, np.sqrt(np.where(x > 0, x, 1.0)), 0.0), -1.0, 0.0),
        (lambda x: np.where(x > 0, x, x * 3), 0.0, 3.0),
        (lambda x: np.clip(x, 0.0, 1.0), 0.0, 0.0 if ENDS else 1.0),
        (lambda x: np.clip(x, 0.0, 1.0), 1.0, 0.0 if ENDS else 1.0),
        (lambda x: np.floor(x), 0.5, 0.0),
        (lambda x: np.nansum(np.append(x, np.nan)), 2.0, 1.0),
        (lambda x: x**0, 0.0, 0.0),
        (lambda x: x**2, 0.0, 0.0),
        (lambda x: np.sinc(x), 0.0, 0.0),
        (lambda x: np.interp(x, [0, 1, 2], [1, 3, 5]), 1.0, 2.0),
        (lambda x: np.interp(x, [0, 1, 2], [1, 3, 4]), 1.0, 1.0),
        (lambda x: np.interp(x, [0, 1, 2], [1, 3, 4]), 2.0, 0.0),
        (lambda x: np.interp(x, [0, 1, 2, 2], [1, np.inf, 1, np.nan], left=x), -1.0, 1.0),
        (lambda x: np.interp(x, [0, 1, 2, 2], [1, np.inf, np.nan, 2]), 3.0, 0.0),
        (lambda x: np.imag(np.interp(x, [0, 1, 2], [1, complex(0, -np.inf), 1])), -1.0, 0.0),
        (lambda x: x * np.argmax(np.stack([x, x]), keepdims={}), 2.0, 0.0),
    ],
)
def test_where_there_is_no_derivative_or_one_is_easily_lost(
    function: Callable[[Any], Any], x: float, expected: float
) -> None:
    """These are the documented values: torch's for each operation, but for the cube root and the hypotenuse."""
    numpy.testing.assert_allclose(float(np.grad(function)(x)), expected, rtol=1e-15)


@pytest.mark.parametrize("name", ["maximum", "minimum", "fmax", "fmin", "arctan2", "hypot"])
def test_equal_operands_have_one_derivative_in_all_modes(name: str) -> None:
    function = getattr(np, name)
    x, y = np.asarray([1.0, 0.0, 2.0]), np.asarray([1.0, 0.0, 1.0])
    with np.GradientTape() as tape:
        tape.watch((x, y))
        value = np.compile(lambda x, y: function(x, y).sum(), backend="eager")(x, y)
    reverse = np.asnumpy(np.stack(tape.gradient(value, (x, y))))
    forward = np.jacobian(function, argnums=(0, 1), mode="forward")(x, y)
    assert reverse.tolist() == [np.asnumpy(each).diagonal().tolist() for each in forward]
    if name in ("fmax", "fmin"):
        assert reverse[:, :2].tolist() == [[0.5, 0.5], [0.5, 0.5]]


@pytest.mark.parametrize("x", [0.0, 1e-9, -0.03, 0.0999, 0.1, 0.7, 2.0])
def test_derivatives_of_sinc(x: float) -> None:
    """By the series of sinc, whose terms are differentiated; torch's second derivative at 0 is NaN."""
    function: Any = np.sinc
    for order in range(4):
        expected = math.fsum(
            (-1) ** k * math.pi ** (2 * k) * x ** (2 * k - order) / math.factorial(2 * k + 1) * math.perm(2 * k, order)
            for k in range(40)
            if 2 * k >= order
        )
        numpy.testing.assert_allclose(float(function(np.asarray(x))), expected, rtol=1e-11, atol=1e-11)
        function = np.grad(function)
    assert np.grad(np.grad(np.sinc))(0.0) == -(math.pi**2) / 3


@pytest.mark.parametrize(
    ("function", "x", "y", "expected"),
    [
        (np.special.xlogy, 0.0, 0.0, (0.0, 0.0)),
        (np.special.xlogy, 0.0, 2.0, (math.log(2), 0.0)),
        (np.special.xlogy, 3.0, 2.0, (math.log(2), 1.5)),
        (np.special.xlog1py, 0.0, -1.0, (0.0, 0.0)),
        (np.special.xlog1py, 3.0, 1.0, (math.log(2), 1.5)),
        (np.arctan2, 0.0, 0.0, (0.0, 0.0)),
        (np.arctan2, -math.inf, 2.0, (0.0, 0.0)),
        (np.arctan2, 2.0, math.inf, (0.0, 0.0)),
        (np.arctan2, math.inf, -math.inf, (0.0, 0.0)),
        (np.arctan2, math.inf, math.nan, (math.nan, math.nan)),
        (lambda x, y: np.geomspace(x, y, 2).sum(), 0.5, -0.9, (1.0, 1.0)),
        (lambda x, y: np.geomspace(x, y, 1).sum(), 0.5, -0.9, (1.0, 0.0)),
    ],
)
def test_two_operands_where_a_derivative_is_easily_lost(
    function: Callable[..., Any], x: float, y: float, expected: tuple[float, float]
) -> None:
    numpy.testing.assert_allclose([float(g) for g in np.grad(function, (0, 1))(x, y)], expected, rtol=1e-14)


@pytest.mark.parametrize("x", [1.5, -1.5, -3.0])
def test_arcsines_of_reals_beyond_one(x: float) -> None:
    expected = math.copysign(1 / math.sqrt(x**2 - 1), x)
    found = np.grad(lambda x: np.imag(np.arcsin(x, dtype="complex128")))(x)
    numpy.testing.assert_allclose(float(found), expected, rtol=1e-14)
    found = np.grad(lambda z: np.real(np.arcsinh(z)))(complex(0, x))
    numpy.testing.assert_allclose(complex(found), complex(0, expected), rtol=1e-14)


def test_xlogy_of_nan() -> None:
    assert numpy.isnan(np.value_and_grad(np.special.xlogy)(0.0, numpy.nan)[0])


@pytest.mark.parametrize("function", [np.abs, np.sign, np.floor, np.rint])
def test_second_derivatives_that_are_zero_have_memory(function: Callable[[Any], Any]) -> None:
    """torch has zeros without memory, which neither NumPy nor a write can use."""
    x = np.asarray([1.0, -2.0])

    def total(x: Any) -> Any:
        return function(x).sum()

    def taped(x: Any) -> Any:
        with np.GradientTape(persistent=True) as tape:
            tape.watch(x)
            with np.GradientTape() as inner:
                inner.watch(x)
                value = total(x)
            gradient = inner.gradient(value, x)
        return tape.gradient(gradient, x, unconnected_gradients="zero")

    for found in (np.grad(lambda x: np.grad(total)(x).sum())(x), np.hessian(total)(x), taped(x)):
        found += 1
        assert (np.asnumpy(found) == 1).all()


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        (lambda x, s: np.log(x, where=x > 0, out=np.zeros(3)), ([0.0, 0.0, 0.5], 0.0)),
        (lambda x, s: np.sqrt(x, where=x > 0, out=x * 2), ([2.0, 2.0, 8**-0.5], 0.0)),
        (lambda x, s: np.divide(s, x, where=x != 0, out=np.zeros(3)), ([-3.0, 0.0, -0.75], -0.5)),
        (lambda x, s: np.power(x, s, where=x > 0, out=np.zeros(3)), ([0.0, 0.0, 12.0], 8 * math.log(2))),
    ],
)
def test_what_where_leaves_out_has_no_gradient(function: Callable[..., Any], expected: tuple[Any, float]) -> None:
    """Not even where it has no value or an infinite derivative: neither in what is computed of it nor beside it."""
    x, s = np.asarray([-1.0, 0.0, 2.0]), np.asarray(3.0)
    for gradients in (np.grad(lambda x, s: function(x, s).sum(), (0, 1)), taped(function)):
        found = gradients(x, s)
        numpy.testing.assert_allclose(np.asnumpy(found[0]), expected[0], rtol=1e-14)
        assert float(found[1]) == pytest.approx(expected[1], rel=1e-14)


def taped(function: Callable[..., Any]) -> Callable[..., Any]:
    """Gradients of the sum of the results by a tape."""

    def gradients(*args: Any) -> Any:
        with np.GradientTape() as tape:
            tape.watch(args)
            value = function(*args).sum()
        return tape.gradient(value, args, unconnected_gradients="zero")

    return gradients


@pytest.mark.parametrize(
    "function",
    [
        lambda x, s: np.sqrt(x, out=x[:0]),
        lambda x, s: np.arcsin(s, out=np.zeros((2, 0))),
        lambda x, s: np.power(x, s, out=np.zeros((0, 1)), where=x < 0),
        lambda x, s: np.divmod(x, s - s, out=(None, np.zeros((3, 0))))[1],
    ],
)
def test_what_is_not_computed_has_no_gradient(function: Callable[..., Any]) -> None:
    """An element that is broadcast to an output of none is not in the domain."""
    x, s = np.asarray([-2.0]), np.asarray(7.0)
    for gradients in (np.grad(lambda x, s: function(x, s).sum(), (0, 1)), taped(function)):
        found = gradients(x, s)
        assert found[0].tolist() == [0.0] and found[1].tolist() == 0.0


@pytest.mark.parametrize(
    "function",
    [
        lambda np, x, n: np.roll(x, n),
        lambda np, x, n: np.roll(x, np.asarray([1]), (0,)) * x,
        lambda np, x, n: np.partition(x, n) * x,
        lambda np, x, n: np.pad(x, n, mode="reflect"),
        lambda np, x, n: np.hanning(n).sum() * x,
        lambda np, x, n: np.kaiser(n, 3.5).sum() * x,
        lambda np, x, n: np.histogram([1, 2, 1, 4], n, weights=x)[0],
        lambda np, x, n: np.histogram(np.asarray([1, 2, 4]) * 1, n)[1].sum() * x,
        lambda np, x, n: x * np.asarray(n)[()] + np.sum(np.arange(n)) * x,
    ],
)
@pytest.mark.reads
def test_counts_are_known_inside_of_derivatives(function: Callable[[Any, Any, Any], Any]) -> None:
    """torch.func holds what is made inside a derivative; NumPy may read it where nothing differentiated reaches it."""
    x = numpy.array([0.3, -1.2, 2.5, 0.7])
    moves = 1e-6 * numpy.eye(4)
    for count in (lambda xp: xp.asarray(2), lambda xp: xp.asarray(1) + 1, lambda xp: xp.argmax(xp.asarray([1, 2, 3]))):
        weights = numpy.cos(numpy.arange(function(numpy, x, count(numpy)).size))
        at = [function(numpy, moved, count(numpy)) @ weights for moved in (*(x + moves), *(x - moves))]
        expected = (numpy.array(at[:4]) - at[4:]) / 2e-6

        def loss(x: Any, count: Any = count, weights: Any = weights) -> Any:
            return (function(np, x, count(np)) * np.asarray(weights.tolist())).sum()

        at_x = np.asarray(x.tolist())
        for found in (np.grad(loss)(at_x), np.jacobian(loss, mode="forward")(at_x)):
            numpy.testing.assert_allclose(np.asnumpy(found), expected, rtol=1e-6)
        assert np.hessian(loss)(at_x).shape == (4, 4)


@pytest.mark.reads
def test_what_is_differentiated_is_not_read() -> None:
    read = []

    def loss(x: Any) -> Any:
        read.append(numpy.asarray(x.dtype.type(2) * np.ones(2)).tolist())
        read.append(np.histogram([1.0, 2.0, 1.25, 4.0], 2, weights=[1.0, 2.0, 3.0, 5.0])[0].tolist())
        numpy.testing.assert_array_equal(np.asnumpy(np.stop_gradient(x)), [1.5, 2.5])
        for value in (x, x[0], x > 0, x.astype(int)):
            if value.dtype.kind == "f":
                with pytest.raises(TypeError, match="has no values yet"):
                    np.asnumpy(value)
            else:
                read.append(np.asnumpy(value).tolist())
        return np.sum(x)

    x = np.asarray([1.5, 2.5])
    assert np.grad(loss)(x).tolist() == [1.0, 1.0]
    assert read == [[2.0, 2.0], [6.0, 5.0], [True, True], [1, 2]]
    with pytest.raises(TypeError, match="has no values yet"):
        np.jvp(lambda x: np.asnumpy(x * 2) * x, (x,), (x,))
    with pytest.raises(TypeError, match="has no values yet"):
        np.grad(lambda y: np.grad(lambda x: float(np.asnumpy(y)[0]) * x.sum())(x).sum())(x)


@pytest.mark.parametrize(
    "function",
    [
        lambda np, x, i: x[i],
        lambda np, x, i: np.take(x, i),
        lambda np, x, i: np.take_along_axis(x, i, 0),
        lambda np, x, i: np.put_along_axis(x * 1, i, 0.0, 0),
        lambda np, x, i: np.add.at(x * 1, i, 1.0),
        lambda np, x, i: np.ravel_multi_index((i,), (3,)) * x[:2],
        lambda np, x, i: np.choose(i, [x[:2], x[:2]]),
        lambda np, x, i: np.searchsorted(x, [9.0], sorter=[2, 2, -3]) * x,
    ],
)
def test_indices_out_of_bounds_inside_of_derivatives(function: Callable[[Any, Any, Any], Any]) -> None:
    """What NumPy raises, in its words: torch.take_along_dim counted them round and round."""
    with pytest.raises((IndexError, ValueError)) as expected:
        function(numpy, numpy.ones(3), numpy.array([0, 7]))
    x = np.asarray([1.0, 2.0, 3.0])
    calls = (np.grad, lambda loss: lambda x: np.jvp(loss, (x,), (x,)))
    for call in calls:
        with pytest.raises(expected.type) as found:
            call(lambda x: np.sum(function(np, x, np.asarray([0, 6]) + np.asarray([0, 1]))))(x)
        assert str(found.value).startswith(str(expected.value))


@pytest.mark.parametrize("matrix", [[[1.0, 2.0], [2.0, 4.0]], [[0.0, 0.0], [0.0, 0.0]], [[1.0, 0.0], [0.0, 1.0]]])
def test_determinants_of_singular_matrices(matrix: Any) -> None:
    """Also those of a function that was compiled before a tape records it."""
    x, direction = np.asarray(matrix), np.asarray([[1.0, 2.0], [3.0, 5.0]])
    cofactors = [[matrix[1][1], -matrix[1][0]], [-matrix[0][1], matrix[0][0]]]
    compiled = np.compile(np.linalg.det, backend="eager")
    compiled(x)
    for function in (np.linalg.det, compiled):
        with np.GradientTape() as outer:
            outer.watch(x)
            with np.GradientTape() as tape:
                tape.watch(x)
                y = function(x)
            gradient = tape.gradient(y, x)
            change = (gradient * direction).sum()
        for found in (gradient, np.grad(function)(x)):
            assert numpy.allclose(np.asnumpy(found), cofactors, atol=1e-12)
        assert numpy.allclose(np.asnumpy(outer.gradient(change, x)), [[5.0, -3.0], [-2.0, 1.0]], atol=1e-12)
    _, rate = np.jvp(np.linalg.det, (x,), (direction,))
    assert math.isclose(rate, (np.asnumpy(direction) * cofactors).sum(), abs_tol=1e-12)
    second = np.asnumpy(np.hessian(np.linalg.det)(x)).reshape(4, 4)
    assert numpy.allclose(second, numpy.fliplr(numpy.diag([1.0, -1.0, -1.0, 1.0])), atol=1e-12)
