"""Discrete Fourier transforms.

Layer: owns the cases that torch's transforms lack: float16 on the CPU, integers in double precision, repeated axes,
arrays without elements (https://github.com/pytorch/pytorch/issues/174984).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch

from backend_torch.kernels import graph_operations, host
from backend_torch.tensors import trace_state
from backend_torch.tensors.out_of_memory import explaining
from backend_torch.tensors.shape import laid_out_as

Tensor = torch.Tensor

_FLOATS = {dtype: dtype for dtype in (torch.float32, torch.float64, torch.complex64, torch.complex128)}
_FLOATS |= {torch.float16: torch.float32, torch.bfloat16: torch.float32}


def _in_floats(tensor: Tensor) -> Tensor:
    return tensor.to(_FLOATS.get(tensor.dtype, torch.float64))


def _zeros(tensor: Tensor, lengths: Sequence[int], axes: Sequence[int], dtype: torch.dtype) -> Tensor:
    shape = list(tensor.shape)
    for length, axis in zip(reversed(lengths), reversed(axes), strict=True):
        shape[axis] = length
    return torch.zeros(shape, dtype=dtype, device=tensor.device)


def _laid_out(result: Tensor, tensor: Tensor) -> Tensor:
    """Return a transform with the tensor's order of axes, as NumPy does; torch leaves the transformed ones first."""
    return laid_out_as(result, tensor)


def _by_torch(tensor: Tensor, name: str, lengths: Sequence[int], axes: Sequence[int], norm: str | None) -> Tensor:
    function = getattr(torch.fft, name)
    if name in _HALVED:
        return function(tensor, lengths[0], axes[0], norm)
    return function(tensor, tuple(lengths), tuple(axes), norm)


_HALVED = {"rfft", "irfft"}


def _in_order(tensor: Tensor, name: str, lengths: Sequence[int], axes: Sequence[int], norm: str | None) -> Tensor:
    return _by_torch(tensor, name, lengths, axes, norm).contiguous()


def _empty(tensor: Tensor, name: str, lengths: Sequence[int], axes: Sequence[int], norm: str | None) -> Tensor:
    shape = list(tensor.shape)
    for length, axis in zip(lengths, axes, strict=True):
        shape[axis] = length // 2 + 1 if name == "rfft" else length
    dtype = tensor.dtype.to_real() if name == "irfft" else tensor.dtype.to_complex()
    return torch.empty(shape, dtype=dtype, device=tensor.device)


def _on_host(tensor: Tensor, name: str, lengths: Sequence[int], axes: Sequence[int], norm: str | None) -> Tensor:
    """As eager code: torch prepares a transform for longer than NumPy transforms few points."""
    if tensor.numel() > host.MANY:
        return _in_order(tensor, name, lengths, axes, norm)
    given = (lengths[0], axes[0]) if name in _HALVED else (lengths, axes)
    found: Tensor = host.called(getattr(np.fft, name), tensor, *given, norm)
    return found


_whole = graph_operations.operation(
    "fourier(Tensor points, str name, SymInt[] lengths, int[] axes, str? norm) -> Tensor", _on_host, _in_order, _empty
)
"""A transform to C order: torch's own decide symbolic sizes (the meta function of ``_fft_c2c``)."""


def _transformed(tensor: Tensor, name: str, lengths: Sequence[int], axes: Sequence[int], norm: str | None) -> Tensor:
    if trace_state.is_tracing() and tensor.is_contiguous():
        is_open = any(type(size) is not int for size in (*tensor.shape, *lengths))
        if is_open or (tensor.is_cpu and tensor.numel() <= host.MANY):
            return _whole(tensor, name, lengths, axes, norm)
    return _laid_out(_by_torch(tensor, name, lengths, axes, norm), tensor)


def _complex(name: str, tensor: Tensor, lengths: Sequence[int], axes: Sequence[int], norm: str | None) -> Tensor:
    tensor = _in_floats(tensor)
    if not tensor.numel():
        return _zeros(tensor, lengths, axes, tensor.dtype.to_complex())
    if len(set(axes)) == len(axes):
        return _transformed(tensor, name, lengths, axes, norm)
    given = tensor
    for length, axis in zip(reversed(lengths), reversed(axes), strict=True):
        tensor = _by_torch(tensor, name, (length,), (axis,), norm)
    return _laid_out(tensor, given)


@explaining
def fft(tensor: Tensor, lengths: Sequence[int], axes: Sequence[int], norm: str | None) -> Tensor:
    """Transform over axes, each first cut or padded with zeros to its length; the last axis comes first."""
    return _complex("fftn", tensor, lengths, axes, norm)


@explaining
def ifft(tensor: Tensor, lengths: Sequence[int], axes: Sequence[int], norm: str | None) -> Tensor:
    """Return the inverse of ``fft``."""
    return _complex("ifftn", tensor, lengths, axes, norm)


@explaining
def rfft(tensor: Tensor, length: int, axis: int, norm: str | None) -> Tensor:
    """Return the frequencies of a real tensor that are not negative."""
    tensor = _in_floats(tensor)
    if not tensor.numel():
        return _zeros(tensor, [length // 2 + 1], [axis], tensor.dtype.to_complex())
    return _transformed(tensor, "rfft", (length,), (axis,), norm)


@explaining
def irfft(tensor: Tensor, length: int, axis: int, norm: str | None) -> Tensor:
    """Return the real tensor with these frequencies."""
    tensor = _in_floats(tensor)
    if not tensor.numel():
        return _zeros(tensor, [length], [axis], tensor.dtype.to_real())
    if tensor.device.type != "cpu" and tensor.is_complex():
        tensor = hermitian(tensor, length, axis)
    return _transformed(tensor, "irfft", (length,), (axis,), norm)


def hermitian(tensor: Tensor, length: int, axis: int) -> Tensor:
    """Drop the imaginary parts of a real signal's lowest and highest frequencies, which should be zero.

    cuFFT gives no defined result for them (https://github.com/pytorch/pytorch/issues/154496).
    """
    axis %= tensor.dim()
    place = torch.arange(tensor.shape[axis], device=tensor.device).reshape([-1] + [1] * (tensor.dim() - axis - 1))
    return torch.where(place * 2 % length == 0, tensor.real.to(tensor.dtype), tensor)


def conj(tensor: Tensor) -> Tensor:
    """Return the conjugate, in its own memory."""
    return tensor.conj().resolve_conj()


@explaining
def frequencies(count: int, start: int, device: torch.device | None) -> Tensor:
    """Return the ``count`` whole numbers from 0 on; those from ``start`` on are reduced by ``count``."""
    numbers = torch.arange(count, device=device)
    return numbers if start >= count else torch.where(numbers < start, numbers, numbers - count)
