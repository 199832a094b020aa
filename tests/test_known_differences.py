"""The example of every known difference prints what its entry states, on NumPy and on tnp."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy
import pytest

import tnp
from conformance import differences
from conformance.__main__ import main
from conformance.differences import Difference

ENTRIES = differences.load()
PAGE = Path(__file__).parent.parent / "docs" / "known-differences.md"


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.id)
def test_numpy_does_what_the_entry_says(entry: Difference) -> None:
    assert differences.run(entry.example, numpy) == (entry.on_tnp if entry.is_past else entry.on_numpy)


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.id)
def test_tnp_does_what_the_entry_says(entry: Difference) -> None:
    assert differences.run(entry.example, tnp) == entry.on_tnp


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.id)
def test_the_two_differ(entry: Difference) -> None:
    assert entry.on_numpy != entry.on_tnp


def test_ids_are_unique() -> None:
    assert len({entry.id for entry in ENTRIES}) == len(ENTRIES)


def test_page_is_rendered_from_the_data(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["differences", "--markdown"]) == 0
    assert capsys.readouterr().out == PAGE.read_text(), "write it: python -m conformance differences --markdown"


@pytest.mark.parametrize("rich", [True, False], ids=["rich", "plain"])
def test_table_names_every_place(
    rich: bool, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "1200")  # wide enough that no cell is folded
    if not rich:
        monkeypatch.setitem(sys.modules, "rich.console", None)
    assert main(["differences"]) == 0
    printed = capsys.readouterr().out
    assert [entry.id for entry in ENTRIES if entry.where not in printed or entry.reason not in printed] == []
