"""Programs that overwrite, under every transform: what NumPy computes, and the derivatives of that."""

from __future__ import annotations

import contextlib
import functools
import re
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import tnp as np
from tests.oracle import placed

Step = Callable[[Any, Any, Any, Any], None]
STEPS: dict[str, Step] = {}
"""What writes: to a vector of four, from a vector of four, with a matrix of two rows beside them."""


def step(function: Step) -> Step:
    STEPS[function.__name__] = function
    return function


@step
def set_int(np: Any, t: Any, s: Any, c: Any) -> None:
    t[1] = s[2]


@step
def set_slice(np: Any, t: Any, s: Any, c: Any) -> None:
    t[1:3] = s[:2]


@step
def set_reversed(np: Any, t: Any, s: Any, c: Any) -> None:
    t[::-1] = s * 1


@step
def set_all(np: Any, t: Any, s: Any, c: Any) -> None:
    t[...] = s * 2


@step
def set_step(np: Any, t: Any, s: Any, c: Any) -> None:
    t[::2] = s[1]


@step
def set_fancy(np: Any, t: Any, s: Any, c: Any) -> None:
    t[[0, 2]] = s[1:3]


@step
def set_repeated(np: Any, t: Any, s: Any, c: Any) -> None:
    t[[1, 1]] = s[:2]


@step
def set_mask_number(np: Any, t: Any, s: Any, c: Any) -> None:
    t[s > 0.55] = 1.5


@step
def set_mask_scalar(np: Any, t: Any, s: Any, c: Any) -> None:
    t[s > 0.55] = s[0]


@step
def set_own_mask(np: Any, t: Any, s: Any, c: Any) -> None:
    t[t > 0.55] = -1.5


@step
def set_static_mask(np: Any, t: Any, s: Any, c: Any) -> None:
    t[np.array([True, False, True, False])] = s[2:]


@step
def set_mask_of_mask(np: Any, t: Any, s: Any, c: Any) -> None:
    t[s > 0.55] = s[s > 0.55]


@step
def mask_imul(np: Any, t: Any, s: Any, c: Any) -> None:
    t[s > 0.55] *= 2


@step
def mask_iadd(np: Any, t: Any, s: Any, c: Any) -> None:
    t[t < 0.55] += 1.5


@step
def mask_iadd_mask(np: Any, t: Any, s: Any, c: Any) -> None:
    t[s > 0.55] += s[s > 0.55]


@step
def mask_isub_scalar(np: Any, t: Any, s: Any, c: Any) -> None:
    t[s > 0.55] -= s[1]


@step
def fancy_imul(np: Any, t: Any, s: Any, c: Any) -> None:
    t[[0, 3]] *= s[1:3]


@step
def iadd(np: Any, t: Any, s: Any, c: Any) -> None:
    t += s


@step
def isub_view(np: Any, t: Any, s: Any, c: Any) -> None:
    t[1:] -= s[:-1]


@step
def imul(np: Any, t: Any, s: Any, c: Any) -> None:
    t *= s


@step
def itruediv(np: Any, t: Any, s: Any, c: Any) -> None:
    t /= 3 + s


@step
def ipow(np: Any, t: Any, s: Any, c: Any) -> None:
    t **= 2


@step
def imul_number(np: Any, t: Any, s: Any, c: Any) -> None:
    t *= 1.5


@step
def overlap(np: Any, t: Any, s: Any, c: Any) -> None:
    t[1:] += t[:-1]


@step
def overlap_set(np: Any, t: Any, s: Any, c: Any) -> None:
    t[1:] = t[:-1]


@step
def overlap_reversed(np: Any, t: Any, s: Any, c: Any) -> None:
    t[:] = t[::-1]


@step
def self_square(np: Any, t: Any, s: Any, c: Any) -> None:
    t *= t


@step
def matrix_row(np: Any, t: Any, s: Any, c: Any) -> None:
    v = c[1]
    w = v[1:]
    w += s[1:]


@step
def matrix_T(np: Any, t: Any, s: Any, c: Any) -> None:
    c.T[0] = s[:2]


@step
def matrix_reshape(np: Any, t: Any, s: Any, c: Any) -> None:
    c.reshape(-1)[3:5] *= s[:2]


@step
def matrix_column(np: Any, t: Any, s: Any, c: Any) -> None:
    c[:, 1] = s[3]


@step
def matrix_imul(np: Any, t: Any, s: Any, c: Any) -> None:
    c *= s


@step
def matrix_iadd_column(np: Any, t: Any, s: Any, c: Any) -> None:
    c += s[:2, None]


@step
def matrix_mask(np: Any, t: Any, s: Any, c: Any) -> None:
    c[c > 1.55] = 0.25


@step
def matrix_row_mask(np: Any, t: Any, s: Any, c: Any) -> None:
    c[:, s > 0.55] = 0.5


@step
def matrix_row_mask_imul(np: Any, t: Any, s: Any, c: Any) -> None:
    c[:, s > 0.55] *= 0.5


@step
def matrix_bool_rows(np: Any, t: Any, s: Any, c: Any) -> None:
    c[np.array([True, False])] += s


@step
def matrix_fancy(np: Any, t: Any, s: Any, c: Any) -> None:
    c[[0, 1], [2, 3]] = s[:2]


@step
def diagonal(np: Any, t: Any, s: Any, c: Any) -> None:
    np.fill_diagonal(c[:, :2], s[0])


@step
def out_multiply(np: Any, t: Any, s: Any, c: Any) -> None:
    np.multiply(t, s, out=t)


@step
def out_exp(np: Any, t: Any, s: Any, c: Any) -> None:
    np.exp(s, out=t)


@step
def out_where(np: Any, t: Any, s: Any, c: Any) -> None:
    np.add(t, s, out=t, where=s > 0.55)


@step
def out_view(np: Any, t: Any, s: Any, c: Any) -> None:
    np.sin(s[1:], out=t[:-1])


@step
def out_sum(np: Any, t: Any, s: Any, c: Any) -> None:
    np.sum(c, axis=0, out=t)


@step
def out_cumsum(np: Any, t: Any, s: Any, c: Any) -> None:
    np.cumsum(s, out=t)


@step
def out_maximum(np: Any, t: Any, s: Any, c: Any) -> None:
    np.maximum(t, s, out=t)


@step
def out_clip(np: Any, t: Any, s: Any, c: Any) -> None:
    np.clip(t, -1.1, 1.1, out=t)


@step
def out_matmul(np: Any, t: Any, s: Any, c: Any) -> None:
    np.matmul(s[:2], c, out=t)


@step
def out_dot_row(np: Any, t: Any, s: Any, c: Any) -> None:
    np.add(s, t, out=c[0])


@step
def at_add(np: Any, t: Any, s: Any, c: Any) -> None:
    np.add.at(t, [0, 0, 2], s[:3])


@step
def at_multiply(np: Any, t: Any, s: Any, c: Any) -> None:
    np.multiply.at(t, [1, 1], s[2])


@step
def at_maximum(np: Any, t: Any, s: Any, c: Any) -> None:
    np.maximum.at(t, [0, 3], s[:2])


@step
def at_multiply_matrix(np: Any, t: Any, s: Any, c: Any) -> None:
    np.multiply.at(c, ([0, 1, 1], [2, 3, 3]), s[:3])


@step
def at_minimum_sorted(np: Any, t: Any, s: Any, c: Any) -> None:
    np.minimum.at(t, np.argsort(s, kind="stable"), s)


@step
def at_divide(np: Any, t: Any, s: Any, c: Any) -> None:
    np.divide.at(t, [2, 0, 2], s[:3] + 3)


@step
def at_exp(np: Any, t: Any, s: Any, c: Any) -> None:
    np.exp.at(t, [1, 3])


@step
def at_subtract_array(np: Any, t: Any, s: Any, c: Any) -> None:
    np.subtract.at(t, np.array([3, 3]), s[:2])


@step
def copyto(np: Any, t: Any, s: Any, c: Any) -> None:
    np.copyto(t, s, where=s > 0.55)


@step
def putmask(np: Any, t: Any, s: Any, c: Any) -> None:
    np.putmask(t, s > 0.55, s * 2)


@step
def place(np: Any, t: Any, s: Any, c: Any) -> None:
    np.place(t, s > 0.55, s)


@step
def put(np: Any, t: Any, s: Any, c: Any) -> None:
    np.put(t, [0, 2], s[2:])


@step
def put_along(np: Any, t: Any, s: Any, c: Any) -> None:
    np.put_along_axis(t, np.array([3, 1]), s[:2], 0)


@step
def fill(np: Any, t: Any, s: Any, c: Any) -> None:
    t.fill(s[0])


@step
def flat(np: Any, t: Any, s: Any, c: Any) -> None:
    t.flat[1] = s[3]


@step
def flat_slice(np: Any, t: Any, s: Any, c: Any) -> None:
    c.flat[2:5] = s[:3]


@step
def swap(np: Any, t: Any, s: Any, c: Any) -> None:
    t[0], t[1] = t[1], t[0]


@step
def swap_rows(np: Any, t: Any, s: Any, c: Any) -> None:
    c[[0, 1]] = c[[1, 0]]


@step
def loop(np: Any, t: Any, s: Any, c: Any) -> None:
    for i in range(3):
        t[i + 1] = t[i] * s[i]


@step
def sort(np: Any, t: Any, s: Any, c: Any) -> None:
    t.sort()


@step
def nan_to_num(np: Any, t: Any, s: Any, c: Any) -> None:
    np.nan_to_num(t, copy=False)


@step
def argmax_index(np: Any, t: Any, s: Any, c: Any) -> None:
    t[np.argmax(s)] = s[1]


@step
def argsort_index(np: Any, t: Any, s: Any, c: Any) -> None:
    t[np.argsort(s, kind="stable")] = s * 1  # else equal ones have an order of NumPy's own


@step
def integer_buffer(np: Any, t: Any, s: Any, c: Any) -> None:
    o = np.zeros(4, dtype=int)
    o[1] = 3
    t += o


@step
def where_inplace(np: Any, t: Any, s: Any, c: Any) -> None:
    t[:] = np.where(s > 0.55, t, s)


@step
def row_of_zeros(np: Any, t: Any, s: Any, c: Any) -> None:
    o = np.zeros(4)
    o[0] = s.sum()
    o[1:] += t[1:]
    t[:] = o


@step
def empty_like(np: Any, t: Any, s: Any, c: Any) -> None:
    o = np.empty_like(t)
    o[:2] = s[:2]
    o[2:] = 1.0
    t *= o


@step
def list_literal(np: Any, t: Any, s: Any, c: Any) -> None:
    o = np.array([1.0, 2.0, 3.0, 4.0])
    o[2] = s[0]
    t -= o


@step
def atleast(np: Any, t: Any, s: Any, c: Any) -> None:
    o = t.reshape(2, 2)
    o[0, 1] = s[0]
    o[:, 0] += s[2]


@step
def ravel_view(np: Any, t: Any, s: Any, c: Any) -> None:
    c.ravel()[1] = s[0]


@step
def diag_view(np: Any, t: Any, s: Any, c: Any) -> None:
    d = np.broadcast_to(s, (2, 4))
    c -= d


@step
def swapaxes_view(np: Any, t: Any, s: Any, c: Any) -> None:
    c.swapaxes(0, 1)[2] = s[1:3]


@step
def expand_view(np: Any, t: Any, s: Any, c: Any) -> None:
    t[None, :][0, 2] = s[0]


@step
def split_view(np: Any, t: Any, s: Any, c: Any) -> None:
    a, b = np.split(t, 2)
    a += s[:2]
    b *= s[2:]


@step
def square_keep(np: Any, t: Any, s: Any, c: Any) -> None:
    e = np.exp(s)
    e /= e.sum()
    t += e


IN_TURN = {"at_divide", "at_exp", "argmax_index"}
"""Where another such write follows, or one by a mask, a batch of derivatives is done slice by slice, which warns."""

Program = list[tuple[str, str, str]]  # steps, where they write to, and what they write

WEIGHTS = numpy.array([0.3, -1.2, 0.7, 2.1])
INPUTS = numpy.array([[0.71, -0.43, 1.32, 0.22], [1.9, 0.4, -0.6, 0.9], [-0.35, 0.62, 0.81, 1.45]])


class Case:
    """A program, what NumPy computes by it, and its derivatives by differences."""

    def __init__(self, program: Program) -> None:
        self.program = program
        with numpy.errstate(all="ignore"):
            self.written = INPUTS.copy()
            self.values = numpy.array([self.run(numpy, row) for row in self.written])
            self.ahead = numpy.array([self.differences(row, behind=0) for row in INPUTS])
            self.behind = numpy.array([self.differences(row, ahead=0) for row in INPUTS])
            self.jacobians = numpy.array([self.differences(row) for row in INPUTS])
        self.gradients = WEIGHTS @ self.jacobians

    def run(self, np: Any, x: Any) -> Any:
        a = np.zeros(4)
        b = x * 1.5 + 0.1
        c = np.ones((2, 4))
        named = {"a": a, "b": b, "x": x, "row": c[0]}
        for name, target, source in self.program:
            STEPS[name](np, named[target], named[source], c)
        return a * np.array([1.0, 2.0, 3.0, 4.0]) + np.sin(b) + c.sum(axis=0) * 0.5 + c[1] * b + x * 0.3

    def on_arrays(self, x: Any) -> Any:
        return self.run(np, x)

    def loss(self, x: Any) -> Any:
        return (self.on_arrays(x) * placed(np, WEIGHTS)).sum()

    def differences(self, x: Any, ahead: float = 1e-6, behind: float = 1e-6) -> Any:
        moves = [(ahead * unit, behind * unit) for unit in numpy.eye(4)]
        changes = [self.run(numpy, x + up) - self.run(numpy, x - down) for up, down in moves]
        return numpy.stack(changes, axis=1) / (ahead + behind)

    @functools.cached_property
    def hessian(self) -> Any:
        """Second derivatives of the loss at the first of the inputs."""
        moves = 1e-4 * numpy.eye(4)

        def slope(move: Any, along: Any) -> Any:
            return (self.run(numpy, INPUTS[0] + move + along) - self.run(numpy, INPUTS[0] + move - along)) @ WEIGHTS

        return numpy.array([[slope(one, other) - slope(-one, other) for other in moves] for one in moves]) / 4e-8

    @property
    def is_tame(self) -> bool:
        """Whether differences say something: no values beyond all bounds, and no kink.

        Two values that a program makes equal and then sorts, clips or compares have no derivative: differences ahead
        and behind are not the same there, and their mean is neither of what a program may answer.
        """
        numbers = numpy.concatenate([self.values.ravel(), self.jacobians.ravel()])
        if not (numpy.isfinite(numbers).all() and abs(numbers).max() < 1e4):
            return False
        return numpy.allclose(self.ahead, self.behind, rtol=1e-3, atol=1e-3)


@functools.cache
def case_of(name: str, target: str, source: str) -> Case:
    """A program of one step: its derivatives are asked for in each way."""
    return Case([(name, target, source)])


def close(actual: Any, expected: Any) -> None:
    numpy.testing.assert_allclose(np.asnumpy(actual), expected, rtol=2e-5, atol=2e-5)


def close_second(actual: Any, expected: Any) -> None:
    numpy.testing.assert_allclose(np.asnumpy(actual), expected, rtol=1e-4, atol=2e-5)


def array(values: Any) -> Any:
    return placed(np, values.copy())


# What each way of running a program gives, and what it leaves in its argument.


def plain(case: Case) -> None:
    x = array(INPUTS[0])
    close(case.on_arrays(x), case.values[0])
    close(x, case.written[0])


def mapped(case: Case) -> None:
    x = array(INPUTS)
    close(np.vectorized_map(case.on_arrays, x), case.values)
    close(x, case.written)


def gradient(case: Case) -> None:
    x = array(INPUTS[0])
    close(np.grad(case.loss)(x), case.gradients[0])
    close(x, INPUTS[0])


def mapped_gradient(case: Case) -> None:
    close(np.vectorized_map(np.grad(case.loss), array(INPUTS)), case.gradients)


def gradient_of_mapped(case: Case) -> None:
    close(
        np.grad(lambda x: (np.vectorized_map(case.on_arrays, x) * placed(np, WEIGHTS)).sum())(array(INPUTS)),
        case.gradients,
    )


def reverse_jacobian(case: Case) -> None:
    close(np.jacobian(case.on_arrays, mode="reverse")(array(INPUTS[0])), case.jacobians[0])


def forward_jacobian(case: Case) -> None:
    close(np.jacobian(case.on_arrays, mode="forward")(array(INPUTS[0])), case.jacobians[0])


def mapped_jacobian(case: Case) -> None:
    close(np.vectorized_map(np.jacobian(case.on_arrays, mode="reverse"), array(INPUTS)), case.jacobians)


def directional(case: Case) -> None:
    tangent = array(WEIGHTS)
    close(np.jvp(case.on_arrays, (array(INPUTS[0]),), (tangent,))[1], case.jacobians[0] @ WEIGHTS)
    close(tangent, WEIGHTS)


def linearized(case: Case) -> None:
    close(np.linearize(case.on_arrays, array(INPUTS[0]))[1](array(WEIGHTS)), case.jacobians[0] @ WEIGHTS)


def taped(case: Case) -> None:
    """With ``overwrites``; without it the same, or an error that says what to do."""
    for overwrites in (True, False):
        x = array(INPUTS[0])
        with np.GradientTape(overwrites=overwrites) as tape:
            tape.watch(x)
            y = case.on_arrays(x)
        with contextlib.nullcontext() if overwrites else overwriting():
            close(tape.gradient(y, x, output_gradients=placed(np, WEIGHTS)), case.gradients[0])
        close(x, case.written[0])
        assert not x.tensor.requires_grad


def mapped_tape(case: Case) -> None:
    def function(x: Any) -> Any:
        with np.GradientTape() as tape:
            tape.watch(x)
            y = case.loss(x)
        return tape.gradient(y, x)

    with warnings.catch_warnings(), overwriting():
        warnings.simplefilter("ignore", RuntimeWarning)  # a write to what the tape watches makes a loop
        close(np.vectorized_map(function, array(INPUTS)), case.gradients)


def compiled(case: Case) -> None:
    function = np.compile(case.on_arrays, backend="eager")
    for row, value, after in zip(INPUTS, case.values, case.written, strict=True):
        x = array(row)
        close(function(x), value)
        close(x, after)


def compiled_gradient(case: Case) -> None:
    close(np.compile(np.grad(case.loss), backend="eager")(array(INPUTS[0])), case.gradients[0])


def gradient_of_compiled(case: Case) -> None:
    close(np.grad(np.compile(case.loss, backend="eager"))(array(INPUTS[0])), case.gradients[0])


def compiled_mapped_gradient(case: Case) -> None:
    function = np.compile(lambda x: np.vectorized_map(np.grad(case.loss), x), backend="eager")
    close(function(array(INPUTS)), case.gradients)


def taped_compiled(case: Case) -> None:
    x = array(INPUTS[0])
    with np.GradientTape(overwrites=True) as tape:
        tape.watch(x)
        y = np.compile(case.on_arrays, backend="eager")(x)
    close(tape.gradient(y, x, output_gradients=placed(np, WEIGHTS)), case.gradients[0])


def compiled_forward_jacobian(case: Case) -> None:
    function = np.compile(np.jacobian(case.on_arrays, mode="forward"), backend="eager")
    close(function(array(INPUTS[0])), case.jacobians[0])


def hessian(case: Case) -> None:
    close_second(np.hessian(case.loss)(array(INPUTS[0])), case.hessian)


def mapped_hessian(case: Case) -> None:
    close_second(np.vectorized_map(np.hessian(case.loss), array(INPUTS))[0], case.hessian)


def reverse_twice(case: Case) -> None:
    close_second(np.jacobian(np.grad(case.loss), mode="reverse")(array(INPUTS[0])), case.hessian)


def forward_twice(case: Case) -> None:
    function = np.jacobian(np.jacobian(case.loss, mode="forward"), mode="forward")
    close_second(function(array(INPUTS[0])), case.hessian)


def hessian_of_compiled(case: Case) -> None:
    close_second(np.hessian(np.compile(case.loss, backend="eager"))(array(INPUTS[0])), case.hessian)


def compiled_hessian(case: Case) -> None:
    close_second(np.compile(np.hessian(case.loss), backend="eager")(array(INPUTS[0])), case.hessian)


@contextlib.contextmanager
def overwriting() -> Iterator[None]:
    """Old values that are needed may be gone, if the tape says so."""
    try:
        yield
    except RuntimeError as error:
        if "overwrites=True" not in str(error):
            raise


WAYS = {
    way.__name__: way
    for way in (
        plain,
        mapped,
        gradient,
        mapped_gradient,
        gradient_of_mapped,
        reverse_jacobian,
        forward_jacobian,
        mapped_jacobian,
        directional,
        linearized,
        taped,
        mapped_tape,
        compiled,
        compiled_gradient,
        gradient_of_compiled,
        compiled_mapped_gradient,
        taped_compiled,
        compiled_forward_jacobian,
    )
}
SECOND = {
    way.__name__: way
    for way in (hessian, mapped_hessian, reverse_twice, forward_twice, hessian_of_compiled, compiled_hessian)
}
"""Of second order: asked of each write alone, since a drawn program may have a kink in its slope."""


NO_VALUES = "depends on values|the value of a traced array is asked for"
"""What is wrong with a step that a trace refuses: which of them is said goes by who asks first."""


def check(way: str, case: Case) -> None:
    """The way gives the right numbers with no loop over elements, or an error where it has to be one."""
    run = {**WAYS, **SECOND}[way]
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        run(case)


@pytest.mark.walk
@pytest.mark.parametrize("way", [*WAYS, *SECOND])
@pytest.mark.parametrize("name", STEPS)
def test_each_write(way: str, name: str, thorough: bool) -> None:
    places = [("b", "x"), ("a", "x"), ("x", "b")]
    if not thorough and ("compiled" in way or way in SECOND):  # they take their time: one place in turn
        places = [places[([*WAYS, *SECOND].index(way) + list(STEPS).index(name)) % 3]]
    for target, source in places:
        case = case_of(name, target, source)
        if case.is_tame:
            check(way, case)


programs = st.lists(
    st.tuples(
        st.sampled_from(sorted(STEPS.keys() - IN_TURN)),
        st.sampled_from(["a", "b", "x", "row"]),
        st.sampled_from(["x", "b", "a"]),
    ),
    min_size=2,
    max_size=5,
)


@pytest.mark.parametrize("way", WAYS)
@settings(max_examples=10)
@given(program=programs)
def test_writes_after_one_another(way: str, program: Program) -> None:
    assume(
        not any(name == "place" and target == source for name, target, source in program)
    )  # NumPy reads what it wrote
    case = Case(program)
    assume(case.is_tame)
    try:
        check(way, case)
    except TypeError as error:  # a mask that was known until something was written to it
        if "compiled" not in way or not re.search(NO_VALUES, str(error)):
            raise


@pytest.mark.parametrize("way", ["compiled_gradient", "gradient_of_compiled"])
@pytest.mark.parametrize("before", ["row_of_zeros", "expand_view"])
def test_equal_masks_of_what_was_written_are_the_same(before: str, way: str) -> None:
    check(way, Case([(before, "b", "x"), ("set_mask_of_mask", "a", "b")]))


@pytest.mark.parametrize("name", STEPS)
def test_a_view_is_written_to_after_another(name: str) -> None:
    """torch takes such a view of memory that was made in between for a leaf, which it does not write to."""
    case = Case([("put", "row", "x"), ("set_slice", "row", "x"), (name, "row", "x")])
    if case.is_tame:
        check("gradient", case)
        check("reverse_twice", case)


def test_batches_of_batches_are_written_to_at_once() -> None:
    check("mapped_hessian", Case([("fancy_imul", "b", "a"), ("swapaxes_view", "row", "b"), ("fill", "a", "b")]))


@pytest.mark.parametrize("name", ["mask_iadd", "mask_imul"])
def test_masks_are_compared_where_each_operation_gets_copies(name: str) -> None:
    """The first write overwrites what its gradient needs: the function is run again, and copies are the batch's."""
    check("mapped_jacobian", Case([("fancy_imul", "x", "x"), (name, "a", "x")]))


@pytest.mark.parametrize("way", ["taped", "gradient"])
def test_old_values_are_kept_of_what_numpy_writes_to(way: str) -> None:
    """To constants beside what is differentiated, where NumPy writes to small ones."""
    check(way, Case([("out_matmul", "a", "x"), ("mask_iadd", "row", "x")]))


def test_a_failed_attempt_leaves_no_gradient() -> None:
    """The loop starts with the arguments as they were, for gradients too, where something before it was written."""

    def f(x: Any) -> Any:
        kept = x * 1.5
        x[np.argmax(x)] = x[1]
        kept *= len(kept[x > 0.3])
        return (kept + x).sum()

    def looped(x: Any) -> Any:
        return np.stack([f(row) for row in x]).sum()

    x = array(INPUTS)
    with pytest.warns(RuntimeWarning, match="once for each element"):
        found = np.grad(lambda x: np.vectorized_map(f, x).sum())(x)
    close(found, np.asnumpy(np.grad(looped)(array(INPUTS))))
