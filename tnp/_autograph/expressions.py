"""Expressions that test a value: `and`, `or`, `not`, chained comparisons, `x if c else y`, and built-in functions.

Layer: owns their results for traced values. For every other value they are Python's.
"""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from backend_torch.graphs import control_flow as backend
from backend_torch.graphs import symbolic
from backend_torch.tensors import memory, trace_state
from backend_torch.tensors.dtypes import to_numpy
from tnp._array.numbers import number_of
from tnp._autograph import effects, statements
from tnp._autograph.lists import Collected, Growing
from tnp._autograph.values import Part, as_forms, common, predicate, traced
from tnp._core.base import ndarray
from tnp._core.convert import asarray
from tnp._ufunc import table

Thunk = Callable[[], Any]


def _contains(item: Any, items: Any) -> Any:
    """``item in items``: of a traced number among numbers, or of numbers of which some are traced."""
    if isinstance(items, ndarray):
        return truth((items == item).any()) if traced(items) is not None or traced(item) is not None else item in items
    if type(items) is range:
        if traced(item) is None or not predicate_like(item) or not items:
            return item in items
        return truth((item >= min(items)) & (item <= max(items)) & ((item - items.start) % items.step == 0))
    if type(items) not in (tuple, list, set, frozenset) or not items:
        return item in effects.iterated(items)
    given = [item, *items]
    is_number = all(
        type(each) in (bool, int, float, complex) or (isinstance(each, ndarray) and not each.ndim) for each in given
    )
    if not is_number or all(traced(each) is None for each in given):
        return item in items
    return truth(functools.reduce(table.logical_or, [asarray(item) == each for each in items]))


_COMPARISONS: dict[str, Callable[[Any, Any], Any]] = {
    "Lt": operator.lt,
    "LtE": operator.le,
    "Gt": operator.gt,
    "GtE": operator.ge,
    "Eq": operator.eq,
    "NotEq": operator.ne,
    "Is": operator.is_,
    "IsNot": operator.is_not,
    "In": _contains,
    "NotIn": lambda item, items: not_(_contains(item, items)),
}


def choose(test: Any, one: Thunk, other: Thunk) -> Any:
    """``one() if test else other()``."""
    if predicate(test) is None:
        return one() if test else other()
    result: list[Any] = [None]

    def put(values: tuple[Any, ...]) -> None:
        result[:] = values

    def taken(thunk: Thunk) -> Callable[[], None]:
        return lambda: result.__setitem__(0, thunk())

    statements.choose(test, taken(one), taken(other), lambda: (result[0],), put)
    return result[0]


def and_(one: Any, other: Thunk) -> Any:
    """``one and other()``."""
    if predicate(one) is None:
        return one and other()
    return choose(one, other, lambda: one)


def or_(one: Any, other: Thunk) -> Any:
    """``one or other()``."""
    if predicate(one) is None:
        return one or other()
    return choose(one, lambda: one, other)


def truth(value: Any) -> Any:
    """Return a traced condition as a bool; any other value unchanged."""
    condition = predicate(value)
    return value if condition is None else number_of(backend.is_true(condition))


def not_(value: Any) -> Any:
    """``not value``."""
    condition = predicate(value)
    return not value if condition is None else number_of(condition == 0)


def compare(first: Any, *rest: tuple[str, Thunk]) -> Any:
    """``first < second() < third()``; each comparison is given by the name of its syntax node, such as ``"Lt"``."""
    (name, thunk), *more = rest
    second = thunk()
    result = _COMPARISONS[name](first, second)
    return and_(result, lambda: compare(second, *more)) if more else result


def assert_(test: Any, message: Thunk | None) -> None:
    """``assert test, message()``; the graph checks a traced condition when it runs."""
    condition = predicate(test)
    if condition is None:
        if not test and __debug__:
            raise AssertionError(*([message()] if message else []))
        return
    statements.demand(condition, message)


def int_(*args: Any, **kwargs: Any) -> Any:
    """``int``, for traced numbers too."""
    return _as(np.int64, args[0]) if len(args) == 1 and not kwargs and predicate_like(args[0]) else int(*args, **kwargs)


def float_(*args: Any) -> Any:
    """``float``, for traced numbers too."""
    if len(args) == 1 and predicate_like(args[0]):
        return _as(np.float64, args[0])
    try:
        return float(*args)
    except ValueError:
        if type(args[0]) is str and args[0].startswith("array(shape="):
            raise trace_state.value_error("text") from None
        raise


def bool_(*args: Any) -> Any:
    """``bool``, for traced numbers too."""
    return _as(np.bool_, args[0]) if len(args) == 1 and predicate_like(args[0]) else bool(*args)


def _as(dtype: Any, value: Any) -> Any:
    return number_of(value.astype(dtype).tensor)


def len_(value: Any) -> Any:
    """``len``, which leaves the length of an array open where the trace does."""
    if type(value) is Growing or (type(value) is Collected and value.is_counted):
        value.check()
        return value.length
    shape = value.shape if isinstance(value, ndarray) else ()
    return shape[0] if shape and symbolic.is_symbol(shape[0]) else len(value)


def with_text(value: Any) -> Any:
    """Return a value whose text is that of the numbers: an open size is decided, the trace is then for it alone."""
    if symbolic.is_symbol(value):
        return symbolic.decided(value)
    return type(value)(map(with_text, value)) if type(value) in (list, tuple) else value


def _of_text(function: Any) -> Any:
    return lambda *args, **kwargs: function(
        *map(with_text, args), **{name: with_text(value) for name, value in kwargs.items()}
    )


def method_of_text(function: Any) -> Any:
    """Return what a method of a text calls instead of ``function``: ``format`` of numbers."""
    return _of_text(function) if function.__name__ == "format" else function


def predicate_like(value: Any) -> bool:
    """Whether a value is a traced 0-d array that can become a number without losing a derivative."""
    return isinstance(value, ndarray) and value.ndim == 0 and backend.is_recorded() and traced(value) is not None


def _itself(value: Any) -> Any:
    return value


def _selected(test: Any, one: Any, other: Any) -> Any:
    """``one if test else other``, of values that are computed already: no branch."""
    condition, first, second = predicate(test), Part(one), Part(other)
    forms = common(first, second)
    if condition is None or forms is None:
        return choose(test, partial(_itself, one), partial(_itself, other))
    pairs = zip(as_forms(first, forms), as_forms(second, forms), strict=True)
    tensors = [backend.selected(condition, left, right) for left, right in pairs]
    return (second if first.is_number else first).filled(tensors, forms)


def _extreme(function: Any) -> Any:
    def of(*args: Any, **kwargs: Any) -> Any:
        given = args if len(args) > 1 else list(args[0]) if args and type(args[0]) in (list, tuple) else ()
        if kwargs or not any(map(predicate_like, given)):
            return function(*args, **kwargs)
        result = given[0]
        for each in given[1:]:
            # Like Python, keep the first of two values that are equal or that can't be ordered (NaN).
            better = each > result if function is max else each < result
            result = _selected(better, each, result)
        return result

    return of


_MATH = {
    name: getattr(table, instead)
    for name, instead in {
        "sqrt": "sqrt", "exp": "exp", "log": "log", "log2": "log2", "log10": "log10", "log1p": "log1p",
        "expm1": "expm1", "sin": "sin", "cos": "cos", "tan": "tan", "tanh": "tanh", "sinh": "sinh", "cosh": "cosh",
        "atan": "arctan", "asin": "arcsin", "acos": "arccos", "atan2": "arctan2", "hypot": "hypot", "fabs": "fabs",
        "isnan": "isnan", "isinf": "isinf", "isfinite": "isfinite", "copysign": "copysign", "fmod": "fmod",
        "asinh": "arcsinh", "acosh": "arccosh", "atanh": "arctanh",
    }.items()
    if hasattr(table, instead)
}  # fmt: skip


_NEVER_RAISE = frozenset({"tanh", "atan", "atan2", "asinh", "fabs", "isnan", "isinf", "isfinite", "copysign"})


def _of_math(function: Any, ufunc: Any) -> Any:
    kind = np.bool_ if function.__name__.startswith("is") else np.float64  # Python computes in double precision

    def computed(*args: Any) -> Any:
        if not any(map(predicate_like, args)):
            return function(*args)
        if function.__name__ not in _NEVER_RAISE:
            trace_state.check_not_handled()
        return _as(kind, ufunc(*[_as(np.float64, x) if predicate_like(x) else x for x in args]))

    return computed


def _is_of_sizes(value: Any) -> bool:
    return isinstance(value, ndarray) and value.ndim == 0 and memory.is_of_sizes(value.tensor)


def _scalar(kind: type[np.generic]) -> Any:
    """Return what calls one of NumPy's types of scalars, of sizes and traced numbers too."""

    def made(*args: Any, **kwargs: Any) -> Any:
        value = args[0] if len(args) == 1 and not kwargs else None
        if symbolic.is_symbol(value) or _is_of_sizes(value) or predicate_like(value):
            return asarray(value, kind)[()]
        return kind(*args, **kwargs)

    return made


def _rounded(function: Any, ufunc: Any) -> Any:
    return lambda value: _as(np.int64, ufunc(value)) if predicate_like(value) else function(value)


def print_(*values: Any, **options: Any) -> None:
    """``print``, which prints nothing if a value has no text yet: Python prints it when the graph is cut there."""
    texts = [str(value) for value in values]
    if not effects.state.is_search:
        print(*texts, **options)


BUILTINS: dict[Any, Any] = {
    print: print_,
    int: int_,
    float: float_,
    bool: bool_,
    len: len_,
    **{dtype.type: _scalar(dtype.type) for dtype in to_numpy.values()},
    **{function: _of_text(function) for function in (str, repr, ascii, format)},
    max: _extreme(max),
    min: _extreme(min),
    math.floor: _rounded(math.floor, table.floor),
    math.ceil: _rounded(math.ceil, table.ceil),
    **{getattr(math, name): _of_math(getattr(math, name), ufunc) for name, ufunc in _MATH.items()},
}
"""Python's functions of numbers -> their replacements in converted functions."""
