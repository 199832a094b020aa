"""The dispatch table of every hot path: dtypes -> the callable that computes, built on first use.

Layer: owns the cache, and none of its contents.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any, ClassVar

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

    def __init__(self, build: Callable[[Any], Any], instead: Callable[[Any], Any] | None = None) -> None:
        self.build = build
        self.instead = instead
        self.kept: dict[Any, Any] = {}
        if instead is not None:
            Loops.tables.add(self)

    __hash__ = object.__hash__  # type: ignore[assignment]  # a table is itself

    def __missing__(self, key: Any) -> Any:
        if self.instead is not None and Loops.suspended:
            return self.instead(key)
        loop = self[key] = self.build(key)
        return loop

    @classmethod
    def suspend(cls) -> None:
        """One more asks for floating-point errors."""
        cls.suspended += 1
        for table in cls.tables:
            table.kept.update(table)
            table.clear()

    @classmethod
    def resume(cls) -> None:
        """One less."""
        cls.suspended -= 1
        if not cls.suspended:
            for table in cls.tables:
                table.update(table.kept)
