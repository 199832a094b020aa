"""Masks without known values: they differ between the slices of a batch, or exist only when a graph runs.

Layer: owns what is known of such a mask, and writes results, computed for all elements, to those that it chooses.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import torch

from backend_torch.autodiff import transform_levels
from backend_torch.autodiff.autodiff import is_differentiable, may_be_differentiated
from backend_torch.kernels.indexing import Plan, flipped, view_of
from backend_torch.kernels.selection import where
from backend_torch.tensors import memory, trace_state
from backend_torch.tensors.aliasing import written
from backend_torch.tensors.shape import broadcasts
from backend_torch.torch_private import functorch, traces
from backend_torch.torch_private.operators import schema_of
from backend_torch.torch_private.tensor_internals import storage_of

Tensor = torch.Tensor


class Chosen(NamedTuple):
    """A selection by a mask: all elements, and the mask with its dimensions."""

    values: Tensor
    mask: Tensor
    after: int
    """How many dimensions of the values come after those that the mask chooses from."""
    line: str = ""
    """The file and line of the selection, in a trace."""

    @property
    def broadcast_mask(self) -> Tensor:
        """Return the mask with an axis of length one for each dimension after its own."""
        return _behind(self.mask, self.after)


def _behind(mask: Tensor, after: int) -> Tensor:
    return mask.reshape(*mask.shape, *[1] * after) if after else mask


def is_unknown(mask: Tensor) -> bool:
    """Whether a mask's, or another tensor's, values are unknown."""
    state = trace_state.state
    if not (state.batches or state.depth) or torch.compiler.is_compiling():  # Dynamo has rules of its own
        return False
    while functorch.is_wrapped(mask):
        if functorch.is_batched(mask):
            return True
        mask = functorch.get_unwrapped(mask)
    return state.depth > 0 and not memory.is_known(mask)


def unknown_error(chosen: Chosen) -> Exception:
    """Return the error for a request of the number of elements that such a mask chooses."""
    if trace_state.is_tracing():
        error = trace_state.shape_error("a boolean index")
        return error.because("how many elements a boolean index selects depends on values", chosen.line)
    return trace_state.noted(
        RuntimeError("how many elements a boolean index selects differs among those that are being batched")
    )


def choose(tensor: Tensor, plan: Plan) -> Chosen | None:
    """Return the selection by an index of one such mask, a copy; None for any other index."""
    mask = plan.lone_mask
    if mask is None or not is_unknown(mask):
        return None
    view = flipped(view_of(tensor, plan), plan)
    after = view.dim() - plan.position - mask.dim()
    line = trace_state.user_line() if trace_state.is_tracing() else ""
    return Chosen(guarded(view, _behind(mask, after)), mask.clone(), after, line)


def guarded(values: Tensor, mask: Tensor) -> Tensor:
    """Return a copy, at least as large as the mask, whose gradients flow only to the elements that the mask chooses.

    Results for the other elements are not used, and may have no derivative: otherwise a NaN would reach their sources.
    """
    differentiable = is_differentiable(values) and may_be_differentiated(values)
    return where(mask, values, values.detach() if differentiable else values)


def beside(tensor: Tensor, chosen: Chosen) -> Tensor | None:
    """Return an operand as one for all elements; None if its length is the unknown number of chosen elements."""
    own = tensor.dim() - chosen.after
    if own > 0:
        if tensor.shape[own - 1] != 1 or own > chosen.values.dim() - chosen.after - chosen.mask.dim() + 1:
            return None
        tensor = tensor.reshape(*tensor.shape[: own - 1], *[1] * chosen.mask.dim(), *tensor.shape[own:])
    return computed_where(tensor, chosen.broadcast_mask)


def computed_where(tensor: Tensor, mask: Tensor) -> Tensor:
    """Return an operand of a computation for all elements, without gradients where the mask is false."""
    return guarded(tensor, mask) if is_differentiable(tensor) and may_be_differentiated(tensor) else tensor


def are_equal(one: Tensor, other: Tensor) -> bool:
    """Whether two masks are known to choose the same elements; both are copies, to which nothing is written."""
    if one is other:
        return True
    if one.shape != other.shape:
        return False
    if trace_state.is_tracing():
        return _are_recorded_alike(one, other)
    return transform_levels.is_true_throughout(one == other)


def has_any(mask: Tensor) -> bool:
    """Whether the mask is known to choose at least one element, in each slice."""
    return not trace_state.is_tracing() and transform_levels.is_true_throughout(mask.any())


def put(tensor: Tensor, plan: Plan, chosen: Chosen) -> bool:
    """Write results for chosen elements, of the tensor's dtype, to the elements that ``plan`` selects.

    Return whether it was possible: the index has to be one mask, known to be the same.
    """
    mask, values = plan.lone_mask, chosen.values
    if mask is None:
        return False
    mask, view = mask.clone(), view_of(tensor, plan)
    after = view.dim() - plan.position - mask.dim()
    if after != chosen.after or not broadcasts(values.shape, view.shape) or not are_equal(chosen.mask, mask):
        return False
    view.copy_(flipped(where(_behind(mask, after), values.expand(view.shape), flipped(view, plan)), plan))
    return True


# Masks of a trace are the same if equal operations made them of the same operands, without a write in between.


def _are_recorded_alike(one: Tensor, other: Tensor) -> bool:
    while functorch.is_wrapped(one) and functorch.is_wrapped(other):
        if functorch.is_batched(one) is not functorch.is_batched(other):
            return False
        if functorch.is_batched(one) and functorch.batched_dim(one) != functorch.batched_dim(other):
            return False
        if functorch.level_of(one) != functorch.level_of(other):
            return False
        one, other = functorch.get_unwrapped(one), functorch.get_unwrapped(other)
    node, other_node = traces.node_of(one), traces.node_of(other)
    twice: set[Any] = set()
    if node is None or not _are_alike(node, other_node, twice):
        return False
    used: set[int] = set()
    for each in node.graph.nodes:
        schema = schema_of(each.target)
        if used and schema is not None and schema.is_mutable:
            args, kwargs = torch.fx.node.map_arg((each.args, each.kwargs), lambda made: made.meta.get("val"))
            if not used.isdisjoint(map(storage_of, written(schema, args, kwargs, Tensor))):
                return False
        if each in twice:  # what it reads, and what it makes
            values = (made.meta.get("val") for made in (each, *each.all_input_nodes))
            used.update(storage_of(value) for value in values if isinstance(value, Tensor))
            twice.remove(each)
            if not twice:
                break
    return True


def _are_alike(one: Any, other: Any, twice: set[Any]) -> bool:
    """Whether two arguments of operations are the same; ``twice`` gets the operations that each of them has made."""
    if isinstance(one, torch.fx.Node):
        if not isinstance(other, torch.fx.Node):
            return False
        if one is other or (one.op == other.op == "get_attr" and one.target == other.target):
            return True
        twice |= {one, other}
        tags = getattr(one.target, "tags", None)
        if one.target is not other.target or tags is None or torch.Tag.nondeterministic_seeded in tags:
            return False
        return _are_alike((one.args, one.kwargs), (other.args, other.kwargs), twice)
    if isinstance(one, (tuple, list)):
        return (
            type(one) is type(other)
            and len(one) == len(other)
            and all(_are_alike(*pair, twice) for pair in zip(one, other, strict=True))
        )
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(_are_alike(one[name], other[name], twice) for name in one)
    return type(one) is type(other) and bool(one == other)
