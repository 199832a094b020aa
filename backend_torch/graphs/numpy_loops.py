"""The loops of NumPy's ufuncs, for machine code that calls them on blocks of memory.

Layer: owns which operations of a graph they compute: those for which eager code calls the same loop, so that compiled
and eager results are equal. With vectors NumPy's loops take half of the time of torch's mathematics, or less.
"""

from __future__ import annotations

import ctypes
from collections.abc import Mapping
from typing import Any

import numpy as np
import torch

from backend_torch.kernels import arithmetic, transcendental
from backend_torch.kernels.host import HAS_VECTORS
from backend_torch.kernels.kernel import Kernel

_LETTERS = {torch.float32: "f", torch.float64: "d", torch.int32: "i", torch.int64: "l"}
_KERNELS: Mapping[str, Kernel] = {
    "acos": transcendental.arccos, "acosh": transcendental.arccosh, "asin": transcendental.arcsin,
    "asinh": transcendental.arcsinh, "atan": transcendental.arctan, "atan2": transcendental.arctan2,
    "atanh": transcendental.arctanh, "exp": transcendental.exp, "expm1": transcendental.expm1,
    "log": transcendental.log, "log10": transcendental.log10, "log1p": transcendental.log1p,
    "log2": transcendental.log2, "pow.Tensor_Tensor": arithmetic.power, "tan": transcendental.tan,
    "tanh": transcendental.tanh,
}  # fmt: skip


class _Ufunc(ctypes.Structure):
    """The first fields of every ufunc: `PyUFuncObject` of ufuncobject.h, a part of NumPy's binary interface."""

    _fields_ = [
        ("references", ctypes.c_ssize_t),
        ("type", ctypes.c_void_p),
        ("operands", ctypes.c_int * 4),
        ("functions", ctypes.POINTER(ctypes.c_void_p)),
        ("extras", ctypes.POINTER(ctypes.c_void_p)),
        ("count", ctypes.c_int),
    ]


def of_operation(name: str, dtype: torch.dtype) -> str | None:
    """Return the name of the loop that eager code runs for torch's operation; None without vectors or another loop."""
    if not HAS_VECTORS or name not in _KERNELS or (name == "exp" and dtype is torch.float32):  # which is inlined
        return None
    ufunc = getattr(_KERNELS[name].resolve(dtype), "ufunc", None)
    return None if ufunc is None else of_ufunc(ufunc, dtype)


def of_ufunc(ufunc: np.ufunc, dtype: torch.dtype) -> str | None:
    """Return the name of a ufunc's loop whose operands and result have one dtype; None if there is none."""
    letter = _LETTERS[dtype]
    loop = f"{letter * ufunc.nin}->{letter * ufunc.nout}"
    return f"numpy.{ufunc.__name__}.{loop}" if loop in ufunc.types else None


def addresses(name: str) -> tuple[int, int]:
    """Return the addresses of a loop and of the data that it gets; raise AttributeError if this NumPy lacks it."""
    _, function, loop = name.split(".")
    ufunc: Any = getattr(np, function)
    found = _Ufunc.from_address(id(ufunc))
    if loop not in ufunc.types or [*found.operands][:2] != [ufunc.nin, ufunc.nout] or found.count != ufunc.ntypes:
        raise AttributeError(f"numpy.{function} has no loop {loop}")
    place = ufunc.types.index(loop)
    return found.functions[place] or 0, (found.extras[place] or 0) if found.extras else 0
