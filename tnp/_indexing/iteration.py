"""Iteration: the operands of an operation element by element, as NumPy broadcasts and visits them.

Layer: owns the iterators. ``nditer`` is NumPy's own over the host's memory.
"""

from __future__ import annotations

import inspect
import operator
from collections.abc import Iterator
from typing import Any, Self

import numpy as np

from backend_torch.tensors import memory
from backend_torch.tensors.dtypes import to_torch
from tnp._core import host_fallback
from tnp._core.base import flatiter, ndarray, wrap_array
from tnp._core.dtypes import DtypeError
from tnp._core.errors import MOST_OPERANDS, mismatch_error
from tnp._creation.from_data import asanyarray
from tnp._manipulation.broadcasting import broadcast_to


class broadcast:
    """An iterator over the elements of arrays that are broadcast to one shape.

    Parameters
    ----------
    *arrays : array_like

    Raises
    ------
    ValueError
        The shapes do not fit.

    Notes
    -----
    Source: https://numpy.org/doc/stable/reference/generated/numpy.broadcast.html

    Examples
    --------
    >>> import tnp as np
    >>> np.broadcast(np.ones((3, 1)), np.ones(4)).shape
    (3, 4)
    """

    __module__ = "tnp"
    __signature__ = inspect.Signature([inspect.Parameter("arrays", inspect.Parameter.VAR_POSITIONAL)])
    __slots__ = ("_arrays", "_given", "index", "shape")
    _arrays: list[ndarray]
    _given: list[ndarray]
    shape: tuple[int, ...]

    def __new__(cls, *arrays: Any, **options: Any) -> Self:
        """Return NumPy's iterator where an array holds what no tensor can."""
        if options:
            raise ValueError("keyword arguments not accepted.")
        made = object.__new__(cls)
        try:
            made._begin(arrays)
        except DtypeError as error:
            return host_fallback.refused(error, np.broadcast, arrays, {})
        return made

    def _begin(self, arrays: tuple[Any, ...]) -> None:
        given: list[ndarray] = []
        for each in arrays:
            given.extend(each._given if isinstance(each, broadcast) else [asanyarray(each)])
        shapes = [array.shape for array in given]
        if len(shapes) > MOST_OPERANDS:
            raise ValueError(f"Need at least 0 and at most {MOST_OPERANDS} array objects.")
        try:
            self.shape = np.broadcast_shapes(*shapes)
        except ValueError:
            raise mismatch_error(*shapes) from None
        self._given = given
        self._arrays = [broadcast_to(array, self.shape) for array in given]
        self.index = 0

    @property
    def ndim(self) -> int:
        """Number of dimensions."""
        return len(self.shape)

    @property
    def nd(self) -> int:
        """Number of dimensions."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """Number of elements."""
        return int(np.prod(self.shape))

    @property
    def numiter(self) -> int:
        """Number of arrays."""
        return len(self._arrays)

    @property
    def iters(self) -> tuple[Any, ...]:
        """An iterator over the elements of each array."""
        return tuple([flatiter(array, base) for array, base in zip(self._arrays, self._given, strict=True)])

    def reset(self, /) -> None:
        """Start again."""
        self.index = 0

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        return self

    def __next__(self) -> tuple[Any, ...]:
        if self.index >= self.size:
            raise StopIteration
        place = tuple(int(i) for i in np.unravel_index(self.index, self.shape)) if self.shape else ()
        self.index += 1
        return tuple([array[place] for array in self._arrays])


def _host(operand: Any) -> Any:
    """Return an operand in the host's memory; None stays None, because NumPy allocates it."""
    return operand.__array__() if isinstance(operand, ndarray) else operand


def _wrapped(value: Any) -> Any:
    """Convert NumPy's arrays of numbers to tnp's over the same memory, also in tuples."""
    if isinstance(value, tuple):
        return tuple([_wrapped(each) for each in value])
    numeric = isinstance(value, np.ndarray) and value.dtype in to_torch
    return wrap_array(memory.from_numpy(value)) if numeric else value


def _of_host(name: str, doc: str) -> Any:
    """An attribute that is that of NumPy's iterator."""
    read, write = operator.attrgetter(f"_host.{name}"), lambda self, value: setattr(self._host, name, value)
    return property(read, write, doc=doc)


class nditer:
    """NumPy's iterator over one array or several.

    Computed on the host: NumPy's own ``nditer`` visits the arrays' memory, and writes to its elements reach the
    arrays.

    Parameters
    ----------
    op, flags, op_flags, op_dtypes, order, casting, op_axes, itershape, buffersize
        As in NumPy.

    Raises
    ------
    TypeError
        An array is not in the host's memory.

    Notes
    -----
    Differences from NumPy: the elements that a read-only iterator gives are copies, as tensors have no read-only
    memory.

    Source: https://numpy.org/doc/stable/reference/generated/numpy.nditer.html

    Examples
    --------
    >>> import tnp as np
    >>> x = np.asarray([1, 2, 3])
    >>> with np.nditer(x, op_flags=["readwrite"]) as it:
    ...     for element in it:
    ...         element[...] = 2 * element
    >>> x
    array([2, 4, 6])
    """

    __module__ = "tnp"
    __slots__ = ("_given", "_host")

    def __init__(
        self,
        op: Any,
        flags: Any = None,
        op_flags: Any = None,
        op_dtypes: Any = None,
        order: str = "K",
        casting: str = "safe",
        op_axes: Any = None,
        itershape: Any = None,
        buffersize: int = 0,
    ) -> None:
        options = {
            "flags": flags,
            "op_flags": op_flags,
            "op_dtypes": op_dtypes,
            "op_axes": op_axes,
            "itershape": itershape,
        }
        chosen = {name: value for name, value in options.items() if value is not None}
        self._given = (
            list(op) if isinstance(op, (tuple, list)) and any(isinstance(o, ndarray) or o is None for o in op) else [op]
        )
        operands = [_host(each) for each in self._given]
        self._host = np.nditer(
            operands[0] if len(operands) == 1 else operands,
            order=order,
            casting=casting,
            buffersize=buffersize,
            **chosen,
        )  # type: ignore[call-overload]

    def __iter__(self) -> Iterator[Any]:
        return map(_wrapped, self._host)

    def __next__(self) -> Any:
        return _wrapped(next(self._host))

    def __enter__(self) -> nditer:
        self._host.__enter__()
        return self

    def __exit__(self, *error: Any) -> None:
        self._host.__exit__(*error)

    def __getitem__(self, key: Any) -> Any:
        return _wrapped(self._host[key])

    def __setitem__(self, key: Any, value: Any) -> None:
        self._host[key] = _host(value)

    def __len__(self) -> int:
        return len(self._host)

    @property
    def operands(self) -> tuple[ndarray, ...]:
        """The arrays, including those that were allocated."""
        given = [*self._given, *[None] * (self._host.nop - len(self._given))]
        return tuple(
            [
                ours if isinstance(ours, ndarray) and np.shares_memory(ours.__array__(), theirs) else _wrapped(theirs)
                for ours, theirs in zip(given, self._host.operands, strict=True)
            ]
        )

    @property
    def value(self) -> Any:
        """The current elements."""
        return _wrapped(self._host.value)

    @property
    def itviews(self) -> Any:
        """Views of the operands in the order of iteration."""
        return _wrapped(self._host.itviews)

    dtypes = _of_host("dtypes", "The dtypes of the elements.")
    finished = _of_host("finished", "Whether all elements were visited.")
    has_delayed_bufalloc = _of_host("has_delayed_bufalloc", "Whether ``reset`` still has to be called.")
    has_index = _of_host("has_index", "Whether it tracks a flat index.")
    has_multi_index = _of_host("has_multi_index", "Whether it tracks the index of each axis.")
    iterationneedsapi = _of_host("iterationneedsapi", "Whether Python objects are visited.")
    ndim = _of_host("ndim", "Number of axes that are visited.")
    nop = _of_host("nop", "Number of operands.")
    shape = _of_host("shape", "The broadcast shape of the operands.")
    itersize = _of_host("itersize", "Number of elements.")
    index = _of_host("index", "The flat index.")
    iterindex = _of_host("iterindex", "How many elements were visited.")
    iterrange = _of_host("iterrange", "The first element to visit and the one after the last.")
    multi_index = _of_host("multi_index", "The index of each axis.")

    def close(self) -> None:
        """Write back what is in buffers."""
        self._host.close()

    def copy(self) -> nditer:
        """Another iterator at the same place."""
        other = object.__new__(nditer)
        other._given, other._host = self._given, self._host.copy()
        return other

    __copy__ = copy

    def debug_print(self) -> None:
        """Print its state."""
        self._host.debug_print()

    def enable_external_loop(self) -> None:
        """Give one-dimensional chunks."""
        self._host.enable_external_loop()

    def iternext(self) -> bool:
        """Advance; False after the last element."""
        return self._host.iternext()

    def remove_axis(self, i: int, /) -> None:
        """Leave an axis out."""
        self._host.remove_axis(i)

    def remove_multi_index(self) -> None:
        """Forget the indices, so that axes may be joined."""
        self._host.remove_multi_index()

    def reset(self, /) -> None:
        """Start again."""
        self._host.reset()
