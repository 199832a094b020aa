"""Assertions for tests: NumPy's own, which read the values of CPU arrays in place.

Layer: owns the conversion where NumPy looks at the type. An array on an accelerator raises, as it does wherever NumPy
reads one, unless ``tnp.allow_host_copies`` allows it.
"""

from typing import Any

import numpy as np
import numpy.testing

from numpy.testing import (  # isort: skip
    IgnoreException, KnownFailureException, SkipTest, TestCase, assert_, assert_allclose, assert_array_almost_equal,
    assert_array_almost_equal_nulp, assert_array_compare, assert_array_equal, assert_array_less, assert_array_max_ulp,
    assert_no_gc_cycles, assert_no_warnings, assert_raises, assert_raises_regex, assert_string_equal, assert_warns,
    break_cycles, build_err_msg, clear_and_catch_warnings, decorate_methods, measure, print_assert_equal, rundocs,
    runstring, tempdir, temppath, verbose,
)  # fmt: skip

from tnp._core.base import ndarray
from tnp._core.trees import replaced

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


def _host(value: Any) -> Any:
    """Arrays of ours as NumPy's, in containers too: these assertions look at the type."""
    return replaced(lambda leaf: np.asarray(leaf)[()] if isinstance(leaf, ndarray) else leaf, value)


def assert_equal(actual: Any, desired: Any, err_msg: str = "", verbose: bool = True, *, strict: bool = False) -> None:
    """Raise AssertionError unless two objects are equal, arrays in containers too.

    Parameters
    ----------
    actual, desired : object
    err_msg : str, optional
    verbose : bool, optional
    strict : bool, optional
        Arrays are of the same dtype and shape.

    Notes
    -----
    Source: https://numpy.org/doc/stable/reference/generated/numpy.testing.assert_equal.html

    Examples
    --------
    >>> import tnp as np
    >>> np.testing.assert_equal({"a": np.arange(2)}, {"a": [0, 1]})
    """
    __tracebackhide__ = True
    numpy.testing.assert_equal(_host(actual), _host(desired), err_msg, verbose, strict=strict)


def assert_almost_equal(actual: Any, desired: Any, decimal: int = 7, err_msg: str = "", verbose: bool = True) -> None:
    """Raise AssertionError unless two objects are equal to some decimals.

    Parameters
    ----------
    actual, desired : array_like
    decimal : int, optional
    err_msg : str, optional
    verbose : bool, optional

    Notes
    -----
    Source: https://numpy.org/doc/stable/reference/generated/numpy.testing.assert_almost_equal.html

    Examples
    --------
    >>> import tnp as np
    >>> np.testing.assert_almost_equal(np.asarray([0.12345]), [0.12349], decimal=3)
    """
    __tracebackhide__ = True
    numpy.testing.assert_almost_equal(_host(actual), _host(desired), decimal, err_msg, verbose)


def assert_approx_equal(
    actual: Any, desired: Any, significant: int = 7, err_msg: str = "", verbose: bool = True
) -> None:
    """Raise AssertionError unless two numbers are equal to some significant digits.

    Parameters
    ----------
    actual, desired : scalar
    significant : int, optional
    err_msg : str, optional
    verbose : bool, optional

    Notes
    -----
    Source: https://numpy.org/doc/stable/reference/generated/numpy.testing.assert_approx_equal.html

    Examples
    --------
    >>> import tnp as np
    >>> np.testing.assert_approx_equal(np.asarray(0.12345), 0.12349, significant=4)
    """
    __tracebackhide__ = True
    numpy.testing.assert_approx_equal(_host(actual), _host(desired), significant, err_msg, verbose)


def __getattr__(name: str) -> Any:
    """What only some versions of ``numpy.testing`` have."""
    return getattr(numpy.testing, name)
