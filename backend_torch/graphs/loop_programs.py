"""Compile a whole graph to one C++ function, if all its operations can be written in it.

Layer: owns which graphs these are, those with loops and those of small arrays, and the code around the loops: the
function that Python calls, and the addresses of torch's vector functions. g++ needs neither Inductor nor torch's
headers, so it compiles a program in a second. The code cache keeps the program.
"""

from __future__ import annotations

import ctypes
import logging
import os
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from torch.fx import GraphModule, Node

from backend_torch.graphs import elementwise_code, graph_copies, loop_lowering, loops
from backend_torch.graphs.graph import Graph
from backend_torch.graphs.loop_code import CTYPES, Call, Code, Unsupported, View
from backend_torch.graphs.loop_prelude import OPERATIONS, PLAIN
from backend_torch.kernels.graph_operations import KERNELS
from backend_torch.tensors import memory, trace_state
from backend_torch.tensors.dtypes import to_numpy
from backend_torch.torch_private import light_imports, trees, vector_library

Tensor = torch.Tensor
aten = torch.ops.aten
Program = Callable[[list[Tensor]], Sequence[Tensor]]
_log = logging.getLogger(__name__)
_FLAGS = (
    "-std=c++20", "-O3", "-march=native", "-ffp-contract=off", "-fno-math-errno", "-fno-trapping-math",
    "-shared", "-fPIC", "-w",
)  # fmt: skip
_WITHOUT_CALL = {"sqrt", "rsqrt"}
_LEAST_EXACT = {"erfc": "u15"}  # function -> its most exact version in torch's library; "u10" for all others

_MOST_NODES = 500  # of a graph without loops
_MOST_PLACES = 256  # of memory for which a program's calls are prepared
_SMALL = 1 << 14  # elements of each array in a graph without loops, at most
_FEW = 256  # elements of a result that the C library computes one by one, at most
_BY_ELEMENT = {
    aten.acosh, aten.asinh, aten.atan2, aten.atanh, aten.erfc, aten.floor_divide, aten.fmod, aten.hypot, aten.pow,
    aten.remainder,
}  # fmt: skip
_SIMPLE_POWERS = (-1, 0.5, 1, 2, 3)

_ENDING = """
extern "C" void bind(void* const* given) {{
  *(void**)&data = given[0];
  {bound}
}}
extern "C" void* kernel(void* self, void* const* given, long) {{
  try {{ loops({operands}); }} catch (const op::Failure&) {{ return nullptr; }}
  Py_IncRef(self);
  return self;
}}
"""


def program(graph: Graph) -> Program | None:
    """Return the program of a graph with loops or branches, or of small arrays; None if it can't be C++ as a whole."""
    size = vector_library.register()
    off = os.environ.get("TORCHINDUCTOR_FORCE_DISABLE_CACHES") == "1"
    if size is None or off or graph.sizes is not None:
        return None
    if not loops.has_control_flow(graph.module) and not _is_small(graph.module):
        return None
    try:
        module = graph_copies.duplicate(graph.module, graph.results)
        with light_imports.scope():
            code, inputs, results = loop_lowering.whole(module, graph.inputs, graph.written)
        text, functions = _text(code, [*inputs, *results], size)
        described = [f"{str(t.dtype).removeprefix('torch.')}{list(t.shape)}" for t in graph.inputs]
        kernel = elementwise_code.compiled(text, tuple(functions), tuple(described), graph.operations, _FLAGS)
    except Exception as reason:  # Unsupported, or an unexpected argument: Inductor compiles the graph
        trace_state.raise_of_signal(reason)
        _log.debug("a graph is not C++ as a whole: %s", reason)
        return None
    made = [
        (tuple(node.meta["val"].shape), node.meta["val"].stride(), node.meta["val"].dtype) for node in graph.results
    ]
    host = _Host(code.calls) if code.calls else None
    return elementwise_code.runner(kernel, len(inputs), range(len(inputs)), made, host=host)


class _Host:
    """Computes the operations of torch's that loops call, by their numbers and the addresses of their memory."""

    def __init__(self, calls: Sequence[Call]) -> None:
        self._calls = calls
        self._made: dict[tuple[int, ...], tuple[Any, Any, list[Tensor | None]]] = {}

    def __call__(self, *key: int) -> None:
        if key not in self._made:
            if len(self._made) > _MOST_PLACES:
                self._made = {}
            self._made[key] = self._prepared(self._calls[key[0]], key[1:])
        run, (args, kwargs), results = self._made[key]
        found = run(*args, **kwargs)
        for result, value in zip(results, [found] if len(results) == 1 else found or (), strict=True):
            if result is not None:
                result.copy_(value)

    @staticmethod
    def _prepared(call: Call, places: Sequence[int]) -> tuple[Any, Any, list[Tensor | None]]:
        there = iter(places)
        leaves = [_tensor_at(each, next(there)) if isinstance(each, View) else each for each in call.arguments]
        results = [each if each is None else _tensor_at(each, next(there)) for each in call.results]
        return KERNELS.get(call.target, call.target), trees.unflatten(leaves, call.spec), results


def _tensor_at(view: View, place: int) -> Tensor:
    """Return a tensor over memory that the loops have while they run."""
    dtype = to_numpy[view.dtype]
    last = sum([(size - 1) * stride for size, stride in zip(view.shape, view.strides, strict=True) if size])
    octets: Any = (ctypes.c_char * ((last + 1) * dtype.itemsize)).from_address(place)
    strides = [stride * dtype.itemsize for stride in view.strides]
    return memory.from_numpy(np.ndarray(view.shape, dtype, octets, strides=strides))


def _is_small(module: GraphModule) -> bool:
    """Whether a graph is quick to compile, and its arrays are too small for threads, and for Inductor's fused loops."""
    is_complex = loop_lowering.has_complex(module)  # Inductor has no code for them
    most = loop_lowering.COMPLEX if is_complex else _SMALL
    return len(module.graph.nodes) <= _MOST_NODES and all(
        value.numel() <= (most if is_complex or not _is_by_element(node) else _FEW)
        for node in module.graph.nodes
        for value in [node.meta.get("val")]
        if isinstance(value, Tensor)
    )


def _is_by_element(node: Node) -> bool:
    """Whether an operation calls a function of the C library for each element; Inductor's code has vectors for it."""
    packet = getattr(node.target, "overloadpacket", None)
    if packet in (torch.ops.tnp.ufunc, torch.ops.tnp.ufunc_of_two):
        return True
    if packet is aten.pow and node.args[1] in _SIMPLE_POWERS:
        return False
    if not node.meta["val"].is_floating_point():
        return False
    return packet in _BY_ELEMENT or node.kwargs.get("rounding_mode") is not None


def _text(code: Code, buffers: Sequence[Any], size: int) -> tuple[str, list[str]]:
    """Return the C++ and the names of the functions of torch's library that it calls."""
    parameters = [f"{'const ' if each.constant else ''}{each.ctype}* {each.name}" for each in buffers]
    body = code.function(", ".join(parameters + ["void* host"] * bool(code.calls)))
    if "c10::Half" in body or "c10::BFloat16" in body:
        raise Unsupported("a dtype is torch's own")
    called = sorted([each for each in code.mathematics if each[0] not in _WITHOUT_CALL], key=str)
    members = [f"Vector {name}() const;" for name in sorted({name for name, _ in called})]
    functions: list[str] = []
    declared, defined, bound = [], [], []
    for number, (name, dtype) in enumerate(called):
        vector = f"Vector<{CTYPES[dtype]}>"
        functions.append(vector_library.mathematics(name, _LEAST_EXACT.get(name, "u10"), dtype is torch.float64))
        declared.append(f"{vector}::V (*f{number})({vector}::V);")
        defined.append(f"template <> inline {vector} {vector}::{name}() const {{ return {{f{number}(v)}}; }}")
        bound.append(f"*(void**)&op::f{number} = given[{4 + number}];")  # after the memory's, and three of threads
    head = PLAIN.replace("REGISTER", f"{size}").replace("MATHEMATICS", " ".join(members))
    given = [f"({each.ctype}*)data(given[{index}])" for index, each in enumerate(buffers)]
    operands = ", ".join(given + [f"given[{len(buffers)}]"] * bool(code.calls))
    ending = _ENDING.format(bound="\n  ".join(bound), operands=operands)
    return "\n".join([head, *declared, *defined, OPERATIONS, "namespace {", body, "}", ending]), functions
