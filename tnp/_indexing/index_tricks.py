"""Indices as objects: index expressions, multi-indices, and flat indices to and from multi-indices.

Layer: owns the arguments of these functions.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, Self

import numpy as np
from numpy import ndindex

from backend_torch.kernels import selection
from backend_torch.tensors.casting import cast
from backend_torch.tensors.dtypes import to_numpy
from tnp._core import host_fallback
from tnp._core.base import ndarray, wrap
from tnp._core.convert import as_order, home_of, tensor_of
from tnp._core.dtypes import DtypeError
from tnp._core.errors import broadcast
from tnp._core.index_arguments import index_mode
from tnp._core.indexing import INT64
from tnp._creation.filled import two_orders
from tnp._manipulation.shape import as_shape

__all__ = ["index_exp", "ndenumerate", "ndindex", "ravel_multi_index", "s_", "unravel_index"]

Tensor = Any
_LARGEST = np.iinfo(np.intp).max


class IndexExpression:
    """An index in brackets, as an object: `s_` unchanged, `index_exp` always as a tuple.

    Notes
    -----
    Source: `numpy.s_ <https://numpy.org/doc/stable/reference/generated/numpy.s_.html>`__

    Examples
    --------
    >>> import tnp as np
    >>> np.s_[2::2], np.index_exp[2::2]
    (slice(2, None, 2), (slice(2, None, 2),))
    """

    __slots__ = ("maketuple",)

    def __init__(self, maketuple: bool) -> None:
        self.maketuple = maketuple

    def __getitem__(self, item: Any) -> Any:
        return (item,) if self.maketuple and not isinstance(item, tuple) else item


s_ = IndexExpression(maketuple=False)
index_exp = IndexExpression(maketuple=True)


class ndenumerate:
    """An iterator over an array that yields pairs of a multi-index and an element.

    Parameters
    ----------
    arr : array_like

    Notes
    -----
    Source: https://numpy.org/doc/stable/reference/generated/numpy.ndenumerate.html

    Examples
    --------
    >>> import tnp as np
    >>> [(index, int(x)) for index, x in np.ndenumerate([[1, 2]])]
    [((0, 0), 1), ((0, 1), 2)]
    """

    __slots__ = ("_pairs",)
    _pairs: Iterator[tuple[tuple[int, ...], ndarray]]

    def __new__(cls, arr: Any) -> Self:
        """Return NumPy's iterator where the array holds what no tensor can."""
        made = object.__new__(cls)
        try:
            tensor = tensor_of(arr)
        except DtypeError as error:
            return host_fallback.refused(error, np.ndenumerate, (arr,), {})
        made._pairs = zip(ndindex(*tensor.shape), map(wrap, tensor.reshape(-1).clone().unbind()), strict=True)
        return made

    def __next__(self) -> tuple[tuple[int, ...], ndarray]:
        return next(self._pairs)

    def __iter__(self) -> Iterator[tuple[tuple[int, ...], ndarray]]:
        return self


def unravel_index(indices: Any, shape: Any, order: str = "C") -> tuple[ndarray, ...]:
    """Flat indices as a tuple of index arrays.

    Parameters
    ----------
    indices : array_like of int
        Indices into the flattened array.
    shape : int or tuple of int
        The array's shape.
    order : {'C', 'F'}, optional
        The order in which it is flattened.

    Returns
    -------
    tuple of ndarray
        One for each dimension, of the shape of ``indices``.

    Raises
    ------
    ValueError
        An index is out of bounds.
    TypeError
        The indices are not integers.

    Notes
    -----
    Source: https://numpy.org/doc/stable/reference/generated/numpy.unravel_index.html

    Examples
    --------
    >>> import tnp as np
    >>> np.unravel_index([22, 41, 37], (7, 6))
    (array([3, 6, 6]), array([4, 5, 1]))
    """
    lengths = as_shape(shape)
    if any(length < 0 for length in lengths):
        raise ValueError("lengths of axes must not be negative")
    size = math.prod(lengths)
    if size > _LARGEST:
        raise ValueError(
            "dimensions are too large; arrays and shapes with a total size greater than 'intp' are not supported."
        )
    order = as_order(order)
    positions = _integers(indices)
    order = two_orders(order)  # of two errors NumPy names the indices' first
    bad = selection.outside(positions, 0, size)
    if bad is not None:
        raise ValueError(f"index {bad} is out of bounds for array with size {size}")
    if not lengths and positions.dim():
        raise ValueError("multiple indices are not supported for 0d arrays")
    if order == "F":
        return tuple(map(wrap, reversed(selection.unravel(positions, lengths[::-1]))))
    return tuple(map(wrap, selection.unravel(positions, lengths)))


def ravel_multi_index(multi_index: Any, dims: Any, mode: Any = "raise", order: str = "C") -> ndarray:
    """A tuple of index arrays as flat indices.

    Parameters
    ----------
    multi_index : tuple of array_like of int
        One for each dimension; they broadcast.
    dims : int or tuple of int
        The shape of the array.
    mode : {'raise', 'wrap', 'clip'} or tuple of them, optional
        What to do with indices out of bounds, along all dimensions or along each.
    order : {'C', 'F'}, optional
        The order in which the array is flattened.

    Returns
    -------
    ndarray
        Indices into the flattened array.

    Raises
    ------
    ValueError
        An index is out of bounds and the mode is 'raise'; the arrays do not broadcast or are not one a dimension.
    TypeError
        The indices are not integers.

    Notes
    -----
    Source: https://numpy.org/doc/stable/reference/generated/numpy.ravel_multi_index.html

    Examples
    --------
    >>> import tnp as np
    >>> np.ravel_multi_index(([3, 6, 6], [4, 5, 1]), (7, 6))
    array([22, 41, 37])
    """
    lengths = as_shape(dims)
    order = as_order(order)
    modes = tuple(map(index_mode, mode)) if isinstance(mode, (tuple, list)) else (index_mode(mode),) * len(lengths)
    if len(modes) != len(lengths):
        raise ValueError(f"list of clipmodes has wrong length ({len(modes)} instead of {len(lengths)})")
    order = two_orders(order)  # of two errors NumPy names the modes' first
    if len(multi_index) != len(lengths):
        raise ValueError(f"parameter multi_index must be a sequence of length {len(lengths)}")
    if math.prod(lengths) > _LARGEST:
        raise ValueError("invalid dims: array size defined by dims is larger than the maximum possible size.")
    home = home_of(multi_index)
    arrays = [_integers(array, home) for array in multi_index]
    shapes = [tuple(array.shape) for array in arrays]
    elements = math.prod(broadcast(*shapes))
    if elements and 0 in lengths:
        raise ValueError("cannot unravel if shape has zero entries (is empty).")
    if elements:
        arrays = [_valid(array, size, one) for array, size, one in zip(arrays, lengths, modes, strict=True)]
    if order == "F":
        return wrap(selection.ravel(arrays[::-1], lengths[::-1]))
    return wrap(selection.ravel(arrays, lengths))


def _integers(value: Any, home: Any = None) -> Tensor:
    """Return indices as int64; floats and an empty list of unknown type raise."""
    tensor = tensor_of(value, device=home)
    if to_numpy[tensor.dtype].kind not in "biu":
        if not tensor.numel() and not isinstance(value, (ndarray, np.ndarray)):
            raise TypeError(
                "indices must be integral: the provided empty sequence was inferred as float. "
                "Wrap it with 'np.array(indices, dtype=np.intp)'"
            )
        raise TypeError("only int indices permitted")
    return cast(tensor, INT64)


def _valid(array: Tensor, size: int, mode: str) -> Tensor:
    if mode == "wrap":
        return selection.wrapped(array, size)
    if mode == "clip":
        return selection.clipped(array, size)
    if selection.outside(array, 0, size) is not None:
        raise ValueError("invalid entry in coordinates array")
    return array
