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
        found += jax_curves(function, "cpu")
        if cuda and peers.has_jax_cuda():
            found += jax_curves(function, "cuda")
    if cuda and peers.cupy() is not None:
        found.append(cupy_curve(function))
    if peers.tensorflow() is not None:
        found += tensorflow_curves(function)
    return found


def tnp_curves(function: Function, device: str) -> Iterator[Curve]:
    """tnp eager, tnp compiled and raw torch on ``device``; on CUDA also torch compiled, and both as CUDA graphs."""
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

    def ours(x: Any) -> Any:
        return function(x, tnp)

    def theirs(x: Any) -> Any:
        return function(x, torch)

    def read(y: Any) -> np.ndarray:
        return y.tensor.cpu().numpy()

    suffix = suffix_of(device)
    kinds = {"eager": (ours, theirs), "compiled": (tnp.compile(ours), None)}
    if device != "cpu":
        fixed = partial(torch.compile, theirs, dynamic=False)
        kinds["compiled"] = tnp.compile(ours), fixed()
        kinds["CUDA graph"] = tnp.compile(ours, mode="reduce-overhead"), fixed(mode="reduce-overhead")
    pair = ""
    for kind, (own, other) in kinds.items():
        pair = f"torch {kind}{suffix}" if other else pair
        yield Curve(f"tnp {kind}{suffix}", lambda x, own=own: finish(partial(own, array(x))), read, pair)
        if other:
            yield Curve(pair, lambda x, other=other: finish(partial(other, tensor(x))), lambda y: y.cpu().numpy())


def suffix_of(device: str) -> str:
    """What a curve's name says of its device: nothing of the CPU."""
    return "" if device == "cpu" else f" ({device})"


def jax_curves(function: Function, device: str) -> Iterator[Curve]:
    """JAX eager and jitted, on ``device``."""
    jax, suffix = peers.jax(), suffix_of(device)

    def eager(x: Any) -> Any:
        return function(x, jax.numpy)

    def prepare(x: np.ndarray) -> Call:
        (own,) = peers.jax_arrays(x, device=device)
        return lambda: eager(own).block_until_ready()

    yield Curve(f"JAX eager{suffix}", prepare)
    yield Curve(f"JAX jit{suffix}", partial(peers.jax_call, eager, device=device))


def cupy_curve(function: Function) -> Curve:
    """CuPy, on CUDA."""
    cupy = peers.cupy()

    def prepare(x: np.ndarray) -> Call:
        own, wait = cupy.asarray(x), cupy.cuda.get_current_stream().synchronize

        def synchronised() -> Any:
            result = function(own, cupy)
            wait()
            return result

        return synchronised

    return Curve("CuPy (cuda)", prepare, cupy.asnumpy)


def tensorflow_curves(function: Function) -> Iterator[Curve]:
    """TensorFlow's NumPy eager and as a tf.function, on the CPU, where its calls return with the result."""
    tf = peers.tensorflow()

    def eager(x: Any) -> Any:
        return function(x, tf.experimental.numpy)

    yield Curve("TF eager", lambda x: partial(eager, *peers.tensorflow_arrays(x)))
    yield Curve("TF function", partial(peers.tensorflow_call, eager))
