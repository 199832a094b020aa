"""Errors with NumPy's texts, and the checks of axes.

Layer: owns exception classes and texts. Except for the checks of axes, this code runs only after a failure.
"""

from __future__ import annotations

import functools
import math
import operator
import sys
import warnings
from collections.abc import Callable, Iterable
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any

import numpy as np
from numpy.exceptions import AxisError
from numpy.lib.array_utils import normalize_axis_tuple

from backend_torch.kernels import value_checks
from backend_torch.tensors import devices, memory, out_of_memory
from backend_torch.tensors.trace_state import TracedValueError
from backend_torch.torch_private import messages
from tnp._core.numpy_version import NUMPY

MOST_DIMENSIONS = 64  # NumPy's limits, so that a program that runs here also runs with NumPy
MOST_OPERANDS = 64
NO_IMAGINARY_PART = (
    "array does not have imaginary part to set"
    if NUMPY < "2.5.0"
    else "Cannot set imaginary part of non-complex array."
)
_MAX = np.iinfo(np.intp).max
_INTS = np.iinfo(np.intc)

# Where the code of tnp, its backend and torch lies: a line there is not the program's.
_OURS = (
    str(Path(__file__).parents[1]),
    str(Path(memory.__file__).parents[1]),
    str(Path(sys.modules["torch"].__file__ or "").parent),
)


def frames_above() -> int:
    """Count the frames of tnp and torch from the caller's up, as ``stacklevel`` does to name the program's line."""
    frame, count = sys._getframe(1), 1
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_OURS):
        frame, count = frame.f_back, count + 1
    return count


def warn(text: str, category: type[Warning]) -> None:
    """Warn with the program's line, whichever functions of tnp lie between."""
    warnings.warn(text, category, stacklevel=frames_above())


def call(function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
    """Call NumPy's function from a frame at the program's line, which its warnings then name, as in a program of NumPy.

    NumPy's compiled functions know no ``stacklevel``.
    """
    frame = sys._getframe(frames_above() - 1)
    return FunctionType(_calling(frame.f_code.co_filename, frame.f_lineno), frame.f_globals)(function, args, kwargs)


@functools.lru_cache(4096)
def _calling(file: str, line: int) -> CodeType:
    return _CALLING.replace(co_filename=file, co_firstlineno=line)


_CALLING = (lambda function, args, kwargs: function(*args, **kwargs)).__code__
_COPY_MODES = {np._CopyMode.ALWAYS: True, np._CopyMode.IF_NEEDED: None, np._CopyMode.NEVER: False}


def copy_mode(copy: Any) -> bool | None:
    """Read a ``copy`` argument as True, False or None: other objects by their truth, but text is refused."""
    if copy is None or copy is True or copy is False:
        return copy
    if isinstance(copy, str):
        raise ValueError("strings are not allowed for 'copy' keyword. Use True/False/None instead.")
    return _COPY_MODES[copy] if isinstance(copy, np._CopyMode) else bool(copy)


def normalize_axis(axis: Any, ndim: int, argname: str | None = None) -> int:
    """Return the axis as a non-negative number; AxisError if an array of ``ndim`` dimensions has no such axis."""
    index = operator.index(axis)
    if not -ndim <= index < ndim:
        raise AxisError(long_of(index), ndim, argname)
    return index % ndim if index < 0 else index


def long_of(number: Any) -> int:
    """Return an integer that fits NumPy's compiled functions; OverflowError for a larger one."""
    index = operator.index(number)
    if not -_MAX - 1 <= index <= _MAX:
        raise OverflowError("Python int too large to convert to C long")
    return index


def int_of(number: Any) -> int:
    """Return an integer that fits C's int, in which NumPy holds the number of a diagonal."""
    index = operator.index(number)
    if not _INTS.min <= index <= _INTS.max:
        raise OverflowError("Python int too large to convert to C int")
    return index


def check_size(shape: tuple[int, ...], itemsize: int) -> None:
    """Raise ValueError for a view with more bytes than NumPy counts; torch would make it, as it needs no memory.

    NumPy leaves lengths of zero out of the product.
    """
    if math.prod(filter(None, shape)) * itemsize > _MAX:
        raise too_big(shape)


def too_big(*shapes: tuple[int, ...]) -> ValueError:
    """Return the error that NumPy raises for an array with more bytes than it counts."""
    return ValueError(
        "array is too big; `arr.size * arr.dtype.itemsize` is larger than the maximum possible size. Shape: "
        + shapes_text(shapes)
    )


def integer_axis(axis: Any, ndim: int) -> int:
    """Check an axis as above, for the functions in which NumPy refuses booleans."""
    return normalize_axis(integer_of(axis), ndim)


def integer_of(axis: Any) -> int:
    """Return an axis as an int, for the functions in which NumPy refuses booleans."""
    refuse_boolean(axis)
    return operator.index(axis)


def index_of(value: Any, message: str) -> int:
    """Return anything with ``__index__`` as an int; else TypeError with this message, or the trace's own error."""
    try:
        return operator.index(value)
    except TracedValueError:
        raise
    except TypeError as error:
        raise TypeError(message) from error


def refuse_boolean(axis: Any) -> None:
    """Raise the error of NumPy's compiled functions for an axis that is True or False."""
    if isinstance(axis, (bool, np.bool_)):
        raise TypeError("an integer is required for the axis")


def normalize_axes(axis: Any, ndim: int, argname: str | None = None) -> tuple[int, ...]:
    """Return the axes that an ``axis`` argument names: all for None, one for an int, each once for a sequence."""
    if axis is None:
        return tuple(range(ndim))
    if not isinstance(axis, (tuple, list)):
        try:
            return (normalize_axis(axis, ndim, argname),)
        except TypeError:
            if not np.iterable(axis):
                raise
    axes = tuple([normalize_axis(one, ndim, argname) for one in axis])
    if len(set(axes)) != len(axes):
        raise ValueError(f"repeated axis in `{argname}` argument" if argname else "repeated axis")
    return axes


def moved_axis(axis: Any, ndim: int, argname: str = "source") -> int:
    """Return one axis, where NumPy calls ``moveaxis``, which also takes a tuple of one."""
    axes = normalize_axis_tuple(axis, ndim, argname)
    normalize_axis_tuple(0, ndim, "destination")  # an array without axes ignores the argument
    if len(axes) != 1:
        raise ValueError("`source` and `destination` arguments must have the same number of elements")
    return axes[0]


def reduced_axes(axis: Any, ndim: int) -> tuple[int, ...]:
    """Return the axes that a reduction removes. A 0-d array accepts the axes 0 and -1, and loses none."""
    for one in axis if isinstance(axis, tuple) else (axis,):
        refuse_boolean(one)
    if axis is not None and not isinstance(axis, tuple):
        operator.index(axis)  # NumPy's compiled functions take no other sequence
    if ndim == 0 and axis is not None and not isinstance(axis, tuple):
        normalize_axis(axis, 1)
        return ()
    return distinct_axes(axis, ndim)


def distinct_axes(axis: Any, ndim: int) -> tuple[int, ...]:
    """Return the axes as ``normalize_axes`` does, with the error of NumPy's compiled functions for one named twice."""
    try:
        return normalize_axes(axis, ndim)
    except np.exceptions.AxisError:
        raise
    except ValueError:
        raise ValueError("duplicate value in 'axis'") from None


def shapes_text(shapes: Iterable[tuple[int, ...]]) -> str:
    """Format shapes as NumPy's messages do: ``(2,) (3,)``, without spaces inside."""
    return " ".join(str(tuple(shape)).replace(" ", "") for shape in shapes)


def broadcast_error(*shapes: tuple[int, ...]) -> ValueError:
    """Return the error that NumPy raises for operands whose shapes do not broadcast."""
    return ValueError(f"operands could not be broadcast together with shapes {shapes_text(shapes)} ")


def broadcast(*shapes: tuple[int, ...]) -> tuple[int, ...]:
    """Return the common shape of operands; NumPy's ValueError if they do not broadcast."""
    try:
        return np.broadcast_shapes(*shapes)
    except ValueError:
        raise broadcast_error(*shapes) from None


def mismatch_error(*shapes: tuple[int, ...]) -> ValueError:
    """Return the error of ``broadcast``, which names the first two operands that do not fit."""
    ndim = max(map(len, shapes))
    for axis in range(-ndim, 0):
        seen: tuple[int, int] | None = None  # the first operand whose axis is longer than one, and that length
        for place, shape in enumerate(shapes):
            length = shape[axis] if len(shape) >= -axis else 1
            if seen is None and length != 1:
                seen = place, length
            elif seen is not None and length not in (1, seen[1]):
                one, other = (f"arg {at} with shape {tuple(shapes[at])}" for at in (seen[0], place))
                return ValueError(
                    "shape mismatch: objects cannot be broadcast to a single shape.  Mismatch is between "
                    f"{one} and {other}."
                )
    return broadcast_error(*shapes)


def output_error(out: tuple[int, ...], result: tuple[int, ...]) -> ValueError:
    """Return the error that NumPy raises for an ``out`` that is smaller than the result."""
    return ValueError(
        f"non-broadcastable output operand with shape {shapes_text([out])} "
        f"doesn't match the broadcast shape {shapes_text([result])}"
    )


def unassignable(given: tuple[int, ...], wanted: tuple[int, ...], what: str = "input array") -> ValueError:
    """Return the error that NumPy raises for values whose shape does not broadcast to that of their places."""
    while what == "input array" and len(given) > len(wanted) and given[0] == 1:
        given = given[1:]  # which are ignored
    return ValueError(
        f"could not broadcast {what} from shape {shapes_text([given])} into shape {shapes_text([wanted])}"
    )


def check_line(shape: tuple[int, ...]) -> None:
    """Raise the error of NumPy's compiled functions for anything but one dimension."""
    if len(shape) != 1:
        raise ValueError(f"object {'too deep' if len(shape) else 'of too small depth'} for desired array")


def refuse_cast(given: np.dtype, wanted: np.dtype, rule: str, ndim: int = 1) -> None:
    """Raise TypeError if a casting rule forbids the cast of an array of ``ndim`` axes from a dtype to another."""
    if not np.can_cast(given, wanted, rule):  # type: ignore[arg-type]
        what = "array data" if ndim else "scalar"
        raise TypeError(f"Cannot cast {what} from {given!r} to {wanted!r} according to the rule '{rule}'")


def explain(error: Exception, *operands: Any) -> Exception:
    """Return the exception that NumPy raises where torch raised ``error`` for these tensors."""
    for text, kind in value_checks.DEMANDED.items():
        if messages.says(error, (text,)):
            return kind(text)
    if (raised := messages.raised(error)) is not None:
        return raised
    if messages.says(error, messages.MIXED_WITH_SHARDED):
        return memory.mixed_error(*operands)
    found = [t.device for t in operands if t.dim() or t.device.type != "cpu"]  # the host's scalars go with any array
    if len(set(found)) > 1:
        return devices.mixed(*found)
    shapes = [tuple(t.shape) for t in operands]
    try:
        np.broadcast_shapes(*shapes)
    except ValueError as mismatch:
        return too_big(*shapes) if messages.says(mismatch, messages.NOT_BROADCAST) else broadcast_error(*shapes)
    return out_of_memory.explained(error)
