"""The state of traces and batches: whether one runs, and which of the user's lines it runs.

Layer: owns the error for a read of a traced array's values. It imports no module of the project: all may use it.
"""

from __future__ import annotations

import contextlib
import os
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any


class TracedValueError(TypeError):
    """Python asked for the value of an array that has none yet, or would lose its derivative.

    The function is being traced or differentiated.
    """


class _State(threading.local):
    depth = 0
    batches = 0
    batch: Any = None  # which is the innermost of them: it wants to `note` errors that depend on values
    overwrites = 0  # in how many recordings old values are kept: of a write they have to be told by torch

    def __init__(self) -> None:
        self.keepers: list[Any] = []  # who is told what gradients need, the innermost last
        self.differentiating: list[str] = []  # the functions that differentiate what runs, the innermost last


state = _State()


@contextlib.contextmanager
def tracing() -> Iterator[None]:
    """A scope in which this thread traces a function."""
    state.depth += 1
    try:
        yield
    finally:
        state.depth -= 1


def is_tracing() -> bool:
    """Whether this thread is running a function in order to trace it."""
    return state.depth > 0


def is_batching() -> bool:
    """Whether this thread is running a function for all slices of its arguments at once."""
    return state.batches > 0


_PACKAGES = Path(__file__).parents[2]
_OWN = tuple([os.path.join(_PACKAGES, name, "") for name in ("backend_torch", "tnp")])


def _inner() -> tuple[str, ...]:
    """How the names of files begin that no user wrote."""
    return (*_OWN, os.path.join(os.path.dirname(sys.modules["torch"].__file__ or ""), ""), "<")


def noted(error: Exception) -> Exception:
    """An error that is about to be raised for all slices of a batch, which has to know if there is one."""
    if state.batch is not None:
        state.batch.note(error)
    return error


def is_own(name: str) -> bool:
    """Whether a file is none of the program's but tnp's, or a library's of its."""
    return name.startswith(_inner())


def user_line() -> str:
    """The file and line of the innermost frame that is not in tnp or a library of its."""
    inner = _inner()
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(inner):
        frame = frame.f_back
    return f"{frame.f_code.co_filename}:{frame.f_lineno}"


def line_of(error: BaseException) -> str:
    """The file and line of the innermost frame that is not in tnp or a library of its, when ``error`` was raised."""
    inner = _inner()
    line = "an unknown line"
    traceback = error.__traceback__
    while traceback is not None:
        name = traceback.tb_frame.f_code.co_filename
        if not name.startswith(inner):
            line = f"{name}:{traceback.tb_lineno}"
        traceback = traceback.tb_next
    return line


def value_error() -> TracedValueError:
    """The error of asking for a value."""
    return TracedValueError(
        f"{user_line()}: the value of a traced array is asked for (by if, while, int(), float(), bool(), item(), an "
        "index or a function that NumPy computes), which it has only when the compiled function runs; choose with "
        "tnp.where or tnp.cond, repeat with tnp.while_loop, or leave this part outside tnp.compile"
    )


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
    return TracedValueError(
        f"{user_line()}: the shape of {operation}'s result depends on values, which an array has only when the "
        "compiled function runs; select with tnp.where(condition, a, b) instead of a boolean index, or leave this part "
        "outside tnp.compile"
    )


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
