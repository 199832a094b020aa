"""Batching: buffers, refusals, and arguments that are as they were after one."""

from __future__ import annotations

import pytest
import torch

from backend_torch.autodiff import batching
from backend_torch.tensors import trace_state

Tensor = torch.Tensor


def rows() -> Tensor:
    return torch.arange(6.0).reshape(3, 2)


def test_a_buffer_for_each_slice() -> None:
    def function(tensors: list[Tensor]) -> list[Tensor]:
        (row,) = tensors
        out = torch.zeros(2)
        out[1] = row.sum()
        return [out]

    (result,) = batching.vmap(function, [rows()], [0])
    torch.testing.assert_close(result, torch.tensor([[0.0, 1], [0, 5], [0, 9]]))


def test_results_have_memory_of_their_own() -> None:
    x = rows()
    same, shared = batching.vmap(lambda tensors: [tensors[0], torch.eye(2)], [x], [0])
    same[...] = 7
    shared[0] = 7
    torch.testing.assert_close(x, rows())
    torch.testing.assert_close(shared[1], torch.eye(2))


def test_a_refusal_names_the_operation_and_undoes_writes() -> None:
    x = rows()

    def function(tensors: list[Tensor]) -> list[Tensor]:
        tensors[0].mul_(2)
        return [tensors[0][tensors[0] > 1]]

    with pytest.raises(batching.Refusal) as caught:
        batching.vmap(function, [x], [0])
    assert caught.value.operation == "__getitem__"
    torch.testing.assert_close(x, rows())
    assert not trace_state.is_batching()


@pytest.mark.parametrize(
    "write", [lambda t: t.add_(1), lambda t: torch.add(t, 1, out=t), lambda t: t.__setitem__(0, 1)]
)
def test_a_write_to_shared_memory_is_refused(write: object) -> None:
    shared = torch.zeros(2)
    with pytest.raises(batching.Refusal, match="the same for all elements"):
        batching.vmap(lambda tensors: [write(shared) or tensors[0]], [rows()], [0])  # type: ignore[operator]
    assert not shared.any()


def test_other_errors_are_the_function_s_own() -> None:
    with pytest.raises(ZeroDivisionError):
        batching.vmap(lambda tensors: [tensors[0] * (1 // 0)], [rows()], [0])
    with pytest.raises(RuntimeError, match="must match"):
        batching.vmap(lambda tensors: [tensors[0] + torch.ones(5)], [rows()], [0])


def test_gradients_inside_and_outside() -> None:
    w = torch.tensor([1.0, 2.0], requires_grad=True)

    def loss(w: Tensor, row: Tensor) -> Tensor:
        out = torch.zeros(2)
        out[0] = (w * row).sum()
        return out.square().sum()

    (inside,) = batching.vmap(lambda tensors: [torch.func.grad(loss)(w.detach(), tensors[0])], [rows()], [0])
    expected = torch.stack([torch.func.grad(loss)(w.detach(), row) for row in rows()])
    torch.testing.assert_close(inside, expected)
    (losses,) = batching.vmap(lambda tensors: [loss(w, tensors[0])], [rows()], [0])
    torch.testing.assert_close(torch.autograd.grad(losses.sum(), w)[0], expected.sum(0))


def test_dynamo() -> None:
    def function(x: Tensor) -> Tensor:
        return batching.vmap(lambda tensors: [tensors[0] * tensors[0].sum()], [x], [0])[0]

    compiled = torch.compile(function, backend="eager", fullgraph=True)
    torch.testing.assert_close(compiled(rows()), function(rows()))
