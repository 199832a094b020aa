"""torch's modules and losses in the middle of NumPy code: they take arrays, and gradients cross both ways."""

from __future__ import annotations

from typing import Any

import numpy
import pytest
import torch
from torch import nn

import tnp as np


def image() -> Any:
    return np.asarray(torch.randn(2, 3, 8, 8))


def rows() -> Any:
    return np.asarray(torch.randn(4, 6))


@pytest.mark.parametrize(
    ("module", "x"),
    [
        (nn.Linear(6, 3), rows()),
        (nn.Sequential(nn.Linear(6, 3), nn.Tanh(), nn.BatchNorm1d(3), nn.Linear(3, 2)), rows()),
        (nn.LayerNorm(6), rows()),
        (nn.Softmax(dim=1), rows()),
        (nn.GELU(), rows()),
        (nn.Conv2d(3, 4, 3), image()),
        (nn.ConvTranspose2d(3, 2, 2), image()),
        (nn.MaxPool2d(2), image()),
        (nn.AdaptiveAvgPool2d(1), image()),
        (nn.GroupNorm(3, 3), image()),
        (nn.Upsample(scale_factor=2), image()),
    ],
)
def test_modules(module: Any, x: Any) -> None:
    def function(x: Any) -> Any:
        return (np.asarray(module(np.sin(x))) ** 2).sum()

    tensor = x.tensor.detach().clone().requires_grad_()
    (module(torch.sin(tensor)) ** 2).sum().backward()
    with np.GradientTape() as tape:
        tape.watch(x)
        y = function(x)
    numpy.testing.assert_allclose(np.asnumpy(tape.gradient(y, x)), tensor.grad.numpy(), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    ("loss", "target"),
    [
        (nn.MSELoss(), np.asarray(torch.rand(4, 6))),
        (nn.L1Loss(), np.asarray(torch.rand(4, 6))),
        (nn.HuberLoss(), np.asarray(torch.rand(4, 6))),
        (nn.BCEWithLogitsLoss(), np.asarray(torch.rand(4, 6))),
        (nn.CrossEntropyLoss(), np.asarray([0, 5, 2, 1])),
        (nn.CrossEntropyLoss(), np.asarray(torch.rand(4, 6).softmax(1))),
        (nn.NLLLoss(), np.asarray([0, 5, 2, 1])),
    ],
)
def test_losses(loss: Any, target: Any) -> None:
    x = rows()
    found = np.grad(lambda x: np.asarray(loss(x * 2, target))[()])(x)
    tensor = x.tensor.clone().requires_grad_()
    loss(tensor * 2, target.tensor).backward()
    numpy.testing.assert_allclose(np.asnumpy(found), tensor.grad.numpy(), rtol=1e-5, atol=1e-7)


def test_no_copy() -> None:
    seen = []
    linear = nn.Linear(6, 3)
    identity = nn.Identity()
    x = rows()
    assert identity(x) is x
    result = linear(x)
    array = np.asarray(result)
    assert array.tensor is result
    linear.register_forward_pre_hook(lambda module, args: seen.append(args[0]))
    linear(x)
    assert seen[0] is x


def test_gradients_of_parameters() -> None:
    x = rows()
    linear = nn.Linear(6, 3)
    weight = np.asarray(linear.weight)
    with np.GradientTape() as tape:
        y = (np.asarray(linear(x)) ** 2).sum()
    found = tape.gradient(y, weight)
    y = (np.asarray(linear(x)) ** 2).sum()
    y.tensor.backward()
    numpy.testing.assert_allclose(np.asnumpy(found), linear.weight.grad.numpy(), rtol=1e-6)
    assert weight.tensor is linear.weight


def test_a_module_as_a_function_of_its_parameters() -> None:
    x = rows()
    linear = nn.Linear(6, 3)
    parameters = {name: np.asarray(each.detach()) for name, each in linear.named_parameters()}

    def loss(parameters: Any, row: Any) -> Any:
        tensors = {name: array.tensor for name, array in parameters.items()}
        return (np.asarray(torch.func.functional_call(linear, tensors, (row,))) ** 2).sum()

    each = np.vectorized_map(lambda row: np.grad(loss)(parameters, row), x, fallback=False)
    whole = np.grad(lambda p: np.vectorized_map(lambda row: loss(p, row), x).sum())(parameters)
    for name in parameters:
        numpy.testing.assert_allclose(np.asnumpy(each[name].sum(axis=0)), np.asnumpy(whole[name]), rtol=1e-4, atol=1e-5)


def test_compiled() -> None:
    linear = nn.Linear(6, 3).requires_grad_(False)
    x = rows()

    def function(x: Any) -> Any:
        return np.tanh(np.asarray(linear(np.sin(x)))) * 2

    expected = function(x)
    compiled = np.compile(function, backend="eager")
    numpy.testing.assert_allclose(np.asnumpy(compiled(x)), np.asnumpy(expected), rtol=1e-6)
    with torch.no_grad():
        linear.bias += 1  # read at each call
    numpy.testing.assert_allclose(np.asnumpy(compiled(x)), np.asnumpy(function(x)), rtol=1e-6)


def test_optimizers_update_arrays_where_they_are() -> None:
    w = np.asarray(numpy.array([1.0, 2.0]))
    memory = np.asnumpy(w)
    optimizer = torch.optim.SGD([w.tensor], lr=0.5)
    with np.GradientTape() as tape:
        tape.watch(w)
        loss = (w**2).sum()
    w.tensor.grad = tape.gradient(loss, w).tensor
    optimizer.step()
    numpy.testing.assert_array_equal(memory, [0, 0])
