"""pure_callback: functions of NumPy arrays in eager, compiled and mapped programs; no derivatives."""

from __future__ import annotations

from typing import Any

import numpy
import pytest

import tnp as np

NUMBER = np.ShapeDtypeStruct((), np.float64)


def median(x: Any) -> Any:
    return np.pure_callback(numpy.median, NUMBER, x)


@pytest.mark.parametrize("backend", ["eager", "inductor"])
def test_in_compiled_code(backend: str) -> None:
    compiled = np.compile(lambda x: 2 * median(x + 1), backend=backend)
    assert [compiled(np.asarray(x)) for x in ([1.0, 5.0, 2.0], [7.0, 7.0, 0.0])] == [6.0, 16.0]
    assert median(np.asarray([1.0, 5.0, 2.0])) == 2.0


def test_arguments_and_results() -> None:
    def taken(tree: Any, *, scale: float) -> Any:
        assert type(tree["x"]) is numpy.ndarray
        return {"sum": tree["x"].sum(), "scaled": (tree["x"] * scale, 1)}

    x = np.arange(3.0)
    specs = {"sum": NUMBER, "scaled": (x, np.ShapeDtypeStruct((), np.int32))}
    run = lambda x: np.pure_callback(taken, specs, {"x": x}, scale=2.0)  # noqa: E731
    for found in (run(x), np.compile(run, backend="eager")(x)):
        assert found["sum"] == 3.0 and found["scaled"][0].tolist() == [0, 2, 4]
        assert found["scaled"][1].dtype == np.int32


def test_maps() -> None:
    x = np.arange(6.0).reshape(2, 3)
    calls: list[Any] = []

    def added(x: Any, y: Any) -> Any:
        calls.append(x.shape)
        return x + y

    for method, expected in (("sequential", [(3,), (3,)]), ("broadcast_all", [(2, 3)])):
        each = lambda x, y, method=method: np.pure_callback(added, y, x, y, vmap_method=method)  # noqa: E731
        mapped = np.vmap(each, (0, None))
        for run in (mapped, np.compile(mapped, backend="eager")):
            calls.clear()
            assert run(x, np.ones(3)).tolist() == (x + 1).tolist()
            assert calls == expected
    assert np.vmap(np.vmap(lambda x: np.pure_callback(numpy.sin, NUMBER, x)))(x).shape == (2, 3)
    with pytest.raises(ValueError, match="vmap_method"):
        np.pure_callback(added, x, x, x, vmap_method="at once")


def test_derivatives_are_refused() -> None:
    x = np.arange(3.0)
    compiled = np.compile(median, backend="eager")
    with np.GradientTape(persistent=True) as tape, pytest.raises(ValueError, match="custom_gradient"):
        tape.watch(x)
        tape.gradient(compiled(x), x)
    for fn in (median, compiled, np.compile(np.grad(median), backend="eager")):
        with pytest.raises(ValueError, match="do not support derivatives"):
            np.grad(fn)(x)
        with pytest.raises(ValueError, match="do not support derivatives"):
            np.jvp(fn, (x,), (x,))
    constant = lambda x: (x * median(np.stop_gradient(x))).sum()  # noqa: E731
    assert np.grad(constant)(x).tolist() == [1, 1, 1]
    assert np.compile(np.grad(constant), backend="eager")(x).tolist() == [1, 1, 1]


def test_a_derivative_that_is_told() -> None:
    @np.custom_gradient
    def sine(x: Any) -> Any:
        made = np.pure_callback(numpy.sin, NUMBER, x)
        return made, lambda upstream: upstream * np.cos(x)

    assert np.allclose(np.grad(sine)(0.5), np.cos(0.5))
    assert np.allclose(np.compile(np.grad(sine), backend="eager")(0.5), np.cos(0.5))


def test_what_is_refused() -> None:
    x = np.arange(3.0)
    for run in (lambda f: f, lambda f: np.compile(f, backend="eager")):
        with pytest.raises(ValueError, match=r"shape \(3,\) where \(\) is expected"):
            run(lambda x: np.pure_callback(lambda x: x, NUMBER, x))(x)
        with pytest.raises(TypeError, match="float32 where float64"):
            run(lambda x: np.pure_callback(numpy.float32, NUMBER, x.sum()))(x)
        with pytest.raises(TypeError, match="returns"):
            run(lambda x: np.pure_callback(lambda x: (1.0, 2.0), NUMBER, x))(x)
        with pytest.raises(ValueError, match="read-only"):
            run(lambda x: np.pure_callback(lambda x: x.fill(0), NUMBER, x))(x)
        with pytest.raises(KeyError, match="mine"):
            run(lambda x: np.pure_callback({}.pop, NUMBER, "mine"))(x)


def test_specs() -> None:
    spec = np.ShapeDtypeStruct(3, "f4")
    assert (spec.shape, spec.dtype) == ((3,), np.float32)
    assert repr(np.ShapeDtypeStruct([None, 2], int)) == "ShapeDtypeStruct(shape=(None, 2), dtype=int64)"
    assert {spec: 1}[np.ShapeDtypeStruct((3,), np.float32)] == 1
    with pytest.raises(ValueError, match="negative"):
        np.ShapeDtypeStruct((-1,), int)
