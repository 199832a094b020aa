"""``RandomState``: NumPy's legacy interface, whose stream never changes.

Layer: owns the methods that ``RandomState`` alone has; what it shares with ``Generator`` is in ``_distributions``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from backend_torch.random.generators import Stream
from backend_torch.tensors import devices, trace_state
from tnp._core.base import ndarray
from tnp._core.errors import warn
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
        self._scope = None

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
        if trace_state.is_tracing():
            warn(
                "a generator is seeded while a compiled function is traced. What the function draws is NumPy's at each "
                "call, but a later call does not seed it for the code outside: use rng = default_rng(seed) in the "
                "function",
                RuntimeWarning,
            )
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
        """Start anew from a seed: an integer, several, or None for the operating system's entropy.

        Parameters
        ----------
        seed : int or array_like of int, optional
            The seed; None takes the operating system's entropy.

        Raises
        ------
        ValueError
            The seed is not between 0 and 2**32 - 1.

        Notes
        -----
        Source: https://numpy.org/doc/stable/reference/random/generated/numpy.random.RandomState.seed.html

        Examples
        --------
        >>> import tnp as np
        >>> rng = np.random.RandomState(1)
        >>> rng.seed(0)
        >>> rng.rand(2)
        array([0.5488135 , 0.71518937])
        """
        self._host.seed(on_host(seed))
        self._restart(on_host(seed))

    def get_state(self, legacy: bool = True) -> dict[str, Any] | tuple[Any, ...]:
        """Return NumPy's state: a tuple, or a dict if not ``legacy``.

        Parameters
        ----------
        legacy : bool, default True
            Whether to return a tuple instead of a dict.

        Returns
        -------
        tuple or dict
            NumPy's state.

        Notes
        -----
        Source: https://numpy.org/doc/stable/reference/random/generated/numpy.random.RandomState.get_state.html

        Examples
        --------
        >>> import tnp as np
        >>> np.random.RandomState(0).get_state()[0]
        'MT19937'
        """
        return self._host.get_state(legacy)

    def set_state(self, state: Any) -> None:
        """Continue from a state that ``get_state`` returned.

        Parameters
        ----------
        state : tuple or dict
            A result of `get_state`.

        Raises
        ------
        ValueError
            ``state`` is not a state of this generator.

        Notes
        -----
        Source: https://numpy.org/doc/stable/reference/random/generated/numpy.random.RandomState.set_state.html

        Examples
        --------
        >>> import tnp as np
        >>> rng = np.random.RandomState(0)
        >>> state = rng.get_state()
        >>> first = rng.rand()
        >>> rng.set_state(state)
        >>> rng.rand() == first
        True
        """
        self._host.set_state(state)
        current = self._host.get_state(legacy=False)["state"]
        self._restart([*map(int, current["key"]), int(current["pos"])])

    # Simple numbers.

    def random_sample(self, size: Any = None) -> Draw:
        """Draw from the uniform distribution over [0, 1).

        Parameters
        ----------
        size : int or tuple of int, optional
            The result's shape. By default one number.

        Returns
        -------
        ndarray, or a Python number
            A single draw on the CPU is a Python number.

        Notes
        -----
        Differences from NumPy: on an accelerator and in compiled functions torch draws other numbers.

        Source: https://numpy.org/doc/stable/reference/random/generated/numpy.random.RandomState.random_sample.html

        Examples
        --------
        >>> import tnp as np
        >>> np.random.RandomState(0).random_sample(2)
        array([0.5488135 , 0.71518937])
        """
        return self._draw(self._host.random_sample, Stream.random, size)

    def random(self, size: Any = None) -> Draw:
        """Draw from the uniform distribution over [0, 1); `random_sample` by another name.

        Parameters
        ----------
        size : int or tuple of int, optional
            The result's shape. By default one number.

        Returns
        -------
        ndarray, or a Python number
            A single draw on the CPU is a Python number.

        Notes
        -----
        Differences from NumPy: on an accelerator and in compiled functions torch draws other numbers.

        Source: https://numpy.org/doc/stable/reference/random/generated/numpy.random.RandomState.random.html

        Examples
        --------
        >>> import tnp as np
        >>> np.random.RandomState(0).random(2)
        array([0.5488135 , 0.71518937])
        """
        return self.random_sample(size)

    def rand(self, *args: Any) -> Draw:
        """Draw from the uniform distribution over [0, 1); the arguments are the shape.

        Parameters
        ----------
        *args : int
            The lengths of the result's axes; one number without them.

        Returns
        -------
        ndarray, or a Python number
            A single draw on the CPU is a Python number.

        Notes
        -----
        Differences from NumPy: on an accelerator and in compiled functions torch draws other numbers.

        Source: https://numpy.org/doc/stable/reference/random/generated/numpy.random.RandomState.rand.html

        Examples
        --------
        >>> import tnp as np
        >>> np.random.RandomState(0).rand(2)
        array([0.5488135 , 0.71518937])
        """
        return self.random_sample(args or None)

    def randn(self, *args: Any) -> Draw:
        """Draw from the normal distribution with mean 0 and deviation 1; the arguments are the shape.

        Parameters
        ----------
        *args : int
            The lengths of the result's axes; one number without them.

        Returns
        -------
        ndarray, or a Python number
            A single draw on the CPU is a Python number.

        Notes
        -----
        Differences from NumPy: on an accelerator and in compiled functions torch draws other numbers.

        Source: https://numpy.org/doc/stable/reference/random/generated/numpy.random.RandomState.randn.html

        Examples
        --------
        >>> import tnp as np
        >>> np.random.RandomState(0).randn(2)
        array([1.76405235, 0.40015721])
        """
        return self.standard_normal(args or None)

    def randint(self, low: Any, high: Any = None, size: Any = None, dtype: Any = int) -> Draw:
        """Draw integers from [low, high), or from [0, low) if ``high`` is None.

        Parameters
        ----------
        low : int or array_like of int
            The least number; the bound if ``high`` is None.
        high : int or array_like of int, optional
            The bound, which is not drawn.
        size : int or tuple of int, optional
            The result's shape. By default the shape to which the parameters broadcast.
        dtype : dtype, default int
            An integer dtype or bool.

        Returns
        -------
        ndarray of ``dtype``, or a Python number
            A single draw on the CPU is a Python number.

        Raises
        ------
        ValueError
            ``low >= high``, or a bound is out of the range of ``dtype``.

        Notes
        -----
        Differences from NumPy: on an accelerator and in compiled functions torch draws other numbers.

        Source: https://numpy.org/doc/stable/reference/random/generated/numpy.random.RandomState.randint.html

        Examples
        --------
        >>> import tnp as np
        >>> np.random.RandomState(0).randint(10, size=5)
        array([5, 0, 3, 3, 7])
        """
        stream = self._stream()
        if stream is None:
            return from_host(self._host.randint(on_host(low), on_host(high), on_host(size), dtype))
        return integers(stream, low, high, size, dtype, endpoint=False)

    def random_integers(self, low: Any, high: Any = None, size: Any = None) -> Draw:
        """Draw integers from [low, high], or from [1, low] if ``high`` is None; NumPy deprecates it for `randint`.

        Parameters
        ----------
        low : int
            The least number; the greatest if ``high`` is None.
        high : int, optional
            The greatest number.
        size : int or tuple of int, optional
            The result's shape. By default one number.

        Returns
        -------
        ndarray of int64, or a Python number
            A single draw on the CPU is a Python number.

        Raises
        ------
        ValueError
            ``low > high``.

        Notes
        -----
        Differences from NumPy: on an accelerator and in compiled functions torch draws other numbers.

        Source: https://numpy.org/doc/stable/reference/random/generated/numpy.random.RandomState.random_integers.html
        """
        stream = self._stream()
        if stream is None:
            given = (on_host(low), on_host(high), on_host(size))
            return from_host(warned(self._host.random_integers, *given))
        low, high = (1, low) if high is None else (low, high)
        return integers(stream, low, high, size, int, endpoint=True)

    def tomaxint(self, size: Any = None) -> Draw:
        """Draw integers from [0, the largest of C's long].

        Parameters
        ----------
        size : int or tuple of int, optional
            The result's shape. By default one number.

        Returns
        -------
        ndarray of int64, or a Python number
            A single draw on the CPU is a Python number.

        Notes
        -----
        Differences from NumPy: on an accelerator and in compiled functions torch draws other numbers.

        Source: https://numpy.org/doc/stable/reference/random/generated/numpy.random.RandomState.tomaxint.html

        Examples
        --------
        >>> import tnp as np
        >>> np.random.RandomState(0).tomaxint(2)
        array([5061911111874532631, 6596457591747962464])
        """
        stream = self._stream()
        if stream is None:
            return from_host(self._host.tomaxint(on_host(size)))
        return integers(stream, 0, np.iinfo(int).max, size, int, endpoint=False)

    def standard_normal(self, size: Any = None) -> Draw:
        """Draw from the normal distribution with mean 0 and deviation 1.

        Parameters
        ----------
        size : int or tuple of int, optional
            The result's shape. By default one number.

        Returns
        -------
        ndarray, or a Python number
            A single draw on the CPU is a Python number.

        Notes
        -----
        Differences from NumPy: on an accelerator and in compiled functions torch draws other numbers.

        Source: https://numpy.org/doc/stable/reference/random/generated/numpy.random.RandomState.standard_normal.html

        Examples
        --------
        >>> import tnp as np
        >>> np.random.RandomState(0).standard_normal(2)
        array([1.76405235, 0.40015721])
        """
        return self._draw(self._host.standard_normal, Stream.standard_normal, size)

    def standard_exponential(self, size: Any = None) -> Draw:
        """Draw from the exponential distribution with scale 1.

        Parameters
        ----------
        size : int or tuple of int, optional
            The result's shape. By default one number.

        Returns
        -------
        ndarray, or a Python number
            A single draw on the CPU is a Python number.

        Notes
        -----
        Differences from NumPy: on an accelerator and in compiled functions torch draws other numbers.

        Source: https://numpy.org/doc/stable/reference/random/generated/numpy.random.RandomState.standard_exponential.html

        Examples
        --------
        >>> import tnp as np
        >>> np.random.RandomState(0).standard_exponential(2)
        array([0.79587451, 1.25593076])
        """
        return self._draw(self._host.standard_exponential, Stream.standard_exponential, size)

    def standard_gamma(self, shape: Any, size: Any = None) -> Draw:
        """Draw from the gamma distribution with scale 1.

        Parameters
        ----------
        shape : float or array_like of float
            The shape parameter, at least 0.
        size : int or tuple of int, optional
            The result's shape. By default the shape to which the parameters broadcast.

        Returns
        -------
        ndarray, or a Python number
            A single draw on the CPU is a Python number.

        Raises
        ------
        ValueError
            ``shape`` is negative.

        Notes
        -----
        Differences from NumPy: on an accelerator and in compiled functions torch draws other numbers.

        Source: https://numpy.org/doc/stable/reference/random/generated/numpy.random.RandomState.standard_gamma.html

        Examples
        --------
        >>> import tnp as np
        >>> np.random.RandomState(0).standard_gamma(2.0, size=2)
        array([5.13882958, 2.23848091])
        """
        return self._draw(self._host.standard_gamma, Stream.standard_gamma, size, shape)

    # Draws of several dependent numbers.

    def multivariate_normal(
        self, mean: Any, cov: Any, size: Any = None, check_valid: str = "warn", tol: float = 1e-8
    ) -> ndarray:
        """Draw vectors from the multivariate normal distribution.

        Parameters
        ----------
        mean : array_like, shape (k,)
            The mean of each component.
        cov : array_like, shape (k, k)
            The covariance matrix, symmetric and positive semidefinite.
        size : int or tuple of int, optional
            The shape of the draws; each draw is a vector along a further, last axis.
        check_valid : {'warn', 'raise', 'ignore'}
            What to do if ``cov`` is not positive semidefinite.
        tol : float, default 1e-8
            The tolerance of this check.

        Returns
        -------
        ndarray of float64, shape (..., k)

        Raises
        ------
        ValueError
            The shapes do not fit, or ``cov`` is refused by the check.

        Notes
        -----
        Differences from NumPy: on an accelerator and in compiled functions torch draws other numbers.

        Source: https://numpy.org/doc/stable/reference/random/generated/numpy.random.RandomState.multivariate_normal.html

        Examples
        --------
        >>> import tnp as np
        >>> np.random.RandomState(0).multivariate_normal([0.0, 10.0], [[1.0, 0.0], [0.0, 4.0]]).shape
        (2,)
        """
        stream = self._stream()
        if stream is None:
            given = (on_host(mean), on_host(cov), on_host(size), check_valid, tol)
            return from_host(warned(self._host.multivariate_normal, *given))
        return self._multivariate_normal(stream, mean, cov, size, check_valid, tol, "svd")

    # Orders and samples.

    def choice(self, a: Any, size: Any = None, replace: bool = True, p: Any = None) -> Draw:
        """Draw elements of ``a``, or integers below it, with probabilities ``p`` if they are given.

        Parameters
        ----------
        a : array_like or int
            The vector to choose from; an int stands for the integers below it.
        size : int or tuple of int, optional
            The result's shape. By default one number.
        replace : bool, default True
            Whether an element may be chosen repeatedly.
        p : array_like of float, shape (n,), optional
            The probability of each element; by default all are equal.

        Returns
        -------
        ndarray, or an element of ``a``

        Raises
        ------
        ValueError
            ``a`` has several axes, ``p`` is no distribution, or ``size`` is too large without replacement.

        Notes
        -----
        Differences from NumPy: on an accelerator and in compiled functions torch draws other numbers.

        Source: https://numpy.org/doc/stable/reference/random/generated/numpy.random.RandomState.choice.html

        Examples
        --------
        >>> import tnp as np
        >>> np.random.RandomState(0).choice(np.asarray([10.0, 20.0, 30.0]), 2, replace=False)
        array([30., 20.])
        """
        array = array_in(a)
        if array is not None and array.ndim > 1:
            raise ValueError("a must be 1-dimensional")

        def draw(a: Any, axis: int) -> Any:
            return self._host.choice(a, on_host(size), replace, on_host(p))

        return self._choice(draw, a, size, replace, p, 0)

    def permutation(self, x: Any) -> Draw:
        """Return a copy of ``x`` with its slices along the first axis in random order, or the integers below it.

        Parameters
        ----------
        x : array_like or int
            The array; an int stands for the integers below it.

        Returns
        -------
        ndarray
            A copy; gradients flow through it.

        Notes
        -----
        Differences from NumPy: on an accelerator and in compiled functions torch draws other numbers.

        Source: https://numpy.org/doc/stable/reference/random/generated/numpy.random.RandomState.permutation.html

        Examples
        --------
        >>> import tnp as np
        >>> np.random.RandomState(0).permutation(4)
        array([2, 3, 1, 0])
        """
        return self._permutation(x, 0)

    def shuffle(self, x: Any) -> None:
        """Bring the slices of ``x`` along the first axis into random order, in place.

        Parameters
        ----------
        x : ndarray or list
            The array, which is changed.

        Raises
        ------
        TypeError
            ``x`` can't be changed in place.

        Notes
        -----
        Differences from NumPy: on an accelerator and in compiled functions torch draws other numbers.

        Source: https://numpy.org/doc/stable/reference/random/generated/numpy.random.RandomState.shuffle.html

        Examples
        --------
        >>> import tnp as np
        >>> x = np.arange(4)
        >>> np.random.RandomState(0).shuffle(x)
        >>> x
        array([2, 3, 1, 0])
        """
        self._shuffle(x, 0)
