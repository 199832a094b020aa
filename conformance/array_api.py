"""Run the Array API standard's own test suite on tnp, and compare its failures with the known gaps.

The suite is not part of this repository: the command reads a checkout, or clones the pinned commit for one run.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import subprocess
import sys
import tempfile
import tomllib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree

from conformance import device as on_device
from conformance.differences import is_past

PATH = Path(__file__).with_name("array_api_gaps.toml")
ROOT = Path(__file__).parent.parent
VARIABLE = "ARRAY_API_TESTS_DIR"
TESTS = "array_api_tests"


class Unavailable(Exception):
    """The suite can't be found or cloned."""


@dataclass(frozen=True)
class Gap:
    """Tests that fail because NumPy contradicts the standard, with an example of NumPy's behaviour."""

    id: str
    tests: tuple[str, ...]
    standard: str
    numpy: str
    example: str
    prints: str
    until: str = ""  # from this release on NumPy follows the standard


@dataclass(frozen=True)
class Suite:
    """The suite's version, its known gaps, and the results of other libraries."""

    version: str
    repository: str
    commit: str
    gaps: tuple[Gap, ...]
    peers: Mapping[str, str]


@dataclass(frozen=True)
class Result:
    """The outcome of each test ('passed', 'failed' or 'skipped'), and the reasons for skips."""

    outcomes: Mapping[str, str]
    reasons: Mapping[str, str]

    def named(self, outcome: str) -> set[str]:
        """Return the tests with this outcome."""
        return {test for test, its in self.outcomes.items() if its == outcome}


def load(path: Path = PATH) -> Suite:
    """Read the suite's description and those gaps that the installed NumPy has.

    An unknown or missing field raises TypeError or KeyError.
    """
    data = tomllib.loads(path.read_text())
    gaps = [Gap(**{**gap, "tests": tuple(gap["tests"])}) for gap in data["gap"]]
    gaps = [gap for gap in gaps if not is_past(gap.until)]
    peers = {peer["name"]: peer["result"] for peer in data["peer"]}
    return Suite(data["version"], data["repository"], data["commit"], tuple(gaps), peers)


@contextlib.contextmanager
def checkout(suite: Suite, directory: str | None) -> Iterator[Path]:
    """Yield a checkout of the suite: the given one, the one in the environment variable, or a temporary clone."""
    given = directory or os.environ.get(VARIABLE)
    if given:
        path = Path(given).resolve()
        if not (path / TESTS).is_dir():
            raise Unavailable(f"{path} is not a checkout of {suite.repository}: it has no {TESTS}/")
        yield path
        return
    with tempfile.TemporaryDirectory() as temporary:
        clone(suite, temporary)
        yield Path(temporary)


def clone(suite: Suite, directory: str) -> None:
    """Clone the pinned commit and its submodule from their public addresses."""
    print(f"cloning {suite.repository} at {suite.commit[:12]}", flush=True)
    git = ["git", "-C", directory]
    for command in (
        ["git", "clone", "--quiet", "--no-checkout", suite.repository, directory],
        [*git, "checkout", "--quiet", suite.commit],
        [*git, "submodule", "--quiet", "update", "--init"],
    ):
        try:
            subprocess.run(command, check=True, env={**os.environ, "GIT_TERMINAL_PROMPT": "0"})
        except (OSError, subprocess.CalledProcessError):
            raise Unavailable(
                f"{suite.repository} can't be cloned: give a checkout with --suite DIR or in {VARIABLE}"
            ) from None


def run(suite: Suite, directory: Path, max_examples: int, chapters: Sequence[str] = (), device: str = "cpu") -> Result:
    """Run the suite, or some of its files, on tnp; pytest's own report goes to the terminal."""
    with tempfile.TemporaryDirectory() as temporary:
        report = Path(temporary) / "report.xml"
        paths = [f"{TESTS}/{chapter.removesuffix('.py')}.py" for chapter in chapters] or [TESTS]
        subprocess.run(
            [
                *[sys.executable, "-m", "pytest", "-q", "-rN", "--tb=short", "-p", "no:cacheprovider", "-W", "ignore"],
                *["-p", "conformance.device"],
                *["--disable-deadline", f"--max-examples={max_examples}", f"--junitxml={report}", *paths],
            ],
            cwd=directory,
            env={
                **os.environ,
                **on_device.environment(device),
                "ARRAY_API_TESTS_MODULE": "tnp",
                "ARRAY_API_TESTS_VERSION": suite.version,
                "PYTHONPATH": os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")])),
            },
            check=False,
        )
        if not report.exists():
            raise Unavailable("the suite did not run: pip install -e '.[conformance]' installs what it needs")
        return parse(report.read_text())


def parse(report: str) -> Result:
    """Read the outcomes in a JUnit report, by names like ``test_linalg::test_eig``."""
    outcomes: dict[str, str] = {}
    reasons: dict[str, str] = {}
    for case in ElementTree.fromstring(report).iter("testcase"):
        module = case.get("classname", "").removeprefix(f"{TESTS}.").replace(".", "::")
        test = f"{module}::{case.get('name')}" if module else case.get("name", "")
        skipped = case.find("skipped")
        if skipped is not None:
            outcomes[test], reasons[test] = "skipped", skipped.get("message", "")
        elif case.find("failure") is not None or case.find("error") is not None:
            outcomes[test] = "failed"
        else:
            outcomes[test] = "passed"
    return Result(outcomes, reasons)


def judge(suite: Suite, result: Result, whole: bool) -> list[str]:
    """Return what is wrong: unknown failures, gaps that pass and, in a whole run, gaps that name no test."""
    known = {test for gap in suite.gaps for test in gap.tests}
    failed, passed = result.named("failed"), result.named("passed")
    complaints = [f"fails and is no known gap: {test}" for test in sorted(failed - known)]
    complaints += [f"passes and must leave {PATH.name}: {test}" for test in sorted(passed & known)]
    if whole:
        complaints += [f"is in {PATH.name} but not in the suite: {test}" for test in sorted(known - {*result.outcomes})]
    return complaints


def show(suite: Suite, result: Result, complaints: Sequence[str]) -> None:
    """Print the figures, the known gaps, the other libraries' results, and what is wrong."""
    count = Counter(result.outcomes.values())
    failed = result.named("failed")
    unknown = failed - {test for gap in suite.gaps for test in gap.tests}
    print(f"\nArray API {suite.version}, array-api-tests at {suite.commit[:12]}")
    known = f"{count['failed'] - len(unknown)} of them known gaps"
    print(f"tnp: {count['passed']} passed, {count['failed']} failed ({known}), {count['skipped']} skipped")
    for reason, number in Counter(result.reasons.values()).items():
        print(f"  skipped by the suite ({number}): {reason}")
    print("\nknown gaps, where NumPy and the standard contradict each other and NumPy is kept:")
    for gap in suite.gaps:
        print(f"  {gap.id} ({len(failed.intersection(gap.tests))} of {len(gap.tests)} tests fail)")
        print(f"    standard: {gap.standard}\n    NumPy:    {gap.numpy}")
        print(f"    example:  {gap.example}\n    prints:   {gap.prints}")
    print("\npeers, of 1379 tests that run:")
    for name, figure in suite.peers.items():
        print(f"  {name}: {figure}")
    for complaint in complaints:
        print(f"\n{complaint}")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``python -m conformance array-api``."""
    parser.add_argument(
        "--suite", metavar="DIR", help=f"a checkout of array-api-tests (default: {VARIABLE}, or a clone)"
    )
    parser.add_argument("--max-examples", metavar="N", type=int, default=100, help="examples a test (default: 100)")
    on_device.add_argument(parser)
    parser.add_argument("chapter", nargs="*", help="files of the suite to run, such as test_linalg (default: all)")


def main(options: argparse.Namespace) -> int:
    """Run ``python -m conformance array-api``; return 0 if all is as known, 1 if not, 2 if there is no suite."""
    suite, chapters = load(), options.chapter
    try:
        with checkout(suite, options.suite) as path:
            result = run(suite, path, options.max_examples, chapters, options.device)
    except Unavailable as error:
        print(error, file=sys.stderr)
        return 2
    complaints = judge(suite, result, whole=not chapters)
    show(suite, result, complaints)
    return 1 if complaints else 0
