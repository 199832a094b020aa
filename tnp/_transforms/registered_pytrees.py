"""Classes that users register as pytrees: containers of arrays to every transform and to compiled functions.

Layer: owns the table. torch's own table is asked after it, for classes that are registered there.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Any, NamedTuple, TypeVar

from backend_torch.torch_private import trees

Class = TypeVar("Class", bound=type)


class Registered(NamedTuple):
    """How the objects of a class are taken apart, into children and what is static, and put together."""

    flatten: Callable[[Any], tuple[Iterable[Any], Hashable]]
    unflatten: Callable[[Any, Any], Any]

    def parts(self, tree: Any) -> tuple[tuple[Any, ...], Hashable]:
        """Its children, and what is static in it.

        Raises
        ------
        TypeError
            What is static can't be hashed.
        """
        children, static = self.flatten(tree)
        try:
            hash(static)
        except TypeError:
            raise TypeError(
                f"the second thing that {type(tree).__name__}'s flatten function returns is compared and hashed, which "
                f"{type(static).__name__} can't be: {static!r}; return arrays among the children, and of lists tuples"
            ) from None
        return tuple(children), static


_PYTHONS = (tuple, list, dict)  # torch's table has these too
_table: dict[type, Registered] = {}


def registered(kind: type) -> Registered | None:
    """How objects of a class are taken apart, None of one that is not registered."""
    found = _table.get(kind)
    if found is None and not issubclass(kind, _PYTHONS) and (known := trees.registered(kind)) is not None:
        found = _table[kind] = _of_torch(*known)
    return found


class _Context:
    """What torch calls the context of a container: a list, most often, which can be compared but not hashed."""

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
    """Let every transform and compiled functions look for arrays in the objects of a class.

    Parameters
    ----------
    nodetype : type
        The class; its subclasses have to be registered themselves.
    flatten_func : callable
        Takes an object and returns its children, arrays or containers of them, and what is static: something hashable.
        Another static part is another trace of a compiled function.
    unflatten_func : callable
        Takes what is static and a tuple of children, and returns an object. Children may be anything, not only arrays:
        it must not check them.

    Returns
    -------
    type
        The class.

    Raises
    ------
    TypeError
        ``nodetype`` is no class.
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
        raise TypeError(f"register_pytree_node: {nodetype!r} is no class")
    if nodetype in _table:
        raise ValueError(f"Duplicate registration of {nodetype.__qualname__}: the class is a pytree already")
    _table[nodetype] = Registered(flatten_func, unflatten_func)
    return nodetype


def register_dataclass(
    nodetype: Class, data_fields: Sequence[str] | None = None, meta_fields: Sequence[str] | None = None
) -> Class:
    """Let fields of a dataclass, or attributes of another class, be static.

    Parameters
    ----------
    nodetype : type
        The class. It is called with all fields by name to make an object.
    data_fields : sequence of str, optional
        What holds arrays or containers of them. By default, in a dataclass, all fields that are not static.
    meta_fields : sequence of str, optional
        What is static and hashable. By default, in a dataclass, fields with ``metadata={"static": True}``.

    Returns
    -------
    type
        The class, so that this can be a decorator.

    Raises
    ------
    TypeError
        The class is no dataclass, and only one kind of its fields is named.
    ValueError
        The class is registered already; or the two do not name each field of a dataclass once.

    Notes
    -----
    A dataclass that is not registered has no static fields but those that hold no arrays.

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
                f"register_dataclass: data_fields {list(data_fields)} and meta_fields {list(meta_fields)} are to name "
                f"each field of {nodetype.__qualname__} once: {list(fields)}"
            )
    elif data_fields is None or meta_fields is None:
        raise TypeError(f"register_dataclass: {nodetype!r} is no dataclass: give data_fields and meta_fields")
    data, meta = tuple(data_fields), tuple(meta_fields)

    def taken(tree: Any) -> tuple[list[Any], Hashable]:
        return [getattr(tree, name) for name in data], tuple([getattr(tree, name) for name in meta])

    def made(static: Any, children: Any) -> Any:
        return nodetype(**dict(zip(data, children, strict=True)), **dict(zip(meta, static, strict=True)))

    return register_pytree_node(nodetype, taken, made)
