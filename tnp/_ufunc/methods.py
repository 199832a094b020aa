"""The methods of a ufunc: reduce, accumulate, reduceat, outer and at.

Layer: owns which ufuncs have them and NumPy's words for those that have not; ``add.reduce`` and ``sum`` are one row of
``_reduce``.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from backend_torch.kernels import reductions as kernels
from backend_torch.kernels import scatter, selection
from backend_torch.kernels.value_checks import OUTSIDE
from backend_torch.native import heads
from backend_torch.tensors import memory
from backend_torch.tensors.casting import cast
from backend_torch.tensors.dtypes import to_numpy
from backend_torch.tensors.shape import broadcasts
from tnp._core import index_arguments, indexing
from tnp._core.base import ndarray, scalar, wrap_array
from tnp._core.convert import output_tensor, tensor_of, tensor_of_shape, tensors_of
from tnp._core.dtypes import DtypeError, native, tensor_dtype
from tnp._core.errors import check_line, distinct_axes, refuse_boolean
from tnp._core.indexing import INT64
from tnp._core.numpy_version import NUMPY
from tnp._core.strided_views import put_back
from tnp._core.ufunc_overrides import call_ufunc, overriding
from tnp._ufunc import errstate, reduction
from tnp._ufunc.outputs import as_many

if TYPE_CHECKING:
    from tnp._ufunc.ufunc import Ufunc

Tensor = Any

# For these f(f(x, a), b) equals f(x, f(a, b)), in any order of a and b.
_FOLDING = frozenset(
    {"add", "multiply", "bitwise_and", "bitwise_or", "bitwise_xor", "logical_and", "logical_or", "logical_xor"}
    | {"maximum", "minimum", "fmax", "fmin", "hypot", "logaddexp", "logaddexp2", "gcd"}
)
_EXACT = frozenset({"maximum", "minimum", "fmax", "fmin"})  # exact for floats too; other ufuncs round
_NOT_IN_PLACE = (  # the error of ``at`` for a read-only array, whose text changed in 2.5.5
    "operand array with iterator write flag set is read-only"
    if NUMPY < "2.5.5"
    else "array to perform in place operation on is read-only"
)
_HEADS = {  # arguments: array, axis, dtype, out, keepdims, initial, where
    "add": heads.sum,
    "multiply": heads.prod,
    "maximum": lambda array, axis, dtype, *rest: heads.max(array, axis, *rest) if dtype is None else None,
    "minimum": lambda array, axis, dtype, *rest: heads.min(array, axis, *rest) if dtype is None else None,
}
_SCANS = {"add": heads.cumsum, "multiply": heads.cumprod}
_MODULAR = frozenset({"add", "subtract", "multiply"})  # on integers, exact modulo the width of any narrower type


def reduce(ufunc: Ufunc, array: Any, axis: Any, dtype: Any, out: Any, keepdims: bool, initial: Any, where: Any) -> Any:
    """``ufunc.reduce``: remove axes by applying the ufunc between their elements."""
    if (head := _HEADS.get(ufunc.__name__)) is not None:
        if (found := head(array, axis, dtype, out, keepdims, initial, where)) is not None:
            return found
    if found := overriding((array,), out):
        as_many(1, out)
        given = {"axis": axis, "dtype": dtype, "keepdims": keepdims, "initial": initial, "where": where}
        standard = {"axis": 0, "dtype": None, "keepdims": False, "initial": np._NoValue, "where": True}
        options = {name: value for name, value in given.items() if value is not standard[name]}
        return call_ufunc(ufunc, "reduce", found, (array,), out, options)
    _check_reducible(ufunc, "reduce")
    row = reduction.reduction(ufunc._numpy, _on_tensors(ufunc, "reduce"))
    if out is Ellipsis:
        return wrap_array(row.reduce(array, axis, dtype, None, keepdims, initial, where).tensor)
    return row.reduce(array, axis, dtype, out, keepdims, initial, where)


def _refuse(*args: Any) -> None:
    raise TypeError


@functools.cache
def _method(ufunc: np.ufunc, name: str) -> Callable[..., Any]:
    """Return NumPy's method; what refuses for ufuncs that the kernels do not leave to NumPy."""
    if "dd->d" not in ufunc.types or ufunc in kernels.WRONG_IN_TURN:
        return _refuse
    return getattr(ufunc, name)


def accumulate(ufunc: Ufunc, array: Any, axis: Any, dtype: Any, out: Any) -> Any:
    """``ufunc.accumulate``: each partial reduction along an axis."""
    if (head := _SCANS.get(ufunc.__name__)) is not None and axis.__class__ is int:
        if (scanned := head(array, axis, dtype, out)) is not None:
            return scanned
    if dtype is out is None and ufunc.__name__ in _EXACT:
        if (scanned := heads.by_numpy(_method(ufunc._numpy, "accumulate"), array, axis)) is not None:
            return scanned
    if found := overriding((array,), out):
        as_many(1, out)
        options = {"axis": axis, "dtype": dtype}
        return call_ufunc(ufunc, "accumulate", found, (array,), out, options)
    _check_reducible(ufunc, "accumulate")
    out = None if out is Ellipsis else out  # Ellipsis asks for an array, and every result is one
    if dtype is not None:
        native(dtype)  # TypeError for what is none
    if out is not None:
        reduction.output_of(out)
    tensor = tensor_of_shape(array, lambda shape: _one_axis(axis, len(shape), "accumulate"), (out,))
    axis = _one_axis(axis, tensor.dim(), "accumulate")
    _check_uniform(ufunc, "accumulate")
    return reduction.accumulation(ufunc._numpy, _on_tensors(ufunc, "accumulate")).accumulate(tensor, axis, dtype, out)


def reduceat(ufunc: Ufunc, array: Any, indices: Any, axis: Any, dtype: Any, out: Any) -> Any:
    """``ufunc.reduceat``: reduce each slice ``indices[i]:indices[i + 1]`` along an axis."""
    if (
        dtype is out is None
        and (reduced := heads.by_numpy(_method(ufunc._numpy, "reduceat"), array, indices, axis)) is not None
    ):
        return reduced
    if found := overriding((array, indices), out):
        as_many(1, out)
        options = {"axis": axis, "dtype": dtype}
        return call_ufunc(ufunc, "reduceat", found, (array, indices), out, options)
    _check_reducible(ufunc, "reduceat")
    out = None if out is Ellipsis else out
    check_line(indices.shape if isinstance(indices, ndarray) else np.shape(indices))
    if dtype is not None:
        native(dtype)  # TypeError for what is none
    tensor = tensor_of_shape(array, lambda shape: _one_axis(axis, len(shape), "reduceat"), (out,))
    starts = index_arguments.index_tensor(indices, tensor.device)
    axis = _one_axis(axis, tensor.dim(), "reduceat")
    size = tensor.shape[axis]
    bad = selection.outside(starts, 0, size, OUTSIDE)
    if bad is not None:
        raise IndexError(f"index {bad} out-of-bounds in {ufunc.__name__}.reduceat [0, {size})")
    _check_uniform(ufunc, "reduceat")
    target = None if out is None else reduction.output_of(out)
    result = reduction.resolve(ufunc._numpy, tensor.dtype, dtype, None if target is None else target.dtype)
    reorderable = reduction.is_reorderable(ufunc._numpy)
    function = _on_tensors(ufunc, "reduceat")
    tensor = cast(tensor, result)
    report = errstate.reporter("reduceat")
    folded = kernels.reduceat(ufunc._numpy, function, tensor, starts, axis, reorderable, report)
    return reduction.deliver(folded, out, target, ufunc.__name__)


def outer(ufunc: Any, A: Any, B: Any, options: dict[str, Any]) -> Any:
    """``ufunc.outer``: the ufunc of all pairs of an element of ``A`` and one of ``B``."""
    if found := overriding((A, B), options.get("out")):
        rest = {name: value for name, value in options.items() if name != "out"}
        return call_ufunc(ufunc, "outer", found, (A, B), options.get("out"), rest)
    if ufunc.signature is not None:
        raise TypeError("method outer is not allowed in ufunc with non-trivial signature")
    if ufunc.nin != 2:
        raise ValueError("outer product only supported for binary functions")
    if A.__class__ is B.__class__ is ndarray and (rows := heads.reshape(A, (*A.shape, *[1] * B.ndim))) is not None:
        return ufunc(rows, B, **options)
    one, other = tensors_of(A, B)
    return ufunc(wrap_array(one.reshape((*one.shape, *[1] * other.dim()))), wrap_array(other), **options)


def at(ufunc: Ufunc, a: Any, indices: Any, b: Any) -> None:
    """``ufunc.at``: apply the ufunc in place to ``a[indices]``, once for each repetition of an index."""
    if b is not np._NoValue and heads.write_by_numpy(_method(ufunc._numpy, "at"), a, indices, b):
        return
    operands = (a, indices) if b is np._NoValue else (a, indices, b)
    if found := overriding(operands):
        call_ufunc(ufunc, "at", found, operands, None, {})
        return
    if ufunc.signature is not None:
        raise TypeError(
            f"{ufunc.__name__}.at does not support ufunc with non-trivial signature: {ufunc.__name__} has signature "
            f"{ufunc.signature}."
        )
    if ufunc.nout != 1:
        raise ValueError("Only single output ufuncs supported at this time")
    if isinstance(a, scalar) or not isinstance(a, (ndarray, np.ndarray)):
        raise TypeError("first operand must be array")
    if ufunc.nin == 1 and b is not np._NoValue:
        raise ValueError("second operand provided when ufunc is unary")
    if ufunc.nin == 2 and b is np._NoValue:
        raise ValueError("second operand needed for ufunc")
    target = output_tensor(a, _NOT_IN_PLACE)
    given = to_numpy[target.dtype]
    try:
        values = [] if ufunc.nin == 1 else [tensor_of(b, device=target.device)]
    except DtypeError:
        if np.asarray(b).dtype.kind == "O":  # every ufunc takes objects: NumPy refuses the index first
            indexing.checked(target, indices)
        raise
    others = [to_numpy[value.dtype] for value in values]
    resolved = ufunc._numpy.resolve_dtypes((given, *others, given), casting="unsafe")
    if others == [given] and type(indices) is ndarray:
        if scatter.by_numpy(ufunc._numpy, target, indices.tensor, values[0], errstate.reporter("at")):
            put_back(a, target)
            return
    positions = scatter.positions(target, indexing.checked(target, indices))
    if ufunc.nin == 1:
        loop = errstate.looked_at(ufunc.__name__, ufunc._loop((target.dtype,), resolved), "at")
        scatter.in_turn(loop, target, positions)
        put_back(a, target)
        return
    if not broadcasts(values[0].shape, positions.shape):
        raise ValueError("array is not broadcastable to correct shape")
    _at_binary(ufunc, target, positions, values[0], resolved)
    put_back(a, target)


def _at_binary(ufunc: Ufunc, target: Tensor, positions: Tensor, values: Tensor, resolved: tuple[np.dtype, ...]) -> None:
    """Write in one pass if the values of a repeated position may be combined first, else one by one."""
    name, dtype = ufunc.__name__, to_numpy[target.dtype]
    if name in _MODULAR and all(d.kind in "iu" for d in (dtype, *resolved)):
        resolved = (dtype, dtype, dtype)
    values = cast(values, tensor_dtype(resolved[1]))
    if memory.may_overlap(values, target):
        values = memory.copied(values)
    if name == "subtract":
        ufunc, name, values = ufunc.named["add"], "add", scatter.negated(values)
    loop = errstate.looked_at(ufunc.__name__, ufunc._loop((target.dtype, values.dtype), resolved), "at")
    rounds_only = dtype == resolved[2] or (dtype.kind in "fc" and dtype.kind == resolved[2].kind)
    if name == "add" and dtype.kind != "b" and set(resolved) == {dtype}:
        scatter.add(target, positions, values)
    elif dtype.kind in "iuf" and set(resolved) == {dtype} and scatter.reduced(name, target, positions, values):
        pass
    elif name in _FOLDING and resolved[0] == resolved[1] and rounds_only:
        if name not in _EXACT and dtype.kind not in "biu":
            if scatter.in_order(ufunc._numpy, target, positions, values, errstate.reporter("at")):
                return
        scatter.folded(loop, _on_tensors(ufunc, "at"), target, positions, values)
    else:
        scatter.in_turn(loop, target, positions, values)


def _on_tensors(ufunc: Ufunc, name: str) -> Callable[[Tensor, Tensor], Tensor]:
    """Return a binary ufunc's kernel as a function of two tensors of one dtype; errors name ``name``."""
    kernel = ufunc._kernel
    if not _is_uniform(ufunc):  # ldexp: its second operand is an integer

        def with_integer(left: Tensor, right: Tensor) -> Tensor:
            return kernel.resolve(left.dtype, INT64)(left, cast(right, INT64))

        return errstate.looked_at(ufunc.__name__, with_integer, name)

    def uniform(left: Tensor, right: Tensor) -> Tensor:
        return kernel.resolve(left.dtype, right.dtype)(left, right)

    return errstate.looked_at(ufunc.__name__, uniform, name)


def _check_reducible(ufunc: Ufunc, method: str) -> None:
    if ufunc.signature is not None:
        raise RuntimeError("Reduction not defined on ufunc with signature")
    if ufunc.nin != 2:
        raise ValueError(f"{method} only supported for binary functions")
    if ufunc.nout != 1:
        raise ValueError(f"{method} only supported for functions returning a single value")


@functools.cache
def _is_uniform(ufunc: Ufunc) -> bool:
    return any(types[0] == types[1] for types in ufunc.types)


def _check_uniform(ufunc: Ufunc, method: str) -> None:
    if not _is_uniform(ufunc):
        raise TypeError(f"the dtypes of {ufunc.__name__}'s two operands differ: it has no {method}")


def _one_axis(axis: Any, ndim: int, method: str) -> int:
    refuse_boolean(axis)
    if axis is not None and not isinstance(axis, tuple):
        operator.index(axis)
    axes = distinct_axes(axis, ndim if isinstance(axis, tuple) else max(ndim, 1))
    if not ndim:
        raise TypeError(f"cannot {method} on a scalar")
    if len(axes) != 1:
        raise ValueError(f"{method} does not allow multiple axes")
    return axes[0]
