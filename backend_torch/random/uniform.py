"""Uniform random numbers in graphs: element i is a function of a key and of i, so that loops and kernels can fuse it.

Layer: owns that function. torch's generators make the numbers one after the other in one thread, and a graph has to
store them all in an array first. Here each call draws a key from a torch.Generator, and the numbers are Steele, Lea and
Flood's SplitMix64 (doi:10.1145/2660193.2660195): the mixed multiples of an odd number, from a random start on. The
function carries no state, takes two products of integers for each element, and vectorises.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import torch

from backend_torch.torch_private import functorch

Tensor = torch.Tensor

_SIGNIFICAND = {torch.float32: 24, torch.float64: 53}
_CHUNK = 1 << 15  # elements computed at a time outside fused loops: their integers stay in the cache


def _signed(bits: int) -> int:
    """Return 64 bits as torch's signed integer."""
    return bits - (1 << 64) if bits >> 63 else bits


# Half of the multiplier's bits are random, two of each four. The others are fixed: they make it odd, and make more than
# half of its neighbouring bits differ. The paper found streams weak if fewer than 24 neighbouring bits differ.
_DRAWN = _signed(0xCCCCCCCCCCCCCCCC)
_GIVEN = 0x1111111111111111


def can_stand_for(dtype: torch.dtype, device: torch.device) -> bool:
    """Whether such an array can have these numbers; torch's transforms have rules for torch's own numbers only."""
    transformed = functorch.is_transforming()
    return device.type in ("cpu", "cuda") and dtype in _SIGNIFICAND and not transformed


def new_key(generator: torch.Generator) -> Tensor:
    """Draw a key: two integers that choose a stream."""
    return torch.randint(-(1 << 63), (1 << 63) - 1, (2,), generator=generator, device=generator.device)


def of_key(key: Tensor, size: Sequence[int], dtype: torch.dtype) -> Tensor:
    """Return the first numbers, in [0, 1), of a key's stream."""
    return _numbers(key, torch.arange(math.prod(size), device=key.device), dtype).reshape(size)


def integers(key: Tensor, index: Tensor) -> Tensor:
    """Return the 64-bit integers of a stream at these indices."""
    z = key[0] + index * (key[1] & _DRAWN | _GIVEN)
    z = (z ^ shifted(z, 30)) * _signed(0xBF58476D1CE4E5B9)
    z = (z ^ shifted(z, 27)) * _signed(0x94D049BB133111EB)
    return z ^ shifted(z, 31)


def _numbers(key: Tensor, index: Tensor, dtype: torch.dtype) -> Tensor:
    """Return the numbers of a stream at these indices."""
    digits = _SIGNIFICAND[dtype]
    return shifted(integers(key, index), 64 - digits).to(dtype) * 2.0**-digits


def shifted(z: Tensor, bits: int) -> Tensor:
    """Shift to the right as an unsigned integer."""
    return (z >> bits) & ((1 << (64 - bits)) - 1)


def at(key: Tensor, index: Tensor, dtype: torch.dtype) -> Tensor:
    """Return the numbers of a key's stream at these indices, in the indices' shape."""
    flat = index.reshape(-1)
    return in_chunks(lambda key, places, dtype: _numbers(key, flat[places], dtype), key, index.shape, dtype)


def in_chunks(
    numbers: Callable[[Tensor, Tensor, torch.dtype], Tensor], key: Tensor, size: Sequence[int], dtype: torch.dtype
) -> Tensor:
    """Return the first ``numbers(key, indices, dtype)``, computed outside fused loops."""
    result = torch.empty(size, dtype=dtype)
    flat = result.view(-1)
    for start in range(0, flat.numel(), _CHUNK):
        part = flat[start : start + _CHUNK]
        part.copy_(numbers(key, torch.arange(start, start + part.numel()), dtype))
    return result


def _on_cpu(key: Tensor, size: Sequence[int], dtype: torch.dtype) -> Tensor:
    return in_chunks(_numbers, key, size, dtype)


# The operation is registered, so that a graph shows the draw, and eager and compiled runs of it give the same numbers.
_library = torch.library.Library("tnp", "FRAGMENT")
_library.define("uniform(Tensor key, SymInt[] size, ScalarType dtype) -> Tensor")
_library.impl("uniform", _on_cpu, "CPU")
_library.impl("uniform", of_key, "CUDA")
torch.library.register_fake("tnp::uniform", lambda key, size, dtype: key.new_empty(size, dtype=dtype), lib=_library)
