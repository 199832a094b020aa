"""Run the Array API tests of SciPy and scikit-learn on tnp, and compare their failures with the known gaps.

The libraries have to be installed: ``make consumers`` does it.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import os
import subprocess
import sys
import tempfile
import tomllib
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree

PATH = Path(__file__).with_name("gaps.toml")
ROOT = Path(__file__).parent.parent.parent


@dataclass(frozen=True)
class Suite:
    """A library's release, its packages with tests, how pytest selects these, and what fails by which known cause."""

    name: str
    version: str
    packages: tuple[str, ...]
    selection: tuple[str, ...]
    causes: Mapping[str, tuple[str, ...]]


def load(path: Path = PATH) -> list[Suite]:
    """Read the list of suites and known gaps."""
    return [
        Suite(
            entry["name"],
            entry["version"],
            tuple(entry["packages"]),
            tuple(entry["selection"]),
            {cause: tuple(tests) for cause, tests in entry.get("causes", {}).items()},
        )
        for entry in tomllib.loads(path.read_text())["suite"]
    ]


def outcomes(report: str, package: str) -> dict[str, str]:
    """Read the outcome of each test of a package, 'passed', 'failed' or 'skipped', from a JUnit report."""
    found = {}
    for case in ElementTree.fromstring(report).iter("testcase"):
        kinds = {child.tag for child in case}
        outcome = "failed" if kinds & {"failure", "error"} else "skipped" if "skipped" in kinds else "passed"
        found[f"{package}.{case.get('classname', '')}::{case.get('name')}"] = outcome
    return found


def run(suite: Suite, package: str) -> dict[str, str]:
    """Run the tests of a package; pytest's own report goes to the terminal."""
    with tempfile.TemporaryDirectory() as temporary:
        report = Path(temporary, "report.xml")
        subprocess.run(
            [
                *[sys.executable, "-m", "pytest", "-q", "-rN", "--tb=line", "-p", "no:cacheprovider", "-p", "no:xdist"],
                *["-p", "conformance.consumers.plugin", f"--junitxml={report}", *suite.selection, "--pyargs", package],
            ],
            cwd=temporary,
            env={**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), *sys.path]), "SCIPY_ARRAY_API": "1"},
            check=False,
        )
        return outcomes(report.read_text(), package) if report.exists() else {f"{package}::its tests": "failed"}


def judge(suite: Suite, found: Mapping[str, str]) -> list[str]:
    """Return what is wrong: tests that fail by no known cause, and known ones that pass."""
    known = {test for tests in suite.causes.values() for test in tests}
    complaints = [
        f"fails and has no known cause: {test}" for test in found if found[test] == "failed" and test not in known
    ]
    complaints += [f"passes and must leave {PATH.name}: {test}" for test in known if found.get(test) == "passed"]
    return sorted(complaints)


def row(suite: Suite, found: Mapping[str, str]) -> str:
    """Return the suite's line of the table in docs/conformance.md."""
    counts = Counter(found.values())
    return f"| {suite.name} {suite.version} | {counts['passed']} | {counts['failed']} | {counts['skipped']} |"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``python -m conformance consumers``."""
    parser.add_argument("packages", nargs="*", help="some of the packages of gaps.toml, such as scipy.special")


def main(options: argparse.Namespace) -> int:
    """Run the suites and print the table; 1 if a test fails by no known cause, 2 if a library is not installed."""
    rows, complaints = [], []
    for suite in load():
        packages = [each for each in suite.packages if not options.packages or each in options.packages]
        if not packages:
            continue
        try:
            version = importlib.metadata.version(suite.name)
        except importlib.metadata.PackageNotFoundError:
            print(f"{suite.name} is not installed: make consumers does it")
            return 2
        if version != suite.version:
            print(f"{suite.name} is {version}; the known gaps are those of {suite.version}")
        found = {test: outcome for package in packages for test, outcome in run(suite, package).items()}
        rows.append(row(suite, found))
        complaints += [f"{suite.name}: {each}" for each in judge(suite, found)]
    print("| library | passed | failed | skipped |\n|---|---|---|---|")
    print("\n".join([*rows, "", *complaints]))
    return int(bool(complaints))
