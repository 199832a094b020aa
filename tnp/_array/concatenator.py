"""``r_`` and ``c_``: arrays, ranges and numbers in brackets, joined.

Layer: owns their directives. They can return a matrix, so this file imports ``matrix``.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from backend_torch.native import heads
from tnp._array.matrix import matrix, named_blocks
from tnp._core import convert, host_fallback
from tnp._core.base import SCALARS, ndarray
from tnp._core.convert import asarray, home_of
from tnp._core.dtypes import DtypeError
from tnp._creation.grids import is_count, parts_of
from tnp._creation.ranges import arange, linspace
from tnp._manipulation.joining import concatenate
from tnp._manipulation.rearranging import transpose


class AxisConcatenator:
    """Arrays, ranges and scalars in brackets, joined along the first axis (`r_`) or as columns (`c_`).

    A leading string names the axis, the least number of dimensions and where an array's own begin: ``'0,2,-1'``.
    ``'r'`` and ``'c'`` return a matrix, with a vector as its row or column. A string alone is a matrix of named blocks.

    Notes
    -----
    Source: `numpy.r_ <https://numpy.org/doc/stable/reference/generated/numpy.r_.html>`__

    Examples
    --------
    >>> import tnp as np
    >>> np.r_[0:3, 7, [5, 6]]
    array([0, 1, 2, 7, 5, 6])
    >>> np.c_[[1, 2], [3, 4]]
    array([[1, 3],
           [2, 4]])
    """

    __slots__ = ("axis", "ndmin", "trans1d")

    def __init__(self, axis: int = 0, ndmin: int = 1, trans1d: int = -1) -> None:
        self.axis = axis
        self.ndmin = ndmin
        self.trans1d = trans1d

    def __getitem__(self, key: Any) -> ndarray:
        if isinstance(key, str):
            frame = sys._getframe(1)
            return named_blocks(key, frame.f_locals, frame.f_globals)
        try:
            return self._joined(key)
        except DtypeError as error:
            return host_fallback.refused(error, (np.c_ if self is c_ else np.r_).__getitem__, (key,), {})

    def _joined(self, key: Any) -> ndarray:
        items = list(key) if isinstance(key, tuple) else [key]
        axis, ndmin, trans1d = self.axis, self.ndmin, self.trans1d
        layout = items.pop(0) if items and isinstance(items[0], str) and items[0] in ("r", "c") else None
        if not layout and items and isinstance(items[0], str):
            axis, ndmin, trans1d = _directive(items.pop(0), axis, ndmin, trans1d)
        if any(isinstance(item, str) for item in items):
            raise ValueError("special directives must be the first entry.")
        parts: list[Any] = []
        kinds: list[Any] = []  # dtypes and scalars; Python's scalars are weak
        for item in items:
            if isinstance(item, slice):
                parts.append(_raised(_range(item), ndmin, trans1d, 1))
            elif isinstance(item, (int, float, complex, np.generic)) and type(item) not in SCALARS:
                parts.append(item)
            else:
                array = asarray(item)
                parts.append(_raised(array, ndmin, trans1d, array.ndim))
            kinds.append(parts[-1].dtype if isinstance(parts[-1], ndarray) else item)
        dtype = np.result_type(*kinds) if kinds else None
        home = home_of([part for part in parts if isinstance(part, ndarray)])  # numbers go where the arrays are
        made_of = [
            part
            if isinstance(part, ndarray) and part.ndim >= ndmin and part.dtype == dtype
            else convert.array(part, dtype, copy=None, ndmin=ndmin, device=None if isinstance(part, ndarray) else home)
            for part in parts
        ]
        joined = heads.by_numpy(np.concatenate, made_of, axis) if axis else None  # torch joins columns one by one
        if joined is None:
            joined = concatenate(made_of, axis=axis)
        if not layout:
            return joined
        made = matrix(joined)
        return made.T if layout == "c" and joined.ndim == 1 else made

    def __len__(self) -> int:
        return 0


def _range(item: slice) -> Any:
    start, stop, step = parts_of(item)
    return linspace(start, stop, num=int(abs(step))) if is_count(step) else arange(start, stop, step)


def _raised(array: ndarray, ndmin: int, trans1d: int, ndim: int) -> ndarray:
    """Return the array with ``ndmin`` dimensions; its own dimensions begin at ``trans1d``."""
    added = ndmin - array.ndim
    raised = array.reshape((1,) * added + array.shape) if added > 0 else array
    if trans1d == -1 or ndim >= ndmin:
        return raised
    added = ndmin - ndim
    first = trans1d + added + 1 if trans1d < 0 else trans1d
    axes = list(range(ndmin))
    order = axes[:first] + axes[added:] + axes[first:added]
    return raised.T if order == axes[::-1] else transpose(raised, order)


def _directive(text: str, axis: int, ndmin: int, trans1d: int) -> tuple[int, int, int]:
    """Parse a leading string: ``'axis'``, ``'axis,ndmin'`` or ``'axis,ndmin,trans1d'``."""
    numbers = text.split(",")
    try:
        values = [int(number) for number in numbers[:3]]
    except ValueError:
        raise ValueError(f"unknown special directive {text!r}") from None
    return (*values, *(axis, ndmin, trans1d)[len(values) :])  # type: ignore[return-value]


r_ = AxisConcatenator(0)
c_ = AxisConcatenator(-1, ndmin=2, trans1d=0)
