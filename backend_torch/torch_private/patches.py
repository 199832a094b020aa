"""Patches of torch: in place while tnp traces or compiles, in the thread that does, and nowhere else.

Layer: owns how a patch comes and goes. What is patched, and why, each module of this room says, and the manifest lists.
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
    """What is replaced of torch in a scope. Outside of it torch is as it was.

    Parameters
    ----------
    put : callable
        ``put(patches)`` puts the patches in place and returns what undoes each. Another thread may compile meanwhile,
        so that it replaces a function by :meth:`either`.
    """

    def __init__(self, put: Callable[[Patches], list[Undo]]) -> None:
        self._put = put
        self._lock = threading.Lock()
        self._here = _Here()
        self._scopes = 0
        self._undo: list[Undo] = []

    @contextlib.contextmanager
    def applied(self) -> Iterator[None]:
        """The scope."""
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
        """What replaces a function of torch: ours in a thread that is in the scope, theirs in others."""

        @functools.wraps(theirs)  # Inductor looks for scalar operations by the function's name
        def chosen(*args: Any, **kwargs: Any) -> Any:
            return ours(*args, **kwargs) if self._here.inside else theirs(*args, **kwargs)

        return chosen


def replaced_item(table: MutableMapping[Any, Any], key: Any, value: Any) -> Undo:
    """``table[key] = value``; returns what undoes it."""
    if key not in table:
        table[key] = value
        return lambda: table.pop(key, None)
    before = table[key]
    table[key] = value
    return functools.partial(table.__setitem__, key, before)


def replaced_attribute(owner: Any, name: str, value: Any) -> Undo:
    """``owner.name = value`` for an attribute of the owner's own; returns what undoes it."""
    before = owner.__dict__[name]  # a static method of a class as what it is
    setattr(owner, name, value)
    return functools.partial(setattr, owner, name, before)
