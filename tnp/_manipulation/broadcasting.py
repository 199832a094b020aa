"""Broadcasting: views of arrays in a larger shape, and in their common shape.

Layer: owns NumPy's errors for shapes that do not broadcast. torch makes the views.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from backend_torch.native import heads
from backend_torch.tensors import shape as kernels
from tnp._core.base import ndarray
from tnp._core.convert import ours, tensor_of
from tnp._core.errors import check_size, explain, shapes_text
from tnp._core.readonly_views import readonly_array, view_of
from tnp._manipulation.shape import Shape, as_shape


def broadcast_to(array: Any, shape: Any, subok: bool = False) -> ndarray:
    """Return a view of an array in a larger shape, without a copy of its elements.

    Parameters
    ----------
    array : array_like
    shape : int or tuple of int
    subok : bool, optional
        Whether the result keeps the array's class, if that derives from ndarray.

    Returns
    -------
    ndarray
        A view whose elements share memory, and which is therefore read-only.

    Raises
    ------
    ValueError
        The array does not broadcast to the shape.

    See Also
    --------
    broadcast_arrays, broadcast_shapes

    Notes
    -----
    Source: https://numpy.org/doc/stable/reference/generated/numpy.broadcast_to.html

    Examples
    --------
    >>> import tnp as np
    >>> np.broadcast_to([1, 2, 3], (2, 3))
    array([[1, 2, 3],
           [1, 2, 3]])
    """
    bool(subok)
    if (view := heads.broadcast_to(array, shape)) is not None:
        return view
    array = ours(array)
    tensor, lengths = tensor_of(array), as_shape(tuple(shape) if np.iterable(shape) else (shape,))
    if lengths and min(lengths) < 0:
        raise ValueError("all elements of broadcast shape must be non-negative")
    check_size(lengths, tensor.itemsize)
    try:
        return readonly_array(tensor.expand(lengths), array)
    except TypeError as error:
        raise explain(error) from None
    except RuntimeError:
        if not lengths:
            raise ValueError("cannot broadcast a non-scalar to a scalar array") from None
        raise ValueError(
            "operands could not be broadcast together with remapped shapes [original->remapped]: "
            f"{shapes_text([tensor.shape])}  and requested shape {shapes_text([lengths])}"
        ) from None


def broadcast_arrays(*args: Any, subok: bool = False) -> tuple[ndarray, ...]:
    """Return views of all arrays in their common shape.

    Parameters
    ----------
    *args : array_like
    subok : bool, optional
        Whether the result keeps the array's class, if that derives from ndarray.

    Returns
    -------
    tuple of ndarray
        Views; one in which elements share memory is read-only.

    Raises
    ------
    ValueError
        The shapes do not fit.

    See Also
    --------
    broadcast_to, broadcast_shapes

    Notes
    -----
    Source: https://numpy.org/doc/stable/reference/generated/numpy.broadcast_arrays.html

    Examples
    --------
    >>> import tnp as np
    >>> x, y = np.broadcast_arrays([1, 2], [[3], [4]])
    >>> y
    array([[3, 3],
           [4, 4]])
    """
    bool(subok)  # an array of several elements has no truth value
    args = tuple([ours(array) for array in args])
    tensors = [tensor_of(array) for array in args]
    try:
        return tuple([view_of(x, tensor) for x, tensor in zip(args, kernels.broadcast(tensors), strict=True)])
    except RuntimeError as error:
        refusal = error
    np.broadcast_shapes(*[tuple(tensor.shape) for tensor in tensors])  # raises NumPy's error
    raise refusal


def broadcast_shapes(*args: Any) -> Shape:
    """Return the shape that these shapes broadcast to.

    Parameters
    ----------
    *args : int or tuple of int

    Returns
    -------
    tuple of int

    Raises
    ------
    ValueError
        The shapes do not fit.

    See Also
    --------
    broadcast_to, broadcast_arrays

    Notes
    -----
    Source: https://numpy.org/doc/stable/reference/generated/numpy.broadcast_shapes.html

    Examples
    --------
    >>> import tnp as np
    >>> np.broadcast_shapes((3, 1), 2)
    (3, 2)
    """
    return np.broadcast_shapes(*[as_shape(shape) for shape in args])
