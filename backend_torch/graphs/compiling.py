"""Tracing: a function of tensors becomes a graph, and the graph a program.

Layer: owns a graph's inputs (arguments, and tensors from outside by reference), its writes, the memory that its results
share, and the fallback for programs that can't be compiled. The caller owns the signature.
"""

from __future__ import annotations

import contextlib
import copy
import functools
import re
import threading
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch.fx import GraphModule, Node

from backend_torch.autodiff import autodiff
from backend_torch.graphs import (
    code_cache,
    compile_workers,
    elementwise_code,
    graph_copies,
    graph_forms,
    host_calls,
    loop_lowering,
    loop_programs,
    loops,
    random_inputs,
    symbolic,
    whole_calls,
)
from backend_torch.graphs.decompositions import IN_PROCESS, TABLE
from backend_torch.graphs.graph import Graph
from backend_torch.graphs.watching import Watch
from backend_torch.tensors import aliasing, trace_state
from backend_torch.tensors.aliasing import Output
from backend_torch.tensors.shape import inverse, memory_axes
from backend_torch.torch_private import functorch, inductor, light_imports, traces, trees
from backend_torch.torch_private.guards import same_signature
from backend_torch.torch_private.inductor import Program
from backend_torch.torch_private.tensor_internals import storage_of

if TYPE_CHECKING:
    from concurrent.futures import Future

Tensor = torch.Tensor
aten = torch.ops.aten
_ANY = torch.empty(0)


def is_inside() -> bool:
    """Whether a trace or a transform of torch.func is under way in this thread: it has to see each operation."""
    return trace_state.is_tracing() or functorch.is_transforming()


is_fake = traces.is_fake


def physical(tensor: Tensor) -> Tensor:
    """Return the tensor, or a copy if it is lazily conjugated or negated."""
    return tensor.resolve_conj().resolve_neg()


def in_c_order(tensor: Tensor) -> Tensor:
    """Return the tensor, or a copy if it is not in C order without gaps."""
    return tensor if aliasing.is_plain(tensor) else tensor.clone(memory_format=torch.contiguous_format)


def with_strides(tensor: Tensor, stride: tuple[int, ...]) -> Tensor:
    """Return the tensor, or a copy with these strides."""
    return tensor if tensor.stride() == stride else _restrided(tensor, stride)


def assign(tensor: Tensor, values: Tensor) -> None:
    """Write values into a tensor's memory."""
    tensor.copy_(values)


def signature(tensors: Sequence[Tensor], without_gaps: bool = False) -> tuple[Any, ...]:
    """Return the properties of tensors that a trace depends on, to hash and compare; perhaps of them without gaps."""
    strides = aliasing.dense_strides if without_gaps else Tensor.stride
    return tuple([(tensor.dtype, tensor.shape, strides(tensor), tensor.device) for tensor in tensors])


def form(tensors: Sequence[Tensor]) -> tuple[Any, ...] | None:
    """Return the properties of tensors but for how wide gaps in their memory are; None without gaps."""
    found = [aliasing.gaps(tensor) for tensor in tensors]
    if None in found or not any(True in gaps for _, gaps in found):  # type: ignore[misc]
        return None
    return tuple([(t.dtype, t.shape, each, t.device) for t, each in zip(tensors, found, strict=True)])


def without_gaps(tensors: Sequence[Tensor]) -> list[Tensor]:
    """Return the tensors, or copies in the same order of memory without gaps."""
    return [with_strides(tensor, aliasing.dense_strides(tensor)) for tensor in tensors]


# ---------------------------------------------------------------------------------------------------------------------
# Tracing


class _Current(threading.local):
    watch: Watch


_current = _Current()


def trace(
    function: Callable[[list[Tensor]], Sequence[Tensor]],
    tensors: Sequence[Tensor],
    sizes: symbolic.Sizes | None = None,
) -> Graph:
    """Run ``function`` once on stand-ins of ``tensors`` and record its operations; ``sizes`` are symbolic.

    Raises
    ------
    TracedValueError
        The function needs a value, or a shape that depends on one.
    """
    light = light_imports.scope() if sizes is None else contextlib.nullcontext()
    with traces.scope(), light:  # no decorator: its frame would count as the user's
        return _trace(function, tensors, sizes)


def _trace(
    function: Callable[[list[Tensor]], Sequence[Tensor]], tensors: Sequence[Tensor], sizes: symbolic.Sizes | None
) -> Graph:
    mode = traces.new_fake_mode() if sizes is None else sizes.mode()
    inputs = _without_data(mode, tensors, sizes)

    watch = _current.watch = Watch(mode)
    around, trace_state.state.effects = trace_state.state.effects, []
    calls: list[host_calls.HostCall] = []
    calls_around, trace_state.state.calls = trace_state.state.calls, calls
    rules: list[str] = []
    rules_around, trace_state.state.rules = trace_state.state.rules, rules
    batched: list[Any] = []
    batched_around, trace_state.state.batched_writes = trace_state.state.batched_writes, batched
    reads_around, trace_state.state.reads_strides = trace_state.state.reads_strides, False
    watch.inputs.update(map(storage_of, inputs))

    def watched(*stand_ins: Tensor) -> tuple[Tensor, ...]:
        with watch:
            results = function(list(stand_ins))
        return tuple(watch.checked(result) if traces.is_fake(result) else watch.stand_in(result) for result in results)

    try:
        with trace_state.tracing(), mode:
            module = traces.capture(watched, inputs)
            _place(module, inputs, mode)
        reads_strides = trace_state.state.reads_strides
    finally:
        traces.end(mode, trace_state.left_over_error)
        trace_state.state.effects = around
        trace_state.state.calls, trace_state.state.rules = calls_around, rules_around
        trace_state.state.batched_writes, trace_state.state.reads_strides = batched_around, reads_around
        del _current.watch

    captures = []
    for stand_in in _lift(module):
        if id(stand_in) not in watch.captures:  # made in the body of a branch or a loop, and kept
            raise trace_state.left_over_error()
        captures.append(watch.captures[id(stand_in)])
    inputs += [stand_in for _, stand_in in captures]
    values, memory, written = _reads_and_writes(module, inputs)
    placeholders = module.graph.find_nodes(op="placeholder")
    returned: Any = module.graph.output_node().args[0]
    outputs, results = aliasing.outputs_of(returned, placeholders, values, memory)
    if sizes is not None:
        sizes.settle()
    captured = [tensor for tensor, _ in captures]
    has_writes = bool(batched)
    return Graph(module, inputs, captured, written, outputs, results, sizes, calls, rules, has_writes, reads_strides)


def _without_data(mode: traces.FakeTensorMode, tensors: Sequence[Tensor], sizes: symbolic.Sizes | None) -> list[Tensor]:
    return [traces.like(mode, tensor) for tensor in tensors] if sizes is None else sizes.like(mode, tensors)


def _reads_and_writes(
    module: GraphModule, inputs: Sequence[Tensor]
) -> tuple[dict[Node, Any], dict[int, list[int]], frozenset[int]]:
    """Return the nodes' values, the inputs in each piece of memory, and the inputs whose memory is written."""
    values = {node: node.meta.get("val") for node in module.graph.nodes}
    values.update(zip(module.graph.find_nodes(op="placeholder"), inputs, strict=True))
    memory: dict[int, list[int]] = {}
    for index, tensor in enumerate(inputs):
        memory.setdefault(storage_of(tensor), []).append(index)
    written = frozenset(
        index
        for node in module.graph.nodes
        for target in aliasing.targets(node)
        for index in memory.get(storage_of(values[target]), ())
    )
    return values, memory, written


def _place(module: GraphModule, inputs: Sequence[Tensor], mode: traces.FakeTensorMode) -> None:
    """Let what the graph computes be in C order, seen by its axes, where a view is given by its place in that memory.

    Operations give results the order of their operands' axes; machine code may lay them out otherwise.
    """
    graph = module.graph
    views: dict[int, list[Node]] = {}
    for node in graph.find_nodes(op="call_function", target=aten.as_strided.default):
        views.setdefault(storage_of(node.meta["val"]), []).append(node)
    if not views:
        return
    held = [getattr(module, node.target) for node in graph.find_nodes(op="get_attr")]
    seen = {storage_of(each) for each in [*inputs, *held] if isinstance(each, Tensor)}
    for base in list(graph.nodes):
        value = base.meta.get("val")
        if base.op != "call_function" or not isinstance(value, Tensor) or storage_of(value) in seen:
            continue
        seen.add(storage_of(value))
        axes = memory_axes(value) if storage_of(value) in views else ()
        if axes == tuple(range(len(axes))) or value.storage_offset() or not aliasing.is_dense(value):
            continue
        base.meta["val"] = traces.like(mode, value)
        with graph.inserting_before(base.next):
            turned = graph.call_function(aten.permute.default, (base, list(axes)))
            copied = graph.call_function(aten.clone.default, (turned,), {"memory_format": torch.contiguous_format})
            again = graph.call_function(aten.permute.default, (copied, list(inverse(axes))))
        base.replace_all_uses_with(again, delete_user_cb=lambda user, turned=turned: user is not turned)
        for node, whole in ((turned, base.meta["val"]), (copied, value)):
            node.meta["val"] = traces.without_modes(functools.partial(torch.permute, dims=axes), whole)
        again.meta["val"] = value
        for view in views[storage_of(value)]:
            if view.meta["val"].dtype is value.dtype:  # else it is of a view in another dtype
                view.args = (copied, *view.args[1:])
    module.recompile()


def _lift(module: GraphModule) -> list[Tensor]:
    """Turn the stand-ins that the graph holds as attributes into inputs."""
    graph = module.graph
    captured: dict[int, tuple[Tensor, Node]] = {}
    lifted: set[Any] = set()
    last = next(reversed(graph.find_nodes(op="placeholder")), None)
    for node in graph.find_nodes(op="get_attr"):
        tensor = getattr(module, node.target)
        if not isinstance(tensor, Tensor):
            continue  # a branch or a loop's body
        lifted.add(node.target)
        for user in [user for user in node.users if user.target is aten.clone.default and not user.users]:
            graph.erase_node(user)  # a derivative may read less than the branch or the loop that it is taken of
        if not node.users:
            graph.erase_node(node)
            continue
        if id(tensor) not in captured:
            with graph.inserting_after(last) if last else graph.inserting_before(next(iter(graph.nodes))):
                last = graph.placeholder(f"captured_{len(captured)}")
            last.meta["val"] = tensor
            captured[id(tensor)] = tensor, last
        node.replace_all_uses_with(captured[id(tensor)][1])
        graph.erase_node(node)
    for name in lifted:
        delattr(module, name)  # an exported program would keep it
    if lifted:
        module.recompile()
    return [tensor for tensor, _ in captured.values()]


def remade(form: tuple[Any, ...]) -> Graph:
    """Return the graph of a form, as far as a compiler needs it."""
    module, inputs, results = graph_forms.graph_of(form)
    return Graph(module, inputs, [], frozenset(form[3]), [], results)


# ---------------------------------------------------------------------------------------------------------------------
# Graphs inside the graph that is being traced

Subgraph = tuple[GraphModule, list[Tensor]]
"""A graph, and the tensors from outside that are its last inputs."""


def addresses(one: Tensor, other: Tensor) -> tuple[np.ndarray, np.ndarray] | None:
    """Return arrays with the addresses of two tensors of a trace, for NumPy; None if they share none.

    Raises
    ------
    TracedValueError
        The answer depends on the arguments.
    """
    if functorch.is_transforming():
        raise trace_state.value_error()
    return _current.watch.addresses(one, other)


def is_escaped(array: Any) -> bool:
    """Whether an array or a tensor belongs to a transform in the traced function that is over."""
    return functorch.is_wrapped(array if isinstance(array, Tensor) else array.tensor)


def subgraph(
    function: Callable[[list[Tensor]], Sequence[Tensor]],
    examples: Sequence[Tensor],
    pure: bool = False,
    writes: list[Tensor] | None = None,
) -> Subgraph:
    """Return the graph of ``function`` for tensors like ``examples``, while another function is being traced.

    The graph writes to copies of its arguments, and each result has its own memory in C order. The list ``writes`` gets
    the tensors from outside that the graph writes to; the graph returns their new values after its results.

    Raises
    ------
    NotImplementedError
        The function writes to a tensor from outside; if ``pure``, to an argument.
    """
    watch = _current.watch
    inputs = [traces.like(watch.mode, tensor) for tensor in examples]
    watch.inputs.update(map(storage_of, inputs))
    literals, watch.literals = watch.literals, {}  # each graph has its own
    lost, watch.lost = watch.lost, dict(watch.lost)  # it counts where the graph is used
    effects, trace_state.state.effects = trace_state.state.effects, []
    rules = len(trace_state.state.rules)
    trace_state.state.subgraphs += 1
    trace_state.state.scopes.append(object())

    def returned(result: Tensor) -> Tensor:
        if functorch.is_wrapped(result):  # a function mode unwraps the operands of functions, and notes what they are
            result = result.view(result.shape)
        return watch.checked(result) if traces.is_fake(result) else watch.stand_in(result)

    def watched(*stand_ins: Tensor) -> tuple[Tensor, ...]:
        return tuple(map(returned, host_calls.finished(function(list(stand_ins)))))

    try:
        module = traces.capture(watched, inputs)
        _place(module, inputs, watch.mode)
    finally:
        watch.literals = literals
        lost, watch.lost = watch.lost, lost
        trace_state.state.effects = effects
        trace_state.state.subgraphs -= 1
        trace_state.state.scopes.pop()
    module.meta["rules"] = trace_state.state.rules[rules:]
    outer = _lift(module)
    everything = [*inputs, *outer]
    values, memory, written = _reads_and_writes(module, everything)
    if any(pure or (index >= len(inputs) and writes is None) for index in written):
        raise trace_state.write_error()
    graph = module.graph
    placeholders = graph.find_nodes(op="placeholder")
    updated: list[Node] = []
    for index in sorted(written):
        if index >= len(inputs):
            if len(memory[storage_of(everything[index])]) > 1 or not aliasing.is_plain(everything[index]):
                raise trace_state.shared_write_error()
            writes.append(everything[index])  # type: ignore[union-attr]
        with graph.inserting_after(placeholders[-1]):
            copy = graph.call_function(aten.clone.default, (placeholders[index],))
        values[copy] = values[placeholders[index]]
        placeholders[index].replace_all_uses_with(copy, delete_user_cb=lambda user, copy=copy: user is not copy)
        values[copy] = copy.meta["val"] = values[placeholders[index]]
        placeholders[index].meta["val"] = traces.like(watch.mode, values[copy])  # its views are the copy's now
        if index >= len(inputs):
            updated.append(copy)
    output = graph.output_node()
    results: list[Node] = [*output.args[0], *updated]  # type: ignore[misc]
    used = set(memory).difference([storage_of(everything[index]) for index in written])
    for index, node in enumerate(results):
        value = values[node]
        assert value is not None
        storage = storage_of(value)
        if storage in used or not aliasing.is_plain(value):
            keywords: dict[str, Any] = {"memory_format": torch.contiguous_format}
            with graph.inserting_before(output):
                results[index] = graph.call_function(aten.clone.default, (node,), keywords)
                results[index].meta["val"] = traces.new(watch.mode, value)
        used.add(storage)
    output.args = (tuple(results),)
    module.recompile()
    module.meta["lost"] = lost
    module.meta["overwritten"] = [index for index in sorted(written) if index < len(inputs)]
    return module, outer


def operations() -> int:
    """Return the number of operations in the current trace so far; 0 outside of one."""
    watch = getattr(_current, "watch", None)
    return 0 if watch is None else watch.operations


def is_from_outside(tensor: Tensor) -> bool:
    """Whether a tensor of the trace shares memory with an input or with an array from outside."""
    return _current.watch.is_from_outside(tensor)


def stand_in(tensor: Tensor) -> Tensor:
    """Return the tensor of the trace that stands for a tensor from outside; any other unchanged."""
    return tensor if traces.is_fake(tensor) else _current.watch.stand_in(tensor)


def slice_of(tensor: Tensor, wrapped: Tensor) -> Tensor:
    """Return a tensor to trace with like ``wrapped``, one slice of a batch, in the memory of the tensor inside."""
    return traces.slice_of(_current.watch.mode, tensor, wrapped)


def of_size(tensor: Tensor, size: Sequence[Any]) -> Tensor:
    """Return a tensor to trace with, in C order with memory of its own, like another one but for the size."""
    return traces.new(_current.watch.mode, tensor, size)


def from_outside(tensor: Tensor) -> Tensor:
    """Return the tensor from outside that a tensor of the trace stands for; any other unchanged."""
    captured = _current.watch.captures.get(id(tensor))
    return tensor if captured is None else captured[0]


def lose(tensors: Sequence[Tensor], error: Callable[[], Exception]) -> None:
    """Let reads of the memory of tensors of the trace raise an error: what is there now, only a loop knows."""
    for tensor in tensors:
        _current.watch.lost[storage_of(tensor)] = tensor, error


def known_memory() -> set[int]:
    """Return the memory whose values the trace knows at this point."""
    return set(_current.watch.known)


def aligned(subgraphs: Sequence[Subgraph], first: Sequence[Tensor] = ()) -> tuple[list[Tensor], list[GraphModule]]:
    """Return the graphs with one common list of tensors from outside; ``first`` come before the others."""
    union = {id(tensor): tensor for tensor in [*first, *[tensor for _, outer in subgraphs for tensor in outer]]}
    return list(map(from_outside, union.values())), [
        graph_copies.with_inputs(module, list(map(id, outer)), union) for module, outer in subgraphs
    ]


def add_written(module: GraphModule, own: Sequence[Tensor], written: Sequence[Tensor]) -> None:
    """Let a graph of `aligned`, whose first inputs are ``written``, return all of these last, not only its ``own``."""
    output = module.graph.output_node()
    results: list[Node] = list(output.args[0])  # type: ignore[arg-type]
    count = len(results) - len(own)
    known = dict(zip(map(id, own), results[count:], strict=True))
    placeholders = module.graph.find_nodes(op="placeholder")
    del results[count:]
    for tensor, placeholder in zip(written, placeholders, strict=False):
        if id(tensor) not in known:
            with module.graph.inserting_before(output):
                known[id(tensor)] = module.graph.call_function(aten.clone.default, (placeholder,))
            known[id(tensor)].meta["val"] = traces.like(_current.watch.mode, tensor)
        results.append(known[id(tensor)])
    output.args = (tuple(results),)
    module.recompile()


# ---------------------------------------------------------------------------------------------------------------------
# Compiling


class Executable:
    """The programs of a graph: one without gradients, and one for each set of inputs that gradients flow to.

    Parameters
    ----------
    graph : Graph
    backend : str or callable, optional
        None and "inductor" make machine code, the first without Inductor if it can; "eager" runs the operations one by
        one; others are backends of torch.compile.
    mode : str, optional
    options : dict, optional
        As torch.compile takes them.
    falls_back : bool, default True
        Warn and run the operations one by one if the graph can't be compiled; False: raise the compiler's error.

    Attributes
    ----------
    is_of_sizes : bool
        Whether a program of it, made now or earlier, serves the sizes of the trace alone; others would take as long.
    """

    def __init__(
        self,
        graph: Graph,
        *,
        backend: str | Callable[..., Any] | None = None,
        mode: str | None = None,
        options: dict[str, Any] | None = None,
        falls_back: bool = True,
    ) -> None:
        self.graph = graph
        self.falls_back = falls_back
        self.is_of_sizes = False
        self.captures = graph.captures
        self.written = graph.written
        inductor.check_backend(backend)
        self._backend = backend
        self._options = options
        self._mode = mode
        if mode is not None or options:
            _ = self._settings  # raises for an unknown setting
        self._programs: dict[Any, Program] = {}
        self._begun: dict[Any, Future[Any]] = {}
        self._operations = loops.by_python(graph.module) if loops.has_control_flow(graph.module) else graph.module

    @functools.cached_property
    def _settings(self) -> dict[str, Any] | None:
        """The backend's settings. Those of Inductor need its import, which takes long."""
        return inductor.options_of(self._mode, self._options) if self._backend in (None, "inductor") else self._options

    def program(self, tensors: Sequence[Tensor]) -> Program:
        """Return the program for these inputs, arguments and then captures; compile it when it is first needed.

        The program takes all inputs of the same signature, in a list.
        """
        tracked = self._tracked(tensors)
        if tracked not in self._programs:
            with traces.scope():
                self._programs[tracked] = _holding(self._made(tracked, tensors), self.graph.calls)
            if self.graph.sizes is not None:
                self.graph.sizes.settle()  # a compiler assumes more about them
        return self._programs[tracked]

    def _made(self, tracked: tuple[Any, ...], tensors: Sequence[Tensor]) -> Program:
        if not tracked:
            return self._or_eager(self._make_plain)
        if self._updates(tensors):
            return _without_gradients(self._or_eager(self._make_plain))
        if traces.has_recording(self.graph.module):
            return _without_derivatives(_without_gradients(self._or_eager(self._make_plain)))
        return self._keeping(self._or_eager(lambda: self._make_differentiable(tracked)))

    def _keeping(self, program: Program) -> Program:
        """A program whose gradients see no later writes to NumPy's arrays, which torch does not watch."""
        first = len(self.graph.inputs) - len(self.captures)
        read = [index for index in range(first, len(self.graph.inputs)) if index not in self.written]
        if not read:
            return program

        def run(tensors: list[Tensor]) -> Sequence[Tensor]:
            written = {storage_of(tensors[index]) for index in self.written}
            for index in read:
                is_borrowed = not tensors[index].untyped_storage().resizable()
                if is_borrowed and storage_of(tensors[index]) not in written:
                    tensors[index] = tensors[index].clone()
            return program(tensors)

        return run

    def values_of(self, nodes: list[Node], tensors: Sequence[Tensor]) -> Sequence[Tensor]:
        """Return the values of nodes with new memory from a program like this one."""
        module = graph_copies.duplicate(self.graph.module, nodes)
        results: list[Node] = list(module.graph.output_node().args[0])  # type: ignore[arg-type]
        outputs = [Output(False, index) for index in range(len(results))]
        other = copy.copy(self)
        other.graph = replace(self.graph, module=module, outputs=outputs, results=results)
        other._operations, other._programs = module, {}
        return other.program(tensors)(list(tensors))

    def misses_rule(self, tensors: Sequence[Tensor]) -> bool:
        """Whether these inputs are differentiated, and the graph has lost a derivative of the program's own."""
        return bool(self.graph.rules) and any(self._tracked(tensors))

    def can_open(self) -> bool:
        """Whether code for open sizes would save work: elementwise code is quick, and is that of all sizes."""
        return self.is_of_sizes and self.may_open()

    def may_open(self) -> bool:
        """Whether there can be code for open sizes."""
        module = self.graph.module
        return (
            not self.graph.calls
            and not loops.has_control_flow(module)
            and not random_inputs.is_there(module)
            and not traces.has_recording(module)
            and all(tensor.device.type == "cpu" for tensor in self.graph.inputs)
        )

    def shapes(self) -> list[Any]:
        """Return the shapes of the inputs, arguments and then captures."""
        return [tensor.shape for tensor in self.graph.inputs]

    def suits(self, tensors: Sequence[Tensor]) -> bool:
        """Whether the graph, which has the signature of these arguments, also fits their symbolic sizes."""
        return self.graph.sizes is None or self.graph.sizes.holds(*tensors)

    def matching(self, tensors: Sequence[Tensor]) -> Callable[..., bool]:
        """Return a check whether other inputs fit the program of these; it may refuse without need."""
        if not tensors:  # only a tensor shows that a trace or a transform is under way
            always = same_signature([_ANY])
            return lambda: always(_ANY)
        if self.graph.sizes is None:
            return same_signature(tensors)
        return self.graph.sizes.matching(tensors, len(tensors) - len(self.captures))

    def problem(self, tensors: Sequence[Tensor]) -> Exception | None:
        """Return the error of the traced operations where machine code failed, which says more; they run on copies."""
        try:
            self._operations(*[tensor.detach().clone() for tensor in tensors])
        except Exception as error:
            return error
        return None

    def is_ready(self, tensors: Sequence[Tensor]) -> bool:
        """Whether :meth:`program` needs no compiling."""
        return self._tracked(tensors) in self._programs

    def _tracked(self, tensors: Sequence[Tensor]) -> tuple[Any, ...]:
        """Return the inputs that gradients flow to, and whether one is a leaf that is written; empty without any."""
        tracked = tuple([tensor.requires_grad for tensor in tensors])
        if True not in tracked or not torch.is_grad_enabled():
            return ()
        return (*tracked, self._updates(tensors))

    def _updates(self, tensors: Sequence[Tensor]) -> bool:
        """Whether a leaf is written to, which a function can only do with gradients turned off."""
        return any(tensors[index].requires_grad and tensors[index].is_leaf for index in self.written)

    def _eager(self, tensors: list[Tensor]) -> Sequence[Tensor]:
        return self.operations(tensors)(*tensors)

    def operations(self, tensors: Sequence[Tensor]) -> GraphModule:
        """The operations that run one by one for these inputs."""
        is_recorded = torch.is_grad_enabled() and any(tensor.requires_grad for tensor in tensors)
        if self._overlap(tensors):
            return self._of_overlapping
        return self._recorded if is_recorded else self._operations

    def _overlap(self, tensors: Sequence[Tensor]) -> bool:
        """Whether the graph writes to an input that overlaps another one."""
        written = self.graph.written
        return bool(written) and len(tensors) > 1 and aliasing.overlap(tensors, written)

    @functools.cached_property
    def _of_overlapping(self) -> GraphModule:
        """Return the operations in a form that reads what one input shares with another before it writes.

        Raises
        ------
        OverlapError
            The order of reads and writes inside of a branch, a loop or a batch is lost.
        """
        if self.graph.has_batched_writes or loops.has_control_flow(self.graph.module):
            raise aliasing.OverlapError
        return graph_copies.of_overlapping(self._recorded, aliasing.targets)

    @functools.cached_property
    def _recorded(self) -> GraphModule:
        """Return the operations in a form that autograd can record."""
        return graph_copies.recordable(self._operations, aliasing.targets)

    def _or_eager(self, make: Callable[[], Program]) -> Program:
        if self._backend == "eager":
            return self._eager
        try:
            return make()
        except Exception as error:  # the graph still runs after any failure of a compiler
            trace_state.raise_of_signal(error)
            if not self.falls_back:
                raise
            cause = _cause(error)
            if cause not in warned and self._backend in (None, "inductor"):
                # The cache on disk may be broken, full or read-only.
                try:
                    with inductor.another_cache() as old:
                        program = make()
                    _warn_once(f"compiles in a temporary directory, because {old} can't be used", cause)
                    return program
                except Exception as again:
                    trace_state.raise_of_signal(again)
            _warn_once("runs the traced operations one by one, because compiling them failed", cause)
            return self._eager

    def _through_backend(self) -> Program:
        keywords: dict[str, Any] = {"dynamic": self.graph.sizes is not None}
        if self._mode is not None:
            keywords["mode"] = self._mode
        if self._settings:
            keywords["options"] = self._settings
        return inductor.through_backend(graph_copies.duplicate(self.graph.module), self._backend, **keywords)

    def _make_differentiable(self, tracked: tuple[Any, ...]) -> Program:
        if self._backend not in (None, "inductor"):
            return self._through_backend()
        if self.graph.written or loops.has_control_flow(self.graph.module):
            return self._eager  # a write to a tensor that gradients flow through: autograd itself has all the rules
        mode, inputs = self._stand_ins()
        for tensor, tracks in zip(inputs, tracked[:-1], strict=True):
            tensor.requires_grad_(tracks)
        module = graph_copies.duplicate(self.graph.module)
        drawn = random_inputs.taken_out(module)
        settings = self._settings_of(module)
        self.is_of_sizes = True
        inputs += [traces.like(mode, tensor) for _, tensor in drawn]
        program = random_inputs.before(inductor.differentiable(module, inputs, settings, TABLE), drawn)
        # torch's compiled derivatives can't be differentiated, which nested recordings need.
        return lambda tensors: self._eager(tensors) if autodiff.is_inner() else program(tensors)

    def _make_plain(self) -> Program:
        graph = self.graph
        if self._backend not in (None, "inductor"):
            return self._through_backend()
        if graph.outputs is None:
            return self._eager
        run = self._compiled() if self._has_work else lambda tensors: ()
        if run is None:
            return self._eager
        if not graph.written and all(not output.of_input and output.geometry is None for output in graph.outputs):
            if [output.index for output in graph.outputs] == list(range(len(graph.results))):
                return run
        return self._with_outputs(run, graph.outputs)

    @functools.cached_property
    def _has_work(self) -> bool:
        """Whether the graph computes a result, writes, or checks values; it may only give views of its arguments."""
        graphs = [module.graph for module in self.graph.module.modules() if isinstance(module, GraphModule)]
        return bool(self.graph.results or self.graph.written) or any(
            node.op == "call_function" and node.is_impure() for graph in graphs for node in graph.nodes
        )

    def _stand_ins(self) -> tuple[traces.FakeTensorMode, list[Tensor]]:
        """Return fresh inputs without data, and their mode."""
        sizes = self.graph.sizes
        mode = traces.new_fake_mode() if sizes is None else sizes.mode()
        traces.allow_loops(mode, values=True)
        return mode, [traces.like(mode, tensor) for tensor in self.graph.inputs]

    def _settings_of(self, module: GraphModule) -> dict[str, Any]:
        """Return Inductor's settings for a graph; a graph that holds a generator never comes from the cache on disk.

        A cached graph would have a copy of the generator, which no seed would reach.
        """
        settings = self._settings or {}
        return {**settings, "fx_graph_cache": False} if random_inputs.is_there(module) else settings

    def key(self) -> str | None:
        """Return the name of the machine code on disk; None for what is not kept there."""
        return code_cache.key(self.graph, self._mode, self._options)

    def _compiled(self) -> Program | None:
        """Return a program that gives the graph's results; None if its operations should run one by one."""
        own = self._by_gcc()
        if own is not None:
            return own
        module = self.graph.module
        strided = module.graph.find_nodes(op="call_function", target=aten.as_strided.default)
        if strided and loop_lowering.has_complex(module):
            return None  # Inductor calls each operation, too, and loses writes to such views of complex numbers
        self.is_of_sizes = True
        key = self.key()
        known = None if key is None else code_cache.load(key, self.graph.sizes)
        if known is None:
            return self._by_inductor(key)
        return loop_lowering.raising(known) if loop_lowering.has_loops(self.graph.module) else known

    def _by_gcc(self) -> Program | None:
        """Return a program that needs no Inductor; None if the graph has none."""
        if self._mode is not None or self._options:
            return None
        whole = whole_calls.program(self.graph)
        if whole is not None and whole_calls.has_many_elements(self.graph):
            return whole
        own = elementwise_code.program(self.graph)
        if own is None and (self._backend is None or loops.has_control_flow(self.graph.module)):
            own = loop_programs.program(self.graph)
            compiles_slowly = loops.has_control_flow(self.graph.module) or loop_lowering.has_complex(self.graph.module)
            self.is_of_sizes = own is not None and not compiles_slowly
        return own or whole

    def _by_inductor(self, key: str | None) -> Program:
        """Compile the graph by Inductor, and keep the code on disk under its key."""
        graph = self.graph
        mode, inputs = self._stand_ins()
        module = graph_copies.duplicate(graph.module, graph.results)
        has_lowered = loop_lowering.lower(module)
        with mode:
            pure = inductor.functional(module, inputs, IN_PROCESS, self._settings or {})
        loops.unroll(pure)
        whole_calls.choose(pure)
        drawn = random_inputs.taken_out(pure)
        settings = self._settings_of(pure)
        inputs += [traces.like(mode, tensor) for _, tensor in drawn]
        code = inductor.compiled(pure, inputs, mode, settings)
        if key is not None and not drawn:
            code_cache.store(key, code, graph)
        program = random_inputs.before(code, drawn)
        return loop_lowering.raising(program) if has_lowered else program

    # -----------------------------------------------------------------------------------------------------------------
    # In the background

    @functools.cached_property
    def by_operations(self) -> Executable:
        """An executable of the same graph that runs its operations one by one."""
        other = copy.copy(self)
        other._backend, other._programs, other._begun = "eager", {}, {}
        return other

    def begun(self, tensors: Sequence[Tensor]) -> Future[Any] | None:
        """Return what waits for the code for these inputs in the background; None if nothing does."""
        return self._begun.get(self._tracked(tensors))

    def begin(self, tensors: Sequence[Tensor], finish: Callable[[], Any]) -> Future[Any]:
        """Compile for these inputs in the background, in another process if that can be.

        The thread that waits calls ``finish`` in the end, which finds the code on disk or compiles it.
        """
        tracked = self._tracked(tensors)

        def run() -> None:
            self._prepare(tracked)
            finish()

        self._begun[tracked] = begun = compile_workers.in_background(run)
        return begun

    def end(self, tensors: Sequence[Tensor]) -> None:
        """Forget what waited; the next call of :meth:`begin` may begin anew."""
        self._begun.pop(self._tracked(tensors), None)

    def _prepare(self, tracked: tuple[Any, ...]) -> None:
        """Compile where it hinders nobody: by g++ alone, or in another process, which leaves the code on disk."""
        graph = self.graph
        if tracked or self._backend not in (None, "inductor") or graph.outputs is None or graph.sizes is not None:
            return
        if not self._has_work or self._by_gcc() is not None:
            return
        key = self.key()
        if key is not None and not code_cache.holds(key):
            compile_workers.compiled_elsewhere(graph_forms.form_of(graph), key, self._mode, self._options)

    def compile_for_disk(self) -> None:
        """Compile the graph by Inductor, in the other process."""
        with traces.scope():
            self._by_inductor(self.key())

    def _with_outputs(self, run: Program, outputs: list[Output]) -> Program:
        written = self.graph.written
        strides = [node.meta["val"].stride() for node in self.graph.results]
        viewed = {output.index for output in outputs if not output.of_input and output.geometry is not None}
        layout = self._layout(outputs, strides)
        if layout is None and not written and not viewed:
            return _showing(run, outputs)

        def program(tensors: list[Tensor]) -> Sequence[Tensor]:
            if self._overlap(tensors):
                return self._eager(tensors)
            inputs = tuple(tensors)
            if written and trace_state.state.first_run is not None:
                trace_state.state.first_run.writes([inputs[index] for index in written])
            found_outputs, found_strides = (outputs, strides) if layout is None else layout(inputs)
            results = list(run(tensors))
            for index in written:
                if not inputs[index].is_inference():
                    torch.autograd.graph.increment_version(inputs[index])  # tells autograd of the write
            for index in viewed:
                if results[index].stride() != found_strides[index]:
                    results[index] = _restrided(results[index], found_strides[index])
            found = []
            for output in found_outputs:
                base = inputs[output.index] if output.of_input else results[output.index]
                found.append(base if output.geometry is None else aliasing.viewed(base, *output.geometry))
            return found

        return program

    def _layout(self, outputs: list[Output], strides: list[Any]) -> Any:
        """For symbolic sizes, return a function that computes ``outputs`` and ``strides`` from the inputs."""
        sizes = self.graph.sizes
        if sizes is None:
            return None
        # Not None for outputs without a geometry: it would count as one of the numbers.
        form = [() if output.geometry is None else output.geometry[1:] for output in outputs], strides
        numbers, spec = trees.flatten(form)
        formula = sizes.formula(numbers)

        def layout(tensors: Sequence[Tensor]) -> tuple[list[Output], list[Any]]:
            geometries, strides = trees.unflatten(formula(*tensors), spec)
            found = [
                output if output.geometry is None else replace(output, geometry=(output.geometry[0], *geometry))
                for output, geometry in zip(outputs, geometries, strict=True)
            ]
            return found, strides

        return layout


def _showing(run: Program, outputs: list[Output]) -> Program:
    """Return a program whose outputs are its inputs, its results, and views of the inputs."""
    shown = [(output.of_input, output.index, output.geometry) for output in outputs]

    def program(tensors: list[Tensor]) -> Sequence[Tensor]:
        inputs = [*tensors]  # a program may empty its list
        results = run(tensors)
        found = []
        for of_input, index, geometry in shown:
            base = inputs[index] if of_input else results[index]
            found.append(base if geometry is None else aliasing.viewed(base, *geometry))
        return found

    return program


def _holding(program: Program, calls: list[host_calls.HostCall]) -> Program:
    """Return a program that keeps what it calls alive."""

    def run(tensors: list[Tensor], kept: list[host_calls.HostCall] = calls) -> Sequence[Tensor]:
        return program(tensors)

    return run if calls else program


class _NoDerivatives(torch.autograd.Function):
    """Results that depend on other tensors, and can't be differentiated."""

    @staticmethod
    def forward(ctx: Any, count: int, *tensors: Any) -> Any:
        ctx.line = trace_state.user_line()
        return tensors[:count]

    @staticmethod
    def backward(ctx: Any, *_: Any) -> Any:
        raise NotImplementedError(
            f"{ctx.line}: a compiled function that records a GradientTape has no derivatives: use tnp.grad there "
            "instead of the tape"
        )

    jvp = backward


def _without_derivatives(program: Program) -> Program:
    """Return a program whose results raise where their derivatives are taken."""

    def run(tensors: list[Tensor]) -> Sequence[Tensor]:
        inputs = list(tensors)  # a program may empty its list
        results = program(tensors)
        return list(_NoDerivatives.apply(len(results), *results, *inputs))

    return run


def _without_gradients(program: Program) -> Program:
    @torch.no_grad()
    def run(tensors: list[Tensor]) -> Sequence[Tensor]:
        return program(tensors)

    return run


def _restrided(tensor: Tensor, stride: tuple[int, ...]) -> Tensor:
    return torch.empty_strided(tensor.shape, stride, dtype=tensor.dtype, device=tensor.device).copy_(tensor)


warned: set[str] = set()  # the causes of a fallback that were reported


def _cause(error: Exception) -> str:
    """Return an error's text without Inductor's names of files and modules, which differ between graphs."""
    lines = [line for line in str(error).splitlines() if line.strip()]
    return re.sub(r"\bc[a-z2-7]{51}\b", "...", f"{type(error).__name__}: {lines[0] if lines else ''}")


def _warn_once(what: str, cause: str) -> None:
    if cause not in warned:
        warned.add(cause)
        trace_state.warn(f"tnp.compile {what}: {cause}")
