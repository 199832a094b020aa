"""Derivatives of functions: against differences and known ones, of programs that write, in containers, and refused."""

from __future__ import annotations

import gc
from collections.abc import Callable
from typing import Any

import numpy
import pytest

import tnp as np
from tests.oracle import placed


def vector() -> Any:
    return np.asarray([0.5, 2.0, 3.0])


def close(actual: Any, expected: Any, rtol: float = 1e-6) -> None:
    assert isinstance(actual, np.ndarray)
    assert not actual.tensor.requires_grad
    numpy.testing.assert_allclose(np.asnumpy(actual), np.asnumpy(np.asarray(expected)), rtol=rtol, atol=1e-8)


def differences(function: Callable[[Any], Any], x: Any, step: float = 1e-6) -> Any:
    """The Jacobian by central differences."""
    values = np.asnumpy(x).astype(float)
    columns = []
    for index in numpy.ndindex(values.shape):
        both = []
        for sign in (1, -1):
            moved = values.copy()
            moved[index] += sign * step
            both.append(np.asnumpy(np.asarray(function(placed(np, moved)))))
        columns.append((both[0] - both[1]) / (2 * step))
    return numpy.stack(columns, -1).reshape(columns[0].shape + values.shape)


def setitem(x: Any) -> Any:
    out = np.zeros(4)
    out[:3] = x**2
    out[3] = x[0] * x[1]
    out[[0, 3]] = x[1:]
    out[out > 8] *= 2
    view = out[1:3]
    view += x[:2]
    return out


def on_itself(x: Any) -> Any:
    x[0] = x[1] * 2
    x *= 3
    x[1:] += x[:-1]
    return x


def softmax(x: Any) -> Any:
    e = np.exp(x - x.max())
    e /= e.sum()
    return e[0] * e


def literals(x: Any) -> Any:
    out = np.array([1.0, 2.0, 3.0])
    out[1] = x.sum()
    np.multiply(out, x, out=out)
    return np.where(x > 1, out, x) + np.array([x[0], 1.0, x[1]])


def ranges(x: Any) -> Any:
    """The ends of a range are numbers, to which no gradient flows; those of an array from outside may be asked for."""
    count = np.asarray([3, 2])
    numbers = np.arange(count[0]) + np.r_[0 : count[0]] + np.arange(count[1], count[1] + 3)
    return x * numbers + np.arange(LIMITS[0], LIMITS[1], 0.5)


LIMITS = np.asarray([0.25, 1.75])


PROGRAMS = [setitem, on_itself, literals, ranges, np.sin, lambda x: np.outer(x, x), lambda x: np.cumprod(x)[::-1]]


@pytest.mark.parametrize("function", [*PROGRAMS, softmax])
def test_gradients_of_programs_that_write(function: Callable[[Any], Any]) -> None:
    x = vector()
    value, found = np.value_and_grad(lambda x: (function(x) ** 2).sum())(x)
    close(found, differences(lambda x: (function(x) ** 2).sum(), vector()))
    close(value, (function(vector()) ** 2).sum())
    close(x, vector())  # what the function writes to its argument stays inside
    assert not x.tensor.requires_grad


@pytest.mark.parametrize("mode", ["auto", "forward", "reverse"])
@pytest.mark.parametrize("chunk_size", [None, 2])
@pytest.mark.parametrize("function", [*PROGRAMS, softmax])
def test_jacobians_of_programs_that_write(function: Callable[[Any], Any], mode: str, chunk_size: int | None) -> None:
    x = vector()
    close(np.jacobian(function, mode=mode, chunk_size=chunk_size)(x), differences(function, vector()))
    close(x, vector())


@pytest.mark.parametrize("chunk_size", [None, 1, 2])
def test_hessian(chunk_size: int | None) -> None:
    def function(x: Any) -> Any:
        out = np.zeros(3)
        out[:] = x**3
        out[0] *= x[1]
        return np.sin(out).sum()

    close(np.hessian(function, chunk_size=chunk_size)(vector()), differences(np.grad(function), vector()), rtol=1e-5)


def test_orders() -> None:
    function: Any = lambda x: x**4  # noqa: E731
    for expected in (32.0, 48.0, 48.0, 24.0, 0.0):
        function = np.grad(function)
        close(function(2.0), expected)


# Arguments and containers.


def test_arguments() -> None:
    def function(x: Any, scale: Any, *, tree: Any) -> Any:
        return (x["a"] * scale + x["b"][0]).sum() * tree["k"]

    x = {"a": vector(), "b": (np.asarray(2.0), "text")}
    found = np.grad(function)(x, 3.0, tree={"k": 2})
    assert found["b"][1] == "text"
    close(found["a"], [6, 6, 6])
    close(found["b"][0], 6)
    (first, second) = np.grad(function, argnums=(1, 0))(x, 3.0, tree={"k": 2})
    close(first, 11)
    close(second["a"], [6, 6, 6])
    close(np.grad(function, argnums=-1)(x, 3.0, tree={"k": 2}), 11)
    (value, aux), found = np.value_and_grad(lambda x: (x.sum(), {"twice": x * 2, "name": "n"}), has_aux=True)(vector())
    close(value, 5.5)
    close(aux["twice"], vector() * 2)
    assert aux["name"] == "n"
    found, aux = np.grad(lambda x: (x.sum(), x[0]), has_aux=True)(vector())
    close(aux, 0.5)


@pytest.mark.parametrize("kind", [np.asnumpy, list, lambda x: x.tensor, lambda x: np.asarray(x, dtype="f4")])
def test_kinds_of_arguments(kind: Callable[[Any], Any]) -> None:
    found = np.grad(lambda x: (np.asarray(x) ** 2).sum())(kind(vector()))
    if isinstance(found, list):
        found = np.stack(found)
    close(found, 2 * vector())


def test_containers_of_jacobians() -> None:
    def function(x: Any, y: Any) -> Any:
        return {"s": x.sum() * y, "v": (x * 2, x[0])}

    found = np.jacobian(function, argnums=(0, 1))(vector(), np.ones(2))
    close(found["s"][0], numpy.ones((2, 3)))
    close(found["s"][1], 5.5 * numpy.eye(2))
    close(found["v"][0][0], 2 * numpy.eye(3))
    close(found["v"][1][0], [1, 0, 0])
    close(found["v"][1][1], [0, 0])
    found, aux = np.jacobian(lambda x: (x * 2, "aux"), has_aux=True)(vector())
    assert aux == "aux"
    nested = np.hessian(lambda tree: (tree["a"] ** 2).sum() * tree["b"])({"a": vector(), "b": np.asarray(2.0)})
    close(nested["a"]["a"], 4 * numpy.eye(3))
    close(nested["a"]["b"], 2 * vector())
    close(nested["b"]["b"], 0)


def test_products_with_the_jacobian() -> None:
    jacobian = np.asnumpy(np.jacobian(setitem)(vector()))
    value, pullback = np.vjp(setitem, vector())
    close(value, setitem(vector()))
    close(pullback(np.arange(4))[0], numpy.arange(4) @ jacobian)
    value, along = np.jvp(setitem, (vector(),), (np.arange(3),))
    close(value, setitem(vector()))
    close(along, jacobian @ numpy.arange(3))
    value, derivative = np.linearize(setitem, vector())
    close(value, setitem(vector()))
    close(derivative(np.arange(3.0)), jacobian @ numpy.arange(3))
    value, pullback, aux = np.vjp(lambda x, y: ((x * y, x), y + 1), 2.0, 3.0, has_aux=True)
    close(aux, 4)
    first, second = pullback((1.0, 10.0))
    close(first, 13)
    close(second, 2)
    value, along, aux = np.jvp(lambda x: (x**2, x + 1), (3.0,), (1.0,), has_aux=True)
    close(along, 6)
    close(aux, 4)


def test_complex() -> None:
    z = np.asarray([1 + 2j, -1j])
    close(np.grad(lambda z: (z * z.conj()).real.sum())(z), 2 * np.asnumpy(z))
    close(np.grad(lambda z: np.abs(z).sum())(z), np.asnumpy(z / np.abs(z)))


# Inside of and around other transforms.


def loss(w: Any, row: Any) -> Any:
    out = np.zeros(2)
    out[:] = np.tanh(row @ w)
    return (out**2).sum()


def test_per_example_gradients() -> None:
    w = np.asarray([[1.0, 2.0], [0.5, -1.0]])
    x = np.arange(6.0).reshape(3, 2) / 3
    expected = np.map_fn(lambda row: np.grad(loss)(w, row), x)
    close(np.vectorized_map(lambda row: np.grad(loss)(w, row), x, fallback=False), expected)
    close(np.compile(lambda x: np.vectorized_map(lambda row: np.grad(loss)(w, row), x), backend="eager")(x), expected)
    whole = np.grad(lambda w: np.vectorized_map(lambda row: loss(w, row), x, fallback=False).sum())(w)
    close(whole, expected.sum(axis=0))
    second = np.vectorized_map(lambda row: np.hessian(loss)(w, row), x, fallback=False)
    close(second, np.map_fn(lambda row: np.hessian(loss)(w, row), x))


def test_compiled() -> None:
    function = np.compile(np.grad(lambda x: (literals(x) ** 2).sum()))
    expected = np.grad(lambda x: (literals(x) ** 2).sum())(vector())
    close(function(vector()), expected)
    compiled = np.compile(lambda x: np.cumprod(x)[::-1][0] ** 2)
    close(np.grad(compiled)(vector()), np.grad(lambda x: np.cumprod(x)[-1] ** 2)(vector()))
    close(np.compile(np.jacobian(literals), backend="eager")(vector()), np.jacobian(literals)(vector()))
    close(np.compile(np.grad(lambda x: softmax(x)[0]))(vector()), np.grad(lambda x: softmax(x)[0])(vector()))
    close(np.compile(np.hessian(np.prod), backend="eager")(vector()), np.hessian(np.prod)(vector()))


def test_inside_of_a_tape() -> None:
    x = vector()
    with np.GradientTape() as tape:
        tape.watch(x)
        y = (np.grad(lambda x: (x**3).sum())(x)).sum()
    close(tape.gradient(y, x), 6 * vector())


# Rules of their own.


@pytest.mark.parametrize("backend", ["eager", "inductor"])
def test_stop_gradient_in_compiled_functions(backend: str) -> None:
    function = np.compile(lambda x: (x * np.stop_gradient(x)).sum(), backend=backend)
    with np.GradientTape() as tape:
        tape.watch(x := vector())
        total = function(x)
    assert np.array_equal(tape.gradient(total, x), x)


def test_stop_gradient() -> None:
    found = np.grad(lambda t: (t["a"] * np.stop_gradient({"b": t["a"]})["b"]).sum())({"a": vector()})
    close(found["a"], vector())
    x = vector()
    np.stop_gradient(x)[0] = 7
    assert x[0] == 7


def test_custom_gradient() -> None:
    @np.custom_gradient
    def function(x: Any, y: Any) -> Any:
        e = np.exp(x)
        return e * y, lambda upstream: (upstream * e * 10, None)

    close(function(vector(), 2.0), 2 * np.exp(vector()))
    close(np.grad(lambda x: function(x, 2.0).sum())(vector()), 10 * np.exp(vector()))
    close(np.grad(np.grad(lambda x: function(x, 2.0)))(1.0), 10 * numpy.e)
    close(np.vectorized_map(np.grad(lambda x: function(x, 2.0)), vector()), 10 * np.exp(vector()))
    x = vector()
    with np.GradientTape() as outer:
        outer.watch(x)
        with np.GradientTape() as tape:
            tape.watch(x)
            y = function(x, x)
        first = tape.gradient(y, x)
    close(outer.gradient(first, x), 10 * np.exp(vector()))

    @np.custom_gradient
    def pair(x: Any) -> Any:
        return (x * 1, x * 2), lambda one, two: one * 100 + two

    close(np.grad(lambda x: (pair(x)[0] + pair(x)[1]).sum())(vector()), [101, 101, 101])
    wrong = np.custom_gradient(lambda x: (x * 1, lambda upstream: (upstream, upstream)))
    with pytest.raises(ValueError, match="2 gradients for 1 arguments"):
        np.grad(wrong)(1.0)
    wrong = np.custom_gradient(lambda x: (x.sum(), lambda upstream: upstream * np.ones(2)))
    with pytest.raises(ValueError, match=r"gradient 0 has shape \(2,\), but the argument \(3,\)"):
        np.grad(wrong)(vector())


@pytest.mark.parametrize("axis", [0, 1])
def test_writes_to_what_a_batched_rule_returned(axis: int) -> None:
    """torch moves the dimension of the batch by a view, to which autograd refuses writes."""

    @np.custom_gradient
    def tanh(x: Any) -> Any:
        return np.tanh(x), lambda upstream: upstream * (1 - np.tanh(x) ** 2)

    def doubles(x: Any) -> Any:
        y = tanh(x)
        y[1:] *= 2
        return np.sin(y)

    x = np.asarray([[0.5, -0.25, 2.0], [1.0, 0.1, -0.3]])
    with np.GradientTape() as tape:
        tape.watch(x)
        y = np.vmap(doubles, in_axes=axis)(x)
    rows = x if axis == 0 else x.T
    expected = np.stack([np.grad(lambda row: doubles(row).sum())(row) for row in rows])
    close(tape.gradient(y, x), expected if axis == 0 else expected.T)
    if axis:
        stack = np.stack([x, 2 * x], 2)
        with np.GradientTape() as tape:
            tape.watch(stack)
            y = np.vmap(np.vmap(doubles, in_axes=1), in_axes=2)(stack)
        close(tape.gradient(y, stack)[..., 0], expected.T)


def test_custom_gradients_forward() -> None:
    """torch has them in reverse mode alone: the derivative of the way back is the way forward."""

    @np.custom_gradient
    def square(x: Any) -> Any:
        return x * x, lambda upstream: upstream * x * 10

    x = vector()
    close(np.jvp(square, (x,), (np.ones(3),))[1], 10 * x)
    close(np.jacobian(square, mode="forward")(x), np.diag(10 * x))
    close(np.hessian(lambda x: square(x).sum())(x), 10 * np.eye(3))


def test_checkpoint_gives_the_same_with_less_memory() -> None:
    import torch

    def block(x: Any) -> Any:
        for _ in range(8):
            x = np.sin(x) * 1.1
        return x

    def kept(function: Callable[[Any], Any]) -> tuple[Any, int]:
        x = np.linspace(0, 1, 1000)
        sizes = []

        def pack(tensor: Any) -> Any:
            sizes.append(tensor.nbytes)
            return tensor

        with np.GradientTape() as tape:
            tape.watch(x)
            y = x
            for _ in range(4):
                if function is block:
                    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
                        y = function(y)
                else:
                    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
                        y = function(y)
        gradient = tape.gradient(y, x)
        gc.collect()
        return gradient, sum(sizes)

    plain, much = kept(block)
    again, little = kept(np.checkpoint(block))
    close(again, plain, rtol=1e-12)
    assert little < much / 4
    close(np.grad(lambda x: np.checkpoint(block)(x).sum())(vector()), np.grad(lambda x: block(x).sum())(vector()))


def _doubled_where_positive(x: Any) -> Any:
    y = x * 1.0
    y[y > 0] *= 2
    return np.sin(y) * x


def _overwrites_what_it_needs(x: Any) -> Any:
    y = np.tanh(x)
    y[1:] *= x[:-1]
    return np.sin(y)


def _in_a_map(x: Any) -> Any:
    return np.vectorized_map(np.grad(lambda x: _doubled_where_positive(x).sum()), np.stack([x, -x])).sum(0)


def _by_a_tape(x: Any) -> Any:
    with np.GradientTape() as tape:
        x = x * 1.0
        tape.watch(x)
        y = (x**3).sum()
    return tape.gradient(y, x)


INSIDE = {
    "plain": _doubled_where_positive,
    "grad": np.grad(lambda x: (x**3).sum()),
    "jvp": lambda x: np.jvp(_doubled_where_positive, (x,), (np.ones(3),))[1],
    "vjp": lambda x: np.vjp(_doubled_where_positive, x)[1](np.ones(3))[0],
    "linearize": lambda x: np.linearize(_doubled_where_positive, x)[1](np.ones(3)),
    "jacobian": lambda x: np.jacobian(_doubled_where_positive)(x).sum(0),
    "map": _in_a_map,
    "tape": _by_a_tape,
    "jacobian of an overwritten value": lambda x: np.jacobian(_overwrites_what_it_needs)(x).sum(0),
    "vjp of an overwritten value": lambda x: np.vjp(_overwrites_what_it_needs, x)[1](np.ones(3))[0],
    "linearize of an overwritten value": lambda x: np.linearize(_overwrites_what_it_needs, x)[1](np.ones(3)),
    "jacobian of jvp": lambda x: np.jacobian(lambda x: np.jvp(_overwrites_what_it_needs, (x,), (x,))[1])(x).sum(0),
    "map of a tape's Jacobian": lambda x: np.vectorized_map(_by_tape, np.stack([x, -x])).sum(0),
}


def _by_tape(x: Any) -> Any:
    with np.GradientTape() as tape:
        tape.watch(x)
        y = np.tanh(x) ** 3
    return tape.jacobian(y, x).sum(0)


@pytest.mark.filterwarnings("error::RuntimeWarning")
@pytest.mark.parametrize("function", INSIDE.values(), ids=INSIDE)
def test_checkpoints_of_transforms(function: Callable[[Any], Any]) -> None:
    """torch refuses a transform where a checkpoint notes values, and computes again in the middle of a batch."""
    x = np.asarray([0.5, -0.25, 2.0])

    def both(function: Callable[[Any], Any]) -> Any:
        with np.GradientTape(persistent=True) as tape:
            tape.watch(x)
            y = function(x)
            total = (y * y).sum()
        return tape.gradient(total, x), tape.jacobian(y, x)

    for found, expected in zip(both(np.checkpoint(function)), both(function), strict=True):
        close(found, expected)


def _in_place_softmax(x: Any) -> Any:
    e = np.exp(x)
    e /= e.sum()
    return (e * x).sum()


def _adds_to_a_factor(x: Any) -> Any:
    y = x * 2
    z = y * x
    y += 1
    return (y * z).sum()


def _squares_its_argument(x: Any) -> Any:
    x *= x
    return (x * x).sum()


@pytest.mark.parametrize("function", [_in_place_softmax, _adds_to_a_factor, _squares_its_argument])
def test_a_checkpoint_that_overwrites_what_it_needs_keeps_its_values(function: Callable[[Any], Any]) -> None:
    x = np.asarray([0.5, 1.5, -0.7])
    with pytest.warns(RuntimeWarning, match="checkpoint keeps all values"):
        close(np.grad(np.checkpoint(function))(x), np.grad(function)(x))
    with pytest.warns(RuntimeWarning), np.GradientTape() as tape:
        y = np.array(x)
        tape.watch(y)
        z = np.checkpoint(function)(y)
    with pytest.raises(RuntimeError, match=r"overwrites=True"):
        tape.gradient(z, y)


@pytest.mark.parametrize("xp", [np, numpy])
@pytest.mark.parametrize("backend", ["none", "eager", "inductor"])
def test_what_a_checkpoint_reads_must_not_change_before_its_gradient(xp: Any, backend: str) -> None:
    x, w = np.asarray([0.5, 1.5, -0.7]), xp.asarray([1.0, 2.0, 3.0])

    def function(x: Any) -> Any:
        return np.sin(x) * w

    if backend != "none":
        function = np.compile(function, backend=backend, background=False)
    for factor in (1, 1, 2, 1):
        with np.GradientTape() as tape:
            tape.watch(x)
            y = np.checkpoint(lambda x: np.cos(function(x)))(x).sum()
        if factor == 1:
            close(tape.gradient(y, x), -np.sin(np.sin(x) * w) * np.cos(x) * w)
            continue
        w *= factor
        with pytest.raises(RuntimeError, match="overwritten after it was used"):
            tape.gradient(y, x)


def test_a_checkpoint_that_writes_outside_keeps_its_values() -> None:
    x = np.asarray([0.5, -0.25, 2.0])

    def both(apply: Callable[[Any], Any]) -> Any:
        total = np.ones(3)

        def function(x: Any) -> Any:
            y = x.copy()
            y[0] = 2.0
            np.add(total, x, out=total)
            return np.sin(x) * total * y

        with np.GradientTape() as tape:
            tape.watch(x)
            y = apply(function)(x)
        return tape.gradient(y, x), total

    with pytest.warns(RuntimeWarning, match="checkpoint keeps all values"):
        found = both(np.checkpoint)
    for one, other in zip(found, both(lambda function: function), strict=True):
        numpy.testing.assert_allclose(np.asnumpy(one), np.asnumpy(other))


@pytest.mark.parametrize("function", [_by_a_tape, np.grad(lambda x: (x**3).sum()), np.sin])
def test_a_checkpoint_runs_compiled_code_anew(function: Callable[[Any], Any]) -> None:
    compiled = np.checkpoint(np.compile(function, backend="eager"))
    for factor in (1.0, 2.0, -3.0):
        x = np.asarray([0.5, 1.5, -0.7]) * factor
        close(compiled(x), function(x))


@pytest.mark.parametrize("backend", ["eager", "inductor"])
def test_compiled_code_in_a_checkpoint_writes_outside_once(backend: str) -> None:
    total = np.zeros(3)

    @np.compile(backend=backend, background=False)
    def added(x: Any) -> Any:
        total[...] += x
        return x * 2

    for count in (1, 2, 3):
        x = np.asarray([0.5, 1.5, -0.7])
        with pytest.warns(RuntimeWarning, match="checkpoint keeps all values"), np.GradientTape() as tape:
            tape.watch(x)
            y = np.checkpoint(lambda x: np.sin(x) * added(np.ones(3)))(x)
        close(tape.gradient(y, x), 2 * np.cos(x))
        close(total, np.full(3, float(count)))


def test_compiled_code_in_a_checkpoint_overwrites_its_argument() -> None:
    def function(x: Any) -> Any:
        x *= 2
        return np.sin(x)

    compiled = np.checkpoint(np.compile(function, backend="eager"))
    for factor in (1.0, 2.0, -3.0):
        x = np.asarray([0.5, 1.5, -0.7]) * factor
        with pytest.warns(RuntimeWarning, match="checkpoint keeps all values"), np.GradientTape() as tape:
            tape.watch(x)
            y = x * 1.0
            z = compiled(y) * y
        close(tape.gradient(z, x), 4 * x * np.cos(2 * x) + 2 * np.sin(2 * x))


# Errors.


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: np.grad(np.sum)(np.arange(3)), TypeError, "grad: argument 0 has dtype int64"),
        (lambda: np.grad(np.sum)(3), TypeError, "grad: argument 0 has dtype int64"),
        (lambda: np.grad(lambda x, t: x, 1)(1.0, {"a": [True]}), TypeError, r"argument 1\['a'\]\[0\] has dtype bool"),
        (lambda: np.grad(np.sin)(vector()), ValueError, r"shape \(3,\): a gradient is that of one number"),
        (lambda: np.grad(np.argmax)(vector()), TypeError, "the result has dtype int64"),
        (lambda: np.grad(lambda x: (x, x))(1.0), TypeError, "a gradient is that of one number"),
        (lambda: np.grad(lambda x: x * 1j)(1.0), TypeError, "returns a complex number"),
        (lambda: np.grad(np.sum, 2)(vector()), ValueError, "argnums is 2, but the function is called with 1 arguments"),
        (lambda: np.grad(np.sum)("text"), TypeError, "no array"),
        (lambda: np.grad(np.sum, has_aux=True)(vector()), TypeError, "has_aux is for functions that return a pair"),
        (lambda: np.jacobian(np.argsort)(vector()), TypeError, "the result has dtype int64"),
        (lambda: np.jacobian(np.sin)(np.ones(2, complex)), TypeError, "complex arrays"),
        (lambda: np.jacobian(np.sin, mode="sideways"), ValueError, "mode must be one of"),
        (lambda: np.jacobian(np.sin, chunk_size=0), ValueError, "chunk_size must be at least 1"),
        (
            lambda: np.jvp(np.sin, (vector(),), (np.ones(2),)),
            ValueError,
            r"shapes \[\(2,\)\] are given for shapes \[\(3,",
        ),
        (lambda: np.jvp(np.sin, vector(), vector()), TypeError, "jvp: primals is a ndarray: it is a tuple"),
        (lambda: np.vjp(np.sin, vector())[1](np.ones(2)), ValueError, "vjp: arrays of shapes"),
        (lambda: np.vjp(np.sin, np.arange(3)), TypeError, "vjp: argument 0 has dtype int64"),
    ],
)
def test_errors(call: Callable[[], Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        call()


def test_masks_from_outside_choose() -> None:
    x, mask = np.asarray([1.0, 2.0, 3.0]), np.asarray([True, False, True])
    assert np.grad(lambda x, m: np.compress(m, x).sum())(x, mask).tolist() == [1.0, 0.0, 1.0]
    assert np.grad(lambda x: x[np.nonzero(mask)].prod())(x).tolist() == [3.0, 0.0, 1.0]
    assert np.grad(lambda x: x.sum() + x.cumprod(dtype=int).sum())(x).tolist() == [1.0, 1.0, 1.0]


def tape_of(f: Any, a: Any, b: Any) -> Any:
    with np.GradientTape() as tape:
        tape.watch([a, b])
        y = f(a, b)
    return tape.gradient(y, [a, b])


def jacobian_of_tape(f: Any, a: Any, b: Any) -> Any:
    with np.GradientTape() as tape:
        tape.watch([a, b])
        y = f(a, b)
    return tape.jacobian(y, [a, b])


@pytest.mark.parametrize(
    "gradients",
    [
        lambda f, a, b: np.grad(f, (0, 1))(a, b),
        lambda f, a, b: np.value_and_grad(f, (0, 1))(a, b)[1],
        lambda f, a, b: np.compile(np.grad(f, (0, 1)), backend="eager")(a, b),
        lambda f, a, b: np.vjp(f, a, b)[1](np.asarray(1.0)),
        lambda f, a, b: np.jacobian(f, (0, 1), mode="reverse")(a, b),
        lambda f, a, b: np.jacobian(f, (0, 1), mode="forward")(a, b),
        lambda f, a, b: np.vectorized_map(lambda pair: np.grad(f, (0, 1))(*pair), (np.stack([a]), np.stack([b]))),
        tape_of,
        jacobian_of_tape,
    ],
)
@pytest.mark.parametrize(
    "f", [lambda a, b: (a + b).sum(), lambda a, b: (2 * (a.T + b)).sum(), lambda a, b: (a + b).mean()]
)
def test_gradients_may_be_written_to_one_by_one(gradients: Any, f: Any) -> None:
    """torch has one for both operands of a sum, and broadcasts it: a program that scales each would scale both."""
    found = gradients(f, np.ones((2, 2)), np.ones((2, 2)))
    expected = [np.asnumpy(each).copy() * 3 for each in found]
    for each in found:
        each *= 3
    for each, value in zip(found, expected, strict=True):
        numpy.testing.assert_array_equal(np.asnumpy(each), value)


def test_a_pullback_returns_no_memory_of_its_argument() -> None:
    given = np.ones(2)
    found = np.vjp(lambda x: x + 1, np.ones(2))[1](given)
    found[0][...] = 7
    assert given.tolist() == [1, 1]


# Functions that draw random numbers, and are run more than once.


def noisy(x: Any) -> Any:
    return np.sin(x) * np.random.rand(3)


def overwrites_noise(x: Any) -> Any:
    y = np.exp(x)
    z = y * np.random.rand(3) * y
    y *= 0
    return z


def adds_noise(x: Any) -> Any:
    x += np.random.rand(3)
    return x * x


@np.custom_gradient
def scaled(x: Any) -> Any:
    noise = np.random.rand(3)
    return x * noise, lambda upstream: upstream * noise


def summed(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda x: function(x).sum()


def by_pullback(function: Callable[[Any], Any], x: Any) -> Any:
    return np.vjp(function, x)[1](np.ones(3))[0]


def by_tape(function: Callable[[Any], Any], x: Any) -> Any:
    with np.GradientTape(overwrites=True) as tape:
        tape.watch(x)
        y = function(x)
    return tape.gradient(y, x)


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        (noisy, lambda x, noise: np.cos(x) * noise),
        (overwrites_noise, lambda x, noise: 2 * np.exp(2 * x) * noise),
        (adds_noise, lambda x, noise: 2 * (x + noise)),
        (scaled, lambda x, noise: noise),
        (np.checkpoint(noisy), lambda x, noise: np.cos(x) * noise),
    ],
)
@pytest.mark.parametrize(
    "derivative",
    [
        lambda f, x: np.grad(summed(f))(x),
        by_pullback,
        by_tape,
        lambda f, x: np.jvp(f, (x,), (np.ones(3),))[1],
        lambda f, x: np.jacobian(f, mode="forward", chunk_size=1)(x).sum(0),
        lambda f, x: np.jacobian(f, mode="reverse", chunk_size=2)(x).sum(0),
    ],
)
def test_a_function_that_is_run_again_draws_the_same_numbers(function: Any, expected: Any, derivative: Any) -> None:
    """And the generator goes on as after one run."""
    np.random.seed(5)
    noise, following = np.random.rand(3), np.random.rand(3)
    np.random.seed(5)
    close(derivative(function, vector()), expected(vector(), noise))
    close(np.random.rand(3), following, rtol=0)


@pytest.mark.parametrize("function", [noisy, np.compile(noisy, backend="eager")])
def test_checkpoints_draw_again_what_they_drew(function: Callable[[Any], Any]) -> None:
    """Whatever drew it, one inside of another, and asked in an order of their own."""
    generator = np.random.default_rng(3)

    def block(x: Any) -> Any:
        return np.checkpoint(function)(x) * np.sin(x) * generator.random(3)

    x = vector()
    with np.GradientTape(persistent=True) as tape:
        tape.watch(x)
        first = np.checkpoint(block)(x)
        second = np.checkpoint(block)(x)
    for y in (second, first, second):
        close(tape.gradient(y, x) * np.tan(x), 2 * y)


def test_compiled_gradients_through_writes_to_the_inside() -> None:
    """The gradient of what was there before is copied before it is cleared."""
    x, weights = (np.asarray(numpy.random.default_rng(seed).normal(size=(5, 6))) for seed in range(2))

    def moved(u: Any) -> Any:
        u = u.copy()
        u[1:-1, 1:-1] = 2 * u[:-2, 1:-1]
        return np.sum(u * weights)

    derivative = np.grad(moved)
    numpy.testing.assert_allclose(np.asnumpy(np.compile(derivative)(x)), np.asnumpy(derivative(x)), rtol=1e-12)


def test_custom_derivatives_in_batches() -> None:
    @np.custom_gradient
    def scaled(x: Any, w: Any) -> Any:
        return np.sin(x) * w, lambda upstream: (3 * upstream * w * np.cos(x), None if w.ndim else upstream * np.sin(x))

    @np.custom_jvp
    def sine(x: Any) -> Any:
        return np.sin(x)

    sine.defjvp(lambda primals, tangents: (sine(primals[0]), 7 * np.cos(primals[0]) * tangents[0]))
    x, w = np.arange(3.0), np.asarray(2.0)
    slope = numpy.cos(numpy.arange(3.0))

    def mapped(x: Any, w: Any = w) -> Any:
        return np.vectorized_map(lambda each: scaled(each, w), x)

    def close(actual: Any, expected: Any) -> None:
        numpy.testing.assert_allclose(numpy.asarray(actual), expected, atol=1e-12)

    close(np.jvp(mapped, (x,), (np.ones(3),))[1], 6 * slope)
    close(np.linearize(mapped, x)[1](np.ones(3)), 6 * slope)
    close(np.grad(lambda w: mapped(x, w).sum())(w), numpy.sin(numpy.arange(3.0)).sum())
    close(np.hessian(lambda x: mapped(x).sum())(x), numpy.diag(-6 * numpy.sin(numpy.arange(3.0))))
    twice = np.vectorized_map(lambda row: np.jvp(mapped, (row,), (np.ones(3),))[1], np.stack([x, x]))
    close(twice, [6 * slope] * 2)
    close(np.jvp(lambda x: np.vectorized_map(sine, x), (x,), (np.ones(3),))[1], 7 * slope)


READING = {
    "vjp": lambda x, c: np.vjp(lambda q: np.sin(q) * x, c)[1](c)[0],
    "vjp of a view": lambda x, c: np.vjp(lambda q: np.sin(q[:1]) * x[1:], c)[1](c[:1])[0],
    "vjp of a reversed view": lambda x, c: np.vjp(lambda q: np.sin(q) * x[::-1], c)[1](c)[0],
    "linearize": lambda x, c: np.linearize(lambda q: np.sin(q) * x, c)[1](c),
    "grad": lambda x, c: np.grad(lambda q: (np.sin(q) * x).sum())(c),
    "jacobian": lambda x, c: np.jacobian(lambda q: np.sin(q) * x)(c).sum(0),
    "write": lambda x, c: np.vjp(lambda q: scaled(x, q), c)[1](c)[0] + x,
}


def scaled(x: Any, q: Any) -> Any:
    x *= np.sin(q)
    return x * q


@pytest.mark.parametrize("name", READING)
def test_forward_mode_of_a_derivative_that_reads_its_argument(name: str) -> None:
    x, c, along = np.asarray([0.3, 0.7]), np.asarray([2.0, 3.0]), np.asarray([1.0, 0.5])

    def run(x: Any) -> Any:
        return READING[name](x * 1.0 if name == "write" else x, c)

    difference = (run(x + 1e-6 * along) - run(x - 1e-6 * along)) / 2e-6
    close(np.jvp(run, (x,), (along,))[1], difference, rtol=1e-7)
    close(np.jacobian(run, mode="forward")(x) @ along, difference, rtol=1e-7)
    close(np.jvp(np.compile(run, backend="eager"), (x,), (along,))[1], difference, rtol=1e-7)


def moves_by_gradient(x: Any) -> Any:
    x += 10
    return (x * x).sum(), lambda upstream: upstream * 2 * x


def moves(x: Any) -> Any:
    x += 10
    return (x * x).sum()


moves_by_tangent = np.custom_jvp(moves)
moves_by_tangent.defjvp(lambda primals, tangents: (None, (2 * (primals[0] + 10) * tangents[0]).sum()))
WRITING = [np.custom_gradient(moves_by_gradient), moves_by_tangent]
WRITTEN: dict[str, Callable[[Any], Any]] = {
    "grad": lambda f: np.grad(f),
    "value_and_grad": lambda f: lambda x: np.value_and_grad(f)(x)[1],
    "jacobian": np.jacobian,
    "forward": lambda f: np.jacobian(f, mode="forward"),
    "vjp": lambda f: lambda x: np.vjp(f, x)[1](1.0)[0],
    "compiled": lambda f: np.compile(np.grad(f), backend="eager"),
    "batched": lambda f: np.grad(lambda x: np.vectorized_map(f, x[None]).sum()),
}


@pytest.mark.parametrize("transform", WRITTEN)
@pytest.mark.parametrize("fn", WRITING)
def test_functions_with_derivatives_of_their_own_may_write_to_arguments(fn: Any, transform: str) -> None:
    x = np.asarray([1.0, 2.0])
    close(WRITTEN[transform](fn)(x), [22.0, 24.0])
    close(x, [1.0, 2.0])

    def reads(x: Any) -> Any:
        return fn(w) * x.sum()

    w = np.asarray([1.0, 2.0])
    close(WRITTEN[transform](reads)(x), [265.0, 265.0])
    close(w, [11.0, 12.0])
    assert fn(x) == 265
    close(x, [11.0, 12.0])
    backwards = np.asarray([1.0, 2.0])[::-1]
    fn(backwards)
    close(backwards.copy(), [12.0, 11.0])


@pytest.mark.parametrize("transform", WRITTEN)
@pytest.mark.parametrize("fn", WRITING)
def test_what_they_write_to_arguments_has_no_derivative(fn: Any, transform: str) -> None:
    def reads(x: Any) -> Any:
        y = x * 1
        return fn(y) + y.sum()

    with pytest.raises(NotImplementedError, match="wrote to its argument"):
        WRITTEN[transform](reads)(np.asarray([1.0, 2.0]))


@np.custom_gradient
def power(x: Any, n: int = 3, *, of: str = "x") -> Any:
    y = x * 0 + 1
    for _ in range(n):
        y = y * x
    return y.sum(), lambda upstream: (upstream * n * x ** (n - 1), None)


@np.custom_jvp
def power_forward(x: Any, n: int = 3) -> Any:
    return (x**n).sum()


@power_forward.defjvp
def power_rule(primals: Any, tangents: Any) -> Any:
    (x, n), (x_dot, n_dot) = primals, tangents
    assert n_dot == 0
    return power_forward(x, n), (n * x ** (n - 1) * x_dot).sum()


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("fn", [power, power_forward])
def test_their_arguments_have_names_defaults_and_integers(fn: Any, compiled: bool) -> None:
    x = np.asarray([1.0, 2.0])
    for call in (fn, lambda x: fn(x, 3), lambda x: fn(x, n=3), lambda x: fn(n=3, x=x)):
        gradient = np.grad(call)
        close((np.compile(gradient, backend="eager") if compiled else gradient)(x), [3.0, 12.0])
        assert call(x) == 9
    close(np.hessian(fn)(x), [[6.0, 0.0], [0.0, 12.0]])
    with pytest.raises(TypeError, match="takes no argument by name alone: of"):
        power(x, of="y")


def test_their_arguments_are_containers() -> None:
    @np.custom_gradient
    def by_gradient(p: Any, kind: str) -> Any:
        assert kind == "square"
        return {"sum": (p["a"] ** 2).sum() + p["b"]}, lambda up: ({"a": up["sum"] * 2 * p["a"], "b": up["sum"]}, None)

    @np.custom_jvp
    def by_tangent(p: Any, kind: str) -> Any:
        return {"sum": (p["a"] ** 2).sum() + p["b"]}

    @by_tangent.defjvp
    def rule(primals: Any, tangents: Any) -> Any:
        (p, kind), (t, _) = primals, tangents
        return by_tangent(p, kind), {"sum": (2 * p["a"] * t["a"]).sum() + t["b"]}

    for fn in (by_gradient, by_tangent):
        found = np.grad(lambda p, fn=fn: fn(p, "square")["sum"])({"a": np.asarray([1.0, 2.0]), "b": np.asarray(3.0)})
        close(found["a"], [2.0, 4.0])
        close(found["b"], 1.0)
    misfit = np.custom_gradient(lambda p: (p["a"].sum(), lambda upstream: {"b": upstream}))
    with pytest.raises(ValueError, match="gradient 0 is built differently from the argument"):
        np.grad(misfit)({"a": np.ones(2)})


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("options", [{}, {"mode": "forward"}, {"mode": "reverse"}, {"chunk_size": 2}])
@pytest.mark.parametrize("shape", [(0,), (0, 3)])
def test_jacobians_of_no_elements(shape: tuple[int, ...], options: dict[str, Any], compiled: bool) -> None:
    def shaped(transformed: Any, *shape: int) -> None:
        transformed = np.compile(transformed, backend="eager") if compiled else transformed
        found = transformed(empty)
        assert found.shape == shape and found.dtype == np.float64

    empty = np.zeros(shape)
    shaped(np.jacobian(lambda x: (x**2).sum(), **options), *shape)
    shaped(np.jacobian(lambda x: x * 2, **options), *shape, *shape)
    shaped(np.jacobian(lambda x: np.ones(2) * x.sum(), **options), 2, *shape)
    shaped(np.hessian(lambda x: (x**2).sum()), *shape, *shape)
    with np.GradientTape(persistent=True) as tape:
        tape.watch(empty)
        y = empty * 2
    assert tape.jacobian(y, empty).shape == (*shape, *shape)
    assert tape.jacobian(y, np.ones(2)) is None


@pytest.mark.parametrize("run", [np.grad, np.jacobian, lambda f: np.compile(np.grad(f), backend="eager")])
def test_a_write_to_an_argument_by_another_name_is_refused(run: Callable[[Any], Any]) -> None:
    x = np.ones(3)

    def function(y: Any) -> Any:
        x[0] = 2.0
        return (x * y).sum()

    with pytest.raises(NotImplementedError, match="has the memory of an argument which is differentiated"):
        run(function)(x)
    assert x.tolist() == [1.0, 1.0, 1.0]
