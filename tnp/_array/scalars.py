"""The scalar's methods beyond an array's: those of Python's numbers.

Layer: owns their errors. The array holds the value.
"""
# mypy: disable-error-code="attr-defined"
# scalar, which inherits these methods, defines the other attributes.

from __future__ import annotations

import math
from typing import Any

from backend_torch.autodiff import autodiff
from tnp._core.base import ndarray
from tnp._math import mathematics


class ScalarMethods:
    """The methods of scalar."""

    __slots__ = ()
    __contains__ = None

    def __round__(self, ndigits: int | None = None) -> Any:
        if self.dtype.kind in "bc":
            raise TypeError(f"type numpy.{self.dtype.name} doesn't define __round__ method")
        return round(self.tensor.item()) if ndigits is None else mathematics.round(self, ndigits)

    def __trunc__(self) -> int:
        return math.trunc(self._real())

    def __floor__(self) -> int:
        return math.floor(self._real())

    def __ceil__(self) -> int:
        return math.ceil(self._real())

    def setflags(self, write: Any = None, align: Any = None, uic: Any = None) -> None:
        """Nothing, as in NumPy."""

    @property
    def numerator(self) -> ndarray:
        """The value itself, for an integer."""
        return self._integer("numerator")

    @property
    def denominator(self) -> int:
        """One, for an integer."""
        self._integer("denominator")
        return 1

    def bit_count(self) -> int:
        """Number of one bits in the absolute value of an integer."""
        return abs(self._integer("bit_count").tensor.item()).bit_count()

    def is_integer(self) -> bool:
        """Whether the value is finite and has no fraction."""
        value = self.tensor.item()
        return isinstance(value, int) or value.is_integer()

    def as_integer_ratio(self) -> tuple[int, int]:
        """Two integers whose ratio is the value exactly."""
        autodiff.check_constant(self.tensor, "as_integer_ratio()")
        return self.tensor.item().as_integer_ratio()

    def hex(self) -> str:
        """The value in hexadecimal, exactly."""
        autodiff.check_constant(self.tensor, "hex()")
        return self.tensor.item().hex()

    def _integer(self: Any, name: str) -> ndarray:
        """Return the integer itself; other scalars have no such attribute."""
        if self.dtype.kind not in "iu":
            raise AttributeError(f"'numpy.{self.dtype.name}' object has no attribute '{name}'")
        return self
