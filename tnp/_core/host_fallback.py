"""Data that no tensor can hold: strings, objects, dates, structures, long doubles.

Layer: owns the fallback to NumPy. Such data stays in NumPy's arrays. A function that refuses it (DtypeError) calls
NumPy's function instead, on the memory of its arrays, and numbers among the results become tnp's arrays. On an
accelerator, in a trace, a batch or a derivative the refusal stands. The fallback runs only after a refusal, so other
calls pay nothing for it.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from backend_torch.tensors import devices, interop, memory, trace_state
from backend_torch.tensors.dtypes import to_torch
from backend_torch.tensors.trace_state import TracedValueError
from tnp._core import interop as _interop
from tnp._core import strided_views
from tnp._core.base import ndarray, scalar, wrap, wrap_array
from tnp._core.errors import call
from tnp._core.function_overrides import Overridden
from tnp._core.trees import holds, replaced

_HERE = str(Path(__file__).parents[1])
_DISPATCH = str(Path(_HERE, "_array", "array_function.py"))


def refused(
    error: Exception,
    function: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
) -> Any:
    """Call NumPy's function instead of one that refused its data; raise ``error`` if NumPy can't compute here.

    Parameters
    ----------
    error : DtypeError or Overridden
        The refusal.
    function : callable
        NumPy's function.
    args, kwargs : tuple, dict
        The arguments from the program.
    """
    if isinstance(error, Overridden):
        return error.ask(args, kwargs)
    if trace_state.is_tracing() or kwargs.get("device") not in (None, "cpu"):
        raise error

    def check(leaf: Any) -> Any:
        if isinstance(leaf, ndarray) and not _interop.is_on_host(leaf):
            raise error
        return leaf

    if has_arrays := holds((args, kwargs), ndarray):
        replaced(check, (args, kwargs))
    try:
        return on_host(function, args, kwargs, has_arrays)
    except Exception as theirs:
        raise theirs from None


def refused_here(error: Exception, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Do what ``refused`` does if a program called the function that calls this; if tnp called it, raise ``error``."""
    caller: Any = sys._getframe(2)
    while caller.f_code.co_filename == _DISPATCH:  # the wrapper that dispatches to derived classes
        caller = caller.f_back
    if caller.f_code.co_filename.startswith(_HERE):
        raise error
    return refused(error, function, args, kwargs)


def on_host(
    function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], has_arrays: bool = True
) -> Any:
    """Call NumPy's function and convert its results by ``taken``."""
    if not has_arrays:
        return taken(call(function, *args, **kwargs))
    written = [*_arrays(kwargs.get("out")), *(args[:1] if function.__name__ in _interop.WRITERS else ())]
    for array in written:
        if isinstance(array, ndarray) and array.tensor.device.type != "cpu":
            raise TypeError(
                f"{function.__name__} of data that no tensor can hold runs on the host and can't write to an array on "
                f"'{array.tensor.device}'"
            )
    return taken(call(function, *map(given, args), **given(kwargs)))


def by_method(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Call NumPy's function, which calls the library object's method of that name."""
    return on_host(function, args, kwargs)


def _arrays(out: Any) -> tuple[Any, ...]:
    return out if isinstance(out, tuple) else (out,)


def given(value: Any, read: Callable[[ndarray], np.ndarray] | None = None) -> Any:
    """Convert arrays to NumPy's over the same memory (copied from an accelerator), also in lists, tuples and dicts."""
    if not holds(value, ndarray):
        return value
    read = read or _interop.host_values

    def host(leaf: Any) -> Any:
        if not isinstance(leaf, ndarray):
            return leaf
        return read(leaf)[()] if isinstance(leaf, scalar) else read(leaf)

    return replaced(host, value)


def computed(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Call NumPy's function; on traced arrays, which have no values, its other errors take precedence."""
    try:
        return call(function, *given(args, _interop.values_of), **given(kwargs, _interop.values_of))
    except TracedValueError as error:
        refusal = error
    function(*given(args, _stand_in), **given(kwargs, _stand_in))
    raise refusal


def _stand_in(array: ndarray) -> np.ndarray:
    return np.ones(array.shape, array.dtype)


def taken(value: Any) -> Any:
    """Convert NumPy's scalars and plain arrays of numbers to tnp's, on the default device; leave the rest."""
    return replaced(_taken, value)


def _taken(value: Any) -> Any:
    if isinstance(value, np.generic) and value.dtype in to_torch:
        return wrap(interop.moved(memory.from_numpy(np.asarray(value)), devices.state.default))
    if type(value) is not np.ndarray or value.dtype not in to_torch:
        return value
    if repeated := 0 in value.strides and value.size > 0:
        value.flags.writeable = False  # like tnp's broadcast views; reading the flag would make NumPy warn
    tensor = memory.from_numpy(value, read_only=repeated)
    if not memory.shares(tensor, value):
        if (view := strided_views.over_numpy(value)) is not None:
            return view
        tensor = memory.fresh(tensor)
    return wrap_array(interop.moved(tensor, devices.state.default))
