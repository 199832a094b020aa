"""Decompositions of operations whose vectorised code in Inductor has other results than torch.

Layer: owns which those are. Inductor computes ``expm1`` as ``exp(x) - 1`` and ``atanh`` as a logarithm of a quotient,
both without digits near zero; ``acosh`` overflows; a floor division is the floor of the rounded quotient, and a
remainder what that leaves (https://github.com/pytorch/pytorch/issues/93774); float16's next number is float32's; the
vectorised ``log1p``, and with it ``logaddexp``, err by an ulp, ``hypot`` by 0.9: NumPy's by half of that.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch

from backend_torch.kernels import compensated
from backend_torch.random import normal, uniform
from backend_torch.torch_private import operators

Tensor = torch.Tensor
aten = torch.ops.aten
HALF = (torch.float16, torch.bfloat16)


def _on_cpu(function: Callable[[Tensor], Tensor]) -> Callable[[Tensor], Tensor]:
    """Limit a decomposition to real floating point on the CPU; half precision is computed in float32."""

    def decomposed(x: Tensor) -> Tensor:
        if x.device.type != "cpu" or not x.dtype.is_floating_point:
            return NotImplemented
        if x.dtype in HALF:
            return function(x.to(torch.float32)).to(x.dtype)
        return function(x)

    return decomposed


def _are_on_cpu(dtype: torch.dtype, *tensors: Tensor) -> bool:
    return all(x.dtype is dtype and x.device.type == "cpu" for x in tensors)


@_on_cpu
def expm1(x: Tensor) -> Tensor:
    if x.dtype is torch.float64:
        return compensated.expm1(x)
    half = x * 0.5
    return torch.where(x < -40, torch.full_like(x, -1), 2 * torch.sinh(half) * torch.exp(half))


def log1p(x: Tensor) -> Tensor:
    return compensated.log1p(x) if _are_on_cpu(torch.float64, x) else NotImplemented


def logaddexp(x: Tensor, y: Tensor) -> Tensor:
    return compensated.logaddexp(x, y) if _are_on_cpu(torch.float64, x, y) else operators.logaddexp(x, y)


def hypot(x: Tensor, y: Tensor) -> Tensor:
    fine = _are_on_cpu(torch.float64, x, y) or _are_on_cpu(torch.float32, x, y)
    return compensated.hypot(x, y) if fine else NotImplemented


@_on_cpu
def atanh(x: Tensor) -> Tensor:
    size = torch.abs(x)
    return torch.copysign(0.5 * torch.log1p(2 * size / (1 - size)), x)


@_on_cpu
def acosh(x: Tensor) -> Tensor:
    above = x - 1
    near = torch.log1p(above + torch.sqrt(above) * torch.sqrt(above + 2))
    return torch.where(x > 1e8, torch.log(x) + math.log(2), near)


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


TABLE: dict[Any, Callable[..., Any]] = {
    torch.ops.tnp.uniform.default: uniform.of_key,
    torch.ops.tnp.normal.default: normal.of_key,
    aten.expm1.default: expm1,
    aten.log1p.default: log1p,
    aten.logaddexp.default: logaddexp,
    aten.hypot.default: hypot,
    aten.atanh.default: atanh,
    aten.acosh.default: acosh,
    aten.remainder.Tensor: remainder,
    aten.remainder.Scalar: remainder,
    aten.div.Tensor_mode: divide,
    aten.div.Scalar_mode: divide,
    aten.nextafter.default: nextafter,
}
