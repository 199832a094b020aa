"""torch's trees of Python values ("pytrees"): torch.compile and torch.export know the classes that are registered here.

``torch.utils.pytree`` is public, but has neither constants nor paths of attributes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from torch.utils import _pytree

flatten, unflatten, leaves = _pytree.tree_flatten, _pytree.tree_unflatten, _pytree.tree_leaves
map_only = _pytree.tree_map_only
is_constant_class = _pytree.is_constant_class


def register(kind: type, make: Callable[[Any], Any], name: str) -> None:
    """Let torch look into a class that holds a tensor, and ``make`` one of another tensor."""
    _pytree.register_pytree_node(
        kind,
        lambda array: ([array.tensor], None),
        lambda tensors, _: make(*tensors),
        serialized_type_name=name,
        flatten_with_keys_fn=lambda array: ([(_pytree.GetAttrKey("tensor"), array.tensor)], None),
    )


def registered(kind: type) -> tuple[Callable[[Any], Any], Callable[[Any, Any], Any]] | None:
    """How torch takes objects of a class apart, into children and a context, and puts them together of both."""
    known = _pytree.SUPPORTED_NODES.get(kind)
    if known is None or is_constant_class(kind):
        return None
    return known.flatten_fn, known.unflatten_fn


def register_constants(classes: Sequence[type]) -> None:
    """Let the values of classes be arguments of what is taken whole."""
    for kind in classes:
        _pytree.register_constant(kind)
