"""NumPy's helpers for ctypes: C functions read and write the memory of tnp's arrays.

Layer: owns which arrays they take and return. Types, checks and libraries are NumPy's.
"""

from __future__ import annotations

import functools
from typing import Any

from numpy import ctypeslib as numpys
from numpy.ctypeslib import as_ctypes_type as as_ctypes_type
from numpy.ctypeslib import c_intp as c_intp
from numpy.ctypeslib import load_library as load_library

from tnp._core.base import ndarray
from tnp._core.convert import asarray

__all__ = ["as_array", "as_ctypes", "as_ctypes_type", "c_intp", "load_library", "ndpointer"]


def _shared(value: Any) -> Any:
    """Return NumPy's view of an array; an array that has none raises, as C would write to a copy."""
    return value.__array__(copy=False) if isinstance(value, ndarray) else value


def as_array(obj: Any, shape: int | tuple[int, ...] | None = None) -> ndarray:
    """Return an array over the memory of a ctypes array or pointer.

    Parameters
    ----------
    obj : ctypes array or pointer
    shape : int or tuple of int, optional
        The shape of what a pointer points to.

    Returns
    -------
    ndarray
        Shares memory with ``obj``.

    Raises
    ------
    TypeError
        A pointer without ``shape``.

    Notes
    -----
    Source: https://numpy.org/doc/stable/reference/routines.ctypeslib.html

    Examples
    --------
    >>> import ctypes
    >>> import tnp as np
    >>> np.ctypeslib.as_array((ctypes.c_double * 3)(1, 2, 3))
    array([1., 2., 3.])
    """
    return asarray(numpys.as_array(obj, shape))


def as_ctypes(obj: Any) -> Any:
    """Return a ctypes object over an array's memory.

    Parameters
    ----------
    obj : ndarray
        In C order, writeable, on the CPU.

    Returns
    -------
    ctypes object
        Shares memory with ``obj``.

    Raises
    ------
    TypeError
        The array is read-only, or not in C order.

    Notes
    -----
    Source: https://numpy.org/doc/stable/reference/routines.ctypeslib.html

    Examples
    --------
    >>> import tnp as np
    >>> x = np.zeros(3)
    >>> np.ctypeslib.as_ctypes(x)[1] = 5
    >>> x
    array([0., 5., 0.])
    """
    return numpys.as_ctypes(_shared(obj))


def ndpointer(dtype: Any = None, ndim: int | None = None, shape: Any = None, flags: Any = None) -> type:
    """Return a type for ``argtypes`` and ``restype`` of C functions, which checks and passes an array's memory.

    Parameters
    ----------
    dtype : dtype, optional
    ndim : int, optional
    shape : tuple of int, optional
    flags : str or sequence of str, optional
        Such as ``"C_CONTIGUOUS"``.

    Returns
    -------
    type
        A ctypes type, whose results are tnp's arrays.

    Raises
    ------
    TypeError
        A call has an array with another dtype, rank, shape or order, or something else.

    Notes
    -----
    The memory must be the CPU's.

    Source: https://numpy.org/doc/stable/reference/routines.ctypeslib.html

    Examples
    --------
    >>> import ctypes
    >>> import tnp as np
    >>> memset = ctypes.CDLL(None).memset
    >>> memset.argtypes = [np.ctypeslib.ndpointer(np.float64, flags="C"), ctypes.c_int, ctypes.c_size_t]
    >>> x = np.ones(3)
    >>> _ = memset(x, 0, 16)
    >>> x
    array([0., 0., 1.])
    """
    return _pointer(numpys.ndpointer(dtype, ndim, shape, flags))


@functools.cache
def _pointer(theirs: Any) -> type:
    """Derive a type that takes and returns tnp's arrays from one of NumPy's."""

    class Pointer(theirs):
        @classmethod
        def from_param(cls, obj: Any) -> Any:
            return super().from_param(_shared(obj))

        @property
        def contents(self) -> Any:
            return asarray(super().contents)

    Pointer.__name__ = Pointer.__qualname__ = theirs.__name__
    return Pointer
