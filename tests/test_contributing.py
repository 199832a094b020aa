"""CONTRIBUTING.md shows a real function: each line that it quotes is in the file that it names."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PAGE = (ROOT / "CONTRIBUTING.md").read_text()
HOPS = [
    (re.findall(r"in `([\w/]+\.py)`", PAGE[: block.start()])[-1], block.group(1))
    for block in re.finditer(r"```python\n(.*?)```", PAGE, re.DOTALL)
]


def test_the_function_is_followed_through_both_layers_and_its_test() -> None:
    assert {path.partition("/")[0] for path, _ in HOPS} == {"backend_torch", "tnp", "tests", "conformance"}


@pytest.mark.parametrize(("path", "shown"), HOPS, ids=[path for path, _ in HOPS])
def test_what_is_shown_is_there(path: str, shown: str) -> None:
    text = (ROOT / path).read_text()  # a name is a word of a line
    parts = [line if path != "tnp/__init__.py" else line.strip() for line in shown.splitlines()]
    assert not [part for part in parts if not re.search(rf"(^| ){re.escape(part)}( |$)", text, re.MULTILINE)]


def test_it_is_one_page() -> None:
    assert len(PAGE.splitlines()) <= 100
