"""What is alive at once, counted and not timed: Jacobians by chunks, and checkpoints."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy
import pytest

import tnp as np
from bench import calls, live, memory

SIZE = 64
WHOLE = SIZE * SIZE * 8  # bytes of the Jacobian


def function(x: Any) -> Any:
    for _ in range(4):
        x = np.sin(x) * x
    return x


def by_reverse(chunk_size: int | None) -> Any:
    return np.jacobian(function, mode="reverse", chunk_size=chunk_size)(np.ones(SIZE))


def by_forward(chunk_size: int | None) -> Any:
    return np.jacobian(function, mode="forward", chunk_size=chunk_size)(np.ones(SIZE))


def by_tape(chunk_size: int | None) -> Any:
    x = np.ones(SIZE)
    with np.GradientTape() as tape:
        tape.watch(x)
        y = function(x)
    return tape.jacobian(y, x, chunk_size=chunk_size)


@pytest.mark.parametrize("jacobian", [by_reverse, by_forward, by_tape])
def test_a_jacobian_by_chunks_holds_the_result_and_a_chunk(jacobian: Callable[[Any], Any]) -> None:
    chunk = 4
    small = live.peak(lambda: jacobian(chunk))
    assert small < WHOLE * 1.75
    assert live.peak(lambda: jacobian(None)) > small + WHOLE
    assert abs(jacobian(chunk) - jacobian(None)).max() == 0


def test_a_checkpoint_lowers_the_peak() -> None:
    weights = [np.eye(8) / (k + 1) for k in range(16)]

    def layers(x: Any, weights: Any) -> Any:
        for weight in weights:
            x = np.tanh(x @ weight)
        return x

    def gradients(layers: Callable[..., Any]) -> Any:
        with np.GradientTape() as tape:
            tape.watch(weights)
            x = np.ones((512, 8))
            for start in range(0, 16, 4):
                x = layers(x, weights[start : start + 4])
            loss = x.sum()
        return tape.gradient(loss, weights)

    assert live.peak(lambda: gradients(np.checkpoint(layers))) < 0.7 * live.peak(lambda: gradients(layers))
    for one, other in zip(gradients(np.checkpoint(layers)), gradients(layers), strict=True):
        assert (one == other).all()


def test_what_is_alive_is_counted() -> None:
    def two_at_once() -> Any:
        for _ in range(5):
            x = np.ones(1000)
            x = x + 1
        x += 1
        return x[::2]

    assert live.peak(two_at_once) == 16000


@pytest.mark.parametrize(
    "function",
    [
        "add, out=", "add.at", "argsort", "argsort, stable", "copyto", "fmod", "floor_divide, int64",
        "histogram", "insert", "interp", "lcm", "lexsort", "nanvar", "nanpercentile", "place", "polyadd", "polymul",
        "putmask", "random.shuffle", "remainder, int64", "sign", "spacing", "sum, bool", "take_along_axis",
        "unique, rows",
    ],
)  # fmt: skip
def test_a_function_takes_at_most_twice_numpys_memory(function: str) -> None:
    pytest.importorskip("memray")
    size = 200_000
    arrays = calls.values(size)
    taken = memory.compare(size, function, calls.CALLS[function], calls.names(numpy, arrays), calls.names(np, arrays))
    assert not taken.misses, taken
