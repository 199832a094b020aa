"""Collectives: functions over all elements of a `vmap` with an ``axis_name``, under JAX's names.

Layer: owns the names of axes and the trees of arrays; the backend gathers the elements.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator
from typing import Any

from backend_torch.autodiff import collectives
from tnp._core.base import ndarray, wrap, wrap_array
from tnp._core.convert import asarray, tensor_of
from tnp._manipulation.rearranging import moveaxis
from tnp._math import reductions
from tnp._statistics.averages import mean
from tnp._transforms import pytree

Tensor = Any


class _Axes(threading.local):
    def __init__(self) -> None:
        self.indices: dict[str, tuple[Tensor, int]] = {}  # name -> the element's index, and the number of elements


_axes = _Axes()


@contextlib.contextmanager
def named_axis(name: str, index: Tensor, size: int) -> Iterator[None]:
    """Give an axis a name inside a scope."""
    around = _axes.indices
    _axes.indices = {**around, name: (index, size)}
    try:
        yield
    finally:
        _axes.indices = around


def _index(name: Any) -> tuple[Tensor, int]:
    if name not in _axes.indices:
        known = ", ".join(map(repr, _axes.indices)) or "none"
        raise NameError(
            f"unbound axis name: {name}. Names that are bound here: {known}. axis_name={name!r} of a map binds it"
        )
    return _axes.indices[name]


def _reduced(x: Any, axis_name: Any, reduce: Callable[..., Any]) -> Any:
    """Reduce over the elements of one named axis or of several."""
    names = axis_name if isinstance(axis_name, (tuple, list)) else (axis_name,)
    indices = [_index(name) for name in names]

    def of_leaf(leaf: Any) -> Any:
        tensor = leaf.tensor if isinstance(leaf, ndarray) else tensor_of(leaf)
        for index, _ in indices:
            tensor = collectives.gathered(tensor, index)
        return reduce(wrap_array(tensor), axis=tuple(range(len(indices))))

    return pytree.mapped(of_leaf, x, pytree.becomes_array)


def psum(x: Any, axis_name: Any) -> Any:
    """The sum over the elements of a `vmap` whose axis has a name.

    Parameters
    ----------
    x : pytree of arrays
        One element's arrays. A number counts once for each element: ``psum(1, "i")`` is the number of elements.
    axis_name : str or tuple of str
        The ``axis_name`` of a surrounding `vmap`, or of several: the sum is over all of them.

    Returns
    -------
    pytree of arrays
        The same for all elements.

    Raises
    ------
    NameError
        No surrounding `vmap` has that name.

    Notes
    -----
    `grad` inside the `vmap` differentiates, by one element, what all elements compute.

    Source: https://docs.jax.dev/en/latest/_autosummary/jax.lax.psum.html

    Examples
    --------
    >>> import tnp as np
    >>> np.vmap(lambda x: x / np.psum(x, "i"), axis_name="i")(np.asarray([1.0, 3.0]))
    array([0.25, 0.75])
    """
    return _reduced(x, axis_name, reductions.sum)


def pmean(x: Any, axis_name: Any) -> Any:
    """The mean over the elements of a `vmap` whose axis has a name.

    Parameters
    ----------
    x : pytree of arrays
        One element's arrays.
    axis_name : str or tuple of str
        The ``axis_name`` of a surrounding `vmap`, or of several.

    Returns
    -------
    pytree of arrays
        The same for all elements.

    Raises
    ------
    NameError
        No surrounding `vmap` has that name.

    Notes
    -----
    Source: https://docs.jax.dev/en/latest/_autosummary/jax.lax.pmean.html

    Examples
    --------
    >>> import tnp as np
    >>> np.vmap(lambda x: x - np.pmean(x, "i"), axis_name="i")(np.asarray([1.0, 3.0]))
    array([-1.,  1.])
    """
    return _reduced(x, axis_name, mean)


def pmax(x: Any, axis_name: Any) -> Any:
    """The maximum over the elements of a `vmap` whose axis has a name.

    Parameters
    ----------
    x : pytree of arrays
        One element's arrays.
    axis_name : str or tuple of str
        The ``axis_name`` of a surrounding `vmap`, or of several.

    Returns
    -------
    pytree of arrays
        The same for all elements.

    Raises
    ------
    NameError
        No surrounding `vmap` has that name.

    Notes
    -----
    Source: https://docs.jax.dev/en/latest/_autosummary/jax.lax.pmax.html

    Examples
    --------
    >>> import tnp as np
    >>> np.vmap(lambda x: np.pmax(x, "i"), axis_name="i")(np.asarray([1.0, 3.0]))
    array([3., 3.])
    """
    return _reduced(x, axis_name, reductions.max)


def pmin(x: Any, axis_name: Any) -> Any:
    """The minimum over the elements of a `vmap` whose axis has a name.

    Parameters
    ----------
    x : pytree of arrays
        One element's arrays.
    axis_name : str or tuple of str
        The ``axis_name`` of a surrounding `vmap`, or of several.

    Returns
    -------
    pytree of arrays
        The same for all elements.

    Raises
    ------
    NameError
        No surrounding `vmap` has that name.

    Notes
    -----
    Source: https://docs.jax.dev/en/latest/_autosummary/jax.lax.pmin.html

    Examples
    --------
    >>> import tnp as np
    >>> np.vmap(lambda x: np.pmin(x, "i"), axis_name="i")(np.asarray([1.0, 3.0]))
    array([1., 1.])
    """
    return _reduced(x, axis_name, reductions.min)


def all_gather(x: Any, axis_name: str, *, axis: int = 0, tiled: bool = False) -> Any:
    """The arrays of all elements of a `vmap`, stacked.

    Parameters
    ----------
    x : pytree of arrays
        One element's arrays.
    axis_name : str
        The ``axis_name`` of a surrounding `vmap`.
    axis : int, default 0
        Where the new axis is.
    tiled : bool, default False
        Join them along that axis, which is then none of the result's own.

    Returns
    -------
    pytree of arrays
        The same for all elements.

    Raises
    ------
    NameError
        No surrounding `vmap` has that name.

    Notes
    -----
    Source: https://docs.jax.dev/en/latest/_autosummary/jax.lax.all_gather.html

    Examples
    --------
    >>> import tnp as np
    >>> np.vmap(lambda x: np.all_gather(x, "i"), axis_name="i")(np.asarray([1.0, 3.0]))
    array([[1., 3.],
           [1., 3.]])
    """
    index, size = _index(axis_name)

    def of_leaf(leaf: Any) -> Any:
        made = moveaxis(wrap_array(collectives.gathered(tensor_of(asarray(leaf)), index)), 0, axis)
        if not tiled:
            return made
        place = axis % (made.ndim - 1)
        return made.reshape((*made.shape[:place], size * made.shape[place + 1], *made.shape[place + 2 :]))

    return pytree.mapped(of_leaf, x, pytree.becomes_array)


def axis_index(axis_name: str) -> ndarray:
    """Which element of a `vmap` this is, an int64 scalar.

    Parameters
    ----------
    axis_name : str
        The ``axis_name`` of a surrounding `vmap`.

    Returns
    -------
    scalar array

    Raises
    ------
    NameError
        No surrounding `vmap` has that name.

    Notes
    -----
    Source: https://docs.jax.dev/en/latest/_autosummary/jax.lax.axis_index.html

    Examples
    --------
    >>> import tnp as np
    >>> np.vmap(lambda x: x * np.axis_index("i"), axis_name="i")(np.asarray([5, 5]))
    array([0, 5])
    """
    return wrap(_index(axis_name)[0])
