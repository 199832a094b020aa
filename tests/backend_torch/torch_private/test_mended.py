"""What torch lacks or gets wrong: where one of these fails, torch has mended it, and a row of the manifest can go."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch._dynamo

Tensor = torch.Tensor


class Number:
    """A class of somebody else's."""

    def __init__(self, value: int) -> None:
        self.value = value

    def __matmul__(self, other: Number) -> Number:
        return Number(self.value * 10 + other.value)

    def __invert__(self) -> Number:
        return Number(-self.value)


@pytest.mark.parametrize("operator", [lambda x: x @ x, lambda x: ~x])
def test_dynamo_knows_no_matmul_of_classes(operator: Callable[[Any], Any]) -> None:
    torch._dynamo.reset()
    with pytest.raises(torch._dynamo.exc.Unsupported, match="Failed to trace builtin operator"):
        torch.compile(lambda x: x + operator(Number(2)).value, backend="eager", fullgraph=True)(torch.ones(2))


def test_nonstrict_trace_takes_no_slices() -> None:
    part = torch._dynamo.nonstrict_trace(lambda x, where: x[where])
    torch._dynamo.reset()
    with pytest.raises(torch._dynamo.exc.Unsupported):
        torch.compile(lambda x: part(x, slice(0, 1)), backend="eager", fullgraph=True)(torch.ones(2))


def shifted(x: Tensor, y: Tensor) -> list[Tensor]:
    x[1:] = x[:-1].clone()
    return [x + 0]


def swapped(x: Tensor, y: Tensor) -> list[Tensor]:
    kept = x.clone()
    x.copy_(y)
    y.copy_(kept)
    return []


@pytest.mark.parametrize("function", [shifted, swapped])
def test_inductor_writes_before_it_reads(function: Callable[[Tensor, Tensor], list[Tensor]]) -> None:
    expected = [torch.arange(36.0).view(6, 6), torch.arange(36.0).view(6, 6) ** 2]
    found = [tensor.clone() for tensor in expected]
    torch._dynamo.reset()
    results = [*function(*expected), *expected], [*torch.compile(function)(*found), *found]
    assert not all(torch.equal(one, other) for one, other in zip(*results, strict=True))
