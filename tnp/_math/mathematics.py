"""Elementwise functions that are not ufuncs: clipping, rounding to decimals, sinc, parts of complex numbers.

Layer: owns their signatures and dtype rules. They consist of ufuncs, or of one kernel if torch has the function.
"""

from __future__ import annotations

import builtins
from typing import Any, overload

import numpy

from backend_torch.graphs import symbolic
from backend_torch.kernels import mathematics as kernels
from backend_torch.kernels.indexing import without_leading_ones
from backend_torch.native import heads
from backend_torch.tensors import creation
from backend_torch.tensors.casting import cast
from backend_torch.tensors.dtypes import SIGNED, to_numpy, to_torch
from tnp._core.base import SCALARS, ndarray, number, scalar, wrap, wrap_array
from tnp._core.convert import array, asarray, tensor_of, with_sizes
from tnp._core.dtype_table import PLAIN
from tnp._core.dtypes import tensor_dtype
from tnp._core.errors import copy_mode, explain, long_of, refuse_cast, unassignable
from tnp._core.mask_selection import Selection, over
from tnp._core.numpy_version import NUMPY, deprecated
from tnp._core.promotion import result_type
from tnp._indexing.assignment import copyto
from tnp._ufunc import table as ufuncs

_NoValue: Any = numpy._NoValue
_SCALARS = (int, float, complex)
_FIX_WARNS = NUMPY >= "2.5.0"
INEXACT = {given: to_torch[numpy.result_type(dtype, 1.0)] for given, dtype in to_numpy.items()}
"""What an array becomes beside a Python float."""


def clip(
    a: Any,
    min: Any = _NoValue,
    max: Any = _NoValue,
    out: Any = None,
    *,
    a_min: Any = _NoValue,
    a_max: Any = _NoValue,
    **kwargs: Any,
) -> ndarray:
    """Limit the elements to an interval.

    Parameters
    ----------
    a : array_like
    min, max : array_like or None, optional
        The bounds, broadcast against ``a``; None for no bound. The upper one wins if they are reversed.
    out : ndarray, optional
        Where to put the result.
    a_min, a_max : array_like or None, optional
        The same bounds by NumPy's older names.
    **kwargs
        Options of a ufunc: ``where``, ``dtype``, ``casting``, ``order``.

    Returns
    -------
    ndarray

    Raises
    ------
    ValueError
        A bound is given by both names.

    Notes
    -----
    Differences from NumPy: one bound alone may be given by position, as in the Array API standard.

    Source: https://numpy.org/doc/stable/reference/generated/numpy.clip.html

    Examples
    --------
    >>> import tnp as np
    >>> np.clip(np.asarray([-1.0, 0.5, 7.0]), 0, 1)
    array([0. , 0.5, 1. ])
    """
    if a_max is not _NoValue:
        if a_min is not _NoValue:
            if min is not _NoValue or max is not _NoValue:
                raise ValueError(
                    "Passing `min` or `max` keyword argument when `a_min` and `a_max` are provided is forbidden."
                )
            min = a_min
        elif min is _NoValue or max is not _NoValue:
            raise TypeError("clip() missing 1 required positional argument: 'a_min'")
        max = a_max
    elif a_min is not _NoValue:
        raise TypeError("clip() missing 1 required positional argument: 'a_max'")
    min, max = None if min is _NoValue else min, None if max is _NoValue else max
    if type(a) not in PLAIN:
        if type(a) is Selection and out is None:
            return over(clip, a, min, max, **kwargs)
        a = asarray(a)
    if symbolic.is_symbol(min) or symbolic.is_symbol(max):
        _, min, max = with_sizes((a, min, max))
    if out is None and not kwargs and _representable(a, min) and _representable(a, max):
        try:
            return wrap(kernels.clamp(a.tensor, min, max))
        except RuntimeError as error:
            raise explain(error) from None
    if a.dtype.kind in "iu":
        # Python's integers beyond the dtype's range are no bounds.
        if type(min) is int and min <= numpy.iinfo(a.dtype).min:
            min = None
        if type(max) is int and max >= numpy.iinfo(a.dtype).max:
            max = None
    if min is None and max is None:
        return ufuncs.positive(a, out=out, **kwargs)
    if min is None:
        return ufuncs.minimum(a, max, out=out, **kwargs)
    if max is None:
        return ufuncs.maximum(a, min, out=out, **kwargs)
    dtype = result_type(
        a.dtype, *[bound if type(bound) in (*_SCALARS, number) else asarray(bound).dtype for bound in (min, max)]
    )
    if dtype != a.dtype and kwargs.get("dtype") is None:
        a = wrap(cast(a.tensor, to_torch[dtype]))
    raised = ufuncs.maximum(a, min, **{name: value for name, value in kwargs.items() if name != "where"})
    return ufuncs.minimum(raised, max, out=out, **kwargs)


def _representable(a: ndarray, bound: Any) -> bool:
    """Whether a bound is a Python number that the array's dtype can hold, and torch clamps that dtype."""
    kind = a.dtype.kind
    if kind == "f":
        return type(bound) is float or (type(bound) is int and -(2**63) <= bound < 2**63)
    if kind not in "iu" or type(bound) is not int or a.tensor.dtype in SIGNED:
        return False
    info = numpy.iinfo(a.dtype)
    return int(info.min) <= bound <= int(info.max)


def round(a: Any, decimals: Any = 0, out: Any = None) -> ndarray:
    """Round to a number of decimals, halves to the even neighbour.

    Parameters
    ----------
    a : array_like
    decimals : int, default 0
        Places after the decimal point; negative numbers count to its left.
    out : ndarray, optional
        Where to put the result.

    Returns
    -------
    ndarray
        Of the dtype of ``a``; real and imaginary parts are rounded separately.

    Notes
    -----
    As in NumPy, ``decimals`` scales, rounds and scales back, which is fast and not exact.

    Source: https://numpy.org/doc/stable/reference/generated/numpy.round.html

    Examples
    --------
    >>> import tnp as np
    >>> np.round(np.asarray([0.5, 1.5, 2.567]), 1)
    array([0.5, 1.5, 2.6])
    >>> np.round(np.asarray([14, 15, 25]), -1)
    array([10, 20, 20])
    """
    a = asarray(a)
    decimals = long_of(decimals)
    if out is not None:
        if isinstance(out, scalar) or not isinstance(out, (ndarray, numpy.ndarray)):
            raise TypeError("output must be an array")
        if out.size != a.size:
            raise ValueError("invalid output shape")
    kind = a.dtype.kind
    if kind == "c":
        rounded = round(wrap_array(kernels.parts(a.tensor)), decimals)
        if out is None:
            return wrap(kernels.from_parts(rounded.tensor))
        out.real, out.imag = rounded[..., 0], rounded[..., 1]
        return out
    if kind in "iu" and decimals >= 0:
        if out is None:
            return ufuncs.positive(a)
        copyto(out, a)
        return out
    if decimals == 0:
        return ufuncs.rint(a, out=out)
    scale: Any = 10.0 ** builtins.abs(decimals)
    if a.device.type != "cpu":  # CUDA multiplies by the reciprocal of a number, which rounds twice
        dtype = a.tensor.dtype if kind == "f" else tensor_dtype(float)
        scale = wrap_array(creation.full((), scale, dtype, a.device, "C"))
    there, back = (ufuncs.multiply, ufuncs.divide) if decimals > 0 else (ufuncs.divide, ufuncs.multiply)
    if kind == "b" and out is None:
        out = a.copy()  # NumPy gives the result the operand's dtype, and refuses that cast
    result = back(ufuncs.rint(there(a, scale, out=out), out=out), scale, out=out)
    return wrap(cast(result.tensor, a.tensor.dtype)) if kind in "iu" and out is None else result


around = round


def fix(x: Any, out: Any = None) -> ndarray:
    """Round towards zero.

    Parameters
    ----------
    x : array_like
        Real numbers.
    out : ndarray, optional
        Where to put the result.

    Returns
    -------
    ndarray

    Notes
    -----
    Source: https://numpy.org/doc/stable/reference/generated/numpy.fix.html

    Examples
    --------
    >>> import tnp as np
    >>> np.fix(np.asarray([2.1, -2.9]))
    array([ 2., -2.])
    """
    if _FIX_WARNS:
        deprecated(
            "numpy.fix is deprecated. Use numpy.trunc instead, which is faster and follows the Array API standard."
        )
    return ufuncs.trunc(x, out=out)


def nan_to_num(x: Any, copy: bool = True, nan: Any = 0.0, posinf: Any = None, neginf: Any = None) -> ndarray:
    """Replace nan and the infinities by numbers.

    Parameters
    ----------
    x : array_like
        Real or complex; the parts of a complex number are replaced separately.
    copy : bool, default True
        False writes to ``x`` itself.
    nan : array_like of real numbers, default 0.0
        The replacement of nan.
    posinf, neginf : array_like of real numbers, optional
        The replacements of the infinities; by default the dtype's largest and smallest number.

    Returns
    -------
    ndarray

    Raises
    ------
    ValueError
        ``copy`` is False and ``x`` can't be used without one.

    Notes
    -----
    Source: https://numpy.org/doc/stable/reference/generated/numpy.nan_to_num.html

    Examples
    --------
    >>> import tnp as np
    >>> np.nan_to_num(np.asarray([np.nan, np.inf, 1.0]), posinf=9.0)
    array([0., 9., 1.])
    """
    copies = copy_mode(copy)
    source = asarray(x) if copies else array(x, copy=False)
    if source.dtype.kind in "biu":
        return wrap(source.copy("K").tensor) if copies or not source.ndim else source
    tensor = source.tensor
    complex_parts = tensor.is_complex()
    values = kernels.parts(tensor) if complex_parts else tensor
    real = wrap_array(values).dtype
    fills = [_real_fill(nan, real), *(None if fill is None else _real_fill(fill, real) for fill in (posinf, neginf))]
    if all(fill is None or not isinstance(fill, ndarray) for fill in fills):
        values = kernels.nan_to_num(values, *fills)
    else:
        tensors: list[Any] = [None if fill is None else tensor_of(fill, real, device=tensor.device) for fill in fills]
        if complex_parts:
            tensors = [None if fill is None else fill[..., None] for fill in tensors]
        tensors = [None if fill is None else without_leading_ones(fill, values.dim()) for fill in tensors]
        for fill in tensors:
            if fill is not None and numpy.broadcast_shapes(fill.shape, values.shape) != tuple(values.shape):
                raise unassignable(fill.shape, values.shape)
        values = kernels.where_not_finite(values, *tensors)
    result = wrap(kernels.from_parts(values) if complex_parts else values)
    if copies:
        return result
    source[...] = result
    return source if tensor.dim() else result


def _real_fill(fill: Any, dtype: numpy.dtype) -> Any:
    """Return a replacement as a Python number, or as an array that can be cast to ``dtype``."""
    if isinstance(fill, (int, float)) and type(fill) not in SCALARS:
        return fill
    fill = asarray(fill)
    refuse_cast(fill.dtype, dtype, "same_kind", fill.ndim)
    return fill


def sinc(x: Any) -> ndarray:
    """The normalized sinc function, ``sin(pi x) / (pi x)``.

    Parameters
    ----------
    x : array_like

    Returns
    -------
    ndarray
        1 where ``x`` is 0.

    Notes
    -----
    Source: https://numpy.org/doc/stable/reference/generated/numpy.sinc.html

    Examples
    --------
    >>> import tnp as np
    >>> np.sinc(np.asarray([0.0, 0.5]))
    array([1.        , 0.63661977])
    """
    x = asarray(x)
    return wrap(kernels.sinc(cast(x.tensor, INEXACT[x.tensor.dtype])))


def i0(x: Any) -> ndarray:
    """The modified Bessel function of the first kind, order 0.

    Parameters
    ----------
    x : array_like
        Real numbers.

    Returns
    -------
    ndarray

    Raises
    ------
    TypeError
        ``x`` is complex.

    Notes
    -----
    Source: https://numpy.org/doc/stable/reference/generated/numpy.i0.html

    Examples
    --------
    >>> import tnp as np
    >>> np.i0(np.asarray([0.0, 1.0]))
    array([1.        , 1.26606588])
    """
    x = asarray(x)
    kind = x.dtype.kind
    if kind == "c":
        raise TypeError("i0 not supported for complex values")
    try:
        return wrap_array(kernels.i0(x.tensor if kind not in "biu" else cast(x.tensor, to_torch[numpy.dtype(float)])))
    except RuntimeError as error:
        raise explain(error) from None


@overload
def real(val: complex) -> float: ...
@overload
def real(val: Any) -> ndarray: ...
def real(val: Any) -> ndarray | float:
    """The real part; a view of an array.

    Parameters
    ----------
    val : array_like

    Returns
    -------
    ndarray or number
        A Python number's real part is a Python number.

    Notes
    -----
    Source: https://numpy.org/doc/stable/reference/generated/numpy.real.html

    Examples
    --------
    >>> import tnp as np
    >>> np.real(np.asarray([1 + 2j, 3]))
    array([1., 3.])
    """
    if (part := heads.part(val, False)) is not None:
        return part
    return val.real if isinstance(val, (ndarray, *_SCALARS)) else asarray(val).real


@overload
def imag(val: complex) -> float: ...
@overload
def imag(val: Any) -> ndarray: ...
def imag(val: Any) -> ndarray | float:
    """The imaginary part; a view of a complex array, zeros for a real one.

    Parameters
    ----------
    val : array_like

    Returns
    -------
    ndarray or number
        A Python number's imaginary part is a Python number.

    Notes
    -----
    Source: https://numpy.org/doc/stable/reference/generated/numpy.imag.html

    Examples
    --------
    >>> import tnp as np
    >>> np.imag(np.asarray([1 + 2j, 3]))
    array([2., 0.])
    """
    if (part := heads.part(val, True)) is not None:
        return part
    return val.imag if isinstance(val, (ndarray, *_SCALARS)) else asarray(val).imag


def angle(z: Any, deg: bool = False) -> ndarray:
    """The angle of complex numbers, counterclockwise from the positive real axis.

    Parameters
    ----------
    z : array_like
    deg : bool, default False
        Whether the result is in degrees instead of radians.

    Returns
    -------
    ndarray
        From -pi to pi.

    Notes
    -----
    Source: https://numpy.org/doc/stable/reference/generated/numpy.angle.html

    Examples
    --------
    >>> import tnp as np
    >>> np.angle(np.asarray([1.0, 1j, -1]), deg=True)
    array([  0.,  90., 180.])
    """
    z = asarray(z)
    result = ufuncs.arctan2(z.imag, z.real) if z.dtype.kind == "c" else ufuncs.arctan2(0, z)
    return result * (180 / numpy.pi) if deg else result


def real_if_close(a: Any, tol: float = 100) -> ndarray:
    """The real parts, if all imaginary ones are close to zero; else the array as it is.

    Parameters
    ----------
    a : array_like
    tol : float, default 100
        The tolerance: in machine epsilons if it is above 1, else absolute.

    Returns
    -------
    ndarray

    Notes
    -----
    The dtype of the result depends on values, which a traced array lacks.

    Source: https://numpy.org/doc/stable/reference/generated/numpy.real_if_close.html

    Examples
    --------
    >>> import tnp as np
    >>> np.real_if_close(np.asarray([2.1 + 4e-15j]))
    array([2.1])
    """
    a = asarray(a)
    if a.dtype.kind != "c":
        return a
    if tol > 1:
        tol = tol * float(numpy.finfo(a.dtype).eps)
    return a.real if (ufuncs.absolute(a.imag) < tol).all() else a
