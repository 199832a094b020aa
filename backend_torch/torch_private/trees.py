"""torch's trees of Python values ("pytrees"): torch.compile and torch.export flatten the classes registered here.

The public ``torch.utils.pytree`` has neither constants nor attribute paths.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch.utils import _pytree

flatten, unflatten, leaves = _pytree.tree_flatten, _pytree.tree_unflatten, _pytree.tree_leaves
is_constant_class = _pytree.is_constant_class
_LEAVES = {bool, int, float, complex, str, type(None), torch.dtype, torch.device, torch.layout, torch.memory_format}


def map_only(kind: type, function: Callable[[Any], Any], tree: Any) -> Any:
    """As torch's ``tree_map_only``, which takes a tenth of a trace to flatten the arguments of its operations."""
    if isinstance(tree, kind):
        return function(tree)
    of = type(tree)
    if of is tuple or of is list:
        return of([map_only(kind, function, each) for each in tree])
    if of is dict:
        return {name: map_only(kind, function, each) for name, each in tree.items()}
    return tree if of in _LEAVES else _pytree.tree_map_only(kind, function, tree)


def register(kind: type, make: Callable[[Any], Any], name: str) -> None:
    """Let torch flatten objects of a class to the tensor that they hold, and ``make`` one from another tensor."""
    _pytree.register_pytree_node(
        kind,
        lambda array: ([array.tensor], None),
        lambda tensors, _: make(*tensors),
        serialized_type_name=name,
        flatten_with_keys_fn=lambda array: ([(_pytree.GetAttrKey("tensor"), array.tensor)], None),
    )


def registered(kind: type) -> tuple[Callable[[Any], Any], Callable[[Any, Any], Any]] | None:
    """Return torch's flatten and unflatten functions for a class; None if the class is not registered."""
    known = _pytree.SUPPORTED_NODES.get(kind)
    if known is None or is_constant_class(kind):
        return None
    return known.flatten_fn, known.unflatten_fn


def register_constants(classes: Sequence[type]) -> None:
    """Let objects of classes be constant arguments of functions that are one operation of a graph."""
    for kind in classes:
        _pytree.register_constant(kind)
