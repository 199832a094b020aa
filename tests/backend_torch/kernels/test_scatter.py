"""Scatter kernels against ``numpy.ufunc.at``, and the properties that make them worth having."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from backend_torch.kernels import scatter
from backend_torch.kernels.indexing import Plan
from backend_torch.tensors.dtypes import to_torch

DTYPES = ["uint8", "int8", "uint16", "uint32", "uint64", "int64", "float16", "float32", "float64", "complex64"]


def tensor(array: np.ndarray) -> torch.Tensor:
    return torch.from_numpy(array.copy())


def drawn(dtype: str, repeats: int = 5) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """A target, positions that repeat, and values."""
    rng = np.random.default_rng(0)
    where = rng.integers(0, 20, 20 * repeats)
    return rng.integers(0, 9, 20).astype(dtype), where, rng.integers(0, 9, where.size).astype(dtype)


@pytest.mark.parametrize("dtype", DTYPES)
def test_add(dtype: str) -> None:
    expected, where, values = drawn(dtype)
    target = tensor(expected)
    np.add.at(expected, where, values)
    scatter.add(target, tensor(where), tensor(values))
    np.testing.assert_array_equal(target.numpy(), expected)


@pytest.mark.parametrize("dtype", ["uint8", "uint16", "uint64", "int8", "float32"])
def test_adding_the_negated_subtracts(dtype: str) -> None:
    expected, where, values = drawn(dtype)
    target = tensor(expected)
    np.subtract.at(expected, where, values)
    scatter.add(target, tensor(where), scatter.negated(tensor(values)))
    np.testing.assert_array_equal(target.numpy(), expected)


@pytest.mark.parametrize("dtype", ["uint8", "uint16", "int64", "float32"])
def test_folded(dtype: str) -> None:
    def maximum(one: torch.Tensor, other: torch.Tensor) -> torch.Tensor:
        return torch.maximum(one.to(torch.float64), other.to(torch.float64)).to(one.dtype)

    expected, where, values = drawn(dtype)
    target = tensor(expected)
    np.maximum.at(expected, where, values)
    scatter.folded(maximum, maximum, target, tensor(where), tensor(values))
    np.testing.assert_array_equal(target.numpy(), expected)


def test_in_turn_keeps_the_order_of_repeated_positions() -> None:
    target = torch.tensor([2.0, 3.0])
    scatter.in_turn(torch.pow, target, torch.tensor([0, 1, 0]), torch.tensor([3.0, 2.0, 2.0]))
    assert target.tolist() == [64.0, 9.0]
    scatter.in_turn(torch.neg, target, torch.tensor([0, 0, 1]))
    assert target.tolist() == [64.0, -9.0]


def test_in_turn_calls_once_a_round() -> None:
    calls = []

    def divide(one: torch.Tensor, other: torch.Tensor) -> torch.Tensor:
        calls.append(len(one))
        return one / other

    where = torch.arange(1000).repeat(3)
    scatter.in_turn(divide, torch.ones(1000), where, torch.full((3000,), 2.0))
    assert calls == [1000, 1000, 1000]


def test_folded_calls_once_a_halving() -> None:
    calls = []

    def multiply(one: torch.Tensor, other: torch.Tensor) -> torch.Tensor:
        calls.append(len(one))
        return one * other

    target = torch.ones(2, dtype=torch.float64)
    scatter.folded(
        multiply, multiply, target, torch.zeros(1000, dtype=torch.int64), torch.full((1000,), 1.001).double()
    )
    assert len(calls) <= 11
    torch.testing.assert_close(target, torch.tensor([1.001**1000, 1.0], dtype=torch.float64), rtol=1e-3, atol=0)


def test_result_is_cast_to_the_target() -> None:
    target = torch.tensor([1, 2])
    scatter.in_turn(lambda one, other: one + other, target, torch.tensor([0, 0]), torch.tensor([0.75, 0.75]))
    assert target.tolist() == [1, 2]  # each step is truncated, as in NumPy


@pytest.mark.parametrize("kernel", ["add", "folded", "in_turn"])
def test_operands_may_share_memory(kernel: str) -> None:
    target = torch.arange(6.0)
    expected = target.numpy().copy()
    np.add.at(expected[1:], [0, 1, 1, 2, 4], expected[:-1].copy())
    arguments = (target[1:], torch.tensor([0, 1, 1, 2, 4]), target[:-1])
    if kernel == "add":
        scatter.add(*arguments)
    elif kernel == "folded":
        scatter.folded(torch.add, torch.add, *arguments)
    else:
        scatter.in_turn(torch.add, *arguments)
    np.testing.assert_array_equal(target.numpy(), expected)


def test_strided_target() -> None:
    base = torch.zeros(4, 6)
    view = base[::2, ::3].T
    scatter.add(view, torch.tensor([0, 1, 1, 3]), torch.ones(()))
    scatter.folded(torch.mul, torch.mul, view, torch.tensor([1, 1]), torch.tensor(3.0))
    expected = np.zeros((4, 6), dtype=np.float32)
    expected[0, 0], expected[2, 0], expected[2, 3] = 1, 18, 1
    np.testing.assert_array_equal(base.numpy(), expected)


@pytest.mark.parametrize("kernel", ["add", "folded", "in_turn"])
def test_no_positions(kernel: str) -> None:
    target, nowhere, values = torch.ones(3), torch.zeros(0, dtype=torch.int64), torch.zeros(0)
    if kernel == "folded":
        scatter.folded(torch.add, torch.add, target, nowhere, values)
    else:
        getattr(scatter, kernel)(*([torch.add] if kernel == "in_turn" else []), target, nowhere, values)
    assert target.tolist() == [1, 1, 1]


def test_gradient_reaches_target_and_values() -> None:
    start, values = torch.ones(3, requires_grad=True), torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    target = start * 2
    scatter.add(target, torch.tensor([0, 0, 2]), values)
    scatter.folded(torch.mul, torch.mul, target, torch.tensor([0, 0]), torch.tensor([2.0, 5.0]))
    scatter.in_turn(torch.div, target, torch.tensor([2, 2]), torch.tensor([2.0, 5.0]))
    (target * torch.tensor([1.0, 10.0, 100.0])).sum().backward()
    torch.testing.assert_close(start.grad, torch.tensor([20.0, 20.0, 20.0]))
    torch.testing.assert_close(values.grad, torch.tensor([10.0, 10.0, 10.0]))


INDICES: list[tuple[tuple[int, ...], Any, Plan]] = [
    ((5,), [0, -1, 2], Plan((slice(None),), (), (torch.tensor([0, -1, 2]),), (0,))),
    ((5,), slice(1, 4), Plan((slice(1, 4),))),
    ((2, 3), (slice(None), [0, -1]), Plan((slice(None), slice(None)), (), (torch.tensor([0, -1]),), (1,), 1)),
    (
        (2, 3),
        ([0, 1], [2, -3]),
        Plan((slice(None), slice(None)), (), (torch.tensor([0, 1]), torch.tensor([2, -3])), (0, 1)),
    ),
    ((2, 3), slice(None, None, -1), Plan((slice(None), slice(None)), (0,))),
    ((5,), ([0, 1],), Plan((slice(None),), (), (torch.tensor([0, 1]),), (0,))),
    ((5,), (slice(2, 5), None), Plan((slice(2, 5), None))),
]


@pytest.mark.parametrize(("shape", "key", "index"), INDICES, ids=lambda x: repr(x) if not isinstance(x, Plan) else "")
def test_positions(shape: tuple[int, ...], key: Any, index: Plan) -> None:
    expected = np.arange(np.prod(shape)).reshape(shape)[key]
    np.testing.assert_array_equal(scatter.positions(torch.zeros(shape), index).numpy(), expected)


@settings(max_examples=50, deadline=None)
@given(st.data())
def test_any_positions(data: Any) -> None:
    dtype = data.draw(st.sampled_from(["int32", "uint64", "float64"]))
    size = data.draw(st.integers(1, 5))
    where = np.asarray(data.draw(st.lists(st.integers(0, size - 1), max_size=30)), dtype=np.int64)
    values = np.asarray(data.draw(st.lists(st.integers(0, 5), min_size=where.size, max_size=where.size))).astype(dtype)
    for ufunc in (np.add, np.multiply):
        expected = np.ones(size, dtype)
        np.add.at(expected, where, values) if ufunc is np.add else np.multiply.at(expected, where, values)
        target = torch.ones(size, dtype=to_torch[np.dtype(dtype)])
        if ufunc is np.add:
            scatter.add(target, tensor(where), tensor(values))
        else:
            scatter.in_turn(
                lambda a, b: (a.to(torch.int64) * b.to(torch.int64)).to(a.dtype) if a.dtype is torch.uint64 else a * b,
                target,
                tensor(where),
                tensor(values),
            )
        np.testing.assert_array_equal(target.numpy(), expected)
