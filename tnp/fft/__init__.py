"""Discrete Fourier transforms: ``numpy.fft``, run by torch.

Layer: the public module. The transforms come from chapters of their own; here are the frequencies that belong to them.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from backend_torch.graphs import symbolic
from backend_torch.kernels import fft as kernels
from backend_torch.tensors import devices
from tnp._core.base import ndarray, wrap_array
from tnp._core.convert import tensor_of
from tnp._core.public import publish
from tnp._manipulation.rearranging import roll
from tnp._manipulation.shape import as_length
from tnp.fft._many_axes import fft2, fftn, ifft2, ifftn, irfft2, irfftn, rfft2, rfftn
from tnp.fft._one_axis import fft, hfft, ifft, ihfft, irfft, rfft

__all__ = [
    "fft", "fft2", "fftfreq", "fftn", "fftshift", "hfft", "ifft", "ifft2", "ifftn", "ifftshift", "ihfft", "irfft",
    "irfft2", "irfftn", "rfft", "rfft2", "rfftfreq", "rfftn",
]  # fmt: skip


def fftfreq(n: int, d: Any = 1.0, device: Any = None, *, dtype: Any = None) -> ndarray:
    """The frequencies of `fft`, in cycles per unit of the sample spacing.

    Parameters
    ----------
    n : int
        Number of points.
    d : float, optional
        Sample spacing.
    device : str or torch.device, optional
        Where the result lives.
    dtype : dtype_like, optional
        A floating-point dtype; float64 by default.

    Returns
    -------
    ndarray

    Raises
    ------
    ValueError
        ``n`` is not an integer.

    Notes
    -----
    Source: https://numpy.org/doc/stable/reference/generated/numpy.fft.fftfreq.html

    Examples
    --------
    >>> import tnp as np
    >>> np.fft.fftfreq(4)
    array([ 0.  ,  0.25, -0.5 , -0.25])
    """
    step = _step(n, d)
    if isinstance(n, bool):  # rfftfreq reads it as a length
        raise TypeError(f"expected a sequence of integers or a single integer, got '{n}'")
    if n < 0:
        raise ValueError("negative dimensions are not allowed")
    return _scaled(kernels.frequencies(as_length(n), (as_length(n) + 1) // 2, devices.parse(device)), step, dtype)


def rfftfreq(n: int, d: Any = 1.0, device: Any = None, *, dtype: Any = None) -> ndarray:
    """The frequencies of `rfft`, in cycles per unit of the sample spacing.

    Parameters
    ----------
    n : int
        Number of points.
    d : float, optional
        Sample spacing.
    device : str or torch.device, optional
        Where the result lives.
    dtype : dtype_like, optional
        A floating-point dtype; float64 by default.

    Returns
    -------
    ndarray
        Of length ``n // 2 + 1``.

    Raises
    ------
    ValueError
        ``n`` is not an integer.

    Notes
    -----
    Source: https://numpy.org/doc/stable/reference/generated/numpy.fft.rfftfreq.html

    Examples
    --------
    >>> import tnp as np
    >>> np.fft.rfftfreq(4)
    array([0.  , 0.25, 0.5 ])
    """
    step = _step(n, d)
    count = max(int(n) // 2 + 1, 0)
    return _scaled(kernels.frequencies(count, count, devices.parse(device)), step, dtype)


_MOST = np.iinfo(np.intp).max


def _step(n: Any, d: Any) -> Any:
    """Return the lowest frequency that is not zero."""
    if not isinstance(n, (int, np.integer)) and not symbolic.is_symbol(n):
        raise ValueError("n should be an integer")
    if not -_MOST <= n <= _MOST:
        raise ValueError("Maximum allowed dimension exceeded")
    return 1.0 / (n * d)


def _scaled(numbers: Any, step: Any, dtype: Any) -> Any:
    frequencies = wrap_array(numbers) * step
    return frequencies if dtype is None else frequencies.astype(dtype, copy=False)


def fftshift(x: Any, axes: Any = None) -> ndarray:
    """Shift the zero frequency to the middle.

    Parameters
    ----------
    x : array_like
    axes : int or sequence of int, optional
        Which axes; all by default.

    Returns
    -------
    ndarray

    Raises
    ------
    IndexError
        The array has no such axis.

    See Also
    --------
    ifftshift

    Notes
    -----
    Source: https://numpy.org/doc/stable/reference/generated/numpy.fft.fftshift.html

    Examples
    --------
    >>> import tnp as np
    >>> np.fft.fftshift([0, 1, 2, -2, -1])
    array([-2, -1,  0,  1,  2])
    """
    return _shifted(x, axes, 1)


def ifftshift(x: Any, axes: Any = None) -> ndarray:
    """Undo `fftshift`: shift the zero frequency from the middle to the start.

    Parameters
    ----------
    x : array_like
    axes : int or sequence of int, optional
        Which axes; all by default.

    Returns
    -------
    ndarray

    Raises
    ------
    IndexError
        The array has no such axis.

    See Also
    --------
    fftshift

    Notes
    -----
    Source: https://numpy.org/doc/stable/reference/generated/numpy.fft.ifftshift.html

    Examples
    --------
    >>> import tnp as np
    >>> np.fft.ifftshift([-2, -1, 0, 1, 2])
    array([ 0,  1,  2, -2, -1])
    """
    return _shifted(x, axes, -1)


def _shifted(x: Any, axes: Any, direction: int) -> ndarray:
    tensor = tensor_of(x)
    if not tensor.dim() and np.iterable(axes) and tuple(axes):
        raise IndexError("tuple index out of range")
    if not tensor.dim() and (axes is None or np.iterable(axes)):
        raise ValueError("not enough values to unpack (expected 2, got 0)")
    if axes is None:
        axes = tuple(range(tensor.dim()))
    elif isinstance(axes, (int, np.integer)):
        axes = (axes,)
    shape = tuple(tensor.shape)
    return roll(wrap_array(tensor), [direction * (shape[axis] // 2) for axis in axes], tuple(axes))


publish(sys.modules[__name__], np.fft)
