"""asarray, array, astype, copy and from_dlpack: values, dtypes, errors, and what shares memory with what."""

from __future__ import annotations

import array as python_array
import decimal
import fractions
import math
import pickle
import warnings
from collections import deque, namedtuple
from collections.abc import Callable
from typing import Any

import array_api_strict
import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.exceptions import ComplexWarning

import tnp
from tests.oracle import ALL, COMPLEX, FLOATS, INTEGERS, Raised, agrees, compare, ours, outcome
from tnp._core.trees import holds, kinds

Pair = namedtuple("Pair", "x y")


class WithArray:
    """An object that NumPy reads through ``__array__``."""

    def __init__(self, values: np.ndarray) -> None:
        self.values = values

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return np.array(self.values, dtype=dtype, copy=copy)


class WithInterface:
    """An object that NumPy reads through ``__array_interface__``."""

    def __init__(self, values: np.ndarray) -> None:
        self.values = values
        self.__array_interface__ = values.__array_interface__


class WithDlpack:
    """An object that speaks DLPack and nothing else."""

    def __init__(self, values: np.ndarray) -> None:
        self.values = values

    def __dlpack__(self, **options: Any) -> Any:
        return self.values.__dlpack__(**options)

    def __dlpack_device__(self) -> Any:
        return self.values.__dlpack_device__()


def read_only(values: np.ndarray) -> np.ndarray:
    values.flags.writeable = False
    return values


def unaligned() -> np.ndarray:
    return np.frombuffer(bytearray(25), np.uint8)[1:].view(np.float64)


SHARED = {
    "C": lambda: np.arange(6.0).reshape(2, 3),
    "F": lambda: np.asfortranarray(np.arange(6.0).reshape(2, 3)),
    "strided": lambda: np.arange(12.0)[::2],
    "0-d": lambda: np.array(5.0),
    "view": lambda: np.arange(24).reshape(2, 3, 4)[1, :, 1:3],
    "structured": lambda: np.zeros(3, [("x", "f4"), ("y", "f4")])["y"],
    "negative strides": lambda: np.arange(6).reshape(2, 3)[:, ::-1],
    "reversed": lambda: np.arange(6).reshape(2, 3)[::-1, ::-1].T,
    "unaligned": unaligned,
    "between elements": lambda: np.zeros(3, [("x", "i1"), ("y", "f4")])["y"],
    "memoryview": lambda: memoryview(bytearray(b"abcd")),
    "bytearray": lambda: memoryview(bytearray(16)).cast("d"),
    "array.array": lambda: python_array.array("i", [1, 2, 3]),
    "interface": lambda: WithInterface(np.arange(3.0)),
    "__array__": lambda: WithArray(np.arange(3.0)),
    "matrix": lambda: np.matrix([[1, 2], [3, 4]]),
    "masked": lambda: np.ma.masked_array([1, 2], [True, False]),
}
COPIED = {
    "foreign byte order": lambda: np.arange(3, dtype=">f4"),
    "bytes": lambda: memoryview(b"abc"),
}
PYTHON = [
    5, 2.5, 1j, True, -0.0, math.inf, 2**62, 2**63, -(2**63), np.float32(3), np.uint8(4), np.bool_(True), np.int64(5),
    [], [[]], [[], []], (), [1, 2], (1, 2.5), [True, 2], [1, 2j], [[1, 2], [3, 4]], range(5), [range(2), range(2)],
    [2**63], [2**63, -1], [np.float32(1), 2], [np.int8(1), 2], [np.array([1, 2]), [3, 4]], Pair(1, 2.0), deque([1, 2]),
    np.longlong(3), np.arange(3, dtype=np.longlong), [np.array(1), 2], np.arange(3, dtype="u8"), True, (True, False),
]  # fmt: skip


def shares(result: tnp.ndarray, source: Any) -> bool:
    return np.shares_memory(np.asarray(result), np.asarray(source.values if hasattr(source, "values") else source))


@pytest.mark.parametrize(
    "make",
    [
        lambda xp: xp.zeros(2, ">i4"), lambda xp: xp.asarray([1, 2], ">i4"), lambda xp: xp.arange(2, dtype=">i4"),
        lambda xp: xp.arange(2).astype(">i4"), lambda xp: xp.arange(2).view(">i4"), lambda xp: xp.fromiter([1], ">i4"),
        lambda xp: xp.arange(2).getfield(">i4"),
    ],
)  # fmt: skip
@pytest.mark.host  # elsewhere NumPy is given no array
def test_another_byte_order_is_numpys(make: Callable[[Any], Any]) -> None:
    compare(make)


@pytest.mark.host
def test_data_in_another_byte_order_is_read() -> None:
    data = np.arange(3, dtype=">i4").tobytes()
    for read in (tnp.frombuffer(data, ">i4"), tnp.ndarray(3, ">i4", data), tnp.array(np.frombuffer(data, ">i4"))):
        assert read.dtype == "i4" and read.tolist() == [0, 1, 2]
    assert tnp.frombuffer(data, ">i4").byteswap().tobytes() == data
    compare(lambda xp: xp.cumsum(xp.ones(3, "i4"), dtype=">i8"))


@pytest.mark.parametrize("value", PYTHON, ids=repr)
@pytest.mark.parametrize("name", ["asarray", "array"])
def test_python_data(value: Any, name: str) -> None:
    compare(lambda xp: getattr(xp, name)(value))


@pytest.mark.parametrize("dtype", ALL)
@pytest.mark.parametrize("value", [5, -1, 2.75, 300, True, 1j, [1.5, -2.5], [1, 2.5, True], "1", ["1", "2"], [2**40]])
def test_python_data_in_a_dtype(value: Any, dtype: str) -> None:
    compare(lambda xp: xp.asarray(value, dtype), may_raise=(OverflowError, TypeError))
    compare(lambda xp: xp.array(value, dtype=dtype), may_raise=(OverflowError, TypeError))


@pytest.mark.host
@pytest.mark.parametrize("source", SHARED)
def test_memory_is_shared_where_it_can_be(source: str) -> None:
    value = SHARED[source]()
    compare(lambda xp: xp.asarray(value))
    x = tnp.asarray(value)
    assert shares(x, value) and shares(tnp.asarray(value, copy=False), value)
    assert shares(tnp.array(value, copy=None), value) and shares(tnp.array(value, copy=False), value)
    assert not shares(tnp.array(value), value) and not shares(tnp.asarray(value, copy=True), value)
    assert x.size < 2 or x.strides == np.asarray(value).strides
    x[...] = 1
    assert (np.asarray(value.values if hasattr(value, "values") else value) == 1).all()


@pytest.mark.host
@pytest.mark.parametrize("source", COPIED)
def test_memory_that_no_tensor_has_is_copied(source: str) -> None:
    value = COPIED[source]()
    compare(lambda xp: xp.asarray(value, np.asarray(value).dtype.newbyteorder("=")))
    x = tnp.asarray(value)
    assert not shares(x, value) and x.flags.writeable
    before = np.array(value)
    x[...] = 1
    assert (np.asarray(value) == before).all()
    assert (tnp.array(value).tolist(), tnp.array(value, copy=None).tolist()) == (before.tolist(), before.tolist())
    with pytest.raises(ValueError, match="Unable to avoid copy"):
        tnp.asarray(value, copy=False)


@pytest.mark.parametrize("value", [5, 2.5, [1, 2], (1, 2), np.float64(1), range(3)], ids=repr)
@agrees(raises=ValueError)
def test_python_data_is_never_shared(xp: Any, value: Any) -> None:
    xp.asarray(value, copy=False)


@pytest.mark.parametrize("copy", [None, False, True])
@pytest.mark.parametrize("order", [None, "C", "F", "A", "K"])
@pytest.mark.parametrize("dtype", [None, "float64", "float32"])
@pytest.mark.parametrize("layout", ["C", "F", "strided", "1-d"])
def test_arrays_are_copied_when_numpy_copies(copy: bool | None, order: str, dtype: str | None, layout: str) -> None:
    def run(xp: Any) -> Any:
        x = xp.asarray(np.arange(24.0).reshape(4, 6))
        x = {"C": x, "F": x.T, "strided": x[::2, ::3], "1-d": x[0]}[layout]
        results = [xp.asarray(x, dtype, order, copy=copy), xp.array(x, dtype, copy=copy, order=order)]
        results.append(xp.array(x, dtype, copy=copy, order=order, ndmin=3))
        x += 100.0  # which those see that share its memory
        return results, [[s for s, n in zip(r.strides, r.shape, strict=True) if n > 1] for r in results]

    compare(run, may_raise=ValueError)


@pytest.mark.parametrize("order", ["C", "F", "K"])
def test_copies_are_copies_in_a_trace_too(order: str) -> None:
    def change(x: Any) -> Any:
        for y in (x.T, x):
            for copied in (y.astype(y.dtype, order), tnp.array(y, order=order), tnp.copy(y, order), y.copy(order)):
                copied += 1
        return x * 1

    x = tnp.asarray([[1.0, 2.0], [3.0, 4.0]])
    assert tnp.compile(change)(x).tolist() == x.tolist() == [[1, 2], [3, 4]]


@pytest.mark.host
def test_an_array_is_returned_as_it_is() -> None:
    x = tnp.arange(6).reshape(2, 3)
    assert tnp.asarray(x) is x
    assert tnp.asarray(x, x.dtype, "C", copy=False, device="cpu") is x
    assert tnp.array(x, copy=None) is x
    assert x.astype(x.dtype, copy=False) is x and tnp.astype(x, x.dtype, copy=False) is x
    assert x.astype(x.dtype) is not x


@agrees
def test_array_of_a_scalar_is_an_array(xp: Any) -> Any:
    s = xp.asarray([1.0, 2.0])[0]
    a = xp.asarray(s)
    a[...] = 5
    b = xp.array(s, ndmin=2)
    b += 1
    return s, a, b, a.shape


@agrees(raises=ValueError)
def test_a_scalar_is_always_copied(xp: Any) -> None:
    xp.asarray(xp.ones(2)[0], copy=False)


@agrees
def test_ndmin(xp: Any) -> Any:
    return [xp.array(v, ndmin=n) for v in (1, [1, 2], [[1]]) for n in range(4)]


@pytest.mark.parametrize(
    "value",
    [
        [1, [2, 3]], [[1, 2], [3]], [[[1], [2]], [[3], [4, 5]]], [np.ones(2), np.ones(3)],
        [np.ones((2, 2)), [[1, 2, 3]] * 2],
        [1, np.ones(2)],
    ],
)  # fmt: skip
def test_ragged_sequences(value: Any) -> None:
    expected = compare(lambda xp: xp.asarray(value), raises=ValueError)
    assert isinstance(expected, Raised)
    ours = [tnp.asarray(v) if isinstance(v, np.ndarray) else v for v in value]
    with pytest.raises(ValueError, match="inhomogeneous shape after") as caught:
        tnp.asarray(ours)
    assert str(caught.value) == str(expected.error)


@pytest.mark.parametrize(
    ("value", "dtype"),
    [
        ("a", "<U1"), (["a", "b"], "<U1"), (b"a", "S1"), (None, "O"), ([1, None], "O"), (object(), "O"), ({1: 2}, "O"),
        ((i for i in range(3)), "O"), (decimal.Decimal(1), "O"), (fractions.Fraction(1, 2), "O"), ([10**30], "O"),
        (np.datetime64("2020-01-01"), "<M8"), (np.timedelta64(1, "s"), "<m8"), (np.longdouble(1), "float128"),
        (np.zeros(2, [("x", int)]), "'x'"), (np.array(["a"], object), "O"), ({1, 2}, "O"),
        (np.clongdouble(1), "complex256"),
    ],
)  # fmt: skip
def test_data_that_no_tensor_carries(value: Any, dtype: str) -> None:
    if dtype.endswith(("128", "256")) and np.dtype(np.longdouble).itemsize != 16:
        pytest.skip("long double is no wider here")
    for make in ("asarray", "array", "asanyarray", "ascontiguousarray", "atleast_1d"):
        compare(lambda xp, make=make: getattr(xp, make)(value))
    compare(lambda xp: xp.asarray([value]))
    with pytest.raises(TypeError, match=r"no tensor has dtype .*" + dtype):
        tnp.asarray(value, device="meta")


@pytest.mark.parametrize("dtype", ["U3", "S2", "O", "M8[s]", "m8", [("x", int)], "V4"])
@pytest.mark.host  # elsewhere NumPy is given no array
def test_dtypes_that_no_tensor_carries(dtype: Any) -> None:
    compare(lambda xp: xp.asarray([1], dtype), may_raise=TypeError)
    compare(lambda xp: xp.ones(2).astype(dtype), may_raise=(TypeError, ValueError))
    compare(lambda xp: xp.zeros(2, dtype))


@pytest.mark.host
@pytest.mark.parametrize("value", [np.array(["1.5", "2"]), np.array([1, 2.5], object), np.array([1, 2], np.longdouble)])
@agrees
def test_numpy_reads_numbers_from_other_dtypes(xp: Any, value: Any) -> Any:
    return xp.asarray(value, dtype=float), xp.array(value, np.float32)


@agrees(raises=OverflowError)
def test_python_integers_must_fit(xp: Any) -> None:
    xp.asarray([1, 300], dtype=np.uint8)


@agrees(raises=ValueError)
def test_unknown_order(xp: Any) -> None:
    xp.asarray([1], order="X")


def test_like_is_of_this_library() -> None:
    assert tnp.asarray([1], like=tnp.ones(1)).tolist() == [1]
    with pytest.raises(TypeError, match="like"):
        tnp.asarray([1], like=np.ones(1))


# Lists with arrays in them.


@pytest.mark.parametrize(
    "make",
    [
        lambda x: [x, x],
        lambda x: [x, [1, 2, 3]],
        lambda x: [[1, 2, 3], x],
        lambda x: (x, (4.5, 5, 6)),
        lambda x: [[x, x], [x, x]],
        lambda x: [x[0], x[1]],
        lambda x: [x[0], 2],
        lambda x: [x[0], 2.5],
        lambda x: [[x[0], 1], [2, x[1]]],
        lambda x: [x[0], True],
        lambda x: [x[0], 2j],
    ],
)
@pytest.mark.parametrize("dtype", ["int8", "uint16", "float32", "uint64", "complex64", "bool"])
def test_lists_of_arrays(make: Any, dtype: str) -> None:
    def run(xp: Any) -> Any:
        x = xp.asarray(np.array([1, 0, 3]).astype(dtype))
        return xp.asarray(make(x)), xp.asarray(make(x), complex), xp.array(make(x), np.bool_)

    compare(run)


def test_lists_of_arrays_keep_gradients_and_mix_libraries() -> None:
    t = torch.ones(2, dtype=torch.float64, requires_grad=True)
    x = tnp.asarray([[tnp.asarray(t)[0] * 2, 3.0], [t[1], np.float64(5)]])
    assert x.tensor.requires_grad and x.tolist() == [[2, 3], [1, 5]]
    x.tensor.sum().backward()
    assert t.grad is not None and t.grad.tolist() == [2, 1]


def test_integers_in_lists_keep_their_value() -> None:
    big = tnp.asarray([2**62 + 1])
    assert tnp.asarray([big, [1]], np.int64).tolist() == [[2**62 + 1], [1]]
    with pytest.raises(OverflowError):
        tnp.asarray([tnp.uint8(1), tnp.ones(2, np.uint8)[0], 300], np.uint8)


# torch, DLPack and protocols.


@pytest.mark.parametrize("dtype", ALL)
def test_torch_tensors_are_wrapped(dtype: str) -> None:
    tensor = torch.ones(2, 3).to(getattr(torch, dtype))
    x = tnp.asarray(tensor)
    assert x.tensor is tensor and x.dtype == np.dtype(dtype)
    assert tnp.array(tensor).tensor.data_ptr() != tensor.data_ptr()
    assert tnp.asarray(tensor, copy=False).tensor is tensor


def test_torch_tensors_of_other_kinds() -> None:
    grad = torch.ones(2, requires_grad=True)
    assert tnp.asarray(grad).tensor is grad and (tnp.array(grad) * 2).tensor.requires_grad
    lazy = torch.tensor([1 + 2j]).conj()
    assert tnp.asarray(lazy).tolist() == [1 - 2j] and tnp.asarray(lazy).view(np.float32).tolist() == [1, -2]
    assert np.asarray(tnp.asarray(lazy)).tolist() == [1 - 2j] and tnp.asarray(lazy).imag.tolist() == [-2]
    assert tnp.asarray(torch.nn.Parameter(torch.ones(1))).tolist() == [1]
    with pytest.raises(TypeError, match="sparse"):
        tnp.asarray(torch.ones(2).to_sparse())
    with pytest.raises(TypeError, match="float8"):
        tnp.asarray(torch.ones(2).to(torch.float8_e5m2))


def test_bfloat16() -> None:
    ml_dtypes = pytest.importorskip("ml_dtypes")
    x = tnp.asarray(torch.ones(2, dtype=torch.bfloat16))
    assert x.dtype == ml_dtypes.bfloat16 and np.asarray(x).dtype == ml_dtypes.bfloat16
    y = tnp.asarray(np.ones(2, ml_dtypes.bfloat16))
    assert y.tensor.dtype is torch.bfloat16 and (x + y).tolist() == [2, 2]
    assert tnp.asarray([1.5], ml_dtypes.bfloat16).astype(float).tolist() == [1.5]
    assert repr(x) == repr(np.asarray(x))


@pytest.mark.host
def test_dlpack_in() -> None:
    values = np.arange(6.0).reshape(2, 3)
    for x in (tnp.from_dlpack(values), tnp.asarray(WithDlpack(values)), tnp.from_dlpack(values, copy=False)):
        assert shares(x, values) and x.tolist() == values.tolist()
    assert not shares(tnp.from_dlpack(values, copy=True), values)
    assert not shares(tnp.asarray(WithDlpack(values), copy=True), values)
    assert shares(tnp.asarray(WithDlpack(values), copy=False), values)
    tensor = torch.ones(2)
    assert tnp.from_dlpack(tensor, device="cpu").tensor.data_ptr() == tensor.data_ptr()
    x = tnp.ones(2)
    assert tnp.from_dlpack(x).tensor.data_ptr() == x.tensor.data_ptr()
    strict = array_api_strict.asarray([1, 2])
    assert tnp.asarray(strict).tolist() == tnp.from_dlpack(strict).tolist() == [1, 2]


def test_dlpack_of_read_only_memory_is_read_only() -> None:
    values = read_only(np.arange(3))
    assert not tnp.from_dlpack(values).flags.writeable
    assert not tnp.from_dlpack(values, copy=False).flags.writeable
    x = tnp.from_dlpack(values, copy=True)
    x[0] = 5
    assert values.tolist() == [0, 1, 2]


@pytest.mark.parametrize("value", [5, [1, 2], "a"])
@agrees(raises=AttributeError)
def test_dlpack_of_what_has_none(xp: Any, value: Any) -> None:
    xp.from_dlpack(value)


def test_dlpack_of_a_dtype_that_is_not_numpys() -> None:
    with pytest.raises(TypeError, match="float8"):
        tnp.from_dlpack(torch.ones(2).to(torch.float8_e5m2).view(torch.float8_e5m2))


def test_a_lazily_conjugated_array_has_no_memory_to_read() -> None:
    x = tnp.asarray(torch.tensor([1 + 2j]).conj())
    assert not hasattr(x, "__array_interface__")
    with pytest.raises(ValueError, match="Unable to avoid copy"):
        np.asarray(x, copy=False)


def test_devices() -> None:
    assert str(tnp.asarray([1], device="cpu").device) == str(tnp.copy([1], device=torch.device("cpu")).device) == "cpu"
    assert tnp.astype(tnp.ones(1), int, device="cpu").dtype == int
    for make in (tnp.asarray, tnp.array, tnp.copy):
        with pytest.raises(ValueError, match="device"):
            make([1], device="nowhere")
    if not torch.cuda.is_available():
        with pytest.raises(ValueError, match="not available"):
            tnp.asarray([1], device="cuda")


# astype.

VALUES = [0, 1, -1, 2.5, -2.5, 127, 128, 200, 255, 1000, -129, 32768, 65536, 70000]


@pytest.mark.parametrize("dtype", ALL)
@agrees
def test_astype_of_every_dtype(xp: Any, dtype: str) -> Any:
    with np.errstate(invalid="ignore"):
        source = np.array(VALUES).astype(dtype)
    results = []
    for wanted in ALL:
        low, high = (0, 100) if wanted in ("uint8", "int8") else (0, 30000) if wanted in INTEGERS else (-1e9, 1e9)
        fits = [v for v in source.tolist() if low <= v.real <= high or dtype in INTEGERS + ["bool"]]
        results.append(xp.asarray(np.array(fits, dtype)).astype(wanted))
    return results


@pytest.mark.parametrize("dtype", FLOATS)
@agrees
@pytest.mark.host  # elsewhere such casts have other values
def test_astype_of_values_that_are_no_numbers(xp: Any, dtype: str) -> Any:
    x = xp.asarray(np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, 1e-45], dtype))
    return [x.astype(wanted) for wanted in [*FLOATS, *COMPLEX, "bool", "int64", "int32"]]


@pytest.mark.parametrize("make", [
    lambda xp, x: x.astype(float), lambda xp, x: xp.asarray(x, float), lambda xp, x: xp.array(x, dtype=np.int32),
    lambda xp, x: xp.astype(x, np.float32),
])  # fmt: skip
def test_a_discarded_imaginary_part_is_warned_of(make: Any) -> None:
    for xp in (np, tnp):
        with pytest.warns(ComplexWarning, match="discards the imaginary part"):
            result = make(xp, xp.asarray([1.5 + 2j]))
        assert result[0] == (1 if result.dtype.kind == "i" else 1.5)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert tnp.asarray([1j, 0]).astype(bool).tolist() == [True, False]


@pytest.mark.parametrize("casting", ["no", "equiv", "safe", "same_kind", "unsafe", "anything"])
@pytest.mark.parametrize("dtype", ALL)
def test_casting_rules(dtype: str, casting: str) -> None:
    for wanted in ALL:
        expected = outcome(lambda xp, to=wanted: xp.ones(2, dtype).astype(to, casting=casting), np)
        actual = outcome(lambda xp, to=wanted: xp.ones(2, dtype).astype(to, casting=casting), tnp)
        if isinstance(expected, Raised):
            assert isinstance(actual, Raised) and type(actual.error) is type(expected.error)
            if casting != "anything":
                assert str(actual.error) == str(expected.error)
        else:
            assert actual.dtype == wanted


def test_casting_to_the_same_value() -> None:
    assert tnp.asarray([1.0, np.nan]).astype(np.float32, casting="same_value").dtype == np.float32
    assert tnp.asarray([1.0, 2.0]).astype(int, casting="same_value").tolist() == [1, 2]
    for value, dtype in [(1.5, int), (300, np.uint8), (1e300, np.float32)]:
        with pytest.raises(ValueError, match="same_value"):
            tnp.asarray([value]).astype(dtype, casting="same_value")


@agrees
def test_function_astype(xp: Any) -> Any:
    return xp.astype(xp.arange(3), np.float32), xp.astype(xp.ones(2)[0], int), xp.astype(xp.ones(2), float, copy=False)


@agrees(raises=TypeError)
def test_function_astype_of_a_list(xp: Any) -> Any:
    return xp.astype([1, 2], float)


@agrees
def test_function_copy(xp: Any) -> Any:
    x = xp.asarray([[1, 2], [3, 4]]).T
    y = xp.copy(x)
    y[0] = 7
    return x, y, y.strides, xp.copy(x, "C").strides, xp.copy([1, 2]), xp.copy(5)


def test_gradients_go_through_conversions() -> None:
    t = torch.ones(2, requires_grad=True)
    y = tnp.asarray(t).astype(np.float64).copy().astype(np.complex64)
    (tnp.asarray(y, np.complex128).real * 3).sum().tensor.backward()
    assert t.grad is not None and t.grad.tolist() == [3, 3]


@pytest.mark.host
@given(
    hnp.arrays(st.sampled_from([np.dtype(d) for d in ALL]), hnp.array_shapes(min_dims=0, min_side=0, max_side=4)),
    st.data(),
)
def test_arrays_drawn_at_random(values: np.ndarray, data: st.DataObject) -> None:
    values = values.transpose(data.draw(st.permutations(range(values.ndim))))
    values = values[tuple(data.draw(st.slices(length)) for length in values.shape)]
    x = tnp.asarray(values)
    assert x.dtype == values.dtype and x.shape == values.shape and x.tobytes() == values.tobytes()
    assert tnp.array(x.tolist(), x.dtype).tobytes() == values.tobytes() or values.size == 0 or values.dtype.kind in "fc"
    back = np.asarray(x)
    assert back.dtype == values.dtype and np.shares_memory(back, values) == bool(values.shape and values.size)


class Measured:
    """A class of a user's own whose ``__array__`` makes an array of the namespace that the program calls np."""

    def __init__(self, xp: Any) -> None:
        self.values = xp.asarray([1.0, 2.0])

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        return self.values


@agrees
def test_array_method_that_returns_an_array(xp: Any) -> Any:
    x = Measured(xp)
    xp.asarray(x)[0] = 7
    return xp.sum(x), xp.ones(2) + x, x.values, xp.array(x, copy=True), xp.asarray(x, dtype=int)


@agrees
def test_the_array_method_is_told_the_dtype(xp: Any) -> Any:
    class Scaled:
        def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
            dtype = np.dtype("f4" if dtype is None else dtype)
            return xp.arange(3, dtype=dtype) * xp.asarray(0.1, dtype)

    x = Scaled()
    return xp.asarray(x), xp.asarray(x, "f8"), xp.array(x, dtype=float), xp.zeros(3) + x, xp.asarray(x, "f8", copy=True)


@agrees
def test_astype_of_scalars(xp: Any) -> Any:
    return xp.astype(xp.int64(10), xp.float64), xp.astype(np.arange(3), np.int8)


@pytest.mark.parametrize(("given", "wanted"), [("complex64", "float32"), ("complex128", "float64")])
def test_astype_of_complex_to_its_real_part_is_a_copy(given: str, wanted: str) -> None:
    x = tnp.ones(3, given)
    with pytest.warns(np.exceptions.ComplexWarning):
        y = x.astype(wanted)
    y[...] = 7
    assert x.tolist() == [1, 1, 1] and not tnp.shares_memory(x, y)


@pytest.mark.parametrize("dtype", ["float32", "float64", "int64"])
@pytest.mark.parametrize("given", ["complex64", "complex128"])
def test_a_conversion_to_real_shares_no_memory(given: str, dtype: str) -> None:
    def write(xp: Any) -> Any:
        z = xp.asarray([1 + 2j, 3 - 1j], dtype=given)
        for made in (
            xp.asarray(z, dtype=dtype),
            xp.array(z, dtype=dtype),
            xp.array(z, dtype=dtype, copy=None),
            z.astype(dtype),
            z.astype(dtype, copy=False),
        ):
            made[...] = 9
        return z

    compare(write)
    compare(lambda xp: xp.asarray(xp.ones(2, dtype=given), dtype=dtype, copy=False), raises=ValueError)


@pytest.mark.host
def test_a_class_may_hold_array_as_an_attribute() -> None:
    def held(xp: Any) -> Any:
        class Test:
            array = xp.array

        return Test().array([1, 2]), Test.array(3.0), pickle.loads(pickle.dumps(xp.array))([1])

    compare(held)


@pytest.mark.parametrize("options", [
    {"ndmin": 65}, {"ndmin": 3, "ndmax": 2}, {"dtype": np.dtypes.Float32DType},
    {"copy": np._CopyMode.NEVER}, {"copy": np._CopyMode.NEVER, "order": "F"}, {"copy": np._CopyMode.IF_NEEDED},
])  # fmt: skip
def test_rare_options_of_array(options: dict[str, Any]) -> None:
    compare(lambda xp: xp.array(xp.asarray([[1, 2], [3, 4]]), **options), may_raise=ValueError)
    compare(lambda xp: xp.array([[1, 2], [3, 4]], **options), may_raise=ValueError)


@pytest.mark.parametrize("name", ["ndmin", "ndmax"])
@pytest.mark.parametrize("value", [65, 2**40, -(2**40), 2**70, -(2**70)])
def test_numbers_of_dimensions_that_are_none(name: str, value: int) -> None:
    errors = [outcome(lambda xp: xp.array([1, 2], **{name: value}), xp).error for xp in (np, ours())]
    assert (type(errors[1]), str(errors[1]).strip()) == (type(errors[0]), str(errors[0]).strip())


@agrees(raises=ValueError)
def test_astype_takes_no_copy_mode(xp: Any) -> Any:
    return xp.ones(2).astype(int, copy=np._CopyMode.NEVER)


class Answering:
    """What answers NumPy's protocol with an array of the library that is tested."""

    def __init__(self, array: Any) -> None:
        self.array = array

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        return self.array


def test_what_array_returns_is_taken_as_it_is() -> None:
    for xp in (np, tnp):
        given = xp.arange(6).reshape(2, 3)
        for copy in (True, None, False):
            assert xp.array(Answering(given), copy=copy) is given
        assert xp.asarray(Answering(given), dtype=np.float32).dtype == np.float32
        assert xp.array(Answering(given), order="F") is not given
        for wrong in ({"dtype": np.float32}, {"order": "F"}):
            with pytest.raises(ValueError, match="Unable to avoid copy"):
                xp.array(Answering(given), copy=False, **wrong)
        with pytest.raises(ValueError, match="Unable to avoid copy"):
            xp.array([Answering(given)], copy=False)
        assert xp.array([Answering(given)] * 2).shape == (2, 2, 3)
        assert xp.add(Answering(given), 1).tolist() == [[1, 2, 3], [4, 5, 6]]
        with pytest.raises(ValueError, match="not producing an array"):
            xp.asarray(Answering(3))


def test_what_array_returns_where_it_knows_no_copy() -> None:
    class Old:
        def __array__(self, dtype: Any = None) -> Any:
            return given

    for xp in (np, tnp):
        given = xp.arange(3)
        assert xp.array(Old(), copy=None) is given
        with pytest.warns(DeprecationWarning, match="copy"):
            made = xp.array(Old(), copy=True)
        assert made is not given and made.tolist() == [0, 1, 2]


@pytest.mark.parametrize("dtype", ["2i", "(2,)i", "(2,2)f"])
def test_dtypes_of_subarrays_add_axes(dtype: str) -> None:
    compare(lambda xp: xp.array(xp.arange(3), dtype))
    compare(lambda xp: xp.asarray(5, np.dtype(dtype)))
    compare(lambda xp: xp.arange(4).reshape(2, 2).astype(dtype))
    compare(lambda xp: xp.array([1.5, 2], dtype))


@agrees
def test_nested_data_of_subarrays(xp: Any) -> Any:
    return xp.asarray([(1, 2), (3, 4)], "2i"), xp.array([[(1,), (2,)], xp.asarray([1, 2])], dtype="2i")


@pytest.mark.parametrize(("value", "dtype"), [(np.float64("nan"), "i"), (np.int64(300), "b"), (np.float32(3e9), "i")])
def test_scalars_in_lists_have_to_fit(value: Any, dtype: str) -> None:
    compare(lambda xp: xp.array([value], dtype=dtype), raises=(OverflowError, ValueError))
    compare(lambda xp: xp.array([xp.asarray([value])[0]], dtype=dtype), raises=(OverflowError, ValueError))
    compare(lambda xp: xp.array([xp.asarray([value])[0]], dtype="d"))


def test_bytes_that_no_tensor_can_lie_over_are_refused() -> None:
    """Torch counts in elements; on the host such a view is NumPy's."""
    x = tnp.arange(16, dtype="int8", device="meta")
    with pytest.raises(ValueError, match="no tensor over these bytes has dtype int64: view a copy"):
        x[1:9].view("int64")
    assert x[1:9].copy().view("int64").shape == (1,)
    with pytest.raises(ValueError, match="offset 3 is no multiple of the 2 bytes of int16"):
        tnp.arange(4, device="meta").getfield("int16", 3)


@pytest.mark.parametrize("first", [[], [1], [1.0, "a"], [None]])
@pytest.mark.parametrize("name", ["array", "asarray", "sort", "stack", "where", "sum", "exp", "concatenate", "dot"])
def test_a_list_that_holds_itself(name: str, first: list[Any]) -> None:
    """It is an error, as in NumPy: no endless recursion, nor in programs with arrays of derived classes."""
    tnp.ones(2).view(type("Derived", (tnp.ndarray,), {}))
    value = [*first]
    value.append(value)
    arguments = (value, value) if name == "dot" else (value,)
    for xp in (np, tnp):
        with pytest.raises(ValueError, match="setting an array element with a sequence"):
            getattr(xp, name)(*arguments)


def test_kinds_are_those_of_all_items() -> None:
    itself: list[Any] = ["a"]
    itself.append(itself)
    assert kinds([1, (2.0, {"key": [None, itself]}), Pair(True, b"")]) == {
        list, int, tuple, float, dict, type(None), str, Pair, bool, bytes,
    }  # fmt: skip
    assert holds([{"key": (tnp.ones(1),)}], tnp.ndarray) and not holds([{"key": (np.ones(1),)}], tnp.ndarray)


@pytest.mark.parametrize("value", [["a", 1], [b"a"], [None, 1.5], [(1, None)], [[1, "a"], [2, "b"]], (b"",), [{1: ""}]])
def test_lists_of_no_numbers(value: Any) -> None:
    compare(lambda xp: xp.array(value))
    compare(lambda xp: xp.asarray(value, dtype=object))
    compare(lambda xp: xp.array(value, ndmin=3, order="F"))
    compare(lambda xp: xp.concatenate([value, value]))
    compare(lambda xp: xp.array([1, None], dtype=float))
    compare(lambda xp: xp.array(["1", "2"], dtype=int))
