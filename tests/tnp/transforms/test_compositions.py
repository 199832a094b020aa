"""Transforms of transforms against the same in plain torch: what the fuzzer found, and a few drawn ones."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy
import pytest

import tnp as np
from conformance.fuzz.compositions import Composition, drawn

FOUND = [
    ("halves", "jvp", "compile", "jacobian", "fori_loop to a traced bound"),
    ("writes a copy", "compile", "vjp", "long scan", "tape"),
    ("smooth", "linearize", "hessian"),
    ("smooth", "linearize", "tape"),
    ("smooth", "vjp", "tape"),
    ("smooth", "linearize", "linearize"),
    ("smooth", "jacobian", "linearize"),
    ("smooth", "vectorized_map", "linearize", "hessian"),
    ("smooth", "jacobian", "tape", "tape"),
    ("writes outside", "linearize", "jacobian"),
    ("writes outside", "vjp", "vjp"),
    ("writes an element outside", "linearize", "vjp"),
    ("writes outside by out=", "jacobian", "tape"),
    ("writes outside by out=", "while_loop", "compile", "tape", "hessian"),  # zeros on the meta device
    ("writes outside", "jvp", "jacobian", "tape"),
    ("adds outside", "hessian", "tape"),
    ("writes outside", "linearize", "tape"),
    ("rebinds an attribute", "scan", "hessian"),
    ("rebinds an attribute", "scan", "grad", "jvp"),
    ("writes outside in a branch", "grad", "map_fn", "grad"),  # an inner derivative writes to a part
    ("writes an element outside", "hessian", "map_fn", "jacobian", "vectorized_map"),
    ("writes to a chosen view", "grad", "jvp"),
    ("writes outside by out=", "compile", "vjp", "vjp"),
    ("writes to a chosen view", "vjp", "compile"),
    ("smooth", "jvp", "compile", "hessian", "fori_loop to a traced bound"),  # whose graph is cut
    ("writes outside by out=", "linearize", "linearize", "jvp"),  # zeros that have no memory
    ("writes outside in a branch", "linearize", "compile", "jacobian", "grad"),
    ("writes after a branch", "compile", "grad", "long scan"),
    ("writes after a branch", "tape", "compile", "grad"),
    ("writes to a chosen view", "compile", "grad", "jvp", "hessian"),
    ("writes an element outside", "linearize", "vectorized_map", "vjp", "vjp"),
    ("fills", "compile", "jacobian", "hessian"),
    ("sorts", "vectorized_map", "linearize", "linearize"),  # a question about memory was taken for a read of it
    ("writes outside", "compile", "vectorized_map", "vjp", "hessian"),  # the end of a batch, seen by function modes
    ("writes outside by out=", "vjp", "vjp", "hessian"),  # zeros that have no address
    ("writes outside in a branch", "grad", "linearize", "jvp", "jvp"),
    ("adds outside", "vjp", "if", "hessian"),  # a question about memory, whose operand a mode copied
    ("writes an element outside", "linearize", "hessian"),
    ("rebinds an attribute", "checkpoint", "tape", "compile"),  # run again in the middle of the first run
    ("halves", "jacobian", "compile", "custom_gradient"),  # at no line of the function
]


@pytest.mark.parametrize("composition", FOUND, ids=" of ".join)
def test_what_was_wrong_or_refused(composition: tuple[str, ...]) -> None:
    function, *transforms = composition
    case = Composition(function, tuple(reversed(transforms)))
    for expected, actual in zip(case.by_torch(), case.by_tnp(), strict=True):
        numpy.testing.assert_allclose(actual, expected, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("number", range(8))
def test_drawn(number: int) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a loop in the place of a batch
        assert drawn(f"tests:{number}").disagreement() is None


def locked(rows: object) -> np.ndarray:
    x = np.array(rows)
    x.flags.writeable = False
    return x


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("apply", [np.map_fn, np.vectorized_map])
@pytest.mark.parametrize("made", [locked, lambda rows: np.broadcast_to(np.array(rows[0]), (2, 2)), None])
def test_elements_of_read_only_arrays_are_read_only(apply: object, made: object, compiled: bool) -> None:
    x = made([[1.0, 2.0], [3.0, 4.0]]) if made else numpy.ones((2, 2))  # type: ignore[operator]
    if not made:
        x.flags.writeable = False
    before = numpy.array(x)

    def doubles(row: np.ndarray) -> np.ndarray:
        row *= 2
        return row

    def run(x: object) -> object:
        return apply(doubles, x)  # type: ignore[operator]

    with pytest.raises(ValueError, match="output array is read-only"):
        (np.compile(run, backend="eager") if compiled else run)(x)
    numpy.testing.assert_array_equal(numpy.asarray(x), before)


def test_an_associative_scan_leaves_its_elements() -> None:
    x = np.arange(4.0)

    def add(a: np.ndarray, b: np.ndarray) -> np.ndarray:
        a += b
        return a

    numpy.testing.assert_array_equal(np.asnumpy(np.associative_scan(add, x)), [0, 1, 3, 6])
    numpy.testing.assert_array_equal(np.asnumpy(x), numpy.arange(4.0))


@pytest.mark.parametrize("transform", ["hessian", "grad", "jvp", "vjp"])
def test_what_a_compiled_derivative_leaves_in_an_attribute_says_so(transform: str) -> None:
    with pytest.raises(np.TracedValueError, match="Return it from there"):
        Composition("rebinds an attribute", (transform, "compile")).by_tnp()


def _at_an_array(x: Any) -> Any:
    y = x * x
    y[np.array(1)] = x[0] ** 3
    return (y * y).sum()


def _at_what_is_traced(x: Any) -> Any:
    y = np.zeros(3)
    y[np.argmin(x)] = x[0] ** 3
    return (y * y).sum()


def _added(x: Any) -> Any:
    y = x * x
    np.add.at(y, np.array([0, 2, 0]), x**3)
    return (y * y).sum()


def test_machine_code_of_second_derivatives_of_writes_by_indices() -> None:
    """A batch of tangents is one tensor, expanded, until something is written to it."""
    functions = _at_an_array, _at_what_is_traced, _added
    x = np.array([1.2, 0.5, 0.3])

    def forward(function: Callable[[Any], Any], x: Any) -> Any:
        return np.jacobian(np.jacobian(function, mode="forward"), mode="forward")(x)

    both = np.compile(lambda x: [(np.hessian(each)(x), forward(each, x)) for each in functions], background=False)
    for function, found in zip(functions, both(x), strict=True):
        for second in found:
            expected = np.asnumpy(np.hessian(function)(x))
            numpy.testing.assert_allclose(np.asnumpy(second), expected, rtol=1e-12, err_msg=function.__name__)


def _in_a_branch(x: Any) -> Any:
    def write(x: Any) -> Any:
        y = x * x
        y[np.array([2, 0])] = x[:2] ** 3
        return y

    return np.cond(x[0] > 0.2, lambda x: write(x) * 0.5 - x, write, x * 1.0)


@pytest.mark.parametrize("rows", [2, 3])
def test_a_branch_writes_by_indices_in_batches_of_batches(rows: int) -> None:
    """torch takes the axis of one batch for another's: an error, or, of as many places as rows, wrong elements."""
    x = np.array([[1.2, 0.5, 0.3], [-1.3, 0.15, 0.2], [0.4, 0.1, 0.7]])[:rows]
    batch = lambda x: [np.vmap(np.jacobian(_in_a_branch, mode=mode))(x) for mode in ("forward", "reverse")]  # noqa: E731
    expected = np.stack([np.jacobian(_in_a_branch)(row) for row in x])
    for both in (batch(x), np.compile(batch, backend="eager")(x), np.compile(batch, background=False)(x)):
        for found in both:
            numpy.testing.assert_allclose(np.asnumpy(found), np.asnumpy(expected), rtol=1e-12)
    twice = lambda m: np.vmap(np.vmap(_in_a_branch))(m)  # noqa: E731
    m = np.stack([x, x[:, ::-1]])
    expected = np.stack([np.stack([_in_a_branch(row) for row in each]) for each in m])
    numpy.testing.assert_allclose(np.asnumpy(np.compile(twice, backend="eager")(m)), np.asnumpy(expected), rtol=1e-12)
