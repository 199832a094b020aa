"""The cost of a graph by the user's line: arithmetic operations, bytes moved, and time.

Layer: owns the cost of each operation. It counts as if it read its operands from memory and wrote its result there.
Machine code that fuses operations moves fewer bytes.
"""

from __future__ import annotations

import math
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch.fx import GraphModule, Interpreter, Node

from backend_torch.graphs import loops
from backend_torch.graphs.compiling import Executable
from backend_torch.torch_private import trees
from backend_torch.torch_private.operators import schema_of

Tensor = torch.Tensor
_PRODUCTS = {"mm": 0, "bmm": 0, "mv": 0, "dot": 0, "vdot": 0, "addmm": 1, "baddbmm": 1, "addmv": 1, "_int_mm": 0}
"""Product -> the operand over whose last axis it sums."""
_CUBES = {
    "linalg_cholesky_ex": 1 / 3, "linalg_inv_ex": 2, "linalg_lu_factor_ex": 2 / 3, "linalg_lu": 2 / 3,
    "_linalg_det": 2 / 3, "_linalg_slogdet": 2 / 3, "_linalg_solve_ex": 2 / 3, "linalg_qr": 4 / 3, "_linalg_eigh": 9,
    "linalg_eig": 25, "_linalg_svd": 22, "linalg_lu_solve": 2, "linalg_solve_triangular": 1,
}  # fmt: skip
"""Operation on square matrices -> its arithmetic operations, divided by n cubed."""
_MOVES = frozenset({
    "clone", "copy_", "_to_copy", "cat", "stack", "index", "index_put", "index_put_", "index_select", "gather",
    "scatter", "scatter_", "full", "empty", "zeros", "ones", "arange", "fill_", "zero_", "slice_scatter",
    "select_scatter", "repeat", "flip", "roll", "lift_fresh", "constant_pad_nd", "tril", "triu", "new_zeros",
    "new_full", "new_empty", "full_like", "empty_like", "zeros_like", "ones_like", "call", "done",
})  # fmt: skip


@dataclass(frozen=True)
class LineCost:
    """The cost of a line, each time it runs.

    Attributes
    ----------
    line : str
    operations, bytes : int
    known : bool
        False if the line holds, or is in, a loop whose number of steps depends on values: one step is counted then.
    """

    line: str
    operations: int
    bytes: int
    known: bool


def of_graph(module: GraphModule, times: int = 1, known: bool = True, line: str = "") -> Iterator[LineCost]:
    """Yield the cost of each operation of a graph that runs ``times`` times; ``line`` is for operations without one."""
    for node in module.graph.nodes:
        if node.op != "call_function":
            continue
        where = node.meta.get("line") or line
        graphs = [getattr(module, str(each.target)) for each in node.all_input_nodes if each.op == "get_attr"]
        inner = [graph for graph in graphs if isinstance(graph, GraphModule)]
        if node.target is torch.ops.higher_order.cond:
            branches = [list(of_graph(graph, times, known, where)) for graph in inner]
            yield from max(branches, key=lambda costs: sum(cost.operations + cost.bytes for cost in costs))
        elif inner:
            steps = _steps(module, node)
            for graph in inner:
                yield from of_graph(graph, times * (1 if steps is None else steps), known and steps is not None, where)
        else:
            operations, moved = _of_node(node)
            if operations or moved:
                yield LineCost(where, operations * times, moved * times, known)


def _steps(module: GraphModule, node: Node) -> int | None:
    """Return the number of a loop's steps; None if it depends on values."""
    if node.target is torch.ops.higher_order.scan:
        xs: Any = node.args[2]
        return int(xs[0].meta["val"].shape[0])
    return loops.known_steps(module, node)


def _tensors(value: Any) -> list[Tensor]:
    made = trees.leaves(value)
    return [each for each in made if isinstance(each, Tensor)]


def _of_node(node: Node) -> tuple[int, int]:
    """Return the arithmetic operations and the bytes of one operation."""
    schema = schema_of(node.target)
    results = _tensors(node.meta.get("val"))
    if schema is None or not results or any(r.alias_info and not r.alias_info.is_write for r in schema.returns):
        return 0, 0  # a view, or part of a result
    operands = [tensor for used in node.all_input_nodes for tensor in _tensors(used.meta.get("val"))]
    moved = sum(int(tensor.numel()) * tensor.element_size() for tensor in [*operands, *results])
    return _operations(node, schema.name.rpartition("::")[2], operands, results), moved


def _operations(node: Node, name: str, operands: list[Tensor], results: list[Tensor]) -> int:
    size = max([int(tensor.numel()) for tensor in [*operands, *results]], default=0)
    if name in _MOVES:
        return 0
    if name in _PRODUCTS:
        return 2 * int(results[0].numel()) * int(operands[min(_PRODUCTS[name], len(operands) - 1)].shape[-1])
    if name in _CUBES:
        return round(_CUBES[name] * size * max(operands[0].shape[-2:], default=1))
    if "fft" in name:
        return round(5 * size * math.log2(max(size, 2)))
    if "sort" in name or name in ("topk", "kthvalue", "median", "searchsorted"):
        return round(size * math.log2(max(size, 2)))
    return size


class _Timed(Interpreter):
    """Runs a graph's operations one by one and adds up their times by line."""

    def __init__(self, module: GraphModule, times: dict[str, float], line: str = "") -> None:
        super().__init__(module)
        self.times, self.line = times, line

    def run_node(self, node: Node) -> Any:
        if node.op != "call_function":
            return super().run_node(node)
        self.running = node.meta.get("line") or self.line
        before, start = sum(self.times.values()), time.perf_counter()
        result = super().run_node(node)
        # Inner operations have counted for their own lines meanwhile.
        own = time.perf_counter() - start - (sum(self.times.values()) - before)
        self.times[node.meta.get("line") or self.line] += own
        return result

    def get_attr(self, target: Any, args: Any, kwargs: Any) -> Any:
        found = super().get_attr(target, args, kwargs)
        if not isinstance(found, GraphModule):
            return found
        return lambda *tensors: _Timed(found, self.times, self.running).run(*tensors)


def seconds(executable: Executable, tensors: Sequence[Tensor], repeats: int) -> Mapping[str, float]:
    """Run the operations one by one on copies of the inputs, several times; return the least time of each line."""
    best: dict[str, float] = {}
    for _ in range(repeats):
        times: dict[str, float] = defaultdict(float)
        copies = [tensor.detach().clone() for tensor in tensors]
        _Timed(executable.operations(copies), times).run(*copies)
        best = {line: min(taken, best.get(line, taken)) for line, taken in times.items()}
    return best
