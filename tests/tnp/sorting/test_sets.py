"""Sets do what NumPy's do."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tnp
from tests.oracle import ALL, COMPLEX, FLOATS, agrees, compare, sample

pytestmark = pytest.mark.usefixtures("computed_by")

PAIRS = ["intersect1d", "union1d", "setdiff1d", "setxor1d", "isin"]
FLAGS = ["return_index", "return_inverse", "return_counts"]


@pytest.mark.parametrize("dtype", ALL)
@pytest.mark.parametrize("axis", [None, 0, 1, -1])
def test_unique(dtype: str, axis: Any) -> None:
    def distinct(xp: Any) -> Any:
        x = sample(xp, (4, 5), dtype).round() if dtype != "bool" else sample(xp, (4, 5), dtype)
        x = xp.concatenate([x, x[1:3]], 0 if axis is None else axis % 2 * 0)
        flags = dict.fromkeys(FLAGS, True)
        return xp.unique(x, axis=axis), xp.unique(x, axis=axis, **flags)

    compare(distinct)


@pytest.mark.parametrize("flags", [(), *[(f,) for f in FLAGS], tuple(FLAGS)])
@pytest.mark.parametrize("equal_nan", [False, True])
@pytest.mark.parametrize("dtype", FLOATS + COMPLEX)
@agrees
def test_unique_nan(xp: Any, dtype: str, equal_nan: bool, flags: tuple[str, ...]) -> Any:
    x = xp.asarray([np.nan, 2, 0, np.nan, -0.0, 2, np.inf], dtype)
    return xp.unique(x, equal_nan=equal_nan, **dict.fromkeys(flags, True))


@pytest.mark.parametrize("shape", [(0,), (0, 3), (3, 0), (1,), ()])
@pytest.mark.parametrize("axis", [None, 0, 1])
def test_unique_of_little(shape: tuple[int, ...], axis: Any) -> None:
    compare(
        lambda xp: xp.unique(xp.zeros(shape), return_index=True, return_inverse=True, axis=axis),
        may_raise=np.exceptions.AxisError,
    )


@pytest.mark.parametrize("name", ["unique_all", "unique_counts", "unique_inverse", "unique_values"])
@pytest.mark.parametrize("dtype", ["int64", "float32", "uint16", "bool"])
def test_unique_of_the_standard(name: str, dtype: str) -> None:
    def distinct(xp: Any) -> Any:
        found = getattr(xp, name)(sample(xp, (3, 4), dtype).astype(dtype))
        # NumPy returns unique_values in the order of a hash table.
        return found._asdict() if name != "unique_values" else xp.sort(found)

    compare(distinct)


@pytest.mark.parametrize("name", PAIRS)
@pytest.mark.parametrize("dtype", ALL)
def test_pairs(name: str, dtype: str) -> None:
    def paired(xp: Any) -> Any:
        x, y = sample(xp, (3, 4), dtype), sample(xp, (10,), dtype, 1)
        y = xp.concatenate([y, x.ravel()[::2]])
        return getattr(xp, name)(x, y), getattr(xp, name)(x, y[:1]), getattr(xp, name)(x, y[:0])

    compare(paired)


@pytest.mark.parametrize("name", PAIRS)
@pytest.mark.parametrize("other", ["uint8", "int16", "float32", "complex64", "bool"])
def test_pairs_of_two_dtypes(name: str, other: str) -> None:
    compare(lambda xp: getattr(xp, name)(sample(xp, (8,), "int64"), sample(xp, (20,), other, 1)))


@pytest.mark.parametrize("name", PAIRS)
@agrees
def test_unique_pairs(xp: Any, name: str) -> Any:
    options = {} if name == "union1d" else {"assume_unique": True}
    return getattr(xp, name)(xp.asarray([4, 1, 7]), xp.asarray([7, 2, 4]), **options)


@pytest.mark.parametrize("assume_unique", [False, True])
@agrees
def test_intersection_indices(xp: Any, assume_unique: bool) -> Any:
    x, y = xp.asarray([[4, 1], [7, 3]]), xp.asarray([7, 2, 4, 9])
    return xp.intersect1d(x, y, assume_unique, return_indices=True)


def test_intersection_indices_of_repeated_values() -> None:
    compare(lambda xp: xp.intersect1d([1, 1, 2, 3, 3], [3, 1, 1, 3], return_indices=True))


@pytest.mark.parametrize("kind", [None, "sort", "table", "hash"])
@pytest.mark.parametrize("dtype", ["int8", "float64", "uint64"])
@pytest.mark.parametrize("invert", [False, True])
def test_isin(kind: Any, dtype: str, invert: bool) -> None:
    compare(
        lambda xp: xp.isin(sample(xp, (3, 4), dtype), sample(xp, (5,), dtype, 3), invert=invert, kind=kind),
        may_raise=ValueError,
    )


@agrees
def test_isin_beyond_int64(xp: Any) -> Any:
    big, small = xp.asarray([2**63, 2**64 - 1, 5, 0], "uint64"), xp.asarray([-1, 5, -(2**63), 0])
    return xp.isin(big, small), xp.isin(small, big), xp.isin(xp.nan, [xp.nan])


@settings(max_examples=40, deadline=None)
@given(st.lists(st.integers(-3, 3), max_size=12), st.lists(st.integers(-3, 3), max_size=12))
def test_any_pair(one: list[int], other: list[int]) -> None:
    for name in PAIRS:
        compare(lambda xp, name=name: getattr(xp, name)(xp.asarray(one, int), xp.asarray(other, int)))


def test_gradient_reaches_unique_values() -> None:
    x = tnp.asarray([3.0, 1.0, 3.0])
    x.tensor.requires_grad_()
    tnp.unique(x).sum().tensor.backward()
    assert x.tensor.grad is not None and float(x.tensor.grad.sum()) == 2.0


def test_isin_of_what_no_tensor_holds() -> None:
    for element, test in [([None], [1, 1]), (np.asarray(["a", "b"]), ["b"]), ([1, 2], ["a"])]:
        found = tnp.isin(element, test)
        assert type(found) is tnp.ndarray and found.tolist() == np.isin(element, test).tolist()


def test_the_dtype_of_numbers_that_are_assumed_unique() -> None:
    compare(lambda xp: xp.setxor1d(np.int32(0), -1, True))
    compare(lambda xp: xp.setxor1d(xp.asarray([0, 3], "int8"), -1, assume_unique=True))


@agrees(raises=ValueError)
@pytest.mark.parametrize("flag", [[1, 2], []])
def test_what_says_to_sort_has_a_truth(xp: Any, flag: list[int]) -> Any:
    return xp.unique(xp.asarray([3, 1, 3]), sorted=xp.asarray(flag))


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "complex64"])
@agrees
def test_unique_slices_with_what_is_not_finite(xp: Any, dtype: str, axis: int) -> Any:
    values = np.random.default_rng(3).choice([np.nan, -np.inf, np.inf, 0.0, -6e4], (3, 30))
    flags = {"return_index": True, "return_inverse": True, "return_counts": True}
    return xp.unique(xp.asarray(values.astype(dtype)), axis=axis, **flags), xp.unique(
        xp.asarray(values[:, ::2].astype(dtype)).T, axis=axis, **flags
    )


@pytest.mark.parametrize(
    "axis",
    [0.0, np.float64(0), "0", [0], (0,), True, np.True_, 1j, np.array(0), np.array([0]), [], (0.0,), (0, 0), 10**30],
)
def test_unique_says_what_is_no_axis(axis: Any) -> None:
    for shape in [(2,), (2, 2), (0, 2), ()]:
        texts = []
        for xp in (np, tnp):
            try:
                texts.append(xp.unique(xp.ones(shape), axis=axis).shape)
            except (TypeError, ValueError, OverflowError) as error:
                texts.append((type(error), str(error)))
        assert texts[0] == texts[1]


@agrees(raises=ValueError)
@pytest.mark.parametrize("axis", [None, 0, 1])
def test_equal_nan_is_asked_for_its_truth(xp: Any, axis: Any) -> Any:
    return xp.unique(xp.ones((2, 1), complex), axis=axis, equal_nan=xp.ones(3))
