"""Jacobians: both directions, whole and by chunks."""

from __future__ import annotations

import torch

from backend_torch.autodiff import autodiff, jacobians

Tensor = torch.Tensor


def test_jacobian_in_both_directions() -> None:
    def function(x: Tensor, y: Tensor) -> list[Tensor]:
        return [torch.outer(x, y), x.sum()]

    tensors = [torch.randn(2, dtype=torch.float64), torch.randn(3, dtype=torch.float64)]
    expected = torch.func.jacrev(lambda *t: tuple(function(*t)), (0, 1))(*tensors)
    results, pullback = autodiff.vjp(function, tensors, lambda: 2)
    values, forward = jacobians.forward(function, tensors, lambda: 2, 2)
    for size in (None, 1, 4):
        reverse = jacobians.reverse(results, pullback, tensors, size)
        for rows in (reverse, forward):
            for row, wanted in zip(rows, expected, strict=True):
                torch.testing.assert_close(tuple(row), wanted)
    torch.testing.assert_close(values[0], results[0])
