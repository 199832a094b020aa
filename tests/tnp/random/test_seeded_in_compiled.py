"""Generators that a compiled function seeds itself; NumPy is the oracle."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy
import pytest

import tnp as np
from tests.oracle import assert_same

X = numpy.array([0.25, 0.5, 0.75])


def drawn(xp: Any, x: Any) -> Any:
    rng = xp.random.default_rng(3)
    return (
        x + rng.random(3) + rng.normal(1, 2, size=3) + rng.integers(9, size=3) + rng.gamma(2.0, size=3) + rng.random()
    )


def written(xp: Any, x: Any) -> Any:
    a = xp.random.default_rng(3).standard_normal(3)
    a += x
    return a


def permuted(xp: Any, x: Any) -> Any:
    rng, y = xp.random.default_rng(3), x.copy()
    rng.shuffle(y)
    return y + 10 * rng.permutation(x) + 100 * rng.choice(x, 3) + rng.permuted(x)


def spawned(xp: Any, x: Any) -> Any:
    one, two = xp.random.default_rng(3).spawn(2)
    return x + one.random(3) - two.random(3)


def legacy(xp: Any, x: Any) -> Any:
    rng = xp.random.RandomState(3)
    return x + rng.randn(3) + rng.randint(0, 9, 3) + rng.rand()


def long_loop(xp: Any, x: Any) -> Any:
    rng = xp.random.default_rng(3)
    for _ in range(20):
        x = x * 0.5 + rng.random(3)
    return x


def seeded_in_a_loop(xp: Any, x: Any) -> Any:
    for i in range(60):
        x = x * 0.5 + xp.random.default_rng(3).random(3) * i
    return x


def seeded_in_a_branch(xp: Any, x: Any) -> Any:
    if x.sum() > 0:
        rng = xp.random.default_rng(3)
        x = x + rng.random(3)
        x = x - rng.random(3) * 0.5
    return x


@pytest.mark.parametrize(
    "program",
    [drawn, written, permuted, spawned, legacy, long_loop, seeded_in_a_loop, seeded_in_a_branch],
    ids=lambda program: program.__name__,
)
def test_numpys_numbers_at_each_call(program: Callable[..., Any]) -> None:
    compiled = np.compile(lambda x: program(np, x), backend="eager")
    for _ in range(2):
        assert_same(program(numpy, X.copy()), compiled(np.array(X)))


def test_the_hidden_state() -> None:
    def program(xp: Any, x: Any) -> Any:
        xp.random.seed(5)
        return x + xp.random.rand(3)

    compiled = np.compile(lambda x: program(np, x), backend="eager")
    with pytest.warns(RuntimeWarning, match=r"use rng = default_rng\(seed\) in the function"):
        first = compiled(np.array(X))
    for actual in (first, compiled(np.array(X))):
        assert_same(program(numpy, X), actual)


@pytest.mark.parametrize("length", [3, 30])
def test_vectorized_map_draws_as_a_loop(length: int) -> None:
    def own(x: Any) -> Any:
        return x + np.random.default_rng(3).random(3)

    rows = numpy.arange(3.0 * length).reshape(length, 3)
    expected = rows + numpy.random.default_rng(3).random(3)
    assert_same(expected, np.compile(lambda x: np.vectorized_map(own, x), backend="eager")(np.array(rows)))


def draws_in_vectorized_map(x: Any) -> Any:
    rng = np.random.default_rng(3)
    return np.vectorized_map(lambda each: each + rng.random(), x)


def draws_in_a_branch(x: Any) -> Any:
    rng = np.random.default_rng(3)
    if x.sum() > 0:
        x = x + rng.random(3)
    return x


def draws_in_while(x: Any) -> Any:
    rng = np.random.default_rng(3)
    while x.sum() < 9:
        x = x + rng.random(3)
    return x


def draws_after_a_loop(x: Any) -> Any:
    rngs = []

    def step(i: Any, x: Any) -> Any:
        rngs.append(np.random.default_rng(3))
        return x + rngs[-1].random(3)

    return np.fori_loop(0, 300, step, x) + rngs[-1].random(3)


def traced_parameter(x: Any) -> Any:
    return np.random.default_rng(3).normal(x, 1.0)


def traced_seed(x: Any) -> Any:
    return np.random.default_rng(x.astype(int)).random(3)


@pytest.mark.parametrize(
    ("program", "kind", "message"),
    [
        (draws_in_a_branch, NotImplementedError, "can't draw from a generator.*draw all numbers at once"),
        (draws_in_while, NotImplementedError, "can't draw from a generator.*draw all numbers at once"),
        (draws_in_vectorized_map, NotImplementedError, "vectorized_map, can't draw.*draw all numbers at once"),
        (draws_after_a_loop, NotImplementedError, "can't draw from a generator.*draw all numbers at once"),
        (traced_parameter, np.TracedValueError, "Draw standard numbers and scale them"),
        (traced_seed, np.TracedValueError, "is no seed and no parameter"),
    ],
    ids=lambda value: getattr(value, "__name__", None),
)
def test_what_is_refused(program: Callable[..., Any], kind: type[Exception], message: str) -> None:
    with pytest.raises(kind, match=rf"test_seeded_in_compiled\.py:\d+: .*{message}"):
        np.compile(program, backend="eager", fullgraph=True)(np.array(X))


def in_clouds(np: Any, x: Any) -> Any:
    rng = np.random.default_rng(0)
    centres = rng.uniform(-10, 10, (5, 2))
    points = np.concatenate([rng.normal(centre, 0.7, (3, 2)) for centre in centres])
    rng.shuffle(points)
    return points + x[0], rng.random(2)


def around_a_sum(np: Any, x: Any) -> Any:
    rng = np.random.default_rng(0)
    first = rng.uniform(-1, 1, 3)
    drawn = rng.normal(x.sum(), 1, 3)
    return first + drawn + rng.random(3) * x


def of_two_seeds(np: Any, x: Any) -> Any:
    first = np.random.default_rng(int(x[0])).random(3)
    return first + np.random.default_rng(x[1].astype(int)).random(3)


def of_the_global_generator(np: Any, x: Any) -> Any:
    np.random.seed(int(x[0]))
    first = np.random.rand(3)
    np.random.seed(int(x[1]) + 1)
    return first + np.random.normal(x, 1.0)


@pytest.mark.parametrize("program", [in_clouds, around_a_sum, of_two_seeds, of_the_global_generator])
def test_python_draws_with_computed_parameters(program: Callable[..., Any]) -> None:
    """The graph is cut there; each call draws what NumPy draws."""
    compiled = np.compile(lambda x: program(np, x), backend="eager")
    with pytest.warns(RuntimeWarning, match="is cut at .*or seeds with a value, that the function computes"):
        compiled(np.array(X))
    for values in (X, X, [4.0, 5.0, 6.0]):
        assert_same(program(numpy, numpy.array(values)), compiled(np.array(values)), rtol=1e-12)


def test_a_generator_from_outside_draws_anew() -> None:
    rng = np.random.default_rng(3)
    compiled = np.compile(lambda x: x + rng.random(3), backend="eager")
    assert not (compiled(np.array(X)) == compiled(np.array(X))).any()


def test_a_bit_generator_that_may_be_from_outside() -> None:
    compiled = np.compile(lambda x: x + np.random.Generator(np.random.PCG64(3)).random(3), backend="eager")
    with pytest.warns(RuntimeWarning, match=r"other numbers than NumPy's.*default_rng\(seed\)"):
        compiled(np.array(X))
