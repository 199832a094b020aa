"""Interop: tensors to and from other libraries and other devices.

Layer: owns DLPack, moves between devices and unpickling. ``memory`` shares with NumPy.
"""

from __future__ import annotations

import ctypes
import warnings
from typing import Any

import numpy as np
import torch
from torch.utils import dlpack

from backend_torch.tensors import devices, memory, trace_state
from backend_torch.tensors.dtypes import to_numpy
from backend_torch.tensors.memory import from_numpy, is_readable, is_sharded
from backend_torch.torch_private.modes import no_dispatch

_READ_ONLY = 1
_DEFAULT_STREAMS = (1, 2)  # of __cuda_array_interface__: CUDA's legacy one, and each thread's own
_FLAGS_AT = 24  # bytes into DLManagedTensorVersioned: behind the version, the manager's context and the deleter


def is_read_only(capsule: Any) -> bool:
    """Whether a DLPack capsule marks its memory as read-only; capsules before version 1 have no such mark."""
    is_valid, pointer = ctypes.pythonapi.PyCapsule_IsValid, ctypes.pythonapi.PyCapsule_GetPointer
    is_valid.argtypes = pointer.argtypes = [ctypes.py_object, ctypes.c_char_p]
    pointer.restype = ctypes.c_void_p
    name = b"dltensor_versioned"
    if not is_valid(capsule, name):
        return False
    return bool(ctypes.c_uint64.from_address(pointer(capsule, name) + _FLAGS_AT).value & _READ_ONLY)


class _Source:
    """Wraps an exporter for torch, and records the flag that torch ignores: read-only memory."""

    def __init__(self, source: Any) -> None:
        self.source = source
        self.read_only = False

    def __dlpack__(self, **options: Any) -> Any:
        capsule = self.source.__dlpack__(**options)
        self.read_only = is_read_only(capsule)
        return capsule

    def __dlpack_device__(self) -> Any:
        return self.source.__dlpack_device__()


def checked(tensor: torch.Tensor) -> torch.Tensor:
    """Return the tensor if an array can hold it; TypeError for a sparse one and for a dtype that NumPy lacks."""
    if tensor.layout is not torch.strided:
        raise TypeError(f"an array can't hold a tensor of layout {tensor.layout}: use tensor.to_dense()")
    if tensor.dtype not in to_numpy:
        raise TypeError(f"an array can't hold a tensor of {tensor.dtype}, which is no NumPy dtype: convert it first")
    if is_sharded(tensor):
        memory.sharded[type(tensor)](tensor)
    return tensor


def from_dlpack(source: Any, device: torch.device | None = None, copy: bool | None = None) -> torch.Tensor:
    """Return a tensor over the memory that ``source`` exports; a copy if it is read-only or on another device."""
    watched = _Source(source)
    if trace_state.is_tracing():
        with no_dispatch():  # what the other library computes now is no part of the graph, and has its values
            imported = dlpack.from_dlpack(watched)
    else:
        imported = dlpack.from_dlpack(watched)
    tensor = moved(imported, device)
    if copy is False:
        if watched.read_only:
            raise ValueError("the data is read-only, which a tensor can't be: it can't be had without a copy")
        if tensor is not imported:
            raise ValueError(f"the data is on {imported.device}: it can't be on {device} without a copy")
    if tensor is imported and (copy or watched.read_only):
        return tensor.clone()
    return tensor


def from_cuda(source: Any) -> torch.Tensor:
    """Return a tensor over the memory of ``source.__cuda_array_interface__``; a copy if it is read-only.

    It first waits for the work that the other library has queued, because torch ignores the interface's stream.
    """
    interface = source.__cuda_array_interface__
    tensor = torch.as_tensor(source, device="cuda")
    stream = interface.get("stream")
    if stream is not None:
        if stream in _DEFAULT_STREAMS:
            torch.cuda.synchronize(tensor.device)
        else:
            torch.cuda.current_stream(tensor.device).wait_stream(torch.cuda.ExternalStream(stream, tensor.device))
    return tensor.clone() if interface["data"][1] else tensor


def to_dlpack(
    tensor: torch.Tensor, stream: Any, max_version: tuple[int, int] | None, dl_device: Any, copy: bool | None
) -> Any:
    """Return the tensor's memory as a DLPack capsule; BufferError if a capsule can't describe the tensor."""
    if not is_readable(tensor):
        if is_sharded(tensor):
            raise BufferError("an array that lies over several processes can't be exported: tnp.distributed.gather(x)")
        raise BufferError("an array that is being traced or batched, or is on the meta device, has no memory to export")
    if tensor.requires_grad:
        raise BufferError("an exported array would lose its gradient: export x.tensor.detach()")
    if stream is not None and tensor.device.type == "cpu":
        raise RuntimeError("the memory of a CPU array has no stream: stream must be None")
    if tensor.is_conj() or tensor.is_neg():
        if copy is False:
            raise BufferError("a lazily conjugated or negated array can't be exported without a copy")
        tensor = tensor.resolve_conj().resolve_neg()
    options = {"max_version": max_version, "dl_device": dl_device, "copy": copy}
    try:
        return tensor.__dlpack__(stream=stream, **{name: value for name, value in options.items() if value is not None})
    except NotImplementedError:
        raise BufferError(f"an array on '{tensor.device}' can't be exported to the DLPack device {dl_device}") from None


def moved(
    tensor: torch.Tensor, device: torch.device | None, stream: Any = None, non_blocking: bool = False
) -> torch.Tensor:
    """Return the tensor on ``device``; itself if it is there, or for None."""
    if device is None:
        return tensor
    if stream is not None:
        if "cuda" not in (device.type, tensor.device.type):
            raise ValueError(
                "The stream argument in to_device() is not supported here and must be None: only a copy to or from a "
                "CUDA device has a stream"
            )
        if not isinstance(stream, torch.cuda.Stream):
            stream = torch.cuda.ExternalStream(stream)
        with torch.cuda.stream(stream):
            return moved(tensor, device, non_blocking=non_blocking)
    return tensor.to(device, non_blocking=non_blocking)


def pinned(tensor: torch.Tensor) -> torch.Tensor:
    """Return a CPU tensor's values in page-locked memory; itself if they are there."""
    if tensor.device.type != "cpu":
        raise ValueError(f"only the host's memory can be page-locked, and the array is on '{tensor.device}'")
    if devices.accelerator() is None:
        raise ValueError(f"page-locked memory is the driver's of an accelerator: {devices.available()}")
    return tensor.pin_memory()


def restored(array: np.ndarray, device: str, requires_grad: bool) -> torch.Tensor:
    """Return the tensor that a pickle holds, on its device if this machine has it, else on the CPU."""
    tensor = from_numpy(array)
    wanted = torch.device(device)
    if wanted.type != "cpu":
        if devices.is_present(wanted):
            tensor = tensor.to(wanted)
        else:
            warnings.warn(f"the array was on '{device}', which is not available here: it is now on the CPU",
                          stacklevel=3)  # fmt: skip
    return tensor.requires_grad_() if requires_grad else tensor
