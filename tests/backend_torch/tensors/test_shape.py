"""Views, copies and memory orders of backend_torch.tensors.shape, against NumPy's."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from backend_torch.tensors import shape
from backend_torch.tensors.dtypes import to_torch

LAYOUTS = {
    "C": np.arange(24).reshape(2, 3, 4),
    "F": np.arange(24).reshape((2, 3, 4), order="F"),
    "swapped": np.arange(24).reshape(2, 3, 4).transpose(1, 0, 2),
    "strided": np.arange(48).reshape(2, 3, 8)[:, :, ::2],
    "broadcast rows": np.broadcast_to(np.arange(4), (6, 4)),
    "broadcast columns": np.broadcast_to(np.arange(6)[:, None], (6, 4)),
    "vector": np.arange(48)[::2],
    "scalar": np.array(3),
    "empty": np.zeros((0, 3)),
    "ones": np.arange(24).reshape(1, 24, 1),
}


@pytest.fixture(params=LAYOUTS)
def array(request: pytest.FixtureRequest) -> np.ndarray:
    layout = LAYOUTS[request.param]
    return np.lib.stride_tricks.as_strided(layout, layout.shape, layout.strides, writeable=True)


@pytest.mark.parametrize("order", ["C", "F", "A", "K"])
def test_ravel_is_a_view_where_numpy_has_one(array: np.ndarray, order: str) -> None:
    expected, result = array.ravel(order), shape.ravel(torch.from_numpy(array), order).numpy()
    np.testing.assert_array_equal(result, expected)
    assert np.shares_memory(result, array) == np.shares_memory(expected, array)


@pytest.mark.parametrize("order", ["C", "F", "A"])
@pytest.mark.parametrize("new", [(4, 6), (24,), (6, 4), (2, 12), (3, 8), (12, 2), (2, 3, 4), (4, 3, 2)])
def test_reshape_is_a_view_where_numpy_has_one(array: np.ndarray, new: tuple[int, ...], order: str) -> None:
    tensor = torch.from_numpy(array)
    if math.prod(new) != array.size:
        with pytest.raises(RuntimeError, match="invalid for input of size"):
            shape.reshape(tensor, new, order)
        return
    expected, result = array.reshape(new, order=order), shape.reshape(tensor, new, order).numpy()
    np.testing.assert_array_equal(result, expected)
    shared = np.shares_memory(expected, array)
    assert np.shares_memory(result, array) == shared
    if shared:
        assert np.shares_memory(shape.reshape_view(tensor, new, order).numpy(), array)
    else:
        with pytest.raises(RuntimeError):
            shape.reshape_view(tensor, new, order)


@pytest.mark.parametrize("dtype", to_torch.values(), ids=str)
@pytest.mark.parametrize("axes", [(), (0,), (1,), (0, 1)])
def test_flip_knows_every_dtype(dtype: torch.dtype, axes: tuple[int, ...]) -> None:
    values = np.arange(6).reshape(2, 3) % 2
    flipped = shape.flip(torch.from_numpy(values).to(dtype), axes)
    assert flipped.dtype is dtype
    np.testing.assert_array_equal(flipped.to(torch.complex128).numpy(), np.flip(values, axes))


@pytest.mark.parametrize("turns", range(-5, 6))
def test_rot90(turns: int) -> None:
    values = np.arange(24).reshape(2, 3, 4)
    result = shape.rot90(torch.from_numpy(values), turns, 2, 0)
    np.testing.assert_array_equal(result.numpy(), np.rot90(values, turns, (2, 0)))


def test_inverse_undoes_a_permutation() -> None:
    tensor = torch.empty(2, 3, 4, 5)
    assert tensor.permute(2, 0, 3, 1).permute(shape.inverse((2, 0, 3, 1))).shape == tensor.shape


def test_flip_batches_and_differentiates() -> None:
    rows = torch.arange(6.0, dtype=torch.float64).reshape(2, 3)
    assert torch.equal(torch.vmap(lambda row: shape.flip(row, (0,)))(rows), rows.flip(1))
    unsigned = rows.to(torch.uint16)
    assert torch.vmap(lambda row: shape.flip(row, (0,)))(unsigned).tolist() == rows.flip(1).tolist()
    assert torch.autograd.gradcheck(lambda x: shape.ravel(shape.flip(x, (0,)), "F"), (rows.requires_grad_(),))
