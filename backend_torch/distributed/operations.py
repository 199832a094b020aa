"""Corrections of DTensor's operations, and refusals that say what to do instead.

Layer: owns what operations on sharded tensors do where DTensor lacks a rule or has a wrong one: writes to views whose
elements were sent, dtypes that no backend sends, reductions of empty parts, and refusals. torch_private/dtensor.py
puts these handlers into DTensor's dispatcher.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch.distributed.tensor import DTensor, Partial, Placement, Replicate, Shard
from torch.distributed.tensor.experimental import register_sharding

from backend_torch.tensors import memory, trace_state
from backend_torch.torch_private import dtensor, messages
from backend_torch.torch_private.dtensor import (
    Handler,
    StridedShard,
    local_of,
    make_contiguous_strides_for,
    operands_of,
    part_of,
)
from backend_torch.torch_private.operators import schema_of
from backend_torch.torch_private.tensor_internals import storage_of

Tensor = torch.Tensor
aten = torch.ops.aten

# gloo and NCCL send no tensors of these dtypes. Tensors of the wider dtype are sent instead.
WIDER = {torch.int16: torch.int32, torch.uint16: torch.int32, torch.uint32: torch.int64, torch.uint64: torch.int64}
# These operations need all elements of the axis. DTensor would gather a sharded axis in each process.
ORDERING = frozenset({"sort", "argsort", "topk", "kthvalue", "median", "nanmedian", "mode", "unique_dim", "_unique2"})
EXTREMES = (
    aten.amax.default, aten.amin.default, aten.aminmax.default, aten.max.default, aten.max.dim, aten.min.default,
    aten.min.dim,
)  # fmt: skip
TRUTH = (aten.any.default, aten.any.dim, aten.any.dims, aten.all.default, aten.all.dim, aten.all.dims)
VIEWS = (aten.slice.Tensor, aten.select.int, aten.diagonal.default, aten.view.default, aten._unsafe_view.default)
# DTensor takes an operation for an in-place one if its name ends in "_", and returns the operand itself.
MISNAMED = {
    aten.__lshift__.Scalar: aten.bitwise_left_shift.Tensor_Scalar,
    aten.__lshift__.Tensor: aten.bitwise_left_shift.Tensor,
    aten.__rshift__.Scalar: aten.bitwise_right_shift.Tensor_Scalar,
    aten.__rshift__.Tensor: aten.bitwise_right_shift.Tensor,
    aten.__and__.Scalar: aten.bitwise_and.Scalar,
    aten.__and__.Tensor: aten.bitwise_and.Tensor,
    aten.__or__.Scalar: aten.bitwise_or.Scalar,
    aten.__or__.Tensor: aten.bitwise_or.Tensor,
    aten.__xor__.Scalar: aten.bitwise_xor.Scalar,
    aten.__xor__.Tensor: aten.bitwise_xor.Tensor,
}
LINEAR = frozenset(
    {aten.mul_, aten.div_, aten.neg_, aten.add_, aten.sub_}
)  # torch applies these to sums that are still in parts
MIXING = (
    aten.index.Tensor, aten.index_select.default, aten.searchsorted.Tensor, aten.index_add.default, aten.cat.default,
    aten.as_strided.default, aten.where.self,
)  # fmt: skip


class ShardingError(ValueError, RuntimeError):
    """An operation has no result on arrays sharded as they are.

    The class derives from RuntimeError, which torch raises in such cases, and from ValueError, which tnp raises for
    operands on different devices.
    """


def prepare() -> None:
    """Put the handlers into DTensor's dispatcher; called once."""
    handled: dict[Any, Handler] = {}
    handled.update(dict.fromkeys(_in_place(), _write))
    handled.update(dict.fromkeys(MIXING, _unmixed))
    handled.update(dict.fromkeys(VIEWS, _view))
    handled.update(dict.fromkeys(EXTREMES, _extreme))
    handled.update({aten.unbind.int: _unbind, aten.split.Tensor: _split, aten.view.dtype: _view_dtype})
    handled.update({aten.gather.default: _gather, aten.view_as_real.default: _view_as_real})
    handled.update({aten.frexp.Tensor: _frexp, aten.squeeze.default: _squeeze})
    handled.update(dict.fromkeys((aten.flip.default, aten.roll.default, aten.cumprod.default), _along_whole_axes))
    handled.update(dict.fromkeys(TRUTH, _truth))
    handled.update(dict.fromkeys((aten.argmax.default, aten.argmin.default), _place_of_extreme))
    handled.update(dict.fromkeys(MISNAMED, _renamed))
    dtensor.patch(_ruled, _redistribute, handled)
    if torch.__version__ < "2.12":
        register_sharding([aten.ne.Tensor, aten.gcd.default, aten.lcm.default])(_elementwise)


def _elementwise(*operands: Any) -> list[Any]:
    """Return the placements that an elementwise function accepts, each as the result's and the operands'."""
    dim = max(operand.ndim for operand in operands)
    found: list[Any] = [([Replicate()], [Replicate()] * len(operands))]
    for axis in range(dim):
        places = [axis - dim + operand.ndim for operand in operands]
        given = [(place, place >= 0 and o.shape[place] > 1) for place, o in zip(places, operands, strict=True)]
        if any(has_it for _, has_it in given):
            found.append(([Shard(axis)], [Shard(place) if has_it else Replicate() for place, has_it in given]))
    return found


def _in_place() -> list[Any]:
    """Return torch's operations that write to their first operand."""
    found = []
    for name in dir(aten):
        if name.endswith("_") and not name.startswith("_"):
            packet = getattr(aten, name)
            found += [getattr(packet, overload) for overload in packet.overloads()]
    return [operation for operation in found if schema_of(operation).is_mutable]


# ---------------------------------------------------------------------------------------------------------------------
# What is sent


def _redistribute(
    redistributed: Callable[..., Tensor], local: Tensor, current: Any, target: Any, **options: Any
) -> Tensor:
    """Send parts in a dtype that the backends can send."""
    dtype = local.dtype
    wider = WIDER.get(dtype)
    if wider is None or current.placements == target.placements:
        return redistributed(local, current, target, **options)
    if dtype is not torch.uint64:
        return redistributed(local.to(wider), current, target, **options).to(dtype)
    if any(isinstance(p, Partial) and p.reduce_op != "sum" for p in current.placements):
        raise ShardingError(f"uint64 numbers can't be combined by {current.placements}")
    return redistributed(local.view(wider), current, target, **options).view(dtype)


# ---------------------------------------------------------------------------------------------------------------------
# Views. A view of a sharded axis may have elements that other processes sent; writes to it go back to the source.


@dataclass
class Sent:
    """Where a view's elements were sent from. The storage holds the record, so that views of the view find it too."""

    source: DTensor
    operation: Any
    args: tuple[Any, ...]
    dtype: torch.dtype
    layout: tuple[Any, ...]
    placements: tuple[Placement, ...]
    writes: int


def _view(operation: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Return a view. Elements of other processes are sent, and a record on the storage lets writes go back to them."""
    source = args[0]
    reshapes = operation in (aten.view.default, aten._unsafe_view.default)
    try:
        result: Any = operation(*args, **kwargs)
    except ShardingError:
        if not reshapes:
            raise
        result = None
    if result is None or (reshapes and any(isinstance(p, StridedShard) for p in result.placements)):
        # The parts are no even pieces of the new axis, or lie in steps, where torch would pick the wrong elements.
        torch.empty_strided(source.shape, source.stride(), device="meta").view(
            args[1]
        )  # raises if the shape is no view
        everywhere = [Replicate()] * source.device_mesh.ndim
        local = local_of(source.redistribute(placements=everywhere)).contiguous()  # not so in torch 2.11
        whole = DTensor.from_local(local, source.device_mesh, everywhere, run_check=False)
        result = operation(whole, *args[1:], **kwargs)
    if isinstance(result, DTensor) and operation is not aten._unsafe_view.default:  # a view of a copy
        local, given = local_of(result), local_of(source)
        if storage_of(local) != storage_of(given):
            layout = (tuple(local.shape), local.stride(), local.storage_offset())
            arguments = _by_position(operation, args[1:], kwargs)
            sent = Sent(source.detach(), operation, arguments, local.dtype, layout, result.placements, _writes(given))
            local.untyped_storage().sent = sent  # type: ignore[attr-defined]
    return result


def _by_position(operation: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, ...]:
    """Return all arguments of an operation but the first, with defaults filled in."""
    rest = schema_of(operation).arguments[1 + len(args) :]
    return (*args, *[kwargs.get(each.name, each.default_value) for each in rest])


def _unbind(operation: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Tensor]:
    tensor, dim = args[0], args[1] if len(args) > 1 else kwargs.get("dim", 0)
    return [tensor.select(dim, index) for index in range(tensor.shape[dim])]


def _split(operation: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Tensor]:
    tensor, size, dim = _by_position(operation, args, kwargs) if len(args) > 2 else (*args[:2], kwargs.get("dim", 0))
    return [tensor.narrow(dim, at, min(size, tensor.shape[dim] - at)) for at in range(0, tensor.shape[dim], size)]


def _view_dtype(operation: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Tensor:
    tensor, dtype = args
    if tensor.itemsize != dtype.itemsize and any(_cuts(p, tensor.dim() - 1) for p in tensor.placements):
        raise ShardingError(f"{caller()}the axis that takes up a difference in size is sharded: shard another one")
    return operation(tensor, dtype)


def _view_as_real(operation: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Tensor:
    """Return the parts of complex numbers; torch's rule fails for a 0-d tensor."""
    tensor = args[0]
    return operation(tensor) if tensor.dim() else operation(tensor.unsqueeze(0)).squeeze(0)


def _write(operation: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Run an in-place operation, and write its result to the parts that the memory was sent from."""
    if not isinstance(args[0], DTensor):
        raise memory.mixed_error(*[each for each in args if isinstance(each, Tensor)])
    if operation.overloadpacket not in LINEAR and any(isinstance(p, Partial) for p in args[0].placements):
        raise ShardingError(
            f"{caller()}no in-place {operation} of a sum or the like that is still to be made of its parts: of "
            "tnp.distributed.replicate(x, mesh)"
        )
    result = _unmixed(operation, args, kwargs)
    _written(local_of(args[0]))
    return result


def _written(local: Tensor) -> None:
    """Count a write. Write a view's elements to the array that they were sent from, too."""
    storage: Any = local.untyped_storage()
    storage.writes = _writes(local) + 1
    sent = getattr(storage, "sent", None)
    if sent is None:
        return
    if local.dtype is not sent.dtype:
        raise ShardingError(f"{caller()}bits of what several processes have can't be written to: copy it first")
    values = local.as_strided(*sent.layout)
    target = local_of(sent.source)
    for dim, (was, now) in enumerate(zip(sent.source.placements, sent.placements, strict=True)):
        if isinstance(was, Partial) or (was != now and not isinstance(now, Replicate)):
            raise ShardingError(f"{caller()}a view of {was} along {dim} can't be written to: copy it first")
    if sent.writes != _writes(target):
        raise ShardingError(f"{caller()}the array was written to since this view of it was sent: take the view again")
    with torch.no_grad():
        for part, value in _places(sent, target, values):
            part.copy_(value)
    _written(target)
    sent.writes = _writes(target)


def _writes(local: Tensor) -> int:
    """Return how often a part's memory was written to; torch counts writes to whole arrays only."""
    return getattr(local.untyped_storage(), "writes", 0)


def _places(sent: Sent, target: Tensor, values: Tensor) -> list[tuple[Tensor, Tensor]]:
    """Return pairs: elements of this process's part that are in the view, and the view's values for them."""
    source = sent.source
    shape, offsets = part_of(source.shape, source.device_mesh, source.placements)
    cut = {p.dim for p in source.placements if isinstance(p, Shard)}
    if sent.operation is aten.select.int:
        dim, index = sent.args[0] % source.dim(), sent.args[1]
        at = index % source.shape[dim] - offsets[dim]
        return [(target.select(dim, at), values)] if 0 <= at < shape[dim] else []
    if sent.operation is aten.slice.Tensor:
        dim, step = sent.args[0] % source.dim(), sent.args[3]
        start, end, _ = slice(*sent.args[1:3]).indices(source.shape[dim])
        first = max(0, -((start - offsets[dim]) // step))  # the first element of the slice in this part
        last = max(first, -((start - min(end, offsets[dim] + shape[dim])) // step))
        if first == last:
            return []
        begin = start + first * step - offsets[dim]
        here = target.narrow(dim, begin, shape[dim] - begin)
        chosen = here[(slice(None),) * dim + (slice(None, None, step),)].narrow(dim, 0, last - first)
        return [(chosen, values.narrow(dim, first, last - first))]
    if sent.operation is aten.diagonal.default:
        offset, one, other = sent.args[0], sent.args[1] % source.dim(), sent.args[2] % source.dim()
        if one in cut and other in cut:
            raise ShardingError(f"{caller()}the diagonal of an array that is cut along both axes: gather it")
        shift = offset + offsets[one] - offsets[other]
        here = target.diagonal(shift, one, other)
        first = max(0, -shift) + offsets[one] - max(0, -offset)
        return [(here, values.narrow(-1, first, here.shape[-1]))] if here.shape[-1] else []
    values = values.reshape(source.shape)
    for dim in cut:
        values = values.narrow(dim, offsets[dim], shape[dim])
    return [(target, values)]


# ---------------------------------------------------------------------------------------------------------------------
# Operations


def _renamed(operation: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    return _unmixed(MISNAMED[operation], args, kwargs)


def _unmixed(operation: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Run the operation. Raise ShardingError for ordinary operands beside sharded ones, and where torch has no rule."""
    try:
        return operation(*args, **kwargs)
    except RuntimeError as error:
        if messages.says(error, messages.MIXED_WITH_SHARDED):
            given = [each for arg in args for each in (arg if isinstance(arg, (list, tuple)) else (arg,))]
            raise memory.mixed_error(*[each for each in given if isinstance(each, Tensor)]) from None
        if messages.says(error, messages.UNSUPPORTED_OF_SHARDED):
            raise ShardingError(f"{caller()}{operation} of a sharded array: use tnp.distributed.gather(x)") from None
        raise


def _gather(operation: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Gather elements of a sharded axis: each process contributes its own as bits, and the bits are summed."""
    tensor, dim, index = args[:3]
    dim %= max(1, index.dim())
    if not (isinstance(tensor, DTensor) and isinstance(index, DTensor)) or not any(
        _cuts(p, dim) for p in tensor.placements
    ):
        return _unmixed(operation, args, kwargs)
    same = all(tensor.shape[axis] == index.shape[axis] for axis in range(index.dim()) if axis != dim)
    if not same or any(isinstance(p, Partial) for p in tensor.placements):
        where = [Replicate()] * tensor.device_mesh.ndim
        return operation(tensor.redistribute(placements=where), dim, index.redistribute(placements=where))
    mesh, kept = tensor.device_mesh, [Replicate() if _cuts(p, dim) else p for p in tensor.placements]
    index = index.redistribute(placements=kept)
    shape, offsets = part_of(tensor.shape, mesh, tensor.placements)
    local = local_of(index) - offsets[dim]
    here = (local >= 0) & (local < shape[dim])
    values = torch.zeros(local.shape, dtype=tensor.dtype, device=local.device)
    if shape[dim]:
        found = local_of(tensor).gather(dim, local.clamp(0, shape[dim] - 1))
        values = torch.where(here, found, values)
    bits = values.view(torch.uint8)  # the sum of the numbers -0.0 and 0.0 would be 0.0
    parts = [Partial() if _cuts(p, dim) else p for p in tensor.placements]
    bits = local_of(DTensor.from_local(bits, mesh, parts, run_check=False).redistribute(placements=kept))
    return DTensor.from_local(
        bits.view(tensor.dtype), mesh, kept, run_check=False, shape=index.shape, stride=index.stride()
    )


def _frexp(operation: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Tensor, ...]:
    """Run frexp on each part: torch 2.11 has no rule for operations with two results."""
    tensor = _placed(args[0], lambda p: isinstance(p, Partial))
    return tuple([_like(tensor, part) for part in operation(local_of(tensor))])


def _along_whole_axes(operation: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Tensor:
    """Run on each part, after gathering the named axes (all if none is named): torch 2.11 has no rule."""
    tensor, *rest = args
    given = _by_name(operation, args, kwargs)
    axes = _axes(given.get("dims", given.get("dim")), tensor.dim())
    tensor = _placed(tensor, lambda p: isinstance(p, Partial) or any(_cuts(p, axis) for axis in axes))
    return _like(tensor, operation(local_of(tensor), *rest, **kwargs))


def _squeeze(operation: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Drop the array's axes of length one; torch 2.11 drops those of each process's part."""
    tensor = args[0]
    for axis in reversed([axis for axis, length in enumerate(tensor.shape) if length == 1]):
        tensor = aten.squeeze.dim(tensor, axis)
    return aten.alias.default(tensor) if tensor is args[0] else tensor


def _truth(operation: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Tensor:
    """Reduce each part, then the results: torch 2.11 has no rule for several axes, and 2.15 gathers the array first."""
    given, tensor = _by_name(operation, args, kwargs), args[0]
    axes = _axes(given.get("dim"), tensor.dim())
    tensor = _placed(tensor, lambda p: isinstance(p, (Partial, StridedShard)))
    part = operation(local_of(tensor), *args[1:], **kwargs)
    left = [axis for axis in range(tensor.dim()) if given.get("keepdim") or axis not in axes]
    shape = torch.Size([1 if axis in axes else tensor.shape[axis] for axis in left])
    combined = Partial("max" if operation.overloadpacket is aten.any else "min")

    def placed(placement: Placement) -> Placement:
        if not isinstance(placement, Shard):
            return placement
        return combined if placement.dim in axes else Shard(left.index(placement.dim))

    where, stride = [placed(p) for p in tensor.placements], make_contiguous_strides_for(shape)
    return DTensor.from_local(part, tensor.device_mesh, where, run_check=False, shape=shape, stride=stride)


def _by_name(operation: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
    """Return the given arguments of an operation by name."""
    return dict(zip([argument.name for argument in schema_of(operation).arguments], args, strict=False)) | kwargs


def _placed(tensor: Any, is_replaced: Callable[[Placement], bool]) -> Any:
    """Replicate the array along the axes of the mesh whose placements ``is_replaced`` selects."""
    return tensor.redistribute(placements=[Replicate() if is_replaced(p) else p for p in tensor.placements])


def _like(tensor: Any, part: Tensor) -> Tensor:
    """Return a sharded array in C order, with the shape of ``tensor``, from this process's part."""
    where, mesh, shape = tensor.placements, tensor.device_mesh, tensor.shape
    stride = make_contiguous_strides_for(shape)
    return DTensor.from_local(part.contiguous(), mesh, where, run_check=False, shape=shape, stride=stride)


def _extreme(operation: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Return a maximum or a minimum. An empty part has none, so the axis is gathered if a process has an empty part."""
    return operation(_with_parts(args), *args[1:], **kwargs)


def _place_of_extreme(operation: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    tensor = _with_parts(args)
    if (
        len(args) < 2 or args[1] is None
    ) and torch.__version__ < "2.12":  # 2.11 sends the numbers of all axes without an axis
        tensor = _placed(tensor, lambda p: True)
    if tensor.dtype in WIDER:  # torch sends these numbers itself; the wider dtype has the same order
        tensor = tensor.to(WIDER[tensor.dtype])
    return operation(tensor, *args[1:], **kwargs)


def _with_parts(args: tuple[Any, ...]) -> Any:
    """Return the operand, gathered if some process has no elements along a reduced axis."""
    tensor, axes = args[0], args[1] if len(args) > 1 else None
    if not _has_empty_part(tensor, _axes(axes, tensor.dim())):
        return tensor
    return tensor.redistribute(placements=[Replicate()] * tensor.device_mesh.ndim)


def _axes(named: Any, dim: int) -> set[int]:
    """Return the axes that a reduction names; all if it names none."""
    listed = [named] if isinstance(named, int) else named
    return {axis % max(dim, 1) for axis in listed} if listed else set(range(dim))


def _has_empty_part(tensor: DTensor, axes: set[int]) -> bool:
    """Whether some process has no elements along one of these axes, although the axis has a length."""
    for dim, placement in enumerate(tensor.placements):
        if isinstance(placement, Shard) and placement.dim in axes:
            length, processes = tensor.shape[placement.dim], tensor.device_mesh.size(dim)
            if length and math.ceil(length / math.ceil(length / processes)) < processes:
                return True
    return False


def _cuts(placement: Placement, axis: int) -> bool:
    return isinstance(placement, Shard) and placement.dim == axis


# ---------------------------------------------------------------------------------------------------------------------
# Refusals


def caller() -> str:
    """Return the name of the public tnp function that the program called, with a colon; "" if it has no public name."""
    name, frame = "", sys._getframe(1)
    while frame is not None and trace_state.is_own(frame.f_code.co_filename):
        module, function = frame.f_globals.get("__name__", ""), frame.f_code.co_name
        if module.partition(".")[0] == "tnp" and not function.startswith("_"):
            name = f"tnp.{function}: " if function not in ("operator", "reflected", "inplace") else ""
        frame = frame.f_back  # type: ignore[assignment]
    return name


def _ruled(propagated: Callable[..., Any], operation: Any, args: Any, *rest: Any) -> Any:
    """Return DTensor's sharding rule for an operation; a refusal says what to do instead.

    Parts are combined before a number is read: DTensor's ``item()`` of a sum in parts silently returns one part.
    """
    operands = operands_of(args)
    if operation is aten._local_scalar_dense.default:
        return dtensor.rule_of_reading(operation, operands[0])
    try:
        rule = propagated(operation, args, *rest)
    except (RuntimeError, NotImplementedError) as error:
        if not messages.says(error, messages.NO_SHARDING_RULE):
            raise
        raise ShardingError(
            f"{caller()}torch has no rule for {operation} of an array that is sharded so: use "
            f"tnp.distributed.gather(x), or shard it along another axis ({str(error).strip().splitlines()[0]})"
        ) from error
    schema = getattr(rule, "redistribute_schema", None)
    name = operation.overloadpacket.__name__
    if name in ORDERING and schema is not None and _is_gathered(operands, schema):
        raise ShardingError(
            f"{caller()}{name} along a sharded axis takes all of it in one process: use "
            "tnp.distributed.gather(x), or shard(x, mesh, axis) along another axis"
        )
    return rule


def _is_gathered(operands: list[Any], schema: Any) -> bool:
    """Whether a rule asks for operands without shards, and an operand has one."""
    cut = any(isinstance(p, Shard) for operand in operands for p in operand.placements)
    kept = any(isinstance(p, Shard) for spec in schema.args_spec for p in spec.placements)
    return cut and not kept
