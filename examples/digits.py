"""``python -m examples.digits``: a two-layer network of plain arrays learns to read scikit-learn's handwritten digits.

The network is NumPy code, GradientTape differentiates it, torch.optim updates the arrays where they lie, and the whole
step, update included, is compiled. The loss curve is drawn to a PNG.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import matplotlib
import torch
from matplotlib.figure import Figure
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from sklearn.datasets import load_digits

import tnp as np

OPTIMIZERS: dict[str, Callable[[list[torch.Tensor]], torch.optim.Optimizer]] = {
    "sgd": lambda tensors: torch.optim.SGD(tensors, lr=0.1, momentum=0.9, foreach=False),
    # Differentiable, so that its count of steps is an array that a compiled step may update, and no Python number.
    "adam": lambda tensors: torch.optim.Adam(tensors, lr=3e-3, foreach=False, differentiable=True),
}


class Data(NamedTuple):
    """Images as rows of 64 numbers between 0 and 1, and the digits that they show."""

    images: Any
    digits: Any


def load(seed: int, held_out: float = 0.2) -> tuple[Data, Data]:
    """The data to learn from, and the data that is held out."""
    images, digits = load_digits(return_X_y=True)
    order = np.random.default_rng(seed).permutation(len(images))
    images = np.asarray(images, dtype=np.float32, device=order.device)[order] / 16
    digits = np.asarray(digits, device=order.device)[order]
    split = int(len(images) * (1 - held_out))
    return Data(images[:split], digits[:split]), Data(images[split:], digits[split:])


def initialized(seed: int, hidden: int) -> dict[str, Any]:
    """Weights and biases."""
    rng = np.random.default_rng(seed)

    def weights(rows: int, columns: int) -> Any:
        return (rng.standard_normal((rows, columns)) * (2 / rows) ** 0.5).astype(np.float32)

    return {
        "w1": weights(64, hidden),
        "b1": np.zeros(hidden, np.float32),
        "w2": weights(hidden, 10),
        "b2": np.zeros(10, np.float32),
    }


def logits(net: dict[str, Any], images: Any) -> Any:
    """What the network says of each digit: the more, the likelier."""
    hidden = np.maximum(images @ net["w1"] + net["b1"], 0)
    return hidden @ net["w2"] + net["b2"]


def loss_of(net: dict[str, Any], images: Any, digits: Any) -> Any:
    """Cross-entropy: how unlikely the network thought the digits that it was shown."""
    scores = logits(net, images)
    scores = scores - scores.max(axis=1, keepdims=True)
    logarithms = scores - np.log(np.exp(scores).sum(axis=1, keepdims=True))
    return -logarithms[np.arange(len(digits)), digits].mean()


def accuracy(net: dict[str, Any], data: Data) -> float:
    """The part of the images that the network reads right."""
    return float((logits(net, data.images).argmax(axis=1) == data.digits).mean())


def batches(data: Data, size: int, rng: Any) -> Iterator[Data]:
    """The data in random order, in batches of one size."""
    order = rng.permutation(len(data.images))
    for start in range(0, len(order) - size + 1, size):
        chosen = order[start : start + size]
        yield Data(data.images[chosen], data.digits[chosen])


def make_step(net: dict[str, Any], optimizer: torch.optim.Optimizer) -> Callable[[Any, Any], Any]:
    """One step of training, which updates the network in place and returns the loss."""

    def step(images: Any, digits: Any) -> Any:
        with np.GradientTape() as tape:
            tape.watch(net)
            loss = loss_of(net, images, digits)
        gradients = tape.gradient(loss, net)
        for name, array in net.items():
            array.tensor.grad = gradients[name].tensor
        optimizer.step()
        for array in net.values():
            array.tensor.grad = None
        return loss

    return step


def train(
    optimizer: str = "adam",
    epochs: int = 40,
    batch_size: int = 64,
    hidden: int = 128,
    seed: int = 0,
    console: Console | None = None,
) -> tuple[dict[str, Any], list[float], list[float]]:
    """Train a network; returns it with the loss of each step and the held-out accuracy after each epoch."""
    learn, held_out = load(seed)
    net = initialized(seed, hidden)
    rng = np.random.default_rng(seed)
    step = make_step(net, OPTIMIZERS[optimizer]([array.tensor for array in net.values()]))
    # The first step runs as it is: torch's optimizers make their state in it.
    first = Data(learn.images[:batch_size], learn.digits[:batch_size])
    losses = [float(step(*first))]
    compiled = np.compile(step)
    accuracies: list[float] = []
    columns = (
        TextColumn("[bold]{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("loss {task.fields[loss]:.4f}  held-out accuracy {task.fields[accuracy]:.2%}"),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=console or Console()) as progress:
        task = progress.add_task(f"{optimizer}, epochs", total=epochs, loss=losses[0], accuracy=accuracy(net, held_out))
        for _ in range(epochs):
            steps = [compiled(*batch) for batch in batches(learn, batch_size, rng)]
            losses += [float(loss) for loss in steps]
            accuracies.append(accuracy(net, held_out))
            progress.update(task, advance=1, loss=sum(losses[-len(steps) :]) / len(steps), accuracy=accuracies[-1])
    return net, losses, accuracies


def draw(path: Path, losses: list[float], accuracies: list[float]) -> None:
    """The loss of each step and the held-out accuracy after each epoch, as a PNG."""
    with matplotlib.rc_context({"font.size": 12, "axes.spines.top": False, "axes.titlelocation": "left"}):
        figure = Figure(figsize=(8, 4.5), layout="constrained")
        axes = figure.add_subplot()
        axes.plot(losses, color="#0072B2", linewidth=1)
        axes.set_yscale("log")
        axes.set_xlabel("step")
        axes.set_ylabel("training loss", color="#0072B2")
        axes.set_title(f"Handwritten digits: {accuracies[-1]:.1%} read right of those held out")
        right = axes.twinx()
        steps = len(losses) / len(accuracies)
        right.plot([steps * (epoch + 1) for epoch in range(len(accuracies))], accuracies, color="#D55E00", linewidth=2)
        right.set_ylabel("held-out accuracy", color="#D55E00")
        path.parent.mkdir(parents=True, exist_ok=True)
        figure.savefig(path, dpi=150)


def main(arguments: list[str] | None = None) -> int:
    """Train, say how well it went, and draw it; returns the exit status."""
    parser = argparse.ArgumentParser(prog="python -m examples.digits", description=__doc__)
    parser.add_argument("--optimizer", choices=OPTIMIZERS, default="adam", help="of torch.optim (default: %(default)s)")
    parser.add_argument(
        "--epochs", type=int, default=40, metavar="N", help="passes over the data (default: %(default)s)"
    )
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="of the data's order (default: %(default)s)")
    parser.add_argument(
        "--out", type=Path, default=Path("digits.png"), metavar="PNG", help="the loss curve (default: %(default)s)"
    )
    options = parser.parse_args(arguments)
    _, losses, accuracies = train(options.optimizer, options.epochs, seed=options.seed)
    draw(options.out, losses, accuracies)
    print(f"held-out accuracy {accuracies[-1]:.2%} after {len(losses)} steps; loss curve: {options.out}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
