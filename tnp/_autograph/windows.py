"""Slices with bounds that are known only when the graph runs, as in `A[i, :i] @ x[:i]`.

Layer: owns what such a slice is: the whole axis, moved so that the slice comes first, and a length. Elementwise
operations compute the whole axis; reductions, products and writes take only the elements within the length.
"""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from backend_torch.kernels import open_slices, value_checks
from backend_torch.tensors import trace_state
from backend_torch.torch_private import traces
from tnp._array.numbers import line_of, number_of
from tnp._autograph.values import traced
from tnp._core.base import ndarray, wrap
from tnp._core.convert import asarray, value_of
from tnp._creation.ranges import arange
from tnp._indexing.selection import where
from tnp._math.mathematics import clip
from tnp._math.products import matmul
from tnp._transforms import pytree
from tnp._transforms.registered_pytrees import register_pytree_node
from tnp._ufunc import table

_UNITS: dict[str, Any] = {"sum": 0, "prod": 1, "any": False, "all": True}
_EXTREMES = ("max", "min", "argmax", "argmin")


class _Range(NamedTuple):
    """The places of a slice on an axis of ``size`` elements; a length that is an int is that of each step of a loop."""

    start: Any
    step: Any
    length: Any
    size: int

    @property
    def kind(self) -> int:
        """The step if it is 1 or -1, or what `open_slices` calls the slice."""
        if not isinstance(self.step, int) or abs(self.step) != 1:
            return open_slices.ANY
        return open_slices.FIRST if self.step == 1 and isinstance(self.start, int) and self.start == 0 else self.step

    def places(self, axis: int) -> open_slices.Places:
        """The same as tensors."""
        start, step, length = [asarray(each, dtype=np.int64).tensor for each in (self.start, self.step, self.length)]
        return open_slices.Places(start, step, length, axis, self.kind)


def _reduction(name: str) -> Any:
    def method(self: Window, axis: Any = None, dtype: Any = None, out: Any = None, **options: Any) -> Any:
        if dtype is not None or out is not None or options.get("keepdims") or "initial" in options:
            raise unsupported(f"{name} with more than an axis")
        return self._reduced(name, axis)

    return method


def _binary(ufunc: Any, swapped: bool) -> Any:
    return lambda self, other: self.__array_ufunc__(ufunc, "__call__", *((other, self) if swapped else (self, other)))


def _in_place(ufunc: Any) -> Any:
    def written(self: Window, other: Any) -> Window:
        result = self.__array_ufunc__(ufunc, "__call__", self, other)
        if self.source is not None:
            array, key = self.source
            _write_result(array, key, ufunc, result)
            return self
        if self.scope is not trace_state.state.scopes[-1]:
            raise unsupported("a write in place, in a branch or a loop, to what was computed before it")
        if len(result.lengths) != self.ndim or result.values.shape != self.values.shape:
            raise unsupported("a write in place of another shape")
        _check_kind(result.dtype, self.dtype, ufunc)
        values = result.values.astype(self.dtype)
        self._values = lambda: values
        return self

    return written


def _operators(ufunc: Any) -> tuple[Any, Any, Any]:
    return _binary(ufunc, False), _binary(ufunc, True), _in_place(ufunc)


def _unary(ufunc: Any) -> Any:
    return lambda self: self.__array_ufunc__(ufunc, "__call__", self)


class Window:
    """A slice whose length is traced, or a value computed from such slices.

    Parameters
    ----------
    values : callable
        The array, read when it is asked for: a slice shows what is written to its array later.
    lengths : sequence
        For each axis the number of elements that count, or None for all of them.
    source : tuple, optional
        The array and the key that it is a slice of.
    """

    __array_priority__ = 1000.0

    sum, prod, any, all = _reduction("sum"), _reduction("prod"), _reduction("any"), _reduction("all")
    max, min, argmax, argmin = _reduction("max"), _reduction("min"), _reduction("argmax"), _reduction("argmin")
    __add__, __radd__, __iadd__ = _operators(table.add)
    __sub__, __rsub__, __isub__ = _operators(table.subtract)
    __mul__, __rmul__, __imul__ = _operators(table.multiply)
    __truediv__, __rtruediv__, __itruediv__ = _operators(table.divide)
    __floordiv__, __rfloordiv__, __ifloordiv__ = _operators(table.floor_divide)
    __mod__, __rmod__, __imod__ = _operators(table.remainder)
    __pow__, __rpow__, __ipow__ = _operators(table.power)
    __matmul__, __rmatmul__, __imatmul__ = _operators(matmul)
    __lshift__, __rlshift__, __ilshift__ = _operators(table.left_shift)
    __rshift__, __rrshift__, __irshift__ = _operators(table.right_shift)
    __and__, __rand__, __iand__ = _operators(table.bitwise_and)
    __or__, __ror__, __ior__ = _operators(table.bitwise_or)
    __xor__, __rxor__, __ixor__ = _operators(table.bitwise_xor)
    __lt__, __le__ = _binary(table.less, False), _binary(table.less_equal, False)
    __gt__, __ge__ = _binary(table.greater, False), _binary(table.greater_equal, False)
    __eq__, __ne__ = _binary(table.equal, False), _binary(table.not_equal, False)
    __neg__, __abs__, __invert__ = _unary(table.negative), _unary(table.absolute), _unary(table.invert)

    def __init__(
        self,
        values: Callable[[], ndarray],
        lengths: Sequence[Any],
        source: Any = None,
        error: Exception | None = None,
        part: tuple[Callable[[], ndarray], Sequence[_Range | None]] | None = None,
    ) -> None:
        self._values = values
        self.lengths = tuple(lengths)
        self.source = source
        self.error = error  # where it leaves the graph
        self.scope = trace_state.state.scopes[-1]  # the trace, branch or loop in which it is made
        self.part = part  # the array that it is a part of, and the places of its slices there

    @property
    def values(self) -> ndarray:
        """The elements, and after them others that do not count."""
        return self._values()

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self.lengths)

    @property
    def shape(self) -> tuple[Any, ...]:
        """The lengths of the axes, of which some are traced."""
        sizes = self.values.shape
        return tuple([size if length is None else length for size, length in zip(sizes, self.lengths, strict=True)])

    @property
    def dtype(self) -> Any:
        """The dtype."""
        return self.values.dtype

    @property
    def T(self) -> Window:
        """The axes in the opposite order."""
        part = None
        if self.part is not None:
            whole, ranges = self.part
            part = (lambda: whole().T), ranges[::-1]
        return Window(lambda: self.values.T, self.lengths[::-1], part=part)

    def copy(self) -> Window:
        """The elements as they are now."""
        return kept(self.values.copy(), self.lengths)

    def astype(self, dtype: Any) -> Window:
        """The elements in another dtype."""
        return kept(self.values.astype(dtype), self.lengths)

    @property
    def size(self) -> Any:
        """The number of elements."""
        return self.count()

    def count(self, axis: Any = None) -> Any:
        """The number of elements along axes."""
        return math.prod([self.shape[each] for each in self._axes(axis)])

    def mean(self, axis: Any = None) -> Any:
        """The mean of the elements."""
        return self.sum(axis) / self.count(axis)

    def dot(self, other: Any) -> Any:
        """The product with another slice."""
        return _product(self, other)

    def _axes(self, axis: Any) -> list[int]:
        if axis is None:
            return list(range(self.ndim))
        return [each % self.ndim for each in (axis if isinstance(axis, tuple) else (axis,))]

    def _reduced(self, name: str, axis: Any = None) -> Any:
        values, axes = self.values, self._axes(axis)
        if name in _UNITS:
            fill = np.dtype(values.dtype).type(_UNITS[name])
        else:
            if name.startswith("arg") and self.ndim > 1:
                raise unsupported(f"{name} of several axes")
            kind = np.dtype(values.dtype)
            limits = (False, True) if kind.kind == "b" else (-np.inf, np.inf) if kind.kind == "f" else _limits(kind)
            fill = kind.type(limits[0 if name.endswith("max") else 1])
            for each in axes:
                if self.lengths[each] is not None:
                    demand(self.lengths[each] > 0, value_checks.OPEN_EMPTY)
        values = masked(values, [n if a in axes else None for a, n in enumerate(self.lengths)], fill)
        result = getattr(values, name)(axis=axis)
        return kept(result, [length for a, length in enumerate(self.lengths) if a not in axes])

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, out: Any = None, **options: Any) -> Any:
        if method != "__call__" or options:
            raise unsupported(f"{ufunc.__name__}.{method}" if method != "__call__" else f"options of {ufunc.__name__}")
        if out is not None:
            (array,) = out
            _write_result(array, ..., ufunc, self.__array_ufunc__(ufunc, method, *inputs))
            return array
        if ufunc.__name__ == "matmul":
            return _product(*inputs)
        arrays, lengths = _aligned(inputs)
        result = ufunc(*arrays)
        return tuple([kept(r, lengths) for r in result]) if isinstance(result, tuple) else kept(result, lengths)

    def __getitem__(self, key: Any) -> Any:
        items = key if type(key) is tuple else (key,)
        if all(each is None or (type(each) is slice and each == slice(None)) for each in items):
            left = iter(self.lengths)
            lengths = [None if each is None else next(left) for each in items]
            return Window(lambda: self.values[key], [*lengths, *left])
        (item, *others) = items
        is_part = type(item) is slice or (_is_integer(item) and type(item) is not bool)
        if others or self.lengths[0] is None or not is_part:
            raise unsupported("an index")
        values, length = self._part(item)
        return kept(values, [*[length] * isinstance(item, slice), *self.lengths[1:]])

    def _part(self, item: Any) -> tuple[ndarray, Any]:
        """The elements that an integer or a slice selects along the first axis, and their number."""
        values, length = self.values, self.lengths[0]
        if type(item) is not slice:
            place = where(asarray(item) < 0, item + length, item)
            demand((place >= 0) & (place < length), value_checks.OUTSIDE)
            return values[place], None
        start, stop = 0 if item.start is None else item.start, item.stop
        if item == slice(None, None, -1):
            return values[clip(length - 1 - arange(len(values), device=values.device), 0, None)], length
        if item.step not in (None, 1) or not all(type(each) is int for each in (start, stop or 0)) or start < 0:
            raise unsupported("an index of other bounds or steps")
        end = length if stop is None else clip(length, None, stop) if stop >= 0 else length + stop
        return values[start : stop if stop is None or stop >= 0 else None], whole_number(clip(end - start, 0, None))

    def __setitem__(self, key: Any, value: Any) -> None:
        raise unsupported("a write to a part")

    def __iter__(self) -> Any:
        raise unsupported("a loop over the elements")

    def __len__(self) -> int:
        raise unsupported("len()")

    def __index__(self) -> int:
        raise unsupported("a write at the places that a slice holds")  # reads were converted

    def __bool__(self) -> bool:
        raise unsupported("its truth")

    def __hash__(self) -> int:
        raise self.error or unsupported("a value of the program's functions")  # where tnp wants arrays, as of a batch

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        if name in _READING and name != "sort" and not _is_of_open_length(self):  # x.sort() would write
            return getattr(self.values, name)
        if name in ("clip", "round"):
            return functools.partial(_by_element, lambda x, *args, **options: getattr(x, name)(*args, **options), self)
        if name in COMPOSED and name != "sort":
            return functools.partial(COMPOSED[name], self)
        raise unsupported(name)


_FUNCTIONS: dict[str, Callable[..., Any]] = {
    **{
        name: lambda x, *args, name=name, **kwargs: getattr(x, name)(*args, **kwargs)
        for name in (*_UNITS, *_EXTREMES, "mean", "copy", "astype")
    },
    "dot": lambda one, other: _product(one, other),
    "inner": lambda one, other: _product(one, other if np.ndim(other) == 1 else other.T),
    "outer": lambda one, other: one[:, None] * other,
}


_READING = frozenset(
    {"std", "var", "median", "percentile", "quantile", "ptp", "cumsum", "cumprod", "diff", "sort", "argsort", "clip"}
    | {"where", "concatenate", "stack", "vstack", "hstack", "convolve", "correlate", "norm", "count_nonzero", "interp"}
    | {"round", "average", "nansum", "nanmean", "nanmax", "nanmin", "cross", "allclose", "array_equal", "trapezoid"}
)
"""Functions and methods, besides the above, that give new memory: they take slices of the same length in each step."""


_BY_ELEMENT = frozenset({"angle", "around", "clip", "imag", "isclose", "nan_to_num", "real", "round", "sinc", "where"})
COMPOSED: dict[str, Callable[..., Any]] = {}
"""Function -> the same of slices of open length: those of `window_functions`."""


def _by_element(function: Any, *args: Any, **options: Any) -> Any:
    arrays, lengths = _aligned(args)
    return kept(function(*arrays, **options), lengths)


def _is_of_open_length(value: Any) -> bool:
    return type(value) is Window and any(each is not None for each in value.lengths)


def _read(value: Any) -> Any:
    if type(value) in (list, tuple):
        return type(value)(map(_read, value))
    return value.values if type(value) is Window else value


def taking(function: Any) -> Any:
    """A function of tnp that takes slices with traced bounds too."""

    def call(*args: Any, **kwargs: Any) -> Any:
        given = [part for each in args for part in (each if type(each) in (list, tuple) else (each,))]
        if not any(type(each) is Window for each in given):
            if function.__name__ == "arange" and any(traced(each) is not None for each in args):
                return _counted(*args, **kwargs)
            return function(*args, **kwargs)
        found = _FUNCTIONS.get(function.__name__)
        is_read = function.__name__ in _READING and not any(map(_is_of_open_length, given))
        if any(type(each) is Window for each in args[2:]):  # those may be outputs
            is_read = is_read and function.__name__ in ("where", "interp")
        if found is None and is_read:
            return function(*[_read(each) for each in args], **kwargs)
        if function.__name__ in _BY_ELEMENT:
            found = functools.partial(_by_element, function)
        if found is None and (found := COMPOSED.get(function.__name__)) is None:
            raise unsupported(function.__name__)
        return found(*args, **kwargs)

    return call


def _counted(start: Any, stop: Any = None, step: Any = 1, dtype: Any = None, **options: Any) -> Any:
    """``arange`` up to a number that a graph computes, if the counters of loops tell how large that is at most."""
    start, stop = (0, start) if stop is None else (start, stop)
    least, most = _ends(start), _ends(stop)
    if least is None or most is None or type(step) is not int or step != 1:
        return arange(start, stop, step, dtype, **options)  # raises
    values = (arange(max(most[1] - least[0], 0), **options) + start).astype(np.int64 if dtype is None else dtype)
    return kept(values, [whole_number(clip(asarray(stop - start), 0, None))])


def _ends(value: Any) -> tuple[int, int] | None:
    """Return the least and the largest value of an int, if the counters of loops tell them."""
    if type(value) is int:
        return value, value
    line = line_of(value)
    return None if line is None else (line.ends[0], line.ends[1])


def item(array: Any, key: Any) -> Any:
    """``array[key]``, of a slice with traced bounds too, or at the places that such a slice holds."""
    if _is_chosen(array, key):
        return _chosen(array, key if type(key) is tuple else (key,))
    if not _is_open(array, key):
        return array[key]
    wide, ranges = _parsed(array, key)
    lengths = [None if each is None or isinstance(each.length, int) else each.length for each in ranges]
    error = trace_state.value_error("__getitem__")
    error.line = trace_state.user_line()  # where the graph is cut, if a result is such a slice
    has_fixed = any(each is not None and isinstance(each.length, int) for each in ranges)
    part = None if has_fixed else ((lambda: array[wide]), ranges)
    return Window(lambda: _moved(array[wide], ranges), lengths, (array, key), error, part)


class Returned(NamedTuple):
    """A result of a compiled function that is computed from slices whose length is traced."""

    values: ndarray
    lengths: tuple[Any, ...]


def _returned(values: ndarray, lengths: tuple[Any, ...]) -> Any:
    if trace_state.is_tracing():
        return Returned(values, lengths)
    return values[tuple([slice(None if each is None else int(each)) for each in lengths])].copy()


register_pytree_node(Returned, lambda x: ((x.values, x.lengths), None), lambda _, parts: _returned(*parts))


def returned(result: Any) -> Any:
    """Return a compiled function's result, which cuts what is computed from slices of traced lengths when it runs.

    Raises
    ------
    OfTracing, NotImplementedError
        It holds such a slice itself, which shares memory.
    """
    found = []

    def leaf(value: Any) -> Any:
        if type(value) is not Window:
            return value
        found.append(value)
        if value.error is not None or value.source is not None or value.part is not None:
            raise value.error or unsupported("a result of the function")
        return Returned(value.values, value.lengths)

    made = pytree.mapped(leaf, result, lambda value: type(value) is Window or pytree.is_array(value))
    return made if found else result


def set_items(value: Any, *places: tuple[Any, Any]) -> Any:
    """``array[key] = value`` for each place."""
    for array, key in places:
        if _is_open(array, key):
            write(array, key, value)
        else:
            array[key] = value
    return value


def set_each(values: Any, *places: tuple[Any, Any]) -> None:
    """``array[key], other[key] = values``."""
    given = list(values)
    if len(given) < len(places):
        raise ValueError(f"not enough values to unpack (expected {len(places)}, got {len(given)})")
    if len(given) > len(places):
        raise ValueError(f"too many values to unpack (expected {len(places)})")
    for value, place in zip(given, places, strict=True):
        set_items(value, place)


def update(array: Any, key: Any, value: Callable[[], Any], name: str) -> None:
    """``array[key] += value()`` and the like, by the operator's name."""
    held = item(array, key)
    result = getattr(operator, name)(held, value())
    if type(held) is not Window:
        array[key] = result


def _write_result(array: ndarray, key: Any, ufunc: Any, result: Any) -> None:
    """Write the result of a ufunc in place."""
    _check_kind(result.dtype, array.dtype, ufunc)
    write(array, key, result)


def _check_kind(given: np.dtype, target: np.dtype, ufunc: Any) -> None:
    if not np.can_cast(given, target, "same_kind"):
        getattr(np, ufunc.__name__).resolve_dtypes((target, given, target))  # raises NumPy's error


def write(array: ndarray, key: Any, value: Any) -> None:
    """Write to a slice with traced bounds."""
    wide, ranges = _parsed(array, key)
    now = array[wide]
    given = value.values.astype(array.dtype) if type(value) is Window else wrap(value_of(value, array))
    lengths = value.lengths if type(value) is Window else [None] * given.ndim
    if given.ndim > now.ndim:
        raise unsupported(f"a write of {given.ndim} axes to {now.ndim}")
    places = []
    for axis, at in enumerate(ranges):
        own = axis - now.ndim + given.ndim  # of the value
        size = given.shape[own] if own >= 0 else 1
        length = lengths[own] if own >= 0 else None
        count = now.shape[axis] if at is None else at.length
        if length is not None and (at is None or not _is_same(length, count)):
            demand((length == count) | (length == 1), value_checks.OPEN_LENGTHS)
            given = _stretched(given, own, length, now.shape[axis])
        elif length is None and size != 1 and at is not None:
            demand(count == size, value_checks.OPEN_LENGTHS)
        if at is None:
            continue
        places.append(at.places(axis))
    array[wide] = wrap(open_slices.written(now.tensor, given.tensor, places)) if places else given


# ---------------------------------------------------------------------------------------------------------------------


def _is_open(array: Any, key: Any) -> bool:
    """Whether a key of an array holds a slice with a traced bound."""
    if not isinstance(array, ndarray):
        return False
    items = key if type(key) is tuple else (key,)
    return any(type(each) is slice and not _is_known(each) for each in items)


def _is_chosen(array: Any, key: Any) -> bool:
    """Whether a key of an array holds places that are in a slice with traced bounds."""
    return isinstance(array, ndarray) and any(type(each) is Window for each in (key if type(key) is tuple else (key,)))


def _chosen(array: ndarray, key: tuple[Any, ...]) -> Any:
    """The elements at the places that slices with traced bounds hold."""
    places = [each for each in key if type(each) is Window]
    if any(each.dtype.kind not in "iu" for each in places):
        raise unsupported("a mask, or another array that holds no integers, as an index")
    before = next(n for n, each in enumerate(key) if not _is_whole(each))
    rest = key[before:]
    count = len(rest) if not any(map(_is_whole, rest)) else next(n for n, each in enumerate(rest) if _is_whole(each))
    if not all(type(each) is Window or _is_integer(each) for each in rest[:count]) or not all(
        map(_is_whole, rest[count:])
    ):
        raise unsupported("an index of integers beside a slice that is not whole, a mask or an array")
    if 0 in array.shape[before : before + count]:
        raise unsupported("an index of an empty array")
    arrays, lengths = _aligned(places)
    inside = iter([masked(each, lengths[len(lengths) - each.ndim :], each.dtype.type(0)) for each in arrays])
    result = array[tuple([next(inside) if type(each) is Window else each for each in key])]
    left = array.ndim - before - count
    return kept(result, [*[None] * before, *lengths, *[None] * left])


def _is_whole(item: Any) -> bool:
    return type(item) is slice and _is_known(item) and item == slice(None)


def _is_integer(item: Any) -> bool:
    return isinstance(item, int) or (isinstance(item, ndarray) and item.ndim == 0 and item.dtype.kind in "iu")


def _is_known(item: slice) -> bool:
    return all(traced(each) is None for each in (item.start, item.stop, item.step))


def _parsed(array: ndarray, key: Any) -> tuple[tuple[Any, ...], list[_Range | None]]:
    """The key with whole axes for slices with traced bounds, and for each axis of the result the slice's places."""
    items = list(key) if type(key) is tuple else [key]
    used = sum([each is not None and each is not Ellipsis for each in items])
    whole = [slice(None)] * (array.ndim - used)
    if Ellipsis in [each for each in items if not isinstance(each, ndarray)]:
        at = next(place for place, each in enumerate(items) if each is Ellipsis)
        items[at : at + 1] = whole
    else:
        items += whole
    wide: list[Any] = []
    ranges: list[_Range | None] = []
    axis = 0
    for each in items:
        if each is None:
            wide.append(None)
            ranges.append(None)
            continue
        size = array.shape[axis]
        axis += 1
        if type(each) is slice and not _is_known(each):
            wide.append(slice(None))
            ranges.append(_range(each, size))
        elif type(each) is slice:
            wide.append(each)
            ranges.append(None)
        elif _is_integer(each):
            wide.append(each)
        else:
            raise unsupported("an index array or a mask beside it")
    return tuple(wide), ranges


def _fixed_length(item: slice, size: int) -> int | None:
    """The length of a slice of which a loop's counter decides both bounds, none of which leaves the axis."""
    start, stop = line_of(item.start), line_of(item.stop)
    if start is None or stop is None or not (item.step is None or (type(item.step) is int and item.step == 1)):
        return None
    length = stop.offset - start.offset
    if start.counter is not stop.counter or start.factor != stop.factor or length < 1:
        return None
    return length if start.ends[0] >= 0 and stop.ends[1] <= size else None


def _range(item: slice, size: int) -> _Range:
    fixed = _fixed_length(item, size)
    if fixed is not None:
        return _Range(whole_number(item.start), 1, fixed, size)
    step = 1 if item.step is None else item.step if traced(item.step) is not None else operator.index(item.step)
    rises: Any = step > 0
    if not isinstance(step, int):
        step = whole_number(step)
        demand(step != 0, value_checks.NO_STEP)
    elif not step:
        raise ValueError("slice step cannot be zero")

    def by_direction(rising: Any, falling: Any) -> Any:
        if isinstance(step, int):
            return rising if step > 0 else falling
        return whole_number(where(rises, rising, falling))

    least, most = by_direction(0, -1), by_direction(size, size - 1)

    def bound(value: Any, default: Any) -> Any:
        if value is None:
            return default
        if traced(value) is None:
            value = operator.index(value)
            value = value + size if value < 0 else value
            if isinstance(least, int):
                return min(max(value, least), most)
        else:
            value = whole_number(value)
            value = where(value < 0, value + size, value)
        return whole_number(clip(value, least, most))

    start = bound(item.start, by_direction(0, size - 1))
    stop = bound(item.stop, by_direction(size, -1))
    apart = by_direction(stop - start, start - stop)
    length = apart if isinstance(step, int) and abs(step) == 1 else (apart + (abs(step) - 1)) // abs(step)
    return _Range(start, step, whole_number(clip(asarray(length), 0, size)), size)


def _is_same(one: Any, other: Any) -> bool:
    """Whether two lengths are known to be equal."""
    first, second = getattr(one, "tensor", None), getattr(other, "tensor", None)
    return one is other or (first is not None and second is not None and traces.is_same(first, second))


def whole_number(value: Any) -> Any:
    if asarray(value).dtype.kind not in "iu":
        raise TypeError("slice indices must be integers or None or have an __index__ method")
    return number_of(asarray(value).astype(np.int64).tensor)


def _moved(values: ndarray, ranges: Sequence[_Range | None]) -> ndarray:
    for axis, each in enumerate(ranges):
        if each is not None and (each.kind != open_slices.FIRST or isinstance(each.length, int)):
            is_fixed = isinstance(each.length, int)
            places = arange(each.length if is_fixed else each.size, device=values.device) * each.step + each.start
            if not is_fixed:
                places = clip(places, 0, max(each.size - 1, 0))
            values = values[(slice(None),) * axis + (places,)]
    return values


def kept(values: Any, lengths: Sequence[Any]) -> Any:
    return Window(lambda: values, lengths) if any(each is not None for each in lengths) else values


def _cut(values: ndarray, axis: int, size: int) -> ndarray:
    return values if values.shape[axis] <= size else values[(slice(None),) * axis + (slice(size),)]


def _aligned(inputs: Sequence[Any]) -> tuple[list[Any], list[Any]]:
    """Operands of an elementwise operation with axes of one size, and the lengths of the result."""
    arrays = [each.values if type(each) is Window else each for each in inputs]
    lengths = [each.lengths if type(each) is Window else (None,) * np.ndim(each) for each in inputs]
    found: list[Any] = []
    for back in range(1, 1 + max(map(len, lengths))):
        here = [n for n, each in enumerate(lengths) if len(each) >= back]
        known: list[Any] = []
        for n in here:
            if lengths[n][-back] is not None and not any(_is_same(each, lengths[n][-back]) for each in known):
                known.append(lengths[n][-back])
        if not known:
            found.insert(0, None)
            continue
        sizes = {n: np.shape(arrays[n])[-back] for n in here}
        fixed = [sizes[n] for n in here if lengths[n][-back] is None and sizes[n] != 1]
        common, others = (fixed or known)[0], (known if fixed else known[1:])
        if not others:  # slices with the same bounds
            least = min(sizes[n] for n in here if lengths[n][-back] is not None)
            for n in here:
                if lengths[n][-back] is not None:
                    arrays[n] = _cut(asarray(arrays[n]), len(lengths[n]) - back, least)
            found.insert(0, common)
            continue
        for each in others if not fixed else ():
            common = where(common == 1, each, common)
        for n in here:
            if (length := lengths[n][-back]) is not None:
                demand((length == common) | (length == 1), value_checks.OPEN_LENGTHS)
                size = fixed[0] if fixed else max(sizes.values())
                arrays[n] = _stretched(asarray(arrays[n]), len(lengths[n]) - back, length, size)
        found.insert(0, None if fixed else whole_number(common))
    return arrays, found


def _stretched(values: ndarray, axis: int, length: Any, size: int) -> ndarray:
    """A slice as an axis of a size, in which a slice of one element is repeated."""
    own, before = values.shape[axis], (slice(None),) * axis
    if own == 0:
        return values
    if own >= size:
        return where(length == 1, values[(*before, slice(1))], _cut(values, axis, size))
    places = clip(arange(size, device=values.device), 0, own - 1)
    return values[(*before, where(length == 1, 0, places))]


def _product(one: Any, other: Any) -> Any:
    """``one @ other``."""
    (left, left_starts, rows), (right, right_starts, columns) = [_as_part(each) for each in (one, other)]
    if not (1 <= left.ndim <= 2 and 1 <= right.ndim <= 2):
        raise unsupported("a product of other than one or two axes")
    length = rows[-1]
    if rows[-1] is not None or columns[0] is not None:
        first, second = (
            left.shape[-1] if rows[-1] is None else rows[-1],
            right.shape[0] if columns[0] is None else columns[0],
        )
        demand(first == second, value_checks.OPEN_LENGTHS)
        length = first
    elif left.shape[-1] != right.shape[0]:
        return left @ right  # raises
    dtype = np.result_type(left.dtype, right.dtype)
    computed = np.dtype(np.int64) if dtype.kind == "b" else dtype
    pair = [each.astype(computed, copy=False) for each in (left, right)]
    is_row, is_column = left.ndim == 1, right.ndim == 1
    pair = [pair[0][None] if is_row else pair[0], pair[1][:, None] if is_column else pair[1]]
    starts = [*([None] * is_row), *left_starts, *right_starts, *([None] * is_column)]
    lengths = [None if is_row else rows[0], length, None if is_column else columns[1]]
    scalars = [
        [None if each is None else asarray(each, dtype=np.int64).tensor for each in x] for x in (starts, lengths)
    ]
    result = wrap(open_slices.product(pair[0].tensor, pair[1].tensor, *scalars))
    result = result[(0 if is_row else slice(None), 0 if is_column else slice(None))]
    return kept(result if computed == dtype else result != 0, [*rows[:-1], *columns[1:]])


def _as_part(value: Any) -> tuple[ndarray, list[Any], list[Any]]:
    """An array, and for each axis where the part that counts starts, None for 0, and its length, None for all."""
    if type(value) is not Window:
        array = asarray(value)
        return array, [None] * array.ndim, [None] * array.ndim
    if value.part is None or not all(each is None or each.kind in (open_slices.FIRST, 1) for each in value.part[1]):
        return value.values, [None] * value.ndim, [*value.lengths]
    whole, ranges = value.part
    starts = [None if each is None or each.kind == open_slices.FIRST else each.start for each in ranges]
    return whole(), starts, [*value.lengths]


def masked(values: ndarray, lengths: Sequence[Any], fill: Any) -> ndarray:
    axes = [axis for axis, length in enumerate(lengths) if length is not None]
    if not axes:
        return values
    ends = [asarray(lengths[axis], dtype=np.int64).tensor for axis in axes]
    return wrap(open_slices.padded(values.tensor, ends, axes, asarray(fill).tensor))


def _limits(dtype: np.dtype) -> tuple[int, int]:
    return np.iinfo(dtype).min, np.iinfo(dtype).max


def demand(condition: Any, text: str) -> None:
    value_checks.demand(asarray(condition).tensor, text)


def unsupported(what: str) -> NotImplementedError:
    return NotImplementedError(
        f"{trace_state.user_line()}: {what} is not kept in a graph for a slice whose bounds are traced, only "
        "elementwise functions, sum, mean, std, max, any, median, sort, cumsum, norm, cov, `@`, `x[:i] = y`; "
        "or choose with tnp.where(tnp.arange(len(x)) < i, x, 0), or write a loop over the elements"
    )
