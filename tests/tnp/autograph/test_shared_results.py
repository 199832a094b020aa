"""Results of traced branches and loops that may be other arrays: a write to one writes to the other, as in NumPy."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy
import pytest

import tnp as np
from tests.oracle import assert_same
from tests.tnp.autograph.test_autograph import given, same

FLAGS = (-1.0, 0.5, 1.5, 6.0)


def rebound(a: Any, b: Any, c: Any, d: Any, flag: Any) -> Any:
    """An argument that a branch rebinds, written by an operator, ``out=``, an element and a view."""
    if flag > 0:
        a = a * 2
        b = b * 2
    if flag > 5:
        c = c * 2
    elif flag > 0:
        c = c * 3
    if flag > 1:
        d = a
    a += 1
    np_add_one(b)
    c[1] = 7
    view = d[1:]
    view += 5
    return a * 1, b * 1, c * 1, d * 1


def np_add_one(x: Any) -> None:
    xp = np if isinstance(x, np.ndarray) else numpy
    xp.add(x, 1, out=x)


def views(a: Any, b: Any, c: Any, d: Any, flag: Any) -> Any:
    """Views of different arrays; writes to them, to their arrays, and reads of both."""
    y = a[1:] if flag > 0 else b[:2]
    y[0] = 5
    a += 10
    b *= 3
    total = y.sum()
    m = c.reshape(3, 1)
    if flag > 1:
        m = m.T
    else:
        m = d.reshape(1, 3)
    m[0, 0] = 4
    m.reshape(3)[1] *= 2
    return total, y * 1, m * 1


def names(a: Any, b: Any, c: Any, d: Any, flag: Any) -> Any:
    """Two names of one array after one of the branches, and names that swap."""
    if flag > 1:
        a, b = b, a
    a += 1
    b *= 5
    if flag > 0 and a[0] > 0:
        c = d
    elif flag > -2:
        d = c
    c += 1
    d *= 2
    e = f = a * 0
    if flag > 1:
        e = e + 2
    e += d
    f -= 1
    return a - b, c * d, e * 1, f * 1


def containers(a: Any, b: Any, c: Any, d: Any, flag: Any) -> Any:
    """Entries, tuples, elements of lists, and a helper that writes."""

    def doubled(x: Any) -> None:
        x *= 2

    entries = {"a": a}
    if flag > 0:
        entries["a"] = entries["a"] * 2
    entries["a"] += 1
    pair = (b, c)
    if flag > 0:
        pair = (c, b * 2)
    pair[0][1] = 9
    doubled(pair[1])
    doubled(pair[0][1:])
    chosen = [c, d]
    if flag > 1:
        chosen[0] = chosen[1]
    for each in chosen:
        each += 1
    return entries["a"] * 1, pair[0] + pair[1]


def loops(a: Any, b: Any, c: Any, d: Any, flag: Any) -> Any:
    """Variables that are the caller's after no step of a loop, after all its steps, or after some."""
    i = 0
    while i < flag:
        a = a * 2
        b = b if flag > 1 else b[:]
        if c[0] < 5:
            c = c * 2
        i = i + 1
    e = a * 0
    while i < 2 * flag:
        e = d
        i = i + 1
    total = 0.0
    y = d[1:] if flag > 0 else b[1:]
    for i in range(40):
        total += y[0] * (i + 1)
        d[1] += 1
    a += 1
    b -= 1
    c *= 3
    e += 4
    return a * 1, b * 1, c * 1, e * 1, total


def within(a: Any, b: Any, c: Any, d: Any, flag: Any) -> Any:
    """Writes in later branches and loops, of views of views, of indices and masks, and of parts."""
    y = a if flag > 0 else b
    if flag < 1:
        y[0] = 100.0
    else:
        b[1] = 50.0
    for i in range(30):
        y[i % 3] += i
    y[y > 30] = 0
    y[[0, 1]] = y[[1, 0]]
    z = c + 1j * d
    w = z if flag > 1 else z * 2
    w.real = 5
    w[1:][1] = 3j
    for i in range(3):
        if flag > i:
            c = c * 2
        c += 1
    return y.sum(), z * 1, w * 1, c * 1


def returns(a: Any, b: Any, c: Any, d: Any, flag: Any) -> Any:
    """A result that is decided before its array is written to."""
    if flag > 1:
        return a
    c += 1
    if flag > 0:
        return c
    c *= 2
    return d


ARRAYS = [numpy.arange(1.0, 4) + 3 * i for i in range(4)]


@pytest.mark.parametrize("function", [rebound, views, names, containers, loops, within, returns])
def test_writes_reach_the_arrays_that_numpy_writes_to(function: Callable[..., Any]) -> None:
    compiled = np.compile(function, backend="eager")
    for flag in FLAGS:
        ours, theirs = given(ARRAYS, np), given(ARRAYS, numpy)
        expected, actual = function(*theirs, numpy.asarray(flag)), compiled(*ours, np.asarray(flag))
        for one, other in zip(
            [*(expected if isinstance(expected, tuple) else [expected]), *theirs],
            [*(actual if isinstance(actual, tuple) else [actual]), *ours],
            strict=True,
        ):
            numpy.testing.assert_allclose(np.asnumpy(np.asarray(other)), one, rtol=1e-12, err_msg=f"flag {flag}")
    assert compiled.cache_info().traces == 1


def test_a_0d_array() -> None:
    def function(x: Any, flag: Any) -> Any:
        if flag > 0:
            x = x * 2
        x += 1
        return x * 1

    for flag in (-1.0, 1.0):
        same(function, numpy.asarray(3.0), numpy.asarray(flag))


def test_captured_arrays_and_machine_code() -> None:
    captured = {numpy: numpy.ones(3), np: np.ones(3)}

    def function(x: Any, flag: Any) -> Any:
        w = captured[np if isinstance(x, np.ndarray) else numpy]
        y = w if flag > 0 else x[:]
        y[1:] += 10
        if flag > 1:
            x = x * 2
        x += w
        return x * 1

    compiled = np.compile(function)
    for flag in (-1.0, 0.5, 2.0):
        ours, theirs = np.arange(3.0), numpy.arange(3.0)
        expected, actual = function(theirs, numpy.asarray(flag)), compiled(ours, np.asarray(flag))
        for one, other in ((expected, actual), (theirs, ours), (captured[numpy], captured[np])):
            numpy.testing.assert_array_equal(np.asnumpy(other), one)


def test_a_result_of_cond() -> None:
    def function(x: Any, flag: Any) -> Any:
        y = np.cond(flag > 0, lambda v: v, lambda v: v * 2, x)
        y += 1
        return y * 1

    compiled = np.compile(function, backend="eager", autograph=False)
    for flag in (-1.0, 1.0):
        ours, theirs = np.ones(3), np.ones(3)
        expected, actual = function(theirs, np.asarray(flag)), compiled(ours, np.asarray(flag))
        assert (actual.tolist(), ours.tolist()) == (expected.tolist(), theirs.tolist())


def chosen_by_index(x: Any, i: Any, flag: Any) -> Any:
    row = x[i * 1] if flag > 0 else x[1]
    row[0] = 5
    return x


def passed_on(x: Any, i: Any, flag: Any) -> Any:
    y = x * 0
    while flag > 0:
        x, y = y, x + i
        flag = flag - 1
    x += 1
    return y


def from_around(x: Any, i: Any, flag: Any) -> Any:
    a, b = x * 1.0, x * 2.0
    while flag > i:
        a, b = x, a
        flag = flag - 1
    b += 1
    return a * 1, b * 1


def turned(x: Any, i: Any, flag: Any) -> Any:
    a = x
    while flag > i:
        a = a[::-1]
        flag = flag - 1
    return a


def shared_before(x: Any, i: Any, flag: Any) -> Any:
    y, total = x, 0.0
    while flag > i:
        x[0] += 1
        total = total + y[0, 0]
        y = y * 2
        flag = flag - 1
    return total


def swapped_beside_a_third(x: Any, i: Any, flag: Any) -> Any:
    a, b = x * 1.0, x * 2.0
    third = {"of": [a]}
    while flag > 0:
        a, b = b, a
        flag = flag - 1
    a += 1
    return a, b, third["of"][0]


def written_and_rebound(x: Any, i: Any, flag: Any) -> Any:
    a = x * 1.0
    other = a
    while flag > 0:
        a += 1
        a = a * 2
        flag = flag - 1
    return a, other


def doubled(a: Any, flag: Any) -> Any:
    while flag > 0:
        a += 1
        a = a * 2
        flag = flag - 1
    return a


def written_by_a_called_function(x: Any, i: Any, flag: Any) -> Any:
    a = [x * 1.0]
    return doubled(a[0], flag), a[0]


def written_in_a_branch(x: Any, i: Any, flag: Any) -> Any:
    a = x * 1.0
    if flag > 1:
        b = doubled(a, flag)
    else:
        b = a * 3
    return a + b


def not_read_again(x: Any, i: Any, flag: Any) -> Any:
    a = x * 1.0
    if flag > 1:
        b = doubled(a, flag)
    else:
        b = a * 3
    a = doubled(b, flag)
    a[0] += 1
    return a


def test_an_array_that_is_not_read_again_by_another_name() -> None:
    compiled = np.compile(not_read_again, backend="eager", fullgraph=True)
    for flag in (0.0, 1.0, 2.0):
        expected = not_read_again(numpy.ones((2, 2)), 0, numpy.asarray(flag))
        assert_same(expected, compiled(np.ones((2, 2)), 0, np.asarray(flag)))


class Held:
    def __init__(self, a: Any, b: Any) -> None:
        self.a, self.b = a, b


HELD = Held(0, 0)


def items_swap(p: list[Any], flag: Any) -> Any:
    while flag > 0:
        p[0], p[1] = p[1], p[0]
        flag = flag - 1
    return p[0]


def attributes_swap(p: list[Any], flag: Any) -> Any:
    HELD.a, HELD.b = HELD.b, HELD.a
    while flag > 1:
        HELD.a, HELD.b = HELD.b, HELD.a
        flag = flag - 1
    return HELD.b


def swaps_and_writes(p: list[Any], flag: Any) -> Any:
    a, b = p
    while flag > 0:
        a, b = b, a
        flag = flag - 1
    a += 1
    return p[0] * 2, b


def fibonacci(p: list[Any], flag: Any) -> Any:
    a, b = p
    while flag > 0:
        a, b = b, a + b
        flag = flag - 1
    return a


def swaps_if_less(p: list[Any], flag: Any) -> Any:
    a, b = p
    for i in range(100):
        if i < flag and a[0] < b[0] * 2:
            a, b = b, a
    return a, b


def chooses_a_view(p: list[Any], flag: Any) -> Any:
    return p[0][1:] if flag > 1 else p[1][:2]


def doubles(p: list[Any], flag: Any) -> Any:
    a = p[0]
    while flag > 0:
        a = a * 2
        flag = flag - 1
    return a


@pytest.mark.parametrize(
    "function", [items_swap, attributes_swap, swaps_and_writes, fibonacci, swaps_if_less, chooses_a_view, doubles]
)
def test_results_are_the_arrays_of_the_caller(function: Callable[..., Any]) -> None:
    """Which they are, and what is written to them afterwards."""
    compiled = np.compile(function, backend="eager", fullgraph=True)
    for flag in (0.0, 1.0, 2.0, 3.0):
        found = []
        for run, flags in ((function, flag), (compiled, np.asarray(flag))):
            arrays = [np.asarray([1.0, 2.0, 3.0]), np.asarray([3.0, 4.0, 5.0])]
            HELD.a, HELD.b, p = arrays[0], arrays[1], list(arrays)
            results = run(p, flags)
            results = results if isinstance(results, tuple) else (results,)
            found.append([[each is array for each in (*results, *p, HELD.a, HELD.b) for array in arrays]])
            for number, each in enumerate([results[0], *arrays]):
                each *= 10 + number
            found[-1] += [each.tolist() for each in (*results, *arrays, *p, HELD.a, HELD.b)]
        assert found[0] == found[1]


@pytest.mark.parametrize("function", [swapped_beside_a_third, passed_on])
def test_names_that_swap_are_written_in_one_graph(function: Callable[..., Any]) -> None:
    compiled = np.compile(function, backend="eager", fullgraph=True)
    for flag in (0.0, 1.0, 2.0):
        ours, theirs = np.ones((2, 2)), numpy.ones((2, 2))
        expected = function(theirs, numpy.asarray(0), numpy.asarray(flag))
        assert_same((expected, theirs), (compiled(ours, np.asarray(0), np.asarray(flag)), ours))


@pytest.mark.filterwarnings("ignore:.* is cut at:RuntimeWarning")
@pytest.mark.parametrize(
    "function",
    [written_and_rebound, written_by_a_called_function, written_in_a_branch, from_around, turned],
)
def test_a_second_name_of_an_array_of_the_function_itself(function: Callable[..., Any]) -> None:
    compiled = np.compile(function, backend="eager")
    for flag in (0.0, 1.0, 2.0):
        expected = function(numpy.ones((2, 2)), numpy.asarray(0), numpy.asarray(flag))
        assert_same(expected, compiled(np.ones((2, 2)), np.asarray(0), np.asarray(flag)))


@pytest.mark.parametrize(
    ("function", "error"),
    [
        (written_and_rebound, r"writes to the array of a, which has another name, and gives a another array"),
        (written_by_a_called_function, r"writes to the array of a and rebinds a, and the array, which has another"),
        (written_in_a_branch, r"writes to the array of a and rebinds a, and the array, which has another name"),
        (chosen_by_index, r"the expression is written to, but it may be a view that was chosen in a branch"),
        (from_around, r"b is written to, but it may be a view that was chosen in a branch or a loop"),
        (turned, r"a is a result, but it may be a view that was chosen in a branch or a loop"),
        (shared_before, r"gives y another array, and writes to memory that y shares before.*y = y\.copy\(\)"),
    ],
)
def test_what_only_the_graph_knows_is_refused(function: Callable[..., Any], error: str) -> None:
    with pytest.raises((NotImplementedError, TypeError), match=r"test_shared_results\.py:\d+: .*" + error):
        np.compile(function, backend="eager", fullgraph=True)(np.ones((2, 2)), np.asarray(0), np.asarray(1.0))


def test_an_array_of_the_function_itself_may_be_rebound_and_written() -> None:
    """Nobody else can see the array that it was before."""

    def function(x: Any, flag: Any) -> Any:
        a, b, c = x * 0, x * 1, x * 2
        for i in range(100):
            if x[0] + i > flag:
                a = a * 0.9 + x
            b, c = c + 1, b
        a[0] += 9
        c[1] = 3
        return a, b, c

    same(function, numpy.ones(3), numpy.asarray(50.0))


def in_a_row(a: Any, b: Any, flag: Any) -> Any:
    """Branches in a row inside a branch: after each a variable may still be the array that it was before."""
    if flag > 0:
        for i in range(6):
            if a[i % 3] > i / 4:
                a = a * 0.9 + b
            if b[0] > flag:
                b = b - 0.1
    a += 1
    return a * b, b + 0


def until_it_breaks(a: Any, b: Any, flag: Any) -> Any:
    """The same inside a loop that ends early, with a write to what may be the caller's array."""
    for _ in range(30):
        if a.sum() > flag:
            break
        for i in range(3):
            if b[i] > i / 4:
                a = a * 1.1 + b
    a[1] = 7
    return a + b


def read_in_a_branch(a: Any, b: Any, flag: Any) -> Any:
    """An array is read in a branch after a write to one that it may be; the branch is traced more than once."""
    for _ in range(2):
        if flag > 1:
            if flag > 0:
                a = a * 3
                continue
        else:
            a += 3
        if b[0] < a[0]:
            b = a
            a[1] = 4
    return a, b * 1


@pytest.mark.parametrize("flag", [-1.0, 0.4, 8.0])
@pytest.mark.parametrize("function", [in_a_row, until_it_breaks, read_in_a_branch])
def test_branches_in_a_row_inside_a_branch(function: Callable[..., Any], flag: float) -> None:
    same(function, numpy.array([0.3, 0.6, 0.9]), numpy.array([0.5, 0.2, 0.7]), numpy.asarray(flag))


def test_what_results_may_share_does_not_double_with_each_branch() -> None:
    graph = np.compile(in_a_row, backend="eager", fullgraph=True).graph
    text = str(graph(np.ones(3), np.ones(3), np.asarray(1.0)))
    assert text.count("bitwise_or") <= 12


def transposed_in_a_branch(a: Any, c: Any, flag: Any) -> Any:
    if flag > 0:
        c = a * 2 - 1
        a = c.T
    a[0, 1] = 9
    return c + 0, a


def the_view_is_written(b: Any, c: Any, flag: Any) -> Any:
    if flag > 0:
        c = b * 3
        b = c.T
    total = b + c
    c[1] = 5
    return b + total


def shared_by_views_only(b: Any, c: Any, flag: Any) -> Any:
    if flag > 0:
        new = b * 3
        b, c = new.T, new.T
    c[1] = 5
    return b + 1, c


@pytest.mark.parametrize("flag", [-1.0, 1.0])
@pytest.mark.parametrize("function", [transposed_in_a_branch, the_view_is_written, shared_by_views_only])
def test_results_that_are_views_of_each_other(function: Callable[..., Any], flag: float) -> None:
    """A result lies in order in memory, where the view in the branch did not."""
    same(function, numpy.arange(4.0).reshape(2, 2), numpy.arange(4.0).reshape(2, 2) + 5, numpy.asarray(flag))


def part_of_a_choice(a: Any, flag: Any) -> Any:
    if flag > 0:
        a = a * 2
    return a[1:]


def transposed_choice(a: Any, flag: Any) -> Any:
    b = a * 2
    if flag > 0:
        b = a[::-1]
    return b.T


def views_of_an_own_array(a: Any, flag: Any) -> Any:
    a = a.copy()
    b = a
    if flag > 0:
        a = b[:]
        b.fill(6)
    else:
        a = b[::-1].T
    return b, a


def chosen_and_turned(a: Any, flag: Any) -> Any:
    b = a * 2
    for _ in range(3):
        b = b + a
    if flag > 0:
        a = b
        b = a.swapaxes(0, 1)
    return a, b


def reshaped_choice(a: Any, flag: Any) -> Any:
    b = a * 1
    if flag > 0:
        b = a.T
    c = b.reshape(9)
    c[1] = 20
    return b.ravel()[2:], c


def read_after_a_write(a: Any, flag: Any) -> Any:
    b = a[::-1] if flag > 0 else a[::-1, ::-1]
    a[0, 1] = 9
    return b


def turned_in_a_branch(a: Any, flag: Any) -> Any:
    b = a
    if flag > -5:
        if flag > 0:
            b = a.reshape(9)[::-1].reshape(3, 3)
        else:
            b[:, ::-1][0, 0] = 5
        a = b[:, ::-1]
    return a[:, ::-1], a


@pytest.mark.filterwarnings("ignore:.* is cut at:RuntimeWarning")
@pytest.mark.parametrize("part", [lambda x: x, lambda x: x.T, lambda x: x[::-1], lambda x: x[:, ::-1].T])
@pytest.mark.parametrize(
    "function",
    [
        *(part_of_a_choice, transposed_choice, views_of_an_own_array, chosen_and_turned, reshaped_choice),
        *(read_after_a_write, turned_in_a_branch),
    ],
)
def test_a_view_of_a_choice_is_a_view_as_a_result(function: Callable[..., Any], part: Callable[[Any], Any]) -> None:
    """It was a copy: what the caller wrote to it was lost."""
    compiled = np.compile(function, backend="eager")
    for flag in (1.0, -1.0):
        ours, theirs = np.arange(9.0).reshape(3, 3), numpy.arange(9.0).reshape(3, 3)
        found, expected = compiled(part(ours), np.asarray(flag)), function(part(theirs), flag)
        assert_same(expected, found)
        for number, (one, other) in enumerate(zip(found, expected, strict=True)):
            one[...] = other[...] = 50 + number
        assert_same((expected, theirs), (found, ours))


def written_beside_another(a: Any, b: Any, flag: Any) -> Any:
    if flag > 0:
        a[0] = 5
        b[1:] += a[:-1]
    return a + 0


@pytest.mark.parametrize("xp", [np, numpy])
@pytest.mark.parametrize("fullgraph", [False, True])
def test_arguments_that_overlap_are_written_in_a_branch(xp: Any, fullgraph: bool) -> None:
    """Their graph has lost the order of reads and writes inside of the branch."""
    compiled = np.compile(written_beside_another, backend="eager", fullgraph=fullgraph)
    for view in (lambda x: x[:], lambda x: x[::-1]):
        ours, theirs = xp.arange(6.0), numpy.arange(6.0)
        expected = written_beside_another(theirs, view(theirs), 1.0)
        for _ in range(2):
            assert_same(
                written_beside_another(numpy.ones(6), numpy.ones(6), 1.0),
                compiled(xp.ones(6), xp.ones(6), np.asarray(1.0)),
            )
        with pytest.warns(RuntimeWarning, match="runs uncompiled: it writes, in a branch, a loop or a batch, to an"):
            found = compiled(ours, view(ours), np.asarray(1.0))
        assert_same(expected, found)
        numpy.testing.assert_array_equal(ours, theirs)


def swapped(x: Any, flag: Any) -> Any:
    """A loop writes to what a branch chose, which swaps its name with another."""
    y = x[1] if flag > 0 else x[2]
    z, total = x[0] * 0, x[0, 0] * 1
    for i in range(60):
        total = total * 0.5 + x[0, 1] + total * total * 0.01
        y, z = z, y
        y[1] = total + i
    return y, z, x


@pytest.mark.parametrize("flag", [1.0, -1.0])
def test_loops_that_swap_names_of_what_a_branch_chose(flag: float) -> None:
    expected = swapped(numpy.arange(9.0).reshape(3, 3), flag)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        actual = np.compile(swapped, backend="eager")(np.arange(9.0).reshape(3, 3), np.asarray(flag))
    for one, other in zip(expected, actual, strict=True):
        assert_same(one, other)
