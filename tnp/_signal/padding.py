"""Padding: arrays made larger at both ends of each axis.

Layer: owns the modes and their arguments. Axes are padded one after the other, so the last axis
decides the corners.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np

from backend_torch.kernels import padding
from backend_torch.tensors import memory
from tnp._core.base import SCALARS, ndarray, wrap_array
from tnp._core.convert import asnumpy, tensor_of
from tnp._creation.filled import empty, full
from tnp._creation.ranges import linspace
from tnp._manipulation.broadcasting import broadcast_to
from tnp._manipulation.joining import concatenate
from tnp._manipulation.rearranging import flip, moveaxis
from tnp._math import mathematics, reductions
from tnp._statistics.averages import mean, median

Width = tuple[int, int]

# Which keyword arguments each mode takes.
_OPTIONS: dict[str, tuple[str, ...]] = {
    "empty": (),
    "edge": (),
    "wrap": (),
    "constant": ("constant_values",),
    "linear_ramp": ("end_values",),
    "maximum": ("stat_length",),
    "mean": ("stat_length",),
    "median": ("stat_length",),
    "minimum": ("stat_length",),
    "reflect": ("reflect_type",),
    "symmetric": ("reflect_type",),
}


def pad(array: Any, pad_width: Any, mode: Any = "constant", **kwargs: Any) -> ndarray:
    """Add elements to an array before and after each axis.

    Parameters
    ----------
    array : array_like
    pad_width : int, pair of int, sequence of pairs, or dict of axis to int or pair
        The number of elements before and after.
    mode : str or callable, optional
        'constant', 'edge', 'linear_ramp', 'maximum', 'mean', 'median', 'minimum', 'reflect', 'symmetric', 'wrap',
        'empty', or a function ``f(vector, iaxis_pad_width, iaxis, kwargs)`` that writes to a padded vector.
    **kwargs
        ``constant_values`` and ``end_values`` (number, pair or pairs), ``stat_length`` (how many elements at each end
        the statistic is of; all by default), ``reflect_type`` ('even', or 'odd': mirrored in the edge value too).

    Returns
    -------
    ndarray

    Raises
    ------
    TypeError
        ``pad_width`` does not hold integers.
    ValueError
        The mode does not exist or does not take an argument, a width is negative, or there is nothing to repeat.

    Notes
    -----
    Source: https://numpy.org/doc/stable/reference/generated/numpy.pad.html

    Examples
    --------
    >>> import tnp as np
    >>> np.pad(np.asarray([1, 2, 3]), (2, 1), "reflect")
    array([3, 2, 1, 2, 3, 2])
    """
    given = wrap_array(tensor_of(array))
    padded = _padded(given, _widths(pad_width, given.ndim), mode, kwargs)
    return wrap_array(memory.in_order(padded.tensor, "F")) if memory.is_fortran(given.tensor) else padded


def _padded(padded: ndarray, widths: list[Width], mode: Any, kwargs: dict[str, Any]) -> ndarray:
    if callable(mode):
        return _by_function(padded, widths, mode, kwargs)
    try:
        unsupported = set(kwargs) - set(_OPTIONS[mode])
    except KeyError:
        raise ValueError(f"mode '{mode}' is not supported") from None
    if unsupported:
        raise ValueError(f"unsupported keyword arguments for mode '{mode}': {unsupported}")
    if mode == "constant":
        return _with_values(padded, widths, kwargs.get("constant_values", 0), _constant)
    if mode == "empty":
        return _with_values(padded, widths, 0, _constant)
    if not padded.size:
        return _of_nothing(padded, widths)
    if mode == "linear_ramp":
        return _with_values(padded, widths, kwargs.get("end_values", 0), _ramp)
    if mode in ("maximum", "mean", "median", "minimum"):
        return _with_statistic(padded, widths, mode, kwargs.get("stat_length"))
    reflect_type = kwargs.get("reflect_type", "even")
    for axis, width in enumerate(widths):
        if mode in ("reflect", "symmetric") and reflect_type == "odd":
            padded = _reflected(padded, axis, width, mode == "symmetric")
        elif any(width):
            size = padded.shape[axis]
            outside = list(range(-width[0], 0)), list(range(size, size + width[1]))  # or an immediate MemoryError
            before, after = [[_place(i, size, mode) for i in indices] for indices in outside]
            padded = wrap_array(padding.extended(padded.tensor, before, after, axis))
    return padded if any(map(any, widths)) else padded.copy()


def _widths(pad_width: Any, ndim: int) -> list[Width]:
    """Return the numbers of elements before and after each axis."""
    if isinstance(pad_width, dict):
        widths: list[Width] = [(0, 0)] * ndim
        for axis, width in pad_width.items():
            pair = width if isinstance(width, tuple) else (width, width)
            widths[range(ndim)[axis]] = (pair[0], pair[1])
        pad_width = widths
    given = np.asarray(asnumpy(pad_width) if isinstance(pad_width, ndarray) else pad_width)
    if given.dtype.kind != "i":
        raise TypeError("`pad_width` must be of integral type.")
    return [(int(before), int(after)) for before, after in _pairs(given, ndim, is_index=True)]


def _pairs(given: Any, ndim: int, is_index: bool = False) -> list[tuple[Any, Any]]:
    """Return a number, a pair, or pairs as one pair for each axis."""
    if given is None:
        return [(None, None)] * ndim
    values = np.asarray(given)
    if is_index:
        values = np.round(values).astype(np.intp, copy=False)
        if values.size and values.min() < 0:
            raise ValueError("index can't contain negative values")
    pairs = np.broadcast_to(values, (ndim, 2))
    return [(before, after) for before, after in pairs.tolist()]


def _joined(before: ndarray | None, array: ndarray, after: ndarray | None, axis: int) -> ndarray:
    parts = [part.astype(array.dtype, copy=False) for part in (before, array, after) if part is not None]
    return concatenate(parts, axis=axis)


def _edge(array: ndarray, axis: int, index: int, count: int = 1) -> ndarray:
    """Return slices of length ``count`` from a place along an axis."""
    return array[(slice(None),) * axis + (slice(index, index + count),)]


def _with_values(array: ndarray, widths: list[Width], given: Any, made: Callable[..., Any]) -> ndarray:
    """Pad by the results of ``made`` for the values that are given for both ends of each axis."""
    pairs = _number_pairs(given, array.ndim)
    for axis, (width, values) in enumerate(zip(widths, pairs, strict=True)):
        before = made(array, axis, width[0], values[0], False)
        after = made(array, axis, width[1], values[1], True)
        array = _joined(before, array, after, axis)
    return array if array.ndim else array.copy()


def _number_pairs(given: Any, ndim: int) -> list[tuple[Any, Any]]:
    """As ``_pairs``, but tnp arrays are allowed, and keep their gradients."""
    values = wrap_array(tensor_of(given))
    if not values.ndim:
        return [(given, given)] * ndim
    pairs = broadcast_to(values, (ndim, 2))
    return [(pairs[i, 0], pairs[i, 1]) for i in range(ndim)]


def _constant(array: ndarray, axis: int, width: int, value: Any, is_after: bool) -> ndarray | None:
    if not width:
        return None
    shape = (*array.shape[:axis], width, *array.shape[axis + 1 :])
    if isinstance(value, (int, float, complex)) and type(value) not in SCALARS:
        value = np.asarray(value).astype(array.dtype)
    return full(shape, value, array.dtype, device=array.device)


def _ramp(array: ndarray, axis: int, width: int, end: Any, is_after: bool) -> ndarray | None:
    """Return a straight line from an end value to the edge."""
    if not width:
        return None
    edge = _edge(array, axis, array.shape[axis] - 1 if is_after else 0)
    edge = edge[(slice(None),) * axis + (0,)]
    ramp = linspace(end, edge, width, endpoint=False, dtype=array.dtype, axis=axis)
    return flip(ramp, axis) if is_after else ramp


def _with_statistic(array: ndarray, widths: list[Width], mode: str, stat_length: Any) -> ndarray:
    """Pad by the maximum, mean, median or minimum of the elements next to each end."""
    lengths = _pairs(stat_length, array.ndim, is_index=True) if stat_length is not None else _pairs(None, array.ndim)
    function: Any = {"maximum": reductions.max, "mean": mean, "median": median, "minimum": reductions.min}[mode]
    for axis, (width, length) in enumerate(zip(widths, lengths, strict=True)):
        size = array.shape[axis]
        ends: list[Any] = [None, None]
        for i in (0, 1):
            count = size if length[i] is None or length[i] > size else length[i]
            if not count and mode in ("maximum", "minimum"):
                raise ValueError("stat_length of 0 yields no value for padding")
            part = _edge(array, axis, 0 if i == 0 else size - count, count)
            value = function(part, axis=axis, keepdims=True)
            if array.dtype.kind in "iu":
                value = mathematics.round(value)
            if width[i]:
                shape = (*array.shape[:axis], width[i], *array.shape[axis + 1 :])
                ends[i] = broadcast_to(value, shape)
        array = _joined(ends[0], array, ends[1], axis)
    return array if array.ndim else array.copy()


def _of_nothing(array: ndarray, widths: list[Width]) -> ndarray:
    """An array without elements: only axes that have some may grow."""
    for axis, width in enumerate(widths):
        if not array.shape[axis] and any(width):
            raise ValueError(f"can't extend empty axis {axis} using modes other than 'constant' or 'empty'")
    shape = [n + sum(width) for n, width in zip(array.shape, widths, strict=True)]
    return empty(shape, array.dtype, device=array.device)


def _place(index: int, size: int, mode: str) -> int:
    """Which element an index beyond an axis stands for."""
    if mode == "edge" or size == 1:
        return min(max(index, 0), size - 1)
    if mode == "wrap":
        return index % size
    period = 2 * size if mode == "symmetric" else 2 * size - 2
    within = index % period
    return within if within < size else period - within - (mode == "symmetric")


def _reflected(array: ndarray, axis: int, width: Width, with_edge: bool) -> ndarray:
    """Mirrored at both ends, in place and value, as often as it takes."""
    before, after = width
    if array.shape[axis] == 1 and not with_edge:
        return wrap_array(padding.rearranged(array.tensor, [0] * (before + 1 + after), axis))
    while before or after:
        size, skipped = array.shape[axis], 0 if with_edge else 1
        count = min(before, size - skipped)
        if count:
            part = flip(_edge(array, axis, skipped, count), axis)
            array = _joined(2 * _edge(array, axis, 0) - part, array, None, axis)
            before -= count
        if after:
            size_now = array.shape[axis]
            count = min(after, size - skipped)
            part = flip(_edge(array, axis, size_now - skipped - count, count), axis)
            array = _joined(None, array, 2 * _edge(array, axis, size_now - 1) - part, axis)
            after -= count
    return array


def _by_function(array: ndarray, widths: list[Width], function: Any, kwargs: dict[str, Any]) -> ndarray:
    """Padded with zeros, over which a function writes vector by vector."""
    padded = _with_values(array, widths, 0, _constant)
    for axis in range(padded.ndim):
        view = moveaxis(padded, axis, -1)
        for index in itertools.product(*map(range, view.shape[:-1])):
            function(view[index], widths[axis], axis, kwargs)
    return padded
