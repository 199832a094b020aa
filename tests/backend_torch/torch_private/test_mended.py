"""What torch lacks or gets wrong: where one of these fails, torch has mended it, and a row of the manifest can go."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch._dynamo
from torch._guards import TracingContext, tracing
from torch._inductor import config
from torch._inductor.compile_fx import compile_fx_inner
from torch._subclasses import FakeTensorMode
from torch.fx.experimental.proxy_tensor import make_fx
from torch.fx.passes.fake_tensor_prop import FakeTensorProp

from backend_torch.torch_private import inductor

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


def test_inductor_writes_to_expanded_tensors() -> None:
    def function(x: Tensor, place: Tensor) -> Tensor:
        return torch.ops.aten.index_put(torch.zeros(3).clone().expand(3, 3), [None, place], x) * 2

    x, place = torch.arange(3.0), torch.tensor(1)
    torch._dynamo.reset()
    assert not torch.equal(torch.compile(function)(x, place), function(x, place))


def compiled(function: Callable[[Tensor], list[Tensor]], x: Tensor) -> Tensor:
    """The first result of a function that Inductor compiles."""
    mode = FakeTensorMode()
    with tracing(TracingContext(mode)), config.patch(force_disable_caches=True):
        graph, fake = make_fx(function, tracing_mode="fake")(x), mode.from_tensor(x)
        FakeTensorProp(graph, mode).propagate_dont_convert_inputs(fake)
        code: Any = compile_fx_inner(graph, [fake])
    return code([x])[0]


def wiped(x: Tensor) -> list[Tensor]:
    def written(memory: Tensor, value: float | Tensor) -> Tensor:
        value = value if isinstance(value, Tensor) else torch.full((3, 3), value, dtype=torch.float64)
        return torch.as_strided_scatter(memory, value, (3, 3), (3, 1))

    def new(value: float | Tensor) -> Tensor:
        return written(torch.full((9,), 0.0, dtype=torch.float64), value).as_strided((3, 3), (3, 1))

    first = new(1.0)
    product = new(first) * x
    second = written(first, 0.0) + new(product)
    third = new(second)
    return [new(written(second, 0.0) + third)]


def test_inductor_forgets_what_a_loop_waits_for() -> None:
    x = torch.arange(3.0, dtype=torch.float64)
    if torch.__version__ < "2.14":
        assert not torch.equal(compiled(wiped, x), wiped(x)[0])
    with inductor.PATCHES.applied():
        assert torch.equal(compiled(wiped, x), wiped(x)[0])


def copied(x: Tensor) -> list[Tensor]:
    double = x * 2
    copy = double.new_empty_strided([1], [1])
    copy.copy_(double[1:2])
    return [copy.as_strided([1], [1], 0).clone(), double]


def test_inductor_counts_from_the_start_of_another_memory() -> None:
    x, pure = torch.arange(1.0, 4), torch.func.functionalize(copied, remove="mutations")
    if torch.__version__ < "2.14":
        assert not torch.equal(compiled(pure, x), copied(x)[0])
    with inductor.PATCHES.applied():
        assert torch.equal(compiled(pure, x), copied(x)[0])


def moved(x: Tensor) -> list[Tensor]:
    written = torch.index_put(x, [torch.tensor(1)], x[0], accumulate=True)
    rows = torch.slice_scatter(written, written[:-1].clone(), 0, 1)
    x.copy_(rows)
    return [x]


def test_inductor_fuses_reads_of_other_parts() -> None:
    x = torch.arange(16.0, dtype=torch.float64).view(4, 4)
    expected = moved(x.clone())[0]
    if torch.__version__ < "2.14":
        assert not torch.equal(compiled(moved, x.clone()), expected)
    with inductor.PATCHES.applied():
        assert torch.equal(compiled(moved, x.clone()), expected)


def joined(x: Tensor) -> list[Tensor]:
    low, high = x[:1] * 2, x[1:2] * 3
    found = torch.where(x[:1] > 0, low, torch.cat([low, high]).mean())  # in the place of `low`, a part of the two
    last = torch.sort(torch.sort(x + found)[0][:2] * 5)[0]  # what is sorted lies where the two were
    return [found, last, torch.sort((last[0] * x[:, None] * x).reshape(-1))[0]]


def test_inductor_reuses_concatenations() -> None:
    x = torch.arange(1.0, 7, dtype=torch.float64)
    if torch.__version__ < "2.14":
        assert not torch.equal(compiled(joined, x), joined(x)[0])
    with inductor.PATCHES.applied():
        assert torch.equal(compiled(joined, x), joined(x)[0])
