"""Views with arbitrary strides.

Layer: owns their NumPy spelling: strides in bytes, windows along axes.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from backend_torch.tensors import memory
from tnp._core.base import ndarray, strided, wrap_array
from tnp._core.convert import ours, tensor_of
from tnp._core.derived_classes import kept
from tnp._core.errors import check_size, normalize_axes
from tnp._core.public import publish
from tnp._core.readonly_views import readonly_array, view, view_of
from tnp._core.strided_views import with_strides

__all__ = ["as_strided", "sliding_window_view"]


def as_strided(
    x: Any,
    shape: Any = None,
    strides: Any = None,
    subok: bool = False,
    writeable: bool = True,
    *,
    check_bounds: bool | None = None,
) -> ndarray:
    """A view of an array's memory with another shape and other strides.

    Parameters
    ----------
    x : array_like
    shape : sequence of int, optional
    strides : sequence of int, optional
        In bytes.
    subok : bool, optional
        Whether the view is of the array's own class, if that is one derived from ndarray.
    writeable : bool, optional
        False makes the view read-only.
    check_bounds : bool, optional
        Changes nothing: what lies beyond the memory is always refused.

    Returns
    -------
    ndarray

    Raises
    ------
    ValueError
        The view reaches beyond the memory; or its strides are negative or no multiples of the element's size, on an
        accelerator, in a trace, a batch or a derivative.

    Notes
    -----
    A view whose elements share a place (a stride of zero) is computed from a copy: ``broadcast_to`` is faster where
    nothing is written. Differences from NumPy: what lies beyond the array's memory can't be reached.

    Source: https://numpy.org/doc/stable/reference/generated/numpy.lib.stride_tricks.as_strided.html

    Examples
    --------
    >>> import tnp as np
    >>> np.lib.stride_tricks.as_strided(np.arange(4), (3, 2), (8, 8))
    array([[0, 1],
           [1, 2],
           [2, 3]])
    """
    x = ours(x)
    array = x if type(x) is strided else wrap_array(tensor_of(x))
    lengths = array.shape if shape is None else tuple([int(n) for n in shape])
    steps = array.strides if strides is None else tuple([int(n) for n in strides])
    if len(lengths) != len(steps):
        raise ValueError("mismatch in length of strides and shape")
    size = array.itemsize
    steps = tuple([step if n > 1 else size for step, n in zip(steps, lengths, strict=True)])  # of one, none is taken
    check_size(lengths, size)
    is_described = type(array) is not strided and all(step >= 0 and not step % size for step in steps)
    if not is_described or (writeable and 0 in steps):
        if (made := with_strides(array, lengths, steps, writeable)) is not None:
            return view(x, made)
        if not is_described:
            raise ValueError(
                f"a tensor's strides are multiples of the {size} bytes of an element and not negative: {steps}"
            )
    try:
        result = memory.strided(array.tensor, lengths, tuple([step // size for step in steps]))
    except RuntimeError as error:
        raise ValueError(
            f"an array of shape {lengths} and strides {steps} reaches beyond the memory of the given one"
        ) from error
    made = view_of(x, result) if writeable else readonly_array(result, x)
    return kept(x, made) if subok else made


def sliding_window_view(
    x: Any, window_shape: Any, axis: Any = None, *, subok: bool = False, writeable: bool = False
) -> ndarray:
    """All windows of a shape in an array, as a view.

    Parameters
    ----------
    x : array_like
    window_shape : int or tuple of int
    axis : int or tuple of int, optional
        The axes along which the windows slide; all by default.
    subok : bool, optional
        Whether the view is of the array's own class, if that is one derived from ndarray.
    writeable : bool, optional
        True lets the view be written to, where windows overlap in several places at once.

    Returns
    -------
    ndarray
        The windows' own axes come last.

    Raises
    ------
    ValueError
        A window is larger than the array, negative, or has another number of axes than are given.

    Notes
    -----
    Source: https://numpy.org/doc/stable/reference/generated/numpy.lib.stride_tricks.sliding_window_view.html

    Examples
    --------
    >>> import tnp as np
    >>> np.lib.stride_tricks.sliding_window_view(np.arange(4), 3)
    array([[0, 1, 2],
           [1, 2, 3]])
    """
    window = tuple(window_shape) if np.iterable(window_shape) else (window_shape,)
    x = ours(x)
    tensor = tensor_of(x)
    if any(n < 0 for n in window):
        raise ValueError("`window_shape` cannot contain negative values")
    if axis is None:
        axes = tuple(range(tensor.dim()))
        if len(window) != len(axes):
            raise ValueError(
                "Since axis is `None`, must provide window_shape for all dimensions of `x`; got "
                f"{len(window)} window_shape elements and `x.ndim` is {tensor.dim()}."
            )
    else:
        given = axis if isinstance(axis, (tuple, list)) else (axis,)
        axes = tuple([normalize_axes(one, tensor.dim())[0] for one in given])
        if len(window) != len(axes):
            raise ValueError(
                f"Must provide matching length window_shape and axis; got {len(window)} window_shape elements and "
                f"{len(axes)} axes elements."
            )
    lengths, steps = list(tensor.shape), list(tensor.stride())
    for dim, size in zip(axes, window, strict=True):
        if lengths[dim] < size:
            raise ValueError("window shape cannot be larger than input array shape")
        lengths[dim] -= size - 1
    shape = (*lengths, *window)
    result = memory.strided(tensor, shape, (*steps, *[steps[dim] for dim in axes]))
    return view_of(x, result) if writeable else readonly_array(result, x)


publish(sys.modules[__name__], np.lib.stride_tricks)
