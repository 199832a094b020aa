"""A model of a program's time on many hosts: computing and collectives, fitted to measurements.

A step takes ``overhead + seconds_per_work * work / processes`` to compute. Each collective takes the software's time, a
latency for each round of messages, and its bytes over the bandwidth. The table below has the rounds and bytes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

Messages = Sequence[tuple[str, int]]
"""Kinds of collectives, and the bytes that a process gives to each."""


@dataclass(frozen=True)
class Network:
    """A network: seconds a round, bytes a second out of each process, and seconds of software for each collective."""

    name: str
    latency: float
    bandwidth: float
    software: float = 0.0


def on_paper(software: float) -> Network:
    """Return a network as many clusters have it, with the software time that was measured here."""
    return Network("10 µs, 100 Gb/s", 10e-6, 12.5e9, software)


@dataclass(frozen=True)
class Way:
    """One algorithm of a collective: its rounds, and the bytes that each process puts on the wire."""

    rounds: Callable[[int], int]
    wire: Callable[[int, int], float]


def _doublings(processes: int) -> int:
    return math.ceil(math.log2(processes))


RING, DOUBLING = "ring", "doubling"
WAYS: dict[str, dict[str, Way]] = {
    "all_reduce": {
        RING: Way(lambda p: 2 * (p - 1), lambda p, m: 2 * m * (p - 1) / p),
        DOUBLING: Way(lambda p: _doublings(p), lambda p, m: m * _doublings(p)),
    },
    "all_gather_into_tensor": {
        RING: Way(lambda p: p - 1, lambda p, m: m * (p - 1)),
        DOUBLING: Way(lambda p: _doublings(p), lambda p, m: m * (p - 1)),
    },
    "reduce_scatter_tensor": {
        RING: Way(lambda p: p - 1, lambda p, m: m * (p - 1) / p),
        DOUBLING: Way(lambda p: _doublings(p), lambda p, m: m * (p - 1) / p),
    },
}


def wire(messages: Messages, processes: int) -> float:
    """Return the bytes that each process sends in rings, which send least."""
    return sum(WAYS[kind][RING].wire(processes, nbytes) for kind, nbytes in messages)


def sending(messages: Messages, processes: int, network: Network) -> float:
    """Return the seconds of collectives in sequence, each by the faster of its two algorithms."""
    if processes == 1:
        return 0.0
    return sum(
        network.software
        + min(network.latency * way.rounds(processes) + way.wire(processes, nbytes) / network.bandwidth for way in ways)
        for kind, nbytes in messages
        for ways in [WAYS[kind].values()]
    )


Pings = Mapping[str, Sequence[tuple[int, float]]]


def fitted(name: str, pings: Pings, bare: Pings, processes: int) -> Network:
    """Fit a network to measured collectives.

    The latency is that of the ``bare`` collectives, of few bytes. Software time and bandwidth minimise the squared
    relative errors for ``pings``, which the programs' own functions sent.
    """
    rounds = {kind: WAYS[kind][RING].rounds(processes) for kind in pings}
    latency = min(seconds / rounds[kind] for kind, times in bare.items() for _, seconds in times)
    rows, rest = [], []
    for kind, times in pings.items():
        for nbytes, seconds in times:
            rows.append([1 / seconds, WAYS[kind][RING].wire(processes, nbytes) / seconds])
            rest.append(1 - latency * rounds[kind] / seconds)
    software, inverse = np.linalg.lstsq(np.array(rows), np.array(rest), rcond=None)[0]
    return Network(name, latency, 1 / max(float(inverse), 1e-15), max(float(software), 0.0))


@dataclass(frozen=True)
class Computing:
    """The time of one process for a program without messages."""

    overhead: float
    seconds_per_work: float

    @classmethod
    def of(cls, small: tuple[float, float], large: tuple[float, float]) -> Computing:
        """Fit the time to two amounts of work and their seconds."""
        (less, fast), (more, slow) = small, large
        rate = max(0.0, (slow - fast) / (more - less))
        return cls(max(0.0, fast - rate * less), rate)

    def seconds(self, work: float, processes: int, cores: float = math.inf, speed: float = 1.0) -> float:
        """Return the seconds of each of several processes that share ``cores``, on hosts ``speed`` times as fast."""
        return (self.overhead + self.seconds_per_work * work / processes / speed) * max(1.0, processes / cores)


def predicted(
    computing: Computing,
    work: float,
    messages: Messages,
    processes: int,
    network: Network,
    *,
    cores: float = math.inf,
    speed: float = 1.0,
    overlapped: bool = False,
) -> float:
    """Return the seconds of a step; ``overlapped`` steps send while they compute, as far as possible."""
    alone, sent = computing.seconds(work, processes, cores, speed), sending(messages, processes, network)
    return max(alone, sent) if overlapped else alone + sent
