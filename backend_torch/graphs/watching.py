"""The dispatch mode of a trace: it finds tensors from outside, and keeps values that are known while tracing.

Layer: owns which values are known. An array that the function is given has other values at each call. An array that
Python makes of its own data, such as a list of numbers, has the same values whenever the graph runs, and so have the
results computed from such arrays alone.
"""

from __future__ import annotations

import cmath
import contextlib
import functools
import weakref
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from torch.fx import GraphModule

from backend_torch.graphs import host_calls, symbolic
from backend_torch.kernels.graph_operations import STEPS
from backend_torch.tensors import aliasing, memory, trace_state
from backend_torch.tensors.constants import is_constant
from backend_torch.torch_private import traces, trees
from backend_torch.torch_private.autograd import unseen_by_modes
from backend_torch.torch_private.modes import TorchDispatchMode, no_dispatch
from backend_torch.torch_private.operators import HigherOrderOperator, OpOverload, schema_of
from backend_torch.torch_private.tensor_internals import is_zeros_without_memory, negative_view, storage_of

Tensor = torch.Tensor
aten = torch.ops.aten
_CPU = torch.device("cpu")
_LARGEST = 1 << 16  # the values of an array with more elements are not kept
_DEEPEST = 100  # operations on sizes before one that decides them: each waits in a frame for the one before
_START = 1 << 20  # a made-up address for the memory of fake tensors
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
_REFUSES_VALUES = {
    aten._assert_async.msg,
    aten._linalg_check_errors.default,
    aten.linalg_eig.default,
    aten._linalg_eigh.default,
    aten._linalg_svd.default,
    aten.index.Tensor,
    aten.index_put_.default,
}
"""Operations that may raise when the graph runs: a ``try`` of the program could handle it."""


def _is_index_known(func: OpOverload, args: tuple[Any, ...]) -> bool:
    """Whether an operation reads or writes elements at an index that is the same whenever the graph runs."""
    indexes = func is aten.index.Tensor or func is aten.index_put_.default
    return indexes and all(each is None or memory.known(each) is not None for each in args[1])


class _OnKnown:
    """An operation on known values and on symbolic sizes, which it decides when it is computed.

    Attributes
    ----------
    depth : int
        0 if no operand depends on sizes, else the number of operations from the sizes on.
    """

    def __init__(self, func: Any, leaves: list[Any], spec: Any) -> None:
        self._func, self._leaves, self._form = func, leaves, spec
        before = [leaf.operation.depth for leaf in leaves if isinstance(leaf, _Result)]
        self.depth: int = max(before, default=0)
        if before or any(map(symbolic.is_symbol, leaves)):
            self.depth += 1
        if self.depth > _DEEPEST:
            self._leaves, self.depth = list(map(_decided, leaves)), 0

    @functools.cached_property
    def value(self) -> Any:
        """Return what the operation returns, None if it raises."""
        args, kwargs = trees.unflatten(list(map(_decided, self._leaves)), self._form)
        with contextlib.suppress(Exception), no_dispatch():
            return self._func(*args, **kwargs)
        return None

    def results(self) -> Sequence[Tensor] | None:
        """Return the results as a sequence, None if there are none."""
        value = self.value
        return [value] if isinstance(value, Tensor) else value


class _Result:
    """One of the results of an operation; a call returns its values, None if there are none."""

    def __init__(self, operation: _OnKnown, place: int) -> None:
        self.operation, self.place = operation, place

    def __call__(self) -> Tensor | None:
        values = self.operation.results()
        return None if values is None else values[self.place]


def _decided(leaf: Any) -> Any:
    """Return an operand's value; the trace is then valid for the current sizes only, if the value depends on sizes."""
    if isinstance(leaf, _Result):
        return leaf()
    return symbolic.decided(leaf) if symbolic.is_symbol(leaf) else leaf


class Watch(TorchDispatchMode):
    """The dispatch mode of a trace.

    It replaces a tensor from outside by a stand-in and a constant by a literal. Reading a value that is not known
    raises.

    Attributes
    ----------
    inputs : set of int
        The memory of tensors that are inputs of a graph. Whether two inputs share memory is unknown.
    operations : int
        The number of operations so far.
    lost : dict
        Memory whose values only a traced loop has -> a tensor over it, and what makes the error of a read.
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
        self.operations = 0
        self.lost: dict[int, tuple[Tensor, Callable[[], Exception]]] = {}
        # Memory -> the tensors over it with known values. References are weak: torch copies a new tensor that is held.
        self.known: dict[int, list[weakref.ref[Tensor]]] = {}

    def __torch_dispatch__(self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None) -> Any:
        if memory.sharded and not set(memory.sharded).isdisjoint(types):
            return NotImplemented  # DTensor comes back with the operations on each process's part
        with unseen_by_modes():  # torch's C++ calls an operation, as at the end of a batch, with the program's modes on
            return self._watched(func, args, kwargs)

    def _watched(self, func: Any, args: tuple[Any, ...], kwargs: Any) -> Any:
        self.operations += 1
        if func is aten._local_scalar_dense.default:
            if is_constant(args[0]):
                return traces.without_modes(Tensor.item, args[0])
            known = memory.asked(args[0])
            if known is None:
                raise trace_state.value_error()
            return known.item()
        if func is aten.lift_fresh.default and not traces.is_fake(args[0]):
            # The tracer made this data: it is the same at each call, but each call makes a new array of it.
            if args[0].dim():
                return self._made(args[0])
            made = self._literal(args[0])
            self._note(made, args[0])
            return made
        if trace_state.state.handlers and func in _REFUSES_VALUES and not _is_index_known(func, args):
            trace_state.check_not_handled()
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
            result: Any = None
            if isinstance(func, HigherOrderOperator):
                result = traces.recorded(self.mode, func, fixed_args)
            if result is None:
                result = operation(*fixed_args, **fixed_kwargs)
        except Exception as error:
            traces.forget(before)  # the function may catch the error and go on without the operation
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
        if isinstance(func, HigherOrderOperator):
            for graph in _graphs(args):
                self.lost.update(graph.meta.get("lost", {}))
        if calls:
            trace_state.state.effects.append(result[0])
        traces.note_line(trace_state.user_line)
        self._note_computed(result, func, args, kwargs or {})
        # A write to a tensor from outside returns that tensor: its stand-in must not replace it in the function.
        if args and isinstance(result, Tensor) and isinstance(args[0], Tensor) and not traces.is_fake(args[0]):
            written = schema.arguments[0].alias_info
            if written is not None and written.is_write:
                return args[0]
        return result

    @staticmethod
    def _waiting(args: tuple[Any, ...]) -> tuple[Any, ...]:
        """Return the arguments of a branch or a loop so that it runs after all host calls before it."""
        leaves, spec = trees.flatten(args)
        first = next(index for index, leaf in enumerate(leaves) if isinstance(leaf, Tensor))
        leaves[first : first + 1] = host_calls.finished([leaves[first]])
        waiting: tuple[Any, ...] = trees.unflatten(leaves, spec)
        return waiting

    def _note(self, made: Tensor, values: Tensor | Callable[[], Tensor | None]) -> None:
        """Keep the values of a tensor of the trace until its memory is written to."""
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
        """Keep the values of an operation's results if all its operands have known values."""
        made = [result] if isinstance(result, Tensor) else result
        if not isinstance(made, (list, tuple)) or not all(map(_may_be_known, made)):
            return
        operation = self._on_known(func, args, kwargs)
        if operation is None:
            return
        if operation.depth:
            for index, one in enumerate(made):
                self._note(one, _Result(operation, index))
        elif (values := operation.results()) is not None:
            for one, value in zip(made, values, strict=True):
                self._note(one, value)

    def _computed(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Return an operation's results, computed on the CPU, if all its operands have known values; otherwise None."""
        operation = self._on_known(func, args, kwargs)
        return None if operation is None else operation.value

    def _on_known(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> _OnKnown | None:
        """Return an operation, to compute on the CPU, all of whose operands have known values; otherwise None."""
        if not isinstance(func, OpOverload) or (func.namespace != "aten" and func not in STEPS):
            return None
        if schema_of(func).is_mutable:
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
                leaves[index] = _CPU  # a trace may name a device that this machine lacks
            elif isinstance(leaf, torch.Generator):
                return None
        return _OnKnown(func, leaves, spec)

    def _value(self, tensor: Tensor) -> Any:
        """Return a tensor's known values, or what returns them (`memory.note_known`); None if they are unknown."""
        if is_zeros_without_memory(tensor):
            return None  # torch's operations crash on them below the dispatcher
        if is_constant(tensor):
            return tensor
        return memory.noted(tensor) if _may_be_known(tensor) else None

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
            return self.checked(tensor)
        if not is_constant(tensor):
            return self._read(tensor)
        if id(tensor) not in self.literals:
            self.literals[id(tensor)] = tensor, self._literal(tensor)
        return self.literals[id(tensor)][1]

    def checked(self, tensor: Tensor) -> Tensor:
        """Return a tensor of the trace, unless its values are lost."""
        if self.lost and (found := self.lost.get(storage_of(tensor))) is not None:
            raise found[1]()
        return tensor

    def _read(self, tensor: Tensor) -> Tensor:
        """Return the stand-in of a tensor's memory, conjugated or negated like the tensor."""
        if tensor.is_conj():
            return aten.conj_physical.default(self._read(traces.without_modes(torch.conj, tensor)))
        if tensor.is_neg():
            return aten.neg.default(self._read(traces.without_modes(negative_view, tensor)))
        return self.stand_in(tensor)

    def stand_in(self, tensor: Tensor) -> Tensor:
        """Return the stand-in of a tensor from outside. Stand-ins share memory as their tensors do."""
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
    """Whether an operation writes to elements that overlap in memory, or overlap its other operand.

    torch refuses both, but checks it only for tensors with data.
    """
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
    """Call ``torch.ops.aten.full`` so that torch.fx can write the number into a graph's source.

    torch.fx writes a complex number with an infinite or NaN part as a name that Python does not know, one with a part
    -0.0 as a sum that loses the sign, and ``0-1j`` as ``-1j``, whose real part is -0.0. Such a number is put together
    from its real and imaginary parts.
    """
    if not isinstance(value, complex) or (
        cmath.isfinite(value)
        and "-0.0" not in (str(value.real), str(value.imag))
        and not (value.imag < 0 and not value.real)
    ):
        return torch.ops.aten.full.default(size, value, **options)
    dtype = options.pop("dtype", None)
    options["dtype"] = dtype if dtype is None else dtype.to_real()
    return torch.ops.aten.complex.default(
        torch.ops.aten.full.default(size, value.real, **options),
        torch.ops.aten.full.default(size, value.imag, **options),
    )
