"""Python numbers that a graph computes, because they depend on a traced condition or count a loop's steps.

Layer: owns the results of Python's operators on them. Ufuncs use their Python type instead of their dtype (NEP 50), so
beside an array they take its dtype. Operators among numbers give numbers.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from backend_torch.tensors import memory, trace_state
from backend_torch.tensors.dtypes import to_numpy
from tnp._array.ndarray import REPEATED, scalar
from tnp._array.operators import operators
from tnp._core import base
from tnp._core.base import completes, number
from tnp._core.interop import defers_to
from tnp._ufunc.ufunc import COMPARISONS

Tensor = Any
_BITWISE = frozenset({"bitwise_and", "bitwise_or", "bitwise_xor"})
_PYTHONS = frozenset({bool, int, float, complex, number})
_new = object.__new__


def number_of(tensor: Tensor) -> Any:
    """Make a traced 0-d tensor a Python number."""
    result = _new(number)
    result.tensor = tensor
    return result


def _computed(ufunc: Any, *operands: Any) -> Any:
    """Return the result of Python's operator on a number and another value."""
    name = ufunc.__name__
    if not _PYTHONS.issuperset(map(type, operands)):
        repeats = name == "multiply" and any(type(x) in REPEATED for x in operands)
        return NotImplemented if repeats or any(map(defers_to, operands)) else ufunc(*operands)
    if name not in COMPARISONS and not (name in _BITWISE and all(map(_is_bool, operands))):
        # In Python's arithmetic True is 1.
        operands = tuple([x.astype(np.int64) if type(x) is number and _is_bool(x) else x for x in operands])
    results = ufunc(*operands)
    return tuple([number_of(each.tensor) for each in results]) if ufunc.nout > 1 else number_of(results.tensor)


def _is_bool(value: Any) -> bool:
    return type(value) is bool or (type(value) is number and value.dtype == bool)


def _unary(name: str, ufunc: Any) -> Any:
    return lambda self: _computed(ufunc, self)


def _operator(name: str, ufunc: Any) -> Any:
    return lambda self, other: _computed(ufunc, self, other)


def _reflected(name: str, ufunc: Any) -> Any:
    return lambda self, other: _computed(ufunc, other, self)


@completes(base.number, operators(unary=_unary, operator=_operator, reflected=_reflected, inplace=_operator))
class _Number(scalar):
    __slots__ = ()
    __module__ = "tnp"
    __hash__ = scalar.__hash__

    @property
    def weak(self) -> type:
        """The Python type of the number."""
        return type(to_numpy[self.tensor.dtype].type(0).item())

    def _text(self, of: Callable[[Any], str]) -> str:
        """Return the text of a number of Python's; a graph is cut where it is asked for."""
        if memory.is_readable(self.tensor):
            return of(self.item())
        if trace_state.is_tracing():
            raise trace_state.value_error()
        return scalar.__repr__(self)  # of a trace that is over

    def __repr__(self) -> str:
        return self._text(repr)

    def __str__(self) -> str:
        return self._text(str)

    def __format__(self, spec: str) -> str:
        return self._text(lambda number: format(number, spec))
