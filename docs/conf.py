"""Sphinx: the documentation, built with warnings as errors (``make docs``)."""

from typing import Any

import numpydoc.numpydoc

import tnp

project = "tnp"
author = "the authors of tnp"
copyright = "2026, the authors of tnp"
version = release = tnp.__version__

extensions = ["sphinx.ext.autodoc", "sphinx.ext.autosummary", "numpydoc", "myst_nb", "sphinx_design"]
myst_enable_extensions = ["colon_fence", "dollarmath"]
nb_execution_mode = "cache"
nb_execution_raise_on_error = True
nb_execution_timeout = 300
autosummary_generate = True
suppress_warnings = ["ref.ref", "ref.doc"]  # NumPy's own docstrings, which ufuncs have, name pages of NumPy's
numpydoc_show_class_members = False
templates_path = ["_templates"]
exclude_patterns = ["_build", ".jupyter_cache", "jupyter_execute"]

html_theme = "pydata_sphinx_theme"
html_title = f"tnp {release}"
html_theme_options = {"show_nav_level": 2, "navigation_with_keys": False}
# The left column lists the pages of a section; these two have none.
html_sidebars = {"index": [], "adding-a-function": []}

_signature = numpydoc.numpydoc.mangle_signature


def _signature_of_functions(app: Any, what: str, *arguments: Any) -> Any:
    """numpydoc's, but not of callable instances such as ufuncs: Sphinx fails on a signature for these."""
    return None if what == "data" else _signature(app, what, *arguments)


numpydoc.numpydoc.mangle_signature = _signature_of_functions
