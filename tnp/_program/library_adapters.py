"""Libraries that insist on NumPy's class: a program's arrays arrive there as NumPy's own.

pandas takes a boolean array for a mask, and a scalar for a number, only if it is NumPy's; h5py reads into nothing else.
In a program that is run as it is (`_dropin`) the methods by which it speaks to them are given NumPy's arrays over the
same memory, NumPy's scalars and ufuncs, and so is what the program's functions return that they call.

Layer: owns which methods of which libraries. They are looked for after the program's own import statements.
"""

from __future__ import annotations

import copy
import functools
import inspect
import operator
import re
import sys
import types
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from tnp._core import host_fallback
from tnp._core.base import ndarray
from tnp._functional import functional
from tnp._signal import polynomials
from tnp._ufunc import ufunc
from tnp.random import _distributions

_FUNCTION = (types.FunctionType, types.MethodType, functional.vectorize, polynomials.poly1d)

_BINARY = ("add", "sub", "mul", "truediv", "floordiv", "mod", "divmod", "pow", "matmul", "and", "or", "xor")
_COMPARISONS = ("__lt__", "__le__", "__eq__", "__ne__", "__gt__", "__ge__")
_OPERATORS = frozenset([f"__{side}{name}__" for name in _BINARY for side in ("", "r", "i")]).union(_COMPARISONS)
_SPECIAL = _OPERATORS.union(("__init__", "__getitem__", "__setitem__", "__call__", "__array_ufunc__"))

_STORE = _OPERATORS.union(("__init__", "__new__", "__setitem__", "fillna", "insert", "isin", "replace"))
"""What takes functions that it is given for values, and calls none but a key."""

_Place = tuple[Any, str]  # an object, and its function's name


def _of(kind: type) -> Iterator[_Place]:
    """Return the methods of a class that a program can call, including inherited ones."""
    for name, function in inspect.getmembers(kind, inspect.isroutine):
        static = inspect.getattr_static(kind, name)
        is_method = static is function or isinstance(static, classmethod)
        if (name in _SPECIAL or not name.startswith("_")) and is_method and hasattr(function, "__code__"):
            yield kind, name


def _pandas(pandas: Any) -> Iterator[_Place]:
    for name, value in pandas.__dict__.items():
        if isinstance(value, types.FunctionType):
            yield pandas, name
    series = pandas.Series([0.0])
    for name in ("loc", "iloc", "at", "iat"):
        yield from _of(type(getattr(series, name)))
    for kind in (pandas.Series, pandas.DataFrame, pandas.Index, pandas.MultiIndex):
        yield from _of(kind)
    yield pandas.Index, "__new__"
    for name in ("DataFrameGroupBy", "SeriesGroupBy", "Rolling", "Expanding", "Resampler"):
        yield from _of(getattr(pandas.api.typing, name))


def _h5py(h5py: Any) -> Iterator[_Place]:
    for name in ("__getitem__", "__setitem__", "read_direct", "write_direct"):
        yield h5py.Dataset, name


LIBRARIES: dict[str, Callable[[Any], Iterator[_Place]]] = {"pandas": _pandas, "h5py": _h5py}
"""The libraries, and what of each is given NumPy's arrays."""

_PLAIN = frozenset({int, float, complex, bool, str, bytes, type(None), slice, type, np.ndarray, np.dtype})
"""What there is nothing of ours in, which a long list is of most often."""

_prepared: dict[str, list[tuple[Any, str, Any]]] = {}


def prepare() -> None:
    """Give NumPy's arrays to the libraries that are imported by now."""
    for name, places in LIBRARIES.items():
        if name in sys.modules and name not in _prepared:
            _prepared[name] = []
            for owner, attribute in [*places(sys.modules[name])]:
                _prepared[name].append((owner, attribute, owner.__dict__.get(attribute)))
                static = inspect.getattr_static(owner, attribute)
                call = given_numpys(getattr(static, "__func__", static), attribute)
                _put(owner, attribute, type(static)(call) if isinstance(static, (staticmethod, classmethod)) else call)


def leave() -> None:
    """Restore the originals."""
    for places in _prepared.values():
        for owner, attribute, function in places:
            _put(owner, attribute, function)
    _prepared.clear()


def _put(owner: Any, attribute: str, function: Any) -> None:
    """Restore a library's function, or remove the wrapper that hides an inherited one."""
    kind: Any = type(owner)
    if function is None:
        kind.__delattr__(owner, attribute)
    else:
        kind.__setattr__(owner, attribute, function)


def given_numpys(function: Callable[..., Any], name: str) -> Callable[..., Any]:
    """Wrap a library's function to get NumPy's arrays; an array that it writes to must be in the host's memory."""
    calls = name not in _STORE

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        if name == "read_direct":
            _check_written(*args[1:], **kwargs)
        elif name == "__array_ufunc__":
            any(map(_check_written, kwargs.get("out", ())))
        elif name in _EXPRESSIONS:
            _name_values(sys._getframe(1), args, kwargs)
        given = [_argument(each, calls or (place == 1 and name == "__setitem__")) for place, each in enumerate(args)]
        return function(*given, **{name: _argument(value, calls) for name, value in kwargs.items()})

    # A library's warning names the first line outside of its own files, which should be the program's.
    made: Any = call
    code = function.__code__
    made.__code__ = made.__code__.replace(co_filename=code.co_filename, co_firstlineno=code.co_firstlineno)
    return made


def _check_written(dest: Any, *_: Any, **__: Any) -> None:
    if isinstance(dest, ndarray) and dest.tensor.device.type != "cpu":
        raise TypeError(f"libraries write to the host's memory, not to '{dest.tensor.device}': copy what they wrote")


_EXPRESSIONS = frozenset({"query", "eval"})
"""What looks for the names in a text in the frame that calls it, a fixed number of frames up."""


def _name_values(frame: Any, args: tuple[Any, ...], options: dict[str, Any]) -> None:
    """Pass the names, which pandas would look up one frame too near."""
    if {"local_dict", "global_dict"} <= options.keys():
        return
    for _ in range(options.pop("level", 0)):
        frame = frame.f_back
    names = {name for text in (*args, *options.values()) if isinstance(text, str) for name in _NAME.findall(text)}
    for key, scope in (("local_dict", frame.f_locals), ("global_dict", frame.f_globals)):
        options.setdefault(key, {name: scope[name] for name in names & scope.keys()})


_NAME = re.compile(r"[^\W\d]\w*")


def _argument(value: Any, calls: bool) -> Any:
    """An argument with NumPy's arrays, or that gives them one by one; a file, which is an iterator too, as it is."""
    if type(value) not in _PLAIN and isinstance(value, Iterator) and not hasattr(value, "read"):
        return (numpys(each, calls) for each in value)
    return numpys(value, calls)


def numpys(value: Any, calls: bool = True) -> Any:
    """Convert arrays, scalars and ufuncs in an argument to NumPy's; with ``calls``, also the results of functions."""
    kind = type(value)
    if kind in _PLAIN or ((kind is list or kind is tuple) and _PLAIN.issuperset(map(type, value))):
        return value
    if isinstance(value, ndarray):
        return host_fallback.given(value)
    if isinstance(value, ufunc.Ufunc):
        return value._numpy
    if isinstance(value, _distributions.Distributions):
        return value._host  # one stream: neither repeats the numbers of the other
    if calls and isinstance(value, functools.partial):
        return functools.partial(numpys(value.func), *value.args, **value.keywords)
    if calls and isinstance(value, _FUNCTION):
        return _returning_numpys(value)
    if kind is list or kind is tuple or hasattr(kind, "_make"):
        items = [numpys(each, calls) for each in value]
        make = getattr(value, "_make", kind)
        return value if all(map(operator.is_, items, value)) else make(items)
    if isinstance(value, dict):
        if _PLAIN.issuperset(map(type, value.values())):
            return value
        items = [numpys(each, calls) for each in value.values()]
        if not all(map(operator.is_, items, value.values())):
            keys, value = [*value], copy.copy(value)  # a defaultdict stays one
            for key, item in zip(keys, items, strict=True):
                value[key] = item
    return value


def _returning_numpys(function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        return numpys(function(*args, **kwargs))

    return call
