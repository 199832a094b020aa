"""Containers among arguments and results: lists, tuples and dicts, whatever is in them.

Layer: owns the walk. What a transform or a compiled function takes for a container is ``_transforms.pytree``'s.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import chain
from typing import Any

_CONTAINERS = (list, tuple, dict)
_DEEPEST = 64  # a list may hold itself; NumPy's arrays have no more axes


def replaced(function: Callable[[Any], Any], value: Any) -> Any:
    """``value`` with ``function(leaf)`` in the place of each leaf: what is no list, tuple, named tuple or dict."""
    kind = type(value)
    if kind is list or kind is tuple:
        return kind([
            replaced(function, each) if isinstance(each, _CONTAINERS) else function(each) for each in value
        ])
    if kind is dict:
        return {key: replaced(function, each) for key, each in value.items()}
    if isinstance(value, tuple) and hasattr(kind, "_make"):
        return kind._make([replaced(function, each) for each in value])
    return function(value)


def kinds(value: Any) -> set[type]:
    """The types of a value and of what is in it, however many: the loops over the items are C's."""
    found: set[type] = set()
    level: Any = (value,)
    for _ in range(_DEEPEST):
        here = {*map(type, level)}
        found |= here
        containers = {kind for kind in here if issubclass(kind, _CONTAINERS)}
        if not containers:
            break
        level = [
            *chain.from_iterable(
                each.values() if isinstance(each, dict) else each for each in level if type(each) in containers
            )
        ]
    return found


def holds(value: Any, *classes: type) -> bool:
    """Whether a value, or what is in it, is of one of the classes."""
    return any(issubclass(kind, classes) for kind in kinds(value))
