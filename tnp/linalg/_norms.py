"""Numbers that describe a matrix: norms, condition, rank, determinant.

Layer: owns what the orders of a norm mean and which arrays have one. All but the Euclidean norm are made of tnp's own
reductions.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.linalg import LinAlgError

from backend_torch.autodiff import autodiff
from backend_torch.kernels import linalg as kernels
from backend_torch.native import heads
from backend_torch.tensors import interop, memory
from backend_torch.tensors.casting import cast
from tnp._core.base import ndarray, wrap, wrap_array
from tnp._core.convert import tensor_of
from tnp._core.dtypes import tensor_dtype
from tnp._core.errors import normalize_axes, normalize_axis
from tnp._core.numpy_version import NUMPY
from tnp._indexing.selection import where
from tnp._manipulation.shape import expand_dims
from tnp._math.reductions import count_nonzero
from tnp._ufunc.reduction import kept
from tnp._ufunc.table import absolute, isnan, reciprocal
from tnp.linalg._decompositions import svd
from tnp.linalg._matrices import is_empty, matrices, square_matrices

Tensor = Any
_ANY_COND = NUMPY >= "2.5.4"  # cond of a matrix that is not finite is NaN or inf; it was an error where it needs an SVD


class SlogdetResult(NamedTuple):
    """The result of ``slogdet``."""

    sign: ndarray
    logabsdet: ndarray


def norm(x: Any, ord: Any = None, axis: Any = None, keepdims: bool = False) -> ndarray:
    """Norm of vectors or matrices.

    Parameters
    ----------
    x : array_like
        Without an axis it is a vector or a matrix if ``ord`` is given, else of any shape.
    ord : int, float, inf, -inf, 'fro' or 'nuc', optional
        For vectors: p of the p-norm, 0 for the number of elements that are not zero, the largest (inf) or smallest
        (-inf) magnitude. For matrices: the largest (1) or smallest (-1) sum of magnitudes of a column, of a row (inf,
        -inf), the largest (2) or smallest (-2) singular value, their sum ('nuc'), or the root of the sum of squares
        ('fro'). By default the root of the sum of squares.
    axis : int or pair of int, optional
        The axis of the vectors, or the two of the matrices.
    keepdims : bool, optional
        Keep the axes, with length one.

    Returns
    -------
    ndarray
        A scalar if no axis is left.

    Raises
    ------
    ValueError
        There is no such norm, or more axes than two.
    AxisError
        The array has no such axis.

    Notes
    -----
    Where a norm is zero, so is its gradient, as that of ``torch.linalg.norm``; NaN if it is of singular values.

    Source: https://numpy.org/doc/stable/reference/generated/numpy.linalg.norm.html

    Examples
    --------
    >>> import tnp as np
    >>> np.linalg.norm([3.0, 4.0])
    np.float64(5.0)
    >>> np.linalg.norm([[1.0, -7.0], [2.0, 3.0]], 1, axis=(0, 1))
    np.float64(10.0)
    """
    if (found := heads.norm(x, ord, axis, keepdims)) is not None:
        return found
    tensor = _inexact(tensor_of(x))
    ndim = tensor.dim()
    if axis is None:
        if ord is None or (ndim == 2 and ord in ("f", "fro")) or (ndim == 1 and ord == 2):
            return wrap(kernels.euclidean(tensor, None, bool(keepdims)))
        axis = tuple(range(ndim))
    elif not isinstance(axis, tuple):
        axis = _one_axis(axis)
    if len(axis) == 1:
        _check_order(ord)
        return _of_vectors(tensor, ord, (normalize_axis(axis[0], ndim),), keepdims)
    if len(axis) == 2:
        rows, columns = [normalize_axis(one, ndim) for one in axis]
        if rows == columns:
            raise ValueError("Duplicate axes given.")
        return _of_matrices(tensor, ord, rows, columns, keepdims)
    raise ValueError("Improper number of dimensions to norm.")


def _one_axis(axis: Any) -> tuple[int]:
    try:
        return (int(axis),)
    except Exception as error:
        raise TypeError("'axis' must be None, an integer or a tuple of integers") from error


def _inexact(tensor: Tensor) -> Tensor:
    return tensor if tensor.is_floating_point() or tensor.is_complex() else cast(tensor, tensor_dtype(float))


def _check_order(ord: Any) -> None:
    if isinstance(ord, str):
        raise ValueError(f"Invalid norm order '{ord}' for vectors")


def _of_vectors(tensor: Tensor, ord: Any, axes: tuple[int, ...], keepdims: bool) -> Any:
    one_axis_is_left = len(axes) >= tensor.dim() - 1
    if len(axes) > 1 and (np.iterable(ord) or not (one_axis_is_left or tensor.is_contiguous())):
        left = [n for i, n in enumerate(tensor.shape) if i not in axes]  # NumPy makes one axis of them
        lines = tensor.movedim(axes, tuple(range(len(axes)))).reshape(math.prod(tensor.shape[i] for i in axes), *left)
        total = _of_vectors(lines, ord, (0,), False)
        return total.reshape([1 if i in axes else n for i, n in enumerate(tensor.shape)]) if keepdims else total
    if ord is None or ord == 2:
        return wrap(kernels.euclidean(tensor, axes, kept(keepdims)))
    sizes = absolute(wrap_array(tensor))
    if ord == math.inf:
        return sizes.max(axes, keepdims=keepdims, initial=0)
    if ord == -math.inf:
        return sizes.min(axes, keepdims=keepdims)
    if ord == 0:
        return (sizes != 0).astype(sizes.dtype).sum(axes, keepdims=keepdims)
    if ord == 1:
        return sizes.sum(axes, keepdims=keepdims)
    if np.iterable(ord):  # broadcast against the elements, and the results
        sizes **= ord
        total = sizes.sum(axes, keepdims=keepdims)
        total **= reciprocal(ord, dtype=total.dtype)
        return total
    if isinstance(ord, int) and not -(2**63) <= ord < 2**64:
        reciprocal(ord, dtype=sizes.dtype)  # NumPy's has no loop for it, and says so
    exponent = float(ord)
    total = (sizes**exponent).sum(axes, keepdims=keepdims)
    if exponent > 0 and autodiff.may_be_differentiated(total.tensor):
        is_zero = total == 0
        return wrap(where(is_zero, 0.0, where(is_zero, 1.0, total) ** (1 / exponent)).tensor)
    return total ** (1 / exponent)


def _of_matrices(tensor: Tensor, ord: Any, rows: int, columns: int, keepdims: bool) -> Any:
    if ord is None or ord in ("f", "fro"):
        return wrap(kernels.euclidean(tensor, (rows, columns), bool(keepdims)))
    if ord in (2, -2, "nuc"):
        values = svd(wrap_array(tensor.movedim((rows, columns), (-2, -1))), compute_uv=False)
        if ord == 2:
            result = values.max(-1, initial=0)
        else:
            result = values.min(-1) if ord == -2 else values.sum(-1)
        return expand_dims(result, (rows, columns)) if keepdims else result
    if ord in (1, -1):
        first, second = rows, columns
    elif ord in (math.inf, -math.inf):
        first, second = columns, rows
    else:
        raise ValueError("Invalid norm order for matrices.")
    sums = absolute(wrap_array(tensor)).sum(first, keepdims=True)
    result = sums.max(second, keepdims=True, initial=0) if ord > 0 else sums.min(second, keepdims=True)
    return result if keepdims else wrap(result.tensor.squeeze((rows, columns)))


def matrix_norm(x: Any, /, *, keepdims: bool = False, ord: Any = "fro") -> ndarray:
    """Norm of matrices, over the last two axes.

    Parameters
    ----------
    x : array_like
        Of at least two dimensions.
    keepdims : bool, optional
        Keep the axes, with length one.
    ord : int, inf, -inf, 'fro' or 'nuc', optional
        Which norm, as in `norm`.

    Returns
    -------
    ndarray
        A scalar for one matrix.

    Raises
    ------
    AxisError
        The array has less than two dimensions.
    ValueError
        There is no such norm.

    Notes
    -----
    Source: https://numpy.org/doc/stable/reference/generated/numpy.linalg.matrix_norm.html

    Examples
    --------
    >>> import tnp as np
    >>> np.linalg.matrix_norm([[3.0, 0.0], [0.0, 4.0]])
    np.float64(5.0)
    """
    return norm(x, ord, (-2, -1), keepdims)


def vector_norm(x: Any, /, *, axis: Any = None, keepdims: bool = False, ord: Any = 2) -> ndarray:
    """Norm of vectors.

    Parameters
    ----------
    x : array_like
    axis : int or tuple of int, optional
        The axes that make up a vector; all by default.
    keepdims : bool, optional
        Keep the axes, with length one.
    ord : int, float, inf or -inf, optional
        Which norm, as in `norm`.

    Returns
    -------
    ndarray
        A scalar if no axis is left.

    Raises
    ------
    ValueError
        There is no such norm.
    AxisError
        The array has no such axis.

    Notes
    -----
    Source: https://numpy.org/doc/stable/reference/generated/numpy.linalg.vector_norm.html

    Examples
    --------
    >>> import tnp as np
    >>> np.linalg.vector_norm([3.0, -4.0], ord=1)
    np.float64(7.0)
    """
    tensor = _inexact(tensor_of(x))
    axes = _one_axis(axis) if axis is not None and not isinstance(axis, tuple) else axis
    _check_order(ord)
    axes = normalize_axes(axes, tensor.dim())
    if keepdims:
        normalize_axes(axis, tensor.dim())  # where no float is an integer
    return _of_vectors(tensor, ord, axes, bool(keepdims))


def cond(x: Any, p: Any = None) -> ndarray:
    """Condition number: the norm of a matrix times that of its inverse.

    Parameters
    ----------
    x : array_like
        Matrices, square ones unless ``p`` is None, 2 or -2.
    p : int, inf, -inf, 'fro' or 'nuc', optional
        Which norm, as in `norm`; by default 2: the quotient of the largest and the smallest singular value.

    Returns
    -------
    ndarray
        A scalar for one matrix; inf if it is singular.

    Raises
    ------
    LinAlgError
        The matrices are empty, or not square.

    Notes
    -----
    Source: https://numpy.org/doc/stable/reference/generated/numpy.linalg.cond.html

    Examples
    --------
    >>> import tnp as np
    >>> np.linalg.cond([[1.0, 0.0], [0.0, 4.0]])
    np.float64(4.0)
    """
    tensor = tensor_of(x)
    if tensor.dim() > 1 and is_empty(tensor):
        raise LinAlgError("cond is not defined on empty arrays")
    if p in {None, 2, -2}:
        values = absolute(_singular_values(wrap_array(tensor)))  # torch's zeros may be negative
        first, last = values[..., 0], values[..., -1]
        number = last / first if p == -2 else first / last
    else:
        squares = square_matrices(wrap_array(tensor))
        pair = wrap_array(squares), wrap_array(kernels.inv_or_nan(squares))
        if p == "nuc":
            one, other = [_singular_values(each).sum(-1) for each in pair]
        else:
            one, other = [matrix_norm(each, ord=p) for each in pair]
        number = one * other
    singular = isnan(number) & ~isnan(wrap_array(tensor)).any((-2, -1))
    return wrap(where(singular, math.inf, number).tensor)


def _singular_values(x: ndarray) -> ndarray:
    return wrap_array(kernels.svdvals_or_nan(matrices(x))) if _ANY_COND else svd(x, compute_uv=False)


def matrix_rank(A: Any, tol: Any = None, hermitian: bool = False, *, rtol: Any = None) -> ndarray | int:
    """Rank of matrices: the number of singular values that are not zero.

    Parameters
    ----------
    A : array_like
        Matrices; the rank of a vector is one unless it is zero.
    tol : array_like, optional
        Up to which singular values count as zero, for each matrix of the stack.
    hermitian : bool, optional
        The matrices are Hermitian, which is faster.
    rtol : array_like, optional
        The same in units of the largest singular value; by default the larger side times the precision of the dtype.

    Returns
    -------
    ndarray
        Integers; a scalar for one matrix.

    Raises
    ------
    ValueError
        Both ``tol`` and ``rtol`` are given.
    LinAlgError
        The computation does not converge, as with NaNs.

    Notes
    -----
    Source: https://numpy.org/doc/stable/reference/generated/numpy.linalg.matrix_rank.html

    Examples
    --------
    >>> import tnp as np
    >>> np.linalg.matrix_rank(np.ones((4, 4)))
    np.int64(1)
    """
    if rtol is not None and tol is not None:
        raise ValueError("`tol` and `rtol` can't be both set.")
    tensor = tensor_of(A)
    array = wrap_array(tensor)
    if tensor.dim() < 2:
        found = (array != 0).any().astype(int)
        return int(found) if memory.is_readable(tensor) else found
    values = svd(array, compute_uv=False, hermitian=hermitian)
    if tol is not None:
        threshold = _tolerance(tol, tensor)
    else:
        if rtol is None:
            relative: Any = max(tensor.shape[-2:]) * kernels.eps(values.tensor)
        else:
            relative = _tolerance(rtol, tensor)
        threshold = values.max(-1, keepdims=True, initial=0) * relative
    return count_nonzero(values > threshold, -1)


def _tolerance(value: Any, tensor: Tensor) -> Any:
    """One for each matrix of the tensor, with the axis of their singular values; a 0-d one of the host goes there."""
    return wrap_array(interop.moved(tensor_of(value, device=tensor.device), tensor.device))[..., None]


def det(a: Any) -> ndarray:
    """Determinant.

    Parameters
    ----------
    a : array_like
        Square matrices.

    Returns
    -------
    ndarray
        A scalar for one matrix.

    Raises
    ------
    LinAlgError
        A matrix is not square.

    See Also
    --------
    slogdet : does not overflow

    Notes
    -----
    Source: https://numpy.org/doc/stable/reference/generated/numpy.linalg.det.html

    Examples
    --------
    >>> import tnp as np
    >>> np.linalg.det([[2.0, 0.0], [0.0, 3.0]])
    np.float64(6.0)
    """
    return wrap(kernels.det(square_matrices(a)))


def slogdet(a: Any) -> SlogdetResult:
    """Sign and logarithm of the magnitude of the determinant.

    Parameters
    ----------
    a : array_like
        Square matrices.

    Returns
    -------
    SlogdetResult
        A named tuple of the sign, a number of magnitude one (zero if the matrix is singular), and the logarithm.

    Raises
    ------
    LinAlgError
        A matrix is not square.

    Notes
    -----
    Source: https://numpy.org/doc/stable/reference/generated/numpy.linalg.slogdet.html

    Examples
    --------
    >>> import tnp as np
    >>> np.linalg.slogdet([[0.0, 1.0], [1.0, 0.0]])
    SlogdetResult(sign=np.float64(-1.0), logabsdet=np.float64(0.0))
    """
    return SlogdetResult(*map(wrap, kernels.slogdet(square_matrices(a))))
