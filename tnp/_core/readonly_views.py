"""Read-only arrays: their class refuses writes; torch has no read-only tensors.

Layer: owns which views are read-only, and what ``flags.writeable`` sets. The class in ``_array`` raises the errors.
"""

from __future__ import annotations

from typing import Any

from backend_torch.tensors import memory
from tnp._core import strided_views
from tnp._core.base import indirect, ndarray, readonly, scalar, strided, wrap, wrap_array

Tensor = Any
_new = object.__new__


def view(source: Any, result: Any) -> Any:
    """Return a result of ``source``: read-only if ``source`` is read-only and shares its memory."""
    if type(source) in strided_views.UNDESCRIBED and type(result) is ndarray:
        return strided_views.view_of(source, result.tensor)
    if type(result) in strided_views.UNDESCRIBED and isinstance(source, ndarray) and not source.flags.writeable:
        return strided_views.locked(result)
    if type(result) is not ndarray or not isinstance(source, ndarray) or source.flags.writeable:
        return result
    return readonly_array(result.tensor, source) if memory.same_storage(result.tensor, source.tensor) else result


def readonly_array(tensor: Tensor, source: Any) -> ndarray:
    """Return a tensor as a read-only array; ``source`` is the array or other object that owns the memory."""
    if type(source) in strided_views.UNDESCRIBED:
        view = strided_views.view_of(source, tensor, read_only=True)
        if type(view) in strided_views.UNDESCRIBED:
            return view
    made: readonly = _new(readonly)
    itself = isinstance(source, ndarray) and source.tensor is tensor
    made.tensor = tensor if itself else memory.with_source(tensor, source)
    return made


def as_readonly(view: ndarray) -> ndarray:
    """Turn a new array into a read-only one."""
    view.__class__ = readonly
    return view


def set_writeable(x: ndarray, value: Any) -> None:
    """``x.flags.writeable = value``.

    Raises
    ------
    ValueError
        The array's base is read-only, or several elements share a place, so it can't become writeable.
    """
    if value and not memory.is_writeable(x.tensor):
        raise ValueError("cannot set WRITEABLE flag to True of this array: its elements share memory; copy it")
    if type(x) is ndarray and not value:
        x.__class__ = readonly
    elif type(x) is readonly and value:
        source = memory.source_of(x.tensor)
        while type(source) is readonly and (further := memory.source_of(source.tensor)) is not None:
            source = further
        if source is not None and type(source) is not ndarray:
            raise ValueError("cannot set WRITEABLE flag to True of this array")
        x.__class__ = ndarray  # type: ignore[assignment]
    elif type(x) is strided or type(x) is indirect:
        x.host.flags.writeable = bool(value)
    elif not isinstance(x, scalar) and type(x) is not ndarray:
        memory.lock(x.tensor, not value)
    elif isinstance(x, scalar):
        raise ValueError("Cannot set flags on array scalars.")


def is_writeable(x: ndarray) -> bool:
    """Whether elements of the array can be assigned to."""
    if type(x) is readonly or isinstance(x, scalar) or memory.is_locked(x.tensor):
        return False
    return memory.is_writeable(x.tensor)


def view_of(source: Any, tensor: Tensor) -> ndarray:
    """Return a view of ``source`` as an array, which is read-only if ``source`` is."""
    made = wrap_array(tensor)
    return made if type(source) is ndarray else view(source, made)


def view_like(source: Any, tensor: Tensor) -> ndarray:
    """`view_of`, but the view of a scalar is a scalar."""
    return wrap(tensor) if isinstance(source, scalar) else view_of(source, tensor)
