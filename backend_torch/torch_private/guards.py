"""torch.compile's check in C++ of the signature of tensors: dtype, device, sizes, strides, need of gradients."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch._C._dynamo.guards import TensorGuards

from backend_torch.torch_private import functorch

Tensor = torch.Tensor


def same_signature(tensors: Sequence[Tensor], open_sizes: int = 0) -> Callable[..., bool]:
    """A check that tensors have the dtypes, devices, sizes, strides and need of gradients of ``tensors``.

    It may say no without reason where gradients or transforms are concerned, and never yes. Of the first
    ``open_sizes`` tensors any size and stride will do.
    """
    places = {id(tensor): index for index, tensor in enumerate(tensors)}
    if len(places) < len(tensors):  # torch's check refuses a tensor that is there twice
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
    """The same check where the tensor of each place is the one at the place given for it."""
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
