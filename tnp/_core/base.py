"""The shells of the array's classes: one slot that holds a tensor, and the functions that wrap results.

Layer: owns the classes, empty. ``tnp._array`` adds methods and operators once the chapters that compute them are
imported. So no chapter needs the finished class.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import FunctionType, MemberDescriptorType
from typing import TYPE_CHECKING, Any, TypeVar

from backend_torch.native import Slot, state
from backend_torch.tensors.dtypes import to_numpy
from tnp._core.dtype_table import PLAIN

Tensor = Any
_new = object.__new__
_Class = TypeVar("_Class", bound=type)

if TYPE_CHECKING:  # type checkers read the finished classes
    from tnp._array.flat import flatiter as flatiter
    from tnp._array.ndarray import ndarray as ndarray
    from tnp._array.ndarray import scalar as scalar
    from tnp._array.readonly import readonly as readonly
    from tnp._array.strided import indirect as indirect
    from tnp._array.strided import strided as strided
    from tnp._array.subclass import subclass as subclass

    float64 = scalar
    number = Any
else:

    class ndarray(Slot):
        __slots__ = ()
        __module__ = "tnp"

    class _MissingError(TypeError, AttributeError):
        """The error of ``len`` and ``iter``, which also makes ``hasattr`` False."""

    class _Missing:
        """Replaces a method of arrays that programs look for to tell lists from numbers."""

        def __init__(self, text: str) -> None:
            self.text = text

        def __get__(self, instance: Any, owner: type) -> Any:
            if instance is None:
                return self
            raise _MissingError(self.text.format(f"numpy.{instance.dtype.name}"))

    class _NoContainer:
        __slots__ = ()
        __len__ = _Missing("object of type '{}' has no len()")
        # Without the native core Python would go on with __getitem__ where __iter__ raises, but not where it is None.
        __iter__ = _Missing("'{}' object is not iterable") if state == "on" else None

    class _SeenByAbstractClasses:
        __len__ = __iter__ = None

    class _ScalarClass(type):
        """The class of scalars' classes, in which ``collections.abc`` finds no length: it reads ``__mro__``.

        Scalars derive from arrays, and a None that Python itself sees would be an attribute of each.
        """

        @property
        def __mro__(cls) -> tuple[type, ...]:
            order = type.__dict__["__mro__"].__get__(cls)
            return tuple([_SeenByAbstractClasses if each is _NoContainer else each for each in order])

    class scalar(_NoContainer, ndarray, metaclass=_ScalarClass):
        __slots__ = ()
        __module__ = "tnp"

        @property
        def __class__(self) -> type:
            """NumPy's class, which isinstance asks for, so that a scalar is a number wherever NumPy's is."""
            tensor = getattr(self, "tensor", None)  # Dynamo asks before it has put a tensor into its example
            return type(self) if tensor is None else _SCALAR_CLASSES.get(tensor.dtype, type(self))

    class float64(scalar):
        """A scalar of a float64 on the host that nothing records: C takes it for Python's float, as NumPy's.

        The native core makes it, and makes a plain scalar of it when it gets a tensor of another kind.
        """

        __slots__ = ()
        __module__ = "tnp"

    class number(scalar):
        """A number of Python's that a trace computes: beside an array it takes the array's dtype (NEP 50)."""

        __slots__ = ()
        __module__ = "tnp"

    class subclass(ndarray):
        __slots__ = ()
        __module__ = "tnp"

    class readonly(ndarray):
        __slots__ = ()
        __module__ = "tnp"

    class strided(ndarray):
        __slots__ = ("ahead", "given", "host", "turn")
        __module__ = "tnp"

    class indirect(ndarray):
        __slots__ = ("_host", "_seen", "given", "key", "origin", "place")
        __module__ = "tnp"

    class flatiter:
        __slots__ = ("_array", "_base", "_index")
        __module__ = "tnp"


SCALARS = frozenset({scalar, float64, number})
PLAIN.update((ndarray, scalar, float64, readonly, strided, indirect))
_SCALAR_CLASSES = {tensor_dtype: dtype.type for tensor_dtype, dtype in to_numpy.items()}

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
                    if isinstance(value, FunctionType) and value.__name__ == name and shell is ndarray:
                        value.__qualname__ = f"ndarray.{name}"  # which Python's errors show
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
    result: ndarray = _new(scalar if type(source) in SCALARS else ndarray)
    result.tensor = tensor
    return result
