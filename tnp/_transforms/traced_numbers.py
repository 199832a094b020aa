"""Python floats and complex numbers among a compiled function's arguments: traced, unless Python needs their values.

Layer: owns the operations of traced numbers. ``isinstance`` and promotion take them for floats. Whatever needs the
value, such as ``if``, ``round`` or ``math.exp``, makes the number static: then each value has its own trace.
"""

from __future__ import annotations

import contextlib
import operator
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from backend_torch.tensors import creation
from tnp._core.base import ndarray, wrap
from tnp._core.promotion import result_type
from tnp._ufunc import table

KINDS = (float, complex)


class ValueNeeded(BaseException):
    """Signals that Python needs the value of traced numbers. It is not an error, and the program must not catch it.

    Attributes
    ----------
    numbers : frozenset of int
        The numbers of the arguments.
    """

    def __init__(self, numbers: frozenset[int]) -> None:
        super().__init__(numbers)
        self.numbers = numbers


class Number:
    """A Python float or complex number whose value may differ at the next call.

    Parameters
    ----------
    value : float or complex
        Its current value.
    tensor : Tensor, optional
        Its tensor in the trace.
    numbers : frozenset of int
        The arguments that it is computed from.
    trace : list
        Not empty while the trace is under way; afterwards the number is ``value``.
    """

    __slots__ = ("numbers", "tensor", "trace", "value")

    def __init__(self, value: Any, tensor: Any = None, numbers: frozenset[int] = frozenset(), trace: Any = ()) -> None:
        self.value = value
        self.tensor = creation.number(value) if tensor is None else tensor
        self.numbers = numbers
        self.trace = trace

    @property  # type: ignore[misc]
    def __class__(self) -> Any:
        return type(self.value)

    def known(self) -> Any:
        """Return the value once the trace is over; until then raise `ValueNeeded`."""
        if self.trace:
            raise ValueNeeded(self.numbers)
        return self.value

    def __getattr__(self, name: str) -> Any:
        return getattr(self.known(), name)

    def __copy__(self) -> Number:
        return self

    def __deepcopy__(self, memo: Any) -> Number:
        return self

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        """Apply a ufunc to arrays and this number, which promotes as Python numbers do."""
        if not self.trace:
            return getattr(ufunc, method)(*[x.value if type(x) is Number else x for x in inputs], **options)
        if method != "__call__" or any(type(value) is Number for value in options.values()):
            raise ValueNeeded(self.numbers)
        others = [x for x in inputs if type(x) is not Number]
        given = []
        for each in inputs:
            if type(each) is Number:
                array = wrap(each.tensor)
                each = array.astype(result_type(*others, type(each.value)(1))) if others else array
            given.append(each)
        return getattr(ufunc, method)(*given, **options)

    def _with(self, other: Any, ufunc: Any, plain: Callable[[Any, Any], Any], swapped: bool = False) -> Any:
        """Return a number if the other operand is a Python number, by ``plain``; an array if it is an array."""
        ordered = (lambda one, two: plain(two, one)) if swapped else plain
        if not self.trace:
            return ordered(self.value, other.value if type(other) is Number else other)
        if isinstance(other, ndarray):
            return self.__array_ufunc__(ufunc, "__call__", *((other, self) if swapped else (self, other)))
        numbers, value, tensor = self.numbers, other, other
        if type(other) is Number:
            numbers, value, tensor = numbers | other.numbers, other.value, other.tensor
        elif type(other) not in (bool, int, float, complex):
            return NotImplemented
        if plain is operator.truediv and (swapped or type(other) is Number or not other):
            raise ValueNeeded(numbers)  # Python raises for a division by zero
        if not _is_exact(other):
            raise ValueNeeded(numbers)
        return Number(ordered(self.value, value), ordered(self.tensor, tensor), numbers, self.trace)

    def __add__(self, other: Any) -> Any:
        return self._with(other, table.add, operator.add)

    def __radd__(self, other: Any) -> Any:
        return self._with(other, table.add, operator.add, True)

    def __sub__(self, other: Any) -> Any:
        return self._with(other, table.subtract, operator.sub)

    def __rsub__(self, other: Any) -> Any:
        return self._with(other, table.subtract, operator.sub, True)

    def __mul__(self, other: Any) -> Any:
        return self._with(other, table.multiply, operator.mul)

    def __rmul__(self, other: Any) -> Any:
        return self._with(other, table.multiply, operator.mul, True)

    def __truediv__(self, other: Any) -> Any:
        return self._with(other, table.divide, operator.truediv)

    def __rtruediv__(self, other: Any) -> Any:
        return self._with(other, table.divide, operator.truediv, True)

    def __neg__(self) -> Any:
        return Number(-self.value, -self.tensor, self.numbers, self.trace) if self.trace else -self.value

    def __pos__(self) -> Any:
        return self

    def _compared(self, other: Any, ufunc: Any, plain: Callable[[Any, Any], Any]) -> Any:
        if self.trace and isinstance(other, ndarray):
            return self.__array_ufunc__(ufunc, "__call__", self, other)
        return plain(self.known(), other.known() if type(other) is Number else other)

    def __lt__(self, other: Any) -> Any:
        return self._compared(other, table.less, operator.lt)

    def __le__(self, other: Any) -> Any:
        return self._compared(other, table.less_equal, operator.le)

    def __gt__(self, other: Any) -> Any:
        return self._compared(other, table.greater, operator.gt)

    def __ge__(self, other: Any) -> Any:
        return self._compared(other, table.greater_equal, operator.ge)

    def __eq__(self, other: object) -> Any:
        return self._compared(other, table.equal, operator.eq)

    def __ne__(self, other: object) -> Any:
        return self._compared(other, table.not_equal, operator.ne)

    def __pow__(self, other: Any) -> Any:
        return self.known() ** other

    def __rpow__(self, other: Any) -> Any:
        return other ** self.known()

    def __floordiv__(self, other: Any) -> Any:
        return self.known() // other

    def __rfloordiv__(self, other: Any) -> Any:
        return other // self.known()

    def __mod__(self, other: Any) -> Any:
        return self.known() % other

    def __rmod__(self, other: Any) -> Any:
        return other % self.known()

    def __abs__(self) -> Any:
        return abs(self.known())

    def __bool__(self) -> bool:
        return bool(self.known())

    def __float__(self) -> float:
        return float(self.known())

    def __complex__(self) -> complex:
        return complex(self.known())

    def __int__(self) -> int:
        return int(self.known())

    def __round__(self, digits: Any = None) -> Any:
        return round(self.known(), digits)

    def __hash__(self) -> int:
        return hash(self.known())

    def __repr__(self) -> str:
        return repr(self.known())

    def __format__(self, text: str) -> str:
        return format(self.known(), text)


@contextlib.contextmanager
def traced(values: Iterable[Any], are_static: bool) -> Iterator[None]:
    """A scope in which the numbers among the values belong to a trace; raise `ValueNeeded` if all have to be static."""
    numbers = [value for value in values if type(value) is Number]
    if numbers and are_static:
        raise ValueNeeded(frozenset().union(*[number.numbers for number in numbers]))
    traces = {id(number.trace): number.trace for number in numbers}.values()
    for trace in traces:
        trace.append(True)
    try:
        yield
    finally:
        for trace in traces:
            trace.pop()


def _is_exact(value: Any) -> bool:
    """Whether torch can hold a number exactly: an int beyond 64 bits it can't."""
    return type(value) is not int or -(2**63) <= value < 2**63
