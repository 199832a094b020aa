"""Control flow on tensors: Python's own where operations run one by one, torch's operators where they are traced.

Layer: owns what a branch or a loop's body becomes in a graph: a graph of its own, which takes the tensors it reads from
around it as inputs, writes to none of them and returns new memory. Where derivatives are taken, ``loop_derivatives``
has the operators; what it refuses unrolls.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch.fx import GraphModule

from backend_torch.graphs import compiling, loop_derivatives
from backend_torch.tensors import trace_state
from backend_torch.torch_private import functorch, traces

Tensor = torch.Tensor
Tensors = list[Tensor]


def is_recorded() -> bool:
    """Whether branches and loops are kept: in a trace, and not inside a transform of torch.func."""
    return trace_state.is_tracing() and not functorch.is_transforming()


def _operands(tensors: Sequence[Tensor]) -> Tensors:
    """In C order: what a body returns takes their place, and has to lie in memory as they do."""
    return [compiling.in_c_order(compiling.physical(tensor)) for tensor in tensors]


def is_true(predicate: Tensor) -> Tensor:
    """A 0-d tensor as a boolean one."""
    return predicate if predicate.dtype is torch.bool else predicate != 0


def cond(predicate: Tensor, true: Callable[[], Tensors], false: Callable[[], Tensors]) -> Tensors:
    """What ``true()`` returns, or ``false()``; in a graph both are traced and their results have to be alike."""
    predicate = is_true(predicate)
    if not is_recorded():
        if _is_traced(predicate):
            found = loop_derivatives.branched(predicate, true, false)
            if found is not None:
                return found
        return true() if bool(predicate) else false()
    branches = [compiling.subgraph(lambda _: true(), []), compiling.subgraph(lambda _: false(), [])]
    outer, (first, second) = compiling.aligned(branches)
    return loop_derivatives.branch(predicate, first, second, outer)


def _is_traced(*tensors: Tensor) -> bool:
    """Whether derivatives are taken in a trace, and one of the tensors has no value there."""
    return loop_derivatives.is_differentiated() and not all(map(_has_value, tensors))


def _has_value(tensor: Tensor) -> bool:
    try:
        bool(tensor)
    except trace_state.TracedValueError:
        return False
    return True


is_from_outside = compiling.is_from_outside
storage_of = compiling.storage_of


def number(value: bool | int) -> Tensor:
    """A 0-d tensor of a trace, whose value the trace does not know."""
    return torch.ops.aten.full.default([], value)


def zeros(shape: Sequence[int], dtype: torch.dtype) -> Tensor:
    """Zeros."""
    return torch.zeros(shape, dtype=dtype)


@dataclass
class Traced:
    """What a branch or a loop's body became.

    Attributes
    ----------
    graph : (GraphModule, list of Tensor)
        Its operations, and the tensors from around it that they take.
    written : list of Tensor
        Those of them that it writes to; the graph returns them last.
    """

    graph: compiling.Subgraph
    written: Tensors

    @property
    def overwritten(self) -> list[int]:
        """Which of its arguments it writes to."""
        return list(self.graph[0].meta["overwritten"])

    @property
    def operations(self) -> int:
        """How many operations there are, in inner loops and branches too."""
        modules = [module for module in self.graph[0].modules() if isinstance(module, GraphModule)]
        return sum([node.op == "call_function" for module in modules for node in module.graph.nodes])


def traced(function: Callable[[Tensors], Tensors], examples: Sequence[Tensor]) -> Traced:
    """What a function of tensors like these does; it may write to tensors from around it."""
    written: Tensors = []
    return Traced(compiling.subgraph(function, _operands(examples), writes=written), written)


def branched(predicate: Tensor, true: Traced, false: Traced) -> Tensors:
    """The results of one of two branches, which are alike; what it writes to tensors from around it is written."""
    written = list({id(tensor): tensor for tensor in [*true.written, *false.written]}.values())
    outer, (first, second) = compiling.aligned([true.graph, false.graph], written)
    for module, branch in ((first, true), (second, false)):
        compiling.add_written(module, branch.written, written)
    (operands,) = loop_derivatives.apart(outer)
    results = list(torch.ops.higher_order.cond(is_true(predicate), first, second, tuple(operands)))
    return _written_back(results, written)


def repeated(condition: Callable[[Tensors], Tensor], body: Traced, carry: Sequence[Tensor]) -> Tensors:
    """What is carried after a loop; what its steps write to tensors from around them is written."""
    values = _operands(carry)
    tested = compiling.subgraph(lambda given: [is_true(condition(given))], values)
    outer, (test, step) = compiling.aligned([tested, body.graph], body.written)
    around, carried = loop_derivatives.apart(outer[len(body.written) :], [*values, *outer[: len(body.written)]])

    def first(*tensors: Tensor) -> Tensor:
        return test(*tensors)[0]  # the operator's condition is a tensor and not a sequence of one

    results = list(torch.ops.higher_order.while_loop(first, step, tuple(carried), tuple(around)))
    return _written_back(results, body.written)


def _written_back(results: Tensors, written: Tensors) -> Tensors:
    count = len(results) - len(written)
    for tensor, value in zip(written, results[count:], strict=True):
        tensor.copy_(value)
    return results[:count]


def while_loop(
    condition: Callable[[Tensors], Tensor],
    body: Callable[[Tensors], Tensors],
    carry: Sequence[Tensor],
    most: int | None = None,
) -> Tensors:
    """``carry = body(carry)`` while ``condition(carry)``, a 0-d tensor; ``body`` keeps dtypes and shapes.

    After ``most`` steps it ends; with such a bound a traced loop has derivatives in reverse mode too.
    """
    if most is not None and (is_recorded() or loop_derivatives.is_differentiated()):
        return _at_most(most, condition, body, carry)

    def tested(given: Tensors) -> Tensors:
        return [is_true(condition(given))]

    if not is_recorded() or loop_derivatives.is_taped():
        values = [tensor.clone() for tensor in carry]  # what the body writes to its arguments stays in the loop
        if _is_traced(condition(values)):
            found = loop_derivatives.repeated(tested, body, values)
            if found is not None:
                return found
        steps = 0
        while (most is None or steps < most) and bool(condition(values)):
            values = body(values)
            steps += 1
        return values
    values = _operands(carry)
    outer, (test, step) = compiling.aligned([compiling.subgraph(tested, values), compiling.subgraph(body, values)])
    return loop_derivatives.loop(test, step, values, outer)


def _at_most(
    most: int, condition: Callable[[Tensors], Tensor], body: Callable[[Tensors], Tensors], carry: Sequence[Tensor]
) -> Tensors:
    """A traced `while_loop` of ``most`` steps; under derivatives a scan, in which steps too many do nothing."""
    if loop_derivatives.is_differentiated():

        def step(values: Tensors, _: Tensors) -> tuple[Tensors, Tensors]:
            goes_on = is_true(condition(values))
            after = body([value.clone() for value in values])
            return [torch.where(goes_on, new, old) for new, old in zip(after, values, strict=True)], []

        return scan(step, carry, [], most, reverse=False)[0]

    def counted(values: Tensors) -> Tensor:
        return (values[0] < most) & is_true(condition(values[1:]))

    return while_loop(counted, lambda values: [values[0] + 1, *body(values[1:])], [torch.full((), 0), *carry])[1:]


def fori_loop(
    lower: int | Tensor, upper: int | Tensor, body: Callable[[Tensor, Tensors], Tensors], carry: Sequence[Tensor]
) -> Tensors:
    """``carry = body(i, carry)`` for each i from ``lower`` up to ``upper``, an int64 0-d tensor."""
    is_kept = is_recorded() and not loop_derivatives.is_taped()
    if is_kept or _is_traced(*[bound for bound in (lower, upper) if not isinstance(bound, int)]):

        def step(values: Tensors) -> Tensors:
            return [values[0] + 1, *body(values[0], values[1:])]

        start = torch.full((), lower) if isinstance(lower, int) else lower.to(torch.int64)
        return while_loop(lambda values: values[0] < upper, step, [start, *carry])[1:]
    if isinstance(lower, int) and isinstance(upper, int) and loop_derivatives.applies(upper - lower):
        counted = torch.arange(lower, upper)
        return scan(lambda values, x: (body(x[0], values), []), carry, [counted], upper - lower, reverse=False)[0]
    values = [tensor.clone() for tensor in carry]
    for i in range(int(lower), int(upper)):
        values = body(torch.full((), i), values)
    return values


def scan(
    step: Callable[[Tensors, Tensors], tuple[Tensors, Tensors]],
    carry: Sequence[Tensor],
    xs: Sequence[Tensor],
    length: int,
    reverse: bool,
    pure: bool = False,
) -> tuple[Tensors, Tensors]:
    """``carry, y = step(carry, x)`` for each of ``length`` slices x along the first axes: carry, and all y stacked.

    If ``pure``, a ``step`` that writes to what it gets is a NotImplementedError where it is traced.
    """
    if not length:
        # What the results would be is known by computing one.
        zeros = [torch.zeros(x.shape[1:], dtype=x.dtype, device=x.device) for x in xs]
        _, ys = step([tensor.clone() for tensor in carry], zeros)
        return [tensor.clone() for tensor in carry], [y.new_empty((0, *y.shape)) for y in ys]
    if loop_derivatives.applies(length) and not pure:
        forward = [x.flip(0) for x in xs] if reverse else xs
        done = loop_derivatives.scanned(scan, step, carry, forward, length)
        if done is not None:
            return done[0], [y.flip(0) for y in done[1]] if reverse else done[1]
    if not is_recorded() or loop_derivatives.is_taped():
        return _scanned(step, carry, xs, length, reverse)
    # torch's operator wants at least one carried tensor, and one to go through.
    count = 1 + len(carry)
    values = [torch.zeros((), dtype=torch.int8), *_operands(carry)]
    inputs = _operands([x.flip(0) for x in xs] if reverse else xs) or [torch.zeros(length, dtype=torch.int8)]

    def flat(tensors: Tensors) -> Tensors:
        after, ys = step(tensors[1:count], tensors[count : count + len(xs)])
        return [tensors[0], *after, *ys]

    slices = [traces.without_modes(lambda tensor: tensor[0], x) for x in inputs]
    outer, (graph,) = compiling.aligned([compiling.subgraph(flat, [*values, *slices], pure)])
    around, carried, along = loop_derivatives.apart(outer, values, inputs)
    results = list(torch.ops.higher_order.scan(graph, carried, along, tuple(around)))
    ys = results[count:]
    return results[1:count], [y.flip(0) for y in ys] if reverse else ys


def _scanned(
    step: Callable[[Tensors, Tensors], tuple[Tensors, Tensors]],
    carry: Sequence[Tensor],
    xs: Sequence[Tensor],
    length: int,
    reverse: bool,
) -> tuple[Tensors, Tensors]:
    values = [tensor.clone() for tensor in carry]
    rows: list[Any] = []
    for i in reversed(range(length)) if reverse else range(length):
        values, ys = step(values, [x[i].clone() for x in xs])
        rows.append([y.clone() for y in ys])  # which the next step may write to, with what is carried
    return values, [torch.stack(column[::-1] if reverse else column) for column in map(list, zip(*rows, strict=True))]
