"""Runs of a function that a transform may have to repeat: each begins with the state that the first one began with.

Layer: owns when that state is kept and put back: attributes, items, globals, variables of enclosing functions.
``tnp._compile`` finds it.
"""

from __future__ import annotations

import contextlib
import functools
import types
from typing import Any

from backend_torch.tensors.host_views import is_compiling
from backend_torch.torch_private.messages import uncovered

state_before: Any = None
"""Keeps the state that a function can reach, given the function and its arguments."""

_MANY = 10_000
_still: set[Any] = set()  # code that assigns nothing outside


class Runs:
    """The runs of ``fn``, whose arguments are ``given``, under one transform."""

    __slots__ = ("_before", "_code", "_count", "_is_over", "_running", "fn", "given")

    def __init__(self, fn: Any, given: tuple[Any, ...]) -> None:
        self.fn, self.given = fn, given
        self._count, self._running, self._is_over, self._before = 0, 0, False, None
        if is_compiling():  # Dynamo keeps the state by itself
            return
        code: list[Any] = [type(each) for each in given]
        _add_code(fn, code)
        self._code = tuple(code)
        if self._code not in _still:
            self._before = state_before(fn, given)

    def begin(self) -> Any:
        """Put back the state that the first run began with, before any other.

        If the transform is over, or a run under way, return the present state, which is put back after the run; else
        None. A checkpoint runs again inside of its first run, for a gradient there, and may stop in the middle.
        """
        self._count += 1
        if self._before is None or self._count == 1:
            return None
        present = state_before(self.fn, self.given) if self._is_over or self._running else None
        self._before.put_back()
        return present

    def run(self, *args: Any, **kwargs: Any) -> Any:
        """Call the function."""
        present = self.begin()
        self._running += 1
        try:
            return self.fn(*args, **kwargs)
        except ValueError as error:
            if (found := uncovered(error)) is error:
                raise
            raise found from None
        finally:
            self._running -= 1
            if present is not None:
                present.put_back()

    def end(self) -> None:
        """Note that the transform is over: what the last run assigned stays."""
        self._is_over = True
        if self._before is not None and not self._before.has_changed():
            if not self._before.may_assign:
                if len(_still) >= _MANY:
                    _still.clear()
                _still.add(self._code)
            self._before = None


def _add_code(function: Any, found: list[Any]) -> None:
    """Add the code of a function and of those that it closes over, and the classes of other objects there."""
    while type(function) is not types.FunctionType:
        if type(function) is types.MethodType:
            found.append(type(function.__self__))
            function = function.__func__
        elif type(function) is functools.partial:
            found += map(type, function.args)
            function = function.func
        else:
            found.append(type(function))
            return
    if function.__code__ in found:
        return
    found.append(function.__code__)
    if "__wrapped__" in function.__dict__:  # of a compiled function
        _add_code(function.__dict__["__wrapped__"], found)
    for cell in function.__closure__ or ():
        with contextlib.suppress(ValueError):  # a variable that is not assigned yet
            _add_code(cell.cell_contents, found)
