"""The state of torch's transforms (``torch.func``, ``torch.vmap``): which are running, and how they wrap a tensor.

Layer: the only file that names ``torch._C._functorch``, which has no public counterpart. ``backend_torch.autodiff``
enters transforms.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import torch
from torch._functorch import eager_transforms
from torch.autograd import forward_ad

_functorch: Any = torch._C._functorch

# Which transforms are running. Without one, the innermost, its level and the stack are None.
innermost = _functorch.peek_interpreter_stack
stack = _functorch.get_interpreter_stack
current_level = _functorch.maybe_current_level
TransformType = _functorch.TransformType
disabled = torch._C._DisableFuncTorch

# How transforms wrap a tensor: once for each.
is_wrapped = _functorch.is_functorch_wrapped_tensor
is_batched = _functorch.is_batchedtensor
get_unwrapped = _functorch.get_unwrapped
level_of = _functorch.maybe_get_level
batched_dim = _functorch.maybe_get_bdim
IS_OVER = -2  # the level of a tensor that left a derivative

# Enter and leave a transform.
enter_vmap, leave_vmap = _functorch._vmap_increment_nesting, _functorch._vmap_decrement_nesting
batched, unbatched = _functorch._add_batch_dim, _functorch._remove_batch_dim
enter_grad, leave_grad = _functorch._grad_increment_nesting, _functorch._grad_decrement_nesting
wrapped_for_grad, unwrapped_for_grad = _functorch._wrap_for_grad, _functorch._unwrap_for_grad
may_require_grad, let_require_grad = (
    _functorch.get_inplace_requires_grad_allowed,
    _functorch.set_inplace_requires_grad_allowed,
)

# Hooks on the tensors that autograd saves: torch.func's derivatives refuse to run while there are any.
_autograd: Any = torch._C._autograd
top_hooks, push_hooks = _autograd._top_saved_tensors_default_hooks, _autograd._push_saved_tensors_default_hooks
pop_hooks = _autograd._pop_saved_tensors_default_hooks


@contextlib.contextmanager
def without_hooks(known: list[Any] | None = None) -> Iterator[None]:
    """A scope without hooks; of a list of known ones, the innermost last, those that are innermost are left out."""
    left = []
    while known != [] and (hooks := top_hooks(True)) is not None and (known is None or hooks == known[-1]):
        left.append(hooks)
        pop_hooks()
        if known is not None:
            known.pop()
    try:
        yield
    finally:
        for hooks in reversed(left):
            push_hooks(*hooks)
            if known is not None:
                known.append(hooks)


IS_BLIND_IN_INFERENCE_MODE = not hasattr(eager_transforms, "_disable_inference_mode")
"""Whether ``torch.func`` gives zeros as derivatives in inference mode, as it did before torch 2.13."""


def batches() -> int:
    """Return how many batches are one in the other."""
    return sum(level.key() == TransformType.Vmap for level in stack() or ())


def is_forward_mode_nested() -> bool:
    """Whether ``torch.func.jvp`` is running."""
    return bool(eager_transforms.JVP_NESTING)


@contextlib.contextmanager
def down_to(level: int | None) -> Iterator[None]:
    """A scope in which the transform at that level is the innermost; with None, no transform runs."""
    left = []
    try:
        while current_level() is not None and (level is None or current_level() > level):
            left.append(_functorch.pop_dynamic_layer_stack())
        yield
    finally:
        while left:
            _functorch.push_dynamic_layer_stack(left.pop())


def has_tangent(tensor: torch.Tensor, level: int | None) -> bool:
    """Whether forward mode at a level follows the tensor; the level is the outermost that wraps the tensor."""
    if not any(each.key() == TransformType.Jvp for each in stack() or () if each.level() == level):
        return False
    with down_to(level):
        return forward_ad.unpack_dual(tensor).tangent is not None


def is_followed(tensor: torch.Tensor, level: int) -> bool:
    """Whether the derivative at a level depends on the tensor; the level is the outermost that wraps the tensor."""
    if any(each.key() == TransformType.Jvp for each in stack() or () if each.level() == level):
        return has_tangent(tensor, level)
    return tensor.requires_grad


def has_batch(tensor: torch.Tensor) -> bool:
    """Whether a tensor has a value for each slice of a batch, at any level."""
    while is_wrapped(tensor):
        if is_batched(tensor):
            return True
        tensor = get_unwrapped(tensor)
    return False


def is_disabled() -> bool:
    """Whether transforms do not see operations, as in a scope of `disabled`."""
    return torch._C._dispatch_tls_is_dispatch_key_excluded(torch._C.DispatchKey.FuncTorchDynamicLayerFrontMode)


def is_transforming() -> bool:
    """Whether a transform is running."""
    return innermost() is not None
