"""Grids, meshes, brackets that join, and flat indices: NumPy's values, dtypes and errors."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tnp
from tests.oracle import ALL, agrees, compare, outcome

FEW = settings(max_examples=100, deadline=None)
MESHES: list[Any] = [([0, 1], [2, 4]), ([True, False], []), ([[1]],), ([1.5],), (), ([0], [1], [2, 3]), (5,)]


@pytest.mark.parametrize("arguments", MESHES, ids=repr)
def test_ix(arguments: Any) -> None:
    compare(lambda xp: xp.ix_(*arguments), may_raise=ValueError)
    compare(lambda xp: xp.ix_(*[xp.asarray(a) for a in arguments]), may_raise=ValueError)


@pytest.mark.parametrize("shape", [(2, 3), (3,), (), (0, 2), 3, (-1,), (2, 1, 2)])
@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("dtype", [int, float, "uint16", "complex64"])
def test_indices(shape: Any, sparse: bool, dtype: Any) -> None:
    compare(lambda xp: xp.indices(shape, dtype, sparse), may_raise=(TypeError, ValueError))


GRIDS: list[Any] = [
    np.s_[0:5, 0:5],
    np.s_[-1:1:5j],
    np.s_[-1:1:5j,],
    np.s_[0:1:0.3],
    np.s_[0:1:0.3, 0:2],
    np.s_[:3],
    np.s_[:],
    np.s_[0:2, 0:1:3j],
    np.s_[3:0:-1, 0:2],
    np.s_[0:1:1j],
    np.s_[0:1:1j, 0:2],
    np.s_[np.float32(0.1) : 0.33 : 0.1,],
    np.s_[0.1 : 0.33 : np.complex64(3j),],
    np.s_[0:3:0],
    np.s_[0:3:0, 0:2],
    np.s_[5:0, 0:2],
    np.s_[0:2, 0:3, 0.5:2],
]


@agrees
def test_grids_of_integers(xp: Any) -> Any:
    small = xp.mgrid[0:3, :4], xp.mgrid[2:5, 0:1, -1:2], xp.mgrid[0:0, 0:2], xp.mgrid[(slice(5, 7),)]
    return small, xp.mgrid[0:80, 0:90], [each.base is None for each in small]


@pytest.mark.parametrize("key", GRIDS, ids=repr)
@pytest.mark.parametrize("name", ["mgrid", "ogrid"])
def test_grids(name: str, key: Any) -> None:
    compare(lambda xp: getattr(xp, name)[key], may_raise=(ValueError, ZeroDivisionError))


@agrees
def test_grid_bounds_from_arrays(xp: Any) -> Any:
    n = xp.arange(5)[3]
    return xp.mgrid[0:n, :n], xp.ogrid[: n * 0.5 : 0.5], xp.r_[0:n]


@pytest.mark.parametrize("key", [3, np.s_[:, :], np.s_[0:3, 4], "a"], ids=repr)
def test_what_is_no_grid(key: Any) -> None:
    with pytest.raises(TypeError):
        tnp.mgrid[key]


JOINED: list[Any] = [
    np.s_[1:4, 0, 4],
    np.s_[-1:1:6j, [0] * 3, 5, 6],
    np.s_["-1", [[1, 2]], [[3, 4]]],
    np.s_["0,2", [1, 2, 3], [4, 5, 6]],
    np.s_["0,2,0", [1, 2, 3], [4, 5, 6]],
    np.s_["1,2,0", [1, 2, 3], [4, 5, 6]],
    np.s_["0,3", [1, 2], [[3, 4]]],
    np.s_["0,3,0", [1, 2], [[3], [4]]],
    np.s_["0,3,-2", [1, 2], [3, 4]],
    np.s_["1,2,0", 0:3, 3:6],
    np.s_[[1, 2, 3], [4, 5, 6]],
    np.s_[np.array([[1, 2, 3]]), 0, 0, np.array([[4, 5, 6]])],
    np.s_["x", 1],
    np.s_["a,b", 1],
    np.s_[1, "0"],
    np.s_[()],
    np.s_[np.float32([1]), 2.5],
    np.s_[np.uint8([1]), 300],
    np.s_[np.uint8([1]), 30],
    3,
    np.s_[1:3, 2:4],
    np.s_[True, False],
    np.s_[1j, 2],
    np.s_[np.float64(1.0), np.float32([2])],
    np.s_[[[1, 2]], [3]],
]


@pytest.mark.parametrize("key", JOINED, ids=repr)
@pytest.mark.parametrize("name", ["r_", "c_"])
def test_joining_in_brackets(name: str, key: Any) -> None:
    compare(lambda xp: getattr(xp, name)[key], may_raise=(OverflowError, ValueError))
    assert len(getattr(tnp, name)) == 0


@agrees
def test_index_expressions(xp: Any) -> Any:
    x = xp.arange(12).reshape(3, 4)
    assert xp.s_[1:2] == np.s_[1:2] and xp.index_exp[1:2] == np.index_exp[1:2] and xp.s_[1, ...] == np.s_[1, ...]
    return x[xp.s_[1:, ::2]], x[xp.index_exp[0]]


@agrees
def test_iterating(xp: Any) -> Any:
    return list(xp.ndindex(2, 3)), list(xp.ndindex(())), list(xp.ndenumerate(xp.arange(4.0).reshape(2, 2).T))


UNRAVELED: list[Any] = [22, [22, 41], 42, -1, 1.5, [1.0], [], np.array([]), np.array(5), np.array([5], "u8"), True]


@pytest.mark.parametrize("indices", [*UNRAVELED, [[1, 2], [3, 4]]], ids=repr)
@pytest.mark.parametrize("shape", [(7, 6), (42,), 42, (2, 3, 7), (0, 6), (), (2**40, 2**40)])
@pytest.mark.parametrize("order", ["C", "F", "K"])
def test_unravel_index(indices: Any, shape: Any, order: str) -> None:
    compare(lambda xp: xp.unravel_index(indices, shape, order), may_raise=(TypeError, ValueError))


RAVELED: list[Any] = [
    (([3, 6], [4, 5]), (7, 6)),
    (([3, 9], [-4, 5]), (7, 6)),
    ((3, 4), (7, 6)),
    ((3.0, 4), (7, 6)),
    ((3,), (7, 6)),
    (np.array([[3, 6], [4, 5]]), (7, 6)),
    (([[3], [6]], [4, 5]), (7, 6)),
    (([3, 6], [4, 5, 1]), (7, 6)),
    ((3, 4), (2**40, 2**40)),
    (([], []), (7, 6)),
    (([1, 2],), 7),
    (([1], [0]), (2, 0)),
    (([-9], [-1]), (2, 3)),
]


@pytest.mark.parametrize(("multi_index", "dims"), RAVELED, ids=repr)
@pytest.mark.parametrize("mode", ["raise", "wrap", "clip", "x", True, ("clip", "wrap"), ("clip",)])
@pytest.mark.parametrize("order", ["C", "F", "A", "x"])
def test_ravel_multi_index(multi_index: Any, dims: Any, mode: Any, order: str) -> None:
    compare(lambda xp: xp.ravel_multi_index(multi_index, dims, mode, order), may_raise=(TypeError, ValueError))


@FEW
@given(st.lists(st.integers(1, 5), min_size=1, max_size=4), st.sampled_from("CF"))
def test_flat_indices_go_there_and_back(shape: list[int], order: str) -> None:
    flat = tnp.arange(math.prod(shape))
    back = tnp.ravel_multi_index(tnp.unravel_index(flat, tuple(shape), order), tuple(shape), order=order)
    assert back.tolist() == flat.tolist()
    compare(lambda xp: xp.unravel_index(xp.arange(math.prod(shape)), tuple(shape), order))


@pytest.mark.parametrize("dtype", ALL)
def test_join_every_dtype(dtype: str) -> None:
    compare(lambda xp: xp.r_[xp.zeros(2, dtype=dtype), 1, xp.ones(1, dtype=dtype)])
    assert outcome(lambda xp: xp.c_[xp.zeros(2, dtype=dtype)].dtype, tnp) == np.dtype(dtype)
