"""Drawing a call: one of the namespace's functions, with an argument for each parameter of its signature.

Layer: owns the list of what is called, and which of the parameters are given. Functions come from NumPy's namespace:
functions that tnp adds are not fuzzed here, and the coverage table lists those that tnp lacks.
"""

from __future__ import annotations

import fnmatch
import functools
import inspect
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

import tnp
from conformance.fuzz import arguments
from conformance.fuzz.arguments import Kind
from conformance.fuzz.program import Call, Node, Text, View, run_numpy
from conformance.fuzz.values import DTYPES, Draw

# Functions without comparable outcomes: uninitialised memory, contexts, files, addresses, Python code, random numbers.
LEFT_OUT = {
    "empty", "empty_like", "frompyfunc", "fromfunction", "from_dlpack", "frombuffer", "fromstring", "fromiter", "ufunc",
    "finfo", "iinfo", "dtype", "ndarray", "flatiter", "ndenumerate", "save", "savez", "savez_compressed", "savetxt",
    "load", "loadtxt", "genfromtxt", "fromregex", "fromfile", "memmap", "info", "show_config", "show_runtime", "test",
    "get_include", "vectorize", "nditer", "errstate", "geterr", "seterr", "geterrcall", "seterrcall", "printoptions",
    "set_printoptions", "get_printoptions", "getbufsize", "setbufsize", "apply_along_axis", "apply_over_axes",
    "piecewise", "broadcast", "poly1d", "matrix", "asmatrix", "bmat",
}  # fmt: skip
METHODS_LEFT_OUT = {"dump", "dumps", "tofile", "setflags", "to_device", "getfield", "setfield", "resize"}
OPERATORS = ["+", "-", "*", "/", "//", "%", "**", "<<", ">>", "&", "|", "^", "<", "<=", "==", "!=", ">", ">=", "@"]
INPLACE = [
    "iadd", "isub", "imul", "itruediv", "ifloordiv", "imod", "ipow", "ilshift", "irshift", "iand", "ior", "ixor",
    "imatmul",
]  # fmt: skip
BUILTINS = ["int", "float", "complex", "bool", "len", "repr", "str", "round", "list"]
COMPARISONS = {"equal", "not_equal", "less", "less_equal", "greater", "greater_equal"}
VARIADIC = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
IGNORED = {"like", "device", "self", "kwargs", "stream", "max_work"}


@dataclass(frozen=True)
class Parameter:
    """One parameter of a function."""

    name: str
    kind: Kind | None
    required: bool
    keyword: bool  # keyword only
    variadic: bool


@dataclass(frozen=True)
class Target:
    """Something to call."""

    name: str
    callee: str
    parameters: tuple[Parameter, ...]


def _first(draw: Draw) -> Node:
    return draw.view(draw.shape, draw.dtype)


def _fixed(*kinds: tuple[str, Kind]) -> tuple[Parameter, ...]:
    return tuple([Parameter(name, kind, True, False, False) for name, kind in kinds])


def _optional(callee: str, *names: str) -> tuple[Parameter, ...]:
    return tuple([Parameter(name, arguments.kind_of(callee, name), False, True, False) for name in names])


def _signature(callee: str, function: Any, fallback: Any) -> tuple[Parameter, ...]:
    try:
        signature = inspect.signature(function)
    except ValueError:
        signature = inspect.signature(fallback)
    found = []
    for p in signature.parameters.values():
        if p.name in IGNORED:
            continue
        kind = arguments.kind_of(callee, p.name)
        required = p.default is p.empty and p.kind is not p.VAR_KEYWORD
        found.append(Parameter(p.name, kind, required, p.kind is p.KEYWORD_ONLY, p.kind in VARIADIC))
    return tuple(found)


def _of_ufunc(name: str, ufunc: np.ufunc) -> list[Target]:
    array = arguments.array
    callee = f"np.{name}"
    options = _optional(callee, "where", "dtype", "casting", "order", "out")
    operands = _fixed(*[(f"x{i + 1}", array) for i in range(ufunc.nin)])
    targets = [Target(callee, callee, operands + options)]
    if ufunc.signature is not None:
        return targets
    if ufunc.nin == 1:
        at = _fixed(("a", _first), ("indices", arguments.positions))
        return [*targets, Target(f"{callee}.at", f"{callee}.at", at)] if ufunc.nout == 1 else targets
    if ufunc.nout == 1:
        given = _fixed(("array", array))
        where = Parameter("where", arguments.mask, False, True, False)
        axis = _optional(callee, "axis", "dtype", "out")
        plain = (Parameter("axis", arguments.axis, False, True, False), *axis[1:])
        some = _fixed(("indices", arguments.positions))
        reduced = (*given, *axis, *_optional(callee, "keepdims", "initial"), where)
        targets += [
            Target(f"{callee}.reduce", f"{callee}.reduce", reduced),
            Target(f"{callee}.accumulate", f"{callee}.accumulate", given + plain),
            Target(f"{callee}.reduceat", f"{callee}.reduceat", given + some + plain),
            Target(f"{callee}.outer", f"{callee}.outer", operands),
            Target(f"{callee}.at", f"{callee}.at", _fixed(("a", _first)) + some + _fixed(("b", array))),
        ]
    return targets


def _functions(prefix: str, names: Iterable[str], numpy_module: Any, tnp_module: Any) -> list[Target]:
    targets = []
    for name in sorted(names):
        if name in LEFT_OUT or name not in tnp_module.__all__:
            continue
        function, ours = getattr(numpy_module, name), getattr(tnp_module, name)
        callee = f"{prefix}.{name}"
        if isinstance(function, np.ufunc):
            targets += _of_ufunc(name, function)
        elif callable(function) and not isinstance(function, type):
            targets.append(Target(callee, callee, _signature(callee, function, ours)))
    return targets


def _methods() -> list[Target]:
    targets = []
    for name in sorted(dir(np.ndarray)):
        method = getattr(np.ndarray, name)
        if name.startswith("_") or name in METHODS_LEFT_OUT or not hasattr(tnp.ndarray, name):
            continue
        if callable(method):
            callee = f"{{0}}.{name}({{rest}})"
            given = _signature(callee, method, getattr(tnp.ndarray, name))
            known = [
                Parameter(p.name, p.kind or arguments.kind_of(f"np.{name}", p.name), p.required, p.keyword, p.variadic)
                for p in given
            ]
            targets.append(Target(f"ndarray.{name}", callee, (*_fixed(("self", _first)), *known)))
    targets += [
        Target(f"ndarray.{name}", f"{{0}}.{name}", _fixed(("self", _first)))
        for name in ("T", "mT", "real", "imag", "shape", "ndim", "size", "itemsize", "nbytes", "dtype", "flat")
    ]
    return targets


def _operators() -> list[Target]:
    both = _fixed(("x", _first), ("y", arguments.array))
    one = _fixed(("x", _first))
    turned = _fixed(("y", arguments.array), ("x", _first))
    targets = [Target(op, f"{{0}} {op} {{1}}", both) for op in OPERATORS]
    targets += [Target(f"r{op}", f"{{0}} {op} {{1}}", turned) for op in OPERATORS]
    targets += [Target(name, f"operator.{name}", both) for name in INPLACE]
    targets += [Target(name, f"operator.{name}", one) for name in ("neg", "pos", "abs", "invert", "index")]
    targets += [Target(name, name, one) for name in BUILTINS]
    targets += [Target("divmod", "divmod", both), Target("in", "{1} in {0}", both)]
    got = _fixed(("x", _first), ("key", arguments.key))
    targets += [Target("getitem", "{0}[{1}]", got)] * 6
    put = Target("setitem", "{0}.__setitem__(np.s_[{1}], {2})", (*got, *_fixed(("value", arguments.array))))
    return targets + [put] * 6


@functools.cache
def targets(patterns: tuple[str, ...] = ()) -> list[Target]:
    """Return everything to call, or what matches one of the patterns: ``sum``, ``np.linalg.*``, ``ndarray.sort``."""
    found = _functions("np", np.__all__, np, tnp)
    found += _functions("np.linalg", np.linalg.__all__, np.linalg, tnp.linalg)
    found += _functions("np.fft", np.fft.__all__, np.fft, tnp.fft)
    found += _methods() + _operators()
    if patterns:
        found = [t for t in found if any(_matches(t.name, pattern) for pattern in patterns)]
    return found


def _matches(name: str, pattern: str) -> bool:
    return any(fnmatch.fnmatchcase(name, p) for p in (pattern, f"np.{pattern}", f"ndarray.{pattern}"))


def call(seed: str, patterns: tuple[str, ...] = ()) -> tuple[Target, Call]:
    """Draw the call of a seed."""
    draw = Draw(seed)
    target = draw.one(targets(patterns))
    args: list[Node] = []
    keywords: dict[str, Node] = {}
    positional = True
    wants_out = False
    for p in target.parameters:
        if p.name == "out":
            wants_out = draw.chance(0.15)
            positional = False
            continue
        if not p.required and not draw.chance(0.22):
            positional = False
            continue
        for node in _drawn(draw, target, p):
            if p.variadic or (positional and not p.keyword):
                args.append(node)
            else:
                keywords[p.name] = node
    if not all(isinstance(arg, View) for arg in args):
        _spare_numpy(target, keywords)
    made = Call(target.callee, tuple(args), keywords)
    if wants_out or _is_partial(target, keywords):
        keywords = {**keywords, "out": _out(draw, made)}
    return target, Call(target.callee, tuple(args), keywords)


def _spare_numpy(target: Target, keywords: dict[str, Node]) -> None:
    """Omit options that crash NumPy up to 2.4 if an operand is a Python number."""
    if keywords.get("casting") == Text("'equiv'"):  # https://github.com/numpy/numpy/pull/32496
        keywords["casting"] = Text("'no'")
    if target.name.removeprefix("np.") in COMPARISONS:  # numpy.greater_equal(-3, unsigned, where=mask)
        keywords.pop("where", None)


def _drawn(draw: Draw, target: Target, p: Parameter) -> list[Node]:
    if p.variadic:
        drawn = [] if p.kind is None else [p.kind(draw) for _ in range(draw.number(1, 2))]
    elif draw.chance(0.03) and "{" not in target.callee:
        drawn = [draw.bad()]
    elif p.kind is None:
        drawn = [draw.bad() if draw.chance(0.3) or p.required else None]
    else:
        drawn = [p.kind(draw)]
    return [node for node in drawn if node is not None]


def _is_partial(target: Target, keywords: dict[str, Node]) -> bool:
    """Whether a ufunc leaves elements of its result unwritten."""
    return "where" in keywords and any(p.name == "casting" for p in target.parameters)


def _out(draw: Draw, made: Call) -> Node:
    """Draw an array for ``out``, mostly of the result's shape and dtype; sometimes it is one of the arguments."""
    if draw.views and draw.chance(0.15):
        return draw.one(draw.views)
    result = run_numpy(made).value
    if not isinstance(result, (np.ndarray, np.generic)) or result.dtype.name not in DTYPES or draw.chance(0.1):
        return Text("None") if draw.chance(0.2) else draw.view()
    return draw.view(result.shape, result.dtype.name if draw.chance(0.8) else draw.one(DTYPES))
