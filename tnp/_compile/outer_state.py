"""State outside of a compiled function's arguments that it reads or sets: attributes, globals, closures, entries.

Layer: owns the places of such values, their comparison with the values while tracing, and the function's assignments.
The places are found before the trace, in the names in the code of the function and of the functions that it can reach.
"""

from __future__ import annotations

import collections
import dis
import functools
import gc
import importlib.util
import operator
import os
import sys
import types
import weakref
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

from backend_torch.graphs import compiling
from backend_torch.tensors import memory
from tnp._array.ndarray import ndarray, scalar
from tnp._array.readonly import readonly
from tnp._autograph.conversion import installed
from tnp._autograph.places import MISSING, Place
from tnp._core.base import SCALARS, indirect, strided
from tnp._core.readonly_views import set_writeable
from tnp._transforms import pytree, reruns
from tnp._transforms.registered_pytrees import registered
from tnp._transforms.traced_numbers import Number

Tensor = Any
_MANY = 64  # items from which on a container's are compared by identity, and not looked into
_GLOBALS = {"LOAD_GLOBAL", "LOAD_NAME", "STORE_GLOBAL", "DELETE_GLOBAL", "LOAD_FROM_DICT_OR_GLOBALS"}
_ATTRIBUTES = {"LOAD_ATTR", "LOAD_METHOD", "STORE_ATTR", "DELETE_ATTR", "LOAD_SUPER_ATTR", "IMPORT_FROM"}
_ASSIGNED = {"STORE_ATTR", "DELETE_ATTR", "STORE_GLOBAL", "DELETE_GLOBAL"}
_ITEMS = {"STORE_SUBSCR", "DELETE_SUBSCR", "STORE_SLICE"}
_CHANGERS = {
    *("add", "append", "clear", "discard", "extend", "insert", "pop", "popitem", "popleft", "remove", "reverse"),
    *("setdefault", "sort", "update", "at", "copyto", "fill", "fill_diagonal", "partition", "place", "put", "putmask"),
}
_MAKERS = {"__init__", "__new__", "__post_init__"}  # what they assign to is new
_OPAQUE = {"tnp", "backend_torch", "numpy", "builtins"}  # packages whose objects are not looked into
_CONSTANT = _OPAQUE | {"math", "cmath", "torch"}  # modules whose numbers nobody sets
_ENVIRONMENT = {"environ", "environb", "getenv", "getenvb"}
_HELD: dict[type, str] = {  # classes of Python's that keep their items in an attribute
    collections.ChainMap: "maps",
    collections.UserDict: "data",
    collections.UserList: "data",
    weakref.WeakValueDictionary: "data",
    weakref.WeakKeyDictionary: "data",
    weakref.WeakSet: "data",
    type(os.environ): "_data",
}
_OF_CLASSES = {"__dict__", "__weakref__", "__doc__", "__module__", "__annotations__"}
_MAPPINGS = (dict, types.MappingProxyType)
_SETS = (set, frozenset)
_LIBRARIES = _OPAQUE | {"torch"} | sys.stdlib_module_names
_PLAIN = (type(None), bool, int, str, bytes)
OPEN = (ndarray, *SCALARS, readonly)
_SEQUENCES = (list, collections.deque, bytearray)
_LARGE = 2**27  # bytes: what NumPy writes to a larger array of its own while tracing is not noticed


class _Search:
    """The places that a function can reach by the names in its code."""

    def __init__(self, function: Any, roots: list[Any], texts: set[str]) -> None:
        module = getattr(function, "__module__", None) or ""
        self.package = module.partition(".")[0]
        self.places: dict[Any, Place] = {}
        self.instances: dict[int, Any] = {}
        self.names: set[str] = set(texts)
        self.texts = texts  # names that are no constants of the code
        self.asked: set[str] = set(texts)  # the names that hasattr and getattr may be given
        self.members: dict[int, Any] = {}
        self.asks_types = False  # whether code names ``type``
        self.assigns = False  # whether code assigns to attributes, globals or variables around it
        self.changes_items = False  # or to items, or calls what changes a container
        self.seen: dict[int, Any] = {}
        self._visit(function)
        for root in roots:
            self._visit(root)
        size = -1
        while size != (size := len(self.names) + len(self.asked) + len(self.seen)):
            for instance in list(self.instances.values()):
                self._attributes(instance)

    def _is_ours(self, module: str, file: str) -> bool:
        """Whether code is the user's: not Python's nor an installed package's, except the function's own package."""
        root = module.partition(".")[0]
        if root == self.package and root not in _LIBRARIES:
            return True
        return root not in _LIBRARIES and not file.startswith(installed())

    def _visit(self, value: Any) -> None:
        if type(value) in _PLAIN or type(value) is float or id(value) in self.seen:
            return
        self.seen[id(value)] = value
        if pytree.is_array(value):
            return
        if isinstance(value, types.FunctionType):
            self._function(value)
        elif isinstance(value, types.BuiltinMethodType):  # or a function of a module
            if isinstance(value.__self__, (dict, set, *_SEQUENCES)):
                self._visit(value.__self__)
        elif isinstance(value, types.MethodType):
            self._visit(value.__self__)
            self._visit(value.__func__)
        elif isinstance(value, functools.partial):
            self._visit(value.func)
            self._add(Place("attribute", value, "args"))
            self._add(Place("attribute", value, "keywords"))
        elif (held := next((name for kind, name in _HELD.items() if isinstance(value, kind)), None)) is not None:
            self._add(Place("attribute", value, held))
            self._instance(value)
        elif isinstance(value, types.MappingProxyType):
            self._visit(gc.get_referents(value)[0])
        elif isinstance(value, weakref.ref):
            self._visit(value())
        elif isinstance(value, operator.attrgetter):
            self.names |= {part for path in value.__reduce__()[1] for part in path.split(".")}
        elif isinstance(value, (property, staticmethod, classmethod, functools.cached_property)):
            for name in ("fget", "fset", "__func__", "func"):
                self._visit(getattr(value, name, None))
        elif isinstance(value, (list, tuple, set, frozenset, dict, collections.deque)):
            for item in list(value.values() if isinstance(value, dict) else value):
                self._visit(item)
            self._instance(value)
        elif isinstance(value, types.ModuleType):
            if value.__name__.partition(".")[0] not in _CONSTANT:
                self.instances[id(value)] = value
        else:
            self._instance(value)

    def _instance(self, value: Any) -> None:
        """Note an object, or a class, for its attributes."""
        kind = value if isinstance(value, type) else type(value)
        if kind.__module__.partition(".")[0] in _OPAQUE:
            return
        self.instances[id(value)] = value
        self._visit(type(kind))  # whose properties are attributes of the class
        if "__wrapped__" in getattr(value, "__dict__", ()):
            self._visit(value.__wrapped__)
        for each in self._classes(kind):
            for name, member in list(each.__dict__.items()):
                if name.startswith("__") and isinstance(member, types.FunctionType):
                    self._visit(member)  # run by operators and calls

    def _classes(self, kind: type) -> list[type]:
        """Return the class and its bases that are the user's."""
        return [each for each in kind.__mro__ if self._is_ours(each.__module__, _file_of(each))]

    def _function(self, function: types.FunctionType) -> None:
        if "__wrapped__" in function.__dict__:
            self._visit(function.__dict__["__wrapped__"])
        ours = self._is_ours(function.__module__ or "", function.__code__.co_filename)
        for name in ("__defaults__", "__kwdefaults__"):
            defaults = getattr(function, name)
            if defaults and (ours or any(type(each) not in (*_PLAIN, float) for each in children(defaults) or ())):
                self._add(Place("attribute", function, name))
        for cell in function.__closure__ or ():
            place = Place("cell", cell)
            self._visit(place.get())
            if ours:
                self._add(place)
        if not ours:
            return
        self.instances[id(function)] = function
        self._add(Place("attribute", function, "__code__"))
        code = function.__code__
        for name in self._read(code, function.__globals__.get("__package__"), code.co_freevars):
            if name in function.__globals__:
                self._add(Place("item", function.__globals__, name))

    def _read(self, code: types.CodeType, package: str | None, free: tuple[str, ...]) -> set[str]:
        """Return the globals that code names, and note the attributes; ``free`` are variables of functions around."""
        found, words = set(self.texts), set()
        before: list[Any] = [None, None]
        for instruction in dis.get_instructions(code):
            if instruction.opname in _GLOBALS:
                found.add(instruction.argval)
            elif instruction.opname in _ATTRIBUTES:
                self.names.add(instruction.argval)
            elif instruction.opname == "IMPORT_NAME":
                self._import(instruction.argval, before[0], package)
            self._note_assignment(instruction, code, free)
            before = [before[1], instruction.argval]
        for constant in code.co_consts:
            if isinstance(constant, str):
                words.update([part for part in constant.split(".") if part.isidentifier()])
            elif isinstance(constant, types.CodeType):
                found |= self._read(constant, package, free)
        self.names |= words
        if not found.isdisjoint(("getattr", "hasattr")):
            self.asked |= words
        self.asks_types |= "type" in found
        if not found.isdisjoint(("vars", "dir")):
            self.names.add("__dict__")
        if not found.isdisjoint(("globals", "eval", "exec")):
            found |= words
        if not _ENVIRONMENT.isdisjoint(found | self.names):
            self._visit(os.environ)
        return found

    def _note_assignment(self, instruction: dis.Instruction, code: types.CodeType, free: tuple[str, ...]) -> None:
        name, what = instruction.opname, instruction.argval
        if code.co_name in _MAKERS:
            return
        self.assigns |= name in _ASSIGNED or (name in ("STORE_DEREF", "DELETE_DEREF") and what in free)
        is_in_place = name == "BINARY_OP" and instruction.argrepr.endswith("=")
        has_out = type(what) is tuple and "out" in what
        calls = name in _ATTRIBUTES and what in _CHANGERS
        self.changes_items |= is_in_place or has_out or calls or name in _ITEMS

    def _import(self, name: str, level: Any, package: str | None) -> None:
        """Visit the modules that an import statement in a function names, which are imported already."""
        name = importlib.util.resolve_name("." * level + name, package) if level and package else name
        parts = name.split(".")
        for count in range(1, len(parts) + 1):
            self._visit(sys.modules.get(".".join(parts[:count])))

    def _add(self, place: Place, looks_into: bool = True) -> None:
        key = place.kind, id(place.holder), place.key
        if key not in self.places:
            value = place.get()
            if not isinstance(value, types.ModuleType):
                self.places[key] = place
            if looks_into:
                self._visit(value)

    def _member(self, owners: list[type], name: str) -> None:
        """Add the member of a class that reading it as an attribute would run."""
        owner = next(each for each in owners if name in each.__dict__)
        self._add(Place("item", self.members.setdefault(id(owner), owner.__dict__), name))

    def _attributes(self, instance: Any) -> None:
        own = getattr(instance, "__dict__", {})
        fields = set(pytree.fields(instance) or ())
        everything = "__dict__" in self.names
        above: dict[str, Any] = {}
        kind = instance if isinstance(instance, type) else type(instance)
        is_module = isinstance(instance, types.ModuleType)
        ours = not is_module or self._is_ours(instance.__name__, own.get("__file__") or "")
        owners = [] if is_module else self._classes(kind)
        for each in reversed(owners):
            above.update(each.__dict__)
        names = sorted(self.names)
        if everything and type(own) is dict and not isinstance(instance, (type, types.ModuleType, types.FunctionType)):
            self._add(_Names("names", own))
            names = [*own]
        if "__class__" in self.names or self.asks_types:
            self._visit(kind)
        makes_attributes = any("__getattr__" in each.__dict__ for each in (instance, *owners)[not is_module :])
        if is_module and makes_attributes:
            self._visit(own["__getattr__"])
        for name in names:
            if name in fields or name in _OF_CLASSES:
                continue
            if name.startswith("__") and name not in own and name not in above:
                continue
            member = above.get(name, MISSING)
            if isinstance(member, types.MemberDescriptorType):
                self._add(Place("attribute", instance, name))
            elif isinstance(member, functools.cached_property):
                self._visit(member)
                self._add(Place("item", own, name))
            elif member is not MISSING and hasattr(type(member), "__get__"):
                self._visit(member)
                if isinstance(member, (types.FunctionType, staticmethod, property)):
                    self._add(Place("attribute", kind, name))
                else:
                    self._member(owners, name)
                if instance is not kind and type(own) is dict and not isinstance(member, property):
                    self._add(Place("item", own, name))  # where an object's own function would be
            elif is_module:
                if (makes_attributes and ours) or (name in own and (ours or not callable(own[name]))):
                    self._add(Place("item", own, name), ours or isinstance(own.get(name), types.ModuleType))
            elif name in own or member is not MISSING or name in self.asked:
                self._add(Place("attribute", instance, name))
            elif instance is kind and hasattr(type(kind), name):
                self._add(Place("item", self.members.setdefault(id(kind), own), name))  # beside the metaclass's
            elif makes_attributes and instance is not kind and type(own) is dict:
                self._add(Place("item", own, name))
                if not hasattr(type(kind), name):
                    self._add(Place("attribute", kind, name))
        if hasattr(kind, "__getattr__"):  # as torch.nn.Module's, whose parameters are in a dictionary
            for entries in [entries for entries in list(own.values()) if type(entries) is dict]:
                for name in self.names & entries.keys():
                    self._add(Place("item", entries, name))


def _file_of(kind: type) -> str:
    return getattr(sys.modules.get(kind.__module__), "__file__", None) or ""


class _Names(Place):
    """The names in the dictionary of an object's attributes, for code that reads them all."""

    __slots__ = ()

    def get(self) -> Any:
        return tuple(self.holder)

    def expression(self, constant: Callable[[Any], str]) -> str:
        return f"tuple({constant(self.holder)})"


class _Same:
    """A value in a structure that equals only itself."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and other.value is self.value

    __hash__ = None  # type: ignore[assignment]


def is_static_array(value: Any) -> bool:
    """Whether a value is a NumPy array or one of a derived class: each such array has its own trace."""
    return pytree.is_array(value) and type(value) not in OPEN and not memory.is_tensor(value)


def layout_of(array: Any) -> Any:
    """Return what can be assigned to a NumPy array beside its values; None for a number."""
    return (array.shape, array.strides, array.dtype) if isinstance(array, np.ndarray) else None


def children(value: Any) -> list[Any] | None:
    """Return the items of a container to look into; None if it is not a container."""
    if isinstance(value, _MAPPINGS):
        return list(value.values()) if len(value) <= _MANY else None
    if type(value) in (list, tuple):
        return list(value) if len(value) <= _MANY else None
    names = pytree.fields(value)
    return None if names is None else [getattr(value, name, MISSING) for name in names]


def is_container(value: Any) -> bool:
    """Whether a value has items or bytes that can change while it stays the same object."""
    if issubclass(type(value), (*_PLAIN, float, type)) or pytree.is_array(value):
        return False
    is_collection = isinstance(value, (list, tuple, collections.deque, *_MAPPINGS, *_SETS))
    return is_collection or pytree.fields(value) is not None or _bytes(value) is not None


def _bytes(value: Any) -> bytes | None:
    """Return the bytes of a buffer, such as an ``array.array``; None for what is no buffer."""
    try:
        with memoryview(value) as view:
            return view.tobytes()
    except (TypeError, ValueError, BufferError):
        return None


class Content:
    """The items of a large or unusual container, and the content of those among them that can change.

    It equals another one of the same objects. A change of one item needs another trace, an array's values aside.
    """

    __slots__ = ("inner", "items")

    def __init__(self, container: Any) -> None:
        self.items = _items(container)
        self.inner = [(each, Content(each)) for each in self.items if _can_change(each)]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Content) and _are_alike(self.items, other.items) and self._contents == other._contents

    __hash__ = None  # type: ignore[assignment]

    @property
    def _contents(self) -> list[Content]:
        return [content for _, content in self.inner]

    def is_of(self, container: Any) -> bool:
        """Whether a container has this content."""
        return _are_alike(self.items, _items(container)) and all(content.is_of(each) for each, content in self.inner)


def _are_alike(items: list[Any], others: list[Any]) -> bool:
    """Whether the items are the same objects, or equal bytes."""
    if len(items) != len(others):
        return False
    return all(map(operator.is_, items, others)) or (len(items) == 2 and type(items[1]) is bytes and items == others)


def _can_change(value: Any) -> bool:
    """Whether a value has content that can change while it stays the same object."""
    if isinstance(value, (tuple, frozenset)):
        return any(map(_can_change, value))
    return is_container(value)


def _items(container: Any) -> list[Any]:
    """Return the items of a container, with its keys and its class; of another object the bytes."""
    kind = type(container)
    if isinstance(container, _MAPPINGS):
        return [kind, *container, *container.values()]
    if (names := pytree.fields(container)) is not None:
        return [kind, *[getattr(container, name, MISSING) for name in names]]
    if isinstance(container, (list, tuple, collections.deque, *_SETS)):
        return [kind, *container]
    return [kind, _bytes(container)]


class OuterState:
    """The values outside of its arguments that a function read when it was traced.

    Attributes
    ----------
    places : list of Place
    values : list
        Their values.
    asks_types : bool
        Whether its code asks for the type of something.
    may_assign : bool
        Whether its code may change what is outside, though it has not.
    names : set of str
        The names of the attributes that its code reads.
    grown : dict
        The containers that the function has only added static items to, by identifier, each with the keys that are
        compared: those of a dictionary, and none of a list, which may be a log.
    pinned : dict
        The containers that the function wrote to, by identifier: another container there needs another trace.
    outside : dict
        The objects that it can reach, by identifier, until the trace is over.
    """

    def __init__(self, function: Any, arguments: Any, lists: bool = True, texts: Iterable[str] = ()) -> None:
        statics = self._roots(arguments)
        self._arguments: list[int] = []  # identifiers, of no use after the trace
        found = _Search(function, statics, set(texts))
        self.places = list(found.places.values())
        self.asks_types = found.asks_types
        self.names = found.names
        self._instances = [each for each in found.instances.values() if not isinstance(each, (type, types.ModuleType))]
        self._given = [(i, each, type(each)) for i, each in enumerate(statics) if id(each) in found.instances]
        self._lists = lists
        self.grown: dict[int, Any] = {}
        self.pinned: dict[int, Any] = {}
        self.outside = found.seen
        self.note()
        others = [value for value, _ in self._others.values() if not isinstance(value, ndarray)]
        self.may_assign = found.assigns or (found.changes_items and bool(self._contents or others))

    @staticmethod
    def _roots(arguments: Any) -> list[Any]:
        """Return the arguments' values that are neither arrays nor numbers that may be traced, in order."""
        leaves = [leaf for _, leaf in pytree.named(arguments, "")]
        return [leaf for leaf in leaves if type(leaf) not in (float, complex) and not pytree.is_array(leaf)]

    def note(self) -> None:
        """Note the current values as those that the trace has read."""
        self._keep()
        self._dictionaries = [(each, dict(getattr(each, "__dict__", {}))) for each in self._instances]
        self._contents: dict[int, tuple[Any, Any]] = {}
        self._others: dict[int, tuple[Any, Any]] = {}
        for value in [*self.outside.values(), *self.values]:
            self._copy(value)
        for _, own in self._dictionaries:
            for value in own.values():
                self._copy(value)

    def _keep(self) -> None:
        self.values = [place.get() for place in self.places]
        self._structure, arrays, found = self._read(self.values)
        self._signature = compiling.signature(arrays)
        self._alike = repeats(map(id, arrays))
        self._identities = repeats([*self._arguments, *map(id, found)])

    def _copy(self, value: Any) -> None:
        """Keep the items of a container, and of the containers in it; of an array, what is not in its memory."""
        if isinstance(value, (set, *_SEQUENCES)) and type(value) is not list:
            self._others[id(value)] = value, set(value) if isinstance(value, set) else list(value)
        elif type(value) is np.ndarray and value.nbytes <= _LARGE:
            self._others[id(value)] = value, value.copy()
            self._others[id(value)][1].flags.writeable = value.flags.writeable
        elif isinstance(value, ndarray) and type(value) not in (*SCALARS, strided, indirect):
            self._others[id(value)] = value, (value.tensor, value.flags.writeable)
        inner = children(value)
        if (inner is None and type(value) is not list and not isinstance(value, dict)) or id(value) in self._contents:
            return
        if type(value) is list:
            self._contents[id(value)] = value, list(value)
        elif isinstance(value, dict):
            self._contents[id(value)] = value, dict(value)
        elif not isinstance(value, (tuple, types.MappingProxyType)):
            self._contents[id(value)] = value, dict(zip(pytree.fields(value) or (), inner or (), strict=True))
        for each in inner or ():
            self._copy(each)

    def _read(self, values: list[Any]) -> tuple[list[Any], list[Tensor], list[Any]]:
        """Return the values in a form to compare, the tensors of their arrays, and what has an identity."""
        arrays: list[Tensor] = []
        found: list[Any] = []
        return [self._outline(value, arrays, found) for value in values], arrays, found

    def _outline(self, value: Any, arrays: list[Tensor], found: list[Any]) -> Any:
        kind = type(value)
        if issubclass(kind, _PLAIN):
            return kind, value
        if kind is float:
            return kind, value.hex()
        if kind in OPEN or memory.is_tensor(value):
            arrays.append(value.tensor if isinstance(value, ndarray) else value)
            found.append(value)
            return scalar if kind in SCALARS else kind
        if issubclass(kind, np.generic):
            return kind, value.tobytes()
        if has_identity(value) and not isinstance(value, np.ndarray):  # which is no array of the trace
            found.append(value)
        if id(value) in self.grown:
            entries = [self._outline(dict.get(value, key, MISSING), arrays, found) for key in self.grown[id(value)][1]]
            return _Same(value), entries
        if kind is list and not self._lists:
            return _Same(value)
        if isinstance(value, _SETS):
            return kind, frozenset(value)
        if is_static_array(value):
            return kind, _Same(value), layout_of(value)
        inner = children(value)
        if inner is None:
            return kind, _Same(value), Content(value) if is_container(value) else None
        keys = tuple(value) if isinstance(value, _MAPPINGS) else None
        pin = _Same(value) if id(value) in self.pinned else None
        return kind, keys, pin, tuple([self._outline(each, arrays, found) for each in inner])

    def holds(self, arguments: Any) -> bool:
        """Whether the places hold what they held, but for the values of arrays; those of objects among the arguments
        if these are the same, not only equal."""
        if self._given:
            statics = self._roots(arguments)
            if any(statics[index] is not each or type(each) is not kind for index, each, kind in self._given):
                return False
        structure, arrays, found = self._read([place.get() for place in self.places])
        if structure != self._structure or compiling.signature(arrays) != self._signature:
            return False
        if any(arrays[first] is not arrays[again] for first, again in self._alike):
            return False
        return repeats(map(id, [*objects(arguments), *found])) == self._identities

    def among(self, given: Any, opened: Any) -> dict[int, Any]:
        """Return what is found outside among the arguments, by the identifiers of ``opened``, which stand for them.

        From now on :meth:`note` notes which arguments those are.
        """
        arguments = objects(given)
        self._arguments = list(map(id, arguments))
        outside = set(map(id, self._read(self.values)[2]))
        return {id(one): each for one, each in zip(objects(opened), arguments, strict=True) if id(each) in outside}

    def arrays(self) -> list[Any]:
        """Return the tensors of the arrays that may differ at each call."""
        return self._read([place.get() for place in self.places])[1]

    def named(self, constant: Callable[[Any], str]) -> Iterator[tuple[ndarray, str]]:
        """Yield the arrays outside, and an expression for each; ``constant(x)`` gives the name of an object ``x``."""
        for place, value in zip(self.places, self.values, strict=True):
            text = place.expression(constant)
            yield from [(value, text)] if isinstance(value, ndarray) else []
            for container, held, where in containers(value, text):
                keys: Any = [f".{name}" for name in held]
                if type(held) is list or isinstance(container, dict):
                    keys = [f"[{index}]" for index in range(len(held))]
                    where = where if type(held) is list else f"[*{where}.values()]"
                items = held if type(held) is list else held.values()
                for each, key in zip(items, keys, strict=True):
                    if isinstance(each, ndarray):
                        yield each, where + key

    # What the function assigned.

    def changes(self) -> list[tuple[Place, Any, Any]]:
        """Return the assignments since :meth:`note`: the place, the old value and the new one."""
        found: dict[Any, tuple[Place, Any, Any]] = {}

        def note(place: Place, before: Any, now: Any) -> None:
            if now is not before:
                found.setdefault((place.kind, id(place.holder), place.key), (place, before, now))

        for instance, before in self._dictionaries:
            own = getattr(instance, "__dict__", {})
            for name in {**before, **own}:
                note(Place("attribute", instance, name), before.get(name, MISSING), own.get(name, MISSING))
        owned = {id(getattr(instance, "__dict__", None)) for instance, _ in self._dictionaries}
        for place, value in zip(self.places, self.values, strict=True):
            if id(place.holder) not in owned:
                note(place, value, place.get())
        for container, content in self._contents.values():
            for place, before, now in differences(container, content):
                self.pinned[id(container)] = container
                note(place, before, now)
        for container, content in self._others.values():
            if isinstance(container, ndarray):
                note(Place("attribute", container, "tensor"), content[0], container.tensor)
                note(_Writeable("attribute", container, "writeable"), content[1], container.flags.writeable)
        for container, content, _ in self.unrepeated():
            self.grown[id(container)] = container, _static_keys(container, content)
        return list(found.values())

    def unrepeated(self) -> Iterator[tuple[Any, Any, bool]]:
        """Yield the containers that have changed as a graph can't repeat, what they held, and whether they have only
        gained static items: notes of the trace.
        """
        for container, content in [*self._contents.values(), *self._others.values()]:
            if (is_note := _is_note(container, content)) is not None:
                yield container, content, is_note

    def name_of(self, container: Any) -> str:
        """Return what a message calls a container."""
        kind = "a NumPy array" if type(container) is np.ndarray else f"a {type(container).__name__}"
        place = next((str(place) for place in self.places if place.get() is container), "")
        return f"{place} ({kind} from outside)" if place else f"{kind} from outside"

    def forget(self) -> None:
        """Let go of what is of use in the trace alone."""
        self.outside = {}
        self._contents, self._others, self._dictionaries = {}, {}, []

    def undo(self, changes: list[tuple[Place, Any, Any]]) -> None:
        """Put the old values back: those assigned while tracing hold arrays of the trace."""
        for place, before, _ in changes:
            place.put(before)
        self._keep()

    def restore(self) -> None:
        """Put back what containers held when the trace began, which has failed."""
        for container, content, _ in list(self.unrepeated()):
            if isinstance(container, np.ndarray):
                container.dtype, container.shape = content.dtype, content.shape  # type: ignore[misc]
                container.flags.writeable = True
                container[...] = content
                container.flags.writeable = content.flags.writeable
            else:
                container.clear()
                (container.extend if isinstance(container, _SEQUENCES) else container.update)(content)

    def captured(self, captures: list[Tensor]) -> dict[int, int]:
        """Return, for each capture found in a place, its number in :meth:`arrays`."""
        places = {id(tensor): index for index, tensor in reversed(list(enumerate(self._read(self.values)[1])))}
        return {number: places[id(tensor)] for number, tensor in enumerate(captures) if id(tensor) in places}

    def described(self) -> Iterator[tuple[str, str]]:
        """Yield the places and their static values, for messages."""
        for place, value in zip(self.places, self.values, strict=True):
            if value is not MISSING and not callable(value):
                yield from pytree.described(value, str(place))


class Before(OuterState):
    """The state that a function can reach before it runs, to be put back before it runs again."""

    @staticmethod
    def _roots(arguments: Any) -> list[Any]:
        return list(arguments)

    def _keep(self) -> None:
        self.values = [place.get() for place in self.places]

    def has_changed(self) -> bool:
        """Whether anything was assigned, or a container has changed."""
        return bool(self.changes()) or any(self.unrepeated())

    def put_back(self) -> None:
        """Undo the assignments since, and the changes of containers."""
        changes = self.changes()
        self.restore()
        for place, before, _ in changes:
            place.put(before)


reruns.state_before = Before


def repeats(identifiers: Iterable[int]) -> list[tuple[int, int]]:
    """Return which objects occur more than once: the numbers of their first place, and of another."""
    first: dict[int, int] = {}
    return [(first[each], i) for i, each in enumerate(identifiers) if first.setdefault(each, i) != i]


def has_identity(value: Any) -> bool:
    """Whether a value is an array or a container that another name may be compared with, or see changes of.

    Python itself makes one of equal numbers and of empty tuples.
    """
    if pytree.is_array(value):
        return not isinstance(value, np.generic) and type(value) is not Number
    return not (type(value) is tuple and not value) and pytree.children(value) is not None


def objects(tree: Any) -> list[Any]:
    """Return what has an identity in a tuple of arguments and a dictionary of keyword arguments."""
    found: list[Any] = []
    waiting = [*reversed((*tree[0], *tree[1].values()))]
    while waiting:
        value = waiting.pop()
        if has_identity(value):
            found.append(value)
        if not pytree.is_array(value):
            waiting += reversed((pytree.children(value) or {}).values())
    return found


def differences(container: Any, before: Any, is_given: bool = False) -> list[tuple[Place, Any, Any]]:
    """Return the assignments to items and fields of a container.

    For a container from outside, which was not ``is_given``, items that a list gained or lost and new static entries do
    not count: they are side effects of the trace, in a list of results or a cache.
    """
    if type(container) is list:
        if len(before) == len(container):
            pairs = enumerate(zip(before, container, strict=True))
            return [(Place("item", container, i), old, new) for i, (old, new) in pairs if old is not new]
        return [(Place("item", container, slice(None)), before, [*container])] if is_given else []
    is_dictionary = isinstance(container, dict)
    now = container
    if not is_dictionary:
        now = {name: getattr(container, name, MISSING) for name in before} if not is_given else _state(container)
    kind = "item" if is_dictionary else "attribute"
    found = []
    for key in {**before, **now}:
        old, new = before.get(key, MISSING), now.get(key, MISSING)
        if old is not new and (is_given or old is not MISSING or holds_traced(new)):
            found.append((Place(kind, container, key), old, new))
    return found


class _Writeable(Place):
    """Whether an array is writeable."""

    __slots__ = ()

    def put(self, value: Any) -> None:
        set_writeable(self.holder, value)

    def expression(self, constant: Callable[[Any], str]) -> str:
        return f"{constant(self.holder)}.flags.writeable"


def _is_note(container: Any, before: Any) -> bool | None:
    """Whether a container has gained static items alone; None if it has not changed, or as a graph can repeat."""
    if isinstance(container, np.ndarray):
        is_same = container.dtype == before.dtype and container.flags.writeable == before.flags.writeable
        return None if is_same and np.array_equal(container, before, equal_nan=before.dtype.kind in "fc") else False
    if isinstance(container, dict):
        new = [value for key, value in container.items() if key not in before]
        return True if any(not holds_traced(value) for value in new) else None
    if isinstance(container, set):
        return None if container == before else container >= before
    if not isinstance(container, _SEQUENCES) or (type(container) is list and len(container) == len(before)):
        return None
    is_longer = all(map(operator.is_, container, before)) and len(container) >= len(before)
    new = [*container][len(before) :]
    return (is_longer and not any(map(holds_traced, new))) if new or not is_longer else None


def _static_keys(container: Any, before: Any) -> list[Any]:
    """Return the keys of a dictionary that a trace has added to whose values a graph does not set, if they are few."""
    if not isinstance(container, dict) or len(container) > _MANY:
        return []
    return [key for key, value in container.items() if key in before or not holds_traced(value)]


def _state(tree: Any) -> dict[str, Any]:
    """Return the attributes of a dataclass or of a registered class's object."""
    own = dict(getattr(tree, "__dict__", {}))
    names = pytree.fields(tree) if registered(type(tree)) is None else None
    return own | {name: getattr(tree, name, MISSING) for name in names or ()}


def containers(tree: Any, text: str) -> Iterator[tuple[Any, Any, str]]:
    """Yield the lists, dictionaries and dataclasses in a tree, their items, and an expression for each."""
    kind, inner = type(tree), None
    if kind is list:
        yield tree, list(tree), text
    if kind is list or kind is tuple:
        inner = [(item, f"{text}[{index}]") for index, item in enumerate(tree)]
    elif not pytree.is_array(tree) and (own := registered(kind)) is not None:
        yield tree, _state(tree), text
        children = own.parts(tree)[0]
        paths = pytree.attribute_paths(tree, children, text)
        inner = [(child, path) for child, path in zip(children, paths, strict=True) if path is not None]
    elif isinstance(tree, dict):
        yield tree, dict(tree), text
        inner = [(item, f"[*{text}.values()][{index}]") for index, item in enumerate(tree.values())]
    elif not pytree.is_array(tree) and (names := pytree.fields(tree)) is not None:
        inner = [(getattr(tree, name), f"{text}.{name}") for name in names]
        if not isinstance(tree, tuple):
            yield tree, _state(tree), text
    for item, where in inner or ():
        yield from containers(item, where)


def holds_traced(tree: Any) -> bool:
    """Whether a tree holds an array of a trace."""
    leaves = [leaf for _, leaf in pytree.named(tree, "")]
    tensors = [leaf.tensor if isinstance(leaf, ndarray) else leaf for leaf in leaves]
    return any(compiling.is_fake(each) or (memory.is_tensor(each) and compiling.is_escaped(each)) for each in tensors)
