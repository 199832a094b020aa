"""A cache of Python scalars as 0-d tensors: ``t + one`` is twice as fast as ``t + 1.``.

Layer: owns the cache. A constant is on the CPU, because torch combines 0-d CPU tensors with any device. Nothing writes
to a constant, and no user receives one.
"""

from __future__ import annotations

from typing import Any
from weakref import WeakValueDictionary

import numpy as np
import torch

from backend_torch.tensors.dtypes import to_numpy, to_torch
from backend_torch.tensors.memory import from_numpy, unwrapped
from backend_torch.torch_private.modes import no_dispatch

_LIMIT = 4096  # constants for each dtype: a program with random scalars must not grow the cache for ever
_owned: WeakValueDictionary[int, torch.Tensor] = WeakValueDictionary()


def _exact(value: Any, dtype: np.dtype) -> np.ndarray:
    """Convert a scalar to ``dtype`` as NumPy does: an int that does not fit raises OverflowError."""
    with np.errstate(over="ignore"):
        return np.array(value, dtype)


def _key(value: Any) -> Any:
    """Return a scalar's key. 0.0 equals -0.0, so zeros go by their text; NaN equals nothing, so its key is None."""
    if type(value) is int:
        return value
    if value != value:
        return None
    if isinstance(value, complex):
        return value if value.real and value.imag else repr(value)
    return value if value else repr(value)


class _Table(dict[Any, Any]):
    """Scalar -> the result of ``_make``. All keys have one Python type, because 1 equals True."""

    def __init__(self, dtype: torch.dtype) -> None:
        self.dtype = to_numpy[dtype]

    def __missing__(self, value: Any) -> Any:
        key = _key(value)
        made = self.get(key)
        if made is None:
            made = self._make(_exact(value, self.dtype))
            if key is not None:
                if len(self) >= _LIMIT:
                    self.clear()
                self[key] = made
        return made

    def _make(self, exact: np.ndarray) -> Any:
        raise NotImplementedError  # the tables of tensors and of numbers make their own


class Constants(_Table):
    """Scalar -> 0-d tensor of one dtype."""

    def _make(self, exact: np.ndarray) -> torch.Tensor:
        with no_dispatch():  # a constant made in a trace or a transform is a real tensor, and outlives it
            constant = unwrapped(from_numpy(exact))
        _owned[id(constant)] = constant
        return constant


class Numbers(_Table):
    """Scalar -> its Python number in one dtype, for kernels that take a number (``torch.pow``)."""

    def _make(self, exact: np.ndarray) -> Any:
        return exact.item()


def holds(dtype: torch.dtype, size: Any) -> bool:
    """Whether a dtype has a symbolic size; from then on the trace is for sizes alone of which the answer holds."""
    if dtype is torch.bool or dtype.is_complex or (dtype.is_floating_point and dtype is not torch.float16):
        return True
    limits = torch.finfo(dtype) if dtype.is_floating_point else torch.iinfo(dtype)
    return bool(int(limits.min) <= size <= int(limits.max))


class _OpenConstants:
    """Symbolic size of a trace -> 0-d tensor of one dtype, made in the trace.

    For a size that the dtype does not hold it is what a number gives.
    """

    def __init__(self, dtype: torch.dtype) -> None:
        self.dtype = dtype

    def __getitem__(self, size: Any) -> torch.Tensor:
        if not holds(self.dtype, size):
            return constants(self.dtype, int)[int(size)]
        return torch.full((), size, dtype=torch.int64).to(self.dtype)


class _OpenNumbers(_OpenConstants):
    """Symbolic size of a trace -> its substitute in kernels that take a number."""

    def __getitem__(self, size: Any) -> Any:
        if not holds(self.dtype, size):
            return numbers(self.dtype, int)[int(size)]
        return size if not (self.dtype.is_floating_point or self.dtype.is_complex) else torch.sym_float(size)


_constants: dict[tuple[torch.dtype, type], Any] = {}
_numbers: dict[tuple[torch.dtype, type], Any] = {}


def constants(dtype: torch.dtype, scalar_type: type) -> Any:
    """Return the table of constants of ``dtype`` for scalars of one Python or NumPy type."""
    key = dtype, scalar_type
    if key not in _constants:
        _constants[key] = _OpenConstants(dtype) if scalar_type is torch.SymInt else Constants(dtype)
    return _constants[key]


def numbers(dtype: torch.dtype, scalar_type: type) -> Any:
    """Return the table of plain numbers of ``dtype`` for scalars of one type."""
    key = dtype, scalar_type
    if key not in _numbers:
        _numbers[key] = _OpenNumbers(dtype) if scalar_type is torch.SymInt else Numbers(dtype)
    return _numbers[key]


def constant(value: Any, dtype: np.dtype) -> torch.Tensor:
    """Return a scalar as a 0-d tensor of a NumPy dtype."""
    return constants(to_torch[dtype], type(value))[value]


def cast_constant(value: Any, dtype: np.dtype) -> torch.Tensor:
    """Return a scalar that NumPy converts like an array's elements: a float is truncated, whether it fits or not."""
    if type(value) in (float, complex):
        if dtype.kind in "iu":
            with np.errstate(invalid="ignore"):
                value = np.asarray(value.real).astype(dtype)[()]
        elif dtype.kind == "f":
            value = value.real
    return constant(value, dtype)


def is_constant(tensor: torch.Tensor) -> bool:
    """Whether a tensor is such a constant, so that a graph may hold its value instead."""
    return _owned.get(id(tensor)) is tensor
