"""static_argnums and static_argnames: which arguments a trace is of, and what they have to be."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy
import pytest

import tnp as np

X = [1.0, 2.0]


class Config:
    def __init__(self, factor: float) -> None:
        self.factor = factor

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Config) and other.factor == self.factor

    def __hash__(self) -> int:
        return hash(self.factor)


def traces(fn: Any) -> int:
    return fn.cache_info().traces


@pytest.mark.parametrize("options", [{"static_argnums": 1}, {"static_argnums": -1}, {"static_argnames": "n"}], ids=str)
def test_each_value_is_a_trace(options: Any) -> None:
    times = np.compile(lambda x, n: x * n, backend="eager", **options)
    x = np.asarray(X)
    assert [times(x, 1.5).tolist(), times(x, 1.5).tolist(), times(x, 2.5).tolist()] == [
        [1.5, 3.0],
        [1.5, 3.0],
        [2.5, 5],
    ]
    assert traces(times) == 2
    assert times(x, n=1.5).tolist() == [1.5, 3.0]
    assert times(x, 3).dtype == times(np.asarray([1, 2]), 3.0).dtype == float
    assert times(np.asarray([1, 2]), 3).dtype == int


def test_objects_that_are_equal() -> None:
    times = np.compile(lambda x, c: x * c.factor, static_argnums=1, backend="eager")
    found = [times(np.asarray(X), Config(factor)).tolist() for factor in (2, 2, 3, 2)]
    assert found == [[2, 4], [2, 4], [3, 6], [2, 4]]
    assert traces(times) == 2


def test_containers() -> None:
    made = np.compile(lambda shape, x: np.zeros(shape) + x, static_argnums=(0,), backend="eager")
    assert made((2, 3), 1.0).shape == (2, 3)
    assert made((3,), 1.0).shape == (3,)


def test_methods_of_compiled_functions(tmp_path: Path) -> None:
    times = np.compile(lambda x, n: x * n, static_argnums=1, backend="eager")
    x = np.asarray(X)
    assert times.graph(x, 2.5).count("input") == 1
    times.warmup(x, 2.5)
    times.save(tmp_path / "times.pt2", x, 2.5)
    assert np.load_compiled(tmp_path / "times.pt2", backend="eager")(x, 2.5).tolist() == [2.5, 5.0]
    assert times(x, 2.5).tolist() == [2.5, 5.0]


def test_transforms() -> None:
    loss = np.compile(lambda x, n: (x**n).sum(), static_argnames=("n",), backend="eager")
    x = np.asarray(X)
    assert np.grad(loss)(x, 3).tolist() == [3.0, 12.0]
    assert np.grad(lambda x: loss(x, n=3))(x).tolist() == [3.0, 12.0]
    assert np.compile(lambda x: loss(x, 3), backend="eager")(x) == 9.0
    tripled = np.compile(lambda x, n=3: x * n, static_argnums=1, backend="eager")
    assert np.vectorized_map(tripled, x).tolist() == [3.0, 6.0]


@pytest.mark.parametrize("value", [[1], {}, np.ones(1)], ids=["list", "dict", "array"])
def test_what_can_not_be_hashed(value: Any) -> None:
    times = np.compile(lambda x, n: x, static_argnums=1, backend="eager")
    with pytest.raises(ValueError, match="Non-hashable static arguments are used in a compiled function: argument 1"):
        times(np.ones(1), value)


@pytest.mark.parametrize("options", [{"static_argnums": 1}, {"static_argnums": -2}, {"static_argnames": "y"}], ids=str)
def test_no_such_argument(options: Any) -> None:
    with pytest.raises(ValueError, match=r"no argument .*: it takes x"):
        np.compile(lambda x: x, **options)


def test_any_number_of_arguments() -> None:
    fn = np.compile(
        lambda *args, **kwargs: args[0] * kwargs["n"], static_argnums=1, static_argnames="n", backend="eager"
    )
    assert fn(np.asarray(X), 2.0, n=1.5).tolist() == [1.5, 3.0]


@pytest.mark.parametrize(
    ("one", "other"),
    [(0.0, -0.0), ((1, 0.0), (1, -0.0)), (0j, -0j), (numpy.float32(0), numpy.float32(-0.0)), ((1,), (1.0,))],
)
def test_equal_static_values_that_compute_differently(one: Any, other: Any) -> None:
    def function(x: Any, value: Any) -> Any:
        return np.copysign(x, np.asarray(value).real) * np.asarray(value).itemsize

    compiled = np.compile(function, backend="eager", static_argnums=1)
    x = numpy.ones(2, "i4")
    for value in (one, other, one):
        found, expected = compiled(x, value), function(x, value)
        numpy.testing.assert_array_equal(numpy.asarray(found), numpy.asarray(expected))
        assert found.dtype == expected.dtype
    assert compiled.cache_info().traces == 2
