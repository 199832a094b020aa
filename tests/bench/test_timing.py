"""Timing, by a clock that moves only when a contestant says so."""

from __future__ import annotations

import pytest

from bench import timing
from bench.timing import Contestant, Summary


class Clock:
    """A clock that is moved by hand, and what ran while it did."""

    def __init__(self) -> None:
        self.now = 0.0
        self.ran: list[str] = []

    def __call__(self) -> float:
        return self.now

    def contestant(self, name: str, *costs: float) -> Contestant:
        """A contestant whose calls take ``costs`` seconds in turn, the last one from then on."""
        left = list(costs)

        def call() -> None:
            self.ran.append(name)
            self.now += left.pop(0) if len(left) > 1 else left[0]

        return Contestant(name, call)


def test_calibrated_loop_lasts_long_enough() -> None:
    clock = Clock()
    calls = timing.calibrate(clock.contestant("a", 3e-6).timer(clock), least=1e-3)
    assert 1e-3 / 3e-6 <= calls < 10 * 1e-3 / 3e-6


def test_calibration_of_a_slow_call_runs_it_once() -> None:
    clock = Clock()
    assert timing.calibrate(clock.contestant("a", 1.0).timer(clock), least=1e-3) == 1
    assert clock.ran == ["a"]


def test_calibration_is_not_misled_by_a_slow_first_call() -> None:
    clock = Clock()
    calls = timing.calibrate(clock.contestant("a", 0.9e-3, 1e-6).timer(clock), least=1e-3)
    assert calls * 1e-6 >= 1e-3


def test_calibration_survives_a_clock_that_does_not_move() -> None:
    ticks = iter([0.0, 0.0, 0.0, 1.0])
    assert timing.calibrate(Contestant("a", "pass").timer(lambda: next(ticks))) == 10


def test_samples_are_seconds_per_call() -> None:
    clock = Clock()
    samples = timing.measure([clock.contestant("a", 2e-6), clock.contestant("b", 5e-6)], 3, least=1e-4, clock=clock)
    assert samples == {"a": pytest.approx([2e-6] * 3), "b": pytest.approx([5e-6] * 3)}


def test_rounds_interleave_and_alternate() -> None:
    clock = Clock()
    names = ["a", "b", "c"]
    contestants = [clock.contestant(name, 1.0) for name in names]
    steps: list[None] = []
    timing.measure(contestants, 3, clock=clock, after_sample=lambda: steps.append(None))
    assert clock.ran == names + names + names[::-1] + names  # calibration, then three rounds
    assert len(steps) == 9


def test_statement_sees_its_names() -> None:
    clock = Clock()
    seen: list[int] = []

    def add(value: int) -> None:
        seen.append(value)
        clock.now += 1.0

    timing.measure([Contestant("a", "add(x)", {"add": add, "x": 7})], 1, clock=clock)
    assert seen == [7, 7]


def test_pairs_cancel_a_drift_that_both_share() -> None:
    drift = [1.0, 3.0, 2.0, 50.0, 4.0]
    one, other = [2.0 * d for d in drift], drift
    assert timing.paired_ratio(one, other) == 2.0
    assert timing.paired_difference([d + 0.25 for d in drift], drift) == pytest.approx(0.25)


def test_pairs_need_the_same_rounds() -> None:
    with pytest.raises(ValueError, match="shorter"):
        timing.paired_ratio([1.0, 2.0], [1.0])


def test_summary() -> None:
    summary = Summary.of([5.0, 1.0, 3.0, 2.0, 4.0])
    assert summary == Summary(median=3.0, q1=2.0, q3=4.0, least=1.0, rounds=5)
    assert summary.spread == pytest.approx(1 / 3)
    assert Summary.of([2.0]) == Summary(2.0, 2.0, 2.0, 2.0, 1)
