"""``tnp.compile``: a function of arrays runs once in Python for each signature, then as machine code.

Layer: owns what a signature is, and the call. What a graph is and how it becomes a program is the backend's.
"""

from __future__ import annotations

import contextlib
import copy
import dataclasses
import functools
import importlib
import inspect
import itertools
import logging
import math
import operator
import os
import threading
import time
import warnings
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from backend_torch.graphs import checking, compiling, exporting, nan_checks, operations, packaging, symbolic
from backend_torch.graphs import costs as graph_costs
from backend_torch.graphs.checking import EagerCheckError as EagerCheckError
from backend_torch.graphs.graph import Graph as TracedGraph
from backend_torch.tensors import devices, memory, trace_state
from backend_torch.tensors.aliasing import OverlapError
from backend_torch.tensors.trace_state import TracedValueError as TracedValueError
from backend_torch.torch_private import dynamo, messages
from tnp._autograph import conversion, effects, surroundings, windows
from tnp._autograph.operators import converted
from tnp._compile import call_codegen, explanation, pieces, progress, saving, shutdown
from tnp._compile.costs import Cost, Profile
from tnp._compile.graph import Graph
from tnp._compile.input_signature import InputSignature
from tnp._compile.outer_state import OuterState, containers, differences
from tnp._compile.static_arguments import StaticArguments
from tnp._core.base import ndarray
from tnp._core.convert import tensor_of
from tnp._core.errors import explain
from tnp._core.strided_views import undescribed
from tnp._transforms import of_compiled, pytree, traced_numbers
from tnp._transforms.traced_numbers import KINDS, Number, ValueNeeded
from tnp._ufunc import errstate

Tensor = Any
_lock = threading.RLock()  # torch's tracer and compiler are global to the process
_REPEATS = 5  # runs of a profile; the fastest counts
_MANY_TRACES = 8  # a function that is traced this often gets a warning
_OFTEN = 100  # calls with open sizes after which some sizes get code of their own


class _Uncompiled(threading.local):
    """The scope of a compiled function that has said why it runs in Python."""

    depth = 0

    def __enter__(self) -> None:
        self.depth += 1

    def __exit__(self, *error: object) -> None:
        self.depth -= 1


_uncompiled = _Uncompiled()
_NOTHING = contextlib.nullcontext()
_told_of_transform: set[Any] = set()  # code of functions that a transform ran in Python


class _Counts(NamedTuple):
    traces: int
    hits: int
    compile_seconds: float


class CacheInfo(_Counts):
    """The result of ``fn.cache_info()``: three numbers, and ``programs``, a line of text for each trace there is."""

    programs: tuple[str, ...] = ()

    def __str__(self) -> str:
        return "\n".join([repr(self), *self.programs])


class _Arguments(NamedTuple):
    """The arguments of a call, with traced numbers among them, and as they were given."""

    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    given: tuple[tuple[Any, ...], dict[str, Any]]


class _OneSize(Exception):
    """A trace with open sizes is for one size alone."""


class _Entry:
    """A signature's trace, and how the function's result is built from the trace's results.

    ``why`` says what was new when it was traced; ``make`` is what makes its shortcut, None where there can be none;
    ``only`` is the signature of what left sizes open and could not, None otherwise; ``open`` says which captures are
    found in which place outside; ``alike`` is the key of all signatures that differ from its own in sizes alone, and
    ``shapes`` are those that it was traced for; ``is_for_all_gaps`` says that the program takes arguments without gaps
    in their memory.
    """

    __slots__ = (
        "alike",
        "build",
        "executable",
        "has_effects",
        "is_for_all_gaps",
        "make",
        "only",
        "open",
        "outer",
        "shapes",
        "text",
        "why",
    )

    def __init__(
        self,
        executable: compiling.Executable,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        result: call_codegen.Result,
        outer: OuterState,
        only: Any,
    ) -> None:
        self.executable = executable
        self.outer = outer
        self.open = outer.captured(executable.captures)
        self.build = result.build()
        self.has_effects = result.has_effects
        self.make = call_codegen.maker(args, kwargs, result, len(executable.captures), outer, self.open)
        self.only = only
        self.alike: Any = None
        self.is_for_all_gaps = False
        self.shapes: list[Any] = []
        self.text = ""
        self.why = ""

    def captures(self) -> list[Tensor]:
        """Return the tensors from outside that the program takes, read now from where the function found them."""
        if not self.open:
            return self.executable.captures
        arrays = self.outer.arrays()
        return [
            arrays[self.open[number]] if number in self.open else tensor
            for number, tensor in enumerate(self.executable.captures)
        ]

    def graph(self) -> TracedGraph:
        """Return the graph, with the current values of the places that the function read."""
        return dataclasses.replace(self.executable.graph, captures=self.captures())

    def suits(self, tensors: list[Tensor], given: Any) -> bool:
        """Whether the entry fits these tensors (their pattern, if sizes are left open) and the values outside."""
        return self._suits(tensors) and self.outer.holds(given)

    def _suits(self, tensors: list[Tensor]) -> bool:
        if self.only is not None:
            return compiling.signature(tensors) == self.only
        return self.executable.suits(tensors)


_OF_OVERLAP = (
    "it writes, in a branch, a loop or a batch, to an array that overlaps another one. Pass a copy of one of them"
)
_OF_CHECKS = "np.errstate asks for checks of floating-point errors here, which machine code does not have"


class _Signatures:
    """The traces of one function, ordered by their last use, except that the shortcut's trace was used last.

    ``call`` is what a call does first: a shortcut for arguments like the last ones.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        options: dict[str, Any],
        dynamic: bool | None,
        eager_check: bool,
        cache_size: int | None,
        autograph: bool = True,
        opened: Callable[[Callable[..., Any]], Callable[..., Any]] = lambda function: function,
        background: bool = False,
        fullgraph: bool | None = True,
        most_traces: float = math.inf,
    ) -> None:
        self.source = function
        self.fullgraph = fullgraph
        self.most_traces = most_traces
        self.arguments_opened = opened
        self.autograph = autograph
        self.cutting: pieces.Cutting | None = None  # once the graph is cut
        self.function = opened(function)
        self.options = options
        self.dynamic = bool(dynamic)
        self.opens = dynamic is None and not eager_check  # sizes, once a second one is seen
        self._closed: set[Any] = set()  # keys of what can't leave sizes open
        self._counts: dict[Any, int] = {}  # calls with open sizes or strides, by key and what is open
        self._without_gaps: dict[Any, compiling.Executable | None] = {}  # None at the first layout, which has gaps
        self.eager_check = eager_check
        self.background = background
        self.cache_size = cache_size
        self.open_axes: list[list[int]] | None = None  # of each array, in a program that is saved
        self.entries: OrderedDict[Any, list[_Entry]] = OrderedDict()  # a key has several entries if sizes are left open
        self.traces = 0
        self.seconds = 0.0
        self.hits = 0
        self._static: dict[
            Any, frozenset[int]
        ] = {}  # of the numbers in arguments, those that Python needs, by structure
        self._last: dict[str, str] = {}
        self._told = False
        self._told_of_notes = False
        self._texts: set[str] = set()  # names that the function makes to ask for attributes
        self._told_of_rule = False
        self.parts: Any = None  # of arrays over several processes
        self.call: Any = self.any_call

    @property
    def current(self) -> Callable[..., Any]:
        """The function as it is now; while tracing, what is traced."""
        is_converted = self.autograph and trace_state.is_tracing()
        return self.arguments_opened(converted(self.source)) if is_converted else self.function

    def any_call(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Return the result for any arguments; the next call with similar arguments takes a shortcut."""
        if compiling.is_inside():
            self._tell_of_transform()
            return self.current(*args, **kwargs)
        if self.cutting is not None and not (self.entries and self._has(args, kwargs)):
            return self._in_parts(args, kwargs)
        try:
            if nan_checks.is_on():
                return self._by_operations(args, kwargs)
            if errstate.asks():
                return self.uncompiled(args, kwargs, _OF_CHECKS)
            with shutdown.waited_for():
                return self._call(args, kwargs)
        except pieces.CutError as cut:
            if self.fullgraph is None:
                raise
            error = cut.error
        cutting = self.cutting or pieces.Cutting(self.name, self._of_part)
        if trace_state.cut_reason(error) is None:
            result = self._on_arrays(self.function, args, kwargs)  # raises the program's own errors
            if cutting.note(error):
                self.cutting = cutting
            return result
        if not cutting.note(error):
            if not isinstance(error, trace_state.OfTracing):
                raise error
            cutting.note_whole(self.source, error)
        self.cutting = cutting
        return self._in_parts(args, kwargs)

    def _tell_of_transform(self) -> None:
        """Warn once that a transform of a function that is not compiled runs this one in Python at each call."""
        code = trace_state.programs_code(self.source) or type(self.source)
        if trace_state.is_tracing() or _uncompiled.depth or code in _told_of_transform:
            return
        _told_of_transform.add(code)
        differentiating, is_batching = trace_state.state.differentiating, trace_state.is_batching()
        name = f"tnp.{differentiating[-1]}" if differentiating else "tnp.vmap" if is_batching else "torch.func"
        trace_state.warn(
            f"tnp.compile: {self.name} runs in Python here, at each call, because {name} has to see each operation of "
            f"the function that it transforms: compile that function (tnp.compile), or the one that calls {name}"
        )

    def _in_parts(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Run the function where its graph is cut."""
        function = self.arguments_opened(self.cutting.whole(self.source))  # type: ignore[union-attr]
        return self._on_arrays(function, args, kwargs)

    def _on_arrays(self, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Run a function with tnp's arrays over the memory of NumPy's; what it sets by `seterr` ends with the call."""
        given = [*args, *kwargs.values()]
        taken = pieces.taken(given) if np.ndarray in map(type, given) else given
        scope = _NOTHING if self.fullgraph is None else errstate.Kept()
        with scope, _uncompiled:
            if taken is given:
                return function(*args, **kwargs)
            result = function(*taken[: len(args)], **dict(zip(kwargs, taken[len(args) :], strict=True)))
        pieces.check(given, taken)
        return result

    def _of_part(self, function: Any, opened: Any, is_open: bool, most: float) -> _Signatures:
        """Return the traces of a part of the function."""
        dynamic = is_open or self.dynamic
        options = self.options, dynamic, self.eager_check, self.cache_size, self.autograph, opened, self.background
        return _Signatures(function, *options, fullgraph=None, most_traces=most)

    def weight(self, args: tuple[Any, ...], most: int) -> float:
        """Return `Graph.weight` of the graph for these arguments."""
        return self._found(args, {})[0].executable.graph.weight(most)

    def _found(self, args: tuple[Any, ...], kwargs: dict[str, Any], open_too: bool = False) -> Any:
        """Return `entry` of the arguments; raise `CutError` if the function can't be traced whole, but in parts."""
        try:
            return self.entry(args, kwargs, open_too=open_too)
        except pieces.TooManyError:
            raise
        except Exception as raised:
            error = messages.uncovered(raised)
            trace_state.raise_of_signal(error)
            if self._is_cut_at(error):
                raise pieces.CutError(error) from error
            if error is raised:
                raise
            raise error from None

    def _is_cut_at(self, error: Exception) -> bool:
        """Whether the program goes on in parts after an error of a trace."""
        if self.fullgraph is not False:
            return self.fullgraph is None
        return trace_state.cut_reason(error) is not None or trace_state.is_librarys(error)

    def _tell_of_rule(self, line: str) -> None:
        """Warn once that a tape records the function uncompiled, as its graph lacks a derivative of the program's."""
        if not self._told_of_rule:
            self._told_of_rule = True
            file, _, number = line.rpartition(":")
            warnings.warn_explicit(
                f"tnp.compile: {self.name} runs uncompiled where a tape records it: {line} calls a function that has a "
                "custom_gradient or custom_jvp, which no graph holds. Compile the step around the tape, or tnp.grad",
                RuntimeWarning,
                file,
                int(number),
            )

    def _by_operations(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Run the operations one by one, with checks; return the result."""
        with nan_checks.paused():
            entry, _, arrays, given, tensors = self._found(args, kwargs)
        values = nan_checks.run(entry.executable, [*tensors, *entry.captures()])
        return self._result(entry, values, arrays, given, tensors, args, kwargs)

    def _call(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if memory.sharded and self._is_sharded(args, kwargs):
            if self.parts is None:
                self.parts = importlib.import_module("tnp._compile.sharded").OverParts(
                    self.function, compile, self.options
                )
            return self.parts(args, kwargs)
        entry, hit, arrays, given, tensors = self._found(args, kwargs, open_too=self.opens)
        if any(map(compiling.is_fake, tensors)):  # fake tensors have no memory that machine code could read
            return self.function(*args, **kwargs)
        inputs = [*tensors, *entry.captures()]
        if trace_state.state.first_run is not None:
            trace_state.state.first_run.reads(inputs)
        if entry.executable.misses_rule(inputs):
            self._tell_of_rule(entry.executable.graph.rules[0])
            return self._on_arrays(self.function, args, kwargs)
        if hit and entry.executable.is_ready(inputs):
            self.hits += 1
            progress.log.debug("tnp.compile: %s: a trace is there", self.name)
            program = entry.executable.program(inputs)
        elif self.background and not self._is_compiled(entry, inputs):
            values = entry.executable.by_operations.program(inputs)(list(inputs))
            return self._result(entry, values, arrays, given, tensors, args, kwargs)
        else:
            found = self._program(entry, inputs)
            if found is None or not entry.suits(tensors, (args, kwargs)):  # compiling has added assumptions
                return self._call(args, kwargs)
            program = found
        if self.eager_check:
            both = (args, kwargs)
            outside = entry.outer.among(both, both)
            _, eager = self._runner(_Arguments(args, kwargs, both), arrays, entry.outer, outside)
            values = checking.checked(entry.executable, inputs, lambda: eager(tensors), program)
        else:
            values = program(list(inputs))
        result = self._result(entry, values, arrays, given, tensors, args, kwargs)
        if (
            entry.make is not None
            and not self.eager_check
            and not progress.log.isEnabledFor(logging.DEBUG)
        ):
            matches = entry.executable.matching(inputs)
            if entry.shapes:
                matches, program = self._counting(entry, matches, program)
            captures, device = entry.executable.captures, devices.state.default
            self.call = entry.make(matches, program, device, captures, self.any_call, self)
            dynamo.look_into(self.inlined, self.call)  # torch.compile can't look into the machine code
        return result

    @staticmethod
    def _result(
        entry: _Entry,
        values: Any,
        arrays: list[Any],
        given: list[Tensor],
        tensors: list[Tensor],
        args: Any,
        kwargs: Any,
    ) -> Any:
        """Build the function's result from the program's; copy values written to stand-ins to the arguments."""
        for index in entry.executable.written:
            if index < len(given):
                _write_back(arrays[index], given[index], tensors[index])
        return entry.build(values, arrays, args, kwargs)

    def explained(self, error: Exception, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Exception:
        """Return NumPy's error for an error that a running compiled function met."""
        if messages.says(error, messages.OUT_OF_BOUNDS) and not compiling.is_inside():
            entry, _, _, _, tensors = self.entry(args, kwargs)
            error = entry.executable.problem([*tensors, *entry.captures()]) or error  # code does not say which
        found = _explained(error) if isinstance(error, RuntimeError) else error
        if isinstance(found, IndexError) and messages.says(found, messages.OF_DIMENSION):
            return IndexError(str(found).replace("for dimension", "for axis"))
        return found

    def uncompiled(self, args: tuple[Any, ...], kwargs: dict[str, Any], why: str) -> Any:
        """The function's result without its graph, which can't run here; warn of it."""
        trace_state.warn(f"tnp.compile: {self.name} runs uncompiled: {why}")
        return self._on_arrays(self.function, args, kwargs)

    def inlined(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """The function itself."""
        return self.function(*args, **kwargs)

    def _is_sharded(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
        arrays: list[Any] = []
        pytree.flatten((args, kwargs), arrays)
        return any(isinstance(array, ndarray) and memory.is_sharded(array.tensor) for array in arrays)

    def _counting(self, entry: _Entry, matches: Any, program: Any) -> tuple[Any, Any]:
        """Return the check and the program of an entry whose sizes are open, to count the calls of each size.

        Sizes that are called often leave: the next call with them is traced for them.
        """
        count = len(entry.shapes[0])
        own = {shapes for (alike, shapes), calls in self._counts.items() if alike == entry.alike and calls >= _OFTEN}

        def counted(tensors: list[Tensor]) -> Any:
            place = entry.alike, tuple([tensor.shape for tensor in tensors[:count]])
            self._counts[place] = calls = self._counts.get(place, 0) + 1
            if calls == _OFTEN:
                self.call = self.any_call
            return program(tensors)

        def has_none(*tensors: Tensor) -> bool:
            return tuple([tensor.shape for tensor in tensors[:count]]) not in own and matches(*tensors)

        return has_none if own else matches, counted

    def entry(
        self, args: tuple[Any, ...], kwargs: dict[str, Any], numbers_too: bool = True, open_too: bool = False
    ) -> tuple[_Entry, bool, list[Any], list[Tensor], list[Tensor]]:
        """The trace for these arguments, whether it was there, their arrays, tensors, and tensors to be read.

        If ``numbers_too``, Python's numbers among the arguments are arrays of the trace, but for those whose values
        Python needs. If ``open_too``, it may be one for arguments of many sizes.
        """
        if self.eager_check or not numbers_too:
            return self._entry(_Arguments(args, kwargs, (args, kwargs)), open_too)
        opened, numbers, structure = self._with_numbers(args, kwargs)
        try:
            return self._entry(opened, open_too)
        except ValueNeeded as needed:
            self._static[structure] = self._static.get(structure, frozenset()) | needed.numbers
        except Exception as error:  # the function's own errors are raised again
            if not numbers:
                raise
            trace_state.raise_of_signal(error)
            self._static[structure] = frozenset(range(numbers + len(self._static.get(structure, ()))))
        return self.entry(args, kwargs, open_too=open_too)

    def _with_numbers(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[_Arguments, int, Any]:
        """Return the arguments with traced numbers in them, how many, and the structure with all numbers traced."""
        trace: list[bool] = []
        count = 0

        def number(value: Any) -> Any:
            nonlocal count
            if type(value) not in KINDS:
                return value
            count += 1
            return Number(value, numbers=frozenset((count - 1,)), trace=trace)

        def is_number(value: Any) -> bool:
            return type(value) in KINDS

        given = args, kwargs
        opened = pytree.mapped_once(number, given, is_number)
        if not count:
            return _Arguments(args, kwargs, given), 0, None  # the containers themselves
        structure = pytree.flatten(opened, [])
        static = self._static.get(structure, frozenset())
        if static:
            index = itertools.count()
            opened = pytree.mapped_once(
                lambda value: value.value if type(value) is Number and next(index) in static else value,
                opened,
                lambda value: type(value) is Number,
            )
        return _Arguments(opened[0], opened[1], given), count - len(static), structure

    def _entry(
        self, call: _Arguments, open_too: bool = False
    ) -> tuple[_Entry, bool, list[Any], list[Tensor], list[Tensor]]:
        key, arrays, given, tensors = self._key(call)
        structure = key[0]
        entry = self._known(key, tensors, call)
        if entry is None and open_too:
            alike = structure, symbolic.pattern(tensors), devices.state.default
            if self._counts.get((alike, tuple([tensor.shape for tensor in tensors])), 0) < _OFTEN:
                entry = self._known(alike, tensors, call) or self._opened(alike, call, arrays, tensors)
        form = self._form(structure, tensors) if entry is None and open_too else None
        if form is not None:
            entry = self._known(form, tensors, call)
        hit = entry is not None
        if entry is None:
            with _lock:
                entry = self._known(key, tensors, call) or self._traced(key, call, arrays, tensors, form=form)
        if entry.is_for_all_gaps:
            tensors = compiling.without_gaps(tensors)
        arrays = [array.value if type(array) is Number else array for array in arrays]
        return entry, hit, arrays, given, tensors

    def _form(self, structure: Any, tensors: list[Tensor]) -> Any:
        """Return the key of arguments with gaps of any width; None if there are none, or for a layout of many calls."""
        form = compiling.form(tensors)
        if form is None:
            return None
        key = structure, form, devices.state.default
        place = key, tuple([tensor.stride() for tensor in tensors])
        self._counts[place] = self._counts.get(place, 0) + 1
        return key if self._counts[place] < _OFTEN else None

    def _key(self, call: _Arguments) -> tuple[Any, list[Any], list[Tensor], list[Tensor]]:
        arrays: list[Any] = []
        structure = pytree.flatten(call[:2], arrays)
        given = [array.tensor if type(array) is Number else _taken(array) for array in arrays]
        tensors = [compiling.physical(tensor) for tensor in given]
        sizes = symbolic.pattern(tensors) if self.dynamic else compiling.signature(tensors)
        return (structure, sizes, devices.state.default), arrays, given, tensors

    def _has(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
        """Whether there is a trace for these arguments."""
        call = _Arguments(args, kwargs, (args, kwargs))
        if not self.eager_check:
            call, _, _ = self._with_numbers(args, kwargs)
        key, _, _, tensors = self._key(call)
        return self._known(key, tensors, call) is not None

    def _opened(self, key: Any, call: _Arguments, arrays: list[Any], tensors: list[Tensor]) -> _Entry | None:
        """Return a new trace for all sizes, if there is one of other sizes that took Inductor; None if there can't be.

        Only sizes that have differed are open.
        """
        if key in self._closed:
            return None
        shapes = [tensor.shape for tensor in tensors]
        with _lock:
            others = [
                entry.executable.shapes()[: len(tensors)]
                for entries in self.entries.values()
                for entry in entries
                if entry.alike == key and not entry.shapes and entry.executable.can_open()
            ]
            if not others or shapes in others:
                return None
            try:
                return self._traced(key, call, arrays, tensors, [*others, shapes])
            except Exception as error:  # the function's own errors are raised when these sizes alone are traced
                trace_state.raise_of_signal(error)
                self._close(key, error)
                return None

    def _close(self, key: Any, error: Exception) -> None:
        """From now on trace for each size: the function can't leave sizes open."""
        self._closed.add(key)
        progress.log.info("tnp.compile: %s can't leave sizes open: %s", self.name, error)

    def _known(self, key: Any, tensors: list[Tensor], call: _Arguments) -> _Entry | None:
        for entry in reversed(self.entries.get(key, ())):
            if entry.suits(tensors, call.given):
                if self.cache_size is not None:
                    with contextlib.suppress(KeyError):  # another thread has just dropped it
                        self.entries.move_to_end(key)
                return entry
        return None

    def reads(self, *args: Any) -> list[Tensor] | None:
        """Return the tensors from outside that a call reads; None if it writes to any, or runs Python."""
        if self.eager_check or nan_checks.is_on() or (memory.sharded and self._is_sharded(args, {})):
            return None
        try:
            entry = self._found(args, {})[0]
        except pieces.CutError:
            return None
        return None if entry.executable.written or entry.has_effects else entry.captures()

    def graph(self, *args: Any, **kwargs: Any) -> Graph:
        """Return the graph for arguments, traced if need be; nothing runs."""
        entry, _, _, _, tensors = self.entry(args, kwargs)
        opened, _, _ = self._with_numbers(args, kwargs)
        traced = entry.graph()
        names = [name for name, _ in self._described(opened.args, opened.kwargs, arrays_only=True)]
        names += [f"captured_{index}" for index in range(len(traced.captures))]
        return Graph(operations.steps(traced.module, names), lambda: exporting.program(traced, tensors))

    def explain(self, *args: Any, **kwargs: Any) -> explanation.Explanation:
        """Return what became of the function; one whose graph is cut runs, on copies of the arguments."""
        try:
            self._found(args, kwargs)
            graphs = [self.graph(*args, **kwargs)]
        except pieces.CutError:
            self.any_call(*pytree.mapped(copy.deepcopy, (args, kwargs)))
            graphs = []
        places = [place for graph in graphs for place in explanation.kept(graph)]
        code = getattr(getattr(self.source, "__func__", self.source), "__code__", None)
        if code is not None and (why := conversion.reason(code)):
            places.append((code.co_filename, code.co_firstlineno, why))
        if not graphs and self.cutting is not None:
            graphs, more = self.cutting.explained()
            places += more
        cuts = {} if self.cutting is None else self.cutting.reasons
        return explanation.Explanation(self.name, tuple(graphs), dict(cuts), tuple(places))

    def can_open(self) -> bool:
        """Whether the graphs can leave sizes open."""
        return all(entry.executable.may_open() for entries in list(self.entries.values()) for entry in entries)

    def graphs(self) -> list[Graph]:
        """Return the graphs of all traces, without names of inputs."""
        entries = [entry for entries in list(self.entries.values()) for entry in entries]
        return [Graph(operations.steps(entry.graph().module)) for entry in entries]

    def cost(self, *args: Any, **kwargs: Any) -> Cost:
        """Return the cost of a call by line; nothing runs."""
        return Cost(list(graph_costs.of_graph(self.entry(args, kwargs)[0].graph().module)))

    def profile(self, *args: Any, **kwargs: Any) -> Profile:
        """Return the time of each line: the operations run one by one, on copies of the arguments."""
        entry, _, _, _, tensors = self.entry(args, kwargs)
        return Profile(graph_costs.seconds(entry.executable, [*tensors, *entry.captures()], _REPEATS))

    def warmup(self, *args: Any, **kwargs: Any) -> None:
        """Trace and compile for these arguments; nothing runs."""
        with shutdown.waited_for():
            entry, _, _, _, tensors = self.entry(args, kwargs, open_too=self.opens)
            inputs = [*tensors, *entry.captures()]
            begun = entry.executable.begun(inputs)
            if begun is None and self._program(entry, inputs) is None:
                self.warmup(*args, **kwargs)
        if begun is not None:
            begun.result()

    def warmup_all(self, fitted: Callable[..., tuple[Any, ...]], examples: Iterable[Any]) -> None:
        """Trace for each tuple of arguments, and compile for all of them at once; nothing runs."""
        begun = []
        for args in examples:
            if not isinstance(args, tuple):
                raise TypeError(f"warmup_all takes tuples of arguments, one for each signature, not {args!r}")
            with shutdown.waited_for():
                entry, _, _, _, tensors = self.entry(fitted(*args), {})
            begun.append(self._begun(entry, [*tensors, *entry.captures()]))
        for each in begun:
            each.result()

    def _begun(self, entry: _Entry, inputs: list[Tensor]) -> Any:
        """Return the future of a program that is compiled in the background; the first call begins that."""

        def finish() -> None:
            with shutdown.waited_for():
                self._program(entry, inputs)

        return entry.executable.begun(inputs) or entry.executable.begin(inputs, finish)

    def _is_compiled(self, entry: _Entry, inputs: list[Tensor]) -> bool:
        """Whether the code of the background is there; an error there, such as a warning turned into one, is raised."""
        if not entry.executable.is_ready(inputs):
            begun = self._begun(entry, inputs)
            if begun.done():
                entry.executable.end(inputs)
                begun.result()
        return entry.executable.is_ready(inputs)

    def _program(self, entry: _Entry, inputs: list[Tensor]) -> Any:
        """Return the program for inputs, compiled if need be; None if it can't be compiled for many sizes."""
        program = None
        with _lock:
            start = time.perf_counter()
            try:
                with self._wait_told(entry, inputs):
                    program = entry.executable.program(inputs)
                if not entry.executable.graph.holds_for(entry.shapes):
                    raise _OneSize("the compiler assumes more of them")
            except Exception as error:
                if not entry.shapes:
                    raise
                trace_state.raise_of_signal(error)
                self._close(entry.alike, error)
                self.entries.pop(entry.alike, None)
            self.seconds += time.perf_counter() - start
        return program

    def _wait_told(self, entry: _Entry, inputs: list[Tensor]) -> contextlib.AbstractContextManager[Any]:
        is_ready = entry.executable.is_ready(inputs)
        return contextlib.nullcontext() if is_ready else progress.told(self.name, entry.why)

    def cache_info(self) -> CacheInfo:
        """Return the counts, and a description of each trace."""
        parts = [] if self.cutting is None else [(part, each) for part in self.cutting.parts for each in part.made]
        inner = [(part, each.cache_info()) for part, each in parts]
        counts = zip((self.traces, self.hits, self.seconds), *[each for _, each in inner], strict=True)
        found = CacheInfo(*map(sum, counts))
        entries = [entry for entries in list(self.entries.values()) for entry in entries]
        found.programs = tuple([
            f"{entry.text}{' and other sizes' if entry.executable.graph.sizes is not None else ''}" for entry in entries
        ])  # fmt: skip
        found.programs += tuple([f"{part.place}: {text}" for part, each in inner for text in each.programs])
        return found

    def save(self, path: Any, *args: Any, **kwargs: Any) -> None:
        """Write the program for these arguments to a file that ``tnp.load_compiled`` reads."""
        exported, _, text = self._exported(args, kwargs, True, self.open_axes)
        exporting.save(exported, os.fspath(path), text)

    def package(self, path: Any, *args: Any, **kwargs: Any) -> None:
        """Write machine code for these arguments to a file that C++ runs without Python."""
        exported, tensors, text = self._exported(args, kwargs)
        names = [name for name, _ in self._described(args, kwargs, arrays_only=True)]
        with _lock:
            packaging.package(exported, list(zip(names, tensors, strict=True)), os.fspath(path), text, **self.options)

    def _exported(
        self, args: tuple[Any, ...], kwargs: dict[str, Any], drawing_too: bool = False, open_axes: Any = None
    ) -> tuple[exporting.Program, list[Tensor], str]:
        """Return the program for arguments, their tensors, and the description of both as text.

        It serves other arguments, too: an array that is given twice, or found outside, stands for two.
        """
        args, kwargs = pytree.mapped(lambda x: x if pytree.is_read_only(x) else copy.copy(x), (args, kwargs))
        entry, _, arrays, _, tensors = self.entry(args, kwargs, numbers_too=False)
        if entry.has_effects:
            raise NotImplementedError(
                f"{self.function.__qualname__} assigns to what is outside of it, or to an argument's attributes, "
                "which a file can't: return the new values instead"
            )
        traced = entry.graph()
        conditions = None
        if open_axes is not None:
            if traced.sizes is None:
                raise NotImplementedError(
                    f"{self.function.__qualname__} can't leave the lengths open that input_signature does: save it for "
                    "those of arguments, by a compiled function without input_signature"
                )
            conditions = traced.sizes.conditions(open_axes)
        text, outer = saving.text(args, kwargs, len(arrays), traced.returned, entry.build, conditions, traced.rules)
        return exporting.program(traced, tensors, drawing_too, open_axes, outer), tensors, text

    def _traced(
        self,
        key: Any,
        call: _Arguments,
        arrays: list[Any],
        tensors: list[Tensor],
        shapes: Sequence[Any] = (),
        form: Any = None,
    ) -> _Entry:
        """Trace and keep a new entry; drop the least recently used one if there are too many.

        If there is a ``form``, the entry is kept for that where its program serves arguments with gaps of any width.
        """
        if self.traces >= self.most_traces:
            raise pieces.TooManyError
        start = time.perf_counter()
        fixed = any(entry.only is not None for entry in self.entries.get(key, ()))
        with errstate.paused():
            entry = self._trace(key, call, arrays, tensors, fixed, shapes, form)
        if entry.is_for_all_gaps:
            key = form
        elif self.opens:
            entry.alike = key if shapes else (key[0], symbolic.pattern(tensors), key[2])
        self.entries.setdefault(key, []).append(entry)
        self.entries.move_to_end(key)
        self.traces += 1
        self.seconds += time.perf_counter() - start
        if self.cache_size is not None and sum(map(len, self.entries.values())) > self.cache_size:
            _, entries = next(iter(self.entries.items()))
            entries.pop(0)
            if not entries:
                self.entries.popitem(last=False)
        described = self._described(call.args, call.kwargs)
        entry.text = ", ".join([f"{name}: {what}" for name, what in described])
        entry.why = self._tell([*described, *entry.outer.described()])
        if shapes:
            entry.why += "; the code serves other sizes, too"
        progress.log.info("tnp.compile: traced %s in %.2f s: %s", self.name, time.perf_counter() - start, entry.why)
        return entry

    def _trace(
        self,
        key: Any,
        call: _Arguments,
        arrays: list[Any],
        tensors: list[Tensor],
        fixed: bool,
        shapes: Sequence[Any],
        form: Any,
    ) -> _Entry:
        known = len(self._texts)
        outer = OuterState(self.source, call.given, not self.eager_check, self._texts)
        outside = outer.among(call.given, call[:2])
        while True:
            results, run = self._runner(call, arrays, outer, outside)
            with self._restored_where_cut(outer):
                graph, only = self._graph(run, tensors, fixed, shapes)
                self._check_effects(outer, functools.partial(self._graph, run, tensors, fixed, shapes))
            still = outer.among(call.given, call[:2])
            if still.keys() == outside.keys():
                break
            outside = still  # others are in lists that the function itself extends, which later calls do not compare
            outer.restore()
        if len(self._texts) > known:  # what the function has read by other names is not compared yet
            outer.restore()
            return self._trace(key, call, arrays, tensors, fixed, shapes, form)
        result = results[-1]
        executable = compiling.Executable(graph, **self.options, falls_back=not shapes)
        shared = None
        if self.opens and not shapes and not result.has_views:
            shared = self._for_all_gaps(key, executable, tensors, form, run)
        outer.forget()
        entry = _Entry(shared or executable, call.args, call.kwargs, result, outer, only)
        entry.is_for_all_gaps = shared is not None
        entry.shapes = list(shapes)
        return entry

    def _for_all_gaps(
        self, key: Any, executable: compiling.Executable, tensors: list[Tensor], form: Any, run: Callable[..., Any]
    ) -> compiling.Executable | None:
        """Return the program of these arguments without gaps, if it does the same; None at the first layout.

        Arguments that only differ in the width of gaps then need neither a trace nor code, but a copy.
        """
        place = key[0], compiling.signature(tensors, without_gaps=True), key[2]
        if form is None:
            if place[1] == key[1]:
                self._without_gaps[place] = executable
            return None
        if place not in self._without_gaps:
            self._without_gaps[place] = None
            return None
        found = self._without_gaps[place]
        if found is None:
            try:
                graph, _ = self._graph(run, compiling.without_gaps(tensors), False, ())
            except Exception as error:  # which the arguments themselves do not raise
                trace_state.raise_of_signal(error)
                return None
            found = self._without_gaps[place] = compiling.Executable(graph, **self.options)
        return found if executable.graph.does_the_same(found.graph) else None

    def _check_effects(self, outer: OuterState, trace: Callable[[], Any]) -> None:
        """Raise `EffectError` if the trace changed what no graph can; warn once of what it has noted outside.

        A part of a function notes nothing: to its other parts, each call does what Python does.
        """
        changed = list(outer.unrepeated())
        is_strict = effects.state.is_strict or self.fullgraph is None
        is_told = self._told_of_notes and not is_strict
        changed = [each for each in changed if not each[2]] or ([] if is_told else changed)
        if not changed:
            return
        (container, _, is_note), *_ = changed
        name = outer.name_of(container)

        def has_changed() -> bool:
            return any(each is container for each, _, _ in outer.unrepeated())

        outer.restore()
        lines = effects.lines_of_change(trace, has_changed)
        file, line = lines[-1] if lines else trace_state.user_line().rsplit(":", 1)
        if not is_note or is_strict:
            outer.restore()
            error = effects.EffectError(
                f"{file}:{line}: {name} is changed, but Python runs only while a compiled function is traced: return "
                "the new values, write them into an array (a[...] = b), or leave this part outside tnp.compile"
            ).because(f"{name} is changed, which a graph can't do")
            error.lines = tuple(lines)
            raise error
        self._told_of_notes = True
        warnings.warn_explicit(
            f"tnp.compile: {self.name} adds to {name} at {file}:{line} while it is traced, and not at later calls. "
            "Return what each call has to add; fn.cache_info() counts traces",
            RuntimeWarning,
            file,
            int(line),
        )

    @contextlib.contextmanager
    def _restored_where_cut(self, outer: OuterState) -> Iterator[None]:
        """A trace that ends where the graph is cut leaves what is outside as it was."""
        try:
            yield
        except Exception as error:
            error = _traced_error(error)
            if self._is_cut_at(error):
                outer.restore()
            raise error

    def _graph(
        self, run: Callable[[list[Tensor]], list[Tensor]], tensors: list[Tensor], fixed: bool, shapes: Sequence[Any]
    ) -> tuple[TracedGraph, Any]:
        """Trace for these shapes, for any size or for this one alone; the second value is the one signature."""
        if shapes:
            graph = compiling.trace(run, tensors, symbolic.Sizes(tensors, shapes))
            if not graph.holds_for(shapes):
                raise _OneSize("the function does something else for other sizes")
            return graph, None
        if self.dynamic and not fixed:
            try:
                return compiling.trace(run, tensors, symbolic.Sizes(tensors)), None
            except Exception as error:  # the function's own errors are raised below
                trace_state.raise_of_signal(error)
        return compiling.trace(run, tensors), compiling.signature(tensors) if self.dynamic else None

    def _runner(
        self, call: _Arguments, arrays: list[Any], outer: OuterState, outside: dict[int, Any]
    ) -> tuple[list[call_codegen.Result], Callable[[list[Tensor]], list[Tensor]]]:
        """Return a function of tensors in place of these arrays, and a list that gets its result when it runs.

        What is found ``outside`` too stands for itself, and what occurs twice has one stand-in.
        """
        results: list[call_codegen.Result] = []

        def run(tensors: list[Tensor]) -> list[Tensor]:
            made, stand_ins = dict(outside), {}
            for array, tensor in zip(arrays, tensors, strict=True):
                name = id(array)
                if name not in made:
                    made[name], stand_ins[name] = pytree.stand_in(array, tensor), tensor
                elif name not in stand_ins:
                    stand_ins[name] = tensor_of(made[name])
            inside, tensors = [made[id(array)] for array in arrays], [stand_ins[id(array)] for array in arrays]
            given = pytree.mapped_once(lambda array: made[id(array)], call[:2], made=made)
            own = {id(each[0]): each for each in [*containers(given[0], "args"), *containers(given[1], "kwargs")]}
            found = set(map(id, outside.values()))
            before = [each for name, each in own.items() if name not in found]
            outer.note()
            changes: list[Any] = []
            watched = effects.watched(outer.outside, outer.names, self._texts)
            trace_state.state.is_whole, was_whole = self.fullgraph is True, trace_state.state.is_whole
            with traced_numbers.traced(inside, outer.asks_types), watched, surroundings.sharing():
                try:
                    result = windows.returned(self.current(*given[0], **given[1]))
                finally:
                    trace_state.state.is_whole = was_whole
                    changes = outer.changes()
                    outer.undo(changes)
                for container, held, _ in before:
                    changes += differences(container, held, True)
                named = None if self.eager_check else outer  # that compares what both return
                results.append(call_codegen.Result(result, arrays, inside, tensors, changes, before, named))
            results[-1].tensors += trace_state.state.effects
            return results[-1].tensors

        return results, run

    def _tell(self, described: list[tuple[str, str]]) -> str:
        """Return why the function was traced this time; warn once if it is traced again and again."""
        before = self._last
        self._last = dict(described)
        if self.traces == 1:
            return "the function is new"
        changed = [
            f"{name} was {before[name]} and is {now}"
            for name, now in self._last.items()
            if name in before and before[name] != now
        ]
        why = "; ".join(changed) or "Its structure changes"
        if self.traces >= _MANY_TRACES and not self._told:
            self._told = True
            file, _, line = trace_state.user_line().rpartition(":")
            warnings.warn_explicit(
                f"{self.function.__qualname__} has been traced {self.traces} times: each new shape, dtype or Python "
                f"value of an argument is a new trace. {why}. A number that "
                "varies can be an array (tnp.asarray)",
                RuntimeWarning,
                file,
                int(line),
            )
        return why

    @functools.cached_property
    def name(self) -> str:
        """Return the function's name and location."""
        return trace_state.named(self.source)

    def _described(
        self, args: tuple[Any, ...], kwargs: dict[str, Any], arrays_only: bool = False
    ) -> list[tuple[str, str]]:
        try:
            arguments = inspect.signature(self.function).bind(*args, **kwargs).arguments
        except (TypeError, ValueError):
            arguments = {f"argument {index}": value for index, value in enumerate(args)} | kwargs
        lines = [line for name, value in arguments.items() for line in pytree.described(value, name)]
        return [line for line in lines if not line[1].startswith("the ")] if arrays_only else lines


def _write_back(array: Any, given: Tensor, written: Tensor) -> None:
    """Copy values written to an argument's tensor to the argument, if the tensor does not share its memory."""
    if given is not written:
        compiling.assign(given, written)
    if isinstance(array, np.ndarray) and undescribed(array) is None and not memory.shares(given, array):
        array[...] = memory.to_numpy(given)


def _taken(array: Any) -> Tensor:
    """Return the tensor of an argument; of a view that no tensor can describe, that of the same memory."""
    view = undescribed(array) if type(array) is not ndarray else None
    return tensor_of(array) if view is None else memory.with_history(view.ahead)


def _traced_error(error: Exception) -> Exception:
    """Return the error of a trace; one that torch raised, and that NumPy has not, says that Python could go on."""
    is_torchs = isinstance(error, RuntimeError) and not isinstance(error, (NotImplementedError, RecursionError))
    if not is_torchs or messages.is_of_program(error) or explain(error) is not error:
        return error
    trace_state.raise_of_signal(error)
    made = trace_state.untraceable_error(error)
    made.__cause__ = error
    return made.with_traceback(error.__traceback__)


def _explained(error: RuntimeError) -> Exception:
    """Return NumPy's error for an error that a running compiled function met."""
    return error if messages.is_of_program(error) else explain(error)


def compile(
    fn: Callable[..., Any] | None = None,
    *,
    backend: str | Callable[..., Any] | None = None,
    mode: str | None = None,
    dynamic: bool | None = None,
    options: dict[str, Any] | None = None,
    fullgraph: bool = False,
    eager_check: bool = False,
    cache_size: int | None = 256,
    autograph: bool = True,
    static_argnums: int | Iterable[int] | None = None,
    static_argnames: str | Iterable[str] | None = None,
    input_signature: Sequence[Any] | None = None,
    background: bool = False,
) -> Callable[..., Any]:
    """Trace a function of arrays once for each signature, and run the trace as machine code.

    Parameters
    ----------
    fn : callable, optional
        The function; without it, a decorator is returned. Its arguments and results are arrays and lists, tuples,
        dictionaries, named tuples and dataclasses of arrays; everything else in them is static.
    backend : str or callable, optional
        None: the C++ compiler alone compiles elementwise functions, loops and functions of small arrays, in about a
        second, and torch's Inductor all others. ``"inductor"``: Inductor compiles functions of small arrays, too.
        ``"eager"`` runs the traced operations one by one. Or another backend of torch.compile.
    mode : str, optional
        As in torch.compile: ``"reduce-overhead"``, ``"max-autotune"`` ...
    dynamic : bool, optional
        None: the first shape has its own trace. Unless its code is elementwise or a loop, the second shape's trace
        leaves those sizes open that differ, and serves all later ones; sizes that are called 100 times get their own.
        False: each shape has its own trace. True: one trace for all sizes of the arguments' axes from 2 on,
        as long as the function does the same for them; ``if x.shape[0] > 3`` makes two. Sizes of 0 and 1 are traced by
        themselves, as they broadcast otherwise, and strides with gaps stay what they are. Numbers of sizes alone
        (``np.sqrt(len(x))``) are computed by the graph; where Python asks for their values, as in ``int(np.sqrt(n))``
        or a loop over ``len(x)``, the trace is for this size. Unless True, arguments whose gaps in memory differ in
        width alone (rows of longer matrices) are copied for one program, where the function reads no strides.
    options : dict, optional
        Settings of the backend, as in torch.compile.
    fullgraph : bool, default False
        False: the graph is cut at a statement that needs values which only a run has (``np.unique(x)``, ``x[mask]`` as
        an array of its own, ``print(float(x))``). Python runs this statement at each call, and what comes before and
        after it is compiled. True: such a statement is an error.
    autograph : bool, default True
        Let Python's own ``if``, ``while``, ``for``, ``and``, ``or``, ``not``, ``x if c else y`` and ``assert`` work on
        traced values, in the function and in those of the user's that it calls, from their source. False: the function
        runs as it is, and a condition on a traced value is an error, as with ``fullgraph=True``.
    eager_check : bool, default False
        Run the function itself too, at each call, and compare results and what is written to arguments and captured
        arrays: within the square root of the dtype's precision, and of random numbers dtypes and shapes only.
    cache_size : int or None, default 256
        How many traces are kept: a new one takes the place of the one used longest ago. None keeps all.
    static_argnums : int or iterable of int, optional
        Positional arguments that are static as a whole, floats and containers too: hashable values, of which each has
        a trace of its own. Values that are equal and of one class are the same. Arguments that are neither arrays nor
        floats nor containers of these are static anyway. Each is static by its name, too.
    static_argnames : str or iterable of str, optional
        Arguments by name that are static; by place, too.
    input_signature : sequence, optional
        What each argument is to be: `ShapeDtypeStruct` or containers of these, whose lengths None are open, as with
        ``dynamic=True``. Numbers and lists become arrays of that dtype; another array is an error. ``fn.graph()``,
        ``fn.warmup()`` and ``fn.save(path)`` need no arguments then.
    background : bool, default False
        Let another process compile. Until the code is there, calls run the traced operations one by one. Results of
        the two differ in rounding only. If compiling fails, one warning says so, and the operations go on one by one.

    Returns
    -------
    callable
        The compiled function. ``fn.cache_info()`` counts its traces, hits and the seconds they took;
        ``fn.graph(*args)`` is the graph for such arguments, to be read, counted, drawn, and written as ONNX;
        ``fn.explain(*args)`` says which loops and branches are kept in it, and where it is cut and why;
        ``fn.save("f.pt2", *args)`` writes the program for such arguments to a file for ``load_compiled``;
        ``fn.package("f.pt2", *args)`` writes its machine code, for C++ programs without Python (examples/cpp);
        ``fn.warmup(*args)`` compiles for them without a call, and ``fn.warmup_all([args, args, ...])`` for many
        signatures, in as many processes as there are processors; ``fn.cost(*args)`` is what a call costs, in operations
        and bytes, and ``fn.profile(*args)`` its time, by line of the program.

    Raises
    ------
    TracedValueError
        With ``fullgraph``: Python asks for the value of an array while tracing; the message names the line. Without it,
        where the function has to be one graph: ``fn.graph``, ``fn.cost``, ``fn.save``, ``fn.package``, ``fn.warmup``.
    EagerCheckError
        With ``eager_check``: something differs; the message names the first operation that does, and its line.
    ValueError
        ``cache_size`` is less than 1; the backend or a setting of it is unknown; the function has no argument that is
        said to be static; or when called, one that is static can't be hashed.

    Warns
    -----
    RuntimeWarning
        Once for each statement where the graph is cut; once, if the function adds to a container from outside while it
        is traced; once, if it is traced again and again; and once if there is no C++ compiler or the graph can't be
        compiled: the traced operations then run one by one.

    Notes
    -----
    Python runs only while tracing: ``print`` prints then, calls are inlined. A branch or a loop whose condition is a
    traced value is kept in the graph, as is a loop over a range or an array whose steps times the operations of one are
    more than 256, if its variables keep their dtypes and shapes; other loops are unrolled. A signature is the
    structure of the arguments, each array's dtype, shape, strides and device, and each static value. Python's floats
    and complex numbers are traced, so ten learning rates are one trace; one that Python needs the value of (``if lr >
    0.1``, ``math.exp(lr)``, ``x**p``, ``f"{lr}"``, a result) is static, so another number is another trace. ints and
    bools are static. Arrays from outside are read when the graph runs, not when it is traced; assigning to one
    (``a[...] = b``, ``a += b``) and to an argument happens at each call.

    What the function reads outside of its arguments, by the names in its code and in that of functions it can reach
    (attributes, globals, closures' variables, entries of lists and dictionaries, environment variables, functions'
    defaults), is compared at each call: another array of the same signature is taken, another value of another kind is
    another trace. Assignments to such places, and to containers among the arguments, happen at each call. The graph is
    cut where a list, set, deque or NumPy array from outside changes otherwise (``losses.append(loss)``,
    ``stack.pop()``), an iterator from outside is advanced, or a clock, a file, the system, Python's ``random`` or
    NumPy's own generators are read. Static values that a container from outside gains (``shapes.append(x.shape)``) and
    new static entries of a dictionary are notes of the trace: later calls don't add them. The first such note of a
    container warns.

    Inside another compiled function the function runs as if it weren't compiled. Transforms of it are compiled, as are
    transforms of these (``vmap(grad(compiled))``); one warning says where a transform of Python's own function runs
    it in Python. Gradients flow through.

    See also ``torch.compile``, https://pytorch.org/docs/stable/generated/torch.compile.html

    Examples
    --------
    >>> import tnp as np
    >>> @np.compile
    ... def sigmoid(x):
    ...     return 1 / (1 + np.exp(-x))
    >>> sigmoid(np.zeros(2))
    array([0.5, 0.5])
    >>> sigmoid.cache_info().traces
    1
    """
    settings: dict[str, Any] = {
        "backend": backend,
        "mode": mode,
        "dynamic": dynamic,
        "options": options,
        "fullgraph": fullgraph,
        "eager_check": eager_check,
        "cache_size": cache_size,
        "autograph": autograph,
        "static_argnums": static_argnums,
        "static_argnames": static_argnames,
        "input_signature": input_signature,
        "background": background,
    }
    if fn is None:
        return functools.partial(compile, **settings)
    if dynamic not in (None, False, True):
        raise ValueError(f"dynamic must be True, False or None, not {dynamic!r}")
    if cache_size is not None and operator.index(cache_size) < 1:
        raise ValueError(f"cache_size must be at least 1, not {cache_size}")
    static = StaticArguments(fn, static_argnums, static_argnames)
    arguments = None if input_signature is None else InputSignature(fn, input_signature)
    if arguments is not None:
        if static:
            raise ValueError("an argument is static or of input_signature: a static one can be a variable of a closure")
        dynamic = settings["dynamic"] = True if arguments.is_open else dynamic
        settings["input_signature"] = None  # transforms pass other shapes
    inside = {"backend": backend, "mode": mode, "options": options}
    signatures = _Signatures(
        fn, inside, dynamic, eager_check, cache_size, autograph, static.opened, background, fullgraph or not autograph
    )

    @functools.wraps(fn)
    def compiled(*args: Any, **kwargs: Any) -> Any:
        try:
            call = signatures.call  # in two steps: in one step Python would look for a method first
            return call(args, kwargs)
        except OverlapError:
            return signatures.uncompiled(args, kwargs, _OF_OVERLAP)
        except (RuntimeError, IndexError) as error:
            explained = signatures.explained(error, args, kwargs)
            if explained is error:
                raise
            raise explained from None

    called: Any = static.taking(compiled) if arguments is None else arguments.taking(compiled)
    taking = static.taking if arguments is None else arguments.exemplified
    of_compiled.mark(called, functools.partial(compile, **settings), taking(signatures.reads))
    called.cache_info = signatures.cache_info
    called.warmup_all = lambda examples: signatures.warmup_all(taking(lambda *args: args), examples)
    given = (lambda method, before=0: _exemplified(fn, taking(method, before), before)) if arguments is None else taking
    called.graph = given(signatures.graph)
    called.warmup = given(signatures.warmup)
    called.explain = given(signatures.explain)
    called.cost = given(signatures.cost)
    called.profile = given(signatures.profile)
    called.save = given(signatures.save, 1)
    called.package = given(signatures.package, 1)
    if arguments is not None and arguments.is_open:
        signatures.open_axes = arguments.open_axes()
        called.package = arguments.taking(signatures.package, 1)
    return called


def _exemplified(fn: Callable[..., Any], method: Callable[..., Any], before: int) -> Callable[..., Any]:
    """Check that a method that traces ``fn`` gets arguments for it, after the ``before`` first ones of its own."""

    @functools.wraps(method)
    def checked(*args: Any, **kwargs: Any) -> Any:
        try:
            inspect.signature(fn).bind(*args[before:], **kwargs)
        except ValueError:  # a compiled function of Python's says no signature
            pass
        except TypeError as error:
            name, path = method.__name__, "path, " * before
            raise TypeError(
                f"{name}() traces {getattr(fn, '__qualname__', fn)} for example arguments: write "
                f"fn.{name}({path}*args) with arguments as for a call ({error}), or tell compile the "
                "arguments by input_signature"
            ) from None
        return method(*args, **kwargs)

    return checked


def load_compiled(path: str | os.PathLike[str], *, native: bool = False, **options: Any) -> Callable[..., Any]:
    """The function that ``fn.save(path, ...)`` or ``fn.package(path, ...)`` wrote, without its Python source.

    Parameters
    ----------
    path : path
        The file.
    native : bool, default False
        Whether the file is one of ``fn.package``. The machine code in it runs, whatever it does: only for files from
        those you trust.
    **options
        As ``compile`` takes them; none for machine code.

    Returns
    -------
    callable
        A compiled function of arguments like those that it was saved for. Nothing in a file of ``fn.save`` is
        unpickled or run as Python.

    Raises
    ------
    ValueError
        The file holds something else or is of a later version; when called, an array has another shape or is on
        another device.
    TypeError
        When called: the arguments are built differently, or an array has another dtype.
    NotImplementedError
        When machine code is called: an argument needs a gradient, or a trace or a transform is under way.

    Notes
    -----
    Arrays from outside the function have the values that they had when it was saved. Random numbers are new ones at
    each call, drawn from ``tnp.random``'s own stream, whichever generator the function had: ``tnp.random.seed`` makes
    them reproducible. Machine code is for processors
    that have all that the one has where it was made, knows no gradients, and can't be traced.

    Examples
    --------
    >>> import tempfile
    >>> import tnp as np
    >>> with tempfile.TemporaryDirectory() as directory:
    ...     np.compile(lambda x: x * 2).save(f"{directory}/twice.pt2", np.ones(2))
    ...     twice = np.load_compiled(f"{directory}/twice.pt2", backend="eager")
    >>> twice(np.ones(2))
    array([2., 2.])
    """
    if native:
        if options:
            raise TypeError(f"machine code is compiled: {', '.join(options)} can't be chosen any more")
        return saving.Loaded(*packaging.load(os.fspath(path)))
    from tnp import random  # late: it imports numpy.random

    run, examples, text = exporting.load(os.fspath(path), random._state._generator_on)
    return compile(saving.Loaded(run, examples, text), **options)
