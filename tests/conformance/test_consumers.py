"""SciPy's and scikit-learn's suites: the outcomes are read from reports, and compared with the known gaps."""

from __future__ import annotations

from pathlib import Path

import pytest

from conformance.__main__ import main
from conformance.consumers import command
from conformance.consumers.command import Suite

REPORT = """\
<testsuites><testsuite>
<testcase classname="test_m" name="test_sum[tnp]"/>
<testcase classname="test_m" name="test_known[tnp]"><failure message="no">...</failure></testcase>
<testcase classname="test_m" name="test_error[tnp]"><error message="no">...</error></testcase>
<testcase classname="test_m" name="test_numpy[tnp]"><skipped message="NumPy alone"/></testcase>
</testsuite></testsuites>
"""
KNOWN = Suite("small", "1.0", ("small",), (), {"cause": ("small.test_m::test_known[tnp]",)})


def test_outcomes_are_read_from_a_report() -> None:
    assert list(command.outcomes(REPORT, "small").values()) == ["passed", "failed", "failed", "skipped"]


def test_a_known_cause_explains_a_failure_and_no_more() -> None:
    found = command.outcomes(REPORT, "small")
    assert command.judge(KNOWN, found) == ["fails and has no known cause: small.test_m::test_error[tnp]"]
    assert command.judge(KNOWN, dict.fromkeys(found, "passed")) == [
        f"passes and must leave {command.PATH.name}: small.test_m::test_known[tnp]"
    ]
    assert command.row(KNOWN, found) == "| small 1.0 | 1 | 2 | 1 |"


def test_the_list_is_complete() -> None:
    listed = command.load()
    assert [suite.name for suite in listed] == ["scipy", "scikit-learn"]
    assert all(tests == tuple(sorted(tests)) for suite in listed for tests in suite.causes.values())


@pytest.mark.host
def test_the_fixture_and_the_marks_of_scipy_get_tnp(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """A package laid out as SciPy is, with its fixture and its set of names."""
    package = tmp_path / "scipy"
    (package / "small").mkdir(parents=True)
    for folder in (package, package / "small"):
        (folder / "__init__.py").write_text("")
    (package / "conftest.py").write_text(
        "import numpy, pytest\nxp_known_backends = {'numpy'}\n"
        "def pytest_configure(config):\n    config.addinivalue_line('markers', 'array_api_backends: some')\n"
        "@pytest.fixture(params=[pytest.param(numpy, id='numpy', marks=pytest.mark.array_api_backends)])\n"
        "def xp(request):\n    assert request.param.__name__ in xp_known_backends\n    return request.param\n"
    )
    (package / "small" / "test_m.py").write_text(
        "def test_known(xp):\n    assert xp.__name__ == 'numpy'\n\n"
        "def test_sum(xp):\n    assert xp.__name__ == 'tnp' and xp.ones(3).sum() == 3\n\n"
        "def test_without_arrays():\n    raise AssertionError\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    suite = Suite("pytest", pytest.__version__, ("scipy.small",), ("-m", "array_api_backends"), {})
    monkeypatch.setattr(command, "load", lambda: [suite])
    assert main(["consumers"]) == 1
    printed = capfd.readouterr().out
    assert f"| pytest {pytest.__version__} | 1 | 1 | 0 |" in printed
    assert "fails and has no known cause: scipy.small.test_m::test_known[tnp]" in printed
    assert main(["consumers", "another"]) == 0


def test_a_library_that_is_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(command, "load", lambda: [Suite("there-is-none", "1.0", ("there_is_none",), (), {})])
    assert main(["consumers"]) == 2
