"""Reverse mode through a loop that is traced: the loop again, backwards.

Layer: owns the derivative of ``scan``. The loop forward keeps what each step got; the loop backward goes through that
with the derivative of one step. Where it does not apply the loop unrolls, as it does for other transforms.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch.fx import GraphModule
from torch.overrides import TorchFunctionMode

from backend_torch.graphs import compiling, loops
from backend_torch.tensors import trace_state
from backend_torch.torch_private import functorch, trees

Tensor = torch.Tensor
Tensors = list[Tensor]
Step = Callable[[Tensors, Tensors], tuple[Tensors, Tensors]]
Scan = Callable[[Step, Sequence[Tensor], Sequence[Tensor], int, bool], tuple[Tensors, Tensors]]
_FEWEST = 16  # steps; fewer are unrolled, and fuse


class _Unwrapping(TorchFunctionMode):
    """A step's operations on the tensors that a transform has wrapped, without the transform."""

    def __init__(self) -> None:
        super().__init__()
        self.wrapped: dict[int, tuple[Tensor, Tensor]] = {}  # of the tensor inside: that tensor, and the wrapped one

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        args, kwargs = trees.map_only(Tensor, self.inside, (args, kwargs or {}))
        return func(*args, **kwargs)

    def inside(self, tensor: Tensor) -> Tensor:
        if not functorch.is_wrapped(tensor):
            return tensor
        inside = functorch.get_unwrapped(tensor)
        self.wrapped.setdefault(id(inside), (inside, tensor))
        return inside


def applies(length: int) -> bool:
    """Whether one gradient is being taken, in a trace, of a loop that is long enough."""
    levels = functorch.stack()
    if length < _FEWEST or not levels or len(levels) != 1 or functorch.is_disabled():
        return False
    return trace_state.is_tracing() and levels[0].key() == functorch.TransformType.Grad


@dataclass(eq=False)
class _Loop:
    """A loop of which a derivative is taken.

    Attributes
    ----------
    step : GraphModule
        Of the carried values, a slice, and tensors from around; gives the next carried values and a result.
    counts : tuple of int
        How many of them there are: carried values, slices, tensors from around, and results.
    floating : list of bool
        Whether what a step gives is of a floating dtype: the next carried values, and the results.
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
    """``scan`` forward where `applies`; None if a step holds what has no derivative here."""
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
    if loops.has_control_flow(module):
        return None
    around = [mode.wrapped.get(id(tensor), (tensor, tensor))[1] for tensor in outer]
    results = len(floating) - count
    loop = _Loop(scan, module, (count, len(xs), len(outer), results), floating, length)
    given = _Forward.apply(loop, *carry, *xs, *around)
    values, ys, _ = loop.parts(given, count, results, count)
    return values, ys


class _Forward(torch.autograd.Function):
    """The loop, which also gives what each step got."""

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


class _Backward(torch.autograd.Function):
    """The gradients of what the loop got."""

    generate_vmap_rule = True

    @staticmethod
    def forward(loop: _Loop, *tensors: Tensor) -> tuple[Tensor | None, ...]:
        count, along, outer, results = loop.counts
        of_carry, of_ys, kept, xs, around = loop.parts(tensors, count, results, count, along, outer)
        inputs = [*[x[0] for x in [*kept, *xs]], *around]
        followed = [index for index, each in enumerate(inputs) if each.is_floating_point()]
        outputs = [index for index, is_float in enumerate(loop.floating) if is_float]
        carried = [index for index in followed if index < count]
        summed = [index for index in followed if index >= count + along]
        sliced = [index for index in followed if count <= index < count + along]
        rows = [of_ys[index - count] for index in outputs if index >= count]

        def step(values: Tensors, x: Tensors) -> tuple[Tensors, Tensors]:
            gradients, sums = values[: len(carried)], values[len(carried) :]
            rest = x[len(rows) :]
            given = [*rest, *around]

            def primal(*some: Tensor) -> tuple[Tensor, ...]:
                filled = list(given)
                for index, each in zip(followed, some, strict=True):
                    filled[index] = each
                results = loop.step(*filled)
                return tuple([results[index] for index in outputs])

            _, pullback, *_ = torch.func.vjp(primal, *[given[index] for index in followed])
            found = dict(zip(followed, pullback((*gradients, *x[: len(rows)])), strict=True))
            more = [total + found[index] for total, index in zip(sums, summed, strict=True)]
            return [*[found[index] for index in carried], *more], [found[index] for index in sliced]

        start = [*[of_carry[index] for index in carried], *[torch.zeros_like(inputs[index]) for index in summed]]
        values, stacked = loop.scan(step, start, [*rows, *kept, *xs], loop.length, True)
        found = dict(zip([*carried, *summed, *sliced], [*values, *stacked], strict=True))
        return tuple([found.get(index) for index in range(count + along + outer)])

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        pass

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        raise NotImplementedError(
            "a second derivative of a compiled loop by one gradient's backward pass: nest grad in grad instead"
        )
