"""State of branches and loops: entries of containers, attributes, variables without a value, and exceptions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy
import pytest

import tnp as np
from backend_torch.graphs import compiling
from tests.oracle import assert_same

Function = Callable[..., Any]
X = numpy.arange(30.0)


def assert_like_numpy(function: Function, *args: Any, backend: str = "eager") -> Any:
    """That a compiled function gives what it gives for NumPy's arrays; return the compiled function."""
    compiled = np.compile(function, backend=backend, fullgraph=True)
    expected = function(*[numpy.array(each) for each in args])
    actual = compiled(*[np.array(each) for each in args])
    for one, other in zip(expected, actual, strict=True):
        assert_same(numpy.asarray(one), np.asarray(other), rtol=1e-12)
    return compiled


def steps_of_a_dictionary(x: Any) -> Any:
    state = {"x": x, "v": x * 0}
    for _ in range(300):
        state["v"] = state["v"] - 0.1 * state["x"]
        state["x"] = state["x"] + 0.1 * state["v"]
    return state["x"], state["v"]


def steps_of_a_list(x: Any) -> Any:
    state = [x, x * 2]
    for _ in range(300):
        state[0], state[1] = state[1], state[0] * 0.5
        if state[0].sum() > 100:
            state[1] = state[1] * 0.1
    return tuple(state)


class Filter:
    """A filter with a state."""

    def __init__(self, rate: float) -> None:
        self.rate = rate
        self.value = 0.0
        self.large = 0

    def step(self, x: Any) -> Any:
        self.value = self.rate * x + (1 - self.rate) * self.value
        if x > 5:
            self.large += 1
        return self.value


def steps_of_an_object(x: Any) -> Any:
    found = Filter(0.3)
    y = x * 0
    for i in range(x.shape[0]):
        y[i] = found.step(x[i])
    return y, found.value, found.large


class Lazy(Filter):
    """A filter whose state is no number at first: its loop is unrolled."""

    def step(self, x: Any) -> Any:
        self.value = x if self.value is None else self.rate * x + (1 - self.rate) * self.value
        return self.value


def unrolled_steps_of_an_object(x: Any) -> Any:
    found = Lazy(0.3)
    found.value = None
    y = x * 0
    for i in range(x.shape[0]):
        y[i] = found.step(x[i])
    return y, found.value


def test_a_loop_whose_attribute_changes_its_kind_is_unrolled() -> None:
    assert_like_numpy(unrolled_steps_of_an_object, X)


@pytest.mark.parametrize("function", [steps_of_a_dictionary, steps_of_a_list, steps_of_an_object])
def test_a_loop_carries_entries_and_attributes(function: Function) -> None:
    compiled = assert_like_numpy(function, X)
    assert len(list(compiled.graph(np.asarray(X)))) < 40


def appended(x: Any) -> Any:
    found = []
    total = 0.0
    for i in range(x.shape[0]):
        total = 0.9 * total + x[i]
        found.append(total)
    return found[0], found[-1], len(found)


def test_a_loop_that_appends_is_unrolled() -> None:
    assert_like_numpy(appended, X)


# ---------------------------------------------------------------------------------------------------------------------
# Variables without a value


def searched(x: Any, wanted: Any) -> Any:
    i = 0
    while i < x.shape[0]:
        if x[i] == wanted:
            is_found = True
            break
        i += 1
    else:
        is_found = False
    return is_found, i


def first_above(x: Any, limit: Any) -> Any:
    for i in range(x.shape[0]):
        if x[i] > limit:
            place = i
            break
    else:
        place = -1
    return place, limit


def last_above(x: Any, limit: Any) -> Any:
    for i in range(x.shape[0]):
        if x[i] > limit:
            place, value = i, x[i] * 2
    return place, value


def two_branches(x: Any, limit: Any) -> Any:
    if limit > 0:
        y = x * 2
    if limit > 1:
        y += 1
    z = y if limit > 0 else x
    return y, z


@pytest.mark.parametrize("limit", [3.0, 3.5, 50.0])
@pytest.mark.parametrize("function", [searched, first_above])
def test_a_variable_that_a_break_decides(function: Function, limit: float) -> None:
    assert_like_numpy(function, X, limit)


def none_of(x: Any, limit: Any) -> Any:
    for value in x:
        if value > limit:
            return None
    return x[0]


def none_at_first(x: Any, limit: Any) -> Any:
    last = None
    for value in x[:5]:
        if value > limit:
            last = value
    return -1.0 if last is None else last


@pytest.mark.parametrize("limit", [-9.0, 3.5, 50.0])
@pytest.mark.parametrize("function", [none_of, none_at_first])
def test_none_on_some_paths(function: Function, limit: float) -> None:
    compiled = np.compile(function, backend="eager")
    with pytest.warns(RuntimeWarning, match=r"is cut at .*test_state\.py:\d+: .* None after the other"):
        found = compiled(np.asarray(X), np.asarray(limit))
    assert found == function(X, limit)


@pytest.mark.parametrize("function", [last_above, two_branches])
def test_a_variable_with_a_value_on_some_paths(function: Function) -> None:
    compiled = assert_like_numpy(function, X, 7.0)
    limit = 70.0 if function is last_above else -1.0
    with pytest.raises(UnboundLocalError):
        function(X, limit)
    with pytest.raises(UnboundLocalError, match=r"variable '(place|y)' where it is not associated with a value"):
        compiled(np.asarray(X), np.asarray(limit))


# ---------------------------------------------------------------------------------------------------------------------
# Exceptions


def checked(x: Any) -> Any:
    if x < 0:
        raise ValueError('"x" must not be negative')
    return np.sqrt(np.asarray(x)), x


def converged(x: Any, error: Any) -> Any:
    guess = x
    for steps in range(100):  # noqa: B007
        new = (guess + x / guess) / 2
        if abs(new - guess) < error:
            break
        guess = new
    else:
        raise RuntimeError("no convergence")
    return guess, steps


@pytest.mark.parametrize("backend", ["eager", "inductor"])
@pytest.mark.raises
def test_a_raise_in_a_traced_branch(backend: str) -> None:
    compiled = np.compile(checked, backend=backend, fullgraph=True)
    assert float(compiled(np.asarray(4.0))[0]) == 2
    for _ in range(2):
        with pytest.raises(ValueError, match=r'^"x" must not be negative$'):
            compiled(np.asarray(-4.0))
    assert float(compiled(np.asarray(9.0))[0]) == 3


@pytest.mark.parametrize("result", [lambda x: x, lambda x: x[1:], lambda x: 5, lambda x: None])
@pytest.mark.parametrize("backend", ["eager", "inductor"])
@pytest.mark.raises
def test_checks_of_what_computes_no_result(backend: str, result: Function) -> None:
    def function(x: Any) -> Any:
        assert x[0] > 0, "not positive"
        if x[1] > 5:
            raise ValueError("too large")
        return result(x)

    compiled = np.compile(function, backend=backend, fullgraph=True)
    compiled(np.ones(2))
    with pytest.raises(AssertionError, match=r"^not positive$"):
        compiled(np.asarray([-1.0, 0.0]))
    with pytest.raises(ValueError, match=r"^too large$"):
        compiled(np.asarray([1.0, 7.0]))


def test_a_raise_after_a_loop() -> None:
    compiled = assert_like_numpy(converged, 2.0, 1e-12)
    with pytest.raises(RuntimeError, match=r"^no convergence$"):
        compiled(np.asarray(2.0), np.asarray(-1.0))


def test_a_raise_that_the_program_handles() -> None:
    def function(x: Any) -> Any:
        try:
            if x < 0:
                raise ValueError("x")
        except ValueError:
            return 0
        return x

    with pytest.raises(np.TracedValueError, match=r"no `try` around it may handle it"):
        np.compile(function, backend="eager", fullgraph=True)(np.asarray(1.0))


# ---------------------------------------------------------------------------------------------------------------------
# Conditions


def mixed(x: Any, n: Any) -> Any:
    count = 0
    for i in range(x.shape[0]):
        if (x[i] and n[i] < 20 and not (x[i] > 5 or n[i])) or (n[i] and x[i] > 25):
            count += 1
    return count, n


def test_a_condition_joins_dtypes() -> None:
    assert_like_numpy(mixed, X, numpy.arange(30) % 4)


def flat(x: Any) -> Any:
    total = 0.0
    for each in x.flat:
        if each > 2:
            total += each
    return total, max(total, x[0, 0], 3.0)


def test_a_loop_over_flat_elements_and_the_greater_of_two() -> None:
    compiled = assert_like_numpy(flat, X.reshape(5, 6))
    assert len(list(compiled.graph(np.asarray(X.reshape(5, 6))))) < 30


def nested(x: Any) -> Any:
    total = 0.0
    for i in range(x.shape[0]):
        for j in range(x.shape[0]):
            for k in range(x.shape[0]):
                total += x[i] * x[j] * x[k]
    return total, x


def test_an_inner_loop_is_traced_few_times(monkeypatch: pytest.MonkeyPatch) -> None:
    traced = compiling.subgraph
    graphs = []
    monkeypatch.setattr(compiling, "subgraph", lambda *args, **kwargs: graphs.append(0) or traced(*args, **kwargs))
    assert_like_numpy(nested, X)
    assert len(graphs) <= 16  # 26 if each loop found anew what it carries, whenever the loop around it is traced


def nested_deeply(x: Any) -> Any:
    total = x * 0
    for i in range(4):
        for j in range(4):
            for k in range(3):
                for m in range(4):
                    if i - j >= 0:
                        total[m] += x[i - j] * x[j] * x[k]
    return (total,)


def test_short_loops_in_short_loops_are_loops_of_the_graph() -> None:
    compiled = assert_like_numpy(nested_deeply, X[:5])
    assert len(list(compiled.graph(np.asarray(X[:5])))) < 60  # of the 192 steps


def left_early(x: Any) -> Any:
    total = 0.0
    for row in range(2):
        for column in range(3):
            if x[row, column] < 0:
                continue
            if x[row, column] > 2:
                break
            total = total + x[row, column]
    return (total,)


def test_a_branch_in_branches_is_traced_once(monkeypatch: pytest.MonkeyPatch) -> None:
    traced = compiling.subgraph
    graphs = []
    monkeypatch.setattr(compiling, "subgraph", lambda *args, **kwargs: graphs.append(0) or traced(*args, **kwargs))
    assert_like_numpy(left_early, numpy.arange(-2.0, 4.0).reshape(2, 3))
    assert len(graphs) <= 32  # two for each `if`; 80 if each were traced again with the branch around it


def test_an_attribute_that_branches_write_to() -> None:
    filters = [Filter(0.5), Filter(0.5)]
    arrays = [numpy.array([0.5, -1.0]), np.asarray([0.5, -1.0])]

    def step(own: Filter, x: Any) -> Any:
        if x[0] > 0:
            own.value[0] = x[0] * x[1]
        else:
            own.value += x
        return x * own.value

    for own, array in zip(filters, arrays, strict=True):
        own.value = array  # type: ignore[assignment]
    compiled = np.compile(lambda x: step(filters[1], x), backend="eager", fullgraph=True)
    for x in ([1.0, 2.0], [-1.0, 3.0], [-2.0, 1.0]):
        assert_same(step(filters[0], numpy.array(x)), compiled(np.asarray(x)))
    assert_same(*arrays)


def changed_in_the_first_branch(a: Any, b: Any) -> Any:
    total = b * 1
    if a[0] > 0:
        b = a[1:]
        total = total + b[0]
    elif a[1] > b[0]:
        total = total - b[0]
    return (total,)


def swapped_in_a_branch_of_a_branch(a: Any, b: Any) -> Any:
    c = b * 2
    if a[0] > 0:
        if a[1] > 0:
            c = c + 1
        else:
            b, c = c, b
    else:
        c = a + b
        b = a * 0
    c[0] = 5
    return (c,)


def rebound_before_each_return(a: Any, b: Any) -> Any:
    if a[0] > 0:
        if a[1] > 0:
            b = a.T
        return (b,)
    a = b
    b = a[:]
    return (b,)


@pytest.mark.parametrize(
    "function", [changed_in_the_first_branch, swapped_in_a_branch_of_a_branch, rebound_before_each_return]
)
@pytest.mark.parametrize("signs", [(1, 1), (1, -1), (-1, 1), (-1, -9)])
def test_each_trace_of_a_branch_starts_from_the_same_variables(function: Function, signs: tuple[int, int]) -> None:
    """Also from those that nothing reads after both branches."""
    assert_like_numpy(function, numpy.array([2.0, 3.0]) * signs, numpy.array([1.0, 4.0]))


def refuses_large(x: Any) -> Any:
    if x > 5:
        raise ValueError("large")
    return x * 2


def refuses_in_a_branch(x: Any) -> Any:
    if x > 0:
        if x > 5:
            raise ValueError("large")
        y = x * 2
    else:
        y = -x
    return y


def refuses_what_does_not_end(x: Any) -> Any:
    for _ in range(12):
        x = x * 1.5
        if x > 20:
            break
    else:
        raise ValueError("it does not end")
    return x


def doubles_the_positive(x: Any) -> Any:
    if x > 0:
        while x < 10:
            x = x * 2
    return x


def reads_a_place(x: Any) -> Any:
    table = np.arange(5.0)
    y = x * 0
    if x < 5:
        y = table[int(x)]
    return y


def reads_in_a_loop(x: Any) -> Any:
    table, y, i = np.arange(8.0), x * 0, 0
    while i < x:
        y = y + table[i]
        i += 1
    return y


def in_steps(x: Any) -> Any:
    y = x
    for _ in range(12):
        if y > 100:
            break
        if y < 0:
            raise ValueError("negative")
        y = y * 2 if x < 50 else y - 20
    return y


@pytest.mark.parametrize(
    ("function", "fine", "refused"),
    [
        (refuses_large, [1.0, 2.0, 3.0], [1.0, 2.0, 9.0]),
        (refuses_in_a_branch, [-7.0, 2.0, 3.0], [-1.0, 2.0, 9.0]),
        (refuses_what_does_not_end, [1.0, 2.0, 30.0], [0.0, 2.0, 3.0]),
        (doubles_the_positive, [-1.0, 2.0, 30.0], None),
        (reads_a_place, [1.0, 3.0, 700.0], None),
        (reads_in_a_loop, [-1.0, 2.0, 8.0], [1.0, 2.0, 9.0]),
        (in_steps, [1.0, 2.0, 130.0], [1.0, -2.0, 3.0]),
    ],
)
def test_each_element_of_a_batch_raises_for_itself(function: Function, fine: Any, refused: Any) -> None:
    """A batch runs what some of its elements do not: there nothing is checked, and no loop goes on."""
    batched = np.compile(lambda x: np.vectorized_map(function, x), backend="eager", fullgraph=True)
    numpy.testing.assert_allclose(batched(np.array(fine)), [function(numpy.float64(x)) for x in fine])
    twice = np.compile(
        lambda x: np.vectorized_map(lambda y: np.vectorized_map(lambda z: function(y * z), np.ones(2)), x),
        backend="eager",
        fullgraph=True,
    )
    numpy.testing.assert_allclose(twice(np.array(fine))[:, 1], batched(np.array(fine)))
    if refused is not None:
        for compiled in (batched, twice):
            with pytest.raises((ValueError, IndexError)):
                compiled(np.array(refused))
