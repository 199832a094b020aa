"""Protocols through which NumPy, torch and Array API consumers read an array.

Layer: owns the protocols' rules: NumPy's functions and ufuncs become tnp's, torch's functions get tensors, and every
copy between devices is visible.
"""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Iterator
from contextvars import ContextVar
from typing import Any

import numpy as np

from backend_torch.autodiff import transform_levels
from backend_torch.graphs import compiling, symbolic
from backend_torch.native import heads
from backend_torch.tensors import devices, interop, memory, trace_state
from tnp._core.base import like, ndarray, scalar, strided, wrap, wrap_array
from tnp._core.dtype_table import PLAIN

WRITERS = frozenset({"copyto", "fill_diagonal", "place", "put", "put_along_axis", "putmask"})
"""NumPy's functions that write to their first argument."""

API_VERSIONS = ("2021.12", "2022.12", "2023.12", "2024.12", "2025.12")

always_allows_host_copies = False
"""Whether all threads may copy to the host, as a program does that tnp runs unchanged."""
_allows_host_copies: ContextVar[bool] = ContextVar("tnp.allow_host_copies", default=False)


def host_copies_allowed() -> bool:
    """Whether reading an accelerator's array as NumPy copies it to the host instead of raising."""
    return always_allows_host_copies or _allows_host_copies.get()


@contextlib.contextmanager
def allow_host_copies() -> Iterator[None]:
    """Let arrays on an accelerator be read as NumPy arrays inside a ``with`` block, by a copy to the host.

    Outside of it ``numpy.asarray(x)``, ``x.tobytes()`` and whatever else needs the host's memory raise TypeError, so
    that no copy goes unseen.

    Notes
    -----
    The scope is the thread's or asyncio task's. ``tnp.asnumpy(x)`` and ``x.to_device("cpu")`` copy one array and need
    no scope. NumPy has no such function.

    Examples
    --------
    >>> import numpy
    >>> import tnp as np
    >>> with np.allow_host_copies():
    ...     numpy.asarray(np.ones(2))
    array([1., 1.])
    """
    token = _allows_host_copies.set(True)
    try:
        yield
    finally:
        _allows_host_copies.reset(token)


# NumPy.

NO_COPY = (
    "Unable to avoid copy while creating an array as requested.\nIf using `np.array(obj, copy=False)` replace it with "
    "`np.asarray(obj)` to allow a copy when needed (no behavior change in NumPy 1.x).\nFor more details, see "
    "https://numpy.org/devdocs/numpy_2_0_migration_guide.html#adapting-to-changes-in-the-copy-keyword."
)
NO_COPY_KEYWORD = (
    "__array__ implementation doesn't accept a copy keyword, so passing copy=False failed. __array__ must implement "
    "'dtype' and 'copy' keyword arguments. To learn more, see the migration guide "
    "https://numpy.org/devdocs/numpy_2_0_migration_guide.html#adapting-to-changes-in-the-copy-keyword"
)


def to_numpy(x: ndarray, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
    """``x.__array__()``: share the memory on the CPU; elsewhere raise TypeError unless host copies are allowed."""
    if dtype is None and not copy and (given := heads.numpy_of(x.tensor)) is not None:
        return given[0]
    tensor = _readable(x)
    if tensor.device.type != "cpu":
        if not host_copies_allowed():
            raise TypeError(
                f"the array is on '{tensor.device}' and would be copied to the host unseen: use tnp.asnumpy(x) or "
                'x.to_device("cpu"), or allow it in a scope: with tnp.allow_host_copies(): ...'
            )
        if copy is False:
            raise ValueError(NO_COPY)
        tensor = memory.to_host(tensor)
    values = memory.to_numpy(tensor)
    if copy is False and not memory.shares(tensor, values):
        raise ValueError(NO_COPY)
    return values if dtype is None and not copy else np.array(values, dtype, copy=copy)


def host_values(x: ndarray) -> np.ndarray:
    """Return an array's values as a NumPy array, copied to the host if they are elsewhere."""
    if type(x) is strided and not trace_state.is_tracing():
        return x.host
    return memory.to_numpy(memory.to_host(_readable(x)))


def values_of(x: ndarray) -> np.ndarray:
    """Return an array's values for a look at them now: in a trace, values that the trace knows will do."""
    known = memory.asked(x.tensor) if trace_state.is_tracing() else None
    return host_values(x) if known is None else known


def _readable(x: ndarray) -> Any:
    """Return the tensor with an array's values; TypeError if there are none."""
    tensor = x.tensor
    if not memory.is_readable(tensor):
        tensor = transform_levels.constant(tensor)
        if not memory.is_readable(tensor):
            check_readable(x)
    return tensor


def is_on_host(x: ndarray) -> bool:
    """Whether NumPy may have an array's values: no copy goes unseen, and no derivative is lost."""
    tensor = x.tensor
    if tensor.requires_grad or not memory.is_readable(tensor):
        return False
    return tensor.device.type == "cpu" or host_copies_allowed()


def check_readable(x: ndarray) -> None:
    """Raise TypeError unless the array has values."""
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
        raise trace_state.noted(
            TypeError(
                f"{trace_state.user_line()}: an array of shape {x.shape} has no values yet: it is being batched or "
                "differentiated, or is on the meta device. Use tnp's functions and arrays (tnp.zeros in place of "
                "numpy.zeros); NumPy's and Python's numbers are to be had outside"
            )
        )


def array_interface(x: ndarray) -> dict[str, Any]:
    """``x.__array_interface__``; AttributeError if there is none, so that NumPy tries ``__array__`` next."""
    if (given := heads.numpy_of(x.tensor)) is not None:
        return {**given[0].__array_interface__, "strides": given[0].strides}
    if x.tensor.device.type == "cpu" and memory.is_readable(x.tensor) and x.dtype.isbuiltin == 1:
        values = memory.to_numpy(x.tensor)
        if memory.shares(x.tensor, values):  # a lazily conjugated tensor gives a copy, and nobody would keep that alive
            return {**values.__array_interface__, "strides": values.strides}  # None would mean a buffer
    raise AttributeError("only a CPU array with values of a dtype of NumPy's own has an __array_interface__")


def to_arrow(x: ndarray, type: Any = None) -> Any:
    """``x.__arrow_array__()``: pyarrow makes it over the host's memory; it refuses more than one dimension."""
    import pyarrow  # type: ignore[import-not-found]

    return pyarrow.array(to_numpy(x), type=type)


def is_foreign(operand: Any) -> bool:
    """Whether another library's array, or a derived class of NumPy's, has rules of its own."""
    if type(operand) in PLAIN or symbolic.is_symbol(operand):  # which has one for NumPy's own ufuncs
        return False
    override = getattr(type(operand), "__array_ufunc__", np.ndarray.__array_ufunc__)
    if override is np.ndarray.__array_ufunc__:  # a masked array or a matrix would become a plain array
        return priority(operand) > 0 and not memory.is_tensor(operand)
    return override is not ndarray.__array_ufunc__


def defers_to(operand: Any) -> bool:
    """Whether an operator leaves the operation to the other operand.

    NumPy's rule is that ``__array_ufunc__`` computes unless it is None. Of a class that has operators of its own, those
    compute.
    """
    if not is_foreign(operand):
        return False
    return not overrides(operand) or type(operand).__array_ufunc__ is None or hasattr(type(operand), "__radd__")


def has_method(operand: Any, name: str) -> bool:
    """Whether a library's object has a method that NumPy's function of that name calls."""
    if isinstance(operand, (ndarray, np.generic)) or memory.is_tensor(operand) or overrides_functions(type(operand)):
        return False
    return hasattr(type(operand), name)


def priority(operand: Any) -> float:
    """Return the ``__array_priority__`` of an operand, or a scalar's if that is not a number."""
    found = getattr(type(operand), "__array_priority__", None)
    return found if isinstance(found, (int, float)) else -1e6


def overrides(operand: Any) -> bool:
    """Whether the class of an operand has an ``__array_ufunc__`` of its own."""
    if type(operand) in PLAIN or symbolic.is_symbol(operand):
        return False
    override = getattr(type(operand), "__array_ufunc__", np.ndarray.__array_ufunc__)
    return override is not ndarray.__array_ufunc__ and override is not np.ndarray.__array_ufunc__


def check_libraries(operands: Collection[Any]) -> None:
    """Raise TypeError for arrays of another library of the standard beside tnp's; NumPy's arrays are accepted."""
    if any(isinstance(operand, ndarray) for operand in operands):
        for operand in operands:
            check_library(operand)


def check_library(operand: Any) -> None:
    """Raise TypeError for an array of another library of the standard."""
    cls = type(operand)
    if hasattr(cls, "__array_namespace__") and not issubclass(cls, (ndarray, np.ndarray, np.generic)):
        raise TypeError(
            f"tnp.ndarray and {cls.__module__}.{cls.__qualname__} are arrays of two libraries: convert the one "
            "with tnp.asarray, or the other with its own"
        )


def overrides_functions(cls: type) -> bool:
    """Whether a class, not derived from tnp's array, has an ``__array_function__`` of its own."""
    usual = np.ndarray.__array_function__
    return getattr(cls, "__array_function__", usual) is not usual and not issubclass(cls, ndarray)


def to_dlpack(x: ndarray, stream: Any, max_version: tuple[int, int] | None, dl_device: Any, copy: bool | None) -> Any:
    """``x.__dlpack__()``."""
    if copy is not None:
        copy = bool(copy)  # raises ValueError for an array of several elements
    return interop.to_dlpack(x.tensor, stream, max_version, dl_device, copy)


def to_device(x: ndarray, device: Any, stream: Any, non_blocking: bool) -> ndarray:
    """``x.to_device(device)``."""
    moved = interop.moved(x.tensor, devices.parse(device), stream, non_blocking)
    return x if moved is x.tensor else like(x, moved)


# Pickle.


def reduce(x: ndarray) -> tuple[Any, ...]:
    """Return how an array is pickled: its values as a NumPy array, which keeps the memory order, and its state."""
    return unpickle, (host_values(x), str(x.tensor.device), isinstance(x, scalar), x.tensor.requires_grad)


def unpickle(values: np.ndarray, device: str, is_scalar: bool, requires_grad: bool) -> ndarray:
    """Rebuild the array that ``reduce`` took apart."""
    tensor = interop.restored(values, device, requires_grad)
    return wrap(tensor) if is_scalar else wrap_array(tensor)
