"""Transforms of compiled functions, which are compiled too: their Python runs once for each signature.

Layer: owns the mark of compiled functions, and the table of the transformed functions of each.
"""

from __future__ import annotations

import functools
import weakref
from collections.abc import Callable
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
        self._kept: dict[str, Function] = {}

    def kept(self, key: str, made: Callable[[], Function]) -> Function:
        """Return what ``made()`` returned for this key: a function that is compiled once, in spite of many requests."""
        if key not in self._kept:
            self._kept[key] = made()
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


def compiled_too(
    fn: Function,
    key: tuple[Any, ...],
    transformed: Function,
    prepared: Callable[[tuple[Any, ...]], Any] = lambda args: args,
    refused: type[Exception] | tuple[()] = (),
    otherwise: Function | None = None,
) -> Function:
    """Return ``transformed``, compiled if ``fn`` is: one function for each ``key``, however often it is asked for.

    The ``key``, a name and options, is compared by its text: options may be unhashable. ``prepared`` converts the
    arguments. Where the compiled function raises one of ``refused``, ``otherwise`` runs.
    """
    by = alike(fn)
    if by is None:
        return transformed
    return by.kept(repr(key), lambda: _compiled(by, transformed, prepared, refused, otherwise))


def _compiled(by: Alike, transformed: Function, prepared: Any, refused: Any, otherwise: Any) -> Function:
    run: Any = by.compiles(transformed)

    @functools.wraps(run)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        try:
            return run(*prepared(args), **kwargs)
        except refused as refusal:
            return otherwise(refusal, *args, **kwargs)

    def reads(*args: Any) -> list[Any] | None:
        try:
            return run.alike.reads(*prepared(args))
        except refused:
            return None

    mark(wrapped, by.compiles, reads)
    return wrapped
