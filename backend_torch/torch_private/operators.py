"""torch's operators: their schemas, which kernels exist, and functions without a public name."""

from __future__ import annotations

from typing import Any

import torch
from torch._ops import HigherOrderOperator as HigherOrderOperator
from torch._ops import OpOverload as OpOverload


def schema_of(operation: Any) -> Any:
    """Return an operator's schema: names, defaults and aliases of its arguments; None if it is not an operator."""
    return getattr(operation, "_schema", None)


def has_kernel(name: str) -> bool:
    """Whether torch has an operator ``namespace::name.overload`` with a kernel."""
    return torch._C._dispatch_has_kernel(name)


BATCHES_VIEWS_OF_BITS = torch._C._dispatch_has_kernel_for_dispatch_key("aten::view.dtype", "FuncTorchBatched")
"""Whether torch.vmap supports ``tensor.view(dtype)``."""

# assert_async raises when the device has computed its condition; the others are samplers that take a generator.
standard_gamma = torch._standard_gamma
sample_dirichlet = torch._sample_dirichlet
assert_async = torch._assert_async

below_autograd = torch._C._AutoDispatchBelowAutograd
"""A scope below autograd: an operator's own autograd rule calls the operator in it."""
