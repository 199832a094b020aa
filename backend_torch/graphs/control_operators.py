"""torch's operators for a branch and for loops, as a trace records them.

Layer: owns what these operators ask of their operands: C order, memory of their own, at least one of each kind.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch

from backend_torch.graphs import compiling, graph_copies
from backend_torch.torch_private import traces
from backend_torch.torch_private.tensor_internals import is_zeros_without_memory, storage_of

Tensor = torch.Tensor
Tensors = list[Tensor]
Step = Callable[[Tensors, Tensors], tuple[Tensors, Tensors]]


def operands(tensors: Sequence[Tensor]) -> Tensors:
    """Return tensors in C order: the results of a body replace them, and need the same layout."""
    return [compiling.in_c_order(compiling.physical(tensor)) for tensor in tensors]


def apart(*groups: Sequence[Tensor]) -> list[Tensors]:
    """Return the tensors, with copies where two share memory or one has none: torch's operators refuse these."""
    seen: set[int] = set()
    result = []
    for group in groups:
        taken = []
        for tensor in group:
            storage = storage_of(tensor)
            taken.append(tensor.clone() if storage in seen or is_zeros_without_memory(tensor) else tensor)
            seen.add(storage)
        result.append(taken)
    return result


def branch(predicate: Tensor, first: Any, second: Any, outer: Sequence[Tensor]) -> Tensors:
    """Do one of two graphs."""
    (around,) = apart(outer)
    return _called(torch.ops.higher_order.cond, predicate, first, second, tuple(around))


def loop(test: Any, step: Any, values: Sequence[Tensor], outer: Sequence[Tensor]) -> Tensors:
    """Do a graph while another one gives true."""
    around, carried = apart(outer, values)
    tested = graph_copies.of_one_result(test)
    return _called(torch.ops.higher_order.while_loop, tested, step, tuple(carried), tuple(around))


def scan(
    step: Step, carry: Sequence[Tensor], xs: Sequence[Tensor], length: int, pure: bool = False
) -> tuple[Tensors, Tensors]:
    """Do a step for slices of tensors; return the carried values and the stacked results.

    Raises
    ------
    NotImplementedError
        The step writes to a tensor from outside; if ``pure``, to an argument.
    """
    # The operator needs at least one carried tensor, and one to slice.
    count = 1 + len(carry)
    values = [torch.zeros((), dtype=torch.int8), *operands(carry)]
    inputs = operands(xs) or [torch.zeros(length, dtype=torch.int8)]

    def flat(tensors: Tensors) -> Tensors:
        after, ys = step(tensors[1:count], tensors[count : count + len(xs)])
        return [tensors[0], *after, *ys]

    slices = [traces.without_modes(lambda tensor: tensor[0], x) for x in inputs]
    outer, (graph,) = compiling.aligned([compiling.subgraph(flat, [*values, *slices], pure)])
    around, carried, along = apart(outer, values, inputs)
    results = _called(torch.ops.higher_order.scan, graph, carried, along, tuple(around))
    return results[1:count], results[count:]


def _called(function: Any, *args: Any) -> Tensors:
    """Call torch's operator, without the derivative that torch would take of it.

    A tape inside has left operands that require a gradient, where no derivative is taken.
    """
    with torch.no_grad():
        return list(function(*args))
