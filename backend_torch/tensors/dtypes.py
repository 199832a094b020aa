"""torch's dtypes and NumPy's, each mapped to the other.

Layer: owns the dtypes that a tensor can carry, and those that torch's kernels lack. Promotion is tnp's.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from backend_torch.torch_private.operators import BATCHES_VIEWS_OF_BITS

to_numpy: dict[torch.dtype, np.dtype] = {
    torch.bool: np.dtype(np.bool_),
    torch.uint8: np.dtype(np.uint8),
    torch.uint16: np.dtype(np.uint16),
    torch.uint32: np.dtype(np.uint32),
    torch.uint64: np.dtype(np.uint64),
    torch.int8: np.dtype(np.int8),
    torch.int16: np.dtype(np.int16),
    torch.int32: np.dtype(np.int32),
    torch.int64: np.dtype(np.int64),
    torch.float16: np.dtype(np.float16),
    torch.float32: np.dtype(np.float32),
    torch.float64: np.dtype(np.float64),
    torch.complex64: np.dtype(np.complex64),
    torch.complex128: np.dtype(np.complex128),
}
"""The NumPy dtype of each torch dtype that a tnp array may have."""

to_torch: dict[np.dtype, torch.dtype] = {numpy_dtype: torch_dtype for torch_dtype, numpy_dtype in to_numpy.items()}
"""The torch dtype of each NumPy dtype that a tensor can carry. C's ``long long`` is int64 under another letter."""

try:
    import ml_dtypes
except ImportError:
    pass
else:
    to_numpy[torch.bfloat16] = np.dtype(ml_dtypes.bfloat16)
    to_torch[np.dtype(ml_dtypes.bfloat16)] = torch.bfloat16

# torch stores these three but has few kernels for them (https://github.com/pytorch/pytorch/issues/58734).
# A kernel works on the signed type of the same width, through a view, if only bits move or two's complement gives the
# same result; if the value matters, it works on a wider type.
SIGNED: dict[torch.dtype, torch.dtype] = {
    torch.uint16: torch.int16,
    torch.uint32: torch.int32,
    torch.uint64: torch.int64,
}
WIDER: dict[torch.dtype, torch.dtype] = {torch.uint16: torch.int32, torch.uint32: torch.int64}

REAL_OF: dict[torch.dtype, torch.dtype] = {torch.complex64: torch.float32, torch.complex128: torch.float64}
"""The dtype of each complex dtype's parts."""


def _viewed(
    info: Any, batched: tuple[int | None, ...], tensor: torch.Tensor, dtype: torch.dtype
) -> tuple[torch.Tensor, int]:
    """``tensor.view(dtype)`` of every slice: the batch axis goes first, because the last axis may change its size."""
    return tensor.movedim(batched[0] or 0, 0).view(dtype), 0


if not BATCHES_VIEWS_OF_BITS:
    torch.library.register_vmap("aten::view.dtype", _viewed)  # torch 2.13 has its own rule
