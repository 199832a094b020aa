"""Compiled functions whose graph is cut: Python runs the statements that need values, and graphs those between.

Layer: owns where a function is cut and why, and how each part runs. A part is compiled for its first arguments, and
with open sizes for others. A part that can't be a graph is split again at the statement that is the reason.
"""

from __future__ import annotations

import functools
import itertools
import os
import sys
import types
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from backend_torch.tensors import trace_state
from backend_torch.tensors.aliasing import OverlapError
from tnp._array.numbers import number_of
from tnp._autograph import conversion, rewriting
from tnp._autograph.pieces import Function, Part
from tnp._autograph.values import Undefined
from tnp._compile import call_codegen, explanation, progress
from tnp._compile.graph import Graph
from tnp._core.base import number
from tnp._core.convert import asarray
from tnp._core.dtypes import DtypeError
from tnp._transforms import pytree

_MOST = 4  # traces of a part with open sizes; then Python runs it for other arguments
_MOST_MISSES = 16  # calls without a trace for their arguments: to ask for one takes longer than most parts
_FEW = 16  # operations of small arrays: Python runs a part that takes no longer, as the call of a part takes 3 to 8 µs
_FEW_OF_NUMBERS = 32  # the same of numbers alone: one operation takes 0.1 µs
_UNREACHED, _COMPILED = "not reached yet", ""
_ENOUGH_CALLS = 64  # after which a part that no call has reached is not expected to be
_FOR_EACH = 4  # for each item of lists among the arguments
_MOST_LEAVES = 16
_LARGE = 2**31  # an int beyond this is not traced
_LIBRARIES = frozenset({"tnp", "numpy", "torch", *sys.stdlib_module_names} - {"__main__"})
_PLAIN = frozenset({type(None), bool, int, float, complex, str, bytes, range, slice, type, type(Ellipsis)})


class CutError(Exception):
    """A function can't be traced whole; ``error`` says why."""

    def __init__(self, error: Exception) -> None:
        super().__init__(error)
        self.error = error


class TooManyError(Exception):
    """A part has as many traces as it may have."""


class Cutting:
    """Where the graph of one compiled function is cut.

    Parameters
    ----------
    name : str
        The function and its line, for messages.
    compiled : callable
        ``compiled(function, opened, is_open, most)`` returns the traces of a part, which are so many at most.
    """

    def __init__(self, name: str, compiled: Callable[..., Any]) -> None:
        self.name = name
        self.compiled = compiled
        self.lines: dict[str, set[int]] = {}
        self.reasons: dict[str, str] = {}  # file and line -> why it is cut there
        self.parts: list[_Part] = []
        self.is_pythons = False  # whether Python runs all parts
        self._calls = 0
        self._functions: dict[types.FunctionType, Any] = {}

    def note(self, error: Exception) -> bool:
        """Cut at the statements that an error was raised from; return whether one is new. Warn once of each.

        An error may know the line that is the reason better than its traceback does.
        """
        found = trace_state.lines_of(error)
        file, _, number = getattr(error, "line", "").rpartition(":")
        if file and int(number) not in self.lines.get(file, ()):
            found = [(file, int(number))]
        before = self._count()
        for file, line in found:
            self.lines.setdefault(file, set()).add(line)
        if self._count() > before:
            self._tell(f"{found[-1][0]}:{found[-1][1]}", error)
            return True
        return False

    def _count(self) -> int:
        return sum(map(len, self.lines.values()))

    def _tell(self, line: str, error: Exception) -> None:
        why = trace_state.cut_reason(error) or f"what is called needs values ({error})"
        why = why.removeprefix(f"{line}: ")
        if line not in self.reasons:
            self.reasons[line] = why
            file, _, number = line.rpartition(":")
            warnings.warn_explicit(
                f"tnp.compile: {self.name} is cut at {line}: {why}. Python runs this statement at each call; what "
                "comes before and after it is compiled. fullgraph=True makes this an error",
                RuntimeWarning,
                file,
                int(number),
            )

    def note_whole(self, function: Any, error: Exception) -> None:
        """Let Python run the function: no statement of it is known to be the reason, but perhaps what it returns."""
        code = trace_state.programs_code(function)
        line = trace_state.user_line() if code is None else f"{code.co_filename}:{code.co_firstlineno}"
        if code is not None:
            lines = {line for _, _, line in code.co_lines() if line}
            self.lines.setdefault(code.co_filename, set()).update(lines)
        self._tell(line, error)

    def whole(self, function: Any) -> Any:
        """Return the function in parts, or as it is, if its source is not known or Python runs all parts."""
        self._calls += 1
        if self.is_pythons:
            return function
        if self._calls == _ENOUGH_CALLS:
            self.check(self._calls)
        if isinstance(function, types.MethodType):
            return types.MethodType(self.whole(function.__func__), function.__self__)
        if not isinstance(function, types.FunctionType) or trace_state.is_own(function.__code__.co_filename):
            return function
        if function not in self._functions:
            self._functions[function] = self._whole(function)
        return self._functions[function]

    def check(self, calls: int = 0) -> None:
        """Leave the function to Python if no part is compiled, and after many calls none is expected to be."""
        hows = {part.how for part in self.parts}
        self.is_pythons = _COMPILED not in hows and (calls >= _ENOUGH_CALLS or _UNREACHED not in hows)

    def _whole(self, function: types.FunctionType) -> Any:
        lines = self.lines.get(function.__code__.co_filename, set())
        try:
            split = Function(function)
            return split.split(None, lines, lambda part: self._part(split, part), self.within)
        except (rewriting.NotConvertible, SyntaxError) as error:
            progress.log.info("tnp.compile: Python runs %s: %s", function.__qualname__, error)
            return function

    def explained(self) -> tuple[list[Graph], list[tuple[str, int, str]]]:
        """Return the graphs of the parts, and the places of the program with what became of them."""
        graphs: list[Graph] = []
        places = list(explanation.cut_places(self.reasons))
        for part in self.parts:
            if part.how == "split":
                continue
            own = part.made[-1].graphs() if part.how == _COMPILED else []
            count = len(own[-1]) if own else 0
            text = (
                part.how or f"a graph{' for all sizes' if any(each.is_open for each in part.variants.values()) else ''}"
            )
            last = part.part.lines[-1]
            ending = f" to line {last}" if last != part.part.lines[0] else ""
            places.append((part.function.file, part.part.lines[0], f"{text}{ending}"))
            graphs += own[-1:] if count else []
            places += [place for graph in own[-1:] for place in explanation.kept(graph)]
        return graphs, places

    def _part(self, function: Function, part: Part) -> _Part:
        made = _Part(self, function, part)
        self.parts.append(made)
        return made

    def within(self, function: Any) -> Any:
        """Return what a statement that Python runs calls: a function of the program that is cut runs in parts, too."""
        plain = function.__func__ if type(function) is types.MethodType else function
        if type(plain) is types.FunctionType:
            code = plain.__code__
            file = code.co_filename
            if file in self.lines and not file.startswith(conversion.OWN) and not code.co_freevars:
                last = max([line for _, _, line in code.co_lines() if line], default=code.co_firstlineno)
                if any(code.co_firstlineno <= line <= last for line in self.lines[file]):
                    return self.whole(function)
        return function


class _Part:
    """A part of a function: ``call`` is how it runs next."""

    def __init__(self, cutting: Cutting, function: Function, part: Part) -> None:
        self.cutting = cutting
        self.function = function
        self.part = part
        self.how = _UNREACHED  # or why Python runs it; empty if it is compiled
        self.traced: Any = None
        self.made: list[Any] = []  # all signatures
        self.variants: dict[tuple[type, ...], _Variant] = {}
        self.call: Any = self._first

    def __call__(self, *args: Any) -> Any:
        return self.call(*args)

    def _first(self, *args: Any) -> Any:
        try:
            self.traced = self.function.converted(self.part)
        except (rewriting.NotConvertible, SyntaxError) as error:
            return self.by_python(str(error))(*args)
        self.call = self._by_classes
        self.how = _COMPILED
        return self.call(*args)

    def _by_classes(self, *args: Any) -> Any:
        classes = tuple(map(type, args))
        variant = self.variants.get(classes)
        if variant is None:
            if len(self.variants) == _MOST:
                return self.plain(*args)
            variant = self.variants[classes] = _Variant(self, args)
        return variant.call(args)

    def split(self, error: Exception, args: tuple[Any, ...]) -> Any:
        """Run the part after an error of its trace: split at the line of the error, or by Python."""
        if trace_state.cut_reason(error) is None:
            values = self.plain(*args)  # raises the program's own errors
            self.by_python(str(error))
            return values
        while self.cutting.note(error) and not self.lines:
            pass  # the line is outside of the part; the statement of the part that led there is next
        if lines := self.lines:
            self.how = "split"
            self.call = self.function.split(
                self.part, lines, lambda part: self.cutting._part(self.function, part), self.cutting.within
            )
            return self.call(*args)
        return self.by_python(trace_state.cut_reason(error) or "")(*args)

    @property
    def place(self) -> str:
        """The file and the lines of the part."""
        lines = self.part.lines
        return f"{os.path.basename(self.function.file)}:{lines[0]}{f'-{lines[-1]}' if len(lines) > 1 else ''}"

    @property
    def lines(self) -> set[int]:
        """The lines of the part that are cut."""
        return self.cutting.lines.get(self.traced.__code__.co_filename, set()) & set(self.part.lines)

    @property
    def plain(self) -> Any:
        """The part as Python runs it."""
        if "_plain" not in self.__dict__:
            self._plain = self.function.plain(self.part)
        return self._plain

    def by_python(self, why: str) -> Any:
        self.how = f"Python runs it: {why}"
        self.call = self.plain
        self.cutting.check()
        return self.call


class _Variant:
    """A part for arguments of some classes."""

    def __init__(self, part: _Part, args: tuple[Any, ...]) -> None:
        self.part = part
        self.first = {index: value for index, value in enumerate(args) if type(value) is int}
        self.open: set[int] = set()  # ints that have differed: they are traced
        self.static: set[int] = set()  # ints that Python needs
        leaves = [index for index, x in enumerate(args) if pytree.is_array(x) or pytree.children(x) is None]
        self.is_refused = not _can_be_given([args[index] for index in leaves])  # as all values of these classes
        self.others = [index for index in range(len(args)) if index not in leaves]
        self.is_open = False
        self.misses = 0  # calls with arguments for which there is no trace
        self._renew(False)

    def _renew(self, is_open: bool) -> None:
        """Begin with new traces, because an int or a size has another value than before."""
        is_number = frozenset(self.open)

        def opened(function: Any) -> Any:
            @functools.wraps(function)
            def run(*args: Any) -> Any:
                return function(*[number_of(x.tensor, _LARGE) if i in is_number else x for i, x in enumerate(args)])

            return run if is_number else function

        self.is_open = is_open
        self.signatures = self.part.cutting.compiled(self.part.traced, opened, is_open, 1)
        self.part.made.append(self.signatures)

    def call(self, args: tuple[Any, ...]) -> Any:
        """Return the variables that the part gives."""
        if self.is_refused or (self.others and not _can_be_given([args[index] for index in self.others])):
            return self.part.plain(*args)
        if self.open and any(abs(args[index]) > _LARGE for index in self.open):
            return self.part.plain(*args)  # Python's ints have any size
        changed = {i for i, value in self.first.items() if args[i] != value} - self.open - self.static
        if changed := {index for index in changed if abs(args[index]) <= _LARGE}:
            self.open |= changed
            self._renew(self.is_open)
        given = args
        if self.open:
            given = tuple([asarray(x) if i in self.open else x for i, x in enumerate(args)])
        signatures = self.signatures
        try:
            if signatures.traces == 0 and not self.part.part.has_loops and _has_few(signatures, given):
                return self.part.by_python("it has few operations")(*args)
            values = signatures.call(given, {})
        except TooManyError:
            if signatures.most_traces == _MOST:
                self.misses += 1
                self.is_refused = self.misses > _MOST_MISSES
                return self.part.plain(*args)
            if signatures.can_open():
                self._renew(True)
            self.signatures.most_traces = _MOST
            return self.call(args)
        except CutError as cut:
            if self.open:
                self.static |= self.open
                self.open = set()
                self._renew(self.is_open)
                return self.call(args)
            return self.part.split(cut.error, args)
        except OverlapError:
            return self.part.plain(*args)
        except (RuntimeError, IndexError) as error:
            explained = signatures.explained(error, given, {})
            if explained is error:
                raise
            raise explained from None
        return tuple([_python(value) for value in values])


def _has_few(signatures: Any, args: tuple[Any, ...]) -> bool:
    """Whether the graph for these arguments has so few operations that the call of it takes longer."""
    most = max([leaf.size for leaf in args if pytree.is_array(leaf)], default=0)
    items = [leaf for each in args if not pytree.is_array(each) for leaf in pytree.named(each, "")]
    few = (_FEW_OF_NUMBERS if most == 1 else _FEW) + _FOR_EACH * len(items)
    return bool(signatures.weight(args, most) < few)


def _python(value: Any) -> Any:
    """Return a variable with Python's numbers in place of those that a graph computed."""
    if type(value) is number:
        return value.item()
    if type(value) in (list, tuple, dict):
        return pytree.mapped(_python, value, lambda leaf: type(leaf) is number) if _holds_number(value) else value
    return value


def _holds_number(value: Any) -> bool:
    return any(type(leaf) is number for _, leaf in pytree.named(value, ""))


def _can_be_given(values: list[Any]) -> bool:
    """Whether a graph may have variables as arguments: no iterator, and no container that it would change once only.

    A list of many arrays is Python's: to recognise each of them takes longer than to make one array of it.
    """
    if sum([len(value) for value in values if type(value) in (list, tuple, dict)]) > _MOST_LEAVES:
        return False  # without a look at each of them
    leaves = [leaf for _, leaf in itertools.islice(pytree.named(values, ""), _MOST_LEAVES + 1)]
    return len(leaves) <= _MOST_LEAVES and all(map(_is_known, leaves))


def _is_known(leaf: Any) -> bool:
    kind: Any = type(leaf)
    if pytree.is_array(leaf) or kind in _PLAIN or isinstance(leaf, (Undefined, types.ModuleType, np.dtype, np.ufunc)):
        return True
    if isinstance(leaf, (types.FunctionType, types.BuiltinFunctionType, types.MethodType)):
        return True
    own = kind.__module__.partition(".")[0]
    return hasattr(leaf, "__dict__") and own not in _LIBRARIES


def taken(given: list[Any]) -> list[Any]:
    """Return arguments with tnp's arrays in place of NumPy's, over the same memory: one for one that is given twice."""
    made = {id(each): _taken(each) for each in given if type(each) is np.ndarray}
    return [made.get(id(each), each) for each in given]


def _taken(array: np.ndarray) -> Any:
    try:
        return asarray(array)
    except DtypeError:  # of strings and the like, which NumPy computes with
        return array


def check(given: list[Any], taken: list[Any]) -> None:
    """Raise NotImplementedError if a function has set the shape, dtype or flags of a NumPy array."""
    for one, other in zip(given, taken, strict=True):
        if one is not other and (
            one.shape != other.shape or one.dtype != other.dtype or one.flags.writeable != other.flags.writeable
        ):
            raise call_codegen.of_numpys_array()
