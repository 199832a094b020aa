"""Copies of traced graphs: with other results, with other inputs, or so that autograd can record them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from torch import Tensor
from torch.fx import Graph, GraphModule, Node

from backend_torch.tensors import aliasing
from backend_torch.tensors.memory import with_history
from backend_torch.torch_private import traces


def duplicate(module: GraphModule, results: Sequence[Node] | None = None) -> GraphModule:
    """Return a copy of a graph that may be changed; ``results``, if given, are its results."""
    copies: dict[Node, Node] = {}
    graph = Graph()
    returned = graph.graph_copy(module.graph, copies)
    graph.output(returned if results is None else tuple([copies[node] for node in results]))
    return traces.Module(module, graph)


def of_one_result(module: GraphModule) -> GraphModule:
    """Return a copy of a graph whose result is a tensor instead of a sequence of one."""
    made = duplicate(module)
    output = made.graph.output_node()
    output.args = (output.args[0][0],)  # type: ignore[index]
    made.recompile()
    return made


def of_sequence(module: GraphModule) -> GraphModule:
    """Return a copy of a graph whose result is a sequence of one tensor instead of the tensor."""
    made = duplicate(module)
    output = made.graph.output_node()
    output.args = ((output.args[0],),)
    made.recompile()
    return made


def recordable(module: GraphModule, targets: Callable[[Node], Iterable[Node]]) -> GraphModule:
    """Return a copy of a graph that autograd can record; an operation writes to the nodes ``targets(node)``."""
    made = duplicate(module)
    for node in made.graph.nodes:
        for target in dict.fromkeys(targets(node)):
            with made.graph.inserting_before(node):
                known = made.graph.call_function(with_history, (target,))
            node.replace_input_with(target, known)
    made.recompile()
    return made


def of_overlapping(module: GraphModule, targets: Callable[[Node], Iterable[Node]]) -> GraphModule:
    """Return a copy of a graph for inputs that overlap: an operation reads what another input has before it writes."""
    made = duplicate(module)
    for node in made.graph.nodes:
        written = list(targets(node))
        for operand in [each for each in node.all_input_nodes if written and each not in written]:
            with made.graph.inserting_before(node):
                apart = made.graph.call_function(aliasing.apart, (operand, *written))
            node.replace_input_with(operand, apart)
    made.recompile()
    return made


def with_inputs(module: GraphModule, last: Sequence[int], union: Mapping[int, Tensor]) -> GraphModule:
    """Return a graph whose last inputs, named ``last``, are those of ``union``; additional ones are unused."""
    graph = Graph()
    placeholders = module.graph.find_nodes(op="placeholder")
    own = len(placeholders) - len(last)
    copies = {node: graph.placeholder(node.name) for node in placeholders[:own]}
    named = {name: graph.placeholder(f"outer_{index}") for index, name in enumerate(union)}
    copies.update(zip(placeholders[own:], [named[name] for name in last], strict=True))
    for old, new in copies.items():
        new.meta = dict(old.meta)
    for name, new in named.items():
        new.meta.setdefault("val", union[name])
    graph.output(graph.graph_copy(module.graph, copies))
    made = traces.Module(module, graph)
    made.meta.update(module.meta)
    return made
