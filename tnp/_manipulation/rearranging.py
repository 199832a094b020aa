"""Transposing and rearranging: the same elements along other axes, or in another order along them.

Layer: owns the axis arguments of these functions, and NumPy's errors for invalid ones.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.exceptions import AxisError

from backend_torch.graphs import symbolic
from backend_torch.native import heads
from backend_torch.tensors import host_views, memory
from backend_torch.tensors import shape as kernels
from tnp._core.base import ndarray, strided, wrap_array
from tnp._core.convert import asarray, ours, tensor_of, tensor_of_shape
from tnp._core.errors import normalize_axes, normalize_axis
from tnp._core.numpy_version import NUMPY, deprecated
from tnp._core.readonly_views import view_like, view_of
from tnp._core.strided_views import made_of
from tnp._manipulation.shape import as_shape

Axes = int | Sequence[int]
_REVERSED = slice(None, None, -1)


def transpose(a: Any, axes: Any = None) -> ndarray:
    """Permute the axes.

    Parameters
    ----------
    a : array_like
    axes : tuple of int, optional
        The result's axis ``i`` is the array's ``axes[i]``; by default the axes in reverse.

    Returns
    -------
    ndarray
        A view.

    Raises
    ------
    ValueError
        Not as many axes as the array has, or one of them twice.
    AxisError
        An axis that the array does not have.

    See Also
    --------
    moveaxis, swapaxes, matrix_transpose

    Notes
    -----
    Source: https://numpy.org/doc/stable/reference/generated/numpy.transpose.html

    Examples
    --------
    >>> import tnp as np
    >>> np.transpose([[1, 2], [3, 4]])
    array([[1, 3],
           [2, 4]])
    """
    if (view := heads.transpose(a, axes)) is not None:
        return view
    a = ours(a)
    if type(a) is strided and host_views.are_had():
        return made_of(a, a.host.transpose(axes))
    if axes is None:
        return view_like(a, memory.reversed_axes(tensor_of(a)))
    tensor = tensor_of(a)
    order = tuple(map(operator.index, axes)) if isinstance(axes, (tuple, list)) else as_shape(axes)
    try:
        return view_like(a, tensor.permute(order))
    except (IndexError, RuntimeError):
        pass
    if len(order) != tensor.dim():
        raise ValueError("axes don't match array")
    for axis in order:
        normalize_axis(axis, tensor.dim())
    raise ValueError("repeated axis in transpose")


permute_dims = transpose


def _check_matrix(shape: Sequence[int]) -> None:
    if len(shape) < 2:
        raise ValueError(f"Input array must be at least 2-dimensional, but it is {len(shape)}")


def matrix_transpose(x: Any, /) -> ndarray:
    """Swap the last two axes.

    Parameters
    ----------
    x : array_like
        At least two-dimensional.

    Returns
    -------
    ndarray
        A view.

    Raises
    ------
    ValueError
        The array has fewer than two dimensions.

    See Also
    --------
    transpose, swapaxes

    Notes
    -----
    Source: https://numpy.org/doc/stable/reference/generated/numpy.matrix_transpose.html

    Examples
    --------
    >>> import tnp as np
    >>> np.matrix_transpose(np.zeros((5, 2, 3))).shape
    (5, 3, 2)
    """
    if (view := heads.swapaxes(x, -2, -1)) is not None:
        return view
    x = ours(x)
    tensor = tensor_of_shape(x, _check_matrix)
    _check_matrix(tensor.shape)
    return view_of(x, tensor.transpose(-1, -2))


def swapaxes(a: Any, axis1: int, axis2: int) -> ndarray:
    """Exchange two axes.

    Parameters
    ----------
    a : array_like
    axis1, axis2 : int

    Returns
    -------
    ndarray
        A view.

    Raises
    ------
    AxisError
        An axis that the array does not have.

    See Also
    --------
    moveaxis, transpose

    Notes
    -----
    Source: https://numpy.org/doc/stable/reference/generated/numpy.swapaxes.html

    Examples
    --------
    >>> import tnp as np
    >>> np.swapaxes(np.zeros((2, 3, 4)), 0, 2).shape
    (4, 3, 2)
    """
    if (view := heads.swapaxes(a, axis1, axis2)) is not None:
        return view
    a = ours(a)
    if type(a) is strided and host_views.are_had():
        return made_of(a, a.host.swapaxes(axis1, axis2))
    tensor = tensor_of(a)
    dimensions = tensor.dim()
    operator.index(axis2)
    one, other = normalize_axis(axis1, dimensions, "axis1"), normalize_axis(axis2, dimensions, "axis2")
    return view_of(a, tensor.transpose(one, other))


def moveaxis(a: Any, source: Axes, destination: Axes) -> ndarray:
    """Move axes to other places; the others keep their order.

    Parameters
    ----------
    a : array_like
    source, destination : int or sequence of int
        Where axes are and where they go.

    Returns
    -------
    ndarray
        A view.

    Raises
    ------
    AxisError
        An axis that the array does not have.
    ValueError
        Not as many sources as destinations, or one of them twice.

    See Also
    --------
    transpose, swapaxes

    Notes
    -----
    Source: https://numpy.org/doc/stable/reference/generated/numpy.moveaxis.html

    Examples
    --------
    >>> import tnp as np
    >>> np.moveaxis(np.zeros((2, 3, 4)), 0, -1).shape
    (3, 4, 2)
    """
    dimensions = a.ndim if isinstance(a, ndarray) else tensor_of(a).dim()
    sources = normalize_axes(_listed(source), dimensions, "source")
    destinations = normalize_axes(_listed(destination), dimensions, "destination")
    if len(sources) != len(destinations):
        raise ValueError("`source` and `destination` arguments must have the same number of elements")
    order = [axis for axis in range(dimensions) if axis not in sources]
    for place, axis in sorted(zip(destinations, sources, strict=True)):
        order.insert(place, axis)
    return transpose(a, order)


def _listed(axes: Any) -> Any:
    """Return axes for `normalize_axes`: any iterable as a tuple; None is invalid here."""
    if axes is None:
        raise TypeError("'NoneType' object is not iterable")
    return tuple(axes) if np.iterable(axes) else axes


def rollaxis(a: Any, axis: int, start: int = 0) -> ndarray:
    """Move one axis before another; `moveaxis` is the clearer function.

    Parameters
    ----------
    a : array_like
    axis : int
        The axis that moves.
    start : int, optional
        The axis before which it goes; ``ndim`` for the end.

    Returns
    -------
    ndarray
        A view.

    Raises
    ------
    AxisError
        An axis that the array does not have.

    See Also
    --------
    moveaxis

    Notes
    -----
    Source: https://numpy.org/doc/stable/reference/generated/numpy.rollaxis.html

    Examples
    --------
    >>> import tnp as np
    >>> np.rollaxis(np.zeros((2, 3, 4)), 2).shape
    (4, 2, 3)
    """
    a = ours(a)
    dimensions = a.ndim
    axis = normalize_axis(axis, dimensions)
    tensor = tensor_of(a)
    place = operator.index(start)
    if not -dimensions <= place <= dimensions:
        raise AxisError(f"'start' arg requires {-dimensions} <= start < {dimensions + 1}, but {start} was passed in")
    place += dimensions if place < 0 else 0
    return view_of(a, tensor.movedim(axis, place - 1 if axis < place else place))


def flip(m: Any, axis: Axes | None = None) -> ndarray:
    """Reverse the elements along axes.

    Parameters
    ----------
    m : array_like
    axis : int or tuple of int, optional
        All axes by default.

    Returns
    -------
    ndarray
        A view.

    Raises
    ------
    AxisError
        An axis that the array does not have.

    See Also
    --------
    flipud, fliplr, rot90

    Notes
    -----
    Differences from NumPy: a copy on an accelerator, in a trace, a batch and a derivative, where no array has
    negative strides.

    Source: https://numpy.org/doc/stable/reference/generated/numpy.flip.html

    Examples
    --------
    >>> import tnp as np
    >>> np.flip([[1, 2], [3, 4]], axis=1)
    array([[2, 1],
           [4, 3]])
    """
    if (view := heads.flip(m, axis)) is not None:
        return view
    array = asarray(m)
    axes = normalize_axes(axis, array.ndim)
    return array[tuple([_REVERSED if dim in axes else slice(None) for dim in range(array.ndim)])]


def flipud(m: Any) -> ndarray:
    """Reverse the elements along the first axis.

    Parameters
    ----------
    m : array_like
        At least one-dimensional.

    Returns
    -------
    ndarray
        A copy.

    Raises
    ------
    ValueError
        The array has no dimension.

    See Also
    --------
    flip, fliplr

    Notes
    -----
    Differences from NumPy: a copy on an accelerator, in a trace, a batch and a derivative, where no array has
    negative strides.

    Source: https://numpy.org/doc/stable/reference/generated/numpy.flipud.html

    Examples
    --------
    >>> import tnp as np
    >>> np.flipud([[1, 2], [3, 4]])
    array([[3, 4],
           [1, 2]])
    """
    if (view := heads.flip(m, 0)) is not None:
        return view
    array = asarray(m)
    if array.ndim < 1:
        raise ValueError("Input must be >= 1-d.")
    return flip(array, 0)


def fliplr(m: Any) -> ndarray:
    """Reverse the elements along the second axis.

    Parameters
    ----------
    m : array_like
        At least two-dimensional.

    Returns
    -------
    ndarray
        A copy.

    Raises
    ------
    ValueError
        The array has fewer than two dimensions.

    See Also
    --------
    flip, flipud

    Notes
    -----
    Differences from NumPy: a copy on an accelerator, in a trace, a batch and a derivative, where no array has
    negative strides.

    Source: https://numpy.org/doc/stable/reference/generated/numpy.fliplr.html

    Examples
    --------
    >>> import tnp as np
    >>> np.fliplr([[1, 2], [3, 4]])
    array([[2, 1],
           [4, 3]])
    """
    if (view := heads.flip(m, 1)) is not None:
        return view
    array = asarray(m)
    if array.ndim < 2:
        raise ValueError("Input must be >= 2-d.")
    return flip(array, 1)


def rot90(m: Any, k: int = 1, axes: Sequence[int] = (0, 1)) -> ndarray:
    """Rotate by right angles in the plane of two axes.

    Parameters
    ----------
    m : array_like
    k : int, optional
        How many right angles.
    axes : (int, int), optional
        The rotation is from the first towards the second.

    Returns
    -------
    ndarray
        A copy; a view if ``k`` is a multiple of 4.

    Raises
    ------
    ValueError
        The axes are not two different axes of the array.

    See Also
    --------
    flip

    Notes
    -----
    Differences from NumPy: a copy on an accelerator, in a trace, a batch and a derivative, where no array has
    negative strides.

    Source: https://numpy.org/doc/stable/reference/generated/numpy.rot90.html

    Examples
    --------
    >>> import tnp as np
    >>> np.rot90([[1, 2], [3, 4]])
    array([[2, 4],
           [1, 3]])
    """
    plane = tuple(axes)

    def check(shape: Sequence[int]) -> None:
        if len(plane) != 2:
            raise ValueError("len(axes) must be 2.")
        if plane[0] == plane[1] or abs(plane[0] - plane[1]) == len(shape):
            raise ValueError("Axes must be different.")
        if not all(-len(shape) <= axis < len(shape) for axis in plane):
            raise ValueError(f"Axes={plane} out of range for array of ndim={len(shape)}.")

    if not isinstance(m, ndarray):
        tensor_of_shape(m, check)
    array = asarray(m)
    check(array.shape)
    turns = _turns(k) % 4
    turned = swapaxes(array, *plane) if turns % 2 else array
    return flip(turned, ((), plane[:1], plane, plane[1:])[turns])


def _turns(k: Any) -> int:
    """How often rot90 turns. Before NumPy 2.5 three times where no other remainder fits; since then by the integer."""
    if NUMPY < "2.5.0":
        k %= 4  # of an array in place, as NumPy does it, which refuses booleans there
        return next((turns for turns in range(3) if k == turns), 3)
    try:
        return operator.index(k)
    except TypeError:
        deprecated(
            f"Passing a value for k ({k!r}) that is not an integer type has been deprecated in NumPy 2.5. The value "
            "will be cast to an integer.  In the future this will be an error."
        )
        return int(k)


def roll(a: Any, shift: Any, axis: Any = None) -> ndarray:
    """Shift the elements along axes; those that leave one end return at the other.

    Parameters
    ----------
    a : array_like
    shift : int or tuple of int
        By how many places.
    axis : int or tuple of int, optional
        Along which axes; by default the array is rolled as if it had one axis.

    Returns
    -------
    ndarray
        A copy.

    Raises
    ------
    AxisError
        An axis that the array does not have.
    ValueError
        Shifts and axes do not broadcast to one dimension.

    See Also
    --------
    moveaxis : moves axes, not elements

    Notes
    -----
    Source: https://numpy.org/doc/stable/reference/generated/numpy.roll.html

    Examples
    --------
    >>> import tnp as np
    >>> np.roll([0, 1, 2, 3], 1)
    array([3, 0, 1, 2])
    """
    if (rolled := heads.roll(a, shift, axis)) is not None:
        return rolled
    tensor = tensor_of(a)
    if axis is None:
        return wrap_array(kernels.roll_flat(tensor, _within(sum(_places(shift)), tensor.numel())))
    axes = [normalize_axis(one, tensor.dim()) for one in (axis if np.iterable(axis) else [axis])]
    shifts, places = dict.fromkeys(axes, 0), _places(shift)
    for index, one in np.broadcast(np.arange(len(places)), axes):
        shifts[one] += places[index]
    turns = tuple([_within(places, tensor.shape[one]) for one, places in shifts.items()])
    return wrap_array(kernels.roll(tensor, turns, tuple(shifts)))


def _within(places: int, size: int) -> int:
    """Reduce a shift of any size to one that int64 holds."""
    return places % size if size else 0


def _places(shift: Any) -> list[Any]:
    """Return shifts as Python's integers and symbolic sizes."""
    given = shift if isinstance(shift, (list, tuple)) else [shift]
    if any(map(symbolic.is_symbol, given)):
        return list(given)
    shifts = np.atleast_1d(np.asarray(shift))
    if shifts.ndim > 1:
        raise ValueError("'shift' and 'axis' should be scalars or 1D sequences")
    return list(map(int, shifts))
