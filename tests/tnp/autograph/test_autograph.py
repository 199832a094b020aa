"""Python's own branches and loops over traced values: what a converted function gives is what Python gives."""

from __future__ import annotations

import math
import traceback
from collections.abc import Callable
from typing import Any

import numpy
import pytest

import tnp as np
from tests.oracle import assert_same

Function = Callable[..., Any]


def given(args: Any, xp: Any) -> list[Any]:
    return [xp.asarray(numpy.copy(each)) if isinstance(each, numpy.ndarray) else each for each in args]


def same(function: Function, *args: Any, backend: str = "eager", rtol: float = 1e-12) -> Any:
    """That a compiled function gives what NumPy gives, and leaves its arguments alike; returns the compiled one."""
    ours, theirs = given(args, np), given(args, numpy)
    compiled = np.compile(function, backend=backend, fullgraph=True)
    expected, actual = function(*theirs), compiled(*ours)
    if isinstance(expected, tuple):
        for one, other in zip(expected, actual, strict=True):
            assert_same(numpy.asarray(one), np.asarray(other), rtol=rtol)
    else:
        assert_same(numpy.asarray(expected), np.asarray(actual), rtol=rtol)
    for one, other in zip(theirs, ours, strict=True):
        if isinstance(one, numpy.ndarray):
            assert_same(one, other, rtol=rtol)
    return compiled


def early(x: Any) -> Any:
    if x.sum() > 0:
        return x * 2
    return x - 1


def chosen(x: Any) -> Any:
    total = x.sum()
    if total > 10:
        y = x * 2
    elif total > 5:
        y = x * 3
    elif 0 < total < 3 and x[0] > 0:
        y = x * 4
    else:
        y = -x
    return y if not (total == 2 or total == 7) else y + 1


def both(x: Any) -> Any:
    return x[0] > 0 or x[1] / x[0] > 2, x[0] < 0 and x[1] < 0, not x[0] > 0


def doubled(x: Any) -> Any:
    while x.sum() < 100:
        x = x * 2
    return x


def broken(x: Any) -> Any:
    steps = 0
    while True:
        if x.sum() > 100:
            break
        steps += 1
        if steps % 2 == 0:
            continue
        x = x * 2 + 1
    else:
        x = x * 0
    return x + steps


def counted(x: Any) -> Any:
    total = 0.0
    for i in range(len(x)):
        total = total * 0.5 + x[i]
    return total


def rows(x: Any) -> Any:
    total = x[0] * 0
    for row in x:
        total = total * 0.5 + row
    return total


def pairs(x: Any) -> Any:
    total = 0.0
    for i, (a, b) in enumerate(zip(x, x[::-1], strict=True)):
        total = total * 0.9 + a * b * i
    return total


def found(x: Any, value: Any) -> Any:
    for i in range(len(x)):
        if x[i] == value:
            return i
    return -1


def collatz(n: Any) -> Any:
    steps = 0
    while n != 1:
        n = n // 2 if n % 2 == 0 else 3 * n + 1
        steps += 1
    return steps


def clipped(x: Any) -> Any:
    for i in range(len(x)):
        if x[i] < 0:
            x[i] = 0
        elif x[i] > 5:
            x[i] = x[i] - 5
    return x


def recurrence(x: Any) -> Any:
    for i in range(1, len(x)):
        x[i] = x[i - 1] * 0.5 + x[i]
    return x.sum()


def factorised(a: Any) -> Any:
    n = a.shape[0]
    for k in range(n):
        for i in range(k + 1, n):
            a[i, k] /= a[k, k]
            for j in range(k + 1, n):
                a[i, j] -= a[i, k] * a[k, j]
    return a


def helper(x: Any, limit: Any = 3.0) -> Any:
    if x > limit:
        return math.sqrt(x)
    return float(x) + int(x)


def helped(x: Any) -> Any:
    return max(helper(x[0]), min(helper(x[1], limit=1.0), helper(x[2])))


class Model:
    def __init__(self) -> None:
        self.__rate = 0.5

    def step(self, x: Any) -> Any:
        return x * self.__rate if x.sum() > 3 else x + self.__rate

    def run(self, x: Any) -> Any:
        inner = lambda y: self.step(y) if y[0] > 0 else y - 1  # noqa: E731
        return inner(inner(x))


LONG = numpy.linspace(-2, 9, 40)
CASES: list[tuple[Function, tuple[Any, ...]]] = [
    *[(early, (numpy.array(values),)) for values in ([1.0, 2.0], [-1.0, -2.0])],
    *[(chosen, (numpy.array(values),)) for values in ([9.0, 2.0], [5.0, 2.0], [1.0, 1.0], [0.5, 0.1], [-1.0, 0.0])],
    *[(both, (numpy.array(values),)) for values in ([1.0, 2.0], [-1.0, -3.0], [-1.0, 3.0])],
    (doubled, (numpy.array([1.0, 2.0]),)),
    (broken, (numpy.array([1.0, 2.0]),)),
    (counted, (LONG,)),
    (counted, (LONG[:3],)),
    (rows, (LONG.reshape(20, 2),)),
    (pairs, (LONG,)),
    (found, (numpy.arange(40), numpy.array(7))),
    (found, (numpy.arange(40), numpy.array(77))),
    (found, (numpy.arange(5), numpy.array(2))),
    (collatz, (numpy.array(27),)),
    (clipped, (LONG,)),
    (clipped, (LONG[::8].copy(),)),
    (recurrence, (LONG,)),
    (factorised, (numpy.random.default_rng(0).random((9, 9)) + 9 * numpy.eye(9),)),
    (helped, (numpy.array([2.5, 4.0, 9.0]),)),
    (Model().run, (numpy.array([2.0, 3.0]),)),
    (lambda x: x * 2 if x.sum() > 0 else x, (numpy.array([2.0, 3.0]),)),
]


@pytest.mark.parametrize(("function", "args"), CASES)
def test_what_python_gives(function: Function, args: tuple[Any, ...]) -> None:
    same(function, *args)


@pytest.mark.parametrize(
    ("function", "args"), [(f, a) for f, a in CASES if f in (chosen, broken, found, factorised)][4:]
)
def test_machine_code(function: Function, args: tuple[Any, ...]) -> None:
    same(function, *args, backend="inductor")


def test_a_trace_takes_other_values() -> None:
    """A branch is kept in the graph: a call with other values takes the other one, and is not traced again."""
    compiled = np.compile(early, backend="eager", fullgraph=True)
    assert_same(numpy.array([2.0]), compiled(np.asarray([1.0])))
    assert_same(numpy.array([-2.0]), compiled(np.asarray([-1.0])))
    assert compiled.cache_info().traces == 1


def test_the_graph_does_not_grow_with_the_steps() -> None:
    graph = np.compile(counted).graph
    assert len(list(graph(np.ones(100)))) == len(list(graph(np.ones(1000))))
    assert len(list(graph(np.ones(9)))) > 18  # it is short, and is unrolled


def by_time(xp: Any, y: Any, end: float) -> Any:
    t, steps = 0.0, 0
    while t < end:
        y = y + 0.01 * xp.cos(y)
        t += 0.01
        steps += 1
    return y, t, steps


def by_two_counts(xp: Any, y: Any, end: int) -> Any:
    i, total = 0, y[0] * 0
    while i < end:
        j = 0
        while j < 40:
            total = total * 0.9 + y[i % 5] * j
            j += 1
        i += 1
    return total, i


@pytest.mark.parametrize(("function", "ends"), [(by_time, (2.0, 20.0)), (by_two_counts, (30, 300))])
def test_a_long_while_over_pythons_numbers_is_a_loop(function: Function, ends: tuple[Any, ...]) -> None:
    compiled = np.compile(lambda y, end: function(np, y, end), backend="eager", fullgraph=True, dynamic=False)
    y = numpy.linspace(0.5, 1.5, 5)
    for end in ends:
        for one, other in zip(function(numpy, y, end), compiled(np.array(y), end), strict=True):
            assert_same(one, other, rtol=1e-12)
    counts = [len(list(compiled.graph(np.array(y), end))) for end in ends]
    assert counts[0] == counts[1]


def test_a_short_while_over_pythons_numbers_is_unrolled() -> None:
    def halved(x: Any) -> Any:
        n = len(x)
        while n > 1:
            n //= 2
            x = x[:n] + x[n : 2 * n]
        return x, np.zeros(n)

    compiled = np.compile(halved, backend="eager", fullgraph=True)
    x = np.arange(64.0)
    for one, other in zip(halved(x), compiled(x), strict=True):
        assert_same(numpy.asarray(one), other)


def unrolled(x: Any) -> Any:
    for i in np.unroll(range(40)):
        x = x + 0.5**i
    for row in np.unroll(x[:20]):
        x = x * row
    return x


def test_unroll() -> None:
    x = numpy.linspace(0, 1, 30)
    assert_same(unrolled(x), np.compile(unrolled, backend="eager", fullgraph=True)(np.array(x)), rtol=1e-12)
    assert "while_loop" not in str(np.compile(unrolled).graph(np.array(x)))
    assert list(np.unroll(zip("ab", [1, 2], strict=True))) == [("a", 1), ("b", 2)]
    with pytest.raises(np.TracedValueError, match=r"test_autograph\.py:\d+: "):
        np.compile(lambda n: [n * i for i in np.unroll(range(n))], backend="eager", fullgraph=True)(np.asarray(3))


def test_a_condition_of_python_stays_python() -> None:
    seen = []

    def function(x: Any, flag: bool) -> Any:
        if flag:
            seen.append("flag")
            return x + 1
        for name in ["a", "b"]:
            seen.append(name)
            x = x + 1
        return x

    compiled = np.compile(function, backend="eager", fullgraph=True)
    compiled(np.ones(2), True)
    assert seen == ["flag"]
    compiled(np.ones(2), False)
    assert seen == ["flag", "a", "b"]


def test_without_autograph() -> None:
    with pytest.raises(np.TracedValueError, match="the value of a traced array is asked for"):
        np.compile(early, autograph=False)(np.ones(2))


def conflicting(x: Any) -> Any:
    y = x
    if x[0] > 0:
        y = x[:1]
    return y


def growing(x: Any) -> Any:
    while x.sum() < 100:
        x = np.concatenate([x, x])
    return x


def listing(x: Any) -> Any:
    found = []
    if x[0] > 0:
        found.append(x)
    return x


@pytest.mark.parametrize(
    ("function", "kind", "text", "line"),
    [
        (conflicting, TypeError, r"{line}: y is float64\(1,\) after one branch of the .* float64\(3,\) after the", 3),
        (growing, TypeError, r"{line}: x changes from float64\(3,\) to float64\(6,\) in the `while`", 2),
        (listing, NotImplementedError, "{line}: a branch whose condition is traced changes a list", 2),
    ],
)
def test_what_cant_be_one_graph(function: Function, kind: type[Exception], text: str, line: int) -> None:
    where = rf"test_autograph\.py:{function.__code__.co_firstlineno + line}"
    with pytest.raises(kind, match=text.replace("{line}", where)):
        np.compile(function, backend="eager", fullgraph=True)(np.ones(3))


def test_assertions() -> None:
    def positive(x: Any) -> Any:
        assert x.sum() > 0, "not positive"
        return x * 2

    compiled = np.compile(positive, backend="eager", fullgraph=True)
    assert_same(numpy.array([2.0]), compiled(np.asarray([1.0])))
    with pytest.raises(AssertionError, match=r"^not positive$"):
        compiled(np.asarray([-1.0]))


def failing(x: Any) -> Any:
    while x.sum() < 100:
        x = x * 2
        if x.ndim == 1:
            x = x.reshape(5)
    return x


def test_tracebacks_name_the_users_lines() -> None:
    with pytest.raises(ValueError) as caught:
        np.compile(failing, backend="eager", fullgraph=True)(np.ones(3))
    frames = traceback.extract_tb(caught.value.__traceback__)
    own = [(frame.name, frame.lineno, frame.line) for frame in frames if frame.filename == __file__]
    assert ("failing", failing.__code__.co_firstlineno + 4, "x = x.reshape(5)") in own


SCALE = 2.0


def scaled(x: Any) -> Any:
    return x * SCALE if x[0] > 0 else x


def test_globals_and_closures_that_are_bound_again(monkeypatch: pytest.MonkeyPatch) -> None:
    offset = 1.0

    def shifted(x: Any) -> Any:
        if x[0] > 0:
            x = scaled(x) + offset
        return x

    compiled = np.compile(shifted, backend="eager", fullgraph=True)
    assert_same(numpy.array([3.0]), compiled(np.asarray([1.0])))
    offset = 5.0
    monkeypatch.setitem(globals(), "SCALE", 3.0)
    assert_same(numpy.array([8.0]), compiled(np.asarray([1.0])))


def test_generators_and_code_without_source() -> None:
    def items(x: Any) -> Any:
        for i in range(2):
            yield x + i

    assert_same(numpy.array([3.0]), np.compile(lambda x: sum(items(x)), backend="eager", fullgraph=True)(np.ones(1)))
    names: dict[str, Any] = {}
    exec("def function(x):\n    return x if x[0] > 0 else -x", names)
    with pytest.raises(np.TracedValueError):
        np.compile(names["function"], backend="eager", fullgraph=True)(np.ones(1))


def test_what_zip_gives_ends() -> None:
    def taken(x: Any) -> Any:
        pairs = zip(x, x[::-1], strict=True)
        first = next(pairs)
        total = first[0] * 10
        for one, other in pairs:
            total = total + one * other
        for one, _ in pairs:
            total = total + one * 1000
        return total

    same(taken, numpy.arange(12.0))


TOTAL = 0


def tally(value: Any) -> None:
    """Rebinds a global."""
    global TOTAL
    TOTAL = TOTAL + value


def tallied_in_a_branch(x: Any) -> Any:
    if x[0] > 0:
        tally(x[1])
    return x * TOTAL


def tallied_in_loops(x: Any) -> Any:
    for i in range(len(x)):
        if x[i] > 0:
            outer_tally(1)
        for j in range(i):
            outer_tally(j * 0.5)
    return x * TOTAL


def outer_tally(value: Any) -> None:
    tally(value)


def tallied_by_a_closure(x: Any) -> Any:
    total = 0.0

    def add(value: Any) -> None:
        nonlocal total
        total += value

    for each in x:
        if each > 1:
            add(each)
        else:
            add(1)
    return x * total


@pytest.mark.parametrize("function", [tallied_in_a_branch, tallied_in_loops, tallied_by_a_closure])
def test_variables_that_called_functions_rebind(monkeypatch: pytest.MonkeyPatch, function: Function) -> None:
    """They are variables of the branch or the loop that calls the function."""
    results = []
    for xp in (numpy, np):
        monkeypatch.setitem(globals(), "TOTAL", 0.0)
        called = function if xp is numpy else np.compile(function, backend="eager", fullgraph=True)
        results.append((called(xp.asarray(LONG)), xp.asarray(TOTAL)))
    assert_same(*[result for result, _ in results], rtol=1e-12)
    assert_same(*[total for _, total in results], rtol=1e-12)


def test_containers_that_called_functions_change() -> None:
    """The error names the line."""
    kept: dict[str, Any] = {}

    def keep(value: Any) -> None:
        kept["value"] = value

    def outer_keep(value: Any) -> None:
        keep(value)

    def function(x: Any) -> Any:
        if x[0] > 0:
            outer_keep(1)
        return x

    where = rf"test_autograph\.py:{function.__code__.co_firstlineno + 1}"
    with pytest.raises(NotImplementedError, match=f"{where}: a branch whose condition is traced changes a dict"):
        np.compile(function, backend="eager", fullgraph=True)(np.ones(2))
    assert not kept


def test_membership() -> None:
    def program(xp: Any, x: Any, n: Any) -> Any:
        out = xp.zeros(600)
        for i in range(600):
            if i in (0, 599, 5):
                out[i] = 1
            elif i in range(500, 10, -7) or i in range(0):
                out[i] = 2
            elif i not in {3, 4} and x[i] in x[:10]:
                out[i] = 3
            elif n in [i, 7]:
                out[i] = 4
            elif i + 0.5 in (550.5, 51):
                out[i] = 5
            elif 3 in (1, 2, 3) and "b" not in ["a"]:
                out[i] += 0.5
        return out

    x = numpy.arange(600.0) % 50
    compiled = np.compile(lambda x, n: program(np, x, n), backend="eager", fullgraph=True)
    assert_same(program(numpy, x, 540), compiled(np.array(x), np.asarray(540)))


def shrunk(x: Any) -> Any:
    n = 0
    while (total := x.sum()) > 1.0:
        x = x * 0.5
        if total > 5:
            continue
        n += 1
    return total, n


def found_in_a_test(x: Any) -> Any:
    total = x[0] * 0
    for i in range(40):
        if (value := x[i % 10]) > 2:
            total += value
        total = total + (double := value * 2) + double
    while not (largest := x.max()) < 1:
        x = x * 0.5
    return total, value, double, largest


@pytest.mark.parametrize("function", [shrunk, found_in_a_test])
def test_assignments_in_expressions(function: Callable[[Any], Any]) -> None:
    x = numpy.arange(10.0)
    actual = np.compile(function, backend="eager", fullgraph=True)(np.asarray(x))
    numpy.testing.assert_allclose(numpy.asarray(actual), numpy.asarray(function(x)), rtol=1e-14)
