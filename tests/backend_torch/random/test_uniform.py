"""Uniform random numbers of graphs: SplitMix64's own, evenly spread, and the same however they are computed."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import torch

import tnp
from backend_torch.random import uniform

MASK = (1 << 64) - 1


def splitmix(start: int, odd: int, n: int) -> list[int]:
    """The generator as its paper has it, in Python's integers."""
    found = []
    for i in range(n):
        z = (start + i * odd) & MASK
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
        found.append(z ^ (z >> 31))
    return found


@pytest.mark.parametrize("key", [(0, 0), (-1, -1), (1 << 62, -(1 << 63)), (123456789, -987654321)])
@pytest.mark.parametrize(("dtype", "digits"), [(torch.float32, 24), (torch.float64, 53)])
def test_the_numbers_are_splitmix64s(key: tuple[int, int], dtype: torch.dtype, digits: int) -> None:
    odd = key[1] & 0xCCCCCCCCCCCCCCCC | 0x1111111111111111
    expected = [(z >> (64 - digits)) * 2.0**-digits for z in splitmix(key[0], odd, 40)]
    tensor = torch.tensor(key)
    assert torch.ops.tnp.uniform(tensor, (5, 8), dtype).flatten().tolist() == expected
    assert uniform.of_key(tensor, (5, 8), dtype).flatten().tolist() == expected


def test_the_generators_known_answers() -> None:
    """The first numbers of seed 0 with the golden ratio, as published with xoshiro's sources."""
    golden = 0x9E3779B97F4A7C15
    assert splitmix(golden, golden, 2) == [0xE220A8397B1DCDAF, 0x6E789E6AA1B965F4]


def test_the_multiplied_number_is_never_weak() -> None:
    keys = [0, -1, *torch.randint(-(1 << 63), (1 << 63) - 1, (10_000,), generator=torch.Generator()).tolist()]
    for key in keys:
        odd = (key & uniform._DRAWN | uniform._GIVEN) & MASK
        assert odd % 2 == 1 and (odd ^ (odd >> 1)).bit_count() >= 24


@pytest.mark.parametrize("size", [(), (0,), (3, 0), (1 << 15,), ((1 << 15) + 1,), (7, 9000)])
def test_chunks_are_no_seams(size: tuple[int, ...]) -> None:
    key = torch.tensor([3, 5])
    one, other = torch.ops.tnp.uniform(key, size, torch.float64), uniform.of_key(key, size, torch.float64)
    assert one.shape == other.shape == size and torch.equal(one, other)


@pytest.mark.reads
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_the_numbers_are_uniform_and_independent(dtype: str) -> None:
    n = 1 << 18
    rng = tnp.random.default_rng(5)
    draw = tnp.compile(lambda: (rng.random(n, dtype), rng.random(n, dtype)))
    x, y = (np.asarray(array, np.float64) for array in draw())
    bound = 5 / math.sqrt(n)
    for sample in (x, y):
        assert 0 <= sample.min() < 50 / n and 1 - 50 / n < sample.max() < 1
        counts = np.histogram(sample, 256, (0, 1))[0]
        chi = ((counts - n / 256) ** 2).sum() / (n / 256)
        assert abs(chi - 255) < 5 * math.sqrt(2 * 255)
        for lag in (1, 2, 16, 1 << 15):
            assert abs(np.corrcoef(sample[:-lag], sample[lag:])[0, 1]) < bound
        low_bits = (sample * 2**24).astype(np.int64) & 0xFF  # and not only the first digits
        chi = ((np.bincount(low_bits, minlength=256) - n / 256) ** 2).sum() / (n / 256)
        assert abs(chi - 255) < 5 * math.sqrt(2 * 255)
    assert abs(np.corrcoef(x, y)[0, 1]) < bound


def test_machine_code_and_operations_draw_the_same() -> None:
    def drawn(backend: str) -> list[Any]:
        rng = tnp.random.default_rng(7)
        f = tnp.compile(lambda: (rng.random(1000, "float32"), rng.random((2, 3))), backend=backend)
        return [*f(), *f()]

    expected, found = drawn("eager"), drawn("inductor")
    assert (expected[0] != expected[2]).any() and (expected[1] != expected[3]).all()
    for one, other in zip(expected, found, strict=True):
        assert one.dtype == other.dtype and (one == other).all()


@pytest.mark.host
def test_a_graph_that_reduces_draws_into_no_array(monkeypatch: pytest.MonkeyPatch) -> None:
    """Memory that compiled code asks for while it estimates pi: bytes, and not the coordinates of a million points."""
    n = 1 << 20
    rng = tnp.random.default_rng(1)

    @tnp.compile
    def estimate() -> Any:
        x, y = rng.random(n), rng.random(n)
        return 4 * tnp.mean(x * x + y * y <= 1)

    assert abs(float(estimate()) - math.pi) < 6 * 1.64 / math.sqrt(n)
    with torch.profiler.profile(profile_memory=True) as profile:
        estimate()
    taken = [event.cpu_memory_usage for event in profile.events() if event.cpu_memory_usage > 0]
    assert taken and sum(taken) < 10_000


@pytest.mark.reads
def test_vectorized_maps_draw_for_each_slice() -> None:
    rng = tnp.random.default_rng(2)
    f = tnp.compile(lambda x: tnp.vectorized_map(lambda v: v + rng.random(3), x))
    assert len(set(np.asarray(f(tnp.zeros((4, 3)))).ravel().tolist())) == 12
