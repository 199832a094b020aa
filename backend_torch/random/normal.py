"""Normal random numbers in graphs: element i is a function of a key and of i, so that loops and kernels can fuse it.

Layer: owns how normal numbers are made of the integers and keys of ``uniform``: by Box and Muller's method, which needs
no loop and no table. In a graph, torch.randn makes the numbers one after the other and stores them first.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch

from backend_torch.random import uniform

Tensor = torch.Tensor


def of_key(key: Tensor, size: Sequence[int], dtype: torch.dtype) -> Tensor:
    """Return the first numbers of a key's stream."""
    return _numbers(key, torch.arange(math.prod(size), device=key.device), dtype).reshape(size)


def _numbers(key: Tensor, index: Tensor, dtype: torch.dtype) -> Tensor:
    """Return the numbers of a stream at these indices.

    Each number has a radius and an angle, from two integers for float64, and from the halves of one integer for
    float32. The halves have 32 bits: with 24 bits no number would be beyond 5.8. The logarithm's argument is in (0, 1],
    and its steps are finer near 0.
    """
    if dtype is torch.float64:
        first, second = uniform.integers(key, 2 * index), uniform.integers(key, 2 * index + 1)
        digits = 53
        radius, angle = uniform.shifted(first, 64 - digits), uniform.shifted(second, 64 - digits)
    else:
        both = uniform.integers(key, index)
        digits = 32
        radius, angle = uniform.shifted(both, digits), both & 0xFFFFFFFF
    length = torch.sqrt(torch.log((radius + 1).to(dtype) * 2.0**-digits) * -2)
    return length * torch.cos(angle.to(dtype) * (math.tau * 2.0**-digits))


def _on_cpu(key: Tensor, size: Sequence[int], dtype: torch.dtype) -> Tensor:
    return uniform.in_chunks(_numbers, key, size, dtype)


_library = torch.library.Library("tnp", "FRAGMENT")
_library.define("normal(Tensor key, SymInt[] size, ScalarType dtype) -> Tensor")
_library.impl("normal", _on_cpu, "CPU")
_library.impl("normal", of_key, "CUDA")
torch.library.register_fake("tnp::normal", lambda key, size, dtype: key.new_empty(size, dtype=dtype), lib=_library)
