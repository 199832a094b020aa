"""``x[mask]`` of masks that can't be looked at: what NumPy computes, for all elements at once and in a graph."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy
import pytest

import tnp as np
from tests.oracle import placed

ROWS = numpy.array([[0.7, -1.3, 0.2, 2.1], [-0.4, -0.6, -1.7, -0.1], [1.1, 0.9, 0.3, 0.5]])  # some, none, and all
WEIGHTS = numpy.array([1.0, -2.0, 0.5, 3.0])

Function = Callable[[Any, Any], Any]
WRITES: list[Function] = []
"""What writes to the elements that a mask chooses, of a row of four."""


def write(function: Function) -> Function:
    WRITES.append(function)
    return function


@write
def scaled(np: Any, x: Any) -> Any:
    y = x * 1.5
    y[y > 0] *= 2
    return y


@write
def by_one_mask(np: Any, x: Any) -> Any:
    y, mask = x * 1.5, x > 0
    y[mask] = y[mask] * x[0] - y[mask]
    return y


@write
def by_equal_masks(np: Any, x: Any) -> Any:
    y = x * 1.5
    y[x > 0] = y[x > 0] ** 2 + x[x > 0]
    return y


@write
def of_what_is_defined_there(np: Any, x: Any) -> Any:
    y = x * 1.5
    y[x > 0] = np.sqrt(y[x > 0]) + np.log(y[x > 0] * abs(x[1])) + x[2] ** y[x > 0]
    return y


@write
def by_functions(np: Any, x: Any) -> Any:
    y = x.copy()
    y[x > 0] = np.clip(y[x > 0], 0.25, x[0])
    y[x > 0] = np.where(y[x > 0] > 0.4, y[x > 0], [0.1])
    y[x < 0] = -abs(y[x < 0].copy().clip(-1)).astype(np.float32)
    return y


@write
def in_two_results(np: Any, x: Any) -> Any:
    y = x.copy()
    quotient, rest = np.divmod(y[x > 0], 0.3)
    y[x > 0] = quotient * rest
    return y


@write
def normalised(np: Any, x: Any) -> Any:
    y = x.copy()
    chosen = y[x > -1.5]
    chosen -= chosen.mean()
    chosen /= np.std(chosen)
    y[x > -1.5] = chosen
    return y


@write
def of_reversed_rows(np: Any, x: Any) -> Any:
    y = np.ones((2, 4)) * x
    y[::-1, x > 0] *= np.asarray([[2.0], [3.0]])
    return y[0]


@write
def of_columns(np: Any, x: Any) -> Any:
    y = np.ones((2, 4)) * x
    y[:, x > 0] *= np.asarray([[0.5], [2.0]])
    y[:, x < 0] = x[x < 0]
    return y[0] - y[1]


@write
def of_rows(np: Any, x: Any) -> Any:
    y = np.ones((4, 3)) * x[:, None]
    y[x > 0] += np.asarray([1.0, 2.0, 3.0])
    y[x > 0] *= y[x > 0]
    return y.sum(axis=1)


@write
def of_a_matrix(np: Any, x: Any) -> Any:
    y = np.outer(x, x)
    y[y > 0] = np.tanh(y[y > 0]) + x[0]
    y[y < -0.1] += 1
    return y.sum(axis=0)


@write
def of_integers(np: Any, x: Any) -> Any:
    y = np.asarray(x * 10, dtype=np.int32)
    y[y != 0] = 100 // y[y != 0]
    y[y > 0] <<= 2
    return y * 1.0


@write
def of_booleans(np: Any, x: Any) -> Any:
    y = x > 0.4
    y[x < 1] = ~y[x < 1]
    return y * x


REDUCTIONS: list[Function] = [
    lambda np, x: x[x > 0].sum(),
    lambda np, x: np.sum(x[x > 0] ** 2),
    lambda np, x: np.prod(x[x > 0]) * x[0],
    lambda np, x: x[x > -1.8].mean() + np.mean(x[x > -1.8], axis=0),
    lambda np, x: x[x > -1.8].std() + np.var(x[x > -1.8], ddof=1, axis=-1),
    lambda np, x: (x[x > -1.5] > 0).all() * x[0] + np.any(x[x > 0] > 1),
    lambda np, x: np.outer(x, x)[np.outer(x, x) > 0].sum(),
    lambda np, x: (np.ones((2, 4)) * x)[:, x > 0].sum(axis=1) @ np.asarray([1.0, 2.0]),
    lambda np, x: (np.ones((2, 4, 3)) * x[:, None])[:, x > 0].sum(axis=(0, 1), keepdims=True)[0, 0] @ np.ones(3),
]


@pytest.fixture(autouse=True)
def at_once() -> Iterator[None]:
    """No loop, which would warn, unless the test catches that."""
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        yield


def given(values: Any) -> np.ndarray:
    return placed(np, values)


def check(function: Function) -> None:
    """All elements at once, and in a graph; and the gradients of that, which no other element's NaN reaches."""

    def ours(x: Any) -> Any:
        return function(np, x)

    def loss(x: Any) -> Any:
        return (ours(x) * given(WEIGHTS)).sum()

    expected = [numpy.asarray(function(numpy, row.copy())) for row in ROWS]
    gradients = [np.asnumpy(np.grad(loss)(given(row.copy()))) for row in ROWS]
    assert numpy.isfinite(gradients).all()
    found = np.vectorized_map(ours, given(ROWS.copy()))
    assert found.dtype == expected[0].dtype
    numpy.testing.assert_allclose(np.asnumpy(found), expected, rtol=1e-12)
    mapped = np.vectorized_map(np.grad(loss), given(ROWS.copy()))
    numpy.testing.assert_allclose(np.asnumpy(mapped), gradients, rtol=1e-12)
    around = np.grad(lambda x: (np.vectorized_map(ours, x).reshape(3, -1) * given(WEIGHTS)).sum())(given(ROWS.copy()))
    numpy.testing.assert_allclose(np.asnumpy(around), gradients, rtol=1e-12)
    compiled, differentiated = np.compile(ours, backend="eager"), np.compile(np.grad(loss), backend="eager")
    for row, value, gradient in zip(ROWS, expected, gradients, strict=True):
        numpy.testing.assert_allclose(np.asnumpy(compiled(given(row.copy()))), value, rtol=1e-12)
        numpy.testing.assert_allclose(np.asnumpy(differentiated(given(row.copy()))), gradient, rtol=1e-12)
    assert compiled.cache_info().traces == 1


@pytest.mark.parametrize("function", WRITES)
def test_writes(function: Function) -> None:
    check(function)


def test_functions_that_look_for_derived_classes() -> None:
    """As they do from the first array of such a class on."""

    class Derived(np.ndarray):
        pass

    assert type(np.ones(2).view(Derived)) is Derived
    check(by_functions)
    check(REDUCTIONS[1])


@pytest.mark.parametrize("function", REDUCTIONS)
def test_reductions(function: Function) -> None:
    check(function)


@pytest.mark.parametrize("name", ["max", "min"])
@pytest.mark.parametrize("dtype", ["float64", "int16", "uint32", "bool"])
def test_extremes(name: str, dtype: str) -> None:
    """Of no elements there is none, which is seen where the masks have values."""
    data = numpy.array([[3, 7, 1], [2, 0, 5]]).astype(dtype)

    def extreme(xp: Any, row: Any) -> Any:
        return getattr(xp, name)(row[row > 0])

    found = np.vectorized_map(lambda row: extreme(np, row), given(data))
    assert found.dtype == data.dtype
    assert found.tolist() == [extreme(numpy, row) for row in data]
    with pytest.warns(RuntimeWarning, match="a boolean index selects"), pytest.raises(ValueError, match="no identity"):
        np.vectorized_map(lambda row: extreme(np, row), given(data - data if dtype != "bool" else data & False))
    with pytest.raises(TypeError, match="depends on values"):
        np.compile(lambda row: extreme(np, row), backend="eager", fullgraph=True)(given(data[0]))


def shaped(x: Any) -> Any:
    return x[x > 0][:1].sum()


def counted(x: Any) -> Any:
    return len(x[x > 0])


def by_another_mask(x: Any) -> Any:
    y = x.copy()
    y[x > 0] = x[::-1][x[::-1] > 0]
    return y


def by_a_mask_that_changed(x: Any) -> Any:
    y, mask = x.copy(), x > 0
    chosen = y[mask]
    mask[:] = mask[::-1].copy()
    y[mask] = chosen
    return y


def with_as_many(x: Any) -> Any:
    return (x[x > -3] + np.arange(4.0)).sum()


def along_another_axis(x: Any) -> Any:
    return (np.ones((2, 4)) * x)[:, x > 0].sum(axis=0).sum()


def iterated(x: Any) -> Any:
    return sum(value for value in x[x > 0])


@pytest.mark.parametrize(
    "function", [shaped, counted, by_another_mask, by_a_mask_that_changed, with_as_many, along_another_axis, iterated]
)
def test_what_needs_the_shape_is_a_loop(function: Callable[[Any], Any]) -> None:
    expected = [np.asnumpy(np.asarray(function(given(row)))) for row in ROWS]
    with pytest.warns(RuntimeWarning, match="a boolean index selects differs") as caught:
        found = np.vectorized_map(function, given(ROWS))
    line = int(re.search(r"test_mask_selection\.py:(\d+): ", str(caught[0].message))[1])
    assert line in {each for _, _, each in function.__code__.co_lines()}
    numpy.testing.assert_allclose(np.asnumpy(found), expected)
    with pytest.raises(TypeError, match="depends on values"):
        np.compile(function, backend="eager", fullgraph=True)(given(ROWS[0]))


def test_a_write_in_between_makes_another_mask_of_a_graph() -> None:
    def function(x: Any) -> Any:
        chosen = x[x > 0]
        x += 1
        x[x > 0] = chosen
        return x

    with pytest.raises(TypeError, match="depends on values"):
        np.compile(function, backend="eager", fullgraph=True)(given(ROWS[0].copy()))


def test_random_masks_of_a_graph_are_two() -> None:
    def function(x: Any) -> Any:
        x[np.random.random(4) > 0.5] = x[np.random.random(4) > 0.5]
        return x

    with pytest.raises(TypeError, match="depends on values"):
        np.compile(function, backend="eager", fullgraph=True)(given(ROWS[0].copy()))


def test_casts() -> None:
    def function(x: Any) -> Any:
        y = np.zeros(4, dtype=np.int64)
        y[x > 0] = x[x > 0] * 10
        return y

    found = np.vectorized_map(function, given(ROWS))
    assert found.tolist() == [[7, 0, 2, 21], [0, 0, 0, 0], [11, 9, 3, 5]]

    def refused(x: Any) -> Any:
        y = np.zeros(4, dtype=np.int64)
        y[x > 0] += 1.5
        return y

    with pytest.raises(TypeError, match="Cannot cast ufunc 'add' output"):
        np.vectorized_map(refused, given(ROWS))


def test_a_selection_is_a_copy() -> None:
    def function(x: Any) -> Any:
        mask = x > 0
        chosen = x[mask]
        again = chosen.copy()
        x *= 0
        again += 100
        return chosen.sum()

    found = np.vectorized_map(function, given(ROWS.copy()))
    numpy.testing.assert_allclose(np.asnumpy(found), numpy.where(ROWS > 0, ROWS, 0).sum(axis=1))


def test_nested() -> None:
    """Where all masks are the outer one's, and where they are the inner one's."""

    def function(x: Any) -> Any:
        def inner(value: Any) -> Any:
            y = x * value
            y[x > 0] += y[x > 0]
            z = y.copy()
            z[y > 0] *= 2
            return y + z

        return np.vectorized_map(inner, x)

    found = np.vectorized_map(function, given(ROWS))
    numpy.testing.assert_allclose(np.asnumpy(found), np.asnumpy(np.map_fn(function, given(ROWS))))


IN_TURN: dict[str, Function] = {
    "a reduction of a ufunc": lambda np, x: np.add.reduce(x[x > 0]),
    "outer": lambda np, x: np.add.outer(x[x > 0], x[x > 0]).sum(),
    "a product": lambda np, x: x[x > 0] @ x[x > 0],
    "a condition": lambda np, x: np.add(x[x > 0], 1, out=np.zeros(x[x > 0].shape), where=x[x > 0] > 1).sum(),
    "another shape": lambda np, x: (x[x > 0] + np.ones((2, 1))).sum(),
    "an output": lambda np, x: np.add(x[x > 0], 1, out=np.zeros((2, *x[x > 0].shape))).sum(),
}


@pytest.mark.parametrize("name", IN_TURN)
def test_what_depends_on_how_many_there_are_is_called_for_each(name: str) -> None:
    """Nothing that has as many elements as the mask chooses is known for all at once."""
    with pytest.warns(RuntimeWarning, match="calls the function once for each element"):
        found = np.vectorized_map(lambda x: IN_TURN[name](np, x), given(ROWS))
    numpy.testing.assert_allclose(np.asnumpy(found), [IN_TURN[name](numpy, row.copy()) for row in ROWS], rtol=1e-13)


def test_two_masks_of_other_counts_are_refused_as_each_row_is() -> None:
    with pytest.warns(RuntimeWarning, match="once for each"), pytest.raises(ValueError, match="could not be broadcast"):
        np.vectorized_map(lambda x: (x[x > 0] + x[x < 0]).sum(), np.asarray(ROWS))
