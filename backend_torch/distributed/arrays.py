"""Sharded tensors on torch.distributed's DTensor: how they are made, gathered, drawn and saved.

Layer: owns all that uses DTensor. The import loads torch.distributed.tensor, which takes a second, so only this room
imports it. The module registers the class with `memory` and `transfers`; programs without it pay for no check.
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
_RESPITE = 0.2  # seconds that other threads get to let go of tensors


# ---------------------------------------------------------------------------------------------------------------------
# Processes


def init(device: str, timeout: float) -> None:
    """Join the processes that torchrun started, or be the only process. Do nothing if that is done already."""
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
    """End the process groups, after a wait for their threads to let go of the last tensors.

    A gloo thread takes the interpreter's lock to let go of a tensor, and aborts the process if Python ends meanwhile.
    torch does not join the threads of a mesh's groups.
    """
    if dist.is_initialized():
        time.sleep(_RESPITE)
        dist.destroy_process_group()


def rank() -> int:
    """Return this process's number."""
    return dist.get_rank() if dist.is_initialized() else 0


def size() -> int:
    """Return the number of processes."""
    return dist.get_world_size() if dist.is_initialized() else 1


def barrier() -> None:
    """Wait until all processes have called this function."""
    if dist.is_initialized():
        dist.barrier()


def mesh(device: str, shape: tuple[int, ...], names: tuple[str, ...]) -> Mesh:
    """Return a grid of the processes."""
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
    """Return DTensor's placements: for each dimension of the mesh the axis that is cut along it, None if no axis is."""
    dtensor.adopt(where)
    return tuple([Replicate() if axis is None else Shard(axis) for axis in axes])


def place(tensor: Tensor, where: Mesh, axes: Sequence[int | None]) -> Tensor:
    """Cut a tensor along these axes. Nothing is sent of an ordinary tensor, which each process has whole."""
    if isinstance(tensor, DTensor):
        if tensor.device_mesh != where:
            raise ValueError("the array lies over another mesh: gather it first")
        return tensor.redistribute(where, placements(where, axes))
    return distribute_tensor(tensor, where, placements(where, axes), src_data_rank=None)


def whole(tensor: Any) -> Tensor:
    """Return the whole tensor, with the parts of the other processes."""
    if not isinstance(tensor, DTensor):
        return tensor
    return tensor.full_tensor()


def part(tensor: Tensor) -> Tensor:
    """Return this process's part, after parts of sums are combined."""
    if not isinstance(tensor, DTensor):
        return tensor
    if any(isinstance(p, Partial) for p in tensor.placements):
        tensor = tensor.redistribute(placements=[Replicate() if p.is_partial() else p for p in tensor.placements])
    return tensor.to_local()


def sharding(tensor: Tensor) -> tuple[Mesh, tuple[Axis, ...]] | None:
    """Return the mesh, and for each of its dimensions the cut axis, None, or the reduction that is still to be done."""
    if not isinstance(tensor, DTensor):
        return None
    return tensor.device_mesh, tuple([_axis(p) for p in tensor.placements])


def _axis(placement: Placement) -> Axis:
    if isinstance(placement, Shard):
        return placement.dim
    return placement.reduce_op if isinstance(placement, Partial) else None


Layout = tuple[Mesh, tuple[Placement, ...], tuple[int, ...], tuple[int, ...]]


def layout(tensor: Tensor) -> Layout | None:
    """Return what describes a sharded tensor besides its part; None for an ordinary tensor."""
    if not isinstance(tensor, DTensor):
        return None
    return tensor.device_mesh, tensor.placements, tuple(tensor.shape), tensor.stride()


def held(tensor: Tensor) -> Tensor:
    """Return this process's part as it is, even if it is a part of a sum."""
    return tensor.to_local() if isinstance(tensor, DTensor) else tensor


def put_together(local: Tensor, kept: Layout | None) -> Any:
    """Return the tensor with this layout from this process's part."""
    if kept is None:
        return local
    where, places, shape, stride = kept
    return DTensor.from_local(local, where, places, run_check=False, shape=torch.Size(shape), stride=stride)


def _assembled(local: Tensor, shape: tuple[int, ...], where: Mesh, kept: Sequence[Placement]) -> Tensor:
    return put_together(
        local, (where, tuple(kept), shape, tuple([math.prod(shape[axis + 1 :]) for axis in range(len(shape))]))
    )


# ---------------------------------------------------------------------------------------------------------------------
# Random numbers: element i of a draw is a function of a key and of i, and does not depend on the process.


class Keys:
    """A sequence of keys from a seed, the same in each process."""

    def __init__(self, seed: int) -> None:
        self._generator = torch.Generator()
        self._generator.manual_seed(seed)

    def draw(self) -> Tensor:
        """Return the next key."""
        return uniform.new_key(self._generator)

    @property
    def state(self) -> Tensor:
        """The generator's state, for a checkpoint."""
        return self._generator.get_state()

    @state.setter
    def state(self, state: Tensor) -> None:
        self._generator.set_state(state)


def uniform_part(
    keys: Sequence[Tensor], shape: tuple[int, ...], dtype: torch.dtype, where: Mesh, axes: Sequence[int | None]
) -> list[Tensor]:
    """Return a tensor of uniform numbers in [0, 1) for each key; each process makes its own part."""
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
    """Write tensors to a folder, each process its part. A former checkpoint stays until all is written."""
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
    """Return the folder of a complete checkpoint; None if there is none."""
    return next((each for each in (path, f"{path}.former") if os.path.isfile(os.path.join(each, ".metadata"))), None)


def saved(folder: str) -> dict[str, tuple[tuple[int, ...], torch.dtype]]:
    """Return the shapes and dtypes of a checkpoint's tensors."""
    entries = checkpoint.FileSystemReader(folder).read_metadata().state_dict_metadata
    return {name: (tuple(entry.size), entry.properties.dtype) for name, entry in entries.items()}  # type: ignore[union-attr]


def restore(folder: str, tensors: Mapping[str, Tensor]) -> None:
    """Read a checkpoint into the memory of tensors, which may be sharded in another way than the saved ones."""
    with torch.no_grad():
        checkpoint.load(dict(tensors), checkpoint_id=folder, no_dist=not dist.is_initialized())


# ---------------------------------------------------------------------------------------------------------------------
# Transfers: what collectives send


def _sent(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Iterator[Event]:
    """Yield what this process sends in a collective: its part, or its share of the two rounds of a sum."""
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
