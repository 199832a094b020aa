"""Fourier transforms over several axes.

Layer: owns how ``s`` and ``axes`` name the axes and the number of points along each.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from backend_torch.kernels import fft as kernels
from tnp._core.base import ndarray
from tnp._core.convert import asarray, tensors_of
from tnp._core.errors import normalize_axis, warn
from tnp.fft._one_axis import checked_real, delivered, place, real_result

Tensor = Any


def _grid(
    tensor: Tensor, s: Any, axes: Any, norm: Any, swaps: bool, half: bool = False, halved: bool = False
) -> tuple[list[int], list[int]]:
    """Return the number of points along each axis, and the axes, checked in NumPy's order.

    ``half`` says that the last axis has only half of the frequencies, by which its default length is found; ``halved``
    that the result has; ``swaps`` that the transform is an inverse.
    """
    sizes = tuple(tensor.shape)
    if s is not None:
        lengths = list(s)
    else:
        lengths = list(sizes) if axes is None else _lengths(sizes, axes)
    if axes is None:
        if s is not None:
            warn(
                "`axes` should not be `None` if `s` is not `None` (Deprecated in NumPy 2.0). In a future version of "
                "NumPy, this will raise an error and `s[i]` will correspond to the size along the transformed axis "
                "specified by `axes[i]`. To retain current behaviour, pass a sequence [0, ..., k-1] to `axes` for an "
                "array of dimension k.",
                DeprecationWarning,
            )
        axes = list(range(-len(lengths), 0))
    if len(lengths) != len(axes):
        raise ValueError("Shape and axes have different lengths.")
    if half and s is None:
        lengths[-1] = 2 * (sizes[axes[-1]] - 1)
    if None in lengths:
        warn(
            "Passing an array containing `None` values to `s` is deprecated in NumPy 2.0 and will raise an error in a "
            "future version of NumPy. To use the default behaviour of the corresponding 1-D transform, pass the value "
            "matching the default for its `n` parameter. To use the default behaviour for every axis, the `s` argument "
            "can be omitted.",
            DeprecationWarning,
        )
    if s is not None:
        lengths = [sizes[axis] if n == -1 else n for n, axis in zip(lengths, axes, strict=True)]
    last = len(axes) - 1
    places: list[Any] = [None] * len(axes)
    for i in range(last + 1) if half else range(last, -1, -1):
        n = lengths[i]
        if half and i == last and n is None:
            n = 2 * (sizes[axes[i]] - 1)
        places[i] = place(tensor, n, axes[i], norm, halved and i == last, swaps)
        if halved:
            checked_real(tensor)
    return [count for count, _ in places], [axis for _, axis in places]


def _lengths(sizes: tuple[int, ...], axes: Any) -> list[int]:
    """Return the lengths of axes; the error is that of NumPy's ``take``."""
    try:
        if not isinstance(axes, (dict, set)):
            return [sizes[normalize_axis(axis, len(sizes))] for axis in axes]
    except (TypeError, IndexError):
        pass
    return list(np.take(sizes, axes))


def _check_axes(shape: tuple[int, ...], s: Any, axes: Any) -> None:
    """Raise NumPy's errors for axes, which come before those for elements."""
    if axes is not None and s is None:
        np.take(shape, axes)
    elif axes is not None and len(s) != len(axes):
        raise ValueError("Shape and axes have different lengths.")


def _complex(transform: Callable[..., Tensor], a: Any, s: Any, axes: Any, norm: Any, out: Any) -> Any:
    (tensor,) = tensors_of(a, check=lambda shape: _check_axes(shape, s, axes))
    counts, axes = _grid(tensor, s, axes, norm, transform is kernels.ifft)
    return delivered(transform(tensor, counts, axes, norm), out) if axes else asarray(a)


def _real(a: Any, s: Any, axes: Any, norm: Any, out: Any) -> Any:
    (tensor,) = tensors_of(a, check=lambda shape: _check_axes(shape, s, axes))
    counts, axes = _grid(tensor, s, axes, norm, swaps=False, halved=True)
    count, axis = counts[-1], axes[-1]
    result = kernels.rfft(checked_real(tensor), count, axis, norm)
    if len(axes) > 1:
        result = kernels.fft(result, counts[:-1], axes[:-1], norm)
    return delivered(result, out)


def _inverse_real(a: Any, s: Any, axes: Any, norm: Any, out: Any) -> Any:
    (tensor,) = tensors_of(a, check=lambda shape: _check_axes(shape, s, axes))
    counts, axes = _grid(tensor, s, axes, norm, swaps=True, half=True)
    if len(axes) > 1:
        tensor = kernels.ifft(tensor, counts[-2::-1], axes[-2::-1], norm)
    return delivered(real_result(kernels.irfft(tensor, counts[-1], axes[-1], norm), tensor.dtype), out)


def fftn(a: Any, s: Any = None, axes: Any = None, norm: str | None = None, out: Any = None) -> ndarray:
    """Discrete Fourier transform over several axes.

    Parameters
    ----------
    a : array_like
        Real or complex.
    s : sequence of int, optional
        Number of points along each axis: the input is cut, or filled up with zeros; -1, and the default, is the
        length of the axis.
    axes : sequence of int, optional
        By default the last ``len(s)``, or all. An axis may be repeated: it is transformed as often.
    norm : {'backward', 'ortho', 'forward'}, optional
        Which direction is divided by the number of points, as in `fft`.
    out : ndarray, optional
        Where to put the result.

    Returns
    -------
    ndarray
        complex64 for single and half precision, else complex128.

    Raises
    ------
    ValueError
        A number of points is less than one, there is no such norm, or ``s`` does not fit ``axes``.
    AxisError
        The array has no such axis.

    Notes
    -----
    Source: https://numpy.org/doc/stable/reference/generated/numpy.fft.fftn.html

    Examples
    --------
    >>> import tnp as np
    >>> np.fft.fftn([[1.0, 2.0], [3.0, 4.0]])
    array([[10.+0.j, -2.+0.j],
           [-4.+0.j,  0.+0.j]])
    """
    return _complex(kernels.fft, a, s, axes, norm, out)


def ifftn(a: Any, s: Any = None, axes: Any = None, norm: str | None = None, out: Any = None) -> ndarray:
    """Inverse discrete Fourier transform over several axes.

    Parameters
    ----------
    a : array_like
        Real or complex.
    s : sequence of int, optional
        Number of points along each axis: the input is cut, or filled up with zeros; -1, and the default, is the
        length of the axis.
    axes : sequence of int, optional
        By default the last ``len(s)``, or all. An axis may be repeated: it is transformed as often.
    norm : {'backward', 'ortho', 'forward'}, optional
        Which direction is divided by the number of points, as in `fft`.
    out : ndarray, optional
        Where to put the result.

    Returns
    -------
    ndarray
        complex64 for single and half precision, else complex128.

    Raises
    ------
    ValueError
        A number of points is less than one, there is no such norm, or ``s`` does not fit ``axes``.
    AxisError
        The array has no such axis.

    Notes
    -----
    Source: https://numpy.org/doc/stable/reference/generated/numpy.fft.ifftn.html

    Examples
    --------
    >>> import tnp as np
    >>> np.fft.ifftn([[4.0, 0.0], [0.0, 0.0]])
    array([[1.+0.j, 1.+0.j],
           [1.+0.j, 1.+0.j]])
    """
    return _complex(kernels.ifft, a, s, axes, norm, out)


def fft2(a: Any, s: Any = None, axes: Any = (-2, -1), norm: str | None = None, out: Any = None) -> ndarray:
    """Discrete Fourier transform over two axes.

    Parameters
    ----------
    a : array_like
        Real or complex.
    s : sequence of int, optional
        Number of points along each axis: the input is cut, or filled up with zeros; -1, and the default, is the
        length of the axis.
    axes : sequence of int, optional
        By default the last two.
    norm : {'backward', 'ortho', 'forward'}, optional
        Which direction is divided by the number of points, as in `fft`.
    out : ndarray, optional
        Where to put the result.

    Returns
    -------
    ndarray
        complex64 for single and half precision, else complex128.

    Raises
    ------
    ValueError
        A number of points is less than one, there is no such norm, or ``s`` does not fit ``axes``.
    AxisError
        The array has no such axis.

    Notes
    -----
    Source: https://numpy.org/doc/stable/reference/generated/numpy.fft.fft2.html

    Examples
    --------
    >>> import tnp as np
    >>> np.fft.fft2([[1.0, 2.0], [3.0, 4.0]])
    array([[10.+0.j, -2.+0.j],
           [-4.+0.j,  0.+0.j]])
    """
    return _complex(kernels.fft, a, s, axes, norm, out)


def ifft2(a: Any, s: Any = None, axes: Any = (-2, -1), norm: str | None = None, out: Any = None) -> ndarray:
    """Inverse discrete Fourier transform over two axes.

    Parameters
    ----------
    a : array_like
        Real or complex.
    s : sequence of int, optional
        Number of points along each axis: the input is cut, or filled up with zeros; -1, and the default, is the
        length of the axis.
    axes : sequence of int, optional
        By default the last two.
    norm : {'backward', 'ortho', 'forward'}, optional
        Which direction is divided by the number of points, as in `fft`.
    out : ndarray, optional
        Where to put the result.

    Returns
    -------
    ndarray
        complex64 for single and half precision, else complex128.

    Raises
    ------
    ValueError
        A number of points is less than one, there is no such norm, or ``s`` does not fit ``axes``.
    AxisError
        The array has no such axis.

    Notes
    -----
    Differences from NumPy: ``out`` is written to; NumPy forgets it.

    Source: https://numpy.org/doc/stable/reference/generated/numpy.fft.ifft2.html

    Examples
    --------
    >>> import tnp as np
    >>> np.fft.ifft2([[4.0, 0.0], [0.0, 0.0]])
    array([[1.+0.j, 1.+0.j],
           [1.+0.j, 1.+0.j]])
    """
    return _complex(kernels.ifft, a, s, axes, norm, out)


def rfftn(a: Any, s: Any = None, axes: Any = None, norm: str | None = None, out: Any = None) -> ndarray:
    """Discrete Fourier transform of real input over several axes, the last of which is halved.

    Parameters
    ----------
    a : array_like
        Real.
    s : sequence of int, optional
        Number of points along each axis: the input is cut, or filled up with zeros; -1, and the default, is the
        length of the axis.
    axes : sequence of int, optional
        By default the last ``len(s)``, or all. An axis may be repeated: it is transformed as often.
    norm : {'backward', 'ortho', 'forward'}, optional
        Which direction is divided by the number of points, as in `fft`.
    out : ndarray, optional
        Where to put the result.

    Returns
    -------
    ndarray
        Of length ``n // 2 + 1`` along the last of the axes.

    Raises
    ------
    TypeError
        The input is complex.
    ValueError
        A number of points is less than one, there is no such norm, or ``s`` does not fit ``axes``.
    AxisError
        The array has no such axis.

    Notes
    -----
    Source: https://numpy.org/doc/stable/reference/generated/numpy.fft.rfftn.html

    Examples
    --------
    >>> import tnp as np
    >>> np.fft.rfftn(np.ones((2, 2, 2))).shape
    (2, 2, 2)
    """
    return _real(a, s, axes, norm, out)


def irfftn(a: Any, s: Any = None, axes: Any = None, norm: str | None = None, out: Any = None) -> ndarray:
    """Inverse of `rfftn`.

    Parameters
    ----------
    a : array_like
        Frequencies, those along the last of the axes not negative.
    s : sequence of int, optional
        Length of the output along each axis; -1, and the default, is the length of the input's, for the last axis
        by default ``2 * (m - 1)`` where m is that length.
    axes : sequence of int, optional
        By default the last ``len(s)``, or all. An axis may be repeated: it is transformed as often.
    norm : {'backward', 'ortho', 'forward'}, optional
        Which direction is divided by the number of points, as in `fft`.
    out : ndarray, optional
        Where to put the result.

    Returns
    -------
    ndarray
        Real, in the precision of the input.

    Raises
    ------
    ValueError
        A number of points is less than one, there is no such norm, or ``s`` does not fit ``axes``.
    AxisError
        The array has no such axis.

    Notes
    -----
    Source: https://numpy.org/doc/stable/reference/generated/numpy.fft.irfftn.html

    Examples
    --------
    >>> import tnp as np
    >>> np.fft.irfftn(np.fft.rfftn(np.ones((2, 2))))
    array([[1., 1.],
           [1., 1.]])
    """
    return _inverse_real(a, s, axes, norm, out)


def rfft2(a: Any, s: Any = None, axes: Any = (-2, -1), norm: str | None = None, out: Any = None) -> ndarray:
    """Discrete Fourier transform of real input over two axes, the last of which is halved.

    Parameters
    ----------
    a : array_like
        Real.
    s : sequence of int, optional
        Number of points along each axis: the input is cut, or filled up with zeros; -1, and the default, is the
        length of the axis.
    axes : sequence of int, optional
        By default the last two.
    norm : {'backward', 'ortho', 'forward'}, optional
        Which direction is divided by the number of points, as in `fft`.
    out : ndarray, optional
        Where to put the result.

    Returns
    -------
    ndarray
        Of length ``n // 2 + 1`` along the last of the axes.

    Raises
    ------
    TypeError
        The input is complex.
    ValueError
        A number of points is less than one, there is no such norm, or ``s`` does not fit ``axes``.
    AxisError
        The array has no such axis.

    Notes
    -----
    Source: https://numpy.org/doc/stable/reference/generated/numpy.fft.rfft2.html

    Examples
    --------
    >>> import tnp as np
    >>> np.fft.rfft2([[1.0, 2.0], [3.0, 4.0]])
    array([[10.+0.j, -2.+0.j],
           [-4.+0.j,  0.+0.j]])
    """
    return _real(a, s, axes, norm, out)


def irfft2(a: Any, s: Any = None, axes: Any = (-2, -1), norm: str | None = None, out: Any = None) -> ndarray:
    """Inverse of `rfft2`.

    Parameters
    ----------
    a : array_like
        Frequencies, those along the last of the axes not negative.
    s : sequence of int, optional
        Length of the output along each axis; -1, and the default, is the length of the input's, for the last axis
        by default ``2 * (m - 1)`` where m is that length.
    axes : sequence of int, optional
        By default the last two.
    norm : {'backward', 'ortho', 'forward'}, optional
        Which direction is divided by the number of points, as in `fft`.
    out : ndarray, optional
        Where to put the result.

    Returns
    -------
    ndarray
        Real, in the precision of the input.

    Raises
    ------
    ValueError
        A number of points is less than one, there is no such norm, or ``s`` does not fit ``axes``.
    AxisError
        The array has no such axis.

    Notes
    -----
    Differences from NumPy: ``out`` is written to; NumPy forgets it.

    Source: https://numpy.org/doc/stable/reference/generated/numpy.fft.irfft2.html

    Examples
    --------
    >>> import tnp as np
    >>> np.fft.irfft2(np.fft.rfft2(np.ones((2, 2))))
    array([[1., 1.],
           [1., 1.]])
    """
    return _inverse_real(a, s, axes, norm, out)
