"""The digits: a network that learns them, by a compiled step that does what the step itself does."""

from __future__ import annotations

import io
from pathlib import Path

import numpy
import pytest

pytest.importorskip("sklearn")
pytest.importorskip("matplotlib")
console = pytest.importorskip("rich.console")

import tnp as np  # noqa: E402
from examples import digits  # noqa: E402


def test_it_learns(tmp_path: Path) -> None:
    net, losses, accuracies = digits.train("sgd", epochs=15, console=console.Console(file=io.StringIO()))
    assert accuracies[-1] >= 0.97
    assert losses[-1] < 0.1 < losses[0]
    assert not any(array.tensor.requires_grad for array in net.values())
    digits.draw(tmp_path / "digits.png", losses, accuracies)
    assert (tmp_path / "digits.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize("optimizer", digits.OPTIMIZERS)
def test_the_compiled_step_is_the_step(optimizer: str) -> None:
    learn, _ = digits.load(0)
    nets = []
    for backend in (None, "eager"):
        net = digits.initialized(0, 8)
        tensors = [array.tensor for array in net.values()]
        step = digits.make_step(net, digits.OPTIMIZERS[optimizer](tensors))
        batches = list(digits.batches(learn, 32, np.random.default_rng(1)))[:6]
        step(*batches[0])
        run = step if backend is None else np.compile(step, backend=backend)
        for batch in batches[1:]:
            run(*batch)
        assert all(array.tensor is tensor for array, tensor in zip(net.values(), tensors, strict=True))
        nets.append(net)
    for name, array in nets[0].items():
        numpy.testing.assert_allclose(np.asnumpy(nets[1][name]), np.asnumpy(array), rtol=1e-4, atol=1e-6)
