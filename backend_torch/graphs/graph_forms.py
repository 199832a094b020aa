"""The form of a graph: plain values that name it in every process, and from which another process makes it again.

Layer: owns what a graph consists of. Two graphs have equal forms only if the same machine code serves both.
"""

from __future__ import annotations

import operator
import struct
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import torch
from torch.fx import Graph as Nodes
from torch.fx import GraphModule, Node

from backend_torch.graphs.graph import Graph
from backend_torch.torch_private import traces
from backend_torch.torch_private.operators import OpOverload
from backend_torch.torch_private.tensor_internals import storage_of

Tensor = torch.Tensor
_OPERATORS = {"aten", "prims", "tnp"}  # of others nobody knows the code's version
_OF_SIZES = ("add", "sub", "mul", "floordiv", "mod", "neg")
_OTHERS = {
    **{name: getattr(operator, name) for name in ("getitem", *_OF_SIZES)},
    **{name: getattr(torch.ops.higher_order, name) for name in ("cond", "while_loop", "scan")},
}
_NAMES = {target: name for name, target in _OTHERS.items()}
_PLAIN = (bool, int, str, torch.dtype, torch.device, torch.layout, torch.memory_format)
_KINDS: dict[str, Any] = {"list": list, "tuple": tuple}
_MADE: dict[str, Any] = {
    "float": lambda text: struct.unpack(">d", bytes.fromhex(text))[0],
    "complex": lambda text: complex(*struct.unpack(">dd", bytes.fromhex(text))),
}


class Unnamed(Exception):
    """A part of a graph has no name that is valid in another process."""


# ---------------------------------------------------------------------------------------------------------------------
# From a graph


def form_of(graph: Graph) -> tuple[Any, ...]:
    """Return the inputs and their memory, the operations with their results, the results and what is written.

    Raises
    ------
    Unnamed
        A part of the graph, such as a generator, is this process's own.
    """
    memory: dict[int, int] = {}
    inputs = [
        (_value(tensor), _size(tensor.storage_offset()), memory.setdefault(storage_of(tensor), len(memory)))
        for tensor in graph.inputs
    ]
    places: dict[Node, int] = {}
    steps = tuple(_steps(graph.module, places))
    return tuple(inputs), steps, tuple([places[node] for node in graph.results]), tuple(sorted(graph.written))


def _steps(module: GraphModule, places: dict[Node, int]) -> Iterator[tuple[Any, ...]]:
    """Yield the form of each node but the last; ``places`` gets the nodes in their order."""
    for node in module.graph.nodes:
        if node.op == "placeholder":
            yield "input", _value(node.meta.get("val"))
        elif node.op == "call_function":
            target = node.target
            is_operator = isinstance(target, OpOverload)
            if target.namespace not in _OPERATORS if is_operator else target not in _NAMES:
                raise Unnamed
            operands = plain(node.args, places), plain(node.kwargs, places)
            yield f"{target}" if is_operator else _NAMES[target], *operands, _value(node.meta.get("val"))
        elif node.op == "get_attr":
            inner = getattr(module, node.target)
            if not isinstance(inner, GraphModule):
                raise Unnamed  # a generator
            within: dict[Node, int] = {}
            steps = tuple(_steps(inner, within))
            returned = plain(inner.graph.output_node().args, within)
            yield "graph", node.target, steps, returned, tuple(inner.meta.get("overwritten", ()))
        places[node] = len(places)


def _value(value: Any) -> Any:
    """Return the form of a tensor without data, of several, of a size, or of None."""
    if value is None:
        return None
    if isinstance(value, torch.SymInt):
        return _size(value)
    if isinstance(value, (list, tuple)):
        return "tuple" if isinstance(value, tuple) else "list", *map(_value, value)
    if not isinstance(value, Tensor) or value.device.type != "cpu" or value.layout is not torch.strided:
        raise Unnamed
    shape, stride = tuple(map(_size, value.shape)), tuple(map(_size, value.stride()))
    return "tensor", value.dtype, shape, stride, value.is_conj(), value.is_neg()


def _size(size: Any) -> Any:
    """Return a size, or the formula of an open one; torch names its symbols alike in each process."""
    return size if isinstance(size, int) else ("size", str(size.node.expr))


def plain(value: Any, places: Mapping[Node, int]) -> Any:
    """Return the form of an operation's argument; two forms are equal only if the arguments are, to the last bit."""
    if isinstance(value, Node):
        return "node", places[value]
    if value is None or isinstance(value, _PLAIN):
        return value
    if isinstance(value, float):
        return "float", struct.pack(">d", value).hex()
    if isinstance(value, complex):
        return "complex", struct.pack(">dd", value.real, value.imag).hex()
    if isinstance(value, (list, tuple)):
        return "tuple" if isinstance(value, tuple) else "list", *[plain(each, places) for each in value]
    if isinstance(value, dict):
        return "dict", *[(name, plain(value[name], places)) for name in sorted(value)]
    if isinstance(value, slice):
        return "slice", *[plain(each, places) for each in (value.start, value.stop, value.step)]
    raise Unnamed


# ---------------------------------------------------------------------------------------------------------------------
# To a graph


def graph_of(form: tuple[Any, ...]) -> tuple[GraphModule, list[Tensor], list[Node]]:
    """Return the operations, the inputs without data, and the nodes of the results.

    Each input has its own memory: the compiler gives it that in any case. The form has no open sizes.
    """
    inputs, steps, results, _ = form
    mode = traces.new_fake_mode()
    module, nodes = _module(steps, mode)
    module.graph.output(tuple([nodes[place] for place in results]))
    module.recompile()
    return module, [_tensor(value, mode) for value, _, _ in inputs], [nodes[place] for place in results]


def _module(steps: Iterable[tuple[Any, ...]], mode: traces.FakeTensorMode) -> tuple[GraphModule, list[Node]]:
    """Return a graph without results, and its nodes."""
    root, graph = torch.nn.Module(), Nodes()
    nodes: list[Node] = []
    for kind, *parts in steps:
        if kind == "graph":
            name, inner, returned, overwritten = parts
            body, within = _module(inner, mode)
            body.graph.output(*_argument(returned, within))
            body.recompile()
            body.meta["overwritten"] = list(overwritten)
            root.add_module(name, body)
            node = graph.get_attr(name)
        else:
            if kind == "input":
                node = graph.placeholder(f"input_{len(nodes)}")
            else:
                args, kwargs = (_argument(part, nodes) for part in parts[:2])
                node = graph.call_function(_target(kind), tuple(args), kwargs)
            node.meta["val"] = _tensor(parts[-1], mode)
        nodes.append(node)
    return traces.Module(root, graph), nodes


def _target(name: str) -> Any:
    if name in _OTHERS:
        return _OTHERS[name]
    found: Any = torch.ops
    for part in name.split("."):
        found = getattr(found, part)
    return found


def _tensor(value: Any, mode: traces.FakeTensorMode) -> Any:
    if value is None:
        return None
    if value[0] != "tensor":
        return _KINDS[value[0]]([_tensor(each, mode) for each in value[1:]])
    _, dtype, shape, stride, is_conj, is_neg = value
    if is_conj or is_neg:
        raise Unnamed
    return traces.empty(mode, shape, stride, torch.empty(0, dtype=dtype))


def _argument(form: Any, nodes: list[Node]) -> Any:
    if not isinstance(form, tuple):
        return form
    kind, *parts = form
    if kind == "node":
        return nodes[parts[0]]
    if kind in _MADE:
        return _MADE[kind](*parts)
    if kind == "dict":
        return {name: _argument(part, nodes) for name, part in parts}
    made = [_argument(part, nodes) for part in parts]
    return slice(*made) if kind == "slice" else _KINDS[kind](made)
