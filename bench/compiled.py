"""``python -m bench compile``: matrix chains, loops and calls, compiled and eager, each checked and then timed."""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from bench import options, peers, place, report, timing

Call = Callable[[], Any]
ADDITIONS = 1000


@dataclass(frozen=True)
class Workload:
    """A title, a size, and the contestants, NumPy first: calls that return when the result, an array, is computed."""

    title: str
    size: int
    calls: dict[str, Call]


@dataclass(frozen=True)
class Result:
    """A workload's title, and the row of one of its contestants."""

    workload: str
    row: report.Row


def chain(x: Any, y: Any, matmul: Callable[[Any, Any], Any]) -> Any:
    """Ten matrix products in sequence."""
    total = x
    for _ in range(10):
        total = total + matmul(total, y) * x
    return total


def additions(x: Any) -> Any:
    """A thousand steps with almost no work."""
    for _ in range(ADDITIONS):
        x = x + 1
    return x


def spread(arrays: list[Any]) -> dict[str, Any]:
    """Take eight arrays, return a nested result."""
    return {"sums": [one + other for one, other in zip(arrays[:4], arrays[4:], strict=True)], "first": (arrays[0] * 2,)}


def chains(size: int, device: str = place.HOST) -> Workload:
    """``s = s + matmul(s, y) * x``, ten times, in float32."""
    import torch

    import tnp

    x, y = np.random.default_rng(0).random((2, size, size), np.float32) / size
    own = tnp.asarray(x, device=device), tnp.asarray(y, device=device)
    tensors = torch.from_numpy(x).to(device), torch.from_numpy(y).to(device)
    compiled = tnp.compile(lambda x, y: chain(x, y, tnp.matmul))
    calls: dict[str, Call] = {
        "NumPy": partial(chain, x, y, np.matmul),
        "torch eager": partial(chain, *tensors, torch.matmul),
        "torch.compile": partial(torch.compile(lambda x, y: chain(x, y, torch.matmul)), *tensors),
        "tnp eager": partial(chain, *own, tnp.matmul),
        "tnp compiled": partial(compiled, *own),
    }
    if device == place.HOST:
        calls.update(peers.compiled(lambda x, y: chain(x, y, lambda a, b: a @ b), x, y))
    return Workload("10 products of matrices, float32", size, calls)


def loops(size: int, device: str = place.HOST) -> Workload:
    """A thousand additions of 1, in float32."""
    import torch

    import tnp

    x = np.zeros(size, np.float32)
    own = tnp.asarray(x, device=device)

    def counted(x: Any) -> Any:
        return tnp.while_loop(lambda v: v[0] < ADDITIONS, lambda v: (v[0] + 1, v[1] + 1), (0, x))[1]

    calls: dict[str, Call] = {
        "NumPy": partial(additions, x),
        "torch eager": partial(additions, torch.from_numpy(x).to(device)),
        "tnp eager": partial(additions, own),
        "tnp compiled, unrolled": partial(tnp.compile(additions), own),
        "tnp compiled, while_loop": partial(tnp.compile(counted), own),
        "tnp compiled, fori_loop": partial(
            tnp.compile(lambda x: tnp.fori_loop(0, ADDITIONS, lambda i, v: v + 1, x)), own
        ),
    }
    if device == place.HOST:
        calls.update(peers.compiled(additions, x, suffix=", unrolled"))
        calls.update(_peers_loops(x))
    return Workload(f"{ADDITIONS} additions of 1, float32", size, calls)


def _peers_loops(x: np.ndarray) -> Iterator[tuple[str, Call]]:
    """The loop forms of JAX and TensorFlow."""
    if (jax := peers.jax()) is not None:
        yield "JAX jit, fori_loop", peers.jax_call(lambda x: jax.lax.fori_loop(0, ADDITIONS, lambda i, v: v + 1, x), x)
    if (tf := peers.tensorflow()) is not None:

        def counted(x: Any) -> Any:
            return tf.while_loop(lambda i, v: i < ADDITIONS, lambda i, v: (i + 1, v + 1), (0, x))[1]

        yield "TF function, while_loop", peers.tensorflow_call(counted, x)


def overhead(size: int, device: str = place.HOST) -> Workload:
    """A call with eight arrays and a nested result, and almost no work."""
    import tnp

    arrays = list(np.random.default_rng(0).random((8, size), np.float32))
    own = [tnp.asarray(array, device=device) for array in arrays]
    compiled = tnp.compile(lambda *arrays: spread(list(arrays)))
    calls: dict[str, Call] = {
        "NumPy": partial(spread, arrays),
        "tnp eager": partial(spread, own),
        "tnp compiled": partial(compiled, *own),
    }
    if device == place.HOST:
        calls.update(peers.compiled(lambda *arrays: spread(list(arrays)), *arrays))
    return Workload("a call with 8 arrays and a nested result", size, calls)


def _leaves(result: Any) -> list[np.ndarray]:
    import tnp

    if isinstance(result, dict):
        result = [result[key] for key in sorted(result)]  # JAX returns a dictionary in this order
    if isinstance(result, (list, tuple)):
        return [leaf for item in result for leaf in _leaves(item)]
    return [tnp.asnumpy(result.cpu() if hasattr(result, "cpu") else result)]


def measured(workload: Workload, repeats: int, clock: timing.Clock = time.perf_counter) -> list[report.Row]:
    """Check each contestant's first result against NumPy's, then time rounds of all contestants."""
    first_calls, expected = {}, _leaves(workload.calls["NumPy"]())
    for name, call in workload.calls.items():
        start = clock()
        result = call()
        first_calls[name] = clock() - start
        for leaf, wanted in zip(_leaves(result), expected, strict=True):
            np.testing.assert_allclose(leaf, wanted, rtol=1e-4, err_msg=name)
    contestants = [timing.Contestant(name, call) for name, call in workload.calls.items()]
    samples = timing.measure(contestants, repeats, clock=clock)
    pairs = {name: "torch eager" for name in samples if name.startswith("tnp") and "torch eager" in samples}
    return report.rows(workload.size, samples, first_calls, pairs)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command's options."""
    parser.add_argument("--matrix", type=int, default=1000, metavar="N", help="rows of the matrices (default: 1000)")
    parser.add_argument("--sizes", type=int, nargs="+", default=[10**2, 10**4, 10**6], help="elements of the loops")
    place.add_argument(parser)
    options.add_repeats(parser, 10)
    options.add_out(parser)


def run(chosen: argparse.Namespace) -> int:
    """Measure each workload, print a table for it and write all as JSON."""
    console = report.console()
    facts = report.machine(chosen.device)
    clock = place.clock(chosen.device)
    prepared = [partial(chains, chosen.matrix, chosen.device), partial(overhead, 8, chosen.device)]
    prepared += [partial(loops, size, chosen.device) for size in chosen.sizes]
    results: list[Result] = []
    for prepare in prepared:
        workload = prepare()
        rows = measured(workload, chosen.repeats, clock)
        console.print(report.table(rows, workload.title))
        results += [Result(workload.title, row) for row in rows]
    print(report.NOTES + peers.note())
    print(report.headline(facts))
    print(report.write_json(chosen.out / "compile.json", results, facts))
    return 0
