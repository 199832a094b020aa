"""What a compiled function says of a value that it is asked for: the line, what asked, and what to write instead."""

from __future__ import annotations

import math
import signal
from collections.abc import Callable, Iterator
from typing import Any

import numpy
import pytest

import tnp as np
from backend_torch.graphs import elementwise_code


def compiled(function: Any) -> Any:
    return np.compile(function, backend="eager", autograph=False)


def looped(x: Any, i: Any) -> Any:
    while x.sum() > 1:
        x = x / 2
    return x


def branched(x: Any, i: Any) -> Any:
    if (x > 2).all():
        return x
    return -x


QUESTIONS: list[tuple[Callable[[Any, Any], Any], str]] = [
    (branched, r"if, `\(x > 2\)\.all\(\)`.*tnp\.where or tnp\.cond"),
    (looped, r"while, `x\.sum\(\) > 1`.*tnp\.while_loop"),
    (lambda x, i: float(x.sum()), r"float\(\), `float\(x\.sum\(\)\)`.*leave float\(\) out"),
    (lambda x, i: int(i), r"int\(\), `int\(i\)`.*astype\(int\)"),
    (lambda x, i: bool(i), r"bool\(\), `bool\(i\)`"),
    (lambda x, i: i.item(), r"item\(\), `i\.item\(\)`.*leave item\(\) out"),
    (lambda x, i: x.tolist(), r"tolist\(\), `x\.tolist\(\)`"),
    (lambda x, i: np.sin(x).tolist(), r"tolist\(\), `np\.sin\(x\)\.tolist\(\)`"),
    (lambda x, i: np.exp(x).sum().item(), r"item\(\), `np\.exp\(x\)\.sum\(\)\.item\(\)`"),
    (lambda x, i: [0 for _ in range(i)], r"range\(\), `range\(i\)`.*tnp\.fori_loop, or pass a Python int"),
    (lambda x, i: np.zeros(i), r"a shape, `np\.zeros\(i\)`.*pass a Python int"),
    (lambda x, i: np.ones((2, i)), r"a shape, `np\.ones\(\(2, i\)\)`.*pass a Python int"),
    (lambda x, i: x.reshape(i, -1), r"a shape, `x\.reshape\(i, -1\)`.*pass a Python int"),
    (lambda x, i: x[i : i + 1], r"the bounds of a slice, `x\[i : i \+ 1\]`.*x\[i \+ tnp\.arange\(1\)\] for"),
    (lambda x, i: [1, 2, 3][i], r"the index of a list or a tuple, `\[1, 2, 3\]\[i\]`.*tnp\.stack\(list\)\[i\]"),
    (lambda x, i: x.sum(axis=i), r"sum\(\), `x\.sum\(axis=i\)`.*an axis"),
    (lambda x, i: max(x), r"max\(\), `max\(x\)`.*tnp\.max"),
    (lambda x, i: sorted(x), r"sorted\(\), `sorted\(x\)`.*tnp\.sort"),
    (lambda x, i: math.exp(i), r"exp\(\), `math\.exp\(i\)`.*tnp's function of that name"),
    (lambda x, i: numpy.asarray(x), r"asarray\(\), `numpy\.asarray\(x\)`.*tnp's function of that name"),
    (lambda x, i: f"{i:.2f}", r"what NumPy or Python computes.*tnp\.debug\.print"),
    (lambda x, i: x.tobytes(), r"tobytes\(\), `x\.tobytes\(\)`.*take its bytes outside"),
    (lambda x, i: 3 in x, r"what NumPy or Python computes, `3 in x`.*\(x == value\)\.any\(\)"),
]


@pytest.mark.parametrize(("function", "text"), QUESTIONS)
def test_what_asks_for_a_value(function: Any, text: str) -> None:
    with pytest.raises(np.TracedValueError, match=rf"test_messages\.py:\d+: the value of a traced array.* \(by {text}"):
        compiled(function)(np.arange(5.0), np.asarray(1))


def test_code_without_a_file() -> None:
    names: dict[str, Any] = {"np": np}
    exec("def function(x):\n    return float(x.sum())", names)
    with pytest.raises(np.TracedValueError, match="the value of a traced array is asked for"):
        compiled(names["function"])(np.ones(2))


def test_the_name_of_what_has_no_known_shape() -> None:
    with pytest.raises(np.TracedValueError, match="the shape of nonzero's result depends on values"):
        compiled(lambda x: np.nonzero(x))(np.ones(3))


def test_nothing_is_logged_of_an_error_that_is_raised(capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(ValueError, match="zero-size array to reduction operation maximum which has no identity"):
        compiled(lambda x: x.max())(np.ones(0))
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize("backend", ["eager", "inductor"])
@pytest.mark.raises
def test_an_index_out_of_bounds(backend: str) -> None:
    with pytest.raises(IndexError, match=r"^index 9 is out of bounds for axis 0 with size 5$"):
        np.compile(lambda x, i: x[i] + 1, backend=backend)(np.arange(5.0), np.asarray([1, 9]))


class Late(TimeoutError):
    """Of a time limit."""


@pytest.fixture
def limit() -> Iterator[Callable[[], None]]:
    """Runs what a time limit's handler does, as if it were over now."""

    def handler(number: int, frame: Any) -> None:
        raise Late

    before = signal.signal(signal.SIGUSR1, handler)
    yield lambda: signal.raise_signal(signal.SIGUSR1)
    signal.signal(signal.SIGUSR1, before)


@pytest.mark.parametrize("dynamic", [False, True])
def test_a_signals_exception_is_not_taken_for_a_failure(
    limit: Callable[[], None], dynamic: bool, monkeypatch: pytest.MonkeyPatch, recwarn: pytest.WarningsRecorder
) -> None:
    with pytest.raises(Late):
        np.compile(lambda x: [limit(), x][1], dynamic=dynamic)(np.ones(3))
    from torch._inductor import compile_fx, graph

    del compile_fx
    monkeypatch.setattr(graph.GraphLowering, "codegen", lambda *args: limit())
    with pytest.raises(Late):
        np.compile(lambda x: x.sum() * 1.2345, dynamic=dynamic, backend="inductor")(np.ones(3))
    monkeypatch.setattr(elementwise_code, "_built", lambda *args: limit())
    for function in (lambda x: x.sum() * 1.2346, lambda x: x * 1.2346):
        with pytest.raises(Late):
            np.compile(function)(np.ones(3))
    assert not [each for each in recwarn if issubclass(each.category, RuntimeWarning)]


def test_an_array_that_leaves_a_batch() -> None:
    kept = []

    def keep(x: Any) -> Any:
        kept.append(x)
        return x * 2

    np.vectorized_map(keep, np.ones((2, 3)))
    for use in (lambda: kept[0] + 1, lambda: kept[0].sum(), lambda: np.exp(kept[0])):
        with pytest.raises(np.TracedValueError, match=r"test_messages\.py:\d+: .*vectorized_map.*which is over"):
            use()


def test_if_in_a_batch() -> None:
    with pytest.warns(RuntimeWarning, match=r"\(by if, and, or, not or bool\(\), `x > 2`; choose with tnp\.where"):
        np.vectorized_map(lambda x: x if x > 2 else -x, np.arange(4.0))


def test_a_range_in_a_comprehension() -> None:
    with pytest.raises(np.TracedValueError, match=r"\(by range\(\), .*for statement, or repeat with tnp\.fori_loop"):
        np.compile(lambda x, i: [x for _ in range(i)], backend="eager", fullgraph=True)(np.ones(2), np.asarray(2))


@pytest.mark.parametrize(
    ("function", "text"),
    [
        (lambda x: x[x > 1], "what the function returns, selected by a boolean index, depends on values"),
        (lambda x: np.repeat(x, x.astype(int)), r"repeat's result .*as often as a Python int says"),
        (np.unique, r"unique's result .*tnp\.sort\(x\)"),
    ],
)
def test_shapes_that_depend_on_values(function: Any, text: str) -> None:
    class Derived(np.ndarray):
        def __array_function__(self, *call: Any) -> Any:
            return super().__array_function__(*call)

    np.sum(np.ones(2).view(Derived))  # from now on a frame around each function asks for such classes
    with pytest.raises(np.TracedValueError, match=text):
        compiled(lambda x: function(x))(np.arange(3.0))


@pytest.mark.parametrize("arrays", [(np.ones(2), np.ones(2)), {"a": np.ones(2), "b": np.ones(2)}])
@pytest.mark.parametrize("fn", [lambda a, b: a + b, np.add])
def test_functions_of_two_are_mapped_by_vmap(fn: Any, arrays: Any) -> None:
    with pytest.raises(TypeError, match=r"takes 2 arguments.*lambda each: function\(\*+each\), or use tnp\.vmap"):
        np.vectorized_map(fn, arrays)


@pytest.mark.parametrize("function", [np.vectorized_map, np.map_fn])
def test_a_function_of_two_arguments_is_given_one_tuple(function: Any) -> None:
    with pytest.raises(TypeError, match=r"<lambda>\(\) takes 2 arguments, and is given one: a tuple.*lambda each: "):
        function(lambda a, b: a + b, (np.ones(2), np.ones(2)))
    assert function(lambda each, scale=2: each[0] * scale, (np.ones(2), np.ones(2))).tolist() == [2.0, 2.0]
