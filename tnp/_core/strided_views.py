"""Views that no tensor can describe: negative steps, strides of any number of bytes, elements that are not aligned.

torch has none of these, so such an array holds a NumPy view of CPU memory instead of a tensor. Its attribute ``tensor``
is a copy, the stand-in. A view of the stand-in becomes a view of the memory, and values written to the stand-in are
written back. NumPy has no memory on an accelerator, in a trace, a batch or a derivative. There a view with a negative
step, or at an integer that is traced, remembers its base and its place: each read copies the elements anew, and each
write goes to the base.

Layer: owns the making of these arrays and both ways back from a stand-in. The classes in ``_array`` have the methods.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any, NamedTuple, NoReturn

import numpy as np

from backend_torch.kernels.indexing import Plan
from backend_torch.native import heads
from backend_torch.tensors import host_views, memory, trace_state
from backend_torch.tensors.dtypes import to_torch
from backend_torch.tensors.memory import Layout
from backend_torch.torch_private.tensor_internals import version_of
from tnp._core.base import SCALARS, indirect, ndarray, readonly, strided, wrap_array

Tensor = Any
_new = object.__new__
UNDESCRIBED = (strided, indirect)
_BASIC = frozenset({int, slice, type(None), type(Ellipsis)})


def over(host: np.ndarray, origin: Tensor) -> ndarray:
    """Return NumPy's view of a tensor's memory as an array: an ordinary one if a tensor can describe it."""
    if host.flags.writeable and (not host.size or host_views.is_described(host)):
        return wrap_array(host_views.tensor_over(host, origin))
    made: strided = _new(strided)
    made.host, made.ahead = host, host_views.forwards(host, origin)
    made.turn = host_views.flips_of(host), to_torch[host.dtype]
    return made


def turned(array: ndarray, key: Any) -> ndarray | None:
    """Return the view that a basic key with a negative step selects, if the native core can make it."""
    if (found := heads.turned(array, key)) is None:
        return None
    made: strided = _new(strided)
    made.host, made.ahead, axes = found
    made.turn = axes, made.ahead.dtype
    return made


def made_of(x: strided, host: np.ndarray) -> ndarray:
    """Return the result of a NumPy method on the array's view as an array: over the same memory, or a copy."""
    return over(host, x.ahead) if np.may_share_memory(host, x.host) else wrap_array(memory.from_numpy(host))


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
    if host.dtype not in to_torch or not host.size or host_views.is_described(host) or not host_views.are_had():
        return None
    return over(host.view(np.ndarray), host_views.memory_of(host))


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
    if not tensor.numel() or (items := basic(key)) is None:
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
    if host_views.is_compiling() or host_views.has_gradient(x.ahead):
        return None
    return heads.of_numpy(x.host.copy(order))


def stand_in(x: strided) -> Tensor:
    """Return a copy of the array's values; `view_of` maps its views to the array, `put_back` its changed values."""
    if host_views.is_compiling():
        return host_views.turned(x.ahead, *x.turn)
    if (made := copied(x, "K")) is not None:
        tensor, x.given = made.tensor, None
    else:
        tensor = host_views.copy_of(x.host, x.ahead)
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
    host = host_views.same_view(tensor, copy, source.host)
    if host is None:
        return wrap_array(tensor)
    if read_only:
        host.flags.writeable = False
    return over(host, source.ahead)


def indirect_view(array: ndarray, plan: Plan, selected: Tensor, key: Any) -> ndarray:
    """Return the view that a plan selects from an array, of which ``selected`` is a copy."""
    if host_views.is_compiling():
        made: readonly = _new(readonly)
        made.tensor = selected
        return made
    return _indirect(array if type(array) in UNDESCRIBED else wrap_array(array.tensor), plan, selected, key)


def _indirect(origin: ndarray, place: Plan | Layout | Left, given: Tensor, key: Any) -> indirect:
    made: indirect = _new(indirect)
    made.origin, made.place, made.given, made.key = origin, place, given, key
    made._host = made._seen = None
    return made


class Left(NamedTuple):
    """The place of a view that left a traced branch or loop: which elements it shares is known when the graph runs."""

    values: Tensor
    sources: tuple[tuple[Tensor, int], ...]
    """The tensors whose memory the view may share, and their versions when it left."""
    name: str

    def get(self, tensor: Tensor) -> Tensor:
        """Return a copy of the values; raise if a source has been written to since, as the view might see that."""
        if any(version_of(memory.unwrapped(source)) != version for source, version in self.sources):
            raise trace_state.left_view_error(self.name, "is read after the array was written to")
        return self.values.clone()

    def put(self, tensor: Tensor, values: Tensor) -> NoReturn:
        """Raise: the write would not reach the memory."""
        raise trace_state.left_view_error(self.name, "is written to")


def left_view(tensor: Tensor, sources: Sequence[Tensor], name: str) -> ndarray:
    """Return a result of a branch or a loop that may be a view of these tensors, which variable ``name`` gets."""
    place = Left(tensor, tuple([(source, version_of(memory.unwrapped(source))) for source in sources]), name)
    return _indirect(wrap_array(sources[0]), place, tensor, None)


def root(x: ndarray) -> Tensor:
    """Return the tensor that an array is a view of, or its own."""
    while type(x) is indirect:
        x = x.origin
    return x.tensor


def reread(x: indirect) -> Tensor:
    """Return a copy of the elements as they are now: the last one if nothing has been written since."""
    base = x.origin.tensor
    version = (id(base), version_of(base)) if host_views.are_had() else None  # nothing leaves a trace or a batch
    if version is not None and version == x._seen:
        return x.given
    tensor = x.given = x.place.get(base)
    x._seen = version
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
    selected = host[x.place.view] if x.place.view else host
    steps = [slice(None, None, -1 if dim in x.place.flips else 1) for dim in range(selected.ndim)]
    return selected[tuple([0 if dim in x.place.dims else step for dim, step in enumerate(steps)]) or ...]


def is_in_order(x: indirect, order: str, shape: tuple[int, ...] | None = None) -> bool:
    """Whether the elements lie in an order in memory, or can have a shape there, so that NumPy makes no copy."""
    if shape is None:
        flags = x.host.flags
        return bool({"C": flags.c_contiguous, "F": flags.f_contiguous}.get(order, flags.forc))
    try:
        x.host.reshape(shape, order=order, copy=False)  # type: ignore[call-overload]
    except ValueError:
        return False
    return True


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
            host_views.write(found.host, found.ahead, copy)
        elif found is not None:
            base = found.origin.tensor
            found.place.put(base, copy)
            put_back(found.origin, base)
    return out
