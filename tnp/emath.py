"""Functions whose results are complex where real ones do not exist: ``numpy.emath``.

Layer: owns when an argument becomes complex. That depends on its values: an accelerator is waited for.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from tnp._core.base import ndarray, wrap
from tnp._core.convert import tensor_of
from tnp._core.public import publish
from tnp._math import reductions
from tnp._math.logic import isreal
from tnp._ufunc import table

__all__ = ["arccos", "arcsin", "arctanh", "log", "log2", "log10", "logn", "power", "sqrt"]


def _complex(array: ndarray) -> ndarray:
    """The array as complex numbers: of single precision if no more is needed."""
    single = array.dtype in (np.float32, np.float16, np.int8, np.int16, np.uint8, np.uint16, np.complex64)
    return array.astype(np.complex64 if single else np.complex128)


def _array(x: Any) -> ndarray:
    return wrap(tensor_of(x))


def _if_negative(x: Any) -> ndarray:
    """The array, complex if a real number in it is negative."""
    array = _array(x)
    return _complex(array) if bool(reductions.any(isreal(array) & (array.real < 0))) else array


def _if_beyond_one(x: Any) -> ndarray:
    """The array, complex if a real number in it is larger than one or less than minus one."""
    array = _array(x)
    return _complex(array) if bool(reductions.any(isreal(array) & (abs(array) > 1))) else array


def sqrt(x: Any) -> Any:
    """Square root, complex for negative numbers.

    Parameters
    ----------
    x : array_like

    Returns
    -------
    ndarray
        Complex if one of the numbers is negative.

    Notes
    -----
    Source: https://numpy.org/doc/stable/reference/generated/numpy.emath.sqrt.html

    Examples
    --------
    >>> import tnp as np
    >>> np.emath.sqrt(np.asarray([-1.0, 4.0]))
    array([0.+1.j, 2.+0.j])
    """
    return table.sqrt(_if_negative(x))


def log(x: Any) -> Any:
    """Natural logarithm, complex for negative numbers.

    Parameters
    ----------
    x : array_like

    Returns
    -------
    ndarray
        Complex if one of the numbers is negative.

    Notes
    -----
    Source: https://numpy.org/doc/stable/reference/generated/numpy.emath.log.html

    Examples
    --------
    >>> import tnp as np
    >>> np.emath.log(np.asarray([-1.0, 1.0]))
    array([0.+3.14159265j, 0.+0.j        ])
    """
    return table.log(_if_negative(x))


def log10(x: Any) -> Any:
    """Logarithm to base 10, complex for negative numbers.

    Parameters
    ----------
    x : array_like

    Returns
    -------
    ndarray
        Complex if one of the numbers is negative.

    Notes
    -----
    Source: https://numpy.org/doc/stable/reference/generated/numpy.emath.log10.html

    Examples
    --------
    >>> import tnp as np
    >>> np.emath.log10(np.asarray([-10.0, 10.0]))
    array([1.+1.36437635j, 1.+0.j        ])
    """
    return table.log10(_if_negative(x))


def log2(x: Any) -> Any:
    """Logarithm to base 2, complex for negative numbers.

    Parameters
    ----------
    x : array_like

    Returns
    -------
    ndarray
        Complex if one of the numbers is negative.

    Notes
    -----
    Source: https://numpy.org/doc/stable/reference/generated/numpy.emath.log2.html

    Examples
    --------
    >>> import tnp as np
    >>> np.emath.log2(np.asarray([-2.0, 2.0]))
    array([1.+4.53236014j, 1.+0.j        ])
    """
    return table.log2(_if_negative(x))


def logn(n: Any, x: Any) -> Any:
    """Logarithm to base n, complex for negative numbers.

    Parameters
    ----------
    n : array_like
        The base.
    x : array_like

    Returns
    -------
    ndarray
        Complex if one of the numbers is negative.

    Notes
    -----
    Source: https://numpy.org/doc/stable/reference/generated/numpy.emath.logn.html

    Examples
    --------
    >>> import tnp as np
    >>> np.emath.logn(3, np.asarray([-9.0, 9.0]))
    array([2.+2.85960087j, 2.+0.j        ])
    """
    return table.log(_if_negative(x)) / table.log(_if_negative(n))


def power(x: Any, p: Any) -> Any:
    """Powers, complex for negative numbers; whole negative powers of integers are floats.

    Parameters
    ----------
    x : array_like
    p : array_like
        The exponents.

    Returns
    -------
    ndarray
        Complex if one of the numbers in ``x`` is negative.

    Notes
    -----
    Source: https://numpy.org/doc/stable/reference/generated/numpy.emath.power.html

    Examples
    --------
    >>> import tnp as np
    >>> np.emath.power(np.asarray([2, 4]), -2)
    array([0.25  , 0.0625])
    """
    exponent = _array(p)
    if bool(reductions.any(isreal(exponent) & (exponent.real < 0))):
        exponent = exponent * 1.0
    return table.power(_if_negative(x), exponent)


def arccos(x: Any) -> Any:
    """Inverse cosine, complex beyond -1 and 1.

    Parameters
    ----------
    x : array_like

    Returns
    -------
    ndarray
        Complex if one of the numbers is beyond.

    Notes
    -----
    Source: https://numpy.org/doc/stable/reference/generated/numpy.emath.arccos.html

    Examples
    --------
    >>> import tnp as np
    >>> np.emath.arccos(np.asarray([1.0, 2.0]))
    array([0.-0.j       , 0.-1.3169579j])
    """
    return table.arccos(_if_beyond_one(x))


def arcsin(x: Any) -> Any:
    """Inverse sine, complex beyond -1 and 1.

    Parameters
    ----------
    x : array_like

    Returns
    -------
    ndarray
        Complex if one of the numbers is beyond.

    Notes
    -----
    Source: https://numpy.org/doc/stable/reference/generated/numpy.emath.arcsin.html

    Examples
    --------
    >>> import tnp as np
    >>> np.emath.arcsin(np.asarray([0.0, 2.0]))
    array([0.        +0.j       , 1.57079633+1.3169579j])
    """
    return table.arcsin(_if_beyond_one(x))


def arctanh(x: Any) -> Any:
    """Inverse hyperbolic tangent, complex beyond -1 and 1.

    Parameters
    ----------
    x : array_like

    Returns
    -------
    ndarray
        Complex if one of the numbers is beyond.

    Notes
    -----
    Source: https://numpy.org/doc/stable/reference/generated/numpy.emath.arctanh.html

    Examples
    --------
    >>> import tnp as np
    >>> np.emath.arctanh(np.asarray([0.0, 2.0]))
    array([0.        +0.j        , 0.54930614+1.57079633j])
    """
    return table.arctanh(_if_beyond_one(x))


publish(sys.modules[__name__], np.emath)
