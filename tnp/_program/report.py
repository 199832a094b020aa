"""``python -m tnp --report``: a program's calls, where they ran and why, their time, and their lines.

Layer: owns what is counted. Nothing of it is loaded unless it is asked for: ``watch`` puts a clock around the functions
and methods that a program can call, and calls that those make in turn are part of them.
"""

from __future__ import annotations

import functools
import sys
import threading
import time
import types
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from backend_torch.tensors.trace_state import user_line
from backend_torch.tensors.transfers import Watch
from tnp._array import methods, protocols
from tnp._core import host_fallback
from tnp._core.base import ndarray, readonly, scalar
from tnp._creation.filled import empty
from tnp._ufunc import gufunc
from tnp._ufunc import ufunc as _ufunc
from tnp.random import _distributions, _generator, _random_state

TORCH = "torch"
NO_TENSOR = "host: no tensor holds the data"
STREAM = "host: NumPy's random stream"
COMPUTED = "host: NumPy computes it"
READ = "host: read as NumPy's"
NUMPY = "host: NumPy's own function"

_FEW = 3
"""As many values may pass through NumPy: a shape, a tolerance, a number to print; more is computing there."""

_UFUNC_METHODS = ("__call__", "reduce", "accumulate", "reduceat", "outer", "at")
_UNWATCHED = frozenset({"__new__", "__init__", "__init_subclass__", "__class_getitem__", "__torch_function__"})
_READS = frozenset(
    {"__array__", "__array_interface__", "__dlpack__", "tolist", "tobytes", "__repr__", "__str__", "__format__"}
)


@dataclass
class Row:
    """One function at one place: its calls by line, seconds, and bytes between devices."""

    calls: int = 0
    seconds: float = 0.0
    nbytes: int = 0
    lines: Counter[str] = field(default_factory=Counter)


class _Thread(threading.local):
    """The call in progress in this thread: whether there is one, and why it left torch if it did."""

    def __init__(self) -> None:
        self.inside = False
        self.why = TORCH


class Record:
    """The calls since the start.

    Attributes
    ----------
    rows : dict
        (function, where it ran) -> Row.
    """

    HOST = NUMPY

    def __init__(self) -> None:
        self.rows: dict[tuple[str, str], Row] = {}
        self.transfers = Watch(False)
        self._thread = _Thread()
        self._lock = threading.Lock()

    def timed(self, name: str | None, function: Callable[..., Any], where: str = TORCH) -> Callable[..., Any]:
        """Add a clock to a function; without a name it is a ufunc's method, and the ufunc has the name."""
        thread = self._thread

        @functools.wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            if thread.inside:
                return function(*args, **kwargs)
            thread.inside, thread.why = True, where
            before = len(self.transfers.log)
            start = time.perf_counter()
            try:
                return function(*args, **kwargs)
            finally:
                elapsed = time.perf_counter() - start
                thread.inside = False
                label = _ufunc_label(args[0], function) if name is None else name
                self._add(label, thread.why, elapsed, sum(each.nbytes for each in self.transfers.log[before:]))

        return call

    def _add(self, name: str, where: str, elapsed: float, nbytes: int) -> None:
        with self._lock:
            row = self.rows.setdefault((name, where), Row())
            row.calls += 1
            row.seconds += elapsed
            row.nbytes += nbytes
            row.lines[user_line()] += 1

    def leaving(self, why: str, function: Callable[..., Any]) -> Callable[..., Any]:
        """Wrap a function by which a call leaves torch, and record calls with more than a few values."""
        thread = self._thread

        @functools.wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            if thread.why == TORCH and (why != COMPUTED or args[0].numel() > _FEW):
                thread.why = why
            return function(*args, **kwargs)

        return call

    def table(self) -> Any:
        """Return the rows as a rich table, the longest first."""
        from rich import box
        from rich.table import Table

        table = Table(title="python -m tnp: what ran where", title_justify="left", box=box.SIMPLE, pad_edge=False)
        table.add_column("function", no_wrap=True)
        table.add_column("where")
        for name in ("calls", "seconds", "bytes"):
            table.add_column(name, justify="right")
        table.add_column("lines", overflow="fold")
        for (name, where), row in sorted(self.rows.items(), key=lambda item: -item[1].seconds):
            lines = [f"{line.rpartition('/')[2]} x{count}" for line, count in row.lines.most_common(3)]
            more = len(row.lines) - len(lines)
            lines += [f"and {more} more"] if more else []
            table.add_row(name, where, f"{row.calls:,}", f"{row.seconds:.6f}", f"{row.nbytes:,}", ", ".join(lines))
        on_host = sum(row.seconds for (_, where), row in self.rows.items() if where != TORCH)
        total = sum(row.seconds for row in self.rows.values())
        moved = sum(row.nbytes for row in self.rows.values())
        table.caption = f"{total:.6f} s, {on_host:.6f} s of them on the host; {moved:,} bytes between devices"
        return table

    def print(self) -> None:
        """Print the table, beside the program's output."""
        from rich.console import Console

        console = Console(stderr=True, width=None if sys.stderr.isatty() else 160, markup=False)
        console.print(self.table())
        hot_functions: Any = sys.modules.get("tnp._program.hot_functions")
        for line in [] if hot_functions is None else hot_functions.report():
            console.print(line, soft_wrap=True)


def _ufunc_label(ufunc: Any, method: Callable[..., Any]) -> str:
    return f"numpy.{ufunc.__name__}" if method.__name__ == "__call__" else f"numpy.{ufunc.__name__}.{method.__name__}"


def watch() -> Record:
    """Put clocks around arrays' methods and operators, ufuncs, generators and exits from torch, for good."""
    record = Record()
    arrays: tuple[type, ...] = (methods.Methods, ndarray, scalar, readonly)
    ufuncs = (_ufunc.Ufunc, _ufunc.UnaryUfunc, _ufunc.UnaryPairUfunc, _ufunc.BinaryUfunc, gufunc.GeneralizedUfunc)
    generators = (_generator.Generator, _random_state.RandomState, _distributions.Distributions)
    for cls in arrays:
        for name, function in _functions(cls):
            where = READ if name in _READS else TORCH
            type.__setattr__(cls, name, record.timed(f"ndarray.{name}", function, where))
    for cls in ufuncs:
        for name, function in _functions(cls):
            if name in _UFUNC_METHODS:
                type.__setattr__(cls, name, record.timed(None, function))
    for cls in generators:
        for name, function in _functions(cls):
            if not name.startswith("_"):
                type.__setattr__(cls, name, record.timed(f"numpy.random.{name}", function, STREAM))
    tensor_class = type(empty(0).tensor)
    type.__setattr__(tensor_class, "numpy", record.leaving(COMPUTED, tensor_class.numpy))
    host_fallback.on_host = record.leaving(NO_TENSOR, host_fallback.on_host)
    host_fallback.by_method = record.leaving(NUMPY, host_fallback.by_method)
    protocols._host_ufunc = record.leaving(NUMPY, protocols._host_ufunc)
    record.transfers.__enter__()
    return record


def _functions(cls: type) -> list[tuple[str, types.FunctionType]]:
    """The functions of a class itself."""
    return [
        (name, value)
        for name, value in cls.__dict__.items()
        if isinstance(value, types.FunctionType) and name not in _UNWATCHED
    ]
