"""Running out of memory: torch's RuntimeError of it as Python's MemoryError, or as ValueError where none is enough.

Layer: nothing here runs before something has failed.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import ParamSpec, TypeVar

from backend_torch.torch_private import messages

_Arguments = ParamSpec("_Arguments")
_Result = TypeVar("_Result")


def explained(error: Exception) -> Exception:
    """A MemoryError if torch ran out of memory, on whatever device; of what no memory can hold NumPy's ValueError."""
    if messages.says(error, messages.NO_INT64):
        return ValueError("Maximum allowed dimension exceeded")
    if messages.says(error, messages.TOO_BIG):
        return ValueError(f"array is too big; its size in bytes is larger than the maximum possible size ({error})")
    return MemoryError(str(error)) if messages.says(error, messages.OUT_OF_MEMORY) else error


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
