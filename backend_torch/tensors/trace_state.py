"""The state of traces and batches: whether one runs, and which of the user's lines it runs.

Layer: owns the error for a read of a traced array's values. Of the project it imports the error's words alone: all may
use it.
"""

from __future__ import annotations

import contextlib
import functools
import inspect
import linecache
import os
import signal
import sys
import threading
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import CodeType, FrameType
from typing import Any, Self

from backend_torch.tensors.value_questions import question


class OfTracing(Exception):
    """An error of tracing alone: Python itself could run the statement.

    Attributes
    ----------
    line : str
        The file and line, if it is not that of the statement which raised the error.
    reason : str
        Why a graph can't hold the statement.
    lines : tuple of tuple
        The files and lines of the statement and of those that led to it, if the traceback does not have them.
    """

    line = ""
    reason = ""
    lines: tuple[tuple[str, int], ...] = ()

    def because(self, reason: str, line: str = "") -> Self:
        """Set the reason, and return the error."""
        self.reason, self.line = reason, line
        return self


def cut_reason(error: BaseException) -> str | None:
    """Return why Python has to run the statement that raised an error while it was traced; None for other errors."""
    if isinstance(error, TracedValueError):
        return error.reason or None
    return (getattr(error, "reason", "") or str(error)) if isinstance(error, (OfTracing, NotImplementedError)) else None


class UntraceableError(OfTracing, NotImplementedError):
    """torch can't trace or differentiate what the program does."""


class TracedValueError(OfTracing, TypeError):
    """Python asked for the value of an array that has none yet, or would lose its derivative.

    The function is being traced or differentiated.
    """


class _State(threading.local):
    depth = 0
    batches = 0
    batch: Any = None  # which is the innermost of them: it wants to `note` errors that depend on values
    overwrites = 0  # in how many recordings old values are kept: of a write they have to be told by torch
    below: Any = None  # what knows tensors from around the step of a loop that is traced below the transforms
    subgraphs = 0  # of branches and loops that are being traced, one in the other
    first_run: Any = None  # of a function that is to be run again: it wants to know of writes to memory from outside
    is_whole = False  # the trace is all of the function: no statement is left to Python
    reads_strides = False  # Python has, in the trace
    handlers = 0  # of the program's exceptions, around the statement that is being traced

    def __init__(self) -> None:
        self.scopes: list[object] = []  # the trace, and the branches and loops that are being traced in it
        self.hooks: list[Any] = []  # of tnp's own scopes, which are told what gradients need, the innermost last
        self.effects: list[Any] = []  # what a trace's graph has to give last, so that nothing is done after it
        self.calls: list[Any] = []  # the functions of Python's that a trace's graph calls by number
        self.batched_writes: list[Any] = []  # where a batch in a trace writes to its arguments, all elements at once
        self.rules: list[str] = []  # the lines that call functions whose own derivatives a trace's graph does not hold
        self.derivatives: list[Any] = []  # what has stand-ins for arrays from outside of them, the innermost last
        self.differentiating: list[str] = []  # the functions that differentiate what runs, the innermost last


state = _State()
scopes = 0
"""How many traces, batches and notes of draws run, in all threads: without any, nobody asks for their state."""
first_runs = 0
"""How many functions run that are to be run again, in all threads: meanwhile each compiled call says what it reads."""
_counting = threading.Lock()


def enter(count: int = 1) -> None:
    """Count a trace, a batch or a note of draws that begins; one that ends with -1."""
    global scopes
    with _counting:
        scopes += count


def enter_first_run(run: Any) -> Any:
    """Begin a run that wants to know of compiled calls, or go back to what was one before; return what was."""
    global first_runs
    before, state.first_run = state.first_run, run
    with _counting:
        first_runs += (run is not None) - (before is not None)
    return before


def entered(tensors: Sequence[Any]) -> Sequence[Any]:
    """Return tensors that a transform is about to wrap, as the traced step and the derivatives around it know them.

    The step has stand-ins for the tensors, and so has each derivative for arrays from outside: neither can find the
    stand-in of a tensor once the transform has wrapped it.
    """
    if state.below is not None:
        tensors = [state.below.entered(tensor) for tensor in tensors]
    return [state.derivatives[-1].entered(tensor) for tensor in tensors] if state.derivatives else tensors


@contextlib.contextmanager
def tracing() -> Iterator[None]:
    """A scope in which this thread traces a function."""
    enter()
    state.depth += 1
    around, state.scopes = state.scopes, [object()]
    try:
        yield
    finally:
        state.depth -= 1
        enter(-1)
        state.scopes = around


def is_tracing() -> bool:
    """Whether this thread is running a function in order to trace it."""
    return state.depth > 0


def is_batching() -> bool:
    """Whether this thread is running a function for all slices of its arguments at once."""
    return state.batches > 0


_PACKAGES = Path(__file__).parents[2]
_FRONT = os.path.join(_PACKAGES, "tnp", "")
# What runs there is the user's own statement, or a function's around which the frame is.
_STATEMENTS = (
    os.path.join(_FRONT, "_autograph", ""),
    os.path.join(_FRONT, "_core", "public.py"),
    os.path.join(_FRONT, "_array", "array_function.py"),
)
_GENERATED = ("<eval_with_key", "<frozen", "<a call written out")
_OWN = tuple([os.path.join(_PACKAGES, name, "") for name in ("backend_torch", "tnp")])


def noted(error: Exception) -> Exception:
    """An error that is about to be raised for all slices of a batch, which has to know if there is one."""
    if state.batch is not None:
        state.batch.note(error)
    return error


@functools.lru_cache(4096)
def is_own(name: str) -> bool:
    """Whether a file is none of the program's but tnp's, or a library's of its, or no user wrote it."""
    return name.startswith((*_OWN, os.path.join(os.path.dirname(sys.modules["torch"].__file__ or ""), ""), "<"))


def programs_code(function: Any) -> CodeType | None:
    """Return the code that the program wrote for a function, or for one that tnp made of it, such as its gradient."""
    code = getattr(getattr(function, "__func__", function), "__code__", None)
    if code is not None and is_own(code.co_filename):
        code = getattr(inspect.unwrap(function), "__code__", code)
    return code


def named(function: Any) -> str:
    """Return a function's name, and the file and line where the program has it."""
    qualified = getattr(function, "__qualname__", None) or type(function).__qualname__
    name = qualified.rpartition("<locals>.")[2]  # a converted function has other functions around it
    code = programs_code(function)
    return name if code is None else f"{name} ({os.path.basename(code.co_filename)}:{code.co_firstlineno})"


@functools.lru_cache(4096)
def _is_statement(name: str) -> bool:
    return name.startswith(_STATEMENTS)


def user_line() -> str:
    """The file and line of the innermost frame that is not in tnp or a library of its."""
    frame, _ = _user_frame()
    return f"{frame.f_code.co_filename}:{frame.f_lineno}"


def warn(text: str) -> None:
    """Warn with the line that :func:`user_line` gives."""
    frame, _ = _user_frame()
    registry = frame.f_globals.setdefault("__warningregistry__", {})
    warnings.warn_explicit(text, RuntimeWarning, frame.f_code.co_filename, frame.f_lineno, registry=registry)


def _user_frame() -> tuple[FrameType, str]:
    """The innermost frame that is not in tnp or a library of its, and the name of tnp's function that it called."""
    frame, called = sys._getframe(1), ""
    while frame.f_back is not None:
        whose = _whose(frame.f_code.co_filename)
        if whose == "program" or (whose == "typed" and _is_typed(frame.f_code.co_filename)):
            break
        if whose != "statement":
            called = frame.f_code.co_name if whose == "front" else ""
        frame = frame.f_back
    return frame, called


@functools.lru_cache(4096)
def _whose(name: str) -> str:
    """Whose code a file has, remembered: each operation of a trace asks for a hundred frames."""
    if not is_own(name):
        return "program"
    if name.startswith("<"):
        return "typed"
    return "statement" if _is_statement(name) else "front" if name.startswith(_FRONT) else "own"


def frames_of_function(mark: str) -> Iterator[FrameType]:
    """Yield the frames of the user's innermost function, and of the functions in it whose names have a mark."""
    frame: FrameType | None = _user_frame()[0]
    assert frame is not None
    code = frame.f_code
    function = code.co_filename, code.co_qualname.partition(f".<locals>{mark}")[0]
    while frame is not None:
        code = frame.f_code
        if (code.co_filename, code.co_qualname.partition(f".<locals>{mark}")[0]) == function:
            yield frame
        elif not is_own(code.co_filename):
            return
        frame = frame.f_back


def line_of(error: BaseException) -> str:
    """The file and line of the innermost frame that is not in tnp or a library of its, when ``error`` was raised."""
    name, line = (lines_of(error) or [("an unknown line", 0)])[-1]
    return f"{name}:{line}" if line else name


def lines_of(error: BaseException) -> list[tuple[str, int]]:
    """The files and lines of the frames that are not in tnp or a library of its, when ``error`` was raised."""
    found: list[tuple[str, int]] = []
    if isinstance(error, OfTracing) and error.lines:
        return [*error.lines]
    traceback = error.__traceback__
    while traceback is not None:
        name = traceback.tb_frame.f_code.co_filename
        if not is_own(name) or _is_typed(name):
            found.append((name, traceback.tb_lineno))
        traceback = traceback.tb_next
    return found


def is_librarys(error: BaseException) -> bool:
    """Whether a function in C, or of a library, refused a value's class, as it may do with what has no values yet."""
    traceback = error.__traceback__
    while traceback is not None and traceback.tb_next is not None:
        traceback = traceback.tb_next
    return type(error) is TypeError and traceback is not None and not is_own(traceback.tb_frame.f_code.co_filename)


def _is_typed(name: str) -> bool:
    """Whether code was typed in, in a notebook or a console, whose source is known."""
    return name.startswith("<") and not name.startswith(_GENERATED) and bool(linecache.getlines(name))


def raise_of_signal(error: BaseException) -> None:
    """Raise what a signal's handler raised, if that is what went wrong: a time limit, most of all."""
    handlers = map(signal.getsignal, signal.valid_signals())
    codes = {getattr(handler, "__code__", None) for handler in handlers} - {None}
    cause: BaseException | None = error
    found = None
    while cause is not None:
        traceback = cause.__traceback__
        while traceback is not None:
            if traceback.tb_frame.f_code in codes:
                found = cause  # the innermost: a compiler's error around it has its traceback, too
            traceback = traceback.tb_next
        cause = cause.__cause__ or cause.__context__
    if found is not None:
        raise found


def asked_by(error: BaseException) -> str:
    """What asked for a value where ``error`` was raised, and what to do instead."""
    what, advice = question(*_asking(error))
    return f"by {what}; {advice}"


def _asking(error: BaseException) -> tuple[FrameType, str]:
    """The innermost frame of the program where an error was raised, and the name of tnp's function that it called."""
    traceback = error.__traceback__
    frame, called = sys._getframe(), ""
    while traceback is not None:
        code = traceback.tb_frame.f_code
        if not is_own(code.co_filename):
            frame, called = traceback.tb_frame, ""
        elif not called and code.co_filename.startswith(_FRONT) and not _is_statement(code.co_filename):
            called = code.co_name
        traceback = traceback.tb_next
    return frame, called


def escaped_error() -> TracedValueError:
    """The error of using an array of a batch once that is over."""
    return TracedValueError(
        f"{user_line()}: an array is used that stood for one element of each array in vectorized_map or a derivative, "
        "which is over: it has no values any more. Return it from there, instead of keeping it in an attribute, a list "
        "or a global"
    )


def value_error(by: str = "") -> TracedValueError:
    """The error of asking for a value; ``by`` names what asks, if no function of tnp's that the program called does."""
    frame, called = _user_frame()
    what, advice = question(frame, by or called)
    return TracedValueError(
        f"{frame.f_code.co_filename}:{frame.f_lineno}: the value of a traced array is asked for (by {what}), which it "
        f"has only when the compiled function runs; {advice}, or leave this part outside tnp.compile"
    ).because(f"{what} needs a value")


def constant_error(by: str) -> TracedValueError:
    """The error of asking for the value of an array that is differentiated, as a number that has no derivative."""
    name = state.differentiating[-1] if state.differentiating else None
    what = f"tnp.{name} differentiates" if name else "torch.func differentiates"
    return TracedValueError(
        f"{user_line()}: {by} makes a Python number of an array that {what}: its derivative would be lost. Compute "
        "with tnp's functions (np.exp(x) for math.exp(x), np.stack([x, y]) for np.array([float(x), float(y)])); or, if "
        "it is to be a constant, say so: float(np.stop_gradient(x))"
    )


def shape_error(operation: str) -> TracedValueError:
    """The error of asking for a shape that depends on values."""
    _, called = _user_frame()
    operation = operation if called.startswith("_") else called or operation
    what = f"{operation}'s result"
    if operation == "compiled":  # which reads what a mask selects once the function returns it
        what = "what the function returns, selected by a boolean index,"
    advice = _BY_SHAPE.get(operation, "select with tnp.where(condition, a, b) instead of a boolean index")
    return TracedValueError(
        f"{user_line()}: the shape of {what} depends on values, which an array has only when the compiled function "
        f"runs; {advice}, or leave this part outside tnp.compile"
    ).because(f"the shape of {what} depends on values")


def shape_by(error: BaseException) -> str:
    """What has a shape that depends on values where ``error`` was raised, and what to do instead."""
    _, called = _asking(error)
    what = "a boolean index" if called in ("", "__getitem__") else called
    advice = _BY_SHAPE.get(what, "select with tnp.where(condition, a, b)")
    return f"the shape of {what}'s result depends on values, so it differs among the elements; {advice}"


_BY_SHAPE = {
    "repeat": "repeat as often as a Python int says, which is static, or take the elements: x[tnp.asarray(indices)]",
    "unique": "sort, and mark those that differ from the one before: s = tnp.sort(x), s[1:] != s[:-1]",
}
"""What to do instead, by function; of others a boolean index is the most frequent cause."""


def left_over_error() -> TracedValueError:
    """The error of using a traced array once its trace is over."""
    return TracedValueError(
        f"{user_line()}: an array is used that was traced in a compiled function, a branch or a loop's body, which is "
        "over: it has no values and never will, as Python runs only while tracing. Return it from there, instead of "
        "keeping it in an attribute, a list or a global; or write its values into an array from outside (a[...] = b)"
    )


def write_error() -> NotImplementedError:
    """The error of writing, in a branch or a loop's body, to what is outside of it."""
    return NotImplementedError(
        f"{user_line()}: a branch or a loop's body that is traced can't write to an array from around it: return the "
        "new value, or carry the array through the loop"
    )


def written_before_error() -> NotImplementedError:
    """The error of a branch or a loop's body that uses an array that a derivative around it has a stand-in for."""
    return NotImplementedError(
        f"{user_line()}: a branch or a loop's body that is traced can't use an array from outside of the derivative "
        "that was written to inside of the derivative: pass the array to the branch, or carry it through the loop"
    )


def parameter_error() -> TracedValueError:
    """The error of giving a traced value to a generator of NumPy's."""
    return TracedValueError(
        f"{user_line()}: NumPy seeds generators, and draws from those that a compiled function seeds, while the "
        "function is traced: the value of a traced array is no seed and no parameter. Draw standard numbers and scale "
        "them (loc + scale * rng.standard_normal(n)), or pass the generator to the function"
    ).because("NumPy draws with parameters, or seeds with a value, that the function computes")


def draw_error() -> NotImplementedError:
    """The error of drawing, in a branch, a loop or a batch, from a generator that was seeded around it, or after it."""
    return NotImplementedError(
        f"{user_line()}: a branch or a loop that is traced, or vectorized_map, can't draw from a generator that the "
        "compiled function seeds outside of it, and the other way round: draw all numbers at once before "
        "(rng.random((n, 3))) and index them, or pass the generator to the function"
    )


def device_draw_error() -> NotImplementedError:
    """The error of drawing from an accelerator's generator that the same trace or batch has seeded."""
    return NotImplementedError(
        f"{user_line()}: a compiled function or vectorized_map can't seed a generator of an accelerator and draw from "
        "it, for it would go on at the next call or element instead of starting again: make the generator before, or "
        "draw on the host (default_rng(seed, device='cpu'))"
    )


def part_write_error() -> NotImplementedError:
    """The error of writing to a part of an array from outside, in a derivative inside of a batch."""
    return NotImplementedError(
        f"{user_line()}: a derivative in vectorized_map can't write to a part of an array from outside: write to all "
        "of it (a[...] = b), or to an array that is made inside"
    )


def alias_write_error() -> NotImplementedError:
    """The error, in place of torch's, of writing to the memory of a differentiated argument by another array."""
    return NotImplementedError(
        f"{user_line()}: an array from outside is written to that has the memory of an argument which is "
        "differentiated: write to the argument itself, or pass a copy of it"
    )


def check_not_handled() -> None:
    """Raise TracedValueError in a ``try`` with handlers: whether an operation raises there depends on values."""
    if state.handlers:
        why = "whether an error is raised inside of a `try` depends on values"
        raise TracedValueError(f"{user_line()}: {why}").because(why)


def untraceable_error(error: Exception) -> UntraceableError:
    """The error in place of one that torch raised inside of a trace."""
    line, why = line_of(error), "torch can't trace this"
    text = (str(error).strip() or type(error).__name__).split("\n")[0]
    return UntraceableError(f"{line}: {why} ({text}): leave this part outside tnp.compile").because(f"{why} ({text})")


def shared_write_error() -> NotImplementedError:
    """The error of writing, in a branch or a loop's body, to one of several arrays of one memory."""
    return NotImplementedError(
        f"{user_line()}: a branch or a loop's body that is traced writes to an array that shares memory with another "
        "one from around it, or is not in C order: make the views inside, or copy the array before"
    )


def left_view_error(name: str, what: str) -> UntraceableError:
    """The error of using a view that a traced branch or a loop chose, where its array would be asked for again."""
    return UntraceableError(
        f"{user_line()}: {name} {what}, but it may be a view that was chosen in a branch or a loop whose condition is "
        f"traced: which elements it shares is known when the graph runs. Let {name} be a copy ({name} = x.copy()), "
        "or select it again after the branch or the loop"
    )
