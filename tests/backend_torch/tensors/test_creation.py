"""Ranges and filled tensors of backend_torch.tensors.creation, against NumPy's arithmetic."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from backend_torch.tensors import creation
from backend_torch.tensors.dtypes import to_numpy

DTYPES = [dtype for dtype in to_numpy if dtype is not torch.bfloat16]
RANGES = [
    (0, 10, 1),
    (3, 50, 7),
    (0.5, 7.3, 0.3),
    (-5, 5, 1),
    (10, -7, -3),
    (0, 300, 1),
    (0, 70000, 10),
    (0, 2, 1),
    (1e10, 1e10 + 5, 0.7),
    (-1e-3, 1e-3, 1e-5),
]


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("arguments", RANGES)
@np.errstate(all="ignore")
def test_arange_has_numpys_bits(dtype: torch.dtype, arguments: tuple[float, float, float]) -> None:
    start, stop, step = arguments
    if dtype.is_complex:
        start += 0.5j
    try:
        expected = np.arange(start, stop, step, dtype=to_numpy[dtype])
        first, second = np.array([start, start + step], dtype=to_numpy[dtype]).tolist()
    except (OverflowError, TypeError):
        return  # NumPy has no such range
    result = creation.arange(len(expected), first, second, dtype, None)
    assert result.dtype is dtype
    np.testing.assert_array_equal(result.numpy(), expected)


def test_integers_wrap_around() -> None:
    limits = np.iinfo(np.int64)
    result = creation.arange(4, limits.max - 1, limits.max, torch.int64, None)
    assert result.tolist() == [limits.max - 1, limits.max, limits.min, limits.min + 1]
    assert creation.arange(4, 2**64 - 2, 2**64 - 1, torch.uint64, None).tolist() == [2**64 - 2, 2**64 - 1, 0, 1]


@pytest.mark.parametrize("dtype", to_numpy, ids=str)
@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("k", [-4, -1, 0, 2, 9])
def test_eye(dtype: torch.dtype, order: str, k: int) -> None:
    matrix = creation.eye(3, 4, k, dtype, None, order)
    assert matrix.dtype is dtype
    assert matrix.stride() == ((4, 1) if order == "C" else (1, 3))
    np.testing.assert_array_equal(matrix.to(torch.complex128).numpy(), np.eye(3, 4, k))


@pytest.mark.parametrize("order", ["C", "F", "A", "K"])
@pytest.mark.parametrize(
    "array",
    [
        np.zeros((2, 3, 4)),
        np.zeros((2, 3, 4), order="F"),
        np.zeros((2, 3, 4)).transpose(1, 0, 2),
        np.zeros((2, 3, 8))[:, :, ::2],
    ],
)
@pytest.mark.parametrize("new", [None, (4, 3, 2), (5, 6)])
def test_like_keeps_numpys_order(array: np.ndarray, order: str, new: tuple[int, ...] | None) -> None:
    expected = np.zeros_like(array, order=order, shape=new)
    result = creation.like(creation.zeros, torch.from_numpy(array), new, torch.float64, None, order)
    assert tuple(result.shape) == expected.shape
    assert tuple(8 * stride for stride in result.stride()) == expected.strides


@pytest.mark.parametrize("ends", [(0.0, 1.0), (3.0, 3.0), (0.0, 5e-324), ([0.0, 1.0], [3.0, 1.0]), (1 + 2j, 3 - 1j)])
@pytest.mark.parametrize("num", [0, 1, 2, 7])
@pytest.mark.parametrize("endpoint", [True, False])
def test_linspace_has_numpys_bits(ends: tuple, num: int, endpoint: bool) -> None:
    expected, step = np.linspace(*ends, num, endpoint, retstep=True)
    tensors = [torch.from_numpy(np.asarray(end, dtype=expected.dtype)) for end in ends]
    samples, delta = creation.linspace(*tensors, num, endpoint, None)
    np.testing.assert_array_equal(samples.numpy(), expected)
    if delta is None:
        assert np.isnan(step)
    else:
        np.testing.assert_array_equal(delta.numpy(), step)


@pytest.mark.parametrize("ends", [(1.0, 1000.0), (-1.0, -1000.0), (1j, 1000j), ([1.0, 2.0], [100.0, 3.0])])
@pytest.mark.parametrize("num", [0, 1, 4])
@pytest.mark.parametrize("endpoint", [True, False])
def test_geomspace(ends: tuple, num: int, endpoint: bool) -> None:
    expected = np.geomspace(*ends, num, endpoint)
    tensors = [torch.from_numpy(np.asarray(end, dtype=expected.dtype)) for end in ends]
    np.testing.assert_allclose(creation.geomspace(*tensors, num, endpoint, None).numpy(), expected, rtol=1e-14)


def test_linspace_batches_and_differentiates() -> None:
    ends = torch.tensor([0.0, 1.0], dtype=torch.float64)
    stop = torch.tensor(2.0, dtype=torch.float64)

    def samples(start: torch.Tensor) -> torch.Tensor:
        return creation.linspace(start, stop, 5, True, None)[0]

    np.testing.assert_array_equal(torch.vmap(samples)(ends).numpy().T, np.linspace(ends.numpy(), 2.0, 5))
    assert torch.autograd.gradcheck(samples, (ends.requires_grad_(),))
