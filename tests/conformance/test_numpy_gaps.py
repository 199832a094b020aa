"""Known gaps explain the failures that they name, and no others; one that passes is told."""

from __future__ import annotations

from pathlib import Path

import pytest

from conformance import numpy_gaps
from conformance.numpy_gaps import Gap

OUTCOMES = {"a.py::f[1-x]": False, "a.py::f[2-x]": True, "a.py::g[1]": False, "a.py::g[2]": False, "a.py::T::h": False}


def gap(*cases: str) -> Gap:
    return Gap("cause", "reason", cases)


@pytest.mark.parametrize("pattern, count", [("a.py::f[1-x]", 1), ("a.py::g", 2), ("a.py::T::*", 1), ("a.py::g[*]", 2)])
def test_a_pattern_explains_its_cases(pattern: str, count: int) -> None:
    report = numpy_gaps.check([gap(pattern)], OUTCOMES)
    assert report.explained == {"cause": count}
    assert len(report.unexplained) == 4 - count
    assert report.passing == report.unmatched == []


@pytest.mark.parametrize("pattern", ["a.py::f", "a.py::f[*-x]", "*"])
def test_a_pattern_of_a_passing_case_is_told(pattern: str) -> None:
    assert numpy_gaps.check([gap(pattern)], OUTCOMES).passing == [pattern]


@pytest.mark.parametrize("pattern", ["a.py::f[3-x]", "a.py::h", "a.py::f[1-*y]", "a.py::f[?-x]"])
def test_a_pattern_without_cases_is_told(pattern: str) -> None:
    assert numpy_gaps.check([gap(pattern)], OUTCOMES).unmatched == [pattern]


def test_failures_are_named_shortly() -> None:
    failed = [case for case, passed in OUTCOMES.items() if not passed]
    assert numpy_gaps.shortest(failed, OUTCOMES) == ["a.py::T::h", "a.py::f[1-x]", "a.py::g"]


def test_a_field_too_much_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "gaps.toml").write_text('[cause]\nreason = "r"\ncases = []\nnote = "?"')
    with pytest.raises(TypeError):
        numpy_gaps.load(tmp_path / "gaps.toml")


def test_each_case_stands_once_and_each_cause_has_a_reason() -> None:
    gaps = numpy_gaps.load()
    cases = [case for gap in gaps for case in gap.cases]
    assert len(cases) == len(set(cases))
    assert all(gap.reason.strip() for gap in gaps)
