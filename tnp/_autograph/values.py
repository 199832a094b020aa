"""Values of variables in branches and loops: which are traced, which stay Python's, and which are missing.

Layer: owns what of a variable goes through a graph. Arrays in containers do; numbers do as soon as a traced condition
decides them; every other object has to stay what it is.
"""

from __future__ import annotations

import types
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from backend_torch.graphs import control_flow as backend
from backend_torch.tensors import casting, memory, trace_state
from backend_torch.tensors.dtypes import to_numpy
from tnp._array.numbers import number_of
from tnp._autograph.places import Place, rebound
from tnp._core.base import ndarray, number
from tnp._core.dtypes import tensor_dtype
from tnp._transforms import pytree
from tnp._transforms.control_flow import Leaves, described
from tnp._transforms.traced_numbers import Number

Tensor = Any
_NUMBERS = (bool, int, float, complex)
_MANY = 4096  # items of a list beyond which nobody looks into it


class Undefined:
    """What a variable holds that has no value, and why."""

    __slots__ = ("name", "why")

    def __init__(self, name: str, why: str = "") -> None:
        self.name = name
        self.why = why

    def error(self) -> Exception:
        """What reading the variable raises."""
        text = f"cannot access local variable '{self.name}' where it is not associated with a value"
        return UnboundLocalError(f"{text}: {self.why}" if self.why else text)


class Conflict(Undefined):
    """What a variable holds whose values in two branches can't be one array."""

    __slots__ = ()

    def error(self) -> Exception:
        """What reading the variable raises."""
        return TypeError(self.why)


def read(value: Any) -> Any:
    """A variable's value.

    Raises
    ------
    UnboundLocalError
        It has none.
    """
    if isinstance(value, Undefined):
        raise value.error()
    return value


def returned(value: Any) -> Any:
    """What a function returns."""
    if isinstance(value, Conflict):
        raise value.error()
    return None if isinstance(value, Undefined) else value


def traced(value: Any) -> Tensor | None:
    """The tensor of a traced array whose values nobody knows; None for every other value."""
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
    """The 0-d tensor of a traced condition; None for a condition that Python can test.

    Raises
    ------
    ValueError
        It has several elements.
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
    """How an array of a variable is."""

    dtype: Any
    shape: tuple[Any, ...]
    is_number: bool  # of Python's


class Part:
    """A variable's value, taken apart.

    Attributes
    ----------
    value
        What it is.
    tree : Leaves or None
        Its arrays and numbers; None if it holds none that can be taken out.
    kinds : list
        For each of them the type of Python's that it is of, or None.
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
        """Whether it is a number of Python's."""
        return python_type(self.value) is not None

    @property
    def forms(self) -> list[Form]:
        """The dtypes and shapes of its arrays, and whether they are numbers of Python's."""
        return [
            Form(tensor.dtype, tuple(tensor.shape), kind is not None)
            for tensor, kind in zip(self.tensors, self.kinds, strict=True)
        ]

    def filled(self, tensors: list[Tensor], forms: list[Form]) -> Any:
        """The same with other tensors, of these forms."""
        assert self.tree is not None
        weak = iter(forms)
        return self.tree.filled(
            tensors, lambda leaf, tensor: number_of(tensor) if next(weak).is_number else pytree.like(leaf, tensor)
        )

    def is_like(self, other: Part) -> bool:
        """Whether both are built alike, of any dtypes and shapes; a number counts as an array."""
        if self.tree is None or other.tree is None:
            return False
        if len(self.tensors) == len(other.tensors) == 1 and self._is_leaf and other._is_leaf:
            return True
        return bool(self.tree.structure == other.tree.structure)

    @property
    def _is_leaf(self) -> bool:
        return self.is_number or pytree.is_array(self.value)

    def __str__(self) -> str:
        if isinstance(self.value, Undefined):
            return "nothing"
        if self.tree is not None and self._is_leaf:
            return described(self.tensors[0])
        return repr(self.tree) if self.tree is not None else _text(self.value)


def _text(value: Any) -> str:
    return repr(value) if value is None or isinstance(value, str) else f"an object of {type(value).__name__}"


def python_type(value: Any) -> type | None:
    """The type of a number of Python's, which a graph may compute; None of other values."""
    kind = type(value)
    if kind is Number:
        return type(value.value)
    return kind if kind in _NUMBERS else value.weak if kind is number else None


def is_same(before: Any, after: Any) -> bool:
    """Whether a variable was not given another value."""
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
    """The forms of two values that are alike, in which both can be held: numbers take the dtype of arrays.

    None if there are none.
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
        forms.append(Form(dtype, left.shape, left.is_number and right.is_number))
    return forms


def _takes(dtype: Any, number: type) -> bool:
    """Whether an array's dtype takes a Python number of a type as NumPy 2 promotes it."""
    kinds = "biufc"
    kind = to_numpy[dtype].kind
    wanted = {bool: "b", int: "i", float: "f", complex: "c"}[number]
    if kind == "b" or kinds.index(wanted) > kinds.index(kind.replace("u", "i")):
        return kind == wanted
    return True


def as_forms(part: Part, forms: Iterable[Form]) -> list[Tensor]:
    """The tensors of a value, in the dtypes of these forms."""
    return [casting.cast(tensor, form.dtype) for tensor, form in zip(part.tensors, forms, strict=True)]


class Surroundings:
    """Lists, dictionaries, sets and attributes that a block may change, and what the functions that it calls rebind.

    A traced block runs once while it is traced, whatever its condition: what it puts into a list would stay there.
    """

    def __init__(self, block: Callable[..., Any], values: Iterable[Any]) -> None:
        self.kept: dict[int, tuple[Any, Any]] = {}
        self.places: dict[tuple[int, Any], tuple[Place, Any]] = {}
        self._reach(block)
        for value in values:
            self._keep(value, 3)

    def called(self, function: types.FunctionType) -> None:
        """Note a function that the block is about to call."""
        for place in rebound(function):
            self.places.setdefault((id(place.holder), place.key), (place, place.get()))
        self._reach(function)

    def rebound(self) -> list[Place]:
        """The globals and variables of other functions that functions have rebound; they are put back."""
        found = []
        for place, before in self.places.values():
            if not is_same(before, place.get()):
                place.put(before)
                found.append(place)
        return found

    def _reach(self, function: Any) -> None:
        for cell in getattr(function, "__closure__", None) or ():
            try:
                self._keep(cell.cell_contents, 3)
            except ValueError:
                continue
        code = getattr(function, "__code__", None)
        for name in getattr(code, "co_names", ()):
            self._keep(function.__globals__.get(name), 2)

    def _keep(self, value: Any, depth: int) -> None:
        kind = type(value)
        if depth == 0 or id(value) in self.kept:
            return
        if kind in (list, dict, set):
            if len(value) > _MANY:
                return
            self.kept[id(value)] = value, value.copy()
            for each in value.values() if kind is dict else value:
                self._keep(each, depth - 1)
        elif kind is tuple:
            for each in value:
                self._keep(each, depth - 1)
        elif isinstance(value, types.FunctionType):
            for cell in value.__closure__ or ():
                try:
                    self._keep(cell.cell_contents, depth - 1)
                except ValueError:
                    continue
        elif isinstance(value, types.MethodType):
            self._keep(value.__self__, depth)
        elif not isinstance(value, (type, types.ModuleType, ndarray)) and not memory.is_tensor(value):
            if not kind.__module__.startswith(("tnp", "backend_torch", "torch", "numpy")):
                entries = getattr(value, "__dict__", None)
                if type(entries) is dict:
                    self._keep(entries, depth)

    def restored(self) -> Any:
        """Put back what they held; a container that had been changed, or None."""
        found = None
        for value, before in self.kept.values():
            kind = type(value)
            if kind is dict:
                same = len(value) == len(before) and all(
                    key in value and (value[key] is item or is_same(item, value[key])) for key, item in before.items()
                )
            elif kind is set:
                same = value == before
            else:
                same = len(value) == len(before) and all(
                    one is other or is_same(one, other) for one, other in zip(before, value, strict=True)
                )
            if not same:
                found = value
                value.clear()
                (value.extend if kind is list else value.update)(before)
        return found
