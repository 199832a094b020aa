"""NumPy's own loops on the memory of CPU tensors, where torch's take many times as long.

Layer: owns when NumPy may compute in torch's place: on the CPU, in eager code, where no gradient is recorded. Elsewhere
the same kernel runs on torch alone.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from backend_torch import memory
from backend_torch.kernel import Function
from backend_torch.memory import from_numpy, is_readable, to_numpy

Tensor = torch.Tensor


def computes(*tensors: Tensor) -> bool:
    """Whether NumPy can compute on the tensors' memory."""
    if not memory.host_computes:
        return False
    recorded = torch.is_grad_enabled()
    for tensor in tensors:
        if tensor.device.type != "cpu" or tensor.dtype is torch.bfloat16 or (recorded and tensor.requires_grad):
            return False
        if not is_readable(tensor):
            return False
    return True


def wrapped(result: Any) -> Any:
    """NumPy's result as a tensor, or a tuple of them, over its memory."""
    return tuple(map(wrapped, result)) if isinstance(result, tuple) else from_numpy(np.asarray(result))


def hosted(ufunc: np.ufunc, otherwise: Function) -> Function:
    """``ufunc`` where NumPy can compute, ``otherwise`` elsewhere."""

    def on_host(*tensors: Tensor) -> Any:
        if not computes(*tensors):
            return otherwise(*tensors)
        with np.errstate(all="ignore"):  # what NumPy would warn of is asked of the result, if at all
            return wrapped(ufunc(*[to_numpy(tensor) for tensor in tensors]))

    return on_host
