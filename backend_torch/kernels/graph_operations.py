"""Operations of graphs: what eager code computes by NumPy's loops is one operation in a trace, not torch's steps.

Layer: owns how such an operation behaves everywhere else. Derivatives, batches, other devices and exported programs
have the steps in torch's operations.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch.autograd import forward_ad
from torch.fx import Graph, Node

from backend_torch.tensors import trace_state
from backend_torch.torch_private import inductor_code
from backend_torch.torch_private.functorch import is_transforming
from backend_torch.torch_private.operators import below_autograd

Tensor = torch.Tensor
Function = Callable[..., Any]
_library = torch.library.Library("tnp", "FRAGMENT")
STEPS: dict[Any, Function] = {}
"""Operation -> the same in torch's operations."""
KERNELS: dict[Any, Function] = {}
"""Operation -> what computes it on the CPU. Machine code calls this: torch's dispatcher would take longer."""


def direct(name: str, kernel: Function) -> None:
    """Let machine code call what computes an operation on the CPU."""
    KERNELS[getattr(torch.ops.tnp, name).default] = inductor_code.KERNELS[name] = kernel


def _in_order(function: Function) -> Function:
    """Wrap a function to give results in C order: a trace takes the layout of the steps' for that of the kernel's."""

    def run(*args: Any) -> Any:
        result = function(*args)
        return result.contiguous() if isinstance(result, Tensor) else tuple([each.contiguous() for each in result])

    return run


def memory_order(value: Tensor) -> list[int] | None:
    """Return the axes of a tensor as they lie in memory, from the one with the widest steps; None if there are gaps."""
    strides = value.stride()
    axes = sorted(range(value.dim()), key=lambda axis: -strides[axis])
    return axes if value.permute(axes).is_contiguous() else None


def called(graph: Graph, function: Any, value: Tensor, *args: Any) -> Node:
    """Add to a graph the call of an operation whose result is like ``value``."""
    made = graph.call_function(function, args)
    made.meta["val"] = value
    return made


def operation(schema: str, kernel: Function, steps: Function, shape: Function | None = None) -> Function:
    """Define an operation, and return the function that calls it in plain traces for the CPU, else its steps.

    Parameters
    ----------
    schema : str
        ``name(arguments) -> Tensor``, or two of them; the first argument is a tensor.
    kernel : callable
        Computes it on the CPU.
    steps : callable
        Computes it by operations of torch that need no values. The results of both are in C order.
    shape : callable, optional
        Makes an empty result, where the steps would decide a symbolic size.
    """
    name = schema.partition("(")[0]
    _library.define(schema)
    call = getattr(torch.ops.tnp, name).default
    kernel, steps = _in_order(kernel), _in_order(steps)
    STEPS[call] = steps
    direct(name, kernel)

    def recorded(*args: Any) -> Tensor:
        tensors = [each for each in args if isinstance(each, Tensor)]
        if torch.is_grad_enabled() and any(tensor.requires_grad for tensor in tensors):
            return steps(*args)
        if any(forward_ad.unpack_dual(tensor).tangent is not None for tensor in tensors):
            return steps(*args)
        with below_autograd():
            return call(*args)

    def batched(info: Any, dims: Any, *args: Any) -> tuple[Any, Any]:
        results = torch.vmap(steps, dims)(*args)
        return results, (0,) * len(results) if isinstance(results, tuple) else 0

    _library.impl(name, steps, "CompositeExplicitAutograd")
    _library.impl(name, kernel, "CPU")
    _library.impl(name, recorded, "Autograd")
    torch.library.register_fake(f"tnp::{name}", shape or steps, lib=_library)
    torch.library.register_vmap(f"tnp::{name}", batched, lib=_library)

    def computed(*args: Any) -> Tensor:
        if trace_state.is_tracing() and not is_transforming() and args[0].is_cpu:
            return call(*args)
        return steps(*args)

    return computed
