"""Views that no tensor can describe: negative steps, strides of any number of bytes, elements that are not aligned.

torch has none of these, so such an array holds a NumPy view of CPU memory instead of a tensor. Its attribute ``tensor``
is a copy, the stand-in. A view of the stand-in becomes a view of the memory, and values written to the stand-in are
written back. There are no such views on an accelerator, in a trace, a batch or a derivative: a negative step copies.

Layer: owns the making of these arrays and both ways back from a stand-in. The class in ``_array`` has the methods.
"""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from backend_torch.native import heads
from backend_torch.tensors import host_views, memory
from backend_torch.tensors.dtypes import to_torch
from tnp._core.base import SCALARS, ndarray, readonly, strided, wrap_array

Tensor = Any
_new = object.__new__
_BASIC = frozenset({int, slice, type(None), type(Ellipsis)})


def over(host: np.ndarray, origin: Tensor) -> ndarray:
    """Return NumPy's view of a tensor's memory as an array: an ordinary one if a tensor can describe it."""
    if host.flags.writeable and (not host.size or host_views.is_described(host)):
        return wrap_array(host_views.tensor_over(host, origin))
    made: strided = _new(strided)
    made.host, made.ahead = host, host_views.forwards(host, origin)
    made.turn = host_views.flips_of(host), to_torch[host.dtype]
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


def stand_in(x: strided) -> Tensor:
    """Return a copy of the array's values; `view_of` maps its views to the array, `put_back` its changed values."""
    if host_views.is_compiling():
        return host_views.turned(x.ahead, *x.turn)
    tensor = host_views.copy_of(x.host, x.ahead)
    tensor.stands_for = x  # type: ignore[attr-defined]
    return tensor


def _stood_for(tensor: Tensor) -> tuple[Tensor, strided | None]:
    """Return the tensor, or its base if it is a view, and the array for which this stands; None if for none."""
    copy = tensor if tensor._base is None else tensor._base
    return copy, getattr(copy, "stands_for", None)


def view_of(source: strided, tensor: Tensor, read_only: bool = False) -> ndarray:
    """Turn a view of the array's stand-in into the same view of the array; wrap any other tensor as it is."""
    is_compiling = host_views.is_compiling()
    copy, found = (tensor, source) if is_compiling else _stood_for(tensor)
    if found is not source:
        return wrap_array(tensor)
    if is_compiling or not host_views.are_had():  # a write to the view would not reach the memory
        made: readonly = _new(readonly)
        made.tensor = tensor
        return made
    host = host_views.same_view(tensor, copy, source.host)
    if host is None:
        return wrap_array(tensor)
    if read_only:
        host.flags.writeable = False
    return over(host, source.ahead)


def locked(result: ndarray) -> ndarray:
    """Make a new view read-only."""
    if type(result) is strided:
        result.host.flags.writeable = False
    return result


def put_back(out: Any, target: Tensor) -> Any:
    """Return ``out`` after a write to its tensor or to a view of it; write a stand-in's values back to its array."""
    if type(out) is not ndarray:
        if type(out) is strided and host_views.is_compiling():
            raise TypeError("a function in torch.compile can't write to a view with a negative step: write to its base")
        copy, found = _stood_for(target)
        if found is not None:
            host_views.write(found.host, found.ahead, copy)
    return out
