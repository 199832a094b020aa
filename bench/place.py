"""The device of ``--device``, on which tnp and torch compute, and how to read its clock and its memory."""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import Any

HOST = "cpu"


def present(text: str) -> str:
    """A device of this machine, as ``--device`` names it."""
    if text != HOST:
        import tnp

        try:
            tnp.device(text)
        except ValueError as error:
            raise argparse.ArgumentTypeError(str(error)) from None
    return text


def add_argument(parser: argparse.ArgumentParser) -> None:
    """``--device``: where tnp's and torch's arrays are."""
    parser.add_argument(
        "--device", type=present, default=HOST, metavar="D", help="of tnp's and torch's arrays (default: %(default)s)"
    )


def clock(device: str) -> Callable[[], float]:
    """Return a clock that waits for the device first: a call returns before the device is done."""
    if device == HOST:
        return time.perf_counter
    import tnp

    def when_done() -> float:
        tnp.synchronize(device)
        return time.perf_counter()

    return when_done


def name(device: str) -> str | None:
    """Return the maker's name of the device; None for the CPU, which a report names anyway."""
    if device == HOST:
        return None
    import torch

    import tnp

    where = torch.device(device)
    return next(each.name for each in tnp.devices() if each.kind == where.type and each.index == (where.index or 0))


def peak(device: str, call: Callable[[], Any]) -> int:
    """Return the peak of device memory during a call's second run, in bytes, beyond what was allocated before."""
    import torch

    memory = torch.get_device_module(torch.device(device).type)
    call()
    memory.synchronize(device)
    memory.reset_peak_memory_stats(device)
    before = memory.memory_allocated(device)
    result = call()
    memory.synchronize(device)
    del result
    return memory.max_memory_allocated(device) - before
