"""Places outside a function's local variables that hold values: attributes, items, globals, closure variables.

Layer: owns how such a place is read and set, and which of these places a function's code assigns to.
"""

from __future__ import annotations

import dis
import functools
import operator
import types
from collections.abc import Callable, Iterator
from typing import Any

MISSING: Any = object()


class Place:
    """A place that holds a value: an attribute, an item (of a container, or a global) or a closure variable.

    Parameters
    ----------
    kind : {'attribute', 'item', 'cell'}
    holder
        The object that has the attribute or item, or the closure cell.
    key
        The attribute's name or the item's key.
    """

    __slots__ = ("holder", "key", "kind")

    def __init__(self, kind: str, holder: Any, key: Any = None) -> None:
        self.kind = kind
        self.holder = holder
        self.key = key

    def get(self) -> Any:
        """Return the value; MISSING if there is none."""
        try:
            if self.kind == "attribute":
                return getattr(self.holder, self.key)
            return self.holder[self.key] if self.kind == "item" else self.holder.cell_contents
        except (AttributeError, LookupError, ValueError):
            return MISSING

    def put(self, value: Any) -> None:
        """Set the value, or delete it if ``value`` is MISSING, without running properties or ``__setattr__``."""
        holder, key = self.holder, self.key
        if self.kind == "attribute" and key in getattr(holder, "__dict__", ()) and not isinstance(holder, type):
            holder, kind = holder.__dict__, "item"
        else:
            kind = self.kind
        if value is MISSING:
            (operator.delitem if kind == "item" else object.__delattr__)(
                holder, "cell_contents" if kind == "cell" else key
            )
        elif kind == "item":
            holder[key] = value
        elif kind == "cell":
            holder.cell_contents = value
        else:
            (type if isinstance(holder, type) else object).__setattr__(holder, key, value)

    def expression(self, constant: Callable[[Any], str]) -> str:
        """Return a Python expression for the value; ``constant(x)`` gives the name that stands for an object ``x``."""
        holder = constant(self.holder)
        if self.kind == "attribute":
            return f"{holder}.{self.key}"
        if self.kind == "cell":
            return f"{holder}.cell_contents"
        return f"{holder}[{repr(self.key) if type(self.key) in (str, int) else constant(self.key)}]"

    def __str__(self) -> str:
        if self.kind == "attribute":
            owner = self.holder if isinstance(self.holder, type) else type(self.holder)
            return f"{owner.__name__}.{self.key}"
        return str(self.key) if self.kind == "item" else "a closure's variable"


def rebound(function: types.FunctionType) -> Iterator[Place]:
    """Yield the globals and the variables of enclosing functions that a function assigns to."""
    cells = dict(zip(function.__code__.co_freevars, function.__closure__ or (), strict=True))
    for kind, name in _stored(function.__code__):
        if kind == "item":
            yield Place("item", function.__globals__, name)
        elif name in cells:
            yield Place("cell", cells[name], name)


@functools.cache
def _stored(code: types.CodeType) -> frozenset[tuple[str, str]]:
    """Return the kinds and names of the places that code assigns to, nested functions included."""
    found = set()
    for instruction in dis.get_instructions(code):
        if instruction.opname in ("STORE_GLOBAL", "DELETE_GLOBAL"):
            found.add(("item", instruction.argval))
        elif instruction.opname in ("STORE_DEREF", "DELETE_DEREF") and instruction.argval in code.co_freevars:
            found.add(("cell", instruction.argval))
    for inner in code.co_consts:
        if isinstance(inner, types.CodeType):
            found |= {(kind, name) for kind, name in _stored(inner) if kind == "item" or name in code.co_freevars}
    return frozenset(found)
