"""Sums over windows and interpolation."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from backend_torch.kernels import signal
from backend_torch.tensors.dtypes import to_numpy

pytestmark = pytest.mark.usefixtures("computed_by")


@pytest.mark.parametrize("dtype", [dtype for dtype in to_numpy if dtype is not torch.bfloat16])
@pytest.mark.parametrize("length", [3, signal.FEW + 8])
def test_correlate(dtype: torch.dtype, length: int) -> None:
    rng = np.random.default_rng(0)
    line = torch.from_numpy(rng.integers(0, 3, 60)).to(dtype)
    window = torch.from_numpy(rng.integers(0, 3, length)).to(dtype)
    expected = np.correlate(line.numpy(), window.numpy(), "full")
    np.testing.assert_array_equal(signal.correlate(line, window, length - 1, length - 1).numpy(), expected)


def test_windows_are_cut_into_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(signal, "BLOCK", 200)
    line, window = torch.arange(100.0), torch.ones(signal.FEW + 1)
    np.testing.assert_allclose(signal.correlate(line, window, 0, 0), np.correlate(line.numpy(), window.numpy()))


def test_interpolate_beside_infinity() -> None:
    inf = float("inf")
    places, values = torch.tensor([0.0, 1.0, inf]), torch.tensor([0.0, 1.0, 1.0])
    x = torch.tensor([-1.0, 0.5, 1.0, 5.0, inf, float("nan")])
    found = signal.interpolate(x, places, values, values[0], values[-1]).numpy()
    np.testing.assert_array_equal(found, np.interp(x.numpy(), places.numpy(), values.numpy()))


def test_interpolated_points_keep_the_sign_of_zero() -> None:
    places, values = torch.arange(5.0), torch.tensor([-0.0, 1.0, -0.0, -1.0, -0.0])
    found = signal.interpolate(places, places, values, values[0], values[-1]).numpy()
    assert np.signbit(found).tolist() == np.signbit(values.numpy()).tolist()
