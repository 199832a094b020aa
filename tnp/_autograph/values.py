"""Values of variables in branches and loops: traced arrays, Python objects, and variables without a value.

Layer: owns which parts of a variable go through a graph. Arrays do, in containers too. Python numbers do once a traced
condition decides their value. Every other object must stay the same object.
"""

from __future__ import annotations

import functools
import types
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from backend_torch.graphs import control_flow as backend
from backend_torch.graphs import symbolic
from backend_torch.kernels import value_checks
from backend_torch.tensors import casting, interop, memory, trace_state
from backend_torch.tensors.dtypes import to_numpy
from tnp._array.numbers import number_of
from tnp._core.base import SCALARS, ndarray, number
from tnp._core.dtypes import tensor_dtype
from tnp._core.mask_selection import Selection
from tnp._core.strided_views import Left, Shares, Source, indirect, left_view, shares
from tnp._transforms import pytree
from tnp._transforms.control_flow import Leaves, described
from tnp._transforms.traced_numbers import Number

Tensor = Any
_NUMBERS = (bool, int, float, complex)


class NotStaged(trace_state.OfTracing, TypeError):
    """A branch or a loop can't become one of the graph."""


class _Unassigned(trace_state.OfTracing, UnboundLocalError):
    """A variable may have no value: a traced condition decides."""


class Undefined:
    """Stands for the value of a variable that has none, and says why."""

    __slots__ = ("name", "why")

    def __init__(self, name: str, why: str = "") -> None:
        self.name = name
        self.why = why

    def error(self) -> Exception:
        """Return the exception that reading the variable raises."""
        text = f"cannot access local variable '{self.name}' where it is not associated with a value"
        return _Unassigned(f"{text}: {self.why}") if self.why else UnboundLocalError(text)


class Conflict(Undefined):
    """Stands for a variable whose values after two branches differ in dtype or shape."""

    __slots__ = ()

    def error(self) -> Exception:
        """Return the exception that reading the variable raises."""
        return NotStaged(self.why)


class Maybe(NamedTuple):
    """The value of a variable that has one on some paths only; the graph knows whether it has.

    Attributes
    ----------
    value
        The value; zeros on the other paths.
    is_set : scalar array
        Whether there is a value.
    """

    value: Any
    is_set: Any


def read(value: Any, name: str) -> Any:
    """Return the value of the variable ``name``.

    Raises
    ------
    UnboundLocalError
        The variable has no value.
    TypeError
        Its values after two branches differ in dtype or shape.
    """
    if isinstance(value, Undefined):
        raise value.error()
    if type(value) is Maybe:
        value_checks.demand(backend.is_true(value.is_set.tensor), value_checks.unassigned(name))
        return value.value
    return value


@functools.cache
def unbound(name: str) -> Undefined:
    """Return what stands for a variable without a value in all parts of a function."""
    return Undefined(name)


_STATIC = frozenset({type(None), bool, int, float, complex, str, bytes, range, slice, type, type(Ellipsis), Number})


def kept(names: Sequence[str], lines: Sequence[int], values: Sequence[Any], given: Sequence[Any]) -> tuple[Any, ...]:
    """Return the variables that a part of a function gives to the next, from those that it was given.

    Raises
    ------
    OfTracing
        One is neither an array nor a constant: it would be that of the trace at each call.
    """
    there = {id(leaf) for value in given for _, leaf in pytree.named(value, "")}
    is_counted = any(type(value) is number for value in given)
    seen = [id(each) for value in given for each in mutable(value)]  # of which the caller has other objects
    found = []
    for name, line, value in zip(names, lines, values, strict=True):
        why = ""
        if isinstance(value, Undefined):
            why, value = value.why, unbound(name)
        elif type(value) is Maybe:
            why = f"whether {name} has a value depends on values"
        for _, leaf in pytree.named(value, ""):
            if isinstance(leaf, Selection) or not (pytree.is_array(leaf) or _is_constant(leaf) or id(leaf) in there):
                why = f"the shape of {name} depends on values" if isinstance(leaf, Selection) else why
                why = why or f"{name} is an object of {type(leaf).__name__}, of which each call has its own"
            if type(getattr(leaf, "place", None)) is Left:
                why = f"values decide with which array {name} shares memory"
        if is_counted and type(value) is number and value.dtype.kind != "f":
            why = f"{name} is an int that is computed from others, and Python's have any size"
        inside = [id(each) for each in mutable(value)]
        if not set(seen).isdisjoint(inside) or len(set(inside)) < len(inside):
            why = why or f"{name} is a container that has another name, too"
        seen += inside
        if why:
            raise NotStaged(why).because(why, f"{trace_state.user_line().rpartition(':')[0]}:{line}")
        found.append(value)
    return tuple(found)


def mutable(value: Any) -> Iterator[Any]:
    """Yield the containers in a value that can be changed in place."""
    if pytree.is_array(value) or type(value) in _STATIC:
        return
    children = pytree.children(value)
    if children is not None:
        if not isinstance(value, tuple):
            yield value
        for child in children.values():
            yield from mutable(child)


def _is_constant(value: Any) -> bool:
    return type(value) in _STATIC or isinstance(value, (Undefined, types.ModuleType)) or symbolic.is_symbol(value)


def updated(value: Any, name: str) -> Any:
    """Return a variable's value for an operation in place: a 0-d array if the scalar may be one."""
    value = read(value, name)
    return getattr(value.tensor, "in_place", value) if type(value) in SCALARS else value


def returned(value: Any) -> Any:
    """Return a function's result: None if no ``return`` was reached."""
    if isinstance(value, Conflict):
        raise value.error()
    return None if isinstance(value, Undefined) else value


def traced(value: Any) -> Tensor | None:
    """Return the tensor of a traced array whose values are unknown; None for every other value."""
    if type(value) in (bool, int):
        return None
    if isinstance(value, ndarray):
        tensor = value.tensor
    elif memory.is_tensor(value):
        tensor = value
    else:
        return None
    if not trace_state.is_tracing() or memory.may_be_asked(tensor) or not backend.is_kept():
        return None
    return tensor


def predicate(value: Any) -> Tensor | None:
    """Return the 0-d tensor of a traced condition; None for a condition that Python can test.

    Raises
    ------
    ValueError
        The condition does not have exactly one element.
    """
    tensor = traced(value)
    if tensor is None:
        return None
    if tensor.numel() != 1:
        if tensor.numel() == 0:
            raise ValueError(
                "The truth value of an empty array is ambiguous. Use `array.size > 0` to check that an "
                "array is not empty."
            )
        raise ValueError("The truth value of an array with more than one element is ambiguous. Use a.any() or a.all()")
    return tensor.reshape(())


class Form(NamedTuple):
    """The dtype, shape and device of an array in a variable, and whether it stands for a Python number."""

    dtype: Any
    shape: tuple[Any, ...]
    device: Any
    is_number: bool


class Part:
    """A variable's value, flattened into its arrays and numbers.

    Attributes
    ----------
    value
        The value.
    tree : Leaves or None
        Its arrays and numbers; None if it holds none.
    kinds : list
        For each leaf its Python number type, or None for an array.
    """

    def __init__(self, value: Any) -> None:
        self.value = value
        self.tree: Leaves | None = None
        if not isinstance(value, Undefined):
            try:
                self.tree = Leaves(value)
            except (TypeError, AttributeError):
                self.tree = None
        if self.tree is not None and not self.tree.leaves:
            self.tree = None
        self.tensors: list[Tensor] = [] if self.tree is None else self.tree.tensors
        self.kinds = [] if self.tree is None else list(map(python_type, self.tree.leaves))

    @property
    def is_number(self) -> bool:
        """Whether the value is a Python number."""
        return python_type(self.value) is not None

    @property
    def forms(self) -> list[Form]:
        """The form of each array and number in the value."""
        return [
            Form(tensor.dtype, tuple(tensor.shape), tensor.device, kind is not None)
            for tensor, kind in zip(self.tensors, self.kinds, strict=True)
        ]

    def filled(
        self, tensors: list[Tensor], forms: list[Form], shared: Iterable[list[Source]] = (), name: str = ""
    ) -> Any:
        """Return the same structure with other tensors, which have these forms.

        ``shared`` has for each the arrays whose memory it may share, and ``name`` is the variable that gets it.
        """
        assert self.tree is not None
        weak, others = iter(forms), iter(shared)

        def made(leaf: Any, tensor: Tensor) -> Any:
            sources = next(others, None)
            if next(weak).is_number:
                return number_of(tensor)
            made = pytree.like(leaf, tensor)
            if not sources or not isinstance(made, ndarray):
                return made
            view = left_view(tensor, sources, name)
            if type(made) not in SCALARS:
                return view
            tensor.in_place = view
            return made

        return self.tree.filled(tensors, made)

    @functools.cached_property
    def shares(self) -> list[Shares]:
        """For each leaf the tensors whose memory it may share."""
        leaves = [] if self.tree is None else self.tree.leaves
        return [
            [] if type(leaf) in SCALARS else shares(leaf) if isinstance(leaf, ndarray) else [(tensor, False, None)]
            for leaf, tensor in zip(leaves, self.tensors, strict=True)
        ]

    def shares_in(self, scope: object) -> list[Shares]:
        """As ``shares`` after a block, but for what an array from around it shares in turn: ``left_view`` adds it."""
        leaves = [] if self.tree is None else self.tree.leaves
        around = [
            type(leaf) is indirect and type(leaf.place) is Left and leaf.place.scope is not scope for leaf in leaves
        ]
        if all(around):
            return [[(leaf.tensor, True, None)] for leaf in leaves]
        return [each[:1] if is_around else each for each, is_around in zip(self.shares, around, strict=True)]

    def is_like(self, other: Part) -> bool:
        """Whether both have the same structure, whatever their dtypes and shapes; a number counts as an array."""
        if self.tree is None or other.tree is None:
            return False
        if len(self.tensors) == len(other.tensors) == 1 and self._is_leaf and other._is_leaf:
            return True
        return bool(self.tree.structure == other.tree.structure)

    def blank(self) -> Part:
        """Return a value of this structure and these forms that no branch has traced: zeros."""
        zeros = [backend.zeros(form.shape, form.dtype, form.device) for form in self.forms]
        return self if self.tree is None else Part(self.filled(zeros, self.forms))

    def like(self, other: Part) -> Part:
        """Return the value as a `Maybe` if another value of the variable is one, or if this variable has no value."""
        if type(self.value) is Maybe or other.tree is None or isinstance(self.value, Conflict):
            return self
        if isinstance(self.value, Undefined):
            value = other.blank().value
            return Part(value if type(value) is Maybe else Maybe(value, number_of(backend.number(False))))
        return Part(Maybe(self.value, number_of(backend.number(True)))) if type(other.value) is Maybe else self

    @property
    def _is_leaf(self) -> bool:
        return self.is_number or pytree.is_array(self.value)

    def __str__(self) -> str:
        if isinstance(self.value, Undefined):
            return "nothing"
        if self.tree is not None and self._is_leaf:
            return described(self.tensors[0])
        return repr(self.tree) if self.tree is not None else _text(self.value)


def alike(one: Part, other: Part) -> tuple[Part, Part]:
    """Return two values of a variable after branches that are over, both as `Maybe` if one may have no value."""
    if _presence(one) == _presence(other):
        return one, other
    first, second = one.blank(), other.blank()
    second = second.like(first)
    first = first.like(second)
    return first, second.like(first)


def _presence(part: Part) -> tuple[bool, bool]:
    return isinstance(part.value, Undefined), type(part.value) is Maybe


def _text(value: Any) -> str:
    return repr(value) if value is None or isinstance(value, str) else f"an object of {type(value).__name__}"


def python_type(value: Any) -> type | None:
    """Return the Python type of a number that a graph may compute; None for every other value."""
    kind = type(value)
    if kind is Number:
        return type(value.value)
    return kind if kind in _NUMBERS else value.weak if kind is number else None


def is_same(before: Any, after: Any) -> bool:
    """Whether a variable still has the same value."""
    if before is after:
        return True
    if type(before) in _NUMBERS:
        return type(before) is type(after) and (before == after or (before != before and after != after))
    if isinstance(before, Undefined) and isinstance(after, Undefined):
        return not isinstance(after, Conflict)
    if isinstance(before, (types.MethodType, str, bytes)):
        return bool(type(before) is type(after) and before == after)
    return False


def common(one: Part, other: Part) -> list[Form] | None:
    """Return the forms that can hold both of two values; None if they differ in structure, shape or dtype.

    Where one value has a Python number and the other an array, the array's dtype holds both.
    """
    if not one.is_like(other):
        return None
    forms = []
    for left, right, first, second in zip(one.forms, other.forms, one.kinds, other.kinds, strict=True):
        if left.shape != right.shape:
            return None
        if left.dtype is right.dtype:
            dtype = left.dtype
        elif first and second:
            dtype = tensor_dtype(type(first() + second()))
        elif first and _takes(right.dtype, first):
            dtype = right.dtype
        elif second and _takes(left.dtype, second):
            dtype = left.dtype
        else:
            return None
        if left.device == right.device:
            device = left.device
        elif not left.shape:  # a number of the host, and what an accelerator has made of it
            device = right.device if left.device.type == "cpu" else left.device
        else:
            return None
        forms.append(Form(dtype, left.shape, device, left.is_number and right.is_number))
    return forms


def _takes(dtype: Any, number: type) -> bool:
    """Whether an array's dtype can hold a Python number of a type, by NumPy 2's promotion."""
    kinds = "biufc"
    kind = to_numpy[dtype].kind
    wanted = {bool: "b", int: "i", float: "f", complex: "c"}[number]
    if kind == "b" or kinds.index(wanted) > kinds.index(kind.replace("u", "i")):
        return kind == wanted
    return True


def as_forms(part: Part, forms: Iterable[Form]) -> list[Tensor]:
    """Return the tensors of a value, cast to the dtypes of these forms and on their devices."""
    return [
        interop.moved(casting.cast(tensor, form.dtype), form.device)
        for tensor, form in zip(part.tensors, forms, strict=True)
    ]
