"""Python's functions of sequences in converted functions: comprehensions, ``sum``, ``max``, lists that loops build.

Layer: owns which of these go through a sequence by a loop of the graph. `lists` owns the lists.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from backend_torch.kernels import value_checks
from backend_torch.tensors import trace_state
from tnp._array.numbers import line_of, number_of
from tnp._autograph import expressions, iteration, statements, windows
from tnp._autograph.lists import Collected, Growing, Grows, of_rows
from tnp._autograph.values import Part, traced
from tnp._core.base import ndarray
from tnp._core.convert import asarray
from tnp._indexing.selection import where
from tnp._manipulation.rearranging import moveaxis


def appended(items: Any, value: Any) -> Any:
    """Append a value, and return what the variable holds then: another object for a list that a loop's graph builds."""
    if type(items) is Growing or (type(items) is Collected and items.takes_rows):
        return items.appended(value)
    if (loop := statements.loop_around(items)) is not None:
        part = Part(of_rows(value))
        if part.tree is not None:
            raise Grows(loop, items, part)
    items.append(value)
    return items


def item(items: Any, key: Any) -> Any:
    """``items[key]``, at a traced place of a list or a tuple of numbers, or of a list that grows, too."""
    if type(items) not in (list, tuple) or not items or not isinstance(key, ndarray) or traced(key) is None:
        return windows.item(items, key)
    try:
        return items[key]
    except trace_state.TracedValueError as error:
        if (loop := statements.loop_around(items)) is not None:
            loop.asked = error  # this trace is the first one: it ends where the step appends to the list
            return items[0]
        kind = type(items[0])
        if key.dtype.kind not in "iu" or kind not in (int, float) or any(type(each) is not kind for each in items):
            raise
        numbers = np.array(items)
        if numbers.dtype.kind not in "if":
            raise
    place = number_of(key.astype("int64").tensor)
    line, length = line_of(key), len(items)
    if line is None or line.ends[0] < 0 or line.ends[1] >= length:
        place = number_of(where(place < 0, place + length, place).tensor)
        text = value_checks.raising(IndexError(f"{type(items).__name__} index out of range"), "")
        value_checks.demand(asarray((place >= 0) & (place < length)).tensor, text)
    return number_of(asarray(numbers)[place].tensor)


class Mapped(iteration.Once):
    """A generator expression over what a loop of the graph can go through."""

    def __init__(
        self, items: iteration.Items, function: Callable[[Any], Any], condition: Callable[[Any], Any] | None = None
    ) -> None:
        self.items, self.function, self.length, self.most = items, function, items.length, items.most
        self.condition = condition
        self.leaves_out = condition is not None

    def item(self, number: Any) -> Any:
        """Return the value of the expression for an item."""
        return self.function(self.items.item(number))

    def __next__(self) -> Any:
        if self.rest is None:
            self.rest = map(self.function, filter(self.condition or _always, self.items))
        return next(self.rest)


def _always(item: Any) -> bool:
    return True


def _for_each(items: Any, body: Callable[[Any, Any], Any], total: Any, ends: Callable[[Any], Any] | None = None) -> Any:
    """Return ``total`` after ``total = body(total, item)`` for each item, until ``ends(total)``."""
    function, condition = None, None
    if type(items) is Mapped and items.rest is None:
        items, function, condition = items.items, items.function, items.condition
    lines = ((statements.EXPRESSION, 0),)

    def get() -> tuple[Any]:
        return (total,)

    def put(values: tuple[Any]) -> None:
        nonlocal total
        (total,) = values

    def step(item: Any) -> None:
        def taken() -> None:
            put((body(total, item if function is None else function(item)),))

        if condition is None:
            taken()
        else:
            statements.if_(condition(item), taken, _nothing, get, put, lines)

    test = None if ends is None else lambda: expressions.not_(ends(total))
    statements.for_(items, test, step, get, put, lines)
    return total


def _is_looped(items: Any) -> bool:
    """Whether `_for_each` goes through what a function is given, where that is no list of Python's."""
    return iteration.source(items) is not None or (type(items) is Mapped and items.rest is None)


def _nothing() -> None:
    """What is done for an item that a comprehension leaves out."""


def _unpacking(function: Any, count: int | None) -> Any:
    """Return a function of an item, which ``function`` takes as so many arguments; None: as it is."""
    if count is None or function is None:
        return function

    def call(item: Any) -> Any:
        values = list(item)
        if len(values) < count:
            raise ValueError(f"not enough values to unpack (expected {count}, got {len(values)})")
        if len(values) > count:
            raise ValueError(f"too many values to unpack (expected {count})")
        return function(*values)

    return call


def listed(items: Any, function: Callable[..., Any], count: int | None, condition: Callable[..., Any] | None) -> Any:
    """``[function(item) for item in items if condition(item)]``."""
    of_item, chosen, source = _unpacking(function, count), _unpacking(condition, count), iteration.source(items)
    if source is None or not isinstance(source.length, int):
        return [of_item(item) for item in items if chosen is None or chosen(item)]
    return _for_each(Mapped(source, of_item, chosen), appended, [])


def generated(
    taker: Any, items: Any, function: Callable[..., Any], count: int | None, condition: Callable[..., Any] | None
) -> Any:
    """``function(item) for item in items if condition(item)``, a generator that ``taker`` is given."""
    source = iteration.source(items) if any(taker is each for each in _TAKERS) else None
    of_item, chosen = _unpacking(function, count), _unpacking(condition, count)
    if source is None:
        return (of_item(item) for item in items if chosen is None or chosen(item))
    return Mapped(source, of_item, chosen)


def sum_(items: Any, /, start: Any = 0) -> Any:
    """``sum``."""
    if not _is_looped(items):
        return sum(items, start)
    source = iteration.source(items)
    if source is not None and isinstance(source.length, int) and source.length:
        start, items = start + source.item(0), _rest(source)  # of the dtype and shape that the total then keeps
    return _for_each(items, lambda total, item: total + item, start)


def _rest(source: iteration.Items) -> Mapped:
    """Return the items after the first, and leave an iterator over all at its end."""
    iteration.pass_over(source)
    return Mapped(iteration.Range(1, source.length, 1), source.item)


def _extreme(function: Any) -> Any:
    choose, empty = expressions.BUILTINS[function], ""
    try:
        function(())
    except ValueError as error:
        empty = value_checks.raising(error, "")

    def of(*args: Any, **options: Any) -> Any:
        items = args[0] if len(args) == 1 and not options else None
        source = iteration.source(list_(items) if type(items) is Mapped and items.leaves_out else items)
        if source is None or (isinstance(source.length, int) and not source.length):
            return choose(*args, **options)
        if not isinstance(source.length, int):
            value_checks.demand(asarray(source.length > 0).tensor, empty)
        return _for_each(_rest(source), choose, source.item(0))

    return of


def any_(items: Iterable[Any], /) -> Any:
    """``any``."""
    if not _is_looped(items):
        return any(items)
    return _for_each(items, lambda _, item: expressions.truth(item), False, lambda found: found)


def all_(items: Iterable[Any], /) -> Any:
    """``all``."""
    if not _is_looped(items):
        return all(items)
    return _for_each(items, lambda _, item: expressions.truth(item), True, expressions.not_)


def list_(*args: Any) -> Any:
    """``list``."""
    if len(args) == 1 and type(args[0]) is Collected:
        return args[0][:]
    return _for_each(args[0], appended, []) if len(args) == 1 and _is_new(args[0]) else list(*args)


def _is_new(items: Any) -> bool:
    return type(items) is Mapped and items.rest is None and isinstance(items.length, int)


def tuple_(*args: Any) -> Any:
    """``tuple``."""
    return tuple(list_(*args))


def _joined(whole: ndarray, axis: int) -> ndarray:
    """Concatenate the rows of an array along an axis of theirs."""
    moved = moveaxis(whole, 0, axis)
    shape = moved.shape
    return moved.reshape((*shape[:axis], shape[axis] * shape[axis + 1], *shape[axis + 2 :]))


def _vertical(whole: ndarray) -> ndarray:
    return _joined(whole, 0) if whole.ndim > 2 else whole.reshape((len(whole), -1))


_JOINING: dict[str, Callable[..., ndarray]] = {
    "stack": lambda whole, axis=0: moveaxis(whole, 0, axis),
    "concatenate": lambda whole, axis=0: _joined(whole, axis + (whole.ndim - 1) * (axis < 0)),
    "vstack": _vertical,
    "hstack": lambda whole: _joined(whole, 1) if whole.ndim > 2 else whole.reshape(-1),
    "column_stack": lambda whole: _joined(whole, 1) if whole.ndim > 2 else whole.reshape((len(whole), -1)).T,
}
"""Function that joins the arrays in a list -> the same of an array that has them as rows."""


def _inside(value: Any) -> Any:
    return value if type(value) in (list, tuple) else ()


def _whole(value: Any) -> Any:
    if type(value) in (list, tuple):
        return type(value)(map(_whole, value))
    return _array(value) if type(value) is Collected else value


def _array(items: Collected) -> Any:
    """Return the items as an array, or as a slice of one whose length is traced."""
    if not items.is_counted or not isinstance(items.tree, ndarray):
        return items.whole()
    return windows.item(items.filled(), slice(None, items.length)).copy()


def taking(function: Any) -> Any:
    """A function of tnp that takes a list which a loop of the graph has built, as an array."""

    def call(*args: Any, **options: Any) -> Any:
        is_plain = function.__name__ in ("array", "asarray") and len(args) == 1 and not options
        if is_plain and type(args[0]) is windows.Window:
            return args[0].copy() if function.__name__ == "array" else args[0]
        if not any(type(each) is Collected for part in args for each in (part, *_inside(part))):
            return function(*args, **options)
        if type(args[0]) is not Collected or len(args) > 2:
            return function(*map(_whole, args), **options)
        whole = _array(args[0])
        if type(whole) is windows.Window:
            return whole if is_plain else function(whole, *args[1:], **options)
        join = _JOINING.get(function.__name__)
        if join is None or whole.ndim < 2 or not options.keys() <= {"axis"}:
            return function(whole, *args[1:], **options)
        axis = [*args[1:], *options.values()]
        if any(type(each) is not int or not -whole.ndim < each < whole.ndim - 1 for each in axis):
            return function(whole, *args[1:], **options)
        return join(whole, *axis).copy()

    return call


def matched(value: Any) -> Any:
    """Return the subject of a `match` statement, with lists of Python's in place of those that loops have built."""
    if type(value) is Growing:
        return list(value)  # raises
    if type(value) is tuple:
        return tuple(map(matched, value))
    return value.own() if type(value) is Collected else value


def len_(value: Any) -> Any:
    """``len``, of slices with traced bounds, too."""
    return value.shape[0] if type(value) is windows.Window and value.ndim else expressions.len_(value)


def isinstance_(value: Any, kinds: Any) -> bool:
    """``isinstance``, for which such a list is one of Python's."""
    return isinstance([] if type(value) in (Growing, Collected) else value, kinds)


def type_(*args: Any) -> Any:
    """``type``, for which such a list is one of Python's."""
    return list if len(args) == 1 and type(args[0]) in (Growing, Collected) else type(*args)


BUILTINS: dict[Any, Any] = {
    sum: sum_, any: any_, all: all_, list: list_, tuple: tuple_, max: _extreme(max), min: _extreme(min),
    isinstance: isinstance_, len: len_, type: type_,
}  # fmt: skip
"""Python's functions of sequences -> their replacements in converted functions."""
_TAKERS = frozenset(BUILTINS) - {isinstance, len, type}
