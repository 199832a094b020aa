"""How torch traces: tensors without data ("fake tensors"), and recording the operations on them ("proxies").

Layer: owns torch's private names for both, and the patches that a trace needs: see `_put`.
"""

from __future__ import annotations

import contextlib
import functools
import itertools
import linecache
import logging
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import torch
from torch._subclasses.fake_tensor import (
    DataDependentOutputException,
    DynamicOutputShapeException,
    FakeTensor,
    FakeTensorMode,
)
from torch.fx import Graph, GraphModule, Node, _lazy_graph_module, graph_module, proxy
from torch.fx._lazy_graph_module import _LazyGraphModule
from torch.fx.experimental.proxy_tensor import get_proxy_mode, get_proxy_slot, make_fx, track_tensor_tree
from torch.utils._python_dispatch import _disable_current_modes

from backend_torch.torch_private import functorch, trees
from backend_torch.torch_private.operators import schema_of
from backend_torch.torch_private.patches import Patches, Undo, replaced_attribute, replaced_item
from backend_torch.torch_private.tensor_internals import storage_of

Tensor = torch.Tensor

UNKNOWN_VALUE: tuple[type[Exception], ...] = (DataDependentOutputException,)
UNKNOWN_SHAPE: tuple[type[Exception], ...] = (DynamicOutputShapeException,)


def new_fake_mode(symbols: Any = None) -> FakeTensorMode:
    """Return a mode in which factory functions make fake tensors, and operations treat real tensors as fake ones.

    ``symbols`` is the ShapeEnv of the sizes that are left open.
    """
    return FakeTensorMode(allow_non_fake_inputs=True, shape_env=symbols)


_MOST_OPERATIONS = 4096
"""The number of operations whose fake results torch may cache."""


def _held(tracer: Any, generator: torch.Generator) -> Any:
    """Make a node for a random generator, which the graph holds as an attribute."""
    name = f"_generator_{id(generator)}"
    tracer.root.__dict__[name] = generator
    return tracer.create_node("get_attr", name, (), {})


def _not_held(tracer: Any, generator: torch.Generator) -> Any:
    raise NotImplementedError(f"argument of type: {type(generator)}")  # torch's own refusal


class _Silence(logging.Filter):
    """Drops torch's log records, with tracebacks, about operations that fail on fake tensors."""

    def filter(self, record: logging.LogRecord) -> bool:
        return "failed while attempting to run meta" not in str(record.msg)


class Module(_LazyGraphModule):
    """A graph whose Python code is written when it first runs: most graphs of a trace never do."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Run the graph, also while torch traces symbolically in another thread, as each import of Inductor does.

        The trace replaces ``torch.nn.Module.__call__`` in all threads.
        """
        return self.forward(*args, **kwargs)

    def _real_recompile(self) -> Any:
        with _source_forgotten():
            return super()._real_recompile()


def code_of(module: GraphModule) -> Callable[..., Any]:
    """Return the Python code of a copied graph, which its own call reaches by three others."""
    module.recompile()
    _LazyGraphModule.force_recompile(module)
    return module.forward


def _put(patches: Patches) -> list[Undo]:
    """Let graphs wait with their code, and keep torch from logging errors that tnp raises in NumPy's words.

    NumPy's own functions take a symbolic size for an object without a dtype: they get the number, its ufuncs ours.

    Before torch 2.13, also let graphs hold generators, and keep the checks of torch.linalg: they have no result, so
    torch would remove them as dead code.
    """
    log, silence = logging.getLogger(FakeTensorMode.__module__), _Silence()
    log.addFilter(silence)
    theirs = _lazy_graph_module._make_graph_module
    made = patches.either(functools.partial(theirs, graph_module_cls=Module), theirs)
    beside = patches.either(_of_ours, _objects_beside_numbers)
    alone = patches.either(_number_of, _object_of)
    put = [
        lambda: log.removeFilter(silence),
        replaced_attribute(_lazy_graph_module, "_make_graph_module", made),
        *[replaced_attribute(kind, "__array_ufunc__", beside) for kind in _NUMBERS],
        *[replaced_attribute(kind, "__array__", alone) for kind in _NUMBERS],
    ]
    if torch.__version__ >= "2.13":
        return put
    from torch._higher_order_ops.effects import _EffectType, _register_effectful_op

    check = _register_effectful_op(torch.ops.aten._linalg_check_errors.default, _EffectType.ORDERED)
    hold = patches.either(_held, _not_held)
    return [*put, check.destroy, replaced_item(proxy._create_arg_bypass, torch.Generator, hold)]


_NUMBERS: dict[type, type] = {torch.SymInt: int, torch.SymFloat: float}
"""Symbols of sizes, and of what is computed of them, and their types in Python."""


_ufuncs: list[Callable[..., Any]] = []


def use_ufuncs(call: Callable[..., Any]) -> None:
    """Let ``call(ufunc, method, operands, options)`` compute NumPy's ufuncs of symbols, in traces."""
    _ufuncs[:] = [call]


def _of_ours(symbol: Any, ufunc: np.ufunc, method: str, *operands: Any, **options: Any) -> Any:
    """Compute in the trace."""
    return _ufuncs[0](ufunc, method, operands, options)


def _objects_beside_numbers(symbol: Any, ufunc: np.ufunc, method: str, *operands: Any, **options: Any) -> Any:
    """What NumPy does without us: the symbols are objects."""
    known = [_object_of(each) if type(each) in _NUMBERS else each for each in operands]
    return getattr(ufunc, method)(*known, **options)


def _number_of(symbol: Any, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
    """Return the symbol's current number as an array; the trace is then valid for it only."""
    return np.array(_NUMBERS[type(symbol)](symbol), dtype)


def _object_of(symbol: Any, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
    """Return what NumPy makes of the symbol without us."""
    array = np.empty((), object)
    array[()] = symbol
    return array if dtype is None else array.astype(dtype)


PATCHES = Patches(_put)


@contextlib.contextmanager
def scope() -> Iterator[None]:
    """A scope in which graphs are made; after it torch keeps nothing of graphs that were dropped.

    Otherwise torch would keep the fake result of each operation for ever.
    """
    try:
        with PATCHES.applied(), _source_forgotten():
            yield
    finally:
        if len(FakeTensorMode.cache) > _MOST_OPERATIONS:
            FakeTensorMode.cache_clear()


@contextlib.contextmanager
def _source_forgotten() -> Iterator[None]:
    """A scope after which torch has no source of the graphs' code that was written in it: 3 KB a trace."""
    loader = graph_module._loader
    first = loader.next_id
    try:
        yield
    finally:
        for name in list(itertools.islice(reversed(loader.eval_cache), loader.next_id - first)):
            loader.eval_cache.pop(name, None)
            linecache.cache.pop(name, None)


class _Over(FakeTensorMode):
    """The class of a mode whose trace is over: its tensors still have shapes, but any operation on them raises."""

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        raise self.over()  # type: ignore[attr-defined]


def end(mode: FakeTensorMode, error: Callable[[], Exception]) -> None:
    """End the mode's trace: from now on an operation on one of its tensors raises ``error()``."""
    mode.over = error  # type: ignore[attr-defined]
    mode.__class__ = _Over  # only now: torch looks up rules for loops by the exact class of the mode


def allow_loops(mode: FakeTensorMode, values: bool = False) -> FakeTensorMode:
    """Let the mode trace loops of unknown length; with ``values``, also sizes and numbers read from tensors."""
    if mode.shape_env is None:
        from torch.fx.experimental.symbolic_shapes import ShapeEnv  # imports Dynamo, which takes a second

        mode.shape_env = ShapeEnv(allow_scalar_outputs=values, allow_dynamic_output_shape_ops=values)
    return mode


def like(mode: FakeTensorMode, tensor: Tensor) -> Tensor:
    """Return a fake tensor with the shape and strides of ``tensor`` and memory of its own."""
    return empty(mode, tensor.size(), tensor.stride(), tensor)


def new(mode: FakeTensorMode, tensor: Tensor, size: Sequence[Any] | None = None) -> Tensor:
    """Return a fake tensor in C order with memory of its own, of the size of ``tensor`` or of another one."""
    with _disable_current_modes(), mode:
        return torch.empty(tensor.size() if size is None else size, dtype=tensor.dtype, device=tensor.device)


def empty(mode: FakeTensorMode, size: Sequence[Any], stride: Sequence[Any], tensor: Tensor) -> Tensor:
    """Return a fake tensor of a size and stride, with the dtype and device of ``tensor``."""
    with _disable_current_modes(), mode:
        return torch.empty_strided(size, stride, dtype=tensor.dtype, device=tensor.device)


def slice_of(mode: FakeTensorMode, tensor: Tensor, wrapped: Tensor) -> Tensor:
    """Return a fake tensor like ``wrapped``, in the memory of the fake tensor inside it, where the first slice is."""
    with functorch.down_to(None), _disable_current_modes(), torch._C.DisableTorchFunction(), mode, torch.no_grad():
        size, stride, offset = wrapped.size(), wrapped.stride(), tensor.storage_offset()
        length = offset + sum((n - 1) * step for n, step in zip(size, stride, strict=True)) + 1 if 0 not in size else 0
        if length * tensor.itemsize > tensor.untyped_storage().nbytes():
            return torch.empty_strided(size, stride, dtype=tensor.dtype, device=tensor.device)
        empty = torch.empty(0, dtype=tensor.dtype, device=tensor.device)
        return empty.set_(tensor.untyped_storage(), offset, size, stride)


def shown_by(mode: FakeTensorMode, tensor: Tensor, memory: dict[Any, Tensor]) -> Tensor:
    """Return a fake stand-in for a tensor. Stand-ins share memory where their tensors do; ``memory`` records which.

    On the host it goes by the address: each tensor that is made of a NumPy array has another storage.

    The mode's own converter does not serve: after ``tensor.numpy()`` torch takes a broadcast view of the converted
    tensor for a resize, and refuses.
    """
    # Without function modes: vmap's would make one stand-in for each slice. A transform would wrap it.
    with functorch.down_to(None), _disable_current_modes(), torch._C.DisableTorchFunction(), mode, torch.no_grad():
        size = tensor.untyped_storage().nbytes()
        place = (tensor.untyped_storage().data_ptr(), size) if size and tensor.is_cpu else storage_of(tensor)
        if place not in memory:
            memory[place] = torch.empty(size, dtype=torch.uint8, device=tensor.device)
        empty = torch.empty(0, dtype=tensor.dtype, device=tensor.device)
        return empty.set_(memory[place].untyped_storage(), tensor.storage_offset(), tensor.size(), tensor.stride())


def is_fake(tensor: object) -> bool:
    """Whether a tensor has no data because a trace made it."""
    return isinstance(tensor, FakeTensor)


def is_of(mode: FakeTensorMode, tensor: Tensor) -> bool:
    """Whether a tensor is a fake tensor of this mode."""
    return isinstance(tensor, FakeTensor) and tensor.fake_mode is mode


def without_modes(function: Callable[[Tensor], Any], tensor: Tensor) -> Any:
    """Call ``function`` on a real tensor in the middle of a trace, without recording it."""
    with _disable_current_modes():
        return function(tensor)


def capture(function: Callable[..., Any], inputs: Sequence[Tensor]) -> GraphModule:
    """Record the ATen operations that ``function`` runs on ``inputs``.

    Pass {} as decompositions, not None: None decomposes ``detach`` on torch 2.15, and gradients then flow through it.
    torch.optim marks its steps for a profiler. The marks would time the trace, not the run, so they are left out.
    Derivatives are recorded in this thread: torch has another one for each accelerator, which knows of no trace.
    Hooks for the values of gradients are left out: there are no values, and the graph would hold theirs.
    """
    with torch.autograd.set_multithreading_enabled(False), functorch.without_hooks():
        module = make_fx(function, {})(*inputs)
    marks = [node for node in module.graph.nodes if getattr(node.target, "namespace", "") == "profiler"]
    for node in reversed(marks):
        module.graph.erase_node(node)
    if marks:
        module.recompile()
    return module


def note_line(line: Callable[[], str]) -> None:
    """Note the user's line in the operations that were recorded since the last note."""
    mode = get_proxy_mode()
    if mode is None:
        return
    for node in reversed(mode.tracer.graph.nodes):
        if "line" in node.meta or node.op == "placeholder":
            return
        node.meta["line"] = line()


def last_recorded() -> Node | None:
    """Return the operation that was recorded last, for `forget`; None if nothing is being recorded."""
    mode = get_proxy_mode()
    return None if mode is None else mode.tracer.graph._root.prev


def node_of(tensor: Tensor) -> Node | None:
    """Return the recorded operation that made a tensor; None without a recording, or for a tensor from outside it."""
    mode = get_proxy_mode()
    return None if mode is None else get_proxy_slot(tensor, mode.tracer, None, lambda made: made.proxy.node)


_PARTS = {
    "cond": ("true_graph", "false_graph"),
    "while_loop": ("while_loop_cond_graph", "while_loop_body_graph"),
    "scan": ("scan_combine_graph",),
}
"""Name of an operator -> what a graph calls the parts that it takes."""


_ARITHMETIC = frozenset({
    "_to_copy", "abs", "add", "alias", "bitwise_and", "bitwise_not", "bitwise_or", "clamp", "clamp_max", "clamp_min",
    "detach", "div", "eq", "floor_divide", "full", "ge", "gt", "le", "lt", "maximum", "minimum", "mul", "ne", "neg",
    "remainder", "scalar_tensor", "sub", "where",
})  # fmt: skip
_DEEPEST = 32


def is_same(one: Tensor, other: Tensor) -> bool:
    """Whether a trace computes two scalars by the same arithmetic of the same scalars."""
    return one is other or _are_same(node_of(one), node_of(other), _DEEPEST)


def _is_written(node: Node) -> bool:
    """Whether a trace writes to what an operation made, also through a view of it."""
    schemas = [(user, schema_of(user.target)) for user in node.users]
    return any(
        schema is not None
        and (schema.is_mutable or (any(each.alias_info is not None for each in schema.returns) and _is_written(user)))
        for user, schema in schemas
    )


def _are_same(one: Any, other: Any, depth: int) -> bool:
    if not isinstance(one, Node) or not isinstance(other, Node):
        return type(one) is type(other) and bool(one == other)
    if one is other:
        return not _is_written(one)
    name = getattr(getattr(one.target, "overloadpacket", None), "__name__", "")
    if not depth or one.target is not other.target or name not in _ARITHMETIC or one.kwargs != other.kwargs:
        return False
    return len(one.args) == len(other.args) and all(
        _are_same(a, b, depth - 1) for a, b in zip(one.args, other.args, strict=True)
    )


def recorded(mode: FakeTensorMode, operation: Any, args: Sequence[Any]) -> tuple[Tensor, ...] | None:
    """Record a branch or a loop whose parts are graphs already; return its results, or None if torch's rules apply.

    These rules trace each part twice more, so that of loops in loops the innermost is traced many times.
    """
    recording, parts = get_proxy_mode(), [each for each in args if isinstance(each, GraphModule)]
    names = _PARTS.get(operation.name(), ())
    if recording is None or not names or len(parts) != len(names):
        return None
    tracer: Any = recording.tracer
    # The tracer finds a part by identity, in other parts too, and then by a name that it can't read.
    held = {id(module) for module in tracer.root.modules()}
    args = [copied(each) if id(each) in held else each for each in args]
    parts = [each for each in args if isinstance(each, GraphModule)]
    number = 0
    while hasattr(tracer.root, f"{names[0]}_{number}"):
        number += 1
    for name, part in zip(names, parts, strict=True):
        tracer.root.register_module(f"{name}_{number}", part)
    taken = trees.map_only(Tensor, tracer.unwrap_proxy, tuple(args))
    node = tracer.create_proxy("call_function", operation, taken, {})
    outputs: Any = parts[0].graph.output_node().args[0]
    if operation.name() == "while_loop":
        results = [like(mode, tensor) for tensor in args[2]]
    else:
        results = [like(mode, _value(each)) for each in outputs]
    if operation.name() == "scan":
        carried, length = len(args[1]), args[2][0].shape[0]
        results[carried:] = [new(mode, y, (length, *y.shape)) for y in results[carried:]]
    made: tuple[Tensor, ...] = track_tensor_tree(tuple(results), node, constant=None, tracer=tracer)
    return made


def copied(module: GraphModule) -> GraphModule:
    """Return a copy of a graph, which has the same branches and loops."""
    graph = Graph()
    graph.output(graph.graph_copy(module.graph, {}))
    made = Module(module, graph)
    made.meta.update(module.meta)
    return made


def _value(node: Any) -> Tensor:
    """Return the fake tensor of a graph's result; the copies that tnp adds have the shape of what they copy."""
    while "val" not in node.meta:
        node = node.args[0]
    value: Tensor = node.meta["val"]
    return value


def mark_recording(handle: Tensor) -> None:
    """Mark the operation that cut the handle of a recording off from what it was watched as."""
    node = node_of(handle)
    if node is not None:
        node.meta["records"] = True


def has_recording(module: GraphModule) -> bool:
    """Whether a graph, or a branch or a loop of it, records: a derivative of the graph would end at the handles."""
    graphs = [part.graph for part in module.modules() if isinstance(part, GraphModule)]
    return any("records" in node.meta for graph in graphs for node in graph.nodes)


def forget(last: Node | None) -> None:
    """Drop the operations that were recorded after ``last``: torch records an operation before it fails."""
    mode = get_proxy_mode()
    while mode is not None and mode.tracer.graph._root.prev is not last:
        mode.tracer.graph.erase_node(mode.tracer.graph._root.prev)
