"""The benchmark's programs with loops: compiled as they are they give NumPy's results."""

from __future__ import annotations

import json
from pathlib import Path

import numpy
import pytest

import tnp
from bench import loop_programs
from bench.__main__ import main
from tests.oracle import assert_same

PROGRAMS = {program.title: program for program in loop_programs.programs(10)}


@pytest.mark.parametrize(
    ("title", "backend"),
    [*[(title, "eager") for title in PROGRAMS], *[(title, "inductor") for title in ("knapsack", "cholesky", "kalman")]],
)
def test_what_numpy_gives(title: str, backend: str) -> None:
    program = PROGRAMS[title]
    expected = loop_programs.by_numpy(program)
    function = loop_programs.compiled(program.function, backend=backend)
    actual = function(*[tnp.asarray(each.copy()) for each in program.arguments])
    assert_same(numpy.asarray(expected), tnp.asarray(actual), rtol=1e-9, atol=1e-9)


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loop_programs, "programs", lambda: [PROGRAMS["insertion sort"]])
    assert main(["loop-programs", "--repeats", "1", "--out", str(tmp_path)]) == 0
    (row,) = json.loads((tmp_path / "loop-programs.json").read_text())["rows"]
    assert row["title"] == "insertion sort"
    assert {"numpy", "tnp"} == set(row["seconds"]) - {"numba"}
    assert "geometric mean" in capsys.readouterr().out
