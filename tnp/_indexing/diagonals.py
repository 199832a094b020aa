"""Diagonals and triangles: taking, building, indexing and filling them.

Layer: owns the arguments of these functions; a diagonal is a view.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from backend_torch.kernels import indexing, selection
from backend_torch.native import heads
from backend_torch.tensors import devices, interop, memory
from backend_torch.tensors.casting import cast
from backend_torch.tensors.dtypes import to_torch
from tnp._core.base import ndarray, wrap_array
from tnp._core.convert import array, check_like, ours, tensor_of, value_of
from tnp._core.dtypes import tensor_dtype
from tnp._core.errors import int_of, long_of, normalize_axis, too_big
from tnp._core.index_arguments import target_of, writeable_tensor
from tnp._core.numpy_version import NUMPY, deprecated
from tnp._core.readonly_views import as_readonly, readonly_array
from tnp._core.strided_views import put_back
from tnp._creation.ranges import arange
from tnp._indexing.selection import where
from tnp._manipulation.shape import as_length, as_shape

Tensor = Any
BOOL = to_torch[np.dtype(np.bool_)]
_FLOATS_WARN = NUMPY >= "2.5.0"  # NumPy 2.5 deprecates floats as lengths and as the number of a diagonal
_COUNTS = NUMPY >= "2.5.0"  # NumPy 2.5 counts by Python's integers; triu alone subtracts 1 from k before that


def diag(v: Any, k: int = 0) -> ndarray:
    """Extract a diagonal, or build a matrix with one.

    Parameters
    ----------
    v : array_like
        A matrix, or the elements of a diagonal.
    k : int, optional
        Which diagonal; positive ones are above the main one.

    Returns
    -------
    ndarray
        A view of the matrix's diagonal, or a matrix with zeros elsewhere.

    Raises
    ------
    ValueError
        The input has neither one nor two dimensions.

    Notes
    -----
    Difference from NumPy: the view can be written to.

    Source: https://numpy.org/doc/stable/reference/generated/numpy.diag.html

    Examples
    --------
    >>> import tnp as np
    >>> np.diag([1, 2], 1)
    array([[0, 1, 0],
           [0, 0, 2],
           [0, 0, 0]])
    """
    if (view := heads.diagonal(v, k, 0, 1)) is not None and view.ndim == 1:
        return as_readonly(view)
    v = ours(v)
    tensor = tensor_of(v)
    if tensor.dim() == 1:
        return wrap_array(selection.diagonal_matrix(tensor, operator.index(k)))
    if tensor.dim() == 2:
        return readonly_array(selection.diagonal(tensor, int_of(k), 0, 1), v)
    raise ValueError("Input must be 1- or 2-d.")


def diagflat(v: Any, k: int = 0) -> ndarray:
    """Build a matrix with the flattened input as a diagonal.

    Parameters
    ----------
    v : array_like
        The elements of the diagonal.
    k : int, optional
        Which diagonal; positive ones are above the main one.

    Returns
    -------
    ndarray

    Notes
    -----
    Source: https://numpy.org/doc/stable/reference/generated/numpy.diagflat.html

    Examples
    --------
    >>> import tnp as np
    >>> np.diagflat([[1], [2]])
    array([[1, 0],
           [0, 2]])
    """
    return wrap_array(selection.diagonal_matrix(tensor_of(v).reshape(-1), operator.index(k)))


def diagonal(a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1) -> ndarray:
    """The diagonals of the matrices that two axes span.

    Parameters
    ----------
    a : array_like
        At least two-dimensional.
    offset : int, optional
        Which diagonal; positive ones are above the main one.
    axis1, axis2 : int, optional
        The axes of the matrices.

    Returns
    -------
    ndarray
        A view; the diagonal is its last axis, in the place of the two.

    Raises
    ------
    ValueError
        There are fewer than two dimensions, or the axes are the same.

    Notes
    -----
    Difference from NumPy: the view can be written to.

    Source: https://numpy.org/doc/stable/reference/generated/numpy.diagonal.html

    Examples
    --------
    >>> import tnp as np
    >>> np.diagonal([[0, 1], [2, 3]])
    array([0, 3])
    """
    if (view := heads.diagonal(a, offset, axis1, axis2)) is not None:
        return as_readonly(view)
    for number in (offset, axis1, axis2):
        operator.index(number)  # of two errors NumPy raises this one
    a = ours(a)
    tensor = tensor_of(a)
    if tensor.dim() < 2:
        raise ValueError("diag requires an array of at least two dimensions")
    first = normalize_axis(axis1, tensor.dim(), "axis1")
    second = normalize_axis(axis2, tensor.dim(), "axis2")
    if first == second:
        raise ValueError("axis1 and axis2 cannot be the same")
    return readonly_array(selection.diagonal(tensor, int_of(offset), first, second), a)


def tri(N: Any, M: Any = None, k: Any = 0, dtype: Any = float, *, device: Any = None, like: Any = None) -> ndarray:
    """A matrix of ones at and below a diagonal and zeros above it.

    Parameters
    ----------
    N : int
        Number of rows.
    M : int, optional
        Number of columns; by default as many.
    k : float, optional
        Which diagonal; positive ones are above the main one.
    dtype : dtype_like, optional
        The result's dtype.
    device : str or torch.device, optional
        Where the result lives.
    like : ndarray, optional
        Only tnp arrays.

    Returns
    -------
    ndarray

    Notes
    -----
    Source: https://numpy.org/doc/stable/reference/generated/numpy.tri.html

    Examples
    --------
    >>> import tnp as np
    >>> np.tri(3, dtype=int)
    array([[1, 0, 0],
           [1, 1, 0],
           [1, 1, 1]])
    """
    check_like(like)
    columns = N if M is None else M
    _warn_of_floats(N, columns, k)
    return wrap_array(_triangle(N, columns, k, tensor_dtype(dtype), devices.parse(device)))


def _triangle(rows: Any, columns: Any, k: Any, dtype: Any, device: Any) -> Tensor:
    if (mask := _mask(rows, columns, k)) is not None:
        return cast(array(mask, device=device).tensor, dtype)
    rows, columns = max(0, as_length(rows)), max(0, as_length(columns))
    if not isinstance(k, ndarray) or k.ndim or k.dtype.kind not in "iu":
        k = operator.index(k)
    return selection.triangle(rows, columns, k, dtype, device)


def _mask(rows: Any, columns: Any, k: Any, upper: bool = False) -> np.ndarray | None:
    """Return `numpy.tri` where its own numbers decide: arange truncates floats, and NumPy's small integers wrap around.

    Of the upper triangle, ``k - 1`` is the diagonal below. None is returned where Python's integers count the same.
    """
    rows, columns, k = [number if (known := _own_number(number)) is None else known for number in (rows, columns, k)]
    own = [isinstance(number, (float, np.floating, np.integer)) for number in (rows, columns, k)]
    if not any(own) or isinstance(k, ndarray):
        return None
    with np.errstate(over="ignore"):
        below = k - 1 if upper else k
        if _COUNTS:
            rows, columns, below = [int(n) if isinstance(n, np.integer) else n for n in (rows, columns, below)]
        ends = -below, columns - below
    if any(isinstance(number, (float, np.floating)) for number in (rows, columns, k)):  # NumPy 2.5 would warn once more
        return np.greater_equal.outer(np.arange(rows), np.arange(*ends, dtype=np.int64))
    exact = int(k) - upper
    is_counted = exact <= 0 or not isinstance(ends[1], np.unsignedinteger)  # by arange, from below zero on
    if is_counted and ends == (-exact, int(columns) - exact):
        return None
    with np.errstate(over="ignore"):
        return np.tri(rows, columns, below, bool)


def _own_number(number: Any) -> Any:
    """Return an array of no dimensions, whose value is known, as NumPy's number; None for anything else."""
    if not isinstance(number, (ndarray, np.ndarray)) or number.ndim or number.dtype.kind not in "iuf":
        return None
    if isinstance(number, ndarray) and number.dtype.kind != "f" and not memory.may_be_asked(number.tensor):
        return None
    return number.dtype.type(number.item())


def _warn_of_floats(*numbers: Any) -> None:
    """Warn, as NumPy 2.5 does, of a length or a diagonal that is not an integer, but not of one that is refused."""
    floats = [number for number in numbers if _fraction(number) is not None]
    if _FLOATS_WARN and floats and all(map(math.isfinite, floats)):
        text = f"Cannot convert {type(floats[0]).__name__} safely to an integer. This will raise an error in future "
        deprecated(text + "versions (Deprecated NumPy 2.5)")


def _fraction(k: Any) -> Any:
    """Truncate a float as the number of a diagonal, as NumPy's arange does; None for what must be an integer."""
    if isinstance(k, ndarray) and not k.ndim and k.dtype.kind == "f":
        return k.dtype.type(k.item())
    return k if isinstance(k, (float, np.floating)) else None


def tril(m: Any, k: Any = 0) -> ndarray:
    """The lower triangle of an array.

    Parameters
    ----------
    m : array_like
        Its last two axes are the matrices; one dimension counts as equal rows.
    k : float, optional
        The diagonal above which elements become zero.

    Returns
    -------
    ndarray

    Notes
    -----
    Source: https://numpy.org/doc/stable/reference/generated/numpy.tril.html

    Examples
    --------
    >>> import tnp as np
    >>> np.tril([[1, 2], [3, 4]])
    array([[1, 0],
           [3, 4]])
    """
    tensor = _matrices(m)
    if (mask := _mask(tensor.shape[-2], tensor.shape[-1], k)) is not None:
        _warn_of_floats(k)
        return where(array(mask, device=tensor.device), wrap_array(tensor), wrap_array(tensor.new_zeros(1)))
    return wrap_array(selection.tril(tensor, long_of(k)))


def triu(m: Any, k: Any = 0) -> ndarray:
    """The upper triangle of an array.

    Parameters
    ----------
    m : array_like
        Its last two axes are the matrices; one dimension counts as equal rows.
    k : float, optional
        The diagonal below which elements become zero.

    Returns
    -------
    ndarray

    Notes
    -----
    Source: https://numpy.org/doc/stable/reference/generated/numpy.triu.html

    Examples
    --------
    >>> import tnp as np
    >>> np.triu([[1, 2], [3, 4]])
    array([[1, 2],
           [0, 4]])
    """
    tensor = _matrices(m)
    if (mask := _mask(tensor.shape[-2], tensor.shape[-1], k, upper=True)) is not None:
        _warn_of_floats(k)
        return where(array(mask, device=tensor.device), wrap_array(tensor.new_zeros(1)), wrap_array(tensor))
    return wrap_array(selection.triu(tensor, long_of(k)))


def _matrices(m: Any) -> Tensor:
    tensor = tensor_of(m)
    if not tensor.dim():
        raise TypeError("a triangle is taken of an array with at least one dimension")
    return tensor.expand(tensor.shape[0], tensor.shape[0]) if tensor.dim() == 1 else tensor


def diag_indices(n: int, ndim: int = 2) -> tuple[ndarray, ...]:
    """The indices of the main diagonal of an array.

    Parameters
    ----------
    n : int
        Length of each axis.
    ndim : int, optional
        Number of axes.

    Returns
    -------
    tuple of ndarray

    Notes
    -----
    Source: https://numpy.org/doc/stable/reference/generated/numpy.diag_indices.html

    Examples
    --------
    >>> import tnp as np
    >>> np.diag_indices(3)
    (array([0, 1, 2]), array([0, 1, 2]))
    """
    return (arange(n),) * ndim


def _numbers(length: int, device: Any) -> ndarray:
    return wrap_array(selection.numbers(length, device))


def diag_indices_from(arr: Any) -> tuple[ndarray, ...]:
    """The indices of the main diagonal of an array of this shape.

    Parameters
    ----------
    arr : ndarray
        At least two-dimensional, all axes of one length.

    Returns
    -------
    tuple of ndarray

    Raises
    ------
    ValueError
        There are fewer than two dimensions, or their lengths differ.

    Notes
    -----
    Source: https://numpy.org/doc/stable/reference/generated/numpy.diag_indices_from.html

    Examples
    --------
    >>> import tnp as np
    >>> np.diag_indices_from(np.zeros((2, 2)))
    (array([0, 1]), array([0, 1]))
    """
    if arr.ndim < 2:
        raise ValueError("input array must be at least 2-d")
    tensor = tensor_of(arr)
    _check_equal_lengths(tensor)
    return (_numbers(tensor.shape[0], tensor.device),) * tensor.dim()


def _check_equal_lengths(tensor: Tensor) -> None:
    if len(set(tensor.shape)) > 1:
        raise ValueError("All dimensions of input must be of equal length")


def tril_indices(n: Any, k: Any = 0, m: Any = None) -> tuple[ndarray, ...]:
    """The indices of the lower triangle of a matrix.

    Parameters
    ----------
    n : float
        Number of rows.
    k : float, optional
        The highest diagonal that belongs to it.
    m : float, optional
        Number of columns; by default as many.

    Returns
    -------
    tuple of ndarray

    Notes
    -----
    Source: https://numpy.org/doc/stable/reference/generated/numpy.tril_indices.html

    Examples
    --------
    >>> import tnp as np
    >>> np.tril_indices(2)
    (array([0, 1, 1]), array([0, 0, 1]))
    """
    columns = n if m is None else m
    _warn_of_floats(n, columns, k)
    return _lower_places(n, columns, k, devices.state.default)


def triu_indices(n: Any, k: Any = 0, m: Any = None) -> tuple[ndarray, ...]:
    """The indices of the upper triangle of a matrix.

    Parameters
    ----------
    n : float
        Number of rows.
    k : float, optional
        The lowest diagonal that belongs to it.
    m : float, optional
        Number of columns; by default as many.

    Returns
    -------
    tuple of ndarray

    Notes
    -----
    Source: https://numpy.org/doc/stable/reference/generated/numpy.triu_indices.html

    Examples
    --------
    >>> import tnp as np
    >>> np.triu_indices(2)
    (array([0, 0, 1]), array([0, 1, 1]))
    """
    columns = n if m is None else m
    _warn_of_floats(n, columns, k)
    return _upper_places(n, columns, k, devices.state.default)


def _lower_places(rows: Any, columns: Any, k: Any, device: Any) -> tuple[ndarray, ...]:
    _check_places(rows, columns)
    if (mask := _mask(rows, columns, k)) is not None:
        return tuple([array(each, device=device) for each in mask.nonzero()])
    lengths = as_length(rows), as_length(columns)
    return tuple(map(wrap_array, selection.lower_indices(*lengths, int(operator.index(k)), device)))


def _check_places(rows: Any, columns: Any) -> None:
    """Raise ValueError for a matrix whose rows or columns NumPy could not number, however few the places are."""
    if max(rows, columns) >= 1 << 60:
        raise too_big((rows, columns))


def _upper_places(rows: Any, columns: Any, k: Any, device: Any) -> tuple[ndarray, ...]:
    _check_places(rows, columns)
    if _COUNTS and isinstance(known := k if isinstance(k, np.integer) else _own_number(k), np.integer):
        k = int(known)
    if (mask := _mask(rows, columns, k, upper=True)) is not None:
        return tuple([array(each, device=device) for each in (~mask).nonzero()])
    lengths = as_length(rows), as_length(columns)
    return tuple(map(wrap_array, selection.upper_indices(*lengths, int(operator.index(k)), device)))


def tril_indices_from(arr: Any, k: Any = 0) -> tuple[ndarray, ...]:
    """The indices of the lower triangle of a matrix of this shape; see `tril_indices`.

    Parameters
    ----------
    arr : array_like
        A matrix; only its shape matters.
    k : int, default 0
        The diagonal at which the triangle ends: 0 is the main one, 1 the one above it.

    Returns
    -------
    tuple of ndarray of int64
        The rows and the columns of the elements.

    Raises
    ------
    ValueError
        The array is not two-dimensional.

    Notes
    -----
    Source: https://numpy.org/doc/stable/reference/generated/numpy.tril_indices_from.html

    Examples
    --------
    >>> import tnp as np
    >>> np.tril_indices_from(np.zeros((2, 2)), -1)
    (array([1]), array([0]))
    """
    _warn_of_floats(k)
    tensor = _matrix(arr)
    return _lower_places(tensor.shape[0], tensor.shape[1], k, tensor.device)


def triu_indices_from(arr: Any, k: Any = 0) -> tuple[ndarray, ...]:
    """The indices of the upper triangle of a matrix of this shape; see `triu_indices`.

    Parameters
    ----------
    arr : array_like
        A matrix; only its shape matters.
    k : int, default 0
        The diagonal at which the triangle ends: 0 is the main one, 1 the one above it.

    Returns
    -------
    tuple of ndarray of int64
        The rows and the columns of the elements.

    Raises
    ------
    ValueError
        The array is not two-dimensional.

    Notes
    -----
    Source: https://numpy.org/doc/stable/reference/generated/numpy.triu_indices_from.html

    Examples
    --------
    >>> import tnp as np
    >>> np.triu_indices_from(np.zeros((2, 2)), 1)
    (array([0]), array([1]))
    """
    _warn_of_floats(k)
    tensor = _matrix(arr)
    return _upper_places(tensor.shape[0], tensor.shape[1], k, tensor.device)


def _matrix(arr: Any) -> Tensor:
    if arr.ndim != 2:
        raise ValueError("input array must be 2-d")
    return tensor_of(arr)


def mask_indices(n: int, mask_func: Callable[..., Any], k: Any = 0) -> tuple[ndarray, ...]:
    """The indices that a masking function keeps in a square matrix.

    Parameters
    ----------
    n : int
        Number of rows and columns.
    mask_func : callable
        Called with a matrix of ones and ``k``, as are `triu` and `tril`; the nonzero elements of its result count.
    k : scalar, optional
        Passed on.

    Returns
    -------
    tuple of ndarray

    Notes
    -----
    Source: https://numpy.org/doc/stable/reference/generated/numpy.mask_indices.html

    Examples
    --------
    >>> import tnp as np
    >>> np.mask_indices(2, np.triu)
    (array([0, 0, 1]), array([0, 1, 1]))
    """
    n, _ = as_shape((n, n))
    if n < 0:
        raise ValueError("negative dimensions are not allowed")
    ones = heads.ones((n, n), np.int64, "C", None, None)
    if ones is None:
        ones = wrap_array(_triangle(n, n, n, to_torch[np.dtype(np.int64)], devices.state.default))
    mask = mask_func(ones, k)
    if (places := heads.nonzero(mask)) is not None:
        return places
    return tuple(map(wrap_array, selection.nonzero(tensor_of(mask))))


def fill_diagonal(a: ndarray, val: Any, wrap: bool = False) -> None:
    """Fill the main diagonal of an array.

    Parameters
    ----------
    a : ndarray
        At least two-dimensional; with more dimensions all of one length.
    val : array_like
        Written along the diagonal, repeated as needed.
    wrap : bool, optional
        Begin again after each block of a tall matrix.

    Raises
    ------
    ValueError
        There are fewer than two dimensions, or more of different lengths.

    Notes
    -----
    Source: https://numpy.org/doc/stable/reference/generated/numpy.fill_diagonal.html

    Examples
    --------
    >>> import tnp as np
    >>> a = np.zeros((2, 2))
    >>> np.fill_diagonal(a, 5)
    >>> a
    array([[5., 0.],
           [0., 5.]])
    """
    if type(a) is ndarray and a.ndim == 2 and not wrap and type(val) in (int, float):
        if (line := heads.reshape(a, -1)) is not None:
            columns = a.shape[1]
            line[: columns * columns : columns + 1] = val
            return
    if a.ndim < 2:
        raise ValueError("array must be at least 2-d")
    a = target_of(a, val)
    target = writeable_tensor(a, f"fill_diagonal() argument 1 must be an array, not {type(a).__name__}")
    if target.dim() > 2:
        _check_equal_lengths(target)
    else:
        wrap = bool(wrap)  # of two errors NumPy raises this one
    values = interop.moved(value_of(val, a), target.device).reshape(-1)  # a constant is on the host
    if not values.numel():
        return
    if target.dim() > 2:
        blocks = [selection.main_diagonal(target)]
    elif wrap:
        step = target.shape[1] + 1  # by slices: the results of split can't be written to while a gradient is recorded
        blocks = [selection.diagonal(target[i : i + step], 0, 0, 1) for i in range(0, len(target), step)]
    else:
        blocks = [selection.diagonal(target, 0, 0, 1)]
    lengths = [block.shape[0] for block in blocks]
    parts = [values] * len(blocks) if values.numel() == 1 else selection.cycled(values, sum(lengths)).split(lengths)
    for block, part in zip(blocks, parts, strict=True):
        indexing.assign(block, part)
    put_back(a, target)
