"""Inductor, torch's compiler: called as torch.compile calls it, without the wrappers that run at each call.

Layer: owns Inductor's private entry points, its settings, and the patches in place while it compiles for tnp.
"""

from __future__ import annotations

import atexit
import contextlib
import functools
import hashlib
import os
import shutil
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator, Sequence
from operator import attrgetter, getitem
from pathlib import Path
from typing import Any

import torch
from torch._decomp import decomposition_table
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.fx import GraphModule, Node
from torch.fx.experimental.proxy_tensor import make_fx

from backend_torch.torch_private import (
    inductor_code,
    inductor_kernels,
    inductor_passes,
    inductor_threads,
    inductor_vector_code,
    traces,
)
from backend_torch.torch_private.operators import HigherOrderOperator, schema_of
from backend_torch.torch_private.patches import Patches

Tensor = torch.Tensor
Table = dict[Any, Callable[..., Any]]
Program = Callable[[list[Tensor]], Sequence[Tensor]]
"""Compiled code: takes its inputs in a list, which it may empty, and returns its outputs in a sequence."""

# emulate_precision_casts: low precision is rounded after each operation, as when the operations run one by one.
# enable_line_tables: g++ spends a tenth of its time on lines for a debugger, which two thirds of a library consist of.
SETTINGS: dict[str, Any] = {
    "size_asserts": False,
    "alignment_asserts": False,
    "emulate_precision_casts": True,
    "aot_inductor.enable_line_tables": False,
    "cpp.use_decompose_tanh": False,
    # Inductor may keep graphs with loops and branches on disk: the cache key holds their bodies.
    "unsafe_marked_cacheable_functions": {
        f"{operator.__module__}.{operator.__name__}": torch.__version__
        for operator in (
            torch.ops.higher_order.cond,
            torch.ops.higher_order.while_loop,
            torch.ops.higher_order.scan,
        )
    },
}


PATCHES = Patches(
    lambda patches: [
        *inductor_passes.put(patches),
        *inductor_vector_code.put(patches),
        *inductor_kernels.put(patches),
        *inductor_threads.put(patches),
    ]
)


def _decompositions(ours: Table) -> Table:
    """Return the table that decomposes operations into those that Inductor knows."""
    from torch._inductor.decomposition import select_decomp_table

    return {**select_decomp_table(), **ours}


def decomposed(run: Callable[..., Any], inputs: Sequence[Tensor], operation: Any, table: Table) -> GraphModule:
    """Return the functional graph of one operation, by Inductor's table only if torch's own has no row for it."""
    known = {**decomposition_table, **table}
    if operation not in known:
        return functional(run, inputs, table, SETTINGS)
    return _functional(run, inputs, {**table, operation: known[operation]})


def functional(
    module: Callable[..., Any], inputs: Sequence[Tensor], table: Table, settings: dict[str, Any]
) -> GraphModule:
    """Return a functional graph of operations that Inductor knows: only inputs are written to, at its end."""
    with _rounding(settings):
        return _functional(module, inputs, _decompositions(table))


def _functional(module: Callable[..., Any], inputs: Sequence[Tensor], table: Table) -> GraphModule:
    with torch.no_grad():
        pure = make_fx(torch.func.functionalize(module, remove="mutations"), table)(*inputs)
    pure.graph.eliminate_dead_code()
    pure.recompile()
    return pure


def _rounding(settings: dict[str, Any]) -> contextlib.AbstractContextManager[Any]:
    """A scope in which a trace marks the operations after which eager code rounds; Inductor rounds only there."""
    return torch._inductor.config.patch(emulate_precision_casts=settings.get("emulate_precision_casts", False))


_noted: list[
    tuple[str, dict[str, Any]]
] = []  # Inductor's settings before tnp first compiled: those that differed from the defaults, and all


@functools.cache
def source() -> str:
    """Return a digest of the backend's source: a version number would not do, as it changes between releases."""
    digest = hashlib.sha256()
    root = Path(__file__).parents[1]
    for path in sorted(root.rglob("*.py")):
        digest.update(f"{path.relative_to(root)} {path.stat().st_size}\n".encode() + path.read_bytes())
    return digest.hexdigest()


def changed_settings() -> str | None:
    """Return the Inductor settings that the program has changed, as text; None if text can't describe a value."""
    config: Any = sys.modules.get("torch._inductor.config")
    if config is None:
        return ""
    now = config.get_config_copy()
    if not _noted:
        _noted.append((_set_earlier(config), now))
    before, defaults = _noted[0]
    changed = {name: value for name, value in sorted(now.items()) if value != defaults.get(name)}
    plain = all(isinstance(value, (bool, int, float, str, type(None))) for value in changed.values())
    return f"{before}{changed or ''}" if plain else None


def _set_earlier(config: Any) -> str:
    """Return the settings that differ from the defaults; torch's text also has those that were set to them."""
    place = f"{config.__name__}."
    return "\n".join([
        line
        for line in config.codegen_config().splitlines()
        for name, _, value in [line.removeprefix(place).partition(" = ")]
        if name not in config._config or value != repr(config._config[name].default)
    ])  # fmt: skip


def options_of(mode: str | None, options: dict[str, Any] | None) -> dict[str, Any]:
    """Inductor's settings for a ``mode`` and ``options`` of torch.compile."""
    _ = torch._inductor.config
    changed_settings()  # now, before tnp changes any: torch remembers every setting that was ever changed
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
    """Compile a functional graph to machine code that is called without guards and wrappers.

    torch.compile does the same after AOTAutograd; its wrappers take 12 us a call.
    """
    from torch._guards import TracingContext, tracing
    from torch._inductor.compile_fx import _recursive_joint_graph_passes, compile_fx_inner
    from torch._inductor.virtualized import V

    settings = _adapted(settings, module, inputs)
    if settings.get("triton.cudagraphs") and any(tensor.device.type == "cuda" for tensor in inputs):
        return _with_autograd(module, inputs, settings, {})  # only torch's own path prepares CUDA graphs
    # Inductor uses its cache on disk only inside a context, which records what the shapes depend on.
    context = tracing(TracingContext(mode))
    with torch._inductor.config.patch(settings), V.set_fake_mode(mode), context, torch.no_grad(), PATCHES.applied():
        _recursive_joint_graph_passes(module)
        output = module.graph.output_node()
        with mode:
            results = _separate(module, output)
        # Results keep the strides that the operations gave them; Inductor may lay out other values as its loops need.
        output.meta["user_visible_output_idxs"] = list(range(len(results)))
        code: Any = compile_fx_inner(module, list(inputs), is_inference=True)
    # The object around the generated function checks for a profiler and an autotuner at each call: 0.7 us.
    inner = getattr(code, "current_callable", None)
    if inner is None or any(tensor.device.type != "cpu" for tensor in inputs):
        return code
    names = getattr(inner, "__globals__", {})
    if names.get("torch") is torch:
        names["torch"] = inductor_code.torch_of_code()
    return inner


def _adapted(settings: dict[str, Any], module: GraphModule, inputs: Sequence[Tensor]) -> dict[str, Any]:
    """Adapt settings to open sizes, and tell Inductor's cache on disk which kernels and passes of ours the code is for.

    Size asserts are on: the code of torch 2.15 defines a size's name only where it asserts it. Inductor's cache on disk
    is off for loops: the code asserts bounds of their counters, which follow from those of the sizes, and the cache
    knows of neither.
    """
    name = "unsafe_marked_cacheable_functions"
    settings = {**settings, name: {**settings.get(name, {}), "backend_torch": source()}}
    if not any(isinstance(size, torch.SymInt) for each in inputs for size in each.shape):
        return settings
    has_loops = any(isinstance(node.target, HigherOrderOperator) for node in module.graph.nodes)
    return {
        **settings,
        **({"size_asserts": True} if torch.__version__ >= "2.14" else {}),
        **({"fx_graph_cache": False} if has_loops else {}),
    }


def _separate(module: GraphModule, output: Node) -> list[Node]:
    """Copy results that Inductor's passes replaced by an input or another result, as ``x * 1`` by ``x``."""
    results: list[Node] = list(output.args[0])  # type: ignore[arg-type]
    roots: set[Node] = set()
    for index, node in enumerate(results):
        root = _root(node)
        if root.op == "placeholder" or root in roots:
            last = module.graph.find_nodes(op="placeholder")[-1] if node.op == "placeholder" else node
            with module.graph.inserting_after(last):  # the graph writes to its inputs at the end, so copy before that
                results[index] = module.graph.call_function(torch.ops.aten.clone.default, (node,))
            results[index].meta["val"] = node.meta["val"].clone()
        roots.add(root)
    output.args = (tuple(results),)
    module.recompile()
    return results


def _root(node: Node) -> Node:
    """Return the node whose memory a view shows, through any number of views of views."""
    while node.op == "call_function" and node.args and isinstance(node.args[0], Node):
        schema = schema_of(node.target)
        if node.target is not getitem and (schema is None or all(r.alias_info is None for r in schema.returns)):
            break
        node = node.args[0]
    return node


def differentiable(module: GraphModule, inputs: Sequence[Tensor], settings: dict[str, Any], table: Table) -> Program:
    """Compile a graph to a forward and a backward pass, for inputs that require gradients; it may change the graph."""
    return _with_autograd(module, inputs, _adapted(settings, module, inputs), table)


def _with_autograd(module: GraphModule, inputs: Sequence[Tensor], settings: dict[str, Any], table: Table) -> Program:
    """Do all that torch.compile does after Dynamo."""
    from torch._inductor.compile_fx import compile_fx, compile_fx_inner

    inner = PATCHES.applied()(compile_fx_inner)  # the backward pass is compiled later, when it is first needed
    with PATCHES.applied():
        run: Any = compile_fx(
            module, list(inputs), inner, config_patches=settings, decompositions=_decompositions(table)
        )
    return lambda tensors: run(*tensors)


@contextlib.contextmanager
def another_cache() -> Iterator[str]:
    """Give Inductor a new directory for its cache on disk, for good; if the scope raises, it gets the old one back.

    The scope yields the name of the old directory. The new one is deleted when the process ends.
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
    known = ("eager", "inductor")  # listing all backends imports Dynamo
    if (
        isinstance(backend, str)
        and backend not in known
        and backend not in torch.compiler.list_backends(exclude_tags=())
    ):
        raise ValueError(f"backend {backend!r} is none of torch.compiler.list_backends()")


def through_backend(module: GraphModule, backend: Any, **keywords: Any) -> Program:
    """Compile a graph by torch.compile, which may change it."""
    for each in module.modules():  # Dynamo does not go into code that has yet to be written
        if isinstance(each, traces.Module):
            each.real_recompile()

    def call(*tensors: Tensor) -> Any:
        return module(*tensors)

    # Each has code of its own: torch counts what it compiles of one code object, and refuses the ninth.
    call.__code__ = call.__code__.replace()
    run = torch.compile(call, backend=backend, fullgraph=True, **keywords)
    return lambda tensors: run(*tensors)


def package(exported: torch.export.ExportedProgram, path: str, settings: dict[str, Any], table: Table) -> None:
    """Compile an exported program to a file of machine code that C++ can load; torch has no public way to do that."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)  # torch calls functions that torch has deprecated
        with PATCHES.applied(), _rounding(settings):
            pure = exported.run_decompositions(_decompositions(table))
            torch._inductor.aoti_compile_and_package(pure, package_path=path, inductor_configs=settings)


def packaged(path: str) -> Callable[..., Sequence[Tensor]]:
    """Load machine code from a file; the result is called with the program's inputs."""
    return torch._inductor.aoti_load_package(path)
