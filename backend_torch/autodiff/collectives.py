"""What the slices of a batch know of each other: one operation, which gathers a tensor of all of them.

Layer: owns which of several batches is meant, and the derivative. The index of the slice marks the batch: it has one
value for each slice of that batch alone.
"""

from __future__ import annotations

from typing import Any

import torch

Tensor = torch.Tensor


class _Gathered(torch.autograd.Function):
    @staticmethod
    def forward(tensor: Tensor, index: Tensor) -> Tensor:
        raise RuntimeError("the batch is over")

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.save_for_backward(inputs[1])
        ctx.save_for_forward(inputs[1])

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None]:
        (index,) = ctx.saved_tensors
        return gathered(gradient, index).sum(0).index_select(0, index.reshape(1)).squeeze(0), None

    @staticmethod
    def jvp(ctx: Any, tangent: Tensor, _: Any) -> Tensor:
        (index,) = ctx.saved_tensors
        return gathered(tangent, index)

    @staticmethod
    def vmap(info: Any, in_dims: Any, tensor: Tensor, index: Tensor) -> tuple[Tensor, int | None]:
        dim, is_meant = in_dims[0], in_dims[1] is not None
        if not is_meant:
            return gathered(tensor, index), dim + 1
        return (tensor.expand(info.batch_size, *tensor.shape) if dim is None else tensor.movedim(dim, 0)), None


def gathered(tensor: Tensor, index: Tensor) -> Tensor:
    """The tensor of each slice of a batch, along a new first dimension; ``index`` is the slice's."""
    result: Tensor = _Gathered.apply(tensor, index)
    return result


def indices(count: int, tensor: Tensor) -> Tensor:
    """The index of each slice, on the device of a tensor."""
    return torch.arange(count, device=tensor.device)
