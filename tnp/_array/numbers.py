"""Python numbers that a graph computes, because they depend on a traced condition or count a loop's steps.

Layer: owns the results of Python's operators on them. Ufuncs use their Python type instead of their dtype (NEP 50), so
beside an array they take its dtype. Operators among numbers give numbers.
"""

from __future__ import annotations

import operator
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
_BITS = 63  # of an int64, and the sign
_LARGEST: dict[str, Callable[..., int]] = {
    "add": operator.add,
    "subtract": operator.add,
    "multiply": operator.mul,
    "power": lambda one, other: one ** min(other, _BITS),
    "left_shift": lambda one, other: one << min(other, _BITS),
    "remainder": lambda one, other: other,
    "floor_divide": lambda one, other: one,
    "divide": lambda one, other: max(one, other) << (_BITS - 53),  # of a double, which Python does not round to before
    **dict.fromkeys(("right_shift", "negative", "positive", "absolute"), lambda one, *others: one),
    **dict.fromkeys(("bitwise_and", "bitwise_or", "bitwise_xor"), lambda one, other: 2 * max(one, other) + 1),
    "invert": lambda one: one + 1,
}
"""Operator -> the largest absolute value of its result, from those of its operands, which are ints."""


def number_of(tensor: Tensor, largest: int | None = None) -> Any:
    """Make a traced 0-d tensor a Python number; an int that may be at most so large does not wrap."""
    result = _new(number)
    result.tensor = tensor
    if largest is not None:
        tensor.largest = largest
    return result


def _largest(value: Any) -> int | None:
    """Return the largest absolute value that an int may have; None if nothing is known, and for other numbers."""
    if type(value) is int or type(value) is bool:
        return abs(value)
    is_int = type(value) is number and value.dtype.kind == "i"
    return getattr(value.tensor, "largest", None) if is_int else None


def _checked(name: str, operands: tuple[Any, ...]) -> int | None:
    """Return the largest absolute value that an operator's result may have; None if nothing is known.

    Raises
    ------
    TracedValueError
        It is no int64.
    """
    known = list(map(_largest, operands))
    if name not in _LARGEST or None in known:
        return None
    largest = _LARGEST[name](*known)
    if largest >> _BITS or (name == "power" and (type(operands[1]) is number or operands[1] < 0)):
        why = "an int is computed here that may be too large for 64 bits, and Python's have any size"
        raise trace_state.TracedValueError(f"{trace_state.user_line()}: {why}").because(why)
    return largest


def _computed(ufunc: Any, *operands: Any) -> Any:
    """Return the result of Python's operator on a number and another value."""
    name = ufunc.__name__
    if not _PYTHONS.issuperset(map(type, operands)):
        repeats = name == "multiply" and any(type(x) in REPEATED for x in operands)
        return NotImplemented if repeats or any(map(defers_to, operands)) else ufunc(*operands)
    if name not in COMPARISONS and not (name in _BITWISE and all(map(_is_bool, operands))):
        # In Python's arithmetic True is 1.
        operands = tuple([x.astype(np.int64) if type(x) is number and _is_bool(x) else x for x in operands])
    largest = _checked(name, operands)
    results = ufunc(*operands)
    return tuple([number_of(each.tensor) for each in results]) if ufunc.nout > 1 else number_of(results.tensor, largest)


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
