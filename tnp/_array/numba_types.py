"""numba's view of arrays: an ``njit`` function reads and writes an array's memory, and knows the functions of ``np``.

Layer: owns numba's types of tnp's objects. Only numba, which asks objects for ``_numba_type_``, imports this module.
"""

from __future__ import annotations

from types import ModuleType
from typing import Any

import numpy as np
from numba import typeof  # type: ignore[import-not-found]
from numba.core import boxing, cgutils, types  # type: ignore[import-not-found]
from numba.core.pythonapi import _unboxers  # type: ignore[import-not-found]
from numba.core.registry import cpu_target  # type: ignore[import-not-found]
from numba.extending import NativeValue, box, models, register_model, unbox  # type: ignore[import-not-found]

from tnp._core import public
from tnp._core.base import ndarray, scalar


class Array(types.Array):
    """A type of its own, so that numba compiles for tnp's arrays what also unboxes them."""


def type_of(value: ndarray) -> Any:
    """Return the type of an array; a scalar's class answers for the scalar, as NumPy's does."""
    plain = typeof(np.asarray(value))
    return Array(plain.dtype, plain.ndim, plain.layout, readonly=not plain.mutable, aligned=plain.aligned)


def type_of_module(module: ModuleType) -> Any:
    """Return the type of a module that a function names."""
    return types.Module(module)


def _number(value: Any) -> Any:
    return value.item() if isinstance(value, scalar) else value


def _converted(function: Any, given: Any, c: Any) -> Any:
    """Call a function of Python's on an argument."""
    function = c.pyapi.unserialize(c.pyapi.serialize_object(function))
    found = c.pyapi.call_function_objargs(function, (given,))
    c.pyapi.decref(function)
    return found


def _unboxed(kind: Any, given: Any, c: Any) -> Any:
    """Unbox NumPy's array over the same memory."""
    value = cgutils.alloca_once(c.builder, c.context.get_value_type(kind))
    failed = cgutils.alloca_once_value(c.builder, cgutils.true_bit)
    array = _converted(np.asarray, given, c)
    with c.builder.if_then(cgutils.is_not_null(c.builder, array)):
        native = boxing.unbox_array(kind, array, c)
        c.builder.store(native.value, value)
        c.builder.store(native.is_error, failed)
        c.pyapi.decref(array)
    return NativeValue(c.builder.load(value), is_error=c.builder.load(failed))


def _unboxed_complex(kind: Any, given: Any, c: Any) -> Any:
    """Unbox a complex number; of a scalar that is not NumPy's numba would take the real part."""
    number = _converted(_number, given, c)
    native = boxing.unbox_complex(kind, number, c)
    c.pyapi.decref(number)
    return native


def _name_functions(ours: Any, numpys: Any, context: Any) -> None:
    """Let tnp's functions stand for NumPy's in compiled code."""

    def meaning(function: Any) -> Any:
        try:
            return context.resolve_value_type(function)
        except ValueError:
            return None

    for name in dir(numpys):
        known, function = getattr(numpys, name, None), getattr(ours, name, None)
        if not callable(function) or function is known or isinstance(function, type):
            continue
        if (its := meaning(known)) is not None and meaning(function) is None:
            context.insert_global(function, its)


register_model(Array)(models.ArrayModel)
box(Array)(boxing.box_array)
unbox(Array)(_unboxed)
_unboxers.functions[types.Complex] = _unboxed_complex
cpu_target.target_context.refresh()
cpu_target.typing_context.refresh()
_name_functions(public.namespace(), np, cpu_target.typing_context)
for _module in ("linalg", "fft", "random"):
    _name_functions(getattr(public.namespace(), _module), getattr(np, _module), cpu_target.typing_context)
