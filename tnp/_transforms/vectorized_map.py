"""``vectorized_map``: a function of one element applied to all at once, or else one after the other.

Layer: owns which axes of which arrays are the elements, and the loop that stands in where the backend can't batch.
"""

from __future__ import annotations

import contextlib
import functools
import operator
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from backend_torch.autodiff import batching
from backend_torch.graphs import control_flow
from backend_torch.graphs.compiling import is_inside
from backend_torch.tensors import trace_state
from backend_torch.torch_private import messages
from tnp._core.base import ndarray, scalar, wrap, wrap_array
from tnp._core.convert import asarray, tensor_of
from tnp._core.errors import normalize_axis
from tnp._manipulation.joining import stack
from tnp._transforms import pytree
from tnp._transforms.of_compiled import alike

Tensor = Any
_UNROLLED = 8  # a loop over as many elements is unrolled when it is traced: the operations of all are fused
_RANDOMNESS = ("different", "same", "error")


class _Elements:
    """The arrays of ``elems``, which axis of each is that of the elements, and how one element is put together."""

    def __init__(self, elems: Any, in_axes: Any) -> None:
        arrays: list[Any] = []
        pytree.flatten(elems, arrays)
        axes = pytree.spread(in_axes, elems, "in_axes")
        self.elems = elems
        self.tensors = [tensor_of(array) for array in arrays]
        self.dims = [
            None if axis is None else normalize_axis(axis, tensor.dim(), "in_axes")
            for axis, tensor in zip(axes, self.tensors, strict=True)
        ]
        lengths = {
            tensor.shape[dim]: None for tensor, dim in zip(self.tensors, self.dims, strict=True) if dim is not None
        }
        if not lengths:
            raise ValueError("there is nothing to map over: elems has no array with an axis of elements")
        if len(lengths) > 1:
            described = ", ".join(f"{path}: {text}" for path, text in pytree.described(elems, "elems"))
            raise ValueError(f"the arrays have different numbers of elements, {list(lengths)}: {described}")
        (self.length,) = lengths
        self.build = pytree.builder(elems, self._leaf(iter(self.dims)))

    @staticmethod
    def _leaf(dims: Iterator[int | None]) -> Callable[[Any], Callable[[Any, Any], Any]]:
        """What makes each array of an element: an element without axes is a scalar, as ``x[i]`` is.

        An element of a read-only array is read-only.
        """

        def leaf(array: Any) -> Callable[[Any, Any], Any]:
            made = wrap_array if next(dims) is None and not isinstance(array, scalar) else wrap
            if pytree.is_read_only(array):
                return lambda tensors, _: pytree.locked(array, made(next(tensors)))
            return lambda tensors, _: made(next(tensors))

        return leaf

    def element(self, index: int) -> Any:
        """One of them, as a view."""
        return self.build(
            iter([batching.slices(t, d, index) for t, d in zip(self.tensors, self.dims, strict=True)]), ()
        )


def _as_arrays(result: Any) -> Any:
    """A result whose Python numbers are arrays as well, as they are for ``stack``."""
    return pytree.mapped(asarray, result, pytree.becomes_array)


def _with_axes(result: Any, out_axes: Any) -> Any:
    """A result whose arrays have the elements along axis 0, with them where ``out_axes`` says."""
    if type(out_axes) is int and out_axes == 0:
        return result
    axes = iter(pytree.spread(out_axes, result, "out_axes"))

    def moved(array: ndarray) -> ndarray:
        axis = next(axes)
        if axis is None:
            raise ValueError("out_axes is None for an array: each has an axis of elements")
        return wrap_array(batching.moved(array.tensor, normalize_axis(axis, array.ndim, "out_axes")))

    return pytree.mapped(moved, result)


def _at_once(fn: Callable[[Any], Any], elements: _Elements, chunk_size: int | None, randomness: str) -> Any:
    """All elements in one call of ``fn``, or one a chunk."""
    build: Any = None

    def run(slices: list[Tensor]) -> list[Tensor]:
        nonlocal build
        result = _as_arrays(fn(elements.build(iter(slices), ())))
        leaves: list[Any] = []
        pytree.flatten(result, leaves)
        build = pytree.builder(result, lambda _: lambda values, _: wrap_array(next(values)))
        return [leaf.tensor if isinstance(leaf, ndarray) else tensor_of(leaf) for leaf in leaves]

    results = batching.vmap(run, elements.tensors, elements.dims, chunk_size=chunk_size, randomness=randomness)
    return build(iter(results), ())


def _one_by_one(fn: Callable[[Any], Any], elements: _Elements) -> Any:
    """A loop over the elements."""
    if not elements.length:
        raise ValueError("there are no elements, so the shape of a result can't be known")
    structure: Any = None
    columns: list[list[Any]] = []
    result: Any = None
    for index in range(elements.length):
        result = _as_arrays(fn(elements.element(index)))
        leaves: list[Any] = []
        built = _outline(pytree.flatten(result, leaves))
        if index == 0:
            structure, columns = built, [[] for _ in leaves]
        elif built != structure:
            raise ValueError(
                f"the function returns another structure for element {index} than for the first: {result!r}"
            )
        for column, leaf in zip(columns, leaves, strict=True):
            column.append(leaf)
    stacks = iter([_stacked(column) for column in columns])
    return pytree.mapped(lambda _: next(stacks), result)


def _as_a_loop(fn: Callable[[Any], Any], elements: _Elements) -> Any:
    """A loop over the elements in the graph that is being traced, of one trace of ``fn``.

    Raises
    ------
    NotImplementedError
        ``fn`` writes to its element or to an array from outside.
    """
    build: Any = None

    def step(carry: list[Tensor], slices: list[Tensor]) -> tuple[list[Tensor], list[Tensor]]:
        nonlocal build
        given = iter(slices)
        tensors = [t if d is None else next(given) for t, d in zip(elements.tensors, elements.dims, strict=True)]
        result = _as_arrays(fn(elements.build(iter(tensors), ())))
        leaves: list[Any] = []
        pytree.flatten(result, leaves)
        build = pytree.builder(result, lambda _: lambda values, _: wrap_array(next(values)))
        return [], [tensor_of(leaf) for leaf in leaves]

    along = [batching.leading(t, d) for t, d in zip(elements.tensors, elements.dims, strict=True) if d is not None]
    _, stacks = control_flow.scan(step, [], along, elements.length, reverse=False, pure=True)
    return build(iter(stacks), ())


def _outline(structure: Any) -> Any:
    """A structure that does not tell scalars from arrays."""
    if isinstance(structure, tuple):
        return "array" if structure[:1] == ("array",) else tuple([_outline(item) for item in structure])
    return "array" if isinstance(structure, type) and issubclass(structure, ndarray) else structure


def _stacked(column: list[Any]) -> ndarray:
    shapes = [np.shape(leaf) for leaf in column]
    for index, shape in enumerate(shapes):
        if shape != shapes[0]:
            raise ValueError(
                f"the function returns an array of shape {shapes[0]} for the first element and one of shape {shape} "
                f"for element {index}: they can't be put into one array"
            )
    return stack([asarray(leaf) for leaf in column])


def vectorized_map(
    fn: Callable[[Any], Any],
    elems: Any,
    *,
    in_axes: Any = 0,
    out_axes: Any = 0,
    chunk_size: int | None = None,
    fallback: bool = True,
    randomness: str = "different",
) -> Any:
    """Apply a function of one element to all elements of arrays at once.

    Parameters
    ----------
    fn : callable
        Takes one element, built like ``elems``, and returns arrays or containers of arrays.
    elems : array_like or container of arrays
        The elements, along an axis of each array.
    in_axes : int or None, or a container of these, default 0
        The axis of the elements in each array of ``elems``; None for an array that each call gets whole. One value
        is for all arrays below its place.
    out_axes : int, or a container of these, default 0
        The axis of the elements in each array of the result.
    chunk_size : int, optional
        How many elements are computed at once: less takes less memory.
    fallback : bool, default True
        Whether to loop over the elements where they can't be computed at once.
    randomness : {'different', 'same', 'error'}
        Whether random numbers differ from element to element.

    Returns
    -------
    array or container of arrays
        What ``fn`` returns, stacked.

    Raises
    ------
    RuntimeError
        The elements can't be computed at once and ``fallback`` is False.
    ValueError
        The arrays differ in their numbers of elements, or have no such axis.

    Warns
    -----
    RuntimeWarning
        The elements can't be computed at once and ``fn`` is called for one after the other; the message names the
        operation and the line.

    Notes
    -----
    ``fn`` is called once, with arrays that stand for all elements, so Python sees no values (``if x > 0``) and shapes
    can't depend on values (``len(x[x > 0])``): then there is a loop. What a mask selects may be computed with, written
    back by the same mask (``x[x > 0] *= 2``) and reduced (``x[x > 0].mean()``). What ``fn`` makes may be written to.
    Writes to its element are seen in ``elems``, as in a loop; a write to an array from outside, which all elements
    share, makes one. So does an error that ``fn`` catches, as it may be one element's. Before the loop ``fn`` has run
    in part: its prints are seen again, its writes to arrays are not.

    See also ``tf.vectorized_map``, ``jax.vmap`` and ``torch.vmap``.

    Examples
    --------
    >>> import tnp as np
    >>> x = np.arange(6.0).reshape(3, 2)
    >>> np.vectorized_map(lambda row: row / row.sum(), x)
    array([[0.        , 1.        ],
           [0.4       , 0.6       ],
           [0.44444444, 0.55555556]])
    """
    if randomness not in _RANDOMNESS:
        raise ValueError(f"randomness must be one of {', '.join(map(repr, _RANDOMNESS))}, not {randomness!r}")
    if chunk_size is not None and operator.index(chunk_size) < 1:
        raise ValueError(f"chunk_size must be at least 1, not {chunk_size}")
    by = alike(fn)
    if by is not None and not is_inside():
        options = repr((in_axes, out_axes, chunk_size, randomness))
        at_once = by.kept(
            ("vectorized_map", options),
            lambda elems: _with_axes(_at_once(fn, _Elements(elems, in_axes), chunk_size, randomness), out_axes),
        )
        with contextlib.suppress(batching.Refusal):  # a loop runs the compiled function
            return at_once(elems)
    elements = _Elements(elems, in_axes)
    _check_takes_one(fn, elems)
    try:
        return _with_axes(_at_once(fn, elements, chunk_size, randomness), out_axes)
    except batching.Refusal as refusal:
        error = refusal.error
        asks = messages.says(error, messages.VALUE_OF_BATCH)
        reason = trace_state.asked_by(error) if asks else str(error)
        problem = f"{refusal.line}: {refusal.operation} can't be done for all elements at once ({reason})"
        if not fallback:
            raise RuntimeError(problem) from error
    warnings.warn(f"vectorized_map calls the function once for each element. {problem}", RuntimeWarning, stacklevel=2)
    return _with_axes(_one_by_one(fn, elements), out_axes)


def vmap(
    fn: Callable[..., Any],
    in_axes: Any = 0,
    out_axes: Any = 0,
    *,
    chunk_size: int | None = None,
    fallback: bool = True,
    randomness: str = "different",
) -> Callable[..., Any]:
    """A function of several arguments, applied to all elements of theirs at once.

    Parameters
    ----------
    fn : callable
        Takes one element of each argument, and returns arrays or containers of arrays.
    in_axes : int or None, or a tuple or list of these and of containers, default 0
        For each positional argument the axis of the elements in its arrays; None for an argument that each call gets
        whole. Arguments by name have their elements along axis 0.
    out_axes : int, or a container of these, default 0
        The axis of the elements in each array of the result.
    chunk_size, fallback, randomness
        As in `vectorized_map`.

    Returns
    -------
    callable
        Takes what ``fn`` takes, with an axis of elements more.

    Raises
    ------
    ValueError
        When called: ``in_axes`` is not for as many arguments, or the arrays differ in their numbers of elements.

    Notes
    -----
    It is `vectorized_map` of a tuple of arguments: what can't be done at once is a loop, with a warning.

    See also ``jax.vmap`` and ``torch.vmap``.

    Examples
    --------
    >>> import tnp as np
    >>> dot = lambda x, y: (x * y).sum()
    >>> np.vmap(dot, in_axes=(0, None))(np.eye(2), np.asarray([3.0, 4.0]))
    array([3., 4.])
    """

    @functools.wraps(fn)
    def mapped(*args: Any, **kwargs: Any) -> Any:
        axes = tuple(in_axes) if isinstance(in_axes, (tuple, list)) else (in_axes,) * len(args)
        if len(axes) != len(args):
            raise ValueError(f"vmap: in_axes {in_axes!r} is for {len(axes)} arguments, but there are {len(args)}")
        return vectorized_map(
            lambda element: fn(*element[0], **element[1]),
            (args, kwargs),
            in_axes=(axes, 0),
            out_axes=out_axes,
            chunk_size=chunk_size,
            fallback=fallback,
            randomness=randomness,
        )

    return mapped


def _check_takes_one(fn: Callable[..., Any], elems: Any) -> None:
    """TypeError for a function of several arguments: it is given one, built like ``elems``."""
    code = getattr(fn, "__code__", None)
    if code is None or type(elems) not in (tuple, list) or len(elems) < 2:
        return
    count = code.co_argcount - len(getattr(fn, "__defaults__", None) or ()) - hasattr(fn, "__self__")
    if count == len(elems):
        raise TypeError(
            f"{fn.__qualname__}() takes {count} arguments, and is given one: a {type(elems).__name__} of an element of "
            "each array. Map lambda each: function(*each)"
        )


def map_fn(
    fn: Callable[[Any], Any], elems: Any, *, in_axes: Any = 0, out_axes: Any = 0, batch_size: int | None = None
) -> Any:
    """Apply a function to one element of arrays after the other.

    Parameters
    ----------
    fn : callable
        Takes one element, built like ``elems``, and returns arrays or containers of arrays.
    elems : array_like or container of arrays
        The elements, along an axis of each array.
    in_axes, out_axes : int or None, or a container of these, default 0
        As in ``vectorized_map``.
    batch_size : int, optional
        Do as many at once, one batch after the other; it is ``chunk_size`` of `vectorized_map`.

    Returns
    -------
    array or container of arrays
        What ``fn`` returns, stacked.

    Raises
    ------
    ValueError
        The results differ in shape or structure, or there are no elements.

    Notes
    -----
    In a compiled function, a few elements are done one after the other and more are a loop of the graph, of one trace
    of ``fn``, unless that writes to an array.

    See also ``tf.map_fn``, ``jax.lax.map`` and ``vectorized_map``, which does the same at once.

    Examples
    --------
    >>> import tnp as np
    >>> np.map_fn(lambda row: float(row.sum()), np.ones((2, 3)))
    array([3., 3.])
    """
    if batch_size is not None:
        return vectorized_map(fn, elems, in_axes=in_axes, out_axes=out_axes, chunk_size=batch_size)
    elements = _Elements(elems, in_axes)
    _check_takes_one(fn, elems)
    if elements.length > _UNROLLED and control_flow.is_recorded():
        with contextlib.suppress(NotImplementedError):  # fn writes to an array
            return _with_axes(_as_a_loop(fn, elements), out_axes)
    return _with_axes(_one_by_one(fn, elements), out_axes)
