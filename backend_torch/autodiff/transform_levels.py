"""One level of ``torch.func``'s ``grad`` and of ``torch.vmap``, entered directly: on lists of tensors.

Layer: owns torch's private entry points to its transforms, and the public ones where these are needed. ``torch.func``
flattens arguments and results as pytrees, twice for each level. Here they are lists already, which saves more than half
of the time of a small function's transform.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch

from backend_torch.tensors import trace_state
from backend_torch.tensors.memory import is_readable, known, to_host, to_numpy, unwrapped
from backend_torch.torch_private import autograd, functorch
from backend_torch.torch_private.tensor_internals import is_zeros_without_memory, storage_of

Tensor = torch.Tensor
Function = Callable[..., Sequence[Tensor]]
EXPORTS_FORWARD_MODE = torch.__version__ >= "2.12"

_NO_HOOKS = "derivatives of functions can't be taken where tensors that are saved for a gradient are looked at"


def unseen() -> Any:
    """A scope hidden from all modes, for a transform's own reads of properties."""
    return contextlib.nullcontext() if torch.compiler.is_compiling() else autograd.unseen_by_modes()


def _needs_public() -> bool:
    """Whether Dynamo traces, which knows only the public functions, or inference mode is on, which they leave."""
    return torch.compiler.is_compiling() or torch.is_inference_mode_enabled()


def gradients_of(targets: Sequence[Tensor], *args: Any, **options: Any) -> tuple[Tensor | None, ...]:
    """Call ``torch.autograd.grad`` so that all of it runs in this thread.

    torch has a thread for each accelerator, where Python's part of a derivative would find none of this thread's state:
    its trace, its default device, the recordings around. In a trace torch leaves some zeros on the meta device, where
    it computes with zeros that have no memory.
    """
    if targets[0].is_cpu:
        found = torch.autograd.grad(targets, *args, **options)
    else:
        with torch.autograd.set_multithreading_enabled(False):
            found = torch.autograd.grad(targets, *args, **options)
    if not trace_state.is_tracing() or targets[0].is_meta:
        return found
    device = targets[0].device
    return tuple([torch.zeros_like(g, device=device) if g is not None and g.is_meta else g for g in found])


def require_gradients(tensors: Sequence[Tensor], level: int) -> list[Tensor]:
    """Return the tensors as leaves of a level of ``grad``."""
    before = functorch.may_require_grad()
    functorch.let_require_grad(True)
    try:
        with unseen():
            return [functorch.wrapped_for_grad(tensor, level).requires_grad_() for tensor in tensors]
    finally:
        functorch.let_require_grad(before)


def value_and_gradients(function: Function, tensors: Sequence[Tensor]) -> tuple[tuple[Tensor, ...], list[Tensor]]:
    """Return the results of ``function(*tensors)``, first a scalar, and its gradients: torch.func.grad_and_value."""
    if autograd.is_exporting():
        return _by_autograd(function, tensors)
    if _needs_public():

        def loss(*tensors: Tensor) -> tuple[Tensor, tuple[Tensor, ...]]:
            results = tuple(function(*tensors))
            return results[0], results

        found, (_, results) = torch.func.grad_and_value(loss, tuple(range(len(tensors))), has_aux=True)(*tensors)
        return results, list(found)

    with torch.autograd.graph.disable_saved_tensors_hooks(_NO_HOOKS):
        was_enabled = torch.is_grad_enabled()
        level = functorch.enter_grad()
        try:
            if not was_enabled:
                autograd.set_grad_enabled(True)
            handles = require_gradients(tensors, level)
            results = tuple(function(*handles))
            with unseen():
                gradients: Sequence[Tensor | None] = [None] * len(handles)
                if results[0].requires_grad:
                    gradients = gradients_of(results[:1], handles, create_graph=True, allow_unused=True)
                unwrap = functorch.unwrapped_for_grad
                known = [
                    unwrap(torch.zeros_like(handle) if gradient is None else gradient, level)
                    for handle, gradient in zip(handles, gradients, strict=True)
                ]
                results = tuple([unwrap(result, level) for result in results])
        finally:
            functorch.leave_grad()
            if not was_enabled:
                autograd.set_grad_enabled(False)
    with unseen():
        return results, own(known)


def own(tensors: Sequence[Any], given: Sequence[Tensor] = ()) -> list[Any]:
    """Return the tensors with memory of their own, apart from each other and from ``given``, to be written to.

    torch makes one gradient for both operands of a sum, broadcasts without copies, and has zeros without memory.
    """
    if torch.compiler.is_compiling():
        return list(tensors)
    is_wrapped = functorch.innermost() is not None
    taken = {_storage(tensor) for tensor in given}
    found = []
    for tensor in tensors:
        if tensor is not None:
            memory = storage_of(unwrapped(tensor) if is_wrapped else tensor)
            is_spread = not tensor.is_contiguous() and 0 in tensor.stride()
            if is_spread or memory in taken or is_zeros_without_memory(tensor):
                tensor = tensor.clone(memory_format=torch.contiguous_format)
                memory = _storage(tensor)
            taken.add(memory)
        found.append(tensor)
    return found


def _storage(tensor: Tensor) -> int:
    return storage_of(unwrapped(tensor))


def held(tensor: Tensor) -> Tensor:
    """Return the tensor below the levels of derivatives, whose values are known; slices of a batch stay unknown."""
    while functorch.is_wrapped(tensor) and not functorch.is_batched(tensor):
        tensor = functorch.get_unwrapped(tensor)
    return tensor


def constant(tensor: Tensor) -> Tensor:
    """Return the tensor below the levels if no derivative depends on it, else the tensor itself."""
    return tensor if torch.compiler.is_compiling() or is_differentiated(tensor) else held(tensor)


def values(tensor: Tensor) -> np.ndarray:
    """Return the values of a constant, for reading; raise if a derivative or a batch hides them."""
    return to_numpy(to_host(constant(tensor)))


def seen(tensor: Tensor) -> np.ndarray | None:
    """Return the `values`, or those known to a trace; None if they are hidden."""
    if trace_state.is_tracing():
        return known(tensor)
    tensor = constant(tensor)
    return to_numpy(to_host(tensor)) if is_readable(tensor) else None


def is_differentiated(tensor: Tensor) -> bool:
    """Whether derivatives depend on the tensor, or may in forward mode; False inside a batch, where that is unknown."""
    if torch.compiler.is_compiling():  # no question in Dynamo
        return False
    is_tangent = autograd.is_forward_mode() and (tensor.is_floating_point() or tensor.is_complex())
    while functorch.is_wrapped(tensor):
        if functorch.is_batched(tensor):
            return False
        if (is_tangent or tensor.requires_grad) and functorch.level_of(tensor) != functorch.IS_OVER:
            return True
        tensor = functorch.get_unwrapped(tensor)
    return tensor.requires_grad


def is_true_throughout(tensor: Tensor) -> bool:
    """Whether all elements of a bool tensor are known to be true in all slices; False below nested levels."""
    try:
        with unseen():
            return bool(unwrapped(tensor.all()).all())
    except RuntimeError:
        return False


def _by_autograd(function: Function, tensors: Sequence[Tensor]) -> tuple[tuple[Tensor, ...], list[Tensor]]:
    """Return the same by autograd itself, in a trace of torch.export."""
    if functorch.innermost() is not None:
        raise not_exported()
    with torch.enable_grad():
        handles = [t.view_as(t) if t.requires_grad else t.detach().requires_grad_() for t in tensors]
        results = tuple(function(*handles))
        found = gradients_of(results[:1], handles, create_graph=True, allow_unused=True)
    known = [torch.zeros_like(t) if gradient is None else gradient for t, gradient in zip(tensors, found, strict=True)]
    return results, known


def not_exported() -> NotImplementedError:
    """Return the error of a derivative in a trace of torch.export.

    torch.export takes the tensors of torch.func.grad and torch.func.vjp for constants, and its program returns tensors
    without data (torch 2.13). Before torch 2.12 torch.func.jvp fails in it by an assertion.
    """
    return NotImplementedError(
        "torch.export holds no derivatives but tnp.grad of a function, outside of other transforms, with strict=False, "
        "and tnp.jvp since torch 2.12: save the function with tnp.compile(fn).save(...) instead"
    )


@functools.cache
def _decompositions_loaded() -> None:
    """Load the decompositions that ``torch.vmap`` registers at its first call."""
    torch.vmap(torch.neg)(torch.zeros(1))


def vmap(
    function: Function, tensors: Sequence[Tensor], dims: Sequence[int | None], size: int, randomness: str
) -> list[Tensor]:
    """Call ``function(level, *slices)`` for all ``size`` slices of the tensors at once: ``torch.vmap``."""
    _decompositions_loaded()
    level = functorch.enter_vmap(size, randomness)
    try:
        add = functorch.batched
        slices = [t if d is None else add(t, d, level) for t, d in zip(tensors, dims, strict=True)]
        remove = functorch.unbatched
        return [remove(result, level, size, 0) for result in function(level, *slices)]
    finally:
        functorch.leave_vmap()
