"""Generalized universal functions: loops over the leading axes of operands whose last axes are one core operand.

Layer: owns what they add to the calling convention: core dimensions, ``axes``, ``axis`` and ``keepdims``.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from numbers import Number
from typing import Any

import numpy as np
from numpy.exceptions import AxisError

from backend_torch.kernels.indexing import without_leading_ones
from backend_torch.kernels.kernel import Kernel
from backend_torch.native import heads
from tnp._core.base import ndarray, scalar
from tnp._core.dtype_table import PLAIN
from tnp._core.dtypes import DtypeError
from tnp._core.errors import broadcast_error, explain, integer_axis, integer_of
from tnp._core.interop import defers_to, is_foreign
from tnp._core.ufunc_overrides import overriding
from tnp._ufunc.outputs import deliver, outputs
from tnp._ufunc.ufunc import Ufunc, checked_order

Tensor = Any

_new = object.__new__
_HEADS = {"matmul": heads.dot, "matvec": heads.matvec, "vecmat": heads.vecmat, "vecdot": heads.vdot}


class GeneralizedUfunc(Ufunc):
    """A NumPy generalized ufunc of two operands over torch.

    ``operator`` is ``array.__matmul__``, ``reflected`` is ``array.__rmatmul__``, ``inplace`` is ``array.__imatmul__``.

    Parameters
    ----------
    name : str
    signature : str
        Core dimensions as NumPy writes them: ``(n?,k),(k,m?)->(n?,m?)``.
    numpy_ufunc : numpy.ufunc
        NumPy's ufunc, which has the dtype rules.
    kernel : Kernel
        The kernel; its operands have equal dtypes, and their core dimensions are last.
    documentation : str
        The docstring.
    """

    def __init__(self, name: str, signature: str, numpy_ufunc: np.ufunc, kernel: Kernel, documentation: str) -> None:
        super().__init__(numpy_ufunc, kernel)
        self.__name__ = self.__qualname__ = name
        self.__doc__ = documentation
        self.__signature__ = _call_signature(self._computed)
        # As the operator `@`, or by NumPy's function of this name, if its version has it.
        named = getattr(np, name, None)
        self._head = _HEADS[name]
        self._whole = self._head if named is np.matmul else functools.partial(heads.any_by_numpy, named)
        self._signature = signature
        self._cores = [
            tuple(core.split(",")) if core else () for core in signature[1:-1].replace(")->(", "),(").split("),(")
        ]
        self.operator = self._core_operator()
        self.reflected = self._reflected_operator()
        self.inplace = self._inplace_operator()

    @property
    def signature(self) -> str:
        """Core dimensions of the operands and of the result."""
        return self._signature

    def __call__(self, x1: Any, x2: Any, /, out: Any = None, **options: Any) -> ndarray:
        """Apply the ufunc to each pair of core operands; the options are those of ``numpy.ufunc`` but for ``where``."""
        if out is None and not options and (type(x1) in PLAIN or type(x1) is np.ndarray):
            if (found := self._head(x1, x2)) is not None or (found := self._whole(x1, x2)) is not None:
                return found
            if type(x1) is np.ndarray:
                return self._call((x1, x2))
            result = self.operator(x1, x2)
            if result is not NotImplemented:
                return result
            if overriding((x1, x2)):
                return self._call((x1, x2))
            raise TypeError(f"operand type(s) all returned NotImplemented from {self!r}: {x1!r}, {x2!r}")
        return self._call((x1, x2), out, **options)

    def _core_operator(self) -> Callable[[Any, Any], ndarray]:
        loops, general = self._loops, self._defer_or_call

        def operator(self: Any, other: Any) -> ndarray:
            if type(other) not in PLAIN:
                return general(self, other)
            tensor, second = self.tensor, other.tensor
            try:
                tensor = loops[tensor.dtype, second.dtype](tensor, second)
            except (RuntimeError, IndexError):
                pass  # the general path raises NumPy's error
            else:
                result = _new(ndarray if tensor.dim() else scalar)
                result.tensor = tensor
                return result
            return general(self, other)

        return operator

    def _reflected_operator(self) -> Callable[[Any, Any], ndarray]:
        general = self._defer_or_call
        return lambda self, other: general(self, other, reflected=True)

    def _inplace_operator(self) -> Callable[[Any, Any], ndarray]:
        call = self._call

        def inplace(self: Any, other: Any) -> ndarray:
            if is_foreign(other):
                return NotImplemented
            if self.ndim < 1 or np.ndim(other) < 2:
                mine = np.empty(self.shape, self.dtype)
                mine @= np.empty(other.shape, other.dtype) if isinstance(other, ndarray) else other
                raise ValueError(
                    "inplace matrix multiplication requires the first operand to have at least one and the second at "
                    "least two dimensions."
                )
            return call((self, other), self)

        return inplace

    def _defer_or_call(self, x: Any, other: Any, reflected: bool = False) -> Any:
        if defers_to(other):
            return NotImplemented
        try:
            return self._call((other, x) if reflected else (x, other))
        except DtypeError:
            if isinstance(other, (np.ndarray, Number, list, tuple)):
                raise
            return NotImplemented

    def _computed(
        self,
        operands: tuple[Any, ...],
        out: Any = None,
        *,
        axes: Any = None,
        axis: Any = np._NoValue,
        keepdims: bool = False,
        casting: Any = "same_kind",
        order: str = "K",
        dtype: Any = None,
        subok: bool = True,
        signature: Any = None,
        sig: Any = None,
        **unknown: Any,
    ) -> Any:
        """The general path for arrays of no derived class."""
        if unknown:
            raise TypeError(f"{self.__name__}() got an unexpected keyword argument '{next(iter(unknown))}'")
        order = checked_order(order)
        if subok.__class__ is not bool:
            raise TypeError("'subok' must be a boolean")
        outs = outputs(self.nout, out)
        inputs, (target,), _ = self._operands(operands, outs, casting, dtype, signature, sig)
        cores = self._present(inputs)
        is_short = target is not None and target.dim() < len(cores[-1])
        if is_short:  # an output lacks a core dimension only if the operands do, whose axis is then a loop axis
            cores = self._present([*inputs, target])
        places = self._places(cores, inputs, axes, axis, keepdims)
        moved = [_axes_last(tensor, place) for tensor, place in zip(inputs, places, strict=False)]
        sizes = self._sizes(cores, moved)
        absent = [self._absent(number, core) if is_short else () for number, core in enumerate(cores)]
        try:
            result = self._kernel.resolve(*[t.dtype for t in inputs])(*map(_with_ones, moved, absent))
        except RuntimeError as error:
            loops = [tuple(t.shape[: t.dim() - len(core)]) for t, core in zip(moved, cores, strict=False)]
            try:
                np.broadcast_shapes(*loops)
            except ValueError:
                raise broadcast_error(*[tuple(t.shape) for t in inputs]) from None
            raise explain(error, *[t.reshape(-1)[:0] for t in inputs]) from None
        if absent[-1]:
            result = result.squeeze(absent[-1])
        if keepdims:
            result = result[(..., *[None] * len(cores[0]))]
        core = len(cores[0]) if keepdims else len(cores[-1])
        if places[-1] is not None:
            axes = self._normal(places[-1], result.dim())
            result = result.movedim(tuple(range(-len(axes), 0)), axes)
        if target is not None:
            if places[-1] is None:  # it may lack leading axes of length one
                result = without_leading_ones(result, max(core, target.dim()))
            self._check_core(target, places[-1], [1] * core if keepdims else [sizes[name] for name in cores[-1]])
        return deliver(result, outs[0], target, order)

    def _present(self, inputs: Sequence[Tensor]) -> list[tuple[str, ...]]:
        """Return the operands' core dimensions: those with a question mark may be absent from all operands."""
        absent: set[str] = set()
        for number, (tensor, core) in enumerate(zip(inputs, self._cores, strict=False)):
            lacking = len(core) - tensor.dim()
            optional = [name for name in core if name.endswith("?")]
            if lacking > len(optional):
                raise ValueError(
                    f"{self.__name__}: Input operand {number} does not have enough dimensions (has {tensor.dim()}, "
                    f"gufunc core with signature {self._signature} requires {len(core) - len(optional)})"
                )
            if lacking > 0:
                absent.update(optional[:lacking])
        return [tuple([name for name in core if name not in absent]) for core in self._cores]

    def _absent(self, number: int, present: tuple[str, ...]) -> tuple[int, ...]:
        """Return the core dimensions that an operand lacks, counted from its last axis."""
        core = self._cores[number]
        return tuple([place - len(core) for place, name in enumerate(core) if name not in present])

    def _sizes(self, cores: Sequence[tuple[str, ...]], moved: Sequence[Tensor]) -> dict[str, int]:
        """Return the length of each core dimension; ValueError if two operands differ."""
        sizes: dict[str, int] = {}
        for number, (tensor, core) in enumerate(zip(moved, cores, strict=False)):
            for place, (name, size) in enumerate(zip(core, tensor.shape[tensor.dim() - len(core) :], strict=True)):
                if sizes.setdefault(name, size) != size:
                    raise self._mismatch("Input", number, place, size, sizes[name])
        return sizes

    def _check_core(self, target: Tensor, place: Any, wanted: Sequence[int]) -> None:
        """Check ``out``: its core dimensions are not broadcast."""
        if target.dim() < len(wanted):
            raise ValueError(
                f"{self.__name__}: Output operand 0 does not have enough dimensions (has {target.dim()}, gufunc core "
                f"with signature {self._signature} requires {len(wanted)})"
            )
        last = range(target.dim() - len(wanted), target.dim())
        for number, (axis, size) in enumerate(
            zip(last if place is None else self._normal(place, target.dim()), wanted, strict=True)
        ):
            if target.shape[axis] != size:
                raise self._mismatch("Output", 0, number, target.shape[axis], size)

    def _mismatch(self, which: str, operand: int, dimension: int, size: int, other: int) -> ValueError:
        return ValueError(
            f"{self.__name__}: {which} operand {operand} has a mismatch in its core dimension {dimension}, with gufunc "
            f"signature {self._signature} (size {size} is different from {other})"
        )

    # The places of the core dimensions: the axes of each operand, or None if they are the last.

    def _places(
        self, cores: Sequence[tuple[str, ...]], inputs: Sequence[Tensor], axes: Any, axis: Any, keepdims: bool
    ) -> list[Any]:
        *given, result = cores
        if keepdims and (result or any(len(core) != len(given[0]) for core in given)):
            raise TypeError(
                f"{self.__name__} does not support keepdims: its signature {self._signature} requires output 0 to have "
                f"{len(self._cores[-1])} core dimensions, but keepdims can only be used when all inputs have the same "
                "number of core dimensions and all outputs have no core dimensions."
            )
        if axis is not np._NoValue:
            if axes is not None:
                raise TypeError("cannot specify both 'axis' and 'axes'")
            axis = integer_of(axis)
            names = {name for core in self._cores for name in core}
            if len(names) != 1 or any(len(core) != 1 for core in self._cores[:-1]):
                raise TypeError(
                    f"{self.__name__}: axis can only be used with a single shared core dimension, not with the "
                    f"{len(names)} distinct ones implied by signature {self._signature}."
                )
            axes = [axis, axis, axis if keepdims else ()]
        if axes is None:
            return [None] * len(cores)
        if not isinstance(axes, list):
            raise TypeError("axes should be a list.")
        result_length = len(given[0]) if keepdims else len(result)
        complete = len(axes) == len(cores)
        if not complete and (result or len(axes) != len(given)):
            raise ValueError(
                f"axes should be a list with an entry for all {len(cores)} inputs and outputs; entries for outputs can "
                "only be omitted if none of them has core axes."
            )
        lengths = [*map(len, given), result_length]
        entries = [self._entry(entry, length, i) for i, (entry, length) in enumerate(zip(axes, lengths, strict=False))]
        places = [self._normal(entry, t.dim()) for entry, t in zip(entries, inputs, strict=False)]
        return [*places, entries[-1] if complete else None]

    def _entry(self, entry: Any, length: int, number: int) -> tuple[int, ...]:
        """Return an item of ``axes`` as a tuple; an int means one axis."""
        if not isinstance(entry, tuple):
            if length != 1:
                raise AxisError(
                    f"{self.__name__}: operand {number} has {length} core dimensions, but the axes item is a single "
                    "integer."
                )
            entry = (entry,)
        if len(entry) != length:
            raise AxisError(
                f"{self.__name__}: operand {number} has {length} core dimensions, but {len(entry)} dimensions are "
                "specified by axes tuple."
            )
        return entry

    @staticmethod
    def _normal(entry: tuple[int, ...], ndim: int) -> tuple[int, ...]:
        normal = tuple([integer_axis(axis, ndim) for axis in entry])
        if len(set(normal)) != len(normal):
            raise ValueError("axes tuple has a repeated axis")
        return normal


def _call_signature(call: Callable[..., Any]) -> inspect.Signature:
    """Return the signature of a ufunc of two operands with the options of ``call``."""
    operands = [inspect.Parameter(name, inspect.Parameter.POSITIONAL_ONLY) for name in ("x1", "x2")]
    general = inspect.signature(call)
    return general.replace(parameters=[*operands, *list(general.parameters.values())[1:]])


def _axes_last(tensor: Tensor, axes: tuple[int, ...] | None) -> Tensor:
    return tensor if axes is None else tensor.movedim(axes, tuple(range(-len(axes), 0)))


def _with_ones(tensor: Tensor, axes: tuple[int, ...]) -> Tensor:
    """Return a view with axes of length one in these places."""
    for axis in axes:
        tensor = tensor.unsqueeze(axis)
    return tensor
