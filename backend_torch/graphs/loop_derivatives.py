"""Derivatives of traced loops and branches, as loops and branches.

Layer: owns the derivatives of ``scan``, ``cond`` and ``while_loop``. A scan keeps what each step got; the loop backward
goes through that with the derivative of one step. A branch has the derivatives of both functions for its branches. A
while loop carries tangents along; reverse mode would need all of its steps. Where none of it applies a loop unrolls.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch.fx import GraphModule
from torch.overrides import TorchFunctionMode

from backend_torch.autodiff import autodiff, old_values, transform_levels
from backend_torch.graphs import compiling, graph_copies
from backend_torch.tensors import trace_state
from backend_torch.tensors.memory import unwrapped
from backend_torch.torch_private import functorch, traces, trees
from backend_torch.torch_private.tensor_internals import is_zeros_without_memory, storage_of

Tensor = torch.Tensor
Tensors = list[Tensor]
Step = Callable[[Tensors, Tensors], tuple[Tensors, Tensors]]
Scan = Callable[[Step, Sequence[Tensor], Sequence[Tensor], int, bool], tuple[Tensors, Tensors]]
_FEWEST = 16  # steps; fewer are unrolled, and fuse
_MOST_UNROLLED = 64  # steps of a loop in a branch or a loop whose derivative is taken


class _Unwrapping(TorchFunctionMode):
    """Runs a step's operations on the tensors below a transform, without the transform."""

    def __init__(self) -> None:
        super().__init__()
        self.wrapped: dict[int, tuple[Tensor, Tensor]] = {}  # of the tensor inside: that tensor, and the wrapped one

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if functorch.innermost() is not None:
            raise NotImplementedError("a transform inside wraps tensors as the one around does")
        args, kwargs = trees.map_only(Tensor, self.inside, (args, kwargs or {}))
        return func(*args, **kwargs)

    def inside(self, tensor: Tensor) -> Tensor:
        if not functorch.is_wrapped(tensor):
            return tensor
        inside = tensor
        while functorch.is_wrapped(inside):
            if functorch.is_batched(inside):
                raise NotImplementedError("a batch has other shapes inside")
            inside = functorch.get_unwrapped(inside)
        if self.wrapped.setdefault(id(inside), (inside, tensor))[1] is not tensor:
            raise NotImplementedError("one tensor is wrapped for different transforms")
        return inside

    def outside(self, tensors: Sequence[Tensor]) -> Tensors:
        """Return the tensors as wrapped by the transforms."""
        return [self.wrapped.get(id(tensor), (tensor, tensor))[1] for tensor in tensors]


class _Blocks(threading.local):
    depth = 0  # of branches and loops whose derivatives are taken, one in the other


_blocks = _Blocks()


@contextlib.contextmanager
def block() -> Iterator[None]:
    """A scope in which a branch or a loop's body is traced whose derivatives are taken: short loops are unrolled."""
    _blocks.depth += 1
    try:
        yield
    finally:
        _blocks.depth -= 1


def unrolls(length: int) -> bool:
    """Whether a loop of so many steps is unrolled: reverse mode goes through no loop in a branch."""
    return _blocks.depth > 0 and length <= _MOST_UNROLLED


def tell_unrolled(length: int) -> None:
    """Warn of a long loop that a trace has to unroll, as only one gradient of it is a loop."""
    if length >= _MOST_UNROLLED and trace_state.is_tracing() and functorch.is_transforming():
        trace_state.warn(
            f"the {length} steps of a loop are unrolled, each traced and compiled: in a compiled function one gradient "
            "(grad, vjp, jacobian) of a loop is a loop, but not a derivative of it, nor one in vectorized_map, nor of "
            "a loop in a loop. Take fewer steps, or leave this derivative outside tnp.compile"
        )


def applies(length: int) -> bool:
    """Whether a trace takes one gradient of a loop that is long enough."""
    if unrolls(length):
        return False
    levels = functorch.stack()
    if length >= _FEWEST and not levels:
        return is_taped()
    if length < _FEWEST or not levels or len(levels) != 1 or functorch.is_disabled() or autodiff.is_linearized():
        return False
    return trace_state.is_tracing() and levels[0].key() == functorch.TransformType.Grad


@dataclass(eq=False)
class _Loop:
    """A loop under a derivative.

    Attributes
    ----------
    step : GraphModule
        Takes the carried values, a slice, and tensors from outside; returns the next carried values and a result.
    counts : tuple of int
        Numbers of carried values, slices, tensors from outside, and results.
    floating : list of bool
        Whether each output of a step has a floating dtype: the next carried values, and the results.
    """

    scan: Scan
    step: GraphModule
    counts: tuple[int, int, int, int]
    floating: list[bool]
    length: int

    def parts(self, tensors: Sequence[Tensor], *counts: int) -> list[list[Tensor]]:
        """The tensors in groups."""
        left, parts = list(tensors), []
        for count in counts:
            parts.append(left[:count])
            del left[:count]
        return parts


def scanned(scan: Scan, step: Step, carry: Sequence[Tensor], xs: Sequence[Tensor], length: int) -> Any:
    """Do the forward ``scan`` where `applies`; return None if a step holds an operation without a derivative here."""
    mode, count = _Unwrapping(), len(carry)
    floating: list[bool] = []
    with functorch.down_to(None), mode:
        examples = [mode.inside(tensor) for tensor in [*carry, *xs]]
        slices = [x[0] for x in examples[count:]]

        def flat(tensors: Tensors) -> Tensors:
            after, ys = step(tensors[:count], tensors[count:])
            floating[:] = [each.is_floating_point() for each in [*after, *ys]]
            return [mode.inside(each) for each in [*after, *ys]]

        try:
            module, outer = compiling.subgraph(flat, [*map(compiling.in_c_order, examples[:count]), *slices])
        except Exception:  # a step that is no graph of its own, as one that writes to what is around it
            return None
    if module.meta["rules"]:
        trace_state.warn(
            f"the {length} steps of a loop are unrolled, each traced and compiled: a loop whose derivative is taken "
            f"can't hold a function with a custom_gradient or custom_jvp, as {module.meta['rules'][0]} calls. "
            "Let torch differentiate the function in loops, or take fewer steps"
        )
    if module.meta["rules"] or _repeats(module):
        return None
    around = mode.outside(outer)
    results = len(floating) - count
    loop = _Loop(scan, module, (count, len(xs), len(outer), results), floating, length)
    given = _Forward.apply(loop, *carry, *xs, *around)
    values, ys, _ = loop.parts(given, count, results, count)
    return values, ys


def counted(scan: Scan, step: GraphModule, carry: Sequence[Tensor], around: Sequence[Tensor], length: int) -> Tensors:
    """A loop of a known number of steps, of which a gradient is taken.

    Raises
    ------
    NotImplementedError
        A step branches or loops itself.
    """
    if step.meta["rules"] or _repeats(step):
        raise NotImplementedError("a gradient of a loop whose steps loop is taken step by step")
    floating = [each.is_floating_point() for each in carry]
    given = _Loop(scan, step, (len(carry), 0, len(around), 0), floating, length)
    return list(_Forward.apply(given, *carry, *around)[: len(carry)])


class _Forward(torch.autograd.Function):
    """The loop, which also returns the inputs of each step."""

    generate_vmap_rule = True

    @staticmethod
    def forward(loop: _Loop, *tensors: Tensor) -> tuple[Tensor, ...]:
        count, along, outer, _ = loop.counts
        carry, xs, around = loop.parts(tensors, count, along, outer)

        def step(values: Tensors, x: Tensors) -> tuple[Tensors, Tensors]:
            results = loop.step(*values, *x, *around)
            return list(results[:count]), [*results[count:], *values]

        values, ys = loop.scan(step, carry, xs, loop.length, False)
        return (*values, *ys)

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        loop, *tensors = inputs
        count = loop.counts[0]
        kept = output[len(output) - count :]
        ctx.loop = loop
        ctx.save_for_backward(*kept, *tensors[count:])
        ctx.mark_non_differentiable(*kept, *[each for each in output if not each.is_floating_point()])

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        count, _, _, results = ctx.loop.counts
        return (None, *_Backward.apply(ctx.loop, *gradients[: count + results], *ctx.saved_tensors))


def _pulled(
    loop: _Loop, tensors: Sequence[Tensor], batch: tuple[list[bool], int] | None
) -> tuple[Tensor | None, ...]:
    """Return the gradients of a loop's inputs, from those of its results, the values that it carried and its inputs.

    ``batch`` says which of the tensors have elements for each of how many calls.
    """
    count, along, outer, results = loop.counts
    of_carry, of_ys, kept, xs, around = loop.parts(tensors, count, results, count, along, outer)
    inputs = [*[x[0] for x in [*kept, *xs]], *around]
    followed = [index for index, each in enumerate(inputs) if each.is_floating_point()]
    outputs = [index for index, is_float in enumerate(loop.floating) if is_float]
    carried = [index for index in followed if index < count]
    summed = [index for index in followed if index >= count + along]
    sliced = [index for index in followed if count <= index < count + along]
    rows = [of_ys[index - count] for index in outputs if index >= count]

    def pulled(gradients: tuple[Tensor, ...], given: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        def primal(*some: Tensor) -> tuple[Tensor, ...]:
            filled = list(given)
            for index, each in zip(followed, some, strict=True):
                filled[index] = each
            found = _Steps(loop.step).run(*filled)
            return tuple([found[index] for index in outputs])

        _, pullback, *_ = torch.func.vjp(primal, *[given[index] for index in followed])
        return pullback(gradients)

    def step(values: Tensors, x: Tensors) -> tuple[Tensors, Tensors]:
        gradients, sums = values[: len(carried)], values[len(carried) :]
        given = ((*gradients, *x[: len(rows)]), (*x[len(rows) :], *around))
        found = dict(zip(followed, at_once(*given), strict=True))
        more = [total + found[index] for total, index in zip(sums, summed, strict=True)]
        return [*[found[index] for index in carried], *more], [found[index] for index in sliced]

    at_once: Callable[..., tuple[Tensor, ...]] = pulled
    start = [*[of_carry[index] for index in carried], *[torch.zeros_like(inputs[index]) for index in summed]]
    if batch is not None:
        has_batch, size = batch
        flags = loop.parts(has_batch, count, results, count, along, outer)  # type: ignore[arg-type]
        dims = [[0 if each else None for each in group] for group in flags]
        of_rows = [dims[1][index - count] for index in outputs if index >= count]
        at_once = torch.vmap(pulled, ((*[0] * len(carried), *of_rows), (*dims[2], *dims[3], *dims[4])))
        given = [flags[0][index] for index in carried] + [flags[4][index - count - along] for index in summed]
        each_own = zip(start, given, strict=True)
        start = [each.clone() if has else each.expand(size, *each.shape).clone() for each, has in each_own]
    with old_values.unhooked():
        values, stacked = loop.scan(step, start, [*rows, *kept, *xs], loop.length, True)
    found = dict(zip([*carried, *summed, *sliced], [*values, *stacked], strict=True))
    return tuple([found.get(index) for index in range(count + along + outer)])


class _Backward(torch.autograd.Function):
    """The gradients of the loop's inputs."""

    @staticmethod
    def forward(loop: _Loop, *tensors: Tensor) -> tuple[Tensor | None, ...]:
        return _pulled(loop, tensors, None)

    @staticmethod
    def vmap(info: Any, in_dims: Any, loop: _Loop, *tensors: Tensor) -> Any:
        """Pull many gradients back in one loop, whose steps are batched: by torch's rule it would be unrolled."""
        count, along, outer, results = loop.counts
        _, *dims = in_dims
        # What a step takes a slice of has the batch along its second axis.
        places = [0] * count + [1] * (results + count + along) + [0] * outer
        moved = [
            each if dim is None else each.movedim(dim, place)
            for each, dim, place in zip(tensors, dims, places, strict=True)
        ]
        found = _pulled(loop, moved, ([dim is not None for dim in dims], info.batch_size))
        at = [0] * count + [1] * along + [0] * outer
        return found, tuple([None if each is None else place for each, place in zip(found, at, strict=True)])

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        pass

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        raise NotImplementedError(
            "a second derivative of a compiled loop by one gradient's backward pass: nest grad in grad instead"
        )


# ---------------------------------------------------------------------------------------------------------------------
# Branches, and loops in forward mode


def is_differentiated() -> bool:
    """Whether derivatives are taken in a trace."""
    if functorch.is_transforming():
        return trace_state.is_tracing() and not functorch.is_disabled()
    return is_taped()


def is_taped() -> bool:
    """Whether a tape records in a trace, and no transform is under way."""
    return trace_state.is_tracing() and autodiff.is_recording() and torch.is_grad_enabled()


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
    """Call torch's operator for a branch, on tensors that share no memory."""
    (operands,) = apart(outer)
    return operator(torch.ops.higher_order.cond, predicate, first, second, tuple(operands))


def loop(test: Any, step: Any, values: Sequence[Tensor], outer: Sequence[Tensor]) -> Tensors:
    """Call torch's operator for a loop, on tensors that share no memory."""
    around, carried = apart(outer, values)
    tested = graph_copies.of_one_result(test)
    return operator(torch.ops.higher_order.while_loop, tested, step, tuple(carried), tuple(around))


def operator(function: Any, *args: Any) -> Tensors:
    """Call torch's operator for a branch or a loop, without the derivative that torch would take of it.

    A tape inside has left operands that require a gradient, where no derivative is taken.
    """
    with torch.no_grad():
        return list(function(*args))


@dataclass(eq=False)
class _Graphs:
    """Graphs of the same inputs: the two branches, or a loop's test and step.

    Attributes
    ----------
    carried : int
        Number of inputs that a loop carries; 0 for a branch.
    """

    modules: list[Any]
    carried: int = 0

    def derived(self, module: GraphModule, tensors: Sequence[Tensor], given: Sequence[Tensor], forward: bool) -> Any:
        """Return the derivative of a graph, as a graph of its inputs and of tangents or gradients."""
        count, inputs = len(tensors), [index for index, each in enumerate(tensors) if _is_float(each)]

        def differentiated(values: Tensors) -> Tensors:
            fixed, along = values[:count], values[count:]

            def primal(*some: Tensor) -> tuple[tuple[Tensor, ...], tuple[Tensor, ...]]:
                filled = list(fixed)
                for index, each in zip(inputs, some, strict=True):
                    filled[index] = each
                results = _Steps(module).run(*filled)
                return tuple(filter(_is_float, results)), tuple(results)

            chosen = [fixed[index] for index in inputs]
            if not forward:
                back: Any = torch.func.vjp(primal, *chosen, has_aux=True)
                return list(back[1](tuple(along)))
            ahead: Any = torch.func.jvp(primal, tuple(chosen), tuple(along), has_aux=True)
            return [*ahead[2], *ahead[1]]

        with old_values.unhooked():
            return compiling.subgraph(differentiated, list(map(_example, (*tensors, *given))))[0]


def _example(tensor: Tensor) -> Tensor:
    """Return a tensor in C order like another, below all transforms."""
    return unwrapped(tensor).new_empty(tensor.shape)


def _is_float(tensor: Tensor) -> bool:
    return tensor.is_floating_point() or tensor.is_complex()


class _Steps(torch.fx.Interpreter):
    """A graph whose branches and loops have the derivatives of this module."""

    def call_function(self, target: Any, args: Any, kwargs: Any) -> Any:
        if target is torch.ops.higher_order.cond:
            predicate, first, second, operands = args
            return list(_Branch.apply(_Graphs([first, second]), predicate, *operands))
        if target is torch.ops.higher_order.while_loop:
            test, step, carried, around = args
            graphs = _Graphs([graph_copies.of_sequence(test), step], len(carried))
            return list(_While.apply(graphs, *carried, *around))
        return super().call_function(target, args, kwargs)


def _has(module: GraphModule, operation: Any) -> bool:
    """Whether a graph, or a branch or a loop of it, has such an operation."""
    return any(
        each.graph.find_nodes(op="call_function", target=operation)
        for each in module.modules()
        if isinstance(each, GraphModule)
    )


def _repeats(module: GraphModule) -> bool:
    """Whether a graph loops, which has no reverse mode inside of a loop."""
    return _has(module, torch.ops.higher_order.while_loop) or _has(module, torch.ops.higher_order.scan)


class _Branch(torch.autograd.Function):
    """One of two graphs, chosen by a predicate."""

    @staticmethod
    def forward(graphs: _Graphs, predicate: Tensor, *tensors: Tensor) -> tuple[Tensor, ...]:
        first, second = graphs.modules
        return tuple(branch(predicate, first, second, tensors))

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.graphs, *tensors = inputs
        ctx.save_for_backward(*tensors)
        ctx.save_for_forward(*tensors)
        ctx.mark_non_differentiable(*[each for each in output if not _is_float(each)])
        ctx.followed = list(map(_is_float, output))

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        predicate, *tensors = ctx.saved_tensors
        given = [each for each in gradients if each is not None and _is_float(each)]
        found = iter(_differentiated(ctx.graphs, predicate, tensors, given, False))
        return None, None, *[next(found) if _is_float(each) else None for each in tensors]

    @staticmethod
    def jvp(ctx: Any, _: Any, __: Any, *tangents: Any) -> Any:
        if not any(ctx.followed):
            return (None,) * len(ctx.followed)
        predicate, *tensors = ctx.saved_tensors
        given = _tangents(tensors, tangents)
        found = _differentiated(ctx.graphs, predicate, tensors, given, True)
        results = found[: len(found) - sum(map(_is_float, found)) // 2]
        along = iter(found[len(results) :])
        return tuple([next(along) if _is_float(each) else None for each in results])

    @staticmethod
    def vmap(info: Any, in_dims: Any, graphs: _Graphs, predicate: Tensor, *tensors: Tensor) -> Any:
        _, decided, *dims = in_dims
        if decided is None and all(dim is None for dim in dims):
            results = _Branch.apply(graphs, predicate, *tensors)
            return results, (None,) * len(results)
        moved = _moved(tensors, dims)
        leading = tuple([None if dim is None else 0 for dim in dims])

        def batched(module: GraphModule) -> Callable[..., Tensors]:
            def each(index: Tensor, *some: Tensor) -> tuple[Tensor, ...]:
                return tuple(_Steps(module).run(*some))

            at_once = torch.vmap(each, (0, *leading), randomness="same")
            return lambda some: list(at_once(torch.arange(info.batch_size), *some))

        if decided is not None:  # each slice has its own branch: both are computed
            first, second = [batched(module)(moved) for module in graphs.modules]
            chosen = predicate.movedim(decided, 0)
            results = [torch.where(_along(chosen, a), a, b) for a, b in zip(first, second, strict=True)]
        else:
            with functorch.down_to(None):
                examples = list(map(_example, moved))
                modules = [compiling.subgraph(batched(module), examples)[0] for module in graphs.modules]
            results = _Branch.apply(_Graphs(modules), predicate, *moved)
        return tuple(results), (0,) * len(results)


def _tangents(tensors: Sequence[Tensor], tangents: Sequence[Any]) -> Tensors:
    pairs = zip(tensors, tangents, strict=True)
    return [torch.zeros_like(each) if along is None else along for each, along in pairs if _is_float(each)]


def _differentiated(graphs: _Graphs, predicate: Tensor, tensors: Any, given: Tensors, forward: bool) -> Any:
    tensors, given = [[each.contiguous() for each in group] for group in (tensors, given)]
    with functorch.down_to(None):
        modules = [graphs.derived(module, tensors, given, forward) for module in graphs.modules]
    return _Branch.apply(_Graphs(modules), predicate, *tensors, *given)


class HeldError(NotImplementedError):
    """A branch or a loop whose derivative is taken holds what has none there."""


def check(module: GraphModule) -> None:
    """Raise HeldError for what has no derivative in a branch or a loop."""
    where = f"{trace_state.user_line()}: a branch or a loop whose derivative is taken can't hold"
    if _has(module, torch.ops.higher_order.scan):
        raise HeldError(
            f"{where} a scan of more than {_MOST_UNROLLED} steps: let the branch choose among the scan's inputs or "
            "results"
        )
    if traces.has_recording(module):
        raise HeldError(f"{where} a GradientTape: use tnp.grad there instead of the tape")
    if module.meta["rules"]:
        raise HeldError(
            f"{where} a function with a custom_gradient or custom_jvp, as {module.meta['rules'][0]} calls: call it "
            "outside, and choose by tnp.where"
        )


def _captured(functions: Sequence[Callable[[Tensors], Tensors]], examples: Sequence[Tensor]) -> Any:
    """Graphs of functions, and what they read from around, as the transforms have wrapped it.

    Returns None in a batch that refuses: the function runs for each of its elements then.
    """
    try:
        outer, modules = compiling.aligned([captured(each, examples) for each in functions])
    except NotImplementedError as error:
        is_batched = any(level.key() == functorch.TransformType.Vmap for level in functorch.stack() or ())
        if isinstance(error, HeldError) and not is_batched:
            raise
        return None
    return modules, outer


def captured(
    function: Callable[[Tensors], Tensors], examples: Sequence[Tensor], writes: Tensors | None = None
) -> compiling.Subgraph:
    """`compiling.subgraph` below the transforms; what it reads from around, and writes to, is as they have wrapped it.

    Raises
    ------
    NotImplementedError
        It holds what has no derivative here, or a batch.
    """
    mode = _Unwrapping()
    with functorch.down_to(None), mode, block():
        given = [compiling.in_c_order(mode.inside(each)) for each in examples]
        written: Tensors | None = None if writes is None else []
        module, outer = compiling.subgraph(
            lambda values: [mode.inside(each) for each in function(values)], given, writes=written
        )
    check(module)
    if writes is not None:
        writes += mode.outside(written or ())
    return module, mode.outside(outer)


def branch_of(predicate: Tensor, first: GraphModule, second: GraphModule, around: Sequence[Tensor]) -> Tensors:
    """A branch of which derivatives are taken."""
    check(first)
    check(second)
    return list(_Branch.apply(_Graphs([first, second]), predicate, *_own(around)))


def loop_of(test: GraphModule, step: GraphModule, carry: Sequence[Tensor], around: Sequence[Tensor]) -> Tensors:
    """A loop of which derivatives are taken."""
    check(step)
    return list(_While.apply(_Graphs([test, step], len(carry)), *carry, *_own(around)))


def _own(tensors: Sequence[Tensor]) -> Tensors:
    return [each if functorch.is_wrapped(each) else each.clone() for each in tensors]


def branched(predicate: Tensor, true: Callable[[], Tensors], false: Callable[[], Tensors]) -> Tensors | None:
    """Do a branch under derivatives; return None if a function holds an operation without a derivative here."""
    found = _captured([lambda _: true(), lambda _: false()], [])
    if found is None:
        return None
    (first, second), around = found
    return branch_of(predicate, first, second, around)


class _While(torch.autograd.Function):
    """A loop of which forward mode carries the tangents along."""

    @staticmethod
    def forward(graphs: _Graphs, *tensors: Tensor) -> tuple[Tensor, ...]:
        test, step = graphs.modules
        return tuple(loop(test, step, tensors[: graphs.carried], tensors[graphs.carried :]))

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.graphs, *tensors = inputs
        ctx.line = trace_state.user_line()
        ctx.save_for_forward(*tensors)
        ctx.mark_non_differentiable(*[each for each in output if not _is_float(each)])
        ctx.followed = list(map(_is_float, output))

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        raise autodiff.ForwardOnlyError(
            f"{ctx.line}: reverse mode through a compiled loop needs a bound on its steps: give while_loop "
            "maximum_iterations, give fori_loop ints for bounds, or take the derivative by jvp"
        )

    @staticmethod
    def jvp(ctx: Any, _: Any, *tangents: Any) -> Any:
        if not any(ctx.followed):
            return (None,) * len(ctx.followed)
        graphs, tensors = ctx.graphs, ctx.saved_tensors
        carried = graphs.carried
        carry, around = tensors[:carried], tensors[carried:]
        along, beside = _tangents(carry, tangents[:carried]), _tangents(around, tangents[carried:])
        count, more = len(carry), len(along)
        test, step = graphs.modules

        def tested(values: Tensors) -> Tensors:
            return list(test(*values[:count], *values[count + more :][: len(around)]))

        def stepped(values: Tensors) -> Tensors:
            around_now, beside_now = values[count + more :][: len(around)], values[count + more + len(around) :]
            return list(step_along(*values[:count], *around_now, *values[count:][:more], *beside_now))

        inputs = [each.contiguous() for each in (*carry, *along, *around, *beside)]
        with functorch.down_to(None):
            step_along = graphs.derived(step, [*carry, *around], [*along, *beside], True)
            examples = list(map(_example, inputs))
            modules = [compiling.subgraph(each, examples)[0] for each in (tested, stepped)]
        found = _While.apply(_Graphs(modules, count + more), *inputs)
        tangents_now = iter(found[count:])
        return tuple([next(tangents_now) if _is_float(each) else None for each in found[:count]])

    @staticmethod
    def vmap(info: Any, in_dims: Any, graphs: _Graphs, *tensors: Tensor) -> Any:
        _, *dims = in_dims
        size, carried, (test, step) = info.batch_size, graphs.carried, graphs.modules
        values = _moved(tensors, dims)
        differ = [dim is not None for dim in dims]
        with functorch.down_to(None):
            while True:  # until the values that a step gives differ among slices where those that it takes do
                tested, (apart,) = _of_slices(test, values, differ, size)
                stepped, after = _of_slices(_Steps(step).run, values, differ, size)
                more = [one or apart or other for one, other in zip(differ, after, strict=False)] + differ[carried:]
                if more == differ:
                    break
                values = [
                    v if old == new else _spread(v, size) for v, old, new in zip(values, differ, more, strict=True)
                ]
                differ = more

            def goes_on(given: Tensors) -> Tensors:
                (found,) = tested(*given)
                return [found.any() if apart else found]

            def following(given: Tensors) -> Tensors:
                pairs = zip(stepped(*given), after, differ, strict=False)
                found = [_spread(each, size) if now and not is_apart else each for each, is_apart, now in pairs]
                if not apart:
                    return found
                (going,) = tested(*given)
                return [torch.where(_along(going, new), new, old) for new, old in zip(found, given, strict=False)]

            examples = list(map(_example, values))
            modules = [compiling.subgraph(each, examples)[0] for each in (goes_on, following)]
        results = _While.apply(_Graphs(modules, carried), *values)
        return results, tuple([0 if each else None for each in differ[:carried]])


def _moved(tensors: Sequence[Tensor], dims: Sequence[int | None]) -> Tensors:
    """Return tensors in C order with the slices of a batch along their first dimensions."""
    pairs = zip(tensors, dims, strict=True)
    return [(each if dim is None else each.movedim(dim, 0)).contiguous() for each, dim in pairs]


def _spread(tensor: Tensor, size: int) -> Tensor:
    return tensor.expand(size, *tensor.shape).contiguous()


def _along(chosen: Tensor, other: Tensor) -> Tensor:
    """Return one value for each slice, to be broadcast with the slices."""
    return chosen.reshape((-1,) + (1,) * (other.dim() - 1))


def _of_slices(
    function: Callable[..., Any], values: Sequence[Tensor], differ: Sequence[bool], size: int
) -> tuple[GraphModule, list[bool]]:
    """Return a graph of a function for all slices of the values that differ, and which of its results do."""
    apart: list[bool] = []

    def run(given: Tensors) -> Tensors:
        same: Tensors = []

        def each(level: int, *slices: Tensor) -> Tensors:
            results = list(function(*slices))
            apart[:] = [functorch.is_batched(result) and functorch.level_of(result) == level for result in results]
            same[:] = [result for result, is_apart in zip(results, apart, strict=True) if not is_apart]
            return [result for result, is_apart in zip(results, apart, strict=True) if is_apart]

        found = iter(transform_levels.vmap(each, given, [0 if each else None for each in differ], size, "same"))
        rest = iter(same)
        return [next(found if is_apart else rest) for is_apart in apart]

    return compiling.subgraph(run, list(map(_example, values)))[0], apart


def repeated(
    condition: Callable[[Tensors], Tensors],
    body: Callable[[Tensors], Tensors],
    carry: Sequence[Tensor],
) -> Tensors | None:
    """Do a loop under derivatives; return None if a function holds an operation without a derivative here."""
    found = _captured([condition, body], carry)
    if found is None:
        return None
    (test, step), around = found
    return loop_of(test, step, carry, around)


def pushed(
    function: Callable[..., Sequence[Tensor]], tensors: Sequence[Tensor], tangents: Sequence[Tensor]
) -> tuple[Tensors, Tensors]:
    """Return the results of a traced function and their derivatives along tangents, by the graph of these.

    Forward mode of forward mode differentiates the operations of that graph.
    """
    module, around = captured(lambda values: list(function(*values)), tensors)
    inputs = [each.contiguous() for each in (*tensors, *around)]
    along = [each.contiguous() for each in _tangents(inputs, [*tangents, *[None] * len(around)])]
    with functorch.down_to(None):
        derived = _Graphs([]).derived(module, inputs, along, True)
    found = list(_Steps(derived).run(*inputs, *along))
    count = len(module.graph.output_node().args[0])  # type: ignore[arg-type]
    return found[:count], found[count:]


autodiff.by_graph = pushed
