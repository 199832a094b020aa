"""Programs that overwrite values of their gradients: old values, and copies that no other code can write to.

Layer: owns the old values that autograd needs after the program has overwritten them. ``autodiff`` takes the gradients.
"""

from __future__ import annotations

import contextlib
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

from backend_torch.autodiff.function_kinds import QUESTION, kinds
from backend_torch.autodiff.outside import memory_of
from backend_torch.tensors import trace_state
from backend_torch.torch_private import functorch, messages, modes
from backend_torch.torch_private.functorch import is_transforming
from backend_torch.torch_private.modes import TorchDispatchMode
from backend_torch.torch_private.operators import schema_of
from backend_torch.torch_private.tensor_internals import is_view, storage_of, version_of

Tensor = torch.Tensor


class OverwrittenError(RuntimeError):
    """A value that a gradient needs was overwritten."""


class ChangedError(OverwrittenError):
    """An array that a function read, which is run again for a gradient, was overwritten; the text says which."""


def was_overwritten(error: Exception) -> bool:
    """Whether an error says that a value of a gradient was overwritten: torch's own, or that of `old_values_kept`."""
    return isinstance(error, OverwrittenError) or messages.says(error, messages.OVERWRITTEN)


class _Saved:
    """The old value of a tensor that a gradient needs."""

    __slots__ = ("__weakref__", "tensor", "version")

    def __init__(self, tensor: Tensor) -> None:
        self.tensor = tensor
        self.version = version_of(tensor)


class Keeper:
    """The tensors that gradients need, by their memory: copies replace them before a write to it."""

    def __init__(self) -> None:
        super().__init__()
        self._by_memory: dict[int, list[weakref.ref[_Saved]]] = {}

    def pack(self, tensor: Tensor) -> _Saved:
        """Return the object that autograd keeps in place of a tensor."""
        saved = _Saved(tensor.detach())  # the result of an operation would hold itself, a cycle that is never collected
        self._by_memory.setdefault(storage_of(tensor), []).append(weakref.ref(saved))
        return saved

    @staticmethod
    def unpack(saved: _Saved) -> Tensor:
        """Return the tensor with its old values."""
        if version_of(saved.tensor) != saved.version:
            raise OverwrittenError(
                "an array that a gradient needs was modified by an inplace operation after the recording"
            )
        return saved.tensor

    def keep(self, tensor: Tensor) -> None:
        """Copy the values that gradients need from a tensor's memory, which may be written to from now on."""
        copies: dict[int, tuple[Tensor, Tensor]] = {}
        for reference in self._by_memory.pop(storage_of(tensor), ()):
            saved = reference()
            if saved is not None and version_of(saved.tensor) == saved.version:
                old = saved.tensor
                if id(old) not in copies:
                    copies[id(old)] = old, old.clone()
                saved.tensor = copies[id(old)][1]
                saved.version = version_of(saved.tensor)

    def keep_all(self) -> None:
        """Copy all values that gradients need, in any memory."""
        for references in list(self._by_memory.values()):
            for saved in [reference() for reference in references]:
                if saved is not None:
                    self.keep(saved.tensor)


class _OldValues(Keeper, TorchDispatchMode):
    """Copies values that gradients need before the program overwrites them."""

    supports_higher_order_operators = True  # branches and loops of a graph, which write to nothing

    def __init__(self) -> None:
        super().__init__()
        self.subgraphs = trace_state.state.subgraphs

    def __torch_dispatch__(self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None) -> Any:
        schema = schema_of(func) if self.subgraphs == trace_state.state.subgraphs else None  # those write to copies
        for position, argument in enumerate(() if schema is None else schema.arguments):
            if argument.alias_info is not None and argument.alias_info.is_write:
                given = args[position] if position < len(args) else (kwargs or {}).get(argument.name)
                for tensor in given if isinstance(given, (list, tuple)) else (given,):
                    if isinstance(tensor, Tensor):
                        self.keep(tensor)
        return modes.run(func, args, kwargs)


@contextlib.contextmanager
def old_values_kept() -> Iterator[Keeper | None]:
    """A scope in which values of gradients may be overwritten; no effect in torch.func, which has no such hooks."""
    if is_transforming():
        yield None
        return
    values = _OldValues()
    with _saving_to(values), values:
        trace_state.state.overwrites += 1
        try:
            yield values
        finally:
            trace_state.state.overwrites -= 1


@contextlib.contextmanager
def values_known() -> Iterator[Keeper | None]:
    """A scope that notes the values of gradients, so that `Keeper.keep` can copy them; without effect in torch.func."""
    if is_transforming():
        yield None
        return
    keeper = Keeper()
    with _saving_to(keeper):
        yield keeper


@contextlib.contextmanager
def _saving_to(keeper: Keeper) -> Iterator[None]:
    with torch.autograd.graph.saved_tensors_hooks(keeper.pack, keeper.unpack), hooks_known():
        yield


@contextlib.contextmanager
def hooks_known() -> Iterator[None]:
    """A scope whose innermost hooks, if there are any, `unhooked` may set aside."""
    hooks = functorch.top_hooks(True)
    if hooks is None:
        yield
        return
    trace_state.state.hooks.append(hooks)
    try:
        yield
    finally:
        trace_state.state.hooks.pop()


@contextlib.contextmanager
def told_of(save: Callable[[Tensor], None]) -> Iterator[None]:
    """A scope in which ``save`` is told of the tensors that autograd keeps, besides the innermost hooks."""
    pack, unpack = functorch.top_hooks(True)

    def told(tensor: Tensor) -> Any:
        save(tensor)
        return pack(tensor)

    with torch.autograd.graph.saved_tensors_hooks(told, unpack), hooks_known():
        yield


def unhooked() -> contextlib.AbstractContextManager[None]:
    """A scope without hooks for the values of gradients: torch.func's derivatives refuse to run inside such hooks."""
    return functorch.without_hooks(trace_state.state.hooks)


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


_VIEWS = _names(
    """
    __get__ adjoint alias as_strided chunk clone conj contiguous detach diagonal expand expand_as flatten imag
    lift_fresh mT moveaxis movedim narrow permute ravel real reshape resolve_conj resolve_neg select split squeeze
    swapaxes swapdims t tensor_split to transpose unbind unflatten unfold unsqueeze view view_as view_as_complex
    view_as_real
    """
)
"""Functions that return their argument or a view of it, or save none of its values."""

_QUESTIONS = _names(
    """
    __bool__ __float__ __int__ __len__ element_size is_set_to item requires_grad_ tolist
    """
)
"""Functions that read values or properties, besides those of kind ``QUESTION`` and ``WHERE``."""

_COPYING_WRITES = _names(
    """
    __setitem__ copy_ fill_ index_add_ index_copy_ index_fill_ index_put_ masked_fill_ masked_scatter_ zero_
    """
)
"""Writes whose gradients do not depend on the values of the written tensor."""


class _Private(TorchFunctionMode):
    """Gives each operation copies of its operands, and copies its result: no write reaches its saved values."""

    def __torch_function__(self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        name = getattr(func, "__name__", "").split(".")[0]
        is_question = kinds[func] >= QUESTION or name in _QUESTIONS
        if is_question or name in _VIEWS or func is torch.autograd.grad:  # no gradient flows to a copy
            return func(*args, **kwargs)
        if name == "__getitem__":  # a view, or a copy of elements that index arrays select
            return func(args[0], _copied(args[1]))
        if name == "__setitem__" or _is_write(name):
            target, *others = args
            others, kwargs = _copied(others), _copied(kwargs)
            if name in _COPYING_WRITES:
                return func(target, *others, **kwargs)
            fresh = target.clone()
            func(fresh, *others, **kwargs)
            return target.copy_(fresh)
        given = _copied(args)
        result = func(*given, **_copied(kwargs))
        if isinstance(result, Tensor) and is_view(result):
            memory = memory_of(result)
            if any(memory == memory_of(tensor) for tensor in given if isinstance(tensor, Tensor)):
                return func(*args, **kwargs)  # a view, of the operand itself: the program may write to it
        return _copied(result)


def _is_write(name: str) -> bool:
    if name.startswith("__i"):
        return name.endswith("__") and name not in ("__index__", "__int__", "__invert__")
    return name.endswith("_") and not name.endswith("__")


def _copied(value: Any) -> Any:
    """Copy each tensor in lists, tuples and dictionaries of arguments."""
    if isinstance(value, Tensor):
        return value.clone()
    if type(value) in (tuple, list):
        return type(value)([_copied(item) for item in value])
    if isinstance(value, tuple):  # torch's named results
        return type(value)([_copied(item) for item in value])
    if type(value) is dict:
        return {key: item if key == "out" else _copied(item) for key, item in value.items()}
    return value


def privately(function: Callable[..., Any]) -> Callable[..., Any]:
    """Make a function copy values, so that it may overwrite those of gradients in any transform."""

    def inside(*args: Any) -> Any:
        with _Private():
            return function(*args)

    return inside
