"""torch's dtypes and NumPy's, each mapped to the other.

Layer: owns the dtypes that a tensor can carry, and those that torch's kernels lack. Promotion is tnp's.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from backend_torch.torch_private.operators import BATCHES_VIEWS_OF_BITS

_NAMES = "bool uint8 uint16 uint32 uint64 int8 int16 int32 int64 float16 float32 float64 complex64 complex128"
to_numpy: dict[torch.dtype, np.dtype] = {getattr(torch, name): np.dtype(name) for name in _NAMES.split()}
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
SIGNED = {torch.uint16: torch.int16, torch.uint32: torch.int32, torch.uint64: torch.int64}
WIDER = {torch.uint16: torch.int32, torch.uint32: torch.int64}

REAL_OF = {torch.complex64: torch.float32, torch.complex128: torch.float64}
"""The dtype of each complex dtype's parts."""


def _viewed(
    info: Any, batched: tuple[int | None, ...], tensor: torch.Tensor, dtype: torch.dtype
) -> tuple[torch.Tensor, int]:
    """``tensor.view(dtype)`` of every slice: the batch axis goes first, because the last axis may change its size."""
    return tensor.movedim(batched[0] or 0, 0).view(dtype), 0


if not BATCHES_VIEWS_OF_BITS:
    torch.library.register_vmap("aten::view.dtype", _viewed)  # torch 2.13 has its own rule
