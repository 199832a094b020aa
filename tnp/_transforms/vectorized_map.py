"""``vectorized_map``: applies a function of one element to all elements at once, or one after the other.

Layer: owns the axes of the elements, and the loop for functions that the backend can't batch.
"""

from __future__ import annotations

import contextlib
import functools
import operator
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from backend_torch.autodiff import autodiff, batching, collectives
from backend_torch.graphs import control_flow, symbolic
from backend_torch.graphs.compiling import is_inside
from backend_torch.tensors import host_views, memory, trace_state
from backend_torch.torch_private import messages
from tnp._core.base import ndarray, scalar, wrap, wrap_array
from tnp._core.convert import asarray, tensor_of
from tnp._core.errors import normalize_axis, warn
from tnp._core.strided_views import UNDESCRIBED
from tnp._manipulation.joining import stack
from tnp._transforms import pytree
from tnp._transforms.collectives import named_axis
from tnp._transforms.of_compiled import alike, compiled_too
from tnp._transforms.reruns import Runs

Tensor = Any
_UNROLLED = 8  # a traced loop over so few elements is unrolled, so that the operations of all are fused
_RANDOMNESS = ("different", "same", "error")


class _Elements:
    """The arrays of ``elems``, the axis of the elements in each, and how to build one element."""

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
        lengths: list[int] = []
        for tensor, dim in zip(self.tensors, self.dims, strict=True):
            if dim is not None and tensor.shape[dim] not in lengths:  # a size that a trace leaves open has no hash
                lengths.append(tensor.shape[dim])
        if not lengths:
            raise ValueError("there is nothing to map over: elems has no array with an axis of elements")
        if len(lengths) > 1:
            described = ", ".join(f"{path}: {text}" for path, text in pytree.described(elems, "elems"))
            raise ValueError(f"the arrays have different numbers of elements, {lengths}: {described}")
        (self.length,) = lengths
        self.build = pytree.builder(elems, self._leaf(iter(self.dims)))
        self._homes = [_home(array, tensor) for array, tensor in zip(arrays, self.tensors, strict=True)]
        self._copies = _Copies(self._homes, self.tensors)

    def hosts(self) -> list[np.ndarray | None]:
        """Return NumPy's arrays over the memory that tensors are copies of."""
        found = [getattr(home, "host", home) for home in self._homes]
        return [host if isinstance(host, np.ndarray) else None for host in found]

    @staticmethod
    def _leaf(dims: Iterator[int | None]) -> Callable[[Any], Callable[[Any, Any], Any]]:
        """Return the function that makes each array of an element: a scalar if it has no axes, as ``x[i]`` is.

        An element of a read-only array is read-only. So is one of a copy while torch.compile traces, which does not
        count writes.
        """

        def leaf(array: Any) -> Callable[[Any, Any], Any]:
            wrapped = wrap_array if next(dims) is None and not isinstance(array, scalar) else wrap

            def made(part: Any) -> ndarray:
                return part if isinstance(part, ndarray) else wrapped(part)

            if pytree.is_read_only(array) or (type(array) in UNDESCRIBED and host_views.is_compiling()):
                return lambda tensors, _: pytree.locked(array, made(next(tensors)))
            return lambda tensors, _: made(next(tensors))

        return leaf

    def of_element(self, fn: Callable[[Any], Any], index: int) -> Any:
        """Return ``fn`` of one element, a view."""
        homes: list[Any] = []
        parts: list[Any] = []
        for tensor, dim, home in zip(self.tensors, self.dims, self._homes, strict=True):
            part: Any = batching.slices(tensor, dim, index) if home is None else None
            if home is not None:
                home = home if dim is None else home[(*[slice(None)] * dim, index, ...)]
                part = asarray(home)
                if type(part) in UNDESCRIBED and part.ndim:  # which writes to the memory itself
                    home = None
                else:
                    part = tensor_of(home)
            homes.append(home)
            parts.append(part)
        copies = _Copies(homes, parts)
        result = fn(self.build(iter(parts), ()))
        copies.put_back()
        return result

    def put_back(self) -> None:
        """Write to the arrays what was written to all elements of copies."""
        self._copies.put_back()


def _home(array: Any, tensor: Tensor) -> Any:
    """Return the array to which a write to its tensor is to go; None if the tensor has its memory, or refuses writes.

    A tensor is a copy where no tensor has the array's steps or byte order, and of NumPy's arrays in a derivative.
    """
    if host_views.is_compiling() or isinstance(array, scalar) or pytree.is_read_only(array):
        return None
    if type(array) in UNDESCRIBED:
        return array
    if not isinstance(array, np.ndarray) or memory.shares(tensor, array):
        return None
    ours = asarray(array)
    return ours if type(ours) in UNDESCRIBED or memory.shares(ours.tensor, array) else array


class _Copies:
    """Tensors that are copies of arrays, and the arrays; None for one that is not."""

    def __init__(self, homes: list[Any], tensors: list[Tensor]) -> None:
        pairs = zip(homes, tensors, strict=True)
        self._copies = [(home, tensor, _writes(tensor)) for home, tensor in pairs if home is not None]

    def put_back(self) -> None:
        """Write the values of those that were written to to their arrays."""
        for home, tensor, writes in self._copies:
            if _writes(tensor) != writes:
                if isinstance(home, np.ndarray) and trace_state.is_batching():  # by a batch around, which has no part
                    raise trace_state.noted(batching.SharedWriteError(batching.ONE_FOR_ALL))
                home[...] = wrap_array(tensor)


def _writes(tensor: Tensor) -> int:
    return autodiff.version(memory.unwrapped(tensor))


def _as_arrays(result: Any) -> Any:
    """Return a result with arrays for Python numbers, as ``stack`` needs them."""
    return pytree.mapped(asarray, result, pytree.becomes_array)


def _with_axes(result: Any, out_axes: Any) -> Any:
    """Move the axis of the elements in each array of a result from 0 to its place in ``out_axes``."""
    if type(out_axes) is int and out_axes == 0:
        return result
    axes = iter(pytree.spread(out_axes, result, "out_axes"))

    def moved(array: ndarray) -> ndarray:
        axis = next(axes)
        if axis is None:
            raise ValueError("out_axes is None for an array: each has an axis of elements")
        return wrap_array(batching.moved(array.tensor, normalize_axis(axis, array.ndim, "out_axes")))

    return pytree.mapped(moved, result)


def _at_once(
    runs: Runs, elements: _Elements, chunk_size: int | None, randomness: str, axis_name: str | None
) -> Any:
    """Compute all elements in one call of the function, or in one call for each chunk."""
    build: Any = None
    tensors, dims, hosts = elements.tensors, elements.dims, elements.hosts()
    if axis_name is not None:
        tensors, dims = [*tensors, collectives.indices(elements.length, tensors[0])], [*dims, 0]
        hosts.append(None)

    def run(slices: list[Tensor]) -> list[Tensor]:
        nonlocal build
        named = contextlib.nullcontext() if axis_name is None else named_axis(axis_name, slices[-1], elements.length)
        with named:
            result = _as_arrays(runs.fn(elements.build(iter(slices), ())))
        leaves: list[Any] = []
        pytree.flatten(result, leaves)
        build = pytree.builder(result, lambda _: lambda values, _: wrap_array(next(values)))
        return [leaf.tensor if isinstance(leaf, ndarray) else tensor_of(leaf) for leaf in leaves]

    options: Any = {"chunk_size": chunk_size, "randomness": randomness, "begin": runs.begin}
    results = batching.vmap(run, tensors, dims, hosts=hosts, **options)
    elements.put_back()
    return build(iter(results), ())


def _one_by_one(fn: Callable[[Any], Any], elements: _Elements) -> Any:
    """Compute the elements in a Python loop."""
    if not elements.length:
        raise ValueError("there are no elements, so the shape of a result can't be known")
    structure: Any = None
    columns: list[list[Any]] = []
    result: Any = None
    for index in range(elements.length):
        result = _as_arrays(elements.of_element(fn, index))
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
    """Compute the elements by a loop in the graph that is being traced; ``fn`` is traced once.

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
    """Return a structure that does not distinguish scalars from arrays."""
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
    axis_name: str | None = None,
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
        Number of elements computed at once: a smaller number takes less memory.
    fallback : bool, default True
        Whether to loop over the elements where they can't be computed at once.
    randomness : {'different', 'same', 'error'}
        Whether random numbers differ from element to element. They are other numbers than a loop draws from the same
        generator; of a generator that ``fn`` makes they are the loop's.
    axis_name : str, optional
        A name by which `psum`, `pmean`, `pmax`, `pmin`, `all_gather` and `axis_index` in ``fn`` know the elements. All
        are then computed at once, or not at all.

    Returns
    -------
    array or container of arrays
        What ``fn`` returns, stacked.

    Raises
    ------
    RuntimeError
        The elements can't be computed at once and ``fallback`` is False.
    ValueError
        The arrays differ in their numbers of elements, or have no such axis; or ``chunk_size`` goes with ``axis_name``.

    Warns
    -----
    RuntimeWarning
        The elements can't be computed at once, so ``fn`` is called for each; the message names the operation and the
        line.

    Notes
    -----
    ``fn`` is called once, with arrays that stand for all elements. Functions that need values in Python (``if x > 0``)
    or shapes that depend on values (``len(x[x > 0])``) run as a loop instead. The elements under a mask can be used in
    computations, written back by the same mask (``x[x > 0] *= 2``) and reduced (``x[x > 0].mean()``). ``fn`` may write
    to arrays that it made. Its writes to an element show in ``elems``, as in a loop. A write to an array from outside,
    which all elements share, causes a loop; so does an error that ``fn`` catches, as only one element may raise it.
    Before such a loop ``fn`` has run in part: its prints appear again, its writes and assignments do not.
    What else ``fn`` does outside of itself happens once for all elements, as with ``jax.vmap``: a list or a set gets
    one item (an array that has no values later), a counter counts one call, and ``random.random()`` and the time are
    the same for all. Return what each element has to add.

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
    _check_options(chunk_size, randomness, axis_name)
    return _mapped(fn, elems, _How(in_axes, out_axes, chunk_size, randomness, axis_name), fallback)


def _check_options(chunk_size: int | None, randomness: str, axis_name: str | None) -> None:
    """Raise ValueError for options that are unknown, or don't go together."""
    if randomness not in _RANDOMNESS:
        raise ValueError(f"randomness must be one of {', '.join(map(repr, _RANDOMNESS))}, not {randomness!r}")
    if chunk_size is not None and operator.index(chunk_size) < 1:
        raise ValueError(f"chunk_size must be at least 1, not {chunk_size}")
    if chunk_size is not None and axis_name is not None:
        raise ValueError(
            "chunk_size computes some elements after others, but with axis_name all are known to each other"
        )


class _How(NamedTuple):
    """The options of `vectorized_map` that decide on its result."""

    in_axes: Any
    out_axes: Any
    chunk_size: int | None
    randomness: str
    axis_name: str | None

    def at_once(self, runs: Runs, elements: _Elements) -> Any:
        """Return the result for all elements, computed at once, with the axis of the elements in its place."""
        result = _at_once(runs, elements, self.chunk_size, self.randomness, self.axis_name)
        return _with_axes(result, self.out_axes)


def _mapped(fn: Any, elems: Any, how: _How, fallback: bool, refusal: batching.Refusal | None = None) -> Any:
    """Return the result of `vectorized_map`: by a loop if it is known that the elements can't be computed at once."""
    if refusal is None and alike(fn) is not None and not is_inside():

        @functools.wraps(fn)  # whose signature says which arguments are static
        def all_at_once(elems: Any) -> Any:
            return how.at_once(Runs(fn, (elems,)), _Elements(elems, how.in_axes))

        try:
            return compiled_too(fn, ("vectorized_map", how), all_at_once)(elems)
        except batching.Refusal as each:  # a loop runs the compiled function
            refusal = each
    elements = _Elements(elems, how.in_axes)
    _check_takes_one(fn, elems)
    runs = Runs(fn, (elems,))
    if refusal is None:
        try:
            result = how.at_once(runs, elements)
        except batching.Refusal as each:
            refusal = each
        else:
            runs.end()
            return result
    error = refusal.error
    reason = str(error)
    if messages.says(error, messages.VALUE_OF_BATCH):
        reason = trace_state.asked_by(error)
    elif messages.says(error, messages.SHAPE_OF_BATCH):
        reason = trace_state.shape_by(error)
    problem = f"{refusal.line}: {refusal.operation} can't be done for all elements at once ({reason})"
    if not fallback or how.axis_name is not None:
        raise RuntimeError(problem) from error
    warn(f"vectorized_map calls the function once for each element. {problem}", RuntimeWarning)
    runs.begin()
    return _with_axes(_one_by_one(fn, elements), how.out_axes)


def vmap(
    fn: Callable[..., Any],
    in_axes: Any = 0,
    out_axes: Any = 0,
    *,
    chunk_size: int | None = None,
    fallback: bool = True,
    randomness: str = "different",
    axis_name: str | None = None,
) -> Callable[..., Any]:
    """Make a function of single elements one of arrays of elements, computed at once.

    Parameters
    ----------
    fn : callable
        Takes one element of each argument, and returns arrays or containers of arrays.
    in_axes : int or None, or a tuple or list of these and of containers, default 0
        For each positional argument the axis of the elements in its arrays; None for an argument that each call gets
        whole. Arguments by name have their elements along axis 0.
    out_axes : int, or a container of these, default 0
        The axis of the elements in each array of the result.
    chunk_size, fallback, randomness, axis_name
        As in `vectorized_map`.

    Returns
    -------
    callable
        Takes the arguments of ``fn`` with one more axis, that of the elements.

    Raises
    ------
    ValueError
        When called: ``in_axes`` is for another number of arguments, or the arrays differ in their numbers of elements.

    Notes
    -----
    This is `vectorized_map` of a tuple of arguments: what can't be done at once runs as a loop, with a warning.

    See also ``jax.vmap`` and ``torch.vmap``.

    Examples
    --------
    >>> import tnp as np
    >>> dot = lambda x, y: (x * y).sum()
    >>> np.vmap(dot, in_axes=(0, None))(np.eye(2), np.asarray([3.0, 4.0]))
    array([3., 4.])
    """

    def how(args: tuple[Any, ...]) -> _How:
        axes = tuple(in_axes) if isinstance(in_axes, (tuple, list)) else (in_axes,) * len(args)
        if len(axes) != len(args):
            raise ValueError(f"vmap: in_axes {in_axes!r} is for {len(axes)} arguments, but there are {len(args)}")
        return _How((axes, 0), out_axes, chunk_size, randomness, axis_name)

    def of_pair(element: Any) -> Any:
        return fn(*element[0], **element[1])

    @functools.wraps(fn)
    def mapped(*args: Any, **kwargs: Any) -> Any:
        return _mapped(of_pair, (args, kwargs), how(args), fallback)

    @functools.wraps(fn)
    def at_once(*args: Any, **kwargs: Any) -> Any:
        elems, chosen = (args, kwargs), how(args)
        return chosen.at_once(Runs(of_pair, (elems,)), _Elements(elems, chosen.in_axes))

    def one_by_one(refusal: batching.Refusal, *args: Any, **kwargs: Any) -> Any:
        return _mapped(of_pair, (args, kwargs), how(args), fallback, refusal)

    _check_options(chunk_size, randomness, axis_name)
    if alike(fn) is None:
        return mapped
    key = "vmap", in_axes, out_axes, chunk_size, fallback, randomness, axis_name
    return compiled_too(fn, key, at_once, refused=batching.Refusal, otherwise=one_by_one)


def _check_takes_one(fn: Callable[..., Any], elems: Any) -> None:
    """TypeError for a function of several arguments: it is given one, built like ``elems``."""
    kind = type(elems)
    if kind not in (tuple, list, dict) or len(elems) < 2:
        return
    code, count = getattr(fn, "__code__", None), getattr(fn, "nin", None)  # a ufunc's
    if code is not None:
        count = code.co_argcount - len(getattr(fn, "__defaults__", None) or ()) - hasattr(fn, "__self__")
    if count == len(elems):
        name, stars = getattr(fn, "__qualname__", None) or fn.__name__, "**" if kind is dict else "*"
        raise TypeError(
            f"{name}() takes {count} arguments, and is given one: a {kind.__name__} of an element of each array. Map "
            f"lambda each: function({stars}each), or use tnp.vmap(function)({stars}arrays)"
        )


def map_fn(
    fn: Callable[[Any], Any], elems: Any, *, in_axes: Any = 0, out_axes: Any = 0, batch_size: int | None = None
) -> Any:
    """Apply a function to the elements of arrays one after the other.

    Parameters
    ----------
    fn : callable
        Takes one element, built like ``elems``, and returns arrays or containers of arrays.
    elems : array_like or container of arrays
        The elements, along an axis of each array.
    in_axes, out_axes : int or None, or a container of these, default 0
        As in ``vectorized_map``.
    batch_size : int, optional
        Number of elements computed at once, one batch after the other: ``chunk_size`` of `vectorized_map`.

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
    A compiled function unrolls the loop over a few elements. For more, it traces ``fn`` once and makes a loop of the
    graph, unless ``fn`` writes to an array.

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
    if (symbolic.is_symbol(elements.length) or elements.length > _UNROLLED) and control_flow.is_recorded():
        with contextlib.suppress(NotImplementedError):  # fn writes to an array
            return _with_axes(_as_a_loop(fn, elements), out_axes)
    return _with_axes(_one_by_one(fn, elements), out_axes)
