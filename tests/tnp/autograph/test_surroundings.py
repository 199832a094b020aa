"""Objects that a branch or a loop of the graph would change while it is traced: Python runs it, at each call."""

from __future__ import annotations

import array
import collections
import dataclasses
import functools
import io
import itertools
import random
import sys
import types
import warnings
from collections.abc import Callable
from typing import Any, ClassVar

import numpy
import pytest

import tnp as np

Program = Callable[[Any, Any], Any]
X = numpy.random.default_rng(0).random(40)


class Slots:
    __slots__ = ("n", "queue")

    def __init__(self) -> None:
        self.n = 0
        self.queue: collections.deque[Any] = collections.deque(maxlen=2)

    def push(self, value: Any) -> None:
        self.n += 1
        self.queue.append(value)


class Numbers(list[Any]):
    """A class of lists."""


class Counts:
    total = 0
    log: ClassVar[list[Any]] = []

    @classmethod
    def add(cls, value: Any) -> None:
        cls.total += value
        cls.log.append(value)


class Steps:
    """An iterator of Python's."""

    def __init__(self) -> None:
        self.n = 0

    def __iter__(self) -> Steps:
        return self

    def __next__(self) -> int:
        self.n += 1
        return self.n


@dataclasses.dataclass
class Record:
    n: int = 0
    items: list[Any] = dataclasses.field(default_factory=list)


def noted(value: Any) -> None:
    noted.total += value  # type: ignore[attr-defined]


def appended(x: Any, condition: Any) -> Any:
    found: Any = collections.deque()
    if condition:
        found.append(1)
    return len(found)


def taken_from_the_left(x: Any, condition: Any) -> Any:
    found = collections.deque([1, 2, 3])
    if condition:
        found.popleft()
    return found[0]


def deleted(x: Any, condition: Any) -> Any:
    found = collections.deque([1, 2, 3])
    if condition:
        del found[0]
    return found[0]


def counted(x: Any, condition: Any) -> Any:
    found: Any = collections.Counter()
    if condition:
        found["a"] += 1
    return found["a"]


def with_a_default(x: Any, condition: Any) -> Any:
    found: Any = collections.defaultdict(list)
    if condition:
        found["a"].append(1)
    return len(found)


def moved_to_the_end(x: Any, condition: Any) -> Any:
    found = collections.OrderedDict(a=1, b=2)
    if condition:
        found.move_to_end("a")
    return [*found.values()]


def derived(x: Any, condition: Any) -> Any:
    found = Numbers([1])
    if condition:
        found.append(2)
    return len(found)


def octets(x: Any, condition: Any) -> Any:
    found = bytearray(b"a")
    if condition:
        found.append(2)
    return len(found)


def machine_numbers(x: Any, condition: Any) -> Any:
    found = array.array("d", [1.0])
    if condition:
        found[0] = 5.0
    return found[0]


def numpys_array(x: Any, condition: Any) -> Any:
    found = numpy.zeros(3)
    if condition:
        found[0] = 3
    return found[0]


def deep(x: Any, condition: Any) -> Any:
    found: Any = ([{"a": [[collections.deque()]]}],)
    if condition:
        found[0][0]["a"][0][0].append(1)
    return len(found[0][0]["a"][0][0])


def long(x: Any, condition: Any) -> Any:
    found = [0] * 5000
    if condition:
        found[4000] = 3
        found.append(1)
    return len(found) + found[4000]


def slots(x: Any, condition: Any) -> Any:
    found = [Slots()]
    if condition:
        found[0].push(2)
    return found[0].n + len(found[0].queue)


def a_record(x: Any, condition: Any) -> Any:
    found = Record()
    if condition:
        found.n += 1
        found.items.append(3)
    return found.n + len(found.items)


def a_class(x: Any, condition: Any) -> Any:
    Counts.total = 0
    Counts.log.clear()
    if condition:
        Counts.add(3)
    return Counts.total + len(Counts.log)


def a_function(x: Any, condition: Any) -> Any:
    noted.total = 0  # type: ignore[attr-defined]
    if condition:
        noted(3)
    return noted.total  # type: ignore[attr-defined]


def a_method(x: Any, condition: Any) -> Any:
    found: Any = collections.deque()
    add = functools.partial(found.append, 1)
    if condition:
        add()
    return len(found)


def an_expression(x: Any, condition: Any) -> Any:
    found: Any = collections.deque()
    condition and found.append(1)
    return len(found) + (found.append(2) or 5 if condition else 0)


def an_iterator(x: Any, condition: Any) -> Any:
    items = iter([1, 2, 3])
    if condition:
        next(items)
    return next(items)


def a_generator(x: Any, condition: Any) -> Any:
    items = (i * i for i in range(1, 4))
    if condition:
        for _ in items:
            pass
    return len([*items])


def a_list_of_an_iterator(x: Any, condition: Any) -> Any:
    items = iter([1, 2, 3])
    k = 0
    if condition:
        k = len(list(items))
    return k + len(list(items))


def a_comprehension(x: Any, condition: Any) -> Any:
    items = iter([1, 2, 3])
    k = 0
    if condition:
        k = len({value: value + 1 for value in items})
    return k + len(list(items))


def unpacked(x: Any, condition: Any) -> Any:
    items = iter([1, 2, 3])
    k = 0
    if condition:
        k, *_ = items
    return k + len(list(items))


def starred(x: Any, condition: Any) -> Any:
    items = iter([1, 2, 3])
    k = 0
    if condition:
        k = max(*items)
    return k + len(list(items))


def contained(x: Any, condition: Any) -> Any:
    items = iter([1, 2, 3])
    k = 0
    if condition:
        k = int(2 in items)
    return k + len(list(items))


def enumerated(x: Any, condition: Any) -> Any:
    items = enumerate(x)
    if condition:
        next(items)
    return next(items)[0]


def an_iterator_of_pythons(x: Any, condition: Any) -> Any:
    items = Steps()
    if condition:
        next(items)
    return next(items)


def a_file(x: Any, condition: Any) -> Any:
    found = io.StringIO()
    if condition:
        found.write("a")
    return len(found.getvalue())


def random_numbers(x: Any, condition: Any) -> Any:
    one, other = random.Random(3), numpy.random.default_rng(3)
    if condition:
        one.gauss(0, 1)
        other.random()
    return one.random() + other.random()


def our_random_numbers(x: Any, condition: Any) -> Any:
    one = np.random.RandomState(3)
    if condition:
        one.rand()
    return one.rand()


def left_early(x: Any, condition: Any) -> Any:
    found: Any = collections.deque()
    if condition:
        found.append(1)
        return len(found) + 5
    found.append(2)
    return len(found)


def steps_that_append(x: Any, condition: Any) -> Any:
    found: Any = collections.deque(maxlen=3)
    for value in x:
        found.append(value)
    return sum(found)


def steps_that_count(x: Any, condition: Any) -> Any:
    found: Any = collections.Counter()
    for value in x:
        found["all"] += 1
        if value > 0.5:
            found["large"] += 1
    return found["all"], found["large"]


def steps_of_an_iterator(x: Any, condition: Any) -> Any:
    numbers, total = itertools.count(), 0.0
    for value in x:
        total = total + value * next(numbers)
    return total


def steps_until(x: Any, condition: Any) -> Any:
    numbers, value, k = itertools.count(), x[0], 0
    while value < 3:
        k = next(numbers)
        value = value + 0.2
    return k


def steps_of_slots(x: Any, condition: Any) -> Any:
    found = Slots()
    for value in x:
        found.push(value)
    return found.n + sum(found.queue)


# Values decide which variables are one list.


def of_one_list(x: Any, condition: Any) -> Any:
    if condition:
        one = other = [1.0, 2.0]
    else:
        one = other = [3.0, 4.0]
    one.append(5.0)
    return len(other), sum(other)


def chosen_of_two(x: Any, condition: Any) -> Any:
    one, other = [1.0, 2.0], [3.0, 4.0]
    chosen = one if condition else other
    chosen.append(5.0)
    return len(one), len(other), len(chosen)


def assigned(x: Any, condition: Any) -> Any:
    one, other = {"a": 1.0}, {"a": 2.0}
    if condition:
        other = one
    other["a"] = 7.0
    return one["a"], other["a"]


def in_a_tuple(x: Any, condition: Any) -> Any:
    if condition:
        one = [1.0, 2.0]
        both = one, 3.0
    else:
        one = [3.0, 4.0]
        both = one, 4.0
    one[0] = 5.0
    return both[0][0], one[0]


def a_row(x: Any, condition: Any) -> Any:
    rows = [[0.0] * 3 for _ in range(3)]
    row = rows[0]
    if condition:
        row = rows[1]
    row[1] = 5.0
    return rows[0][1], rows[1][1]


def left_as_it_was(x: Any, condition: Any) -> Any:
    one = {"a": 0.0}
    other = one
    if condition:
        one = dict(one)
        one["a"] = 4.0
    other["a"] = 5.0
    return one["a"], other["a"]


def changed_and_assigned(x: Any, condition: Any) -> Any:
    one, best = [1.0, 2.0], [0.0, 0.0]
    if condition:
        one[0] = 5.0
        best = one
    return best[0], one[0]


def the_best_of_one_list(x: Any, condition: Any) -> Any:
    one, best = [1.0, 1.0], [0.0, 0.0]
    for i in range(40):
        one[0] = x[i]
        if one[0] > best[0]:
            best = one
    return best[0], one[0]


def always_the_same(x: Any, condition: Any) -> Any:
    one, best = [1.0, 2.0], [0.0, 0.0]
    for i in range(40):
        one[0] = one[0] + x[i]
        best = one
    return best[0], one[0]


def changed_after_the_loop(x: Any, condition: Any) -> Any:
    one = [1.0, 2.0]
    best = one
    for i in range(40):
        one = [one[0] + x[i], one[1]]
        if one[0] > best[0]:
            best = one
    one[0] = 5.0
    return best[0], one[0]


def by_a_function(x: Any, condition: Any) -> Any:
    def pick(one: Any, other: Any) -> Any:
        return one if condition else other

    first, second = [1.0, 2.0], [3.0, 4.0]
    found = pick(first, second)
    found[0] = 9.0
    return first[0], second[0], found[0]


def defaults(x: Any, condition: Any) -> Any:
    def add(value: Any, total: Any = [0.0], *, log: Any = []) -> Any:  # noqa: B006
        total[0] += value
        log.append(value)
        return total[0] * len(log)

    found = [add(v) for v in x][-1]
    if condition:
        add(x[0])
    return found, add(x[1])


PROGRAMS = [
    value
    for value in list(globals().values())
    if isinstance(value, types.FunctionType) and [*value.__annotations__] == ["x", "condition", "return"]
]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
@pytest.mark.parametrize("condition", [True, False])
def test_what_a_block_changes_is_changed_at_each_call(program: Program, condition: bool) -> None:
    expected = program(numpy.array(X), numpy.bool_(condition))
    compiled = np.compile(program, backend="eager")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        for _ in range(2):
            actual = compiled(np.asarray(X), np.bool_(condition))
            numpy.testing.assert_allclose(numpy.asarray(actual), numpy.asarray(expected), rtol=1e-12)
        if program not in (our_random_numbers, random_numbers):  # of which each element draws others
            batched = np.vectorized_map(lambda condition: np.asarray(program(np.asarray(X), condition)), np.ones(3) > 0)
            numpy.testing.assert_allclose(numpy.asarray(batched)[2], numpy.asarray(program(X, numpy.True_)), rtol=1e-12)


def the_best_copy(x: Any) -> Any:
    one, best = [1.0, 2.0], [0.0, 0.0]
    for i in range(60):
        one[0] = one[0] + x[i % 30]
        if one[0] > best[0]:
            best = list(one)
    return best[0], one[0]


def the_best_of_new_lists(x: Any) -> Any:
    one = {"a": 0.0}
    best = dict(one)
    for i in range(60):
        other = dict(one)
        other["a"] += x[i % 30]
        if other["a"] > best["a"]:
            best = other
        one = other
    return best["a"], one["a"]


def of_its_own(x: Any) -> Any:
    found = [0.0, 0.0]
    if x[0] > 0:
        found = [1.0, 1.0]
    found[0] += 1
    for i in range(60):
        found[1] += x[i % 30]
    return found[0], found[1]


@pytest.mark.parametrize("program", [the_best_copy, the_best_of_new_lists, of_its_own])
def test_lists_of_one_name_are_in_the_graph(program: Callable[[Any], Any]) -> None:
    actual = np.compile(program, backend="eager", fullgraph=True)(np.asarray(X))
    numpy.testing.assert_allclose(numpy.asarray(actual), numpy.asarray(program(X)), rtol=1e-12)


def total_of(x: Any) -> Any:
    found = Total()
    for value in x:
        found.add(value)
    return found.total


class Total:
    def __init__(self) -> None:
        self.total = 0.0

    def add(self, value: Any) -> None:
        self.total += value


def test_classes_of_modules_whose_names_begin_as_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    """``tnp_tools`` is no module of tnp: its objects are watched."""
    monkeypatch.setattr(Total, "__module__", "tnp_tools")
    monkeypatch.setitem(sys.modules, "tnp_tools", sys.modules[__name__])
    x = numpy.arange(300.0)
    assert np.compile(total_of, backend="eager", fullgraph=True)(np.asarray(x)) == x.sum()
