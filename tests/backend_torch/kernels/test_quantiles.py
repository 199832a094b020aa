"""Elements at places of sorted lanes, and between them."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from backend_torch.kernels import quantiles
from backend_torch.tensors.dtypes import to_numpy

pytestmark = pytest.mark.usefixtures("computed_by")


@pytest.mark.parametrize("dtype", [dtype for dtype in to_numpy if not dtype.is_complex and dtype is not torch.bool])
def test_places(dtype: torch.dtype) -> None:
    lanes = torch.tensor([[5, 1, 4], [2, 9, 3]]).to(dtype)
    arranged = quantiles.arranged(lanes, [1])
    assert quantiles.at(arranged, np.array([1])).to(torch.float64).tolist() == [[4.0], [3.0]]
    each = quantiles.at_each(quantiles.arranged(lanes, [0, 1, 2]), torch.tensor([[0], [2]]))
    assert each.to(torch.float64).tolist() == [[1.0], [9.0]]


def test_many_places_are_sorted_once(monkeypatch: pytest.MonkeyPatch) -> None:
    lanes = torch.rand(3, 40)
    monkeypatch.setattr(quantiles.sorting, "partition", None)  # it looks at each element once for each place
    assert torch.equal(quantiles.arranged(lanes, range(40)), lanes.sort().values)


def test_between_is_exact_at_both_ends() -> None:
    low, high = torch.tensor([0.1]), torch.tensor([0.7])
    for weight, expected in ((0.0, low), (1.0, high)):
        assert torch.equal(quantiles.between(low, high, torch.tensor(weight), torch.float32), expected)


def test_between_integers_far_apart() -> None:
    low, high = torch.tensor([-128], dtype=torch.int8), torch.tensor([127], dtype=torch.int8)
    with np.errstate(over="ignore"):
        expected = np.quantile(np.array([-128, 127], "int8"), 0.5)  # by a difference that wraps round
    assert quantiles.between(low, high, torch.tensor(0.5), torch.float64).tolist() == [expected]


def test_weights_that_do_not_add_up() -> None:
    lanes = torch.tensor([[1.0, 2.0]])
    assert quantiles.weighted(lanes, torch.zeros(1, 2), torch.tensor([0.5]), False) is None
