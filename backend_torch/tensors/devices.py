"""Devices: the machine's devices, and the default device of new arrays.

Layer: owns torch's device objects. The default is each thread's own, so that threads with a scope each don't disturb
one another, and it is an attribute that a thread's storage always has: Dynamo guards that, as it can't guard a context
variable.
"""

from __future__ import annotations

import os
import platform
import threading
from dataclasses import dataclass
from typing import Any

import torch

from backend_torch.torch_private.modes import no_dispatch

CPU = torch.device("cpu")
_initial: torch.device | None = None  # the initial default of a thread


class _State(threading.local):
    """A thread's state: the device of new arrays without an explicit device; None is the CPU."""

    default: torch.device | None
    outer: list[torch.device | None]

    def __init__(self) -> None:
        self.default = _initial
        self.outer = []  # the defaults around the scopes that this thread is in, innermost last


state = _State()

moved = False
"""Whether any thread has ever had another default than the CPU. What is called often looks at `state` only then: a
thread's own costs 40 ns."""

_present: dict[object, torch.device] = {name: torch.device(name) for name in ("cpu", "meta")}
"""Devices by the names that they were asked for by, once they were found."""


def parse(device: object) -> torch.device | None:
    """Return ``device`` as torch's object, or the default for None; ValueError if this machine lacks it."""
    if device is None:
        return state.default
    if isinstance(device, torch.device) and device.type in ("cpu", "meta") and not device.index:
        return device
    return _found(device)


def _found(device: Any) -> torch.device:
    try:
        return _present[device]
    except (KeyError, TypeError):
        pass
    named = _named(device)
    if not is_present(named):
        raise ValueError(f"device '{named}' is not available here: {available()}")
    if isinstance(device, (str, torch.device)):
        _present[device] = named
    return named


def _named(device: Any) -> torch.device:
    """Return torch's device object; ValueError for anything else."""
    if isinstance(device, Device):
        device = str(device)
    try:
        return torch.device(device)
    except (RuntimeError, TypeError) as error:
        raise ValueError(
            f"Device not understood: {device!r} is not a device: use 'cpu', 'cuda', 'cuda:0', ... or a torch.device"
        ) from error


def chosen(device: object, fallback: object) -> torch.device:
    """Return ``device`` if this machine has it, else ``fallback``, unless that is None."""
    if device is None:
        raise ValueError("a device is needed: 'cpu', 'cuda', 'cuda:0', ... or a torch.device")
    if fallback is not None and not is_present(_named(device)):
        device = fallback
    return _found(device)


def set_default(device: object, fallback: object = None) -> None:
    """Make ``device`` the default of this thread and of those that start from now on; None is the CPU."""
    global _initial, moved
    _initial = state.default = None if device is None else chosen(device, fallback)
    moved = moved or current().type != "cpu"


def enter(device: torch.device) -> None:
    """Begin a scope: ``device`` is this thread's default until `leave`."""
    global moved
    moved = moved or device.type != "cpu"
    state.outer.append(state.default)
    state.default = device


def leave() -> None:
    """End the innermost scope of this thread."""
    state.default = state.outer.pop()


def of_scope() -> torch.device | None:
    """Return the device of this thread's innermost scope, or None outside of any."""
    return state.default if state.outer else None


def current() -> torch.device:
    """Return the device of new arrays."""
    return torch.device("cpu") if state.default is None else state.default


def numbered(device: torch.device) -> torch.device:
    """Return a device with the index that its tensors have: without an index it is the current one of its kind."""
    number: int | None = device.index  # torch's type hints lack None
    if number is not None or device.type in ("cpu", "meta"):
        return device
    return torch.device(device.type, torch.get_device_module(device).current_device())


def accelerator() -> torch.device | None:
    """Return the kind of accelerator that torch can use on this machine, as a device without an index."""
    return torch.accelerator.current_accelerator() if torch.accelerator.is_available() else None


def present() -> tuple[torch.device, ...]:
    """The devices of this machine."""
    kind = accelerator()
    count = 0 if kind is None else torch.accelerator.device_count()
    return torch.device("cpu"), *[torch.device(kind.type, index) for index in range(count) if kind is not None]


def available() -> str:
    """Return the devices of this machine, for a message."""
    return "this machine has " + ", ".join(f"'{device}'" for device in present())


def is_present(device: torch.device) -> bool:
    """Whether this machine has the device."""
    if device.type in ("cpu", "meta"):
        return not device.index  # torch accepts any index for the only one
    kind = accelerator()
    if kind is not None and kind.type == device.type:
        return (device.index or 0) < torch.accelerator.device_count()
    try:
        with no_dispatch():  # inside a trace every device seems to exist
            torch.empty(0, device=device)
    except (RuntimeError, AssertionError, AttributeError):  # this build of torch has no support for such devices
        return False
    return True


def mixed(*found: torch.device) -> ValueError:
    """Return the error for operands on different devices."""
    names = " and ".join(dict.fromkeys(map(str, found)))
    return ValueError(f"operands are on different devices: {names}; move one with x.to_device(...)")


def has_double(device: torch.device) -> bool:
    """Whether the device computes in double precision: Apple's GPUs do not."""
    return device.type != "mps"


@dataclass(frozen=True)
class Device:
    """A device that arrays can be on.

    Attributes
    ----------
    kind : str
        ``"cpu"``, ``"cuda"``, ``"mps"``, ``"xpu"`` ...
    index : int
        The index among the devices of its kind.
    name : str
        The manufacturer's name.
    memory_total, memory_free : int or None
        Bytes, as the system or the driver counts them; None if it doesn't tell. Memory that torch's allocator keeps
        for reuse is not free.
    """

    kind: str
    index: int
    name: str
    memory_total: int | None
    memory_free: int | None

    def __str__(self) -> str:
        return self.kind if self.kind == "cpu" else f"{self.kind}:{self.index}"


def described() -> list[Device]:
    """The devices of this machine with their names and memory."""
    return [_host() if device.type == "cpu" else _accelerator(device) for device in present()]


def _host() -> Device:
    return Device("cpu", 0, cpu_fact("model name") or platform.processor() or platform.machine(), *_host_memory())


def cpu_fact(name: str) -> str | None:
    """Return what Linux says of the processor under this name; None on another system."""
    try:
        with open("/proc/cpuinfo") as file:
            return next((line.partition(":")[2].strip() for line in file if line.startswith(name)), None)
    except OSError:
        return None


def _host_memory() -> tuple[int | None, int | None]:
    """Return the bytes of the machine's memory, and those still available."""
    try:
        page = os.sysconf("SC_PAGE_SIZE")
        total = page * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):  # Windows has no sysconf
        return None, None
    try:
        with open("/proc/meminfo") as file:
            for line in file:
                if line.startswith("MemAvailable"):
                    return total, 1024 * int(line.split()[1])
    except OSError:
        pass
    return total, None


def _accelerator(device: torch.device) -> Device:
    module = torch.get_device_module(device)
    name_of = getattr(module, "get_device_name", None)
    memory_of = getattr(module, "mem_get_info", None)
    name = device.type if name_of is None else name_of(device.index)
    free, total = (None, None) if memory_of is None else memory_of(device.index)
    return Device(device.type, device.index, name, total, free)
