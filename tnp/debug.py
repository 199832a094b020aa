"""Looking into programs while they run: prints and calls in compiled code, and a stop at the first NaN.

Layer: how JAX spells it (``jax.debug``). When a function is called is the backend's.
"""

from __future__ import annotations

import builtins
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

from backend_torch.graphs import host_calls, nan_checks
from tnp._core.base import wrap
from tnp._transforms.callbacks import taken_apart

Tensor = Any


def print(fmt: str, *args: Any, **kwargs: Any) -> None:
    """Print values when a program runs: in compiled functions, branches and loops, maps and derivatives, too.

    Parameters
    ----------
    fmt : str
        A text with places for values, as ``str.format`` takes it; no f-string, which has no values while tracing.
    *args, **kwargs
        What stands in the places: arrays and containers of arrays, and anything else as it was when tracing.

    Notes
    -----
    Under `vmap` there is a line for each element. The lines of a function are in the order of its text. Where a
    derivative computes a branch or a loop's steps again, they print again. Python's ``print`` in a compiled function
    prints once, while tracing.

    Source: https://docs.jax.dev/en/latest/_autosummary/jax.debug.print.html

    Examples
    --------
    >>> import tnp as np
    >>> @np.compile(backend="eager")
    ... def double(x):
    ...     np.debug.print("x is {}", x)
    ...     return 2 * x
    >>> _ = double(np.asarray(1)), double(np.asarray(2))
    x is 1
    x is 2
    >>> _ = np.vmap(double)(np.arange(2))
    x is 0
    x is 1
    """
    callback(lambda *args, **kwargs: builtins.print(fmt.format(*args, **kwargs)), *args, **kwargs)


def callback(callback: Callable[..., object], *args: Any, **kwargs: Any) -> None:
    """Call a function with values when a program runs, for what it does: writing a log, say.

    Parameters
    ----------
    callback : callable
        Called with ``args`` and ``kwargs``, whose arrays have values then; what it returns is dropped.
    *args, **kwargs
        Pytrees of arrays.

    Notes
    -----
    As `print`, it is called for each element under `vmap`, and in order. No gradient flows through it.

    Source: https://docs.jax.dev/en/latest/_autosummary/jax.debug.callback.html

    Examples
    --------
    >>> import tnp as np
    >>> seen = []
    >>> np.compile(lambda x: np.debug.callback(seen.append, x.sum()), backend="eager")(np.ones(3))
    >>> seen
    [np.float64(3.0)]
    """
    tensors, built = taken_apart(args, kwargs)

    def run(values: list[Tensor]) -> None:
        given, named = built([wrap(value) for value in values])
        callback(*given, **named)

    host_calls.notify(run, tensors)


def nans(*, infs: bool = False) -> AbstractContextManager[None]:
    """A scope, or a decorator, in which the first operation that makes a NaN raises, and names its line.

    Parameters
    ----------
    infs : bool, default False
        Whether infinities count, too.

    Raises
    ------
    FloatingPointError
        Inside: an operation has a NaN in its result and none in its operands; in a derivative and a compiled function,
        too, which runs its operations one by one here.

    Notes
    -----
    An operation with a NaN among its operands, and what fills an array with NaN, is the program's own business. An
    operation of a compiled function has the line where it was traced. ``np.errstate(invalid="raise")`` raises where
    NumPy does, and not in compiled functions.

    Source: https://docs.jax.dev/en/latest/debugging/flags.html

    Examples
    --------
    >>> import tnp as np
    >>> with np.debug.nans():  # doctest: +ELLIPSIS
    ...     np.log(np.asarray(-1.0))
    Traceback (most recent call last):
    FloatingPointError: invalid value (nan) encountered in log at ...
    """
    return nan_checks.checked(infs)
