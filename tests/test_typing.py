"""``py.typed``: mypy knows what public functions return, seen from a program that uses them."""

from __future__ import annotations

import inspect
import re
import subprocess
import sys
from pathlib import Path

import pytest

import tnp

ROOT = Path(__file__).parent.parent

# name -> (call, what mypy reveals)
ARRAYS = {
    "zeros": "np.zeros(3)", "ones": "np.ones((2, 2))", "full": "np.full(2, 1.0)", "empty": "np.empty(1)",
    "eye": "np.eye(2)", "asarray": "np.asarray([1])", "array": "np.array([1])", "copy": "np.copy([1])",
    "from_dlpack": "np.from_dlpack(x)", "zeros_like": "np.zeros_like(x)", "x.T": "x.T", "x.copy": "x.copy()",
    "x.real": "x.real", "x.mT": "x.mT",
}  # fmt: skip


def revealed(lines: list[str], tmp_path: Path) -> list[str]:
    """What mypy reveals of these expressions."""
    program = tmp_path / "program.py"
    program.write_text("import tnp as np\nx = np.zeros(3)\n" + "".join(f"reveal_type({line})\n" for line in lines))
    command = [sys.executable, "-m", "mypy", "--config-file=", f"--cache-dir={tmp_path / 'cache'}"]
    run = subprocess.run(
        [*command, "--follow-imports=silent", "--ignore-missing-imports", str(program)],
        cwd=ROOT, capture_output=True, text=True,
    )  # fmt: skip
    found = re.findall(r'Revealed type is "(.*)"', run.stdout)
    assert len(found) == len(lines), run.stdout + run.stderr
    return found


def test_arrays_are_arrays_to_mypy(tmp_path: Path) -> None:
    pytest.importorskip("mypy")
    assert set(revealed(list(ARRAYS.values()), tmp_path)) == {"tnp._array.ndarray"}


def test_every_function_says_what_it_returns() -> None:
    functions = {name: value for name in tnp.__all__ if inspect.isfunction(value := getattr(tnp, name))}
    assert len(functions) > 200
    missing = [name for name, value in functions.items() if "return" not in value.__annotations__]
    assert not [name for name in missing if functions[name].__module__.startswith("tnp")]


def test_the_marker_is_shipped() -> None:
    assert (ROOT / "tnp" / "py.typed").exists() and (ROOT / "backend_torch" / "py.typed").exists()
