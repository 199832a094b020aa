"""Pytrees: arrays in nested lists, tuples, dictionaries, named tuples and dataclasses, taken out and put back.

Layer: owns which containers are looked into and which values are arrays; everything else is static, a part of the
structure.
"""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from backend_torch.tensors import memory
from tnp._core.base import SCALARS, ndarray, readonly, scalar, subclass, wrap, wrap_array
from tnp._core.derived_classes import finalised
from tnp._core.readonly_views import readonly_array
from tnp._transforms.traced_numbers import Number

_new = object.__new__
_NUMBERS = frozenset({bool, int, float, complex})


def is_array(value: Any) -> bool:
    """Whether a value is an array: tnp's, NumPy's (its scalars too) or torch's."""
    if type(value) is ndarray:
        return True
    return isinstance(value, (ndarray, np.ndarray, np.generic)) or memory.is_tensor(value) or type(value) is Number


def becomes_array(value: Any) -> bool:
    """Whether a value is an array, or a number of Python's that becomes one."""
    return is_array(value) or type(value) in _NUMBERS


def like(array: Any, tensor: Any) -> Any:
    """A tensor in place of an array: of the array's kind, NumPy's as tnp's; a Python number's as a scalar."""
    if isinstance(array, ndarray):
        made = _new(scalar if type(array) in SCALARS else ndarray)
        made.tensor = tensor
        return made
    if isinstance(array, np.ndarray):
        return wrap_array(tensor)
    return tensor if memory.is_tensor(array) else wrap(tensor)


def stand_in(array: Any, tensor: Any) -> Any:
    """A tensor in place of an argument: :func:`like`, but of the argument's class, and read-only if the argument is."""
    if isinstance(array, subclass):
        made = finalised(type(array), tensor, array)
        memory.lock(tensor, memory.is_locked(array.tensor))
        return made
    if type(array) is Number:
        return Number(array.value, tensor, array.numbers, array.trace)
    made = like(array, tensor)
    return locked(array, made) if is_read_only(array) else made


def locked(source: Any, made: Any) -> Any:
    """``made``, which stands for memory of the read-only array ``source``, as a read-only array; a scalar as it is."""
    if type(made) is not ndarray:
        return made
    return readonly_array(made.tensor, memory.source_of(source.tensor) if isinstance(source, ndarray) else source)


def is_read_only(array: Any) -> bool:
    """Whether it is an array that refuses to be written to, and not because its elements share memory."""
    if isinstance(array, np.ndarray):
        return not array.flags.writeable
    return type(array) is readonly or (isinstance(array, ndarray) and memory.is_locked(array.tensor))


def flatten(tree: Any, leaves: list[Any]) -> Any:
    """Append the arrays of ``tree`` to ``leaves``; returns the rest as something to hash and compare.

    Raises
    ------
    TypeError
        A value is neither an array nor hashable.
    """
    kind = type(tree)
    if kind is ndarray or kind in SCALARS:
        leaves.append(tree)
        return ndarray if kind is ndarray else scalar
    if kind is tuple or kind is list:
        return kind, tuple([flatten(item, leaves) for item in tree])
    if tree is None:
        return kind, None
    if isinstance(tree, dict):
        return kind, tuple(tree), tuple([flatten(item, leaves) for item in tree.values()])
    if kind is slice:  # Python 3.11 can't hash it
        return slice, tree.start, tree.stop, tree.step
    if is_array(tree):
        leaves.append(tree)
        if kind is Number:
            return Number, type(tree.value)
        if memory.is_tensor(tree):
            return "array", "tensor"
        kind = np.ndarray if isinstance(tree, np.ndarray) else kind  # NumPy's own are arrays, whatever their class
        return "array", kind, is_read_only(tree)
    if kind is float:
        return float, tree.hex()  # 0.0 and -0.0 are equal, NaN is not even that
    if kind is complex:
        return complex, tree.real.hex(), tree.imag.hex()
    names = fields(tree)
    if names is not None:
        return kind, names, tuple([flatten(getattr(tree, name), leaves) for name in names])
    try:
        hash(tree)
    except TypeError:
        raise TypeError(f"{kind.__name__} is neither an array, a container of arrays nor hashable: {tree!r}") from None
    return kind, tree


def fields(tree: Any) -> tuple[str, ...] | None:
    """The names of what a named tuple or a dataclass holds."""
    if isinstance(tree, tuple) and hasattr(tree, "_fields"):
        return tuple(tree._fields)
    if dataclasses.is_dataclass(tree) and not isinstance(tree, type):
        return tuple([field.name for field in dataclasses.fields(tree)])
    return None


def mapped(function: Callable[[Any], Any], tree: Any, is_leaf: Callable[[Any], bool] = is_array) -> Any:
    """``tree`` with ``function(leaf)`` in the place of each array, and of what else ``is_leaf`` says."""
    kind = type(tree)
    if kind is tuple or kind is list:
        return kind([function(x) if type(x) is ndarray else mapped(function, x, is_leaf) for x in tree])
    if kind is ndarray or kind in SCALARS or is_leaf(tree):
        return function(tree)
    if tree is None:
        return None

    def leaf(value: Any) -> Callable[[Any, Any], Any]:
        made = function(value)
        return lambda values, arrays: made

    return builder(tree, leaf, is_leaf)((), ())


def builder(
    tree: Any, leaf: Callable[[Any], Callable[[Any, Any], Any]], is_leaf: Callable[[Any], bool] = is_array
) -> Callable[[Any, Any], Any]:
    """A function ``build(values, arrays)`` that makes a tree like ``tree``, its arrays as ``leaf(array)`` says.

    ``leaf(array)`` is asked once for each array, and returns what makes it: a function of the same two arguments.
    """
    kind = type(tree)
    if is_leaf(tree):
        return leaf(tree)
    if kind is tuple or kind is list:
        items = [builder(item, leaf, is_leaf) for item in tree]
        return lambda values, arrays: kind([item(values, arrays) for item in items])
    if isinstance(tree, dict):
        entries = [(key, builder(item, leaf, is_leaf)) for key, item in tree.items()]
        if kind is dict:
            return lambda values, arrays: {key: item(values, arrays) for key, item in entries}
        return lambda values, arrays: _filled(tree, entries, values, arrays)
    names = fields(tree)
    if names is None:
        return lambda values, arrays: tree
    members = [builder(getattr(tree, name), leaf, is_leaf) for name in names]
    if isinstance(tree, tuple):
        return lambda values, arrays: kind(*[member(values, arrays) for member in members])

    def instance(values: Any, arrays: Any) -> Any:
        made = copy.copy(tree)
        for name, member in zip(names, members, strict=True):
            object.__setattr__(made, name, member(values, arrays))  # a frozen dataclass too
        return made

    return instance


def _filled(tree: Any, entries: list[Any], values: Any, arrays: Any) -> Any:
    """A dictionary of a class of its own, with its class's other state (``defaultdict``)."""
    made = copy.copy(tree)
    made.update({key: item(values, arrays) for key, item in entries})
    return made


def spread(prefix: Any, tree: Any, what: str) -> list[Any]:
    """For each array of ``tree`` the value that ``prefix`` has for it: of all below it, where it ends earlier.

    Raises
    ------
    ValueError
        The two are built differently; ``what`` says what the prefix is.
    """
    kind = type(tree)
    if is_array(tree):
        children = None
    elif isinstance(tree, dict):
        children = dict(tree)
    elif kind is tuple or kind is list:
        children = dict(enumerate(tree))
    else:
        names = fields(tree)
        children = None if names is None else {name: getattr(tree, name) for name in names}
    if prefix is None or isinstance(prefix, (int, np.integer)):
        leaves: list[Any] = []
        flatten(tree, leaves)
        return [prefix] * len(leaves)
    given: Any = prefix
    if isinstance(prefix, (tuple, list)) and not hasattr(prefix, "_fields"):
        given = dict(enumerate(prefix))
    elif not isinstance(prefix, dict) and (names := fields(prefix)) is not None:
        given = {name: getattr(prefix, name) for name in names}
    if children is None or not isinstance(given, dict) or set(given) != set(children):
        raise ValueError(f"{what} {prefix!r} is built differently from {kind.__name__} {tree!r}")
    return [value for key, child in children.items() for value in spread(given[key], child, what)]


def named(tree: Any, path: str) -> Iterator[tuple[str, Any]]:
    """Where each array and static value is, for people, and the value: ``("x[0]", array)``."""
    kind = type(tree)
    if is_array(tree):
        yield path, tree
    elif kind is tuple or kind is list:
        for index, item in enumerate(tree):
            yield from named(item, f"{path}[{index}]")
    elif isinstance(tree, dict):
        for key, item in tree.items():
            yield from named(item, f"{path}[{key!r}]")
    elif (names := fields(tree)) is not None:
        for name in names:
            yield from named(getattr(tree, name), f"{path}.{name}")
    else:
        yield path, tree


def dtype_name(array: Any) -> str:
    """The name of an array's or a tensor's dtype."""
    return str(array.dtype).removeprefix("torch.")


def described(tree: Any, path: str) -> Iterator[tuple[str, str]]:
    """Where each array and static value is and what it is, for people: ``("x[0]", "float32 (3, 4)")``."""
    for where, leaf in named(tree, path):
        if type(leaf) is Number:
            yield where, f"{type(leaf.value).__name__}"
        elif is_array(leaf):
            yield where, f"{type(leaf).__name__} {dtype_name(leaf)} {tuple(leaf.shape)}{_layout(leaf)}"
        else:
            yield where, f"the {type(leaf).__name__} {leaf!r}"


def _layout(array: Any) -> str:
    """Strides, unless they are those of C order."""
    tensor = array.tensor if isinstance(array, ndarray) else array
    if memory.is_tensor(tensor):
        return "" if tensor.is_contiguous() else f" with strides {tensor.stride()}"
    return "" if tensor.flags["C_CONTIGUOUS"] else f" with strides {tensor.strides}"
