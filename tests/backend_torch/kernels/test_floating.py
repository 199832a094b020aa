"""Floating point kernels, each loop against NumPy's."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from backend_torch.kernels import floating
from tests.backend_torch.agreement import check, loops

NAMES = ["isnan", "isinf", "isfinite", "signbit", "copysign", "nextafter", "spacing", "modf", "frexp", "ldexp"]


@pytest.mark.parametrize(("name", "loop"), [(name, loop) for name in NAMES for loop in loops(getattr(np, name))])
def test_loop(name: str, loop: str) -> None:
    check(getattr(np, name), getattr(floating, name), loop)


@pytest.mark.parametrize("name", ["spacing", "modf", "frexp"])
def test_every_half(name: str) -> None:
    every = np.arange(2**16, dtype=np.uint16).view(np.float16)
    with np.errstate(all="ignore"):
        expected = getattr(np, name)(every)
    actual = getattr(floating, name).resolve(torch.float16)(torch.from_numpy(every))
    if name == "spacing":
        expected, actual = (expected,), (actual,)
    for one, other in zip(expected, actual, strict=True):
        np.testing.assert_array_equal(other.numpy(), one)
        if one.dtype.kind == "f":
            np.testing.assert_array_equal(np.signbit(other.numpy())[~np.isnan(one)], np.signbit(one)[~np.isnan(one)])


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_ldexp_over_the_whole_range(dtype: str) -> None:
    rng = np.random.default_rng(0)
    x, n = np.meshgrid(
        np.array([1.0, -0.7, 3e-5, 1e4, np.finfo(dtype).tiny * 0.37]).astype(dtype), np.arange(-2300, 2300)
    )
    x = (x * rng.uniform(0.5, 1.0, x.shape)).astype(dtype)
    with np.errstate(all="ignore"):
        expected = np.ldexp(x, n)
    actual = floating.ldexp.resolve(torch.from_numpy(x).dtype, torch.int64)(torch.from_numpy(x), torch.from_numpy(n))
    np.testing.assert_array_equal(actual.numpy(), expected)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_ldexp_broadcasts(dtype: str) -> None:
    x, n = np.array([1.5, -2.0, 3.0], dtype), np.array(3)
    ldexp = floating.ldexp.resolve(torch.float64, torch.int64)
    np.testing.assert_array_equal(ldexp(torch.from_numpy(x), torch.from_numpy(n)).numpy(), np.ldexp(x, n))
    np.testing.assert_array_equal(ldexp(torch.tensor(1.5), torch.tensor([1, 2, 3])).numpy(), np.ldexp(1.5, [1, 2, 3]))


def test_modf_keeps_the_gradient_at_whole_numbers() -> None:
    x = torch.tensor([-2.0, 0.0, 1.5, 3.0], requires_grad=True)
    fraction, _ = floating.modf.resolve(x.dtype)(x)
    fraction.sum().backward()
    assert x.grad is not None and x.grad.tolist() == [1.0] * 4
