"""``python -m bench memory``: the bytes that a call takes at most are counted exactly, results and temporaries."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy
import pytest

import tnp
from bench import memory
from bench.__main__ import main

pytest.importorskip("memray")
N = 10**6
ARRAY = 8 * N
SLACK = 1 << 16


@pytest.mark.parametrize("xp", [numpy, tnp])
@pytest.mark.parametrize(
    ("call", "arrays"),
    [
        (lambda xp, x, y: xp.add(x, y), 1),
        (lambda xp, x, y: xp.add(xp.add(x, y), x), 2),
        (lambda xp, x, y: xp.add(xp.add(xp.add(x, y), x), y), 2),
        (lambda xp, x, y: xp.add(x, y, out=x), 0),
        (lambda xp, x, y: xp.sum(x), 0),
        (lambda xp, x, y: xp.sum(xp.add(x, y)), 1),
        (lambda xp, x, y: [xp.add(x, y) for _ in range(3)], 3),
        (lambda xp, x, y: xp.empty(N), 1),
    ],
)
def test_arrays_are_counted(xp: Any, call: Callable[..., Any], arrays: int) -> None:
    x, y = xp.ones(N), xp.ones(N)
    assert abs(memory.peak(lambda: call(xp, x, y)) - arrays * ARRAY) < SLACK


def test_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["memory", "--size", "100000", "--only", "add,copy", "--out", str(tmp_path)]) == 0
    rows = {row["function"]: row for row in json.loads((tmp_path / "memory.json").read_text())["rows"]}
    assert {"add", "add, in place", "copy"} <= set(rows)
    for by in ("numpy", "tnp"):
        assert abs(rows["copy"][by] - 800_000) < SLACK
        assert rows["add, in place"][by] < SLACK
    printed = capsys.readouterr().out
    assert "functions above 2 times" in printed and "copy" in printed


def peak(numpy: int, tnp: int, function: str = "f") -> memory.Peak:
    return memory.Peak(N, function, numpy, tnp)


def test_ratio_is_of_what_counts() -> None:
    assert peak(0, memory.LEAST).ratio == 1.0
    assert peak(ARRAY, 3 * ARRAY).ratio == 3.0
    assert peak(0, 8 * memory.LEAST).ratio == 8.0


def test_worst_come_first_and_are_counted() -> None:
    rows = [peak(ARRAY, ARRAY, "one"), peak(ARRAY, 3 * ARRAY, "other"), peak(0, ARRAY, "flip")]
    assert list(memory.table(rows, 2).columns[0].cells) == ["flip", "other"]
    assert memory.summary(rows).startswith(
        "2 of 3 functions above 2 times NumPy's memory (1 of them neither views in NumPy nor explained), 2 above it"
    )


@pytest.mark.parametrize(
    ("row", "status"), [(peak(ARRAY, 2 * ARRAY), 0), (peak(ARRAY, 3 * ARRAY), 1), (peak(0, ARRAY, "flip"), 0)]
)
def test_check(row: memory.Peak, status: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "compare", lambda *arguments: row)
    assert main(["memory", "--size", "100", "--only", "add.at", "--check", "--out", str(tmp_path)]) == status
