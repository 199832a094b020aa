"""What a graph can't repeat (changes of containers from outside, clocks, generators): Python does it at each call."""

from __future__ import annotations

import collections
import collections.abc
import datetime
import decimal
import heapq
import itertools
import os
import pathlib
import random
import sys
import threading
import time
import types
import uuid
import warnings
from collections.abc import Callable
from typing import Any

import numpy
import pytest
from numpy.testing import assert_array_equal

import tnp as np

pytestmark = pytest.mark.reads  # compares with Python's own results


class Log:
    def __init__(self) -> None:
        self.items: list[Any] = []
        self.last: Any = None

    def add(self, value: Any) -> None:
        self.items.append(value)
        self.last = value


def appended(x: Any, items: Any) -> Any:
    y = x * 2
    items.append(y.sum())
    return y + len(items)


def inserted_and_extended(x: Any, items: Any) -> Any:
    items.insert(0, x.sum())
    items += [x[0], x[1]]
    return x * len(items)


def pop_of_a_list(x: Any, items: Any) -> Any:
    return x * items.pop()


def of_a_window(x: Any, items: Any) -> Any:
    items.append(x.sum())
    return x + sum(items)


def popped_left(x: Any, items: Any) -> Any:
    return x * items.popleft()


def discarded(x: Any, items: Any) -> Any:
    items.discard(min(items))
    return x * len(items)


def pushed_on_a_heap(x: Any, items: Any) -> Any:
    heapq.heapreplace(items, 10)
    return x * items[0]


def of_a_list_in_a_dictionary(x: Any, items: Any) -> Any:
    items.setdefault("sums", []).append(x.sum())
    return x * len(items["sums"])


def of_a_method(x: Any, log: Any) -> Any:
    log.add(x + 1)
    return log.last * len(log.items)


def advanced(x: Any, numbers: Any) -> Any:
    return x * next(numbers)


def looped_over(x: Any, numbers: Any) -> Any:
    for number in numbers:
        x = x + number
    return x


def counted_by_numpy(x: Any, counts: Any) -> Any:
    counts[1] += 1
    return x * counts[1]


def shaped_by_numpy(x: Any, array: Any) -> Any:
    array.shape = (array.size,)
    return x * array.ndim


def of_a_new_attribute(x: Any, bag: Any) -> Any:
    bag.last = x * 2
    return bag.last + 1


def counted_by_a_function(x: Any, f: Any) -> Any:
    f.calls = getattr(f, "calls", 0) + 1
    return x * f.calls


def drawn(x: Any, generator: Any) -> Any:
    return x * generator.random()


PROGRAMS: list[tuple[Callable[..., Any], Callable[[], Any]]] = [
    (appended, list),
    (appended, lambda: [1.0]),
    (inserted_and_extended, list),
    (pop_of_a_list, lambda: [1.0, 2.0, 3.0, 4.0]),
    (of_a_window, lambda: collections.deque(maxlen=2)),
    (popped_left, lambda: collections.deque([1.0, 2.0, 3.0, 4.0])),
    (discarded, lambda: {1, 2, 3, 4}),
    (pushed_on_a_heap, lambda: [1, 2, 3]),
    (of_a_list_in_a_dictionary, dict),
    (of_a_method, Log),
    (advanced, itertools.count),
    (advanced, lambda: (number * 2 for number in range(5))),
    (looped_over, lambda: iter([1.0, 2.0])),
    (counted_by_numpy, lambda: numpy.zeros(3)),
    (shaped_by_numpy, lambda: numpy.zeros((2, 2))),
    (of_a_new_attribute, types.SimpleNamespace),
    (counted_by_a_function, lambda: lambda: None),
    (drawn, lambda: random.Random(0)),
    (drawn, lambda: numpy.random.default_rng(0)),
]


def shown(value: Any) -> Any:
    """A state as text; of an iterator, what it gives next."""
    if isinstance(value, collections.abc.Iterator):
        return next(value, None)
    if hasattr(value, "__dict__"):
        return str(vars(value))
    return str([*value, value.shape] if isinstance(value, numpy.ndarray) else value)


@pytest.mark.parametrize(("program", "state"), PROGRAMS)
@pytest.mark.filterwarnings("ignore:tnp.compile:RuntimeWarning")
def test_each_call_does_what_the_function_does(program: Any, state: Any) -> None:
    own, held = state(), state()
    function = np.compile(lambda x: program(x, held), backend="eager")
    for step in range(3):
        x = np.arange(2.0) + step
        assert_array_equal(function(x), program(x, own))
    if not isinstance(own, (random.Random, numpy.random.Generator)):
        assert shown(held) == shown(own)


CLOCK = time.perf_counter


@pytest.mark.parametrize(
    "read",
    [
        random.random,
        lambda: random.randint(0, 2**60),
        lambda: numpy.random.rand(),
        lambda: numpy.random.default_rng().random(),
        lambda: random.Random().random(),
        lambda: time.time_ns(),
        lambda: CLOCK(),
        lambda: datetime.datetime.now().microsecond,
        lambda: uuid.uuid4().int % 2**60,
    ],
)
def test_what_differs_at_each_call_is_no_constant(read: Any) -> None:
    function = np.compile(lambda x: x + read(), backend="eager")
    with pytest.warns(RuntimeWarning, match=r"is cut at .*test_effects\.py:\d+: .*, which a graph can't"):
        results = [function(np.zeros(1)).item() for _ in range(5)]
    assert len(set(results)) > 1
    with pytest.raises(NotImplementedError, match=r"test_effects\.py:\d+: .* pass the value as an argument"):
        np.compile(lambda x: x + read(), backend="eager", fullgraph=True)(np.zeros(1))


@pytest.mark.parametrize(
    "read",
    [
        lambda path: float(path.read_text()),
        lambda path: numpy.loadtxt(path),
        lambda path: np.loadtxt(path),
        lambda path: path.exists() + os.path.getsize(path),
        lambda path: len(os.path.expandvars("$TNP_TEST_PATH")),
        lambda path: len(threading.current_thread().name),
        lambda path: sys.getrecursionlimit(),
        lambda path: float(decimal.Decimal(1) / 3),
        lambda path: np.get_printoptions()["precision"],
    ],
)
def test_what_the_system_holds_is_no_constant(read: Any, tmp_path: pathlib.Path) -> None:
    path = tmp_path / "number"
    path.write_text("2.5")
    with pytest.raises(NotImplementedError, match=r"test_effects\.py:\d+: .* pass the value as an argument"):
        np.compile(lambda x: x + read(path), backend="eager", fullgraph=True)(np.zeros(1))


def test_a_generator_that_is_seeded_inside_is_a_constant() -> None:
    def function(x: Any) -> Any:
        return x + random.Random(3).random() + numpy.random.default_rng(3).random()

    assert_array_equal(np.compile(function, backend="eager", fullgraph=True)(np.zeros(2)), function(np.zeros(2)))


def test_notes_are_told_once() -> None:
    notes: list[Any] = []

    def function(x: Any) -> Any:
        notes.append(x.shape)
        print("traced")
        return x * 2

    traced = np.compile(function, backend="eager")
    line = function.__code__.co_firstlineno + 1
    text = rf"adds to a closure's variable \(a list from outside\) at .*test_effects\.py:{line}"
    with pytest.warns(RuntimeWarning, match=text) as told:
        for length in (1, 2, 1):
            traced(np.ones(length))
    assert len(told) == 1
    assert notes == [(1,), (2,)]


def test_a_full_graph_refuses_and_leaves_what_was_there() -> None:
    log = Log()

    def function(x: Any) -> Any:
        log.add(x)
        return x * 2

    with pytest.raises(NotImplementedError, match=r"Log.items \(a list from outside\) is changed"):
        np.compile(function, fullgraph=True)(np.ones(2))
    assert log.items == [] and log.last is None


def test_what_is_read_of_a_deque() -> None:
    window = collections.deque([1.0, 2.0])
    function = np.compile(lambda x: x * sum(window), backend="eager")
    assert_array_equal(function(np.ones(2)), [3.0, 3.0])
    window.append(5.0)
    assert_array_equal(function(np.ones(2)), [8.0, 8.0])


# Attributes of arrays from outside.


def reshaped(a: Any) -> Any:
    a.shape = (2, 2)
    return a * 2


def of_another_dtype(a: Any) -> Any:
    a.dtype = "int64"
    return a + 1


def locked(a: Any) -> Any:
    a.flags.writeable = False
    return a + 1


@pytest.mark.parametrize("function", [reshaped, of_another_dtype, locked])
@pytest.mark.parametrize("module", [np, numpy])
def test_attributes_of_arrays(function: Any, module: Any) -> None:
    own = numpy.arange(4.0)
    holder = types.SimpleNamespace(array=module.arange(4.0))
    traced = np.compile(lambda x: x * 0 + function(holder.array).sum(), backend="eager")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for _ in range(3):
            assert_array_equal(traced(np.ones(())), function(own).sum())
            assert (holder.array.shape, holder.array.dtype) == (own.shape, own.dtype)
            assert holder.array.flags.writeable == own.flags.writeable
            assert_array_equal(holder.array, own)
            own, holder.array = numpy.arange(4.0), module.arange(4.0)


def test_a_method_of_a_list_that_has_a_name_of_its_own() -> None:
    kept: list[Any] = []
    note = kept.append

    def function(x: Any) -> Any:
        note(x * 2)
        return x + 1

    compiled = np.compile(function, backend="eager")
    with pytest.warns(RuntimeWarning, match=r"is cut at .*test_effects\.py:\d+"):
        for value in range(3):
            compiled(np.full(2, float(value)))
    assert [each.tolist() for each in kept] == [[0, 0], [2, 2], [4, 4]]
