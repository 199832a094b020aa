"""The contestants of a size sweep: one NumPy-style function, run by each installed library.

A curve turns a NumPy array into a call that is ready to be timed: the array is already converted to the library's
array on its device, and the call returns when the result is computed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from bench import peers

Function = Callable[[Any, Any], Any]  # f(x, xp)
Call = Callable[[], Any]


@dataclass(frozen=True)
class Curve:
    """A name, how to make the call for an array, and how to read the result."""

    name: str
    prepare: Callable[[np.ndarray], Call]
    to_numpy: Callable[[Any], np.ndarray] = np.asarray
    # The raw torch curve that it is paired with.
    pair: str | None = None


def curves(function: Function, cuda: bool) -> list[Curve]:
    """Return every curve that this machine can measure, NumPy first."""
    found = [Curve("NumPy", lambda x: partial(function, x, np)), *tnp_curves(function, "cpu")]
    if cuda:
        found += tnp_curves(function, "cuda")
    if peers.jax() is not None:
        found += jax_curves(function)
    if peers.tensorflow() is not None:
        found += tensorflow_curves(function)
    return found


def tnp_curves(function: Function, device: str) -> Iterator[Curve]:
    """tnp eager, tnp compiled and raw torch on ``device``."""
    import torch

    import tnp

    def finish(call: Call) -> Call:
        if device == "cpu":
            return call

        def synchronised() -> Any:
            result = call()
            torch.cuda.synchronize()
            return result

        return synchronised

    def array(x: np.ndarray) -> Any:
        return tnp.asarray(x, device=device)

    def tensor(x: np.ndarray) -> Any:
        return torch.from_numpy(x).to(device)

    @tnp.compile
    def compiled(x: Any) -> Any:
        return function(x, tnp)

    suffix = "" if device == "cpu" else f" ({device})"
    pair = f"torch eager{suffix}"

    def read(y: Any) -> np.ndarray:
        return y.tensor.cpu().numpy()

    yield Curve(f"tnp eager{suffix}", lambda x: finish(partial(function, array(x), tnp)), read, pair)
    yield Curve(f"tnp compiled{suffix}", lambda x: finish(partial(compiled, array(x))), read, pair)
    yield Curve(pair, lambda x: finish(partial(function, tensor(x), torch)), lambda y: y.cpu().numpy())


def jax_curves(function: Function) -> Iterator[Curve]:
    """JAX eager and jitted, on the CPU."""
    jax = peers.jax()

    def eager(x: Any) -> Any:
        return function(x, jax.numpy)

    def prepare(x: np.ndarray) -> Call:
        (own,) = peers.jax_arrays(x)
        return lambda: eager(own).block_until_ready()

    yield Curve("JAX eager", prepare)
    yield Curve("JAX jit", partial(peers.jax_call, eager))


def tensorflow_curves(function: Function) -> Iterator[Curve]:
    """TensorFlow's NumPy eager and as a tf.function, on the CPU, where its calls return with the result."""
    tf = peers.tensorflow()

    def eager(x: Any) -> Any:
        return function(x, tf.experimental.numpy)

    yield Curve("TF eager", lambda x: partial(eager, *peers.tensorflow_arrays(x)))
    yield Curve("TF function", partial(peers.tensorflow_call, eager))
