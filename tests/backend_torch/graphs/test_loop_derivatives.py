"""Gradients of loops in compiled functions: loops again, whose values are those of the same loops run step by step."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy
import pytest

import tnp as np
from tests.oracle import assert_same

pytestmark = pytest.mark.host  # loops in machine code are the CPU's

Function = Callable[..., Any]
STEPS = 20
rng = numpy.random.default_rng(0)
SCALE, CAPTURED = numpy.float64(0.3), np.asarray(rng.random(4))


def states(h: Any, xs: Any, w: Any, reverse: bool = False) -> Any:
    def step(h: Any, x: Any) -> Any:
        h = np.tanh(h @ w + x * SCALE)
        return h, (h * CAPTURED, x)

    return np.scan(step, h, xs, reverse=reverse)


def network(h: Any, xs: Any, w: Any) -> Any:
    h, (hs, _) = states(h, xs, w)
    return h.sum() + (hs * hs).sum()


def reversed_network(h: Any, xs: Any, w: Any) -> Any:
    return (states(h, xs, w, reverse=True)[1][0] ** 2).sum()


def last_state(h: Any, xs: Any, w: Any) -> Any:
    return states(h, xs, w)[0].sum()


def counting(h: Any, xs: Any, w: Any) -> Any:
    def step(state: Any, x: Any) -> Any:
        n, h = state
        return (n + 1, h * x + n), n

    (n, h), ns = np.scan(step, (0, h), xs)
    return (h * n).sum() + ns.sum() * w.sum()


def counted(h: Any, xs: Any, w: Any) -> Any:
    return np.fori_loop(0, STEPS, lambda i, h: np.sin(h @ w) + xs[i] * i, h).sum()


def writing(h: Any, xs: Any, w: Any) -> Any:
    def body(i: Any, xs: Any) -> Any:
        xs[i] = np.cos(xs[i - 1]) * w[0] + xs[i]
        return xs

    return (np.fori_loop(1, STEPS, body, xs * 1.0) ** 2).sum() + h.sum()


def nested(h: Any, xs: Any, w: Any) -> Any:
    def step(h: Any, x: Any) -> Any:
        h = np.fori_loop(0, 3, lambda i, h: np.tanh(h @ w), h) + x
        return h, h

    return np.scan(step, h, xs)[1].sum()


def writing_around(h: Any, xs: Any, w: Any) -> Any:
    total = h * 0

    def step(h: Any, x: Any) -> Any:
        total[...] += h
        return h * x, None

    np.scan(step, h, xs)
    return total.sum() * w.sum()


def branching(h: Any, xs: Any, w: Any) -> Any:
    def step(h: Any, x: Any) -> Any:
        h = np.tanh(h @ w + x) if h[0] > x[0] else h * x
        return h, np.cond(h[1] > 0.1, lambda: np.cond(h[2] > 0.1, lambda: h, lambda: w[0]), lambda: x)

    h, hs = np.scan(step, h, xs)
    return h.sum() + (hs**2).sum()


def python_loop(h: Any, xs: Any, w: Any) -> Any:
    for x in xs:
        if h.sum() < 1:
            h = np.tanh(h @ w) + 0.5
        elif h[0] > 0.4:
            h = h * x
        h = h - 0.1
    return (h * CAPTURED).sum()


def deep(h: Any, xs: Any, w: Any) -> Any:
    def step(h: Any, x: Any) -> Any:
        h = np.fori_loop(0, 16, lambda i, h: np.tanh(h @ w) + 0.01 * i, h) + x
        _, hs = np.scan(lambda c, y: (c + y * h, c * SCALE), x, xs[:16])
        return np.cond(h[0] > x[0], lambda: np.scan(lambda c, y: (c * y, c), h, xs[4:])[1].sum(0), lambda: h), hs

    h, hs = np.scan(step, h, xs[:16])
    return (h * hs).sum()


def buffered(h: Any, xs: Any, w: Any) -> Any:
    def step(h: Any, x: Any) -> Any:
        made, sums = np.zeros(4), np.ones((2, 4))
        made[1:3] = h[:2] * x[2:]
        sums[0] += made[::-1]
        return h * 0.5 + sums.sum(0), made[1]

    h, ys = np.scan(step, h, xs)
    return (h @ w).sum() + (ys**2).sum()


def breaking(h: Any, xs: Any, w: Any) -> Any:
    for x in xs:
        if (h * h).sum() > 6:
            break
        h = h * 1.2 + x * 0.3
        if x[0] < 0.3:
            continue
        h = np.tanh(h @ w) + h
    return (h * CAPTURED).sum()


LOOPS = [network, reversed_network, last_state, counting, counted, writing, buffered, branching, python_loop]
LOOPS += [breaking, nested, deep]
UNROLLED = [writing_around]  # alike whatever the backend


def arguments(steps: int = STEPS) -> list[Any]:
    return [np.asarray(each) for each in (rng.random(4), rng.random((steps, 4)), rng.standard_normal((4, 4)) / 2)]


@pytest.mark.parametrize(
    ("program", "backend"),
    [
        *[(each, "inductor") for each in LOOPS],
        *[pytest.param(each, "eager", marks=pytest.mark.walk) for each in LOOPS],
        *[(each, "eager") for each in UNROLLED],
    ],
)
def test_gradients(program: Function, backend: str) -> None:
    given = arguments()

    def gradients(*given: Any) -> Any:
        return np.grad(program, argnums=(0, 1, 2))(*given)

    expected = gradients(*given)
    actual = np.compile(gradients, backend=backend)(*given)
    for one, other in zip(expected, actual, strict=True):
        assert_same(np.asnumpy(one), other, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("transform", [np.jacobian, np.hessian, lambda f: np.grad(np.grad(f))])
def test_other_derivatives(transform: Function) -> None:
    h, xs, w = arguments()

    def function(scale: Any) -> Any:
        return states(h * scale, xs, w)[0].sum()

    x = np.asarray(0.7)
    expected = transform(function)(x)
    assert_same(np.asnumpy(expected), np.compile(transform(function), backend="eager")(x), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("program", [network, branching])
def test_what_is_compiled_does_not_grow_with_the_number_of_steps(program: Function) -> None:
    sizes = [len(list(np.compile(np.grad(program)).graph(*arguments(steps)))) for steps in (30, 3000)]
    assert sizes[0] == sizes[1]


BATCHES: dict[str, Callable[[Function], Function]] = {
    "batch": lambda f: lambda h, xs, w: np.vectorized_map(lambda each: f(*each, w), (h, xs)),
    "batch of shared states": lambda f: lambda h, xs, w: np.vectorized_map(lambda w: f(h[0], xs[0], w), h[:, None] * w),
    "batch of gradients": lambda f: lambda h, xs, w: np.vectorized_map(
        lambda each: np.grad(f, argnums=(0, 2))(*each, w), (h, xs)
    ),
    "gradient of a batch": lambda f: lambda h, xs, w: np.grad(
        lambda h, w: (np.vectorized_map(lambda each: f(*each, w), (h, xs)) ** 2).sum(), argnums=(0, 1)
    )(h, w),
    "tape around a batch": lambda f: lambda h, xs, w: recorded(
        lambda w: np.vectorized_map(lambda each: f(*each, w), (h, xs)), w
    ),
    "batch of batches": lambda f: lambda h, xs, w: np.vectorized_map(
        lambda each: np.vectorized_map(lambda x: np.grad(f)(each, x, w), xs), h
    ),
    "batch of hessians": lambda f: lambda h, xs, w: np.vectorized_map(lambda each: np.hessian(f)(*each, w), (h, xs)),
    "hessian of a batch": lambda f: lambda h, xs, w: np.hessian(
        lambda scale: np.vectorized_map(lambda each: f(each[0] * scale, each[1], w), (h, xs)).sum()
    )(np.asarray([0.5, 1.0, 2.0, 0.25])),
    "jvp of a batch": lambda f: lambda h, xs, w: np.jvp(
        lambda w: np.vectorized_map(lambda each: f(*each, w), (h, xs)), (w,), (w,)
    ),
}


def recorded(function: Function, x: Any) -> Any:
    with np.GradientTape() as tape:
        tape.watch(x)
        y = (function(x) ** 2).sum()
    return tape.gradient(y, x)


def batch() -> list[Any]:
    return [np.asarray(each) for each in (rng.random((3, 4)), rng.random((3, STEPS, 4)), rng.normal(size=(4, 4)) / 2)]


@pytest.mark.parametrize(
    ("name", "programs", "backend"),
    [
        ("batch", LOOPS, "inductor"),
        ("batch of gradients", LOOPS, "eager"),
        ("batch of gradients", [python_loop], "inductor"),
        ("gradient of a batch", [nested], "inductor"),
        ("gradient of a batch", [breaking], "eager"),
        ("batch of hessians", [network], "eager"),
        *[(name, [branching], "eager") for name in BATCHES if name != "batch of hessians"],
    ],
)
def test_batches_are_loops(
    name: str, programs: Sequence[Function], backend: str, recwarn: pytest.WarningsRecorder
) -> None:
    given = batch()

    def all_of_them(*given: Any) -> Any:
        found = [BATCHES[name](program)(*given) for program in programs]
        return [each for result in found for each in (result if isinstance(result, tuple) else [result])]

    expected = all_of_them(*given)
    recwarn.clear()  # without a trace a batch can't branch
    for one, other in zip(expected, np.compile(all_of_them, backend=backend)(*given), strict=True):
        assert_same(np.asnumpy(one), other, rtol=1e-9, atol=1e-12)
    assert not [each for each in recwarn if "unrolled" in str(each.message) or "once for each" in str(each.message)]


@pytest.mark.parametrize("name", BATCHES)
def test_what_is_compiled_of_a_batch_does_not_grow_with_the_number_of_steps(name: str) -> None:
    h, xs, w = batch()
    compiled = np.compile(BATCHES[name](network))
    sizes = [len(list(compiled.graph(h, np.concatenate([xs] * count, axis=1), w))) for count in (1, 10)]
    assert sizes[0] == sizes[1]


MATRIX = np.asarray(rng.standard_normal((4, 4)) / 2)


def distance(p: Any, x: Any) -> Any:
    return ((np.tanh(MATRIX @ p) - x) ** 2).sum()


def by_a_tape(p: Any, x: Any) -> Any:
    with np.GradientTape() as tape:
        tape.watch(p)
        y = distance(p, x)
    return tape.gradient(y, p)


STEPS_THAT_TRANSFORM: dict[str, Callable[[Any, Any], Any]] = {
    "grad": lambda p, x: p - 0.1 * np.grad(distance)(p, x),
    "newton": lambda p, x: p - np.linalg.solve(
        np.hessian(distance)(p, x) + 10 * np.eye(4), np.grad(distance)(p, x)
    ),
    "vjp": lambda p, x: p + 0.1 * np.vjp(lambda q: np.sin(q) * x, p)[1](x)[0],
    "jvp": lambda p, x: p + 0.1 * np.jvp(lambda q: np.sin(q) * x, (p,), (x,))[1],
    "batch": lambda p, x: np.vectorized_map(lambda each: np.tanh(each[0] * x + each[1]).sum(), (p, x)),
    "batch of gradients": lambda p, x: np.vectorized_map(lambda row: np.grad(distance)(p, x * row[0]), MATRIX).sum(0),
    "tape": lambda p, x: p - 0.1 * by_a_tape(p, x),
}
AROUND: dict[str, Callable[[Function], Function]] = {
    "batch": lambda f: lambda x: np.vectorized_map(f, np.stack([x, x * 0.5, -x])),
    "grad": lambda f: np.grad(lambda x: (f(x) ** 2).sum()),
    "batch of gradients": lambda f: lambda x: AROUND["batch"](AROUND["grad"](f))(x),
    "gradient of a batch": lambda f: AROUND["grad"](AROUND["batch"](f)),
    "jacobian": lambda f: lambda x: np.jacobian(f)(x),
    "forward": lambda f: lambda x: np.jacobian(f, mode="forward")(x),
}


@pytest.mark.parametrize("step", STEPS_THAT_TRANSFORM)
def test_loops_whose_steps_transform(step: str, recwarn: pytest.WarningsRecorder) -> None:
    def run(x: Any) -> Any:
        return np.fori_loop(0, 16, lambda i, p: STEPS_THAT_TRANSFORM[step](p, x), x * 1.0)

    names = [name for name in AROUND if step != "tape" or name == "batch"]  # derivatives of tapes are of each step
    x = np.asarray(rng.random(4))
    expected = [AROUND[name](run)(x) for name in names]
    recwarn.clear()
    compiled = np.compile(lambda x: [AROUND[name](run)(x) for name in names], backend="eager")
    for one, other in zip(expected, compiled(x), strict=True):
        assert_same(np.asnumpy(one), other, rtol=1e-9, atol=1e-12)
    assert not [each for each in recwarn if "unrolled" in str(each.message) or "once for each" in str(each.message)]
    assert len(list(np.compile(AROUND["batch"](run)).graph(x))) < 100


def test_a_loop_whose_steps_record_is_unrolled_in_a_derivative() -> None:
    def run(x: Any) -> Any:
        return np.fori_loop(0, 64, lambda i, p: p - 0.1 * by_a_tape(p, x), x * 1.0)

    x = np.asarray(rng.random(4))
    with pytest.warns(RuntimeWarning, match="the 64 steps of a loop are unrolled"):
        result = np.compile(np.jacobian(run), backend="eager")(x)
    assert_same(np.asnumpy(np.jacobian(run)(x)), result, rtol=1e-9, atol=1e-12)


def test_a_gradient_reaches_an_array_from_outside() -> None:
    h, xs, w = arguments()
    gradient = np.compile(lambda h: np.grad(lambda w: network(h, xs, w))(w))
    assert_same(np.asnumpy(np.grad(network, argnums=2)(h, xs, w)), gradient(h), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("program", [states, branching])
def test_jacobians_are_loops(program: Function) -> None:
    def rows(h: Any, xs: Any, w: Any) -> Any:
        return np.jacobian(lambda h: program(h, xs, w)[0] if program is states else h * program(h, xs, w))(h)

    compiled = np.compile(rows, backend="eager")
    given = arguments()
    assert_same(np.asnumpy(rows(*given)), compiled(*given), rtol=1e-9, atol=1e-12)
    sizes = [len(list(compiled.graph(*arguments(steps)))) for steps in (30, 3000)]
    assert sizes[0] == sizes[1]


def taped(function: Function) -> Function:
    def run(x: Any) -> Any:
        with np.GradientTape() as tape:
            tape.watch(x)
            y = function(x).sum()
        found = tape.gradient(y, x)
        return np.zeros_like(x) if found is None else found

    return run


def total(function: Function) -> Function:
    return lambda x: function(x).sum()


SECOND: dict[str, Callable[[Function], Function]] = {
    "hessian": np.hessian,
    "grad of grad": lambda f: np.grad(total(np.grad(f))),
    "jvp of jvp": lambda f: lambda x: np.jvp(lambda x: np.jvp(f, (x,), (x * 2,))[1], (x,), (x,))[1],
    "grad of jvp": lambda f: np.grad(lambda x: np.jvp(f, (x,), (x * 2,))[1]),
    "jacobian of grad": lambda f: np.jacobian(np.grad(f)),
    "linearize of grad": lambda f: lambda x: np.linearize(np.grad(f), x)[1](x * 2),
    "tape of grad": lambda f: taped(np.grad(f)),
    "tape of tape": lambda f: taped(taped(f)),
    "grad of grad of grad": lambda f: np.grad(total(np.grad(total(np.grad(f))))),
}


@pytest.mark.parametrize("name", SECOND)
@pytest.mark.parametrize("program", [pytest.param(branching, marks=pytest.mark.walk), network])
def test_derivatives_of_derivatives_are_loops(program: Function, name: str) -> None:
    sizes = []
    for steps in (20, 40):
        h, xs, w = arguments(steps)
        second = SECOND[name](lambda h, xs=xs, w=w: program(h, xs, w))
        compiled = np.compile(second, backend="eager")
        assert_same(np.asnumpy(second(h)), compiled(h), rtol=1e-9, atol=1e-12)
        sizes.append(len(list(compiled.graph(h))))
    assert sizes[0] == sizes[1]


def of_complex(h: Any, xs: Any, w: Any) -> Any:
    return np.abs(np.fori_loop(0, STEPS, lambda i, c: c * (0.9 + 0.1j) + np.sin(c) * 0.1, h + 0.5j * h)).sum()


def without_carry(h: Any, xs: Any, w: Any) -> Any:
    return (np.scan(lambda n, x: (n + 1, np.sin(x) * h * n), 0, xs)[1] ** 3).sum()


def bounded(h: Any, xs: Any, w: Any) -> Any:
    return np.while_loop(lambda c: c.sum() < 50, lambda c: c * 1.1 + h, h * 1.0, maximum_iterations=30).sum()


def by_index(h: Any, xs: Any, w: Any) -> Any:
    y = h * 1.0
    for i in range(20):
        y[i % 4] = 0.5 * np.sin(y[(i + 1) % 4]) + 0.25 * y[i % 4] * h[1]
    return y.sum()


HESSIANS = [network, counting, writing, python_loop, without_carry, bounded, by_index]


@pytest.mark.parametrize(
    ("program", "backend"),
    [
        *[pytest.param(each, "inductor", marks=pytest.mark.walk) for each in (network, python_loop)],
        *[(each, "eager") for each in [*HESSIANS, of_complex]],
    ],
)
def test_hessians(program: Function, backend: str) -> None:
    h, xs, w = arguments()
    hessian = np.hessian(program)
    compiled = np.compile(lambda h: hessian(h, xs, w), backend=backend)
    assert_same(np.asnumpy(hessian(h, xs, w)), compiled(h), rtol=1e-8, atol=1e-11)
    assert len(list(compiled.graph(h))) < 300  # 1000 and more where the steps are unrolled


@pytest.mark.parametrize("program", [python_loop, by_index])
def test_gradients_of_loops_beside_arrays_from_outside_are_loops(program: Function) -> None:
    h, xs, w = arguments()
    gradient = np.grad(lambda h: program(h, xs, w))
    compiled = np.compile(gradient, backend="eager")
    assert_same(np.asnumpy(gradient(h)), compiled(h), rtol=1e-9, atol=1e-12)
    assert len(list(compiled.graph(h))) < 50


@pytest.mark.parametrize("name", ["jvp of jvp", "hessian"])
def test_second_derivatives_call_for_effects_once(name: str) -> None:
    seen: list[float] = []

    def calling(h: Any) -> Any:
        def step(c: Any, x: Any) -> Any:
            np.debug.callback(lambda x: seen.append(float(np.asnumpy(x))), x)
            return np.sin(c) + x * h, None

        return np.scan(step, h, np.arange(20.0))[0].sum()

    h = np.asarray([0.5, 0.25])
    compiled = np.compile(SECOND[name](calling), backend="eager")
    for function in (compiled, compiled):
        seen.clear()
        function(h)
    assert seen == list(range(20))
