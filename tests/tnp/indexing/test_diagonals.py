"""Diagonals and triangles: NumPy's values, dtypes, views and errors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tnp
from tests.oracle import ALL, agrees, compare, sample


@pytest.mark.parametrize("dtype", ALL)
def test_every_dtype(dtype: str) -> None:
    def use(xp: Any) -> Any:
        x = sample(xp, (3, 4), dtype)
        square = sample(xp, (3, 3), dtype)
        xp.fill_diagonal(square, x[0])
        return [
            xp.diag(x),
            xp.diag(x[0], 1),
            xp.diagflat(x, -1),
            xp.diagonal(x, 1),
            xp.tri(3, 4, 1, dtype=dtype),
            xp.tril(x, -1),
            xp.triu(x),
            square,
        ]

    compare(use)


@pytest.mark.parametrize("k", [0, 1, -1, 7, -7])
@pytest.mark.parametrize("shape", [(3,), (0,), (2, 3), (3, 2), (0, 2), (), (2, 2, 2)])
@pytest.mark.parametrize("name", ["diag", "diagflat", "tril", "triu", "tril_indices_from", "triu_indices_from"])
def test_shapes(name: str, shape: tuple[int, ...], k: int) -> None:
    compare(lambda xp: getattr(xp, name)(sample(xp, shape, "float64"), k), may_raise=(TypeError, ValueError))


@pytest.mark.parametrize("arguments", [(0, 0, 1), (1, 0, 2), (-1, 2, 0), (0, -1, -2), (0, 0, 0), (0, 0, 3), (9, 1, 2)])
@pytest.mark.parametrize("shape", [(2, 3, 4), (2, 3), (3,)])
def test_diagonal(shape: tuple[int, ...], arguments: tuple[int, ...]) -> None:
    compare(lambda xp: xp.diagonal(sample(xp, shape, "float64"), *arguments), may_raise=ValueError)


def test_diagonals_are_views() -> None:
    x = tnp.zeros((3, 3))
    main, above = tnp.diagonal(x), tnp.diag(x, 1)
    x[...] = tnp.asarray([[1, 2, 0], [0, 1, 2], [0, 0, 1]])
    assert main.tolist() == [1, 1, 1] and above.tolist() == [2, 2]


@pytest.mark.parametrize("arguments", [(3,), (3, 4), (3, 4, 1), (2, 5, -1), (0,), (-1,), (2.5,), (3, None, 9)])
def test_tri(arguments: tuple[Any, ...]) -> None:
    compare(lambda xp: xp.tri(*arguments))


@pytest.mark.parametrize("arguments", [(3,), (3, 1), (3, -1, 4), (3, 1, 2), (0,), (2, 9), (2, -9)])
@pytest.mark.parametrize("name", ["tril_indices", "triu_indices"])
def test_triangle_indices(name: str, arguments: tuple[int, ...]) -> None:
    compare(lambda xp: getattr(xp, name)(*arguments))


@pytest.mark.parametrize("name", ["tri", "tril_indices", "triu_indices"])
@pytest.mark.parametrize("length", [3.0, 2.5, -1.5, True, np.float32(1.5), np.int8(2), 2j, "3", None, np.nan])
def test_floats_as_lengths(name: str, length: Any) -> None:
    compare(lambda xp: getattr(xp, name)(length), may_raise=(TypeError, ValueError))
    compare(
        lambda xp: getattr(xp, name)(3, -1, length) if name != "tri" else xp.tri(3, length, -1),
        may_raise=(TypeError, ValueError),
    )
    compare(lambda xp: getattr(xp, name)(xp.asarray(2.5)))


@agrees
def test_lengths_of_triangles_that_vanish_beside_the_diagonal(xp: Any) -> Any:
    tiny = xp.triu_indices(1, m=1e-38), xp.tri(1, 1e-38)
    return tiny, xp.tril_indices(5, m=np.uint8(4)), xp.tri(xp.asarray(3, "uint8"), xp.asarray(2, "int64"))


@agrees(raises=TypeError)
def test_a_boolean_is_no_length_of_a_mask(xp: Any) -> Any:
    return xp.mask_indices(True, xp.triu)


@pytest.mark.parametrize("name", ["tri", "tril", "triu", "tril_indices", "triu_indices", "tril_indices_from"])
def test_a_fraction_as_the_number_of_a_diagonal(name: str) -> None:
    """NumPy's arange cuts it off, and is of zeros alone where the first two numbers are cut to zero."""

    def use(xp: Any, k: Any) -> Any:
        function = getattr(xp, name)
        if name == "tri" or name.endswith("indices"):
            return function(3, k=k)
        x = sample(xp, (3, 4), "int32")
        return [function(x, k)] if name.endswith("from") else [function(x, k), function(x[0] > 1, k)]

    for k in (2.5, 1.0, 0.5, 0.3, 0.0, -0.5, -1.5, -2.7, 1e300, np.nan, np.float16(1.7), np.float64(-0.2)):
        compare(lambda xp, k=k: use(xp, k), may_raise=ValueError)  # type: ignore[misc]
    compare(lambda xp: use(xp, xp.asarray(1.7)))


@pytest.mark.parametrize("function", [tnp.tril, tnp.triu])
def test_a_traced_fraction_as_the_number_of_a_diagonal(function: Any) -> None:
    x = tnp.arange(12.0).reshape(3, 4)
    expected = function(x, 0.5).tolist()
    assert tnp.compile(lambda x: function(x, 0.5), backend="eager")(x).tolist() == expected
    assert tnp.vectorized_map(lambda x: function(x, 0.5), tnp.stack([x, x])).tolist() == [expected, expected]
    assert tnp.grad(lambda x: (function(x, 0.5) * x).sum())(x).tolist() == (2 * function(x, 0.5)).tolist()
    with pytest.raises(tnp.TracedValueError):
        tnp.compile(function, backend="eager", fullgraph=True)(x, tnp.asarray(0.5))


@agrees
def test_diagonal_indices(xp: Any) -> Any:
    return (
        xp.diag_indices(3),
        xp.diag_indices(2.5),
        xp.diag_indices(2, 3),
        xp.diag_indices_from(xp.zeros((2, 2, 2))),
        xp.diag_indices(0),
    )


@pytest.mark.parametrize("shape", [(3,), (2, 3), (2, 2, 3)])
def test_diagonal_indices_of_other_shapes(shape: tuple[int, ...]) -> None:
    compare(lambda xp: xp.diag_indices_from(xp.zeros(shape)), raises=ValueError)


@agrees
def test_mask_indices(xp: Any) -> Any:
    return xp.mask_indices(3, xp.triu), xp.mask_indices(3, xp.tril, -1), xp.mask_indices(2, lambda m, k: m * k, 1.5)


@pytest.mark.parametrize("value", [4, [1, 2], [1, 2, 3, 4, 5, 6, 7], [], [1.7], np.array([[1], [2]])], ids=repr)
@pytest.mark.parametrize("shape", [(3, 3), (8, 3), (3, 8), (2, 2, 2), (2, 2, 3), (2,), (0, 3), (7, 1)])
@pytest.mark.parametrize("wrap", [False, True])
def test_fill_diagonal(shape: tuple[int, ...], value: Any, wrap: bool) -> None:
    def use(xp: Any) -> Any:
        a = xp.zeros(shape, dtype=int)
        xp.fill_diagonal(a, value, wrap)
        return a

    compare(use, may_raise=ValueError)


@agrees
def test_fill_diagonal_of_a_view(xp: Any) -> Any:
    a = xp.zeros((4, 6))
    xp.fill_diagonal(a.T[::2], xp.arange(3))
    return a


@pytest.mark.parametrize("name", ["tri", "tril_indices", "triu_indices", "tril", "triu"])
@pytest.mark.parametrize(
    "k",
    [np.int16(-32768), np.int8(-128), np.uint8(0), np.uint8(1), np.uint16(3), np.int16(-1), np.array(-128, np.int8), 2],
)
@pytest.mark.parametrize("columns", [np.int16(32767), np.uint8(4), np.int8(3)])
def test_diagonals_that_wrap_around_as_numpys_integers(name: str, k: Any, columns: Any) -> None:
    def made(xp: Any) -> Any:
        function = getattr(xp, name)
        if name in ("tril", "triu"):
            return function(xp.ones((3, 5)), k)
        return function(3, k, columns) if name != "tri" else function(3, columns, k)

    with np.errstate(all="ignore"):
        compare(made, may_raise=(OverflowError, ValueError))


def test_mask_indices_of_no_size() -> None:
    compare(lambda xp: xp.mask_indices(-1, xp.triu), raises=ValueError)
    compare(lambda xp: xp.mask_indices(0, xp.triu))
