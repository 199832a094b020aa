"""Call the operations of a graph one by one where there is nothing to fuse.

Layer: owns which graphs these are: those of operations of tnp, of torch's reductions with vectors, of its libraries for
matrices, transforms and sorting, and of views. Inductor calls the same kernels, from code that takes a second to make.
Its loops of the reductions take twice as long.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from operator import getitem
from typing import Any

import torch
from torch.fx import GraphModule, Node

from backend_torch.graphs import graph_copies
from backend_torch.graphs.graph import Graph
from backend_torch.kernels import indexing, linalg, products, reductions, scans, sorting
from backend_torch.kernels.graph_operations import KERNELS
from backend_torch.torch_private import light_imports, traces, trees
from backend_torch.torch_private.operators import schema_of

Tensor = torch.Tensor
Program = Callable[[list[Tensor]], Sequence[Tensor]]
aten = torch.ops.aten
_REDUCTIONS = {aten.amax.default: reductions.amax, aten.amin.default: reductions.amin}
_LIBRARIES = {
    aten.cumprod.default, aten.cumsum.default,
    aten._fft_c2c.default, aten._fft_c2r.default, aten._fft_r2c.default, aten._linalg_check_errors.default,
    aten._linalg_det.default, aten._linalg_eigh.default, aten._linalg_slogdet.default, aten._linalg_solve_ex.default,
    aten._linalg_svd.default, aten.bmm.default, aten.i0.default, aten.linalg_cholesky_ex.default,
    aten.linalg_eig.default, aten.linalg_inv_ex.default, aten.linalg_qr.default, aten.mm.default,
    aten.searchsorted.Tensor, aten.sort.stable,
}  # fmt: skip
"""Operations that Inductor calls as they are, or has slower loops for."""
_MANY = 1 << 11  # elements for which NumPy's vectors take less time than C++ without a call


def choose(module: GraphModule) -> None:
    """Let a graph without writes call what eager code calls: NumPy for small matrices, its own sort, and the like."""
    for kernels in (products, sorting, scans, indexing, linalg):
        kernels.choose(module)


def program(graph: Graph) -> Program | None:
    """Return the program of a graph that holds nothing but such operations; None for any other."""
    if graph.written or graph.sizes is not None or not any(map(_is_called, graph.module.graph.nodes)):
        return None
    module = graph_copies.duplicate(graph.module, graph.results)
    module.graph.eliminate_dead_code()
    if not all(map(_is_alone, module.graph.nodes)):
        return None
    same = {node: _is_same(node) for node in module.graph.nodes if _shows_operand(node)}
    if any(value.is_conj() or value.is_neg() for node in module.graph.nodes for value in _tensors(node)):
        return None
    with light_imports.scope(), (mode := traces.new_fake_mode()):
        for node in module.graph.nodes:
            node.meta["val"] = trees.map_only(Tensor, partial(traces.like, mode), node.meta.get("val"))
        choose(module)
    for node in module.graph.nodes:
        if (_shows_operand(node) or _copies_new(node)) and (same[node] if node in same else _is_same(node)):
            node.replace_all_uses_with(node.args[0])
            module.graph.erase_node(node)
    if not all(map(_is_alone, module.graph.nodes)):
        return None
    for node in module.graph.nodes:
        node.target = KERNELS.get(node.target, _REDUCTIONS.get(node.target, node.target))
    run = traces.code_of(module)
    return lambda tensors: run(*tensors)


def has_many_elements(graph: Graph) -> bool:
    """Whether an operation has so many elements in C order that no other code for the graph is faster."""
    operands = [node.args[0].meta["val"] for node in graph.module.graph.nodes if _is_whole(node)]
    return any(operand.numel() >= _MANY and operand.is_contiguous() for operand in operands)


def _is_whole(node: Node) -> bool:
    """Whether an operation is a kernel of tnp on the CPU that is not fused."""
    if node.target in _REDUCTIONS:
        operand = node.args[0].meta["val"]  # type: ignore[union-attr]
        return bool(operand.is_cpu and operand.is_contiguous())
    return node.target in KERNELS


def _is_called(node: Node) -> bool:
    """Whether an operation is not fused: a kernel of tnp, or a function of a library."""
    if node.target not in _LIBRARIES:
        return _is_whole(node)
    return all(operand.meta["val"].is_cpu for operand in node.all_input_nodes)


def _is_alone(node: Node) -> bool:
    """Whether no other operation is fused with this one."""
    is_copy = _shows_operand(node) or _copies_new(node)
    return is_copy or _is_called(node) or node.op in ("placeholder", "output") or node.target is getitem


def _shows_operand(node: Node) -> bool:
    """Whether an operation returns a view of its first operand, which it does not write to."""
    schema = schema_of(node.target)
    if schema is None or len(schema.returns) != 1 or len(node.all_input_nodes) != 1:
        return False
    alias = schema.returns[0].alias_info
    return alias is not None and not schema.is_mutable and isinstance(node.args[0], Node)


def _copies_new(node: Node) -> bool:
    """Whether an operation copies the result of a function, which has no other use."""
    source = node.args[0] if node.target is aten.clone.default else None
    if not isinstance(source, Node) or len(source.users) > 1:
        return False
    return _is_called(source) or (source.target is getitem and _is_called(source.args[0]))  # type: ignore[arg-type]


def _tensors(node: Node) -> list[Tensor]:
    values: Any = trees.leaves(node.meta.get("val"))
    return [value for value in values if isinstance(value, Tensor)]


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
