"""Warnings of NumPy's own functions, which compute where no tensor can: they name the program's line, as NumPy's do."""

from __future__ import annotations

import io
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tnp


class Old:
    """An object whose ``__array__`` has no argument ``copy``, with an array of the namespace that the program has."""

    def __init__(self, xp: Any) -> None:
        self.array = xp.ones(2)

    def __array__(self, dtype: Any = None) -> Any:
        return self.array


CALLS: dict[str, Callable[[Any], Any]] = {
    "a ufunc": lambda xp: xp.divide(xp.ones(1, xp.longdouble), 0),
    "an operator": lambda xp: xp.ones(2) / xp.zeros(2, xp.longdouble),
    "matmul": lambda xp: xp.matmul(xp.full((2, 2), xp.inf, xp.longdouble), xp.zeros((2, 2), xp.longdouble)),
    "a reduction": lambda xp: xp.add.reduce(xp.array([xp.inf, -xp.inf], xp.longdouble)),
    "a function in Python": lambda xp: xp.nanmean(xp.array([xp.nan], dtype=object)),
    "a function in C": lambda xp: xp.array(["2020-01-01T00:00+01"], dtype="M8[s]"),
    "arange": lambda xp: xp.arange("2020-01-01T00:00+01", "2020-01-02", dtype="M8[h]"),
    "frompyfunc": lambda xp: xp.frompyfunc(lambda x: np.float64(x) / np.float64(0), 1, 1)(xp.ones(1)),
    "loadtxt": lambda xp: xp.loadtxt(io.StringIO("")),
    "genfromtxt": lambda xp: xp.genfromtxt(io.StringIO("")),
    "__array__ without copy": lambda xp: xp.array(Old(xp)),
    "__array__ of NumPy's without copy": lambda xp: xp.array(Old(np)),
    "fromiter": lambda xp: xp.fromiter(iter([1e300]), "f4"),
}


@pytest.mark.parametrize("name", CALLS)
def test_a_warning_names_the_programs_line(name: str) -> None:
    lines = []
    for xp in (np, tnp):
        with warnings.catch_warnings(record=True) as found:
            warnings.simplefilter("always")
            CALLS[name](xp)
        lines.append([(each.category, each.filename, each.lineno) for each in found])
    assert lines[0] == lines[1] and lines[0][0][1] == __file__


def test_a_warning_comes_once_for_each_line() -> None:
    """The registry of warnings that were shown is the program's module's, so a program's filters hold."""
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("default")
        globals().pop("__warningregistry__", None)
        for _ in range(3):
            tnp.divide(tnp.ones(1, tnp.longdouble), 0)
        tnp.divide(tnp.ones(1, tnp.longdouble), 0)
    assert len({each.lineno for each in found}) == len(found) == 2
