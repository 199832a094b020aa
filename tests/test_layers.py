"""The layer rules, checked on the syntax trees: which package may import which, and that no code injects names.

Also: only one room uses torch's private names.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
OUTSIDE = {"bench", "conformance", "tests"}
# The modules that a package must not import.
FORBIDDEN = {"tnp": {"torch"} | OUTSIDE, "backend_torch": {"tnp"} | OUTSIDE}
INJECTORS = {"exec", "eval", "globals", "locals", "setattr", "vars"}
ALLOWED = {
    # What may run what it has written, as dataclasses and namedtuple do: the call of a compiled
    # function, of which closures over closures would be the larger half. It puts names into a dictionary of its own.
    ("tnp/_compile/call_codegen.py", "written", "exec"),
    # The public functions have the parameters of tnp's, as dataclasses' __init__ has the fields: one that passes *args
    # on takes three times as long.
    ("tnp/_core/public.py", "_wrapped", "exec"),
    # Inductor's code, which a process before wrote to the cache, in a dictionary of its own.
    ("backend_torch/torch_private/inductor_code.py", "put_together", "exec"),
    # The call of an elementwise kernel, generated as the call of a compiled function is, in a dictionary of its own.
    ("backend_torch/graphs/elementwise_code.py", "runner", "exec"),
    # The array's classes are completed above the chapters.
    ("tnp/_core/base.py", "complete", "setattr"),
    ("tnp/_core/base.py", "complete", "vars"),
    # An attribute of NumPy's iterator is set, which is no name of ours.
    ("tnp/_indexing/iteration.py", "_of_host", "setattr"),
    # A field of a syntax tree is set; or an attribute of the user's, as a block of theirs set it.
    ("tnp/_autograph/names.py", "put", "setattr"),
    ("tnp/_autograph/operators.py", "set_attribute", "setattr"),
    # What a program sets of a module of torch's, while a trace shows a stand-in for it.
    ("backend_torch/torch_private/light_imports.py", "__setattr__", "setattr"),
    # A patch of torch, which goes again.
    ("backend_torch/torch_private/patches.py", "replaced_attribute", "setattr"),
}
# The only room that may use torch's private names; its manifest lists each.
PRIVATE = Path("backend_torch/torch_private")
# Public names with an underscore, of Python, NumPy and named tuples.
MEANT = {
    "_CopyMode", "_asdict", "_fields", "_getframe", "_get_running_loop", "_implementation", "_register_atexit",
    "_replace", "_slotnames", "_theirs",
}  # fmt: skip
FILES = sorted(path.relative_to(ROOT) for package in FORBIDDEN for path in (ROOT / package).rglob("*.py"))


def imports(tree: ast.AST) -> Iterator[str]:
    """Yield the top-level package of every absolute import in ``tree``, at any depth."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            yield node.module.partition(".")[0]
        elif isinstance(node, ast.Call) and ast.unparse(node.func) in ("importlib.import_module", "__import__"):
            yield from (a.value.partition(".")[0] for a in node.args if isinstance(a, ast.Constant))


def calls(tree: ast.AST, inside: str = "") -> Iterator[tuple[str, str]]:
    """Yield, for every call of a bare name in ``tree``, the innermost function around it, and the name."""
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


def is_private(dotted: str) -> bool:
    return any(part.startswith("_") and not part.startswith("__") for part in dotted.split("."))


@cache
def own_names() -> frozenset[str]:
    """Return the names that the project defines: functions, classes, variables, attributes of ``self`` and slots."""
    found: set[str] = set()
    for path in FILES:
        for node in ast.walk(ast.parse((ROOT / path).read_text())):
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
                found.add(node.name)
            elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                found.add(node.id)
            elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
                if isinstance(node.value, ast.Name) and node.value.id == "self":
                    found.add(node.attr)
            elif isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__slots__":
                found.update(ast.literal_eval(node.value))
    return frozenset(found | {path.stem for path in FILES} | {path.parent.name for path in FILES})


def private_words(tree: ast.Module) -> Iterator[str]:
    """Yield torch's private names in a module: imports, attribute chains from torch, and ``.name`` of any object.

    The last are attributes that the project does not name itself, also as strings that getattr and hasattr are given.
    A dotted name may be a string, too: that of a module.
    Operators, ``torch.ops.aten._to_copy`` and the like, are what graphs consist of, and no private words.
    """
    operators = {"ops", "aten", "_aten"}
    constants = dict(_constants(tree))
    for node in ast.walk(tree):
        if isinstance(node, (ast.Constant, ast.JoinedStr)):
            text = _string(node, constants)
            if re.fullmatch(r"torch(\.\w+)+", text) and is_private(text):
                yield text
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name.startswith("torch") and is_private(alias.name))
        elif isinstance(node, ast.ImportFrom) and not node.level and (node.module or "").partition(".")[0] == "torch":
            names = [f"{node.module}.{alias.name}" for alias in node.names]
            yield from filter(is_private, names)
        elif isinstance(node, ast.Call) and ast.unparse(node.func) in ("getattr", "hasattr"):
            name = node.args[1]
            if isinstance(name, ast.Constant) and isinstance(name.value, str) and is_private(name.value):
                if not operators & set(ast.unparse(node.args[0]).split(".")) and name.value not in own_names() | MEANT:
                    yield f".{name.value}"
    inner = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute):
            root, *parts = _chain(node)
            if operators & {root, *parts}:
                continue
            if root == "torch":
                if id(node) not in inner and is_private(".".join(parts)):
                    yield ".".join((root, *parts))
            elif is_private(node.attr) and node.attr not in own_names() | MEANT:
                yield f".{node.attr}"


def _constants(tree: ast.Module) -> Iterator[tuple[str, str]]:
    """Yield the name and the value of each string that a module names."""
    for node in tree.body:
        if isinstance(node, ast.Assign):
            target, value = node.targets[0], node.value
            pairs = [(target, value)]
            if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
                pairs = list(zip(target.elts, value.elts, strict=True))
            yield from [(ast.unparse(name), _string(each, {})) for name, each in pairs]


def _string(node: ast.expr, constants: dict[str, str]) -> str:
    """The text of a string; what is filled into it is known if it is one of the module's own constants."""
    if isinstance(node, ast.JoinedStr):
        return "".join([_string(each, constants) for each in node.values])
    if isinstance(node, ast.FormattedValue):
        return constants.get(ast.unparse(node.value), " ")
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""


def _chain(node: ast.expr) -> list[str]:
    """``a.b.c`` as its names; of an attribute of anything else ``""`` and the names."""
    if isinstance(node, ast.Attribute):
        return [*_chain(node.value), node.attr]
    return [node.id if isinstance(node, ast.Name) else ""]


def test_the_walker_sees_private_words() -> None:
    text = (
        "import torch._refs\nfrom torch._C import a\nfrom torch.fx import _b, c\ntorch._d.e.f()\n"
        "x.g()._cdata\nhasattr(y, '_schema')\ntorch.ops.aten._to_copy.default\naten._unique\nself.h\n"
        "I, J = 'torch._i', 'torch.j'\nk(f'{I}.k', f'{J}.k', 'see torch._l')\n"
    )
    words = {"torch._refs", "torch._C.a", "torch.fx._b", "torch._d.e.f", "._cdata", "._schema", "torch._i"}
    assert set(private_words(ast.parse(text))) == {*words, "torch._i.k"}


@pytest.mark.parametrize("path", FILES, ids=str)
def test_private_words_of_torch_stand_in_one_room(path: Path) -> None:
    found = set() if path.parent == PRIVATE else set(private_words(ast.parse((ROOT / path).read_text())))
    assert not found, f"{path} says {', '.join(sorted(found))}"


@pytest.mark.parametrize(("path", "inside", "name"), sorted(ALLOWED))
def test_an_exception_is_used(path: str, inside: str, name: str) -> None:
    assert [call for call in calls(ast.parse((ROOT / path).read_text())) if call[1] == name] == [(inside, name)]


def readings(tree: ast.AST) -> Iterator[str]:
    """Yield the comparisons and searches in a module that read the text of an exception, or its arguments."""
    errors, texts = set(), set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ExceptHandler) and node.name:
            errors.add(node.name)
        elif isinstance(node, ast.arg) and node.annotation is not None:
            if ast.unparse(node.annotation).endswith(("Error", "Exception")):
                errors.add(node.arg)

    def is_text(node: ast.AST) -> bool:
        if isinstance(node, ast.Call):
            return ast.unparse(node.func) in ("str", "repr") and errors >= set(map(ast.unparse, node.args)) > set()
        if isinstance(node, ast.FormattedValue):
            return ast.unparse(node.value) in errors
        if isinstance(node, ast.Attribute):
            return node.attr == "args" and ast.unparse(node.value) in errors
        return isinstance(node, ast.Name) and node.id in texts

    def has_text(node: ast.AST) -> bool:
        return any(map(is_text, ast.walk(node)))

    for node in ast.walk(tree):
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            if is_text(node.value) or (isinstance(node.value, ast.JoinedStr) and has_text(node.value)):
                texts.add(node.targets[0].id)
    searches = {"endswith", "find", "fullmatch", "index", "match", "search", "startswith"}
    for node in ast.walk(tree):
        is_search = isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in searches
        if (is_search or isinstance(node, ast.Compare)) and has_text(node):
            yield ast.unparse(node)


def test_the_walker_sees_what_reads_an_error() -> None:
    text = (
        "try: f()\nexcept ValueError as error:\n  'a' in str(error)\n  said = f'{error}'\n  said.startswith('b')\n"
        "  error.args[0] == 'c'\n  error.code == 1\n  print(str(error))\ndef g(e: Exception): 'd' in repr(e)"
    )
    found = {"'a' in str(error)", "said.startswith('b')", "error.args[0] == 'c'", "'d' in repr(e)"}
    assert set(readings(ast.parse(text))) == found


@pytest.mark.parametrize("path", FILES, ids=str)
def test_no_text_of_an_error_decides(path: Path) -> None:
    """One module asks what an error says, and never of an error that the program raised."""
    found = list(readings(ast.parse((ROOT / path).read_text())))
    assert bool(found) == (path == PRIVATE / "messages.py"), f"{path}: {'; '.join(found)}"


def test_every_folder_is_a_package() -> None:
    folders = {path.parent for path in FILES}
    assert not [str(folder) for folder in folders if not (ROOT / folder / "__init__.py").exists()], "left out of wheels"
