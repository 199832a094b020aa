"""Exception handlers around the running line of the program: whether an error raised there may be caught.

Layer: owns the reading of CPython's exception tables. A handler would catch an error of one slice for all slices of a
batch.
"""

from __future__ import annotations

import dis
import functools
from collections.abc import Iterator
from types import CodeType, FrameType

from backend_torch.tensors import trace_state


def may_be_caught(frame: FrameType | None, outermost: FrameType | None) -> bool:
    """Whether a frame of the program, from ``frame`` outwards to ``outermost``, is inside of a ``try``."""
    while frame is not None and frame is not outermost:
        if not trace_state.is_own(frame.f_code.co_filename):
            last = frame.f_lasti
            if any(start <= last < end for start, end in _guarded(frame.f_code)):
                return True
        frame = frame.f_back
    return False


@functools.lru_cache(maxsize=1024)
def _guarded(code: CodeType) -> list[tuple[int, int]]:
    """Return the ranges of instructions with a handler other than the end of a ``with``."""
    if not code.co_exceptiontable:
        return []
    names = {each.offset: each.opname for each in dis.get_instructions(code)}
    offsets = sorted(names)
    found = []
    numbers = _numbers(code.co_exceptiontable)
    for start, length, target, _ in zip(numbers, numbers, numbers, numbers, strict=True):
        first = offsets.index(2 * target)
        is_handler = names[offsets[first]] == "PUSH_EXC_INFO"
        is_with = is_handler and names[offsets[first + 1]] == "WITH_EXCEPT_START"
        if is_handler and (not is_with or "suppress" in code.co_names):
            found.append((2 * start, 2 * (start + length)))
    return found


def _numbers(table: bytes) -> Iterator[int]:
    """Yield the numbers of CPython's exception table, four for each range: Objects/exception_handling_notes.txt."""
    value = 0
    for byte in table:
        value = (value << 6) | (byte & 63)
        if not byte & 64:
            yield value
            value = 0
