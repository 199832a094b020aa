"""Read-only arrays: arrays with ``flags.writeable`` False, broadcast views, and read-only memory.

Layer: owns the refusal of writes. torch has no read-only tensors, so a read-only array has a class whose methods refuse
writes; ordinary arrays need no check. ``output_tensor`` checks arrays that are given as ``out=``.
"""

from __future__ import annotations

from typing import Any, NoReturn

import numpy as np

from backend_torch.tensors import memory
from tnp._array.operators import asking, operators
from tnp._core import base
from tnp._core.base import completes, ndarray
from tnp._core.errors import NO_IMAGINARY_PART
from tnp._core.readonly_views import view

Tensor = Any


def _refused(self: Any, other: Any) -> NoReturn:
    """Raise for an in-place operator."""
    raise ValueError("output array is read-only")


@completes(base.readonly, operators(operator=asking, inplace=lambda name, ufunc: _refused))
class readonly(ndarray):
    """An array that refuses writes, as do its views. In all other respects it is an ordinary array."""

    __slots__ = ()
    __module__ = "tnp"

    def __getitem__(self, key: Any) -> Any:
        return view(self, ndarray.__getitem__(self, key))

    def __setitem__(self, key: Any, value: Any) -> NoReturn:
        raise ValueError("assignment destination is read-only")

    def __iter__(self) -> Any:
        return (view(self, item) for item in ndarray.__iter__(self))

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        given = ndarray.__array__(self)
        given.flags.writeable = False
        return given if dtype is None and not copy else np.array(given, dtype, copy=copy)

    @property
    def __array_interface__(self) -> dict[str, Any]:
        """The elements' memory for libraries that read NumPy's array interface; CPU only."""
        interface = ndarray.__array_interface__.__get__(self)
        return {**interface, "data": (interface["data"][0], True)}

    def __dlpack__(
        self,
        *,
        stream: Any = None,
        max_version: tuple[int, int] | None = None,
        dl_device: Any = None,
        copy: bool | None = None,
    ) -> Any:
        """The elements' memory as a DLPack capsule; a consumer of DLPack 1.0 or later is told that it is read-only."""
        if copy:
            return self.copy().__dlpack__(stream=stream, max_version=max_version, dl_device=dl_device)
        if max_version is None or max_version < (1, 0):
            raise BufferError(
                "Cannot export readonly array since signalling readonly is unsupported by DLPack (supported by newer "
                "DLPack version)."
            )
        return self.__array__().__dlpack__(stream=stream, max_version=max_version, dl_device=dl_device, copy=copy)

    @property
    def base(self) -> ndarray | None:
        """The array that this one is a view of, or None if it has memory of its own."""
        source = memory.source_of(self.tensor)
        if not isinstance(source, ndarray):
            return ndarray.base.__get__(self)
        owner = source.base if type(source) in (ndarray, type(self)) else None  # of a derived class the view itself
        return source if owner is None else owner

    @property
    def real(self) -> ndarray:
        """The real part; a view."""
        return ndarray.real.__get__(self)

    @real.setter
    def real(self, value: Any) -> NoReturn:
        raise ValueError("assignment destination is read-only")

    @property
    def imag(self) -> ndarray:
        """The imaginary part; a view of a complex array, zeros for a real one."""
        return ndarray.imag.__get__(self)

    @imag.setter
    def imag(self, value: Any) -> NoReturn:
        if not self.tensor.is_complex():
            raise TypeError(NO_IMAGINARY_PART)
        raise ValueError("assignment destination is read-only")

    def byteswap(self, inplace: bool = False) -> ndarray:
        """The array with the bytes of each element reversed."""
        if inplace:
            raise ValueError("array to be byte-swapped is read-only")
        return ndarray.byteswap(self)

    def getfield(self, dtype: Any, offset: int = 0) -> ndarray:
        """The bytes of each element from ``offset`` on under another dtype, a view."""
        return view(self, ndarray.getfield(self, dtype, offset))

    def partition(self, kth: Any, axis: Any = -1, kind: str = "introselect", order: Any = None) -> NoReturn:
        """Refused: it would write."""
        raise ValueError("partition array is read-only")

    def resize(self, *new_shape: Any, refcheck: bool = True) -> None:
        """Change the shape in place, as long as the elements stay as they are."""
        if refcheck and self.base is not None:
            raise ValueError("cannot resize this array: it does not own its data")
        raise ValueError("cannot resize this array: it is read-only")

    def sort(
        self, axis: Any = -1, kind: Any = None, order: Any = None, *, stable: Any = None, descending: Any = None
    ) -> NoReturn:
        """Refused: it would write."""
        raise ValueError("sort array is read-only")
