"""The operators of the classes beside ndarray: each class reads them from ndarray's class statement, the only table.

In ``x * y`` Python calls ``y`` before ``x`` if the class of ``y`` derives from that of ``x``: an array times a matrix
is a matrix product. NumPy and the user see a read-only array as an ndarray. For Python its class is another one, from
which no class derives. So its operators apply Python's rule themselves.

Layer: owns which form of which ufunc an operator is, and the choice between two arrays' methods. ndarray computes.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable
from types import FunctionType
from typing import Any

from tnp._array.ndarray import ndarray
from tnp._core.base import subclass
from tnp._math.products import matmul
from tnp._ufunc import table as ufuncs


def _table() -> list[tuple[str, Any, str]]:
    """Each operator of ndarray, its ufunc, and which form of it: "unary", "operator", "reflected" or "inplace"."""
    forms: dict[Any, tuple[Any, str]] = {}
    for ufunc in (*ufuncs.__dict__.values(), matmul):
        for form in ("operator", "reflected", "inplace"):
            forms[getattr(ufunc, form, None)] = ufunc, "unary" if getattr(ufunc, "nin", 2) == 1 else form
    forms[ndarray.__pow__], forms[ndarray.__rpow__] = (ufuncs.power, "operator"), (ufuncs.power, "reflected")
    functions = [each for each in ndarray.__dict__.items() if isinstance(each[1], FunctionType)]
    return [(name, *forms[function]) for name, function in functions if function in forms]


_TABLE = _table()


def operators(**make: Callable[[str, Any], Any]) -> dict[str, Any]:
    """Name -> ``make[form](name, ufunc)``, for each operator of a form that is given."""
    return {name: make[form](name, ufunc) for name, ufunc, form in _TABLE if form in make}


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
_SWAPPED = {"lt": "gt", "le": "ge", "gt": "lt", "ge": "le", "eq": "eq", "ne": "ne"}


def asking(name: str, ufunc: Any) -> Any:
    """Make ndarray's operator one that first calls the reflected method of a derived class."""
    ordinary = getattr(ndarray, name)
    word = name.strip("_")
    reflected = f"__{_SWAPPED.get(word, 'r' + word)}__"

    @functools.wraps(ordinary)
    def operator(self: Any, other: Any, *modulo: Any) -> Any:
        if isinstance(other, subclass) and not modulo:
            result = _asked.first(other, reflected, self)
            if result is not NotImplemented:
                return result
        return ordinary(self, other, *modulo)

    return operator
