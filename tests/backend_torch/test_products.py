"""Product kernels: exact integers without torch's integer kernels, gradients, and tracing."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from backend_torch import products
from backend_torch.dtypes import to_numpy

INTEGERS = [torch.uint8, torch.int8, torch.int16, torch.uint16, torch.int32, torch.uint32, torch.int64, torch.uint64]


def drawn(dtype: torch.dtype, shape: tuple[int, ...], seed: int) -> np.ndarray:
    """Integers over the whole range of their dtype."""
    limits = np.iinfo(to_numpy[dtype])
    return np.random.default_rng(seed).integers(limits.min, limits.max, shape, dtype=to_numpy[dtype], endpoint=True)


@pytest.mark.parametrize("terms", [5, 1 << 22])
@pytest.mark.parametrize("dtype", [torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64])
def test_limbs_are_exact(dtype: torch.dtype, terms: int) -> None:
    one, other = drawn(dtype, (4, 5), 0), drawn(dtype, (5, 3), 1)
    result = products.in_limbs(torch.matmul, torch.from_numpy(one), torch.from_numpy(other), terms)
    assert result.dtype is dtype
    np.testing.assert_array_equal(result.numpy(), one @ other)


def test_limbs_are_exact_for_long_sums() -> None:
    one, other = drawn(torch.int64, (1, 100_000), 0), drawn(torch.int64, (100_000, 1), 1)
    result = products.in_limbs(torch.matmul, torch.from_numpy(one), torch.from_numpy(other), 100_000)
    np.testing.assert_array_equal(result.numpy(), one @ other)


@pytest.mark.parametrize("dtype", INTEGERS)
def test_integer_products(dtype: torch.dtype) -> None:
    one, other = drawn(dtype, (2, 4, 5), 0), drawn(dtype, (5, 3), 1)
    left, right = torch.from_numpy(one), torch.from_numpy(other)
    np.testing.assert_array_equal(products.matmul.resolve(dtype, dtype)(left, right).numpy(), one @ other)
    np.testing.assert_array_equal(products.contract(left, right, [2], [0]).numpy(), np.tensordot(one, other, 1))
    np.testing.assert_array_equal(
        products.einsum(["aij", "jk"], "ki", [left, right]).numpy(), np.einsum("aij,jk->ki", one, other)
    )


def test_booleans_do_not_lose_a_true() -> None:
    one = torch.zeros(1, 1 << 20, dtype=torch.bool)
    one[0, -1] = True
    assert products.matmul.resolve(torch.bool)(one, torch.ones(1 << 20, 1, dtype=torch.bool)).item() is True


@pytest.mark.parametrize("name", ["matmul", "matvec", "vecmat", "vecdot"])
@pytest.mark.parametrize("dtype", [torch.float64, torch.complex128])
def test_gradients(name: str, dtype: torch.dtype) -> None:
    shapes = {"matmul": ((2, 3), (3, 2)), "matvec": ((2, 3), (3,)), "vecmat": ((3,), (3, 2)), "vecdot": ((2, 3), (3,))}
    operands = [torch.randn(shape, dtype=dtype, requires_grad=True) for shape in shapes[name]]
    assert torch.autograd.gradcheck(getattr(products, name).resolve(dtype, dtype), operands)


def test_vmap() -> None:
    x, y = torch.randint(9, (4, 2, 3)), torch.randint(9, (4, 3, 2))
    for dtype in (torch.float32, torch.int64, torch.bool, torch.uint16):
        one, other = x.to(dtype), y.to(dtype)
        product = products.matmul.resolve(dtype, dtype)
        assert torch.equal(torch.vmap(product)(one, other).to(torch.int64), product(one, other).to(torch.int64))


def test_contract_and_einsum_without_values() -> None:
    x, y = torch.empty(2, 3, 4, device="meta"), torch.empty(4, 3, device="meta", dtype=torch.float32)
    assert products.contract(x, y, [2, 1], [0, 1]).shape == (2,)
    integers = [
        torch.empty(2, 3, device="meta", dtype=torch.int32),
        torch.empty(3, 4, device="meta", dtype=torch.int32),
    ]
    result = products.einsum(["ij", "jk"], "ik", integers)
    assert result.shape == (2, 4) and result.dtype is torch.int32
