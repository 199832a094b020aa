"""Indexing: reading and writing the elements that an index selects.

Layer: owns what torch's indexing lacks or leaves undefined: negative steps, the dimension of the index arrays in the
result, the check of bounds before a write, the order of repeated writes, and uint16, uint32 and uint64. The caller
parses a Python key into a `Plan`, in torch's terms.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from torch.fx import GraphModule, Node

from backend_torch.autodiff import transform_levels
from backend_torch.kernels import graph_operations, host
from backend_torch.kernels.value_checks import MISCOUNTED, demand
from backend_torch.tensors import devices, memory, trace_state
from backend_torch.tensors.dtypes import SIGNED
from backend_torch.tensors.memory import (
    brought,
    copied,
    is_readable,
    is_sharded,
    may_overlap,
    mixed_error,
    sliced,
    with_history,
)
from backend_torch.tensors.shape import flip
from backend_torch.torch_private import functorch
from backend_torch.torch_private.functorch import is_transforming

Tensor = torch.Tensor
aten = torch.ops.aten
_gather = aten.index.Tensor

# One thread writes fewer elements than this: torch's own threshold is 3000 (IndexKernelUtils.h).
_ONE_THREAD = 2048
_FEW = 64
_SPARSE = 64  # a table of all elements is slower than sorting so many times fewer places


class Plan(NamedTuple):
    """How a key selects a tensor's elements: first a view, then the elements of the view that index arrays select."""

    view: tuple[int | slice | None, ...]
    """torch's own basic index; steps are positive. Empty for the tensor itself."""
    flips: tuple[int, ...] = ()
    """Dimensions of the view that a negative step reverses."""
    arrays: tuple[Tensor, ...] = ()
    """Index arrays, int64 or bool; a bool array stands for as many dimensions as it has."""
    dims: tuple[int, ...] = ()
    """The (first) dimension of the view that each index array picks from."""
    position: int = 0
    """The dimension of the result where those of the broadcast index arrays begin."""
    axes: tuple[int, ...] = ()
    """The (first) dimension of the tensor that each index array picks from."""
    is_element: bool = False
    """Whether the key is one integer an axis and nothing else, and so selects a scalar."""
    is_mask: bool = False
    """Whether the key is one bool array for all axes and nothing else."""
    is_view: bool = True
    """Whether NumPy makes a view: the index arrays are integers of a trace or a batch, which NumPy has as numbers."""

    def get(self, tensor: Tensor) -> Tensor:
        """Return the selected elements, which may be a copy."""
        return get(tensor, self)

    def put(self, tensor: Tensor, values: Tensor) -> None:
        """Write values of the selection's shape and the tensor's dtype."""
        put(tensor, self, values)

    @property
    def lone_mask(self) -> Tensor | None:
        """The only index array, if it is a bool array and the result has its elements where the view has them."""
        if len(self.arrays) != 1 or self.dims[0] != self.position or self.arrays[0].dtype is not torch.bool:
            return None
        return self.arrays[0]


class Picks(NamedTuple):
    """A plan's index arrays, with bool arrays turned into integers: one array for each dimension."""

    arrays: tuple[Tensor, ...]
    dims: tuple[int, ...]
    rest: tuple[int, ...]
    """The dimensions that no array picks from."""
    shape: tuple[int, ...]
    """What the arrays broadcast to."""


def has_values(tensor: Tensor) -> bool:
    """Whether the tensor's values are known now, and not only when a traced function runs."""
    return not trace_state.is_tracing() and not torch.compiler.is_compiling() and is_readable(tensor)


def is_counted(mask: Tensor) -> bool:
    """Whether `count_true` is known: the mask has values, or is Python's own data in a trace."""
    return has_values(mask) or (trace_state.is_tracing() and memory.known(mask) is not None)


def count_true(mask: Tensor) -> int:
    """Count the true elements of a bool tensor."""
    values = memory.known(mask) if trace_state.is_tracing() else None
    return int(torch.count_nonzero(mask)) if values is None else int(np.count_nonzero(values))


def has_shape(plan: Plan) -> bool:
    """Whether `array_shapes` is known."""
    return all(array.dtype is not torch.bool or is_counted(array) for array in plan.arrays)


def same_width(tensor: Tensor) -> Tensor:
    """Return a tensor in a dtype with indexing kernels: itself, or its bits as signed integers."""
    signed = SIGNED.get(tensor.dtype)
    return tensor if signed is None else tensor.view(signed)


def on_bits(function: Callable[..., Tensor], tensor: Tensor, *arguments: Any) -> Tensor:
    """Call ``function``, which only moves elements, on a tensor whose dtype may lack a kernel."""
    if tensor.dtype in SIGNED:
        return function(same_width(tensor), *arguments).view(tensor.dtype)
    return function(tensor, *arguments)


def view_of(tensor: Tensor, plan: Plan) -> Tensor:
    """Return the view from which the index arrays select."""
    return sliced(tensor, plan.view) if plan.view else tensor


def flipped(view: Tensor, plan: Plan) -> Tensor:
    """Return the view, copied in the order of its negative steps if it has any."""
    return flip(view, plan.flips) if plan.flips else view


def get(tensor: Tensor, plan: Plan) -> Tensor:
    """Return the elements that ``plan`` selects: a view for a basic index, but a copy if a step is negative.

    Raises
    ------
    IndexError, RuntimeError
        torch's own, where an index array is out of bounds or the arrays do not broadcast.
    """
    view = flipped(view_of(tensor, plan), plan)
    if not plan.arrays:
        return view
    picks = _picks(view, plan)
    return _get(view, picks, plan.position)


def pick(tensor: Tensor, dim: int, array: Tensor) -> Tensor:
    """Replace dimension ``dim`` of ``tensor`` by those of an integer array that selects from it."""
    return on_bits(_gather, tensor, [None] * dim + [array])


def _get(view: Tensor, picks: Picks, position: int) -> Tensor:
    dims = picks.dims
    if dims == tuple(range(position, position + len(dims))):
        return on_bits(_gather, view, [*[None] * position, *picks.arrays])
    result = on_bits(_gather, view.permute(*dims, *picks.rest), list(picks.arrays))
    return result.permute(_inverse_order(len(picks.shape), len(picks.rest), position))


def _inverse_order(broadcast: int, rest: int, position: int) -> list[int]:
    """Return the permutation that moves the leading ``broadcast`` dimensions to ``position``."""
    others = range(broadcast, broadcast + rest)
    return [*others[:position], *range(broadcast), *others[position:]]


def places(mask: Tensor) -> Tensor:
    """Return the indices of the elements that are not zero, one in each row. CUDA's kernel takes 16 dimensions."""
    if mask.is_meta:
        raise NotImplementedError("how many elements are selected depends on values, which the meta device has not")
    if mask.dim() <= 16 or mask.is_cpu:
        return torch.nonzero(mask)
    return torch.stack(torch.unravel_index(torch.nonzero(mask.reshape(-1))[:, 0], mask.shape), 1)


def _picks(view: Tensor, plan: Plan) -> Picks:
    arrays: list[Tensor] = []
    dims: list[int] = []
    for array, dim in zip(plan.arrays, plan.dims, strict=True):
        if array.dtype is torch.bool:
            arrays.extend(places(array).unbind(1))
            dims.extend(range(dim, dim + array.dim()))
        else:
            arrays.append(array)
            dims.append(dim)
    rest = tuple([dim for dim in range(view.dim()) if dim not in dims])
    shapes = [array.shape for array in arrays]
    shape = shapes[0] if shapes.count(shapes[0]) == len(shapes) else torch.broadcast_shapes(*shapes)
    return Picks(tuple(arrays), tuple(dims), rest, tuple(shape))


def shape(tensor: Tensor, plan: Plan) -> tuple[int, ...]:
    """Return the shape of the selection."""
    view = view_of(tensor, plan)
    if not plan.arrays:
        return tuple(view.shape)
    picks = _picks(view, plan)
    rest = [view.shape[dim] for dim in picks.rest]
    return (*rest[: plan.position], *picks.shape, *rest[plan.position :])


def array_shapes(plan: Plan) -> list[tuple[int, ...]]:
    """Return the index arrays' shapes before broadcasting; a bool array counts as its true elements' indices."""
    shapes: list[tuple[int, ...]] = []
    for array in plan.arrays:
        if array.dtype is torch.bool:
            shapes.extend([(count_true(array),)] * array.dim())
        else:
            shapes.append(tuple(array.shape))
    return shapes


def out_of_bounds(tensor: Tensor, plan: Plan) -> tuple[int, int] | None:
    """Return the first index array with a value out of bounds, and that value; None if there is none, or none is known.

    This check comes first: on an accelerator an index out of bounds makes the device unusable for the process, and the
    CPU has written some elements before it raises. The check costs one reduction for each array.
    """
    view = view_of(tensor, plan)
    for number, (array, dim) in enumerate(zip(plan.arrays, plan.dims, strict=True)):
        if array.dtype is not torch.bool:
            bad = outside(array, -view.shape[dim], view.shape[dim])
            # As in NumPy, index arrays that broadcast to nothing are not checked; a 0-d one is like an integer.
            if bad is not None and not (array.dim() and any(0 in each for each in array_shapes(plan))):
                return number, bad
    return None


def outside(array: Tensor, low: int, high: int, text: str = "") -> int | None:
    """Return an element outside of ``[low, high)``; None if there is none.

    Elements without known values are not checked; if there is a ``text``, a graph checks them and raises with it.
    """
    if not array.numel():
        return None
    if not has_values(array):
        values = transform_levels.seen(array)
        if values is None and not array.is_cpu and memory.is_readable(below := memory.unwrapped(array)):  # in a batch
            with transform_levels.unseen():
                values = memory.to_numpy(memory.to_host(below))
            if ((values < low) | (values >= high)).any():
                trace_state.noted(IndexError())
        if values is None:
            if text:
                demand((array >= low) & (array < high), text)
            return None
        bad = values[(values < low) | (values >= high)]
        return int(bad[0]) if bad.size else None
    smallest, largest = torch.aminmax(array)
    if smallest.item() >= low and largest.item() < high:
        return None
    return int(array[(array < low) | (array >= high)][0])


def from_start(array: Tensor, size: int) -> Tensor:
    """Count negative indices from the end; return the array itself if it is known to have none."""
    if array.numel() and has_values(array) and array.is_cpu and array.min().item() >= 0:
        return array
    return torch.where(array < 0, array + size, array)


def assign(view: Tensor, value: Tensor) -> None:
    """Write ``value``, broadcast, to all of ``view``, as if it had been copied before.

    torch detects overlap of dense tensors only (https://github.com/pytorch/pytorch/issues/60010), and silently copies
    between devices.

    Raises
    ------
    ValueError
        The two are on different devices, and the value is not a scalar.
    """
    if value.dim():
        if value.device != view.device:
            raise devices.mixed(view.device, value.device)
    elif value.is_cpu and not view.is_cpu:  # a copy would take as many numbers to the device as the view has elements
        if not is_sharded(view):
            view.fill_(value)
            return
        value = brought(value, view)  # DTensor has no rule for fill_ by a tensor
    if value.dim() and _may_overlap(view, value):
        if has_values(view) and has_values(value) and view.dtype is value.dtype and view.is_set_to(value):
            return  # x[1:5] += 1 ends with x[1:5] = x[1:5]
        value = copied(value)
    elif trace_state.is_tracing() and memory.same_storage(view, value):
        value = value.clone()  # the copy below would fail when the graph runs
    try:
        view.copy_(value)
    except RuntimeError:
        if value.dim() and is_sharded(view) != is_sharded(value):
            raise mixed_error(view, value) from None
        if value.dim():
            with_history(view).copy_(value)
        else:
            with_history(view).copy_(value.clone())  # torch refuses one of the view's own elements as a conflict


def _may_overlap(one: Tensor, other: Tensor) -> bool:
    return torch.compiler.is_compiling() or may_overlap(one, other)


def without_leading_ones(value: Tensor, ndim: int) -> Tensor:
    """Drop leading dimensions of length one beyond ``ndim``, which assignment ignores."""
    while value.dim() > ndim and value.shape[0] == 1:
        value = value[0]
    return value


def picked_value(value: Tensor, ndim: int) -> Tensor:
    """Drop leading dimensions that assignment through index arrays ignores: all, if what is left has no elements."""
    last = value.shape[max(0, value.dim() - ndim) :]
    return value.reshape(last) if 0 in last else without_leading_ones(value, ndim)


def put(tensor: Tensor, plan: Plan, value: Tensor) -> None:
    """Write ``value``, of the tensor's dtype, broadcast to the selection. The last of repeated writes stays.

    The index arrays are within bounds: see `out_of_bounds`.

    Raises
    ------
    RuntimeError
        ``value`` does not broadcast; nothing has been written.
    """
    view = view_of(tensor, plan)
    if not plan.arrays:
        value = without_leading_ones(value, view.dim())
        if plan.flips and value.dim():
            value = flip(value.expand(view.shape), plan.flips)
        assign(view, value)
        return
    view = with_history(view)
    if value.is_cpu is not tensor.is_cpu:  # a constant
        value = value.to(tensor.device)
    if _may_overlap(tensor, value):
        value = copied(value)
    if any(array.dtype is tensor.dtype and _may_overlap(tensor, array) for array in plan.arrays):
        plan = plan._replace(arrays=tuple([array.clone() for array in plan.arrays]))
    target = flipped(view, plan)
    mask = plan.lone_mask
    if mask is None or not _put_masked(target, mask, plan.position, value):
        _put(target, _picks(target, plan), plan, value)
    if plan.flips:
        view.copy_(flip(target, plan.flips))


def put_few(tensor: Tensor, array: Tensor, value: Tensor) -> bool:
    """Write a few values, of the tensor's dtype, through one index array, by NumPy; return whether it could."""
    given = host.to_write(tensor, array, value, most=host.FEW)
    if given is None:
        return False
    try:
        given[0][given[1]] = given[2]
    except (IndexError, TypeError, ValueError):  # raised before anything is written
        return False
    return True


def _in_places(tensor: Tensor, mask: Tensor, values: Tensor) -> Tensor:
    """Return a vector's values one after the other where the mask is true, and the tensor's elsewhere.

    ``masked_scatter`` does the same, but its derivative has no forward mode and no rule for batches (torch 2.13).
    """
    if not values.numel():
        return tensor
    places = mask.reshape(-1).cumsum(0).sub(1).clamp(min=0)
    return torch.where(mask, values[places].reshape(mask.shape), tensor)


def _put_masked(view: Tensor, mask: Tensor, dim: int, value: Tensor) -> bool:
    """Write through one bool array without its values, so that it can be traced; return False if that is impossible."""
    if mask.is_cpu is not view.is_cpu:
        mask = mask.to(view.device)
    view, value = same_width(view), same_width(value)
    after = view.dim() - dim - mask.dim()
    value = without_leading_ones(value, dim + 1 + after)
    if value.dim() > after and value.shape[value.dim() - after - 1] != 1:
        if dim or after or value.dim() > 1 or (has_values(mask) and not is_readable(view)):
            return False  # vmap has a rule for index_put_, but none for masked_scatter_
        _check_count(mask, value.shape[0])
        if is_transforming() or value.requires_grad:
            view.copy_(_in_places(view, mask, value))
        else:
            view.masked_scatter_(mask, value)
        return True
    if value.dim() > after:
        before = value.dim() - after - 1
        value = value.reshape(*value.shape[:before], *[1] * mask.dim(), *value.shape[before + 1 :])
    if after:
        mask = mask.reshape(*mask.shape, *[1] * after)
    if value.dim() or not has_values(mask):  # vmap has a rule for torch.where, but none for masked_fill_ of a tensor
        view.copy_(torch.where(mask, value.expand(view.shape), view))
    else:
        view.masked_fill_(mask, value)
    return True


def _check_count(mask: Tensor, values: int) -> None:
    """Raise, now or when the graph runs, unless the mask has one true element for each value: torch drops values."""
    if not is_counted(mask) and values <= mask.numel():
        demand(mask.sum() == values, MISCOUNTED)
    elif values > mask.numel() or count_true(mask) != values:
        raise RuntimeError(MISCOUNTED)


def _put(view: Tensor, picks: Picks, plan: Plan, value: Tensor) -> None:
    arrays, dims, rest, broadcast = picks
    target = same_width(view)
    if dims != tuple(range(len(dims))):
        target = target.permute(*dims, *rest)
    value = same_width(value)
    # True also if that is unknown. A single place is not repeated.
    differentiated = math.prod(broadcast) != 1 and (value.requires_grad or not has_values(value))
    if value.dim() or differentiated:
        position, count = plan.position, len(broadcast)
        value = picked_value(value, count + len(rest))
        sizes = tuple(target.shape[len(dims) :])
        shape = (*sizes[:position], *broadcast, *sizes[position:])
        first = value.dim() - len(shape) + position  # the dimension of value that aligns with the arrays' first
        varies = any(size != 1 for size in value.shape[max(0, first) : max(0, first + count)])
        varies = varies or differentiated  # all places have one value, but each has its own gradient
        if value.shape != shape:
            value = value.expand(shape)
        if position:
            inner = range(position, position + count)
            value = value.permute(*inner, *[dim for dim in range(len(shape)) if dim not in inner])
        if varies and any(array.dtype is not torch.bool for array in plan.arrays):
            if count != 1 or any(array.shape != broadcast for array in arrays):
                arrays = tuple([array.expand(broadcast).reshape(-1) for array in arrays])
                value = value.reshape(arrays[0].shape[0], *sizes)
            given = host.to_write(target, value, *arrays)
            if given is not None:
                # NumPy writes 10**6 elements one by one in 15 ms; torch sorts them in 900.
                given[0][tuple(given[2:])] = given[1]
                return
            arrays, value = _in_order(target, arrays, value)
    put_(target, arrays, value)


def put_(target: Tensor, arrays: tuple[Tensor, ...], value: Tensor, accumulate: bool = False) -> None:
    """``torch.index_put_``, also in nested batches."""
    if functorch.batches() > 1:
        put_in_batch(target, arrays, value, accumulate)
    else:
        target.index_put_(arrays, value, accumulate)


def put_in_batch(target: Tensor, arrays: Sequence[Tensor | None], value: Tensor, accumulate: bool = False) -> Tensor:
    """``torch.index_put_`` behind another batch's axis, which torch 2.13 mistakes for one of the indices'."""
    return target.copy_(aten.index_put.default(target, arrays, value, accumulate))


def _in_order(target: Tensor, arrays: tuple[Tensor, ...], value: Tensor) -> tuple[tuple[Tensor, ...], Tensor]:
    """Return one-dimensional index arrays and values that may be written in any order.

    With repeated indices torch does not define which value stays, and gives each the gradient. On the CPU one thread
    does a small write in order. For other writes only the last of each index is kept; if their number is unknown, all
    get the value of the last, which alone gets the gradient.
    """
    if not value.numel():
        return arrays, value
    in_order = value.numel() < _ONE_THREAD and value.is_cpu
    if in_order and has_values(value) and not value.requires_grad:
        return arrays, value
    linear, size = torch.zeros_like(arrays[0]), math.prod(target.shape[: len(arrays)])
    for array, length in zip(arrays, target.shape[: len(arrays)], strict=True):
        linear = linear * length + from_start(array, length)
    count = torch.arange(linear.shape[0], device=linear.device)
    if in_order and linear.shape[0] <= _FEW and not has_values(linear):  # comparing all with all is less than sorting
        is_last = ~((linear[:, None] == linear) & (count[:, None] < count)).any(1)
        return arrays, _with_gradient(value, is_last)
    last = _last_writes(linear, size)
    is_last = last == count
    if has_values(is_last):
        return tuple([array[is_last] for array in arrays]), value[is_last]
    return arrays, _with_gradient(value[last], is_last)


def _last_of_same(places: Tensor, size: int) -> Tensor:
    """Return for each place which of the equal places is the last; a place is less than ``size``."""
    ordered, order = torch.sort(places, stable=True)
    return order[torch.searchsorted(ordered, places, right=True) - 1]


def _last_by_numpy(places: Tensor, size: int) -> Tensor:
    array = host.array(places)
    if size > _SPARSE * array.size or not 0 <= array.min(initial=0) <= array.max(initial=0) < size:
        return _last_of_same(places, size)  # the write itself names an index that is out of bounds
    last = np.empty(size, np.int64)
    last[array] = np.arange(array.size)
    return host.wrapped(last[array])


_last_writes = graph_operations.operation(
    "last_of_same(Tensor places, SymInt size) -> Tensor", _last_by_numpy, _last_of_same
)


def in_order(node: Node) -> Node | None:
    """Return the values that a write in a graph is given one after the other, of which it keeps the last of each place;
    None if it is no such write.
    """
    if node.target not in (aten.index_put.default, aten.index_put_.default) or any(node.args[3:]):
        return None  # a sum keeps none of them
    value: Any = node.args[2]
    if value.target is aten.where.self and value.args[2].target in (aten.detach.default, aten.alias.default):
        if value.args[2].args[0] is value.args[1]:  # they differ in the gradient only
            value = value.args[1]
    if value.target is not aten.index.Tensor:
        return None
    first = value.args[1][0]  # None for a whole axis
    return value.args[0] if first is not None and first.target is torch.ops.tnp.last_of_same.default else None


def _put_in_order(target: Tensor, places: list[Tensor], values: Tensor) -> None:
    host.array(target)[tuple(map(host.array, places))] = host.array(values)


_library = torch.library.Library("tnp", "FRAGMENT")
_library.define("put_in_order(Tensor(a!) target, Tensor[] places, Tensor values) -> ()")
_library.impl("put_in_order", _put_in_order, "CPU")
torch.library.register_fake("tnp::put_in_order", lambda *_: None, lib=_library)


def choose(module: GraphModule) -> None:
    """Let graphs write at many places as eager code does."""
    graph = module.graph
    for node in graph.find_nodes(op="call_function", target=aten.index_put.default):
        (target, places, _), values, users = node.args[:3], in_order(node), list(node.users)
        if values is None or None in places or node.meta["val"].dtype is torch.bfloat16:
            continue
        is_stored = [(user.target, user.args[0]) for user in users] == [(aten.copy_.default, target)]
        with graph.inserting_before(users[0] if is_stored else node):
            written = target if is_stored else graph.call_function(aten.clone.default, (target,))
            graph.call_function(torch.ops.tnp.put_in_order.default, (written, places, values))
        if is_stored:
            graph.erase_node(users[0])
        else:
            written.meta["val"] = node.meta["val"]
            node.replace_all_uses_with(written)
    graph.eliminate_dead_code()
    module.recompile()


def _with_gradient(value: Tensor, where: Tensor) -> Tensor:
    """Return ``value`` with gradients at some places of its first axis only."""
    return torch.where(where.reshape(-1, *[1] * (value.dim() - 1)), value, value.detach())
