"""``RandomState``: NumPy's legacy interface, whose stream never changes.

Layer: owns the methods that ``RandomState`` alone has; what it shares with ``Generator`` is in ``_distributions``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from backend_torch.random.generators import Stream
from backend_torch.tensors import devices
from tnp._core.base import ndarray
from tnp.random._distributions import Distributions, Draw, array_in, from_host, integers, on_host, warned


class RandomState(Distributions):
    """Random numbers from NumPy's legacy generator, the Mersenne Twister.

    Parameters
    ----------
    seed : int, array_like of int or BitGenerator, optional
        The same numbers come from the same seed; from the operating system's entropy if None.

    Notes
    -----
    On the CPU the numbers are NumPy's, bit for bit. On the default device, if that is an accelerator, and inside
    ``tnp.compile`` torch's generator draws, and ``seed`` and ``set_state`` start it anew; see `Generator` for what is
    different there.

    Source: https://numpy.org/doc/stable/reference/random/legacy.html

    Examples
    --------
    >>> import tnp as np
    >>> state = np.random.RandomState(0)
    >>> state.rand(2)
    array([0.5488135 , 0.71518937])
    """

    __slots__ = ("_origin",)
    __module__ = "tnp.random"

    # isinstance asks it: libraries take NumPy's streams alone. type(x) stays tnp's.
    __class__ = property(lambda self: np.random.RandomState)

    _origin: Any
    """What torch's generators are seeded from: anything that SeedSequence takes, or a bit generator."""

    def __init__(self, seed: Any = None) -> None:
        self._begin(np.random.RandomState(on_host(seed)), on_host(seed))
        self._seeded(seed)

    def _begin(self, host: Any, origin: Any) -> None:
        self._host, self._device, self._origin, self._streams = host, None, origin, {}
        self._batch = None

    @classmethod
    def _over(cls, host: Any, origin: Any = None, states: Mapping[Any, np.ndarray] | None = None) -> RandomState:
        """Return the same stream as a RandomState of NumPy's."""
        state = cls.__new__(cls)
        state._begin(host, origin)
        for place, values in (states or {}).items():
            state._stream_on(None if place is None else devices.parse(place)).state = values
        return state

    def _source(self) -> tuple[object, Callable[[], Any], Callable[[Any], object]]:
        return self._host, lambda: self._host.get_state(legacy=False), self._host.set_state

    @property
    def _bit_generator(self) -> Any:
        """NumPy's bit generator, where ``numpy.random.default_rng`` looks for it."""
        return self._host._bit_generator

    def _seed(self) -> int:
        sequence = self._origin
        if isinstance(sequence, np.random.BitGenerator):
            sequence = sequence.seed_seq
        if not isinstance(sequence, np.random.SeedSequence):
            sequence = self._origin = np.random.SeedSequence(sequence)
        return int(sequence.generate_state(1, np.uint64)[0])

    def _restart(self, origin: Any) -> None:
        """Seed torch's generators anew; a compiled function holds them, so they stay the same objects."""
        self._origin = origin
        self._seeded(origin)
        for stream in self._streams.values():
            stream.seed(self._seed())

    def __repr__(self) -> str:
        return f"{self} at 0x{id(self):X}"

    def __str__(self) -> str:
        return str(self._host)

    def __reduce__(self) -> tuple[Any, ...]:
        states = {None if place is None else str(place): each.state for place, each in self._streams.items()}
        return type(self)._over, (self._host, self._origin, states)

    # The state.

    def seed(self, seed: Any = None) -> None:
        """Start anew from a seed: an integer, several, or None for the operating system's entropy."""
        self._host.seed(on_host(seed))
        self._restart(on_host(seed))

    def get_state(self, legacy: bool = True) -> dict[str, Any] | tuple[Any, ...]:
        """Return NumPy's state: a tuple, or a dict if not ``legacy``."""
        return self._host.get_state(legacy)

    def set_state(self, state: Any) -> None:
        """Continue from a state that ``get_state`` returned."""
        self._host.set_state(state)
        current = self._host.get_state(legacy=False)["state"]
        self._restart([*map(int, current["key"]), int(current["pos"])])

    # Simple numbers.

    def random_sample(self, size: Any = None) -> Draw:
        """Draw from the uniform distribution over [0, 1)."""
        return self._draw(self._host.random_sample, Stream.random, size)

    def random(self, size: Any = None) -> Draw:
        """Draw from the uniform distribution over [0, 1); `random_sample` by another name."""
        return self.random_sample(size)

    def rand(self, *args: Any) -> Draw:
        """Draw from the uniform distribution over [0, 1); the arguments are the shape."""
        return self.random_sample(args or None)

    def randn(self, *args: Any) -> Draw:
        """Draw from the normal distribution with mean 0 and deviation 1; the arguments are the shape."""
        return self.standard_normal(args or None)

    def randint(self, low: Any, high: Any = None, size: Any = None, dtype: Any = int) -> Draw:
        """Draw integers from [low, high), or from [0, low) if ``high`` is None."""
        stream = self._stream()
        if stream is None:
            return from_host(self._host.randint(on_host(low), on_host(high), on_host(size), dtype))
        return integers(stream, low, high, size, dtype, endpoint=False)

    def random_integers(self, low: Any, high: Any = None, size: Any = None) -> Draw:
        """Draw integers from [low, high], or from [1, low] if ``high`` is None; NumPy deprecates it for `randint`."""
        stream = self._stream()
        if stream is None:
            given = (on_host(low), on_host(high), on_host(size))
            return from_host(warned(self._host.random_integers, *given))
        low, high = (1, low) if high is None else (low, high)
        return integers(stream, low, high, size, int, endpoint=True)

    def tomaxint(self, size: Any = None) -> Draw:
        """Draw integers from [0, the largest of C's long]."""
        stream = self._stream()
        if stream is None:
            return from_host(self._host.tomaxint(on_host(size)))
        return integers(stream, 0, np.iinfo(int).max, size, int, endpoint=False)

    def standard_normal(self, size: Any = None) -> Draw:
        """Draw from the normal distribution with mean 0 and deviation 1."""
        return self._draw(self._host.standard_normal, Stream.standard_normal, size)

    def standard_exponential(self, size: Any = None) -> Draw:
        """Draw from the exponential distribution with scale 1."""
        return self._draw(self._host.standard_exponential, Stream.standard_exponential, size)

    def standard_gamma(self, shape: Any, size: Any = None) -> Draw:
        """Draw from the gamma distribution with scale 1."""
        return self._draw(self._host.standard_gamma, Stream.standard_gamma, size, shape)

    # Draws of several dependent numbers.

    def multivariate_normal(
        self, mean: Any, cov: Any, size: Any = None, check_valid: str = "warn", tol: float = 1e-8
    ) -> ndarray:
        """Draw vectors from the multivariate normal distribution."""
        stream = self._stream()
        if stream is None:
            given = (on_host(mean), on_host(cov), on_host(size), check_valid, tol)
            return from_host(warned(self._host.multivariate_normal, *given))
        return self._multivariate_normal(stream, mean, cov, size, check_valid, tol, "svd")

    # Orders and samples.

    def choice(self, a: Any, size: Any = None, replace: bool = True, p: Any = None) -> Draw:
        """Draw elements of ``a``, or integers below it, with probabilities ``p`` if they are given."""
        array = array_in(a)
        if array is not None and array.ndim > 1:
            raise ValueError("a must be 1-dimensional")

        def draw(a: Any, axis: int) -> Any:
            return self._host.choice(a, on_host(size), replace, on_host(p))

        return self._choice(draw, a, size, replace, p, 0)

    def permutation(self, x: Any) -> Draw:
        """Return a copy of ``x`` with its slices along the first axis in random order, or the integers below it."""
        return self._permutation(x, 0)

    def shuffle(self, x: Any) -> None:
        """Bring the slices of ``x`` along the first axis into random order, in place."""
        self._shuffle(x, 0)
