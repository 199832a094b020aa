"""Ranges and grids: numbers in even steps, on linear and logarithmic scales, and the grids that they span.

Layer: owns NumPy's rules for lengths and dtypes of ranges.
"""

from __future__ import annotations

import math
from typing import Any, Literal, overload

import numpy as np
from numpy.exceptions import ComplexWarning

from backend_torch.autodiff import autodiff, transform_levels
from backend_torch.graphs import symbolic
from backend_torch.kernels import value_checks
from backend_torch.native import heads
from backend_torch.tensors import creation as kernels
from backend_torch.tensors import devices, memory
from backend_torch.tensors.casting import cast
from backend_torch.tensors.dtypes import to_numpy, to_torch
from tnp._core.base import ndarray, scalar, wrap, wrap_array
from tnp._core.convert import asarray, check_like, ours, tensor_of
from tnp._core.dtypes import DtypeError, numpy_dtype, tensor_dtype
from tnp._core.errors import explain, integer_of, moved_axis, normalize_axis, warn
from tnp._core.readonly_views import view_of
from tnp._manipulation.broadcasting import broadcast_arrays
from tnp._manipulation.rearranging import moveaxis
from tnp._manipulation.shape import as_length
from tnp._ufunc import table as ufuncs

Tensor = Any
WEAK = (int, float, complex)


def _number(value: Any) -> Any:
    """Return an argument of `arange` as a Python or NumPy scalar."""
    if isinstance(value, ndarray) or memory.is_tensor(value):
        tensor = tensor_of(value)
        if tensor.is_floating_point() or tensor.is_complex():
            autodiff.check_constant(tensor, "arange()")
        value = memory.to_numpy(memory.to_host(transform_levels.held(tensor)))
    elif symbolic.is_symbol(value):
        value = symbolic.decided(value)
    return value[()] if isinstance(value, np.ndarray) else value


def arange(
    start_or_stop: Any = None,
    /,
    stop: Any = None,
    step: Any = 1,
    dtype: Any = None,
    *,
    start: Any = None,
    device: Any = None,
    like: Any = None,
) -> ndarray:
    """Return numbers in even steps from a half-open interval.

    Parameters
    ----------
    start_or_stop : number, optional
        The first number; 0 if only one argument is given: that is ``stop``.
    stop : number
        The end, which is not included, except by rounding if the step is not an integer.
    step : number, optional
    dtype : dtype_like, optional
        By default the dtype that holds the arguments, at least int64.
    start : number, optional
        The first number by name; then ``stop`` has to be given.
    device : str or torch.device, optional
        Where the array lives; the default device if None.
    like : ndarray, optional
        Only tnp arrays.

    Returns
    -------
    ndarray
        ``ceil((stop - start) / step)`` numbers.

    Raises
    ------
    ZeroDivisionError
        A step of zero.
    ValueError
        Ends whose distance has no length, or too many numbers.
    OverflowError
        A start that the dtype cannot hold.
    TypeError
        No ``stop``, arguments that are not numbers, or more than two booleans.

    See Also
    --------
    linspace : takes the number of samples, not the step

    Notes
    -----
    Source: https://numpy.org/doc/stable/reference/generated/numpy.arange.html

    Examples
    --------
    >>> import tnp as np
    >>> np.arange(1, 2, 0.25)
    array([1.  , 1.25, 1.5 , 1.75])
    """
    if (made := heads.arange(start_or_stop, stop, step, dtype, start, device, like)) is not None:
        return made
    check_like(like)
    if start is None:
        start = start_or_stop
    elif start_or_stop is not None:
        raise TypeError("arange() got multiple values for argument 'start'")
    elif stop is None:
        raise TypeError("arange() requires stop to be specified.")
    if symbolic.is_symbol(start) and stop is None and type(step) is int and step == 1:
        tensor_type = tensor_dtype(np.int64 if dtype is None else dtype)
        if to_numpy[tensor_type].kind != "b":
            return wrap_array(kernels.arange(start, 0, 1, tensor_type, devices.parse(device)))
    is_array = isinstance(start, (ndarray, np.ndarray)) and not isinstance(start, scalar) and stop is not None
    start, stop, step = _number(start), _number(stop), 1 if step is None else _number(step)
    if stop is None:
        if start is None:
            raise TypeError("arange() requires stop to be specified.")
        start, stop = 0, start
    elif start is None:
        start = 0
    given = np.result_type(np.int64, *[_dtype_of(value) for value in (start, stop, step)])
    wanted = given if dtype is None else numpy_dtype(dtype)
    if wanted.kind not in "biufcO" and wanted not in to_torch:
        raise DtypeError(f"arange() not supported for inputs with DType {type(wanted)}.")
    try:
        length = _length(start, stop, step, wanted)
        with np.errstate(over="ignore"):
            ends = [start, start + step][:length]
    except OverflowError:  # a Python number that the dtype of another argument does not hold
        raise ValueError("Maximum allowed size exceeded") from None
    if wanted.kind in "iuf" and np.iscomplexobj(ends):  # of NumPy's scalars, the real part counts
        if is_array:
            raise TypeError("float() argument must be a string or a real number, not 'complex'")
        ends = _real(ends).tolist()
    tensor_type = tensor_dtype(wanted)
    if wanted.kind == "b" and length > 2:
        raise TypeError("arange() is only supported for booleans when the result has at most length 2.")
    with np.errstate(over="ignore"):
        first, second = (*np.array(ends, wanted).tolist(), 0, 0)[:2]
    place = devices.parse(device)
    try:
        return wrap_array(kernels.arange(length, first, second, tensor_type, place))
    except RuntimeError as error:
        raise explain(error) from None


def _dtype_of(number: Any) -> np.dtype:
    dtype = np.asarray(number).dtype
    if dtype.kind in "SUMm":
        raise DtypeError(f"arange() not supported for inputs with DType {type(dtype)}.")
    return dtype


def _length(start: Any, stop: Any, step: Any, dtype: np.dtype) -> int:
    """Return how many numbers of a dtype there are from ``start`` to ``stop``."""
    distance = stop - start
    with np.errstate(all="ignore"):
        steps = distance / step
    if dtype.kind not in "cO" and np.iscomplexobj(steps):
        if type(steps) is complex:
            raise TypeError("must be real number, not complex")
        return _whole(_real(steps))
    if isinstance(steps, complex):
        return min(_whole(steps.real), _whole(steps.imag))
    if isinstance(steps, np.complexfloating):
        return _whole(steps.real)  # complex64 is no Python complex, and NumPy looks at its real part alone
    if steps == 0 and distance != 0:  # it underflowed
        return 0 if math.copysign(1, steps) < 0 else 1
    return _whole(steps)


def _real(value: Any) -> Any:
    warn("Casting complex values to real discards the imaginary part", ComplexWarning)
    return np.real(value)


def _whole(steps: Any) -> int:
    """As many whole steps as it takes."""
    if math.isnan(steps):
        raise ValueError("arange: cannot compute length")
    if not -(2**63) <= steps < 2**63:
        raise ValueError("Maximum allowed size exceeded")
    return math.ceil(steps) if steps > 0 else 0


def _samples(num: Any) -> int:
    """Return the number of samples; ValueError for an invalid number."""
    count = as_length(num)
    if count < 0:
        raise ValueError(f"Number of samples, {count}, must be non-negative.")
    if count > np.iinfo(np.intp).max:
        raise ValueError("Maximum allowed size exceeded")
    return count


def _inexact(values: tuple[Any, ...]) -> np.dtype:
    """Return the floating or complex dtype that holds these; Python's scalars are weak."""
    if all(type(value) in WEAK for value in values):
        for value in values:
            if type(value) is int and not -(2**63) <= value < 2**64:
                tensor_of(value)  # DtypeError: beside no array, NumPy makes one of objects of it
    return np.result_type(0.0, *[type(v)(0) if type(v) in WEAK else to_numpy[tensor_of(v).dtype] for v in values])


def _ends(start: Any, stop: Any, dtype: np.dtype, device: Any) -> tuple[Tensor, Tensor, Any]:
    """Return both ends as tensors, and the device of the samples; None is that of the ends."""
    ends = tensor_of(start, dtype), tensor_of(stop, dtype)
    placed = any(isinstance(end, ndarray) or memory.is_tensor(end) for end in (start, stop))
    return *ends, None if device is None and placed else devices.parse(device)


@overload
def linspace(
    start: Any,
    stop: Any,
    num: Any = 50,
    endpoint: bool = True,
    retstep: Literal[False] = False,
    dtype: Any = None,
    axis: int = 0,
    *,
    device: Any = None,
) -> ndarray: ...
@overload
def linspace(
    start: Any,
    stop: Any,
    num: Any = 50,
    endpoint: bool = True,
    *,
    retstep: Literal[True],
    dtype: Any = None,
    axis: int = 0,
    device: Any = None,
) -> tuple[ndarray, ndarray | float]: ...
@overload
def linspace(
    start: Any,
    stop: Any,
    num: Any = 50,
    endpoint: bool = True,
    retstep: bool = False,
    dtype: Any = None,
    axis: int = 0,
    *,
    device: Any = None,
) -> ndarray | tuple[ndarray, ndarray | float]: ...
def linspace(
    start: Any,
    stop: Any,
    num: Any = 50,
    endpoint: bool = True,
    retstep: bool = False,
    dtype: Any = None,
    axis: int = 0,
    *,
    device: Any = None,
) -> ndarray | tuple[ndarray, ndarray | float]:
    """Return numbers evenly spaced over an interval.

    Parameters
    ----------
    start, stop : array_like
        The ends of the interval, or of several that broadcast.
    num : int, optional
        How many samples.
    endpoint : bool, optional
        Whether ``stop`` is the last of them.
    retstep : bool, optional
        Whether to return the step as well.
    dtype : dtype_like, optional
        By default the floating dtype that holds the ends; for integers the samples are rounded down.
    axis : int, optional
        Along which axis of the result the samples are, where the ends are arrays.
    device : str or torch.device, optional
        Where the result lives; by default where the ends are.

    Returns
    -------
    ndarray, or (ndarray, step) if ``retstep``

    Raises
    ------
    ValueError
        A negative number of samples.

    See Also
    --------
    arange, logspace, geomspace

    Notes
    -----
    Source: https://numpy.org/doc/stable/reference/generated/numpy.linspace.html

    Examples
    --------
    >>> import tnp as np
    >>> np.linspace(2, 3, num=5)
    array([2.  , 2.25, 2.5 , 2.75, 3.  ])
    """
    if retstep is False and dtype is device is None and axis.__class__ is int and axis == 0:
        if (made := heads.linspace(start, stop, num, endpoint)) is not None:
            return made
    count = _samples(num)
    first, last, place = _ends(start, stop, _inexact((start, stop)), device)
    try:
        samples, step = kernels.linspace(first, last, count, endpoint, place)
    except RuntimeError as error:
        raise explain(error, first, last) from None
    if axis != 0:
        samples = samples.movedim(0, moved_axis(axis, samples.dim(), "destination"))
    if dtype is not None:
        tensor_type = tensor_dtype(dtype)
        if np.issubdtype(to_numpy[tensor_type], np.integer):
            samples = ufuncs.floor(wrap_array(samples)).tensor
        samples = cast(samples, tensor_type)
    if retstep:
        return wrap_array(samples), math.nan if step is None else wrap(step)
    return wrap_array(samples)


def logspace(
    start: Any,
    stop: Any,
    num: Any = 50,
    endpoint: bool = True,
    base: Any = 10.0,
    dtype: Any = None,
    axis: int = 0,
    *,
    device: Any = None,
) -> ndarray:
    """Return numbers evenly spaced on a logarithmic scale.

    Parameters
    ----------
    start, stop : array_like
        The exponents of the first and the last sample.
    num : int, optional
        How many samples.
    endpoint : bool, optional
        Whether ``base ** stop`` is the last of them.
    base : array_like, optional
        Broadcasts with ``start`` and ``stop``.
    dtype : dtype_like, optional
        By default what holds the base and the exponents.
    axis : int, optional
        Along which axis of the result the samples are, where the ends are arrays.
    device : str or torch.device, optional
        Where the result lives; by default where the ends are.

    Returns
    -------
    ndarray

    Raises
    ------
    ValueError
        A negative number of samples.

    See Also
    --------
    geomspace : takes the ends themselves

    Notes
    -----
    Source: https://numpy.org/doc/stable/reference/generated/numpy.logspace.html

    Examples
    --------
    >>> import tnp as np
    >>> np.logspace(0, 3, num=4)
    array([   1.,   10.,  100., 1000.])
    """
    if type(base) not in WEAK:
        base = asarray(base)
        if base.ndim:
            rank = max(tensor_of(start).dim(), tensor_of(stop).dim(), base.ndim)
            start, stop, base = (_padded(value, rank) for value in (start, stop, base))
            base = wrap_array(base.tensor.unsqueeze(normalize_axis(axis, rank + 1)))
    samples = ufuncs.power(base, linspace(start, stop, num, endpoint, axis=axis, device=device))
    return wrap_array(samples.tensor if dtype is None else cast(samples.tensor, tensor_dtype(dtype)))


def _padded(value: Any, rank: int) -> ndarray:
    """Return an array with leading axes of length one up to ``rank``."""
    tensor = tensor_of(value)
    return wrap_array(tensor[(None,) * (rank - tensor.dim())])


def geomspace(
    start: Any, stop: Any, num: Any = 50, endpoint: bool = True, dtype: Any = None, axis: int = 0, *, device: Any = None
) -> ndarray:
    """Return numbers in geometric progression.

    Parameters
    ----------
    start, stop : array_like
        The first and the last sample, real or complex, not zero.
    num : int, optional
        How many samples.
    endpoint : bool, optional
        Whether ``stop`` is the last of them.
    dtype : dtype_like, optional
        By default what holds the ends, at least float64.
    axis : int, optional
        Along which axis of the result the samples are, where the ends are arrays.
    device : str or torch.device, optional
        Where the result lives; by default where the ends are.

    Returns
    -------
    ndarray

    Raises
    ------
    ValueError
        An end that is zero, or a negative number of samples.

    See Also
    --------
    logspace : takes the exponents of the ends

    Notes
    -----
    Source: https://numpy.org/doc/stable/reference/generated/numpy.geomspace.html

    Examples
    --------
    >>> import tnp as np
    >>> np.geomspace(1, 256, num=9, dtype=int)
    array([  1,   2,   4,   7,  16,  32,  63, 127, 256])
    """
    count = _samples(num)
    given = [to_numpy[tensor_of(end).dtype] for end in (start, stop)]
    wanted = numpy_dtype(float if dtype is None else dtype)
    working = np.result_type(0.0, *given, wanted)
    first, last, place = _ends(start, stop, working, device)
    for end in (first, last):
        value_checks.expect(end != 0, value_checks.ZERO)
    try:
        samples = kernels.geomspace(first, last, count, endpoint, place)
    except RuntimeError as error:
        raise explain(error, first, last) from None
    found = wrap_array(samples if dtype is None else cast(samples, tensor_dtype(wanted)))
    return moveaxis(found, 0, axis) if axis != 0 else found


def meshgrid(*xi: Any, copy: bool = True, sparse: bool = False, indexing: str = "xy") -> tuple[ndarray, ...]:
    """Return the coordinates of the grid that vectors span.

    Parameters
    ----------
    *xi : array_like
        The coordinates along each axis.
    copy : bool, optional
        False returns views: elements share memory.
    sparse : bool, optional
        Whether the results only broadcast to the grid's shape.
    indexing : {'xy', 'ij'}, optional
        Cartesian, where the first vector runs along the second axis, or matrix indexing.

    Returns
    -------
    tuple of ndarray
        One for each vector.

    Raises
    ------
    ValueError
        Another ``indexing``.

    See Also
    --------
    mgrid, ogrid, indices

    Notes
    -----
    Source: https://numpy.org/doc/stable/reference/generated/numpy.meshgrid.html

    Examples
    --------
    >>> import tnp as np
    >>> x, y = np.meshgrid([1, 2, 3], [4, 5])
    >>> x
    array([[1, 2, 3],
           [1, 2, 3]])
    """
    if indexing not in ("xy", "ij"):
        raise ValueError("Valid values for `indexing` are 'xy' and 'ij'.")
    places = list(range(len(xi)))
    if indexing == "xy" and len(xi) > 1:
        places[:2] = 1, 0
    grids = []
    for place, x in zip(places, xi, strict=True):
        shape = [1] * len(xi)
        shape[place] = -1
        x = ours(x)
        grids.append(view_of(x, tensor_of(x).reshape(shape)))
    arrays = tuple(grids) if sparse else broadcast_arrays(*grids)
    return tuple([wrap_array(memory.copied(array.tensor, "C")) for array in arrays]) if copy else arrays


def vander(x: Any, N: int | None = None, increasing: bool = False) -> ndarray:
    """Return a Vandermonde matrix, whose columns are the powers of a vector.

    Parameters
    ----------
    x : array_like
        One-dimensional.
    N : int, optional
        How many columns; by default as many as the vector has elements.
    increasing : bool, optional
        Whether the powers increase from left to right.

    Returns
    -------
    ndarray

    Raises
    ------
    ValueError
        The input is not one-dimensional.

    Notes
    -----
    Source: https://numpy.org/doc/stable/reference/generated/numpy.vander.html

    Examples
    --------
    >>> import tnp as np
    >>> np.vander([1, 2, 3], 3)
    array([[1, 1, 1],
           [4, 2, 1],
           [9, 3, 1]])
    """
    tensor = tensor_of(x)
    if tensor.dim() != 1:
        raise ValueError("x must be a one-dimensional array or sequence.")
    columns = len(tensor) if N is None else integer_of(N)
    if columns < 0:
        raise ValueError("negative dimensions are not allowed")
    dtype = to_torch[np.promote_types(to_numpy[tensor.dtype], np.int64)]
    return wrap_array(kernels.power_table(tensor, columns, increasing, dtype))
