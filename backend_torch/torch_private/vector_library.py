"""torch's vectorised mathematics, by address, and machine code that calls it as a function of Python.

Layer: owns what small kernels need of torch at run time. They are compiled without a header and linked with nothing,
which takes a tenth of the time: they get the addresses of all functions that they call when they are loaded.
"""

from __future__ import annotations

import ctypes
import functools
import os
import platform
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch

_REGISTERS = {"AVX512": (64, "avx512f"), "AVX2": (32, "avx2")}
_FASTCALL = 0x80  # METH_FASTCALL
_SUPPORT = ["GOMP_parallel", "omp_get_thread_num", "omp_get_num_threads"]  # the pool of threads that torch has
_kept: list[Any] = []  # what loaded code refers to


class _Method(ctypes.Structure):
    """PyMethodDef."""

    _fields_ = [
        ("name", ctypes.c_char_p),
        ("function", ctypes.c_void_p),
        ("flags", ctypes.c_int),
        ("doc", ctypes.c_char_p),
    ]


def register() -> int | None:
    """The bytes of a vector register that torch's mathematics uses; None where there are no such functions."""
    if platform.system() != "Linux" or platform.machine() != "x86_64":
        return None
    found = _REGISTERS.get(torch.backends.cpu.get_cpu_capability())
    return None if found is None or _library() is None else found[0]


@functools.cache
def _library() -> Any:
    """torch's library, which has been loaded; None where there is none by this name."""
    try:
        return ctypes.CDLL(os.fspath(Path(torch.__file__).parent / "lib" / "libtorch_cpu.so"))
    except OSError:
        return None


def _address(name: str) -> int:
    """Where a function of torch's library is; AttributeError if it has none of this name."""
    address = ctypes.cast(getattr(_library(), name), ctypes.c_void_p).value
    assert address is not None
    return address


def mathematics(function: str, accuracy: str, is_double: bool) -> str:
    """The name of a function of vectors: ``mathematics("exp", "u10", True)`` is that of doubles, good to 1.0 ulp."""
    size, instructions = _REGISTERS[torch.backends.cpu.get_cpu_capability()]
    lanes = f"d{size // 8}" if is_double else f"f{size // 4}"
    return f"Sleef_{function}{lanes}_{accuracy}{instructions}"


def load(path: str, functions: Sequence[str]) -> Callable[..., None]:
    """The function ``kernel`` of a library, whose ``bind`` takes the addresses of what it calls.

    These are how a tensor's memory is found, those of OpenMP, and ``functions`` of torch's library.

    Raises
    ------
    OSError
        The library can't be loaded.
    AttributeError
        It has no such functions, or torch has not.
    """
    guards: Any = torch._C._dynamo.guards
    library = ctypes.CDLL(path)
    addresses = [guards._torchinductor_pyobject_tensor_data_ptr, *map(_address, [*_SUPPORT, *functions])]
    library.bind((ctypes.c_void_p * len(addresses))(*addresses))
    method = _Method(b"kernel", ctypes.cast(library.kernel, ctypes.c_void_p), _FASTCALL, None)
    make = ctypes.pythonapi.PyCFunction_NewEx
    make.restype, make.argtypes = ctypes.py_object, [ctypes.POINTER(_Method), ctypes.py_object, ctypes.py_object]
    _kept.append((library, method))
    kernel: Callable[..., None] = make(ctypes.byref(method), None, None)
    return kernel


def new_memory() -> Callable[..., torch.Tensor]:
    """torch.empty_strided for the CPU as Inductor's code calls it, at half the cost."""
    guards: Any = torch._C._dynamo.guards
    made: Callable[..., torch.Tensor] = guards._empty_strided_cpu
    return made
