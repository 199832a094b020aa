"""Decompositions of operations whose code in Inductor has other results than torch, or no vectors.

Layer: owns which those are. A floor division is the floor of the rounded quotient, and a remainder what that leaves
(https://github.com/pytorch/pytorch/issues/93774); float16's next number is float32's; ``logaddexp`` has no lowering;
reductions of bytes read lanes that were never filled (https://github.com/pytorch/pytorch/issues/191499). Questions for
NaN, and logic of numbers, are computed element by element; a roll copies parts. Derivatives make zeros without memory,
which the code would read and write: they get memory.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import torch

from backend_torch.kernels import fft, graph_operations, linalg  # noqa: F401  fft's operation has steps too
from backend_torch.random import normal, uniform

Tensor = torch.Tensor
aten = torch.ops.aten
HALF = (torch.float16, torch.bfloat16)
BYTES = (torch.int8, torch.uint8)


def logaddexp(x: Tensor, y: Tensor) -> Tensor:
    if x.is_complex() or y.is_complex():
        return NotImplemented
    if x.dtype in HALF:
        return logaddexp(x.to(torch.float32), y.to(torch.float32)).to(x.dtype)
    apart = torch.maximum(x, y) + torch.log1p(torch.exp(-torch.abs(x - y)))
    return torch.where(x == y, x + math.log(2), apart)  # of equal infinities there is no difference


def _are_floating(*operands: Any) -> bool:
    return any(torch.is_tensor(x) for x in operands) and all(
        x.dtype.is_floating_point if torch.is_tensor(x) else isinstance(x, (int, float)) for x in operands
    )


def remainder(x: Any, y: Any) -> Any:
    if not _are_floating(x, y):
        return NotImplemented
    rest = torch.fmod(x, y)
    return torch.where((rest != 0) & ((rest < 0) != (y < 0)), rest + y, rest)


def divide(x: Any, y: Any, *, rounding_mode: str | None) -> Any:
    if rounding_mode != "floor" or not _are_floating(x, y):
        return NotImplemented
    exact = x / y
    rest = torch.fmod(x, y)
    quotient = (x - rest) / y
    quotient = torch.where((rest != 0) & ((rest < 0) != (y < 0)), quotient - 1, quotient)
    floor = torch.floor(quotient)
    floor = torch.where(quotient - floor > 0.5, floor + 1, floor)
    floor = torch.where(quotient == 0, torch.copysign(torch.zeros_like(exact), exact), floor)
    # Where the quotient overflows, so does the vectorised fmod on its way to the rest.
    infinite = torch.isinf(exact) & (torch.isfinite(torch.as_tensor(x)) | (y == 0))
    return torch.where(infinite, exact, floor)


def nextafter(x: Tensor, y: Tensor) -> Tensor:
    if x.dtype not in HALF:
        return NotImplemented
    x, y = torch.broadcast_tensors(x, y)
    bits = x.contiguous().view(torch.int16)
    away = (y > x) == (x > 0)
    moved = torch.where(away, bits + 1, bits - 1)
    smallest = torch.where(y > 0, torch.ones_like(bits), torch.full_like(bits, -0x7FFF))
    result = torch.where(x == 0, smallest, moved).view(x.dtype)
    return torch.where(x == y, y, torch.where((x != x) | (y != y), x + y, result))


def _truth(x: Tensor) -> Tensor:
    return x if x.dtype is torch.bool else x != 0


def _logical(operation: Any) -> Callable[..., Any]:
    """Return a logical operation on truths, for which Inductor's code has vectors."""

    def of_numbers(x: Tensor, y: Tensor) -> Tensor:
        return NotImplemented if x.dtype is y.dtype is torch.bool else operation(_truth(x), _truth(y))

    return of_numbers


def isnan(x: Tensor) -> Tensor:
    return x != x if x.dtype.is_floating_point else NotImplemented


def isinf(x: Tensor) -> Tensor:
    return torch.abs(x) == math.inf if x.dtype.is_floating_point else NotImplemented


def multiply(x: Any, y: Any) -> Any:
    """A product of truths, which ``torch.isfinite`` has, in the same way."""
    are_truths = all(torch.is_tensor(each) and each.dtype is torch.bool for each in (x, y))
    return torch.bitwise_and(x, y) if are_truths else NotImplemented


def roll(x: Tensor, shifts: Sequence[int], dims: Sequence[int] = ()) -> Any:
    """Two copies for each axis; torch's own decomposition computes the place of each element."""
    if not dims or not all(isinstance(size, int) and size for size in x.shape):
        return NotImplemented
    for shift, dim in zip(shifts, dims, strict=True):
        size = x.shape[dim]
        first = -shift % size
        x = torch.cat([x.narrow(dim, first, size - first), x.narrow(dim, 0, first)], dim)
    return x


def _added(operation: Any) -> Callable[..., Any]:
    """Return a sum or a product whose bytes are computed as int32, which wraps round to the same bytes."""

    def of_bytes(x: Tensor, *args: Any, dtype: torch.dtype | None = None) -> Any:
        if dtype not in BYTES:
            return NotImplemented
        return operation(x.to(dtype).to(torch.int32), *args, dtype=torch.int32).to(dtype)

    return of_bytes


def _extreme(operation: Any, places: Sequence[bool]) -> Callable[..., Any]:
    """Return an extreme of bytes or booleans, compared as int32; ``places`` says which results are places."""

    def of_bytes(x: Tensor, *args: Any, **options: Any) -> Any:
        if x.dtype not in (*BYTES, torch.bool):
            return NotImplemented
        found = operation(x.to(torch.int32), *args, **options)
        results = found if len(places) > 1 else (found,)
        cast = [each if is_place else each.to(x.dtype) for each, is_place in zip(results, places, strict=True)]
        return tuple(cast) if len(places) > 1 else cast[0]

    return of_bytes


_EXTREMES = {
    aten.amin.default: (False,), aten.amax.default: (False,), aten.min.default: (False,), aten.max.default: (False,),
    aten.argmin.default: (True,), aten.argmax.default: (True,), aten.min.dim: (False, True),
    aten.max.dim: (False, True), aten.aminmax.default: (False, False),
}  # fmt: skip
_SUMS = (aten.sum.default, aten.sum.dim_IntList, aten.prod.default, aten.prod.dim_int)

TABLE: dict[Any, Callable[..., Any]] = {
    torch.ops.tnp.uniform.default: uniform.of_key,
    torch.ops.tnp.normal.default: normal.of_key,
    linalg.DET: torch.linalg.det,
    **graph_operations.STEPS,
    aten._efficientzerotensor.default: torch.zeros,
    aten.logaddexp.default: logaddexp,
    aten.isinf.default: isinf,
    aten.isnan.default: isnan,
    aten.mul.Tensor: multiply,
    aten.logical_not.default: lambda x: NotImplemented if x.dtype is torch.bool else x == 0,
    aten.logical_and.default: _logical(torch.bitwise_and),
    aten.logical_or.default: _logical(torch.bitwise_or),
    aten.logical_xor.default: _logical(torch.bitwise_xor),
    aten.remainder.Tensor: remainder,
    aten.remainder.Scalar: remainder,
    aten.div.Tensor_mode: divide,
    aten.div.Scalar_mode: divide,
    aten.nextafter.default: nextafter,
    aten.roll.default: roll,
    **{operation: _added(operation) for operation in _SUMS},
    **{operation: _extreme(operation, places) for operation, places in _EXTREMES.items()},
}

IN_PROCESS = {operation: steps for operation, steps in TABLE.items() if operation not in graph_operations.STEPS}
"""The decompositions of code that runs in this process, which calls the kernels of `graph_operations`."""
