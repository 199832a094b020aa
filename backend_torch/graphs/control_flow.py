"""Control flow on tensors: Python's own in eager code, torch's operators in traces.

Layer: owns the graph of a branch or of a loop's body. It takes tensors from outside as inputs, writes to none of them
and returns new memory. ``loop_derivatives`` has the operators for derivatives; loops that it refuses are unrolled.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from backend_torch.autodiff import batching
from backend_torch.graphs import compiling, control_operators, loop_derivatives
from backend_torch.graphs.graph import operations_in
from backend_torch.kernels import selection
from backend_torch.tensors import trace_state
from backend_torch.tensors.memory import unwrapped
from backend_torch.torch_private import functorch, tensor_internals

Tensor = torch.Tensor
Tensors = list[Tensor]


def is_recorded() -> bool:
    """Whether branches and loops are recorded: in a trace, and not inside a transform of torch.func."""
    return trace_state.is_tracing() and not functorch.is_transforming()


def is_kept() -> bool:
    """Whether branches and loops on values are kept: in a trace, inside a derivative too."""
    return is_recorded() or (functorch.is_transforming() and loop_derivatives.is_differentiated())


def keeps_loops(length: int) -> bool:
    """Whether loops of a known number of steps are kept; some derivatives are taken of each step."""
    if is_recorded() and not loop_derivatives.is_taped():
        return True
    is_kept = loop_derivatives.applies(length)
    if not is_kept:
        loop_derivatives.tell_unrolled(length)
    return is_kept


def _is_followed(tensors: Sequence[Tensor]) -> bool:
    """Whether autograd records what is done with one of the tensors."""
    return torch.is_grad_enabled() and any(tensor.requires_grad for tensor in tensors)


def is_true(predicate: Tensor) -> Tensor:
    """Return a 0-d tensor as a boolean one."""
    return predicate if predicate.dtype is torch.bool else predicate != 0


def cond(
    predicate: Tensor, true: Callable[[], Tensors], false: Callable[[], Tensors], around: Tensors | None = None
) -> Tensors:
    """Return the result of ``true()`` or ``false()``; a graph traces both, and their results must match.

    The list ``around`` gets the tensors from outside that a graph takes.
    """
    predicate = is_true(predicate)
    if not is_recorded():
        if _is_traced(predicate):
            found = loop_derivatives.branched(predicate, true, false)
            if found is not None:
                return found
        return true() if bool(predicate) else false()
    counts: list[int] = []

    def results(branch: Callable[[], Tensors], _: Tensors) -> Tensors:
        found = branch()
        counts.append(len(found))
        return found or [number(0)]  # what is called for its effects needs a result that waits for it

    with loop_derivatives.block() if loop_derivatives.is_taped() else contextlib.nullcontext():
        branches = [compiling.subgraph(functools.partial(results, branch), []) for branch in (true, false)]
    outer, (first, second) = compiling.aligned(branches)
    if around is not None:
        around += outer
    run: Callable[..., Tensors] = control_operators.branch
    if _is_followed(outer):
        run = loop_derivatives.branch_of
    return run(predicate, first, second, outer)[: counts[0]]


def _is_traced(*tensors: Tensor) -> bool:
    """Whether a trace takes derivatives, and one of the tensors has no value in it."""
    return loop_derivatives.is_differentiated() and not all(map(_has_value, tensors))


def _has_value(tensor: Tensor) -> bool:
    if functorch.has_batch(tensor):
        return False
    try:
        bool(tensor)
    except trace_state.TracedValueError:
        return False
    return True


known_memory = compiling.known_memory
is_in_a_batch = loop_derivatives.is_batched
is_view = tensor_internals.is_view


def selected(condition: Tensor, one: Tensor, other: Tensor) -> Tensor:
    """Return ``one`` if a 0-d condition is true, else ``other``, of the same dtype and shape."""
    return selection.where(is_true(condition), one, other)


def storage_of(tensor: Tensor) -> int:
    """Return an identifier of the tensor's memory: that below the transforms which have wrapped it."""
    return compiling.storage_of(compiling.stand_in(unwrapped(tensor)))


def operations() -> int:
    """Return the number of operations in the current trace so far; 0 outside of one."""
    return compiling.operations()


def is_from_outside(tensor: Tensor) -> bool:
    """Whether a tensor of the trace shares memory with an input or with an array from outside."""
    return compiling.is_from_outside(compiling.stand_in(unwrapped(tensor)))


def lose(tensors: Sequence[Tensor], error: Callable[[], Exception]) -> None:
    """Let reads of the memory of tensors of the trace raise an error: what is there now, only a loop knows."""
    compiling.lose([compiling.stand_in(unwrapped(tensor)) for tensor in tensors], error)


def base_of(tensor: Tensor) -> Tensor:
    """Return the tensor that owns the memory, in a trace without transforms; the tensor itself within one."""
    tensor = tensor if functorch.is_wrapped(tensor) else compiling.stand_in(tensor)
    return tensor._base if is_recorded() and tensor._base is not None else tensor


def number(value: bool | int) -> Tensor:
    """Return a 0-d tensor of a trace whose value is unknown to it."""
    return torch.ops.aten.full.default([], value)


def zeros(shape: Sequence[int], dtype: torch.dtype, device: torch.device) -> Tensor:
    """Return zeros."""
    return torch.zeros(shape, dtype=dtype, device=device)


@dataclass
class Traced:
    """The traced body of a branch or a loop.

    Attributes
    ----------
    graph : (GraphModule, list of Tensor)
        The operations, and the tensors from outside that they take.
    written : list of Tensor
        The tensors from outside that the body writes to; the graph returns them last.
    """

    graph: compiling.Subgraph
    written: Tensors

    @property
    def overwritten(self) -> list[int]:
        """Numbers of the arguments that the body writes to."""
        return list(self.graph[0].meta["overwritten"])

    @property
    def used(self) -> set[int]:
        """Numbers of the arguments that the body uses."""
        placeholders = self.graph[0].graph.find_nodes(op="placeholder")
        return {number for number in range(len(placeholders) - len(self.graph[1])) if placeholders[number].users}

    @property
    def operations(self) -> int:
        """Number of operations, with those of inner loops and branches."""
        return operations_in(self.graph[0])


def traced(function: Callable[[Tensors], Tensors], examples: Sequence[Tensor]) -> Traced:
    """Trace a function of tensors like these; it may write to tensors from outside."""
    written: Tensors = []
    if not is_recorded():
        return Traced(loop_derivatives.captured(function, examples, written), written)
    with torch.no_grad():  # a write would become a part of what autograd has recorded of the tensor
        return Traced(compiling.subgraph(function, control_operators.operands(examples), writes=written), written)


def with_results(branch: Traced, numbers: Sequence[int]) -> Traced:
    """Return the traced body of a branch with these of its results alone; others are no longer computed."""
    module, outer = branch.graph
    output = module.graph.output_node()
    nodes = list(output.args[0])  # type: ignore[arg-type]
    count = len(nodes) - len(branch.written)
    results = [*[nodes[number] for number in numbers], *nodes[count:]]
    output.args = (tuple(results),)
    for node in set(nodes[:count]):
        if node.target in (torch.ops.aten.clone.default, torch.ops.aten.full.default) and not node.users:
            module.graph.erase_node(node)
    kept: Tensors = []
    for node, tensor in zip(module.graph.find_nodes(op="placeholder"), outer, strict=True):
        if node.users:
            kept.append(tensor)
        else:
            module.graph.erase_node(node)
    module.recompile()
    return Traced((module, kept), branch.written)


def branched(predicate: Tensor, true: Traced, false: Traced) -> Tensors:
    """Return the results of one of two matching branches, and do its writes to tensors from outside."""
    written = list({id(tensor): tensor for tensor in [*true.written, *false.written]}.values())
    outer, (first, second) = compiling.aligned([true.graph, false.graph], written)
    for module, branch in ((first, true), (second, false)):
        compiling.add_written(module, branch.written, written)
    run = control_operators.branch if is_recorded() and not _is_followed(outer) else loop_derivatives.branch_of
    results = run(is_true(predicate), first, second, outer)
    return _written_back(results, written)


def repeated(
    condition: Callable[[Tensors], Tensor],
    body: Traced,
    carry: Sequence[Tensor],
    steps: int | None = None,
    ends_early: bool = False,
) -> Tensors:
    """Return the carried values after a loop, and do the writes of its steps to tensors from outside.

    The number of steps may be known, or the largest number if the loop ``ends_early``.
    """
    does_all = not ends_early or loop_derivatives.is_reversed()
    if steps is not None and does_all and loop_derivatives.applies(steps):
        graphs = [body.graph]
        if ends_early:
            graphs.append(traced(lambda given: [is_true(condition(given))], carry).graph)
        outer, (step, *tests) = compiling.aligned(graphs, body.written)
        carried = [tensor.clone() for tensor in [*carry, *body.written]]
        around = outer[len(body.written) :]
        if tests:
            step = loop_derivatives.step_while(tests[0], step, [*carried, *around], len(carried))
        results = loop_derivatives.counted(step, carried, around, steps)
        return _written_back(results, body.written)
    tested = traced(lambda given: [is_true(condition(given))], carry).graph
    outer, (test, step) = compiling.aligned([tested, body.graph], body.written)
    if not is_recorded() or loop_derivatives.is_taped():
        carried = [tensor.clone() for tensor in [*carry, *body.written]]
        results = loop_derivatives.loop_of(test, step, carried, outer[len(body.written) :])
        return _written_back(results, body.written)
    values = control_operators.operands(carry)
    carried = [*values, *outer[: len(body.written)]]
    results = control_operators.loop(test, step, carried, outer[len(body.written) :])
    return _written_back(results, body.written)


def _written_back(results: Tensors, written: Tensors) -> Tensors:
    count = len(results) - len(written)
    for tensor, value in zip(written, results[count:], strict=True):
        compiling.from_outside(tensor).copy_(value)  # whose gradient a tape records
    return results[:count]


def while_loop(
    condition: Callable[[Tensors], Tensor],
    body: Callable[[Tensors], Tensors],
    carry: Sequence[Tensor],
    most: int | None = None,
) -> Tensors:
    """Repeat ``carry = body(carry)`` while ``condition(carry)``, a 0-d tensor; ``body`` keeps dtypes and shapes.

    The loop ends after ``most`` steps; with this bound a traced loop has reverse-mode derivatives too.
    """
    if most is not None and (is_recorded() or loop_derivatives.is_differentiated()):
        return _at_most(most, condition, body, carry)

    def tested(given: Tensors) -> Tensors:
        return [is_true(condition(given))]

    if not is_recorded() or loop_derivatives.is_taped():
        values = [tensor.clone() for tensor in carry]  # the body's writes to its arguments stay in the loop
        if _is_traced(condition(values)):
            found = loop_derivatives.repeated(tested, body, values)
            if found is not None:
                return found
        steps = 0
        while most is None or steps < most:
            goes_on = is_true(condition(values))
            if functorch.has_batch(goes_on) and not trace_state.is_tracing():
                return _repeated_for_some(goes_on, condition, body, values, None if most is None else most - steps)
            if not bool(goes_on):
                break
            values = body(values)
            steps += 1
        return values
    values = control_operators.operands(carry)
    outer, (test, step) = compiling.aligned([compiling.subgraph(tested, values), compiling.subgraph(body, values)])
    return control_operators.loop(test, step, values, outer)


def _repeated_for_some(
    goes_on: Tensor,
    condition: Callable[[Tensors], Tensor],
    body: Callable[[Tensors], Tensors],
    values: Tensors,
    most: int | None,
) -> Tensors:
    """Do the steps of a loop in a batch until no slice goes on; a slice that does not keeps its values."""
    steps = 0
    while most is None or steps < most:
        with functorch.down_to(None):
            if not bool(unwrapped(goes_on).any()):
                break
        with batching.for_some_slices():
            after = body([value.clone() for value in values])
        values = [selection.where(goes_on, new, old) for new, old in zip(after, values, strict=True)]
        goes_on = goes_on & is_true(condition(values))
        steps += 1
    return values


def _at_most(
    most: int, condition: Callable[[Tensors], Tensor], body: Callable[[Tensors], Tensors], carry: Sequence[Tensor]
) -> Tensors:
    """Trace a `while_loop` of at most ``most`` steps; under derivatives a scan whose extra steps do nothing."""
    if loop_derivatives.is_differentiated():

        def step(values: Tensors, _: Tensors) -> tuple[Tensors, Tensors]:
            goes_on = is_true(condition(values))
            after = body([value.clone() for value in values])
            return [selection.where(goes_on, new, old) for new, old in zip(after, values, strict=True)], []

        return scan(step, carry, [], most, reverse=False)[0]

    def counted(values: Tensors) -> Tensor:
        return (values[0] < most) & is_true(condition(values[1:]))

    return while_loop(counted, lambda values: [values[0] + 1, *body(values[1:])], [torch.full((), 0), *carry])[1:]


def fori_loop(
    lower: int | Tensor, upper: int | Tensor, body: Callable[[Tensor, Tensors], Tensors], carry: Sequence[Tensor]
) -> Tensors:
    """Repeat ``carry = body(i, carry)`` for each i from ``lower`` up to ``upper``, an int64 0-d tensor."""
    is_known = isinstance(lower, int) and isinstance(upper, int)
    is_kept = is_recorded() and not loop_derivatives.is_taped()
    is_kept = is_kept and not (is_known and loop_derivatives.unrolls(int(upper - lower)))
    bounds = [bound for bound in (lower, upper) if not isinstance(bound, int)]
    if is_kept or _is_traced(*bounds) or any(map(functorch.has_batch, bounds)):

        def step(values: Tensors) -> Tensors:
            return [values[0] + 1, *body(values[0], values[1:])]

        start = torch.full((), lower) if isinstance(lower, int) else lower.to(torch.int64)
        return while_loop(lambda values: values[0] < upper, step, [start, *carry])[1:]
    if isinstance(lower, int) and isinstance(upper, int) and loop_derivatives.applies(upper - lower):
        counted = torch.arange(lower, upper)
        return scan(lambda values, x: (body(x[0], values), []), carry, [counted], upper - lower, reverse=False)[0]
    loop_derivatives.tell_unrolled(int(upper) - int(lower))
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
    unroll: int = 1,
) -> tuple[Tensors, Tensors]:
    """Repeat ``carry, y = step(carry, x)`` for ``length`` slices x of the first axes; return carry and stacked y.

    If ``pure``, a traced ``step`` that writes to its arguments raises NotImplementedError. A traced loop does
    ``unroll`` steps in a turn.
    """
    if not length:
        # One step shows the shapes of the results.
        zeros = [torch.zeros(x.shape[1:], dtype=x.dtype, device=x.device) for x in xs]
        _, ys = step([tensor.clone() for tensor in carry], zeros)
        return [tensor.clone() for tensor in carry], [y.new_empty((0, *y.shape)) for y in ys]
    if unroll > 1 and trace_state.is_tracing():
        return _scanned_by_turns(step, carry, xs, length, reverse, min(unroll, length))
    if loop_derivatives.applies(length) and not pure:
        forward = [x.flip(0) for x in xs] if reverse else xs
        done = loop_derivatives.scanned(step, carry, forward, length)
        if done is not None:
            return done[0], [y.flip(0) for y in done[1]] if reverse else done[1]
    if not is_recorded() or loop_derivatives.is_taped() or loop_derivatives.unrolls(length):
        loop_derivatives.tell_unrolled(length)
        return _scanned(step, carry, xs, length, reverse)
    results, ys = control_operators.scan(step, carry, [x.flip(0) for x in xs] if reverse else xs, length, pure)
    return results, [y.flip(0) for y in ys] if reverse else ys


def _scanned_by_turns(
    step: Callable[[Tensors, Tensors], tuple[Tensors, Tensors]],
    carry: Sequence[Tensor],
    xs: Sequence[Tensor],
    length: int,
    reverse: bool,
    unroll: int,
) -> tuple[Tensors, Tensors]:
    """Do a `scan` in turns of ``unroll`` steps each, and then the remaining steps."""
    count = length - length % unroll
    forward = [x.flip(0) for x in xs] if reverse else xs
    if count == unroll:  # one turn needs no loop
        values, ys = _scanned(step, carry, [x[:count] for x in forward], count, False)
    else:
        turns = [x[:count].unflatten(0, (-1, unroll)) for x in forward]
        values, blocks = scan(lambda v, x: _scanned(step, v, x, unroll, False), carry, turns, count // unroll, False)
        ys = [y.flatten(0, 1) for y in blocks]
    if count < length:
        values, last = _scanned(step, values, [x[count:] for x in forward], length - count, False)
        ys = [torch.cat(both) for both in zip(ys, last, strict=True)]
    return values, [y.flip(0) for y in ys] if reverse else ys


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
        rows.append([y.clone() for y in ys])  # the next step may write to them, as to the carried values
    return values, [torch.stack(column[::-1] if reverse else column) for column in map(list, zip(*rows, strict=True))]
