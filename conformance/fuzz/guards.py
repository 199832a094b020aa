"""Detect writes outside an array's memory: by guard bytes around operands, and by glibc's checks of the heap.

Layer: owns both. A write beside an operand is found after its call. A write beyond another block is found when the
block is freed: glibc then ends the process, at that call or a little later.
"""

from __future__ import annotations

import contextlib
import ctypes.util
from collections.abc import Callable, Iterator

import numpy as np

_LIBRARY = "c_malloc_debug"
_ROOM = 2048  # guard bytes on either side: a multiple of every dtype's alignment
_MARK = 0xA5

_watched: list[list[np.ndarray]] = []  # the buffers of the active watches


def environment() -> dict[str, str]:
    """Return the environment for a process with heap checks; raise OSError without the library."""
    library = ctypes.util.find_library(_LIBRARY)
    if library is None:
        raise OSError(f"no lib{_LIBRARY} on this platform: glibc has it since 2.34")
    return {"LD_PRELOAD": library, "MALLOC_CHECK_": "3", "PYTHONMALLOC": "malloc", "PYTHONFAULTHANDLER": "1"}


def placed(array: np.ndarray) -> np.ndarray:
    """Return the array; during a watch, a copy with guard bytes around it."""
    if not _watched or not array.nbytes:
        return array
    buffer = np.full(array.nbytes + 2 * _ROOM, _MARK, np.uint8)
    _watched[-1].append(buffer)
    inside = buffer[_ROOM:-_ROOM].view(array.dtype).reshape(array.shape)
    inside[...] = array
    return inside


@contextlib.contextmanager
def watch() -> Iterator[Callable[[], bool]]:
    """Guard the arrays that are placed from now on; the result tells whether guard bytes were overwritten."""
    buffers: list[np.ndarray] = []

    def is_written() -> bool:
        return any((room != _MARK).any() for each in buffers for room in (each[:_ROOM], each[-_ROOM:]))

    _watched.append(buffers)
    try:
        yield is_written
    finally:
        _watched.pop()
