"""Joining and selecting: memory orders, views, and the dtypes that torch leaves out."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from backend_torch.kernels import joining
from backend_torch.tensors.dtypes import to_torch


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("orders", ["CC", "FF", "CF", "FC"])
def test_concatenate_is_in_fortran_order_if_all_are(orders: str, axis: int) -> None:
    arrays = [np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], order=order) for order in orders]
    expected = np.concatenate(arrays, axis)
    result = joining.concatenate([torch.from_numpy(array) for array in arrays], axis).numpy()
    np.testing.assert_array_equal(result, expected)
    assert result.flags.f_contiguous == (orders == "FF")


@pytest.mark.parametrize("dtype", to_torch.values(), ids=str)
def test_selecting_knows_every_dtype(dtype: torch.dtype) -> None:
    tensor = torch.arange(6).reshape(2, 3).remainder(2).to(dtype)
    values = tensor.to(torch.float64).numpy()
    for result, expected in [
        (joining.select(tensor, np.array([2, 0]), 1), values[:, [2, 0]]),
        (joining.repeat(tensor, 2, 0), values.repeat(2, 0)),
        (joining.repeat(tensor, torch.tensor([0, 3, 1]), 1), values.repeat([0, 3, 1], 1)),
        (joining.tile(tensor, (2, 2)), np.tile(values, (2, 2))),
        (joining.insert(tensor, tensor[:1], np.array([2, 0, 1]), 0), values[[0, 0, 1]]),
    ]:
        assert result.dtype is dtype
        np.testing.assert_array_equal(result.to(torch.float64).numpy(), expected)


def test_slices_are_views() -> None:
    tensor = torch.zeros(5, 2)
    parts = joining.slices(tensor, [0, 2, 1, 9], 0)
    assert [len(part) for part in parts] == [2, 0, 4]
    parts[0].fill_(1)
    assert tensor.sum() == 4


def test_selecting_batches_and_differentiates() -> None:
    rows = torch.arange(6.0, dtype=torch.float64).reshape(2, 3)
    order = np.array([2, 2, 0])
    for tensor in (rows, rows.to(torch.uint32)):
        assert torch.vmap(lambda row: joining.select(row, order, 0))(tensor).tolist() == rows[:, order].tolist()
    assert torch.autograd.gradcheck(lambda x: joining.repeat(x, torch.tensor([1, 2]), 0), (rows.requires_grad_(),))
