"""Into an array: from NumPy, torch, nested lists, scalars and whatever speaks a protocol.

Layer: owns ``asarray`` and ``array`` and what they copy. Python data is read by NumPy itself, so that ragged lists,
overflows and mixed types are judged as NumPy judges them.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from backend_torch import devices, memory
from backend_torch.casting import cast
from backend_torch.dtypes import to_torch
from tnp._array import ndarray, wrap_array
from tnp._dtypes import tensor_dtype

Tensor = Any
_PLAIN = frozenset({int, float, bool, complex})


def tensor_of(value: Any, dtype: Any = None, *, device: Any = None) -> Tensor:
    """Anything array-like as a tensor, without a copy where that can be.

    Parameters
    ----------
    value : array_like
    dtype : dtype_like, optional
        A numeric or boolean dtype; the value's own by default.
    device : torch.device, optional
        Where Python data goes; an array stays where it is.
    """
    if isinstance(value, ndarray):
        tensor = value.tensor
    elif memory.is_tensor(value):
        tensor = value
    elif isinstance(value, np.ndarray):
        tensor = _from_numpy(value)
    elif isinstance(value, (list, tuple)) and _holds_arrays(value):
        tensor = _stacked(value)
    elif hasattr(value, "__dlpack__") and not isinstance(value, np.generic):
        tensor = memory.from_dlpack(value)
    else:
        tensor = _from_python(value, dtype, device)
    return tensor if dtype is None else cast(tensor, tensor_dtype(dtype))


def _from_numpy(array: np.ndarray) -> Tensor:
    if array.dtype not in to_torch:
        wanted = tensor_dtype(array.dtype)  # raises for what no tensor can carry; else a foreign byte order
        return cast(memory.from_numpy(array), wanted)
    return memory.from_numpy(array)


def _from_python(value: Any, dtype: Any, device: Any) -> Tensor:
    """Scalars, lists, buffers, ``__array__``: through NumPy, which also has the errors."""
    if dtype is not None:
        tensor_dtype(dtype)
        array = np.array(value, dtype)
    else:
        array = np.asarray(value)
    tensor = _from_numpy(array)
    device = devices.default if device is None else device
    return tensor if device is None else tensor.to(device)


def _holds_arrays(sequence: Any) -> bool:
    """Whether a nested list has a tnp array or a tensor in it."""
    types = set(map(type, sequence)) - _PLAIN
    return any(
        issubclass(t, ndarray)
        or memory.is_tensor_type(t)
        or (issubclass(t, (list, tuple)) and any(type(item) is t and _holds_arrays(item) for item in sequence))
        for t in types
    )


def _stacked(sequence: Any) -> Tensor:
    """A nested list of arrays as one tensor: stacked, so that gradients and devices are kept."""
    tensors = [tensor_of(item) for item in sequence]
    if len({tuple(t.shape) for t in tensors}) > 1:
        shapes = [tuple(t.shape) for t in tensors]
        raise ValueError(
            "setting an array element with a sequence. The requested array has an inhomogeneous shape after 1 "
            f"dimensions: the elements' shapes are {shapes}"
        )
    dtype = to_torch[np.result_type(*[ndarray_dtype(t) for t in tensors])]
    return memory.stacked([cast(t, dtype) for t in tensors])


def ndarray_dtype(tensor: Tensor) -> np.dtype:
    """The NumPy dtype of a tensor."""
    return wrap_array(tensor).dtype


def asarray(
    a: Any,
    dtype: Any = None,
    order: Any = None,
    *,
    device: Any = None,
    copy: bool | None = None,
    like: Any = None,
) -> ndarray:
    """Convert the input to an array, sharing its memory where that can be.

    Parameters
    ----------
    a : array_like
        A tnp, NumPy or torch array, an object with ``__dlpack__`` or ``__array__``, a scalar or nested sequences.
    dtype : dtype_like, optional
        A numeric or boolean dtype; by default the input's.
    order : {'C', 'F', 'A', 'K'}, optional
        Memory order; 'C' and 'F' copy an array that is in neither.
    device : str or torch.device, optional
        Where the result lives; by default an array stays and Python data goes to the default device.
    copy : bool, optional
        True always copies, False never does and raises where one is needed.
    like : ndarray, optional
        Only tnp arrays.

    Returns
    -------
    ndarray
        The input itself if nothing has to change; else an array over the same memory, or a copy.

    Raises
    ------
    TypeError
        The data has a dtype that no tensor can carry (strings, objects, dates, long doubles).
    ValueError
        Ragged sequences; or ``copy=False`` where a copy is needed.

    Notes
    -----
    Differences from NumPy: a read-only NumPy array and one with negative strides are copied.

    Source: https://numpy.org/doc/stable/reference/generated/numpy.asarray.html

    Examples
    --------
    >>> import tnp as np
    >>> np.asarray([[1, 2], [3, 4]])
    array([[1, 2],
           [3, 4]])
    """
    check_like(like)
    if dtype is None and order is None and device is None and copy is None and type(a) is ndarray:
        return a
    tensor = tensor_of(a, dtype)
    if device is not None:
        tensor = tensor.to(devices.parse(device))
    if order is not None:
        tensor = _ordered(tensor, order)
    shares = _shares(a, tensor)
    if copy is False and not shares:
        raise ValueError("Unable to avoid copy while creating an array as requested.")
    if copy and shares:
        tensor = memory.copied(tensor, order or "K")
    if type(a) is ndarray and tensor is a.tensor:
        return a
    return wrap_array(tensor)


def array(
    object: Any,
    dtype: Any = None,
    *,
    copy: bool | None = True,
    order: Any = "K",
    subok: bool = False,
    ndmin: int = 0,
    ndmax: int = 0,
    like: Any = None,
    device: Any = None,
) -> ndarray:
    """Create an array, a copy of the input by default.

    Parameters
    ----------
    object : array_like
        A tnp, NumPy or torch array, an object with ``__dlpack__`` or ``__array__``, a scalar or nested sequences.
    dtype : dtype_like, optional
        A numeric or boolean dtype; by default the input's.
    copy : bool, optional
        True copies; None only where needed; False raises where one is needed.
    order : {'K', 'A', 'C', 'F'}, optional
        Memory order.
    subok : bool, optional
        Without effect: there are no subclasses.
    ndmin : int, optional
        Dimensions of length one are prepended up to this many.
    ndmax : int, optional
        Nested sequences are read to this depth; deeper ones would be objects, which raise TypeError.
    like : ndarray, optional
        Only tnp arrays.
    device : str or torch.device, optional
        Where the result lives.

    Returns
    -------
    ndarray

    Raises
    ------
    TypeError
        The data has a dtype that no tensor can carry.
    ValueError
        Ragged sequences; or ``copy=False`` where a copy is needed.

    Notes
    -----
    Source: https://numpy.org/doc/stable/reference/generated/numpy.array.html

    Examples
    --------
    >>> import tnp as np
    >>> np.array([1, 2.5])
    array([1. , 2.5])
    """
    if ndmax and not isinstance(object, ndarray):
        object = np.array(object, dtype, ndmax=ndmax)
    result = asarray(object, dtype, order, device=device, copy=copy, like=like)
    if type(object) is ndarray and copy is None and result is object and not ndmin:
        return object
    if result.ndim < ndmin:
        return wrap_array(result.tensor[(None,) * (ndmin - result.ndim)])
    return result


def _ordered(tensor: Tensor, order: str) -> Tensor:
    if order not in ("C", "F", "A", "K"):
        raise ValueError(f"order must be one of 'C', 'F', 'A', or 'K' (got {order!r})")
    if order in ("C", "F"):
        return memory.in_order(tensor, order)
    return tensor


def _shares(source: Any, tensor: Tensor) -> bool:
    """Whether the tensor is over memory that somebody else holds."""
    if isinstance(source, ndarray):
        return memory.same_start(source.tensor, tensor)
    if memory.is_tensor(source):
        return memory.same_start(source, tensor)
    if isinstance(source, np.ndarray):
        return source.size == 0 or memory.starts_at(tensor, source.__array_interface__["data"][0])
    if isinstance(source, (list, tuple, int, float, complex, bool, np.generic)):
        return False
    return True


def check_like(like: Any) -> None:
    """``like=`` names whose array protocol to follow: here that can only be tnp's."""
    if like is not None and not isinstance(like, ndarray):
        raise TypeError(f"like= must be a tnp array, not {type(like).__name__}: use numpy for the other's arrays")
