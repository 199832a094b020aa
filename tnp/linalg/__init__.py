"""Linear algebra: ``numpy.linalg``, run by torch.

Layer: the public module. Decompositions, solvers and norms come from the chapters of those names; here are products,
and the Array API standard's spellings of functions that the main namespace has as well.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.linalg import LinAlgError

from tnp._core.base import ndarray, wrap, wrap_array
from tnp._core.convert import asarray, tensors_of
from tnp._core.errors import index_of
from tnp._core.numpy_version import NUMPY
from tnp._core.public import publish
from tnp._creation.filled import eye
from tnp._indexing import diagonals
from tnp._manipulation import rearranging
from tnp._manipulation.broadcasting import broadcast_to
from tnp._math import products
from tnp._math.products import dot
from tnp.linalg import _solvers
from tnp.linalg._decompositions import cholesky, eig, eigh, eigvals, eigvalsh, qr, svd, svdvals
from tnp.linalg._matrices import check_matrix, check_square
from tnp.linalg._norms import cond, det, matrix_norm, matrix_rank, norm, slogdet, vector_norm
from tnp.linalg._solvers import inv, lstsq, pinv, solve, tensorinv, tensorsolve

__all__ = [
    "LinAlgError", "cholesky", "cond", "cross", "det", "diagonal", "eig", "eigh", "eigvals", "eigvalsh", "inv", "lstsq",
    "matmul", "matrix_norm", "matrix_power", "matrix_rank", "matrix_transpose", "multi_dot", "norm", "outer", "pinv",
    "qr", "slogdet", "solve", "svd", "svdvals", "tensordot", "tensorinv", "tensorsolve", "trace", "vecdot",
    "vector_norm",
]  # fmt: skip

_CROSS_CHECKS = NUMPY < "2.5.0"  # from 2.5 on the main namespace's cross refuses two components itself


def matrix_power(a: Any, n: int) -> ndarray:
    """Power of a square matrix, by repeated squaring.

    Parameters
    ----------
    a : array_like
        Square matrices.
    n : int
        The exponent; of a negative one the inverse is raised.

    Returns
    -------
    ndarray

    Raises
    ------
    LinAlgError
        A matrix is not square, or is singular where ``n`` is negative.
    TypeError
        The exponent is not an integer.

    Notes
    -----
    Source: https://numpy.org/doc/stable/reference/generated/numpy.linalg.matrix_power.html

    Examples
    --------
    >>> import tnp as np
    >>> np.linalg.matrix_power([[1, 1], [0, 1]], 5)
    array([[1, 5],
           [0, 1]])
    """
    power = asarray(a)
    check_square(power.tensor)
    n = index_of(n, "exponent must be an integer")
    if n == 0:
        return broadcast_to(eye(power.shape[-1], dtype=power.dtype, device=power.device), power.shape).copy()
    if n < 0:
        power, n = _solvers.inv(power), -n
    result: Any = None
    while True:
        n, bit = divmod(n, 2)
        if bit:
            result = power if result is None else products.matmul(result, power)
        if not n:
            return result
        power = products.matmul(power, power)


def multi_dot(arrays: Sequence[Any], *, out: Any = None) -> ndarray:
    """Product of two or more matrices, in the order that takes the fewest multiplications.

    Parameters
    ----------
    arrays : sequence of array_like
        Matrices; the first may be a row vector and the last a column vector.
    out : ndarray, optional
        Where to put the result: an array of exactly its dtype and shape, in C order.

    Returns
    -------
    ndarray
        A scalar if both ends are vectors.

    Raises
    ------
    ValueError
        There are less than two arrays, or their shapes do not fit.
    LinAlgError
        An array in between is not a matrix.

    Notes
    -----
    Source: https://numpy.org/doc/stable/reference/generated/numpy.linalg.multi_dot.html

    Examples
    --------
    >>> import tnp as np
    >>> np.linalg.multi_dot([np.ones((2, 30)), np.ones((30, 4)), np.ones((4, 1))])
    array([[120.],
           [120.]])
    """
    if len(arrays) < 2:
        raise ValueError("Expecting at least two arrays.")
    if len(arrays) == 2:
        return dot(arrays[0], arrays[1], out)
    operands = [asarray(array) for array in arrays]
    first, last = operands[0].ndim == 1, operands[-1].ndim == 1
    if first:
        operands[0] = operands[0][None, :]
    if last:
        operands[-1] = operands[-1][:, None]
    for operand in operands:
        check_matrix(operand.tensor)
    splits = _cheapest_splits([operands[0].shape[0], *[operand.shape[1] for operand in operands]])

    def product(i: int, j: int) -> ndarray:
        if i == j:
            return operands[i]
        k = splits[i, j]
        whole = j - i == len(operands) - 1
        return dot(product(i, k), product(k + 1, j), out if whole else None)

    result = product(0, len(operands) - 1)
    if first and last:
        return wrap(result.tensor[0, 0])
    return result.ravel() if first or last else result


def _cheapest_splits(sizes: Sequence[int]) -> dict[tuple[int, int], int]:
    """Return the matrix after which to split the product of each run of matrices, for the fewest multiplications.

    Matrix ``i`` has shape ``(sizes[i], sizes[i + 1])``. Source: Cormen, Introduction to Algorithms, chapter 15.2.
    """
    count = len(sizes) - 1
    costs = {(i, i): 0 for i in range(count)}
    splits = {}
    for length in range(1, count):
        for i in range(count - length):
            j = i + length
            of_splits = [costs[i, k] + costs[k + 1, j] + sizes[i] * sizes[k + 1] * sizes[j + 1] for k in range(i, j)]
            costs[i, j] = min(*of_splits, of_splits[0])  # two at least: Dynamo supports no minimum of a list
            splits[i, j] = i + of_splits.index(costs[i, j])
    return splits


def outer(x1: Any, x2: Any, /) -> ndarray:
    """Outer product of two vectors.

    Parameters
    ----------
    x1, x2 : array_like
        One-dimensional.

    Returns
    -------
    ndarray
        ``out[i, j] = x1[i] * x2[j]``.

    Raises
    ------
    ValueError
        An operand is not one-dimensional.

    See Also
    --------
    tnp.outer : takes arrays of any shape

    Notes
    -----
    Source: https://numpy.org/doc/stable/reference/generated/numpy.linalg.outer.html

    Examples
    --------
    >>> import tnp as np
    >>> np.linalg.outer([1, 2], [3, 4])
    array([[3, 4],
           [6, 8]])
    """
    x1, x2 = asarray(x1), asarray(x2)
    if x1.ndim != 1 or x2.ndim != 1:
        raise ValueError(f"Input arrays must be one-dimensional, but they are {x1.ndim=} and {x2.ndim=}.")
    return products.outer(x1, x2)


def cross(x1: Any, x2: Any, /, *, axis: int = -1) -> ndarray:
    """Cross product of vectors of three components.

    Parameters
    ----------
    x1, x2 : array_like
        Vectors along an axis, the other axes broadcast.
    axis : int, optional
        The vectors' axis, by default the last.

    Returns
    -------
    ndarray

    Raises
    ------
    ValueError
        The vectors do not have three components.

    Notes
    -----
    Source: https://numpy.org/doc/stable/reference/generated/numpy.linalg.cross.html

    Examples
    --------
    >>> import tnp as np
    >>> np.linalg.cross([1, 2, 3], [4, 5, 6])
    array([-3,  6, -3])
    """
    if _CROSS_CHECKS:
        x1, x2 = map(wrap_array, tensors_of(x1, x2, check=lambda shape: shape[axis]))
        if x1.shape[axis] != 3 or x2.shape[axis] != 3:
            raise ValueError(
                "Both input arrays must be (arrays of) 3-dimensional vectors, "
                f"but they are {x1.shape[axis]} and {x2.shape[axis]} dimensional instead."
            )
    return products.cross(x1, x2, axis=axis)


def diagonal(x: Any, /, *, offset: int = 0) -> ndarray:
    """Diagonals of matrices.

    Parameters
    ----------
    x : array_like
        Matrices, in the last two axes.
    offset : int, optional
        Which diagonal: above the main one if positive, below it if negative.

    Returns
    -------
    ndarray
        A view.

    Raises
    ------
    ValueError
        The array has less than two dimensions.

    Notes
    -----
    Source: https://numpy.org/doc/stable/reference/generated/numpy.linalg.diagonal.html

    Examples
    --------
    >>> import tnp as np
    >>> np.linalg.diagonal([[1, 2], [3, 4]])
    array([1, 4])
    """
    return diagonals.diagonal(x, offset, -2, -1)


def trace(x: Any, /, *, offset: int = 0, dtype: Any = None) -> ndarray:
    """Sum of the diagonal of matrices.

    Parameters
    ----------
    x : array_like
        Matrices, in the last two axes.
    offset : int, optional
        Which diagonal: above the main one if positive, below it if negative.
    dtype : dtype_like, optional
        In which to sum; by default as in `tnp.sum`.

    Returns
    -------
    ndarray
        A scalar for one matrix.

    Raises
    ------
    ValueError
        The array has less than two dimensions.

    Notes
    -----
    Source: https://numpy.org/doc/stable/reference/generated/numpy.linalg.trace.html

    Examples
    --------
    >>> import tnp as np
    >>> np.linalg.trace([[1, 2], [3, 4]])
    np.int64(5)
    """
    return products.trace(x, offset, -2, -1, dtype)


def matmul(x1: Any, x2: Any, /) -> ndarray:
    """Matrix product of two arrays.

    Parameters
    ----------
    x1, x2 : array_like
        Matrices, or stacks of matrices whose leading axes are broadcast; a one-dimensional operand is a row on the left
        and a column on the right.

    Returns
    -------
    ndarray
        A scalar if both operands are one-dimensional.

    Raises
    ------
    ValueError
        The shapes do not fit.

    See Also
    --------
    tnp.matmul : has the options of a ufunc

    Notes
    -----
    Source: https://numpy.org/doc/stable/reference/generated/numpy.linalg.matmul.html

    Examples
    --------
    >>> import tnp as np
    >>> np.linalg.matmul([[1, 2], [3, 4]], [1, 1])
    array([3, 7])
    """
    return products.matmul(x1, x2)


def tensordot(x1: Any, x2: Any, /, *, axes: Any = 2) -> ndarray:
    """Sum of products over pairs of axes.

    Parameters
    ----------
    x1, x2 : array_like
    axes : int or pair of (int or sequence of int), optional
        The axes of ``x1`` and those of ``x2``; a number means the last of ``x1`` and the first of ``x2``.

    Returns
    -------
    ndarray
        The other axes of ``x1``, then those of ``x2``.

    Raises
    ------
    ValueError
        A pair of axes differs in length.

    Notes
    -----
    Source: https://numpy.org/doc/stable/reference/generated/numpy.linalg.tensordot.html

    Examples
    --------
    >>> import tnp as np
    >>> np.linalg.tensordot(np.ones((2, 3, 4)), np.ones((4, 3)), axes=([2, 1], [0, 1]))
    array([12., 12.])
    """
    return products.tensordot(x1, x2, axes)


def matrix_transpose(x: Any, /) -> ndarray:
    """Transpose of matrices: the last two axes swapped.

    Parameters
    ----------
    x : array_like
        Matrices, in the last two axes.

    Returns
    -------
    ndarray
        A view.

    Raises
    ------
    ValueError
        The array has less than two dimensions.

    Notes
    -----
    Source: https://numpy.org/doc/stable/reference/generated/numpy.linalg.matrix_transpose.html

    Examples
    --------
    >>> import tnp as np
    >>> np.linalg.matrix_transpose([[1, 2], [3, 4]])
    array([[1, 3],
           [2, 4]])
    """
    return rearranging.matrix_transpose(x)


def vecdot(x1: Any, x2: Any, /, *, axis: int = -1) -> ndarray:
    """Dot product of vectors along an axis; complex vectors on the left are conjugated.

    Parameters
    ----------
    x1, x2 : array_like
        Stacks of vectors of equal length, the other axes broadcast.
    axis : int, optional
        The vectors' axis in both operands, by default the last.

    Returns
    -------
    ndarray
        A scalar for two vectors.

    Raises
    ------
    ValueError
        The vectors' lengths differ, or an operand is a scalar.

    See Also
    --------
    tnp.vecdot : has the options of a ufunc

    Notes
    -----
    Source: https://numpy.org/doc/stable/reference/generated/numpy.linalg.vecdot.html

    Examples
    --------
    >>> import tnp as np
    >>> np.linalg.vecdot([[1.0, 2.0], [3.0, 4.0]], [1.0, 1.0])
    array([3., 7.])
    """
    is_last = axis.__class__ is int and axis == -1
    return products.vecdot(x1, x2) if is_last else products.vecdot(x1, x2, axis=axis)


publish(sys.modules[__name__], np.linalg)
