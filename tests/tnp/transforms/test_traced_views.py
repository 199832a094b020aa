"""Views with a negative step or at a traced integer: in a trace, a batch, a derivative they are NumPy's views."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy
import pytest

import tnp as np
from tests.oracle import placed

Program = Callable[[Any, Any, Any], Any]
X = numpy.arange(12.0).reshape(3, 4) * 0.25 + 0.5
ROW = 1


def elements(xp: Any, x: Any, i: Any) -> Any:
    y, row = x[:, ::-1], x[i]
    y[0, 0] = 9.0
    row[1] = x[0, 3] * 2
    return x, y, row


def in_place(xp: Any, x: Any, i: Any) -> Any:
    row, y = x[i], x[::-1]
    row += 1.0
    y *= 2.0
    row **= 2
    y -= row
    return x, row, y


def out(xp: Any, x: Any, i: Any) -> Any:
    row, y = x[i], x[::-1, 1:]
    xp.multiply(row, 2.0, out=row)
    xp.add(y, x[:, 1:], out=y)
    xp.cumsum(x[0], out=x[i])
    return x, row, y


def methods(xp: Any, x: Any, i: Any) -> Any:
    x[i, ::-1].sort()
    x[i][1:3].fill(0.5)
    xp.copyto(x[::-1][0], x[0])
    xp.put_along_axis(x[::-1], xp.asarray([[0], [1], [2]]), 7.0, axis=1)
    return x


def of_views(xp: Any, x: Any, i: Any) -> Any:
    y = x[::-1]
    part = y[i][1:]
    part[::-1][0] *= 3.0
    turned = y.T
    turned[0] += part[0]
    x[i, ::-1] += x[i]
    y[:, 1].reshape(3, 1)[0] = 4.0
    return x, y, part, turned


def copies(xp: Any, x: Any, i: Any) -> Any:
    flat, contiguous = x[:, ::-1].ravel(), xp.ascontiguousarray(x[::-1])
    taken, chosen = x[i].copy(), x[[0, 2]]
    for each in (flat, contiguous, taken, chosen):
        each += 100.0
    return x, flat, contiguous, taken, chosen


def reads(xp: Any, x: Any, i: Any) -> Any:
    row, y = x[i], x[::-1, ::-2]
    before = row.copy(), y.copy()
    x *= 2.0
    x[i] += 1.0
    return x, *before, row * 1.0, y * 1.0, y.sum(axis=0) + row[0]


def flips(xp: Any, x: Any, i: Any) -> Any:
    xp.flip(x, 1)[0] = 3.0
    xp.fliplr(x)[i, 0] *= 2.0
    xp.rot90(x, 2)[0, 0] = -1.0
    return x


def iterated(xp: Any, x: Any, i: Any) -> Any:
    for row in x[::-1]:
        row[0] += row[1]
        row /= 2.0
    return x


PROGRAMS = [elements, in_place, out, methods, of_views, copies, reads, flips, iterated]
programs = pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)


def by_numpy(program: Program, x: numpy.ndarray, i: int = ROW) -> tuple[numpy.ndarray, ...]:
    given = x.copy()
    found = program(numpy, given, numpy.int64(i))
    return given, *(found if isinstance(found, tuple) else (found,))


def same(expected: tuple[numpy.ndarray, ...], given: Any, found: Any) -> None:
    actual = (given, *(found if isinstance(found, tuple) else (found,)))
    for right, ours in zip(expected, actual, strict=True):
        numpy.testing.assert_allclose(np.asnumpy(ours), right, rtol=1e-12)


def at_traced(program: Program) -> Any:
    """The program with an index that is traced: the place of the largest of its second argument."""
    return lambda x, weights: program(np, x, weights.argmax())


WEIGHTS = numpy.eye(3)[ROW]


@pytest.mark.parametrize(
    ("program", "backend"), [*[(program, "eager") for program in PROGRAMS], (of_views, "inductor")]
)
def test_compiled(program: Program, backend: str) -> None:
    x = np.asarray(X.copy())
    found = np.compile(at_traced(program), backend=backend)(x, np.asarray(WEIGHTS))
    same(by_numpy(program, X), x, found)


@programs
def test_batched(program: Program) -> None:
    x, weights = np.asarray(numpy.stack([X, X + 1])), np.asarray(numpy.stack([WEIGHTS, WEIGHTS[::-1]]))
    found = np.vectorized_map(lambda both: at_traced(program)(*both), (x, weights))
    rows = [by_numpy(program, X), by_numpy(program, X + 1)]
    same(tuple([numpy.stack(column) for column in zip(*rows, strict=True)]), x, found)


def loss(xp: Any, program: Program, x: Any, i: Any) -> Any:
    x = x * 1.0
    found = program(xp, x, i)
    return sum((each * each).sum() for each in (found if isinstance(found, tuple) else (found,)))


@programs
def test_derivatives(program: Program) -> None:
    def function(x: Any) -> Any:
        return loss(np, program, x, np.asarray(WEIGHTS).argmax())

    steps = numpy.eye(X.size).reshape(-1, *X.shape) * 1e-6
    expected = numpy.reshape(
        [loss(numpy, program, X + h, ROW) - loss(numpy, program, X - h, ROW) for h in steps], X.shape
    )
    x = placed(np, X)
    with np.GradientTape() as tape:
        tape.watch(x)
        total = function(x)
    for found in (
        np.grad(function)(x),
        np.compile(np.grad(function), backend="eager")(x),
        np.grad(np.compile(function, backend="eager"))(x),
        np.jacobian(function)(x),
        np.vectorized_map(lambda t: np.jvp(function, (x,), (t,))[1], np.asarray(steps * 1e6)).reshape(3, 4),
        tape.gradient(total, x),
    ):
        numpy.testing.assert_allclose(np.asnumpy(found), expected / 2e-6, rtol=1e-5, atol=1e-6)


@programs
def test_in_loops(program: Program) -> None:
    expected = X.copy()
    for k in range(3):
        by_numpy_in_place(program, expected, k)
    x = placed(np, X)

    def step(k: Any, x: Any) -> Any:
        program(np, x, k)
        return x

    def scanned(x: Any) -> Any:
        return np.scan(lambda x, k: (step(k, x), None), x, np.arange(3))[0]

    def counted(x: Any) -> Any:
        return np.fori_loop(0, 3, step, x)

    def pythons(x: Any, n: Any) -> Any:
        k = 0
        while k < n:
            program(np, x, k)
            k += 1
        return x

    for function in (scanned, counted, np.compile(scanned, backend="eager"), np.compile(counted, backend="eager")):
        numpy.testing.assert_allclose(np.asnumpy(function(x)), expected, rtol=1e-12)
    if program is not iterated:  # its rows are a loop in the loop
        compiled = np.compile(pythons, backend="eager")
        numpy.testing.assert_allclose(np.asnumpy(compiled(x.copy(), np.asarray(3))), expected, rtol=1e-12)


def by_numpy_in_place(program: Program, x: numpy.ndarray, k: int) -> None:
    program(numpy, x, numpy.int64(k))


def test_results_are_views_of_arguments() -> None:
    x = np.asarray(X.copy())
    weights = np.asarray(WEIGHTS)
    np.compile(lambda x: x[::-1], backend="eager")(x)[0, 0] = 70.0
    np.compile(lambda x, w: x[w.argmax()], backend="eager")(x, weights)[0] = 80.0
    np.compile(lambda x, w: x[w.argmax()][::-1], backend="eager")(x, weights)[0] = 90.0
    assert [x[2, 0], x[1, 0], x[1, 3]] == [70.0, 80.0, 90.0]
    turned = np.compile(lambda x: x[::-1].T, backend="eager")(x)
    turned[0] = 1.0
    assert x[:, 0].tolist() == [1.0] * len(x)


def test_scalars_and_0d_arrays_select_as_in_numpy() -> None:
    """An integer scalar makes a view, a 0-d array of integers a copy."""

    def function(x: Any, i: Any) -> Any:
        x[i + 0][:] = 5.0
        x[np.asarray(i)[...]][:] = 6.0
        return x * 1

    x = np.asarray(X.copy())
    found = np.compile(function, backend="eager")(x, np.asarray(2))
    assert (found[2] == 5.0).all()
    assert (found[:2] == X[:2]).all()


def row_of_either(x: Any) -> Any:
    row = x[0] if x[0, 0] > 0 else x[1]
    row[:] = 9.0
    return x * 1


def last_row(x: Any) -> Any:
    row = x[0]
    for k in range(len(x) * 4):
        row = x[k % 3]
    row += 1.0
    return x * 1


def read_late(x: Any) -> Any:
    k, row = 0, x[0]
    while k < x[0, 1]:
        row = x[k]
        k += 1
    x[:] = 7.0
    return row * 1


def test_views_that_leave_traced_blocks_refuse_what_could_be_wrong() -> None:
    with pytest.raises(NotImplementedError, match=r"test_traced_views.py:\d+: .* copy"):
        np.compile(read_late, backend="eager", fullgraph=True)(np.asarray(X.copy()))


@pytest.mark.parametrize("program", [row_of_either, last_row])
def test_views_that_leave_a_branch_or_a_loop_of_known_length_write_as_in_numpy(program: Any) -> None:
    x, right = np.asarray(X.copy()), X.copy()
    found = np.compile(program, backend="eager")(x)
    assert (np.asnumpy(found) == program(right)).all() and (np.asnumpy(x) == right).all()


def test_views_that_leave_traced_blocks_can_be_read() -> None:
    def best(x: Any) -> Any:
        row, most = x[0], x[0].sum()
        for k in range(len(x)):
            if x[k].sum() > most:
                row, most = x[k], x[k].sum()
        return row * 1.0

    assert (np.asnumpy(np.compile(best, backend="eager")(np.asarray(X[::-1].copy()))) == best(X)).all()


def _of_reversed(x: Any) -> Any:
    y = x[::-1]
    return np.concatenate([y[:1], y[1:] * x[1:]])


def _adds_to_reversed(x: Any) -> Any:
    y = x * 2
    y[::-1][1:] += x[1:]
    return y[::-1][:2] + x[:2]


@pytest.mark.parametrize("backend", ["default", "inductor"])
@pytest.mark.parametrize("function", [_of_reversed, _adds_to_reversed])
def test_machine_code_of_reversed_columns(function: Callable[[Any], Any], backend: str) -> None:
    """Views by their place in memory, where what they show has the order of its operand's axes."""

    def columns(x: Any) -> Any:
        if x[0, 0] > 0:
            y = np.vmap(function, in_axes=1, out_axes=1)(x)
        else:
            y = np.vmap(function, in_axes=1, out_axes=1)(-x)
        return y

    compiled = np.compile(columns) if backend == "default" else np.compile(columns, backend=backend)
    x = np.arange(9.0).reshape(3, 3) + 1
    for _ in range(2):
        np.testing.assert_array_equal(compiled(x), columns(x))


def test_a_view_of_a_view_is_read_anew_after_each_write() -> None:
    """A copy of a view can have the identity and the version of the one that it replaces, which is free again."""

    def function(x: Any) -> Any:
        x = x * 1.0
        y = x[::-1]
        part, turned = y[1][1:], y.T
        part[::-1][0] *= 3.0
        turned[0] += part[0]
        x[1, ::-1] += x[1]
        return sum((each * each).sum() for each in (x, y, part, turned))

    x = placed(np, X)
    expected = np.asnumpy(np.grad(function)(x))
    for _ in range(50):
        with np.GradientTape() as tape:
            tape.watch(x)
            total = function(x)
        numpy.testing.assert_allclose(np.asnumpy(tape.gradient(total, x)), expected)
