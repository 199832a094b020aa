"""Tensors over several processes: torch.distributed's DTensor, how it is made, gathered, drawn and saved.

Layer: owns all that knows DTensor. Importing it loads torch.distributed.tensor (a second), so nothing else imports it:
it tells `memory` and `transfers` of the class, and ordinary tensors are never asked whether they are sharded.
"""

from __future__ import annotations

import atexit
import datetime
import math
import os
import shutil
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import torch
import torch.distributed as dist
from torch.distributed import checkpoint
from torch.distributed.device_mesh import DeviceMesh, init_device_mesh
from torch.distributed.tensor import DTensor, Partial, Placement, Replicate, Shard, distribute_tensor

from backend_torch.distributed import operations
from backend_torch.random import uniform
from backend_torch.tensors import memory, transfers
from backend_torch.tensors.transfers import Event
from backend_torch.torch_private import dtensor
from backend_torch.torch_private.dtensor import part_of

Tensor = torch.Tensor
Mesh = DeviceMesh
Axis = int | str | None
BACKENDS = {"cuda": "nccl", "xpu": "xccl"}
_RESPITE = 0.2  # seconds in which other threads have the interpreter


# ---------------------------------------------------------------------------------------------------------------------
# Processes


def init(device: str, timeout: float) -> None:
    """Join the processes that torchrun started, or be the only one; nothing if that is done."""
    operations.prepare()
    if dist.is_initialized():
        return
    options: dict[str, Any] = {"backend": BACKENDS.get(device, "gloo")}
    options["timeout"] = datetime.timedelta(seconds=timeout)
    if not dist.is_torchelastic_launched():
        options |= {"store": dist.HashStore(), "rank": 0, "world_size": 1}
    if device in BACKENDS:
        torch.accelerator.set_device_index(int(os.environ.get("LOCAL_RANK", torch.accelerator.current_device_index())))
    dist.init_process_group(**options)
    atexit.register(_leave)


def _leave() -> None:
    """End the groups, once their threads have let go of the last tensors.

    A thread of gloo that does so takes the interpreter's lock; where Python ends meanwhile, that aborts the process. Of
    a mesh's groups torch joins no threads.
    """
    if dist.is_initialized():
        time.sleep(_RESPITE)
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
    return dtensor.adopt(init_device_mesh(device, shape, mesh_dim_names=names))


# ---------------------------------------------------------------------------------------------------------------------
# Arrays


def placements(where: Mesh, axes: Sequence[int | None]) -> tuple[Placement, ...]:
    """For each dimension of the mesh the axis that is cut along it, None where all have the same."""
    dtensor.adopt(where)
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
    return tensor.full_tensor()


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
    local, offset = part_of(shape, where, kept)
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
    memory.sharded[DTensor] = lambda tensor: dtensor.adopt(tensor.device_mesh)


_register()
