"""What happens on floating-point errors: ``errstate``, ``seterr`` and their kind.

Layer: owns the state, one a thread, and what is done about an error. By default nothing is looked for, which costs
nothing; while something is asked for, a mode of torch's dispatcher looks at the result of each operation.
"""

from __future__ import annotations

import sys
import threading
import warnings
from contextlib import ContextDecorator
from typing import Any

import numpy as np

from backend_torch.floating_errors import Watch

_KINDS = ("divide", "over", "under", "invalid")
_ACTIONS = ("ignore", "warn", "raise", "call", "print", "log")
_TEXTS = {
    "divide": "divide by zero",
    "over": "overflow",
    "under": "underflow",
    "invalid": "invalid value",
}
_FLAGS = {"divide": 1, "over": 2, "under": 4, "invalid": 8}
_NoValue: Any = np._NoValue


class _State(threading.local):
    """What to do about each kind of error, whom to call, and the mode that looks for them."""

    def __init__(self) -> None:
        self.actions = dict.fromkeys(_KINDS, "ignore")
        self.call: Any = None
        self.watch = Watch(lambda kind: self.actions[kind] != "ignore", _report)
        self.is_watching = False

    def follow(self) -> None:
        """Turn the mode on if something is asked for, off if nothing is."""
        wanted = any(action != "ignore" for action in self.actions.values())
        if wanted and not self.is_watching:
            self.watch.__enter__()
            self.is_watching = True
        elif not wanted and self.is_watching and self.watch.is_on():
            self.watch.__exit__(None, None, None)
            self.is_watching = False


def _report(kind: str, name: str) -> None:
    """Do what the state says about an error in an operation."""
    text = f"{_TEXTS[kind]} encountered in {name}"
    action = _state.actions[kind]
    if action == "warn":
        warnings.warn(text, RuntimeWarning, stacklevel=3)
    elif action == "raise":
        raise FloatingPointError(text)
    elif action == "print":
        print(f"Warning: {text}", file=sys.stderr)
    elif action == "call":
        if _state.call is None:
            raise NameError(f"python callback specified for {_TEXTS[kind]} (in {name}) but no function found.")
        _state.call(_TEXTS[kind], _FLAGS[kind])
    elif action == "log":
        if _state.call is None:
            raise NameError(f"log specified for {_TEXTS[kind]} (in {name}) but no object with write method found.")
        _state.call.write(f"Warning: {text}\n")


_state = _State()


def geterr() -> dict[str, str]:
    """What is done about floating-point errors.

    Returns
    -------
    dict
        'ignore', 'warn', 'raise', 'call', 'print' or 'log' for divide, over, under and invalid.

    Notes
    -----
    Differences from NumPy: 'ignore' by default, as looking for errors takes time and waits for an accelerator.

    Source: https://numpy.org/doc/stable/reference/generated/numpy.geterr.html

    Examples
    --------
    >>> import tnp as np
    >>> np.geterr()["over"]
    'ignore'
    """
    return dict(_state.actions)


def seterr(
    all: Any = None, divide: Any = None, over: Any = None, under: Any = None, invalid: Any = None
) -> dict[str, str]:
    """Say what is done about floating-point errors, in this thread.

    Parameters
    ----------
    all : {'ignore', 'warn', 'raise', 'call', 'print', 'log'}, optional
        For all kinds.
    divide, over, under, invalid : str, optional
        For division by zero, results that are too large or too small, and invalid operations.

    Returns
    -------
    dict
        What was done before.

    Raises
    ------
    ValueError
        There is no such action.

    Notes
    -----
    While something is asked for, each operation's result is looked at, which takes time and waits for an accelerator.
    Errors are found after each of torch's operations that an operation of ours consists of. Differences from NumPy:
    nothing is found in integers divided by zero, nor inside a compiled function.

    Source: https://numpy.org/doc/stable/reference/generated/numpy.seterr.html

    Examples
    --------
    >>> import tnp as np
    >>> old = np.seterr(over="raise")
    >>> np.seterr(**old)["over"]
    'raise'
    """
    actions = dict(_state.actions)
    for kind, given in zip(_KINDS, (divide, over, under, invalid), strict=True):
        action = all if given is None else given
        if action is None:
            continue
        if action not in _ACTIONS:
            raise ValueError(f"invalid error mode {action!r}; use one of {', '.join(map(repr, _ACTIONS))}")
        actions[kind] = action
    before, _state.actions = _state.actions, actions
    _state.follow()
    return before


def geterrcall() -> Any:
    """Whom an error is reported to by 'call' and 'log'.

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
    return _state.call


def seterrcall(func: Any) -> Any:
    """Say whom an error is reported to by 'call' and 'log'.

    Parameters
    ----------
    func : callable, object with a ``write`` method, or None
        Called with the error's name and a flag.

    Returns
    -------
    callable, object or None
        Whom it was reported to before.

    Raises
    ------
    TypeError
        It can neither be called nor written to.

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
    before, _state.call = _state.call, func
    return before


class errstate(ContextDecorator):
    """A scope in which floating-point errors are treated in another way.

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
    __slots__ = ("_before", "_call", "_errors")

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
        self._before: tuple[dict[str, str], Any] | None = None

    def _recreate_cm(self) -> errstate:
        """A scope of its own for each call of a decorated function."""
        return errstate(call=self._call, **self._errors)

    def __enter__(self) -> None:
        if self._before is not None:
            raise TypeError("Cannot enter `np.errstate` twice.")
        self._before = seterr(**self._errors), _state.call
        if self._call is not _NoValue:
            seterrcall(self._call)

    def __exit__(self, *error: Any) -> None:
        assert self._before is not None
        _state.actions, _state.call = self._before
        _state.follow()
