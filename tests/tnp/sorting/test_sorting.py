"""Sorting, partitioning and searching do what NumPy's do."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tnp
from tests.oracle import ALL, FLOATS, agrees, compare, sample

SORTS = ["sort", "argsort"]
PARTITIONS = ["partition", "argpartition"]


@pytest.mark.parametrize("dtype", ALL)
@pytest.mark.parametrize("name", SORTS)
def test_axes(name: str, dtype: str) -> None:
    for axis in (None, 0, 1, -1):
        for options in ({}, {"kind": "stable"}, {"stable": True}, {"kind": "mergesort"}):
            if name == "argsort" and not options:
                np.testing.assert_array_equal(
                    tnp.asnumpy(tnp.argsort(sample(tnp, (5, 6), dtype), axis)),
                    np.argsort(sample(np, (5, 6), dtype), axis, stable=True),
                )
                continue
            compare(lambda xp, axis=axis, o=options: getattr(xp, name)(sample(xp, (5, 6), dtype), axis, **o))


@pytest.mark.parametrize("name", SORTS)
@pytest.mark.parametrize(
    "options",
    [
        {"kind": "foo"},
        {"kind": "quicksort"},
        {"kind": "heapsort"},
        {"kind": 3},
        {"order": "a"},
        {"kind": "stable", "stable": True},
        {"stable": False},
        {"axis": 2},
        {"axis": -3},
        {"axis": 0.5},
    ],
)
def test_options(name: str, options: dict[str, Any]) -> None:
    compare(
        lambda xp: getattr(xp, name)(xp.asarray([[3, 1, 2], [9, 8, 7]]), **options), may_raise=(TypeError, ValueError)
    )


@pytest.mark.parametrize("dtype", ALL)
def test_descending(dtype: str) -> None:
    """Equal elements keep their order: a stable ascending sort of the reversed array, read backwards."""
    x = sample(np, (5, 20), dtype)
    for axis in (0, 1, -1):
        order = x.shape[axis] - 1 - np.flip(np.argsort(np.flip(x, axis), axis, stable=True), axis)
        actual = tnp.argsort(tnp.asarray(x), axis, stable=True, descending=True)
        np.testing.assert_array_equal(tnp.asnumpy(actual), order)
        descending = tnp.sort(tnp.asarray(x), axis, descending=True)
        assert descending.dtype == x.dtype
        np.testing.assert_array_equal(tnp.asnumpy(descending), np.take_along_axis(x, order, axis))
        array = tnp.asarray(x)
        np.testing.assert_array_equal(tnp.asnumpy(array.argsort(axis, stable=True, descending=True)), order)
        array.sort(axis, descending=True)
        np.testing.assert_array_equal(tnp.asnumpy(array), tnp.asnumpy(descending))


@pytest.mark.parametrize("name", SORTS)
def test_kind_and_descending_exclude_each_other(name: str) -> None:
    with pytest.raises(ValueError, match="can't be provided at the same time"):
        getattr(tnp, name)([3, 1, 2], kind="stable", descending=False)


def test_nan_is_last_in_descending_order_too() -> None:
    x = tnp.asarray([1.0, np.nan, 3.0, -np.inf, np.nan])
    np.testing.assert_array_equal(tnp.asnumpy(tnp.sort(x, descending=True)), [3.0, 1.0, -np.inf, np.nan, np.nan])
    assert tnp.argsort(x, stable=True, descending=True).tolist() == [2, 0, 3, 1, 4]


@pytest.mark.parametrize("name", SORTS)
def test_zero_dimensions_and_empty(name: str) -> None:
    for axis in (None, 0, -1):
        compare(lambda xp, axis=axis: getattr(xp, name)(xp.asarray(5.0), axis=axis), may_raise=np.exceptions.AxisError)
        compare(lambda xp, axis=axis: getattr(xp, name)(xp.zeros((0, 3)), axis=axis))
    compare(lambda xp: getattr(xp, name)([3, 1, 2]))


@pytest.mark.parametrize("dtype", [*FLOATS, "complex64"])
def test_nan_is_last(dtype: str) -> None:
    values = np.array([np.nan, np.inf, 1, -np.inf, 0.0, -0.0, np.nan, -3], dtype)
    if dtype == "complex64":
        values = np.concatenate(
            [values, np.conj(values[::-1] + 1j), np.array([complex(1, np.nan), complex(np.nan, 1)])]
        )
    compare(lambda xp: xp.sort(xp.asarray(values)))
    compare(lambda xp: xp.argsort(xp.asarray(values), kind="stable"))


def test_sort_is_a_copy_and_the_method_is_in_place() -> None:
    x = tnp.asarray([[3, 1], [2, 0]])
    assert tnp.sort(x).tolist() == [[1, 3], [0, 2]]
    assert x.tolist() == [[3, 1], [2, 0]]
    x.sort(0)
    assert x.tolist() == [[2, 0], [3, 1]]
    y = x.T
    y.sort()
    assert x.tolist() == [[2, 0], [3, 1]]


@pytest.mark.parametrize("dtype", ALL)
@pytest.mark.parametrize("name", PARTITIONS)
def test_partition(name: str, dtype: str) -> None:
    for axis in (None, 0, 1):
        for kth in (0, 2, -1, [1, 3], np.array([0, 2])):
            x = sample(np, (5, 6), dtype)
            result = tnp.asnumpy(getattr(tnp, name)(tnp.asarray(x), kth, axis))
            if name == "argpartition":
                assert result.dtype == np.int64
                result = np.take_along_axis(x, result, axis)
            if axis is None:
                result = result.ravel()
            assert result.dtype == x.dtype
            wanted = np.take(np.sort(x, axis), kth, axis or 0)
            np.testing.assert_array_equal(np.take(result, kth, axis or 0), wanted)
            np.testing.assert_array_equal(np.sort(result, axis), np.sort(x, axis))


@pytest.mark.parametrize("name", PARTITIONS)
@pytest.mark.parametrize("args", [(5,), (-4,), (1.5,), ([[0]],), (0, 1), (0, -1, "foo"), (0, -1, "introselect", "a")])
def test_partition_refuses(name: str, args: tuple[Any, ...]) -> None:
    compare(lambda xp: getattr(xp, name)(xp.asarray([3, 1, 2]), *args), raises=(TypeError, ValueError))


def test_a_position_is_no_bool() -> None:
    for name in PARTITIONS:
        with pytest.raises(ValueError, match="Booleans"):
            getattr(tnp, name)(tnp.asarray([3, 1, 2]), True)


@pytest.mark.parametrize("dtype", ALL)
@pytest.mark.parametrize("side", ["left", "right"])
def test_searchsorted(dtype: str, side: str) -> None:
    def searched(xp: Any, other: str) -> Any:
        line = xp.sort(sample(xp, (20,), dtype))
        return xp.searchsorted(line, sample(xp, (3, 4), other, seed=3), side)

    for other in ALL:
        compare(searched, other)


@agrees
def test_searchsorted_scalars_and_sorter(xp: Any) -> Any:
    x = xp.asarray([3.0, 1.0, 2.0, np.nan])
    order = xp.argsort(x)
    return [
        xp.searchsorted([1, 2, 3], 2),
        xp.searchsorted([1, 2, 3], 2.5, side="right"),
        xp.searchsorted(xp.asarray([1, 2, 3], dtype="int8"), 1000),
        xp.searchsorted([1, 2, 3], []),
        xp.searchsorted([], [1]),
        xp.searchsorted(x, [0, 2, np.nan], sorter=order),
        xp.searchsorted(x, [0, 2, np.nan], "right", order),
        xp.asarray([1, 2, 3]).searchsorted([2, 9]),
    ]


@pytest.mark.parametrize(
    "args",
    [
        ([[1, 2]], 2),
        (5, 2),
        ([1, 2], 2, "foo"),
        ([1, 2], 2, "left", [0]),
        ([1, 2], 2, "left", [0.0, 1.0]),
        ([1, 2], 2, "left", [[0, 1]]),
    ],
)
def test_searchsorted_refuses(args: tuple[Any, ...]) -> None:
    compare(lambda xp: xp.searchsorted(*args), raises=(TypeError, ValueError))


@agrees
def test_lexsort(xp: Any) -> Any:
    keys = [sample(xp, (3, 8), dtype) for dtype in ("bool", "uint64", "float32", "bool", "complex64", "bool")]
    return [
        xp.lexsort(keys),
        xp.lexsort(keys, axis=0),
        xp.lexsort(keys[:2], -1),
        xp.lexsort(sample(xp, (2, 3, 5), "int8"), axis=1),
        xp.lexsort(([3, 1, 2], [0, 0, 1])),
        xp.lexsort([1, 2]),
    ]


@pytest.mark.parametrize("args", [(([1], []), (0,)), ([],), (5,), (([1, 2], [1]),), (([1, 2],), 1), (([1, 2],), None)])
def test_lexsort_refuses(args: tuple[Any, ...]) -> None:
    compare(lambda xp: xp.lexsort(*args), raises=(TypeError, ValueError))


@pytest.mark.parametrize("dtype", ALL)
def test_sort_complex(dtype: str) -> None:
    compare(lambda xp: xp.sort_complex(sample(xp, (3, 5), dtype)))


@settings(max_examples=60)
@given(st.data())
def test_any_values(data: st.DataObject) -> None:
    dtype = data.draw(st.sampled_from(ALL))
    values = np.array(data.draw(st.lists(st.integers(0, 5), max_size=30))).astype(dtype)
    compare(lambda xp: xp.argsort(xp.asarray(values), stable=True))
    wanted = np.array(data.draw(st.lists(st.integers(0, 6), max_size=8))).astype(dtype)
    compare(lambda xp: xp.searchsorted(xp.sort(xp.asarray(values)), xp.asarray(wanted), "right"))


@pytest.mark.parametrize("shape", [(0,), (0, 3), (3, 0)])
@pytest.mark.parametrize("kth", [0, 5, -1, [0, 1]])
def test_any_element_of_none_is_the_kth(shape: tuple[int, ...], kth: Any) -> None:
    for axis in (0, -1, None):
        compare(lambda xp, axis=axis: xp.partition(xp.zeros(shape), kth, axis=axis))
        compare(lambda xp, axis=axis: xp.argpartition(xp.zeros(shape), kth, axis=axis))


@agrees(raises=TypeError)
def test_sort_in_place_has_an_axis(xp: Any) -> Any:
    return xp.ones((2, 3)).sort(axis=None)


@pytest.mark.reads
@agrees
def test_partition_at_no_position(xp: Any) -> Any:
    nowhere = np.array([], dtype=np.int16)
    return xp.partition(xp.asarray([3.0, 1.0]), nowhere), xp.argpartition(xp.asarray([3.0, 1.0]), nowhere)


@agrees(raises=TypeError)
def test_kind_of_partition_is_a_string(xp: Any) -> Any:
    return xp.partition(xp.arange(3), 1, kind=1)


@agrees(raises=TypeError)
def test_partition_in_place_needs_an_axis(xp: Any) -> None:
    xp.ones((2, 3)).partition(1, axis=None)


@pytest.mark.host  # elsewhere NumPy is given no array
def test_lexsort_of_strings() -> None:
    keys = ["cde", "abc", "fgh"], [1, 1, 0]
    order = tnp.lexsort(keys)
    assert type(order) is tnp.ndarray and order.tolist() == np.lexsort(keys).tolist()
    assert tnp.lexsort((keys[0], tnp.asarray(keys[1]))).tolist() == order.tolist()
