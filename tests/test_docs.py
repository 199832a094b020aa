"""Every example in the documentation's pages prints what stands there."""

from __future__ import annotations

import doctest
import re
from pathlib import Path

import pytest

import tnp

FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
DOCS = Path(__file__).parent.parent / "docs"
PAGES = [page for page in sorted(DOCS.rglob("*.md")) if ">>>" in page.read_text() and "_build" not in page.parts]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(DOCS)))
def test_examples(page: Path) -> None:
    result = doctest.testfile(str(page), module_relative=False, optionflags=FLAGS)
    assert result.attempted and not result.failed


def test_every_function_is_in_the_reference() -> None:
    pages = [page.read_text() for page in (DOCS / "reference").glob("*.md")]
    listed = {line.strip() for page in pages for line in page.splitlines() if line.startswith("   ")}
    own = [name for name in tnp.__all__ if (getattr(getattr(tnp, name), "__module__", "") or "").startswith("tnp")]
    assert own and set(own) - listed == {"__array_namespace_info__"}


def test_every_page_is_listed_by_its_section() -> None:
    """Every section lists its pages, which the left column shows; only one section is a single page."""
    listed = {
        page: [
            line for block in re.findall(r"```{toctree}(.*?)```", page.read_text(), re.DOTALL) for line in block.split()
        ]
        for page in DOCS.rglob("*.md")
        if "_build" not in page.parts
    }
    sections = [DOCS / f"{name}.md" for name in listed[DOCS / "index.md"] if name != ":hidden:"]
    assert [page.name for page in sections if not listed[page]] == ["adding-a-function.md"]
