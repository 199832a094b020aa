"""``Generator`` and ``default_rng``: NumPy's modern interface to random numbers.

Layer: owns the methods that ``Generator`` alone has; what it shares with ``RandomState`` is in ``_distributions``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from backend_torch.native import heads
from backend_torch.random.generators import Stream
from backend_torch.tensors import devices
from tnp._core.base import ndarray, wrap_array
from tnp._core.convert import asarray
from tnp._core.errors import normalize_axis
from tnp._indexing.assignment import copyto
from tnp._indexing.selection import take
from tnp.random._distributions import Distributions, Draw, array_in, filled, from_host, integers, on_host, warned


class Generator(Distributions):
    """Random numbers from many distributions.

    Made by ``default_rng``, or from a bit generator of NumPy's: ``Generator(PCG64(seed))``.

    Parameters
    ----------
    bit_generator : numpy.random.BitGenerator
        The source of the random bits, and of the seed.
    device : str or torch.device, optional
        Where arrays are made; the default device, as it is at each call, if None.

    Attributes
    ----------
    bit_generator : numpy.random.BitGenerator
        NumPy's own; its ``state`` can be read and assigned.

    Notes
    -----
    On the CPU the numbers are NumPy's, bit for bit, for the same seed; scalars are Python's and NumPy's own.

    Differences from NumPy:

    - A generator that ``default_rng(seed)`` or ``RandomState(seed)`` makes inside ``tnp.compile`` draws NumPy's numbers
      on the CPU, while tracing: they are constants of the graph. Its parameters can't be traced, nor can it draw in a
      traced branch or loop, or in ``vectorized_map``, if it was made around it. ``Generator(PCG64(seed))`` counts as
      one from outside, and warns; made in ``vectorized_map`` it causes a loop.
    - On an accelerator, and for other generators inside ``tnp.compile``, torch's generator draws. It is seeded once
      from the bit generator's seed sequence, has a state of its own, and gives other numbers of the same
      distributions. A compiled function draws anew at each call, on the CPU uniform and normal numbers by a key from
      that generator, which machine code makes where they are used and in all threads. Parameters are checked where they
      are numbers or on the host; gradients flow to ``loc``, ``scale`` and the other parameters that torch can follow.
      ``hypergeometric``, ``multivariate_hypergeometric`` and ``zipf`` raise NotImplementedError there, and so do
      ``vonmises`` and ``bytes`` in a compiled function.
    - On the CPU no gradient flows to the parameters. It flows through ``permutation``, ``permuted``, ``choice`` and
      ``shuffle`` of an array everywhere.
    - ``torch.compile`` can't trace a draw: it breaks its graph there, and raises with ``fullgraph=True``. Under
      ``tnp.vmap`` all examples see the same numbers.
    - Strings and objects can't be chosen from in arrays: no tensor holds them.

    Source: https://numpy.org/doc/stable/reference/random/generator.html

    Examples
    --------
    >>> import tnp as np
    >>> rng = np.random.Generator(np.random.PCG64(0))
    >>> rng.random(2)
    array([0.63696169, 0.26978671])
    >>> rng.integers(10, size=5)
    array([3, 0, 0, 0, 1])
    """

    __slots__ = ()
    __module__ = "tnp.random"

    # isinstance asks it: libraries take NumPy's generators alone. type(x) stays tnp's.
    __class__ = property(lambda self: np.random.Generator)

    def __init__(self, bit_generator: Any, *, device: Any = None) -> None:
        self._begin(np.random.Generator(bit_generator), None if device is None else devices.parse(device))
        self._seeded(bit_generator)

    def _begin(self, host: Any, device: Any) -> None:
        self._host, self._device, self._streams, self._scope = host, device, {}, None

    def _source(self) -> tuple[object, Callable[[], Any], Callable[[Any], object]]:
        bits = self._host.bit_generator

        def write(state: Any) -> None:
            bits.state = state

        return bits, lambda: bits.state, write

    @property
    def bit_generator(self) -> Any:
        """NumPy's bit generator."""
        return self._host.bit_generator

    @property
    def capsule(self) -> Any:
        """What ``numpy.random.default_rng`` reads of a bit generator, so that it draws from the same stream."""
        return self.bit_generator.capsule

    @property
    def lock(self) -> Any:
        """The bit generator's lock."""
        return self.bit_generator.lock

    @property
    def _seed_seq(self) -> Any:
        return self.bit_generator.seed_seq

    def _seed(self) -> int:
        sequence = self.bit_generator.seed_seq or np.random.SeedSequence()  # bit generators of old pickles have none
        return int(sequence.generate_state(1, np.uint64)[0])

    def spawn(self, n_children: int) -> list[Generator]:
        """Return generators that are independent of this one and of each other."""
        children = []
        for host in self._host.spawn(n_children):
            child = type(self).__new__(type(self))
            child._begin(host, self._device)
            child._scope = self._scope
            children.append(child)
        return children

    def __repr__(self) -> str:
        return f"{self} at 0x{id(self):X}"

    def __str__(self) -> str:
        place = "" if self._device is None else f", device='{self._device}'"
        return f"{type(self).__name__}({type(self.bit_generator).__name__}{place})"

    def __reduce__(self) -> tuple[Any, ...]:
        device = None if self._device is None else str(self._device)
        states = {None if place is None else str(place): each.state for place, each in self._streams.items()}
        return type(self)._restored, (self.bit_generator, device, states)

    @classmethod
    def _restored(cls, bit_generator: Any, device: str | None, states: Mapping[Any, np.ndarray]) -> Generator:
        """Rebuild the generator that ``__reduce__`` took apart."""
        generator = cls(bit_generator, device=device)
        for place, state in states.items():
            generator._stream_on(None if place is None else devices.parse(place)).state = state
        return generator

    # Simple numbers.

    def random(self, size: Any = None, dtype: Any = np.float64, out: Any = None) -> Draw:
        """Draw from the uniform distribution over [0, 1).

        Parameters
        ----------
        size : int or tuple of int, optional
            The result's shape. By default one number.
        dtype : dtype, default float64
            float32 or float64.
        out : ndarray, optional
            Where to put the numbers.

        Returns
        -------
        ndarray, or a Python number
            A single draw on the CPU is a Python number.

        Raises
        ------
        TypeError
            ``dtype`` is neither float32 nor float64.

        Notes
        -----
        Differences from NumPy: on an accelerator and in compiled functions torch draws other numbers.

        Source: https://numpy.org/doc/stable/reference/random/generated/numpy.random.Generator.random.html

        Examples
        --------
        >>> import tnp as np
        >>> np.random.default_rng(0).random(2)
        array([0.63696169, 0.26978671])
        """
        stream = self._stream()
        if stream is size is out is None and dtype is np.float64:
            return self._host.random()
        return filled(self._host.random, stream, Stream.random, size, dtype, out)

    def integers(
        self, low: Any, high: Any = None, size: Any = None, dtype: Any = np.int64, endpoint: bool = False
    ) -> Draw:
        """Draw integers from [low, high), or [low, high] with the endpoint; from [0, low) if ``high`` is None.

        Parameters
        ----------
        low : int or array_like of int
            The least number; the bound if ``high`` is None.
        high : int or array_like of int, optional
            The bound, which is not drawn without ``endpoint``.
        size : int or tuple of int, optional
            The result's shape. By default the shape to which the parameters broadcast.
        dtype : dtype, default int64
            An integer dtype or bool.
        endpoint : bool, default False
            Whether ``high`` itself may be drawn.

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

        Source: https://numpy.org/doc/stable/reference/random/generated/numpy.random.Generator.integers.html

        Examples
        --------
        >>> import tnp as np
        >>> np.random.default_rng(0).integers(10, size=5)
        array([8, 6, 5, 2, 3])
        """
        stream = self._stream()
        if stream is None:
            if size is high is None and low.__class__ is int:
                if dtype is np.int64 and endpoint is False:
                    return self._host.integers(low)
                return self._host.integers(low, None, None, dtype, endpoint)
            return from_host(self._host.integers(on_host(low), on_host(high), on_host(size), dtype, endpoint))
        return integers(stream, low, high, size, dtype, endpoint)

    def standard_normal(self, size: Any = None, dtype: Any = np.float64, out: Any = None) -> Draw:
        """Draw from the normal distribution with mean 0 and deviation 1.

        Parameters
        ----------
        size : int or tuple of int, optional
            The result's shape. By default one number.
        dtype : dtype, default float64
            float32 or float64.
        out : ndarray, optional
            Where to put the numbers.

        Returns
        -------
        ndarray, or a Python number
            A single draw on the CPU is a Python number.

        Raises
        ------
        TypeError
            ``dtype`` is neither float32 nor float64.

        Notes
        -----
        Differences from NumPy: on an accelerator and in compiled functions torch draws other numbers.

        Source: https://numpy.org/doc/stable/reference/random/generated/numpy.random.Generator.standard_normal.html

        Examples
        --------
        >>> import tnp as np
        >>> np.random.default_rng(0).standard_normal(2)
        array([ 0.12573022, -0.13210486])
        """
        return filled(self._host.standard_normal, self._stream(), Stream.standard_normal, size, dtype, out)

    def standard_exponential(
        self, size: Any = None, dtype: Any = np.float64, method: str = "zig", out: Any = None
    ) -> Draw:
        """Draw from the exponential distribution with scale 1; ``method`` is 'zig' or 'inv'.

        Parameters
        ----------
        size : int or tuple of int, optional
            The result's shape. By default one number.
        dtype : dtype, default float64
            float32 or float64.
        method : {'zig', 'inv'}
            NumPy's algorithm: the ziggurat, or the inverse distribution function.
        out : ndarray, optional
            Where to put the numbers.

        Returns
        -------
        ndarray, or a Python number
            A single draw on the CPU is a Python number.

        Raises
        ------
        TypeError
            ``dtype`` is neither float32 nor float64.

        Notes
        -----
        Differences from NumPy: on an accelerator and in compiled functions torch draws other numbers.

        Source: https://numpy.org/doc/stable/reference/random/generated/numpy.random.Generator.standard_exponential.html

        Examples
        --------
        >>> import tnp as np
        >>> np.random.default_rng(0).standard_exponential(2)
        array([0.6799319, 1.0195971])
        """

        def draw(**keywords: Any) -> Any:
            return self._host.standard_exponential(method=method, **keywords)

        return filled(draw, self._stream(), Stream.standard_exponential, size, dtype, out)

    def standard_gamma(self, shape: Any, size: Any = None, dtype: Any = np.float64, out: Any = None) -> Draw:
        """Draw from the gamma distribution with scale 1.

        Parameters
        ----------
        shape : float or array_like of float
            The shape parameter, at least 0.
        size : int or tuple of int, optional
            The result's shape. By default the shape to which the parameters broadcast.
        dtype : dtype, default float64
            float32 or float64.
        out : ndarray, optional
            Where to put the numbers.

        Returns
        -------
        ndarray, or a Python number
            A single draw on the CPU is a Python number.

        Raises
        ------
        ValueError
            ``shape`` is negative.
        TypeError
            ``dtype`` is neither float32 nor float64.

        Notes
        -----
        Differences from NumPy: on an accelerator and in compiled functions torch draws other numbers.

        Source: https://numpy.org/doc/stable/reference/random/generated/numpy.random.Generator.standard_gamma.html

        Examples
        --------
        >>> import tnp as np
        >>> np.random.default_rng(0).standard_gamma(2.0, size=2)
        array([1.83431007, 2.63769797])
        """
        return filled(self._host.standard_gamma, self._stream(), _standard_gamma, size, dtype, out, shape)

    # Draws of several dependent numbers.

    def multivariate_normal(
        self,
        mean: Any,
        cov: Any,
        size: Any = None,
        check_valid: str = "warn",
        tol: float = 1e-8,
        *,
        method: str = "svd",
    ) -> ndarray:
        """Draw vectors from the multivariate normal distribution; ``method`` is 'svd', 'eigh' or 'cholesky'.

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
        method : {'svd', 'eigh', 'cholesky'}
            The factorization of ``cov``.

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

        Source: https://numpy.org/doc/stable/reference/random/generated/numpy.random.Generator.multivariate_normal.html

        Examples
        --------
        >>> import tnp as np
        >>> np.random.default_rng(0).multivariate_normal([0.0, 10.0], [[1.0, 0.0], [0.0, 4.0]], method="cholesky")
        array([0.12573022, 9.73579027])
        """
        stream = self._stream()
        if stream is None:
            method_of_numpy = self._host.multivariate_normal
            if method.__class__ is str and method == "svd":
                if (drawn := warned(heads.draw, method_of_numpy, mean, cov, size, check_valid, tol)) is not None:
                    return drawn
            given = (on_host(mean), on_host(cov), on_host(size), check_valid, tol)
            return from_host(warned(method_of_numpy, *given, method=method))
        if method not in ("eigh", "svd", "cholesky"):
            raise ValueError("method must be one of {'eigh', 'svd', 'cholesky'}")
        return self._multivariate_normal(stream, mean, cov, size, check_valid, tol, method)

    def multivariate_hypergeometric(
        self, colors: Any, nsample: int, size: Any = None, method: str = "marginals"
    ) -> ndarray:
        """Draw how many of each color are among ``nsample`` items; ``method`` is 'marginals' or 'count'; CPU only.

        Parameters
        ----------
        colors : sequence of int, length k
            The number of items of each colour.
        nsample : int
            The number of items in a sample, at most the sum of ``colors``.
        size : int or tuple of int, optional
            The shape of the draws; each draw is a vector along a further, last axis.
        method : {'marginals', 'count'}
            NumPy's algorithm.

        Returns
        -------
        ndarray of int64, shape (..., k)

        Raises
        ------
        ValueError
            A parameter is out of range.
        NotImplementedError
            The draw is on an accelerator, or in a compiled function: torch can't draw these numbers.

        Notes
        -----
        Source: https://numpy.org/doc/stable/reference/random/generated/numpy.random.Generator.multivariate_hypergeometric.html

        Examples
        --------
        >>> import tnp as np
        >>> np.random.default_rng(0).multivariate_hypergeometric([5, 3, 2], 4)
        array([3, 0, 1])
        """
        stream = self._stream()
        if stream is not None:
            return wrap_array(stream.hypergeometric(None, colors, nsample, size))
        return from_host(
            self._host.multivariate_hypergeometric(on_host(colors), on_host(nsample), on_host(size), method)
        )

    # Orders and samples.

    def choice(
        self, a: Any, size: Any = None, replace: bool = True, p: Any = None, axis: int = 0, shuffle: bool = True
    ) -> Draw:
        """Draw slices of ``a`` along an axis, or integers below it, with probabilities ``p`` if they are given.

        Parameters
        ----------
        a : array_like or int
            The array to choose slices of; an int stands for the integers below it.
        size : int or tuple of int, optional
            The result's shape. By default one number.
        replace : bool, default True
            Whether a slice may be chosen repeatedly.
        p : array_like of float, shape (n,), optional
            The probability of each slice; by default all are equal.
        axis : int, default 0
            The axis of the slices.
        shuffle : bool, default True
            Whether a choice without replacement is in random order.

        Returns
        -------
        ndarray, or an element of ``a``

        Raises
        ------
        ValueError
            ``p`` is no distribution over the slices, or ``size`` is too large to draw without replacement.

        Notes
        -----
        Differences from NumPy: on an accelerator and in compiled functions torch draws other numbers.

        Source: https://numpy.org/doc/stable/reference/random/generated/numpy.random.Generator.choice.html

        Examples
        --------
        >>> import tnp as np
        >>> np.random.default_rng(0).choice(np.asarray([10.0, 20.0, 30.0]), 2, replace=False)
        array([20., 30.])
        """

        def draw(a: Any, axis: int) -> Any:
            return self._host.choice(a, on_host(size), replace, on_host(p), axis, shuffle)

        return self._choice(draw, a, size, replace, p, axis)

    def permutation(self, x: Any, axis: int = 0) -> Draw:
        """Return a copy of ``x`` with its slices along an axis in random order, or the integers below it.

        Parameters
        ----------
        x : array_like or int
            The array; an int stands for the integers below it.
        axis : int, default 0
            The axis of the slices.

        Returns
        -------
        ndarray
            A copy; gradients flow through it.

        Raises
        ------
        AxisError
            There is no such axis.

        Notes
        -----
        Differences from NumPy: on an accelerator and in compiled functions torch draws other numbers.

        Source: https://numpy.org/doc/stable/reference/random/generated/numpy.random.Generator.permutation.html

        Examples
        --------
        >>> import tnp as np
        >>> np.random.default_rng(0).permutation(4)
        array([2, 0, 1, 3])
        """
        return self._permutation(x, axis)

    def permuted(self, x: Any, *, axis: Any = None, out: Any = None) -> ndarray:
        """Return a copy of ``x`` with each line along an axis in its own random order; None permutes all elements.

        Parameters
        ----------
        x : array_like
            The array.
        axis : int, optional
            The axis of the lines; None permutes all elements.
        out : ndarray, optional
            Where to put the result.

        Returns
        -------
        ndarray
            A copy of the same shape.

        Raises
        ------
        ValueError
            ``out`` has another shape.

        Notes
        -----
        Differences from NumPy: on an accelerator and in compiled functions torch draws other numbers.

        Source: https://numpy.org/doc/stable/reference/random/generated/numpy.random.Generator.permuted.html

        Examples
        --------
        >>> import tnp as np
        >>> np.random.default_rng(0).permuted(np.arange(6).reshape(2, 3), axis=1)
        array([[2, 0, 1],
               [5, 4, 3]])
        """
        array = array_in(x)
        source = asarray(x) if array is None else array
        result = take(source, self._positions(source, axis).to_device(source.device))
        if out is None:
            return result
        if not isinstance(out, (ndarray, np.ndarray)):
            raise TypeError("out must be an array")
        if out.shape != source.shape:
            raise ValueError("out must have the same shape as x")
        copyto(asarray(out), result, casting="safe")
        return out  # type: ignore[return-value]  # NumPy's array, if that was given

    def _positions(self, x: ndarray, axis: Any) -> ndarray:
        """Return the flat place in ``x`` of each element of the permuted array."""
        if not x.ndim:
            raise TypeError("len() of unsized object")
        if axis is None:
            return self._order(x.size).reshape(x.shape)
        axis = normalize_axis(axis, x.ndim)
        stream = self._stream()
        if stream is None:
            return from_host(self._host.permuted(np.arange(x.size).reshape(x.shape), axis=axis))
        return wrap_array(stream.permuted(x.shape, axis))

    def shuffle(self, x: Any, axis: int = 0) -> None:
        """Bring the slices of ``x`` along an axis into random order, in place.

        Parameters
        ----------
        x : ndarray or list
            The array, which is changed.
        axis : int, default 0
            The axis of the slices.

        Raises
        ------
        TypeError
            ``x`` can't be changed in place.

        Notes
        -----
        Differences from NumPy: on an accelerator and in compiled functions torch draws other numbers.

        Source: https://numpy.org/doc/stable/reference/random/generated/numpy.random.Generator.shuffle.html

        Examples
        --------
        >>> import tnp as np
        >>> x = np.arange(4)
        >>> np.random.default_rng(0).shuffle(x)
        >>> x
        array([2, 0, 1, 3])
        """
        self._shuffle(x, axis)


def _standard_gamma(stream: Stream, size: Any, shape: Any, dtype: Any) -> Any:
    return stream.standard_gamma(size, shape, dtype)


def default_rng(seed: Any = None, *, device: Any = None) -> Generator:
    """Construct a generator with NumPy's default bit generator, PCG64.

    Parameters
    ----------
    seed : int, array_like of int, SeedSequence, BitGenerator, Generator or RandomState, optional
        The same numbers come from the same seed; from the operating system's entropy if None. A Generator is returned
        as it is.
    device : str or torch.device, optional
        Where arrays are made; the default device if None.

    Returns
    -------
    Generator

    See Also
    --------
    Generator

    Notes
    -----
    Source: https://numpy.org/doc/stable/reference/random/generator.html#numpy.random.default_rng

    Examples
    --------
    >>> import tnp as np
    >>> rng = np.random.default_rng(12345)
    >>> rng.standard_normal(3)
    array([-1.42382504,  1.26372846, -0.87066174])
    """
    if isinstance(seed, Generator) and device is None:
        return seed
    source = seed._host if isinstance(seed, Distributions) else on_host(seed)
    made = Generator.__new__(Generator)
    made._begin(np.random.default_rng(source), None if device is None else devices.parse(device))
    made._seeded(seed)
    return made
