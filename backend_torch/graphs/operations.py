"""A traced graph as a list of described operations, for inspection and counting.

Layer: reads torch's graph; nothing here runs one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from operator import getitem
from typing import Any

import torch
from torch.fx import GraphModule, Node

from backend_torch.torch_private.operators import schema_of


@dataclass(frozen=True)
class Value:
    """A result of an operation: a tensor's name, dtype, shape and device."""

    name: str
    dtype: torch.dtype
    shape: tuple[int, ...]
    device: torch.device


@dataclass(frozen=True)
class Step:
    """An operation: name, function, arguments, the user's line, and the graphs of its branches or its body."""

    name: str
    op: str
    inputs: tuple[str, ...]
    outputs: tuple[Value, ...]
    attributes: Mapping[str, Any]
    line: str | None = None
    graphs: Mapping[str, list[Step]] = field(default_factory=dict)


_GRAPHS = {
    "cond": ("true", "false"),
    "while_loop": ("condition", "body"),
    "scan": ("body",),
}


def steps(module: GraphModule, inputs: Sequence[str] | None = None) -> list[Step]:
    """Return the operations of a graph in order, from an ``input`` for each input, by its name, to the ``output``."""
    names: dict[Node, str] = {}
    found: list[Step] = []
    given = iter(inputs or ())
    for node in module.graph.nodes:
        if node.op == "get_attr":
            continue  # an inner graph, which belongs to its operation
        if node.target is getitem and isinstance(node.args[0], Node) and node.args[0] in names:
            names[node] = f"{names[node.args[0]]}[{node.args[1]}]"
            continue
        name = names[node] = next(given, node.name) if node.op == "placeholder" else node.name
        used = tuple([names[used] for used in node.all_input_nodes if used in names])
        if node.op in ("placeholder", "output"):
            op = "input" if node.op == "placeholder" else "output"
            found.append(Step(name, op, used, _values(name, node), {}, None, {}))
        else:
            found.append(
                Step(
                    name,
                    _op(node),
                    used,
                    _values(name, node),
                    dict(_attributes(node)),
                    node.meta.get("line"),
                    _graphs(module, node),
                )
            )
    return found


def _op(node: Node) -> str:
    packet = getattr(node.target, "overloadpacket", node.target)
    return str(getattr(packet, "__name__", packet))


def _values(name: str, node: Node) -> tuple[Value, ...]:
    value = node.meta.get("val")
    if isinstance(value, torch.Tensor):
        return (Value(name, value.dtype, tuple(value.shape), value.device),)
    if isinstance(value, (tuple, list)):
        tensors = [(index, item) for index, item in enumerate(value) if isinstance(item, torch.Tensor)]
        return tuple([Value(f"{name}[{i}]", item.dtype, tuple(item.shape), item.device) for i, item in tensors])
    return ()


def _attributes(node: Node) -> Iterator[tuple[str, Any]]:
    """Return the arguments of an operation that are not tensors, by the names of its parameters."""
    schema = schema_of(node.target)
    parameters = [] if schema is None else [argument.name for argument in schema.arguments]
    for name, value in zip(parameters, node.args, strict=False):
        if not _has_node(value):
            yield name, value
    for name, value in node.kwargs.items():
        if not _has_node(value) and value is not None:
            yield name, value


def _has_node(value: Any) -> bool:
    if isinstance(value, (tuple, list)):
        return any(map(_has_node, value))
    return isinstance(value, Node)


def _graphs(module: GraphModule, node: Node) -> dict[str, list[Step]]:
    inner = [getattr(module, str(used.target)) for used in node.all_input_nodes if used.op == "get_attr"]
    return {name: steps(graph) for name, graph in zip(_GRAPHS.get(_op(node), ()), inner, strict=False)}
