"""What an array is to be, without values: its shape and dtype."""

from __future__ import annotations

import operator
from collections.abc import Iterable
from typing import Any

import numpy as np


class ShapeDtypeStruct:
    """The shape and dtype of an array.

    Parameters
    ----------
    shape : int or sequence of int or None
        None is a length that is left open, where that can be.
    dtype : dtype_like

    Attributes
    ----------
    shape : tuple of int or None
    dtype : numpy.dtype

    Raises
    ------
    ValueError
        A length is negative.

    Notes
    -----
    See also ``jax.ShapeDtypeStruct`` and ``tf.TensorSpec``.

    Examples
    --------
    >>> import tnp as np
    >>> np.ShapeDtypeStruct((None, 3), np.float32)
    ShapeDtypeStruct(shape=(None, 3), dtype=float32)
    """

    __slots__ = ("dtype", "shape")

    def __init__(self, shape: int | Iterable[int | None], dtype: Any) -> None:
        lengths: Iterable[Any] = shape if isinstance(shape, Iterable) else (shape,)
        self.shape = tuple([None if length is None else operator.index(length) for length in lengths])
        if any(length is not None and length < 0 for length in self.shape):
            raise ValueError(f"negative dimensions are not allowed: {self.shape}")
        self.dtype = np.dtype(dtype)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ShapeDtypeStruct) and (self.shape, self.dtype) == (other.shape, other.dtype)

    def __hash__(self) -> int:
        return hash((self.shape, self.dtype))

    def __repr__(self) -> str:
        return f"ShapeDtypeStruct(shape={self.shape}, dtype={self.dtype})"


def is_spec(value: Any) -> bool:
    """Whether a value says what an array is to be, as arrays themselves do."""
    return hasattr(value, "shape") and hasattr(value, "dtype")
