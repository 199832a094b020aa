"""Writing a result: to ``out``, under ``where``, in place, in a memory order.

Layer: owns the write of a computed tensor to its destination.
"""

from __future__ import annotations

from collections.abc import Callable
from types import BuiltinFunctionType
from typing import Any

import numpy as np
import torch

from backend_torch.kernels.indexing import same_width
from backend_torch.tensors.memory import brought, is_readable, may_overlap, overlaps
from backend_torch.torch_private.functorch import current_level


def masked(result: torch.Tensor, mask: torch.Tensor, target: torch.Tensor | None) -> torch.Tensor:
    """Return ``result`` where ``mask`` is true, ``target`` elsewhere; without a target, arbitrary values."""
    if target is None:
        return torch.where(mask, result, torch.zeros((), dtype=result.dtype, device=result.device))
    result = result.to(target.dtype)
    return target if write_where(target, mask, result) else torch.where(mask, result, target)


def write_where(target: torch.Tensor, mask: torch.Tensor, values: torch.Tensor) -> bool:
    """Write the values, broadcast, where the mask is true, without a temporary array; return whether it was possible.

    It is possible if nothing is differentiated, traced or batched, and neither operand partly overlaps the target.
    """
    if current_level() is not None:  # an array from outside may have a derivative that its tensor does not show
        return False
    for tensor in (target, mask, values):
        if not is_readable(tensor) or tensor.requires_grad or tensor.is_conj() or tensor.is_neg():
            return False
        if tensor is not target and (tensor.device != target.device or may_overlap(tensor, target)):
            return False
    if mask.dtype is not torch.bool or not _fill(target, mask, values, target):
        return False
    view = same_width(target)
    torch.where(mask.expand(view.shape), same_width(values).expand(view.shape), view, out=view)
    return True


DIRECT: dict[Any, Any] = {}
"""A function of ours -> torch's function that differs from it in gradients alone."""


def together(function: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap a function of two tensors for which CUDA, as an exception, refuses a 0-d operand of the host."""

    def on_one_device(x: torch.Tensor, y: torch.Tensor) -> Any:
        if x.is_cpu is not y.is_cpu:
            x, y = (brought(x, y), y) if x.is_cpu else (x, brought(y, x))
        return function(x, y)

    if isinstance(function, BuiltinFunctionType):
        DIRECT[on_one_device] = function
    return on_one_device


def write_into(function: Any, operands: list[torch.Tensor], target: torch.Tensor) -> bool:
    """Have torch write ``function(*operands)`` to ``target`` without a temporary array; return whether it could.

    It can if the function is torch's own, nothing is differentiated, traced or batched, and no operand partly overlaps
    the target; the target itself may be an operand. In a transform an array from outside may have a derivative that its
    tensor does not show, and in forward mode torch writes before it refuses.
    """
    if not isinstance(function, BuiltinFunctionType):
        function = DIRECT.get(function)
    if function is None or current_level() is not None or not is_readable(target):
        return False
    for operand in operands:
        if operand.dtype is not target.dtype or operand.requires_grad or not is_readable(operand):
            return False
        if operand.device != target.device or (overlaps(operand, target) and not operand.is_set_to(target)):
            return False
    if target.requires_grad or not _fill(target, *operands):
        return False
    try:
        function(*operands, out=target)
    except (TypeError, RuntimeError):  # the function takes no out, or none of this dtype
        return False
    return True


def _fill(target: torch.Tensor, *operands: torch.Tensor) -> bool:
    """Whether the operands broadcast to the target's shape, and to no other."""
    shapes = [operand.shape for operand in operands]
    if shapes.count(target.shape) == len(shapes):
        return True
    try:
        return np.broadcast_shapes(*shapes) == target.shape
    except ValueError:
        return False


def zeros_like(tensor: torch.Tensor) -> torch.Tensor:
    """Return int8 zeros of the tensor's shape."""
    return torch.zeros_like(tensor, dtype=torch.int8)


def written(function: Any, method: Any) -> Any:
    """Write the result of ``function`` to its first operand, by torch's in-place ``method`` where that is safe.

    torch refuses operands that overlap in part only if both are dense, which batched operands are not, and of one
    storage, which NumPy's arrays are not. For others the result is computed first, from a copy if a gradient may need
    the old operand. For a batched operand torch also drops axes of length one from the value that is written.
    """

    def copied(one: torch.Tensor, other: torch.Tensor) -> torch.Tensor:
        result = function(one.clone() if one.requires_grad else one, other)
        if result.dim() > one.dim():
            raise RuntimeError("the result has more dimensions than what it is written to")
        return one.copy_(result)

    def write(one: torch.Tensor, other: torch.Tensor) -> torch.Tensor:
        if one.is_contiguous() and other.is_contiguous() and current_level() is None:
            is_partly = is_readable(one) and is_readable(other) and overlaps(one, other) and not other.is_set_to(one)
            return copied(one, other) if is_partly else method(one, other)
        return copied(one, other) if other.dim() > one.dim() or may_overlap(one, other) else method(one, other)

    return copied if method is None else write
