"""The addresses of torch's vectorised mathematics, and loading machine code that calls it.

Layer: owns what small kernels need of torch at run time. They are compiled without headers and linked with nothing,
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
_SUPPORT = ["GOMP_parallel", "omp_get_thread_num", "omp_get_num_threads"]  # OpenMP, for the threads that torch uses
_kept: list[Any] = []  # objects that loaded code refers to


class _Method(ctypes.Structure):
    """PyMethodDef."""

    _fields_ = [
        ("name", ctypes.c_char_p),
        ("function", ctypes.c_void_p),
        ("flags", ctypes.c_int),
        ("doc", ctypes.c_char_p),
    ]


def register() -> int | None:
    """Return the bytes of the vector registers that torch's mathematics uses; None if torch has no such functions."""
    if platform.system() != "Linux" or platform.machine() != "x86_64":
        return None
    found = _REGISTERS.get(torch.backends.cpu.get_cpu_capability())
    return None if found is None or _library() is None else found[0]


@functools.cache
def _library() -> Any:
    """Open a library of torch that the process has loaded; None if there is none of this name."""
    try:
        return ctypes.CDLL(os.fspath(Path(torch.__file__).parent / "lib" / "libtorch_cpu.so"))
    except OSError:
        return None


def _address(name: str) -> int:
    """Return the address of a function in torch's library; raise AttributeError if there is none of this name."""
    address = ctypes.cast(getattr(_library(), name), ctypes.c_void_p).value
    assert address is not None
    return address


def mathematics(function: str, accuracy: str, is_double: bool) -> str:
    """Return the name of a vector function: ``mathematics("exp", "u10", True)`` is for doubles, right to 1.0 ulp."""
    size, instructions = _REGISTERS[torch.backends.cpu.get_cpu_capability()]
    lanes = f"d{size // 8}" if is_double else f"f{size // 4}"
    return f"Sleef_{function}{lanes}_{accuracy}{instructions}"


def load(path: str, functions: Sequence[str | int]) -> Callable[..., None]:
    """Load a library and return its function ``kernel``.

    The library's function ``bind`` gets the addresses that the kernel calls: the function that finds a tensor's
    memory, OpenMP's functions, and ``functions``: names of torch's library, or addresses.

    Raises
    ------
    OSError
        The library can't be loaded.
    AttributeError
        The library lacks ``kernel`` or ``bind``, or torch lacks one of the functions.
    """
    guards: Any = torch._C._dynamo.guards
    library = ctypes.CDLL(path)
    addresses = [guards._torchinductor_pyobject_tensor_data_ptr, *map(_address, _SUPPORT)]
    addresses += [each if isinstance(each, int) else _address(each) for each in functions]
    library.bind((ctypes.c_void_p * len(addresses))(*addresses))
    method = _Method(b"kernel", ctypes.cast(library.kernel, ctypes.c_void_p), _FASTCALL, None)
    make = ctypes.pythonapi.PyCFunction_NewEx
    make.restype, make.argtypes = ctypes.py_object, [ctypes.POINTER(_Method), ctypes.py_object, ctypes.py_object]
    _kept.append((library, method))
    kernel: Callable[..., None] = make(ctypes.byref(method), None, None)
    return kernel


def new_memory() -> Callable[..., torch.Tensor]:
    """Return Inductor's ``empty_strided`` for the CPU, which takes half the time of torch's."""
    guards: Any = torch._C._dynamo.guards
    made: Callable[..., torch.Tensor] = guards._empty_strided_cpu
    return made
