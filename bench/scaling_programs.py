"""The part of `bench.scaling` that runs in each process: the programs, what they send, and the network's times.

``python -m torch.distributed.run --nproc-per-node 2 -m bench.scaling_programs QUESTION ANSWER`` runs it by hand.
"""

from __future__ import annotations

import json
import math
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import torch

import tnp as np
from bench import pi

HIDDEN = 128
RATE = 0.1
LEAST = 0.02  # seconds that a sample lasts at least
PING_BYTES = [2**power for power in range(3, 25, 3)]
Call = Callable[[], Any]


class Message(NamedTuple):
    """A collective: its kind, and the bytes that a process gives to it."""

    kind: str
    nbytes: int


def monte_carlo(n: int, mesh: Any) -> Call:
    """Estimate pi from ``n`` points in each process; all processes get the same estimate."""
    rng = np.distributed.Generator(0, mesh)
    return lambda: float(pi.estimate(rng.random(n), rng.random(n), np))


def matmul(n: int, mesh: Any) -> Call:
    """Multiply two matrices that are cut by rows; each process needs the whole second matrix, so it is sent to all."""
    rng = np.distributed.Generator(0, mesh)
    a, b = rng.random((n, n)), rng.random((n, n))
    return lambda: np.distributed.local(a @ np.distributed.replicate(b, mesh))


def digits(n: int, mesh: Any) -> Call:
    """A training step of the network of examples.digits on ``n`` images, of which each process has a part."""
    from examples.digits import initialized, load, logits

    learn, _ = load(0)
    chosen = np.arange(n) % len(learn.images)
    images = np.distributed.shard(learn.images[chosen], mesh)
    labels = np.distributed.shard(np.eye(10, dtype=np.float32)[learn.digits[chosen]], mesh)
    net = {name: np.distributed.replicate(array, mesh) for name, array in initialized(0, HIDDEN).items()}

    def loss(net: dict[str, Any]) -> Any:
        scores = logits(net, images)
        scores = scores - scores.max(axis=1, keepdims=True)
        logarithms = scores - np.log(np.exp(scores).sum(axis=1, keepdims=True))
        return -(labels * logarithms).sum(axis=1).mean()

    gradient = np.grad(loss)

    def step() -> None:
        for name, slope in gradient(net).items():
            net[name] -= RATE * np.distributed.replicate(slope, mesh)
        np.distributed.local(net["b2"])

    return step


PROGRAMS: dict[str, Callable[[int, Any], Call]] = {"pi": monte_carlo, "matmul": matmul, "digits": digits}


def messages(call: Call) -> list[Message]:
    """The collectives of one call, as the transfer log counts them."""
    with np.transfers() as log:
        call()
    names = [(each.operation.partition(".")[2].partition(".")[0], each.nbytes) for each in log]
    return [Message(*each) for each in names]


def slowest(seconds: float, device: str) -> float:
    """Return the time of the slowest process."""
    times = torch.tensor(seconds, dtype=torch.float64, device=device)
    torch.distributed.all_reduce(times, torch.distributed.ReduceOp.MAX)
    return float(times)


def timed(call: Call, calls: int, device: str) -> float:
    """Return the seconds a call in the slowest process; all begin together."""
    torch.distributed.barrier()
    start = time.perf_counter()
    for _ in range(calls):
        call()
    np.synchronize(device)
    return slowest((time.perf_counter() - start) / calls, device)


Pings = dict[str, list[tuple[int, float]]]


def pings(repeats: int, device: str, mesh: Any) -> tuple[Pings, Pings]:
    """Return kind of collective -> bytes that a process gives, and the least seconds of several tries.

    The first table is by the functions that the programs use. The second is by torch.distributed alone, with few bytes.
    """
    size = np.distributed.size()
    by_arrays: Pings = {"all_reduce": [], "all_gather_into_tensor": []}
    bare: Pings = {"all_reduce": [], "all_gather_into_tensor": []}

    def least(call: Call, calls: int) -> float:
        return min(timed(call, calls, device) for _ in range(repeats))

    for nbytes in PING_BYTES:
        part = np.distributed.shard(np.zeros(nbytes // 8 * size), mesh)
        total = np.distributed.shard(np.zeros((size, nbytes // 8)), mesh).sum(axis=0)
        calls = 20 if nbytes < 2**18 else 3
        by_arrays["all_reduce"].append((nbytes, least(lambda x=total: np.distributed.replicate(x, mesh), calls)))
        gathered = least(lambda x=part: np.distributed.replicate(x, mesh), calls)
        by_arrays["all_gather_into_tensor"].append((nbytes, gathered))
    given = torch.zeros(PING_BYTES[0], dtype=torch.uint8, device=device)
    taken = torch.zeros(PING_BYTES[0] * size, dtype=torch.uint8, device=device)
    bare["all_reduce"].append((PING_BYTES[0], least(lambda: torch.distributed.all_reduce(given), 20)))
    gathered = least(lambda: torch.distributed.all_gather_into_tensor(taken, given), 20)
    bare["all_gather_into_tensor"].append((PING_BYTES[0], gathered))
    return by_arrays, bare


def main(question: str, answer: str) -> None:
    """Measure what a JSON file asks for, and write the results to another."""
    asked = json.loads(Path(question).read_text())
    device, repeats = asked["device"], asked["repeats"]
    np.distributed.init(device, timeout=120)
    mesh = np.distributed.mesh(np.distributed.size(), "rows", device=device)
    torch.set_num_threads(1)
    calls = [(entry, PROGRAMS[entry["program"]](entry["size"], mesh)) for entry in asked["runs"]]
    found = []
    for entry, call in calls:
        call()
        sent = messages(call)
        number = max(1, math.ceil(LEAST / timed(call, 1, device)))
        found.append({**entry, "messages": sent, "calls": number, "samples": []})
    for _ in range(repeats):
        for row, (_, call) in zip(found, calls, strict=True):
            row["samples"].append(timed(call, row["calls"], device))
    network = pings(repeats, device, mesh) if np.distributed.size() > 1 else None
    if np.distributed.rank() == 0:
        Path(answer).write_text(json.dumps({"rows": found, "pings": network}))


if __name__ == "__main__":
    main(*sys.argv[1:])
