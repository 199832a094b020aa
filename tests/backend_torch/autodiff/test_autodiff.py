"""Differentiation: recorded memory, old values, levels that are closed again."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import pytest
import torch

from backend_torch.autodiff import autodiff, old_values
from backend_torch.torch_private import functorch, messages

Tensor = torch.Tensor


@contextlib.contextmanager
def recording(overwriting: bool) -> Iterator[None]:
    before = autodiff.begin()
    try:
        with old_values.old_values_kept() if overwriting else contextlib.nullcontext():
            yield
    finally:
        autodiff.end(before)


def test_what_is_watched_has_the_tensor_s_memory_and_may_be_written() -> None:
    tensor = torch.tensor([1.0, 2.0])
    version = tensor._version
    with recording(overwriting=False):
        (handle,), (used,), is_shared = autodiff.watched([tensor])
        assert not is_shared
        assert autodiff.source(handle, 0, used) is used
        used.mul_(3)
        (found,) = autodiff.gradients([used.square().sum()], [autodiff.source(handle, 0, used)], None, retain=False)
    autodiff.written_through(tensor)
    torch.testing.assert_close(found, torch.tensor([18.0, 36.0]))
    torch.testing.assert_close(tensor, torch.tensor([3.0, 6.0]))
    assert not tensor.requires_grad and tensor._version > version


@pytest.mark.parametrize("views", [False, True])
def test_old_values(views: bool) -> None:
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    with recording(overwriting=True):
        y = x.exp()
        z = y * y
        (y[:] if views else y).zero_()
    torch.testing.assert_close(torch.autograd.grad(z.sum(), x)[0], 2 * (2 * x).exp())
    with recording(overwriting=True):
        y = x.exp()
    y.zero_()
    with pytest.raises(RuntimeError, match=messages.OVERWRITTEN[0]):
        torch.autograd.grad(y.sum() + z.sum() * 0 + x.exp().sum(), x)
        torch.autograd.grad((y * 1).sum(), x)


def test_old_values_go_with_the_graph() -> None:
    x = torch.ones(3, requires_grad=True)
    with recording(overwriting=True):
        y = x.exp()
        y.mul_(2)
    torch.testing.assert_close(torch.autograd.grad(y.sum(), x)[0], 2 * x.exp())


def test_levels_are_closed() -> None:
    depth = torch._C._functorch.maybe_current_level()

    def function(row: Tensor) -> tuple[Tensor, ...]:
        (handle,), (used,), _ = autodiff.watched([row])
        (found,) = autodiff.gradients([used.square().sum()], [handle], None, retain=False)
        return found, used * 2

    found, twice = torch.vmap(lambda row: autodiff.bounded(function, row))(torch.arange(6.0).reshape(3, 2))
    torch.testing.assert_close(found, twice)
    with pytest.raises(ZeroDivisionError):
        torch.vmap(lambda row: autodiff.bounded(lambda row: [function(row), 1 // 0], row))(torch.ones(2, 3))
    assert torch._C._functorch.maybe_current_level() == depth
    assert not autodiff.is_recording()


def test_inference_mode_gives_no_zeros() -> None:
    x = torch.tensor([1.0, 2.0])

    def loss(x: Tensor) -> tuple[Tensor, ...]:
        return (x.square().sum(),)

    with torch.inference_mode():
        if functorch.IS_BLIND_IN_INFERENCE_MODE:
            with pytest.raises(RuntimeError, match="inference mode"):
                autodiff.value_and_gradients(loss, [x])
        else:
            assert autodiff.value_and_gradients(loss, [x])[1][0].tolist() == [2, 4]
