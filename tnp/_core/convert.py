"""Conversion to arrays: from NumPy, torch, nested lists, scalars and objects with a protocol.

Layer: owns ``asarray`` and ``array``, and decides what they copy. NumPy itself reads Python data, so ragged lists,
overflows and mixed types have NumPy's results and errors.

A conversion is one pipeline. `_imported` classifies the value and imports it as an array. What comes after depends on
who asks: `tensor_of` places and casts an operand, and `asarray` casts, places and orders an array.
"""

from __future__ import annotations

import contextlib
import itertools
import math
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.exceptions import ComplexWarning

from backend_torch.autodiff import autodiff, batching
from backend_torch.graphs import symbolic
from backend_torch.kernels import value_checks
from backend_torch.native import heads
from backend_torch.tensors import constants, devices, host_views, interop, memory, trace_state
from backend_torch.tensors.casting import cast
from backend_torch.tensors.constants import constant
from backend_torch.tensors.dtypes import to_numpy, to_torch
from backend_torch.torch_private import messages
from tnp._core import function_overrides, host_fallback, strided_views
from tnp._core import interop as arrays
from tnp._core.base import SCALARS, flatiter, indirect, like, ndarray, number, scalar, strided, wrap, wrap_array
from tnp._core.derived_classes import kept
from tnp._core.dtype_table import PLAIN
from tnp._core.dtypes import DtypeError, native, tensor_dtype
from tnp._core.errors import MOST_DIMENSIONS, call, copy_mode, explain, int_of, long_of, warn
from tnp._core.interop import NO_COPY, NO_COPY_KEYWORD, check_libraries, check_library, host_values
from tnp._core.readonly_views import readonly_array, view_like, view_of
from tnp._core.trees import kinds

Tensor = Any
_new = object.__new__
_PLAIN = frozenset({int, float, bool, complex})
_NO_NUMBERS = frozenset({str, bytes, type(None)})
"""Types of data of which NumPy makes no array of numbers, unless it is told to."""
_OWN_MEMORY = (list, tuple, int, float, complex, np.generic)


def tensor_of(value: Any, dtype: Any = None, *, device: Any = None, is_output: bool = False) -> Tensor:
    """Convert anything array-like to a tensor, without a copy where possible.

    While a gradient is recorded, NumPy's arrays are copied, unless ``is_output`` says that the tensor is written to.

    Parameters
    ----------
    value : array_like
    dtype : dtype_like, optional
        A numeric or boolean dtype; the value's own by default.
    device : torch.device, optional
        The device of the other operands: Python data goes there.

    Raises
    ------
    ValueError
        The value is on another device and is not a scalar.
    TypeError
        The value is an array of another library, beside a tnp array.
    """
    if type(value) is ndarray:
        tensor = value.tensor
    else:
        if device is not None and not isinstance(value, ndarray):
            check_library(value)
        array, is_fresh = _imported(value, dtype, device, None)
        tensor = array.tensor
        is_foreign = not (is_fresh or is_output or array is value or memory.is_tensor(value))
        if is_foreign and autodiff.keeps_operands():
            tensor = memory.copied(tensor)  # NumPy may write to the memory unseen
    if device is not None and tensor.device != device and tensor.dim():
        if not (arrays.host_copies_allowed() and isinstance(value, np.ndarray)):
            raise devices.mixed(device, tensor.device)
        tensor = interop.moved(tensor, device)
    return tensor if dtype is None else converted(tensor, tensor_dtype(dtype))


def tensors_of(*values: Any, check: Callable[[tuple[int, ...]], object] | None = None) -> list[Tensor]:
    """Convert operands to tensors on one device, which `home_of` chooses.

    If an operand is text or objects, ``check`` is called with the shapes, because NumPy refuses wrong shapes first.
    """
    home = home_of(values)
    try:
        return [tensor_of(value, device=home) for value in values]
    except DtypeError:
        if check is not None:
            for value in values:
                check(value.shape if isinstance(value, ndarray) else np.asarray(value).shape)
        raise


def _dtype_of(array: Any) -> Any:
    """Return an array's torch dtype; None if no tensor has it."""
    return array.dtype if memory.is_tensor(array) else to_torch.get(array.dtype.newbyteorder("="))


def with_sizes(operands: Sequence[Any]) -> tuple[Any, ...]:
    """Return operands with symbolic sizes as Python's numbers of the trace.

    Where they are too large for an array beside them they are decided: NumPy refuses those, or has rules for them. The
    trace is valid for sizes that the dtype holds.
    """
    beside = [x for x in operands if isinstance(x, (ndarray, np.ndarray, np.generic)) or memory.is_tensor(x)]
    found = []
    for operand in operands:
        made = operand
        if symbolic.is_symbol(operand):
            dtypes = [_dtype_of(x) for x in beside]
            if None not in dtypes and all(constants.holds(dtype, operand) for dtype in dtypes):
                made = _new(number)
                made.tensor = symbolic.tensor(operand)
            else:
                made = symbolic.decided(operand)
        found.append(made)
    return tuple(found)


def tensor_of_shape(value: Any, check: Callable[[tuple[int, ...]], object], beside: tuple[Any, ...] = ()) -> Tensor:
    """Convert an operand to a tensor; ``check`` sees the shape of text and objects before they are refused.

    Python's data goes to the device of what is ``beside`` it, an output or a mask.
    """
    home = None
    if not isinstance(value, ndarray):
        home = next((each.tensor.device for each in beside if isinstance(each, ndarray)), None)
    try:
        return tensor_of(value, device=home)
    except DtypeError:
        check(np.asarray(value).shape)
        raise


def home_of(operands: Collection[Any]) -> Any:
    """Return the device of the first array that has an axis; TypeError for arrays of two libraries.

    Where no array has one, Python's data goes to the first array of an accelerator, or of the CPU.
    """
    home, without_axes, all_ours = None, None, True
    for operand in operands:
        if not isinstance(operand, ndarray):
            all_ours = False
        elif home is None:
            if operand.tensor.dim():
                home = operand.tensor.device
            elif without_axes is None or without_axes.type == "cpu":
                without_axes = operand.tensor.device
    if not all_ours:
        check_libraries(operands)
        if home is None:
            return without_axes
    return home


def output_tensor(out: Any, refusal: str = "output array is read-only") -> Tensor:
    """Return the tensor that writes to ``out``, a tnp or NumPy array; `output_array` has the errors."""
    return output_array(out, refusal).tensor


def output_array(out: Any, refusal: str = "output array is read-only") -> ndarray:
    """Return an array of tnp's that writes to ``out``, a tnp or NumPy array.

    Raises
    ------
    TypeError
        ``out`` is not an array, but a list or a scalar.
    ValueError
        ``out`` is read-only, a broadcast view, or has strides that no tensor has.
    """
    if isinstance(out, scalar) or not isinstance(out, (ndarray, np.ndarray)):
        raise TypeError("return arrays must be of ArrayType")
    tensor = tensor_of(out, is_output=True)
    if not memory.is_writeable(tensor) or (type(out) is not ndarray and not out.flags.writeable):
        raise ValueError(refusal)
    if isinstance(out, np.ndarray) and not memory.shares(tensor, out):
        if (view := strided_views.over_numpy(out)) is not None:
            return view
        if trace_state.is_batching():
            raise trace_state.noted(batching.SharedWriteError(batching.ONE_FOR_ALL))
        raise ValueError(f"output array has strides {out.strides} that no tensor has: write to a copy of it")
    return out if isinstance(out, ndarray) else wrap_array(tensor)


def converted(tensor: Tensor, dtype: Any) -> Tensor:
    """Convert a tensor to a torch dtype; warn, as NumPy does, if an imaginary part is discarded."""
    if tensor.dtype is dtype:
        return tensor
    if tensor.is_complex() and to_numpy[dtype].kind in "iuf":
        warn("Casting complex values to real discards the imaginary part", ComplexWarning)
        tensor = memory.copied(memory.real(tensor))  # a cast would return a view, but a conversion shares no memory
    return cast(tensor, dtype)


def _imported(value: Any, dtype: Any, device: Any, copy: bool | None) -> tuple[ndarray, bool]:
    """Classify a value and import it: as an array, and whether nothing else has its memory.

    ``copy`` has NumPy's meaning: False raises where a copy is needed. True copies only what is not an array yet.
    ``dtype`` and ``device`` are where Python's data goes; an array keeps its own.
    """
    if isinstance(value, ndarray):
        if type(value) not in SCALARS:
            return value, False
        if copy is False:
            raise ValueError(NO_COPY)
        return wrap_array(memory.copied(value.tensor)), True  # a scalar never changes, even if a view is written to
    if memory.is_tensor(value):
        return wrap_array(interop.checked(value)), False
    if type(value) is np.ndarray:
        return _of_numpy(value, dtype, copy, False)
    if isinstance(value, flatiter):
        return wrap_array(memory.copied(value.base.ravel().tensor)), True
    if isinstance(value, (list, tuple)):
        if copy is not False and (device is None or device.type == "cpu"):
            if (of_numbers := heads.array(value, dtype)) is not None:
                return of_numbers, True
        within = kinds(value)
        if (first := _array_in(value, within)) is not None:
            if copy is False:
                raise ValueError(NO_COPY)
            return wrap_array(_stacked(value, dtype, tensor_of(first).device)), True
        if dtype is None and not trace_state.is_tracing() and not within.isdisjoint(_NO_NUMBERS):
            first = next((x for x in _items(value) if type(x) in _NO_NUMBERS), {})  # in a dict, which is an object
            raise DtypeError(np.array(first).dtype)  # before NumPy reads the data: it does that for the program
    function_overrides.look(value)
    if _is_elsewhere(value):
        return wrap_array(interop.from_dlpack(value, copy=copy)), bool(copy)
    if hasattr(value, "__cuda_array_interface__"):  # Numba's arrays have no DLPack; NumPy would copy them to the host
        tensor = interop.from_cuda(value)
        return wrap_array(memory.copied(tensor) if copy else tensor), bool(copy)
    if isinstance(value, np.ndarray):
        if not isinstance(value, (np.memmap, np.matrix)):  # whose classes add no data
            raise DtypeError(
                f"no tensor has what makes an array of class {type(value).__qualname__}, such as a mask: keep it on "
                "the host, outside of traces, batches and gradients, or convert it with numpy.asarray"
            )
        return _of_numpy(value, dtype, copy, False)
    if symbolic.is_symbol(value):
        return _of_symbol(value, dtype, device), False
    if dtype is not None:
        tensor_dtype(dtype)  # raises before NumPy reads the data if no tensor can carry it
    if getattr(getattr(type(value), "__array__", None), "gives_ours", False):
        with contextlib.suppress(TypeError):  # __array__ has no argument dtype: NumPy says so
            if isinstance(found := _asked(value, dtype, copy), (ndarray, np.ndarray)):
                return asarray(found), bool(copy)
    try:
        read = call(np.array, value, dtype, copy=copy)
    except ValueError as error:  # __array__ is trusted to return a copy if one was asked for
        return _by_protocol(value, dtype, copy, error), bool(copy)
    array, is_fresh = _of_numpy(read, dtype, copy, copy or isinstance(value, _OWN_MEMORY))
    home = devices.state.default if device is None else device
    return array if home is None else wrap_array(interop.moved(array.tensor, home)), is_fresh


def _of_numpy(array: np.ndarray, dtype: Any, copy: bool | None, is_fresh: bool) -> tuple[ndarray, bool]:
    """Import a NumPy array; ``is_fresh`` says that nothing else has its memory."""
    readable = array
    if array.dtype not in to_torch:
        if dtype is not None and array.dtype.newbyteorder("=") not in to_torch:
            readable = array.astype(to_numpy[tensor_dtype(dtype)])  # numbers of strings, objects, long doubles
        else:
            native(array.dtype)  # raises if no tensor can carry the dtype; else the byte order is foreign
    tensor = memory.from_numpy(readable)
    if not memory.shares(tensor, array):
        if copy is False:
            raise ValueError(f"{NO_COPY} A tensor has no negative strides or foreign byte order.")
        if readable is array and array.size and not (host_views.are_had() or host_views.is_compiling()):
            return wrap_array(host_views.read(array)), True
        is_fresh = True
    return wrap_array(memory.fresh(tensor) if is_fresh else tensor), is_fresh


def _asked(value: Any, dtype: Any, copy: bool | None, is_first: bool = True) -> Any:
    """Return what ``value.__array__`` returns, called as NumPy calls it, with its warning at the first call."""
    arguments = () if dtype is None else (np.dtype(dtype),)
    if copy is None:
        return value.__array__(*arguments)
    try:
        return value.__array__(*arguments, copy=copy)
    except TypeError as error:
        if not messages.says(error, messages.NO_COPY_ARGUMENT):
            raise
    if is_first:
        warn(NO_COPY_KEYWORD, DeprecationWarning)
    if not copy:
        raise ValueError(NO_COPY)
    found = value.__array__(*arguments)
    return found.copy() if isinstance(found, (ndarray, np.ndarray)) else found


def _by_protocol(value: Any, dtype: Any, copy: bool | None, error: ValueError) -> ndarray:
    """Return the tnp array that ``value.__array__``, or that of its items, returns: NumPy raised ``error`` for it."""
    if not messages.says(error, messages.NO_ARRAY_RETURNED):
        raise error
    if isinstance(value, (list, tuple)):
        if copy is False:
            raise ValueError(NO_COPY)
        return wrap_array(_stacked(value, None, None))
    array = _asked(value, dtype, copy, is_first=False)
    if not isinstance(array, ndarray):
        raise error
    return asarray(array)


def _is_elsewhere(value: Any) -> bool:
    """Whether only DLPack can read the value: NumPy can't, or the memory is not the host's.

    Everything else goes through NumPy, which knows read-only memory.
    """
    if issubclass(type(value), (np.ndarray, np.generic)) or not hasattr(value, "__dlpack__"):
        return False
    host = 1  # kDLCPU
    return not hasattr(value, "__array__") or value.__dlpack_device__()[0] != host


def _of_symbol(value: Any, dtype: Any, device: Any) -> ndarray:
    """Return an array of a symbolic size, or of what is computed from one, of the dtype that NumPy gives the number."""
    wanted = None if dtype is None else tensor_dtype(dtype)
    if wanted is not None and not constants.holds(wanted, value):
        return asarray(symbolic.decided(value), dtype, device=device)  # NumPy refuses it, or has rules for it
    made = symbolic.tensor(value)
    home = devices.state.default if device is None else device
    made = made if home is None else interop.moved(made, home)
    return wrap_array(made if wanted is None else cast(made, wanted))


_IN_TRACES = (ndarray, np.ndarray, *symbolic.Symbol)
"""What a list in a trace may hold that the graph reads or computes."""


def _array_in(sequence: Any, within: set[type]) -> Any:
    """Return the first tnp array or tensor in a nested list with these types; in a trace one of `_IN_TRACES`, too."""
    classes = _IN_TRACES if trace_state.is_tracing() else (ndarray,)
    if not any(issubclass(kind, classes) or memory.is_tensor_type(kind) for kind in within):
        return None
    return next((x for x in _items(sequence) if isinstance(x, classes) or memory.is_tensor(x)), None)


def _items(sequence: Any) -> Iterator[Any]:
    for item in sequence:
        yield item
        if isinstance(item, (list, tuple)):
            yield from _items(item)


def _stacked(sequence: Any, dtype: Any, device: Any) -> Tensor:
    """Stack a nested list of arrays to one tensor, which keeps gradients and devices."""
    if dtype is not None and (whole := np.dtype(dtype)).kind == "i":
        sequence = [checked_number(item, whole) for item in sequence]
    tensors = [tensor_of(item, dtype, device=device) for item in sequence]
    shapes = [tuple(t.shape) for t in tensors]
    if len(set(shapes)) > 1:
        same = itertools.takewhile(lambda lengths: len(set(lengths)) == 1, zip(*shapes, strict=False))
        common = [lengths[0] for lengths in same]
        raise ValueError(
            "setting an array element with a sequence. The requested array has an inhomogeneous shape after "
            f"{len(common) + 1} dimensions. The detected shape was {(len(sequence), *common)} + inhomogeneous part."
        )
    if dtype is None:
        common_dtype = to_torch[np.result_type(*[to_numpy[t.dtype] for t in tensors])]
        tensors = [cast(t, common_dtype) for t in tensors]
    try:
        return memory.stacked(tensors)
    except RuntimeError as error:
        raise explain(error, *tensors) from None


def asarray(
    a: Any,
    dtype: Any = None,
    order: Any = None,
    *,
    device: Any = None,
    copy: bool | None = None,
    like: Any = None,
) -> ndarray:
    """Convert the input to an array that shares its memory where possible.

    Parameters
    ----------
    a : array_like
        A tnp, NumPy or torch array, an object with ``__dlpack__`` or ``__array__``, a scalar or nested sequences.
    dtype : dtype_like, optional
        A numeric or boolean dtype; by default the input's.
    order : {'C', 'F', 'A', 'K'}, optional
        Memory order; 'C' and 'F' copy an array that is in neither.
    device : str or torch.device, optional
        Where the result lives; by default an array stays and Python data goes to the default device.
    copy : bool, optional
        True always copies; False never copies, and raises where a copy is needed.
    like : ndarray, optional
        Only tnp arrays.

    Returns
    -------
    ndarray
        The input itself if nothing has to change; else an array over the same memory, or a copy.

    Raises
    ------
    TypeError
        The data has a dtype that no tensor can carry (strings, objects, dates, long doubles).
    ValueError
        Ragged sequences; or ``copy=False`` where a copy is needed.

    Notes
    -----
    Source: https://numpy.org/doc/stable/reference/generated/numpy.asarray.html

    Examples
    --------
    >>> import tnp as np
    >>> np.asarray([[1, 2], [3, 4]])
    array([[1, 2],
           [3, 4]])
    """
    if order is device is copy is like is None:
        if type(a) is ndarray:
            if dtype is None:
                return a
        elif (made := (heads.over_numpy if type(a) is np.ndarray else heads.array)(a, dtype)) is not None:
            return made
        elif dtype is None and (made := heads.undressed(a)) is not None:
            return made
    check_like(like)
    if isinstance(dtype, (str, np.dtype)) and (parts := np.dtype(dtype).subdtype) is not None:
        return asarray(_of_subarrays(a, *parts), None, order, device=device, copy=copy)
    copy = copy_mode(copy)
    wanted = None if device is None else devices.parse(device)
    if isinstance(a, np.ndarray) and not (copy or (a.flags.behaved and a.flags.forc and 1 not in a.shape)):
        a = _over_memory(a, dtype, order, wanted)  # an axis of length 1 has any stride
    source, is_fresh = _imported(a, dtype, wanted, copy)
    if is_fresh and copy:
        copy = None  # the import has made the copy
    if type(source) is strided and host_views.are_had():
        if not (copy or _is_changed(source, dtype, order, wanted)):
            return source
        return asarray(source.host, dtype, order, device=device, copy=copy)
    given = source.tensor
    tensor = given if dtype is None else converted(given, tensor_dtype(dtype))
    tensor = interop.moved(tensor, wanted)
    order = "K" if order is None else as_order(order)
    if copy and tensor is given:
        return wrap_array(memory.copied(tensor, order))
    if type(source) is indirect and order in ("C", "F") and not strided_views.is_in_order(source, order):
        tensor = memory.copied(tensor, order)
    tensor = _ordered(tensor, order)
    if copy is False and not memory.same_start(given, tensor):
        raise ValueError(NO_COPY)
    if tensor is given and type(source) in PLAIN:
        return source
    return wrap_array(tensor) if is_fresh else view_of(source, tensor)


def shared(array: np.ndarray | np.generic) -> ndarray | None:
    """Return an array over the memory of NumPy's, or of a scalar's value; None if a tape copies it.

    None, too, if no tensor has that memory, or if it is read-only.
    """
    if isinstance(array, np.generic):
        array = np.asarray(array)
    if (made := heads.over_numpy(array, None)) is not None:
        return made
    is_shared = array.dtype in to_torch and array.flags.writeable and host_views.is_described(array)
    return wrap_array(memory.from_numpy(array)) if is_shared and not autodiff.keeps_operands() else None


def ours(array: Any) -> Any:
    """Return an array over the memory of NumPy's, read-only if that is; anything else as it is.

    A function that returns a view of its argument asks for it: a view of what `tensor_of` copies would be of the copy.
    """
    is_theirs = type(array) is np.ndarray and array.dtype in to_torch and not autodiff.keeps_operands()
    return asarray(array) if is_theirs else array


def _over_memory(array: np.ndarray, dtype: Any, order: Any, device: Any) -> Any:
    """Return an array over NumPy's memory that is read-only or has strides of no tensor; else the NumPy array."""
    if array.dtype not in to_torch:
        return array
    if not array.flags.writeable:
        tensor = memory.from_numpy(array, read_only=True)
        if memory.shares(tensor, array):
            return readonly_array(tensor, array)
    view = strided_views.over_numpy(array)
    return array if view is None or _is_changed(array, dtype, order, device) else view


def _is_changed(array: Any, dtype: Any, order: Any, device: Any) -> bool:
    """Whether an array on the host in no memory order has to change to be what is asked for."""
    is_here = device is None or device.type == "cpu"
    return not is_here or order not in (None, "K", "A") or (dtype is not None and np.dtype(dtype) != array.dtype)


def _of_subarrays(a: Any, dtype: np.dtype, shape: tuple[int, ...]) -> ndarray:
    """Read data with a dtype of subarrays, whose axes come last: ``(2,)i`` repeats each number that is not a pair."""
    if isinstance(a, (ndarray, np.ndarray, np.generic)) or memory.is_tensor(a):
        tensor = converted(tensor_of(a), tensor_dtype(dtype))
        return wrap_array(memory.copied(memory.repeated(tensor, shape)))
    return _of_numpy(np.array(host_fallback.given(a), (dtype, shape)), dtype, None, True)[0]


class Builtins:
    """Bound methods, which a class can hold as attributes, like NumPy's builtins, without turning them into methods.

    A plain Python function would become a method of the class.
    """

    @classmethod
    def array(
        cls,
        object: Any,
        dtype: Any = None,
        *,
        copy: Any = True,
        order: Any = "K",
        subok: bool = False,
        ndmin: int = 0,
        ndmax: int = 0,
        like: Any = None,
        device: Any = None,
    ) -> ndarray:
        """Create an array, a copy of the input by default.

        Parameters
        ----------
        object : array_like
            A tnp, NumPy or torch array, an object with ``__dlpack__`` or ``__array__``, a scalar or nested sequences.
        dtype : dtype_like, optional
            A numeric or boolean dtype; by default the input's.
        copy : bool, optional
            True copies; None only where needed; False raises where one is needed.
        order : {'K', 'A', 'C', 'F'}, optional
            Memory order.
        subok : bool, optional
            Whether the result keeps the array's class, if that derives from ndarray.
        ndmin : int, optional
            Dimensions of length one are prepended up to this many.
        ndmax : int, optional
            Nested sequences are read to this depth; deeper ones would be objects, which raise TypeError.
        like : ndarray, optional
            Only tnp arrays.
        device : str or torch.device, optional
            Where the result lives.

        Returns
        -------
        ndarray

        Raises
        ------
        TypeError
            The data has a dtype that no tensor can carry.
        ValueError
            Ragged sequences; or ``copy=False`` where a copy is needed.

        Notes
        -----
        Source: https://numpy.org/doc/stable/reference/generated/numpy.array.html

        Examples
        --------
        >>> import tnp as np
        >>> np.array([1, 2.5])
        array([1. , 2.5])
        """
        made = heads.array(object, dtype, copy, order, subok, ndmin, ndmax, like, device)
        if made is not None:
            return made
        ndmin, ndmax = int_of(long_of(ndmin)), int_of(long_of(ndmax))
        if not 0 <= ndmax <= MOST_DIMENSIONS:
            raise ValueError(f"ndmax must be in the range [0, NPY_MAXDIMS ({MOST_DIMENSIONS})]")
        if 0 < ndmax < ndmin:
            raise ValueError(f"ndmin must be <= ndmax ({ndmax})")
        if ndmax and not isinstance(object, ndarray):
            object = np.array(object, dtype, ndmax=ndmax)
        elif ndmax and object.ndim > ndmax and dtype is not None and object.dtype != np.dtype(dtype):
            raise ValueError("object too deep for desired array")
        copy = copy_mode(copy)
        if device is None and copy and devices.moved and isinstance(object, np.ndarray):
            device = devices.state.default  # a copy is a new array, which goes where new arrays go
        result = asarray(object, dtype, order, device=device, copy=copy, like=like)
        if subok:
            result = kept(object, result)
        if type(object) is ndarray and copy is None and result is object and not ndmin:
            return object
        if result.ndim < ndmin:
            if ndmin > MOST_DIMENSIONS:
                raise ValueError(f"ndmin must be <= ndmax ({MOST_DIMENSIONS})")
            return result.reshape((1,) * (ndmin - result.ndim) + result.shape)
        return result


array = Builtins.array


def as_order(order: Any) -> str:
    """Return a memory order as a capital letter; None is "C"."""
    if order is None:
        return "C"
    if isinstance(order, bytes):
        order = order.decode("ascii", "replace")
    if not isinstance(order, str):
        raise TypeError(f"order must be str, not {type(order).__name__}")
    letter = order.upper()
    if letter not in ("C", "F", "A", "K"):
        raise ValueError(f"order must be one of 'C', 'F', 'A', or 'K' (got {order!r})")
    return letter


def _ordered(tensor: Tensor, order: str) -> Tensor:
    return memory.in_order(tensor, order) if order in ("C", "F") else tensor


def check_like(like: Any) -> None:
    """Raise TypeError unless ``like=`` is a tnp array: tnp follows no other library's protocol."""
    if like is not None and not isinstance(like, ndarray):
        raise TypeError(f"like= must be a tnp array, not {type(like).__name__}: use numpy for the other's arrays")


def copy(a: Any, order: str = "K", subok: bool = False, *, device: Any = None) -> ndarray:
    """Copy an array.

    Parameters
    ----------
    a : array_like
    order : {'C', 'F', 'A', 'K'}, optional
        Memory order of the copy; 'K' is that of ``a``.
    subok : bool, optional
        Whether the result keeps the array's class, if that derives from ndarray.
    device : str or torch.device, optional
        Where the copy lives; by default on the device of the scope (``with tnp.device(...):``), or outside of
        any scope on the device of ``a``.

    Returns
    -------
    ndarray
        New memory, copied once: between devices if ``a`` is elsewhere.

    Notes
    -----
    Source: https://numpy.org/doc/stable/reference/generated/numpy.copy.html

    Examples
    --------
    >>> import tnp as np
    >>> x = np.array([1, 2])
    >>> y = np.copy(x)
    >>> y[0] = 5
    >>> x
    array([1, 2])
    """
    if device is None and order.__class__ is str and order == "K" and subok.__class__ is bool:
        if (made := heads.array(a, None)) is not None:
            return made
    device = devices.of_scope() if device is None else device
    return array(a, order=order, subok=subok, copy=True, device=device)


def astype(x: Any, dtype: Any, /, *, copy: bool = True, device: Any = None) -> ndarray:
    """Copy an array in another dtype.

    Parameters
    ----------
    x : ndarray
    dtype : dtype_like
        A numeric or boolean dtype.
    copy : bool, optional
        False returns ``x`` itself if it has the dtype and the device.
    device : str or torch.device, optional
        Where the result lives; by default where ``x`` is.

    Returns
    -------
    ndarray

    Raises
    ------
    TypeError
        ``x`` is no array, or no tensor can carry the dtype.

    Notes
    -----
    Source: https://numpy.org/doc/stable/reference/generated/numpy.astype.html

    Examples
    --------
    >>> import tnp as np
    >>> np.astype(np.asarray([1, 2]), np.float32)
    array([1., 2.], dtype=float32)
    """
    if issubclass(type(x), (np.ndarray, np.generic)) and not isinstance(x := ours(x), ndarray):
        x = wrap_array(tensor_of(x)) if isinstance(x, np.ndarray) else wrap(tensor_of(x))
    if not isinstance(x, ndarray):
        raise TypeError(f"Input should be a NumPy array. It is a {type(x)} instead: use asarray.")
    moved = x if device is None else x.to_device(device)
    return moved.astype(dtype, copy=copy and moved is x)


def asnumpy(x: Any) -> np.ndarray:
    """Return the values as a NumPy array, copied to the host if they are elsewhere.

    Parameters
    ----------
    x : array_like

    Returns
    -------
    numpy.ndarray
        It shares the array's memory if that is the CPU's. No gradient flows through it.

    Raises
    ------
    TypeError
        The array is being traced or batched and has no values.

    Notes
    -----
    NumPy has no such function; CuPy's has the same name.

    Examples
    --------
    >>> import tnp as np
    >>> type(np.asnumpy(np.ones(2))).__module__
    'numpy'
    """
    return x if isinstance(x, np.ndarray) else host_values(x if isinstance(x, ndarray) else asarray(x))


def as_dtype(x: ndarray, dtype: Any, order: Any, casting: Any, copy: bool) -> Any:
    """``x.astype(...)``."""
    if copy is not True and isinstance(copy, np._CopyMode):
        raise ValueError("_CopyMode enum is not allowed for astype function. Use true/false instead.")
    try:
        wanted = tensor_dtype(dtype)
    except DtypeError as error:
        if (parts := np.dtype(dtype).subdtype) is not None:
            return wrap_array(_of_subarrays(x, *parts).tensor)
        return host_fallback.refused(error, np.ndarray.astype, (x, dtype, order, casting), {})
    target = to_numpy[wanted]
    if not issubclass(type(casting), (str, bytes)):
        raise TypeError(f"casting must be str, not {type(casting).__name__}")
    if casting not in ("same_value", "unsafe") and not np.can_cast(x.dtype, target, casting):
        raise TypeError(f"Cannot cast array data from {x.dtype!r} to {target!r} according to the rule {casting!r}")
    if not copy and type(x) in (strided, indirect) and target == x.dtype:
        return asarray(x, order=order)
    result = converted(x.tensor, wanted)
    if casting == "same_value" and not memory.same_values(x.tensor, cast(result, x.tensor.dtype)):
        raise ValueError(f"could not cast 'same_value' {x.dtype} to {target}")
    order = "K" if order is None else as_order(order)
    if copy and result is x.tensor:
        return like(x, memory.copied(result, order))
    ordered = _ordered(result, order)
    return x if ordered.dtype is x.tensor.dtype and memory.same_start(ordered, x.tensor) else like(x, ordered)


def view(x: ndarray, dtype: Any) -> ndarray:
    """``x.view(dtype)``: the same bytes under another dtype."""
    tensor, wanted = x.tensor, tensor_dtype(dtype)
    if type(x) is strided and host_views.are_had():
        return strided_views.made_of(x, x.host.view(dtype))
    old, new = tensor.itemsize, wanted.itemsize
    if old != new:
        if not tensor.dim():
            raise ValueError("Changing the dtype of a 0d array is only supported if the itemsize is unchanged")
        if tensor.stride(-1) != 1 and tensor.shape[-1] != 1 and tensor.numel():
            raise ValueError("To change to a dtype of a different size, the last axis must be contiguous")
        if old < new and tensor.shape[-1] * old % new:
            raise ValueError(
                "When changing to a larger dtype, its size must be a divisor of the total size in bytes of the last "
                "axis of the array."
            )
    try:
        return view_like(x, memory.viewed(tensor, wanted))
    except RuntimeError as error:
        if host_views.has_host_views(tensor):
            return strided_views.over(memory.to_numpy(tensor).view(dtype), tensor)
        if not tensor.numel():  # torch checks the steps between elements, of which there are none
            return view_like(x, tensor.new_empty((*tensor.shape[:-1], tensor.shape[-1] * old // new), dtype=wanted))
        raise ValueError(f"no tensor over these bytes has dtype {to_numpy[wanted]}: view a copy ({error})") from None


def field(x: ndarray, dtype: Any, offset: int) -> ndarray:
    """``x.getfield(dtype, offset)``: a part of the bytes of each element under another dtype."""
    wanted = tensor_dtype(dtype)
    if offset < 0:
        raise ValueError("offset is negative")
    if wanted.itemsize > x.itemsize:
        raise ValueError("new type is larger than original type")
    if wanted.itemsize + offset > x.itemsize:
        raise ValueError("new type plus offset is larger than original type")
    if offset % wanted.itemsize:
        if host_views.has_host_views(x.tensor):
            return strided_views.over(memory.to_numpy(x.tensor).getfield(dtype, offset), x.tensor)
        raise ValueError(f"offset {offset} is no multiple of the {wanted.itemsize} bytes of {to_numpy[wanted]}")
    parts = memory.viewed(x.tensor[..., None], wanted)
    return wrap_array(parts[..., offset // wanted.itemsize])


# Values that are assigned to an array.


def is_array(value: Any) -> bool:
    return isinstance(value, (ndarray, np.ndarray)) or memory.is_tensor(value)


def sequence_error(value: Any, dtype: np.dtype) -> Exception:
    """Return the error that NumPy raises when one element is assigned more than a number."""
    error = TypeError if dtype.kind in ("c" if is_array(value) else "iuc") else ValueError
    return error("setting an array element with a sequence.")


def element_of(value: Any, dtype: np.dtype) -> Any:
    """Return what one element is assigned: for a boolean, the truth of a sequence or an array's only element."""
    if dtype.kind == "b" and isinstance(value, (list, tuple, range)):
        return bool(value)
    if dtype.kind == "b" and is_array(value) and math.prod(value.shape) == 1:
        return value.reshape(())
    return checked_number(value, dtype)


def checked_number(value: Any, dtype: np.dtype) -> Any:
    """Return a scalar for an array of signed integers as a Python number, which has to fit; NumPy casts others."""
    if type(value) is number:
        check_fits(value, dtype)
    if dtype.kind != "i" or not isinstance(value, (scalar, np.generic)):
        return value
    if value.dtype == dtype or value.dtype.kind not in "iufc":
        return value
    if isinstance(value, ndarray) and not memory.may_be_asked(value.tensor):
        return value
    if value.dtype.kind == "c":
        warn("Casting complex values to real discards the imaginary part", ComplexWarning)
        return value.item().real
    return value.item()


def check_fits(value: Any, dtype: np.dtype) -> None:
    """Raise if a Python int that a trace computes may be too large for a dtype, which NumPy refuses.

    Where a traced branch or loop computes the int, the graph checks it when it runs.

    Raises
    ------
    TracedValueError
        A cut function computes the int: Python can.
    """
    if value.dtype.kind != "i" or dtype.kind not in "iu":
        return
    tensor, limits = value.tensor, np.iinfo(dtype)
    largest = getattr(tensor, "largest", getattr(tensor, "reach", None))
    if largest is None or (dtype.kind == "i" and largest <= limits.max):
        return
    if hasattr(tensor, "largest"):
        why = f"an int may be out of bounds for {dtype}"
        raise trace_state.TracedValueError(f"{trace_state.user_line()}: {why}").because(why)
    fits = tensor >= limits.min
    if limits.max < largest:
        fits = fits & (tensor <= limits.max)
    value_checks.demand(fits, value_checks.OUT_OF_BOUNDS[dtype.name])


def without_class(value: Any) -> Any:
    """Return an array of a class derived from NumPy's as NumPy's own, for uses where its class has no say."""
    return np.asarray(value) if isinstance(value, np.ndarray) else value


def value_of(value: Any, array: ndarray) -> Tensor:
    """Convert an assigned value to a tensor of the array's dtype; scalars become 0-d tensors on the CPU."""
    if type(value) in _PLAIN:
        return constant(value, array.dtype)
    if issubclass(type(value), np.generic):
        source = tensor_of(value)
    elif isinstance(value, (ndarray, np.ndarray)) or memory.is_tensor(value):
        value = without_class(value)
        held = not isinstance(value, np.ndarray) or value.dtype in to_torch  # NumPy reads numbers from other dtypes
        source = tensor_of(value, None if held else array.dtype, device=array.device)
    else:
        source = tensor_of(value, array.dtype, device=array.device)
    dtype = array.tensor.dtype
    if source.dtype is not dtype:
        if source.is_complex() and array.dtype.kind not in "cb":
            warn("Casting complex values to real discards the imaginary part", ComplexWarning)
        source = cast(source, dtype)
    return source
