"""Arrays from data that is there, against NumPy: requirements, buffers, iterators and text."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tnp
from tests.oracle import ALL, agrees, compare


@pytest.mark.parametrize("dtype", [None, "float32", "uint16"])
@pytest.mark.parametrize("source", [[[1, 2], [3, 4]], 3, [1.5], []])
@agrees
def test_conversions(xp, source, dtype):
    arrays = [
        xp.asanyarray(source, dtype),
        xp.ascontiguousarray(source, dtype),
        xp.asfortranarray(source, dtype),
        xp.asarray_chkfinite(source, dtype),
    ]
    return arrays, [array.strides for array in arrays]


@pytest.mark.parametrize("name", ["asanyarray", "ascontiguousarray", "asfortranarray", "require"])
def test_nothing_is_copied_without_need(name):
    vector = tnp.arange(3)
    assert getattr(tnp, name)(vector) is vector


@agrees
def test_orders(xp):
    array = xp.asarray(np.arange(6).reshape(2, 3))
    flags = xp.isfortran(array), xp.isfortran(array.T), xp.isfortran(array[0])
    flags += tuple([xp.isfortran(view) for view in (array[::-1].T, xp.rot90(array), array[:, ::-1], array[:, :1].T)])
    return (
        flags,
        xp.ascontiguousarray(array.T).strides,
        xp.asfortranarray(array).strides,
        xp.asfortranarray(array.T).strides,
    )


@pytest.mark.parametrize("bad", [np.nan, np.inf, complex(0, np.nan)])
@agrees(raises=ValueError)
def test_chkfinite(xp, bad):
    return xp.asarray_chkfinite([1.0, bad])


@pytest.mark.parametrize(
    "requirements", [None, [], "C", ["F"], ["f_contiguous", "owndata"], ["W", "A", "E"], "CF", ["X"], ["FORTRAN", "C"]]
)
@pytest.mark.parametrize("dtype", [None, "float32"])
def test_require(requirements, dtype):
    compare(lambda xp: xp.require(xp.asarray([[1, 2], [3, 4]]), dtype, requirements), may_raise=(KeyError, ValueError))
    compare(lambda xp: xp.require([[1, 2], [3, 4]], dtype, requirements).strides, may_raise=(KeyError, ValueError))


@agrees
def test_require_makes_a_broadcast_view_writeable(xp):
    array = xp.require(xp.broadcast_to(3, 4), requirements=["W"])
    array[1] = 5
    return array


@pytest.mark.parametrize("dtype", ALL)
@agrees
def test_fromiter(xp, dtype):
    return xp.fromiter((i % 2 for i in range(4)), dtype), xp.fromiter([1, 0, 1], dtype, count=2), xp.fromiter([], dtype)


@pytest.mark.parametrize("arguments", [(range(2), int, 5), (3, int), ([1, "a"], int), ([[1, 2]], int)])
@agrees(raises=Exception)
def test_fromiter_refuses(xp, arguments):
    return xp.fromiter(*arguments)


def test_fromiter_takes_arrays_of_one_element():
    np.testing.assert_array_equal(tnp.asnumpy(tnp.fromiter(tnp.arange(3), "u2")), np.arange(3, dtype="u2"))


@pytest.mark.parametrize("dtype", ALL)
@agrees
def test_frombuffer(xp, dtype):
    data = bytes(16 * [0, 1])
    return xp.frombuffer(data, dtype), xp.frombuffer(data, dtype, 1, 16), xp.frombuffer(bytearray(data), dtype)


@pytest.mark.parametrize("arguments", [(b"abc", "u2"), (b"ab", "u1", 9), (b"ab", "u1", -1, 7), ("abc",)])
@agrees(raises=Exception)
def test_frombuffer_refuses(xp, arguments):
    return xp.frombuffer(*arguments)


def test_frombuffer_shares_what_can_be_written():
    data = bytearray(4)
    array = tnp.frombuffer(data, tnp.uint8)
    array[1] = 7
    data[2] = 9
    assert bytes(data) == b"\0\x07\x09\0"
    assert array.tolist() == [0, 7, 9, 0]


@pytest.mark.parametrize(
    "arguments", [("1 2 3", float, -1, " "), ("1,2,3", int, -1, ","), ("1, 2", "i2", 1, ","), ("", "f4", -1, " ")]
)
@agrees
def test_fromstring(xp, arguments):
    *positional, sep = arguments
    return xp.fromstring(*positional, sep=sep)


@pytest.mark.parametrize("dtype", ["U2", object, np.longdouble])
@pytest.mark.parametrize("name", ["fromiter", "frombuffer", "ascontiguousarray", "asanyarray"])
def test_dtype_that_no_tensor_has(name, dtype):
    data = b"12345678" * 4 if name == "frombuffer" else [1, 2]
    compare(lambda xp: getattr(xp, name)(data, dtype), may_raise=ValueError)


@pytest.mark.parametrize(
    ("items", "dtype"), [([(1, 2), (3, 4)], "2i"), ([(1, 2, 3)], "2i"), ([["12", ""]], str), ([1, None], int)]
)
def test_fromiter_of_subarrays_and_no_numbers(items: list[object], dtype: object) -> None:
    compare(lambda xp: xp.fromiter(iter(items), np.dtype(dtype)), may_raise=(TypeError, ValueError))


def test_an_axis_of_length_one_has_any_stride() -> None:
    def ordered(xp: Any) -> Any:
        x = xp.zeros((1, 2, 2), "f2")[::2]
        y = xp.ascontiguousarray(x)
        return y.strides, xp.shares_memory(x, y), xp.shares_memory(x, xp.asarray(x, order="C"))

    compare(ordered)
