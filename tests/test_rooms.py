"""The rooms: which folder may import which, checked on every import and every attribute of an imported module.

Code under ``if TYPE_CHECKING`` never runs and does not count. An import inside a function counts.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
# From the bottom up: a room imports itself and those before it. Public modules that are one file are rooms, too.
ROOMS = {
    "tnp": [
        "_core", "_ufunc", "_manipulation", "_creation", "_indexing", "_math", "_sorting", "_statistics",
        "linalg", "fft", "_signal", "_io", "random", "polynomial", "special", "emath", "ctypeslib", "exceptions", "lib",
        "distributed", "_array", "_devices", "_transforms", "_functional", "_autograph", "_compile", "debug",
        "testing",
        "typing", "_program", "__main__",
    ],
    "backend_torch": ["torch_private", "tensors", "native", "autodiff", "kernels", "random", "graphs", "distributed"],
}  # fmt: skip


def module_name(path: Path) -> str:
    """Return ``a/b.py`` as ``a.b``, ``a/__init__.py`` as ``a``."""
    return ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


FILES = {module_name(path): path for package in ROOMS for path in sorted((ROOT / package).rglob("*.py"))}
OUTSIDE = {
    module_name(path): path for folder in ("conformance", "bench", "examples") for path in (ROOT / folder).rglob("*.py")
}
"""The modules of programs, which have no rooms, and no circles either."""


def running(tree: ast.AST) -> Iterator[ast.AST]:
    """Yield all nodes except those that only a type checker reads."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            for other in node.orelse:
                yield other
                yield from running(other)
        else:
            yield node
            yield from running(node)


def arrows(tree: ast.AST, modules: frozenset[str]) -> Iterator[tuple[str, int]]:
    """Yield the modules that a module needs, with the line: by import, by import_module, by attributes of a package."""
    bound: dict[str, str] = {}
    for node in running(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                bound[alias.asname or alias.name.partition(".")[0]] = (
                    alias.name if alias.asname else alias.name.partition(".")[0]
                )
                yield alias.name, node.lineno
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            for alias in node.names:
                whole = f"{node.module}.{alias.name}"
                if whole in modules:
                    bound[alias.asname or alias.name] = whole
                yield whole if whole in modules else node.module, node.lineno
        elif isinstance(node, ast.Call) and ast.unparse(node.func) in ("importlib.import_module", "import_module"):
            yield from ((a.value, node.lineno) for a in node.args if isinstance(a, ast.Constant))
    for node in running(tree):
        if isinstance(node, ast.Attribute):
            names = ast.unparse(node).split(".")
            if names[0] in bound:
                whole = ".".join((bound[names[0]], *names[1:]))
                if whole in modules:
                    yield whole, node.lineno


@cache
def graph() -> dict[str, dict[str, int]]:
    """Return module -> the project's modules that it needs, each with a line."""
    files = FILES | OUTSIDE
    modules = frozenset(files)
    found: dict[str, dict[str, int]] = {}
    for name, path in files.items():
        needed = dict(arrows(ast.parse(path.read_text()), modules))
        found[name] = {each: line for each, line in needed.items() if each in modules and each != name}
    return found


def room(module: str) -> tuple[str, str]:
    """Return a module's package, and its folder or, beside the folders, its file."""
    package, _, rest = module.partition(".")
    return package, rest.partition(".")[0]


def test_the_walker_sees_every_spelling() -> None:
    text = (
        "import a.b\nfrom a import c as d\nd.e.f()\nif TYPE_CHECKING:\n    import a.g\ndef f():\n    from a.h import i"
    )
    seen = {name for name, _ in arrows(ast.parse(text), frozenset({"a", "a.b", "a.c", "a.c.e", "a.g", "a.h"}))}
    assert seen == {"a.b", "a.c", "a.c.e", "a.h"}


@pytest.mark.parametrize("package", ROOMS)
def test_every_room_is_listed(package: str) -> None:
    here = {room(name)[1] for name in FILES if room(name)[0] == package} - {""}
    assert here == set(ROOMS[package])


@pytest.mark.parametrize("package", ROOMS)
def test_no_arrow_points_up(package: str) -> None:
    order = ROOMS[package]
    wrong = [
        f"{name}:{line} needs {needed}"
        for name, all_needed in graph().items()
        for needed, line in all_needed.items()
        if room(name)[0] == room(needed)[0] == package and room(name)[1]
        if not room(needed)[1] or order.index(room(needed)[1]) > order.index(room(name)[1])
    ]
    assert not wrong, "\n".join(wrong)


def test_no_module_needs_itself() -> None:
    """There is no circle: remove modules one by one, each when it needs none of the remaining; none may be left."""
    left = {name: set(needed) for name, needed in graph().items() if room(name)[1]}
    while free := [name for name, needed in left.items() if not needed & left.keys()]:
        for name in free:
            del left[name]
    assert not left


@pytest.mark.parametrize("name", [name for name in FILES if room(name)[0] == "tnp" and room(name)[1]])
def test_no_module_sees_all_of_tnp(name: str) -> None:
    lines = [ast.unparse(node) for node in running(ast.parse(FILES[name].read_text())) if isinstance(node, ast.Import)]
    assert "import tnp" not in lines


@pytest.mark.parametrize("path", sorted({path.parent for path in FILES.values()}), ids=str)
def test_every_room_says_what_lives_there(path: Path) -> None:
    assert ast.get_docstring(ast.parse((path / "__init__.py").read_text())), f"{path}/__init__.py has no docstring"
