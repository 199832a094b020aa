"""``x[mask]`` with an unknown number of elements: ``vectorized_map`` has one mask for each element, and a mask has no
values in ``tnp.compile``.

Layer: owns the operations on such a selection that do not depend on its shape. Elementwise functions compute all
elements, and the mask decides which of them are written back. Reductions use ``where=``. Any other operation needs the
tensor, but a selection has no tensor, and raises.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from backend_torch.kernels import masking
from backend_torch.tensors.dtypes import to_numpy
from tnp._core.base import ndarray, subclass, wrap_array
from tnp._core.convert import asarray, value_of
from tnp._core.errors import normalize_axes

Tensor = Any
_new = object.__new__


class Selection(subclass):
    """The elements that a mask selects, of unknown number."""

    __slots__ = ("chosen",)
    __module__ = "tnp"

    chosen: masking.Chosen

    @property
    def tensor(self) -> Tensor:
        """Raise: the shape of a selection depends on values."""
        raise masking.unknown_error(self.chosen)

    @tensor.setter
    def tensor(self, tensor: Tensor) -> None:
        raise masking.unknown_error(self.chosen)

    @property  # type: ignore[misc]
    def dtype(self) -> np.dtype:
        """NumPy dtype of the elements."""
        return to_numpy[self.chosen.values.dtype]

    @property
    def ndim(self) -> int:
        """Number of axes: the axes of the mask become one."""
        return self.chosen.values.dim() - self.chosen.mask.dim() + 1

    def copy(self, order: str = "C") -> ndarray:
        """A copy of the array."""
        return _selection(self.chosen, wrap_array(self.chosen.values).copy())

    def astype(
        self, dtype: Any, order: str = "K", casting: str = "unsafe", subok: bool = True, copy: bool = True
    ) -> ndarray:
        """The array in another dtype."""
        return _selection(self.chosen, wrap_array(self.chosen.values).astype(dtype, order, casting))

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, out: Any = (), **options: Any) -> Any:
        if method != "__call__" or ufunc.signature is not None or "where" in options:
            raise masking.unknown_error(self.chosen)
        results = over(ufunc, *inputs, out=out, **options) if out else over(ufunc, *inputs, **options)
        return out[0] if len(out) == 1 else results

    def reduction(self, ufunc: np.ufunc, axis: Any, keepdims: Any, where: Any) -> tuple[ndarray, Any, Any]:
        """Return the array, axis and ``where`` that reduce the selected elements."""
        values, mask, after, _ = self.chosen
        first = values.dim() - after - mask.dim()
        axes = normalize_axes(axis, self.ndim)
        if where is not True or first not in axes or (keepdims and mask.dim() > 1):
            raise masking.unknown_error(self.chosen)
        others = [each if each < first else each + mask.dim() - 1 for each in axes if each != first]
        axes = (*others, *range(first, first + mask.dim()))
        if ufunc.identity is not None:
            return wrap_array(values), axes, wrap_array(self.chosen.broadcast_mask)
        if ufunc not in _EXTREMES or self.dtype.kind not in "biuf" or not masking.has_any(mask):
            raise masking.unknown_error(self.chosen)
        last = asarray(_EXTREMES[ufunc](self.dtype), self.dtype)  # which no other is beyond
        return wrap_array(masking.where(self.chosen.broadcast_mask, values, last.tensor)), axes, True


def _lowest(dtype: np.dtype) -> Any:
    if dtype.kind in "iu":
        return np.iinfo(dtype).min
    return dtype.kind == "f" and -np.inf


def _highest(dtype: np.dtype) -> Any:
    if dtype.kind in "iu":
        return np.iinfo(dtype).max
    return np.inf if dtype.kind == "f" else True


_EXTREMES = {np.maximum: _lowest, np.fmax: _lowest, np.minimum: _highest, np.fmin: _highest}


def _selection(like: masking.Chosen, array: Any) -> Selection:
    made: Selection = _new(Selection)
    made.chosen = like._replace(values=array.tensor)
    return made


def select(tensor: Tensor, index: Any) -> Selection | None:
    """``x[mask]`` of a mask without known values; None for other keys."""
    chosen = masking.choose(tensor, index)
    if chosen is None:
        return None
    made: Selection = _new(Selection)
    made.chosen = chosen
    return made


def over(function: Callable[..., Any], *operands: Any, out: Any = None, **options: Any) -> Any:
    """Call an elementwise ``function`` of operands that include selections by one mask."""
    chosen = [each.chosen for each in (*operands, *(out or ())) if type(each) is Selection]
    like = max(chosen, key=lambda each: each.values.dim())
    for other in chosen:
        if other.after != like.after or not masking.are_equal(other.mask, like.mask):
            raise masking.unknown_error(like)
    if out:
        if any(type(each) is not Selection for each in out):
            raise masking.unknown_error(like)
        options["out"] = tuple([wrap_array(each.chosen.values) for each in out])
    results = function(*[_whole(each, like) for each in operands], **options)
    for each in results if type(results) is tuple else (results,):
        if each.shape != tuple(like.values.shape):
            raise masking.unknown_error(like)
    if type(results) is tuple:
        return tuple([_selection(like, each) for each in results])
    return _selection(like, results)


def _whole(operand: Any, like: masking.Chosen) -> Any:
    """Return an operand as it combines with all elements; Python's numbers stay as they are."""
    if type(operand) is Selection:
        return wrap_array(operand.chosen.values)
    if type(operand) in (bool, int, float, complex, type(None)):
        return operand
    whole = masking.beside(asarray(operand).tensor, like)
    if whole is None:
        raise masking.unknown_error(like)
    return wrap_array(whole)


def assign(array: ndarray, index: Any, value: Selection) -> None:
    """``array[mask] = value``, where the value was selected by the same mask."""
    chosen = value.chosen._replace(values=value_of(wrap_array(value.chosen.values), array))
    if not masking.put(array.tensor, index, chosen):
        raise masking.unknown_error(chosen)
