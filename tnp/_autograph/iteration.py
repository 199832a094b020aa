"""What a loop in the graph can iterate over: ranges and arrays, whose length may be traced.

Layer: owns reading a loop's items by position, which the loop in the graph counts. Every other iterable is Python's.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, TypeVar

import numpy as np

from backend_torch.kernels import value_checks
from tnp._array.numbers import largest_of, line_of, number_of
from tnp._autograph.lists import Collected
from tnp._autograph.values import traced
from tnp._core.base import flatiter, ndarray, number
from tnp._ufunc.table import maximum, sign

Item = TypeVar("Item")


class Items:
    """A sequence that is read by position.

    Attributes
    ----------
    length : int or scalar array
    most : int or None
        How many items there are at most, if that is known.
    leaves_out : bool
        Whether a condition leaves out some of the items at these positions.
    """

    length: Any
    most: int | None = None
    leaves_out = False

    def item(self, number: Any) -> Any:
        """Return the item at a position, which may be traced."""
        raise NotImplementedError  # each kind of items has its own

    def __iter__(self) -> Iterator[Any]:
        return map(self.item, range(self.length.__index__()))


class Range(Items):
    """A range whose bounds may be traced."""

    def __init__(self, start: Any, stop: Any, step: Any) -> None:
        self.start, self.step = start, step
        if all(isinstance(each, int) for each in (start, stop, step)):
            self.length = len(range(start, stop, step))
        else:
            self.length = maximum((stop - start + (step - sign(step))) // step, 0)
            first, last = _ends(start), _ends(stop)
            if first is not None and last is not None:
                self.most = max(*first, *last) - min(*first, *last)

    def item(self, number: Any) -> Any:
        """Return the integer at a position."""
        number = number if isinstance(self.step, int) and self.step == 1 else number * self.step
        return number if isinstance(self.start, int) and self.start == 0 else number + self.start


def _ends(value: Any) -> tuple[int, int] | None:
    """Return the least and the largest value of an int, if the counters of loops tell them."""
    if type(value) is int:
        return value, value
    line, largest = line_of(value), largest_of(value)
    return line.ends if line is not None else None if largest is None else (-largest, largest)


class Rows(Items):
    """The slices of an array along its first axis, or the items of a list that has such."""

    def __init__(self, array: Any) -> None:
        self.array = array
        self.length = array.shape[0] if isinstance(array, ndarray) else array.length

    def item(self, number: Any) -> Any:
        """Return the slice at a position."""
        return self.array[number]


class Once(Items):
    """A sequence for which Python has an iterator: it can be gone through once.

    Attributes
    ----------
    rest : iterator or None
        The items that are left, after the first was taken.
    """

    rest: Iterator[Any] | None = None

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        if self.rest is None:
            self.rest = super().__iter__()
        return next(self.rest)


class Enumerated(Once):
    """The result of ``enumerate``."""

    def __init__(self, items: Items, start: Any) -> None:
        self.items, self.start, self.length, self.most = items, start, items.length, items.most

    def item(self, number: Any) -> Any:
        """Return the position, from ``start``, and the item there."""
        return number if isinstance(self.start, int) and self.start == 0 else number + self.start, self.items.item(
            number
        )


class Zipped(Once):
    """The result of ``zip``."""

    def __init__(self, items: list[Items]) -> None:
        self.items = items
        self.length = min([each.length for each in items])

    def item(self, number: Any) -> Any:
        """Return the tuple of the items at a position."""
        return tuple([each.item(number) for each in self.items])


class Reversed(Once):
    """The result of ``reversed``."""

    def __init__(self, items: Items) -> None:
        self.items, self.length, self.most = items, items.length, items.most

    def item(self, number: Any) -> Any:
        """Return the item at a position counted from the end."""
        return self.items.item(self.length - 1 - number)


def unroll(items: Iterable[Item]) -> Iterator[Item]:
    """Return an iterator over the items, over which a compiled function's ``for`` loop is unrolled, however long it is.

    Parameters
    ----------
    items : iterable
        A range, an array or any other. Its length can't be traced.

    Returns
    -------
    iterator

    Raises
    ------
    TracedValueError
        The length is traced.

    Notes
    -----
    Each step is traced and compiled by itself: its index is a Python number, and its arrays may have other shapes than
    the last step's. Outside of compiled functions the loop is Python's.

    Examples
    --------
    >>> import tnp as np
    >>> @np.compile
    ... def polynomial(x):
    ...     total = x * 0
    ...     for power in np.unroll(range(3)):
    ...         total = total + x**power
    ...     return total
    >>> polynomial(np.asarray(2.0))
    np.float64(7.0)
    """
    return (each for each in items)


def source(items: Any) -> Items | None:
    """Return the items if a loop can read them by position; None for other iterables and for used iterators."""
    if isinstance(items, Items):
        return None if items.leaves_out or (isinstance(items, Once) and items.rest is not None) else items
    if isinstance(items, range):
        return Range(items.start, items.stop, items.step)
    if type(items) is Collected and (rows := items.rows()) is not None:
        return Rows(rows)
    if isinstance(items, ndarray) and items.ndim and traced(items) is not None:
        return Rows(items)
    if isinstance(items, flatiter) and not items.index and traced(items.base) is not None:
        return Rows(items.base.ravel()) if items.base.flags.c_contiguous else None
    return None


def pass_over(items: Any) -> None:
    """Leave an iterator at its end, after a loop of the graph has gone through it."""
    if isinstance(items, Once):
        items.rest = iter(())
    elif isinstance(items, flatiter):
        items._index = len(items)


def _whole(value: Any) -> Any:
    if type(value) is number and value.dtype == np.int64:
        return value  # with what is known of it
    return number_of(value.astype(np.int64).tensor) if isinstance(value, ndarray) else value.__index__()


def range_(*args: Any) -> Any:
    """``range``, with bounds that may be traced."""
    if not any(traced(each) is not None for each in args):
        return range(*args)
    start, stop, step = (0, args[0], 1) if len(args) == 1 else (*args, 1)[:3]
    for each in (start, stop, step):
        if isinstance(each, ndarray) and each.dtype.kind not in "iu":
            raise TypeError("'numpy.float64' object cannot be interpreted as an integer")
    bounds = list(map(_whole, (start, stop, step)))
    if isinstance(bounds[2], ndarray):
        value_checks.demand((bounds[2] != 0).tensor, value_checks.NO_RANGE)
    return Range(*bounds)


def enumerate_(iterable: Any, start: Any = 0) -> Any:
    """``enumerate``."""
    found = source(iterable)
    return enumerate(iterable, start) if found is None else Enumerated(found, start)


def zip_(*iterables: Any, strict: bool = False) -> Any:
    """``zip``."""
    found = [source(each) for each in iterables]
    if not found or None in found or not all(isinstance(each.length, int) for each in found):  # type: ignore[union-attr]
        return zip(*iterables, strict=strict)
    if strict and len({each.length for each in found}) > 1:  # type: ignore[union-attr]
        return zip(*iterables, strict=strict)
    return Zipped(found)  # type: ignore[arg-type]


def reversed_(items: Any) -> Any:
    """``reversed``."""
    if isinstance(items, range):
        return items[::-1]
    found = source(items)
    return reversed(items) if found is None else Reversed(found)
