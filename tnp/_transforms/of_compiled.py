"""Transforms of compiled functions, which are compiled too: their Python runs once for each signature.

Layer: owns the mark of compiled functions, and the table of the transformed functions of each.
"""

from __future__ import annotations

import functools
import weakref
from collections.abc import Callable, Hashable
from typing import Any

Function = Callable[..., Any]


class Alike:
    """Compiles functions with the options of a compiled function, and keeps one for each name and key.

    ``reads`` takes arguments of the compiled function, and returns the tensors from outside that it reads then; None if
    it writes to any, or it is unknown.
    """

    def __init__(
        self, fn: Function, compiles: Callable[[Function], Function], reads: Callable[..., list[Any] | None]
    ) -> None:
        self.fn = weakref.ref(fn)
        self.compiles = compiles
        self.reads = reads
        self._kept: dict[Hashable, Function] = {}

    def kept(self, key: Hashable, function: Function) -> Function:
        """Return ``function`` compiled, or the function that was compiled under this key before."""
        if key not in self._kept:
            self._kept[key] = self.compiles(function)
        return self._kept[key]


def mark(
    fn: Any, compiles: Callable[[Function], Function], reads: Callable[..., list[Any] | None] = lambda *args: None
) -> None:
    """Mark a function as compiled; ``compiles`` and ``reads`` are those of `Alike`."""
    fn.alike = Alike(fn, compiles, reads)


def alike(fn: Any) -> Alike | None:
    """Return the `Alike` of ``fn``; None if it is not a compiled function."""
    found = getattr(fn, "alike", None)
    return found if isinstance(found, Alike) and found.fn() is fn else None


def compiled_too(fn: Function, transformed: Function, prepared: Callable[[tuple[Any, ...]], Any]) -> Function:
    """Return ``transformed``, compiled if ``fn`` is; ``prepared`` converts its arguments."""
    by = alike(fn)
    if by is None:
        return transformed
    run: Any = by.compiles(transformed)

    @functools.wraps(run)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        return run(*prepared(args), **kwargs)

    mark(wrapped, by.compiles)
    return wrapped
