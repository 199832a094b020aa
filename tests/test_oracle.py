"""The oracle itself: what ``--compiled`` finds, and that every listed test exists."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests.oracle import compiled_gaps, differences

_TEST = """
from tests.oracle import agrees, sample

state = []

@agrees
def test_right(xp):
    return sample(xp, (3,), "float64") * 2

@agrees
def test_other_when_it_runs_again(xp):
    state.append(1)
    return sample(xp, (3,), "float64") * (2 + len(state) // 3)

@agrees
def test_that_needs_values(xp):
    return sample(xp, (3,), "float64") * len(xp.random.random(3).tolist())
"""


def test_compiled_finds_what_differs(tmp_path: Path) -> None:
    (tmp_path / "test_sample.py").write_text(_TEST)
    root = Path(__file__).parent.parent
    for options, failed in (
        ([], []),
        (["--compiled=eager"], ["test_other_when_it_runs_again", "test_that_needs_values"]),
    ):
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--rootdir", str(root)]
        command += ["-c", str(root / "pyproject.toml"), "-p", "tests.conftest", *options, str(tmp_path)]
        done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)
        lines = [line for line in done.stdout.splitlines() if line.startswith("FAILED")]
        assert [line.split("::")[1].split()[0] for line in lines] == failed, done.stdout


_UNLISTED = """
import numpy as np
import pytest
import warnings

from tests.oracle import agrees, compare

def test_misspelt():
    compare(lambda xp: xp.no_such_function(xp.arange(3)))

def test_does_not_raise():
    compare(lambda xp: xp.arange(3), raises=ValueError)

def test_raises_another_class():
    compare(lambda xp: xp.arange(3).reshape(2), may_raise=TypeError)

def test_text():
    def call(xp):
        raise ValueError(xp.__name__)
    compare(call, raises=ValueError)

def test_order():
    compare(lambda xp: xp.asarray(np.ones((2, 3)), order="C" if xp is np else "F"))

def test_warning():
    compare(lambda xp: warnings.warn("numpy alone", UserWarning) if xp is np else None)
"""


def test_the_oracle_fails_for_what_is_not_asked_for(tmp_path: Path) -> None:
    """The oracle fails for a misspelt name, which raises on both sides, and for other texts, orders or warnings."""
    (tmp_path / "test_sample.py").write_text(_UNLISTED)
    root = Path(__file__).parent.parent
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--rootdir", str(root)]
    command += ["-c", str(root / "pyproject.toml"), "-p", "tests.conftest", str(tmp_path)]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)
    assert "6 failed" in done.stdout, done.stdout
    assert "passed" not in done.stdout.splitlines()[-1], done.stdout


def test_listed_tests_exist() -> None:
    for tests in (*compiled_gaps.tests.values(), *differences.tests.values()):
        for file, name in (test.split("::") for test in tests):
            text = (Path(__file__).parent / file).read_text()
            assert f"def {name}(" in text, f"{file} has no {name}"
