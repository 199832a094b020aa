"""Scans: kernels whose result holds each partial reduction along an axis.

Layer: owns the torch code that scans a dtype. The caller chooses axes and dtypes. ``resolve(given, result)`` is the
callable ``loop(tensor, dim)`` for tensors of dtype ``given`` that computes in dtype ``result``.
"""

from __future__ import annotations

from collections.abc import Callable

import torch

from backend_torch.kernels.order import ordered, restored
from backend_torch.kernels.reductions import Accumulator, Binary, Loop
from backend_torch.kernels.reductions import max as max_reduction
from backend_torch.kernels.reductions import min as min_reduction
from backend_torch.tensors.casting import cast
from backend_torch.tensors.dtypes import SIGNED
from backend_torch.tensors.out_of_memory import explaining

Tensor = torch.Tensor


def scan(function: Binary, tensor: Tensor, dim: int, associative: bool = False) -> Tensor:
    """Scan along ``dim``: each result is ``function`` of the result before it and the element there.

    Elements are taken one by one. If ``associative``, neighbours at distances 1, 2, 4, ... are combined, so the
    function is called log2(n) times.
    """
    size = tensor.shape[dim]
    if size <= 1:
        return tensor.clone()
    if not associative:
        results = [*tensor.unbind(dim)]
        for i in range(1, size):
            results[i] = function(results[i - 1], results[i])
        return torch.stack(results, dim)
    distance = 1
    while distance < size:
        done = tensor.narrow(dim, 0, distance)
        before = tensor.narrow(dim, 0, size - distance)
        here = tensor.narrow(dim, distance, size - distance)
        tensor = torch.cat([done, function(before, here)], dim)
        distance *= 2
    return tensor


class Scanned:
    """Any binary kernel as a scan.

    Parameters
    ----------
    function : callable
        ``function(left, right)``, elementwise, on tensors of the result's dtype.
    associative : bool
        Whether ``f(f(a, b), c)`` is ``f(a, f(b, c))``.
    """

    __slots__ = ("associative", "function")

    def __init__(self, function: Binary, associative: bool) -> None:
        self.function = function
        self.associative = associative

    def resolve(self, given: torch.dtype, result: torch.dtype) -> Loop:
        """The loop for tensors of dtype ``given``, cast to dtype ``result``."""
        return lambda tensor, dim: scan(self.function, cast(tensor, result), dim, self.associative)


class RunningExtreme:
    """A running maximum or minimum; NaN from the first NaN on."""

    __slots__ = ("function", "largest")

    def __init__(self, function: Callable[..., tuple[Tensor, Tensor]], largest: bool) -> None:
        self.function = function
        self.largest = largest

    def resolve(self, given: torch.dtype, result: torch.dtype) -> Loop:
        """The loop for tensors of dtype ``given``, cast to dtype ``result``."""
        function = self.function
        if result.is_complex:
            reduction = (max_reduction if self.largest else min_reduction).resolve(result, result)

            def extreme(left: Tensor, right: Tensor) -> Tensor:
                return reduction(torch.stack([left, right]), 0, False)

            return Scanned(extreme, associative=True).resolve(given, result)
        return lambda tensor, dim: restored(function(ordered(cast(tensor, result)), dim)[0], result)


class RunningLogical:
    """A running any or all."""

    __slots__ = ("function",)

    def __init__(self, function: Callable[..., tuple[Tensor, Tensor]]) -> None:
        self.function = function

    def resolve(self, given: torch.dtype, result: torch.dtype) -> Loop:
        """The loop for tensors of dtype ``given``; the result is bool whatever ``result`` is."""
        function = self.function
        return lambda tensor, dim: function(tensor.to(torch.bool).view(torch.uint8), dim)[0].view(torch.bool)


any = RunningLogical(torch.cummax)
all = RunningLogical(torch.cummin)
sum = Accumulator(torch.cumsum, any)
prod = Accumulator(torch.cumprod, all)
max = RunningExtreme(torch.cummax, largest=True)
min = RunningExtreme(torch.cummin, largest=False)


def after_value(tensor: Tensor, value: int, dim: int) -> Tensor:
    """Put ``value`` before the first element along ``dim``."""
    shape = list(tensor.shape)
    shape[dim] = 1
    return torch.cat([torch.full(shape, value, dtype=tensor.dtype, device=tensor.device), tensor], dim)


@explaining
def difference(tensor: Tensor, dim: int) -> Tensor:
    """Subtract from each element along ``dim`` the one before it; for booleans, whether they differ."""
    size = tensor.shape[dim]
    count = size - 1 if size else 0
    here, before = tensor.narrow(dim, size - count, count), tensor.narrow(dim, 0, count)
    return here != before if tensor.dtype is torch.bool else _subtracted(here, before)


def _subtracted(one: Tensor, other: Tensor) -> Tensor:
    """Return ``one - other``; unsigned numbers go through the signed type, which has the same bits."""
    signed = SIGNED.get(one.dtype)
    return one - other if signed is None else (one.view(signed) - other.view(signed)).view(one.dtype)
