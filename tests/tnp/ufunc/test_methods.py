"""The methods of ufuncs, of every class of ufunc: reduce, accumulate, reduceat, outer and at."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from ml_dtypes import bfloat16

import tnp
from tests.oracle import ALL, agrees, compare, placed, sample

UFUNCS = sorted({value.__name__ for value in vars(tnp).values() if isinstance(value, tnp.ufunc)})
BINARY = [n for n in UFUNCS if (f := getattr(np, n, None)) and f.nin == 2 and f.nout == 1 and f.signature is None]
UNARY = [n for n in UFUNCS if (f := getattr(np, n, None)) and f.nin == 1 and f.nout == 1]
EXACT = ["add", "subtract", "multiply", "maximum", "minimum", "fmax", "fmin", "gcd", "lcm", "floor_divide"]
EXACT += ["bitwise_and", "bitwise_or", "bitwise_xor", "logical_and", "logical_or", "logical_xor"]


TOLERANCE = {"bool": 1e-2, "int16": 1e-5, "float64": 1e-12}  # a float function of bool is float16, of int16 float32


# reduce. What has a function of its own (add, multiply, maximum, ...) is tested there as well.

AXES = [None, 0, 1, -1, (), (0,), (0, 2), (0, 1, 2), 3, (0, 0), (0, 3)]


@pytest.mark.parametrize("axis", AXES, ids=str)
@pytest.mark.parametrize("name", BINARY)
def test_reduce(name: str, axis: Any) -> None:
    ufunc = getattr(np, name)
    for dtype in ("bool", "int16", "float64"):
        for keepdims in (False, True):

            def call(xp: Any, dtype: str = dtype, keepdims: bool = keepdims) -> Any:
                x = abs(sample(xp, (2, 3, 2), dtype)) if dtype != "bool" else sample(xp, (2, 3, 2), dtype)
                return getattr(xp, ufunc.__name__).reduce(x, axis=axis, keepdims=keepdims)

            compare(call, rtol=TOLERANCE[dtype], may_raise=(TypeError, ValueError))


@pytest.mark.parametrize("dtype", ALL)
@pytest.mark.parametrize("name", EXACT)
def test_reduce_on_every_dtype(name: str, dtype: str) -> None:
    rtol, atol = (1e-2, 1e-2) if dtype == "float16" else (1e-5, 1e-6)
    compare(lambda xp: getattr(xp, name).reduce(sample(xp, (7, 2), dtype)), rtol=rtol, atol=atol, may_raise=TypeError)
    compare(
        lambda xp: getattr(xp, name).accumulate(sample(xp, (7, 2), dtype)), rtol=rtol, atol=atol, may_raise=TypeError
    )
    compare(
        lambda xp: getattr(xp, name).reduceat(sample(xp, (7, 2), dtype), [0, 3, 1, 6]),
        rtol=rtol,
        atol=atol,
        may_raise=TypeError,
    )


@pytest.mark.parametrize("name", BINARY)
def test_reduce_of_nothing(name: str) -> None:
    for shape, axis in [((0,), 0), ((0, 3), 0), ((0, 3), 1), ((3, 0), None)]:
        compare(
            lambda xp, s=shape, a=axis: getattr(xp, name).reduce(xp.zeros(s, dtype=bool), axis=a),
            may_raise=(TypeError, ValueError),
        )
        compare(
            lambda xp, s=shape, a=axis: getattr(xp, name).reduce(xp.zeros(s, dtype=int), axis=a),
            may_raise=(TypeError, ValueError),
        )


def test_reduce_of_nothing_says_so() -> None:
    with pytest.raises(ValueError, match="zero-size array to reduction operation minimum which has no identity"):
        tnp.minimum.reduce(tnp.zeros(0))


@pytest.mark.parametrize("initial", [None, 10, 2.5, True])
@pytest.mark.parametrize("where", [True, [True, False, True], [[True], [False]]], ids=str)
@pytest.mark.parametrize("name", ["add", "subtract", "multiply", "divide", "maximum", "bitwise_xor", "logical_or"])
def test_initial_and_where(name: str, where: Any, initial: Any) -> None:
    for options in ({}, {"initial": initial}):
        for dtype in ("int64", "float64"):

            def call(xp: Any, options: Any = options, dtype: str = dtype) -> Any:
                x = xp.asarray([[5, 2, 3], [1, 3, 2]]).astype(dtype)
                mask = where if where is True else xp.asarray(where)
                return getattr(xp, name).reduce(x, axis=1, where=mask, **options)

            compare(call, rtol=1e-12, may_raise=(TypeError, ValueError))


@pytest.mark.parametrize("name", ["subtract", "hypot", "gcd", "copysign", "add"])
@agrees
@pytest.mark.host  # elsewhere last digits are the device's
def test_one_element(xp: Any, name: str) -> Any:
    x = xp.asarray([[-3]]) if name == "gcd" else xp.asarray([[-3.0]])
    reduce = getattr(xp, name).reduce
    results = [reduce(x), reduce(x, ()), reduce(x, initial=2), reduce(x, (), initial=2), reduce(x[0, 0], None)]
    results.append(reduce(x, (), initial=2, where=xp.asarray([[False]])))
    for result in results:
        if isinstance(result, xp.ndarray) and result.ndim:
            result[...] = 9
    return x, results, reduce(x[0, 0], None, initial=2)


@agrees
def test_reduce_dtype_and_out(xp: Any) -> Any:
    x = xp.asarray([[100, 100], [100, 100]], dtype="int8")
    out = xp.zeros(2, dtype="float32")
    returned = xp.add.reduce(x, out=out)
    return (
        xp.add.reduce(x),
        xp.add.reduce(x, dtype="int8"),
        xp.add.reduce(x, axis=None, dtype="float32"),
        out,
        returned is out,
        xp.add.reduce(x, 1, None, out) is out,
        xp.add.reduce(x, 1, out=(out,)) is out,
        xp.subtract.reduce(x, dtype=float),
        xp.add.reduce([1, 2, 3]),
        xp.add.reduce(5),
        xp.divide.reduce(x),
    )


@pytest.mark.parametrize("out_shape", [(3,), (1,), (2, 2), ()])
def test_reduce_out_of_another_shape(out_shape: tuple[int, ...]) -> None:
    compare(lambda xp: xp.add.reduce(xp.ones((2, 2)), out=xp.zeros(out_shape)), raises=ValueError)


# accumulate, reduceat, outer. NumPy itself folds power and arctan2 of float64 wrongly where its vectorised loops run:
# np.power.reduce([.9, .5, .3]) is not (.9 ** .5) ** .3.


@pytest.mark.parametrize("name", ["power", "arctan2"])
def test_fold_in_order(name: str) -> None:
    ufunc = getattr(tnp, name)
    x = tnp.asarray([0.9, 0.5, 0.3, 0.7])
    expected = ufunc(ufunc(ufunc(0.9, 0.5), 0.3), 0.7)
    assert float(ufunc.reduce(x)) == float(ufunc.reduceat(x, [0])[0]) == float(ufunc.accumulate(x)[-1]) == expected


@pytest.mark.parametrize("name", BINARY)
def test_accumulate(name: str) -> None:
    for dtype in ("bool", "int16", "float64"):
        for axis in (0, 1, -1, (0,)):

            def call(xp: Any, dtype: str = dtype, axis: Any = axis) -> Any:
                x = abs(sample(xp, (3, 4), dtype)) if dtype != "bool" else sample(xp, (3, 4), dtype)
                return getattr(xp, name).accumulate(x, axis)

            compare(call, rtol=TOLERANCE[dtype], may_raise=TypeError)


@pytest.mark.parametrize("axis", [None, (0, 1), 2, (), "x"])
def test_accumulate_refuses_axes(axis: Any) -> None:
    compare(lambda xp: xp.add.accumulate(xp.ones((2, 2)), axis), raises=(TypeError, ValueError))


@agrees
def test_accumulate_options(xp: Any) -> Any:
    x = xp.asarray([100, 100, 100], dtype="uint8")
    out = xp.zeros(3, dtype="float32")
    return (
        xp.add.accumulate(x),
        xp.add.accumulate(x, dtype="uint8"),
        xp.add.accumulate(x, out=out) is out,
        out,
        xp.maximum.accumulate(xp.asarray([1, 3, 2])),
        xp.minimum.accumulate(xp.zeros(0)),
        xp.add.accumulate([1, 2, 3]),
    )


@agrees(raises=TypeError)
def test_accumulate_on_a_scalar(xp: Any) -> Any:
    return xp.add.accumulate(1)


@pytest.mark.parametrize("name", [name for name in BINARY if name not in ("power", "arctan2")])
def test_reduceat(name: str) -> None:
    for dtype in ("bool", "int16", "float64"):
        for axis in (0, 1):

            def call(xp: Any, dtype: str = dtype, axis: int = axis) -> Any:
                x = abs(sample(xp, (5, 5), dtype)) if dtype != "bool" else sample(xp, (5, 5), dtype)
                return getattr(xp, name).reduceat(x, [0, 3, 1, 2, 4], axis)

            compare(call, rtol=TOLERANCE[dtype], may_raise=TypeError)


@pytest.mark.parametrize("indices", [[0, 5], [-1], [[0, 1]], 1, [0.5], [], [True]], ids=str)
def test_reduceat_indices(indices: Any) -> None:
    compare(lambda xp: xp.add.reduceat(xp.ones((3, 2)), indices), may_raise=(IndexError, ValueError))


@agrees
def test_reduceat_options(xp: Any) -> Any:
    x = xp.arange(8)
    out = xp.zeros(4)
    return xp.add.reduceat(x, [0, 4, 1, 5], out=out) is out, out, xp.add.reduceat(x, [0, 4, 1, 5, 2, 6, 3, 7])[::2]


@settings(max_examples=40, deadline=None)
@given(st.data())
def test_reduceat_any_indices(data: Any) -> None:
    size = data.draw(st.integers(1, 20))
    indices = data.draw(st.lists(st.integers(0, size - 1), max_size=20))
    name = data.draw(st.sampled_from(["add", "subtract", "multiply", "maximum", "gcd"]))
    values = data.draw(st.lists(st.integers(-9, 9), min_size=size, max_size=size))
    compare(lambda xp: getattr(xp, name).reduceat(xp.asarray(values), xp.asarray(indices, dtype=int)))


@pytest.mark.parametrize("name", BINARY)
def test_outer(name: str) -> None:
    for dtype in ("bool", "int16", "float64"):
        compare(
            lambda xp, d=dtype: getattr(xp, name).outer(
                abs(sample(xp, (2, 3), d)) if d != "bool" else sample(xp, (2, 3), d), xp.asarray([1, 2]).astype(d)
            ),
            rtol=TOLERANCE[dtype],
            may_raise=TypeError,
        )


@agrees
def test_outer_options(xp: Any) -> Any:
    out = xp.zeros((2, 3))
    return (
        xp.add.outer([1, 2], [3, 4, 5], out=out) is out,
        out,
        xp.add.outer(np.float32([1]), 1.0),
        xp.add.outer(1, 2),
        xp.divmod.outer(xp.arange(4), [1, 2]),
        xp.multiply.outer(xp.ones((2, 1)), xp.ones((1, 3)), dtype="float32"),
        xp.add.outer(xp.asarray(1), [1, 2]),
    )


# at.

TARGETS = ["bool", "int8", "uint16", "uint64", "int64", "float16", "float32", "complex128"]


@pytest.mark.parametrize("dtype", TARGETS)
@pytest.mark.parametrize("name", BINARY)
def test_at(name: str, dtype: str) -> None:
    def call(xp: Any) -> Any:
        x = xp.asarray([1, 0, 3, 2]).astype(dtype)
        getattr(xp, name).at(x, [0, 2, 0, 3, 2, 0], xp.asarray([1, 2, 1, 1, 3, 2]).astype(dtype))
        return x

    compare(call, rtol=1e-2 if dtype == "float16" else 1e-6, may_raise=TypeError)


@pytest.mark.parametrize("name", ["add", "divide", "floor_divide", "fmin", "hypot", "maximum", "multiply", "subtract"])
@pytest.mark.parametrize("dtype", ["f4", "f8", "i8"])
def test_at_many_places(name: str, dtype: str) -> None:
    def written(xp: Any) -> Any:
        random = np.random.default_rng(0)
        x = xp.asarray(random.uniform(1, 9, 40_000).astype(dtype))
        every_second = x[::2]
        places = xp.asarray(random.integers(-20_000, 20_000, 50_000))
        getattr(xp, name).at(every_second, places, xp.asarray(random.uniform(1, 2, 50_000).astype(dtype)))
        before = x.copy()
        places[40_000] = 20_000
        try:
            getattr(xp, name).at(every_second, places, xp.asarray(random.uniform(1, 2, 50_000).astype(dtype)))
        except IndexError as error:
            return x, (x == before).all(), str(error)
        return None

    compare(written, may_raise=TypeError)


@pytest.mark.parametrize("dtype", TARGETS)
@pytest.mark.parametrize("name", UNARY)
@pytest.mark.host  # elsewhere casts out of range have other values
def test_at_unary(name: str, dtype: str) -> None:
    def call(xp: Any) -> Any:
        x = xp.asarray([1, 0, 3, 2]).astype(dtype)
        getattr(xp, name).at(x, [0, 2, 0, 3])
        return x

    compare(call, rtol=1e-2 if dtype == "float16" else 1e-6, may_raise=TypeError)


KEYS: list[Any] = [
    0,
    -1,
    (0, 1),
    (),
    ...,
    slice(None, None, 2),
    slice(None, None, -1),
    (slice(None), [0, 0, 2]),
    ([0, 1, 0], [1, 2, 1]),
    [0, 0, 1],
    [[0, 1], [1, 0]],
    (slice(None, None, -1), [0, -1, 2, 0]),
    ([1, 1], slice(None, None, -2)),
    np.asarray([True, False]),
    np.arange(6).reshape(2, 3) % 2 == 0,
    None,
    (None, [0, 0]),
    ([], []),
    2,
    [0, -3],
    ([0, 1], [0, 1, 2]),
    (0, 0, 0),
    [0.5],
    "x",
]


@pytest.mark.parametrize("key", KEYS, ids=repr)
@pytest.mark.parametrize("name", ["add", "subtract", "multiply", "divide"])
def test_at_any_index(name: str, key: Any) -> None:
    def call(xp: Any) -> Any:
        x = xp.arange(1.0, 7.0).reshape(2, 3)
        getattr(xp, name).at(x, key, 2)
        return x

    compare(call, may_raise=IndexError)


@pytest.mark.parametrize("key", [(), ..., None, True, False, (None, False), 0], ids=repr)
@agrees
def test_at_a_single_element(xp: Any, key: Any) -> Any:
    x = xp.asarray(1.0)
    try:
        xp.add.at(x, key, 2)
    except IndexError as error:
        return x, type(error).__name__
    return x


@pytest.mark.parametrize("shape", [(), (1,), (3,), (2, 1), (2, 3), (1, 2, 3), (2,), (4,), (0,)])
def test_at_broadcasts_the_operand(shape: tuple[int, ...]) -> None:
    def call(xp: Any) -> Any:
        x = xp.zeros((4, 3))
        xp.add.at(x, [0, 0], xp.ones(shape) + xp.ones(shape[-1:]))
        return x

    compare(call, may_raise=ValueError)


@pytest.mark.parametrize("value", [1, 300, 1.5, 2 + 1j, np.uint64(3), [1, 2.5]], ids=repr)
@pytest.mark.parametrize("dtype", ["bool", "uint8", "int64", "float32"])
@pytest.mark.parametrize("name", ["add", "subtract", "maximum", "multiply", "divide", "logical_and"])
def test_at_casts(name: str, dtype: str, value: Any) -> None:
    def call(xp: Any) -> Any:
        x = xp.asarray([1, 2, 3]).astype(dtype)
        getattr(xp, name).at(x, [0, 0], value)
        return x

    compare(call)


@pytest.mark.parametrize(
    "call",
    [
        lambda xp, x: xp.add.at(x, [0, 9], 1),
        lambda xp, x: xp.add.at(x, [0, 1], [1, 2, 3]),
        lambda xp, x: xp.invert.at(x, [0]),
        lambda xp, x: xp.add.at(x, [0]),
        lambda xp, x: xp.negative.at(x, [0], 1),
        lambda xp, x: xp.divmod.at(x, [0], 1),
        lambda xp, x: xp.modf.at(x, [0]),
        lambda xp, x: xp.matmul.at(x, [0], 1),
        lambda xp, x: xp.add.at([1, 2], [0], 1),
        lambda xp, x: xp.add.at(xp.broadcast_to(x, (2, 3)), 0, 1),
        lambda xp, x: xp.add.at(x[0], (), 1),
    ],
)
def test_at_refuses_and_leaves_the_operand(call: Any) -> None:
    def run(xp: Any) -> Any:
        x = xp.asarray([1.0, 2.0, 3.0])
        with pytest.raises(Exception) as raised:
            call(xp, x)
        assert x.tolist() == [1, 2, 3]
        raise raised.value

    compare(run, raises=(IndexError, TypeError, ValueError))


@agrees
def test_at_with_the_array_itself(xp: Any) -> Any:
    x = xp.asarray([1, 0, 2])
    xp.add.at(x, x, x)
    y = xp.arange(5.0)
    xp.add.at(y[1:], [0, 0, 1, 2], y[:-1])
    z = xp.arange(6).reshape(2, 3)
    xp.multiply.at(z.T, [0, 2, 0], xp.asarray([[2, 3]]))
    return x, y, z


@pytest.mark.parametrize("size", [40, 3000])
@pytest.mark.parametrize("dtypes", ["dd", "ff", "ee", "DD", "fd", "ef", [bfloat16] * 2, [bfloat16, "f"]])
@pytest.mark.parametrize("name", ["multiply", "add", "hypot", "logaddexp"])
@pytest.mark.parametrize("action", ["ignore", "warn"])
def test_at_takes_values_in_their_order(name: str, dtypes: str, size: int, action: Any) -> None:
    """Each rounds what the one before left: not a bit is to differ, nor to be lost where their product is too large."""
    if dtypes == "DD" and name in ("hypot", "logaddexp"):
        return
    rng = np.random.default_rng(1)
    places = rng.integers(30, size=2 * size).reshape(2, size)
    values = (np.arange(2 * size) * rng.uniform(0.5, 1.5, 2 * size)).astype(dtypes[1])
    texts: list[set[str]] = []
    arrays: list[Any] = []
    for xp in (np, tnp):
        flat, matrix, single = xp.ones(30, dtypes[0]), xp.ones((5, 6), dtypes[0]).T, xp.ones((), dtypes[0])
        with warnings.catch_warnings(record=True) as caught, xp.errstate(over=action, invalid=action, under="ignore"):
            warnings.simplefilter("always")
            getattr(xp, name).at(flat, placed(xp, places[0]), placed(xp, values[:size]))
            getattr(xp, name).at(matrix, (placed(xp, places[0] // 5), [1] * size), placed(xp, values[:size]))
            getattr(xp, name).at(matrix, [1, 5, 1], placed(xp, values[:5]))
            getattr(xp, name).at(single, (), placed(xp, values[1]))
        texts.append({str(each.message).partition(" in ")[0] for each in caught})
        arrays.append([xp.asarray(each) for each in (flat, matrix, single)])
    assert texts[0] == texts[1]
    for expected, actual in zip(*arrays, strict=True):
        np.testing.assert_array_equal(actual, expected)


@pytest.mark.parametrize("name", ["multiply", "add", "logaddexp"])
def test_reduceat_is_the_same_while_errors_are_asked_for(name: str) -> None:
    values = np.random.default_rng(2).uniform(0.5, 1.5, 300)
    for call in (np, tnp):
        with pytest.raises(FloatingPointError, match="overflow encountered in reduceat"), call.errstate(over="raise"):
            call.multiply.reduceat(call.asarray([1e200, 1e200]), [0])
    with tnp.errstate(all="raise"):
        actual = getattr(tnp, name).reduceat(tnp.asarray(values), [0, 100, 7])
    np.testing.assert_array_equal(np.asarray(actual), getattr(np, name).reduceat(values, [0, 100, 7]))


def test_at_writes_to_numpy_memory() -> None:
    x = np.zeros(3)
    tnp.add.at(x, [0, 0, 2], 1)
    assert x.tolist() == [2, 0, 1]


# Methods that a ufunc has not.


@pytest.mark.parametrize("method", ["reduce", "accumulate", "reduceat", "outer"])
@pytest.mark.parametrize("name", ["sin", "negative", "modf", "divmod", "matmul", "ldexp"])
def test_methods_that_are_not_there(name: str, method: str) -> None:
    arguments = {"reduceat": ([0],), "outer": (np.ones(2),)}.get(method, ())
    compare(
        lambda xp: getattr(getattr(xp, name), method)(xp.ones((2, 2)), *arguments),
        may_raise=(RuntimeError, TypeError, ValueError),
    )


@agrees(raises=ValueError)
@pytest.mark.parametrize("indices", [0, [[0]]])
def test_reduceat_names_its_indices_before_its_axis(xp: Any, indices: Any) -> Any:
    return xp.add.reduceat(1, indices)


@agrees
def test_at_with_values_of_the_array_itself(xp: Any) -> Any:
    x, y, z = xp.asarray(3), xp.arange(1, 7), xp.arange(1.0, 7.0)
    xp.add.at(x, ..., x)
    xp.add.at(y, [0, 0, 2], y[0, ...])
    xp.multiply.at(y, [3, 2, 1], y[1:4])
    xp.subtract.at(z, slice(1, None), z[:-1])
    xp.divide.at(z, [0, 0, 1], z[:1])
    xp.maximum.at(z, [4, 5], z[4:][::-1])
    return x, y, z


@agrees
def test_at_of_a_function_that_is_associative_until_it_overflows(xp: Any) -> Any:
    x = xp.asarray([7], "uint64")
    xp.lcm.at(x, [-1, -1], xp.asarray(2**64 - 1, "uint64"))
    return x


@pytest.mark.parametrize("axis", [True, False, np.True_])
@pytest.mark.parametrize("method", ["reduce", "accumulate", "reduceat"])
def test_a_truth_value_is_no_axis(method: str, axis: Any) -> None:
    more = ([0],) if method == "reduceat" else ()

    @agrees(raises=TypeError)
    def call(xp: Any) -> Any:
        return getattr(xp.add, method)(xp.ones((2, 2)), *more, axis=axis)

    call()


@pytest.mark.parametrize("dtype", ["float64", "uint64", "bool", "int8"])
def test_indices_of_reduceat_that_are_an_array_cast_safely(dtype: str) -> None:
    compare(lambda xp: xp.add.reduceat(xp.asarray([1.0, 2.0]), xp.asarray([0], dtype)), may_raise=TypeError)
    compare(lambda xp: xp.copysign.reduceat(xp.asarray([1.0, 2.0]), xp.asarray([], dtype)), may_raise=TypeError)


@pytest.mark.parametrize("dtype", ["bool", "int32", "float16", "float64", "complex64", "complex128"])
@pytest.mark.parametrize("initial", [[], [0], [1, 2], [[1], [1, 2]], (1,), np.asarray([1, 2])], ids=str)
def test_a_sequence_as_the_initial_value(dtype: str, initial: Any) -> None:
    for name in ("logical_xor", "logical_or", "add"):
        compare(
            lambda xp, name=name: getattr(xp, name).reduce(xp.ones(1, dtype), initial=initial),
            may_raise=(TypeError, ValueError),
        )


@pytest.mark.parametrize("dtype", ["int8", "int32", "int64", "float64"])
def test_ldexp_is_reduced_with_integers(dtype: str) -> None:
    compare(lambda xp: xp.ldexp.reduce(xp.asarray([[2, 5], [3, -1]], dtype), axis=1), may_raise=TypeError)


@pytest.mark.parametrize("indices", [[0, 9], [-1]])
def test_constant_indices_out_of_bounds_are_named_while_traced(indices: list[int]) -> None:
    with pytest.raises(IndexError, match="out-of-bounds in"):
        tnp.compile(lambda x: tnp.add.reduceat(x, indices))(tnp.ones(3))


@pytest.mark.parametrize(("places", "factors"), [([1, -3, 3], [2.0, 3.0, 5.0]), ([0, 0, 0], [0.0, 3.0, 0.0])])
def test_products_at_places_that_a_trace_does_not_know_have_derivatives(places: Any, factors: Any) -> None:
    def function(values: Any, indices: Any) -> Any:
        y = tnp.arange(1.0, 5.0)
        tnp.multiply.at(y, indices, values)
        return (y * tnp.asarray([1.0, 2.0, 3.0, 4.0])).sum()

    def tangent(values: Any, indices: Any) -> Any:
        return tnp.jvp(lambda each: function(each, indices), (values,), (tnp.asarray([1.0, -2.0, 0.5]),))[1]

    expected = np.arange(1.0, 5.0)
    np.multiply.at(expected, places, factors)
    weights, partial = np.asarray([1.0, 2.0, 3.0, 4.0]), []
    for number in range(3):  # a product is linear in each factor
        without = np.arange(1.0, 5.0)
        np.multiply.at(without, np.delete(places, number), np.delete(factors, number))
        partial.append(weights[places[number]] * without[places[number]])
    arrays = tnp.asarray(factors), tnp.asarray(places)
    for run in (lambda each: each, lambda each: tnp.compile(each, backend="eager")):
        assert run(function)(*arrays) == expected @ weights
        assert run(tnp.grad(function))(*arrays).tolist() == partial
        assert run(tangent)(*arrays) == np.dot(partial, [1.0, -2.0, 0.5])
