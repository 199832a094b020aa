"""The outputs of a ufunc: ``out=``, by position or by name.

Layer: owns NumPy's rules for outputs. The ufunc computes the results.
"""

from __future__ import annotations

from typing import Any

from backend_torch.kernels import writing
from backend_torch.kernels.indexing import assign
from backend_torch.tensors import memory
from backend_torch.tensors.casting import cast
from backend_torch.tensors.shape import broadcasts
from tnp._core.base import wrap, wrap_array
from tnp._core.dtype_table import PLAIN, Loops
from tnp._core.errors import output_error, warn
from tnp._core.strided_views import put_back

Tensor = Any
_NO_THIRD = (  # NumPy's text since 2.4
    "Passing more than 2 positional arguments to np.maximum and np.minimum is deprecated. "
    "If you meant to use the third argument as an output, use the `out` keyword argument instead. "
    "If you hoped to work with more than 2 inputs, combine them into a single array and get the extrema for the "
    "relevant axis."
)


def outputs(count: int, out: Any) -> tuple[Any, ...]:
    """Return ``out`` as a tuple of an array or None for each output; Ellipsis asks for an array even if 0-d."""
    outs = as_many(count, out)
    if isinstance(out, tuple) and any(each is Ellipsis for each in out):
        raise TypeError("must use `...` as `out=...` and not per-operand/in a tuple")
    return outs


def as_many(count: int, out: Any) -> tuple[Any, ...]:
    """Return ``out`` as a tuple of ``count``: NumPy refuses another number before it asks an operand's override."""
    if out is None or out is Ellipsis:
        return (out,) * count
    if not isinstance(out, tuple):
        if count > 1:
            raise TypeError("'out' must be a tuple of arrays")
        return (out,)
    if len(out) != count:
        raise ValueError("The 'out' tuple must have exactly one entry per ufunc output")
    return out


def with_outputs(ufunc: Any, outs: tuple[Any, ...], options: dict[str, Any]) -> dict[str, Any]:
    """Return the options with the positional outputs added, and without options that are None."""
    if not outs:
        if "out" in options:
            if options["out"] is None:
                if ufunc.nout > 1:
                    raise TypeError("'out' must be a tuple of arrays")
                del options["out"]
        elif options.get("where", True) is not True:
            warn(
                "'where' used without 'out', expect unitialized memory in output. If this is intentional, use "
                "out=None.",
                UserWarning,
            )
        return options
    if len(outs) == 1 and ufunc.__name__ in ("maximum", "minimum"):
        warn(_NO_THIRD, DeprecationWarning)
    if "out" in options:
        raise TypeError("cannot specify 'out' as both a positional and keyword argument")
    if len(outs) > ufunc.nout:
        raise TypeError(
            f"{ufunc.__name__}() takes from {ufunc.nin} to {ufunc.nargs} positional arguments but "
            f"{ufunc.nin + len(outs)} were given"
        )
    if any(each is Ellipsis for each in outs):
        raise TypeError("out=... is only allowed as a keyword argument.")
    if all(each is None for each in outs):
        return options
    return {**options, "out": (*outs, *[None] * (ufunc.nout - len(outs)))}


def wrote(ufunc: Any, operands: tuple[Any, ...], target: Tensor) -> bool:
    """Whether torch can write to ``target`` directly: all are arrays of one floating dtype."""
    if Loops.suspended or ufunc.nout > 1 or not target.is_floating_point():
        return False
    tensors = [x.tensor for x in operands if type(x) in PLAIN and x.tensor.dtype is target.dtype]
    if len(tensors) < ufunc.nin or not memory.is_writeable(target):
        return False
    loop = ufunc._loops[target.dtype if ufunc.nin == 1 else (target.dtype,) * ufunc.nin]
    return writing.write_into(loop, tensors, target)


def deliver(result: Tensor, out: Any, target: Tensor | None, order: str) -> Any:
    """Return the result as a new array, or write it to ``out``."""
    if target is None:
        if order in ("C", "F"):
            result = memory.in_order(result, order)
        return wrap_array(result) if out is Ellipsis else wrap(result)
    if not broadcasts(result.shape, target.shape):
        raise output_error(tuple(target.shape), tuple(result.shape))
    assign(target, cast(result, target.dtype))
    return put_back(out, target)
