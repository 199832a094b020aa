"""Derived classes over NumPy's array: what a program's class is for data that no tensor can hold.

Layer: owns the counterpart of each derived class, which has its methods and is derived from ``numpy.ndarray``. It is
made when such data first takes the class. ``isinstance`` counts its arrays as arrays of the program's class, except
where a program derives the class from ``tnp.ndarray`` by that name: its metaclass is ``type``, which does not ask.
Also owns ``view`` of NumPy's arrays in programs that are run as they are; elsewhere NumPy's class stays as it is.
"""

from __future__ import annotations

import abc
import copyreg
import ctypes
import functools
import gc
import os
import sys
import types
from collections.abc import Callable
from typing import Any

import numpy as np

from backend_torch.tensors.dtypes import to_torch
from tnp._core import derived_classes, public
from tnp._core.base import ndarray, subclass
from tnp._core.convert import asarray, without_class

_METACLASS = type  # an argument of view hides the name
_NoValue: Any = np._NoValue


class Derived(abc.ABCMeta):
    """The metaclass of classes that know the arrays of their counterparts.

    It is an ABCMeta so that a further class may also derive from an abstract one.
    """

    _of_host: type

    def __instancecheck__(cls, instance: Any) -> bool:
        return type.__instancecheck__(cls, instance) or issubclass(type(instance), cls.__dict__.get("_of_host", ()))

    def __subclasscheck__(cls, kind: type) -> bool:
        return type.__subclasscheck__(cls, kind) or issubclass(kind, cls.__dict__.get("_of_host", ()))


class _Counterpart(abc.ABCMeta):
    """The class of counterparts: a pickle names the program's class."""

    _made_for: type


def of_host(cls: Any) -> type:
    """Return the counterpart of a class derived from ndarray; NumPy's array itself for ndarray."""
    if not issubclass(cls, subclass):
        return np.ndarray if issubclass(cls, ndarray) else cls
    if cls is subclass:
        return np.ndarray
    if "_of_host" in cls.__dict__:
        return cls.__dict__["_of_host"]
    bases = tuple(dict.fromkeys(map(of_host, cls.__bases__)))
    cell = types.CellType()
    members = {name: _with_class(each, cell) for name, each in cls.__dict__.items() if name not in _OF_THE_CLASS}
    for name, of_tnp in _ASKED.items():
        owner = next(each for each in cls.__mro__ if name in each.__dict__)
        if owner is cls or not issubclass(owner, ndarray):  # else a base's counterpart has it
            members[name] = _asked(members.get(name, owner.__dict__[name]), of_tnp)
    if not any(isinstance(base, _Counterpart) for base in bases):
        members.setdefault("view", _viewed)
    kind = _Counterpart if type(cls) in (type, abc.ABCMeta, Derived) else type(cls)
    made: Any = types.new_class(cls.__name__, bases, {"metaclass": kind}, lambda names: names.update(members))
    cell.cell_contents = made
    cls._of_host, made._made_for = made, cls
    return made


def _asked(method: Any, of_tnp: Callable[[Any], Any]) -> Any:
    """Return a method of NumPy's protocols that is asked about tnp's function: the program knows its functions."""
    if not isinstance(method, types.FunctionType):
        return method

    @functools.wraps(method)
    def asked(self: Any, function: Any, *args: Any, **kwargs: Any) -> Any:
        return method(self, of_tnp(function), *args, **kwargs)

    return asked


def _ufunc_of_tnp(ufunc: Any) -> Any:
    ours = getattr(public.namespace(), getattr(ufunc, "__name__", ""), None)
    return ours if getattr(ours, "_numpy", None) is ufunc else ufunc


_ASKED: dict[str, Callable[[Any], Any]] = {
    "__array_ufunc__": _ufunc_of_tnp,
    "__array_function__": public.of_tnp,
}
_OF_THE_CLASS = frozenset({"__dict__", "__weakref__", "_abc_impl", "__abstractmethods__"})

copyreg.pickle(_Counterpart, lambda cls: (of_host, (cls._made_for,)))  # type: ignore[arg-type, return-value]


def _with_class(member: Any, cell: types.CellType) -> Any:
    """Return a member whose ``super()`` and ``__class__`` mean the class in the cell."""
    if isinstance(member, (staticmethod, classmethod)):
        return type(member)(_with_class(member.__func__, cell))
    if isinstance(member, property):
        get, put, delete = [_with_class(each, cell) for each in (member.fget, member.fset, member.fdel)]
        return type(member)(get, put, delete, member.__doc__)
    names = member.__code__.co_freevars if isinstance(member, types.FunctionType) else ()
    if "__class__" not in names:
        return member
    cells = zip(names, member.__closure__, strict=True)
    closure = tuple([cell if name == "__class__" else own for name, own in cells])
    copy = types.FunctionType(member.__code__, member.__globals__, member.__name__, member.__defaults__, closure)
    copy.__kwdefaults__, copy.__qualname__, copy.__doc__ = member.__kwdefaults__, member.__qualname__, member.__doc__
    copy.__dict__.update(member.__dict__)
    return copy


_view: Callable[..., Any] = np.ndarray.view


def _viewed(self: Any, dtype: Any = _NoValue, type: Any = _NoValue) -> Any:
    """``numpy.ndarray.view``, which also takes classes derived from tnp's ndarray."""
    if isinstance(dtype, _METACLASS) and issubclass(dtype, ndarray) and type is _NoValue:
        dtype, type = _NoValue, dtype
    if isinstance(type, _METACLASS) and issubclass(type, ndarray):
        if dtype is _NoValue and self.dtype in to_torch:
            return asarray(without_class(self)).view(type)
        type = of_host(type)
    return _view(self, **{name: each for name, each in (("dtype", dtype), ("type", type)) if each is not _NoValue})


def set_numpy_view(takes_derived: bool) -> None:
    """Let ``view`` of NumPy's own arrays take derived classes, or give NumPy its own method back."""
    members = gc.get_referents(np.ndarray.__dict__)[0]
    members["view"] = _viewed if takes_derived else _view
    ctypes.pythonapi.PyType_Modified(ctypes.py_object(np.ndarray))


class _Refusal:
    """The class attribute that NumPy reads when a class is given for a dtype, as in ``view`` of its own arrays.

    NumPy would take the class for the dtype object, and drop it without a word.
    """

    def __get__(self, array: Any, cls: type) -> Any:
        if array is not None:
            raise AttributeError("__numpy_dtype__")
        raise TypeError(
            f"NumPy's own arrays cannot be viewed as {cls.__name__}, a class derived from tnp.ndarray. "
            f"For numbers, write tnp.asarray(x).view({cls.__name__}). For other data, make the array by "
            f"tnp.ndarray.__new__({cls.__name__}, shape, dtype) and write to it, or run the program by python -m tnp."
        )


class _RefusalOfMasked:
    """The same for tnp's array itself, where a masked array is viewed: any other caller gets the dtype object.

    Only the caller's frame tells who asks: NumPy gives the attribute the class, and ``np.dtype(np.ndarray)`` is object.
    """

    def __get__(self, array: Any, cls: type) -> Any:
        code = sys._getframe(1).f_code
        if array is None and code.co_name == "view" and code.co_filename.endswith(_MASKED):
            raise TypeError(
                "NumPy's masked arrays cannot be viewed as tnp.ndarray: write tnp.asarray(x), which shares the memory "
                "of numbers, or x.data, or run the program by python -m tnp."
            )
        raise AttributeError("__numpy_dtype__")


_MASKED = os.path.join("numpy", "ma", "core.py")
derived_classes.counterpart = of_host

_ndarray: Any = ndarray
_ndarray.__numpy_dtype__ = _RefusalOfMasked()
_subclass: Any = subclass
_subclass.__numpy_dtype__ = _Refusal()
