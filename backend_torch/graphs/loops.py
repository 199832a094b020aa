"""Branches and loops of a graph: compiled with several steps in a trip, or run by Python.

Layer: owns how a graph's control flow runs; what it computes is the graph's. A trip through compiled code costs as much
as many small steps. Autograd follows Python's loops: torch's own derivatives of its operators are wrong for loops in
loops once they are compiled, and missing for a scan that carries integers (torch 2.13).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from operator import getitem
from typing import Any

import torch
from torch.fx import Graph, GraphModule, Node

from backend_torch.graphs.graph_copies import duplicate
from backend_torch.torch_private import traces
from backend_torch.torch_private.operators import schema_of

Tensor = torch.Tensor
Run = Callable[..., Any]
aten = torch.ops.aten
_MOST_STEPS = 128
_MOST_OPERATIONS = 256  # in a trip, as each is compiled


def has_control_flow(module: GraphModule) -> bool:
    """Whether a graph branches or loops."""
    return any(node.target in _BY_PYTHON for node in module.graph.nodes)


def by_python(module: GraphModule) -> GraphModule:
    """Return the graph with its branches and loops, also inner ones, run by Python."""
    copy = traces.copied(module)
    graph = copy.graph
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
    """Do many steps in a trip of counted loops of elementwise operations.

    Where the number of steps is known there is one loop at most, and what it leaves is done after it; else each loop
    does what the one before left, the last of them one step a trip. How much is compiled does not depend on how many
    steps there are.
    """
    for node in module.graph.find_nodes(op="call_function", target=torch.ops.higher_order.while_loop):
        test, step = [getattr(module, argument.target) for argument in node.args[:2]]
        counter = _counter(test, step)
        steps = _steps(step)
        if counter is None or steps == 1:
            continue
        count = _count(test, counter, node.args[2][counter])
        if count is None:
            for fewer in (steps, math.isqrt(steps)):
                _loop_before(module, node, counter, fewer)
            continue
        if count >= 2 * steps:
            _loop_before(module, node, counter, steps)
            count %= steps
        with module.graph.inserting_before(node):
            values = _stepped(module.graph, step, node.args[2], node.args[3], counter, count)
            if not count:  # the results are memory of their own
                values = [_called(module.graph, aten.clone.default, value) for value in values]
        for user in list(node.users):
            user.replace_all_uses_with(values[user.args[1]])
            module.graph.erase_node(user)
        module.graph.erase_node(node)
    module.graph.eliminate_dead_code()
    used = {node.target for node in module.graph.find_nodes(op="get_attr")}
    for name, _ in list(module.named_children()):
        if name not in used:  # torch's delete_all_unused_submodules takes what lies in the others too
            delattr(module, name)
    module.recompile()


def is_elementwise(module: GraphModule, node: Node) -> bool:
    """Whether a loop is counted and its steps are elementwise, so that a trip can do several."""
    if node.target is not torch.ops.higher_order.while_loop:
        return False
    graphs: Any = node.args[:2]
    test, step = [getattr(module, graph.target) for graph in graphs]
    return _steps(step) > 1 and _counter(test, step) is not None


def _loop_before(module: GraphModule, node: Node, counter: int, steps: int) -> None:
    """Insert a loop of whole trips of ``steps`` before another loop, which does the remaining steps."""
    graphs: Any = node.args[:2]
    test, step = [getattr(module, graph.target) for graph in graphs]
    names = [f"{graph.target}_by_{steps}" for graph in graphs]
    module.add_submodule(names[0], _ahead(test, counter, steps - 1))
    module.add_submodule(names[1], _repeated(step, counter, steps))
    carried: Any = node.args[2]
    with module.graph.inserting_before(node):
        ahead = [module.graph.get_attr(name) for name in names]
        loop = module.graph.call_function(node.target, (*ahead, *node.args[2:]))  # type: ignore[arg-type]
        loop.meta = dict(node.meta)
        values = [module.graph.call_function(getitem, (loop, index)) for index in range(len(carried))]
    for one, value in zip(values, node.meta["val"], strict=True):
        one.meta["val"] = value
    node.args = (*node.args[:2], tuple(values), node.args[3])


def _count(test: GraphModule, counter: int, start: Any) -> int | None:
    """Return the number of steps of a counted loop, if its bounds are numbers."""
    compared = _copied(test.graph.output_node().args[0])
    first, bound = _number(_copied(start)), _number(compared.args[1])
    return max(0, bound - first) if isinstance(first, int) and isinstance(bound, int) else None


def known_steps(module: GraphModule, node: Node) -> int | None:
    """How many steps a loop of a graph takes; None if that depends on values."""
    if node.target is not torch.ops.higher_order.while_loop:
        return None
    graphs: Any = node.args[:2]
    test, step = [getattr(module, graph.target) for graph in graphs]
    test = duplicate(test)
    for view in test.graph.find_nodes(op="call_function", target=aten.view.default):
        if view.meta["val"].dim() == 0:
            view.replace_all_uses_with(view.args[0])
    counter = _counter(test, step)
    carried: Any = node.args[2]
    return None if counter is None else _count(test, counter, carried[counter])


def _counter(test: GraphModule, step: GraphModule) -> int | None:
    """Return which carried value counts up to a constant bound (``i < n``, ``i = i + 1``), if one does."""
    inputs = test.graph.find_nodes(op="placeholder")
    after: Any = step.graph.output_node().args[0]
    compared = _copied(test.graph.output_node().args[0])
    if compared.target not in (aten.lt.Scalar, aten.lt.Tensor):
        return None
    index: Any
    index, bound = compared.args
    if index not in inputs[: len(after)] or index.meta["val"].dtype is not torch.int64:
        return None  # some steps ahead, the counter would exceed the range of a smaller integer
    if bound not in inputs[len(after) :] and _number(bound) is None:
        return None
    position = inputs.index(index)
    following = _copied(after[position])
    if following.target is not aten.add.Tensor or following.kwargs or _number(following.args[1]) != 1:
        return None
    return position if following.args[0] is step.graph.find_nodes(op="placeholder")[position] else None


def _copied(node: Any) -> Node:
    """Return the source of a copy."""
    while node.target is aten.clone.default:
        node = node.args[0]
    return node


def _number(value: Any) -> Any:
    """Return a number, which a graph may hold as a tensor; None if it is not a number."""
    if isinstance(value, Node):
        return value.args[1] if value.target is aten.full.default and not value.args[0] else None
    return value


def _steps(step: GraphModule) -> int:
    operations = [node for node in step.graph.nodes if node.op not in ("placeholder", "output")]
    if not all(map(_is_elementwise, operations)):
        return 1
    computing = [node for node in operations if node.target is not aten.full.default]  # beside numbers, one counts
    return max(1, min(_MOST_STEPS, _MOST_OPERATIONS // max(1, len(computing) - 1)))


def _is_elementwise(node: Node) -> bool:
    """Whether an operation's code is fused with the next: it is elementwise, a scalar or a view."""
    target: Any = node.target
    schema = schema_of(target)
    if node.op != "call_function" or schema is None:
        return False
    is_view = any(result.alias_info is not None for result in schema.returns)
    return torch.Tag.pointwise in target.tags or target in (aten.full.default, aten.clone.default) or is_view


def _ahead(test: GraphModule, counter: int, steps: int) -> GraphModule:
    """Return the condition some steps later."""
    graph = Graph()
    copies: dict[Node, Node] = {}
    inputs = test.graph.find_nodes(op="placeholder")
    for node in inputs:
        copies[node] = graph.node_copy(node)
    copies[inputs[counter]] = _called(graph, aten.add.Tensor, copies[inputs[counter]], steps)
    graph.output(graph.graph_copy(test.graph, copies))
    return traces.Module(test, graph)


def _repeated(step: GraphModule, counter: int, steps: int) -> GraphModule:
    """Return the step repeated several times."""
    graph = Graph()
    inputs = [graph.node_copy(node) for node in step.graph.find_nodes(op="placeholder")]
    carried = len(step.graph.output_node().args[0])  # type: ignore[arg-type]
    graph.output(tuple(_stepped(graph, step, inputs[:carried], inputs[carried:], counter, steps)))
    graph.eliminate_dead_code()
    return traces.Module(step, graph)


def _stepped(
    graph: Graph, step: GraphModule, carried: Sequence[Any], outer: Sequence[Any], counter: int, steps: int
) -> Sequence[Any]:
    """Return the carried values after several steps; each counts from the first, so that steps are independent."""
    inputs = step.graph.find_nodes(op="placeholder")
    values: Any = carried
    for number in range(steps):
        now = list(values)
        if number:
            now[counter] = _called(graph, aten.add.Tensor, carried[counter], number)
        values = graph.graph_copy(step.graph, dict(zip(inputs, [*now, *outer], strict=True)))
    return values


def _called(graph: Graph, target: Any, value: Node, *args: Any) -> Node:
    """Insert an operation on a value that keeps its dtype and shape."""
    node = graph.call_function(target, (value, *args))
    node.meta["val"] = value.meta["val"]
    return node
