"""torch's RuntimeErrors as NumPy's exceptions: no memory, sizes beyond any memory, matrices without a result.

Layer: owns this conversion. Nothing here runs before a failure.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import ParamSpec, TypeVar

import numpy as np
import torch

from backend_torch.tensors import trace_state
from backend_torch.torch_private import messages

_Arguments = ParamSpec("_Arguments")
_Result = TypeVar("_Result")


def explained(error: Exception) -> Exception:
    """Return a MemoryError if torch ran out of memory on any device; NumPy's ValueError for sizes beyond any memory.

    A matrix that has no inverse, factors or eigenvalues gives NumPy's LinAlgError. A tensor of a batch that is used
    after the batch meets this function first: its error says so.
    """
    if isinstance(error, torch.linalg.LinAlgError):
        return np.linalg.LinAlgError(messages.of_linalg(error))
    if messages.says(error, messages.ESCAPED_FROM_BATCH):
        return trace_state.escaped_error()
    if messages.says(error, messages.NO_INT64):
        return ValueError("Maximum allowed dimension exceeded")
    if messages.says(error, messages.TOO_BIG):
        return ValueError(
            f"array is too big; `arr.size * arr.dtype.itemsize` is larger than the maximum possible size. {error}"
        )
    return MemoryError(str(error)) if messages.says(error, messages.OUT_OF_MEMORY) else error


def explaining(kernel: Callable[_Arguments, _Result]) -> Callable[_Arguments, _Result]:
    """Wrap a kernel to raise the errors of :func:`explained`.

    It is for kernels whose result can be larger than their operands, and whose time hides a frame of Python."""

    @functools.wraps(kernel)
    def explaining_kernel(*args: _Arguments.args, **options: _Arguments.kwargs) -> _Result:
        try:
            return kernel(*args, **options)
        except (RuntimeError, TypeError, OverflowError) as error:
            raise explained(error) from None

    return explaining_kernel
