"""What ``numpy.polynomial`` computes, for arrays of ours.

Layer: owns the way to the host and back. NumPy computes on CPU memory; an array elsewhere raises.
"""

from __future__ import annotations

import functools
import types
from collections.abc import Callable
from typing import Any

import numpy as np

from tnp._core.base import ndarray
from tnp._core.convert import asarray
from tnp._core.trees import replaced


def host(value: Any) -> Any:
    """Arrays of ours as NumPy's, in lists and tuples too."""
    return replaced(lambda leaf: leaf.__array__()[()] if isinstance(leaf, ndarray) else leaf, value)


def ours(value: Any) -> Any:
    """NumPy's arrays and scalars as ours, in lists and tuples too."""
    return replaced(_ours, value)


def _ours(value: Any) -> Any:
    if issubclass(type(value), np.generic):
        return asarray(value)[()]
    return asarray(value) if type(value) is np.ndarray else value


def names(module: types.ModuleType) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """``__getattr__`` and ``__dir__`` of the module in NumPy's place: its functions take and return arrays of ours."""

    @functools.cache
    def find(name: str) -> Any:
        if name not in module.__all__:
            raise AttributeError(f"module 'tnp.{module.__name__.removeprefix('numpy.')}' has no attribute {name!r}")
        found = getattr(module, name)
        if not callable(found):
            return ours(found)

        @functools.wraps(found)
        def hosted(*args: Any, **kwargs: Any) -> Any:
            return ours(found(*host(args), **host(kwargs)))

        return hosted

    return find, lambda: list(module.__all__)


class Series:
    """Mixed into NumPy's class of a polynomial: its coefficients and values are arrays of ours."""

    def __init__(self, coef: Any, domain: Any = None, window: Any = None, symbol: str = "x") -> None:
        super().__init__(host(coef), host(domain), host(window), symbol)  # type: ignore[call-arg]

    @property
    def coef(self) -> ndarray:
        """The coefficients, the lowest degree first."""
        return asarray(self._coef)

    @coef.setter
    def coef(self, value: Any) -> None:
        self._coef = host(value)

    def _plain(self) -> Any:
        """NumPy's own polynomial."""
        cls = next(c for c in type(self).__mro__ if c.__module__.startswith("numpy."))
        given: Any = self
        return cls(self._coef, given.domain, given.window, given.symbol)

    def __str__(self) -> str:
        return str(self._plain())

    def __repr__(self) -> str:
        return repr(self._plain())

    def __format__(self, spec: str) -> str:
        return format(self._plain(), spec)

    def _repr_latex_(self) -> str:
        return self._plain()._repr_latex_()

    def __call__(self, arg: Any) -> Any:
        return self._plain()(arg) if hasattr(arg, "convert") else ours(self._plain()(host(arg)))

    def roots(self) -> ndarray:
        """The roots."""
        return ours(self._plain().roots())

    def linspace(self, n: int = 100, domain: Any = None) -> tuple[ndarray, ndarray]:
        """Evenly spaced points of the domain, and the values there."""
        return ours(self._plain().linspace(n, host(domain)))

    @classmethod
    def fit(cls, x: Any, y: Any, *args: Any, **kwargs: Any) -> Any:
        """The polynomial that fits points best, by least squares."""
        base: Any = super()
        return base.fit(host(x), host(y), *host(args), **host(kwargs))

    @classmethod
    def fromroots(cls, roots: Any, *args: Any, **kwargs: Any) -> Any:
        """The polynomial that has given roots."""
        base: Any = super()
        return base.fromroots(host(roots), *host(args), **host(kwargs))
