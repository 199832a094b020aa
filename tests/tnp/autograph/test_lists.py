"""Lists to which loops append, comprehensions and generator expressions, as loops of the graph; NumPy is the oracle."""

# ruff: noqa: PERF401  # loops that append are what is tested

from __future__ import annotations

import dataclasses
import warnings
from collections.abc import Callable
from typing import Any

import numpy
import pytest

import tnp as np
from tests.oracle import assert_same

Function = Callable[[Any, Any], Any]
STEPS = 90


def walk(xp: Any, x: Any) -> Any:
    out, y = [], x[0]
    for i in range(STEPS):
        y = y * 0.9 + x[i]
        out.append(y)
    return xp.array(out), xp.asarray(out, dtype="f4"), out[0], out[-1], len(out)


def from_the_last(xp: Any, x: Any) -> Any:
    out = [x[0]]
    for i in range(1, STEPS):
        out.append(out[-1] * 0.5 + out[i - 1] * x[i])
    return xp.array(out[1:]), xp.array(out[::7]), xp.sum(out), xp.concatenate([out, out])


def of_arrays(xp: Any, x: Any) -> Any:
    out, y, v = [x[:3]], x[:3], x[3:6]
    for i in range(STEPS):
        y = y + 0.1 * v
        v = v - 0.1 * y * x[i]
        out.append(y)
    y += 1  # the last item is this array
    out[0][0] = 5
    return xp.array(out), out[-1], y, x


def joined(xp: Any, x: Any) -> Any:
    out = []
    for i in range(STEPS):
        out.append(xp.array([x[i], x[i] ** 2, 1]))
    both = xp.stack(out), xp.stack(out, axis=1), xp.stack(out, -1), xp.vstack(out), xp.hstack(out)
    return *both, xp.column_stack(out), xp.concatenate(out), xp.mean(out, axis=0), out[3]


def before_it_changes(xp: Any, x: Any) -> Any:
    out, y = [], x[:3] * 1
    for i in range(STEPS):
        out.append(y)
        y = y * x[i]
    return xp.array(out), out[0], y


def changed_after(xp: Any, x: Any) -> Any:
    out, y = [], x[:3] * 1
    for i in range(STEPS):
        z = y * x[i]
        out.append(z)
        z += 1
        y = y * 0.5
    return xp.array(out)


def several(xp: Any, x: Any) -> Any:
    a, b = [], []
    for i in range(STEPS):
        a.append(x[i] * 2)
        b.append((x[i], i))
        a.append(a[-1] + 1)
    return xp.array(a), [each[1] for each in b[:5]], [pair[0] for pair in b[-2:]], a[3], b[-1]


def of_lists(xp: Any, x: Any) -> Any:
    rows = []
    for i in range(20):
        row = []
        for j in range(STEPS):
            row.append(x[i] * j)
        rows.append(row)
    pairs = [[(x[i], j) for j in range(30)] for i in range(20)]
    deep = [[[x[i] * x[j] + k for k in range(10)] for j in range(11)] for i in range(12)]
    return xp.array(rows), rows[2][3], len(rows[4]), rows, pairs, pairs[1][2][0], xp.array(deep), deep, deep[3][4][-1]


def in_inner_loops(xp: Any, x: Any) -> Any:
    out = [x[0]]
    for i in range(12):
        total = x[i] * 0
        for j in range(STEPS):
            total = total + x[j] * i
            out.append(total + out[-1] * 0.1)
        out.append(total)
    return xp.array(out)


def in_loops_one_after_the_other(xp: Any, x: Any) -> Any:
    out, y = [1.0], x[0]
    for _ in range(3):
        for i in range(40):
            y = y * 0.9 + x[i]
            out.append(y)
    return xp.array(out), len(out), out[41], out[0]


def in_both_branches(xp: Any, x: Any) -> Any:
    out = []
    for i in range(STEPS):
        if x[i] > 0:
            out.append(x[i])
        else:
            out.append(out[-1] + 1 if i else x[0] * 2)
    return xp.array(out)


def returned(xp: Any, x: Any) -> Any:
    numbers, pairs, arrays = [], [], []
    for i in range(12):
        numbers.append(i * 2)
        pairs.append({"place": i, "value": x[i] * 2})
        arrays.append(x[i : i + 2] * 3)
    return pairs, arrays, arrays[1] is arrays[1], isinstance(numbers, list), type(pairs) is list


def read_by_loops(xp: Any, x: Any) -> Any:
    out, total = [], x[0] * 0
    for i in range(STEPS):
        out.append(x[i] * 2)
    for value in out:
        total = total * 0.5 + value
    for i in range(1, STEPS):
        total = total + out[i] * out[i - 1]
    for i, (value, other) in enumerate(zip(out, x)):  # noqa: B905  # one is no longer than the other
        total = total + i * value * other
    return total


def numbers_at_places(xp: Any, x: Any) -> Any:
    weights, total = [0.1, 0.4, 0.2], x[0] * 0
    for i in range(STEPS):
        total = total * weights[i % 3] + x[i] * (1, 2)[i % 2] + weights[-(i % 3) - 1]
    return total


def comprehensions(xp: Any, x: Any) -> Any:
    out = [xp.sin(x[i]) * x[i] for i in range(STEPS)]
    pairs = [a * b for a, b in zip(x, x[::-1])]  # noqa: B905
    table = [[x[i] * x[j] for j in range(20)] for i in range(20)]
    return xp.array(out), xp.array(pairs), xp.array(table), out[3]


def expressions(xp: Any, x: Any) -> Any:
    total = sum(x[i] * x[i + 1] for i in range(STEPS - 1)), sum(x), sum([v * v for v in x], 1.5)
    rows = sum(x[i : i + 3] * i for i in range(STEPS - 3)), sum(x[: STEPS // 3 * 3].reshape(-1, 3)), sum(list(x), x[0])
    extremes = max(abs(v) for v in x), min(v * 2 for v in x), max(x), min([v for v in x])  # noqa: C416
    found = any(v > 0.9 for v in x), all(v > -10 for v in x), any(v > 10 for v in x), all(v > 0 for v in x)
    shifted = list(v + 1 for v in x)  # noqa: C400
    return total, rows, extremes, [float(each) for each in found], xp.array(shifted), xp.array(list(shifted))


def of_pythons_numbers(xp: Any, x: Any) -> Any:
    sizes = []
    for i in range(400):
        sizes.append(2 * i)
    more = [i * 3 for i in range(400)]
    return xp.zeros(sizes[3]) + x[: more[2]], sum(i * i for i in range(500)), sizes[-1]


FUNCTIONS: list[Function] = [
    walk, from_the_last, of_arrays, joined, before_it_changes, changed_after, several, of_lists, in_inner_loops,
    in_loops_one_after_the_other, in_both_branches, returned, read_by_loops, numbers_at_places, comprehensions,
    expressions, of_pythons_numbers,
]  # fmt: skip


def vector() -> numpy.ndarray:
    return numpy.random.default_rng(5).normal(size=STEPS).round(3)


def flat(value: Any) -> list[Any]:
    if isinstance(value, dict):
        return flat(list(value.values()))
    return [each for part in value for each in flat(part)] if isinstance(value, (list, tuple)) else [value]


def check(function: Function, compiled: Any) -> None:
    expected, x = flat(function(numpy, vector())), np.array(vector())
    given = flat(compiled(x))
    assert len(given) == len(expected)
    for one, other in zip(expected, given, strict=True):
        assert_same(one, other, rtol=1e-12)
        assert isinstance(other, numpy.generic) == isinstance(one, numpy.generic) or hasattr(other, "weak")


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda function: function.__name__)
def test_in_one_graph(function: Function) -> None:
    check(function, np.compile(lambda x: function(np, x), backend="eager", fullgraph=True))


@pytest.mark.parametrize("function", [walk, of_arrays, several, in_inner_loops, of_lists])
def test_machine_code(function: Function) -> None:
    check(function, np.compile(lambda x: function(np, x), fullgraph=True))


def test_the_graph_does_not_grow_with_the_steps() -> None:
    def appended(x: Any) -> Any:
        out = []
        for i in range(len(x)):
            out.append(x[i] * 2)
        return np.array([each + 1 for each in out]).sum() + sum(each * each for each in out)

    compiled = np.compile(appended, backend="eager", fullgraph=True)
    counts = [len(compiled.graph(np.ones(size)).operations) for size in (50, 500)]
    assert counts[0] == counts[1]
    assert_same(numpy.float64(500 * 7), compiled(np.ones(500)))


def test_a_loop_that_reads_nothing_but_what_it_carries_is_one() -> None:
    """Its scalars are arrays' elements, not Python's numbers, of which Python would compute the list."""
    found = []
    for steps in (100, 500):

        def pendulum(x: Any, steps: int = steps) -> Any:
            angle, speed, angles = x[0], x[1], []
            for _ in range(steps):
                speed += 0.02 * (-np.sin(angle) - 0.1 * speed)
                angle += 0.02 * speed
                angles.append(angle)
            return np.array(angles)

        compiled = np.compile(pendulum, backend="eager", fullgraph=True)
        x = numpy.array([1.0, 0.5])
        numpy.testing.assert_allclose(compiled(np.asarray(x)), np.asnumpy(pendulum(np.asarray(x))), rtol=1e-12)
        found.append(len(str(compiled.graph(np.asarray(x))).splitlines()))
    assert found[0] == found[1] < 100


def some(xp: Any, x: Any) -> Any:
    out, places = [], [-1]
    for i in range(STEPS):
        if x[i] > 0.2:
            out.append(x[i])
            if x[i] > x[i - 1]:
                places.append(i)
    return xp.sum(out), xp.mean(out), len(out), out[0], out[-1], max(out), sum(out), places[-1], len(places)


def chosen(xp: Any, x: Any) -> Any:
    out = [v * 2 for v in x if v > 0 if v < 1]
    pairs = [(i, v) for i, v in enumerate(x) if v > 0.5 or i < 2]
    total = sum(v for v in x if v > 0), max(v * 2 for v in x if v < 0), min(abs(v) for i, v in enumerate(x) if i % 3)
    found = any(v > 2 for v in x if v > 0), all(v > 2 for v in x if v > 0), sum(1 for v in x if v > 0)
    return (
        xp.array(out),
        len(out),
        pairs,
        total,
        [float(each) for each in found],
        [i for i in range(STEPS) if i % 7 == 0],
    )


def arrays(xp: Any, x: Any) -> Any:
    out, y, all_ = [x[:3]], x[:3], []
    for i in range(STEPS):
        y = y * 0.9 + x[i]
        if i % 10 == 0:
            out.append(y.copy())
        if x[i] > 0:
            all_.append(y * x[i])
    x[0] = 7
    return xp.array(out), len(out), out[0], out[3], xp.array(all_), xp.sum(all_, axis=0), all_[2], x


def set_again(xp: Any, x: Any) -> Any:
    out = [x[0]]
    for i in range(1, STEPS):
        if x[i] > out[-1]:
            out.append(x[i])
        else:
            out[-1] = x[i] * 0.5
        out[0] += 1
    return xp.array(out), out[-1], out[0]


def smoothed(xp: Any, x: Any) -> Any:
    out = []
    for i in range(STEPS):
        out.append(x[i])
        if i >= 2:
            out[-1] = (out[-1] + out[-2] + out[i - 2]) / 3
    return xp.array(out)


def until_it_ends(xp: Any, x: Any) -> Any:
    out = []
    for i in range(STEPS):
        for j in range(i):
            if x[j] > 1.5:
                break
            out.append(x[j])
        if len(out) > 50:
            break
    return len(out), out[-1], xp.max(out)


def and_the_last(xp: Any, x: Any) -> Any:
    totals, counts, total, n = [], [], 0.0, 0
    for value in x:
        total, n = total + abs(value), n + 1
        if total > 2:
            totals.append(total)
            counts.append((n, total / n))
            total, n = 0.0, 0
    if n > 0:
        totals.append(total)
        counts.append((n, total / n))
    else:
        counts.append((0, total))
    for _ in range(7):
        totals.append(totals[-1] / 2)
    totals.append(x[0])
    return xp.array(totals), len(totals), totals[-3], len(counts), counts[-1]


def after_another(xp: Any, x: Any) -> Any:
    out = []
    for value in x:
        if value > 100:
            out.append(value)
    out.append(x[1])
    other = out
    if x[0] > -100:
        out.append(x[2])
    return len(other), len(out), out[0]


@pytest.mark.parametrize("function", [some, chosen, arrays, set_again, smoothed, until_it_ends, and_the_last])
def test_values_decide_how_many(function: Function) -> None:
    check(function, np.compile(lambda x: function(np, x), backend="eager", fullgraph=True))


def test_a_list_with_another_name_that_a_branch_appends_to() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        check(after_another, np.compile(lambda x: after_another(np, x), backend="eager"))


def kept(xp: Any, x: Any) -> Any:
    out, pairs = [], []
    for i in range(STEPS):
        if x[i] > 0.2:
            out.append(x[i])
            pairs.append((i, x[i] * 2))
    return out, pairs


def test_lists_of_the_caller() -> None:
    def grown(items: list[Any], x: Any) -> Any:
        for i in range(STEPS):
            items.append(x[i] * 2)
        return np.array(items)

    x = np.array(vector())
    lists: list[list[Any]] = [[], []]
    expected = grown(lists[0], x)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        compiled = np.compile(grown, backend="eager")
        assert_same(numpy.asarray(expected), compiled(lists[1], x))
    assert lists[0] == lists[1]


def test_items_that_are_one_array() -> None:
    def repeated(x: Any) -> Any:
        y = x[:3] * 1
        out = [(x[0], y)]
        for i in range(30):
            if i % 3 == 1:
                for _ in range(i):
                    out.append((x[1], x[:3] * 2))
            out.append((x[2], y))
        return out

    given = np.compile(repeated, backend="eager")(np.array(vector()))
    assert all(each[1] is given[0][1] for each in (given[1], given[-1])) and given[2] is not given[1]


def test_what_a_branch_raises_that_does_not_run() -> None:
    def total(x: Any) -> Any:
        out: list[Any] = []
        found = x[0] * 0
        for i in range(STEPS):
            if x[i] > 100 or i == 50:
                found = found + out[-1]
            out.append(x[i])
        return found, np.array(out)

    x = np.array(vector())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for one, other in zip(total(x), np.compile(total, backend="eager")(x), strict=True):
            assert_same(numpy.asarray(one), np.asarray(other))


def test_comprehensions_of_what_is_no_array() -> None:
    def made(x: Any) -> Any:
        names, empty = [f"{i}" for i in range(2000)], [[] for _ in range(2000)]
        return x * len(names[1999]) + len(empty)

    assert_same(numpy.float64(2004.0), np.compile(made, backend="eager", fullgraph=True)(np.float64(1.0)))


def test_values_decide_what_a_list_holds() -> None:
    compiled = np.compile(lambda x: kept(np, x), backend="eager", fullgraph=True)
    check(kept, compiled)
    assert compiled(np.zeros(STEPS)) == ([], [])
    empty = np.compile(lambda x: kept(np, x)[0][-1], backend="eager", fullgraph=True)
    with pytest.raises(IndexError, match="list index out of range"):
        empty(np.zeros(STEPS))


def of_one_array(x: Any) -> Any:
    out, y = [], x.copy()
    for _ in range(STEPS):
        y += 1
        out.append(y)
    return np.array(out)


def of_what_is_written_later(x: Any) -> Any:
    out, y = [], x.copy()
    for i in range(STEPS):
        y[0] = i
        y = y * 2
        out.append(y)
    return np.array(out)


def of_one_array_sometimes(x: Any) -> Any:
    out, y = [], x.copy()
    for i in range(STEPS):
        y[1:] *= 1.01
        if x[i] > 0:
            out.append(y[:2])
    return np.array(out)


def with_another_name(x: Any) -> Any:
    out: list[Any] = []
    other = out
    for i in range(STEPS):
        out.append(x[i])
    return np.array(other)


def by_a_function(x: Any) -> Any:
    def record(items: Any, value: Any) -> None:
        items.append(value)

    out: list[Any] = []
    for i in range(STEPS):
        record(out, x[i])
        out.append(x[i])
    return np.array(out)


def of_other_shapes(x: Any) -> Any:
    out = [x]
    for i in range(STEPS):
        out.append(x[i])
    return out[4]


def of_reversed_views(x: Any) -> Any:
    out, y = [x * 2], x
    for i in range(STEPS):
        y = y * 0.5 + x[i]
        out.append(y[::-1])
    return np.array(out)


def of_reversed_views_sometimes(x: Any) -> Any:
    out, y = [], x * 1
    for i in range(STEPS):
        if x[i] > 0:
            out.append(y[::-1])
    y[0] = 7
    return np.array(out)


def set_before_the_first(x: Any) -> Any:
    out, y = [x[:3] * 2], x[:3]
    for i in range(STEPS):
        out[-1] = y * 2
        out.append(y + x[i])
    return np.array(out)


def of_items(x: Any) -> Any:
    out, y = [x * 1], x
    for _ in range(STEPS):
        y = out[-1]
        y[0] = 3
        out.append(y * 2)
    return np.array(out)


REFUSED = [
    of_one_array, of_one_array_sometimes, of_what_is_written_later, with_another_name, by_a_function, of_other_shapes,
    of_items, of_reversed_views, of_reversed_views_sometimes, set_before_the_first,
]  # fmt: skip


@pytest.mark.parametrize("function", REFUSED, ids=lambda function: function.__name__)
def test_what_is_left_to_python(function: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    x = np.array(vector())
    expected = function(x)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert_same(numpy.asarray(expected), np.compile(function, backend="eager")(x))


def in_an_item(xp: Any, x: Any) -> Any:
    rows = [[v, 0.0] for v in x]
    rows[0][1] = 3.0
    rows[1].append(4.0)
    rows[2] = rows[3]
    rows[2][0] = 9.0
    first, again = rows[4], rows[4]
    first[1] += 1
    return rows[:6], again, first is again, rows[5:8][0] is rows[5]


def in_items_of_a_loop(xp: Any, x: Any) -> Any:
    rows = [[v, 0.0] for v in x]
    for i in range(len(rows)):
        rows[i][1] = rows[i][0] * 2
    for row, v in zip(rows, x, strict=True):
        row[0] += v
    for row in rows:
        row[1] -= row[0]
    if x[0] < 5:
        rows[1][1] = 5.0
    return rows


def in_copies_of_a_list(xp: Any, x: Any) -> Any:
    rows = [[v, 0.0] for v in x]
    for other in (tuple(rows), dict(enumerate(rows)), list(rows), rows[:9]):
        other[len(rows[0])][0] += 9.0
    return rows


def in_objects(xp: Any, x: Any) -> Any:
    particles = [Particle(v) for v in x]
    particles[1].y = 3.0
    for each in particles:
        each.y += each.x
    other = particles[3]
    other.x = xp.float64(5.0)
    return [each.x for each in particles], [each.y for each in particles]


def in_the_last_item(xp: Any, x: Any) -> Any:
    out, others = [], [[0.0, 0.0]]
    for v in x:
        row = [v, 0.0]
        out.append(row)
        row[1] = v * 2
        others[-1][0] += v
        others.append([v, v])
        others[-1].append(3.0)
    row[0] = xp.float64(9.0)
    return out, others, out[-1] is row


def in_items_of_branches(xp: Any, x: Any) -> Any:
    out, row = [], [0.0, 0.0]
    for v in x:
        if v > 0.5:
            row = [v, 0.0]
            out.append(row)
            row[1] = v * 2
    row[0] = xp.float64(9.0)
    return out, row


def in_items_of_inner_loops(xp: Any, x: Any) -> Any:
    out = []
    for i in range(len(x)):
        for j in range(3):
            row = [x[i] * j, 0.0]
            out.append(row)
        row[1] = x[i] * 4
    return out


def as_subjects(xp: Any, x: Any) -> Any:
    rows, found = [v * 2 for v in x], []
    match rows:
        case [first, *rest]:
            found += [first, len(rest)]
    match (rows, 3):
        case ([_, second, *_], 3):
            found.append(second)
    match rows:
        case list(same):
            same[0] = xp.float64(7.0)
    match {"rows": rows}:
        case {"rows": [third, *_]}:
            found.append(third)
    return found, rows[0]


def repeated(xp: Any, x: Any) -> Any:
    rows = [v * 2 for v in x]
    other = rows
    rows *= 2
    return rows, other, rows is other


def in_functions(xp: Any, x: Any) -> Any:
    functions = [lambda: v * 2 for v in x]  # noqa: B023
    pairs = [(i, lambda: i + v) for i, v in enumerate(x)]  # noqa: B023
    return [function() for function in functions], pairs[0][1](), [max((1, -1), key=lambda k: k * v) for v in x]


CHANGED = [
    in_an_item, in_items_of_a_loop, in_copies_of_a_list, in_objects, in_the_last_item, in_items_of_branches,
    in_items_of_inner_loops, as_subjects, repeated, in_functions,
]  # fmt: skip


@dataclasses.dataclass
class Particle:
    x: Any
    y: float = 0.0


@pytest.mark.parametrize("function", CHANGED, ids=lambda function: function.__name__)
def test_changes(function: Function) -> None:
    compiled = np.compile(lambda x: function(np, x), backend="eager")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        for _ in range(2):
            for one, other in zip(flat(function(numpy, vector())), flat(compiled(np.array(vector()))), strict=True):
                numpy.testing.assert_allclose(other, one, rtol=1e-12)


def test_what_a_list_that_grows_cant_do() -> None:
    def shorter(x: Any) -> Any:
        out: list[Any] = []
        for i in range(2000):
            out.append(x * i)
            out.pop()
        return x

    with pytest.raises(TypeError, match="out grows in a loop of the graph, and `pop` is called"):
        raise_cause(lambda: np.compile(shorter, backend="eager", fullgraph=True)(np.asarray(2.0)))


def raise_cause(run: Callable[[], Any]) -> None:
    try:
        run()
    except Exception as error:
        raise error.__cause__ or error from None


def test_derivatives_and_batches() -> None:
    def loss(x: Any, w: Any) -> Any:
        states, h = [], x[:3] * 0
        for i in range(STEPS):
            h = np.tanh(w * h + x[i])
            states.append(h)
        return (np.stack(states) ** 2).sum() + sum(s[0] for s in states)

    x, w = np.array(vector()), np.array([0.3, -0.2, 0.7])
    expected = np.grad(loss, argnums=1)(x, w)
    assert_same(numpy.asarray(expected), np.compile(np.grad(loss, argnums=1), backend="eager")(x, w), rtol=1e-9)
    batch = np.stack([w, w * 2])
    rows = numpy.asarray(np.stack([loss(x, row) for row in batch]))
    mapped = np.compile(lambda x, w: np.vectorized_map(lambda w: loss(x, w), w), backend="eager")
    assert_same(rows, mapped(x, batch), rtol=1e-12)
