"""torch.compile's C++ check of tensors' signatures: dtype, device, sizes, strides, requires_grad."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch._C._dynamo.guards import TensorGuards

from backend_torch.torch_private import functorch

Tensor = torch.Tensor


def same_signature(tensors: Sequence[Tensor], open_sizes: int = 0) -> Callable[..., bool]:
    """Return a check that tensors agree with ``tensors`` in dtype, device, sizes, strides and requires_grad.

    With gradients or transforms the check may refuse tensors that do agree; it never accepts others. The first
    ``open_sizes`` tensors may have any sizes and strides of as many axes.
    """
    places = {id(tensor): index for index, tensor in enumerate(tensors)}
    if len(places) < len(tensors):  # torch's check refuses a list that holds a tensor twice
        return _same_with_repeats([places[id(tensor)] for tensor in tensors], tensors, open_sizes)
    try:
        sizes: list[Any] = [list(tensor.size()) for tensor in tensors]
        strides: list[Any] = [list(tensor.stride()) for tensor in tensors]
        for index in range(open_sizes):
            sizes[index] = strides[index] = [None] * len(sizes[index])
        return TensorGuards(*tensors, dynamic_dims_sizes=sizes, dynamic_dims_strides=strides).check
    except (TypeError, SystemError):
        pass
    known = [_signature(tensor, index < open_sizes) for index, tensor in enumerate(tensors)]
    return lambda *others: [_signature(t, index < open_sizes) for index, t in enumerate(others)] == known


def _same_with_repeats(places: list[int], tensors: Sequence[Tensor], open_sizes: int) -> Callable[..., bool]:
    """Return the check for a list with repeats: ``places`` has one and the same place for equal tensors."""
    once = sorted(set(places))
    repeats = [(place, other) for place, other in enumerate(places) if place != other]
    check = same_signature([tensors[place] for place in once], sum(place < open_sizes for place in once))

    def matches(*others: Tensor) -> bool:
        for place, other in repeats:
            if others[place] is not others[other]:
                return False
        return check(*[others[place] for place in once])

    return matches


def _signature(tensor: Tensor, open_size: bool) -> tuple[Any, ...]:
    tracked = tensor.requires_grad and torch.is_grad_enabled()
    plain = type(tensor) in (Tensor, torch.nn.Parameter) and not functorch.is_wrapped(tensor)
    geometry: Any = tensor.dim() if open_size else (tensor.size(), tensor.stride())
    return tensor.dtype, tensor.device, geometry, tracked, plain
