"""Normal random numbers in graphs on the CPU: element i is a function of a key and of i, so that loops can fuse it.

Layer: owns the way from the integers of ``uniform``, whose keys these are, to normal numbers: Box and Muller's, which
takes no loop and no table. torch.randn in a graph makes them one after the other, into memory.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch

from backend_torch.random import uniform

Tensor = torch.Tensor


def of_key(key: Tensor, size: Sequence[int], dtype: torch.dtype) -> Tensor:
    """Numbers of a key's stream, the first ones."""
    return _numbers(key, torch.arange(math.prod(size), device=key.device), dtype).reshape(size)


def _numbers(key: Tensor, index: Tensor, dtype: torch.dtype) -> Tensor:
    """The numbers of a stream with these indices.

    A radius and an angle for each, of two integers for float64, and for float32 of the halves of one: 32 bits, as with
    24 no number would be beyond 5.8. What the logarithm is taken of is in (0, 1], and finer the nearer it is to 0.
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
torch.library.register_fake("tnp::normal", lambda key, size, dtype: key.new_empty(size, dtype=dtype), lib=_library)
