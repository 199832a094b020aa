"""torch.compile's front end over functions of arrays: which functions it takes as one operation, not looked into.

Layer: torch's private entry points for that, used once Dynamo itself is imported; without them torch.compile breaks the
graph where it meets an array. What is taken whole is traced afterwards, by the operations that it does.
"""

from __future__ import annotations

import importlib.abc
import importlib.util
import sys
from collections.abc import Callable, Sequence
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

from torch.utils import _pytree

_FRONT_END = "torch._dynamo"


def when_imported(action: Callable[[], None]) -> None:
    """Call ``action`` once Dynamo is there: now, or right after its first import, which takes seconds."""
    if _FRONT_END in sys.modules:
        action()
    else:
        sys.meta_path.insert(0, _Finder(action))


class _Finder(importlib.abc.MetaPathFinder):
    """Finds Dynamo as Python does, and acts when it is loaded."""

    def __init__(self, action: Callable[[], None]) -> None:
        self.action = action

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        if name != _FRONT_END:
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(name)
        if spec is not None and spec.loader is not None:
            spec.loader = _Loader(spec.loader, self.action)
        return spec


class _Loader(importlib.abc.Loader):
    def __init__(self, loader: Any, action: Callable[[], None]) -> None:
        self.loader = loader
        self.action = action

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return self.loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        self.loader.exec_module(module)
        self.action()


def take_whole(functions: Sequence[Callable[..., Any]]) -> None:
    """Make each of the functions one operation of a graph, as ``torch._dynamo.nonstrict_trace`` does for a copy."""
    try:
        from torch._dynamo.trace_rules import _allowed_callable_ids, _nonstrict_trace_callable_ids
    except ImportError:
        return
    for function in functions:
        _allowed_callable_ids.add(id(function))
        _nonstrict_trace_callable_ids.add(id(function))


def allow_constants() -> None:
    """Let this thread's graphs hold the constants that an operation taken whole reads: small tensors, not fake ones.

    torch itself allows them while it traces the operation, and forgets that before Inductor sees the graph.
    """
    try:
        from torch._subclasses.fake_tensor import fake_tensor_tls
    except ImportError:
        return
    fake_tensor_tls.allow_non_fake_inputs_override = True


def register(kind: type, make: Callable[[Any], Any], name: str) -> None:
    """Let torch's pytrees look into a class that holds a tensor, and ``make`` one of another tensor."""
    _pytree.register_pytree_node(
        kind, lambda array: ([array.tensor], None), lambda tensors, _: make(*tensors), serialized_type_name=name
    )


def take_as_constants(classes: Sequence[type]) -> None:
    """Let the values of classes be arguments of what is taken whole."""
    for kind in classes:
        _pytree.register_constant(kind)
