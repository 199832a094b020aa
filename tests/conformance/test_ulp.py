"""Errors in units in the last place: the unit, the exact values, the arguments, and what is said about them."""

from __future__ import annotations

import argparse
import math

import mpmath
import numpy as np
import pytest

import tnp
from conformance import ulp
from conformance.__main__ import main


@pytest.mark.parametrize("dtype", ulp.DTYPES)
@pytest.mark.parametrize("name", ulp.FUNCTIONS)
def test_numpys_own_error_is_small(name: str, dtype: str) -> None:
    """So the exact values are those of this function, and the sample has arguments that it takes."""
    found = ulp.measure([name], [dtype], 20, "cpu", False)
    assert [entry.by for entry in found] == ["NumPy", "eager"]
    assert name == "sinc" or max(entry.worst for entry in found) < 6  # its zeros lie where pi does not
    assert name not in ulp.NO_WORSE or not ulp.missed(found)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("value", [1.0, 1.5, 0.75, 3e10, 1e-30, 0.0])
def test_unit_is_numpys_spacing(value: float, dtype: type) -> None:
    held = dtype(value)
    assert float(ulp.unit_of(mpmath.mpf(float(held)), np.dtype(dtype))) == float(np.spacing(held))


@pytest.mark.parametrize(
    "got, exact, expected",
    [
        (1.0, 1.0, 0.0),
        (1.0 + 2**-52, 1.0, 1.0),
        (-1.0, 1.0, 2.0**53),
        (math.nan, 1.0, math.inf),
        (math.inf, 1e308, math.inf),
        (math.inf, mpmath.mpf(10) ** 309, 0.0),
        (-math.inf, mpmath.mpf(10) ** 309, math.inf),
    ],
)
def test_error(got: float, exact: float, expected: float) -> None:
    with mpmath.workprec(200):
        exact = mpmath.mpf(exact)
        unit = ulp.unit_of(exact, np.dtype(np.float64))
        assert ulp.error(got, exact, unit, mpmath.mpf(np.finfo(np.float64).max)) == expected


@pytest.mark.parametrize("dtype", ulp.DTYPES)
@pytest.mark.parametrize("name", ulp.FUNCTIONS)
def test_arguments_are_finite_and_the_same_each_time(name: str, dtype: str) -> None:
    one, other = (ulp.arguments(name, dtype, 50) for _ in range(2))
    for first, second in zip(one, other, strict=True):
        assert first.dtype == dtype and len(first) > 50 and np.isfinite(first).all()
        assert np.array_equal(first, second)


def test_trigonometric_functions_are_tried_at_huge_arguments() -> None:
    (x,) = ulp.arguments("sin", "float64", 200)
    assert np.abs(x).max() > 1e250 and (np.abs(x) < 1e-250).any()


def test_compiled_functions_are_tried_too(monkeypatch: pytest.MonkeyPatch) -> None:
    compile_ = tnp.compile
    monkeypatch.setattr(tnp, "compile", lambda function: compile_(function, backend="eager"))
    found = ulp.measure(["square", "fmod"], ["float64"], 20, "cpu", True)
    assert [(entry.function, entry.by) for entry in found] == [
        (name, by) for name in ("square", "fmod") for by in ("NumPy", "eager", "compiled")
    ]


def entry(function: str, by: str, worst: float, apart: float = 0.0) -> ulp.Error:
    return ulp.Error(function, "float64", by, worst, (1.0,), apart)


def test_targets() -> None:
    fine = [entry("expm1", "NumPy", 0.5), entry("expm1", "eager", 0.9, 2.0), entry("sin", "NumPy", 0.5)]
    assert ulp.missed([*fine, entry("sin", "eager", 3.0, 3.0)]) == []
    assert ulp.missed([*fine, entry("sin", "eager", 5.0, 5.0)]) == ["sin, float64, eager: 5.00 ulp from NumPy's"]
    assert ulp.missed([*fine, entry("expm1", "compiled", 1.5)]) == ["expm1, float64, compiled: 1.50 ulp, NumPy 0.50"]
    assert ulp.behind([fine[0], entry("expm1", "compiled", 0.9)]) == ["expm1, float64, compiled: 0.90 ulp, NumPy 0.50"]
    assert ulp.missed([*fine, entry("expm1", "compiled", 0.9)]) == []


def test_page() -> None:
    found = [entry("expm1", "NumPy", 0.5), entry("expm1", "eager", 1.5, 2.0)]
    page = ulp.markdown(found, 10, "cpu")
    assert "| function | float64, NumPy | float64, eager |" in page
    assert "| `expm1` | 0.50 | 1.50 |" in page
    assert "- expm1, float64, eager: 1.50 ulp, NumPy 0.50" in page
    assert "None." in ulp.markdown(found[:1], 10, "cpu")


def test_command(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    arguments = ["ulp", "--only", "sqrt", "--dtypes", "float32", "--points", "20", "--eager"]
    assert main(arguments) == 0
    assert "no target is missed" in capsys.readouterr().out
    assert main([*arguments, "--markdown"]) == 0
    assert "| `sqrt` |" in capsys.readouterr().out
    monkeypatch.setattr(ulp, "missed", lambda found: ["a line"])
    chosen = argparse.Namespace(only=["sqrt"], dtypes=["float32"], points=9, device="cpu", eager=True, markdown=False)
    assert ulp.main(chosen) == 1
