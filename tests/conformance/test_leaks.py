"""No path of tnp holds more memory after each call, or leaves reference cycles: `conformance.leaks` with few calls."""

from __future__ import annotations

from typing import Any

import pytest

from conformance import leaks
from conformance.__main__ import main

ELSEWHERE = (*leaks.CYCLES, "operators with new numbers", "machine code", "threads", "error state")
"""Paths that a few calls say nothing about, or that are slow: constants are kept up to a number, threads leave late."""
PATHS = leaks.paths()


@pytest.mark.parametrize("path", [path for path in PATHS if path not in ELSEWHERE])
def test_nothing_grows(path: str) -> None:
    found = [leaks.measure(path, PATHS[path], 100, counts=20)]
    while found[-1].problems() and len(found) < 4:  # what is made once is not made again: a leak grows
        found.append(leaks.measure(path, PATHS[path], 100 * 4 ** len(found), counts=20))
    assert not found[-1].problems(), found


def test_paths_that_are_known_are_paths() -> None:
    assert set(leaks.SLOW) <= set(leaks.CYCLES) <= set(PATHS) and set(ELSEWHERE) < set(PATHS)


def test_what_is_kept_is_seen(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    kept: list[Any] = []
    linked: dict[str, Any] = {"keeps": lambda: kept.append(bytes(1000)), "links": lambda: (lambda x: x.append(x))([])}
    monkeypatch.setattr(leaks, "paths", lambda: linked)
    assert main(["leaks", "--calls", "100"]) == 1
    printed = capsys.readouterr().out
    assert "Python holds 10" in printed and "bytes more after each call" in printed
    assert "each call leaves 1.0 objects in reference cycles" in printed
    assert main(["leaks", "--only", "k*", "--list"]) == 0
    assert capsys.readouterr().out == "keeps\n"
