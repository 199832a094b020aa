"""The dispatch table of every hot path: dtypes -> the callable that computes, built on first use.

Layer: owns the cache, and none of its contents.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable
from typing import Any, ClassVar

from backend_torch import native

PLAIN: set[type] = set()
"""The array's own classes. Arrays of a class derived from it go the general way, which finds out what it wants."""


class Loops(dict[Any, Any]):
    """Key (a torch dtype, or a pair of them) -> loop, made by ``build`` on first use.

    Parameters
    ----------
    build : callable
        Key -> loop.
    instead : callable, optional
        Key -> what stands in for the loop while the tables are suspended, because somebody asks for floating-point
        errors: all tables that have such a stand-in are empty then, so that outside of it nobody has to ask.
    """

    __slots__ = ("__weakref__", "build", "instead", "kept")
    suspended: ClassVar[int] = 0
    tables: ClassVar[weakref.WeakSet[Loops]] = weakref.WeakSet()
    lock: ClassVar[threading.RLock] = threading.RLock()
    """Held while tables are emptied or filled, so that no thread fills a table that another one has emptied."""

    def __init__(self, build: Callable[[Any], Any], instead: Callable[[Any], Any] | None = None) -> None:
        self.build = build
        self.instead = instead
        self.kept: dict[Any, Any] = {}
        if instead is not None:
            with Loops.lock:
                Loops.tables.add(self)

    __hash__ = object.__hash__  # type: ignore[assignment]  # a table is itself

    def __missing__(self, key: Any) -> Any:
        if self.instead is not None and Loops.suspended:
            return self.instead(key)
        loop = self.build(key)
        with Loops.lock:
            (self.kept if self.instead is not None and Loops.suspended else self)[key] = loop
        return loop

    @classmethod
    def suspend(cls) -> None:
        """One more asks for floating-point errors."""
        with cls.lock:
            cls.suspended += 1
            native.watch_errors(True)
            for table in cls.tables:
                table.kept.update(table)
                table.clear()

    @classmethod
    def resume(cls) -> None:
        """One less."""
        with cls.lock:
            cls.suspended -= 1
            if not cls.suspended:
                native.watch_errors(False)
                for table in cls.tables:
                    table.update(table.kept)
