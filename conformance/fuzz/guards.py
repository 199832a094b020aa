"""Writes outside of an array's memory: bytes around the operands that have to stay, and glibc's checks of the heap.

Layer: owns both. A write beside an operand is seen after its call. One beyond another block is seen when the block is
freed: glibc ends the process at that call, or a little later where it was kept.
"""

from __future__ import annotations

import contextlib
import ctypes.util
from collections.abc import Callable, Iterator

import numpy as np

_LIBRARY = "c_malloc_debug"
_ROOM = 2048  # bytes on either side: a multiple of what any dtype is aligned to
_MARK = 0xA5

_watched: list[list[np.ndarray]] = []  # the buffers of each watch that goes on


def environment() -> dict[str, str]:
    """What a process is to be started with; OSError where there is no library that checks its heap."""
    library = ctypes.util.find_library(_LIBRARY)
    if library is None:
        raise OSError(f"no lib{_LIBRARY} on this platform: glibc has it since 2.34")
    return {"LD_PRELOAD": library, "MALLOC_CHECK_": "3", "PYTHONMALLOC": "malloc", "PYTHONFAULTHANDLER": "1"}


def placed(array: np.ndarray) -> np.ndarray:
    """The array; during a watch a copy of it with room around."""
    if not _watched or not array.nbytes:
        return array
    buffer = np.full(array.nbytes + 2 * _ROOM, _MARK, np.uint8)
    _watched[-1].append(buffer)
    inside = buffer[_ROOM:-_ROOM].view(array.dtype).reshape(array.shape)
    inside[...] = array
    return inside


@contextlib.contextmanager
def watch() -> Iterator[Callable[[], bool]]:
    """Watch the arrays that are placed from here on; what it gives tells whether something was written beside them."""
    buffers: list[np.ndarray] = []

    def is_written() -> bool:
        return any((room != _MARK).any() for each in buffers for room in (each[:_ROOM], each[-_ROOM:]))

    _watched.append(buffers)
    try:
        yield is_written
    finally:
        _watched.pop()
