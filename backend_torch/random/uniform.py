"""Uniform random numbers in graphs on the CPU: element i is a function of a key and of i, so that loops can fuse it.

Layer: owns that function. torch's generators make one number after the other in one thread, and a graph that holds them
all in an array first; here a key is drawn from a torch.Generator at each call, and the numbers are Steele, Lea and
Flood's SplitMix64 (doi:10.1145/2660193.2660195): the mixed multiples of an odd number from a random start on. It takes
no carried state, two products of integers for each element, and vectorises.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import torch

from backend_torch.torch_private import functorch

Tensor = torch.Tensor

_SIGNIFICAND = {torch.float32: 24, torch.float64: 53}
_CHUNK = 1 << 15  # elements that are made at a time where nothing fuses: their integers stay in the cache


def _signed(bits: int) -> int:
    """64 bits as the integer in two's complement that they are to torch."""
    return bits - (1 << 64) if bits >> 63 else bits


# The number that is multiplied has half of its bits drawn, two of each four; the others make it odd, and let more than
# half of its neighbouring bits differ: with fewer than 24 that do, the paper found the streams to be weak.
_DRAWN = _signed(0xCCCCCCCCCCCCCCCC)
_GIVEN = 0x1111111111111111


def can_stand_for(dtype: torch.dtype, device: torch.device) -> bool:
    """Whether these numbers are for such arrays: ``vmap`` and its kind have rules for torch's random numbers only."""
    transformed = functorch.is_transforming()
    return device.type == "cpu" and dtype in _SIGNIFICAND and not transformed


def new_key(generator: torch.Generator) -> Tensor:
    """Two integers that choose a stream."""
    return torch.randint(-(1 << 63), (1 << 63) - 1, (2,), generator=generator)


def of_key(key: Tensor, size: Sequence[int], dtype: torch.dtype) -> Tensor:
    """Numbers in [0, 1) of a key's stream, the first ones."""
    return _numbers(key, torch.arange(math.prod(size), device=key.device), dtype).reshape(size)


def integers(key: Tensor, index: Tensor) -> Tensor:
    """The integers of a stream with these indices, of 64 bits each."""
    z = key[0] + index * (key[1] & _DRAWN | _GIVEN)
    z = (z ^ shifted(z, 30)) * _signed(0xBF58476D1CE4E5B9)
    z = (z ^ shifted(z, 27)) * _signed(0x94D049BB133111EB)
    return z ^ shifted(z, 31)


def _numbers(key: Tensor, index: Tensor, dtype: torch.dtype) -> Tensor:
    """The numbers of a stream with these indices."""
    digits = _SIGNIFICAND[dtype]
    return shifted(integers(key, index), 64 - digits).to(dtype) * 2.0**-digits


def shifted(z: Tensor, bits: int) -> Tensor:
    """Shifted to the right as an unsigned integer."""
    return (z >> bits) & ((1 << (64 - bits)) - 1)


def at(key: Tensor, index: Tensor, dtype: torch.dtype) -> Tensor:
    """The numbers of a key's stream with these indices, in the indices' shape."""
    result = torch.empty(index.shape, dtype=dtype)
    flat, places = result.view(-1), index.reshape(-1)
    for start in range(0, flat.numel(), _CHUNK):
        flat[start : start + _CHUNK] = _numbers(key, places[start : start + _CHUNK], dtype)
    return result


def in_chunks(
    numbers: Callable[[Tensor, Tensor, torch.dtype], Tensor], key: Tensor, size: Sequence[int], dtype: torch.dtype
) -> Tensor:
    """The first ``numbers(key, indices, dtype)``, made where nothing fuses."""
    result = torch.empty(size, dtype=dtype)
    flat = result.view(-1)
    for start in range(0, flat.numel(), _CHUNK):
        part = flat[start : start + _CHUNK]
        part.copy_(numbers(key, torch.arange(start, start + part.numel()), dtype))
    return result


def _on_cpu(key: Tensor, size: Sequence[int], dtype: torch.dtype) -> Tensor:
    return in_chunks(_numbers, key, size, dtype)


# An operation of its own, so that a graph says what is drawn, and is the same run one by one and compiled.
_library = torch.library.Library("tnp", "FRAGMENT")
_library.define("uniform(Tensor key, SymInt[] size, ScalarType dtype) -> Tensor")
_library.impl("uniform", _on_cpu, "CPU")
torch.library.register_fake("tnp::uniform", lambda key, size, dtype: key.new_empty(size, dtype=dtype), lib=_library)
