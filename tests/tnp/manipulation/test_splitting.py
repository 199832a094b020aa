"""Splitting and editing against NumPy: where arrays are cut, what is added and removed, and every error."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes

import tnp
from tests.oracle import ALL, agrees, compare, sample

PARTS = st.integers(-1, 5) | st.lists(st.integers(-5, 6), max_size=4)


@given(array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=6), PARTS, st.integers(-4, 3))
def test_split_of_random_shapes(shape, parts, axis):
    compare(
        lambda xp: xp.split(sample(xp, shape, "int64"), parts, axis),
    )
    compare(lambda xp: xp.array_split(sample(xp, shape, "int64"), parts, axis))
    for name in ("hsplit", "vsplit", "dsplit"):
        compare(
            lambda xp, name=name: getattr(xp, name)(sample(xp, shape, "int64"), parts),
        )


@pytest.mark.parametrize("parts", [np.int64(2), np.array(2), np.array([1, 2]), (1, 1), [np.int8(1)], 2.0], ids=str)
@agrees
def test_kinds_of_parts(xp, parts):
    where = xp.asarray(parts) if isinstance(parts, np.ndarray) else parts
    return xp.split(sample(xp, (4, 2), "uint32"), where), xp.array_split(sample(xp, (5,), "bool"), where)


@pytest.mark.parametrize("parts", [[None], [None, 2], [1, None], (None, None)], ids=str)
@agrees
def test_parts_without_an_end(xp, parts):
    return xp.split(sample(xp, (4, 2), "int64"), parts), xp.array_split(sample(xp, (2, 5), "bool"), parts, 1)


@pytest.mark.parametrize("parts", ["a", [1.0], 0, None])
@pytest.mark.parametrize("name", ["split", "array_split"])
@agrees(raises=Exception)
def test_parts_that_are_none(xp, name, parts):
    return getattr(xp, name)(xp.zeros(4), parts)


def test_parts_are_views():
    array = tnp.zeros((4, 2))
    for part in (*tnp.split(array, 2), *tnp.hsplit(array, 2), *tnp.unstack(array)):
        part += 1
    assert (array == 3).all()


@pytest.mark.parametrize("dtype", ALL)
@agrees
def test_editing_in_every_dtype(xp, dtype):
    array = sample(xp, (2, 3), dtype)
    return {
        "append": [xp.append(array, array), xp.append(array, array, 1), xp.append(array, 1.5), xp.append(1, array)],
        "insert": [
            xp.insert(array, 1, 1),
            xp.insert(array, [0, 2], array[:, :2], 1),
            xp.insert(array, [1, 1], True, 0),
        ],
        "delete": [xp.delete(array, 1), xp.delete(array, [0, -1], 1), xp.delete(array, slice(None, None, 2))],
    }


INDICES = (
    st.integers(-7, 7)
    | st.lists(st.integers(-4, 4), max_size=4)
    | st.lists(st.integers(-4, 4), max_size=4).map(lambda x: np.array(x, int))
    | st.lists(st.booleans(), max_size=5).map(lambda x: np.array(x, bool))
    | st.slices(4)
)


@given(array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=4), INDICES, st.none() | st.integers(-4, 3))
def test_delete_of_random_places(shape, obj, axis):
    compare(lambda xp: xp.delete(sample(xp, shape, "int64"), obj, axis))
    if isinstance(obj, np.ndarray):
        compare(lambda xp: xp.delete(sample(xp, shape, "int64"), xp.asarray(obj), axis))


@given(
    array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=3),
    INDICES,
    array_shapes(min_dims=0, max_dims=3, max_side=3),
    st.none() | st.integers(-4, 3),
)
def test_insert_at_random_places(shape, obj, values, axis):
    compare(
        lambda xp: xp.insert(sample(xp, shape, "int64"), obj, sample(xp, values, "int32", seed=1), axis),
    )


INSERTED = [
    lambda xp, a: xp.insert(a, 1, [1, 2], axis=1),
    lambda xp, a: xp.insert(a, [1], [[1], [2]], axis=1),
    lambda xp, a: xp.insert(a, [1], [7, 8], axis=1),
    lambda xp, a: xp.insert(a, 1, [9, 8, 7]),
    lambda xp, a: xp.insert(a, slice(2, 4), [7, 8]),
    lambda xp, a: xp.insert(a, slice(None, None, -1), 9, 0),
    lambda xp, a: xp.insert(a, [1, 1], [3.7, -2]),
    lambda xp, a: xp.insert(a, 0, np.float64(2.9), axis=0),
    lambda xp, a: xp.insert(a, xp.asarray(1), [1, 2, 3], axis=0),
    lambda xp, a: xp.insert(a, [], 9),
    lambda xp, a: xp.insert(np.array(3), 0, 4),
    lambda xp, a: xp.insert(xp.zeros((2, 2, 2)), 1, [[1, 2], [3, 4]], axis=1),
    lambda xp, a: xp.insert(xp.zeros((2, 2, 2)), [1, 0], [[1, 2], [3, 4]], axis=1),
]


@pytest.mark.parametrize("call", INSERTED)
@agrees
def test_insert(xp, call):
    return call(xp, xp.asarray(np.arange(6).reshape(2, 3)))


def test_insert_at_masks():
    compare(lambda xp: xp.insert(xp.asarray(np.arange(6).reshape(2, 3)), xp.asarray([True, False, True]), 9, axis=1))
    compare(lambda xp: xp.insert(xp.asarray(np.arange(6).reshape(2, 3)), xp.asarray([[True]]), 9), raises=ValueError)


REFUSED = [
    lambda xp, a: xp.hsplit(3, 1),
    lambda xp, a: xp.vsplit(a[0], 1),
    lambda xp, a: xp.dsplit(a, 1),
    lambda xp, a: xp.split(a, 5),
    lambda xp, a: xp.split(a, 2, 2),
    lambda xp, a: xp.array_split(a, 0),
    lambda xp, a: xp.append(a, [1, 2, 3], 0),
    lambda xp, a: xp.append(a, a, 2),
    lambda xp, a: xp.insert(a, 7, 5),
    lambda xp, a: xp.insert(a, -8, 5),
    lambda xp, a: xp.insert(a, [1, 7], 5),
    lambda xp, a: xp.insert(a, [1, 2], [5, 6, 7]),
    lambda xp, a: xp.insert(a, [[1]], 9),
    lambda xp, a: xp.insert(a, 1.5, 9),
    lambda xp, a: xp.insert(a, [0.0, 1.0], 9),
    lambda xp, a: xp.insert(a, xp.asarray([]), 9),
    lambda xp, a: xp.insert(a, "a", 9),
    lambda xp, a: xp.insert(a, 0, 2**70),
    lambda xp, a: xp.insert(a, 0, 1j),
    lambda xp, a: xp.insert(a, 2, 1, axis=2),
    lambda xp, a: xp.delete(a, 7),
    lambda xp, a: xp.delete(a, [1, 7]),
    lambda xp, a: xp.delete(a, [True, False], 1),
    lambda xp, a: xp.delete(a, 1.5),
    lambda xp, a: xp.delete(a, [1.5]),
    lambda xp, a: xp.delete(a, xp.asarray([])),
    lambda xp, a: xp.delete(a, 1, 2),
    lambda xp, a: xp.delete(a, True),
    lambda xp, a: xp.delete(a, "a"),
    lambda xp, a: xp.delete(a, None),
]


@pytest.mark.parametrize("call", REFUSED)
@agrees(raises=Exception)
def test_refused(xp, call):
    return call(xp, xp.asarray(np.arange(6).reshape(2, 3)))


def test_the_users_own_numbers_are_in_the_message():
    array = tnp.zeros((2, 3))
    with pytest.raises(IndexError, match=r"^index 7 is out of bounds for axis 1 with size 3$"):
        tnp.insert(array, 7, 0, axis=1)
    with pytest.raises(IndexError, match=r"^index 7 is out of bounds for axis 1 with size 3$"):
        tnp.delete(array, 7, axis=1)
    compare(lambda xp: xp.insert(xp.zeros((2, 3)), [0, 0, 1], [1, 2], axis=0), raises=ValueError)


@pytest.mark.parametrize("dtype", ALL)
@pytest.mark.parametrize("trim", ["fb", "F", "b"])
@agrees
def test_trim_zeros(xp, trim, dtype):
    padded = xp.zeros((4, 5), dtype)
    padded[1:3, 2] = 1
    vectors = [xp.asarray(values, dtype=dtype) for values in ([0, 0, 1, 0, 1, 0], [0, 0], [], [1])]
    return [xp.trim_zeros(vector, trim) for vector in vectors], xp.trim_zeros(padded, trim), xp.trim_zeros([0, 1], trim)


@pytest.mark.parametrize("axis", [0, -1, (0, 1), (), 5])
def test_trim_zeros_along_axes(axis):
    compare(lambda xp: xp.trim_zeros(xp.asarray([[0, 0, 0], [0, 1, 0]]), axis=axis), may_raise=np.exceptions.AxisError)
    compare(lambda xp: xp.trim_zeros(xp.zeros((2, 3)), axis=axis), may_raise=np.exceptions.AxisError)


def test_trim_zeros_refuses_other_ends():
    with pytest.raises(ValueError, match="unexpected character"):
        tnp.trim_zeros([0, 1], "x")


def test_editing_batches_and_differentiates():
    def edited(tensor: torch.Tensor) -> torch.Tensor:
        first, second = tnp.split(tensor, 2)
        return tnp.delete(tnp.insert(tnp.append(first, second), [0, 2], second), [1, -1]).tensor

    batch = torch.arange(8.0, dtype=torch.float64).reshape(2, 4)
    assert torch.equal(torch.vmap(edited)(batch), torch.stack([edited(one) for one in batch]))
    assert torch.autograd.gradcheck(edited, (batch[0].clone().requires_grad_(),))


@pytest.mark.parametrize("places", [slice(60, None), 1, [0, 2], [True, False, False, True, False]])
def test_delete_keeps_fortran_order(places: Any) -> None:
    def deleted(xp: Any) -> Any:
        result = xp.delete(xp.asarray(xp.arange(10).reshape(2, 5), order="F"), places, axis=1)
        return result, result.flags.c_contiguous, result.flags.f_contiguous

    compare(deleted)
