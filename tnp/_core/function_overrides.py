"""Libraries' arrays that override functions: ``__array_function__`` of classes that derive from no array.

Layer: owns when such an array is asked. A function finds it when it converts its arguments, and raises `Overridden` up
to the function that the program called, which asks the array. So calls without such an array pay nothing.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from tnp._core.derived_classes import ranked
from tnp._core.dtypes import DtypeError
from tnp._core.interop import overrides_functions
from tnp._core.trees import kinds

_HERE = str(Path(__file__).parents[1])
_PROGRAM = str(Path(_HERE, "_program"))
_DISPATCH = str(Path(_HERE, "_array", "array_function.py"))


class Overridden(Exception):
    """An argument overrides the function that the program called."""

    def __init__(self, ours: Any, theirs: Any) -> None:
        super().__init__(f"{theirs.__name__} is overridden by an argument")
        self.ours, self.theirs = ours, theirs

    def ask(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Call the overrides of the arguments in NumPy's order.

        NumPy's dispatch asks them, with NumPy's function. A class whose module has tnp for NumPy is asked with tnp's
        function: it knows its functions by those of tnp.
        """
        args, kwargs = self._named(args, kwargs)
        found = [*_overriding((*args, *kwargs.values()))]
        if not any(_is_written_for_tnp(type(x)) for x in found):
            return self.theirs(*args, **kwargs)
        of_each_class = ranked(found)
        types = tuple(map(type, of_each_class))
        for x in of_each_class:
            result = x.__array_function__(self.ours, types, args, kwargs)
            if result is not NotImplemented:
                return result
        if stand_ins:  # the classes of a program that is run as it is may know a function by NumPy's module and name
            return self.theirs(*args, **kwargs)
        name = f"{self.theirs.__module__}.{self.theirs.__name__}"
        raise TypeError(f"no implementation found for '{name}' on types that implement __array_function__: {[*types]}")

    def _named(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Pass options by name, and none that has its default: a wrapper does not know how the program passed them."""
        parameters = inspect.signature(self.ours).parameters
        if any(p.kind is p.VAR_POSITIONAL for p in parameters.values()):
            return args, kwargs
        required = sum(p.kind is p.POSITIONAL_ONLY or p.default is p.empty for p in parameters.values())
        names = [*parameters]
        given = dict(zip(names[required:], args[required:], strict=False)) | kwargs
        defaults = {name: each.default for name, each in parameters.items()}
        given = {name: each for name, each in given.items() if each is not defaults.get(name, defaults)}
        numpys = dict(zip(names, _parameters(self.theirs) or names, strict=False))  # clip's first bound has two names
        return args[:required], {numpys.get(name, name): each for name, each in given.items()}


REFUSALS = (DtypeError, Overridden)
"""What a public function catches to let NumPy, or an argument, compute in its place."""


def _parameters(function: Any) -> list[str]:
    """Return the names of a function's parameters; none for one of NumPy's compiled functions."""
    try:
        return [*inspect.signature(function).parameters]
    except ValueError:
        return []


def asked(ours: Any, theirs: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Overridden | None:
    """Return `Overridden` if an argument of a call overrides the function."""
    values = (*args, *kwargs.values())
    if not hasattr(theirs, "_implementation") or not any(map(overrides_functions, kinds(values))):
        return None
    is_overriding = any(overrides_functions(type(each)) for each in _overriding(values))
    return Overridden(ours, theirs) if is_overriding else None


def look(value: Any) -> None:
    """Raise `Overridden` if a value overrides functions, and the program called one that NumPy lets it override."""
    if overrides_functions(type(value)) and (called := _called()) is not None:
        raise Overridden(*called)


def _overriding(values: Iterable[Any]) -> Iterator[Any]:
    for value in values:
        if type(value) in (list, tuple):
            yield from _overriding(value)
        elif hasattr(type(value), "__array_function__"):
            yield value


def _is_written_for_tnp(cls: type) -> bool:
    function = inspect.unwrap(cls.__array_function__)  # type: ignore[attr-defined]
    names = getattr(function, "__globals__", {})
    return any(isinstance(each, ModuleType) and each in _namespaces() for each in names.values())


def _namespaces() -> set[ModuleType]:
    return {sys.modules["tnp"], *stand_ins}


stand_ins: set[ModuleType] = set()
"""The modules that a program has for NumPy's own."""


def _called() -> tuple[Any, Any] | None:
    """Return the function that the program called, and NumPy's, if NumPy's can be overridden."""
    frame, entry = sys._getframe(2), None
    while frame is not None and frame.f_code.co_filename.startswith(_HERE):
        if frame.f_code.co_filename.startswith(_PROGRAM):
            break
        if frame.f_code.co_filename != _DISPATCH or "_theirs" in frame.f_globals:
            entry = frame
        frame = frame.f_back  # type: ignore[assignment]
    if entry is None:
        return None
    if "_theirs" in entry.f_globals:
        ours, theirs = entry.f_globals["public"], entry.f_globals["_theirs"]
    elif entry.f_globals["__name__"].startswith("tnp."):
        ours = getattr(sys.modules["tnp"], entry.f_code.co_name, None)
        theirs = getattr(np, entry.f_code.co_name, None)
        if getattr(ours, "__module__", None) != entry.f_globals["__name__"]:
            return None
    return (ours, theirs) if hasattr(theirs, "_implementation") else None
