"""Slices put in another order, and bits in bytes."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from backend_torch.kernels import padding
from backend_torch.tensors import memory
from backend_torch.tensors.dtypes import to_numpy


@pytest.mark.parametrize("dtype", list(to_numpy))
def test_rearranged(dtype: torch.dtype) -> None:
    tensor = torch.tensor([[1, 0], [0, 1]]).to(dtype)
    assert torch.equal(
        padding.rearranged(tensor, [1, 1, 0], 0).to(torch.float32), torch.tensor([[0.0, 1], [0, 1], [1, 0]])
    )


def test_extended() -> None:
    tensor = torch.tensor([[1, 2, 3]], dtype=torch.uint16)
    assert padding.extended(tensor, [2, 1], [], 1).tolist() == [[3, 2, 1, 2, 3]]


@pytest.mark.parametrize("is_little", [False, True])
def test_bits(is_little: bool) -> None:
    bits = torch.from_numpy(np.random.default_rng(0).integers(0, 2, (3, 16)).astype(bool))
    octets = padding.packed(bits, is_little)
    order = "little" if is_little else "big"
    np.testing.assert_array_equal(octets.numpy(), np.packbits(bits.numpy(), axis=1, bitorder=order))
    np.testing.assert_array_equal(padding.unpacked(octets, is_little).numpy(), bits.numpy())


@pytest.mark.parametrize("hosted", [False, True])
def test_bits_that_fill_no_byte(hosted: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "host_computes", hosted)
    bits = torch.tensor([[True] * 11, [False] * 11])
    np.testing.assert_array_equal(padding.packed(bits, False).numpy(), np.packbits(bits.numpy(), axis=1))
    assert padding.packed(bits[:, :0], True).shape == (2, 0)
