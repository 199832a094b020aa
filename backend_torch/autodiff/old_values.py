"""Programs that overwrite what their gradients need: old values, and copies that nobody else can write to.

Layer: owns how autograd comes to the values that it needs although the program has written others over them. When it
needs them, and where gradients are taken, is differentiation's.
"""

from __future__ import annotations

import contextlib
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

from backend_torch.tensors import trace_state
from backend_torch.torch_private import functorch, messages, modes
from backend_torch.torch_private.functorch import is_transforming
from backend_torch.torch_private.modes import TorchDispatchMode
from backend_torch.torch_private.operators import schema_of
from backend_torch.torch_private.tensor_internals import storage_of, version_of

Tensor = torch.Tensor


class OverwrittenError(RuntimeError):
    """What a gradient needs is not there any more."""


def was_overwritten(error: Exception) -> bool:
    """Whether an error says that what a gradient needs was overwritten, as torch says it or `old_values_kept`."""
    return isinstance(error, OverwrittenError) or messages.says(error, messages.OVERWRITTEN)


class _Saved:
    """A tensor that a gradient needs, as it was."""

    __slots__ = ("__weakref__", "tensor", "version")

    def __init__(self, tensor: Tensor) -> None:
        self.tensor = tensor
        self.version = version_of(tensor)


class Keeper:
    """What gradients need, by the memory that it lies in: a copy takes its place before somebody writes there."""

    def __init__(self) -> None:
        super().__init__()
        self._by_memory: dict[int, list[weakref.ref[_Saved]]] = {}

    def pack(self, tensor: Tensor) -> _Saved:
        """What autograd keeps in the place of a tensor."""
        saved = _Saved(tensor.detach())  # a result of its own operation would hold itself, which nobody would find
        self._by_memory.setdefault(storage_of(tensor), []).append(weakref.ref(saved))
        return saved

    @staticmethod
    def unpack(saved: _Saved) -> Tensor:
        """The tensor, as it was."""
        if version_of(saved.tensor) != saved.version:
            raise OverwrittenError(
                "an array that a gradient needs was modified by an inplace operation after the recording"
            )
        return saved.tensor

    def keep(self, tensor: Tensor) -> None:
        """Copy what gradients need of a tensor's memory, which may be written to from here on."""
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
        """Copy all that gradients need, whatever memory it lies in."""
        for references in list(self._by_memory.values()):
            for saved in [reference() for reference in references]:
                if saved is not None:
                    self.keep(saved.tensor)


class _OldValues(Keeper, TorchDispatchMode):
    """Copies what gradients need before the program writes to it."""

    def __torch_dispatch__(self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None) -> Any:
        for position, argument in enumerate(schema_of(func).arguments):
            if argument.alias_info is not None and argument.alias_info.is_write:
                given = args[position] if position < len(args) else (kwargs or {}).get(argument.name)
                for tensor in given if isinstance(given, (list, tuple)) else (given,):
                    if isinstance(tensor, Tensor):
                        self.keep(tensor)
        return modes.run(func, args, kwargs)


@contextlib.contextmanager
def old_values_kept() -> Iterator[Keeper | None]:
    """What gradients need may be overwritten; not where torch.func transforms, which knows no such hooks."""
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
    """What gradients need is known, so that it can be copied by `Keeper.keep`; not where torch.func transforms."""
    if is_transforming():
        yield None
        return
    keeper = Keeper()
    with _saving_to(keeper):
        yield keeper


@contextlib.contextmanager
def _saving_to(keeper: Keeper) -> Iterator[None]:
    with torch.autograd.graph.saved_tensors_hooks(keeper.pack, keeper.unpack):
        trace_state.state.keepers.append(keeper)
        try:
            yield
        finally:
            trace_state.state.keepers.pop()


@contextlib.contextmanager
def unhooked() -> Iterator[None]:
    """Nobody is told what gradients need: torch.func's derivatives refuse to run where somebody is."""
    keepers, left = trace_state.state.keepers, []
    while keepers and functorch.top_hooks(True) == (keepers[-1].pack, keepers[-1].unpack):
        functorch.pop_hooks()
        left.append(keepers.pop())
    try:
        yield
    finally:
        for keeper in reversed(left):
            functorch.push_hooks(keeper.pack, keeper.unpack)
            keepers.append(keeper)


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
"""What returns its argument or a view of it, or saves none of its values."""

_QUESTIONS = _names(
    """
    __bool__ __float__ __int__ __len__ data_ptr dim element_size is_complex is_conj is_contiguous is_floating_point
    is_neg is_set_to item numel requires_grad_ size storage_offset stride tolist untyped_storage
    """
)

_COPYING_WRITES = _names(
    """
    __setitem__ copy_ fill_ index_add_ index_copy_ index_fill_ index_put_ masked_fill_ masked_scatter_ zero_
    """
)
"""Writes for whose gradients the written tensor's values don't matter."""


class _Private(TorchFunctionMode):
    """Each operation gets copies of its operands and gives a copy of its result: nobody writes to what it has saved."""

    def __torch_function__(self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        name = getattr(func, "__name__", "").split(".")[0]
        if name in _VIEWS or name in _QUESTIONS or func is torch.autograd.grad:  # no gradient flows to a copy
            return func(*args, **kwargs)
        if name == "__getitem__":  # a view, or of elements that index arrays choose
            return func(args[0], _copied(args[1]))
        if name == "__setitem__" or _is_write(name):
            target, *others = args
            others, kwargs = _copied(others), _copied(kwargs)
            if name in _COPYING_WRITES:
                return func(target, *others, **kwargs)
            fresh = target.clone()
            func(fresh, *others, **kwargs)
            return target.copy_(fresh)
        return _copied(func(*_copied(args), **_copied(kwargs)))


def _is_write(name: str) -> bool:
    if name.startswith("__i"):
        return name.endswith("__") and name not in ("__index__", "__int__", "__invert__")
    return name.endswith("_") and not name.endswith("__")


def _copied(value: Any) -> Any:
    """A copy of each tensor in lists and tuples and dictionaries of arguments."""
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
    """``function``, which may overwrite what gradients need, under whatever transform; it takes more memory."""

    def inside(*args: Any) -> Any:
        with _Private():
            return function(*args)

    return inside
