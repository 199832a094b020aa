"""dtypes: NumPy's objects in public, the tensor's behind them.

Layer: owns which dtypes a user may name and what is said about the others.
"""

from __future__ import annotations

from typing import Any, cast

import numpy as np

import tnp
from backend_torch.tensors import dtypes as backend


class DtypeError(TypeError):
    """No tensor can carry a dtype."""


def tensor_dtype(dtype: Any) -> Any:
    """The torch dtype for anything ``numpy.dtype`` takes; TypeError for what no tensor can carry."""
    dtype = _as_dtype(dtype)
    try:
        return backend.to_torch[dtype]
    except KeyError:
        if not dtype.isnative and dtype.newbyteorder("=") in backend.to_torch:
            raise DtypeError(
                f"no tensor has the byte order of {dtype!r}: x.byteswap().tobytes() gives such bytes of an array x in "
                "this machine's order, and frombuffer and asarray read them"
            ) from None
        raise DtypeError(
            f"tnp arrays hold numbers and booleans: no tensor has dtype {dtype!r}; keep such data in numpy"
        ) from None


def _as_dtype(dtype: Any) -> np.dtype:
    if isinstance(dtype, np.dtype):
        return dtype
    is_class = isinstance(dtype, type) and issubclass(dtype, np.dtype)
    return cast(Any, dtype)() if is_class else numpy_dtype(dtype)


def numpy_dtype(dtype: Any) -> np.dtype:
    """``numpy.dtype``, which takes all that has a dtype for one, but for arrays of NumPy's: here, but for ours."""
    if isinstance(dtype, tnp._array.ndarray.ndarray) and type(dtype) is not tnp._array.ndarray.scalar:
        raise TypeError("Cannot construct a dtype from an array")
    return np.dtype(dtype)


def native(dtype: Any) -> np.dtype | None:
    """A dtype in this machine's byte order, of data that is read or of a reduction's numbers; None for nothing."""
    if dtype is None:
        return None
    dtype = _as_dtype(dtype)
    return backend.to_numpy[tensor_dtype(dtype if dtype.isnative else dtype.newbyteorder("="))]


def _dtype_of(value: Any) -> Any:
    """An array's dtype; dtypes and Python scalars as they are, for NumPy to judge."""
    if hasattr(value, "dtype") and not isinstance(value, (type, np.ndarray, np.generic)):
        return tnp.asarray(value).dtype
    return value


def result_type(*arrays_and_dtypes: Any) -> np.dtype:
    """The dtype of what an operation of these operands gives.

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
    return np.can_cast(_dtype_of(from_), numpy_dtype(to) if isinstance(to, tnp._array.ndarray.ndarray) else to, casting)


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
    array = a if isinstance(a, (bool, int, float, complex)) else tnp.asarray(a)
    if isinstance(array, tnp.ndarray):
        return array.dtype if array.ndim else np.min_scalar_type(tnp.asnumpy(array))
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
