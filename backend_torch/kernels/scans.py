"""Scans: kernels whose result holds each partial reduction along an axis.

Layer: owns the torch code that scans a dtype. The caller chooses axes and dtypes. ``resolve(given, result)`` is the
callable ``loop(tensor, dim)`` for tensors of dtype ``given`` that computes in dtype ``result``.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch.fx import GraphModule

from backend_torch.kernels import graph_operations, reductions
from backend_torch.kernels.graph_operations import called
from backend_torch.kernels.order import ordered, restored
from backend_torch.kernels.reductions import Binary, Loop, Resolver
from backend_torch.native import heads
from backend_torch.tensors import trace_state
from backend_torch.tensors.casting import cast
from backend_torch.tensors.dtypes import SIGNED
from backend_torch.tensors.out_of_memory import explaining
from backend_torch.tensors.shape import has_sizes
from backend_torch.torch_private import functorch, traces

Tensor = torch.Tensor
aten, prims = torch.ops.aten, torch.ops.prims


def scan(function: Binary, tensor: Tensor, dim: int, associative: bool = False) -> Tensor:
    """Scan along ``dim``: each result is ``function`` of the result before it and the element there.

    Elements are taken one by one. If ``associative``, neighbours at distances 1, 2, 4, ... are combined, so the
    function is called log2(n) times.
    """
    size = tensor.shape[dim]
    if size <= 1:
        return tensor.clone()
    if not associative:
        results = [*tensor.unbind(dim)]
        for i in range(1, size):
            results[i] = function(results[i - 1], results[i])
        return torch.stack(results, dim)
    distance = 1
    while distance < size:
        done = tensor.narrow(dim, 0, distance)
        before = tensor.narrow(dim, 0, size - distance)
        here = tensor.narrow(dim, distance, size - distance)
        tensor = torch.cat([done, function(before, here)], dim)
        distance *= 2
    return tensor


def scanned(function: Binary, associative: bool) -> Resolver:
    """Return any binary kernel as a scan.

    Parameters
    ----------
    function : callable
        ``function(left, right)``, elementwise, on tensors of the result's dtype.
    associative : bool
        Whether ``f(f(a, b), c)`` is ``f(a, f(b, c))``.
    """
    return lambda given, result: lambda tensor, dim: scan(function, cast(tensor, result), dim, associative)


def _running_extreme(function: Callable[..., tuple[Tensor, Tensor]], extreme: Resolver) -> Resolver:
    """A running maximum or minimum; NaN from the first NaN on."""

    def resolve(given: torch.dtype, result: torch.dtype) -> Loop:
        if result.is_complex:
            of_pair = extreme(result, result)
            return scanned(lambda left, right: of_pair(torch.stack([left, right]), 0, False), True)(given, result)
        return lambda tensor, dim: restored(function(ordered(cast(tensor, result)), dim)[0], result)

    return resolve


def _running_logical(function: Callable[..., tuple[Tensor, Tensor]]) -> Resolver:
    """A running any or all; the result is always bool."""

    def loop(tensor: Tensor, dim: int) -> Tensor:
        return function(tensor.to(torch.bool).view(torch.uint8), dim)[0].view(torch.bool)

    return lambda given, result: loop


def _cumprod(tensor: Tensor, dim: int, dtype: torch.dtype | None = None) -> Tensor:
    """torch.cumprod; in a trace of derivatives a scan, as torch's has a step for each element, of all elements."""
    if trace_state.is_tracing() and _is_differentiated(tensor) and has_sizes(tensor):
        return scan(torch.mul, tensor if dtype is None else tensor.to(dtype), dim, associative=True)
    return torch.cumprod(tensor, dim, dtype=dtype)


def _is_differentiated(tensor: Tensor) -> bool:
    while functorch.is_wrapped(tensor):
        if not functorch.is_batched(tensor):
            return True
        tensor = functorch.get_unwrapped(tensor)
    return tensor.requires_grad


any = _running_logical(torch.cummax)
all = _running_logical(torch.cummin)
sum = reductions.accumulator(torch.cumsum, any)
prod = reductions.accumulator(_cumprod, all)
max = _running_extreme(torch.cummax, reductions.max)
min = _running_extreme(torch.cummin, reductions.min)


_library = torch.library.Library("tnp", "FRAGMENT")
_library.define("scanned(Tensor values, int dim, str name) -> Tensor")
_HEADS = {"cumsum": heads.cumsum, "cumprod": heads.cumprod}
_LEAST = 1 << 11  # elements; torch's own call takes less time for fewer


def _scanned(values: Tensor, dim: int, name: str) -> Tensor:
    """What eager code calls, of a tensor in C order."""
    values = values.contiguous()
    found = heads.on_tensors(_HEADS[name], values, dim, None, None)
    return getattr(torch, name)(values, dim) if found is None else found


_library.impl("scanned", _scanned, "CPU")
torch.library.register_fake("tnp::scanned", lambda values, dim, name: values.new_empty(values.shape), lib=_library)
graph_operations.direct("scanned", _scanned)


def choose(module: GraphModule) -> None:
    """Let a graph scan across lines as eager code does, a row at a time: torch takes four times as long."""
    graph, mode = module.graph, traces.new_fake_mode()
    for target, name in ((aten.cumsum.default, "cumsum"), (aten.cumprod.default, "cumprod")):
        for node in graph.find_nodes(op="call_function", target=target):
            value, made = [traces.like(mode, each.meta["val"]) for each in (node.args[0], node)]
            if not value.is_cpu or not isinstance(made.numel(), int) or made.numel() < _LEAST:
                continue
            axes = graph_operations.memory_order(value) or graph_operations.memory_order(made)
            dim = (node.args[1] if len(node.args) > 1 else node.kwargs["dim"]) % made.dim()
            if axes is None or axes[-1] == dim or not made.is_contiguous():
                continue
            back = [axes.index(axis) for axis in range(made.dim())]
            rows = value.permute(axes)
            lines = rows.to(made.dtype).contiguous()
            with graph.inserting_before(node):
                given = called(graph, aten.permute.default, rows, node.args[0], axes)
                if value.dtype is not made.dtype:
                    given = called(graph, prims.convert_element_type.default, lines, given, made.dtype)
                found = called(graph, torch.ops.tnp.scanned.default, lines, given, axes.index(dim), name)
                found = called(graph, aten.permute.default, lines.permute(back), found, back)
                if axes != sorted(axes):
                    found = called(graph, aten.clone.default, made, found)
                    found.kwargs = {"memory_format": torch.contiguous_format}
                node.replace_all_uses_with(found)
            graph.erase_node(node)
    module.recompile()


def after_value(tensor: Tensor, value: int, dim: int) -> Tensor:
    """Put ``value`` before the first element along ``dim``."""
    shape = list(tensor.shape)
    shape[dim] = 1
    return torch.cat([torch.full(shape, value, dtype=tensor.dtype, device=tensor.device), tensor], dim)


@explaining
def difference(tensor: Tensor, dim: int) -> Tensor:
    """Subtract from each element along ``dim`` the one before it; for booleans, whether they differ."""
    size = tensor.shape[dim]
    count = size - 1 if size else 0
    here, before = tensor.narrow(dim, size - count, count), tensor.narrow(dim, 0, count)
    return here != before if tensor.dtype is torch.bool else _subtracted(here, before)


def _subtracted(one: Tensor, other: Tensor) -> Tensor:
    """Return ``one - other``; unsigned numbers go through the signed type, which has the same bits."""
    signed = SIGNED.get(one.dtype)
    return one - other if signed is None else (one.view(signed) - other.view(signed)).view(one.dtype)
