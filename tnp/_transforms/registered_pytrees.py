"""Classes that users register as pytrees: every transform and compiled function looks for arrays in their objects.

Layer: owns the table of classes. A class that is not in it may be in torch's own table.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Any, NamedTuple, TypeVar

from backend_torch.torch_private import trees

Class = TypeVar("Class", bound=type)


class Registered(NamedTuple):
    """How objects of a class are flattened to children and a static part, and built again from these."""

    flatten: Callable[[Any], tuple[Iterable[Any], Hashable]]
    unflatten: Callable[[Any, Any], Any]

    def parts(self, tree: Any) -> tuple[tuple[Any, ...], Hashable]:
        """Return an object's children and its static part.

        Raises
        ------
        TypeError
            The static part can't be hashed.
        """
        children, static = self.flatten(tree)
        try:
            hash(static)
        except TypeError:
            raise TypeError(
                f"{type(tree).__name__}'s flatten function returned {static!r} as the static part, but a "
                f"{type(static).__name__} can't be hashed: return arrays as children, and tuples instead of lists"
            ) from None
        return tuple(children), static


_PYTHONS = (tuple, list, dict)  # torch's table has these too, but tnp flattens them itself
_table: dict[type, Registered] = {}


def registered(kind: type) -> Registered | None:
    """Return how objects of a class are flattened; None if the class is not registered."""
    found = _table.get(kind)
    if found is None and not issubclass(kind, _PYTHONS) and (known := trees.registered(kind)) is not None:
        found = _table[kind] = _of_torch(*known)
    return found


class _Context:
    """The static part of a container from torch's table: often a list, which can be compared but not hashed."""

    def __init__(self, value: Any) -> None:
        self.value = value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Context) and bool(self.value == other.value)

    def __hash__(self) -> int:
        return hash(type(self.value))


def _of_torch(flatten: Callable[[Any], Any], unflatten: Callable[[Any, Any], Any]) -> Registered:
    def taken(tree: Any) -> tuple[Any, Hashable]:
        children, context = flatten(tree)
        return children, _Context(context)

    return Registered(taken, lambda context, children: unflatten(list(children), context.value))


def register_pytree_node(
    nodetype: Class,
    flatten_func: Callable[[Any], tuple[Iterable[Any], Hashable]],
    unflatten_func: Callable[[Any, Any], Any],
) -> Class:
    """Make a class a pytree: transforms and compiled functions find the arrays in its objects.

    Parameters
    ----------
    nodetype : type
        The class; its subclasses have to be registered themselves.
    flatten_func : callable
        Takes an object and returns its children (arrays or containers of arrays) and its static part, which must be
        hashable. A compiled function is traced anew for each other static part.
    unflatten_func : callable
        Takes the static part and a tuple of children, and returns an object. Transforms may pass children that are
        not arrays, so it must not check them.

    Returns
    -------
    type
        The class.

    Raises
    ------
    TypeError
        ``nodetype`` is not a class.
    ValueError
        The class is registered already.

    Notes
    -----
    Lists, tuples, dictionaries, named tuples and dataclasses need no registration, nor do classes that are registered
    with torch (``torch.export.register_dataclass``).

    Source: https://docs.jax.dev/en/latest/_autosummary/jax.tree_util.register_pytree_node.html

    Examples
    --------
    >>> import tnp as np
    >>> class Line:
    ...     def __init__(self, slope, start):
    ...         self.slope, self.start = slope, start
    >>> _ = np.register_pytree_node(Line, lambda line: ((line.slope, line.start), None), lambda _, parts: Line(*parts))
    >>> np.grad(lambda line: line.slope * 3 + line.start)(Line(2.0, 1.0)).slope
    np.float64(3.0)
    """
    if not isinstance(nodetype, type):
        raise TypeError(f"register_pytree_node: {nodetype!r} is not a class")
    if nodetype in _table:
        raise ValueError(f"Duplicate registration of {nodetype.__qualname__}: the class is a pytree already")
    _table[nodetype] = Registered(flatten_func, unflatten_func)
    return nodetype


def register_dataclass(
    nodetype: Class, data_fields: Sequence[str] | None = None, meta_fields: Sequence[str] | None = None
) -> Class:
    """Make a class a pytree by its fields: some hold arrays, the others are static.

    Parameters
    ----------
    nodetype : type
        The class: a dataclass, or any class that takes all fields by name.
    data_fields : sequence of str, optional
        The fields that hold arrays or containers of arrays. By default all fields of a dataclass that are not static.
    meta_fields : sequence of str, optional
        The static fields, whose values must be hashable. By default the fields of a dataclass with
        ``metadata={"static": True}``.

    Returns
    -------
    type
        The class, so that this function can be a decorator.

    Raises
    ------
    TypeError
        The class is not a dataclass, and only one kind of fields is named.
    ValueError
        The class is registered already; or the two arguments do not name each field of a dataclass once.

    Notes
    -----
    In a dataclass that is not registered, the fields without arrays are static.

    Source: https://docs.jax.dev/en/latest/_autosummary/jax.tree_util.register_dataclass.html

    Examples
    --------
    >>> import dataclasses
    >>> import tnp as np
    >>> @np.register_dataclass
    ... @dataclasses.dataclass
    ... class Power:
    ...     base: np.ndarray
    ...     exponent: int = dataclasses.field(metadata={"static": True})
    >>> np.grad(lambda power: power.base**power.exponent)(Power(3.0, 2))
    Power(base=np.float64(6.0), exponent=2)
    """
    if dataclasses.is_dataclass(nodetype):
        fields = {
            field.name: bool(field.metadata.get("static")) for field in dataclasses.fields(nodetype) if field.init
        }
        if meta_fields is None:
            meta_fields = [name for name, static in fields.items() if (static if data_fields is None else False)]
            meta_fields += [] if data_fields is None else [name for name in fields if name not in data_fields]
        if data_fields is None:
            data_fields = [name for name in fields if name not in meta_fields]
        if sorted([*data_fields, *meta_fields]) != sorted(fields):
            raise ValueError(
                f"register_dataclass: data_fields {list(data_fields)} and meta_fields {list(meta_fields)} must name "
                f"each field of {nodetype.__qualname__} once: {list(fields)}"
            )
    elif data_fields is None or meta_fields is None:
        raise TypeError(f"register_dataclass: {nodetype!r} is not a dataclass: give data_fields and meta_fields")
    data, meta = tuple(data_fields), tuple(meta_fields)

    def taken(tree: Any) -> tuple[list[Any], Hashable]:
        return [getattr(tree, name) for name in data], tuple([getattr(tree, name) for name in meta])

    def made(static: Any, children: Any) -> Any:
        return nodetype(**dict(zip(data, children, strict=True)), **dict(zip(meta, static, strict=True)))

    return register_pytree_node(nodetype, taken, made)
