"""Product kernels: exact integers without torch's integer kernels, gradients, and tracing."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import torch

import tnp
from backend_torch.graphs import compiling
from backend_torch.kernels import products
from backend_torch.tensors import devices
from backend_torch.tensors.dtypes import to_numpy

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


# Large products of float32, which are oneDNN's on some machines.


def _layouts() -> list[tuple[torch.Tensor, torch.Tensor]]:
    generator = torch.Generator().manual_seed(0)
    one, other = torch.randn(300, 260, generator=generator), torch.randn(260, 310, generator=generator)
    wide = torch.randn(600, 520, generator=generator)
    return [
        (one, other),
        (one.mT.contiguous().mT, other),
        (one, other.mT.contiguous().mT),
        (wide[::2, ::2], other),
        (one[:, :1].expand(300, 260), other),
        (torch.complex(one, one).conj().imag, other),
    ]


@pytest.mark.parametrize("layout", range(6))
def test_large_float32_products(layout: int) -> None:
    one, other = _layouts()[layout]
    result = products._float32_matmul(one, other)
    torch.testing.assert_close(result, one @ other, rtol=1e-4, atol=1e-4)
    assert result.is_contiguous()


def test_gradients_of_large_float32_products() -> None:
    one, other = _layouts()[0]

    def gradients(product: products.Bilinear) -> list[torch.Tensor]:
        a, b = one.clone().requires_grad_(), other.clone().requires_grad_()
        first = torch.autograd.grad(product(a, b).sin().sum(), [a, b], create_graph=True)
        second = torch.autograd.grad(first[0].square().sum() + first[1].sum(), [a, b])
        return [*first, *second]

    for result, expected in zip(gradients(products._float32_matmul), gradients(torch.matmul), strict=True):
        torch.testing.assert_close(result, expected, rtol=1e-3, atol=0.5)


def test_large_float32_products_under_transforms() -> None:
    one, other = _layouts()[0]
    batched = torch.func.vmap(products._float32_matmul, (0, None))(torch.stack([one, one]), other)
    torch.testing.assert_close(batched[1], one @ other)
    slopes = torch.func.grad(lambda a: products._float32_matmul(a, other).sum())(one)
    torch.testing.assert_close(slopes, other.sum(1).expand(300, 260), rtol=1e-4, atol=1e-4)


def test_shapes_that_do_not_match() -> None:
    one, other = _layouts()[0]
    with pytest.raises(RuntimeError, match="cannot be multiplied"):
        products._float32_matmul(one, other.mT)


@pytest.mark.parametrize("vendor", ["GenuineIntel", "AuthenticAMD", None])
def test_whose_products_they_are(vendor: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(devices, "cpu_fact", lambda name: vendor)
    assert products.prefers_onednn.__wrapped__() in ([False] if vendor != "AuthenticAMD" else [True, False])


def test_compiled_large_products(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(products, "prefers_onednn", lambda: True)
    one, other = _layouts()[0]
    graph = compiling.trace(lambda tensors: [tensors[0] @ tensors[1] + 1], [one, other])
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        (result,) = compiling.Executable(graph).program([one, other])([one, other])
    torch.testing.assert_close(result, one @ other + 1, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("is_left", [True, False])
def test_compiled_products_with_the_own_transpose(dtype: str, is_left: bool) -> None:
    """A half of the product is computed, as in eager code: both have the same bits, and the product is symmetric."""
    x = tnp.asarray(np.random.default_rng(0).random((300, 290)), dtype)
    own = (lambda x: (x + 1).T @ (x + 1)) if is_left else (lambda x: (x + 1) @ (x + 1).T)
    result = tnp.compile(lambda x: own(x) * 2)(x)
    assert tnp.array_equal(result, own(x) * 2)
    assert tnp.array_equal(result, result.T)
    gradient = tnp.compile(tnp.grad(lambda x: tnp.sum(own(x) ** 2)))(x)
    assert tnp.allclose(gradient, tnp.grad(lambda x: tnp.sum(own(x) ** 2))(x), rtol=1e-3)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.complex64, torch.int64])
def test_compiled_products_with_a_vector(dtype: torch.dtype) -> None:
    """Of floats NumPy computes them, with matrices in any order; others are torch's."""
    matrix = torch.arange(2.0**17).remainder(11).reshape(256, 512).to(dtype)
    tall, wide = torch.arange(512.0).remainder(7).to(dtype), torch.arange(256.0).remainder(5).to(dtype)

    def function(tensors: list[torch.Tensor]) -> list[torch.Tensor]:
        m, v, w = tensors
        return [m @ v, w @ m, m.mT @ w + v, v @ m.mT]

    given = [matrix, tall, wide]
    results = compiling.Executable(compiling.trace(function, given)).program(given)(list(given))
    for found, expected in zip(results, function(given), strict=True):
        torch.testing.assert_close(found, expected)
        assert found.stride() == expected.stride()
