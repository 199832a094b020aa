"""torch's private entry points for tracing and compiling, each with a public stand-in.

Layer: the only file that may break with a new torch. What a torch lacks is replaced by something slower and public.
"""

from __future__ import annotations

import atexit
import cmath
import contextlib
import itertools
import linecache
import os
import shutil
import tempfile
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from operator import attrgetter, getitem
from typing import Any

import torch
from torch._higher_order_ops.effects import _EffectType, _register_effectful_op
from torch.fx import Graph, GraphModule, Node, graph_module, proxy
from torch.fx.experimental.proxy_tensor import get_proxy_mode, get_proxy_slot, make_fx
from torch.utils._python_dispatch import _disable_current_modes

from backend_torch.graphs import random_inputs
from backend_torch.graphs.decompositions import TABLE
from backend_torch.tensors.memory import with_history
from backend_torch.tensors.trace_state import left_over_error
from backend_torch.torch_private import functorch, inductor_passes, inductor_vector_code, scope

Tensor = torch.Tensor
Program = Callable[[list[Tensor]], Sequence[Tensor]]
"""Compiled code: takes its inputs in a list, which it may empty, and returns its outputs in a sequence."""

try:
    from torch._subclasses.fake_tensor import (
        DataDependentOutputException,
        DynamicOutputShapeException,
        FakeTensor,
        FakeTensorMode,
    )
except ImportError as missing:
    raise ImportError(f"tnp.compile needs torch's fake tensors, which torch {torch.__version__} moved") from missing

UNKNOWN_VALUE: tuple[type[Exception], ...] = (DataDependentOutputException,)
UNKNOWN_SHAPE: tuple[type[Exception], ...] = (DynamicOutputShapeException,)

TensorGuards: Any
try:
    from torch._C._dynamo.guards import TensorGuards
except ImportError:
    TensorGuards = None

# A fork of OpenMP's threads costs what some thousand elements do (torch's own limit is 512 a thread).
# Low precision is rounded after each operation, as it is when the operations run one by one.
SETTINGS: dict[str, Any] = {
    "size_asserts": False,
    "alignment_asserts": False,
    "emulate_precision_casts": True,
    "cpp.min_chunk_size": 4096,
    "cpp.use_decompose_tanh": False,
    # Graphs with loops and branches come from the cache on disk as others do: what is looked for there has their code.
    # The vector code is in the key too: what is there without it is slower.
    "unsafe_marked_cacheable_functions": {
        inductor_vector_code.__name__: inductor_vector_code.VERSION,
        inductor_passes.__name__: inductor_passes.VERSION,
        **{
            f"{operator.__module__}.{operator.__name__}": torch.__version__
            for operator in (
                torch.ops.higher_order.cond,
                torch.ops.higher_order.while_loop,
                torch.ops.higher_order.scan,
            )
        },
    },
}


def new_fake_mode(symbols: Any = None) -> FakeTensorMode:
    """A mode under which factory functions make tensors without data, and real tensors count as such.

    ``symbols`` is the ShapeEnv of sizes that are left open.
    """
    return FakeTensorMode(allow_non_fake_inputs=True, shape_env=symbols)


_MOST_OPERATIONS = 4096
"""How many operations on tensors without data torch may remember the results of."""


@contextlib.contextmanager
def leaving_nothing() -> Iterator[None]:
    """A scope after which the process does not hold more, however many graphs are made in such scopes and dropped.

    torch keeps the source of each graph's code for tracebacks, and what each operation on tensors without data gave,
    both for ever: 3 KB a trace.
    """
    loader = graph_module._loader
    first = loader.next_id
    try:
        yield
    finally:
        for name in list(itertools.islice(reversed(loader.eval_cache), loader.next_id - first)):
            loader.eval_cache.pop(name, None)
            linecache.cache.pop(name, None)
        if len(FakeTensorMode.cache) > _MOST_OPERATIONS:
            FakeTensorMode.cache_clear()


class _Over(FakeTensorMode):
    """What a mode is once its trace is over: nothing is done with its tensors, but to look at their shapes."""

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        raise left_over_error()


def end(mode: FakeTensorMode) -> None:
    """Let whoever uses a tensor of the mode from now on be told that its trace is over."""
    mode.__class__ = _Over  # and not a subclass from the start: torch has rules for loops by the mode's very class


def allow_loops(mode: FakeTensorMode, values: bool = False) -> FakeTensorMode:
    """Let the mode stand for a number of steps; for the values of tensors only if ``values``."""
    if mode.shape_env is None:
        from torch.fx.experimental.symbolic_shapes import ShapeEnv  # which imports Dynamo: a second

        mode.shape_env = ShapeEnv(allow_scalar_outputs=values, allow_dynamic_output_shape_ops=values)
    return mode


def like(mode: FakeTensorMode, tensor: Tensor) -> Tensor:
    """A tensor without data, with the geometry of ``tensor`` and memory of its own."""
    return empty(mode, tensor.size(), tensor.stride(), tensor)


def empty(mode: FakeTensorMode, size: Sequence[Any], stride: Sequence[Any], tensor: Tensor) -> Tensor:
    """A tensor without data, of a geometry and with the dtype and device of ``tensor``."""
    with _disable_current_modes(), mode:
        return torch.empty_strided(size, stride, dtype=tensor.dtype, device=tensor.device)


def first_of(tensor: Tensor) -> Tensor:
    """The first slice of a tensor without data, seen by no trace."""
    with _disable_current_modes():
        return tensor[0]


def is_plain(tensor: Tensor) -> bool:
    """Whether a tensor lies in memory as a new one would, in C order."""
    expected = 1
    for size, stride in zip(reversed(tensor.shape), reversed(tensor.stride()), strict=True):
        if stride != expected:
            return False
        expected *= max(size, 1)
    return not tensor.is_conj() and not tensor.is_neg()


def shown_by(mode: FakeTensorMode, tensor: Tensor, memory: dict[int, Tensor]) -> Tensor:
    """A stand-in of a tensor; stand-ins of tensors that share memory share theirs, which ``memory`` keeps.

    The mode's own converter is not used: once ``tensor.numpy()`` has been called, torch takes a broadcast view of what
    that makes for a resize, and refuses.
    """
    # A batch's mode, which is one of functions, would have what is made here for each slice.
    with _disable_current_modes(), torch._C.DisableTorchFunction(), mode, torch.no_grad():
        storage = storage_of(tensor)
        if storage not in memory:
            size = tensor.untyped_storage().nbytes()
            memory[storage] = torch.empty(size, dtype=torch.uint8, device=tensor.device)
        empty = torch.empty(0, dtype=tensor.dtype, device=tensor.device)
        return empty.set_(memory[storage].untyped_storage(), tensor.storage_offset(), tensor.size(), tensor.stride())


def is_fake(tensor: object) -> bool:
    """Whether a tensor has no data because it is being traced."""
    return isinstance(tensor, FakeTensor)


def is_of(mode: FakeTensorMode, tensor: Tensor) -> bool:
    """Whether a tensor without data is the mode's own."""
    return isinstance(tensor, FakeTensor) and tensor.fake_mode is mode


def without_modes(function: Callable[[Tensor], Any], tensor: Tensor) -> Any:
    """``function(tensor)`` of a tensor that is real, while others around it are being traced."""
    with _disable_current_modes():
        return function(tensor)


def storage_of(tensor: Tensor) -> int:
    """An identifier of the tensor's memory, which a tensor without data has too."""
    return tensor.untyped_storage()._cdata


def _held(tracer: Any, generator: torch.Generator) -> Any:
    """The node of a generator that a graph holds, by a name of its own."""
    name = f"_generator_{id(generator)}"
    tracer.root.__dict__[name] = generator
    return tracer.create_node("get_attr", name, (), {})


if torch.__version__ < "2.13":  # which traces generators by itself
    proxy._create_arg_bypass.setdefault(torch.Generator, _held)


# The checks of torch.linalg have no result: torch 2.11 takes them for dead code, 2.13 registers them itself.
_register_effectful_op(torch.ops.aten._linalg_check_errors.default, _EffectType.ORDERED)


def capture(function: Callable[..., Any], inputs: Sequence[Tensor]) -> GraphModule:
    """The ATen operations that ``function`` does on ``inputs``, as it does them.

    No decompositions are not none given: torch 2.15 would take ``detach`` apart, behind which gradients flowed on.
    """
    return make_fx(function, {})(*inputs)


def full(size: Sequence[int], value: Any, **options: Any) -> Tensor:
    """``torch.ops.aten.full``, which a graph can hold for every number.

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


def note_line(line: Callable[[], str]) -> None:
    """Note in the operations that were recorded last which line of the user's did them."""
    mode = get_proxy_mode()
    if mode is None:
        return
    for node in reversed(mode.tracer.graph.nodes):
        if "line" in node.meta or node.op == "placeholder":
            return
        node.meta["line"] = line()


def last_recorded() -> Node | None:
    """The operation that was recorded last, to `forget` what comes after it; None where nothing is recorded."""
    mode = get_proxy_mode()
    return None if mode is None else mode.tracer.graph._root.prev


def node_of(tensor: Tensor) -> Node | None:
    """The operation that is recorded to make a tensor; None where nothing is recorded, or another tensor is given."""
    mode = get_proxy_mode()
    return None if mode is None else get_proxy_slot(tensor, mode.tracer, None, lambda made: made.proxy.node)


def forget(last: Node | None) -> None:
    """Drop the operations that were recorded after ``last``: one that fails is recorded before it does."""
    mode = get_proxy_mode()
    while mode is not None and mode.tracer.graph._root.prev is not last:
        mode.tracer.graph.erase_node(mode.tracer.graph._root.prev)


def duplicate(module: GraphModule, results: Sequence[Node] | None = None) -> GraphModule:
    """A copy of a graph, to be changed; with ``results`` for its results if they are given."""
    copies: dict[Node, Node] = {}
    graph = Graph()
    returned = graph.graph_copy(module.graph, copies)
    graph.output(returned if results is None else tuple([copies[node] for node in results]))
    return GraphModule(module, graph)


def recordable(module: GraphModule, targets: Callable[[Node], Iterable[Node]]) -> GraphModule:
    """A copy of a graph that autograd can record; ``targets`` says what an operation of it writes to."""
    made = duplicate(module)
    for node in made.graph.nodes:
        for target in dict.fromkeys(targets(node)):
            with made.graph.inserting_before(node):
                known = made.graph.call_function(with_history, (target,))
            node.replace_input_with(target, known)
    made.recompile()
    return made


def with_inputs(module: GraphModule, last: Sequence[int], union: Iterable[int]) -> GraphModule:
    """A graph whose last inputs, of the names ``last``, are those of ``union``; others that it takes are unused."""
    graph = Graph()
    placeholders = module.graph.find_nodes(op="placeholder")
    own = len(placeholders) - len(last)
    copies = {node: graph.placeholder(node.name) for node in placeholders[:own]}
    named = {name: graph.placeholder(f"outer_{index}") for index, name in enumerate(union)}
    copies.update(zip(placeholders[own:], [named[name] for name in last], strict=True))
    for old, new in copies.items():
        new.meta = dict(old.meta)
    graph.output(graph.graph_copy(module.graph, copies))
    return GraphModule(module, graph)


def decompositions() -> dict[Any, Callable[..., Any]]:
    """Operations in terms of those that Inductor knows."""
    try:
        from torch._inductor.decomposition import select_decomp_table
    except ImportError:
        from torch._decomp import core_aten_decompositions as select_decomp_table
    return {**select_decomp_table(), **TABLE}


def functional(module: GraphModule, inputs: Sequence[Tensor]) -> GraphModule:
    """The graph without writes but those to its inputs, at its end, and in the operations that Inductor knows."""
    with torch.no_grad():
        pure = make_fx(torch.func.functionalize(module, remove="mutations"), decompositions())(*inputs)
    pure.graph.eliminate_dead_code()
    pure.recompile()
    return pure


def same_signature(tensors: Sequence[Tensor], open_sizes: int = 0) -> Callable[..., bool]:
    """A check that tensors have the dtypes, devices, sizes, strides and need of gradients of ``tensors``.

    It may say no without reason where gradients or transforms are concerned, and never yes. Of the first
    ``open_sizes`` tensors any size and stride will do.
    """
    places = {id(tensor): index for index, tensor in enumerate(tensors)}
    if len(places) < len(tensors):  # torch's check refuses a tensor that is there twice
        return _same_with_repeats([places[id(tensor)] for tensor in tensors], tensors, open_sizes)
    if TensorGuards is not None:
        try:
            sizes: list[Any] = [list(tensor.size()) for tensor in tensors]
            strides: list[Any] = [list(tensor.stride()) for tensor in tensors]
            for index in range(open_sizes):
                sizes[index] = strides[index] = [None] * len(sizes[index])
            return TensorGuards(*tensors, dynamic_dims_sizes=sizes, dynamic_dims_strides=strides).check
        except (TypeError, SystemError):
            pass
    known = [_signature(tensor, index < open_sizes) for index, tensor in enumerate(tensors)]
    return lambda *others: [_signature(t, index < open_sizes) for index, t in enumerate(others)] == known


def _same_with_repeats(places: list[int], tensors: Sequence[Tensor], open_sizes: int) -> Callable[..., bool]:
    """The same check where the tensor of each place is the one at the place given for it."""
    once = sorted(set(places))
    repeats = [(place, other) for place, other in enumerate(places) if place != other]
    check = same_signature([tensors[place] for place in once], sum(place < open_sizes for place in once))

    def matches(*others: Tensor) -> bool:
        for place, other in repeats:
            if others[place] is not others[other]:
                return False
        return check(*[others[place] for place in once])

    return matches


def _signature(tensor: Tensor, open_size: bool) -> tuple[Any, ...]:
    tracked = tensor.requires_grad and torch.is_grad_enabled()
    plain = type(tensor) in (Tensor, torch.nn.Parameter) and not functorch.is_wrapped(tensor)
    geometry: Any = tensor.dim() if open_size else (tensor.size(), tensor.stride())
    return tensor.dtype, tensor.device, geometry, tracked, plain


def options_of(mode: str | None, options: dict[str, Any] | None) -> dict[str, Any]:
    """Inductor's settings for a ``mode`` and ``options`` of torch.compile."""
    settings = dict(SETTINGS)
    if mode is not None and mode != "default":
        settings.update(torch._inductor.list_mode_options(mode))
    for name, value in (options or {}).items():
        if not _has_setting(name):
            raise ValueError(f"options: Inductor has no setting {name!r}")
        settings[name] = value
    return {name: value for name, value in settings.items() if name not in SETTINGS or _has_setting(name)}


def _has_setting(name: str) -> bool:
    try:
        attrgetter(name)(torch._inductor.config)
    except AttributeError:
        return False
    return True


def compiled(module: GraphModule, inputs: Sequence[Tensor], mode: FakeTensorMode, settings: dict[str, Any]) -> Program:
    """A functional graph as machine code, called without guards and wrappers.

    This is what torch.compile does after AOTAutograd, less its 12 us of wrappers a call.
    """
    try:
        from torch._guards import TracingContext, tracing
        from torch._inductor.compile_fx import _recursive_joint_graph_passes, compile_fx, compile_fx_inner
        from torch._inductor.virtualized import V
    except ImportError:
        return _publicly(module, settings)

    settings = _adapted(settings, module, inputs)
    if settings.get("triton.cudagraphs") and any(tensor.device.type == "cuda" for tensor in inputs):
        return _with_autograd(compile_fx, module, inputs, settings)  # it owns what CUDA graphs need
    # Inductor looks for a compiled graph on disk only where there is a context to say on what its shapes depend.
    context = tracing(TracingContext(mode))
    with torch._inductor.config.patch(settings), V.set_fake_mode(mode), context, torch.no_grad(), _tailored():
        _recursive_joint_graph_passes(module)
        output = module.graph.output_node()
        with mode:
            results = _separate(module, output)
        # These keep the strides that the operations gave them; others may be laid out as suits the loops.
        output.meta["user_visible_output_idxs"] = list(range(len(results)))
        code = compile_fx_inner(module, list(inputs), is_inference=True)
    # The object around the generated function looks for a profiler and an autotuner at each call: 0.7 us.
    inner = getattr(code, "current_callable", None)
    if inner is None or any(tensor.device.type != "cpu" for tensor in inputs):
        return code
    names = getattr(inner, "__globals__", {})
    if names.get("torch") is torch:
        _TORCH.__dict__.update(torch.__dict__)
        names["torch"] = _TORCH
    return inner


def _tailored() -> contextlib._GeneratorContextManager[None]:
    """The scope in which Inductor compiles, with what is better than its own."""
    inductor_passes.stand_in()
    inductor_vector_code.stand_in()
    return scope.tailored()


class _Names:
    """An object whose attributes Python finds where it found them last, as it does not in a module with __getattr__."""


_TORCH = _Names()
"""torch as generated code sees it, which saves it 40 ns for each new array, whose dtype it names."""


def _adapted(settings: dict[str, Any], module: GraphModule, inputs: Sequence[Tensor]) -> dict[str, Any]:
    """The settings for a graph: without the cache on disk if it draws random numbers, with asserts for open sizes.

    A graph from the cache would come with a copy of the generator, which no seed reaches. torch 2.15 gives sizes that
    are left open their names where it asserts them, or else nowhere.
    """
    if random_inputs.is_there(module):
        settings = {**settings, "fx_graph_cache": False}
    if torch.__version__ >= "2.14" and any(isinstance(size, torch.SymInt) for each in inputs for size in each.shape):
        settings = {**settings, "size_asserts": True}
    return settings


def _separate(module: GraphModule, output: Node) -> list[Node]:
    """Copy the results that Inductor's passes made one with an input or another result (``x * 1`` is ``x``)."""
    results: list[Node] = list(output.args[0])  # type: ignore[arg-type]
    roots: set[Node] = set()
    for index, node in enumerate(results):
        root = _root(node)
        if root.op == "placeholder" or root in roots:
            last = module.graph.find_nodes(op="placeholder")[-1] if node.op == "placeholder" else node
            with module.graph.inserting_after(last):  # that is before the writes to the inputs, which come at the end
                results[index] = module.graph.call_function(torch.ops.aten.clone.default, (node,))
            results[index].meta["val"] = node.meta["val"].clone()
        roots.add(root)
    output.args = (tuple(results),)
    module.recompile()
    return results


def _root(node: Node) -> Node:
    """The node whose memory a view shows, however many views of views there are."""
    while node.op == "call_function" and node.args and isinstance(node.args[0], Node):
        schema = getattr(node.target, "_schema", None)
        if node.target is not getitem and (schema is None or all(r.alias_info is None for r in schema.returns)):
            break
        node = node.args[0]
    return node


def differentiable(module: GraphModule, inputs: Sequence[Tensor], settings: dict[str, Any]) -> Program:
    """A graph as compiled forward and backward passes, for inputs of which some require gradients."""
    try:
        from torch._inductor.compile_fx import compile_fx
    except ImportError:
        return _publicly(module, settings)
    return _with_autograd(compile_fx, duplicate(module), inputs, _adapted(settings, module, inputs))


def _with_autograd(
    compile_fx: Callable[..., Any], module: GraphModule, inputs: Sequence[Tensor], settings: dict[str, Any]
) -> Program:
    """All of what torch.compile does after Dynamo; it may change ``module``."""
    from torch._inductor.compile_fx import compile_fx_inner

    inner = _tailored()(compile_fx_inner)  # the derivatives are compiled when they are first asked for
    with _tailored():
        run = compile_fx(module, list(inputs), inner, config_patches=settings, decompositions=decompositions())
    return lambda tensors: run(*tensors)


@contextlib.contextmanager
def another_cache() -> Iterator[str]:
    """A scope in which Inductor has a new directory for its cache on disk; left without an error, it keeps that.

    It gives the name of the old one. The new one goes when the process ends.
    """
    from torch._inductor.runtime.runtime_utils import cache_dir
    from torch._inductor.utils import clear_caches

    name = "TORCHINDUCTOR_CACHE_DIR"
    old, new = os.environ.get(name) or cache_dir(), tempfile.mkdtemp(prefix="tnp_compiled_")
    atexit.register(shutil.rmtree, new, ignore_errors=True)
    os.environ[name] = new
    clear_caches()
    try:
        yield old
    except BaseException:
        os.environ[name] = old
        clear_caches()
        raise


def check_backend(backend: Any) -> None:
    """Raise ValueError for a name that torch.compile does not know."""
    if isinstance(backend, str) and backend not in torch.compiler.list_backends(exclude_tags=()):
        raise ValueError(f"backend {backend!r} is none of torch.compiler.list_backends()")


def _publicly(module: GraphModule, settings: dict[str, Any]) -> Program:
    return through_backend(module, "inductor", options=settings, dynamic=False)


def through_backend(module: GraphModule, backend: Any, **keywords: Any) -> Program:
    """A graph compiled by torch.compile."""
    run = torch.compile(duplicate(module), backend=backend, fullgraph=True, **keywords)
    return lambda tensors: run(*tensors)


def package(exported: torch.export.ExportedProgram, path: str, settings: dict[str, Any]) -> None:
    """Write an exported program as machine code that C++ loads; torch has no other way to do that."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)  # torch copies what it itself has deprecated
        pure = exported.run_decompositions(decompositions())
        with _tailored():
            torch._inductor.aoti_compile_and_package(pure, package_path=path, inductor_configs=settings)


def packaged(path: str) -> Callable[..., Sequence[Tensor]]:
    """The machine code in a file, to be called with its inputs."""
    return torch._inductor.aoti_load_package(path)
