"""Autograd without what its public functions do around it at each call, and what only private names say of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch.autograd import forward_ad

set_grad_enabled = torch._C._set_grad_enabled
"""``torch.set_grad_enabled`` without the object around it, which takes longer than small operations."""

unseen_by_modes = torch._C.DisableTorchFunction
"""A scope in which no mode of functions, and no subclass, sees what is done."""

_run_backward = torch.autograd.Variable._execution_engine.run_backward


def gradients_of_one(target: torch.Tensor, sources: Sequence[Any], retain: bool) -> Sequence[torch.Tensor | None]:
    """``torch.autograd.grad(target, sources, allow_unused=True)`` of a 0-d tensor, without its checks."""
    return _run_backward(
        (target,), (torch.ones_like(target),), retain, False, tuple(sources), True, accumulate_grad=False
    )


def is_forward_mode() -> bool:
    """Whether a level of forward mode is entered."""
    return forward_ad._current_level >= 0


def is_exporting() -> bool:
    """``torch.compiler.is_exporting()``, which Dynamo of torch 2.11 takes for true in whatever it traces."""
    return torch.compiler._is_exporting_flag
