"""Data that no tensor can hold: strings, objects, dates, structures, long doubles.

Layer: owns the fallback to NumPy. ``import tnp`` refuses such data (DtypeError). In a program that ``python -m tnp``
runs, the data stays NumPy's: a function or method that would refuse calls NumPy's own instead, over the memory of its
arrays, and numbers among the results become tnp's again. The fallback runs only after a refusal, so other calls pay
nothing for it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from backend_torch.tensors import devices, interop, memory
from backend_torch.tensors.dtypes import to_torch
from backend_torch.tensors.trace_state import TracedValueError
from tnp._core import interop as _interop
from tnp._core.base import ndarray, scalar, wrap_array
from tnp._core.trees import replaced

kept = False
"""Whether such data stays NumPy's instead of being refused."""


def on_host(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Call NumPy's function, and convert its results by ``taken``."""
    written = [*_arrays(kwargs.get("out")), *(args[:1] if function.__name__ in _interop.WRITERS else ())]
    for array in written:
        if isinstance(array, ndarray) and array.tensor.device.type != "cpu":
            raise TypeError(
                f"{function.__name__} of data that no tensor can hold runs on the host and can't write to an array on "
                f"'{array.tensor.device}'"
            )
    return taken(function(*map(given, args), **given(kwargs)))


def by_method(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Call NumPy's function, which calls the method of that name of a library's object."""
    return on_host(function, args, kwargs)


def _arrays(out: Any) -> tuple[Any, ...]:
    return out if isinstance(out, tuple) else (out,)


def given(value: Any, read: Callable[[ndarray], np.ndarray] | None = None) -> Any:
    """Convert arrays to NumPy's over the same memory (copied from an accelerator), also in lists, tuples and dicts."""
    read = read or _interop.host_values

    def host(leaf: Any) -> Any:
        if not isinstance(leaf, ndarray):
            return leaf
        return read(leaf)[()] if isinstance(leaf, scalar) else read(leaf)

    return replaced(host, value)


def computed(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Call NumPy's function, so that other errors come before the one that an array has no values."""
    try:
        return function(*given(args, _interop.values_of), **given(kwargs, _interop.values_of))
    except TracedValueError as error:
        refusal = error
    function(*given(args, _stand_in), **given(kwargs, _stand_in))
    raise refusal


def _stand_in(array: ndarray) -> np.ndarray:
    return np.ones(array.shape, array.dtype)


def taken(value: Any) -> Any:
    """Convert plain arrays of numbers that NumPy returned to tnp's, on the default device; leave the rest."""
    return replaced(_taken, value)


def _taken(value: Any) -> Any:
    if type(value) is not np.ndarray or value.dtype not in to_torch:
        return value
    if repeated := 0 in value.strides and value.size > 0:
        value.flags.writeable = False  # as ours are; NumPy would warn of the question
    tensor = memory.from_numpy(value, read_only=repeated)
    tensor = tensor if memory.shares(tensor, value) else memory.fresh(tensor)
    return wrap_array(interop.moved(tensor, devices.state.default))
