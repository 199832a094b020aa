"""What ufuncs compute of Python's numbers is known while a function is traced."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy
import pytest

import tnp
from tests.oracle import assert_same, placed

PROGRAMS: dict[str, Callable[[Any, Any], Any]] = {
    "a shape": lambda np, x: x[:3] + np.zeros(int(np.sqrt(len(x)))),
    "of two ufuncs": lambda np, x: np.ones(int(np.ceil(np.log2(len(x))))),
    "reshape": lambda np, x: x.reshape(int(np.sqrt(x.size)), -1),
    "a branch": lambda np, x: x if np.floor(len(x) / 2) > 3 else -x,
    "a loop": lambda np, x: sum([x * k for k in range(int(np.sqrt(9)))]),
    "a key": lambda np, x: x[int(np.rint(len(x) / 2)) :],
    "a range": lambda np, x: np.arange(np.ceil(2.5)) * x[0],
    "a parameter": lambda np, x: x[:2] + np.random.default_rng(3).normal(0, np.sqrt(2 / len(x)), 2),
    "parameters": lambda np, x: x[:2] + np.random.default_rng(3).uniform(np.zeros(2), np.array([1.0, 2.0])),
    "a negative integer": lambda np, x: x[np.negative(2)],
    "an integer without a sign": lambda np, x: np.absolute(2**63) + np.square(2),
    "round": lambda np, x: x * round(float(np.cbrt(27))),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_numbers_of_numbers(name: str) -> None:
    x = numpy.arange(9.0)
    compiled = tnp.compile(lambda x: PROGRAMS[name](tnp, x), backend="eager", fullgraph=True)
    for _ in range(2):
        assert_same(PROGRAMS[name](numpy, x), compiled(placed(tnp, x)), rtol=1e-15)


@pytest.mark.parametrize("value", [2**70, -(2**64)])
def test_integers_of_any_size(value: int) -> None:
    """NumPy computes them as Python's objects."""
    compiled = tnp.compile(lambda x: x + float(tnp.absolute(value)), backend="eager")
    with pytest.warns(RuntimeWarning, match="is cut at"):
        assert_same(numpy.array([1.0 + abs(value)]), compiled(tnp.ones(1)))
