"""Libraries' suites: what passes is read from the reports, and compared with the known causes."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from conformance import libraries
from conformance.__main__ import main
from conformance.libraries import Library, Run

REPORT = """\
<testsuites><testsuite>
<testcase classname="tests.test_umath" name="test_math_module"/>
<testcase classname="tests.test_unumpy" name="test_matrix"><failure message="no">...</failure></testcase>
<testcase classname="tests.test_unumpy" name="test_later"><skipped message="later"/></testcase>
</testsuite></testsuites>
"""
SMALL = Library("small", "1.0", ".", "tests", {"cause": ("m::known",)})


def test_what_passed_is_read_from_a_report() -> None:
    assert libraries.passed(REPORT) == {"test_umath::test_math_module"}


def test_a_known_cause_explains_a_failure_and_no_more() -> None:
    everything = Run(frozenset({"m::known", "m::other", "m::third"}), 2.0)
    assert libraries.judge(SMALL, everything, Run(everything.passed - {"m::known"}, 3.0)) == []
    assert libraries.judge(SMALL, everything, Run(frozenset({"m::known", "m::third"}), 3.0)) == [
        "small: fails and has no known cause: m::other",
        f"small: passes and must leave {libraries.PATH.name}: m::known",
    ]
    nothing = Run(frozenset(), 1.0)
    assert libraries.judge(SMALL, nothing, nothing) == [
        "small: no test passes with NumPy: pytest says above what is missing"
    ]
    assert libraries.row(SMALL, everything, Run(frozenset({"m::third"}), 3.0)) == "| small 1.0 | 3 | 1 | 33.3 % | 1.5 |"


def test_the_list_is_complete() -> None:
    listed = libraries.load()
    assert len({library.name for library in listed}) == len(listed)
    assert all(tests == tuple(sorted(tests)) for library in listed for tests in library.causes.values())


@pytest.mark.host
def test_a_suite_runs_on_both(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    tests = tmp_path / "small-1.0" / "tests"
    tests.mkdir(parents=True)
    (tests / "test_m.py").write_text(
        "import numpy as np\n\ndef test_known():\n    assert type(np.ones(1)).__module__ == 'numpy'\n\n"
        "def test_sum():\n    assert np.ones(3).sum() == 3\n\n"
        "def test_drawn():\n    assert np.random.randint(10**9) == np.random.RandomState(0).randint(10**9)\n"
    )
    library = Library("small", "1.0", ".", "tests", {})
    monkeypatch.setattr(libraries, "load", lambda: [library])
    assert main(["libraries", str(tmp_path)]) == 1
    printed = capfd.readouterr().out
    assert (
        "| small 1.0 | 3 | 2 | 66.7 % |" in printed
        and "small: fails and has no known cause: test_m::test_known" in printed
    )
    shutil.rmtree(tmp_path / "small-1.0")
    assert main(["libraries", str(tmp_path)]) == 2
