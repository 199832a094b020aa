"""The drop-in: unchanged programs that say ``import numpy`` get tnp, and the libraries that they use keep NumPy.

Layer: owns which importer gets which, and the modules that stand for ``numpy`` and its submodules. The decision falls
when an import statement runs, by the file that it stands in; afterwards nothing of this is left on any path: the
functions are those of ``import tnp``.
"""

from __future__ import annotations

import abc
import builtins
import copyreg
import functools
import importlib
import os
import pickle
import site
import sys
import sysconfig
import types
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from backend_torch import native
from tnp._array.host_classes import Derived, set_numpy_view
from tnp._core import base as _base
from tnp._core import function_overrides, interop, public
from tnp._core.base import indirect, readonly, scalar, strided
from tnp._devices.devices import set_default_device
from tnp._program import library_adapters

_OURS = ("tnp", "backend_torch")

_ARRAYS = (_base.ndarray, readonly, strided, indirect)
"""What is an array of ``numpy.ndarray`` itself in NumPy."""

record: Any = None
"""What counts the program's calls (`_report.Record`), if they are counted."""
_Import = Callable[..., Any]


# The modules that replace NumPy's.


class _StandIn(types.ModuleType):
    """A module whose names are found on first use, or all at once when its dictionary is read."""

    @property
    def __dict__(self) -> dict[str, Any]:  # type: ignore[override]  # a module's own is no property
        for name in sys.modules[self.__name__].__dict__:
            getattr(self, name)
        return _dictionary(self)


_class: Any = types.ModuleType
_dictionary = _class.__dict__["__dict__"].__get__


@functools.cache
def module(name: str) -> types.ModuleType:
    """Return the module that replaces ``numpy`` or one of its submodules, or NumPy's own if tnp has no such module."""
    theirs = importlib.import_module(name)
    try:
        ours = importlib.import_module("tnp" + name.removeprefix("numpy"))
    except ModuleNotFoundError:
        return theirs
    stand_in = _StandIn(name, theirs.__doc__)
    function_overrides.stand_ins.add(stand_in)
    names = _dictionary(stand_in)
    for fact in ("__all__", "__file__", "__path__", "__spec__", "__version__", "__package__"):
        if hasattr(theirs, fact):
            names[fact] = getattr(theirs, fact)

    def find(attribute: str) -> Any:
        """Find a name once; then the module's dictionary has it."""
        if attribute == "_numba_type_":
            return importlib.import_module("tnp._array.numba_types").type_of_module(stand_in)
        names[attribute] = found = _stand_in(
            name, attribute, getattr(theirs, attribute), getattr(ours, attribute, None)
        )
        return found

    names["__getattr__"] = find
    names["__dir__"] = lambda: sorted({*dir(theirs), *names})
    return stand_in


def _stand_in(module_name: str, name: str, theirs: Any, ours: Any) -> Any:
    """Return the object for one of NumPy's names: tnp's, or NumPy's own if tnp has none."""
    if isinstance(theirs, types.ModuleType):
        return module(theirs.__name__) if theirs.__name__.startswith("numpy.") else theirs
    if ours is _base.ndarray:
        return ndarray
    if ours is None or name.startswith("__"):
        return theirs
    if record is not None and isinstance(ours, (types.FunctionType, types.MethodType)):
        return public.shown.setdefault(ours, record.timed(f"{module_name}.{name}", ours))  # concat is concatenate
    return ours


_FOLDER = os.path.join(os.path.dirname(os.path.dirname(__file__)), "")  # tnp's own files


# Programs ask of these whether a class has changed them.
_COMPARED = frozenset({"__array_ufunc__", "__array_function__", "__array_finalize__", "__new__"})


def _of_either(name: str, method: types.FunctionType) -> Any:
    """Return a method that a program may call by the class: with one of NumPy's arrays it is NumPy's method."""
    theirs = getattr(np.ndarray, name)

    @functools.wraps(method)
    def either(self: Any, *args: Any, **kwargs: Any) -> Any:
        return (theirs if isinstance(self, np.ndarray) else method)(self, *args, **kwargs)

    return either


def _methods() -> dict[str, Any]:
    own = {name: each for name, each in _base.ndarray.__dict__.items() if isinstance(each, types.FunctionType)}
    return {n: _of_either(n, each) for n, each in own.items() if hasattr(np.ndarray, n) and n not in _COMPARED}


class _ArrayClass(abc.ABCMeta):
    """Both kinds of array are instances of the class that such a program knows; a scalar is not, as in NumPy.

    It is an ABCMeta so that a class may be derived from arrays and from an abstract class.
    """

    def __new__(cls, name: str, bases: tuple[type, ...], namespace: dict[str, Any], **options: Any) -> Any:
        """A class that a program derives from it derives from tnp's ndarray, the class of its arrays."""
        if bases[0] is _base.ndarray:
            return super().__new__(cls, name, bases, {**_methods(), **namespace})
        own = tuple([_base.ndarray if base is ndarray else base for base in bases])
        return types.new_class(name, own, {"metaclass": Derived, **options}, lambda names: names.update(namespace))

    def __instancecheck__(cls, instance: Any) -> bool:
        if cls is not ndarray:
            return super().__instancecheck__(instance)
        if isinstance(instance, _base.ndarray):
            return not isinstance(instance, scalar)
        return isinstance(instance, np.ndarray)

    def __subclasscheck__(cls, subclass: type) -> bool:
        if cls is not ndarray:
            return super().__subclasscheck__(subclass)
        return issubclass(subclass, (_base.ndarray, np.ndarray)) and not issubclass(subclass, scalar)

    def __eq__(cls, other: object) -> bool:
        return cls is other or (cls is ndarray and other in _ARRAYS)

    def __hash__(cls) -> int:
        return hash(_base.ndarray)


class ndarray(_base.ndarray, metaclass=_ArrayClass):
    """``numpy.ndarray`` to a program that is run as it is: tnp's arrays, and NumPy's of what no tensor can hold."""

    __slots__ = ()
    __module__ = "tnp"

    def __new__(cls, *args: Any, **kwargs: Any) -> Any:
        # A derived class's own ``__new__`` calls this, too.
        return _base.ndarray.__new__(_base.ndarray if cls is ndarray else cls, *args, **kwargs)


def _array_class() -> type:
    return ndarray


# ``tnp.ndarray``, the name of the class, is another class.
copyreg.pickle(_ArrayClass, lambda cls: (_array_class, ()))  # type: ignore[arg-type, return-value]


# Deciding whose import it is.


class Importers:
    """The user's modules: those under ``roots`` and those without a file, except libraries.

    Parameters
    ----------
    roots : sequence of str
        Folders: the script's, the current one.
    """

    def __init__(self, roots: Sequence[str]) -> None:
        self.roots = tuple([os.path.join(os.path.realpath(root), "") for root in roots])
        paths = sysconfig.get_paths()
        libraries = [paths[name] for name in ("stdlib", "platstdlib", "purelib", "platlib")]
        libraries += [*site.getsitepackages(), site.getusersitepackages()]
        # A checkout in the current folder may contain an environment with its libraries, tnp among them.
        libraries += [os.path.dirname(importlib.import_module(name).__file__ or "") for name in _OURS]
        self.libraries = tuple({os.path.join(os.path.realpath(each), "") for each in libraries})
        self._known: dict[str, bool] = {}

    def are_users(self, names: Mapping[str, Any]) -> bool:
        """Whether the module with these globals is the user's."""
        file = names.get("__file__")
        if file is None:
            return names.get("__name__") in ("__main__", "__mp_main__")
        known = self._known.get(file)
        if known is None:
            known = self._known[file] = self._is_users(file)
        return known

    def _is_users(self, file: str) -> bool:
        path = os.path.realpath(file)
        if f"{os.sep}site-packages{os.sep}" in path or f"{os.sep}dist-packages{os.sep}" in path:
            return False
        return path.startswith(self.roots) and not path.startswith(self.libraries)


class Hook:
    """The replacements of imports, and of the class statement, while the drop-in is on."""

    def __init__(self, importers: Importers) -> None:
        self.importers = importers
        self.statement: _Import = builtins.__import__
        self.function: _Import = importlib.import_module
        self.class_statement: Any = builtins.__build_class__

    def install(self) -> None:
        """Install the replacements."""
        builtins.__import__ = self.by_statement
        importlib.import_module = self.by_function
        builtins.__build_class__ = self.by_class_statement

    def remove(self) -> None:
        """Restore the originals."""
        builtins.__import__, importlib.import_module = self.statement, self.function
        builtins.__build_class__ = self.class_statement

    def by_class_statement(self, body: Any, /, *args: Any, **options: Any) -> Any:
        """``builtins.__build_class__``: a program's method ``__array__`` gives NumPy's functions their own arrays."""
        made = self.class_statement(body, *args, **options)
        if isinstance(made, type) and self.importers.are_users(body.__globals__):
            method = made.__dict__.get("__array__")
            if isinstance(method, types.FunctionType) and not issubclass(made, _base.ndarray):
                made.__array__ = _giving_numpys(method)  # type: ignore[attr-defined]
        return made

    def by_statement(
        self,
        name: str,
        globals: Mapping[str, Any] | None = None,
        locals: Any = None,
        fromlist: Any = (),
        level: int = 0,
    ) -> Any:
        """``builtins.__import__``."""
        found = self.statement(name, globals, locals, fromlist, level)
        if not self.importers.are_users(sys._getframe(1).f_globals if globals is None else globals):
            return found
        if level or not (name == "numpy" or name.startswith("numpy.")):
            library_adapters.prepare()
            return found
        return module(found.__name__)

    def by_function(self, name: str, package: str | None = None) -> Any:
        """``importlib.import_module``."""
        found = self.function(name, package)
        if not self.importers.are_users(sys._getframe(1).f_globals):
            return found
        if name != "numpy" and not name.startswith("numpy."):
            library_adapters.prepare()
            return found
        return module(name)


# On and off.

_hook: Hook | None = None
_unwatch: Callable[[], None] | None = None
"""Undoes that the program's functions are watched, if they are."""


def _giving_numpys(method: types.FunctionType) -> Any:
    """A method ``__array__`` whose array is NumPy's, unless tnp asks."""

    @functools.wraps(method)
    def __array__(*args: Any, **options: Any) -> Any:
        found = method(*args, **options)
        is_ours = sys._getframe(1).f_code.co_filename.startswith(_FOLDER)
        return found if is_ours or not isinstance(found, _base.ndarray) else found.__array__()

    giving: Any = __array__
    giving.gives_ours = True  # so that tnp need not let NumPy ask first
    return giving


def install(roots: Sequence[str], device: str | None = None, compiles: bool = False) -> None:
    """Give tnp to the modules under ``roots``, and to code without a file, wherever they import NumPy.

    Parameters
    ----------
    roots : sequence of str
        Folders.
    device : str, optional
        Where new arrays are made.
    compiles : bool, default False
        Whether functions of these modules are compiled once that pays.
    """
    global _hook, _unwatch
    remove()
    if device is not None:
        set_default_device(device)
    native.make_floats(True)
    set_numpy_view(True)
    interop.always_allows_host_copies = True  # libraries read arrays as NumPy's; --report counts that
    _hook = Hook(Importers(roots))
    _hook.install()
    if compiles:
        from tnp._program import hot_functions

        _unwatch = hot_functions.install(_hook.importers.are_users)
    library_adapters.prepare()  # a notebook may have imported them already
    _bequeath(roots, device, compiles)


def remove() -> None:
    """Give NumPy to all modules again; existing imports stay."""
    global _hook, _unwatch
    if _unwatch is not None:
        _unwatch()
        _unwatch = None
    if _hook is not None:
        _hook.remove()
        library_adapters.leave()
        _hook, interop.always_allows_host_copies = None, False
        native.make_floats()
        set_numpy_view(False)


class _Preparation(dict[str, Any]):
    """A message of ``multiprocessing`` to a new process: unpickling it turns the drop-in on there."""

    install: tuple[Any, ...]

    def __reduce__(self) -> tuple[Any, ...]:
        return _prepared, (pickle.dumps(dict(self)), self.install)


def _prepared(data: bytes, arguments: tuple[Any, ...]) -> dict[str, Any]:
    install(*arguments)
    return dict(pickle.loads(data))


_described: Any = None


def _bequeath(roots: Sequence[str], device: str | None, compiles: bool) -> None:
    """Turn the drop-in on in the processes that this one starts with ``spawn`` or ``forkserver``."""
    global _described
    from multiprocessing import spawn

    if _described is None:
        _described = spawn.get_preparation_data
    described, arguments = _described, ([os.path.abspath(root) for root in roots], device, compiles)

    def with_drop_in(name: str) -> dict[str, Any]:
        data = described(name)
        if _hook is None:
            return dict(data)
        prepared = _Preparation(data)
        prepared.install = arguments
        return prepared

    spawn.get_preparation_data = with_drop_in


# Notebooks.


def load_ipython_extension(ipython: Any) -> None:
    """``%load_ext tnp``: from the next cell on, ``import numpy`` in the notebook and in its folder gives tnp."""
    install([os.getcwd()])


def unload_ipython_extension(ipython: Any) -> None:
    """``%unload_ext tnp``: ``import numpy`` gives NumPy again."""
    remove()
