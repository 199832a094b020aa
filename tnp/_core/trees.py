"""Containers among arguments and results: lists, tuples and dicts, whatever is in them.

Layer: owns the walk. What a transform or a compiled function takes for a container is ``_transforms.pytree``'s.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def replaced(function: Callable[[Any], Any], value: Any) -> Any:
    """``value`` with ``function(leaf)`` in the place of each leaf: what is no list, tuple, named tuple or dict."""
    kind = type(value)
    if kind is list or kind is tuple:
        return kind([replaced(function, each) for each in value])
    if kind is dict:
        return {key: replaced(function, each) for key, each in value.items()}
    if isinstance(value, tuple) and hasattr(kind, "_make"):
        return kind._make([replaced(function, each) for each in value])
    return function(value)
