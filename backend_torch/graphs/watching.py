"""Bookkeeping of a trace beside its operations: tensors from outside, and values that are known.

Layer: owns the difference between an array that the function is given and one that Python made of its own data: values
of the second kind are the same whenever the graph runs, and so is what is computed of nothing else.
"""

from __future__ import annotations

import cmath
import contextlib
import weakref
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch.fx import GraphModule

from backend_torch.graphs import host_calls, symbolic
from backend_torch.tensors import aliasing, memory, trace_state
from backend_torch.tensors.constants import is_constant
from backend_torch.torch_private import traces, trees
from backend_torch.torch_private.modes import TorchDispatchMode, no_dispatch
from backend_torch.torch_private.operators import HigherOrderOperator, OpOverload, schema_of
from backend_torch.torch_private.tensor_internals import negative_view, storage_of

Tensor = torch.Tensor
aten = torch.ops.aten
_CPU = torch.device("cpu")
_LARGEST = 1 << 16  # elements that are computed while tracing, so that they are known
_START = 1 << 20  # where memory that has no address is said to begin
_UNDEFINED = {
    aten.empty.memory_format,
    aten.empty_strided.default,
    aten.empty_like.default,
    aten.new_empty.default,
    aten.new_empty_strided.default,
}
_UNCHECKED = {
    aten.bitwise_and_.Tensor,
    aten.bitwise_or_.Tensor,
    aten.bitwise_xor_.Tensor,
    aten.bitwise_left_shift_.Tensor,
    aten.bitwise_right_shift_.Tensor,
}
"""In-place operations for which torch checks the operands' shapes only if tensors have data."""


class Watch(TorchDispatchMode):
    """The bookkeeping of a trace.

    A tensor from outside is replaced by a stand-in, a constant by a literal, and a demand for a value raises.

    Attributes
    ----------
    inputs : set of int
        The memory of tensors that are inputs of a graph: nobody knows which of them have theirs in common.
    """

    supports_higher_order_operators = True

    def __init__(self, mode: traces.FakeTensorMode) -> None:
        super().__init__()
        self.mode = mode
        self.literals: dict[int, tuple[Tensor, Tensor]] = {}
        self.captures: dict[int, tuple[Tensor, Tensor]] = {}  # stand-in's id -> tensor, stand-in
        self.stand_ins: dict[int, Tensor] = {}  # tensor's id -> stand-in
        self.memory: dict[int, Tensor] = {}  # the memory of tensors from outside -> the stand-in of that
        self.inputs: set[int] = set()
        # Those of each piece of memory that was made of Python's data; torch copies a new one that somebody holds.
        self.known: dict[int, list[weakref.ref[Tensor]]] = {}

    def __torch_dispatch__(self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None) -> Any:
        if memory.sharded and not set(memory.sharded).isdisjoint(types):
            return NotImplemented  # what each process does with its part comes here in its turn
        if func is aten._local_scalar_dense.default:
            if is_constant(args[0]):
                return traces.without_modes(Tensor.item, args[0])
            known = memory.known(args[0])
            if known is None:
                raise trace_state.value_error()
            return known.item()
        if func is aten.lift_fresh.default and not traces.is_fake(args[0]):
            # Data that tracing made: the same at each call, but a new array.
            if args[0].dim():
                return self._made(args[0])
            made = self._literal(args[0])
            self._note(made, args[0])
            return made
        schema = schema_of(func)
        if self.known and schema is not None and schema.is_mutable:
            self._forget_written(func, args, kwargs or {})
        if isinstance(func, HigherOrderOperator):
            traces.allow_loops(self.mode)
        elif schema.is_mutable and _lies_across_itself(func, args, kwargs or {}):
            raise RuntimeError("some elements of the input tensor and the written-to tensor are the same memory")
        elif func in _UNCHECKED and torch.broadcast_shapes(args[0].shape, args[1].shape) != args[0].shape:
            raise RuntimeError("the operand that is written to is smaller than the result")
        fixed_args, fixed_kwargs = trees.map_only(Tensor, self._fixed, (args, kwargs or {}))
        operation = _full if func is aten.full.default else func
        calls = isinstance(func, HigherOrderOperator) and any(map(host_calls.has_effects, _graphs(args)))
        if calls:
            fixed_args = self._waiting(fixed_args)
        before = traces.last_recorded()
        try:
            result = operation(*fixed_args, **fixed_kwargs)
        except Exception as error:
            traces.forget(before)  # whoever catches the error goes on without the operation
            if not isinstance(error, traces.UNKNOWN_VALUE + traces.UNKNOWN_SHAPE):
                raise
            values = self._computed(func, args, kwargs or {})
            if values is None:
                asked = isinstance(error, traces.UNKNOWN_VALUE)
                raise (
                    trace_state.value_error() if asked else trace_state.shape_error(func.overloadpacket.__name__)
                ) from None
            device = next(leaf.device for leaf in trees.leaves(args) if isinstance(leaf, Tensor))
            return trees.map_only(Tensor, lambda value: self._made(value, device), values)
        if calls:
            trace_state.state.effects.append(result[0])
        traces.note_line(trace_state.user_line)
        self._note_computed(result, func, args, kwargs or {})
        # A write to a tensor from outside gives that tensor and not its stand-in, so that none is left where it was.
        if args and isinstance(result, Tensor) and isinstance(args[0], Tensor) and not traces.is_fake(args[0]):
            written = schema.arguments[0].alias_info
            if written is not None and written.is_write:
                return args[0]
        return result

    @staticmethod
    def _waiting(args: tuple[Any, ...]) -> tuple[Any, ...]:
        """Return the arguments of a branch or a loop, ordered after all calls before it."""
        leaves, spec = trees.flatten(args)
        first = next(index for index, leaf in enumerate(leaves) if isinstance(leaf, Tensor))
        leaves[first : first + 1] = host_calls.finished([leaves[first]])
        waiting: tuple[Any, ...] = trees.unflatten(leaves, spec)
        return waiting

    def _note(self, made: Tensor, values: Tensor) -> None:
        """Note the values of a tensor of the trace, until a write to its memory."""
        memory.note_known(made, values)
        self.known.setdefault(storage_of(made), []).append(weakref.ref(made))

    def _forget_written(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """Forget the known values of written tensors; a tensor's version misses writes through ``x.data``."""
        for tensor in aliasing.written(schema_of(func), args, kwargs, Tensor):
            if traces.is_fake(tensor):
                for kept in self.known.pop(storage_of(tensor), ()):
                    made = kept()
                    if made is not None:
                        memory.note_known(made, None)

    def _note_computed(self, result: Any, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """Note the results of an operation on known values only as known."""
        made = [result] if isinstance(result, Tensor) else result
        if not isinstance(made, (list, tuple)) or not all(map(_may_be_known, made)):
            return
        values = self._computed(func, args, kwargs)
        if values is not None:
            for one, value in zip(made, [values] if isinstance(values, Tensor) else values, strict=True):
                self._note(one, value)

    def _computed(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Return the results of an operation on known values only, on the CPU for any device; None for others."""
        if not isinstance(func, OpOverload) or func.namespace != "aten" or schema_of(func).is_mutable:
            return None
        if func in _UNDEFINED or torch.Tag.nondeterministic_seeded in func.tags:
            return None
        leaves, spec = trees.flatten((args, kwargs))
        for index, leaf in enumerate(leaves):
            if isinstance(leaf, Tensor):
                leaves[index] = self._value(leaf)
                if leaves[index] is None:
                    return None
            elif isinstance(leaf, torch.device):
                leaves[index] = _CPU  # torch may lack the device, which the trace only names
            elif symbolic.is_symbol(leaf) or isinstance(leaf, torch.Generator):
                return None
        args, kwargs = trees.unflatten(leaves, spec)
        with contextlib.suppress(Exception), no_dispatch():
            return func(*args, **kwargs)
        return None

    def _value(self, tensor: Tensor) -> Tensor | None:
        if is_constant(tensor):
            return tensor
        known = _may_be_known(tensor) and memory.is_known(tensor)
        return tensor.known[1] if known else None  # type: ignore[attr-defined]

    def _made(self, values: Tensor, device: torch.device = _CPU) -> Tensor:
        """Return new memory with known values."""
        made = aten.clone.default(self._fixed(values))
        if device != _CPU:
            made = aten._to_copy.default(made, device=device)
        self._note(made, values)
        return made

    def _fixed(self, tensor: Tensor) -> Tensor:
        if traces.is_fake(tensor):
            if not traces.is_of(self.mode, tensor):
                raise trace_state.left_over_error()
            return tensor
        if not is_constant(tensor):
            return self._read(tensor)
        if id(tensor) not in self.literals:
            self.literals[id(tensor)] = tensor, self._literal(tensor)
        return self.literals[id(tensor)][1]

    def _read(self, tensor: Tensor) -> Tensor:
        """Return the stand-in of a tensor's memory, conjugated or negated like the tensor."""
        if tensor.is_conj():
            return aten.conj_physical.default(self._read(traces.without_modes(torch.conj, tensor)))
        if tensor.is_neg():
            return aten.neg.default(self._read(traces.without_modes(negative_view, tensor)))
        return self.stand_in(tensor)

    def stand_in(self, tensor: Tensor) -> Tensor:
        """Return the stand-in of a tensor from outside: one for each, over shared memory if they share theirs."""
        if id(tensor) not in self.stand_ins:
            stand_in = traces.shown_by(self.mode, tensor, self.memory)
            self.stand_ins[id(tensor)] = stand_in
            self.captures[id(stand_in)] = tensor, stand_in
        return self.stand_ins[id(tensor)]

    def addresses(self, one: Tensor, other: Tensor) -> tuple[np.ndarray, np.ndarray] | None:
        """Return `memory.addresses` of two tensors with shared memory; None for others.

        Raises
        ------
        TracedValueError
            Both are inputs of the graph.
        """
        one, other = self._fixed(one), self._fixed(other)
        if storage_of(one) == storage_of(other):
            return memory.addresses(one, _START), memory.addresses(other, _START)
        if self.is_from_outside(one) and self.is_from_outside(other):
            raise trace_state.value_error()
        return None

    def is_from_outside(self, tensor: Tensor) -> bool:
        """Whether a tensor's memory is that of an input or of an array from outside."""
        storage = storage_of(tensor)
        return storage in self.inputs or storage in map(storage_of, self.memory.values())

    def _literal(self, tensor: Tensor) -> Tensor:
        value = traces.without_modes(Tensor.item, tensor)
        return _full([], value, dtype=tensor.dtype, device=tensor.device)


def _graphs(args: tuple[Any, ...]) -> list[GraphModule]:
    return [each for each in args if isinstance(each, GraphModule)]


def _lies_across_itself(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    """Whether an operation writes to elements that share memory, or reads them at other places: torch refuses both for
    tensors with data."""
    if len(args) > 1 and aliasing.lies_across(args[0], args[1]):
        return True
    targets = [] if torch.Tag.inplace_view in func.tags else aliasing.written(schema_of(func), args, kwargs, Tensor)
    return any(0 in map(_stride, target.stride()) and not memory.is_writeable(target) for target in targets)


def _stride(stride: Any) -> int:
    """Return the stride; for a symbolic one, which is never 0, any other number."""
    return 1 if symbolic.is_symbol(stride) else stride


def _may_be_known(value: object) -> bool:
    if not isinstance(value, Tensor) or value.device.type == "meta" or symbolic.is_symbol(value.numel()):
        return False
    return value.numel() <= _LARGEST


def _full(size: Sequence[int], value: Any, **options: Any) -> Tensor:
    """``torch.ops.aten.full`` in a form that a graph can hold for every number.

    torch.fx writes a complex number with an infinite or NaN part as a name that Python does not know, and one with a
    part -0.0 as a sum in which that is lost: it is made of its parts.
    """
    if not isinstance(value, complex) or (cmath.isfinite(value) and "-0.0" not in (str(value.real), str(value.imag))):
        return torch.ops.aten.full.default(size, value, **options)
    dtype = options.pop("dtype", None)
    options["dtype"] = dtype if dtype is None else dtype.to_real()
    return torch.ops.aten.complex.default(
        torch.ops.aten.full.default(size, value.real, **options),
        torch.ops.aten.full.default(size, value.imag, **options),
    )
