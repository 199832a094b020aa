"""Random numbers in compiled loops and branches: a derivative has those that the values were computed with.

The functions multiply what they get by what they draw: they are linear, so each is its own derivative at ones.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy
import pytest

import tnp as np

Function = Callable[[Any], Any]
STEPS = np.arange(20.0)
generator = np.random.default_rng(0)


def drawn() -> Any:
    return np.random.uniform(0.5, 1.5, size=3)


def scanned(x: Any) -> Any:
    return np.scan(lambda c, i: (c * drawn() * generator.normal(1, 0.1, size=3), None), x, STEPS)[0]


def reversed_scan(x: Any) -> Any:
    carry, rows = np.scan(lambda c, i: (c * drawn(), c * (1 + i)), x, STEPS, reverse=True)
    return carry + rows.sum(0)


def counted(x: Any) -> Any:
    return np.fori_loop(0, 20, lambda i, c: c * generator.permutation(3) + c * drawn(), x) / 1e6


def plain_loop(x: Any) -> Any:
    for _ in range(200):
        x = x * np.random.gamma(np.full(3, 2.0)) / 2
    return x


def bounded_loop(x: Any) -> Any:
    loop = np.while_loop(lambda c: c[1].sum() < 6, lambda c: (c[0] + 1, c[1] * (drawn() + 0.5)), (0, x), 30)
    return loop[1]


def branch(x: Any) -> Any:
    return np.cond(x[0] > 0, lambda x: x * drawn() * drawn(), lambda x: x * generator.random(3), x)


def branch_in_a_branch(x: Any) -> Any:
    return np.cond(x[0] > 0, lambda x: np.cond(x[1] < 0, lambda x: x * 2, lambda x: x * drawn(), x), lambda x: x, x)


def branch_in_a_scan(x: Any) -> Any:
    def step(c: Any, i: Any) -> Any:
        return np.cond(i > 3, lambda c: c * drawn(), lambda c: c * 1.5, c) * drawn(), None

    return np.scan(step, x, STEPS)[0]


def branches_in_a_plain_loop(x: Any) -> Any:
    for _ in range(40):
        if x[0] > 1:
            x = x * drawn()
        else:
            x = x * (drawn() + 0.5)
    return x


def parameters_of_a_step(x: Any) -> Any:
    return np.scan(lambda c, i: (c * np.random.gamma(2 + i, size=3) / (2 + i), None), x, STEPS)[0]


def parameters_of_a_value(x: Any) -> Any:
    return np.scan(lambda c, i: (c * np.random.gamma(2 + 0 * np.stop_gradient(c)) / 2, None), x, STEPS)[0]


FUNCTIONS = [
    scanned, reversed_scan, counted, plain_loop, bounded_loop, branch, branch_in_a_branch, branch_in_a_scan,
    branches_in_a_plain_loop, parameters_of_a_step, parameters_of_a_value,
]  # fmt: skip


def by_grad(f: Function) -> Function:
    def with_value(x: Any) -> Any:
        value = f(x)
        return value.sum(), value

    return np.grad(with_value, has_aux=True)


def by_jvp(f: Function) -> Function:
    return lambda x: np.jvp(f, (x,), (np.ones(3),))


def by_tape(f: Function) -> Function:
    def run(x: Any) -> Any:
        with np.GradientTape() as tape:
            tape.watch(x)
            value = f(x)
            total = value.sum()
        return tape.gradient(total, x), value

    return run


def by_second(f: Function) -> Function:
    """The second derivative of f(x**2 / 2) at ones, less the first."""

    def slope(x: Any) -> Any:
        found, value = by_grad(lambda x: f(x**2 / 2))(x)
        return found.sum(), value

    def run(x: Any) -> Any:
        found, value = np.grad(slope, has_aux=True)(x)
        return found, value * 2

    return run


@pytest.mark.parametrize(
    ("function", "transform"),
    [
        *[(function, by_grad) for function in FUNCTIONS],
        *[(function, other) for function in (scanned, branch_in_a_scan) for other in (by_jvp, by_tape, by_second)],
    ],
)
def test_a_derivative_is_of_the_numbers_that_were_drawn(function: Function, transform: Any) -> None:
    found, value = np.compile(transform(function), backend="eager", fullgraph=True)(np.ones(3))
    numpy.testing.assert_allclose(np.asnumpy(found), np.asnumpy(value), rtol=1e-9)


@pytest.mark.host
@pytest.mark.parametrize("function", [scanned, branch_in_a_scan])
def test_machine_code(function: Function) -> None:
    found, value = np.compile(by_grad(function))(np.ones(3))
    numpy.testing.assert_allclose(np.asnumpy(found), np.asnumpy(value), rtol=1e-9)


def test_a_loop_with_draws_in_a_branch_stays_a_loop() -> None:
    def loop(length: int) -> Function:
        def step(c: Any, i: Any) -> Any:
            return np.cond(i > 3, lambda c: c * drawn(), lambda c: c, c), None

        return lambda x: np.scan(step, x, np.arange(float(length)))[0].sum()

    sizes = [len(list(np.compile(np.grad(loop(length))).graph(np.ones(3)))) for length in (20, 30)]
    assert sizes[0] == sizes[1]


def test_each_step_and_each_call_draws_others() -> None:
    def with_rows(x: Any) -> Any:
        carry, rows = np.scan(lambda c, i: (c * drawn(), drawn()), x, STEPS)
        return carry.sum(), rows

    compiled = np.compile(np.grad(with_rows, has_aux=True), backend="eager")
    rows = [np.asnumpy(compiled(np.ones(3))[1]) for _ in range(2)]
    assert len(set(numpy.ravel(rows).tolist())) == 120


def test_a_derivative_does_not_change_the_numbers() -> None:
    def loop(x: Any) -> Any:
        return np.scan(lambda c, i: (c * drawn() + drawn(), None), x, STEPS)[0]

    def with_value(x: Any) -> Any:
        value = loop(x)
        return value.sum(), value

    values = []
    for function in (loop, lambda x: np.grad(with_value, has_aux=True)(x)[1]):
        compiled = np.compile(function, backend="eager")
        np.random.seed(0)
        values.append(np.asnumpy(compiled(np.ones(3))))
    numpy.testing.assert_array_equal(*values)


def test_what_can_not_be_drawn_before_says_so() -> None:
    def branched(x: Any) -> Any:
        return np.cond(x[0] > 0, lambda x: x * np.random.gamma(1 + x), lambda x: x, x).sum()

    with pytest.raises(NotImplementedError, match=r"test_loop_draws.py:\d+: .* can't draw random numbers whose"):
        np.compile(np.grad(branched), backend="eager", fullgraph=True)(np.ones(3))


BATCHED = {
    "cond": lambda x: np.cond(x > 0, lambda: x * 0 + np.random.random(), lambda: x),
    "fori_loop": lambda x: np.fori_loop(0, 20, lambda i, v: v * 0 + np.random.random(), x),
    "while_loop": lambda x: np.while_loop(lambda v: v < 1, lambda v: v * 0 + np.random.random() + 1, x * 0),
    "scan": lambda x: np.scan(lambda c, y: (c, np.random.random()), x, np.arange(20.0))[1][0],
}


@pytest.mark.filterwarnings("ignore:vectorized_map calls the function once for each")
@pytest.mark.parametrize("name", BATCHED)
def test_each_element_of_a_batch_draws_its_own_numbers(name: str) -> None:
    x = np.asarray([1.0, 2.0, 3.0])
    for function in (BATCHED[name], np.grad(lambda x: BATCHED[name](x) * x)):
        drawn = np.compile(lambda x, f=function: np.vectorized_map(f, x), backend="eager")(x)
        assert len(set(drawn.tolist())) == 3
