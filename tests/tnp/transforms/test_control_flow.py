"""Branches and loops, outside of compiled functions and in them: run one by one, and as machine code."""

from __future__ import annotations

import warnings
from collections import namedtuple
from collections.abc import Callable
from typing import Any

import pytest
import torch

import tnp as np
from tests.oracle import assert_same

Point = namedtuple("Point", "x y")
Function = Callable[..., Any]


def arange(n: int, dtype: str = "f4") -> Any:
    return np.arange(n, dtype=dtype)


def same(expected: Any, actual: Any) -> None:
    """That two results are built alike and hold the same arrays."""
    assert type(expected) is type(actual)
    if isinstance(expected, dict):
        assert list(expected) == list(actual)
        expected, actual = list(expected.values()), list(actual.values())
    if isinstance(expected, (tuple, list)):
        assert len(expected) == len(actual)
        for one, other in zip(expected, actual, strict=True):
            same(one, other)
    elif expected is not None:
        assert_same(np.asnumpy(expected), actual, rtol=1e-6)


def outer(x: Any) -> Any:
    weight = np.ones(x.shape, "f4")
    return np.fori_loop(0, 4, lambda i, v: v * x + weight, x * 0)


def nested(x: Any) -> Any:
    def body(i: Any, v: Any) -> Any:
        v = np.where(v > 3, v - 1, v)
        return np.while_loop(
            lambda u: u.sum() < 50, lambda u: u + np.cond(u[0] > 2, lambda: x[1], lambda: x[2]) + v / 10, v
        )

    return np.fori_loop(0, 3, body, x)


def writing(x: Any) -> Any:
    def body(i: Any, v: Any) -> Any:
        v += 1
        v[0] = 7
        return v

    return np.fori_loop(0, 3, body, x), x


def writing_long(x: Any) -> Any:
    def body(i: Any, v: Any) -> Any:
        v += 1
        v[0] = i
        return v

    result = np.fori_loop(0, 300, body, x)
    x += 1
    return result, np.fori_loop(0, 0, body, x), x


def writing_element(x: Any) -> Any:
    def body(i: Any, v: Any) -> Any:
        v[i] = v[i - 1] / 2 + i
        return v

    return np.fori_loop(1, 6, body, x), x


def collatz(x: Any) -> Any:
    n = x.sum().astype(int)
    step = lambda n: np.cond(n % 2 == 0, lambda n: n // 2, lambda n: 3 * n + 1, n)  # noqa: E731
    return np.while_loop(lambda v: v[1] > 1, lambda v: (v[0] + 1, step(v[1])), (0, n))


PROGRAMS: dict[str, Function] = {
    "cond": lambda x: np.cond(x.sum() > 3, lambda a: (a * 2, 1), lambda a: (a - 1, 2), x),
    "cond, false": lambda x: np.cond(x.sum() > 30, lambda a: (a * 2, 1), lambda a: (a - 1, 2), x),
    "cond of an integer": lambda x: np.cond(x.sum().astype(int), lambda: x, lambda: -x),
    "cond of a bool": lambda x: np.cond(True, lambda: x, lambda: None),
    "cond of views": lambda x: np.cond(x.sum() > 3, lambda a: (a, a[1:], x.T), lambda a: (a, a[1:], a), x),
    "while": lambda x: np.while_loop(lambda v: v.sum() < 100, lambda v: v * 2 + 1, x),
    "while, never": lambda x: np.while_loop(lambda v: v.sum() < -1, lambda v: v * 2 + 1, x),
    "while with a counter": lambda x: np.while_loop(lambda v: v[0] < 5, lambda v: (v[0] + 1, v[1] * x), (0, x)),
    "while of containers": lambda x: np.while_loop(
        lambda p: p.x["n"] < 3, lambda p: Point({"n": p.x["n"] + 1}, [p.y[0] + x, None]), Point({"n": 0}, [x, None])
    ),
    "fori": lambda x: np.fori_loop(0, 5, lambda i, v: v + x * i.astype("f4"), x),
    "fori, unrolled with a rest": lambda x: np.fori_loop(3, 140, lambda i, v: v + i, x.astype(int)),
    "fori, inlined": lambda x: np.fori_loop(-2, 9, lambda i, v: (v[1] + i, v[0]), (x.astype(int), x.astype(int) * 2)),
    "fori, some trips": lambda x: np.fori_loop(0, 1000, lambda i, v: (v[0] + 1, v[1], v[0]), (x, x * 2, x)),
    "fori, trips that come out even": lambda x: np.fori_loop(0, 384, lambda i, v: v + 1, x),
    "fori of nothing, counted": lambda x: np.fori_loop(5, 5, lambda i, v: (v[1] + 1, v[0] + 1), (x, x)),
    "fori, unknown and long": lambda x: np.fori_loop(0, (x.sum() * 61).astype(int), lambda i, v: v + i, x.astype(int)),
    "while with a small counter": lambda x: np.while_loop(
        lambda v: v[0] < 125, lambda v: (v[0] + np.int8(1), v[1] + 1), (np.int8(0), x)
    ),
    "while with a counter that is used": lambda x: np.while_loop(
        lambda v: v[0] < 700, lambda v: (v[0] + 1, v[1] + v[0] * 2, v[2] + 1), (3, x.astype(int), x[:2])
    ),
    "fori, written to": writing_long,
    "fori of an array": lambda x: np.fori_loop(x[1].astype(int), x.sum().astype(int), lambda i, v: v + i, 0.5),
    "fori of nothing": lambda x: np.fori_loop(5, 2, lambda i, v: v + 1, x),
    "fori of transposes": lambda x: np.fori_loop(0, 3, lambda i, v: v.T + 1, x[:4].reshape(2, 2)),
    "fori from a transpose": lambda x: np.fori_loop(0, 3, lambda i, v: v + 1, x.reshape(-1, 2).T),
    "outer": outer,
    "nested": nested,
    "writing": writing,
    "writing an element": writing_element,
    "collatz": collatz,
    "loops in loops": lambda x: np.fori_loop(
        0, 3, lambda i, v: np.fori_loop(0, 2, lambda j, v: v * np.sin(v) + x, v), x
    ),
    "matrix products": lambda x: np.fori_loop(0, 9, lambda i, m: m @ m / (m @ m).sum(), np.outer(x, x) + 1),
    "scan": lambda x: np.scan(lambda c, v: (c + v, {"y": c * v}), 0.0, x.astype(float)),
    "scan reversed": lambda x: np.scan(lambda c, v: (c + v, {"y": c * v}), 0.0, x.astype(float), reverse=True),
    "scan of rows": lambda x: np.scan(
        lambda c, v: ((c[0] + 1, c[1] + v["a"]), (v["a"] * x[0], v["b"], 3)),
        (0, x[:2]),
        {"a": x.reshape(-1, 2), "b": x.reshape(-1, 2)[:, 0]},
    ),
    "scan of nothing": lambda x: np.scan(lambda c, v: (c * 2, c[0]), x, length=3),
    "scan of no steps": lambda x: np.scan(lambda c, v: (c * 2, (c, v)), x, x[:0]),
    "scan without a carry": lambda x: np.scan(lambda c, v: (c, v * 2), None, x),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_traced_as_eager(name: str) -> None:
    expected = PROGRAMS[name](arange(6))
    compiled = np.compile(PROGRAMS[name], backend="eager")
    for _ in range(2):
        same(expected, compiled(arange(6)))
    assert compiled.cache_info().traces == 1


@pytest.mark.walk
@pytest.mark.parametrize(
    "name",
    [
        "cond of views",
        "while of containers",
        "outer",
        "nested",
        "collatz",
        "loops in loops",
    ]
    + ["scan of rows", "scan reversed"]
    + [name for name in PROGRAMS if name.startswith(("fori, ", "fori of nothing", "while with a "))],
)
@pytest.mark.parametrize("backend", ["inductor"])
def test_compiled_as_eager(name: str, backend: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)  # that it could not be compiled
        same(PROGRAMS[name](arange(6)), np.compile(PROGRAMS[name], backend=backend)(arange(6)))


DIFFERENTIABLE: dict[str, Function] = {
    "cond": lambda x, w: np.cond(x.sum() > 1, lambda v: (v * w).sum(), lambda v: v.sum(), x),
    "while": lambda x, w: np.while_loop(lambda v: v.sum() < 50, lambda v: v * 1.5 + w, x).sum(),
    "fori": lambda x, w: np.fori_loop(0, 5, lambda i, v: v * np.sin(v) + w, x).sum(),
    "loops in loops": lambda x, w: np.fori_loop(
        0, 3, lambda i, v: np.fori_loop(0, 2, lambda j, v: v * np.sin(v) + w, v), x
    ).sum(),
    "cond in a loop": lambda x, w: np.fori_loop(
        0, 3, lambda i, v: np.cond(v.sum() > 5, lambda: v * w, lambda: v * v), x
    ).sum(),
    "scan": lambda x, w: np.scan(lambda c, v: ((c[0] + 1, c[1] * v), c[1] * w), (0, np.ones(3, "f4")), x)[1].sum(),
}


@pytest.mark.parametrize("backend", ["eager", "inductor"])
@pytest.mark.parametrize("name", DIFFERENTIABLE)
def test_gradients(name: str, backend: str, device: str) -> None:
    def gradients(function: Function) -> list[Any]:
        x = torch.arange(1.0, 4.0, requires_grad=True, device=device)
        w = torch.full((3,), 2.0, requires_grad=True, device=device)
        function(np.asarray(x), np.asarray(w)).tensor.backward()
        return [x.grad, w.grad]

    expected = gradients(DIFFERENTIABLE[name])
    torch.testing.assert_close(gradients(np.compile(DIFFERENTIABLE[name], backend=backend)), expected)


def test_gradients_inside(device: str) -> None:
    def slope(t: Any) -> Any:
        loss = lambda v: np.scan(lambda c, x: (c * x, c), np.asarray(v[0]), np.asarray(v[1:]))[0].tensor  # noqa: E731
        return np.asarray(torch.func.grad(loss)(t))

    x = torch.arange(1.0, 5.0, dtype=torch.float64, device=device)
    assert np.compile(slope, backend="eager")(x).tolist() == slope(x).tolist() == [24, 12, 8, 6]


@pytest.mark.parametrize("steps", [10, 10_000])
def test_a_body_is_traced_once(steps: int) -> None:
    runs = []

    def body(i: Any, v: Any) -> Any:
        runs.append(1)
        return v + 1

    assert np.compile(lambda x: np.fori_loop(0, steps, body, x))(arange(2)).tolist() == [steps, steps + 1]
    assert len(runs) == 1


def test_captures_are_read_by_reference() -> None:
    w = np.ones(2)
    function = np.compile(lambda x: np.fori_loop(0, 3, lambda i, v: v + w, x))
    assert function(np.zeros(2)).tolist() == [3, 3]
    w[...] = 2
    assert function(np.zeros(2)).tolist() == [6, 6]


def test_zero_dimensional_arrays_and_scalars_stay_what_they_are() -> None:
    for function in (np.while_loop, np.compile(np.while_loop)):
        result = function(lambda v: v[0] < 2, lambda v: (v[0] + 1, v[1] + 1), (np.asarray(0), np.float64(1)))
        assert type(result[0]) is np.ndarray and isinstance(result[1], np.float64)
        tensor = function(lambda v: v < 2, lambda v: v + 1, torch.tensor(0))
        assert type(tensor) is torch.Tensor and tensor == 2


both = pytest.mark.parametrize("runner", [lambda f: f, lambda f: np.compile(f)], ids=["eager", "compiled"])


@both
def test_a_carry_keeps_its_dtypes_and_shapes(runner: Function) -> None:
    with pytest.raises(TypeError, match=r"\['a'\] is float64\(3,\) where float32\(3,\) is expected"):
        runner(lambda x: np.fori_loop(0, 2, lambda i, v: {"a": v["a"] + i}, {"a": x}))(arange(3))
    with pytest.raises(TypeError, match=r"<lambda> \(test_control_flow.py:\d+\) .*it is float32\(1, 3\) where"):
        runner(lambda x: np.while_loop(lambda v: v.sum() < 9, lambda v: v[None], x))(arange(3))
    with pytest.raises(TypeError, match=r"built.*\(float32\(3,\), float32\(3,\)\) where float32\(3,\)"):
        runner(lambda x: np.scan(lambda v, _: ((v, v), v), x, length=2))(arange(3))


@both
def test_predicates_and_bounds(runner: Function) -> None:
    with pytest.raises(TypeError, match=r"pred is a scalar, not an array of shape \(3,\): use tnp.all"):
        runner(lambda x: np.cond(x > 0, lambda: x, lambda: x))(arange(3))
    with pytest.raises(TypeError, match="the result of cond_fun is a scalar"):
        runner(lambda x: np.while_loop(lambda v: v > 0, lambda v: v - 1, x))(arange(3))
    with pytest.raises(TypeError, match="a bound is an integer, not float32"):
        runner(lambda x: np.fori_loop(0, x.sum(), lambda i, v: v, x))(arange(3))


@both
def test_lengths(runner: Function) -> None:
    step = lambda c, v: (c, c)  # noqa: E731
    with pytest.raises(ValueError, match="different lengths: 2, 3"):
        runner(lambda x: np.scan(step, x, (x, x[:2])))(arange(3))
    with pytest.raises(ValueError, match="different lengths: 3, 4"):
        runner(lambda x: np.scan(step, x, x, length=4))(arange(3))
    with pytest.raises(ValueError, match="xs or length is needed"):
        runner(lambda x: np.scan(step, x))(arange(3))
    with pytest.raises(ValueError, match="has no axes"):
        runner(lambda x: np.scan(step, x, x.sum()))(arange(3))


def test_branches_that_differ() -> None:
    function = np.compile(lambda x: np.cond(x.sum() > 0, lambda: x, lambda: x.sum()))
    with pytest.raises(TypeError, match=r"of false_fun, <lambda> \(test_c.*\), .* float32\(\) where float32\(3,\) is"):
        function(arange(3))


def test_writing_to_what_is_outside() -> None:
    w = np.ones(3, "f4")

    def body(i: Any, v: Any) -> Any:
        w[...] = v
        return v

    line = test_writing_to_what_is_outside.__code__.co_firstlineno + 9
    with pytest.raises(NotImplementedError, match=rf"test_control_flow\.py:{line}: .*carry the array"):
        np.compile(lambda x: np.fori_loop(0, 2, body, x), fullgraph=True)(arange(3))


def adds_to_its_carry(total: Any, x: Any) -> Any:
    total[0] += x
    return total, total


def returns_what_it_wrote(total: Any, x: Any) -> Any:
    before = total.copy()
    total += x
    return total, (total[0], before, total.reshape(1, 1))


@pytest.mark.parametrize("backend", [None, "eager", "inductor"])
@pytest.mark.parametrize("step", [adds_to_its_carry, returns_what_it_wrote])
def test_a_step_that_writes_to_its_carry(step: Callable[[Any, Any], Any], backend: str | None) -> None:
    """The results are what they were when the step returned them."""
    run = lambda total, xs: np.scan(step, total, xs)  # noqa: E731
    total = np.zeros(1)
    carry, ys = (run if backend is None else np.compile(run, backend=backend))(total, np.asarray([1.0, 2.0, 3.0]))
    assert carry.tolist() == [6.0] and total.tolist() == [0.0]
    sums = ys if step is adds_to_its_carry else ys[0]
    assert sums.reshape(-1).tolist() == [1.0, 3.0, 6.0]
    if step is returns_what_it_wrote:
        assert ys[1].reshape(-1).tolist() == [0.0, 1.0, 3.0] and ys[2].shape == (3, 1, 1)


def doubled(i: Any, values: Any) -> Any:
    values[i] = values[i] * 2
    return values


def raised(values: Any) -> Any:
    values[0] += 1
    values[1:] = values[0]
    return values


WRITING_LOOPS: dict[str, Callable[[Any], Any]] = {
    "fori_loop": lambda x: np.fori_loop(0, 3, doubled, x),
    "of a view": lambda x: np.fori_loop(0, 2, lambda i, v: doubled(i, v[::1]), x),
    "while_loop": lambda x: np.while_loop(lambda v: v[0] < 30, raised, x),
    "scan": lambda x: np.scan(lambda v, i: (doubled(i, v), v[i]), x, np.arange(3)),
    "of a pair": lambda x: np.fori_loop(0, 3, lambda i, p: (doubled(i, p[1]), p[0]), (x, x)),
}


@pytest.mark.parametrize("backend", ["eager", "inductor"])
@pytest.mark.parametrize("name", WRITING_LOOPS)
def test_a_body_that_writes_an_element_of_its_carry(name: str, backend: str) -> None:
    x = np.asarray([1.0, 2.0, 3.0])
    expected = WRITING_LOOPS[name](x)
    found = np.compile(WRITING_LOOPS[name], backend=backend)(x)
    pairs = zip(found, expected, strict=True) if isinstance(found, tuple) else [(found, expected)]
    assert all(one.tolist() == other.tolist() for one, other in pairs) and x.tolist() == [1.0, 2.0, 3.0]
    if name != "while_loop":
        slopes = np.grad(lambda x: WRITING_LOOPS[name](x)[0].sum())(x)
        compiled = np.grad(np.compile(lambda x: WRITING_LOOPS[name](x)[0].sum(), backend=backend))(x)
        assert compiled.tolist() == slopes.tolist()
