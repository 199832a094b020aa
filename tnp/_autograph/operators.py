"""The operators that converted functions call instead of Python's statements, by the names that `rewriting` writes.

Layer: owns these names, and which functions are converted when they are called.
"""

from __future__ import annotations

import sys
import types
from typing import Any

from tnp._autograph import conversion, effects, expressions, iteration, sequences, values, window_functions, windows
from tnp._autograph.effects import iterated as iterated
from tnp._autograph.expressions import and_ as and_
from tnp._autograph.expressions import assert_ as assert_
from tnp._autograph.expressions import choose as choose
from tnp._autograph.expressions import compare as compare
from tnp._autograph.expressions import not_ as not_
from tnp._autograph.expressions import or_ as or_
from tnp._autograph.expressions import truth as truth
from tnp._autograph.expressions import with_text as with_text
from tnp._autograph.lists import Collected, Growing
from tnp._autograph.sequences import generated as generated
from tnp._autograph.sequences import item as item
from tnp._autograph.sequences import listed as listed
from tnp._autograph.sequences import matched as matched
from tnp._autograph.statements import caught as caught
from tnp._autograph.statements import for_ as for_
from tnp._autograph.statements import handled as handled
from tnp._autograph.statements import if_ as if_
from tnp._autograph.statements import raised as raised
from tnp._autograph.statements import while_ as while_
from tnp._autograph.surroundings import called, check_given, refusing
from tnp._autograph.values import Undefined as Undefined
from tnp._autograph.values import read as read
from tnp._autograph.values import returned as returned
from tnp._autograph.values import unbound as unbound
from tnp._autograph.values import updated as updated
from tnp._autograph.windows import set_each as set_each
from tnp._autograph.windows import set_items as set_items
from tnp._autograph.windows import update as update
from tnp._transforms import pytree

_BUILTINS = {
    **expressions.BUILTINS,
    range: iteration.range_,
    enumerate: iteration.enumerate_,
    zip: iteration.zip_,
    reversed: iteration.reversed_,
    **sequences.BUILTINS,
}
_FUNCTIONS = frozenset(
    {"fn", "f", "func", "function", "body_fun", "cond_fun", "true_fun", "false_fun", "func1d", "pyfunc", "branches"}
)
_NO_ATTRIBUTE = object()
windows.COMPOSED.update(window_functions.ROWS)
slice = slice  # which the program may have hidden


def converted(function: Any) -> Any:
    """Convert a function that the user passed to tnp, even one that a library defines."""
    return conversion.converted(function, root=True)


def callee(function: Any) -> Any:
    """Return what a converted function calls instead of ``function``: its converted version, if it is the user's."""
    function = effects.called(function)
    made = _replaced(function)
    return made if conversion.is_converted(made) else refusing(function, made)


def _replaced(function: Any) -> Any:
    kind = type(function)
    if kind is types.FunctionType:
        called(function)
        code = function.__code__
        if code.co_filename.startswith(conversion.OWN) and not _FUNCTIONS.isdisjoint(
            code.co_varnames[: code.co_argcount]
        ):
            return _taking_functions(function)
        if code.co_filename.startswith(conversion.OWN):
            return sequences.taking(windows.taking(conversion.converted(function)))
        return conversion.converted(function)
    if kind is types.BuiltinFunctionType or kind is type:
        if type(getattr(function, "__self__", None)) is str:
            return expressions.method_of_text(function)
        try:
            return _BUILTINS.get(function, function)
        except TypeError:
            return function
    if kind is types.MethodType and type(function.__func__) is types.FunctionType:
        called(function.__func__)
        if function.__name__ == "array" and function.__func__.__code__.co_filename.startswith(conversion.OWN):
            return sequences.taking(function)
    return conversion.converted(function)


def _taking_functions(function: Any) -> Any:
    """Wrap a function of tnp that takes functions, such as ``scan``: it gets them converted."""

    def call(*args: Any, **kwargs: Any) -> Any:
        return function(*map(_argument, args), **{name: _argument(value) for name, value in kwargs.items()})

    return call


def _argument(value: Any) -> Any:
    if type(value) in (list, tuple):
        return type(value)(map(_argument, value))
    if isinstance(value, (types.FunctionType, types.MethodType)):
        called(value.__func__ if isinstance(value, types.MethodType) else value)  # type: ignore[arg-type]
        return conversion.converted(value)
    return value


def appended(items: Any, value: Any) -> Any:
    """Append a value, and return what the variable holds then: another object for a list that a loop's graph builds."""
    if type(items) in (list, Growing, Collected):
        return sequences.appended(items, value)
    callee(items.append)(value)
    return items


def extend(items: Any, more: list[Any]) -> None:
    """Append values to what has an ``append``."""
    for each in more:
        items.append(each)


def kept(names: Any, lines: Any, found: Any, given: Any) -> tuple[Any, ...]:
    """Return the variables that a part of a function gives to the next."""
    check_given(found)
    return values.kept(names, lines, found, given)


def attribute(owner: Any, name: str) -> Any:
    """Return the value of an attribute that a block sets, or `Undefined`. Attributes of arrays are not tracked."""
    try:
        holder = owner()
        if isinstance(holder, Undefined) or pytree.is_array(holder):
            return _NO_ATTRIBUTE
        return getattr(holder, name)
    except (AttributeError, NameError):
        return Undefined(name)


def set_attribute(owner: Any, name: str, value: Any) -> None:
    """Set an attribute to a value that `attribute` returned, or delete it for `Undefined`."""
    if value is _NO_ATTRIBUTE:
        return
    holder = owner()
    if not isinstance(value, Undefined):
        if getattr(holder, name, _NO_ATTRIBUTE) is not value:
            setattr(holder, name, value)
    elif name in getattr(holder, "__dict__", ()):
        delattr(holder, name)


conversion.CELL.cell_contents = sys.modules[__name__]
