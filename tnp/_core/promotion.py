"""Promotion and casting rules: NumPy itself computes them.

Layer: owns the public functions about dtypes. ``dtypes`` knows what a tensor can carry.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tnp._core.base import SCALARS, ndarray, number
from tnp._core.convert import asarray, asnumpy
from tnp._core.dtypes import numpy_dtype


def _dtype_of(value: Any) -> Any:
    """Return an array's dtype; return dtypes and Python scalars unchanged, for NumPy to judge."""
    if type(value) is number:
        return value.weak(0)
    if hasattr(value, "dtype") and not issubclass(type(value), (type, np.ndarray, np.generic)):
        return asarray(value).dtype
    return value


def result_type(*arrays_and_dtypes: Any) -> np.dtype:
    """Return the dtype of an operation's result for these operands.

    Parameters
    ----------
    *arrays_and_dtypes : array_like or dtype_like
        Arrays and NumPy scalars count with their dtypes, also 0-d ones; Python scalars take the others'.

    Returns
    -------
    numpy.dtype

    Raises
    ------
    TypeError
        The operands have no common dtype.

    Notes
    -----
    Source: https://numpy.org/doc/stable/reference/generated/numpy.result_type.html

    Examples
    --------
    >>> import tnp as np
    >>> np.result_type(np.ones(2, np.float32), 1.0)
    dtype('float32')
    >>> np.result_type(np.int8, np.uint8)
    dtype('int16')
    """
    return np.result_type(*map(_dtype_of, arrays_and_dtypes))


def can_cast(from_: Any, to: Any, casting: Any = "safe") -> bool:
    """Whether values of one dtype can be cast to another under a rule.

    Parameters
    ----------
    from_ : dtype_like or array
        What is cast; an array counts with its dtype.
    to : dtype_like
        What it is cast to.
    casting : {'no', 'equiv', 'safe', 'same_kind', 'unsafe'}, optional
        The rule.

    Returns
    -------
    bool

    Raises
    ------
    TypeError
        ``from_`` is a Python int, float or complex, which have no dtype, or ``to`` is an array.

    Notes
    -----
    Source: https://numpy.org/doc/stable/reference/generated/numpy.can_cast.html

    Examples
    --------
    >>> import tnp as np
    >>> np.can_cast(np.int32, np.int64)
    True
    >>> np.can_cast(np.ones(2), np.int64)
    False
    """
    return np.can_cast(_dtype_of(from_), numpy_dtype(to) if isinstance(to, ndarray) else to, casting)


def min_scalar_type(a: Any) -> np.dtype:
    """The smallest dtype that holds a scalar's value; an array's own dtype.

    Parameters
    ----------
    a : array_like
        The value of a 0-d array is looked at.

    Returns
    -------
    numpy.dtype

    Notes
    -----
    Source: https://numpy.org/doc/stable/reference/generated/numpy.min_scalar_type.html

    Examples
    --------
    >>> import tnp as np
    >>> np.min_scalar_type(10)
    dtype('uint8')
    >>> np.min_scalar_type(np.asarray([10, 20]))
    dtype('int64')
    """
    array = a if isinstance(a, (bool, int, float, complex)) and type(a) not in SCALARS else asarray(a)
    if isinstance(array, ndarray):
        return array.dtype if array.ndim else np.min_scalar_type(asnumpy(array))
    return np.min_scalar_type(array)


def common_type(*arrays: Any) -> type:
    """The inexact scalar type that all arrays can be cast to.

    Parameters
    ----------
    *arrays : ndarray
        Of numbers; integers count as float64.

    Returns
    -------
    type

    Raises
    ------
    TypeError
        An array holds booleans.

    Notes
    -----
    Source: https://numpy.org/doc/stable/reference/generated/numpy.common_type.html

    Examples
    --------
    >>> import tnp as np
    >>> np.common_type(np.ones(2, np.float32), np.arange(2)) is np.float64
    True
    """
    return np.common_type(*[np.empty(0, array.dtype) for array in arrays])
