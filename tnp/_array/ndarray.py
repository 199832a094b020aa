"""The array: one slot that holds a torch.Tensor, and NumPy's attributes, protocols and operators around it.

Layer: owns ``numpy.ndarray``, except for its methods. An operator calls its ufunc (``x + y`` is ``tnp.add``); nothing
is computed here.
"""

from __future__ import annotations

import numbers
import types
from collections.abc import Iterator
from typing import Any, ClassVar

import numpy as np
from numpy.exceptions import ComplexWarning

from backend_torch.autodiff import autodiff
from backend_torch.native import heads
from backend_torch.tensors import memory, trace_state
from backend_torch.tensors.dtypes import to_numpy
from backend_torch.torch_private.functorch import innermost
from backend_torch.torch_private.traces import is_fake
from tnp._array import printing
from tnp._array.flags import Flags
from tnp._array.host_classes import of_host
from tnp._array.methods import Methods
from tnp._array.protocols import namespace, numpy_function, numpy_ufunc, torch_function
from tnp._array.scalars import ScalarMethods
from tnp._core import base, interop
from tnp._core.base import completes, flatiter, like, wrap, wrap_array
from tnp._core.convert import tensor_of, view
from tnp._core.derived_classes import derive, finalised, note_base, over_buffer
from tnp._core.dtypes import DtypeError, native, tensor_dtype
from tnp._core.errors import NO_IMAGINARY_PART, warn
from tnp._core.host_fallback import refused
from tnp._core.indexing import get_item, set_item
from tnp._core.numpy_version import NUMPY, deprecated
from tnp._core.readonly_views import readonly_array, view_like
from tnp._creation.filled import empty
from tnp._manipulation.rearranging import matrix_transpose, transpose
from tnp._manipulation.shape import reshape
from tnp._math import reductions
from tnp._math.products import matmul
from tnp._ufunc import table as ufuncs

Tensor = Any
_SETTING_WARNS = NUMPY >= "2.5.0"
REPEATED = (list, tuple, str, bytes)  # an integer scalar repeats these, as a Python int does: [0] * n


def _made_by_host(cls: type, *args: Any) -> Any:
    """Return an array of NumPy's class, or of one derived from it, of what no tensor can hold."""
    return np.ndarray.__new__(cls, *args)


def _part(array: ndarray, part: Any) -> ndarray:
    """Return the real or imaginary part: a view of an array's memory, but a number of its own of a number."""
    return like(array, part.clone()) if isinstance(array, base.scalar) else view_like(array, part)


@completes(base.ndarray)
class ndarray(Methods):
    """An array of numbers or booleans, held by a torch.Tensor.

    Arrays are made by ``asarray``, ``array``, ``zeros`` and the other creation functions; this constructor is NumPy's
    low-level one.

    Parameters
    ----------
    shape : int or tuple of int
        Lengths of the axes.
    dtype : dtype_like, default float64
        A numeric or boolean dtype.
    buffer : buffer, optional
        Memory to use; by default new memory with arbitrary contents.
    offset : int, default 0
        Bytes into the buffer.
    strides : tuple of int, optional
        Bytes from one element to the next along each axis, none negative.
    order : {'C', 'F'}, optional
        Memory order.

    Attributes
    ----------
    tensor : torch.Tensor
        The tensor itself, not a copy.

    Raises
    ------
    TypeError
        The dtype is one that no tensor can carry.

    Notes
    -----
    Differences from NumPy: see the known differences in the documentation. Source:
    https://numpy.org/doc/stable/reference/generated/numpy.ndarray.html

    Examples
    --------
    >>> import tnp as np
    >>> x = np.asarray([[1.0, 2.0], [3.0, 4.0]])
    >>> x.T @ x
    array([[10., 14.],
           [14., 20.]])
    >>> x.tensor.dtype
    torch.float64
    """

    __slots__ = ()
    __array_priority__: ClassVar[float] = 100.0
    __module__ = "tnp"

    tensor: Tensor

    def __new__(
        cls, shape: Any, dtype: Any = float, buffer: Any = None, offset: int = 0, strides: Any = None, order: Any = None
    ) -> ndarray:
        if buffer is not None and strides is order is None and type(offset) is int and not offset:
            if (made := over_buffer(cls, shape, dtype, buffer)) is not None:
                return made
        try:
            native(dtype)
        except DtypeError as error:
            return refused(error, _made_by_host, (of_host(cls), shape, dtype, buffer, offset, strides, order), {})
        if cls is not ndarray:
            plain = ndarray(shape, dtype, buffer, offset, strides, order)
            if isinstance(buffer, ndarray):
                note_base(cls, plain.tensor, buffer)
            elif type(plain) is base.readonly:
                memory.lock(plain.tensor)
            return finalised(cls, plain.tensor, None)
        if buffer is None and strides is None:
            return empty(shape, dtype, order or "C")
        if isinstance(buffer, ndarray):
            buffer = buffer.__array__()
        if isinstance(buffer, ndarray):
            buffer = memory.to_numpy(buffer.tensor)
        array = np.ndarray(shape, dtype, buffer, offset, strides, order)
        if not array.flags.writeable:
            return readonly_array(memory.from_numpy(array, read_only=True), array)
        return wrap_array(memory.from_numpy(array))

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super(ndarray, cls).__init_subclass__(**kwargs)  # noqa: UP008  the class is the completed shell
        if cls.__module__ != "tnp":
            derive(cls)

    def __array_finalize__(self, source: Any, /) -> None:
        """Hook for derived classes, called for each of their arrays; ``source`` is what it was made from, or None."""

    # Attributes.

    @property
    def dtype(self) -> np.dtype:
        """NumPy dtype of the elements; assignment reinterprets the same bytes."""
        return to_numpy[self.tensor.dtype]

    @dtype.setter
    def dtype(self, dtype: Any) -> None:
        if _SETTING_WARNS:
            deprecated(
                "Setting the dtype on a NumPy array has been deprecated in NumPy 2.5.\nInstead of changing the dtype "
                "on an array x, create a new array with x.view(new_dtype)"
            )
        self._set_dtype(dtype)

    def _set_dtype(self, dtype: Any) -> None:
        self.tensor = view(wrap_array(self.tensor), dtype).tensor

    @property
    def shape(self) -> tuple[int, ...]:
        """Length of each axis; assignment reshapes in place, without a copy."""
        return tuple(self.tensor.shape)

    @shape.setter
    def shape(self, shape: Any) -> None:
        if _SETTING_WARNS:
            deprecated(
                "Setting the shape on a NumPy array has been deprecated in NumPy 2.5.\nAs an alternative, you can "
                "create a new view using np.reshape (with copy=False if needed)."
            )
        self._set_shape(shape)

    def _set_shape(self, shape: Any) -> None:
        """Reshape in place, as NumPy's method of this name does, without a warning."""
        reshaped = reshape(wrap_array(self.tensor), shape)
        if not memory.same_start(reshaped.tensor, self.tensor):
            if is_fake(reshaped.tensor) and not is_fake(self.tensor):
                raise NotImplementedError(
                    "a compiled function can't set the shape of an array from outside: reshape it, or set it outside"
                )
            raise AttributeError("Incompatible shape for in-place modification. Use `.reshape()` to make a copy")
        self.tensor = reshaped.tensor

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return self.tensor.dim()

    @property
    def size(self) -> int:
        """Number of elements."""
        return self.tensor.numel()

    @property
    def itemsize(self) -> int:
        """Bytes of an element."""
        return self.tensor.itemsize

    @property
    def nbytes(self) -> int:
        """Bytes of all elements."""
        return self.tensor.numel() * self.tensor.itemsize

    @property
    def strides(self) -> tuple[int, ...]:
        """Bytes from one element to the next along each axis."""
        if trace_state.scopes:
            trace_state.state.reads_strides = True
        itemsize = self.tensor.itemsize
        return tuple([stride * itemsize for stride in self.tensor.stride()])

    @property
    def device(self) -> Any:
        """Device of the elements (a torch.device)."""
        return self.tensor.device

    @property
    def base(self) -> ndarray | None:
        """The array that this one is a view of, or None if it has memory of its own."""
        base = self.tensor._base
        if base is None:
            return None
        holder = memory.holder_of(base, ndarray)
        return memory.held_by(base, wrap_array(base)) if holder is None else holder

    @property
    def flags(self) -> Flags:
        """Memory layout: ``c_contiguous``, ``f_contiguous``, ``owndata``, ``writeable``, ``aligned`` ..."""
        return Flags(self)

    @property
    def flat(self) -> flatiter:
        """A one-dimensional iterator over the elements in C order, which can be indexed and assigned to."""
        return flatiter(self)

    @flat.setter
    def flat(self, values: Any) -> None:
        flatiter(self)[:] = values

    @property
    def data(self) -> memoryview:
        """The elements' memory as a buffer, without a copy; CPU only.

        The class itself exports none (``__buffer__``): torch.asarray would take its bytes for the default dtype's, and
        keep no reference to the memory.
        """
        return self.__array__(copy=False).data

    @property
    def ctypes(self) -> Any:
        """The elements' memory for ctypes; CPU only."""
        return self.__array__().ctypes

    @property
    def T(self) -> ndarray:
        """The array with its axes reversed; a view."""
        view = heads.transpose(self, None)
        return transpose(self) if view is None else view

    @property
    def mT(self) -> ndarray:
        """The array with its last two axes swapped; a view."""
        if self.tensor.dim() < 2:
            raise ValueError("matrix transpose with ndim < 2 is undefined")
        return matrix_transpose(self)

    @property
    def real(self) -> ndarray:
        """The real part: a view of a complex array, a real one itself."""
        if (part := heads.part(self, False)) is not None:
            return part
        return _part(self, memory.real(self.tensor)) if self.tensor.is_complex() else self

    @real.setter
    def real(self, value: Any) -> None:
        wrap_array(memory.real(self.tensor))[...] = value

    @property
    def imag(self) -> ndarray:
        """The imaginary part; a view of a complex array, zeros for a real one."""
        part = heads.part(self, True)
        return _part(self, memory.imag(self.tensor)) if part is None else part

    @imag.setter
    def imag(self, value: Any) -> None:
        if not self.tensor.is_complex():
            raise TypeError(NO_IMAGINARY_PART)
        wrap_array(memory.imag(self.tensor))[...] = value

    # Protocols.

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        """A NumPy array over the same memory; on an accelerator this raises, because a copy would be hidden."""
        return interop.to_numpy(self, dtype, copy)

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
        if not kwargs and method == "__call__" and (found := heads.ufunc(ufunc, *inputs)) is not None:
            return found
        return numpy_ufunc(ufunc, method, inputs, kwargs)

    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        return numpy_function(func, types, args, kwargs)

    def __array_wrap__(self, array: Any, context: Any = None, return_scalar: bool = False) -> ndarray:
        """Return NumPy's result as an array of this class."""
        return (wrap if return_scalar else wrap_array)(tensor_of(array))

    @property
    def __array_interface__(self) -> dict[str, Any]:
        """The elements' memory for libraries that read NumPy's array interface; CPU only."""
        return interop.array_interface(self)

    def __arrow_array__(self, type: Any = None) -> Any:
        """The elements as an Arrow array, without a copy of contiguous numbers; ``pyarrow.array`` calls this."""
        return interop.to_arrow(self, type)

    def __arrow_c_array__(self, requested_schema: Any = None) -> Any:
        """The elements as capsules of Arrow's C interface, made by pyarrow; polars reads them."""
        return interop.to_arrow(self).__arrow_c_array__(requested_schema)

    @property
    def _numba_type_(self) -> Any:
        """numba's type of what a function compiled by it is given; only numba asks."""
        from tnp._array import numba_types

        return numba_types.type_of(self)

    def __array_namespace__(self, *, api_version: str | None = None) -> Any:
        """The namespace of the Array API standard: tnp."""
        return namespace(api_version)

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return torch_function(func, args, kwargs)

    def __dlpack__(
        self,
        *,
        stream: Any = None,
        max_version: tuple[int, int] | None = None,
        dl_device: Any = None,
        copy: bool | None = None,
    ) -> Any:
        """The elements' memory as a DLPack capsule."""
        return interop.to_dlpack(self, stream, max_version, dl_device, copy)

    def __dlpack_device__(self) -> tuple[int, int]:
        """Device type and index in DLPack's numbering."""
        return self.tensor.__dlpack_device__()

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        """The elements' memory for other CUDA libraries."""
        return self.tensor.__cuda_array_interface__

    def to_device(self, device: Any, /, *, stream: Any = None, non_blocking: bool = False) -> ndarray:
        """The array on ``device``: itself if it is there, else a copy.

        With ``non_blocking`` the host does not wait for a copy from page-locked memory (``tnp.pin_memory``) or to the
        host. The values are complete only after ``tnp.synchronize()``.
        """
        return interop.to_device(self, device, stream, non_blocking)

    def __reduce__(self) -> Any:
        return interop.reduce(self)

    def __setstate__(self, state: Any) -> None:
        values = state[-1]
        if not isinstance(values, np.ndarray):  # as NumPy pickles an array
            values = np.empty(0)
            values.__setstate__(state)
        self.tensor = interop.unpickle(values, "cpu", False, False).tensor

    def __copy__(self) -> ndarray:
        return self.copy("K")

    def __deepcopy__(self, memo: Any) -> ndarray:
        return self.copy("K")

    # Python's own protocols.

    def __len__(self) -> int:
        shape = self.tensor.shape
        if not shape:
            raise TypeError("len() of unsized object")
        return shape[0]

    def __iter__(self) -> Iterator[ndarray]:
        if not self.tensor.dim():
            raise TypeError("iteration over a 0-d array")
        if self.tensor.dim() == 1:
            return (self[i] for i in range(self.tensor.shape[0]))
        return (wrap_array(self.tensor[i]) for i in range(self.tensor.shape[0]))

    def __delitem__(self, key: Any) -> None:
        raise ValueError("cannot delete array elements")

    def __contains__(self, value: Any) -> bool:
        return bool(reductions.any(self == value))

    def __bool__(self) -> bool:
        if self.tensor.numel() != 1:
            if self.tensor.numel() == 0:
                raise ValueError(
                    "The truth value of an empty array is ambiguous. Use `array.size > 0` to check that an array is "
                    "not empty."
                )
            raise ValueError(
                "The truth value of an array with more than one element is ambiguous. Use a.any() or a.all()"
            )
        if self.dtype == np.uint64:
            return bool(memory.viewed(self.tensor, tensor_dtype(np.int64)))  # torch reads its truth through an int64
        return bool(self.tensor)

    def __int__(self) -> int:
        return int(self._real())

    def __float__(self) -> float:
        if innermost() is not None:
            autodiff.check_constant(self.tensor, "float()")
        return float(self._real())

    def __complex__(self) -> complex:
        if innermost() is not None:
            autodiff.check_constant(self.tensor, "complex()")
        return complex(self._only())

    def __index__(self) -> int:
        if self.tensor.dim() or self.dtype.kind not in "iu":
            if trace_state.is_tracing() and not self.tensor.dim() and self.dtype.kind == "b":
                interop.check_readable(self)  # it may stand for a bool of Python's, which is an index
            raise TypeError("only integer scalar arrays can be converted to a scalar index")
        return self.tensor.item()

    def _only(self) -> Any:
        """Return the element of a 0-d array as a Python scalar; other arrays raise."""
        if self.tensor.dim():
            raise TypeError("only 0-dimensional arrays can be converted to Python scalars")
        return self.tensor.item()

    _real = _only

    __hash__: ClassVar[None] = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return printing.array_repr(self)

    def __str__(self) -> str:
        return printing.array_str(self)

    def __format__(self, spec: str) -> str:
        return printing.array_format(self, spec)

    def __bytes__(self) -> bytes:
        return self.tobytes()

    def __sizeof__(self) -> int:
        lengths_and_strides = 2 * 8 * self.ndim
        return object.__sizeof__(self) + lengths_and_strides + (self.nbytes if self.tensor._base is None else 0)

    def __getitem__(self, key: Any) -> ndarray:
        return get_item(self, key)

    def __setitem__(self, key: Any, value: Any) -> None:
        set_item(self, key, value)

    # Operators: each is its ufunc.

    __add__ = ufuncs.add.operator
    __radd__ = ufuncs.add.reflected
    __iadd__ = ufuncs.add.inplace
    __sub__ = ufuncs.subtract.operator
    __rsub__ = ufuncs.subtract.reflected
    __isub__ = ufuncs.subtract.inplace
    __mul__ = ufuncs.multiply.operator
    __rmul__ = ufuncs.multiply.reflected
    __imul__ = ufuncs.multiply.inplace
    __truediv__ = ufuncs.divide.operator
    __rtruediv__ = ufuncs.divide.reflected
    __itruediv__ = ufuncs.divide.inplace
    __floordiv__ = ufuncs.floor_divide.operator
    __rfloordiv__ = ufuncs.floor_divide.reflected
    __ifloordiv__ = ufuncs.floor_divide.inplace
    __mod__ = ufuncs.remainder.operator
    __rmod__ = ufuncs.remainder.reflected
    __imod__ = ufuncs.remainder.inplace
    __divmod__ = ufuncs.divmod.operator
    __rdivmod__ = ufuncs.divmod.reflected
    __lshift__ = ufuncs.left_shift.operator
    __rlshift__ = ufuncs.left_shift.reflected
    __ilshift__ = ufuncs.left_shift.inplace
    __rshift__ = ufuncs.right_shift.operator
    __rrshift__ = ufuncs.right_shift.reflected
    __irshift__ = ufuncs.right_shift.inplace
    __and__ = ufuncs.bitwise_and.operator
    __rand__ = ufuncs.bitwise_and.reflected
    __iand__ = ufuncs.bitwise_and.inplace
    __or__ = ufuncs.bitwise_or.operator
    __ror__ = ufuncs.bitwise_or.reflected
    __ior__ = ufuncs.bitwise_or.inplace
    __xor__ = ufuncs.bitwise_xor.operator
    __rxor__ = ufuncs.bitwise_xor.reflected
    __ixor__ = ufuncs.bitwise_xor.inplace
    __lt__ = ufuncs.less.operator
    __le__ = ufuncs.less_equal.operator
    __gt__ = ufuncs.greater.operator
    __ge__ = ufuncs.greater_equal.operator
    __neg__ = ufuncs.negative.operator
    __pos__ = ufuncs.positive.operator
    __abs__ = ufuncs.absolute.operator
    __invert__ = ufuncs.invert.operator

    __eq__ = ufuncs.equal.operator  # type: ignore[assignment]  # object says bool
    __ne__ = ufuncs.not_equal.operator  # type: ignore[assignment]

    def __pow__(self, other: Any, modulo: None = None) -> ndarray:
        if modulo is not None:
            return NotImplemented
        if type(other) is int and other == 2 and self.dtype == bool and type(self) not in base.SCALARS:
            return ufuncs.square(self)  # to int8, which is not what NumPy's function ``power`` gives
        return ufuncs.power.operator(self, other)

    def __rpow__(self, other: Any, modulo: None = None) -> ndarray:
        if modulo is not None:
            return NotImplemented
        return ufuncs.power.reflected(self, other)

    __ipow__ = ufuncs.power.inplace

    __matmul__ = matmul.operator
    __rmatmul__ = matmul.reflected
    __imatmul__ = matmul.inplace

    __class_getitem__: ClassVar[Any] = classmethod(types.GenericAlias)


@completes(base.scalar)
class scalar(ScalarMethods, ndarray):  # type: ignore[misc]  # unlike an array it is no Iterable
    """A 0-d result of an operation, a reduction or a full index, for which NumPy returns a scalar.

    Every function treats it as an array. Like a NumPy scalar it never changes: ``s += 1`` makes another scalar, so a
    kept value stays the same. Only ``s[mask] = value`` with a boolean array is allowed, because functions of Array API
    libraries fill in results of any shape that way.
    """

    __slots__ = ()
    __module__ = "tnp"

    dtype = property(lambda self: to_numpy[self.tensor.dtype], doc="NumPy dtype of the value.")
    shape = property(lambda self: (), doc="No axes: ``()``.")

    def __new__(cls, *args: Any, **kwargs: Any) -> scalar:
        if cls is base.float64:
            return wrap(tensor_of(np.float64(*args, **kwargs)))  # type: ignore[return-value]
        if args and isinstance(args[0], numbers.Rational) and not isinstance(args[0], numbers.Integral):
            return wrap(tensor_of(np.float64(args[0])))  # type: ignore[return-value]  # of statistics.mean
        raise TypeError("a scalar's class has no dtype: instead of type(x)(value) write x.dtype.type(value)")

    def __hash__(self) -> int:  # type: ignore[override]
        return hash(self.tensor.item())

    def __repr__(self) -> str:
        return printing.scalar_repr(self)

    def __getitem__(self, key: Any) -> Any:
        array = wrap_array(memory.copied(self.tensor))  # a write goes to this memory
        try:
            return get_item(array, key)
        except IndexError:
            raise IndexError("invalid index to scalar variable.") from None

    def __setitem__(self, key: Any, value: Any) -> None:
        if isinstance(key, ndarray) and key.dtype == bool:
            written = wrap_array(memory.copied(self.tensor))  # other arrays over the memory keep the value
            written[key] = value
            self.tensor = written.tensor
            return
        raise TypeError(f"'numpy.{self.dtype.name}' object does not support item assignment")

    def resize(self, *new_shape: Any, refcheck: bool = True) -> None:
        """Raise: a scalar never changes."""
        raise TypeError(f"'numpy.{self.dtype.name}' object can't be resized")

    def __index__(self) -> int:
        if self.dtype.kind in "iu" or trace_state.is_tracing():
            return ndarray.__index__(self)
        raise TypeError(f"'numpy.{self.dtype.name}' object cannot be interpreted as an integer")

    def __mul__(self, other: Any) -> Any:
        return NotImplemented if type(other) in REPEATED else ndarray.__mul__(self, other)

    def __rmul__(self, other: Any) -> Any:
        if type(other) is ndarray:  # Python calls the derived class's method first, before the fast path
            return ndarray.__mul__(other, self)
        return NotImplemented if type(other) in REPEATED else ndarray.__rmul__(self, other)

    __iadd__ = ndarray.__add__
    __isub__ = ndarray.__sub__
    __imul__ = __mul__
    __itruediv__ = ndarray.__truediv__
    __ifloordiv__ = ndarray.__floordiv__
    __imod__ = ndarray.__mod__
    __ipow__ = ndarray.__pow__
    __ilshift__ = ndarray.__lshift__
    __irshift__ = ndarray.__rshift__
    __iand__ = ndarray.__and__
    __ior__ = ndarray.__or__  # type: ignore[assignment]  # taken for the union of types
    __ixor__ = ndarray.__xor__

    def __bytes__(self) -> bytes:
        return bytes(self.tensor.item()) if self.dtype.kind in "iu" else self.tobytes()

    def _real(self) -> Any:
        """Return the value as a real Python scalar; a complex value warns and gives its real part, as in NumPy."""
        value = self.tensor.item()
        if isinstance(value, complex):
            warn("Casting complex values to real discards the imaginary part", ComplexWarning)
            return value.real
        return value
