"""Pytrees: arrays in nested lists, tuples, dictionaries, named tuples, dataclasses and registered classes' objects.

Layer: owns which classes are containers and which values are arrays. All other values are static: a part of the
structure.
"""

from __future__ import annotations

import copy
import dataclasses
import functools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from backend_torch.tensors import memory
from backend_torch.tensors.trace_state import TracedValueError
from tnp._core import strided_views
from tnp._core.base import SCALARS, ndarray, readonly, scalar, subclass, wrap, wrap_array
from tnp._core.derived_classes import finalised
from tnp._core.readonly_views import readonly_array
from tnp._transforms.registered_pytrees import registered
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
    """Return a tensor as an array of the kind of ``array``: a tnp array for NumPy's, a scalar for a Python number."""
    if isinstance(array, ndarray):
        made = _new(scalar if type(array) in SCALARS else ndarray)
        made.tensor = tensor
        return made
    if isinstance(array, np.ndarray):
        return wrap_array(tensor)
    return tensor if memory.is_tensor(array) else wrap(tensor)


def stand_in(array: Any, tensor: Any) -> Any:
    """Return a tensor in place of an argument: as :func:`like`, but of its class, and read-only if it is."""
    if isinstance(array, subclass):
        made = finalised(type(array), tensor, array)
        memory.lock(tensor, memory.is_locked(array.tensor))
        return made
    if type(array) is Number:
        return Number(array.value, tensor, array.numbers, array.trace)
    turn = strided_views.turn_of(array)
    made = like(array, tensor) if turn is None else strided_views.turned(tensor, turn)
    return locked(array, made) if is_read_only(array) else made


def locked(source: Any, made: Any) -> Any:
    """Return ``made``, a view of the read-only array ``source``, as a read-only array; a scalar unchanged."""
    if type(made) in strided_views.UNDESCRIBED:
        return strided_views.locked(made)
    if type(made) is not ndarray:
        return made
    return readonly_array(made.tensor, memory.source_of(source.tensor) if isinstance(source, ndarray) else source)


def is_read_only(array: Any) -> bool:
    """Whether an array refuses writes here for another reason than that its elements share memory."""
    if isinstance(array, np.ndarray):
        return not array.flags.writeable
    if type(array) in strided_views.UNDESCRIBED:
        return not array.host.flags.writeable
    return type(array) is readonly or (isinstance(array, ndarray) and memory.is_locked(array.tensor))


def flatten(tree: Any, leaves: list[Any]) -> Any:
    """Append the arrays of ``tree`` to ``leaves``; return the rest as an object to hash and compare.

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
    if is_array(tree):
        leaves.append(tree)
        if kind is Number:
            return Number, type(tree.value)
        if memory.is_tensor(tree):
            return "array", "tensor"
        kind = np.ndarray if isinstance(tree, np.ndarray) else kind  # NumPy's own are arrays, whatever their class
        return "array", kind, is_read_only(tree), strided_views.turn_of(tree)
    own = registered(kind)
    if own is not None:
        children, static = own.parts(tree)
        return kind, static, tuple([flatten(child, leaves) for child in children])
    if isinstance(tree, dict):
        return kind, tuple(tree), tuple([flatten(item, leaves) for item in tree.values()])
    if kind is slice:  # Python 3.11 can't hash it
        return slice, tree.start, tree.stop, tree.step
    if kind is float:
        return float, tree.hex()  # 0.0 and -0.0 are equal, NaN is not even that
    if kind is complex:
        return complex, tree.real.hex(), tree.imag.hex()
    names = fields(tree)
    if names is not None:
        return kind, names, tuple([flatten(getattr(tree, name), leaves) for name in names])
    try:
        hash(tree)
    except TracedValueError:
        raise
    except TypeError:
        raise TypeError(f"{kind.__name__} is neither an array, a container of arrays nor hashable: {tree!r}") from None
    return kind, tree


def fields(tree: Any) -> tuple[str, ...] | None:
    """Return the field names of a named tuple or a dataclass; None for other values."""
    if isinstance(tree, tuple) and hasattr(tree, "_fields"):
        return tuple(tree._fields)
    if dataclasses.is_dataclass(tree) and not isinstance(tree, type):
        return tuple([field.name for field in dataclasses.fields(tree)])
    return None


def mapped(function: Callable[[Any], Any], tree: Any, is_leaf: Callable[[Any], bool] = is_array) -> Any:
    """Return ``tree`` with ``function(leaf)`` in place of each leaf: the arrays, or whatever ``is_leaf`` chooses."""
    kind = type(tree)
    if (kind is tuple or kind is list) and (is_leaf is is_array or not is_leaf(tree)):
        return kind([function(x) if type(x) is ndarray else mapped(function, x, is_leaf) for x in tree])
    if kind is ndarray or kind in SCALARS or is_leaf(tree):
        return function(tree)
    if tree is None:
        return None

    def leaf(value: Any) -> Callable[[Any, Any], Any]:
        made = function(value)
        return lambda values, arrays: made

    return builder(tree, leaf, is_leaf)((), ())


def mapped_once(
    function: Callable[[Any], Any],
    tree: Any,
    is_leaf: Callable[[Any], bool] = is_array,
    made: dict[int, Any] | None = None,
) -> Any:
    """Return ``mapped(function, tree, is_leaf)``, in which a container that occurs twice is one container.

    ``made`` has, by their identifiers, containers of the tree and what stands for them.
    """
    return _once(function, is_leaf, {} if made is None else made, [], tree)


def _once(
    function: Callable[[Any], Any], is_leaf: Callable[[Any], bool], made: dict[int, Any], kept: list[Any], value: Any
) -> Any:
    if is_leaf(value) or is_array(value):
        return function(value)
    if id(value) not in made:
        kept.append(value)  # so that no two have one identifier
        inner = functools.partial(_once, function, is_leaf, made, kept)
        made[id(value)] = mapped(inner, value, lambda child: child is not value)
    return made[id(value)]


def builder(
    tree: Any, leaf: Callable[[Any], Callable[[Any, Any], Any]], is_leaf: Callable[[Any], bool] = is_array
) -> Callable[[Any, Any], Any]:
    """Return a function ``build(values, arrays)`` that makes a tree like ``tree``.

    ``leaf(array)`` is called once for each array; it returns the function of the same two arguments that makes it.
    """
    kind = type(tree)
    if is_leaf(tree):
        return leaf(tree)
    if kind is tuple or kind is list:
        items = [builder(item, leaf, is_leaf) for item in tree]
        return lambda values, arrays: kind([item(values, arrays) for item in items])
    own = registered(kind)
    if own is not None:
        children, static = own.parts(tree)
        made = [builder(child, leaf, is_leaf) for child in children]
        return lambda values, arrays: own.unflatten(static, tuple([child(values, arrays) for child in made]))
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
    """Return a dictionary of the same derived class, with the state of that class (``defaultdict``)."""
    made = copy.copy(tree)
    dict.update(made, {key: item(values, arrays) for key, item in entries})
    return made


def spread(prefix: Any, tree: Any, what: str) -> list[Any]:
    """Return the value of ``prefix`` for each array of ``tree``; a value holds for all arrays below its place.

    Raises
    ------
    ValueError
        The two have different structures; ``what`` names the prefix.
    """
    if prefix is None or isinstance(prefix, (int, np.integer)):
        leaves: list[Any] = []
        flatten(tree, leaves)
        return [prefix] * len(leaves)
    inner, given = None if is_array(tree) else children(tree), children(prefix)
    if inner is None or given is None or set(given) != set(inner):
        raise ValueError(f"{what} {prefix!r} is built differently from {type(tree).__name__} {tree!r}")
    return [value for key, child in inner.items() for value in spread(given[key], child, what)]


def children(tree: Any) -> dict[Any, Any] | None:
    """Return the children of a container by key, place or name; None if it is not a container."""
    own = registered(type(tree))
    if type(tree) is tuple or type(tree) is list:
        return dict(enumerate(tree))
    if own is not None:
        return dict(enumerate(own.parts(tree)[0]))
    if isinstance(tree, dict):
        return dict(tree)
    names = fields(tree)
    if names is not None:
        return {name: getattr(tree, name) for name in names}
    return dict(enumerate(tree)) if isinstance(tree, (tuple, list)) else None


def attribute_paths(tree: Any, children: tuple[Any, ...], path: str) -> list[str | None]:
    """Return expressions for the children of a registered class's object: their attributes, or None."""
    held = {id(value): name for name, value in reversed(getattr(tree, "__dict__", {}).items())}
    return [f"{path}.{held[id(child)]}" if id(child) in held else None for child in children]


def named(tree: Any, path: str) -> Iterator[tuple[str, Any]]:
    """Yield the path of each array and static value, for messages, and the value: ``("x[0]", array)``."""
    kind = type(tree)
    if is_array(tree):
        yield path, tree
    elif kind is tuple or kind is list:
        for index, item in enumerate(tree):
            yield from named(item, f"{path}[{index}]")
    elif (own := registered(kind)) is not None:
        children = own.parts(tree)[0]
        for index, (child, where) in enumerate(zip(children, attribute_paths(tree, children, path), strict=True)):
            yield from named(child, where or f"{path}[{index}]")
    elif isinstance(tree, dict):
        for key, item in tree.items():
            yield from named(item, f"{path}[{key!r}]")
    elif (names := fields(tree)) is not None:
        for name in names:
            yield from named(getattr(tree, name), f"{path}.{name}")
    else:
        yield path, tree


def dtype_name(array: Any) -> str:
    """Return the name of an array's or a tensor's dtype."""
    return str(array.dtype).removeprefix("torch.")


def described(tree: Any, path: str) -> Iterator[tuple[str, str]]:
    """Yield the path and the description of each array and static value: ``("x[0]", "float32 (3, 4)")``."""
    for where, leaf in named(tree, path):
        if type(leaf) is Number:
            yield where, f"{type(leaf.value).__name__}"
        elif is_array(leaf):
            yield where, f"{type(leaf).__name__} {dtype_name(leaf)} {tuple(leaf.shape)}{_layout(leaf)}"
        else:
            yield where, f"the {type(leaf).__name__} {leaf!r}"


def _layout(array: Any) -> str:
    """Return the strides as text, or nothing for C order."""
    tensor = array.tensor if isinstance(array, ndarray) else array
    if memory.is_tensor(tensor):
        return "" if tensor.is_contiguous() else f" with strides {tensor.stride()}"
    return "" if tensor.flags["C_CONTIGUOUS"] else f" with strides {tensor.strides}"
