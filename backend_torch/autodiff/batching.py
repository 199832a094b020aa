"""Batching: a function of tensors applied to all slices of its arguments at once, by ``torch.vmap``.

Layer: owns the operations of NumPy programs that torch.vmap refuses: writes to buffers that the function made. Each
slice gets its own buffer. The caller chooses the sliced arguments and handles a refusal.
"""

from __future__ import annotations

import contextlib
import itertools
import sys
import weakref
from collections.abc import Callable, Iterator, Sequence
from types import FrameType
from typing import Any, NoReturn

import numpy as np
import torch
from numpy.lib.array_utils import byte_bounds
from torch.overrides import TorchFunctionMode

from backend_torch.autodiff import autodiff, handlers, replayed_draws, transform_levels
from backend_torch.autodiff.function_kinds import COPIES, FACTORY, QUESTION, WRITE, kinds
from backend_torch.autodiff.outside import Escaped, address_of, memory_of
from backend_torch.tensors import trace_state
from backend_torch.tensors.aliasing import has_places_of_its_own, is_same_view, may_share
from backend_torch.tensors.memory import unwrapped
from backend_torch.torch_private import functorch, messages
from backend_torch.torch_private.functorch import IS_OVER, current_level, get_unwrapped, level_of
from backend_torch.torch_private.tensor_internals import is_view, storage_of

Tensor = torch.Tensor
Function = Callable[[list[Tensor]], Sequence[Tensor]]


ONE_FOR_ALL = "an array that is the same for all elements is written to"
ORDERED = "an element is written to of which others see a part"


class SharedWriteError(RuntimeError):
    """A write to memory that all slices share."""


class Refusal(Exception):
    """The function can't be batched.

    Attributes
    ----------
    operation : str
        The torch function that refused.
    error : Exception
        The error that was raised.
    line : str
        The file and line of the program.
    """

    def __init__(self, operation: str, error: Exception, line: str | None = None) -> None:
        super().__init__(str(error))
        self.operation = operation
        self.error = error
        self.line = trace_state.line_of(error) if line is None else line


class _Buffers(TorchFunctionMode):
    """While a function is batched: makes new memory for each slice, and refuses writes to shared memory.

    Parameters
    ----------
    level : int
        The level of the batch.
    seed : Tensor
        One number for each slice: new tensors made like it are batched.
    attempt : _Attempt
        Says whether all new memory is made for each slice or only that of creation functions, and records the events.
    """

    def __init__(self, level: int, seed: Tensor, attempt: _Attempt) -> None:
        super().__init__()
        self.level = level
        self.seed = seed
        self.attempt = attempt
        self._below = trace_state.state.below

    def __torch_function__(self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None) -> Any:
        kind = kinds[func]
        if kind >= QUESTION and self._below is None:
            return func(*args, **kwargs) if kwargs else func(*args)
        level = current_level()
        if level is None or level < self.level or trace_state.state.below is not self._below:
            # In the step of a loop, which is traced below the batch, or in what does the loop there.
            return func(*args, **kwargs) if kwargs else func(*args)
        if self._below is not None:
            args, kwargs = self._below.known(args, kwargs or {})
            if kind >= QUESTION:
                return func(*args, **kwargs) if kwargs else func(*args)
        result = self._result(kind, func, args, kwargs)
        self.attempt.note_born(result if type(result) in (tuple, list) else (result,), self.level)
        return result

    def _result(self, kind: Any, func: Any, args: tuple[Any, ...], kwargs: Any) -> Any:
        if kind == WRITE:
            self._check_write(func, args[0])
        self._note_reads(func, args[1:] if kind == WRITE else args)
        if kwargs:
            if kwargs.get("out") is not None:
                self._check_write(func, kwargs["out"])
            if kwargs.get("generator") is not None:
                replayed_draws.note(kwargs["generator"])
        try:
            result = func(*args, **kwargs) if kwargs else func(*args)
        except Exception as error:
            self.attempt.note(error)
            if isinstance(error, RuntimeError) and is_refusal(error):
                self.attempt.refused = func
                self.attempt.shares_write = messages.says(error, messages.UNBATCHED_WRITE)
            raise
        if kind == FACTORY and (self.attempt.everything or self._is_buffer(result, func)):
            return self._for_each_slice(result)
        if kind != WRITE:
            if self.attempt.everything:
                return self._all_for_each_slice(result, args)
            if isinstance(result, Tensor) and not functorch.is_wrapped(result):
                memory = _memory(result)  # in a trace also that of a tensor from outside, if it is a view of one
                if not is_view(result) and not any(
                    memory_of(each) == memory for each in args if isinstance(each, Tensor)
                ):
                    self.attempt.made[memory] = result
        return result

    @staticmethod
    def _is_buffer(tensor: Tensor, func: Any) -> bool:
        """Whether new memory is likely to be written to: masks, and integers in the program's text, usually select.

        The copy of one element is a scalar: a request for its value is answered if all slices share it.
        """
        if not tensor.dim() and func in COPIES:
            return False
        if func is torch.ops.aten.lift_fresh.default:
            return tensor.is_floating_point() or tensor.is_complex()
        return tensor.dtype is not torch.bool

    def _for_each_slice(self, tensor: Tensor) -> Tensor:
        if _is_batched(tensor, self.level):
            return tensor
        if not tensor.dim() and tensor.device != self.seed.device:
            return tensor  # a number of the host goes with arrays of any device, but a batch of it does not
        made = self.seed.new_empty(tensor.shape, dtype=tensor.dtype, device=tensor.device)
        return made.copy_(tensor)

    def _all_for_each_slice(self, result: Any, args: tuple[Any, ...]) -> Any:
        if type(result) in (tuple, list):
            return type(result)([self._all_for_each_slice(each, args) for each in result])
        if not isinstance(result, Tensor) or _is_batched(result, self.level):
            return result
        memory = _memory(result)
        if any(isinstance(each, Tensor) and memory_of(each) == memory for each in args):
            return result
        return self._for_each_slice(result)

    def _note_reads(self, func: Any, values: Any) -> None:
        """Note what is read as a whole of the arguments' memory; refuse it after a write to slices."""
        level = self.level
        for value in values:
            if type(value) in (tuple, list):
                self._note_reads(func, value)
            elif isinstance(value, Tensor) and level_of(value) != level and not _is_batched(value, level):
                if self.attempt.reads_what_is_written(value):
                    self._refuse(func, ORDERED)

    def _refuse(self, func: Any, why: str) -> NoReturn:
        self.attempt.refused = func
        raise trace_state.noted(SharedWriteError(why))

    def _check_write(self, func: Any, target: Any) -> None:
        if not isinstance(target, Tensor):
            return
        if _is_batched(target, self.level):
            if not self.attempt.is_for_all(target):
                why = "a loop that takes more steps for some elements than for others writes to an array from around it"
                self._refuse(func, why)
            if self.attempt.is_ordered(target):
                self._refuse(func, ORDERED)
            self.attempt.keep_before_write(target)
        elif _memory(target) not in self.attempt.made:
            self.attempt.shares_write = True
            self._refuse(func, ONE_FOR_ALL)


def _is_batched(tensor: Tensor, level: int) -> bool:
    """Whether a tensor has one value for each slice at this level, however deep."""
    at = level_of(tensor)
    while at > level or at == IS_OVER:
        tensor = get_unwrapped(tensor)
        at = level_of(tensor)
    return at == level


_Span = tuple[int, int]
"""Where memory begins and ends."""


def _meet(one: _Span, other: _Span) -> bool:
    return one[0] < other[1] and other[0] < one[1]


def _memory(tensor: Tensor) -> int:
    return storage_of(unwrapped(tensor))


class _Attempt:
    """A function as ``torch.vmap`` calls it, with a record of the events in it.

    Attributes
    ----------
    refused : callable or None
        The torch function that can't be batched.
    shares_write : bool
        Whether that function writes to memory that is not batched.
    born : list of references
        The batched tensors.
    """

    def __init__(
        self,
        function: Function,
        tensors: Sequence[Tensor],
        dims: Sequence[int | None],
        hosts: Sequence[np.ndarray | None],
        everything: bool,
    ) -> None:
        self.function = function
        self.tensors = tensors
        self.dims = dims
        pairs = zip(tensors, hosts, strict=True)
        self._copied = {_memory(tensor): host for tensor, host in pairs if host is not None}
        self.places = [self._place(tensor) for tensor in tensors]
        self.read: set[_Span] = set()
        self.written: set[_Span] = set()
        self.ordered: set[_Span] = set()
        self.everything = everything
        self.refused: Any = None
        self.shares_write = False
        self.made: dict[int, Tensor] = {}  # new memory that is not batched
        self.for_some: int | None = None  # the number of tensors born before a step that counts for some slices
        self.born: list[weakref.ref[Tensor]] = []
        self._kept: list[Tensor] | None = None
        self.token = object()  # identifies this batch
        self.frame: FrameType | None = sys._getframe(1)
        self.caught: Refusal | None = None

    def note(self, error: Exception) -> None:
        """Note an error that does not hold for all slices, and that the function may catch."""
        if self.caught is None and handlers.may_be_caught(sys._getframe(1), self.frame):
            self.caught = Refusal(f"except {type(error).__name__}", error, trace_state.user_line())

    def __call__(self, level: int, seed: Tensor, *slices: Tensor) -> tuple[Tensor, ...]:
        self.note_born(slices, level)
        with _Buffers(level, seed, self):
            return autodiff.bounded(self.function, list(slices))

    def note_born(self, results: Sequence[Any], level: int) -> None:
        """Remember the batched tensors among results, as long as they live."""
        for each in results:
            if isinstance(each, Tensor) and (level_of(each) == level or _is_batched(each, level)):
                self.born.append(weakref.ref(each))

    def is_for_all(self, target: Tensor) -> bool:
        """Whether a write to a batched tensor is right for all slices: in a step for some, if the step made it."""
        if self.for_some is None:
            return True
        before, since = [
            {_memory(tensor) for reference in references if (tensor := reference()) is not None}
            for references in (self.born[: self.for_some], self.born[self.for_some :])
        ]
        return _memory(target) in since - before

    def end(self) -> None:
        """See that nothing uses the batched tensors any more that the function kept somewhere."""
        for reference in self.born:
            tensor = reference()
            if tensor is not None:
                tensor.__class__ = Escaped
        self.born.clear()

    def is_ordered(self, target: Tensor) -> bool:
        """Whether a write to a part of an argument is seen in another slice, or another argument: a loop has an order.

        From now on it is one if its memory is read as a whole.
        """
        place = self._place(target)
        if place not in self.places:
            return False
        if place in self.written:
            return place in self.ordered
        self.written.add(place)
        if trace_state.is_tracing():
            trace_state.state.batched_writes.append(trace_state.user_line())
        if any(_meet(place, read) for read in self.read) or self._are_elsewhere_too(place):
            self.ordered.add(place)
        return place in self.ordered

    def reads_what_is_written(self, tensor: Tensor) -> bool:
        """Note that a tensor is read as a whole; whether slices in its memory were written to before."""
        place = self._place(tensor)
        self.read.add(place)
        return any(_meet(place, written) for written in self.written)

    def _place(self, tensor: Tensor) -> _Span:
        """Return the addresses of the whole memory of a tensor, or an identifier of one that has no address.

        Tensors over parts of a NumPy array have different storages, of which each begins at its first element.
        """
        below = unwrapped(tensor)
        if self._copied and (host := self._copied.get(storage_of(below))) is not None:
            return byte_bounds(host)
        if (address := address_of(below)) is not None:
            start, size = address
            return start, start + size
        memory = storage_of(below)
        return memory, memory + 1

    def _are_elsewhere_too(self, written: _Span) -> bool:
        """Whether elements of an argument are elements of another argument, or of another slice."""
        arguments = zip(self.tensors, self.dims, self.places, strict=True)
        parts = [(dim, unwrapped(tensor)) for tensor, dim, place in arguments if _meet(place, written)]
        hosts = [host for _, part in parts if (host := self._copied.get(storage_of(part))) is not None]
        if hosts:
            return len(parts) > 1 or not has_places_of_its_own(hosts[0])
        if not all(has_places_of_its_own(part) for _, part in parts):
            return True
        for (dim, one), (other_dim, other) in itertools.combinations(parts, 2):
            if (dim != other_dim or not is_same_view(one, other)) and may_share(one, other):
                return True
        return False

    def keep_before_write(self, target: Tensor) -> None:
        """Copy all arguments, once, if ``target`` is a part of one; gradients flow through the copies too."""
        if self._kept is None and any(_memory(target) == _memory(tensor) for tensor in self.tensors):
            self._kept = [tensor.clone() for tensor in self.tensors]

    def restore(self) -> None:
        """Undo the writes to the arguments, also for gradients if the writes are recorded."""
        if self._kept is not None:
            for tensor, kept in zip(self.tensors, self._kept, strict=True):
                with torch.set_grad_enabled(torch.is_grad_enabled() and not tensor.is_leaf):
                    tensor.copy_(kept)


@contextlib.contextmanager
def for_some_slices() -> Iterator[None]:
    """A scope for a loop's step whose values count for some slices only: it may write to what is made in it."""
    attempt = trace_state.state.batch
    if attempt is None:
        yield
        return
    around, attempt.for_some = attempt.for_some, len(attempt.born)
    try:
        yield
    finally:
        attempt.for_some = around


def is_refusal(error: Exception) -> bool:
    """Whether an error is a refusal to batch, and not an error of the function itself."""
    if isinstance(error, SharedWriteError):
        return True
    return messages.says(error, messages.NOT_BATCHED) and not messages.says(error, messages.RANDOMNESS)


def vmap(
    function: Function,
    tensors: Sequence[Tensor],
    dims: Sequence[int | None],
    *,
    chunk_size: int | None = None,
    randomness: str = "different",
    begin: Callable[[], Any] = lambda: None,
    hosts: Sequence[np.ndarray | None] | None = None,
) -> list[Tensor]:
    """Apply ``function`` to all slices of ``tensors`` along ``dims`` at once.

    Parameters
    ----------
    function : callable
        Takes a list of tensors, one slice each, and returns tensors.
    tensors : sequence of Tensor
    dims : sequence of int or None
        Dimension along which each tensor is sliced; None for a tensor that all slices share. Not all are None.
    chunk_size : int, optional
        Number of slices at once.
    randomness : {'different', 'same', 'error'}
    begin : callable
        Is called before each attempt.
    hosts : sequence of ndarray or None, optional
        For each tensor the array of NumPy's that it is a copy of, if it is one.

    Returns
    -------
    list of Tensor
        The results stacked along dimension 0, in memory of their own.

    Raises
    ------
    Refusal
        An operation in ``function`` can't be batched. The arguments are unchanged.
    """
    options: Any = {"chunk_size": chunk_size, "randomness": randomness}
    tensors = trace_state.entered(tensors)
    if torch.compiler.is_compiling():  # Dynamo batches by itself
        return list(torch.vmap(lambda *slices: tuple(function(list(slices))), tuple(dims), **options)(*tensors))

    refusal: Refusal | None = None
    for everything in (False, True):
        begin()
        attempt = _Attempt(function, tensors, dims, hosts or [None] * len(tensors), everything)
        around, trace_state.state.batch = trace_state.state.batch, attempt
        trace_state.state.batches += 1
        trace_state.enter()
        try:
            results = _by_chunks(attempt, tensors, dims, chunk_size, randomness)
            if attempt.caught is None:
                return [_own(result, tensors) for result in results]
            attempt.restore()
            refusal = attempt.caught
        except Exception as error:
            if attempt.refused is None and not is_refusal(error):
                raise
            attempt.restore()
            refusal = Refusal(_name(attempt.refused), messages.uncovered(error))
        finally:
            trace_state.state.batches -= 1
            trace_state.enter(-1)
            trace_state.state.batch, attempt.frame = around, None
        if not attempt.shares_write:
            break
    assert refusal is not None
    raise refusal from None


def _by_chunks(
    attempt: _Attempt, tensors: Sequence[Tensor], dims: Sequence[int | None], chunk_size: int | None, randomness: str
) -> Sequence[Tensor]:
    """Return the results of all slices, computed ``chunk_size`` at once."""
    tensor, dim = next((tensor, dim) for tensor, dim in zip(tensors, dims, strict=True) if dim is not None)
    size, device = tensor.shape[dim], tensor.device

    def run(tensors: Sequence[Tensor], size: int) -> list[Tensor]:
        seed = torch.empty(size, device=device)
        try:
            return transform_levels.vmap(attempt, (seed, *tensors), (0, *dims), size, randomness)
        finally:
            attempt.end()

    if chunk_size is None or size <= chunk_size:
        return run(tensors, size)
    drawn, chunks = replayed_draws.Draws(), []
    for start in range(0, size, chunk_size):
        length = min(chunk_size, size - start)
        parts = [t if d is None else t.narrow(d, start, length) for t, d in zip(tensors, dims, strict=True)]
        with drawn.again() if start and randomness == "same" else drawn:
            chunks.append(run(parts, length))
    return [torch.cat(column) for column in zip(*chunks, strict=True)]


def _own(result: Tensor, tensors: Sequence[Tensor]) -> Tensor:
    """Return a result whose elements each have memory: slices may all be one tensor, or the arguments themselves."""
    memory = _memory(result)
    if 0 in result.stride() or any(_memory(tensor) == memory for tensor in tensors):
        return result.clone(memory_format=torch.contiguous_format)
    return result


def _name(function: Any) -> str:
    """Return the name of a torch function in torch's documentation."""
    if function is None:
        return "reading its values"
    name = getattr(function, "__name__", str(function))
    return {"__setitem__": "writing to it", "copy_": "assignment", "_local_scalar_dense": "item"}.get(name, name)


def slices(tensor: Tensor, dim: int | None, index: int) -> Tensor:
    """Return one slice along ``dim``, a view; the tensor itself for None."""
    return tensor if dim is None else tensor.select(dim, index)


def leading(tensor: Tensor, dim: int) -> Tensor:
    """Return the tensor with its dimension ``dim`` first."""
    return tensor.movedim(dim, 0) if dim else tensor


def moved(tensor: Tensor, dim: int) -> Tensor:
    """Return the tensor with its first dimension at ``dim``."""
    return tensor.movedim(0, dim) if dim else tensor
