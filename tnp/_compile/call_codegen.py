"""Generates Python code for the call of a compiled function with arguments like those that it was traced for.

Layer: owns the only code that this package generates (:func:`written`). Closures over the same containers take 2 us
more for 8 arrays, as long as the machine code itself.
"""

from __future__ import annotations

import copy
import copyreg
import functools
import math
import types
from collections.abc import Callable, Iterable, Sequence
from itertools import combinations
from typing import Any

import numpy as np

from backend_torch.graphs import compiling, control_flow, symbolic
from backend_torch.tensors import creation, devices, memory, trace_state
from backend_torch.tensors.host_views import Turn
from backend_torch.tensors.memory import Layout
from tnp._compile.outer_state import (
    MISSING,
    OPEN,
    Content,
    OuterState,
    Place,
    children,
    has_identity,
    is_container,
    is_static_array,
    layout_of,
)
from tnp._compile.static_arguments import Static
from tnp._core.base import SCALARS, flatiter, indirect, ndarray, readonly, scalar, strided, subclass, wrap, wrap_array
from tnp._core.convert import shared
from tnp._core.readonly_views import readonly_array, set_writeable
from tnp._core.strided_views import UNDESCRIBED, Left, Source, laid_out, left_of, root, shares, turn_of, undescribed
from tnp._transforms import pytree
from tnp._transforms.registered_pytrees import registered
from tnp._transforms.traced_numbers import Number

Tensor = Any
_FIXED = (types.FunctionType, types.BuiltinFunctionType, types.CodeType, type(None), bool, type)  # keep their class
_MANY = 4  # arrays: the identities of more are compared by a set
Call = Callable[[tuple[Any, ...], dict[str, Any]], Any]


def written(name: str, lines: list[str], known: dict[str, Any]) -> Callable[..., Any]:
    """Compile a function from its text; the names of ``known`` are its globals."""
    names = dict(known)
    exec(compile("\n".join(lines), "<a call written out by tnp.compile>", "exec"), names)
    made: Callable[..., Any] = names[name]
    return made


class _Text:
    """Lines of a function, and the values that they name."""

    def __init__(self, letter: str, **known: Any) -> None:
        self.letter = letter  # which begins the names that no other text may have
        self.lines: list[str] = []
        self.known: dict[str, Any] = known

    def constant(self, value: Any) -> str:
        """Return the name of a value that exists already."""
        name = f"{self.letter}{len(self.known)}"
        self.known[name] = value
        return name


def _names(letter: str, count: int) -> str:
    """Return so many names, separated by commas, to assign to or to pass."""
    return "".join([f"{letter}{index}, " for index in range(count)])


class Result:
    """Builds the function's result from the results of its program.

    Parameters
    ----------
    value
        The function's result while tracing.
    arrays : list
        The arrays among its arguments.
    inside : list of ndarray
        The arrays in their place while tracing, over the ``stand_ins``.
    changes : sequence of tuple
        The function's assignments: the place, the old value and the new one.
    containers : iterable of tuple
        The containers among its arguments while tracing, and an expression for each as the last item.
    outer : OuterState, optional
        The values outside of them. None: results are copies of what branches and loops choose.

    Attributes
    ----------
    tensors : list of Tensor
        The tensors that the program has to return.
    has_views : bool
        Whether a result is made of an argument, as a view, and not of what the program returns.
    """

    def __init__(
        self,
        value: Any,
        arrays: list[Any],
        inside: list[Any],
        stand_ins: list[Tensor],
        changes: Sequence[Any] = (),
        containers: Iterable[tuple[Any, Any, str]] = (),
        outer: OuterState | None = None,
    ) -> None:
        self.tensors: list[Tensor] = []
        self.text = _Text("made_of_", new=object.__new__)
        self.given = len(arrays)
        self._inside = inside
        self._stand_ins = stand_ins
        own = [
            (i, wrapped)
            for i, wrapped in enumerate(inside)
            if isinstance(arrays[i], ndarray) or type(wrapped) is Number
        ]
        self._arguments = [(wrapped, f"a{i}") for i, wrapped in own]
        for index, (array, wrapped, stand_in) in enumerate(zip(arrays, inside, stand_ins, strict=True)):
            if isinstance(array, (ndarray, np.ndarray)):
                self._set_attributes(array, wrapped, stand_in, f"a{index}")
        self.has_views = False
        self._made = 0
        self._goal = "return"  # what the function does with a value, for errors
        self._results = [each for _, each in pytree.named(value, "") if isinstance(each, ndarray)]
        self._names: dict[int, str] = {}
        self._given = {id(container): text for container, _, text in containers}
        self._outer = outer
        self.has_effects = bool(changes or self.text.lines)
        for place, _, now in changes:
            self._assign(place, now)
        self.text.lines.append(f"return {self._tree(value)}")

    def _set_attributes(self, array: Any, wrapped: ndarray, stand_in: Tensor, name: str) -> None:
        """Repeat the function's changes of an argument: its shape or dtype, and whether it is writeable."""
        changes = []
        if type(wrapped) not in UNDESCRIBED and wrapped.tensor is not stand_in:
            changes.append(f"{name}.tensor = v{len(self.tensors)}")
            self.tensors.append(wrapped.tensor)
        is_locked = pytree.is_read_only(wrapped)
        before = pytree.stand_in(array, stand_in) if type(wrapped) is indirect else array
        if is_locked is not pytree.is_read_only(before):
            changes.append(f"{self.text.constant(set_writeable)}({name}, {not is_locked})")
        if changes and not isinstance(array, ndarray):
            raise of_numpys_array()
        self.text.lines += changes

    def _assign(self, place: Place, value: Any) -> None:
        """Repeat an assignment of the function."""
        if isinstance(place.holder, ndarray):
            _ = self._outside  # which tells where it is
        target = place.expression(self._object)
        if value is MISSING:
            self.text.lines.append(f"del {target}")
            return
        self._goal = f"set {place} to"
        self.text.lines.append(f"{target} = {self._tree(value)}")
        self._goal = "return"

    @functools.cached_property
    def _outside(self) -> dict[int, ndarray]:
        """The arrays outside of the arguments, by identifier; :meth:`_object` knows an expression for each."""
        found = [] if self._outer is None else list(self._outer.named(self.text.constant))
        self._given |= {id(array): text for array, text in reversed(found)}
        return {id(array): array for array, _ in found}

    def _object(self, value: Any) -> str:
        """Return the name of an object that exists already: a container among the arguments, or a constant."""
        if id(value) in self._given:
            self._names[id(value)] = name = f"given_{len(self._names)}"
            self.text.lines.insert(0, f"{name} = {self._given.pop(id(value))}")  # before anything is assigned
        return self._names.get(id(value)) or self.text.constant(value)

    def build(self) -> Callable[..., Any]:
        """Return ``build(values, arrays, args, kwargs)``: the result from the program's values and the arguments.

        ``arrays`` are those among the arguments.
        """
        head = [f"({_names('v', len(self.tensors))}) = values", f"({_names('a', self.given)}) = arrays"]
        lines = [
            "def build(values, arrays, args=(), kwargs=None):",
            *[f" {line}" for line in (*head, *self.text.lines)],
        ]
        return written("build", lines, self.text.known)

    def _local(self, expression: str) -> str:
        """Return the name of an expression's value."""
        name = f"made_{self._made}"
        self._made += 1
        self.text.lines.append(f"{name} = {expression}")
        return name

    def _tree(self, tree: Any) -> str:
        """Return the name of a container like ``tree``."""
        kind = type(tree)
        if pytree.is_array(tree) or symbolic.is_symbol(tree):
            return self._leaf(tree)
        if id(tree) in self._names or (id(tree) in self._given and registered(kind) is None):
            return self._object(tree)
        name = self._made_tree(tree)
        if kind is not tuple:
            self._names[id(tree)] = name
        return name

    def _made_tree(self, tree: Any) -> str:
        kind = type(tree)
        if kind is tuple or kind is list:
            items = "".join([self._tree(item) + ", " for item in tree])
            return self._local(f"({items})" if kind is tuple else f"[{items}]")
        own = registered(kind)
        if own is not None:
            children, static = own.parts(tree)
            held = "".join([self._tree(child) + ", " for child in children])
            return self._called(own.unflatten, self.text.constant(self._static(static)), f"({held})")
        if isinstance(tree, dict):
            keys = [repr(key) if type(key) is str else self.text.constant(key) for key in tree]
            items = ", ".join([f"{key}: {self._tree(item)}" for key, item in zip(keys, tree.values(), strict=True)])
            made = self._local(f"{{{items}}}")
            return made if kind is dict else self._called(_updated, self.text.constant(tree), made)
        names = ("_array", "_base") if kind is flatiter else pytree.fields(tree)
        if names is None:
            return self.text.constant(self._static(tree))
        members = [self._tree(getattr(tree, name)) for name in names]
        if isinstance(tree, tuple):
            return self._called(kind, *members)
        return self._called(_instance, self.text.constant(tree), repr(names), *members)

    def _called(self, function: Callable[..., Any], *names: str) -> str:
        return self._local(f"{self.text.constant(function)}({', '.join(names)})")

    def _leaf(self, array: Any) -> str:
        """Return the name of an array, or of a number that the trace left open."""
        for wrapped, name in self._arguments:
            if array is wrapped:
                return name  # the argument itself
        if type(array) is Number:
            array.known()  # which is computed by Python
        if id(array) in self._names or id(array) in self._outside:
            return self._object(array)
        if issubclass(type(array), (np.ndarray, np.generic)):
            return self.text.constant(array)  # made by NumPy of static values
        if symbolic.is_symbol(array):
            return self.text.constant(symbolic.decided(array))
        value = f"v{len(self.tensors)}"
        if compiling.is_escaped(array):
            raise trace_state.escaped_error()
        if type(array) is strided:
            return self.text.constant(array)  # from outside: a trace makes none
        if not isinstance(array, ndarray):
            self.tensors.append(array)
            return value
        if type(array) is indirect and type(array.place) is Left and (sources := self._seen(array.place)):
            return self._choice(array, sources)
        if type(array) is indirect and type(array.place) is not Left and self._is_shared(array):
            return self._view(array)
        self.tensors.append(array.tensor)
        kind = ndarray if type(array) is indirect else type(array)
        if isinstance(array, subclass):
            kept = type(array), self._attributes(array), memory.is_locked(array.tensor)
            return self._called(_of_class, *map(self.text.constant, kept), value)
        if type(array) is readonly:
            return self._called(readonly_array, value, self._source(array))
        name = self._names[id(array)] = self._local(f"new(*{self.text.constant((kind,))})")  # no tuple is made
        self.text.lines.append(f"{name}.tensor = {value}")
        return name

    def _view(self, array: Any) -> str:
        """Return the name of a view, with a negative step or at a traced integer, of what is seen outside."""
        place, self.has_views = array.place, True
        if type(place) is Turn:  # an argument that NumPy made
            number = next(i for i, each in enumerate(self._inside) if each is array)
            return self._called(undescribed, f"a{number}")
        origin = self._leaf(array.origin)
        if type(place) is Layout:
            numbers = [place.shape, place.strides, array.origin.given.stride()]
            shape, strides, origins = [tuple(map(symbolic.decided, each)) for each in numbers]
            layout = Layout(place.dtype, shape, strides, symbolic.decided(place.offset))
            made = self._called(laid_out, origin, self.text.constant(layout), self.text.constant(origins))
        else:
            picks = [self._output(each) for each in place.arrays]
            parts = [self.text.constant(each) for each in (place.view, place.flips, place.dims)]
            made = self._called(_selected, origin, *parts, *picks)
        return made if array.host.flags.writeable else self._called(pytree.locked, origin, made)

    def _static(self, value: Any) -> Any:
        """Return a value that is the same at each call; TypeError if it holds a traced array, or is an iterator."""
        self._attributes(value)
        return value

    def _attributes(self, value: Any) -> dict[str, Any]:
        """Return the attributes of a value that is the same at each call; TypeError if one is a traced array."""
        kind: Any = type(value)
        attributes = dict(getattr(value, "__dict__", {}))
        attributes |= {name: getattr(value, name, None) for name in copyreg._slotnames(kind)}  # type: ignore[attr-defined]
        held = [name for name, attribute in attributes.items() if _is_traced(attribute)]
        if held or hasattr(kind, "__next__"):
            what = f"whose attribute {held[0]!r} is an array" if held else "an iterator"
            raise TypeError(
                f"a compiled function can't {self._goal} {kind.__name__}, {what}, as that is of this trace: return "
                "arrays, in lists, tuples, dictionaries, named tuples or dataclasses"
            )
        attributes.pop("tensor", None)  # of an array, which each result has its own of
        return attributes

    def _seen(self, place: Left) -> list[Source]:
        """Return what a result of a branch or a loop may be, if another name outside of the function may have it."""
        if self._outer is None:
            return []
        results = [each for each in self._results if getattr(each, "place", None) is not place]
        others = [tensor for each in results for tensor, _, _ in [(root(each), True, None), *shares(each)]]

        def is_seen(tensor: Tensor) -> bool:
            return control_flow.is_from_outside(tensor) or any(memory.same_storage(tensor, each) for each in others)

        return [
            each
            for each in place.sources
            if (tensor := each.tensor()) is not None and (not each.is_own or is_seen(tensor))
        ]

    def _choice(self, array: Any, sources: list[Source]) -> str:
        """Return the name of a result of a branch or a loop: an array that has another name, or a view."""
        found = [self._called(wrap_array, self._output(array.tensor))]
        for each in sources:
            tensor: Any = each.tensor()
            if each.place is None or each.when is None:
                error = trace_state.left_view_error(array.place.name, "is a result")
                raise trace_state.TracedValueError(str(error)).because(f"{array.place.name} may be a view as a result")
            view = each.place.view(tensor)
            found += [self._output(each.when), self._known(view) or self._called(wrap_array, self._output(view))]
        self._names[id(array)] = name = self._called(chosen, *found)
        return name

    def _known(self, view: Tensor) -> str | None:
        """Return the name of an argument or an array outside that has a view's elements; None if there is none."""
        for array, name in [*self._arguments, *[(each, None) for each in self._outside.values()]]:
            if isinstance(array, ndarray) and not isinstance(array, subclass):
                tensor = control_flow.base_of(array.tensor)
                if memory.same_storage(tensor, view) and Layout.of(tensor, tensor) == Layout.of(view, tensor):
                    return name or self._object(array)
        return None

    def _output(self, tensor: Tensor) -> str:
        """Return the name of a tensor that the program returns."""
        self.tensors.append(tensor)
        return f"v{len(self.tensors) - 1}"

    def _is_shared(self, array: Any) -> bool:
        """Whether the base of a view is seen outside of the function: an argument, a captured array or a result."""
        if (left := left_of(array)) is not None and self._seen(left):
            return True
        base = root(array)
        others = [root(each) for each in self._results if each is not array]
        seen = [*self._stand_ins, *others]
        return not compiling.is_fake(base) or any(memory.same_storage(base, each) for each in seen)

    def _source(self, array: readonly) -> str:
        """Return the name of the base of a read-only array: an argument, an array from outside, or None."""
        source: Any = array
        while isinstance(source, ndarray) and compiling.is_fake(source.tensor):
            for position, argument in enumerate(self._inside):
                if isinstance(argument, ndarray) and argument.tensor is source.tensor:
                    return f"a{position}"
            source = memory.source_of(source.tensor)
        return self.text.constant(source)


def chosen(array: Any, *others: Any) -> Any:
    """Return the last of other arrays whose condition is true, or the array; conditions are before their arrays."""
    for condition, other in zip(others[::2], others[1::2], strict=True):
        if memory.is_tensor(condition) and condition:  # a file has neither
            array = other
    return array


def of_numpys_array() -> NotImplementedError:
    """The error of setting an attribute of a NumPy array among the arguments."""
    return NotImplementedError(
        "a compiled function can't set the shape, dtype or flags of a NumPy array among its arguments: pass "
        "tnp.asarray(array), or set them outside"
    )


def _selected(origin: ndarray, view: Any, flips: tuple[int, ...], dims: tuple[int, ...], *picks: Tensor) -> Any:
    """Return the view of an array that a plan's parts select."""
    selected = origin[view] if view else origin
    key: list[Any] = [slice(None, None, -1 if dim in flips else 1) for dim in range(selected.ndim)]
    for dim, pick in zip(dims, picks, strict=True):
        key[dim] = wrap(pick)
    return selected[tuple(key)]


def _is_traced(value: Any) -> bool:
    return isinstance(value, ndarray) and compiling.is_fake(value.tensor)


def _of_class(kind: Any, attributes: dict[str, Any], is_locked: bool, tensor: Tensor) -> Any:
    """Return a tensor as an array of the derived class that the function returned."""
    made = object.__new__(kind)
    for name, value in {**attributes, "tensor": tensor}.items():
        object.__setattr__(made, name, value)
    memory.lock(tensor, is_locked)
    return made


def _updated(tree: Any, entries: dict[Any, Any]) -> Any:
    """Return a dictionary of the same derived class, with the state of that class (``defaultdict``)."""
    made = copy.copy(tree)
    dict.update(made, entries)
    return made


def _instance(tree: Any, names: tuple[str, ...], *members: Any) -> Any:
    """Return a dataclass, also a frozen one, or an iterator over an array."""
    made = copy.copy(tree)
    for name, member in zip(names, members, strict=True):
        object.__setattr__(made, name, member)
    return made


class _Unreadable(Exception):
    """Raised for arguments that comparisons can't recognise."""


def _is_taken(value: Any) -> bool:
    """Whether an array or a scalar of NumPy's can be taken without a copy."""
    return shared(value) is not None or turn_of(value) is not None


class _Reading(_Text):
    """Lines that name the arrays among the arguments ``a0``, ``a1`` ..., and return early for other arguments."""

    def __init__(self) -> None:
        super().__init__("known_", devices=devices, state=devices.state, traces=trace_state)
        self._parts = 0
        self._objects: list[tuple[Any, str]] = []  # what has an identity, and its name
        self.unread: list[tuple[Tensor, str]] = []  # arrays from outside that the program does not take

    def call(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """Read the arguments of a call; raise `_Unreadable` if comparisons can't recognise them."""
        keywords = f"tuple(kwargs) != {self.constant(tuple(kwargs))}" if kwargs else "kwargs"
        elsewhere = "traces.first_runs or devices.moved and state.default is not device"
        self._unless(f"{elsewhere} or len(args) != {len(args)} or {keywords}")
        self._items("args", args, 0)
        self._items("kwargs.values()", kwargs.values(), _count(args))

    def identities(self) -> None:
        """Return early if two names are of one object that were not while tracing, or the other way round."""
        alike: dict[Any, list[str]] = {}  # by what else is compared: only these can be one object
        first: dict[int, str] = {}
        for value, name in self._objects:
            again = first.setdefault(id(value), name)
            if name != again:
                self._unless(f"{name} is not {again}")
                continue
            tensor = value.tensor if isinstance(value, ndarray) else value
            kind = scalar if type(value) in SCALARS else type(value)
            key = (kind, tensor.dtype, tensor.dim()) if memory.is_tensor(tensor) else kind
            alike.setdefault(key, []).append(name)
        for names in alike.values():
            if len(names) > _MANY:
                self._unless(f"len({{{', '.join([f'id({name})' for name in names])}}}) != {len(names)}")
            elif len(names) > 1:
                self._unless(" or ".join([f"{one} is {other}" for one, other in combinations(names, 2)]))

    def outer(self, state: OuterState, captured: dict[int, int]) -> None:
        """Read the values outside of the arguments; ``captured`` maps arrays to the captures of the program."""
        self._captures = {array: capture for capture, array in captured.items()}
        self._arrays: list[tuple[Tensor, str]] = []
        self._state = state
        first = len(self.lines)
        for place, value in zip(state.places, state.values, strict=True):
            expression = place.expression(self.constant)
            if value is MISSING:
                asked = f"hasattr({self.constant(place.holder)}, {place.key!r})"
                self._unless(asked if place.kind == "attribute" else f"{place.key!r} in {self.constant(place.holder)}")
            else:
                self._value(expression, value)
        if len(self.lines) > first:  # a value that is gone needs another trace
            self.lines[first:] = ["try:", *[f" {line}" for line in self.lines[first:]]]
            self.lines.append("except (AttributeError, LookupError, ValueError): return otherwise(args, kwargs)")

    def _value(self, expression: str, value: Any) -> None:
        """Read the value of a place, and return early if it is another one."""
        name = f"o{self._parts}"
        self._parts += 1
        self.lines.append(f"{name} = {expression}")
        kind, known = type(value), self.constant(value)
        if has_identity(value) and not isinstance(value, np.ndarray):
            self._objects.append((value, name))
        other_kind = self._other_kind(name, kind)
        if kind in OPEN or memory.is_tensor(value):
            self._array(name, value, other_kind)
            return
        inner = None if is_static_array(value) else children(value)
        if id(value) in self._state.grown:
            self._unless(f"{name} is not {known}")
            for key in self._state.grown[id(value)][1]:
                entry = f"{self.constant(dict.get)}({name}, {self.constant(key)}, {self.constant(MISSING)})"
                self._value(entry, dict.get(value, key, MISSING))
        elif is_static_array(value):
            layout = self.constant(layout_of(value))
            self._unless(f"{name} is not {known} or {self.constant(layout_of)}({name}) != {layout}")
        elif kind in (int, str, bytes) or (kind is float and value and not math.isnan(value)):
            self._unless(f"{name} is not {known} and ({other_kind} or {name} != {known})")
        elif isinstance(value, (set, frozenset)):
            self._unless(f"{other_kind} or {name} != {self.constant(frozenset(value))}")
        elif inner is None:
            self._unless(f"{name} is not {known}" + ("" if kind in _FIXED else f" or {other_kind}"))
            if is_container(value):
                self._unless(f"not {self.constant(Content(value).is_of)}({name})")
        elif inner and all(type(each) in (str, bytes) for each in inner) and isinstance(value, dict):
            keys, copied = self.constant(tuple(value)), self.constant(dict(value))
            self._unless(f"{other_kind} or {name} != {copied} or tuple({name}) != {keys}")
        else:
            if id(value) in self._state.pinned:
                self._unless(f"{name} is not {known}")
            if isinstance(value, (dict, types.MappingProxyType)):
                self._unless(f"{other_kind} or tuple({name}) != {self.constant(tuple(value))}")
            else:
                is_sequence = kind is tuple or kind is list
                self._unless(f"{other_kind} or len({name}) != {len(inner)}" if is_sequence else other_kind)
            parts = _items(name, value)
            assert parts is not None
            names = _names(f"{name}_", len(inner))
            if inner:
                self.lines.append(f"({names}) = {parts[0]}")
            for index, each in enumerate(inner):
                self._value(f"{name}_{index}", each)

    def _array(self, name: str, value: Any, other_kind: str) -> None:
        """Read an array: its tensor is a capture, or only its dtype, shape and strides are compared."""
        self._unless(other_kind)
        tensor, expression = (value.tensor, f"{name}.tensor") if isinstance(value, ndarray) else (value, name)
        again = next((other for known, other in self._arrays if known is tensor), None)
        if again is not None:
            self._unless(f"{expression} is not {again}")
        elif len(self._arrays) in self._captures:
            self.lines.append(f"c{self._captures[len(self._arrays)]} = {expression}")
        else:
            self.unread.append((tensor, expression))
        self._arrays.append((tensor, expression))

    def taken(self, name: str, made: str, value: Any) -> str:
        """Read an argument of NumPy's, or over its memory; return the expression for its tensor."""
        turn = turn_of(value)
        if turn is None:
            self.lines.append(f"{made} = {self.constant(shared)}({name})")
            self._unless(f"{made} is None")
            return f"{made}.tensor"
        self.lines.append(f"{made} = {self.constant(undescribed)}({name})")
        is_other = f"{made}.turn != {self.constant(turn)} or {made}.host.flags.writeable is not {value.flags.writeable}"
        self._unless(f"{made} is None or {is_other}")
        return f"{self.constant(memory.with_history)}({made}.ahead)"

    def _unless(self, condition: str) -> None:
        self.lines.append(f"if {condition}: return otherwise(args, kwargs)")

    def _items(self, expression: str, values: Iterable[Any], first: int) -> None:
        """Read the items of a container; its first array has the number ``first``."""
        names, conditions, containers = [], [], []
        for value in values:
            name = f"a{first}" if pytree.is_array(value) else f"p{self._parts}"
            self._parts += 1
            names.append(name + ", ")
            if has_identity(value):
                self._objects.append((value, name))
            conditions.append(self._differs(name, value))
            containers.append((name, value, first))
            first += _count(value)
        if names:
            self.lines.append(f"({''.join(names)}) = {expression}")
            self._unless(" or ".join(conditions))
        for name, value, number in containers:
            inner = self._inside(name, value)
            if inner is not None:
                self._items(*inner, number)

    def _inside(self, name: str, value: Any) -> tuple[str, Iterable[Any]] | None:
        """Return the items of a container and an expression for them; a line flattens a registered class's object."""
        own = registered(type(value))
        if own is None or pytree.is_array(value):
            return _items(name, value)
        children, static = own.parts(value)
        parts = f"p{self._parts}"
        self._parts += 1
        self.lines.append(f"{parts} = {self.constant(own.parts)}({name})")
        self._unless(f"{parts}[1] != {self.constant(static)} or len({parts}[0]) != {len(children)}")
        return f"{parts}[0]", children

    def _other_kind(self, name: str, kind: type) -> str:
        """Return the expression that a value is not of a class; the two classes of scalars count as one."""
        if kind in SCALARS:
            return f"type({name}) not in {self.constant(SCALARS)}"
        return f"type({name}) is not {self.constant(kind)}"

    def _differs(self, name: str, value: Any) -> str:
        """Return the expression that a value differs from ``value``."""
        kind = type(value)
        other_kind = self._other_kind(name, kind)
        if kind in OPEN:
            return other_kind
        if kind is Number:
            return f"type({name}) is not {self.constant(type(value.value))}"
        if kind is strided or ((kind is np.ndarray or issubclass(kind, np.generic)) and _is_taken(value)):
            return other_kind
        if kind is complex or kind is slice or pytree.is_array(value):
            raise _Unreadable
        if kind is tuple or kind is list:
            return f"{other_kind} or len({name}) != {len(value)}"
        if registered(kind) is not None:
            return other_kind
        if isinstance(value, dict):
            return f"{other_kind} or tuple({name}) != {self.constant(tuple(value))}"
        if kind is int or kind is str or kind is float or kind is Static:
            if kind is float and (value == 0 or math.isnan(value)):
                raise _Unreadable  # zeros of either sign are equal, and a NaN is not
            return f"{other_kind} or {name} != {self.constant(value)}"
        return other_kind if pytree.fields(value) is not None else f"{name} is not {self.constant(value)}"


def _items(name: str, value: Any) -> tuple[str, Iterable[Any]] | None:
    """Return the items of a named container and an expression for them; None if it is not a container."""
    if type(value) is tuple or type(value) is list:
        return name, value
    if isinstance(value, (dict, types.MappingProxyType)):
        return f"{name}.values()", value.values()
    fields = pytree.fields(value)
    if fields is None or isinstance(value, tuple):
        return None if fields is None else (name, value)
    return "".join([f"{name}.{field}, " for field in fields]), [getattr(value, field) for field in fields]


def _count(tree: Any) -> int:
    """Count the arrays in a tree."""
    arrays: list[Any] = []
    pytree.flatten(tree, arrays)
    return len(arrays)


def maker(
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    result: Result,
    captures: int,
    outer: OuterState | None = None,
    captured: dict[int, int] | None = None,
) -> Callable[..., Call] | None:
    """Return the maker of a program's call for arguments like these; None if comparisons can't recognise them.

    Parameters
    ----------
    args, kwargs
        The arguments.
    result : Result
        The builder of the result.
    captures : int
        Number of tensors from outside that the program takes.
    outer : OuterState, optional
        The values that the function read outside of its arguments.
    captured : dict, optional
        Number of a capture -> number of its array there.

    Returns
    -------
    callable or None
        ``make(matches, program, device, captured, otherwise, counted)`` returns a function of ``(args, kwargs)``, which
        runs ``program`` if ``matches(*tensors)`` and ``device`` is the default, and adds one to ``counted.hits``;
        ``otherwise`` gets all other calls.
    """
    reading = _Reading()
    try:
        reading.call(args, kwargs)
    except _Unreadable:
        return None
    if outer is not None:
        reading.outer(outer, captured or {})
    reading.identities()
    arrays: list[Any] = []
    pytree.flatten((args, kwargs), arrays)
    made = reading.constant(creation.number)
    given = [f"{made}(a{i})" if type(array) is Number else f"a{i}.tensor" for i, array in enumerate(arrays)]
    for i, array in enumerate(arrays):
        if issubclass(type(array), (strided, np.ndarray, np.generic)):
            given[i] = reading.taken(f"a{i}", f"n{i}", array)
    tensors = "".join([f"{each}, " for each in given]) + _names("c", captures)
    lines = [*reading.lines, f"tensors = ({tensors})"]
    lines += ["if not matches(*tensors): return otherwise(args, kwargs)"]
    if reading.unread:
        alike = reading.constant(compiling.same_signature([tensor for tensor, _ in reading.unread]))
        expressions = ", ".join([expression for _, expression in reading.unread])
        lines.append(f"if not {alike}({expressions}): return otherwise(args, kwargs)")
    lines.append("counted.hits += 1")
    values = _names("v", len(result.tensors))
    lines += [f"({values}) = program([*tensors])", *result.text.lines]
    text = ["def make(matches, program, device, captured, otherwise, counted):"]
    text += [
        f" ({_names('c', captures)}) = captured",
        " def call(args, kwargs):",
        *[f"  {line}" for line in lines],
        " return call",
    ]
    return written("make", text, {**reading.known, **result.text.known})
