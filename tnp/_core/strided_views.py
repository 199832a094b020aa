"""Views that no tensor can describe: negative steps, strides of any number of bytes, elements that are not aligned.

torch has none of these, so such an array holds a NumPy view of CPU memory instead of a tensor. Its attribute ``tensor``
is a copy, the stand-in. A view of the stand-in becomes a view of the memory, and values written to the stand-in are
written back. NumPy has no memory on an accelerator, in a trace, a batch or a derivative. There a view with a negative
step, or at an integer that is traced, remembers its base and its place: each read copies the elements anew, and each
write goes to the base.

Layer: owns the making of these arrays and both ways back from a stand-in. The classes in ``_array`` have the methods.
"""

from __future__ import annotations

import contextlib
import operator
import weakref
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from backend_torch.autodiff.batching import SharedWriteError
from backend_torch.autodiff.outside import Escaped
from backend_torch.kernels.indexing import Plan
from backend_torch.kernels.selection import where
from backend_torch.native import heads
from backend_torch.tensors import host_views, memory, trace_state
from backend_torch.tensors.dtypes import to_numpy, to_torch
from backend_torch.tensors.host_views import Turn
from backend_torch.tensors.memory import Layout
from backend_torch.torch_private import functorch
from backend_torch.torch_private.modes import no_dispatch
from backend_torch.torch_private.tensor_internals import version_of
from tnp._core.base import SCALARS, indirect, ndarray, readonly, strided, wrap_array

Tensor = Any
_new = object.__new__
UNDESCRIBED = (strided, indirect)
_left: weakref.WeakSet[Left] = weakref.WeakSet()
_BASIC = frozenset({int, slice, type(None), type(Ellipsis)})


def over(host: np.ndarray, origin: Tensor) -> ndarray:
    """Return NumPy's view of a tensor's memory as an array: an ordinary one if a tensor can describe it."""
    if host.flags.writeable and (not host.size or host_views.is_described(host)):
        return wrap_array(host_views.tensor_over(host, origin))
    ahead, turn = host_views.forwards(host, origin)
    if (found := heads.turned(host, ahead)) is not None:
        return found
    made: strided = _new(strided)
    made.host, made.ahead, made.turn = host, ahead, turn
    return made


def made_of(x: strided, host: np.ndarray) -> Any:
    """Return the result of a NumPy method on the array's view as an array: over the same memory, or a copy.

    None for a copy of values that have gradients: NumPy's has none.
    """
    if np.may_share_memory(host, x.host):
        return over(host, x.ahead)
    return None if host_views.has_gradient(x.ahead) else wrap_array(memory.from_numpy(host))


def with_strides(x: ndarray, shape: tuple[int, ...], strides: tuple[int, ...], writeable: bool) -> ndarray | None:
    """Return a view that starts at the array's first element, with strides in bytes; None if it can't be a view.

    Raises
    ------
    ValueError
        The view reaches beyond the memory.
    """
    origin = x.ahead if type(x) is strided else x.tensor
    if not host_views.has_host_views(origin):
        return None
    host = x.host if type(x) is strided else memory.to_numpy(origin)
    host = np.lib.stride_tricks.as_strided(host, shape, strides, writeable=writeable)
    if not host_views.is_within(host, origin):
        raise ValueError(f"an array of shape {shape} and strides {strides} reaches beyond the memory of the given one")
    return over(host, origin)


def over_numpy(host: np.ndarray) -> ndarray | None:
    """Return an array over the memory of a NumPy array that no tensor can describe; None for other arrays."""
    is_number = host.dtype in to_torch and host.size
    if not is_number or host_views.is_described(host) or not host_views.may_be_over_numpy():
        return None
    with no_dispatch() if trace_state.is_tracing() else contextlib.nullcontext():  # a trace has no part in the memory
        return over(host.view(np.ndarray), host_views.memory_of(host))


def undescribed(array: Any) -> strided | None:
    """Return an argument over memory that no tensor can describe as such an array; None for other arguments."""
    found = over_numpy(array) if isinstance(array, np.ndarray) else array
    return found if type(found) is strided else None


def turn_of(array: Any) -> Turn | None:
    """Return how the argument of a compiled function lies in the tensor that its graph takes; None if it is that."""
    if type(array) is strided:
        return array.turn
    is_foreign = isinstance(array, np.ndarray) and array.dtype in to_torch and not host_views.is_described(array)
    return Turn.of(array) if is_foreign and array.size else None


def turned(ahead: Tensor, turn: Turn) -> indirect:
    """Return the array that lies so in its `forwards`, a tensor of a trace."""
    return _indirect(wrap_array(ahead), turn, turn.get(ahead), turn)


def basic(key: Any) -> tuple[Any, ...] | None:
    """Return the items of a key of integers, slices, None and at most one Ellipsis; None for any other key."""
    items = key if type(key) is tuple else (key,)
    if not _BASIC.issuperset(map(type, items)):
        try:
            items = tuple([item if type(item) in _BASIC else _integer(item) for item in items])
        except TypeError:
            return None
    return items if items.count(Ellipsis) < 2 else None


def _integer(item: Any) -> int:
    is_readable = type(item) not in SCALARS or memory.is_readable(item.tensor)
    if is_readable and isinstance(item, np.integer):
        return operator.index(item)
    raise TypeError


def part(tensor: Tensor, key: Any) -> ndarray | None:
    """Return the view that a basic key with a negative step selects from a CPU tensor; None for other keys."""
    if (items := basic(key)) is None:
        return None
    if found := heads.numpy_of(tensor):
        selected = found[0][items]
    elif host_views.has_host_views(tensor):
        selected = memory.to_numpy(tensor)[items]
    else:
        return None
    if not isinstance(selected, np.ndarray) or host_views.is_described(selected):  # an element or an ordinary view
        return None
    return over(selected, tensor)


def copied(x: strided, order: Any) -> ndarray | None:
    """Return a copy of the array, if nothing records or traces it; else None."""
    head = {"K": heads.straight, "C": heads.copy}.get(order)
    if head is not None and (made := head(x)) is not None:
        return made
    if host_views.is_compiling() or host_views.has_gradient(x.ahead):
        return None
    return heads.of_numpy(x.host.copy(order))


def stand_in(x: strided) -> Tensor:
    """Return a copy of the array's values; `view_of` maps its views to the array, `put_back` its changed values."""
    if host_views.is_compiling():
        return x.turn.get(x.ahead)
    if (made := copied(x, "K")) is not None:
        tensor, x.given = made.tensor, None
    else:
        tensor = host_views.copy_of(x.host, x.ahead, x.turn)
        x.given = tensor if not host_views.are_had() else None
    tensor.stands_for = x
    return tensor


def _stood_for(tensor: Tensor) -> tuple[Tensor, Any]:
    """Return the tensor, or its base if it is a view, and the array for which this stands; None if for none."""
    copy = tensor if tensor._base is None else tensor._base
    return copy, getattr(copy, "stands_for", None)


def view_of(source: Any, tensor: Tensor, read_only: bool = False) -> ndarray:
    """Turn a view of the array's stand-in into the same view of the array; wrap any other tensor as it is."""
    if host_views.is_compiling():  # a write to the view would not reach the memory
        made: readonly = _new(readonly)
        made.tensor = tensor
        return made
    if type(source) is indirect or not host_views.are_had():
        given = source.given
        if not memory.same_storage(tensor, given):
            return wrap_array(tensor)
        view = _indirect(source, Layout.of(tensor, given), tensor, None)
        return locked(view) if read_only else view
    copy, found = _stood_for(tensor)
    if found is not source:
        return wrap_array(tensor)
    host = host_views.same_view(Layout.of(tensor, copy), copy, source.host)
    if host is None:
        return wrap_array(tensor)
    if read_only:
        host.flags.writeable = False
    return over(host, source.ahead)


def laid_out(origin: ndarray, layout: Layout, strides: tuple[int, ...]) -> ndarray:
    """Return the view of an array that lies in it as a layout in the array's copy, which has these strides."""
    if type(origin) is indirect:
        return _indirect(origin, layout, layout.get(origin.tensor), None)
    tensor = origin.ahead if type(origin) is strided else origin.tensor
    has_views = host_views.has_host_views(tensor)
    host = origin.host if type(origin) is strided else _host_of(tensor, has_views)
    found = host_views.same_view(layout, host_views.outline(host, strides), host)
    assert found is not None, "the trace has asked for the view's strides"
    is_host = has_views or type(origin) is strided
    return over(found, tensor) if is_host else wrap_array(host_views.tensor_over(found, tensor))


def _host_of(tensor: Tensor, has_views: bool) -> np.ndarray:
    """Return a NumPy array over a tensor's memory, or one that only has its addresses."""
    if has_views:
        return memory.to_numpy(tensor)
    return memory.addresses(tensor, is_read_only=False).view(to_numpy[tensor.dtype])


def indirect_view(array: ndarray, plan: Plan, selected: Tensor, key: Any) -> ndarray:
    """Return the view that a plan selects from an array, of which ``selected`` is a copy."""
    if host_views.is_compiling():
        made: readonly = _new(readonly)
        made.tensor = selected
        return made
    return _indirect(array if type(array) in UNDESCRIBED else wrap_array(array.tensor), plan, selected, key)


def _indirect(origin: ndarray, place: Plan | Layout | Turn | Left, given: Tensor, key: Any) -> indirect:
    made: indirect = _new(indirect)
    made.origin, made.place, made.given, made.key = origin, place, given, key
    made._host = made._seen = None
    return made


Shares = list[tuple[Tensor, bool, Tensor | None]]
"""Views of the tensors whose memory an array may share; for each whether the array is that view, and the condition."""


class Source(NamedTuple):
    """An array whose memory the result of a traced branch or loop may share."""

    tensor: Callable[[], Tensor | None]
    """Returns its tensor; None if nothing else refers to it any more."""
    place: Layout | None
    """Where in its memory the result then lies; None if only the graph knows."""
    when: Tensor | None
    """A 0-d tensor: whether it shares the memory; None if only the graph knows."""
    is_own: bool
    """Whether it is the value that the variable had before, and no view."""


class Left:
    """The place of a result of a traced branch or loop that may be another array, or a view of it.

    A write to the result is followed by one to each source, and a read after a write to a source by one of that: where
    the condition holds under which both share memory.

    Parameters
    ----------
    values : Tensor
        The result.
    sources : sequence of Source
        The arrays whose memory it may share.
    name : str
        The variable that has it, for messages.
    """

    __slots__ = ("__weakref__", "_seen", "name", "scope", "sources", "values")

    def __init__(self, values: Tensor, sources: Sequence[Source], name: str) -> None:
        self.values = values
        self.sources = tuple(sources)
        self.name = name
        self.scope = trace_state.state.scopes[-1]
        self._seen = self._versions()

    def _versions(self) -> list[int]:
        tensors = [source.tensor() for source in self.sources]
        return [-1 if tensor is None else version_of(memory.unwrapped(tensor)) for tensor in tensors]

    def get(self, tensor: Tensor) -> Tensor:
        """Return the values as they are after the latest write to a source.

        Raises
        ------
        NotImplementedError
            A source has been written to, and only the graph knows what the result shares with it.
        """
        now = self._versions()
        for source, version, seen in zip(self.sources, now, self._seen, strict=True):
            array = source.tensor()
            if version != seen and array is not None:
                self._check_batch(array)
                if source.place is None or source.when is None:
                    raise trace_state.left_view_error(self.name, "is read after the array was written to")
                self.values.copy_(where(source.when, source.place.view(array), self.values))
        self._seen = now
        return self.values

    def _check_batch(self, array: Tensor) -> None:
        """Refuse a batch: a place in the memory of one slice says nothing of the memory of all."""
        if functorch.has_batch(array):
            why = f"{self.name} may share memory with an array that is written to, for some elements and not for others"
            raise trace_state.noted(SharedWriteError(why))

    def put(self, tensor: Tensor, values: Tensor) -> None:
        """Write the values to the sources, too.

        Raises
        ------
        NotImplementedError
            Only the graph knows what the result shares with a source.
        """
        for source in self.sources:
            array = source.tensor()
            if array is not None:
                self._check_batch(array)
                if source.place is None or source.when is None:
                    raise trace_state.left_view_error(self.name, "is written to")
                view = source.place.view(array)
                source.place.put(array, where(source.when, values, view))
        self._seen = self._versions()


def left_view(tensor: Tensor, sources: Sequence[Source], name: str) -> ndarray:
    """Return a result of a branch or a loop that may share memory with ``sources``, which variable ``name`` gets."""
    place = Left(tensor, _merged([*sources, *[further for source in sources for further in _behind(source)]]), name)
    _left.add(place)
    return _indirect(wrap_array(tensor), place, tensor, place)


def _merged(sources: Sequence[Source]) -> list[Source]:
    """Return one source for each array and place: branches in branches would double them at each."""
    found: dict[Any, Source] = {}
    for source in sources:
        key = id(source.tensor()), str(source.place)  # open sizes have no hash, and comparing them would fix them
        known = found.get(key, source)
        if known is not source:
            when = None if known.when is None or source.when is None else known.when | source.when
            source = known._replace(when=when, is_own=known.is_own and source.is_own)
        found[key] = source
    return list(found.values())


def _behind(source: Source) -> list[Source]:
    """Return the sources of a source, which is a result of a branch or a loop too."""
    tensor = source.tensor()
    place = getattr(getattr(tensor, "stands_for", None), "place", None)
    if type(place) is not Left:
        return []
    is_same = source.place == Layout.of(place.values, place.values)
    found = []
    for further in place.sources:
        when = further.when & source.when if is_same and source.when is not None and further.when is not None else None
        found.append(further._replace(when=when, is_own=source.is_own and further.is_own))
    return found


def is_whole(view: Tensor, tensor: Tensor) -> bool:
    """Whether a view of a tensor's memory is the tensor itself, or as it."""
    return Layout.of(view, tensor) == Layout.of(tensor, tensor)


def follow_writes() -> list[Left]:
    """Let the results of branches and loops see what has been written to the arrays whose memory they may share.

    Return those of which only the graph knows what they share: an error to read now.
    """
    lost = []
    for place in list(_left):
        if place.scope in trace_state.state.scopes and type(place.values) is not Escaped:  # of a batch that is over
            try:
                place.get(place.values)
            except NotImplementedError:
                lost.append(place)
    return lost


def shares(x: ndarray) -> Shares:
    """Return the tensors whose memory an array may share."""
    if type(x) is not indirect:
        return [(x.tensor, x.flags.writeable, None)]
    if type(x.place) is Left:
        found: Shares = [(x.tensor, True, None)]
        for source in x.place.sources:
            array = source.tensor()
            if array is not None:
                view = array if source.place is None else source.place.view(array)
                found.append((view, source.when is not None, source.when))
        return found
    if type(x.place) is Layout and type(x.origin) is indirect and type(x.origin.place) is Left:
        strides = x.origin.given.stride()
        return [
            (x.place.view(tensor), True, when) if is_exact and tensor.stride() == strides else (tensor, False, None)
            for tensor, is_exact, when in shares(x.origin)
        ]
    left: ndarray = x
    while type(left) is indirect and type(left.place) is not Left:
        left = left.origin
    if type(left) is indirect:
        return [(tensor, False, None) for tensor, *_ in shares(left)]
    return [(root(x), False, None)]


def root(x: ndarray) -> Tensor:
    """Return the tensor that an array is a view of, or its own."""
    while type(x) is indirect:
        x = x.origin
    return x.ahead if type(x) is strided else x.tensor


def reread(x: indirect) -> Tensor:
    """Return a copy of the elements as they are now: the last one if nothing has been written since."""
    base = x.origin.tensor
    version = version_of(base) if host_views.are_had() else None  # nothing leaves a trace or a batch
    if version is not None and x._seen is not None and x._seen[0] is base and x._seen[1] == version:
        return x.given
    tensor = x.given = x.place.get(base)
    x._seen = (base, version) if version is not None else None
    tensor.stands_for = x
    if x._host is not None and not x._host.flags.writeable:
        memory.lock(tensor)
    return tensor


def addresses(x: indirect) -> np.ndarray:
    """Return an array of NumPy's with the view's strides, whose elements are in no memory: it tells what is a view."""
    origin: Any = x.origin
    if type(x.place) is Left:
        return memory.addresses(x.given, 4096, is_read_only=False).view(x.dtype)
    if type(origin) in UNDESCRIBED:
        host = origin.host
    else:
        host = memory.addresses(origin.tensor, 4096, is_read_only=False).view(origin.dtype)
    if type(x.place) is Layout:
        return host_views.placed_in(host, origin.given, x.place)
    if type(x.place) is Turn:
        selected, picked = host.view(x.dtype)[..., 0] if x.place.is_of_bytes else host, ()
    else:
        selected, picked = host[x.place.view] if x.place.view else host, x.place.dims
    steps = [slice(None, None, -1 if dim in x.place.flips else 1) for dim in range(selected.ndim)]
    return selected[tuple([0 if dim in picked else step for dim, step in enumerate(steps)]) or ...]


def is_in_order(x: indirect, order: str, shape: tuple[int, ...] | None = None) -> bool:
    """Whether the elements lie in an order in memory, or can have a shape there, so that NumPy makes no copy.

    Raises
    ------
    NotImplementedError
        It is so for one of the arrays that a traced branch or loop chooses from, and not for another.
    """
    found = _is_ordered(x.host, order, shape)
    if (left := left_of(x)) is not None and left.sources:
        for tensor, is_exact, _ in shares(x):
            host = memory.addresses(tensor, 4096).view(x.dtype)
            if host.shape != x.shape or not is_exact or _is_ordered(host, order, shape) is not found:
                raise trace_state.left_view_error(left.name, "is given another shape")
    return found


def _is_ordered(host: np.ndarray, order: str, shape: tuple[int, ...] | None) -> bool:
    if shape is None:
        return bool({"C": host.flags.c_contiguous, "F": host.flags.f_contiguous}.get(order, host.flags.forc))
    try:
        host.reshape(shape, order=order, copy=False)  # type: ignore[call-overload]
    except ValueError:
        return False
    return True


def left_of(x: ndarray) -> Left | None:
    """Return the place of the result of a branch or a loop that an array is, or is a view of; None for others."""
    while type(x) is indirect:
        if type(x.place) is Left:
            return x.place
        x = x.origin
    return None


def is_itself(value: Any, array: ndarray, key: Any) -> bool:
    """Whether a value is ``array[key]``, as in the last step of ``array[key] += 1``, which has been written."""
    if type(value) is not indirect or value.key is not key:
        return False
    return value.origin is array or (type(array) is not indirect and value.origin.tensor is array.tensor)


def locked(result: Any) -> ndarray:
    """Make a new view read-only."""
    if type(result) in UNDESCRIBED:
        result.host.flags.writeable = False
    return result


def put_back(out: Any, target: Tensor) -> Any:
    """Return ``out`` after a write to its tensor or to a view of it; write a stand-in's values back to its array."""
    if type(out) is not ndarray:
        if type(out) is strided and host_views.is_compiling():
            raise TypeError("a function in torch.compile can't write to a view with a negative step: write to its base")
        copy, found = _stood_for(target)
        if found is None and type(out) is indirect:  # a batch does not know of what a tensor is a view
            assert memory.same_storage(target, out.given)
            copy, found = out.given, out
        if type(found) is strided:
            host_views.write(found.host, found.ahead, found.turn, copy)
        elif found is not None:
            base = found.origin.tensor
            found.place.put(base, copy)
            put_back(found.origin, base)
    return out
