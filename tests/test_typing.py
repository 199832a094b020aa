"""``py.typed``: mypy infers what public functions return, in a program that uses them."""

from __future__ import annotations

import ast
import inspect
import re
import subprocess
import sys
from pathlib import Path

import pytest

import tnp
from conformance.samples import samples

ROOT = Path(__file__).parent.parent

# name -> (call, what mypy reveals)
ARRAYS = {
    "zeros": "np.zeros(3)", "ones": "np.ones((2, 2))", "full": "np.full(2, 1.0)", "empty": "np.empty(1)",
    "eye": "np.eye(2)", "asarray": "np.asarray([1])", "array": "np.array([1])", "copy": "np.copy([1])",
    "from_dlpack": "np.from_dlpack(x)", "zeros_like": "np.zeros_like(x)", "x.T": "x.T", "x.copy": "x.copy()",
    "x.real": "x.real", "x.mT": "x.mT",
}  # fmt: skip


OVERLOADS = {
    "np.atleast_1d(x)": "A", "np.atleast_1d(x, x)": "tuple[A, ...]", "np.average(x, returned=True)": "tuple[A, A]",
    "np.divmod(x, x)": "tuple[A, A]", "divmod(x, 2)": "tuple[A, A]", "np.gradient(x, axis=0)": "A",
    "np.gradient(x)": "A | tuple[A, ...]", "np.indices((2,), sparse=True)": "tuple[A, ...]",
    "np.intersect1d(x, x, return_indices=True)": "tuple[A, A, A]", "np.mgrid[:2, :2]": "A",
    "np.linspace(0, 1, retstep=True)": "tuple[A, A | float]", "np.ogrid[:2, :2]": "tuple[A, ...]",
    "np.unique(x, return_counts=True)": "tuple[A, ...]", "np.unique(x, True)": "tuple[A, ...]",
    "np.where(x)": "tuple[A, ...]", "np.where(x, x, x)": "A", "np.linalg.qr(x, 'r')": "A",
    "np.linalg.svd(x, compute_uv=False)": "A", "np.real(1j)": "float", "np.trim_zeros([0, 1])": "list[int]",
    "np.stop_gradient([x])": "list[A]", "np.poly1d(x)(x)": "A", "np.random.randn(3)": "A | Any",
    "x + 1": "A", "1 - x": "A", "x @ x": "A", "x == x": "A", "-x": "A", "x ** 2": "A", "x[0]": "A",
    "next(iter(x))": "A", "x < 1": "A", "np.add.reduce(x)": "A", "np.random.default_rng().permuted(x)": "A",
}  # fmt: skip

ANY = {
    "load": "a file may hold any pickled object",
    "ndarray.device": "a torch.device, and tnp never imports torch",
    "ndarray.item": "a number, of which kind the dtype says",
    "ndarray.tolist": "numbers in lists, as many deep as there are axes",
}
"""Samples whose result mypy can't infer, and why."""

PYTREES = {
    "all_gather", "associative_scan", "jvp", "linearize", "map_fn", "pmax", "pmean", "pmin", "psum", "pure_callback",
    "vectorized_map", "vjp",
}  # fmt: skip
"""Functions that return containers of any kind: those they are given, or their function's."""

DEFINITIONS = """
import tempfile
import tnp as np
x = y = v = m = i = e = k = b = o = s = np.zeros(3)
"""


def called(name: str, code: str) -> str:
    """Return the function's call, or the attribute, in its sample, without the code around it."""
    tree = ast.parse(code)
    attribute = name.rpartition(".")[2]
    for node in ast.walk(tree):
        if not isinstance(node, (ast.Call, ast.Subscript, ast.Attribute)):
            continue
        of = node.func if isinstance(node, ast.Call) else node.value if isinstance(node, ast.Subscript) else node
        if not isinstance(of, ast.Attribute) or of.attr != attribute:
            continue
        if name.startswith("ndarray.") or ast.unparse(of) == f"np.{name}":
            return ast.unparse(node)
    raise AssertionError(f"the sample of {name} does not call it: {code}")


def revealed(lines: list[str], tmp_path: Path) -> list[str]:
    """Return the types that mypy reveals for expressions."""
    program = tmp_path / "program.py"
    program.write_text(DEFINITIONS + "".join(f"reveal_type({line})\n" for line in lines))
    # With the project's options, so that what mypy knows of the packages is in the cache that it reads for them, too.
    run = subprocess.run([sys.executable, "-m", "mypy", program], cwd=ROOT, capture_output=True, text=True)
    assert "error" not in run.stdout, run.stdout
    found = re.findall(r'Revealed type is "(.*)"', run.stdout)
    assert len(found) == len(lines), run.stdout + run.stderr
    return [each.replace("tnp._array.ndarray.ndarray", "A") for each in found]


def test_mypy_knows_what_functions_return(tmp_path: Path) -> None:
    pytest.importorskip("mypy")
    calls = {name: called(name, code) for name, code in samples().items() if code}
    found = revealed([*ARRAYS.values(), *OVERLOADS, *calls.values()], tmp_path)
    assert set(found[: len(ARRAYS)]) == {"A"}
    assert dict(zip(OVERLOADS, found[len(ARRAYS) :], strict=False)) == OVERLOADS
    results = dict(zip(calls, found[len(ARRAYS) + len(OVERLOADS) :], strict=True))
    assert {name for name, result in results.items() if result == "Any"} == set(ANY)
    drawn = {name for name, result in results.items() if result == "A | Any"}  # Python's numbers, without a size
    assert all(name.startswith("random.") for name in drawn)
    assert sum(result == "A" for result in results.values()) > 350


def test_every_function_says_what_it_returns() -> None:
    functions = {name: value for name in tnp.__all__ if inspect.isfunction(value := getattr(tnp, name))}
    assert len(functions) > 200
    ours = {name: value.__annotations__ for name, value in functions.items() if value.__module__.startswith("tnp")}
    assert not [name for name, annotations in ours.items() if "return" not in annotations]
    vague = {name for name, annotations in ours.items() if annotations["return"] == "Any"}
    assert vague == PYTREES | (set(ANY) & set(ours))


def test_the_marker_is_shipped() -> None:
    assert (ROOT / "tnp" / "py.typed").exists() and (ROOT / "backend_torch" / "py.typed").exists()
