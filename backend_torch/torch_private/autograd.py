"""Autograd without the overhead of its public functions, and states of it that only private names tell."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch.autograd import forward_ad

set_grad_enabled = torch._C._set_grad_enabled
"""``torch.set_grad_enabled`` without its context manager, which takes longer than a small operation."""

unseen_by_modes = torch._C.DisableTorchFunction
"""A scope in which operations call no ``__torch_function__``, neither of modes nor of subclasses."""

_run_backward = torch.autograd.Variable._execution_engine.run_backward


def gradients_of_one(target: torch.Tensor, sources: Sequence[Any], retain: bool) -> Sequence[torch.Tensor | None]:
    """``torch.autograd.grad(target, sources, allow_unused=True)`` of a 0-d tensor, without its checks."""
    return _run_backward(
        (target,), (torch.ones_like(target),), retain, False, tuple(sources), True, accumulate_grad=False
    )


unseen_by_versions = torch.autograd._unsafe_preserve_version_counter
"""A scope in which writes to tensors do not make autograd refuse what it keeps of them: they leave the values."""


def is_forward_mode() -> bool:
    """Whether forward-mode differentiation is on."""
    return forward_ad._current_level >= 0


def is_exporting() -> bool:
    """``torch.compiler.is_exporting()``, by its flag: Dynamo of torch 2.11 takes the public function for true."""
    return torch.compiler._is_exporting_flag
