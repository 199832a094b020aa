"""Arguments of linear algebra: which arrays are matrices, and in which dtype.

Layer: owns the checks that NumPy's functions of linear algebra share, and their messages.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.linalg import LinAlgError

from backend_torch.tensors.casting import cast
from backend_torch.tensors.dtypes import to_numpy, to_torch
from tnp._core.convert import tensors_of

Tensor = Any

_DOUBLE = to_torch[np.dtype(np.float64)]
_OWN = {to_torch[np.dtype(name)]: np.dtype(name) for name in ("float32", "float64", "complex64", "complex128")}
_COMMON = {(a, b): to_torch[np.result_type(_OWN[a], _OWN[b])] for a in _OWN for b in _OWN}
_WHOLE = {torch_dtype for numpy_dtype, torch_dtype in to_torch.items() if numpy_dtype.kind in "biu"}


def result_dtype(*tensors: Tensor) -> Any:
    """The torch dtype of the result of one or two operands, float64 for integers; TypeError for others, as float16."""
    dtypes = []
    for tensor in tensors:
        dtype = _DOUBLE if tensor.dtype in _WHOLE else tensor.dtype
        if dtype not in _OWN:
            raise TypeError(f"array type {to_numpy[dtype].name} is unsupported in linalg")
        dtypes.append(dtype)
    return _COMMON[dtypes[0], dtypes[-1]]


def matrices(a: Any) -> Tensor:
    """Return a stack of matrices in the dtype of the result."""
    (tensor,) = tensors_of(a, check=_check_rank)
    _check_dimensions(tensor)
    return cast(tensor, result_dtype(tensor))


def square_matrices(a: Any) -> Tensor:
    """Return a stack of square matrices in the dtype of the result."""
    tensor = square(a)
    return cast(tensor, result_dtype(tensor))


def square(a: Any) -> Tensor:
    """Return a stack of square matrices in their own dtype."""
    (tensor,) = tensors_of(a, check=_check_rank)
    check_square(tensor)
    return tensor


def check_square(tensor: Tensor) -> None:
    """Raise LinAlgError for anything but a stack of square matrices."""
    _check_dimensions(tensor)
    rows, columns = tensor.shape[-2:]
    if rows != columns:
        raise LinAlgError("Last 2 dimensions of the array must be square")


def check_matrix(tensor: Tensor) -> None:
    """Raise LinAlgError for anything but one matrix."""
    if tensor.dim() != 2:
        raise LinAlgError(f"{tensor.dim()}-dimensional array given. Array must be two-dimensional")


def _check_rank(shape: tuple[int, ...]) -> None:
    if len(shape) < 2:
        raise LinAlgError(f"{len(shape)}-dimensional array given. Array must be at least two-dimensional")


def is_empty(tensor: Tensor) -> bool:
    """Whether the matrices have no elements; a stack without matrices alone does not count."""
    return 0 in tensor.shape[-2:]


def _check_dimensions(tensor: Tensor) -> None:
    _check_rank(tuple(tensor.shape))
