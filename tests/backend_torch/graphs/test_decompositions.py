"""A decomposition computes what torch's operation does, for each dtype that it takes."""

from __future__ import annotations

import pytest
import torch

from backend_torch.graphs.decompositions import TABLE

aten = torch.ops.aten
VALUES = [0.0, -0.0, 1.0, -2.0, float("inf"), float("-inf"), float("nan"), 0.5]


@pytest.mark.parametrize("dtype", [torch.bool, torch.uint8, torch.int64, torch.float16, torch.float64, torch.complex64])
def test_logic_of_numbers(dtype: torch.dtype) -> None:
    x = torch.tensor(VALUES).nan_to_num(3, 4, 5).to(dtype) if dtype in (torch.uint8, torch.int64) else None
    x = torch.tensor(VALUES, dtype=dtype) if x is None else x
    other = torch.tensor([True, False]).repeat(4)
    for name in ("logical_and", "logical_or", "logical_xor"):
        operation = getattr(aten, name).default
        for y in (x.flip(0), other, torch.tensor(1.0), x[:, None]):
            found = TABLE[operation](x, y)
            if found is NotImplemented:
                assert dtype is y.dtype is torch.bool
            else:
                torch.testing.assert_close(found, operation(x, y), rtol=0, atol=0)
    for name in ("isnan", "isinf"):
        answer = TABLE[getattr(aten, name).default](x)
        assert torch.equal(answer, getattr(torch, name)(x)) if dtype.is_floating_point else answer is NotImplemented
    found = TABLE[aten.logical_not.default](x)
    assert found is NotImplemented if dtype is torch.bool else torch.equal(found, ~x.bool())
    product = TABLE[aten.mul.Tensor](x, other)
    assert torch.equal(product, x & other) if dtype is torch.bool else product is NotImplemented
