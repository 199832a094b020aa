"""Random numbers that branches and loops draw whose derivatives are taken.

Layer: owns graphs without their draws. A derivative computes a branch or a loop's step again, and needs the numbers
that were drawn the first time. So they are drawn before, and are inputs.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from torch.fx import Graph, GraphModule, Node

from backend_torch.graphs import graph_copies
from backend_torch.torch_private import traces

_COND = torch.ops.higher_order.cond


def _is_draw(node: Node) -> bool:
    return torch.Tag.nondeterministic_seeded in getattr(node.target, "tags", ())


def draws(module: GraphModule) -> bool:
    """Whether a graph, or a graph inside it, draws random numbers."""
    graphs = [each.graph for each in module.modules() if isinstance(each, GraphModule)]
    return any(_is_draw(node) for graph in graphs for node in graph.nodes)


def apart(module: GraphModule, place: int | None = None) -> tuple[GraphModule, GraphModule | None]:
    """Return a graph that gets what it draws as inputs, and the graph that draws; None if that draws nothing.

    Draws that depend on inputs stay, and so do those of inner loops.

    Parameters
    ----------
    module : GraphModule
    place : int, optional
        The number of inputs before those that are drawn; all others by default.
    """
    if not draws(module):
        return module, None
    graph = Graph()
    graph.output(graph.graph_copy(module.graph, {}))
    held = {str(node.target): getattr(module, str(node.target)) for node in graph.find_nodes(op="get_attr")}
    for node in graph.find_nodes(op="call_function", target=_COND):
        _take_out(graph, held, node)
    graph.eliminate_dead_code()  # also branches that were replaced
    made = traces.Module(held, graph)
    made.meta.update(module.meta)
    found = [node for node in made.graph.nodes if _is_draw(node) and _is_free(node)]
    if not found:
        return made, None
    drawing = graph_copies.duplicate(made, found)
    drawing.graph.eliminate_dead_code()
    for node in drawing.graph.find_nodes(op="placeholder"):
        drawing.graph.erase_node(node)
    placeholders = made.graph.find_nodes(op="placeholder")
    first = next(iter(made.graph.nodes))
    after = placeholders[:place][-1] if placeholders[:place] else None
    for index, node in enumerate(found):
        with made.graph.inserting_after(after) if after is not None else made.graph.inserting_before(first):
            after = made.graph.placeholder(f"drawn_{index}")
        after.meta = dict(node.meta)
        node.replace_all_uses_with(after)
        made.graph.erase_node(node)
    made.graph.eliminate_dead_code()
    made.recompile()
    drawing.recompile()
    return made, drawing


def branches_apart(modules: Sequence[GraphModule]) -> tuple[list[GraphModule], list[GraphModule]]:
    """Return two branches whose last inputs are what either of them draws, and the graphs that draw."""
    parts = [apart(module) for module in modules]
    drawings = [drawing for _, drawing in parts if drawing is not None]
    if not drawings:
        return [made for made, _ in parts], []
    names: list[list[Any]] = []
    union: dict[Any, Tensor] = {}
    for number, (module, (made, _)) in enumerate(zip(modules, parts, strict=True)):
        inputs = made.graph.find_nodes(op="placeholder")
        own = len(module.graph.find_nodes(op="placeholder"))
        names.append([index if index < own else (number, index) for index in range(len(inputs))])
        union.update(zip(names[-1], [node.meta["val"] for node in inputs], strict=True))
    shared = {name: value for name, value in union.items() if isinstance(name, int)}
    union = shared | union
    return [graph_copies.with_inputs(made, each, union) for (made, _), each in zip(parts, names, strict=True)], drawings


def _take_out(graph: Graph, held: dict[str, Any], node: Node) -> None:
    """Let a graph, whose attributes are ``held``, draw what the branches at one of its nodes draw."""
    predicate, first, second, operands = node.args
    branches: Any = first, second
    made, drawings = branches_apart([held[branch.target] for branch in branches])
    drawn: list[Node] = []
    with graph.inserting_before(node):
        for drawing in drawings:
            copies: dict[Node, Node] = {}
            drawn += graph.graph_copy(drawing.graph, copies)  # type: ignore[arg-type]
            for each in drawing.graph.find_nodes(op="get_attr"):
                copies[each].target = _added(held, str(each.target), getattr(drawing, str(each.target)))
        first, second = [
            graph.get_attr(_added(held, branch.target, each)) for branch, each in zip(branches, made, strict=True)
        ]
    node.args = (predicate, first, second, (*operands, *drawn))  # type: ignore[misc]


def _added(held: dict[str, Any], name: str, value: Any) -> str:
    """Add an attribute, and return its name."""
    while name in held:
        name += "_"
    held[name] = value
    return name


def _is_free(node: Node) -> bool:
    """Whether a node does not depend on the inputs of its graph, and gives one tensor."""
    waiting, seen = [node], {node}
    while waiting:
        each = waiting.pop()
        if each.op == "placeholder" or (each is not node and _is_draw(each)):
            return False
        waiting += [operand for operand in each.all_input_nodes if operand not in seen]
        seen.update(each.all_input_nodes)
    return isinstance(node.meta.get("val"), Tensor)
