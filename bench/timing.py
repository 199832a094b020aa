"""Interleaved timing: the contestants run in turn, round after round, so that noise affects all of them alike.

A sample is the time per call over an inner loop that is long enough for the clock; ratios and differences are paired
within a round before the median is taken.
"""

from __future__ import annotations

import math
import statistics
import time
import timeit
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

Clock = Callable[[], float]
Samples = dict[str, list[float]]

# One sample lasts at least this long: far above the clock's resolution, far below a scheduler's time slice.
SAMPLE_SECONDS = 2e-3


@dataclass(frozen=True)
class Contestant:
    """A named statement, as ``timeit`` takes it: source text with its names, or a callable."""

    name: str
    statement: str | Callable[[], Any]
    names: Mapping[str, Any] = field(default_factory=dict)

    def timer(self, clock: Clock = time.perf_counter) -> timeit.Timer:
        """A timer of the statement; it holds the garbage collector off while it runs."""
        return timeit.Timer(self.statement, timer=clock, globals=dict(self.names))


@dataclass(frozen=True)
class Summary:
    """Seconds per call over the rounds: median, quartiles and minimum."""

    median: float
    q1: float
    q3: float
    least: float
    rounds: int

    @classmethod
    def of(cls, samples: Sequence[float]) -> Summary:
        """The summary of at least one sample."""
        q1, median, q3 = quartiles(samples)
        return cls(median, q1, q3, min(samples), len(samples))

    @property
    def spread(self) -> float:
        """Half the interquartile range, as a fraction of the median."""
        return (self.q3 - self.q1) / (2 * self.median)


def quartiles(samples: Sequence[float]) -> tuple[float, float, float]:
    """First quartile, median and third quartile."""
    if len(samples) == 1:
        return samples[0], samples[0], samples[0]
    q1, median, q3 = statistics.quantiles(samples, n=4, method="inclusive")
    return q1, median, q3


def calibrate(timer: timeit.Timer, least: float = SAMPLE_SECONDS) -> int:
    """Return how many calls in a row take at least ``least`` seconds; if that is 0, one, without measuring."""
    calls = 1
    if not least:
        return calls
    while (elapsed := timer.timeit(calls)) < least:
        # At most tenfold a step: the first calls are slow, and a clock may not have moved at all.
        grown = calls * 1.2 * least / elapsed if elapsed > 0 else math.inf
        calls = math.ceil(min(max(grown, 2 * calls), 10 * calls))
    return calls


def measure(
    contestants: Sequence[Contestant],
    rounds: int,
    *,
    least: float = SAMPLE_SECONDS,
    clock: Clock = time.perf_counter,
    after_sample: Callable[[], None] = lambda: None,
) -> Samples:
    """Seconds per call of each contestant, one sample a round; every other round runs in the opposite order."""
    runs = [(c.name, timer := c.timer(clock), calibrate(timer, least)) for c in contestants]
    samples: Samples = {c.name: [] for c in contestants}
    for number in range(rounds):
        for name, timer, calls in runs if number % 2 == 0 else reversed(runs):
            samples[name].append(timer.timeit(calls) / calls)
            after_sample()
    return samples


def paired_ratio(one: Sequence[float], other: Sequence[float]) -> float:
    """Median over the rounds of ``one``'s time over ``other``'s in the same round."""
    return statistics.median(a / b for a, b in zip(one, other, strict=True))


def paired_difference(one: Sequence[float], other: Sequence[float]) -> float:
    """Median over the rounds of ``one``'s time less ``other``'s in the same round."""
    return statistics.median(a - b for a, b in zip(one, other, strict=True))
