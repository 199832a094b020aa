"""Running out of memory: torch's RuntimeError of it as Python's MemoryError, or as ValueError where none is enough.

Layer: owns the texts by which it is told from others. Nothing here runs before something has failed.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import ParamSpec, TypeVar

_Arguments = ParamSpec("_Arguments")
_Result = TypeVar("_Result")

_TEXTS = ("not enough memory", "out of memory", "can't allocate memory", "alloc_cpu.cpp")
_NO_SIZES = (
    "Storage size calculation overflowed",
    "Stride calculation overflowed",
    "cannot be represented as a SymInt",
    "numel: integer multiplication overflow",
    "Trying to create tensor with negative dimension",  # of a sum of lengths that no integer holds
)
_NO_NUMBERS = (  # a length that torch's 64 bits do not hold
    "Overflow when unpacking long",
    "int too big to convert",
    "to type int64_t without overflow",
)


def explained(error: Exception) -> Exception:
    """A MemoryError if torch ran out of memory, on whatever device; of what no memory can hold NumPy's ValueError."""
    text = str(error)
    if any(each in text for each in _NO_NUMBERS):
        return ValueError("Maximum allowed dimension exceeded")
    if any(each in text for each in _NO_SIZES):
        return ValueError(f"array is too big; its size in bytes is larger than the maximum possible size ({text})")
    return MemoryError(text) if any(each in text for each in _TEXTS) else error


def explaining(kernel: Callable[_Arguments, _Result]) -> Callable[_Arguments, _Result]:
    """The kernel with the errors of :func:`explained`: for those that make as many elements as a number says, or more
    than they are given, and that take long enough for a frame of Python not to count."""

    @functools.wraps(kernel)
    def explaining_kernel(*args: _Arguments.args, **options: _Arguments.kwargs) -> _Result:
        try:
            return kernel(*args, **options)
        except (RuntimeError, TypeError, OverflowError) as error:
            raise explained(error) from None

    return explaining_kernel
