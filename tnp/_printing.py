"""Printing: NumPy's own, of the values wherever they are.

Layer: owns ``repr``, ``str`` and ``format``. NumPy prints the elements; an array that is elsewhere, or has no values
yet because it is being traced, says so.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from backend_torch import memory

if TYPE_CHECKING:
    from tnp._array import ndarray


def _values(array: ndarray) -> np.ndarray:
    return memory.to_numpy(memory.to_host(array.tensor))


def _without_values(array: ndarray) -> str:
    return f"array(shape={array.shape}, dtype={array.dtype}, device='{array.device}')"


def array_repr(array: ndarray) -> str:
    """``array([1., 2.])``, and the device where it is not the CPU."""
    if not memory.is_readable(array.tensor):
        return _without_values(array)
    text = repr(_values(array))
    return text if array.tensor.device.type == "cpu" else f"{text[:-1]}, device='{array.device}')"


def scalar_repr(array: ndarray) -> str:
    """``np.float64(1.0)``."""
    if not memory.is_readable(array.tensor):
        return _without_values(array)
    return repr(_values(array)[()])


def array_str(array: ndarray) -> str:
    """``[1. 2.]``."""
    return str(_values(array)) if memory.is_readable(array.tensor) else _without_values(array)


def array_format(array: ndarray, spec: str) -> str:
    """A 0-d array formats as its value; others take no format, as in NumPy."""
    if not memory.is_readable(array.tensor):
        return _without_values(array)
    values = _values(array)
    return format(values[()] if not values.ndim else values, spec)
