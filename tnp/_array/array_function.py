"""Functions of arrays of classes derived from ndarray: overrides, and the class of the results.

Layer: owns the protocol ``__array_function__``. Functions check for such arrays only once a program has made the first.
"""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Callable
from types import FunctionType
from typing import Any

import numpy as np

from backend_torch.native import heads
from tnp._core import public
from tnp._core.base import ndarray, scalar, subclass, wrap_array
from tnp._core.derived_classes import as_result, before_the_first, finalised, kept, plain, ranked, winner
from tnp._core.mask_selection import Selection
from tnp._core.public import METHODS
from tnp._core.trees import holds, replaced
from tnp._core.ufunc_overrides import wrapped_by

KEEPS = frozenset({
    "all", "angle", "any", "apply_along_axis", "argmax", "argmin", "argpartition", "argsort", "array_split",
    "astype", "atleast_1d", "atleast_2d", "atleast_3d", "average", "choose", "clip", "compress", "correlate",
    "cumprod", "cumsum", "cumulative_prod", "cumulative_sum", "delete", "diag", "diagflat", "diagonal", "diff",
    "dot", "dsplit", "ediff1d", "empty_like", "expand_dims", "extract", "fix", "flip", "fliplr", "flipud",
    "full_like", "geomspace", "gradient", "hsplit", "i0", "imag", "inner", "insert", "isclose", "isneginf",
    "isposinf", "isreal", "kron", "linalg.cholesky", "linalg.diagonal", "linalg.inv", "linalg.lstsq",
    "linalg.matmul", "linalg.matrix_power", "linalg.matrix_transpose", "linalg.multi_dot", "linalg.pinv",
    "linalg.qr", "linalg.solve", "linalg.tensorsolve", "linalg.vecdot", "linspace", "logspace",
    "matrix_transpose", "max", "mean", "median", "meshgrid", "min", "moveaxis", "nan_to_num", "nanargmax",
    "nanargmin", "nancumprod", "nancumsum", "nanmax", "nanmean", "nanmedian", "nanmin", "nanpercentile",
    "nanprod", "nanquantile", "nanstd", "nansum", "nanvar", "ones_like", "packbits", "partition", "percentile",
    "piecewise", "polyadd", "polysub", "polyval", "prod", "ptp", "quantile", "ravel", "real", "real_if_close",
    "repeat", "reshape", "roll", "rollaxis", "rot90", "setdiff1d", "sort", "split", "squeeze", "std", "sum",
    "swapaxes", "take", "take_along_axis", "tile", "trace", "transpose", "trapezoid", "trim_zeros", "unique",
    "unique_values", "unpackbits", "unstack", "var", "vsplit", "zeros_like",
})  # fmt: skip
"""Functions whose results are of the class of their arguments, as NumPy's are."""

JOIN = frozenset({
    "append", "block", "column_stack", "concatenate", "dstack", "hstack", "intersect1d", "resize", "setxor1d",
    "stack", "union1d", "vstack",
})  # fmt: skip
"""Functions whose results are of the class of their arguments if that has a priority above ndarray's."""

SCALARS_STAY = frozenset({
    "argmax", "argmin", "choose", "dot", "flip", "inner", "linalg.multi_dot", "nan_to_num", "nanargmax",
    "nanargmin", "nanpercentile", "nanquantile", "percentile", "polyval", "quantile", "take", "trace",
})  # fmt: skip
"""Those of them whose 0-d results are scalars, unless the class gives them a shape."""


WRAPPED = frozenset({
    "all", "any", "average", "clip", "cumprod", "cumsum", "diff", "max", "mean", "median", "min", "nanmax", "nanmean",
    "nanmedian", "nanmin", "nanprod", "nanstd", "nansum", "nanvar", "prod", "ptp", "std", "sum", "var",
})  # fmt: skip
"""Those of them whose results a class may change by ``__array_wrap__``: NumPy's last step is a ufunc."""

EACH = frozenset({"broadcast_arrays"})
"""Functions with ``subok`` whose results are each of the class of the argument in their place."""

CALLING = frozenset({"apply_along_axis", "apply_over_axes"})
"""Functions that call one of the program's, with arrays of the class."""

SHOWING = frozenset({"array_repr"})
"""Functions that say the class."""

_OWN = ("tnp._array.ndarray", "tnp._array.methods")


def _entry(*args: Any, _dispatch: Any, _plain: Any, _derived_in: Any, **kwargs: Any) -> Any:
    found = _derived_in(args, kwargs)
    return _plain(*args, **kwargs) if found is False else _dispatch(found, args, kwargs)


def look_for_subclasses() -> None:
    """Make the functions that dispatch in NumPy check their arguments for derived classes, from now on.

    The code of each function is exchanged in place. A wrapper would miss references that a program already holds, in a
    table of implemented functions or by ``from tnp import mean``.
    """
    from tnp import fft, linalg  # imported when needed: import tnp does not need them
    from tnp.lib import stride_tricks

    namespaces: list[tuple[str, Any, Any]] = [
        ("", np, public.namespace()),
        ("linalg.", np.linalg, linalg),
        ("fft.", np.fft, fft),
        ("lib.stride_tricks.", np.lib.stride_tricks, stride_tricks),
    ]
    for prefix, theirs, ours in namespaces:
        for name in dir(theirs):
            given = getattr(theirs, name)
            shown = getattr(ours, name, None)
            if hasattr(given, "_implementation") and isinstance(shown, FunctionType):
                if (function := public.implementation(shown)).__code__ is not _entry.__code__:
                    _exchange(prefix + function.__name__, function, shown, given)


def _exchange(name: str, function: FunctionType, shown: FunctionType, theirs: Any) -> None:
    implementation = _copied(function, function.__globals__)
    wrapper = _copied(shown, {**shown.__globals__, "_ours": implementation})
    function.__signature__ = inspect.signature(function)  # type: ignore[attr-defined]
    _enter(function, functools.partial(_dispatched, name, shown, implementation), implementation)
    if shown is not function:
        _enter(shown, functools.partial(_called, wrapper, function, theirs), wrapper)


def _copied(function: FunctionType, scope: dict[str, Any]) -> FunctionType:
    """Return a function with the code, the names and the defaults of another, and these globals."""
    made = FunctionType(function.__code__, scope, function.__name__, function.__defaults__, function.__closure__)
    made.__kwdefaults__, made.__qualname__ = function.__kwdefaults__, function.__qualname__  # named in errors
    return made


def _called(
    wrapper: Any, function: Any, theirs: Any, found: list[Any] | None, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    """Call a public function: by its wrapper, but for derived arrays, whose overrides see what the program gave."""
    if not (found or _within((*args, *kwargs.values()))):
        return wrapper(*args, **kwargs)
    return public.called(function, theirs, args, kwargs)


def _enter(function: FunctionType, dispatch: Callable[..., Any], plain: Callable[..., Any]) -> None:
    asked = {"_dispatch": dispatch, "_plain": plain, "_derived_in": heads.derived_in}
    function.__defaults__, function.__kwdefaults__ = None, asked
    function.__code__ = _entry.__code__


def _dispatched(
    name: str,
    function: Any,
    implementation: Any,
    found: list[Any] | None,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
) -> Any:
    if not (found := found or _within((*args, *kwargs.values()))):
        return implementation(*args, **kwargs)
    call = functools.partial(_default, name, implementation, found)
    caller = sys._getframe(2).f_globals.get("__name__")
    if caller in _OWN:  # the array's own method, found by its name
        return call(args, kwargs)
    of_each_class = ranked(found)
    overriding = [x for x in of_each_class if type(x).__array_function__ is not ndarray.__array_function__]
    types = tuple(map(type, of_each_class))
    for x in overriding:
        result = x.__array_function__(public.shown.get(function, function), types, args, kwargs)
        if result is not NotImplemented:
            return result
    if overriding:
        raise TypeError(
            f"no implementation found for 'numpy.{name}' on types that implement __array_function__: "
            f"{[type(x) for x in overriding]}"
        )
    if name in METHODS and args and isinstance(args[0], subclass):
        if getattr(type(args[0]), name) is not getattr(ndarray, name):
            if name == "squeeze" and kwargs.get("axis", 0) is None:  # methods of old classes know no axis
                kwargs = {}
            return getattr(args[0], name)(*args[1:], **kwargs)
    return call(args, kwargs)


def array_function(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Do for one of tnp's functions what ndarray's own ``__array_function__`` does."""
    name, _, original = public.implementation(function).__kwdefaults__["_dispatch"].args
    return _default(name, original, _within((*args, *kwargs.values())), args, kwargs)


def implementation(function: Any) -> Any:
    """Return the function that computes: the original code of a function whose code has been exchanged."""
    function = public.implementation(function)
    return function.__kwdefaults__["_dispatch"].args[2] if is_dispatching(function) else function


def is_dispatching(function: Any) -> bool:
    """Whether a function is a tnp function that checks for derived classes."""
    return getattr(public.implementation(function), "__code__", None) is _entry.__code__


def _within(values: Any) -> list[Any]:
    """Return the arrays of derived classes among arguments, and in their lists and tuples."""
    found: list[Any] = []
    for value in values:
        if isinstance(value, subclass):
            if type(value) is not Selection:  # functions handle these themselves
                found.append(value)
        elif (type(value) is list or type(value) is tuple) and holds(value, subclass):
            found += _within(value)
    return found


def _default(name: str, implementation: Any, found: list[Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Call the function with plain arrays; give results the arguments' class where NumPy does."""
    if name in SHOWING:
        return implementation(*args, **kwargs)
    stand_ins = {id(x): plain(x) for x in found}
    originals = {id(stand_ins[id(x)]): x for x in found}

    def stand_in(value: Any) -> Any:
        if name in CALLING and callable(value):
            of = winner(found)
            return lambda first, *rest, **more: value(finalised(type(of), first.tensor, of), *rest, **more)
        return stand_ins.get(id(value), value)

    result = implementation(*replaced(stand_in, args), **(kwargs and replaced(stand_in, kwargs)))
    if name in EACH:
        return tuple([kept(x, each) for x, each in zip(args, result, strict=True)]) if kwargs.get("subok") else result
    source = winner(found) if kwargs.get("subok", name in KEEPS or name in JOIN) else None
    if name in JOIN and source is not None and source.__array_priority__ <= 0:
        source = None

    outputs = [value for value in (*args, *kwargs.values()) if isinstance(value, ndarray)]
    is_wrapped = source is not None and name in WRAPPED and type(source).__array_wrap__ is not subclass.__array_wrap__

    def restored(value: Any) -> Any:
        if id(value) in originals:
            return originals[id(value)]
        if any(value is each for each in outputs):
            return value
        if name in CALLING and isinstance(value, subclass):
            return value
        if isinstance(value, ndarray) and source is not None:
            if is_wrapped:
                return wrapped_by(source, wrap_array(value.tensor), None, isinstance(value, scalar))
            made = finalised(type(source), value.tensor, None) if name in JOIN else as_result(source, value)
            return value if isinstance(value, scalar) and name in SCALARS_STAY and not made.ndim else made
        return value

    return replaced(restored, result)


before_the_first(look_for_subclasses)
