"""The manifest lists what the room uses of torch's private names, no more and no less, and all of it is there."""

from __future__ import annotations

import ast
import importlib
import inspect
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

from backend_torch.torch_private.manifest import ROWS, Row
from tests.test_layers import own_names, private_words

ROOT = Path(__file__).parents[3]
ROOM = ROOT / "backend_torch" / "torch_private"
FILES = sorted(path.stem for path in ROOM.glob("*.py") if path.stem != "manifest")


def listed(row: Row) -> set[str]:
    """The names as `private_words` gives them: what is read off an object is ``.name``."""
    return {f".{name.partition(':')[2]}" if ":" in name else name for name in row.names.split()}


def names_in_strings(tree: ast.Module) -> Iterator[str]:
    """Yield private names that a module writes as strings or passes by keyword, for an object to have them."""
    for node in ast.walk(tree):
        text = node.arg if isinstance(node, ast.keyword) else node.value if isinstance(node, ast.Constant) else None
        if isinstance(text, str) and re.fullmatch(r"_[A-Za-z]\w*[A-Za-z0-9]", text) and text not in own_names():
            yield f".{text}"


@pytest.mark.parametrize("file", FILES)
def test_what_is_used_is_listed(file: str) -> None:
    tree = ast.parse((ROOM / f"{file}.py").read_text())
    used = {*private_words(tree), *names_in_strings(tree)}
    rows = [listed(row) for row in ROWS if row.file == file]
    assert used == set().union(*rows)
    assert sum(map(len, rows)) == len(used), "a name is listed twice"


def test_what_is_patched_is_listed() -> None:
    """A module that patches says what and for whom."""
    patching = {file for file in FILES if re.search(r"\b(?<!def )replaced_\w+\(", (ROOM / f"{file}.py").read_text())}
    assert patching <= {row.file for row in ROWS if row.patched}


def found(name: str) -> Any:
    """What a dotted name stands for: of a module as much as can be imported, of that the attributes."""
    parts = name.split(".")
    for count in range(len(parts), 0, -1):
        try:
            value: Any = importlib.import_module(".".join(parts[:count]))
        except ImportError:
            continue
        for part in parts[count:]:
            value = getattr(value, part)
        return value
    raise AttributeError(name)


def is_needed(row: Row) -> bool:
    version = tuple(map(int, torch.__version__.split(".")[:2]))
    limit = tuple(map(int, row.torch.lstrip("<>=").split(".")))
    return version < limit if row.torch.startswith("<") else version >= limit


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row.file}: {row.why[:40]}")
def test_torch_has_what_is_listed(row: Row) -> None:
    if not is_needed(row):
        pytest.skip(f"for torch {row.torch}")
    for name in row.names.split():
        owner, _, attribute = name.partition(":")
        if not attribute:
            found(name)
        elif owner != "*":
            value = found(owner)
            assert hasattr(value, attribute) or f"self.{attribute}" in inspect.getsource(value), name


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row.file}: {row.why[:40]}")
def test_a_row_says_all(row: Row) -> None:
    assert row.file in FILES and row.names and row.why and row.test
    assert not row.link or row.link.startswith("https://github.com/pytorch/pytorch/")
    path, _, name = row.test.partition("::")
    tree = ast.parse((ROOT / path).read_text())
    assert not name or name in {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}, row.test
