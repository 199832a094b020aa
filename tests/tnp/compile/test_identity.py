"""One array that is passed twice is one array in the compiled function, as it is in Python."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy
from numpy.testing import assert_array_equal

import tnp as np


def compiled(function: Any) -> Any:
    return np.compile(function, backend="eager")


def chosen(x: Any, y: Any) -> Any:
    return x * 2 if x is y else x + 10 * y


def test_what_is_passed_twice_is_one_array() -> None:
    function = compiled(chosen)
    a, b = np.ones(3), np.ones(3)
    for _ in range(2):  # traced, then by the shortcut
        for args in ((a, a), (b, b), (a, b), (b, a)):
            for _ in range(2):
                assert_array_equal(np.asnumpy(function(*args)), numpy.asarray(chosen(*args)))
    assert function.cache_info().traces == 2


def test_in_containers_and_by_keyword() -> None:
    def function(pair: Any, *, last: Any) -> Any:
        return pair[0] is pair[1], pair[1] is last, pair[0]

    run = compiled(function)
    a, b, c = np.ones(3), np.ones(3), np.ones(3)
    for given, last in (((a, b), c), ((a, a), c), ((a, b), b), ((a, a), a), ((a, b), c)):
        for _ in range(2):
            assert run(given, last=last) == function(given, last=last)


def test_many_arrays() -> None:
    def function(arrays: Any) -> Any:
        return [[one is other for one in arrays] for other in arrays]

    run = compiled(function)
    own = [np.ones(3) for _ in range(6)]
    for arrays in (own, [*own[:5], own[0]], own, own[::-1]):
        for _ in range(2):
            assert run(arrays) == function(arrays)


def test_numpys_arrays() -> None:
    function = compiled(chosen)
    a, b = numpy.ones(3), numpy.ones(3)
    for args in ((a, a), (a, b), (a, a)):
        assert_array_equal(np.asnumpy(function(*args)), chosen(*args))


def test_a_tape_sees_both_names() -> None:
    @compiled
    def gradient(x: Any, z: Any) -> Any:
        with np.GradientTape() as tape:
            tape.watch(x)
            y = (x * z).sum()
        return tape.gradient(y, x)

    a, b = np.asarray([1.0, 2.0]), np.asarray([3.0, 5.0])
    for x, z, expected in ((a, a, [2, 4]), (a, b, [3, 5]), (b, b, [6, 10])):
        for _ in range(2):
            assert gradient(x, z).tolist() == expected


def test_a_new_shape_has_both_names() -> None:
    @compiled
    def reshaped(x: Any, z: Any) -> Any:
        x.shape = (3, 1)
        return z.shape

    x = np.arange(3.0)
    assert reshaped(x, x) == (3, 1) and x.shape == (3, 1)
    x, z = np.arange(3.0), np.arange(3.0)
    assert reshaped(x, z) == (3,) and x.shape == (3, 1)


def test_an_example_that_is_given_twice_stands_for_two(tmp_path: Path) -> None:
    function = compiled(lambda x, y: x + 10 * y)
    example = np.ones(3)
    function.save(tmp_path / "f.pt2", example, example)
    loaded = np.load_compiled(tmp_path / "f.pt2", backend="eager")
    assert loaded(np.ones(3), np.zeros(3)).tolist() == [1, 1, 1]
