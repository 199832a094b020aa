"""DTensor's dispatcher, and properties of a DTensor that only private names tell.

Layer: owns the patches of the dispatcher. They act on tensors whose mesh tnp made or met; torch handles all others.
Results would be wrong without the patches, so a missing name is an error. Importing this module loads
torch.distributed.tensor, which takes a second.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch._prims_common import make_contiguous_strides_for as make_contiguous_strides_for
from torch.distributed.device_mesh import DeviceMesh
from torch.distributed.tensor import DTensor, Placement, Replicate, _dispatch, _redistribute
from torch.distributed.tensor._dtensor_spec import DTensorSpec
from torch.distributed.tensor._op_schema import OpSchema, OutputSharding
from torch.distributed.tensor._utils import compute_local_shape_and_global_offset
from torch.distributed.tensor.placement_types import _StridedShard

Tensor = torch.Tensor
StridedShard = _StridedShard
Handler = Callable[[Any, tuple[Any, ...], dict[str, Any]], Any]
_meshes: set[DeviceMesh] = set()


def adopt(mesh: DeviceMesh) -> DeviceMesh:
    """Let the patches act on tensors over a mesh from now on; return the mesh."""
    _meshes.add(mesh)
    return mesh


def operands_of(args: Sequence[Any]) -> list[DTensor]:
    """Return the DTensors among the arguments of an operation."""
    given = [each for arg in args for each in (arg if isinstance(arg, (list, tuple)) else (arg,))]
    return [each for each in given if isinstance(each, DTensor)]


def _are_ours(args: Sequence[Any]) -> bool:
    return any(operand.device_mesh in _meshes for operand in operands_of(args))


def local_of(tensor: Any) -> Tensor:
    """Return this process's part of a DTensor, detached from autograd."""
    return tensor._local_tensor


def part_of(shape: Sequence[int], where: Any, kept: Sequence[Placement]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return the shape of this process's part, and its offset in the whole array."""
    local, offset = compute_local_shape_and_global_offset(tuple(shape), where, kept)
    return tuple(local), tuple(offset)


def rule_of_reading(operation: Any, tensor: Any) -> OutputSharding:
    """Return the sharding rule for reading a value (``item``): all parts are combined first."""
    mesh, spec = tensor.device_mesh, tensor._spec
    whole = DTensorSpec(mesh, (Replicate(),) * mesh.ndim, tensor_meta=spec.tensor_meta)
    return OutputSharding(None, OpSchema(operation, (whole,), {}), needs_redistribute=spec != whole)


def patch(ruled: Callable[..., Any], redistribute: Callable[..., Tensor], handlers: Mapping[Any, Handler]) -> None:
    """Patch the dispatcher for tensors over tnp's meshes; a second call does nothing.

    Parameters
    ----------
    ruled : callable
        ``ruled(theirs, operation, args, *rest)`` returns the sharding of an operation's operands and result.
        ``theirs(operation, args, *rest)`` is torch's rule.
    redistribute : callable
        ``redistribute(theirs, local, current, target, **options)`` moves this process's part to another placement.
        ``theirs`` is torch's function.
    handlers : mapping
        Operation -> the function that replaces it. Inside that function the operation is torch's own.
    """
    dispatcher: Any = DTensor._op_dispatcher
    propagated, redistributed = (
        dispatcher._propagate_op_sharding_dispatch_slow_path,
        _redistribute.redistribute_local_tensor,
    )
    if getattr(propagated, "is_ours", False):
        return

    def rule(operation: Any, args: Any, *rest: Any) -> Any:
        if _are_ours(args):
            return ruled(propagated, operation, args, *rest)
        return propagated(operation, args, *rest)

    def send(local: Tensor, current: Any, target: Any, **options: Any) -> Tensor:
        if current.mesh in _meshes:
            return redistribute(redistributed, local, current, target, **options)
        return redistributed(local, current, target, **options)

    rule.is_ours = True  # type: ignore[attr-defined]
    dispatcher._propagate_op_sharding_dispatch_slow_path = rule
    _redistribute.redistribute_local_tensor = send  # type: ignore[assignment]
    _dispatch.redistribute_local_tensor = send  # type: ignore[assignment]
    table = dispatcher._custom_op_handlers
    for operation, handler in handlers.items():
        table[operation] = _once(table, handler, table.get(operation))


def _once(table: dict[Any, Any], handler: Handler, former: Any) -> Handler:
    """Make a handler for tensors over tnp's meshes. For other tensors, and inside it, the operation is torch's own."""

    def handle(operation: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        mine = table.pop(operation, None)
        if former is not None:
            table[operation] = former
        try:
            return handler(operation, args, kwargs) if _are_ours(args) else operation(*args, **kwargs)
        finally:
            if mine is not None:
                table[operation] = mine

    return handle
