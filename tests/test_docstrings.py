"""Every example in a docstring of tnp, and the one in the README, prints what stands there."""

from __future__ import annotations

import doctest
import importlib
import pkgutil
from pathlib import Path

import pytest

import tnp

pytestmark = pytest.mark.host  # elsewhere the device is part of the text

MODULES = ["tnp", *(module.name for module in pkgutil.walk_packages(tnp.__path__, "tnp."))]
OPTIONAL = {"tnp._array.numba_types": "numba"}
"""Module -> the library that alone imports it."""
README = Path(__file__).parent.parent / "README.md"


@pytest.mark.parametrize("name", MODULES)
def test_examples(name: str) -> None:
    if name in OPTIONAL:
        pytest.importorskip(OPTIONAL[name])
    result = doctest.testmod(importlib.import_module(name), optionflags=doctest.NORMALIZE_WHITESPACE)
    assert not result.failed


SPECIAL = [name for name in tnp.special.__all__ if type(getattr(tnp.special, name)) is tnp.special.SpecialFunction]


@pytest.mark.parametrize("name", SPECIAL)
def test_examples_of_special_functions(name: str) -> None:
    docstring = getattr(tnp.special, name).__doc__
    found = doctest.DocTestParser().get_doctest(docstring, {}, name, None, None)
    assert found.examples and not doctest.DocTestRunner().run(found).failed


def test_readme() -> None:
    result = doctest.testfile(str(README), module_relative=False)
    assert result.attempted and not result.failed
