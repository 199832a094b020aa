"""Memory that NumPy holds until torch is asked for a tensor over it.

Layer: owns that all arrays over one memory get views of one tensor: torch then knows what aliases, whichever of them it
is asked for first. While such a tensor lives and other arrays of NumPy's have its memory, `tracing.watched` has the
memory, so that those ask here before they read or write behind torch's back.
"""

from __future__ import annotations

import functools
import sys
import threading
import weakref
from typing import Any

import numpy as np
import torch

from backend_torch.tensors import devices, memory, trace_state
from backend_torch.torch_private import functorch
from backend_torch.torch_private.modes import no_dispatch

Tensor = torch.Tensor
lock = threading.RLock()


def _root(host: np.ndarray) -> np.ndarray:
    """The array whose memory an array is a view of, or itself."""
    base: Any = host.base
    while type(base) is np.ndarray:
        host, base = base, base.base
    return host


def is_taken(host: np.ndarray) -> bool:
    """Whether there is a tensor over the array's memory."""
    return id(_root(host)) in trace_state.watched


def is_observed() -> bool:
    """Whether this thread traces or transforms, which has to see each operation, or makes its arrays elsewhere."""
    inside = trace_state.is_tracing() or functorch.is_transforming() or trace_state.is_batching()
    return inside or devices.is_elsewhere()


def tensor_of(host: np.ndarray) -> Tensor:
    """The tensor over an array's memory, which is one for all arrays that share it.

    The array is of a dtype that a tensor can have, aligned, writeable, and of strides that are not negative.
    """
    root = _root(host)
    known: Any = trace_state.watched.get(id(root))
    tensor = None if known is None else known()
    if tensor is None:
        # While Dynamo evaluates frames there is one more: it then counts as shared, which costs questions only.
        is_shared = sys.getrefcount(root) > (4 if root is host else 3)  # its holder, the names here, and the question
        with torch.inference_mode(False), no_dispatch():  # it is from outside of any trace
            tensor = memory.from_numpy(root)
        if is_shared:
            trace_state.watched[id(root)] = weakref.ref(tensor, functools.partial(_forget, id(root)))
    if root is host:
        return tensor
    with torch.inference_mode(False), torch.enable_grad(), functorch.disabled(), no_dispatch():
        start = host.__array_interface__["data"][0] - root.__array_interface__["data"][0]
        strides = [stride // host.itemsize for stride in host.strides]
        return tensor.as_strided(host.shape, strides, start // host.itemsize)


def _forget(key: int, _: object) -> None:
    trace_state.watched.pop(key, None)
