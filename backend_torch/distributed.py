"""Tensors over several processes: torch.distributed's DTensor, how it is made, gathered, drawn, saved and refused.

Layer: owns all that knows DTensor. Importing it loads torch.distributed.tensor (a second), so nothing else imports it:
it tells `memory` and `transfers` of the class, and ordinary tensors are never asked whether they are sharded.
"""

from __future__ import annotations

import atexit
import datetime
import math
import os
import shutil
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import torch
import torch.distributed as dist
from torch.distributed import checkpoint
from torch.distributed.device_mesh import DeviceMesh, init_device_mesh
from torch.distributed.tensor import DTensor, Partial, Placement, Replicate, Shard, distribute_tensor
from torch.distributed.tensor._dtensor_spec import DTensorSpec
from torch.distributed.tensor._op_schema import OpSchema, OutputSharding
from torch.distributed.tensor._utils import compute_local_shape_and_global_offset

from backend_torch import memory, tracing, transfers, uniform
from backend_torch.transfers import Event

Tensor = torch.Tensor
Mesh = DeviceMesh
Axis = int | str | None
BACKENDS = {"cuda": "nccl", "xpu": "xccl"}
# An order over a sharded axis takes all its elements: DTensor would give each process the whole array.
# gloo sends no such numbers: what goes in their place.
WIDER = {torch.int16: torch.int32, torch.uint16: torch.int32, torch.uint32: torch.int64, torch.uint64: torch.int64}
ORDERING = frozenset({"sort", "argsort", "topk", "kthvalue", "median", "nanmedian", "mode", "unique_dim", "_unique2"})
EXTREMES = frozenset({"amax", "amin", "max", "min", "aminmax", "argmax", "argmin"})  # nothing has none


# ---------------------------------------------------------------------------------------------------------------------
# Processes


def init(device: str, timeout: float) -> None:
    """Join the processes that torchrun started, or be the only one; nothing if that is done."""
    _prepare_dispatcher()
    if dist.is_initialized():
        return
    options: dict[str, Any] = {"backend": BACKENDS.get(device, "gloo")}
    options["timeout"] = datetime.timedelta(seconds=timeout)
    if not dist.is_torchelastic_launched():
        options |= {"store": dist.HashStore(), "rank": 0, "world_size": 1}
    elif device in BACKENDS:
        torch.accelerator.set_device_index(int(os.environ["LOCAL_RANK"]))
    dist.init_process_group(**options)
    atexit.register(_leave)


def _leave() -> None:
    if dist.is_initialized():
        dist.destroy_process_group()


def rank() -> int:
    """Which of the processes this is."""
    return dist.get_rank() if dist.is_initialized() else 0


def size() -> int:
    """How many processes there are."""
    return dist.get_world_size() if dist.is_initialized() else 1


def barrier() -> None:
    """Wait until all processes are here."""
    if dist.is_initialized():
        dist.barrier()


def mesh(device: str, shape: tuple[int, ...], names: tuple[str, ...]) -> Mesh:
    """The processes in a grid."""
    if not dist.is_initialized():
        raise RuntimeError("there are no processes yet: call tnp.distributed.init() first")
    if math.prod(shape) != size():
        raise ValueError(f"a mesh of shape {shape} has {math.prod(shape)} places for {size()} processes")
    if len(names) != len(shape) or len(set(names)) != len(names):
        raise ValueError(f"a mesh of shape {shape} needs {len(shape)} different names, not {names}")
    return init_device_mesh(device, shape, mesh_dim_names=names)


# ---------------------------------------------------------------------------------------------------------------------
# Arrays


def is_sharded(tensor: Tensor) -> bool:
    """Whether a tensor lies over several processes, or could."""
    return isinstance(tensor, DTensor)


def placements(where: Mesh, axes: Sequence[int | None]) -> tuple[Placement, ...]:
    """For each dimension of the mesh the axis that is cut along it, None where all have the same."""
    return tuple([Replicate() if axis is None else Shard(axis) for axis in axes])


def place(tensor: Tensor, where: Mesh, axes: Sequence[int | None]) -> Tensor:
    """A tensor that each process has whole, or a sharded one, cut along these axes; nothing is sent of the first."""
    if isinstance(tensor, DTensor):
        if tensor.device_mesh != where:
            raise ValueError("the array lies over another mesh: gather it first")
        return tensor.redistribute(where, placements(where, axes))
    return distribute_tensor(tensor, where, placements(where, axes), src_data_rank=None)


def whole(tensor: Any) -> Tensor:
    """The whole tensor in each process, received from the others."""
    if not isinstance(tensor, DTensor):
        return tensor
    wider = WIDER.get(tensor.dtype)
    if wider is None:
        return tensor.full_tensor()
    if wider is torch.int64 and tensor.dtype is torch.uint64:
        if any(isinstance(p, Partial) and p.reduce_op != "sum" for p in tensor.placements):
            raise ShardingError(f"uint64 numbers can't be combined by {tensor.placements}")
        return put_together(tensor.to_local().view(wider), layout(tensor)).full_tensor().view(tensor.dtype)
    return put_together(tensor.to_local().to(wider), layout(tensor)).full_tensor().to(tensor.dtype)


def part(tensor: Tensor) -> Tensor:
    """What this process holds."""
    if not isinstance(tensor, DTensor):
        return tensor
    if any(isinstance(p, Partial) for p in tensor.placements):
        tensor = tensor.redistribute(placements=[Replicate() if p.is_partial() else p for p in tensor.placements])
    return tensor.to_local()


def sharding(tensor: Tensor) -> tuple[Mesh, tuple[Axis, ...]] | None:
    """The mesh, and for each of its dimensions the axis that is cut, None, or how parts are still to be combined."""
    if not isinstance(tensor, DTensor):
        return None
    return tensor.device_mesh, tuple([_axis(p) for p in tensor.placements])


def _axis(placement: Placement) -> Axis:
    if isinstance(placement, Shard):
        return placement.dim
    return placement.reduce_op if isinstance(placement, Partial) else None


Layout = tuple[Mesh, tuple[Placement, ...], tuple[int, ...], tuple[int, ...]]


def layout(tensor: Tensor) -> Layout | None:
    """All of a sharded tensor but its part; None of an ordinary one."""
    if not isinstance(tensor, DTensor):
        return None
    return tensor.device_mesh, tensor.placements, tuple(tensor.shape), tensor.stride()


def held(tensor: Tensor) -> Tensor:
    """The part as it is, even of a sum that is still to be made."""
    return tensor.to_local() if isinstance(tensor, DTensor) else tensor


def put_together(local: Tensor, kept: Layout | None) -> Any:
    """A tensor of this process' part of it."""
    if kept is None:
        return local
    where, places, shape, stride = kept
    return DTensor.from_local(local, where, places, run_check=False, shape=torch.Size(shape), stride=stride)


def _part_of(shape: tuple[int, ...], where: Mesh, kept: Sequence[Placement]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The shape of this process' part, and where it begins."""
    local, offset = compute_local_shape_and_global_offset(shape, where, kept)
    return tuple(local), tuple(offset)


def _assembled(local: Tensor, shape: tuple[int, ...], where: Mesh, kept: Sequence[Placement]) -> Tensor:
    return put_together(
        local, (where, tuple(kept), shape, tuple([math.prod(shape[axis + 1 :]) for axis in range(len(shape))]))
    )


# ---------------------------------------------------------------------------------------------------------------------
# Random numbers: element i of a draw is a function of a key and of i, whoever makes it.


class Keys:
    """The keys of one seed, the same in each process."""

    def __init__(self, seed: int) -> None:
        self._generator = torch.Generator()
        self._generator.manual_seed(seed)

    def draw(self) -> Tensor:
        """The next key."""
        return uniform.new_key(self._generator)

    @property
    def state(self) -> Tensor:
        """The generator's state, to be saved."""
        return self._generator.get_state()

    @state.setter
    def state(self, state: Tensor) -> None:
        self._generator.set_state(state)


def uniform_part(
    keys: Sequence[Tensor], shape: tuple[int, ...], dtype: torch.dtype, where: Mesh, axes: Sequence[int | None]
) -> list[Tensor]:
    """For each key uniform numbers in [0, 1) of a shape, of which each process makes its own part."""
    kept = placements(where, axes)
    local, offset = _part_of(shape, where, kept)
    index = torch.zeros((), dtype=torch.int64)
    for axis, (length, start) in enumerate(zip(local, offset, strict=True)):
        index = index[..., None] * shape[axis] + torch.arange(start, start + length)
    parts = [uniform.at(key, index, dtype).to(where.device_type) for key in keys]
    return [_assembled(each, shape, where, kept) for each in parts]


# ---------------------------------------------------------------------------------------------------------------------
# Checkpoints


def save(path: str, tensors: Mapping[str, Tensor]) -> None:
    """Write tensors to a folder, each process its part; what was there before stays until all is written."""
    writing, former = f"{path}.writing", f"{path}.former"
    if rank() == 0:
        shutil.rmtree(writing, ignore_errors=True)
        if not os.path.isdir(path) and os.path.isdir(former):
            os.replace(former, path)
    barrier()
    checkpoint.save(dict(tensors), checkpoint_id=writing, no_dist=not dist.is_initialized())
    barrier()
    if rank() == 0:
        shutil.rmtree(former, ignore_errors=True)
        if os.path.isdir(path):
            os.replace(path, former)
        os.replace(writing, path)
        shutil.rmtree(former, ignore_errors=True)
    barrier()


def found(path: str) -> str | None:
    """The folder of a checkpoint that is complete; None if there is none."""
    return next((each for each in (path, f"{path}.former") if os.path.isfile(os.path.join(each, ".metadata"))), None)


def saved(folder: str) -> dict[str, tuple[tuple[int, ...], torch.dtype]]:
    """The shapes and dtypes of what a checkpoint holds."""
    entries = checkpoint.FileSystemReader(folder).read_metadata().state_dict_metadata
    return {name: (tuple(entry.size), entry.properties.dtype) for name, entry in entries.items()}  # type: ignore[union-attr]


def restore(folder: str, tensors: Mapping[str, Tensor]) -> None:
    """Read tensors from a checkpoint into their memory, however they are sharded now."""
    with torch.no_grad():
        checkpoint.load(dict(tensors), checkpoint_id=folder, no_dist=not dist.is_initialized())


# ---------------------------------------------------------------------------------------------------------------------
# Refusals


class ShardingError(ValueError, RuntimeError):
    """What can't be computed of arrays over several processes.

    It is a RuntimeError to torch, which raises one here, and a ValueError as for operands on different devices.
    """


def _caller() -> str:
    """The function of ours that the program called, by its name where it has one."""
    name, frame = "", sys._getframe(1)
    inner = tracing._inner()
    while frame is not None and frame.f_code.co_filename.startswith(inner):
        module, function = frame.f_globals.get("__name__", ""), frame.f_code.co_name
        if module.partition(".")[0] == "tnp" and not function.startswith("_"):
            name = f"tnp.{function}: " if function not in ("operator", "reflected", "inplace") else ""
        frame = frame.f_back  # type: ignore[assignment]
    return name


def _prepare_dispatcher() -> None:
    """Let DTensor's dispatcher refuse in words that say what to do, and combine parts before a number is read.

    ``item()`` of a sum that is still to be made gives the process' own part of it, in silence. The names are torch's
    private ones: without them nothing here would be right, so that their absence is an error.
    """
    dispatcher = DTensor._op_dispatcher
    propagated = getattr(dispatcher, "_propagate_op_sharding_dispatch_slow_path", None)
    if propagated is None:
        raise RuntimeError(f"tnp.distributed does not know the dispatcher of torch {torch.__version__}")
    if getattr(propagated, "is_ours", False):
        return

    def ruled(operation: Any, args: Any, *rest: Any) -> Any:
        name = operation.overloadpacket.__name__
        operands = [each for arg in args for each in (arg if isinstance(arg, (list, tuple)) else (arg,))]
        operands = [each for each in operands if isinstance(each, DTensor)]
        if name in EXTREMES:
            _check_parts(operation, args)
        if operation is torch.ops.aten._local_scalar_dense.default:
            return _read_whole(operation, operands[0])
        try:
            rule = propagated(operation, args, *rest)
        except (RuntimeError, NotImplementedError) as error:
            if "harding" not in str(error):
                raise
            raise ShardingError(
                f"{_caller()}torch has no rule for {operation} of an array that is sharded so: use "
                f"tnp.distributed.gather(x), or shard it along another axis ({str(error).strip().splitlines()[0]})"
            ) from error
        schema = getattr(rule, "redistribute_schema", None)
        if name in ORDERING and schema is not None and _is_gathered(operands, schema):
            raise ShardingError(
                f"{_caller()}{name} along a sharded axis takes all of it in one process: use "
                "tnp.distributed.gather(x), or shard(x, mesh, axis) along another axis"
            )
        return rule

    ruled.is_ours = True  # type: ignore[attr-defined]
    dispatcher._propagate_op_sharding_dispatch_slow_path = ruled  # type: ignore[method-assign, assignment]
    handlers = dispatcher._custom_op_handlers
    for operation in (torch.ops.aten.argmax.default, torch.ops.aten.argmin.default):
        handlers[operation] = _after_check(handlers[operation])


def _after_check(handler: Callable[..., Any]) -> Callable[..., Any]:
    def checked(operation: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        _check_parts(operation, args)
        return handler(operation, args, kwargs)

    return checked


def _check_parts(operation: Any, args: tuple[Any, ...]) -> None:
    """ShardingError, in each process alike, where one has no elements along a reduced axis: torch raises in that."""
    tensor, axes = args[0], args[1] if len(args) > 1 else None
    axes = range(tensor.dim()) if axes is None or axes == [] else axes if isinstance(axes, (list, tuple)) else [axes]
    if isinstance(tensor, DTensor) and _has_empty_part(tensor, {axis % tensor.dim() for axis in axes}):
        raise ShardingError(
            f"{_caller()}{operation} of an array of which a process has no part: gather it, or shard it along a longer "
            "axis"
        )


def _read_whole(operation: Any, tensor: DTensor) -> OutputSharding:
    """The rule of reading a number: of all parts, combined."""
    spec = DTensorSpec(
        tensor.device_mesh, (Replicate(),) * tensor.device_mesh.ndim, tensor_meta=tensor._spec.tensor_meta
    )
    return OutputSharding(None, OpSchema(operation, (spec,), {}), needs_redistribute=tensor._spec != spec)


def _has_empty_part(tensor: DTensor, axes: set[int]) -> bool:
    """Whether some process has nothing along one of these axes, which has a length."""
    for dim, placement in enumerate(tensor.placements):
        if isinstance(placement, Shard) and placement.dim in axes:
            length, processes = tensor.shape[placement.dim], tensor.device_mesh.size(dim)
            if length and math.ceil(length / math.ceil(length / processes)) < processes:
                return True
    return False


def _is_gathered(operands: list[Any], schema: Any) -> bool:
    """Whether what a rule asks for has no shard any more where an operand has one."""
    cut = any(isinstance(p, Shard) for operand in operands for p in operand.placements)
    kept = any(isinstance(p, Shard) for spec in schema.args_spec for p in spec.placements)
    return cut and not kept


# ---------------------------------------------------------------------------------------------------------------------
# What is sent, as transfers


def _sent(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Iterator[Event]:
    """What this process gives to the others: its part, or its share of a sum's two rounds."""
    tensor = args[0]
    if size() > 1 and tensor.numel():
        yield tensor.device, tensor.device, tensor.nbytes, True


def _register() -> None:
    collectives = torch.ops._c10d_functional
    names = ("all_reduce", "all_gather_into_tensor", "reduce_scatter_tensor", "all_to_all_single", "broadcast")
    for name in names:
        transfers.RULES[getattr(collectives, name)] = _sent
    transfers.looked_into.add(DTensor)
    memory.sharded.append(DTensor)


_register()
