"""Reflected operators: give derived classes priority over tnp's own helper classes.

In ``x * y`` Python calls ``y`` before ``x`` if the class of ``y`` derives from that of ``x``: an array times a matrix
is a matrix product. NumPy and the user see a read-only array as an ndarray. For Python its class is another one, from
which no class derives. So its operators apply Python's rule themselves.

Layer: owns the choice between two arrays' methods. ndarray computes.
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
    """The calls in progress in this thread: a method that hands the operation back is not called again."""

    pair: tuple[Any, Any] = (None, None)

    def first(self, other: Any, name: str, x: Any) -> Any:
        """Call the method; return NotImplemented if a call of it is in progress."""
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
    """Make an operator that first calls ``name``, the method of a derived class."""

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
    """The base of helper classes that are ndarrays for the user, but not for Python's rule of reflected operators."""

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
