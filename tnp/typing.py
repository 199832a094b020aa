"""Types for annotations: ``numpy.typing``'s names for tnp's arrays.

Layer: owns what a type checker and a reader are told; nothing at run time depends on it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt

from tnp._core.base import ndarray

__all__ = ["ArrayLike", "DTypeLike", "NDArray"]

ArrayLike: TypeAlias = ndarray | npt.ArrayLike
"""What becomes an array: ours, NumPy's, numbers and nested sequences of them, and whatever speaks a protocol."""

DTypeLike: TypeAlias = npt.DTypeLike
"""What ``numpy.dtype`` takes: tnp's dtypes are NumPy's."""

if TYPE_CHECKING:
    _Scalar = TypeVar("_Scalar", bound=np.generic)
    NDArray: TypeAlias = Annotated[ndarray, _Scalar]
else:

    class NDArray:
        """An array of a dtype: ``NDArray[np.float64]`` is ``Annotated[ndarray, np.float64]``.

        Notes
        -----
        Source: https://numpy.org/doc/stable/reference/typing.html

        Examples
        --------
        >>> import tnp as np
        >>> np.typing.NDArray[np.float64]
        typing.Annotated[tnp.ndarray, <class 'numpy.float64'>]
        """

        def __class_getitem__(cls, scalar: Any) -> Any:
            return Annotated[ndarray, scalar]
