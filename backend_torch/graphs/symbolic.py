"""Sizes that a trace leaves open: symbols stand for them, and what the trace supposes of them is checked at each call.

Layer: owns which sizes are symbols, the conditions on them, and numbers that are computed from them. torch's symbolic
shapes do the algebra; they are imported once they are asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from typing import Any

import torch

from backend_torch.tensors import aliasing
from backend_torch.torch_private import symbolic_shapes, traces
from backend_torch.torch_private.guards import same_signature

Tensor = torch.Tensor
_KNOWN = 1024  # sizes for which the algebra is done once
Symbol = (torch.SymInt, torch.SymFloat, torch.SymBool)


def is_symbol(value: object) -> bool:
    """Whether a value is a number that a trace leaves open."""
    return isinstance(value, Symbol)


def is_size(kind: type) -> bool:
    """Whether a type is that of sizes that a trace leaves open: Python integers to those who compute with them."""
    return kind is torch.SymInt


def decided(value: Any) -> Any:
    """The number that a symbol stands for: from here on the trace holds for this number alone."""
    if isinstance(value, torch.SymBool):
        return bool(value)
    return float(value) if isinstance(value, torch.SymFloat) else int(value)


def pattern(tensors: Sequence[Tensor]) -> tuple[Any, ...]:
    """What a trace with open sizes depends on, to be hashed and compared."""
    return tuple(
        [
            (
                tensor.dtype,
                tensor.device,
                tuple([-1 if _is_open(tensor, n) else n for n in tensor.shape]),
                _layout(tensor),
            )
            for tensor in tensors
        ]
    )


def _is_open(tensor: Tensor, size: int) -> bool:
    """Whether a size of the tensor is left open; not if it is empty, of which torch 2.15 can't name the others."""
    return size > 1 and tensor.numel() > 0


def _layout(tensor: Tensor) -> tuple[int, ...]:
    """The axes from the one with the largest stride to the one with the smallest; strides where there are gaps."""
    if aliasing.is_plain(tensor):
        return ()
    order = sorted(range(tensor.dim()), key=lambda axis: (-tensor.stride()[axis], axis))
    expected = 1
    for axis in reversed(order):
        if tensor.stride(axis) != expected:
            return (-1, *tensor.stride())
        expected *= max(tensor.shape[axis], 1)
    return tuple(order)


class Sizes:
    """The open sizes of some tensors: all from 2 on of those that are not empty, each a symbol of its own.

    Parameters
    ----------
    tensors : sequence of Tensor
        Whose sizes they are now.

    Attributes
    ----------
    holds : callable
        ``holds(*tensors)``: whether other tensors of the same :func:`pattern` meet what has been supposed.
    """

    def __init__(self, tensors: Sequence[Tensor]) -> None:
        self._environment = symbolic_shapes.new_environment()
        self._places = [(i, axis) for i, t in enumerate(tensors) for axis, n in enumerate(t.shape) if _is_open(t, n)]
        self._names: list[Any] = []
        self._symbols: list[Any] = []
        for index, (i, axis) in enumerate(self._places):
            name, symbol = symbolic_shapes.new_symbol(self._environment, f"t{index}", tensors[i].shape[axis])
            self._names.append(name)
            self._symbols.append(symbol)
        self.holds: Callable[..., bool] = lambda *tensors: True

    def mode(self) -> traces.FakeTensorMode:
        """A mode under which tensors without data may have these sizes."""
        return traces.new_fake_mode(self._environment)

    def like(self, mode: traces.FakeTensorMode, tensors: Sequence[Tensor]) -> list[Tensor]:
        """The tensors without data and with symbols for sizes, laid out as they are."""
        symbols = iter(self._symbols)
        return [self._like(mode, tensor, symbols) for tensor in tensors]

    def _like(self, mode: traces.FakeTensorMode, tensor: Tensor, symbols: Iterator[Any]) -> Tensor:
        sizes = [next(symbols) if _is_open(tensor, n) else n for n in tensor.shape]
        layout = _layout(tensor) or tuple(range(tensor.dim()))
        strides: list[Any] = list(layout[1:])
        if layout[:1] != (-1,):
            strides, expected = [0] * len(sizes), 1
            for axis in reversed(layout):
                strides[axis] = expected
                expected = expected * max(sizes[axis], 1) if tensor.shape[axis] < 2 else expected * sizes[axis]
        return traces.empty(mode, sizes, strides, tensor)

    def settle(self) -> None:
        """Let :attr:`holds` check all that has been supposed until now."""
        supposed = self._environment.produce_guards_expression(self._symbols)
        if supposed is None:
            return

        @lru_cache(_KNOWN)
        def met(sizes: tuple[int, ...]) -> bool:
            return bool(self._environment.evaluate_guards_expression(supposed, sizes))

        self.holds = lambda *tensors: met(self._of(tensors))

    def matching(self, tensors: Sequence[Tensor], count: int) -> Callable[..., bool]:
        """A check whether other tensors, of which the first ``count`` have open sizes, can stand for these."""
        same, similar = same_signature(tensors), same_signature(tensors, count)

        def without_data(geometry: Sequence[Any]) -> list[Tensor]:
            return [
                torch.empty_strided(*sizes, dtype=tensor.dtype, device="meta")
                for sizes, tensor in zip(geometry, tensors, strict=False)
            ]

        expected = pattern(without_data([(tensor.shape, tensor.stride()) for tensor in tensors[:count]]))

        @lru_cache(_KNOWN)
        def met(geometry: tuple[Any, ...]) -> bool:
            others = without_data(geometry)
            return pattern(others) == expected and self.holds(*others)

        return lambda *others: (
            same(*others) or (similar(*others) and met(tuple([(t.shape, t.stride()) for t in others[:count]])))
        )

    def formula(self, numbers: Sequence[Any]) -> Callable[..., list[int]]:
        """A function of the tensors that computes these numbers from their sizes."""
        expressions = [number.node.expr if is_symbol(number) else number for number in numbers]

        @lru_cache(_KNOWN)
        def computed(sizes: tuple[int, ...]) -> list[int]:
            known = dict(zip(self._names, sizes, strict=True))
            return [x if isinstance(x, int) else symbolic_shapes.value_of(x, known) for x in expressions]

        return lambda *tensors: computed(self._of(tensors))

    def _of(self, tensors: Sequence[Tensor]) -> tuple[int, ...]:
        return tuple([tensors[index].shape[axis] for index, axis in self._places])
