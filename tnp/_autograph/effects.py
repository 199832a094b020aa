"""What a graph can't repeat: other values of clocks and generators, and changes of containers from outside.

Layer: owns which calls read such values, and the search for the line of a change. Which containers a function reaches
is `tnp._compile.outer_state`'s.
"""

from __future__ import annotations

import builtins
import contextlib
import contextvars
import datetime
import functools
import io
import logging
import operator
import pathlib
import random
import sys
import threading
import types
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple
from unittest import mock

from backend_torch.tensors import trace_state
from tnp._autograph.conversion import installed
from tnp._autograph.surroundings import EffectError as EffectError
from tnp._autograph.surroundings import refuse

_MODULES = frozenset({  # whose functions read the clock, files or the system
    "time", "posix", "nt", "uuid", "secrets", "genericpath", "shutil", "glob", "tempfile", "subprocess", "socket",
    "urllib.request", "platform", "locale", "configparser", "ctypes", "mmap",
})  # fmt: skip
_FUNCTIONS = {  # functions of other modules that do so
    "builtins": {"input", "open", "breakpoint"},
    "io": {"open"},
    "_io": {"open"},
    "posixpath": {"abspath", "expanduser", "expandvars", "islink", "ismount", "lexists", "realpath", "relpath"},
    "ntpath": {"abspath", "expanduser", "expandvars", "islink", "ismount", "lexists", "realpath", "relpath"},
    "sys": {"getrecursionlimit", "getswitchinterval", "gettrace", "getprofile"},
    "decimal": {"Decimal", "getcontext", "localcontext"},
    "threading": {"active_count", "current_thread", "enumerate", "get_ident", "get_native_id"},
    "torch": {"get_default_dtype", "get_num_threads", "load"},
    "numpy": {"fromfile", "fromregex", "genfromtxt", "load", "loadtxt", "memmap", "open_memmap", "get_printoptions"},
    "logging": {"getEffectiveLevel", "isEnabledFor"},
}
_FUNCTIONS["tnp"] = _FUNCTIONS["numpy"]


class _Generators(NamedTuple):
    """Python's and NumPy's generators of random numbers."""

    classes: tuple[type, ...]
    hidden: frozenset[int]
    """The identifiers of those that functions of the modules draw from."""
    makers: tuple[Callable[..., Any], ...]
    """What makes one that differs at each call unless it is given a seed."""


@functools.cache
def _generators() -> _Generators:
    """Import NumPy's generators when a function is traced: ``import tnp`` does without them."""
    import numpy.random as theirs

    return _Generators(
        (random.Random, theirs.RandomState, theirs.Generator, theirs.BitGenerator),
        frozenset({id(random.random.__self__), id(theirs.rand.__self__)}),  # type: ignore[attr-defined]
        (random.Random, theirs.RandomState, theirs.default_rng),
    )


class _State(threading.local):
    names: frozenset[str] | set[str] = frozenset()  # those that the trace knows it reads
    texts: set[str] | None = None  # other names that it asks for
    outside: dict[int, Any] | None = None  # what existed before the trace, by identifier
    is_search = False
    is_strict = False


state = _State()


@contextlib.contextmanager
def strict() -> Iterator[None]:
    """A scope in which a trace refuses what would happen once, or otherwise: printing, logging, notes, draws."""
    before, state.is_strict = state.is_strict, True
    try:
        yield
    finally:
        state.is_strict = before


@contextlib.contextmanager
def watched(outside: dict[int, Any], names: set[str], texts: set[str]) -> Iterator[None]:
    """A scope in which a function is traced that can reach these objects, by these names; it adds other names that the
    function asks for to ``texts``.
    """
    before = state.outside, state.names, state.texts
    state.outside, state.names, state.texts = outside, names, texts
    try:
        with mock.patch.multiple(builtins, eval=_EVAL, exec=_EXEC):  # functions that call them are not converted
            yield
    finally:
        state.outside, state.names, state.texts = before


def called(function: Any) -> Any:
    """Return what a function does that the program is about to call; `EffectError` if it does it at each call anew."""
    if state.outside is None or not trace_state.is_tracing():
        return function
    owner = getattr(function, "__self__", None)
    name = getattr(function, "__name__", "")
    module = getattr(function, "__module__", None)
    known = _generators()
    if issubclass(type(owner), known.classes) and (id(owner) in state.outside or id(owner) in known.hidden):
        raise _read(f"{name} draws from a generator outside of the function")
    if state.is_strict and isinstance(owner, known.classes):  # tnp's, too
        raise _read(f"{name} draws numbers, of which compiled code draws others")
    is_writing = function is print or isinstance(owner, (io.IOBase, logging.Logger)) or module == "logging"
    if is_writing and state.is_strict:
        raise _read(f"{name} writes")
    if isinstance(owner, io.IOBase) and id(owner) in state.outside and owner not in (sys.stdout, sys.stderr):
        raise _read(f"{name} reads or writes a file")
    is_path = issubclass(owner if isinstance(owner, type) else type(owner), pathlib.Path)
    if is_path and not hasattr(pathlib.PurePath, name):
        raise _read(f"{name} reads or writes files")
    is_date = isinstance(owner, type) and issubclass(owner, datetime.date) and name in ("now", "today", "utcnow")
    is_context = isinstance(owner, contextvars.ContextVar)
    module = module or getattr(type(owner), "__module__", None) or ""
    is_impure = module in _MODULES or name in _FUNCTIONS.get(module.partition(".")[0], ())
    if is_date or is_context or is_impure:
        raise _read(f"{name} does something else at each call")
    if function is next:
        return _next
    if function is getattr or function is hasattr:
        return _getattr if function is getattr else _hasattr
    if isinstance(function, operator.attrgetter):
        _ask(*[part for path in function.__reduce__()[1] for part in path.split(".")])
    return _seeded(function) if any(function is each for each in known.makers) else function


def _seeded(function: Any) -> Any:
    def make(*args: Any, **kwargs: Any) -> Any:
        if all(value is None for value in (*args, *kwargs.values())):
            raise _read(f"{function.__name__} makes a generator without a seed")
        return function(*args, **kwargs)

    return make


def _ask(*names: Any) -> None:
    """Note names that code asks for, unless the search of the program's text has found them."""
    if state.texts is not None:
        state.texts.update({name for name in names if isinstance(name, str)} - state.names)


def _getattr(owner: Any, name: Any, *default: Any) -> Any:
    _ask(name)
    return getattr(owner, name, *default)


def _hasattr(owner: Any, name: Any) -> bool:
    _ask(name)
    return hasattr(owner, name)


def _names_in(code: types.CodeType) -> Iterator[str]:
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _names_in(constant)


def _evaluating(function: Any, mode: str) -> Any:
    """Return ``eval`` or ``exec`` that notes the names in the code, and runs it in the frame that calls it."""

    def evaluate(source: Any, scope: Any = None, local: Any = None, /, **more: Any) -> Any:
        frame = sys._getframe(1)
        if state.texts is not None and _is_ours(frame.f_code.co_filename):
            with contextlib.suppress(SyntaxError, TypeError, ValueError):
                _ask(*_names_in(source if isinstance(source, types.CodeType) else compile(source, "<string>", mode)))
        if scope is None:
            scope, local = frame.f_globals, frame.f_locals if local is None else local
        return function(source, scope, local, **more)

    return evaluate


_EVAL, _EXEC = _evaluating(eval, "eval"), _evaluating(exec, "exec")


def _next(iterator: Any, *default: Any) -> Any:
    return next(iterated(iterator), *default)


def iterated(items: Any) -> Any:
    """Return what the program is about to iterate over; raise `EffectError` for an iterator from outside."""
    refuse(items)
    if state.outside is not None and id(items) in state.outside and trace_state.is_tracing():
        advance = getattr(type(items), "__next__", None)
        if advance is not None and not isinstance(advance, types.FunctionType):
            raise _read(f"it advances an iterator from outside of the function ({type(items).__name__})")
    return items


def _read(what: str) -> EffectError:
    return EffectError(
        f"{trace_state.user_line()}: {what}, but Python runs only while a compiled function is traced: pass the value "
        "as an argument, or leave this part outside tnp.compile"
    ).because(f"{what}, which a graph can't")


def _is_ours(file: str) -> bool:
    """Whether code of a file is the program's."""
    return not trace_state.is_own(file) and not file.startswith(installed())


def lines_of_change(run: Callable[[], Any], has_changed: Callable[[], bool]) -> list[tuple[str, int]]:
    """Run a function again; return the files and lines of the program's statements, the outermost first, that were
    running when something changed; an empty list if none is found.
    """
    found: list[tuple[str, int]] = []
    last: list[tuple[str, int]] = []

    def stack(frame: types.FrameType | None) -> list[tuple[str, int]]:
        lines = []
        while frame is not None:
            if _is_ours(frame.f_code.co_filename):
                lines.append((frame.f_code.co_filename, frame.f_lineno))
            frame = frame.f_back
        return lines[::-1]

    def line(frame: types.FrameType, event: str, _: Any) -> Any:
        if not found and last and has_changed():
            found.extend(last)
        last[:] = stack(frame.f_back if event == "return" else frame)
        return None if found else line

    def call(frame: types.FrameType, event: str, _: Any) -> Any:
        return line(frame, event, None) if not found and _is_ours(frame.f_code.co_filename) else None

    around = sys.gettrace()
    depth = len(stack(sys._getframe()))
    state.is_search = True
    sys.settrace(call)
    try:
        run()
    finally:
        sys.settrace(around)
        state.is_search = False
    if not found and has_changed():
        found = last
    return found[depth:]
