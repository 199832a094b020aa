"""Inspect programs while they run: prints and callbacks in compiled code, and an error at the first NaN.

Layer: owns the spelling, which is JAX's (``jax.debug``). The backend decides when a function is called.
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
    """Print values when a program runs, also inside compiled functions, branches, loops, batches and derivatives.

    Parameters
    ----------
    fmt : str
        A format string for ``str.format``. An f-string does not work: while tracing there are no values to format.
    *args, **kwargs
        The values to format: arrays and containers of arrays. Anything else is printed as it was while tracing.

    Notes
    -----
    Under `vmap` each element of the batch prints a line. A function's lines are printed in the order of its code. If a
    derivative computes a branch or a loop's steps again, they print again. Python's own ``print`` in a compiled
    function prints once, while tracing.

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
    """Call a function with values when a program runs, for its effects, such as writing a log.

    Parameters
    ----------
    callback : callable
        Called with ``args`` and ``kwargs``, whose arrays have values then. Its result is ignored.
    *args, **kwargs
        Pytrees of arrays.

    Notes
    -----
    Like `print`, the callback runs once for each element under `vmap`, and in order. No gradient flows through it.

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
    """A context manager or decorator: the first operation that makes a NaN raises an error with its line.

    Parameters
    ----------
    infs : bool, default False
        Whether infinities raise too.

    Raises
    ------
    FloatingPointError
        Inside the scope, an operation has a NaN in its result and none in its operands. This includes operations of
        derivatives and of compiled functions, which run one by one here.

    Notes
    -----
    An operation with a NaN among its operands does not raise, nor does filling an array with NaN. For an operation of
    a compiled function the error names the line where it was traced. ``np.errstate(invalid="raise")`` raises where
    NumPy does, but not in compiled functions around which it is set.

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
