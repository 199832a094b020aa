"""Creation: arrays from a shape, a value, or existing data.

Layer: owns dtype, order and device arguments of creation functions. ``_core.convert`` has ``asarray`` and ``array``.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from backend_torch.graphs import symbolic
from backend_torch.kernels.indexing import without_leading_ones
from backend_torch.native import heads
from backend_torch.tensors import creation as kernels
from backend_torch.tensors import devices, memory
from backend_torch.tensors.dtypes import to_numpy
from backend_torch.torch_private import messages
from tnp._core.base import ndarray, wrap_array
from tnp._core.convert import check_like, tensor_of
from tnp._core.dtypes import DtypeError, numpy_dtype, tensor_dtype
from tnp._core.errors import explain, too_big, unassignable
from tnp._core.host_fallback import refused_here
from tnp._manipulation.shape import as_order, as_shape

Shape = tuple[int, ...]
Tensor = Any


def _made(make: Callable[..., Tensor], shape: Any, dtype: Any, order: Any, device: Any, like: Any) -> ndarray:
    """Call the kernel ``make`` with the arguments of a creation function."""
    if like is not None:
        check_like(like)
    sizes = as_shape(_not_none(shape))
    tensor_type = tensor_dtype(dtype)
    if order.__class__ is not str or order != "C":
        order = two_orders(order)
    try:
        return wrap_array(make(sizes, tensor_type, devices.parse(device), order))
    except (RuntimeError, TypeError) as error:
        raise _explained(error, sizes, tensor_type) from None


def _not_none(shape: Any) -> Any:
    if shape is None:
        raise TypeError("Use () not None as shape arguments")
    return shape


def two_orders(order: Any) -> str:
    """Return a memory order as a capital letter, "C" or "F"; None is "C"."""
    letter = as_order(order)
    if letter not in ("C", "F"):
        raise ValueError("only 'C' or 'F' order is permitted")
    return letter


def _explained(error: Exception, sizes: Shape, tensor_type: Any) -> Exception:
    """Return NumPy's error, after torch could not make a tensor of these sizes."""
    if any(size < 0 for size in sizes):
        return ValueError("negative dimensions are not allowed")
    if any(size > np.iinfo(np.intp).max for size in sizes):
        return ValueError("Maximum allowed dimension exceeded")
    if messages.says(error, messages.OVERFLOW):
        return too_big(sizes)
    explained = explain(error)
    if isinstance(explained, MemoryError):
        return _memory_error(tuple(sizes), to_numpy[tensor_type])
    return explained


def _memory_error(shape: Shape, dtype: np.dtype) -> MemoryError:
    """Return NumPy's error, which is of a class without a public name."""
    try:
        np.empty(np.iinfo(np.intp).max, np.uint8)
    except MemoryError as error:
        return type(error)(shape, dtype)
    raise AssertionError("NumPy has allocated all of the address space")


def empty(shape: Any, dtype: Any = None, order: Any = "C", *, device: Any = None, like: Any = None) -> ndarray:
    """Return a new array with arbitrary contents.

    Parameters
    ----------
    shape : int or tuple of int
    dtype : dtype_like, optional
        A numeric or boolean dtype.
    order : {'C', 'F'}, optional
        Memory order.
    device : str or torch.device, optional
        Where the array lives; the default device if None.
    like : ndarray, optional
        Only tnp arrays.

    Returns
    -------
    ndarray

    Raises
    ------
    ValueError
        A negative length.
    TypeError
        A dtype that no tensor can carry.

    See Also
    --------
    zeros, ones, full, empty_like

    Notes
    -----
    Source: https://numpy.org/doc/stable/reference/generated/numpy.empty.html

    Examples
    --------
    >>> import tnp as np
    >>> np.empty((2, 3)).shape
    (2, 3)
    """
    if (made := heads.empty(shape, dtype, order, device, like)) is not None:
        return made
    try:
        return _made(kernels.empty, shape, dtype, order, device, like)
    except DtypeError as error:
        return refused_here(error, np.empty, shape, dtype, order, device=device)


def zeros(shape: Any, dtype: Any = None, order: Any = "C", *, device: Any = None, like: Any = None) -> ndarray:
    """Return a new array of zeros.

    Parameters
    ----------
    shape : int or tuple of int
    dtype : dtype_like, optional
        A numeric or boolean dtype.
    order : {'C', 'F'}, optional
        Memory order.
    device : str or torch.device, optional
        Where the array lives; the default device if None.
    like : ndarray, optional
        Only tnp arrays.

    Returns
    -------
    ndarray

    Raises
    ------
    ValueError
        A negative length.
    TypeError
        A dtype that no tensor can carry.

    See Also
    --------
    empty, ones, full, zeros_like

    Notes
    -----
    Source: https://numpy.org/doc/stable/reference/generated/numpy.zeros.html

    Examples
    --------
    >>> import tnp as np
    >>> np.zeros(2, dtype=int)
    array([0, 0])
    """
    if (made := heads.zeros(shape, dtype, order, device, like)) is not None:
        return made
    try:
        return _made(kernels.zeros, shape, dtype, order, device, like)
    except DtypeError as error:
        return refused_here(error, np.zeros, shape, dtype, order, device=device)


def ones(shape: Any, dtype: Any = None, order: Any = "C", *, device: Any = None, like: Any = None) -> ndarray:
    """Return a new array of ones.

    Parameters
    ----------
    shape : int or tuple of int
    dtype : dtype_like, optional
        A numeric or boolean dtype.
    order : {'C', 'F'}, optional
        Memory order.
    device : str or torch.device, optional
        Where the array lives; the default device if None.
    like : ndarray, optional
        Only tnp arrays.

    Returns
    -------
    ndarray

    Raises
    ------
    ValueError
        A negative length.
    TypeError
        A dtype that no tensor can carry.

    See Also
    --------
    empty, zeros, full, ones_like

    Notes
    -----
    Source: https://numpy.org/doc/stable/reference/generated/numpy.ones.html

    Examples
    --------
    >>> import tnp as np
    >>> np.ones(2)
    array([1., 1.])
    """
    if (made := heads.ones(shape, dtype, order, device, like)) is not None:
        return made
    try:
        return _made(kernels.ones, shape, dtype, order, device, like)
    except DtypeError as error:
        return refused_here(error, np.ones, shape, dtype, order, device=device)


def full(
    shape: Any, fill_value: Any, dtype: Any = None, order: Any = "C", *, device: Any = None, like: Any = None
) -> ndarray:
    """Return a new array filled with a value.

    Parameters
    ----------
    shape : int or tuple of int
    fill_value : scalar or array_like
        Broadcast to the shape.
    dtype : dtype_like, optional
        By default the fill value's.
    order : {'C', 'F'}, optional
        Memory order.
    device : str or torch.device, optional
        Where the array lives; by default that of a filling array, or the default device.
    like : ndarray, optional
        Only tnp arrays.

    Returns
    -------
    ndarray

    Raises
    ------
    ValueError
        A negative length, or a fill value that does not broadcast to the shape.
    OverflowError
        A Python integer that the dtype cannot hold.
    TypeError
        A dtype that no tensor can carry.

    See Also
    --------
    zeros, ones, full_like

    Notes
    -----
    Source: https://numpy.org/doc/stable/reference/generated/numpy.full.html

    Examples
    --------
    >>> import tnp as np
    >>> np.full((2, 2), [1, 2])
    array([[1, 2],
           [1, 2]])
    """
    if (made := heads.full(shape, fill_value, dtype, order, device, like)) is not None:
        return made
    as_shape(_not_none(shape)), numpy_dtype(dtype), two_orders(order)  # NumPy makes the array first
    value, dtype = _fill(fill_value, dtype, shape)
    if device is None and memory.is_tensor(value):
        device = value.device

    def make(shape: Shape, dtype: Any, device: Any, order: str) -> Tensor:
        return kernels.full(shape, value, dtype, device, order)

    try:
        return _made(make, shape, dtype, order, device, like)
    except RuntimeError as error:
        raise _fill_error(error, value, as_shape(shape)) from None


def _fill(value: Any, dtype: Any, shape: Any) -> tuple[Any, Any]:
    """Return a fill value as a Python number of the dtype or as a tensor, and the dtype, by default the value's own."""
    if isinstance(value, (ndarray, np.ndarray, list, tuple, *symbolic.Symbol)) or memory.is_tensor(value):
        tensor = tensor_of(value)
        return without_leading_ones(tensor, 0), to_numpy[tensor.dtype] if dtype is None else dtype
    try:
        number = np.asarray(value) if dtype is None else np.full((), value, numpy_dtype(dtype))
    except (TypeError, ValueError):  # without elements NumPy converts nothing
        if 0 not in as_shape(shape):
            raise
        number = np.zeros((), numpy_dtype(dtype))
    tensor_dtype(number.dtype)
    return number.item(), number.dtype


def _fill_error(error: RuntimeError, value: Any, sizes: Shape) -> Exception:
    """Return NumPy's error for a filling array that does not broadcast to these sizes."""
    if not memory.is_tensor(value) or isinstance(error, NotImplementedError):  # on the meta device there is no value
        return error
    return unassignable(value.shape, sizes)


def _made_like(make: Callable[..., Tensor], prototype: Any, dtype: Any, order: Any, shape: Any, device: Any) -> ndarray:
    """Call ``make(tensor, shape, dtype, device, order)`` for an array, with its dtype and device as defaults."""
    tensor = tensor_of(prototype)
    tensor_type = tensor.dtype if dtype is None else tensor_dtype(dtype)
    sizes = None if shape is None else as_shape(shape)
    order = "K" if order is None else as_order(order)
    place = tensor.device if device is None else devices.parse(device)
    try:
        return wrap_array(make(tensor, sizes, tensor_type, place, order))
    except (RuntimeError, TypeError) as error:
        raise _explained(error, sizes or (), tensor_type) from None


def empty_like(
    prototype: Any, /, dtype: Any = None, order: Any = "K", subok: bool = True, shape: Any = None, *, device: Any = None
) -> ndarray:
    """Return a new array like another, with arbitrary contents.

    Parameters
    ----------
    prototype : array_like
        The array that gives the result its shape, dtype, memory order and device.
    dtype : dtype_like, optional
    order : {'C', 'F', 'A', 'K'}, optional
        'K' is the prototype's memory order.
    subok : bool, optional
        Whether the result keeps the array's class, if that derives from ndarray.
    shape : int or tuple of int, optional
    device : str or torch.device, optional

    Returns
    -------
    ndarray

    See Also
    --------
    empty, zeros_like, ones_like, full_like

    Notes
    -----
    Source: https://numpy.org/doc/stable/reference/generated/numpy.empty_like.html

    Examples
    --------
    >>> import tnp as np
    >>> np.empty_like([[1, 2]]).shape
    (1, 2)
    """
    if shape is device is None and order.__class__ is str and order == "K":
        if (made := heads.like(prototype, None, dtype)) is not None:
            return made
    return _made_like(partial(kernels.like, kernels.empty), prototype, dtype, order, shape, device)


def zeros_like(
    a: Any, dtype: Any = None, order: Any = "K", subok: bool = True, shape: Any = None, *, device: Any = None
) -> ndarray:
    """Return a new array of zeros like another.

    Parameters
    ----------
    a : array_like
        The array that gives the result its shape, dtype, memory order and device.
    dtype : dtype_like, optional
    order : {'C', 'F', 'A', 'K'}, optional
        'K' is the other's memory order.
    subok : bool, optional
        Whether the result keeps the array's class, if that derives from ndarray.
    shape : int or tuple of int, optional
    device : str or torch.device, optional

    Returns
    -------
    ndarray

    See Also
    --------
    zeros, empty_like, ones_like, full_like

    Notes
    -----
    Source: https://numpy.org/doc/stable/reference/generated/numpy.zeros_like.html

    Examples
    --------
    >>> import tnp as np
    >>> np.zeros_like([1, 2])
    array([0, 0])
    """
    if shape is device is None and order.__class__ is str and order == "K":
        if (made := heads.like(a, 0, dtype)) is not None:
            return made
    return _made_like(partial(kernels.like, kernels.zeros), a, dtype, order, shape, device)


def ones_like(
    a: Any, dtype: Any = None, order: Any = "K", subok: bool = True, shape: Any = None, *, device: Any = None
) -> ndarray:
    """Return a new array of ones like another.

    Parameters
    ----------
    a : array_like
        The array that gives the result its shape, dtype, memory order and device.
    dtype : dtype_like, optional
    order : {'C', 'F', 'A', 'K'}, optional
        'K' is the other's memory order.
    subok : bool, optional
        Whether the result keeps the array's class, if that derives from ndarray.
    shape : int or tuple of int, optional
    device : str or torch.device, optional

    Returns
    -------
    ndarray

    See Also
    --------
    ones, empty_like, zeros_like, full_like

    Notes
    -----
    Source: https://numpy.org/doc/stable/reference/generated/numpy.ones_like.html

    Examples
    --------
    >>> import tnp as np
    >>> np.ones_like([1, 2])
    array([1, 1])
    """
    if shape is device is None and order.__class__ is str and order == "K":
        if (made := heads.like(a, 1, dtype)) is not None:
            return made
    return _made_like(partial(kernels.like, kernels.ones), a, dtype, order, shape, device)


def full_like(
    a: Any,
    fill_value: Any,
    dtype: Any = None,
    order: Any = "K",
    subok: bool = True,
    shape: Any = None,
    *,
    device: Any = None,
) -> ndarray:
    """Return a new array like another, filled with a value.

    Parameters
    ----------
    a : array_like
        The array that gives the result its shape, dtype, memory order and device.
    fill_value : scalar or array_like
        Broadcast to the shape.
    dtype : dtype_like, optional
    order : {'C', 'F', 'A', 'K'}, optional
        'K' is the other's memory order.
    subok : bool, optional
        Whether the result keeps the array's class, if that derives from ndarray.
    shape : int or tuple of int, optional
    device : str or torch.device, optional

    Returns
    -------
    ndarray

    Raises
    ------
    ValueError
        The fill value does not broadcast to the shape.
    OverflowError
        A Python integer that the dtype cannot hold.

    See Also
    --------
    full, empty_like, zeros_like, ones_like

    Notes
    -----
    Source: https://numpy.org/doc/stable/reference/generated/numpy.full_like.html

    Examples
    --------
    >>> import tnp as np
    >>> np.full_like([1, 2], 7.5)
    array([7, 7])
    """
    if shape is device is None and order.__class__ is str and order == "K":
        if fill_value is not None and (made := heads.like(a, fill_value, dtype)) is not None:
            return made
    tensor = tensor_of(a)
    dtype = to_numpy[tensor.dtype] if dtype is None else dtype
    value, dtype = _fill(fill_value, dtype, tuple(tensor.shape) if shape is None else shape)

    def make(tensor: Tensor, shape: Shape | None, dtype: Any, device: Any, order: str) -> Tensor:
        return kernels.full_like(tensor, value, shape, dtype, device, order)

    try:
        return _made_like(make, tensor, dtype, order, shape, device)
    except RuntimeError as error:
        raise _fill_error(error, value, tuple(tensor.shape) if shape is None else as_shape(shape)) from None


def eye(
    N: int,
    M: int | None = None,
    k: int = 0,
    dtype: Any = float,
    order: Any = "C",
    *,
    device: Any = None,
    like: Any = None,
) -> ndarray:
    """Return a matrix with ones on a diagonal and zeros elsewhere.

    Parameters
    ----------
    N, M : int
        Rows and columns; as many columns as rows by default.
    k : int, optional
        Which diagonal: 0 is the main one, positive ones are above it.
    dtype : dtype_like, optional
        A numeric or boolean dtype.
    order : {'C', 'F'}, optional
        Memory order.
    device : str or torch.device, optional
        Where the array lives; the default device if None.
    like : ndarray, optional
        Only tnp arrays.

    Returns
    -------
    ndarray

    Raises
    ------
    ValueError
        A negative length.
    TypeError
        A dtype that no tensor can carry.

    See Also
    --------
    identity, diag

    Notes
    -----
    Source: https://numpy.org/doc/stable/reference/generated/numpy.eye.html

    Examples
    --------
    >>> import tnp as np
    >>> np.eye(2, 3, k=1, dtype=int)
    array([[0, 1, 0],
           [0, 0, 1]])
    """
    if M is device is like is None and dtype is float and k.__class__ is int and k == 0:
        if order.__class__ is str and order == "C" and (made := heads.eye(N)) is not None:
            return made
    diagonal = operator.index(k)

    def make(shape: Shape, dtype: Any, device: Any, order: str) -> Tensor:
        rows, columns = shape
        return kernels.eye(rows, columns, max(-rows, min(diagonal, columns)), dtype, device, order)

    return _made(make, (N, N if M is None else M), dtype, order, device, like)


def identity(n: int, dtype: Any = None, *, device: Any = None, like: Any = None) -> ndarray:
    """Return a square matrix with ones on the main diagonal and zeros elsewhere.

    Parameters
    ----------
    n : int
        Rows and columns.
    dtype : dtype_like, optional
        A numeric or boolean dtype, float64 by default.
    device : str or torch.device, optional
        Where the array lives; the default device if None.
    like : ndarray, optional
        Only tnp arrays.

    Returns
    -------
    ndarray

    Raises
    ------
    ValueError
        A negative length.

    See Also
    --------
    eye

    Notes
    -----
    Source: https://numpy.org/doc/stable/reference/generated/numpy.identity.html

    Examples
    --------
    >>> import tnp as np
    >>> np.identity(2)
    array([[1., 0.],
           [0., 1.]])
    """
    return eye(n, dtype=dtype, device=device, like=like)
