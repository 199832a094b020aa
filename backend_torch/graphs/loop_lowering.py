"""Lower each loop of a graph to one C++ function: no Python, no dispatcher and no allocation between steps.

Layer: owns the order of a loop's statements, what each statement writes, and which memory holds a carried value. An
operation that can't be lowered raises `Unsupported`; its loop then stays in the graph as it was.
"""

from __future__ import annotations

import itertools
import json
import logging
import math
import operator
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch.fx import GraphModule, Node

from backend_torch.graphs import host_calls, loops
from backend_torch.graphs.decompositions import TABLE
from backend_torch.graphs.loop_code import (
    CTYPES,
    Buffer,
    Call,
    Code,
    Lazy,
    Unsupported,
    Value,
    View,
    constant,
    places_read,
    plain,
)
from backend_torch.graphs.loop_operations import (
    EMPTY,
    IN_PLACE_VIEWS,
    REINTERPRETING,
    Operation,
    broadcast,
    cast,
    indexed,
    operand,
)
from backend_torch.graphs.loop_prelude import OPERATIONS, TORCH
from backend_torch.kernels import indexing, linalg, open_slices, sorting
from backend_torch.tensors import aliasing, trace_state
from backend_torch.torch_private import inductor, inductor_loops, messages, traces, trees
from backend_torch.torch_private.inductor import Program
from backend_torch.torch_private.operators import schema_of
from backend_torch.torch_private.tensor_internals import storage_of

Tensor = torch.Tensor
aten = torch.ops.aten
higher_order = torch.ops.higher_order
_LOOPS = (higher_order.while_loop, higher_order.scan)
_log = logging.getLogger(__name__)
_ASSERT = aten._assert_async.msg
_CHECK = aten._linalg_check_errors.default
_MOST_NODES = 2000
_LONG = 200  # operations in one expression, at most about: the parts of complex numbers repeat theirs
_LARGE_ELEMENTWISE = 1 << 16  # an elementwise loop that carries more elements is not lowered: it uses many threads
COMPLEX = 1 << 20  # elements of an array, at most, in a graph with complex numbers: Inductor calls each operation
_LARGE = 1 << 24  # a loop with an input of more elements is not lowered: its steps use libraries or many threads


def has_loops(module: GraphModule) -> bool:
    """Whether a graph has loops, which may be lowered."""
    return any(node.target in _LOOPS for node in module.graph.nodes)


def lower(module: GraphModule) -> bool:
    """Replace loops of a graph by calls of their C++ functions; return whether any was replaced."""
    found = False
    for node in list(module.graph.nodes):
        if node.target not in _LOOPS:
            continue
        try:
            kernel = lowered(module, node)
        except Exception as reason:  # Unsupported, or arguments that no lowering expects: the loop stays as it was
            trace_state.raise_of_signal(reason)
            _log.debug("a loop's steps are called one by one: %s", reason)
            continue
        found = True
        with module.graph.inserting_before(node):
            call = inductor_loops.call(module.graph, kernel.inputs, kernel.source, kernel.types, kernel.outputs)
            for position, index in enumerate(kernel.results):
                result = module.graph.call_function(operator.getitem, (call, position))
                for user in [user for user in node.users if user.args[1] == index]:
                    user.replace_all_uses_with(result)
        for user in list(node.users):
            module.graph.erase_node(user)
        module.graph.erase_node(node)
    if found:
        module.graph.eliminate_dead_code()
        module.recompile()
    return found


def has_complex(module: GraphModule) -> bool:
    """Whether a graph computes complex numbers."""
    values = [node.meta.get("val") for node in module.graph.nodes if node.op == "call_function"]
    return any(isinstance(value, Tensor) and value.is_complex() for value in values)


def raising(program: Program) -> Program:
    """Wrap a program so that its loops raise their own errors, which Inductor's functions turn into RuntimeError."""

    def run(tensors: list[Tensor]) -> Sequence[Tensor]:
        try:
            return program(tensors)
        except RuntimeError as error:
            if (found := messages.of_loop(error)) is error:
                raise
            raise found from None

    return run


@dataclass
class Kernel:
    """A loop as a C++ function ``kernel(inputs..., outputs...)``.

    Attributes
    ----------
    source : str
    types : list of str
        The C++ types of the parameters.
    inputs : list of Node
        The nodes of the surrounding graph that it reads.
    results : list of int
        Positions of the loop's results that it computes.
    outputs : list of Tensor
        Tensors of these results' shapes and dtypes.
    """

    source: str
    types: list[str]
    inputs: list[Node]
    results: list[int]
    outputs: list[Tensor]


def lowered(module: GraphModule, node: Node) -> Kernel:
    """Lower a loop of a graph.

    Raises
    ------
    Unsupported
        An operation of the loop can't be lowered, or its steps run faster as they are.
    """
    _check_size(module, node)
    code = Code()
    users = sorted({int(user.args[1]) for user in node.users if user.users})  # type: ignore[arg-type]
    inputs: list[Node] = []
    types: list[str] = []
    known: dict[Node, Value] = {}
    written = {_storage(target.meta.get("val")) for each in module.graph.nodes for target in aliasing.targets(each)}

    def given(operand: Node) -> Value:
        if operand not in known:
            is_written = _storage(operand.meta.get("val")) in written
            known[operand] = (None if is_written else _literal(operand)) or _input(operand)
        return known[operand]

    def _input(operand: Node) -> View:
        example = _tensor(operand)
        if example.numel() > _LARGE:
            raise Unsupported("an array is large")
        inputs.append(operand)
        buffer = Buffer(f"in{len(inputs) - 1}", example.dtype, example.numel(), constant=True, pointer=True)
        types.append(f"const {buffer.ctype}*")
        shape = tuple(example.shape)
        return View(buffer, shape, plain(shape))

    examples = list(node.meta["val"])
    outputs = [examples[index] for index in users]
    for example in outputs:
        _check(example)
        types.append(f"{CTYPES[example.dtype]}*")
    targets = {index: f"out{position}" for position, index in enumerate(users)}
    frame = _Frame(code, module)
    arguments = _map(node.args, given)
    results = frame.loop(node, arguments, targets)
    _returned(code, [results[index] for index in users], list(targets.values()))
    types = [text for text in types if text.startswith("const")] + [t for t in types if not t.startswith("const")]
    names = [f"in{i}" for i in range(len(inputs))] + [f"out{i}" for i in range(len(outputs))]
    parameters = ", ".join([f"{ctype} {name}" for ctype, name in zip(types, names, strict=True)])
    text = f'{code.function(parameters)}extern "C" void kernel({parameters}) {{ loops({", ".join(names)}); }}\n'
    return Kernel(TORCH + OPERATIONS + text, types, inputs, users, outputs)


def whole(
    module: GraphModule, examples: Sequence[Tensor], written: frozenset[int]
) -> tuple[Code, list[Buffer], list[Buffer]]:
    """A graph as one C++ function: its code, its inputs and its results.

    Raises
    ------
    Unsupported
    """
    if host_calls.has_effects(module):
        raise Unsupported("it calls the host")
    storages = set(map(storage_of, examples))
    if written and len(storages) < len(examples):
        raise Unsupported("an input that is written to may be another's memory")
    most = COMPLEX if has_complex(module) else _LARGE_ELEMENTWISE
    for node in module.graph.nodes:
        _check_size(module, node, most)
    code = Code()
    if loops.has_control_flow(module):
        code.calls = []
        for graph in [each for each in module.modules() if isinstance(each, GraphModule)]:
            linalg.choose(graph)
            sorting.choose(graph, long_alone=True)
    given, results = [], []
    for index, example in enumerate(examples):
        _check(example)
        if example.is_conj() or example.is_neg() or example.numel() > _LARGE:
            raise Unsupported("an input is large, or not what its memory holds")
        is_written = index in written
        buffer = Buffer(f"in{index}", example.dtype, example.numel(), not is_written, pointer=True, given=is_written)
        given.append(View(buffer, tuple(example.shape), example.stride()))
    frame = _Frame(code, module, [view.buffer for view in given if view.buffer.given])
    values = frame.run(given)
    for index, (value, node) in enumerate(zip(values, module.graph.output_node().args[0], strict=True)):  # type: ignore[arg-type]
        example = _tensor(node)
        buffer = Buffer(f"out{index}", example.dtype, example.numel(), pointer=True)
        view = View(buffer, tuple(example.shape), example.stride())
        if not (view.is_whole and code.placed(_like(value, view), buffer)):
            code.store(view, _like(value, view))
        results.append(buffer)
    return code, [view.buffer for view in given], results


_WITHOUT_WORK = {aten.clone, aten.copy_, aten.full, aten.zeros, aten.ones, *EMPTY}


def _check_size(module: GraphModule, node: Node, most: int = _LARGE_ELEMENTWISE) -> None:
    """Raise Unsupported for work beside loops that many threads do better."""
    if loops.is_elementwise(module, node):
        if sum([e.numel() for e in node.meta["val"]]) > most:
            raise Unsupported("an elementwise loop over a large array is faster with many threads")
    elif schema_of(node.target) is not None and getattr(node.target, "overloadpacket", None) not in _WITHOUT_WORK:
        value = node.meta.get("val")
        of_another = any(_storage(value) == _storage(each.meta.get("val")) for each in node.all_input_nodes)
        if isinstance(value, Tensor) and not of_another and value.numel() > most:
            raise Unsupported("work beside its loops is for many threads")


def _returned(code: Code, results: Sequence[View], targets: Sequence[str]) -> None:
    """Copy results to their outputs. After exchanges of memory, one result may be in the output of another."""
    moved = [(r.buffer, target) for r, target in zip(results, targets, strict=True) if r.buffer.name != target]
    pointers = [(buffer, target) for buffer, target in moved if buffer.pointer]
    for buffer, target in pointers:
        others = [other for other in targets if other != target]
        if code.permuted and others:
            spare = code.buffer(buffer.dtype, buffer.size)
            taken = " || ".join([f"(const void*){buffer.name} == {other}" for other in others])
            code.open(f"if ({taken})")
            code.line(f"std::memcpy({spare.name}, {buffer.name}, {buffer.size} * sizeof({buffer.ctype}));")
            code.line(f"{buffer.name} = {spare.name};")
            code.close()
    for buffer, target in moved:
        differs = f"if ({buffer.name} != {target}) " if buffer.pointer else ""
        code.line(f"{differs}std::memcpy({target}, {buffer.name}, {buffer.size} * sizeof({buffer.ctype}));")


def _check(example: Any) -> None:
    if not isinstance(example, Tensor):
        raise Unsupported("an operand is not an array")
    if example.device.type != "cpu" or example.dtype not in CTYPES:
        raise Unsupported(f"it has {example.dtype} on {example.device}")
    if not all(isinstance(size, int) for size in example.shape):
        raise Unsupported("sizes are left open")


def _tensor(node: Node) -> Tensor:
    return _one(node.meta.get("val"))


def _literal(node: Node) -> Value | None:
    """Return the value of a node that fills an array with one number; None for other nodes."""
    if node.op != "call_function":
        return None
    if node.target is aten.full.default and isinstance(node.args[1], (bool, int, float)):
        value: Any = node.args[1]
    elif node.target is aten.zeros.default:
        value = 0
    else:
        return None
    example = _tensor(node)
    return constant(value, example.dtype, tuple(example.shape))


def _map(argument: Any, function: Any) -> Any:
    if isinstance(argument, Node):
        return argument if argument.op == "get_attr" else function(argument)
    if isinstance(argument, (list, tuple)):
        return type(argument)([_map(each, function) for each in argument])
    return argument


def _storage(value: Any) -> int | None:
    return storage_of(value) if isinstance(value, Tensor) else None


class _Frame:
    """Translates the operations of one graph to statements.

    Parameters
    ----------
    code : Code
    module : GraphModule
    owned : iterable of Buffer
        Memory from outside that the graph may write to: the carried values.
    """

    def __init__(self, code: Code, module: GraphModule, owned: Sequence[Buffer] = ()) -> None:
        self.code = code
        self.module = module
        self.owned = set(owned)
        self.values: dict[Node, Any] = {}
        self.last: dict[Node, int] = {}
        self.last_of_memory: dict[int, int] = {}
        self.mutated: set[int] = set()
        self.position = -1
        self.nodes: list[Node] = []

    # -- the graph ----------------------------------------------------------------------------------------------------

    def run(self, arguments: Sequence[Value]) -> list[Value]:
        """Translate the graph; return the values of its results."""
        _add_in_place(self.module)
        _write_in_order(self.module)
        nodes = _alive(self.module)
        if len(nodes) > _MOST_NODES:
            raise Unsupported("it is long")
        self.nodes = nodes
        for position, node in enumerate(nodes):
            for used in node.all_input_nodes:
                self.last[used] = position
                storage = _storage(used.meta.get("val"))
                if storage is not None:
                    self.last_of_memory[storage] = position
            if node.op == "call_function" and node.target not in IN_PLACE_VIEWS:
                self.mutated.update(
                    storage for each in aliasing.targets(node) if (storage := _storage(each.meta.get("val")))
                )
        values = iter(arguments)
        for self.position, node in enumerate(nodes):
            if node.op == "placeholder":
                value = next(values)
                is_written = _storage(node.meta.get("val")) in self.mutated
                self.values[node] = value if is_written or math.prod(value.shape) != 1 else self.code.scalar(value)
            elif node.op == "output":
                returned: Any = node.args[0]
                returned = list(returned) if isinstance(returned, (list, tuple)) else [returned]
                return [self.value(each) for each in returned]
            elif node.op == "call_function":
                self.values[node] = self.done(node)
            elif node.op != "get_attr" or not isinstance(getattr(self.module, str(node.target)), GraphModule):
                raise Unsupported(f"{node.op} is not lowered")
        raise AssertionError("a graph has an output")

    def value(self, node: Any) -> Any:
        """Return the value of a node."""
        if not isinstance(node, Node):
            raise Unsupported("a result is not an array")
        return self.values[node]

    def done(self, node: Node) -> Any:
        """Translate one operation."""
        target: Any = node.target
        if target is operator.getitem:
            return self.value(node.args[0])[node.args[1]]
        args = _map(node.args, self.value)
        if target in _LOOPS:
            return self.loop(node, args, {})
        if target is higher_order.cond:
            return self.branch(node, args)
        if target is _ASSERT:
            text = json.dumps(args[1])
            self.code.line(f"if (!{args[0].at(['0'] * len(args[0].shape))}) op::fail(op::RuntimeError, {text});")
            return None
        if target is _CHECK:
            return self.called(target, args, dict(node.kwargs), [], ())
        schema = schema_of(target)
        if schema is None:
            raise Unsupported(f"{target} is not lowered")
        kwargs = {name: _map(value, self.value) for name, value in node.kwargs.items()}
        if schema.is_mutable and target not in IN_PLACE_VIEWS:
            return self.mutation(node, args, kwargs)
        example = node.meta.get("val")
        if isinstance(example, (list, tuple)):
            read = [user.args[1] for user in node.users if user.target is operator.getitem]
            return self.computed(target, args, kwargs, [_one(each) for each in example], read)
        example = _tensor(node)
        shape = tuple(example.shape)
        storage = _storage(example)
        is_mutated = storage in self.mutated
        if target.overloadpacket in EMPTY:
            if not is_mutated and not _is_used_to_write(node):
                return constant(0, example.dtype, shape)
            return self.own(self.code.new(example.dtype, shape))
        if target is aten.clone.default and is_mutated:
            adopted = self.adopted(args[0], node.args[0])
            if adopted is not None:
                return adopted
        if target in (aten.index_put.default, open_slices.WRITTEN) or target in _SCATTERS:
            given = node.args[1] if target is open_slices.WRITTEN else None  # the write takes care of what it reads
            written = self.own(self.adopted(args[0], node.args[0], given) or self.code.as_new(args[0]))
            if target is aten.index_put.default:
                self.put(written, *args[1:], **kwargs)
            elif target is open_slices.WRITTEN:
                self.put_in_slices(written, *args[1:])
            else:
                source = _tensor(node.all_input_nodes[1])
                view = self.computed(_SCATTERS[target], [written, *args[2:]], kwargs, [source])
                self.write(view, cast(args[1], view.dtype))
            return written
        if target is aten.as_strided.default:
            base = _tensor(node.all_input_nodes[0])
            if _is_reshaped(example, base):
                target, args = aten.view.default, (args[0], shape)
            elif parts := _parts(example, base):  # a slice, as functionalization writes it
                part = torch.empty(base.shape, dtype=base.dtype, device="meta")
                for dim, start, stop in parts[:-1]:
                    part = part[(slice(None),) * dim + (slice(start, stop),)]
                    args = (self.computed(aten.slice.Tensor, (args[0], dim, start, stop), {}, [part]),)
                target, args = aten.slice.Tensor, (args[0], *parts[-1])
        value = self.computed(target, args, kwargs, [example])
        if value.shape != shape or value.dtype is not example.dtype:
            raise Unsupported(f"{target} gives {value.dtype}{value.shape}, not {example.dtype}{shape}")
        if any(_storage(each.meta.get("val")) == storage for each in node.all_input_nodes):
            if is_mutated and not (isinstance(value, View) and not value.copied):
                raise Unsupported("a view of what is written to is computed")
            return value
        if isinstance(value, View) and not _reads(args, value.buffer):
            self.own(value)  # its memory is new
        if is_mutated:
            return self.own(self.code.as_new(value))
        if math.prod(shape) == 1:
            return self.code.scalar(value)
        if isinstance(value, Lazy) and value.cost and (len(node.users) > 1 or value.cost > _LONG):
            return self.own(self.code.as_new(value))
        return value

    def computed(
        self, target: Any, args: Any, kwargs: dict[str, Any], examples: Sequence[Tensor], read: Sequence[Any] = (0,)
    ) -> Any:
        """Return the result of an operation without writes; call torch's if it can't be lowered."""
        undo = self.code.undone()
        try:
            return self.composed(target, args, kwargs, examples, read)
        except Unsupported:
            if not _is_callable(target):
                raise
            undo()
            return self.called(target, args, kwargs, examples, read)

    def called(
        self, target: Any, args: Any, kwargs: dict[str, Any], examples: Sequence[Tensor], read: Sequence[Any]
    ) -> Any:
        """Return the result of an operation that torch computes."""
        if self.code.calls is None:
            raise Unsupported(f"{target} is not lowered")
        leaves, spec = trees.flatten((args, kwargs))
        operands = [self.code.in_memory(leaf) if isinstance(leaf, (View, Lazy)) else leaf for leaf in leaves]
        results = [
            self.code.new(example.dtype, tuple(example.shape)) if index in read else None
            for index, example in enumerate(examples)
        ]
        call = Call(target, operands, spec, results)
        if any(math.prod(view.shape) > _LARGE_ELEMENTWISE for view in call.memory):
            raise Unsupported("a step of large arrays is for many threads")
        self.code.call(call)
        return results if len(results) != 1 else results[0]

    def composed(
        self, target: Any, args: Any, kwargs: dict[str, Any], examples: Sequence[Tensor], read: Sequence[Any]
    ) -> Any:
        """Return the result of an operation without writes; decompose the operation if it has no lowering."""
        operation = Operation(self.code, target, args, kwargs, examples[0].dtype, tuple(examples[0].shape), read)
        if operation.is_known:
            return operation.lowered()
        if target is linalg.DET:
            raise Unsupported("a library computes determinants")
        leaves, spec = trees.flatten((args, kwargs))
        places = [index for index, leaf in enumerate(leaves) if isinstance(leaf, (View, Lazy))]

        def run(*tensors: Tensor) -> Any:
            filled = list(leaves)
            for place, tensor in zip(places, tensors, strict=True):
                filled[place] = tensor
            filled_args, filled_kwargs = trees.unflatten(filled, spec)
            return target(*filled_args, **filled_kwargs)

        with traces.new_fake_mode():
            inputs = [torch.empty(leaves[place].shape, dtype=leaves[place].dtype) for place in places]
            module = inductor.decomposed(run, inputs, target, TABLE)
        if any(node.target is target for node in module.graph.nodes):
            raise Unsupported(f"{target} is not lowered")
        values = _Frame(self.code, module).run([self.settled(leaves[place]) for place in places])
        values = [
            self.own(value) if isinstance(value, View) and not _reads(leaves, value.buffer) else value
            for value in values
        ]
        return values if len(examples) > 1 else values[0]

    def own(self, view: View) -> View:
        """Note that this frame may write to a view's memory."""
        self.owned.add(view.buffer)
        return view

    def adopted(self, value: Value, node: Any, given: Any = None) -> View | None:
        """Return a value's own memory to write to instead of a copy, if nothing reads the value later; else None.

        What the operation writes, ``given``, may be computed from the memory.
        """
        if not isinstance(value, View) or not value.is_whole or value.buffer not in self.owned or value.buffer.given:
            return None
        storage = _storage(node.meta.get("val"))
        if storage is None:
            return None
        is_replaced = self.last_of_memory[storage] > self.position
        if is_replaced and not self.is_replaced(node):
            return None
        for other, known in self.values.items():
            last = self.last.get(other, -1)
            if other is given and last == self.position:
                continue
            if other is not node and last >= self.position and _reads(known, value.buffer):
                is_view = not (isinstance(known, Lazy) or getattr(known, "copied", False))
                if last == self.position or (is_view and not is_replaced):
                    return None  # others are lazy values: before_write computes them in time
        return View(value.buffer, value.shape, value.strides)

    def is_replaced(self, node: Node) -> bool:
        """Whether the current operation computes an array's next value, and nothing reads the old one after it."""
        now, storage = self.nodes[self.position], _storage(node.meta.get("val"))
        for later in self.nodes[self.position + 1 :]:
            if later.target in REINTERPRETING and [user.target for user in later.users] == [aten.copy_.default]:
                continue  # the target of a write
            if any(_storage(each.meta.get("val")) == storage for each in later.all_input_nodes):
                if later.target is not aten.copy_.default or not _is_same(later.args[0], node):
                    return False
                source: Any = later.args[1]
                return source is now or (isinstance(source, Node) and now in source.all_input_nodes)
        return False

    # -- writes -------------------------------------------------------------------------------------------------------

    def before_write(self, buffer: Buffer) -> None:
        """Compute the lazy values that read a memory and are needed later, before that memory changes."""
        for node, value in self.values.items():
            if self.last.get(node, -1) <= self.position or not isinstance(value, (View, Lazy)):
                continue
            if buffer in value.reads and (isinstance(value, Lazy) or value.copied):
                self.values[node] = self.own(self.code.as_new(value))

    def mutation(self, node: Node, args: Any, kwargs: dict[str, Any]) -> Any:
        """Translate an operation that writes to its first operand."""
        target: Any = node.target
        written = aliasing.targets(node)
        if len(written) != 1 or written[0] is not node.args[0] or torch.Tag.inplace_view in target.tags:
            raise Unsupported(f"{target} is not lowered")
        view = args[0]
        if not isinstance(view, View) or view.copied or view.buffer not in self.owned:
            raise Unsupported("an operation writes to memory that its graph may not write to")
        packet = target.overloadpacket
        if packet is aten.copy_:
            self.write(view, cast(args[1], view.dtype))
        elif packet is aten.zero_:
            self.write(view, constant(0, view.dtype))
        elif packet is aten.fill_:
            self.write(view, operand(args[1], view.dtype))
        elif packet is aten.index_put_:
            self.put(view, *args[1:], **kwargs)
        elif packet.__name__.endswith("_"):
            functional = getattr(getattr(torch.ops, target.namespace), packet.__name__[:-1])
            overload = getattr(functional, schema_of(target).overload_name or "default")
            example = _tensor(node)
            self.write(view, self.computed(overload, args, kwargs, [example]))
        else:
            raise Unsupported(f"{target} is not lowered")
        return view

    def write(self, view: View, value: Value) -> None:
        """Write a value, of the view's dtype, to memory."""
        buffer = view.buffer
        value = broadcast(value, view.shape)
        if isinstance(value, View) and value.is_at(view):
            return  # computed in place
        self.before_write(buffer)
        if buffer in value.reads and math.prod(view.shape) > 1:
            index = [f"_{axis}" for axis in range(len(view.shape))]
            place = view.place(index)
            if any(read is buffer and at != place for read, at in places_read(value, index)):
                if self.exchanged(view, value):
                    return
                value = self.code.as_new(value)
        self.code.store(view, value)

    def exchanged(self, view: View, value: Value) -> bool:
        """Write a value that reads other elements of its target: into new memory, which then takes the old one's place.

        The elements outside the view are copied. Return False if that does not pay or can't be done.
        """
        buffer, code = view.buffer, self.code
        box = None if view.of_parts else _box(view)
        if not buffer.pointer or buffer.given or box is None or 2 * math.prod(view.shape) < buffer.size:
            return False
        shape, starts = box
        whole = View(buffer, shape, plain(shape))
        other = View(code.buffer(buffer.dtype, buffer.size), shape, plain(shape))
        for axis, start in enumerate(starts):
            for first, last in ((0, start), (start + view.shape[axis], shape[axis])):
                sizes = [*view.shape[:axis], last - first, *shape[axis + 1 :]]
                corner = [*starts[:axis], first, *[0] * (len(shape) - axis - 1)]
                if math.prod(sizes):
                    code.store(_part(other, corner, sizes), _part(whole, corner, sizes))
        code.store(_part(other, starts, view.shape), value)
        code.exchange(buffer, other.buffer)
        return True

    def put(self, view: View, places: Sequence[Any], value: Value, accumulate: bool = False) -> None:
        """Write to the elements at indices (``index_put_``)."""
        value = cast(value, view.dtype)
        for place in places:
            if place is not None and view.buffer in place.reads:
                raise Unsupported("an array is indexed by itself and written to")
        if all(place is None or not place.shape for place in places):
            part = indexed(self.code, view, places, copied=False)
            assert isinstance(part, View)
            if accumulate:
                now = part.like(part.shape, part.strides, copied=False)
                added = Operation(self.code, aten.add.Tensor, [now, value], {}, view.dtype, part.shape).lowered()
                value = added
            if math.prod(part.shape) == 1:
                value = self.code.scalar(value)
            self.write(part, value)
            return
        part = indexed(self.code, view, places, copied=False)
        value = broadcast(value, part.shape)
        self.before_write(view.buffer)
        if view.buffer in value.reads:
            value = self.code.as_new(value)
        shape = tuple(torch.broadcast_shapes(*[place.shape for place in places if place is not None]))

        def check(index: list[str]) -> None:  # before anything is written
            for axis, place in enumerate(places):
                if place is not None:
                    text = broadcast(place, shape).at(index)
                    self.code.line(f"op::place({text}, {view.shape[axis]}, {axis});")

        self.code.loops(shape, check, ordered=True)

        def one(index: list[str]) -> None:
            place, new = part.element(index), value.at(index)
            self.code.line(f"auto& element = {place};")
            self.code.line(f"element = op::add(element, {new});" if accumulate else f"element = {new};")

        self.code.open("")
        self.code.loops(part.shape, one, ordered=True)
        self.code.close()

    def put_in_slices(
        self,
        view: View,
        value: Value,
        starts: Sequence[Value],
        steps: Sequence[Value],
        lengths: Sequence[Value],
        axes: Sequence[int],
        kinds: Sequence[int],
    ) -> None:
        """Write to the elements of slices whose bounds are values (`open_slices.written`)."""
        code, added = self.code, len(view.shape) - len(value.shape)
        moved: dict[int, str] = {}
        sizes: list[int | str] = [*view.shape]
        for axis, kind, *bounds in zip(axes, kinds, starts, steps, lengths, strict=True):
            start, step, sizes[axis] = [code.scalar(each).at(()) for each in bounds]
            if kind != open_slices.FIRST:
                moved[axis] = f"({start} + %s)" if kind == 1 else f"({start} + %s * {step})"
        self.before_write(view.buffer)

        def place(index: Sequence[str]) -> list[str]:
            return [moved[axis] % i if axis in moved else i for axis, i in enumerate(index)]

        def given(index: Sequence[str]) -> list[str]:
            return ["0" if size == 1 else i for size, i in zip(value.shape, index[added:], strict=True)]

        index = [f"_{axis}" for axis in range(len(sizes))]
        read = places_read(value, given(index))
        if any(buffer is view.buffer and at != view.place(place(index)) for buffer, at in read):
            now, value = value, code.new(value.dtype, value.shape)
            counts = [1 if own == 1 else size for own, size in zip(now.shape, sizes[added:], strict=True)]
            code.loops(counts, lambda index: code.line(f"{value.element(index)} = {now.at(index)};"))
        code.loops(sizes, lambda index: code.line(f"{view.element(place(index))} = {value.at(given(index))};"))

    # -- branches and loops -------------------------------------------------------------------------------------------

    def branch(self, node: Node, args: Any) -> list[View]:
        """Translate ``cond``; return the results of the branch that is taken."""
        predicate, operands = args[0], [self.settled(value) for value in args[3]]
        in_place = self.updated_in_place(node, operands)
        results = [
            in_place.get(index) or self.own(self.code.new(_one(e).dtype, tuple(e.shape)))
            for index, e in enumerate(node.meta["val"])
        ]
        keyword = f"if ({predicate.at(['0'] * len(predicate.shape))})"
        for graph in args[1:3]:
            self.code.open(keyword)
            inner = _Frame(self.code, getattr(self.module, graph.target), [view.buffer for view in in_place.values()])
            values = inner.run(operands)
            for index, (result, value) in enumerate(zip(results, values, strict=True)):
                if index in in_place and not (isinstance(value, View) and value.buffer is result.buffer):
                    raise Unsupported("a branch gives back another array than the one that it writes to")
                if index not in in_place:
                    inner.code.store(result, _like(value, result))
            self.code.close()
            keyword = "else"
        return [self.code.scalar(r) if r.buffer.size == 1 else r for r in results]  # type: ignore[misc]

    def updated_in_place(self, node: Node, operands: Sequence[Value]) -> dict[int, View]:
        """Return the outer arrays that a branch updates in place: position of its result -> the array."""
        found: dict[int, View] = {}
        nodes: Any = node.args[3]
        for index in range(len(node.meta["val"])):
            users = [user for user in node.users if user.args[1] == index]
            targets = [each.args[0] for user in users for each in user.users if each.target is aten.copy_.default]
            for position, given in enumerate(nodes):
                if targets != [given] or math.prod(operands[position].shape) == 1 or not self.is_replaced(given):
                    continue
                view = self.adopted(operands[position], given)
                if view is not None:
                    self.before_write(view.buffer)
                    found[index] = view
        return found

    def settled(self, value: Value) -> Value:
        """Return a value that an inner graph can read often: a costly one is computed once, to memory."""
        return value if isinstance(value, View) or not value.cost else self.own(self.code.in_memory(value))

    def loop(self, node: Node, args: Any, targets: dict[int, str]) -> list[View]:
        """Translate a loop; return its results. ``targets`` are the outputs of the outermost loop's results."""
        nodes: Any = node.args
        if node.target is higher_order.while_loop:
            test, step = [getattr(self.module, graph.target) for graph in args[:2]]
            carried = self.carried(nodes[2], args[2], targets)
            return self.while_loop(test, step, carried, [self.settled(value) for value in args[3]])
        step = getattr(self.module, args[0].target)
        count = len(args[1])
        along = [self.settled(value) for value in args[2]]
        outer = [self.settled(value) for value in args[3]]
        carried = self.carried(nodes[1], args[1], targets)
        examples = node.meta["val"][count:]
        return self.scan(step, carried, along, outer, [_one(e) for e in examples], targets)

    def carried(self, nodes: Sequence[Node], values: Sequence[Value], targets: dict[int, str]) -> list[View]:
        """Return the memory of a loop's carried values: an array's own, if nothing reads its first value later."""
        views = []
        storages = [_storage(node.meta.get("val")) for node in nodes]
        for index, (node, value) in enumerate(zip(nodes, values, strict=True)):
            view = None
            if storages.count(storages[index]) == 1:
                view = self.adopted(value, node)
            if view is not None:
                self.before_write(view.buffer)
            else:
                shape = value.shape
                view = View(self.code.buffer(value.dtype, math.prod(shape), targets.get(index)), shape, plain(shape))
                self.code.store(view, value)
            views.append(self.own(view))
        return views

    def while_loop(
        self, test: GraphModule, step: GraphModule, carried: list[View], outer: Sequence[Value]
    ) -> list[View]:
        code, goes_on, done = self.code, self.code.name("g"), self.code.name("n")
        code.open(f"for (bool {goes_on} = true; {goes_on};)")
        code.line(f"int64_t {done} = 0;")
        code.open(f"for (; {done} < op::ROUND; {done}++)")
        (condition,) = _Frame(code, test).run([*_read_only(carried), *outer])
        code.line(f"if (!({goes_on} = {condition.at(['0'] * len(condition.shape))})) break;")
        inner = _Frame(code, step, [view.buffer for view in carried])
        inner.finish(carried, inner.run([*carried, *outer]))
        code.close()
        code.line(f"op::poll(steps, {done});")
        code.close()
        return carried

    def scan(
        self,
        step: GraphModule,
        carried: list[View],
        along: Sequence[Value],
        outer: Sequence[Value],
        stacked: Sequence[Tensor],
        targets: dict[int, str],
    ) -> list[View]:
        code, count = self.code, len(carried)
        rows = []
        for index, example in enumerate(stacked):
            target = targets.get(count + index)
            if target is None:
                view = self.own(code.new(example.dtype, tuple(example.shape)))
            else:
                buffer = Buffer(target, example.dtype, example.numel(), pointer=True)
                view = View(buffer, tuple(example.shape), plain(example.shape))
            rows.append(view)
        t, end = code.name("t"), code.name("e")
        length = along[0].shape[0]
        code.open(f"for (int64_t {t} = 0; {t} < {length};)")
        code.line(f"const int64_t {end} = std::min<int64_t>({t} + op::ROUND, {length});")
        code.line(f"op::poll(steps, {end} - {t});")
        code.open(f"for (; {t} < {end}; {t}++)")
        slices = [_row(value, t) for value in along]
        inner = _Frame(code, step, [view.buffer for view in carried])
        values = inner.run([*carried, *slices, *outer])
        for view, value in zip(rows, values[count:], strict=True):
            row = _row(view, t)
            assert isinstance(row, View)
            code.store(row, _like(value, row))
        inner.finish(carried, values[:count])
        code.close()
        code.close()
        return [*carried, *rows]

    def finish(self, carried: Sequence[View], values: Sequence[Value]) -> None:
        """Store a step's values in the carried memory, as if all at once."""
        code = self.code
        left: dict[int, Value] = {}
        for index, (view, value) in enumerate(zip(carried, values, strict=True)):
            value = _like(value, view)
            if not (isinstance(value, View) and value.buffer is view.buffer and value.is_whole):
                left[index] = value
        while left:
            ready = [index for index in left if self._is_ready(index, carried, left)]
            if ready:
                code.store(carried[ready[0]], left.pop(ready[0]))
                continue
            sources = [self._source(left[index], carried[index], left, carried) for index in left]
            buffers = [source.buffer if source is not None else None for source in sources]
            if None not in buffers and len(set(buffers)) == len(buffers):
                self._permute([carried[index].buffer for index in left], buffers)  # type: ignore[arg-type]
                return
            targets = {carried[index].buffer for index in left}
            stuck = [
                index
                for index, source in zip(left, sources, strict=True)
                if source is None and not targets.isdisjoint(left[index].reads)
            ]
            index = stuck[0] if stuck else next(i for i, b in zip(left, buffers, strict=True) if buffers.count(b) > 1)
            left[index] = self.own(code.as_new(left[index]))

    def _is_ready(self, index: int, carried: Sequence[View], left: dict[int, Value]) -> bool:
        """Whether a value can be stored now: no other value still reads the memory that it overwrites."""
        view, value = carried[index], left[index]
        if any(other != index and view.buffer in left[other].reads for other in left):
            return False
        if isinstance(value, View) and self._source(value, view, left, carried) is not None:
            return False  # pointers can be exchanged instead of a copy
        if view.buffer not in value.reads:
            return True
        places = [f"_{axis}" for axis in range(len(view.shape))]
        place = view.place(places)
        return all(read is not view.buffer or at == place for read, at in places_read(value, places))

    def _source(self, value: Value, view: View, left: dict[int, Value], carried: Sequence[View]) -> View | None:
        """Return the value's memory if it can take the place of the carried memory by exchanging pointers."""
        if not isinstance(value, View) or not value.is_whole or not value.buffer.pointer or not view.buffer.pointer:
            return None
        if value.buffer not in self.owned or value.buffer.given or value.buffer.size != view.buffer.size:
            return None
        if value.buffer in [each.buffer for index, each in enumerate(carried) if index not in left]:
            return None  # another carried value is stored there
        return value

    def _permute(self, targets: list[Buffer], sources: list[Buffer]) -> None:
        code = self.code
        code.permuted = True
        freed = [buffer for buffer in targets if buffer not in sources]
        taken = [buffer for buffer in sources if buffer not in targets]
        names = []
        for source in [*sources, *freed]:
            names.append(code.name("p"))
            code.line(f"auto* {names[-1]} = {source.name};")
        for buffer, name in zip([*targets, *taken], names, strict=True):
            code.line(f"{buffer.name} = {name};")


def _add_in_place(module: GraphModule) -> None:
    """Write what is added to some elements to these alone; the derivative of an index adds an array of zeros."""
    for node in module.graph.find_nodes(op="call_function", target=aten.index_put.default):
        accumulates = len(node.args) > 3 and node.args[3]
        base: Any = node.args[0]
        (user, *others) = node.users
        if others or not accumulates or base.target not in _ZEROS or user.target is not aten.add.Tensor:
            continue
        (other,) = [each for each in user.args if each is not node] or [node]
        value = user.meta["val"]
        is_same = isinstance(other, Node) and _tensor(other).shape == value.shape == _tensor(node).shape
        if user.kwargs or other is node or not is_same or _tensor(other).dtype is not value.dtype:
            continue
        with module.graph.inserting_before(user):
            put = module.graph.call_function(aten.index_put.default, (other, *node.args[1:]))
        put.meta = dict(user.meta)
        user.replace_all_uses_with(put)
        module.graph.erase_node(user)
        module.graph.erase_node(node)


def _write_in_order(module: GraphModule) -> None:
    """Leave out what keeps the last of repeated writes: a loop writes one element after the other."""
    for node in module.graph.nodes:
        if (values := indexing.in_order(node)) is not None:
            node.update_arg(2, values)


_SCATTERS = {aten.select_scatter.default: aten.select.int, aten.slice_scatter.default: aten.slice.Tensor}
_ZEROS = {aten.new_zeros.default, aten.zeros.default, aten.zeros_like.default}


def _alive(module: GraphModule) -> list[Node]:
    """Return the operations that a result, a write or a check depends on."""
    needed: set[Node] = set()
    for node in reversed(module.graph.nodes):
        schema = schema_of(node.target)
        is_kept = (schema is not None and schema.is_mutable) or _checks(module, node)
        if node.op in ("placeholder", "output") or node in needed or is_kept:
            needed.add(node)
            needed.update(node.all_input_nodes)
    return [node for node in module.graph.nodes if node in needed]


def _checks(module: GraphModule, node: Node) -> bool:
    """Whether an operation checks a value, itself or in a graph of its own."""
    if node.target in (higher_order.cond, higher_order.while_loop, higher_order.scan):
        graphs = [getattr(module, str(each.target)) for each in node.all_input_nodes if each.op == "get_attr"]
        return any(_checks(graph, each) for graph in graphs for each in graph.graph.nodes)
    return node.target in (_ASSERT, _CHECK)


def _is_callable(target: Any) -> bool:
    """Whether torch can compute an operation by itself: it depends on its operands alone, and makes new arrays."""
    schema = schema_of(target)
    return (
        target.namespace in ("aten", "tnp")
        and not schema.is_mutable
        and torch.Tag.nondeterministic_seeded not in target.tags
        and all(str(each.type) == "Tensor" and each.alias_info is None for each in schema.returns)
    )


def _reads(argument: Any, buffer: Buffer) -> bool:
    if isinstance(argument, (list, tuple)):
        return any(_reads(each, buffer) for each in argument)
    return isinstance(argument, (View, Lazy)) and buffer in argument.reads


def _is_reshaped(view: Tensor, base: Tensor) -> bool:
    """Whether a view has all elements of a contiguous tensor in order."""
    is_same = (view.numel(), view.storage_offset()) == (base.numel(), base.storage_offset())
    return is_same and view.is_contiguous() and base.is_contiguous()


def _parts(view: Tensor, base: Tensor) -> list[tuple[int, int, int]]:
    """Return the axes on which a view is a part of a contiguous tensor, with the ends; [] if it is something else."""
    if view.dim() != base.dim() or not base.is_contiguous():
        return []
    rest: Any = view.storage_offset() - base.storage_offset()
    parts = []
    for dim, (size, whole, stride) in enumerate(zip(view.shape, base.shape, base.stride(), strict=True)):
        start, rest = divmod(rest, stride)
        if start < 0 or start + size > whole or (size > 1 and view.stride(dim) != stride):
            return []
        if size != whole:
            parts.append((dim, start, start + size))
    return parts


def _is_same(one: Any, other: Node) -> bool:
    """Whether two nodes of the same memory are the same elements."""
    first, second = one.meta["val"], other.meta["val"]
    places = [(each.shape, each.stride(), each.storage_offset()) for each in (first, second)]
    return _storage(first) == _storage(second) and places[0] == places[1]


def _is_used_to_write(node: Node) -> bool:
    return any(getattr(schema_of(user.target), "is_mutable", False) for user in node.users)


def _one(example: Any) -> Tensor:
    _check(example)
    return example


def _read_only(views: Sequence[View]) -> list[View]:
    return [view.like(view.shape, view.strides, copied=True) for view in views]


def _like(value: Value, view: View) -> Value:
    if value.shape != view.shape or value.dtype is not view.dtype:
        raise Unsupported("a value changes its shape")
    return value


def _row(value: Value, t: str) -> Value:
    """Return the slice of a value along its first axis at a step."""
    if isinstance(value, Lazy):
        return Lazy(value.dtype, value.shape[1:], lambda index: value.at([t, *index]), value.reads, value.cost)
    stride = value.strides[0]
    offset = f"{t} * {stride}" if stride != 1 else t
    offset = f"{value.offset} + {offset}" if value.offset else offset
    return value.like(value.shape[1:], value.strides[1:], offset if stride else value.offset)


def _box(view: View) -> tuple[tuple[int, ...], list[int]] | None:
    """Return the shape of the whole memory and a view's first index in it, if the view is a box of it; else None."""
    if view.offset and not view.offset.isdigit():
        return None
    strides = view.strides
    if not strides or strides[-1] != 1 or 0 in strides or list(strides) != sorted(strides, reverse=True):
        return None
    sizes = [view.buffer.size, *strides]
    if any(outer % inner for outer, inner in itertools.pairwise(sizes)):
        return None
    shape = tuple([outer // inner for outer, inner in itertools.pairwise(sizes)])
    starts, left = [], int(view.offset or 0)
    for stride in strides:
        starts.append(left // stride)
        left %= stride
    if any(start + size > whole for start, size, whole in zip(starts, view.shape, shape, strict=True)):
        return None
    return shape, starts


def _part(view: View, starts: Sequence[int], sizes: Sequence[int]) -> View:
    offset = sum([start * stride for start, stride in zip(starts, view.strides, strict=True)])
    return view.like(tuple(sizes), view.strides, str(offset) if offset else "", copied=False)
