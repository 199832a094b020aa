"""Products of arrays: dot, matmul and others.

Layer: owns which axes a product sums over and the shapes it refuses; all sums of products are the backend's matrix
product.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from backend_torch.kernels import products as kernels
from backend_torch.kernels.indexing import assign
from backend_torch.native import heads
from backend_torch.tensors import memory
from backend_torch.tensors.casting import cast
from backend_torch.tensors.dtypes import to_numpy
from tnp._core.base import ndarray, wrap, wrap_array
from tnp._core.convert import output_tensor, tensors_of
from tnp._core.dtype_table import Loops
from tnp._core.dtypes import native, tensor_dtype
from tnp._core.errors import explain, mismatch_error, normalize_axis, shapes_text, warn
from tnp._core.function_overrides import REFUSALS
from tnp._core.host_fallback import refused_here
from tnp._core.numpy_version import NUMPY
from tnp._core.strided_views import put_back
from tnp._indexing.diagonals import diagonal
from tnp._math import reductions
from tnp._ufunc import errstate
from tnp._ufunc.gufunc import GeneralizedUfunc
from tnp._ufunc.table import multiply

Tensor = Any
_SINCE_2_5 = NUMPY >= "2.5.0"  # cross takes three components only, a first empty list has the second factor's dtype

_OPTIONS = """
    out : ndarray, optional
        Where to put the result.
    axes : list of tuple of int, optional
        Where the core dimensions of the operands and of the result are; by default they are the last.
    casting, order, dtype, subok, signature : optional
        As for every ufunc."""

matmul = GeneralizedUfunc(
    "matmul",
    "(n?,k),(k,m?)->(n?,m?)",
    np.matmul,
    kernels.matmul,
    f"""Matrix product of two arrays.

    Parameters
    ----------
    x1, x2 : array_like
        Matrices, or stacks of matrices whose leading axes are broadcast; a one-dimensional operand is a row on the left
        and a column on the right. Scalars are not allowed.{_OPTIONS}

    Returns
    -------
    ndarray
        A scalar if both operands are one-dimensional.

    Raises
    ------
    ValueError
        The operands' core dimensions differ, or one is a scalar.

    Notes
    -----
    Integers are multiplied modulo their width, as in NumPy; on an accelerator through exact products of float64.

    Source: https://numpy.org/doc/stable/reference/generated/numpy.matmul.html

    Examples
    --------
    >>> import tnp as np
    >>> np.matmul(np.asarray([[1, 2], [3, 4]]), np.asarray([1, 1]))
    array([3, 7])
    """,
)

vecdot = GeneralizedUfunc(
    "vecdot",
    "(n),(n)->()",
    np.vecdot,
    kernels.vecdot,
    f"""Dot product of vectors along an axis; complex vectors on the left are conjugated.

    Parameters
    ----------
    x1, x2 : array_like
        Stacks of vectors of equal length, the other axes broadcast. Scalars are not allowed.{_OPTIONS}
    axis : int, optional
        The vectors' axis in both operands, by default the last.
    keepdims : bool, optional
        Keep the axis, with length one.

    Returns
    -------
    ndarray

    Raises
    ------
    ValueError
        The vectors' lengths differ, or an operand is a scalar.

    Notes
    -----
    Source: https://numpy.org/doc/stable/reference/generated/numpy.vecdot.html

    Examples
    --------
    >>> import tnp as np
    >>> np.vecdot(np.asarray([[0.0, 5.0, 0.0], [0.0, 0.0, 10.0]]), np.asarray([0.0, 0.6, 0.8]))
    array([3., 8.])
    """,
)

# NumPy has these two since 2.2; they have matmul's dtypes.
matvec = GeneralizedUfunc(
    "matvec",
    "(m,n),(n)->(m)",
    np.matmul,
    kernels.matvec,
    f"""Product of matrices with vectors.

    Parameters
    ----------
    x1 : array_like
        Stack of matrices.
    x2 : array_like
        Stack of vectors.{_OPTIONS}

    Returns
    -------
    ndarray

    Raises
    ------
    ValueError
        The matrices' columns are not as many as the vectors' elements, or an operand has too few dimensions.

    Notes
    -----
    Source: https://numpy.org/doc/stable/reference/generated/numpy.matvec.html

    Examples
    --------
    >>> import tnp as np
    >>> np.matvec(np.asarray([[1, 2], [3, 4]]), np.asarray([[1, 0], [0, 1]]))
    array([[1, 3],
           [2, 4]])
    """,
)

vecmat = GeneralizedUfunc(
    "vecmat",
    "(n),(n,m)->(m)",
    np.matmul,
    kernels.vecmat,
    f"""Product of vectors with matrices; complex vectors are conjugated.

    Parameters
    ----------
    x1 : array_like
        Stack of vectors.
    x2 : array_like
        Stack of matrices.{_OPTIONS}

    Returns
    -------
    ndarray

    Raises
    ------
    ValueError
        The matrices' rows are not as many as the vectors' elements, or an operand has too few dimensions.

    Notes
    -----
    Source: https://numpy.org/doc/stable/reference/generated/numpy.vecmat.html

    Examples
    --------
    >>> import tnp as np
    >>> np.vecmat(np.asarray([1, 1]), np.asarray([[1, 2], [3, 4]]))
    array([4, 6])
    """,
)


def dot(a: Any, b: Any, out: Any = None) -> ndarray:
    """Dot product: the sum of products over the last axis of ``a`` and the last but one of ``b``.

    Parameters
    ----------
    a, b : array_like
        A scalar multiplies; the only axis of a one-dimensional ``b`` is summed over.
    out : ndarray, optional
        Where to put the result: an array of exactly its dtype and shape, in C order.

    Returns
    -------
    ndarray

    Raises
    ------
    ValueError
        The two axes differ in length, or ``out`` has the wrong dtype, shape or order.

    Notes
    -----
    Source: https://numpy.org/doc/stable/reference/generated/numpy.dot.html

    Examples
    --------
    >>> import tnp as np
    >>> np.dot(np.asarray([[1, 0], [0, 1]]), np.asarray([[4, 1], [2, 2]]))
    array([[4, 1],
           [2, 2]])
    """
    if out is None and (product := heads.dot(a, b)) is not None:
        return product
    if out is not None and not isinstance(out, (ndarray, np.ndarray)):
        raise TypeError("'out' must be an array")
    try:
        one, other = _factors(a, b)
    except REFUSALS as error:
        return refused_here(error, np.dot, a, b, out=out)
    if not (one.dim() and other.dim()):
        return _placed(multiply(wrap_array(one), wrap_array(other)).tensor, out)
    return _placed(_aligned(one, other, one.dim() - 1, max(other.dim() - 2, 0)), out)


def vdot(a: Any, b: Any, /) -> ndarray:
    """Dot product of two arrays read as vectors in C order; the first is conjugated.

    Parameters
    ----------
    a, b : array_like
        Of as many elements.

    Returns
    -------
    ndarray
        A scalar.

    Raises
    ------
    ValueError
        The sizes differ.

    Notes
    -----
    Source: https://numpy.org/doc/stable/reference/generated/numpy.vdot.html

    Examples
    --------
    >>> import tnp as np
    >>> np.vdot(np.asarray([1 + 2j, 3 + 4j]), np.asarray([5 + 6j, 7 + 8j]))
    np.complex128(70-8j)
    """
    if (product := heads.vdot(a, b)) is not None:
        return product
    one, other = [tensor.reshape(-1) for tensor in _factors(a, b)]
    if one.shape != other.shape:
        raise ValueError(f"cannot reshape array of size {other.shape[0]} into shape {shapes_text([one.shape])}")
    return wrap(matmul._loops[one.dtype, other.dtype](one.conj(), other))


def inner(a: Any, b: Any, /) -> ndarray:
    """Inner product: the sum of products over the last axes.

    Parameters
    ----------
    a, b : array_like
        A scalar multiplies.

    Returns
    -------
    ndarray
        Of shape ``(*a.shape[:-1], *b.shape[:-1])``.

    Raises
    ------
    ValueError
        The last axes differ in length.

    Notes
    -----
    Source: https://numpy.org/doc/stable/reference/generated/numpy.inner.html

    Examples
    --------
    >>> import tnp as np
    >>> np.inner(np.asarray([1, 2, 3]), np.asarray([0, 1, 0]))
    np.int64(2)
    """
    if (product := heads.vdot(a, b)) is not None:
        return product
    one, other = _factors(a, b)
    if not (one.dim() and other.dim()):
        return multiply(wrap_array(one), wrap_array(other))
    return wrap(_aligned(one, other, one.dim() - 1, other.dim() - 1))


def outer(a: Any, b: Any, out: Any = None) -> ndarray:
    """Outer product of two arrays read as vectors.

    Parameters
    ----------
    a, b : array_like
    out : ndarray, optional
        Where to put the result.

    Returns
    -------
    ndarray
        ``out[i, j] = a.ravel()[i] * b.ravel()[j]``.

    Notes
    -----
    Source: https://numpy.org/doc/stable/reference/generated/numpy.outer.html

    Examples
    --------
    >>> import tnp as np
    >>> np.outer(np.asarray([1, 2]), np.asarray([3, 4]))
    array([[3, 4],
           [6, 8]])
    """
    if (column := heads.reshape(a, (-1, 1))) is not None and (row := heads.reshape(b, (1, -1))) is not None:
        return multiply(column, row) if out is None else multiply(column, row, out)
    one, other = tensors_of(a, b)
    return multiply(wrap_array(one.reshape(-1, 1)), wrap_array(other.reshape(1, -1)), out)


def tensordot(a: Any, b: Any, axes: Any = 2) -> ndarray:
    """Sum of products over pairs of axes.

    Parameters
    ----------
    a, b : array_like
    axes : int or pair of (int or sequence of int)
        The axes of ``a`` and those of ``b``; a number means the last of ``a`` and the first of ``b``.

    Returns
    -------
    ndarray
        The other axes of ``a``, then those of ``b``.

    Raises
    ------
    ValueError
        A pair of axes differs in length, ``a`` and ``b`` have different numbers of axes, or one is repeated.
    IndexError
        An array has no such axis.

    Notes
    -----
    Source: https://numpy.org/doc/stable/reference/generated/numpy.tensordot.html

    Examples
    --------
    >>> import tnp as np
    >>> np.tensordot(np.ones((2, 3, 4)), np.ones((4, 3)), ([2, 1], [0, 1]))
    array([12., 12.])
    """
    check = (lambda shape: shape[0]) if np.iterable(axes) or axes else None
    one, other = _common(*tensors_of(a, b, check=check))
    if np.iterable(axes):
        first, second = axes
    else:
        first, second = range(-axes, 0), range(axes)
    one_axes, other_axes = [list(axis) if np.iterable(axis) else [axis] for axis in (first, second)]
    for given in (one_axes, other_axes):
        if len(set(given)) != len(given):
            raise ValueError("duplicate axes are not allowed in tensordot")
    if len(one_axes) != len(other_axes) or any(
        one.shape[first] != other.shape[second] for first, second in zip(one_axes, other_axes, strict=True)
    ):
        raise ValueError(
            f"shape-mismatch for sum: axes {one_axes} of shape {shapes_text([one.shape])} and {other_axes} of "
            f"{shapes_text([other.shape])}"
        )
    one_axes = [axis % one.dim() for axis in one_axes]
    other_axes = [axis % other.dim() for axis in other_axes]
    return wrap_array(kernels.contract(one, other, one_axes, other_axes))


def kron(a: Any, b: Any) -> ndarray:
    """Kronecker product: blocks of ``b``, scaled by the elements of ``a``.

    Parameters
    ----------
    a, b : array_like

    Returns
    -------
    ndarray

    Notes
    -----
    Source: https://numpy.org/doc/stable/reference/generated/numpy.kron.html

    Examples
    --------
    >>> import tnp as np
    >>> np.kron(np.asarray([1, 10, 100]), np.asarray([5, 6, 7]))
    array([  5,   6,   7,  50,  60,  70, 500, 600, 700])
    """
    one, other = tensors_of(a, b)
    ndim = max(one.dim(), other.dim())
    rows = (*[1] * (ndim - one.dim()), *one.shape)
    columns = (*[1] * (ndim - other.dim()), *other.shape)
    blocks = multiply(
        wrap_array(one.reshape([n for row in rows for n in (row, 1)])),
        wrap_array(other.reshape([n for column in columns for n in (1, column)])),
    )
    return wrap(blocks.tensor.reshape([row * column for row, column in zip(rows, columns, strict=True)]))


def _check_vectors(shape: Any) -> None:
    if not len(shape):
        raise ValueError("At least one array has zero dimension")


def cross(a: Any, b: Any, axisa: int = -1, axisb: int = -1, axisc: int = -1, axis: int | None = None) -> ndarray:
    """Cross product of vectors of three components.

    Parameters
    ----------
    a, b : array_like
        Vectors along an axis, the other axes broadcast.
    axisa, axisb, axisc : int, optional
        The vectors' axis in ``a``, in ``b`` and in the result, by default the last.
    axis : int, optional
        All three at once.

    Returns
    -------
    ndarray

    Raises
    ------
    ValueError
        The vectors do not have three components.

    Notes
    -----
    Two components are refused as by NumPy 2.5. With an older one they are deprecated: the third is taken as zero, and
    of two such vectors the result is the third component alone.

    Source: https://numpy.org/doc/stable/reference/generated/numpy.cross.html

    Examples
    --------
    >>> import tnp as np
    >>> np.cross(np.asarray([1, 2, 3]), np.asarray([4, 5, 6]))
    array([-3,  6, -3])
    """
    if axis is not None:
        axisa = axisb = axisc = axis
    one, other = _common(*tensors_of(a, b, check=_check_vectors))
    _check_vectors(one.shape)
    _check_vectors(other.shape)
    one = one.movedim(normalize_axis(axisa, one.dim(), "axisa"), 0)
    other = other.movedim(normalize_axis(axisb, other.dim(), "axisb"), 0)
    if _SINCE_2_5 and not len(one) == len(other) == 3:
        raise ValueError(
            "Both input arrays must be (arrays of) 3-dimensional vectors, "
            f"but they are {len(one)} and {len(other)} dimensional instead."
        )
    if len(one) not in (2, 3) or len(other) not in (2, 3):
        raise ValueError("incompatible dimensions for cross product\n(dimension must be 2 or 3)")
    if len(one) == 2 or len(other) == 2:
        warn(
            "Arrays of 2-dimensional vectors are deprecated. Use arrays of 3-dimensional vectors instead. (deprecated "
            "in NumPy 2.0)",
            DeprecationWarning,
        )
    shapes = tuple(one.shape[1:]), tuple(other.shape[1:])
    try:
        shape = np.broadcast_shapes(*shapes)
    except ValueError:
        raise mismatch_error(*shapes) from None
    if len(one) == 3 or len(other) == 3:
        axisc = normalize_axis(axisc, len(shape) + 1, "axisc")
    a0, a1, *a2 = map(wrap_array, one)
    b0, b1, *b2 = map(wrap_array, other)
    third = a0 * b1 - a1 * b0
    if not a2 and not b2:
        return wrap_array(third.tensor)
    if not b2:
        first, second = -(a2[0] * b1), a2[0] * b0
    elif not a2:
        first, second = a1 * b2[0], -(a0 * b2[0])
    else:
        first, second = a1 * b2[0] - a2[0] * b1, a2[0] * b0 - a0 * b2[0]
    last = first.ndim  # for -1 torch 2.11 names the wrong axis of a sharded result
    result = memory.stacked([first.tensor, second.tensor, third.tensor], last)
    return wrap_array(result.movedim(-1, axisc))


def trace(a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1, dtype: Any = None, out: Any = None) -> ndarray:
    """Sum along a diagonal.

    Parameters
    ----------
    a : array_like
        Of at least two dimensions.
    offset : int, optional
        Which diagonal: above the main one if positive, below it if negative.
    axis1, axis2 : int, optional
        The axes of the matrices.
    dtype : dtype_like, optional
        The dtype of the sum; by default as in `sum`.
    out : ndarray, optional
        Where to put the result.

    Returns
    -------
    ndarray
        A scalar for one matrix.

    Raises
    ------
    ValueError
        The array has less than two dimensions, or the axes are the same.

    Notes
    -----
    Source: https://numpy.org/doc/stable/reference/generated/numpy.trace.html

    Examples
    --------
    >>> import tnp as np
    >>> np.trace(np.eye(3))
    np.float64(3.0)
    """
    dtype = native(dtype)  # of two errors NumPy raises this one
    return reductions.sum(diagonal(a, offset, axis1, axis2), -1, dtype, out)


def _factors(a: Any, b: Any) -> list[Tensor]:
    """Convert operands to tensors on one device; an empty list gets the dtype of the other operand."""
    one, other = tensors_of(a, b)
    if isinstance(b, (list, tuple)) and not other.numel():
        other = cast(other, one.dtype)
    elif _SINCE_2_5 and isinstance(a, (list, tuple)) and not one.numel():
        one = cast(one, other.dtype)
    return [one, other]


def _common(one: Tensor, other: Tensor) -> tuple[Tensor, Tensor]:
    """Cast both tensors to the dtype to which they promote."""
    dtype = tensor_dtype(np.result_type(to_numpy[one.dtype], to_numpy[other.dtype]))
    return cast(one, dtype), cast(other, dtype)


def _aligned(one: Tensor, other: Tensor, axis: int, other_axis: int) -> Tensor:
    """Sum products over an axis of each."""
    if one.shape[axis] != other.shape[other_axis]:
        raise ValueError(
            f"shapes {shapes_text([one.shape])} and {shapes_text([other.shape])} not aligned: {one.shape[axis]} (dim "
            f"{axis}) != {other.shape[other_axis]} (dim {other_axis})"
        )
    if other.dim() == 1 or (other.dim() == 2 and other_axis == 0):
        if Loops.suspended:
            return errstate.run("dot", matmul._loops.build((one.dtype, other.dtype)), (one, other))
        try:
            return matmul._loops[one.dtype, other.dtype](one, other)
        except RuntimeError as error:
            raise explain(error) from None
    one, other = _common(one, other)
    if Loops.suspended:
        return errstate.run("dot", lambda x, y: kernels.contract(x, y, [axis], [other_axis]), (one, other))
    return memory.owned(kernels.contract(one, other, [axis], [other_axis]))


def _placed(result: Tensor, out: Any) -> Any:
    """Return the result, or write it to ``out``, which must have its dtype, shape and order."""
    if out is None:
        return wrap(result)
    target = output_tensor(out)
    if target.dtype is not result.dtype or target.dim() != result.dim() or not out.flags.c_contiguous:
        raise ValueError(
            "output array is not acceptable (must have the right datatype, number of dimensions, and be a C-Array)"
        )
    if target.shape != result.shape:
        raise ValueError("output array has wrong dimensions")
    assign(target, result)
    return put_back(out, target)
