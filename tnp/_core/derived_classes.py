"""Classes derived from ndarray: making their arrays, dropping the class, choosing the class of a result.

Layer: owns ``__array_finalize__`` and ``__array_priority__``. The class that such classes really derive from is
``_array.subclass``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from backend_torch.native import heads
from backend_torch.tensors import memory
from tnp._core.base import indirect, ndarray, readonly, scalar, strided, subclass, wrap_array
from tnp._core.dtype_table import PLAIN
from tnp._core.readonly_views import is_writeable, readonly_array, view_of

Tensor = Any
_new = object.__new__
_awaiting: list[Callable[[], object]] = []


def before_the_first(function: Callable[[], object]) -> None:
    """Have ``function`` called before the first array of a derived class is made."""
    _awaiting.append(function)


def derive(cls: type) -> None:
    """Give a class derived from ndarray the methods of `subclass`."""
    if issubclass(cls, (scalar, readonly)):
        raise TypeError(
            f"type 'tnp.{cls.__bases__[0].__name__}' is not an acceptable base type: derive from tnp.ndarray"
        )
    if not issubclass(cls, subclass):
        cls.__bases__ = tuple([subclass if base is ndarray else base for base in cls.__bases__])


def finalised(cls: Any, tensor: Tensor, source: Any) -> Any:
    """Return a tensor as an array of a class, and call ``__array_finalize__`` with its source."""
    if not issubclass(cls, subclass):  # ndarray, or the class that python -m tnp puts in its place
        return view_of(source, tensor)
    while _awaiting:
        _awaiting.pop()()
    made = _new(cls)
    made.tensor = tensor
    if type(source) in (strided, indirect):
        memory.lock(tensor)
    elif isinstance(source, ndarray) and tensor is not source.tensor and memory.same_storage(tensor, source.tensor):
        note_base(cls, tensor, source)
    cls.__array_finalize__(made, source)
    return made


def viewed_as(cls: Any, x: Any) -> Any:
    """Return a view of an array as one of a class, from the native core; None if Python has to make it."""
    made = None if _awaiting else heads.viewed(x, cls)
    if made is not None and cls is not ndarray:
        made.__array_finalize__(x)
    return made


def over_buffer(cls: Any, shape: Any, dtype: Any, array: Any) -> Any:
    """Return an array of a class over all the memory of an array, in another shape, as `viewed_as`."""
    made = None if _awaiting else heads.over_buffer(cls, shape, dtype, array)
    if made is not None and cls is not ndarray:
        made.__array_finalize__(None)
    return made


def note_base(cls: Any, tensor: Tensor, base: Any) -> None:
    """Note the array that a tensor is a view of: as in NumPy, the last array of its class along the chain of bases."""
    if not is_writeable(base):
        memory.lock(tensor)
    while type(further := memory.source_of(base.tensor)) is cls:
        base = further
    memory.with_source(tensor, base)


def plain(x: Any) -> Any:
    """Return an array without its derived class, over the same tensor; return anything else unchanged."""
    if not isinstance(x, subclass):
        return x
    if (found := heads.undressed(x)) is not None:
        return found
    return readonly_array(x.tensor, x) if memory.is_locked(x.tensor) else wrap_array(x.tensor)


_NUMBERS = frozenset({bool, int, float, complex})


def of_plain(operands: tuple[Any, ...]) -> Any:
    """Return the operand in whose class a ufunc gives what it computes of plain arrays; None if a class has a say.

    All arrays of derived classes are of one class, which overrides neither ufuncs nor the wrapping of their results.
    """
    found = None
    for x in operands:
        kind = type(x)
        if found is not None and kind is type(found):
            continue
        if kind not in PLAIN and kind not in _NUMBERS:
            if found is not None or not issubclass(kind, subclass):
                return None
            found = x
    cls: Any = type(found)
    has_a_say = (
        found is None
        or cls.__array_ufunc__ is not ndarray.__array_ufunc__
        or cls.__array_wrap__ is not subclass.__array_wrap__
        or cls.__array_priority__ < 0
    )
    return None if has_a_say else found


def anew(x: Any, result: Any) -> Any:
    """Return what a ufunc computed of plain arrays in the class of ``x``, also if it is 0-d."""
    if type(result) is tuple:
        return tuple([anew(x, each) for each in result])
    if not isinstance(result, ndarray):
        return result
    if (made := heads.dressed(x, result)) is None:
        made = _new(type(x))
        made.tensor = result.tensor
    made.__array_finalize__(x)
    return made


def of_class(x: ndarray, result: ndarray) -> Any:
    """Return a result in the class of ``x``; scalars stay scalars."""
    return result if isinstance(result, scalar) else as_result(x, result)


def kept(given: Any, result: ndarray) -> Any:
    """Return what ``asarray`` made in the class of the input; the input itself if nothing changed."""
    if not isinstance(given, subclass):
        return result
    return given if result.tensor is given.tensor else as_result(given, result)


counterpart: Any = None  # of a derived class: NumPy's class for data that no tensor holds


def as_result(source: Any, result: Any) -> Any:
    """Return a result in the class of an array; a read-only result stays read-only.

    An array of a derived class holds a tensor, so of a view with a negative step it has a copy, which is read-only too.
    """
    if (made := heads.dressed(source, result)) is not None:
        made.__array_finalize__(source)
        return made
    if isinstance(result, np.ndarray):
        made = result.view(counterpart(type(source)))
        made.__array_finalize__(source)
        return made
    made = finalised(type(source), result.tensor, source)
    if type(result) in (readonly, strided, indirect):
        memory.lock(made.tensor)
    return made


def ranked(found: list[Any]) -> list[Any]:
    """Return one array of each class; derived classes come before their bases."""
    ranked = found[:1]
    for x in found[1:]:
        if all(type(x) is not type(other) for other in ranked):
            place = next((i for i, other in enumerate(ranked) if issubclass(type(x), type(other))), len(ranked))
            ranked.insert(place, x)
    return ranked


def winner(operands: Any) -> Any:
    """Return the operand with the highest priority, whose class the result has; None for ndarray itself."""
    chosen, highest = None, -np.inf
    for x in operands:
        if isinstance(x, (ndarray, np.ndarray)):
            priority = x.__array_priority__ if isinstance(x, subclass) else 0.0
            if priority > highest or (priority == highest and chosen is None):
                chosen, highest = (x if isinstance(x, subclass) else None), priority
    return chosen
