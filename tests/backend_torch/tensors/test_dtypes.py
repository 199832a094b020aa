"""Dtypes that torch has few kernels for: views of batches."""

from __future__ import annotations

import pytest
import torch

from backend_torch.tensors import dtypes


@pytest.mark.parametrize("dtype", [torch.int32, torch.int16, torch.int64, torch.uint8])
@pytest.mark.parametrize("axis", [0, 1, -2])
def test_views_of_a_batch(dtype: torch.dtype, axis: int) -> None:
    """By torch's rule, and by that of those that have none."""
    tensor = torch.arange(24, dtype=torch.int32).reshape(2, 3, 4)
    expected = torch.stack([part.contiguous().view(dtype) for part in tensor.unbind(axis)])
    assert torch.vmap(lambda part: part.view(dtype), axis)(tensor).equal(expected)
    viewed, first = dtypes._viewed(None, (axis, None), tensor, dtype)
    assert first == 0 and viewed.equal(expected)
