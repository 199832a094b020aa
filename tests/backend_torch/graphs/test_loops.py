"""Loops that are not lowered: how many the compiler gets, and how much is compiled for them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

import tnp
from backend_torch.graphs import code_cache, loop_lowering, loop_programs
from backend_torch.torch_private import inductor

Function = Callable[[Any], Any]


@pytest.fixture(autouse=True)
def nothing_is_lowered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loop_lowering, "lower", lambda module: False)
    monkeypatch.setattr(loop_programs, "program", lambda graph: None)
    monkeypatch.setattr(code_cache, "load", lambda name, sizes: None)


def compiled(function: Function, monkeypatch: pytest.MonkeyPatch, x: Any) -> tuple[int, int]:
    """How many loops the compiler gets, and how many operations with those in them."""
    seen: list[torch.fx.GraphModule] = []

    def compiled(module: torch.fx.GraphModule, *rest: Any) -> Any:
        seen.append(module)
        return lambda tensors: module(*tensors)

    monkeypatch.setattr(inductor, "compiled", compiled)
    tnp.compile(function).warmup(x)
    (module,) = seen
    loop = torch.ops.higher_order.while_loop
    parts = [part for part in module.modules() if isinstance(part, torch.fx.GraphModule)]
    operations = [node for part in parts for node in part.graph.nodes if node.op == "call_function"]
    operations = [node for node in operations if node.target is not torch.ops.aten.full.default]
    return sum(node.target is loop for node in operations), len(operations)


def added(steps: Any) -> Function:
    return lambda x: tnp.fori_loop(0, steps, lambda i, v: v + 1, x)


def test_what_is_compiled_does_not_grow_with_the_number_of_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    x = tnp.zeros(3)
    loops, operations = compiled(added(1000), monkeypatch, x)
    assert loops == 1
    assert operations < 300
    assert compiled(added(1000 + 10**4 * 128), monkeypatch, x) == (1, operations)
    assert compiled(lambda x: added(x.sum().astype(int))(x), monkeypatch, x)[0] == 3


@pytest.mark.parametrize(("steps", "loops"), [(0, 0), (1, 0), (255, 0), (256, 1), (300, 1)])
def test_few_steps_are_no_loop(steps: int, loops: int, monkeypatch: pytest.MonkeyPatch) -> None:
    assert compiled(added(steps), monkeypatch, tnp.zeros(3))[0] == loops


def test_a_counter_that_nothing_else_reads_costs_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    assert compiled(added(100), monkeypatch, tnp.zeros(3))[1] == 100


def test_other_loops_stay_as_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    x = tnp.eye(3)
    small = tnp.asarray([0], tnp.int8)[0]
    others: list[Function] = [
        lambda x: tnp.fori_loop(0, 1000, lambda i, v: v @ v, x),
        lambda x: tnp.while_loop(lambda v: v.sum() < 9, lambda v: v + 1, x),
        lambda x: tnp.while_loop(lambda v: v[0] < 100, lambda v: (v[0] + tnp.int8(1), v[1] + 1), (small, x)),
        lambda x: tnp.while_loop(lambda v: v[0] < 100, lambda v: (v[0] + 2, v[1] + 1), (0, x)),
    ]
    for function in others:
        assert compiled(function, monkeypatch, x)[0] == 1
