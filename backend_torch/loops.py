"""Branches and loops of a graph: with several steps a trip where they are compiled, else by Python.

Layer: owns how a graph's control flow runs; what it computes is the graph's. A trip through compiled code costs as much
as many small steps. Autograd follows Python's loops: torch's own derivatives of its operators are wrong for loops in
loops once they are compiled, and missing for a scan that carries integers (torch 2.13).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import getitem
from typing import Any

import torch
from torch.fx import Graph, GraphModule, Node

Tensor = torch.Tensor
Run = Callable[..., Any]
aten = torch.ops.aten
_MOST_STEPS = 64
_MOST_OPERATIONS = 256  # in a trip: each is compiled


def has_control_flow(module: GraphModule) -> bool:
    """Whether a graph branches or loops."""
    return any(node.target in _BY_PYTHON for node in module.graph.nodes)


def by_python(module: GraphModule) -> GraphModule:
    """The same graph with its branches and loops run by Python, those inside of them too."""
    graph = Graph()
    graph.output(graph.graph_copy(module.graph, {}))
    copy = GraphModule(module, graph)
    for node in graph.find_nodes(op="get_attr"):
        inner = getattr(copy, node.target)
        if isinstance(inner, GraphModule):
            copy.add_submodule(str(node.target), by_python(inner))
    for node in graph.nodes:
        node.target = _BY_PYTHON.get(node.target, node.target)
    copy.recompile()
    return copy


def _cond(predicate: Tensor, true: Run, false: Run, operands: Sequence[Tensor]) -> Sequence[Tensor]:
    return true(*operands) if predicate else false(*operands)


def _while_loop(test: Run, step: Run, carried: Sequence[Tensor], outer: Sequence[Tensor]) -> Sequence[Tensor]:
    if not test(*carried, *outer):
        return [tensor.clone() for tensor in carried]
    values = step(*carried, *outer)
    while test(*values, *outer):
        values = step(*values, *outer)
    return values


def _scan(step: Run, init: Sequence[Tensor], xs: Sequence[Tensor], outer: Sequence[Tensor]) -> Sequence[Tensor]:
    count = len(init)
    values, rows = init, []
    for slices in zip(*[x.unbind() for x in xs], strict=True):
        results = step(*values, *slices, *outer)
        values, ys = results[:count], results[count:]
        rows.append(ys)
    return [*values, *[torch.stack(column) for column in zip(*rows, strict=True)]]


_BY_PYTHON: dict[Any, Run] = {
    torch.ops.higher_order.cond: _cond,
    torch.ops.higher_order.while_loop: _while_loop,
    torch.ops.higher_order.scan: _scan,
}


def unroll(module: GraphModule) -> None:
    """Put one that takes many steps a trip before each counted loop of elementwise operations, which does the rest."""
    for node in module.graph.find_nodes(op="call_function", target=torch.ops.higher_order.while_loop):
        test, step = [getattr(module, argument.target) for argument in node.args[:2]]
        counter = _counter(test, step)
        steps = _steps(step)
        if counter is None or steps == 1:
            continue
        names = [f"{argument.target}_by_{steps}" for argument in node.args[:2]]
        module.add_submodule(names[0], _ahead(test, counter, steps - 1))
        module.add_submodule(names[1], _repeated(step, steps))
        with module.graph.inserting_before(node):
            graphs = [module.graph.get_attr(name) for name in names]
            loop = module.graph.call_function(node.target, (*graphs, *node.args[2:]))
            loop.meta = dict(node.meta)
            carried = [module.graph.call_function(getitem, (loop, index)) for index in range(len(node.args[2]))]
        for one, value in zip(carried, node.meta["val"], strict=True):
            one.meta["val"] = value
        node.args = (*node.args[:2], tuple(carried), node.args[3])
    module.recompile()


def _counter(test: GraphModule, step: GraphModule) -> int | None:
    """Which carried value counts up to a bound that stays, if that is what the loop does: ``i < n``, ``i = i + 1``."""
    inputs = test.graph.find_nodes(op="placeholder")
    after: Any = step.graph.output_node().args[0]
    compared = _copied(test.graph.output_node().args[0])
    if compared.target not in (aten.lt.Scalar, aten.lt.Tensor):
        return None
    index: Any
    index, bound = compared.args
    if index not in inputs[: len(after)] or index.meta["val"].is_floating_point():
        return None
    if bound not in inputs[len(after) :] and _number(bound) is None:
        return None
    position = inputs.index(index)
    following = _copied(after[position])
    if following.target is not aten.add.Tensor or following.kwargs or _number(following.args[1]) != 1:
        return None
    return position if following.args[0] is step.graph.find_nodes(op="placeholder")[position] else None


def _copied(node: Any) -> Node:
    """What a node is a copy of."""
    while node.target is aten.clone.default:
        node = node.args[0]
    return node


def _number(value: Any) -> Any:
    """A number, which a graph may hold as a tensor; None for what is none."""
    if isinstance(value, Node):
        return value.args[1] if value.target is aten.full.default and not value.args[0] else None
    return value


def _steps(step: GraphModule) -> int:
    operations = [node for node in step.graph.nodes if node.op not in ("placeholder", "output")]
    if not all(map(_is_elementwise, operations)):
        return 1
    return max(1, min(_MOST_STEPS, _MOST_OPERATIONS // len(operations)))


def _is_elementwise(node: Node) -> bool:
    """Whether code for an operation is fused with that of the next one: it is elementwise, a scalar or a view."""
    target: Any = node.target
    schema = getattr(target, "_schema", None)
    if node.op != "call_function" or schema is None:
        return False
    is_view = any(result.alias_info is not None for result in schema.returns)
    return torch.Tag.pointwise in target.tags or target in (aten.full.default, aten.clone.default) or is_view


def _ahead(test: GraphModule, counter: int, steps: int) -> GraphModule:
    """The condition as it will be some steps later."""
    graph = Graph()
    copies: dict[Node, Node] = {}
    inputs = test.graph.find_nodes(op="placeholder")
    for node in inputs:
        copies[node] = graph.node_copy(node)
    later = graph.call_function(aten.add.Tensor, (copies[inputs[counter]], steps))
    later.meta["val"] = inputs[counter].meta["val"]
    copies[inputs[counter]] = later
    graph.output(graph.graph_copy(test.graph, copies))
    return GraphModule(test, graph)


def _repeated(step: GraphModule, steps: int) -> GraphModule:
    """The step done several times."""
    graph = Graph()
    inputs = step.graph.find_nodes(op="placeholder")
    given = [graph.node_copy(node) for node in inputs]
    values: Sequence[Any] = given
    for _ in range(steps):
        copies = dict(zip(inputs, [*values, *given[len(values) :]], strict=True))
        values = graph.graph_copy(step.graph, copies)  # type: ignore[assignment]
    graph.output(values)
    return GraphModule(step, graph)
