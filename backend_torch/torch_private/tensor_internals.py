"""What only torch's private names say of a tensor: its memory's identity, its writes, and what kind of view it is."""

from __future__ import annotations

from operator import attrgetter

import torch

Tensor = torch.Tensor


def storage_of(tensor: Tensor) -> int:
    """An identifier of the tensor's memory, which a tensor without data has too."""
    return tensor.untyped_storage()._cdata


version_of = attrgetter("_version")
"""How often the tensor's memory was written to, as autograd counts it."""

is_view = Tensor._is_view
is_zeros_without_memory = Tensor._is_zerotensor
negative_view = torch._neg_view
