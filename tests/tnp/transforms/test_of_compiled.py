"""Transforms of compiled functions: the same results, and Python runs while they are traced alone."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable
from typing import Any

import numpy
import pytest

import tnp as np


def scalar(x: Any) -> Any:
    print("runs")
    return (np.sin(x) * x).sum()


def vector(x: Any) -> Any:
    print("runs")
    return np.sin(x) * x[0]


def applied(found: Any, x: Any) -> Any:
    value, derivative = found
    result = derivative(x)
    return value, result[0] if isinstance(result, tuple) else result


def transformed(fn: Any, name: str) -> Callable[[Any], Any]:
    of_scalar = fn(scalar)
    of_vector = fn(vector)
    return {
        "grad": np.grad(of_scalar),
        "value_and_grad": np.value_and_grad(of_scalar),
        "jacobian": np.jacobian(of_vector),
        "forward": np.jacobian(of_vector, mode="forward"),
        "hessian": np.hessian(of_scalar),
        "jvp": lambda x: np.jvp(of_vector, (x,), (x,)),
        "vjp": lambda x: applied(np.vjp(of_vector, x), x),
        "linearize": lambda x: applied(np.linearize(of_vector, x), x),
        "vectorized_map": lambda x: np.vectorized_map(of_vector, np.stack([x, x])),
        "twice": np.grad(lambda x: np.grad(of_scalar)(x).sum()),
    }[name]


NAMES = ["grad", "value_and_grad", "jacobian", "forward", "hessian", "jvp", "vjp", "linearize", "vectorized_map"]


@pytest.mark.parametrize("name", NAMES)
def test_python_runs_once(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    x = np.asarray([1.0, 2.0])
    expected = transformed(lambda f: f, name)(x)
    call = transformed(lambda f: np.compile(f, backend="eager"), name)
    call(x)
    capsys.readouterr()
    found = call(x + 0)
    assert not capsys.readouterr().out
    pairs = zip(found, expected, strict=True) if isinstance(found, tuple) else [(found, expected)]
    for one, other in pairs:
        numpy.testing.assert_allclose(np.asnumpy(one), np.asnumpy(other), rtol=1e-12)


def checkpointed_on_a_tape(function: Any, x: Any) -> Any:
    with np.GradientTape() as tape:
        tape.watch(x)
        y = np.checkpoint(function)(x)
    return tape.gradient(y, x)


# Each call makes its transforms anew, as a program does that takes a step in a loop.
COMPOSED: dict[str, Callable[[Any, Any], Any]] = {
    "vmap": lambda f, x: np.vmap(f)(x),
    "vmap_of_rows": lambda f, x: np.vmap(f, in_axes=1, out_axes=-1)(np.stack([x, x])),
    "vmap_of_vmap": lambda f, x: np.vmap(np.vmap(f))(x[:, None]),
    "vmap_of_grad": lambda f, x: np.vmap(np.grad(f))(x),
    "vectorized_map_of_grad": lambda f, x: np.vectorized_map(np.grad(f), x[:, None]),
    "jacobian_of_vmap": lambda f, x: np.jacobian(np.vmap(f))(x),
    "vjp_of_vmap": lambda f, x: np.vjp(np.vmap(f), x)[1](x)[0],
    "grad_of_grad": lambda f, x: np.grad(np.grad(f))(x[0]),
    "third": lambda f, x: np.grad(np.grad(np.grad(f)))(x[0]),
    "jvp_of_grad": lambda f, x: np.jvp(np.grad(f), (x,), (x,))[1],
    "vjp_of_grad": lambda f, x: np.vjp(np.grad(f), x)[1](x)[0],
    "vjp_of_checkpoint": lambda f, x: np.vjp(np.checkpoint(f), x)[1](np.ones(()))[0],
    "linearize_of_checkpoint": lambda f, x: np.linearize(np.checkpoint(f), x)[1](x),
    "grad_of_checkpoint": lambda f, x: np.grad(np.checkpoint(f))(x),
    "hessian_of_checkpoint": lambda f, x: np.hessian(np.checkpoint(f))(x),
    "map_of_checkpoint": lambda f, x: np.vectorized_map(np.checkpoint(f), x[:, None]),
    "tape_of_checkpoint": checkpointed_on_a_tape,
}


@pytest.mark.parametrize("name", COMPOSED)
def test_python_runs_once_in_compositions(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    x, composed = np.asarray([1.0, 2.0]), COMPOSED[name]
    expected = composed(scalar, x)
    function = np.compile(scalar, backend="eager")
    composed(function, x)
    capsys.readouterr()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = composed(function, x + 0)
    assert not capsys.readouterr().out
    numpy.testing.assert_allclose(np.asnumpy(found), np.asnumpy(expected), rtol=1e-12)


def test_options_make_transforms_of_their_own() -> None:
    function = np.compile(lambda x, y: (x * x * y).sum(), backend="eager")
    x, y = np.asarray([1.0, 2.0]), np.asarray([3.0, 4.0])
    assert np.grad(function)(x, y).tolist() == [6.0, 16.0] and np.grad(function, 1)(x, y).tolist() == [1.0, 4.0]
    assert [each.tolist() for each in np.grad(function, (1, 0))(x, y)] == [[1.0, 4.0], [6.0, 16.0]]
    assert np.vmap(function)(x, y).tolist() == [3.0, 16.0]
    assert np.vmap(function, (0, None))(x, y).tolist() == [7.0, 28.0]
    assert np.grad(function) is np.grad(function)


def test_static_arguments_in_vmap() -> None:
    function = np.compile(lambda x, n: x.sum() * n if n > 1 else x, static_argnums=1, backend="eager")
    rows = np.asarray([[1.0, 2.0], [3.0, 4.0]])
    for _ in range(2):
        assert np.vmap(function, in_axes=(0, None))(rows, 2).tolist() == [6.0, 14.0]
        assert np.vmap(function, in_axes=(0, None))(rows, 1).tolist() == rows.tolist()


def adding_outside() -> tuple[Any, Any, Any]:
    """A compiled function that adds to an array from outside, which no batch can; that array, and rows to add."""
    total, rows = np.zeros(2), np.asarray([[1.0, 2.0], [3.0, 4.0]])

    def adding(row: Any) -> Any:
        total[...] += row
        return row.sum()

    return np.compile(adding, backend="eager"), total, rows


def test_what_vmap_can_not_batch() -> None:
    function, total, rows = adding_outside()
    with pytest.raises(RuntimeError, match="at once"):
        np.vmap(function, fallback=False)(rows)
    with pytest.warns(RuntimeWarning) as told:
        assert np.vmap(function)(rows).tolist() == [3.0, 7.0]
    assert [each.filename for each in told] == [__file__] and "once for each element" in str(told[0].message)
    assert total.tolist() == [4.0, 6.0]


@pytest.mark.parametrize(
    ("name", "transformed"),
    [
        ("grad", lambda f: np.grad(lambda x: f(x).sum())),
        ("vmap", lambda f: np.vmap(lambda x: f(x))),
        ("jvp", lambda f: lambda x: np.jvp(lambda x: f(x), (x,), (x,))[1]),
    ],
)
def test_a_transform_of_python_says_that_it_runs_compiled_functions_in_python(name: str, transformed: Any) -> None:
    namespace: dict[str, Any] = {}
    exec(f"def doubled_by_{name}(x): return x * 2", namespace)  # code that no other test has
    function = np.compile(namespace[f"doubled_by_{name}"], backend="eager", autograph=False)
    call, x = transformed(function), np.ones(2)
    text = rf"doubled_by_{name} .*in Python here.* tnp\.{name} has to see.*compile that"
    with pytest.warns(RuntimeWarning, match=text) as told:
        assert call(x).tolist() == call(x).tolist() == [2.0, 2.0]
    assert [each.filename for each in told] == [__file__]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert np.compile(call, backend="eager")(x).tolist() == [2.0, 2.0]


@pytest.mark.parametrize("transform", [np.vjp, np.linearize])
def test_a_derivative_keeps_what_the_function_read(transform: Any) -> None:
    of_numpy, own, x = numpy.asarray([1.0, 2.0]), np.asarray([3.0, 4.0]), np.asarray([0.5, 2.0])
    value, derivative = transform(np.compile(lambda x: np.exp(x) * of_numpy * own, backend="eager"), x)
    before = applied((value, derivative), np.ones(2))[1].copy()
    for written in (of_numpy, own, x, value):
        written *= 3
    assert (
        applied((value, derivative), np.ones(2))[1].tolist()
        == before.tolist()
        == [3 * numpy.exp(0.5), 8 * numpy.exp(2)]
    )
    assert (
        np.grad(lambda weights: applied((value, derivative), weights)[1].sum())(np.ones(2)).tolist() == before.tolist()
    )


@pytest.mark.parametrize("transform", [np.vjp, np.linearize])
def test_derivatives_of_compiled_functions_that_write(transform: Any) -> None:
    found = []
    for compiled in (False, True):
        buffer = np.zeros(2)

        def function(x: Any, buffer: Any = buffer) -> Any:
            buffer[...] = x * x
            return buffer * x

        x = np.asarray([1.0, 3.0])
        derivative = transform(np.compile(function, backend="eager") if compiled else function, x)
        found.append((applied(derivative, np.ones(2))[1].tolist(), buffer.tolist()))
    assert found[0] == found[1] == ([3.0, 27.0], [1.0, 9.0])


def test_numbers_are_no_constants() -> None:
    slope = np.grad(np.compile(lambda x: x * x, backend="eager"))
    assert [slope(float(i)) for i in range(3)] == [0.0, 2.0, 4.0]
    assert slope.cache_info().traces == 1


def test_a_wrapper_of_a_compiled_function_is_python() -> None:
    import functools

    compiled, runs = np.compile(lambda x: x * x, backend="eager"), []

    @functools.wraps(compiled)
    def logged(x: Any) -> Any:
        runs.append(1)
        return compiled(x)

    slope = np.grad(logged)
    assert [slope(1.0), slope(1.0)] == [2.0, 2.0] and len(runs) == 2


def test_what_can_not_be_batched() -> None:
    function, total, rows = adding_outside()
    with pytest.raises(RuntimeError, match="at once"):
        np.vectorized_map(function, rows, fallback=False)
    with pytest.warns(RuntimeWarning, match="once for each element"):
        assert np.vectorized_map(function, rows).tolist() == [3.0, 7.0]
    assert total.tolist() == [4.0, 6.0]


def test_second_derivatives_on_tapes() -> None:
    x, cubes = np.asarray([1.0, 2.0]), np.compile(lambda x: (x**3).sum())
    for _ in range(2):
        with np.GradientTape() as outer:
            outer.watch(x)
            with np.GradientTape() as inner:
                inner.watch(x)
                value = cubes(x)
            slope = inner.gradient(value, x)
        assert outer.gradient(slope, x).tolist() == [6.0, 12.0]
        with np.GradientTape() as one:
            one.watch(x)
            value = cubes(x)
        assert one.jacobian(value, x).tolist() == [3.0, 12.0]
    with np.GradientTape(persistent=True) as single:
        single.watch(x)
        slope = single.gradient(cubes(x), x).sum()
    with pytest.raises(RuntimeError, match="nest two tapes"):
        single.gradient(slope, x)


def test_a_tape_keeps_what_a_compiled_function_read_of_numpys() -> None:
    weights, x = numpy.asarray([2.0, 3.0]), np.asarray([1.0, 2.0])
    function = np.compile(lambda x: x * weights, backend="eager")
    with np.GradientTape() as tape:
        tape.watch(x)
        value = function(x)
    weights[:] = 7
    assert tape.gradient(value, x).tolist() == [2.0, 3.0]


@pytest.mark.parametrize("backend", ["eager", "inductor"])
def test_second_derivatives_of_a_batch(backend: str) -> None:
    x = numpy.asarray([[1.0, 2.0], [0.5, 3.0]])
    hessians = np.compile(lambda x: np.vectorized_map(np.hessian(lambda x: (x**3).sum()), x), backend=backend)
    numpy.testing.assert_allclose(np.asnumpy(hessians(np.asarray(x))), [numpy.diag(6 * row) for row in x])


def test_a_gradient_of_writes_is_compiled() -> None:
    def squares(x: Any) -> Any:
        y = np.zeros(3)
        y[1:] = x
        y *= y
        return y.sum()

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert np.compile(np.grad(squares))(np.asarray([1.0, 2.0])).tolist() == [2.0, 4.0]


def taped(x: Any) -> Any:
    with np.GradientTape() as tape:
        tape.watch(x)
        y = (np.sin(x) * x**2).sum()
    return tape.gradient(y, x)


@pytest.mark.parametrize("backend", ["eager", "inductor"])
def test_a_tape_over_a_compiled_tape_is_refused_and_transforms_are_right(backend: str) -> None:
    """The graph cuts what the inner tape watches off from its argument, so the gradient was None."""
    compiled, x = np.compile(taped, backend=backend), np.asarray([1.0, 2.0])
    with np.GradientTape() as outer:
        outer.watch(x)
        y = compiled(x).sum()
    assert y.tolist() == pytest.approx(taped(x).sum().tolist())
    with pytest.raises(NotImplementedError, match=r"records a GradientTape .* use tnp\.grad"):
        outer.gradient(y, x)
    second = np.grad(lambda x: taped(x).sum())(x)
    numpy.testing.assert_allclose(np.asnumpy(np.grad(lambda x: compiled(x).sum())(x)), np.asnumpy(second))


def test_a_tape_in_a_branch_has_no_second_derivative() -> None:
    """It was zero, or wrong."""

    def branch(x: Any) -> Any:
        return np.cond(x[0] > 0, taped, lambda x: x * 2, x).sum()

    x = np.asarray([1.0, 2.0])
    assert np.compile(branch, backend="eager")(x).tolist() == pytest.approx(taped(x).sum().tolist())
    with pytest.raises((NotImplementedError, np.TracedValueError)):
        np.compile(np.grad(branch), backend="eager", fullgraph=True)(x)


@np.custom_gradient
def squared(x: Any) -> Any:
    return x * x, lambda upstream: upstream * 100


@np.custom_jvp
def also_squared(x: Any) -> Any:
    return x * x


also_squared.defjvp(lambda primals, tangents: (also_squared(*primals), 100 * tangents[0]))


@pytest.mark.parametrize("function", [squared, also_squared])
def test_derivatives_of_ones_own_in_compiled_functions(function: Any, tmp_path: Any) -> None:
    """Graphs hold the operations of the function, which have other derivatives."""
    x = np.asarray(2.0)
    compiled = np.compile(lambda x: function(x), backend="eager")
    for _ in range(2):
        with np.GradientTape() as tape, warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", RuntimeWarning)
            tape.watch(x)
            y = compiled(x)
        assert (y, tape.gradient(y, x)) == (4, 100)
    assert not caught  # said once
    assert np.grad(compiled)(x) == np.compile(np.grad(function), backend="eager")(x) == 100
    compiled.save(tmp_path / "squared.pt2", x)
    loaded = np.load_compiled(tmp_path / "squared.pt2")
    assert loaded(x) == 4
    for transform in (np.grad, lambda f: lambda x: np.jvp(f, (x,), (x,))):
        with pytest.raises(NotImplementedError, match=r"test_of_compiled\.py:\d+ calls one that has a custom_gradient"):
            transform(loaded)(x)


def test_derivatives_of_ones_own_in_loops_and_branches() -> None:
    """Derivatives of compiled loops and branches are those of their graphs."""
    x = np.asarray(2.0)

    def looped(x: Any) -> Any:
        return np.scan(lambda carry, i: (squared(x) + 0 * carry, None), x, np.arange(20.0))[0]

    def chosen(x: Any) -> Any:
        return np.cond(x > 0, squared, lambda x: x, x)

    def repeated(x: Any) -> Any:
        y = x * 0
        for _ in range(130):
            y = 0 * y + squared(x)
        return y

    for derivative in (np.grad, lambda f: lambda x: np.vjp(f, x)[1](np.ones(()))[0]):
        text = r"the 20 steps of a loop are unrolled, .* as .*test_of_compiled\.py:\d+ calls"
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            assert np.compile(derivative(looped), backend="eager")(x) == 100
        assert [each.filename for each in caught if re.search(text, str(each.message))] == [__file__]
    with pytest.warns(RuntimeWarning, match="the 130 steps of a loop are unrolled") as told:
        assert np.compile(np.grad(repeated), backend="eager")(x) == 100
    assert told[0].filename == __file__
    with pytest.raises(NotImplementedError, match="custom_gradient or custom_jvp, as"):
        np.compile(np.grad(chosen), backend="eager", fullgraph=True)(x)
    with pytest.warns(RuntimeWarning, match="is cut at"):
        assert np.compile(lambda x: np.jvp(chosen, (x,), (np.ones(()),))[1], backend="eager")(x) == 100
