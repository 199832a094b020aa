"""Derivatives of functions that write to arrays from outside, and of what these held when the function ran."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy
import pytest

import tnp as np
from tests.oracle import placed

X = numpy.array([1.5, 2.0])


def whole(buf: Any, x: Any) -> Any:
    buf[...] = x * 2
    return (buf * x).sum()


def element(buf: Any, x: Any) -> Any:
    buf[0] = x[0] * 2
    return (buf * x).sum()


def out(buf: Any, x: Any) -> Any:
    np.multiply(x, 2, out=buf)
    return (buf * x).sum()


def in_place(buf: Any, x: Any) -> Any:
    buf += x
    buf *= buf
    return (buf * x).sum()


def view_made_before(buf: Any, x: Any) -> Any:
    part = buf[:1]
    buf[...] = x**2
    part *= x[1]
    return (buf * x).sum() + part.sum()


def indices(buf: Any, x: Any) -> Any:
    buf[[1, 0]] = x * 2
    buf[x > 1.7] = x[:1]
    return (buf * x).sum()


def functions(buf: Any, x: Any) -> Any:
    np.copyto(buf, x * 2)
    np.add.at(buf, [0, 1], x * 2)
    np.put(buf, [1], x[:1])
    return (buf * x).sum()


def views(buf: Any, x: Any) -> Any:
    buf.view()[:] = x
    buf.reshape(1, 2)[0, :1] *= x[1]
    buf.flat[1:] = x[:1] ** 2
    buf[...][()] *= x
    return (np.concatenate([buf, buf.T]) * 2).sum() * x[0]


def rows(buf: Any, x: Any) -> Any:
    for row in buf.reshape(2, 1):
        row[...] = 1
        row *= x[0]
    return (buf * x).sum()


def from_constants(buf: Any, x: Any) -> Any:
    buf[0] = 3
    before = buf.sum()
    buf[:] = x * before
    return (buf * x).sum()


def used_twice(buf: Any, x: Any) -> Any:
    buf[:] = x
    y = buf * buf
    buf[:] = y * x
    z = buf.copy()
    buf[:] = 0
    return (z * y).sum()


def out_again(buf: Any, x: Any) -> Any:
    buf[:] = x
    np.add(buf, 10.0, out=buf)
    np.multiply(buf, 3.0, out=buf, where=np.asarray([True, False]))
    return (buf * x).sum()


def view_by_einsum(buf: Any, x: Any) -> Any:
    np.einsum("ij->ji", buf.reshape(1, 2))[...] = (x**2)[:, None]
    return (buf * x).sum()


def transformed(buf: Any, x: Any) -> Any:
    buf[:] -= np.grad(lambda b: ((b * x) ** 3).sum())(buf)
    buf[:] = np.vectorized_map(lambda b: b**2, buf) + np.jacobian(lambda b: b**3 * x)(buf).sum(0)
    return (buf * x).sum()


FUNCTIONS = [
    whole,
    element,
    out,
    out_again,
    in_place,
    view_made_before,
    indices,
    functions,
    views,
    rows,
    from_constants,
    used_twice,
    view_by_einsum,
    transformed,
]

TRANSFORMS: dict[str, Callable[[Any], Any]] = {
    "grad": lambda f: np.grad(f)(placed(np, X)),
    "value_and_grad": lambda f: np.value_and_grad(f)(placed(np, X))[1],
    "vjp": lambda f: np.vjp(f, placed(np, X))[1](1.0)[0],
    "jacobian": lambda f: np.jacobian(f)(placed(np, X)),
    "jvp": lambda f: np.stack([np.jvp(f, (placed(np, X),), (placed(np, e),))[1] for e in numpy.eye(2)]),
    "linearize": lambda f: np.stack([np.linearize(f, placed(np, X))[1](e) for e in numpy.eye(2)]),
    "compiled": lambda f: np.compile(np.grad(f), backend="eager")(placed(np, X)),
    "of_compiled": lambda f: np.grad(np.compile(f, backend="eager"))(placed(np, X)),
    "of_a_gradient": lambda f: np.grad(lambda y: np.grad(f)(y) @ placed(np, X))(placed(np, X)),
    "hessian": lambda f: np.hessian(f)(placed(np, X)) @ placed(np, X),
}


def _buffer() -> Any:
    return np.asarray([0.5, 0.25])


def _values(function: Callable[[Any, Any], Any], x: Any) -> float:
    return float(function(_buffer(), placed(np, x)))


def _differences(function: Callable[[Any], Any], step: float) -> Any:
    columns = [(function(X + step * e) - function(X - step * e)) / (2 * step) for e in numpy.eye(2)]
    return numpy.array(columns)


@pytest.mark.parametrize("transform", TRANSFORMS)
@pytest.mark.parametrize("function", FUNCTIONS)
def test_derivatives_through_an_array_from_outside(function: Callable[[Any, Any], Any], transform: str) -> None:
    buf, after = _buffer(), _buffer()
    found = TRANSFORMS[transform](lambda x: function(fresh(buf), x))
    function(after, placed(np, X))

    def gradient(x: Any) -> Any:
        return _differences(lambda y: _values(function, y + x - X), 1e-6)

    expected = gradient(X)
    if transform in ("of_a_gradient", "hessian"):
        expected = _differences(lambda y: np.asnumpy(_first(function, y)), 1e-6) @ X
    numpy.testing.assert_allclose(np.asnumpy(found), expected, rtol=1e-4, atol=1e-6)
    numpy.testing.assert_array_equal(np.asnumpy(buf), np.asnumpy(after))


def _first(function: Callable[[Any, Any], Any], x: Any) -> Any:
    return np.grad(lambda x: function(_buffer(), x))(placed(np, x))


def fresh(buf: Any) -> Any:
    """The array from outside, as it was before the first of several calls."""
    np.copyto(buf, _buffer())
    return buf


class Layer:
    """A method that keeps what it computed."""

    def __init__(self) -> None:
        self.h = np.zeros(2)

    def __call__(self, x: Any) -> Any:
        self.h[:] = np.tanh(x)
        return (self.h * x).sum()


def test_an_attribute() -> None:
    layer = Layer()
    expected = numpy.tanh(X) + X / numpy.cosh(X) ** 2
    numpy.testing.assert_allclose(np.asnumpy(np.grad(layer)(placed(np, X))), expected)
    numpy.testing.assert_allclose(np.asnumpy(layer.h), numpy.tanh(X))


def test_a_counter() -> None:
    """Numbers that no derivative reaches are counted once a call."""
    steps = np.zeros(1, dtype=int)

    def loss(x: Any) -> Any:
        steps[0] += 1
        np.add.at(steps, [0], 1)
        return (x * steps[0]).sum()

    numpy.testing.assert_array_equal(np.asnumpy(np.grad(loss)(placed(np, X))), [2.0, 2.0])
    assert steps[0] == 2


def test_results_are_seen_in_the_memory_of_numpy() -> None:
    host = numpy.zeros(2)
    buf = np.asarray(host)

    def loss(x: Any) -> Any:
        buf[:] = x * x
        return buf.sum()

    numpy.testing.assert_array_equal(np.asnumpy(np.grad(loss)(placed(np, X))), 2 * X)
    numpy.testing.assert_array_equal(host, X * X)


@pytest.mark.parametrize("derivative", ["vjp", "linearize"])
def test_what_is_written_before_the_derivative_is_asked_for(derivative: str) -> None:
    """Arguments, arrays from outside, NumPy's among them, and the value: the derivative is that of the call."""
    w, weights, host = placed(np, X), np.asarray([3.0, 4.0]), numpy.array([5.0, 6.0])
    value, function = getattr(np, derivative)(lambda w: np.exp(w * weights / host), w)
    expected = 1.0 * np.asnumpy(value) * numpy.array([3 / 5, 4 / 6])
    w -= 1
    weights *= 0
    host[:] = 1
    value *= 7
    found = function(np.ones(2))
    numpy.testing.assert_allclose(np.asnumpy(found[0] if derivative == "vjp" else found), expected)


@pytest.mark.parametrize("derivative", ["vjp", "linearize"])
def test_the_same_where_it_overwrites_what_it_needs(derivative: str) -> None:
    weights = np.asarray([3.0, 4.0])

    def function(x: Any) -> Any:
        e = np.exp(x * weights)
        e /= e.sum()
        return e

    expected = np.asnumpy(np.jacobian(function)(placed(np, X))).sum(0)
    if derivative == "linearize":
        expected = np.asnumpy(np.jacobian(function)(placed(np, X))).sum(1)
    x = placed(np, X)
    _, derived = getattr(np, derivative)(function, x)
    weights *= 0
    x *= 5
    found = derived(np.ones(2))
    numpy.testing.assert_allclose(np.asnumpy(found[0] if derivative == "vjp" else found), expected, atol=1e-12)


def written_in_a_branch(buf: Any, x: Any) -> Any:
    if x[1] > 0:
        buf[0] = x[0] * x[1]
    else:
        buf += x
    return buf * x


def read_in_a_branch(buf: Any, x: Any) -> Any:
    buf[0] = x[0] * x[1]
    return x * buf if x[1] > 0 else x + buf


def read_in_a_loop(buf: Any, x: Any) -> Any:
    buf[0] = x[0] * x[1]
    return np.fori_loop(0, np.asarray(3), lambda i, c: c * buf, x)


def test_tapes_around_branches_and_loops_in_compiled_functions() -> None:
    programs = (written_in_a_branch, read_in_a_branch, read_in_a_loop)

    def taped(buf: Any, x: Any) -> Any:
        found = []
        for program in programs:
            with np.GradientTape() as tape:
                y = x * 1.0
                tape.watch(y)
                result = program(buf, y).sum()
            found.append(tape.gradient(result, y))
        return found

    buffers = np.full(2, 0.5), np.full(2, 0.5)
    expected = taped(buffers[0], np.asarray(X))
    compiled = np.compile(lambda x: taped(buffers[1], x), backend="eager", fullgraph=True)
    for one, other in zip(expected, compiled(np.asarray(X)), strict=True):
        numpy.testing.assert_allclose(numpy.asarray(other), numpy.asarray(one))


@pytest.mark.filterwarnings("error")
def test_pullbacks_in_a_batch_keep_what_they_read() -> None:
    rows = np.arange(6.0).reshape(2, 3) + 1

    def function(row: Any) -> Any:
        _, pull = np.vjp(lambda y: y * row[0] * y, row)
        _, push = np.linearize(lambda y: y * row, row)
        return pull(np.ones(3))[0] + push(row)

    expected = 2 * rows[:, :1] * rows + rows**2
    numpy.testing.assert_allclose(numpy.asarray(np.vectorized_map(function, rows)), numpy.asarray(expected))


COMPLEX: dict[str, Callable[[Any, Any], None]] = {
    "real": lambda buf, x: setattr(buf, "real", x),
    "imag": lambda buf, x: buf.imag.__setitem__(..., x),
    "view": lambda buf, x: buf.view(float).reshape(2, 2)[:, 0].__setitem__(..., x),
    "out": lambda buf, x: np.add(x, 0, out=buf.real),
    "both": lambda buf, x: (setattr(buf, "real", x), buf.imag.__imul__(x))[0],
}


@pytest.mark.parametrize("transform", TRANSFORMS)
@pytest.mark.parametrize("write", COMPLEX)
def test_a_part_of_complex_numbers_that_is_written_first(write: str, transform: str) -> None:
    def function(x: Any, buf: Any) -> Any:
        COMPLEX[write](buf, x * 2)
        return (abs(buf) ** 2).sum()

    buf = np.asarray([1j, 2j])

    def again(x: Any) -> Any:
        np.copyto(buf, np.asarray([1j, 2j]))
        return function(x, buf)

    expected = TRANSFORMS[transform](lambda x: function(x, np.asarray([1j, 2j])))
    numpy.testing.assert_allclose(np.asnumpy(TRANSFORMS[transform](again)), np.asnumpy(expected))
    assert np.asnumpy(expected).any()


def converted_twice(host: Any, x: Any) -> Any:
    np.asarray(host)[:] = x**2
    return (np.asarray(host) * x).sum()


def to_out(host: Any, x: Any) -> Any:
    np.multiply(x, x, out=host)
    return (host * x).sum()


def part_of_it(host: Any, x: Any) -> Any:
    np.multiply(x[1:], x[:1], out=host[1:])
    np.add.at(host, [0], x[0])
    return (x * host[::-1] * np.asarray(host)).sum()


@pytest.mark.parametrize("transform", [name for name in TRANSFORMS if "compiled" not in name])
@pytest.mark.parametrize("function", [converted_twice, to_out, part_of_it])
def test_an_array_of_numpy_is_one_array(function: Callable[[Any, Any], Any], transform: str) -> None:
    """Each use of it converts it anew."""
    host = numpy.zeros(2)

    def again(x: Any) -> Any:
        host[:] = 0.5, 0.25
        return function(host, x)

    expected = TRANSFORMS[transform](lambda x: function(np.asarray([0.5, 0.25]), x))
    numpy.testing.assert_allclose(np.asnumpy(TRANSFORMS[transform](again)), np.asnumpy(expected))
    after = numpy.array([0.5, 0.25])
    function(after, placed(np, X))
    numpy.testing.assert_array_equal(host, after)


@pytest.mark.parametrize("is_inside", [False, True])
@pytest.mark.parametrize("function", [converted_twice, to_out, part_of_it])
def test_an_array_of_numpy_is_one_array_of_a_graph(function: Callable[[Any, Any], Any], is_inside: bool) -> None:
    host = numpy.array([0.5, 0.25])
    ours = np.asarray([0.5, 0.25])
    run, expected = [lambda x, a=array: (function(a, x) ** 2).sum() for array in (host, ours)]
    expected = np.value_and_grad(expected)(placed(np, X))
    if is_inside:
        found = np.value_and_grad(np.compile(run, backend="eager", fullgraph=True))(placed(np, X))
    else:
        found = np.compile(np.value_and_grad(run), backend="eager", fullgraph=True)(placed(np, X))
    for one, other in zip(found, expected, strict=True):
        numpy.testing.assert_allclose(np.asnumpy(one), np.asnumpy(other))
    numpy.testing.assert_array_equal(host, np.asnumpy(ours))


def test_pullbacks_keep_what_they_read_of_numpy() -> None:
    """Run again because it overwrites a needed value, the function finds the values of its first run."""
    host = numpy.array([3.0, 4.0])

    def function(x: Any) -> Any:
        e = np.exp(x * host)
        e /= e.sum()
        return e * host

    expected = np.asnumpy(np.jacobian(function)(placed(np, X))).sum(0)
    _, pull = np.vjp(function, placed(np, X))
    host[:] = 0
    numpy.testing.assert_allclose(np.asnumpy(pull(np.ones(2))[0]), expected, atol=1e-12)
