"""The array's methods: each calls its function (``x.sum()`` is ``tnp.sum(x)``) or reads the tensor.

Layer: owns the signatures of ``numpy.ndarray``'s methods; nothing is computed here.
"""
# mypy: disable-error-code="attr-defined, index, arg-type"
# ndarray, which inherits these methods, defines the other attributes.

from __future__ import annotations

import math
import operator
import pickle
from typing import Any

import numpy as np

from backend_torch.autodiff import autodiff
from backend_torch.native import heads
from backend_torch.tensors import memory
from backend_torch.torch_private.functorch import innermost
from tnp._core import convert, host_fallback
from tnp._core.base import like, ndarray, scalar, wrap_array
from tnp._core.convert import as_dtype, as_order, asnumpy, element_of, field, sequence_error
from tnp._core.derived_classes import finalised, plain, viewed_as
from tnp._core.dtype_table import PLAIN
from tnp._core.dtypes import DtypeError
from tnp._core.errors import integer_of
from tnp._core.interop import check_readable
from tnp._core.public import of_array
from tnp._core.readonly_views import view_like
from tnp._indexing import assignment, diagonals, selection
from tnp._manipulation import joining, rearranging
from tnp._manipulation import shape as _shape
from tnp._math import mathematics, products, reductions, scans
from tnp._sorting import sorting
from tnp._statistics import averages
from tnp._ufunc import table

_NoValue = np._NoValue
_METACLASS = type  # an argument of view hides the name


class Methods:
    """The methods of ndarray."""

    __slots__ = ()

    @of_array
    def all(self, axis: Any = None, out: Any = None, keepdims: bool = False, *, where: Any = True) -> ndarray:
        """Whether all elements are true; see `tnp.all`."""
        return reductions.all(self, axis, out, keepdims, where=where)

    @of_array
    def any(self, axis: Any = None, out: Any = None, keepdims: bool = False, *, where: Any = True) -> ndarray:
        """Whether any element is true; see `tnp.any`."""
        return reductions.any(self, axis, out, keepdims, where=where)

    @of_array
    def argmax(self, axis: Any = None, out: Any = None, *, keepdims: bool = False) -> ndarray:
        """Index of the largest element; see `tnp.argmax`."""
        return reductions.argmax(self, axis, out, keepdims=keepdims)

    @of_array
    def argmin(self, axis: Any = None, out: Any = None, *, keepdims: bool = False) -> ndarray:
        """Index of the smallest element; see `tnp.argmin`."""
        return reductions.argmin(self, axis, out, keepdims=keepdims)

    @of_array
    def argpartition(self, kth: Any, axis: Any = -1, kind: str = "introselect", order: Any = None) -> ndarray:
        """Indices that would partition the array; see `tnp.argpartition`."""
        return sorting.argpartition(self, kth, axis, kind, order)

    @of_array
    def argsort(
        self, axis: Any = -1, kind: Any = None, order: Any = None, *, stable: Any = None, descending: Any = None
    ) -> ndarray:
        """Indices that would sort the array; see `tnp.argsort`."""
        return sorting.argsort(self, axis, kind, order, stable=stable, descending=descending)

    def astype(
        self, dtype: Any, order: str = "K", casting: str = "unsafe", subok: bool = True, copy: bool = True
    ) -> ndarray:
        """The array in another dtype.

        Parameters
        ----------
        dtype : dtype_like
        order : {'C', 'F', 'A', 'K'}, optional
            Memory order of the result.
        casting : {'no', 'equiv', 'safe', 'same_kind', 'unsafe', 'same_value'}, optional
            The allowed conversions; 'same_value' compares the elements.
        subok : bool, optional
            Whether the result keeps the array's class, if that derives from ndarray.
        copy : bool, optional
            False returns the array itself if nothing has to change.

        Returns
        -------
        ndarray

        Raises
        ------
        TypeError
            The conversion is not allowed by ``casting``, or no tensor can carry the dtype.
        ValueError
            ``casting='same_value'`` and some element changes.
        """
        if copy is True and order.__class__ is casting.__class__ is str and order == "K" and casting == "unsafe":
            if (made := heads.astype(self, dtype)) is not None:
                return made
        return as_dtype(self, dtype, order, casting, copy)

    def byteswap(self: Any, inplace: bool = False) -> ndarray:
        """The array with the bytes of each element reversed."""
        swapped = memory.byteswapped(self.tensor)
        if inplace and isinstance(self, scalar):
            raise ValueError("cannot byteswap a scalar in-place")
        if inplace:
            self.tensor.copy_(swapped)
            return self
        return wrap_array(memory.owned(swapped))

    def choose(self, *choices: Any, out: Any = None, mode: str = "raise") -> ndarray:
        """Construct an array from an index array and a list of arrays, or several; see `tnp.choose`."""
        try:
            return selection.choose(self, choices[0] if len(choices) == 1 else choices, out, mode)
        except DtypeError as error:
            return host_fallback.refused(error, np.ndarray.choose, (self, *choices), {"out": out, "mode": mode})

    def clip(self, min: Any = None, max: Any = None, out: Any = None, **kwargs: Any) -> ndarray:
        """Limit the values; see `tnp.clip`."""
        try:
            return mathematics.clip(self, min, max, out, **kwargs)
        except DtypeError as error:
            return host_fallback.refused(error, np.ndarray.clip, (self, min, max, out), kwargs)

    @of_array
    def compress(self, condition: Any, axis: Any = None, out: Any = None) -> ndarray:
        """Selected slices along an axis; see `tnp.compress`."""
        return selection.compress(condition, self, axis, out)

    def conj(self: Any, out: Any = None, /) -> ndarray:
        """Complex conjugate; see `tnp.conjugate`."""
        if out is not None:
            return table.conjugate(self, out)
        if self.dtype.kind != "c":
            return self
        result = table.conjugate(self)
        return result if type(self) in PLAIN else like(self, result.tensor)

    def conjugate(self, out: Any = None, /) -> ndarray:
        """Complex conjugate; see `tnp.conjugate`."""
        return self.conj(out)

    def copy(self, order: str = "C") -> ndarray:
        """A copy of the array, in C order by default."""
        if order.__class__ is str and order == "C" and (made := heads.copy(self)) is not None:
            return made
        return like(self, memory.copied(self.tensor, as_order(order)))

    @of_array
    def cumprod(self, axis: Any = None, dtype: Any = None, out: Any = None) -> ndarray:
        """Cumulative product; see `tnp.cumprod`."""
        return scans.cumprod(self, axis, dtype, out)

    @of_array
    def cumsum(self, axis: Any = None, dtype: Any = None, out: Any = None) -> ndarray:
        """Cumulative sum; see `tnp.cumsum`."""
        return scans.cumsum(self, axis, dtype, out)

    def diagonal(self, offset: int = 0, axis1: int = 0, axis2: int = 1) -> ndarray:
        """Diagonals; see `tnp.diagonal`."""
        return diagonals.diagonal(self, offset, axis1, axis2)

    @of_array
    def dot(self, b: Any, out: Any = None) -> ndarray:
        """Dot product; see `tnp.dot`."""
        return products.dot(self, b, out)

    def dump(self, file: Any) -> None:
        """Pickle the array to a file: a path or an open one."""
        if hasattr(file, "write"):
            pickle.dump(self, file)
        else:
            with open(file, "wb") as opened:
                pickle.dump(self, opened)

    def dumps(self) -> bytes:
        """The pickle of the array as bytes."""
        return pickle.dumps(self)

    def fill(self, value: Any) -> None:
        """Set every element to a scalar."""
        if value.__class__ is float or value.__class__ is int:
            self[...] = value
            return
        value = element_of(value, self.dtype)
        if np.ndim(value):
            raise sequence_error(value, self.dtype)
        self[...] = value

    def flatten(self, order: str = "C") -> ndarray:
        """A one-dimensional copy; see `tnp.ravel` for one without a copy."""
        if order.__class__ is str and order == "C" and (made := heads.flatten(self)) is not None:
            return made
        return wrap_array(memory.copied(_shape.ravel(self, order).tensor))

    def getfield(self, dtype: Any, offset: int = 0) -> ndarray:
        """The bytes of each element from ``offset`` on under another dtype, a view."""
        try:
            return field(self, dtype, offset)
        except DtypeError as error:
            return host_fallback.refused(error, np.ndarray.getfield, (self, dtype, offset), {})

    def item(self, *args: Any) -> Any:
        """One element as a Python scalar: the only one, or the one at a flat index or at a tuple of indices."""
        if innermost() is not None:
            autodiff.check_constant(self.tensor, "item()")
        if not args:
            if self.tensor.numel() != 1:
                raise ValueError("can only convert an array of size 1 to a Python scalar")
            return self.tensor.item()
        if (number := heads.item(self, *args)) is not None:
            return number
        key = args[0] if len(args) == 1 else args
        if isinstance(key, tuple):
            if len(key) != self.tensor.dim():
                raise ValueError("incorrect number of indices for array")
            return self[tuple(map(integer_of, key))].tensor.item()
        return selection.take(self, integer_of(key)).tensor.item()

    @of_array
    def max(
        self, axis: Any = None, out: Any = None, keepdims: bool = False, initial: Any = _NoValue, where: Any = True
    ) -> ndarray:
        """Maximum; see `tnp.max`."""
        return reductions.max(self, axis, out, keepdims, initial, where)

    @of_array
    def mean(
        self, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: bool = False, *, where: Any = True
    ) -> ndarray:
        """Mean; see `tnp.mean`."""
        return averages.mean(self, axis, dtype, out, keepdims, where=where)

    @of_array
    def min(
        self, axis: Any = None, out: Any = None, keepdims: bool = False, initial: Any = _NoValue, where: Any = True
    ) -> ndarray:
        """Minimum; see `tnp.min`."""
        return reductions.min(self, axis, out, keepdims, initial, where)

    def nonzero(self) -> tuple[ndarray, ...]:
        """Indices of the elements that are not zero; see `tnp.nonzero`."""
        return selection.nonzero(self)

    def partition(self, kth: Any, axis: Any = -1, kind: str = "introselect", order: Any = None) -> None:
        """Partition in place; see `tnp.partition`."""
        self[...] = sorting.partition(self, kth, operator.index(axis), kind, order)

    @of_array
    def prod(
        self,
        axis: Any = None,
        dtype: Any = None,
        out: Any = None,
        keepdims: bool = False,
        initial: Any = _NoValue,
        where: Any = True,
    ) -> ndarray:
        """Product; see `tnp.prod`."""
        return reductions.prod(self, axis, dtype, out, keepdims, initial, where)

    @of_array
    def put(self, indices: Any, values: Any, mode: str = "raise") -> None:
        """Set elements at flat indices; see `tnp.put`."""
        assignment.put(self, indices, values, mode)

    def ravel(self, order: str = "C") -> ndarray:
        """The array in one dimension, a view where possible; see `tnp.ravel`."""
        return _shape.ravel(self, order)

    @of_array
    def repeat(self, repeats: Any, axis: Any = None) -> ndarray:
        """Repeat elements; see `tnp.repeat`."""
        return joining.repeat(self, repeats, axis)

    def reshape(self, *shape: Any, order: str = "C", copy: bool | None = None) -> ndarray:
        """The same elements in another shape; see `tnp.reshape`."""
        if not shape:
            raise TypeError("reshape() takes exactly 1 argument (0 given)")
        return _shape.reshape(self, shape[0] if len(shape) == 1 else shape, order, copy=copy)

    def resize(self: Any, *new_shape: Any, refcheck: bool = True) -> None:
        """Change shape and size in place; new elements are zero."""
        refcheck = bool(operator.index(refcheck))
        if not new_shape or new_shape[0] is None:
            return
        shape = new_shape[0] if len(new_shape) == 1 else new_shape
        lengths = tuple(map(operator.index, (shape,) if not isinstance(shape, (tuple, list)) else shape))
        if any(length < 0 for length in lengths):
            raise ValueError("negative dimensions not allowed")
        if not self.flags.forc:
            raise ValueError("resize only works on single-segment arrays")
        if math.prod(lengths) == self.size and self.flags.c_contiguous:
            self.tensor = self.tensor.view(lengths)
            return
        if refcheck and self.tensor._base is not None:
            raise ValueError("cannot resize this array: it does not own its data")
        self.tensor = memory.resized(self.tensor, lengths)

    def round(self, decimals: int = 0, out: Any = None) -> ndarray:
        """Round to decimals; see `tnp.round`."""
        return mathematics.round(self, decimals, out)

    @of_array
    def searchsorted(self, v: Any, side: str = "left", sorter: Any = None) -> ndarray:
        """Where to insert values to keep the order; see `tnp.searchsorted`."""
        return sorting.searchsorted(self, v, side, sorter)

    def setfield(self, val: Any, dtype: Any, offset: int = 0) -> None:
        """Set the bytes of each element from ``offset`` on to values of another dtype."""
        self.getfield(dtype, offset)[...] = val

    def setflags(self, write: Any = None, align: Any = None, uic: Any = None) -> None:
        """Set memory flags: ``write=False`` makes the array read-only."""
        self.flags.set(write, align, uic)

    def sort(
        self, axis: Any = -1, kind: Any = None, order: Any = None, *, stable: Any = None, descending: Any = None
    ) -> None:
        """Sort in place; see `tnp.sort`."""
        is_default = kind is order is stable is descending is None
        if is_default and heads.write_by_numpy(np.ndarray.sort, self, axis):
            return
        self[...] = sorting.sort(self, operator.index(axis), kind, order, stable=stable, descending=descending)

    def squeeze(self, axis: Any = None) -> ndarray:
        """Remove axes of length one; see `tnp.squeeze`."""
        return _shape.squeeze(self, axis)

    @of_array
    def std(
        self,
        axis: Any = None,
        dtype: Any = None,
        out: Any = None,
        ddof: float = 0,
        keepdims: bool = False,
        *,
        where: Any = True,
        mean: Any = _NoValue,
        correction: Any = _NoValue,
    ) -> ndarray:
        """Standard deviation; see `tnp.std`."""
        return averages.std(self, axis, dtype, out, ddof, keepdims, where=where, mean=mean, correction=correction)

    @of_array
    def sum(
        self,
        axis: Any = None,
        dtype: Any = None,
        out: Any = None,
        keepdims: bool = False,
        initial: Any = _NoValue,
        where: Any = True,
    ) -> ndarray:
        """Sum; see `tnp.sum`."""
        return reductions.sum(self, axis, dtype, out, keepdims, initial, where)

    @property
    def sharding(self) -> Any:
        """The array's layout over processes, a `tnp.distributed.Sharding`; None for an ordinary array."""
        if not memory.is_sharded(self.tensor):
            return None
        from tnp.distributed import sharding  # imported only for sharded arrays: it imports torch.distributed

        return sharding(self)

    def swapaxes(self, axis1: int, axis2: int) -> ndarray:
        """Exchange two axes; see `tnp.swapaxes`."""
        return rearranging.swapaxes(self, axis1, axis2)

    @of_array
    def take(self, indices: Any, axis: Any = None, out: Any = None, mode: str = "raise") -> ndarray:
        """Elements along an axis; see `tnp.take`."""
        return selection.take(self, indices, axis, out, mode)

    def tobytes(self, order: Any = "C") -> bytes:
        """The elements' bytes."""
        return asnumpy(self).tobytes(order)

    def tofile(self, fid: Any, sep: str = "", format: str = "%s") -> None:
        """Write the elements to a file, as bytes or as text."""
        asnumpy(self).tofile(fid, sep, format)

    def tolist(self) -> Any:
        """The elements as nested lists of Python scalars."""
        if (found := heads.tolist(self)) is not None:
            return found
        if memory.is_sharded(self.tensor):
            check_readable(self)
        if innermost() is not None:
            autodiff.check_constant(self.tensor, "tolist()")
        return self.tensor.tolist()

    @of_array
    def trace(self, offset: int = 0, axis1: int = 0, axis2: int = 1, dtype: Any = None, out: Any = None) -> ndarray:
        """Sum along diagonals; see `tnp.trace`."""
        return products.trace(self, offset, axis1, axis2, dtype, out)

    def transpose(self, *axes: Any) -> ndarray:
        """The axes permuted; see `tnp.transpose`."""
        return rearranging.transpose(self, None if not axes else axes[0] if len(axes) == 1 else axes)

    @of_array
    def var(
        self,
        axis: Any = None,
        dtype: Any = None,
        out: Any = None,
        ddof: float = 0,
        keepdims: bool = False,
        *,
        where: Any = True,
        mean: Any = _NoValue,
        correction: Any = _NoValue,
    ) -> ndarray:
        """Variance; see `tnp.var`."""
        return averages.var(self, axis, dtype, out, ddof, keepdims, where=where, mean=mean, correction=correction)

    def view(self, dtype: Any = _NoValue, type: Any = _NoValue) -> ndarray:
        """The same memory under another dtype or as an array of another class."""
        if isinstance(dtype, _METACLASS) and issubclass(dtype, ndarray):
            if type is not _NoValue:
                raise ValueError("Cannot specify output type twice.")
            dtype, type = _NoValue, dtype
        if type is not _NoValue and not (isinstance(type, _METACLASS) and issubclass(type, ndarray)):
            raise ValueError("Type must be a sub-type of ndarray type")
        if type is not _NoValue or _METACLASS(self) not in PLAIN:
            return viewed(self, dtype, type)
        if dtype is _NoValue:
            return view_like(self, memory.sliced(self.tensor, (...,)))
        try:
            return convert.view(self, dtype)
        except DtypeError as error:
            return host_fallback.refused(error, np.ndarray.view, (self, dtype), {})


def viewed(x: ndarray, dtype: Any, kind: Any) -> ndarray:
    """``x.view(dtype, type)`` with a class involved: ``dtype`` may be None, or itself a class."""
    if dtype is _NoValue and (made := viewed_as(type(x) if kind is _NoValue else kind, x)) is not None:
        return made
    given = plain(x)
    result = given.view() if dtype is _NoValue else convert.view(given, dtype)
    tensor = result.tensor if result.tensor is not x.tensor else memory.sliced(result.tensor, (...,))
    return finalised(type(x) if kind is _NoValue else kind, tensor, x)
