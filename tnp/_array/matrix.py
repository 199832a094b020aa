"""Names that NumPy discourages: matrices, whose ``*`` is the matrix product, and row_stack.

Layer: owns ``numpy.matrix`` and its constructors. The class derives from ndarray as a program's own classes do.
"""
# mypy: disable-error-code="override, misc, return-value, attr-defined"
# NumPy's matrix methods take fewer arguments than its array's; functions return the class that they are given.

from __future__ import annotations

import ast
import os
import sys
from typing import Any

import numpy as np
from numpy import isscalar

from backend_torch.tensors import memory
from tnp._array.host_classes import Derived, of_host
from tnp._core import host_fallback
from tnp._core.base import ndarray, scalar, subclass
from tnp._core.convert import array
from tnp._core.derived_classes import finalised, plain
from tnp._core.dtypes import DtypeError
from tnp._core.errors import warn
from tnp._manipulation.joining import concatenate, vstack
from tnp._math import reductions
from tnp._math.products import dot
from tnp._ufunc.table import conjugate

NOT_RECOMMENDED = (
    "the matrix subclass is not the recommended way to represent matrices or deal with linear algebra (see "
    "https://docs.scipy.org/doc/numpy/user/numpy-for-matlab-users.html). Please adjust your code to use regular "
    "ndarray."
)


class matrix(subclass, metaclass=Derived):
    """An array that always has two dimensions: ``*`` is the matrix product, ``**`` the matrix power.

    Parameters
    ----------
    data : array_like or str
        The elements; in a string ``;`` ends a row: ``'1 2; 3 4'``. A vector becomes a row.
    dtype : dtype_like, optional
        The elements' dtype, by default that of the data.
    copy : bool, default True
        False shares the data's memory where it can.

    Raises
    ------
    ValueError
        The data have more than two dimensions, or the rows of a string different lengths.

    Warns
    -----
    PendingDeprecationWarning
        Always: NumPy recommends arrays and ``@``.

    Notes
    -----
    Source: https://numpy.org/doc/stable/reference/generated/numpy.matrix.html

    Examples
    --------
    >>> import tnp as np
    >>> m = np.matrix("1 2; 3 4")
    >>> m * m
    matrix([[ 7, 10],
            [15, 22]])
    >>> m.sum(axis=1)
    matrix([[3],
            [7]])
    """

    __module__ = "tnp"
    __array_priority__ = 10.0
    _has_outer = False  # NumPy's matrix has none either
    _indexing = False  # during indexing, which sets the shape afterwards

    def __new__(cls, data: Any, dtype: Any = None, copy: bool = True) -> matrix:
        warn(NOT_RECOMMENDED, PendingDeprecationWarning)
        if isinstance(data, matrix):
            wanted = data.dtype if dtype is None else np.dtype(dtype)
            return data if wanted == data.dtype and not copy else data.astype(wanted)
        if isinstance(data, str):
            data = _numbers(data)
        elif not isinstance(data, (ndarray, np.ndarray)) and np.ndim(data) > 2:
            raise ValueError("matrix must be 2-dimensional")
        try:
            return array(data, dtype, copy=copy or None, order="K").view(cls)
        except DtypeError as error:
            return host_fallback.refused(error, _made_by_host, (of_host(cls), data, dtype, copy), {})

    def __array_finalize__(self, source: Any, /) -> None:
        if getattr(source, "_indexing", False):
            return
        shape = self.shape
        if len(shape) > 2:
            shape = tuple([length for length in shape if length > 1])
        if len(shape) > 2:
            raise ValueError("shape too large to be a matrix.")
        if len(self.shape) != 2:
            self._set_shape((1,) * (2 - len(shape)) + shape)

    def __getitem__(self, key: Any) -> Any:
        found = ndarray.__getitem__(plain(self), key)
        if isinstance(found, scalar) or not found.ndim:
            return found[()]
        if found.ndim == 1:
            column = isinstance(key, (tuple, list, ndarray)) and len(key) > 1 and isscalar(key[1])
            found = found[:, None] if column else found[None]
        self._indexing = True
        try:
            return finalised(type(self), found.tensor, self)
        finally:
            self._indexing = False

    def __setitem__(self, key: Any, value: Any) -> None:
        found = self[key]
        if isinstance(found, matrix) and memory.same_storage(found.tensor, self.tensor):
            plain(found)[...] = value  # a column takes a column
        else:
            plain(self)[key] = value

    # Products.

    def __mul__(self, other: Any) -> Any:
        if isinstance(other, (list, tuple, np.ndarray)) or (
            isinstance(other, ndarray) and not isinstance(other, scalar)
        ):
            return dot(self, asmatrix(other))
        return dot(self, other) if isscalar(other) or not hasattr(other, "__rmul__") else NotImplemented

    def __rmul__(self, other: Any) -> Any:
        return dot(other, self)

    def __imul__(self, other: Any) -> Any:
        self[:] = self * other
        return self

    def __pow__(self, other: Any, modulo: None = None) -> Any:
        from tnp.linalg import matrix_power  # imported on first use, as tnp.linalg is

        return matrix_power(self, other)

    def __rpow__(self, other: Any, modulo: None = None) -> Any:
        return NotImplemented

    def __ipow__(self, other: Any) -> Any:
        self[:] = self**other
        return self

    # Reductions keep both axes; reductions of all elements are scalars.

    def sum(self, axis: Any = None, dtype: Any = None, out: Any = None) -> Any:
        """Sum of all elements, or along an axis."""
        return _collapsed(ndarray.sum(self, axis, dtype, out, keepdims=True), axis)

    def prod(self, axis: Any = None, dtype: Any = None, out: Any = None) -> Any:
        """Product of all elements, or along an axis."""
        return _collapsed(ndarray.prod(self, axis, dtype, out, keepdims=True), axis)

    def mean(self, axis: Any = None, dtype: Any = None, out: Any = None) -> Any:
        """Mean of all elements, or along an axis."""
        return _collapsed(ndarray.mean(self, axis, dtype, out, keepdims=True), axis)

    def std(self, axis: Any = None, dtype: Any = None, out: Any = None, ddof: float = 0) -> Any:
        """Standard deviation of all elements, or along an axis."""
        return _collapsed(ndarray.std(self, axis, dtype, out, ddof, keepdims=True), axis)

    def var(self, axis: Any = None, dtype: Any = None, out: Any = None, ddof: float = 0) -> Any:
        """Variance of all elements, or along an axis."""
        return _collapsed(ndarray.var(self, axis, dtype, out, ddof, keepdims=True), axis)

    def any(self, axis: Any = None, out: Any = None) -> Any:
        """Whether any element is true, of all or along an axis."""
        return _collapsed(ndarray.any(self, axis, out, keepdims=True), axis)

    def all(self, axis: Any = None, out: Any = None) -> Any:
        """Whether all elements are true, of all or along an axis."""
        return _collapsed(ndarray.all(self, axis, out, keepdims=True), axis)

    def max(self, axis: Any = None, out: Any = None) -> Any:
        """Maximum of all elements, or along an axis."""
        return _collapsed(ndarray.max(self, axis, out, keepdims=True), axis)

    def min(self, axis: Any = None, out: Any = None) -> Any:
        """Minimum of all elements, or along an axis."""
        return _collapsed(ndarray.min(self, axis, out, keepdims=True), axis)

    def ptp(self, axis: Any = None, out: Any = None) -> Any:
        """Maximum minus minimum of all elements, or along an axis."""
        return _aligned(reductions.ptp(self, axis, out), axis)

    def argmax(self, axis: Any = None, out: Any = None) -> Any:
        """Index of the maximum of all elements, or along an axis."""
        return _aligned(ndarray.argmax(self, axis, out), axis)

    def argmin(self, axis: Any = None, out: Any = None) -> Any:
        """Index of the minimum of all elements, or along an axis."""
        return _aligned(ndarray.argmin(self, axis, out), axis)

    # As an array, and other matrices.

    @property
    def A(self) -> ndarray:
        """The array of two dimensions; a view."""
        return plain(self)

    @property
    def A1(self) -> ndarray:
        """The elements in an array of one dimension."""
        return plain(self).ravel()

    @property
    def H(self) -> matrix:
        """The conjugate transpose."""
        return conjugate(self.T) if self.dtype.kind == "c" else self.T

    @property
    def I(self) -> matrix:  # noqa: E743
        """The inverse; the pseudo-inverse of a matrix that is not square."""
        from tnp.linalg import inv, pinv

        rows, columns = self.shape
        return asmatrix(inv(self) if rows == columns else pinv(self))

    getA = A.fget
    getA1 = A1.fget
    getH = H.fget
    getI = I.fget

    def getT(self) -> matrix:
        """The transpose; a view."""
        return self.T


def _made_by_host(cls: type, data: Any, dtype: Any, copy: bool) -> Any:
    """Return NumPy's own matrix, or one of a class derived from it, of what no tensor can hold."""
    return np.array(data, dtype, copy=copy or None, order="K").view(cls)


matrix._of_host = np.matrix


def asmatrix(data: Any, dtype: Any = None) -> matrix:
    """Return data as a matrix, without a copy where possible.

    Parameters
    ----------
    data : array_like or str
    dtype : dtype_like, optional

    Returns
    -------
    matrix
        Over the memory of an array of the dtype.

    Notes
    -----
    Source: https://numpy.org/doc/stable/reference/generated/numpy.asmatrix.html

    Examples
    --------
    >>> import tnp as np
    >>> x = np.array([[1, 2], [3, 4]])
    >>> m = np.asmatrix(x)
    >>> x[0, 0] = 5
    >>> m
    matrix([[5, 2],
            [3, 4]])
    """
    return matrix(data, dtype=dtype, copy=False)


def bmat(obj: Any, ldict: Any = None, gdict: Any = None) -> matrix:
    """A matrix of blocks: nested lists of arrays, or their names in a string.

    Parameters
    ----------
    obj : str or array_like
        ``'A, B; C, D'`` or ``[[A, B], [C, D]]``.
    ldict, gdict : dict, optional
        Dictionaries in which the names of a string are looked up, in this order; by default the caller's variables.

    Returns
    -------
    matrix

    Raises
    ------
    NameError
        A name of the string is in neither.

    Notes
    -----
    Source: https://numpy.org/doc/stable/reference/generated/numpy.bmat.html

    Examples
    --------
    >>> import tnp as np
    >>> A, B = np.asmatrix("1 1; 1 1"), np.asmatrix("2; 2")
    >>> np.bmat("A, B; A, B")
    matrix([[1, 1, 2],
            [1, 1, 2],
            [1, 1, 2],
            [1, 1, 2]])
    """
    if isinstance(obj, str):
        if gdict is None:
            frame = _callers()
            ldict, gdict = frame.f_locals, frame.f_globals
        return named_blocks(obj, ldict or {}, gdict)
    if isinstance(obj, (ndarray, np.ndarray)):
        return matrix(obj)
    if any(isinstance(row, (ndarray, np.ndarray)) for row in obj):
        return matrix(concatenate(obj, axis=-1))
    return matrix(concatenate([concatenate(row, axis=-1) for row in obj], axis=0))


_HERE = os.path.join(os.path.dirname(os.path.dirname(__file__)), "")


def _callers() -> Any:
    """Return the frame of the program that called."""
    frame: Any = sys._getframe(2)
    while frame.f_code.co_filename.startswith(_HERE):
        frame = frame.f_back
    return frame


def named_blocks(text: str, local: Any, glob: Any) -> matrix:
    """Return the matrix of a string of names."""

    def block(name: str) -> Any:
        if name not in local and name not in glob:
            raise NameError(f"name {name!r} is not defined")
        return local[name] if name in local else glob[name]

    rows = [[block(name) for name in row.replace(",", " ").split()] for row in text.split(";")]
    return matrix(concatenate([concatenate(row, axis=-1) for row in rows], axis=0))


def row_stack(tup: Any, *, dtype: Any = None, casting: str = "same_kind") -> ndarray:
    """`vstack`, under a name that NumPy deprecates.

    Parameters
    ----------
    tup : sequence of array_like
    dtype : dtype_like, optional
        The result's dtype, by default the one that holds all arrays'.
    casting : {'same_kind', 'no', 'equiv', 'safe', 'unsafe'}, optional
        Which casts are allowed.

    Returns
    -------
    ndarray
        A copy, at least two-dimensional.

    Warns
    -----
    DeprecationWarning
        Always.

    Notes
    -----
    Source: https://numpy.org/doc/stable/reference/generated/numpy.row_stack.html

    Examples
    --------
    >>> import tnp as np
    >>> np.row_stack(([1, 2], [3, 4]))
    array([[1, 2],
           [3, 4]])
    """
    warn("`row_stack` alias is deprecated. Use `np.vstack` directly.", DeprecationWarning)
    return vstack(tup, dtype=dtype, casting=casting)


def _numbers(text: str) -> list[list[Any]]:
    """Parse the rows of numbers in a string."""
    lines = text.replace("[", "").replace("]", "").split(";")
    rows = [[ast.literal_eval(word) for word in line.replace(",", " ").split()] for line in lines]
    if any(len(row) != len(rows[0]) for row in rows):
        raise ValueError("Rows not the same size.")
    return rows


def _collapsed(result: Any, axis: Any) -> Any:
    """Return a reduction that kept both axes; a reduction of all elements becomes its only element."""
    return result[0, 0] if axis is None else result


def _aligned(result: Any, axis: Any) -> Any:
    """Return a reduction that has become a row; a reduction along the rows becomes a column."""
    if axis is None:
        return result if isinstance(result, scalar) else result[0, 0]
    if axis not in (0, 1):
        raise ValueError("unsupported axis")
    return result.T if axis == 1 else result
