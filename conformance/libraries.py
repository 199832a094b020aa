"""Run the test suites of libraries that are written in NumPy alone, with NumPy and by ``python -m tnp -m pytest``.

The libraries are not part of this repository: the command reads their unpacked source distributions, in which the
modules are the program's own. What they import has to be installed; a file of tests that can't be imported is left out.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree

PATH = Path(__file__).with_name("libraries.toml")
ROOT = Path(__file__).parent.parent
MODES: Mapping[str, Sequence[str]] = {"NumPy": (), "tnp": ("-m", "tnp")}
"""Mode -> the options of Python's that come before ``-m pytest``."""


@dataclass(frozen=True)
class Library:
    """A library's release, the folder of its modules, its tests, and what fails on tnp by a known cause."""

    name: str
    version: str
    modules: str
    tests: str
    causes: Mapping[str, tuple[str, ...]]


@dataclass(frozen=True)
class Run:
    """The tests that passed, and the seconds that the suite took."""

    passed: frozenset[str]
    seconds: float


def load(path: Path = PATH) -> list[Library]:
    """Read the list of libraries."""
    entries = tomllib.loads(path.read_text())["library"]
    return [
        Library(**{**entry, "causes": {cause: tuple(tests) for cause, tests in entry.get("causes", {}).items()}})
        for entry in entries
    ]


def run(library: Library, folder: Path, mode: str) -> Run:
    """Run a library's suite in one mode; pytest's own report goes to the terminal."""
    with tempfile.TemporaryDirectory() as temporary:
        report = Path(temporary, "report.xml")
        start = time.monotonic()
        subprocess.run(
            [
                *[sys.executable, *MODES[mode], "-m", "pytest", "-q", "-rN", "--tb=line", "-p", "no:cacheprovider"],
                *["-p", "no:xdist", "-p", "conformance.seeds", "--continue-on-collection-errors"],
                *[f"--junitxml={report}", library.tests],
            ],
            cwd=folder,
            env={**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), str(folder / library.modules)])},
            check=False,
        )
        seconds = time.monotonic() - start
        return Run(passed(report.read_text()) if report.exists() else frozenset(), seconds)


def passed(report: str) -> frozenset[str]:
    """Read the tests that passed from a JUnit report, by names like ``test_umath::test_math_module``."""
    return frozenset(
        f"{case.get('classname', '').rpartition('.')[2]}::{case.get('name')}"
        for case in ElementTree.fromstring(report).iter("testcase")
        if not any(case.find(kind) is not None for kind in ("failure", "error", "skipped"))
    )


def judge(library: Library, numpys: Run, ours: Run) -> list[str]:
    """Return what is wrong: tests that fail on tnp alone by no known cause, and known ones that pass."""
    known = {test for tests in library.causes.values() for test in tests}
    complaints = [
        f"{library.name}: fails and has no known cause: {test}" for test in numpys.passed - ours.passed - known
    ]
    complaints += [f"{library.name}: passes and must leave {PATH.name}: {test}" for test in ours.passed & known]
    if not numpys.passed:
        complaints.append(f"{library.name}: no test passes with NumPy: pytest says above what is missing")
    return sorted(complaints)


def row(library: Library, numpys: Run, ours: Run) -> str:
    """Return the library's line of the table in docs/conformance.md."""
    both, all_of_them = len(numpys.passed & ours.passed), len(numpys.passed)
    share = 100 * both / max(all_of_them, 1)
    ratio = ours.seconds / numpys.seconds
    return f"| {library.name} {library.version} | {all_of_them} | {both} | {share:.1f} % | {ratio:.1f} |"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``python -m conformance libraries``."""
    parser.add_argument("folder", type=Path, help="where the source distributions lie, each in NAME-VERSION/")
    parser.add_argument("library", nargs="*", help="names of some (default: all of libraries.toml)")


def main(options: argparse.Namespace) -> int:
    """Run the suites and print the table; 1 if a test fails on tnp alone by no known cause."""
    rows, complaints = [], []
    for library in load():
        if options.library and library.name not in options.library:
            continue
        folder = (options.folder / f"{library.name}-{library.version}").resolve()
        if not folder.is_dir():
            print(f"{folder} is not there: unpack the source distribution of {library.name} {library.version}")
            return 2
        runs = [run(library, folder, mode) for mode in MODES]
        rows.append(row(library, *runs))
        complaints += judge(library, *runs)
    print("| library | pass with NumPy | of them by tnp | share | time, times NumPy's |\n|---|---|---|---|---|")
    print("\n".join([*rows, "", *complaints]))
    return int(bool(complaints))
