"""Arrays from outside of a differentiated function: its writes to them, and their values when it ran.

Layer: owns the stand-ins of such memory. torch.func refuses writes to tensors that are not arguments, and does not copy
those that it reads, which may be overwritten later. Here memory from outside gets a copy at the transform's own level:
views of the copy are read and written instead, and the writes go back when the transform is over.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch.multiprocessing.reductions import StorageWeakRef
from torch.overrides import TorchFunctionMode

from backend_torch.autodiff.function_kinds import QUESTION, WHERE, WRITE, kinds
from backend_torch.tensors import trace_state
from backend_torch.tensors.memory import addresses, unwrapped
from backend_torch.torch_private import autograd, functorch, messages
from backend_torch.torch_private.tensor_internals import (
    is_view,
    is_zeros_without_memory,
    negative_view,
    storage_of,
    version_of,
)

Tensor = torch.Tensor


def is_refused(error: BaseException | None) -> bool:
    """Whether torch.func has refused to write to a tensor from outside, or to read one that left nested derivatives.

    The error may have been converted since.
    """
    while error is not None:
        if messages.says(error, messages.WRITE_OUTSIDE) or messages.says(error, messages.ESCAPED_FROM_NESTED):
            return True
        error = error.__cause__ or error.__context__
    return False


class _Place:
    """A whole block of memory from outside: its tensor at the level around the transform, and its stand-in inside."""

    __slots__ = ("around", "inside", "is_written")

    def __init__(self, around: Tensor, inside: Tensor) -> None:
        self.around = around
        self.inside = inside
        self.is_written = False


class Escaped(torch.Tensor):
    """A batched tensor that was kept from a batch that is over: torch would take it for one of the next.

    What a tensor becomes by its ``__class__``; all that is left is to be asked for its properties.
    """

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None) -> Any:
        if kinds[func] >= QUESTION:
            return super().__torch_function__(func, types, args, kwargs or {})
        raise trace_state.escaped_error()


class Outside(TorchFunctionMode):
    """Gives a function that is differentiated at the innermost level stand-ins for memory from outside.

    Parameters
    ----------
    arguments : sequence of Tensor
        Tensors whose memory is not from outside.
    keeps : bool
        Whether memory that is only read gets a stand-in too, so that later writes to it do not matter.
    before : dict
        What `held` returned when the function ran for the first time.
    """

    def __init__(self, arguments: tuple[Tensor, ...], keeps: bool, before: dict[Any, tuple[Tensor, Tensor]]) -> None:
        super().__init__()
        self._keeps = keeps
        self._before = before
        self._below = trace_state.state.below
        self._level: int = functorch.current_level()
        stack = functorch.stack()
        self._around: int | None = stack[-2].level() if len(stack) > 1 else None
        self._own: dict[int, StorageWeakRef] = {}  # references, so that no other memory gets their identifiers
        for tensor in arguments:
            self._add(tensor)
        self._places: dict[int, _Place] = {}
        self._by_stand_in: dict[int, _Place] = {}
        self._by_address: dict[tuple[int, int] | None, int] = {}  # the memory of the places, which keep it
        self._slices: dict[Any, tuple[Tensor, Tensor]] = {}  # of a batch: a tensor that was read, and its values

    def __torch_function__(self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if self._below is not None and trace_state.state.below is self._below:
            args, kwargs = self._below.known(args, kwargs)
        kind = kinds[func]
        if kind == WHERE:
            return func(unwrapped(self.seen(args[0])), *args[1:])
        if kind == QUESTION or func is torch.autograd.grad or Escaped in types:
            return func(*args, **kwargs)
        if trace_state.state.below is not self._below or (functorch.current_level() or 0) < self._level:
            # A branch or a loop's body is traced, below the transform.
            places = [self._places.get(self._memory(tensor)) for tensor in _tensors((args, kwargs))]
            if any(place is not None and place.is_written for place in places):
                raise trace_state.written_before_error()
            return func(*args, **kwargs)
        if functorch.is_disabled():  # a read of values below all transforms
            for tensor in _tensors((args, kwargs)):
                self._update(tensor)
            return func(*args, **kwargs)
        targets = list(_tensors(args[0] if kind == WRITE else kwargs.get("out")))
        for tensor in targets:
            self._write(tensor)
        if self._keeps:
            for tensor in _tensors((args, kwargs)):
                if not self._is_inside(tensor):
                    self._keep(tensor)
        result = func(*self._replaced(args), **self._replaced(kwargs))
        if targets:
            return args[0] if kind == WRITE and isinstance(result, Tensor) else kwargs.get("out", result)
        if isinstance(result, Tensor) and not is_view(result):
            memory = memory_of(result)  # the operand's own, if the result is it or was detached
            if all(memory != memory_of(tensor) for tensor in _tensors(args)):
                self._add(result)
        return result

    def __enter__(self) -> Outside:
        trace_state.state.derivatives.append(self)
        super().__enter__()
        return self

    def __exit__(self, *raised: Any) -> None:
        trace_state.state.derivatives.pop()
        super().__exit__(*raised)

    @staticmethod
    def entered(tensor: Tensor) -> Tensor:
        """Return the tensor that a transform inside is to wrap in place of this one."""
        view = tensor.view_as(tensor)  # an operation, which shows each derivative around what is read
        with autograd.unseen_by_modes():
            return tensor if memory_of(view) == memory_of(tensor) else view

    def _add(self, tensor: Tensor) -> None:
        """Note that memory is the function's own."""
        below = _below(tensor)
        self._own[storage_of(below)] = StorageWeakRef(below.untyped_storage())

    def _is_inside(self, tensor: Tensor) -> bool:
        """Whether the function computed a tensor: the transform's own level is among those that wrap it."""
        while functorch.is_wrapped(tensor):
            level = functorch.level_of(tensor)
            if level is None or level <= self._level:
                return level == self._level
            tensor = functorch.get_unwrapped(tensor)
        return False

    def _memory(self, tensor: Tensor) -> int:
        """Return `memory_of` a tensor; tensors made of NumPy's arrays have one for all that lie in one place."""
        memory = memory_of(tensor)
        if not self._by_address or memory in self._places or memory in self._own or memory in self._by_stand_in:
            return memory
        return self._by_address.get(address_of(tensor), memory)

    def seen(self, tensor: Tensor) -> Tensor:
        """Return the same elements of the stand-in of a tensor's memory, or the tensor itself."""
        place = self._places.get(self._memory(tensor))
        if place is None and self._slices and (kept := self._slices.get(_elements_of(tensor))) is not None:
            return kept[1]
        if place is None:
            while functorch.level_of(tensor) == functorch.IS_OVER:  # torch looks below one such level only
                tensor = functorch.get_unwrapped(tensor)
            return tensor
        below, made = unwrapped(tensor), place.inside
        if made.dtype is not below.dtype:
            if made.is_complex():
                made = torch.view_as_real(made).reshape(-1)
            elif below.is_complex():
                made = torch.view_as_complex(made.reshape(-1, 2))
            if made.dtype is not below.dtype:  # through which torch differentiates nothing, even to the same dtype
                made = made.view(below.dtype)
        view = made.as_strided(below.shape, below.stride(), below.storage_offset())
        view = view.conj() if below.is_conj() else view
        return negative_view(view) if below.is_neg() else view

    def written(self) -> list[_Place]:
        """Return the memory that the function has written to."""
        return [place for place in self._places.values() if place.is_written]

    def held(self) -> dict[Any, tuple[Tensor, Tensor]]:
        """Return the memory that was read, which that keeps, and its values."""
        around = functorch.get_unwrapped
        places = {memory: place for memory, place in self._places.items() if not place.is_written}
        held = {address_of(p.around) or memory: (p.around, around(p.inside)) for memory, p in places.items()}
        return held | {elements: (tensor, around(values)) for elements, (tensor, values) in self._slices.items()}

    def _values(self, memory: Any, tensor: Tensor) -> Tensor:
        """Return the values of memory, or of elements there, when the function ran first; those of a tensor if now."""
        return self._before.get(memory, (None, tensor))[1]

    def _keep(self, tensor: Tensor) -> None:
        """Keep the values of memory from outside that is read; of a batch those of the tensor alone."""
        try:
            self._place(tensor)
        except NotImplementedError:
            elements = _elements_of(tensor)
            if elements not in self._slices:
                with functorch.down_to(self._level):
                    self._slices[elements] = tensor, self._values(elements, tensor).clone()

    def _write(self, tensor: Tensor) -> None:
        memory = memory_of(tensor)
        if any(memory == memory_of(values) for _, values in self._slices.values()):
            raise trace_state.part_write_error()
        place = self._by_stand_in.get(memory) or self._place(tensor)
        if place is not None:
            place.is_written = True

    def _place(self, tensor: Tensor) -> _Place | None:
        """Return the stand-in of a tensor's memory, a new one if there is none; None for the function's own memory."""
        memory = self._memory(tensor)
        if memory in self._own or memory in self._by_stand_in:
            return None
        if memory not in self._places:
            if self._below is not None and memory in self._below.of_batches:
                raise trace_state.part_write_error()
            while (level := functorch.level_of(tensor)) is not None and level >= self._level:
                tensor = functorch.get_unwrapped(tensor)
            # The gradient of a view's as_strided leaves out the rest of the memory. A dual number is a view, too.
            base, level = tensor._base, functorch.level_of(tensor)
            if base is not None and functorch.has_tangent(tensor, level) and not functorch.has_tangent(base, level):
                if tensor.numel() != base.numel() or not tensor.is_contiguous():
                    raise trace_state.part_write_error()
                base = None
            with functorch.down_to(self._around):
                if base is not None:
                    tensor = base
                if tensor.is_conj():
                    tensor = tensor.conj()
                if tensor.is_neg():
                    tensor = negative_view(tensor)
                length = unwrapped(tensor).untyped_storage().nbytes() // tensor.itemsize
                try:
                    around = tensor.as_strided((length,), (1,), 0)
                except RuntimeError:  # a part of memory that has one value for each slice of a batch
                    raise trace_state.part_write_error() from None
            with functorch.down_to(self._level):
                inside = self._values(address_of(around) or memory, around).clone()
            self._places[memory] = self._by_stand_in[memory_of(inside)] = _Place(around, inside)
            if (address := address_of(around)) is not None:
                self._by_address[address] = memory
        return self._places[memory]

    def _update(self, tensor: Tensor) -> None:
        """Copy the writes to a stand-in to its memory from outside."""
        place = self._places.get(self._memory(tensor))
        if place is not None and place.is_written and not trace_state.is_tracing():
            with torch.no_grad():
                unwrapped(place.around).copy_(unwrapped(place.inside))

    def _replaced(self, value: Any) -> Any:
        if isinstance(value, Tensor):
            return self.seen(value)
        if type(value) in (tuple, list):
            return type(value)([self._replaced(item) for item in value])
        if type(value) is dict:
            return {key: self._replaced(item) for key, item in value.items()}
        return value


class RunOnceError(BaseException):
    """A function that is to be run again is about to write to memory from outside, or to what it needs then."""


class FirstRun(TorchFunctionMode):
    """The first run of a function: what it reads from outside must not change before the second, for a gradient.

    It raises `RunOnceError` before a write to memory from outside, or to a value that autograd keeps. ``captured`` are
    arrays that the function has names for; NumPy's own functions, which torch does not see, may read its arrays there.
    """

    def __init__(self, captured: Mapping[str, Any]) -> None:
        super().__init__()
        self._captured = captured
        self._numpys = {name: _digest(array) for name, array in captured.items() if isinstance(array, np.ndarray)}
        self._own: dict[int, StorageWeakRef] = {}
        self._saved: dict[int, StorageWeakRef] = {}
        self._read: dict[int, tuple[Tensor, int, tuple[int, int] | None]] = {}

    def __torch_function__(self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None) -> Any:
        kwargs, kind = kwargs or {}, kinds[func]
        if kind >= QUESTION or trace_state.is_tracing():  # what is traced runs later
            return func(*args, **kwargs)
        self.writes(args[0] if kind == WRITE else kwargs.get("out"))
        result = func(*args, **kwargs)
        given = self.reads((args, kwargs))
        for tensor in _tensors(result):
            if memory_of(tensor) not in given:
                self._own[memory_of(tensor)] = StorageWeakRef(_below(tensor).untyped_storage())
        return result

    def __enter__(self) -> Any:
        self._around = trace_state.enter_first_run(self)
        return super().__enter__()

    def __exit__(self, *error: Any) -> None:
        trace_state.enter_first_run(self._around)
        super().__exit__(*error)

    def writes(self, tensors: Any) -> None:
        """Raise `RunOnceError` if the tensors, which are about to be written, are from outside or kept by autograd."""
        for tensor in _tensors(tensors):
            if (memory := memory_of(tensor)) not in self._own or memory in self._saved:
                raise RunOnceError

    def reads(self, values: Any) -> dict[int, Tensor]:
        """Note the tensors among the values, which are read; return them by their memory."""
        given = {memory_of(tensor): tensor for tensor in _tensors(values)}
        for memory in given.keys() - self._own.keys() - self._read.keys():
            tensor = given[memory]
            self._read[memory] = tensor, _writes_to(tensor), _digest_of(tensor) if _is_of_numpy(tensor) else None
        return given

    def save(self, tensor: Tensor) -> None:
        """Note a tensor that autograd keeps."""
        self._saved[memory_of(tensor)] = StorageWeakRef(_below(tensor).untyped_storage())

    def end(self) -> None:
        """Note that the first run is over: what it wrote itself to NumPy's arrays is no change."""
        same = [name for name, digest in self._numpys.items() if _digest(self._captured[name]) == digest]
        self._numpys = {name: self._numpys[name] for name in same}

    def changed(self) -> str | None:
        """Return what array from outside that was read has been written to since; None if there is none."""
        for name, digest in self._numpys.items():
            if _digest(self._captured[name]) != digest:
                return f"the array {name}"
        for memory, (tensor, version, values) in self._read.items():
            if _writes_to(tensor) != version or (values is not None and _digest_of(tensor) != values):
                given = [(name, each) for name, each in self._captured.items() if isinstance(each, Tensor)]
                dtype = str(tensor.dtype).removeprefix("torch.")
                names = [f"the array {name}" for name, each in given if memory_of(each) == memory]
                return (names or [f"an array of shape {tuple(tensor.shape)} and dtype {dtype}"])[0]
        return None


def _writes_to(tensor: Tensor) -> int:
    below = unwrapped(tensor)
    return 0 if below.is_inference() else version_of(below)


def _is_of_numpy(tensor: Tensor) -> bool:
    """Whether a tensor's memory is known to NumPy, whose writes torch does not count."""
    below = unwrapped(tensor)
    return below.is_cpu and not is_zeros_without_memory(below) and not below.untyped_storage().resizable()


def _digest_of(tensor: Tensor) -> tuple[int, int]:
    return _digest(addresses(unwrapped(tensor)))


def _digest(array: np.ndarray) -> tuple[int, int]:
    """Return checksums of an array's values, which are smaller than a copy."""
    values = np.ascontiguousarray(array).reshape(-1).view(np.uint8).data
    return zlib.crc32(values), zlib.adler32(values)


def _tensors(value: Any) -> Iterator[Tensor]:
    if isinstance(value, Tensor):
        yield value
    elif type(value) in (tuple, list):
        for item in value:
            yield from _tensors(item)
    elif type(value) is dict:
        yield from _tensors(list(value.values()))


def memory_of(tensor: Tensor) -> int:
    """Return the identifier of a tensor's memory; in a trace, that of its stand-in if it is from outside."""
    return storage_of(_below(tensor))


def address_of(tensor: Tensor) -> tuple[int, int] | None:
    """Return the address and the bytes of a tensor's whole memory on the host; None in a trace and elsewhere."""
    below = unwrapped(tensor)
    if trace_state.is_tracing() or type(below) is not Tensor or not below.is_cpu or is_zeros_without_memory(below):
        return None
    storage = below.untyped_storage()
    return (storage.data_ptr(), storage.nbytes()) if storage.nbytes() else None


def _elements_of(tensor: Tensor) -> Any:
    """Return an identifier of a tensor's memory and of the elements there."""
    below = unwrapped(tensor)
    return memory_of(tensor), below.dtype, below.shape, below.stride(), below.storage_offset()


def _below(tensor: Tensor) -> Tensor:
    below = unwrapped(tensor)
    if trace_state.is_tracing() and type(below) is Tensor:
        with autograd.unseen_by_modes():  # each derivative around would ask the same of it
            below = unwrapped(torch.ops.aten.alias.default(below))
    return below


def written_back(function: Callable[..., Any], args: Sequence[Tensor]) -> tuple[Tensor, ...]:
    """Call ``function(*args)`` at the innermost level, which a tape opened; its writes go to the level around."""
    mode = Outside((), False, {})
    with mode:
        results = tuple(map(mode.seen, function(*args)))
    for place in mode.written():
        value = functorch.unwrapped_for_grad(place.inside, functorch.current_level())
        with functorch.down_to(functorch.stack()[-2].level()):
            place.around.copy_(value)
    return results


def differentiated(
    attempt: Callable[[Callable[..., Any]], Any],
    function: Callable[..., Any],
    keeps: bool,
    before: dict[Any, tuple[Tensor, Tensor]],
    may_write: bool,
) -> tuple[Any, bool, dict[Any, tuple[Tensor, Tensor]]]:
    """Return ``attempt(function)``, whether memory from outside was written to, and else its values.

    ``attempt`` differentiates; it returns the function's result and another value. Unless it ``may_write``, memory from
    outside stays unchanged.
    """
    modes: list[Outside] = []

    def inside(*tensors: Tensor) -> tuple[Tensor, ...]:
        mode = Outside(tensors, keeps, before)
        modes[:] = [mode]
        with mode:
            results = function(*tensors)
        return (*map(mode.seen, results), *[place.inside for place in mode.written()])

    results, others = attempt(inside)
    places = modes[0].written()
    held = modes[0].held() if keeps else {}
    if places:
        for place, value in zip(places, results[-len(places) :], strict=True):
            if may_write:
                place.around.copy_(value)
        results = results[: -len(places)]
    return (results, others), bool(places), held
