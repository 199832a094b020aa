"""vmap, switch, associative_scan, custom_jvp, batches of map_fn and complex Jacobians: what JAX's users look for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy
import pytest

import tnp as np


def close(found: Any, expected: Any) -> None:
    numpy.testing.assert_allclose(np.asnumpy(np.asarray(found)), expected, rtol=1e-9, atol=1e-12)


# vmap


def test_vmap_of_several_arguments() -> None:
    x, y = numpy.arange(6.0).reshape(2, 3), numpy.arange(3.0)
    close(np.vmap(lambda x, y: (x * y).sum(), in_axes=(0, None))(np.asarray(x), np.asarray(y)), (x * y).sum(1))
    close(np.vmap(lambda x, y: x + y, in_axes=(1, 0), out_axes=1)(np.asarray(x), np.asarray(y)), x + y)
    close(np.vmap(np.vmap(lambda a, b: a * b, (None, 0)), (0, None))(np.asarray(y), np.asarray(y)), numpy.outer(y, y))
    tree = np.vmap(lambda p, *, scale: {"sum": p["a"] + p["b"], "scaled": scale * p["a"]})(
        {"a": np.asarray(y), "b": np.asarray(y)}, scale=np.asarray(y)
    )
    close(tree["sum"], 2 * y)
    close(tree["scaled"], y * y)
    static = np.vmap(lambda x, power: x**power, in_axes=(0, None))
    close(static(np.asarray(y), 3), y**3)
    close(np.compile(static, backend="eager")(np.asarray(y), 3), y**3)
    close(np.vmap(np.grad(lambda w, x: (w * x).sum() ** 2), (None, 0))(np.asarray(y), np.asarray(x))[1], 28 * x[1])


def test_what_vmap_refuses() -> None:
    with pytest.raises(ValueError, match="in_axes"):
        np.vmap(lambda x, y: x, in_axes=(0,))(np.ones(2), np.ones(2))
    with pytest.raises(ValueError, match="different numbers"):
        np.vmap(lambda x, y: x)(np.ones(2), np.ones(3))


# switch


BRANCHES: list[Callable[[Any], Any]] = [lambda x: x + 1, lambda x: x * 2, lambda x: x**3, np.sin]


@pytest.mark.parametrize("index", [-7, 0, 1, 2, 3, 9])
def test_switch(index: int) -> None:
    x = numpy.asarray([1.0, 2.0])
    expected = BRANCHES[min(max(index, 0), 3)](x)
    close(np.switch(index, BRANCHES, np.asarray(x)), expected)
    close(np.switch(np.asarray(index), BRANCHES, np.asarray(x)), expected)
    compiled = np.compile(lambda i, x: np.switch(i, BRANCHES, x), backend="eager")
    close(compiled(np.asarray(index), np.asarray(x)), expected)
    slopes = np.grad(lambda x: np.switch(index, BRANCHES, x).sum())(np.asarray(x))
    close(slopes, [numpy.ones(2), 2 * numpy.ones(2), 3 * x**2, numpy.cos(x)][min(max(index, 0), 3)])


def test_what_switch_refuses() -> None:
    with pytest.raises(ValueError, match="no branches"):
        np.switch(0, [], 1.0)
    with pytest.raises(TypeError, match="the index is an integer"):
        np.switch(np.asarray(1.0), BRANCHES, 1.0)


# associative_scan


@pytest.mark.parametrize("length", [0, 1, 2, 3, 7, 8, 13])
@pytest.mark.parametrize("reverse", [False, True])
def test_associative_scan(length: int, reverse: bool) -> None:
    x = numpy.linspace(0.5, 1.5, 2 * length).reshape(length, 2)
    turned = x[::-1] if reverse else x
    expected = numpy.cumprod(turned, 0)
    run = lambda x: np.associative_scan(np.multiply, x, reverse)  # noqa: E731
    close(run(np.asarray(x)), expected[::-1] if reverse else expected)
    close(np.associative_scan(np.multiply, np.asarray(x.T), reverse, 1).T, expected[::-1] if reverse else expected)
    if length:
        close(np.compile(run, backend="eager")(np.asarray(x)), expected[::-1] if reverse else expected)


@pytest.mark.parametrize("reverse", [False, True])
def test_an_operation_that_does_not_commute(reverse: bool) -> None:
    """First-order recurrences x = a x + b, as pairs."""
    a, b = numpy.linspace(0.1, 0.9, 6), numpy.arange(6.0)

    def after(first: Any, second: Any) -> Any:
        return first[0] * second[0], second[0] * first[1] + second[1]

    found = np.associative_scan(after, (np.asarray(a), np.asarray(b)), reverse)[1]
    value, values = 0.0, []
    for one, other in list(zip(a, b, strict=True))[:: -1 if reverse else 1]:
        value = one * value + other
        values.append(value)
    if not reverse:
        close(found, values)
    slope = np.grad(lambda a: np.associative_scan(after, (a, np.asarray(b)))[1][-1])(np.asarray(a))
    assert numpy.isfinite(np.asnumpy(slope)).all()


# custom_jvp


def rule_for(factor: float) -> Any:
    @np.custom_jvp
    def sine(x: Any) -> Any:
        return np.sin(x)

    @sine.defjvp
    def rule(primals: Any, tangents: Any) -> Any:
        return sine(primals[0]), factor * np.cos(primals[0]) * tangents[0]

    return sine


def test_custom_jvp() -> None:
    x = numpy.asarray([0.5, 1.0])
    sine = rule_for(3.0)
    close(sine(np.asarray(x)), numpy.sin(x))
    close(np.jvp(sine, (np.asarray(x),), (np.ones(2),))[1], 3 * numpy.cos(x))
    close(np.grad(lambda x: sine(x).sum())(np.asarray(x)), 3 * numpy.cos(x))
    close(np.jacobian(sine)(np.asarray(x)), numpy.diag(3 * numpy.cos(x)))
    close(np.vectorized_map(np.grad(sine), np.asarray(x)), 3 * numpy.cos(x))
    close(np.grad(np.grad(rule_for(1.0)))(0.5), -numpy.sin(0.5))
    close(np.compile(np.grad(lambda x: sine(x).sum()), backend="eager")(np.asarray(x)), 3 * numpy.cos(x))
    with np.GradientTape() as tape:
        watched = np.asarray(x)
        tape.watch(watched)
        y = sine(watched)
    close(tape.gradient(y, watched), 3 * numpy.cos(x))
    assert sine.__name__ == "sine"


def test_custom_jvp_of_several() -> None:
    @np.custom_jvp
    def both(x: Any, y: Any) -> Any:
        return x * y, x + y

    both.defjvp(lambda p, t: (both(*p), (p[1] * t[0] + p[0] * t[1], t[0] + t[1])))
    close(np.grad(lambda x, y: sum(both(x, y)), (0, 1))(2.0, 5.0), [6.0, 3.0])
    with pytest.raises(ValueError, match="defjvp"):
        np.grad(np.custom_jvp(np.sin))(1.0)


# map_fn, jacobian


def test_batches_of_map_fn(capsys: pytest.CaptureFixture[str]) -> None:
    x = numpy.arange(14.0).reshape(7, 2)

    def row_sum(row: Any) -> Any:
        print("call")
        return row.sum()

    close(np.map_fn(row_sum, np.asarray(x), batch_size=3), x.sum(1))
    assert capsys.readouterr().out.count("call") == 3


def test_complex_jacobians() -> None:
    z, x = numpy.asarray([1 + 2j, 0.5j]), numpy.asarray([0.5, 2.0])
    close(np.jacobian(lambda z: z**2 * z[0], holomorphic=True)(np.asarray(z)), _holomorphic(z))
    phases = np.jacobian(lambda x: np.exp(1j * x))
    close(phases(np.asarray(x)), numpy.diag(1j * numpy.exp(1j * x)))
    with pytest.raises(TypeError, match="holomorphic"):
        np.jacobian(np.sin)(np.asarray(z))
    with pytest.raises(TypeError, match="forward"):
        np.jacobian(lambda x: np.exp(1j * x), mode="reverse")(np.asarray(x))


def _holomorphic(z: Any) -> Any:
    expected = numpy.diag(2 * z * z[0])
    expected[:, 0] += z**2
    return expected


# scan


@pytest.mark.parametrize("unroll", [2, 3, 7, 20, True])
@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.reads
def test_turns_of_several_steps(unroll: int, reverse: bool) -> None:
    xs = np.arange(7.0)
    run = lambda xs, unroll: np.scan(lambda c, x: (c / 2 + x, c), 0.0, xs, reverse=reverse, unroll=unroll)  # noqa: E731
    last, rows = run(xs, 1)
    compiled = np.compile(lambda xs: run(xs, unroll), backend="eager")
    close(compiled(xs)[0], last)
    close(compiled(xs)[1], rows)
    loops = compiled.graph(xs).count("scan")
    assert loops == (0 if unroll is True or unroll > 3 else 1)
    slopes = np.grad(lambda xs: run(xs, 1)[0])(xs)
    close(np.compile(np.grad(lambda xs: run(xs, unroll)[0]), backend="eager")(xs), slopes)
    close(np.grad(lambda xs: compiled(xs)[0])(xs), slopes)
    with pytest.raises(ValueError, match="unroll"):
        run(xs, 0)
