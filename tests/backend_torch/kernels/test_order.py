"""The order that torch is given is NumPy's."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from backend_torch.kernels import order
from backend_torch.tensors.dtypes import to_torch

SPECIAL = [0.0, 1.0, -1.0, np.inf, -np.inf, np.nan]


@pytest.mark.parametrize("dtype", [np.bool_, np.uint8, np.uint16, np.uint32, np.uint64, np.int8, np.float16])
def test_ordered_keeps_the_order_and_is_undone(dtype: type) -> None:
    info = np.iinfo(dtype) if np.dtype(dtype).kind in "iu" else None
    values = np.array([0, 1] if info is None else [info.min, 1, info.max // 2, info.max // 2 + 1, info.max], dtype)
    mapped = order.ordered(torch.from_numpy(values))
    assert bool((mapped[1:] > mapped[:-1]).all())
    restored = order.restored(mapped, to_torch[values.dtype])
    assert restored.dtype is to_torch[values.dtype]
    np.testing.assert_array_equal(restored.numpy(), values)


@pytest.mark.parametrize("dtype", [np.uint64, np.float32, np.complex64])
def test_precedes_is_the_order_of_a_sort(dtype: type) -> None:
    if dtype is np.complex64:
        values = np.array([complex(a, b) for a in SPECIAL for b in SPECIAL], dtype)
    else:
        values = np.array(SPECIAL if dtype is np.float32 else [3, 2**63, 0, 2**64 - 1], dtype)
    line = np.sort(values)
    before = order.precedes(torch.from_numpy(line)[:, None], torch.from_numpy(line)[None, :]).numpy()
    np.testing.assert_array_equal(before, np.triu(np.ones((len(line), len(line)), bool), 1))
