"""Classes derived from ndarray: NumPy's protocols for them, and how tnp's functions detect them.

Layer: owns ``__array_finalize__``, ``__array_wrap__``, ``__array_priority__`` and the override ``__array_ufunc__``.
ndarray itself pays for none of them: a class derived from ndarray gets `subclass` as its base instead, whose methods
keep the class.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from backend_torch.tensors import memory
from tnp._array.operators import operators
from tnp._core import base
from tnp._core.base import completes, ndarray
from tnp._core.convert import asnumpy, tensor_of
from tnp._core.derived_classes import anew, finalised, of_class, of_plain, plain
from tnp._core.dtype_table import PLAIN
from tnp._core.interop import priority
from tnp._core.mask_selection import Selection
from tnp._core.ufunc_overrides import call_ufunc, overriding
from tnp._ufunc import table as ufuncs
from tnp._ufunc.table import conjugate

Tensor = Any


def _operator(name: str, ufunc: Any) -> Callable[..., Any]:
    def binary(self: Any, other: Any, modulo: None = None) -> Any:
        if modulo is None and of_plain((self, other)) is self:
            return anew(self, ufunc(plain(self), plain(other)))
        if modulo is not None or _gives_way(self, other):
            return NotImplemented
        return ufunc(self, other) if isinstance(other, ndarray) else ufunc._defer_or_call(self, other)

    return binary


def _reflected(name: str, ufunc: Any) -> Callable[..., Any]:
    def reflected(self: Any, other: Any, modulo: None = None) -> Any:
        if modulo is None and of_plain((self, other)) is self:
            return anew(self, ufunc(plain(other), plain(self)))
        if modulo is not None or _gives_way(self, other):
            return NotImplemented
        return ufunc(other, self) if isinstance(other, ndarray) else ufunc._defer_or_call(self, other, reflected=True)

    return reflected


def _inplace(name: str, ufunc: Any) -> Callable[[Any, Any], Any]:
    def inplace(self: Any, other: Any) -> Any:
        if of_plain((self, other)) is self:
            given = plain(self)
            ufunc(given, plain(other), out=given)
            return self
        return ufunc(self, other, out=self)

    return inplace


def _unary(name: str, ufunc: Any) -> Callable[[Any], Any]:
    return lambda self: anew(self, ufunc(plain(self))) if of_plain((self,)) is self else ufunc(self)


def _gives_way(x: Any, other: Any) -> bool:
    """Whether an operator defers to the other operand, by NumPy's rule."""
    kind = type(other)
    if kind in PLAIN or kind is type(x):
        return False
    override = getattr(kind, "__array_ufunc__", _gives_way)
    if override is not _gives_way:
        return override is None
    return not isinstance(other, type(x)) and x.__array_priority__ < priority(other)


_ORDINARY = (ndarray.__array_ufunc__, Selection.__array_ufunc__)
"""What is no override: a masked selection answers functions, and reductions are functions to it."""


def _reduction(name: str, ufunc: Any, *arguments: str) -> Callable[..., Any]:
    """Make a method that gives way to a class's ``__array_ufunc__``, which NumPy's method calls by ``reduce``."""
    ordinary = getattr(ndarray, name)

    @functools.wraps(ordinary)
    def method(self: Any, *args: Any, **options: Any) -> Any:
        if len(args) < 2 and "out" not in options and of_plain((self,)) is self:
            return anew(self, ordinary(plain(self), *args, **options))
        if type(self).__array_ufunc__ in _ORDINARY:
            return ordinary(self, *args, **options)
        given = {"axis": None, "dtype": np.dtype(bool) if name in ("any", "all") else None, "keepdims": False}
        if "initial" in arguments:
            given["initial"] = np._NoValue  # type: ignore[assignment]
        if "where" in arguments:
            given["where"] = True
        given |= {**dict(zip(arguments, args, strict=False)), **options}
        out = given.pop("out", None)
        given = {key: each for key, each in given.items() if each is not np._NoValue}
        return call_ufunc(ufunc, "reduce", overriding((self,), out), (self,), out, given)

    return method


_REDUCTIONS = {
    "sum": _reduction("sum", ufuncs.add, "axis", "dtype", "out", "keepdims", "initial", "where"),
    "prod": _reduction("prod", ufuncs.multiply, "axis", "dtype", "out", "keepdims", "initial", "where"),
    "max": _reduction("max", ufuncs.maximum, "axis", "out", "keepdims", "initial", "where"),
    "min": _reduction("min", ufuncs.minimum, "axis", "out", "keepdims", "initial", "where"),
    "any": _reduction("any", ufuncs.logical_or, "axis", "out", "keepdims"),
    "all": _reduction("all", ufuncs.logical_and, "axis", "out", "keepdims"),
}


@completes(
    base.subclass,
    {**_REDUCTIONS, **operators(unary=_unary, operator=_operator, reflected=_reflected, inplace=_inplace)},
)
class subclass(ndarray):
    """The methods of a derived class: results have the class, and `__array_finalize__` is called for each."""

    __module__ = "tnp"
    __slots__ = ()
    __array_priority__ = 0.0

    def __array_wrap__(self, array: Any, context: Any = None, return_scalar: bool = False) -> Any:
        """Return a result as an array of this class."""
        return array if type(array) is type(self) else finalised(type(self), tensor_of(array), self)

    def __getitem__(self, key: Any) -> Any:
        return of_class(self, plain(self)[key])

    def __setitem__(self, key: Any, value: Any) -> None:
        plain(self)[key] = value

    def __iter__(self) -> Iterator[Any]:
        if not self.tensor.dim():
            raise TypeError("iteration over a 0-d array")
        return (self[i] for i in range(self.tensor.shape[0]))

    @property
    def shape(self) -> tuple[int, ...]:
        """Length of each axis; assignment reshapes in place, without a copy."""
        return tuple(self.tensor.shape)

    @shape.setter
    def shape(self, shape: Any) -> None:
        ndarray.shape.__set__(self, shape)  # type: ignore[attr-defined]

    def _set_shape(self, shape: Any) -> None:
        given = self.tensor
        ndarray._set_shape(self, shape)
        memory.with_source(self.tensor, memory.source_of(given))
        memory.lock(self.tensor, memory.is_locked(given))

    @property
    def base(self) -> ndarray | None:
        """The array that this one is a view of, or None if it has memory of its own."""
        source = memory.source_of(self.tensor)
        return source if isinstance(source, ndarray) else ndarray.base.__get__(self)

    @property
    def T(self) -> ndarray:
        """The array with its axes reversed; a view."""
        return of_class(self, plain(self).T)

    @property
    def real(self) -> ndarray:
        """The real part; a view."""
        return of_class(self, plain(self).real)

    @real.setter
    def real(self, value: Any) -> None:
        plain(self).real = value

    @property
    def imag(self) -> ndarray:
        """The imaginary part; a view of a complex array, zeros for a real one."""
        return of_class(self, plain(self).imag)

    @imag.setter
    def imag(self, value: Any) -> None:
        plain(self).imag = value

    def astype(
        self, dtype: Any, order: str = "K", casting: str = "unsafe", subok: bool = True, copy: bool = True
    ) -> ndarray:
        """The array in another dtype."""
        given = plain(self)
        result = given.astype(dtype, order, casting, copy=copy)
        if not subok:
            return result
        return self if result is given else of_class(self, result)

    def byteswap(self, inplace: bool = False) -> ndarray:
        """The array with the bytes of each element reversed."""
        given = plain(self)
        result = given.byteswap(inplace)
        return self if result is given else of_class(self, result)

    def conj(self, out: Any = None, /) -> Any:
        """Complex conjugate."""
        return conjugate(self, out)

    def copy(self, order: str = "C") -> ndarray:
        """A copy of the array, in C order by default."""
        return of_class(self, plain(self).copy(order))

    def __copy__(self) -> ndarray:
        return of_class(self, plain(self).copy("K"))

    def __deepcopy__(self, memo: Any) -> ndarray:
        return of_class(self, plain(self).copy("K"))

    def flatten(self, order: str = "C") -> ndarray:
        """A one-dimensional copy."""
        return of_class(self, plain(self).flatten(order))

    def getfield(self, dtype: Any, offset: int = 0) -> ndarray:
        """The bytes of each element from ``offset`` on under another dtype, a view."""
        return of_class(self, plain(self).getfield(dtype, offset))

    def fill(self, value: Any) -> None:
        """Set every element to a scalar."""
        plain(self).fill(value)

    def item(self, *args: Any) -> Any:
        """One element as a Python scalar."""
        return plain(self).item(*args)

    def partition(self, kth: Any, axis: Any = -1, kind: str = "introselect", order: Any = None) -> None:
        """Partition in place."""
        plain(self).partition(kth, axis, kind, order)

    def reshape(self, *shape: Any, order: str = "C", copy: bool | None = None) -> ndarray:
        """The elements in another shape; a view where possible."""
        return of_class(self, plain(self).reshape(*shape, order=order, copy=copy))

    def sort(
        self, axis: Any = -1, kind: Any = None, order: Any = None, *, stable: Any = None, descending: Any = None
    ) -> None:
        """Sort in place."""
        plain(self).sort(axis, kind, order, stable=stable, descending=descending)

    def to_device(self, device: Any, /, *, stream: Any = None, non_blocking: bool = False) -> ndarray:
        """The array on ``device``: itself if it is there, else a copy."""
        given = plain(self)
        moved = given.to_device(device, stream=stream, non_blocking=non_blocking)
        return self if moved is given else of_class(self, moved)

    def __reduce__(self) -> Any:
        values = asnumpy(plain(self))
        state = (1, values.shape, values.dtype, False, values)
        return _reconstructed, (type(self), (0,), b"b"), state


def _reconstructed(cls: type, shape: Any, typecode: bytes) -> Any:
    """Return the array that unpickling starts from, before its state is set."""
    return ndarray.__new__(cls, shape, typecode)
