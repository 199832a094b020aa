"""A traced function: its operations, its inputs, and what its results are.

Layer: owns what a trace makes, and every way to code starts from. It knows neither who traced nor who compiles.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch.fx import GraphModule, Node

from backend_torch.graphs import host_calls, symbolic
from backend_torch.tensors.aliasing import Output

Tensor = torch.Tensor
_AS_SMALL = 1024  # elements that an operation computes in the time that its call takes


@dataclass(frozen=True)
class Graph:
    """The operations of a function on tensors.

    Attributes
    ----------
    module : GraphModule
        The operations in their order, writes included; takes the arguments and then the captures. Correct for inputs
        that overlap, and differentiable.
    inputs : list of Tensor
        Stand-ins of the inputs, without data.
    captures : list of Tensor
        Tensors from outside that the function read or wrote: they are inputs, so their values are not baked in.
    written : frozenset of int
        The inputs whose memory changes.
    outputs : list of Output or None
        How each result comes from ``results``; None if the results overlap in a way that only ``module`` can produce.
    results : list of Node
        The nodes of ``module`` whose values are new memory, one for each piece of it.
    sizes : Sizes, optional
        The symbolic sizes.
    calls : list of HostCall
        The functions of Python's that the graph calls, which live as long as it and its programs.
    rules : list of str
        The lines that call functions with derivatives of their own, which the graph does not hold.
    has_batched_writes : bool
        Whether all elements of a batch are written to at once: where inputs overlap, a loop over them has an order.
    reads_strides : bool
        Whether Python read strides.
    """

    module: GraphModule
    inputs: list[Tensor]
    captures: list[Tensor]
    written: frozenset[int]
    outputs: list[Output] | None
    results: list[Node]
    sizes: symbolic.Sizes | None = None
    calls: list[host_calls.HostCall] = field(default_factory=list)
    rules: list[str] = field(default_factory=list)
    has_batched_writes: bool = False
    reads_strides: bool = False

    def does_the_same(self, other: Graph) -> bool:
        """Whether another graph, of inputs with other strides, gives the same results of the same elements.

        Nothing is written then, no result is a view of an input, and the graph would be the same for all strides of as
        many gaps between the same axes.
        """
        if self.written or self.has_batched_writes or self.calls or self.reads_strides or other.reads_strides:
            return False
        if self.outputs is None or self.outputs != other.outputs or any(each.of_input for each in self.outputs):
            return False
        if len(self.captures) != len(other.captures) or any(map(operator.is_not, self.captures, other.captures)):
            return False
        code = _codes(self.module)
        return "as_strided" not in code and code == _codes(other.module) and _made(self.results) == _made(other.results)

    def holds_for(self, shapes: Sequence[symbolic.Shapes]) -> bool:
        """Whether arguments of all these shapes meet what the trace assumes of symbolic sizes."""
        return self.sizes is None or all(map(self.sizes.hold_for, shapes))

    @property
    def operations(self) -> int:
        """Number of operations in ``module`` and in the graphs of its loops and branches."""
        return operations_in(self.module)

    def weight(self, most: int) -> float:
        """Return how long the operations take one by one, in those of small arrays; open sizes count as ``most``."""
        nodes = [node for each in _graphs(self.module) for node in each.nodes if node.op == "call_function"]
        sizes = [math.prod(getattr(node.meta.get("val"), "shape", ())) for node in nodes]
        return sum(1 + (size if isinstance(size, int) else most) / _AS_SMALL for size in sizes)

    @property
    def returned(self) -> int:
        """Number of tensors that ``module`` returns."""
        return len(self.module.graph.output_node().args[0])  # type: ignore[arg-type]


def _codes(module: GraphModule) -> str:
    return "\n".join([each.code for each in module.modules() if isinstance(each, GraphModule)])


def _made(nodes: Sequence[Node]) -> list[Any]:
    return [(each.meta["val"].dtype, each.meta["val"].shape, each.meta["val"].stride()) for each in nodes]


def operations_in(module: GraphModule) -> int:
    """Return the number of operations, with those of inner loops and branches."""
    return sum(node.op == "call_function" for graph in _graphs(module) for node in graph.nodes)


def _graphs(module: GraphModule) -> list[Any]:
    """Return its graph, and those of inner loops and branches."""
    return [each.graph for each in module.modules() if isinstance(each, GraphModule)]
