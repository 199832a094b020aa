"""What transforms refuse, and what they say of it: the program's line, what asks for a value, what to write instead."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable
from typing import Any

import numpy
import pytest

import tnp as np

LINE = r"test_refusals\.py:\d+"


def filled(x: Any) -> Any:
    """Write to an array of NumPy's, which knows no derivatives."""
    buffer = numpy.zeros(3)
    buffer[0] = x[0] * x[0]
    return (buffer * x).sum()


def filled_whole(x: Any) -> Any:
    buffer = numpy.zeros(3)
    buffer[:] = x * x
    return (buffer * x).sum()


TRANSFORMS: dict[str, Callable[[Any], Any]] = {
    "grad": np.grad,
    "jacobian": np.jacobian,
    "jvp": lambda f: lambda x: np.jvp(f, (x,), (x,)),
    "vjp": lambda f: lambda x: np.vjp(f, x),
    "compile": lambda f: np.compile(f, backend="eager", fullgraph=True),
    "vectorized_map": lambda f: lambda x: np.vectorized_map(f, np.stack([x, x]), fallback=False),
}


@pytest.mark.parametrize("name", TRANSFORMS)
@pytest.mark.parametrize("function", [filled, filled_whole])
def test_a_write_to_an_array_of_numpys_names_its_line(function: Any, name: str) -> None:
    with pytest.raises((TypeError, RuntimeError), match=LINE) as raised:
        TRANSFORMS[name](function)(np.asarray([1.0, 2.0, 3.0]))
    assert "setting an array element" not in str(raised.value)


def test_a_compiled_write_to_an_array_of_numpys_is_cut() -> None:
    x = np.asarray([1.0, 2.0, 3.0])
    with pytest.warns(RuntimeWarning, match="is cut at"):
        assert np.compile(filled, backend="eager")(x) == filled(numpy.asarray(x)) == 1


@pytest.mark.parametrize("start", [0.5, 0.5 - 1j])
def test_ranges_from_what_is_differentiated(start: complex) -> None:
    """The derivative was zero, for complex numbers."""
    x = np.asarray(start)
    with pytest.raises(np.TracedValueError, match=r"arange.. makes a Python number of an array that"):
        np.grad(lambda x: np.real(np.arange(x, 4).sum()))(x)


def first_elements(x: Any) -> Any:
    return x[: x[0].astype(int)]


def test_a_slice_of_each_element_of_a_compiled_batch() -> None:
    rows = np.asarray([[2.0, 5.0, 6.0], [2.0, 3.0, 4.0]])
    with pytest.warns(RuntimeWarning, match=f"{LINE}: .*the bounds of a slice"):
        found = np.compile(lambda rows: np.vectorized_map(first_elements, rows), backend="eager")(rows)
    assert found.tolist() == [[2.0, 5.0], [2.0, 3.0]]


CASES: dict[str, tuple[Callable[[Any], Any], str]] = {
    "slice": (lambda x: x[: int(x[0])], r"slice's length is a part of the trace"),
    "slice of integers": (first_elements, r"slice's length is a part of the trace"),
    "dictionary": (lambda x: {1: 2}[int(x[0])] * x, "a key of a dictionary is static"),
    "boolean": (lambda x: [1, 2][float(x[0]) > 0] * x, r"the index of a list .* tnp\.stack"),
    "text": (lambda x: float(f"{x[0]}") * x, "leave float"),
}


@pytest.mark.parametrize("name", CASES)
def test_advice_of_a_whole_graph_fits(name: str) -> None:
    function, advice = CASES[name]
    x = np.asarray([1.0, 2.0])
    with pytest.raises(np.TracedValueError, match=f"{LINE}: .*{advice}"):
        np.compile(function, backend="eager", fullgraph=True)(x)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = np.compile(function, backend="eager")(x)
    assert found.tolist() == function(x).tolist()


@pytest.mark.parametrize(
    ("function", "reason"),
    [
        (lambda x: x[: int(x[0])], r"by int\(\), .*leave int\(\) out"),
        (first_elements, "by the bounds of a slice"),
        (lambda x: x[0].item() * x, r"by item\(\)"),
        (lambda x: np.asarray(x.tolist()), r"by tolist\(\)"),
        (lambda x: np.nonzero(x)[0], "the shape of nonzero's result depends on values"),
        (lambda x: np.unique(x), "the shape of unique's result depends on values"),
        (lambda x: np.cond(x[0] > 0, lambda x: x, lambda x: -x, x), r"by cond\(\), .*compile the function around it"),
    ],
)
def test_what_can_not_be_done_at_once_is_said_in_words_of_tnps(function: Any, reason: str) -> None:
    with pytest.raises(RuntimeError, match=f"{LINE}: .*{reason}") as raised:
        np.vectorized_map(function, np.ones((2, 3)), fallback=False)
    assert not re.search("vmap:|file an? |storage|Tensor", str(raised.value))


@pytest.mark.parametrize("transform", [lambda f: f, lambda f: np.compile(f, backend="eager")])
def test_the_step_of_a_scan_that_returns_no_pair(transform: Any) -> None:
    with pytest.raises(TypeError, match=rf"scan: <lambda> \({LINE}\) returns ndarray: it has to return a pair"):
        transform(lambda x: np.scan(lambda carry, each: carry, x, x))(np.ones(3))


def doubled_up(x: Any) -> Any:
    return np.while_loop(lambda c: c.sum() < 50, lambda c: c * 2, x).sum()


@pytest.mark.parametrize(
    "made",
    [
        lambda: np.compile(np.grad(doubled_up), backend="eager"),
        lambda: np.grad(np.compile(doubled_up, backend="eager")),
        lambda: np.compile(lambda x: np.vjp(doubled_up, x)[1](np.ones(()))[0], backend="eager"),
    ],
)
def test_a_compiled_gradient_of_a_loop_without_a_bound_runs_it_in_python(made: Any) -> None:
    with pytest.warns(RuntimeWarning, match="is cut at .*reverse mode through a compiled loop needs a bound"):
        assert made()(np.ones(3)).tolist() == [32.0, 32.0, 32.0]
    with pytest.raises(NotImplementedError, match=f"{LINE}: reverse mode"):
        np.compile(np.grad(doubled_up), backend="eager", fullgraph=True)(np.ones(3))
