"""Quantiles and percentiles, with every method that NumPy has.

Layer: owns where each method reads a sorted axis, and axes and shapes. The places are found on the host, whose
numbers the quantiles usually are; where the number of elements differs from lane to lane, in tensors.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from backend_torch.graphs import symbolic
from backend_torch.kernels import host, reductions, sorting, value_checks
from backend_torch.kernels import quantiles as kernels
from backend_torch.tensors import interop, memory
from backend_torch.tensors.dtypes import to_numpy
from tnp._core import public
from tnp._core.base import ndarray, wrap, wrap_array
from tnp._core.convert import asnumpy, tensor_of, tensor_of_shape
from tnp._core.dtypes import tensor_dtype
from tnp._core.errors import normalize_axes, unassignable
from tnp._core.index_arguments import check_output
from tnp._core.strided_views import put_back
from tnp._statistics.averages import aligned_weights, refuse_nan
from tnp._statistics.nanfunctions import nanmean
from tnp._ufunc import errstate
from tnp._ufunc.reduction import BOOL, deliver, first_along, output_of

Tensor = Any
_NoValue: Any = np._NoValue

# Hyndman and Fan's alpha and beta.
_CONTINUOUS = {
    "interpolated_inverted_cdf": (0, 1),
    "hazen": (0.5, 0.5),
    "weibull": (0, 0),
    "median_unbiased": (1 / 3.0, 1 / 3.0),
    "normal_unbiased": (3 / 8.0, 3 / 8.0),
}
_AT_ELEMENTS = ("inverted_cdf", "closest_observation", "lower", "higher", "nearest")
_METHODS = dict.fromkeys((*_CONTINUOUS, *_AT_ELEMENTS, "averaged_inverted_cdf", "linear", "midpoint"))


def quantile(
    a: Any,
    q: Any,
    axis: Any = None,
    out: Any = None,
    overwrite_input: bool = False,
    method: str = "linear",
    keepdims: Any = False,
    *,
    weights: Any = None,
) -> ndarray:
    """Quantiles along axes: the values below which a part of the elements lies.

    Parameters
    ----------
    a : array_like
        Of real numbers.
    q : array_like
        Between 0 and 1.
    axis : int or tuple of int, optional
        Axes to reduce; all by default.
    out : ndarray, optional
        Where to put the result.
    overwrite_input : bool, optional
        Without effect: the input stays unchanged.
    method : str, optional
        'linear', 'lower', 'higher', 'midpoint', 'nearest', 'inverted_cdf', 'averaged_inverted_cdf',
        'closest_observation', 'interpolated_inverted_cdf', 'hazen', 'weibull', 'median_unbiased' or 'normal_unbiased'.
    keepdims : bool, optional
        Keep the axes, with length one.
    weights : array_like, optional
        Of the array's shape or that of the axes; with the method 'inverted_cdf' only.

    Returns
    -------
    ndarray
        The axes of ``q`` come first. NaN if an element is NaN.

    Raises
    ------
    AxisError
        The array has no such axis.
    IndexError
        There are no elements.
    TypeError
        The array is complex.
    ValueError
        The method is unknown, or ``q`` is not between 0 and 1.

    Notes
    -----
    Source: https://numpy.org/doc/stable/reference/generated/numpy.quantile.html

    Examples
    --------
    >>> import tnp as np
    >>> np.quantile(np.asarray([[10, 7, 4], [3, 2, 1]]), 0.5, axis=0)
    array([6.5, 4.5, 2.5])
    """
    return _quantile(a, q, 1, axis, out, method, keepdims, weights, False)


def percentile(
    a: Any,
    q: Any,
    axis: Any = None,
    out: Any = None,
    overwrite_input: bool = False,
    method: str = "linear",
    keepdims: Any = False,
    *,
    weights: Any = None,
) -> ndarray:
    """Percentiles along axes: quantiles in hundredths.

    Parameters
    ----------
    a : array_like
        Of real numbers.
    q : array_like
        Between 0 and 100.
    axis, out, overwrite_input, method, keepdims, weights
        As in ``quantile``.

    Returns
    -------
    ndarray
        The axes of ``q`` come first. NaN if an element is NaN.

    Raises
    ------
    AxisError
        The array has no such axis.
    IndexError
        There are no elements.
    TypeError
        The array is complex.
    ValueError
        The method is unknown, or ``q`` is not between 0 and 100.

    Notes
    -----
    Source: https://numpy.org/doc/stable/reference/generated/numpy.percentile.html

    Examples
    --------
    >>> import tnp as np
    >>> np.percentile(np.asarray([[10, 7, 4], [3, 2, 1]]), 50, axis=1)
    array([7., 2.])
    """
    return _quantile(a, q, 100, axis, out, method, keepdims, weights, False)


def nanquantile(
    a: Any,
    q: Any,
    axis: Any = None,
    out: Any = None,
    overwrite_input: bool = False,
    method: str = "linear",
    keepdims: Any = _NoValue,
    *,
    weights: Any = None,
) -> ndarray:
    """Quantiles along axes of the elements that are not NaN.

    Parameters
    ----------
    a : array_like
        Of real numbers.
    q : array_like
        Between 0 and 1.
    axis, out, overwrite_input, method, keepdims, weights
        As in ``quantile``.

    Returns
    -------
    ndarray
        The axes of ``q`` come first. NaN, with a RuntimeWarning, where all elements are.

    Raises
    ------
    AxisError
        The array has no such axis.
    TypeError
        The array is complex.
    ValueError
        The method is unknown, or ``q`` is not between 0 and 1.

    Notes
    -----
    Source: https://numpy.org/doc/stable/reference/generated/numpy.nanquantile.html

    Examples
    --------
    >>> import tnp as np
    >>> np.nanquantile(np.asarray([[10.0, np.nan, 4], [3, 2, 1]]), 0.5, axis=0)
    array([6.5, 2. , 2.5])
    """
    return _quantile(a, q, 1, axis, out, method, keepdims, weights, True)


def nanpercentile(
    a: Any,
    q: Any,
    axis: Any = None,
    out: Any = None,
    overwrite_input: bool = False,
    method: str = "linear",
    keepdims: Any = _NoValue,
    *,
    weights: Any = None,
) -> ndarray:
    """Percentiles along axes of the elements that are not NaN.

    Parameters
    ----------
    a : array_like
        Of real numbers.
    q : array_like
        Between 0 and 100.
    axis, out, overwrite_input, method, keepdims, weights
        As in ``quantile``.

    Returns
    -------
    ndarray
        The axes of ``q`` come first. NaN, with a RuntimeWarning, where all elements are.

    Raises
    ------
    AxisError
        The array has no such axis.
    TypeError
        The array is complex.
    ValueError
        The method is unknown, or ``q`` is not between 0 and 100.

    Notes
    -----
    Source: https://numpy.org/doc/stable/reference/generated/numpy.nanpercentile.html

    Examples
    --------
    >>> import tnp as np
    >>> np.nanpercentile(np.asarray([[10.0, np.nan, 4], [3, 2, 1]]), 50, axis=1)
    array([7., 2.])
    """
    return _quantile(a, q, 100, axis, out, method, keepdims, weights, True)


def _fitted(found: Tensor, target: Tensor, picked: bool) -> Tensor:
    """Return what is written to ``out``, as NumPy does it: by ``take`` or by ``add``."""
    if picked:
        check_output(wrap_array(target), tuple(found.shape), found.dtype, "ndarray.take")
        return found
    given, wanted = to_numpy[found.dtype], to_numpy[target.dtype]
    if not np.can_cast(given, wanted, "same_kind"):
        raise TypeError(f"Cannot cast ufunc 'add' output from {given!r} to {wanted!r} with casting rule 'same_kind'")
    try:
        return found.expand(target.shape)
    except RuntimeError:
        raise unassignable(found.shape, target.shape) from None


def _checked(q: Any, scale: int) -> Any:
    """Return the quantiles as numbers from 0 to 1: on the host, unless a gradient is recorded or values are unknown."""
    if isinstance(q, ndarray) and (q.tensor.requires_grad or not memory.is_readable(q.tensor)):
        if not q.size and q.ndim != 1:
            np.zeros(q.shape).min()  # as NumPy does it
        refusal = value_checks.NO_QUANTILES if scale == 1 else value_checks.NO_PERCENTILES
        value_checks.expect(((q >= 0) & (q <= scale)).tensor, refusal)
        return q if scale == 1 else q / scale
    quantiles = asnumpy(q) if isinstance(q, ndarray) else np.asarray(q)
    if scale != 1:
        quantiles = np.asarray(np.true_divide(quantiles, scale))
    if (quantiles.size or quantiles.ndim != 1) and not (quantiles.min() >= 0 and quantiles.max() <= 1):
        raise ValueError(value_checks.NO_QUANTILES if scale == 1 else value_checks.NO_PERCENTILES)
    return quantiles


def _quantile(
    a: Any, given: Any, scale: int, axis: Any, out: Any, method: str, keepdims: Any, weights: Any, skip_nan: bool
) -> Any:
    """All of the functions: ``weak`` says that the quantile is a Python number, which takes the array's dtype."""
    tensor = tensor_of_shape(a, lambda shape: normalize_axes(axis, len(shape)))
    if tensor.is_complex():
        raise TypeError("a must be an array of real numbers")
    q = _checked(given, scale)
    weak = type(given) in (int, float)
    if weights is not None and method != "inverted_cdf":
        raise ValueError(f"Only method 'inverted_cdf' supports weights. Got: {method}.")
    axes = normalize_axes(axis, tensor.dim())
    if weights is not None:
        weights = aligned_weights(tensor_of(weights, device=tensor.device), tensor, None if axis is None else axes)
        weights = weights.expand(tensor.shape)
        if memory.is_readable(weights) and bool((weights < 0).any()):
            raise ValueError("Weights must be non-negative.")
        weights = reductions.flattened(weights, axes)
    if skip_nan and not tensor.numel():
        return nanmean(a, axis, None, out, keepdims is not _NoValue and keepdims)
    if method not in _METHODS:
        raise ValueError(f"{method!r} is not a valid method. Use one of: {', '.join(_METHODS)}")
    if q.ndim > 2:
        raise ValueError("q must be a scalar or 1d")
    plain = weights is None and not skip_nan and out is None and isinstance(q, np.ndarray)
    if plain and tensor.numel() and (small := host.small(tensor)) is not None:
        function: Any = np.quantile if scale == 1 else np.percentile
        wanted = asnumpy(given) if isinstance(given, ndarray) else given
        kept = keepdims is not _NoValue and bool(keepdims)
        with np.errstate(all="ignore"):
            return wrap(host.wrapped(function(small[0], wanted, axis=axes, method=method, keepdims=kept)))
    target = None if out is None else output_of(out)
    lanes = reductions.flattened(tensor, axes)
    found: Any
    of_nan = skip_nan
    valid = sorting.without_nan(lanes) if skip_nan and weights is None and isinstance(q, np.ndarray) else None
    skip_nan = skip_nan and valid is None and tensor.is_floating_point()
    lanes = lanes if valid is None else valid
    if not lanes.shape[-1]:
        if lanes.dtype is BOOL and not q.size:
            np.quantile(np.ones(1, bool), [])  # NumPy interpolates between booleans before it looks for elements
        raise IndexError("index -1 is out of bounds for axis 0 with size 0: there are no elements")
    if weights is not None:
        found = kernels.weighted(lanes, weights, interop.moved(tensor_of(q), tensor.device), skip_nan)
        if found is None:
            raise ValueError("Weights included NaN, inf or were all zero.")
    elif skip_nan or isinstance(q, ndarray) or symbolic.is_symbol(lanes.shape[-1]):
        found = _of_each_lane(lanes, q, weak, method, skip_nan)
    else:
        found = _of_all_lanes(lanes, q, weak, method)
    if skip_nan:
        errstate.warn_where(found, lambda: kernels.valid_count(lanes) == 0, "All-NaN slice encountered")
    found = found.reshape((*found.shape[:-1], *q.shape))
    found = found.movedim(tuple(range(-q.ndim, 0)), tuple(range(q.ndim)))
    if weights is not None or not of_nan:
        found = found.contiguous()  # NumPy's nanquantile leaves the axes of ``q`` where it computed them
    if keepdims is not _NoValue and keepdims and target is not None:
        target, keepdims = first_along(target, axes, tensor.dim()), False
    if keepdims is not _NoValue and keepdims:
        for dim in sorted(axes):
            found = found.unsqueeze(dim + q.ndim)
    if target is not None and of_nan:
        wrap_array(target)[...] = wrap(found)
        return put_back(out, target)
    if target is not None:
        found = _fitted(found, target, method in _AT_ELEMENTS or (method == "linear" and q.dtype.kind in "iu"))
        refuse_nan(tensor, target, tensor.dim() - len(axes))
    if target is None and weights is not None:
        return wrap_array(found)  # no scalar, as in NumPy
    return deliver(found, out, target, "quantile")


def _of_all_lanes(lanes: Tensor, q: np.ndarray, weak: bool, method: str) -> Tensor:
    """Return quantiles of lanes that are read at the same places."""
    size = lanes.shape[-1]
    low, high, weight = _places(np, method, size, q)
    if weight is None:
        places = low.ravel()
        lanes = kernels.arranged(lanes, places.tolist())
        return kernels.or_nan(kernels.at(lanes, places), lanes)
    dtype = _mixed_dtype(lanes, weight, weak)
    low, high = low.ravel(), high.ravel()
    lanes = kernels.arranged(lanes, [*low.tolist(), *high.tolist()])
    mixed = kernels.between(kernels.at(lanes, low), kernels.at(lanes, high), tensor_of(weight.ravel()), dtype)
    return kernels.or_nan(mixed, lanes)


def _of_each_lane(lanes: Tensor, q: Any, weak: bool, method: str, skip_nan: bool) -> Tensor:
    """Return quantiles of lanes with different places, or with places that the host does not know."""
    quantiles = wrap_array(interop.moved(tensor_of(q), lanes.device).reshape(-1))
    length = lanes.shape[-1]
    if skip_nan:
        size = wrap_array(kernels.valid_count(lanes))
    else:
        size = wrap_array(symbolic.tensor(length).reshape(1) if symbolic.is_symbol(length) else tensor_of([length]))
        size = wrap_array(interop.moved(size.tensor, lanes.device))
    if quantiles.dtype.kind == "f" or quantiles.dtype == np.uint64:
        size = size.astype(quantiles.dtype)  # the int in its place would take that dtype
    low, high, weight = _places(public.namespace(), method, size, quantiles)
    shape = (*lanes.shape[:-1], quantiles.size)
    places = [place.tensor.expand(shape) for place in (low, high) if place is not None]
    lanes = kernels.arranged_for(lanes, places)
    found = kernels.at_each(lanes, places[0])
    if weight is not None:
        high_end = kernels.at_each(lanes, places[1])
        found = kernels.between(found, high_end, weight.tensor, _mixed_dtype(lanes, weight, weak))
    return found if skip_nan else kernels.or_nan(found, lanes)


def _mixed_dtype(lanes: Tensor, weight: Any, weak: bool) -> Any:
    """Return the dtype in which NumPy interpolates two elements."""
    given = to_numpy[lanes.dtype]
    if given.kind == "b":
        raise TypeError(
            "numpy boolean subtract, the `-` operator, is not supported, use the bitwise_xor, the `^` operator, or "
            "the logical_xor function instead: or a method that takes elements as they are"
        )
    return tensor_dtype(np.result_type(given, 1.0 if weak else weight.dtype))


def _places(xp: Any, method: str, n: Any, q: Any) -> tuple[Any, Any, Any]:
    """Return where a method reads a sorted axis of n elements: two places and the second's weight, None for one place.

    ``xp`` is numpy or tnp, as ``n`` and ``q`` are.
    """
    if method == "inverted_cdf":
        index = n * q - 1
        return _nearest(xp, n, index, xp.floor(index) == index), None, None
    if method == "closest_observation":
        index = n * q - 1 - 0.5
        return _nearest(xp, n, index, (xp.floor(index) == index) & (xp.floor(index) % 2 == 1)), None, None
    if method in ("lower", "higher", "nearest"):
        rounding = {"lower": xp.floor, "higher": xp.ceil, "nearest": xp.round}[method]
        return _within(xp, n, xp.asarray(rounding((n - 1) * q))), None, None
    if method == "linear":
        index = xp.asarray((n - 1) * q)
        if index.dtype.kind in "iu":
            return _within(xp, n, index), None, None
    elif method == "midpoint":
        index = 0.5 * (xp.floor((n - 1) * q) + xp.ceil((n - 1) * q))
    elif method == "averaged_inverted_cdf":
        index = n * q - 1
    else:
        alpha, beta = _CONTINUOUS[method]
        index = n * q + (alpha + q * (1 - alpha - beta)) - 1
    index = xp.asarray(index)
    below = xp.floor(index)
    weight = index - below
    if method == "midpoint":
        weight = xp.where(index % 1 == 0, 0.0, 0.5)
    elif method == "averaged_inverted_cdf":
        weight = xp.where(weight == 0, 0.5, 1.0)
    return _within(xp, n, below), _within(xp, n, below + 1), xp.asarray(weight, index.dtype)


def _nearest(xp: Any, n: Any, index: Any, is_lower: Any) -> Any:
    """Return the place below an index or the one above it."""
    below = xp.floor(index)
    return _within(xp, n, xp.where(is_lower, below, below + 1))


def _within(xp: Any, n: Any, index: Any) -> Any:
    """Clip indices to an axis of n elements, as integers; NaN becomes the last."""
    index = xp.where(index == index, index, n - 1)
    return xp.maximum(xp.minimum(index, n - 1), 0).astype(np.int64)
