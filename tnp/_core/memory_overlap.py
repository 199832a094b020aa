"""Shared memory: whether two arrays have elements at the same addresses.

Layer: owns ``numpy.shares_memory`` and ``numpy.may_share_memory``. NumPy compares the addresses, on any device.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from backend_torch.graphs import compiling
from backend_torch.native import heads
from backend_torch.tensors import memory, trace_state
from tnp._core.base import SCALARS, ndarray, strided
from tnp._core.convert import asarray
from tnp._core.interop import check_readable


def _addresses(a: Any, b: Any) -> tuple[np.ndarray, np.ndarray] | None:
    """Return two NumPy arrays with the same addresses; None if the arrays are on different devices.

    A scalar shares no memory, not even with itself: NumPy makes a new array of it.
    """
    if type(a) in SCALARS or type(b) in SCALARS:
        return None
    one, other = [x if isinstance(x, ndarray) else asarray(x) for x in (a, b)]
    if trace_state.is_tracing():
        return compiling.addresses(one.tensor, other.tensor)
    check_readable(one)
    check_readable(other)
    if one.device != other.device:
        return None
    return _places(one), _places(other)


def _places(x: ndarray) -> np.ndarray:
    return x.host if type(x) is strided else memory.addresses(x.tensor)


def shares_memory(a: Any, b: Any, /, max_work: Any = -1) -> bool:
    """Whether two arrays have an element in common.

    Parameters
    ----------
    a, b : ndarray
    max_work : int, optional
        Effort to spend: -1 finds the answer.

    Returns
    -------
    bool

    Raises
    ------
    TypeError
        An array is being batched, or both are arguments of a function that is being traced: nobody knows it yet.
    numpy.exceptions.TooHardError
        ``max_work`` was not enough.

    Notes
    -----
    Source: https://numpy.org/doc/stable/reference/generated/numpy.shares_memory.html

    Examples
    --------
    >>> import tnp as np
    >>> x = np.arange(6)
    >>> np.shares_memory(x[::2], x[1::2])
    False
    """
    if max_work.__class__ is int and max_work == -1 and (known := heads.overlap(a, b, True)) is not None:
        return known
    places = _addresses(a, b)
    return places is not None and np.shares_memory(*places, max_work)


def may_share_memory(a: Any, b: Any, /, max_work: Any = 0) -> bool:
    """Whether two arrays might have an element in common, because the memory that they span overlaps.

    Parameters
    ----------
    a, b : ndarray
    max_work : int, optional
        Effort to spend; 0 looks at the ends of the memory only.

    Returns
    -------
    bool
        False is certain, True is not.

    Raises
    ------
    TypeError
        An array is being batched, or both are arguments of a function that is being traced: nobody knows it yet.

    Notes
    -----
    Source: https://numpy.org/doc/stable/reference/generated/numpy.may_share_memory.html

    Examples
    --------
    >>> import tnp as np
    >>> x = np.arange(6)
    >>> np.may_share_memory(x[::2], x[1::2])
    True
    """
    if max_work.__class__ is int and max_work == 0 and (known := heads.overlap(a, b, False)) is not None:
        return known
    places = _addresses(a, b)
    return places is not None and np.may_share_memory(*places, max_work)
