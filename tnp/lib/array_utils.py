"""Helpers for functions of arrays: axes, and where the elements are in memory.

Layer: owns their NumPy spelling.
"""

from __future__ import annotations

from typing import Any

from numpy.lib.array_utils import normalize_axis_index, normalize_axis_tuple

from backend_torch.tensors import memory
from tnp._core.convert import tensor_of

__all__ = ["byte_bounds", "normalize_axis_index", "normalize_axis_tuple"]


def byte_bounds(a: Any) -> tuple[int, int]:
    """The addresses of an array's first byte and of the one after its last.

    Parameters
    ----------
    a : ndarray

    Returns
    -------
    low, high : int

    Notes
    -----
    Source: https://numpy.org/doc/stable/reference/generated/numpy.lib.array_utils.byte_bounds.html

    Examples
    --------
    >>> import tnp as np
    >>> low, high = np.lib.array_utils.byte_bounds(np.ones(4))
    >>> high - low
    32
    """
    return memory.extent(tensor_of(a))
