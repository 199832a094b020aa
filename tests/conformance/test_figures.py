"""What the page about the tests is written from."""

from __future__ import annotations

from collections import Counter

import pytest

from conformance import __main__ as command
from conformance import figures


def test_printed(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(figures, "_tests", lambda: Counter({"tnp": 40_000, "bench": 2}))
    assert command.main(["figures"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[:3] == ["  40,000  tests of tnp", "       2  tests of bench", "  40,002  tests in all"]
    assert all(int(line.split()[0].replace(",", "")) > 0 for line in lines)


def test_a_test_that_is_listed_twice_counts_once(monkeypatch: pytest.MonkeyPatch) -> None:
    listed = {"order": [{"tests": ["a", "b"]}, {"tests": ["b"]}], "text": {"tests": ["c"]}, "version": "1"}
    monkeypatch.setattr(figures, "_table", lambda path: listed)
    assert figures._listed("any.toml", "tests") == 3
