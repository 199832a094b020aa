"""Programs whose values decide shapes: the graph is cut at such a statement, and goes on compiled behind it."""

from __future__ import annotations

import heapq
import itertools
import json
import operator
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy
import pytest
import torch

import tnp as np
from tests.oracle import Raised, assert_same, outcome
from tnp._compile import compile as compile_

X = numpy.random.default_rng(0).uniform(size=50)


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    """Cuts warn; that they do is a test of its own."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "tnp.compile: .* is cut at", RuntimeWarning)
        yield


def check(program: Callable[..., Any], *calls: tuple[Any, ...], rtol: float = 1e-12) -> None:
    """Compare two of each call of the compiled program with NumPy's: results and arguments."""
    compiled = np.compile(program, backend="eager")
    for _ in range(2):
        for call in calls:
            arguments = [
                [xp.array(each) if isinstance(each, numpy.ndarray) else each for each in call] for xp in (numpy, np)
            ]
            expected = outcome(program, numpy, *arguments[0])
            actual = outcome(compiled, np, *arguments[1])
            assert_same(expected, actual, rtol=rtol)
            if isinstance(expected, Raised) and not isinstance(expected.error, (UnboundLocalError, AssertionError)):
                assert str(expected.error) == str(actual.error)
            assert_same(arguments[0], arguments[1], rtol=rtol)


# Programs.


def kmeans(xp: Any, points: Any, centres: Any) -> Any:
    for _ in range(10):
        distances = ((points[:, None] - centres[None]) ** 2).sum(axis=-1)
        labels = distances.argmin(axis=1)
        groups = [points[labels == k] for k in range(len(centres))]
        new = xp.array([group.mean(axis=0) if len(group) else centres[k] for k, group in enumerate(groups)])
        shift = abs(new - centres).max()
        centres = new
        if shift < 1e-9:
            break
    return centres, labels


def sieve(xp: Any, n: int) -> Any:
    is_prime = xp.ones(n + 1, dtype=bool)
    is_prime[:2] = False
    for i in range(2, int(n**0.5) + 1):
        if is_prime[i]:
            is_prime[i * i :: i] = False
    return xp.nonzero(is_prime)[0]


def mandelbrot(xp: Any, n: int, steps: int) -> Any:
    rows, columns = xp.mgrid[0:n, 0:n]
    points = xp.linspace(-2.0, 0.5, n)[rows] + xp.linspace(-1.25, 1.25, n)[columns] * 1j
    counts = xp.zeros(points.shape, dtype=xp.int64)
    rows.shape = columns.shape = points.shape = n * n
    values = xp.zeros(points.shape, xp.complex128)
    for i in range(steps):
        if not len(values):
            break
        xp.multiply(values, values, values)
        xp.add(values, points, values)
        far = abs(values) > 2.0
        counts[rows[far], columns[far]] = i + 1
        near = xp.logical_not(far)
        values, points, rows, columns = values[near], points[near], rows[near], columns[near]
    return counts.T


def entropy(xp: Any, x: Any) -> Any:
    levels = xp.floor(x * 7 - 1)
    values, counts = xp.unique(levels, return_counts=True)
    shares = counts / counts.sum()
    return values, counts, -(shares * xp.log(shares)).sum()


def azimuthal(xp: Any, data: Any, radius: Any, bins: int) -> Any:
    weights = xp.histogram(radius, bins, weights=data)[0]
    return weights / xp.histogram(radius, bins)[0]


def components(xp: Any, grid: Any) -> Any:
    labels = xp.arange(1, grid.size + 1).reshape(grid.shape) * grid
    changed = True
    while changed:
        old = labels.copy()
        for axis in (0, 1):
            for step in (1, -1):
                moved = xp.roll(labels, step, axis=axis)
                labels = xp.where((grid > 0) & (moved > labels), moved, labels)
        changed = bool((labels != old).any())
    values, places = xp.unique(labels, return_inverse=True)
    return places.reshape(grid.shape), len(values)


def shrinking(xp: Any, x: Any) -> Any:
    active, total, rounds = x.copy(), 0.0, 0
    while len(active) > 0:
        total = total + active.sum()
        active = (active * 0.7 + 0.01) / (1 + active * active)
        active = active[active > 0.2]
        rounds += 1
    return total, rounds


def appending(xp: Any, x: Any) -> Any:
    found = []
    for i in range(len(x)):
        if x[i] > 0.9:
            found.append(x[i] * 2)  # noqa: PERF401
    return xp.array(found)


def by_size(xp: Any, x: Any) -> Any:
    kept = x[x > 0.9]
    if kept.size:
        return kept - kept.mean()
    return kept


def peak(xp: Any, x: Any) -> Any:
    k = int(x.argmax())
    head = xp.sqrt(x[:k] * 2 + 1) - x[:k].sum()
    return head, xp.arange(k), k


def selecting(xp: Any, x: Any) -> Any:
    y = xp.sin(x) * 2 + xp.cos(x) - 1
    kept = xp.extract(y > 0.5, y), xp.compress(y > 0.5, y), xp.argwhere(y > 0.5), xp.flatnonzero(y > 0.5)
    trimmed = xp.trim_zeros(xp.where(x > 0.8, x, 0))
    longer = xp.append(kept[0], xp.sqrt(kept[1]) * 2 + 1 - kept[1])
    return kept, trimmed, longer, xp.bincount((x * 5).astype(int))


PROGRAMS: dict[Callable[..., Any], list[tuple[Any, ...]]] = {
    kmeans: [(numpy.concatenate([X, X + 3]).reshape(-1, 2), numpy.array([[0.0, 0.0], [3.0, 3.0], [9.0, 9.0]]))],
    sieve: [(30,), (100,)],
    mandelbrot: [(12, 10)],
    entropy: [(X,), (X[:20],), (X * 3,)],
    azimuthal: [(X[:20], X[20:40], 4)],
    components: [((X[:36].reshape(6, 6) > 0.5).astype(int),)],
    shrinking: [(X,), (X[:30] * 2,)],
    appending: [(X,)],
    by_size: [(X,), (X / 2,)],
    peak: [(X,), (X[::-1],)],
    selecting: [(X,), (X[:31],)],
}


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_programs(program: Callable[..., Any]) -> None:
    check(program, *PROGRAMS[program])


# What goes through a cut.


def views(xp: Any, x: Any) -> Any:
    part = x[10:20]
    last = x[::-1]
    k = len(xp.unique(part))
    part[:] = part * 2 + k - xp.sqrt(part) + 1
    every = part[::2]
    every += k
    last[0] = -1
    other = x
    other *= 2
    return x, part, every, other is x, last[:2].copy()


def containers(xp: Any, x: Any) -> Any:
    both, named = [x, x * 2], {"sum": x.sum(), "size": 0}
    k = len(xp.unique(x))
    both[0] = both[0] * k + both[1] * 2 - both[0] / 3
    named["product"] = both[0].sum() * named["sum"] + 1 - k
    named["size"] += k
    both.append(xp.sin(x) * 2 - x * k + 1)
    return both, named


def shared_containers(xp: Any, x: Any) -> Any:
    one = [x * 2, x]
    other = one
    k = len(xp.unique(x))
    one[0] = one[0] * k + other[1] * 2 - other[0] / 3
    third, fourth = other, {"a": [xp.sqrt(x) * 2 + k - 1]}
    fifth = fourth["a"]
    third[1] = len(xp.unique(x))
    fourth["a"][0] = fifth[0] * k + 1 - xp.sin(fifth[0]) * 2
    fifth.append(k)
    return one, other, third, fourth, fifth, third is one


LOG: list[Any] = []


def logs(xp: Any, x: Any) -> Any:
    LOG.append(len(LOG))
    for i in range(3):
        kept = xp.unique(xp.floor(x * i))
        y = xp.sqrt(kept) * 2 + kept - 1 + i
        LOG.append(float(y.sum()))
        LOG.extend([i])
    found = list(LOG)
    LOG.clear()
    return found


def numbers(xp: Any, x: Any) -> Any:
    small = x.astype(xp.float32)
    n = len(xp.unique(x))
    total = float(x.sum()) * 2 + n - 1.5
    count = n
    for i in range(3):
        small = small * total + i - xp.sqrt(small) * count
        count = count + int(xp.unique(small > i).size)
    return small, count, isinstance(count, int), total


def large_ints(xp: Any, x: Any) -> Any:
    seed, found = len(xp.unique(x)), []
    for i in range(4):
        seed = (seed * 6364136223846793005 + 1442695040888963407) % 2**61
        y = xp.sqrt(xp.unique(x)) * i - 1
        cube = seed * seed * i
        y = y * 2 + (seed % 100) - xp.sin(y)
        found.append((y, seed, cube))
    return found


def assigned_sometimes(xp: Any, x: Any) -> Any:
    k = len(xp.unique(x))
    if k > 1000:
        late = x * 2
    y = xp.sqrt(x) * 2 + x - 1
    return late + y


def functions(xp: Any, x: Any) -> Any:
    def scaled(v: Any) -> Any:
        return v * scale + 1

    kept = x[x > 0.3]
    scale = kept.sum()
    y = scaled(xp.unique(kept))
    scale = scale * 2
    return scaled(y), (lambda v: v + scale)(y), [v * 2 for v in y[:2]]


def generators(xp: Any, x: Any) -> Any:
    rng = xp.random.default_rng(3)
    kept = xp.unique(x)
    y = kept * 2 + xp.sqrt(kept) - 1
    return y[:3] + rng.normal(size=3), rng.uniform(size=2)


def handled(xp: Any, x: Any) -> Any:
    try:
        places = xp.nonzero(x > 2)[0]
        return x[places[0]]
    except IndexError:
        pass
    with xp.errstate(all="ignore"):
        kept = xp.unique(x)
        y = kept / 0 + kept * 2 - 1
    del kept
    assert y.size
    return y


def singular(xp: Any, x: Any) -> Any:
    matrix = xp.outer(x[:2], xp.asarray([0.0, 1.0])) + xp.eye(2) * (x[0] > 0.5)
    try:
        return xp.linalg.inv(matrix)
    except xp.linalg.LinAlgError:
        return matrix * 0


def beyond(xp: Any, x: Any) -> Any:
    try:
        return x[(x[2] * 60).astype(int)]
    except IndexError as error:
        return str(error)


def swallowed(xp: Any, x: Any) -> Any:
    """No handler takes an error of tracing."""
    y = xp.sqrt(x) * 2 + x - 1
    try:
        number = float(y[1])
    except Exception:
        number = -1.0
    return number, y


def asserted(xp: Any, x: Any) -> Any:
    try:
        assert x[1] > 0.5
    except AssertionError:
        return x * 2
    return x


def to_itself(xp: Any, n: Any) -> Any:
    def factorial(n: Any) -> Any:
        return n * factorial(n - 1) if n > 1 else n

    return factorial(n), n * 2


def twice_to_itself(xp: Any, w: Any) -> Any:
    def simpson(a: float, b: float) -> Any:
        return (b - a) / 6 * sum(k * xp.exp(-w * x * x) for k, x in ((1, a), (4, (a + b) / 2), (1, b)))

    def integral(a: float, b: float, whole: Any, depth: int) -> Any:
        middle = (a + b) / 2
        left, right = simpson(a, middle), simpson(middle, b)
        if depth > 12 or abs(left + right - whole) < 1e-7:
            return left + right
        return integral(a, middle, left, depth + 1) + integral(middle, b, right, depth + 1)

    return integral(0.0, 2.0, simpson(0.0, 2.0), 0)


def endless(xp: Any, x: Any) -> Any:
    for step in itertools.count(1):
        new = xp.sqrt(x + 1)
        if abs(new - x).max() < 1e-9:
            return new, step
        x = new
    return x, 0


def deleted(xp: Any, x: Any) -> Any:
    kept = xp.unique(x)
    del x
    y = kept * 2 + xp.sqrt(kept) - 1
    return x + y  # noqa: F821


def nested(xp: Any, x: Any) -> Any:
    total = xp.zeros(3)
    for i in range(3):
        for j in range(2):
            kept = xp.unique(xp.floor(x * (i + 1)))
            if len(kept) > 2:
                total[i] += kept.sum() * 2 + j - xp.sqrt(kept).sum() + i
                continue
            total[i] -= 1
    return total


def kept_places(xp: Any, x: Any, t: float) -> Any:
    wave = xp.sin(x) + xp.cos(x) * 2
    places = xp.nonzero(wave > t)[0]
    return wave[places] * 3, places


def calls(xp: Any, x: Any) -> Any:
    a, k = kept_places(xp, x, 2.1)
    b, m = kept_places(xp, x * 2, t=1.5)
    return a.sum() + b.sum(), k, m


def deeper(xp: Any, x: Any, n: int) -> Any:
    if n <= 1:
        return xp.unique(x)
    return deeper(xp, x, n - 1) * 2 + xp.sqrt(deeper(xp, x, n - 2)) - 1


def recursive(xp: Any, x: Any) -> Any:
    return deeper(xp, x, 4)


def asserts(xp: Any, x: Any) -> Any:
    kept = xp.unique(x)
    y = xp.sqrt(kept) * 2 + kept - 1
    assert y.max() < 0.5, "too large"
    return y


def wrong(xp: Any, x: Any) -> Any:
    kept = xp.unique(x)
    y = kept * 2 + xp.sqrt(kept) - 1
    return y.reshape(7, 9)


@pytest.mark.parametrize(
    "program",
    [
        views,
        containers,
        shared_containers,
        logs,
        numbers,
        large_ints,
        assigned_sometimes,
        functions,
        generators,
        endless,
        handled,
        deleted,
        nested,
        calls,
        recursive,
        asserts,
        wrong,
    ],
    ids=lambda program: program.__name__,
)
def test_what_goes_through_a_cut(program: Callable[..., Any]) -> None:
    check(program, (X,), (X[:20],), rtol=1e-6)


def refused_by_libraries(xp: Any, x: Any) -> Any:
    heap = [float(v) for v in x]
    heapq.heapify(heap)
    pairs = [(v * 2, i) for i, v in enumerate(x)]
    list.append(pairs, (x.sum(), -1))
    return heapq.heappop(heap), heap, json.dumps([float(v) for v in x[:3]]), pairs[-1]


def test_what_libraries_refuse_that_has_no_values() -> None:
    check(refused_by_libraries, (X,), (X[:20],))


def test_the_programs_own_errors_cut_nothing() -> None:
    def program(x: Any, more: Any) -> Any:
        x += 1
        return x * 2 + operator.index(more)

    compiled, x = np.compile(program, backend="eager"), np.ones(3)
    with warnings.catch_warnings(), pytest.raises(TypeError, match="'str' object cannot be interpreted"):
        warnings.simplefilter("error")
        compiled(x, "5")
    assert_same(numpy.ones(3) * 2, x)
    assert_same(numpy.ones(3) * 7, compiled(x, 1))
    assert compiled.graph(x, 1).count("mul") == 1


@pytest.mark.parametrize("program", [singular, beyond, swallowed, asserted], ids=lambda each: each.__name__)
def test_what_python_has_to_do(program: Callable[..., Any]) -> None:
    check(program, (X,), (X[::-1] * 0.4,))


def test_a_function_that_calls_itself_in_a_traced_branch() -> None:
    check(to_itself, (numpy.array(6),), (numpy.array(1),))
    check(twice_to_itself, (numpy.array(0.5),), (numpy.array(3.0),))


def test_a_print_that_is_cut_prints_once(capsys: pytest.CaptureFixture[str]) -> None:
    def program(x: Any) -> Any:
        print("the sum is", float(x.sum()), sep="\n")
        return x

    compiled = np.compile(program, backend="eager")
    for _ in range(2):
        compiled(np.ones(2))
    assert capsys.readouterr().out == "the sum is\n2.0\n" * 2


class Model:
    """Counts its calls."""

    def __init__(self, xp: Any) -> None:
        self.xp = xp
        self.weight = xp.ones(3)
        self.calls = 0

    def __call__(self, x: Any) -> Any:
        kept = self.xp.unique(x)[:3]
        self.calls += 1
        self.weight = self.weight * 2 + kept - self.xp.sqrt(kept)
        return self.weight


def test_attributes() -> None:
    models = Model(numpy), Model(np)
    compiled = np.compile(models[1], backend="eager")
    for _ in range(3):
        assert_same(models[0](X), compiled(np.array(X)), rtol=1e-12)
    assert models[0].calls == models[1].calls == 3


class Ledger:
    """Notes what it adds."""

    def __init__(self) -> None:
        self.total = 0.0
        self.log: list[Any] = []

    def enter(self, count: int, value: Any) -> None:
        """Add a value."""
        self.total = self.total * 0.9 + value / 3 - abs(value) * 0.1
        self.log.append(count)


def noted(xp: Any, x: Any) -> Any:
    ledger = Ledger()
    for i in range(4):
        kept = xp.unique(x * i)
        root = xp.sqrt(kept).sum() * 2 + kept.max()
        ledger.enter(2, root * 2 - 1)
        ledger.enter(3, root * 3 - 1)
    return ledger.total, ledger.log


def test_a_part_that_notes_static_values_does_so_at_each_call() -> None:
    check(noted, (X,), (X[:20],))


def test_text_of_numbers(capsys: pytest.CaptureFixture[str]) -> None:
    @np.compile(backend="eager")
    def function(x: Any) -> Any:
        y = x * 2
        print(float(y.sum()))
        return f"{float(y[0]):.2f} {int(y[1])}"

    assert [function(np.array([1.5, 2.5])) for _ in range(2)] == ["3.00 5"] * 2
    assert function(np.array([2.0, 2.0])) == "4.00 4"
    assert capsys.readouterr().out.split() == ["8.0", "8.0", "8.0"]


# What is told, and how often it is compiled.


def test_a_warning_names_the_line_and_the_reason_once() -> None:
    line = entropy.__code__.co_firstlineno + 2
    compiled = np.compile(entropy, backend="eager")
    text = rf"entropy \(.*\) is cut at .*test_cuts\.py:{line}: the shape of unique's"
    with pytest.warns(RuntimeWarning, match=text) as told:
        compiled(np, np.array(X))
        compiled(np, np.array(X[:5]))
    assert [(each.lineno, each.filename) for each in told] == [(line, __file__)]


def test_the_shape_of_a_numpy_array_can_not_be_set() -> None:
    def function(x: Any) -> Any:
        x.shape = 5, 10
        return np.unique(x)

    with pytest.raises(NotImplementedError, match="can't set the shape, dtype or flags of a NumPy array"):
        np.compile(function, backend="eager")(X.copy())


@pytest.mark.parametrize("program", [entropy, by_size, lambda xp, x: x[x > 1]])
def test_fullgraph_refuses(program: Callable[..., Any]) -> None:
    with pytest.raises(np.TracedValueError, match=r"test_cuts\.py:\d+: the shape of .* depends on values"):
        np.compile(program, backend="eager", fullgraph=True)(np, np.array(X))


def test_parts_are_traced_for_few_sizes() -> None:
    def function(x: Any) -> Any:
        y = np.unique(x)
        return np.sqrt(y) * 2 + y - np.sin(y)

    compiled = np.compile(function, backend="eager")
    for n in range(3, 30):
        compiled(np.arange(n * 1000.0))
    assert compiled.cache_info().traces == 2
    assert compiled.cache_info().hits >= 24
    assert any("and other sizes" in text for text in compiled.cache_info().programs)


def test_ints_that_change_are_traced() -> None:
    def function(x: Any) -> Any:
        total = 0
        for i in range(20):
            y = np.unique(x)
            total = (np.sqrt(y) * i + y - np.sin(y)).sum() + total
        return total

    compiled = np.compile(function, backend="eager")
    assert_same(numpy.float64(function(np.array(X))), compiled(np.array(X)), rtol=1e-12)
    assert compiled.cache_info().traces <= 4


def with_a_large_int(xp: Any, x: Any, k: int) -> Any:
    size = xp.unique(x).size * k
    return xp.sin(x) * (size * size * size * size % 7) + xp.cos(x) * x - 1


def with_a_rounded_int(xp: Any, x: Any, k: int) -> Any:
    size = xp.unique(x).size * k
    return xp.sin(x) * ((size * 10**9 + 1) / 3 % 1) + xp.cos(x) * x - size**-2


def with_small_integers(xp: Any, x: Any, k: int) -> Any:
    size = xp.unique(x).size
    y = xp.zeros(4, dtype=xp.int8)
    y[1:] = size
    z = x[:4].astype(xp.uint8)
    return y * 2 + xp.maximum(y, 1) - y // 2, (z + size) * 2 + z // 3


@pytest.mark.parametrize("program", [with_a_large_int, with_a_rounded_int, with_small_integers])
def test_pythons_ints_do_not_wrap(program: Callable[..., Any]) -> None:
    check(program, *[(numpy.arange(float(n)), 2**17) for n in (4, 7, 9, 300)])


def test_explanations() -> None:
    compiled = np.compile(components, backend="eager")
    grid = np.asarray((X[:36].reshape(6, 6) > 0.5).astype(int))
    first = components.__code__.co_firstlineno
    found = compiled.explain(np, grid)
    assert [place.rpartition(":")[2] for place in found.cuts] == [str(first + 10)]
    lines = str(found).splitlines()
    assert "1 cut" in lines[0]
    assert any(f"test_cuts.py:{first + 1}: a graph to line {first + 9}" in line for line in lines)
    assert any(f"test_cuts.py:{first + 3}: a loop of the graph" in line for line in lines)
    whole = np.compile(lambda x: np.sqrt(x) + 1, backend="eager").explain(np.ones(3))
    assert (len(whole.graphs), whole.cuts) == (1, {})


# Transforms.


def sorted_sum(x: Any) -> Any:
    n = len(np.unique(np.floor(x)))
    return (np.sin(x) * n + x * x * 2 - 1).sum()


def test_derivatives() -> None:
    x = np.array([0.5, 1.5, 2.5, 2.75])
    expected = numpy.asarray(np.grad(sorted_sum)(x))
    compiled = np.compile(sorted_sum, backend="eager")
    compiled(x)
    assert_same(expected, np.grad(compiled)(x), rtol=1e-12)
    assert_same(expected, np.compile(np.grad(sorted_sum), backend="eager")(x), rtol=1e-12)
    with np.GradientTape() as tape:
        tape.watch(x)
        value = compiled(x)
    assert_same(expected, tape.gradient(value, x), rtol=1e-12)


def test_in_another_compiled_function() -> None:
    inner = np.compile(sorted_sum, backend="eager")
    outer = np.compile(lambda x: inner(x * 2) + 1, backend="eager")
    for _ in range(2):
        assert_same(numpy.float64(sorted_sum(np.array(X) * 2) + 1), outer(np.array(X)), rtol=1e-12)


def test_in_a_batch() -> None:
    compiled = np.compile(sorted_sum, backend="eager")
    x = np.array(X.reshape(5, 10))
    expected = numpy.array([float(sorted_sum(each)) for each in x])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert_same(expected, np.vectorized_map(compiled, x), rtol=1e-12)


def test_code_without_a_file() -> None:
    names: dict[str, Any] = {"np": np}
    exec("def function(x):\n    y = np.unique(x)\n    return y * 2", names)
    assert np.compile(names["function"], backend="eager")(np.ones(2)).tolist() == [2]


def test_a_derivative_is_named_by_the_programs_function() -> None:
    names: dict[str, Any] = {}
    exec("def function(x):\n    if x.sum() > 1:\n        x = x * 2\n    return (x**2).sum()", names)
    with pytest.warns(RuntimeWarning, match=r"compile: function \(<string>:1\) is cut at <string>:1"):
        assert np.compile(np.grad(names["function"]), backend="eager")(np.ones(2)).tolist() == [8, 8]


@pytest.mark.filterwarnings("ignore:The PyTorch API of nested tensors")
def test_what_torch_cant_trace_runs_by_python() -> None:
    def padded(x: Any) -> Any:
        rows = torch.nested.nested_tensor([x.tensor, x[:2].tensor])
        return np.asarray(torch.nested.to_padded_tensor(rows, 0.0)) * 2

    x = np.asarray([0.5, 2.0, 3.0])
    with pytest.warns(RuntimeWarning, match=r"is cut at .*test_cuts\.py:\d+: torch can't trace this \(aten"):
        assert np.compile(padded, backend="eager")(x).tolist() == [[1, 4, 6], [1, 4, 0]]
    with pytest.raises(NotImplementedError, match=r"test_cuts\.py:\d+: torch can't trace this .* leave this part"):
        np.compile(padded, backend="eager", fullgraph=True)(x)


def test_a_branch_in_a_batch_that_writes_around_it_runs_by_python() -> None:
    buf = np.ones(3)

    def function(x: Any) -> Any:
        if x[1] > 0:
            buf[0] = x[0] * x[1]
        return x * buf

    def hessian(x: Any) -> Any:
        return np.hessian(lambda x: function(x).sum())(x)

    x = np.asarray([0.5, 2.0, 3.0])
    expected = hessian(x)
    with pytest.warns(RuntimeWarning, match=r"is cut at .*test_cuts\.py:\d+: if"):
        numpy.testing.assert_array_equal(np.asnumpy(np.compile(hessian, backend="eager")(x)), np.asnumpy(expected))


def test_a_part_whose_numbers_differ_each_time_is_pythons() -> None:
    def program(x: Any) -> Any:
        total, weights = x * 0, {0: 1, 1: 4}
        for i in range(1030):
            weight = weights.get(i % 3, 2)
            total = total * 0.9 + np.sin(x) * weight + np.cos(x + i) - np.tanh(x * weight)
        return total

    x = np.linspace(0, 1, 5)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        compiled = np.compile(program, backend="eager")
        result = compiled(x)
    assert np.allclose(result, program(x))
    asked = []
    entry = compile_._Signatures._entry
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(compile_._Signatures, "_entry", lambda *args, **kwargs: asked.append(1) or entry(*args, **kwargs))
        compiled(x)
    assert len(asked) < 20


def test_what_is_before_a_returned_slice_is_compiled() -> None:
    def runs(x: Any) -> Any:
        values, k = np.zeros(len(x)), 0
        values[0] = x[0]
        for i in range(1, len(x)):
            if x[i] != values[k]:
                k += 1
                values[k] = x[i]
        return values[: k + 1]

    compiled = np.compile(runs, backend="eager")
    x = np.asarray(numpy.random.default_rng(0).integers(0, 2, 300) * 1.0)
    assert_same(np.asnumpy(runs(x)), compiled(x))
    assert "a loop of the graph" in str(compiled.explain(x))


def test_a_list_of_many_numbers_is_pythons() -> None:
    def smoothed(x: Any) -> Any:
        level, gain, out = 0.0, 1.0, []
        for value in x:
            gain = gain / (gain + 0.1)
            level = level + gain * (value - level)
            gain = (1 - gain) * gain + 0.01
            out += [level]
        return np.array(out)

    compiled = np.compile(smoothed, backend="eager")
    x = np.asarray(numpy.random.default_rng(0).random(300))
    assert_same(np.asnumpy(smoothed(x)), compiled(x))
    explanation = str(compiled.explain(x))
    assert "0 graphs" in explanation
    assert "it has few operations" in explanation


def test_a_function_of_which_python_runs_all_is_pythons() -> None:
    """So its statements are not called one by one, until others are reached."""

    def counted(x: Any, other: Any) -> Any:
        found: dict[int, int] = {}
        for value in x:
            found[int(value)] = found.get(int(value), 0) + 1
        if other:
            found = {key: value * 2 for key, value in found.items()}
        return np.array(sorted(found.items()))

    compiled = np.compile(counted, backend="eager")
    x = np.asarray(numpy.random.default_rng(0).integers(0, 5, 20))
    expected = np.asnumpy(counted(x, False))
    for _ in range(70):
        assert_same(expected, compiled(x, False))
    assert_same(np.asnumpy(counted(x, True)), compiled(x, True))
    assert "Python runs it" in str(compiled.explain(x, False))


def history(x: Any) -> Any:
    errors, y, err = [], x[0] ** 2 + 1, 1.0
    while err > 1e-3:
        new = y - 0.02 * (y - 2 / y)
        err = abs(new - y)
        y = new
        errors.append(err)
    return np.array(errors), y


def relaxed(x: Any) -> Any:
    changes, places, k, u = [], [], 0, np.zeros(12)
    u[0] = x[0]
    while True:
        v = u.copy()
        v[1:-1] = 0.5 * (u[2:] + u[:-2])
        change = np.abs(v - u).max()
        changes.append(change)
        u, k = v, k + 1
        for i in range(3):
            if i == 2:
                break
        if k % 2 == 0:
            continue
        places.append((k, change))
        if change < 1e-4:
            break
    return u, np.array(changes), len(places), places[-1]


class Recorder:
    """Something other than a list that has an ``append``."""

    def __init__(self) -> None:
        self.held: list[Any] = []

    def append(self, value: Any) -> None:
        self.held.append(value)


def recorded(x: Any) -> Any:
    times, t = Recorder(), x[0]
    while t < 30:
        t = t + 0.5
        times.append(t * 2)
    return np.array(times.held), t


def over_a_turn(x: Any) -> Any:
    times, t, y = [], 0.0, x[0]
    while t < 30:
        y = y - 0.01 * y
        t += 0.01
        times.append(t + y)
    return np.array(times), y


@pytest.mark.parametrize("function", [history, relaxed, recorded, over_a_turn])
def test_a_while_that_appends_does_its_steps_in_turns(function: Any) -> None:
    compiled = np.compile(function, backend="eager")
    x = np.asarray(numpy.random.default_rng(0).random(5) + 1)
    expected = function(x)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for _ in range(2):
            for one, other in zip(expected, compiled(x), strict=True):
                if isinstance(one, tuple):
                    assert [float(each) for each in one] == pytest.approx([float(each) for each in other])
                else:
                    assert_same(np.asnumpy(np.asarray(one)), np.asarray(other), rtol=1e-12)
        explanation = str(compiled.explain(x))
    assert "a loop of the graph" in explanation or "a branch of the graph" in explanation, explanation
