"""Patches of torch that are in place only while tnp traces or compiles, and only in the thread that does.

Layer: owns how a patch is put in place and removed. Each module of this room says what it patches and why, and the
manifest lists it.
"""

from __future__ import annotations

import contextlib
import functools
import threading
from collections.abc import Callable, Iterator, MutableMapping
from typing import Any

Undo = Callable[[], None]


class _Here(threading.local):
    inside = 0


class Patches:
    """A set of patches that is in place inside a scope. Outside the scope torch is unchanged.

    Parameters
    ----------
    put : callable
        ``put(patches)`` puts the patches in place and returns functions that undo them. Other threads may use torch
        meanwhile, so it replaces functions by :meth:`either`.
    """

    def __init__(self, put: Callable[[Patches], list[Undo]]) -> None:
        self._put = put
        self._lock = threading.Lock()
        self._here = _Here()
        self._scopes = 0
        self._undo: list[Undo] = []

    @contextlib.contextmanager
    def applied(self) -> Iterator[None]:
        """Return the scope."""
        with self._lock:
            if not self._scopes:
                self._undo = self._put(self)
            self._scopes += 1
        self._here.inside += 1
        try:
            yield
        finally:
            self._here.inside -= 1
            with self._lock:
                self._scopes -= 1
                if not self._scopes:
                    for undo in reversed(self._undo):
                        undo()

    def either(self, ours: Callable[..., Any], theirs: Callable[..., Any]) -> Callable[..., Any]:
        """Return a replacement for a function of torch: it calls ours in threads inside the scope, theirs in others."""

        @functools.wraps(theirs)  # Inductor finds scalar operations by the function's name
        def chosen(*args: Any, **kwargs: Any) -> Any:
            return ours(*args, **kwargs) if self._here.inside else theirs(*args, **kwargs)

        return chosen


def replaced_item(table: MutableMapping[Any, Any], key: Any, value: Any) -> Undo:
    """Set ``table[key] = value``; return a function that undoes it."""
    if key not in table:
        table[key] = value
        return lambda: table.pop(key, None)
    before = table[key]
    table[key] = value
    return functools.partial(table.__setitem__, key, before)


def replaced_attribute(owner: Any, name: str, value: Any) -> Undo:
    """Set ``owner.name = value`` in the owner's own ``__dict__``; return a function that undoes it."""
    before = owner.__dict__.get(name, owner)  # from __dict__, so that a static method stays one
    setattr(owner, name, value)
    return (
        functools.partial(delattr, owner, name) if before is owner else functools.partial(setattr, owner, name, before)
    )
