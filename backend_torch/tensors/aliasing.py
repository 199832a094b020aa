"""Memory of results: inputs, new memory, or views of either.

Layer: owns the rule that a compiled function's results share memory as the traced function's do, and the memory that
operations write to.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch.fx import Node

from backend_torch.tensors.memory import addresses, is_readable, may_overlap
from backend_torch.torch_private.operators import schema_of
from backend_torch.torch_private.tensor_internals import storage_of

Tensor = torch.Tensor
_START = 4096  # an address for memory that has none
_WORK = 10_000  # for the question whether views share elements, which is hard

Geometry = tuple[torch.dtype, tuple[int, ...], tuple[int, ...], int]
"""dtype, sizes, strides and the offset in bytes from the start of what is viewed; symbols where sizes are left open."""


class OverlapError(RuntimeError):
    """Raised by a graph that can't run for these inputs, before it has begun: see the message."""

    def __init__(self) -> None:
        super().__init__(
            "a compiled function writes, in a branch or a loop, to an array that overlaps another one: pass a copy of "
            "one of them"
        )


@dataclass(frozen=True)
class Output:
    """The source of a result: an input or a result of the program, or a view of its memory."""

    of_input: bool
    index: int
    geometry: Geometry | None = None


def outputs_of(
    nodes: Sequence[Node], placeholders: list[Node], values: dict[Node, Tensor], memory: dict[int, list[int]]
) -> tuple[list[Output] | None, list[Node]]:
    """Find which outputs are inputs, new memory, or views of either."""
    positions = {node: index for index, node in enumerate(placeholders)}
    pieces: dict[int, list[Node]] = {}
    for node in nodes:
        storage = storage_of(values[node])
        if storage not in memory and node not in pieces.setdefault(storage, []):
            pieces[storage].append(node)
    whole: dict[int, Node] = {}
    for storage, sharing in pieces.items():
        base = _whole(sharing, values)
        if base is None:
            return None, []
        whole[storage] = base
    results = list(whole.values())

    outputs = []
    for node in nodes:
        storage = storage_of(values[node])
        if node in positions:
            outputs.append(Output(True, positions[node]))
        elif storage in memory:
            index = memory[storage][0]
            outputs.append(Output(True, index, _geometry(values[node], values[placeholders[index]])))
        else:
            index = results.index(whole[storage])
            outputs.append(Output(False, index, _geometry(values[node], values[results[index]])))
    return outputs, results


def _offset(value: Tensor) -> Any:
    """Return the bytes from the start of the tensor's memory."""
    return value.storage_offset() * value.itemsize


def _span(value: Tensor) -> tuple[int, int]:
    start = _offset(value)
    last = sum((size - 1) * stride for size, stride in zip(value.shape, value.stride(), strict=True))
    return start, start + (last + 1) * value.itemsize


def _whole(sharing: list[Node], values: dict[Node, Tensor]) -> Node | None:
    """Return the one of several nodes with shared memory that spans all of it; the others can be views of it."""
    if len(sharing) == 1:
        return sharing[0]
    spans = [_span(values[node]) for node in sharing]
    everything = min(start for start, _ in spans), max(end for _, end in spans)
    for node, span in zip(sharing, spans, strict=True):
        value = values[node]
        if span == everything and value.numel() * value.itemsize == span[1] - span[0]:
            return node
    return None


def _geometry(value: Tensor, base: Tensor) -> Geometry | None:
    """Return how ``value`` lies in the memory of ``base``; None if both are the same."""
    offset = _offset(value) - _offset(base)
    if value.dtype is base.dtype and value.shape == base.shape and value.stride() == base.stride() and not offset:
        return None
    return value.dtype, tuple(value.shape), tuple(value.stride()), offset


def viewed(base: Tensor, dtype: torch.dtype, size: tuple[int, ...], stride: tuple[int, ...], offset: int) -> Tensor:
    if dtype is base.dtype:
        return base.as_strided(size, stride, base.storage_offset() + offset // base.itemsize)
    memory = torch.empty(0, dtype=dtype, device=base.device)
    return memory.set_(base.untyped_storage(), (_offset(base) + offset) // memory.itemsize, size, stride)


def targets(node: Node) -> list[Node]:
    """Return the nodes whose memory an operation writes to."""
    schema = schema_of(node.target)
    if node.op != "call_function" or schema is None or not schema.is_mutable:
        return []
    return written(schema, node.args, node.kwargs, Node)


def written(schema: Any, args: Sequence[Any], kwargs: Any, kind: Any) -> list[Any]:
    """Return the arguments of a class that an operation with this schema writes to."""
    found: list[Any] = []
    for position, argument in enumerate(schema.arguments):
        if argument.alias_info is None or not argument.alias_info.is_write:
            continue
        value = args[position] if position < len(args) else kwargs.get(argument.name)
        found += [item for item in (value if isinstance(value, (list, tuple)) else [value]) if isinstance(item, kind)]
    return found


def is_dense(tensor: Tensor) -> bool:
    """Whether the elements are contiguous in memory, in any order of the axes."""
    expected = 1
    steps = zip(tensor.stride(), tensor.shape, strict=True)
    for stride, size in sorted([(stride, size) for stride, size in steps if size != 1]):
        if stride != expected:
            return False
        expected *= size
    return True


def is_plain(tensor: Tensor) -> bool:
    """Whether a tensor has the memory layout of a new one, in C order."""
    expected = 1
    for size, stride in zip(reversed(tensor.shape), reversed(tensor.stride()), strict=True):
        if stride != expected:
            return False
        expected *= max(size, 1)
    return not tensor.is_conj() and not tensor.is_neg()


def axes_in_memory(tensor: Tensor) -> list[int]:
    """Return the axes from the largest stride to the smallest."""
    strides = tensor.stride()
    return sorted(range(tensor.dim()), key=lambda axis: (-strides[axis], axis))


def gaps(tensor: Tensor) -> tuple[tuple[int, ...], tuple[bool, ...]] | None:
    """Return the axes in the order of memory, and after which of them there is a gap; None if elements overlap."""
    strides, order, expected = tensor.stride(), axes_in_memory(tensor), int(tensor.numel() > 0)
    found = []
    for axis in reversed(order):
        if strides[axis] < expected:
            return None
        found.append(strides[axis] > expected)
        expected = strides[axis] * tensor.shape[axis]
    return tuple(order), tuple(found)


def dense_strides(tensor: Tensor) -> tuple[int, ...]:
    """Return the strides of the same shape with the axes in the same order and no gaps."""
    order, strides, expected = axes_in_memory(tensor), [1] * tensor.dim(), 1
    for axis in reversed(order):
        strides[axis], expected = expected, expected * tensor.shape[axis]
    return tuple(strides)


def has_places_of_its_own(array: Tensor | np.ndarray) -> bool:
    """Whether each element surely has a place of its own: no step is shorter than what the smaller ones span."""
    if isinstance(array, Tensor):
        steps, span = array.stride(), 0
    else:
        steps, span = tuple(map(abs, array.strides)), array.itemsize - 1
    for step, size in sorted(zip(steps, array.shape, strict=True)):
        if size > 1:
            if step <= span:
                return False
            span += step * (size - 1)
    return True


def _first(tensor: Tensor) -> Any:
    """Return the address of a tensor's first element; that in one memory for all where there is none."""
    return tensor.data_ptr() if is_readable(tensor) else _START + tensor.storage_offset() * tensor.itemsize


def is_same_view(one: Tensor, other: Tensor) -> bool:
    """Whether two views have the same elements in the same order."""
    places = [(each.dtype, _first(each), *each.shape, *each.stride()) for each in (one, other)]
    return len(places[0]) == len(places[1]) and all(map(operator.eq, *places))


def may_share(one: Tensor, other: Tensor) -> bool:
    """Whether two views of the same or of overlapping memory may share an element; open sizes are not looked into."""
    numbers = [n for each in (one, other) for n in (_first(each), *each.shape, *each.stride())]
    if any(type(n) is not int for n in numbers):
        return True
    try:
        one_at, other_at = [addresses(each, None if is_readable(each) else _START) for each in (one, other)]
        return np.shares_memory(one_at, other_at, max_work=_WORK)  # type: ignore[arg-type]
    except np.exceptions.TooHardError:
        return True


def overlap(tensors: Sequence[Tensor], written: frozenset[int]) -> bool:
    """Whether another input shares the memory of a write, so that the order of the operations matters.

    Arrays of NumPy that overlap are tensors with different storages, of which each begins at its first element.
    """
    storages = [tensor.untyped_storage() for tensor in tensors]
    spans = [(start := storage.data_ptr(), start + storage.nbytes()) for storage in storages]
    for index in written:
        first, last = spans[index]
        for other, (start, end) in enumerate(spans):
            if start < last and first < end and other != index and may_overlap(tensors[index], tensors[other]):
                return True
    return False


def lies_across(target: Any, other: Any) -> bool:
    """Whether an operand partly overlaps the memory of a write, which torch refuses if tensors have memory."""
    if other is target or not isinstance(other, Tensor) or not isinstance(target, Tensor):
        return False
    if storage_of(target) != storage_of(other):
        return False
    (start, end), (first, last) = _extent(target), _extent(other)
    if any(isinstance(place, torch.SymInt) for place in (start, end, first, last)):
        return True
    if target.shape == other.shape and target.stride() == other.stride() and start == first:
        return False
    return start < last and first < end


def apart(operand: Any, *targets: Any) -> Any:
    """Return an operand of a write; a copy if it partly overlaps the write's memory."""
    return operand.clone() if any(_is_partly(target, operand) for target in targets) else operand


def _is_partly(target: Any, operand: Any) -> bool:
    """Whether an operand overlaps the memory of a write, and does not have its elements in the same places."""
    if operand is target or not isinstance(operand, Tensor) or not isinstance(target, Tensor):
        return False
    alike = target.shape == operand.shape and target.stride() == operand.stride()
    return may_overlap(target, operand) and not (alike and target.data_ptr() == operand.data_ptr())


def _extent(tensor: Tensor) -> tuple[Any, Any]:
    """Return the offset of the tensor's first element, and the offset after its last."""
    start = tensor.storage_offset()
    return start, start + 1 + sum(
        (size - 1) * stride for size, stride in zip(tensor.shape, tensor.stride(), strict=True)
    )
