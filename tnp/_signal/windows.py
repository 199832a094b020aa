"""Windows: tapers for signals.

Layer: owns their formulas.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tnp._core.base import ndarray
from tnp._core.convert import asarray
from tnp._core.dtypes import tensor_dtype
from tnp._creation.filled import ones
from tnp._creation.ranges import arange
from tnp._indexing.selection import where
from tnp._math.mathematics import i0
from tnp._ufunc.table import cos, less_equal, sqrt


def _places(M: Any) -> tuple[ndarray | None, float]:
    """``1 - M, 3 - M, ..., M - 1``, None if there are fewer than two, and M as a number."""
    length = float(np.array([0.0, M])[1])
    return (None if length <= 1 else arange(1 - length, length, 2)), length  # NaN is arange's to refuse


def _short(length: float) -> ndarray:
    return ones(1 if length >= 1 else 0)


def bartlett(M: Any) -> ndarray:
    """The Bartlett window: a triangle that ends at zero.

    Parameters
    ----------
    M : int
        Its length; without elements if it is not positive.

    Returns
    -------
    ndarray
        Of float64, with a maximum of one.

    Notes
    -----
    Source: https://numpy.org/doc/stable/reference/generated/numpy.bartlett.html

    Examples
    --------
    >>> import tnp as np
    >>> np.bartlett(5)
    array([0. , 0.5, 1. , 0.5, 0. ])
    """
    n, length = _places(M)
    if n is None:
        return _short(length)
    return where(less_equal(n, 0), 1 + n / (length - 1), 1 - n / (length - 1))


def blackman(M: Any) -> ndarray:
    """The Blackman window: three terms of cosines.

    Parameters
    ----------
    M : int
        Its length; without elements if it is not positive.

    Returns
    -------
    ndarray
        Of float64, with a maximum of one.

    Notes
    -----
    Source: https://numpy.org/doc/stable/reference/generated/numpy.blackman.html

    Examples
    --------
    >>> import tnp as np
    >>> np.blackman(3).round(2)
    array([-0.,  1., -0.])
    """
    n, length = _places(M)
    if n is None:
        return _short(length)
    angle = math.pi * n
    return 0.42 + 0.5 * cos(angle / (length - 1)) + 0.08 * cos(2.0 * math.pi * n / (length - 1))


def hamming(M: Any) -> ndarray:
    """The Hamming window: a raised cosine that does not end at zero.

    Parameters
    ----------
    M : int
        Its length; without elements if it is not positive.

    Returns
    -------
    ndarray
        Of float64, with a maximum of one.

    Notes
    -----
    Source: https://numpy.org/doc/stable/reference/generated/numpy.hamming.html

    Examples
    --------
    >>> import tnp as np
    >>> np.hamming(3)
    array([0.08, 1.  , 0.08])
    """
    n, length = _places(M)
    return _short(length) if n is None else 0.54 + 0.46 * cos(math.pi * n / (length - 1))


def hanning(M: Any) -> ndarray:
    """The Hann window: a raised cosine that ends at zero.

    Parameters
    ----------
    M : int
        Its length; without elements if it is not positive.

    Returns
    -------
    ndarray
        Of float64, with a maximum of one.

    Notes
    -----
    Source: https://numpy.org/doc/stable/reference/generated/numpy.hanning.html

    Examples
    --------
    >>> import tnp as np
    >>> np.hanning(5)
    array([0. , 0.5, 1. , 0.5, 0. ])
    """
    n, length = _places(M)
    return _short(length) if n is None else 0.5 + 0.5 * cos(math.pi * n / (length - 1))


def kaiser(M: Any, beta: Any) -> ndarray:
    """The Kaiser window: Bessel functions, of a shape to choose.

    Parameters
    ----------
    M : int
        Its length; without elements if it is not positive.
    beta : float
        0 is a rectangle; the larger, the narrower.

    Returns
    -------
    ndarray
        Of float64, with a maximum of one.

    Notes
    -----
    Source: https://numpy.org/doc/stable/reference/generated/numpy.kaiser.html

    Examples
    --------
    >>> import tnp as np
    >>> np.kaiser(3, 0.0)
    array([1., 1., 1.])
    """
    if isinstance(beta, ndarray):
        given, beta = np.array([0.0, M])[1], asarray(beta, dtype=float)
        if beta.ndim:
            raise ValueError(f"beta is one number, not an array of shape {beta.shape}")
    else:
        values = np.array([0.0, M, beta])  # as NumPy has it
        tensor_dtype(values.dtype)  # DtypeError for what is no number, which NumPy then computes with
        _, given, beta = values
    length = float(given)
    if length == 1:
        return _short(length)
    half = (length - 1) / 2.0
    n = arange(0, length)
    return i0(beta * sqrt(1 - ((n - half) / half) ** 2.0)) / i0(beta)
