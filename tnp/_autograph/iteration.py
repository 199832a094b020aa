"""What loops go through: ranges and arrays, with numbers of steps that may be traced.

Layer: owns the items of a loop by their number, which a loop of the graph counts. Every other iterable is Python's.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tnp._array.numbers import number_of
from tnp._autograph.values import traced
from tnp._core.base import ndarray
from tnp._ufunc.table import maximum


class Items:
    """Items that have numbers.

    Attributes
    ----------
    length : int or scalar array
    """

    length: Any

    def item(self, number: Any) -> Any:
        """The item of a number, which may be traced."""
        raise NotImplementedError

    def __iter__(self) -> Iterator[Any]:
        return map(self.item, range(self.length.__index__()))


class Range(Items):
    """A range whose bounds may be traced."""

    def __init__(self, start: Any, stop: Any, step: Any) -> None:
        self.start, self.step = start, step
        if isinstance(start, int) and isinstance(stop, int):
            self.length = len(range(start, stop, step))
        else:
            rounded = stop - start + (step - (1 if step > 0 else -1))
            self.length = maximum(rounded // step, 0)

    def item(self, number: Any) -> Any:
        """The integer of a number."""
        number = number if isinstance(self.step, int) and self.step == 1 else number * self.step
        return number if isinstance(self.start, int) and self.start == 0 else number + self.start


class Rows(Items):
    """The slices of an array along its first axis."""

    def __init__(self, array: Any) -> None:
        self.array = array
        self.length = array.shape[0]

    def item(self, number: Any) -> Any:
        """The slice of a number."""
        return self.array[number]


class Once(Items):
    """Items that Python gives by an iterator, which ends.

    Attributes
    ----------
    rest : iterator or None
        What is left, once something was taken.
    """

    rest: Iterator[Any] | None = None

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        if self.rest is None:
            self.rest = super().__iter__()
        return next(self.rest)


class Numbered(Once):
    """What ``enumerate`` gives."""

    def __init__(self, items: Items, start: Any) -> None:
        self.items, self.start, self.length = items, start, items.length

    def item(self, number: Any) -> Any:
        """The number and the item."""
        return number if isinstance(self.start, int) and self.start == 0 else number + self.start, self.items.item(
            number
        )


class Together(Once):
    """What ``zip`` gives."""

    def __init__(self, items: list[Items]) -> None:
        self.items = items
        self.length = min([each.length for each in items])

    def item(self, number: Any) -> Any:
        """The items of a number."""
        return tuple([each.item(number) for each in self.items])


class Backwards(Once):
    """What ``reversed`` gives."""

    def __init__(self, items: Items) -> None:
        self.items, self.length = items, items.length

    def item(self, number: Any) -> Any:
        """The item of a number, from the end."""
        return self.items.item(self.length - 1 - number)


class Unrolled:
    """An iterable that a loop goes through in Python, however long it is."""

    def __init__(self, items: Any) -> None:
        self.items = items

    def __iter__(self) -> Iterator[Any]:
        return iter(self.items)


def source(items: Any) -> Items | None:
    """The items of what a loop can count; None for other iterables, and for items of which some were taken."""
    if isinstance(items, Items):
        return None if isinstance(items, Once) and items.rest is not None else items
    if isinstance(items, range):
        return Range(items.start, items.stop, items.step)
    if isinstance(items, ndarray) and items.ndim and traced(items) is not None:
        return Rows(items)
    return None


def range_(*args: Any) -> Any:
    """``range``, of bounds that may be traced."""
    if not any(traced(each) is not None for each in args):
        return range(*args)
    start, stop, step = (0, args[0], 1) if len(args) == 1 else (*args, 1)[:3]
    if traced(step) is not None:
        raise TypeError("the step of a range is a part of the trace: only its bounds can be traced")
    for each in (start, stop):
        if isinstance(each, ndarray) and each.dtype.kind not in "iu":
            raise TypeError("'numpy.float64' object cannot be interpreted as an integer")
    bounds = [
        number_of(each.astype("int64").tensor) if isinstance(each, ndarray) else each.__index__()
        for each in (start, stop)
    ]
    return Range(bounds[0], bounds[1], step.__index__())


def enumerate_(iterable: Any, start: Any = 0) -> Any:
    """``enumerate``."""
    found = source(iterable)
    return enumerate(iterable, start) if found is None else Numbered(found, start)


def zip_(*iterables: Any, strict: bool = False) -> Any:
    """``zip``."""
    found = [source(each) for each in iterables]
    if not found or None in found or not all(isinstance(each.length, int) for each in found):  # type: ignore[union-attr]
        return zip(*iterables, strict=strict)
    if strict and len({each.length for each in found}) > 1:  # type: ignore[union-attr]
        return zip(*iterables, strict=strict)
    return Together(found)  # type: ignore[arg-type]


def reversed_(items: Any) -> Any:
    """``reversed``."""
    if isinstance(items, range):
        return items[::-1]
    found = source(items)
    return reversed(items) if found is None else Backwards(found)
