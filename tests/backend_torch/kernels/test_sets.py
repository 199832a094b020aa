"""Runs of equal values in sorted tensors."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from backend_torch.kernels import sets
from backend_torch.tensors.dtypes import to_numpy

pytestmark = pytest.mark.usefixtures("computed_by")


@pytest.mark.parametrize("dtype", list(to_numpy))
def test_unique(dtype: torch.dtype) -> None:
    line = torch.tensor([1, 0, 1, 0, 1]).to(dtype)
    found = sets.unique(line, True, True, True, True)
    assert found.values.dtype is dtype
    assert [t.tolist() for t in found[1:] if t is not None] == [[1, 0], [1, 0, 1, 0, 1], [2, 3]]


def test_rows_with_nan_are_not_equal() -> None:
    rows = torch.tensor([[1.0, float("nan")], [1.0, float("nan")], [0.0, 1.0], [0.0, 1.0]])
    found = sets.unique_rows(rows, False, True, True)
    assert found.values.shape == (3, 2)
    assert found.counts is not None and found.counts.tolist() == [2, 1, 1]


@pytest.mark.parametrize("equal_nan, count", [(True, 2), (False, 3)])
def test_nan(equal_nan: bool, count: int) -> None:
    line = torch.tensor([float("nan"), 1.0, float("nan")])
    assert len(sets.unique(line, False, False, False, equal_nan).values) == count


def test_contains() -> None:
    values = torch.tensor([[2**63, 5], [0, 2**64 - 1]], dtype=torch.uint64)
    line = torch.tensor([5, 2**64 - 1], dtype=torch.uint64)
    assert sets.contains(line, values).tolist() == [[False, True], [False, True]]
    assert not sets.contains(line[:0], values).any()


@pytest.mark.parametrize("dtype", [torch.bool, torch.int8, torch.uint8, torch.uint16, torch.int64, torch.uint64])
def test_contains_by_a_table_and_by_a_sort(dtype: torch.dtype) -> None:
    edge = [0, 1] if dtype is torch.bool else [torch.iinfo(dtype).min, torch.iinfo(dtype).max]
    for line in ([0, 1, 1], [1], [edge[1], edge[1] - 1], edge):
        values = torch.tensor([[0, 1, edge[0]], [edge[1], edge[1] - 1, 1]], dtype=dtype)
        expected = np.isin(values.numpy(), np.array(line, values.numpy().dtype))
        np.testing.assert_array_equal(sets.contains(torch.tensor(line, dtype=dtype), values).numpy(), expected)


def test_single() -> None:
    assert sets.single(torch.tensor([1, 1, 2, 3, 3])).tolist() == [2]
    np.testing.assert_array_equal(sets.single(torch.empty(0)).numpy(), np.empty(0))
