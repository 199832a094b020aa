"""Python numbers that a graph computes, because they depend on a traced condition or count a loop's steps.

Layer: owns the results of Python's operators on them. Ufuncs use their Python type instead of their dtype (NEP 50), so
beside an array they take its dtype. Operators among numbers give numbers.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from backend_torch.kernels import value_checks
from backend_torch.tensors import memory, trace_state
from backend_torch.tensors.dtypes import to_numpy
from tnp._array.ndarray import REPEATED, scalar
from tnp._array.operators import operators
from tnp._core import base
from tnp._core.base import completes, number, wrap
from tnp._core.interop import defers_to
from tnp._ufunc import table
from tnp._ufunc.ufunc import COMPARISONS

Tensor = Any
_BITWISE = frozenset({"bitwise_and", "bitwise_or", "bitwise_xor"})
_MAY_RAISE = frozenset({"divide", "floor_divide", "remainder", "divmod", "power"})
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
ANY = 2**_BITS - 1
"""The largest absolute value that an int of a traced branch or loop may have, whose ``reach`` this or less is."""


def _approximately(ufunc: Any) -> Callable[..., Any]:
    """Return the check of a result, which as a double is not near the largest int64 or beyond."""
    limit = 2.0**_BITS * (1 - 2.0**-50)

    def fits(one: Any, other: Any, result: Any) -> Any:
        return table.absolute(ufunc(one.astype(np.float64), other.astype(np.float64))) < limit

    return fits


_FITS: dict[str, Callable[..., Any]] = {
    "add": lambda one, other, result: ((one ^ result) & (other ^ result)) >= 0,
    "subtract": lambda one, other, result: ((one ^ other) & (one ^ result)) >= 0,
    "multiply": _approximately(table.multiply),
    "power": _approximately(table.power),
    "left_shift": _approximately(lambda one, other: one * table.exp2(other)),
}
"""Operator -> whether its result on two int64, and so wrapped, is right."""


def number_of(tensor: Tensor, largest: int | None = None) -> Any:
    """Make a traced 0-d tensor a Python number; an int that may be at most so large does not wrap."""
    result = _new(number)
    result.tensor = tensor
    if largest is not None:
        tensor.largest = largest
    return result


def largest_of(value: Any) -> int | None:
    """Return the largest absolute value that an int may have; None if nothing is known, and for other numbers."""
    if type(value) is int or type(value) is bool:
        return abs(value)
    is_int = type(value) is number and value.dtype.kind == "i"
    return getattr(value.tensor, "largest", getattr(value.tensor, "reach", None)) if is_int else None


def _checked(name: str, operands: tuple[Any, ...]) -> int | None:
    """Return the largest absolute value that an operator's result may have; None if nothing is known.

    Raises
    ------
    TracedValueError
        It is no int64.
    """
    known = list(map(largest_of, operands))
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
    if name in _MAY_RAISE and trace_state.is_tracing():
        trace_state.check_not_handled()
    if name not in COMPARISONS and not (name in _BITWISE and all(map(_is_bool, operands))):
        # In Python's arithmetic True is 1.
        operands = tuple([_as_int(x) if type(x) is number and _is_bool(x) else x for x in operands])
    if any(type(x) is number and hasattr(x.tensor, "reach") for x in operands) and ufunc.nout == 1:
        return _watched(ufunc, operands)
    largest = _checked(name, operands)
    results = ufunc(*operands)
    return tuple([number_of(each.tensor) for each in results]) if ufunc.nout > 1 else number_of(results.tensor, largest)


def _watched(ufunc: Any, operands: tuple[Any, ...]) -> Any:
    """Return the result of an operator on ints of traced branches and loops; the graph raises if one may wrap."""
    name, result = ufunc.__name__, number_of(ufunc(*operands).tensor)
    if name not in _LARGEST or result.dtype.kind != "i" or any(_kind(x) not in "bi" for x in operands):
        return result
    if (line := _line(name, *operands)) is not None:
        result.tensor.line = line
    largest = _LARGEST[name](*[ANY if (known := largest_of(x)) is None else known for x in operands])
    if largest > ANY and name in _FITS:
        value_checks.demand(
            _FITS[name](*[_wide(x) for x in operands], wrap(result.tensor)).tensor, value_checks.TOO_LARGE
        )
    result.tensor.reach = min(largest, ANY)
    return result


class Line(NamedTuple):
    """An int that a loop's counter decides: ``factor * counter + offset``, where the counter is below ``steps``."""

    counter: Tensor
    steps: int
    factor: int = 1
    offset: int = 0

    @property
    def ends(self) -> tuple[int, int]:
        """The least and the largest that it can be."""
        first, last = self.offset, self.factor * (self.steps - 1) + self.offset
        return min(first, last), max(first, last)


def line_of(value: Any) -> Line | None:
    """Return how a loop's counter decides an int; None for any other."""
    return getattr(value.tensor, "line", None) if type(value) is number else None


def _line(name: str, one: Any, other: Any = None) -> Line | None:
    if name in ("add", "multiply") and type(one) is int:
        one, other = other, one
    line = line_of(one)
    if line is None or type(other) is not int:
        return None
    if name == "multiply":
        return line._replace(factor=line.factor * other, offset=line.offset * other)
    if name in ("add", "subtract"):
        return line._replace(offset=line.offset + (other if name == "add" else -other))
    return None


def _wide(value: Any) -> Any:
    return wrap(value.tensor) if type(value) is number else np.int64(value)


def _kind(value: Any) -> str:
    return value.dtype.kind if type(value) is number else np.array(value).dtype.kind


def _as_int(value: Any) -> Any:
    return number_of(value.astype(np.int64).tensor, 1)


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
