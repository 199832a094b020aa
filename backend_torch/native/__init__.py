"""The native core: slots in C++ on the finished classes, for calls that nothing but the plain CPU has a part in.

Layer: owns whether there is one. The extension is built by ``python -m backend_torch.native.build``, for one version of
Python and torch; without it, or with ``TNP_NATIVE=0``, the Python methods of the classes do what they always do. What
a call computes, which scalars it gives and what it raises does not depend on it: each native path begins with a guard
(`core.h`), and what that refuses goes to the Python method.
"""

from __future__ import annotations

import importlib.machinery
import importlib.util
import os
import platform
import warnings
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import torch

from backend_torch.native.build import HERE, VECTORS, target
from backend_torch.tensors import devices, host_views, memory
from backend_torch.tensors.dtypes import to_numpy

DTYPES = (
    *(torch.bool, torch.uint8, torch.uint16, torch.uint32, torch.uint64),
    *(torch.int8, torch.int16, torch.int32, torch.int64, torch.float32, torch.float64),
    *(torch.complex64, torch.complex128, torch.float16, torch.bfloat16),
)
"""The dtypes by the numbers that the extension has for them (`dtypes.h`)."""

HEADS = (
    *("zeros", "ones", "empty", "full", "arange", "eye", "array", "copy", "reshape", "transpose", "sum", "prod", "max"),
    *("min", "any", "all", "argmax", "argmin", "mean", "dot", "norm", "where", "roll", "concatenate", "like", "astype"),
    *("squeeze", "swapaxes", "at_least", "in_order", "ravel", "part", "nonzero", "numpy_of", "of_numpy", "over_numpy"),
    *("by_numpy", "few_by_numpy", "write_by_numpy", "linspace", "vdot", "bincount", "item", "count_nonzero"),
    *("diagonal", "flatten", "cumsum", "cumprod", "tolist", "std", "var", "ufunc", "draw", "watch"),
    *("gradients", "tensors_by_numpy", "on_tensors", "some_by_numpy", "any_by_numpy", "turned", "straight", "flip"),
    *("derived_in", "undressed", "dressed", "viewed", "over_buffer", "overlap", "broadcast_to", "settle"),
    *("isclose", "copyto", "putmask", "packbits", "unpackbits", "pair", "take", "matvec", "vecmat"),
)
"""The functions that have a native head."""

_WEAK = (int, float, complex)  # Python's numbers, whose numbers come after those of the dtypes
_GIVEN = (*[to_numpy.get(dtype) for dtype in DTYPES], *_WEAK)
_NUMBERS = {to_numpy[dtype]: number for number, dtype in enumerate(DTYPES) if dtype in to_numpy}

_BUILD = "python -m backend_torch.native.build builds it"
state = f"off: {_BUILD}"
"""What ``show_config`` says."""


class _Slot:
    """What holds the tensor of an array, where there is no extension."""

    __slots__ = ("__weakref__", "tensor")


def install(
    array: type,
    scalar: type,
    readonly: type,
    strided: type,
    float64: type,
    derived: type,
    ufunc_types: tuple[type, type],
    ufuncs: dict[str, tuple[Any, np.ufunc, Any]],
) -> None:
    """Put the native slots into the finished classes, if there is an extension.

    Parameters
    ----------
    array, scalar, readonly, strided : type
        The classes of arrays, scalars and read-only arrays, which are below `Slot`.
    float64 : type
        The class of scalars that are Python's floats to C, derived from ``scalar`` and nothing else.
    derived : type
        The base of the classes that a program derives from ``array``.
    ufunc_types : tuple of type
        The classes of ufuncs of one operand and of two.
    ufuncs : dict
        Name -> the ufunc, NumPy's ufunc, whose dtype rules it has, and the kernel that computes it.
    """
    if _extension is not None:
        _extension.set_names(_dtype_numbers(), devices.__dict__, np._NoValue)
        _extension.set_host(memory.__dict__, np.ndarray, host_views.Turn)
        scalar_classes = tuple([to_numpy[dtype].type if dtype in to_numpy else None for dtype in DTYPES])
        dtypes = tuple([to_numpy.get(dtype) for dtype in DTYPES])
        classes = (array, scalar, readonly, strided, float64, derived)
        _extension.install(*classes, scalar_classes, dtypes, ufunc_types, ufuncs, _resolve)


# Libraries of the Array API standard take Python's floats for numbers of no library, so functions would refuse operands
# that are all scalars. SciPy and scikit-learn take arrays of any library only where this variable is set.
ARE_FLOATS = not os.environ.get("SCIPY_ARRAY_API")


def make_floats(whether: bool = ARE_FLOATS) -> None:
    """Whether scalars of float64, made from here on, are Python's floats to C, as NumPy's are."""
    if _extension is not None:
        _extension.make_floats(whether)


def watch_errors(whether: bool) -> None:
    """Whether any thread asks for floating-point errors, which only the Python methods look for."""
    if _extension is not None:
        _extension.watch_errors(whether)


def _dtype_numbers() -> dict[Any, int]:
    """What creation functions are given as a dtype -> its number."""
    names = (bool, int, float, complex, "int", "float", "complex")
    numbers: dict[Any, int] = {each: _NUMBERS[np.dtype(each)] for each in names}
    for dtype, number in _NUMBERS.items():
        numbers |= dict.fromkeys((dtype, dtype.type, dtype.name, dtype.str, dtype.str[1:], dtype.char), number)
    return numbers


def _load() -> ModuleType | None:
    """The extension for the running Python and torch; one line of warning where there are others only."""
    global state
    if os.environ.get("TNP_NATIVE") == "0":
        state = "off: TNP_NATIVE=0"
        return None
    path = target(torch.__version__)
    if not path.exists():
        others = sorted(HERE.glob("core-*"))
        if others:
            state = f"off: {others[0].name} is of another Python, torch or source than {path.name}"
            warnings.warn(f"tnp runs without its native core, {state}; {_BUILD}", RuntimeWarning, stacklevel=2)
        return None
    if platform.machine() in VECTORS and torch.backends.cpu.get_cpu_capability() not in ("AVX2", "AVX512"):
        state = "off: the processor has no AVX2"
        return None
    loader = importlib.machinery.ExtensionFileLoader(f"{__name__}.core", str(path))
    spec = importlib.util.spec_from_file_location(loader.name, path, loader=loader)
    assert spec is not None
    try:
        extension = importlib.util.module_from_spec(spec)
        loader.exec_module(extension)
        state = "on"
        return extension
    except ImportError as error:
        state = f"off: {error}"
        warnings.warn(f"tnp runs without its native core: {error}", RuntimeWarning, stacklevel=2)
        return None


def _resolve(ufunc: np.ufunc, kernel: Any, *given: int) -> tuple[Any, ...] | None:
    """What NumPy resolves the dtypes of operands and output to, by number; -1 is an output that it may choose.

    Then the ufunc of NumPy's that is the kernel on these dtypes, or None; and the name of torch's function that is the
    kernel where a gradient is recorded, or None for other functions, which may have derivatives of their own.
    """
    try:
        resolved = ufunc.resolve_dtypes(tuple([None if number < 0 else _GIVEN[number] for number in given]))
        numbers = [_NUMBERS[dtype] for dtype in resolved]
        function = kernel.resolve(*[DTYPES[number] for number in numbers[: ufunc.nin]])
        recorded = getattr(function, "otherwise", function)
        name = recorded.__name__
        return *numbers, getattr(function, "ufunc", None), name if getattr(torch, name, None) is recorded else None
    except (TypeError, KeyError):  # it refuses, or would compute in a dtype that no tensor can carry
        return None


def _refuse(*args: Any, **options: Any) -> None:
    """The head of each function, where there is no extension."""


_extension = _load()
if _extension is not None:
    memory.uncollected.append(_extension.find_holder)
heads: Any = SimpleNamespace(**dict.fromkeys(HEADS, _refuse)) if _extension is None else _extension
"""Native heads of functions: ``heads.zeros(shape, dtype)`` is the array, or None if the function has to make it."""
Slot: Any = _Slot if _extension is None else _extension.Slot
"""The class below that of arrays: an attribute ``tensor``, weak references, and nothing else."""
