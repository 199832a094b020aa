"""Inductor, torch's compiler, called as torch.compile calls it, less what is done around it at each call.

Layer: owns Inductor's private entry points, its settings, and the patches in place while it compiles for tnp.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import shutil
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator, Sequence
from operator import attrgetter, getitem
from typing import Any

import torch
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.fx import GraphModule, Node
from torch.fx.experimental.proxy_tensor import make_fx

from backend_torch.torch_private import inductor_code, inductor_passes, inductor_vector_code
from backend_torch.torch_private.operators import schema_of
from backend_torch.torch_private.patches import Patches

Tensor = torch.Tensor
Table = dict[Any, Callable[..., Any]]
Program = Callable[[list[Tensor]], Sequence[Tensor]]
"""Compiled code: takes its inputs in a list, which it may empty, and returns its outputs in a sequence."""

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


PATCHES = Patches(lambda patches: [*inductor_passes.put(patches), *inductor_vector_code.put(patches)])


def _decompositions(ours: Table) -> Table:
    """Operations in terms of those that Inductor knows."""
    from torch._inductor.decomposition import select_decomp_table

    return {**select_decomp_table(), **ours}


def functional(
    module: Callable[..., Any], inputs: Sequence[Tensor], table: Table, settings: dict[str, Any]
) -> GraphModule:
    """The graph without writes but those to its inputs, at its end, and in the operations that Inductor knows."""
    with torch.no_grad(), _rounding(settings):
        pure = make_fx(torch.func.functionalize(module, remove="mutations"), _decompositions(table))(*inputs)
    pure.graph.eliminate_dead_code()
    pure.recompile()
    return pure


def _rounding(settings: dict[str, Any]) -> contextlib.AbstractContextManager[Any]:
    """A scope in which a trace marks the operations after which eager code rounds: Inductor rounds at those alone."""
    return torch._inductor.config.patch(emulate_precision_casts=settings.get("emulate_precision_casts", False))


_noted: list[
    tuple[str, dict[str, Any]]
] = []  # Inductor's settings before tnp compiled: which were not its own, and all


def changed_settings() -> str | None:
    """What the program has set of Inductor's settings, in words; None if that takes more than words."""
    config: Any = sys.modules.get("torch._inductor.config")
    if config is None:
        return ""
    now = config.get_config_copy()
    if not _noted:
        _noted.append((config.codegen_config(), now))
    before, defaults = _noted[0]
    changed = {name: value for name, value in sorted(now.items()) if value != defaults.get(name)}
    plain = all(isinstance(value, (bool, int, float, str, type(None))) for value in changed.values())
    return f"{before}{changed or ''}" if plain else None


def options_of(mode: str | None, options: dict[str, Any] | None) -> dict[str, Any]:
    """Inductor's settings for a ``mode`` and ``options`` of torch.compile."""
    _ = torch._inductor.config
    changed_settings()  # before tnp sets any, of which torch remembers that they were set
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
    from torch._guards import TracingContext, tracing
    from torch._inductor.compile_fx import _recursive_joint_graph_passes, compile_fx_inner
    from torch._inductor.virtualized import V

    settings = _adapted(settings, inputs)
    if settings.get("triton.cudagraphs") and any(tensor.device.type == "cuda" for tensor in inputs):
        return _with_autograd(module, inputs, settings, {})  # it owns what CUDA graphs need
    # Inductor looks for a compiled graph on disk only where there is a context to say on what its shapes depend.
    context = tracing(TracingContext(mode))
    with torch._inductor.config.patch(settings), V.set_fake_mode(mode), context, torch.no_grad(), PATCHES.applied():
        _recursive_joint_graph_passes(module)
        output = module.graph.output_node()
        with mode:
            results = _separate(module, output)
        # These keep the strides that the operations gave them; others may be laid out as suits the loops.
        output.meta["user_visible_output_idxs"] = list(range(len(results)))
        code: Any = compile_fx_inner(module, list(inputs), is_inference=True)
    # The object around the generated function looks for a profiler and an autotuner at each call: 0.7 us.
    inner = getattr(code, "current_callable", None)
    if inner is None or any(tensor.device.type != "cpu" for tensor in inputs):
        return code
    names = getattr(inner, "__globals__", {})
    if names.get("torch") is torch:
        inductor_code.TORCH.__dict__.update(torch.__dict__)
        names["torch"] = inductor_code.TORCH
    return inner


def _adapted(settings: dict[str, Any], inputs: Sequence[Tensor]) -> dict[str, Any]:
    """The settings, with asserts for open sizes: torch 2.15 names these where it asserts them, or else nowhere."""
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
        schema = schema_of(node.target)
        if node.target is not getitem and (schema is None or all(r.alias_info is None for r in schema.returns)):
            break
        node = node.args[0]
    return node


def differentiable(module: GraphModule, inputs: Sequence[Tensor], settings: dict[str, Any], table: Table) -> Program:
    """A graph, which may be changed, as compiled forward and backward passes, for inputs that require gradients."""
    return _with_autograd(module, inputs, _adapted(settings, inputs), table)


def _with_autograd(module: GraphModule, inputs: Sequence[Tensor], settings: dict[str, Any], table: Table) -> Program:
    """All of what torch.compile does after Dynamo."""
    from torch._inductor.compile_fx import compile_fx, compile_fx_inner

    inner = PATCHES.applied()(compile_fx_inner)  # the derivatives are compiled when they are first asked for
    with PATCHES.applied():
        run: Any = compile_fx(
            module, list(inputs), inner, config_patches=settings, decompositions=_decompositions(table)
        )
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
    known = ("eager", "inductor")  # to list all is to import Dynamo
    if (
        isinstance(backend, str)
        and backend not in known
        and backend not in torch.compiler.list_backends(exclude_tags=())
    ):
        raise ValueError(f"backend {backend!r} is none of torch.compiler.list_backends()")


def through_backend(module: GraphModule, backend: Any, **keywords: Any) -> Program:
    """A graph compiled by torch.compile, which may change it."""
    run = torch.compile(module, backend=backend, fullgraph=True, **keywords)
    return lambda tensors: run(*tensors)


def package(exported: torch.export.ExportedProgram, path: str, settings: dict[str, Any], table: Table) -> None:
    """Write an exported program as machine code that C++ loads; torch has no other way to do that."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)  # torch copies what it itself has deprecated
        with PATCHES.applied(), _rounding(settings):
            pure = exported.run_decompositions(_decompositions(table))
            torch._inductor.aoti_compile_and_package(pure, package_path=path, inductor_configs=settings)


def packaged(path: str) -> Callable[..., Sequence[Tensor]]:
    """The machine code in a file, to be called with its inputs."""
    return torch._inductor.aoti_load_package(path)
