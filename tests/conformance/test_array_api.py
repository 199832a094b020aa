"""The Array API suite's command: known gaps are NumPy's way, and results are held against them."""

from __future__ import annotations

import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy
import pytest

import tnp
from conformance import array_api, differences
from conformance.__main__ import main
from conformance.array_api import Gap, Result, Suite, Unavailable

SUITE = array_api.load()
REPORT = """\
<testsuites><testsuite>
<testcase classname="array_api_tests.test_linalg" name="test_eig"><failure message="dtype">...</failure></testcase>
<testcase classname="array_api_tests.test_inspection_functions.TestInspection" name="test_devices"/>
<testcase classname="array_api_tests.test_fft" name="test_fft[x &gt; 0]"><skipped message="flaky"/></testcase>
<testcase classname="" name="array_api_tests.test_dlpack"><error message="collection failure"/></testcase>
</testsuite></testsuites>
"""
SMALL = Suite("2025.12", "address", "0" * 40, (Gap("gap", ("m::one", "m::two"), "", "", "", ""),), {"NumPy": "49 fail"})


@pytest.mark.parametrize("xp", [numpy, tnp], ids=["numpy", "tnp"])
@pytest.mark.parametrize("gap", SUITE.gaps, ids=lambda gap: gap.id)
def test_gap_is_numpys_way(gap: Gap, xp: Any) -> None:
    assert differences.run(gap.example, xp) == gap.prints


def test_a_test_is_in_one_gap() -> None:
    tests = [test for gap in SUITE.gaps for test in gap.tests]
    assert len(tests) == len(set(tests))


def test_the_standards_version_is_the_namespaces() -> None:
    assert SUITE.version == tnp.__array_api_version__


def test_report_is_read() -> None:
    result = array_api.parse(REPORT)
    assert result.outcomes == {
        "test_linalg::test_eig": "failed",
        "test_inspection_functions::TestInspection::test_devices": "passed",
        "test_fft::test_fft[x > 0]": "skipped",
        "array_api_tests.test_dlpack": "failed",
    }
    assert result.reasons == {"test_fft::test_fft[x > 0]": "flaky"}


@pytest.mark.parametrize(
    ("outcomes", "complaint"),
    [
        ({"m::one": "failed", "m::two": "failed", "m::three": "passed"}, None),
        ({"m::one": "failed", "m::two": "failed", "m::three": "failed"}, "fails and is no known gap: m::three"),
        ({"m::one": "failed", "m::two": "passed"}, "passes and must leave array_api_gaps.toml: m::two"),
        ({"m::one": "failed"}, "is in array_api_gaps.toml but not in the suite: m::two"),
    ],
)
def test_judgement(outcomes: dict[str, str], complaint: str | None) -> None:
    assert array_api.judge(SMALL, Result(outcomes, {}), whole=True) == ([] if complaint is None else [complaint])


def test_part_of_the_suite_may_lack_gaps() -> None:
    assert array_api.judge(SMALL, Result({"m::one": "failed"}, {}), whole=False) == []


def test_no_checkout_is_2(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["array-api", "--suite", str(tmp_path)]) == 2
    assert str(tmp_path) in capsys.readouterr().err


def test_clone_has_the_pinned_commit_and_its_submodule(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The very commands, with repositories of this machine standing behind the public addresses."""

    def git(directory: Path, *command: str) -> str:
        identity = ["-c", "user.name=a", "-c", "user.email=a@b", "-c", "protocol.file.allow=always"]
        run = subprocess.run(["git", *identity, *command], cwd=directory, check=True, capture_output=True, text=True)
        return run.stdout.strip()

    standard, suite = tmp_path / "standard", tmp_path / "suite"
    for repository, name in ((standard, "spec"), (suite, array_api.TESTS)):
        (repository / name).mkdir(parents=True)
        (repository / name / "file.py").touch()
        git(repository, "init", "--quiet")
        git(repository, "add", ".")
        git(repository, "commit", "--quiet", "-m", "first")
    git(suite, "submodule", "--quiet", "add", str(standard), "array-api")
    git(suite, "commit", "--quiet", "-m", "pinned")
    pinned = git(suite, "rev-parse", "HEAD")
    git(suite, "rm", "--quiet", "-r", array_api.TESTS)
    git(suite, "commit", "--quiet", "-m", "later")
    settings = {f"url.{suite}.insteadOf": SUITE.repository, "protocol.file.allow": "always"}
    for number, (key, value) in enumerate(settings.items()):
        monkeypatch.setenv(f"GIT_CONFIG_KEY_{number}", key)
        monkeypatch.setenv(f"GIT_CONFIG_VALUE_{number}", value)
    monkeypatch.setenv("GIT_CONFIG_COUNT", "2")
    monkeypatch.delenv(array_api.VARIABLE, raising=False)
    with array_api.checkout(replace(SUITE, commit=pinned), None) as path:
        assert (path / array_api.TESTS / "file.py").exists() and (path / "array-api" / "spec" / "file.py").exists()


def test_no_network_is_2(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def clone(suite: Suite, directory: str) -> None:
        raise Unavailable("no network: give a checkout with --suite DIR")

    monkeypatch.delenv(array_api.VARIABLE, raising=False)
    monkeypatch.setattr(array_api, "clone", clone)
    assert main(["array-api"]) == 2
    assert "--suite" in capsys.readouterr().err


@pytest.mark.parametrize(("outcome", "status"), [("failed", 0), ("passed", 1)])
def test_figures_gaps_and_peers_are_printed(
    outcome: str, status: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "array_api_tests").mkdir()
    monkeypatch.setenv(array_api.VARIABLE, str(tmp_path))
    monkeypatch.setattr(array_api, "load", lambda: SMALL)
    result = Result({"m::one": "failed", "m::two": outcome, "m::three": "skipped"}, {"m::three": "flaky"})
    monkeypatch.setattr(array_api, "run", lambda *arguments: result)
    assert main(["array-api"]) == status
    printed = capsys.readouterr().out
    for text in ("1 skipped", "skipped by the suite (1): flaky", "gap", "NumPy: 49 fail"):
        assert text in printed
