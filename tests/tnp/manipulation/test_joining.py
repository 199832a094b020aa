"""Joining and tiling against NumPy: dtypes, casting, ``out``, shapes and every error."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes

import tnp
from tests.oracle import ALL, agrees, compare, ours, outcome, sample


@pytest.mark.parametrize(("one", "other"), list(itertools.combinations_with_replacement(ALL, 2)))
@agrees
def test_dtypes_promote(xp, one, other):
    x, y = sample(xp, (2, 3), one), sample(xp, (2, 3), other)
    return xp.concatenate([x, y]), xp.concat((x, y), axis=-1), xp.stack([x, y], 1), xp.concatenate([x, y], axis=None)


@pytest.mark.parametrize("number", [1, 1.5, 1j, True, 300, np.float64(1.5), np.int8(3)])
@pytest.mark.parametrize("dtype", ALL)
@agrees
def test_python_scalars_are_weak_where_they_are_flattened(xp, dtype, number):
    return xp.concatenate([number, sample(xp, (2,), dtype)], axis=None), xp.concatenate([1, 2.5], axis=None)


@pytest.mark.parametrize("number", [1, 1.5, True])
@pytest.mark.parametrize("name", ["hstack", "vstack", "dstack", "column_stack", "block"])
@agrees
def test_python_scalars_are_strong_where_they_are_stacked(xp, name, number):
    return getattr(xp, name)([number, xp.ones(1, "float32")])


@pytest.mark.parametrize("casting", ["no", "equiv", "safe", "same_kind", "unsafe", "other"])
@pytest.mark.parametrize("dtype", ALL)
@pytest.mark.parametrize("given_dtype", ["int32", "float32", "bool"])
@pytest.mark.host  # elsewhere casts out of range have other values
def test_casting_of_dtype_and_out(given_dtype, dtype, casting):
    def arrays(xp):
        return [sample(xp, (2, 3), given_dtype), sample(xp, (2, 3), given_dtype, seed=1)]

    compare(lambda xp: xp.concatenate(arrays(xp), dtype=dtype, casting=casting), may_raise=(TypeError, ValueError))
    compare(lambda xp: xp.stack(arrays(xp), 1, dtype=dtype, casting=casting), may_raise=(TypeError, ValueError))
    compare(lambda xp: xp.vstack(arrays(xp), dtype=dtype, casting=casting), may_raise=(TypeError, ValueError))
    compare(lambda xp: xp.hstack(arrays(xp), dtype=dtype, casting=casting), may_raise=(TypeError, ValueError))
    compare(
        lambda xp: xp.concatenate(arrays(xp), out=xp.zeros((4, 3), dtype), casting=casting),
        may_raise=(TypeError, ValueError),
    )
    compare(
        lambda xp: xp.concatenate([1.5, *arrays(xp)], axis=None, dtype=dtype, casting=casting),
        may_raise=(TypeError, ValueError),
    )


def test_out_is_written_and_returned():
    out = tnp.zeros((2, 2, 3), order="F")
    assert tnp.stack([tnp.ones((2, 3)), tnp.zeros((2, 3))], 1, out=out) is out
    assert out.tensor.sum() == 6
    window = tnp.zeros(8)
    tnp.concatenate([[1], [2, 3]], out=window[1:7:2])
    assert window.tolist() == [0, 1, 0, 2, 0, 3, 0, 0]


@given(array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=3), st.data())
def test_random_shapes(shape, data):
    shapes = [shape]
    for _ in range(data.draw(st.integers(0, 3))):
        other = list(data.draw(st.sampled_from(shapes)))
        if other and data.draw(st.booleans()):
            other[data.draw(st.integers(0, len(other) - 1))] = data.draw(st.integers(0, 3))
        shapes.append(tuple(other[: data.draw(st.sampled_from([None, None, None, -1]))]))
    axis = data.draw(st.integers(-4, 3))

    def arrays(xp):
        return [sample(xp, shape, "int64") for shape in shapes]

    compare(lambda xp: xp.concatenate(arrays(xp), axis))
    compare(lambda xp: xp.stack(arrays(xp), axis))
    for name in ("hstack", "vstack", "dstack", "column_stack", "block"):
        compare(lambda xp, name=name: getattr(xp, name)(arrays(xp)))


@pytest.mark.parametrize("orders", ["CC", "CF", "FC", "FF"])
@pytest.mark.parametrize("axis", [0, 1])
@agrees
def test_memory_order(xp, axis, orders):
    result = xp.concatenate([xp.ones((2, 3), order=order) for order in orders], axis)
    return result, result.strides


ARRAYS = {"a": np.arange(6).reshape(2, 3), "f": np.arange(6, dtype="float32").reshape(2, 3)}
REFUSED = [
    lambda xp, a, f: xp.concatenate([]),
    lambda xp, a, f: xp.concatenate(3),
    lambda xp, a, f: xp.concatenate([1, 2]),
    lambda xp, a, f: xp.concatenate([a, 3]),
    lambda xp, a, f: xp.concatenate([a, xp.zeros((3, 3))], 1),
    lambda xp, a, f: xp.concatenate([a, xp.zeros(0)]),
    lambda xp, a, f: xp.concatenate([a, a], 2),
    lambda xp, a, f: xp.concatenate([a, a], 1.0),
    lambda xp, a, f: xp.concatenate(array for array in [a, a]),
    lambda xp, a, f: xp.concatenate([a, f], out=xp.zeros((4, 4))),
    lambda xp, a, f: xp.concatenate([a, f], out=xp.zeros((4, 3)), dtype=float),
    lambda xp, a, f: xp.concatenate([a, f], out=[1]),
    lambda xp, a, f: xp.stack([]),
    lambda xp, a, f: xp.stack(3),
    lambda xp, a, f: xp.stack([a, f.T]),
    lambda xp, a, f: xp.stack([a, a], 5),
    lambda xp, a, f: xp.stack([a, a], out=xp.zeros((2, 2, 4))),
    lambda xp, a, f: xp.stack([a, a], out=xp.zeros((2, 2, 3)), dtype=float),
    lambda xp, a, f: xp.stack(array for array in [a, a]),
    lambda xp, a, f: xp.vstack([]),
    lambda xp, a, f: xp.hstack([]),
    lambda xp, a, f: xp.dstack([]),
    lambda xp, a, f: xp.column_stack([]),
    lambda xp, a, f: xp.vstack(3),
    lambda xp, a, f: xp.vstack([a, [1, 2]]),
    lambda xp, a, f: xp.hstack([a, [1, 2]]),
    lambda xp, a, f: xp.column_stack([a, [1, 2, 3]]),
    lambda xp, a, f: xp.hstack(array for array in [a, a]),
    lambda xp, a, f: xp.block([]),
    lambda xp, a, f: xp.block([[], []]),
    lambda xp, a, f: xp.block([[1, 2], [3]]),
    lambda xp, a, f: xp.block([[1], 2]),
    lambda xp, a, f: xp.block([1, [2]]),
    lambda xp, a, f: xp.block((1, 2)),
    lambda xp, a, f: xp.block([[1, (2,)]]),
    lambda xp, a, f: xp.block([[a, 1]]),
    lambda xp, a, f: xp.tile(a, -1),
    lambda xp, a, f: xp.tile(a, (1, -1)),
    lambda xp, a, f: xp.tile(a, 2.0),
    lambda xp, a, f: xp.repeat(a, -1),
    lambda xp, a, f: xp.repeat(a, [1, -2], 0),
    lambda xp, a, f: xp.repeat(a, [1, 2]),
    lambda xp, a, f: xp.repeat(a, []),
    lambda xp, a, f: xp.repeat(a, 2, 3),
    lambda xp, a, f: xp.repeat(a, 2, 1.0),
    lambda xp, a, f: xp.repeat(a, [[1, 2]], 0),
    lambda xp, a, f: xp.repeat(a, xp.asarray([1, 2], dtype="u8"), 0),
    lambda xp, a, f: xp.repeat(a, xp.asarray([1.0, 2.0]), 0),
    lambda xp, a, f: xp.repeat(a, xp.asarray([[1, 2]]), 0),
    lambda xp, a, f: xp.repeat(a, 2**40),
]


@pytest.mark.parametrize("call", REFUSED)
@agrees(raises=Exception)
def test_refused(xp, call):
    return call(xp, **{name: xp.asarray(array) for name, array in ARRAYS.items()})


@pytest.mark.parametrize(
    ("shapes", "message"),
    [
        ([], "^need at least one array to concatenate$"),
        ([(), ()], "^zero-dimensional arrays cannot be concatenated$"),
        (
            [(2, 3), (3, 3)],
            "^all the input array dimensions except for the concatenation axis must match exactly, but along dimension "
            "0, the array at index 0 has size 2 and the array at index 1 has size 3$",
        ),
        (
            [(2, 3), (3,)],
            r"^all the input arrays must have same number of dimensions, but the array at index 0 has 2 dimension\(s\) "
            r"and the array at index 1 has 1 dimension\(s\)$",
        ),
    ],
)
def test_concatenate_says_what_numpy_says(shapes, message):
    for xp in (np, tnp):
        with pytest.raises(ValueError, match=message):
            xp.concatenate([xp.zeros(shape) for shape in shapes], axis=-1 if len(shapes) == 2 and shapes[0] else 0)


@agrees(raises=ValueError)
def test_shapes_are_looked_at_before_dtypes(xp):
    return xp.concatenate([xp.zeros((2, 3), int), xp.zeros((2, 2))], dtype="uint64")


@agrees
def test_dtype_that_no_tensor_has(xp):
    return xp.concatenate([["1"], ["2"]], dtype="U3")


BLOCKS = [
    lambda xp, a, f: xp.block(3),
    lambda xp, a, f: xp.block(a),
    lambda xp, a, f: xp.block([a, f]),
    lambda xp, a, f: xp.block([[a], [f[0]]]),
    lambda xp, a, f: xp.block([[a, a], [f, f]]),
    lambda xp, a, f: xp.block([[[a]], [[a]]]),
    lambda xp, a, f: xp.block([1, 2.5]),
    lambda xp, a, f: xp.block([[xp.eye(2), xp.zeros((2, 3))], [xp.ones((3, 2)), 3 * xp.eye(3)]]),
]


@pytest.mark.parametrize("call", BLOCKS)
@agrees
def test_block(xp, call):
    return call(xp, **{name: xp.asarray(array) for name, array in ARRAYS.items()})


def test_block_of_one_array_is_a_copy():
    array = tnp.arange(3)
    tnp.block(array)[0] = 7
    tnp.block([array])[0] = 7
    assert array[0] == 0


@pytest.mark.parametrize("dtype", ALL)
@pytest.mark.parametrize(
    "reps", [0, 1, 2, (), (2, 1), (2, 2, 1), (1, 1, 2), [0, 2], np.array([2, 1]), np.int64(3), {}, {3: 1}], ids=str
)
@agrees
def test_tile(xp, reps, dtype):
    return xp.tile(sample(xp, (2, 3), dtype), reps), xp.tile(3, reps), xp.tile([], reps)


def test_tile_copies():
    array = tnp.arange(3)
    tnp.tile(array, 1)[0] = 7
    assert array[0] == 0


@pytest.mark.parametrize("dtype", ALL)
@agrees
def test_repeat_in_every_dtype(xp, dtype):
    array = sample(xp, (2, 3), dtype)
    return [xp.repeat(array, 2), xp.repeat(array, 2, 1), xp.repeat(array, [0, 3], 0), xp.repeat(array, [1, 0, 2], -1)]


@pytest.mark.parametrize(
    "repeats",
    [0, True, 1.5, [2], [1.0, 2.0], [True, False], np.uint8(2), np.array(2), np.array([1, 2], "u1"), [0, 0]],
    ids=str,
)
@agrees
def test_counts(xp, repeats):
    counts = xp.asarray(repeats) if isinstance(repeats, np.ndarray) else repeats
    return xp.repeat(xp.asarray([[1, 2, 3], [4, 5, 6]]), counts, axis=0)


@pytest.mark.parametrize("counts", [2, [2]])
def test_counts_of_unsigned_integers(counts: Any) -> None:
    errors = [outcome(lambda xp: xp.repeat(1, xp.asarray(counts, "u8")), xp).error for xp in (np, ours())]
    assert (type(errors[1]), str(errors[1])) == (type(errors[0]), str(errors[0]))


@given(array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=3), st.data())
def test_repeat_of_random_shapes(shape, data):
    axis = data.draw(st.none() | st.integers(-3, 2))
    repeats = data.draw(st.integers(0, 3) | st.lists(st.integers(0, 3), max_size=4))
    compare(lambda xp: xp.repeat(sample(xp, shape, "int64"), repeats, axis))


def test_joining_batches_and_differentiates():
    def joined(tensor: torch.Tensor) -> torch.Tensor:
        row = tnp.concatenate([tensor, tnp.stack([tensor[0], tensor[1]]), [7.0]])
        return tnp.repeat(tnp.tile(row, 2), [2] * 14).tensor + tnp.block([[row, row], [row, row]]).tensor.reshape(-1)

    batch = torch.arange(8.0, dtype=torch.float64).reshape(2, 4)
    assert torch.equal(torch.vmap(joined)(batch), torch.stack([joined(one) for one in batch]))
    assert torch.autograd.gradcheck(joined, (batch[0].clone().requires_grad_(),))


@agrees(raises=TypeError)
@pytest.mark.parametrize("casting", ["no", "equiv"])
@pytest.mark.parametrize("name", ["concatenate", "stack", "hstack", "vstack"])
def test_casting_rule_of_the_common_dtype(xp, name, casting):
    return getattr(xp, name)([xp.ones(2, "int32"), xp.ones(2, "int64")], casting=casting)


@pytest.mark.parametrize("blocks", [[1, [2]], [1, []], [[1], 2], [[], 2], [[1], []], [[]], [[[1]], [[]]]])
def test_blocks_of_several_depths(blocks: Any) -> None:
    texts = []
    for xp in (np, tnp):
        with pytest.raises(ValueError) as error:
            xp.block(blocks)
        texts.append(str(error.value).partition(".")[0])
    assert texts[0] == texts[1]


@agrees(raises=ValueError)
@pytest.mark.parametrize("dtype", ["uint64", "float64", "int64"])
def test_counts_of_two_dimensions_are_too_deep_of_any_dtype(xp: Any, dtype: str) -> Any:
    return xp.repeat(xp.ones(2), xp.ones((2, 1), dtype))
