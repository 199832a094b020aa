"""Reductions: kernels that remove axes, and the folding of any binary kernel along an axis.

Layer: owns the torch code that reduces a dtype, the dtype in which it accumulates, and its cost. The caller chooses
axes, dtypes and identities.

A kernel's ``resolve(given, result)`` is the callable ``loop(tensor, axes, keepdims)`` for tensors of dtype ``given``
that computes in dtype ``result``. ``axes`` is an int, a non-empty tuple, or None for all.
"""

from __future__ import annotations

import math
from bisect import bisect
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch

from backend_torch.autodiff.autodiff import may_be_differentiated
from backend_torch.kernels import graph_operations, host
from backend_torch.kernels.order import complex_extreme, ordered, restored
from backend_torch.kernels.selection import where
from backend_torch.native import heads
from backend_torch.tensors import trace_state
from backend_torch.tensors.casting import cast
from backend_torch.tensors.constants import is_constant
from backend_torch.tensors.dtypes import REAL_OF, SIGNED
from backend_torch.tensors.memory import is_readable, known
from backend_torch.tensors.out_of_memory import explaining
from backend_torch.tensors.shape import has_sizes, iterated_axes, laid_out

Tensor = torch.Tensor
Loop = Callable[..., Tensor]
Binary = Callable[[Tensor, Tensor], Tensor]
Axes = int | tuple[int, ...] | None


Resolver = Callable[[torch.dtype, torch.dtype], Loop]
"""``resolve(given, result)`` is the loop for tensors of dtype ``given`` that computes in dtype ``result``."""


def is_integer(dtype: torch.dtype) -> bool:
    """Whether the dtype holds whole numbers or booleans."""
    return not (dtype.is_floating_point or dtype.is_complex)


def accumulator(function: Loop, boolean: Resolver, counting: Loop | None = None) -> Resolver:
    """Return the kernel of a reduction or scan that adds or multiplies, in a chosen dtype.

    Parameters
    ----------
    function : callable
        ``function(tensor, *dims, dtype=...)``; without ``dtype``, integers accumulate in int64.
    boolean : Resolver
        The operation on booleans: ``any`` for a sum.
    counting : callable, optional
        ``counting(tensor, *dims)`` is the function of booleans in int64, if that is another one.
    """

    def resolve(given: torch.dtype, result: torch.dtype) -> Loop:
        if result is torch.bool:
            return boolean(given, result)
        if given is torch.bool and result is torch.int64 and counting is not None:
            return counting
        if given not in SIGNED and result is (torch.int64 if is_integer(given) else given):
            return function
        if result in SIGNED:
            signed = SIGNED[result]  # the sum modulo 2**bits is the same for the signed type
            if given is result:
                return lambda t, *dims: function(t.view(signed), *dims, dtype=signed).view(result)
            if is_integer(given):
                return lambda t, *dims: function(t.to(signed), *dims, dtype=signed).view(result)
            return lambda t, *dims: function(cast(t, result).view(signed), *dims, dtype=signed).view(result)
        if (given.is_complex and not result.is_complex) or (is_integer(result) and not is_integer(given)):
            return lambda t, *dims: function(cast(t, result), *dims, dtype=result)  # integers have no gradient
        if result.is_complex and not given.is_complex:  # torch's derivative for dtype= would be complex
            return lambda t, *dims: function(t.to(result), *dims)
        return lambda t, *dims: function(t, *dims, dtype=result)

    return resolve


_WHOLE: dict[str, tuple[Callable[..., Any], Loop]] = {}
_HEADS: dict[str, tuple[Any, ...]] = {  # with what they are given after the axes
    "logical_or": (heads.any, True), "logical_and": (heads.all, True), "argmax": (heads.argmax,),
    "argmin": (heads.argmin,), "max": (heads.max, np._NoValue, True), "min": (heads.min, np._NoValue, True),
}  # fmt: skip


def _whole(name: str, by_numpy: Callable[..., Any], steps: Loop) -> Loop:
    """Return a reduction that is one operation in a plain trace, where Inductor's loops have no vectors."""
    _WHOLE[name] = by_numpy, steps

    def computed(tensor: Tensor, axes: Axes, keepdims: bool) -> Tensor:
        if trace_state.is_tracing() and _has_one_layout(tensor, axes, keepdims):
            return _reduced(tensor, [axes] if isinstance(axes, int) else axes, keepdims, name)
        return steps(tensor, axes, keepdims)

    return computed


def _has_one_layout(tensor: Tensor, axes: Axes, keepdims: bool) -> bool:
    """Whether the result's layout is known: that of one axis at most, or of an operand in C order."""
    left = 0 if axes is None else tensor.dim() - (1 if isinstance(axes, int) else len(axes))
    return host.is_plain(tensor) or (left < 2 and not keepdims and tensor.is_cpu and has_sizes(tensor))


def _axes_of(axes: Sequence[int] | None) -> Any:
    return axes if axes is None else axes[0] if len(axes) == 1 else tuple(axes)


def _by_numpy(tensor: Tensor, axes: Sequence[int] | None, keepdims: bool, name: str) -> Tensor:
    if (found := _by_head(tensor, axes, keepdims, name)) is None:
        by_numpy, _ = _WHOLE[name]
        found = host.called(by_numpy, tensor, _axes_of(axes), keepdims=keepdims)
    return found


def _by_head(tensor: Tensor, axes: Sequence[int] | None, keepdims: bool, name: str) -> Any:
    """Return what the native head of a reduction gives, as in eager code; None if it refuses."""
    if name not in _HEADS:
        return None
    head, *rest = _HEADS[name]
    return heads.on_tensors(head, tensor, _axes_of(axes), None, keepdims, *rest)


def _by_steps(tensor: Tensor, axes: Sequence[int] | None, keepdims: bool, name: str) -> Tensor:
    _, steps = _WHOLE[name]
    return steps(tensor, _axes_of(axes), keepdims)


_reduced = graph_operations.operation(
    "reduce(Tensor tensor, int[]? axes, bool keepdims, str name) -> Tensor", _by_numpy, _by_steps
)


def amax(tensor: Tensor, axes: list[int] | tuple[int, ...] = (), keepdims: bool = False) -> Tensor:
    """Compute torch's operation of a graph by what eager code calls."""
    found: Tensor | None = _by_head(tensor, axes or None, keepdims, "max")
    return torch.amax(tensor, axes, keepdims) if found is None else found


def amin(tensor: Tensor, axes: list[int] | tuple[int, ...] = (), keepdims: bool = False) -> Tensor:
    """Compute torch's operation of a graph by what eager code calls."""
    found: Tensor | None = _by_head(tensor, axes or None, keepdims, "min")
    return torch.amin(tensor, axes, keepdims) if found is None else found


def _extreme(function: Loop, largest: bool) -> Resolver:
    """The largest or smallest element, NaN if there is one; complex numbers by real part, then imaginary part."""

    def resolve(given: torch.dtype, result: torch.dtype) -> Loop:
        if given is result is torch.bool:  # torch takes ten times NumPy's time, but refuses no elements
            logical = (any if largest else all)(given, result)
            return lambda t, axes, keepdims: (logical if t.numel() else function)(t, axes, keepdims)
        if given is not result:
            loop = resolve(result, result)
            return lambda t, axes, keepdims: loop(cast(t, result), axes, keepdims)
        if given in SIGNED:
            return lambda t, axes, keepdims: restored(function(ordered(t), axes, keepdims), given)
        if given.is_complex:
            return lambda t, axes, keepdims: _complex_extreme(t, axes, keepdims, largest)
        return function if given in (torch.float16, torch.bfloat16) else of_views

    ufunc: Any = np.maximum if largest else np.minimum

    def of_views(tensor: Tensor, axes: Axes, keepdims: bool) -> Tensor:
        """torch has vectors for elements side by side only: of every second one it takes 12 times NumPy's time.

        It has none for the smallest of int64.
        """
        is_fast = tensor.is_contiguous() and (largest or tensor.dtype is not torch.int64)
        if is_fast or not host.computes(tensor) or not tensor.numel():
            return function(tensor, axes, keepdims)
        return host.wrapped(ufunc.reduce(host.array(tensor), axis=axes, keepdims=keepdims))

    return resolve


def _logical(function: Loop, ufunc: np.ufunc) -> Resolver:
    """Whether any or all elements are true; the result is always bool.

    torch first converts all numbers to booleans; NumPy stops at the first that decides.
    """

    def by_torch(tensor: Tensor, axes: Axes, keepdims: bool) -> Tensor:
        given = tensor.dtype
        if given in SIGNED:
            tensor = tensor.view(SIGNED[given])  # CUDA has no kernel for these
        found = function(tensor, axes, keepdims)
        return found.view(torch.bool) if given is torch.uint8 else found  # uint8 gives uint8, zeros and ones

    otherwise = _whole(ufunc.__name__, ufunc.reduce, by_torch)

    def loop(tensor: Tensor, axes: Axes, keepdims: bool) -> Tensor:
        array = host.arrays(tensor)
        if array is not None:
            return host.wrapped(ufunc.reduce(array[0], axis=axes, keepdims=keepdims))
        return otherwise(tensor, axes, keepdims)

    return lambda given, result: loop


def folded(function: Binary, associative: bool) -> Resolver:
    """Return any binary kernel as a reduction: it is folded along the axes, one axis after the other.

    Parameters
    ----------
    function : callable
        ``function(left, right)``, elementwise, on tensors of the result's dtype.
    associative : bool
        Whether the elements may be combined in any order.
    """

    def resolve(given: torch.dtype, result: torch.dtype) -> Loop:
        def loop(tensor: Tensor, axes: Axes, keepdims: bool) -> Tensor:
            tensor = cast(tensor, result)
            for dim in reversed(_dims(axes, tensor)):
                tensor = fold(function, tensor, dim, associative)
                if keepdims:
                    tensor = tensor.unsqueeze(dim)
            return tensor

        return loop

    return resolve


def fold(function: Binary, tensor: Tensor, dim: int, associative: bool) -> Tensor:
    """Fold ``function`` over all elements along ``dim``, which holds at least one and is removed.

    Elements are folded one by one. If ``associative``, which here also means commutative, one half is combined with
    the other, so the function is called log2(n) times.
    """
    if tensor.shape[dim] == 1:
        return tensor.squeeze(dim).clone()
    if not associative:
        first, *others = tensor.unbind(dim)
        for other in others:
            first = function(first, other)
        return first
    while (size := tensor.shape[dim]) > 1:
        half = size // 2
        folded = function(tensor.narrow(dim, 0, half), tensor.narrow(dim, half, half))
        tensor = torch.cat([folded, tensor.narrow(dim, 2 * half, 1)], dim) if size % 2 else folded
    return tensor.squeeze(dim)


def fold_chosen(loop: Loop, tensor: Tensor, mask: Tensor, dim: int, start: Tensor) -> Tensor:
    """Reduce ``start`` with the elements along ``dim`` where the mask is true, one by one.

    There is at least one element along ``dim``.
    """
    result = start.to(tensor.device).expand(tensor.select(dim, 0).shape)
    for element, chosen in zip(tensor.unbind(dim), mask.expand(tensor.shape).unbind(dim), strict=True):
        result = where(chosen, with_initial(loop, element, result), result)
    return result


WRONG_IN_TURN = {np.power, np.arctan2}
"""NumPy's reductions by these are wrong with AVX-512: a vector is computed where one result is the next operand."""


def reduceat(
    ufunc: np.ufunc,
    function: Binary,
    tensor: Tensor,
    indices: Tensor,
    dim: int,
    associative: bool,
    report: host.Report | None = None,
) -> Tensor:
    """``ufunc.reduceat`` in the tensor's own dtype, whose kernel is ``function``: see `segment_fold`.

    NumPy's loop calls ``report`` for floating-point errors; the caller finds those of the kernel.
    """
    if ufunc not in WRONG_IN_TURN and host.computes(tensor, indices):
        array = host.array(tensor)
        char = array.dtype.char
        if f"{char}{char}->{char}" in ufunc.types:
            with host.errors_to(report):
                return host.wrapped(ufunc.reduceat(array, host.array(indices), dim, dtype=array.dtype))
    return segment_fold(function, tensor, indices, dim, associative)


@explaining
def segment_fold(function: Binary, tensor: Tensor, indices: Tensor, dim: int, associative: bool) -> Tensor:
    """``function`` folded over the slices ``indices[i]:indices[i + 1]`` along ``dim`` (``numpy.ufunc.reduceat``).

    The last slice runs to the end; one that would be empty or run backwards is its first element. The indices are in
    range.
    """
    dtype = tensor.dtype
    size = tensor.shape[dim]
    if dtype in SIGNED:  # torch moves elements of the signed type, which has the same bits
        signed = SIGNED[dtype]

        def through_unsigned(left: Tensor, right: Tensor) -> Tensor:
            return function(left.view(dtype), right.view(dtype)).view(signed)

        return segment_fold(through_unsigned, tensor.view(signed), indices, dim, associative).view(dtype)
    ends = torch.cat([indices[1:], indices.new_full((1,), size)]) if len(indices) else indices
    lengths = (ends - indices).clamp(min=1)
    longest = int(lengths.max()) if len(indices) else 1
    if not associative:
        folded = tensor.index_select(dim, indices)
        for step in range(1, longest):
            (going,) = torch.nonzero(lengths > step, as_tuple=True)
            left = folded.index_select(dim, going)
            right = tensor.index_select(dim, indices[going] + step)
            folded = folded.index_copy(dim, going, function(left, right))
        return folded
    # The segments lie side by side; neighbours in each are folded until each has one element.
    folded = tensor.index_select(dim, _positions(indices, lengths))
    while longest > 1:
        starts = lengths.cumsum(0) - lengths
        halves = (lengths + 1) // 2
        left = _positions(starts, halves, step=2)
        has_right = left + 1 < torch.repeat_interleave(starts + lengths, halves)
        (going,) = torch.nonzero(has_right, as_tuple=True)
        pairs = left[going]
        combined = function(folded.index_select(dim, pairs), folded.index_select(dim, pairs + 1))
        folded = folded.index_select(dim, left).index_copy(dim, going, combined)
        lengths, longest = halves, (longest + 1) // 2
    return folded


def _positions(starts: Tensor, lengths: Tensor, step: int = 1) -> Tensor:
    """Concatenate ``starts[i] + step * (0, 1, ..., lengths[i] - 1)`` for each i."""
    within = torch.arange(int(lengths.sum()), device=starts.device)
    return torch.repeat_interleave(starts - step * (lengths.cumsum(0) - lengths), lengths) + step * within


def _dims(axes: Axes, tensor: Tensor) -> tuple[int, ...]:
    """Return the axes in ascending order; none for a 0-d tensor, which accepts axis 0 without having it."""
    ndim = tensor.dim()
    if axes is None:
        return tuple(range(ndim))
    dims = axes if isinstance(axes, tuple) else (axes,)
    for dim in dims:
        if not -(ndim or 1) <= dim < (ndim or 1):
            raise IndexError(f"axis {dim} of a tensor of {ndim} dimensions")  # as torch does
    return tuple(sorted([dim % ndim for dim in dims])) if ndim else ()


def flattened(tensor: Tensor, axes: Axes) -> Tensor:
    """Merge the axes into one, the last; their elements stay in C order."""
    dims = _dims(axes, tensor)
    if not dims:
        return tensor.unsqueeze(-1)
    moved = tensor.movedim(dims, tuple(range(-len(dims), 0)))
    return moved if len(dims) == 1 else moved.flatten(-len(dims))


def in_memory_order(reduced: Tensor, tensor: Tensor, axes: Axes, keepdims: bool) -> Tensor:
    """Return a result with the order of the operand's axes in memory, which NumPy's iterator gives it."""
    if reduced.dim() < 2 or not has_sizes(tensor) or tensor.is_contiguous():
        return reduced
    order = iterated_axes(tensor)
    if not keepdims:
        removed = _dims(axes, tensor)
        order = tuple([axis - bisect(removed, axis) for axis in order if axis not in removed])
    return laid_out(reduced, order)


def unflattened(tensor: Tensor, axes: Axes, source: Tensor) -> Tensor:
    """Return a reduced ``tensor`` with the removed axes of ``source`` as axes of length 1."""
    for dim in _dims(axes, source):
        tensor = tensor.unsqueeze(dim)
    return tensor


def _complex_extreme(tensor: Tensor, axes: Axes, keepdims: bool, largest: bool) -> Tensor:
    line = flattened(tensor, axes)
    extreme = line.gather(-1, complex_extreme(line, -1, largest)).squeeze(-1)
    return (unflattened(extreme, axes, tensor) if keepdims else extreme).clone()  # a view would have a base


def _prod(tensor: Tensor, axes: Axes, keepdims: bool, dtype: torch.dtype | None = None) -> Tensor:
    """torch.prod over several axes: torch takes one at a time (https://github.com/pytorch/pytorch/issues/56586)."""
    if isinstance(axes, int):
        return torch.prod(tensor, axes, keepdims, dtype=dtype)
    if axes is None and not keepdims:
        return torch.prod(tensor, dtype=dtype)
    dims = _dims(axes, tensor)
    if not dims:
        return torch.prod(tensor, dtype=dtype)
    for dim in reversed(dims):
        tensor = torch.prod(tensor, dim, keepdims, dtype=dtype)
    return tensor


def _nan_extreme(extreme: Resolver, function: Binary, ufunc: np.ufunc, least: float) -> Resolver:
    """The largest or smallest element that is not NaN; NaN if all are.

    Where NumPy can compute, its loop takes a quarter of the time of folding halves. Derivatives are shared by all equal
    extremes.
    """

    def resolve(given: torch.dtype, result: torch.dtype) -> Loop:
        if is_integer(result):
            return extreme(given, result)
        if result.is_complex:
            of_pair = extreme(result, result)

            def chosen(left: Tensor, right: Tensor) -> Tensor:
                larger = of_pair(torch.stack([left, right]), 0, False)
                return torch.where(left.isnan(), right, torch.where(right.isnan(), left, larger))

            fold = folded(chosen, associative=True)(given, result)
            return lambda tensor, axes, keepdims: fold(tensor, axes, keepdims).clone()
        otherwise = folded(function, associative=True)(given, result)
        of_numbers, every = extreme(result, result), all(torch.bool, torch.bool)

        def differentiable(tensor: Tensor, axes: Axes, keepdims: bool) -> Tensor:
            missing = tensor.isnan()
            found = of_numbers(torch.where(missing, least, tensor), axes, keepdims)
            return torch.where(every(missing, axes, keepdims), torch.nan, found)

        whole = differentiable  # NumPy has no bfloat16
        if result is not torch.bfloat16:
            whole = _whole(f"{ufunc.__name__} of {result}", ufunc.reduce, differentiable)

        def loop(tensor: Tensor, axes: Axes, keepdims: bool) -> Tensor:
            if tensor.numel() and may_be_differentiated(tensor):
                return whole(cast(tensor, result), axes, keepdims)
            if not tensor.numel() or not host.computes(tensor):
                return otherwise(tensor, axes, keepdims)
            with np.errstate(all="ignore"):
                return host.wrapped(ufunc.reduce(host.array(cast(tensor, result)), axis=axes, keepdims=keepdims))

        return loop

    return resolve


def count(mask: Tensor, axes: Axes, keepdims: bool) -> Tensor:
    """Count the true elements of a mask, as int64, without torch's int64 copy of the whole mask."""
    array = host.arrays(mask)
    if array is None:
        return torch.sum(mask, axes, keepdims)
    return host.wrapped(np.sum(array[0], axis=axes, dtype=np.int64, keepdims=keepdims))


any = _logical(torch.any, np.logical_or)
all = _logical(torch.all, np.logical_and)
sum = accumulator(torch.sum, any, count)
prod = accumulator(_prod, all)
max = _extreme(torch.amax, largest=True)
min = _extreme(torch.amin, largest=False)
nanmax = _nan_extreme(max, torch.fmax, np.fmax, -torch.inf)
nanmin = _nan_extreme(min, torch.fmin, np.fmin, torch.inf)


def nansum(dtype: torch.dtype) -> Loop:
    """Sum float or complex numbers, with NaN as zero."""
    if dtype.is_complex:
        return lambda t, axes, keepdims: torch.sum(without_nan(t, 0), axes, keepdims)
    return torch.nansum


def argextreme(dtype: torch.dtype, largest: bool) -> Loop:
    """The index of the first largest or smallest element, or of the first NaN: ``loop(tensor, axis, keepdims)``."""
    by_numpy, otherwise = (np.argmax, _argmax) if largest else (np.argmin, _argmin)

    def loop(tensor: Tensor, axis: int | None, keepdims: bool) -> Tensor:
        if not host.computes(tensor):
            return otherwise(tensor, axis, bool(keepdims))
        return host.wrapped(by_numpy(host.array(tensor), axis, keepdims=keepdims))

    return loop


def _argextreme(dtype: torch.dtype, largest: bool) -> Loop:
    """`argextreme` by torch."""
    function = torch.argmax if largest else torch.argmin

    def plain(tensor: Tensor, axis: int | None, keepdims: bool) -> Tensor:
        if axis is None and keepdims:  # torch.vmap keeps one axis of all
            return function(tensor.reshape(-1), 0).reshape((1,) * tensor.dim())
        return function(tensor, axis, keepdims)

    if dtype is torch.bool or dtype in SIGNED:
        return lambda t, axis, keepdims: plain(ordered(t), axis, keepdims)
    if dtype.is_complex:

        def loop(tensor: Tensor, axis: int | None, keepdims: bool) -> Tensor:
            line = flattened(tensor, axis)
            index = complex_extreme(line, -1, largest).squeeze(-1)
            return unflattened(index, axis, tensor) if keepdims else index

        return loop
    return plain


_argmax = _whole("argmax", np.argmax, lambda t, axis, keepdims: _argextreme(t.dtype, True)(t, axis, keepdims))
_argmin = _whole("argmin", np.argmin, lambda t, axis, keepdims: _argextreme(t.dtype, False)(t, axis, keepdims))


def mean(given: torch.dtype, result: torch.dtype) -> Loop:
    """Return the mean in a float or complex dtype; float16 accumulates in float32."""
    if given is result:
        return torch.mean
    if given.is_complex and not result.is_complex:
        return lambda t, axes, keepdims: torch.mean(t.real, axes, keepdims, dtype=result)
    if result.is_complex and not given.is_complex:  # torch's derivative for dtype= would be complex
        return lambda t, axes, keepdims: torch.mean(t.to(result), axes, keepdims)
    return lambda t, axes, keepdims: torch.mean(t, axes, keepdims, dtype=result)


def var(given: torch.dtype, result: torch.dtype) -> Loop:
    """Return the variance, computed in a float or complex dtype; it is real for complex numbers too.

    ``loop(tensor, axes, keepdims, correction)``; the correction is less than the number of elements.
    """
    if given is result:
        return _var
    return lambda t, axes, keepdims, correction: _var(cast(t, result), axes, keepdims, correction)


def std(given: torch.dtype, result: torch.dtype) -> Loop:
    """The square root of ``var``."""
    if given is result:
        return _std
    return lambda t, axes, keepdims, correction: _std(cast(t, result), axes, keepdims, correction)


def _var(tensor: Tensor, axes: Axes, keepdims: bool, correction: float) -> Tensor:
    if _takes_two_passes(tensor, axes):
        return _two_passes(tensor, axes, keepdims, correction)
    return torch.var(tensor, axes, correction=correction, keepdim=keepdims)


def _std(tensor: Tensor, axes: Axes, keepdims: bool, correction: float) -> Tensor:
    if _takes_two_passes(tensor, axes):
        return _two_passes(tensor, axes, keepdims, correction).sqrt_()
    if tensor.dtype is torch.float32 and not may_be_differentiated(tensor):  # torch does not round the variance
        return torch.var(tensor, axes, correction=correction, keepdim=keepdims).sqrt_()
    return torch.std(tensor, axes, correction=correction, keepdim=keepdims)


def _takes_two_passes(tensor: Tensor, axes: Axes) -> bool:
    """Whether two passes are faster: torch's one pass, which updates a mean and a sum, can take seven times as long."""
    return (
        tensor.dtype in (torch.float32, torch.float64)
        and tensor.is_cpu
        and axes is not None
        and (1 if isinstance(axes, int) else len(axes)) < tensor.dim()
        and is_readable(tensor)
        and not (trace_state.is_tracing() or torch.compiler.is_compiling())
        and not may_be_differentiated(tensor)
    )


def _two_passes(tensor: Tensor, axes: Axes, keepdims: bool, correction: float) -> Tensor:
    """Return the mean of the squared distances from the mean, as NumPy computes it."""
    deviation = tensor - tensor.mean(axes, keepdim=True)
    count = math.prod([tensor.size(axis) for axis in _dims(axes, tensor)])
    return deviation.mul_(deviation).sum(axes, keepdim=keepdims).div_(count - correction)


def squared_deviation(tensor: Tensor, mean: Tensor, mask: Tensor | None = None) -> Tensor:
    """Return ``|tensor - mean|**2``, which is real, and float32 for float16; zero where the mask is false."""
    if mean.dtype is torch.bool:
        if tensor.dtype is torch.bool:
            raise TypeError(
                "numpy boolean subtract, the `-` operator, is not supported, use the bitwise_xor, the `^` operator, or "
                "the logical_xor function instead."
            )
        mean = mean.to(tensor.dtype)
    if tensor.dtype in SIGNED:
        signed = SIGNED[tensor.dtype]  # the signed type has the same bits, even when they wrap around
        return squared_deviation(tensor.view(signed), mean.view(signed), mask).view(tensor.dtype)
    if tensor.dtype in (torch.float16, torch.bfloat16):
        tensor = tensor.float()
    if mean.dtype in SIGNED:
        mean = mean.double()  # torch promotes these to no complex dtype
    deviation = tensor - mean
    if mask is not None:
        deviation = masked(deviation, mask, 0)
    return deviation.real.square() + deviation.imag.square() if deviation.is_complex() else deviation.square()


def count_nonzero(tensor: Tensor, axes: Axes, keepdims: bool) -> Tensor:
    """Count the elements that are not zero, as int64."""
    if tensor.dtype in SIGNED:
        tensor = tensor.view(SIGNED[tensor.dtype])
    if axes is None and not keepdims:
        return torch.count_nonzero(tensor)
    if axes == ():
        return (tensor != 0).to(torch.int64)
    counted = count(tensor if tensor.dtype is torch.bool else tensor != 0, axes, keepdims)
    return in_memory_order(counted, tensor, axes, keepdims)


def true_count(mask: Tensor, shape: tuple[int, ...], axes: tuple[int, ...], keepdims: bool) -> Tensor:
    """Count the elements that a mask, broadcast to ``shape``, chooses along the axes."""
    mask = mask.expand(shape)
    return count(mask, axes, keepdims) if axes else mask.to(torch.int64)


def total(tensor: Tensor, axes: tuple[int, ...], keepdims: bool) -> Tensor:
    """Sum in the tensor's own dtype; over no axes, return the tensor itself."""
    if not axes:
        return tensor
    return in_memory_order(sum(tensor.dtype, tensor.dtype)(tensor, axes, keepdims), tensor, axes, keepdims)


def quotient(total: Tensor, count: Tensor | float) -> Tensor:
    """Divide a sum by the number of elements; none give NaN or infinity, integers give float64."""
    if is_integer(total.dtype):
        total = total.to(torch.float64)
    if isinstance(count, Tensor):
        count = count.to(real_dtype(total.dtype))
    return total / count


def degrees_left(count: Tensor | float, ddof: float) -> Tensor | float:
    """Return the divisor of a variance of so many elements, at least zero."""
    if isinstance(count, Tensor) and isinstance(ddof, float):
        count = count.double()  # torch would subtract a float from integers in float32
    left = count - ddof
    return left.clamp(min=0) if isinstance(left, Tensor) else left if left > 0 else 0


def root(tensor: Tensor) -> Tensor:
    """Return the square root of a sum of squares, with the derivative zero at zero, as torch's norms have it."""
    if not may_be_differentiated(tensor):
        return torch.sqrt(tensor)
    is_zero = tensor == 0
    return torch.where(is_zero, 0.0, torch.sqrt(torch.where(is_zero, 1.0, tensor)))


def size_of(shape: tuple[int, ...], axes: tuple[int, ...]) -> int:
    """Return the number of elements that each result reduces."""
    return math.prod([shape[axis] for axis in axes])


def masked(tensor: Tensor, mask: Tensor, fill: Tensor | float) -> Tensor:
    """Return the tensor where the mask is true, and ``fill`` in its dtype elsewhere."""
    if not isinstance(fill, Tensor):
        fill = torch.full((), fill, dtype=tensor.dtype, device=tensor.device)
    return where(mask, tensor, fill)


def without_nan(tensor: Tensor, fill: float) -> Tensor:
    """Replace NaN by ``fill``; return the tensor itself if its dtype has no NaN."""
    return tensor if is_integer(tensor.dtype) else torch.where(tensor.isnan(), fill, tensor)


def is_without_nan(tensor: Tensor) -> bool:
    """Whether one look at many elements says that none is NaN."""
    if is_integer(tensor.dtype) or tensor.is_complex() or not host.computes(tensor) or tensor.numel() <= host.MANY:
        return False
    return not bool(torch.amax(tensor).isnan())


def all_nan(tensor: Tensor, axis: int | None) -> Tensor:
    """Whether all elements are NaN, along the axis or in total."""
    return torch.all(tensor.isnan(), axis)


def full(shape: tuple[int, ...], value: Tensor | float, dtype: torch.dtype, like: Tensor) -> Tensor:
    """Return a tensor of one value on the device of ``like``."""
    if isinstance(value, Tensor):
        return value.to(device=like.device, dtype=dtype).expand(shape).clone()
    return torch.full(shape, value, dtype=dtype, device=like.device)


def with_initial(loop: Loop, tensor: Tensor, initial: Tensor) -> Tensor:
    """Combine a reduced tensor with the initial value, by the loop of the reduction."""
    return loop(torch.stack([initial.to(tensor.device).expand(tensor.shape), tensor]), 0, False)


def may_be_negative_zero(initial: Tensor | None) -> bool:
    """Whether a sum starts from -0.0, unlike torch's sums, or from an unknown value."""
    if initial is None or not (initial.is_floating_point() or initial.is_complex()):
        return False
    if is_readable(initial):
        return bool(_negative_zeros(initial).any())
    if trace_state.is_tracing() and (is_constant(initial) or known(initial) is not None):
        parts = np.array([initial.item()], np.complex128).view(np.float64)
        return bool(((parts == 0) & np.signbit(parts)).any())
    return True


def with_negative_zeros(
    total: Tensor, tensor: Tensor, initial: Tensor, axes: tuple[int, ...], keepdims: bool
) -> Tensor:
    """Add ``initial`` to a sum: if it is -0.0, a sum of nothing but negative zeros is -0.0 too."""
    flags = _negative_zeros(tensor)
    for axis in sorted(axes, reverse=True):
        flags = flags.all(axis, keepdim=keepdims)
    flags = flags & _negative_zeros(initial.to(tensor.device))
    parts = torch.where(flags, -0.0, torch.view_as_real(total) if total.is_complex() else total)
    return torch.view_as_complex(parts) if total.is_complex() else parts


def _negative_zeros(tensor: Tensor) -> Tensor:
    """Return which elements are -0.0; for complex numbers, which parts, along a last axis."""
    parts = torch.view_as_real(tensor.resolve_conj()) if tensor.is_complex() else tensor
    return (parts == 0) & parts.signbit()


def after_initial(tensor: Tensor, initial: Tensor, dim: int) -> Tensor:
    """Put the initial value before the first element along ``dim``."""
    shape = list(tensor.shape)
    shape[dim] = 1
    return torch.cat([initial.to(tensor.device).expand(shape), tensor], dim)


def real_dtype(dtype: torch.dtype) -> torch.dtype:
    """Return the dtype of a complex dtype's parts; a real dtype itself."""
    return REAL_OF.get(dtype, dtype)
