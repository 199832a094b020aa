"""The oracle itself: what it sees, what ``--compiled`` finds, and that every listed test exists."""

from __future__ import annotations

import collections
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tnp
from tests import processes
from tests.oracle import Listed, compare, compiled_gaps, differences, placed

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
        command = ["-m", "pytest", "-q", "-p", "no:cacheprovider", "--rootdir", root, "-c", root / "pyproject.toml"]
        done = processes.run(*command, "-p", "tests.conftest", *options, tmp_path)
        lines = [line for line in done.stdout.splitlines() if line.startswith("FAILED")]
        assert [line.split("::")[1].split()[0] for line in lines] == failed, done.stdout


def on_numpy(numpys: Callable[[], Any], ours: Callable[[], Any]) -> Callable[[Any], Any]:
    """Return a function of ``xp`` that does one thing with NumPy and another with tnp."""
    return lambda xp: numpys() if xp is np else ours()


def raising(error: Exception) -> Callable[[], Any]:
    """Return a function that raises an error."""

    def call() -> None:
        raise error

    return call


def warning(times: int = 1, **options: Any) -> Callable[[], Any]:
    """Return a function that warns."""
    return lambda: [warnings.warn("of something", **options) for _ in range(times)] and None


POINT = collections.namedtuple("POINT", "x y")
LINE = collections.namedtuple("LINE", "x z")
ROW = np.arange(6.0)
MINUS_ZERO = np.asarray([-0.0, np.nan])
FAULTS: dict[str, tuple[str, Callable[[Any], Any], dict[str, Any]]] = {
    "a misspelt name": ("itself raised", lambda xp: xp.no_such_function(), {}),
    "no error": ("NumPy returned", lambda xp: xp.arange(3), {"raises": ValueError}),
    "another error": ("itself raised", lambda xp: xp.arange(3).reshape(2), {"may_raise": TypeError}),
    "an error of tnp's alone": (
        "tnp raised",
        on_numpy(lambda: 1, raising(ValueError("no"))),
        {"may_raise": ValueError},
    ),
    "an error of NumPy's alone": (
        "tnp returned",
        on_numpy(raising(ValueError("no")), lambda: 1),
        {"raises": ValueError},
    ),
    "another class of error": (
        "tnp raised",
        on_numpy(raising(IndexError("no")), raising(ValueError("no"))),
        {"raises": IndexError},
    ),
    "another text": (
        "text",
        on_numpy(raising(ValueError("size 3")), raising(ValueError("axis 3"))),
        {"raises": ValueError},
    ),
    "another number in the text": (
        "text",
        on_numpy(raising(ValueError("size 3")), raising(ValueError("size 30"))),
        {"raises": ValueError},
    ),
    "another value": ("Mismatched", on_numpy(lambda: ROW, lambda: tnp.asarray(ROW + 1)), {}),
    "a value beyond the tolerance": (
        "Not equal",
        on_numpy(lambda: ROW, lambda: tnp.asarray(ROW + 1e-6)),
        {"rtol": 1e-9},
    ),
    "NaN for a number": ("nan location", on_numpy(lambda: ROW, lambda: tnp.asarray(ROW / ROW)), {}),
    "another dtype": ("dtype", on_numpy(lambda: ROW, lambda: tnp.asarray(ROW.astype("float32"))), {}),
    "another shape": ("shape", on_numpy(lambda: ROW, lambda: tnp.asarray(ROW[None])), {}),
    "NumPy's own array": ("is no", on_numpy(lambda: ROW, lambda: ROW), {}),
    "fewer items": ("1 items", on_numpy(lambda: [1, 2], lambda: [1]), {}),
    "a list for a tuple": ("NumPy: .*tuple", on_numpy(lambda: (1, 2), lambda: [1, 2]), {}),
    "a tuple of other names": ("NumPy: .*'y'", on_numpy(lambda: POINT(1, 2), lambda: LINE(1, 2)), {}),
    "other keys": ("'x'", on_numpy(lambda: {"x": 1}, lambda: {"y": 1}), {}),
    "1 for True": ("NumPy: .*bool", on_numpy(lambda: True, lambda: 1), {}),
    "a scalar for a number": ("NumPy: .*float", on_numpy(lambda: 1.0, lambda: tnp.float64(1.0)), {}),
    "0 for -0": ("zeros", on_numpy(lambda: MINUS_ZERO, lambda: tnp.asarray(-MINUS_ZERO)), {}),
    "0 for -0, printed": ("zeros", on_numpy(lambda: MINUS_ZERO[:1], lambda: tnp.asarray(-MINUS_ZERO[:1])), {}),
    "0 for -0j": ("zeros", on_numpy(lambda: MINUS_ZERO * 1j, lambda: tnp.asarray(MINUS_ZERO * -1j)), {}),
    "an array for a scalar": ("repr", on_numpy(lambda: np.float64(2), lambda: tnp.asarray(2.0)), {}),
    "another order": ("order", on_numpy(lambda: np.ones((2, 3)), lambda: tnp.asarray(np.ones((2, 3), order="F"))), {}),
    "other strides": ("order", on_numpy(lambda: np.ones(6)[::2], lambda: tnp.ones(9)[::3]), {}),
    "an axis elsewhere in memory": (
        "order",
        on_numpy(lambda: np.ones((2, 3, 4)).transpose(1, 0, 2), lambda: tnp.ones((2, 4, 3)).transpose(2, 0, 1)),
        {},
    ),
    "a writeable array": ("writeable", on_numpy(lambda: np.broadcast_to(ROW, 6), lambda: tnp.asarray(ROW)), {}),
    "a copy for a view": ("aliasing", lambda xp: (lambda x: x[1:] if xp is np else x[1:].copy())(placed(xp, ROW)), {}),
    "a warning of NumPy's alone": ("warnings", on_numpy(warning(category=UserWarning), lambda: None), {}),
    "a warning of tnp's alone": ("warnings", on_numpy(lambda: None, warning(category=UserWarning)), {}),
    "another category": (
        "warnings",
        on_numpy(warning(category=UserWarning), warning(category=RuntimeWarning)),
        {},
    ),
    "a warning of another line": (
        "places",
        on_numpy(warning(category=UserWarning), warning(category=UserWarning, stacklevel=3)),
        {},
    ),
}
"""What differs -> what the oracle says of it, the function, and what the test asks of it."""


@pytest.mark.parametrize("fault", FAULTS)
def test_the_oracle_sees(fault: str) -> None:
    said, function, options = FAULTS[fault]
    with pytest.raises(AssertionError, match=said):
        compare(function, **options)


def test_what_is_listed_has_to_differ_unless_it_goes_by_the_processor(tmp_path: Path) -> None:
    (tmp_path / "listed.toml").write_text(
        '[[zeros]]\nreason = "x"\ntests = ["a", "b"]\n[[zeros]]\nreason = "y"\nby_processor = true\ntests = ["c"]\n'
    )
    listed = Listed(str(tmp_path / "listed.toml"))
    for name in "abcd":
        listed.runs(name)
    assert listed.stale() == ["zeros: a", "zeros: b"]
    assert listed.lists("a", "zeros") and listed.lists("c", "zeros")
    assert not listed.lists("a", "order") and not listed.lists("d", "zeros")
    assert listed.stale() == ["zeros: b"]


def test_listed_tests_exist() -> None:
    for tests in (*compiled_gaps.tests.values(), *differences.tests.values()):
        for file, name in (test.split("::") for test in tests):
            text = (Path(__file__).parent / file).read_text()
            assert f"def {name}(" in text, f"{file} has no {name}"
