"""A traced function: its operations, its inputs, and what its results are.

Layer: owns what a trace makes, and every way to code starts from. It knows neither who traced nor who compiles.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import torch
from torch.fx import GraphModule, Node

from backend_torch.graphs import host_calls, symbolic
from backend_torch.tensors.aliasing import Output

Tensor = torch.Tensor


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

    def holds_for(self, shapes: Sequence[symbolic.Shapes]) -> bool:
        """Whether arguments of all these shapes meet what the trace assumes of symbolic sizes."""
        return self.sizes is None or all(map(self.sizes.hold_for, shapes))

    @property
    def operations(self) -> int:
        """Number of operations in ``module`` and in the graphs of its loops and branches."""
        return operations_in(self.module)

    @property
    def returned(self) -> int:
        """Number of tensors that ``module`` returns."""
        return len(self.module.graph.output_node().args[0])  # type: ignore[arg-type]


def operations_in(module: GraphModule) -> int:
    """Return the number of operations, with those of inner loops and branches."""
    graphs = [each.graph for each in module.modules() if isinstance(each, GraphModule)]
    return sum(node.op == "call_function" for graph in graphs for node in graph.nodes)
