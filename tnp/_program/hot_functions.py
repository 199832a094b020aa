"""``python -m tnp --compile``: functions of the program that take much time in many calls are compiled while it runs.

Layer: owns which functions are tried, when, and whether compiled code stays. A function is tried once its calls have
taken longer than compiling usually does, and stays compiled if it is then faster.
"""

from __future__ import annotations

import ast
import functools
import importlib.machinery
import inspect
import sys
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any

from backend_torch.tensors import trace_state
from tnp._autograph import effects
from tnp._compile.compile import compile as compiled_function
from tnp._core.base import SCALARS, ndarray
from tnp._transforms import pytree

_SECONDS = 2.0  # a function is tried after so much time in it
_CALLS = 10  # and after so many calls
_TIMED = 5  # so many calls of compiled code decide whether it stays
_MOST_TRACES = 4
_FASTER = 0.95  # of the time of a call before
_DECORATOR = '__import__("tnp._program.hot_functions", None, None, ("watched",)).watched'
_active = threading.local()

found: list[HotFunction] = []
"""The functions of the program that are watched."""


class HotFunction:
    """A function of the program: its calls and seconds, and what became of it.

    Attributes
    ----------
    outcome : str
        Why it is compiled, or is not.
    is_settled : bool
        Whether its own code runs from now on.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function
        self.calls, self.seconds = 0, 0.0
        self.compiled: Any = None
        self.traces = 0
        self.timed: list[float] = []
        self.outcome = "not called often, or not for long"
        self.is_settled = False

    @property
    def name(self) -> str:
        """The function's name and place."""
        return trace_state.named(self.function)

    def call(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Call the function, or its compiled code; note the time."""
        running = _active.__dict__.setdefault("functions", set())
        if id(self) in running:
            return self.function(*args, **kwargs)
        running.add(id(self))
        try:
            if self.compiled is None and (self.calls < _CALLS or self.seconds < _SECONDS):
                return self._measured(args, kwargs)
            return self._compiled(args, kwargs)
        finally:
            running.discard(id(self))

    def _measured(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        start = time.perf_counter()
        result = self.function(*args, **kwargs)
        self.seconds += time.perf_counter() - start
        self.calls += 1
        leaves = [leaf for _, leaf in pytree.named((args, kwargs), "")]
        if not any(isinstance(leaf, ndarray) and type(leaf) not in SCALARS for leaf in leaves):
            self._settle("not compiled: it was called without an array")
        return result

    def _compiled(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if self.compiled is None:
            self.compiled = compiled_function(self.function, fullgraph=True)
        start = time.perf_counter()
        try:
            with effects.strict():
                result = self.compiled(*args, **kwargs)
        except Exception as error:
            is_of_trace = isinstance(error, trace_state.OfTracing) or self.compiled.cache_info().traces == self.traces
            if not is_of_trace:
                raise
            self._settle(f"not compiled: {error}")
            return self.function(*args, **kwargs)
        if len(self.timed) < _TIMED:
            self._judge(time.perf_counter() - start)
        return result

    def _judge(self, elapsed: float) -> None:
        before, self.traces = self.traces, self.compiled.cache_info().traces
        if self.traces > _MOST_TRACES:
            self._settle(f"not compiled: {self.traces} kinds of arguments would each be compiled")
        if self.traces > before:  # it was compiled in this call
            return
        self.timed.append(elapsed)
        ours, theirs = sorted(self.timed)[len(self.timed) // 2], self.seconds / self.calls
        seconds = self.compiled.cache_info().compile_seconds
        text = f"{theirs * 1e3:.3g} ms a call, {ours * 1e3:.3g} ms compiled, which took {seconds:.2g} s"
        self.outcome = f"compiled: {text}"
        if len(self.timed) == _TIMED and ours > _FASTER * theirs:
            self._settle(f"not compiled: no faster, {text}")

    def _settle(self, outcome: str) -> None:
        self.outcome, self.is_settled, self.compiled = outcome, True, None


def watched(function: Any) -> Any:
    """Return a function of the program that is compiled once that pays; generators and coroutines as they are."""
    if inspect.isgeneratorfunction(function) or inspect.iscoroutinefunction(function):
        return function
    hot = HotFunction(function)
    found.append(hot)

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        # The trace of another function converts this cell's function.
        if hot.is_settled or trace_state.is_tracing():
            return function(*args, **kwargs)
        return hot.call(args, kwargs)

    return call


def report() -> list[str]:
    """Return a line for each function that was called, the longest first."""
    called = sorted([hot for hot in found if hot.calls], key=lambda hot: -hot.seconds)
    return [f"{hot.name}: {hot.outcome}" for hot in called]


# The program's source.


def _instrumented(tree: ast.Module) -> ast.Module:
    """Put `watched` around the functions of a module and the methods of its classes, closest to each."""

    def visit(node: ast.AST) -> None:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.FunctionDef):
                if not child.name.startswith("__") or child.name == "__call__":
                    decorator = ast.parse(_DECORATOR, mode="eval").body
                    for each in ast.walk(decorator):
                        ast.copy_location(each, child)
                    child.decorator_list.append(decorator)
            elif not isinstance(child, (ast.AsyncFunctionDef, ast.expr)):
                visit(child)

    visit(tree)
    return tree


class Loader(importlib.machinery.SourceFileLoader):
    """A module of the program whose functions are watched; its code is compiled anew each time."""

    def get_code(self, fullname: str) -> Any:
        """Return the module's code."""
        path = self.get_filename(fullname)
        return self.source_to_code(self.get_data(path), path)

    def source_to_code(self, data: Any, path: Any, *, _optimize: int = -1) -> Any:  # type: ignore[override]
        """Return the code of a source with watched functions."""
        return compile(_instrumented(ast.parse(data, path)), path, "exec", dont_inherit=True, optimize=_optimize)


class Finder:
    """Finds the program's own modules, for `Loader`; ``are_users`` says of a file whether it is one."""

    def __init__(self, are_users: Callable[[dict[str, Any]], bool]) -> None:
        self.are_users = are_users

    def find_spec(self, name: str, path: Sequence[str] | None = None, target: Any = None) -> Any:
        """Return the module's specification, or None if another finder should look for it."""
        spec = importlib.machinery.PathFinder.find_spec(name, path, target)
        if spec is None or type(spec.loader) is not importlib.machinery.SourceFileLoader:
            return None
        if not self.are_users({"__file__": spec.origin}):
            return None
        spec.loader = Loader(name, str(spec.origin))
        return spec


def install(are_users: Callable[[dict[str, Any]], bool]) -> Callable[[], None]:
    """Watch the functions of modules that are imported from now on; return what undoes it."""
    finder = Finder(are_users)
    sys.meta_path.insert(0, finder)
    return lambda: sys.meta_path.remove(finder)
