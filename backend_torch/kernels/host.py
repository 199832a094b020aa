"""NumPy's own loops on the memory of CPU tensors, where torch's take many times as long.

Layer: owns when NumPy may compute in torch's place: on the CPU, in eager code, where no gradient is recorded. Elsewhere
the same kernel runs on torch alone.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from backend_torch.kernels.kernel import Function
from backend_torch.tensors import memory, trace_state
from backend_torch.tensors.memory import from_numpy
from backend_torch.torch_private.functorch import current_level, is_wrapped

Tensor = torch.Tensor
Report = Callable[[str, int], None]  # takes an error's name and the flags of all
FEW = 1 << 12
"""With so many elements several calls of torch take longer than one of NumPy's."""
_PLAIN = (Tensor, torch.nn.Parameter)


def computes(*tensors: Tensor, bfloat16: bool = False) -> bool:
    """Whether NumPy can compute on the tensors' memory; on bfloat16, which is not its own, where that is asked for."""
    if not memory.host_computes or torch.compiler.is_compiling() or trace_state.is_tracing():
        return False
    if current_level() is not None:  # inside vmap, grad and the like no tensor shows its memory
        return False
    for tensor in tensors:
        if not tensor.is_cpu or type(tensor) not in _PLAIN or (tensor.dtype is torch.bfloat16 and not bfloat16):
            return False
        if is_wrapped(tensor) or (tensor.requires_grad and torch.is_grad_enabled()):
            return False
    return True


def array(tensor: Tensor) -> np.ndarray:
    """The memory of a tensor that NumPy can compute on; a copy where torch holds values that it would negate."""
    try:
        return tensor.numpy()
    except RuntimeError:  # as it does of those, and of a tensor that may have a gradient
        return tensor.detach().resolve_conj().resolve_neg().numpy()
    except TypeError:  # as it does of bfloat16
        return memory.to_numpy(tensor)


def small(*tensors: Tensor, most: int = FEW) -> list[np.ndarray] | None:
    """The tensors' memory if they have few elements: several calls of torch take longer than one of NumPy's.

    None where there are more, or torch has to compute.
    """
    if not computes(*tensors):
        return None
    for tensor in tensors:
        if tensor.numel() > most:
            return None
    return list(map(array, tensors))


def arrays(*tensors: Tensor) -> list[np.ndarray] | None:
    """The tensors' memory, None where torch has to compute."""
    return list(map(array, tensors)) if computes(*tensors) else None


def to_write(
    target: Tensor, *others: Tensor, most: int | None = None, bfloat16: bool = False
) -> list[np.ndarray] | None:
    """The tensors' memory, the first to be written to; autograd is told of the write.

    None where torch has to, and where one of them has more elements than ``most``.
    """
    can = computes(target, *others, bfloat16=True) if bfloat16 else computes(target, *others)  # a keyword takes time
    if not can or trace_state.state.overwrites:
        return None
    if target.is_conj() or target.is_neg() or target.is_inference():
        return None
    if most is not None:
        for tensor in (target, *others):
            if tensor.numel() > most:
                return None
    torch.autograd.graph.increment_version(target)
    return list(map(array, (target, *others)))


def errors_to(report: Report | None) -> np.errstate:
    """A scope in which NumPy tells ``report`` of floating-point errors, nobody if there is none."""
    return np.errstate(all="ignore") if report is None else np.errstate(all="call", call=report)


def wrapped(result: Any) -> Any:
    """NumPy's result as a tensor, or a tuple of them, over its memory."""
    if type(result) is not np.ndarray:
        return tuple(map(wrapped, result)) if isinstance(result, tuple) else from_numpy(np.asarray(result))
    try:
        return torch.from_numpy(result)
    except (TypeError, ValueError):  # a dtype that torch knows by another name, a foreign byte order, negative strides
        return from_numpy(result)


def hosted(ufunc: np.ufunc, otherwise: Function, warns: bool = True) -> Function:
    """``ufunc``, which warns of errors or has none, where NumPy can compute, ``otherwise`` elsewhere."""

    def on_host(*tensors: Tensor) -> Any:
        given = arrays(*tensors)
        if given is None:
            return otherwise(*tensors)
        if not warns:
            return wrapped(ufunc(*given))
        with np.errstate(all="ignore"):  # what NumPy would warn of is asked of the result, if at all
            return wrapped(ufunc(*given))

    return on_host
