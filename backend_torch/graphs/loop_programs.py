"""Compile a whole graph with loops to one C++ function, if all its operations can be written in it.

Layer: owns the code around the loops: the function that Python calls, and the addresses of torch's vector functions.
g++ needs neither Inductor nor torch's headers, so it compiles a program in a second. The code cache keeps the program.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Sequence
from typing import Any

import torch

from backend_torch.graphs import elementwise_code, graph_copies, loop_lowering, loops
from backend_torch.graphs.graph import Graph
from backend_torch.graphs.loop_code import CTYPES, Code, Unsupported
from backend_torch.graphs.loop_prelude import OPERATIONS, PLAIN
from backend_torch.torch_private import vector_library

Tensor = torch.Tensor
Program = Callable[[list[Tensor]], Sequence[Tensor]]
_log = logging.getLogger(__name__)
_FLAGS = (
    "-std=c++20", "-O3", "-march=native", "-ffp-contract=off", "-fno-math-errno", "-fno-trapping-math",
    "-shared", "-fPIC", "-w",
)  # fmt: skip
_WITHOUT_CALL = {"sqrt", "rsqrt"}
_LEAST_EXACT = {"erfc": "u15"}  # function -> its most exact version in torch's library; "u10" for all others

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
    """Return the program of a graph with loops or branches; None if it has none, or can't be C++ as a whole."""
    size = vector_library.register()
    off = os.environ.get("TORCHINDUCTOR_FORCE_DISABLE_CACHES") == "1"
    if size is None or off or graph.sizes is not None or not loops.has_control_flow(graph.module):
        return None
    try:
        module = graph_copies.duplicate(graph.module, graph.results)
        code, inputs, results = loop_lowering.whole(module, graph.inputs, graph.written)
        text, functions = _text(code, [*inputs, *results], size)
        described = [f"{str(t.dtype).removeprefix('torch.')}{list(t.shape)}" for t in graph.inputs]
        kernel = elementwise_code.compiled(text, tuple(functions), tuple(described), _FLAGS)
    except Exception as reason:  # Unsupported, or an unexpected argument: Inductor compiles the graph
        _log.debug("a graph with loops is not C++ as a whole: %s", reason)
        return None
    made = [
        (tuple(node.meta["val"].shape), node.meta["val"].stride(), node.meta["val"].dtype) for node in graph.results
    ]
    return elementwise_code.runner(kernel, len(inputs), range(len(inputs)), made)


def _text(code: Code, buffers: Sequence[Any], size: int) -> tuple[str, list[str]]:
    """Return the C++ and the names of the functions of torch's library that it calls."""
    parameters = [f"{'const ' if each.constant else ''}{each.ctype}* {each.name}" for each in buffers]
    body = code.function(", ".join(parameters))
    if "c10::" in body:
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
    operands = ", ".join([f"({each.ctype}*)data(given[{index}])" for index, each in enumerate(buffers)])
    ending = _ENDING.format(bound="\n  ".join(bound), operands=operands)
    return "\n".join([head, *declared, *defined, OPERATIONS, "namespace {", body, "}", ending]), functions
