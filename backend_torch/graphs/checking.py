"""Comparison of compiled with eager results: whether they are equal, and which operation differs first.

Layer: owns the comparison. Values are equal within rounding: an operation's own, and what another order of a sum makes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch.fx import Interpreter, Node

from backend_torch.graphs.compiling import Executable
from backend_torch.graphs.graph import Graph
from backend_torch.tensors import memory, trace_state
from backend_torch.torch_private import modes, traces
from backend_torch.torch_private.modes import TorchDispatchMode
from backend_torch.torch_private.operators import schema_of

Tensor = torch.Tensor


class EagerCheckError(AssertionError):
    """A compiled function has other results than the function itself."""


def checked(
    executable: Executable, inputs: list[Tensor], eager: Callable[[], Sequence[Tensor]], program: Any
) -> Sequence[Tensor]:
    """Return the results of ``program`` for these inputs, compared with those of ``eager``.

    Parameters
    ----------
    executable : Executable
    inputs : list of Tensor
        Arguments and captures. ``eager`` gets them too; its writes are undone before the program runs.
    eager : callable
        The function itself; returns its tensors.
    program : callable
        The executable's program for these inputs.

    Raises
    ------
    EagerCheckError
        A result or a write differs; the text names the first operation that differs.
    """
    graph = executable.graph
    before = [tensor.detach().clone() for tensor in inputs]
    expected = [tensor.detach().clone() for tensor in (*eager(), *inputs)]
    _restore(inputs, before)
    values = program(list(inputs))
    found = [*values, *inputs]
    if len(found) != len(expected):
        raise EagerCheckError(f"the compiled function returns {len(values)} arrays, not {len(expected) - len(inputs)}")
    draws = _draws(graph)
    for index, (one, other) in enumerate(zip(expected, found, strict=True)):
        problem = _difference(one, other, draws)
        if problem:
            what = f"result {index}" if index < len(values) else f"what is written to input {index - len(values)}"
            _restore(inputs, before)
            cause = _cause(executable, inputs, before, expected, eager)
            raise EagerCheckError(f"compiled, the function does something else than eagerly: {cause}{what} {problem}")
    return values


def _restore(inputs: Sequence[Tensor], values: Sequence[Tensor]) -> None:
    with torch.no_grad():
        for tensor, value in zip(inputs, values, strict=True):
            if not torch.equal(tensor, value):
                tensor.copy_(value)


def _draws(graph: Graph) -> bool:
    """Whether a graph draws random numbers, which differ at each call."""
    return any(
        torch.Tag.nondeterministic_seeded in getattr(node.target, "tags", ()) for node in graph.module.graph.nodes
    )


def _difference(expected: Tensor, found: Tensor, draws: bool = False) -> str:
    """Return the difference of two tensors as text; an empty text if they are equal."""
    if expected.dtype is not found.dtype or expected.shape != found.shape:
        return f"is {found.dtype} {tuple(found.shape)} and eagerly {expected.dtype} {tuple(expected.shape)}"
    if draws or not expected.numel():
        return ""
    one, other = expected.detach(), found.detach()
    if expected.is_floating_point() or expected.is_complex():
        precision = torch.finfo(expected.dtype).eps ** 0.5
        finite = one[one.isfinite()].abs()
        size = float(finite.max()) if finite.numel() else 0.0
        wrong = ~torch.isclose(other, one, rtol=precision, atol=precision * size, equal_nan=True)
    else:
        wrong = one != other
    places = wrong.nonzero()
    if not len(places):
        return ""
    place = tuple(places[0].tolist())
    where = f" at {list(place)}" if place else ""
    return f"is {other[place].item()} and eagerly {one[place].item()}{where} ({expected.dtype}, {len(places)} such)"


def _cause(
    executable: Executable,
    inputs: list[Tensor],
    before: list[Tensor],
    expected: list[Tensor],
    eager: Callable[[], Sequence[Tensor]],
) -> str:
    """Return the first operation that differs: between function and trace, or between trace and machine code."""
    traced = _Recorder(executable.graph)
    results = traced.run(*inputs)
    faithful = not any(map(_difference, expected, [*results, *inputs]))
    _restore(inputs, before)
    if faithful:  # the trace equals the function, so the machine code differs from the trace
        values = executable.values_of([node for node, _ in traced.done], inputs)
        _restore(inputs, before)
        for (node, value), found in zip(traced.done, values, strict=True):
            problem = _difference(value, found)
            if problem:
                return f"{node.target} at {node.meta.get('line')} {problem}; "
        return ""
    computes, memory.host_computes = memory.host_computes, False  # what NumPy computes is no operation
    try:
        with _Log() as log:
            eager()
    finally:
        memory.host_computes = computes
    _restore(inputs, before)
    for (operation, line, value), (node, found) in zip(log.done, traced.done, strict=False):
        problem = f"was {node.target} when it was traced" if operation is not node.target else _difference(value, found)
        if problem:
            return f"{operation} at {line} {problem}; "
    return f"{len(log.done)} operations, of which {len(traced.done)} were traced; "


def _is_compared(operation: Any, value: Any) -> bool:
    """Whether an operation computes one new tensor: not a view, nor a copy that a trace or a run may leave out."""
    schema = schema_of(operation)
    if schema is None or not isinstance(value, Tensor):
        return False
    return operation not in _LEFT_OUT and all(result.alias_info is None for result in schema.returns)


_aten = torch.ops.aten
_LEFT_OUT = frozenset(
    {_aten.full.default, _aten.clone.default, _aten.lift_fresh.default, _aten.detach.default, _aten._to_copy.default}
)


class _Recorder(Interpreter):
    """Runs a trace and keeps the results of its operations."""

    def __init__(self, graph: Graph) -> None:
        super().__init__(graph.module)
        self.done: list[tuple[Node, Tensor]] = []

    def run_node(self, node: Node) -> Any:
        value = super().run_node(node)
        if _is_compared(node.target, value):
            self.done.append((node, value.detach().clone()))
        return value


class _Log(TorchDispatchMode):
    """Keeps the results of operations while the function runs eagerly."""

    def __init__(self) -> None:
        super().__init__()
        self.done: list[tuple[Any, str, Tensor]] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None) -> Any:
        value = modes.run(func, args, kwargs)
        if _is_compared(func, value):
            self.done.append((func, trace_state.user_line(), traces.without_modes(lambda t: t.detach().clone(), value)))
        return value
