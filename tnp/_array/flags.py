"""Flags: an array's memory layout, as ``x.flags`` shows it.

Layer: owns the names of the flags. They follow from the tensor's strides.
"""

from __future__ import annotations

from typing import Any, ClassVar

from backend_torch.tensors import memory
from tnp._core.base import ndarray
from tnp._core.readonly_views import is_writeable, set_writeable


class Flags:
    """Memory layout of an array, by attribute (``x.flags.c_contiguous``) or by name (``x.flags["C_CONTIGUOUS"]``).

    As in NumPy an axis of length one or an empty array does not disturb contiguity. A broadcast view, whose elements
    share their place, is always read-only.
    """

    __slots__ = ("_array", "_tensor")

    def __init__(self, array: ndarray) -> None:
        self._array = array
        self._tensor = array.tensor

    @property
    def c_contiguous(self) -> bool:
        """The elements lie in C order, without gaps."""
        return self._tensor.is_contiguous()

    @property
    def f_contiguous(self) -> bool:
        """The elements lie in Fortran order, without gaps."""
        return memory.reversed_axes(self._tensor).is_contiguous()

    @property
    def contiguous(self) -> bool:
        """The same as ``c_contiguous``."""
        return self.c_contiguous

    @property
    def fortran(self) -> bool:
        """The same as ``f_contiguous``."""
        return self.f_contiguous

    @property
    def fnc(self) -> bool:
        """Fortran order and not C order."""
        return self.f_contiguous and not self.c_contiguous

    @property
    def forc(self) -> bool:
        """Fortran order or C order."""
        return self.f_contiguous or self.c_contiguous

    @property
    def owndata(self) -> bool:
        """The array is not a view of another."""
        return self._tensor._base is None

    @property
    def writeable(self) -> bool:
        """Elements can be assigned to; assigning False to this makes the array read-only."""
        return is_writeable(self._array)

    @writeable.setter
    def writeable(self, value: Any) -> None:
        set_writeable(self._array, value)

    @property
    def aligned(self) -> bool:
        """The elements are aligned for the processor: always so."""
        return True

    @aligned.setter
    def aligned(self, value: Any) -> None:
        if not value:
            raise ValueError("cannot set ALIGNED flag to False: the elements of a tensor are always aligned")

    @property
    def writebackifcopy(self) -> bool:
        """The array is a copy that is written back to another: never so."""
        return False

    @writebackifcopy.setter
    def writebackifcopy(self, value: Any) -> None:
        if value:
            raise ValueError("cannot set WRITEBACKIFCOPY flag to True")

    @property
    def behaved(self) -> bool:
        """Aligned and writeable."""
        return self.writeable

    @property
    def carray(self) -> bool:
        """Behaved and in C order."""
        return self.behaved and self.c_contiguous

    @property
    def farray(self) -> bool:
        """Behaved and in Fortran order and not C order."""
        return self.behaved and self.fnc

    @property
    def num(self) -> int:
        """The flags as bits of one integer."""
        return (
            0x001 * self.c_contiguous
            | 0x002 * self.f_contiguous
            | 0x004 * self.owndata
            | 0x100 * self.aligned
            | 0x400 * self.writeable
        )

    _names: ClassVar[dict[str, Any]] = {
        **dict.fromkeys(("C", "CONTIGUOUS", "C_CONTIGUOUS"), c_contiguous),
        **dict.fromkeys(("F", "FORTRAN", "F_CONTIGUOUS"), f_contiguous),
        **dict.fromkeys(("O", "OWNDATA"), owndata),
        **dict.fromkeys(("W", "WRITEABLE"), writeable),
        **dict.fromkeys(("A", "ALIGNED"), aligned),
        **dict.fromkeys(("X", "WRITEBACKIFCOPY"), writebackifcopy),
        **dict.fromkeys(("B", "BEHAVED"), behaved),
        **dict.fromkeys(("CA", "CARRAY"), carray),
        **dict.fromkeys(("FA", "FARRAY"), farray),
        "FNC": fnc,
        "FORC": forc,
    }

    def __getitem__(self, key: str) -> bool:
        try:
            return self._names[key].__get__(self)
        except KeyError:
            raise KeyError("Unknown flag") from None

    def __setitem__(self, key: str, value: Any) -> None:
        if key not in ("W", "WRITEABLE", "A", "ALIGNED", "X", "WRITEBACKIFCOPY"):
            raise KeyError("Unknown flag")
        self._names[key].__set__(self, value)

    def set(self, write: Any, align: Any, uic: Any) -> None:
        """Do what ``x.setflags`` does: None leaves a flag unchanged."""
        if align is not None:
            self.aligned = align
        if uic is not None:
            self.writebackifcopy = uic
        if write is not None:
            self.writeable = write

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Flags):
            return NotImplemented
        return self.num == other.num

    __hash__: ClassVar[None] = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        names = ("C_CONTIGUOUS", "F_CONTIGUOUS", "OWNDATA", "WRITEABLE", "ALIGNED", "WRITEBACKIFCOPY")
        return "".join(f"  {name} : {self[name]}\n" for name in names)
