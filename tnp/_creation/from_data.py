"""From existing data: arrays in a required form, and arrays over buffers, iterators and text.

Layer: owns these functions' requirements. NumPy parses buffers and text on the host.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from backend_torch.native import heads
from backend_torch.tensors import devices, interop, memory
from tnp._core.base import ndarray, strided, wrap_array
from tnp._core.convert import asarray, check_like, tensor_of
from tnp._core.derived_classes import kept
from tnp._core.dtypes import native, numpy_dtype, tensor_dtype
from tnp._core.errors import call
from tnp._core.readonly_views import as_readonly, view_of
from tnp._ufunc.table import isfinite

_FLAGS = {
    "C": "C",
    "C_CONTIGUOUS": "C",
    "CONTIGUOUS": "C",
    "F": "F",
    "F_CONTIGUOUS": "F",
    "FORTRAN": "F",
    "A": "A",
    "ALIGNED": "A",
    "W": "W",
    "WRITEABLE": "W",
    "O": "O",
    "OWNDATA": "O",
    "E": "E",
    "ENSUREARRAY": "E",
}


def asanyarray(
    a: Any, dtype: Any = None, order: Any = None, *, device: Any = None, copy: bool | None = None, like: Any = None
) -> ndarray:
    """Convert the input to an array, but keep classes derived from ndarray.

    Parameters
    ----------
    a : array_like
    dtype : dtype_like, optional
    order : {'C', 'F', 'A', 'K'}, optional
    device : str or torch.device, optional
    copy : bool, optional
    like : ndarray, optional
        All as in `asarray`.

    Returns
    -------
    ndarray

    See Also
    --------
    asarray

    Notes
    -----
    Source: https://numpy.org/doc/stable/reference/generated/numpy.asanyarray.html

    Examples
    --------
    >>> import tnp as np
    >>> np.asanyarray([1, 2])
    array([1, 2])
    """
    return kept(a, asarray(a, dtype, order, device=device, copy=copy, like=like))


def ascontiguousarray(a: Any, dtype: Any = None, *, device: Any = None, like: Any = None) -> ndarray:
    """Return an array in C order with at least one dimension.

    Parameters
    ----------
    a : array_like
    dtype : dtype_like, optional
    device : str or torch.device, optional
        Where the result lives; by default an array stays and Python data goes to the default device.
    like : ndarray, optional
        Only tnp arrays.

    Returns
    -------
    ndarray
        The input itself if it is such an array, else a copy.

    See Also
    --------
    asfortranarray, require

    Notes
    -----
    Source: https://numpy.org/doc/stable/reference/generated/numpy.ascontiguousarray.html

    Examples
    --------
    >>> import tnp as np
    >>> np.ascontiguousarray(np.eye(2).T).flags.c_contiguous
    True
    """
    if dtype is device is like is None and (made := heads.in_order(a, False)) is not None:
        return made
    array = asarray(a, dtype, "C", device=device, like=like)
    return array if array.ndim else view_of(array, array.tensor[None])


def asfortranarray(a: Any, dtype: Any = None, *, device: Any = None, like: Any = None) -> ndarray:
    """Return an array in Fortran order with at least one dimension.

    Parameters
    ----------
    a : array_like
    dtype : dtype_like, optional
    device : str or torch.device, optional
        Where the result lives; by default an array stays and Python data goes to the default device.
    like : ndarray, optional
        Only tnp arrays.

    Returns
    -------
    ndarray
        The input itself if it is such an array, else a copy.

    See Also
    --------
    ascontiguousarray, require

    Notes
    -----
    Source: https://numpy.org/doc/stable/reference/generated/numpy.asfortranarray.html

    Examples
    --------
    >>> import tnp as np
    >>> np.asfortranarray([[1, 2], [3, 4]]).strides
    (8, 16)
    """
    if dtype is device is like is None and (made := heads.in_order(a, True)) is not None:
        return made
    array = asarray(a, dtype, "F", device=device, like=like)
    return array if array.ndim else view_of(array, array.tensor[None])


def isfortran(a: Any) -> bool:
    """Whether an array is in Fortran order and not in C order.

    Parameters
    ----------
    a : ndarray

    Returns
    -------
    bool

    See Also
    --------
    asfortranarray

    Notes
    -----
    Source: https://numpy.org/doc/stable/reference/generated/numpy.isfortran.html

    Examples
    --------
    >>> import tnp as np
    >>> np.isfortran(np.ones((2, 3), order="F")), np.isfortran(np.ones((2, 3)))
    (True, False)
    """
    if not hasattr(a, "flags") and not memory.is_tensor(a):
        raise AttributeError(f"{type(a).__name__!r} object has no attribute 'flags'")
    return bool(a.flags.fnc) if isinstance(a, ndarray) else memory.is_fortran(tensor_of(a))


def asarray_chkfinite(a: Any, dtype: Any = None, order: Any = None) -> ndarray:
    """Convert the input to an array, unless it has NaNs or infinities.

    Parameters
    ----------
    a : array_like
    dtype : dtype_like, optional
    order : {'C', 'F', 'A', 'K'}, optional
        All as in `asarray`.

    Returns
    -------
    ndarray

    Raises
    ------
    ValueError
        An element is not finite.

    See Also
    --------
    asarray

    Notes
    -----
    Source: https://numpy.org/doc/stable/reference/generated/numpy.asarray_chkfinite.html

    Examples
    --------
    >>> import tnp as np
    >>> np.asarray_chkfinite([1.0, 2.0])
    array([1., 2.])
    """
    array = asarray(a, dtype, order)
    if array.dtype.kind not in "biu" and not isfinite(array).all():
        raise ValueError("array must not contain infs or NaNs")
    return array


def require(a: Any, dtype: Any = None, requirements: Any = None, *, like: Any = None) -> ndarray:
    """Return an array that has the dtype and the flags that are required.

    Parameters
    ----------
    a : array_like
    dtype : dtype_like, optional
    requirements : str or sequence of str, optional
        Of 'C_CONTIGUOUS', 'F_CONTIGUOUS', 'ALIGNED', 'WRITEABLE', 'OWNDATA', 'ENSUREARRAY', or their first letters.
    like : ndarray, optional
        Only tnp arrays.

    Returns
    -------
    ndarray
        The input itself if it meets them, else a copy.

    Raises
    ------
    ValueError
        Both orders.
    KeyError
        Another requirement.

    See Also
    --------
    ascontiguousarray, asfortranarray

    Notes
    -----
    Source: https://numpy.org/doc/stable/reference/generated/numpy.require.html

    Examples
    --------
    >>> import tnp as np
    >>> np.require([[1, 2], [3, 4]], requirements=["F", "W"]).flags.f_contiguous
    True
    """
    wanted = {_FLAGS[one.upper()] for one in requirements or ()}
    if wanted >= {"C", "F"}:
        raise ValueError('Cannot specify both "C" and "F" order')
    order = "C" if "C" in wanted else "F" if "F" in wanted else "A"
    array = (asarray if "E" in wanted else asanyarray)(a, dtype, order, like=like)
    if any(not array.flags[one] for one in wanted & {"W", "O"}):
        return array.copy(order)
    return array


def fromiter(iter: Iterable[Any], dtype: Any, count: int = -1, *, device: Any = None, like: Any = None) -> ndarray:
    """Make a vector of the items of an iterable.

    Parameters
    ----------
    iter : iterable
        Of numbers or booleans.
    dtype : dtype_like
        One of subarrays, as ``(2,)i``, gives the result further axes.
    count : int, optional
        How many to read; -1 reads all.
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
        The iterable yields fewer than ``count``.

    See Also
    --------
    asarray

    Notes
    -----
    Source: https://numpy.org/doc/stable/reference/generated/numpy.fromiter.html

    Examples
    --------
    >>> import tnp as np
    >>> np.fromiter((x * x for x in range(4)), int)
    array([0, 1, 4, 9])
    """
    check_like(like)
    wanted = numpy_dtype(dtype)
    if wanted.itemsize == 0:
        raise ValueError("Must specify length when using variable-size data-type.")
    tensor_dtype(wanted.base)
    return _placed(call(np.fromiter, _numbers(iter), wanted, count), devices.parse(device))


def _numbers(items: Iterable[Any]) -> Iterator[Any]:
    """Yield the items, with arrays of one element as numbers."""
    for item in items:
        yield item.item() if isinstance(item, ndarray) else item


def frombuffer(
    buffer: Any, dtype: Any = float, count: int = -1, offset: int = 0, *, device: Any = None, like: Any = None
) -> ndarray:
    """Read a buffer as a vector.

    Parameters
    ----------
    buffer : buffer
        bytes, bytearray, memoryview, array.array and others.
    dtype : dtype_like, optional
        What its bytes mean.
    count : int, optional
        How many elements to read; -1 reads all.
    offset : int, optional
        Bytes to skip.
    device : str or torch.device, optional
        Where the array lives; by default it stays in the buffer's memory.
    like : ndarray, optional
        Only tnp arrays.

    Returns
    -------
    ndarray
        Over the buffer's memory; read-only if that is.

    Raises
    ------
    ValueError
        The buffer is not a whole number of elements long, or too short.

    See Also
    --------
    fromstring : reads text

    Notes
    -----
    Source: https://numpy.org/doc/stable/reference/generated/numpy.frombuffer.html

    Examples
    --------
    >>> import tnp as np
    >>> np.frombuffer(bytearray([1, 2, 3]), dtype=np.uint8)
    array([1, 2, 3], dtype=uint8)
    """
    check_like(like)
    if dtype is not float:  # as it is by default
        native(dtype)
    if isinstance(buffer, ndarray):
        buffer = memory.to_numpy(buffer.tensor)
    array = np.frombuffer(buffer, dtype, count, offset)
    if device is not None:
        return _placed(array, devices.parse(device))
    if (made := heads.of_numpy(array)) is None:
        return asarray(array)
    if not array.flags.writeable:
        memory.with_source(as_readonly(made).tensor, array)
    return made


def from_dlpack(x: Any, /, *, device: Any = None, copy: bool | None = None) -> ndarray:
    """Create an array over the memory of an object with ``__dlpack__``.

    Parameters
    ----------
    x : object
        An array of another library, with ``__dlpack__`` and ``__dlpack_device__``.
    device : str or torch.device, optional
        Where the result lives; by default where ``x`` is.
    copy : bool, optional
        True always copies, False never does and raises where one is needed.

    Returns
    -------
    ndarray

    Raises
    ------
    BufferError
        The object can't export its data.
    ValueError
        ``copy=False`` where a copy is needed.

    Notes
    -----
    Differences from NumPy: memory that another library exports as read-only is copied.

    Source: https://numpy.org/doc/stable/reference/generated/numpy.from_dlpack.html

    Examples
    --------
    >>> import numpy
    >>> import tnp as np
    >>> np.from_dlpack(numpy.arange(3))
    array([0, 1, 2])
    """
    wanted = None if device is None else devices.parse(device)
    if wanted is None and not copy and isinstance(x, (ndarray, np.ndarray)) and not x.flags.writeable:
        return asarray(x)
    if type(x) is strided or (isinstance(x, np.ndarray) and any(step < 0 for step in x.strides)):
        return asarray(x, device=device, copy=copy)  # of negative strides in a capsule torch's C++ ends the process
    return wrap_array(interop.checked(interop.from_dlpack(x, wanted, copy)))


def fromstring(
    string: str, dtype: Any = float, count: int = -1, *, sep: str = "", device: Any = None, like: Any = None
) -> ndarray:
    """Read numbers from text.

    Parameters
    ----------
    string : str
    dtype : dtype_like, optional
        What the numbers are.
    count : int, optional
        How many to read; -1 reads all.
    sep : str
        What separates them; whitespace in it stands for any whitespace.
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
        No separator, or text that is not a number.

    See Also
    --------
    frombuffer : reads binary data

    Notes
    -----
    Source: https://numpy.org/doc/stable/reference/generated/numpy.fromstring.html

    Examples
    --------
    >>> import tnp as np
    >>> np.fromstring("1, 2, 3", dtype=int, sep=",")
    array([1, 2, 3])
    """
    check_like(like)
    native(dtype)
    return _placed(np.fromstring(string, dtype, count, sep=sep), devices.parse(device))


def _placed(array: np.ndarray, device: Any) -> ndarray:
    return wrap_array(interop.moved(tensor_of(array), device))
