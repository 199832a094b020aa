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
from backend_torch.tensors.shape import has_sizes, laid_out, laid_out_as, memory_axes

Tensor = torch.Tensor

_FLOATS = {dtype: dtype for dtype in (torch.float32, torch.float64, torch.complex64, torch.complex128)}
_FLOATS |= {torch.float16: torch.float32, torch.bfloat16: torch.float32}


def _in_floats(tensor: Tensor) -> Tensor:
    return tensor.to(_FLOATS.get(tensor.dtype, torch.float64))


def _laid_out(result: Tensor, tensor: Tensor) -> Tensor:
    """Return a transform in NumPy's order, that of the tensor's strides; torch has the transformed axes first."""
    if tensor.is_contiguous() or not has_sizes(tensor):
        return laid_out_as(result, tensor)
    return laid_out(result, memory_axes(tensor))


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
    for length, axis in zip(reversed(lengths), reversed(axes), strict=True):
        shape[axis] = length // 2 + 1 if name == "rfft" else length
    dtype = tensor.dtype.to_real() if name == "irfft" else tensor.dtype.to_complex()
    return torch.empty(shape, dtype=dtype, device=tensor.device)


def _on_host(tensor: Tensor, name: str, lengths: Sequence[int], axes: Sequence[int], norm: str | None) -> Tensor:
    """As eager code."""
    found = _by_numpy(tensor, name, lengths, axes, norm)
    return _in_order(tensor, name, lengths, axes, norm) if found is None else found.contiguous()


def _by_numpy(
    tensor: Tensor, name: str, lengths: Sequence[int], axes: Sequence[int], norm: str | None
) -> Tensor | None:
    """Return NumPy's transform of few points, for which torch prepares one for longer; None if torch has to compute."""
    if (arrays := host.small(tensor, most=host.MANY)) is None:
        return None
    given = (lengths[0], axes[0]) if name in _HALVED else (lengths, axes)
    with np.errstate(all="ignore"):
        found: Tensor = host.wrapped(getattr(np.fft, name)(*arrays, *given, norm))
    return found


_whole = graph_operations.operation(
    "fourier(Tensor points, str name, SymInt[] lengths, int[] axes, str? norm) -> Tensor", _on_host, _in_order, _empty
)
"""A transform to C order: torch's own decide symbolic sizes (the meta function of ``_fft_c2c``)."""


def _transformed(given: Tensor, name: str, lengths: Sequence[int], axes: Sequence[int], norm: str | None) -> Tensor:
    tensor = _in_floats(given)
    if not tensor.numel():
        return _empty(tensor, name, lengths, axes, norm).zero_()
    if (found := _by_numpy(given, name, lengths, axes, norm)) is not None:
        return found
    if name == "irfft" and tensor.device.type != "cpu" and tensor.is_complex():
        tensor = hermitian(tensor, lengths[0], axes[0])
    is_repeated = len(set(axes)) < len(axes)
    if trace_state.is_tracing() and tensor.is_contiguous() and not is_repeated:
        is_open = any(type(size) is not int for size in (*tensor.shape, *lengths))
        if is_open or (tensor.is_cpu and tensor.numel() <= host.MANY):
            return _whole(tensor, name, lengths, axes, norm)
    if is_repeated:
        for length, axis in zip(reversed(lengths), reversed(axes), strict=True):
            tensor = _by_torch(tensor, name, (length,), (axis,), norm)
    else:
        tensor = _by_torch(tensor, name, lengths, axes, norm)
    return _laid_out(tensor, given)


@explaining
def fft(tensor: Tensor, lengths: Sequence[int], axes: Sequence[int], norm: str | None) -> Tensor:
    """Transform over axes, each first cut or padded with zeros to its length; the last axis comes first."""
    return _transformed(tensor, "fftn", lengths, axes, norm)


@explaining
def ifft(tensor: Tensor, lengths: Sequence[int], axes: Sequence[int], norm: str | None) -> Tensor:
    """Return the inverse of ``fft``."""
    return _transformed(tensor, "ifftn", lengths, axes, norm)


@explaining
def rfft(tensor: Tensor, length: int, axis: int, norm: str | None) -> Tensor:
    """Return the frequencies of a real tensor that are not negative."""
    return _transformed(tensor, "rfft", (length,), (axis,), norm)


@explaining
def irfft(tensor: Tensor, length: int, axis: int, norm: str | None) -> Tensor:
    """Return the real tensor with these frequencies."""
    return _transformed(tensor, "irfft", (length,), (axis,), norm)


def hermitian(tensor: Tensor, length: int, axis: int) -> Tensor:
    """Drop the imaginary parts of a real signal's lowest and highest frequencies, which should be zero.

    cuFFT gives no defined result for them (https://github.com/pytorch/pytorch/issues/154496).
    """
    axis %= tensor.dim()
    place = torch.arange(tensor.shape[axis], device=tensor.device).reshape([-1] + [1] * (tensor.dim() - axis - 1))
    return torch.where(place * 2 % length == 0, tensor.real.to(tensor.dtype), tensor)


def conj(tensor: Tensor) -> Tensor:
    """Return the conjugate in memory of its own, and a real tensor in the order that NumPy's conjugate gives it."""
    return laid_out_as(tensor.conj().resolve_conj(), tensor)


@explaining
def frequencies(count: int, start: int, device: torch.device | None) -> Tensor:
    """Return the ``count`` whole numbers from 0 on; those from ``start`` on are reduced by ``count``."""
    numbers = torch.arange(count, device=device)
    return numbers if start >= count else torch.where(numbers < start, numbers, numbers - count)
