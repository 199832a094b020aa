"""torch's operators: what a schema says, which kernels there are, and functions that have no public name."""

from __future__ import annotations

from typing import Any

import torch
from torch._ops import HigherOrderOperator as HigherOrderOperator
from torch._ops import OpOverload as OpOverload


def schema_of(operation: Any) -> Any:
    """The schema of an operator: names, defaults and aliases of its arguments; None of what is none."""
    return getattr(operation, "_schema", None)


def has_kernel(name: str) -> bool:
    """Whether an operator, ``namespace::name.overload``, is known to torch and has a kernel."""
    return torch._C._dispatch_has_kernel(name)


BATCHES_VIEWS_OF_BITS = torch._C._dispatch_has_kernel_for_dispatch_key("aten::view.dtype", "FuncTorchBatched")
"""Whether torch.vmap knows ``tensor.view(dtype)``."""

# The last has an error as a value, that is raised when the device is done; the others are samplers with a generator.
standard_gamma = torch._standard_gamma
sample_dirichlet = torch._sample_dirichlet
assert_async = torch._assert_async

below_autograd = torch._C._AutoDispatchBelowAutograd
"""A scope in which autograd does not look at operations: for an operator's own rule, which calls the operator."""
