"""Normal random numbers of graphs: Box and Muller's of SplitMix64's integers, normal, and fused with what uses them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import torch

import tnp
from backend_torch.random import normal
from tests.backend_torch.random.test_uniform import splitmix


@pytest.mark.parametrize("key", [(0, 0), (-1, -1), (1 << 62, -(1 << 63)), (123456789, -987654321)])
def test_the_numbers_are_box_and_mullers(key: tuple[int, int]) -> None:
    odd = key[1] & 0xCCCCCCCCCCCCCCCC | 0x1111111111111111
    z = splitmix(key[0], odd, 80)
    pairs = {torch.float32: [(x >> 32, x & 0xFFFFFFFF, 32) for x in z[:40]]}
    pairs[torch.float64] = [(x >> 11, y >> 11, 53) for x, y in zip(z[::2], z[1::2], strict=True)]
    for dtype, rtol in ((torch.float32, 2e-6), (torch.float64, 1e-14)):
        expected = [
            math.sqrt(-2 * math.log((radius + 1) / 2**digits)) * math.cos(math.tau * angle / 2**digits)
            for radius, angle, digits in pairs[dtype]
        ]
        tensor = torch.tensor(key)
        for found in (torch.ops.tnp.normal(tensor, (5, 8), dtype), normal.of_key(tensor, (5, 8), dtype)):
            assert found.shape == (5, 8) and found.dtype is dtype
            # The cosine near its zeros has the error of the angle, not of the number.
            np.testing.assert_allclose(found.flatten(), expected, rtol, 6 * rtol)


def test_extreme_integers_give_finite_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    for extreme in (0, -1, 1 << 62, -(1 << 63), (1 << 32) - 1):
        monkeypatch.setattr(normal.uniform, "integers", lambda key, index, x=extreme: torch.full_like(index, x))
        for dtype, most in ((torch.float32, 6.7), (torch.float64, 8.6)):
            assert normal.of_key(torch.tensor([0, 0]), (3,), dtype).abs().max() < most
    assert normal.of_key(torch.tensor([0, 0]), (0,), torch.float64).shape == (0,)


def _distribution(x: np.ndarray) -> np.ndarray:
    return torch.special.ndtr(torch.from_numpy(x)).numpy()


@pytest.mark.reads
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_the_numbers_are_normal_and_independent(dtype: str) -> None:
    n = 1 << 20
    rng = tnp.random.default_rng(5)
    draw = tnp.compile(lambda: (rng.standard_normal(n, dtype), rng.standard_normal(n, dtype)))
    x, y = (np.asarray(array, np.float64) for array in draw())
    bound = 5 / math.sqrt(n)
    for sample in (x, y):
        for power, moment, variance in ((1, 0, 1), (2, 1, 2), (3, 0, 15), (4, 3, 96), (6, 15, 10170)):
            assert abs((sample**power).mean() - moment) < 5 * math.sqrt(variance / n)
        spread = _distribution(sample)
        counts = np.histogram(spread, 1024, (0, 1))[0]
        assert abs(((counts - n / 1024) ** 2).sum() / (n / 1024) - 1023) < 5 * math.sqrt(2 * 1023)
        distance = np.abs(np.sort(spread) - (np.arange(n) + 0.5) / n).max()
        assert distance < 2.2 / math.sqrt(n)  # Kolmogorov's, one of 8000 are worse
        for limit in (3, 4):
            expected = n * 2 * _distribution(np.array([-float(limit)]))[0]
            assert abs((np.abs(sample) > limit).sum() - expected) < 5 * math.sqrt(expected)
        for lag in (1, 2, 16, 1 << 15):
            assert abs(np.corrcoef(sample[:-lag], sample[lag:])[0, 1]) < bound
            # Radii and angles of neighbours are independent too, which a correlation does not see.
            assert abs(np.corrcoef(sample[:-lag] ** 2, sample[lag:] ** 2)[0, 1]) < bound
    assert abs(np.corrcoef(x, y)[0, 1]) < bound
    pairs = np.histogram2d(_distribution(x), _distribution(y), 32, [[0, 1], [0, 1]])[0]
    assert abs(((pairs - n / 1024) ** 2).sum() / (n / 1024) - 1023) < 5 * math.sqrt(2 * 1023)


@pytest.mark.reads
def test_machine_code_and_operations_draw_the_same() -> None:
    def drawn(backend: str) -> list[Any]:
        rng = tnp.random.default_rng(7)
        f = tnp.compile(lambda: (rng.standard_normal(1000, "float32"), rng.normal(2, 3, (2, 3))), backend=backend)
        return [*f(), *f()]

    expected, found = drawn("eager"), drawn("inductor")
    assert (expected[0] != expected[2]).any() and (expected[1] != expected[3]).all()
    for one, other in zip(expected, found, strict=True):
        assert one.dtype == other.dtype
        np.testing.assert_allclose(one, other, 1e-5, 1e-5)


@pytest.mark.host
def test_a_graph_that_reduces_draws_into_no_array() -> None:
    n = 1 << 20
    rng = tnp.random.default_rng(1)
    estimate = tnp.compile(lambda: tnp.mean(tnp.maximum(rng.standard_normal(n), 0)))
    assert abs(float(estimate()) - 1 / math.sqrt(math.tau)) < 6 * 0.584 / math.sqrt(n)
    with torch.profiler.profile(profile_memory=True) as profile:
        estimate()
    taken = [event.cpu_memory_usage for event in profile.events() if event.cpu_memory_usage > 0]
    assert taken and sum(taken) < 10_000
