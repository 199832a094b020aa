"""The public functions, and the namespace ``tnp``, for protocols that look functions up by name.

Layer: owns the wrapper between a program and each function that NumPy has too. It passes data that no tensor can hold
to NumPy's own function. Like NumPy, it calls a library object's method of the function's name, if it has one.
Functions of tnp call one another without the wrapper.
"""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Callable
from types import FunctionType, MethodType, ModuleType
from typing import Any, TypeVar

import numpy as np

from backend_torch.native import heads
from backend_torch.tensors import trace_state
from tnp._core import host_fallback, hosted
from tnp._core.base import ndarray
from tnp._core.dtype_table import PLAIN
from tnp._core.dtypes import DtypeError
from tnp._core.function_overrides import REFUSALS, asked
from tnp._core.interop import has_method

METHODS = frozenset({
    "all", "any", "argmax", "argmin", "argpartition", "argsort", "choose", "clip", "cumprod", "cumsum",
    "diagonal", "max", "mean", "min", "nonzero", "prod", "ravel", "repeat", "round", "searchsorted", "squeeze",
    "std", "sum", "swapaxes", "take", "trace", "transpose", "var",
})  # fmt: skip
"""Functions that call the first argument's method of their name, if a library's class defines it."""

DIRECT = frozenset({"concatenate", "dot", "empty", "ones", "reshape", "where", "zeros"})
"""Functions without a wrapper: they begin in the native core, and one frame more would slow them. They call NumPy's
function for refused data themselves.
"""

NATIVE = frozenset({
    "all", "any", "arange", "argmax", "argmin", "array", "copyto", "cumprod", "cumsum", "dot", "flip", "full",
    "isclose", "max", "mean", "min", "norm", "packbits", "prod", "putmask", "sum", "take",
    "unpackbits",
})  # fmt: skip
"""Functions whose native head takes all of their parameters: the wrapper asks the head before anything else."""

ITSELF = dict.fromkeys(["asarray", "asanyarray"], "dtype is order is device is copy is like is None")
"""Functions that return an array as it is, and the condition: the wrapper then does not call them."""

_KNOWN = frozenset({*PLAIN, np.ndarray, list, tuple, int, float, bool, complex})
"""Types for which NumPy would not call a method instead of its function."""

_COPIED = ("__name__", "__qualname__", "__doc__", "__annotations__", "__defaults__", "__kwdefaults__")
# The file name of generated code. There is no such file, so a traceback shows no line of it; it is below tnp's folder,
# so a warning names the program's line.
_FILE = f"{__file__}/public"
_Function = TypeVar("_Function", bound=Callable[..., Any])
_made: dict[Any, Any] = {}
shown: dict[Any, Any] = {}
"""Public function -> the function that ``python -m tnp --report`` gives a program instead."""


def publish(module: ModuleType, theirs: ModuleType) -> None:
    """Wrap a module's functions that NumPy's module has too, each when a program first reads it.

    Parameters
    ----------
    module : module
        The module of tnp, complete. Functions that it imported leave its dictionary until a program reads them.
    theirs : module
        NumPy's module.
    """
    names, waiting = module.__dict__, {}
    for name in module.__all__:
        ours = names.get(name)
        if isinstance(ours, (FunctionType, MethodType)) and callable(function := getattr(theirs, name, ours)):
            if ours.__module__ == module.__name__:  # other functions of the module read it as a global
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


def of_tnp(theirs: Any) -> Any:
    """Return tnp's public function for one of NumPy's; NumPy's own if tnp has none."""
    place = getattr(theirs, "__module__", None) or ""
    module = sys.modules.get("tnp" + place.removeprefix("numpy")) if place.split(".")[0] == "numpy" else None
    return getattr(module, getattr(theirs, "__name__", ""), theirs)


def called(ours: Any, theirs: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Do what the public wrapper of ``ours`` does, for arguments without defaults."""
    if ours.__name__ in METHODS and args and type(args[0]) not in _KNOWN and has_method(args[0], ours.__name__):
        return host_fallback.by_method(theirs, args, kwargs)
    try:
        return ours(*args, **kwargs)
    except _REFUSALS as error:
        return _refused(error, ours, theirs, args, kwargs)


_REFUSALS = (*REFUSALS, AttributeError, TypeError)
"""What may mean that an argument overrides the function: it lacks an array's attributes, or is no array to write to."""


def _refused(error: Exception, ours: Any, theirs: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Let NumPy, or an argument that overrides the function, compute in place of tnp's function."""
    if not isinstance(error, REFUSALS):
        override = asked(ours, theirs, args, kwargs)
        if override is None:
            raise error
        error = override
    return host_fallback.refused(error, theirs, args, kwargs)


def implementation(function: Any) -> Any:
    """Return tnp's function behind a public wrapper; return any other function as it is."""
    return inspect.unwrap(function)


def of_array(method: _Function) -> _Function:
    """Decorate a method of arrays: the wrapper does for it what it does for a function."""
    return _wrapped(method, getattr(np.ndarray, method.__name__), method.__module__, is_method=True)


def _public(ours: Any, theirs: Any, module: str, bound: bool = False) -> Any:
    """Return the public wrapper of a function of tnp; that of a bound method is a bound method."""
    if isinstance(ours, MethodType):
        return MethodType(_public(ours.__func__, theirs, module, True), ours.__self__)
    if ours not in _made:
        _made[ours] = _wrapped(ours, theirs, module, bound)
    return _made[ours]


def _wrapped(ours: Any, theirs: Any, module: str, bound: bool = False, is_method: bool = False) -> Any:
    """Generate a wrapper with the parameters of ``ours``: a wrapper with ``*args`` would take three times as long.

    Without the instance, if ``ours`` is the function of a ``bound`` method; with it, if ``ours`` is a method of arrays.
    """
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
    full_name = f"{getattr(theirs, '__module__', '')}.{ours.__name__}"
    natively, by_method = hosted.call(full_name.removeprefix("numpy.").lstrip("."), "self" if is_method else ""), ""
    if ours.__name__ in NATIVE:
        natively = f"""
    if (_found := _heads.{ours.__name__}({", ".join([each.name for each in parameters[bound:]])})) is not None:
        return {None if ours.__name__ in hosted.WRITTEN else "_found"}{natively}"""
    if ours.__name__ in ITSELF:
        natively = f"""
    if (type(a) is _array or _stays(a)) and {ITSELF[ours.__name__]}:
        return a"""
    if ours.__name__ in METHODS and not is_method:
        first = parameters[bound].name
        by_method = f"""
    if type({first}) not in _known and _has_method({first}, {ours.__name__!r}):
        return _called(_ours, _theirs, *_without_defaults(_ours, {passed}))"""
    source = f"""
def public{inspect.Signature(parameters)}:{natively}{by_method}
    try:
        return _ours({places}{keywords})
    except _refusal as error:
        return _refused(error, public, _theirs, *_without_defaults(_ours, {passed}))"""
    made: dict[str, Any] = {  # without __name__: else Dynamo would look these names up in the module of that name
        "_ours": ours, "_theirs": theirs, "_known": _KNOWN, "_has_method": has_method, "_called": called,
        "_refusal": DtypeError if is_method else _REFUSALS, "_refused": _refused, "_heads": heads,
        "_without_defaults": _without_defaults, "_no_value": np._NoValue, "_copying": hosted.COPYING,
        "_is_by_element": hosted.is_by_element,
        "_hosted": hosted.function(theirs) if natively else None, "_array": ndarray, "_stays": _stays,
    }  # fmt: skip
    exec(compile(source, _FILE, "exec"), made)
    made["public"].__module__ = module
    return functools.update_wrapper(made["public"], ours, _COPIED)


def _stays(x: Any) -> bool:
    """Whether a value is an array of NumPy's that NumPy computes with: of strings, objects, dates or structures."""
    return type(x) is np.ndarray and x.dtype.char in "USOMmV" and not trace_state.is_tracing()


def _without_defaults(
    function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Return a call's arguments without those that equal the function's defaults; of positional ones only the last.

    Where one is not given at all, the optional ones are passed by name: NumPy's parameters may have another order.
    """
    defaults, options = list(function.__defaults__ or ()), function.__kwdefaults__ or {}
    kwargs = {name: value for name, value in kwargs.items() if value is not options.get(name, options)}
    required = len(args) - len(defaults)
    if any(each is np._NoValue for each in args[required:]):
        names = function.__code__.co_varnames[required : len(args)]
        optional = zip(names, args[required:], defaults, strict=True)
        return args[:required], {name: value for name, value, default in optional if value is not default} | kwargs
    while defaults and args[-1] is defaults.pop():
        args = args[:-1]
    return args, kwargs
