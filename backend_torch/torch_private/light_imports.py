"""Tracing without importing torch's compilers, which a trace needs only if sizes are left open.

Layer: owns which of torch's imports get a stand-in. A trace of fixed sizes needs two settings and ``disable`` from
Dynamo, one setting from Inductor, and from the symbolic shapes whether there are symbols. Importing the three takes
longer than a second and loads 800 modules, sympy and networkx among them. A matrix product still imports sympy: torch's
C++ looks up DTensor there.
"""

from __future__ import annotations

import builtins
import contextlib
import functools
import importlib
import operator
import sys
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import torch

from backend_torch.torch_private.patches import Patches, Undo, replaced_attribute

_DYNAMO, _INDUCTOR, _SYMBOLS = "torch._dynamo", "torch._inductor", "torch.fx.experimental.symbolic_shapes"
_OPERATORS = "torch._higher_order_ops"
_TRITON = f"{_OPERATORS}.triton_kernel_wrap"


class _StandIn:
    """A stand-in for a module: it knows some names; reading another name, or setting one, imports the module."""

    def __init__(self, module: str, **known: Any) -> None:
        self.__dict__.update(known, origin=module)

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(importlib.import_module(self.origin), name, value)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(importlib.import_module(self.origin), name)


def _left_alone(function: Callable[..., Any], recursive: bool = True, wrapping: bool = True) -> Callable[..., Any]:
    """Stand in for ``torch._dynamo.disable(function)``: before Dynamo's import there is nothing to disable."""
    found: list[Callable[..., Any]] = []

    @functools.wraps(function)
    def run(*args: Any, **kwargs: Any) -> Any:
        if found:
            return found[0](*args, **kwargs)
        disable = getattr(sys.modules.get(_DYNAMO), "disable", None)
        if disable is None:
            return function(*args, **kwargs)
        found.append(disable(function, recursive, wrapping=wrapping))
        return found[0](*args, **kwargs)

    return run


class _Nothing:
    """Stands in for a class that has no instances before its module is imported."""


class _NoSymbol(Exception):
    """Stands in for an exception about symbols, which nothing raises without symbols."""


_SETTINGS = _StandIn(
    f"{_DYNAMO}.config",
    fake_tensor_cache_enabled=True,
    fake_tensor_cache_crosscheck_enabled=False,
    _custom_ops_profile=None,
)
_OF_NUMBERS: dict[str, Callable[..., Any]] = {
    "_constrain_range_for_size": lambda value, *bounds, **named: None,
    "_iterate_exprs": lambda value: (),
    "_iterate_nodes": lambda value: (),
    "compute_unbacked_bindings": lambda *arguments, **named: None,
    "expect_true": bool,
    "free_unbacked_symbols": lambda value: set(),
    "guard_int": int,
    "guard_or_false": bool,
    "guard_or_true": bool,
    "guard_size_oblivious": bool,
    "guarding_hint_or_throw": lambda value: value,
    "has_free_symbols": lambda value: False,
    "has_free_unbacked_symbols": lambda value: False,
    "has_guarding_hint": lambda value: True,
    "has_hint": lambda value: True,
    "is_accessor_node": lambda node: False,
    "is_nested_int": lambda value: False,
    "is_symbolic": lambda value: False,
    "optimization_hint": lambda value, fallback=None: value,
    "size_hint": lambda value, fallback=None: value,
    "statically_known_true": bool,
    "sym_and": lambda *values: all(values),
    "sym_eq": lambda one, other: (
        len(one) == len(other) and all(map(operator.eq, one, other)) if isinstance(one, (tuple, list)) else one == other
    ),
    "sym_or": lambda *values: any(values),
}
"""Functions of symbolic shapes for plain numbers: before that module's import all sizes are plain."""


def _of_numbers(name: str, plain: Callable[..., Any]) -> Callable[..., Any]:
    """Make a stand-in for a function of symbolic shapes; it calls torch's own once that module is imported."""

    def function(*args: Any, **kwargs: Any) -> Any:
        theirs = getattr(sys.modules.get(_SYMBOLS), name, None)
        return plain(*args, **kwargs) if theirs is None else theirs(*args, **kwargs)

    return function


_STAND_INS: dict[str, Any] = {
    f"{_DYNAMO}.config": _SETTINGS,
    _DYNAMO: _StandIn(_DYNAMO, disable=_left_alone, config=_SETTINGS),
    _INDUCTOR: _StandIn(
        _INDUCTOR,
        config=_StandIn(
            f"{_INDUCTOR}.config", emulate_precision_casts=False, trace=SimpleNamespace(provenance_tracking_level=0)
        ),
    ),
    f"{_INDUCTOR}.fx_passes.dedupe_symint_uses": _StandIn(
        f"{_INDUCTOR}.fx_passes.dedupe_symint_uses", dedupe_symints=lambda graph: None
    ),
    f"{_INDUCTOR}.compiler_bisector": _StandIn(
        f"{_INDUCTOR}.compiler_bisector", CompilerBisector=SimpleNamespace(disable_subsystem=lambda *arguments: False)
    ),
    _SYMBOLS: _StandIn(
        _SYMBOLS,
        GuardOnDataDependentSymNode=_NoSymbol,
        ShapeEnv=None,
        **{name: _of_numbers(name, function) for name, function in _OF_NUMBERS.items()},
    ),
    _TRITON: _StandIn(_TRITON, TritonKernelWrapperFunctional=_Nothing, TritonKernelWrapperMutation=_Nothing),
    f"{_OPERATORS}.invoke_subgraph": _StandIn(f"{_OPERATORS}.invoke_subgraph", InvokeSubgraphHOP=_Nothing),
    "sympy": _StandIn("sympy", Basic=_Nothing, Expr=_Nothing, Symbol=_Nothing),
}


def _put(patches: Patches) -> list[Undo]:
    """Give torch's tracer the stand-ins, in this thread, until some code imports the modules themselves."""
    theirs = builtins.__import__

    def ours(name: str, globals: Any = None, locals: Any = None, fromlist: Any = (), level: int = 0) -> Any:
        # Only imports inside functions, which pass no locals: a module would keep the stand-in.
        if (name not in _STAND_INS and level != 1) or locals is not None or globals is None:
            return theirs(name, globals, locals, fromlist, level)
        if globals.get("__name__", "").partition(".")[0] == "torch":
            whole = f"{globals['__package__']}.{name}" if level == 1 else name
            if whole in _STAND_INS and whole not in sys.modules and _DYNAMO not in sys.modules:
                return _STAND_INS[whole] if fromlist or "." not in whole else torch
        return theirs(name, globals, locals, fromlist, level)

    return [
        *[_shown(name) for name in (_DYNAMO, _TRITON) if name not in sys.modules],
        replaced_attribute(builtins, "__import__", patches.either(ours, theirs)),
    ]


def _shown(module: str) -> Undo:
    """Make the stand-in an attribute of the module's package; importing the module replaces it."""
    package, _, name = module.rpartition(".")
    names, stand_in = sys.modules[package].__dict__, _STAND_INS[module]
    names[name] = stand_in

    def undo() -> None:
        if names.get(name) is stand_in:
            del names[name]

    return undo


PATCHES = Patches(_put)


def scope() -> contextlib.AbstractContextManager[None]:
    """Return the scope of the patches: none once Dynamo is imported, since they would only slow torch's imports."""
    return contextlib.nullcontext() if _DYNAMO in sys.modules else PATCHES.applied()
