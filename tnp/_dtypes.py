"""dtypes: NumPy's objects in public, the tensor's behind them.

Layer: owns which dtypes a user may name and what is said about the others.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from backend_torch import dtypes as backend


def tensor_dtype(dtype: Any) -> Any:
    """The torch dtype for anything ``numpy.dtype`` takes; TypeError for what no tensor can carry."""
    if not isinstance(dtype, np.dtype):
        dtype = np.dtype(dtype)
    try:
        return backend.to_torch[dtype]
    except KeyError:
        if not dtype.isnative and (native := dtype.newbyteorder("=")) in backend.to_torch:
            return backend.to_torch[native]
        raise TypeError(
            f"tnp arrays hold numbers and booleans: no tensor has dtype {dtype!r}; keep such data in numpy"
        ) from None
