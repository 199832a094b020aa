"""Grids: open and dense meshes of indices, and ranges in brackets.

Layer: owns NumPy's bracket syntax for ranges (``mgrid[0:1:5j]``).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal, overload

import numpy as np

from backend_torch.kernels import host, selection
from backend_torch.native import heads
from tnp._core.base import ndarray, wrap_array
from tnp._core.convert import asarray, check_like
from tnp._creation.filled import empty
from tnp._creation.ranges import arange


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
        x = asarray(sequence)
        if not isinstance(sequence, (ndarray, np.ndarray)) and not x.size:
            x = x.astype(np.int64)
        if x.ndim != 1:
            raise ValueError("Cross index must be 1 dimensional")
        if x.dtype.kind == "b":
            x = wrap_array(selection.nonzero(x.tensor)[0])
        mesh.append(x.reshape((1,) * axis + (-1,) + (1,) * (len(args) - axis - 1)))
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
    grid = None if sparse else empty((len(shape), *shape), dtype, device=device)  # whose errors come first
    ranges = _open([arange(length, dtype=dtype, device=device) for length in shape])
    return ranges if grid is None else _filled(grid, ranges)


def _open(ranges: list[Any]) -> tuple[ndarray, ...]:
    """Return one-dimensional arrays, each along its own axis."""
    new = [(None,) * count for count in range(len(ranges))]
    return tuple([line[(*new[axis], slice(None), *new[-1 - axis])] for axis, line in enumerate(ranges)])


def _filled(grid: ndarray, ranges: tuple[ndarray, ...]) -> ndarray:
    """Write the ranges of an open mesh into the parts of a dense one."""
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
        if not self.sparse and _is_of_few(key) and (made := heads.of_numpy(np.mgrid[key])) is not None:
            return made
        if not isinstance(key, tuple) or not all(isinstance(item, slice) for item in key):
            raise TypeError(f"a grid is made of slices, not of {key!r}: write mgrid[0:5, 0:1:10j]")
        grid = [_points(item) for item in key]
        dtype = np.result_type(0, *[number for _, _, _, numbers in grid for number in numbers])
        made = None if self.sparse else empty((len(grid), *[size for size, _, _, _ in grid]), dtype)
        ranges = _open([arange(size, dtype=dtype) * step + start for size, start, step, _ in grid])
        return ranges if made is None else _filled(made, ranges)  # type: ignore[return-value]  # ogrid's is a tuple


if TYPE_CHECKING:

    class _OpenGrid(nd_grid):
        """The type of ``ogrid`` for type checkers: it returns an array for each axis."""

        def __getitem__(self, key: Any) -> tuple[ndarray, ...]: ...  # type: ignore[override]


def _number(value: Any) -> Any:
    """Return a bound of a slice as a Python or NumPy scalar."""
    return value.dtype.type(value.item()) if isinstance(value, ndarray) else value


def _is_of_few(key: Any) -> bool:
    """Whether a grid is one of Python's integers in steps of one, and so small that NumPy makes it sooner."""
    if key.__class__ is not tuple or any(item.__class__ is not slice for item in key):
        return False
    count = 1
    for item in key:
        start = 0 if item.start is None else item.start
        if start.__class__ is not int or item.stop.__class__ is not int or item.step is not None:
            return False
        count *= item.stop - start if item.stop > start else 0
    return 0 < count <= host.FEW


def parts_of(item: slice) -> tuple[Any, Any, Any]:
    start, stop, step = _number(item.start), _number(item.stop), _number(item.step)
    return 0 if start is None else start, stop, 1 if step is None else step


def is_count(step: Any) -> bool:
    return isinstance(step, (complex, np.complexfloating))


def _points(item: slice) -> tuple[int, Any, Any, tuple[Any, ...]]:
    """Return a slice's number of points, the first, the step, and the numbers that decide the dtype."""
    start, stop, step = parts_of(item)
    if stop is None:
        raise TypeError(f"a grid of several axes has an end on each: {item}")
    if not is_count(step):
        return math.ceil((stop - start) / step), start, step, (start, stop, step)
    count = abs(step)
    size = int(count)
    return size, start, (stop - start) / float(size - 1) if size != 1 else size, (start, stop, count)


def _line(item: slice) -> ndarray:
    start, stop, step = parts_of(item)
    if not is_count(step):
        return arange(start, stop, step)
    size, _, distance, numbers = _points(item)
    return arange(size, dtype=np.result_type(*numbers)) * distance + start


mgrid = nd_grid(sparse=False)
ogrid: _OpenGrid = nd_grid(sparse=True)  # type: ignore[assignment]


def fromfunction(
    function: Callable[..., Any], shape: Any, *, dtype: Any = float, like: Any = None, **kwargs: Any
) -> ndarray:
    """Call a function with the indices of a grid: one array for each axis.

    Parameters
    ----------
    function : callable
        Takes as many arrays as ``shape`` has axes.
    shape : tuple of int
        Of the grid, and so of the arrays.
    dtype : dtype_like, optional
        Of the arrays.
    like : ndarray, optional
        Only tnp arrays.
    **kwargs
        Passed to the function.

    Returns
    -------
    any
        What the function returns.

    See Also
    --------
    indices, meshgrid

    Notes
    -----
    Source: https://numpy.org/doc/stable/reference/generated/numpy.fromfunction.html

    Examples
    --------
    >>> import tnp as np
    >>> np.fromfunction(lambda i, j: i == j, (2, 2), dtype=int)
    array([[ True, False],
           [False,  True]])
    """
    check_like(like)
    places = heads.by_numpy(np.indices, shape, dtype)
    return function(*(indices(shape, dtype) if places is None else places), **kwargs)
