"""Operators of the array's classes that NumPy has not: Python's rule that a derived class on the right is asked first.

Python asks ``y`` before ``x`` in ``x * y`` if the class of ``y`` is derived from that of ``x``: an array times a matrix
is a matrix product. An array that is read-only, or in NumPy's hands, is an ndarray to NumPy and to the user, but to
Python it is of a class from which nobody derives. So it asks in Python's place.

Layer: owns which of two arrays' methods computes; the computing is ndarray's.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable
from typing import Any

from tnp._array.ndarray import ndarray
from tnp._core import base
from tnp._core.base import completes, subclass


class _Asked(threading.local):
    """Who asks whom in this thread: one that hands the operation back is not asked again."""

    pair: tuple[Any, Any] = (None, None)

    def first(self, other: Any, name: str, x: Any) -> Any:
        """What the method says; NotImplemented if it has been asked."""
        before = self.pair
        if before[0] is x and before[1] is other:
            return NotImplemented
        self.pair = (x, other)
        try:
            return getattr(type(other), name)(other, x)
        finally:
            self.pair = before


_asked = _Asked()


def _asking(ordinary: Callable[..., Any], name: str) -> Any:
    """An operator that leaves the first word to ``name``, the method of a derived class."""

    @functools.wraps(ordinary)
    def operator(self: Any, other: Any, *modulo: Any) -> Any:
        if isinstance(other, subclass) and not modulo:
            result = _asked.first(other, name, self)
            if result is not NotImplemented:
                return result
        return ordinary(self, other, *modulo)

    return operator


@completes(base.asking)
class asking(ndarray):
    """An ndarray to everybody but Python, which has to be told whom to ask first."""

    __slots__ = ()
    __module__ = "tnp"

    __add__ = _asking(ndarray.__add__, "__radd__")
    __sub__ = _asking(ndarray.__sub__, "__rsub__")
    __mul__ = _asking(ndarray.__mul__, "__rmul__")
    __truediv__ = _asking(ndarray.__truediv__, "__rtruediv__")
    __floordiv__ = _asking(ndarray.__floordiv__, "__rfloordiv__")
    __mod__ = _asking(ndarray.__mod__, "__rmod__")
    __divmod__ = _asking(ndarray.__divmod__, "__rdivmod__")
    __pow__ = _asking(ndarray.__pow__, "__rpow__")
    __lshift__ = _asking(ndarray.__lshift__, "__rlshift__")
    __rshift__ = _asking(ndarray.__rshift__, "__rrshift__")
    __and__ = _asking(ndarray.__and__, "__rand__")
    __or__ = _asking(ndarray.__or__, "__ror__")
    __xor__ = _asking(ndarray.__xor__, "__rxor__")
    __matmul__ = _asking(ndarray.__matmul__, "__rmatmul__")
    __lt__ = _asking(ndarray.__lt__, "__gt__")
    __le__ = _asking(ndarray.__le__, "__ge__")
    __gt__ = _asking(ndarray.__gt__, "__lt__")
    __ge__ = _asking(ndarray.__ge__, "__le__")
    __eq__ = _asking(ndarray.__eq__, "__eq__")
    __ne__ = _asking(ndarray.__ne__, "__ne__")
    __hash__ = None
