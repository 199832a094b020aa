"""Slices of a fixed size at a place that may be an array, also in compiled functions; the names are JAX's.

Layer: owns the start of such a slice. Indexing reads and writes.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

from tnp._core.base import ndarray
from tnp._core.convert import array, asarray
from tnp._creation.ranges import arange
from tnp._indexing.selection import where
from tnp._math.mathematics import clip
from tnp._transforms import pytree


def dynamic_slice(operand: Any, start_indices: Sequence[Any], slice_sizes: Sequence[int]) -> ndarray:
    """Return a part of an array with a fixed shape; its start may be known only when the program runs.

    Parameters
    ----------
    operand : array_like
        Shape (n, m, ...).
    start_indices : sequence of int or of integer scalar arrays
        Where the part begins, for each axis. Negative ones count from the end. One that is too large or too small for
        the part to fit is clamped, as JAX does: the part then begins at the nearest place where it fits.
    slice_sizes : sequence of int
        Shape of the part.

    Returns
    -------
    ndarray
        New memory, of the operand's dtype.

    Raises
    ------
    TypeError
        A start is not an integer, there are too many or too few starts, or a size is larger than its axis.

    Notes
    -----
    ``x[i:i + 3]`` can't be traced: its length would depend on ``i``.

    Source: https://docs.jax.dev/en/latest/_autosummary/jax.lax.dynamic_slice.html

    Examples
    --------
    >>> import tnp as np
    >>> np.compile(lambda x, i: np.dynamic_slice(x, (i,), (2,)))(np.arange(5), np.asarray(1))
    array([1, 2])
    >>> np.dynamic_slice(np.arange(5), (9,), (2,))
    array([3, 4])
    """
    x = asarray(operand)
    sizes = tuple([operator.index(size) for size in slice_sizes])
    return x[_places("dynamic_slice", x.shape, start_indices, sizes)].copy()


def dynamic_update_slice(operand: Any, update: Any, start_indices: Sequence[Any]) -> ndarray:
    """Return a copy of an array with one part replaced; the part's start may be known only when the program runs.

    Parameters
    ----------
    operand : array_like
        Shape (n, m, ...).
    update : array_like
        The new part: as many axes as the operand, none longer. It is cast to the operand's dtype.
    start_indices : sequence of int or of integer scalar arrays
        Where the part begins, as in `dynamic_slice`: clamped so that it fits.

    Returns
    -------
    ndarray
        New memory; the operand stays as it is.

    Raises
    ------
    TypeError
        A start is not an integer, there are too many or too few starts, or the update is larger than the operand.

    Notes
    -----
    Source: https://docs.jax.dev/en/latest/_autosummary/jax.lax.dynamic_update_slice.html

    Examples
    --------
    >>> import tnp as np
    >>> np.dynamic_update_slice(np.zeros(4), np.ones(2), (1,))
    array([0., 1., 1., 0.])
    """
    x, part = array(operand), asarray(update)
    x[_places("dynamic_update_slice", x.shape, start_indices, part.shape)] = part
    return x


def _places(name: str, shape: tuple[int, ...], starts: Sequence[Any], sizes: tuple[int, ...]) -> Any:
    """Return the index of a part of an array of this shape."""
    starts = tuple(starts) if isinstance(starts, (tuple, list)) else tuple(asarray(starts))
    if not len(starts) == len(sizes) == len(shape):
        raise TypeError(f"{name}: {len(starts)} starts and {len(sizes)} sizes for an array of {len(shape)} axes")
    if any(size > length or size < 0 for size, length in zip(sizes, shape, strict=True)):
        raise TypeError(f"{name}: a part of shape {sizes} does not fit into an array of shape {shape}")
    if not any(map(pytree.is_array, starts)):
        plain = [operator.index(start) for start in starts]
        inside = [
            max(0, min(start + length * (start < 0), length - size))
            for start, size, length in zip(plain, sizes, shape, strict=True)
        ]
        return tuple([slice(start, start + size) for start, size in zip(inside, sizes, strict=True)])
    return tuple(
        [
            _along(name, start, size, length).reshape((size, *[1] * (len(shape) - axis - 1)))
            for axis, (start, size, length) in enumerate(zip(starts, sizes, shape, strict=True))
        ]
    )


def _along(name: str, start: Any, size: int, length: int) -> ndarray:
    """Return the indices of the part along an axis."""
    first = asarray(start)
    if first.ndim or first.dtype.kind not in "iu":
        raise TypeError(f"{name}: a start is an integer, not {first.dtype} of shape {first.shape}")
    return clip(where(first < 0, first + length, first), 0, length - size) + arange(size)
