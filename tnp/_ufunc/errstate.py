"""Handling of floating-point errors: ``errstate``, ``seterr`` and related functions.

Layer: owns the state, one for each context (thread or asyncio task), and the actions. By default there is no check,
which costs nothing. While a check is on, ufuncs leave their fast paths and are checked as a whole, and a mode of
torch's dispatcher checks each step of all other functions.
"""

from __future__ import annotations

import asyncio
import contextlib
import sys
import threading
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import ContextDecorator
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np

from backend_torch.kernels import floating_errors
from backend_torch.tensors import memory, trace_state
from tnp._core.dtype_table import Loops
from tnp._core.errors import warn

if TYPE_CHECKING:
    from _typeshed import SupportsWrite

    ErrorCall: TypeAlias = Callable[[str, int], Any] | SupportsWrite[str] | None

Tensor = Any
_KINDS = ("divide", "over", "under", "invalid")
_ACTIONS = ("ignore", "warn", "raise", "call", "print", "log")
_TEXTS = {"divide": "divide by zero", "over": "overflow", "under": "underflow", "invalid": "invalid value"}
_FLAGS = {"divide": 1, "over": 2, "under": 4, "invalid": 8}
_BY_TEXT = {text: kind for kind, text in _TEXTS.items()}
_NoValue: Any = np._NoValue


class _Suspension:
    """Suspends the tables of loops and the native core as long as a setting that asks for checks refers to it.

    A context may be copied and run in another thread, so a setting lasts as long as the contexts that have it.
    """

    def __init__(self) -> None:
        Loops.suspend()
        weakref.finalize(self, Loops.resume).atexit = False


class _Setting(NamedTuple):
    """The action for each kind of error, the callback, and what makes ufuncs read the actions, if there are any."""

    actions: dict[str, str]
    call: Any
    suspension: _Suspension | None

    def asks(self) -> bool:
        """Whether any kind of error has an action."""
        return self.suspension is not None


_NOTHING = _Setting(dict.fromkeys(_KINDS, "ignore"), None, None)
_setting: ContextVar[_Setting] = ContextVar("tnp.errstate", default=_NOTHING)


class _Watching(threading.local):
    """The mode that checks for errors in this thread."""

    def __init__(self) -> None:
        self.mode = floating_errors.Watch(is_wanted, _report)
        self.is_on = False
        self.paused: _Setting | None = None  # the setting around a trace


def _set(setting: _Setting) -> None:
    """Set it for this context, and turn the mode on if any kind of error has an action, else off."""
    _setting.set(setting)
    if _watching.paused is not None:
        return
    if setting.asks() and not _watching.is_on:
        _watching.mode.__enter__()
        _watching.is_on = True
    elif not setting.asks() and _watching.is_on and _watching.mode.is_on() and not asyncio._get_running_loop():
        _watching.mode.__exit__(None, None, None)  # in a running event loop, another task may still need the mode
        _watching.is_on = False


class Kept:
    """A scope with which the settings end that are made inside."""

    def __enter__(self) -> None:
        self._before, self._numpy = _setting.get(), np.errstate()
        self._numpy.__enter__()

    def __exit__(self, *error: Any) -> None:
        self._numpy.__exit__(*error)
        if _setting.get() is not self._before:
            _set(self._before)


@contextlib.contextmanager
def paused() -> Iterator[None]:
    """A scope without checks, because values are not known; a setting made inside ends with the scope."""
    before, around = _setting.get(), _watching.paused
    with np.errstate():
        _set(_NOTHING)  # turns the mode off
        _setting.set(before)
        _watching.paused = before
        try:
            yield
        finally:
            _watching.paused = around
            _set(before)


def asks() -> bool:
    """Whether any kind of error has an action in this context."""
    return _watching.paused is None and _setting.get().asks()


def is_wanted(kind: str) -> bool:
    """Whether this kind of error has an action in this context."""
    return _watching.paused is None and _setting.get().actions[kind] != "ignore"


def _report(kind: str, name: str) -> None:
    """Take the set action for an error in an operation."""
    text = f"{_TEXTS[kind]} encountered in {name}"
    actions, call, _ = _setting.get()
    action = actions[kind]
    if action == "warn":
        warn(text, RuntimeWarning)
    elif action == "raise":
        raise trace_state.noted(FloatingPointError(text))
    elif action == "print":
        print(f"Warning: {text}", file=sys.stderr)
    elif action == "call":
        if call is None:
            raise NameError(f"python callback specified for {_TEXTS[kind]} (in {name}) but no function found.")
        call(_TEXTS[kind], _FLAGS[kind])
    elif action == "log":
        if call is None:
            raise NameError(f"log specified for {_TEXTS[kind]} (in {name}) but no object with write method found.")
        call.write(f"Warning: {text}\n")


def report_cast(value: complex, largest: float) -> None:
    """Report a Python number that is too large for a dtype."""
    if largest < abs(value) != float("inf") and is_wanted("over"):
        _report("over", "cast")


def run(
    name: str, function: Callable[..., Any], inputs: Sequence[Any], mask: Tensor | None = None, method: str = ""
) -> Any:
    """Run a ufunc's kernel, and report the errors in its results, under its own name or a method's."""
    if not asks():
        return function(*inputs)
    with _watching.mode.quiet():
        results = function(*inputs)
        outputs = results if isinstance(results, tuple) else (results,)
        kinds = floating_errors.of_ufunc(name, inputs, outputs, mask, is_wanted)
    for kind in kinds:
        if is_wanted(kind):
            _report(kind, method or name)
    return results


def quietly(function: Callable[..., Any], *args: Any, **options: Any) -> Any:
    """Call a function without checks of its steps."""
    if not Loops.suspended:
        return function(*args, **options)
    with _watching.mode.quiet():
        return function(*args, **options)


def warn_where(of: Tensor, is_missing: Callable[[], Tensor], text: str, each: bool = False) -> None:
    """Warn of results without enough elements, which the values of the tensor ``of`` tell.

    A trace and a batch have no values. An accelerator would have to be waited for, so it is asked only while a check
    is on.
    """
    if memory.is_readable(of) and (of.is_cpu or asks()):
        count = int(quietly(lambda: is_missing().sum()))
        for _ in range(count if each else min(count, 1)):
            warn(text, RuntimeWarning)


def looked_at(name: str, loop: Callable[..., Any], method: str = "") -> Callable[..., Any]:
    """Return a ufunc's loop, which reports errors if a check is on."""
    return (lambda *inputs: run(name, loop, inputs, method=method)) if Loops.suspended else loop


def reporter(name: str) -> Callable[[str, int], None] | None:
    """Return the callback for errors in NumPy's own loops, under a method's name; None while no check is on."""
    if not Loops.suspended:
        return None

    def report(text: str, flags: int) -> None:
        kind = _BY_TEXT[text]
        if is_wanted(kind):
            _report(kind, name)

    return report


class _Scalars:
    """A table of Python scalars in a loop's dtype, which reports scalars that are too large for it."""

    def __init__(self, table: Any) -> None:
        self.table = table
        self.largest = float(np.finfo(table.dtype).max) if table.dtype.kind in "fc" else float("inf")

    def __getitem__(self, value: Any) -> Any:
        report_cast(value, self.largest)
        return self.table[value]


def watched(name: str, build: Callable[[Any], Any], inplace: bool = False) -> Callable[[Any], Any]:
    """Wrap the builder of a ufunc's loops for use while a check is on; a scalar operand gets a table as well."""

    def build_watched(key: Any) -> Any:
        made = build(key)
        loop = made[0] if isinstance(made, tuple) else made

        def run_loop(*inputs: Any) -> Any:
            if not inplace:
                return run(name, loop, inputs)
            before = memory.copied(inputs[0])  # the loop writes over it
            return run(name, lambda *_: loop(*inputs), (before, inputs[1]))

        return (run_loop, _Scalars(made[1])) if isinstance(made, tuple) else run_loop

    return build_watched


_watching = _Watching()


def geterr() -> dict[str, str]:
    """Return the actions for floating-point errors.

    Returns
    -------
    dict
        'ignore', 'warn', 'raise', 'call', 'print' or 'log' for divide, over, under and invalid.

    Notes
    -----
    Differences from NumPy: 'ignore' by default, because a check takes time and waits for an accelerator.

    Source: https://numpy.org/doc/stable/reference/generated/numpy.geterr.html

    Examples
    --------
    >>> import tnp as np
    >>> np.geterr()["over"]
    'ignore'
    """
    return dict(_setting.get().actions)


def seterr(
    all: Any = None, divide: Any = None, over: Any = None, under: Any = None, invalid: Any = None
) -> dict[str, str]:
    """Set the actions for floating-point errors, in this thread or asyncio task.

    Parameters
    ----------
    all : {'ignore', 'warn', 'raise', 'call', 'print', 'log'}, optional
        For all kinds.
    divide, over, under, invalid : str, optional
        For division by zero, results that are too large or too small, and invalid operations.

    Returns
    -------
    dict
        The former actions.

    Raises
    ------
    ValueError
        An action does not exist.

    Notes
    -----
    The setting also applies to NumPy, because NumPy's scalars (``np.float32(1)``) are tnp's.

    While any action is set, each operation's result is checked, which takes time and waits for an accelerator.
    ``seterr(divide="warn", over="warn", invalid="warn")`` is NumPy's default. A ufunc is checked as a whole, other
    functions after each of their torch operations. Differences from NumPy: machine code has no checks, so that
    compiled functions run uncompiled here, and what sets actions inside of one, with a warning; what one sets ends
    with its call. In a thread that runs a copy of another thread's context
    (``asyncio.to_thread``), ufuncs alone are checked, other functions only if the thread sets actions itself.

    Source: https://numpy.org/doc/stable/reference/generated/numpy.seterr.html

    Examples
    --------
    >>> import tnp as np
    >>> old = np.seterr(over="raise")
    >>> np.seterr(**old)["over"]
    'raise'
    """
    before = _setting.get()
    _set(_changed(before, all, divide, over, under, invalid))
    np.seterr(all, divide, over, under, invalid)
    return dict(before.actions)


def _changed(before: _Setting, all: Any, *given: Any) -> _Setting:
    """Return a setting with other actions, one for each kind."""
    actions = dict(before.actions)
    for kind, action in zip(_KINDS, given, strict=True):
        action = all if action is None else action
        if action is None:
            continue
        if action not in _ACTIONS:
            raise ValueError(f"invalid error mode {action!r}; use one of {', '.join(map(repr, _ACTIONS))}")
        if _watching.paused is not None and action not in ("ignore", _watching.paused.actions[kind]):
            why = f"a check for floating-point errors ({kind}={action!r}) needs the values of each result"
            raise trace_state.TracedValueError(f"{trace_state.user_line()}: {why}; {_ADVICE}").because(why)
        actions[kind] = action
    asks = any(action != "ignore" for action in actions.values())
    return before._replace(actions=actions, suspension=(before.suspension or _Suspension()) if asks else None)


_ADVICE = "leave it outside tnp.compile, or find NaNs with tnp.debug.nans, which sees those of compiled functions, too"


def geterrcall() -> ErrorCall:
    """Return the callback of the actions 'call' and 'log'.

    Returns
    -------
    callable, object with a ``write`` method, or None

    Notes
    -----
    Source: https://numpy.org/doc/stable/reference/generated/numpy.geterrcall.html

    Examples
    --------
    >>> import tnp as np
    >>> np.geterrcall() is None
    True
    """
    return _setting.get().call


def seterrcall(func: ErrorCall) -> ErrorCall:
    """Set the callback of the actions 'call' and 'log'.

    Parameters
    ----------
    func : callable, object with a ``write`` method, or None
        Called with the error's name and a flag.

    Returns
    -------
    callable, object or None
        The former callback.

    Raises
    ------
    TypeError
        It is neither callable nor has a ``write`` method.

    Notes
    -----
    Source: https://numpy.org/doc/stable/reference/generated/numpy.seterrcall.html

    Examples
    --------
    >>> import tnp as np
    >>> np.seterrcall(print) is None, np.seterrcall(None) is print
    (True, True)
    """
    if func is not None and not callable(func) and not callable(getattr(func, "write", None)):
        raise TypeError("python object must be callable or have a callable write method")
    before = _setting.get().call
    _setting.set(_setting.get()._replace(call=func))
    np.seterrcall(func)
    return before


class errstate(ContextDecorator):
    """A scope with other actions for floating-point errors.

    Parameters
    ----------
    call : callable or object with a ``write`` method, optional
        As for ``seterrcall``.
    all, divide, over, under, invalid : str, optional
        As for ``seterr``.

    Notes
    -----
    Source: https://numpy.org/doc/stable/reference/generated/numpy.errstate.html

    Examples
    --------
    >>> import tnp as np
    >>> with np.errstate(divide="raise"):
    ...     np.ones(1) / 0
    Traceback (most recent call last):
    FloatingPointError: divide by zero encountered in divide
    """

    __module__ = "tnp"
    __slots__ = ("_before", "_call", "_errors", "_numpy")

    def __init__(
        self,
        *,
        call: Any = _NoValue,
        all: Any = None,
        divide: Any = None,
        over: Any = None,
        under: Any = None,
        invalid: Any = None,
    ) -> None:
        self._call = call
        self._errors = {"all": all, "divide": divide, "over": over, "under": under, "invalid": invalid}
        self._before: _Setting | None = None
        self._numpy: np.errstate | None = None

    def _recreate_cm(self) -> errstate:
        """Give each call of a decorated function its own scope."""
        return errstate(call=self._call, **self._errors)

    def __enter__(self) -> None:
        if self._before is not None:
            raise TypeError("Cannot enter `np.errstate` twice.")
        before = _setting.get()
        setting = _changed(before, *self._errors.values())
        self._before = before
        self._numpy = np.errstate(**self._errors)  # NumPy's scalars, such as np.float64(1), follow the setting too
        self._numpy.__enter__()
        _set(setting)
        if self._call is not _NoValue:
            seterrcall(self._call)

    def __exit__(self, *error: Any) -> None:
        assert self._before is not None and self._numpy is not None
        _set(self._before)
        self._before = _NOTHING  # it was entered, but holds no setting
        self._numpy.__exit__(*error)
