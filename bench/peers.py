"""JAX, TensorFlow and CuPy, if they are installed: the same work in as many threads as torch uses."""

from __future__ import annotations

import functools
import importlib.util
import os
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

Call = Callable[[], Any]
NAMES = {"jax": "JAX", "tensorflow": "TensorFlow"}


def _is_there(name: str) -> bool:
    return importlib.util.find_spec(name) is not None


@functools.cache
def jax() -> Any:
    """Return JAX, with NumPy's dtypes instead of 32 bits; None if it is not installed."""
    if not _is_there("jax"):
        return None
    import torch

    os.environ.setdefault("NPROC", str(torch.get_num_threads()))  # read once, when XLA makes its threads
    os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")  # or three quarters of a GPU are JAX's
    import jax

    jax.config.update("jax_enable_x64", True)
    return jax


def has_jax_cuda() -> bool:
    """Whether JAX is there with CUDA."""
    return any(device.platform in ("cuda", "gpu") for device in jax().devices())


@functools.cache
def cupy() -> Any:
    """Return CuPy; None if it is not installed."""
    if not _is_there("cupy"):
        return None
    import cupy

    return cupy


@functools.cache
def tensorflow() -> Any:
    """Return TensorFlow; None if it is not installed."""
    if not _is_there("tensorflow"):
        return None
    import torch

    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    import tensorflow as tf

    tf.config.threading.set_intra_op_parallelism_threads(torch.get_num_threads())
    return tf


def note() -> str:
    """Return a note on which of them have no rows because they are not installed; empty if both are."""
    missing = [title for name, title in NAMES.items() if not _is_there(name)]
    return f"not installed, so without rows: {', '.join(missing)} (pip install '.[peers]')\n" if missing else ""


def jax_call(function: Callable[..., Any], *arrays: np.ndarray, device: str = "cpu") -> Call:
    """Return a jitted function of arrays; a call returns when the result is computed."""
    own = jax_arrays(*arrays, device=device)
    run = jax().jit(function)
    return lambda: jax().block_until_ready(run(*own))


def tensorflow_call(function: Callable[..., Any], *arrays: np.ndarray) -> Call:
    """A ``tf.function`` of tensors on the CPU, where its calls return with the result."""
    return partial(tensorflow().function(function), *tensorflow_arrays(*arrays))


def jax_arrays(*arrays: np.ndarray, device: str = "cpu") -> list[Any]:
    """The arrays as JAX's, on ``device``."""
    where = jax().devices(device)[0]
    return [jax().device_put(array, where) for array in arrays]


def tensorflow_arrays(*arrays: np.ndarray) -> list[Any]:
    """The arrays as TensorFlow's, on the CPU."""
    with tensorflow().device("/CPU:0"):
        return [tensorflow().constant(array) for array in arrays]


def compiled(function: Callable[..., Any], *arrays: np.ndarray, suffix: str = "") -> Iterator[tuple[str, Call]]:
    """The function as each of them compiles it."""
    if jax() is not None:
        yield f"JAX jit{suffix}", jax_call(function, *arrays)
    if tensorflow() is not None:
        yield f"TF function{suffix}", tensorflow_call(function, *arrays)
