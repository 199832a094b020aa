"""Transforms: what stands in where torch's own leave something out."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from backend_torch.kernels import fft


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.uint16, torch.bool, torch.int64])
def test_dtypes_without_a_transform(dtype: torch.dtype) -> None:
    x = torch.tensor([1, 0, 1, 1]).to(dtype)
    wanted = torch.complex64 if dtype.is_floating_point else torch.complex128
    result = fft.fft(x, (4,), (0,), None)
    assert result.dtype is wanted
    np.testing.assert_allclose(result.numpy(), np.fft.fft([1, 0, 1, 1]))


@pytest.mark.parametrize("length", [1, 2, 5, 6, 8, 9])
@pytest.mark.parametrize("axis", [0, 1, -1])
def test_hermitian_drops_what_the_transform_ignores(length: int, axis: int) -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(4, 5)) + 1j * rng.normal(size=(4, 5))
    clean = fft.hermitian(torch.from_numpy(x), length, axis)
    expected = np.fft.irfft(x, length, axis)
    np.testing.assert_allclose(np.fft.irfft(clean.numpy(), length, axis), expected, atol=1e-14)
    first = clean.select(axis, 0)
    assert not bool(first.imag.any()) and torch.equal(first.real, torch.from_numpy(x).select(axis, 0).real)
    if length == 6 and axis == 0:
        assert not bool(clean[3].imag.any()) and bool(clean[1].imag.all())


def test_hermitian_has_a_gradient() -> None:
    x = torch.complex(torch.rand(4, dtype=torch.float64), torch.rand(4, dtype=torch.float64)).requires_grad_()
    assert torch.autograd.gradcheck(lambda x: torch.fft.irfft(fft.hermitian(x, 6, 0), 6), [x])


def test_repeated_axes_go_one_by_one() -> None:
    x = np.random.default_rng(0).normal(size=(3, 4))
    result = fft.fft(torch.from_numpy(x), (5, 4), (1, 1), None)
    np.testing.assert_allclose(result.numpy(), np.fft.fftn(x, (5, 4), (1, 1)), atol=1e-12)
