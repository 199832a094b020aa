"""Tensors without data ("fake tensors") and the recording of operations on them ("proxies"): how torch traces.

Layer: owns torch's private words for both, and what a trace needs of torch that it has not: see `_put`.
"""

from __future__ import annotations

import contextlib
import itertools
import linecache
import logging
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch
from torch._subclasses.fake_tensor import (
    DataDependentOutputException,
    DynamicOutputShapeException,
    FakeTensor,
    FakeTensorMode,
)
from torch.fx import GraphModule, Node, graph_module, proxy
from torch.fx.experimental.proxy_tensor import get_proxy_mode, get_proxy_slot, make_fx
from torch.utils._python_dispatch import _disable_current_modes

from backend_torch.torch_private.patches import Patches, Undo, replaced_item
from backend_torch.torch_private.tensor_internals import storage_of

Tensor = torch.Tensor

UNKNOWN_VALUE: tuple[type[Exception], ...] = (DataDependentOutputException,)
UNKNOWN_SHAPE: tuple[type[Exception], ...] = (DynamicOutputShapeException,)


def new_fake_mode(symbols: Any = None) -> FakeTensorMode:
    """A mode under which factory functions make tensors without data, and real tensors count as such.

    ``symbols`` is the ShapeEnv of sizes that are left open.
    """
    return FakeTensorMode(allow_non_fake_inputs=True, shape_env=symbols)


_MOST_OPERATIONS = 4096
"""How many operations on tensors without data torch may remember the results of."""


def _held(tracer: Any, generator: torch.Generator) -> Any:
    """The node of a generator that a graph holds, by a name of its own."""
    name = f"_generator_{id(generator)}"
    tracer.root.__dict__[name] = generator
    return tracer.create_node("get_attr", name, (), {})


def _not_held(tracer: Any, generator: torch.Generator) -> Any:
    raise NotImplementedError(f"argument of type: {type(generator)}")  # as torch refuses it


class _Silence(logging.Filter):
    """Drops what torch logs of operations that fail on tensors without data, with its traceback."""

    def filter(self, record: logging.LogRecord) -> bool:
        return "failed while attempting to run meta" not in str(record.msg)


def _put(patches: Patches) -> list[Undo]:
    """Keep torch from logging an error that is raised in NumPy's words.

    Before torch 2.13 let graphs hold generators, and keep the checks of torch.linalg, which have no result, so that
    they are taken for dead code.
    """
    log, silence = logging.getLogger(FakeTensorMode.__module__), _Silence()
    log.addFilter(silence)
    silenced = [lambda: log.removeFilter(silence)]
    if torch.__version__ >= "2.13":
        return silenced
    from torch._higher_order_ops.effects import _EffectType, _register_effectful_op

    check = _register_effectful_op(torch.ops.aten._linalg_check_errors.default, _EffectType.ORDERED)
    hold = patches.either(_held, _not_held)
    return [*silenced, check.destroy, replaced_item(proxy._create_arg_bypass, torch.Generator, hold)]


PATCHES = Patches(_put)


@contextlib.contextmanager
def scope() -> Iterator[None]:
    """A scope in which graphs are made: after it the process does not hold more, however many are made and dropped.

    torch keeps the source of each graph's code for tracebacks, and what each operation on tensors without data gave,
    both for ever: 3 KB a trace.
    """
    loader = graph_module._loader
    first = loader.next_id
    try:
        with PATCHES.applied():
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
        raise self.over()  # type: ignore[attr-defined]


def end(mode: FakeTensorMode, error: Callable[[], Exception]) -> None:
    """Let whoever uses a tensor of the mode from now on get the error that ``error()`` makes: its trace is over."""
    mode.over = error  # type: ignore[attr-defined]
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


def capture(function: Callable[..., Any], inputs: Sequence[Tensor]) -> GraphModule:
    """The ATen operations that ``function`` does on ``inputs``, as it does them.

    The decompositions are {}, not None: None decomposes ``detach`` on torch 2.15, and gradients flow on behind it.
    """
    return make_fx(function, {})(*inputs)


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
