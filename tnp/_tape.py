"""``GradientTape``: what is done with arrays is recorded, and then differentiated.

Layer: owns which arrays are watched, and what the tape gives for containers of them.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from backend_torch import autodiff, jacobians
from tnp import _pytree
from tnp._array import like, ndarray, wrap_array
from tnp._convert import tensor_of

Tensor = Any


class _Watched(NamedTuple):
    """An array whose tensor another one, ``used``, stands in for while the tape records.

    ``handle`` is by what the backend finds it again.
    """

    array: ndarray
    tensor: Tensor
    handle: Any
    used: Tensor

    def release(self) -> None:
        """Give the array its own tensor back: it has the same memory."""
        array, tensor, _, used = self
        autodiff.unwatched(tensor, used)
        if array.tensor is used:
            array.tensor = tensor
        else:  # another shape or dtype was assigned to it
            array.tensor = autodiff.detached(array.tensor)


class GradientTape:
    """Records what is done with the arrays that it watches, for their gradients.

    Parameters
    ----------
    persistent : bool, default False
        Whether gradients can be asked for more than once.
    watch_accessed_variables : bool, default True
        Whether there are gradients with respect to arrays that are not watched but whose tensors require gradients,
        as a torch module's parameters do.
    overwrites : bool, default False
        Whether the program may overwrite what gradients need (``e = np.exp(x); e /= e.sum()``): old values are then
        kept, which takes some microseconds an operation. Otherwise the gradient raises where that happened.

    Notes
    -----
    Arrays stay as they are: while the tape records, a watched array's tensor is another one over the same memory, and
    afterwards it is its own again, which requires no gradient. Writes go to the array's memory as ever, and are
    differentiated; only the old values are not kept unless ``overwrites`` is given.

    Tapes nest, for higher orders. They record inside ``tnp.compile``, ``tnp.vectorized_map`` and ``tnp.grad`` too.
    Gradients of complex arrays are torch's: the conjugate of the derivative, which is the direction of steepest ascent
    of a real loss.

    See also ``tf.GradientTape``, https://www.tensorflow.org/api_docs/python/tf/GradientTape

    Examples
    --------
    >>> import tnp as np
    >>> x = np.asarray([1.0, 2.0])
    >>> with np.GradientTape() as tape:
    ...     tape.watch(x)
    ...     loss = (x**2).sum()
    >>> tape.gradient(loss, x)
    array([2., 4.])
    """

    def __init__(
        self, persistent: bool = False, watch_accessed_variables: bool = True, *, overwrites: bool = False
    ) -> None:
        self._persistent = persistent
        self._accessed = watch_accessed_variables
        self._overwrites = overwrites
        self._watched: dict[int, _Watched] = {}
        self._scope: autodiff.recording | None = None
        self._used = False
        self._shared = False

    def __enter__(self) -> GradientTape:
        if self._scope is not None:
            raise ValueError("the tape is already recording")
        self._watched.clear()
        self._used = False
        self._shared = autodiff.is_recording()
        self._scope = autodiff.recording(self._overwrites)
        self._scope.__enter__()
        return self

    def __exit__(self, *exception: object) -> None:
        scope, self._scope = self._scope, None
        for watched in reversed(self._watched.values()):
            watched.release()
        if scope is not None:
            scope.__exit__(*exception)

    def watch(self, arrays: Any) -> None:
        """Record what is done with arrays from here on.

        Parameters
        ----------
        arrays : ndarray or container of ndarrays

        Raises
        ------
        TypeError
            It is no tnp array, or one of integers or booleans, which have no gradients.
        RuntimeError
            The tape isn't recording.
        """
        if self._scope is None:
            raise RuntimeError("the tape isn't recording: watch arrays inside its with block")
        found = self._watched
        new: list[ndarray] = []
        for index, array in enumerate(_leaves(arrays, "arrays")):
            if not isinstance(array, ndarray):
                path = _path(arrays, "arrays", index)
                raise TypeError(f"watch: {path} is a {type(array).__name__}: only tnp arrays can be watched")
            if not (array.tensor.is_floating_point() or autodiff.is_differentiable(array.tensor)):
                path = _path(arrays, "arrays", index)
                raise TypeError(f"watch: {path} has dtype {array.dtype}: only floating and complex have gradients")
            if id(array) not in found:
                new.append(array)
        handles, stand_ins, is_shared = autodiff.watched([array.tensor for array in new])
        self._shared = self._shared or is_shared
        for array, handle, used in zip(new, handles, stand_ins, strict=True):
            if id(array) not in found:  # it may be in the container twice
                found[id(array)] = _Watched(array, array.tensor, handle, used)
                array.tensor = used

    @contextlib.contextmanager
    def stop_recording(self) -> Iterator[None]:
        """What is done inside this ``with`` block has no gradients, on this tape and those around it."""
        if self._scope is None:
            raise ValueError("the tape isn't recording")
        with autodiff.paused():
            yield

    def reset(self) -> None:
        """Forget what is watched and recorded; the tape goes on recording."""
        for watched in reversed(self._watched.values()):
            watched.release()
        self._watched.clear()
        self._used = False

    def gradient(
        self, target: Any, sources: Any, output_gradients: Any = None, unconnected_gradients: str = "none"
    ) -> Any:
        """The gradient of the sum of all elements of ``target``.

        Parameters
        ----------
        target : ndarray or container of ndarrays
        sources : ndarray or container of ndarrays
            Watched arrays, or what was computed of them.
        output_gradients : ndarray or container of ndarrays, optional
            A weight for each element of ``target``; ones by default.
        unconnected_gradients : {'none', 'zero'}
            What there is for a source that the target does not depend on: None, or zeros.

        Returns
        -------
        ndarray or container
            Built like ``sources``.

        Raises
        ------
        RuntimeError
            The tape isn't persistent and has been asked before, or what the gradient needs was overwritten.
        """
        self._ask(unconnected_gradients)
        targets = _leaves(target, "target")
        weights = None
        if output_gradients is not None:
            weights = [tensor_of(array) for array in _leaves(output_gradients, "output_gradients")]
            for index, (array, weight) in enumerate(zip(targets, weights, strict=True)):
                if array.shape != tuple(weight.shape):
                    raise ValueError(
                        f"output_gradients[{index}] has shape {tuple(weight.shape)}, but the target {array.shape}"
                    )
                weights[index] = autodiff.as_type_of(weight, _tensor(array))
        connected, _, positions = self._sources(sources)
        retain = self._persistent or self._shared
        found = self._differentiated(
            lambda: autodiff.gradients([_tensor(array) for array in targets], connected, weights, retain)
        )
        return self._like(sources, found, positions, unconnected_gradients, ())

    def jacobian(
        self, target: Any, sources: Any, unconnected_gradients: str = "none", *, chunk_size: int | None = None
    ) -> Any:
        """The derivatives of each element of ``target``, along axes before those of the source.

        Parameters
        ----------
        target : ndarray
        sources : ndarray or container of ndarrays
        unconnected_gradients : {'none', 'zero'}
        chunk_size : int, optional
            How many elements of ``target`` are differentiated at once: less takes less memory.

        Returns
        -------
        ndarray or container
            Built like ``sources``; shapes are ``target.shape + source.shape``.
        """
        self._ask(unconnected_gradients)
        connected, shapes, positions = self._sources(sources)
        found = self._differentiated(
            lambda: jacobians.of_recording(_tensor(target), connected, shapes, chunk_size, batch=False)
        )
        return self._like(sources, found, positions, unconnected_gradients, tuple(target.shape))

    def batch_jacobian(
        self, target: Any, source: Any, unconnected_gradients: str = "none", *, chunk_size: int | None = None
    ) -> Any:
        """For each i the derivatives of ``target[i]`` with respect to ``source[i]``.

        Parameters
        ----------
        target, source : ndarray
            As many along axis 0, and ``target[i]`` depends on ``source[i]`` alone.
        unconnected_gradients : {'none', 'zero'}
        chunk_size : int, optional
            How many elements of ``target[i]`` are differentiated at once.

        Returns
        -------
        ndarray
            Of shape ``(len(target), *target.shape[1:], *source.shape[1:])``.

        Raises
        ------
        ValueError
            The lengths differ.
        """
        self._ask(unconnected_gradients)
        if not target.ndim or not source.ndim or len(target) != len(source):
            raise ValueError(
                f"target of shape {target.shape} and source of shape {source.shape} have not one length along axis 0"
            )
        connected, shapes, _ = self._sources(source)
        found = self._differentiated(
            lambda: jacobians.of_recording(_tensor(target), connected, shapes, chunk_size, batch=True)
        )
        if found and found[0] is not None:
            return wrap_array(found[0])
        return None if unconnected_gradients == "none" else wrap_array(autodiff.zeros(source.tensor[0], target.shape))

    def _ask(self, unconnected_gradients: str) -> None:
        """Errors that all kinds of questions have in common."""
        if unconnected_gradients not in ("none", "zero"):
            raise ValueError(f"unconnected_gradients must be 'none' or 'zero', not {unconnected_gradients!r}")
        if self._used and not self._persistent:
            raise RuntimeError("the tape has been asked for gradients before: use GradientTape(persistent=True)")
        self._used = True

    def _differentiated(self, function: Callable[[], Any]) -> Any:
        """``function()`` with watched arrays as they were in the recording: ``checkpoint`` computes with them."""
        watched = [each for each in self._watched.values() if each.array.tensor is each.tensor]
        for each in watched:
            each.array.tensor = each.used
        try:
            return function()
        except RuntimeError as error:
            if autodiff.OVERWRITTEN not in str(error):
                raise
            raise RuntimeError(
                "an array that the gradient needs was overwritten after it was used (as by e = np.exp(x); e /= 2): "
                "write e = e / 2, or record with GradientTape(overwrites=True)"
            ) from error
        finally:
            for each in watched:
                each.array.tensor = each.tensor

    def _sources(self, sources: Any) -> tuple[list[Any], list[Any], list[int | None]]:
        """What to differentiate with respect to, its shapes, and for each source which one is its."""
        connected: list[Any] = []
        shapes: list[Any] = []
        positions: list[int | None] = []
        for index, source in enumerate(_leaves(sources, "sources")):
            watched = self._watched.get(id(source))
            tensor = _tensor(source) if watched is None else watched.used
            if not autodiff.is_differentiable(tensor):
                path = _path(sources, "sources", index)
                raise TypeError(f"{path} has dtype {source.dtype}: only floating and complex numbers have gradients")
            if watched is None and not (autodiff.is_tracked(tensor) and (self._accessed or autodiff.is_result(tensor))):
                positions.append(None)
            else:
                positions.append(len(connected))
                connected.append(tensor if watched is None else autodiff.source(watched.handle, tensor))
                shapes.append(tensor.shape)
        return connected, shapes, positions

    @staticmethod
    def _like(
        sources: Any,
        found: Any,
        positions: list[int | None],
        unconnected_gradients: str,
        leading: tuple[int, ...],
    ) -> Any:
        """Gradients in a container like that of the sources."""
        remaining = iter(positions)

        def leaf(source: Any) -> Any:
            position = next(remaining)
            gradient = None if position is None else found[position]
            if gradient is None:
                if unconnected_gradients == "none":
                    return None
                gradient = autodiff.zeros(_tensor(source), leading)
            return like(source, gradient) if isinstance(source, ndarray) and not leading else wrap_array(gradient)

        if type(sources) is list and len(sources) == len(positions):
            return [leaf(source) for source in sources]
        return _pytree.mapped(leaf, sources)


def _leaves(tree: Any, name: str) -> list[Any]:
    """The arrays of a container."""
    if isinstance(tree, ndarray):
        return [tree]
    if type(tree) is list and not any(map(_is_other, tree)) and tree:
        return tree
    arrays: list[Any] = []
    _pytree.flatten(tree, arrays)
    if not arrays:
        raise TypeError(f"{name} must be an array or a container of arrays, not {tree!r}")
    return arrays


def _tensor(array: Any) -> Tensor:
    """The tensor of an array; of a scalar too, which ``tensor_of`` copies, and so would the gradient."""
    return array.tensor if isinstance(array, ndarray) else tensor_of(array)


def _is_other(value: Any) -> bool:
    return type(value) is not ndarray


def _path(tree: Any, name: str, index: int) -> str:
    """Where one of the arrays of a container is."""
    return [path for path, text in _pytree.described(tree, name) if not text.startswith("the ")][index]
