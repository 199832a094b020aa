"""Running out of memory: torch's RuntimeError of it as Python's MemoryError, or as ValueError where none is enough.

Layer: owns the texts by which it is told from others. Nothing here runs before something has failed.
"""

from __future__ import annotations

_TEXTS = ("not enough memory", "out of memory", "can't allocate memory", "alloc_cpu.cpp")
_NO_SIZES = (
    "Storage size calculation overflowed",
    "Stride calculation overflowed",
    "cannot be represented as a SymInt",
    "numel: integer multiplication overflow",
)


def explained(error: Exception) -> Exception:
    """A MemoryError if torch ran out of memory, on whatever device; of what no memory can hold NumPy's ValueError."""
    text = str(error)
    if any(each in text for each in _NO_SIZES):
        return ValueError(f"array is too big; its size in bytes is larger than the maximum possible size ({text})")
    return MemoryError(text) if any(each in text for each in _TEXTS) else error
