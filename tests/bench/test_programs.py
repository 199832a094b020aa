"""``python -m bench programs``: what it loads, times and sorts."""

from __future__ import annotations

from pathlib import Path

import numpy
import pytest

import tnp
from bench import programs, timing
from bench.__main__ import main


def run(name: str, kind: str, ratio: float) -> programs.Run:
    summary = timing.Summary(1.0, 1.0, 1.0, 1.0, 1)
    return programs.Run(name, kind, 1, summary, summary, ratio)


def test_every_program_is_timed() -> None:
    assert {program.name for program in programs.PROGRAMS} == {path.stem for path in programs.FOLDER.glob("*.py")}
    assert {program.kind for program in programs.PROGRAMS} == {"large", "small", "loop"}


def test_the_worst_is_first_and_each_kind_has_its_target() -> None:
    results = [run("a", "small", 2.0), run("b", "loop", 4.0), run("c", "small", 4.0), run("d", "large", 9.0)]
    assert [each.program for each in programs.worst_first(results)] == ["d", "b", "c", "a"]
    assert [each.program for each in programs.missed(results)] == ["c"]


def test_each_way_runs_its_own_copy(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "which.py").write_text(
        "import numpy as np\nseen = []\ndef main(size):\n    seen.append(type(np.zeros(size)))\n"
        "    print(np.arange(size).sum())\n"
    )
    monkeypatch.setattr(programs, "FOLDER", tmp_path)
    loaded = []
    original = programs.loaded

    def kept(program: programs.Program) -> object:
        loaded.append(original(program))
        return loaded[-1]

    monkeypatch.setattr(programs, "loaded", kept)
    result = programs.compare(programs.Program("which", "small", 3), 1)
    assert result.ratio > 0 and result.size == 3
    seen = [set(function.__globals__["seen"]) for function in loaded]
    assert seen == [{numpy.ndarray}, {tnp.ndarray}]
    assert {programs.output(function, 3) for function in loaded} == {"3\n"}


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["programs", "--repeats", "1", "--only", "sieve", "--out", str(tmp_path)]) == 0
    assert "sieve" in capsys.readouterr().out
    assert (tmp_path / "programs.json").exists()
