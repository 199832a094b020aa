"""Averages and variances: mean, median, weighted average, variance and standard deviation along axes.

Layer: owns their dtype rule, the number of elements in the divisor, and NumPy's warnings where that is zero.
"""

from __future__ import annotations

import operator
from typing import Any, Literal, overload

import numpy as np

from backend_torch.graphs import symbolic
from backend_torch.kernels import reductions as kernels
from backend_torch.kernels import sorting, value_checks
from backend_torch.native import heads
from backend_torch.tensors.casting import cast
from backend_torch.tensors.dtypes import to_numpy
from tnp._core.base import ndarray, wrap, wrap_array
from tnp._core.convert import asarray, output_tensor, tensor_of, tensor_of_shape
from tnp._core.dtype_table import PLAIN, Loops
from tnp._core.dtypes import tensor_dtype
from tnp._core.errors import long_of, normalize_axes, normalize_axis, reduced_axes, warn
from tnp._core.index_arguments import refuse_cast
from tnp._core.mask_selection import Selection
from tnp._core.promotion import result_type
from tnp._manipulation.broadcasting import broadcast_to
from tnp._math.reductions import sum
from tnp._ufunc import errstate
from tnp._ufunc.reduction import BOOL, FAILURES, deliver, first_along, kept, mask_of, output_of, reduced_shape
from tnp._ufunc.table import divide, multiply, subtract

Tensor = Any
_NoValue: Any = np._NoValue


def _default_dtype(given: Any) -> Any:
    """Return the dtype in which NumPy averages: float64 for integers and bool."""
    return tensor_dtype(float) if kernels.is_integer(given) else given


_mean = Loops(lambda given: kernels.mean(given, _default_dtype(given)))
_var = Loops(lambda given: kernels.var(given, _default_dtype(given)))
_std = Loops(lambda given: kernels.std(given, _default_dtype(given)))


def _directly(loops: Loops, a: Any, axis: Any, *options: Any) -> Any:
    """Call torch's function for an array that has elements; None if it can't be called, or fails."""
    if type(a) in PLAIN and (axis is None or (axis.__class__ is int and a.tensor.dim())) and a.tensor.numel():
        try:
            tensor = a.tensor
            reduced = loops[tensor.dtype](tensor, axis, *options)
            return wrap(reduced if tensor.dim() < 3 else kernels.in_memory_order(reduced, tensor, axis, options[0]))
        except FAILURES:
            pass
    return None


def mean(
    a: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: Any = False, *, where: Any = True
) -> ndarray:
    """Arithmetic mean along axes.

    Parameters
    ----------
    a : array_like
    axis : int or tuple of int, optional
        Axes to reduce; all by default.
    dtype : dtype_like, optional
        The dtype of the computation; by default the array's, but float64 for integers and bool.
    out : ndarray, optional
        Where to put the result.
    keepdims : bool, optional
        Keep the axes, with length one.
    where : array_like of bool, optional
        Which elements to average.

    Returns
    -------
    ndarray
        A scalar if no axis is left; NaN, with a RuntimeWarning, if there are no elements.

    Raises
    ------
    AxisError
        The array has no such axis.

    Notes
    -----
    float16 is averaged in float32. Differences from NumPy: in a trace, a batch and on an accelerator nothing warns
    where ``where`` chooses no element.

    Source: https://numpy.org/doc/stable/reference/generated/numpy.mean.html

    Examples
    --------
    >>> import tnp as np
    >>> np.mean(np.asarray([[1, 2], [3, 4]]), axis=0)
    array([2., 3.])
    """
    if (found := heads.mean(a, axis, dtype, out, keepdims, where)) is not None:
        return found
    if dtype is None and out is None and where is True:
        if (found := _directly(_mean, a, axis, keepdims)) is not None:
            return found
    if type(a) is Selection:
        a, axis, where = a.reduction(np.add, axis, keepdims, where)
    tensor = tensor_of(a)
    axes = _axes(axis, tensor, where)
    target = None if out is None else output_of(out)
    result = _default_dtype(tensor.dtype) if dtype is None else tensor_dtype(dtype)
    if where is True and axes and not kernels.is_integer(result) and not _holds_integers(target):
        if not kernels.size_of(tensor.shape, axes):
            warn("Mean of empty slice", RuntimeWarning)
        keepdims = kept(keepdims)
        averaged = kernels.mean(tensor.dtype, result)(tensor, axes, keepdims)
        averaged = kernels.in_memory_order(averaged, tensor, axes, keepdims)
    else:
        mask = None if where is True else mask_of(where, tensor)
        total, count = _total(tensor, axes, kept(keepdims), _accumulator(result), mask)
        if mask is None and not count:
            warn("Mean of empty slice", RuntimeWarning)
        elif mask is not None:
            errstate.warn_where(count, lambda: count == 0, "Mean of empty slice")
        averaged = _divided(total, count, result, target)
    return deliver(averaged, out, target, "mean")


def _holds_integers(target: Tensor | None) -> bool:
    return target is not None and kernels.is_integer(target.dtype)


def _divided(total: Tensor, count: Any, dtype: Any, target: Tensor | None) -> Tensor:
    """Divide a sum in a torch dtype, or in that of the output, where NumPy keeps the sum."""
    if target is not None:
        dtype = target.dtype
        total = cast(total, dtype)
    return cast(kernels.quotient(total, count), dtype)


def _accumulator(dtype: Any) -> Any:
    """Return the dtype of a sum: NumPy computes float16 averages in float32."""
    return tensor_dtype(np.float32) if dtype is tensor_dtype(np.float16) else dtype


def _axes(axis: Any, tensor: Tensor, where: Any) -> tuple[int, ...]:
    """Return the axes to average over: with a mask as for sums, which allow 0 and -1 for a 0-d array."""
    ndim = tensor.dim()
    try:
        if where is True and isinstance(axis, bool):
            normalize_axis(axis, ndim)  # of two errors NumPy raises this one
        if axis is not None and not isinstance(axis, tuple):
            operator.index(axis)
        if ndim or where is not True or isinstance(axis, list):
            return reduced_axes(axis, ndim)
        return normalize_axes(axis, 0)
    except (TypeError, ValueError, IndexError):
        if where is not True:  # NumPy broadcasts the mask before it reads the axis
            broadcast_to(where, tuple(tensor.shape))
        raise


def _total(tensor: Tensor, axes: Any, keepdims: bool, dtype: Any, mask: Any) -> tuple[Tensor, Any]:
    """Return the sum and number of the elements along axes; the number is an int, or a tensor with a mask."""
    count: Any = kernels.size_of(tensor.shape, axes)
    if mask is not None:
        count = kernels.true_count(mask, tensor.shape, axes, keepdims)
        tensor = kernels.masked(tensor, mask, 0)
    return kernels.total(cast(tensor, dtype), axes, keepdims), count


def var(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    out: Any = None,
    ddof: float = 0,
    keepdims: Any = False,
    *,
    where: Any = True,
    mean: Any = _NoValue,
    correction: Any = _NoValue,
) -> ndarray:
    """Variance along axes: the mean of the squared deviations from the mean.

    Parameters
    ----------
    a : array_like
    axis : int or tuple of int, optional
        Axes to reduce; all by default.
    dtype : dtype_like, optional
        The dtype of the computation; by default the array's, but float64 for integers and bool.
    out : ndarray, optional
        Where to put the result.
    ddof : float, default 0
        The divisor is the number of elements minus this.
    keepdims : bool, optional
        Keep the axes, with length one.
    where : array_like of bool, optional
        Which elements to test.
    mean : array_like, optional
        The mean, with its axes kept, if already computed.
    correction : float, optional
        The Array API's name for ``ddof``.

    Returns
    -------
    ndarray
        Real, for complex numbers too; a scalar if no axis is left. NaN or infinite, with a RuntimeWarning, if the
        divisor is not positive.

    Raises
    ------
    AxisError
        The array has no such axis.
    ValueError
        Both ``ddof`` and ``correction`` are given.

    Notes
    -----
    Differences from NumPy: in a trace, a batch and on an accelerator nothing warns where ``where`` chooses too
    few elements.

    Source: https://numpy.org/doc/stable/reference/generated/numpy.var.html

    Examples
    --------
    >>> import tnp as np
    >>> np.var(np.asarray([[1.0, 2.0], [3.0, 4.0]]), axis=0)
    array([1., 1.])
    """
    if dtype is None and out is None and where is True and mean is _NoValue and correction is _NoValue:
        if (found := heads.var(a, axis, ddof, keepdims)) is not None:
            return found
        if ddof == 0 and (found := _directly(_var, a, axis, keepdims, 0)) is not None:
            return found
    target = None if out is None else output_of(out)
    ddof = degrees(ddof, correction)
    return deliver(_variance(a, axis, dtype, ddof, keepdims, where, mean, kernels.var, target), out, target, "var")


def std(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    out: Any = None,
    ddof: float = 0,
    keepdims: Any = False,
    *,
    where: Any = True,
    mean: Any = _NoValue,
    correction: Any = _NoValue,
) -> ndarray:
    """Standard deviation along axes: the square root of the variance.

    Parameters
    ----------
    a : array_like
    axis : int or tuple of int, optional
        Axes to reduce; all by default.
    dtype : dtype_like, optional
        The dtype of the computation; by default the array's, but float64 for integers and bool.
    out : ndarray, optional
        Where to put the result.
    ddof : float, default 0
        The divisor is the number of elements minus this.
    keepdims : bool, optional
        Keep the axes, with length one.
    where : array_like of bool, optional
        Which elements to test.
    mean : array_like, optional
        The mean, with its axes kept, if already computed.
    correction : float, optional
        The Array API's name for ``ddof``.

    Returns
    -------
    ndarray
        Real, for complex numbers too; a scalar if no axis is left. NaN or infinite, with a RuntimeWarning, if the
        divisor is not positive.

    Raises
    ------
    AxisError
        The array has no such axis.
    TypeError
        ``out`` is of integers or bool.
    ValueError
        Both ``ddof`` and ``correction`` are given.

    Notes
    -----
    Differences from NumPy: in a trace, a batch and on an accelerator nothing warns where ``where`` chooses too
    few elements.

    Source: https://numpy.org/doc/stable/reference/generated/numpy.std.html

    Examples
    --------
    >>> import tnp as np
    >>> np.std(np.asarray([[1, 2], [3, 4]]), axis=1)
    array([0.5, 0.5])
    """
    if dtype is None and out is None and where is True and mean is _NoValue and correction is _NoValue:
        if (found := heads.std(a, axis, ddof, keepdims)) is not None:
            return found
        if ddof == 0 and (found := _directly(_std, a, axis, keepdims, 0)) is not None:
            return found
    target = None if out is None else output_of(out)
    spread = _variance(a, axis, dtype, degrees(ddof, correction), keepdims, where, mean, kernels.std, target)
    if target is not None and kernels.is_integer(target.dtype) and target.shape == spread.shape:
        raise TypeError(
            f"a standard deviation can't be cast to {to_numpy[target.dtype]!r}: out must be of a float dtype"
        )
    return deliver(spread, out, target, "std")


def degrees(ddof: Any, correction: Any) -> Any:
    """Return the correction of the divisor, under either of its names."""
    if correction is not _NoValue:
        if ddof != 0:
            raise ValueError("ddof and correction can't be provided simultaneously.")
        ddof = correction
    if isinstance(ddof, (ndarray, np.ndarray, list, tuple)):
        ddof = asarray(ddof)
        ddof = ddof.astype(np.result_type(ddof.dtype, np.int64))  # as the count that it is subtracted from
    if isinstance(ddof, np.generic):
        ddof = ddof.item()
    return long_of(int(ddof)) if isinstance(ddof, int) else ddof  # torch does not subtract booleans


def _variance(
    a: Any, axis: Any, dtype: Any, ddof: Any, keepdims: Any, where: Any, mean: Any, kernel: Any, target: Any
) -> Tensor:
    """Compute the variance or its root, with ``kernel`` ``var`` or ``std``, with all options."""
    if type(a) is Selection:
        a, axis, where = a.reduction(np.add, axis, keepdims, where)
    tensor = tensor_of(a)
    axes = _axes(axis, tensor, where)
    compute = _default_dtype(tensor.dtype) if dtype is None else tensor_dtype(dtype)
    if dtype is None and mean is not _NoValue and not kernels.is_integer(tensor.dtype):
        beside = mean if type(mean) in (int, float, complex) else asarray(mean)
        compute = tensor_dtype(result_type(wrap_array(tensor), beside))
    result = kernels.real_dtype(compute) if dtype is None else compute
    mask = None if where is True else mask_of(where, tensor)
    if mask is None:
        size = kernels.size_of(tensor.shape, axes)
        if size <= ddof:  # NumPy's error for more than one
            warn("Degrees of freedom <= 0 for slice", RuntimeWarning)
        elif (
            mean is _NoValue
            and not (isinstance(ddof, ndarray) and ddof.ndim)
            and axes
            and tensor.numel()
            and (compute.is_complex or not (tensor.is_complex() or kernels.is_integer(compute)))
            and not _is_wider(tensor, compute)
            and not _holds_integers(target)
        ):
            spread = kernel(tensor.dtype, compute)(tensor, axes, kept(keepdims), ddof)
            return cast(kernels.in_memory_order(spread, tensor, axes, kept(keepdims)), result)
    total, count = squares(tensor, axes, kept(keepdims), compute, mask, mean)
    if mask is not None:
        errstate.warn_where(count, lambda: count <= ddof, "Degrees of freedom <= 0 for slice")
    left = kernels.degrees_left(count, ddof.tensor if isinstance(ddof, ndarray) and ddof.ndim else ddof)
    variance = _divided(total, left, result, target)
    if kernel is kernels.var:
        return variance
    return root(variance, result) if target is None else kernels.root(variance)


def root(variance: Tensor, dtype: Any) -> Tensor:
    """Return the deviation in a torch dtype; NumPy takes the roots of an array in place, which integers refuse."""
    if variance.dim():
        np.sqrt.resolve_dtypes((to_numpy[dtype], to_numpy[dtype]))
    return cast(kernels.root(variance), dtype)


def _is_wider(tensor: Tensor, dtype: Any) -> bool:
    """Whether a tensor of floats has more digits than a dtype."""
    sizes = [each.itemsize // (1 + each.is_complex) for each in (tensor.dtype, dtype)]
    return not kernels.is_integer(tensor.dtype) and sizes[0] > sizes[1]


def squares(tensor: Tensor, axes: Any, keepdims: bool, dtype: Any, mask: Any, mean: Any = _NoValue) -> Any:
    """Return the sum of the squared deviations from the mean, and the number of elements."""
    accumulator = _accumulator(dtype)
    narrow = kernels.is_integer(accumulator) or _is_wider(tensor, accumulator)
    if mean is _NoValue:
        # As in NumPy, dtype= is that of the mean and of the sum of squares; the deviations keep their precision.
        if not tensor.is_complex() and not (narrow and (tensor.is_floating_point() or accumulator is BOOL)):
            tensor = cast(tensor, accumulator)
        average = cast(kernels.quotient(*_total(tensor, axes, True, accumulator, mask)), accumulator)
        deviations = kernels.squared_deviation(tensor, average, mask)
    else:
        narrow |= kernels.is_integer(tensor.dtype)
        apart = subtract(wrap_array(tensor), mean).tensor  # integers less an integer wrap round, as in NumPy
        deviations = kernels.squared_deviation(apart, apart.new_zeros(()), mask)
    total, _ = _total(deviations, axes, keepdims, accumulator if narrow else deviations.dtype, None)
    if mask is not None:
        return total, kernels.true_count(mask, tensor.shape, axes, keepdims)
    return total, kernels.size_of(tensor.shape, axes)  # also where a mean with more elements gave more deviations


def median(a: Any, axis: Any = None, out: Any = None, overwrite_input: bool = False, keepdims: Any = False) -> ndarray:
    """Median along axes: the middle value, or the mean of the two.

    Parameters
    ----------
    a : array_like
    axis : int or tuple of int, optional
        Axes to reduce; all by default.
    out : ndarray, optional
        Where to put the result.
    overwrite_input : bool, optional
        Without effect: the input stays unchanged.
    keepdims : bool, optional
        Keep the axes, with length one.

    Returns
    -------
    ndarray
        Of the array's dtype, float64 for integers and bool; a scalar if no axis is left. NaN if there is one, and, with
        a RuntimeWarning, if there are no elements.

    Raises
    ------
    AxisError
        The array has no such axis.

    Notes
    -----
    Source: https://numpy.org/doc/stable/reference/generated/numpy.median.html

    Examples
    --------
    >>> import tnp as np
    >>> np.median(np.asarray([[10, 7, 4], [3, 2, 1]]), axis=0)
    array([6.5, 4.5, 2.5])
    """
    tensor = tensor_of_shape(a, lambda shape: normalize_axes(axis, len(shape)))
    axes = normalize_axes(axis, tensor.dim())
    target = None if out is None else output_tensor(out)
    if keepdims and target is not None:
        target, keepdims = first_along(target, axes, tensor.dim()), False
    result = _default_dtype(tensor.dtype)
    if kernels.size_of(tensor.shape, axes):
        middle = sorting.median(kernels.flattened(tensor, axes), -1, result)
        if keepdims:
            middle = kernels.unflattened(middle, axes, tensor)
        if len(axes) == 1:  # of several axes NumPy makes one, by a copy in C order
            middle = kernels.in_memory_order(middle, tensor, axes, bool(keepdims))
    else:
        warn("Mean of empty slice", RuntimeWarning)
        nothing = kernels.full(reduced_shape(tensor.shape, axes, kept(keepdims)), 0, result, tensor)
        middle = kernels.quotient(nothing, nothing)  # NaN; the error is reported if a check is on
    if target is not None:
        refuse_nan(tensor, target, target.dim())
    return deliver(middle, out, target, "median")


def refuse_nan(tensor: Tensor, target: Tensor, ndim: int) -> None:
    """Raise if a result of ``ndim`` axes is NaN and the target's dtype has none; other values are cast to any dtype."""
    given, wanted = to_numpy[tensor.dtype], to_numpy[target.dtype]
    if not np.can_cast(given, wanted, "same_kind") and sorting.finds_nan(tensor):
        refuse_cast(given, wanted, "same_kind", ndim)


@overload
def average(
    a: Any, axis: Any = None, weights: Any = None, returned: Literal[False] = False, *, keepdims: Any = False
) -> ndarray: ...
@overload
def average(
    a: Any, axis: Any = None, weights: Any = None, *, returned: Literal[True], keepdims: Any = False
) -> tuple[ndarray, ndarray]: ...
@overload
def average(
    a: Any, axis: Any = None, weights: Any = None, returned: bool = False, *, keepdims: Any = False
) -> ndarray | tuple[ndarray, ndarray]: ...
def average(
    a: Any, axis: Any = None, weights: Any = None, returned: bool = False, *, keepdims: Any = False
) -> ndarray | tuple[ndarray, ndarray]:
    """Weighted average along axes.

    Parameters
    ----------
    a : array_like
    axis : int or tuple of int, optional
        Axes to reduce; all by default.
    weights : array_like, optional
        Of the array's shape, or of the shape of the axes; equal ones by default.
    returned : bool, optional
        Also return the sum of the weights.
    keepdims : bool, optional
        Keep the axes, with length one.

    Returns
    -------
    average : ndarray
    sum_of_weights : ndarray
        If ``returned``; of the shape of ``average``.

    Raises
    ------
    TypeError
        The weights have another shape than the array, and there is no axis for them.
    ValueError
        The weights do not have the shape of the axes.
    ZeroDivisionError
        The weights add up to zero.

    Notes
    -----
    Differences from NumPy: in a function compiled for an accelerator, weights that add up to zero give NaN or infinity.

    Source: https://numpy.org/doc/stable/reference/generated/numpy.average.html

    Examples
    --------
    >>> import tnp as np
    >>> np.average(np.asarray([[0, 1], [2, 3], [4, 5]]), axis=1, weights=[0.25, 0.75])
    array([0.75, 2.75, 4.75])
    """
    array = wrap_array(tensor_of(a))
    axes = None if axis is None else normalize_axes(axis, array.ndim, "axis")
    if weights is None:
        averaged = mean(array, axes, keepdims=keepdims)
        share = array.size / averaged.size if averaged.size else 0.0
        number = symbolic.tensor(share) if symbolic.is_symbol(share) else tensor_of(share)
        total = wrap(cast(number, averaged.tensor.dtype))
    else:
        weighing = aligned_weights(tensor_of(weights, device=array.tensor.device), array.tensor, axes)
        dtypes = [array.dtype, to_numpy[weighing.dtype], *([np.dtype(float)] if array.dtype.kind in "biu" else [])]
        dtype = np.result_type(*dtypes)
        wrapped = wrap_array(weighing)
        total = sum(wrapped, axes, dtype, keepdims=keepdims)
        value_checks.expect(total.tensor != 0, value_checks.WEIGHTLESS)
        averaged = divide(sum(multiply(array, wrapped, dtype=dtype), axes, dtype, keepdims=keepdims), total)
    if not returned:
        return averaged
    return averaged, wrap(total.tensor.to(averaged.tensor.device).expand(averaged.shape).clone())


def aligned_weights(weights: Tensor, tensor: Tensor, axes: tuple[int, ...] | None) -> Tensor:
    """Return the weights as they broadcast with the array."""
    if weights.shape == tensor.shape:
        return weights
    if axes is None:
        raise TypeError("Axis must be specified when shapes of a and weights differ.")
    if tuple(weights.shape) != tuple(tensor.shape[axis] for axis in axes):
        raise ValueError("Shape of weights must be consistent with shape of a along specified axis.")
    order = sorted(range(len(axes)), key=axes.__getitem__)
    shape = [n if i in axes else 1 for i, n in enumerate(tensor.shape)]
    return weights.permute(order).reshape(shape)
