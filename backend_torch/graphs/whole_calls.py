"""Call the operations of a graph one by one where there is nothing to fuse.

Layer: owns which graphs these are: those of operations of tnp, of torch's reductions with vectors, and of views.
Inductor calls the same kernels, from code that takes a second to make. Its loops of the reductions take twice as long.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import getitem

import torch
from torch.fx import Node

from backend_torch.graphs import graph_copies
from backend_torch.graphs.graph import Graph
from backend_torch.kernels import reductions
from backend_torch.kernels.graph_operations import KERNELS
from backend_torch.torch_private.operators import schema_of

Tensor = torch.Tensor
Program = Callable[[list[Tensor]], Sequence[Tensor]]
aten = torch.ops.aten
_REDUCTIONS = {aten.amax.default: reductions.amax, aten.amin.default: reductions.amin}
_MANY = 1 << 11  # elements for which NumPy's vectors take less time than C++ without a call


def program(graph: Graph) -> Program | None:
    """Return the program of a graph that holds nothing but such operations; None for any other."""
    if graph.written or graph.sizes is not None or not any(map(_is_whole, graph.module.graph.nodes)):
        return None
    module = graph_copies.duplicate(graph.module, graph.results)
    module.graph.eliminate_dead_code()
    for node in module.graph.nodes:
        if _shows_operand(node):
            if _is_same(node):
                node.replace_all_uses_with(node.args[0])
                module.graph.erase_node(node)
        elif not _is_whole(node) and node.op not in ("placeholder", "output") and node.target is not getitem:
            return None
        node.target = KERNELS.get(node.target, _REDUCTIONS.get(node.target, node.target))
    module.recompile()
    run = module.forward
    return lambda tensors: run(*tensors)


def has_many_elements(graph: Graph) -> bool:
    """Whether an operation has so many elements in C order that no other code for the graph is faster."""
    operands = [node.args[0].meta["val"] for node in graph.module.graph.nodes if _is_whole(node)]
    return any(operand.numel() >= _MANY and operand.is_contiguous() for operand in operands)


def _is_whole(node: Node) -> bool:
    """Whether an operation is a kernel on the CPU that is not fused."""
    if node.target in _REDUCTIONS:
        operand = node.args[0].meta["val"]  # type: ignore[union-attr]
        return bool(operand.is_cpu and operand.is_contiguous())
    return node.target in KERNELS


def _shows_operand(node: Node) -> bool:
    """Whether an operation returns a view of its first operand, which it does not write to."""
    schema = schema_of(node.target)
    if schema is None or len(schema.returns) != 1 or len(node.all_input_nodes) != 1:
        return False
    alias = schema.returns[0].alias_info
    return alias is not None and not schema.is_mutable and isinstance(node.args[0], Node)


def _is_same(node: Node) -> bool:
    """Whether a view shows the whole operand as it is."""
    made, given = node.meta["val"], node.args[0].meta["val"]  # type: ignore[union-attr]
    return (
        made.dtype is given.dtype
        and made.shape == given.shape
        and made.stride() == given.stride()
        and made.storage_offset() == given.storage_offset()
        and made.is_conj() == given.is_conj()
        and made.is_neg() == given.is_neg()
    )
