"""Functions of functions: they apply a function along axes, by pieces, and element by element.

Layer: owns the loops over slices; what a given function does with them is its own affair.
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Callable
from typing import Any

import numpy as np

from backend_torch.native import heads
from backend_torch.tensors import memory, trace_state
from backend_torch.tensors.casting import cast
from backend_torch.tensors.dtypes import to_torch
from tnp._core import host_fallback
from tnp._core.base import SCALARS, ndarray, wrap_array
from tnp._core.convert import asarray, asnumpy, shared, tensor_of
from tnp._core.derived_classes import kept, winner
from tnp._core.dtypes import DtypeError, tensor_dtype
from tnp._core.errors import broadcast, call, normalize_axis
from tnp._core.trees import kinds
from tnp._creation.filled import empty, zeros_like
from tnp._indexing.selection import where
from tnp._manipulation.broadcasting import broadcast_to
from tnp._manipulation.joining import concatenate, stack
from tnp._manipulation.rearranging import moveaxis
from tnp._manipulation.shape import expand_dims
from tnp._math import reductions
from tnp._transforms.vectorized_map import vectorized_map

_NoValue: Any = np._NoValue
_NUMBERS = SCALARS | {bool, int, float, complex}
_IN_LISTS = (list, tuple, int, float, complex, str, bytes, type(None), np.generic)


def apply_along_axis(func1d: Callable[..., Any], axis: Any, arr: Any, *args: Any, **kwargs: Any) -> ndarray:
    """A function of one-dimensional slices, applied to each slice along an axis.

    Parameters
    ----------
    func1d : callable
        ``func1d(slice, *args, **kwargs)``.
    axis : int
        Along which the slices are.
    arr : array_like
    *args, **kwargs
        Passed on.

    Returns
    -------
    ndarray
        What the function returns stands in the place of the axis.

    Raises
    ------
    AxisError
        The array has no such axis.
    ValueError
        There are no slices.

    Notes
    -----
    The function is called slice by slice, so that what it prints, counts or branches on is NumPy's: no rule tells in
    advance that a function does nothing of the kind. One that doesn't is applied at once by ``vectorized_map``.

    Source: https://numpy.org/doc/stable/reference/generated/numpy.apply_along_axis.html

    Examples
    --------
    >>> import tnp as np
    >>> np.apply_along_axis(lambda x: x[0] + x[-1], 0, np.asarray([[1, 2], [3, 4], [5, 6]]))
    array([6, 8])
    """
    array = wrap_array(tensor_of(arr))
    dim = normalize_axis(axis, array.ndim)
    slices = moveaxis(array, dim, -1)
    outer = slices.shape[:-1]
    if 0 in outer:
        raise ValueError("Cannot apply_along_axis when any iteration dimensions are 0")
    at_once = _at_once(lambda each: (func1d(each, *args, **kwargs),), [slices], outer)
    if at_once is not None:
        like, (table,) = None, at_once
    else:
        given = [func1d(slices[index], *args, **kwargs) for index in itertools.product(*map(range, outer))]
        like = given[0]
        table = _stacked(given)
    table = table.reshape((*outer, *table.shape[1:]))
    first, last = len(outer), table.ndim
    return kept(like, moveaxis(table, range(first, last), range(dim, dim + last - first)))


def _of_host(array: np.ndarray, device: Any) -> ndarray:
    """Return an array over new memory of NumPy's, or a copy on another device."""
    made = shared(array) if device is not None and device.type == "cpu" else None
    return asarray(array, device=device) if made is None else made


def _stacked(given: list[Any]) -> ndarray:
    """Stack what a function returned; numbers of one class and dtype are read at once."""
    first, kind = given[0], type(given[0])
    if kind in _NUMBERS and all(type(each) is kind for each in given):
        if kind not in SCALARS or all(each.dtype == first.dtype for each in given):
            if (made := heads.array(given, None)) is not None:
                return made
    results = [wrap_array(tensor_of(each)) for each in given]
    return _table(results, results[0].dtype, results[0].shape)


def _table(results: list[ndarray], dtype: Any, shape: tuple[int, ...]) -> ndarray:
    """Stack results; all have the dtype and the shape of the first one."""
    if all(each.dtype == dtype and each.shape == shape for each in results):
        return asarray(results)
    return stack([broadcast_to(each.astype(dtype), shape) for each in results])


def _at_once(
    function: Callable[..., tuple[Any, ...]], arrays: list[ndarray], outer: tuple[int, ...]
) -> tuple[ndarray, ...] | None:
    """Return a function's stacked results for all slices along the outer axes; None if a loop has to call it.

    It is in NumPy, whose programs may see that. In a trace and in vectorized_map nobody does, so one call is enough if
    all slices can be computed at once.
    """
    if not (trace_state.is_tracing() or trace_state.is_batching()):
        return None

    def arrays_of(slices: tuple[Any, ...]) -> tuple[ndarray, ...]:
        return tuple([wrap_array(tensor_of(each)) for each in function(*slices)])

    lines = [array.reshape((math.prod(outer), *array.shape[len(outer) :])) for array in arrays]
    try:
        return vectorized_map(arrays_of, tuple(lines), fallback=False)
    except RuntimeError:  # the loop raises the error again, if it is the function's own
        return None


def apply_over_axes(func: Callable[..., Any], a: Any, axes: Any) -> ndarray:
    """A function with an axis argument, applied over several axes one after the other.

    Parameters
    ----------
    func : callable
        ``func(a, axis)``, which keeps the axis or takes it away.
    a : array_like
    axes : int or sequence of int

    Returns
    -------
    ndarray
        Of as many dimensions as ``a``.

    Raises
    ------
    ValueError
        The function returns an array of another number of dimensions.

    Notes
    -----
    Source: https://numpy.org/doc/stable/reference/generated/numpy.apply_over_axes.html

    Examples
    --------
    >>> import tnp as np
    >>> np.apply_over_axes(np.sum, np.arange(6).reshape(1, 2, 3), [1, 2])
    array([[[15]]])
    """
    value = wrap_array(tensor_of(a))
    ndim = value.ndim
    for axis in np.atleast_1d(asnumpy(axes) if isinstance(axes, ndarray) else axes).tolist():
        dim = ndim + axis if axis < 0 else axis
        result = asarray(func(value, dim))
        if result.ndim != ndim:
            result = expand_dims(result, dim)
            if result.ndim != ndim:
                raise ValueError("function is not returning an array of the correct shape")
        value = result
    return value


def piecewise(x: Any, condlist: Any, funclist: Any, *args: Any, **kw: Any) -> ndarray:
    """A function that is defined by pieces.

    Parameters
    ----------
    x : array_like
    condlist : sequence of array_like of bool
        Where each piece is; a later one wins.
    funclist : sequence of callable or scalar
        A value, or a function of the elements of ``x`` there, for each piece; one more is for the rest.
    *args, **kw
        Passed on to the functions.

    Returns
    -------
    ndarray
        Of the dtype and shape of ``x``; zero where there is no piece.

    Raises
    ------
    ValueError
        There are not as many functions as conditions, or one more.

    Notes
    -----
    Differences from NumPy: inside a traced or batched function each function is given all elements.

    Source: https://numpy.org/doc/stable/reference/generated/numpy.piecewise.html

    Examples
    --------
    >>> import tnp as np
    >>> x = np.asarray([-2.0, -1.0, 0.0, 1.0])
    >>> np.piecewise(x, [x < 0, x >= 0], [lambda x: -x, lambda x: x])
    array([2., 1., 0., 1.])
    """
    array = wrap_array(tensor_of(x))
    count = len(funclist)
    if np.isscalar(condlist) or (type(condlist[0]) not in (list, ndarray, np.ndarray) and array.ndim != 0):
        condlist = [condlist]
    conditions = [cast(tensor_of(c, device=array.tensor.device), tensor_dtype(bool)) for c in condlist]
    table = stack([wrap_array(c) for c in conditions])
    if count == len(table) + 1:
        table = concatenate([table, ~reductions.any(table, axis=0, keepdims=True)])
    elif count != len(table):
        raise ValueError(
            f"with {len(table)} condition(s), either {len(table)} or {len(table) + 1} functions are expected"
        )
    result = zeros_like(array)
    for condition, function in zip(table, funclist, strict=True):
        if not memory.is_readable(array.tensor):
            value = function(array, *args, **kw) if callable(function) else function
            result = where(condition, asarray(value).astype(array.dtype), result)
        elif not callable(function):
            result[condition] = function
        else:
            chosen = array[condition]
            if chosen.size:
                result[condition] = function(chosen, *args, **kw)
    return result


_NAME = r"\w+"
_CORE = rf"(?:{_NAME}(?:,{_NAME})*)?"
_ARGUMENT = rf"\({_CORE}\)"
_ARGUMENTS = rf"{_ARGUMENT}(?:,{_ARGUMENT})*"
_SIGNATURE = re.compile(rf"^{_ARGUMENTS}->{_ARGUMENTS}$")
Core = tuple[str, ...]


class vectorize:
    """A function of scalars as one of arrays, with broadcasting.

    Parameters
    ----------
    pyfunc : callable, optional
        The function; without it, an instance decorates one.
    otypes : str or sequence of dtype_like, optional
        The dtypes of its results; by default those of the first call.
    doc : str, optional
        The docstring; by default the function's.
    excluded : set of int or str, optional
        Arguments that are passed on as they are.
    cache : bool, optional
        Keep the result of the first call, by which dtypes are found, instead of calling again.
    signature : str, optional
        As ``(m,n),(n)->(m)``: the function takes arrays of such shapes.

    Notes
    -----
    A convenience: the function is called element by element, on Python's or NumPy's scalars of the host, unless a
    signature is given, which gives it arrays, once for each: what it prints, counts or branches on is NumPy's. For
    speed, and for gradients, write it with arrays, or apply it at once by ``vectorized_map``. In ``tnp.compile`` and in
    ``vectorized_map`` a function with a signature is called once for all, if that can be.

    Source: https://numpy.org/doc/stable/reference/generated/numpy.vectorize.html

    Examples
    --------
    >>> import tnp as np
    >>> np.vectorize(lambda a, b: a - b if a > b else a + b)(np.asarray([1, 2, 3, 4]), 2)
    array([3, 4, 1, 2])
    """

    __module__ = "tnp"

    def __init__(
        self,
        pyfunc: Any = _NoValue,
        otypes: Any = None,
        doc: str | None = None,
        excluded: Any = None,
        cache: bool = False,
        signature: str | None = None,
    ) -> None:
        if pyfunc is not _NoValue and not callable(pyfunc):
            raise TypeError("When used as a decorator, only accepts keyword arguments.")
        self.pyfunc = pyfunc
        self.cache = cache
        self.signature = signature
        self._doc = doc
        self.__doc__ = doc
        if pyfunc is not _NoValue:
            self._describe()
        if isinstance(otypes, str):
            for char in otypes:
                if char not in np.typecodes["All"]:
                    raise ValueError(f"Invalid otype specified: {char}")
        elif np.iterable(otypes):
            otypes = [_of_any_width(np.dtype(each)) for each in otypes]
        elif otypes is not None:
            raise ValueError("Invalid otype specification")
        self.otypes = otypes
        self.excluded = set() if excluded is None else set(excluded)
        self._core: tuple[list[Core], list[Core]] | None = None
        if signature is not None:
            compact = re.sub(r"\s+", "", signature)
            if not _SIGNATURE.match(compact):
                raise ValueError(f"not a valid gufunc signature: {signature}")
            inputs, outputs = [
                [tuple(re.findall(_NAME, each)) for each in re.findall(_ARGUMENT, side)] for side in compact.split("->")
            ]
            self._core = inputs, outputs

    def _describe(self) -> None:
        """Copy the function's name and docstring."""
        if hasattr(self.pyfunc, "__name__"):
            self.__name__ = self.pyfunc.__name__
        if self._doc is None:
            self.__doc__ = getattr(self.pyfunc, "__doc__", None)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if self.pyfunc is _NoValue:
            (self.pyfunc,) = args
            self._describe()
            return self
        names = [name for name in kwargs if name not in self.excluded]
        places = [i for i in range(len(args)) if i not in self.excluded]
        vectors = [args[i] for i in places] + [kwargs[name] for name in names]

        function = self.pyfunc

        def of_vectors(*values: Any) -> Any:
            """Return the function of the arguments that are not excluded."""
            given = list(args)
            for place, value in zip(places, values, strict=False):
                given[place] = value
            return self.pyfunc(*given, **{**kwargs, **dict(zip(names, values[len(places) :], strict=True))})

        if kwargs or self.excluded:
            function = of_vectors
        if self._core is not None:
            try:
                return self._call_on_arrays(function, vectors, *self._core)
            except DtypeError as error:
                host = np.vectorize(self.pyfunc, self.otypes, None, self.excluded, signature=self.signature)
                return host_fallback.refused(error, host, args, kwargs)
        return self._call_on_elements(function, vectors) if vectors else function()

    def _call_on_elements(self, function: Callable[..., Any], vectors: list[Any]) -> Any:
        arrays = [_numbers_or_objects(vector) for vector in vectors]
        devices = [a.device for a in arrays if isinstance(a, ndarray)]
        device = next((place for place in devices if place.type != "cpu"), devices[0] if devices else None)
        shape = broadcast(*[a.shape for a in arrays])
        values = [asnumpy(a) for a in arrays]
        otypes = self.otypes
        if otypes is None:
            if 0 in shape:
                raise ValueError("cannot call `vectorize` on size 0 inputs unless `otypes` is set")
            first = function(*[v.flat[0] for v in values])
            outputs = first if isinstance(first, tuple) else (first,)
            otypes = [_of_any_width(_dtype_of(output)) for output in outputs]
            if self.cache:
                function = _after(first, function)
        host = np.frompyfunc(lambda *args: _plain(function(*args)), len(values), len(otypes))
        results = call(host, *map(_as_objects, vectors, values))
        source = winner(vectors)
        tables = [
            np.asanyarray(result, dtype=object).astype(dtype)
            for result, dtype in zip(results if len(otypes) > 1 else (results,), otypes, strict=True)
        ]
        wrapped = tuple([
            kept(source, _of_host(each, device)) if type(each) is np.ndarray and each.dtype in to_torch else each
            for each in tables
        ])  # fmt: skip
        return wrapped if len(wrapped) > 1 else wrapped[0]

    def _call_on_arrays(
        self, function: Callable[..., Any], vectors: list[Any], inputs: list[Core], outputs: list[Core]
    ) -> Any:
        if len(vectors) != len(inputs):
            raise TypeError(f"wrong number of positional arguments: expected {len(inputs)!r}, got {len(vectors)!r}")
        arrays = [wrap_array(tensor_of(vector)) for vector in vectors]
        sizes: dict[str, int] = {}
        outer_shapes = []
        for array, core in zip(arrays, inputs, strict=True):
            _note_sizes(sizes, array, core)
            outer_shapes.append(array.shape[: array.ndim - len(core)])
        outer = broadcast(*outer_shapes)
        arrays = [
            broadcast_to(array, (*outer, *[sizes[name] for name in core]))
            for array, core in zip(arrays, inputs, strict=True)
        ]
        if math.prod(outer):
            at_once = _at_once(lambda *values: _outputs(function(*values), outputs), arrays, outer)
            if at_once is not None:
                return self._shaped(at_once, outer, sizes, outputs)
        columns: list[list[ndarray]] = [[] for _ in outputs]
        firsts: list[Any] = []
        for index in itertools.product(*map(range, outer)):
            result = function(*[kept(vector, array[index]) for vector, array in zip(vectors, arrays, strict=True)])
            values = _outputs(result, outputs)
            firsts = firsts or list(values)
            for column, value in zip(columns, values, strict=True):
                column.append(wrap_array(tensor_of(value)))
        if not columns[0]:
            return self._of_nothing(outer, sizes, outputs)
        results = []
        for i, (column, core) in enumerate(zip(columns, outputs, strict=True)):
            _note_sizes(sizes, column[0], core)
            dtype = column[0].dtype if self.otypes is None else self.otypes[i]
            inner = tuple([sizes[name] for name in core])
            table = _table(column, dtype, inner)
            results.append(kept(firsts[i], table.reshape((*outer, *inner))))
        return results[0] if len(results) == 1 else tuple(results)

    def _shaped(
        self, tables: tuple[ndarray, ...], outer: tuple[int, ...], sizes: dict[str, int], outputs: list[Core]
    ) -> Any:
        """Return the stacked results of all calls, for each output."""
        results = []
        for i, (table, core) in enumerate(zip(tables, outputs, strict=True)):
            _note_sizes(sizes, table[0], core)
            table = table if self.otypes is None else table.astype(self.otypes[i])
            results.append(table.reshape((*outer, *[sizes[name] for name in core])))
        return results[0] if len(results) == 1 else tuple(results)

    def _of_nothing(self, outer: tuple[int, ...], sizes: dict[str, int], outputs: list[Core]) -> Any:
        """Return the results if the function is never called."""
        if self.otypes is None:
            raise ValueError("cannot call `vectorize` on size 0 inputs unless `otypes` is set")
        if any(name not in sizes for core in outputs for name in core):
            raise ValueError(
                "cannot call `vectorize` with a signature including new output dimensions on size 0 inputs"
            )
        shapes = [(*outer, *[sizes[name] for name in core]) for core in outputs]
        results = tuple([empty(shape, dtype) for shape, dtype in zip(shapes, self.otypes, strict=True)])
        return results[0] if len(results) == 1 else results


def _numbers_or_objects(vector: Any) -> Any:
    """Return an argument as a tnp array, or as NumPy's if no tensor can hold it: the function takes anything."""
    try:
        return wrap_array(tensor_of(vector))
    except DtypeError:
        return np.asanyarray(vector)


def _as_objects(vector: Any, values: np.ndarray) -> np.ndarray:
    """Return the elements that the function gets: those of Python's lists are what they are."""
    if type(vector) in (list, tuple) and all(issubclass(kind, _IN_LISTS) for kind in kinds(vector)):
        return np.asanyarray(vector, dtype=object)
    return values.astype(object)


def _plain(output: Any) -> Any:
    """Return a result for the host: tnp arrays become NumPy's scalars."""
    if isinstance(output, tuple):
        return tuple([_plain(each) for each in output])
    return asnumpy(output)[()] if isinstance(output, ndarray) else output


def _dtype_of(output: Any) -> np.dtype:
    return output.dtype if isinstance(output, ndarray) else np.asarray(output).dtype


def _of_any_width(dtype: np.dtype) -> Any:
    return dtype.char if dtype.char in "SU" else dtype


def _outputs(result: Any, outputs: list[Core]) -> tuple[Any, ...]:
    """Return a function's result as so many outputs."""
    count = len(result) if isinstance(result, tuple) else 1
    if count != len(outputs):
        raise ValueError(f"wrong number of outputs from pyfunc: expected {len(outputs)!r}, got {count!r}")
    return result if isinstance(result, tuple) and count != 1 else (result,)


def _after(first: Any, function: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap the function, whose first result is known."""
    known = [first]
    return lambda *args: known.pop() if known else function(*args)


def _note_sizes(sizes: dict[str, int], array: ndarray, core: Core) -> None:
    """Add the lengths of an argument's core dimensions to those that are known."""
    if array.ndim < len(core):
        raise ValueError(
            f"{array.ndim}-dimensional argument does not have enough dimensions for all core dimensions {core!r}"
        )
    for name, size in zip(core, array.shape[array.ndim - len(core) :], strict=True):
        if sizes.setdefault(name, size) != size:
            raise ValueError(f"inconsistent size for core dimension {name!r}: {size!r} vs {sizes[name]!r}")
