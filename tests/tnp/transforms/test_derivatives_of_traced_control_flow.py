"""Derivatives, inside compiled functions, of branches and loops that depend on values: against the same eagerly."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from typing import Any

import numpy
import pytest

import tnp as np

Function = Callable[[Any], Any]
STEPS = np.asarray(5)
ALONG = np.asarray([1.0, -0.5, 2.0])


def branch(x: Any) -> Any:
    return np.cond(x.sum() > 0.5, lambda x: np.sin(x) * x, lambda x: x**3, x).sum()


def branch_that_would_be_nan(x: Any) -> Any:
    return np.cond(x.sum() > 5, np.sqrt, lambda x: x**3, x).sum()


def branch_of_what_is_around(x: Any) -> Any:
    y = x * 2
    return np.cond(x[0] > 0, lambda: y * x, lambda: x + 1).sum()


def branch_in_a_branch(x: Any) -> Any:
    return np.cond(x[0] > 0, lambda x: np.cond(x[1] > 0, lambda x: x**2, lambda x: x**3, x), lambda x: x, x).sum()


def switched(x: Any) -> Any:
    return np.switch(np.argmax(x), [np.sin, np.cos, lambda x: x**3], x).sum()


def branch_in_a_scan(x: Any) -> Any:
    def step(c: Any, r: Any) -> Any:
        return np.cond(c.sum() > 0, lambda c: c * r, lambda c: np.sin(c), c), c

    return np.scan(step, x, np.stack([x, x]))[0].sum()


def bounded_loop(x: Any) -> Any:
    return np.while_loop(lambda c: (c * c).sum() < 50, lambda c: c * 1.5 + np.sin(x), x, 20).sum()


def loop(x: Any) -> Any:
    return np.while_loop(lambda c: (c * c).sum() < 50, lambda c: c * 1.5 + np.sin(x), x).sum()


def counted_loop(x: Any) -> Any:
    return np.fori_loop(0, STEPS, lambda i, c: c * 1.5 * x + np.sin(c), x).sum()


def plain_branch(x: Any) -> Any:
    y = x * 2
    if x[0] > 0:
        y = y * x if x[1] > 0 else y + x[0] ** 2
        x = np.sin(x)
    elif x[1] > 0 and not x[2] > 5:
        return (x**3).sum()
    return (x * y).sum()


def plain_loop(x: Any) -> Any:
    steps = 0
    while (x * x).sum() < 50:
        x = x * 1.5 + np.sin(x) * 0.5**steps
        steps += 1
    return x.sum()


def plain_counted_loop(x: Any) -> Any:
    total = x * 0
    for i in range(STEPS * 1):
        total = total * x + i * x
    return total.sum()


def plain_writes(x: Any) -> Any:
    y = x * 2
    for i in range(3):
        if x[i] > 0:
            y[i] = y[i - 1] * x[i] ** 2
    return (y * y).sum()


def by_tape(function: Function) -> Function:
    def run(x: Any) -> Any:
        with np.GradientTape() as tape:
            x = x * 1.0
            tape.watch(x)
            y = function(x)
        return tape.gradient(y, x)

    return run


FORWARD: dict[str, Callable[[Function], Function]] = {
    "value": lambda f: f,
    "jvp": lambda f: lambda x: np.jvp(f, (x,), (ALONG,))[1],
    "jvp of jvp": lambda f: lambda x: np.jvp(lambda x: np.jvp(f, (x,), (ALONG,))[1], (x,), (ALONG,))[1],
    "jacobian": lambda f: np.jacobian(f),
    "jvp of slices": lambda f: (
        lambda x: np.vectorized_map(
            lambda scale: np.jvp(lambda x: f(x * scale), (x,), (ALONG,))[1], np.asarray([0.5, 1.0, 3.0])
        )
    ),
}
TRANSFORMS: dict[str, Callable[[Function], Function]] = {
    "value": FORWARD["value"],
    "jvp": FORWARD["jvp"],
    "jvp of jvp": FORWARD["jvp of jvp"],
    "grad": lambda f: np.grad(f),
    "vjp": lambda f: lambda x: np.vjp(f, x)[1](np.asarray(2.0))[0],
    "grad of grad": lambda f: np.grad(lambda x: (np.grad(f)(x) ** 2).sum()),
    "hessian": lambda f: np.hessian(f),
    "jvp of grad": lambda f: lambda x: np.jvp(np.grad(f), (x,), (ALONG,))[1],
    "jacobian": lambda f: np.jacobian(f, mode="reverse"),
    "linearize": lambda f: lambda x: np.linearize(f, x)[1](ALONG),
    "tape": by_tape,
}
FIRST_ORDER = ("value", "jvp", "grad", "vjp", "jacobian", "tape")
POINTS = ([0.6, -0.4, 0.9], [-0.6, 0.4, 0.1], [0.6, 0.4, 0.1])


def in_turn(transforms: Iterable[str]) -> list[Any]:
    """The names as parameters: every fifth one of second order, which take seconds."""
    return [pytest.param(name, marks=[pytest.mark.walk] * (name not in FIRST_ORDER)) for name in transforms]


def check(function: Function, transform: Callable[[Function], Function], backend: str = "eager") -> None:
    compiled = np.compile(transform(function), backend=backend)
    for point in POINTS:
        x = np.asarray(point)
        expected = np.asnumpy(transform(function)(x))
        numpy.testing.assert_allclose(np.asnumpy(compiled(x)), expected, rtol=1e-10, atol=1e-12)
    assert compiled.cache_info().traces == 1


@pytest.mark.parametrize("transform", in_turn(TRANSFORMS))
@pytest.mark.parametrize(
    "function",
    [
        branch,
        branch_that_would_be_nan,
        branch_of_what_is_around,
        branch_in_a_branch,
        switched,
        branch_in_a_scan,
        bounded_loop,
        plain_branch,
        plain_writes,
    ],
)
def test_branches_and_bounded_loops(function: Function, transform: str) -> None:
    check(function, TRANSFORMS[transform])


@pytest.mark.parametrize("transform", in_turn(FORWARD))
@pytest.mark.parametrize("function", [loop, counted_loop, plain_loop, plain_counted_loop, plain_writes])
def test_forward_mode_of_loops(function: Function, transform: str) -> None:
    check(function, FORWARD[transform])


@pytest.mark.parametrize("function", [branch, bounded_loop])
def test_machine_code(function: Function) -> None:
    check(function, np.grad, "inductor")


def test_zeros_without_memory_in_machine_code() -> None:
    """torch's second derivatives make zeros that have no memory, and the code of a loop reads and writes its inputs."""

    def step(c: Any, i: Any) -> Any:
        y = c * 1.0
        y[y > 0] *= 2
        return np.sin(y) * 0.5 + i * 0.01, None

    def second(x: Any) -> Any:
        def along(x: Any) -> Any:
            return np.jvp(lambda x: np.scan(step, x * 1.0, np.arange(18.0))[0], (x,), (np.ones(3),))[1]

        return np.linearize(along, x)[1](np.ones(3))

    x = np.asarray([0.1, -0.2, 0.3])
    compiled = np.compile(second)
    np.testing.assert_allclose(compiled(x), second(x))
    np.testing.assert_allclose(compiled(x), second(x))


@pytest.mark.parametrize("transform", ["grad", "vjp", "jacobian", "tape"])
@pytest.mark.parametrize("function", [loop, counted_loop, plain_loop, plain_counted_loop])
def test_reverse_mode_of_loops_says_what_it_needs(function: Function, transform: str) -> None:
    with pytest.raises(NotImplementedError, match=r"control_flow.py:\d+: reverse mode .* maximum_iterations"):
        np.compile(TRANSFORMS[transform](function), backend="eager", fullgraph=True)(np.asarray(POINTS[0]))


def summed(length: int) -> Function:
    def run(x: Any) -> Any:
        total = 0.0
        for i in range(length):
            total = total * 0.5 + x[i % 3] ** 2 * np.sin(total) + i * x.sum() * 0.01
        return total

    return run


def over_rows(length: int) -> Function:
    def run(x: Any) -> Any:
        total, last = x.sum(), x
        for row in np.outer(np.arange(length) * 0.1, x):
            total, last = np.tanh(total + row @ last), row
        return total + last.sum()

    return run


def filled(length: int) -> Function:
    def run(x: Any) -> Any:
        y = np.zeros(length)
        y[0] = x[0]
        for i in range(1, length):
            y[i] = y[i - 1] * x[i % 3] * 0.9 + 1
        return (y * y).sum()

    return run


@pytest.mark.parametrize("transform", ["grad", "vjp", "linearize", "tape"])
@pytest.mark.parametrize("function", [summed, over_rows, filled])
def test_long_plain_loops(function: Callable[[int], Function], transform: str) -> None:
    check(function(18), TRANSFORMS[transform])


@pytest.mark.parametrize("function", [summed, over_rows, filled])
def test_the_graph_of_a_gradient_does_not_grow_with_the_steps(function: Callable[[int], Function]) -> None:
    x = np.asarray(POINTS[0])
    short, long = [len(list(np.compile(np.grad(function(length))).graph(x))) for length in (50, 500)]
    assert short == long


def test_the_graph_of_a_scans_gradient_does_not_grow_with_the_steps() -> None:
    def run(x: Any, xs: Any) -> Any:
        carry, ys = np.scan(lambda c, r: (np.tanh(c * r) + x, c), x, xs)
        return carry.sum() + ys.sum()

    compiled = np.compile(np.grad(run))
    short, long = [len(list(compiled.graph(np.asarray(POINTS[0]), np.ones((length, 3))))) for length in (400, 4000)]
    assert short == long


def test_gradients_in_a_plain_loop() -> None:
    """Each step takes the gradient of a function that branches."""

    def trained(x: Any) -> Any:
        for _ in range(20):
            x = x - 0.05 * np.grad(plain_branch)(x)
        return x

    check(trained, lambda f: f)


def test_tapes_in_a_plain_loop() -> None:
    """Each step has a tape, outside of which nothing records."""

    def trained(x: Any) -> Any:
        for _ in range(20):
            x = x - 0.05 * by_tape(plain_writes)(x)
        return x

    check(trained, lambda f: f)


@pytest.mark.parametrize("compiled", [False, True])
def test_a_bound_ends_the_loop(compiled: bool) -> None:
    def run(x: Any) -> Any:
        return np.while_loop(lambda c: c < 10, lambda c: c + 1, x, maximum_iterations=3)

    run = np.compile(run, backend="eager") if compiled else run
    assert run(np.asarray(0)) == 3
    assert run(np.asarray(9)) == 10


def test_a_gradient_in_a_step_of_a_long_scan() -> None:
    def run(x: Any) -> Any:
        def step(c: Any, i: Any) -> Any:
            return c * 0.5 + np.grad(lambda c: (np.tanh(c) ** 3).sum())(c) * i * 0.1, None

        return np.scan(step, x, np.arange(20.0))[0].sum()

    check(run, np.grad)


@pytest.mark.parametrize("length", [3, 20])
def test_scans_on_a_tape(length: int) -> None:
    def run(x: Any) -> Any:
        carry, ys = np.scan(lambda c, i: (np.sin(c) + i * x, c * x), x, np.arange(float(length)))
        return carry.sum() + (ys**2).sum()

    check(run, by_tape)


@pytest.mark.parametrize("length", [3, 18, 200])
@pytest.mark.parametrize("loop", ["scan", "fori_loop"])
def test_loops_in_a_branch(loop: str, length: int) -> None:
    def repeated(x: Any) -> Any:
        if loop == "scan":
            return np.scan(lambda c, i: (np.sin(c) + i * x, None), x, np.arange(float(length)))[0]
        return np.fori_loop(0, length, lambda i, c: np.sin(c) + 0.01 * i, x)

    def run(x: Any) -> Any:
        return np.cond(x[0] > 0.2, repeated, lambda x: repeated(x) * 0.5 - x, x).sum()

    check(run, np.grad)
    check(run, by_tape)


def test_what_a_branch_can_not_hold_is_named() -> None:
    def taped(x: Any) -> Any:
        with np.GradientTape() as tape:
            tape.watch(x)
            y = (x * x).sum()
        return tape.gradient(y, x)

    differentiated = np.grad(lambda x: np.cond(x[0] > 0.2, taped, lambda x: x, x).sum())
    with pytest.raises(NotImplementedError, match=r"control_flow.py:\d+: .* a GradientTape: use tnp.grad"):
        np.compile(differentiated, backend="eager", fullgraph=True)(np.asarray([0.5, 0.25]))


VIEWS: dict[str, Function] = {
    "transposed": lambda x: x.T,
    "with gaps": lambda x: x[::2, ::3],
    "transposed with gaps": lambda x: x[1:5, 2:6].T,
}


def _turned(flag: Any, x: Any) -> Any:
    a = x[::-1]
    return np.cond(flag > 0, lambda: a * 1, lambda: a.T[:2, :2].sum() * a)


def _with_strides(flag: Any, x: Any) -> Any:
    view = np.lib.stride_tricks.as_strided
    return np.cond(
        flag > 0,
        lambda: view(x, (2, 2), x.strides) * 1,
        lambda: view(x, (2, 2), x.strides[::-1]) * 2,
    )


@pytest.mark.filterwarnings("ignore:vectorized_map calls", "ignore:tnp.compile. .* is cut")
@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("function", [_turned, _with_strides])
def test_places_in_memory_in_a_branch(function: Callable[[Any, Any], Any], view: str) -> None:
    """A view by its place in memory, in a branch whose inputs get another order of their axes."""
    flags, batch = np.asarray([0.5, -2.0]), np.arange(72.0).reshape(2, 6, 6)

    def total(flag: Any, x: Any) -> Any:
        return (function(flag, VIEWS[view](x)) ** 2).sum()

    def gradients(flags: Any, batch: Any) -> Any:
        return np.stack([np.grad(total, argnums=1)(flag, x) for flag, x in zip(flags, batch, strict=True)])

    def forward(flags: Any, batch: Any) -> Any:
        pairs = zip(flags, batch, strict=True)
        return np.stack([np.jvp(functools.partial(total, flag), (x,), (x * 0 + 1,))[1] for flag, x in pairs])

    def each(flags: Any, batch: Any) -> Any:
        return np.vectorized_map(lambda element: total(*element), (flags, batch))

    def gradient_of_each(flags: Any, batch: Any) -> Any:
        return np.vectorized_map(lambda element: np.grad(lambda x: total(element[0], x))(element[1]), (flags, batch))

    for transform in (gradients, forward, each, gradient_of_each):
        expected = transform(flags, batch)
        np.testing.assert_allclose(np.compile(transform, backend="eager")(flags, batch), expected)


@pytest.mark.parametrize("first", [0.5, -0.5])
def test_a_tape_around_the_gradient_of_a_branch_that_writes_outside(first: float) -> None:
    """The trace of a branch is no part of what the tape has recorded of the array that the branch writes to."""
    buffer = np.zeros(3)

    def product(x: Any) -> Any:
        if x[0] > 0:
            buffer[0] = x[0] * x[1]
        else:
            buffer[...] += x
        return (x * buffer).sum()

    def by_tape(x: Any) -> Any:
        with np.GradientTape() as tape:
            x = x * 1.0
            tape.watch(x)
            buffer[...] = x * 3
            y = np.grad(product)(x).sum()
        return tape.gradient(y, x)

    x = np.asarray([first, 1.5, -0.7])
    np.testing.assert_allclose(np.compile(by_tape, backend="eager")(x), by_tape(x))


def test_a_branch_that_reads_what_a_derivative_wrote_outside_says_so() -> None:
    buffer = np.zeros(3)

    def total(x: Any) -> Any:
        buffer[...] = x * 2
        if x[0] > 0:
            y = buffer * x
        else:
            y = buffer + x
        return y.sum()

    x = np.asarray([1.0, 2.0, -3.0])
    with pytest.warns(RuntimeWarning, match=r"control_flow.py:\d+: .* array from outside of the derivative that was"):
        found = np.compile(np.grad(total), backend="eager")(x)
    np.testing.assert_allclose(found, 4 * x)


def _halves(x: Any) -> Any:
    y, steps = x * 1.0, 0
    while y.sum() > 0.3 and steps < 6:
        y = y * 0.5
        y[steps % 3] = x[0] * y[1]
        steps += 1
    return (y + steps).sum()


def test_second_derivatives_of_a_while_loop_say_what_they_need() -> None:
    """A batch of the loop ended in an assertion of torch, in the rule of an operation of tnp's."""
    x = np.asarray([0.77, 0.29, 0.28])
    with pytest.warns(RuntimeWarning, match="reverse mode through a compiled loop needs a bound on its steps"):
        found = np.compile(lambda x: np.hessian(_halves)(x), backend="eager")(x)
    numpy.testing.assert_allclose(np.asnumpy(found), np.asnumpy(np.hessian(_halves)(x)))


def test_writes_of_a_branch_in_a_loop_that_ends_early() -> None:
    def settled(x: Any) -> Any:
        r = np.ones(4) / 4
        for i in range(40):
            new = np.ones(4) * 0.1
            if x[i % 4].sum() > 1:
                new += 0.2 * r * x[0]
            else:
                new += 0.1 * r[i % 4] * x[i % 4]
            if np.abs(new - r).sum() < 1e-3:
                break
            r = new
        return (r * x[1]).sum()

    x = numpy.random.default_rng(0).random((4, 4))
    step = numpy.random.default_rng(1).random((4, 4))
    compiled = np.compile(np.grad(settled), backend="eager", fullgraph=True)(np.asarray(x))
    expected = (settled(np.asarray(x + 1e-6 * step)) - settled(np.asarray(x - 1e-6 * step))) / 2e-6
    numpy.testing.assert_allclose((np.asnumpy(compiled) * step).sum(), float(expected), rtol=1e-7)
