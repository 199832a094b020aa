"""Building indices and grids: open meshes, ranges in brackets, and flat indices to and from multi-indices.

Layer: owns NumPy's bracket syntax (``r_[1:4]``, ``mgrid[0:1:5j]``) and the arguments of the other functions.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Literal, overload

import numpy as np
from numpy import ndindex

import tnp
from backend_torch.kernels import selection
from backend_torch.tensors.casting import cast
from backend_torch.tensors.dtypes import to_numpy
from tnp._array.ndarray import ndarray, wrap, wrap_array
from tnp._core.convert import as_order, home_of, tensor_of
from tnp._core.dtypes import DtypeError
from tnp._core.errors import broadcast_error
from tnp._core.index_arguments import index_mode
from tnp._core.indexing import BOOL, INT64
from tnp._creation.filled import two_orders
from tnp._manipulation.shape import as_shape

__all__ = [
    "c_",
    "index_exp",
    "indices",
    "ix_",
    "mgrid",
    "ndenumerate",
    "ndindex",
    "ogrid",
    "r_",
    "ravel_multi_index",
    "s_",
    "unravel_index",
]

Tensor = Any
_LARGEST = np.iinfo(np.intp).max


def ix_(*args: Any) -> tuple[ndarray, ...]:
    """An open mesh from one-dimensional sequences.

    Parameters
    ----------
    *args : array_like
        Integers, or booleans that stand for the indices of their true elements.

    Returns
    -------
    tuple of ndarray
        Each has the length of its sequence along its own axis and length one along the others.

    Raises
    ------
    ValueError
        A sequence is not one-dimensional.

    Notes
    -----
    Source: `numpy.ix_ <https://numpy.org/doc/stable/reference/generated/numpy.ix_.html>`__

    Examples
    --------
    >>> import tnp as np
    >>> a = np.arange(10).reshape(2, 5)
    >>> a[np.ix_([0, 1], [2, 4])]
    array([[2, 4],
           [7, 9]])
    """
    mesh = []
    for axis, sequence in enumerate(args):
        tensor = tensor_of(sequence)
        if not isinstance(sequence, (ndarray, np.ndarray)) and not tensor.numel():
            tensor = cast(tensor, INT64)
        if tensor.dim() != 1:
            raise ValueError("Cross index must be 1 dimensional")
        if tensor.dtype is BOOL:
            tensor = selection.nonzero(tensor)[0]
        mesh.append(wrap_array(tensor.reshape((1,) * axis + (-1,) + (1,) * (len(args) - axis - 1))))
    return tuple(mesh)


@overload
def indices(dimensions: Any, dtype: Any = int, sparse: Literal[False] = False, *, device: Any = None) -> ndarray: ...
@overload
def indices(dimensions: Any, dtype: Any = int, *, sparse: Literal[True], device: Any = None) -> tuple[ndarray, ...]: ...
@overload
def indices(
    dimensions: Any, dtype: Any = int, sparse: bool = False, *, device: Any = None
) -> ndarray | tuple[ndarray, ...]: ...
def indices(
    dimensions: Any, dtype: Any = int, sparse: bool = False, *, device: Any = None
) -> ndarray | tuple[ndarray, ...]:
    """The indices of a grid.

    Parameters
    ----------
    dimensions : sequence of int
        Its shape.
    dtype : dtype_like, optional
        The result's dtype.
    sparse : bool, optional
        Return arrays that broadcast to the grid.
    device : str or torch.device, optional
        Where the result lives.

    Returns
    -------
    ndarray, or tuple of ndarray if sparse
        Along the first axis an array for each dimension, of the grid's shape.

    Notes
    -----
    Source: https://numpy.org/doc/stable/reference/generated/numpy.indices.html

    Examples
    --------
    >>> import tnp as np
    >>> np.indices((2, 2))
    array([[[0, 0],
            [1, 1]],
    <BLANKLINE>
           [[0, 1],
            [0, 1]]])
    """
    shape = tuple(dimensions)
    if not sparse and any(length < 0 for length in as_shape(shape)):
        raise ValueError("negative dimensions are not allowed")
    ranges = _open([tnp.arange(length, dtype=dtype, device=device) for length in shape])
    return ranges if sparse else _dense(ranges, dtype, device)


def _open(ranges: list[Any]) -> tuple[ndarray, ...]:
    """One-dimensional arrays, each along an axis of its own."""
    new = [(None,) * count for count in range(len(ranges))]
    return tuple([line[(*new[axis], slice(None), *new[-1 - axis])] for axis, line in enumerate(ranges)])


def _dense(ranges: tuple[ndarray, ...], dtype: Any, device: Any = None) -> ndarray:
    """An open mesh filled and stacked."""
    shape = np.broadcast_shapes(*[r.shape for r in ranges])
    grid = tnp.empty((len(ranges), *shape), dtype, device=device)
    for axis, values in enumerate(ranges):
        grid[axis] = values
    return grid


class nd_grid:
    """Ranges in brackets, ``[start:stop:step]`` an axis: `mgrid` fills and stacks the mesh, `ogrid` leaves it open.

    An imaginary step is a number of points, the stop included.

    Notes
    -----
    Source: https://numpy.org/doc/stable/reference/generated/numpy.mgrid.html

    Examples
    --------
    >>> import tnp as np
    >>> np.mgrid[-1:1:5j]
    array([-1. , -0.5,  0. ,  0.5,  1. ])
    >>> np.ogrid[0:2, 0:3]
    (array([[0],
           [1]]), array([[0, 1, 2]]))
    """

    __slots__ = ("sparse",)

    def __init__(self, sparse: bool = False) -> None:
        self.sparse = sparse

    def __getitem__(self, key: Any) -> ndarray:
        if isinstance(key, slice):
            return _line(key)
        if not isinstance(key, tuple) or not all(isinstance(item, slice) for item in key):
            raise TypeError(f"a grid is made of slices, not of {key!r}: write mgrid[0:5, 0:1:10j]")
        grid = [_points(item) for item in key]
        if not self.sparse and any(size < 0 for size, _, _, _ in grid):
            raise ValueError("negative dimensions are not allowed")
        dtype = np.result_type(0, *[number for _, _, _, numbers in grid for number in numbers])
        ranges = _open([tnp.arange(size, dtype=dtype) * step + start for size, start, step, _ in grid])
        return ranges if self.sparse else _dense(ranges, dtype)  # type: ignore[return-value]  # ogrid's is a tuple


if TYPE_CHECKING:

    class _OpenGrid(nd_grid):
        """What a type checker is told of ``ogrid``, which gives an array for each axis."""

        def __getitem__(self, key: Any) -> tuple[ndarray, ...]: ...  # type: ignore[override]


def _number(value: Any) -> Any:
    """A bound of a slice as Python's or NumPy's scalar."""
    return value.dtype.type(value.item()) if isinstance(value, ndarray) else value


def _parts(item: slice) -> tuple[Any, Any, Any]:
    start, stop, step = _number(item.start), _number(item.stop), _number(item.step)
    return 0 if start is None else start, stop, 1 if step is None else step


def _is_count(step: Any) -> bool:
    return isinstance(step, (complex, np.complexfloating))


def _points(item: slice) -> tuple[int, Any, Any, tuple[Any, ...]]:
    """How many points a slice has, the first, the distance, and the numbers that decide the dtype."""
    start, stop, step = _parts(item)
    if stop is None:
        raise TypeError(f"a grid of several axes has an end on each: {item}")
    if not _is_count(step):
        return math.ceil((stop - start) / step), start, step, (start, stop, step)
    count = abs(step)
    size = int(count)
    return size, start, (stop - start) / float(size - 1) if size != 1 else size, (start, stop, count)


def _line(item: slice) -> ndarray:
    start, stop, step = _parts(item)
    if not _is_count(step):
        return tnp.arange(start, stop, step)
    size, _, distance, numbers = _points(item)
    return tnp.arange(size, dtype=np.result_type(*numbers)) * distance + start


mgrid = nd_grid(sparse=False)
ogrid: _OpenGrid = nd_grid(sparse=True)  # type: ignore[assignment]


class AxisConcatenator:
    """Arrays, ranges and scalars in brackets, joined along the first axis (`r_`) or as columns (`c_`).

    A leading string names the axis, the least number of dimensions and where an array's own begin: ``'0,2,-1'``.
    ``'r'`` and ``'c'`` ask for a matrix, a vector being its row or column, and a string alone for one of named blocks.

    Notes
    -----
    Source: `numpy.r_ <https://numpy.org/doc/stable/reference/generated/numpy.r_.html>`__

    Examples
    --------
    >>> import tnp as np
    >>> np.r_[0:3, 7, [5, 6]]
    array([0, 1, 2, 7, 5, 6])
    >>> np.c_[[1, 2], [3, 4]]
    array([[1, 3],
           [2, 4]])
    """

    __slots__ = ("axis", "ndmin", "trans1d")

    def __init__(self, axis: int = 0, ndmin: int = 1, trans1d: int = -1) -> None:
        self.axis = axis
        self.ndmin = ndmin
        self.trans1d = trans1d

    def __getitem__(self, key: Any) -> ndarray:
        if isinstance(key, str):
            frame = sys._getframe(1)
            return tnp._array.matrix.named_blocks(key, frame.f_locals, frame.f_globals)
        try:
            return self._joined(key)
        except DtypeError:
            if not tnp._core.host_fallback.kept:
                raise
            return tnp._core.host_fallback.on_host((np.c_ if self is c_ else np.r_).__getitem__, (key,), {})

    def _joined(self, key: Any) -> ndarray:
        items = list(key) if isinstance(key, tuple) else [key]
        axis, ndmin, trans1d = self.axis, self.ndmin, self.trans1d
        layout = items.pop(0) if items and isinstance(items[0], str) and items[0] in ("r", "c") else None
        if not layout and items and isinstance(items[0], str):
            axis, ndmin, trans1d = _directive(items.pop(0), axis, ndmin, trans1d)
        if any(isinstance(item, str) for item in items):
            raise ValueError("special directives must be the first entry.")
        parts: list[Any] = []
        kinds: list[Any] = []  # dtypes, and scalars, which are weak if they are Python's
        for item in items:
            if isinstance(item, slice):
                parts.append(_raised(_range(item), ndmin, trans1d, 1))
            elif isinstance(item, (int, float, complex, np.generic)):
                parts.append(item)
            else:
                array = tnp.asarray(item)
                parts.append(_raised(array, ndmin, trans1d, array.ndim))
            kinds.append(parts[-1].dtype if isinstance(parts[-1], ndarray) else item)
        dtype = np.result_type(*kinds) if kinds else None
        home = home_of([part for part in parts if isinstance(part, ndarray)])  # numbers go where the arrays are
        made_of = [
            tnp.array(part, dtype, copy=None, ndmin=ndmin, device=None if isinstance(part, ndarray) else home)
            for part in parts
        ]
        joined = tnp.concatenate(made_of, axis=axis)
        if not layout:
            return joined
        made = tnp.matrix(joined)
        return made.T if layout == "c" and joined.ndim == 1 else made

    def __len__(self) -> int:
        return 0


def _range(item: slice) -> Any:
    start, stop, step = _parts(item)
    return tnp.linspace(start, stop, num=int(abs(step))) if _is_count(step) else tnp.arange(start, stop, step)


def _raised(array: ndarray, ndmin: int, trans1d: int, ndim: int) -> ndarray:
    """The array with ``ndmin`` dimensions; its own begin at ``trans1d``."""
    raised = tnp.array(array, copy=None, ndmin=ndmin)
    if trans1d == -1 or ndim >= ndmin:
        return raised
    added = ndmin - ndim
    first = trans1d + added + 1 if trans1d < 0 else trans1d
    axes = list(range(ndmin))
    return tnp.transpose(raised, axes[:first] + axes[added:] + axes[first:added])


def _directive(text: str, axis: int, ndmin: int, trans1d: int) -> tuple[int, int, int]:
    """What a leading string says: ``'axis'``, ``'axis,ndmin'`` or ``'axis,ndmin,trans1d'``."""
    numbers = text.split(",")
    try:
        values = [int(number) for number in numbers[:3]]
    except ValueError:
        raise ValueError(f"unknown special directive {text!r}") from None
    return (*values, *(axis, ndmin, trans1d)[len(values) :])  # type: ignore[return-value]


r_ = AxisConcatenator(0)
c_ = AxisConcatenator(-1, ndmin=2, trans1d=0)


class IndexExpression:
    """An index written in brackets, as an object: `s_` as it is, `index_exp` always as a tuple.

    Notes
    -----
    Source: `numpy.s_ <https://numpy.org/doc/stable/reference/generated/numpy.s_.html>`__

    Examples
    --------
    >>> import tnp as np
    >>> np.s_[2::2], np.index_exp[2::2]
    (slice(2, None, 2), (slice(2, None, 2),))
    """

    __slots__ = ("maketuple",)

    def __init__(self, maketuple: bool) -> None:
        self.maketuple = maketuple

    def __getitem__(self, item: Any) -> Any:
        return (item,) if self.maketuple and not isinstance(item, tuple) else item


s_ = IndexExpression(maketuple=False)
index_exp = IndexExpression(maketuple=True)


class ndenumerate:
    """An iterator over an array that gives pairs of a multi-index and an element.

    Parameters
    ----------
    arr : array_like

    Notes
    -----
    Source: https://numpy.org/doc/stable/reference/generated/numpy.ndenumerate.html

    Examples
    --------
    >>> import tnp as np
    >>> [(index, int(x)) for index, x in np.ndenumerate([[1, 2]])]
    [((0, 0), 1), ((0, 1), 2)]
    """

    __slots__ = ("_pairs",)

    def __init__(self, arr: Any) -> None:
        tensor = tensor_of(arr)
        self._pairs = zip(ndindex(*tensor.shape), map(wrap, tensor.reshape(-1).clone().unbind()), strict=True)

    def __next__(self) -> tuple[tuple[int, ...], ndarray]:
        return next(self._pairs)

    def __iter__(self) -> Iterator[tuple[tuple[int, ...], ndarray]]:
        return self


def unravel_index(indices: Any, shape: Any, order: str = "C") -> tuple[ndarray, ...]:
    """Flat indices as a tuple of index arrays.

    Parameters
    ----------
    indices : array_like of int
        Indices into the flattened array.
    shape : int or tuple of int
        The array's shape.
    order : {'C', 'F'}, optional
        The order in which it is flattened.

    Returns
    -------
    tuple of ndarray
        One a dimension, of the shape of ``indices``.

    Raises
    ------
    ValueError
        An index is out of bounds.
    TypeError
        The indices are not integers.

    Notes
    -----
    Source: https://numpy.org/doc/stable/reference/generated/numpy.unravel_index.html

    Examples
    --------
    >>> import tnp as np
    >>> np.unravel_index([22, 41, 37], (7, 6))
    (array([3, 6, 6]), array([4, 5, 1]))
    """
    lengths = as_shape(shape)
    if any(length < 0 for length in lengths):
        raise ValueError("lengths of axes must not be negative")
    size = math.prod(lengths)
    if size > _LARGEST:
        raise ValueError(
            "dimensions are too large; arrays and shapes with a total size greater than 'intp' are not supported."
        )
    order = as_order(order)
    positions = _integers(indices)
    order = two_orders(order)  # of two errors NumPy names the indices' first
    bad = selection.outside(positions, 0, size)
    if bad is not None:
        raise ValueError(f"index {bad} is out of bounds for array with size {size}")
    if not lengths and positions.dim():
        raise ValueError("multiple indices are not supported for 0d arrays")
    if order == "F":
        return tuple(map(wrap, reversed(selection.unravel(positions, lengths[::-1]))))
    return tuple(map(wrap, selection.unravel(positions, lengths)))


def ravel_multi_index(multi_index: Any, dims: Any, mode: Any = "raise", order: str = "C") -> ndarray:
    """A tuple of index arrays as flat indices.

    Parameters
    ----------
    multi_index : tuple of array_like of int
        One a dimension; they broadcast.
    dims : int or tuple of int
        The shape of the array.
    mode : {'raise', 'wrap', 'clip'} or tuple of them, optional
        What indices out of bounds do, along all dimensions or along each.
    order : {'C', 'F'}, optional
        The order in which the array is flattened.

    Returns
    -------
    ndarray
        Indices into the flattened array.

    Raises
    ------
    ValueError
        An index is out of bounds and the mode is 'raise'; the arrays do not broadcast or are not one a dimension.
    TypeError
        The indices are not integers.

    Notes
    -----
    Source: https://numpy.org/doc/stable/reference/generated/numpy.ravel_multi_index.html

    Examples
    --------
    >>> import tnp as np
    >>> np.ravel_multi_index(([3, 6, 6], [4, 5, 1]), (7, 6))
    array([22, 41, 37])
    """
    lengths = as_shape(dims)
    order = two_orders(order)
    modes = tuple(map(index_mode, mode)) if isinstance(mode, (tuple, list)) else (index_mode(mode),) * len(lengths)
    if len(modes) != len(lengths):
        raise ValueError(f"list of clipmodes has wrong length ({len(modes)} instead of {len(lengths)})")
    if len(multi_index) != len(lengths):
        raise ValueError(f"parameter multi_index must be a sequence of length {len(lengths)}")
    if math.prod(lengths) > _LARGEST:
        raise ValueError("invalid dims: array size defined by dims is larger than the maximum possible size.")
    home = home_of(multi_index)
    arrays = [_integers(array, home) for array in multi_index]
    shapes = [tuple(array.shape) for array in arrays]
    try:
        elements = math.prod(np.broadcast_shapes(*shapes))
    except ValueError:
        raise broadcast_error(*shapes) from None
    if elements and 0 in lengths:
        raise ValueError("cannot unravel if shape has zero entries (is empty).")
    if elements:
        arrays = [_valid(array, size, one) for array, size, one in zip(arrays, lengths, modes, strict=True)]
    if order == "F":
        return wrap(selection.ravel(arrays[::-1], lengths[::-1]))
    return wrap(selection.ravel(arrays, lengths))


def _integers(value: Any, home: Any = None) -> Tensor:
    """Indices as int64; an empty list of unknown type is refused, as are floats."""
    tensor = tensor_of(value, device=home)
    if to_numpy[tensor.dtype].kind not in "biu":
        if not tensor.numel() and not isinstance(value, (ndarray, np.ndarray)):
            raise TypeError(
                "indices must be integral: the provided empty sequence was inferred as float. "
                "Wrap it with 'np.array(indices, dtype=np.intp)'"
            )
        raise TypeError("only int indices permitted")
    return cast(tensor, INT64)


def _valid(array: Tensor, size: int, mode: str) -> Tensor:
    if mode == "wrap":
        return selection.wrapped(array, size)
    if mode == "clip":
        return selection.clipped(array, size)
    if selection.outside(array, 0, size) is not None:
        raise ValueError("invalid entry in coordinates array")
    return array
