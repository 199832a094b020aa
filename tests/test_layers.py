"""The layer rule, walked with ast: who may import whom, and that no name is injected.

And where torch's private words may stand.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
OUTSIDE = {"bench", "conformance", "tests"}
# What a package may not import.
FORBIDDEN = {"tnp": {"torch"} | OUTSIDE, "backend_torch": {"tnp"} | OUTSIDE}
INJECTORS = {"exec", "eval", "globals", "locals", "setattr", "vars"}
ALLOWED = {
    # The one function that may run what it has written, as dataclasses and namedtuple do: the call of a compiled
    # function, of which closures over closures would be the larger half. It puts names into a dictionary of its own.
    ("tnp/_compile/call_codegen.py", "written", "exec"),
    # The array's classes are completed above the chapters.
    ("tnp/_core/base.py", "complete", "setattr"),
    ("tnp/_core/base.py", "complete", "vars"),
    # A patch of torch, which goes again.
    ("backend_torch/torch_private/patches.py", "replaced_attribute", "setattr"),
}
# torch's private words for transforms and modes, each in the one file that a new torch may break.
PRIVATE = {
    "torch._C._functorch": "backend_torch/torch_private/functorch.py",
    "_DisableFuncTorch": "backend_torch/torch_private/functorch.py",
    "torch.utils._mode_utils": "backend_torch/torch_private/modes.py",
    "_torch_dispatch_stack": "backend_torch/torch_private/modes.py",
    "_push_mode": "backend_torch/torch_private/modes.py",
    "_pop_mode": "backend_torch/torch_private/modes.py",
}
FILES = sorted(path.relative_to(ROOT) for package in FORBIDDEN for path in (ROOT / package).rglob("*.py"))


def imports(tree: ast.AST) -> Iterator[str]:
    """The top-level package of every absolute import in ``tree``, wherever it stands."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            yield node.module.partition(".")[0]
        elif isinstance(node, ast.Call) and ast.unparse(node.func) in ("importlib.import_module", "__import__"):
            yield from (a.value.partition(".")[0] for a in node.args if isinstance(a, ast.Constant))


def calls(tree: ast.AST, inside: str = "") -> Iterator[tuple[str, str]]:
    """For every call of a bare name in ``tree`` the innermost function that it stands in, and the name."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            yield inside, node.func.id
        yield from calls(node, node.name if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) else inside)


def test_walker_sees_every_spelling() -> None:
    tree = ast.parse("import torch.nn\ndef f():\n  from tnp.fft import fft\n  __import__('bench.x')\nvars(m)['a'] = 1")
    assert set(imports(tree)) == {"torch", "tnp", "bench"}
    assert ("", "vars") in set(calls(tree))
    assert set(calls(ast.parse("class A:\n def f(self):\n  def g():\n   return exec('')"))) == {("g", "exec")}


def test_both_packages_are_found() -> None:
    assert {path.parts[0] for path in FILES} == set(FORBIDDEN)


@pytest.mark.parametrize("path", FILES, ids=str)
def test_imports_follow_the_layers(path: Path) -> None:
    wrong = FORBIDDEN[path.parts[0]] & set(imports(ast.parse((ROOT / path).read_text())))
    assert not wrong, f"{path} imports {', '.join(sorted(wrong))}"


@pytest.mark.parametrize("path", FILES, ids=str)
def test_no_name_is_injected(path: Path) -> None:
    found = set(calls(ast.parse((ROOT / path).read_text())))
    wrong = {name for inside, name in found if name in INJECTORS and (path.as_posix(), inside, name) not in ALLOWED}
    assert not wrong, f"{path} calls {', '.join(sorted(wrong))}"


@pytest.mark.parametrize("word", PRIVATE)
def test_a_private_word_of_torch_stands_in_one_file(word: str) -> None:
    assert [path.as_posix() for path in FILES if word in (ROOT / path).read_text()] == [PRIVATE[word]]


@pytest.mark.parametrize(("path", "inside", "name"), sorted(ALLOWED))
def test_an_exception_is_used(path: str, inside: str, name: str) -> None:
    assert [call for call in calls(ast.parse((ROOT / path).read_text())) if call[1] == name] == [(inside, name)]


def test_every_folder_is_a_package() -> None:
    folders = {path.parent for path in FILES}
    assert not [str(folder) for folder in folders if not (ROOT / folder / "__init__.py").exists()], "left out of wheels"
