"""tnp.compile: what a signature is, what happens at each call, and what comes back."""

from __future__ import annotations

import dataclasses
import operator
import threading
import warnings
from collections import Counter, OrderedDict, defaultdict, namedtuple
from pathlib import Path
from typing import Any

import numpy
import pytest
import torch

import tnp as np
from tests import processes
from tests.oracle import assert_same, placed, sample

Point = namedtuple("Point", "x y")


@dataclasses.dataclass(frozen=True)
class Layer:
    weight: Any
    name: str


def eager(function: Any) -> Any:
    """Compiled, but without a C++ compiler's seconds: for what doesn't depend on who runs the graph."""
    return np.compile(function, backend="eager")


def as_numpy(tree: Any) -> Any:
    """The tree with NumPy's arrays in the place of tnp's."""
    if isinstance(tree, dict):
        return {key: as_numpy(value) for key, value in tree.items()}
    return tuple(map(as_numpy, tree)) if isinstance(tree, tuple) else np.asnumpy(tree)


def ones(*shape: int) -> Any:
    return placed(np, numpy.ones(shape, "f4"))


def test_sigmoid() -> None:
    @np.compile
    def sigmoid(x: Any) -> Any:
        """Of a number."""
        return 1.0 / (1.0 + np.exp(-x))

    for _ in range(3):
        x = sample(np, (5,), "float32")
        expected = 1 / (1 + numpy.exp(-np.asnumpy(x)))
        assert_same(expected, sigmoid(x), rtol=1e-6)
    info = sigmoid.cache_info()
    assert (info.traces, info.hits) == (1, 2)
    assert info.compile_seconds > 0
    assert (sigmoid.__name__, sigmoid.__doc__) == ("sigmoid", "Of a number.")


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (lambda: (ones(3),), lambda: (ones(4),)),
        (lambda: (ones(3),), lambda: (placed(np, numpy.ones(3)),)),
        (lambda: (ones(3, 2),), lambda: (placed(np, numpy.ones((2, 3), "f4").T),)),
        (lambda: (ones(3),), lambda: ([ones(3)],)),
        (lambda: (ones(3), 1), lambda: (ones(3), 2)),
        (lambda: (ones(3), 1), lambda: (ones(3), True)),
        (lambda: (ones(3), 1), lambda: (ones(3), 1.0)),
        (lambda: (ones(3), "a"), lambda: (ones(3), "b")),
        (lambda: (ones(3), slice(1)), lambda: (ones(3), slice(2))),
        (lambda: (ones(3), None), lambda: (ones(3), ones(3))),
        (lambda: ({"a": ones(3)},), lambda: ({"b": ones(3)},)),
    ],
)
def test_python_runs_once_for_each_signature(first: Any, second: Any) -> None:
    runs = []

    @eager
    def function(*args: Any) -> Any:
        runs.append(len(args))
        return args

    for arguments in (first, second, first, second, first, first):
        function(*arguments())
    assert len(runs) == function.cache_info().traces == 2
    assert function.cache_info().hits == 4


def test_nan_is_one_signature() -> None:
    function = eager(lambda x, number: x + number)
    for _ in range(3):
        assert numpy.isnan(np.asnumpy(function(ones(2), float("nan")))).all()
    assert function.cache_info().traces == 1


def test_an_argument_that_is_no_array_and_has_no_hash() -> None:
    with pytest.raises(TypeError, match="set is neither an array, a container of arrays nor hashable"):
        eager(lambda x, s: x)(ones(2), {1})


def test_print_while_tracing_only(capsys: pytest.CaptureFixture[str]) -> None:
    @eager
    def function(x: Any) -> Any:
        print(x, repr(x + 1))
        return x * 2

    function(ones(3))
    function(ones(3))
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 1
    assert "(3,)" in lines[0] and "float32" in lines[0]


def test_keywords() -> None:
    runs = []

    @eager
    def function(x: Any, y: Any = 10, **more: Any) -> Any:
        runs.append(sorted(more))
        return x + 2 * y + 3 * more.get("z", 100)

    for _ in range(3):
        assert function(ones(2), ones(2)).tolist() == [303, 303]
        assert function(ones(2), y=ones(2)).tolist() == [303, 303]
        assert function(y=ones(2), x=ones(2) * 5).tolist() == [307, 307]
        assert function(x=ones(2), y=ones(2) * 5).tolist() == [311, 311]
        assert function(x=ones(2), z=ones(2)).tolist() == [24, 24]
        assert function(ones(2), ones(2), z=ones(2)).tolist() == [6, 6]
        assert function(ones(2), ones(2), z=ones(2)).tolist() == [6, 6]
        assert function(ones(2), y=ones(2), z=1).tolist() == [6, 6]
    assert len(runs) == function.cache_info().traces == 7
    assert function.cache_info().hits == 24 - 7


# Arguments and results.


def test_counters_keep_their_counts() -> None:
    """`Counter.update` adds, unlike that of other dictionaries."""

    @eager
    def function(counts: Any, x: Any) -> Any:
        return Counter({**counts, "c": 2}), x * counts["a"], Counter(a=x)

    counts = Counter(a=2, b=3)
    for _ in range(2):
        made, product, of_array = function(counts, ones(2))
        assert made == Counter(a=2, b=3, c=2) and type(made) is Counter
        assert product.tolist() == [2, 2] and of_array["a"].tolist() == [1, 1]
    assert counts == Counter(a=2, b=3)


def test_containers_in_and_out() -> None:
    @eager
    def function(tree: Any, *, scale: Any) -> Any:
        return {
            "list": [tree["a"] * scale, None, "text"],
            "tuple": (tree["b"][0] + tree["b"][1].x,),
            "point": Point(tree["b"][1].y, 3),
            "layer": dataclasses.replace(tree["c"], weight=tree["c"].weight - 1),
            "ordered": OrderedDict(z=tree["a"], y=1),
            "default": defaultdict(list, k=tree["a"] + 1),
            "empty": ((), [], {}),
        }

    for n in (1, 2):
        tree = {"a": ones(2) * n, "b": [ones(2), Point(ones(2) * 5, ones(3) * n)], "c": Layer(ones(2) * n, "w")}
        result = function(tree, scale=ones(2))
        assert function.cache_info().traces == 1
        assert result["list"][0].tolist() == [n, n]
        assert result["list"][1:] == [None, "text"]
        assert result["tuple"][0].tolist() == [6, 6]
        assert type(result["point"]) is Point
        assert (result["point"].x.tolist(), result["point"].y) == ([n, n, n], 3)
        assert result["layer"].name == "w" and result["layer"].weight.tolist() == [n - 1, n - 1]
        assert type(result["ordered"]) is OrderedDict and list(result["ordered"]) == ["z", "y"]
        assert result["default"]["missing"] == [] and result["default"]["k"].tolist() == [n + 1, n + 1]
        assert result["empty"] == ((), [], {})


def test_kinds_of_arrays() -> None:
    @eager
    def function(*arrays: Any) -> Any:
        kinds.append([type(array).__name__ for array in arrays])
        return [array + array for array in arrays]

    kinds: list[list[str]] = []
    arguments = (ones(3), ones(3).sum(), numpy.ones(3), numpy.float64(2), torch.ones(3))
    for _ in range(2):
        results = function(*arguments)
    assert kinds == [["ndarray", "scalar", "ndarray", "scalar", "FakeTensor"]]
    assert [isinstance(r, numpy.generic) for r in results] == [False, True, False, True, False]
    assert [type(r) for r in results[::2]] == [np.ndarray, np.ndarray, torch.Tensor]
    assert [float(r.sum()) for r in results] == [6, 6, 6, 4, 6]


def test_results_share_memory_as_they_do_eagerly() -> None:
    function = np.compile(lambda x: (x, x[1:], np.stack([x, x])))
    x = ones(3)
    same, view, new = function(x)
    assert same is x
    x[1] = 5
    assert view.tolist() == [5, 1]
    assert new.tolist() == [[1, 1, 1]] * 2


def test_static_results() -> None:
    function = eager(lambda x: (x.shape, x.dtype, len(x), x.ndim * 2.5))
    assert function(ones(3)) == ((3,), numpy.dtype("f4"), 3, 2.5)
    assert eager(lambda x: None)(ones(3)) is None
    assert eager(lambda n: n + 1)(2) == 3
    assert eager(lambda: np.arange(3))().tolist() == [0, 1, 2]


def test_conjugates() -> None:
    function = np.compile(lambda z: (z.conj() * 1, np.conjugate(z), z.imag + 0))
    values = numpy.array([1 + 2j, 3 - 4j])
    for z in (placed(np, values), np.asarray(placed(np, values.conj()).tensor.conj())):
        product, conjugate, imag = function(z)
        assert_same(values.conj(), product)
        assert_same(values.conj(), conjugate)
        assert_same(values.imag, imag)


def test_conjugates_from_outside(device: str) -> None:
    z = torch.tensor([1 + 2j, 3 - 4j], device=device)
    conjugate, imag = np.asarray(z.conj()), np.asarray(z.conj().imag)
    function = eager(lambda x: (x * conjugate, x * imag))
    for _ in range(2):
        product, part = function(ones(2))
        assert product.tolist() == z.conj().tolist()
        assert part.tolist() == z.conj().imag.tolist()
        z += 1


@pytest.mark.parametrize("part", [lambda tensor: tensor.conj(), lambda tensor: tensor.conj().imag])
def test_conjugates_are_written_to(part: Any) -> None:
    def write(x: Any) -> Any:
        x[0] = 5
        x *= 2
        return x.sum()

    given, expected = torch.tensor([1 + 2j, 3 - 4j]), torch.tensor([1 + 2j, 3 - 4j])
    function = eager(write)
    for _ in range(2):
        assert function(np.asarray(part(given))) == write(part(expected).resolve_conj().resolve_neg().numpy().copy())
        write(np.asarray(part(expected)))
        assert given.tolist() == expected.tolist()


# What lives outside.


def test_arrays_from_outside_are_read_when_the_graph_runs() -> None:
    w = ones(3)
    function = np.compile(lambda x: x * w)
    assert function(ones(3)).tolist() == [1, 1, 1]
    w[...] = 7
    assert function(ones(3)).tolist() == [7, 7, 7]
    w += 1
    assert function(ones(3)).tolist() == [8, 8, 8]
    assert function.cache_info().traces == 1


def test_a_counter() -> None:
    counter = placed(np, numpy.zeros((), "i8"))

    @np.compile
    def count() -> Any:
        value = counter + 0
        counter[...] = counter + 1
        return value

    assert [int(count()) for _ in range(4)] == [0, 1, 2, 3]
    assert int(counter) == 4


def test_writes_to_arguments() -> None:
    @np.compile
    def function(x: Any, y: Any) -> Any:
        x += 1
        y[0] = x.sum()
        return y

    for _ in range(2):
        x, y = ones(3), ones(3)
        assert function(x, y) is y
        assert (x.tolist(), y.tolist()) == ([2, 2, 2], [6, 1, 1])
    both = ones(3)
    function(both, both)
    assert both.tolist() == [6, 2, 2]


def test_new_arrays_are_new_at_each_call() -> None:
    @eager
    def function(x: Any) -> Any:
        buffer = np.array([0.0, 0.0, 0.0])
        buffer += x
        return buffer

    assert [function(ones(3)).tolist() for _ in range(3)] == [[1, 1, 1]] * 3


def test_loops_unroll_and_calls_inline() -> None:
    inner = np.compile(lambda x: x * 2)

    @eager
    def function(x: Any, n: int) -> Any:
        for _ in range(n):
            x = inner(x)
        return x

    assert function(ones(2), 5).tolist() == [32, 32]
    assert inner.cache_info().traces == 0


def test_a_method_and_a_decorator_with_options() -> None:
    class Model:
        def __init__(self) -> None:
            self.weight = ones(2)

        @np.compile(backend="eager", fullgraph=True)
        def __call__(self, x: Any) -> Any:
            return x * self.weight

    model, other = Model(), Model()
    other.weight[...] = 3
    assert model(ones(2)).tolist() == [1, 1]
    assert other(ones(2)).tolist() == [3, 3]


# Errors and warnings.


def test_a_branch_on_a_value_names_the_line() -> None:
    def function(x: Any) -> Any:
        if x.sum() > 0:
            return x
        return -x

    line = function.__code__.co_firstlineno + 1
    with pytest.raises(np.TracedValueError, match=rf"test_compile\.py:{line}: .*np\.where"):
        np.compile(function, autograph=False)(ones(3))


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x[0].item(),
        lambda x: x.tolist(),
        lambda x: x[x > 0],
        lambda x: np.nonzero(x),
        lambda x: numpy.asarray(x),
        lambda x: [1, 2.5, x][x[0].astype(int)],
        lambda x: np.zeros(x[0].astype(int)),
        lambda x: np.full((2, x[0].astype(int)), 1),
        lambda x: x.reshape(x[0].astype(int)),
        lambda x: np.einsum(x, x.astype(int)),
        lambda x: np.histogram(x, x[0].astype(int)),
        lambda x: np.linalg.matrix_power(np.eye(2), x[0].astype(int)),
        lambda x: np.take(x, 0, mode=x[0].astype(int)),
    ],
)
def test_a_demand_for_values(function: Any) -> None:
    with pytest.raises(np.TracedValueError, match=r"test_compile\.py"):
        np.compile(function, fullgraph=True)(ones(3))


@pytest.mark.parametrize("name", ["iadd", "isub", "imul", "itruediv", "ifloordiv", "imod", "ipow"])
@pytest.mark.parametrize("shape", [(2, 3), (0, 3), (1, 1, 3)])
def test_what_is_written_to_is_large_enough(name: str, shape: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match=r"operand with shape \(1,3\) doesn't match"):
        eager(lambda x, y: getattr(operator, name)(x, y))(ones(1, 3), ones(*shape))


def test_numpys_errors_are_the_functions_own() -> None:
    with pytest.raises(ValueError, match=r"\(3,\).*\(4,\)"):
        np.compile(lambda x, y: x + y)(ones(3), ones(4))
    with pytest.raises(numpy.exceptions.AxisError):
        np.compile(lambda x: x.sum(axis=2))(ones(3))


@pytest.mark.parametrize("backend", ["eager", "inductor"])
def test_numpys_errors_while_the_graph_runs(backend: str) -> None:
    inverse = np.compile(np.linalg.inv, backend=backend)
    assert inverse(np.eye(2)).tolist() == [[1, 0], [0, 1]]
    for _ in range(2):
        with pytest.raises(numpy.linalg.LinAlgError, match=r"^Singular matrix$"):
            inverse(np.zeros((2, 2)))
    with pytest.raises(numpy.linalg.LinAlgError, match=r"^Matrix is not positive definite$"):
        np.compile(np.linalg.cholesky, backend=backend)(-np.eye(2))


def test_a_result_that_has_no_room() -> None:
    with pytest.raises(MemoryError):
        np.compile(lambda x: np.repeat(x, 1 << 44) + 1, backend="eager")(ones(3))


def test_retracing_is_told_once() -> None:
    @eager
    def function(x: Any, n: int) -> Any:
        return x * n

    with pytest.warns(
        RuntimeWarning, match=r"function has been traced 8 times.*n was the int 6 and is the int 7"
    ) as told:
        for n in range(12):
            function(ones(2), n)
    assert len(told) == 1
    assert told[0].filename == __file__


# Sizes that are left open.

OPEN: dict[str, Any] = {
    "elementwise": lambda x: 1 / (1 + np.exp(-x)),
    "reduced": lambda x: (x - x.mean()) / x.std(),
    "divided by its length": lambda x: x.sum() / x.shape[0] + x.size * 2,
    "beside new arrays": lambda x: np.zeros(x.shape) + np.arange(x.shape[0]) - np.ones_like(x),
    "product": lambda x: x[:, None] * x @ np.ones(x.size),
    "joined": lambda x: np.concatenate([x, x * 2]) + np.stack([x, x]).reshape(-1),
    "views": lambda x: (x[1:], x.reshape(1, -1), x * 2),
    "view of a result": lambda x: (lambda y: (y, y[1:]))(x + 1),
    "mapped": lambda x: np.vectorized_map(lambda value: value * value, x),
    "transformed": lambda x: (np.fft.fft(x), np.fft.rfft(x), np.fft.irfft(x), np.fft.fft2(np.outer(x, x))),
    "shifted": lambda x: (np.fft.fftshift(x), np.fft.ifftshift(np.outer(x, x)), np.fft.fftfreq(len(x)), np.roll(x, 2)),
    "spaced": lambda x: np.linspace(0, 1, x.size) + np.logspace(0, 1, x.size) + np.geomspace(1, 9, x.size),
    "filtered": lambda x: np.convolve(x, np.asarray([1.0, 2.0, 3.0]), "same"),
    "looked up": lambda x: (np.interp(x, np.sort(x), x), np.searchsorted(np.sort(x), x)),
    "quantiles": lambda x: (np.percentile(x, 30), np.quantile(x, [0.2, 0.5], method="hazen"), np.nanmean(x)),
    "counted": lambda x: (np.histogram(x, 5, (-1, 1))[0], np.histogram(x)[0], np.histogram(x, 3, weights=x)[0]),
    "correlated": lambda x: (np.cov(x, x**2), np.corrcoef(x, x**3), np.average(x, weights=x * x, returned=True)),
    "averaged": lambda x: np.average(x, returned=True),
    "grids": lambda x: (np.tri(x.size), np.indices((x.size, 2)), np.eye(x.size)),
    "derivatives": lambda x: np.jacobian(np.sin)(x),
    "several": lambda x: {"a": x.cumsum(), "b": np.where(x > 0, x, 0), "c": x.astype("f4").max()},
}


@pytest.mark.parametrize(
    ("name", "backend"),
    [(name, "eager") for name in OPEN]
    + [(name, "inductor") for name in ("reduced", "view of a result", "transformed")],
)
def test_one_trace_for_all_sizes(name: str, backend: str) -> None:
    function = np.compile(OPEN[name], dynamic=True, backend=backend)
    for n in (3, 5, 100, 1000, 5):
        x = sample(np, (n,), "float64")
        assert_same(as_numpy(OPEN[name](x)), function(x), rtol=1e-12, atol=1e-12)
    assert function.cache_info().traces == 1


def test_one_trace_for_scans_and_one_for_odd_numbers() -> None:
    total = lambda x: np.scan(lambda c, v: (c + v, c * 2), 0.0 * x[0], x)[0]  # noqa: E731
    scanned = np.compile(total, dynamic=True, backend="eager")
    middle = np.compile(lambda x: np.median(x), dynamic=True, backend="eager")
    for n in (30, 31, 500, 33):
        assert (scanned(np.ones(n)), middle(np.arange(n))) == (n, (n - 1) / 2)
    assert (scanned.cache_info().traces, middle.cache_info().traces) == (1, 2)


def test_another_backend_compiles_many_functions() -> None:
    for factor in range(12):
        function = np.compile(lambda x, by=factor: np.sin(x) * by + x.sum(), backend="aot_eager", fullgraph=True)
        assert_same(numpy.sin(numpy.ones(5)) * factor + 5, function(np.ones(5)), rtol=1e-12)


def test_open_sizes_of_empty_arrays() -> None:
    function = np.compile(lambda x, y: x.sum(axis=0) * y, dynamic=True)
    for n in (5, 7, 5):
        assert function(ones(0, n), ones(n)).tolist() == [0] * n
        assert function(ones(2, n), ones(n)).tolist() == [2] * n


def test_sizes_of_zero_and_one_are_their_own() -> None:
    function = np.compile(lambda x, y: x + y, dynamic=True, backend="eager")
    for n, traces in ((4, 1), (1, 2), (0, 3), (9, 3), (1, 3), (0, 3)):
        assert function(ones(n), ones(1)).shape == (n,)
        assert function.cache_info().traces == traces


def test_a_branch_on_a_size_is_another_trace() -> None:
    function = np.compile(lambda x: x + 1 if x.shape[0] > 10 else x - 1, dynamic=True)
    for n, value, traces in ((3, 0, 1), (10, 0, 1), (11, 2, 2), (1000, 2, 2), (5, 0, 2)):
        assert function(ones(n)).tolist() == [value] * n
        assert function.cache_info().traces == traces


def test_what_needs_a_size_is_traced_for_each() -> None:
    function = np.compile(lambda x: (x * 1, x.shape[0], list(range(len(x)))), dynamic=True, backend="eager")
    for n in (3, 4, 3, 4):
        x, size, counted = function(ones(n))
        assert (x.shape, size, counted) == ((n,), n, [*range(n)])
        assert type(size) is int
    assert function.cache_info().traces == 2


def test_what_cannot_leave_sizes_open_is_traced_for_each() -> None:
    function = np.compile(lambda x: sum(list(x)), dynamic=True, backend="eager")
    for n in (3, 4, 9, 4, 3):
        assert function(np.ones(n)) == n
    assert function.cache_info().traces == 3
    with pytest.raises(ValueError, match=r"\(3,\).*\(4,\)"):
        np.compile(lambda x, y: x + y, dynamic=True)(ones(3), ones(4))


def test_operands_that_broadcast_differently() -> None:
    function = np.compile(lambda x, y: x + y, dynamic=True, backend="eager")
    for shapes in (((5, 4), (5, 4)), ((4, 5), (4, 5)), ((4, 5), (1, 5)), ((4, 5), (4, 1)), ((7, 7), (7, 7))):
        assert function(*map(ones, *zip(*shapes, strict=True))).shape == shapes[0]
    assert function.cache_info().traces == 3
    with pytest.raises(ValueError):
        function(ones(4, 5), ones(3, 5))


@pytest.mark.filterwarnings("ignore:.*has been traced:RuntimeWarning")  # strides with gaps stay what they are
@pytest.mark.parametrize("backend", ["eager", "inductor"])
def test_open_sizes_of_strided_and_written_arrays(backend: str) -> None:
    def body(x: Any, y: Any) -> Any:
        y += 1
        x[0] = y[-1] * 3
        return x.T

    function = np.compile(body, dynamic=True, backend=backend)
    for n in (4, 6, 50):
        for view in (lambda a: a, lambda a: a.T, lambda a: a[::2], lambda a: a[:, 1:]):
            ours, theirs = ([placed(np, view(numpy.ones((n, n)))), placed(np, numpy.arange(n))] for _ in range(2))
            assert_same(np.asnumpy(body(*theirs)), function(*ours))
            assert [a.tolist() for a in ours] == [a.tolist() for a in theirs]
    both = placed(np, numpy.ones((4, 4)))
    assert_same(np.asnumpy(body(both.copy(), both[1].copy())), function(both.copy(), both[1].copy()))


def test_calls_in_a_row_with_open_sizes() -> None:
    function = np.compile(lambda x, y: x[:, :2] * y.sum() + x.shape[0], dynamic=True, backend="eager")
    shapes = [((3, 4), 5), ((5, 3), 5), ((5, 3), 2), ((1, 4), 3), ((6, 4), 3), ((2, 2), 1)]
    for size, length in shapes:
        for order in "CF":
            x = numpy.arange(float(size[0] * size[1])).reshape(size, order=order)
            y = numpy.arange(float(length))
            for argument in (placed(np, x), placed(np, numpy.repeat(x, 2, 1))[:, ::2]):
                assert_same(x[:, :2] * y.sum() + len(x), function(argument, placed(np, y)))
    assert function.cache_info().hits >= 12


def test_gradients_through_open_sizes(device: str) -> None:
    function = np.compile(lambda x: (x * x).sum() / x.shape[0], dynamic=True)
    for n in (4, 40, 400):
        x = torch.arange(float(n), requires_grad=True, device=device)
        function(np.asarray(x)).tensor.backward()
        assert torch.allclose(x.grad, 2 * x.detach() / n)  # type: ignore[arg-type]
    assert function.cache_info().traces == 1


# Compiled beside eager.


@pytest.mark.parametrize("backend", ["eager", "inductor"])
def test_eager_check_passes(backend: str) -> None:
    weight = ones(3)

    @np.compile(eager_check=True, backend=backend)
    def function(x: Any, y: Any) -> Any:
        weight[...] = weight + 1
        x[1:] = np.sin(y[1:]) * weight[1:]
        return x, (x.sum(), x > 0), np.random.normal(size=3), [np.sort(y), y.mean()], x[0]

    x, y = ones(3), placed(np, numpy.array([2.0, numpy.nan, 1]))
    for n in (2, 3):
        same, (total, positive), *_ = function(x, y)
        assert same is x and weight.tolist() == [n, n, n]
        assert_same(numpy.array([1, numpy.nan, n * numpy.sin(1)], "f4"), x, rtol=1e-6)
        assert numpy.isnan(total) and positive.tolist() == [True, False, True]
    assert function.cache_info().traces == 1


def line_after(function: Any, lines: int) -> str:
    return rf"test_compile\.py:{function.__code__.co_firstlineno + lines}"


@pytest.mark.parametrize("name", ["sin", "tan"])
def test_eager_check_finds_what_has_changed_since_the_trace(name: str) -> None:
    factor = [2.0]

    def function(x: Any) -> Any:
        y = getattr(np, name)(x)
        y = y * factor[0]
        return y + 1

    compiled = np.compile(function, eager_check=True, backend="eager")
    compiled(ones(3))
    factor[0] = 3.0
    values = {"sin": r"1.68.*eagerly 2.52", "tan": r"3.11.*eagerly 4.67"}[name]
    with pytest.raises(np.EagerCheckError, match=rf"mul\.Tensor at \S*{line_after(function, 2)} is {values}"):
        compiled(ones(3))


@pytest.mark.parametrize("backend", ["inductor"])
def test_eager_check_finds_wrong_machine_code(backend: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from backend_torch.graphs.decompositions import TABLE
    from backend_torch.torch_private import inductor

    right = inductor._decompositions(TABLE)
    wrong = {**right, torch.ops.aten.sin.default: lambda x: torch.cos(x)}
    monkeypatch.setattr(inductor, "_decompositions", lambda ours: wrong)

    def function(x: Any) -> Any:
        y = x * 2
        x += np.sin(y)
        return y.sum()

    x = ones(3)
    with pytest.raises(
        np.EagerCheckError, match=rf"sin.default at \S*{line_after(function, 2)} is -0.41.*eagerly 0.90"
    ):
        np.compile(function, eager_check=True, backend=backend)(x)
    assert x.tolist() == [1, 1, 1]


# How many traces are kept.


def test_the_trace_used_longest_ago_goes() -> None:
    runs: list[int] = []

    @np.compile(backend="eager", cache_size=2)
    def function(x: Any) -> Any:
        runs.append(len(x))
        return x + 1

    for n in (1, 2, 1, 3, 1, 1, 3, 2, 3):
        assert function(ones(n)).tolist() == [2] * n
    assert runs == [1, 2, 3, 2]
    assert function.cache_info()[:2] == (4, 5)
    with pytest.raises(ValueError, match="cache_size"):
        np.compile(lambda x: x, cache_size=0)


def test_the_trace_that_goes_is_one_where_sizes_are_open() -> None:
    function = np.compile(lambda x: x * (x.shape[0] // 10), dynamic=True, backend="eager", cache_size=2)
    for n in (5, 15, 25, 5):
        assert function(ones(n)).tolist() == [n // 10] * n


# Gradients, threads.


def test_gradients_flow(device: str) -> None:
    w = np.asarray(torch.full((3,), 2.0, requires_grad=True, device=device))
    function = np.compile(lambda x: (x * x * w).sum())
    with torch.no_grad():
        assert not function(ones(3)).tensor.requires_grad
    for _ in range(2):
        x = np.asarray(torch.arange(3.0, requires_grad=True, device=device))
        function(x).tensor.backward()
        assert x.tensor.grad.tolist() == [0, 4, 8]
    assert w.tensor.grad.tolist() == [0, 2, 8]
    assert function.cache_info().traces == 1


@pytest.mark.parametrize("more", [{}, {"mode": "reduce-overhead"}, {"options": {"level": 3}}])
def test_a_backend_of_ones_own_is_told_what_torch_compile_tells_it(more: dict[str, Any]) -> None:
    told: list[dict[str, Any]] = []

    def backend(module: Any, inputs: Any, **keywords: Any) -> Any:
        told.append(keywords)
        return module.forward

    function = np.compile(lambda x: (x * x).sum(), backend=backend, **more)
    x = np.asarray([1.0, 2.0])
    assert function(x) == 5 and told == [more]
    with np.GradientTape() as tape:
        tape.watch(x)
        y = function(x)
    assert tape.gradient(y, x).tolist() == [2.0, 4.0] and told[1:] == [more]


def test_inside_a_transform_the_function_is_inlined(device: str) -> None:
    function = np.compile(lambda x: (x * x).sum())
    unwrapped = lambda t: function(np.asarray(t)).tensor  # noqa: E731
    assert torch.func.grad(unwrapped)(torch.arange(3.0, device=device)).tolist() == [0, 2, 4]
    assert torch.func.vmap(unwrapped)(torch.ones(2, 3, device=device)).tolist() == [3, 3]


@pytest.mark.parametrize("captured", [False, True])
def test_without_arguments_inside_a_trace(captured: bool) -> None:
    values = np.ones(2)
    inner = eager((lambda: values * 2) if captured else (lambda: np.ones(2) * 2))
    outer = eager(lambda x: x + inner())
    assert inner().tolist() == inner().tolist() == [2, 2]
    assert outer(np.zeros(2)).tolist() == [2, 2]
    values[0] = 5
    assert outer(np.zeros(2)).tolist() == ([10, 2] if captured else [2, 2])
    assert inner.cache_info().hits == 1


def test_threads_trace_once() -> None:
    runs = []

    @eager
    def function(x: Any) -> Any:
        runs.append(1)
        return x + 1

    results: list[Any] = []
    threads = [threading.Thread(target=lambda: results.append(function(ones(3)).tolist())) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [[2, 2, 2]] * 4
    assert len(runs) == 1


def test_no_warning_without_cause() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        assert np.compile(lambda x: x - 1)(ones(3)).tolist() == [0, 0, 0]


# Before the first call.


def test_warmup_compiles_and_runs_nothing() -> None:
    runs = []

    @np.compile
    def function(x: Any, *, n: int) -> Any:
        runs.append(n)
        x += n
        return x

    x = ones(3)
    function.warmup(x, n=2)
    seconds = function.cache_info().compile_seconds
    assert (x.tolist(), runs, function.cache_info().hits) == ([1, 1, 1], [2], 0)
    function(x, n=2)
    assert (x.tolist(), runs, function.cache_info()) == ([3, 3, 3], [2], (1, 1, seconds))


@pytest.mark.parametrize(
    "function",
    [
        lambda x, value: x * value,
        lambda x, value: x + np.full(3, value),
        lambda x, value: np.where(x == 0, value, x),
        lambda x, value: np.full_like(x, value),
        lambda x, value: np.pad(x, 1, constant_values=value),
    ],
)
def test_complex_constants_that_are_not_finite(function: Any) -> None:
    x = np.asarray([0, 1 + 1j, 2])
    inf, nan = numpy.inf, numpy.nan
    values = [complex(inf, nan), complex(nan, -inf), complex(1, nan), complex(-inf, 1), inf * 1j]
    assert_same([np.asnumpy(function(x, v)) for v in values], eager(lambda x: [function(x, v) for v in values])(x))
    assert_same(np.asnumpy(function(x, values[1])), np.compile(lambda x: function(x, values[1]))(x))


_IN_A_PROCESS = """
import os, pathlib, sys
import tnp as np
from torch._dynamo.utils import counters

def kept():
    return set(pathlib.Path(os.environ["TORCHINDUCTOR_CACHE_DIR"]).rglob("*"))

def found(name):
    print(name, counters["inductor"]["fxgraph_cache_hit"], counters["inductor"]["fxgraph_cache_miss"])
    counters.clear()

np.compile(lambda x: np.exp(x) - x.sum(), backend="inductor")(np.ones(3))
found("plain")

rng = np.random.default_rng(1)
f = np.compile(lambda x: x + rng.random(3) * np.random.rand(3) + rng.standard_normal(3))
np.random.seed(2)
first, second = f(np.ones(3)), f(np.ones(3))
found("random")
own = np.compile(lambda: np.random.rand(2) + 0.5)
np.random.seed(7)
once = own().tolist(), own().tolist()
np.random.seed(7)
print((first == second).any(), once == (own().tolist(), own().tolist()), first.tolist(), once)
counters.clear()

for step in map(float, sys.argv[1:]):
    grown = lambda v: np.while_loop(lambda v: v.sum() < 100, lambda v: v * 2 + step, v)
    f = np.compile(lambda x: np.cond(x.sum() > 2, grown, lambda v: v - step, x))
    before = kept()
    print(f(np.ones(3)).tolist(), f(np.zeros(3)).tolist())
    print("loop is", "known" if kept() == before else "new")
"""


def test_a_second_process_compiles_only_what_is_new(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """From the cache come functions, random ones without a generator's state, loops and branches with their numbers."""
    monkeypatch.delenv("TNP_CACHE_DIR", raising=False)  # else loops are kept there, where kept() does not look
    numbers = []
    for steps, there, loop in (["1"], "0 1", "new"), (["1", "3"], "1 0", "known"):
        folder = str(tmp_path)
        done = processes.run("-c", _IN_A_PROCESS, *steps, after=processes.COMPILERS, TORCHINDUCTOR_CACHE_DIR=folder)
        plain, random, drawn, *loops = done.stdout.splitlines() or [done.stderr] * 3
        assert random == f"random {there}", done.stderr
        assert plain == ("plain 0 1" if there == "0 1" else "plain 0 0"), done.stderr  # without a compiler
        assert drawn.startswith("False True "), done.stderr
        numbers.append(drawn)
        expected = ["[63.0, 63.0, 63.0] [-1.0, -1.0, -1.0]", f"loop is {loop}"]
        if "3" in steps:
            expected += ["[61.0, 61.0, 61.0] [-3.0, -3.0, -3.0]", "loop is new"]
        assert loops == expected, done.stderr
    assert numbers[0] == numbers[1]
