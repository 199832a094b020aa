"""The classes of views that no tensor can describe: the methods that read or write memory.

Layer: owns these methods. All other methods are those of every array: they compute with ``tensor``, which is a copy.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NoReturn

import numpy as np

from backend_torch.tensors import host_views
from backend_torch.tensors.dtypes import to_numpy
from tnp._array.operators import operators
from tnp._core import base
from tnp._core.base import completes, ndarray, wrap, wrap_array
from tnp._core.convert import as_order, tensor_of
from tnp._core.dtypes import tensor_dtype
from tnp._core.errors import NO_IMAGINARY_PART
from tnp._core.indexing import get_item
from tnp._core.interop import host_values
from tnp._core.numpy_version import NUMPY
from tnp._core.strided_views import (
    addresses,
    basic,
    copied,
    is_itself,
    locked,
    made_of,
    over,
    put_back,
    reread,
    stand_in,
    view_of,
)  # fmt: skip

Tensor = Any


def _inplace(name: str, ufunc: Any) -> Any:
    """Make an in-place operator that takes the general path: the fast path writes to the tensor."""
    if ufunc.signature is not None:
        return ufunc.inplace  # a matrix product has this path only
    return lambda self, other: ufunc._defer_or_call(self, other, out=self)


def _item(x: Any, key: Any) -> Any:
    """Return ``x[key]`` by the copy of the elements; a view of the copy becomes a view of the array."""
    found = get_item(wrap_array(x.tensor), key)
    if type(found) is base.indirect:
        found.origin = x
        return found if x.host.flags.writeable else locked(found)
    return view_of(x, found.tensor) if type(found) is ndarray else found


def _assign(x: ndarray, key: Any, value: Any) -> None:
    """Do ``x[key] = value`` by the copy of the elements."""
    if not is_itself(value, x, key):
        tensor = x.tensor
        wrap_array(tensor)[key] = value
        put_back(x, tensor)


class _Parts(ndarray):
    """The real and the imaginary part, which are views in their turn."""

    __slots__ = ()

    @property
    def real(self) -> ndarray:
        """The real part; a view."""
        return ndarray.real.__get__(self)

    @real.setter
    def real(self, value: Any) -> None:
        self.real[...] = value

    @property
    def imag(self) -> ndarray:
        """The imaginary part; a view of a complex array, zeros for a real one."""
        return ndarray.imag.__get__(self)

    @imag.setter
    def imag(self, value: Any) -> None:
        if self.dtype.kind != "c":
            raise TypeError(NO_IMAGINARY_PART)
        self.imag[...] = value


@completes(base.strided, operators(inplace=_inplace))
class strided(_Parts):
    """A view of CPU memory with a negative stride, or with a stride of any number of bytes.

    Attributes
    ----------
    host : numpy.ndarray
        The view itself.
    ahead : torch.Tensor
        The same elements in the same memory, with axes of negative strides reversed.
    turn : Turn
        How the elements lie in ``ahead``.
    """

    __slots__ = ("ahead", "given", "host", "turn")

    ahead: Tensor
    given: Tensor | None
    host: np.ndarray
    turn: host_views.Turn

    @property
    def tensor(self) -> Tensor:
        """A copy of the values as a torch.Tensor; writing to it does not change the array."""
        return stand_in(self)

    @tensor.setter
    def tensor(self, tensor: Tensor) -> NoReturn:
        raise TypeError("a view with a negative step keeps its memory: make another array of the tensor")

    # Attributes.

    @property
    def dtype(self) -> np.dtype:
        """NumPy dtype of the elements; assignment reinterprets the same bytes."""
        return self.host.dtype

    @dtype.setter
    def dtype(self, dtype: Any) -> None:
        ndarray.dtype.__set__(self, dtype)  # type: ignore[attr-defined]

    def _set_dtype(self, dtype: Any) -> None:
        tensor_dtype(dtype)
        self.host = self.host.view(dtype)

    @property
    def shape(self) -> tuple[int, ...]:
        """Length of each axis; assignment reshapes in place, without a copy."""
        return self.host.shape

    @shape.setter
    def shape(self, shape: Any) -> None:
        ndarray.shape.__set__(self, shape)  # type: ignore[attr-defined]

    def _set_shape(self, shape: Any) -> None:
        host: Any = self.host[...]
        if NUMPY < "2.5.0":
            host.shape = shape
        else:
            host._set_shape(shape)  # without a warning
        self.host = host

    ndim = property(lambda self: self.host.ndim, doc="Number of axes.")
    size = property(lambda self: self.host.size, doc="Number of elements.")
    itemsize = property(lambda self: self.host.itemsize, doc="Bytes of an element.")
    nbytes = property(lambda self: self.host.nbytes, doc="Bytes of all elements.")
    strides = property(lambda self: self.host.strides, doc="Bytes from one element to the next along each axis.")
    device = property(lambda self: self.ahead.device, doc="Device of the elements (a torch.device).")
    flags = property(lambda self: self.host.flags, doc="Memory layout.")

    @property
    def base(self) -> ndarray | None:
        """The array that this one is a view of."""
        return wrap_array(self.ahead).base

    def __len__(self) -> int:
        return len(self.host)

    # Reading.

    def __getitem__(self, key: Any) -> Any:
        items = basic(key) if host_views.are_had() else None
        if items is None:
            return _item(self, key)
        chosen = self.host[items]
        if isinstance(chosen, np.ndarray):
            return over(chosen, self.ahead)
        return _item(self, key) if host_views.has_gradient(self.ahead) else wrap(tensor_of(chosen))

    def __iter__(self) -> Iterator[Any]:
        if not self.host.ndim:
            raise TypeError("iteration over a 0-d array")
        return (self[i] for i in range(len(self.host)))

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        """NumPy's view of the same memory."""
        host = host_values(self)
        return host if dtype is None and not copy else np.array(host, dtype, copy=copy)

    @property
    def __array_interface__(self) -> dict[str, Any]:
        """The elements' memory for libraries that read NumPy's array interface."""
        return {**self.host.__array_interface__, "strides": self.host.strides}

    def __dlpack__(
        self,
        *,
        stream: Any = None,
        max_version: tuple[int, int] | None = None,
        dl_device: Any = None,
        copy: bool | None = None,
    ) -> Any:
        """A DLPack capsule of a copy: torch's C++ ends the process where a capsule has negative strides."""
        if copy is False:
            raise BufferError("a view with a negative step has strides that torch can't import: export a copy of it")
        return self.copy().__dlpack__(stream=stream, max_version=max_version, dl_device=dl_device)

    def to_device(self, device: Any, /, *, stream: Any = None, non_blocking: bool = False) -> ndarray:
        """The array on ``device``: itself if it is there, else a copy."""
        moved = ndarray.to_device(self, device, stream=stream, non_blocking=non_blocking)
        return self if moved.device == self.device else moved

    def copy(self, order: str = "C") -> ndarray:
        """A copy of the array, in C order by default."""
        if order.__class__ is str and order in ("C", "F") and (made := copied(self, order)) is not None:
            return made
        return ndarray.copy(self, "C" if as_order(order) == "A" else order)

    def getfield(self, dtype: Any, offset: int = 0) -> ndarray:
        """The bytes of each element from ``offset`` on under another dtype, a view."""
        tensor_dtype(dtype)
        return made_of(self, self.host.getfield(dtype, offset))

    # Writing.

    def __setitem__(self, key: Any, value: Any) -> None:
        if not self.host.flags.writeable:
            raise ValueError("assignment destination is read-only")
        items = basic(key) if host_views.are_had() else None
        if items is None:
            _assign(self, key, value)
            return
        is_whole = Ellipsis in items
        chosen = self if items == (...,) else over(self.host[items if is_whole else (*items, ...)], self.ahead)
        tensor = chosen.tensor
        wrap_array(tensor)[... if is_whole or tensor.dim() else ()] = value
        put_back(chosen, tensor)

    def byteswap(self, inplace: bool = False) -> ndarray:
        """The array with the bytes of each element reversed."""
        if not inplace:
            return ndarray.byteswap(self)
        self.host.byteswap(inplace=True)
        return self


@completes(base.indirect, operators(inplace=_inplace))
class indirect(_Parts):
    """A view with a negative step, or at an integer that is traced, where NumPy has no memory: in a trace, a batch, a
    derivative and on an accelerator.

    Attributes
    ----------
    origin : ndarray
        The array that it is a view of.
    place : Plan, Layout, Turn or Left
        What it selects there.
    key : object
        The key by which it was selected.
    given : torch.Tensor
        The latest copy of the elements; their values may have changed since.
    host : numpy.ndarray
        An array with the view's strides, and no elements; its flags say whether the view refuses writes.
    """

    __slots__ = ("_host", "_seen", "given", "key", "origin", "place")

    _host: np.ndarray | None
    _seen: Any
    given: Tensor
    key: Any
    origin: ndarray
    place: Any

    @property
    def tensor(self) -> Tensor:
        """A copy of the values as a torch.Tensor; writing to it does not change the array."""
        return reread(self)

    @tensor.setter
    def tensor(self, tensor: Tensor) -> NoReturn:
        raise TypeError("a view that is selected anew at each read can't change its shape: write y = x.reshape(...)")

    @property
    def host(self) -> np.ndarray:
        """An array with the view's strides, whose elements are not in memory."""
        if self._host is None:
            self._host = addresses(self)
            self._host.flags.writeable = self._host.flags.writeable and self.origin.flags.writeable
        return self._host

    # Attributes, which reading does not change.

    dtype = property(lambda self: to_numpy[self.given.dtype], doc="NumPy dtype of the elements.")
    shape = property(lambda self: tuple(self.given.shape), doc="Length of each axis.")
    ndim = property(lambda self: self.given.dim(), doc="Number of axes.")
    size = property(lambda self: self.given.numel(), doc="Number of elements.")
    itemsize = property(lambda self: self.given.itemsize, doc="Bytes of an element.")
    nbytes = property(lambda self: self.given.numel() * self.given.itemsize, doc="Bytes of all elements.")
    device = property(lambda self: self.given.device, doc="Device of the elements (a torch.device).")
    base = property(lambda self: self.origin, doc="The array that this one is a view of.")
    strides = property(lambda self: self.host.strides, doc="Bytes from one element to the next along each axis.")
    flags = property(lambda self: self.host.flags, doc="Memory layout.")

    def __len__(self) -> int:
        return len(wrap_array(self.given))

    # Reading and writing.

    __getitem__ = _item

    def __iter__(self) -> Iterator[Any]:
        if not self.ndim:
            raise TypeError("iteration over a 0-d array")
        return (self[i] for i in range(len(self)))

    def getfield(self, dtype: Any, offset: int = 0) -> ndarray:
        """The bytes of each element from ``offset`` on under another dtype, a view."""
        return view_of(self, ndarray.getfield(self, dtype, offset).tensor)

    def __setitem__(self, key: Any, value: Any) -> None:
        if not self.host.flags.writeable:
            raise ValueError("assignment destination is read-only")
        _assign(self, key, value)

    def byteswap(self, inplace: bool = False) -> ndarray:
        """The array with the bytes of each element reversed."""
        swapped = ndarray.byteswap(self)
        if not inplace:
            return swapped
        self[...] = swapped
        return self
