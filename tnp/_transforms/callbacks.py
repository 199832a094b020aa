"""Functions of NumPy arrays that traced and compiled functions call when they run.

Layer: owns the trees of their arguments and results; the backend calls them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from backend_torch.graphs import host_calls
from backend_torch.tensors.dtypes import to_torch
from tnp._core.base import wrap
from tnp._core.convert import array, tensor_of
from tnp._transforms import pytree
from tnp._transforms.array_specs import is_spec
from tnp._transforms.control_flow import Leaves

Tensor = Any
_METHODS = ("sequential", "broadcast_all")


def pure_callback(
    callback: Callable[..., Any],
    result_shape_dtypes: Any,
    *args: Any,
    vmap_method: str = "sequential",
    **kwargs: Any,
) -> Any:
    """Call a function of NumPy arrays, such as SciPy's or a C library's, also when a compiled function runs.

    Parameters
    ----------
    callback : callable
        Takes ``args`` and ``kwargs`` with read-only NumPy arrays in the place of arrays, and returns arrays as
        ``result_shape_dtypes`` says. It must be pure: its results depend on its arguments alone. It may be called more
        or less often than the program says.
    result_shape_dtypes : pytree
        The results' shapes and dtypes: objects with a ``shape`` and a ``dtype``, such as `ShapeDtypeStruct` or arrays.
    *args, **kwargs
        The callback's arguments, pytrees of arrays.
    vmap_method : {'sequential', 'broadcast_all'}
        Under `vmap`, whether the callback is called once for each element, or once for all, with an axis of elements
        in front of the axes of all its arguments and results.

    Returns
    -------
    pytree of arrays
        The callback's results.

    Raises
    ------
    ValueError
        A result has another shape, or a derivative is taken of the call.
    TypeError
        A result has another dtype, or the results are built differently.

    Notes
    -----
    There are no derivatives: give the function around it one by `custom_gradient` or `custom_jvp`.

    Source: https://docs.jax.dev/en/latest/_autosummary/jax.pure_callback.html and ``tf.numpy_function``

    Examples
    --------
    >>> import numpy
    >>> import tnp as np
    >>> @np.compile(backend="eager")
    ... def medians(x):
    ...     return 2 * np.pure_callback(numpy.median, np.ShapeDtypeStruct((), np.float64), x)
    >>> medians(np.asarray([1.0, 5.0, 2.0]))
    np.float64(4.0)
    """
    if vmap_method not in _METHODS:
        raise ValueError(f"vmap_method must be one of {', '.join(map(repr, _METHODS))}, not {vmap_method!r}")
    specs: list[Any] = []
    places = pytree.mapped(lambda spec: specs.append(spec) or len(specs) - 1, result_shape_dtypes, is_spec)  # type: ignore[func-returns-value]
    tensors, built = taken_apart(args, kwargs)

    def run(values: list[Tensor]) -> list[Tensor]:
        given, named = built([_read_only(value) for value in values])
        result = callback(*given, **named)
        found = Leaves(result)
        if found.structure != Leaves(places).structure:
            raise TypeError(f"pure_callback: the function returns {result!r}, but result_shape_dtypes is {places!r}")
        return [
            array(leaf, spec.dtype).tensor if type(leaf) in (bool, int, float, complex) else array(leaf).tensor
            for leaf, spec in zip(found.leaves, specs, strict=True)
        ]

    results = tuple([(tuple(spec.shape), to_torch[np.dtype(spec.dtype)]) for spec in specs])
    call = host_calls.HostCall(run, results, vmap_method == "broadcast_all")
    made = host_calls.results(call, tensors)
    return pytree.mapped(lambda place: wrap(made[place]), places, lambda leaf: type(leaf) is int)


def taken_apart(args: Any, kwargs: Any) -> tuple[list[Tensor], Callable[[list[Any]], tuple[Any, Any]]]:
    """Return the tensors among arguments, and a function that puts others in their place."""
    arrays: list[Any] = []
    pytree.flatten((args, kwargs), arrays)

    def built(values: list[Any]) -> tuple[Any, Any]:
        remaining = iter(values)
        made: tuple[Any, Any] = pytree.mapped(lambda _: next(remaining), (args, kwargs))
        return made

    return [array.tensor if hasattr(array, "tensor") else tensor_of(array) for array in arrays], built


def _read_only(tensor: Tensor) -> np.ndarray:
    values = tensor.detach().cpu().numpy()
    values.flags.writeable = False
    return values
