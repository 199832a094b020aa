"""Sorting, partitioning and searching in sorted arrays.

Layer: owns the public functions and their argument checks. ``order=`` names fields, which no tnp array has.
"""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from backend_torch.kernels import selection
from backend_torch.kernels import sorting as kernels
from backend_torch.tensors.casting import cast
from backend_torch.tensors.dtypes import to_numpy
from tnp._core.base import ndarray, wrap, wrap_array
from tnp._core.convert import tensor_of, tensors_of
from tnp._core.dtypes import DtypeError, tensor_dtype
from tnp._core.errors import check_line, explain, integer_axis, integer_of, normalize_axis

Tensor = Any
_STABLE = {"s", "m"}  # stable, mergesort
_UNSTABLE = {"q", "h"}  # quicksort, heapsort


def sort(
    a: Any,
    axis: Any = -1,
    kind: Any = None,
    order: Any = None,
    *,
    stable: bool | None = None,
    descending: bool | None = None,
) -> ndarray:
    """Sorted copy of an array.

    Parameters
    ----------
    a : array_like
    axis : int, optional
        The axis to sort along; None flattens the array first.
    kind : {'quicksort', 'mergesort', 'heapsort', 'stable'}, optional
        'stable' and 'mergesort' keep the order of equal elements, which is visible only for zeros of both signs.
    order : None
        Only None: arrays have no fields.
    stable : bool, optional
        The Array API's argument for a stable sort.
    descending : bool, optional
        Largest first; NaN stays last, and a stable sort keeps the order of equal elements.

    Returns
    -------
    ndarray

    Raises
    ------
    AxisError
        The array has no such axis.
    ValueError
        ``kind`` is unknown or given beside ``stable`` or ``descending``, or there is an ``order``.

    Notes
    -----
    NaN is sorted last. Complex numbers are sorted by real part, then imaginary part.

    Source: https://numpy.org/doc/stable/reference/generated/numpy.sort.html

    Examples
    --------
    >>> import tnp as np
    >>> np.sort(np.asarray([[1, 4], [3, 1]]), axis=None)
    array([1, 1, 3, 4])
    """
    tensor = tensor_of(a)
    axis = None if axis is None else operator.index(axis)
    if axis is None:
        tensor, axis = tensor.reshape(-1), 0
    is_stable = _is_stable(kind, stable, descending)
    _check_no_order(order)
    axis = normalize_axis(axis, tensor.dim())
    try:
        return wrap_array(kernels.sort(tensor, axis, is_stable, bool(descending)))
    except RuntimeError as error:
        raise explain(error) from None


def argsort(
    a: Any,
    axis: Any = -1,
    kind: Any = None,
    order: Any = None,
    *,
    stable: bool | None = None,
    descending: bool | None = None,
) -> ndarray:
    """Indices that sort an array.

    Parameters
    ----------
    a : array_like
    axis : int, optional
        The axis to sort along; None flattens the array first.
    kind : {'quicksort', 'mergesort', 'heapsort', 'stable'}, optional
        'stable' and 'mergesort' keep the order of equal elements, and so does the default.
    order : None
        Only None: arrays have no fields.
    stable : bool, optional
        The Array API's argument for a stable sort, which is its default.
    descending : bool, optional
        Largest first; NaN stays last, and a stable sort keeps the order of equal elements.

    Returns
    -------
    ndarray
        Of int64.

    Raises
    ------
    AxisError
        The array has no such axis.
    ValueError
        ``kind`` is unknown or given beside ``stable`` or ``descending``, or there is an ``order``.

    Notes
    -----
    Differences from NumPy: on an accelerator a sort that is not stable may order equal elements differently.

    Source: https://numpy.org/doc/stable/reference/generated/numpy.argsort.html

    Examples
    --------
    >>> import tnp as np
    >>> np.argsort(np.asarray([3, 1, 2]))
    array([1, 2, 0])
    """
    axis = None if axis is None else integer_of(axis)
    tensor = _line_of_scalar(tensor_of(a), axis)
    if axis is None:
        tensor, axis = tensor.reshape(-1), 0
    is_stable = (kind is None and stable is None) or _is_stable(kind, stable, descending)
    _check_no_order(order)
    return wrap_array(kernels.argsort(tensor, normalize_axis(axis, tensor.dim()), is_stable, bool(descending)))


def partition(a: Any, kth: Any, axis: Any = -1, kind: str = "introselect", order: Any = None) -> ndarray:
    """Partitioned copy of an array: the k-th element where a sort puts it, smaller ones before, larger ones after.

    Parameters
    ----------
    a : array_like
    kth : int or sequence of int
        The elements to put where a sort puts them.
    axis : int, optional
        The axis to sort along; None flattens the array first.
    kind : {'introselect'}, optional
    order : None
        Only None: arrays have no fields.

    Returns
    -------
    ndarray

    Raises
    ------
    AxisError
        The array has no such axis.
    TypeError
        ``kth`` is not an integer.
    ValueError
        ``kth`` is out of bounds, ``kind`` is unknown, or there is an ``order``.

    Notes
    -----
    Differences from NumPy: on an accelerator the elements on either side are sorted.

    Source: https://numpy.org/doc/stable/reference/generated/numpy.partition.html

    Examples
    --------
    >>> import tnp as np
    >>> np.partition(np.asarray([7, 1, 5, 3]), 2)[2]
    np.int64(5)
    """
    _check_kind(kind)
    tensor = tensor_of(a)
    if axis is None:
        tensor, axis = tensor.reshape(-1), 0
    dim = normalize_axis(axis, tensor.dim())
    return wrap_array(kernels.partition(tensor, dim, _positions(kth, tensor, dim, kind, order)))


def argpartition(a: Any, kth: Any, axis: Any = -1, kind: str = "introselect", order: Any = None) -> ndarray:
    """Indices that partition an array.

    Parameters
    ----------
    a : array_like
    kth : int or sequence of int
        The elements to put where a sort puts them.
    axis : int, optional
        The axis to sort along; None flattens the array first.
    kind : {'introselect'}, optional
    order : None
        Only None: arrays have no fields.

    Returns
    -------
    ndarray
        Of int64.

    Raises
    ------
    AxisError
        The array has no such axis.
    TypeError
        ``kth`` is not an integer.
    ValueError
        ``kth`` is out of bounds, ``kind`` is unknown, or there is an ``order``.

    Notes
    -----
    Differences from NumPy: on an accelerator the elements on either side are sorted.

    Source: https://numpy.org/doc/stable/reference/generated/numpy.argpartition.html

    Examples
    --------
    >>> import tnp as np
    >>> x = np.asarray([7, 1, 5, 3])
    >>> x[np.argpartition(x, 2)][2]
    np.int64(5)
    """
    tensor = _line_of_scalar(tensor_of(a), axis)
    if axis is None:
        tensor, axis = tensor.reshape(-1), 0
    dim = integer_axis(axis, tensor.dim())
    return wrap_array(kernels.argpartition(tensor, dim, _positions(kth, tensor, dim, kind, order)))


def _line_of_scalar(tensor: Tensor, axis: Any) -> Tensor:
    """Return a 0-d array as NumPy's ``arg`` functions read it: one element, with an axis."""
    return tensor if tensor.dim() else tensor.reshape(1)


def _check_no_order(order: Any) -> None:
    if order is not None:
        raise ValueError("Cannot specify order when the array has no fields.")


def _check_kind(kind: Any) -> None:
    if not isinstance(kind, str):
        raise TypeError(f"select kind must be str, not {type(kind).__name__}")


def _is_stable(kind: Any, stable: bool | None, descending: bool | None) -> bool:
    """Whether the sort has to be stable; NumPy reads the first letter of ``kind``, in either case."""
    if kind is None:
        return bool(stable)
    if not isinstance(kind, str):
        raise TypeError(f"sort kind must be str, not {type(kind).__name__}")
    if stable is not None or descending is not None:
        raise ValueError("`kind` and keyword parameters can't be provided at the same time. Use only one of them.")
    letter = kind[:1].lower()
    if letter not in _STABLE | _UNSTABLE:
        raise ValueError(f"sort kind must be one of 'quick', 'heap', or 'stable' (got {kind!r})")
    return letter in _STABLE


def _positions(kth: Any, tensor: Tensor, dim: int, kind: Any, order: Any) -> list[int]:
    """Return ``kth`` as positions along an axis of a tensor."""
    size = tensor.shape[dim] if tensor.numel() else 0
    _check_kind(kind)
    if kind[:1].lower() != "i":
        raise ValueError(f"select kind must be 'introselect' (got {kind!r})")
    _check_no_order(order)
    positions = np.asarray(kth)
    if positions.dtype.kind == "b":
        raise ValueError("Booleans unacceptable as partition index")
    if positions.ndim > 1:
        raise ValueError(f"object too deep for desired array: kth has {positions.ndim} dimensions")
    if positions.dtype.kind not in "iu":
        raise TypeError("Partition index must be integer")
    for position in positions.ravel().tolist():
        if size and not -size <= position < size:  # without elements every k is valid
            raise ValueError(f"kth(={position}) out of bounds ({size})")
    return [position % size if size else 0 for position in positions.ravel().tolist()]


def searchsorted(a: Any, v: Any, side: str = "left", sorter: Any = None) -> ndarray:
    """Indices at which to insert values into a sorted array to keep it sorted.

    Parameters
    ----------
    a : array_like, one-dimensional
        In ascending order, or brought into it by ``sorter``.
    v : array_like
        What to look for.
    side : {'left', 'right'}, optional
        Whether to insert before or after equal elements.
    sorter : array_like of int, optional
        Indices that sort ``a``, as ``argsort`` gives them.

    Returns
    -------
    ndarray
        Of int64 and the shape of ``v``; a scalar if that is 0-d.

    Raises
    ------
    TypeError
        ``sorter`` does not hold integers, or is not one-dimensional.
    ValueError
        ``a`` is not one-dimensional, ``side`` is unknown, or ``sorter`` is of another size than ``a``.

    Notes
    -----
    NaN comes last, as in ``sort``. The last element of a float array has to be read for that: the host waits for
    an accelerator.

    Source: https://numpy.org/doc/stable/reference/generated/numpy.searchsorted.html

    Examples
    --------
    >>> import tnp as np
    >>> np.searchsorted(np.asarray([11, 12, 13, 14, 15]), np.asarray([-10, 20, 12, 13]))
    array([0, 5, 1, 2])
    """
    line, values = tensors_of(a, v)
    check_line(line.shape)
    if not isinstance(side, (str, bytes)):
        raise TypeError(f"search side must be str, not {type(side).__name__}")
    name: Any = side
    if isinstance(name, bytes):
        name = name.decode("latin-1")
    if name not in ("left", "right"):
        if name[:1] in ("l", "L", "r", "R"):  # NumPy's text depends on the first letter
            raise ValueError("search side must be one of 'left' or 'right'")
        raise ValueError(f"search side must be 'left' or 'right' (got {side!r})")
    order = None
    if sorter is not None:
        order = tensor_of(sorter, device=line.device)
        if to_numpy[order.dtype].kind not in "iu":
            raise TypeError("sorter must only contain integers")
        if order.dim() != 1:
            raise TypeError(f"could not parse sorter argument: it has {order.dim()} dimensions, not one")
        if order.shape != line.shape:
            raise ValueError("sorter.size must equal a.size")
        order = cast(order, tensor_dtype(np.int64))
        if selection.outside(order, 0, line.shape[0]) is not None:
            raise ValueError("Sorter index out of range.")
    # NumPy treats a Python scalar here as an array.
    dtype = tensor_dtype(np.promote_types(to_numpy[line.dtype], to_numpy[values.dtype]))
    return wrap(kernels.searchsorted(cast(line, dtype), cast(values, dtype), name == "right", order))


def lexsort(keys: Any, axis: Any = -1) -> ndarray:
    """Indices that sort by several keys, the last one first.

    Parameters
    ----------
    keys : sequence of array_like, or ndarray
        Of one shape; the rows of an array are keys. The last is the primary one. If there are strings, dates or
        objects among them, NumPy sorts on the host.
    axis : int, default -1
        The axis to sort along.

    Returns
    -------
    ndarray
        Of int64.

    Raises
    ------
    AxisError
        The keys have no such axis.
    TypeError
        There are no keys.
    ValueError
        The keys differ in shape.

    Notes
    -----
    Source: https://numpy.org/doc/stable/reference/generated/numpy.lexsort.html

    Examples
    --------
    >>> import tnp as np
    >>> np.lexsort((np.asarray([9, 4, 0]), np.asarray([1, 5, 1])))
    array([2, 0, 1])
    """
    dim = operator.index(axis)
    if isinstance(keys, (ndarray, np.ndarray)):
        keys = tensor_of(keys)
        keys = list(keys) if keys.dim() else []
    try:
        tensors = tensors_of(*keys)
    except DtypeError:
        raise
    except TypeError as error:
        if isinstance(keys, (list, tuple)):
            raise
        raise TypeError("need sequence of keys with len > 0 in lexsort") from error
    if not tensors:
        raise TypeError("need sequence of keys with len > 0 in lexsort")
    if any(tensor.shape != tensors[0].shape for tensor in tensors):
        raise ValueError("all keys need to be the same shape")
    if not tensors[0].dim():
        normalize_axis(dim, 1)
        return wrap(kernels.lexsort([tensors[0].reshape(1)], 0).reshape(()))
    return wrap_array(kernels.lexsort(tensors, normalize_axis(dim, tensors[0].dim())))


def sort_complex(a: Any) -> ndarray:
    """Sorted complex copy of an array, along its last axis.

    Parameters
    ----------
    a : array_like

    Returns
    -------
    ndarray
        complex64 for integers of 8 and 16 bits, complex128 for other real dtypes.

    Raises
    ------
    AxisError
        The array is 0-d.

    Notes
    -----
    Source: https://numpy.org/doc/stable/reference/generated/numpy.sort_complex.html

    Examples
    --------
    >>> import tnp as np
    >>> np.sort_complex(np.asarray([5, 3, 6]))
    array([3.+0.j, 5.+0.j, 6.+0.j])
    """
    tensor = tensor_of(a)
    if not tensor.is_complex():
        small = to_numpy[tensor.dtype] in (np.int8, np.uint8, np.int16, np.uint16)
        tensor = cast(tensor, tensor_dtype(np.complex64 if small else np.complex128))
    return sort(wrap_array(tensor))
