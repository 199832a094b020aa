"""Distributions: the methods that ``Generator`` and ``RandomState`` have in common, signature by signature.

Layer: owns where a number comes from. On the CPU NumPy draws it, from its own stream bit for bit, and its memory
becomes the tensor; on an accelerator and in traced code torch's generator does.
"""

from __future__ import annotations

import operator
import warnings
from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np

from backend_torch.autodiff import replayed_draws
from backend_torch.autodiff.batching import SharedWriteError
from backend_torch.kernels import host
from backend_torch.native import heads
from backend_torch.random import generators
from backend_torch.random.generators import Stream
from backend_torch.tensors import devices, memory, trace_state
from backend_torch.tensors.dtypes import to_torch
from tnp._core.base import ndarray, scalar, wrap, wrap_array
from tnp._core.convert import asarray, asnumpy, output_tensor, tensor_of
from tnp._core.dtypes import tensor_dtype
from tnp._core.errors import frames_above, normalize_axis, warn
from tnp._core.strided_views import put_back
from tnp._creation.filled import empty
from tnp._indexing.selection import take
from tnp._manipulation.shape import as_shape

Tensor = Any
Kernel = Callable[..., Tensor]
Draw: TypeAlias = ndarray | Any
"""An array; without a ``size``, of numbers, NumPy gives a Python number, which a type checker is to let pass too."""


_PYTHONS = frozenset({bool, int, float, tuple, type(None)})


def on_host(value: Any) -> Any:
    """Return an argument for NumPy: tnp arrays over the same memory, anything else unchanged."""
    if isinstance(value, ndarray):
        if trace_state.is_tracing() and (known := memory.asked(value.tensor)) is not None:
            return known[()] if isinstance(value, scalar) else known
        try:
            return value.__array__()[()] if isinstance(value, scalar) else value.__array__()
        except trace_state.TracedValueError:
            raise trace_state.parameter_error() from None
    return value


def from_host(result: Any) -> Any:
    """Return NumPy's draw: an array as a tnp array over its memory, a scalar unchanged."""
    if isinstance(result, np.ndarray) and result.dtype in to_torch:
        if trace_state.is_tracing():  # a copy: the graph may write to it, and gives it again at the next call
            return wrap_array(tensor_of(result).clone())
        made = heads.of_numpy(result)
        return wrap_array(tensor_of(result)) if made is None else made
    return result


def warned(function: Callable[..., Any], *args: Any, **keywords: Any) -> Any:
    """Call the function; a warning of NumPy's names the user's line, which is further up the stack."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = function(*args, **keywords)
    for each in caught:
        warnings.warn(each.message, stacklevel=frames_above())
    return result


def parameter(value: Any) -> Any:
    """Return a parameter for torch's streams: a Python number unchanged, an array's tensor."""
    return (
        value
        if issubclass(type(value), (int, float, np.generic)) and not isinstance(value, scalar)
        else tensor_of(value)
    )


def _scope() -> tuple[list[object], object]:
    """The trace, with the branches and loops in it, and the batch that run now."""
    state = trace_state.state
    return [*state.scopes], state.batch.token if state.batches else None


def array_in(x: Any) -> ndarray | None:
    """Return the array to permute or choose from, if it is a tnp array or a tensor and not a number."""
    if isinstance(x, ndarray):
        return None if isinstance(x, scalar) else x
    return wrap_array(x) if memory.is_tensor(x) else None


class Distributions:
    """The generators: NumPy's for the CPU, and one of torch's for each other device."""

    _host: Any
    _device: Any
    _streams: dict[Any, Stream]
    _scope: tuple[list[object], object] | None
    """The batch, or the trace and its branch or loop, in which it was seeded: there NumPy draws.

    A batch sees the same numbers for each element, as it would in a loop; a graph, the same at each call.
    """

    __slots__ = ("__weakref__", "_device", "_host", "_scope", "_streams")

    _poisson_lam_max = np.random.RandomState._poisson_lam_max  # type: ignore[attr-defined]

    def _seeded(self, seed: Any) -> None:
        """Note a seed; with None, or after a seed by another generator, it draws other numbers each time."""
        is_new = seed is not None and not isinstance(seed, (np.random.BitGenerator, np.random.Generator, Distributions))
        state = trace_state.state
        self._scope = _scope() if is_new and (state.depth or state.batches) else None
        if state.batches and not state.depth and isinstance(seed, np.random.BitGenerator):
            why = "a bit generator may be from outside: in the function, only default_rng(seed) is for each element"
            state.batch.refused = type(seed)
            raise trace_state.noted(SharedWriteError(why))
        if state.depth and not is_new and seed is not None:
            warn(
                "torch draws for this generator, other numbers than NumPy's: its bit generator may be from outside of "
                "the compiled function. For NumPy's numbers make it by default_rng(seed)",
                RuntimeWarning,
            )

    def _source(self) -> tuple[object, Callable[[], Any], Callable[[Any], object]]:
        """NumPy's generator, and the functions that get and set its state."""
        raise NotImplementedError  # Generator and RandomState have their own

    def _seed(self) -> int:
        """Return 64 bits that follow from the seed, with which torch's generators start."""
        raise NotImplementedError  # Generator and RandomState have their own

    def _stream(self) -> Stream | None:
        """Return the torch generator that has to draw, or None if NumPy draws."""
        if not (trace_state.scopes or devices.moved) and self._device is None:
            return None
        state = trace_state.state
        device = devices.state.default if self._device is None and devices.moved else self._device
        is_host = device is None or device.type == "cpu"
        if self._scope is not None and (state.depth or state.batches):
            is_here = _scope() == self._scope
            if is_here and is_host:
                return None
            seeded, _ = self._scope
            if is_here or (is_host and seeded and seeded[:1] == state.scopes[:1]):
                raise trace_state.draw_error() if is_host else trace_state.device_draw_error()
        if is_host and not (state.depth or state.batches):
            if replayed_draws.state.current is not None:
                replayed_draws.state.current.note(*self._source())
            return None
        return self._stream_on(device)

    def _stream_on(self, device: Any) -> Stream:
        if device not in self._streams:
            self._streams[device] = Stream(device, self._seed())
        return self._streams[device]

    def _generator_on(self, device: Any) -> Any:
        """Return the torch generator of a device for traced functions."""
        return self._stream_on(None if device.type == "cpu" else device).generator

    def _draw(self, numpy_method: Callable[..., Any], kernel: Kernel, size: Any, *parameters: Any) -> Any:
        """Draw with these parameters by NumPy's method or, elsewhere, by torch's kernel."""
        stream = self._stream()
        if stream is None:
            if (found := heads.draw(numpy_method, *parameters, size)) is not None:
                return found
            given = [each if each.__class__ in _PYTHONS else on_host(each) for each in (*parameters, size)]
            drawn = numpy_method(*given)
            return drawn if drawn.__class__ in _PYTHONS else from_host(drawn)
        return _drawn(kernel(stream, _sizes(size), *[parameter(each) for each in parameters]), size)

    def _order(self, n: int) -> ndarray:
        """Return the first ``n`` integers in random order."""
        stream = self._stream()
        return from_host(self._host.permutation(n)) if stream is None else wrap_array(stream.permutation(n))

    def _permuted(self, x: ndarray, axis: int) -> Any:
        """Return a copy with the slices along an axis in random order; gradients flow through it."""
        axis = normalize_axis(axis, x.ndim)
        return take(x, self._order(x.shape[axis]).to_device(x.device), axis)

    def _shuffle(self, x: Any, axis: int) -> None:
        """Shuffle the slices along an axis in place."""
        is_plain = x.__class__ is ndarray and axis.__class__ is int and axis == 0 and self._stream() is None
        if is_plain and heads.write_by_numpy(self._host.shuffle, x):
            return
        array = array_in(x)
        if array is not None:
            if not array.ndim:
                raise TypeError("len() of unsized object")
            is_on_host = self._stream() is None and not trace_state.is_tracing()
            plain = type(array) is ndarray and memory.is_writeable(array.tensor) and is_on_host
            values = host.to_write(array.tensor) if plain else None
            if values is None:
                array[...] = self._permuted(array, axis)
            else:
                self._host.shuffle(*values, *([axis] if axis else []))
        elif isinstance(x, np.ndarray) and self._stream() is not None:
            x[...] = asnumpy(self._permuted(asarray(x), axis))
        elif self._stream() is not None:
            if axis:
                raise NotImplementedError("Axis argument is only supported on ndarray objects")
            x[:] = [x[i] for i in asnumpy(self._order(len(x)))]
        else:
            warned(self._host.shuffle, x, *([axis] if axis else []))

    def _permutation(self, x: Any, axis: int) -> Any:
        if isinstance(x, (int, np.integer, scalar)):
            return self._order(operator.index(x))
        array = array_in(x)
        if array is None and self._stream() is not None:
            array = asarray(x)
        if array is not None:
            return self._permuted(array, axis)
        return from_host(self._host.permutation(x, axis) if axis else self._host.permutation(x))

    def _choice(self, draw: Callable[[Any, int], Any], a: Any, size: Any, replace: bool, p: Any, axis: int) -> Any:
        """Elements of ``a``, or integers below it; ``draw(a, axis)`` is NumPy's method with the other arguments."""
        stream = self._stream()
        array = array_in(a)
        if array is None and stream is not None and not isinstance(a, (int, np.integer, scalar)):
            array = asarray(a)
        if array is None or not array.ndim:
            if stream is None:
                return from_host(draw(on_host(a), axis))
            return _drawn(self._chosen(stream, operator.index(a), size, replace, p), size)
        axis = normalize_axis(axis, array.ndim)
        population, sizes = array.shape[axis], _sizes(size)
        if not population and (sizes is None or 0 not in sizes):
            raise ValueError("a cannot be empty unless no samples are taken")
        if stream is not None:
            indices = wrap_array(self._chosen(stream, population, size, replace, p))
        elif population:
            indices = asarray(draw(population, 0))
        else:
            indices = empty(sizes, np.int64)
        taken = take(array, indices.to_device(array.device), axis)
        return taken if size is None else asarray(taken)

    @staticmethod
    def _chosen(stream: Stream, n: int, size: Any, replace: bool, p: Any) -> Tensor:
        return stream.choice(_sizes(size), n, replace, None if p is None else tensor_of(p))

    def _multivariate_normal(
        self, stream: Stream, mean: Any, cov: Any, size: Any, check_valid: str, tol: float, method: str
    ) -> Any:
        mean, cov = tensor_of(mean), tensor_of(cov)
        if mean.dim() != 1:
            raise ValueError("mean must be 1 dimensional")
        if cov.dim() != 2 or cov.shape[0] != cov.shape[1]:
            raise ValueError("cov must be 2 dimensional and square")
        if mean.shape[0] != cov.shape[0]:
            raise ValueError("mean and cov must have same length")
        if check_valid not in ("warn", "raise", "ignore"):
            raise ValueError("check_valid must equal 'warn', 'raise', or 'ignore'")
        drawn = stream.multivariate_normal(_sizes(size), mean, cov, check_valid, tol, method)
        if drawn is None and method == "cholesky":
            raise np.linalg.LinAlgError("Matrix is not positive definite")
        if drawn is None:
            if check_valid == "raise":
                raise ValueError("covariance is not symmetric positive-semidefinite.")
            warn("covariance is not symmetric positive-semidefinite.", RuntimeWarning)
            drawn = stream.multivariate_normal(_sizes(size), mean, cov, "ignore", tol, method)
        return wrap_array(drawn)

    # Continuous distributions.

    def beta(self, a: Any, b: Any, size: Any = None) -> Draw:
        """Draw from the beta distribution, on [0, 1].

        Parameters
        ----------
        a, b : float or array_like of float
            The two shape parameters, above 0.
        size : int or tuple of int, optional
            The result's shape. By default the shape to which the parameters broadcast.

        Returns
        -------
        ndarray of float64, or a Python number
            A single draw on the CPU is a Python number.

        Raises
        ------
        ValueError
            ``a`` or ``b`` is not positive.

        Notes
        -----
        Differences from NumPy: on an accelerator and in compiled functions torch draws other numbers. There it
        does not check values of arrays.

        Source: https://numpy.org/doc/stable/reference/random/generated/numpy.random.Generator.beta.html

        Examples
        --------
        >>> import tnp as np
        >>> np.random.default_rng(0).beta(2.0, 3.0, size=2)
        array([0.32240531, 0.16457302])
        """
        return self._draw(self._host.beta, Stream.beta, size, a, b)

    def chisquare(self, df: Any, size: Any = None) -> Draw:
        """Draw from the chi-square distribution with ``df`` degrees of freedom.

        Parameters
        ----------
        df : float or array_like of float
            The number of degrees of freedom, above 0.
        size : int or tuple of int, optional
            The result's shape. By default the shape to which the parameters broadcast.

        Returns
        -------
        ndarray of float64, or a Python number
            A single draw on the CPU is a Python number.

        Raises
        ------
        ValueError
            ``df`` is not positive.

        Notes
        -----
        Differences from NumPy: on an accelerator and in compiled functions torch draws other numbers. There it
        does not check values of arrays.

        Source: https://numpy.org/doc/stable/reference/random/generated/numpy.random.Generator.chisquare.html

        Examples
        --------
        >>> import tnp as np
        >>> np.random.default_rng(0).chisquare(2.0, size=2)
        array([1.35986381, 2.0391942 ])
        """
        return self._draw(self._host.chisquare, Stream.chisquare, size, df)

    def dirichlet(self, alpha: Any, size: Any = None) -> ndarray:
        """Draw from the Dirichlet distribution; each draw is a vector as long as ``alpha``.

        Parameters
        ----------
        alpha : array_like of float, shape (k,)
            The parameters of the distribution, above 0.
        size : int or tuple of int, optional
            The shape of the draws; each draw is a vector along a further, last axis. None makes one draw.

        Returns
        -------
        ndarray of float64, shape (..., k)

        Raises
        ------
        ValueError
            An element of ``alpha`` is not positive, or ``alpha`` is not one-dimensional.

        Notes
        -----
        Differences from NumPy: on an accelerator and in compiled functions torch draws other numbers. There it
        does not check values of arrays.

        Source: https://numpy.org/doc/stable/reference/random/generated/numpy.random.Generator.dirichlet.html

        Examples
        --------
        >>> import tnp as np
        >>> np.random.default_rng(0).dirichlet([1.0, 2.0])
        array([0.31163762, 0.68836238])
        """
        stream = self._stream()
        if stream is None:
            return from_host(self._host.dirichlet(on_host(alpha), on_host(size)))
        return wrap_array(stream.dirichlet(_sizes(size), tensor_of(alpha)))

    def exponential(self, scale: Any = 1.0, size: Any = None) -> Draw:
        """Draw from the exponential distribution with mean ``scale``.

        Parameters
        ----------
        scale : float or array_like of float, optional
            The mean, at least 0.
        size : int or tuple of int, optional
            The result's shape. By default the shape to which the parameters broadcast.

        Returns
        -------
        ndarray of float64, or a Python number
            A single draw on the CPU is a Python number.

        Raises
        ------
        ValueError
            ``scale`` is negative.

        Notes
        -----
        Differences from NumPy: on an accelerator and in compiled functions torch draws other numbers. There it
        does not check values of arrays.

        Source: https://numpy.org/doc/stable/reference/random/generated/numpy.random.Generator.exponential.html

        Examples
        --------
        >>> import tnp as np
        >>> np.random.default_rng(0).exponential(2.0, size=2)
        array([1.35986381, 2.0391942 ])
        """
        return self._draw(self._host.exponential, Stream.exponential, size, scale)

    def f(self, dfnum: Any, dfden: Any, size: Any = None) -> Draw:
        """Draw from the F distribution with ``dfnum`` and ``dfden`` degrees of freedom.

        Parameters
        ----------
        dfnum, dfden : float or array_like of float
            The degrees of freedom of the numerator and of the denominator, above 0.
        size : int or tuple of int, optional
            The result's shape. By default the shape to which the parameters broadcast.

        Returns
        -------
        ndarray of float64, or a Python number
            A single draw on the CPU is a Python number.

        Raises
        ------
        ValueError
            A parameter is not positive.

        Notes
        -----
        Differences from NumPy: on an accelerator and in compiled functions torch draws other numbers. There it
        does not check values of arrays.

        Source: https://numpy.org/doc/stable/reference/random/generated/numpy.random.Generator.f.html

        Examples
        --------
        >>> import tnp as np
        >>> np.random.default_rng(0).f(2.0, 5.0, size=2)
        array([0.85937975, 0.0038595 ])
        """
        return self._draw(self._host.f, Stream.f, size, dfnum, dfden)

    def gamma(self, shape: Any, scale: Any = 1.0, size: Any = None) -> Draw:
        """Draw from the gamma distribution.

        Parameters
        ----------
        shape : float or array_like of float
            The shape parameter, at least 0.
        scale : float or array_like of float, optional
            The scale, at least 0.
        size : int or tuple of int, optional
            The result's shape. By default the shape to which the parameters broadcast.

        Returns
        -------
        ndarray of float64, or a Python number
            A single draw on the CPU is a Python number.

        Raises
        ------
        ValueError
            A parameter is negative.

        Notes
        -----
        Differences from NumPy: on an accelerator and in compiled functions torch draws other numbers. There it
        does not check values of arrays.

        Source: https://numpy.org/doc/stable/reference/random/generated/numpy.random.Generator.gamma.html

        Examples
        --------
        >>> import tnp as np
        >>> np.random.default_rng(0).gamma(2.0, size=2)
        array([1.83431007, 2.63769797])
        """
        return self._draw(self._host.gamma, Stream.gamma, size, shape, scale)

    def gumbel(self, loc: Any = 0.0, scale: Any = 1.0, size: Any = None) -> Draw:
        """Draw from the Gumbel distribution.

        Parameters
        ----------
        loc : float or array_like of float, optional
            The mode.
        scale : float or array_like of float, optional
            The scale, at least 0.
        size : int or tuple of int, optional
            The result's shape. By default the shape to which the parameters broadcast.

        Returns
        -------
        ndarray of float64, or a Python number
            A single draw on the CPU is a Python number.

        Raises
        ------
        ValueError
            ``scale`` is negative.

        Notes
        -----
        Differences from NumPy: on an accelerator and in compiled functions torch draws other numbers. There it
        does not check values of arrays.

        Source: https://numpy.org/doc/stable/reference/random/generated/numpy.random.Generator.gumbel.html

        Examples
        --------
        >>> import tnp as np
        >>> np.random.default_rng(0).gumbel(size=2)
        array([-0.01315993,  1.15703001])
        """
        return self._draw(self._host.gumbel, Stream.gumbel, size, loc, scale)

    def laplace(self, loc: Any = 0.0, scale: Any = 1.0, size: Any = None) -> Draw:
        """Draw from the Laplace, or double exponential, distribution.

        Parameters
        ----------
        loc : float or array_like of float, optional
            The mean.
        scale : float or array_like of float, optional
            The scale, at least 0.
        size : int or tuple of int, optional
            The result's shape. By default the shape to which the parameters broadcast.

        Returns
        -------
        ndarray of float64, or a Python number
            A single draw on the CPU is a Python number.

        Raises
        ------
        ValueError
            ``scale`` is negative.

        Notes
        -----
        Differences from NumPy: on an accelerator and in compiled functions torch draws other numbers. There it
        does not check values of arrays.

        Source: https://numpy.org/doc/stable/reference/random/generated/numpy.random.Generator.laplace.html

        Examples
        --------
        >>> import tnp as np
        >>> np.random.default_rng(0).laplace(size=2)
        array([ 0.32009973, -0.6169764 ])
        """
        return self._draw(self._host.laplace, Stream.laplace, size, loc, scale)

    def logistic(self, loc: Any = 0.0, scale: Any = 1.0, size: Any = None) -> Draw:
        """Draw from the logistic distribution.

        Parameters
        ----------
        loc : float or array_like of float, optional
            The mean.
        scale : float or array_like of float, optional
            The scale, at least 0.
        size : int or tuple of int, optional
            The result's shape. By default the shape to which the parameters broadcast.

        Returns
        -------
        ndarray of float64, or a Python number
            A single draw on the CPU is a Python number.

        Raises
        ------
        ValueError
            ``scale`` is negative.

        Notes
        -----
        Differences from NumPy: on an accelerator and in compiled functions torch draws other numbers. There it
        does not check values of arrays.

        Source: https://numpy.org/doc/stable/reference/random/generated/numpy.random.Generator.logistic.html

        Examples
        --------
        >>> import tnp as np
        >>> np.random.default_rng(0).logistic(size=2)
        array([ 0.56220114, -0.99570497])
        """
        return self._draw(self._host.logistic, Stream.logistic, size, loc, scale)

    def lognormal(self, mean: Any = 0.0, sigma: Any = 1.0, size: Any = None) -> Draw:
        """Draw numbers whose logarithm is normal with ``mean`` and deviation ``sigma``.

        Parameters
        ----------
        mean : float or array_like of float, optional
            The mean of the logarithm.
        sigma : float or array_like of float, optional
            The standard deviation of the logarithm, at least 0.
        size : int or tuple of int, optional
            The result's shape. By default the shape to which the parameters broadcast.

        Returns
        -------
        ndarray of float64, or a Python number
            A single draw on the CPU is a Python number.

        Raises
        ------
        ValueError
            ``sigma`` is negative.

        Notes
        -----
        Differences from NumPy: on an accelerator and in compiled functions torch draws other numbers. There it
        does not check values of arrays.

        Source: https://numpy.org/doc/stable/reference/random/generated/numpy.random.Generator.lognormal.html

        Examples
        --------
        >>> import tnp as np
        >>> np.random.default_rng(0).lognormal(size=2)
        array([1.1339762, 0.8762491])
        """
        return self._draw(self._host.lognormal, Stream.lognormal, size, mean, sigma)

    def noncentral_chisquare(self, df: Any, nonc: Any, size: Any = None) -> Draw:
        """Draw from the noncentral chi-square distribution.

        Parameters
        ----------
        df : float or array_like of float
            The number of degrees of freedom, above 0.
        nonc : float or array_like of float
            The noncentrality, at least 0.
        size : int or tuple of int, optional
            The result's shape. By default the shape to which the parameters broadcast.

        Returns
        -------
        ndarray of float64, or a Python number
            A single draw on the CPU is a Python number.

        Raises
        ------
        ValueError
            ``df`` is not positive, or ``nonc`` is negative.

        Notes
        -----
        Differences from NumPy: on an accelerator and in compiled functions torch draws other numbers. There it
        does not check values of arrays.

        Source: https://numpy.org/doc/stable/reference/random/generated/numpy.random.Generator.noncentral_chisquare.html

        Examples
        --------
        >>> import tnp as np
        >>> np.random.default_rng(0).noncentral_chisquare(2.0, 1.0, size=2)
        array([3.56231811, 1.85448742])
        """
        return self._draw(self._host.noncentral_chisquare, Stream.noncentral_chisquare, size, df, nonc)

    def noncentral_f(self, dfnum: Any, dfden: Any, nonc: Any, size: Any = None) -> Draw:
        """Draw from the noncentral F distribution.

        Parameters
        ----------
        dfnum, dfden : float or array_like of float
            The degrees of freedom of the numerator and of the denominator, above 0.
        nonc : float or array_like of float
            The noncentrality of the numerator, at least 0.
        size : int or tuple of int, optional
            The result's shape. By default the shape to which the parameters broadcast.

        Returns
        -------
        ndarray of float64, or a Python number
            A single draw on the CPU is a Python number.

        Raises
        ------
        ValueError
            ``dfnum`` or ``dfden`` is not positive, or ``nonc`` is negative.

        Notes
        -----
        Differences from NumPy: on an accelerator and in compiled functions torch draws other numbers. There it
        does not check values of arrays.

        Source: https://numpy.org/doc/stable/reference/random/generated/numpy.random.Generator.noncentral_f.html

        Examples
        --------
        >>> import tnp as np
        >>> np.random.default_rng(0).noncentral_f(2.0, 5.0, 1.0, size=2)
        array([1.9154122 , 7.34310119])
        """
        return self._draw(self._host.noncentral_f, Stream.noncentral_f, size, dfnum, dfden, nonc)

    def normal(self, loc: Any = 0.0, scale: Any = 1.0, size: Any = None) -> Draw:
        """Draw from the normal distribution with mean ``loc`` and deviation ``scale``.

        Parameters
        ----------
        loc : float or array_like of float, optional
            The mean.
        scale : float or array_like of float, optional
            The standard deviation, at least 0.
        size : int or tuple of int, optional
            The result's shape. By default the shape to which the parameters broadcast.

        Returns
        -------
        ndarray of float64, or a Python number
            A single draw on the CPU is a Python number.

        Raises
        ------
        ValueError
            ``scale`` is negative.

        Notes
        -----
        Differences from NumPy: on an accelerator and in compiled functions torch draws other numbers. There it
        does not check values of arrays.

        Source: https://numpy.org/doc/stable/reference/random/generated/numpy.random.Generator.normal.html

        Examples
        --------
        >>> import tnp as np
        >>> np.random.default_rng(0).normal(10.0, 0.5, size=2)
        array([10.06286511,  9.93394757])
        """
        return self._draw(self._host.normal, Stream.normal, size, loc, scale)

    def pareto(self, a: Any, size: Any = None) -> Draw:
        """Draw from the Pareto II, or Lomax, distribution.

        Parameters
        ----------
        a : float or array_like of float
            The shape parameter, above 0.
        size : int or tuple of int, optional
            The result's shape. By default the shape to which the parameters broadcast.

        Returns
        -------
        ndarray of float64, or a Python number
            A single draw on the CPU is a Python number.

        Raises
        ------
        ValueError
            ``a`` is not positive.

        Notes
        -----
        Differences from NumPy: on an accelerator and in compiled functions torch draws other numbers. There it
        does not check values of arrays.

        Source: https://numpy.org/doc/stable/reference/random/generated/numpy.random.Generator.pareto.html

        Examples
        --------
        >>> import tnp as np
        >>> np.random.default_rng(0).pareto(3.0, size=2)
        array([0.25438319, 0.40475892])
        """
        return self._draw(self._host.pareto, Stream.pareto, size, a)

    def power(self, a: Any, size: Any = None) -> Draw:
        """Draw from [0, 1] with a density of ``a * x**(a - 1)``.

        Parameters
        ----------
        a : float or array_like of float
            The exponent plus 1, above 0.
        size : int or tuple of int, optional
            The result's shape. By default the shape to which the parameters broadcast.

        Returns
        -------
        ndarray of float64, or a Python number
            A single draw on the CPU is a Python number.

        Raises
        ------
        ValueError
            ``a`` is not positive.

        Notes
        -----
        Differences from NumPy: on an accelerator and in compiled functions torch draws other numbers. There it
        does not check values of arrays.

        Source: https://numpy.org/doc/stable/reference/random/generated/numpy.random.Generator.power.html

        Examples
        --------
        >>> import tnp as np
        >>> np.random.default_rng(0).power(3.0, size=2)
        array([0.79016527, 0.86144149])
        """
        return self._draw(self._host.power, Stream.power, size, a)

    def rayleigh(self, scale: Any = 1.0, size: Any = None) -> Draw:
        """Draw from the Rayleigh distribution.

        Parameters
        ----------
        scale : float or array_like of float, optional
            The mode, at least 0.
        size : int or tuple of int, optional
            The result's shape. By default the shape to which the parameters broadcast.

        Returns
        -------
        ndarray of float64, or a Python number
            A single draw on the CPU is a Python number.

        Raises
        ------
        ValueError
            ``scale`` is negative.

        Notes
        -----
        Differences from NumPy: on an accelerator and in compiled functions torch draws other numbers. There it
        does not check values of arrays.

        Source: https://numpy.org/doc/stable/reference/random/generated/numpy.random.Generator.rayleigh.html

        Examples
        --------
        >>> import tnp as np
        >>> np.random.default_rng(0).rayleigh(size=2)
        array([1.16613199, 1.42800357])
        """
        return self._draw(self._host.rayleigh, Stream.rayleigh, size, scale)

    def standard_cauchy(self, size: Any = None) -> Draw:
        """Draw from the Cauchy distribution with mode 0.

        Parameters
        ----------
        size : int or tuple of int, optional
            The result's shape. By default one number.

        Returns
        -------
        ndarray of float64, or a Python number
            A single draw on the CPU is a Python number.

        Notes
        -----
        Differences from NumPy: on an accelerator and in compiled functions torch draws other numbers.

        Source: https://numpy.org/doc/stable/reference/random/generated/numpy.random.Generator.standard_cauchy.html

        Examples
        --------
        >>> import tnp as np
        >>> np.random.default_rng(0).standard_cauchy(size=2)
        array([-0.95174559,  6.10507088])
        """
        return self._draw(self._host.standard_cauchy, Stream.standard_cauchy, size)

    def standard_t(self, df: Any, size: Any = None) -> Draw:
        """Draw from Student's t distribution with ``df`` degrees of freedom.

        Parameters
        ----------
        df : float or array_like of float
            The number of degrees of freedom, above 0.
        size : int or tuple of int, optional
            The result's shape. By default the shape to which the parameters broadcast.

        Returns
        -------
        ndarray of float64, or a Python number
            A single draw on the CPU is a Python number.

        Raises
        ------
        ValueError
            ``df`` is not positive.

        Notes
        -----
        Differences from NumPy: on an accelerator and in compiled functions torch draws other numbers. There it
        does not check values of arrays.

        Source: https://numpy.org/doc/stable/reference/random/generated/numpy.random.Generator.standard_t.html

        Examples
        --------
        >>> import tnp as np
        >>> np.random.default_rng(0).standard_t(5.0, size=2)
        array([0.14135121, 0.13680213])
        """
        return self._draw(self._host.standard_t, Stream.standard_t, size, df)

    def triangular(self, left: Any, mode: Any, right: Any, size: Any = None) -> Draw:
        """Draw from the triangular distribution over [left, right] with its peak at ``mode``.

        Parameters
        ----------
        left, mode, right : float or array_like of float
            The lower end, the peak and the upper end, in ascending order.
        size : int or tuple of int, optional
            The result's shape. By default the shape to which the parameters broadcast.

        Returns
        -------
        ndarray of float64, or a Python number
            A single draw on the CPU is a Python number.

        Raises
        ------
        ValueError
            ``left > mode``, ``mode > right`` or ``left == right``.

        Notes
        -----
        Differences from NumPy: on an accelerator and in compiled functions torch draws other numbers. There it
        does not check values of arrays.

        Source: https://numpy.org/doc/stable/reference/random/generated/numpy.random.Generator.triangular.html

        Examples
        --------
        >>> import tnp as np
        >>> np.random.default_rng(0).triangular(0.0, 1.0, 3.0, size=2)
        array([1.52411726, 0.89964445])
        """
        return self._draw(self._host.triangular, Stream.triangular, size, left, mode, right)

    def uniform(self, low: Any = 0.0, high: Any = 1.0, size: Any = None) -> Draw:
        """Draw from the uniform distribution over [low, high).

        Parameters
        ----------
        low, high : float or array_like of float, optional
            The ends of the interval.
        size : int or tuple of int, optional
            The result's shape. By default the shape to which the parameters broadcast.

        Returns
        -------
        ndarray of float64, or a Python number
            A single draw on the CPU is a Python number.

        Notes
        -----
        Differences from NumPy: on an accelerator and in compiled functions torch draws other numbers.

        Source: https://numpy.org/doc/stable/reference/random/generated/numpy.random.Generator.uniform.html

        Examples
        --------
        >>> import tnp as np
        >>> np.random.default_rng(0).uniform(-1.0, 1.0, size=2)
        array([ 0.27392337, -0.46042657])
        """
        return self._draw(self._host.uniform, Stream.uniform, size, low, high)

    def vonmises(self, mu: Any, kappa: Any, size: Any = None) -> Draw:
        """Draw angles in [-pi, pi] from the von Mises distribution.

        Parameters
        ----------
        mu : float or array_like of float
            The mode, in radians.
        kappa : float or array_like of float
            The concentration, at least 0.
        size : int or tuple of int, optional
            The result's shape. By default the shape to which the parameters broadcast.

        Returns
        -------
        ndarray of float64, or a Python number
            A single draw on the CPU is a Python number.

        Raises
        ------
        ValueError
            ``kappa`` is negative.
        NotImplementedError
            The draw is in a compiled function: the number of torch's steps depends on values.

        Notes
        -----
        Differences from NumPy: on an accelerator torch draws other numbers. There it does not check values of arrays.

        Source: https://numpy.org/doc/stable/reference/random/generated/numpy.random.Generator.vonmises.html

        Examples
        --------
        >>> import tnp as np
        >>> np.random.default_rng(0).vonmises(0.0, 4.0, size=2)
        array([-0.74207299,  0.01295832])
        """
        return self._draw(self._host.vonmises, Stream.vonmises, size, mu, kappa)

    def wald(self, mean: Any, scale: Any, size: Any = None) -> Draw:
        """Draw from the Wald, or inverse Gaussian, distribution.

        Parameters
        ----------
        mean, scale : float or array_like of float
            The mean and the scale, above 0.
        size : int or tuple of int, optional
            The result's shape. By default the shape to which the parameters broadcast.

        Returns
        -------
        ndarray of float64, or a Python number
            A single draw on the CPU is a Python number.

        Raises
        ------
        ValueError
            A parameter is not positive.

        Notes
        -----
        Differences from NumPy: on an accelerator and in compiled functions torch draws other numbers. There it
        does not check values of arrays.

        Source: https://numpy.org/doc/stable/reference/random/generated/numpy.random.Generator.wald.html

        Examples
        --------
        >>> import tnp as np
        >>> np.random.default_rng(0).wald(1.0, 2.0, size=2)
        array([0.91495954, 0.63822497])
        """
        return self._draw(self._host.wald, Stream.wald, size, mean, scale)

    def weibull(self, a: Any, size: Any = None) -> Draw:
        """Draw from the Weibull distribution with shape ``a`` and scale 1.

        Parameters
        ----------
        a : float or array_like of float
            The shape parameter, at least 0.
        size : int or tuple of int, optional
            The result's shape. By default the shape to which the parameters broadcast.

        Returns
        -------
        ndarray of float64, or a Python number
            A single draw on the CPU is a Python number.

        Raises
        ------
        ValueError
            ``a`` is negative.

        Notes
        -----
        Differences from NumPy: on an accelerator and in compiled functions torch draws other numbers. There it
        does not check values of arrays.

        Source: https://numpy.org/doc/stable/reference/random/generated/numpy.random.Generator.weibull.html

        Examples
        --------
        >>> import tnp as np
        >>> np.random.default_rng(0).weibull(2.0, size=2)
        array([0.82457983, 1.00975101])
        """
        return self._draw(self._host.weibull, Stream.weibull, size, a)

    # Discrete distributions.

    def binomial(self, n: Any, p: Any, size: Any = None) -> Draw:
        """Draw successes in ``n`` trials of probability ``p``.

        Parameters
        ----------
        n : int or array_like of int
            The number of trials, at least 0.
        p : float or array_like of float
            The probability of a success, in [0, 1].
        size : int or tuple of int, optional
            The result's shape. By default the shape to which the parameters broadcast.

        Returns
        -------
        ndarray of int64, or a Python number
            A single draw on the CPU is a Python number.

        Raises
        ------
        ValueError
            A parameter is out of range.

        Notes
        -----
        Differences from NumPy: on an accelerator and in compiled functions torch draws other numbers. There it
        does not check values of arrays.

        Source: https://numpy.org/doc/stable/reference/random/generated/numpy.random.Generator.binomial.html

        Examples
        --------
        >>> import tnp as np
        >>> np.random.default_rng(0).binomial(10, 0.5, size=3)
        array([6, 4, 2])
        """
        return self._draw(self._host.binomial, Stream.binomial, size, n, p)

    def bytes(self, length: int) -> bytes:
        """Draw random bytes.

        Parameters
        ----------
        length : int
            The number of bytes.

        Returns
        -------
        bytes

        Raises
        ------
        NotImplementedError
            The draw is in a compiled function: bytes are not an array.

        Notes
        -----
        Differences from NumPy: on an accelerator torch draws other bytes.

        Source: https://numpy.org/doc/stable/reference/random/generated/numpy.random.Generator.bytes.html

        Examples
        --------
        >>> import tnp as np
        >>> len(np.random.default_rng(0).bytes(3))
        3
        """
        stream = self._stream()
        return self._host.bytes(length) if stream is None else stream.bytes(length)

    def geometric(self, p: Any, size: Any = None) -> Draw:
        """Draw trials until the first success of probability ``p``.

        Parameters
        ----------
        p : float or array_like of float
            The probability of a success, in (0, 1].
        size : int or tuple of int, optional
            The result's shape. By default the shape to which the parameters broadcast.

        Returns
        -------
        ndarray of int64, or a Python number
            A single draw on the CPU is a Python number.

        Raises
        ------
        ValueError
            ``p`` is out of range.

        Notes
        -----
        Differences from NumPy: on an accelerator and in compiled functions torch draws other numbers. There it
        does not check values of arrays.

        Source: https://numpy.org/doc/stable/reference/random/generated/numpy.random.Generator.geometric.html

        Examples
        --------
        >>> import tnp as np
        >>> np.random.default_rng(0).geometric(0.3, size=3)
        array([2, 3, 1])
        """
        return self._draw(self._host.geometric, Stream.geometric, size, p)

    def hypergeometric(self, ngood: Any, nbad: Any, nsample: Any, size: Any = None) -> Draw:
        """Draw how many of ``nsample`` out of ``ngood + nbad`` are good; on the CPU only.

        Parameters
        ----------
        ngood, nbad : int or array_like of int
            The numbers of good and of bad items, at least 0.
        nsample : int or array_like of int
            The number of items in a sample, at most ``ngood + nbad``.
        size : int or tuple of int, optional
            The result's shape. By default the shape to which the parameters broadcast.

        Returns
        -------
        ndarray of int64, or a Python number
            A single draw on the CPU is a Python number.

        Raises
        ------
        ValueError
            A parameter is out of range.
        NotImplementedError
            The draw is on an accelerator, or in a compiled function: torch can't draw these numbers.

        Notes
        -----
        Source: https://numpy.org/doc/stable/reference/random/generated/numpy.random.Generator.hypergeometric.html

        Examples
        --------
        >>> import tnp as np
        >>> np.random.default_rng(0).hypergeometric(5, 5, 4, size=3)
        array([3, 1, 1])
        """
        return self._draw(self._host.hypergeometric, Stream.hypergeometric, size, ngood, nbad, nsample)

    def logseries(self, p: Any, size: Any = None) -> Draw:
        """Draw from the logarithmic series distribution.

        Parameters
        ----------
        p : float or array_like of float
            The shape parameter, in [0, 1).
        size : int or tuple of int, optional
            The result's shape. By default the shape to which the parameters broadcast.

        Returns
        -------
        ndarray of int64, or a Python number
            A single draw on the CPU is a Python number.

        Raises
        ------
        ValueError
            ``p`` is out of range.

        Notes
        -----
        Differences from NumPy: on an accelerator and in compiled functions torch draws other numbers. There it
        does not check values of arrays.

        Source: https://numpy.org/doc/stable/reference/random/generated/numpy.random.Generator.logseries.html

        Examples
        --------
        >>> import tnp as np
        >>> np.random.default_rng(0).logseries(0.6, size=3)
        array([1, 1, 7])
        """
        return self._draw(self._host.logseries, Stream.logseries, size, p)

    def multinomial(self, n: Any, pvals: Any, size: Any = None) -> ndarray:
        """Draw the counts of outcomes with probabilities ``pvals`` in ``n`` trials.

        Parameters
        ----------
        n : int or array_like of int
            The number of trials, at least 0.
        pvals : array_like of float, shape (..., k)
            The probabilities of the outcomes, whose sum is 1.
        size : int or tuple of int, optional
            The shape of the draws; each draw is a vector along a further, last axis. None makes one draw.

        Returns
        -------
        ndarray of int64, shape (..., k)

        Raises
        ------
        ValueError
            A parameter is out of range, or the sum of ``pvals`` exceeds 1.

        Notes
        -----
        Differences from NumPy: on an accelerator and in compiled functions torch draws other numbers. There it
        does not check values of arrays.

        Source: https://numpy.org/doc/stable/reference/random/generated/numpy.random.Generator.multinomial.html

        Examples
        --------
        >>> import tnp as np
        >>> np.random.default_rng(0).multinomial(10, [0.5, 0.3, 0.2])
        array([6, 3, 1])
        """
        stream = self._stream()
        if stream is None:
            return from_host(self._host.multinomial(on_host(n), on_host(pvals), on_host(size)))
        return wrap_array(stream.multinomial(_sizes(size), parameter(n), tensor_of(pvals)))

    def negative_binomial(self, n: Any, p: Any, size: Any = None) -> Draw:
        """Draw failures before the ``n``-th success of probability ``p``.

        Parameters
        ----------
        n : float or array_like of float
            The number of successes, above 0.
        p : float or array_like of float
            The probability of a success, in (0, 1].
        size : int or tuple of int, optional
            The result's shape. By default the shape to which the parameters broadcast.

        Returns
        -------
        ndarray of int64, or a Python number
            A single draw on the CPU is a Python number.

        Raises
        ------
        ValueError
            A parameter is out of range.

        Notes
        -----
        Differences from NumPy: on an accelerator and in compiled functions torch draws other numbers. There it
        does not check values of arrays.

        Source: https://numpy.org/doc/stable/reference/random/generated/numpy.random.Generator.negative_binomial.html

        Examples
        --------
        >>> import tnp as np
        >>> np.random.default_rng(0).negative_binomial(3, 0.5, size=3)
        array([0, 6, 1])
        """
        return self._draw(self._host.negative_binomial, Stream.negative_binomial, size, n, p)

    def poisson(self, lam: Any = 1.0, size: Any = None) -> Draw:
        """Draw from the Poisson distribution with mean ``lam``.

        Parameters
        ----------
        lam : float or array_like of float, optional
            The mean, at least 0.
        size : int or tuple of int, optional
            The result's shape. By default the shape to which the parameters broadcast.

        Returns
        -------
        ndarray of int64, or a Python number
            A single draw on the CPU is a Python number.

        Raises
        ------
        ValueError
            ``lam`` is negative or too large.

        Notes
        -----
        Differences from NumPy: on an accelerator and in compiled functions torch draws other numbers. There it
        does not check values of arrays.

        Source: https://numpy.org/doc/stable/reference/random/generated/numpy.random.Generator.poisson.html

        Examples
        --------
        >>> import tnp as np
        >>> np.random.default_rng(0).poisson(4.0, size=3)
        array([2, 0, 7])
        """
        return self._draw(self._host.poisson, Stream.poisson, size, lam)

    def zipf(self, a: Any, size: Any = None) -> Draw:
        """Draw from the Zipf, or zeta, distribution; on the CPU only.

        Parameters
        ----------
        a : float or array_like of float
            The exponent, above 1.
        size : int or tuple of int, optional
            The result's shape. By default the shape to which the parameters broadcast.

        Returns
        -------
        ndarray of int64, or a Python number
            A single draw on the CPU is a Python number.

        Raises
        ------
        ValueError
            ``a`` is at most 1.
        NotImplementedError
            The draw is on an accelerator, or in a compiled function: torch can't draw these numbers.

        Notes
        -----
        Source: https://numpy.org/doc/stable/reference/random/generated/numpy.random.Generator.zipf.html

        Examples
        --------
        >>> import tnp as np
        >>> np.random.default_rng(0).zipf(2.0, size=3)
        array([2, 1, 2])
        """
        return self._draw(self._host.zipf, Stream.zipf, size, a)


def _sizes(size: Any) -> tuple[int, ...] | None:
    return None if size is None else as_shape(size)


def _drawn(tensor: Tensor, size: Any) -> ndarray:
    """Return torch's draw: a scalar if neither the call nor a parameter has a size."""
    return wrap(tensor) if size is None else wrap_array(tensor)


def integers(stream: Stream, low: Any, high: Any, size: Any, dtype: Any, endpoint: bool) -> ndarray:
    """Draw uniform integers by torch, with NumPy's reading of the bounds."""
    low, high = (0, low) if high is None else (low, high)
    drawn = stream.integers(_sizes(size), parameter(low), parameter(high), tensor_dtype(dtype), endpoint)
    return _drawn(drawn, size)


def filled(
    draw: Callable[..., Any], stream: Stream | None, kernel: Kernel, size: Any, dtype: Any, out: Any, *parameters: Any
) -> Any:
    """A standard distribution, which has a dtype and may be drawn into ``out``."""
    if stream is None:
        if size is out is None and not parameters:
            return draw(dtype=dtype)
        given = [on_host(each) for each in parameters]
        if out is None:
            return from_host(draw(*given, size=on_host(size), dtype=dtype))
        on_host(out)  # raises for an array that is not on the host
        target = output_tensor(out)
        generators.fill_on_host(target, lambda values: draw(*given, size=on_host(size), dtype=dtype, out=values))
        return put_back(out, target)
    if np.dtype(dtype) not in (np.float32, np.float64):
        raise TypeError(f"Unsupported dtype {np.dtype(dtype)!r} for {kernel.__name__}")
    if out is None:
        return _drawn(kernel(stream, _sizes(size), *map(parameter, parameters), tensor_dtype(dtype)), size)
    into = asarray(out)
    if into.dtype != np.dtype(dtype):
        raise TypeError(f"Supplied output array has the wrong type. Expected {np.dtype(dtype)}, got {into.dtype}")
    if size is not None and _sizes(size) != into.shape:
        raise ValueError("size must match out.shape when used together")
    into[...] = wrap_array(kernel(stream, into.shape, *map(parameter, parameters), tensor_dtype(dtype)))
    return out
