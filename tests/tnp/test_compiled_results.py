"""Compiled functions do what they do eagerly: what ``pytest --compiled`` found, each checked without it too."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy
import pytest

from tests.oracle import Raised, assert_same, outcome, outcome_compiled


def same(function: Callable[[Any], Any], backend: str = "eager") -> None:
    """Compiled, ``function(xp)`` does what it does on NumPy."""
    assert_same(outcome(function, numpy), outcome_compiled(function, backend))


@pytest.mark.parametrize("backend", ["eager", "inductor"])
def test_operations_that_fail_and_are_caught_are_none(backend: str) -> None:
    """They were recorded before they failed, and the graph failed with them."""
    x, two = numpy.ones(3), numpy.ones(2)

    def function(xp: Any) -> Any:
        y, other = xp.asarray(x) * 1, xp.asarray(two)
        caught = [
            type(outcome(operation, xp).error)
            for operation in (
                lambda xp: y.__setitem__(slice(None), other),
                lambda xp: xp.asarray(x) + other,
                lambda xp: xp.add(y, 1, out=y, where=xp.ones(7, bool)),
                lambda xp: y @ other,
            )
        ]
        return y + xp.asarray(x), other, caught

    same(function, backend)


def test_a_shape_that_is_assigned() -> None:
    def function(xp: Any) -> Any:
        x = xp.arange(6)
        y = x[2:]
        y.shape = (2, 2)
        y[0] = 9
        return x, y

    def scattered(xp: Any) -> None:
        xp.arange(6)[::2].T.reshape(3, 1).T.shape = (3,)
        xp.ones((2, 3)).T.shape = (6,)

    same(function)
    same(scattered)


@pytest.mark.parametrize("power", [lambda xp, x: x**-1, lambda xp, x: xp.power(x, -2), lambda xp, x: x.__ipow__(-1)])
def test_negative_powers_of_integers_that_are_known(power: Any) -> None:
    """0 and 1 came back, where the exponent is a number of Python's."""
    same(lambda xp: power(xp, xp.asarray([1, 2])))
    assert isinstance(outcome_compiled(lambda xp: power(xp, xp.asarray([1, 2])), "eager"), Raised)
    same(lambda xp: power(xp, xp.asarray([1.0, 2.0])))
