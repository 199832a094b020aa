"""A plugin of pytest that puts tnp in the place of the namespaces that SciPy and scikit-learn test.

Both have a list of namespaces and no place to add one. SciPy's is the parameters of its fixture ``xp``, and the names
that its marks of tests may have; scikit-learn's is a function that its test modules import.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from typing import Any

import pytest

import tnp

NAME = tnp.__name__


def pytest_configure() -> None:
    """Let scikit-learn's tests run for tnp alone."""
    if importlib.util.find_spec("sklearn") is not None:
        from sklearn.utils import _array_api

        _array_api.yield_namespaces = _names


def _names(include_numpy_namespaces: bool = True) -> Iterator[str]:
    yield NAME


def pytest_plugin_registered(plugin: Any) -> None:
    """Let SciPy's marks know tnp: a test for NumPy alone is skipped."""
    if getattr(plugin, "__name__", "") == "scipy.conftest":
        plugin.xp_known_backends.add(NAME)


@pytest.hookimpl(tryfirst=True)
def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Let SciPy's fixture have tnp as its only parameter."""
    parameter = pytest.param(tnp, id=NAME, marks=pytest.mark.array_api_backends)
    for fixture in metafunc._arg2fixturedefs.get("xp", ()):
        fixture.params, fixture.ids = (parameter,), None  # type: ignore[misc]
