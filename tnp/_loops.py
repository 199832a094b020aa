"""The table behind every hot path: dtypes -> the callable that computes, built when it is first asked for.

Layer: owns the cache and nothing of what is in it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


class Loops(dict[Any, Any]):
    """Key (a torch dtype, or a pair of them) -> loop, made by ``build`` on first use."""

    __slots__ = ("build",)

    def __init__(self, build: Callable[[Any], Any]) -> None:
        self.build = build

    def __missing__(self, key: Any) -> Any:
        loop = self[key] = self.build(key)
        return loop
