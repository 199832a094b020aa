"""Transforms of compiled functions: the same results, and Python runs while they are traced alone."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy
import pytest

import tnp as np


def scalar(x: Any) -> Any:
    print("runs")
    return (np.sin(x) * x).sum()


def vector(x: Any) -> Any:
    print("runs")
    return np.sin(x) * x[0]


def transformed(fn: Any, name: str) -> Callable[[Any], Any]:
    of_scalar = fn(scalar)
    of_vector = fn(vector)
    return {
        "grad": np.grad(of_scalar),
        "value_and_grad": np.value_and_grad(of_scalar),
        "jacobian": np.jacobian(of_vector),
        "forward": np.jacobian(of_vector, mode="forward"),
        "hessian": np.hessian(of_scalar),
        "jvp": lambda x: np.jvp(of_vector, (x,), (x,)),
        "vectorized_map": lambda x: np.vectorized_map(of_vector, np.stack([x, x])),
        "twice": np.grad(lambda x: np.grad(of_scalar)(x).sum()),
    }[name]


@pytest.mark.parametrize("name", ["grad", "value_and_grad", "jacobian", "forward", "hessian", "jvp", "vectorized_map"])
def test_python_runs_once(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    x = np.asarray([1.0, 2.0])
    expected = transformed(lambda f: f, name)(x)
    call = transformed(lambda f: np.compile(f, backend="eager"), name)
    call(x)
    capsys.readouterr()
    found = call(x + 0)
    assert not capsys.readouterr().out
    pairs = zip(found, expected, strict=True) if isinstance(found, tuple) else [(found, expected)]
    for one, other in pairs:
        numpy.testing.assert_allclose(np.asnumpy(one), np.asnumpy(other), rtol=1e-12)


def test_numbers_are_no_constants() -> None:
    slope = np.grad(np.compile(lambda x: x * x, backend="eager"))
    assert [slope(float(i)) for i in range(3)] == [0.0, 2.0, 4.0]
    assert slope.cache_info().traces == 1


def test_a_wrapper_of_a_compiled_function_is_python() -> None:
    import functools

    compiled, runs = np.compile(lambda x: x * x, backend="eager"), []

    @functools.wraps(compiled)
    def logged(x: Any) -> Any:
        runs.append(1)
        return compiled(x)

    slope = np.grad(logged)
    assert [slope(1.0), slope(1.0)] == [2.0, 2.0] and len(runs) == 2


def test_what_can_not_be_batched() -> None:
    total, rows = np.zeros(2), np.asarray([[1.0, 2.0], [3.0, 4.0]])

    def adding(row: Any) -> Any:
        total[...] += row
        return row.sum()

    function = np.compile(adding, backend="eager")
    with pytest.raises(RuntimeError, match="at once"):
        np.vectorized_map(function, rows, fallback=False)
    with pytest.warns(RuntimeWarning, match="once for each element"):
        assert np.vectorized_map(function, rows).tolist() == [3.0, 7.0]
    assert total.tolist() == [4.0, 6.0]


def test_second_derivatives_on_tapes() -> None:
    x, cubes = np.asarray([1.0, 2.0]), np.compile(lambda x: (x**3).sum())
    for _ in range(2):
        with np.GradientTape() as outer:
            outer.watch(x)
            with np.GradientTape() as inner:
                inner.watch(x)
                value = cubes(x)
            slope = inner.gradient(value, x)
        assert outer.gradient(slope, x).tolist() == [6.0, 12.0]
        with np.GradientTape() as one:
            one.watch(x)
            value = cubes(x)
        assert one.gradient(value, x).tolist() == [3.0, 12.0]
    with np.GradientTape(persistent=True) as single:
        single.watch(x)
        slope = single.gradient(cubes(x), x).sum()
    with pytest.raises(RuntimeError, match="nest two tapes"):
        single.gradient(slope, x)


@pytest.mark.parametrize("backend", ["eager", "inductor"])
def test_second_derivatives_of_a_batch(backend: str) -> None:
    x = numpy.asarray([[1.0, 2.0], [0.5, 3.0]])
    hessians = np.compile(lambda x: np.vectorized_map(np.hessian(lambda x: (x**3).sum()), x), backend=backend)
    numpy.testing.assert_allclose(np.asnumpy(hessians(np.asarray(x))), [numpy.diag(6 * row) for row in x])


def test_a_gradient_of_writes_is_compiled() -> None:
    def squares(x: Any) -> Any:
        y = np.zeros(3)
        y[1:] = x
        y *= y
        return y.sum()

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert np.compile(np.grad(squares))(np.asarray([1.0, 2.0])).tolist() == [2.0, 4.0]
