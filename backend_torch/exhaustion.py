"""Running out of memory: torch's RuntimeError of it as Python's MemoryError.

Layer: owns the texts by which it is told from others. Nothing here runs before something has failed.
"""

from __future__ import annotations

_TEXTS = ("not enough memory", "out of memory", "can't allocate memory", "alloc_cpu.cpp")


def explained(error: Exception) -> Exception:
    """A MemoryError if torch ran out of memory, on whatever device, else the error itself."""
    return MemoryError(str(error)) if any(text in str(error) for text in _TEXTS) else error
