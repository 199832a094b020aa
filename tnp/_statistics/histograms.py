"""Histograms and counts: the edges of bins, and the values between them.

Layer: owns the edges: NumPy's rules for the number of bins, ranges, and the checks on both. The host
reads the ends of the data, because the number of bins depends on them.
"""

from __future__ import annotations

import builtins
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from backend_torch.autodiff import transform_levels
from backend_torch.kernels import histograms as kernels
from backend_torch.kernels import host, value_checks
from backend_torch.native import heads
from backend_torch.tensors import memory
from backend_torch.tensors.casting import cast
from backend_torch.tensors.dtypes import to_numpy
from tnp._core.base import ndarray, wrap, wrap_array
from tnp._core.convert import asarray, tensor_of, tensors_of
from tnp._core.dtypes import tensor_dtype
from tnp._core.errors import check_line, check_size, index_of, long_of, refuse_cast, warn
from tnp._core.function_overrides import look
from tnp._core.interop import values_of
from tnp._core.numpy_version import NUMPY
from tnp._creation.ranges import linspace
from tnp._indexing.index_tricks import ravel_multi_index
from tnp._indexing.selection import where
from tnp._manipulation.shape import atleast_2d
from tnp._math.scans import diff
from tnp._sorting.sorting import searchsorted
from tnp._statistics.averages import mean, std
from tnp._statistics.quantiles import percentile
from tnp._ufunc import errstate
from tnp._ufunc.table import isfinite

Tensor = Any
INT64 = tensor_dtype(np.int64)
FLOAT64 = tensor_dtype(np.float64)
_CASTS_LISTS = NUMPY < "2.5.0"  # bincount took numbers that are not integers, unless from an array


def bincount(x: Any, /, weights: Any = None, minlength: Any = 0) -> ndarray:
    """Count each non-negative integer, or sum its weights.

    Parameters
    ----------
    x : array_like of int, one-dimensional
    weights : array_like, optional
        One for each element; added up in float64.
    minlength : int, optional
        The least length of the result.

    Returns
    -------
    ndarray
        Of int64, or float64 if there are weights, and one longer than the largest element.

    Raises
    ------
    TypeError
        The elements, or ``minlength``, are not integers.
    ValueError
        ``x`` is not one-dimensional or has a negative element, or the weights are not as many.

    Notes
    -----
    The length of the result depends on the values, so the host waits for an accelerator. In compiled functions and
    batches, which have no values, a ``minlength`` is needed: it is the length of the result, and an element that is
    not below it raises ValueError.

    Source: https://numpy.org/doc/stable/reference/generated/numpy.bincount.html

    Examples
    --------
    >>> import tnp as np
    >>> np.bincount(np.asarray([0, 1, 1, 3, 2, 1, 7]))
    array([1, 3, 1, 1, 0, 0, 0, 1])
    """
    if (counts := heads.bincount(x, weights, minlength)) is not None:
        return counts
    (tensor,) = tensors_of(x, check=check_line)
    check_line(tensor.shape)
    dtype = to_numpy[tensor.dtype]
    if dtype.kind not in "biu" and (isinstance(x, (ndarray, np.ndarray)) or (tensor.numel() and not _CASTS_LISTS)):
        refuse_cast(dtype, np.dtype(np.intp), "safe")
    if minlength is None:
        raise TypeError("use 0 instead of None for minlength")
    if isinstance(minlength, bool):
        raise TypeError("an integer is required")
    length = long_of(minlength)
    if length < 0:
        raise ValueError("'minlength' must not be negative")
    indices = cast(tensor, INT64)
    amounts = None
    if weights is not None and tensor.numel():  # without integers NumPy ignores the weights
        amounts = tensor_of(weights, device=tensor.device)
        check_line(amounts.shape)
        refuse_cast(to_numpy[amounts.dtype], np.dtype(float), "safe")
        amounts = cast(amounts, FLOAT64)
        if amounts.shape != indices.shape:
            raise ValueError("The weights and list don't have the same length.")
    if length and not memory.is_readable(indices):
        value_checks.expect(indices >= 0, value_checks.UNCOUNTED)
        value_checks.expect(indices < length, value_checks.BEYOND)
        if not indices.is_cpu:
            indices = indices.clamp(0, length - 1)
    elif len(indices):
        if kernels.smallest(indices) < 0:
            raise ValueError(value_checks.UNCOUNTED)
        length = max(length, kernels.largest(indices) + 1)
        check_size((length,), 8)
    return wrap_array(kernels.counted(indices, amounts, length))


def digitize(x: Any, bins: Any, right: bool = False) -> ndarray:
    """The index of the bin of each value.

    Parameters
    ----------
    x : array_like
        Of real numbers.
    bins : array_like, one-dimensional
        Edges in ascending or descending order.
    right : bool, optional
        A bin includes its right edge, not its left one.

    Returns
    -------
    ndarray
        Of int64 and the shape of ``x``: 0 before the first edge, ``len(bins)`` after the last.

    Raises
    ------
    TypeError
        ``x`` is complex.
    ValueError
        The edges neither increase nor decrease.

    Notes
    -----
    Source: https://numpy.org/doc/stable/reference/generated/numpy.digitize.html

    Examples
    --------
    >>> import tnp as np
    >>> np.digitize(np.asarray([0.2, 6.4, 3.0, 1.6]), np.asarray([0.0, 1.0, 2.5, 4.0, 10.0]))
    array([1, 4, 3, 2])
    """
    values, edges = tensors_of(x, bins)
    if values.is_complex():
        raise TypeError("x may not be complex")
    check_line(edges.shape)
    if edges.is_complex():
        raise TypeError("bins may not be complex")
    side = "left" if right else "right"
    rising = searchsorted(wrap_array(edges), wrap_array(values), side)
    if not memory.is_readable(edges) and isinstance(bins, ndarray):  # their order is known only when the graph runs
        steps = wrap_array(edges)
        rises = (steps[1:] >= steps[:-1]).all()
        value_checks.expect((rises | (steps[1:] <= steps[:-1]).all()).tensor, value_checks.NEITHER_WAY)
        return where(rises, rising, _falling(edges, values, side))
    direction = kernels.direction(cast(edges, FLOAT64)) if memory.is_readable(edges) else _direction(np.asarray(bins))
    if not direction:
        raise ValueError(value_checks.NEITHER_WAY)
    return rising if direction == 1 else _falling(edges, values, side)


def _direction(edges: np.ndarray) -> int:
    """Call the kernel with edges that are not a traced array."""
    steps = np.diff(edges)
    return 1 if (steps >= 0).all() else -1 if (steps <= 0).all() else 0


def _falling(edges: Tensor, values: Tensor, side: str) -> ndarray:
    return len(edges) - searchsorted(wrap_array(edges)[::-1], wrap_array(values), side)


def _check_order(edges: ndarray, refusal: str) -> None:
    """Raise for edges that decrease; for traced edges, when the graph runs."""
    wrong = edges[:-1] > edges[1:]
    if not memory.is_readable(edges.tensor):
        value_checks.expect((~wrong).tensor, value_checks.FALLING)
    elif wrong.any():
        raise ValueError(refusal)


def histogram_bin_edges(a: Any, bins: Any = 10, range: Any = None, weights: Any = None) -> ndarray:
    """The edges of the bins that ``histogram`` uses.

    Parameters
    ----------
    a : array_like
        Flattened.
    bins : int, str or array_like, optional
        The number of equal bins, the edges, or the rule by which their number is chosen: 'auto', 'fd', 'doane',
        'scott', 'stone', 'rice', 'sturges' or 'sqrt'.
    range : tuple of float, optional
        The first and last edge; those of the data by default.
    weights : array_like, optional
        Must have the shape of ``a``.

    Returns
    -------
    ndarray
        One longer than the number of bins.

    Raises
    ------
    TypeError
        ``bins`` is not an integer, string or array; or it is a string, and there are weights.
    ValueError
        The rule is unknown, the range is empty or not finite, or edges do not increase.

    Notes
    -----
    Source: https://numpy.org/doc/stable/reference/generated/numpy.histogram_bin_edges.html

    Examples
    --------
    >>> import tnp as np
    >>> np.histogram_bin_edges(np.asarray([0, 0, 0, 1, 2, 3, 3, 4, 5]), bins=2)
    array([0. , 2.5, 5. ])
    """
    array, weighing = _raveled(a, weights)
    return _edges(array, bins, range, weighing)[0]


def histogram(
    a: Any, bins: Any = 10, range: Any = None, density: Any = None, weights: Any = None
) -> tuple[ndarray, ndarray]:
    """How many values lie in each bin.

    Parameters
    ----------
    a : array_like
        Flattened.
    bins, range
        As in ``histogram_bin_edges``.
    density : bool, optional
        Divide so that the integral over the bins is one.
    weights : array_like, optional
        Of the shape of ``a``: sum the weights instead of counting.

    Returns
    -------
    hist : ndarray
        Of int64, or the dtype of the weights; float64 if ``density``.
    bin_edges : ndarray
        One longer.

    Raises
    ------
    TypeError
        ``bins`` is not an integer, string or array; or it is a string, and there are weights.
    ValueError
        The rule is unknown, the range is empty or not finite, edges do not increase, or there are not as many weights.

    Notes
    -----
    A bin holds its lower edge, the last one its upper edge too. Gradients flow to the weights.

    Source: https://numpy.org/doc/stable/reference/generated/numpy.histogram.html

    Examples
    --------
    >>> import tnp as np
    >>> np.histogram(np.asarray([1, 2, 1]), bins=[0, 1, 2, 3])
    (array([0, 2, 1]), array([0, 1, 2, 3]))
    """
    array, weighing = _raveled(a, weights)
    if found := _by_numpy(array, bins, range, density, weighing):
        return found
    edges, uniform = _edges(array, bins, range, weighing)
    common = edges.dtype if uniform else np.promote_types(array.dtype, edges.dtype)
    counts = _counts(array, edges, weighing, common, uniform)
    if density:
        widths = diff(edges).astype(float)
        return counts / widths / counts.sum(), edges
    return counts, edges


def _by_numpy(array: ndarray, bins: Any, range: Any, density: Any, weights: Any) -> tuple[ndarray, ndarray] | None:
    """Return what NumPy's function finds in the arrays' memory; None if torch has to compute."""
    has_edges = type(bins) is ndarray and bins.ndim == 1
    if not (has_edges or type(bins) in (int, str)) or not _are_numbers(range):
        return None
    given = host.arrays(*(each.tensor for each in (array, weights, bins) if isinstance(each, ndarray)))
    if given is None:
        return None
    edges = given.pop() if has_edges else bins
    with host.errors_to(errstate.reporter("divide")):
        counts, made = np.histogram(given[0], edges, range, density, None if weights is None else given[1])
    return wrap_array(host.wrapped(counts)), bins if has_edges else wrap_array(host.wrapped(made))


def _are_numbers(range: Any) -> bool:
    """Whether the ends of a range are Python's numbers, or there are none."""
    return range is None or (type(range) is tuple and {int, float}.issuperset(map(type, range)))


def _counts(array: ndarray, edges: ndarray, weights: Any, common: np.dtype, uniform: bool) -> ndarray:
    """Return counts in int64, or weights in their own dtype, summed in a wide one."""
    if weights is None:
        return wrap_array(kernels.histogram(array.tensor, edges.tensor, None, tensor_dtype(common)))
    whole = weights.dtype.kind in "iu" and not uniform
    wide = tensor_dtype(np.int64 if whole else np.result_type(weights.dtype, np.float64))
    total = kernels.histogram(array.tensor, edges.tensor, cast(weights.tensor, wide), tensor_dtype(common))
    return wrap_array(cast(total, weights.tensor.dtype))


def _raveled(a: Any, weights: Any) -> tuple[ndarray, Any]:
    """Return the values and their weights, flat."""
    array = wrap_array(tensor_of(a))
    if array.dtype.kind == "b":
        warn("Converting input from bool to <class 'numpy.uint8'> for compatibility.", RuntimeWarning)
        array = array.astype(np.uint8)
    if weights is None:
        return array.ravel(), None
    weighing = wrap_array(tensor_of(weights, device=array.tensor.device))
    if weighing.shape != array.shape:
        raise ValueError("weights should have the same shape as a.")
    return array.ravel(), weighing.ravel()


def _ends(array: ndarray, range: Any) -> tuple[Any, Any]:
    """Return the first and last edge: NumPy scalars of the array's dtype, or those of ``range``.

    They are arrays if a gradient flows to them, or if their values are known only when the graph runs.
    """
    lowest, highest = range if range is not None else (array.min(), array.max()) if array.size else (0, 1)
    if range is None and array.size and not _is_known(lowest):
        value_checks.expect((isfinite(lowest) & isfinite(highest)).tensor, value_checks.UNBOUNDED)
        is_point = lowest == highest
        return where(is_point, lowest - 0.5, lowest), where(is_point, highest + 0.5, highest)
    first, last = _number(lowest), _number(highest)
    if range is not None and first > last:
        raise ValueError("max must be larger than min in range parameter.")
    if not (np.isfinite(first) and np.isfinite(last)):
        raise ValueError(f"{'autodetected' if range is None else 'supplied'} range of [{first}, {last}] is not finite")
    if not any(
        isinstance(end, ndarray) and transform_levels.is_differentiated(end.tensor) for end in (lowest, highest)
    ):
        lowest, highest = first, last
    return (lowest - 0.5, highest + 0.5) if first == last else (lowest, highest)


def _is_known(end: Any) -> bool:
    return memory.is_readable(transform_levels.held(end.tensor))


def _number(end: Any) -> Any:
    """Return the value of an edge, which is known even while it is differentiated."""
    if not isinstance(end, ndarray):
        return end
    return values_of(wrap(transform_levels.held(end.tensor)))[()]


def _distance(last: Any, first: Any) -> Any:
    """Return the difference of two scalars; that of signed integers may need an unsigned dtype."""
    dtype = np.result_type(first, last)
    if dtype.kind != "i":
        return np.subtract(last, first, dtype=dtype)
    ends = np.asarray(last, dtype), np.asarray(first, dtype)
    return np.subtract(*ends, casting="unsafe", dtype=f"u{dtype.itemsize}")


def _edges(array: ndarray, bins: Any, range: Any, weights: Any) -> tuple[ndarray, bool]:
    """Return the edges, and whether they were computed."""
    if isinstance(bins, str):
        if bins not in _RULES:
            raise ValueError(f"{bins!r} is not a valid estimator for `bins`")
        if weights is not None:
            raise TypeError("Automated estimation of the number of bins is not supported for weighted data")
        first, last = _ends(array, range)
        count = _number_of_bins(array, bins, _number(first), _number(last), range is not None)
    elif np.ndim(bins) == 0:
        count = index_of(bins, "`bins` must be an integer, a string, or an array")
        if count < 1:
            raise ValueError("`bins` must be positive, when an integer")
        first, last = _ends(array, range)
    elif np.ndim(bins) == 1:
        edges = wrap_array(tensor_of(bins, device=array.tensor.device))
        _check_order(edges, value_checks.FALLING)
        return (bins if type(bins) is ndarray else edges), False
    else:
        raise ValueError("`bins` must be 1d, when an array")
    ends = [end.dtype if isinstance(end, ndarray) else end for end in (first, last)]
    dtype = np.result_type(*ends, array.dtype)
    if dtype.kind in "iu":
        dtype = np.result_type(dtype, float)
    edges = linspace(first, last, count + 1, dtype=dtype, device=array.device)
    rises = edges[:-1] < edges[1:]
    if not memory.is_readable(edges.tensor):
        value_checks.expect(rises.tensor, value_checks.TOO_MANY_BINS)
    elif not rises.all():
        raise ValueError(f"Too many bins for data range. Cannot create {count} finite-sized bins.")
    return edges, True


def _number_of_bins(array: ndarray, rule: str, first: Any, last: Any, is_cut: bool) -> int:
    """Return the number of equal bins by a rule."""
    if is_cut:
        array = array[(array >= first) & (array <= last)]
    if not array.size:
        return 1
    width = _RULES[rule](array, (first, last))
    if not width:
        return 1
    if array.dtype.kind in "iu" and width < 1:
        width = 1
    return int(np.ceil(_distance(last, first) / width))


def _extent(array: ndarray) -> Any:
    return _distance(values_of(array.max())[()], values_of(array.min())[()])


def _stone(array: ndarray, range: Any) -> Any:
    """Return the width with the least estimated error of cross validation."""
    size, extent = array.size, _extent(array)
    if size <= 1 or extent == 0:
        return 0

    def error(count: int) -> Any:
        share = values_of(histogram(array, count, range)[0]) / size
        return (2 - (size + 1) * share.dot(share)) / (extent / count)

    most = max(100, int(np.sqrt(size)))
    best = min(builtins.range(1, most + 1), key=error)
    if best == most:
        warn("The number of bins estimated may be suboptimal.", RuntimeWarning)
    return extent / best


def _doane(array: ndarray, range: Any) -> Any:
    """Sturges's rule corrected for skewed data."""
    size = array.size
    if size <= 2:
        return 0.0
    spread = std(array)
    if not spread > 0.0:
        return 0.0
    scale = np.sqrt(6.0 * (size - 2) / ((size + 1.0) * (size + 3)))
    skewness = values_of(mean(((array - mean(array)) / spread) ** 3))[()]
    return _extent(array) / (1.0 + np.log2(size) + np.log2(1.0 + np.absolute(skewness) / scale))


_RULES: dict[str, Callable[[ndarray, Any], Any]] = {
    "stone": _stone,
    "doane": _doane,
    "auto": lambda array, range: min(max(_width("fd", array), _width("sqrt", array) / 2), _width("sturges", array)),
    "fd": lambda array, range: 2.0 * np.subtract(*values_of(percentile(array, [75, 25]))) * array.size ** (-1.0 / 3.0),
    "rice": lambda array, range: _extent(array) / (2.0 * array.size ** (1.0 / 3)),
    "scott": lambda array, range: (24.0 * np.pi**0.5 / array.size) ** (1.0 / 3.0) * values_of(std(array))[()],
    "sqrt": lambda array, range: _extent(array) / np.sqrt(array.size),
    "sturges": lambda array, range: _extent(array) / (np.log2(array.size) + 1.0),
}
"""Name of a rule -> the width of bins for values, which lie in a range. "fd" is Freedman and Diaconis's rule."""


def _width(rule: str, array: ndarray) -> Any:
    return _RULES[rule](array, None)


def histogramdd(
    sample: Any, bins: Any = 10, range: Any = None, density: Any = None, weights: Any = None
) -> tuple[ndarray, list[ndarray]]:
    """How many points lie in each bin of several dimensions.

    Parameters
    ----------
    sample : (N, D) array, or sequence of D array_like
        The points as rows, or their coordinates.
    bins : int or sequence, optional
        The number of bins, or for each dimension their number or edges.
    range : sequence of tuple, optional
        The first and last edge of each dimension; None for those of the data.
    density : bool, optional
        Divide so that the integral over the bins is one.
    weights : (N,) array_like, optional
        Sum the weights instead of counting.

    Returns
    -------
    H : ndarray
        Of float64 and D dimensions.
    edges : list of ndarray
        For each dimension.

    Raises
    ------
    TypeError
        A number of bins is not an integer.
    ValueError
        Bins or ranges are not as many as the dimensions, or are not increasing.

    Notes
    -----
    Source: https://numpy.org/doc/stable/reference/generated/numpy.histogramdd.html

    Examples
    --------
    >>> import tnp as np
    >>> H, edges = np.histogramdd(np.asarray([[0, 0, 0], [1, 1, 1], [1, 1, 1]]), bins=2)
    >>> H.shape, float(H[1, 1, 1])
    ((2, 2, 2), 2.0)
    """
    if isinstance(sample, (ndarray, np.ndarray)) and sample.ndim == 2:
        points = wrap_array(tensor_of(sample))
    else:
        if not hasattr(sample, "shape"):
            iter(sample)  # TypeError for a number, as in NumPy
        points = atleast_2d(sample).T
    count, ndim = points.shape
    if not ndim and not hasattr(bins, "__iter__"):
        raise ValueError("object of too small depth for desired array")
    try:
        per_axis = list(bins)
    except TypeError:
        per_axis = [bins] * ndim
    if len(per_axis) != ndim:
        raise ValueError("The dimension of bins must be equal to the dimension of the sample x.")
    ranges = [None] * ndim if range is None else list(range)
    if len(ranges) != ndim:
        raise ValueError("range argument must have one entry per dimension")
    edges, indices = [], []
    for axis, (bins_of, range_of) in enumerate(zip(per_axis, ranges, strict=True)):
        line = _axis_edges(points[:, axis], axis, bins_of, range_of)
        common = tensor_dtype(np.promote_types(line.dtype, points.dtype))
        indices.append(wrap_array(kernels.bins(cast(points[:, axis].tensor, common), cast(line.tensor, common))))
        edges.append(line)
    shape = tuple([len(line) + 1 for line in edges])  # with a bin for outliers at both ends
    amounts = None
    if weights is not None:
        amounts = cast(tensor_of(weights, device=points.tensor.device), FLOAT64)
        if not count:
            amounts = None  # NumPy's bincount of nothing ignores weights
        elif tuple(amounts.shape) != (count,):
            raise ValueError("The weights and list don't have the same length.")
    flat = ravel_multi_index(tuple(indices), shape)
    if math.prod(shape) > np.iinfo(np.intp).max // 8:
        raise ValueError("array is too big; `arr.size * arr.dtype.itemsize` is larger than the maximum possible size.")
    counts = kernels.counted(flat.tensor, amounts, math.prod(shape))
    hist = wrap_array(cast(counts.reshape(shape), FLOAT64))[(slice(1, -1),) * ndim]
    if density:
        total = hist.sum()
        for axis, line in enumerate(edges):
            hist = hist / diff(line).reshape([-1 if i == axis else 1 for i in builtins.range(ndim)])
        hist = hist / total
    return hist, edges


def _axis_edges(values: ndarray, axis: int, bins: Any, range: Any) -> ndarray:
    """Return the edges along one dimension."""
    look(bins)
    if np.ndim(bins) == 0:
        if bins < 1:
            raise ValueError(f"`bins[{axis}]` must be positive, when an integer")
        first, last = _ends(values, range)
        count = index_of(bins, f"`bins[{axis}]` must be an integer, when a scalar")
        return linspace(first, last, count + 1, device=values.device)
    if np.ndim(bins) == 1:
        edges = wrap_array(tensor_of(bins, device=values.tensor.device))
        _check_order(edges, f"`bins[{axis}]` must be monotonically increasing, when an array")
        return edges
    raise ValueError(f"`bins[{axis}]` must be a scalar or 1d array")


def histogram2d(
    x: Any, y: Any, bins: Any = 10, range: Any = None, density: Any = None, weights: Any = None
) -> tuple[ndarray, ndarray, ndarray]:
    """How many points of a plane lie in each bin.

    Parameters
    ----------
    x, y : (N,) array_like
        The coordinates.
    bins : int, array_like or pair of them, optional
        The number of bins or their edges, for both axes or for each.
    range : pair of tuple, optional
        The first and last edge of each axis.
    density : bool, optional
        Divide so that the integral over the bins is one.
    weights : (N,) array_like, optional
        Sum the weights instead of counting.

    Returns
    -------
    H : ndarray
        Of float64; the first axis is that of ``x``.
    xedges, yedges : ndarray

    Raises
    ------
    ValueError
        ``x`` and ``y`` differ in length; or as for ``histogramdd``.

    Notes
    -----
    Source: https://numpy.org/doc/stable/reference/generated/numpy.histogram2d.html

    Examples
    --------
    >>> import tnp as np
    >>> np.histogram2d(np.asarray([0.0, 1.0, 1.0]), np.asarray([0.0, 0.0, 1.0]), bins=2)[0]
    array([[1., 0.],
           [1., 1.]])
    """
    if len(x) != len(y):
        raise ValueError("x and y must have the same length.")
    try:
        count = len(bins)
    except TypeError:
        count = 1
    if count not in (1, 2):
        bins = [asarray(bins)] * 2
    hist, edges = histogramdd([x, y], bins, range, density, weights)
    return hist, edges[0], edges[1]
