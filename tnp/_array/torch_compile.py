"""Arrays under plain torch.compile and torch.export.

Layer: owns which functions of tnp Dynamo takes whole. It looks into the others, as into any Python: those that call
functions of arrays, which it then traces, and those that read or change what is no array.
"""

from __future__ import annotations

from types import FunctionType, MethodType
from typing import Any

import numpy as np

from backend_torch import native
from backend_torch.autodiff import autodiff, batching
from backend_torch.native import heads
from backend_torch.tensors import constants
from backend_torch.tensors.dtypes import to_torch
from backend_torch.torch_private import dynamo, trees
from tnp._array.array_function import implementation
from tnp._array.concatenator import AxisConcatenator
from tnp._array.methods import Methods
from tnp._core import public
from tnp._core.base import SCALARS, float64, indirect, like, ndarray, readonly, scalar, strided, wrap, wrap_array
from tnp._creation.grids import nd_grid
from tnp._indexing.index_tricks import IndexExpression
from tnp._ufunc.ufunc import Ufunc

_LOOKED_INTO = {
    "calls a function of arrays, which is traced in its turn": (
        "compile cond fori_loop grad hessian jacobian jvp linearize map_fn scan value_and_grad vectorized_map vjp "
        "while_loop"
    ),
    "reads or changes settings": (
        "get_printoptions getbufsize geterr geterrcall set_default_device set_printoptions setbufsize seterr "
        "seterrcall show_config show_runtime"
    ),
    "reads or writes a file, or takes what an iterator gives": (
        "dump fromfile fromiter genfromtxt load load_compiled loadtxt memmap save savetxt savez savez_compressed tofile"
    ),
    "reads the default device, which a graph would keep as it was": "empty ones zeros",
    "gives values to Python": "array2string array_repr array_str dumps item tobytes tolist",
    "changes the array, not its tensor": "resize setflags",
}
"""Reason -> names of functions and methods that are no operation of a graph."""

_PYTHON = {
    "gives text": (
        "array2string array_repr array_str format_float_positional format_float_scientific savetxt __repr__ __str__ "
        "__format__"
    ),
    "gives bytes": "dump dumps save savez savez_compressed tobytes tofile __reduce_ex__",
    "gives memory": "asnumpy data from_dlpack may_share_memory nditer shares_memory __array__ __dlpack__",
    "gives Python's numbers, or counts on them": "fromiter histogram histogram_bin_edges tolist vectorize",
}
"""Reason -> names of functions, methods, properties and classes that are run as Python where a graph broke at them."""

_TRANSFORMS = (autodiff.value_and_gradients, autodiff.vjp, autodiff.jvp, autodiff.linearize, batching.vmap)
"""What calls a function with tensors of a transform, of which Dynamo, asked anew where a graph broke, knows nothing."""

_OPERATORS = frozenset(
    {"operator", "reflected", "inplace", "pair_of", "__pow__", "__rpow__", "__mul__", "__rmul__", "<lambda>"}
)
_INDEXED = (nd_grid, AxisConcatenator, IndexExpression)


# torch 2.11 traces object.__new__ where it is written so, and not under a shorter name.
def _array(tensor: Any) -> ndarray:
    made = object.__new__(ndarray)
    made.tensor = tensor
    return made


def _scalar(tensor: Any) -> scalar:
    made = object.__new__(scalar)
    made.tensor = tensor
    return made


def _readonly(tensor: Any) -> readonly:
    made = object.__new__(readonly)
    made.tensor = tensor
    return made


def _wrap(tensor: Any) -> ndarray:
    return _array(tensor) if tensor.dim() else _scalar(tensor)


def _like(source: ndarray, tensor: Any) -> ndarray:
    return _scalar(tensor) if type(source) in SCALARS else _array(tensor)


def start() -> None:
    """Tell Dynamo what it takes whole, once it meets something of tnp; called when tnp has all its names."""
    dynamo.when_met("tnp", (ndarray, *SCALARS, readonly, strided, indirect), _register)


def _register() -> None:
    from tnp import fft  # when Dynamo is there, which importing tnp does not need
    from tnp.random import Generator, RandomState

    looked_into = {name for names in _LOOKED_INTO.values() for name in names.split()}
    whole: list[Any] = [ndarray.__getitem__, ndarray.__setitem__, scalar.__getitem__]
    namespace = public.namespace()
    for module in (namespace, fft):  # Dynamo looks into linalg, whose results are named tuples
        for name in module.__all__:
            if name not in namespace._SUBMODULES and name not in looked_into:
                value = getattr(module, name)
                value = value.__func__ if isinstance(value, MethodType) else value  # it takes the function behind it
                if isinstance(value, (Ufunc, FunctionType)):
                    whole += {value, public.implementation(value)}
    whole += [kind.__getitem__ for kind in _INDEXED]
    for kind in (Methods, ndarray, readonly, scalar):
        for name, value in kind.__dict__.items():
            if isinstance(value, FunctionType) and name not in looked_into:
                if value.__name__ in _OPERATORS or not (name.startswith("_") or kind is readonly):
                    whole.append(value)
    dynamo.take_whole(whole, (Ufunc, *_INDEXED))
    python = {name for names in _PYTHON.values() for name in names.split()}
    found = [getattr(namespace, name) for name in sorted(python.intersection(namespace.__all__))]
    found += [value for kind in (Methods, ndarray, scalar) for name, value in kind.__dict__.items() if name in python]
    left = map(implementation, found)
    drawing = (Generator, *RandomState.__mro__)
    dynamo.leave_to_python([*left, *drawing, constants.Constants, *_TRANSFORMS])
    dynamo.format_outside(ndarray)
    dynamo.take_operators(ndarray)
    dynamo.hash_dtypes("tnp")
    dynamo.trace_instead({wrap: _wrap, wrap_array: _array, like: _like})
    if native.state == "on":
        dynamo.trace_refused([getattr(heads, name) for name in native.HEADS])


trees.register(ndarray, _array, "tnp.ndarray")
trees.register(scalar, _scalar, "tnp.scalar")
trees.register(float64, _scalar, "tnp.float64")
trees.register(readonly, _readonly, "tnp.readonly")
trees.register(strided, _readonly, "tnp.strided")  # a write could not reach its memory
trees.register(indirect, _readonly, "tnp.indirect")
trees.register_constants(list({type(dtype) for dtype in to_torch if isinstance(dtype, np.dtype)}))
