"""Compile elementwise graphs without Inductor, whose import alone takes longer than all of this.

Layer: owns which graphs are elementwise, and the C++ of their one loop. The code works for any size, so a function is
compiled once, whatever the sizes of its arguments. The loop uses the processor's vectors and torch's vectorised
mathematics. It includes no headers, so g++ compiles it in a tenth of a second. Inductor compiles all other graphs.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import logging
import math
import os
import re
import signal
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch.fx import Node

from backend_torch.graphs import code_cache, numpy_loops
from backend_torch.graphs.graph import Graph
from backend_torch.kernels import host
from backend_torch.tensors import aliasing, trace_state
from backend_torch.tensors.dtypes import SIGNED
from backend_torch.torch_private import inductor_threads, vector_library
from backend_torch.torch_private.operators import OpOverload

Tensor = torch.Tensor
Program = Callable[[list[Tensor]], Sequence[Tensor]]
log = logging.getLogger("tnp.compile")
_KINDS = {
    torch.float32: ("float", "int"), torch.float64: ("double", "long"), torch.int32: ("int", "int"),
    torch.int64: ("long", "long"),
}  # fmt: skip
_INTEGERS = (torch.int32, torch.int64)
_MOST = 500  # operations of a graph at most: Inductor compiles a longer graph in parts, which is faster
_EXACT = 2**53  # Python ints up to this are exact as floats
_FLAGS = (
    "-O2", "-march=native", "-ffp-contract=off", "-fno-math-errno", "-fno-trapping-math", "-shared", "-fPIC", "-w",
)  # fmt: skip

_MATHEMATICS = {
    "acos": "u10", "acosh": "u10", "asin": "u10", "asinh": "u10", "atan": "u10", "atan2": "u10", "atanh": "u10",
    "ceil": "", "cos": "u10", "cosh": "u10", "erfc": "u15", "exp": "u10", "exp2": "u10", "expm1": "u10", "floor": "",
    "hypot": "u05", "log": "u10", "log10": "u10", "log1p": "u10", "log2": "u10", "pow": "u10", "rint": "", "sin": "u10",
    "sinh": "u10", "sqrt": "", "tan": "u10", "tanh": "u10", "trunc": "",
}  # fmt: skip
_MATHEMATICAL = re.compile(r"\b(f\d+|exponential)\(")
_SAME = "{0}"
# {0}, {1} are the operands; $f is a vector function; ALL(c) is a vector of c; a bool is a mask with all bits or none.
_FLOATS = {
    "abs": "magnitude({0})", "add.Tensor": "{0} + {1}", "alias": _SAME, "clamp_max": "minimum({0}, {1})",
    "clamp_min": "maximum({0}, {1})", "clone": _SAME, "copysign.Tensor": "with_sign({0}, {1})",
    "deg2rad": "{0} * ALL((T)0x1.1df46a2529d39p-6)", "detach": _SAME, "div.Tensor": "{0} / {1}",
    "fmax": "{0} != {0} ? {1} : {1} != {1} ? {0} : maximum({0}, {1})",
    "fmin": "{0} != {0} ? {1} : {1} != {1} ? {0} : minimum({0}, {1})",
    "maximum": "maximum({0}, {1})", "minimum": "minimum({0}, {1})", "mul.Tensor": "{0} * {1}", "neg": "-{0}",
    "pow.Tensor_Tensor": "$pow({0}, {1})", "rad2deg": "{0} * ALL((T)0x1.ca5dc1a63c1f8p+5)",
    "reciprocal": "ALL((T)1) / {0}", "round": "$rint({0})", "rsqrt": "ALL((T)1) / $sqrt({0})",
    "rsub.Scalar": "{1} - {0}", "sigmoid": "ALL((T)1) / (ALL((T)1) + $exp(-{0}))",
    "sign": "({0} > 0 ? ALL((T)1) : ALL((T)0)) - ({0} < 0 ? ALL((T)1) : ALL((T)0))", "square": "{0} * {0}",
    "sub.Tensor": "{0} - {1}", "where.self": "{0} ? {1} : {2}",
    **{name: f"${name}({{0}})" for name in _MATHEMATICS if name not in ("atan2", "hypot", "pow", "rint")},
    # torch's vector functions of these overflow for arguments whose result does not.
    "acosh": "{0} > FAR ? $log({0}) + LOG2 : $acosh({0})",
    "asinh": "magnitude({0}) > FAR ? with_sign($log(magnitude({0})) + LOG2, {0}) : $asinh({0})",
    "cosh": "magnitude({0}) > HIGH ? half_square($exp(magnitude({0}) / 2)) : $cosh({0})",
    "sinh": "magnitude({0}) > HIGH ? with_sign(half_square($exp(magnitude({0}) / 2)), {0}) : $sinh({0})",
    **{name: f"${name}({{0}}, {{1}})" for name in ("atan2", "hypot")},
}  # fmt: skip
_OF_INTEGERS = {
    "abs": "{0} < 0 ? -{0} : {0}", "bitwise_not": "~{0}",
    # A shift by more bits than there are leaves none of them.
    **dict.fromkeys(
        ["bitwise_left_shift.Tensor", "__lshift__.Scalar"],
        "({1} < 0) | ({1} > LAST) ? ALL((T)0) : {0} << ({1} & LAST)",
    ),
    **dict.fromkeys(
        ["bitwise_right_shift.Tensor", "__rshift__.Scalar"], "{0} >> (({1} < 0) | ({1} > LAST) ? LAST : {1})"
    ),
    **{
        f"bitwise_{name}.{kind}": f"{{0}} {sign} {{1}}"
        for name, sign in (("and", "&"), ("or", "|"), ("xor", "^")) for kind in ("Tensor", "Scalar")
    },
    "sign": "({0} < 0) - ({0} > 0)",
    **{
        name: _FLOATS[name] for name in (
            "add.Tensor", "alias", "clamp_max", "clamp_min", "clone", "detach", "maximum", "minimum", "mul.Tensor",
            "neg", "rsub.Scalar", "square", "sub.Tensor", "where.self",
        )
    },
}  # fmt: skip
_BOOLS = {
    "alias": _SAME, "bitwise_and.Tensor": "{0} & {1}", "bitwise_not": "~{0}", "bitwise_or.Tensor": "{0} | {1}",
    "bitwise_xor.Tensor": "{0} ^ {1}", "clone": _SAME, "detach": _SAME, "logical_and": "{0} & {1}",
    "logical_not": "~{0}", "logical_or": "{0} | {1}", "logical_xor": "{0} ^ {1}",
    "mul.Tensor": "{0} & {1}", "where.self": "({0} & {1}) | (~{0} & {2})",
}  # fmt: skip
_QUESTIONS = {
    "isfinite": "magnitude({0}) < INFINITE", "isinf": "magnitude({0}) == INFINITE", "isnan": "{0} != {0}",
    "logical_and of numbers": "({0} != 0) & ({1} != 0)", "logical_not of numbers": "{0} == 0",
    "logical_or of numbers": "({0} != 0) | ({1} != 0)", "logical_xor of numbers": "({0} != 0) ^ ({1} != 0)",
    "signbit": "(M){0} < 0",
    **{
        f"{name}.{kind}": f"{{0}} {sign} {{1}}"
        for name, sign in (("eq", "=="), ("ne", "!="), ("lt", "<"), ("le", "<="), ("gt", ">"), ("ge", ">="))
        for kind in ("Tensor", "Scalar")
    },
}  # fmt: skip
_OF_FLOATS_ALONE = {"isfinite", "isinf", "signbit"}
_SAME_BITS = {"alias", "clone", "detach", "view.dtype"}  # operations that do not ask whether an integer has a sign
_FILLED = {"full": 1, "full_like": 1, "scalar_tensor": 0, "ones_like": None, "zeros_like": None}  # its argument
_POWERS = {2: "{0} * {0}", 3: "{0} * {0} * {0}"}
_IGNORED = {"memory_format", "layout", "device", "pin_memory", "dtype"}

_PRELUDE = """
typedef {scalar} T;
typedef T V __attribute__((vector_size({size})));
typedef T U __attribute__((vector_size({size}), aligned(sizeof(T)), may_alias));
typedef {integer} M __attribute__((vector_size({size})));
typedef signed char B __attribute__((vector_size({lanes})));
typedef signed char C __attribute__((vector_size({lanes}), aligned(1), may_alias));
enum {{ W = {lanes} }};
#define ALL(c) V{{{copies}}}
#define LAST ALL((T)(sizeof(T) * 8 - 1))
#define SIGN ((M)ALL((T)-0.0))
#define INFINITE ALL((T)__builtin_inf())
#define FAR ALL((T)0x1p60)
#define LOG2 ALL((T)0x1.62e42fefa39efp-1)
#define HIGH ALL((T)(sizeof(T) == 4 ? 80 : 700))
static inline V magnitude(V a) {{ return (V)((M)a & ~SIGN); }}
static inline V with_sign(V a, V b) {{ return (V)(((M)a & ~SIGN) | ((M)b & SIGN)); }}
static inline V maximum(V a, V b) {{ return a != a ? a : b != b ? b : a > b ? a : b; }}
static inline V minimum(V a, V b) {{ return a != a ? a : b != b ? b : a < b ? a : b; }}
static inline V half_square(V a) {{ return a / 2 * a; }}
extern "C" long PyLong_AsLong(void*);
extern "C" void Py_IncRef(void*);
static void* (*data)(void*);
static void (*parallel)(void (*)(void*), void*, unsigned, unsigned);
static int (*number)();
static int (*count)();
"""

# g++ makes vectors of these only with -O3.
_ROUNDED = {"rint": 8, "floor": 9, "ceil": 10, "trunc": 11}
_EACH = {
    (64, torch.float32): ("rndscaleps_mask(a, {mode}, a, -1, 4)", "sqrtps512_mask(a, a, -1, 4)"),
    (64, torch.float64): ("rndscalepd_mask(a, {mode}, a, -1, 4)", "sqrtpd512_mask(a, a, -1, 4)"),
    (32, torch.float32): ("roundps256(a, {mode})", "sqrtps256(a)"),
    (32, torch.float64): ("roundpd256(a, {mode})", "sqrtpd256(a)"),
}

# exp of floats, to 0.99 ulp, by the reduction and the polynomial of torch_private/inductor_vector_code.py.
# It is inlined, which torch's is not. A NaN goes through all of it.
_EXP = """
static inline V fused(V a, V b, V c) {{ return {fused}; }}
static inline V scaled(V y, V n) {{ {scaled} }}
static inline V exponential(V x) {{
  const V bounded = {bounded};
  const V n = fused(bounded, ALL(0x1.715476p+0f), ALL(0x1.8p+23f)) - 0x1.8p+23f;
  V r = fused(n, ALL(-0x1.62e4p-1f), bounded);
  r = fused(n, ALL(-0x1.7f7d1cp-20f), r);
  V y = fused(r, ALL(0.00019790238f), ALL(0.0013944758f));
  y = fused(y, r, ALL(0.008333498f));
  y = fused(y, r, ALL(0.041666295f));
  y = fused(y, r, ALL(0.16666666f));
  y = fused(y, r, ALL(0.5f));
  return scaled(fused(r * r, y, r) + 1, n);
}}
"""
_INSTRUCTIONS = {
    64: {
        "fused": "__builtin_ia32_vfmaddps512_mask(a, b, c, -1, 4)",
        "scaled": "return __builtin_ia32_scalefps512_mask(y, n, y, -1, 4);",
        "bounded": "__builtin_ia32_minps512_mask(ALL(90.0f), "
        "__builtin_ia32_maxps512_mask(ALL(-105.0f), x, x, -1, 4), x, -1, 4)",
    },
    32: {
        "fused": "__builtin_ia32_vfmaddps256(a, b, c)",
        # In two steps: one has no subnormal results.
        "scaled": "const M k = __builtin_convertvector(n, M), half = k >> 1; "
        "return y * (V)((half + 127) << 23) * (V)((k - half + 127) << 23);",
        "bounded": "__builtin_ia32_minps256(ALL(90.0f), __builtin_ia32_maxps256(ALL(-105.0f), x))",
    },
}

_ENDING = """
struct Task {{ void* const* p; long n; }};
static void part(void* given) {{
  const Task& task = *(const Task*)given;
  long chunk = ((task.n + count() - 1) / count() + 63) / 64 * 64, begin = number() * chunk, end = begin + chunk;
  if (begin < task.n) range(task.p, begin, end < task.n ? end : task.n);
}}
extern "C" void* kernel(void* self, void* const* given, long) {{
  void* p[{pointers}];
  for (int i = 0; i < {pointers}; ++i) p[i] = data(given[i]);
  Task task = {{p, PyLong_AsLong(given[{pointers}])}};
  long threads = PyLong_AsLong(given[{pointers} + 1]);
  if (threads > 1) parallel(part, &task, threads, 0);
  else range(p, 0, task.n);
  Py_IncRef(self);
  return self;
}}
"""


_BLOCK = 512  # elements of a buffer between two calls of NumPy's loops
_MOST_CALLS = 32


@dataclass(frozen=True)
class _Line:
    """An operation: an expression of names, or the number of a loop of NumPy's that gets them as operands."""

    name: str
    text: str
    used: tuple[str, ...]
    loop: int | None = None
    is_bool: bool = False


class _Others(Exception):
    """A graph can't be compiled here; Inductor compiles it."""


def program(graph: Graph) -> Program | None:
    """Compile a graph; return None if it is not elementwise, or without a C++ compiler."""
    size = vector_library.register()
    off = os.environ.get("TORCHINDUCTOR_FORCE_DISABLE_CACHES") == "1"
    if size is None or off or graph.sizes is not None or graph.written or not graph.results:
        return None
    try:
        writer = _Writer(graph, size)
        flags = (*_FLAGS, "-fwrapv") if writer.dtype in _INTEGERS else _FLAGS
        kernel = compiled(writer.text(), tuple(writer.functions), tuple(writer.described), graph.operations, flags)
    except _Others:
        return None
    except (OSError, AttributeError) as error:
        trace_state.raise_of_signal(error)
        log.info("tnp.compile: Inductor compiles an elementwise graph: %s: %s", type(error).__name__, error)
        return None
    threads = max(1, min(torch.get_num_threads(), int(writer.count * writer.work) // inductor_threads.WORK))
    made = [(tuple(writer.shape), stride, dtype) for stride, dtype in writer.results]
    return runner(kernel, len(graph.inputs), writer.inputs, made, [writer.count, threads])


class _Writer:
    """Writes the C++ of one graph. Its function takes ``inputs`` and then ``results``.

    Attributes
    ----------
    work : float
        Operations on 8 bytes for each element.
    """

    def __init__(self, graph: Graph, size: int) -> None:
        self.graph = graph
        self.functions: list[str] = []
        self.inputs: list[int] = []
        first = graph.results[0].meta["val"]
        self.shape, self.count = first.shape, first.numel()
        self._steps = _steps(first)
        self.results = [(node.meta["val"].stride(), node.meta["val"].dtype) for node in graph.results]
        self._size = size
        self._inputs = dict(zip(graph.module.graph.find_nodes(op="placeholder"), graph.inputs, strict=True))
        self._calls = [node for node in graph.module.graph.nodes if node.op == "call_function"]
        if not aliasing.is_dense(first) or len(self._calls) > _MOST:
            raise _Others
        nodes = [*self._inputs, *self._calls]
        found = [dtype for dtype in _KINDS if any(self._is_of(node, dtype) for node in nodes)]
        if len(found) != 1:
            raise _Others
        self.dtype = found[0]
        self.described = [f"{str(t.dtype).removeprefix('torch.')}{['n'] if t.dim() else []}" for t in graph.inputs]

    def _value(self, node: Node) -> Tensor:
        value = self._inputs.get(node, node.meta.get("val"))
        if not isinstance(value, Tensor) or value.device.type != "cpu" or value.layout is not torch.strided:
            raise _Others
        if value.is_conj() or value.is_neg() or (value.shape != self.shape and value.numel() != 1):
            raise _Others
        return value

    def _is_of(self, node: Node, dtype: torch.dtype) -> bool:
        """Whether a node makes the loop compute in a dtype; a 0-d tensor beside arrays does not."""
        value = self._value(node)
        return _signed(value) == dtype and (value.dim() > 0 or len(self.shape) == 0)

    def text(self) -> str:
        """Return the source code."""
        scalar, integer = _KINDS[self.dtype]
        lanes = self._size // self.dtype.itemsize
        names: dict[Any, str] = {}
        lines = list(self._operations(names))
        functions = sum([0.5 if line.loop is not None else bool(_MATHEMATICAL.search(line.text)) for line in lines])
        kinds: dict[int, str] = {}
        places: dict[str, int] = {}  # name -> its memory
        for index, node in enumerate(self._inputs):
            if node in names:
                self.inputs.append(index)
                places[names[node]] = len(kinds)
                kinds[len(kinds)] = self._read(node)
        for node in self.graph.results:
            value = self._value(node)
            if value.shape != self.shape or _steps(value) != self._steps or names[node] in places:
                raise _Others
            places[names[node]] = len(kinds)
            kinds[len(kinds)] = "char" if value.dtype is torch.bool else "T"
        self.work = (len(lines) + inductor_threads.CALL * functions + len(kinds)) * self.dtype.itemsize / 8
        text = _PRELUDE.format(
            scalar=scalar, integer=integer, size=self._size, lanes=lanes, copies=", ".join(["c"] * lanes)
        )
        if self.dtype not in _INTEGERS:
            rounded, root = _EACH[self._size, self.dtype]
            calls = {name: rounded.format(mode=mode) for name, mode in _ROUNDED.items()} | {"sqrt": root}
            for name, call in calls.items():
                text += f"static inline V each_{name}(V a) {{ return __builtin_ia32_{call}; }}\n"
        if self.dtype is torch.float32:
            text += _EXP.format(**_INSTRUCTIONS[self._size])
        binding = ["data", "parallel", "number", "count"]
        for index, name in enumerate(self.functions):
            if name.startswith("numpy."):
                binding += [f"f{index}", f"e{index}"]
                text += f"static void (*f{index})(char**, const long*, const long*, void*);\nstatic void* e{index};\n"
                continue
            binding.append(f"f{index}")
            operands = "V, V" if name.startswith(("Sleef_pow", "Sleef_atan2", "Sleef_hypot")) else "V"
            text += f"static V (*f{index})({operands});\n"
        text += 'extern "C" void bind(void* const* given) {\n'
        text += "".join([f"  *(void**)&{name} = given[{index}];\n" for index, name in enumerate(binding)]) + "}\n"
        count = len(kinds)
        return text + _loops(lines, places, kinds) + _ENDING.format(pointers=count)

    def _read(self, node: Node) -> str:
        """Return the C type of an input's elements, with a star if one number serves the whole loop."""
        value = self._value(node)
        if value.shape == self.shape and _steps(value) == self._steps:
            if value.dtype is torch.bool or _signed(value) is self.dtype:
                return "char" if value.dtype is torch.bool else "T"
            raise _Others
        if value.numel() != 1 or value.dtype not in _KINDS:
            raise _Others
        if value.dtype is not self.dtype and not all(self._takes_number(user, node) for user in node.users):
            raise _Others
        return f"{_KINDS[value.dtype][0]}*"

    def _takes_number(self, user: Node, number: Node) -> bool:
        """Whether an operation casts a number of another dtype, because its array operands have the loop's dtype."""
        others = [node for node in user.all_input_nodes if node is not number]
        return any(self._value(node).dtype is self.dtype and self._value(node).dim() > 0 for node in others)

    def _operations(self, names: dict[Any, str]) -> Iterator[_Line]:
        """Yield each operation as C++; fill ``names`` with the names of all nodes."""
        for node in self._calls:
            loop = self._loop(node)
            if loop is None:
                text = self._operation(node, names)
                names[node] = f"v{len(names)}"
                used = tuple(re.findall(r"\bv\d+\b", text))
                yield _Line(names[node], text, used, is_bool=self._value(node).dtype is torch.bool)
                continue
            operands = []
            for each in node.args[: self._operands_of(loop)]:
                name = self._operand(each, names, None)
                if not isinstance(each, Node) or (each in self._inputs and self._read(each) != "T"):
                    names[len(names)] = copy = f"v{len(names)}"
                    yield _Line(copy, name, (name,) if isinstance(each, Node) else ())
                    name = copy
                operands.append(name)
            names[node] = f"v{len(names)}"
            yield _Line(names[node], "", tuple(operands), self.functions.index(loop))

    def _loop(self, node: Node) -> str | None:
        """Return the loop of NumPy's that computes an operation, if one does."""
        target, value = node.target, self._value(node)
        if not isinstance(target, OpOverload) or value.dtype is not self.dtype or node.kwargs:
            return None
        name = f"{target}".removesuffix(".default").removeprefix("aten.")
        if target is torch.ops.tnp.ufunc.default:
            loop = numpy_loops.of_ufunc(host.WHOLE[node.args[2]][0], self.dtype)  # type: ignore[index]
        else:
            loop = numpy_loops.of_operation(name, self.dtype)
        if loop is None or any(self._value(each).dtype is torch.bool for each in node.all_input_nodes):
            return None
        if loop not in self.functions:
            if sum(each.startswith("numpy.") for each in self.functions) == _MOST_CALLS:
                return None
            self.functions.append(loop)
        return loop

    def _operands_of(self, loop: str) -> int:
        return len(loop.rpartition(".")[2].partition("->")[0])

    def _operation(self, node: Node, names: dict[Any, str]) -> str:
        target, value = node.target, self._value(node)
        if not isinstance(target, OpOverload) or target.namespace != "aten":
            raise _Others
        if value.dtype is not torch.bool and _signed(value) is not self.dtype:
            raise _Others
        name = f"{target}".removeprefix("aten.").removesuffix(".default")
        keywords = {key: each for key, each in node.kwargs.items() if key not in _IGNORED and each is not None}
        if name not in _SAME_BITS and any(self._value(each).dtype in SIGNED for each in (node, *node.all_input_nodes)):
            raise _Others
        is_integer = self.dtype in _INTEGERS
        if name in _FILLED:
            if value.dtype is torch.bool or keywords:
                raise _Others
            place = _FILLED[name]
            return self._constant(int(name == "ones_like") if place is None else node.args[place])
        if keywords and not (set(keywords) == {"alpha"} and keywords["alpha"] == 1):
            raise _Others
        if name == "pow.Tensor_Scalar":
            text = _POWERS.get(node.args[1]) if isinstance(node.args[1], (int, float)) else None  # type: ignore[arg-type]
            operands: Sequence[Any] = node.args[:1]
        elif name == "clamp":
            low, high = [*node.args[1:], None, None][:2]
            text = "{0}" if low is None else "maximum({0}, {1})"
            if high is not None:
                text = f"minimum({text}, {{{1 if low is None else 2}}})"
            operands = [each for each in node.args if each is not None]
        elif name == "view.dtype":
            text, operands = _SAME, node.args[:1]
            if _signed(self._value(node.args[0])) is not self.dtype:  # type: ignore[arg-type]
                raise _Others
        elif name == "_to_copy":
            text, operands = _SAME, node.args
            if value.dtype is not self.dtype or self._value(node.args[0]).dtype is not self.dtype:  # type: ignore[arg-type]
                raise _Others
        else:
            is_bool = value.dtype is torch.bool
            if name.startswith("logical_") and self._value(node.args[0]).dtype is not torch.bool:  # type: ignore[arg-type]
                name += " of numbers"
            of_numbers = _OF_INTEGERS if is_integer else _FLOATS
            text = (_BOOLS.get(name) or _QUESTIONS.get(name)) if is_bool else of_numbers.get(name)
            if is_integer and name in _OF_FLOATS_ALONE:
                raise _Others
            operands = node.args[:1] if name == "clone" else node.args
        if text is None:
            raise _Others
        kinds = torch.bool if value.dtype is torch.bool and name in _BOOLS else None
        written = [self._operand(each, names, kinds) for each in operands]
        if text.count("{") == 0 or f"{{{len(written)}}}" in text or f"{{{len(written) - 1}}}" not in text:
            raise _Others  # more or fewer arguments than the table's text has
        self._check(name, operands, value)
        text = re.sub(r"\$(\w+)", lambda found: self._function(found[1]), text)
        return text.format(*written)

    def _check(self, name: str, operands: Sequence[Any], value: Tensor) -> None:
        """Refuse operations that mix bools and numbers."""
        for index, each in enumerate(operands):
            if isinstance(each, Node):
                is_bool = self._value(each).dtype is torch.bool
                mask = name == "where.self" and index == 0
                if is_bool != (mask or (value.dtype is torch.bool and name in _BOOLS)):
                    raise _Others

    def _operand(self, operand: Any, names: dict[Any, str], kind: torch.dtype | None) -> str:
        if not isinstance(operand, Node):
            if kind is torch.bool:
                raise _Others
            return self._constant(operand)
        if operand not in names:
            names[operand] = f"v{len(names)}"  # an input
        return names[operand]

    def _constant(self, number: Any) -> str:
        if self.dtype in _INTEGERS:
            limits = torch.iinfo(self.dtype)
            if type(number) is not int or not limits.min <= number <= limits.max:
                raise _Others
            return f"ALL((T){number % 2**64:#x}UL)"
        if type(number) not in (int, float) or (abs(number) > _EXACT and type(number) is int):
            raise _Others
        with np.errstate(over="ignore"):
            cast = float(np.float32(number)) if self.dtype is torch.float32 else float(number)
        if math.isnan(cast):
            return 'ALL((T)__builtin_nan(""))'
        if math.isinf(cast):
            return f"ALL((T){'-' if cast < 0 else ''}__builtin_inf())"
        return f"ALL((T){cast.hex()})"

    def _function(self, name: str) -> str:
        if name == "exp" and self.dtype is torch.float32:
            return "exponential"
        if not _MATHEMATICS[name]:  # an instruction
            return f"each_{name}"
        whole = vector_library.mathematics(name, _MATHEMATICS[name], self.dtype is torch.float64)
        if whole not in self.functions:
            self.functions.append(whole)
        return f"f{self.functions.index(whole)}"


def _steps(tensor: Tensor) -> list[tuple[int, int]]:
    """Return the strides and sizes of the axes that are longer than 1."""
    return [(stride, size) for stride, size in zip(tensor.stride(), tensor.shape, strict=True) if size != 1]


def _signed(value: Tensor) -> torch.dtype:
    """Return the dtype, for unsigned integers that of the same bits with a sign."""
    return SIGNED.get(value.dtype, value.dtype)


def _loops(lines: list[_Line], places: dict[str, int], kinds: dict[int, str]) -> str:
    """Return the C++ of the function ``range``: one loop, or for each block of elements several and NumPy's between.

    ``places`` and ``kinds`` get the buffers for values that one loop leaves to another.
    """
    stages: dict[str, int] = {}  # of the loop that computes a value, or after which NumPy's does
    known: dict[str, int] = {}  # the first loop that may read it
    for line in lines:
        stages[line.name] = max([known.get(name, 0) for name in line.used], default=0)
        known[line.name] = stages[line.name] + (line.loop is not None)
    own = [line for line in lines if line.loop is None]
    calls = [line for line in lines if line.loop is not None]
    if not calls:
        return _range("range", own, places, kinds)
    results = len(kinds)
    for line in lines:
        readers = [each for each in lines if line.name in each.used]
        is_left = line.loop is not None or any(
            each.loop is not None or stages[each.name] > stages[line.name] for each in readers
        )
        if is_left and line.name not in places:
            places[line.name] = len(kinds)
            kinds[len(kinds)] = "char" if line.is_bool else "T"
    text, steps = "", []
    for stage in range(max(known.values()) + 1):
        here = [line for line in own if stages[line.name] == stage]
        if here:
            text += _range(f"loop{stage}", here, places, kinds)
            steps.append(f"loop{stage}(q, 0, n);")
        for line in [each for each in calls if stages[each.name] == stage]:
            memory = ", ".join([f"(char*)q[{places[name]}]" for name in (*line.used, line.name)])
            sizes = ", ".join(["sizeof(T)"] * (len(line.used) + 1))
            steps.append(f"{{ char* m[] = {{{memory}}}; const long s[] = {{{sizes}}};")
            steps.append(f"  f{line.loop}(m, &n, s, e{line.loop}); }}")
    buffers = [
        f"{kinds[place]} b{place}[{_BLOCK}] __attribute__((aligned(64)));" for place in kinds if place >= results
    ]
    parts = [
        f"b{place}" if place >= results else f"p[{place}]" if kind.endswith("*") else f"({kind}*)p[{place}] + i"
        for place, kind in kinds.items()
    ]
    body = [
        *buffers,
        f"for (; i < end; i += {_BLOCK}) {{",
        f"  const long n = end - i < {_BLOCK} ? end - i : {_BLOCK};",
    ]
    body += [f"  void* const q[] = {{{', '.join(parts)}}};", *[f"  {step}" for step in steps], "}"]
    return text + "".join(
        ["static void range(void* const* p, long i, long end) {\n", *[f"  {each}\n" for each in body], "}\n"]
    )


def _range(function: str, lines: list[_Line], places: dict[str, int], kinds: dict[int, str]) -> str:
    """Return the C++ of one loop: first whole vectors, then the rest in a padded copy."""
    made = [line.name for line in lines]
    used = dict.fromkeys([name for line in lines for name in line.used if name not in made])
    loads = sorted([(name, places[name]) for name in used], key=lambda load: load[1])
    stores = [(name, places[name]) for name in made if name in places]
    pointers = {place: kinds[place] for place in sorted([place for _, place in [*loads, *stores]])}
    arrays = [(index, kind) for index, kind in pointers.items() if not kind.endswith("*")]
    written = {place for _, place in stores}
    name_of = f"block_{function}"
    block = [f"static inline __attribute__((always_inline)) void {name_of}("]
    parameters = [f"{'' if index in written else 'const '}{kind}* x{index}" for index, kind in arrays]
    parameters += [f"V x{place}" for _, place in loads if pointers[place].endswith("*")]
    block.append(", ".join(parameters) + ") {\n")
    for name, place in loads:
        read = {"T": f"(V)*(const U*)x{place}", "char": f"__builtin_convertvector(*(const C*)x{place}, M) != 0"}
        block.append(f"  const auto {name} = {read.get(pointers[place], f'x{place}')};\n")
    block += [f"  const auto {line.name} = {line.text};\n" for line in lines]
    for name, place in stores:
        narrow = f"*(C*)x{place} = -__builtin_convertvector({name}, B);\n"
        block.append(f"  {narrow}" if pointers[place] == "char" else f"  *(U*)x{place} = {name};\n")
    numbers = [(place, pointers[place]) for _, place in loads if pointers[place].endswith("*")]
    given = [f"s{place}" for place, _ in numbers]
    whole = ", ".join([f"({kind}*)p[{index}] + i" for index, kind in arrays] + given)
    rest = ", ".join([f"t{index}" for index, _ in arrays] + given)
    text = [f"}}\nstatic void {function}(void* const* p, long i, long end) {{\n"]
    text += [f"  const V s{place} = ALL((T)*(const {kind})p[{place}]);\n" for place, kind in numbers]
    text += [f"  for (; i + W <= end; i += W) {name_of}({whole});\n", "  if (i >= end) return;\n"]
    copies = [f"{kind} t{index}[W] = {{}};" for index, kind in arrays]
    copies += [
        f"__builtin_memcpy(t{index}, ({kind}*)p[{index}] + i, (end - i) * sizeof({kind}));"
        for index, kind in arrays
        if index not in written
    ]
    copies.append(f"{name_of}({rest});")
    copies += [
        f"__builtin_memcpy(({kind}*)p[{index}] + i, t{index}, (end - i) * sizeof({kind}));"
        for index, kind in arrays
        if index in written
    ]
    return "".join([*block, *text, *[f"  {line}\n" for line in copies], "}\n"])


@functools.lru_cache(256)
def compiled(
    text: str, functions: tuple[str, ...], described: tuple[str, ...], operations: int, flags: tuple[str, ...] = _FLAGS
) -> Callable[..., None]:
    """Return the function of source code: from the cache on disk, or compiled and put there."""
    compiler = os.environ.get("CXX", "g++")
    facts = [text, compiler, *flags, *functions, code_cache.machine()]
    name = hashlib.sha256("\n".join(facts).encode()).hexdigest()

    def load(libraries: Mapping[str, Path]) -> Callable[..., None]:
        found: list[str | int] = []
        for function in functions:
            found += numpy_loops.addresses(function) if function.startswith("numpy.") else [function]
        return vector_library.load(os.fspath(libraries["kernel"]), found)

    found = code_cache.kernels(name, load)
    if found is None:
        code = {"kernel": _built([compiler, *flags], text)}
        found = load(code_cache.keep(name, text, code, list(described), operations))
    return found


_running: set[subprocess.Popen[str]] = set()


def _built(command: list[str], text: str) -> bytes:
    with tempfile.TemporaryDirectory() as directory:
        source, library = Path(directory) / "kernel.cpp", Path(directory) / "kernel.so"
        source.write_text(text)
        command = [*command, "-o", os.fspath(library), os.fspath(source)]
        # In a group of its own: the compiler starts other processes, which end with it.
        run = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, process_group=0)
        _running.add(run)
        try:
            _, problem = run.communicate()
        finally:
            _running.discard(run)
            if run.returncode is None:  # an interrupt from the keyboard
                _kill(run)
        if run.returncode:
            raise OSError(f"{' '.join(command)}: {problem}")
        return library.read_bytes()


def end() -> None:
    """End the compilers that run: the program ends, so nobody needs their code."""
    for run in list(_running):
        _kill(run)


def _kill(run: subprocess.Popen[str]) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(run.pid, signal.SIGKILL)


def runner(
    kernel: Callable[..., None],
    inputs: int,
    taken: Sequence[int],
    results: Sequence[tuple[tuple[int, ...], tuple[int, ...], torch.dtype]],
    numbers: Sequence[int] = (),
    host: Callable[..., None] | None = None,
) -> Program:
    """Make the Python program, which allocates the results and calls the kernel once with inputs and numbers.

    ``host`` is what the kernel calls, if it calls anything.
    """
    given = [f"a{index}" for index in range(inputs)]
    made = [f"r{index}" for index in range(len(results))]
    lines = ["def program(tensors):", f" ({''.join([f'{each}, ' for each in given])}) = tensors"]
    for index, (shape, stride, _) in enumerate(results):
        lines.append(f" r{index} = empty({shape}, {stride}, d{index})")
    operands = [*[f"a{index}" for index in taken], *made, *[f"{number}" for number in numbers]]
    operands += ["host"] * (host is not None)
    lines += [f" kernel({', '.join(operands)})", f" return ({''.join([f'{each}, ' for each in made])})"]
    names: dict[str, Any] = {"kernel": kernel, "empty": vector_library.new_memory(), "host": host}
    names.update({f"d{index}": dtype for index, (_, _, dtype) in enumerate(results)})
    exec("\n".join(lines), names)
    found: Program = names["program"]
    return found
