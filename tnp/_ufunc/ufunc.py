"""Universal functions: an operator, its function and its in-place form are one table of loops.

Layer: owns NumPy's calling convention. A ufunc holds a dispatch table: operand dtypes -> the torch callable that
computes ("loop"). The first use builds a loop from NumPy's resolver (``numpy.ufunc.resolve_dtypes``) and the backend's
kernel; later calls cost a dictionary lookup.
"""

from __future__ import annotations

import contextlib
import inspect
from collections.abc import Callable, Sequence
from numbers import Number
from typing import Any, ClassVar

import numpy as np

from backend_torch.graphs import symbolic
from backend_torch.kernels import masking, writing
from backend_torch.kernels.kernel import Kernel
from backend_torch.native import heads
from backend_torch.tensors import memory
from backend_torch.tensors.casting import cast, casting
from backend_torch.tensors.constants import cast_constant, constant, constants, numbers
from backend_torch.tensors.dtypes import to_numpy, to_torch
from tnp._core import host_fallback
from tnp._core.base import ndarray, number, scalar, wrap
from tnp._core.convert import as_order, asarray, check_fits, home_of, output_tensor, tensor_of, with_sizes
from tnp._core.derived_classes import anew, of_plain, plain
from tnp._core.dtype_table import PLAIN, Loops
from tnp._core.dtypes import DtypeError, numpy_dtype
from tnp._core.errors import explain, long_of, refuse_cast
from tnp._core.interop import defers_to, is_foreign
from tnp._core.strided_views import put_back
from tnp._core.ufunc_overrides import call_ufunc, overriding
from tnp._ufunc import errstate, methods
from tnp._ufunc.outputs import as_many, deliver, outputs, with_outputs, wrote

Tensor = Any
Loop = Callable[..., Any]
WEAK = (int, float, complex)  # Python's own scalars take the array's dtype (NEP 50)

COMPARISONS = frozenset({"equal", "not_equal", "less", "less_equal", "greater", "greater_equal"})

_new = object.__new__


class NotWeak(Exception):
    """The operand is neither an array nor a scalar, so it needs the general path."""


def weak_dtype(scalar_type: type) -> Any:
    """Return what NumPy's resolver takes for a scalar: its weak Python type, or its dtype."""
    if scalar_type in WEAK:
        return scalar_type
    if scalar_type is bool:
        return np.dtype(bool)
    if issubclass(scalar_type, np.generic) and np.dtype(scalar_type) in to_torch:
        return np.dtype(scalar_type)
    if symbolic.is_size(scalar_type):
        return int
    raise NotWeak


def checked_order(order: Any) -> str:
    """Return a ufunc's memory order as a capital letter; ValueError for anything else."""
    return "K" if order is None or (order.__class__ is str and order == "K") else as_order(order)


def _mask(where: Any, home: Any) -> Tensor:
    """Return a ``where`` argument as a boolean tensor: an array must have that dtype, Python data is converted."""
    if not (isinstance(where, (ndarray, np.ndarray)) or memory.is_tensor(where)):
        where = asarray(where, bool, device=home)
    mask = tensor_of(where, device=home)
    refuse_cast(to_numpy[mask.dtype], np.dtype(bool), "safe", mask.dim())
    return mask


_MISSING = object()


class Ufunc:
    """A NumPy ufunc over torch.

    Attributes and methods are those of ``numpy.ufunc``: ``nin``, ``nout``, ``nargs``, ``ntypes``, ``types``,
    ``identity``, ``signature``, ``reduce``, ``accumulate``, ``reduceat``, ``outer``, ``at``.

    Parameters
    ----------
    numpy_ufunc : numpy.ufunc
        NumPy's ufunc, which has the dtype rules, the name and the documentation.
    kernel : Kernel
        What computes it.
    """

    operator: Callable[..., ndarray]
    named: ClassVar[dict[str, Ufunc]] = {}
    """All ufuncs, by NumPy's names."""

    def __init__(self, numpy_ufunc: np.ufunc, kernel: Kernel) -> None:
        self.__name__ = self.__qualname__ = numpy_ufunc.__name__
        self.__module__ = "tnp"  # where pickle finds the name
        self.__doc__ = (
            f"{numpy_ufunc.__doc__}\n\n    Computed by torch; the documentation has the differences. "
            "With ``where=``\n    all elements are computed, in an array of their own, and those chosen are copied.\n"
        )
        self.named[numpy_ufunc.__name__] = self
        self._numpy = numpy_ufunc
        self._kernel = kernel
        self._loops = self._table(self._build)

    def _table(self, build: Callable[[Any], Any], inplace: bool = False) -> Loops:
        """Make a table of loops, and the loops that replace them while floating-point errors are checked."""
        return Loops(build, errstate.watched(self.__name__, build, inplace))

    @property
    def nin(self) -> int:
        """Number of inputs."""
        return self._numpy.nin

    @property
    def nout(self) -> int:
        """Number of outputs."""
        return self._numpy.nout

    @property
    def nargs(self) -> int:
        """Number of inputs and outputs."""
        return self._numpy.nargs

    @property
    def types(self) -> list[str]:
        """NumPy's loops as it writes them, ``ff->f``: those of data that no tensor holds run on the host."""
        return self._numpy.types

    @property
    def ntypes(self) -> int:
        """Number of loops."""
        return self._numpy.ntypes

    @property
    def identity(self) -> Any:
        """The value that leaves the other operand unchanged, or None."""
        return self._numpy.identity

    @property
    def signature(self) -> str | None:
        """Core dimensions of a generalized ufunc; None for these."""
        return self._numpy.signature

    def __getattr__(self, name: str) -> Any:
        # inspect.signature shows NumPy's own parameters, from NumPy 2.4 on; a class must not have the attribute.
        if name == "__signature__":
            with contextlib.suppress(ValueError):
                return inspect.signature(self._numpy)
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def __repr__(self) -> str:
        return f"<ufunc '{self.__name__}'>"

    def __reduce__(self) -> str:
        return self.__name__

    def _build(self, given: Any) -> Loop:
        """The loop for operands of these torch dtypes: one dtype, or a tuple of two."""
        if self.nin == 1:
            given = (given,)
        return self._loop(given, self._numpy.resolve_dtypes((*map(to_numpy.__getitem__, given), *[None] * self.nout)))

    def _loop(self, given: tuple[Any, ...], resolved: tuple[Any, ...]) -> Loop:
        """Return the kernel for the dtypes that NumPy resolved, with casts from the operands' dtypes."""
        wanted = tuple([self._tensor_dtype(dtype) for dtype in resolved[: self.nin]])
        return casting(self._kernel.resolve(*wanted), given, wanted)

    def _tensor_dtype(self, dtype: np.dtype) -> Any:
        try:
            return to_torch[dtype]
        except KeyError:
            raise DtypeError(f"ufunc '{self.__name__}' would compute in {dtype}, which no tensor can carry") from None

    def _call(self, operands: tuple[Any, ...], out: Any = None, **options: Any) -> Any:
        """The general path: operands of any kind and every option of a NumPy ufunc."""
        if not options and type(out) is ndarray and wrote(self, operands, out.tensor):
            return out
        if out is None and not options and (source := of_plain(operands)) is not None:
            return anew(source, self(*map(plain, operands)))  # type: ignore[operator]
        try:
            if found := overriding(operands, out):
                as_many(self.nout, out)
                return call_ufunc(self, "__call__", found, operands, out, options)
            return self._computed(operands, out, **options)
        except DtypeError as error:
            given = options if out is None else {**options, "out": out}
            return host_fallback.refused(error, self._numpy, operands, given)

    def _computed(
        self,
        operands: tuple[Any, ...],
        out: Any = None,
        *,
        where: Any = True,
        casting: str = "same_kind",
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
        if operands[-1] is _MISSING:
            raise TypeError(f"{self.__name__}() takes from 2 to {self.nargs} positional arguments but 1 was given")
        order = checked_order(order)
        if subok.__class__ is not bool:
            raise TypeError("'subok' must be a boolean")
        outs = outputs(self.nout, out)
        if any(map(symbolic.is_symbol, operands)):
            operands = with_sizes(operands)
        inputs, targets, home = self._operands(operands, outs, casting, dtype, signature, sig)
        mask = None if where is True else _mask(where, home)
        function = self._kernel.resolve(*[t.dtype for t in inputs])
        try:
            for target in targets:
                if target is not None and not target.numel():  # nothing is computed: exponents do not matter
                    mask = target != 0 if mask is None else mask & (target != 0)
            if mask is not None:
                inputs = [masking.computed_where(each, mask) for each in inputs]
                if self._numpy is np.power:  # a mask may exclude negative exponents of integers
                    inputs[1] = writing.masked(inputs[1], mask, None)
            if (
                mask is None
                and targets[0] is not None
                and not Loops.suspended
                and writing.write_into(function, inputs, targets[0])
            ):
                return put_back(outs[0], targets[0])
            if Loops.suspended:
                results = errstate.run(self.__name__, function, inputs, mask)
            else:
                results = function(*inputs)
            if mask is not None:
                results = self._masked(results, mask, targets)
        except RuntimeError as error:
            written = [] if mask is None else [*[t for t in targets if t is not None], mask]
            raise explain(error, *inputs, *written) from None
        if self.nout == 1:
            return deliver(results, outs[0], targets[0], order)
        return tuple([deliver(*each, order) for each in zip(results, outs, targets, strict=True)])

    def _operands(
        self, operands: tuple[Any, ...], outs: tuple[Any, ...], casting: str, dtype: Any, signature: Any, sig: Any
    ) -> tuple[list[Tensor], list[Tensor | None], Any]:
        """Return the inputs in their loop's dtypes, the outputs' tensors, and the device."""
        home = home_of(operands)
        if home is None:
            home = next((out.tensor.device for out in outs if isinstance(out, ndarray)), None)
        if self.__name__ in COMPARISONS and all(type(x) is int for x in operands):
            one, other = operands  # NumPy compares them as Python objects, of any size
            operands = (np.int8((one > other) - (one < other)), np.int8(0))
        alone = np.asarray(operands[0]) if self.nin == 1 and type(operands[0]) in WEAK else None
        if alone is not None and (alone.dtype.kind == "O" or not dtype is signature is sig is None):
            operands = (alone,)  # no number beside an array: a given dtype casts it as it casts arrays
        dtypes: list[Any] = []
        tensors: list[Tensor] = []
        for operand in operands:
            if type(operand) in WEAK:
                dtypes.append(type(operand) if alone is None else alone.dtype)  # its default dtype, or uint64
                tensors.append(operand)
            else:
                tensor = tensor_of(operand, device=home)
                dtypes.append(to_numpy[tensor.dtype])
                tensors.append(tensor)
        has_numbers = number in map(type, operands)
        if has_numbers and not self._compares_integers(dtypes):
            dtypes = [weak_dtype(x.weak) if type(x) is number else d for x, d in zip(operands, dtypes, strict=True)]
        targets = [None if o is None or o is Ellipsis else output_tensor(o) for o in outs]
        dtypes += [None if t is None else to_numpy[t.dtype] for t in targets]
        try:
            resolved = self._resolved(tuple(dtypes), casting, **self._fixed(dtype, signature, sig))
        except TypeError as error:
            if type(error) is not TypeError and int in map(type, tensors) and not self._compares_exactly(dtypes):
                loops = (*dtypes[: self.nin], *[None] * self.nout)
                loops = self._resolved(loops, "unsafe", **self._fixed(dtype, signature, sig))
                for value, wanted in zip(tensors, loops, strict=False):  # NumPy reads Python's integers before it casts
                    if type(value) is int:
                        long_of(value) if wanted.kind == "b" else np.array(value, wanted)
            raise
        if has_numbers:
            for operand, wanted in zip(operands, resolved, strict=False):
                if type(operand) is number:
                    check_fits(operand, wanted)
        if Loops.suspended:
            for value, wanted in zip(tensors, resolved, strict=False):
                if type(value) in WEAK and wanted.kind in "fc":
                    errstate.report_cast(value, float(np.finfo(wanted).max))
        made = cast_constant if signature is sig is None else constant  # a signature names the operand itself
        if self.__name__ not in COMPARISONS:
            for value, wanted in zip(tensors, resolved, strict=False):
                if type(value) is int and wanted.kind == "b":
                    long_of(value)  # OverflowError, though the truth of any integer is known
        try:
            inputs = [
                made(value, wanted) if type(value) in WEAK else cast(value, self._tensor_dtype(wanted))
                for value, wanted in zip(tensors, resolved[: self.nin], strict=True)
            ]
        except OverflowError:
            if not self._compares_exactly(dtypes):
                raise
            inputs = [_beyond(value) for value in tensors]
        return inputs, targets, home

    def _compares_exactly(self, dtypes: Sequence[Any]) -> bool:
        """Whether this compares integers, no booleans: NumPy compares them with what they can't hold."""
        return self.__name__ in COMPARISONS and all(np.dtype(dtype).kind in "iu" for dtype in dtypes[: self.nin])

    def _compares_integers(self, dtypes: Sequence[Any]) -> bool:
        """Whether this compares integers: no dtype is too small for it."""
        return self.__name__ in COMPARISONS and all(dtype is int or np.dtype(dtype).kind in "biu" for dtype in dtypes)

    def _resolved(self, dtypes: tuple[Any, ...], casting: Any, **fixed: Any) -> tuple[np.dtype, ...]:
        """Return the dtypes to which NumPy resolves these dtypes or weak Python types."""
        if not issubclass(type(casting), (str, bytes)):
            raise TypeError(f"casting must be str, not {type(casting).__name__}")
        if casting != "equiv":
            return self._numpy.resolve_dtypes(dtypes, casting=casting, **fixed)
        # NumPy up to 2.4 crashes on a weak scalar here (https://github.com/numpy/numpy/pull/32496). Between native
        # dtypes "equiv" is "no", except that it gives a Python scalar its default dtype alone.
        resolved = self._numpy.resolve_dtypes(dtypes, casting="no", **fixed)
        for given, wanted in zip(dtypes, resolved, strict=True):
            if isinstance(given, type) and wanted != np.dtype(given):
                raise TypeError(f"cannot cast Python {given.__name__} to {wanted} under the casting rule 'equiv'")
        return resolved

    def _fixed(self, dtype: Any, signature: Any, sig: Any) -> dict[str, Any]:
        """Return ``dtype=``, ``signature=`` or ``sig=`` as the keyword of NumPy's resolver, if one is given."""
        if sig is not None:
            if signature is not None:
                raise TypeError("cannot specify both 'sig' and 'signature'")
            signature = sig
        if dtype is not None:
            if signature is not None:
                raise TypeError("cannot specify both 'signature' and 'dtype'")
            signature = (*[None] * self.nin, *[numpy_dtype(dtype)] * self.nout)
        return {} if signature is None else {"signature": signature}

    def _masked(self, results: Any, mask: Tensor, targets: list[Tensor | None]) -> Any:
        """Return results where the mask is true; elsewhere the values of ``out``, or arbitrary values."""
        if self.nout == 1:
            return writing.masked(results, mask, targets[0])
        return tuple([writing.masked(r, mask, t) for r, t in zip(results, targets, strict=True)])

    def reduce(
        self,
        array: Any,
        axis: Any = 0,
        dtype: Any = None,
        out: Any = None,
        keepdims: bool = False,
        initial: Any = np._NoValue,
        where: Any = True,
    ) -> ndarray:
        """Reduce ``array`` along ``axis`` by applying the ufunc (``numpy.ufunc.reduce``)."""
        try:
            return methods.reduce(self, array, axis, dtype, out, keepdims, initial, where)
        except DtypeError as error:
            given = {"axis": axis, "dtype": dtype, "out": out, "keepdims": keepdims, "initial": initial, "where": where}
            return host_fallback.refused(error, self._numpy.reduce, (array,), given)

    def accumulate(self, array: Any, axis: int = 0, dtype: Any = None, out: Any = None) -> ndarray:
        """Accumulate the results of applying the ufunc along ``axis`` (``numpy.ufunc.accumulate``)."""
        try:
            return methods.accumulate(self, array, axis, dtype, out)
        except DtypeError as error:
            given = {"axis": axis, "dtype": dtype, "out": out}
            return host_fallback.refused(error, self._numpy.accumulate, (array,), given)

    def reduceat(self, array: Any, indices: Any, axis: int = 0, dtype: Any = None, out: Any = None) -> ndarray:
        """Reduce the slices of ``array`` that start at ``indices`` (``numpy.ufunc.reduceat``)."""
        try:
            return methods.reduceat(self, array, indices, axis, dtype, out)
        except DtypeError as error:
            given = {"axis": axis, "dtype": dtype, "out": out}
            return host_fallback.refused(error, self._numpy.reduceat, (array, indices), given)

    def outer(self, A: Any, B: Any, /, **options: Any) -> ndarray:
        """Apply the ufunc to all pairs of an element of ``A`` and one of ``B`` (``numpy.ufunc.outer``)."""
        try:
            return methods.outer(self, A, B, options)
        except DtypeError as error:
            return host_fallback.refused(error, self._numpy.outer, (A, B), options)

    def at(self, a: Any, indices: Any, b: Any = np._NoValue, /) -> None:
        """Apply the ufunc in place to ``a[indices]``, once for each repetition (``numpy.ufunc.at``).

        On an accelerator, in a trace, and while gradients are recorded, the operands of a repeated index are combined
        first if the operation allows it. NumPy takes them one by one, so floats may round differently, and
        0 * 1e200 * 1e200 may give NaN.
        """
        try:
            methods.at(self, a, indices, b)
        except DtypeError as error:
            values = () if b is np._NoValue else (b,)
            host_fallback.refused(error, self._numpy.at, (a, indices, *values), {})


class UnaryUfunc(Ufunc):
    """A ufunc of one operand and one output."""

    def __init__(self, numpy_ufunc: np.ufunc, kernel: Kernel) -> None:
        super().__init__(numpy_ufunc, kernel)
        self.operator = self._unary_operator()

    def __call__(self, x: Any, /, *outs: Any, **options: Any) -> ndarray:
        """Apply the ufunc to each element of ``x``; the options are those of ``numpy.ufunc``."""
        if outs or options:
            options = with_outputs(self, outs, options)
        if not options and type(x) in PLAIN:
            tensor = x.tensor
            try:
                tensor = self._loops[tensor.dtype](tensor)
            except RuntimeError as error:
                raise explain(error) from None
            result = _new(ndarray if tensor.dim() else scalar)
            result.tensor = tensor
            return result
        return self._call((x,), **options)

    def _unary_operator(self) -> Callable[[Any], ndarray]:
        loops = self._loops

        def operator(self: Any) -> ndarray:
            tensor = self.tensor
            try:
                tensor = loops[tensor.dtype](tensor)
            except RuntimeError as error:
                raise explain(error) from None
            result = _new(ndarray if tensor.dim() else scalar)
            result.tensor = tensor
            return result

        return operator


class UnaryPairUfunc(Ufunc):
    """A ufunc of one operand and two outputs: ``modf``, ``frexp``."""

    def __init__(self, numpy_ufunc: np.ufunc, kernel: Kernel) -> None:
        super().__init__(numpy_ufunc, kernel)

    def __call__(self, x: Any, /, *outs: Any, **options: Any) -> tuple[ndarray, ndarray]:
        """Apply the ufunc to each element of ``x``; the options are those of ``numpy.ufunc``."""
        if not (outs or options):
            if (pair := heads.pair(self._numpy, x)) is not None or (pair := heads.by_numpy(self._numpy, x)) is not None:
                return pair
        return self._call((x,), **with_outputs(self, outs, options))


class BinaryUfunc(Ufunc):
    """A ufunc of two operands, with one output or two.

    ``operator`` is ``array.__add__``, ``reflected`` is ``array.__radd__``, ``inplace`` is ``array.__iadd__``.
    """

    def __init__(self, numpy_ufunc: np.ufunc, kernel: Kernel) -> None:
        super().__init__(numpy_ufunc, kernel)
        self._weak = self._table(self._build_weak)
        self._weak_left = self._table(self._build_weak_left)
        self._inplace_loops = self._table(self._build_inplace, inplace=True)
        self._inplace_weak = self._table(self._build_inplace_weak, inplace=True)
        self.operator = self._binary_operator()
        self.reflected = self._reflected_operator()
        self.inplace = self._inplace_operator()

    def __call__(self, x1: Any, x2: Any = _MISSING, /, *outs: Any, **options: Any) -> ndarray:
        """Apply the ufunc to each pair of elements; the options are those of ``numpy.ufunc``."""
        if outs or options:
            options = with_outputs(self, outs, options)
        if not options:
            if type(x1) in PLAIN:
                result = self.operator(x1, x2)
            elif type(x2) in PLAIN:
                result = self.reflected(x2, x1)
            else:
                return self._call((x1, x2))
            if result is not NotImplemented:
                return result
            if is_foreign(x2 if type(x1) in PLAIN else x1) and not overriding((x1, x2)):
                raise TypeError(f"operand type(s) all returned NotImplemented from {self!r}: {x1!r}, {x2!r}")
            return self._call((x1, x2))
        return self._call((x1, x2), **options)

    # Loops. For a Python scalar beside an array: (loop, table of the scalars in the loop's dtype).

    def _build_weak(self, key: tuple[Any, Any]) -> tuple[Loop, Any]:
        given, scalar_type = key
        resolved = self._numpy.resolve_dtypes((to_numpy[given], weak_dtype(scalar_type), *[None] * self.nout))
        left, right = map(self._tensor_dtype, resolved[:2])
        if self._kernel.scalar_right is not None and left is right:
            return casting_left(self._kernel.scalar_right, given, left), numbers(right, scalar_type)
        return self._loop((given, right), resolved), constants(right, scalar_type)

    def _build_weak_left(self, key: tuple[Any, Any]) -> tuple[Loop, Any]:
        scalar_type, given = key
        resolved = self._numpy.resolve_dtypes((weak_dtype(scalar_type), to_numpy[given], *[None] * self.nout))
        left, right = map(self._tensor_dtype, resolved[:2])
        if self._kernel.scalar_left is not None and left is right:
            return casting_right(self._kernel.scalar_left, given, right), numbers(left, scalar_type)
        return self._loop((left, given), resolved), constants(left, scalar_type)

    def _build_inplace(self, key: tuple[Any, Any]) -> Loop:
        given, other = key
        resolved = self._numpy.resolve_dtypes((to_numpy[given], to_numpy[other], to_numpy[given]))
        return self._written(self._loop((given, other), resolved), given, other, resolved)

    def _build_inplace_weak(self, key: tuple[Any, Any]) -> tuple[Loop, Any]:
        given, scalar_type = key
        dtype = to_numpy[given]
        try:
            resolved = self._numpy.resolve_dtypes((dtype, weak_dtype(scalar_type), dtype))
        except TypeError:
            raise NotWeak from None  # the number decides which error it is
        right = self._tensor_dtype(resolved[1])
        if self._kernel.scalar_right is not None and given is right is self._tensor_dtype(resolved[0]):
            return writing.written(self._kernel.scalar_right, None), numbers(right, scalar_type)
        return self._written(self._loop((given, right), resolved), given, right, resolved), constants(
            right, scalar_type
        )

    def _written(self, loop: Loop, given: Any, other: Any, resolved: tuple[Any, ...]) -> Loop:
        """Return the loop that writes to the first operand: torch's own method if it gives the right result."""
        method = self._kernel.inplace
        if method is None or self._kernel.resolve(given, other) is not self._kernel.default:
            method = None
        elif not given is other is self._tensor_dtype(resolved[0]):
            method = None
        return writing.written(loop, method)

    def _binary_operator(self) -> Callable[[Any, Any], ndarray]:
        if self._numpy.nout > 1:

            def pair_of(self_: Any, other: Any) -> Any:
                pair = heads.by_numpy(self._numpy, self_, other)
                return self._defer_or_call(self_, other) if pair is None else pair

            return pair_of
        loops, weak, general, plain = self._loops, self._weak, self._defer_or_call, PLAIN

        def operator(self: Any, other: Any) -> ndarray:
            tensor = self.tensor
            try:
                if type(other) in plain:
                    second = other.tensor
                    tensor = loops[tensor.dtype, second.dtype](tensor, second)
                else:
                    loop, scalars = weak[tensor.dtype, type(other)]
                    tensor = loop(tensor, scalars[other])
            except (NotWeak, RuntimeError, OverflowError):
                pass  # the general path runs outside of this block, so that its exceptions have no context
            else:
                result = _new(ndarray if tensor.dim() else scalar)
                result.tensor = tensor
                return result
            return general(self, other)

        return operator

    def _reflected_operator(self) -> Callable[[Any, Any], ndarray]:
        if self._numpy.nout > 1:
            return lambda self_, other: self._defer_or_call(self_, other, reflected=True)
        weak, general = self._weak_left, self._defer_or_call

        def reflected(self: Any, other: Any) -> ndarray:
            tensor = self.tensor
            try:
                loop, scalars = weak[type(other), tensor.dtype]
                tensor = loop(scalars[other], tensor)
            except (NotWeak, RuntimeError, OverflowError):
                pass
            else:
                result = _new(ndarray if tensor.dim() else scalar)
                result.tensor = tensor
                return result
            return general(self, other, reflected=True)

        return reflected

    def _inplace_operator(self) -> Callable[[Any, Any], ndarray]:
        loops, weak, general, plain = self._inplace_loops, self._inplace_weak, self._defer_or_call, PLAIN

        def inplace(self: Any, other: Any) -> ndarray:
            tensor = self.tensor
            try:
                if type(other) in plain:
                    second = other.tensor
                    if second.is_meta and not tensor.is_meta:  # torch would silently write nothing
                        return general(self, other, out=self)
                    loops[tensor.dtype, second.dtype](tensor, second)
                else:
                    loop, scalars = weak[tensor.dtype, type(other)]
                    loop(tensor, scalars[other])
            except (NotWeak, RuntimeError, OverflowError):
                pass
            else:
                return self
            return general(self, other, out=self)

        return inplace

    # The cases that the hot paths leave.

    def _defer_or_call(self, x: Any, other: Any, reflected: bool = False, out: Any = None) -> Any:
        """Run the operation on the general path, unless the other operand's class claims it."""
        if out is None and defers_to(other):
            return NotImplemented
        try:
            return self._call((other, x) if reflected else (x, other), out)
        except TypeError as error:  # a DtypeError, or that of NumPy's ufunc, which takes less than its operator
            if out is None and self.__name__ in ("equal", "not_equal") and _equals_no_number(other):
                shape = np.broadcast_shapes(x.shape, np.shape(other))
                if not shape:
                    return np.bool_(self.__name__ == "not_equal")
                return wrap(asarray(np.full(shape, self.__name__ == "not_equal"), device=x.device).tensor)
            if out is not None or isinstance(other, (np.ndarray, Number, list, tuple)):
                raise
            if not isinstance(error, DtypeError) or (isinstance(other, (str, bytes)) and not isinstance(x, scalar)):
                raise  # Python's own fallback would repeat the text
            return NotImplemented


def _equals_no_number(value: Any) -> bool:
    """Whether a value that no tensor can carry differs from every number: a string, a date, None, a plain object."""
    array = np.asarray(value)
    if array.dtype.kind == "O":
        return not array.ndim and (type(value).__module__ == "builtins" or type(value).__eq__ is object.__eq__)
    return array.dtype.kind in "USM"


def _beyond(value: Any) -> Tensor:
    """Return stand-ins for comparing integers with a Python int that their dtype can't hold."""
    if type(value) is int:
        return constant(1 if value > 0 else -1, np.dtype(np.int8))
    return writing.zeros_like(value)


def casting_left(function: Loop, given: Any, wanted: Any) -> Loop:
    """Return ``function(tensor, number)``, with a cast of the tensor if it needs one."""
    return function if given is wanted else lambda tensor, number: function(tensor.to(wanted), number)


def casting_right(function: Loop, given: Any, wanted: Any) -> Loop:
    """Return ``function(number, tensor)``, with a cast of the tensor if it needs one."""
    return function if given is wanted else lambda number, tensor: function(number, tensor.to(wanted))
