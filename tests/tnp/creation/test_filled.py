"""Creation against NumPy: dtypes, memory orders, fill values, and every error."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import tnp
from tests.oracle import ALL, agrees, compare, ours, outcome

SHAPES = [(), 3, (2, 3), [2, 0], (np.int64(2), 1), np.array([2, 3])]


@pytest.mark.parametrize("dtype", ALL)
@pytest.mark.parametrize("order", ["C", "F", None, "f"])
@pytest.mark.parametrize("name", ["zeros", "ones"])
@agrees
def test_constant(xp, name, order, dtype):
    array = getattr(xp, name)((2, 3), dtype, order)
    return array, array.strides


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@agrees
def test_shape_arguments(xp, shape):
    return xp.zeros(shape), xp.ones(shape), xp.full(shape, 2.5), xp.empty(shape).shape


@pytest.mark.parametrize("dtype", [None, float, int, "complex", np.uint16, "f2", np.dtype(bool), "i8", bool])
@agrees
def test_dtype_arguments(xp, dtype):
    return (
        xp.zeros(2, dtype),
        xp.ones(2, dtype=dtype),
        xp.full(2, 1, dtype),
        xp.eye(2, dtype=dtype),
        xp.identity(2, dtype),
    )


@pytest.mark.parametrize("dtype", ["U3", object, "M8[s]", np.longdouble, "S", "V4", "no dtype"])
@pytest.mark.parametrize("name", ["zeros", "ones", "empty"])
def test_dtype_that_no_tensor_has(name, dtype):
    raises = TypeError if dtype == "no dtype" else ()
    compare(lambda xp: getattr(xp, name)(3, dtype)[:0], raises=raises)


@pytest.mark.parametrize("shape", [-1, (2, -1), 2.0, "a", (2, 3.0), (1,) * 65, 2**62, (2**40, 2**40), 2**70])
@pytest.mark.parametrize("name", ["zeros", "ones", "empty"])
def test_shape_that_is_none(name, shape):
    compare(lambda xp: getattr(xp, name)(shape), raises=(TypeError, ValueError))


EMPTY_AND_TOO_BIG = """
np.zeros((0, 2**40, 2**40)); np.ones((2**40, 0, 2**40)); np.empty((2**60, 0)); np.full((0, 2**60), 3)
np.zeros((0, 2**70)); np.full((0, 2**60), [3]); np.zeros((0, 2**59), complex); np.zeros((0, 2**63), "int8")
np.zeros_like(f, shape=(0, 2**40, 2**40)); np.full_like(f, 2, shape=(0, 2**60)); np.ones_like(b, dtype=float)
b.astype(float); np.asarray(b, dtype=float); b + 1.5; np.sqrt(b); b.sum(0); b.sum(0, keepdims=True); b.cumsum(0)
f.reshape(0, 2**40, 2**40); f.reshape(2**40, 2**40, -1); f.reshape((2**40, 2**40, 0), order="F")
np.resize(f, (0, 2**60)); f.reshape((0, 2**40, 2**40), order="F")
np.resize([1.0], (0, 2**40, 2**40)); f.__setattr__("shape", (0, 2**60)); np.broadcast_to(1.0, (0, 2**60))
np.broadcast_arrays(c, c.swapaxes(1, 2)); c * c.swapaxes(1, 2); np.where(c > 0, c.swapaxes(1, 2), 1.0)
np.tile(c, (1, 1, 2**40)); np.tile(c, (2**40, 1, 1, 2)); np.repeat(c, 2**40, axis=2); np.multiply.outer(c, c)
np.kron(c, c); np.concatenate([np.zeros((0, 2**59))] * 2, axis=1); np.indices((0, 2**40, 2**40))
np.stack([np.zeros((0, 2**59))] * 2); np.block([np.zeros((0, 2**59))] * 2); np.tensordot(c, c, 0); c @ c.swapaxes(1, 2)
np.einsum("ijk,lmn->ijklmn", c, c); np.pad(c, ((0, 0), (0, 0), (0, 2**40))); np.fft.fft(np.zeros((0, 2**59)))
np.vander(f, 2**60); np.choose(c.astype(int), [c.swapaxes(1, 2)]); np.interp(np.zeros((0, 2**59)), [0, 1], [0, 1j])
"""


@pytest.mark.parametrize("code", re.split(r"[;\n]\s*", EMPTY_AND_TOO_BIG.strip()))
def test_lengths_beside_zero_that_no_memory_holds(code):
    def call(np):
        b, c, f = np.zeros((0, 2**62), "int8"), np.zeros((0, 2**40, 1)), np.zeros(0)
        return eval(code, {"np": np, "b": b, "c": c, "f": f})

    compare(call, raises=(ValueError, TypeError))


def test_shape_is_not_none():
    with pytest.raises(TypeError, match=r"Use \(\) not None"):
        tnp.zeros(None)


@pytest.mark.parametrize("order", ["K", "A", "x", 3])
def test_order_that_is_none(order):
    compare(lambda xp: xp.zeros(3, order=order), raises=(TypeError, ValueError))
    compare(lambda xp: xp.zeros_like([3], order=order).shape, may_raise=(TypeError, ValueError))


@pytest.mark.parametrize("dtype", [None, *ALL])
@pytest.mark.parametrize("value", [0, 1, -1, 200, 2.75, True, 1 + 2j, 2**63, 1e300, np.float32(1.5), np.int8(-3)])
def test_full_converts_the_value_as_numpy(value, dtype):
    compare(lambda xp: xp.full((2, 2), value, dtype), may_raise=OverflowError)
    compare(lambda xp: xp.full_like(xp.zeros(3), value, dtype), may_raise=OverflowError)


@pytest.mark.parametrize(
    "value", [[1, 2, 3], [[1.5], [2.5]], np.arange(3, dtype="u2"), [1, 2], [[[1]]], [[1, 2, 3]] * 3]
)
@pytest.mark.parametrize("dtype", [None, "int16", "float32"])
def test_full_broadcasts_arrays(value, dtype):
    compare(lambda xp: xp.full((2, 3), value, dtype), may_raise=ValueError)
    compare(lambda xp: xp.full_like(xp.zeros((2, 3), order="F"), value, dtype), may_raise=ValueError)
    compare(lambda xp: xp.full((2, 3), xp.asarray(value), dtype), may_raise=ValueError)


def test_full_names_both_shapes():
    with pytest.raises(ValueError, match=r"from shape \(2,\) into shape \(2,3\)"):
        tnp.full((2, 3), [1, 2])
    with pytest.raises(ValueError, match=r"from shape \(2,\) into shape \(3,\)"):
        tnp.full_like([1, 2, 3], [1, 2])


def test_full_keeps_the_gradient_of_its_value():
    value = torch.tensor(2.0, dtype=torch.float64, requires_grad=True)
    (tnp.full((2, 3), value).tensor.sum() + tnp.full_like(tnp.zeros((3, 2)).T, value).tensor.sum()).backward()
    assert value.grad == 12


LAYOUTS = {
    "C": lambda xp: xp.ones((2, 3, 4)),
    "F": lambda xp: xp.ones((2, 3, 4), order="F"),
    "transposed": lambda xp: xp.transpose(xp.ones((2, 3, 4)), (1, 2, 0)),
    "strided": lambda xp: xp.ones((2, 3, 8))[:, :, ::2],
    "broadcast": lambda xp: xp.broadcast_to(xp.ones((3, 1)), (4, 3, 2)),
    "broadcast and transposed": lambda xp: xp.broadcast_to(xp.ones(3), (2, 4, 3)).transpose(2, 0, 1),
    "scalar": lambda xp: xp.ones(()),
    "list": lambda xp: [[1, 2], [3, 4]],
    "number": lambda xp: 1.5,
}


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("order", ["C", "F", "A", "K"])
@pytest.mark.parametrize("dtype", [None, "uint32", "complex64"])
@pytest.mark.parametrize("shape", [None, (4, 3, 2), (5, 6), 2, ()])
@agrees
def test_like_keeps_the_memory_order(xp, shape, dtype, order, layout):
    prototype = LAYOUTS[layout](xp)
    arrays = [
        xp.zeros_like(prototype, dtype, order, shape=shape),
        xp.ones_like(prototype, dtype, order, shape=shape),
        xp.full_like(prototype, 7, dtype, order, shape=shape),
    ]
    return arrays, [array.strides for array in arrays], xp.empty_like(prototype, dtype, order, shape=shape).strides


@pytest.mark.parametrize("dtype", ALL)
@pytest.mark.parametrize("order", ["C", "F"])
@agrees
def test_eye_knows_every_dtype(xp, order, dtype):
    matrix = xp.eye(3, 4, 1, dtype, order)
    return matrix, matrix.strides, xp.identity(3, dtype)


@given(st.integers(0, 5), st.none() | st.integers(0, 5), st.integers(-7, 7))
def test_eye_has_numpys_diagonals(n, m, k):
    compare(lambda xp: xp.eye(n, m, k))


@pytest.mark.parametrize("arguments", [(-1,), (2, -1), (2.0,), (2, 3, 1.0), ("a",)])
def test_eye_refuses(arguments):
    compare(lambda xp: xp.eye(*arguments), raises=(TypeError, ValueError))


def test_like_takes_tnp_arrays_only():
    assert tnp.zeros(2, like=tnp.ones(3)).shape == (2,)
    for make in (tnp.zeros, tnp.ones, tnp.empty, tnp.identity, tnp.arange):
        with pytest.raises(TypeError, match="like"):
            make(2, like=np.ones(3))


def test_device_is_torchs():
    assert tnp.zeros(2, device="cpu").tensor.device.type == "cpu"
    assert tnp.zeros_like(tnp.ones(2), device="meta").tensor.device.type == "meta"
    assert tnp.empty_like(tnp.zeros(2, device="meta")).tensor.device.type == "meta"
    with pytest.raises(ValueError, match="device"):
        tnp.ones(2, device="no device")


@pytest.mark.parametrize("dtype", ["uint8", "int16", "bool"])
def test_lists_that_fill_are_cast_as_arrays_are(dtype: str) -> None:
    for value in ([300.5, 1.5], [300, 1], [-1, 1], [-1.5, 1.0], (1, 0)):
        compare(lambda xp, value=value: xp.full_like(xp.zeros((2, 2), dtype), value))
        compare(lambda xp, value=value: xp.full((2, 2), value, dtype))


def test_too_little_memory() -> None:
    kinds = []
    for xp in (np, tnp):
        with pytest.raises(MemoryError, match=r"Unable to allocate 4\.00 EiB for an array with shape") as caught:
            xp.empty((2**31, 2**31), "u1")
        kinds.append((caught.type, str(caught.value)))
    assert kinds[0] == kinds[1]


@pytest.mark.parametrize("order", [99, "Q", "K", "A"])
def test_the_order_is_read_before_the_value(order: Any) -> None:
    compare(lambda xp: xp.full(3, 2**63 - 1, "int32", order), raises=(TypeError, ValueError))


@pytest.mark.parametrize("shape", [1, 1.5, None, -1])
@pytest.mark.parametrize("dtype", ["x", 99, None, np.zeros(0, int)])
def test_the_order_is_read_after_shape_and_dtype(shape: Any, dtype: Any) -> None:
    errors = [outcome(lambda xp: xp.full(shape, 1, dtype, "K"), xp).error for xp in (np, ours())]
    assert (type(errors[1]), str(errors[1])) == (type(errors[0]), str(errors[0]))


def test_none_is_a_value() -> None:
    for dtype in ("float32", "float64", "int64"):
        compare(lambda xp, dtype=dtype: xp.full_like(xp.ones(3, dtype), None), may_raise=TypeError)
        compare(lambda xp, dtype=dtype: xp.full_like(xp.ones(3, dtype)[::-1], None), may_raise=TypeError)


@pytest.mark.parametrize("dtype", ["?", "u1", "i8", "f4", "c16"])
def test_numbers_that_fill_what_is_like_an_array_are_truncated(dtype: str) -> None:
    for value in (0, 1, 5, -1, 2.7, -2.7, 256.5, 2**63, 2**70, True, 1e30):
        compare(
            lambda xp, value=value: (xp.full_like(xp.zeros((2, 3), dtype), value), xp.zeros_like(xp.ones(2, dtype))),
            may_raise=OverflowError,
        )
