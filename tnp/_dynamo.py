"""Arrays under plain torch.compile and torch.export.

Layer: owns which functions of tnp Dynamo takes whole. It looks into the others, as into any Python: those that read a
dtype or an index that is no tensor or number, which is all that it can hand to what it takes whole.
"""

from __future__ import annotations

from types import FunctionType, MethodType
from typing import Any

import numpy as np

import tnp
from backend_torch import dynamo
from backend_torch.dtypes import to_torch
from tnp import _indexing
from tnp._array import ndarray, scalar
from tnp._methods import Methods
from tnp._readonly import readonly
from tnp._ufunc import Ufunc

_LOOKED_INTO = frozenset(
    {"asarray", "astype", "broadcast_to", "empty", "ones", "reshape", "zeros", "compile"}
    | {"cond", "fori_loop", "scan", "while_loop", "map_fn", "vectorized_map", "fromfunction"}
    | {"item", "tolist", "tobytes", "tofile", "dump", "dumps", "view", "copy", "fill", "resize", "sort", "put"}
)
_OPERATORS = frozenset({"operator", "reflected", "inplace", "__pow__", "__rpow__", "__mul__", "__rmul__"})
_new = object.__new__


def _array(tensor: Any) -> ndarray:
    made = _new(ndarray)
    made.tensor = tensor
    return made


def _scalar(tensor: Any) -> scalar:
    made = _new(scalar)
    made.tensor = tensor
    return made


def _readonly(tensor: Any) -> readonly:
    made = _new(readonly)
    made.tensor = tensor
    return made


def _register() -> None:
    whole: list[Any] = [_indexing.value_of]
    for name in tnp.__all__:
        if name not in tnp._SUBMODULES and name not in _LOOKED_INTO:
            value = getattr(tnp, name)
            if isinstance(value, (Ufunc, FunctionType)):
                whole.append(value)
            elif isinstance(value, MethodType):  # it takes the function behind it
                whole.append(value.__func__)
    for kind in (Methods, ndarray, scalar):
        for name, value in kind.__dict__.items():
            if isinstance(value, FunctionType) and name not in _LOOKED_INTO:
                if not name.startswith("_") or value.__name__ in _OPERATORS:
                    whole.append(value)
    dynamo.take_whole(whole)
    dynamo.allow_constants()


dynamo.register(ndarray, _array, "tnp.ndarray")
dynamo.register(scalar, _scalar, "tnp.scalar")
dynamo.register(readonly, _readonly, "tnp.readonly")
dynamo.take_as_constants(list({type(dtype) for dtype in to_torch if isinstance(dtype, np.dtype)}))
dynamo.when_imported(_register)
