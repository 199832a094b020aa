"""The example programs, which know no tnp, print under ``python -m tnp`` what they print under Python."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PROGRAMS = sorted((ROOT / "examples" / "programs").glob("*.py"))

# Each in a process of its own that is forked when torch has been imported: that takes longer than all of them together.
RUN_ALL = """
import json, os, sys, tempfile
import tnp.__main__ as command
found = {}
for path in sys.argv[1:]:
    with tempfile.TemporaryFile() as printed:
        child = os.fork()
        if not child:
            os.dup2(printed.fileno(), 1)
            os.dup2(printed.fileno(), 2)
            code = 1
            try:
                command.main([path])
                sys.stdout.flush()
                code = 0
            except BaseException:
                sys.excepthook(*sys.exc_info())
            finally:
                sys.stderr.flush()
                os._exit(code)
        os.waitpid(child, 0)
        printed.seek(0)
        found[path] = printed.read().decode()
print(json.dumps(found))
"""


@pytest.fixture(scope="module")
def by_tnp() -> dict[str, str]:
    """Program -> what it prints under ``python -m tnp``."""
    command = [sys.executable, "-c", RUN_ALL, *map(str, PROGRAMS)]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}  # a fork takes none of torch's threads along
    run = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=True)
    return dict(json.loads(run.stdout))


def test_a_dozen_programs_know_no_tnp() -> None:
    assert len(PROGRAMS) >= 12
    for path in PROGRAMS:
        text = path.read_text()
        assert "import numpy as np" in text and "tnp" not in text, path.name


@pytest.mark.skipif(not hasattr(os, "fork"), reason="forks")
@pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: path.stem)
def test_the_same_output(path: Path, by_tnp: dict[str, str]) -> None:
    run = subprocess.run([sys.executable, str(path)], cwd=ROOT, capture_output=True, text=True, check=True)
    assert len(run.stdout.splitlines()) > 1
    assert by_tnp[str(path)] == run.stdout
