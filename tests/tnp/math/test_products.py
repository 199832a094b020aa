"""Products: shapes, dtypes, options and refusals against NumPy."""

from __future__ import annotations

import doctest
import operator
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tnp
from tests.oracle import ALL, agrees, compare, sample

SINCE_2_5 = np.lib.NumpyVersion(np.__version__) >= "2.5.0"
RTOL = {"float16": 1e-2, "float32": 1e-5, "complex64": 1e-5}
SHAPES = [
    ((3,), (3,)),
    ((2, 3), (3,)),
    ((3,), (3, 2)),
    ((2, 3), (3, 4)),
    ((5, 2, 3), (3, 4)),
    ((2, 3), (5, 3, 4)),
    ((5, 2, 3), (5, 3, 4)),
    ((5, 1, 2, 3), (4, 3, 2)),
    ((3,), (5, 3, 4)),
    ((5, 2, 3), (3,)),
    ((0, 3), (3, 2)),
    ((2, 0), (0, 3)),
    ((0,), (0,)),
    ((1,), (1,)),
    ((2, 3), (2, 3)),
    ((3,), (2,)),
    ((2, 2, 2), (3, 2, 2)),
    ((), (2,)),
    ((), (1, 2)),
    ((1, 2), ()),
    ((1,), ()),
    ((), (1,)),
    ((2, 3), ()),
    ((), ()),
]


def check(call: Any, dtype: str) -> None:
    """Agreement on a sum of products: exact for integers, else within a tolerance."""
    rtol = RTOL.get(dtype, 1e-12)
    compare(
        call,
        **({"rtol": rtol, "atol": rtol} if np.dtype(dtype).kind in "fc" else {}),
        may_raise=(IndexError, TypeError, ValueError),
    )


# Every product on every shape and dtype.


@pytest.mark.parametrize("name", ["matmul", "dot", "inner", "vdot", "outer", "kron", "vecdot", "matvec", "vecmat"])
@pytest.mark.parametrize("shapes", SHAPES, ids=str)
def test_shapes(name: str, shapes: tuple[tuple[int, ...], ...]) -> None:
    one, other = shapes
    for dtype in ("int64", "complex128"):
        check(lambda xp, d=dtype: getattr(xp, name)(sample(xp, one, d), sample(xp, other, d, seed=1)), dtype)


@pytest.mark.parametrize("name", ["matmul", "dot", "inner", "vdot", "outer", "kron", "vecdot", "cross"])
@pytest.mark.parametrize("dtype", ALL)
def test_dtypes(name: str, dtype: str) -> None:
    one, other = ((3,), (3,)) if name in ("vdot", "cross") else ((2, 3), (2, 3))
    for other_dtype in ALL if name == "matmul" else (dtype, "int16", "float32"):

        def call(xp: Any, other_dtype: str = other_dtype) -> Any:
            y = sample(xp, other, other_dtype, seed=1)
            return getattr(xp, name)(sample(xp, one, dtype), y.T if name in ("matmul", "dot") else y)

        result = np.result_type(dtype, other_dtype)
        check(call, str(result))


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int32", "uint16", "uint32", "int64", "uint64"])
@agrees
def test_integers_wrap_around(xp: Any, dtype: str) -> Any:
    largest = np.iinfo(dtype).max
    x = xp.full((2, 3), largest, dtype=dtype)
    y = xp.asarray([[largest, 2], [3, largest], [7, 1]], dtype=dtype)
    return x @ y, xp.dot(x, y), xp.einsum("ij,jk->ik", x, y), xp.einsum("ij->i", x), xp.tensordot(x, y, 1)


@settings(max_examples=40, deadline=None)
@given(st.data())
def test_matmul_of_any_shapes(data: Any) -> None:
    def draw(core: list[int]) -> tuple[int, ...]:
        return (*data.draw(st.lists(st.integers(0, 3), max_size=2)), *core)

    n, k, m = (data.draw(st.integers(0, 3)) for _ in range(3))
    one = (k,) if data.draw(st.booleans()) else draw([n, k])
    other = (k,) if data.draw(st.booleans()) else draw([k, m])
    compare(lambda xp: xp.matmul(sample(xp, one, "int32"), sample(xp, other, "int32", 1)))
    compare(lambda xp: sample(xp, one, "bool") @ sample(xp, other, "uint16", 1))


@pytest.mark.parametrize("view", ["T", "step", "flip", "broadcast"])
@agrees
def test_views(xp: Any, view: str) -> Any:
    x = xp.arange(16).reshape(4, 4)
    v = {"T": x.T, "step": x[::2, ::2], "flip": x[::-1], "broadcast": xp.broadcast_to(x[0], (4, 4))}[view]
    return v @ v, xp.dot(v, v), xp.inner(v, v), xp.vdot(v, v), xp.einsum("ij,jk", v, v), xp.tensordot(v, v)


@agrees
def test_lists_and_scalars(xp: Any) -> Any:
    x = xp.ones((2, 2), dtype="float32")
    return (
        xp.matmul([[1, 2], [3, 4]], [1, 1]),
        x @ [[1, 2], [3, 4]],
        [[1, 2], [3, 4]] @ x,
        x @ np.ones(2) if xp is np else x @ xp.ones(2),
        xp.dot(3, 4),
        xp.dot(x, 2.0),
        xp.dot(True, x),
        xp.inner(2, [1, 2]),
        xp.outer([[1, 2]], 3),
        xp.kron(2, 3),
        xp.kron(2, [1, 2]),
        xp.vdot(2j, 3),
        x.dot(x),
        x[0].dot([1, 2]),
    )


@agrees
def test_conjugates(xp: Any) -> Any:
    x, y = xp.asarray([1 + 2j, 3 - 1j]), xp.asarray([2 - 1j, 1j])
    vecmat = xp.vecmat(x, xp.stack([x, y]))
    return xp.vdot(x, y), xp.vecdot(x, y), xp.inner(x, y), xp.dot(x, y), xp.matmul(x, y), vecmat


# Operators.


@pytest.mark.parametrize("other", [1, 2.5, [1], "x", None], ids=repr)
def test_operator_refuses(other: Any) -> None:
    with pytest.raises((ValueError, TypeError)):
        tnp.ones((2, 2)) @ other
    with pytest.raises((ValueError, TypeError)):
        other @ tnp.ones((2, 2))


def test_operator_defers() -> None:
    class Other:
        __array_ufunc__ = None

        def __rmatmul__(self, other: Any) -> str:
            return "mine"

        def __matmul__(self, other: Any) -> str:
            return "mine"

    assert tnp.ones((2, 2)) @ Other() == "mine" == Other() @ tnp.ones((2, 2))
    with pytest.raises(TypeError):
        tnp.matmul(tnp.ones((2, 2)), Other())


@pytest.mark.parametrize(
    "shapes",
    [((3, 3), (3, 3)), ((3,), (3, 3)), ((2, 3, 3), (3, 3)), ((3, 3), (3,)), ((3, 3), (3, 2)), ((3, 3), (2, 3, 3))],
)
@pytest.mark.parametrize("dtype", ["int64", "float32"])
def test_in_place(shapes: tuple[tuple[int, ...], ...], dtype: str) -> None:
    def call(xp: Any) -> Any:
        x = y = sample(xp, shapes[0], dtype)
        x @= sample(xp, shapes[1], "int64", 1) if dtype == "int64" else sample(xp, shapes[1], dtype, 1)
        return x, x is y

    check(call, dtype)


def test_in_place_refuses_and_leaves_the_array() -> None:
    x = tnp.ones((2, 2), dtype=int)
    with pytest.raises(TypeError, match="Cannot cast"):
        x @= tnp.ones((2, 2))
    with pytest.raises(ValueError):
        x @= tnp.ones((3, 3), dtype=int)
    assert x.tolist() == [[1, 1], [1, 1]]


def test_messages() -> None:
    text = (
        "matmul: Input operand 1 has a mismatch in its core dimension 0, with gufunc signature "
        r"\(n\?,k\),\(k,m\?\)->\(n\?,m\?\) \(size 2 is different from 3\)"
    )
    with pytest.raises(ValueError, match=text):
        tnp.ones((4, 3)) @ tnp.ones((2, 5))
    with pytest.raises(ValueError, match="matmul: Input operand 1 does not have enough dimensions"):
        tnp.matmul(tnp.ones(2), 3)
    with pytest.raises(ValueError, match=r"shapes \(2,3\) and \(2,\) not aligned: 3 \(dim 1\) != 2 \(dim 0\)"):
        tnp.dot(tnp.ones((2, 3)), tnp.ones(2))
    with pytest.raises(ValueError, match=r"could not be broadcast together with shapes \(2,2,2\) \(3,2,2\)"):
        tnp.ones((2, 2, 2)) @ tnp.ones((3, 2, 2))


# Options of the generalized ufuncs.

EYE = [[1.0, 2.0], [3.0, 4.0]]


@pytest.mark.parametrize(
    "options",
    [
        {"axis": 0},
        {"where": True},
        {"keepdims": True},
        {"axes": [(0, 1), (0, 1), (0, 1)]},
        {"axes": [(1, 0), (0, 1), (1, 0)]},
        {"axes": [(-1, -2), (-2, -1), (-1, -2)]},
        {"axes": [(0, 1), (0, 1)]},
        {"axes": 3},
        {"axes": [0, 1, 2]},
        {"axes": [(0, 0), (0, 1), (0, 1)]},
        {"axes": [(0, 5), (0, 1), (0, 1)]},
        {"axes": [(0, 1, 2), (0, 1), (0, 1)]},
        {"casting": "no"},
        {"casting": "nonsense"},
        {"dtype": "f4"},
        {"dtype": "i8"},
        {"dtype": "i8", "casting": "unsafe"},
        {"signature": "ff->f"},
        {"order": "F"},
        {"order": "Z"},
        {"subok": False},
        {"nonsense": 1},
    ],
    ids=str,
)
def test_matmul_options(options: dict[str, Any]) -> None:
    compare(lambda xp: xp.matmul(xp.asarray(EYE), xp.asarray(EYE) + 1, **options), may_raise=(TypeError, ValueError))


@pytest.mark.parametrize(
    "options",
    [
        {"axis": 0},
        {"axis": -1},
        {"axis": 5},
        {"axis": 0, "keepdims": True},
        {"keepdims": True},
        {"axes": [0, 1]},
        {"axes": [0, 1, ()]},
        {"axes": [0, 1], "axis": 1},
        {"axes": [(0,), (1,), ()]},
        {"axes": [0, 1, 0], "keepdims": True},
        {"axes": [0, 1, 1], "keepdims": True},
        {"axes": [0, 1], "keepdims": True},
        {"dtype": "f4"},
    ],
    ids=str,
)
def test_vecdot_options(options: dict[str, Any]) -> None:
    compare(
        lambda xp: xp.vecdot(xp.asarray(EYE), xp.asarray(EYE) + 1, **options),
        may_raise=(np.exceptions.AxisError, TypeError),
    )


@agrees
def test_axes_of_matvec_and_vecmat(xp: Any) -> Any:
    a = xp.arange(24).reshape(2, 3, 4)
    return (
        xp.matvec(a, xp.arange(3), axes=[(2, 1), 0, 0]),
        xp.matvec(a, xp.arange(2), axes=[(1, 0), 0, 1]),
        xp.vecmat(xp.arange(2), a, axes=[0, (0, 2), 1]),
    )


@agrees
def test_axes_of_matmul(xp: Any) -> Any:
    a, b = xp.arange(24).reshape(2, 3, 4), xp.arange(24).reshape(4, 3, 2)
    return xp.matmul(a, b, axes=[(0, 2), (0, 2), (0, 2)]), xp.matmul(a, b, axes=[(1, 0), (2, 1), (2, 1)])


@pytest.mark.parametrize("shape", [(2, 2), (5, 2, 2), (3, 3), (2,), (1, 2), ()], ids=str)
@pytest.mark.parametrize("dtype", ["float64", "float32", "int64", "complex128"])
def test_out(shape: tuple[int, ...], dtype: str) -> None:
    def call(xp: Any) -> Any:
        out = xp.zeros(shape, dtype=dtype)
        return xp.matmul(xp.asarray(EYE), xp.asarray(EYE), out=out) is out, out

    compare(call, may_raise=(TypeError, ValueError))


@pytest.mark.parametrize("one, other, out", [
    ((1, 2), (1, 2, 2), (1, 2)), ((2,), (1, 1, 2, 2), (2,)), ((2,), (1, 1, 2, 2), (1, 2)), ((1, 2), (3, 2, 2), (1, 2)),
    ((2, 2), (2, 2), (3, 2, 2)),
])  # fmt: skip
def test_out_without_leading_axes_of_length_one(one: Any, other: Any, out: Any) -> None:
    compare(lambda xp: xp.matmul(xp.ones(one), xp.ones(other), out=xp.zeros(out)), may_raise=ValueError)
    compare(lambda xp: xp.vecdot(xp.ones((1, *one)), xp.ones(other), out=xp.zeros(out[1:])), may_raise=ValueError)
    compare(lambda xp: operator.imatmul(xp.ones(one), xp.ones(other)), may_raise=ValueError)


@pytest.mark.parametrize("one, other, out", [
    ((1, 2), (2, 2), (2,)), ((1, 1, 2), (2, 3), (3,)), ((1, 2), (2, 1), (1,)), ((1, 2), (1, 2), ()),
    ((1, 0), (0, 3), (3,)), ((1, 2), (1, 2, 3), (3,)), ((1, 2), (2, 3), ()), ((1, 2), (2, 3), (4,)),
    ((3, 2), (2, 2), (2,)), ((3, 2), (3, 2), ()),
])  # fmt: skip
def test_what_out_has_no_axis_for_is_a_loop(one: Any, other: Any, out: Any) -> None:
    compare(
        lambda xp: xp.matmul(sample(xp, one, "int64"), sample(xp, other, "int64", 1), out=xp.zeros(out, "int64")),
        may_raise=ValueError,
    )


@agrees
def test_out_overlaps_and_is_strided(xp: Any) -> Any:
    x = xp.asarray(EYE)
    xp.matmul(x, x, out=x)
    y = xp.zeros((4, 4))
    xp.matmul(x, x, out=y[::2, ::2])
    xp.vecdot(x, x, out=y[1, :2])
    xp.matmul(x, x, out=y[1::2, 1::2], axes=[(0, 1), (0, 1), (1, 0)])
    return x, y


@pytest.mark.parametrize(
    ("shape", "dtype", "transposed"),
    [((2, 2), "f8", 0), ((2, 2), "f4", 0), ((3, 2), "f8", 0), ((2, 2), "f8", 1), ((4,), "f8", 0)],
)
def test_out_of_dot(shape: tuple[int, ...], dtype: str, transposed: int) -> None:
    def call(xp: Any) -> Any:
        out = xp.zeros(shape, dtype=dtype)
        out = out.T if transposed else out
        return xp.dot(xp.asarray(EYE), xp.asarray(EYE), out=out) is out, out

    compare(call, may_raise=ValueError)


@pytest.mark.host
def test_attributes() -> None:
    assert tnp.matmul.signature == np.matmul.signature
    assert repr(tnp.vecdot) == "<ufunc 'vecdot'>"
    for ufunc in (tnp.matmul, tnp.vecdot, tnp.matvec, tnp.vecmat):
        examples = doctest.DocTestParser().get_doctest(ufunc.__doc__ or "", {}, ufunc.__name__, None, None)
        assert examples.examples and not doctest.DocTestRunner().run(examples).failed


# tensordot, cross, kron, trace, outer.


@pytest.mark.parametrize(
    "axes",
    [
        0,
        1,
        2,
        3,
        -1,
        ([1], [0]),
        ([2, 1], [0, 1]),
        ([-1, 1], [0, -2]),
        (2, 0),
        ([0, 0], [0, 0]),
        ([5], [0]),
        ([0, 1], [0]),
    ],
    ids=str,
)
@pytest.mark.parametrize("dtype", ["int32", "float64", "bool"])
def test_tensordot(axes: Any, dtype: str) -> None:
    check(lambda xp: xp.tensordot(sample(xp, (2, 3, 4), dtype), sample(xp, (4, 3, 2), dtype, 1), axes), dtype)


@pytest.mark.parametrize("axes", [0, 1])
@agrees
def test_tensordot_of_vectors(xp: Any, axes: int) -> Any:
    return xp.tensordot([1, 2], xp.asarray([3.0, 4.0]), axes)


@pytest.mark.parametrize(
    ("one", "other", "options"),
    [
        ((3,), (3,), {}),
        ((5, 3), (3,), {}),
        ((5, 3), (4, 1, 3), {}),
        ((3, 5), (3, 5), {"axis": 0}),
        ((3, 5), (5, 3), {"axisa": 0}),
        ((5, 3), (5, 3), {"axisc": 0}),
        ((2, 5, 3), (5, 3), {"axisc": 1}),
        ((2,), (2,), {}),
        ((5, 2), (5, 3), {}),
        ((5, 3), (2,), {}),
        ((4,), (3,), {}),
        ((2, 3), (3, 3), {}),
        ((), (3,), {}),
        ((5, 3), (5, 3), {"axisa": 2}),
        ((5, 3), (5, 3), {"axisc": 2}),
        ((2, 3), (1, 4, 3), {"axisc": 7}),
    ],
    ids=str,
)
@pytest.mark.parametrize("dtype", ["int64", "uint8", "float64", "bool"])
def test_cross(one: tuple[int, ...], other: tuple[int, ...], options: dict[str, int], dtype: str) -> None:
    check(lambda xp: xp.cross(sample(xp, one, dtype), sample(xp, other, dtype, 1), **options), dtype)


@pytest.mark.skipif(SINCE_2_5, reason="NumPy refuses them")
@pytest.mark.filterwarnings("error::DeprecationWarning")
def test_cross_of_two_components_is_deprecated() -> None:
    with pytest.raises(DeprecationWarning, match="2-dimensional vectors"):
        tnp.cross([1, 2], [3, 4])


@pytest.mark.parametrize("dtype", ALL)
@agrees(rtol=1e-2)
def test_trace(xp: Any, dtype: str) -> Any:
    x = sample(xp, (3, 4, 5), dtype)
    return (
        xp.trace(x),
        xp.trace(x, 1),
        xp.trace(x, -1, 0, 2),
        xp.trace(x, axis1=1, axis2=2),
        xp.trace(x[0]),
        x[0].trace(offset=2),
        xp.trace(x, dtype="float64"),
        xp.trace(x, dtype=">f4"),
        xp.trace(x, 9),
    )


@pytest.mark.parametrize(
    "call",
    [
        lambda xp: xp.trace(xp.ones(3)),
        lambda xp: xp.trace(xp.ones((3, 3)), axis1=0, axis2=0),
        lambda xp: xp.trace(xp.ones((3, 3)), axis1=0, axis2=5),
        lambda xp: xp.trace(xp.ones((2, 3, 3)), out=xp.zeros(3)),
        lambda xp: xp.trace(xp.ones((2, 3, 3)), out=xp.zeros(2)),
        lambda xp: xp.outer([[1, 2]], [3, 4], out=xp.zeros((2, 2))),
        lambda xp: xp.outer([[1, 2]], [3, 4], out=xp.zeros((2, 3))),
        lambda xp: xp.outer([[1, 2]], [3, 4], out=xp.zeros((2, 2), dtype=bool)),
        lambda xp: xp.kron(xp.ones((2, 1)), xp.ones((1, 3, 2))),
        lambda xp: xp.kron(xp.arange(4).reshape(2, 2), xp.asarray([1, 2])),
    ],
)
def test_others(call: Any) -> None:
    compare(call, may_raise=(TypeError, ValueError))


@pytest.mark.parametrize("name", ["dot", "vdot", "inner"])
def test_an_empty_list_has_the_dtype_of_the_other_factor(name: str) -> None:
    for dtype in ("int32", "float32", "complex64"):
        compare(lambda xp, dtype=dtype: getattr(xp, name)(xp.zeros((1, 0), dtype)[0], [[]][0]))
        compare(lambda xp, dtype=dtype: getattr(xp, name)(xp.asarray([], dtype), []))
        compare(lambda xp, dtype=dtype: getattr(xp, name)([], xp.asarray([], dtype)))
        compare(lambda xp, dtype=dtype: getattr(xp, name)(((),), xp.zeros((1, 0), dtype)), may_raise=ValueError)
    compare(lambda xp: getattr(xp, name)([], []))


@agrees
def test_cross_products_are_made_in_c_order_of_vectors(xp: Any) -> Any:
    x, y = sample(xp, (4, 3), "float64"), sample(xp, (3, 4), "float64", 1)
    results = xp.cross(x, x[::2][:1]), xp.cross(y, y, axis=0), xp.cross(x, y, axisb=0), xp.cross(x, y, axisb=0, axisc=0)
    return [(each, each.strides) for each in results]
