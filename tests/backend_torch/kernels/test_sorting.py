"""Sorting kernels against NumPy: on the host's path and on torch's own."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
import torch
from torch.fx.experimental.proxy_tensor import make_fx
from torch.utils._pytree import tree_leaves

from backend_torch.kernels import sorting
from backend_torch.tensors import memory
from backend_torch.tensors.dtypes import to_torch

DTYPES = [dtype for dtype in to_torch if dtype.kind in "biufc"]


@pytest.fixture(params=["host", "torch"], autouse=True)
def path(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Each test runs on both paths."""
    if request.param == "torch":
        monkeypatch.setattr(memory, "host_computes", False)
    yield request.param


def drawn(dtype: np.dtype, shape: tuple[int, ...] = (6, 40)) -> np.ndarray:
    """Values over the whole range with ties; floats with NaN, infinities and both zeros."""
    rng = np.random.default_rng(2)
    if dtype.kind == "b":
        return rng.integers(0, 2, shape).astype(bool)
    if dtype.kind in "iu":
        info = np.iinfo(dtype)
        values = rng.integers(info.min, info.max, shape, dtype=dtype, endpoint=True)
        return np.where(rng.random(shape) < 0.3, dtype.type(3), values)
    special = np.array([np.nan, np.inf, -np.inf, 0.0, 1.0, 2.0, -1.5])
    values = rng.choice(special, shape)
    if dtype.kind == "f":
        return values.astype(dtype)
    result = np.empty(shape, dtype)
    result.real, result.imag = values, rng.choice(special, shape)
    return result


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("stable", [False, True])
def test_sort(dtype: np.dtype, stable: bool) -> None:
    array = drawn(dtype)
    for axis in (0, 1):
        tensor = torch.from_numpy(array.copy())
        np.testing.assert_array_equal(sorting.sort(tensor, axis, stable).numpy(), np.sort(array, axis))
        np.testing.assert_array_equal(tensor.numpy(), array)
        order = sorting.argsort(tensor, axis, stable=True).numpy()
        np.testing.assert_array_equal(order, np.argsort(array, axis, kind="stable"))


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("axis", [0, 1])
def test_stable_order_of_long_lines(dtype: np.dtype, axis: int) -> None:
    long = drawn(dtype, (sorting._MANY + 5, 2) if axis == 0 else (2, sorting._MANY + 5))
    order = sorting.argsort(torch.from_numpy(long), axis, stable=True)
    assert order.is_contiguous()
    np.testing.assert_array_equal(order.numpy(), np.argsort(long, axis, kind="stable"))


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("shape", [(200, 40), (3, 50, 70), (33, 9, 33), (2, 9000)])
def test_stable_order_of_many_lines(dtype: np.dtype, shape: tuple[int, ...]) -> None:
    """Lines that are longer than a block, and blocks of several lines."""
    many = drawn(dtype, shape)
    for axis in range(len(shape)):
        order = sorting.argsort(torch.from_numpy(many), axis, stable=True)
        assert order.is_contiguous()
        np.testing.assert_array_equal(order.numpy(), np.argsort(many, axis, kind="stable"))


def test_sort_of_what_is_broadcast() -> None:
    row = torch.tensor([3.0, 1.0, 2.0])
    for tensor in (row.expand(4, 3), row[:, None].expand(3, 4), torch.tensor(2.0)):
        for axis in range(tensor.dim()):
            np.testing.assert_array_equal(sorting.sort(tensor, axis).numpy(), np.sort(tensor.numpy(), axis))


@pytest.mark.parametrize("dtype", ["int32", "uint64", "float32", "float64"])
@pytest.mark.parametrize("shape", [(9001,), (90, 110), (20, 50, 70)])
def test_stable_order_of_few_ties(dtype: str, shape: tuple[int, ...]) -> None:
    rng = np.random.default_rng(1)
    values = rng.permutation(int(np.prod(shape))).astype(dtype)
    values[rng.integers(100, values.size, values.size // 8)] = 7
    if values.dtype.kind == "f":
        values[rng.integers(100, values.size, 30)] = np.nan
        values[rng.integers(100, values.size, 30)] = rng.choice([0.0, -0.0], 30)
    values = values.reshape(shape)
    for array in (values, values.T, values[::-1]):
        for axis in range(array.ndim):
            order = sorting._stable_order(array, axis)
            assert order.flags.c_contiguous
            np.testing.assert_array_equal(order, np.argsort(array, axis, kind="stable"))


def test_stable_order_of_long_lines_without_ties() -> None:
    line = np.random.default_rng(0).permutation(2 * sorting._MANY)
    order = sorting.argsort(torch.from_numpy(line), 0, stable=True)
    np.testing.assert_array_equal(order.numpy(), np.argsort(line))


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_descending(dtype: np.dtype) -> None:
    """Backwards, but for NaN, which is last, and for ties, which keep their order."""
    line = drawn(dtype, (60,))
    nan = np.isnan(line) if dtype.kind in "fc" else np.zeros(60, bool)
    kept = np.flatnonzero(~nan)
    order = kept[len(kept) - 1 - np.argsort(line[kept][::-1], kind="stable")[::-1]]
    actual = sorting.argsort(torch.from_numpy(line), 0, True, True).numpy()
    np.testing.assert_array_equal(actual[: len(kept)], order)
    np.testing.assert_array_equal(np.sort(actual[len(kept) :]), np.flatnonzero(nan))
    values = sorting.sort(torch.from_numpy(line), 0, True, True).numpy()
    np.testing.assert_array_equal(values[: len(kept)], line[order])
    assert len(kept) == 60 or np.isnan(values[len(kept) :]).all()


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_partition(dtype: np.dtype) -> None:
    array = drawn(dtype, (3, 11))
    tensor = torch.from_numpy(array.copy())
    kth = [2, 7]
    expected = np.sort(array)
    for parted in (
        sorting.partition(tensor, 1, kth).numpy(),
        np.take_along_axis(array, sorting.argpartition(tensor, 1, kth).numpy(), 1),
    ):
        np.testing.assert_array_equal(parted[:, kth], expected[:, kth])
        np.testing.assert_array_equal(np.sort(parted[:, :2]), expected[:, :2])
        np.testing.assert_array_equal(np.sort(parted[:, 8:]), expected[:, 8:])


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("right", [False, True])
def test_searchsorted(dtype: np.dtype, right: bool) -> None:
    array = drawn(dtype, (50,))
    side = "right" if right else "left"
    whole = np.sort(array)
    for line in (whole, whole[~np.isnan(whole)], whole[:1], whole[:0]):
        actual = sorting.searchsorted(torch.from_numpy(line), torch.from_numpy(array.reshape(5, 10)), right)
        np.testing.assert_array_equal(actual.numpy(), np.searchsorted(line, array.reshape(5, 10), side))
    sorter = np.argsort(array, kind="stable")
    actual = sorting.searchsorted(torch.from_numpy(array), torch.from_numpy(array), right, torch.from_numpy(sorter))
    np.testing.assert_array_equal(actual.numpy(), np.searchsorted(array, array, side, sorter))


def test_lexsort() -> None:
    rng = np.random.default_rng(0)
    keys = [rng.integers(0, 3, (4, 9)).astype(dtype) for dtype in ("uint64", "float32", "bool", "int8", "complex64")]
    for axis in (0, 1):
        actual = sorting.lexsort([torch.from_numpy(key) for key in keys], axis)
        np.testing.assert_array_equal(actual.numpy(), np.lexsort(keys, axis))


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("n", [1, 2, 7, 8])
def test_median(n: int, dtype: np.dtype) -> None:
    result = np.float64 if dtype.kind in "biu" else dtype
    for array in (drawn(dtype, (n, 3)), drawn(dtype, (n, 3)).real.clip(0, 1).astype(dtype)):
        if dtype.kind == "c":  # NumPy halves complex infinity to NaN
            array.real[np.isinf(array.real)], array.imag[np.isinf(array.imag)] = 5, -4
        for axis in (0, 1):
            actual = sorting.median(torch.from_numpy(array), axis, to_torch[np.dtype(result)])
            with np.errstate(all="ignore"):
                np.testing.assert_array_equal(actual.numpy(), np.median(array, axis).astype(result))


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_nanmedian(dtype: type) -> None:
    array = np.random.default_rng(0).normal(size=(9, 12)).astype(dtype)
    array[array > 0.5] = np.nan
    array[:, 3] = np.nan
    with pytest.warns(RuntimeWarning):
        expected = np.nanmedian(array, 0)
    np.testing.assert_array_equal(sorting.nanmedian(torch.from_numpy(array), 0).numpy(), expected)


def test_gradient_flows_through_a_sort() -> None:
    x = torch.randn(3, 5, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(lambda t: sorting.sort(t, 1), x)
    assert torch.autograd.gradcheck(lambda t: sorting.median(t, 1, t.dtype), x)


def test_under_vmap() -> None:
    x = torch.randn(3, 5)
    torch.testing.assert_close(torch.func.vmap(lambda t: sorting.sort(t, 0))(x), x.sort(1)[0])
    torch.testing.assert_close(torch.func.vmap(lambda t: sorting.argsort(t, 0))(x), x.argsort(1))


@pytest.mark.parametrize(
    ("function", "operations"),
    [
        (lambda x, at: torch.sort(x, stable=True)[0] * 2, ["sorted"]),
        (lambda x, at: torch.sort(x, stable=True)[1], ["order"]),
        (lambda x, at: torch.sort(x, dim=0, stable=True), ["order"]),
        (lambda x, at: torch.sort(x, stable=False)[0].select(1, 7) + 1, ["partitioned"]),
        (lambda x, at: torch.sort(x, dim=0, stable=False)[0][at], ["partitioned"]),
        (lambda x, at: torch.sort(x, dim=1, stable=False)[0][:, at.clone()], ["partitioned"]),
        (lambda x, at: torch.sort(x, dim=0, stable=False)[0][-1:], ["partitioned"]),
        (lambda x, at: torch.sort(x, dim=0, stable=False)[0][-2:], ["sorted"]),
        (lambda x, at: torch.sort(x, dim=0, stable=False)[0].select(1, 3), ["sorted"]),
        (lambda x, at: torch.sort(x, dim=0, stable=False)[0][at + 1], ["sorted"]),
        (lambda x, at: torch.sort(x.T, stable=True)[0], ["sorted"]),
        (lambda x, at: torch.sort(x.T, dim=0, stable=True), ["order"]),
        (lambda x, at: torch.sort(x.view(60, 8, 10).mT, dim=1, stable=False)[0].select(1, 7), ["partitioned"]),
        (lambda x, at: torch.sort(x, stable=True, descending=True)[0], []),
        (lambda x, at: torch.sort(x[:9], stable=True)[0], ["sorted"]),
    ],
)
def test_sorts_in_graphs(function: Callable[..., Any], operations: list[str]) -> None:
    """Graphs sort or partition as eager code does; other orders are torch's."""
    x = torch.from_numpy(drawn(np.dtype(np.float32), (60, 80)))
    at = torch.tensor([5, 11])
    module = make_fx(function, tracing_mode="fake")(x, at)
    module.graph.eliminate_dead_code()  # as the compiler does before
    sorting.choose(module)
    found = [node.target for node in module.graph.nodes if str(node.target).startswith("tnp.")]
    assert [str(target) for target in found] == [f"tnp.{name}.default" for name in operations]
    for one, other in zip(tree_leaves(module(x, at)), tree_leaves(function(x, at)), strict=True):
        torch.testing.assert_close(one, other, rtol=0, atol=0, equal_nan=True)
        assert one.stride() == other.stride()
