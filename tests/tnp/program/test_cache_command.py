"""``python -m tnp cache``: what lies in the folder is listed, removed, and carried to another machine."""

from __future__ import annotations

import os
import subprocess
import sys
import tarfile
import time
from pathlib import Path
from typing import Any

import pytest
import torch

from backend_torch.graphs import code_cache, compiling
from backend_torch.torch_private import inductor_code
from tnp._program import cache_command

ROOT = Path(__file__).parents[3]
NAMES = ["a" * 64, "b" * 64, "c" * 64]
RUNNER = "class Runner:\n def __init__(self, partitions): pass\n def call(self, args): return (args[0] + 1,)"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache with three entries: made now, a day and two days ago."""
    monkeypatch.setenv("TNP_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(inductor_code, "taken_apart", lambda program: inductor_code.Code(RUNNER, {}))
    graph = compiling.trace(lambda given: (given[0] + 1,), [torch.ones(3)])
    now = time.time()
    for days, name in enumerate(NAMES):
        monkeypatch.setattr(code_cache.time, "time", lambda days=days: now - 86400 * days)
        assert code_cache.store(name, None, graph)
    monkeypatch.setattr(code_cache.time, "time", lambda: now)
    return tmp_path / "cache"


def said(capsys: pytest.CaptureFixture[str], *arguments: Any) -> str:
    cache_command.main([str(each) for each in arguments])
    return capsys.readouterr().out


def test_list(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = said(capsys, "list").splitlines()
    assert [line[:12] for line in lines[:-1]] == [name[:12] for name in reversed(NAMES)]
    assert all("operations of float32[3]" in line for line in lines[:-1])
    assert lines[-1].startswith("3 entries, ")
    assert lines[-1].endswith(str(folder))


@pytest.mark.parametrize(
    ("options", "left"),
    [([], NAMES), (["--days", 1.5], NAMES[:2]), (["--all"], []), (["--megabytes", 0], []), (["--megabytes", 9], NAMES)],
)
def test_prune(folder: Path, capsys: pytest.CaptureFixture[str], options: list[Any], left: list[str]) -> None:
    assert said(capsys, "prune", *options).startswith(f"{3 - len(left)} entries removed")
    assert sorted(path.name for path in folder.iterdir()) == left


def test_prune_removes_what_a_killed_process_left(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name, age in (("unfinished-old", 7200), ("unfinished-new", 0)):
        (folder / name).mkdir()
        os.utime(folder / name, (time.time() - age,) * 2)
    said(capsys, "prune")
    assert [path.name for path in folder.glob("unfinished-*")] == ["unfinished-new"]


def test_export_and_import(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert said(capsys, "export", tmp_path / "cache.tar.gz").startswith("3 entries written")
    monkeypatch.setenv("TNP_CACHE_DIR", str(tmp_path / "other"))
    assert said(capsys, "import", tmp_path / "cache.tar.gz").startswith("3 new entries")
    assert said(capsys, "import", tmp_path / "cache.tar.gz").startswith("0 new entries")
    program = code_cache.load(NAMES[1])
    assert program is not None
    assert program([torch.ones(3)])[0].tolist() == [2.0] * 3


@pytest.mark.parametrize("name", ["../escaped/facts.json", f"{'a' * 64}/more.py", f"{'a' * 64}/runner.py"])
def test_other_archives_are_refused(folder: Path, tmp_path: Path, name: str) -> None:
    (tmp_path / "file").write_text("text")
    with tarfile.open(tmp_path / "bad.tar.gz", "w:gz") as archive:
        archive.add(tmp_path / "file", arcname=name)
    with pytest.raises(SystemExit, match=r"no part of an entry|is damaged"):
        cache_command.main(["import", str(tmp_path / "bad.tar.gz")])
    with pytest.raises(SystemExit, match="no archive"):
        cache_command.main(["import", str(tmp_path / "file")])
    assert sorted(path.name for path in folder.iterdir()) == NAMES


def test_from_the_command_line(folder: Path) -> None:
    command = [sys.executable, "-m", "tnp", "cache", "list"]
    run = subprocess.run(
        command, cwd=folder, env={**os.environ, "PYTHONPATH": str(ROOT)}, capture_output=True, text=True
    )
    assert run.returncode == 0, run.stderr
    assert "3 entries" in run.stdout
