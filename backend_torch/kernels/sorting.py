"""Sorting: values and indices in NumPy's order, NaN last.

Layer: owns the choice of code that sorts a dtype on a device. The caller checks axes and arguments.

On the CPU NumPy sorts in place, in a tensor's memory: its vectorised sort takes 2.7 ms for 10**6 float32, torch's 85
ms (https://github.com/pytorch/pytorch/issues/76654). torch sorts on other
devices, while a gradient is recorded, and where values are unknown.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
import torch
from torch.fx import GraphModule, Node

from backend_torch.kernels import graph_operations, host, reductions
from backend_torch.kernels.graph_operations import called
from backend_torch.kernels.order import has_nan, nan_class, ordered, precedes, restored, reversed_order
from backend_torch.native import heads
from backend_torch.tensors import trace_state
from backend_torch.tensors.dtypes import SIGNED
from backend_torch.tensors.memory import is_readable
from backend_torch.tensors.out_of_memory import explaining
from backend_torch.tensors.shape import has_sizes
from backend_torch.torch_private import traces

Tensor = torch.Tensor
aten = torch.ops.aten
MANY_PLACES = 16
"""For more places than this, all elements are sorted: a partition looks at each element once for each place."""
_SAMPLE = 64  # the number of values that tell whether most are equal to others
_LEAST, _LEAST_LINE = 1 << 10, 16  # elements of all lines and of one, from which NumPy's vectors pay in a compiled loop
_SHORT, _MANY = 32, 4096  # NumPy's stable sort of shorter lines, or of fewer values, takes less time than the detour


def sort(tensor: Tensor, dim: int, stable: bool = False, descending: bool = False) -> Tensor:
    """Sort the values along ``dim`` in ascending or descending order, NaN last in both."""
    if descending:
        return reversed_order(sort(reversed_order(tensor), dim, stable))
    if host.computes(tensor):
        result = tensor.clone()
        if tensor.stride(dim) or not tensor.dim():  # else all values are one
            host.array(result).sort(axis=dim, kind="stable" if stable else None)
        return result
    if tensor.is_complex():
        return _complex_sort(tensor, dim)
    return restored(torch.sort(_keys(tensor), dim=dim, stable=stable)[0], tensor.dtype)


def argsort(tensor: Tensor, dim: int, stable: bool = False, descending: bool = False) -> Tensor:
    """Return the indices that sort the values along ``dim``; equal values keep their order if ``stable``."""
    if descending:
        return argsort(reversed_order(tensor), dim, stable)
    if host.computes(tensor):
        array = host.array(tensor)
        return host.wrapped(_stable_order(array, dim) if stable else array.argsort(axis=dim))
    if tensor.is_complex():
        return lexsort([tensor.imag, tensor.real, nan_class(tensor)], dim)
    return torch.sort(_keys(tensor), dim=dim, stable=stable)[1]


def _keys(tensor: Tensor) -> Tensor:
    """Prepare real values for torch's sort.

    CUDA's goes by bits: a NaN that has a sign, as 0 / 0 has on x86, or that was negated, would come first
    (https://github.com/pytorch/pytorch/issues/190781).
    """
    keys = ordered(tensor)
    if tensor.device.type in ("cpu", "meta") or not has_nan(tensor.dtype):
        return keys
    return torch.where(keys.isnan(), torch.nan, keys)


def _stable_order(array: np.ndarray, axis: int) -> np.ndarray:
    """``array.argsort(axis, kind="stable")``, of 1000 lines of 1000 float64 in half the time.

    NumPy's vectorised sort is not stable: the places of equal values are sorted after it. Where few values are unique,
    NumPy's stable sort is the faster one.
    """
    size = array.shape[axis]
    if size >= _SHORT and array.size >= _MANY and array.dtype.kind in "iuf" and array.dtype.itemsize >= 4:
        array = np.ascontiguousarray(array)
        sample = array.swapaxes(axis, -1)[(0,) * (array.ndim - 1)][:: -(-size // _SAMPLE)]
        if len(set(sample.tolist())) == len(sample):
            order = array.argsort(axis=axis)
            if heads.settle(order, array, axis):
                return order
    return array.argsort(axis=axis, kind="stable")


# The same as operations of a graph, which calls torch's sort otherwise.
_library = torch.library.Library("tnp", "FRAGMENT")
_library.define("sorted(Tensor values, int dim, bool stable) -> Tensor")
_library.define("partitioned(Tensor values, int dim, int[] kth, Tensor[] more) -> Tensor")
_library.define("order(Tensor values, int dim, bool stable) -> Tensor")


def _partitioned(values: Tensor, dim: int, kth: list[int], more: list[Tensor]) -> Tensor:
    places = [place for tensor in more for place in tensor.reshape(-1).tolist()]
    return partition(values.contiguous(), dim, [*kth, *places])


def _without_data(dtype: torch.dtype | None, values: Tensor, *_: Any) -> Tensor:
    return values.new_empty(values.shape, dtype=dtype)


def _sorted(values: Tensor, dim: int, stable: bool) -> Tensor:
    return sort(values.contiguous(), dim, stable)


def _order(values: Tensor, dim: int, stable: bool) -> Tensor:
    return argsort(values.contiguous(), dim, stable)


for _name, _kernel, _dtype in (
    ("sorted", _sorted, None), ("order", _order, torch.int64), ("partitioned", _partitioned, None),
):  # fmt: skip
    _library.impl(_name, _kernel, "CPU")
    torch.library.register_fake(f"tnp::{_name}", partial(_without_data, _dtype), lib=_library)
    graph_operations.direct(_name, _kernel)


def is_long(shape: Sequence[int], dim: int) -> bool:
    """Whether NumPy's vectors sort the lines along an axis in less time than C++ without a call."""
    return bool(shape) and shape[dim] >= _LEAST_LINE and math.prod(shape) > _LEAST


def choose(module: GraphModule, long_alone: bool = False) -> None:
    """Let graphs sort as eager code does, or partition for a few places: all lines, or those that are long."""
    graph, ops = module.graph, torch.ops.tnp
    for node in graph.find_nodes(op="call_function", target=aten.sort.stable):
        values, stable = node.args[0], node.kwargs["stable"]
        value = values.meta["val"]
        dim = node.kwargs.get("dim", -1) % max(value.dim(), 1)
        if value.device.type != "cpu" or node.kwargs.get("descending"):
            continue
        if not isinstance(value.numel(), int) or not value.numel() or (long_alone and not is_long(value.shape, dim)):
            continue
        mode = traces.new_fake_mode()  # the values of a trace that is over have no operations
        value, made_of, places_of = [traces.like(mode, each) for each in (value, *node.meta["val"])]
        axes = graph_operations.memory_order(made_of)
        if axes is None:
            continue
        parts = {part.args[1]: part for part in node.users}
        moved = [each.permute(axes) for each in (value, made_of, places_of)]
        with graph.inserting_before(node):
            lines, along = called(graph, aten.permute.default, moved[0], values, axes), axes.index(dim)
            if 1 in parts:
                order = called(graph, ops.order.default, moved[2], lines, along, stable)
                made = {0: called(graph, aten.gather.default, moved[1], lines, along, order), 1: order}
            elif (places := _places_read(parts[0], dim)) is not None:
                made = {0: called(graph, ops.partitioned.default, moved[1], lines, along, *places)}
            else:
                made = {0: called(graph, ops.sorted.default, moved[1], lines, along, stable)}
            back = [axes.index(axis) for axis in range(value.dim())]
            for place, part in parts.items():
                result = called(graph, aten.permute.default, node.meta["val"][place], made[place], back)
                part.replace_all_uses_with(result)
        for each in (*parts.values(), node):
            graph.erase_node(each)
    module.recompile()


def _places_read(values: Node, dim: int) -> tuple[list[int], list[Node]] | None:
    """Return the places along an axis that a graph reads: numbers, and inputs with numbers; None if it reads more."""
    numbers, inputs = [], []
    for user in values.users:
        args: Any = user.args
        if user.target is aten.select.int and args[1] % values.meta["val"].dim() == dim:
            numbers.append(args[2])
        elif user.target is aten.slice.Tensor and args[1:] == (dim, -1, sys.maxsize):
            numbers.append(-1)
        elif user.target is aten.index.Tensor and args[1][:-1] == [None] * dim:
            index = args[1][-1]
            while index.target is aten.clone.default:
                index = index.args[0]
            if index.op != "placeholder" or index.meta["val"].dtype is not torch.int64:
                return None
            inputs.append(index)
        else:
            return None
    return (numbers, inputs) if all(type(number) is int for number in numbers) else None


def partition(tensor: Tensor, dim: int, kth: Sequence[int]) -> Tensor:
    """Partition the values: those at ``kth`` are where a sort puts them, smaller ones before, larger ones after."""
    if host.computes(tensor):
        result = tensor.clone()
        host.array(result).partition(np.asarray(kth, np.intp), axis=dim)
        return result
    return _partition(tensor, dim, list(kth)) if kth else tensor.clone()


def argpartition(tensor: Tensor, dim: int, kth: Sequence[int]) -> Tensor:
    """Return the indices that partition the values along ``dim``."""
    if host.computes(tensor):
        return host.wrapped(host.array(tensor).argpartition(np.asarray(kth, np.intp), axis=dim))
    return _argpartition(tensor, dim, list(kth)) if kth else torch.ones_like(tensor, dtype=torch.int64).cumsum(dim) - 1


def at_places(tensor: Tensor, dim: int, places: Tensor) -> Tensor:
    """Partition the values for other places in each line, or sort them where that takes less time."""
    return _by_numpy_at(tensor, dim, places) if host.computes(tensor, places) else _at_places(tensor, dim, places)


def _by_numpy_at(tensor: Tensor, dim: int, places: Tensor) -> Tensor:
    kth = np.unique(host.array(places))
    return partition(tensor, dim, kth.tolist()) if kth.size <= MANY_PLACES else sort(tensor, dim)


_at_places = graph_operations.operation(
    "at_places(Tensor values, int dim, Tensor places) -> Tensor",
    _by_numpy_at,
    lambda values, dim, places: sort(values, dim),
)
_complex_sort = graph_operations.operation(
    "complex_sort(Tensor values, int dim) -> Tensor",
    sort,
    lambda values, dim: values.gather(dim, argsort(values, dim, stable=True)),
)
_partition = graph_operations.operation(
    "partition(Tensor values, int dim, SymInt[] kth) -> Tensor", partition, lambda values, dim, kth: sort(values, dim)
)
_argpartition = graph_operations.operation(
    "argpartition(Tensor values, int dim, SymInt[] kth) -> Tensor",
    argpartition,
    lambda values, dim, kth: argsort(values, dim),
)
PARTITION, ARGPARTITION = torch.ops.tnp.partition, torch.ops.tnp.argpartition
AT_PLACES = torch.ops.tnp.at_places


@explaining
def lexsort(keys: Sequence[Tensor], dim: int) -> Tensor:
    """Return the indices that sort by the last key, then by the one before it, and so on."""
    first, *others = keys
    order = argsort(first, dim, stable=True)
    if first.dim() != 1 or len(first) > torch.iinfo(torch.int32).max:
        for key in others:
            # uint16, uint32 and uint64 have no gather (https://github.com/pytorch/pytorch/issues/58734).
            order = order.gather(dim, argsort(ordered(key).gather(dim, order), dim, stable=True))
        return order
    for key in others:
        order = order.to(torch.int32)  # halves the memory while the next key is sorted
        order = order[argsort(ordered(key).index_select(0, order), 0, stable=True)]
    return order.to(torch.int64)


def searchsorted(line: Tensor, values: Tensor, right: bool, sorter: Tensor | None = None) -> Tensor:
    """Return where each value belongs in the sorted 1-d tensor of the same dtype, before or after equal values."""
    given = host.small(values, line) if sorter is None else None
    if given is not None:
        return host.wrapped(given[1].searchsorted(given[0], "right" if right else "left"))
    if trace_state.is_tracing() and sorter is None and values.is_cpu and all(map(has_sizes, (line, values))):
        if values.numel() > 1:
            return _whole_search(line, values, right)
    return _search(line, values, right, sorter)


def _on_host(line: Tensor, values: Tensor, right: bool) -> Tensor:
    """``searchsorted`` as eager code computes it: NumPy takes less time for few elements."""
    if max(len(line), values.numel()) > host.MANY:
        return searchsorted(line, values, right)
    found: Tensor = host.called(np.searchsorted, line, values, "right" if right else "left")
    return found


def _search(line: Tensor, values: Tensor, right: bool, sorter: Tensor | None = None) -> Tensor:
    if sorter is not None:
        line = restored(ordered(line).index_select(0, sorter), line.dtype)
    if line.is_complex():
        return _bisect(line, values, right)
    if has_nan(line.dtype) and line.shape[0] and (not is_readable(line) or bool(line[-1].isnan())):
        # torch treats a NaN in the line as less than any value (https://github.com/pytorch/pytorch/issues/158738).
        is_last = line.isnan()
        size = line.shape[0]
        first = size - is_last.sum()
        found = _searched(torch.where(is_last, torch.inf, line), values, right)
        if right:
            return torch.where(values.isnan(), found.new_full((), size), found.minimum(first))
        return torch.where(values.isnan(), first, found)
    return _searched(ordered(line), ordered(values), right)


_whole_search = graph_operations.operation(
    "searchsorted(Tensor line, Tensor values, bool right) -> Tensor", _on_host, _search
)
SEARCH = torch.ops.tnp.searchsorted


@explaining
def _searched(line: Tensor, values: Tensor, right: bool) -> Tensor:
    return torch.searchsorted(line.contiguous(), values.contiguous(), right=right)


def _bisect(line: Tensor, values: Tensor, right: bool) -> Tensor:
    """``searchsorted`` by NumPy's order, whatever the dtype: log2(n) comparisons of all values at once."""
    low = torch.zeros(values.shape, dtype=torch.int64, device=line.device)
    high = torch.full_like(low, len(line))
    for _ in range(len(line).bit_length()):
        middle = (low + high) // 2
        there = line[middle.clamp(max=len(line) - 1)]
        after = ~precedes(values, there) if right else precedes(there, values)
        open_ = low < high
        low = torch.where(open_ & after, middle + 1, low)
        high = torch.where(open_ & ~after, middle, high)
    return low


@explaining
def median(tensor: Tensor, dim: int, dtype: torch.dtype) -> Tensor:
    """Return the middle value along ``dim`` or the mean of the two, in float or complex ``dtype``; NaN if there is one.

    The axis holds at least one element.
    """
    given = None if tensor.is_complex() else host.small(tensor)
    if given is not None:
        with np.errstate(all="ignore"):
            return host.wrapped(np.median(given[0], dim)).to(dtype)
    size = tensor.shape[dim]
    middle = (size - 1) // 2, size // 2
    sorted_ = partition(tensor, dim, [*middle, size - 1])
    low, high = (_at(sorted_, dim, index).to(dtype) for index in middle)
    mean = low if size % 2 else torch.mean(torch.stack([low, high]), 0)
    if not has_nan(tensor.dtype):
        return mean
    last = _at(sorted_, dim, size - 1)
    return torch.where(last.isnan(), last, mean)


def finds_nan(tensor: Tensor) -> bool:
    """Whether there is a NaN; False while the values are unknown."""
    return has_nan(tensor.dtype) and is_readable(tensor) and bool(tensor.isnan().any())


def without_nan(tensor: Tensor) -> Tensor | None:
    """Return the tensor if it has no NaN, a vector without its NaNs; None if no value is left or lines may differ."""
    if not has_nan(tensor.dtype):
        return tensor
    if not host.computes(tensor):
        return None
    array = host.array(tensor)
    missing = np.isnan(array)
    if not missing.any():
        return tensor
    return None if array.ndim != 1 or missing.all() else host.wrapped(array[~missing])


@explaining
def nanmedian(tensor: Tensor, dim: int) -> Tensor:
    """Return the median of the values along ``dim`` that are not NaN, or NaN if there is none. Float or complex."""
    valid = None if tensor.is_complex() else without_nan(tensor)
    if valid is not None:
        return median(valid, dim, tensor.dtype)
    count = reductions.count(~tensor.isnan(), dim, True)
    places = ((count - 1) // 2).clamp(min=0), (count // 2).clamp(max=tensor.shape[dim] - 1)
    sorted_ = at_places(tensor, dim, torch.cat(places, dim))
    low, high = [sorted_.gather(dim, place) for place in places]
    mean = torch.mean(torch.cat([low, high], dim), dim, keepdim=True)
    return torch.where(count % 2 == 1, low, mean).squeeze(dim)


def _at(tensor: Tensor, dim: int, index: int) -> Tensor:
    signed = SIGNED.get(tensor.dtype)
    return tensor.select(dim, index) if signed is None else tensor.view(signed).select(dim, index).view(tensor.dtype)
