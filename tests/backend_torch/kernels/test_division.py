"""Kernels of division with a remainder, each loop against NumPy's."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from backend_torch.kernels import division
from tests.backend_torch.agreement import check, loops

NAMES = ["floor_divide", "remainder", "fmod", "divmod", "gcd", "lcm"]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", ["remainder", "fmod"])
def test_by_subnormal_numbers(name: str, dtype: Any) -> None:
    info = np.finfo(dtype)
    least = info.smallest_subnormal
    x, y = np.meshgrid(
        np.array([info.max, -info.max, info.max / 3, 1e30, 1, info.tiny, least * 7], dtype),
        np.array([least, -least, least * 3, info.tiny / 3, info.tiny, info.tiny * 1.5, 1e-30, 0.3, 3, info.max], dtype),
    )
    x, y = np.repeat(x, 16), np.repeat(y, 16)  # whole vectors of each
    tensors = [torch.tensor(values, requires_grad=True) for values in (x, y)]  # which torch computes, not NumPy
    actual = getattr(division, name).resolve(tensors[0].dtype, tensors[1].dtype)(*tensors)
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(actual.detach().numpy(), getattr(np, name)(x, y))


@pytest.mark.parametrize(("name", "loop"), [(name, loop) for name in NAMES for loop in loops(getattr(np, name))])
def test_loop(name: str, loop: str) -> None:
    check(getattr(np, name), getattr(division, name), loop)


@pytest.mark.parametrize("name", NAMES)
@given(x=st.integers(0, 2**64 - 1), y=st.integers(0, 2**64 - 1), shift=st.integers(0, 63))
def test_uint64(name: str, x: int, y: int, shift: int) -> None:
    arrays = np.array([x], np.uint64), np.array([y >> shift], np.uint64)
    with np.errstate(all="ignore"):
        expected = getattr(np, name)(*arrays)
    actual = getattr(division, name).resolve(torch.uint64, torch.uint64)(*map(torch.from_numpy, arrays))
    for one, other in zip(*[r if isinstance(r, tuple) else (r,) for r in (expected, actual)], strict=True):
        assert other.numpy() == one


@pytest.mark.parametrize("number", [1, 3, 7, -1, -3, 0, 2.0, 0.25, -0.5, -2.5, 0.0, -0.0, np.inf, -np.inf, np.nan])
@pytest.mark.parametrize("dtype", ["int8", "uint8", "uint16", "uint64", "int64", "float16", "float32", "float64"])
@pytest.mark.parametrize("name", ["floor_divide", "remainder"])
def test_by_a_number(name: str, dtype: str, number: float) -> None:
    info = np.iinfo(dtype) if np.dtype(dtype).kind in "iu" else np.finfo(dtype)
    if np.dtype(dtype).kind in "iu" and not (isinstance(number, int) and info.min <= number):
        return
    x = np.array(
        [0, 1, 2, 5, 100, info.max, info.min, *([-0.0, 0.5, -1, np.inf] * (np.dtype(dtype).kind == "f"))], dtype
    )
    number = np.dtype(dtype).type(number).item()
    with np.errstate(all="ignore"):
        expected = getattr(np, name)(x, number)
    actual = getattr(division, name).scalar_right(torch.from_numpy(x), number).numpy()
    assert actual.dtype == expected.dtype
    np.testing.assert_array_equal(actual, expected)
    if np.dtype(dtype).kind == "f":
        number_at = ~np.isnan(expected)
        np.testing.assert_array_equal(np.signbit(actual)[number_at], np.signbit(expected)[number_at])


@pytest.mark.parametrize("name", ["remainder", "fmod"])
def test_gradient_where_the_remainder_is_zero(name: str) -> None:
    x = torch.tensor([4.0, 5.0, -6.0, 0.0], requires_grad=True)
    y = torch.tensor([2.0, -3.0, 0.5, 3.0], requires_grad=True)
    getattr(division, name).resolve(x.dtype, y.dtype)(x, y).sum().backward()
    assert x.grad is not None and x.grad.tolist() == [1.0] * 4
    rule = np.floor if name == "remainder" else np.trunc
    assert (
        y.grad is not None
        and y.grad.tolist() == (-rule(np.array([4.0, 5.0, -6.0, 0.0]) / [2.0, -3.0, 0.5, 3.0])).tolist()
    )
