"""Python functions that a graph calls when it runs: for their results, or for effects such as printing.

Layer: owns the operator of such calls, its batching (one call for each slice, or one for all), and that a graph keeps
calls with effects, in order. A graph's operation holds a random number instead of the function, so no cache on disk can
match it; the graph keeps the function alive.
"""

from __future__ import annotations

import secrets
import weakref
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch.autograd import forward_ad
from torch.fx import GraphModule

from backend_torch.tensors import memory, trace_state
from backend_torch.torch_private import functorch
from backend_torch.torch_private.operators import below_autograd

Tensor = torch.Tensor
Tensors = list[Tensor]


@dataclass(frozen=True)
class HostCall:
    """A function that a graph calls with tensors of known values.

    Attributes
    ----------
    function : callable
        Takes a list of tensors, which it does not write to, and returns a list of new tensors.
    results : tuple of (shape, dtype)
        The shapes and dtypes of the tensors that it returns.
    at_once : bool
        Whether one call takes a whole batch, along a first dimension of all tensors; else each slice is a call.
    """

    function: Callable[[Tensors], Tensors]
    results: tuple[tuple[tuple[int, ...], torch.dtype], ...] = ()
    at_once: bool = False

    def __call__(self, tensors: Tensors) -> Tensors:
        """Call the function and check its results.

        Raises
        ------
        ValueError, TypeError
            A result does not have the shape or dtype that `results` says.
        """
        found = self.function(tensors)
        for tensor, (shape, dtype) in zip(found, self.results, strict=True):
            if tuple(tensor.shape) != shape:
                raise ValueError(
                    f"a callback returns an array of shape {tuple(tensor.shape)} where {shape} is expected"
                )
            if tensor.dtype is not dtype:
                names = [str(each).removeprefix("torch.") for each in (tensor.dtype, dtype)]
                raise TypeError(f"a callback returns an array of {names[0]} where {names[1]} is expected")
        return [tensor.to(tensors[0].device) for tensor in found] if tensors else found


_calls: weakref.WeakValueDictionary[int, HostCall] = weakref.WeakValueDictionary()  # graphs and programs hold them
_DONE = ((), torch.int8)  # the result of a call with effects: later such calls, and the graph's end, depend on it


def _run(key: int, values: Tensors, after: Tensors) -> Tensors:
    return _calls[key](list(values))


def _without_data(key: int, values: Tensors, after: Tensors) -> Tensors:
    device = values[0].device if values else torch.device("cpu")
    return [torch.empty(shape, dtype=dtype, device=device) for shape, dtype in _calls[key].results]


def _batched(info: Any, in_dims: Any, key: int, values: Tensors, after: Tensors) -> tuple[Tensors, list[int | None]]:
    dims, call, count = in_dims[1], _calls[key], info.batch_size

    def of_each(values: Tensors) -> Tensors:
        rows = [call([v if d is None else v[i] for v, d in zip(values, dims, strict=True)]) for i in range(count)]
        return rows[-1] if is_effect else [torch.stack(column) for column in zip(*rows, strict=True)]

    is_effect = call.results == (_DONE,)
    values = [v if d is None else v.movedim(d, 0) for v, d in zip(values, dims, strict=True)]
    results = call.results if is_effect else tuple([((count, *shape), dtype) for shape, dtype in call.results])
    if call.at_once:
        values = [v.expand(count, *v.shape) if d is None else v for v, d in zip(values, dims, strict=True)]
    other = HostCall(call.function if call.at_once else of_each, results, call.at_once)
    made = torch.ops.tnp_host.call(_key(other), values, after)
    return made, [None if is_effect else 0] * len(made)


def _recorded(key: int, values: Tensors, after: Tensors) -> Tensors:
    """Run a call under autograd: raise if a derivative depends on one of its arguments."""
    if torch.is_grad_enabled() and any(value.requires_grad for value in values):
        raise derivative_error()
    if any(forward_ad.unpack_dual(value).tangent is not None for value in values):
        raise derivative_error()
    with below_autograd():
        return list(torch.ops.tnp_host.call(key, values, after))


def derivative_error() -> ValueError:
    """Return the error for differentiating a call."""
    return ValueError(
        "Pure callbacks do not support derivatives. Give the function that calls one a derivative by "
        "tnp.custom_gradient or tnp.custom_jvp, or say that its arguments are constants: tnp.stop_gradient(x)"
    )


_library = torch.library.Library("tnp_host", "DEF")
_library.define("call(int key, Tensor[] values, Tensor[] after) -> Tensor[]")
_library.define("done(Tensor[] after) -> Tensor")
_library.impl("call", _run, "CompositeExplicitAutograd")
_library.impl("call", _recorded, "Autograd")
_library.impl("done", lambda after: after[0].new_zeros((), dtype=torch.int8), "CompositeExplicitAutograd")
torch.library.register_fake("tnp_host::call", _without_data, lib=_library)
torch.library.register_fake("tnp_host::done", lambda after: after[0].new_empty((), dtype=torch.int8), lib=_library)
torch.library.register_vmap("tnp_host::call", _batched, lib=_library)
_CALL = torch.ops.tnp_host.call.default


def _key(call: HostCall) -> int:
    key = secrets.randbits(62)
    _calls[key] = call
    if trace_state.is_tracing():
        trace_state.state.calls.append(call)
    return key


def count() -> int:
    """Return the number of functions that graphs may call."""
    return len(_calls)


class _WithoutDerivative(torch.autograd.Function):
    """Returns a call's results, the first ``count`` tensors; the others are its arguments. A derivative raises."""

    generate_vmap_rule = True

    @staticmethod
    def forward(count: int, *tensors: Tensor) -> tuple[Tensor, ...]:
        return tuple([tensor.view_as(tensor) for tensor in tensors[:count]])

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.mark_non_differentiable(*[each for each in output if not (each.is_floating_point() or each.is_complex())])

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        raise derivative_error()

    @staticmethod
    def jvp(ctx: Any, *tangents: Any) -> Any:
        raise derivative_error()


def results(call: HostCall, tensors: Sequence[Tensor]) -> Tensors:
    """Call a function on tensors, now or when the graph runs; differentiating its results raises ValueError."""
    followed = any(map(_is_followed, tensors))
    # Without a derivative now, tensors stay attached: the graph itself may be differentiated later.
    values = [tensor.detach() for tensor in tensors] if followed else list(tensors)
    made = torch.ops.tnp_host.call(_key(call), values, []) if _is_recorded() else call(values)
    if followed:
        return list(_WithoutDerivative.apply(len(made), *made, *tensors))
    return list(made)


def _is_recorded() -> bool:
    return trace_state.is_tracing() or functorch.is_transforming()


def _is_followed(tensor: Tensor) -> bool:
    """Whether a derivative depends on a tensor."""
    while functorch.is_wrapped(tensor):
        if not functorch.is_batched(tensor) and functorch.is_followed(tensor, functorch.level_of(tensor)):
            return True
        tensor = functorch.get_unwrapped(tensor)
    return tensor.requires_grad and torch.is_grad_enabled()


def notify(function: Callable[[Tensors], object], tensors: Sequence[Tensor]) -> None:
    """Call a function on tensors for its effects, now or when the graph runs; no gradient flows through the call."""
    if not _is_recorded():
        function([tensor.detach() for tensor in tensors])
        return

    def run(values: Tensors) -> Tensors:
        function(values)
        return [torch.zeros((), dtype=torch.int8)]

    done = trace_state.state.effects
    call = HostCall(run, (_DONE,))
    (made,) = torch.ops.tnp_host.call(_key(call), [tensor.detach() for tensor in tensors], list(done))
    if trace_state.is_tracing():
        done[:] = [memory.unwrapped(made)]


def _calls_in(module: GraphModule) -> list[Any]:
    parts = [part for part in module.modules() if isinstance(part, GraphModule)]
    return [node for part in parts for node in part.graph.find_nodes(op="call_function", target=_CALL)]


def are_there(module: GraphModule) -> bool:
    """Whether a graph, or a graph inside it, calls functions of Python."""
    return bool(_calls_in(module))


def has_effects(module: GraphModule) -> bool:
    """Whether a graph, or a graph inside it, calls a function for its effects."""
    return any(_calls[node.args[0]].results == (_DONE,) for node in _calls_in(module))


def finished(tensors: Sequence[Tensor]) -> Tensors:
    """Make the results of a branch or a loop's body depend on its calls with effects, so that these run before."""
    done = trace_state.state.effects
    if not done or not tensors:
        return list(tensors)
    waits = torch.ops.tnp_host.done([tensor.detach() for tensor in done]) == 0
    return [torch.where(waits, tensors[0], tensors[0].new_zeros(())), *tensors[1:]]
