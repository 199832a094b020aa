"""Linear equations: solving them exactly or by least squares, and inverses.

Layer: owns how right-hand sides are read, what comes back beside the solution and what is said when there is none.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.linalg import LinAlgError

from backend_torch.autodiff import autodiff
from backend_torch.kernels import linalg as kernels
from backend_torch.tensors import interop, memory
from backend_torch.tensors.casting import cast
from backend_torch.tensors.dtypes import to_numpy, to_torch
from tnp._core.base import SCALARS, ndarray, wrap, wrap_array
from tnp._core.convert import asarray, tensor_of, tensors_of
from tnp._core.errors import broadcast, broadcast_error, explain
from tnp._creation.filled import empty
from tnp.linalg._decompositions import refuse_infinite
from tnp.linalg._matrices import check_matrix, check_square, is_empty, matrices, result_dtype, square_matrices

Tensor = Any
_NoValue: Any = np._NoValue
_EPS = float(np.finfo(np.float64).eps)


def solve(a: Any, b: Any) -> ndarray:
    """Solve ``a @ x = b``.

    Parameters
    ----------
    a : array_like
        Square matrices of shape ``(..., M, M)``.
    b : array_like
        A vector of shape ``(M,)`` or matrices of shape ``(..., M, K)``; the leading axes are broadcast.

    Returns
    -------
    ndarray
        Of shape ``(..., M)`` for a vector ``b``, else ``(..., M, K)``.

    Raises
    ------
    LinAlgError
        A matrix is singular, or not square.
    ValueError
        The shapes do not fit.

    Notes
    -----
    Source: https://numpy.org/doc/stable/reference/generated/numpy.linalg.solve.html

    Examples
    --------
    >>> import tnp as np
    >>> np.linalg.solve([[2.0, 0.0], [0.0, 4.0]], [2.0, 2.0])
    array([1. , 0.5])
    """
    left, right = tensors_of(a, b)
    check_square(left)
    dtype = result_dtype(left, right)
    if not right.dim():
        raise ValueError("solve: Input operand 1 does not have enough dimensions (has 0, requires at least 1)")
    is_vector = right.dim() == 1
    columns = right.unsqueeze(-1) if is_vector else right
    if columns.shape[-2] != left.shape[-1]:
        name = "solve1: " if is_vector else "solve: "
        raise ValueError(
            f"{name}Input operand 1 has a mismatch in its core dimension 0, with gufunc signature "
            f"{'(m,m),(m)->(m)' if is_vector else '(m,m),(m,n)->(m,n)'} (size {columns.shape[-2]} is different from "
            f"{left.shape[-1]})"
        )
    missing = left.dim() - columns.dim()
    if missing > 0:  # otherwise torch reads matrices as a stack of vectors
        columns = columns[(None,) * missing]
    try:
        if 0 in columns.shape[:-2]:  # nothing is solved, so that no matrix is singular
            left = left.expand(*np.broadcast_shapes(left.shape[:-2], columns.shape[:-2]), *left.shape[-2:])
        solution = kernels.solve(cast(left, dtype), cast(columns, dtype))
    except (RuntimeError, ValueError) as error:
        raise _mismatch(error, left, columns) from None
    return wrap_array(solution.squeeze(-1) if is_vector else solution)


def _mismatch(error: Exception, left: Tensor, right: Tensor) -> Exception:
    """Return NumPy's error for two stacks of matrices that do not broadcast."""
    try:
        np.broadcast_shapes(left.shape[:-2], right.shape[:-2])
    except ValueError:
        return broadcast_error(tuple(left.shape), tuple(right.shape))
    return explain(error, left.reshape(-1)[:0], right.reshape(-1)[:0])


def inv(a: Any) -> ndarray:
    """Inverse of matrices.

    Parameters
    ----------
    a : array_like
        Square matrices.

    Returns
    -------
    ndarray

    Raises
    ------
    LinAlgError
        A matrix is singular, or not square.

    See Also
    --------
    solve : is faster, and more precise, than multiplying by an inverse

    Notes
    -----
    Source: https://numpy.org/doc/stable/reference/generated/numpy.linalg.inv.html

    Examples
    --------
    >>> import tnp as np
    >>> np.linalg.inv([[2.0, 0.0], [0.0, 4.0]])
    array([[0.5 , 0.  ],
           [0.  , 0.25]])
    """
    return wrap_array(kernels.inv(square_matrices(a)))


def tensorsolve(a: Any, b: Any, axes: Any = None) -> ndarray:
    """Solve ``tensordot(a, x, x.ndim) = b``.

    Parameters
    ----------
    a : array_like
        Of shape ``(*b.shape, *x.shape)``, with as many elements in the first part as in the second.
    b : array_like
    axes : sequence of int, optional
        Axes of ``a`` to move to the end first.

    Returns
    -------
    ndarray

    Raises
    ------
    LinAlgError
        ``a`` is singular, or not square in this sense.

    Notes
    -----
    Source: https://numpy.org/doc/stable/reference/generated/numpy.linalg.tensorsolve.html

    Examples
    --------
    >>> import tnp as np
    >>> np.linalg.tensorsolve(2 * np.eye(6).reshape(2, 3, 6), np.ones((2, 3)))
    array([0.5, 0.5, 0.5, 0.5, 0.5, 0.5])
    """
    tensor, right = tensors_of(a, b)
    if axes is not None:
        order = list(range(tensor.dim()))
        for axis in axes:
            order.remove(axis)
            order.append(axis)
        tensor = tensor.permute(order)
    shape = tuple(tensor.shape)[right.dim() - tensor.dim() :]
    size = math.prod(shape)
    if tensor.numel() != size**2:
        raise LinAlgError("Input arrays must satisfy the requirement prod(a.shape[b.ndim:]) == prod(a.shape[:b.ndim])")
    solution = solve(wrap_array(tensor.reshape(size, size)), wrap_array(right.reshape(-1)))
    return solution.reshape(shape)


def tensorinv(a: Any, ind: int = 2) -> ndarray:
    """Inverse of ``tensordot(a, x, x.ndim)``.

    Parameters
    ----------
    a : array_like
        With as many elements in the first ``ind`` axes as in the others.
    ind : int, optional
        How many axes are those of the result.

    Returns
    -------
    ndarray
        Of shape ``a.shape[ind:] + a.shape[:ind]``.

    Raises
    ------
    LinAlgError
        ``a`` is singular, or not square in this sense.
    ValueError
        ``ind`` is not positive.

    Notes
    -----
    Source: https://numpy.org/doc/stable/reference/generated/numpy.linalg.tensorinv.html

    Examples
    --------
    >>> import tnp as np
    >>> np.linalg.tensorinv(np.eye(6).reshape(2, 3, 6)).shape
    (6, 2, 3)
    """
    if ind <= 0:
        raise ValueError("Invalid ind argument.")
    array = asarray(a)
    first, second = array.shape[:ind], array.shape[ind:]
    inverse = inv(array.reshape(math.prod(second), -1))
    if not array.ndim:
        raise TypeError("reshape() takes exactly 1 argument (0 given)")
    return inverse.reshape(second + first)


def pinv(a: Any, rcond: Any = None, hermitian: bool = False, *, rtol: Any = _NoValue) -> ndarray:
    """Pseudo-inverse (Moore-Penrose inverse) of matrices.

    Parameters
    ----------
    a : array_like
        Matrices of shape ``(..., M, N)``.
    rcond : array_like, optional
        Up to this fraction of the largest singular value the others count as zero; by default 1e-15.
    hermitian : bool, optional
        The matrices are Hermitian, which is faster.
    rtol : array_like, optional
        The same; None is the larger side times the precision of the dtype.

    Returns
    -------
    ndarray
        Of shape ``(..., N, M)``.

    Raises
    ------
    LinAlgError
        The computation does not converge, as with NaNs.
    ValueError
        Both ``rcond`` and ``rtol`` are given.

    Notes
    -----
    Computed in double precision on every device.

    Source: https://numpy.org/doc/stable/reference/generated/numpy.linalg.pinv.html

    Examples
    --------
    >>> import tnp as np
    >>> np.linalg.pinv([[2.0, 0.0], [0.0, 0.0]])
    array([[0.5, 0. ],
           [0. , 0. ]])
    """
    given = tensor_of(a)
    if rcond is not None:
        if rtol is not _NoValue:
            raise ValueError("`rtol` and `rcond` can't be both set.")
        relative = rcond
    elif rtol is _NoValue:
        relative = 1e-15
    elif rtol is None:
        relative = max(given.shape[-2:]) * float(np.finfo(to_numpy[given.dtype]).eps)
    else:
        relative = rtol
    if given.dim() > 1 and is_empty(given):
        return empty((*given.shape[:-2], given.shape[-1], given.shape[-2]), to_numpy[given.dtype], device=given.device)
    tensor = (square_matrices if hermitian else matrices)(wrap_array(given))
    if not hermitian:
        refuse_infinite(tensor)
    if not isinstance(relative, float) or type(relative) in SCALARS:
        relative = cast(tensor_of(relative, device=tensor.device), to_torch[np.dtype(float)])
        broadcast((*relative.shape, 1), (*tensor.shape[:-2], 1))
        relative = autodiff.detached(interop.moved(relative, tensor.device))  # a tolerance has the gradient zero
    return wrap_array(kernels.pinv(tensor, rtol=relative, hermitian=bool(hermitian)))


def lstsq(a: Any, b: Any, rcond: Any = None) -> tuple[ndarray, ndarray, ndarray, ndarray]:
    """Least-squares solution of ``a @ x = b``, the shortest if there are several.

    Parameters
    ----------
    a : array_like
        A matrix of shape ``(M, N)``, of any rank.
    b : array_like
        Of shape ``(M,)`` or ``(M, K)``.
    rcond : float, optional
        Up to this fraction of the largest singular value the others count as zero; by default the precision of float64
        times the larger side, and half the precision if it is not between 0 and 1.

    Returns
    -------
    x : ndarray
        Of shape ``(N,)`` or ``(N, K)``.
    residuals : ndarray
        Sums of squares of ``b - a @ x`` of each column; empty if the rank is less than N, or M not greater than N.
    rank : ndarray
        The rank of ``a``, a scalar.
    s : ndarray
        The singular values of ``a``.

    Raises
    ------
    LinAlgError
        The shapes do not fit, or the computation does not converge.

    Notes
    -----
    Computed in double precision on every device. The gradient is right where the rank does not change. Differences from
    NumPy: traced by ``tnp.compile`` or ``torch.vmap`` the matrix is taken to have full rank when the shape of
    ``residuals`` is decided.

    Source: https://numpy.org/doc/stable/reference/generated/numpy.linalg.lstsq.html

    Examples
    --------
    >>> import tnp as np
    >>> x, residuals, rank, s = np.linalg.lstsq([[1.0, 0.0], [1.0, 1.0], [1.0, 2.0]], [1.0, 3.0, 5.0])
    >>> np.round(x, 6)
    array([1., 2.])
    """
    left, right = tensors_of(a, b)
    is_vector = right.dim() == 1
    if is_vector:
        right = right.unsqueeze(-1)
    check_matrix(left)
    check_matrix(right)
    rows, columns = left.shape
    if rows != right.shape[0]:
        raise LinAlgError("Incompatible dimensions")
    dtype = result_dtype(left, right)
    if rcond is not None and np.ndim(rcond):
        raise TypeError("rcond is one number")
    if rcond is None:
        limit = _EPS * max(rows, columns)
    else:
        limit = float(rcond) if 0 < rcond < 1 else _EPS / 2
    try:
        solution, residuals, rank, values = kernels.lstsq(cast(left, dtype), cast(right, dtype), rcond=limit)
    except (RuntimeError, LinAlgError) as error:
        if isinstance(error, LinAlgError) or kernels.is_not_finite(left) or kernels.is_not_finite(right):
            raise LinAlgError("SVD did not converge in Linear Least Squares") from None
        raise explain(error, left.reshape(-1)[:0], right.reshape(-1)[:0]) from None
    if rows <= columns or kernels.lacks_rank(rank, columns):
        residuals = residuals.new_empty(0)
    if is_vector:
        solution = solution.squeeze(-1)
    return wrap_array(memory.owned(solution)), wrap_array(residuals), wrap(rank), wrap_array(values)
