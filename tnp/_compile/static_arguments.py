"""Static arguments of compiled functions: the function is traced anew for each of their values.

Layer: owns which arguments are static. Their values are hashed, and compared by ``==``.
"""

from __future__ import annotations

import functools
import inspect
import operator
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from tnp._transforms import pytree

Function = Callable[..., Any]


class Static:
    """A value that is a part of a call's signature; it equals values of the same class that are ``==``.

    Equal numbers of other types, or of another sign of zero, are different values.
    """

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Static):
            return NotImplemented
        mine, others = self.value, other.value
        return mine is others or (bool(mine == others) and _exactly(mine) == _exactly(others))

    def __hash__(self) -> int:
        return hash(self.value)

    def __repr__(self) -> str:
        return repr(self.value)


class StaticArguments:
    """The static arguments of a function, by position and by name.

    Raises
    ------
    ValueError
        The function has no such argument.
    """

    def __init__(self, fn: Function, argnums: int | Iterable[int] | None, argnames: str | Iterable[str] | None) -> None:
        self.name = getattr(fn, "__qualname__", repr(fn))
        numbers = [] if argnums is None else [argnums] if isinstance(argnums, int) else list(argnums)
        names = [] if argnames is None else [argnames] if isinstance(argnames, str) else list(argnames)
        places, others, open_ended = _parameters(fn)
        self.numbers = {operator.index(number) for number in numbers}
        if places is not None:
            more_places, more_names = open_ended
            wrong: list[Any] = [n for n in self.numbers if n < -len(places) or (n >= len(places) and not more_places)]
            wrong += [name for name in names if name not in places + others and not more_names]
            if wrong:
                raise ValueError(
                    f"{self.name} has static_argnums={tuple(numbers)} and static_argnames={tuple(names)}, but no "
                    f"argument {wrong[0]!r}: it takes {', '.join(places + others) or 'none'}"
                )
            self.numbers = {n % len(places) if n < 0 else n for n in self.numbers}
            names += [places[n] for n in self.numbers if n < len(places)]
            self.numbers |= {places.index(name) for name in names if name in places}
        self.names = set(names)

    def __bool__(self) -> bool:
        return bool(self.numbers or self.names)

    def taking(self, function: Function, before: int = 0) -> Function:
        """Wrap ``function`` so that static arguments arrive as `Static`; the first ``before`` arguments don't count."""
        if not self:
            return function

        @functools.wraps(function)
        def taken(*args: Any, **kwargs: Any) -> Any:
            marked = [self._marked(arg, n) if n in self.numbers else arg for n, arg in enumerate(args, -before)]
            named = {name: self._marked(arg, name) if name in self.names else arg for name, arg in kwargs.items()}
            return function(*marked, **named)

        return taken

    def opened(self, fn: Function) -> Function:
        """Wrap ``fn`` so that it gets the values inside `Static`."""
        if not self:
            return fn

        @functools.wraps(fn)
        def called(*args: Any, **kwargs: Any) -> Any:
            return fn(*map(_value, args), **{name: _value(arg) for name, arg in kwargs.items()})

        return called

    def _marked(self, value: Any, which: int | str) -> Static:
        try:
            hash(value)
        except TypeError:
            where = f"argument {which!r} of {self.name}"
            raise ValueError(
                f"Non-hashable static arguments are used in a compiled function: {where} is of type "
                f"{type(value).__name__}. Static arguments are hashed and compared to find their trace: pass a tuple "
                "instead of a list, and don't make an array's argument static"
            ) from None
        return Static(value)


def _exactly(value: Any) -> Any:
    """Return what tells a value from others that are equal to it: types, and the signs of zeros."""
    kind = type(value)
    if kind is float:
        return kind, value.hex()
    if kind is complex:
        return kind, value.real.hex(), value.imag.hex()
    if isinstance(value, np.generic):
        return kind, value.tobytes()
    items = value if isinstance(value, tuple) else [getattr(value, name) for name in pytree.fields(value) or ()]
    return kind, tuple(map(_exactly, items))


def _value(argument: Any) -> Any:
    return argument.value if isinstance(argument, Static) else argument


def _parameters(fn: Function) -> tuple[list[str] | None, list[str], tuple[bool, bool]]:
    """Return the names of positional and of keyword-only arguments, and whether the function takes ``*`` and ``**``."""
    try:
        parameters = list(inspect.signature(fn).parameters.values())
    except (TypeError, ValueError):
        return None, [], (True, True)
    kinds = [parameter.kind for parameter in parameters]
    places = [p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    others = [p.name for p in parameters if p.kind is p.KEYWORD_ONLY]
    return places, others, (inspect.Parameter.VAR_POSITIONAL in kinds, inspect.Parameter.VAR_KEYWORD in kinds)
