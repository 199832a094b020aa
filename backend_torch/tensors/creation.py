"""Creation: new tensors from a shape, a value or a range.

Layer: owns filling in the dtypes and memory orders that torch's factory functions lack, and NumPy's arithmetic for
ranges. The caller decides dtypes, shapes and lengths.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch

from backend_torch.tensors.casting import cast
from backend_torch.tensors.dtypes import REAL_OF, SIGNED, to_numpy
from backend_torch.tensors.memory import copied, is_readable, is_sharded, owned, reversed_axes
from backend_torch.tensors.out_of_memory import explaining
from backend_torch.tensors.shape import effective_order, inverse, memory_axes

Tensor = torch.Tensor
Device = torch.device | None
Shape = tuple[int, ...]
Make = Callable[[Shape, torch.dtype, Device, str], Tensor]


def _in_order(make: Callable[..., Tensor]) -> Make:
    """Give torch's factory function a memory order."""

    def made(shape: Shape, dtype: torch.dtype, device: Device, order: str) -> Tensor:
        if order == "F":
            return owned(reversed_axes(make(shape[::-1], dtype=dtype, device=device)))
        return make(shape, dtype=dtype, device=device)

    return made


empty, zeros, ones = _in_order(torch.empty), _in_order(torch.zeros), _in_order(torch.ones)


def full(shape: Shape, value: Any, dtype: torch.dtype, device: Device, order: str) -> Tensor:
    """All ``value``: a Python number that ``dtype`` holds, or a tensor that broadcasts to ``shape``."""
    if isinstance(value, Tensor):
        return copied(cast(value.to(device), dtype).expand(shape), order)
    if order == "F":
        return owned(reversed_axes(torch.full(shape[::-1], value, dtype=dtype, device=device)))
    return torch.full(shape, value, dtype=dtype, device=device)


def like(
    make: Make,
    tensor: Tensor,
    shape: Shape | None,
    dtype: torch.dtype,
    device: Device,
    order: str,
) -> Tensor:
    """Call ``make(shape, dtype, device, order)`` with ``tensor``'s shape and memory order."""
    if is_sharded(tensor) and shape in (None, tensor.shape):
        return torch.empty_like(tensor, dtype=dtype).copy_(make((), dtype, device, "C"))
    shape = tuple(tensor.shape) if shape is None else shape
    if order != "K":
        return make(shape, dtype, device, effective_order(tensor, order))
    axes = _kept_axes(tensor, shape)
    if axes is None:
        return make(shape, dtype, device, "C")
    return owned(make(tuple([shape[axis] for axis in axes]), dtype, device, "C").permute(inverse(axes)))


def full_like(
    tensor: Tensor, value: Any, shape: Shape | None, dtype: torch.dtype, device: Device, order: str
) -> Tensor:
    """All ``value``, as in `full`, for ``tensor``'s shape and memory order."""
    if isinstance(value, Tensor):
        shape = tuple(tensor.shape) if shape is None else shape
        value = cast(value.to(device), dtype).expand(shape)
        axes = _kept_axes(tensor, shape) if order == "K" else None
        if axes is None:
            return copied(value, "C" if order == "K" else effective_order(tensor, order))
        return owned(copied(value.permute(axes), "C").permute(inverse(axes)))

    def make(shape: Shape, dtype: torch.dtype, device: Device, order: str) -> Tensor:
        return full(shape, value, dtype, device, order)

    return like(make, tensor, shape, dtype, device, order)


def _kept_axes(tensor: Tensor, shape: Shape) -> tuple[int, ...] | None:
    """Return the tensor's axes from the slowest to the fastest, for a new tensor of ``shape``; None for C order."""
    return None if tensor.is_contiguous() or tensor.dim() != len(shape) else memory_axes(tensor)


def number(value: complex) -> Tensor:
    """Return a Python number as a scalar of the host, in Python's precision."""
    dtype = torch.complex128 if type(value) is complex else torch.float64
    return torch.scalar_tensor(value, dtype=dtype, device="cpu")


def eye(rows: int, columns: int, k: int, dtype: torch.dtype, device: Device, order: str) -> Tensor:
    """Ones on the ``k``-th diagonal, zeros elsewhere."""
    matrix = zeros((rows, columns), dtype, device, order)
    matrix.diagonal(k).fill_(1)  # torch.eye has only the main diagonal, and not uint16, uint32 and uint64
    return matrix


def arange(length: int, first: Any, second: Any, dtype: torch.dtype, device: Device) -> Tensor:
    """``length`` numbers in even steps, by NumPy's rule: the first two decide, the others are first + i * delta.

    ``first`` and ``second`` are Python numbers that ``dtype`` holds.
    """
    if length < 3:
        return torch.tensor([first, second][:length], dtype=dtype, device=device)
    if dtype.is_complex:
        real = REAL_OF[dtype]
        imaginary = _floats(length, first.imag, second.imag, real, device)
        return torch.complex(_floats(length, first.real, second.real, real, device), imaginary)
    if dtype.is_floating_point:
        return _floats(length, first, second, dtype, device)
    return _integers(length, first, second - first, dtype, device)


def _floats(length: int, first: float, second: float, dtype: torch.dtype, device: Device) -> Tensor:
    """Compute a range as NumPy does: float16 and bfloat16 in float32, all others in their own type."""
    working = torch.float32 if dtype.itemsize == 2 else dtype
    scalar = to_numpy[working].type
    start, delta = scalar(first), scalar(second) - scalar(first)
    numbers = torch.arange(length, dtype=working, device=device)
    if delta != 1:
        numbers *= float(delta)
    if start != 0:
        numbers += float(start)
    is_zero = start == 0 and (delta < 0 or math.copysign(1, start) < 0)  # whose sign is lost
    if is_zero or start + delta != second:  # rounded or infinite: the first two are exactly the arguments
        numbers[0], numbers[1] = first, second
    return numbers.to(dtype)


def _integers(length: int, first: int, delta: int, dtype: torch.dtype, device: Device) -> Tensor:
    """A range of integers that wraps around in two's complement."""
    stop = first + length * delta
    if delta and dtype not in SIGNED:
        limits = torch.iinfo(dtype)
        if limits.min <= min(first, stop) and max(first, stop) <= limits.max:
            return torch.arange(first, stop, delta, dtype=dtype, device=device)
    numbers = torch.arange(length, device=device) * _wrapped(delta) + _wrapped(first)
    if dtype in SIGNED:
        return numbers.to(SIGNED[dtype]).view(dtype)
    return numbers.to(dtype)


def _wrapped(number: int) -> int:
    """Return an integer modulo 2**64, as int64."""
    return (number + 2**63) % 2**64 - 2**63


def linspace(start: Tensor, stop: Tensor, num: int, endpoint: bool, device: Device) -> tuple[Tensor, Tensor | None]:
    """Return ``num`` samples along a new first axis, and their step; None if there is no step.

    ``start`` and ``stop`` have one inexact dtype and broadcast. Without a ``device`` the samples are on theirs.
    """
    delta = stop - start
    dtype = delta.dtype
    device = delta.device if device is None else device
    if delta.dim() or not delta.is_cpu:
        start, stop, delta = start.to(device), stop.to(device), delta.to(device)
    samples = torch.arange(num, dtype=REAL_OF.get(dtype, dtype), device=device).reshape((-1,) + (1,) * delta.dim())
    divisions = num - 1 if endpoint else num
    step = None
    if divisions > 0:
        step = delta / divisions
        # A step that underflows to zero is a special case in NumPy, for all columns together.
        vanishes = (step == 0).any()
        if is_readable(step) and step.device.type == "cpu":
            samples = samples / divisions * delta if vanishes else samples * step
        else:
            samples = torch.where(vanishes, samples / divisions * delta, samples * step)
    else:
        samples = samples * delta
    samples = samples + start
    if endpoint and num > 1:
        samples[-1] = stop
    return samples, step


def geomspace(start: Tensor, stop: Tensor, num: int, endpoint: bool, device: Device) -> Tensor:
    """``num`` samples in geometric progression along a new first axis.

    The start is rotated to the positive reals, and the result back, so that the logarithm of other ends exists.
    """
    sign = torch.sgn(start)
    start, stop = start / sign, stop / sign
    if num <= (2 if endpoint else 1):  # only the ends, which have a gradient even without a logarithm
        samples = torch.stack(torch.broadcast_tensors(start, stop))[:num]
        return (samples if device is None else samples.to(device)) * sign
    logarithms, _ = linspace(torch.log10(start), torch.log10(stop), num, endpoint, device)
    samples = torch.pow(10.0, logarithms).clone()  # autograd keeps the powers themselves
    samples[0] = start
    if endpoint:
        samples[-1] = stop
    return samples * sign


@explaining
def power_table(tensor: Tensor, columns: int, increasing: bool, dtype: torch.dtype) -> Tensor:
    """A Vandermonde matrix: each row the powers of one element; torch.vander overwrites what its gradient needs."""
    base = cast(tensor, dtype).unsqueeze(-1)
    powers = torch.cat([torch.ones_like(base), base.expand(-1, max(columns - 1, 0))], -1).cumprod(-1)[:, :columns]
    return powers if increasing else powers.flip(-1)
