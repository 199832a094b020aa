"""``python -m bench transforms``: per-example gradients, gradients, Jacobians and Hessians, each library in one run."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from rich.progress import track
from rich.table import Table

from bench import options, peers, place, report, timing

Call = Callable[[], Any]


@dataclass(frozen=True)
class Target:
    """A target: one contestant's time is at most ``ratio`` times another's, or at most ``seconds``."""

    one: str
    other: str | None
    limit: float

    def reached(self, samples: timing.Samples) -> tuple[float, bool] | None:
        """Return the measured figure and whether it reaches the target; None if one of the two isn't installed."""
        if self.one not in samples or (self.other is not None and self.other not in samples):
            return None
        if self.other is None:
            figure = timing.Summary.of(samples[self.one]).median
        else:
            figure = timing.paired_ratio(samples[self.one], samples[self.other])
        return figure, figure <= self.limit

    def __str__(self) -> str:
        if self.other is None:
            return f"{self.one}: at most {report.seconds(self.limit)}"
        return f"{self.one} / {self.other}: at most {report.significant(self.limit)}"


@dataclass(frozen=True)
class Workload:
    """A computation, its contestants and its target. All calls return the same numbers."""

    name: str
    calls: Callable[[str], Iterator[tuple[str, Call]]]
    """The contestants on a device: JAX and TensorFlow take part on the CPU only."""
    targets: tuple[Target, ...]


@dataclass(frozen=True)
class Row:
    """One contestant's time, in seconds."""

    workload: str
    contestant: str
    steady: timing.Summary
    samples: list[float]


def network(batch: int) -> tuple[list[np.ndarray], np.ndarray, np.ndarray]:
    """Weights of a 32-64-2 network, and a batch of inputs and targets."""
    rng = np.random.default_rng(0)

    def normal(*shape: int) -> np.ndarray:
        return rng.standard_normal(shape, dtype=np.float32)

    weights = [normal(32, 64) / 6, normal(64) / 6, normal(64, 2) / 8, normal(2) / 8]
    return weights, normal(batch, 32), normal(batch, 2)


def output(weights: Any, x: Any, xp: Any) -> Any:
    """The network, as each library's user writes it."""
    w1, b1, w2, b2 = weights
    return xp.tanh(x @ w1 + b1) @ w2 + b2


def loss(weights: Any, x: Any, y: Any, xp: Any) -> Any:
    """Sum of squared errors."""
    return ((output(weights, x, xp) - y) ** 2).sum()


def per_example(device: str = place.HOST) -> Iterator[tuple[str, Call]]:
    """Gradients of the loss of each of 128 examples."""
    import torch

    import tnp

    weights, x, y = network(128)
    ours, (xs, ys) = [tnp.asarray(w, device=device) for w in weights], [tnp.asarray(v, device=device) for v in (x, y)]

    def single(pair: Any) -> Any:
        return tnp.grad(lambda w: loss(w, *pair, tnp))(ours)

    compiled = tnp.compile(lambda x, y: tnp.vectorized_map(single, (x, y)))
    yield "tnp loop", lambda: tnp.map_fn(single, (xs, ys))
    yield "tnp vectorized_map", lambda: tnp.vectorized_map(single, (xs, ys))
    yield "tnp compiled", lambda: compiled(xs, ys)

    theirs = [torch.from_numpy(w).to(device) for w in weights]
    gradient = torch.func.grad(lambda w, x, y: loss(w, x, y, torch))
    batched = torch.vmap(gradient, in_dims=(None, 0, 0))
    jitted = torch.compile(batched, dynamic=False)
    xt, yt = torch.from_numpy(x).to(device), torch.from_numpy(y).to(device)
    yield "torch vmap", lambda: batched(theirs, xt, yt)
    yield "torch.compile", lambda: jitted(theirs, xt, yt)

    if device == place.HOST and (jax := peers.jax()) is not None:
        mapped = jax.vmap(jax.grad(lambda w, x, y: loss(w, x, y, jax.numpy)), (None, 0, 0))
        yield "jax.jit", peers.jax_call(lambda x, y, *w: mapped(w, x, y), x, y, *weights)
    if device == place.HOST and (tf := peers.tensorflow()) is not None:
        variables = peers.tensorflow_arrays(*weights)

        def tensorflow_single(pair: Any) -> Any:
            with tf.GradientTape() as tape:
                tape.watch(variables)
                value = tensorflow_loss(variables, pair[0][None], pair[1][None])
            return tape.gradient(value, variables)

        vectorized = lambda x, y: tf.vectorized_map(tensorflow_single, (x, y))  # noqa: E731
        yield "tf.function", peers.tensorflow_call(vectorized, x, y)


def tensorflow_loss(weights: Any, x: Any, y: Any) -> Any:
    """The loss in TensorFlow's own names: its tensors have no method ``sum``."""
    tf = peers.tensorflow()
    return tf.reduce_sum((output(weights, x, tf) - y) ** 2)


def tape(device: str = place.HOST) -> Iterator[tuple[str, Call]]:
    """Gradients of the loss of a batch of 512."""
    import torch

    import tnp

    weights, x, y = network(512)
    ours, (xs, ys) = [tnp.asarray(w, device=device) for w in weights], [tnp.asarray(v, device=device) for v in (x, y)]

    def gradients(x: Any, y: Any) -> Any:
        with tnp.GradientTape() as tape:
            tape.watch(ours)
            value = loss(ours, x, y, tnp)
        return tape.gradient(value, ours)

    compiled = tnp.compile(gradients)
    yield "tnp GradientTape", lambda: gradients(xs, ys)
    yield "tnp compiled", lambda: compiled(xs, ys)

    theirs = [torch.from_numpy(w).to(device).requires_grad_() for w in weights]
    xt, yt = torch.from_numpy(x).to(device), torch.from_numpy(y).to(device)
    jitted = torch.compile(torch.func.grad(lambda w, x, y: loss(w, x, y, torch)), dynamic=False)
    plain = [torch.from_numpy(w).to(device) for w in weights]
    yield "torch.autograd", lambda: torch.autograd.grad(loss(theirs, xt, yt, torch), theirs)
    yield "torch.compile", lambda: jitted(plain, xt, yt)

    if device == place.HOST and (jax := peers.jax()) is not None:
        differentiated = jax.grad(lambda w, x, y: loss(w, x, y, jax.numpy))
        yield "jax.jit", peers.jax_call(lambda x, y, *w: differentiated(w, x, y), x, y, *weights)
    if device == place.HOST and (tf := peers.tensorflow()) is not None:
        variables = peers.tensorflow_arrays(*weights)

        def tensorflow_gradients(x: Any, y: Any) -> Any:
            with tf.GradientTape() as tape:
                tape.watch(variables)
                value = tensorflow_loss(variables, x, y)
            return tape.gradient(value, variables)

        tensors = peers.tensorflow_arrays(x, y)
        yield "TF eager", lambda: tensorflow_gradients(*tensors)
        yield "tf.function", peers.tensorflow_call(tensorflow_gradients, x, y)


def batch_jacobian(device: str = place.HOST) -> Iterator[tuple[str, Call]]:
    """Jacobians of the network's 2 outputs by its 32 inputs, for 16 examples."""
    import torch

    import tnp

    weights, x, _ = network(16)
    ours, xs = [tnp.asarray(w, device=device) for w in weights], tnp.asarray(x, device=device)

    def taped() -> Any:
        with tnp.GradientTape() as tape:
            tape.watch(xs)
            y = output(ours, xs, tnp)
        return tape.batch_jacobian(y, xs)

    jacobian = tnp.jacobian(lambda x: output(ours, x, tnp))
    yield "tnp batch_jacobian", taped
    yield "tnp vectorized_map", lambda: tnp.vectorized_map(jacobian, xs)

    theirs, xt = [torch.from_numpy(w).to(device) for w in weights], torch.from_numpy(x).to(device)
    reverse = torch.vmap(torch.func.jacrev(lambda x: output(theirs, x, torch)))
    yield "torch.func", lambda: reverse(xt)

    if device == place.HOST and (jax := peers.jax()) is not None:
        mapped = jax.vmap(jax.jacrev(lambda x, w: output(w, x, jax.numpy)), (0, None))
        yield "jax.jit", peers.jax_call(lambda x, *w: mapped(x, w), x, *weights)
    if device == place.HOST and (tf := peers.tensorflow()) is not None:
        variables = peers.tensorflow_arrays(*weights)

        def tensorflow_jacobian(x: Any) -> Any:
            with tf.GradientTape() as tape:
                tape.watch(x)
                y = output(variables, x, tf)
            return tape.batch_jacobian(y, x)

        yield "tf.function", peers.tensorflow_call(tensorflow_jacobian, x)


def hessian(device: str = place.HOST) -> Iterator[tuple[str, Call]]:
    """Second derivatives of a function of 100 parameters."""
    import torch

    import tnp

    values = np.random.default_rng(0).standard_normal(100, dtype=np.float32)

    def function(x: Any, xp: Any) -> Any:
        return (xp.tanh(x[1:] * x[:-1]) ** 2).sum() + xp.sin(x).sum()

    x, xt = tnp.asarray(values, device=device), torch.from_numpy(values).to(device)
    ours = tnp.hessian(lambda x: function(x, tnp))
    compiled = tnp.compile(ours)
    theirs = torch.func.hessian(lambda x: function(x, torch))
    yield "tnp hessian", lambda: ours(x)
    yield "tnp compiled", lambda: compiled(x)
    yield "torch.func", lambda: theirs(xt)

    if device == place.HOST and (jax := peers.jax()) is not None:
        yield "jax.jit", peers.jax_call(jax.hessian(lambda x: function(x, jax.numpy)), values)
    if device == place.HOST and (tf := peers.tensorflow()) is not None:

        def tensorflow_hessian(x: Any) -> Any:
            with tf.GradientTape() as outer:
                outer.watch(x)
                with tf.GradientTape() as inner:
                    inner.watch(x)
                    value = tf.reduce_sum(tf.tanh(x[1:] * x[:-1]) ** 2) + tf.reduce_sum(tf.sin(x))
                slope = inner.gradient(value, x)
            return outer.jacobian(slope, x)

        yield "tf.function", peers.tensorflow_call(tensorflow_hessian, values)


WORKLOADS = [
    Workload(
        "per-example gradients, 32-64-2, batch 128",
        per_example,
        (
            Target("tnp compiled", "tnp loop", 1 / 300),
            Target("tnp compiled", None, 70e-6),
            Target("tnp vectorized_map", "torch vmap", 1.25),
        ),
    ),
    Workload(
        "gradients, 32-64-2, batch 512",
        tape,
        (Target("tnp GradientTape", "torch.autograd", 1.0), Target("tnp compiled", "jax.jit", 0.9)),
    ),
    Workload("batch Jacobian (16, 2, 32)", batch_jacobian, (Target("tnp batch_jacobian", "torch.func", 1.1),)),
    Workload("Hessian of 100 parameters", hessian, (Target("tnp hessian", "torch.func", 1.1),)),
]


def leaves(result: Any) -> list[np.ndarray]:
    """Return the arrays in any library's result as NumPy arrays."""
    import tnp

    if isinstance(result, (list, tuple)):
        return [leaf for item in result for leaf in leaves(item)]
    if hasattr(result, "detach"):
        result = result.detach().cpu()
    return [tnp.asnumpy(result)]


def contestants(workload: Workload, device: str = place.HOST) -> list[timing.Contestant]:
    """Return the calls of a workload, warmed up; raise SystemExit if one returns other numbers than the first."""
    found: list[timing.Contestant] = []
    expected: list[np.ndarray] | None = None
    for name, call in workload.calls(device):
        call()
        result = leaves(call())
        expected = result if expected is None else expected
        try:
            for one, other in zip(result, expected, strict=True):
                np.testing.assert_allclose(one, other, rtol=1e-3, atol=1e-4)
        except (AssertionError, ValueError) as error:
            raise SystemExit(f"{workload.name}: {name} is wrong:{error}") from None
        found.append(timing.Contestant(name, call))
    return found


def table(rows: list[Row]) -> Table:
    """The rows, grouped by workload."""
    out = report.plain_table("transforms, float32")
    out.add_column("workload")
    out.add_column("contestant")
    for name in ("time", "±"):
        out.add_column(name, justify="right")
    for number, row in enumerate(rows):
        is_first = number == 0 or rows[number - 1].workload != row.workload
        if is_first and number:
            out.add_section()
        time, spread = report.seconds(row.steady.median), f"{row.steady.spread:.0%}"
        out.add_row(row.workload if is_first else "", row.contestant, time, spread)
    return out


def peaks() -> Iterator[tuple[str, str, int]]:
    """Return computation, method, and the most bytes of tensors that were alive at once."""
    import tnp
    from bench import live

    size = 256
    matrix, x = tnp.eye(size), tnp.ones(size)

    def function(x: Any) -> Any:
        return tnp.tanh(matrix @ tnp.tanh(matrix @ x))

    for chunk_size in (None, 64, 8):
        jacobian = tnp.jacobian(function, mode="reverse", chunk_size=chunk_size)
        yield f"Jacobian ({size}, {size})", f"chunk_size={chunk_size}", live.peak(lambda jacobian=jacobian: jacobian(x))

    weights, batch = [tnp.eye(64) / 8 for _ in range(16)], tnp.ones((1024, 64))

    def layers(x: Any, weights: Any) -> Any:
        for weight in weights:
            x = tnp.tanh(x @ weight)
        return x

    def gradients(layers: Callable[..., Any]) -> Any:
        with tnp.GradientTape() as tape:
            tape.watch(weights)
            y = batch
            for start in range(0, 16, 4):
                y = layers(y, weights[start : start + 4])
            value = y.sum()
        return tape.gradient(value, weights)

    for name, chosen in (("kept", layers), ("checkpoint", tnp.checkpoint(layers))):
        yield "gradients of 16 layers", name, live.peak(lambda chosen=chosen: gradients(chosen))


def memory_table() -> Table:
    """The peaks of `peaks`."""
    out = report.plain_table("memory, float64")
    out.add_column("workload")
    out.add_column("how")
    out.add_column("peak", justify="right")
    for workload, how, size in peaks():
        out.add_row(workload, how, f"{size / 2**20:.2f} MiB")
    return out


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command's options."""
    place.add_argument(parser)
    options.add_repeats(parser, 50)
    options.add_check(parser)
    options.add_out(parser)


def run(chosen: argparse.Namespace) -> int:
    """Measure every workload; print the table and the targets."""
    import tnp

    console = report.console()
    facts = report.machine(chosen.device)
    clock = place.clock(chosen.device)
    rows: list[Row] = []
    verdicts: list[tuple[str, bool]] = []
    for workload in track(WORKLOADS, "transforms", console=console, transient=True):
        samples = timing.measure(contestants(workload, chosen.device), chosen.repeats, clock=clock)
        rows += [Row(workload.name, name, timing.Summary.of(times), times) for name, times in samples.items()]
        for target in workload.targets:
            found = target.reached(samples)
            if found is not None:
                figure = report.seconds(found[0]) if target.other is None else report.significant(found[0])
                verdicts.append((f"{workload.name}: {target}: {figure}", found[1]))
    console.print(table(rows))
    with tnp.device(chosen.device):
        console.print(memory_table())
    print(peers.note() + report.headline(facts))
    for text, reached in verdicts:
        print(f"{'reached' if reached else 'missed '}  {text}")
    print(report.write_json(chosen.out / "transforms.json", rows, facts))
    return 1 if chosen.check and not all(reached for _, reached in verdicts) else 0
