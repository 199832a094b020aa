"""Levels of ``torch.func`` entered directly: what torch's own functions give, and levels that are closed again."""

from __future__ import annotations

import pytest
import torch

from backend_torch.autodiff import transform_levels
from backend_torch.torch_private import functorch

Tensor = torch.Tensor


def function(x: Tensor, y: Tensor, z: Tensor) -> tuple[Tensor, ...]:
    return (x.sin() * y).sum(), x * 2


def arguments() -> list[Tensor]:
    return [torch.tensor([0.5, 1.5]), torch.tensor([2.0, 3.0]), torch.ones(3)]


@pytest.mark.parametrize("inference", [False, True])
@pytest.mark.parametrize("enabled", [False, True])
def test_value_and_gradients(enabled: bool, inference: bool) -> None:
    if inference and functorch.IS_BLIND_IN_INFERENCE_MODE:
        pytest.skip("no derivatives in inference mode before torch 2.13; test_autodiff says what is raised")
    x, y, z = arguments()
    with torch.inference_mode(inference), torch.set_grad_enabled(enabled):
        before = torch.is_grad_enabled()
        results, gradients = transform_levels.value_and_gradients(function, [x, y, z])
        assert torch.is_grad_enabled() == before
    torch.testing.assert_close(results[0], (x.sin() * y).sum())
    torch.testing.assert_close(results[1], x * 2)
    for found, expected in zip(gradients, [x.cos() * y, x.sin(), torch.zeros(3)], strict=True):
        torch.testing.assert_close(found, expected)
        assert not found.requires_grad


def test_a_constant_has_zeros() -> None:
    _, gradients = transform_levels.value_and_gradients(lambda *tensors: (torch.ones(()),), arguments())
    assert [gradient.tolist() for gradient in gradients] == [[0, 0], [0, 0], [0, 0, 0]]


def test_levels_nest_and_gradients_flow_to_what_is_around() -> None:
    weight = torch.tensor([1.0, 2.0], requires_grad=True)

    def outer(x: Tensor) -> tuple[Tensor, ...]:
        _, (inner,) = transform_levels.value_and_gradients(lambda y: ((y**3 * weight).sum(),), [x])
        return (inner.sum(),)

    x = torch.tensor([2.0, 3.0])
    (value,), (second,) = transform_levels.value_and_gradients(outer, [x])
    torch.testing.assert_close(second.detach(), 6 * x * weight.detach())
    (by_weight,) = torch.autograd.grad(value, weight)
    torch.testing.assert_close(by_weight, 3 * x**2)


def test_levels_are_closed_after_an_error() -> None:
    def wrong(*args: object) -> list[Tensor]:
        raise ZeroDivisionError

    for call in (
        lambda: transform_levels.value_and_gradients(wrong, arguments()),
        lambda: transform_levels.vmap(wrong, arguments(), [0, 0, 0], 2, "error"),
    ):
        with pytest.raises(ZeroDivisionError):
            call()
        assert torch._C._functorch.peek_interpreter_stack() is None


def test_saved_tensors_are_not_looked_at() -> None:
    with (
        torch.autograd.graph.saved_tensors_hooks(lambda tensor: tensor, lambda tensor: tensor),
        pytest.raises(RuntimeError, match="derivatives of functions can't be taken"),
    ):
        transform_levels.value_and_gradients(function, arguments())


def test_vmap() -> None:
    x, y, _ = arguments()
    seen = []

    def function(level: int, x: Tensor, y: Tensor) -> list[Tensor]:
        seen.append((level, x.dim(), y.dim()))
        return [x * y, y]

    product, whole = transform_levels.vmap(function, [x, y], [0, None], 2, "error")
    torch.testing.assert_close(product, torch.outer(x, y))
    torch.testing.assert_close(whole, torch.stack([y, y]))
    assert seen == [(1, 0, 1)]


def test_no_mode_sees_a_question() -> None:
    class Counting(torch.overrides.TorchFunctionMode):
        count = 0

        def __torch_function__(self, func: object, types: object, args: tuple = (), kwargs: object = None) -> object:
            self.count += 1
            return func(*args, **(kwargs or {}))  # type: ignore[operator]

    x = torch.ones(2)
    with Counting() as mode:
        with transform_levels.unseen():
            assert x.dtype is torch.float32
        assert mode.count == 0
        assert x.dtype is torch.float32
        assert mode.count == 1
