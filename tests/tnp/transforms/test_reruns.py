"""Functions that a transform runs again: each run begins with what the first one began with."""

from __future__ import annotations

import types
from collections.abc import Callable
from typing import Any

import numpy
import pytest

import tnp as np

State = Any
AT = (0.5, -0.75, 1.25)
_counts = 0


def state(xp: Any = np) -> State:
    return types.SimpleNamespace(
        h=xp.asarray([0.5, 1.5, -0.75]), count=1, rows=[1.0], entries={"h": 2.0}, numbers=numpy.ones(3), seen={1}
    )


def attribute(x: Any, s: State) -> Any:
    s.h = s.h * 0.5 + x
    return s.h


def number(x: Any, s: State) -> Any:
    s.count += 1
    return x * s.count


def of_list(x: Any, s: State) -> Any:
    s.rows.append(len(s.rows) + 1.0)
    return x * sum(s.rows)


def entry(x: Any, s: State) -> Any:
    s.entries["h"] = s.entries["h"] * x + 1
    return s.entries["h"]


def new_entry(x: Any, s: State) -> Any:
    s.entries[len(s.entries)] = 1
    return x * len(s.entries)


def of_set(x: Any, s: State) -> Any:
    s.seen.add(len(s.seen) + 1)
    return x * len(s.seen)


def of_numpy(x: Any, s: State) -> Any:
    s.numbers += 1
    return x * s.numbers


def of_global(x: Any, s: State) -> Any:
    global _counts
    _counts += 1
    return x * _counts


def of_a_name(x: Any, s: State) -> Any:
    numbers = s.numbers
    numbers += 1
    return x * numbers


def by_out(x: Any, s: State) -> Any:
    numpy.add(s.numbers, 1, out=s.numbers)
    return x * s.numbers


KEPT = [attribute, number, of_list, entry, new_entry, of_set, of_numpy, of_a_name, by_out, of_global]


def overwrites(kept: Callable[[Any, State], Any], x: Any, s: State, xp: Any) -> Any:
    y = x * 1
    z = xp.sin(y) * kept(y, s)
    y *= 2  # which the derivative needs
    return (z * y).sum()


def writes_to_its_argument(kept: Callable[[Any, State], Any], x: Any, s: State, xp: Any) -> Any:
    y = kept(x, s)
    x *= 2
    return (x * y).sum()


def slopes(function: Any, kept: Any) -> list[float]:
    """NumPy's, by differences; each with a state of its own."""
    found = []
    for i in range(3):
        step = numpy.eye(3)[i] * 1e-6
        values = []
        for sign in (1, -1):
            fresh()
            values.append(function(kept, numpy.array(AT) + sign * step, state(numpy), numpy))
        found.append((values[0] - values[1]) / 2e-6)
    return found


def fresh() -> None:
    global _counts
    _counts = 0


def shown(s: State) -> dict[str, Any]:
    """What the function left, but for arrays that are differentiated."""
    return {"count": s.count, "rows": s.rows, "numbers": s.numbers, "seen": s.seen, "keys": [*s.entries], "of": _counts}


def by_pullback(f: Any, x: Any) -> Any:
    return np.vjp(f, x)[1](1.0)[0]


@pytest.mark.parametrize("function", [overwrites, writes_to_its_argument])
@pytest.mark.parametrize("kept", KEPT)
@pytest.mark.parametrize("apply", [np.grad, np.jacobian, by_pullback])
def test_a_derivative_that_runs_again_assigns_once(apply: Any, kept: Any, function: Any) -> None:
    s, after = state(), state(numpy)
    fresh()
    if apply is by_pullback:
        found = by_pullback(lambda x: function(kept, x, s, np), np.asarray(AT))
    else:
        found = apply(lambda x: function(kept, x, s, np))(np.asarray(AT))
    now = shown(s)
    numpy.testing.assert_allclose(np.asnumpy(found), slopes(function, kept), rtol=1e-6)
    fresh()
    function(kept, numpy.array(AT), after, numpy)
    numpy.testing.assert_equal(now, shown(after))


@pytest.mark.parametrize("kept", KEPT)
def test_so_does_one_that_assigned_nothing_at_first(kept: Any) -> None:
    s, after = state(), state(numpy)
    s.keeps = after.keeps = False

    def f(x: Any, s: State, xp: Any) -> Any:
        return overwrites(kept if s.keeps else lambda x, s: x, x, s, xp)

    gradient = np.grad(lambda x: f(x, s, np))
    gradient(np.asarray(AT))
    s.keeps = after.keeps = True
    fresh()
    found, now = gradient(np.asarray(AT)), shown(s)
    numpy.testing.assert_allclose(np.asnumpy(found), slopes(overwrites, kept), rtol=1e-6)
    fresh()
    f(numpy.array(AT), after, numpy)
    numpy.testing.assert_equal(now, shown(after))


def test_so_does_a_compiled_one_after_another_that_assigns_nothing() -> None:
    s, x = state(), np.asarray(AT)
    np.grad(np.compile(lambda x: (x * x).sum(), backend="eager"))(x)
    np.grad(np.compile(lambda x: overwrites(number, x, s, np), backend="eager"))(x)
    assert s.count == 2


@pytest.mark.parametrize("function", [overwrites, writes_to_its_argument])
@pytest.mark.parametrize("kept", [number, of_global])
def test_so_does_a_compiled_one(kept: Any, function: Any) -> None:
    s = state()
    fresh()
    found = np.compile(np.grad(lambda x: function(kept, x, s, np)), backend="eager")(np.asarray(AT))
    now = s.count, _counts
    numpy.testing.assert_allclose(np.asnumpy(found), slopes(function, kept), rtol=1e-6)
    assert now == ((2, 0) if kept is number else (1, 1))


def test_a_jacobian_of_both_modes_assigns_once() -> None:
    """With more results than arguments it starts in reverse mode, and goes on in forward mode."""
    s = state()

    def f(x: Any) -> Any:
        s.h = s.h * 0.5 + x
        return np.concatenate([s.h * x, x])

    right = numpy.concatenate([numpy.diag([0.25 + 2 * 0.5, 0.75 - 2 * 0.75, -0.375 + 2 * 1.25]), numpy.eye(3)])
    numpy.testing.assert_allclose(np.asnumpy(np.jacobian(f)(np.asarray(AT))), right)
    s = state()
    numpy.testing.assert_allclose(np.asnumpy(np.jacobian(f, mode="forward", chunk_size=1)(np.asarray(AT))), right)


def test_a_pullback_that_runs_the_function_again_leaves_what_was_assigned_since() -> None:
    s = state()

    def f(x: Any) -> Any:
        s.count += 1
        s.rows.append(2.0)
        y = x * 1
        z = np.sin(y) * s.count * len(s.rows)
        y *= 2
        return z

    _, pullback = np.vjp(f, np.asarray(AT))
    s.count, s.rows[:] = 7, [3.0, 4.0, 5.0]
    numpy.testing.assert_allclose(np.asnumpy(pullback(np.ones(3))[0]), 4 * numpy.cos(AT))
    assert (s.count, s.rows) == (7, [3.0, 4.0, 5.0])


def test_a_recomputation_sees_what_the_function_saw_and_leaves_what_was_assigned_since() -> None:
    s = state()

    def f(x: Any) -> Any:
        s.count += 1
        s.h = np.sin(s.h * x) * s.count
        return s.h**2

    x = np.asarray(AT)
    with np.GradientTape() as tape:
        tape.watch(x)
        y = np.checkpoint(f)(x).sum()
    s.count, s.h = 7, np.zeros(3)
    right = numpy.sin(2 * numpy.array([0.5, 1.5, -0.75]) * AT) * numpy.array([0.5, 1.5, -0.75]) * 4
    numpy.testing.assert_allclose(np.asnumpy(tape.gradient(y, x)), right)
    assert s.count == 7 and not s.h.any()


def test_a_loop_begins_with_what_was_there_before_the_batch_that_failed() -> None:
    s, t = state(), state()

    def f(x: Any, s: State) -> Any:
        s.h = s.h * 0.5 + x
        s.count += 1
        s.rows.append(s.count)
        return s.h * s.count if x[0] > 0 else s.h - s.count

    xs = np.asarray([AT, [-1.0, 0.0, 2.0], [1.0, 1.0, 1.0]])
    with pytest.warns(RuntimeWarning, match="once for each element"):
        found = np.vectorized_map(lambda x: f(x, s), xs)
    numpy.testing.assert_array_equal(np.asnumpy(found), np.asnumpy(np.stack([f(x, t) for x in xs])))
    numpy.testing.assert_array_equal(np.asnumpy(s.h), np.asnumpy(t.h))
    assert (s.count, s.rows) == (t.count, t.rows)


def test_what_a_failed_call_assigned_stays() -> None:
    s = state()

    def f(x: Any) -> Any:
        s.count += 1
        x *= 2
        if s.count:
            raise ValueError("so it is")
        return x.sum()

    with pytest.raises(ValueError, match="so it is"):
        np.grad(f)(np.asarray(AT))
    assert s.count == 2
