"""Let one module see a target library wherever it imports NumPy.

`Binding.load` runs a test module with an ``__import__`` of its own.  There every
``numpy`` module is a `Namespace`, which looks names up as follows:

* a public name of NumPy is taken from the target, under the same path;
* a name of a private NumPy module that is also public (``numpy._core.umath.add``)
  is taken from the target by its public path;
* what the target lacks comes from NumPy itself only if it is no array function:
  scalar and dtype classes, exceptions, tables of type codes and the like;
* ``numpy.testing`` is NumPy's, with its assertions accepting arrays of the target;
* everything else is missing.  Using a missing name raises AttributeError.
"""

from __future__ import annotations

import ast
import builtins
import functools
import importlib
import random
import sys
import types
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy
import pytest
from _pytest.assertion.rewrite import rewrite_asserts

from conformance.numpy_suite import targets
from conformance.numpy_suite.broken import Broken, error_in
from conformance.numpy_suite.harden import GUARD, Guard, harden

# Modules that are part of NumPy's public interface.
PUBLIC = (
    "numpy",
    "numpy.linalg",
    "numpy.fft",
    "numpy.random",
    "numpy.lib",
    "numpy.lib.stride_tricks",
    "numpy.lib.array_utils",
    "numpy.lib.scimath",
    "numpy.exceptions",
    "numpy.dtypes",
    "numpy.polynomial",
    *(
        f"numpy.polynomial.{name}"
        for name in ("polynomial", "chebyshev", "hermite", "hermite_e", "laguerre", "legendre", "polyutils")
    ),
)

# Names that carry no array computation, and so may come from NumPy.
NEUTRAL_MODULES = (
    "numpy.typing",
    "numpy.version",
    "numpy._utils",
    "numpy._typing",
    "numpy._core.numerictypes",
    "numpy._core.tests",
)
NEUTRAL_NAMES = {
    "typecodes",
    "sctypeDict",
    "ScalarType",
    "little_endian",
    "True_",
    "False_",
    "_NoValue",
    "_CopyMode",
    "normalize_axis_tuple",
    "normalize_axis_index",
    "__version__",
    "__file__",
    "__name__",
    "__doc__",
}

_CONVERTED = ("assert_", "_assert")
_NOT_CONVERTED = (
    "assert_raises",
    "assert_raises_regex",
    "assert_warns",
    "assert_no_warnings",
    "assert_no_gc_cycles",
    "_assert_valid_refcount",
)


def belongs(module: str, package: str) -> bool:
    return module == package or module.startswith(package + ".")


def _is_subclass(value: object, classes: type | tuple[type, ...]) -> bool:
    return isinstance(value, type) and issubclass(value, classes)


def public_path(module: str, name: str) -> str | None:
    """The public dotted path of ``module.name``; None if it is private to NumPy."""
    if name.startswith("_") and not name.startswith("__"):
        return None
    if module in PUBLIC:
        return f"{module}.{name}"
    missing = object()
    value = getattr(importlib.import_module(module), name, missing)
    for public in PUBLIC:
        if getattr(importlib.import_module(public), name, missing) is value:
            return f"{public}.{name}"
    return None


def is_neutral(module: str, name: str) -> bool:
    """Whether a name is no array function, so that NumPy's own object can stand in."""
    value = getattr(importlib.import_module(module), name, None)
    if name in NEUTRAL_NAMES:
        return True
    if isinstance(value, types.ModuleType):
        return any(belongs(value.__name__, m) for m in NEUTRAL_MODULES)
    if _is_subclass(value, (numpy.generic, numpy.dtype, BaseException)):
        return True
    if public_path(module, name) is None:
        plain = isinstance(value, (int, float, complex, str))
        return plain or any(belongs(module, m) for m in NEUTRAL_MODULES)
    return False


class Namespace(types.ModuleType):
    """The stand-in for one NumPy module."""

    def __init__(self, binding: Binding, path: str) -> None:
        super().__init__(f"{path} as {binding.name}", importlib.import_module(path).__doc__)
        self.__path = path
        self.__binding = binding

    def __getattr__(self, name: str) -> Any:
        value = self.__binding.lookup(self.__path, name)
        if not isinstance(value, Broken):
            object.__setattr__(self, name, value)
        return value

    def __dir__(self) -> list[str]:
        return dir(importlib.import_module(self.__path))

    @property
    def __dict__(self) -> dict[str, Any]:  # type: ignore[override]
        found = ((name, getattr(self, name, None)) for name in dir(self))
        return {name: value for name, value in found if not isinstance(value, Broken)}


class RandomData:
    """NumPy's random numbers, as arrays of the target."""

    def __init__(self, binding: Binding, source: Any) -> None:
        self._binding = binding
        self._source = source

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._source, name)
        if not callable(value) or _is_subclass(value, numpy.random.BitGenerator):
            return value

        @functools.wraps(value)
        def draw(*args: Any, **kwargs: Any) -> Any:
            result = value(
                *map(self._binding.to_numpy, args), **{k: self._binding.to_numpy(v) for k, v in kwargs.items()}
            )
            if isinstance(result, (numpy.random.Generator, numpy.random.RandomState)):
                return RandomData(self._binding, result)
            return self._binding.from_numpy(result)

        return draw


class Watched:
    """A function of NumPy whose arguments and results are shown to an observer."""

    def __init__(self, function: Callable[..., Any], observer: Callable[[Any], None]) -> None:
        self._function = function
        self._observer = observer

    def __getattr__(self, name: str) -> Any:
        return getattr(self._function, name)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        self._observer(args)
        result = self._function(*args, **kwargs)
        self._observer(result)
        return result


class Binding:
    """A target library in the place of NumPy.

    With an ``observer``, NumPy's own functions (ufuncs excepted) are `Watched`.
    """

    observer: Callable[[Any], None] | None = None

    def __init__(self, name: str, numpy_random: bool = False) -> None:
        self.name = name
        self.target = importlib.import_module(name)
        self.is_numpy = self.target is numpy
        self._random = RandomData(self, numpy.random) if numpy_random else None
        self.collecting = True
        self.modules: dict[str, types.ModuleType] = {}
        self._missing: dict[str, Broken] = {}
        self._namespaces: dict[str, Namespace] = {}

    # ---- loading of test modules

    def load(self, path: Path, name: str, config: pytest.Config) -> types.ModuleType:
        """Run the test module at ``path``, bound to the target."""
        source = path.read_bytes()
        tree = ast.parse(source, filename=str(path))
        module = types.ModuleType(name)
        guard = Guard(str(path), module.__dict__)
        tree = harden(tree, guard)
        rewrite_asserts(tree, source, str(path), config)
        module.__file__ = str(path)
        module.__package__ = name.rpartition(".")[0]
        module.__dict__["__builtins__"] = {**vars(builtins), "__import__": self.import_}
        setattr(module, GUARD, guard)
        sys.modules[name] = module
        self.modules[name] = module
        exec(compile(tree, str(path), "exec"), module.__dict__)
        return module

    def import_(self, name: str, globals: Any = None, locals: Any = None, fromlist: Any = (), level: int = 0) -> Any:
        """``__import__`` for test modules."""
        if level:
            package = globals["__package__"].split(".")
            name = ".".join([*package[: len(package) - level + 1], *filter(None, [name])])
        if not belongs(name, "numpy"):
            return importlib.__import__(name, globals, locals, fromlist, 0)
        module = importlib.import_module(name)
        if belongs(name, "numpy._core.tests"):
            return module
        if not fromlist:
            self._require(name)
        return self.namespace(name if fromlist else "numpy")

    def _require(self, name: str) -> None:
        """Raise the right error if ``import a.b as c`` is about to fail."""
        value = self.namespace("numpy")
        for part in name.split(".")[1:]:
            value = getattr(value, part)
        if error := error_in(value):
            raise error.with_traceback(None)

    def namespace(self, path: str) -> Namespace:
        if path not in self._namespaces:
            self._namespaces[path] = Namespace(self, path)
        return self._namespaces[path]

    # ---- names

    def lookup(self, module: str, name: str) -> Any:
        """The object that ``module.name`` stands for."""
        if belongs(module, "numpy.testing"):
            return self._testing(module, name)
        if self._random and module == "numpy.random":
            return getattr(self._random, name)
        real_module = importlib.import_module(module)
        if not hasattr(real_module, name):
            try:
                importlib.import_module(f"{module}.{name}")
            except ImportError:
                raise AttributeError(f"module {module!r} has no attribute {name!r}") from None
        real = getattr(real_module, name)
        if isinstance(real, types.ModuleType) and belongs(real.__name__, "numpy"):
            return self._lookup_module(real, module, name)
        if name == "sctypes":
            return {
                kind: [self.lookup("numpy", c.__name__) if hasattr(numpy, c.__name__) else c for c in classes]
                for kind, classes in real.items()
            }
        public = public_path(module, name)
        if public:
            try:
                value = self._from_target(public)
                if self.observer and not isinstance(value, (type, numpy.ufunc)):
                    return Watched(value, self.observer) if callable(value) else value
                return value
            except AttributeError:
                pass
        if self.is_numpy or is_neutral(module, name):
            return real
        return self._give_missing(public or f"{module}.{name}")

    def _lookup_module(self, real: types.ModuleType, module: str, name: str) -> Any:
        path = real.__name__
        private = path not in PUBLIC and any(p.startswith("_") for p in path.split("."))
        if self._random and path == "numpy.random":
            return self._random
        if private or self.is_numpy or path in ("numpy.lib", "numpy.exceptions", "numpy.dtypes", "numpy.testing"):
            return self.namespace(path)
        try:
            value = self._from_target(path)
        except AttributeError:
            if is_neutral(module, name):
                return real
            return self._give_missing(path)
        return self.namespace(path) if isinstance(value, types.ModuleType) else value

    def _from_target(self, path: str) -> Any:
        """Follow a public path of NumPy in the target."""
        names = path.split(".")[1:]
        value = self.target
        for name in names:
            try:
                value = getattr(value, name)
            except AttributeError:
                if not isinstance(value, types.ModuleType):
                    raise
                try:
                    value = importlib.import_module(f"{value.__name__}.{name}")
                except ImportError:
                    break
        else:
            return value
        if names[0] in ("exceptions", "dtypes") and hasattr(self.target, names[-1]):
            return getattr(self.target, names[-1])
        raise AttributeError(path)

    def _give_missing(self, path: str) -> Broken:
        error = AttributeError(f"{self.name} has no {path.removeprefix('numpy.')!r}")
        if not self.collecting:
            raise error
        return self._missing.setdefault(path, Broken(path.rpartition(".")[2], error))

    # ---- numpy.testing

    def _testing(self, module: str, name: str) -> Any:
        value = getattr(importlib.import_module(module), name)
        if isinstance(value, types.ModuleType):
            return self.namespace(value.__name__)
        if name == "_gen_alignment_data":
            return functools.partial(self._alignment_data, value)
        if name.startswith(_CONVERTED) and name not in _NOT_CONVERTED:
            return self._converting(value)
        return value

    def _converting(self, assertion: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(assertion)
        def wrapper(*args: Any, **kwargs: Any) -> Any:
            __tracebackhide__ = True
            return assertion(*map(self.to_numpy, args), **{k: self.to_numpy(v) for k, v in kwargs.items()})

        return wrapper

    def _alignment_data(self, generate: Callable[..., Any], *args: Any, **kwargs: Any) -> Iterator[tuple[Any, ...]]:
        for *arrays, message in generate(*args, **kwargs):
            yield (*map(self.from_numpy, arrays), message)

    def from_numpy(self, value: Any) -> Any:
        """Turn an array of NumPy into one of the target."""
        if self.is_numpy or not isinstance(value, numpy.ndarray):
            return value
        return self.target.asarray(value)

    def to_numpy(self, value: Any) -> Any:
        """Replace arrays of the target by NumPy's, also within containers."""
        if self.is_numpy:
            return value
        if targets.is_array(value, self.target):
            return targets.to_numpy(value)
        if type(value) in (list, tuple):
            new = type(value)(map(self.to_numpy, value))
            return value if all(a is b for a, b in zip(value, new, strict=True)) else new
        if type(value) is dict:
            return {k: self.to_numpy(v) for k, v in value.items()}
        return value

    def seed(self) -> None:
        """Make the tests that draw random numbers repeatable."""
        random.seed(0)
        numpy.random.seed(0)
        seed = getattr(getattr(self.target, "random", None), "seed", None)
        if seed is not None and not self.is_numpy:
            seed(0)
