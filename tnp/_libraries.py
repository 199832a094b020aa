"""Libraries that ask for NumPy's class rather than for an array: what a program hands to them arrives as NumPy's own.

pandas takes a boolean array for a mask, and a scalar for a number, only if it is NumPy's; h5py reads into nothing else.
In a program that is run as it is (`_dropin`) the methods by which it speaks to them are given NumPy's arrays over the
same memory, NumPy's scalars and ufuncs, and so is what the program's functions return that they call.

Layer: owns which methods of which libraries. They are looked for after the program's own import statements.
"""

from __future__ import annotations

import functools
import inspect
import operator
import sys
import types
from collections.abc import Callable, Iterator
from typing import Any

from tnp import _array, _host_data, _ufunc

_FUNCTION = (types.FunctionType, types.MethodType)
_SPECIAL = frozenset({"__init__", "__getitem__", "__setitem__", "__call__"})

_STORE = frozenset({"__init__", "__new__", "__setitem__", "fillna", "insert", "replace"})
"""What keeps functions that it is given as values, and calls none but a key."""

_Place = tuple[Any, str]  # an object, and the name of its function


def _of(kind: type) -> Iterator[_Place]:
    """The methods of a class that a program calls, inherited ones too."""
    for name, function in inspect.getmembers(kind, inspect.isfunction):
        if (name in _SPECIAL or not name.startswith("_")) and inspect.getattr_static(kind, name) is function:
            yield kind, name


def _pandas(pandas: Any) -> Iterator[_Place]:
    for name, value in pandas.__dict__.items():
        if isinstance(value, types.FunctionType):
            yield pandas, name
    series = pandas.Series([0.0])
    for name in ("loc", "iloc", "at", "iat"):
        yield from _of(type(getattr(series, name)))
    for kind in (pandas.Series, pandas.DataFrame, pandas.Index):
        yield from _of(kind)
    yield pandas.Index, "__new__"
    for name in ("DataFrameGroupBy", "SeriesGroupBy", "Rolling", "Expanding", "Resampler"):
        yield from _of(getattr(pandas.api.typing, name))


def _h5py(h5py: Any) -> Iterator[_Place]:
    for name in ("__getitem__", "__setitem__", "read_direct", "write_direct"):
        yield h5py.Dataset, name


LIBRARIES: dict[str, Callable[[Any], Iterator[_Place]]] = {"pandas": _pandas, "h5py": _h5py}
"""The libraries, and what of each is given NumPy's arrays."""

_prepared: dict[str, list[tuple[Any, str, Any]]] = {}


def prepare() -> None:
    """Have the libraries that are there by now given NumPy's arrays."""
    for name, places in LIBRARIES.items():
        if name in sys.modules and name not in _prepared:
            _prepared[name] = []
            for owner, attribute in [*places(sys.modules[name])]:
                _prepared[name].append((owner, attribute, owner.__dict__.get(attribute)))
                call = given_numpys(getattr(owner, attribute), attribute)
                _put(owner, attribute, staticmethod(call) if attribute == "__new__" else call)


def leave() -> None:
    """Put back what was there."""
    for places in _prepared.values():
        for owner, attribute, function in places:
            _put(owner, attribute, function)
    _prepared.clear()


def _put(owner: Any, attribute: str, function: Any) -> None:
    """Put a library's function in its place, or take away what stands before an inherited one."""
    kind: Any = type(owner)
    if function is None:
        kind.__delattr__(owner, attribute)
    else:
        kind.__setattr__(owner, attribute, function)


def given_numpys(function: Callable[..., Any], name: str) -> Callable[..., Any]:
    """A library's function that gets NumPy's arrays; what is written to must be the host's memory."""
    calls = name not in _STORE

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        if name == "read_direct":
            _check_written(*args[1:], **kwargs)
        given = [numpys(each, calls or (place == 1 and name == "__setitem__")) for place, each in enumerate(args)]
        return function(*given, **{name: numpys(value, calls) for name, value in kwargs.items()})

    # A library warns of the first line that is not in its own files: that is to be the program's.
    made: Any = call
    code = function.__code__
    made.__code__ = made.__code__.replace(co_filename=code.co_filename, co_firstlineno=code.co_firstlineno)
    return made


def _check_written(dest: Any, *_: Any, **__: Any) -> None:
    if isinstance(dest, _array.ndarray) and dest.tensor.device.type != "cpu":
        raise TypeError(f"a file is read into memory of the host, not of '{dest.tensor.device}': read it, then copy")


def numpys(value: Any, calls: bool = True) -> Any:
    """An argument with NumPy's arrays, scalars and ufuncs for ours; with ``calls`` functions return such as well."""
    if isinstance(value, _array.ndarray):
        return _host_data.given(value)
    if isinstance(value, _ufunc.Ufunc):
        return value._numpy
    if calls and isinstance(value, functools.partial):
        return functools.partial(numpys(value.func), *value.args, **value.keywords)
    if calls and isinstance(value, _FUNCTION):
        return _returning_numpys(value)
    if type(value) in (list, tuple) or hasattr(type(value), "_make"):
        items = [numpys(each, calls) for each in value]
        make = getattr(value, "_make", type(value))
        return value if all(map(operator.is_, items, value)) else make(items)
    if type(value) is dict:
        items = [numpys(each, calls) for each in value.values()]
        return value if all(map(operator.is_, items, value.values())) else dict(zip(value, items, strict=True))
    return value


def _returning_numpys(function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        return numpys(function(*args, **kwargs))

    return call
