"""Flat iteration: an array of any shape as one dimension, in C order, that is read, indexed and written through.

Layer: owns ``numpy.flatiter``. Indexing is that of the array in one dimension.
"""

from __future__ import annotations

import operator
from typing import Any, ClassVar

import numpy as np

from backend_torch.tensors import memory
from backend_torch.tensors.trace_state import TracedValueError
from tnp._core import base
from tnp._core.base import completes, ndarray, wrap_array
from tnp._core.convert import asarray, element_of, sequence_error, without_class
from tnp._core.errors import warn
from tnp._manipulation.shape import resize

_MOST_DIMENSIONS = 32  # of NumPy's iterator, so that a program that runs here also runs with NumPy


@completes(base.flatiter)
class flatiter:
    """A one-dimensional iterator over an array, made by ``x.flat``.

    Attributes
    ----------
    base : ndarray
        The array.
    coords : tuple of int
        Where in the array the iterator is.
    index : int
        How far the iterator is.

    Notes
    -----
    Source: https://numpy.org/doc/stable/reference/generated/numpy.flatiter.html

    Examples
    --------
    >>> import tnp as np
    >>> x = np.zeros((2, 2))
    >>> x.flat[1:3] = 5
    >>> x
    array([[0., 5.],
           [5., 0.]])
    """

    __slots__ = ("_array", "_base", "_index")
    __module__ = "tnp"

    def __init__(self, array: ndarray, base: ndarray | None = None) -> None:
        if array.ndim > _MOST_DIMENSIONS:
            raise RuntimeError(
                f"this function only supports up to {_MOST_DIMENSIONS} dimensions but the array has {array.ndim}."
            )
        self._array = array
        self._base = array if base is None else base  # another one where the array is a broadcast view of it
        self._index = 0

    @property
    def base(self) -> ndarray:
        """The array that is iterated over."""
        return self._base

    @property
    def index(self) -> int:
        """Number of elements that have been passed."""
        return self._index

    @property
    def coords(self) -> tuple[int, ...]:
        """Index into the array of the element that comes next."""
        coordinates = []
        rest = self._index
        for length in reversed(self._array.shape[1:]):
            rest, coordinate = divmod(rest, length) if length else (0, 0)
            coordinates.append(coordinate)
        return (rest, *reversed(coordinates)) if self._array.ndim else ()

    def copy(self, /) -> ndarray:
        """The elements as a new array of one dimension."""
        return self._array.flatten()

    def __array__(self, /, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        elements = self._array.ravel().__array__(dtype, copy)
        if not memory.shares(self._array.tensor, elements):
            elements.flags.writeable = False  # writes to a copy would be lost
        return elements

    def __len__(self) -> int:
        return self._array.size

    def __iter__(self) -> flatiter:
        return self

    def __next__(self) -> ndarray:
        if self._index >= self._array.size:
            raise StopIteration
        element = self._array[self.coords]
        self._index += 1
        return element

    def __getitem__(self, key: Any) -> ndarray:
        self._index = 0
        chosen = self._array.ravel()[_checked(key, self._array.size)]
        return wrap_array(memory.copied(chosen.tensor)) if chosen.ndim else chosen

    def __setitem__(self, key: Any, value: Any) -> None:
        key = _checked(key, self._array.size)
        if isinstance(key, tuple):
            raise IndexError("Assigning to a flat iterator with a 0-D index is not supported")
        self._index = 0
        array = self._array
        if not array.flags.writeable:
            raise ValueError("underlying array is read-only")
        flat = array.ravel()
        if _is_integer(key):
            flat[key]  # NumPy raises IndexError first
            try:
                value = element_of(value, array.dtype)
                if np.ndim(value):
                    raise sequence_error(value, array.dtype)
                flat[key] = value
            except TracedValueError:
                raise
            except (OverflowError, TypeError, ValueError) as error:
                raise ValueError("Error setting single item of array.") from error
        else:
            values = asarray(without_class(value), array.dtype, device=array.device).ravel()
            chosen = flat[key]
            if not values.size:
                return
            flat[key] = values if values.size == 1 else resize(values, chosen.shape)
        if not memory.same_start(flat.tensor, array.tensor):
            array[...] = flat.reshape(array.shape)

    def __delitem__(self, key: Any) -> None:
        raise TypeError("Cannot delete iterator elements")

    def __eq__(self, other: object) -> Any:
        return self._array.ravel() == other

    def __ne__(self, other: object) -> Any:
        return self._array.ravel() != other

    def __lt__(self, other: Any) -> Any:
        return self._array.ravel() < other

    def __le__(self, other: Any) -> Any:
        return self._array.ravel() <= other

    def __gt__(self, other: Any) -> Any:
        return self._array.ravel() > other

    def __ge__(self, other: Any) -> Any:
        return self._array.ravel() >= other

    __hash__: ClassVar[None] = None  # type: ignore[assignment]


def _is_integer(key: Any) -> bool:
    """Whether the key selects one element."""
    return isinstance(key, (int, np.integer)) or (isinstance(key, (ndarray, np.ndarray)) and not key.ndim)


def _checked(key: Any, size: int) -> Any:
    """Return the key for one dimension: an integer, a slice, an Ellipsis or an array; ``()`` stays a tuple."""
    if isinstance(key, tuple):
        if len(key) > 1:
            raise IndexError(
                f"too many indices for flat iterator: flat iterator is 1-dimensional, but {len(key)} were indexed"
            )
        if not key:
            return key
        key = key[0]
    if isinstance(key, (bool, np.bool_)):
        warn("0-dimensional boolean index of an iterator is deprecated", DeprecationWarning)
        return 0 if key and size else slice(0, 0)
    if isinstance(key, flatiter):
        key = key.base.ravel()
    if isinstance(key, list):
        key = _listed(key)
    if isinstance(key, (ndarray, np.ndarray)) and key.dtype == np.bool_ and key.ndim == 1 and key.size != size:
        raise IndexError(
            f"boolean index did not match indexed flat iterator along axis 0; size of axis is {size} but size of "
            f"corresponding boolean axis is {key.size}"
        )
    if key is None or isinstance(key, (float, str)):
        raise IndexError(
            "only integers, slices (`:`), ellipsis (`...`) and integer or boolean arrays are valid indices"
        )
    if isinstance(key, (slice, ndarray, np.ndarray)) or key is Ellipsis:
        return key
    number = operator.index(key)
    if not -size <= number < size:
        raise IndexError(f"index {number} is out of bounds for size {size}")
    return number


def _listed(key: list[Any]) -> np.ndarray:
    """Return a list of integers as an array; other numbers are still accepted, with a warning."""
    array = np.asarray(key, None if key else np.intp)
    if array.dtype.kind == "b":
        raise IndexError(
            "boolean indices for iterators are not supported because of previous behavior that was "
            "confusing (valid boolean indices are expected to work in the future)"
        )
    if array.dtype.kind not in "iu":
        warn("Invalid non-array indices for iterator objects are deprecated", DeprecationWarning)
    return array.astype(np.intp)
