"""Views of views that only NumPy can describe lie where each of their elements lies."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from backend_torch.tensors import host_views
from backend_torch.tensors.memory import Layout

STEPS = st.sampled_from([-8, -3, -1, 0, 1, 2, 5])
LENGTHS = st.lists(st.integers(1, 4), min_size=1, max_size=3)


@given(LENGTHS, st.lists(STEPS, min_size=3, max_size=3), st.permutations(range(3)), st.data())
def test_a_view_of_the_copy_is_found_in_what_was_copied(shape: Any, steps: Any, order: Any, data: Any) -> None:
    memory = np.arange(100.0)
    array = np.lib.stride_tricks.as_strided(memory[50:], shape, [8 * step for step in steps[: len(shape)]])
    order = [axis for axis in order if axis < len(shape)]
    back = [order.index(axis) for axis in range(len(shape))]
    copy = torch.empty([shape[axis] for axis in order], dtype=torch.float64).permute(back)
    lengths = data.draw(st.lists(st.integers(1, 3), max_size=3))
    strides = [data.draw(st.integers(0, copy.numel())) for _ in lengths]
    reach = sum(step * (length - 1) for step, length in zip(strides, lengths, strict=True))
    if reach >= copy.numel():
        return
    offset = data.draw(st.integers(0, copy.numel() - 1 - reach))
    copy.copy_(torch.from_numpy(array.copy()))
    view = copy.as_strided(lengths, strides, offset)
    found = host_views.same_view(Layout.of(view, copy), copy, array)
    if found is None:  # two steps along an axis of the view are different steps in memory
        assert any(length > 1 for length in lengths)
    else:
        assert found.tolist() == view.tolist()


@pytest.mark.parametrize("shape", [(2, 3), (3, 2, 2), (4,)])
def test_the_copy_itself_is_the_array(shape: tuple[int, ...]) -> None:
    array = np.flip(np.arange(float(np.prod(shape))).reshape(shape))
    copy = torch.from_numpy(array.copy())
    found = host_views.same_view(Layout.of(copy, copy), copy, array)
    assert found is not None and found.strides == array.strides and found.tolist() == array.tolist()
