"""Python's floats among the arguments of compiled functions: one trace for all, unless Python needs the value."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable
from typing import Any

import numpy
import pytest

import tnp as np

VALUES = [0.5, 0.25, 0.0, -0.0, math.inf, 1e-3, 3.0]


def step(x: Any, lr: Any) -> Any:
    x = x.copy()
    x -= lr * x
    return x


TRACED: list[Callable[[Any, Any], Any]] = [
    step,
    lambda x, lr: (1 - lr) * x + lr * x**2,
    lambda x, lr: x / (lr + 1) - (-lr),
    lambda x, lr: np.exp(lr) * x,
    lambda x, lr: np.maximum(x, lr) + (x < lr) + (lr >= x),
    lambda x, lr: np.sin(lr),
    lambda x, lr: x.sum() * lr * 2 / 4,
    lambda x, lr: x * lr if isinstance(lr, float) else x,
    lambda x, lr: np.vectorized_map(lambda row: row * lr, x),
    lambda x, lr: np.fori_loop(0, 3, lambda i, c: c - lr * c, x),
    lambda x, lr: np.cond(x[0] > lr, lambda x: x + 0, lambda x: -x * lr, x),
    lambda x, lr: x * copy.copy(lr),
]


def same(actual: Any, expected: Any) -> None:
    assert type(actual) is type(expected)
    assert actual.dtype == expected.dtype
    numpy.testing.assert_array_equal(np.asnumpy(actual), np.asnumpy(expected))


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "complex64"])
@pytest.mark.parametrize("function", TRACED)
def test_ten_learning_rates_are_one_trace(function: Callable[[Any, Any], Any], dtype: str) -> None:
    x = np.asarray([1, 2, 3]).astype(dtype)
    compiled = np.compile(function, backend="eager")
    with np.errstate(all="ignore"):
        for value in VALUES:
            same(compiled(x, value), function(x, value))
    assert compiled.cache_info().traces == 1


def test_integers_and_a_number_are_floats() -> None:
    compiled = np.compile(lambda x, lr: lr - x * lr, backend="eager")
    for dtype in ("int8", "uint64", "bool"):
        for value in VALUES[:2]:
            x = np.asarray([1, 0, 3]).astype(dtype)
            same(compiled(x, value), value - x * value)
    assert compiled.cache_info().traces == 3


NEEDED: list[Callable[[Any, Any], Any]] = [
    lambda x, lr: x * math.exp(lr),
    lambda x, lr: x if lr > 0.3 else -x,
    lambda x, lr: x**lr,
    lambda x, lr: x * len(f"{lr}"),
    lambda x, lr: x * sum(range(int(lr * 8))),
    lambda x, lr: x * {0.5: 1, 0.25: 2}[lr],
    lambda x, lr: x * round(lr),
    lambda x, lr: x * lr.is_integer(),
    lambda x, lr: x * lr if type(lr) is float else x,
    lambda x, lr: np.where(x > 1, lr, x),
    lambda x, lr: x * (1.0 / lr),
    lambda x, lr: np.full(3, lr),
    lambda x, lr: np.multiply.outer(x, lr),
]


@pytest.mark.parametrize("function", NEEDED)
def test_a_number_that_python_needs_is_static(function: Callable[[Any, Any], Any]) -> None:
    x = np.asarray([1.0, 2.0, 3.0], dtype=np.float32)
    compiled = np.compile(function, backend="eager")
    for value in (0.5, 0.25, 0.5):
        same(compiled(x, value), function(x, value))
    assert compiled.cache_info().traces == 2


def test_each_number_for_itself() -> None:
    compiled = np.compile(lambda x, lr, options: x * lr * math.exp(options["p"]), backend="eager")
    x = np.ones(2)
    for lr in VALUES[:3]:
        for p in (0.5, 1.5):
            same(compiled(x, lr, {"p": p}), x * lr * math.exp(p))
    assert compiled.cache_info().traces == 2


def test_results_are_numbers_of_python() -> None:
    compiled = np.compile(lambda x, lr: (lr, [lr * 2], {"lr": lr}), backend="eager")
    assert compiled(np.ones(2), 0.5) == (0.5, [1.0], {"lr": 0.5})
    assert compiled(np.ones(2), 0.25) == (0.25, [0.5], {"lr": 0.25})
    assert type(compiled(np.ones(2), 0.25)[0]) is float
    same_number = np.compile(lambda x, lr: (lr, x * lr), backend="eager")
    assert [same_number(np.ones(2), lr)[0] for lr in VALUES] == VALUES
    assert same_number.cache_info().traces == 1


def test_a_division_by_zero_is_an_error() -> None:
    compiled = np.compile(lambda x, lr: x * (1 / lr), backend="eager")
    same(compiled(np.ones(2), 0.5), np.full(2, 2.0))
    with pytest.raises(ZeroDivisionError):
        compiled(np.ones(2), 0.0)


def test_a_caught_question_makes_it_static_too() -> None:
    def careful(x: Any, lr: Any) -> Any:
        try:
            return x * math.sqrt(lr)
        except Exception:
            return x

    compiled = np.compile(careful, backend="eager")
    for value in (4.0, 9.0):
        same(compiled(np.ones(2), value), np.full(2, math.sqrt(value)))


def test_complex_numbers_and_containers() -> None:
    compiled = np.compile(lambda state: state["x"] * state["factors"][1], backend="eager")
    for factor in (1j, 2 - 1j, 0j):
        state = {"x": np.ones(2, dtype=np.complex64), "factors": [1, factor]}
        same(compiled(state), state["x"] * factor)
    assert compiled.cache_info().traces == 1


def test_containers_are_written_to() -> None:
    def update(state: dict[str, Any]) -> None:
        state["x"] = state["x"] - state["lr"]
        state["lr"] = 0.5

    compiled = np.compile(update, backend="eager")
    for lr in (0.25, 0.125):
        state = {"x": np.ones(2), "lr": lr}
        compiled(state)
        same(state["x"], np.full(2, 1 - lr))
        assert state["lr"] == 0.5


def test_what_is_kept_of_a_trace_is_a_number_then() -> None:
    seen: list[Any] = []

    def keeps(x: Any, lr: Any) -> Any:
        seen.append(lr)
        return x * lr

    np.compile(keeps, backend="eager")(np.ones(2), 0.5)
    assert seen[-1] == 0.5
    assert float(seen[-1] * 3) == 1.5


def test_gradients_and_machine_code() -> None:
    compiled = np.compile(lambda x, lr: np.grad(lambda x: (x * x * lr).sum())(x))
    x = np.asarray([1.0, 2.0])
    for lr in VALUES[:3]:
        same(compiled(x, lr), 2 * x * lr)
    assert compiled.cache_info().traces == 1
    assert compiled.cache_info().hits == 2


def test_a_saved_function_has_the_number_in_it(tmp_path: Any) -> None:
    compiled = np.compile(lambda x, lr: x * lr, backend="eager")
    compiled.save(tmp_path / "f.pt2", np.ones(2), 0.5)
    same(np.load_compiled(tmp_path / "f.pt2", backend="eager")(np.ones(2), 0.5), np.full(2, 0.5))
