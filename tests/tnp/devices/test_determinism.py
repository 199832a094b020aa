"""``use_deterministic``: a function, a scope, and what it does."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest
import torch

import tnp
from tests import fake_device


@pytest.fixture(autouse=True)
def as_before() -> Iterator[None]:
    before = torch.are_deterministic_algorithms_enabled(), torch.is_deterministic_algorithms_warn_only_enabled()
    yield
    torch.use_deterministic_algorithms(before[0], warn_only=before[1])


def test_a_call_sets_the_mode_and_a_scope_ends_it() -> None:
    assert not torch.are_deterministic_algorithms_enabled()
    tnp.use_deterministic(True)
    assert torch.are_deterministic_algorithms_enabled()
    with tnp.use_deterministic(False):
        assert not torch.are_deterministic_algorithms_enabled()
        with tnp.use_deterministic(warn_only=True):
            assert torch.is_deterministic_algorithms_warn_only_enabled()
            assert repr(tnp.use_deterministic(warn_only=True)).endswith("now True, warns only>")
    assert torch.are_deterministic_algorithms_enabled()
    assert not torch.is_deterministic_algorithms_warn_only_enabled()
    tnp.use_deterministic(False)
    assert not torch.are_deterministic_algorithms_enabled()


def test_an_error_ends_the_scope_too() -> None:
    with pytest.raises(KeyError), tnp.use_deterministic():
        raise KeyError
    assert not torch.are_deterministic_algorithms_enabled()


@pytest.mark.parametrize("mode", [None, 1, "yes"])
def test_only_truth_values_are_modes(mode: Any) -> None:
    with pytest.raises(TypeError, match="must be True or False"):
        tnp.use_deterministic(mode)
    with pytest.raises(TypeError, match="warn_only must be True or False"):
        tnp.use_deterministic(warn_only=mode)
    assert not torch.are_deterministic_algorithms_enabled()


def test_unwritten_memory_is_the_same_each_time() -> None:
    with tnp.use_deterministic():
        assert tnp.isnan(tnp.empty(1000)).all()
        assert (tnp.empty(1000, tnp.int16) == 32767).all()


def test_what_adds_to_repeated_places_gives_the_same_bits_and_values() -> None:
    places = tnp.random.default_rng(0).integers(0, 50, 20_000)
    values = tnp.random.default_rng(1).normal(size=20_000).astype(tnp.float32)

    def sums() -> list[Any]:
        added = tnp.zeros(50, tnp.float32)
        tnp.add.at(added, places, values)
        counted = tnp.bincount(places, values, 50)
        gradient = tnp.grad(lambda x: (x[places] * values).sum())(tnp.ones(50, tnp.float32))
        written = tnp.zeros(50)
        written[tnp.arange(50)] = counted
        return [added, counted, gradient, written, tnp.histogram(values, 20)[0]]

    expected = sums()
    with tnp.use_deterministic():
        once, again = sums(), sums()
    for one, other, loose in zip(once, again, expected, strict=True):
        assert tnp.asnumpy(one).tobytes() == tnp.asnumpy(other).tobytes()
        assert tnp.allclose(one, loose, rtol=1e-4, atol=1e-4)


def test_running_sums(device: str) -> None:
    """CUDA has none in one order in older versions of torch, which is an error then."""
    values = tnp.random.default_rng(1).normal(size=20_000).astype(tnp.float32)
    with tnp.use_deterministic():
        try:
            once = tnp.cumsum(values)
        except RuntimeError as error:
            assert device != "cpu" and re.search("cumsum_cuda.* does not have a deterministic", str(error))
        else:
            assert tnp.asnumpy(once).tobytes() == tnp.asnumpy(tnp.cumsum(values)).tobytes()


def test_weights_are_counted_in_one_order_on_an_accelerator() -> None:
    counted = "(lambda scope: (scope.__enter__(), np.bincount(i, v[:3]), scope.__exit__(None, None, None))[1])"
    expression = f"{counted}(np.use_deterministic())"
    answer = fake_device.ask([expression])[expression]
    assert answer["error"] is None and answer["text"] == "[2. 3. 1.]" and answer["devices"] == ["fake:0"]
