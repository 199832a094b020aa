"""Closeness, equality of arrays and kinds of numbers, against NumPy's."""

from __future__ import annotations

import warnings
from typing import Any

import hypothesis.extra.numpy as hnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tnp
from tests.oracle import ALL, agrees, compare, sample

SPECIAL = [0.0, -0.0, 1.0, 1.0 + 1e-9, 1.1, 1e-9, np.inf, -np.inf, np.nan]


@pytest.mark.parametrize("equal_nan", [False, True])
@pytest.mark.parametrize("second", ALL)
@pytest.mark.parametrize("first", ALL)
@agrees
def test_isclose(xp: Any, first: str, second: str, equal_nan: bool) -> Any:
    x, y = sample(xp, (2, 3), first), sample(xp, (3,), second)
    return (
        xp.isclose(x, y, equal_nan=equal_nan),
        xp.isclose(x, x),
        xp.isclose(x, y, rtol=0.5, atol=0.1),
        xp.isclose(x, 3),
    )


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "complex64", "complex128"])
@agrees
def test_isclose_of_special_values(xp: Any, dtype: str) -> Any:
    x = xp.asarray(np.array(SPECIAL, dtype))
    y = x[:, None]
    return (
        xp.isclose(x, y),
        xp.isclose(x, y, equal_nan=True),
        xp.isclose(x, y, rtol=0.0, atol=0.0),
        xp.isclose(x, y, rtol=xp.asarray([1e-5] * 9), atol=1e-3, equal_nan=True),
        xp.isclose(x, y, rtol=-1.0),
        xp.isclose(1.0, x),
        xp.isclose(1.0, 1.0 + 1e-12),
        xp.isclose([1, 2], (1.0, 3.0)),
    )


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("size", [1, 81, 40_000])
@agrees
def test_isclose_of_one_shape(xp: Any, size: int, dtype: str) -> Any:
    one, other = np.meshgrid(SPECIAL, SPECIAL)
    x, y = (xp.asarray(np.resize(each.astype(dtype), size)) for each in (one, other))
    return (
        [xp.isclose(x, y, equal_nan=equal_nan) for equal_nan in (False, True)],
        [xp.isclose(x, y, rtol, atol) for rtol in (0.0, 0.5) for atol in (0.0, 3e4)],
        [xp.allclose(x, y), xp.allclose(x, x, equal_nan=True), xp.allclose(y[:1], x[:1])],
        xp.isclose(x[::2], y[::2]),
        xp.isclose(x.reshape(-1, 1), y.reshape(-1, 1)),
    )


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@agrees
def test_isclose_within_an_infinite_tolerance(xp: Any, dtype: str) -> Any:
    x = xp.asarray(np.array([*SPECIAL, -6e4, np.finfo(dtype).max], dtype))
    tolerances = [{"rtol": 1e39}, {"rtol": 1.7e308}, {"atol": 1e39}, {"rtol": xp.float32(1e38), "atol": [7e4]}]
    with np.errstate(all="ignore"), xp.errstate(all="ignore"):
        return [
            xp.isclose(one, other, **within)
            for within in tolerances
            for one, other in ((x, x[:, None]), (x, 7e4), (2, x), (x[0], x[7]))
        ]


@agrees
def test_allclose(xp: Any) -> Any:
    x = xp.asarray([1e10, 1e-7])
    return (
        xp.allclose(x, xp.asarray([1.00001e10, 1e-8])),
        xp.allclose(x, xp.asarray([1.00001e10, 1e-7])),
        xp.allclose(xp.asarray([1.0, xp.nan]), xp.asarray([1.0, xp.nan])),
        xp.allclose(xp.asarray([1.0, xp.nan]), xp.asarray([1.0, xp.nan]), equal_nan=True),
        xp.allclose([], []),
        type(xp.allclose(x, x)) is bool,
    )


@pytest.mark.parametrize("dtype", ["int64", "float32", "complex128"])
@agrees
def test_complex_tolerances(xp: Any, dtype: str) -> Any:
    """They are compared as NumPy compares complex numbers."""
    x, y = xp.asarray([1, 2, -3], dtype=dtype), xp.asarray([1, 2.5, -3 + 1e-6])
    return [
        (xp.isclose(x, y, **options), xp.isclose(y, x, **options), xp.isclose(x, 1.0, **options))
        for options in ({"atol": 1j}, {"rtol": 1 - 1j}, {"atol": complex(xp.nan, 1)}, {"rtol": xp.asarray([1j, 1, 0])})
    ]


def unequal(x: Any, y: Any) -> Any:
    if tnp.allclose(x, y) and not tnp.array_equal(x, y):
        return x * 2
    return x if tnp.array_equiv(x, y) else y


def test_branches_on_closeness_are_kept_in_a_graph() -> None:
    compiled, x = tnp.compile(unequal, backend="eager", fullgraph=True), tnp.asarray([1.0, 2.0])
    for y in (x + 0, x + 1e-9, x + 1):
        assert compiled(x, y).tolist() == unequal(x, y).tolist()
    assert compiled.cache_info().traces == 1


@pytest.mark.parametrize("equal_nan", [False, True])
def test_isclose_of_a_batch(equal_nan: bool) -> None:
    x = tnp.asarray([[1.0, np.inf, -np.inf, np.nan, 0.0, 3.0]])
    y = tnp.asarray([[1 + 1e-9, np.inf, np.inf, np.nan, 1e-9, 3.1]])
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # torch warns of operations that it has to loop over
        found = tnp.vectorized_map(lambda pair: tnp.isclose(*pair, rtol=0.01, equal_nan=equal_nan), (x, y))
    assert found.tolist() == tnp.isclose(x, y, rtol=0.01, equal_nan=equal_nan).tolist()


def test_shapes_that_do_not_fit() -> None:
    for name in ("isclose", "allclose", "array_equal", "array_equiv"):
        compare(lambda xp, name=name: getattr(xp, name)(xp.zeros(2), xp.zeros(3)), may_raise=ValueError)


@pytest.mark.parametrize("second", ALL)
@pytest.mark.parametrize("first", ALL)
@agrees
def test_array_equal(xp: Any, first: str, second: str) -> Any:
    x = sample(xp, (2, 3), first)
    y = xp.asarray(np.asarray(sample(np, (2, 3), first)).real.astype(second))
    return (
        xp.array_equal(x, y),
        xp.array_equal(x, y, equal_nan=True),
        xp.array_equal(x, x),
        xp.array_equal(x, y[0]),
        xp.array_equiv(x, y),
        xp.array_equiv(x[0], x[:1]),
        xp.array_equiv(x, x[0]),
    )


@agrees
def test_array_equal_with_nan(xp: Any) -> Any:
    x = xp.asarray([1.0, xp.nan])
    z = xp.asarray([1.0, complex(xp.nan, 1)])
    return (
        xp.array_equal(x, x),
        xp.array_equal(x, x, equal_nan=True),
        xp.array_equal(x, z, equal_nan=True),
        xp.array_equal([1, 2], [1, 2]),
        xp.array_equal([1, 2], 1),
        xp.array_equiv([1, 2], [[1, 2], [1, 2]]),
        xp.array_equiv(x, x),
    )


@pytest.mark.parametrize("dtype", ALL)
@pytest.mark.parametrize("name", ["isposinf", "isneginf", "iscomplex", "isreal", "iscomplexobj", "isrealobj"])
def test_kinds(name: str, dtype: str) -> None:
    values = np.array(SPECIAL if np.dtype(dtype).kind in "fc" else [0, 1, 100]).astype(dtype)
    compare(lambda xp: getattr(xp, name)(xp.asarray(values)), may_raise=TypeError)
    compare(lambda xp: getattr(xp, name)(xp.asarray(values[0])), may_raise=TypeError)
    if name.endswith("inf"):
        compare(lambda xp: getattr(xp, name)(xp.asarray(values), out=xp.zeros(values.shape, bool)), may_raise=TypeError)


@agrees
def test_real_and_complex_parts_of_any_order(xp: Any) -> Any:
    cube = xp.ones((2, 3, 4))
    arrays = [cube, cube.T, cube.transpose(0, 2, 1), cube[:, ::2], cube + 1j, xp.zeros((0, 3)), xp.ones(40_000)]
    found = [function(x) for function in (xp.iscomplex, xp.isreal) for x in arrays]
    return found, [(each.base is None, each.flags.c_contiguous, each.flags.f_contiguous) for each in found]


@agrees
def test_kinds_of_what_is_no_array(xp: Any) -> Any:
    return (
        [getattr(xp, name)(value) for name in ("iscomplex", "isreal") for value in (1, 1j, 2.5, True, [1, 2j])],
        [getattr(xp, name)(value) for name in ("iscomplexobj", "isrealobj") for value in (1, 1j, [1, 2j])],
        [type(xp.isreal(value)) is bool for value in (1, 1j, 2.5, True)],
        [xp.isposinf(value) for value in (1, np.inf, [np.inf, -np.inf])],
    )


@given(
    pair=hnp.mutually_broadcastable_shapes(num_shapes=2, max_dims=2, max_side=3).flatmap(
        lambda shapes: st.tuples(*[hnp.arrays(st.sampled_from(["float32", "float64", "int64"]), s) for s in shapes[0]])
    ),
    rtol=st.floats(0, 1),
    atol=st.floats(0, 1),
)
def test_isclose_of_any_values(pair: Any, rtol: float, atol: float) -> None:
    compare(lambda xp: xp.isclose(*[xp.asarray(each) for each in pair], rtol=rtol, atol=atol))


def test_tolerances_of_numpy_are_not_weak() -> None:
    below = 1.0 - np.finfo("f8").eps

    def close(xp: Any, to: Any) -> Any:
        one = xp.asarray(below, dtype="f4")
        return [
            xp.isclose(one, to(below), atol=0, rtol=0),
            xp.isclose(one, np.float32(0), atol=to(below)),
            xp.isclose(one, 2, atol=0, rtol=to(below / 2)),
        ]

    compare(close, float)
    compare(close, np.float64)


@pytest.mark.parametrize("tolerances", [{"rtol": np.nan}, {"atol": np.inf}, {"rtol": [0.1, np.inf, 0.1]}], ids=str)
def test_a_tolerance_that_is_not_finite_is_warned_of(tolerances: Any) -> None:
    for xp in (np, tnp):
        x = xp.asarray([1.0, 2.0, np.inf])
        with pytest.warns(RuntimeWarning, match="One of rtol or atol is not valid, atol: .*, rtol: "):
            xp.isclose(x, x, **tolerances)
    compare(lambda xp: xp.isclose(xp.asarray([1.0, np.inf]), 2.0, atol=np.inf))


def test_kinds_of_what_says_a_dtype() -> None:
    class Extension:
        dtype = type("Complex", (), {"type": np.complex64})

    class Plain:
        dtype = np.dtype(complex)

    for xp in (np, tnp):
        assert xp.iscomplexobj(Extension()) and xp.iscomplexobj(Plain()) and not xp.isrealobj(Plain())


@agrees
@pytest.mark.host  # elsewhere NumPy is given no array
def test_equality_of_what_no_tensor_holds(xp: Any) -> Any:
    """NumPy compares text and objects, and what has no elements is equal."""
    numbers = xp.asarray([1.0, 2.0**70])
    return (
        [xp.array_equal(text, ["a", "b"]) for text in (["a", "b"], ["a", "c"], ["a"], numbers, "a")],
        [xp.array_equiv(text, [["a", "a"]]) for text in ("a", ["a", "a"], ["a", "b"], numbers, [[1], [1, 2]])],
        [xp.array_equal(numbers, [1, 2**70]), xp.array_equal([None], [None]), xp.array_equal(float, float)],
        [xp.array_equiv(nothing, 2**70) for nothing in (xp.zeros((0, 0)), (), numbers)],
        [xp.array_equal(xp.zeros(0), []), xp.array_equal(xp.zeros(0), ""), xp.array_equiv(np.float32, ())],
    )
