"""Differences, gradients, integrals and interpolation of sampled functions.

Layer: owns NumPy's formulas, in terms of functions of other chapters.
"""

from __future__ import annotations

import math
from typing import Any, overload

import numpy as np
from numpy.exceptions import ComplexWarning

from backend_torch.kernels import signal
from backend_torch.tensors import memory
from backend_torch.tensors.casting import cast
from backend_torch.tensors.dtypes import to_numpy
from backend_torch.tensors.shape import laid_out_as
from tnp._core.base import SCALARS, ndarray, scalar, wrap, wrap_array
from tnp._core.convert import asarray, tensor_of, tensors_of
from tnp._core.dtypes import tensor_dtype
from tnp._core.errors import normalize_axes, normalize_axis, refuse_cast, unassignable, warn
from tnp._core.numpy_version import NUMPY
from tnp._creation.from_data import ascontiguousarray
from tnp._indexing.selection import where
from tnp._manipulation.joining import concatenate, stack
from tnp._manipulation.rearranging import moveaxis
from tnp._math.scans import diff
from tnp._sorting.sorting import argsort
from tnp._ufunc.table import mod

FLOAT64 = tensor_dtype(np.float64)
_ENDS_ARE_READ = NUMPY < "2.5.0"  # since then interp without places ignores left and right


@overload
def gradient(f: Any, *varargs: Any, axis: int, edge_order: int = 1) -> ndarray: ...
@overload
def gradient(f: Any, *varargs: Any, axis: Any = None, edge_order: int = 1) -> ndarray | tuple[ndarray, ...]: ...
def gradient(f: Any, *varargs: Any, axis: Any = None, edge_order: int = 1) -> ndarray | tuple[ndarray, ...]:
    """Derivatives by central differences inside and one-sided ones at the ends.

    Parameters
    ----------
    f : array_like
        The samples.
    *varargs : scalar or one-dimensional array_like, optional
        The spacing: one number for all axes, or for each axis a number or the coordinates.
    axis : int or tuple of int, optional
        Along which to differentiate; all by default.
    edge_order : {1, 2}, optional
        The order of accuracy at the ends.

    Returns
    -------
    ndarray, or tuple of ndarray if there are several axes
        Of the dtype of ``f``, float64 for integers.

    Raises
    ------
    AxisError
        The array has no such axis.
    TypeError
        There are not as many spacings as axes.
    ValueError
        Coordinates do not fit, or the array is too small.

    Notes
    -----
    Source: https://numpy.org/doc/stable/reference/generated/numpy.gradient.html

    Examples
    --------
    >>> import tnp as np
    >>> np.gradient(np.asarray([1.0, 2.0, 4.0, 7.0, 11.0, 16.0]))
    array([1. , 1.5, 2.5, 3.5, 4.5, 5. ])
    """
    array = wrap_array(tensor_of(f))
    axes = normalize_axes(axis, array.ndim)
    if not varargs:
        spacings: list[Any] = [1.0] * len(axes)
    elif len(varargs) == 1 and np.ndim(varargs[0]) == 0:
        spacings = [varargs[0]] * len(axes)
    elif len(varargs) == len(axes):
        spacings = [_spacing(each, array.shape[dim]) for each, dim in zip(varargs, axes, strict=True)]
    else:
        raise TypeError("invalid number of arguments")
    if edge_order > 2:
        raise ValueError("'edge_order' greater than 2 not supported")
    dtype = array.dtype if array.dtype.kind in "fc" else np.dtype(np.float64)
    if array.dtype.kind in "iu":
        array = array.astype(np.float64)
    if array.dtype == bool and axes and array.shape[axes[0]] > edge_order:
        array - array  # NumPy goes axis by axis, and fails at the first, because booleans have no difference
    slopes = []
    for dim, step in zip(axes, spacings, strict=True):
        if array.shape[dim] < edge_order + 1:
            raise ValueError(
                "Shape of array too small to calculate a numerical gradient, at least (edge_order + 1) elements are "
                "required."
            )
        slopes.append(moveaxis(_derivative(moveaxis(array, dim, -1), step, edge_order, dtype), -1, dim))
    laid = [wrap_array(memory.owned(laid_out_as(slope.tensor, array.tensor))) for slope in slopes]
    return laid[0] if len(axes) == 1 else tuple(laid)


def _spacing(given: Any, size: int) -> Any:
    """Return the distances between coordinates, or one number if they are equal."""
    if isinstance(given, (int, float, complex)) and type(given) not in SCALARS:
        return given
    distances = wrap_array(tensor_of(given))
    if not distances.ndim:
        return given
    if distances.ndim != 1:
        raise ValueError("distances must be either scalars or 1d")
    if len(distances) != size:
        raise ValueError("when 1d, distances must match the length of the corresponding dimension")
    if distances.dtype.kind in "iu":
        distances = distances.astype(np.float64)
    steps = diff(distances)
    return steps[0] if bool((steps == steps[0]).all()) else steps


def _derivative(f: ndarray, step: Any, edge_order: int, dtype: np.dtype) -> ndarray:
    """Return the derivative along the last axis."""
    if np.ndim(step):
        before, after = step[:-1], step[1:]
        inner = (
            -after / (before * (before + after)) * f[..., :-2]
            + (after - before) / (before * after) * f[..., 1:-1]
            + before / (after * (before + after)) * f[..., 2:]
        )
        first, second, other, last = step[0], step[1] if len(step) > 1 else None, step[-2:][0], step[-1]
    else:
        inner = (f[..., 2:] - f[..., :-2]) / (2.0 * step)
        first = second = other = last = step
    if edge_order == 1:
        head, tail = (f[..., 1] - f[..., 0]) / first, (f[..., -1] - f[..., -2]) / last
    elif np.ndim(step):
        head = (
            -(2.0 * first + second) / (first * (first + second)) * f[..., 0]
            + (first + second) / (first * second) * f[..., 1]
            - first / (second * (first + second)) * f[..., 2]
        )
        tail = (
            last / (other * (other + last)) * f[..., -3]
            - (last + other) / (other * last) * f[..., -2]
            + (2.0 * last + other) / (last * (other + last)) * f[..., -1]
        )
    else:
        head = -1.5 / step * f[..., 0] + 2.0 / step * f[..., 1] + -0.5 / step * f[..., 2]
        tail = 0.5 / step * f[..., -3] + -2.0 / step * f[..., -2] + 1.5 / step * f[..., -1]
    parts = [asarray(head)[..., None], inner, asarray(tail)[..., None]]
    return concatenate([part.astype(dtype) for part in parts], axis=-1)


def ediff1d(ary: Any, to_end: Any = None, to_begin: Any = None) -> ndarray:
    """Differences of consecutive elements of the flattened array.

    Parameters
    ----------
    ary : array_like
    to_end, to_begin : array_like, optional
        Put after and before them.

    Returns
    -------
    ndarray
        Of the dtype of ``ary``.

    Raises
    ------
    TypeError
        A value for an end is of another kind than the array.

    Notes
    -----
    Source: https://numpy.org/doc/stable/reference/generated/numpy.ediff1d.html

    Examples
    --------
    >>> import tnp as np
    >>> np.ediff1d(np.asarray([1, 2, 4, 7, 0]))
    array([ 1,  2,  3, -7])
    """
    line = wrap_array(tensor_of(ary)).ravel()
    parts = []
    for name, end in (("to_begin", to_begin), ("to_end", to_end)):
        if end is None:
            continue
        values = wrap_array(tensor_of(end, device=line.tensor.device)).ravel()
        if not np.can_cast(values.dtype, line.dtype, casting="same_kind"):
            raise TypeError(f"dtype of `{name}` must be compatible with input `ary` under the `same_kind` rule.")
        parts.append(values.astype(line.dtype))
    differences = line[1:] - line[:-1]
    if to_begin is not None:
        return concatenate([parts[0], differences, *parts[1:]])
    return concatenate([differences, *parts]) if parts else differences


def trapezoid(y: Any, x: Any = None, dx: float = 1.0, axis: Any = -1) -> ndarray:
    """Integral along an axis by the trapezoidal rule.

    Parameters
    ----------
    y : array_like
        The samples.
    x : array_like, optional
        Where they were taken.
    dx : scalar, optional
        The distance between them if ``x`` is not given.
    axis : int, optional

    Returns
    -------
    ndarray
        A scalar if no axis is left.

    Raises
    ------
    IndexError
        The array has no such axis.

    Notes
    -----
    Source: https://numpy.org/doc/stable/reference/generated/numpy.trapezoid.html

    Examples
    --------
    >>> import tnp as np
    >>> np.trapezoid(np.asarray([1, 2, 3]), x=np.asarray([4, 6, 8]))
    np.float64(8.0)
    """
    values = wrap_array(tensor_of(y))
    steps: Any = dx
    if x is not None:
        places = wrap_array(tensor_of(x, device=values.tensor.device))
        steps = diff(places, axis=-1 if places.ndim == 1 else axis)
        if places.ndim == 1:
            shape: list[Any] = [1] * values.ndim
            shape[axis] = steps.shape[0]
            steps = steps.reshape(shape)
    ends, starts = [slice(None)] * values.ndim, [slice(None)] * values.ndim
    ends[axis], starts[axis] = slice(1, None), slice(None, -1)  # Python's lists refuse what is no axis, as in NumPy
    return (steps * (values[tuple(ends)] + values[tuple(starts)]) / 2.0).sum(axis)


def interp(x: Any, xp: Any, fp: Any, left: Any = None, right: Any = None, period: Any = None) -> ndarray:
    """Values of a function that is linear between given points.

    Parameters
    ----------
    x : array_like
        Where to evaluate it.
    xp : array_like, one-dimensional
        The points, in ascending order unless there is a period.
    fp : array_like, one-dimensional
        The values there, real or complex.
    left, right : scalar, optional
        Values before the first and after the last point; the values there by default.
    period : float, optional
        Of the points; ``left`` and ``right`` are then ignored.

    Returns
    -------
    ndarray
        float64 or complex128, of the shape of ``x``.

    Raises
    ------
    TypeError
        ``x`` or ``xp`` is complex.
    ValueError
        There are no points, or not as many values, or the period is zero.

    Notes
    -----
    Source: https://numpy.org/doc/stable/reference/generated/numpy.interp.html

    Examples
    --------
    >>> import tnp as np
    >>> np.interp(2.5, np.asarray([1, 2, 3]), np.asarray([3, 2, 0]))
    np.float64(1.0)
    """
    wanted, places, values = tensors_of(x, xp, fp)
    if period is not None and period == 0:
        raise ValueError("period must be a non-zero value")
    if places.dim() != 1 or values.dim() != 1:
        raise ValueError("Data points must be 1-D sequences")
    for given, tensor in ((x, wanted), (xp, places)):
        if tensor.is_complex() and period is None:
            if isinstance(given, (scalar, np.complexfloating)):
                warn("Casting complex values to real discards the imaginary part", ComplexWarning)
            else:
                refuse_cast(to_numpy[tensor.dtype], np.dtype(float), "safe", tensor.dim())
    if not places.shape[0]:
        raise ValueError("array of sample points is empty")
    if places.shape[0] != values.shape[0]:
        raise ValueError("fp and xp are not of the same length.")
    wanted, places = cast(wanted, FLOAT64), cast(places, FLOAT64)
    if period is not None:
        wanted, places, values = _unrolled(wanted, places, values, abs(period))
        left = right = None
    if not (_ENDS_ARE_READ or wanted.numel()):
        left = right = None
    for name, given in (("left", left), ("right", right)):
        if given is not None and np.ndim(given):
            raise TypeError(f"only 0-dimensional arrays can be converted to Python scalars: {name} is none")
    ends = [
        values[end] if given is None else tensor_of(given, device=wanted.device)
        for given, end in ((left, 0), (right, -1))
    ]
    if not values.is_complex():
        values, *ends = [cast(t, FLOAT64) for t in (values, *ends)]
        return wrap(signal.interpolate(wanted, places, values, *ends))
    parts = [
        wrap(signal.interpolate(wanted, places, *[cast(part(t), FLOAT64) for t in (values, *ends)]))
        for part in (lambda t: t.real, lambda t: t.imag if t.is_complex() else t * 0)
    ]
    return _complex(*parts)


def _complex(real: Any, imag: Any) -> Any:
    """Combine two parts to a complex array, even if they are infinite."""
    joined = ascontiguousarray(stack([real, imag], axis=-1)).view(np.complex128)[..., 0]
    return wrap(joined.tensor)


def _unrolled(x: Any, places: Any, values: Any, period: Any) -> tuple[Any, Any, Any]:
    """Return the points of one period in ascending order, with one more at each end."""
    wanted, points, heights = wrap_array(x) % period, wrap_array(places) % period, wrap_array(values)
    order = argsort(points)
    points, heights = points[order], heights[order]
    points = concatenate([points[-1:] - period, points, points[:1] + period])
    heights = concatenate([heights[-1:], heights, heights[:1]])
    return wanted.tensor, points.tensor, heights.tensor


def unwrap(p: Any, discont: Any = None, axis: Any = -1, *, period: Any = 2 * math.pi) -> ndarray:
    """Remove jumps of more than half a period from a sequence, by multiples of the period.

    Parameters
    ----------
    p : array_like
    discont : float, optional
        Jumps below this stay; half a period by default and at least.
    axis : int, optional
    period : float, optional

    Returns
    -------
    ndarray
        An integer array if array and period are integers.

    Raises
    ------
    AxisError
        The array has no such axis.

    Notes
    -----
    Source: https://numpy.org/doc/stable/reference/generated/numpy.unwrap.html

    Examples
    --------
    >>> import tnp as np
    >>> np.unwrap(np.asarray([0, 1, 2, -1, 0]), period=4)
    array([0, 1, 2, 3, 4])
    """
    array = wrap_array(tensor_of(p))
    steps = diff(array, axis=axis)
    if discont is None:
        discont = period / 2
    dtype = np.result_type(steps.dtype, period.dtype if isinstance(period, ndarray) else period)
    if dtype.kind in "iu":
        high, rest = divmod(period, 2)
        is_ambiguous = rest == 0
    else:
        high, is_ambiguous = period / 2, True
    low = -high
    wrapped = mod(steps - low, period) + low
    if is_ambiguous:
        wrapped = where((wrapped == low) & (steps > 0), high, wrapped)
    correction = where(abs(steps) < discont, 0, wrapped - steps)
    if correction.shape != steps.shape:
        raise unassignable(correction.shape, steps.shape)
    head = (slice(None),) * normalize_axis(axis, array.ndim)
    rest_of = array[(*head, slice(1, None))] + correction.cumsum(axis)
    unwrapped = concatenate([array[(*head, slice(0, 1))].astype(dtype), rest_of.astype(dtype)], axis=axis)
    return wrap_array(laid_out_as(unwrapped.tensor, array.tensor))
