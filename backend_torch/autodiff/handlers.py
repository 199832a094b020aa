"""Exception handlers around the program's line that runs: whether what is raised there may be caught.

Layer: owns how CPython says that. What is raised for all slices of a batch at once would take a handler for all of
them.
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
    """The ranges of instructions from which Python goes on in a handler, and not in the end of a ``with``."""
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
    """What CPython's exception table holds, four numbers a range: Objects/exception_handling_notes.txt."""
    value = 0
    for byte in table:
        value = (value << 6) | (byte & 63)
        if not byte & 64:
            yield value
            value = 0
