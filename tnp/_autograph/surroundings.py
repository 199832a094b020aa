"""What a block of a function can change besides its variables: containers, attributes, globals, iterators, files.

Layer: owns the record of such objects before a block is traced, what has changed since, and the way back. Tracing runs
a block once, whatever its condition: without this record an item that it appends would stay.
"""

from __future__ import annotations

import array
import collections
import contextlib
import functools
import importlib.machinery
import operator
import sys
import threading
import types
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from backend_torch.tensors import memory, trace_state
from tnp._autograph.conversion import installed
from tnp._autograph.places import MISSING, Place, rebound
from tnp._autograph.values import NotStaged, is_same, mutable
from tnp._core.base import ndarray

_MOST_OBJECTS = 2**18  # that are looked at
_NO_STATE = frozenset({type(None), bool, int, float, complex, str, bytes, range, slice, np.ufunc, types.CodeType})
_LARGE = 2**27  # bytes: what a block writes to a larger array of NumPy's own is not noticed
_OURS = frozenset({"tnp", "backend_torch", "torch"})  # packages whose objects are arrays, or have no state
_LOOKS_AT = (isinstance, issubclass, type, id, len, repr, str, hash, bool, callable, iter, getattr, hasattr)
"""Functions that change nothing of what they are given."""


class EffectError(trace_state.OfTracing, NotImplementedError):
    """A statement reads or changes what a graph can't."""


class _Contents(NamedTuple):
    """How the contents of a class of containers are copied, and put back."""

    copied: Callable[[Any], Any]
    put: Callable[[Any, Any], None]


def _put_all(kind: Any, add: str) -> Callable[[Any, Any], None]:
    def put(container: Any, before: Any) -> None:
        kind.clear(container)
        getattr(kind, add)(container, before)

    return put


def _put_slice(container: Any, before: Any) -> None:
    container[:] = before


def _put_array(container: Any, before: Any) -> None:
    container[...] = before


def _slots(value: Any) -> dict[str, Any]:
    classes = [each.__dict__ for each in type(value).__mro__ if "__slots__" in each.__dict__]
    members = [(name, member) for each in classes for name, member in each.items()]
    slots = [name for name, member in members if isinstance(member, types.MemberDescriptorType)]
    return {name: getattr(value, name, MISSING) for name in slots}


def _own_attributes(value: Any) -> dict[str, Any]:
    return {name: each for name, each in value.__dict__.items() if not name.startswith("__")}


_CONTENTS: dict[type, _Contents] = {
    list: _Contents(list.copy, _put_all(list, "extend")),
    collections.OrderedDict: _Contents(dict.copy, _put_all(collections.OrderedDict, "update")),
    dict: _Contents(dict.copy, _put_all(dict, "update")),
    set: _Contents(set.copy, _put_all(set, "update")),
    collections.deque: _Contents(collections.deque, _put_all(collections.deque, "extend")),
    bytearray: _Contents(bytes, _put_slice),
    array.array: _Contents(lambda container: container[:], _put_slice),
    np.ndarray: _Contents(np.copy, _put_array),
}


class Surroundings:
    """The objects outside a block that it may change: containers, attributes, globals and closure variables.

    Parameters
    ----------
    block : callable
    values : iterable
        Those of the variables that the block changes.
    """

    def __init__(self, block: Callable[..., Any], values: Iterable[Any]) -> None:
        self.kept: dict[int, tuple[Any, _Contents, Any]] = {}
        self.attributes: dict[int, tuple[Any, Callable[[Any], dict[str, Any]], dict[str, Any]]] = {}
        self.places: dict[tuple[int, Any], tuple[Place, Any]] = {}
        self.hidden: dict[int, Any] = {}  # objects whose state Python does not show
        self._seen: dict[int, Any] = {}
        self._keep(values)
        held = set(self.kept)  # by variables, whose containers are made anew for each step
        self._keep(_reached(block))
        self.outside = self.kept.keys() - held

    def called(self, function: types.FunctionType) -> None:
        """Note a function that the block is about to call."""
        for place in rebound(function):
            self.places.setdefault((id(place.holder), place.key), (place, place.get()))
        self._keep(_reached(function))

    def rebound(self) -> list[Place]:
        """Restore globals and closure variables that called functions have assigned to; return their places."""
        found = []
        for place, before in self.places.values():
            if not is_same(before, place.get()):
                place.put(before)
                found.append(place)
        return found

    def _keep(self, values: Iterable[Any]) -> None:
        waiting = list(values)
        while waiting:
            value = waiting.pop()
            kind = type(value)
            if kind in _NO_STATE or id(value) in self._seen:
                continue
            self._seen[id(value)] = value
            if len(self._seen) > _MOST_OBJECTS:
                why = f"it can reach more than {_MOST_OBJECTS:,} objects, which it may change"
                raise NotStaged(f"{trace_state.user_line()}: {why}").because(why)
            waiting += self._parts(value, kind)

    def _parts(self, value: Any, kind: type) -> Iterator[Any]:
        """Note an object, and yield what it holds."""
        if _is_ours(kind.__module__) or memory.is_tensor(value) or isinstance(value, ndarray):
            if hasattr(kind, "__next__"):
                self.hidden[id(value)] = value
        elif isinstance(value, (type, types.ModuleType)):
            if _is_programs(value):
                found = self._note(value, _own_attributes)
                yield from found if isinstance(value, type) else ()
        elif isinstance(value, types.MethodType):
            yield from (value.__self__, value.__func__)
        elif isinstance(value, types.BuiltinMethodType):
            yield value.__self__
        elif isinstance(value, functools.partial):
            yield from (value.func, value.args, value.keywords)
        else:
            yield from self._contents(value)
            yield getattr(value, "__dict__", None)
            if any("__slots__" in each.__dict__ for each in kind.__mro__):
                yield from self._note(value, _slots)
            if _is_hidden(kind):
                self.hidden[id(value)] = value

    def _contents(self, value: Any) -> Iterable[Any]:
        known = next((each for each in _CONTENTS if isinstance(value, each)), None)
        if known is not None and not (known is np.ndarray and value.nbytes > _LARGE):
            contents = _CONTENTS[known]
            self.kept[id(value)] = value, contents, contents.copied(value)
        if isinstance(value, types.FunctionType):
            return _cells(value)
        if not isinstance(value, (dict, tuple, list, collections.deque)):
            return ()
        items = [*dict.values(value)] if isinstance(value, dict) else value
        return () if _NO_STATE.issuperset(map(type, items)) else items

    def _note(self, value: Any, attributes: Callable[[Any], dict[str, Any]]) -> Iterable[Any]:
        found = attributes(value)
        self.attributes[id(value)] = value, attributes, found
        return found.values()

    def has_changed(self) -> bool:
        """Whether a container or an attribute has changed."""
        return any(
            _differences(value, contents, before) != [] for value, contents, before in self.kept.values()
        ) or any(
            not is_same(value, now.get(name, MISSING))
            for each, attributes, before in self.attributes.values()
            for now in [attributes(each)]
            for name, value in before.items()
        )

    def restored(self) -> tuple[list[Place], Any]:
        """Restore the contents of the containers, and attributes.

        Returns
        -------
        places : list of Place
            The entries that had other values.
        changed
            A container that had other entries, or that a variable of the block holds; None if there is none.
        """
        places: list[Place] = []
        changed = None
        for key, (value, contents, before) in self.kept.items():
            found = _differences(value, contents, before)
            if found is None or (found and key not in self.outside):
                changed = value
            else:
                places += found
            if found != []:
                contents.put(value, before)
        for value, attributes, before in self.attributes.values():
            now = attributes(value)
            for name in {**before, **now}:
                if not is_same(before.get(name, MISSING), now.get(name, MISSING)):
                    place = Place("attribute", value, name)
                    place.put(before.get(name, MISSING))
                    places.append(place)
        return places, changed


def _differences(value: Any, contents: _Contents, before: Any) -> list[Place] | None:
    """Return the entries that have other values; None if the container has others, or a graph could not set them."""
    if isinstance(value, np.ndarray):
        now = contents.copied(value)
        is_as_before = (now.dtype, now.shape) == (before.dtype, before.shape) and now.tobytes() == before.tobytes()
        return [] if is_as_before else None
    if isinstance(value, (set, bytearray, array.array)):
        return [] if contents.copied(value) == before else None
    if len(value) != len(before) or (isinstance(value, dict) and [*value] != [*before]):
        return None
    if isinstance(value, dict):
        return [Place("item", value, key) for key, item in before.items() if not is_same(item, dict.get(value, key))]
    if all(map(operator.is_, before, value)):
        return []
    found = [Place("item", value, at) for at, item in enumerate(before) if not is_same(item, value[at])]
    return None if found and not isinstance(value, list) else found


def _reached(function: Any) -> Iterator[Any]:
    """Yield what a function can reach by the names in its code."""
    yield from _cells(function)
    names = getattr(getattr(function, "__code__", None), "co_names", ())
    for name in names:
        value = function.__globals__.get(name)
        yield value
        if isinstance(value, types.ModuleType) and _is_programs(value):
            yield from map(value.__dict__.get, names)


def _cells(function: Any) -> Iterator[Any]:
    """Yield the closure variables of a function, and the defaults of its parameters."""
    yield getattr(function, "__defaults__", None)
    yield getattr(function, "__kwdefaults__", None)
    for cell in getattr(function, "__closure__", None) or ():
        try:
            yield cell.cell_contents
        except ValueError:
            continue


def _is_programs(value: Any) -> bool:
    """Whether a class or a module is the program's own."""
    name = value.__name__ if isinstance(value, types.ModuleType) else value.__module__
    is_named = isinstance(name, str)  # a class may have any
    return is_named and not _is_ours(name) and not _is_compiled(name) and not _file(name).startswith(installed())


def _is_ours(module: str) -> bool:
    return module.partition(".")[0] in _OURS


def _is_compiled(module: str) -> bool:
    return module in sys.builtin_module_names or _file(module).endswith(tuple(importlib.machinery.EXTENSION_SUFFIXES))


def _file(module: str) -> str:
    return getattr(sys.modules.get(module), "__file__", None) or ""


@functools.cache
def _is_hidden(kind: type) -> bool:
    """Whether objects of a class have a state that Python does not show: files, random generators, iterators of C.

    One that is hashed by its value can't change.
    """
    hashed: Any = kind.__hash__  # None, too
    if hashed not in (None, object.__hash__) or kind in (types.FunctionType, property):
        return False
    bases = [each for each in kind.__mro__ if each is not object and each not in _CONTENTS]
    return any(_is_compiled(each.__module__) for each in bases)


class _State(threading.local):
    def __init__(self) -> None:
        self.blocks: list[Surroundings] = []  # of the blocks being traced, from the outermost to the innermost
        self.shared: list[tuple[Surroundings, str]] | None = None  # see `share`; None where nothing asks for it later


state = _State()


@contextlib.contextmanager
def sharing() -> Iterator[None]:
    """A scope in which a function is traced whose containers a block may `share`: none of these may change in it."""
    around, state.shared = state.shared, []
    try:
        yield
        for kept, line in state.shared:
            if kept.has_changed():
                raise _changed_by_another_name(line)
    finally:
        state.shared = around


def share(containers: Sequence[Any], line: str) -> None:
    """Note containers that a block has made anew, and those that they stand for: values decide which are one."""
    if state.shared is None:
        raise _changed_by_another_name(line)
    state.shared.append((Surroundings(_nothing, containers), line))


def shared() -> set[int]:
    """Return the identifiers of the containers that may not change."""
    return {key for kept, _ in state.shared or () for key in kept.kept}


def check_names(values: Iterable[Any], entries: Sequence[Place], start: int) -> None:
    """Raise `EffectError` if a block changes a container of which it makes another name, or values decide which it is.

    Parameters
    ----------
    values : iterable
        Those of the variables after it.
    entries : sequence of Place
        What it has changed in containers from around it.
    start : int
        How many there were to share before it.
    """
    changed = {id(place.holder) for place in entries}
    others = [each for kept, _ in (state.shared or ())[start:] for each, *_ in kept.kept.values()]
    named = [each for value in values for each in mutable(value)]
    if changed and not changed.isdisjoint(map(id, [*others, *named, *[getattr(x, "__dict__", None) for x in named]])):
        raise _changed_by_another_name(trace_state.user_line())


def check_given(values: Iterable[Any]) -> None:
    """Raise `EffectError` if another part of a function is given a container of which values decide which it is."""
    for kept, line in state.shared or ():
        if any(id(each) in kept.kept for value in values for each in mutable(value)):
            raise _changed_by_another_name(line)


def _changed_by_another_name(line: str) -> EffectError:
    why = "values decide whether two variables are one list or dictionary, and it is changed"
    return EffectError(f"{line}: {why}, but each has its own in a graph: change a copy of it").because(why, line)


def _nothing() -> None:
    """A block that reaches nothing."""


def called(function: types.FunctionType) -> None:
    """Tell the blocks being traced that a function is about to be called."""
    for around in state.blocks:
        around.called(function)


def refuse(value: Any) -> None:
    """Raise `EffectError` if a block being traced would change an object from around it whose state is hidden."""
    for around in state.blocks:
        if id(value) in around.hidden:
            kind = type(value).__name__
            why = f"a branch or a loop whose condition is traced changes a {kind} from before it"
            text = "that would happen once, while tracing, and not at each call"
            raise EffectError(f"{trace_state.user_line()}: {why}: {text}").because(why)


def refusing(function: Any, made: Any) -> Any:
    """Return ``made``, which runs in place of a library's function; it refuses what that could change unseen."""
    if not any(each.hidden for each in state.blocks) or any(function is each for each in _LOOKS_AT):
        return made
    refuse(getattr(function, "__self__", None))

    def call(*args: Any, **kwargs: Any) -> Any:
        for value in (*args, *kwargs.values()):
            refuse(value)
        return made(*args, **kwargs)

    return call
