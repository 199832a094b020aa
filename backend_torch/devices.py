"""Devices: which one new arrays are made on.

Layer: owns torch's device objects. The default is a plain module attribute: it costs nothing to read, and Dynamo can
trace it, as it can't a context variable.
"""

from __future__ import annotations

import torch

default: torch.device | None = None
"""Where creation functions put an array that was given no device; None is the CPU."""


def parse(device: object) -> torch.device | None:
    """``device`` as torch's object: None, ``"cuda:0"``, a torch.device, or an index as torch takes it."""
    if device is None:
        return default
    if isinstance(device, torch.device):
        return device
    try:
        parsed = torch.device(device)  # type: ignore[call-overload]
    except (RuntimeError, TypeError) as error:
        raise ValueError(f"{device!r} is not a device: use 'cpu', 'cuda', 'cuda:0', ... or a torch.device") from error
    return parsed


def set_default(device: object) -> None:
    """Make ``device`` the default of the process; None is the CPU."""
    global default
    chosen = None if device is None else parse(device)
    if chosen is not None:
        torch.empty(0, device=chosen)  # an absent device raises here and not at some later call
    default = chosen


def current() -> torch.device:
    """The device that new arrays are made on."""
    return torch.device("cpu") if default is None else default


def present() -> tuple[torch.device, ...]:
    """The devices of this machine."""
    found = [torch.device("cpu")]
    if torch.accelerator.is_available():
        accelerator = torch.accelerator.current_accelerator()
        assert accelerator is not None
        found += [torch.device(accelerator.type, index) for index in range(torch.accelerator.device_count())]
    return tuple(found)


def has_double(device: torch.device) -> bool:
    """Whether the device computes in double precision: Apple's GPUs do not."""
    return device.type != "mps"


def is_present(device: torch.device) -> bool:
    """Whether this machine has the device."""
    try:
        torch.empty(0, device=device)
    except (RuntimeError, AssertionError):  # AssertionError: this build of torch knows nothing of such devices
        return False
    return True
