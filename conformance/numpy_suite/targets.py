"""What the harness has to know about the libraries under test: how to tell their arrays and how to read them."""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

import numpy


def is_array(value: object, target: ModuleType) -> bool:
    """Whether ``value`` is an array (or tensor) of the target rather than of NumPy."""
    ndarray = getattr(target, "ndarray", None)
    if isinstance(ndarray, type) and isinstance(value, ndarray):  # also of a class that a test of NumPy's derives
        return not isinstance(value, numpy.ndarray)
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(value, torch.Tensor)


def to_numpy(array: Any) -> numpy.ndarray:
    """The NumPy array that holds the values of a target's array."""
    torch = sys.modules.get("torch")
    if torch is not None:
        for tensor in (array, getattr(array, "tensor", None)):
            if isinstance(tensor, torch.Tensor):
                return tensor.detach().cpu().resolve_conj().resolve_neg().numpy()
    return numpy.asarray(array)
