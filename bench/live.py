"""Count the bytes of live tensors while a function runs, and their maximum."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode


class LiveBytes(TorchDispatchMode):
    """A mode that counts the memory of each tensor that an operation makes, until the tensor is freed.

    Attributes
    ----------
    now : int
        The bytes of live tensors.
    peak : int
        The most bytes so far.
    """

    def __init__(self) -> None:
        super().__init__()
        self.now = 0
        self.peak = 0
        self._known: set[int] = set()

    def __torch_dispatch__(self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None) -> Any:
        given = {storage._cdata for storage in _storages((args, kwargs))}
        result = func(*args, **(kwargs or {}))
        for storage in _storages(result):
            if storage._cdata not in given and storage._cdata not in self._known:
                self._known.add(storage._cdata)
                self.now += storage.nbytes()
                weakref.finalize(storage, self._freed, storage._cdata, storage.nbytes())
        self.peak = max(self.peak, self.now)
        return result

    def _freed(self, key: int, size: int) -> None:
        self._known.discard(key)
        self.now -= size


def _storages(value: Any) -> list[Any]:
    if isinstance(value, torch.Tensor):
        return [value.untyped_storage()]
    if isinstance(value, dict):
        value = list(value.values())
    return [storage for item in value for storage in _storages(item)] if isinstance(value, (list, tuple)) else []


def peak(function: Callable[[], Any]) -> int:
    """Return the most bytes of new tensors that were alive at once while ``function`` ran, its result included."""
    with LiveBytes() as live:
        result = function()
    del result
    return live.peak
