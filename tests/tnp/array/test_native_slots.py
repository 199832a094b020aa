"""The native core beside the Python methods that it stands in for, which are in the classes' dictionaries as ever.

Each comparison asks both for the same: class, dtype, strides, bits, the tensor that a view is of, the writes that
autograd counts, and errors.
"""

from __future__ import annotations

import concurrent.futures
import contextlib
import ctypes
import functools
import gc
import itertools
import operator
import os
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy
import pytest
import torch

import tnp
from backend_torch import native
from backend_torch.kernels import host
from backend_torch.tensors import memory
from tests import processes
from tests.oracle import compare
from tnp._ufunc.ufunc import BinaryUfunc, UnaryUfunc

DTYPES = ["?", "u1", "u2", "u4", "u8", "i1", "i2", "i4", "i8", "f2", "f4", "f8", "c8", "c16"]
OPERATORS = ["add", "sub", "mul", "truediv", "floordiv", "mod", "lshift", "rshift", "and", "or", "xor", "pow"]
COMPARISONS = ["lt", "le", "eq", "ne", "gt", "ge"]
BINARY = [u for u in vars(tnp).values() if type(u) is BinaryUfunc and u.nout == 1]
UNARY = [u for u in vars(tnp).values() if type(u) is UnaryUfunc]

pytestmark = [
    pytest.mark.skipif(native.state != "on", reason="there is no native core"),
    pytest.mark.host,  # the native core is the CPU's
]


def outcome(function: Callable[[], Any]) -> Any:
    """What a call gives, in every respect, or the error."""
    try:
        result = function()
    except Exception as error:
        return type(error), str(error)
    return described(result)


def described(result: Any) -> Any:
    if not isinstance(result, tnp.ndarray):
        return type(result), repr(result)
    tensor = result.tensor
    base = None if tensor._base is None else tensor._base.data_ptr()
    strides = tensor.stride() if tensor.numel() else ()  # NumPy has zeros for no elements, torch has not
    kind = type(result), tensor.dtype, tuple(tensor.shape), strides, tensor.requires_grad
    if tensor.is_meta:
        return kind
    tensor = tensor.detach().resolve_conj()
    values = (tensor.float() if tensor.dtype is torch.bfloat16 else tensor).numpy()
    if values.dtype.kind in "fc":  # NaNs are alike, and torch's extremes have either of two zeros
        values = numpy.where(numpy.isnan(values), numpy.nan, values) + 0.0
    return *kind, base is None, tensor.storage_offset() if base else 0, values.tobytes()


def samples(dtype: str, shape: tuple[int, ...] = (7,)) -> Any:
    return tnp.asarray(values_of(dtype, shape).copy())


@functools.cache
def values_of(dtype: str, shape: tuple[int, ...]) -> Any:
    kind = numpy.dtype(dtype).kind
    values = {"?": [0, 1], "b": [0, 1], "u": [0, 1, 2, 7, 200], "i": [0, 1, -1, 2, 7, -100, 100]}.get(
        kind, [0.0, -0.0, 1.0, -2.5, 3.0, numpy.inf, numpy.nan]
    )
    count = numpy.prod(shape, dtype=int)
    cycle = list(itertools.islice(itertools.cycle(values), int(count)))
    return numpy.array(cycle, dtype).reshape(shape)


def both(native_call: Callable[..., Any], python_call: Callable[..., Any], make: Callable[[], tuple[Any, ...]]) -> None:
    """Both calls on operands of their own, which are the same after them too."""
    one, other = make(), make()
    assert outcome(lambda: native_call(*one)) == outcome(lambda: python_call(*other))
    for x, y in zip(one, other, strict=True):
        if isinstance(x, tnp.ndarray):
            assert described(x) == described(y)
            assert x.tensor._version == y.tensor._version


def in_python(name: str) -> Callable[..., Any]:
    """A binary operator by the methods of the classes, as Python's own slots of classes go about it."""

    def call(x: Any, y: Any) -> Any:
        forward, reflected = f"__{name}__", f"__r{name}__"
        if name in COMPARISONS:
            reflected = {"lt": "__gt__", "gt": "__lt__", "le": "__ge__", "ge": "__le__"}.get(name, forward)
        kinds = type(x), type(y)
        ours = [isinstance(value, tnp.ndarray) for value in (x, y)]
        derived = kinds[0] is not kinds[1] and issubclass(kinds[1], kinds[0])
        if (
            derived
            and ours[1]
            and (name in COMPARISONS or getattr(kinds[0], reflected, None) is not getattr(kinds[1], reflected))
        ):
            result = getattr(kinds[1], reflected)(y, x)
            if result is not NotImplemented:
                return result
        if kinds[0] is complex and forward in vars(complex) and issubclass(kinds[1], float):  # as with NumPy's
            result = getattr(complex, forward)(x, float(y))
            if result is not NotImplemented:
                return result
        if ours[0]:
            result = getattr(kinds[0], forward)(x, y)
            if result is not NotImplemented:
                return result
        if ours[1] and kinds[0] is not kinds[1]:
            result = getattr(kinds[1], reflected)(y, x)
            if result is not NotImplemented:
                return result
        raise TypeError(f"unsupported operand type(s) for {name}")

    return call


def operate(name: str) -> Callable[..., Any]:
    function = getattr(operator, f"__{name}__")

    def call(x: Any, y: Any) -> Any:
        try:
            return function(x, y)
        except TypeError as error:
            assert error.__traceback__ is not None
            if error.__traceback__.tb_next is None:  # the interpreter's own: both methods returned NotImplemented
                raise TypeError(f"unsupported operand type(s) for {name}") from None
            raise

    return call


@pytest.mark.parametrize("name", OPERATORS + COMPARISONS)
@pytest.mark.parametrize("left", DTYPES)
def test_operators_on_each_pair_of_dtypes(name: str, left: str) -> None:
    for right in DTYPES:
        both(operate(name), in_python(name), lambda right=right: (samples(left), samples(right)[::-1]))
        both(operate(name), in_python(name), lambda right=right: (samples(left)[2], samples(right)))
        both(operate(name), in_python(name), lambda right=right: (samples(left), samples(right)[1]))
        both(operate(name), in_python(name), lambda right=right: (samples(left)[1], samples(right)[1]))


@pytest.mark.parametrize("name", OPERATORS + COMPARISONS)
@pytest.mark.parametrize("dtype", DTYPES)
def test_operators_beside_python_numbers(name: str, dtype: str) -> None:
    numbers = [0, 1, -1, 2, 3, 127, 128, 255, 256, -129, 2**31, 2**63, 2**64, -(2**63) - 1, 10**400, True, False]
    numbers += [0.0, -0.0, 0.5, 1.0, 2.0, -1.0, 2.5, 1e300, float("inf"), float("nan"), 1j, numpy.float64(2), None]
    for number in numbers:
        for make in (lambda: samples(dtype), lambda: samples(dtype)[1], lambda: samples(dtype)[::2]):
            both(operate(name), in_python(name), lambda make=make, number=number: (make(), number))
            both(operate(name), in_python(name), lambda make=make, number=number: (number, make()))


@pytest.mark.parametrize("name", OPERATORS)
@pytest.mark.parametrize("left", DTYPES)
def test_in_place(name: str, left: str) -> None:
    native_call, python_call = getattr(operator, f"__i{name}__"), getattr(tnp.ndarray, f"__i{name}__")
    for right in [*DTYPES, 1, -1, 2, 2.5, 1000, 2**40, True, 1j]:

        def other(right: Any = right) -> Any:
            return samples(right) if isinstance(right, str) else right

        both(native_call, python_call, lambda other=other: (samples(left), other()))
        if isinstance(right, str):
            both(native_call, python_call, lambda right=right: (samples(left), samples(right)[1]))


def test_in_place_on_memory_in_common() -> None:
    def overlapping() -> tuple[Any, ...]:
        x = tnp.arange(6.0)
        return x[1:], x[:-1]

    def own_element() -> tuple[Any, ...]:
        x = tnp.arange(6.0)
        return x, tnp.asarray(x.tensor[3])

    def itself() -> tuple[Any, ...]:
        x = tnp.arange(6.0)
        return x, x

    def two_tensors() -> tuple[Any, ...]:
        host = numpy.arange(6.0)
        return tnp.asarray(host)[1:], tnp.asarray(host)[:-1]

    for make in (overlapping, own_element, itself, two_tensors):
        for name in ("add", "mul"):
            both(getattr(operator, f"__i{name}__"), getattr(tnp.ndarray, f"__i{name}__"), make)


@pytest.mark.parametrize("ufunc", BINARY, ids=lambda ufunc: ufunc.__name__)
@pytest.mark.parametrize("left", DTYPES)
def test_calls_of_two_operands(ufunc: Any, left: str) -> None:
    for right in [*DTYPES, 2, 1.5]:

        def other(right: Any = right) -> Any:
            return samples(right, (2, 3)) if isinstance(right, str) else right

        both(ufunc, lambda *x: BinaryUfunc.__call__(ufunc, *x), lambda other=other: (samples(left, (2, 3)), other()))
        both(ufunc, lambda *x: BinaryUfunc.__call__(ufunc, *x), lambda other=other: (samples(left, (3,)), other()))


@pytest.mark.parametrize("ufunc", UNARY, ids=lambda ufunc: ufunc.__name__)
@pytest.mark.parametrize("dtype", DTYPES)
def test_calls_of_one_operand(ufunc: Any, dtype: str) -> None:
    shapes: list[Callable[[], Any]] = [
        lambda: samples(dtype),
        lambda: samples(dtype)[1],
        lambda: samples(dtype)[::2],
        lambda: samples(dtype, (2, 3)),
        lambda: samples(dtype, (2, 3)).T,
        lambda: samples(dtype, (2, 3, 4))[:, 1],
        lambda: samples(dtype, (0, 3)),
        lambda: samples(dtype, (3, 2))[:1, ::2],
        lambda: samples(dtype, (5, 1))[::3],
        lambda: samples(dtype, (40000,)),
    ]
    for make in shapes:
        both(ufunc, lambda x: UnaryUfunc.__call__(ufunc, x), lambda make=make: (make(),))


@pytest.mark.parametrize("name", ["add", "truediv", "lt", "and"])
def test_shapes(name: str) -> None:
    dtype = "i8" if name == "and" else "f8"
    makes = [
        lambda: samples(dtype, (2, 3)),
        lambda: samples(dtype, (3,)),
        lambda: samples(dtype, (2, 1)),
        lambda: samples(dtype, (1, 3)),
        lambda: samples(dtype, (3, 2)).T,
        lambda: samples(dtype, (2, 6))[:, ::2],
        lambda: samples(dtype, (1,)),
        lambda: samples(dtype, ()),
        lambda: samples(dtype, (0,)),
        lambda: samples(dtype, (5,)),
        lambda: tnp.broadcast_to(samples(dtype, (3,)), (2, 3)),
        lambda: samples(dtype, (6, 1, 3))[::3],
        lambda: samples(dtype, (40000,)),
    ]
    for one, other in itertools.product(makes, repeat=2):
        both(operate(name), in_python(name), lambda one=one, other=other: (one(), other()))


KEYS = [
    *(0, -1, 1, 5, -6, 2**70, True, slice(None), slice(1, None), slice(None, -1), slice(None, None, 2), slice(3, 1)),
    *(slice(-100, 100), slice(None, None, -1), slice(None, None, 0), slice(0.5, None), slice(numpy.int64(1), None)),
    *(Ellipsis, None, (), (0,), (0, 0), (0, 0, 0), (0, 0, 0, 0), (slice(None), 1), (Ellipsis, 0), (0, Ellipsis)),
    *((None, 0), (0, None), (slice(1, None), None, 0), (Ellipsis, Ellipsis), (Ellipsis, None), (None, Ellipsis, None)),
    *((1, slice(None), 1), (slice(None), slice(None), slice(1, 2)), [0, 1], (0, [0, 1]), 0.5, "a", numpy.int64(1)),
    *((slice(0, 1), slice(0, 1)), (None,) * 70, (0, 0, 0, Ellipsis)),
]
ARRAYS: list[Callable[[], Any]] = [
    lambda: samples("f8", (5,)),
    lambda: samples("i4", (2, 3, 4)),
    lambda: samples("?", (3, 4)).T,
    lambda: samples("f4", ()),
    lambda: samples("u2", (0, 3)),
    lambda: samples("c16", (3, 3))[1:],
    lambda: samples("f2", (6,))[::2],
    lambda: tnp.broadcast_to(samples("f8", (3,)), (2, 3)),
]


@pytest.mark.parametrize("key", KEYS, ids=repr)
def test_reading(key: Any) -> None:
    for make in ARRAYS:
        one, other = make(), make()
        assert outcome(lambda one=one: one[key]) == outcome(lambda other=other: type(other).__getitem__(other, key))


@pytest.mark.parametrize("key", KEYS, ids=repr)
def test_writing(key: Any) -> None:
    values: list[Any] = [1, 2.5, -1, True, 300, 2**70, float("nan"), float("inf"), 1j, None, "a", [1, 2], [1.5]]
    values += [samples("f8", ()), samples("i4", (3,)), samples("f8", (2,)), samples("f8", (1, 3)), samples("i8")[1]]
    for make, value in itertools.product(ARRAYS, values):

        def write(x: Any, value: Any = value) -> None:
            x[key] = value

        def python_write(x: Any, value: Any = value) -> None:
            type(x).__setitem__(x, key, value)

        both(write, python_write, lambda make=make: (make(),))


ELEMENTS: dict[str, list[Any]] = {
    "?": [False, True], "u1": [0, 255], "u2": [65535], "u4": [2**32 - 1], "u8": [5, 2**63], "i1": [-128, 7],
    "i2": [-5], "i4": [-(2**31), 9], "i8": [2**40 + 3, -1], "f4": [1.5, -2.7, float("nan")], "f8": [1.9, float("inf")],
    "c8": [1 + 2j], "c16": [3 - 1j],
}  # fmt: skip
ASSIGNMENTS: list[Callable[[Any, Any, Any], None]] = [
    lambda x, m, v: operator.setitem(x, 1, v[0]),
    lambda x, m, v: operator.setitem(x, slice(None), v[1]),
    lambda x, m, v: operator.setitem(x, slice(None), v),
    lambda x, m, v: operator.setitem(m, (slice(None), 1), v[::2]),
    lambda x, m, v: operator.setitem(m, 1, v),
]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("given", ELEMENTS)
@pytest.mark.parametrize("dtype", ELEMENTS)
def test_assigning_another_dtype(dtype: str, given: str) -> None:
    """As NumPy: integers of arrays wrap, those of scalars raise, and so do floats without a value there."""

    def assigned(xp: Any, assign: Callable[[Any, Any, Any], None], element: Any) -> Any:
        x, m = xp.zeros(3, dtype), xp.zeros((2, 3), dtype)
        assign(x, m, xp.asarray([element] * 3, dtype=given))
        return x, m

    for assign, element in itertools.product(ASSIGNMENTS, ELEMENTS[given]):
        compare(lambda xp, assign=assign, element=element: assigned(xp, assign, element), may_raise=Exception)


LISTS: list[Any] = [
    [1, 2, 3], [1.5, 2, 3], [True, False, True], [1j, 2, 3], (1, 2, 3), [[1, 2, 3], [4, 5, 6]], [[1], [2]],
    [True, 2, 3.5], [], [2**70, 1, 2], [1, 2], [None, 1, 2], ["a", "b", "c"],
]  # fmt: skip
BESIDE_LISTS: list[Callable[[Any, Any, Any], Any]] = [
    lambda xp, x, given: x + given,
    lambda xp, x, given: given - x,
    lambda xp, x, given: x < given,
    lambda xp, x, given: x == given,
    lambda xp, x, given: xp.maximum(x, given),
    lambda xp, x, given: xp.multiply(x[0], given),
]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("given", LISTS, ids=repr)
def test_lists_beside_arrays(given: Any) -> None:
    for dtype, operation in itertools.product(["?", "i1", "i8", "f2", "f4", "f8", "c16"], BESIDE_LISTS):
        compare(lambda xp, d=dtype, do=operation: do(xp, xp.ones(3, d), given), may_raise=Exception)


def test_lists_of_scalars_of_any_dtype() -> None:
    for dtype, other in itertools.product(DTYPES, ["?", "i4", "i8", "f4", "f8", "c16"]):

        def made(xp: Any, dtype: str = dtype, other: str = other) -> Any:
            one, two = xp.ones(2, dtype)[0], xp.ones(2, other)[0]
            lists = [[one, one], [one, two], [[one, one], [one, one]], [one, 1], [one, 1.5], [one, True]]
            return [xp.array(each) for each in lists], xp.array((one, one), dtype=complex)

        compare(made)


def test_lists_of_elements() -> None:
    for dtype, shape in itertools.product(DTYPES, [(3,), (2, 3), (2, 0), ()]):
        x = samples(dtype, shape)
        for array in (x, x.T, x[..., ::2] if shape else x):
            assert repr(array.tolist()) == repr(array.tensor.tolist())


ARRAY_KEYS: list[Callable[[Any], Any]] = [
    lambda xp: xp.asarray([0, 1]),
    lambda xp: xp.asarray([[1, -1], [0, 0]]),
    lambda xp: xp.asarray([5, 0]),
    lambda xp: xp.asarray([0, -9]),
    lambda xp: xp.asarray([], dtype=int),
    lambda xp: xp.asarray([1, 0, 1, 0])[::2],
    lambda xp: xp.asarray([1, 0], dtype="int32"),
    lambda xp: xp.asarray(1),
    lambda xp: xp.asarray([0, 1])[1],
    lambda xp: xp.asarray([0, -1], dtype="int8")[1],
    lambda xp: xp.asarray([2**63], dtype="uint64")[0],
    lambda xp: (xp.asarray([0, 1])[1], xp.asarray([0, 1])[0]),
    lambda xp: (xp.asarray([0, 1])[1], slice(None), None),
    lambda xp: (xp.asarray([0, 1]), xp.asarray([1, 1])),
    lambda xp: (xp.asarray([0, 1]), xp.asarray([[1], [1]])),
    lambda xp: (xp.asarray([0, 1]), 1),
    lambda xp: (-1, xp.asarray([0, 1, 1])),
    lambda xp: (xp.asarray([0, 1]), slice(None)),
    lambda xp: (slice(None), xp.asarray([0, 1])),
    lambda xp: (xp.asarray([0, 1]), 7),
    lambda xp: xp.asarray([True, False, True]),
    lambda xp: xp.asarray([True, False, True, False, True]),
    lambda xp: xp.asarray([False, True]),
    lambda xp: xp.zeros((2, 3, 4), dtype=bool),
    lambda xp: xp.ones((2, 3, 4), dtype=bool),
    lambda xp: xp.asarray([[True, False, True], [False, True, True]]),
    lambda xp: xp.asarray([[True, False], [True, True], [False, True]]).T,
    lambda xp: xp.asarray(True),
    lambda xp: (xp.asarray([True, False]), 0),
    lambda xp: xp.asarray([1.0]),
]


@pytest.mark.parametrize("number", range(len(ARRAY_KEYS)))
def test_reading_by_arrays(number: int) -> None:
    for make in ARRAYS:
        key, host_key = ARRAY_KEYS[number](tnp), ARRAY_KEYS[number](numpy)
        one, other = make(), make()
        found = outcome(lambda one=one, key=key: one[key])
        assert found == outcome(lambda other=other, key=key: type(other).__getitem__(other, key))
        host = tnp.asnumpy(make())
        try:
            expected = host[host_key]
        except (IndexError, OverflowError) as error:
            assert found == (type(error), str(error))
        else:
            numpy.testing.assert_array_equal(tnp.asnumpy(make()[key]), expected)
            numpy.testing.assert_array_equal(tnp.asnumpy(make()[host_key]), expected)


@pytest.mark.parametrize("number", range(len(ARRAY_KEYS)))
def test_writing_by_arrays(number: int) -> None:
    values: list[Any] = [
        1,
        2.5,
        True,
        300,
        float("nan"),
        1j,
        samples("f8", ()),
        samples("f8", (2,)),
        samples("i4", (2,)),
    ]
    values += [
        samples("f8", (7,))[2],
        samples("f8", (2, 2)),
        samples("i4", (2, 3, 4)),
        samples("?", (4,)),
        None,
        [1, 2],
    ]
    for make, value in itertools.product(ARRAYS, values):
        key = ARRAY_KEYS[number](tnp)

        def write(x: Any, value: Any = value, key: Any = key) -> None:
            x[key] = value

        def python_write(x: Any, value: Any = value, key: Any = key) -> None:
            type(x).__setitem__(x, key, value)

        both(write, python_write, lambda make=make: (make(),))


def test_writing_by_arrays_of_the_same_memory() -> None:
    def by_itself() -> tuple[Any, ...]:
        x = tnp.asarray([2, 0, 1])
        return x, x, x[::2][:1]

    def masked_by_itself() -> tuple[Any, ...]:
        x = tnp.asarray([True, False, True])
        return x, x, False

    def from_itself() -> tuple[Any, ...]:
        x = tnp.arange(4.0)
        return x, tnp.asarray([3, 2, 1]), x[:3]

    for make in (by_itself, masked_by_itself, from_itself):
        both(operator.setitem, tnp.ndarray.__setitem__, make)


def test_an_integer_scalar_selects_a_view() -> None:
    for index in (tnp.asarray([1, 2])[0], numpy.int64(1)):
        for read in (operator.getitem, tnp.ndarray.__getitem__):
            x = tnp.zeros((2, 3))
            read(x, index)[0] = 5
            read(x, (slice(None), index))[0] = 6
            assert x.tolist() == [[0.0, 6.0, 0.0], [5.0, 0.0, 0.0]]


@pytest.mark.parametrize("name", ["add", "mul", "truediv", "and", "mod"])
def test_in_place_on_views_and_broadcast(name: str) -> None:
    dtype = "i4" if name in ("and", "mod") else "f8"
    native_call = getattr(operator, f"__i{name}__")

    def python_call(x: Any, y: Any) -> Any:
        return getattr(type(x), f"__i{name}__")(x, y)

    targets = [
        lambda: samples(dtype, (4, 3)),
        lambda: samples(dtype, (3, 4)).T,
        lambda: samples(dtype, (4, 6))[:, ::2],
        lambda: samples(dtype, (2, 4, 6))[:, :, ::2],
        lambda: samples(dtype, (8,))[::2],
        lambda: samples(dtype, (4, 1)),
        lambda: tnp.broadcast_to(samples(dtype, (3,)), (4, 3)),
        lambda: samples(dtype, (0, 3)),
    ]
    others = [
        lambda: samples(dtype, (3,))[::-1],
        lambda: samples(dtype, (4, 1)),
        lambda: samples(dtype, (1, 3)),
        lambda: samples(dtype, (3, 4)).T,
        lambda: samples(dtype, (2, 4, 3)),
        lambda: samples("i2", (4, 3)),
        lambda: samples("?", (6, 4)).T[:, ::2],
        lambda: samples(dtype, (1,)),
        lambda: samples(dtype, (5,)),
        lambda: samples(dtype, (3,))[1],
        lambda: 3,
    ]
    for target, other in itertools.product(targets, others):
        both(native_call, python_call, lambda target=target, other=other: (target(), other()))

    def shifted() -> tuple[Any, ...]:
        x = samples(dtype, (4, 3))
        return x[1:, ::2], x[:-1, ::2]

    def row() -> tuple[Any, ...]:
        x = samples(dtype, (4, 3))
        return x, x[1]

    def itself() -> tuple[Any, ...]:
        x = samples(dtype, (4, 3)).T
        return x, x

    for make in (shifted, row, itself):
        both(native_call, python_call, make)


@pytest.mark.walk
@pytest.mark.parametrize("ufunc", [u for u in (*BINARY, *UNARY) if u is not tnp.sqrt], ids=lambda ufunc: ufunc.__name__)
@pytest.mark.parametrize("dtype", ["?", "u2", "i8", "f2", "f4", "f8", "c16"])
def test_calls_into_an_array(ufunc: Any, dtype: str) -> None:
    python_call = type(ufunc).__call__
    makes = [
        lambda: samples(dtype, (3, 4)),
        lambda: samples(dtype, (4, 3)).T,
        lambda: samples(dtype, (4,)),
        lambda: samples(dtype, (3, 4))[1, 2],
        lambda: 2,
    ]
    outs = [
        lambda: samples(dtype, (3, 4)),
        lambda: samples("f8", (3, 4)),
        lambda: samples("?", (3, 4)),
        lambda: samples(dtype, (4, 3)).T,
        lambda: samples(dtype, (2, 4)),
        lambda: (samples(dtype, (3, 4)),),
    ]
    operands = itertools.product(makes, repeat=2) if type(ufunc) is BinaryUfunc else [(make,) for make in makes]
    for given, out in itertools.product(operands, outs):

        def make(given: Any = given, out: Any = out) -> tuple[Any, ...]:
            return *[each() for each in given], out()

        both(
            lambda *x: ufunc(*x[:-1], out=x[-1]),
            lambda *x: python_call(ufunc, *x[:-1], out=x[-1]),
            make,
        )

    def onto_operand() -> tuple[Any, ...]:
        x = samples(dtype, (4,))
        return *[x] * ufunc.nin, x

    def beside_operand() -> tuple[Any, ...]:
        x = samples(dtype, (5,))
        return *[x[1:]] * ufunc.nin, x[:-1]

    for make in (onto_operand, beside_operand):
        both(lambda *x: ufunc(*x[:-1], out=x[-1]), lambda *x: python_call(ufunc, *x[:-1], out=x[-1]), make)
    target = tnp.zeros(3)
    assert tnp.exp(tnp.zeros(3), out=target) is target


@pytest.mark.parametrize("dtype", ["i8", "f4", "f8"])
@pytest.mark.parametrize("count", [1, 12, 5000, 30_000])
def test_roots_have_the_bits_of_numpy(dtype: str, count: int) -> None:
    """torch's root of a float64, which larger arrays have, is one bit off now and then."""
    values = (numpy.arange(count) * 3.7).astype(dtype)
    expected, out = numpy.sqrt(values), tnp.zeros(count, dtype=numpy.sqrt(values).dtype)
    for found in (tnp.sqrt(tnp.asarray(values)), tnp.sqrt(tnp.asarray(numpy.repeat(values, 2))[::2])):
        assert tnp.asnumpy(found).tobytes() == expected.tobytes()
    tnp.sqrt(tnp.asarray(values), out=out)
    assert tnp.asnumpy(out).tobytes() == expected.tobytes()


NUMPYS = [
    *(
        "cbrt",
        "hypot",
        "heaviside",
        "fmax",
        "fmin",
        "fmod",
        "gcd",
        "lcm",
        "logaddexp",
        "expm1",
        "log1p",
        "sinh",
        "cosh",
    ),
    *("arcsinh", "spacing", "signbit", "bitwise_count", "ldexp", "exp", "log", "tanh", "arctan2"),
]


@pytest.mark.parametrize("name", NUMPYS)
@pytest.mark.parametrize("shape", [(), (12,), (300, 200)])
def test_loops_of_numpy(name: str, shape: tuple[int, ...]) -> None:
    """What NumPy computes has its bits at any size, and torch computes where a test says so."""
    ours, theirs = getattr(tnp, name), getattr(numpy, name)
    dtype = "i8" if name in ("gcd", "lcm", "bitwise_count") else "f8"
    operands = [samples(dtype, shape) for _ in range(theirs.nin)]
    if name == "ldexp":
        operands[1] = samples("i4", shape)
    expected = theirs(*[tnp.asnumpy(x) for x in operands])
    result = tnp.asnumpy(ours(*operands))
    assert result.dtype == expected.dtype
    if host.HAS_VECTORS or name not in ("exp", "log", "tanh", "arctan2"):
        numpy.testing.assert_array_equal(result, expected)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(memory, "host_computes", False)
        numpy.testing.assert_allclose(tnp.asnumpy(ours(*operands)), expected, rtol=1e-14)


@pytest.mark.parametrize("ufunc", [u for u in (*BINARY, *UNARY) if u is not tnp.sqrt], ids=lambda ufunc: ufunc.__name__)
@pytest.mark.parametrize("dtype", ["?", "u2", "u8", "f8"])
def test_many_elements(ufunc: Any, dtype: str) -> None:
    def line() -> Any:
        return samples(dtype, (100_003,))

    def every_second() -> Any:
        return samples(dtype, (200_006,))[::2]

    for make in (line, every_second):
        both(ufunc, lambda *x: type(ufunc).__call__(ufunc, *x), lambda make=make: (make(),) * ufunc.nin)
    if ufunc.nin == 2:
        both(ufunc, lambda *x: type(ufunc).__call__(ufunc, *x), lambda: (line(), line()[3]))


@pytest.mark.parametrize("dtype", DTYPES)
def test_products(
    dtype: str, without_heads: Callable[[Callable[[], Any]], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """By torch, which orders sums otherwise than NumPy's BLAS."""
    monkeypatch.setattr(memory, "host_computes", False)

    def of(*shape: int) -> Callable[[], Any]:
        kind = numpy.dtype(dtype).kind

        def make() -> Any:
            values = numpy.random.default_rng(1).integers(0, 2 if kind == "?" else 5, shape)
            return tnp.asarray(values.astype(dtype) * (1 if kind in "?bui" else numpy.dtype(dtype).type(0.37)))

        return make

    makes = [of(3), of(3, 4), of(4, 3), lambda: of(4, 3)().T, of(2, 3, 4), of(1, 3), of(0, 3), lambda: of(6)()[::2]]
    for one, other in itertools.product([*makes, of(3), of(4), lambda: 2, lambda: samples("f8", (3,))], repeat=2):
        both(operate("matmul"), in_python("matmul"), lambda one=one, other=other: (one(), other()))

        def dot(one: Any = one, other: Any = other) -> Any:
            return tnp.dot(one(), other())

        assert outcome(dot) == without_heads(dot)


@pytest.mark.parametrize("dtype", ["f4", "f8", "c8", "c16"])
def test_products_have_numpys_bits(dtype: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "host_computes", True)
    random = numpy.random.default_rng(0)

    def of(*shape: int) -> Any:
        return (random.normal(size=shape) + (1j * random.normal(size=shape) if dtype[0] == "c" else 0)).astype(dtype)

    layouts: list[Callable[[Any], Any]] = [lambda x: x, lambda x: x.T, lambda x: x[::2, 1::2], lambda x: x.T[1:]]
    for size in (1, 3, 30, 150):
        vector, matrix = of(size), of(size, size)
        for one, other in itertools.product(layouts, repeat=2):
            inner = one(matrix).shape[-1]
            rows, columns = of(2 * inner, size), of(inner + 1, inner)
            for right in (other(matrix), rows[::2], of(inner), rows[:inner, 0], columns[1:], columns.T):
                if right.shape[0] != inner or inner == 0:
                    continue
                expected = one(matrix) @ right
                if expected.size == 0:  # NumPy has strides of 0 then, torch has not
                    continue
                result = one(tnp.asarray(matrix)) @ tnp.asarray(right)
                assert (result.dtype, result.strides) == (expected.dtype, expected.strides)
                assert (result.shape, numpy.asarray(result).tobytes()) == (expected.shape, expected.tobytes())
        x, m = tnp.asarray(vector), tnp.asarray(matrix)
        pairs = [(x @ m, vector @ matrix), (tnp.dot(x, x), vector @ vector)]
        for result, expected in pairs:
            assert numpy.asarray(result).tobytes() == expected.tobytes()


@pytest.mark.parametrize("dtype", ["f4", "f8", "c8", "c16"])
def test_large_products_by_vectors_have_numpys_bits(dtype: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """NumPy's BLAS computes those, thin matrices too, and half of a matrix by its own transpose."""
    monkeypatch.setattr(memory, "host_computes", True)
    matrix = numpy.random.default_rng(0).normal(size=(300, 240)).astype(dtype)
    if dtype[0] == "c":
        matrix += 1j * matrix[::-1]
    products: list[Callable[[Any], Any]] = [
        lambda m: m @ m[3],
        lambda m: m[:, 3] @ m[:, 3:],
        lambda m: m.T @ m[:, 5],
        lambda m: m[:2].T[:200].T @ m.T[:, :200].T,
        lambda m: m @ m.T[:, :7],
        lambda m: m @ m.T,
        lambda m: m.T @ m,
        lambda m: m[:250, 5:].T @ m[:250, 5:],
    ]
    for product in products:
        expected, result = product(matrix), product(tnp.asarray(matrix))
        assert (result.dtype, result.shape, result.strides) == (expected.dtype, expected.shape, expected.strides)
        assert numpy.asarray(result).tobytes() == expected.tobytes()


LAYOUTS: list[Callable[[Any], Any]] = [
    lambda x: x.T,
    lambda x: x[::2, 1::2],
    lambda x: x[1:, :3],
    lambda x: x.T[1:],
    lambda x: x[:, :1],
    lambda x: x.reshape(2, 3, 8).transpose(1, 0, 2),
    lambda x: x.reshape(2, 3, 8)[:, ::2].transpose(2, 0, 1),
    lambda x: x[:0, ::2],
    lambda x: x[::2, 1],
]


@pytest.mark.parametrize("name", ["absolute", "exp", "floor", "isnan", "negative", "sqrt", "square", "tanh"])
@pytest.mark.parametrize("dtype", ["?", "i2", "i8", "f4", "f8", "c16"])
def test_unary_functions_of_any_layout(name: str, dtype: str) -> None:
    def of(xp: Any) -> Any:
        x = xp.asarray(numpy.random.default_rng(0).uniform(0, 5, (6, 8)).astype(dtype))
        return [getattr(xp, name)(layout(x)) for layout in LAYOUTS]

    compare(of, may_raise=TypeError)


@pytest.mark.parametrize("name", ["all", "any", "max", "mean", "min", "prod", "sum"])
@pytest.mark.parametrize("dtype", ["?", "u1", "i8", "f4", "f8", "c16"])
def test_several_axes(name: str, dtype: str, without_heads: Callable[[Callable[[], Any]], Any]) -> None:
    values = numpy.random.default_rng(0).integers(0, 3, (3, 4, 5, 2)).astype(dtype)
    layouts: list[Callable[[Any], Any]] = [lambda x: x, lambda x: x[:, ::2], lambda x: x[:, :0], lambda x: x[0, 0]]
    for layout, keepdims in itertools.product(layouts, [False, True]):
        for axes in ((0, 1), (2, 1), (-1, 0), (0, 2), (3, 0, 1), (0, 1, 2), (0, 1, 2, 3), (1,), (), (0, 0), (0, 9)):
            compare(
                lambda xp: getattr(xp, name)(layout(xp.asarray(values)), axis=axes, keepdims=keepdims),  # noqa: B023
                rtol=1e-6,
                may_raise=(ValueError, numpy.exceptions.AxisError),
            )
            call = functools.partial(getattr(tnp, name), layout(tnp.asarray(values)), axis=axes, keepdims=keepdims)
            assert outcome(call) == without_heads(call)


def test_indices_that_are_written_while_they_are_read() -> None:
    def written(xp: Any) -> Any:
        x, y = xp.asarray([3, 1, 0, 2, 4]), xp.arange(5)
        x[x] = 7
        y[y[::-1]] = y
        z = xp.arange(5)
        z[z[::-1].copy()] = xp.asarray([5, 6, 7, 8, 9])
        z[xp.asarray([[-1, 0], [1, 1]])[:, 1]] = xp.asarray([1, 2])
        return x, y, z

    compare(written)


CREATED: list[Callable[[Any], Any]] = [
    lambda xp: [xp.arange(n) for n in (0, 1, 2, 5, -3, 2.5, -0.0, 7.0, True)],
    lambda xp: [
        xp.arange(*ends) for ends in ((1, 4), (4, 1), (4, -2, -2), (0.0, -3.0, -1.0), (-0.0, 2.0), (0, 1, 0.1))
    ],
    lambda xp: [
        xp.arange(*ends, dtype=d) for ends in ((5,), (1, 6, 2), (0.3, 2)) for d in ("f4", "f8", "i8", "i4", int)
    ],
    lambda xp: [xp.arange(1, 2, 1e-4, d) for d in ("f4", "f8")],
    lambda xp: xp.arange(2**60, 2**60 + 3),
    lambda xp: [xp.arange(3, dtype=d) for d in ("u1", "c16")],
    lambda xp: [
        xp.full(shape, 3, dtype=d) for shape in (2, (), (2, 3), (0,)) for d in (None, "u1", "f4", "?", complex)
    ],
    lambda xp: [xp.full(2, v) for v in (1.5, True, 1j, [1, 2], 2**40)],
    lambda xp: xp.full(2, 2.5, dtype="i4"),
    lambda xp: xp.full((2, 2), 1.0, order="F"),
    lambda xp: [xp.eye(n) for n in (0, 1, 3)],
    lambda xp: [xp.eye(3, 4), xp.eye(3, k=1), xp.eye(3, dtype=int), xp.eye(3, k=True)],
    lambda xp: [xp.empty(shape, dtype=d).shape for shape in (2, (), (2, 3), (0,)) for d in (float, "i2")],
    lambda xp: [
        getattr(xp.asarray([[1.5, 2.0], [3.0, 0.1]]), name)(axis=1, keepdims=True)
        for name in ("sum", "max", "min", "mean", "prod", "any", "argmax")
    ],
    lambda xp: [xp.sum(xp.asarray([[1, 2], [3, 0]]), axis=axis, keepdims=True) for axis in (None, 0, -1)],
    lambda xp: xp.max(xp.asarray([1, 2]), keepdims=True),
    lambda xp: [
        xp.roll(xp.arange(24).reshape(2, 3, 4), n, axis).copy() for n in (0, 1, -2, 50) for axis in (None, 0, 1, -1)
    ],
    lambda xp: [xp.roll(xp.arange(6).reshape(2, 3).T, 1, 1).copy(), xp.roll(xp.ones((0, 3)), 1), xp.roll([1, 2], 1)],
    lambda xp: [xp.roll(xp.arange(6).astype(d), (1, 2), (0, 0)) for d in ("?", "u2", "f4", "c16")],
    lambda xp: [xp.roll(xp.asarray(2.0), 1), xp.roll(xp.arange(3), 2**70)],
]


REFUSED: list[tuple[Callable[[Any], Any], Any]] = [
    (lambda xp: xp.arange(0, 5, 0), ZeroDivisionError),
    (lambda xp: xp.arange(0.0, float("nan")), ValueError),
    (lambda xp: xp.full(2, 300, dtype="u1"), OverflowError),
    (lambda xp: xp.full(-1, 2), ValueError),
    (lambda xp: xp.eye(-1), ValueError),
    (lambda xp: xp.empty((2, -1)), ValueError),
    (lambda xp: xp.roll(xp.arange(3), 1, 2), numpy.exceptions.AxisError),
    (lambda xp: xp.arange(3, dtype="?"), TypeError),
]


@pytest.mark.parametrize("number", range(len(CREATED)))
def test_functions_of_numbers(number: int, without_heads: Callable[[Callable[[], Any]], Any]) -> None:
    def results() -> list[Any]:
        made = CREATED[number](tnp)
        return [described(each) for each in (made if isinstance(made, list) else [made])]

    compare(CREATED[number])
    assert outcome(results) == without_heads(results)


@pytest.mark.parametrize("number", range(len(REFUSED)))
def test_functions_that_refuse_numbers(number: int, without_heads: Callable[[Callable[[], Any]], Any]) -> None:
    function, error = REFUSED[number]
    compare(function, raises=error or ())
    assert outcome(lambda: function(tnp)) == without_heads(lambda: function(tnp))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(), (1,), (1, 1), (2,), (0,)])
def test_values(dtype: str, shape: tuple[int, ...]) -> None:
    for function, name in ((float, "float"), (int, "int"), (bool, "bool"), (operator.index, "index"), (len, "len")):
        both(function, lambda x, name=name: getattr(type(x), f"__{name}__")(x), lambda: (samples(dtype, shape),))
    if shape == ():
        for function, name in ((float, "float"), (int, "int"), (bool, "bool"), (operator.index, "index")):
            both(function, lambda x, name=name: getattr(type(x), f"__{name}__")(x), lambda: (samples(dtype, (2,))[1],))


def test_views_are_of_the_array() -> None:
    x = tnp.arange(12.0).reshape(3, 4)
    view = x[1:, 0]
    assert view.base is x.base
    assert view.tensor._base is x.tensor._base
    x += 1
    assert view.tensor._version == x.tensor._version
    numpy.testing.assert_array_equal(tnp.asnumpy(view), tnp.asnumpy(x)[1:, 0])
    y = tnp.zeros(3)
    assert y[1:].base is y


def test_views_carry_gradients() -> None:
    x = tnp.zeros(4)
    view, before = x[1:], x[2:]
    weight = torch.ones(3, dtype=torch.float64, requires_grad=True)
    view[...] = tnp.asarray(weight) * 2
    for array, expected in ((x, [2.0, 2.0, 2.0]), (before, [0.0, 2.0, 2.0]), (x[:2], [2.0, 0.0, 0.0])):
        weight.grad = None
        tnp.sum(array).tensor.backward(retain_graph=True)
        assert weight.grad is not None
        assert weight.grad.tolist() == expected
    with torch.no_grad():
        locked = tnp.asarray(torch.zeros(3))[1:]
    with pytest.raises(RuntimeError, match="no_grad"):
        locked.tensor.add_(torch.ones(2, requires_grad=True))


def freed_and_made_again(make: Callable[[], Any]) -> Any:
    """An array, made where others of its size were freed."""
    for _ in range(3):
        make()
    return make()


@pytest.mark.parametrize("dtype", ["?", "i2", "i8", "f4", "f8"])
@pytest.mark.parametrize("shape", [(1,), (3,), (8,), (2, 4), (40,), (30, 30)])
def test_memory_of_freed_arrays(dtype: str, shape: tuple[int, ...]) -> None:
    """What is made of it is a new tensor in all that can be asked: size, version, base."""
    x = samples(dtype, shape)

    def make() -> Any:
        y = x | x if dtype == "?" else x + x
        y[0] = 1
        return x == x if shape == (8,) else y

    made = freed_and_made_again(make)
    tensor = made.tensor
    assert tensor.untyped_storage().nbytes() == tensor.nbytes
    assert tensor._version == (0 if shape == (8,) else 1)
    assert tensor._base is None and tensor.is_contiguous() and tensor.data_ptr() % 64 == 0
    compare(lambda xp: freed_and_made_again(lambda: xp.zeros(shape, dtype) == xp.zeros(shape, dtype)))


@pytest.mark.parametrize("dtype", ["i8", "f8"])
def test_memory_that_is_still_held(dtype: str) -> None:
    """Views, tensors, NumPy's arrays and what autograd saves keep it from the next arrays."""

    def kept(hold: Callable[[Any], Any]) -> tuple[Any, Any]:
        held = hold(samples(dtype) + samples(dtype))
        before = numpy.asarray(held).copy()
        others = [samples(dtype) * 0 + number for number in range(3)]
        assert len(others) == 3
        return before, numpy.asarray(held)

    holders: list[Callable[[Any], Any]] = [
        lambda x: x[1:],
        lambda x: x[1:][1:],
        lambda x: x.tensor,
        lambda x: x[1:].tensor,
        lambda x: x[2:].tensor._base,
        lambda x: numpy.asarray(x),
        lambda x: x.tensor.untyped_storage(),
        lambda x: next(iter(x.reshape(1, -1))),
    ]
    for hold in holders:
        before, after = kept(hold)
        assert before.tobytes() == after.tobytes()


def test_a_freed_base_that_python_has_seen() -> None:
    """A tensor of Python's that a view's tensor leads to does not become that of another array."""
    x = samples("f8") + 1
    seen = x[1:].tensor._base
    assert seen is not None
    seen.mark = "seen"  # keeps Python's object with torch's
    del x, seen
    assert not hasattr((samples("f8") + 1).tensor, "mark")


def test_one_true_and_one_false() -> None:
    compare(lambda xp: (xp.float64(1) < 2) is (xp.float64(3) < 4))
    compare(lambda xp: (xp.float64(1) < 2) is (xp.float64(3) > 4))
    x = samples("f8")[2]
    (x < 2).tensor.fill_(False)
    assert x < 2


def test_iteration() -> None:
    x = tnp.arange(6.0).reshape(2, 3)
    assert [described(row) for row in x] == [described(row) for row in tnp.ndarray.__iter__(x)]
    assert [described(item) for item in x[0]] == [described(item) for item in tnp.ndarray.__iter__(x[0])]
    iterator = iter(x[0])
    assert operator.length_hint(iterator) == 3
    assert list(iterator) == [0.0, 1.0, 2.0]
    assert list(iterator) == []
    assert list(reversed(x[0])) == [2.0, 1.0, 0.0]
    with pytest.raises(TypeError, match="iteration over a 0-d array"):
        iter(tnp.asarray(1.0))


def test_what_watches_is_asked() -> None:
    x = tnp.ones(3)
    with pytest.raises(FloatingPointError), tnp.errstate(divide="raise"):
        x / 0
    with torch.inference_mode():
        assert (x + 1).tensor.is_inference()
    with torch.autograd.forward_ad.dual_level():
        dual = tnp.asarray(torch.autograd.forward_ad.make_dual(torch.ones(3), torch.ones(3)))
        assert torch.autograd.forward_ad.unpack_dual((dual + dual).tensor).tangent is not None
        assert torch.autograd.forward_ad.unpack_dual(dual[1:].tensor).tangent is not None


def test_a_method_that_is_replaced_is_called() -> None:
    code = """
import tnp
before = tnp.ndarray.__add__
tnp.ndarray.__add__ = lambda self, other: "replaced"
assert tnp.ones(2) + 1 == "replaced"
tnp.ndarray.__add__ = before
assert list(tnp.ones(2) + 1) == [2.0, 2.0]
"""
    assert processes.run("-c", code).returncode == 0


@pytest.mark.parametrize(
    "call",
    [lambda x, i: (x.copy(), x.T.copy(), x.ravel()[1:].copy()), lambda x, i: (hash(x[0, 1]), [*map(float, x[0])])]
    + [lambda x, i: (bool(x[0, 0]), -x, x == x.T), lambda x, i: (x @ i, i[::-1] @ x, x @ i[::-1])],
)
def test_what_a_dtype_without_loops_does(call: Callable[[Any, Any], Any]) -> None:
    """The fast paths leave bfloat16 to the Python methods."""
    compare(lambda xp: call(xp.asarray([[0.0, 1.5], [-2.0, 3.0]], ml_dtypes.bfloat16), xp.arange(4).reshape(2, 2)))


def test_an_array_that_lost_its_tensor() -> None:
    x = tnp.ones(2)
    del x.tensor
    for call in (lambda: x.tensor, lambda: delattr(x, "tensor")):
        with pytest.raises(AttributeError, match="tensor"):
            call()


def test_what_the_extension_refuses() -> None:
    with pytest.raises(RuntimeError, match="installed before"):
        native.heads.install(*[int] * 6, (), (), (int, int), {}, None)
    for arguments in ((1, tnp.ndarray), (torch.ones(1), int)):
        with pytest.raises(TypeError, match="a tensor and a class of arrays"):
            native.heads.find_holder(*arguments)


def test_a_scope_that_begins_between_two_rows() -> None:
    def rows(xp: Any) -> Any:
        left = iter(xp.asarray([1.0, 0.0, 3.0]))
        with xp.errstate(all="ignore" if xp is numpy else "call", call=lambda *_: None):
            return next(left), next(left), [*left]

    compare(rows)


def test_off() -> None:
    code = "import tnp; from backend_torch import native; print(native.state, tnp.ones(2)[0] + 1)"
    environment = {**os.environ, "TNP_NATIVE": "0"}
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True, env=environment)
    assert done.stdout == "off: TNP_NATIVE=0 2.0\n"


CALLS: dict[str, Callable[[Any, Any, Any], Any]] = {
    "add": lambda x, m, s: x + x,
    "number": lambda x, m, s: 2.0 * x,
    "scalar": lambda x, m, s: s * s + 1,
    "mixed": lambda x, m, s: x + m[0, 0],
    "broadcast": lambda x, m, s: m + m[0],
    "compare": lambda x, m, s: x < 2,
    "power": lambda x, m, s: (x**2, x**0.5, x**1.5),
    "inplace": lambda x, m, s: operator.iadd(x, 1),
    "unary": lambda x, m, s: (-x, tnp.sqrt(x), tnp.exp(x)),
    "refused": lambda x, m, s: (x == None, x + 1j),  # noqa: E711
    "get": lambda x, m, s: (x[0], x[1:], m[0], m[:, 0], m[..., None]),
    "set": lambda x, m, s: (x.__setitem__(0, 1.0), m.__setitem__((0, 0), 1), m.__setitem__(0, m[1])),
    "iterate": lambda x, m, s: list(m),
    "values": lambda x, m, s: (float(s), int(s), bool(s), len(x)),
}


@pytest.mark.parametrize("name", CALLS)
def test_nothing_is_kept(name: str) -> None:
    """Neither blocks of memory nor references to what all calls share grow with the number of calls."""
    x, m = tnp.ones(3), tnp.asarray([[1, 2], [3, 4]])
    s = x[1]
    call = CALLS[name]
    shared = (x, m, s, x.tensor, None, NotImplemented, tnp.ndarray, type(s), 1, 0)

    def counts() -> list[int]:
        gc.collect()  # errors that were caught, and their frames, lead to one another
        return [sys.getrefcount(each) for each in shared]

    for _ in range(300):
        call(x, m, s)
    before, blocks = counts(), sys.getallocatedblocks()
    for _ in range(3000):
        call(x, m, s)
    after = counts()
    assert sys.getallocatedblocks() - blocks < 300
    assert all(abs(one - other) < 300 for one, other in zip(before, after, strict=True))


def test_threads() -> None:
    def work(seed: int) -> list[float]:
        x = tnp.arange(100.0) + seed
        for _ in range(200):
            y = x * 2 - x
            y[1:3] = y[:2]
            y[0] = x[0]
            y[1], y[2] = x[1], x[2]
        return [float(item) for item in y]

    with concurrent.futures.ThreadPoolExecutor(16) as pool:
        for seed, result in enumerate(pool.map(work, range(16))):
            assert result == [float(i + seed) for i in range(100)]


class _Allocations(ctypes.Structure):
    """What glibc's mallinfo2 gives."""

    _fields_ = [
        (name, ctypes.c_size_t)
        for name in ("arena", "ordblks", "smblks", "hblks", "mapped", "usmblks", "fsmblks", "used", "a", "b")
    ]


def _allocated() -> int:
    """Bytes that C and C++ have allocated and not freed: those of Python's objects are beside them."""
    gc.collect()
    ask = ctypes.CDLL(None).mallinfo2
    ask.restype = _Allocations
    found = ask()
    return found.used + found.mapped


GENERATOR = tnp.random.default_rng(3)
ENTRIES: dict[str, Callable[[Any, Any, Any, Any], Any]] = {
    "x + y": lambda x, y, i, m: x + y,
    "x + 1": lambda x, y, i, m: x + 1,
    "x + s": lambda x, y, i, m: x + x[1],
    "s * s": lambda x, y, i, m: x[0] * x[1],
    "x < y": lambda x, y, i, m: x < y,
    "-x": lambda x, y, i, m: -x,
    "x ** 2": lambda x, y, i, m: x**2,
    "x @ y": lambda x, y, i, m: x @ y,
    "x += y": lambda x, y, i, m: operator.iadd(x, y),
    "x[::2] *= 1": lambda x, y, i, m: operator.imul(x[::2], 1.0),
    "exp(x)": lambda x, y, i, m: tnp.exp(x),
    "exp(x, out=y)": lambda x, y, i, m: tnp.exp(x, out=y),
    "maximum(x, y, out=y)": lambda x, y, i, m: tnp.maximum(x, y, out=y),
    "x[1:]": lambda x, y, i, m: x[1:],
    "x[i]": lambda x, y, i, m: x[i],
    "x[m]": lambda x, y, i, m: x[m],
    "x[i, ]": lambda x, y, i, m: x[(i,)],
    "x[i[0]]": lambda x, y, i, m: x[i[0]],
    "x[0] = 1": lambda x, y, i, m: operator.setitem(x, 0, 1),
    "x[i] = 1": lambda x, y, i, m: operator.setitem(x, i, 1),
    "x[m] = 1": lambda x, y, i, m: operator.setitem(x, m, 1),
    "x[i] = y[i]": lambda x, y, i, m: operator.setitem(x, i, y[i]),
    "float(x[0])": lambda x, y, i, m: float(x[0]),
    "iter(x)": lambda x, y, i, m: next(iter(x)),
    "zeros": lambda x, y, i, m: tnp.zeros(3),
    "full": lambda x, y, i, m: tnp.full(3, 2.5),
    "eye": lambda x, y, i, m: tnp.eye(2),
    "arange": lambda x, y, i, m: tnp.arange(3),
    "array": lambda x, y, i, m: tnp.array([1.0, 2]),
    "copy": lambda x, y, i, m: x.copy(),
    "reshape": lambda x, y, i, m: x.reshape(2, 2),
    "T": lambda x, y, i, m: x.T,
    "sum": lambda x, y, i, m: x.sum(),
    "max": lambda x, y, i, m: x.max(0),
    "where": lambda x, y, i, m: tnp.where(m, x, y),
    "roll": lambda x, y, i, m: tnp.roll(x, 1),
    "concatenate": lambda x, y, i, m: tnp.concatenate([x, y]),
    "tensor": lambda x, y, i, m: (x + y).tensor,
    "x.reshape(4, 1) + y": lambda x, y, i, m: x[:, None] + y,
    "x[None, i]": lambda x, y, i, m: x[None, i],
    "x[..., m] = 1": lambda x, y, i, m: operator.setitem(x, (..., m), 1),
    "x.shape": lambda x, y, i, m: (x.shape, x.strides, x.dtype, x.size, x.ndim, x.nbytes, x.itemsize, x.T),
    "x.item(1)": lambda x, y, i, m: (x.item(1), x[0].item(), str(x[0]), f"{x[1]:.3f}"),
    "sqrt(2.0)": lambda x, y, i, m: (tnp.sqrt(2.0), tnp.exp(2.0), tnp.maximum(1, 2.5)),
    "x.sort()": lambda x, y, i, m: (x.sort(), x.fill(1.5)),
    "searchsorted": lambda x, y, i, m: (tnp.searchsorted(x, 0.5), x.repeat(2), x.nonzero()),
    "astype": lambda x, y, i, m: (x.astype(int), x[::2].copy(), tnp.where(m, x, 0.0), tnp.count_nonzero(x)),
    "complex": lambda x, y, i, m: (z := x * 2j, z[0] * 2, z == z, abs(z), z.conj(), operator.setitem(z, 0, 1j)),
    "2 ** i": lambda x, y, i, m: (2**i, i**3, tnp.array([x, y]), tnp.array([1j, 2]), tnp.cumsum(x)),
    "numpy's numbers": lambda x, y, i, m: (x * numpy.float32(2), numpy.int64(3) - x[1], tnp.maximum(numpy.int8(1), 2)),
    "full of scalars": lambda x, y, i, m: (tnp.full(3, x[1]), tnp.full(3, numpy.int8(1)), tnp.asarray([2.5, x[0]])),
    "scalars": lambda x, y, i, m: (tnp.asarray(2.5), tnp.asarray(x[0]), operator.setitem(x, 0, numpy.int8(1))),
    "out of another dtype": lambda x, y, i, m: tnp.add(i[:1], 1, out=x[:1]),
    "add.reduce": lambda x, y, i, m: (tnp.add.reduce(x), tnp.maximum.reduce(i), tnp.bincount(m), tnp.linalg.norm(i)),
    "float16": lambda x, y, i, m: (h := x.astype("f2"), h[0] + 1, str(h[0]), h * h, h.astype(int)),
    "draws": lambda x, y, i, m: (GENERATOR.normal(1.0, size=2), GENERATOR.random(), GENERATOR.integers(9)),
    "median": lambda x, y, i, m: (tnp.median(x), tnp.polyder(x), tnp.einsum("i,i", x, y)),
    "x[::-1]": lambda x, y, i, m: (z := x[::-1], z + y, z[0], z[1:], z.sum(), z.copy(), list(z), z[m], y[tnp.flip(i)]),
    "x[::-1] of NumPy": lambda x, y, i, m: (z := x[::-1], z.host, z.turn, z.ahead, z[::-1], z[1:], z.tensor),
    "x[::-1] = y": lambda x, y, i, m: (operator.setitem(x, numpy.s_[::-1], y), operator.setitem(x[::-1], 0, 1.0)),
}


@pytest.mark.parametrize("entry", ENTRIES)
def test_nothing_is_left_behind(entry: str, thorough: bool) -> None:
    """After 5,000 calls, or 100,000, there are no more references, objects and bytes than before."""
    calls = 100_000 if thorough else 5_000
    call, operands = ENTRIES[entry], (tnp.zeros(4), tnp.ones(4), tnp.asarray([0, 2]), tnp.asarray([True, False] * 2))
    for _ in range(200):
        call(*operands)
    gc.collect()  # what the first call makes, as the wrappers of functions
    held = [None, True, 1, *operands, operands[0].tensor, operands[1].tensor]
    before = [*map(sys.getrefcount, held)], sys.getallocatedblocks(), _allocated()
    for _ in range(calls):
        call(*operands)
    after = [*map(sys.getrefcount, held)], sys.getallocatedblocks(), _allocated()
    assert all(abs(now - then) < calls // 100 for then, now in zip(before[0], after[0], strict=True))
    assert after[1] - before[1] < calls // 10
    assert after[2] - before[2] < calls * 20


@pytest.mark.host
def test_a_forked_process_computes() -> None:
    x = tnp.arange(1000.0)
    expected = (x[x > 10] @ x[11:]).item()
    process = os.fork()
    if not process:
        os._exit(int((x[x > 10] @ x[11:]).item() != expected or tnp.exp(tnp.zeros(3)).tolist() != [1.0] * 3))
    assert os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]) == 0


HEADS: dict[str, list[tuple[Any, ...]]] = {
    "sum": [(), (0,), (-1,), (1,), (5,)],
    "prod": [(), (0,), (-1,), (5,)],
    "max": [(), (0,), (-1,), (5,)],
    "min": [(), (0,), (-1,), (5,)],
    "any": [(), (0,), (-1,)],
    "all": [(), (0,), (-1,)],
    "argmax": [(), (0,), (-1,)],
    "argmin": [(), (0,), (-1,)],
    "mean": [(), (0,), (-1,), (5,)],
    "cumsum": [(), (0,), (-1,), (1,), (5,)],
    "cumprod": [(), (0,), (-1,), (1,)],
    "transpose": [(), ((1, 0),), ([-1, 0],), ((0, 0),), ((0,),), ((0, 2),), (1,), ((True, 0),)],
    "reshape": [(-1,), ((3, -1),), ((-1, 2, 1),), ((0, -1),), (7,), ((2, 3.0),), ((-1, -1),), (2**70,), ((1, 6, 1),)],
    "copy": [()],
    "where": [(1, 2)],
    "array": [(), ("f8",), ("i4",)],
    "astype": [("f8",), ("f4",), ("i4",), ("?",), ("c16",)],
    "zeros_like": [(), ("f4",), ("i8", "F")],
    "ones_like": [(), ("u8",), ("c8",)],
    "full_like": [(2,), (2.5,), (True,), (-1,), (300,), (1, "f8")],
    "squeeze": [(), (0,)],
    "swapaxes": [(0, 1), (-1, 0), (0, 5), (True, 0)],
    "matrix_transpose": [()],
    "moveaxis": [(0, 1), (-1, 0), (0, 5), ((0, 1), (1, 0))],
    "broadcast_to": [((2, 3, 2),), ((4, 2),), (2,), ((1, 1, 2, 3),), ((0, 2),), ((2**40, 2**40, 6),), ([3, 6],)],
    "atleast_1d": [()],
    "atleast_2d": [()],
    "atleast_3d": [()],
    "ascontiguousarray": [(), ("f4",)],
    "asfortranarray": [(), ("f4",)],
    "ravel": [(), ("F",), ("K",)],
    "real": [()],
    "imag": [()],
    "nonzero": [()],
    "sort": [(), (0,), (None,), (5,)],
    "argsort": [(), (0,), (None,)],
    "partition": [(2,), (9,), (1, 0)],
    "argpartition": [(0,), (1, 0)],
    "packbits": [(), (0,), (-1, "little")],
    "unpackbits": [(), (0,), (None, 3), (None, 3, "little")],
    "take": [(0,), ([0, 1],), (2, 0)],
    "bincount": [(), (None, 9), (None, -1)],
    "unravel_index": [((3, 4),), ((2, 100, 2), "F")],
    "iscomplex": [()],
    "modf": [()],
    "frexp": [()],
    "divmod": [(2,), (-1.5,)],
    "count_nonzero": [(), (0,)],
    "nanmax": [(), (0,)],
    "nanmin": [(), (0,)],
}


def test_threads_that_share_operands() -> None:
    """They compute what one does, while some of them ask for floating-point errors; `make races` checks memory."""
    operands = [samples(dtype, (3, 2)) for dtype in DTYPES] + [samples(dtype, (200, 200)) for dtype in ("f8", "i8")]
    calls = [functools.partial(getattr(tnp, name), x, *given[-1]) for x in operands for name, given in HEADS.items()]
    calls += [functools.partial(ufunc, x) for x in operands for ufunc in UNARY]
    calls += [functools.partial(ufunc, x, x) for x in operands for ufunc in BINARY]
    expected = [outcome(call) for call in calls]

    def work(number: int) -> None:
        for step in range(number, len(calls) + number, 5):
            place = step * 16 % len(calls)
            with tnp.errstate(all="call" if step % 16 == 0 else "ignore", call=lambda *_: None):
                assert outcome(calls[place]) == expected[place]

    with concurrent.futures.ThreadPoolExecutor(16) as pool:
        for _ in pool.map(work, range(16)):
            pass


# Functions that NumPy computes for small arrays; their results are in NumPy's memory order.
BY_NUMPY: dict[str, list[tuple[Any, ...]]] = {
    "repeat": [(2,), ([1, 2],), (2, 0), (2, 5)],
    "tile": [(2,), ((2, 1),), (-1,)],
    "resize": [(5,), ((2, 2),), ((-1,),)],
    "delete": [(0,), ([0, 1], 0), (9,)],
    "insert": [(1, 1), ([0, 1], 0, 0), (9, 0)],
    "pad": [(1,), (((1, 0),), "edge"), (1, "reflect"), (-1,), (1, "wrap")],
    "unique": [(), (True, False, True), (False, True)],
    "isin": [([1, 2],), (2, False, True)],
    "intersect1d": [([1, 2],)],
    "setdiff1d": [([1, 2],)],
    "setxor1d": [([1, 2],)],
    "searchsorted": [(1.5,), (2,), (1, "right"), (numpy.float32(1),)],
    "append": [(1,), ([1, 2],), ([[1]], 0)],
    "argwhere": [()],
    "diff": [(), (2,), (1, 0), (1, 5)],
    "ediff1d": [(), (1, [2, 3])],
    "gradient": [(), (2,), (0.5, 2.0)],
    "flatnonzero": [()],
    "tril": [(), (1,)],
    "triu": [(), (-1,)],
}


@pytest.fixture
def without_heads(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[], Any]], Any]:
    """Calls a function with the native heads of functions refusing everything."""

    def call(function: Callable[[], Any]) -> Any:
        with monkeypatch.context() as patch:
            for name in native.HEADS:
                patch.setattr(native.heads, name, lambda *args, **options: None)
            return outcome(function)

    return call


@pytest.mark.parametrize("dtype", ["f4", "f8", "i4", "i8", "u4", "u8"])
@pytest.mark.parametrize("name", ["argmax", "argmin", "max", "min"])
def test_extremes_of_several_blocks(name: str, dtype: str, without_heads: Callable[[Callable[[], Any]], Any]) -> None:
    """The first of equal elements wins, in a later block too, and the first NaN wins over all of them."""
    values = numpy.tile(numpy.arange(90, dtype=dtype), 5)[:-7]
    for changes in (
        {},
        {0: 1},
        {-1: 200},
        {130: 200, 131: 200, 300: 200},
        {140: numpy.nan},
        {3: numpy.nan, 440: numpy.nan},
    ):
        x = values.copy()
        for place, value in changes.items():
            if value == value or x.dtype.kind == "f":
                x[place] = value
        call = functools.partial(getattr(tnp, name), tnp.asarray(x))
        assert outcome(call) == without_heads(call)
        assert int(tnp.asnumpy(getattr(tnp, "arg" + name[-3:])(tnp.asarray(x)))) == getattr(x, "arg" + name[-3:])()


@pytest.mark.parametrize("dtype", ["?", "u1", "i2", "u4", "i8", "u8", "f4", "f8"])
@pytest.mark.parametrize("name", ["max", "min"])
def test_extremes_along_axes_of_any_layout(name: str, dtype: str) -> None:
    cuts: list[Callable[[Any], Any]] = [
        lambda x: x,
        lambda x: x[::2, :, ::3],
        lambda x: x[:, 1:, :5],
        lambda x: x[0],
        lambda x: x[0].T[::2],
        lambda x: x[:, :3].reshape(-1, 3),
    ]
    for shape in ((4, 20, 30), (3, 150, 140), (40, 40, 40)):
        values = numpy.random.default_rng(2).integers(0, 2 if dtype == "?" else 120, shape).astype(dtype)
        if values.dtype.kind == "f":
            values[1, 2, 3] = numpy.nan

        def results(xp: Any, values: Any = values) -> list[Any]:
            arrays = [cut(xp.asarray(values)) for cut in cuts]
            found = [getattr(xp, name)(x, axis) for x in arrays for axis in (None, *range(x.ndim))]
            return found + [getattr(x, name)(axis, keepdims=True) for x in arrays for axis in (0, -1)]

        compare(results)


@pytest.mark.parametrize("name", HEADS)
@pytest.mark.parametrize("dtype", DTYPES)
def test_functions(name: str, dtype: str, without_heads: Callable[[Callable[[], Any]], Any]) -> None:
    makes: list[Callable[[], Any]] = [
        lambda: samples(dtype, (6,)),
        lambda: samples(dtype, (2, 3)),
        lambda: samples(dtype, (3, 2)).T,
        lambda: samples(dtype, (12,))[::2],
        lambda: samples(dtype, (0,)),
        lambda: samples(dtype, ()),
        lambda: samples(dtype, (2, 1, 3))[:, :, ::2],
        lambda: samples(dtype, (4,))[1:],
        lambda: samples(dtype, (1, 5))[0][1],
    ]
    function = getattr(tnp, name)
    for make, options in itertools.product(makes, HEADS[name]):
        assert outcome(lambda make=make, options=options: function(make(), *options)) == without_heads(
            lambda make=make, options=options: function(make(), *options)
        )


@pytest.mark.parametrize("name", HEADS)
@pytest.mark.parametrize(
    "scope",
    [contextlib.nullcontext, lambda: tnp.device("meta"), lambda: tnp.errstate(all="call", call=lambda *_: None)],
    ids=["plain", "meta", "errors"],
)
def test_functions_in_scopes(
    name: str, scope: Callable[[], Any], without_heads: Callable[[Callable[[], Any]], Any]
) -> None:
    """Arrays of many elements, of many axes, of bfloat16, and those that are read-only, in each scope."""
    rounded = tnp.asarray(numpy.array([[0, 1.5, -2], [3, 4, 5]], ml_dtypes.bfloat16))
    locked = samples("f8", (2, 3))
    locked.flags.writeable = False
    several = samples("f4", (2, 3)).reshape((2,) + (1,) * 38 + (3,))
    large = [samples("f8", (200, 200)), samples("i8", (200, 200)).T, samples("?", (40000,))]
    for x in (rounded, rounded.T, rounded[1], rounded[0, 1], rounded[::-1], locked, several, *large, large[0][::-1]):
        for options in HEADS[name]:

            def call(x: Any = x, options: Any = options) -> Any:
                with scope():
                    return getattr(tnp, name)(x, *options)

            assert outcome(call) == without_heads(call)


@pytest.mark.parametrize("name", ["asarray", "array"])
@pytest.mark.parametrize("dtype", [*DTYPES, ">f8", "U2"])
def test_of_numpy_arrays(name: str, dtype: str, without_heads: Callable[[Callable[[], Any]], Any]) -> None:
    """The same array, over the same memory or a copy."""
    whole = numpy.array([0, 1, 2, 1, 0, 7]).astype(dtype)
    locked = whole.copy()
    locked.flags.writeable = False
    views = [whole, whole[1:], whole[::2], whole[::-1], whole.reshape(2, 3).T, whole[:0], whole[0], whole[:1], locked]
    views += [whole.reshape(1, 6), whole[3:4].reshape(())]
    for view, given in itertools.product(views, [None, "f8", numpy.dtype(dtype)]):

        def made(view: Any = view, given: Any = given) -> Any:
            result = getattr(tnp, name)(view, given)
            return described(result), result.flags.writeable, numpy.shares_memory(result, view)

        assert outcome(made) == without_heads(made)


@pytest.mark.parametrize("name", BY_NUMPY)
@pytest.mark.parametrize("dtype", ["?", "i4", "f8", "c16"])
def test_functions_by_numpy(name: str, dtype: str) -> None:
    host = numpy.resize(numpy.array([0, 1, 2, 1, 0, 7]).astype(dtype), 12)
    makes: list[Callable[[Any], Any]] = [
        lambda xp: xp.asarray(host),
        lambda xp: xp.asarray(host).reshape(3, 4),
        lambda xp: xp.asarray(host).reshape(3, 4).T,
        lambda xp: xp.asarray(host)[::2],
        lambda xp: xp.asarray(host[:0]),
    ]
    for make, options in itertools.product(makes, BY_NUMPY[name]):
        error = None
        try:
            getattr(numpy, name)(make(numpy), *options)
        except Exception as raised:
            error = type(raised)
        compare(lambda xp, make=make, options=options: getattr(xp, name)(make(xp), *options), raises=error or ())


JOINS = ["stack", "vstack", "hstack", "dstack", "column_stack"]
JOINED: list[Callable[[Any, Any, Any], Any]] = [
    *[lambda xp, x, m, join=join: getattr(xp, join)((x, x + 1)) for join in JOINS],
    *[lambda xp, x, m, join=join: getattr(xp, join)([m, m.astype("f4")]) for join in JOINS],
    lambda xp, x, m: xp.stack([x, x], axis=1),
    lambda xp, x, m: xp.vstack([x, [1, 2, 3.0]]),
    lambda xp, x, m: xp.append(x[0], x[1]),
    lambda xp, x, m: xp.append(m, x),
    lambda xp, x, m: xp.gradient(m),
    lambda xp, x, m: xp.gradient(m, 2.0, axis=1, edge_order=2),
    lambda xp, x, m: xp.gradient(x, xp.sort(x)),
    lambda xp, x, m: xp.diff(x, prepend=0.0),
    lambda xp, x, m: xp.diff(m, axis=0),
    lambda xp, x, m: xp.identity(3),
    lambda xp, x, m: xp.linalg.det(m.T @ m + xp.identity(3)),
    lambda xp, x, m: xp.linalg.solve(xp.identity(3) + xp.outer(x, x), x),
    lambda xp, x, m: xp.linalg.cholesky(xp.identity(3) + xp.outer(x, x)),
    lambda xp, x, m: xp.argwhere(m > 1),
    lambda xp, x, m: xp.flatnonzero(m),
    lambda xp, x, m: xp.tile(m, (2, 1)),
    lambda xp, x, m: xp.resize(m, (2, 2)),
    lambda xp, x, m: xp.isin(m, x),
    lambda xp, x, m: xp.sort(m, axis=None),
    lambda xp, x, m: xp.repeat(m, 2, axis=0),
    lambda xp, x, m: xp.searchsorted(xp.sort(x), x[0]),
]


@pytest.mark.parametrize("number", range(len(JOINED)))
def test_bases_are_those_of_numpy(number: int) -> None:
    """An array that NumPy makes is a view of new memory where NumPy's is, and owns its memory where NumPy's does."""

    def call(xp: Any) -> Any:
        found = JOINED[number](xp, xp.asarray([1.0, 3.0, 2.0]), xp.asarray([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]))
        each = found if isinstance(found, tuple) else (found,)
        return (*each, *[x.base is None for x in each])

    compare(call)


def test_functions_of_several_arrays(without_heads: Callable[[Callable[[], Any]], Any]) -> None:
    x, y = samples("f8"), samples("f8")[::-1]
    m = samples("f8", (2, 7))
    f = samples("f4")
    calls: list[Callable[[], Any]] = [
        lambda: tnp.where(x < y, x, y),
        lambda: tnp.where(x < y, x, f),
        lambda: tnp.where(x < y, x, 0.0),
        lambda: tnp.where(m < 1, m, -m),
        lambda: tnp.dot(f, f),
        lambda: tnp.dot(x[1:4], y[2:5]),
        lambda: tnp.dot(x[2:5], x[2:4]),
        lambda: tnp.linalg.norm(x[2:5]),
        lambda: tnp.linalg.norm(m),
        lambda: tnp.concatenate((x, y)),
        lambda: tnp.concatenate([m, m], axis=1),
        lambda: tnp.concatenate([m, m]),
        lambda: tnp.concatenate((x, f)),
        lambda: tnp.concatenate((x, m)),
        lambda: tnp.concatenate(x),
        lambda: tnp.concatenate([]),
        lambda: tnp.concatenate((x, x), axis=2),
        *[lambda shape=shape: tnp.zeros(shape) for shape in (3, (2, 3), -1, (), (0, 2), 2.0, None, [2], 2**70)],
        *[lambda dtype=dtype: tnp.ones(2, dtype) for dtype in (*DTYPES, int, float, bool, complex, "float32", "O")],
        lambda: tnp.zeros(3, order="F"),
    ]
    for call in calls:
        assert outcome(call) == without_heads(call)


def written(function: Callable[..., Any], target: Any, *args: Any) -> Any:
    """The array that a function writes to."""
    function(target, *args)
    return target


NUMBERS = [0, 1, -3, 2.5, -0.5, float("inf"), float("nan"), True, 2**40, 2**63, 2**70, 2 - 1j]


@pytest.mark.parametrize("ufunc", UNARY, ids=lambda ufunc: ufunc.__name__)
def test_calls_of_one_number(ufunc: Any) -> None:
    """A number without an array beside it gives what an array of it gives."""
    for number in NUMBERS:
        assert outcome(lambda number=number: ufunc(number)) == outcome(
            lambda number=number: type(ufunc).__call__(ufunc, number)
        )


@pytest.mark.parametrize("ufunc", BINARY, ids=lambda ufunc: ufunc.__name__)
def test_calls_of_two_numbers(ufunc: Any) -> None:
    for one, other in itertools.product(NUMBERS, NUMBERS):
        call = functools.partial(type(ufunc).__call__, ufunc, one, other)
        assert outcome(functools.partial(ufunc, one, other)) == outcome(call), (one, other)


def test_lists_on_another_device() -> None:
    with tnp.device("meta"):
        assert tnp.repeat([1, 2], 2).device.type == tnp.indices((2, 2)).device.type == tnp.tri(2).device.type == "meta"


@pytest.mark.parametrize("dtype", DTYPES)
def test_attributes(dtype: str) -> None:
    """The class has Python's properties, which subclasses and Dynamo read, and the native getters give the same."""
    for make in (
        lambda: samples(dtype, (6,)),
        lambda: samples(dtype, (2, 3)).T,
        lambda: samples(dtype, (12,))[::2],
        lambda: samples(dtype, (0, 2)),
        lambda: samples(dtype, ()),
        lambda: samples(dtype, (3,))[1],
        lambda: tnp.broadcast_to(samples(dtype, (3,)), (2, 3)),
    ):
        for name in ("dtype", "shape", "ndim", "size", "itemsize", "nbytes", "strides", "T"):
            one, other = make(), make()
            found = getattr(type(one), name)
            assert isinstance(found, property)
            assert found.__doc__
            assert outcome(lambda one=one, name=name: getattr(one, name)) == outcome(
                lambda found=found, other=other: found.fget(other)
            )


@pytest.mark.parametrize("to", ["u1", "i1", "i2", "i4", "i8", "f4", "f8", "?"])
@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_casts_of_floats(dtype: str, to: str) -> None:
    values = [[0.5, -0.9, 3.99, 100.0], [-1.0, 0, 0, 0], [127.0, 127.9, 0, 0], [2.0**31 - 129, 0, 0, 0]]
    for line in values:
        if numpy.dtype(to).kind in "iu":
            info = numpy.iinfo(to)
            line = [value for value in line if info.min <= value <= info.max]  # NumPy's others depend on the processor
        compare(
            lambda xp, line=line: (
                xp.asarray(line, dtype=dtype).astype(to),
                xp.asarray([line, line], dtype=dtype)[:, :2].astype(to),
            )
        )


def test_shapes_that_broadcast() -> None:
    """Rows are computed natively where the result is in C order."""
    shapes = [(3,), (4, 1), (4, 3), (1, 3), (2, 4, 3), (2, 1, 1), (1,), (5,), (30, 40), (40,), (30, 1)]
    for one, other in itertools.product(shapes, shapes):
        for change in (lambda x: x, lambda x: x[..., ::2], lambda x: x.T, lambda x: tnp.flip(x)):
            x, y = samples("f8", one), change(samples("f8", other))
            assert outcome(lambda x=x, y=y: x * y) == outcome(lambda x=x, y=y: tnp.ndarray.__mul__(x, y))


@pytest.mark.parametrize("error", [KeyboardInterrupt, MemoryError, TimeoutError, ValueError])
def test_errors_within_functions_of_numpy(error: type[BaseException]) -> None:
    """The Python path says what is wrong with an argument; anything else ends the call."""

    def refuse(*args: Any) -> None:
        raise error

    for call in (native.heads.by_numpy, native.heads.write_by_numpy):
        if error is ValueError:
            assert call(refuse, tnp.ones(3)) is None
        else:
            with pytest.raises(error):
                call(refuse, tnp.ones(3))


TURNING: list[Any] = [
    *(numpy.s_[::-1], numpy.s_[:, ::-1], numpy.s_[1, ::-1], numpy.s_[::-1, 3:1:-1], numpy.s_[..., ::-2]),
    *(numpy.s_[None, ::-1], numpy.s_[:0:-1, 9:20:-1], numpy.s_[::-1, 9], numpy.s_[::-1, [0, 1]], numpy.s_[::-1, 5:2]),
]


def test_functions_that_numpy_computes(without_heads: Callable[[Callable[[], Any]], Any]) -> None:
    x, f, m, b = samples("f8"), samples("f4"), samples("f8", (2, 7)), samples("?")
    i, rising = tnp.asarray([5, 0, 5, 2, 1, 6, 3]), tnp.arange(7.0)
    calls: list[Callable[[], Any]] = [
        *[lambda v=v: tnp.searchsorted(rising, v) for v in (x, f, 2.5, [1.0], m)],
        lambda: tnp.searchsorted(rising, rising, "right"),
        lambda: tnp.searchsorted(m, x),
        lambda: tnp.searchsorted(x, x, "middle"),
        lambda: tnp.lexsort([i, i % 2]),
        lambda: tnp.lexsort([i, m]),
        lambda: tnp.interp(x, rising, i),
        lambda: tnp.interp(x, rising, rising, left=-1.0, right=9),
        lambda: tnp.interp(x, m, rising),
        *[lambda mode=mode: tnp.correlate(rising, i[:3], mode) for mode in ("valid", "same", "full", "none")],
        *[lambda mode=mode: tnp.convolve(i[:3], rising, mode) for mode in ("valid", "same", "full", "none")],
        lambda: tnp.convolve(rising, m),
        lambda: tnp.vdot(rising, rising),
        lambda: tnp.inner(f[4:5], f[4:5]),
        lambda: tnp.vdot(rising, rising[1:]),
        *[
            lambda args=args: tnp.linspace(*args)
            for args in ((0.0, 1.0, 7), (3, -2, 5, False), (0.0, 1.0, 1), (1, 1, 4), (0, 1, 0))
        ],
        lambda: tnp.logspace(0.0, 2.0, 5),
        lambda: tnp.bincount(i, rising),
        lambda: tnp.bincount(i, m),
        lambda: tnp.bincount(i - 1),
        lambda: tnp.digitize(x, rising),
        lambda: tnp.digitize(x, x),
        lambda: tnp.take_along_axis(x, i, 0),
        lambda: tnp.take_along_axis(x, i + 5, 0),
        lambda: tnp.compress(b, x),
        lambda: tnp.compress(b[:3], x),
        *[lambda x=x: x.flatten() for x in (m, m.T, m[:, ::2], i, b, m[:0], f[0])],
        *[lambda pair=pair: tnp.dot(*pair) for pair in ((m, x), (x, m.T), (m, m), (m, f), (m, 2), (x, x, None))],
        *[lambda pair=pair: pair[0].dot(*pair[1:]) for pair in ((m, x), (x, m.T), (m, m), (x, x), (x, [1]))],
        *[lambda k=k: (m[k], m[k].copy(), *m[k].strides) for k in TURNING],
        *[lambda k=k: written(lambda x: x[k].fill(5), m.copy()) for k in TURNING[:5]],
        lambda: tnp.ravel_multi_index((i, i), (7, 7)),
        lambda: tnp.ravel_multi_index((i, i), (7, 2)),
        lambda: tnp.add.reduceat(rising, i),
        lambda: tnp.add.reduceat(b, i),
        lambda: tnp.less.reduceat(rising, i),
        lambda: tnp.power.reduceat(rising, i),
        lambda: tnp.maximum.accumulate(x),
        lambda: tnp.add.reduceat(rising, i + 5),
        *[lambda out=out: tnp.add(x, x, out=tnp.zeros_like(out), where=b) for out in (x, f, m)],
        lambda: tnp.less(x, x, out=b.copy(), where=b),
        *[lambda value=value: written(tnp.putmask, x.copy(), b, value) for value in (rising, 2.5, rising[:2], f, [1])],
        lambda: written(tnp.putmask, x.copy(), m, rising),
        lambda: written(tnp.place, x.copy(), b, rising),
        lambda: written(tnp.place, x.copy(), b, rising[:0]),
        lambda: written(lambda x: tnp.copyto(x, rising, where=b), x.copy()),
        *[lambda v=v: written(tnp.copyto, x.copy(), v) for v in (rising, f, i, 2, 2.5, [1], m, m[0])],
        *[lambda v=v: written(tnp.copyto, i.copy(), v) for v in (rising, 2, 2.5, x[0])],
        lambda: written(lambda x: tnp.copyto(x, rising, where=b), f.copy()),
        lambda: written(lambda x: tnp.copyto(x, rising, where=b), i.copy()),
        lambda: written(tnp.put_along_axis, x.copy(), i, rising, 0),
        lambda: written(tnp.put_along_axis, x.copy(), i + 5, rising, 0),
        lambda: written(tnp.add.at, x.copy(), i, rising),
        lambda: written(tnp.add.at, i.copy(), i, 2),
        lambda: written(tnp.add.at, x.copy(), i + 5, rising),
        lambda: written(tnp.fill_diagonal, m.copy(), 2.0),
        lambda: written(tnp.fill_diagonal, m.T.copy(), 2),
        lambda: written(tnp.fill_diagonal, m.T, 2),
        lambda: written(tnp.fill_diagonal, samples("f8", (9, 2)), 7),
    ]
    for call in calls:
        assert outcome(call) == without_heads(call)
    before = x.tensor._version
    tnp.putmask(x, b, rising)
    assert x.tensor._version > before


LISTS: list[Any] = [
    *([1, 2.5], [1, 2], [True, False], [True, 2], [True, 2.5], [], [[]], [[1, 2], [3, 4]], [[1], [2.5]], [[1], 2]),
    *([[1, 2], [3]], (1.0, 2.0), [(1, 2), [3.0, 4]], [2**63], [2**64], [-(2**63) - 1, 1.5], [10**400, 1.0], [None]),
    *([1j], [2.5, 1j], [[1, 1j]], [True, 1j], [1j, 2**64], [1j, "a"]),
    *(["a"], [[[[1]]]], [[[[[1, 2]]]]], [float("nan")], [0.1, 1], 5, 2.5, "x", [300], [-1], [numpy.float32(1)]),
]


@pytest.mark.parametrize("given", LISTS, ids=repr)
def test_arrays_of_lists(given: Any, without_heads: Callable[[Callable[[], Any]], Any]) -> None:
    for dtype in (None, *DTYPES, int, float, bool):
        assert outcome(lambda dtype=dtype: tnp.array(given, dtype)) == without_heads(
            lambda dtype=dtype: tnp.array(given, dtype)
        )


def test_arrays_of_scalars(without_heads: Callable[[Callable[[], Any]], Any]) -> None:
    x, i = tnp.arange(3.0) + 0.1, tnp.arange(3)
    arrays = [[x, x], [x, x, i], [x, i], [x, x[1:]], (x[::2], x[1:]), [[x], [x]], [x, [1, 2, 3.0]], [x[:, None]] * 2]
    for given in (
        *([x[0], x[1], 1.0], [x[0], 1], [x[0], True], [i[0], i[1]], [x[0], i[0]], [[x[0]], [2.0]], [x[0], 1j]),
        *arrays,
    ):
        for dtype in (None, "f4", "i8", "f8"):
            assert outcome(lambda given=given, dtype=dtype: tnp.array(given, dtype)) == without_heads(
                lambda given=given, dtype=dtype: tnp.array(given, dtype)
            )


WITH_COMPLEX: list[Callable[[Any, Any], Any]] = [
    lambda xp, z: (z[0] * 2, 2 - z[1], z[1] == z[1], z[0] < z[1], -z[2], abs(z[3]), z[0] ** 2, z[1] ** z[1]),
    lambda xp, z: (hash(z[1]) == hash(complex(z[1])), bool(z[0]), bool(z[1]), z.item(2), z[1].item(), str(z[1])),
    lambda xp, z: (z.sum(), z.mean(), z.any(), z.all(), xp.count_nonzero(z), z[:4].reshape(2, 2).sum(axis=0)),
    lambda xp, z: (xp.where(z == z, z, 1.0), xp.where(z == z, 2j, z), xp.where(z != z, z, z + 1)),
    lambda xp, z: (z.astype("c8"), z.astype("c16"), z.astype(bool), xp.arange(3).astype(complex), xp.ones(2, "c8")),
    lambda xp, z: (xp.full(2, 1j), xp.full(2, 1j, "c8"), xp.zeros(2, complex), xp.array([1j, 2]), xp.array([z, z])),
    lambda xp, z: (xp.arange(3) + 1j, 1j * xp.arange(3.0), xp.ones(2, "f4") / 2j, xp.ones(2, "f4") == 1j),
    lambda xp, z: (z[::2] * z[1::2], z[::2] + z[1::2], z[:4].reshape(2, 2).T * z[:2], z * z[0], z[::2] * 2, z**2),
    lambda xp, z: (z.conj(), z.conjugate(), z.real.conj(), z[0].conj(), xp.isnan(z), xp.isinf(z), xp.isfinite(z)),
    lambda xp, z: (operator.iadd(z, 1j), operator.imul(z, z), operator.isub(z[::2], z[1::2]), z),
    lambda xp, z: (operator.itruediv(z, 2), z, z / 2j, xp.square(z)),
    lambda xp, z: (
        operator.setitem(z, 0, 1.5),
        operator.setitem(z, 1, 2j),
        operator.setitem(z, slice(2, 4), z[4:6]),
        z,
    ),
    lambda xp, z: (operator.setitem(z, z == z, 1j), operator.setitem(z, [0, 1], z[2]), z),
    lambda xp, z: (z.ravel(), z[:4].reshape(2, 2).T.ravel(), z[:4].reshape(2, 2).T.flatten(), z[::2].copy()),
    lambda xp, z: (xp.maximum(z, z[::-1].copy()), xp.minimum(z, 1), z <= z[::-1].copy(), z >= 1, xp.logical_and(z, z)),
    lambda xp, z: (operator.ipow(z, 2), z**3, z**0.5, z**-1, z**1j, 2**z),
    lambda xp, z: float(z[1]),
    lambda xp, z: z.astype(float),
    lambda xp, z: operator.setitem(xp.zeros(3), 0, 1j),
    lambda xp, z: operator.iadd(xp.zeros(3), 1j),
    lambda xp, z: xp.array([1j, 2], float),
    lambda xp, z: z // 2,
]


@pytest.mark.parametrize("number", range(len(WITH_COMPLEX)))
@pytest.mark.parametrize("dtype", ["c8", "c16"])
def test_complex_numbers(number: int, dtype: str) -> None:
    values = [0, 1 - 2j, complex(2, -0.0), complex(numpy.inf, 1), complex(-1, numpy.nan), -1 + 0.5j, 3, -0.1j]

    with numpy.errstate(all="ignore"):
        compare(lambda xp: WITH_COMPLEX[number](xp, xp.asarray(values, dtype=dtype)), may_raise=TypeError, rtol=1e-6)


POWERS: list[Callable[[Any, Any], Any]] = [
    lambda xp, i: (2**i, i**3, i**i, i[::2] ** i[1::2], i**0, i ** xp.asarray(2), i[1] ** i[2], i[1] ** 2, (-2) ** i),
    lambda xp, i: (i.reshape(2, 3) ** i[:3], i.reshape(2, 3).T ** i[:2], 0 ** i.reshape(2, 3).T, i ** i[:1]),
    lambda xp, i: (operator.ipow(i, 2), operator.ipow(i, 3), operator.ipow(i, i), i),
    lambda xp, i: (i.astype("u1") ** i.astype("u1"), i.astype("i1") ** 100, i.astype("u8") ** i, i**0.5, i**2.0),
    lambda xp, i: i**-1,
    lambda xp, i: 2 ** (i - 1),
    lambda xp, i: i ** (i - 1).reshape(2, 3).T.ravel()[::2].repeat(2),
    lambda xp, i: i[2] ** (i[0] - 1),
    lambda xp, i: operator.ipow(i, i - 1),
    lambda xp, i: xp.zeros(0, int) ** (i[:0] - 1),
]


@pytest.mark.parametrize("number", range(len(POWERS)))
def test_powers_of_integers(number: int) -> None:
    compare(lambda xp: POWERS[number](xp, xp.asarray([0, 1, 2, 5, 63, 64])), may_raise=ValueError)


ON_THE_HOST: list[Callable[[Any, Any, Any], Any]] = [
    lambda xp, x, m: (xp.average(x), xp.average(m, axis=0), xp.average(x, weights=x), xp.average(m, 1, [0, 1.0, 2])),
    lambda xp, x, m: xp.average(x, weights=x - x),
    lambda xp, x, m: xp.average(m, weights=x),
    lambda xp, x, m: (xp.median(x), xp.median(m, axis=1), xp.percentile(x, 30), xp.quantile(m, [0.1, 0.5], 0)),
    lambda xp, x, m: (xp.nanmean(m, 0), xp.nanstd(x), xp.nanvar(x, ddof=1), xp.nanmedian(m, 0)),
    lambda xp, x, m: xp.nanmean(x * xp.nan),
    lambda xp, x, m: xp.nanmedian(m * xp.nan, axis=1),
    lambda xp, x, m: xp.nanvar(x[:1], ddof=1),
    lambda xp, x, m: (xp.median(x[:0]), xp.average(x[:0])),
    lambda xp, x, m: (xp.cov(m), xp.corrcoef(m), xp.cov(x), xp.cov(m, rowvar=False, fweights=[1, 2])),
    lambda xp, x, m: xp.cov(x[:1]),
    lambda xp, x, m: (xp.einsum("ij->j", m), xp.einsum("ij,j", m, x), xp.einsum("ij->ji", m), xp.einsum("i,i", x, x)),
    lambda xp, x, m: xp.einsum("ij,j", m, m),
    lambda xp, x, m: (xp.polyder(x), xp.polyint(x), xp.polyval(x, 2), xp.polyval(x, m), xp.polyadd(x, [1]), xp.poly(x)),
    lambda xp, x, m: (xp.polymul(x, x), xp.polysub(x, 1), xp.polydiv(x, x[:2]), xp.polyint(x, 0), xp.polyder(x, 2)),
    lambda xp, x, m: (xp.polyfit(x, x, 1), xp.roots(xp.asarray([1.0, -3, 2]))),
    lambda xp, x, m: xp.polyfit([1.0, 1.0], [1.0, 2.0], 1),
    lambda xp, x, m: xp.polyfit(x, x[1:], 1),
    lambda xp, x, m: (*xp.linalg.lstsq(m, x[:2]), *xp.linalg.lstsq(m.T, x, rcond=None)),
    lambda xp, x, m: xp.linalg.svd(m, compute_uv=False),
    lambda xp, x, m: (xp.fft.fft(x), xp.fft.ifft(m, axis=0), xp.fft.rfft(x), xp.fft.irfft(x), xp.fft.hfft(x, 5)),
    lambda xp, x, m: (*xp.linalg.eigh(m @ m.T), *xp.linalg.svd(m), *xp.linalg.qr(m), *xp.linalg.slogdet(m @ m.T)),
    lambda xp, x, m: (xp.linalg.eigvalsh(m @ m.T), xp.linalg.cond(m), xp.trace(m)),
    lambda xp, x, m: xp.linalg.eigh(m),
    lambda xp, x, m: (
        xp.vecdot(m, x),
        xp.matvec(m, x),
        xp.vecmat(x[:2], m),
        xp.linalg.vecdot(m, x),
        xp.vecdot(x, 1j * x),
    ),
    lambda xp, x, m: xp.vecdot(x, x[1:]),
    lambda xp, x, m: (*xp.histogram(x, 3), xp.histogram_bin_edges(x, "auto"), xp.vander(x, 2), xp.geomspace(1, 8, 4)),
    lambda xp, x, m: (
        xp.iscomplex(x),
        xp.isreal(m),
        xp.iscomplex(1j),
        xp.angle(x * 1j),
        xp.sort_complex(x),
        xp.block([x, x]),
    ),
    lambda xp, x, m: (
        xp.tensordot(m, x, 1),
        xp.linalg.trace(m),
        xp.union1d(x, [3]),
        xp.nanargmax(m, 1),
        xp.fft.fftn(m),
    ),
    lambda xp, x, m: xp.nanargmax(x * xp.nan),
    lambda xp, x, m: (
        xp.nanquantile(x, 0.3),
        xp.nanpercentile(m, [10, 90], 0),
        xp.cumulative_sum(x),
        xp.fft.fftfreq(4),
    ),
    lambda xp, x, m: (x.real, x[0].real, (x * 1j).imag, (x * 1j)[1].imag, (x * 1j)[1].real, x.real is x),
    lambda xp, x, m: (
        xp.frombuffer(x.tobytes()),
        xp.frombuffer(bytearray(x.tobytes()), "f4"),
        xp.frombuffer(b"abcd", "u1", 2, 1),
    ),
    lambda xp, x, m: operator.setitem(xp.frombuffer(x.tobytes()), 0, 1),
    lambda xp, x, m: (xp.polyder([3, 2, 1]), xp.average([1, 2]), xp.median([3, 1, 2]), xp.nanmean([1, xp.nan])),
]


@pytest.mark.parametrize("number", range(len(ON_THE_HOST)))
def test_small_arrays_are_for_numpy(number: int) -> None:
    """Values, dtypes, memory order, errors and warnings, with their lines, are those of NumPy."""

    def call(xp: Any) -> Any:
        return ON_THE_HOST[number](xp, xp.asarray([2.0, 4.0, 1.0]), xp.asarray([[1.0, 2.0, 3.0], [4.0, 5.0, 7.0]]))

    compare(call, may_raise=(TypeError, ValueError, ZeroDivisionError), rtol=1e-12, atol=1e-12)


READ_ONLY: list[Callable[[Any, Any, Any], Any]] = [
    lambda xp, x, y: x + y,
    lambda xp, x, y: y - x,
    lambda xp, x, y: x * 2,
    lambda xp, x, y: 2 / x,
    lambda xp, x, y: x**2,
    lambda xp, x, y: y[0, 0] * x,
    lambda xp, x, y: (x < y, y < x, x == 1, -x, abs(x), x @ y, y @ x),
    lambda xp, x, y: xp.exp(x),
    lambda xp, x, y: (x[y > 1], x[y > 1].flags.writeable, x[xp.asarray([1, 0])].flags.writeable, x[x > 1]),
    lambda xp, x, y: (x[0, 1], x[-1], x[1:], x[..., 0], x[None], x[xp.asarray([0]), 1]),
    lambda xp, x, y: (x[1:].flags.writeable, x[0].flags.writeable, x[...].flags.writeable, (x + 0).flags.writeable),
    lambda xp, x, y: (y.__setitem__(x > 2, 5), y.__setitem__(slice(1), x[:1]), y.__setitem__(y > 0, x[y > 0]), y),
    lambda xp, x, y: (operator.iadd(y, x), operator.imul(y, x), y),
    lambda xp, x, y: operator.iadd(x, y),
    lambda xp, x, y: operator.ipow(x, 2),
    lambda xp, x, y: x.__setitem__(0, 1),
    lambda xp, x, y: xp.add(x, y, out=x),
]


@pytest.mark.parametrize("number", range(len(READ_ONLY)))
@pytest.mark.parametrize("kind", ["locked", "rows", "columns", "vector"])
def test_read_only_arrays(number: int, kind: str) -> None:
    def of(xp: Any) -> Any:
        y = xp.arange(9.0).reshape(3, 3)
        x = xp.arange(3.0) + 1
        if kind == "locked":
            x = y + 1
            x.flags.writeable = False
        elif kind == "rows":
            x = xp.broadcast_to(x, (3, 3))
        elif kind == "columns":
            x = xp.broadcast_to(x[:, None], (3, 3))
        else:
            x, y = xp.broadcast_to(xp.asarray(2.0), (3,)), y[0].reshape(3, 1)
        return READ_ONLY[number](xp, x, y)

    with numpy.errstate(all="ignore"):
        compare(of, may_raise=(ValueError, IndexError, TypeError))


@pytest.mark.parametrize("shape", [(3, 4), (5, 7), (16, 16), (2, 3, 11), (130,), (9, 1)])
@pytest.mark.parametrize("share", [0.0, 0.02, 0.5, 1.0])
def test_masks_of_any_strides(shape: tuple[int, ...], share: float) -> None:
    chosen = numpy.random.default_rng(3).random(shape) < share

    def of(xp: Any) -> Any:
        wide = xp.arange(2 * numpy.prod(shape, dtype=int)).reshape(*shape[:-1], 2 * shape[-1])
        mask = xp.asarray(chosen)
        arrays = wide[..., ::2], wide[..., : shape[-1]], wide[..., : shape[-1]].copy(), wide.T.copy().T[..., ::2]
        arrays += (xp.broadcast_to(wide[..., :1], shape), xp.broadcast_to(wide[..., 0].T.copy().T[..., None], shape))
        read = [x[mask] for x in arrays]
        target = arrays[2]
        target[mask] = read[0]
        arrays[0][mask] = read[1]
        return read, target, wide

    compare(of)


@pytest.mark.parametrize("kinds", ["ii", "if", "fi", "fb", "ib", "bb", "fp", "ip", "iq"])
@pytest.mark.parametrize("dtype", [None, "f4", "f8", "i8", "i4", "u8", "?"])
def test_lists_of_scalars(kinds: str, dtype: str | None) -> None:
    """Functions, too, take lists of integers, floats and booleans, NumPy's and Python's."""

    def of(xp: Any) -> Any:
        x = xp.asarray([3, 250])
        values = {"i": x[0], "f": xp.asarray([1.5])[0], "b": xp.asarray([True])[0], "p": 2.5, "q": 7}
        given = [values[kind] for kind in kinds]
        return xp.array(given, dtype), xp.array([given, given], dtype), xp.mean(given), xp.cumsum(given)

    compare(of)


@pytest.mark.parametrize("dtype", [None, "f4", "i8"])
def test_long_lists_of_scalars(dtype: str | None) -> None:
    def of(xp: Any) -> Any:
        given = [*xp.arange(40_000.0), 1.5]
        return xp.array(given, dtype), xp.array([given, [2.5] * 40_001], dtype), xp.array([7] * 40_000, dtype)

    compare(of)


@pytest.mark.parametrize("dtype", ["c8", "c16"])
def test_complex_numbers_have_the_values_of_numpy(dtype: str) -> None:
    parts = [0.0, -0.0, 1.0, -2.5, 1e300, 1e-300, numpy.inf, -numpy.inf, numpy.nan]
    values = numpy.array([complex(*pair) for pair in itertools.product(parts, parts)])
    with numpy.errstate(all="ignore"):
        values = values.astype(dtype)
        compare(lambda xp: xp.abs(xp.asarray(values)), rtol=0)
        compare(lambda xp: (xp.asarray(values) + xp.asarray(values)[::-1], xp.asarray(values)[::2] - 1), rtol=0)
        finite = values[numpy.abs(values) < 100]
        compare(lambda xp: (xp.asarray(finite) ** 2, xp.asarray(finite) ** 2.0, xp.asarray(finite) ** True))


def test_functions_where_something_watches() -> None:
    with tnp.device("meta"):
        assert tnp.zeros(2).device.type == "meta"
        assert tnp.array([1.0, 2.0]).device.type == "meta"
    assert tnp.vectorized_map(lambda row: row.sum() + tnp.max(row), tnp.ones((2, 3))).shape == (2,)
    assert tnp.grad(lambda x: tnp.dot(x, x) + x.reshape(-1).sum())(tnp.ones(3)).shape == (3,)


def test_an_empty_operand_without_memory() -> None:
    x, y = tnp.zeros(0), tnp.asarray([])
    assert [(x == y).shape, (y + y).shape, (y * 2.0).shape, (2.0 * y).shape] == [(0,)] * 4


@pytest.mark.parametrize("dtype", ["float32", "float64", "int64", "uint8", "bool"])
def test_small_sums_have_numpys_bits(dtype: str) -> None:
    """Sums add in NumPy's order, so that programs print the same last digits."""

    def sums(xp: Any) -> Any:
        found = []
        for shape in [(5,), (100,), (1000,), (7, 300), (300, 7), (4, 9, 5), (40, 2)]:
            x = xp.asarray(numpy.random.default_rng(0).normal(3, 50, shape).astype(dtype))
            for axis in (None, *range(-1, x.ndim)):
                each = [f(x, axis=axis) for f in (xp.sum, xp.mean, xp.var, xp.std, xp.prod)]
                each += [x.std(axis, ddof=1), x.var(axis, keepdims=True), x.ravel()[::3].sum()]
                each += [x.var(axis, ddof=0.25), x.std(axis, ddof=0.5)]
                each.append(x.sum(axis, keepdims=True))
                found += [numpy.asarray(value).tobytes() for value in each]
        return found

    assert sums(tnp) == sums(numpy)


@pytest.mark.parametrize("dtype", ["float32", "float64", "int64", "int8", "uint16", "bool"])
def test_reductions_of_rows_have_numpys_bits(dtype: str) -> None:
    """Of many elements too, if rows are added one after the other, as NumPy adds them."""

    def reduced(xp: Any) -> Any:
        x = xp.asarray(numpy.random.default_rng(0).normal(3, 50, (300, 240)).astype(dtype))
        if dtype.startswith("float"):
            x[3, 5], x[7, 8], x[:, 9] = numpy.nan, numpy.inf, -0.0
        cube = x.reshape(30, 40, 60)
        cases = [
            (x, 0),
            (x.T, 1),
            (x.T, -1),
            (x[:, ::2], 0),
            (x[::2].T, 1),
            (cube, 0),
            (cube, 1),
            (cube, -2),
        ]
        found = []
        for array, axis in cases:
            for keepdims in (False, True):
                each = [array.max(axis, keepdims=keepdims), array.min(axis, keepdims=keepdims)]
                each += [array.sum(axis, keepdims=keepdims), array.mean(axis, keepdims=keepdims)]
                for value in map(numpy.asarray, each):
                    value[value != value] = numpy.nan if value.dtype.kind == "f" else 0  # there are many
                    found.append((str(value.dtype), value.shape, value.tobytes()))
        return found

    with numpy.errstate(all="ignore"):
        for ours, theirs in zip(reduced(tnp), reduced(numpy), strict=True):
            assert ours == theirs


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_remainders_are_exact(dtype: str) -> None:
    """Of quotients of any size, of subnormal numbers, and where the quotient is rounded to the next integer."""
    rng, info = numpy.random.default_rng(0), numpy.finfo(dtype)
    edges = [0.0, -0.0, numpy.inf, -numpy.inf, numpy.nan, info.smallest_subnormal, info.tiny, info.max, 1.0, -3.0, 0.1]
    pairs = numpy.array([(a, b) for a in edges for b in edges]).T
    exponents = rng.uniform(info.minexp - info.nmant, info.maxexp, (2, 20_000))
    far = numpy.exp2(exponents) * rng.choice([-1, 1], (2, 20_000))
    near = far[0] * rng.uniform(0.5, 4e6, 20_000)
    whole = numpy.nextafter(rng.integers(1, 2000, 20_000) * far[0], rng.choice([-numpy.inf, numpy.inf], 20_000))
    with numpy.errstate(all="ignore"):
        for x, y in ((*pairs,), (*far,), (near, far[0]), (whole, far[0])):
            x, y = x.astype(dtype), y.astype(dtype)
            ours, theirs = numpy.asarray(tnp.asarray(x) % tnp.asarray(y)), x % y
            numpy.testing.assert_array_equal(ours, theirs)
            numpy.testing.assert_array_equal(numpy.signbit(ours[ours == ours]), numpy.signbit(theirs[ours == ours]))


def of_numbers(xp: Any, dtype: str) -> list[Any]:
    """What a NumPy scalar gives beside arrays and scalars, as a value, and in lists."""
    number, x = numpy.dtype(dtype).type(3), xp.asarray([1, 2, 5])
    results = [number + x, x * number, x[1] < number, number < x[1], xp.maximum(x, number), xp.negative(number)]
    results += [xp.full(2, number), xp.full(2, number, dtype=int), xp.array(number), xp.asarray(number)]
    results += [xp.array([number, number]), xp.array([number, 2.5]), xp.where(x > 1, x, number), xp.clip(x, 0, number)]
    x[0] = number
    x[xp.asarray([1])] = number
    x[x > 4] = number
    return [*results, x]


@pytest.mark.parametrize("dtype", ["u1", "i4", "i8", "f4", "f8"])
def test_numbers_of_numpy(dtype: str) -> None:
    compare(lambda xp: of_numbers(xp, dtype))


@pytest.mark.parametrize("dtype", DTYPES)
def test_scalars_whose_tensor_was_read(dtype: str) -> None:
    def results(xp: Any) -> Any:
        x = xp.asarray(values_of(dtype, (7,)))
        s = x[1]
        getattr(s, "tensor", None)
        return xp.full(2, s), xp.array([s, s]), xp.array(s), xp.ndim(s), str(s), repr(s), f"{s}"

    compare(results)


OUTSIDE: list[tuple[Callable[[Any], Any], Any]] = [
    (lambda xp: operator.setitem(xp.zeros(2, "i1"), 0, numpy.int64(300)), OverflowError),
    (lambda xp: xp.asarray(300, dtype="u1"), OverflowError),
    (lambda xp: xp.asarray(-1, dtype="u8"), OverflowError),
    (lambda xp: xp.asarray(1j, dtype=float), TypeError),
    (lambda xp: xp.add(xp.asarray([1, 2]), 1.5, out=xp.zeros(2, int)), TypeError),
    (lambda xp: xp.add.reduce(xp.asarray([1, 2]), axis=1), numpy.exceptions.AxisError),
    (lambda xp: xp.maximum.reduce(xp.zeros(0)), ValueError),
    (lambda xp: xp.bincount(xp.asarray([-1, 2], dtype="i1")), ValueError),
    (lambda xp: xp.random.default_rng(0).normal(scale=-1.0), ValueError),
]


@pytest.mark.parametrize("number", range(len(OUTSIDE)))
def test_numbers_that_are_refused(number: int) -> None:
    function, error = OUTSIDE[number]
    compare(function, raises=error)


def test_outputs_of_other_dtypes() -> None:
    def results(xp: Any) -> list[Any]:
        x, b, line = xp.asarray([1, 2, 3]), xp.asarray([True, True, False]), xp.zeros(6)
        outs = [xp.add(x, y, out=xp.zeros(3, d)) for y in (x, 1, b) for d in ("i1", "i4", "f4", "f8", "c16")]
        outs += [xp.add(b, b, out=xp.zeros(3, d)) for d in ("?", "i8", "f8")]  # a sum of integers, or of truths
        outs += [xp.less(x, 2, out=xp.zeros(3)), xp.divide(x, 2, out=xp.zeros(3, "f4"))]
        xp.add(x, 1, out=line[::2])
        xp.multiply(line[:3], x, out=line[1:4])
        return [*outs, line]

    compare(results)


def test_reductions_of_ufuncs() -> None:
    def results(xp: Any) -> list[Any]:
        x, f = xp.asarray([[1, 5], [3, 4]]), xp.asarray([1.5, numpy.nan, -2])
        ufuncs = [xp.add, xp.multiply, xp.maximum, xp.minimum]
        found = [u.reduce(y, axis=a) for u in ufuncs for y in (x, x > 3, x.astype("u1"), x * 1.5) for a in (0, 1, None)]
        found += [u.reduce(f, keepdims=True) for u in ufuncs] + [u.reduce(x, initial=2) for u in ufuncs]
        return [*found, xp.add.reduce(x, dtype=float), xp.add.reduce(f, where=f > 0), xp.maximum.reduce(f * 1j)]

    compare(results)


def test_counts_and_lengths_of_integers() -> None:
    for dtype in ("?", "u1", "u4", "i2", "i4", "i8"):
        values = values_of(dtype, (7,))
        values = values[values >= 0]
        compare(lambda xp, v=values: (xp.bincount(xp.asarray(v)), xp.bincount(xp.asarray(v)[::2], minlength=9)))
        compare(lambda xp, v=values: (xp.linalg.norm(xp.asarray(v)), xp.linalg.norm(xp.asarray(v)[::2])))


def test_extremes_of_complex_numbers() -> None:
    values = [1 + 2j, 1 - 2j, 3 + 0j, complex(3, -1), complex(0, numpy.inf)]
    for each in (values, [*values, complex(numpy.nan, 1), complex(1, numpy.nan)]):
        compare(lambda xp, each=each: (xp.max(xp.asarray(each)), xp.min(xp.asarray(each)[::-1])))
        compare(lambda xp, each=each: (xp.clip(xp.asarray(each), 1, 2 + 1j), xp.asarray(each) ** 2))


def test_float16_is_rounded_once() -> None:
    """By way of float32 these would be rounded twice: 1 + 2**-11 + 2**-40 is above the middle of two neighbours."""
    values = [1 + 2.0**-11 + 2.0**-40 * k for k in (-1, 0, 1)] + [65519.999999999, 65520.0, -1e-320, 1e300]
    with numpy.errstate(over="ignore"):
        compare(
            lambda xp: (xp.asarray(values).astype("f2"), xp.asarray(values, dtype="f2"), xp.full(2, values[2], "f2"))
        )
        compare(lambda xp: [xp.asarray([1], dtype="f2") * value for value in values[:4]])


def test_names_of_dtypes() -> None:
    names = ["?", "b", "B", "i4", "<i4", "l", "int", "u2", "f2", "e", "f", "f8", "float", "F", "c16", "complex"]
    compare(lambda xp: [each for name in names for each in (xp.zeros(2, dtype=name), xp.asarray([1, 0]).astype(name))])


def test_one_value_fills_what_is_strided() -> None:
    def results(xp: Any) -> list[Any]:
        filled = [xp.ones(40_000, dtype=d) for d in ("?", "i2", "f8")]
        for each in filled:
            each[5::7] = 0
        return filled

    compare(results)


@pytest.mark.parametrize("shape", [(300, 200), (20, 60, 50)])
def test_copies_of_large_transposed_arrays(shape: tuple[int, ...]) -> None:
    def results(xp: Any) -> list[Any]:
        x = xp.arange(float(numpy.prod(shape))).reshape(shape)
        found = []
        for axes in itertools.permutations(range(len(shape))):
            y = x.transpose(axes)
            found += [xp.ascontiguousarray(y), y.copy(), y.ravel(), xp.asfortranarray(y), y[::2, 1:].astype(xp.float32)]
        return found

    compare(results)


@pytest.mark.parametrize("size", [32_768, 32_769, 150_001])
def test_many_elements_in_parts(size: int) -> None:
    def results(xp: Any) -> list[Any]:
        x = xp.arange(size) % 97
        filled = xp.zeros(size)
        filled[:] = 2.5
        line = xp.linspace(-1.3, 7, size), xp.linspace(0, 1e300, size, endpoint=False)
        return [x + 1, -x, x * x, 1.0 / (x + 1.0), x.astype(xp.float32), xp.full(size, 7), filled, *line]

    compare(results)


@pytest.mark.parametrize("size", [5, 511, 513, 32_768, 100_003])
@pytest.mark.parametrize("left", ["?", "i2", "f4", "c8"])
def test_operands_of_other_dtypes_are_cast_in_parts(left: str, size: int) -> None:
    def results(xp: Any) -> list[Any]:
        x = (xp.arange(2 * size) % 97).astype(left)
        found = [xp.sqrt(x[:size].real), x[::2] ** 0.5, x[:size] ** 2.0]
        for right in ("u1", "i8", "f8", "c16"):
            y = (xp.arange(size) % 7 + 1).astype(right)
            found += [x[::2] + y, y * x[:size], x[:size] == y, x[3] + y, xp.add(x[::2], y, xp.empty(size, "c16"))]
            y *= xp.ones(size, "?")
            found.append(y)
        return found

    compare(results)


@pytest.mark.parametrize("size", [600, 100_000])
def test_in_place_with_another_dtype_of_the_same_memory(size: int) -> None:
    def results(xp: Any) -> list[Any]:
        found = []
        for dtype, other in (("f8", "i4"), ("f8", "i8"), ("i8", "u1"), ("f8", "f4")):
            x = xp.arange(size).astype(dtype)
            y = x.view(other)
            x += y[: x.size]
            found.append(x)
        x = xp.arange(size, dtype="i4")
        x[: size // 2] += x.view("i8").astype("i4")
        z = xp.arange(size, dtype="i4").view("f4")
        z[: size // 2] += z.view("u4")[: size // 2] % 5
        return [*found, x, z]

    compare(results)


@pytest.mark.parametrize("size", [5, 32_768, 150_001])
@pytest.mark.parametrize("dtype", ["i8", "f4", "c16"])
def test_outputs_by_position_and_in_place(size: int, dtype: str) -> None:
    def results(xp: Any) -> list[Any]:
        x, y = xp.arange(size).astype(dtype) % 97 if dtype != "c16" else xp.arange(size) * 1j, xp.ones(size, dtype)
        z = xp.zeros(size, dtype)
        assert xp.multiply(x, y, z) is z
        assert xp.negative(z, z) is z
        xp.add(z, x[1], z)
        xp.add(z[:-1], 1, z[1:])  # an operand that overlaps
        mask = z == y
        assert xp.logical_not(mask, mask) is mask
        w = z.copy()
        w += y
        w *= 3
        w -= w[2]
        w[1:] += w[:-1]
        w[::2] *= 2
        return [z, mask, w, xp.add(x, y, None)]

    compare(results)
    for refused in (lambda xp: xp.add(xp.ones(size), 1, 2), lambda xp: xp.negative(xp.ones(size), xp.ones(size), 1)):
        compare(refused, raises=TypeError)
    compare(lambda xp: xp.add(xp.ones(size), 1, xp.ones(size), out=xp.ones(size)), raises=TypeError)


@pytest.mark.parametrize("number", [3, 2.5, 1j])
@pytest.mark.parametrize("dtype", ["?", "i4", "i8", "f4", "f8", "c8", "c16"])
def test_numbers_beside_rows_that_are_apart(dtype: str, number: Any) -> None:
    cuts: list[Callable[[Any], Any]] = [
        lambda x: x[:, ::2],
        lambda x: x[1:, :5],
        lambda x: x[:, :1],
        lambda x: x[:, 1:3].T,
        lambda x: x[:, :0],
    ]
    for name, cut in itertools.product(("add", "mul", "truediv", "eq"), cuts):
        both(operate(name), in_python(name), lambda cut=cut: (cut(samples(dtype, (4, 6))), number))
        both(operate(name), in_python(name), lambda cut=cut: (cut(samples("f8", (4, 6))), cut(samples(dtype, (4, 6)))))
    compare(lambda xp: [cut(xp.arange(24).reshape(4, 6).astype(dtype)) * number for cut in cuts])


def test_a_gradient_reaches_the_parts_of_complex_arrays() -> None:
    z = tnp.zeros((3, 2), dtype=complex)[1:]
    x = torch.ones(2, requires_grad=True)
    part = z.imag[1]  # two views, of which autograd does not know yet
    part.tensor.copy_(x)
    (torch.view_as_real(z.tensor)[..., 1].sum() * 3).backward()
    assert numpy.asarray(z.tensor.detach()).tolist() == [[0, 0], [1j, 1j]]
    assert x.grad is not None and x.grad.tolist() == [3, 3]


@pytest.mark.parametrize("size", [3, 100, 2000])
def test_read_only_operands_of_reductions(size: int) -> None:
    def results(xp: Any) -> list[Any]:
        wide = xp.broadcast_to(xp.arange(3.0)[:, None], (3, size))
        return [wide.std(0), xp.var(wide, axis=1), wide.argmax(1), wide.argmin(0), xp.argmax(wide)]

    compare(results, rtol=1e-12)


@pytest.mark.parametrize("make", [lambda x: x, lambda x: x[::-1], lambda x: x.reshape(2, 1)])
@pytest.mark.parametrize("other", [lambda x: x, lambda x: [1, 2], lambda x: 1, lambda x: x[0]])
@pytest.mark.parametrize("change", [operator.concat, operator.iconcat])
def test_arrays_are_not_concatenated_as_lists(make: Any, other: Any, change: Any) -> None:
    """Without the native core ``operator.concat`` adds: Python's classes have no such slot."""
    compare(lambda xp: change(make(xp.arange(2)), other(xp.arange(2))), raises=TypeError)


@pytest.mark.parametrize("change", [operator.add, operator.iadd])
def test_what_knows_no_arrays_is_not_added(change: Any) -> None:
    class Alone:
        __array_ufunc__ = None

    compare(lambda xp: change(xp.arange(2), Alone()), raises=TypeError)


LISTS: list[Any] = [
    [1, 2, 3], (1.5, 2, -3), [True, False, True], [1j, 2, 3], [300, 1, 2], [-1, 1, 2], [float("nan"), 1, 2],
    [2**63, 1, 2], [1, 2], [1], [], [None, 1, 2], ["1", 2, 3], [1e300, 1.0, 2.0], [[1, 2, 3]], [[1], [2], [3]],
    [[1, 2, 3], [4, 5, 6]], [numpy.float64(1.5), 2, 3], [numpy.int8(1), 2.5, 3],
]  # fmt: skip


@pytest.mark.parametrize("dtype", ["?", "i1", "u1", "i8", "u8", "f2", "f4", "f8", "c8", "c16"])
@pytest.mark.parametrize("key", [slice(1, 4), slice(None, None, -2), (1, slice(None)), ..., (slice(None), None)])
def test_lists_are_written_as_numpy_converts_them(dtype: str, key: Any) -> None:
    for values in LISTS:

        def written(xp: Any, values: Any = values) -> Any:
            x = xp.zeros((3, 3) if isinstance(key, tuple) and key[0] == 1 else 5, dtype)
            x[key] = values
            own = xp.asarray([2, 3, 4], dtype)
            y = xp.zeros((3, 3), dtype)
            y[1] = [own[0], own[1], own[2]]
            return x, y

        compare(written, may_raise=(TypeError, ValueError, OverflowError))


@pytest.mark.parametrize("dtype", ["?", "i4", "f8", "c16", "f2"])
def test_a_part_is_written_to_another_that_overlaps(dtype: str) -> None:
    def written(xp: Any) -> Any:
        x, y, z = (xp.asarray(numpy.arange(36).reshape(6, 6) % 5, dtype) for _ in range(3))
        x[1:3, 2:4] = x[:2, 1:3]
        x[1:4] = x[:3]
        y[:] = y.T
        y[::-1, 1] = y[:, 2]
        z[0, 1:] = z[0, :-1]
        z[:, ::2] = z[:, 1::2][::-1]
        return x, y, z

    compare(written)


@pytest.mark.parametrize("dtype", ["?", "i4", "f8", "c16"])
def test_arrays_of_derived_classes_are_written(dtype: str) -> None:
    def written(xp: Any) -> Any:
        class Derived(xp.ndarray):  # type: ignore[misc]
            pass

        given = xp.asarray([1, 0, 3], dtype).view(Derived)
        x, y = xp.zeros((3, 3)), xp.zeros(3, "i1")
        x[:, 1] = given
        x[2] = given[::-1]
        x[0, 0] = given[2:].reshape(()).real
        y[1:] = given[:2].real
        return x, y

    compare(written)


NUMPYS: list[Callable[[], numpy.ndarray]] = [
    lambda: numpy.arange(12.0).reshape(3, 4),
    lambda: numpy.arange(12, dtype="u1").reshape(3, 4)[::2, 1:],
    lambda: numpy.arange(12.0)[::-1],
    lambda: numpy.arange(12.0).astype(">f8"),
    lambda: numpy.broadcast_to(numpy.float32(2.5), (3, 3)),
    lambda: numpy.array(3),
    lambda: numpy.array([], "f4"),
    lambda: numpy.array([True, False, True]),
    lambda: numpy.array([1 + 2j, -1j]),
    lambda: numpy.frombuffer(b"12345678", "i2"),
    lambda: numpy.frombuffer(b"0123456789", "i4", 2, 1),
    lambda: numpy.array(["a"], object),
]


@pytest.mark.parametrize("name", ["sum", "any", "cumsum", "mean", "std", "max", "argmin", "dot", "vdot", "norm"])
@pytest.mark.parametrize("number", range(len(NUMPYS)))
def test_functions_of_numpys_arrays(name: str, number: int) -> None:
    """Their memory is read where it lies, and is in no result."""

    def call(xp: Any) -> Any:
        x = NUMPYS[number]()
        function = xp.linalg.norm if name == "norm" else getattr(xp, name)
        more = {"dot": (x.T,), "vdot": (x,)}.get(name, ())
        result = function(x, *more)
        if isinstance(result, (numpy.ndarray, tnp.ndarray)) and result.dtype != object:
            assert not numpy.shares_memory(numpy.asarray(result), x)
        return result

    compare(call, may_raise=(TypeError, ValueError, AttributeError) if number in (6, 11) else ())


def test_functions_of_numpys_arrays_make_no_array_of_them(monkeypatch: pytest.MonkeyPatch) -> None:
    x = numpy.arange(12.0)
    monkeypatch.setattr(torch, "from_numpy", lambda _: pytest.fail("converted"))
    monkeypatch.setattr("tnp._core.convert.tensor_of", lambda *_: pytest.fail("converted"))
    assert tnp.sum(x) == 66 and tnp.dot(x, x) == 506 and tnp.cumsum(x)[-1] == 66 and bool(tnp.any(x))


@pytest.mark.parametrize("number", [i for i in range(len(NUMPYS)) if i not in (3, 10)])
@pytest.mark.parametrize(
    "name",
    [
        "sort",
        "argsort",
        "unique",
        "diff",
        "concatenate",
        "nonzero",
        "flatnonzero",
        "repeat",
        "count_nonzero",
        "copy",
        "ravel",
        "reshape",
        "transpose",
        "squeeze",
        "swapaxes",
        "flip",
        "flipud",
        "diagonal",
        "real",
        "atleast_2d",
        "ascontiguousarray",
        "asfortranarray",
        "broadcast_to",
        "matmul",
    ],
)
def test_numpys_functions_and_views_of_numpys_arrays(name: str, number: int) -> None:
    """A view is one of the same memory, a result is not."""

    def call(xp: Any) -> Any:
        x = NUMPYS[number]()
        of: dict[str, tuple[Any, ...]] = {
            "concatenate": ([x, x],),
            "repeat": (x, 2),
            "reshape": (x, (-1, 2)),
            "swapaxes": (x, 0, -1),
            "broadcast_to": (x, (3, *x.shape)),
            "matmul": (x, x.T),
        }
        result = getattr(xp, name)(*of.get(name, (x,)))
        arrays = result if isinstance(result, tuple) else (result,)
        shared = [isinstance(each, (numpy.ndarray, tnp.ndarray)) and numpy.shares_memory(each, x) for each in arrays]
        return result, *shared, *(getattr(each, "flags", x.flags).writeable for each in arrays)

    compare(call, may_raise=(TypeError, ValueError, AttributeError, numpy.exceptions.AxisError))


def test_what_is_joined_of_numpys_arrays_is_no_view_of_them() -> None:
    x = numpy.arange(3.0)
    joined, repeated = tnp.concatenate([x]), tnp.repeat(x, 1)
    joined[0] = repeated[0] = 9
    assert x[0] == 0
    tnp.ravel(x)[0] = 7
    assert x[0] == 7


def test_a_view_of_numpys_reversed_or_read_only_array_is_one_of_its_memory() -> None:
    for view in (
        lambda xp, x: xp.transpose(x),
        lambda xp, x: xp.reshape(x, x.shape),
        lambda xp, x: xp.expand_dims(x, 0),
        lambda xp, x: xp.moveaxis(x, 0, 1),
        lambda xp, x: xp.rollaxis(x, 1),
        lambda xp, x: xp.broadcast_to(x, (2, 3, 4)),
        lambda xp, x: xp.broadcast_arrays(x, 1)[0],
        lambda xp, x: xp.diagonal(x),
        lambda xp, x: xp.array_split(x, 2)[1],
        lambda xp, x: xp.unstack(x)[1],
        lambda xp, x: xp.einsum("ij->ji", x),
        lambda xp, x: xp.einsum("ii->i", x[:, :3]),
        lambda xp, x: xp.lib.stride_tricks.sliding_window_view(x, 2, 0),
        lambda xp, x: xp.astype(x, "f8", copy=False),
        lambda xp, x: xp.linalg.matrix_transpose(x),
    ):
        for x in (numpy.arange(12.0).reshape(3, 4)[::-1], numpy.frombuffer(bytes(96)).reshape(3, 4)):
            expected, actual = view(numpy, x), view(tnp, x)
            assert isinstance(actual, tnp.ndarray) and numpy.shares_memory(actual, x)
            assert actual.flags.writeable == expected.flags.writeable
            if actual.flags.writeable:
                actual[...] = 7
                assert (expected == 7).all()
