"""Derivatives and batches of traced loops and branches, as loops and branches.

Layer: owns the derivatives and batches of ``scan``, ``cond`` and ``while_loop``. A step is traced below all transforms,
for one slice of a batch. A scan keeps what each step got; the loop backward goes through that with the derivative of
one step, and so does the loop that forward mode adds: both are scans, which have derivatives and batches. A branch has
the derivatives of both functions for its branches. A while loop carries tangents along; reverse mode would need all of
its steps, so that a counted one is a scan there. Where none of it applies a loop unrolls.
"""

from __future__ import annotations

import contextlib
import itertools
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch.fx import GraphModule, Node
from torch.overrides import TorchFunctionMode

from backend_torch.autodiff import autodiff, old_values, transform_levels
from backend_torch.graphs import compiling, control_operators, graph_copies, host_calls, loop_draws, loops
from backend_torch.kernels import selection, value_checks
from backend_torch.kernels.graph_operations import STEPS
from backend_torch.kernels.indexing import put_in_batch
from backend_torch.tensors import aliasing, trace_state
from backend_torch.tensors.memory import unwrapped
from backend_torch.tensors.shape import inverse, memory_axes
from backend_torch.torch_private import functorch, traces, trees
from backend_torch.torch_private.tensor_internals import storage_of

Tensor = torch.Tensor
Tensors = list[Tensor]
_ASSERT = torch.ops.aten._assert_async.msg
_INDEXED = {  # operations that check places, and which argument these are
    torch.ops.aten.index.Tensor: 1,
    torch.ops.aten.index_put_.default: 1,
    torch.ops.aten.index_put.default: 1,
    torch.ops.aten.gather.default: 2,
    torch.ops.aten.index_select.default: 2,
    torch.ops.aten.take.default: 1,
}
_FEWEST = 9  # steps
_MANY = 64  # steps that are not unrolled without a warning


class _Unwrapping(TorchFunctionMode):
    """Runs a step's operations on stand-ins for the tensors that the transforms around it have wrapped.

    A stand-in has the shape of one slice of a batch, and the memory of the tensor. The step may transform functions
    itself: what such a transform wraps is computed in the step, or is a stand-in.
    """

    def __init__(self) -> None:
        super().__init__()
        self.stand_ins: dict[int, Tensor] = {}  # of a tensor
        self.around: dict[int, tuple[Tensor, Tensor]] = {}  # of a stand-in: itself, and its tensor
        self.of_batches: set[int] = set()  # the memory of stand-ins that is that of all slices

    def __enter__(self) -> _Unwrapping:
        self._below, trace_state.state.below = trace_state.state.below, self
        return super().__enter__()

    def __exit__(self, *error: Any) -> None:
        trace_state.state.below = self._below
        super().__exit__(*error)

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        args, kwargs = self.known(args, kwargs or {})
        return func(*args, **kwargs)

    def known(self, args: Any, kwargs: Any) -> tuple[Any, Any]:
        """Return the arguments of an operation with stand-ins, for what watches operations in the step."""
        found: tuple[Any, Any] = trees.map_only(Tensor, self.inside, (args, kwargs))
        return found

    def inside(self, tensor: Tensor) -> Tensor:
        """Return the stand-in of a tensor that is wrapped by a transform around the step; any other unchanged."""
        return self.entered(tensor) if functorch.is_wrapped(tensor) else tensor

    def entered(self, tensor: Tensor) -> Tensor:
        """Return the stand-in of a tensor from around the step, which a transform in the step will wrap."""
        if not functorch.is_wrapped(tensor):
            tensor = compiling.stand_in(tensor)
        innermost = compiling.stand_in(unwrapped(tensor))
        if id(innermost) in self.around or traces.node_of(innermost) is not None:  # of the step
            return tensor
        if id(tensor) not in self.stand_ins:
            made = compiling.slice_of(innermost, tensor)
            if functorch.has_batch(tensor):
                self.of_batches.add(storage_of(made))
            self.stand_ins[id(tensor)] = made
            self.around[id(made)] = made, tensor
        return self.stand_ins[id(tensor)]

    def outside(self, tensors: Sequence[Tensor]) -> Tensors:
        """Return the tensors as wrapped by the transforms."""
        return [self.around.get(id(tensor), (tensor, tensor))[1] for tensor in tensors]


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
    """Whether a loop of so many steps is unrolled in a branch or a loop whose derivative is taken."""
    return _blocks.depth > 0 and length < _FEWEST


def tell_unrolled(length: int) -> None:
    """Warn of a long loop that a trace has to unroll, as its derivative is none."""
    if length >= _MANY and trace_state.is_tracing() and functorch.is_transforming():
        trace_state.warn(
            f"the {length} steps of a loop are unrolled, each traced and compiled: in a compiled function derivatives "
            "and batches of a loop are loops, but not where its steps record a GradientTape, call for effects, or draw "
            "random numbers in a batch. Take fewer steps, or leave this transform outside tnp.compile"
        )


def applies(length: int) -> bool:
    """Whether a trace takes derivatives, or a batch, of a loop that is long enough."""
    return length >= _FEWEST and is_differentiated()


@dataclass(eq=False)
class _Loop:
    """A loop under derivatives.

    Attributes
    ----------
    step : GraphModule
        Takes the carried values, slices, and tensors from outside; returns the next carried values and results.
    counts : tuple of int
        Numbers of carried values, slices, tensors from outside, and results.
    keeps : bool
        Whether the last results are the carried values that each step got, which derivatives need.
    """

    step: GraphModule
    counts: tuple[int, int, int, int]
    length: int
    keeps: bool = False

    def parts(self, tensors: Sequence[Any], *counts: int) -> list[list[Any]]:
        """The tensors in groups."""
        left, parts = list(tensors), []
        for count in counts:
            parts.append(left[:count])
            del left[:count]
        return parts

    def primal(
        self, values: Sequence[Tensor], followed: Sequence[int], results: Sequence[int]
    ) -> Callable[..., tuple[Tensor, ...]]:
        """Return some results of a step as a function of the values that a derivative follows."""

        def run(*some: Tensor) -> tuple[Tensor, ...]:
            filled = list(values)
            for index, each in zip(followed, some, strict=True):
                filled[index] = each
            found = _Steps(self.step).run(*filled)
            return tuple([found[index] for index in results])

        return run

    def slices(self, tensors: Sequence[Tensor]) -> Tensors:
        """What the first step gets of the loop's inputs."""
        count, along, *_ = self.counts
        return [each[0] if count <= index < count + along else each for index, each in enumerate(tensors)]


def _looped(
    length: int,
    step: Callable[[Tensors], Tensors] | GraphModule,
    inputs: tuple[Sequence[Tensor], Sequence[Tensor], Sequence[Tensor]],
    keeps: bool,
) -> list[Tensors]:
    """Do a loop under derivatives; return the carried values, the results, and the values that it ``keeps``.

    Parameters
    ----------
    length : int
        The number of steps.
    step : callable
        Takes and returns lists as the step of a loop does.
    inputs : tuple of lists
        The carried values, what is sliced, and the tensors from outside.
    keeps : bool
        Whether derivatives are taken of the loop, which need the carried values of each step.
    """
    tensors = [each for group in inputs for each in group]
    counts = tuple(map(len, inputs))
    made = _Loop(step, (*counts, 0), length, keeps)  # type: ignore[arg-type]
    given = made.slices(tensors)

    def kept(values: Tensors) -> Tensors:
        results = step(*values) if isinstance(step, GraphModule) else step(values)
        return [*results, *(values[: counts[0]] if keeps else [])]

    if not isinstance(step, GraphModule) or keeps:
        with functorch.down_to(None), old_values.unhooked():
            made.step = compiling.subgraph(kept, list(map(_example, given)))[0]
        if not isinstance(step, GraphModule):
            _needed(made.step)
    results = len(made.step.graph.output_node().args[0]) - counts[0]  # type: ignore[arg-type]
    made.counts = (*counts, results)  # type: ignore[assignment]
    found = _Scan.apply(made, *tensors)
    kept_count = counts[0] if keeps else 0
    return made.parts(found, counts[0], results - kept_count, kept_count)


def scanned(step: control_operators.Step, carry: Sequence[Tensor], xs: Sequence[Tensor], length: int) -> Any:
    """Do a scan forward where `applies`; return None if a step holds an operation without a derivative here."""
    mode, count = _Unwrapping(), len(carry)
    with functorch.down_to(None), mode:

        def flat(tensors: Tensors) -> Tensors:
            after, ys = step(tensors[:count], tensors[count:])
            return [mode.inside(each) for each in [*after, *ys]]

        try:
            examples = [mode.inside(tensor) for tensor in [*carry, *xs]]
            slices = [traces.without_modes(lambda tensor: tensor[0], x) for x in examples[count:]]
            module, outer = compiling.subgraph(flat, [*map(compiling.in_c_order, examples[:count]), *slices])
        except Exception:  # a step that is no graph of its own, as one that writes to what is around it
            return None
    if module.meta["rules"] and _is_followed():
        trace_state.warn(
            f"the {length} steps of a loop are unrolled, each traced and compiled: a loop whose derivative is taken "
            f"can't hold a function with a custom_gradient or custom_jvp, as {module.meta['rules'][0]} calls. "
            "Let torch differentiate the function in loops, or take fewer steps"
        )
    if _has_no_derivative(module) or not _takes_c_order(module):
        return None
    module, drawn = _drawn_before(module, len(examples), length)
    if loop_draws.draws(module):
        return None
    return _looped(length, module, (carry, [*xs, *drawn], mode.outside(outer)), _is_followed())[:2]


def _drawn_before(module: GraphModule, place: int, length: int) -> tuple[GraphModule, Tensors]:
    """Return a step that gets what it draws after ``place`` other inputs, and what all steps draw, in their order.

    In a batch nothing is drawn before: each slice may have its own numbers.
    """
    if is_batched():
        return module, []
    module, drawing = loop_draws.apart(module, place)
    if drawing is None:
        return module, []
    with functorch.down_to(None), torch.no_grad():
        return module, control_operators.scan(lambda carry, xs: ([], list(drawing())), [], [], length)[1]


def counted(step: GraphModule, carry: Sequence[Tensor], around: Sequence[Tensor], length: int) -> Tensors:
    """A loop of a known number of steps, of which a derivative or a batch is taken.

    Raises
    ------
    NotImplementedError
        A step has no derivative here, or draws random numbers in a batch.
    """
    if _has_no_derivative(step):
        raise NotImplementedError(
            "its derivative is taken step by step where a step records a GradientTape, calls for effects, has a "
            "derivative of its own, or loops until a value says so"
        )
    step, drawn = _drawn_before(step, len(carry), length)
    _check_draws(step)
    return _looped(length, step, (carry, drawn, around), _is_followed())[0]


def step_while(test: GraphModule, step: GraphModule, inputs: Sequence[Tensor], carried: int) -> GraphModule:
    """Return a step that leaves the values that it carries, the first inputs, as they are once a test gives false."""

    def masked(values: Tensors) -> Tensors:
        (goes_on,) = test(*values)
        return [selection.where(goes_on, new, old) for new, old in zip(step(*values), values[:carried], strict=True)]

    with functorch.down_to(None), old_values.unhooked():
        made, _ = compiling.subgraph(masked, list(map(_example, inputs)))
    made.meta["rules"] = step.meta["rules"]
    return made


def is_batched() -> bool:
    """Whether a function of one element runs for all of them, in `torch.vmap`."""
    return any(level.key() == functorch.TransformType.Vmap for level in functorch.stack() or ())


def _is_followed() -> bool:
    """Whether a derivative is taken, not a batch alone: it needs what each step of a loop got."""
    return is_taped() or any(level.key() != functorch.TransformType.Vmap for level in functorch.stack() or ())


def is_reversed() -> bool:
    """Whether reverse mode goes through what is done now."""
    return is_taped() or any(level.key() == functorch.TransformType.Grad for level in functorch.stack() or ())


def _is_differentiated_further(ctx: Any, saved: Sequence[Tensor]) -> bool:
    """Whether another derivative is under way beside that of an operation, or a tape around records it."""
    if autodiff.is_recording() and torch.is_grad_enabled():
        return True
    levels = [level.level() for level in functorch.stack() or () if level.key() != functorch.TransformType.Vmap]
    is_over = any(functorch.level_of(each) == functorch.IS_OVER for each in saved)
    return any(is_over or level != ctx.level for level in levels)


class _Scan(torch.autograd.Function):
    """A loop over slices, whose derivatives and batches are such loops again."""

    @staticmethod
    def forward(loop: _Loop, *tensors: Tensor) -> tuple[Tensor, ...]:
        count, along, outer, _ = loop.counts
        carry, xs, around = loop.parts(tensors, count, along, outer)

        def step(values: Tensors, x: Tensors) -> tuple[Tensors, Tensors]:
            results = list(loop.step(*values, *x, *around))
            return results[:count], results[count:]

        values, ys = control_operators.scan(step, carry, xs, loop.length)
        return (*values, *ys)

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        loop, *tensors = inputs
        count = loop.counts[0]
        kept = output[len(output) - count :] if loop.keeps else ()
        ctx.loop, ctx.level = loop, functorch.current_level()
        ctx.floating = [*map(_is_float, output)]
        ctx.save_for_backward(*kept, *tensors[count:])
        ctx.save_for_forward(*kept, *tensors[count:])
        ctx.mark_non_differentiable(*[each for each in output if not _is_float(each)])
        ctx.set_materialize_grads(False)

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        loop = _with_values(ctx)
        count, along, outer, _ = loop.counts
        kept, xs, around = loop.parts(ctx.saved_tensors, count, along, outer)
        inputs = [*kept, *xs, *around]
        given = loop.slices([*[each[0] for each in kept], *xs, *around])
        needed = [index for index, each in enumerate(given) if _is_float(each)]
        needed = [index for index in needed if index < count or ctx.needs_input_grad[index + 1]]
        carried, sliced, summed = loop.parts(
            needed, *[sum(first <= each < last for each in needed) for first, last in _ranges(count, along, outer)]
        )
        rows = [index for index, each in enumerate(gradients) if index >= count and each is not None]
        start = [torch.zeros_like(given[i]) if gradients[i] is None else gradients[i] for i in carried]
        sums = [torch.zeros_like(given[index]) for index in summed]

        def step(tensors: Tensors) -> Tensors:
            along_carry, totals, along_rows, values = loop.parts(
                tensors, len(carried), len(summed), len(rows), len(given)
            )

            primal = loop.primal(values, needed, [*carried, *rows])
            pullback: Any = torch.func.vjp(primal, *[values[index] for index in needed])[1]
            found = dict(zip(needed, pullback((*along_carry, *along_rows)), strict=True))
            more = [total + found[index] for total, index in zip(totals, summed, strict=True)]
            return [*[found[index] for index in carried], *more, *[found[index] for index in sliced]]

        backward = [each.flip(0) for each in [*[gradients[index] for index in rows], *kept, *xs]]
        given_all = ([*start, *sums], backward, around)
        values, stacked, _ = _looped(loop.length, step, given_all, _is_differentiated_further(ctx, inputs))
        flipped = [each.flip(0) for each in stacked]
        found = dict(zip([*carried, *summed, *sliced], [*values, *flipped], strict=True))
        return (None, *[found.get(index) for index in range(len(inputs))])

    @staticmethod
    def jvp(ctx: Any, _: Any, *tangents: Any) -> Any:
        if not any(ctx.floating):
            return (None,) * len(ctx.floating)
        loop = _with_values(ctx)
        count, along, outer, _ = loop.counts
        kept, xs, around = loop.parts(ctx.saved_tensors, count, along, outer)
        given = loop.slices([*[each[0] for each in kept], *xs, *around])
        carried = [index for index in range(count) if _is_float(given[index])]
        sliced, beside = [
            [index for index in range(*each) if _is_float(given[index]) and tangents[index] is not None]
            for each in _ranges(count, along, outer)[1:]
        ]
        start = [torch.zeros_like(given[i]) if tangents[i] is None else tangents[i] for i in carried]
        rows = [index for index, each in enumerate(ctx.floating) if each and index >= count]

        def step(tensors: Tensors) -> Tensors:
            parts = [len(carried), count + along, len(sliced), outer, len(beside)]
            of_carry, values, of_xs, fixed, of_around = loop.parts(tensors, *parts)
            values += fixed
            followed = [*carried, *sliced, *beside]

            primal = loop.primal(values, followed, [*carried, *rows])
            chosen = tuple([values[index] for index in followed])
            return list(torch.func.jvp(primal, chosen, (*of_carry, *of_xs, *of_around))[1])

        sides = [[tangents[index] for index in group] for group in (sliced, beside)]
        given_all = (start, [*kept, *xs, *sides[0]], [*around, *sides[1]])
        values, ys, _ = _looped(loop.length, step, given_all, _is_differentiated_further(ctx, [*kept, *xs, *around]))
        found = dict(zip([*carried, *rows], [*values, *ys], strict=True))
        return tuple([found.get(index) for index in range(len(ctx.floating))])

    @staticmethod
    def vmap(info: Any, in_dims: Any, loop: _Loop, *tensors: Tensor) -> Any:
        _, *dims = in_dims
        (count, along, outer, _), size = loop.counts, info.batch_size
        # What a step takes a slice of has the batch along its second axis.
        places = [0] * count + [1] * along + [0] * outer
        values = [
            each if dim is None else each.movedim(dim, place)
            for each, dim, place in zip(tensors, dims, places, strict=True)
        ]
        differ = [dim is not None for dim in dims]
        given = list(map(_example, loop.slices(values)))
        with functorch.down_to(None), old_values.unhooked():
            while True:  # until a step gives carried values that differ among the slices where it takes such
                step, after = _of_slices(loop.step, given, differ, size)
                more = [one or other for one, other in zip(differ[:count], after, strict=False)] + differ[count:]
                if more == differ:
                    break
                given = _spread_more(given, differ, more, size)
                differ = more

            def spread(given: Tensors) -> Tensors:
                return _spread_more(step(*given), after, [*differ[:count], *after[count:]], size)

            if after[:count] != differ[:count]:
                step = compiling.subgraph(spread, given)[0]
        values = _spread_more(values, [dim is not None for dim in dims], differ, size)
        batched = _Loop(step, loop.counts, loop.length, loop.keeps)
        at = [0 if each else None for each in differ[:count]] + [1 if each else None for each in after[count:]]
        return _Scan.apply(batched, *values), tuple(at)


def _needed(module: GraphModule) -> GraphModule:
    """Return the graph without what no result needs: forward mode checks its tensors, and tries rules for zeros."""
    module.graph.eliminate_dead_code()
    module.recompile()
    return module


def _ranges(*counts: int) -> list[tuple[int, int]]:
    """The first number, and that after the last, of elements in groups."""
    ends = list(itertools.accumulate(counts, initial=0))
    return list(itertools.pairwise(ends))


def _with_values(ctx: Any) -> _Loop:
    """Return the loop of an operation, which kept the values that derivatives need."""
    loop: _Loop = ctx.loop
    if not loop.keeps:
        raise NotImplementedError(
            "a second derivative of a compiled loop by one gradient's backward pass: nest grad in grad instead"
        )
    return loop


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

    @property
    def is_guarded(self) -> bool:
        """Whether the input after those that a loop carries says where the graphs count (`_guarded`)."""
        return all("guarded" in module.meta for module in self.modules)

    def guarded(self, like: Tensor) -> _Graphs:
        """Return the graphs with the input that says where they count, a bool ``like`` another tensor."""
        with functorch.down_to(None):
            example = unwrapped(like).new_empty((), dtype=torch.bool)
        return _Graphs([_guarded(module, self.carried, example) for module in self.modules], self.carried)

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
            return _needed(compiling.subgraph(differentiated, list(map(_example, (*tensors, *given))))[0])


def _example(tensor: Tensor) -> Tensor:
    """Return a tensor in C order like another, below all transforms."""
    return unwrapped(tensor).new_empty(tensor.shape)


def _is_float(tensor: Tensor) -> bool:
    return tensor.is_floating_point() or tensor.is_complex()


class _Steps(torch.fx.Interpreter):
    """A graph whose branches and loops have the derivatives and batches of this module.

    Parameters
    ----------
    module : GraphModule
    seed : Tensor, optional
        A bool for each slice of a batch: what the graph makes and writes to is made for each slice.
    """

    node: Node  # that is being run

    def __init__(self, module: GraphModule, seed: Tensor | None = None) -> None:
        super().__init__(module)
        self.seed = seed
        self.buffers = set() if seed is None else _buffers(module)

    def run_node(self, node: Node) -> Any:
        self.node = node
        result = super().run_node(node)
        return selection.where(self.seed, result, result) if self.seed is not None and node in self.buffers else result

    def call_function(self, target: Any, args: Any, kwargs: Any) -> Any:
        if target is torch.ops.higher_order.cond:
            predicate, first, second, operands = args
            return list(_Branch.apply(_Graphs([first, second]), predicate, *operands))
        if target is torch.ops.higher_order.while_loop:
            test, step, carried, around = args
            steps = loops.known_steps(self.module, self.node) if is_reversed() else None  # type: ignore[arg-type]
            if steps:
                return _looped(steps, step, (carried, [], around), True)[0]
            graphs = _Graphs([graph_copies.of_sequence(test), step], len(carried))
            return list(_While.apply(graphs, *carried, *around))
        if target is torch.ops.higher_order.scan:
            step, carried, xs, around = args
            values, results, _ = _looped(xs[0].shape[0], step, (carried, xs, around), _is_followed())
            return [*values, *results]
        if target is _ASSERT:  # torch has no rule for batches
            return value_checks.demand(*args)
        if target in STEPS and functorch.is_transforming():  # as where it was traced; torch's rule would nest levels
            return STEPS[target](*args)
        if target is torch.ops.aten.index_put_.default:
            is_behind = any(each is None for each in args[1])  # another axis, as that of a batch around this one
            if functorch.batches() + is_behind > 1:
                return put_in_batch(*args)
        return super().call_function(target, args, kwargs)


def _is_told_where(module: GraphModule) -> bool:
    """Whether a graph raises, or loops until a value says so: not for slices of a batch that it is not meant for."""
    graphs = [each.graph for each in module.modules() if isinstance(each, GraphModule)]
    targets = (_ASSERT, torch.ops.higher_order.while_loop, *_INDEXED)
    return any(graph.find_nodes(op="call_function", target=target) for graph in graphs for target in targets)


def _guarded(module: GraphModule, place: int, example: Tensor, is_test: bool = False) -> GraphModule:
    """Return a graph with one input more, a bool at a place: where it is false the graph does not count.

    A batch runs both branches for all its slices, and steps of a loop for those that have ended: there no check
    raises, and no loop goes on.
    """

    def run(values: Tensors) -> Tensors:
        found = list(_Guarded(module, values[place]).run(*values[:place], *values[place + 1 :]))
        return [found[0] & values[place]] if is_test else found

    inputs = [node.meta["val"] for node in module.graph.find_nodes(op="placeholder")]
    inputs.insert(place, example)
    with functorch.down_to(None), old_values.unhooked():
        made, _ = compiling.subgraph(run, inputs)
    made.meta |= {"rules": module.meta.get("rules", []), "guarded": True}
    return made


class _Guarded(torch.fx.Interpreter):
    """Runs a graph so that what it checks and loops until counts only where a bool is true."""

    def __init__(self, module: GraphModule, counts: Tensor) -> None:
        super().__init__(module)
        self.counts = counts

    def call_function(self, target: Any, args: Any, kwargs: Any) -> Any:
        if target is _ASSERT:
            return value_checks.demand(args[0] | ~self.counts, args[1])
        if target is torch.ops.higher_order.cond and any(map(_is_told_where, args[1:3])):
            predicate, first, second, around = args
            first, second = [_guarded(module, 0, self.counts) for module in (first, second)]
            return control_operators.branch(predicate, first, second, [self.counts, *around])
        if target is torch.ops.higher_order.while_loop:
            test, step, carried, around = args
            tested = _guarded(graph_copies.of_sequence(test), len(carried), self.counts, is_test=True)
            made = _guarded(step, len(carried), self.counts)
            return control_operators.loop(tested, made, carried, [self.counts, *around])
        if target is torch.ops.higher_order.scan and _is_told_where(args[0]):
            step, carried, xs, around = args
            made = _guarded(step, len(carried) + len(xs), self.counts)
            return target(made, carried, xs, (self.counts.clone(), *around))
        if target in _INDEXED:
            where, args = _INDEXED[target], list(args)
            args[where] = self._first_elsewhere(args[where])
        return super().call_function(target, args, kwargs)

    def _first_elsewhere(self, places: Any) -> Any:
        """Return places that are zeros where the graph does not count, so that none is out of bounds there."""
        if isinstance(places, (list, tuple)):
            return [self._first_elsewhere(each) for each in places]
        is_place = isinstance(places, Tensor) and places.dtype in (torch.int64, torch.int32)
        return places * self.counts if is_place else places


def _buffers(module: GraphModule) -> set[Node]:
    """Return the operations of a graph that make what the graph writes to."""
    nodes = [node for node in module.graph.nodes if isinstance(node.meta.get("val"), Tensor)]
    memory = {node: storage_of(unwrapped(node.meta["val"])) for node in nodes}
    written = {memory[each] for node in nodes for each in aliasing.targets(node)}
    makers: dict[int, Node] = {}
    for node in nodes:
        makers.setdefault(memory[node], node)
    return {node for storage, node in makers.items() if storage in written and node.op == "call_function"}


def _has_no_derivative(module: GraphModule) -> bool:
    """Whether derivatives are taken of a loop whose step, this graph, holds what has none there."""
    if _is_followed() and (module.meta["rules"] or traces.has_recording(module)):
        return True
    return _calls_again(module) or (is_reversed() and _loops_until(module))


def _loops_until(module: GraphModule) -> bool:
    """Whether a graph has a loop of unknown length, which has no reverse mode."""
    return any(
        loops.known_steps(each, node) is None
        for each in module.modules()
        if isinstance(each, GraphModule)
        for node in each.graph.find_nodes(op="call_function", target=torch.ops.higher_order.while_loop)
    )


def _calls_again(module: GraphModule) -> bool:
    """Whether the loops of more than one gradient would each do the calls that a graph does for their effects."""
    levels = functorch.stack() or ()
    is_one = len(levels) < 2 and all(level.key() == functorch.TransformType.Grad for level in levels)
    return not is_one and host_calls.has_effects(module)


class _Branch(torch.autograd.Function):
    """One of two graphs, chosen by a predicate."""

    @staticmethod
    def forward(graphs: _Graphs, predicate: Tensor, *tensors: Tensor) -> tuple[Tensor, ...]:
        first, second = graphs.modules
        return tuple(control_operators.branch(predicate, first, second, tensors))

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
        if decided is not None and not graphs.is_guarded and any(map(_is_told_where, graphs.modules)):
            graphs, tensors, dims = graphs.guarded(predicate), (torch.ones_like(predicate), *tensors), [decided, *dims]
        moved = _moved(tensors, dims)
        leading = tuple([None if dim is None else 0 for dim in dims])

        def batched(module: GraphModule) -> Callable[..., Tensors]:
            def each(index: Tensor, *some: Tensor) -> tuple[Tensor, ...]:
                return tuple(_Steps(module, index >= 0).run(*some))

            at_once = torch.vmap(each, (0, *leading), randomness="same")
            return lambda some: list(at_once(torch.arange(info.batch_size), *some))

        if decided is not None:  # each slice has its own branch: both are computed
            chosen = predicate.movedim(decided, 0)
            given = [moved, moved]
            if graphs.is_guarded:
                (counts,), rest = _spread_more(moved[:1], [leading[0] == 0], [True], info.batch_size), moved[1:]
                given = [[counts & _along(where, counts), *rest] for where in (chosen, ~chosen)]
                leading = (0, *leading[1:])
            first, second = [batched(module)(some) for module, some in zip(graphs.modules, given, strict=True)]
            results = [selection.where(_along(chosen, a), a, b) for a, b in zip(first, second, strict=True)]
        else:
            with functorch.down_to(None):
                examples = list(map(_example, moved))
                modules = [compiling.subgraph(batched(module), examples)[0] for module in graphs.modules]
            for module in modules if graphs.is_guarded else ():
                module.meta["guarded"] = True
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


class HeldError(trace_state.OfTracing, NotImplementedError):
    """A branch or a loop whose derivative is taken holds what has none there."""


def prepare(module: GraphModule) -> None:
    """Let a graph take its inputs in C order; raise HeldError for what has no derivative in a branch or a loop."""
    where = f"{trace_state.user_line()}: a branch or a loop whose derivative is taken can't hold"
    if traces.has_recording(module):
        raise HeldError(f"{where} a GradientTape: use tnp.grad there instead of the tape")
    if not _takes_c_order(module):
        raise HeldError(f"{where} a view by its strides of a part of another array: copy this array before")
    if module.meta["rules"]:
        raise HeldError(
            f"{where} a function with a custom_gradient or custom_jvp, as {module.meta['rules'][0]} calls: call it "
            "outside, and choose by tnp.where"
        )


def _takes_c_order(module: GraphModule) -> bool:
    """Whether a graph takes its inputs in C order, as derivatives and batches give them; let it do so if it can.

    A view may be given by its place in memory. What is computed of an input has the order of its axes, so the input
    gets that of the trace. A place in the memory of the input itself, which has gaps, is no longer known.
    """
    graph = module.graph
    found = graph.find_nodes(op="call_function", target=torch.ops.aten.as_strided.default)
    places = {storage_of(unwrapped(node.args[0].meta["val"])) for node in found}
    for node in graph.find_nodes(op="placeholder") if found else []:
        value = node.meta["val"]
        if storage_of(unwrapped(value)) in places and (value.storage_offset() or not aliasing.is_dense(value)):
            return False
        axes = memory_axes(value)
        if axes != tuple(range(value.dim())):
            _turn(node, axes)
    if found:
        module.recompile()
    return True


def _turn(node: Node, axes: Sequence[int]) -> None:
    """Let an input of a graph be in C order, and what the graph computes of it in the order of these axes."""
    graph, users, value = node.graph, list(node.users), node.meta["val"]
    node.meta["val"] = compiling.of_size(unwrapped(value), value.size())
    with graph.inserting_before(node.next):
        moved = graph.call_function(torch.ops.aten.permute.default, (node, list(axes)))
        copied = graph.call_function(torch.ops.aten.clone.default, (moved,), {"memory_format": torch.contiguous_format})
        again = graph.call_function(torch.ops.aten.permute.default, (copied, list(inverse(axes))))
    moved.meta["val"] = traces.without_modes(lambda tensor: tensor.permute(list(axes)), node.meta["val"])
    copied.meta["val"] = compiling.of_size(node.meta["val"], moved.meta["val"].size())
    again.meta["val"] = value
    for user in users:
        user.replace_input_with(node, again)


def _check_draws(module: GraphModule) -> None:
    """Raise HeldError for draws that can't be made before: a derivative would draw others."""
    if loop_draws.draws(module):
        raise HeldError(
            f"{trace_state.user_line()}: a branch or a loop whose derivative is taken can't draw random numbers whose "
            "parameters it computes, nor in a loop without a bound: draw before, or give while_loop maximum_iterations"
        )


def _captured(functions: Sequence[Callable[[Tensors], Tensors]], examples: Sequence[Tensor]) -> Any:
    """Graphs of functions, and what they read from around, as the transforms have wrapped it.

    Returns None in a batch that refuses: the function runs for each of its elements then.
    """
    try:
        outer, modules = compiling.aligned([captured(each, examples) for each in functions])
    except NotImplementedError as error:
        if isinstance(error, HeldError) and not is_batched():
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
    # Without gradients: a write would become a part of what a tape around the transforms has recorded of the tensor.
    with functorch.down_to(None), torch.no_grad(), mode, block():
        given = [compiling.in_c_order(mode.inside(each)) for each in examples]
        written: Tensors | None = None if writes is None else []
        module, outer = compiling.subgraph(
            lambda values: [mode.inside(each) for each in function(values)], given, writes=written
        )
    prepare(module)
    if writes is not None:
        writes += mode.outside(written or ())
    return module, mode.outside(outer)


def branch_of(predicate: Tensor, first: GraphModule, second: GraphModule, around: Sequence[Tensor]) -> Tensors:
    """A branch of which derivatives or a batch are taken."""
    prepare(first)
    prepare(second)
    # In a batch nothing is drawn before: each slice may have its own numbers.
    modules, drawings = ([first, second], []) if is_batched() else loop_draws.branches_apart([first, second])
    for module in modules:
        _check_draws(module)
    with functorch.down_to(None), torch.no_grad():
        drawn = [each for drawing in drawings for each in drawing()]
    return list(_Branch.apply(_Graphs(modules), predicate, *_own(around), *drawn))


def loop_of(test: GraphModule, step: GraphModule, carry: Sequence[Tensor], around: Sequence[Tensor]) -> Tensors:
    """A loop of which derivatives are taken."""
    prepare(step)
    for module in (test, step):
        _check_draws(module)
    return list(_While.apply(_Graphs([test, step], len(carry)), *carry, *_own(around)))


def _own(tensors: Sequence[Tensor]) -> Tensors:
    return [each if functorch.is_wrapped(each) else each.clone() for each in tensors]


def branched(predicate: Tensor, true: Callable[[], Tensors], false: Callable[[], Tensors]) -> Tensors | None:
    """Do a branch under derivatives; return None if a function holds an operation without a derivative here."""
    found = _captured([lambda _: true(), lambda _: false()], [])
    if found is None:
        return None
    (first, second), around = found
    return _unless_held(lambda: branch_of(predicate, first, second, around))


def _unless_held(run: Callable[[], Tensors]) -> Tensors | None:
    """Return the result of ``run()``; None in a batch that can't have it: the function runs for each element then."""
    try:
        return run()
    except HeldError:
        if not is_batched():
            raise
        return None


class _While(torch.autograd.Function):
    """A loop of which forward mode carries the tangents along."""

    @staticmethod
    def forward(graphs: _Graphs, *tensors: Tensor) -> tuple[Tensor, ...]:
        test, step = graphs.modules
        return tuple(control_operators.loop(test, step, tensors[: graphs.carried], tensors[graphs.carried :]))

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
        size, carried = info.batch_size, graphs.carried
        if not graphs.is_guarded and any(map(_is_told_where, graphs.modules)):
            counts = torch.ones((), dtype=torch.bool, device=tensors[0].device)
            graphs, tensors = graphs.guarded(tensors[0]), (*tensors[:carried], counts, *tensors[carried:])
            dims.insert(carried, None)
        is_guarded, (test, step) = graphs.is_guarded, graphs.modules
        values = _moved(tensors, dims)
        differ = [dim is not None for dim in dims]
        given = list(map(_example, values))
        with functorch.down_to(None):
            while True:  # until the values that a step gives differ among slices where those that it takes do
                tested, (apart,) = _of_slices(test, given, differ, size)
                if apart and is_guarded and not differ[carried]:  # a step counts for the slices that have not ended
                    within = [index == carried or each for index, each in enumerate(differ)]
                    given, differ = _spread_more(given, differ, within, size), within
                    continue
                stepped, after = _of_slices(step, given, differ, size)
                more = [one or apart or other for one, other in zip(differ, after, strict=False)] + differ[carried:]
                if more == differ:
                    break
                given = _spread_more(given, differ, more, size)
                differ = more

            def goes_on(given: Tensors) -> Tensors:
                (found,) = tested(*given)
                return [found.any() if apart else found]

            def following(given: Tensors) -> Tensors:
                if not apart:
                    return _spread_more(stepped(*given), after, differ[:carried], size)
                (going,) = tested(*given)
                taken = list(given)
                if is_guarded:
                    taken[carried] = taken[carried] & _along(going, taken[carried])
                found = _spread_more(stepped(*taken), after, differ[:carried], size)
                return [selection.where(_along(going, new), new, old) for new, old in zip(found, given, strict=False)]

            modules = [compiling.subgraph(each, given)[0] for each in (goes_on, following)]
            for module in modules if is_guarded else ():
                module.meta["guarded"] = True
        values = _spread_more(values, [dim is not None for dim in dims], differ, size)
        results = _While.apply(_Graphs(modules, carried), *values)
        return results, tuple([0 if each else None for each in differ[:carried]])


def _moved(tensors: Sequence[Tensor], dims: Sequence[int | None]) -> Tensors:
    """Return tensors in C order with the slices of a batch along their first dimensions."""
    pairs = zip(tensors, dims, strict=True)
    return [(each if dim is None else each.movedim(dim, 0)).contiguous() for each, dim in pairs]


def _spread_more(tensors: Sequence[Tensor], differ: Sequence[bool], more: Sequence[bool], size: int) -> Tensors:
    """Return the tensors with a copy for each slice of those that ``more``, and not ``differ``, says to have one."""
    return [
        each.expand(size, *each.shape).contiguous() if new and not old else each
        for each, old, new in zip(tensors, differ, more, strict=True)
    ]


def _along(chosen: Tensor, other: Tensor) -> Tensor:
    """Return one value for each slice, to be broadcast with the slices."""
    return chosen.reshape((-1,) + (1,) * (other.dim() - 1))


def _of_slices(
    module: GraphModule, values: Sequence[Tensor], differ: Sequence[bool], size: int
) -> tuple[GraphModule, list[bool]]:
    """Return a graph for all slices of the values that differ, and which of its results do."""
    apart: list[bool] = []
    device = next((value.device for value in values), None)

    def run(given: Tensors) -> Tensors:
        same: Tensors = []

        def each(level: int, seed: Tensor, *slices: Tensor) -> Tensors:
            results = list(_Steps(module, seed).run(*slices))
            apart[:] = [functorch.is_batched(result) and functorch.level_of(result) == level for result in results]
            same[:] = [result for result, is_apart in zip(results, apart, strict=True) if not is_apart]
            return [result for result, is_apart in zip(results, apart, strict=True) if is_apart]

        seed = torch.zeros(size, dtype=torch.bool, device=device)
        dims = [0, *[0 if each else None for each in differ]]
        found = iter(transform_levels.vmap(each, [seed, *given], dims, size, "same"))
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
    return _unless_held(lambda: loop_of(test, step, carry, around))


def pushed(
    function: Callable[..., Sequence[Tensor]], tensors: Sequence[Tensor], tangents: Sequence[Tensor]
) -> tuple[Tensors, Tensors]:
    """Return the results of a traced function and their derivatives along tangents, by the graph of these.

    Forward mode of forward mode differentiates the operations of that graph.
    """
    module, around = captured(lambda values: list(function(*values)), tensors)
    module, drawing = loop_draws.apart(module)
    _check_draws(module)
    with functorch.down_to(None), torch.no_grad():
        around = [*around, *(drawing() if drawing is not None else [])]
    inputs = [each.contiguous() for each in (*tensors, *around)]
    along = [each.contiguous() for each in _tangents(inputs, [*tangents, *[None] * len(around)])]
    with functorch.down_to(None):
        derived = _Graphs([]).derived(module, inputs, along, True)
    found = list(_Steps(derived).run(*inputs, *along))
    count = len(module.graph.output_node().args[0])  # type: ignore[arg-type]
    return found[:count], found[count:]


autodiff.by_graph = pushed
