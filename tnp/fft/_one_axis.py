"""Fourier transforms along one axis, complex, real and Hermitian.

Layer: owns the arguments that all transforms share (number of points, norm, ``out``), their dtypes and errors.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from backend_torch.kernels import fft as kernels
from backend_torch.tensors.casting import cast
from backend_torch.tensors.dtypes import to_numpy
from tnp._core.base import ndarray, wrap_array
from tnp._core.convert import output_tensor, tensor_of_shape, tensors_of
from tnp._core.dtypes import tensor_dtype
from tnp._core.errors import normalize_axis
from tnp._core.strided_views import put_back
from tnp._manipulation.shape import as_length

Tensor = Any

_SWAPPED = {None: "forward", "backward": "forward", "ortho": "ortho", "forward": "backward"}


def _check_norm(norm: Any, swaps: bool) -> None:
    """Raise NumPy's error for an unknown norm, which an inverse swaps by a look into a dict."""
    try:
        known = norm in _SWAPPED
    except TypeError:
        if swaps:
            raise
        known = norm == "backward" or norm == "ortho" or norm == "forward"
    if not known:
        raise ValueError(f'Invalid norm value {norm}; should be "backward",{" " * swaps}"ortho" or "forward".')


def check_points(n: Any) -> None:
    """Raise ValueError for less than one point."""
    if n < 1:
        raise ValueError(f"Invalid number of FFT data points ({n}) specified.")


def points(n: Any, halved: bool = False) -> int:
    """Return the number of points of a transform, at least one; True counts as one only where NumPy halves it."""
    check_points(n)
    count = as_length(n)
    if n is True and not halved:
        raise TypeError("an integer is required")
    return count


def checked_real(tensor: Tensor) -> Tensor:
    """Return the tensor; TypeError if it is complex."""
    if tensor.is_complex():
        raise TypeError(f"the transform of real input takes no {to_numpy[tensor.dtype]}: use fft, or the real part")
    return tensor


def real_result(tensor: Tensor, given: Any) -> Tensor:
    """Return a real result in NumPy's dtype: float16 for float16."""
    return cast(tensor, given) if given is tensor_dtype(np.float16) else tensor


def delivered(result: Tensor, out: Any) -> Any:
    """The result as a new array, or written to ``out``."""
    if out is None:
        return wrap_array(result)
    if not hasattr(out, "shape"):
        raise TypeError("return arrays must be of ArrayType")
    target = output_tensor(out)
    if target.shape != result.shape:
        raise ValueError("output array has wrong shape.")
    given, wanted = to_numpy[result.dtype], to_numpy[target.dtype]
    if not np.can_cast(given, wanted, "same_kind"):
        raise TypeError(f"Cannot cast ufunc 'fft' output from {given!r} to {wanted!r} with casting rule 'same_kind'")
    target.copy_(cast(result, target.dtype))
    return put_back(out, target)


def _check_line(a: Any, shape: tuple[int, ...], n: Any, axis: Any) -> None:
    """Raise NumPy's errors for data that no tensor can hold, in NumPy's order."""
    check_points(shape[axis] if n is None else n)
    np.result_type(np.asarray(a), 1.0)
    normalize_axis(axis, len(shape))


def _line(a: Any, n: Any, axis: Any, norm: Any, halved: bool, swaps: bool) -> tuple[Tensor, int, int]:
    """Return the tensor, the number of points and the axis of a transform along one axis."""
    (tensor,) = tensors_of(a, check=lambda shape: _check_line(a, shape, n, axis))
    return tensor, *place(tensor, n, axis, norm, halved, swaps)


def place(tensor: Tensor, n: Any, axis: Any, norm: Any, halved: bool, swaps: bool) -> tuple[int, int]:
    """Return the number of points and the axis, checked in NumPy's order."""
    if n is None:
        n = tuple(tensor.shape)[axis]
    check_points(n)
    _check_norm(norm, swaps)
    axis = normalize_axis(axis, tensor.dim())
    return points(n, halved), axis


def fft(a: Any, n: int | None = None, axis: int = -1, norm: str | None = None, out: Any = None) -> ndarray:
    """Discrete Fourier transform along an axis.

    Parameters
    ----------
    a : array_like
        Real or complex.
    n : int, optional
        Number of points: the input is cut, or filled up with zeros; by default the length of the axis.
    axis : int, optional
        By default the last.
    norm : {'backward', 'ortho', 'forward'}, optional
        Which direction is divided by n; with 'ortho' both are by its root. By default the inverse is.
    out : ndarray, optional
        Where to put the result.

    Returns
    -------
    ndarray
        complex64 for single and half precision, else complex128.

    Raises
    ------
    ValueError
        ``n`` is less than one, there is no such norm, or ``out`` has another shape.
    AxisError
        The array has no such axis.

    Notes
    -----
    Source: https://numpy.org/doc/stable/reference/generated/numpy.fft.fft.html

    Examples
    --------
    >>> import tnp as np
    >>> np.fft.fft([1.0, 2.0, 3.0, 4.0])
    array([10.+0.j, -2.+2.j, -2.+0.j, -2.-2.j])
    """
    tensor, count, axis = _line(a, n, axis, norm, halved=False, swaps=False)
    return delivered(kernels.fft(tensor, (count,), (axis,), norm), out)


def ifft(a: Any, n: int | None = None, axis: int = -1, norm: str | None = None, out: Any = None) -> ndarray:
    """Inverse discrete Fourier transform along an axis.

    Parameters
    ----------
    a : array_like
        Real or complex.
    n : int, optional
        Number of points: the input is cut, or filled up with zeros; by default the length of the axis.
    axis : int, optional
        By default the last.
    norm : {'backward', 'ortho', 'forward'}, optional
        Which direction is divided by n, as in `fft`.
    out : ndarray, optional
        Where to put the result.

    Returns
    -------
    ndarray
        complex64 for single and half precision, else complex128.

    Raises
    ------
    ValueError
        ``n`` is less than one, there is no such norm, or ``out`` has another shape.
    AxisError
        The array has no such axis.

    Notes
    -----
    Source: https://numpy.org/doc/stable/reference/generated/numpy.fft.ifft.html

    Examples
    --------
    >>> import tnp as np
    >>> np.fft.ifft([4.0, 0.0, 0.0, 0.0])
    array([1.+0.j, 1.+0.j, 1.+0.j, 1.+0.j])
    """
    tensor, count, axis = _line(a, n, axis, norm, halved=False, swaps=True)
    return delivered(kernels.ifft(tensor, (count,), (axis,), norm), out)


def rfft(a: Any, n: int | None = None, axis: int = -1, norm: str | None = None, out: Any = None) -> ndarray:
    """Discrete Fourier transform of real input along an axis: the frequencies that are not negative.

    Parameters
    ----------
    a : array_like
        Real.
    n : int, optional
        Number of points: the input is cut, or filled up with zeros; by default the length of the axis.
    axis : int, optional
        By default the last.
    norm : {'backward', 'ortho', 'forward'}, optional
        Which direction is divided by n, as in `fft`.
    out : ndarray, optional
        Where to put the result.

    Returns
    -------
    ndarray
        Of length ``n // 2 + 1`` along the axis.

    Raises
    ------
    TypeError
        The input is complex.
    ValueError
        ``n`` is less than one, there is no such norm, or ``out`` has another shape.
    AxisError
        The array has no such axis.

    Notes
    -----
    Source: https://numpy.org/doc/stable/reference/generated/numpy.fft.rfft.html

    Examples
    --------
    >>> import tnp as np
    >>> np.fft.rfft([1.0, 2.0, 3.0, 4.0])
    array([10.+0.j, -2.+2.j, -2.+0.j])
    """
    tensor, count, axis = _line(a, n, axis, norm, halved=True, swaps=False)
    return delivered(kernels.rfft(checked_real(tensor), count, axis, norm), out)


def irfft(a: Any, n: int | None = None, axis: int = -1, norm: str | None = None, out: Any = None) -> ndarray:
    """Inverse of `rfft`: real output from frequencies that are not negative.

    Parameters
    ----------
    a : array_like
        Imaginary parts of the lowest frequency, and of the highest if ``n`` is even, are ignored.
    n : int, optional
        Length of the output; by default ``2 * (m - 1)`` where m is the length of the axis.
    axis : int, optional
        By default the last.
    norm : {'backward', 'ortho', 'forward'}, optional
        Which direction is divided by n, as in `fft`.
    out : ndarray, optional
        Where to put the result.

    Returns
    -------
    ndarray
        Real, in the precision of the input.

    Raises
    ------
    ValueError
        ``n`` is less than one, there is no such norm, or ``out`` has another shape.
    AxisError
        The array has no such axis.

    Notes
    -----
    Source: https://numpy.org/doc/stable/reference/generated/numpy.fft.irfft.html

    Examples
    --------
    >>> import tnp as np
    >>> np.fft.irfft([10.0, -2.0 + 2.0j, -2.0])
    array([1., 2., 3., 4.])
    """
    tensor, count, axis = _half_line(a, n, axis, norm)
    return delivered(real_result(kernels.irfft(tensor, count, axis, norm), tensor.dtype), out)


def _half_line(
    a: Any, n: Any, axis: Any, norm: Any, halved: bool = False, swapped: bool = False
) -> tuple[Tensor, int, int]:
    tensor = tensor_of_shape(a, lambda shape: n is None and shape[axis])
    if n is None:
        n = tuple(tensor.shape)[axis]
        n = n if halved else 2 * (n - 1)
    if swapped:
        _check_norm(norm, swaps=True)
    return _line(tensor, n, axis, norm, halved, swaps=True)


def hfft(a: Any, n: int | None = None, axis: int = -1, norm: str | None = None, out: Any = None) -> ndarray:
    """Discrete Fourier transform along an axis of a signal with Hermitian symmetry, whose spectrum is real.

    Parameters
    ----------
    a : array_like
        The half of the signal that is not in negative time.
    n : int, optional
        Length of the output; by default ``2 * (m - 1)`` where m is the length of the axis.
    axis : int, optional
        By default the last.
    norm : {'backward', 'ortho', 'forward'}, optional
        Which direction is divided by n, as in `fft`.
    out : ndarray, optional
        Where to put the result.

    Returns
    -------
    ndarray
        Real, in the precision of the input.

    Raises
    ------
    ValueError
        ``n`` is less than one, there is no such norm, or ``out`` has another shape.
    AxisError
        The array has no such axis.

    Notes
    -----
    Differences from NumPy: ``out`` is written to; NumPy forgets it.

    Source: https://numpy.org/doc/stable/reference/generated/numpy.fft.hfft.html

    Examples
    --------
    >>> import tnp as np
    >>> np.fft.hfft([1.0, 2.0, 1.0])
    array([ 6.,  0., -2.,  0.])
    """
    tensor, count, axis = _half_line(a, n, axis, norm, swapped=True)
    return delivered(real_result(kernels.irfft(kernels.conj(tensor), count, axis, _SWAPPED[norm]), tensor.dtype), out)


def ihfft(a: Any, n: int | None = None, axis: int = -1, norm: str | None = None, out: Any = None) -> ndarray:
    """Inverse of `hfft`: a signal with Hermitian symmetry from its real spectrum.

    Parameters
    ----------
    a : array_like
        Real.
    n : int, optional
        Number of points: the input is cut, or filled up with zeros; by default the length of the axis.
    axis : int, optional
        By default the last.
    norm : {'backward', 'ortho', 'forward'}, optional
        Which direction is divided by n, as in `fft`.
    out : ndarray, optional
        Where to put the result.

    Returns
    -------
    ndarray
        Of length ``n // 2 + 1`` along the axis.

    Raises
    ------
    TypeError
        The input is complex.
    ValueError
        ``n`` is less than one, there is no such norm, or ``out`` has another shape.
    AxisError
        The array has no such axis.

    Notes
    -----
    Source: https://numpy.org/doc/stable/reference/generated/numpy.fft.ihfft.html

    Examples
    --------
    >>> import tnp as np
    >>> np.fft.ihfft([4.0, 0.0, 0.0, 0.0])
    array([1.-0.j, 1.-0.j, 1.-0.j])
    """
    tensor, count, axis = _half_line(a, n, axis, norm, halved=True, swapped=True)
    return delivered(kernels.conj(kernels.rfft(checked_real(tensor), count, axis, _SWAPPED[norm])), out)
