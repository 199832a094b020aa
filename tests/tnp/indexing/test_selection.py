"""Choosing among elements, and writing to those chosen: NumPy's values, dtypes and errors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import example, given, settings
from hypothesis import strategies as st

import tnp
from tests.oracle import ALL, Raised, agrees, assert_same, compare, ours, outcome, sample

FEW = settings(max_examples=100, deadline=None)
MODES = ["raise", "wrap", "clip"]
SPELLINGS = [None, 0, 1, 2, True, 1.0, b"wrap", "WRAP", ""]


@agrees
def test_places_in_many_dimensions(xp: Any) -> Any:
    x = xp.arange(24).reshape((1,) * 20 + (2, 3, 4)) % 5
    y = xp.copy(x)
    y[x > 2] = 7
    return [xp.nonzero(x), xp.argwhere(x), x[x > 2], y]


@pytest.mark.parametrize("dtype", ALL)
def test_reading_every_dtype(dtype: str) -> None:
    def use(xp: Any) -> Any:
        x, other = sample(xp, (3, 4), dtype), sample(xp, (4,), dtype, seed=1)
        mask = sample(xp, (3, 4), "bool")
        order = xp.asarray([[3, 0, -1, 1]] * 3)
        return [
            xp.take(x, [1, -1, 5]),
            xp.take(x, [[1, 0]], axis=1),
            xp.take_along_axis(x, order, axis=1),
            xp.where(mask, x, other),
            xp.where(mask, x, 1),
            xp.nonzero(x),
            xp.flatnonzero(x),
            xp.argwhere(x),
            xp.choose(mask, [x, other]),
            xp.compress([True, False, True], x, axis=0),
            xp.extract(mask, x),
            xp.select([mask, ~mask[0]], [x, other]),
        ]

    compare(use)


@pytest.mark.parametrize("dtype", ALL)
def test_writing_every_dtype(dtype: str) -> None:
    def use(xp: Any) -> Any:
        x = sample(xp, (3, 4), dtype)
        mask = sample(xp, (3, 4), "bool")
        values = sample(xp, (5,), dtype, seed=1)
        results = []
        xp.put(x, [1, -1, 5, 1], values)
        results.append(x.copy())
        xp.putmask(x, mask, values)
        results.append(x.copy())
        xp.place(x, ~mask, values[:2])
        results.append(x.copy())
        xp.copyto(x, values[:4], where=mask)
        results.append(x.copy())
        xp.put_along_axis(x, xp.asarray([[1], [0], [-1]]), values[:3, None], axis=1)
        return [*results, x]

    compare(use)


TAKES: list[Any] = [0, -1, 5, 6, -7, [], [0.0], [[0, 1], [5, -6]], [True, False], np.array([1], "u1")]
TAKES += [np.array([1], "u8"), np.array([1.0]), np.array(2), [7, -8], "a"]


@pytest.mark.parametrize("dtype", ["int64", "int32", "bool"])
@pytest.mark.parametrize("picks", [[0, 2, -1], [[1, 0], [-3, 2]], [3], [], [[0]]], ids=repr)
def test_take_of_index_arrays(picks: Any, dtype: str) -> None:
    def taken(xp: Any, view: int) -> Any:
        x = xp.arange(36.0).reshape(3, 4, 3)
        each = (x, x.transpose(2, 1, 0), x[::-1], x[:, ::2], x[:, 0, 0], x[0])[view]
        indices = xp.asarray(picks).astype(dtype)
        return xp.take(each, indices, 0), each.take(indices, axis=0), xp.take(each, indices), xp.take(each, indices, -1)

    for view in range(6):
        compare(taken, view, may_raise=(IndexError, TypeError))


@pytest.mark.parametrize("indices", TAKES, ids=repr)
@pytest.mark.parametrize("axis", [None, 0, -1, 2])
@pytest.mark.parametrize("mode", [*MODES, "other"])
@pytest.mark.parametrize("shape", [(2, 3), (), (0,), (0, 3), (6,)])
def test_take(indices: Any, axis: Any, mode: str, shape: tuple[int, ...]) -> None:
    compare(
        lambda xp: xp.take(sample(xp, shape, "float64"), indices, axis=axis, mode=mode),
        may_raise=(IndexError, TypeError, ValueError),
    )


@pytest.mark.parametrize("dtype", ALL)
@pytest.mark.parametrize("shape", [(2,), (3,), ()])
@pytest.mark.parametrize("mode", MODES)
def test_take_out(dtype: str, shape: tuple[int, ...], mode: str) -> None:
    def use(xp: Any) -> Any:
        out = xp.zeros(shape, dtype=dtype)
        result = xp.take(xp.arange(6.0), [1, 2], out=out, mode=mode)
        assert result is out
        return out

    compare(use, may_raise=(TypeError, ValueError))


PUTS: list[Any] = [
    ([0, 1, 4], [1, 2]),
    ([0], [1.7]),
    ([0.0], 1),
    ([0], []),
    ([], 1),
    ([0], [1, 2, 3]),
    ([0], [1j]),
    ([0], 2**40),
    ([[0, 1], [2, 3]], [[1, 2], [3, 4]]),
    (np.array([1], "u8"), 3),
    ([True], 3),
    ([2, 2, 2], [1, 2, 3]),
    ([7, -8], [1, 2]),
    (-1, 5),
]


@pytest.mark.parametrize(("indices", "values"), PUTS, ids=repr)
@pytest.mark.parametrize("mode", MODES)
def test_put(indices: Any, values: Any, mode: str) -> None:
    def use(xp: Any, transposed: bool) -> Any:
        a = xp.zeros((3, 2), dtype="int32").T if transposed else xp.zeros((2, 3), dtype="int32")
        xp.put(a, indices, values, mode=mode)
        return a

    compare(use, False, may_raise=(IndexError, OverflowError, TypeError))
    compare(use, True, may_raise=(IndexError, OverflowError, TypeError))


def test_put_out_of_bounds_writes_nothing() -> None:
    a = tnp.zeros(4)
    with pytest.raises(IndexError, match="index 9 is out of bounds for axis 0 with size 4"):
        tnp.put(a, [0, 9], 1)
    assert a.tolist() == [0, 0, 0, 0]


@pytest.mark.parametrize("name", ["put", "putmask", "place", "copyto", "fill_diagonal"])
def test_targets_are_arrays_that_can_be_written(name: str) -> None:
    arguments = {"copyto": (1,), "fill_diagonal": (1,)}.get(name, ([0], [1]))
    with pytest.raises(AttributeError if name == "fill_diagonal" else TypeError):
        getattr(tnp, name)([[1]], *arguments)
    with pytest.raises(ValueError, match="read-only"):
        getattr(tnp, name)(tnp.broadcast_to(tnp.zeros(1), (2, 1)), *arguments)


MASKED: list[Any] = [
    ([0, 1, 2, 0, 0, 3], [1, 2, 3]),
    ([0, 1, 2, 0, 0, 3], [1.5, 2]),
    ([0, 1, 2, 0, 0, 3], 1.5),
    ([0, 1, 2, 0, 0, 3], 2**40),
    ([0, 1, 2, 0, 0, 3], []),
    ([0] * 6, []),
    ([0, 1, 2, 0, 0, 3], np.array([1.5])),
    ([0, 1, 2, 0, 0, 3], np.array([1, 2], "int16")),
    ([0, 1, 2, 0, 0, 3], np.arange(10, dtype="int32")),
    ([0, 1, 2, 0, 0, 3], [[1, 2], [3, 4]]),
    (np.array([[True, False, True], [True] * 3]), [7, 8]),
    ([True], [1]),
    ([True] * 7, [1]),
]


@pytest.mark.parametrize(("mask", "values"), MASKED, ids=repr)
@pytest.mark.parametrize("name", ["putmask", "place"])
def test_masks(name: str, mask: Any, values: Any) -> None:
    def use(xp: Any) -> Any:
        a = xp.arange(6, dtype="int32").reshape(2, 3)
        getattr(xp, name)(a, mask, values)
        return a

    compare(use, may_raise=(OverflowError, TypeError, ValueError))


COPIES: list[Any] = [1, 1.5, 300, -1, 2**40, True, 1j, [1, 2, 3], [1.5, 2, 3], [1, 2], [[[1, 2, 3]]], [[1], [2]]]
COPIES += [np.float64(1), np.int8(3), np.array([1, 2, 3], "int8"), np.array([1, 2, 3], "uint64"), np.zeros((3, 3))]


@pytest.mark.parametrize("source", COPIES, ids=repr)
@pytest.mark.parametrize("dtype", ["int32", "uint8", "float32", "complex64", "bool"])
@pytest.mark.parametrize("casting", ["same_kind", "unsafe", "safe", "no", "other"])
def test_copyto(source: Any, dtype: str, casting: str) -> None:
    def use(xp: Any) -> Any:
        a = xp.zeros((2, 3), dtype=dtype)
        xp.copyto(a, source, casting=casting)
        return a

    expected, actual = outcome(use, np), outcome(use, ours())
    assert_same(expected, actual)


@pytest.mark.parametrize("where", [True, False, [True, False, True], [1, 0, 1], [[True], [False]], [True, False]])
def test_copyto_where(where: Any) -> None:
    def use(xp: Any) -> Any:
        a = xp.zeros((2, 3))
        xp.copyto(a, xp.arange(3), where=where)
        return a

    compare(use, may_raise=ValueError)


@pytest.mark.parametrize("dtype", ["bool", "uint8", "int16", "float32", "int64", "complex128"])
@pytest.mark.parametrize("size", [6, 40_000])
def test_writes_where_a_mask_of_the_same_shape_is_true(size: int, dtype: str) -> None:
    def use(xp: Any, value: Any) -> Any:
        a, b, mask = xp.zeros(size, dtype), xp.ones((2, size // 2), dtype), xp.arange(size) % 3 == 0
        values = (xp.arange(size) % 5).astype(dtype) if value is None else value
        found = xp.copyto(a, values, where=mask), xp.putmask(a[1:], mask[1:], values if value else a[:-1])
        xp.copyto(b, 1 if value is None else value, where=mask.reshape(2, -1))
        return found, a, b

    for value in (None, 3, 2.5, True):
        compare(use, value, may_raise=TypeError)


@agrees
def test_copyto_overlap(xp: Any) -> Any:
    a = xp.arange(8)
    xp.copyto(a[1:], a[:-1])
    b = xp.arange(8)
    xp.copyto(b[1:], b[:-1], where=b[1:] % 2 == 0)
    return a, b


PAIRS: list[Any] = [(1, 2.5), (True, 2), (1, 2), (1j, 1), (np.float32(1), 2.5), (np.uint8([1, 2]), 300), (2**70, 1)]
PAIRS += [(np.uint8([1, 2]), -1), (np.array([1, 2], "u8"), np.array([1, 2], "i8")), (np.float32([1, 2]), 1.5)]
PAIRS += [([1, 2, 3], 1), (np.array(1.0), np.array(2)), ([[1], [2]], [3, 4])]


@pytest.mark.parametrize(("x", "y"), PAIRS, ids=repr)
@pytest.mark.parametrize("condition", [[1, 0], True, np.array([[True], [False]]), [0.5, 0]], ids=repr)
def test_where(condition: Any, x: Any, y: Any) -> None:
    compare(lambda xp: xp.where(condition, x, y), may_raise=(OverflowError, ValueError))


@pytest.mark.parametrize("one", ALL)
@pytest.mark.parametrize("other", ALL)
def test_where_promotes(one: str, other: str) -> None:
    compare(lambda xp: xp.where([True, False], sample(xp, (2,), one), sample(xp, (2,), other, seed=1)))


@pytest.mark.parametrize("arguments", [(5,), ([1, 0], 1), ([1, 0],), ([[1, 0], [0, 1]],), (np.zeros((0, 2)),)])
def test_where_alone(arguments: Any) -> None:
    compare(lambda xp: xp.where(*arguments), may_raise=ValueError)


CHOICES: list[Any] = [
    ([0, 1], [[1, 2], [3.5, 4]]),
    ([0, 2], [[1, 2], [3, 4]]),
    ([0, -1], [[1, 2], [3, 4]]),
    (1, [1, 2]),
    ([0.0, 1.0], [[1, 2], [3, 4]]),
    ([[0], [1]], [np.zeros(3), np.ones((2, 1))]),
    ([0, 1], np.arange(4).reshape(2, 2)),
    ([0, 1], [np.zeros(2, "f4"), 1.0]),
    ([0, 1], []),
    ([0, 1], [[1, 2, 3], [4, 5, 6]]),
    ([True, False], [[1, 2], [3, 4]]),
    ([0, 0], [5]),
]


@pytest.mark.parametrize(("indices", "choices"), CHOICES, ids=repr)
@pytest.mark.parametrize("mode", MODES)
def test_choose(indices: Any, choices: Any, mode: str) -> None:
    compare(
        lambda xp: xp.choose(np.asarray(indices) if np.ndim(indices) else indices, choices, mode=mode),
        may_raise=(TypeError, ValueError),
    )


@agrees
def test_choose_out(xp: Any) -> Any:
    out, integers = xp.zeros(2), xp.zeros(2, dtype="int32")
    xp.choose([0, 1], [[1, 2], [3, 4]], out=out)
    xp.choose([0, 1], [[1.5, 2], [3, 4]], out=integers)
    return out, integers


@pytest.mark.parametrize(
    "condition", [[True, False], [1, 0, 1, 1], [1, 0, 0, 0], [[1, 0]], True, [0.5, 0], []], ids=repr
)
@pytest.mark.parametrize("axis", [None, 0, 1, 2])
def test_compress(condition: Any, axis: Any) -> None:
    compare(
        lambda xp: xp.compress(condition, xp.arange(6.0).reshape(2, 3), axis=axis), may_raise=(IndexError, ValueError)
    )


def test_compress_looks_at_the_axis_before_the_condition() -> None:
    with pytest.raises(np.exceptions.AxisError):
        tnp.compile(lambda c, x: tnp.compress(c, x, axis=3), backend="eager")(tnp.asarray([True]), tnp.ones((2, 3)))


@pytest.mark.parametrize("condition", [[[1, 0, 1], [0, 0, 1]], [1] * 9, [1, 1], 1], ids=repr)
def test_extract(condition: Any) -> None:
    compare(lambda xp: xp.extract(condition, xp.arange(6.0).reshape(2, 3)), may_raise=IndexError)


SELECTS: list[Any] = [
    ([[True, False]], [[1, 2]], 0),
    ([[True, False], [True, True]], [[1, 2], [3, 4.5]], 7),
    ([[True, False]], [[1, 2], [3, 4]], 0),
    ([], [], 0),
    ([[1, 0]], [[1, 2]], 0),
    ([[True, False]], [[1, 2, 3]], 0),
    ([True], [1], 0),
    ([np.array([[True], [False]])], [np.arange(3)], 7),
    ([[True, False]], [np.float32([1, 2])], 7.5),
    ([[True, False]], [np.uint8([1, 2])], 300),
]


@pytest.mark.parametrize(("conditions", "choices", "default"), SELECTS, ids=repr)
def test_select(conditions: Any, choices: Any, default: Any) -> None:
    def use(xp: Any) -> Any:
        return xp.select([xp.asarray(c) for c in conditions], choices, default)

    compare(use, may_raise=(TypeError, ValueError))


@st.composite
def along(draw: Any) -> Any:
    shape = draw(st.lists(st.sampled_from([0, 1, 2, 3]), min_size=1, max_size=3))
    axis = draw(st.integers(-len(shape), len(shape) - 1))
    chosen = [draw(st.sampled_from([n, n, n, 1])) for n in shape]
    chosen[axis] = draw(st.integers(0, 3))
    length = shape[axis]
    slack = draw(st.sampled_from([0] * 6 + [1]))
    size = int(np.prod(chosen))
    dtype = draw(st.sampled_from(["int64", "uint8"]))
    number = st.integers(0 if dtype == "uint8" else -length - slack, max(0, length - 1 + slack))
    indices = np.array(draw(st.lists(number, min_size=size, max_size=size)), dtype=dtype)
    return tuple(shape), indices.reshape(chosen), axis


@FEW
@example(((0, 0), np.array([[0]]), 0))
@example(((3, 0, 2), np.array([[[5, 5]]]), 0))
@given(along())
def test_take_along_axis(drawn: Any) -> None:
    shape, indices, axis = drawn
    compare(lambda xp: xp.take_along_axis(sample(xp, shape, "float64"), xp.asarray(indices), axis))


@FEW
@given(along(), st.booleans())
def test_put_along_axis(drawn: Any, single: bool) -> None:
    shape, indices, axis = drawn

    def use(xp: Any) -> Any:
        x = sample(xp, shape, "float64")
        xp.put_along_axis(x, xp.asarray(indices), 7 if single else xp.arange(indices.size).reshape(indices.shape), axis)
        return x

    compare(use)


@pytest.mark.parametrize("indices", [[0, 1], [[0]], [0.5], [9]], ids=repr)
@pytest.mark.parametrize("axis", [None, 0, 1, 2])
def test_take_along_axis_arguments(indices: Any, axis: Any) -> None:
    compare(
        lambda xp: xp.take_along_axis(xp.arange(6).reshape(2, 3), xp.asarray(indices), axis),
        may_raise=(IndexError, ValueError),
    )


@pytest.mark.parametrize("shape", [(2, 0, 1), (2, 0, 3), (0, 1, 1), (3, 1, 0, 2), (2, 1, 1)])
def test_put_along_axis_values_without_elements(shape: tuple[int, ...]) -> None:
    def put(xp: Any) -> Any:
        xp.put_along_axis(xp.zeros((0, 1)), xp.zeros((0, 2), int), xp.zeros(shape), 0)

    compare(put, may_raise=ValueError)


def test_put_along_no_axis_writes_through() -> None:
    x = tnp.zeros((2, 3)).T
    tnp.put_along_axis(x, tnp.asarray([1, -1]), tnp.asarray([5.0, 6.0]), None)
    assert x.tolist() == [[0, 5], [0, 0], [0, 6]]
    assert isinstance(outcome(lambda xp: xp.put_along_axis(x, tnp.asarray([1]), [1, 2], None), tnp), Raised)


@agrees
def test_choose_of_several(xp: Any) -> Any:
    x = xp.asarray([0, 1])
    return x.choose([1, 2], [3, 4]), x.choose([[1, 2], [3, 4]]), (x + 2).choose([1, 2], [3, 4], mode="wrap")


@pytest.mark.parametrize("name", ["putmask", "copyto"])
def test_masks_and_values_that_are_views_of_the_target(name: str) -> None:
    def written(xp: Any, of_mask: bool) -> Any:
        x = xp.asarray([True, False, True, False, True, True])
        other = xp.asarray([True, True, False, True, False])
        mask, values = (x[:-1], other) if of_mask else (other, x[:-1])
        if name == "copyto":
            xp.copyto(x[1:], values, where=mask.copy())
        else:
            getattr(xp, name)(x[1:], mask, values)
        return x

    compare(lambda xp: (written(xp, True), written(xp, False)))


@agrees(raises=TypeError)
def test_putmask_takes_its_array_by_place(xp):
    xp.putmask(a=xp.ones(2), mask=[True, False], values=[0.0])


@agrees
@pytest.mark.parametrize("value", [np.float64(1.5), np.int16(-2), 1.5])
@pytest.mark.parametrize("name", ["place", "putmask"])
def test_a_number_is_written_as_it_fits(xp: Any, name: str, value: Any) -> Any:
    x = xp.asarray([1, 1, 5], "uint32")
    getattr(xp, name)(x, [False, True, True], value)
    return x


@pytest.mark.parametrize("casting", [True, None, 1.5, "bogus"])
def test_copyto_says_what_is_wrong_with_casting(casting: Any) -> None:
    compare(lambda xp: xp.copyto(xp.zeros(3), xp.ones(3), casting), raises=(TypeError, ValueError))


REFUSED: dict[str, Callable[[Any, Any], Any]] = {
    "put into a list": lambda xp, x: xp.put([0.0], 0, 1),
    "put into nothing": lambda xp, x: xp.put(xp.zeros(0), [0], 1),
    "put out of bounds": lambda xp, x: xp.put(x, [0, 6], 1),
    "put in no mode": lambda xp, x: xp.put(x, [0], 1, mode="bad"),
    "putmask into a list": lambda xp, x: xp.putmask([0.0], [1], 1),
    "putmask of another size": lambda xp, x: xp.putmask(x, [1], 1),
    "putmask of complex numbers": lambda xp, x: xp.putmask(x, x == 0, xp.ones(1) * 1j),
    "place into a list": lambda xp, x: xp.place([0.0], [1], 1),
    "place of another size": lambda xp, x: xp.place(x, [1], 1),
    "place of nothing": lambda xp, x: xp.place(x, x == 0, []),
    "place of complex numbers": lambda xp, x: xp.place(x, x == 0, xp.ones(1) * 1j),
    "copyto a list": lambda xp, x: xp.copyto([0.0], 1),
    "copyto with no casting": lambda xp, x: xp.copyto(x, 1, casting="bad"),
    "copyto with a number for casting": lambda xp, x: xp.copyto(x, 1, casting=3),
    "copyto of another shape": lambda xp, x: xp.copyto(x, xp.ones(2)),
    "copyto of complex numbers": lambda xp, x: xp.copyto(x, xp.ones(3) * 1j),
    "copyto of a complex number": lambda xp, x: xp.copyto(x, 1j),
    "copyto of a complex array of no dimensions": lambda xp, x: xp.copyto(x, xp.asarray(1j)),
    "copyto of a number to integers": lambda xp, x: xp.copyto(xp.zeros(3, int), 1.5),
    "copyto of an equivalent integer": lambda xp, x: xp.copyto(x, 1, casting="equiv"),
    "copyto of an equivalent number": lambda xp, x: xp.copyto(xp.zeros(2, "F"), 1.0, casting="equiv"),
    "copyto where another shape": lambda xp, x: xp.copyto(x, 1, where=[True, False]),
    "copyto where more dimensions": lambda xp, x: xp.copyto(x, 1, where=xp.ones((1, 2, 3), bool)),
    "copyto where integers": lambda xp, x: xp.copyto(x, 1, where=xp.ones(3, int)),
    "copyto where an array of no dimensions": lambda xp, x: xp.copyto(x, 1, where=xp.asarray(1)),
    "put_along_axis of longer values": lambda xp, x: xp.put_along_axis(x, xp.asarray([[0], [1]]), xp.ones((3, 1)), 1),
    "put_along_axis out of bounds": lambda xp, x: xp.put_along_axis(x, xp.asarray([[5], [0]]), 1, 1),
    "put_along_axis of no axis": lambda xp, x: xp.put_along_axis(x, xp.asarray([[0, 1]]), 1, 2),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_refused_in_numpys_words(name: str) -> None:
    errors = [outcome(lambda xp: REFUSED[name](xp, xp.zeros((2, 3))), xp).error for xp in (np, ours())]
    assert (type(errors[1]), str(errors[1])) == (type(errors[0]), str(errors[0]))


def test_functions_that_write_name_what_is_no_array() -> None:
    for function in (tnp.put, tnp.putmask, tnp.place, tnp.copyto):
        with pytest.raises(TypeError, match=r"(must be|not) .*array"):
            function(3.0, [0], 1)
    with pytest.raises(TypeError, match=r"argument 1 must be an array, not Tensor$"):
        tnp.put_along_axis(torch.zeros(2), [0], 1, 0)


NO_BOOLEANS = [[2, 0, 1], [0.5, 0, 1], [256, 0, 1], 2, 0.0, np.int64(2), np.float64(0.5), np.bool_(False)]


@pytest.mark.usefixtures("computed_by")
@pytest.mark.parametrize("mask", NO_BOOLEANS, ids=repr)
@agrees
def test_masks_that_are_no_booleans(xp: Any, mask: Any) -> Any:
    x, y, z = xp.zeros((2, 3)), xp.zeros(3), xp.zeros(3)
    xp.copyto(x, 1, where=mask)
    xp.place(y, xp.ones(3) * mask, [1, 2])
    xp.putmask(z, xp.ones(3) * mask, [1, 2, 3])
    return x, y, z


@agrees
def test_copyto_where_an_element_says(xp: Any) -> Any:
    x = xp.zeros((2, 3))
    xp.copyto(x[0], 1, where=xp.ones(1, int)[0])
    xp.copyto(x[1], 1, where=xp.zeros(1)[0])
    xp.copyto(x[:, 1], 5.0, casting="equiv")
    return x


@agrees
def test_one_row_of_indices_along_an_axis(xp: Any) -> Any:
    x, y = xp.zeros((2, 3)), xp.zeros((2, 3))
    xp.put_along_axis(x, xp.asarray([[0, 1]]), xp.arange(4.0).reshape(2, 2), 1)
    xp.put_along_axis(y, xp.asarray([[1]]), xp.asarray([[7.0], [8.0]]), 1)
    return x, y


@pytest.mark.parametrize("mode", SPELLINGS, ids=repr)
def test_spellings_of_modes(mode: Any) -> None:
    compare(lambda xp: xp.take(xp.arange(3), [4, -1], mode=mode), may_raise=(IndexError, TypeError, ValueError))
    compare(lambda xp: xp.choose(xp.asarray([2, 0]), [[1, 2], [3, 4]], mode=mode), may_raise=(TypeError, ValueError))
    compare(lambda xp: xp.ravel_multi_index(([1], [3]), (2, 2), mode=mode), may_raise=(TypeError, ValueError))

    def put(xp: Any) -> Any:
        x = xp.arange(3)
        xp.put(x, [4], 7, mode=mode)
        return x

    compare(put, may_raise=(IndexError, TypeError, ValueError))


def test_put_in_compiled_functions_at_places_that_come_as_arguments() -> None:
    def function(xp: Any, x: Any, indices: Any, values: Any) -> Any:
        xp.put(x.T, indices, values)
        return x * 1

    given = np.arange(6.0).reshape(2, 3), np.asarray([1, -3, 1]), np.asarray([10.0, 20.0, 30.0])
    compiled = tnp.compile(lambda *arrays: function(tnp, *arrays), backend="eager")
    x, indices, values = map(tnp.asarray, (given[0].copy(), *given[1:]))
    assert compiled(x, indices, values).tolist() == x.tolist() == function(np, *given).tolist()
    with pytest.raises(IndexError):
        compiled(x, indices * 9, values)


@pytest.mark.parametrize("count", [63, 64])
def test_at_most_63_choices(count: int) -> None:
    compare(lambda xp: xp.choose(xp.asarray([1, 0]), [5, 6] + [0] * (count - 2)), may_raise=ValueError)


WRITERS: dict[str, Callable[[Any, Any, Any], Any]] = {
    "put": lambda xp, a, x: xp.put(a, [2, 0], x[:2]),
    "putmask": lambda xp, a, x: xp.putmask(a, [True, False, True], x),
    "place": lambda xp, a, x: xp.place(a, [True, False, True], x),
    "copyto": lambda xp, a, x: xp.copyto(a, x, where=[False, True, True]),
    "put_along_axis": lambda xp, a, x: xp.put_along_axis(a, xp.asarray([2, 0]), x[:2], 0),
    "fill_diagonal": lambda xp, a, x: xp.fill_diagonal(a[None], x[1]),
    "take": lambda xp, a, x: xp.take(x, [2, 0, 1], out=a),
    "compress": lambda xp, a, x: xp.compress([True, True, True], x, out=a),
    "choose": lambda xp, a, x: xp.choose(xp.asarray([0, 1, 0]), [x, x * 2], out=a),
    "add": lambda xp, a, x: xp.add(x, 1, out=a),
}


@pytest.mark.parametrize("name", WRITERS)
@pytest.mark.parametrize("step", [2, -2])
def test_writes_to_an_array_of_numpy_where_its_own_functions_can_not_compute(name: str, step: int) -> None:
    """A traced, batched or differentiated operand has no values for NumPy, but its array has memory."""
    base = np.zeros(6)
    held = base[::step]

    def function(x: Any, xp: Any = tnp) -> Any:
        WRITERS[name](xp, held, x)
        return x * 2 + xp.asarray(held)

    def outcome(run: Callable[[Any], Any], x: Any) -> Any:
        base[:] = 7
        result = run(x)
        return np.asarray(result).tolist(), base.tolist()

    x = np.asarray([1.0, 2.0, 3.0])
    expected = outcome(lambda x: function(x, np), x)
    runs = [function, tnp.compile(function, backend="eager")]
    if step > 0:  # a derivative refuses the other, and says so
        runs.append(lambda x: tnp.vjp(function, x)[0])
    for run in runs:
        for _ in range(2):
            assert outcome(run, tnp.asarray(x)) == expected
    with pytest.warns(RuntimeWarning, match="once for each element"):
        found = outcome(lambda x: tnp.vmap(function)(x[None]), tnp.asarray(x))
    assert (found[0][0], found[1]) == expected


@pytest.mark.parametrize("casting", ["same_kind", "unsafe"])
def test_copyto_a_truth_from_an_integer_beyond_int64(casting: str) -> None:
    compare(lambda xp: xp.copyto(xp.zeros(2, bool), 2**63, casting), raises=OverflowError)
