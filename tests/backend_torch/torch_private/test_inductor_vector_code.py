"""The C++ that Inductor is given in place of its own: as exact as what it stands for, and only in its scope."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from backend_torch.graphs.compiling import Executable, trace
from backend_torch.torch_private import inductor

Tensor = torch.Tensor
SIZE = 2**20


@pytest.fixture(scope="module")
def program() -> object:
    """Compiled: ``exp(x)`` and ``sigmoid(x)`` of 2^20 float32 numbers."""
    example = torch.zeros(SIZE)
    return Executable(trace(lambda tensors: (tensors[0].exp(), tensors[0].sigmoid()), [example])).program([example])


def evaluated(program: object, numbers: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    padded = np.resize(numbers, SIZE)
    exps, sigmoids = program([torch.from_numpy(padded)])  # type: ignore[operator]
    return exps.numpy()[: numbers.size], sigmoids.numpy()[: numbers.size]


def units_off(got: np.ndarray, exact: np.ndarray) -> float:
    return float(np.max(np.abs(got - exact) / np.spacing(exact.astype(np.float32)).astype(np.float64)))


def test_exp_of_every_float(program: object, thorough: bool) -> None:
    """A hundredth of them by default: blocks of 2^20 that follow each other in the order of the bits."""
    worst = 0.0
    for block in range(0, 2**12, 1 if thorough else 101):
        numbers = (np.arange(SIZE, dtype=np.uint32) + np.uint32(block << 20)).view(np.float32)
        got, _ = evaluated(program, numbers)
        with np.errstate(all="ignore"):
            exact = np.exp(numbers.astype(np.float64))
            rounded = exact.astype(np.float32)
        np.testing.assert_array_equal(np.isnan(got), np.isnan(numbers))
        np.testing.assert_array_equal(np.isposinf(got), np.isposinf(rounded))
        finite = np.isfinite(rounded)
        if finite.any():
            worst = max(worst, units_off(got[finite], exact[finite]))
    assert worst <= 0.99


def test_the_whole_range(program: object) -> None:
    numbers = np.linspace(-104, 88.72283, SIZE, dtype=np.float32)
    exact = np.exp(numbers.astype(np.float64))
    exps, sigmoids = evaluated(program, numbers)
    assert units_off(exps, exact) <= 0.99
    assert units_off(sigmoids[numbers > -87], (exact / (1 + exact))[numbers > -87]) <= 3


def test_special_values(program: object) -> None:
    numbers = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, 3e38, -3e38, 1e-45, 89.0, -104.0], dtype=np.float32)
    exps, sigmoids = evaluated(program, numbers)
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(exps, np.exp(numbers))
        np.testing.assert_array_equal(sigmoids[:7], (1 / (1 + np.exp(-numbers)))[:7])


def test_other_dtypes() -> None:
    """In one loop with float32 numbers, which then are not alone in a vector."""

    def function(tensors: list[Tensor]) -> list[Tensor]:
        *others, y = tensors
        return [result for x in others for result in (x.exp(), (x.float() + y).exp())]

    dtypes = torch.float64, torch.float16, torch.bfloat16
    inputs = [*(torch.linspace(-3, 3, 1037).to(dtype) for dtype in dtypes), torch.linspace(0, 1, 1037)]
    got = Executable(trace(function, inputs)).program(inputs)(list(inputs))
    for one, expected in zip(got, function(inputs), strict=True):
        torch.testing.assert_close(one, expected)


def test_sums_of_many_chunks() -> None:
    """A chunk is 4,096 vectors: here more than 15 for each thread, and a rest that fills no vector."""
    generator = np.random.default_rng(0)
    for dtype in (np.float32, np.float64):
        numbers = generator.uniform(0.5, 1, 2**22 + 5).astype(dtype)
        table = numbers[: 2**22].reshape(2**20, 4)
        inputs = [torch.from_numpy(numbers), torch.from_numpy(table)]
        function = lambda tensors: (tensors[0].sum(), tensors[1].sum(0), (tensors[1] * 2).sum(1))  # noqa: E731
        whole, columns, rows = Executable(trace(function, inputs)).program(inputs)(list(inputs))
        rtol = 1e-6 if dtype is np.float32 else 1e-14
        np.testing.assert_allclose(whole, numbers.sum(dtype=np.longdouble), rtol=rtol)
        np.testing.assert_allclose(columns, table.sum(0, dtype=np.longdouble), rtol=20 * rtol)  # row by row
        np.testing.assert_allclose(rows, 2 * table.sum(1, dtype=np.longdouble), rtol=2 * rtol)


def test_masks_of_every_dtype() -> None:
    """Loaded, stored and converted from one number of lanes to another, with a rest that fills no vector."""
    size = SIZE + 15
    dtypes = torch.float32, torch.float64, torch.int32, torch.int64
    generator = np.random.default_rng(size)
    inputs = [torch.from_numpy(generator.integers(0, 3, size)).to(dtype) for dtype in dtypes]
    inputs.append(torch.from_numpy(generator.integers(0, 2, size).astype(bool)))

    def function(tensors: list[Tensor]) -> list[Tensor]:
        single, double, short, long, flags = tensors
        masks = [each == 1 for each in (single, double, short, long)]
        mixed = (masks[0] & masks[1]) | (masks[2] & ~masks[3]) | (flags ^ masks[1])
        chosen = [torch.where(flags, each, -each) for each in (single, double, short, long)]
        return [*masks, mixed, *chosen, torch.where(masks[0], double, -double), torch.where(masks[1], short, -short)]

    got = Executable(trace(function, inputs)).program(inputs)(list(inputs))
    for one, expected in zip(got, function(inputs), strict=True):
        assert torch.equal(one, expected)


def test_scope_is_left() -> None:
    """Inductor's own code, compiled outside the scope, stays its own."""
    from torch._inductor.codegen.cpp import CppVecOverrides

    with pytest.raises(KeyError), inductor.PATCHES.applied():
        assert "scalef" in CppVecOverrides.exp("x")
        assert "scalef" in CppVecOverrides.sigmoid("x")
        raise KeyError
    assert CppVecOverrides.exp("x") == "x.exp()"
