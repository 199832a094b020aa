"""Interop: what NumPy, torch and Array API consumers find when they are handed an array.

Layer: owns the protocols' rules: NumPy's functions and ufuncs become tnp's, torch's functions get tensors, and nothing
is copied between devices unseen.
"""

from __future__ import annotations

import contextlib
import inspect
from collections.abc import Collection, Iterator
from typing import Any

import numpy as np

import tnp
from backend_torch.autodiff import transform_levels
from backend_torch.graphs import compiling
from backend_torch.tensors import devices, interop, memory, trace_state
from backend_torch.tensors.dtypes import to_torch
from tnp._array import ndarray
from tnp._core.dtype_table import PLAIN
from tnp._core.dtypes import DtypeError

WRITERS = frozenset({"copyto", "fill_diagonal", "place", "put", "put_along_axis", "putmask"})
"""NumPy's functions that write to their first argument."""

API_VERSIONS = ("2021.12", "2022.12", "2023.12", "2024.12", "2025.12")

host_copies_allowed = False
"""Whether reading an accelerator's array as NumPy copies it to the host instead of raising."""


@contextlib.contextmanager
def allow_host_copies() -> Iterator[None]:
    """Let arrays on an accelerator be read as NumPy arrays inside a ``with`` block, by a copy to the host.

    Outside of it ``numpy.asarray(x)``, ``x.tobytes()`` and whatever else needs the host's memory raise TypeError, so
    that no copy goes unseen.

    Notes
    -----
    The scope is the process's, not the thread's. ``tnp.asnumpy(x)`` and ``x.to_device("cpu")`` copy one array and need
    no scope. NumPy has no such function.

    Examples
    --------
    >>> import numpy
    >>> import tnp as np
    >>> with np.allow_host_copies():
    ...     numpy.asarray(np.ones(2))
    array([1., 1.])
    """
    global host_copies_allowed
    before = host_copies_allowed
    host_copies_allowed = True
    try:
        yield
    finally:
        host_copies_allowed = before


# NumPy.

_NO_COPY = "Unable to avoid copy while creating an array as requested."


def to_numpy(x: ndarray.ndarray, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
    """``x.__array__()``: over the same memory on the CPU, TypeError elsewhere unless host copies are allowed."""
    tensor = _readable(x)
    if tensor.device.type != "cpu":
        if not host_copies_allowed:
            raise TypeError(
                f"the array is on '{tensor.device}' and would be copied to the host unseen: use tnp.asnumpy(x) or "
                'x.to_device("cpu"), or allow it in a scope: with tnp.allow_host_copies(): ...'
            )
        if copy is False:
            raise ValueError(_NO_COPY)
        tensor = memory.to_host(tensor)
    values = memory.to_numpy(tensor)
    if copy is False and not memory.shares(tensor, values):
        raise ValueError(_NO_COPY)
    return values if dtype is None and not copy else np.array(values, dtype, copy=copy)


def asnumpy(x: Any) -> np.ndarray:
    """The values as a NumPy array, copied to the host if they are elsewhere.

    Parameters
    ----------
    x : array_like

    Returns
    -------
    numpy.ndarray
        Over the same memory if that is the CPU's. No gradient goes through it.

    Raises
    ------
    TypeError
        The array is being traced or batched and has no values.

    Notes
    -----
    NumPy has no such function; CuPy's has the same name.

    Examples
    --------
    >>> import tnp as np
    >>> type(np.asnumpy(np.ones(2))).__module__
    'numpy'
    """
    if isinstance(x, np.ndarray):
        return x
    array = x if isinstance(x, ndarray.ndarray) else tnp.asarray(x)
    return memory.to_numpy(memory.to_host(_readable(array)))


def values_of(x: ndarray.ndarray) -> np.ndarray:
    """An array's values to be looked at here and now, so that in a trace those are enough that it knows."""
    known = memory.known(x.tensor) if trace_state.is_tracing() else None
    return asnumpy(x) if known is None else known


def _readable(x: ndarray.ndarray) -> Any:
    """The tensor with an array's values; TypeError where there are none to look at."""
    tensor = x.tensor
    if not memory.is_readable(tensor):
        tensor = transform_levels.constant(tensor)
        if not memory.is_readable(tensor):
            check_readable(x)
    return tensor


def check_readable(x: ndarray.ndarray) -> None:
    """TypeError unless the array has values to look at."""
    if not memory.is_readable(x.tensor):
        if trace_state.is_tracing():
            raise trace_state.value_error()
        if compiling.is_fake(x.tensor):
            raise trace_state.left_over_error()
        if memory.is_sharded(x.tensor):
            raise TypeError(
                f"an array of shape {x.shape} lies over several processes, and none has all its values: "
                "tnp.distributed.gather(x) has"
            )
        raise TypeError(
            f"an array of shape {x.shape} has no values yet: it is being batched or differentiated, or is on the meta "
            "device. Use tnp's functions on it; NumPy's and Python's numbers are to be had outside"
        )


def array_interface(x: ndarray.ndarray) -> dict[str, Any]:
    """``x.__array_interface__``; AttributeError where there is none, so that NumPy goes on to ``__array__``."""
    if x.tensor.device.type == "cpu" and memory.is_readable(x.tensor) and x.dtype.isbuiltin == 1:
        values = memory.to_numpy(x.tensor)
        if memory.shares(x.tensor, values):  # else it is a copy, of a lazily conjugated tensor, that nobody would keep
            return {**values.__array_interface__, "strides": values.strides}  # not None: that means "ask for a buffer"
    raise AttributeError("only a CPU array with values of a dtype of NumPy's own has an __array_interface__")


def numpy_ufunc(ufunc: Any, method: str, inputs: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """``numpy.add(x, y)`` is ``tnp.add(x, y)``; another library's ufunc runs on the host's memory."""
    if isinstance(ufunc, tnp._ufunc.ufunc.Ufunc):
        outs = kwargs.get("out", ())
        if any(map(overrides, (*inputs, *(outs if isinstance(outs, tuple) else (outs,))))):
            return NotImplemented
        return getattr(ufunc, method)(*inputs, **kwargs)
    outs = kwargs.pop("out", ())
    if any(map(is_foreign, (*inputs, *outs))):
        return NotImplemented
    name: str = ufunc.__name__
    if getattr(np, name, None) is not ufunc:
        return _host_ufunc(ufunc, method, inputs, outs, kwargs)
    ours = getattr(tnp, name, None)
    if ours is None:
        raise TypeError(f"tnp has no {name}: call numpy.{name} on tnp.asnumpy(x)")
    if method == "at":
        target = _over(inputs[0])
        ours.at(target, *inputs[1:])
        _write_back(inputs[0], target)
        return None
    function = ours if method == "__call__" else getattr(ours, method)
    targets = tuple([_over(out) for out in outs])
    if targets:
        kwargs["out"] = targets if len(targets) > 1 else targets[0]
    result = function(*inputs, **kwargs)
    for out, written in zip(outs, targets, strict=True):
        _write_back(out, written)
    return _results(result, outs)


def is_foreign(operand: Any) -> bool:
    """Whether an array of another library, or a NumPy array that is more than its values, has rules of its own."""
    if type(operand) in PLAIN:
        return False
    override = getattr(type(operand), "__array_ufunc__", np.ndarray.__array_ufunc__)
    if override is np.ndarray.__array_ufunc__:  # none of its own: a masked array or a matrix would become a plain one
        return priority(operand) > 0 and not memory.is_tensor(operand)
    return override is not ndarray.ndarray.__array_ufunc__


def has_method(operand: Any, name: str) -> bool:
    """Whether a library's object has a method that NumPy's function of that name calls."""
    if isinstance(operand, (ndarray.ndarray, np.generic)) or memory.is_tensor(operand):
        return False
    return hasattr(type(operand), name)


def priority(operand: Any) -> float:
    """The ``__array_priority__`` of an operand: a scalar's, where that is no number."""
    found = getattr(type(operand), "__array_priority__", None)
    return found if isinstance(found, (int, float)) else -1e6


def overrides(operand: Any) -> bool:
    """Whether the class of an operand has an ``__array_ufunc__`` of its own."""
    if type(operand) in PLAIN:
        return False
    override = getattr(type(operand), "__array_ufunc__", np.ndarray.__array_ufunc__)
    return override is not ndarray.ndarray.__array_ufunc__ and override is not np.ndarray.__array_ufunc__


def _over(array: Any) -> Any:
    """A NumPy array that is written to as one of ours: over its memory where that can be."""
    return array if array is None or isinstance(array, ndarray.ndarray) else tnp.asarray(array)


def _write_back(given: Any, written: Any) -> None:
    """Bring a result into the NumPy array that was given for it, where ``_over`` had to copy."""
    if isinstance(given, np.ndarray) and not memory.shares(written.tensor, given):
        given[...] = asnumpy(written)


def _results(result: Any, outs: tuple[Any, ...]) -> Any:
    """A ufunc's results, with the very arrays that were given as ``out`` in their places."""
    if not outs:
        return result
    results = result if isinstance(result, tuple) else (result,)
    chosen = tuple([new if out is None else out for new, out in zip(results, outs, strict=True)])
    return chosen if len(chosen) > 1 else chosen[0]


def _host_ufunc(ufunc: np.ufunc, method: str, inputs: tuple[Any, ...], outs: Any, kwargs: dict[str, Any]) -> Any:
    """A ufunc that is not NumPy's (``scipy.special``): it computes on the host, so gradients would be lost."""
    if any(isinstance(x, ndarray.ndarray) and x.tensor.requires_grad for x in inputs):
        raise TypeError(f"ufunc '{ufunc.__name__}' is not tnp's and would lose the gradient: call it on tnp.asnumpy(x)")
    inputs = tuple([x.__array__() if isinstance(x, ndarray.ndarray) else x for x in inputs])
    if outs:
        kwargs["out"] = tuple([x.__array__() if isinstance(x, ndarray.ndarray) else x for x in outs])
    result = getattr(ufunc, method)(*inputs, **kwargs)
    if result is None:
        return None
    results = result if isinstance(result, tuple) else (result,)
    wrapped = tuple([_wrapped(each) for each in results])
    return _results(wrapped if len(wrapped) > 1 else wrapped[0], outs)


def _wrapped(result: Any) -> Any:
    """What another library's ufunc returned as ours, unless no tensor can hold it and NumPy keeps such data."""
    if tnp._core.host_fallback.kept and np.asarray(result).dtype not in to_torch:
        return result
    return ndarray.wrap(tnp._core.convert.tensor_of(result))


def numpy_function(func: Any, types: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """``numpy.linalg.norm(x)`` is ``tnp.linalg.norm(x)``."""
    if not all(issubclass(t, (ndarray.ndarray, np.ndarray)) for t in types):
        return NotImplemented
    if func.__module__ == "tnp._program.import_hook":  # what a program that is run as it is has for it
        func = inspect.unwrap(func, stop=tnp._array.array_function.is_dispatching)
    if tnp._array.array_function.is_dispatching(func):
        return tnp._array.array_function.array_function(func, args, kwargs)
    name = f"{func.__module__}.{func.__name__}"
    ours: Any = tnp
    for part in name.split(".")[1:]:
        ours = getattr(ours, part, None)
    if ours is None or not name.startswith("numpy."):
        if tnp._core.host_fallback.kept:
            return tnp._core.host_fallback.on_host(func, args, kwargs)
        raise TypeError(f"tnp has no {name}: call it on tnp.asnumpy(x)")
    try:
        return _in_place_of(func, ours, args, kwargs)
    except DtypeError:
        if not tnp._core.host_fallback.kept:
            raise
        return tnp._core.host_fallback.on_host(func, args, kwargs)


def _in_place_of(func: Any, ours: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Our function with NumPy's arguments, which may be NumPy arrays to write to."""
    if func.__name__ in WRITERS and args and isinstance(args[0], np.ndarray):
        target = _over(args[0])
        ours(target, *args[1:], **kwargs)
        return _write_back(args[0], target)
    out = kwargs.get("out")
    if not isinstance(out, np.ndarray):
        return ours(*args, **kwargs)
    target = _over(out)
    ours(*args, **{**kwargs, "out": target})
    _write_back(out, target)
    return out


# torch.


def torch_function(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any] | None) -> Any:
    """``torch.relu(x)`` is ``torch.relu(x.tensor)``: tensors in, tensors out."""
    return func(*_unwrapped(args), **_unwrapped(kwargs or {}))


def _unwrapped(value: Any) -> Any:
    """Arrays as tensors, in lists, tuples and dicts too."""
    if isinstance(value, ndarray.ndarray):
        return value.tensor
    if type(value) in (list, tuple):
        return type(value)(map(_unwrapped, value))
    if type(value) is dict:
        return {key: _unwrapped(each) for key, each in value.items()}
    return value


# The Array API standard.


def namespace(api_version: str | None) -> Any:
    """``x.__array_namespace__()``."""
    if api_version is not None and api_version not in API_VERSIONS:
        raise ValueError(
            f'Version "{api_version}" of the Array API Standard is not supported: use one of {", ".join(API_VERSIONS)}'
        )
    return tnp


def check_libraries(operands: Collection[Any]) -> None:
    """TypeError where an array meets one of another library of the standard; NumPy's are taken as they are."""
    if any(isinstance(operand, ndarray.ndarray) for operand in operands):
        for operand in operands:
            check_library(operand)


def check_library(operand: Any) -> None:
    """TypeError for what an array can't meet: one of another library of the standard."""
    cls = type(operand)
    if hasattr(cls, "__array_namespace__") and not issubclass(cls, (ndarray.ndarray, np.ndarray, np.generic)):
        raise TypeError(
            f"tnp.ndarray and {cls.__module__}.{cls.__qualname__} are arrays of two libraries: convert the one "
            "with tnp.asarray, or the other with its own"
        )


def to_dlpack(
    x: ndarray.ndarray, stream: Any, max_version: tuple[int, int] | None, dl_device: Any, copy: bool | None
) -> Any:
    """``x.__dlpack__()``."""
    if copy is not None:
        copy = bool(copy)  # ValueError for an array of several elements
    return interop.to_dlpack(x.tensor, stream, max_version, dl_device, copy)


def to_device(x: ndarray.ndarray, device: Any, stream: Any, non_blocking: bool) -> ndarray.ndarray:
    """``x.to_device(device)``."""
    moved = interop.moved(x.tensor, devices.parse(device), stream, non_blocking)
    return x if moved is x.tensor else ndarray.like(x, moved)


# Pickle.


def reduce(x: ndarray.ndarray) -> tuple[Any, ...]:
    """How an array is pickled: its values as a NumPy array, which keeps the memory order, and what surrounds them."""
    return unpickle, (asnumpy(x), str(x.tensor.device), type(x) is ndarray.scalar, x.tensor.requires_grad)


def unpickle(values: np.ndarray, device: str, is_scalar: bool, requires_grad: bool) -> ndarray.ndarray:
    """The array that ``reduce`` took apart."""
    tensor = interop.restored(values, device, requires_grad)
    return ndarray.wrap(tensor) if is_scalar else ndarray.wrap_array(tensor)
