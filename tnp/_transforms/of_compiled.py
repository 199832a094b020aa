"""Transforms of compiled functions are compiled themselves: their Python too runs once for each signature.

Layer: owns which function is a compiled one and not a wrapper around it, and which transformed functions it has.
"""

from __future__ import annotations

import functools
import weakref
from collections.abc import Callable, Hashable
from typing import Any

Function = Callable[..., Any]


class Alike:
    """What compiles functions as a compiled function was, and keeps them: each name and key has one."""

    def __init__(self, fn: Function, compiles: Callable[[Function], Function]) -> None:
        self.fn = weakref.ref(fn)
        self.compiles = compiles
        self._kept: dict[Hashable, Function] = {}

    def kept(self, key: Hashable, function: Function) -> Function:
        """``function`` compiled, or what was compiled under that key before."""
        if key not in self._kept:
            self._kept[key] = self.compiles(function)
        return self._kept[key]


def mark(fn: Any, compiles: Callable[[Function], Function]) -> None:
    """Note that a function is a compiled one, and what compiles others with its options."""
    fn.alike = Alike(fn, compiles)


def alike(fn: Any) -> Alike | None:
    """What compiles functions as ``fn`` was; None if that is no compiled function."""
    found = getattr(fn, "alike", None)
    return found if isinstance(found, Alike) and found.fn() is fn else None


def compiled_too(fn: Function, transformed: Function, prepared: Callable[[tuple[Any, ...]], Any]) -> Function:
    """``transformed``, compiled if ``fn`` is, of what ``prepared`` makes of its arguments."""
    by = alike(fn)
    if by is None:
        return transformed
    run: Any = by.compiles(transformed)

    @functools.wraps(run)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        return run(*prepared(args), **kwargs)

    mark(wrapped, by.compiles)
    return wrapped
