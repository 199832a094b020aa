"""``import tnp`` stays light. The tests count modules, because times depend on the machine."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
OWN = {"backend_torch", "tnp"}
# Modules of others that tnp may add to those of torch and numpy: ml_dtypes, array-api-compat, a few of the standard
# library's.
MOST = 20
HEAVY = {
    "IPython", "jax", "matplotlib", "pytest", "rich", "scipy", "sympy", "tensorflow",
    "torch._dynamo", "torch._functorch", "torch._inductor", "torch.distributed", "torch.export", "torch.onnx",
}  # fmt: skip

SCRIPT = """
import json, sys
import numpy, torch
before = set(sys.modules)
import tnp
print(json.dumps(sorted(set(sys.modules) - before)))
"""


@pytest.fixture(scope="module")
def added() -> list[str]:
    """Return the modules that ``import tnp`` adds to a fresh interpreter with torch and numpy."""
    run = subprocess.run([sys.executable, "-c", SCRIPT], cwd=ROOT, capture_output=True, text=True, check=True)
    return list(json.loads(run.stdout))


def test_import_adds_few_modules(added: list[str]) -> None:
    assert "tnp" in added
    others = [name for name in added if name.partition(".")[0] not in OWN]
    assert len(others) <= MOST, f"import tnp adds {len(others)} modules: {', '.join(others)}"


def test_import_adds_no_heavy_module(added: list[str]) -> None:
    wrong = [name for name in added if any(name == heavy or name.startswith(f"{heavy}.") for heavy in HEAVY)]
    assert not wrong, f"import tnp loads {', '.join(wrong)}"


QUIET = "import tnp as np; np.compile(lambda x: x + np.random.rand(3), backend='eager')(np.ones(3))"


def test_nothing_is_said() -> None:
    """``import tnp`` logs nothing: torch logs some fallbacks, and users would see that."""
    run = subprocess.run([sys.executable, "-c", QUIET], cwd=ROOT, capture_output=True, text=True)
    assert (run.returncode, run.stdout, run.stderr) == (0, "", "")


# A program in an environment with the run-time dependencies only: optional packages can't be imported.
WITHOUT_OPTIONAL = """
import sys
sys.modules["ml_dtypes"] = None
import numpy, torch
import tnp as np
x = np.asarray([1.5, 2.0])
assert x.dtype == float and (2.0 * x).tolist() == [3.0, 4.0], x
for dtype in (bool, "int8", "uint16", "uint64", "float16", "float32", "float64", "complex64", "complex128"):
    given = numpy.ones((2, 3), dtype)
    assert np.asarray(given).dtype == given.dtype and np.shares_memory(np.asarray(given), given), dtype
    assert (np.asarray(given) + 1).sum().item() == (given + 1).sum(), dtype
try:
    np.asarray(torch.ones(2, dtype=torch.bfloat16))
except TypeError as error:
    print(error)
"""


def test_optional_packages_are_optional() -> None:
    run = subprocess.run([sys.executable, "-c", WITHOUT_OPTIONAL], cwd=ROOT, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    assert "bfloat16" in run.stdout
