"""The public functions, and the namespace ``tnp``, for protocols that look functions up by name.

Layer: owns what stands between a program and a function that NumPy has too: data that no tensor can hold goes to
NumPy's own function, and an object of a library with a method of the function's name is asked for it, as NumPy asks.
Functions of tnp call one another without that.
"""

from __future__ import annotations

import functools
import inspect
import sys
from types import FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np

from tnp._core import host_fallback
from tnp._core.dtype_table import PLAIN
from tnp._core.dtypes import DtypeError
from tnp._core.interop import has_method

METHODS = frozenset({
    "all", "any", "argmax", "argmin", "argpartition", "argsort", "choose", "clip", "cumprod", "cumsum",
    "diagonal", "max", "mean", "min", "nonzero", "prod", "ravel", "repeat", "round", "searchsorted", "squeeze",
    "std", "sum", "swapaxes", "take", "trace", "transpose", "var",
})  # fmt: skip
"""Functions that are their first argument's method, if its class has one of its own."""

DIRECT = frozenset({"concatenate", "dot", "empty", "ones", "reshape", "where", "zeros"})
"""Functions that begin in the native core, where one frame more would be felt: they hand refusals on themselves."""

_KNOWN = frozenset({*PLAIN, np.ndarray, list, tuple, int, float, bool, complex})
"""What has no method that NumPy would call instead of a function."""

_COPIED = ("__name__", "__qualname__", "__doc__", "__annotations__", "__defaults__", "__kwdefaults__")
_FILE = f"{__file__}/public"  # no file: a traceback shows no line; below tnp's folder: a warning names the program's
_made: dict[Any, Any] = {}
shown: dict[Any, Any] = {}
"""What ``python -m tnp --report`` shows a program in place of a public function."""


def publish(module: ModuleType, theirs: ModuleType) -> None:
    """Make a module's functions public that NumPy's module has too: each when a program first asks for it.

    Parameters
    ----------
    module : module
        A complete one. Functions that it imported leave its dictionary until they are asked for.
    theirs : module
        NumPy's.
    """
    names, waiting = module.__dict__, {}
    for name in module.__all__:
        ours = names.get(name)
        if isinstance(ours, (FunctionType, MethodType)) and callable(function := getattr(theirs, name, ours)):
            if ours.__module__ == module.__name__:  # the module's functions call it by its name
                names[name] = _public(ours, function, module.__name__)
            elif function is not ours and ours.__name__ not in DIRECT:
                waiting[name] = names.pop(name), function
    otherwise = names.get("__getattr__")

    def find(name: str) -> Any:
        if name in waiting:
            names[name] = found = _public(*waiting[name], module.__name__)
            return found
        if otherwise is None:
            raise AttributeError(f"module {module.__name__!r} has no attribute {name!r}")
        return otherwise(name)

    names["__getattr__"] = find


def namespace() -> ModuleType:
    """Return the module ``tnp``."""
    return sys.modules["tnp"]


def called(ours: Any, theirs: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Do what the public function of ``ours`` does, for arguments without defaults."""
    if ours.__name__ in METHODS and args and type(args[0]) not in _KNOWN and has_method(args[0], ours.__name__):
        return host_fallback.by_method(theirs, args, kwargs)
    try:
        return ours(*args, **kwargs)
    except DtypeError as error:
        return host_fallback.refused(error, theirs, args, kwargs)


def implementation(function: Any) -> Any:
    """Return tnp's function behind a public one; any other function is returned as it is."""
    return inspect.unwrap(function)


def _public(ours: Any, theirs: Any, module: str, bound: bool = False) -> Any:
    """Return the public function of one of tnp's functions, or of a bound method, which stays one."""
    if isinstance(ours, MethodType):
        return MethodType(_public(ours.__func__, theirs, module, True), ours.__self__)
    if ours not in _made:
        _made[ours] = _wrapped(ours, theirs, module, bound)
    return _made[ours]


def _wrapped(ours: FunctionType, theirs: Any, module: str, bound: bool) -> Any:
    """Return a function with the parameters of ``ours``: one that passes ``*args`` on takes three times as long."""
    parameters = [
        each.replace(annotation=each.empty, default=each.empty if each.default is each.empty else None)
        for each in inspect.signature(ours).parameters.values()
    ]
    stars: dict[Any, str] = {inspect.Parameter.VAR_POSITIONAL: "*", inspect.Parameter.VAR_KEYWORD: "**"}
    by_name = [each for each in parameters if each.kind in (each.KEYWORD_ONLY, each.VAR_KEYWORD)]
    by_place = [f"{stars.get(each.kind, '')}{each.name}, " for each in parameters if each not in by_name]
    places = "".join(by_place)
    keywords = ", ".join([f"**{each.name}" if each.kind in stars else f"{each.name}={each.name}" for each in by_name])
    passed = f"({''.join(by_place[bound:])}), dict({keywords})"
    by_method = ""
    if ours.__name__ in METHODS:
        first = parameters[bound].name
        by_method = f"""
    if type({first}) not in _known and _has_method({first}, {ours.__name__!r}):
        return _called(_ours, _theirs, *_without_defaults(_ours, {passed}))"""
    source = f"""
def public{inspect.Signature(parameters)}:{by_method}
    try:
        return _ours({places}{keywords})
    except _refusal as error:
        return _refused(error, _theirs, *_without_defaults(_ours, {passed}))"""
    made: dict[str, Any] = {  # without a __name__, by which Dynamo would look these names up in a module
        "_ours": ours, "_theirs": theirs, "_known": _KNOWN, "_has_method": has_method, "_called": called,
        "_refusal": DtypeError, "_refused": host_fallback.refused, "_without_defaults": _without_defaults,
    }  # fmt: skip
    exec(compile(source, _FILE, "exec"), made)
    made["public"].__module__ = module
    return functools.update_wrapper(made["public"], ours, _COPIED)


def _without_defaults(
    function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Return a call's arguments without those that are a function's defaults, the last ones by place."""
    defaults, options = list(function.__defaults__ or ()), function.__kwdefaults__ or {}
    while defaults and args[-1] is defaults.pop():
        args = args[:-1]
    return args, {name: value for name, value in kwargs.items() if value is not options.get(name, options)}
