"""Sizes that ``tnp.compile`` opens by itself: the second size of an axis makes one trace for all later ones."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy
import pytest
import torch

import tnp as np
from backend_torch.torch_private import inductor
from tests.oracle import assert_same, sample
from tnp._compile import compile as module


@pytest.fixture
def interpreted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Run the graphs of Inductor without its machine code, for tests of which graphs there are."""
    monkeypatch.setattr(inductor, "compiled", lambda module, *others: lambda tensors: module(*tensors))


def as_numpy(tree: Any) -> Any:
    """The tree with NumPy's arrays in the place of tnp's."""
    return type(tree)(map(as_numpy, tree)) if isinstance(tree, (tuple, list)) else np.asnumpy(tree)


FUNCTIONS: dict[str, Any] = {
    "reduced": lambda x, y: (x - x.mean(axis=0)) / x.std() + y,
    "product": lambda x, y: np.tanh(x @ x.T) @ x + y.sum(),
    "joined and viewed": lambda x, y: (np.concatenate([x, x * y]), x.T, x[1:].cumsum(axis=0), x.shape[0] * y - len(x)),
    "written": lambda x, y: x.__setitem__((slice(1, None), 0), x[:-1, 1]) or (x.sum(axis=1), y * 2),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_the_second_size_serves_all_later_ones(name: str) -> None:
    function = np.compile(FUNCTIONS[name])
    traces = []
    for n in (3, 5, 40, 6, 3):
        arguments = [sample(np, (n, 4), "float64"), sample(np, (4,), "float64")]
        copies = [np.asarray(as_numpy(argument).copy()) for argument in arguments]
        expected = FUNCTIONS[name](*arguments)
        found = function(*copies)
        assert_same(as_numpy(expected), found, rtol=1e-12, atol=1e-12)
        assert_same(as_numpy(arguments), copies)
        traces.append(function.cache_info().traces)
    assert traces == [1, 2, 2, 2, 2]
    first, second = function.cache_info().programs
    assert "(3, 4)" in first and "other sizes" not in first
    assert second.endswith("and other sizes")
    assert second in str(function.cache_info())


@pytest.mark.usefixtures("interpreted")
def test_only_sizes_that_differ_are_open() -> None:
    function = np.compile(lambda x: x.sum(axis=1))
    for n, m, traces in ((3, 4, 1), (5, 4, 2), (6, 4, 2), (6, 7, 3), (9, 8, 3), (3, 4, 3)):
        assert function(np.ones((n, m))).tolist() == [m] * n
        assert function.cache_info().traces == traces


@pytest.mark.usefixtures("interpreted")
@pytest.mark.parametrize(
    ("function", "settings"),
    [
        (lambda x: x.sum(), {"dynamic": False}),
        (lambda x: x.sum(), {"backend": "eager"}),
        (lambda x: 1 / (1 + np.exp(-x)), {}),  # g++ alone needs no second compile
        (lambda x: np.delete(x, 1) + x.sum(), {}),  # can't leave sizes open
        (lambda x: x.sum() + np.random.random(x.shape).sum() * 0, {}),
    ],
)
def test_what_has_a_trace_for_each_size(function: Any, settings: dict[str, Any]) -> None:
    compiled = np.compile(function, **settings)
    for n in (3, 4, 5):
        assert_same(as_numpy(function(np.arange(float(n)))), compiled(np.arange(float(n))), rtol=1e-12)
    assert compiled.cache_info().traces == 3
    assert not any("other sizes" in text for text in compiled.cache_info().programs)


@pytest.mark.usefixtures("interpreted")
def test_a_branch_on_a_size() -> None:
    function = np.compile(lambda x: x.sum() + 1 if x.shape[0] > 10 else x.sum() - 1)
    for n in (3, 11, 4, 12, 30, 10):
        assert function(np.ones(n)) == (n + 1 if n > 10 else n - 1)


@pytest.mark.usefixtures("interpreted")
def test_errors_are_those_of_the_sizes() -> None:
    function = np.compile(lambda x, y: (x @ y).sum())
    for n in (2, 3, 4):
        assert function(np.ones((n, n)), np.ones(n)) == n * n
    with pytest.raises(ValueError) as found:
        function(np.ones((3, 3)), np.ones(4))
    with pytest.raises(ValueError) as expected:
        numpy.ones((3, 3)) @ numpy.ones(4)
    assert str(found.value)[:20] == str(expected.value)[:20]


def test_gradients_flow() -> None:
    function = np.compile(lambda x: (x * x).sum())
    for n in (3, 4, 5):
        x = torch.arange(float(n), requires_grad=True)
        function(np.asarray(x)).tensor.backward()
        assert x.grad is not None and x.grad.tolist() == [2.0 * i for i in range(n)]
    assert function.cache_info().traces == 2


@pytest.mark.usefixtures("interpreted")
def test_a_size_that_is_called_often_gets_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_OFTEN", 5)
    function = np.compile(lambda x: x.sum() * 2)
    for n in (3, 4):
        function(np.ones(n))
    for _ in range(3):
        for n in (6, 5):
            assert function(np.ones(n)) == 2 * n
    assert function.cache_info().traces == 2
    for _ in range(4):
        assert function(np.ones(5)) == 10
    assert function.cache_info().traces == 3
    for _ in range(2):
        for n in (5, 6, 7, 5, 3):
            assert function(np.ones(n)) == 2 * n
    assert function.cache_info().traces == 3
    programs = {text.partition("float64 ")[2] for text in function.cache_info().programs}
    assert programs == {"(3,)", "(4,) and other sizes", "(5,)"}


def test_a_compiler_that_fails_for_open_sizes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is warned of: each size has its own code."""

    def fail(module: Any, inputs: Any, *others: Any) -> Any:
        if any(isinstance(size, torch.SymInt) for each in inputs for size in each.shape):
            raise RuntimeError("no code for open sizes")
        return lambda tensors: module(*tensors)

    monkeypatch.setattr(inductor, "compiled", fail)
    function = np.compile(lambda x: x.sum() * 3)
    said: list[str] = []
    monkeypatch.setattr(module.progress.log, "info", lambda text, *args: said.append(text % args))
    for n in (3, 4, 5):
        assert function(np.ones(n)) == 3 * n
    assert len([text for text in said if text.endswith("can't leave sizes open: no code for open sizes")]) == 1
    assert len(function.cache_info().programs) == 3


@pytest.mark.usefixtures("interpreted")
def test_warmup_of_a_second_size_serves_later_ones() -> None:
    function = np.compile(lambda x: x.sum() * 4)
    function.warmup(np.ones(3))
    function.warmup(np.ones(4))
    assert function(np.ones(5)) == 20
    assert function.cache_info()[:2] == (2, 1)


@pytest.mark.usefixtures("interpreted")
def test_a_graph_is_that_of_its_sizes() -> None:
    function = np.compile(lambda x: x.sum())
    for n in (3, 4):
        function(np.ones(n))
    assert "(7" in str(function.graph(np.ones(7))) or "[7" in str(function.graph(np.ones(7)))


def test_sizes_of_zero_and_one_and_other_layouts_are_their_own() -> None:
    function = np.compile(lambda x: x.sum(axis=0) + x.shape[0])
    made = [numpy.ones((n, 3)) for n in (4, 5, 1, 0, 6)] + [numpy.ones((3, n)).T for n in (4, 5, 6)]
    for array in made:
        assert function(np.asarray(array)).tolist() == [2 * len(array)] * 3


def test_reversed_axes_leave_sizes_open() -> None:
    compiled = np.compile(lambda x: x[::-1] * 2 + np.flip(x), backend="eager", dynamic=True)
    for size in (5, 8, 11, 16):
        x = numpy.arange(float(size))
        numpy.testing.assert_array_equal(np.asnumpy(compiled(np.asarray(x))), x[::-1] * 3)
    assert compiled.cache_info().traces == 1


SIZES_BESIDE_SMALL_INTEGERS: list[Callable[[Any, Any], Any]] = [
    lambda x, a: a * len(x),
    lambda x, a: x.size - a,
    lambda x, a: a > len(x),
    lambda x, a: a**len(x),
    lambda x, a: np.minimum(a, len(x)),
    lambda x, a: np.multiply(a, -len(x), dtype=a.dtype),
    lambda x, a: np.where(a > 2, a, len(x)),
    lambda x, a: np.clip(a, 0, len(x)),
    lambda x, a: np.choose(a % 2, [a, len(x)]),
]


@pytest.mark.parametrize("function", SIZES_BESIDE_SMALL_INTEGERS)
@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "float32"])
def test_a_size_beside_an_array_of_small_integers_is_a_number(function: Callable[[Any, Any], Any], dtype: str) -> None:
    def outcome(function: Callable[[Any, Any], Any], length: int) -> tuple[str, str]:
        try:
            result = function(np.ones(length), np.asarray([1, 2, 3], dtype=dtype))
        except Exception as error:
            return type(error).__name__, str(error)
        return str(result.dtype), repr(result)

    compiled = np.compile(function, dynamic=True, backend="eager")
    for length in (3, 5, 130, 300, 70_000):
        assert outcome(compiled, length) == outcome(function, length)


SIZES_BESIDE_NUMBERS: list[Callable[[int], Any]] = [
    lambda n: numpy.int8(3) * n,
    lambda n: n * numpy.int8(3),
    lambda n: n - numpy.uint8(1),
    lambda n: numpy.float32(0.5) * n,
    lambda n: n / numpy.float32(3),
    lambda n: numpy.float64(0.5) * (n / 3),
    lambda n: divmod(numpy.int16(100), n)[1],
    lambda n: numpy.int8(3) * n < n,
    lambda n: numpy.arange(3, dtype="int8") * n,
    lambda n: numpy.prod((n, 2)) * numpy.int8(1),
    lambda n: numpy.array([n, n / 2]).sum() * numpy.float32(1),
    lambda n: numpy.arange(n).sum() * numpy.int8(1),
    lambda n: numpy.asarray(n) * numpy.int8(1),
    lambda n: numpy.full(2, n, "int16"),
    lambda n: numpy.zeros(3)[: n - 1],
    lambda n: numpy.sqrt(n),
]


@pytest.mark.parametrize("of", SIZES_BESIDE_NUMBERS)
@pytest.mark.filterwarnings("ignore:overflow encountered", "ignore:.*adds to a closure")
def test_a_size_beside_numbers_of_numpy_is_a_number(of: Callable[[int], Any]) -> None:
    def function(x: Any) -> Any:
        of_size = of(len(x))
        kinds.append(isinstance(of_size, numpy.generic))
        return of_size, np.ones((3, 1), dtype="float32") * of_size

    kinds: list[bool] = []
    compiled = np.compile(function, dynamic=True, backend="eager")
    for n in (3, 5, 100):
        (size, result), (known, theirs) = compiled(np.ones(n)), function(np.ones(n))
        assert kinds[-2] is kinds[-1]
        assert result.dtype == theirs.dtype
        assert (result.tolist(), size.tolist()) == (theirs.tolist(), known.tolist())
    assert not hasattr(torch.SymInt, "__array_ufunc__")


def _power_of_two(x: Any) -> Any:
    steps, length = 0, np.float64(len(x))
    while length > 1:
        length, steps = length / 2, steps + 1
    return x * steps


def _summed(x: Any) -> Any:
    total = np.float64(0)
    for _ in range(3):
        total += np.sqrt(len(x))
    return x * total


OPEN_NUMBERS: dict[str, Callable[[Any], Any]] = {
    "square root": lambda x: x / np.sqrt(len(x)),
    "int64": lambda x: x * np.int64(len(x)),
    "float64": lambda x: x.sum() / (np.float64(x.size) - 1),
    "float32": lambda x: np.float32(0.1) * len(x) * x,
    "int16": lambda x: np.int16(3) * len(x) + x.sum(),
    "product": lambda x: x.sum() / np.prod(x.shape),
    "array": lambda x: x * np.array(len(x)),
    "list": lambda x: x.sum() * np.array([len(x), 2.5]),
    "dtype": lambda x: x * np.asarray(len(x), dtype=np.float32),
    "full": lambda x: np.full(3, len(x), dtype=np.float32) * x[:3],
    "limited": lambda x: np.clip(len(x), 4, 100) * x,
    "numpy": lambda x: x / numpy.sqrt(len(x)) + numpy.float64(len(x)),
    "in place": _summed,
    "gradient": lambda x: np.grad(lambda y: (y * y).sum() / np.sqrt(len(y)))(x),
    "batch": lambda x: np.vectorized_map(lambda row: row / np.sqrt(len(row)), np.stack([x, x])),
    "taken": lambda x: np.take(x, np.int64(len(x)) // 2),
    "checkpoint": lambda x: np.grad(np.checkpoint(lambda y: (y * np.sqrt(len(y))).sum()))(x),
}


@pytest.mark.parametrize("name", OPEN_NUMBERS)
def test_numbers_of_open_sizes_are_open(name: str) -> None:
    compiled = np.compile(OPEN_NUMBERS[name], dynamic=True, backend="eager")
    for n in (3, 5, 200):
        assert_same(as_numpy(OPEN_NUMBERS[name](np.arange(n) * 1.0)), compiled(np.arange(n) * 1.0), rtol=1e-12)
    assert compiled.cache_info().traces == 1


ASKED: dict[str, Callable[[Any], Any]] = {
    "int": lambda x: x[: int(np.sqrt(len(x)))],
    "float": lambda x: x * float(np.sqrt(len(x))),
    "branch": lambda x: x if np.sqrt(len(x)) > 3 else x * 2,
    "range": lambda x: sum(x[i] for i in range(np.int64(len(x)) // 2)),
    "shape": lambda x: np.zeros(np.prod(x.shape)),
    "reshape": lambda x: np.concatenate([x, x]).reshape(2, np.int64(len(x))),
    "key": lambda x: x * {4: 1.0}.get(np.int64(len(x)), 2.0),
    "bins": lambda x: np.histogram(x, bins=np.int64(np.ceil(np.sqrt(len(x)))))[0],
    "loop": _power_of_two,
    "gradient": lambda x: np.grad(lambda y: y[: int(np.sqrt(len(y)))].sum())(x),
    "batch": lambda x: np.vectorized_map(lambda row: row / int(np.sqrt(len(row))), np.stack([x, x])),
    "deep": lambda x: x * float(_halved(np.float64(len(x)), 300)),
    "sum": lambda x: x[: int(np.array([len(x) - 1, 1]).min())],
}


def _halved(number: Any, times: int) -> Any:
    for _ in range(times):
        number = number * 0.5
    return number


@pytest.mark.parametrize("name", ASKED)
def test_numbers_of_open_sizes_are_decided_where_python_asks(name: str) -> None:
    compiled = np.compile(ASKED[name], dynamic=True, backend="eager")
    for n in (4, 7, 20):
        assert_same(as_numpy(ASKED[name](np.arange(n) * 1.0)), compiled(np.arange(n) * 1.0), rtol=1e-12)
    assert 0 < compiled.cache_info().traces <= 3


def test_a_written_number_of_a_size_is_not_read_as_it_was() -> None:
    def function(x: Any) -> Any:
        size = np.array(len(x))
        size += x[0].astype(int)
        return x * size

    compiled = np.compile(function, dynamic=True, backend="eager")
    for n in (4, 7):
        assert compiled(np.ones(n)).tolist() == [n + 1] * n


TEXTS: list[Callable[[Any], str]] = [
    lambda x: f"{len(x)}",
    lambda x: f"{x.shape[0] + 1!r:>4}",
    lambda x: f"{x.shape}",
    lambda x: str(x.size) + repr(x.shape) + ascii(len(x)) + format(len(x)),
    lambda x: "{} {size}".format(len(x), size=x.size),  # noqa: UP032
    lambda x: "%s %s" % x.shape,  # noqa: UP031
]


@pytest.mark.parametrize("text", TEXTS)
def test_the_text_of_an_open_size_is_that_of_the_number(text: Callable[[Any], str]) -> None:
    known = {text(np.ones((n, 2))): float(n) for n in (3, 5, 12)}

    def function(x: Any) -> Any:
        return x * known.get(text(x), -1.0)

    compiled = np.compile(function, dynamic=True, backend="eager")
    for n in (3, 5, 12):
        assert compiled(np.ones((n, 2)))[0, 0] == n


def test_code_of_a_loop_serves_the_sizes_of_its_trace_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Inductor's cache on disk took the code for few elements, which asserts that they are few, for that of many."""
    monkeypatch.setenv("TORCHINDUCTOR_CACHE_DIR", str(tmp_path))
    compiled = np.compile(lambda x: np.map_fn(lambda v: v * v, x), dynamic=True, background=False)
    for n in (4, 16, 40, 6):
        assert compiled(np.arange(n)).tolist() == [i * i for i in range(n)]
    assert compiled.cache_info().traces == 2
