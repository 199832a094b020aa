"""Python numbers of arrays that are differentiated: an error under a function's derivative, a constant on a tape."""

from __future__ import annotations

import fractions
import math
from collections.abc import Callable
from typing import Any

import numpy
import pytest

import tnp as np

READS: dict[str, Callable[[Any], Any]] = {
    "float": lambda x: float(x),
    "complex": lambda x: complex(x).real,
    "math": math.exp,
    "item": lambda x: x.item(),
    "item of an index": lambda x: np.stack([x, x]).item(1),
    "tolist": lambda x: np.stack([x, x]).tolist()[0],
    "array": lambda x: np.array([float(x)])[0],
    "numpy": lambda x: numpy.float64(x),
    "ratio": lambda x: float(fractions.Fraction(*(x * 1).as_integer_ratio())),
    "hex": lambda x: float.fromhex((x * 1).hex()),
    "arange": lambda x: np.arange(x, 3).sum(),
    "step": lambda x: np.arange(0, 3, x).sum(),
}
DERIVATIVES: dict[str, Callable[[Any], Any]] = {
    "grad": lambda f: np.grad(f)(1.5),
    "value_and_grad": lambda f: np.value_and_grad(f)(1.5),
    "vjp": lambda f: np.vjp(f, 1.5),
    "jvp": lambda f: np.jvp(f, (1.5,), (1.0,)),
    "linearize": lambda f: np.linearize(f, 1.5),
    "jacobian": lambda f: np.jacobian(f, mode="forward")(np.asarray(1.5)),
    "hessian": lambda f: np.hessian(f)(np.asarray(1.5)),
    "of an inner derivative": lambda f: np.grad(lambda x: np.grad(lambda y: y * f(x))(x))(1.5),
    "of a loop": lambda f: np.grad(lambda x: np.vectorized_map(f, x).sum())(np.ones(2)),
    "in a loop": lambda f: np.vectorized_map(np.grad(f), np.ones(2)),
    "of compiled": lambda f: np.grad(np.compile(f))(1.5),
    "compiled": lambda f: np.compile(np.grad(f))(1.5),
}


@pytest.mark.filterwarnings("ignore:vectorized_map calls the function")
@pytest.mark.parametrize("derivative", DERIVATIVES)
@pytest.mark.parametrize("read", READS)
def test_a_number_has_no_derivative(read: str, derivative: str) -> None:
    with pytest.raises(TypeError, match=r"differentiate|traced"):
        DERIVATIVES[derivative](lambda x: READS[read](x) * x)


def test_the_error_names_line_and_function() -> None:
    with pytest.raises(TypeError, match=r"test_values_read_out.py:\d+: float\(\) .* tnp\.jvp .*stop_gradient"):
        np.jvp(lambda x: float(x) * x, (1.5,), (1.0,))


@pytest.mark.parametrize("derivative", [np.grad, np.jacobian, np.hessian, lambda f: lambda x: np.jvp(f, (x,), (1.0,))])
def test_what_may_be_read(derivative: Callable[[Any], Any]) -> None:
    """Constants, what is said to be one, comparisons and integers."""
    other, flags = np.asarray(2.0), []

    def function(x: Any) -> Any:
        flags.append(f"{int(x)} {bool(x > 1)} {float(x > 1)} {int(np.argmax(x))}")
        return x * float(other) * float(np.stop_gradient(x)) * np.ones(2).tolist()[0]

    derivative(function)(np.asarray(1.5))
    assert set(flags) == {"1 True 1.0 0"}


def test_a_tape_takes_it_for_a_constant() -> None:
    x = np.asarray(3.0)
    with np.GradientTape() as tape:
        tape.watch(x)
        loss = x * x * float(x) * x.item() * np.reshape(x, 1).tolist()[0]
    assert tape.gradient(loss, x) == 2 * 3.0**4

    def of_a_tape_inside(y: Any) -> Any:
        weight = np.asarray(4.0)
        with np.GradientTape() as tape:
            tape.watch(weight)
            loss = weight**2
            assert float(loss) == 16.0
        return tape.gradient(loss, weight) * y

    assert np.grad(of_a_tape_inside)(1.0) == 8.0
