"""What tnp.compile says of its work, and to whom."""

from __future__ import annotations

import logging
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import tnp as np
from tnp._compile import progress

ROOT = Path(__file__).parents[3]


class Kept(logging.Handler):
    """Keeps what is logged, and says so."""

    def __init__(self) -> None:
        super().__init__()
        self.lines: list[tuple[int, str]] = []
        self.told = threading.Event()

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append((record.levelno, record.getMessage()))
        self.told.set()


@pytest.fixture
def kept() -> Iterator[Kept]:
    """What is logged from DEBUG on."""
    handler, level = Kept(), progress.log.level
    progress.log.addHandler(handler)
    progress.log.setLevel(logging.DEBUG)
    yield handler
    progress.log.setLevel(level)
    progress.log.removeHandler(handler)


def test_a_long_compile_is_told(kept: Kept, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "PATIENCE", 0.0)
    with progress.told("f (program.py:3)", "x was float64[2] and is float64[3]"):
        assert kept.told.wait(60)
    assert kept.lines[0] == (
        logging.WARNING,
        "tnp.compile: compiling f (program.py:3): x was float64[2] and is float64[3]",
    )
    level, line = kept.lines[1]
    assert level == logging.WARNING
    assert line.startswith("tnp.compile: f (program.py:3) took ")
    assert line.endswith(" s")


def test_a_short_one_is_not(kept: Kept, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "PATIENCE", 3600.0)
    with pytest.raises(ValueError, match="of the compiler"), progress.told("f", "the function is new"):
        raise ValueError("of the compiler")
    assert [level for level, _ in kept.lines] == [logging.INFO]


def test_a_notebook_shows_one_line(kept: Kept, monkeypatch: pytest.MonkeyPatch) -> None:
    shown: list[str] = []
    twice = threading.Event()

    def show(data: dict[str, str], *, raw: bool, display_id: bool = False) -> Any:
        assert raw
        shown.append(data["text/plain"])
        if len(shown) == 2:
            twice.set()
        return SimpleNamespace(update=show)

    shell = SimpleNamespace(kernel=object())
    notebook = SimpleNamespace(get_ipython=lambda: shell, display=SimpleNamespace(display=show))
    monkeypatch.setitem(sys.modules, "IPython", notebook)  # type: ignore[arg-type]
    for name in ("PATIENCE", "_PACE"):
        monkeypatch.setattr(progress, name, 0.0)
    with progress.told("f (program.py:3)", "the function is new"):
        assert twice.wait(60)
    *before, last = shown
    begin = "tnp.compile: compiling f (program.py:3): the function is new ... "
    assert all(text.startswith(begin) and text.endswith(" s") for text in before)
    assert last.startswith("tnp.compile: f (program.py:3) took ")
    assert {level for level, _ in kept.lines} == {logging.INFO}


def test_every_trace_and_hit_is_logged(kept: Kept) -> None:
    twice = np.compile(lambda x: x * 2, backend="eager")
    for size in (2, 2, 2, 3):
        twice(np.ones(size))
    said = [line.partition(":")[2].split(" took")[0] for _, line in kept.lines if " took " not in line]
    name = "<lambda> (test_progress.py:"
    assert all(name in line for line in said)
    kinds = ["traced" if line.startswith(" traced") else line.rpartition(": ")[2] for line in said]
    assert kinds == ["traced", "a trace is there", "a trace is there", "traced"]
    assert said[0].endswith("the function is new")
    assert "x was " in said[3]
    assert twice.cache_info()[:2] == (2, 2)


PROGRAM = "import tnp as np; np.compile(lambda x: x + 1, backend='eager')(np.ones(2))"


@pytest.mark.parametrize(
    ("level", "expected"), [("info", "traced <lambda>"), ("off", ""), ("loud", "TNP_LOG is one of debug")]
)
def test_the_environment_switches_it(level: str, expected: str) -> None:
    environment = {**os.environ, "TNP_LOG": level}
    run = subprocess.run(
        [sys.executable, "-c", PROGRAM], cwd=ROOT, env=environment, capture_output=True, text=True, check=True
    )
    assert expected in run.stderr
    assert bool(expected) == bool(run.stderr)
