"""dtypes: users see NumPy's objects, tensors have torch's.

Layer: owns the dtypes that a user may name, and the error for the others.
"""

from __future__ import annotations

from typing import Any, cast

import numpy as np

from backend_torch.tensors import dtypes as backend
from backend_torch.tensors import trace_state
from tnp._core.base import ndarray, scalar


class DtypeError(trace_state.OfTracing, TypeError):
    """No tensor can carry a dtype, which is the argument, or is in a text; Python runs such a statement of a trace.

    The text is written when it is read. NumPy computes after most of these errors, and would take less time than the
    text of a structure with many fields.
    """

    def __str__(self) -> str:
        (dtype,) = self.args
        if isinstance(dtype, str):
            return dtype
        if not dtype.isnative and dtype.newbyteorder("=") in backend.to_torch:
            return (
                f"no tensor has the byte order of {dtype!r}: x.byteswap().tobytes() gives such bytes of an array x in "
                "this machine's order, and frombuffer and asarray read them"
            )
        return (
            f"tnp arrays hold numbers and booleans: no tensor has dtype {dtype!r}; keep such data on the host, outside "
            "of traces, batches and gradients"
        )


def tensor_dtype(dtype: Any) -> Any:
    """Return the torch dtype for anything that ``numpy.dtype`` takes; TypeError if no tensor can carry it."""
    dtype = _as_dtype(dtype)
    try:
        return backend.to_torch[dtype]
    except KeyError:
        raise DtypeError(dtype) from None


def _as_dtype(dtype: Any) -> np.dtype:
    if isinstance(dtype, np.dtype):
        return dtype
    is_class = isinstance(dtype, type) and issubclass(dtype, np.dtype)
    return cast(Any, dtype)() if is_class else numpy_dtype(dtype)


def numpy_dtype(dtype: Any) -> np.dtype:
    """``numpy.dtype``, but it refuses tnp's arrays as it refuses NumPy's, instead of reading their attribute dtype."""
    if isinstance(dtype, ndarray) and not isinstance(dtype, scalar):
        raise TypeError("Cannot construct a dtype from an array")
    return np.dtype(dtype)


def native(dtype: Any) -> np.dtype | None:
    """Return a dtype in this machine's byte order, for data that is read and for reductions; None stays None."""
    if dtype is None:
        return None
    dtype = _as_dtype(dtype)
    return backend.to_numpy[tensor_dtype(dtype if dtype.isnative else dtype.newbyteorder("="))]
