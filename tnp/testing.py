"""Assertions for tests: NumPy's own, which read the values of CPU arrays in place.

Layer: owns nothing. An array on an accelerator raises, as it does wherever NumPy reads one, unless
``tnp.allow_host_copies`` allows it.
"""

from typing import Any

import numpy.testing
from numpy.testing import (
    IgnoreException,
    KnownFailureException,
    SkipTest,
    TestCase,
    assert_,
    assert_allclose,
    assert_almost_equal,
    assert_approx_equal,
    assert_array_almost_equal,
    assert_array_almost_equal_nulp,
    assert_array_compare,
    assert_array_equal,
    assert_array_less,
    assert_array_max_ulp,
    assert_equal,
    assert_no_gc_cycles,
    assert_no_warnings,
    assert_raises,
    assert_raises_regex,
    assert_string_equal,
    assert_warns,
    break_cycles,
    build_err_msg,
    clear_and_catch_warnings,
    decorate_methods,
    measure,
    print_assert_equal,
    rundocs,
    runstring,
    tempdir,
    temppath,
    verbose,
)

__all__ = [
    "IgnoreException",
    "KnownFailureException",
    "SkipTest",
    "TestCase",
    "assert_",
    "assert_allclose",
    "assert_almost_equal",
    "assert_approx_equal",
    "assert_array_almost_equal",
    "assert_array_almost_equal_nulp",
    "assert_array_compare",
    "assert_array_equal",
    "assert_array_less",
    "assert_array_max_ulp",
    "assert_equal",
    "assert_no_gc_cycles",
    "assert_no_warnings",
    "assert_raises",
    "assert_raises_regex",
    "assert_string_equal",
    "assert_warns",
    "break_cycles",
    "build_err_msg",
    "clear_and_catch_warnings",
    "decorate_methods",
    "measure",
    "print_assert_equal",
    "rundocs",
    "runstring",
    "tempdir",
    "temppath",
    "verbose",
]


def __getattr__(name: str) -> Any:
    """What only some versions of ``numpy.testing`` have."""
    return getattr(numpy.testing, name)
