"""Arguments of functions that select and assign elements: indices, modes for those out of bounds, outputs.

Layer: owns how NumPy reads these arguments, and their errors.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.exceptions import ComplexWarning

from backend_torch.kernels import indexing, selection
from backend_torch.tensors import interop, memory, trace_state
from backend_torch.tensors.casting import cast
from backend_torch.tensors.dtypes import to_numpy, to_torch
from tnp._core.base import ndarray, scalar
from tnp._core.convert import is_array, output_array, tensor_of
from tnp._core.dtypes import DtypeError
from tnp._core.errors import index_of, refuse_cast, warn
from tnp._core.indexing import INT64
from tnp._core.interop import is_on_host
from tnp._core.numpy_version import NUMPY

Tensor = Any
_MODES = ("clip", "wrap", "raise")  # by NumPy's numbers for the modes
_BACKWARDS = NUMPY < "2.5.0"  # take asked whether out casts to the result; since then whether the result casts to out


def has_own_dtype(value: Any) -> bool:
    """Whether a value is an array, whose dtype a cast has to respect; Python data and scalars only have to fit."""
    return is_array(value) and not isinstance(value, scalar)


def index_tensor(indices: Any, device: Any, rule: str = "safe") -> Tensor:
    """Convert indices to int64: an array's dtype has to cast to it, Python data is read as integers.

    ``device`` is that of the array that they select from.
    """
    if type(indices) is ndarray and indices.tensor.dtype is INT64 and indices.tensor.device == device:
        return indices.tensor
    if not has_own_dtype(indices):
        return tensor_of(indices, np.int64, device=device)
    is_host = isinstance(indices, np.ndarray)  # goes where the array is, as a list does
    tensor = interop.moved(tensor_of(indices), device) if is_host else tensor_of(indices, device=device)
    refuse_cast(to_numpy[tensor.dtype], np.dtype(np.int64), rule, tensor.dim())
    return cast(tensor, INT64)


def in_mode(indices: Tensor, axis: int, size: int, mode: str) -> Tensor:
    """Bring the indices of an axis within bounds as ``mode`` says; IndexError if they stay out of bounds."""
    if mode == "raise":
        bad = indexing.outside(indices, -size, size)
        if bad is not None:
            raise IndexError(f"index {bad} is out of bounds for axis {axis} with size {size}")
        return indices
    return selection.wrapped(indices, size) if mode == "wrap" else selection.clipped(indices, size)


def index_mode(mode: Any) -> str:
    """Return the name of a mode for indices out of bounds; NumPy also takes a number or None."""
    if isinstance(mode, str):
        if mode not in _MODES:
            raise ValueError(f"clipmode must be one of 'clip', 'raise', or 'wrap' (got {mode!r})")
        return mode
    if mode is None:
        return "raise"
    if isinstance(mode, bytes):
        return index_mode(mode.decode())
    number = index_of(mode, "clipmode not understood")
    if isinstance(mode, (bool, np.bool_)):
        raise TypeError("clipmode not understood")
    if not 0 <= number < len(_MODES):
        raise ValueError("integer clipmode must be RAISE, WRAP, or CLIP from 'numpy._core.multiarray'")
    return _MODES[number]


def target_of(array: Any, *operands: Any) -> Any:
    """Return what a function writes to: of NumPy's arrays, where NumPy can't compute, tnp's over their memory.

    NumPy has no values of a traced, batched or differentiated operand, nor of one on an accelerator.
    """
    if not isinstance(array, np.ndarray) or array.dtype not in to_torch:
        return array
    if trace_state.is_tracing() or any(isinstance(x, ndarray) and not is_on_host(x) for x in operands):
        return output_array(array)
    return array


def writeable_tensor(array: Any, message: str, refusal: str = "assignment destination is read-only") -> Tensor:
    """Return the tensor of an array that is written to; TypeError with the message for anything else.

    It is a DtypeError for NumPy's arrays: NumPy's own function writes to those.
    """
    if not isinstance(array, ndarray):
        raise (DtypeError if isinstance(array, np.ndarray) else TypeError)(message)
    tensor = array.tensor
    if not memory.is_writeable(tensor) or (type(array) is not ndarray and not array.flags.writeable):
        raise ValueError(refusal)
    return tensor


def check_output(out: Any, shape: tuple[int, ...], dtype: Any, function: str) -> Tensor:
    """Return the tensor of ``out``; TypeError or ValueError if it can't hold a result of this shape and dtype."""
    target = writeable_tensor(out, "return arrays must be of ArrayType", "output array is read-only")
    if tuple(target.shape) != shape:
        raise (TypeError if "choose" in function else ValueError)(f"output array does not match result of {function}")
    if function == "ndarray.take":
        _check_cast(to_numpy[dtype], out.dtype)
    return target


def _check_cast(result: np.dtype, out: np.dtype) -> None:
    if _BACKWARDS:
        refuse_cast(out, result, "safe")
    elif not np.can_cast(result, out, "same_kind"):
        warn(
            "Implicit casting of output to a different kind is deprecated. In a future version, this will result in an "
            "error. (Deprecated NumPy 2.5)",
            DeprecationWarning,
        )
    # NumPy fills a buffer of the result's dtype, from the output and back; booleans are cast without a warning.
    kinds = {result.kind, out.kind}
    if not _BACKWARDS and "c" in kinds and kinds & {"i", "u", "f"}:
        warn("Casting complex values to real discards the imaginary part", ComplexWarning)
