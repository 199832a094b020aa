"""The page that compares tnp with JAX, TensorFlow and torch.func: each row's example prints what the page says."""

from __future__ import annotations

import doctest
import re
from pathlib import Path
from typing import Any

import pytest

TEXT = (Path(__file__).parent.parent / "docs" / "guides" / "beside-jax.md").read_text()
ROWS = re.findall(r"^\| ([^|]+) \| `(.+?)` \| `(.+?)` \|(.*)\|$", TEXT, re.MULTILINE)


@pytest.fixture(scope="module")
def names(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    file = tmp_path_factory.mktemp("page") / "page.py"  # from which functions of the page have a source
    file.write_text("".join([example.source for example in doctest.DocTestParser().get_examples(TEXT)]))
    known: dict[str, Any] = {}
    exec(compile(file.read_text(), str(file), "exec"), known)
    return known


def test_every_row_has_an_example() -> None:
    tables = [line for line in TEXT.splitlines() if line.startswith("| ") and not line.startswith("| Feature")]
    assert len(tables) == len(ROWS) > 30
    assert all(others.count("|") == 2 and "" not in map(str.strip, others.split("|")) for *_, others in ROWS)


@pytest.mark.parametrize(("feature", "example", "result", "others"), ROWS, ids=[row[0] for row in ROWS])
def test_example(feature: str, example: str, result: str, others: str, names: dict[str, Any]) -> None:
    found = str(eval(example, names))
    assert re.sub(r"\s+", " ", found) == result
