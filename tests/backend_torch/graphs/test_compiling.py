"""Tracing functions of tensors, and the programs that come of it."""

from __future__ import annotations

import math
import os
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import mpmath
import numpy as np
import pytest
import torch

from backend_torch.graphs import compiling
from backend_torch.graphs.compiling import Executable, trace
from backend_torch.graphs.graph import Graph
from backend_torch.tensors import memory
from backend_torch.tensors.constants import constant
from backend_torch.tensors.trace_state import TracedValueError, is_tracing
from backend_torch.torch_private import guards, inductor, traces
from tests import processes

Tensor = torch.Tensor


def traced(function: Callable[..., Sequence[Tensor]], *tensors: Tensor) -> Graph:
    return trace(lambda stand_ins: function(*stand_ins), tensors)


def run(graph: Graph, *tensors: Tensor, **options: object) -> Sequence[Tensor]:
    inputs = [*tensors, *graph.captures]
    return Executable(graph, **options).program(inputs)(inputs)  # type: ignore[arg-type]


def operations(graph: Graph) -> list[str]:
    return [node.target.__name__ for node in graph.module.graph.nodes if node.op == "call_function"]


@pytest.fixture(params=["eager", "inductor"])
def backend(request: pytest.FixtureRequest) -> str:
    return str(request.param)


# What a graph reads.


def test_code_of_graphs_is_written_when_they_run() -> None:
    graph = traced(lambda x: [x + 1], torch.arange(3.0))
    assert graph.module._needs_recompile()
    assert run(graph, torch.ones(3), backend="eager")[0].tolist() == [2.0] * 3
    assert not graph.module._needs_recompile() and "def forward" in graph.module.code


def test_python_runs_once_and_without_values() -> None:
    runs = []

    def function(x: Tensor) -> list[Tensor]:
        runs.append((traces.is_fake(x), is_tracing()))
        return [x + 1]

    traced(function, torch.arange(3.0))
    assert runs == [(True, True)]
    assert not is_tracing()


def test_constants_are_literals_and_not_inputs() -> None:
    one, zero = constant(1.0, np.dtype("f4")), constant(0.0, np.dtype("f4"))
    minus = constant(-0.0, np.dtype("f4"))
    graph = traced(lambda x: [one / (one + torch.exp(-x)) + zero + minus], torch.ones(3))
    assert graph.captures == []
    assert operations(graph).count("full.default") == 3
    assert operations(graph).count("add.Tensor") == 3


@pytest.mark.parametrize("real", [0.0, -0.0, 1.5, -1.5, np.inf, np.nan])
def test_complex_literals_keep_the_signs_of_their_zeros(real: float) -> None:
    numbers = [constant(complex(real, each), np.dtype("c16")) for each in (0.0, -0.0, 2.5, -2.5, -np.inf)]
    graph = traced(lambda x: [torch.stack([number.expand(1) for number in numbers]), x], torch.ones(1))
    found, _ = run(graph, torch.ones(1), backend="eager")
    assert str(torch.view_as_real(found).tolist()) == str(torch.view_as_real(torch.stack(numbers)[:, None]).tolist())


def test_captures_are_read_by_reference(backend: str) -> None:
    w = torch.ones(3)
    graph = traced(lambda x: [x * w + w], torch.ones(3))
    assert [c is w for c in graph.captures] == [True]
    program = Executable(graph, backend=backend).program([torch.ones(3), w])
    w.fill_(5)
    assert program([torch.ones(3), w])[0].tolist() == [10.0, 10.0, 10.0]


def test_a_capture_that_numpy_has_seen() -> None:
    w = torch.ones(4, 5)
    w.numpy()  # from here on torch refuses to resize the memory
    index = torch.tensor([0, 1, 2, 3, 0, 1])
    graph = traced(lambda x: [w[index] * x, w[1:, 2]], torch.ones(5))
    assert len(graph.captures) == 2
    picked, view = run(graph, torch.ones(5), backend="eager")
    assert picked.shape == (6, 5)
    assert view.data_ptr() == w[1:, 2].data_ptr()


def test_host_data_is_shared_or_new() -> None:
    shared, new = np.ones(3, "f4"), np.ones(3, "f4")

    def function(x: Tensor) -> list[Tensor]:
        return [memory.from_numpy(shared).add_(x), memory.fresh(memory.from_numpy(new)).add_(x)]

    graph = traced(function, torch.ones(3))
    for calls in (1, 2):
        first, second = run(graph, torch.ones(3), backend="eager")
        assert first.tolist() == [1.0 + calls] * 3 == shared.tolist()
        assert second.tolist() == [2.0] * 3
        assert new.tolist() == [1.0] * 3


def test_new_data_is_new_at_each_call() -> None:
    def function(x: Tensor) -> list[Tensor]:
        buffer = torch.tensor([1.0, 2.0, 3.0])
        buffer += x
        return [buffer, x * torch.tensor(2.0)]

    graph = traced(function, torch.ones(3))
    assert graph.written == frozenset()
    for _ in range(2):
        first, second = run(graph, torch.ones(3), backend="eager")
        assert first.tolist() == [2.0, 3.0, 4.0]
        assert second.tolist() == [2.0, 2.0, 2.0]


# What a graph writes.


def test_writes_happen(backend: str) -> None:
    counter = torch.zeros((), dtype=torch.int64)

    def function(x: Tensor) -> list[Tensor]:
        counter.add_(1)
        x[1:].mul_(3)
        return [x.sum()]

    graph = traced(function, torch.ones(3))
    assert counter == 0
    assert graph.written == {0, 1}
    x = torch.ones(3)
    program = Executable(graph, backend=backend).program([x, counter])
    assert program([x, counter])[0] == 7
    assert program([x, counter])[0] == 19
    assert x.tolist() == [1, 9, 9]
    assert counter == 2


def test_a_graph_that_only_writes(backend: str) -> None:
    x = torch.ones(3)
    assert list(run(traced(lambda x: [x.add_(1)][:0], x), x, backend=backend)) == []
    assert x.tolist() == [2, 2, 2]


def test_overlapping_arguments_are_written_in_order(backend: str) -> None:
    def function(x: Tensor, y: Tensor) -> list[Tensor]:
        x.add_(1)
        y.mul_(2)
        return [x + y]

    graph = traced(function, torch.ones(3), torch.ones(3))
    for shared in (False, True):
        memory = torch.arange(4.0)
        x, y = memory[:3], memory[1:] if shared else torch.arange(1.0, 4.0)
        expected = memory.clone()
        expected_x, expected_y = expected[:3], expected[1:] if shared else y.clone()
        wanted = function(expected_x, expected_y)[0]
        assert run(graph, x, y, backend=backend)[0].tolist() == wanted.tolist()
        assert memory.tolist() == expected.tolist()


# What results share.


def test_results_alias_as_they_do_eagerly(backend: str) -> None:
    def function(x: Tensor) -> list[Tensor]:
        y = x + 1
        return [x, x[::2], y, y[1:], y.view(torch.int32), y]

    x = torch.arange(4.0)
    same, view, y, part, bits, again = run(traced(function, x), x, backend=backend)
    assert same.data_ptr() == x.data_ptr()
    x[2] = 9
    assert view.tolist() == [0, 9]
    y[1] = 7
    assert part.tolist() == [7, 3, 4]
    assert bits[1] == torch.tensor(7.0).view(torch.int32)
    assert again[1] == 7


def test_new_results_share_nothing() -> None:
    def function(x: Tensor) -> list[Tensor]:
        new = [x.clone(), x * 1, x + 0, torch.neg(-x), (x * 1).reshape(3, 1)[:, 0], x + 1, x + 1]
        return [*new, torch.zeros(3), torch.zeros(3), torch.stack([x])[0]]

    x = torch.arange(3.0)
    results = run(traced(function, x), x)
    for result, expected in zip(results, function(x), strict=True):
        assert result.tolist() == expected.tolist()
    storages = {tensor.untyped_storage().data_ptr() for tensor in [x, *results]}
    assert len(storages) == 1 + len(results)


@pytest.mark.parametrize("copy", [torch.clone, lambda x: x * 1, lambda x: (x + 0).reshape(3, 1)[:, 0]])
def test_a_copy_is_of_what_was_there_before_a_write(copy: Callable[[Tensor], Tensor], backend: str) -> None:
    def function(x: Tensor) -> list[Tensor]:
        before = copy(x)
        x += 1
        return [before, copy(x)]

    x = torch.zeros(3)
    before, after = run(traced(function, x), x, backend=backend)
    assert (before.tolist(), after.tolist(), x.tolist()) == ([0] * 3, [1] * 3, [1] * 3)
    x += 1
    assert after.tolist() == [1] * 3


def test_results_of_which_none_is_whole_run_eagerly() -> None:
    def function(x: Tensor) -> list[Tensor]:
        y = x + 1
        return [y[:3], y[1:]]

    graph = traced(function, torch.arange(4.0))
    assert graph.outputs is None
    first, second = run(graph, torch.arange(4.0))
    first[1] = 9
    assert second.tolist() == [9, 3, 4]


def test_a_view_of_an_argument_counts_from_where_that_starts() -> None:
    graph = traced(lambda x: [x[1:]], torch.zeros(3))
    assert operations(graph) == ["slice.Tensor"]
    assert run(graph, torch.arange(6.0)[2:5])[0].tolist() == [3, 4]


def test_nothing_in_and_nothing_out() -> None:
    assert list(run(traced(list))) == []
    assert run(traced(lambda: [torch.zeros(2)]), backend="eager")[0].tolist() == [0, 0]


# Errors.


@pytest.mark.parametrize(
    "function",
    [
        lambda x: [x] if x.sum() > 0 else [],
        lambda x: [x + float(x[0])],
        lambda x: [x[int(x[0]) :]],
        lambda x: [x] * x[0].item(),
        lambda x: [x for _ in range(x[0].long())],
    ],
)
def test_a_demand_for_a_value_names_the_line(function: Callable[[Tensor], list[Tensor]]) -> None:
    line = function.__code__.co_firstlineno
    with pytest.raises(TracedValueError, match=rf"test_compiling.py:{line}: .*tnp.where.*tnp.cond.*tnp.while_loop"):
        traced(function, torch.ones(3))
    assert not is_tracing()


@pytest.mark.parametrize(
    "counts",
    [
        lambda index, x: torch.bincount(index).tolist(),
        lambda index, x: torch.sort(index, descending=True).values[:2].tolist(),
        lambda index, x: torch.repeat_interleave(index).tolist(),
        lambda index, x: torch.nonzero(index > 1).flatten().tolist(),
        lambda index, x: (torch.arange(4) * 2 + index.sum()).tolist(),
        lambda index, x: [torch.equal(index, index + 0), bool(torch.zeros(2).any())],
        lambda index, x: index.to(torch.float64).mean().item(),
    ],
)
def test_what_is_computed_of_pythons_data_alone_is_known(counts: Callable[[Tensor, Tensor], Any]) -> None:
    """A trace may ask for it, and for shapes that depend on it."""
    expected = counts(torch.tensor([3, 0, 3]), torch.ones(2))
    found = []
    traced(lambda x: [found.append(counts(torch.tensor([3, 0, 3]), x)), x][1:], torch.ones(2))
    assert found == [expected]


def test_a_shape_that_depends_on_pythons_data_is_that_of_the_graph() -> None:
    graph = traced(lambda x: [x[torch.nonzero(torch.tensor([1, 0, 1]))[:, 0]]], torch.ones(3))
    assert run(graph, torch.tensor([1.0, 2.0, 3.0]))[0].tolist() == [1, 3]


@pytest.mark.parametrize(
    "function",
    [
        lambda data, x: data.copy_(x),
        lambda data, x: data[:1].fill_(x[0]),
        lambda data, x: data.view(-1).mul_(x),
        lambda data, x: (data + 0).data.add_(x),
        lambda data, x: torch.rand(2),
        lambda data, x: data + torch.rand(2),
        lambda data, x: torch.bernoulli(data),
        lambda data, x: data * x,
    ],
)
def test_what_depends_on_an_argument_or_chance_is_not_known(function: Callable[[Tensor, Tensor], Tensor]) -> None:
    """A view that was known before the write, too."""

    def traced_function(x: Tensor) -> list[Tensor]:
        data = torch.tensor([0.5, 0.5])
        known = data + 0
        view = known[:]
        result = function(known, x)
        assert view.tolist() == [0.5, 0.5]
        result.tolist()
        return [x]

    with pytest.raises(TracedValueError):
        traced(traced_function, torch.ones(2))


def test_the_value_of_a_capture_is_not_baked_in() -> None:
    w = torch.ones(3)
    with pytest.raises(TracedValueError):
        traced(lambda x: [x + w[0].item()], torch.ones(3))


def test_a_host_function_asks_for_values() -> None:
    with pytest.raises(TracedValueError, match=r"test_compiling\.py"):
        traced(lambda x: [torch.tensor(memory.to_numpy(x).sum())], torch.ones(3))


def test_a_shape_that_depends_on_values() -> None:
    with pytest.raises(TracedValueError, match=r"test_compiling\.py:.*tnp\.where"):
        traced(lambda x: [x[x > 0]], torch.ones(3))
    with pytest.raises(TracedValueError, match="nonzero"):
        traced(lambda x: [x.nonzero()], torch.ones(3))


def test_an_error_of_the_function_is_its_own() -> None:
    with pytest.raises(RuntimeError, match="broadcast"):
        traced(lambda x: [x + torch.zeros(4)], torch.ones(3))
    with pytest.raises(IndexError):
        traced(lambda x: [x[7]], torch.ones(3))


# Programs.


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.int64, torch.bool])
def test_signature_check(dtype: torch.dtype) -> None:
    x = torch.ones(2, 3).to(dtype)
    check = compiling.same_signature([x])
    assert check(torch.zeros(2, 3).to(dtype))
    for wrong in (x[:1], x.mT, x.to(torch.uint8), x[0], x.repeat(1, 2)[:, ::2]):
        assert not check(wrong)
    if dtype.is_floating_point:
        assert not check(x.clone().requires_grad_())


def test_signature_check_of_a_tensor_that_is_there_twice() -> None:
    x, y = torch.ones(3), torch.ones(4)
    matches = compiling.same_signature([x, y, x, x])
    other = torch.zeros(3)
    assert matches(x, y, x, x) and matches(other, y, other, other)
    assert not matches(x, y, x, other) and not matches(other, y, x, x) and not matches(y, y, y, y)


def test_signature_check_without_torchs_own(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*args: Any, **kwargs: Any) -> None:
        raise TypeError

    monkeypatch.setattr(guards, "TensorGuards", refuse)
    test_signature_check(torch.float32)


def test_gradients_flow_to_arguments_and_captures() -> None:
    w = torch.full((3,), 2.0, requires_grad=True)
    graph = traced(lambda x: [(x * x * w).sum()], torch.ones(3))
    x = torch.arange(3.0, requires_grad=True)
    run(graph, x)[0].backward()
    assert x.grad is not None and x.grad.tolist() == [0, 4, 8]
    assert w.grad is not None and w.grad.tolist() == [0, 1, 4]
    with torch.no_grad():
        assert not run(graph, x)[0].requires_grad


def test_a_training_step() -> None:
    w = torch.ones(3, requires_grad=True)

    def step(x: Tensor) -> list[Tensor]:
        loss = ((w - x) ** 2).sum()
        (gradient,) = torch.autograd.grad(loss, [w])
        with torch.no_grad():
            w.sub_(0.25 * gradient)
        return [loss.detach()]

    graph = traced(step, torch.ones(3))
    assert [float(run(graph, torch.zeros(3))[0]) for _ in range(3)] == [3, 0.75, 0.1875]
    assert w.tolist() == [0.125] * 3
    assert w.requires_grad and w.is_leaf


def test_autograd_sees_writes() -> None:
    graph = traced(lambda x: [x.mul_(2)], torch.ones(3))
    x = torch.ones(3)
    w = torch.ones(3, requires_grad=True)
    product = (w * x).sum()
    run(graph, x)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        product.backward()


def test_gradients_flow_through_writes() -> None:
    graph = traced(lambda x, y: [x.mul_(y).sum()], torch.ones(3), torch.ones(3))
    x, y = torch.ones(3), torch.full((3,), 2.0, requires_grad=True)
    run(graph, x, y)[0].backward()
    assert y.grad is not None and y.grad.tolist() == [1, 1, 1]


def test_random_numbers_are_fresh_and_reproducible() -> None:
    graph = traced(lambda x: [x + torch.rand(3)], torch.zeros(3))
    program = Executable(graph).program([torch.zeros(3)])
    torch.manual_seed(7)
    first, second = program([torch.zeros(3)])[0], program([torch.zeros(3)])[0]
    torch.manual_seed(7)
    assert (program([torch.zeros(3)])[0] == first).all()
    assert (first != second).any()


def test_other_backends_are_torch_compiles() -> None:
    seen = []

    def backend(module: torch.fx.GraphModule, inputs: list[Tensor]) -> Callable[..., object]:
        seen.append(len(inputs))
        return module.forward

    assert run(traced(lambda x: [x + 1], torch.ones(3)), torch.ones(3), backend=backend)[0].tolist() == [2, 2, 2]
    assert seen == [1]


def test_unknown_backends_and_settings() -> None:
    graph = traced(lambda x: [x + 1], torch.ones(3))
    with pytest.raises(ValueError, match="backend 'nonsense'"):
        Executable(graph, backend="nonsense")
    with pytest.raises(ValueError, match="no setting 'nonsense'"):
        Executable(graph, options={"nonsense": 1})
    with pytest.raises(RuntimeError, match="nonsense"):
        Executable(graph, mode="nonsense")


def test_a_failing_compiler_leaves_the_graph(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise RuntimeError("no such thing\nand more")

    monkeypatch.setattr(inductor, "compiled", fail)
    monkeypatch.setattr(compiling, "warned", set())
    graph = traced(lambda x: [x + x.sum() - 2], torch.ones(3))
    with pytest.warns(RuntimeWarning, match="RuntimeError: no such thing$"):
        assert run(graph, torch.ones(3), backend="inductor")[0].tolist() == [2, 2, 2]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert run(graph, torch.ones(3), backend="inductor")[0].tolist() == [2, 2, 2]


_WITHOUT_COMPILER = """
import torch, warnings
from backend_torch.graphs.compiling import Executable, trace
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    for _ in range(2):
        graph = trace(lambda tensors: [tensors[0].exp() + 1], [torch.zeros(3)])
        assert Executable(graph).program([torch.zeros(3)])([torch.zeros(3)])[0].tolist() == [2, 2, 2]
print([str(w.message) for w in caught if issubclass(w.category, RuntimeWarning)])
"""


def test_without_a_cpp_compiler(tmp_path: os.PathLike[str]) -> None:
    environment = {"CXX": "/nonexistent/c++", "TORCHINDUCTOR_CACHE_DIR": os.fspath(tmp_path)}
    done = processes.run("-c", _WITHOUT_COMPILER, **environment)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("tnp.compile runs the traced operations one by one") == 1, done.stdout
    assert "/nonexistent/c++" in done.stdout


# Inductor's vectorised code.

_EDGES = [0.0, -0.0, 1.5, -1.5, torch.inf, -torch.inf, torch.nan, 0.3, 100.0, 1e-20, -1e-9, 3e30, 1.0, -7.0, 0.1, 1e-3]


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.float16])
def test_compiled_operations_keep_their_digits(dtype: torch.dtype) -> None:
    x, y = (t.ravel().contiguous() for t in torch.meshgrid(*[torch.tensor(_EDGES).to(dtype)] * 2, indexing="ij"))

    def function(x: Tensor, y: Tensor) -> list[Tensor]:
        results = [torch.expm1(x), torch.atanh(x), torch.acosh(x), torch.tanh(x)]
        results += [torch.log1p(x), torch.hypot(x, y), torch.logaddexp(x, y)]
        if dtype is not torch.float16:
            results += [torch.remainder(x, 0.3), torch.floor_divide(x, 0.1), torch.floor_divide(x, y)]
        return results

    results = run(traced(function, x, y), x, y)
    expected = function(x, y)
    if dtype is not torch.float16:
        with np.errstate(all="ignore"):
            expected[-1] = torch.from_numpy(np.floor_divide(x.numpy(), y.numpy()))
    tolerance = {torch.float32: 1e-6, torch.float64: 1e-14, torch.float16: 2e-3}[dtype]
    for result, wanted in zip(results, expected, strict=True):
        torch.testing.assert_close(result, wanted, rtol=tolerance, atol=0, equal_nan=True)
        assert (torch.signbit(result) == torch.signbit(wanted))[~wanted.isnan()].all()


def test_errors_of_compiled_functions_are_an_ulp() -> None:
    """``logaddexp`` is a sum of two functions, as NumPy's is."""
    rng = np.random.default_rng(0)
    size = 10.0 ** rng.uniform(-25, 0, 500)
    x = torch.from_numpy(np.concatenate([rng.choice([-1, 1], 500) * size, rng.uniform(-1, 3, 500)]))
    y = torch.from_numpy(np.concatenate([size * rng.uniform(0.1, 1, 500), rng.uniform(-3, 3, 500)]))
    exact = [mpmath.expm1, mpmath.log1p, lambda x, y: mpmath.log(mpmath.exp(x) + mpmath.exp(y)), mpmath.hypot]

    def function(x: Tensor, y: Tensor) -> list[Tensor]:
        return [torch.expm1(x), torch.log1p(x), torch.logaddexp(x, y), torch.hypot(x, y)]

    results = [result.tolist() for result in run(traced(function, x, y), x, y)]
    with mpmath.workprec(200):
        for index, values in enumerate(zip(x.tolist(), y.tolist(), strict=True)):
            for wanted, result in zip(exact, results, strict=True):
                given = values if wanted in exact[2:] else values[:1]
                got = result[index]
                unit = 1.5 * max(map(math.ulp, (got, *given))) if wanted is exact[2] else math.ulp(got)
                assert abs(wanted(*map(mpmath.mpf, given)) - got) <= unit, given


def test_compiled_next_half() -> None:
    x = torch.tensor([0.0, 1.0, -1.0, 65504.0, torch.inf, torch.nan, 6e-8, 2.0], dtype=torch.float16)
    y = torch.tensor([-1.0, 2.0, 0.0, torch.inf, 0.0, 1.0, 0.0, 2.0], dtype=torch.float16)
    with np.errstate(over="ignore"):
        expected = torch.from_numpy(np.nextafter(x.numpy(), y.numpy()))
    result = run(traced(lambda x, y: [torch.nextafter(x, y)], x, y), x, y)[0]
    torch.testing.assert_close(result, expected, rtol=0, atol=0, equal_nan=True)


# Writes that reach what is read.


def _shift(x: Tensor, y: Tensor) -> Sequence[Tensor]:
    x[1:] = x[:-1].clone()
    return [x + 0]


def _swap(x: Tensor, y: Tensor) -> Sequence[Tensor]:
    kept = x.clone()
    x.copy_(y)
    y.copy_(kept)
    return []


def _copy_and_clear(x: Tensor, y: Tensor) -> Sequence[Tensor]:
    kept = x.clone()
    kept[1:3] = y[1:3]
    x.zero_()
    return [kept]


@pytest.mark.parametrize("function", [_shift, _swap, _copy_and_clear])
def test_what_is_written_to_is_read_before(function: Callable[..., Sequence[Tensor]]) -> None:
    torch.manual_seed(0)
    expected = [torch.randn(6, 6, dtype=torch.float64) for _ in range(2)]
    found = [tensor.clone() for tensor in expected]
    results = run(traced(function, *found), *found)
    for one, other in zip([*results, *found], [*function(*expected), *expected], strict=True):
        torch.testing.assert_close(one, other, rtol=0, atol=0)


def test_others_passes_stay_as_they_are() -> None:
    """What torch.compile does without tnp is torch's own, right or not."""
    from torch._inductor.fx_passes import post_grad, reinplace

    parts = [torch.zeros(6)[:3], torch.zeros(6)[3:]]
    (condition, _), clone = post_grad.noop_registry[torch.ops.aten.clone.default], torch.zeros(3)
    assert condition(clone, clone) and reinplace.compute_overlapping_tensors(parts, symbolic=False) == set()
    with inductor.PATCHES.applied():
        (condition, _) = post_grad.noop_registry[torch.ops.aten.clone.default]
        assert not condition(clone, clone)
        assert reinplace.compute_overlapping_tensors(parts, symbolic=False) == {0, 1}


def test_derivatives_are_compiled_with_the_same_passes(monkeypatch: pytest.MonkeyPatch) -> None:
    """They are compiled when they are first asked for, after the function."""
    from torch._inductor import compile_fx

    compiled, seen = compile_fx.compile_fx_inner, []

    def watched(*args: Any, **kwargs: Any) -> Any:
        seen.append(inductor.PATCHES.either(lambda: True, lambda: False)())
        return compiled(*args, **kwargs)

    monkeypatch.setattr(compile_fx, "compile_fx_inner", watched)
    x = torch.linspace(0.1, 0.7, 5, dtype=torch.float64, requires_grad=True)
    (result,) = run(traced(lambda x: [(x.sin() * x).sum()], x), x)
    assert seen == [True]
    result.backward()
    assert seen == [True, True]
    torch.testing.assert_close(x.grad, (x.sin() + x * x.cos()).detach())
