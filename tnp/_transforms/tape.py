"""``GradientTape``: records operations on arrays, and differentiates them afterwards.

Layer: owns the watched arrays, and the containers of the results.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator
from typing import Any

from backend_torch.autodiff import autodiff, jacobians, old_values
from backend_torch.native import heads
from backend_torch.tensors import trace_state
from backend_torch.tensors.memory import unwrapped
from backend_torch.tensors.shape import flip
from tnp._core.base import like, ndarray, strided, wrap_array
from tnp._core.convert import tensor_of
from tnp._transforms import pytree
from tnp._transforms.gradients import tensor_in

Tensor = Any


Watched = tuple[ndarray, Tensor, Tensor, Any, int]
"""An array, its own tensor, its tensor while the tape records, and the handle and number of the latter."""

Versions = dict[int, tuple[Tensor, int]]
"""The tensors that were watched, and their versions, where the stand-ins have versions of their own."""

# A tape takes tens of microseconds of a program's hundreds, because its code is never in the processor's caches: the
# number of different lines is the cost. So there are few calls, and rare cases have functions of their own.


class _Open(threading.local):
    def __init__(self) -> None:
        self.tapes: list[GradientTape] = []  # that record in this thread, the innermost last


_open = _Open()


class GradientTape:
    """Records the operations on watched arrays, for their gradients.

    Parameters
    ----------
    persistent : bool, default False
        Whether more than one gradient can be taken. The values of watched arrays that gradients need are copied when
        the recording ends, so that a step may update an array before the next gradient is taken.
    watch_accessed_variables : bool, default True
        Whether there are gradients with respect to arrays that are not watched but whose tensors require gradients,
        as a torch module's parameters do.
    overwrites : bool, default False
        Whether the program may overwrite values that gradients need (``e = np.exp(x); e /= e.sum()``), while the tape
        records or afterwards. If so, old values are kept, which takes some microseconds an operation, and all values
        that gradients need are copied when the recording ends. If not, the gradient raises after such a write.

    Notes
    -----
    While the tape records, a watched array has another tensor over the same memory; afterwards it has its own again,
    which requires no gradient. Writes go to the array's memory as usual, and are differentiated; old values are kept
    only with ``overwrites``. A NumPy array among the operands is copied. No tape sees what NumPy writes to memory that
    it shares with a tnp array (``np.asarray(a)`` of NumPy's ``a``): take the gradient before such a write.

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
        self._watched: dict[int, Watched] = {}
        self._before: Any = None  # what the backend was doing when the tape began to record
        self._kept: Any = None
        self._versions: Versions = {}
        self._inside: list[Any] = []  # what tapes that recorded inside watched, and the versions
        self._used = self._shared = self._computes_again = False

    def __enter__(self) -> GradientTape:
        if self._before is not None:
            raise ValueError("the tape is already recording")
        self._used = self._computes_again = False
        self._watched = {}
        self._versions = {}
        self._inside = []
        self._before = autodiff.begin()
        self._shared = autodiff.is_inner()
        _open.tapes.append(self)
        if self._overwrites or self._persistent:
            self._kept = contextlib.ExitStack()
            kept = old_values.old_values_kept() if self._overwrites else old_values.values_known()
            self._keeper = self._kept.enter_context(kept)
        return self

    def __exit__(self, *exception: object) -> None:
        if self._kept is not None and self._keeper is not None:
            if self._inside:
                self._tell_of_writes(False)  # before values are kept that have been overwritten
            if self._overwrites:
                self._keeper.keep_all()
            else:
                for _, _, used, _, _ in self._watched.values():
                    self._keeper.keep(used)
        self._release()
        if self in _open.tapes:  # not if it ends in another thread than it began in
            _open.tapes.remove(self)
        if _open.tapes:
            _open.tapes[-1]._inside += [self._below_transforms(), *self._inside]
        if self._versions and autodiff.is_transforming():  # a derivative around keeps the stand-ins' values, too
            watched, versions = self._watched, self._versions
            autodiff.at_end(lambda: _tell_of_writes(watched, versions, False))
        had_inner, self._computes_again = autodiff.end(self._before)
        self._shared = self._shared or had_inner
        self._before = None
        if self._kept is not None:
            self._kept.close()

    def _release(self) -> None:
        """Give the watched arrays their own tensors back, over the same memory."""
        for array, tensor, used, _, _ in self._watched.values():
            if _own(array) is used:
                _set_own(array, tensor)
                if id(array) in self._versions and autodiff.version(used) > 0:
                    autodiff.write_to(self._versions[id(array)][0], used)
            else:  # another shape or dtype was assigned to it
                array.tensor = autodiff.detached(array.tensor)
        self._tell_of_writes(True)

    def _below_transforms(self) -> tuple[dict[int, Watched], Versions]:
        """Return what the tape watched, and the versions; a transform that it is in is over when a tape around asks."""
        if not autodiff.is_transforming():
            return self._watched, self._versions
        below = {
            key: (array, unwrapped(tensor), unwrapped(used), handle, index)
            for key, (array, tensor, used, handle, index) in self._watched.items()
        }
        tensors = {key: unwrapped(tensor) for key, (tensor, _) in self._versions.items()}
        return below, {key: (tensor, autodiff.version(tensor)) for key, tensor in tensors.items()}

    def _tell_of_writes(self, by_the_program: bool) -> None:
        _tell_of_writes(self._watched, self._versions, by_the_program)
        for watched, versions in self._inside:  # whose arrays have yet other tensors
            _tell_of_writes(watched, versions, False)

    def watch(self, arrays: Any) -> None:
        """Record the operations on arrays from now on.

        Parameters
        ----------
        arrays : ndarray or container of ndarrays

        Raises
        ------
        TypeError
            A leaf is not a tnp array, or holds integers or booleans, which have no gradients.
        RuntimeError
            The tape isn't recording.
        """
        if self._before is None:
            raise RuntimeError("the tape isn't recording: watch arrays inside its with block")
        found, leaves = self._watched, _leaves(arrays, "arrays")
        if heads.watch(leaves, found):
            return
        new: list[ndarray] = []
        tensors: list[Tensor] = []
        for array in leaves:
            if not isinstance(array, ndarray):
                path = _path(arrays, "arrays", array)
                raise TypeError(f"watch: {path} is a {type(array).__name__}: only tnp arrays can be watched")
            if type(array) is strided and array.turn.is_of_bytes:
                path = _path(arrays, "arrays", array)
                raise TypeError(f"watch: {path} is a view of elements that are not aligned: watch a copy of it")
            tensor = _own(array)
            if not (tensor.is_floating_point() or autodiff.is_differentiable(tensor)):
                path = _path(arrays, "arrays", array)
                raise TypeError(f"watch: {path} has dtype {array.dtype}: only floating and complex have gradients")
            if id(array) not in found:
                new.append(array)
                tensors.append(tensor)
        tensors = list(trace_state.entered(tensors))  # a derivative around has stand-ins, too
        handles, stand_ins, is_shared = autodiff.watched(tensors)
        self._shared = self._shared or is_shared
        for index, array in enumerate(new):
            if id(array) not in found:  # it may be in the container twice
                used = stand_ins[index]
                found[id(array)] = (array, _own(array), used, handles[index], index)
                self._versions[id(array)] = tensors[index], autodiff.version(tensors[index])
                _set_own(array, used)

    @contextlib.contextmanager
    def stop_recording(self) -> Iterator[None]:
        """Leave the operations in this ``with`` block out of this tape and of the tapes around it."""
        if self._before is None:
            raise ValueError("the tape isn't recording")
        with autodiff.paused():
            yield

    def reset(self) -> None:
        """Forget the watched arrays and the recorded operations, and continue to record."""
        self._release()
        self._watched.clear()
        self._versions.clear()
        self._used = False

    def gradient(
        self, target: Any, sources: Any, output_gradients: Any = None, unconnected_gradients: str = "none"
    ) -> Any:
        """Return the gradient of the sum of all elements of ``target``.

        Parameters
        ----------
        target : ndarray or container of ndarrays
        sources : ndarray or container of ndarrays
            Watched arrays, or arrays computed from them.
        output_gradients : ndarray or container of ndarrays, optional
            A weight for each element of ``target``; ones by default.
        unconnected_gradients : {'none', 'zero'}
            The gradient for a source that the target does not depend on: None, or zeros.

        Returns
        -------
        ndarray or container
            Built like ``sources``.

        Raises
        ------
        RuntimeError
            The tape is not persistent and has given a gradient already, or a value that is needed was overwritten.
        """
        self._ask(unconnected_gradients)
        weights = None
        if output_gradients is None and isinstance(target, ndarray):
            tensors = [self._recorded(target)]
        else:
            tensors, weights = self._weighted(target, output_gradients)
        connected, _, positions = self._sources(sources)
        retain = self._persistent or self._shared
        found = self._differentiated(autodiff.gradients, tensors, connected, weights, retain)
        return self._like(sources, found, positions, unconnected_gradients, ())

    def _weighted(self, target: Any, output_gradients: Any) -> tuple[list[Tensor], list[Tensor] | None]:
        """Return the targets' tensors, and the weights given for them."""
        targets = _leaves(target, "target")
        tensors = [self._recorded(array) for array in targets]
        if output_gradients is None:
            return tensors, None
        weights = [tensor_of(array) for array in _leaves(output_gradients, "output_gradients")]
        if len(weights) != len(targets):
            raise ValueError(f"output_gradients has {len(weights)} arrays, but there are {len(targets)} targets")
        for index, (tensor, weight) in enumerate(zip(tensors, weights, strict=True)):
            if tensor.shape != weight.shape:
                raise ValueError(
                    f"output_gradients[{index}] has shape {tuple(weight.shape)}, but the target {tuple(tensor.shape)}"
                )
            weights[index] = autodiff.as_type_of(weight, tensor)
        return tensors, weights

    def jacobian(
        self, target: Any, sources: Any, unconnected_gradients: str = "none", *, chunk_size: int | None = None
    ) -> Any:
        """Return the derivatives of each element of ``target``, whose axes come before the source's.

        Parameters
        ----------
        target : ndarray
        sources : ndarray or container of ndarrays
        unconnected_gradients : {'none', 'zero'}
        chunk_size : int, optional
            Number of elements of ``target`` differentiated at once: a smaller number takes less memory.

        Returns
        -------
        ndarray or container
            Built like ``sources``; shapes are ``target.shape + source.shape``.
        """
        self._ask(unconnected_gradients)
        _check_array(target, "target")
        connected, tensors, positions = self._sources(sources)
        shapes = [tensor.shape for tensor in tensors]
        found = self._differentiated(
            jacobians.of_recording, self._recorded(target), connected, shapes, chunk_size, False
        )
        return self._like(sources, found, positions, unconnected_gradients, tuple(target.shape))

    def batch_jacobian(
        self, target: Any, source: Any, unconnected_gradients: str = "none", *, chunk_size: int | None = None
    ) -> Any:
        """Return, for each i, the derivatives of ``target[i]`` with respect to ``source[i]``.

        Parameters
        ----------
        target, source : ndarray
            Arrays of one length along axis 0; ``target[i]`` depends on ``source[i]`` only.
        unconnected_gradients : {'none', 'zero'}
        chunk_size : int, optional
            Number of elements of ``target[i]`` differentiated at once.

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
        _check_array(target, "target")
        _check_array(source, "source")
        if not target.ndim or not source.ndim or len(target) != len(source):
            raise ValueError(
                f"target of shape {target.shape} and source of shape {source.shape} have not one length along axis 0"
            )
        connected, tensors, _ = self._sources(source)
        shapes = [tensor.shape for tensor in tensors]
        found = self._differentiated(
            jacobians.of_recording, self._recorded(target), connected, shapes, chunk_size, True
        )
        if found and found[0] is not None:
            return wrap_array(found[0])
        return None if unconnected_gradients == "none" else wrap_array(autodiff.zeros(source.tensor[0], target.shape))

    def _ask(self, unconnected_gradients: str) -> None:
        """Raise the errors that all kinds of derivatives have in common."""
        if unconnected_gradients not in ("none", "zero"):
            raise ValueError(f"unconnected_gradients must be 'none' or 'zero', not {unconnected_gradients!r}")
        if self._used and not self._persistent:
            raise RuntimeError("the tape has been asked for gradients before: use GradientTape(persistent=True)")
        self._used = True
        if self._before is None:
            self._tell_of_writes(False)

    def _differentiated(self, function: Callable[..., Any], *args: Any) -> Any:
        """Call the backend's function; ``checkpoint`` recomputes with the watched arrays as they were recorded."""
        swapped: list[Watched] = []
        if self._computes_again:
            swapped = [each for each in self._watched.values() if each[0].tensor is each[1]]
            for array, _, used, _, _ in swapped:
                array.tensor = used
        try:
            return function(*args)
        except RuntimeError as error:
            if autodiff.is_second_of_compiled(error):
                raise RuntimeError(
                    "a compiled function that one tape recorded has first derivatives only: nest two tapes around its "
                    "call, or use tnp.grad of tnp.grad"
                ) from error
            explained = autodiff.explained(error)
            if explained is error:
                raise
            raise explained from error
        finally:
            for array, tensor, _, _, _ in swapped:
                array.tensor = tensor

    def _recorded(self, array: Any) -> Tensor:
        """Return the tensor that was recorded for an array: a watched array has another one afterwards."""
        watched = self._watched.get(id(array))
        return tensor_in(array) if watched is None else _turned(array, watched[2])

    def _sources(self, sources: Any) -> tuple[list[Any], list[Tensor], list[int | None]]:
        """Return the sources, their tensors, and for each source the number of its tensor."""
        connected: list[Any] = []
        tensors: list[Tensor] = []
        positions: list[int | None] = []
        known = self._watched
        for source in _leaves(sources, "sources"):
            watched = known.get(id(source))
            if watched is not None:
                _, _, tensor, handle, number = watched
                positions.append(len(tensors))
                connected.append(autodiff.source(handle, number, tensor))
                tensors.append(tensor)
                continue
            tensor = tensor_in(source)
            if not autodiff.is_differentiable(tensor):
                path = _path(sources, "sources", source)
                raise TypeError(f"{path} has dtype {source.dtype}: only floating and complex numbers have gradients")
            if autodiff.is_tracked(tensor) and (self._accessed or autodiff.is_result(tensor)):
                positions.append(len(tensors))
                connected.append(tensor)
                tensors.append(tensor)
            else:
                positions.append(None)
        return connected, tensors, positions

    def _like(
        self,
        sources: Any,
        found: Any,
        positions: list[int | None],
        unconnected_gradients: str,
        leading: tuple[int, ...],
    ) -> Any:
        """Return the gradients in containers like the sources."""
        gradients: list[Any] = []
        for index, source in enumerate(_leaves(sources, "sources")):
            position = positions[index]
            gradient = None if position is None else found[position]
            if gradient is not None and id(source) in self._watched:
                gradient = _turned(source, gradient, len(leading))
            if gradient is not None:
                gradients.append(wrap_array(gradient) if leading else like(source, gradient))
            elif unconnected_gradients == "none":
                gradients.append(None)
            else:
                gradients.append(wrap_array(autodiff.zeros(tensor_in(source), leading)))
        if type(sources) is list and len(sources) == len(gradients):
            return gradients
        remaining = iter(gradients)
        return pytree.mapped(lambda _: next(remaining), sources)


def _own(array: ndarray) -> Tensor:
    """Return the tensor with the array's memory; a view with negative steps has its elements the other way there."""
    return array.ahead if type(array) is strided else array.tensor


def _set_own(array: ndarray, tensor: Tensor) -> None:
    if type(array) is strided:
        array.ahead = tensor
    else:
        array.tensor = tensor


def _turned(array: ndarray, tensor: Tensor, leading: int = 0) -> Tensor:
    """Return a tensor of the elements of `_own`, after some axes, in the array's order."""
    return flip(tensor, tuple([axis + leading for axis in array.turn.flips])) if type(array) is strided else tensor


def _tell_of_writes(found: dict[int, Watched], versions: Versions, by_the_program: bool) -> None:
    """Tell autograd of writes to watched arrays by another tensor over their memory, where it does not see them."""
    for key, (tensor, before) in versions.items():
        used = found[key][2]
        is_written = by_the_program and autodiff.version(used) > 0
        if autodiff.version(tensor) != before:
            autodiff.written_through(used)
        if is_written:
            autodiff.written_through(tensor)
        versions[key] = tensor, autodiff.version(tensor)


def _leaves(tree: Any, name: str) -> list[Any]:
    """Return the arrays of a container."""
    if isinstance(tree, ndarray):
        return [tree]
    arrays: list[Any] = []
    if type(tree) is list:
        for array in tree:
            if type(array) is not ndarray:
                break
        else:
            arrays = tree
    if not arrays:
        arrays = []
        pytree.flatten(tree, arrays)
    if not arrays:
        raise TypeError(f"{name} must be an array or a container of arrays, not {tree!r}")
    return arrays


def _check_array(value: Any, name: str) -> None:
    if not isinstance(value, ndarray):
        raise TypeError(f"{name} must be a tnp array, not {type(value).__name__}")


def _path(tree: Any, name: str, array: Any) -> str:
    """Return the path to one of the arrays of a container."""
    index = [id(leaf) for leaf in _leaves(tree, name)].index(id(array))
    return [path for path, leaf in pytree.named(tree, name) if pytree.is_array(leaf)][index]
