"""Random numbers of a graph: as inputs drawn before each run, or from generators that are named later.

Layer: owns which draws can leave a graph, and which generator a draw names. A graph that holds a generator can't come
from the cache on disk, as it would come with a copy of the generator, which no seed reaches; one that takes a key, or a
few numbers, can.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from torch.fx import GraphModule, Node

from backend_torch.torch_private.operators import schema_of

Tensor = torch.Tensor
_FEW = 1 << 16  # numbers of a draw: an input stays in memory until the end, unlike numbers drawn inside


def is_there(module: GraphModule) -> bool:
    """Whether a graph, or an inner one, draws from a generator that it holds."""
    return any(_held(part, node) for part in _parts(module) for node in part.graph.nodes)


def _held(module: GraphModule, node: Node) -> dict[Any, torch.Generator]:
    """Return the generators among a node's arguments, by their nodes."""
    arguments: list[Any] = [*node.args, *node.kwargs.values()]
    found = {arg: getattr(module, str(arg.target), None) for arg in arguments if _is_attribute(arg)}
    found.update({arg: arg for arg in arguments if isinstance(arg, torch.Generator)})
    return {arg: value for arg, value in found.items() if isinstance(value, torch.Generator)}


def _is_attribute(argument: object) -> bool:
    return isinstance(argument, Node) and argument.op == "get_attr"


def taken_out(module: GraphModule) -> list[tuple[Callable[[], Tensor], Tensor]]:
    """Turn the draws of a graph into its last inputs; return for each its draw and a tensor like it without data.

    All draws are turned or none, to keep their order: none if one depends on other values, is large, or is in a loop.
    """
    graph = module.graph
    drawing = [node for node in graph.nodes if _held(module, node)]
    parts = [part for part in module.children() if isinstance(part, GraphModule)]
    if any(map(is_there, parts)) or not all(_can_leave(module, node) for node in drawing):
        return []
    last = next(reversed(graph.find_nodes(op="placeholder")), None)
    found: list[tuple[Callable[[], Tensor], Tensor]] = []
    for index, node in enumerate(drawing):
        held = _held(module, node)
        target: Any = node.target
        args: list[Any] = [held.get(arg, arg) if _is_attribute(arg) else arg for arg in node.args]
        kwargs: dict[str, Any] = {
            name: held.get(arg, arg) if _is_attribute(arg) else arg for name, arg in node.kwargs.items()
        }
        found.append((partial(target, *args, **kwargs), node.meta["val"]))
        with graph.inserting_after(last) if last else graph.inserting_before(next(iter(graph.nodes))):
            last = graph.placeholder(f"drawn_{index}")
        last.meta.update(node.meta)
        node.replace_all_uses_with(last)
        graph.erase_node(node)
        for attribute in held:
            if isinstance(attribute, Node) and not attribute.users:
                graph.erase_node(attribute)
    for name in [name for name, value in module.__dict__.items() if isinstance(value, torch.Generator)]:
        del module.__dict__[name]  # a name of this process alone, and of the key in torch 2.11's cache
    module.recompile()
    return found


def without_generators(module: GraphModule) -> GraphModule:
    """Return a copy of a graph whose draws, also inner ones, name no generator: `set_generators` does."""
    nodes = [(part, node) for part in _parts(module) for node in part.graph.nodes]
    held = {id(generator): generator for part, node in nodes for generator in _held(part, node).values()}
    made = copy.deepcopy(module, held)  # generators can't be copied
    for part in _parts(made):
        for node in list(part.graph.nodes):
            for argument in _held(part, node):
                _name(node, None)
                if isinstance(argument, Node) and not argument.users:
                    part.graph.erase_node(argument)
        part.recompile()
    return made


def set_generators(module: GraphModule, generator_of: Callable[[torch.device], torch.Generator]) -> None:
    """Let a graph, and inner graphs, draw from one generator on each device."""
    for part in _parts(module):
        for node in list(part.graph.nodes):
            if _place(node) is not None:
                device = node.meta["val"].device
                name = f"_generator_{device.type}_{device.index or 0}"
                part.__dict__[name] = generator_of(device)
                with part.graph.inserting_before(node):
                    _name(node, part.graph.create_node("get_attr", name))
        part.recompile()


def _parts(module: GraphModule) -> list[GraphModule]:
    return [part for part in module.modules() if isinstance(part, GraphModule)]


def _place(node: Node) -> int | None:
    """Return which argument is the generator that a node draws from; None if it does not draw."""
    schema = schema_of(node.target)
    names = [] if schema is None else [argument.name for argument in schema.arguments]
    return names.index("generator") if "generator" in names else None


def _name(node: Node, generator: Node | None) -> None:
    """Set the generator that a node draws from."""
    place = _place(node)
    if place is not None and place < len(node.args):
        node.update_arg(place, generator)
    else:
        node.update_kwarg("generator", generator)


def before(program: Callable[[list[Tensor]], Any], drawn: list[tuple[Callable[[], Tensor], Tensor]]) -> Any:
    """Return the program with its last inputs drawn at each call."""
    if not drawn:
        return program
    draws = [draw for draw, _ in drawn]
    return lambda tensors: program([*tensors, *[draw() for draw in draws]])


def _can_leave(module: GraphModule, node: Node) -> bool:
    value = node.meta.get("val")
    if not isinstance(value, Tensor) or node.all_input_nodes != [*_nodes(module, node)]:
        return False
    size = value.numel()
    return isinstance(size, int) and (size <= _FEW or not value.is_cpu)  # Inductor takes no generator of a GPU


def _nodes(module: GraphModule, node: Node) -> list[Node]:
    return [arg for arg in _held(module, node) if isinstance(arg, Node)]
