"""Transfers: copies between devices, and waits of the host for a device, recorded at torch's dispatcher.

Layer: owns the list of torch's operations that copy between devices or wait. The recorder is a dispatch mode, so a
thread without one pays nothing.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import torch

from backend_torch.tensors import devices, trace_state
from backend_torch.torch_private import modes
from backend_torch.torch_private.modes import Watching

Tensor = torch.Tensor
aten = torch.ops.aten

HOST = "cpu"
NOWHERE = "meta"
COUNT = 8  # bytes of the number of elements, for which a data-dependent shape waits


@dataclass(frozen=True)
class Transfer:
    """A copy between two devices, or a wait of the host for one.

    Attributes
    ----------
    operation : str
        torch's name of the operation.
    source, target : str
        The devices of the copy.
    nbytes : int
        The number of bytes; 0 if the host only waited.
    waits : bool
        Whether the host waited until the device was done.
    line : str
        File and line of the program.
    """

    operation: str
    source: str
    target: str
    nbytes: int
    waits: bool
    line: str

    def __str__(self) -> str:
        did = f"{self.nbytes} bytes from {self.source} to {self.target}" if self.nbytes else f"waited for {self.source}"
        waited = ", waited for" if self.nbytes and self.waits else ""
        return f"{self.line}: {did}{waited} ({self.operation})"


class TransferError(Exception):
    """A copy between devices, or a wait for one, where transfers are forbidden."""

    # Not a RuntimeError, which could be taken for one of torch's.


Event = tuple[torch.device, torch.device, int, bool]
"""Source, target, bytes, and whether the host waits."""
Rule = Callable[[tuple[Any, ...], dict[str, Any]], Iterator[Event]]


def _copy(source: torch.device, target: torch.device, nbytes: int, non_blocking: bool) -> Iterator[Event]:
    """Return a copy's record if the devices differ and have memory."""
    same = source.type == target.type and target.index in (None, source.index)
    if not same and nbytes and NOWHERE not in (source.type, target.type):
        yield source, target, nbytes, HOST in (source.type, target.type) and not non_blocking


def _wait(tensor: Tensor, nbytes: int = COUNT) -> Iterator[Event]:
    """Return the record of a value that the host waits for and reads."""
    if tensor.device.type not in (HOST, NOWHERE):
        yield tensor.device, torch.device(HOST), nbytes, True


def _to_copy(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Iterator[Event]:
    tensor, device = args[0], kwargs.get("device")
    itemsize = (kwargs.get("dtype") or tensor.dtype).itemsize  # torch casts first, to copy once
    if device is not None:
        yield from _copy(tensor.device, device, tensor.numel() * itemsize, kwargs.get("non_blocking") or False)


def _copy_(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Iterator[Event]:
    target, source = args[:2]
    non_blocking = args[2] if len(args) > 2 else kwargs.get("non_blocking", False)
    yield from _copy(source.device, target.device, target.nbytes, non_blocking)


def _lift(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Iterator[Event]:
    """``torch.tensor([...], device=...)``: torch copies below the dispatcher, so only this operation shows the copy."""
    yield from _copy(torch.device(HOST), args[0].device, args[0].nbytes, False)


def _read_number(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Iterator[Event]:
    yield from _wait(args[0], args[0].itemsize)


def _read_count(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Iterator[Event]:
    yield from _wait(args[0])


def _repeat(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Iterator[Event]:
    if kwargs.get("output_size") is None:
        yield from _wait(args[0])


def _index(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Iterator[Event]:
    """Indices on the host are copied to the device, and masks are counted."""
    tensor, indices = args[0], [index for index in args[1] if index is not None]
    for index in indices:
        if index.dim():
            yield from _copy(index.device, tensor.device, index.nbytes, False)
    if any(index.dtype in (torch.bool, torch.uint8) for index in indices):
        yield from _wait(tensor)


def _index_put(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Iterator[Event]:
    tensor, indices, values = args[:3]
    if values.dim():
        yield from _copy(values.device, tensor.device, values.nbytes, False)
    masks = all(index is None or index.dtype in (torch.bool, torch.uint8) for index in indices)
    if masks and values.numel() == 1 and values.device.type == HOST:
        return  # a fill with one number from the host counts nothing
    yield from _index((tensor, indices), {})


looked_into: set[type] = set()  # tensor classes whose operations consist of operations on the tensors that they hold
_COUNTING = (
    aten.equal, aten.allclose, aten._linalg_check_errors, aten.nonzero, aten.masked_select, aten._unique, aten._unique2,
    aten.unique_dim, aten.unique_consecutive, aten.unique_dim_consecutive, aten.bincount,
)  # fmt: skip
RULES: dict[Any, Rule] = {
    aten._to_copy: _to_copy,
    aten.copy_: _copy_,
    aten.lift_fresh: _lift,
    aten._local_scalar_dense: _read_number,
    aten.repeat_interleave: _repeat,
    aten.index: _index,
    aten.index_put: _index_put,
    aten.index_put_: _index_put,
    **dict.fromkeys(_COUNTING, _read_count),
}


class _Watches(threading.local):
    """The recorders of a thread, innermost last."""

    def __init__(self) -> None:
        self.active: list[Watch] = []


_watches = _Watches()


class Watch(Watching):
    """Records the transfers of this thread while it is entered, or raises at the first.

    Parameters
    ----------
    forbid : bool
        Raise TransferError instead, before anything is copied.
    """

    def __init__(self, forbid: bool) -> None:
        super().__init__()
        self.forbid = forbid
        self.log: list[Transfer] = []

    def __enter__(self) -> Watch:
        _watches.active.append(self)
        return super().__enter__()

    def __exit__(self, *error: Any) -> None:
        super().__exit__(*error)
        _watches.active.pop()

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if not looked_into.isdisjoint(types):  # its local operations in each process arrive here one by one
            return NotImplemented
        if func.namespace == "prim":  # a query about a tensor of a subclass, not an operator of the dispatcher
            return modes.run(func, args, kwargs)
        with self:  # record composite operations part by part, also in inference mode
            result = func.decompose(*args, **kwargs)
        if result is not NotImplemented:
            return result
        rule = RULES.get(func.overloadpacket)
        if rule is not None and not trace_state.is_tracing():
            for source, target, nbytes, waits in rule(args, kwargs):
                self.see(str(func), source, target, nbytes, waits)
        return modes.run(func, args, kwargs)

    def see(self, operation: str, source: torch.device, target: torch.device, nbytes: int, waits: bool) -> None:
        """Record a transfer, or raise if it is forbidden."""
        seen = Transfer(operation, str(source), str(target), nbytes, waits, trace_state.user_line())
        if self.forbid:
            raise TransferError(f"a transfer where none is allowed: {seen}")
        self.log.append(seen)


def synchronize(device: torch.device | None) -> None:
    """Wait for a device; for None, the default one if it is an accelerator, else the current accelerator."""
    if device is None:
        device = devices.state.default
        if device is None or device.type in (HOST, NOWHERE):
            device = devices.accelerator()
    if device is None or device.type in (HOST, NOWHERE):
        return
    index = torch.accelerator.current_device_index() if device.index is None else device.index
    for watch in reversed(_watches.active):
        watch.see("synchronize", torch.device(device.type, index), torch.device(HOST), 0, True)
    torch.accelerator.synchronize(device)
