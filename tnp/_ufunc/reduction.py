"""Reductions and accumulations of binary ufuncs: one row each, for ``add.reduce`` and ``sum`` alike.

Layer: owns their dtype rule (NumPy's resolver), axes, ``out``, ``where`` and ``initial``. The public functions are in
``_math`` and ``_statistics``.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Collection
from typing import Any

import numpy as np
from numpy.exceptions import ComplexWarning

from backend_torch.kernels import reductions as kernels
from backend_torch.kernels import scans
from backend_torch.kernels.indexing import assign
from backend_torch.tensors.casting import cast
from backend_torch.tensors.constants import constant
from backend_torch.tensors.dtypes import to_numpy
from backend_torch.tensors.memory import copied, may_overlap
from backend_torch.tensors.shape import laid_out_as
from tnp._core.base import ndarray, wrap
from tnp._core.convert import output_tensor, tensor_of, tensor_of_shape
from tnp._core.dtype_table import Loops
from tnp._core.dtypes import native, numpy_dtype, tensor_dtype
from tnp._core.errors import (
    distinct_axes,
    explain,
    int_of,
    long_of,
    reduced_axes,
    refuse_boolean,
    refuse_cast,
    shapes_text,
    warn,
)
from tnp._core.mask_selection import Selection
from tnp._core.strided_views import put_back
from tnp._ufunc.outputs import outputs

Tensor = Any
BOOL = tensor_dtype(bool)
_NoValue: Any = np._NoValue
# torch's errors for an axis out of range or beyond int64, for no elements, or for an option of a wrong type. The
# general path raises NumPy's error instead.
FAILURES = (IndexError, RuntimeError, TypeError, ValueError)
_UNSIGNING = {np.gcd, np.hypot}  # f(x, identity) differs from a negative x, but x must stay where the mask is false
_REORDERABLE = {np.maximum, np.minimum, np.fmax, np.fmin}  # in addition to the ufuncs with an identity


def resolve(ufunc: np.ufunc, given: Any, dtype: Any = None, out: Any = None) -> Any:
    """Return the torch dtype in which NumPy reduces, from the dtypes of the operand, ``dtype=`` and ``out=``."""
    signature = (None if dtype is None else numpy_dtype(dtype), None, None)
    target = None if out is None else to_numpy[out]
    dtypes = (target, to_numpy[given], None)
    result = tensor_dtype(ufunc.resolve_dtypes(dtypes, signature=signature, casting="unsafe", reduction=True)[2])
    if given.is_complex and not result.is_complex and to_numpy[result].kind != "b":
        warn("Casting complex values to real discards the imaginary part", ComplexWarning)
    return result


def is_reorderable(ufunc: np.ufunc) -> bool:
    """Whether NumPy allows a ufunc to combine elements in any order."""
    return ufunc.identity is not None or ufunc in _REORDERABLE


class Reduction:
    """A binary ufunc as a reduction.

    Parameters
    ----------
    ufunc : numpy.ufunc
    kernel : Resolver
    is_direct : bool, optional
        Whether the loops refuse all that NumPy refuses, so that a call without options needs no check before.

    Attributes
    ----------
    loops : Loops
        ``loops[tensor.dtype](tensor, axis, keepdims)`` is the reduction by NumPy's default dtype rule. The axis is an
        int or None (all); the loop raises torch's own errors.
    """

    __slots__ = ("_is_direct", "_kernel", "_numpy", "loops")

    def __init__(self, ufunc: np.ufunc, kernel: kernels.Resolver, is_direct: bool = False) -> None:
        self._numpy = ufunc
        self._kernel = kernel
        self._is_direct = is_direct
        self.loops = Loops(lambda given: kernel(given, resolve(ufunc, given)))

    def reduce(
        self,
        a: Any,
        axis: Any = 0,
        dtype: Any = None,
        out: Any = None,
        keepdims: Any = False,
        initial: Any = _NoValue,
        where: Any = True,
    ) -> Any:
        """Reduce with any of the options of ``numpy.ufunc.reduce``."""
        if (
            self._is_direct
            and isinstance(a, ndarray)
            and (axis is None or axis.__class__ is int)
            and dtype is None
            and out is None
            and initial is _NoValue
            and where is True
        ):
            try:
                tensor = a.tensor
                reduced = self.loops[tensor.dtype](tensor, axis, keepdims)
                return wrap(reduced if tensor.dim() < 3 else kernels.in_memory_order(reduced, tensor, axis, keepdims))
            except FAILURES:
                pass
        if dtype is not None:
            native(dtype)  # TypeError for anything else; NumPy reads all options before the array and the axis
        target = None if out is None else output_of(out)
        keepdims = kept(keepdims)
        if where is not True:
            check_mask(where)
        if type(a) is Selection:
            a, axis, where = a.reduction(self._numpy, axis, keepdims, where)
        tensor = tensor_of_shape(a, lambda shape: reduced_axes(axis, len(shape)), (out, where))
        axes = reduced_axes(axis, tensor.dim())
        result = resolve(self._numpy, tensor.dtype, dtype, None if target is None else target.dtype)
        if len(axes) > 1 and not is_reorderable(self._numpy):
            raise ValueError(
                f"reduction operation '{self._numpy.__name__}' is not reorderable, so at most one axis may be specified"
            )
        mask = None
        if where is not True:
            if initial is None or (initial is _NoValue and self._numpy.identity is None):
                raise ValueError(
                    f"reduction operation '{self._numpy.__name__}' does not have an identity, so to use a where mask "
                    "one has to specify 'initial'"
                )
            mask = mask_of(where, tensor)  # NumPy checks its shape before the initial value
        start = self._start(initial, result)
        if mask is not None and start is not None:
            tensor = cast(tensor, result)
            if not is_reorderable(self._numpy):
                chosen = self._chosen(tensor, mask, axes, keepdims, start)
                return deliver(chosen, out, target, self._numpy.__name__)
            identity = self._start(_NoValue, result)  # maximum and others have none: the initial value may repeat
            tensor = kernels.masked(tensor, mask, start if identity is None else identity)
        given = initial is not _NoValue and initial is not None
        try:
            reduced = self._reduced(tensor, axes, keepdims, result, start, given)
        except RuntimeError as error:
            raise explain(error) from None
        if mask is not None and start is not None and self._numpy in _UNSIGNING:
            chosen = kernels.any(BOOL, BOOL)(mask.expand(tensor.shape), axes, keepdims)
            reduced = kernels.masked(reduced, chosen, start)
        return deliver(reduced, out, target, self._numpy.__name__)

    def _reduced(self, tensor: Tensor, axes: Any, keepdims: bool, result: Any, start: Any, given: bool) -> Tensor:
        size = kernels.size_of(tensor.shape, axes)
        if not size:
            if start is None:
                raise ValueError(f"zero-size array to reduction operation {self._numpy.__name__} which has no identity")
            return kernels.full(reduced_shape(tensor.shape, axes, keepdims), start, result, tensor)
        loop = self._kernel(tensor.dtype, result)
        if not is_reorderable(self._numpy) and given:
            if not axes:
                return self._kernel(result, result)(
                    kernels.after_initial(cast(tensor, result).unsqueeze(0), start, 0), (0,), False
                )
            tensor = kernels.after_initial(cast(tensor, result), start, axes[0])
            return loop(tensor, axes, keepdims)
        reduced = loop(tensor, axes, keepdims) if axes else copied(cast(tensor, result))
        if given or (size == 1 and start is not None):  # hypot.reduce([-3.0]) is hypot(0.0, -3.0)
            reduced = kernels.with_initial(self._kernel(result, result), reduced, start)
        if given and self._numpy is np.add and kernels.may_be_negative_zero(start):
            reduced = kernels.with_negative_zeros(reduced, tensor, start, axes, keepdims)
        return kernels.in_memory_order(reduced, tensor, axes, keepdims)

    def _chosen(self, tensor: Tensor, mask: Tensor, axes: Any, keepdims: bool, start: Tensor) -> Tensor:
        """Reduce the elements under a true mask one by one, in order, after the initial value."""
        shape = reduced_shape(tensor.shape, axes, keepdims)
        if not axes:
            tensor, mask = tensor.unsqueeze(0), mask.expand(tensor.shape).unsqueeze(0)
        if not kernels.size_of(tensor.shape, axes or (0,)):
            return kernels.full(shape, start, start.dtype, tensor)
        loop = self._kernel(start.dtype, start.dtype)
        return kernels.fold_chosen(loop, tensor, mask, axes[0] if axes else 0, start).reshape(shape)

    def _start(self, initial: Any, result: Any) -> Tensor | None:
        """Return the start of the reduction as a 0-d tensor: ``initial``, the ufunc's identity, or None."""
        dtype = to_numpy[result]
        if initial is _NoValue:
            identity = self._numpy.identity
            # The identity of bitwise_and is -1, which wraps around in unsigned dtypes.
            return None if identity is None else constant(np.array(identity).astype(dtype)[()], dtype)
        if initial is None:
            return None
        if isinstance(initial, ndarray) and not initial.ndim:
            return cast(initial.tensor, result)
        if isinstance(initial, (list, tuple, dict)):
            if dtype.kind == "b":  # Python's truth, as of any object
                return constant(bool(initial), dtype)
            error = ValueError if dtype.kind == "f" and not isinstance(initial, dict) else TypeError
            raise error("setting an array element with a sequence.")
        if np.ndim(initial):
            if dtype.kind == "c":
                raise TypeError("only 0-dimensional arrays can be converted to Python scalars")
            raise ValueError("setting an array element with a sequence.")
        return constant(initial if isinstance(initial, (int, float, complex)) else np.asarray(initial)[()], dtype)


class Accumulation:
    """A binary ufunc as a scan.

    Attributes
    ----------
    loops : Loops
        ``loops[tensor.dtype](tensor, axis)`` is the accumulation by NumPy's default dtype rule.
    """

    __slots__ = ("_kernel", "_numpy", "loops")

    def __init__(self, ufunc: np.ufunc, kernel: kernels.Resolver) -> None:
        self._numpy = ufunc
        self._kernel = kernel
        self.loops = Loops(lambda given: kernel(given, resolve(ufunc, given)))

    def accumulate(self, a: Any, axis: Any = 0, dtype: Any = None, out: Any = None) -> Any:
        """Accumulate with the options of ``numpy.ufunc.accumulate``."""
        if dtype is not None:
            native(dtype)  # TypeError for anything else, before errors of the axis
        target = None if out is None else output_of(out)
        if axis is not None and not isinstance(axis, tuple):
            operator.index(axis)
        tensor = tensor_of_shape(a, lambda shape: None, (out,))
        if not tensor.dim():
            raise TypeError("cannot accumulate on a scalar")
        refuse_boolean(axis)
        axes = distinct_axes(axis, tensor.dim())
        if len(axes) != 1:
            raise ValueError("accumulate does not allow multiple axes")
        (dim,) = axes
        if target is not None and may_overlap(tensor, target):  # its derivative needs the old values
            tensor = copied(tensor)
        result = resolve(self._numpy, tensor.dtype, dtype, None if target is None else target.dtype)
        try:
            scanned = laid_out_as(self._kernel(tensor.dtype, result)(tensor, dim), tensor)
        except RuntimeError as error:
            raise explain(error) from None
        if target is not None and target.shape != scanned.shape:
            raise ValueError(
                f"provided out is the wrong size for the accumulation: {shapes_text([target.shape])}, not "
                f"{shapes_text([scanned.shape])}"
            )
        return deliver(scanned, out, target, self._numpy.__name__)


def reduction(ufunc: np.ufunc, function: Callable[[Tensor, Tensor], Tensor]) -> Reduction:
    """Return the reduction of a binary ufunc: its own row, or else ``function`` folded along the axis."""
    return _REDUCTIONS.get(ufunc) or Reduction(ufunc, kernels.folded(function, is_reorderable(ufunc)))


def accumulation(ufunc: np.ufunc, function: Callable[[Tensor, Tensor], Tensor]) -> Accumulation:
    """Return the accumulation of a binary ufunc: its own row, or else ``function`` along the axis."""
    return _ACCUMULATIONS.get(ufunc) or Accumulation(ufunc, scans.scanned(function, is_reorderable(ufunc)))


def kept(keepdims: Any) -> bool:
    """Read ``keepdims``: as in NumPy, anything but an integer is an error, whatever its truth."""
    if isinstance(keepdims, float):
        raise TypeError("integer argument expected, got float")
    return keepdims is not False and int_of(long_of(keepdims)) != 0


def reduced_shape(shape: Any, axes: tuple[int, ...], keepdims: bool) -> tuple[int, ...]:
    """Return the shape without the axes, or with ones in their place."""
    if keepdims:
        return tuple([1 if i in axes else n for i, n in enumerate(shape)])
    return tuple([n for i, n in enumerate(shape) if i not in axes])


def check_mask(where: Any) -> None:
    """Raise TypeError if ``where`` is an array of another dtype than bool: NumPy checks this first."""
    if isinstance(where, (ndarray, np.ndarray)):
        refuse_cast(where.dtype, np.dtype(bool), "safe", where.ndim)


def mask_of(where: Any, tensor: Tensor) -> Tensor:
    """Return a ``where`` argument as a mask that broadcasts to the tensor's shape."""
    mask = tensor_of(where, device=tensor.device)
    given, shape = tuple(mask.shape), tuple(tensor.shape)
    try:
        broadcast = shape if given == shape else np.broadcast_shapes(given, shape)
    except ValueError:
        raise ValueError(
            f"operands could not be broadcast together: the array has shape {shapes_text([shape])}, where "
            f"{shapes_text([given])}"
        ) from None
    if broadcast != shape:
        raise ValueError(
            f"non-broadcastable operand with shape {shapes_text([shape])} doesn't match the broadcast shape "
            f"{shapes_text([broadcast])}"
        )
    check_mask(where)
    return cast(mask, BOOL)


def output_of(out: Any) -> Tensor:
    """Return the tensor of an ``out`` argument."""
    (out,) = outputs(1, out)
    return output_tensor(out)


def first_along(target: Tensor, axes: Collection[int], ndim: int) -> Tensor:
    """Return the part of ``out`` for a result with kept axes, along which NumPy allows a longer output."""
    return target[(..., *[0 if axis in axes else slice(None) for axis in range(ndim)])]


def deliver(result: Tensor, out: Any, target: Tensor | None, name: str) -> Any:
    """Return the result as a new array, or write it to ``out``, which must have its shape."""
    if target is None:
        return wrap(result)
    if target.dim() != result.dim():
        raise ValueError(
            f"output parameter for reduction operation {name} has the wrong number of dimensions: Found "
            f"{target.dim()} but expected {result.dim()}"
        )
    if target.shape != result.shape:
        raise ValueError(
            f"output parameter for {name} has shape {shapes_text([target.shape])}, the result "
            f"{shapes_text([result.shape])}: operands could not be broadcast together"
        )
    assign(target, cast(result, target.dtype))
    return put_back(out[0] if isinstance(out, tuple) else out, target)


SUM = Reduction(np.add, kernels.sum, is_direct=True)
PROD = Reduction(np.multiply, kernels.prod, is_direct=True)
MAX = Reduction(np.maximum, kernels.max, is_direct=True)
MIN = Reduction(np.minimum, kernels.min, is_direct=True)
FMAX = Reduction(np.fmax, kernels.nanmax)
FMIN = Reduction(np.fmin, kernels.nanmin)
ANY = Reduction(np.logical_or, kernels.any, is_direct=True)
ALL = Reduction(np.logical_and, kernels.all, is_direct=True)
_REDUCTIONS: dict[Any, Reduction] = {
    np.add: SUM,
    np.multiply: PROD,
    np.maximum: MAX,
    np.minimum: MIN,
    np.fmax: FMAX,
    np.fmin: FMIN,
    np.logical_or: ANY,
    np.logical_and: ALL,
}

CUMSUM = Accumulation(np.add, scans.sum)
CUMPROD = Accumulation(np.multiply, scans.prod)
CUMMAX = Accumulation(np.maximum, scans.max)
CUMMIN = Accumulation(np.minimum, scans.min)
_ACCUMULATIONS: dict[Any, Accumulation] = {
    np.add: CUMSUM,
    np.multiply: CUMPROD,
    np.maximum: CUMMAX,
    np.minimum: CUMMIN,
    np.logical_or: Accumulation(np.logical_or, scans.any),
    np.logical_and: Accumulation(np.logical_and, scans.all),
}
