"""The known gaps, as data: which of NumPy's own test cases tnp fails, by cause."""

from __future__ import annotations

import collections
import re
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

PATH = Path(__file__).with_name("numpy_gaps.toml")


@dataclass(frozen=True)
class Gap:
    """A cause of failures, and the cases it explains.

    A case is file::Class::function[parameters]. A function without parameters stands for all its cases, and * for
    any text.
    """

    cause: str
    reason: str
    cases: tuple[str, ...]


@dataclass(frozen=True)
class Report:
    """The comparison of a run with the known gaps."""

    explained: dict[str, int]  # cause -> failing cases
    unexplained: list[str]  # failing cases that no gap names
    passing: list[str]  # patterns of which a case passes
    unmatched: list[str]  # patterns of which no case ran


def load(path: Path = PATH) -> list[Gap]:
    """Read the gaps of the file; a missing or unknown field raises TypeError."""
    tables = tomllib.loads(path.read_text())
    return [Gap(cause, **{**table, "cases": tuple(table["cases"])}) for cause, table in tables.items()]


def check(gaps: Iterable[Gap], outcomes: Mapping[str, bool]) -> Report:
    """Compare the gaps with the cases that ran, given as name -> whether it passed."""
    names = collections.defaultdict(list)
    for case in outcomes:
        names[case].append(case)
        if "[" in case:
            names[case.partition("[")[0]].append(case)
    report = Report({}, [], [], [])
    known: set[str] = set()
    for gap in gaps:
        before = len(known)
        for pattern in gap.cases:
            found = _starred(pattern, names) if "*" in pattern else names.get(pattern, [])
            known.update(case for case in found if not outcomes[case])
            if any(outcomes[case] for case in found):
                report.passing.append(pattern)
            elif not found:
                report.unmatched.append(pattern)
        report.explained[gap.cause] = len(known) - before
    report.unexplained.extend(case for case, passed in outcomes.items() if not passed and case not in known)
    return report


def _starred(pattern: str, names: Mapping[str, list[str]]) -> list[str]:
    """Return the cases that match a pattern with a *."""
    regex = re.compile(re.escape(pattern).replace(r"\*", ".*"), re.DOTALL)
    return [case for name, cases in names.items() if regex.fullmatch(name) for case in cases]


def shortest(cases: Iterable[str], outcomes: Mapping[str, bool]) -> list[str]:
    """Shorten a list of failing cases for the file: a function stands for its cases if none of them passes."""
    partly = {case.partition("[")[0] for case, passed in outcomes.items() if passed}
    pairs = ((case, case.partition("[")[0]) for case in cases)
    return sorted({case if function in partly else function for case, function in pairs})
