"""Properties of a tensor that only private names tell: its memory's identity, its version, its kind of view."""

from __future__ import annotations

from operator import attrgetter

import torch

Tensor = torch.Tensor


def storage_of(tensor: Tensor) -> int:
    """Return an identifier of the tensor's memory; fake tensors have one too."""
    return tensor.untyped_storage()._cdata


version_of = attrgetter("_version")
"""The number of writes to the tensor's memory, as autograd counts them."""

is_view = Tensor._is_view
is_zeros_without_memory = Tensor._is_zerotensor
negative_view = torch._neg_view
