"""Kernels of selection: flat positions, masks and diagonals of tensors in any memory order."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from backend_torch.kernels import selection
from backend_torch.tensors.dtypes import to_torch

pytestmark = pytest.mark.usefixtures("computed_by")

DTYPES = [dtype for dtype in to_torch.values() if dtype is not torch.bfloat16]


def matrix(dtype: torch.dtype) -> torch.Tensor:
    """A matrix that is not contiguous."""
    return torch.arange(12).reshape(4, 3).to(dtype).T


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_writing(dtype: torch.dtype) -> None:
    tensor = matrix(dtype)
    expected = tensor.numpy().copy()
    values = torch.tensor([1, 0, 1]).to(dtype)
    mask = torch.arange(12).reshape(3, 4) % 5 == 0
    selection.put_flat(tensor, torch.tensor([0, -1, 0]), values)
    np.put(expected, [0, -1, 0], values.numpy())
    np.testing.assert_array_equal(tensor.numpy(), expected)
    selection.put_cycled(tensor, mask, values)
    np.putmask(expected, mask.numpy(), values.numpy())
    np.testing.assert_array_equal(tensor.numpy(), expected)
    selection.place(tensor, ~mask, values)
    np.place(expected, ~mask.numpy(), values.numpy())
    np.testing.assert_array_equal(tensor.numpy(), expected)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_reading(dtype: torch.dtype) -> None:
    tensor = matrix(dtype)
    array = tensor.numpy()
    mask = torch.tensor([1.0, 0.0, 2.0, 0.0])
    for mine, theirs in [
        (selection.where(mask, tensor, tensor[:1]), np.where(mask.numpy(), array, array[:1])),
        (selection.tril(tensor, -1), np.tril(array, -1)),
        (selection.triu(tensor, 1), np.triu(array, 1)),
        (selection.diagonal_matrix(tensor[0], 1), np.diag(array[0], 1)),
        (selection.diagonal(tensor, 1, 0, 1), np.diagonal(array, 1)),
        (selection.triangle(3, 4, 1, dtype, None), np.tri(3, 4, 1, dtype=array.dtype)),
        (selection.along(tensor, torch.tensor([[0, -1]]), 1), np.take_along_axis(array, np.array([[0, -1]]), 1)),
        (selection.argwhere(tensor), np.argwhere(array)),
    ]:
        np.testing.assert_array_equal(mine.numpy(), theirs)
        assert mine.numpy().dtype == theirs.dtype


def test_main_diagonal_is_a_view() -> None:
    tensor = torch.zeros(3, 3, 3)
    selection.main_diagonal(tensor).fill_(1)
    assert torch.nonzero(tensor).tolist() == [[i, i, i] for i in range(3)]


def test_flat_positions() -> None:
    positions = torch.arange(24)
    arrays = selection.unravel(positions, (2, 3, 4))
    assert selection.ravel(list(arrays), (2, 3, 4)).equal(positions)
    assert selection.from_start(torch.tensor([-1, 2]), 3).tolist() == [2, 2]
    assert selection.wrapped(torch.tensor([-4, 7]), 3).tolist() == [2, 1]
    assert selection.clipped(torch.tensor([-4, 7]), 3).tolist() == [0, 2]
    assert selection.cycled(torch.tensor([5, 6]), 5).tolist() == [5, 6, 5, 6, 5]


@pytest.mark.parametrize(("values", "outside"), [([0, 2], None), ([0, -1], -1), ([3], 3), ([], None)])
def test_outside(values: list[int], outside: int | None) -> None:
    assert selection.outside(torch.tensor(values, dtype=torch.int64), 0, 3) == outside
