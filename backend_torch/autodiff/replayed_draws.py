"""Replayed draws: states of generators before a function drew from them, to run it again with the same numbers.

Layer: owns that record. Code that draws calls `note` before. Streams of torch, from which graphs draw by themselves,
are `watched`. Checkpoints run a function again, and so do derivatives that need its old values.
"""

from __future__ import annotations

import contextlib
import threading
import weakref
from collections.abc import Callable, Iterator
from types import TracebackType
from typing import Any, Protocol

import torch

from backend_torch.tensors import trace_state

_watched: weakref.WeakSet[Stream] = weakref.WeakSet()


class _State(threading.local):
    current: Draws | None = None


state = _State()


class Draws:
    """A scope in which a function draws; it notes the state of each generator before its first number.

    In a trace, also Dynamo's, nothing is drawn and nothing noted.
    """

    def __init__(self) -> None:
        self._before: dict[int, tuple[object, Callable[[], Any], Callable[[Any], object], Any]] = {}
        self._outer: Draws | None = None

    def __enter__(self) -> Draws:
        self._before.clear()
        is_traced = trace_state.is_tracing() or torch.compiler.is_compiling()
        self._outer, state.current = state.current, None if is_traced else self
        if state.current is not None:
            trace_state.enter()
            for generator in (torch.default_generator, *_of_accelerator(), *[each.generator for each in _watched]):
                self.note(generator, generator.get_state, generator.set_state)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if state.current is not None:
            trace_state.enter(-1)
        state.current, self._outer = self._outer, None

    def note(self, generator: object, read: Callable[[], Any], write: Callable[[Any], object]) -> None:
        """Keep the state of a generator that is about to draw: ``read()`` returns it, ``write`` restores it."""
        if id(generator) not in self._before:
            self._before[id(generator)] = generator, read, write, read()
        if self._outer is not None:
            self._outer.note(generator, read, write)

    def rewind(self) -> None:
        """Restore the states of the generators."""
        for _, _, write, before in self._before.values():
            write(before)

    @contextlib.contextmanager
    def again(self) -> Iterator[None]:
        """A scope that draws the same numbers again; afterwards the generators continue from their current states."""
        if state.current is not None:
            for generator, read, write, _ in self._before.values():
                state.current.note(generator, read, write)
        now = [(write, read()) for _, read, write, _ in self._before.values()]
        self.rewind()
        try:
            yield
        finally:
            for write, value in now:
                write(value)


def note(generator: torch.Generator) -> None:
    """Note that a torch generator is about to draw."""
    if state.current is not None:
        state.current.note(generator, generator.get_state, generator.set_state)


class Stream(Protocol):
    """An object with a generator."""

    generator: torch.Generator


def watch(stream: Stream) -> None:
    """Note the stream's generator in every record, as long as the stream exists: a graph may draw from it."""
    _watched.add(stream)  # torch 2.11 has no weak references to generators themselves
    note(stream.generator)


def _of_accelerator() -> tuple[torch.Generator, ...]:
    return torch.cuda.default_generators if torch.cuda.is_initialized() else ()
