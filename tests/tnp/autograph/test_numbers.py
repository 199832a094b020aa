"""Numbers of Python's that a graph decides or counts: they promote as Python's do (NEP 50)."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy
import pytest

import tnp as np
from tests.oracle import assert_same, outcome, placed
from tests.tnp.autograph.test_autograph import same


def decided(x: Any) -> Any:
    scale, shift = 1, 0.5
    if x[0] > 0:
        scale = 2.5
    elif x[1] > 0:
        scale, shift = 3, shift * 2
    return x * scale + shift, x - (1 if x[1] > 0 else 2), scale * shift + 1


def indexed(x: Any) -> Any:
    for i in range(40):
        x = x + i / (i + 1) - (i % 7) * 0.25 + i // 3 - (-i) ** 2 * 1e-3 + divmod(i, 4)[1]
    return x


def counted(x: Any, n: Any) -> Any:
    total = 0
    for i in range(1, n):
        for number, row in enumerate(x):
            total += (row > 3) + i * number * (i > number)
        x = x + i
    return x * total


def grown(x: Any) -> Any:
    step, steps = 0.25, 0
    while x[0] < 20:
        step *= 1.5
        x = x + step
        steps += True
    return x * step, x * steps


def mathematical(x: Any) -> Any:
    for i in range(300):
        x = (
            x * 0.5
            + math.sqrt(i)
            + int(i > 4)
            + float(i) * abs(-i)
            + max(i, 3)
            - min(2, i)
            + (not i)
            + math.floor(i / 2)
        )
    return x


def functions(x: Any) -> Any:
    """Functions of NumPy that take Python's numbers as operators do, and one that makes arrays of them."""
    for i in range(300):
        half = i / 2
        x = np_of(x).where(x > half, x, half) - np_of(x).clip(x, 0, half) + np_of(x).maximum(x, i)
        x = np_of(x).multiply(x, half) * 1e-3
    return x


def made(x: Any) -> Any:
    total = x.astype("float64")
    for i in range(300):
        total = total + np_of(x).sqrt(i) + np_of(x).add(i, 1) * x
    return total


def compared(x: Any) -> Any:
    """No integer is too large to be compared with."""
    total = 0
    for i in range(300):
        if x[0] < i - 100:
            total += i
    return total


def in_containers(x: Any) -> Any:
    state = {"a": 0, "b": [1.0, 0.0]}
    for i in range(40):
        state = {"a": i, "b": [state["b"][0] * 0.5, state["b"][1] + x[i % 3]]}
    return x * state["a"], x * state["b"][0], state["b"][1]


def np_of(x: Any) -> Any:
    return numpy if isinstance(x, numpy.ndarray) else np


FLOATS = numpy.array([1.5, -2.0, 7.0], numpy.float32)
CASES: list[tuple[Callable[..., Any], tuple[Any, ...]]] = [
    (decided, (FLOATS,)),
    (decided, (-FLOATS,)),
    (decided, (numpy.array([1, 0], numpy.float16),)),
    (indexed, (FLOATS,)),
    (indexed, (FLOATS.astype(numpy.float64),)),
    (counted, (FLOATS, numpy.array(5))),
    (counted, (numpy.arange(9, dtype=numpy.float32), 40)),
    (grown, (FLOATS,)),
    (mathematical, (FLOATS,)),
    (functions, (FLOATS,)),
    (made, (FLOATS,)),
    (compared, (numpy.array([200], numpy.uint8),)),
    (in_containers, (FLOATS,)),
]


@pytest.mark.parametrize(("function", "args"), CASES)
def test_promotion(function: Callable[..., Any], args: tuple[Any, ...]) -> None:
    same(function, *args, rtol=1e-5)


def test_machine_code() -> None:
    same(indexed, FLOATS, backend="inductor", rtol=1e-5)


def test_numbers_that_are_arguments() -> None:
    """A traced argument is a number, too, and so is what it gives with one that a branch decides."""

    def function(x: Any, rate: float) -> Any:
        factor = rate if x[0] > 0 else rate * 2
        for i in range(40):
            x = x * 0.5 + factor * i + i * rate
        return x * (factor + 1)

    compiled = same(function, FLOATS, 0.5, rtol=1e-5)
    for rate, x in ((0.5, -FLOATS), (0.25, FLOATS)):
        assert_same(function(x, rate), compiled(placed(np, x), rate), rtol=1e-5)
    assert compiled.cache_info().traces == 1


def test_a_step_gives_a_number_an_array() -> None:
    """From then on it has the array's dtype: of another one than a Python number it would promote as."""

    def function(x: Any) -> Any:
        total = 0.0
        for i in range(40):
            total = total + x[i % 3]
        return total * numpy.ones(2, numpy.float32)

    compiled = np.compile(function, backend="eager", fullgraph=True)
    expected = function(FLOATS.astype(numpy.float64))
    assert_same(expected, compiled(placed(np, FLOATS.astype(numpy.float64))), rtol=1e-12)


def test_lists_that_are_repeated() -> None:
    """A list is not multiplied by a number, and its length can't be the graph's."""

    def function(x: Any) -> Any:
        for i in range(300):
            x = x + len([1.0] * i)
        return x

    with pytest.warns(RuntimeWarning, match="300 steps of a loop are unrolled"):
        same(function, FLOATS)


def triples(k: Any) -> Any:
    n = 1
    while k > 0:
        n, k = n * 3, k - 1
    return n


def sums_of_two(k: Any) -> Any:
    one, other = 0, 1
    while k > 0:
        one, other, k = other, one + other, k - 1
    return one, other


def from_the_largest(k: Any) -> Any:
    best, least = 2**63 - 2, -(2**63) + 2
    while k > 0:
        best, least, k = best + 1, least - 1, k - 1
    return best, least


def shifted(k: Any) -> Any:
    n = -1
    for _ in range(100):
        if k > 0:
            n = (n << 1) - 1 if n % 2 else n * 2
            k = k - 1
    return n


def powers(k: Any) -> Any:
    m = 2 if k > 0 else 2**40
    while k > 0:
        m, k = m**2 + 1, k - 1
    return m * m


def modulo(k: Any) -> Any:
    seed, count = 12345, 0
    while k > 0:
        seed = (seed * 1103515245 + 12345) % 2**31
        if seed % 2:
            count += 1
        k = k - 1
    return seed, count, seed * 2**31


@pytest.mark.parametrize("function", [triples, sums_of_two, from_the_largest, shifted, powers, modulo])
def test_an_int_that_is_too_large_raises(function: Callable[..., Any]) -> None:
    """Python's ints have any size: what a graph returns is right."""
    compiled = np.compile(function, backend="eager", fullgraph=True)
    outcomes = set()
    for k in (0, 1, 2, 4, 6) if function is powers else (0, 1, 2, 5, 39, 40, 62, 63, 64, 95, 99):
        expected = function(k)
        expected = expected if isinstance(expected, tuple) else (expected,)
        try:
            found = compiled(np.asarray(k))
        except OverflowError as error:
            assert max(map(abs, expected)) >= 2**62 and "too large for 64 bits" in str(error)
            outcomes.add("raises")
        else:
            assert [int(each) for each in (found if isinstance(found, tuple) else (found,))] == list(expected)
            outcomes.add("right")
    assert outcomes == ({"right"} if function is modulo else {"right", "raises"})


def test_an_int_that_an_array_cant_hold_raises() -> None:
    """NumPy's arrays refuse Python's ints beyond their dtype, and cast its scalars."""

    def stored(n: Any, x: Any) -> Any:
        value = 1
        for i in range(n):
            value = -value * 10
            x[i] = value
        return x

    def added(n: Any, x: Any) -> Any:
        value = 1
        while value < n:
            value = value * 8
        return x + value

    for function, dtypes, arguments in (
        (stored, ("int8", "uint64", "float32"), (1, 2, 3, 10)),
        (added, ("uint8", "int32"), (7, 65, 128, 2**40)),
    ):
        compiled = np.compile(function, backend="eager", fullgraph=True)
        for dtype in dtypes:
            for n in arguments:
                expected = outcome(lambda n, x, f=function: f(n, x), n, numpy.zeros(12, dtype))
                actual = outcome(lambda n, x, f=compiled: f(n, x), np.asarray(n), np.zeros(12, dtype))
                assert_same(expected, actual)


def _rooted(x: Any) -> Any:
    try:
        return math.sqrt(x[0]) * x
    except ValueError:
        return x * 0 - 1


def _divided(x: Any) -> Any:
    try:
        return 1 / float(x[0]) * x
    except ZeroDivisionError:
        return x * 0 - 1


def _grown(x: Any) -> Any:
    try:
        return math.exp(x[0]) * x
    except OverflowError:
        return x * 0 - 1


@pytest.mark.filterwarnings("ignore:tnp.compile.*is cut")
@pytest.mark.parametrize(("function", "value"), [(_rooted, -1.0), (_divided, 0.0), (_grown, 1000.0)])
def test_the_program_handles_errors_of_pythons_numbers(function: Callable[[Any], Any], value: float) -> None:
    compiled = np.compile(function, backend="eager")
    for first in (1.0, value, 2.0):
        x = np.asarray([first, 2.0])
        assert compiled(x).tolist() == function(x).tolist()
