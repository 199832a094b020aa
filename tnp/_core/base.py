"""The shells of the array's classes: one slot that holds a tensor, and the functions that wrap results.

Layer: owns the classes, empty. ``tnp._array`` adds methods and operators once the chapters that compute them are
imported. So no chapter needs the finished class.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MemberDescriptorType
from typing import TYPE_CHECKING, Any, TypeVar

from backend_torch.native import Slot
from tnp._core.dtype_table import PLAIN

Tensor = Any
_new = object.__new__
_Class = TypeVar("_Class", bound=type)

if TYPE_CHECKING:  # type checkers read the finished classes
    from tnp._array.flat import flatiter as flatiter
    from tnp._array.ndarray import ndarray as ndarray
    from tnp._array.ndarray import scalar as scalar
    from tnp._array.readonly import readonly as readonly
    from tnp._array.subclass import subclass as subclass
else:

    class ndarray(Slot):
        __slots__ = ()
        __module__ = "tnp"

    class scalar(ndarray):
        __slots__ = ()
        __module__ = "tnp"

    class subclass(ndarray):
        __slots__ = ()
        __module__ = "tnp"

    class readonly(ndarray):
        __slots__ = ()
        __module__ = "tnp"

    class flatiter:
        __slots__ = ("_array", "_base", "_index")
        __module__ = "tnp"


PLAIN.update((ndarray, scalar, readonly))

# Names that a class statement adds by itself.
_OF_THE_STATEMENT = frozenset({
    "__annotate__", "__annotate_func__", "__annotations__", "__annotations_cache__", "__dict__", "__firstlineno__",
    "__module__", "__slots__", "__static_attributes__", "__weakref__",
})  # fmt: skip


def completes(shell: type, members: Mapping[str, Any] | None = None) -> Callable[[_Class], _Class]:
    """Class decorator: move ``members`` and what the class and its mixins define into ``shell``, and return that."""

    def complete(body: Any) -> Any:
        definitions = [vars(each) for each in reversed(body.__mro__[:-1]) if each not in shell.__mro__]
        for definition in (members or {}, *definitions):
            for name, value in definition.items():
                if name not in _OF_THE_STATEMENT and not isinstance(value, MemberDescriptorType):
                    setattr(shell, name, value)
        return shell

    return complete


def wrap(tensor: Tensor) -> ndarray:
    """Return a result as NumPy does: a scalar if it is 0-d, else an array."""
    result: ndarray = _new(ndarray if tensor.dim() else scalar)
    result.tensor = tensor
    return result


def wrap_array(tensor: Tensor) -> ndarray:
    """Return a tensor as an array, even if it is 0-d."""
    result: ndarray = _new(ndarray)
    result.tensor = tensor
    return result


def like(source: ndarray, tensor: Tensor) -> ndarray:
    """Return a tensor as a new array, or as a scalar if the source is a scalar."""
    result: ndarray = _new(scalar if type(source) is scalar else ndarray)
    result.tensor = tensor
    return result
