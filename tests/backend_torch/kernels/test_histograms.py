"""Bins of values and counts of indices."""

from __future__ import annotations

import pytest
import torch

from backend_torch.kernels import histograms
from backend_torch.tensors import memory


def test_bins_hold_their_lower_edge_and_the_last_its_upper_one() -> None:
    edges = torch.tensor([0.0, 1.0, 2.0])
    values = torch.tensor([-1.0, 0.0, 0.5, 1.0, 2.0, 3.0, float("nan")])
    assert histograms.bins(values, edges).tolist() == [0, 1, 1, 2, 2, 3, 3]


def test_counted_with_and_without_values() -> None:
    indices = torch.tensor([0, 2, 2])
    expected = [1, 0, 2, 0]
    assert histograms.counted(indices, None, 4).tolist() == expected
    batched = torch.vmap(lambda row: histograms.counted(row, None, 4))(indices[None])
    assert batched.tolist() == [expected]


def test_weights_of_any_kind() -> None:
    indices = torch.tensor([0, 2, 2])
    for dtype in (torch.float64, torch.complex128):
        weights = torch.tensor([1.0, 2.0, 3.0], dtype=dtype)
        assert histograms.counted(indices, weights, 3).real.tolist() == [1.0, 0.0, 5.0]


@pytest.mark.parametrize("dtype", [torch.float32, torch.int16, torch.uint32])
def test_counts_of_sorted_values_are_those_of_bins(dtype: torch.dtype, monkeypatch: pytest.MonkeyPatch) -> None:
    values = torch.tensor([9, 0, 1, 1, 2, 5, 3, 3, 3, 7], dtype=dtype)
    if dtype.is_floating_point:
        values[-1] = float("nan")
    edges = torch.tensor([1, 2, 3, 3, 5], dtype=dtype)
    by_place = histograms.histogram(values, edges, None, dtype)
    monkeypatch.setattr(memory, "host_computes", False)
    assert by_place.tolist() == histograms.histogram(values, edges, None, dtype).tolist() == [2, 1, 0, 4]


def test_direction() -> None:
    assert [histograms.direction(torch.tensor(line)) for line in ([1, 2, 2], [2, 1], [1, 3, 2])] == [1, -1, 0]
