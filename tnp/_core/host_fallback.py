"""Data that no tensor can hold: strings, objects, dates, structures, long doubles.

Layer: owns what becomes of them. ``import tnp`` refuses them (DtypeError). In a program that is run as it is, by
``python -m tnp``, they stay NumPy's: a function or method that would refuse runs NumPy's own instead, over the memory
of the arrays that it is given, and what comes out of it as numbers is tnp's again. It is asked only when something has
been refused, so what is not refused pays nothing.
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

kept = False
"""Whether such data stays NumPy's instead of being refused."""


def on_host(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """NumPy's function of these arguments, its results as ``taken`` has them."""
    written = [*_arrays(kwargs.get("out")), *(args[:1] if function.__name__ in _interop.WRITERS else ())]
    for array in written:
        if isinstance(array, ndarray) and array.tensor.device.type != "cpu":
            raise TypeError(
                f"{function.__name__} of data that no tensor can hold runs on the host and can't write to an array on "
                f"'{array.tensor.device}'"
            )
    return taken(function(*map(given, args), **given(kwargs)))


def by_method(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """NumPy's function, which calls the method of that name that a library's object has."""
    return on_host(function, args, kwargs)


def _arrays(out: Any) -> tuple[Any, ...]:
    return out if isinstance(out, tuple) else (out,)


def given(value: Any, read: Callable[[ndarray], np.ndarray] | None = None) -> Any:
    """Arrays as NumPy's over the same memory, copied from an accelerator; in lists, tuples and dicts too."""
    if isinstance(value, ndarray):
        array = (read or _interop.host_values)(value)
        return array[()] if isinstance(value, scalar) else array
    if type(value) in (list, tuple):
        return type(value)([given(each, read) for each in value])
    if type(value) is dict:
        return {key: given(each, read) for key, each in value.items()}
    return value


def computed(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """NumPy's function of these arguments; what else is wrong with them is said before that one has no values."""
    try:
        return function(*given(args, _interop.values_of), **given(kwargs, _interop.values_of))
    except TracedValueError as error:
        refusal = error
    function(*given(args, _stand_in), **given(kwargs, _stand_in))
    raise refusal


def _stand_in(array: ndarray) -> np.ndarray:
    return np.ones(array.shape, array.dtype)


def taken(value: Any) -> Any:
    """What NumPy returned: plain arrays of numbers as ours, on the default device; everything else as it is."""
    if type(value) is np.ndarray and value.dtype in to_torch:
        tensor = memory.from_numpy(value)
        tensor = tensor if memory.shares(tensor, value) else memory.fresh(tensor)
        return wrap_array(interop.moved(tensor, devices.state.default))
    if type(value) in (list, tuple):
        return type(value)(map(taken, value))
    if isinstance(value, tuple) and hasattr(value, "_make"):
        return value._make(map(taken, value))
    return value
