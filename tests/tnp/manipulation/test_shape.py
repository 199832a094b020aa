"""Shapes and axes against NumPy: values, what shares memory with what, and every error."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, mutually_broadcastable_shapes

import tnp
from tests.oracle import ALL, agrees, compare, sample

LAYOUTS = {
    "C": lambda xp: sample(xp, (2, 3, 4), "float64"),
    "F": lambda xp: xp.asarray(sample(xp, (2, 3, 4), "int16"), order="F"),
    "transposed": lambda xp: sample(xp, (4, 2, 3), "complex64").transpose(1, 2, 0),
    "strided": lambda xp: sample(xp, (2, 3, 8), "uint32")[:, :, ::2],
    "rows": lambda xp: xp.broadcast_to(sample(xp, (4,), "float32"), (6, 4)),
    "columns": lambda xp: xp.broadcast_to(sample(xp, (6, 1), "float32"), (6, 4)),
    "vector": lambda xp: sample(xp, (48,), "uint8")[::2],
    "row": lambda xp: sample(xp, (1, 24, 1), "bool"),
}


def shared(xp, one, other):
    """Whether two arrays have memory in common."""
    return xp.shares_memory(one, other)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("order", ["C", "F", "A", "f", None])
@pytest.mark.parametrize("shape", [(4, 6), 24, (6, 4), [2, 12], (3, -1), (12, 2), (2, 3, 4), (4, 3, 2), (-2,)])
def test_reshape(shape, order, layout):
    def reshape(xp, **copy):
        array = LAYOUTS[layout](xp)
        result = xp.reshape(array, shape, order, **copy)
        return result, shared(xp, result, array)

    compare(reshape)
    compare(reshape, copy=True)
    compare(reshape, copy=False, may_raise=ValueError)


def test_reshape_to_none_keeps_the_shape():
    assert tnp.reshape([[1, 2]], None).shape == (1, 2)


@given(array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=4), st.data())
def test_reshape_of_random_shapes(shape, data):
    size = math.prod(shape)
    divisors = [n for n in range(1, size + 1) if size % n == 0] or [0, 1, 3]
    first = data.draw(st.sampled_from([*divisors, -1, 5]))
    second = data.draw(st.sampled_from([*divisors, -1, 0, 2]))
    order = data.draw(st.sampled_from("CFA"))
    axes = data.draw(st.permutations(range(len(shape))))

    def reshape(xp):
        array = xp.transpose(sample(xp, shape, "int64"), axes)
        result = xp.reshape(array, (first, second), order)
        return result, shared(xp, result, array)

    compare(reshape)


@pytest.mark.parametrize("shape", [4, (4,), (-1, 4), (-1, -1), (2, 2.0), "ab", 2.5, (7, -1), (0, 3), (1,) * 65])
@agrees(raises=Exception)
def test_reshape_refuses(xp, shape):
    return xp.reshape(xp.asarray(np.arange(6)), shape)


@pytest.mark.parametrize(
    ("shape", "message"),
    [
        ((4,), r"^cannot reshape array of size 6 into shape \(4,\)$"),
        ((4, 2), r"^cannot reshape array of size 6 into shape \(4,2\)$"),
        ((-1, -1), "^can only specify one unknown dimension$"),
    ],
)
def test_reshape_says_what_numpy_says(shape, message):
    for xp in (np, tnp):
        with pytest.raises(ValueError, match=message):
            xp.reshape(xp.arange(6), shape)


@pytest.mark.parametrize("order", ["K", "Z", 1])
def test_reshape_refuses_orders(order):
    compare(lambda xp: xp.reshape(xp.asarray(np.arange(6)), (2, 3), order), raises=(TypeError, ValueError))
    with pytest.raises(ValueError, match="Unable to avoid creating a copy"):
        tnp.reshape(tnp.zeros((2, 3)).T, 6, copy=False)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("order", ["C", "F", "A", "K", "k", None])
@agrees
def test_ravel(xp, order, layout):
    array = LAYOUTS[layout](xp)
    result = xp.ravel(array, order)
    owns = result.flags.owndata, result.base is None
    return result, owns, shared(xp, result, array), xp.ravel(3), xp.ravel([[1, 2], [3, 4]], order)


VIEWS = {
    "transpose": lambda xp, x: xp.transpose(x),
    "transpose axes": lambda xp, x: xp.transpose(x, (2, 0, -2)),
    "permute_dims": lambda xp, x: xp.permute_dims(x, [1, 0, 2]),
    "matrix_transpose": lambda xp, x: xp.matrix_transpose(x),
    "swapaxes": lambda xp, x: xp.swapaxes(x, 0, -1),
    "moveaxis": lambda xp, x: xp.moveaxis(x, 0, -1),
    "moveaxis several": lambda xp, x: xp.moveaxis(x, [0, 1], (-1, 0)),
    "rollaxis": lambda xp, x: xp.rollaxis(x, 2),
    "rollaxis to the end": lambda xp, x: xp.rollaxis(x, 0, 3),
    "rollaxis in place": lambda xp, x: xp.rollaxis(x, 1, 1),
    "rollaxis negative": lambda xp, x: xp.rollaxis(x, -1, -2),
    "expand_dims": lambda xp, x: xp.expand_dims(x, 1),
    "expand_dims several": lambda xp, x: xp.expand_dims(x, (0, -1, 2)),
    "squeeze": lambda xp, x: xp.squeeze(x[:1]),
    "squeeze axis": lambda xp, x: xp.squeeze(x[:1, :1], axis=0),
    "squeeze axes": lambda xp, x: xp.squeeze(x[:1, :, :1], axis=(0, -1)),
    "broadcast_to": lambda xp, x: xp.broadcast_to(x, (5, 2, 3, 4)),
    "broadcast_arrays": lambda xp, x: xp.broadcast_arrays(x, [1, 2, 3, 4])[0],
    "atleast_1d": lambda xp, x: xp.atleast_1d(x[0, 0, 0:1]),
    "atleast_2d": lambda xp, x: xp.atleast_2d(x[0, 0]),
    "atleast_3d": lambda xp, x: xp.atleast_3d(x[0]),
    "rot90 by nothing": lambda xp, x: xp.rot90(x, 4),
}


@pytest.mark.parametrize("layout", ["C", "F", "transposed", "strided"])
@pytest.mark.parametrize("view", VIEWS)
def test_views_are_views(view, layout):
    def look(xp):
        array = LAYOUTS[layout](xp)
        result = VIEWS[view](xp, array)
        strides = [stride for stride, length in zip(result.strides, result.shape, strict=True) if length > 1]
        return result, strides, shared(xp, result, array)

    expected = compare(look)
    assert expected[2], "NumPy has a copy here"


@pytest.mark.parametrize("dtype", ALL)
@agrees
def test_rearranging_in_every_dtype(xp, dtype):
    array = sample(xp, (3, 4), dtype)
    return {
        "flip": [xp.flip(array), xp.flip(array, 0), xp.flip(array, (0, -1)), xp.flip(array, ())],
        "flipud, fliplr": [xp.flipud(array), xp.fliplr(array)],
        "rot90": [xp.rot90(array, k) for k in (*range(-5, 6), 1.0, -2.0, 0.5, True, np.float32(2))],
        "roll": [
            xp.roll(array, 2),
            xp.roll(array, -1, 0),
            xp.roll(array, (1, 2), (0, 1)),
            xp.roll(array, 5, (0, 0, 1)),
        ],
        "resize": [xp.resize(array, (5, 3)), xp.resize(array, 2), xp.resize(array.T, (2, 2)), xp.resize(array, 0)],
    }


@pytest.mark.parametrize("axis", [0, 1, -1, 2, -3])
def test_unstack(axis):
    def unstack(xp):
        array = sample(xp, (3, 4), "float32")
        parts = xp.unstack(array, axis=axis)
        return parts, [shared(xp, part, array) for part in parts]

    compare(unstack, may_raise=np.exceptions.AxisError)
    compare(lambda xp: xp.unstack(xp.arange(3)))
    compare(lambda xp: xp.unstack(xp.zeros(())), raises=ValueError)


@given(array_shapes(max_dims=3, min_side=0), st.data())
def test_roll_of_random_shapes(shape, data):
    axis = data.draw(st.none() | st.integers(-3, 2) | st.lists(st.integers(-3, 2), max_size=3).map(tuple))
    places = st.integers(-9, 9)
    shift = data.draw(places | st.lists(places, min_size=1, max_size=3).map(tuple))
    compare(lambda xp: xp.roll(sample(xp, shape, "int64"), shift, axis))


@given(array_shapes(min_dims=0, max_dims=4, min_side=0), st.data())
def test_axes_of_random_shapes(shape, data):
    axis = st.integers(-5, 4)
    axes = data.draw(axis | st.lists(axis, max_size=4).map(tuple))
    one, other = data.draw(axis), data.draw(axis)

    for function in (
        lambda xp, x: xp.flip(x, axes),
        lambda xp, x: xp.squeeze(x, axes),
        lambda xp, x: xp.expand_dims(x, axes),
        lambda xp, x: xp.transpose(x, axes),
        lambda xp, x: xp.swapaxes(x, one, other),
        lambda xp, x: xp.moveaxis(x, one, other),
        lambda xp, x: xp.rollaxis(x, one, other),
        lambda xp, x: xp.size(x, axes),
    ):
        compare(lambda xp, function=function: function(xp, sample(xp, shape, "int64")))


@given(mutually_broadcastable_shapes(num_shapes=3, min_side=0, max_dims=3), st.data())
def test_broadcasting_of_random_shapes(shapes, data):
    inputs = list(shapes.input_shapes)
    if data.draw(st.booleans()):
        inputs.append(data.draw(array_shapes(max_dims=2, max_side=3)))
    compare(lambda xp: xp.broadcast_shapes(*inputs))
    compare(lambda xp: xp.broadcast_arrays(*[sample(xp, shape, "int64") for shape in inputs]))
    for shape in inputs:
        compare(
            lambda xp, shape=shape: xp.broadcast_to(sample(xp, shape, "int64"), shapes.result_shape),
        )


REFUSED = {
    "squeeze": [(0,), (5,), ((0, 0),), (1.5,)],
    "transpose": [((0,),), ((0, 0),), ((0, 5),), (5,), ((0, 1.0),), ((),)],
    "swapaxes": [(0, 3), (0, 1.0)],
    "moveaxis": [(0, 3), ((0, 0), (0, 1)), ((0, 1), (0,)), ((0, 1), (0, 0)), (0.5, 1)],
    "rollaxis": [(3,), (0, 4), (0, -3)],
    "expand_dims": [(5,), ((0, 0),), (1.5,)],
    "broadcast_to": [((3, 3),), (3,), ((),), ((-1, 2, 3),), ((2, 1, 3),), ((2, 3.0),)],
    "broadcast_arrays": [([1, 2],)],
    "flip": [(2,), ((0, 0),), (0.5,)],
    "rot90": [(1, (0, 0)), (1, (0, 5)), (1, (0, 1, 2)), (1, (0, -2))],
    "roll": [(1, 5), ((1, 2, 3), (0, 1))],
    "resize": [(-1,), ((2, -1),), ("a",)],
    "ravel": [("Z",), (1,)],
}


@pytest.mark.parametrize(("name", "arguments"), [(name, args) for name, rows in REFUSED.items() for args in rows])
@agrees(raises=Exception)
def test_refused(xp, name, arguments):
    return getattr(xp, name)(xp.asarray(np.arange(6).reshape(2, 3)), *arguments)


@pytest.mark.parametrize("k", [np.nan, np.inf, "1", None, 1j, [1], 2**70, -0.5], ids=repr)
def test_rot90_as_often_as_no_integer_says(k: Any) -> None:
    compare(lambda xp: xp.rot90(xp.arange(6).reshape(2, 3), k), may_raise=(TypeError, ValueError, OverflowError))


@pytest.mark.parametrize("k", [1, 5.0, True, [1], [1, 2]], ids=repr)
def test_rot90_as_often_as_an_array_says(k: Any) -> None:
    def turned(xp: Any) -> Any:
        turns = xp.array(k)  # in which NumPy before 2.5 leaves the remainder
        return xp.rot90(xp.arange(6).reshape(2, 3), turns), turns

    compare(turned, may_raise=(TypeError, ValueError))


@pytest.mark.parametrize("name", ["fliplr", "matrix_transpose", "rot90"])
@agrees(raises=ValueError)
def test_too_few_dimensions(xp, name):
    return getattr(xp, name)(xp.zeros(3))


@agrees(raises=ValueError)
def test_no_dimension(xp):
    return xp.flipud(xp.zeros(()))


@pytest.mark.parametrize("array", [3, 2.5, [1, 2], [[1, 2]], [[[1]]], [[[[1]]]], []])
@agrees
def test_dimensions_of_array_likes(xp, array):
    functions = (xp.atleast_1d, xp.atleast_2d, xp.atleast_3d, xp.squeeze, xp.transpose, xp.shape, xp.ndim, xp.size)
    return [function(array) for function in functions]


@agrees
def test_several_arrays(xp):
    return (
        xp.atleast_1d(),
        xp.atleast_1d(3, [4]),
        xp.atleast_2d(3, [4], [[5]]),
        xp.atleast_3d(1, [2]),
        xp.broadcast_arrays(),
    )


@agrees
def test_arrays_without_dimensions(xp):
    zero = xp.asarray(3)
    return [
        (xp.squeeze(zero), xp.squeeze(zero, 0), xp.transpose(zero), xp.roll(zero, 1), xp.reshape(zero, ())),
        (xp.expand_dims(zero, 0), xp.broadcast_to(zero, (2,)), xp.resize(zero, (2, 2)), xp.ravel(zero)),
    ]


def test_what_stays_a_scalar():
    array, number = tnp.zeros(()), tnp.zeros(1)[0]
    for function in (tnp.squeeze, tnp.transpose):
        assert type(function(array)) is type(array)
        assert type(function(number)) is type(number)
    assert type(tnp.reshape(number, ())) is type(array)
    assert type(tnp.flip(array)) is type(number)


@pytest.mark.parametrize("lengths", [{}, {2: 3}, {2}, "", b"a", range(2, 4)], ids=repr)
@agrees
def test_broadcast_to_takes_any_lengths_in_turn(xp, lengths):
    return xp.broadcast_to(1, lengths), xp.broadcast_to(xp.asarray([1]), [*lengths, 2]), xp.broadcast_to(1, iter([2]))


def test_broadcast_view_is_read_only():
    view = tnp.broadcast_to(tnp.arange(3), (2, 3))
    assert not view.flags.writeable
    with pytest.raises(ValueError, match="read-only"):
        view[0] = 1


def test_atleast_gives_the_array_itself():
    cube = tnp.zeros((1, 1, 1))
    assert tnp.atleast_1d(cube) is tnp.atleast_2d(cube) is tnp.atleast_3d(cube) is cube


def test_shape_functions_batch_and_differentiate():
    def rearranged(tensor: torch.Tensor) -> torch.Tensor:
        array = tnp.roll(tnp.flip(tnp.reshape(tensor, (3, 2), order="F"), 0), 1)
        return tnp.ravel(tnp.rot90(tnp.moveaxis(array, 0, 1)), "F").tensor + tnp.resize(array, 6).tensor

    batch = torch.arange(12.0, dtype=torch.float64).reshape(2, 2, 3)
    assert torch.equal(torch.vmap(rearranged)(batch), torch.stack([rearranged(one) for one in batch]))
    assert torch.autograd.gradcheck(rearranged, (batch[0].clone().requires_grad_(),))


@pytest.mark.parametrize("shape", [True, False, np.True_])
def test_a_boolean_is_no_shape(shape: Any) -> None:
    compare(lambda xp: xp.arange(1).reshape(shape), raises=TypeError)
    compare(lambda xp: xp.reshape(xp.arange(1), shape), raises=TypeError)


@agrees(raises=TypeError)
def test_reshape_method_needs_a_shape(xp: Any) -> Any:
    return xp.arange(1).reshape()


@pytest.mark.parametrize("shape", [(True, 6), [6, True]])
def test_a_boolean_is_no_length(shape: Any) -> None:
    compare(lambda xp: xp.arange(6).reshape(shape), raises=TypeError)
    compare(lambda xp: xp.zeros(shape), raises=TypeError)


@pytest.mark.parametrize("shift", [2**63, 10**30, -(2**100) - 1, np.uint64(2**63 + 2), (2**100, 1)])
def test_roll_by_any_number(shift: Any) -> None:
    compare(lambda xp: xp.roll(xp.arange(5), shift))
    compare(lambda xp: xp.roll(xp.arange(6).reshape(2, 3), shift, axis=1))
    compare(lambda xp: xp.roll(xp.zeros((2, 0)), shift, axis=1))


@agrees(raises=TypeError)
@pytest.mark.parametrize(("source", "destination"), [(None, -1), (-1, None)])
def test_moveaxis_takes_no_none(xp: Any, source: Any, destination: Any) -> Any:
    return xp.moveaxis(xp.zeros(2), source, destination)


@pytest.mark.parametrize("axis", [np.zeros((3, 1, 0)), np.zeros(2), None, 1.0])
def test_unstack_along_no_axis(axis: Any) -> None:
    compare(lambda xp: xp.unstack(xp.zeros(1), axis=axis), raises=TypeError)
