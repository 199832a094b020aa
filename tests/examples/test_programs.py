"""The example programs, which know no tnp, print under ``python -m tnp`` what they print under Python."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests import processes

ROOT = Path(__file__).parents[2]
PROGRAMS = sorted((ROOT / "examples" / "programs").glob("*.py"))


def test_a_dozen_programs_know_no_tnp() -> None:
    assert len(PROGRAMS) >= 12
    for path in PROGRAMS:
        text = path.read_text()
        assert "import numpy as np" in text and "tnp" not in text, path.name


@pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: path.stem)
def test_the_same_output(path: Path) -> None:
    run = subprocess.run([sys.executable, str(path)], cwd=ROOT, capture_output=True, text=True, check=True)
    assert len(run.stdout.splitlines()) > 1
    by_tnp = processes.run("-m", "tnp", path)
    assert by_tnp.stdout + by_tnp.stderr == run.stdout
