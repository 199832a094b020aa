"""Calls of Python's functions in graphs: they stay in order, and autograd records nothing of them."""

from __future__ import annotations

import gc

import torch

from backend_torch.graphs import compiling, host_calls
from backend_torch.graphs.graph import Graph
from backend_torch.tensors import trace_state


def traced(count: int) -> tuple[Graph, list[float]]:
    seen: list[float] = []

    def function(tensors: list[torch.Tensor]) -> list[torch.Tensor]:
        for factor in range(count):
            host_calls.notify(lambda values: seen.append(values[0].item()), [tensors[0] * factor])
        return [tensors[0] + 1, *trace_state.state.effects]

    return compiling.trace(function, [torch.ones(())]), seen


def test_each_call_waits_for_the_one_before() -> None:
    graph, seen = traced(3)
    calls = graph.module.graph.find_nodes(op="call_function", target=torch.ops.tnp_host.call.default)
    assert [len(node.args[2]) for node in calls] == [0, 1, 1]
    assert host_calls.has_effects(graph.module) and not seen
    assert compiling.Executable(graph, backend="eager").program([torch.ones(())])([torch.ones(())])[0] == 2
    assert seen == [0, 1, 2]
    assert not trace_state.state.effects


def test_a_function_goes_with_the_programs_that_call_it() -> None:
    gc.collect()  # the graphs of other tests
    before, (graph, seen) = host_calls.count(), traced(3)
    program = compiling.Executable(graph, backend="eager").program([torch.ones(())])
    del graph
    gc.collect()
    assert host_calls.count() == before + 3
    program([torch.ones(())])
    assert seen == [0, 1, 2]
    del program
    gc.collect()
    assert host_calls.count() == before


def test_autograd_goes_past_a_call() -> None:
    graph, seen = traced(1)
    x = torch.ones((), requires_grad=True)
    y = graph.module(x)[0]
    y.backward()
    assert x.grad == 1 and seen == [0]
