"""Checks of values: they run at once, or in a graph when it runs.

Layer: owns the texts with which a running graph refuses values, and the exception that each text stands for.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch

from backend_torch.autodiff import transform_levels
from backend_torch.tensors import memory, trace_state
from backend_torch.torch_private import messages
from backend_torch.torch_private.operators import assert_async

Tensor = torch.Tensor

DEMANDED: dict[str, Callable[[str], Exception]] = {
    "index out of bounds: ": IndexError,  # Inductor's own
    "input tensor should not contain infs or NaNs": np.linalg.LinAlgError,  # of linalg.eig
}
"""Text of a check that fails when a graph runs -> class of the exception, or a function that returns one."""


def _demanded(kind: type[Exception], text: str) -> str:
    DEMANDED[text] = kind
    return text


MISCOUNTED = _demanded(
    ValueError, "boolean index assignment: the mask has another number of true elements than there are values"
)
OUTSIDE = _demanded(IndexError, "index is out of bounds")
INVALID = _demanded(ValueError, "invalid entry: an integer is out of bounds")
NEGATIVE = _demanded(ValueError, "Integers to negative integer powers are not allowed.")
ALL_NAN = _demanded(ValueError, "All-NaN slice encountered")
WEIGHTLESS = _demanded(ZeroDivisionError, "Weights sum to zero, can't be normalized")
UNCOUNTED = _demanded(ValueError, "'list' argument must have no negative elements")
BEYOND = _demanded(
    ValueError, "bincount in a compiled function gives `minlength` counts, and an element is not below it"
)
ZERO = _demanded(ValueError, "Geometric sequence cannot include zero")
FALLING = _demanded(ValueError, "`bins` must increase monotonically, when an array")
UNBOUNDED = _demanded(ValueError, "autodetected range is not finite")
TOO_MANY_BINS = _demanded(ValueError, "Too many bins for data range. Cannot create finite-sized bins.")
NEITHER_WAY = _demanded(ValueError, "bins must be monotonically increasing or decreasing")
NO_QUANTILES = _demanded(ValueError, "Quantiles must be in the range [0, 1]")
NO_PERCENTILES = _demanded(ValueError, "Percentiles must be in the range [0, 100]")
ASSERTED = _demanded(AssertionError, "an assert of a compiled function failed")
TOO_LARGE = _demanded(
    OverflowError,
    "a Python int that a traced branch or loop computes is too large for 64 bits: begin with a float, or with a "
    "tnp.int64, which wraps; or leave the loop out of the compiled function",
)
OUT_OF_BOUNDS = {
    name: _demanded(OverflowError, f"a Python integer is out of bounds for {name}")
    for name in ("int8", "int16", "int32", "uint8", "uint16", "uint32", "uint64")
}
"""Dtype -> the text for an int of a traced branch or loop that an array of it can't hold."""
OPEN_LENGTHS = _demanded(ValueError, "operands could not be broadcast together: slices differ in their lengths")
NO_STEP = _demanded(ValueError, "slice step cannot be zero")
NO_RANGE = _demanded(ValueError, "range() arg 3 must not be zero")
OPEN_EMPTY = _demanded(ValueError, "zero-size array to reduction operation which has no identity")


def raising(error: BaseException, line: str) -> str:
    """Return the text of a check that raises a program's own exception, which a line of it raises."""
    text = messages.kept(error, line)
    DEMANDED[text] = lambda _: error.with_traceback(None)  # type: ignore[assignment,return-value]
    return text


def unassigned(name: str) -> str:
    """Return the text of a check that a variable has a value."""
    why = "the loop or branch that sets it did not run"
    return raising(
        UnboundLocalError(f"cannot access local variable '{name}' where it is not associated with a value: {why}"), ""
    )


def demand(condition: Tensor, text: str) -> None:
    """Raise, now or when the graph runs, unless a bool tensor is true everywhere; ``text`` is one of `DEMANDED`."""
    with transform_levels.unseen():  # in a batch, the new tensor may exist for each slice
        condition = memory.unwrapped(memory.unwrapped(condition).all())  # results in torch.func are wrapped again
    if memory.is_sharded(condition):
        condition = condition.full_tensor()  # type: ignore[attr-defined]
    if not memory.is_readable(condition):
        assert_async(condition, text)
    elif not memory.to_numpy(memory.to_host(condition)):  # hidden from transforms
        raise trace_state.noted(DEMANDED[text](text))


def expect(condition: Tensor, text: str) -> None:
    """`demand` for values whose results have no meaning, but do no harm.

    A graph on an accelerator does not check: a failed check there makes the device unusable for the process.
    """
    if condition.is_cpu or memory.is_readable(memory.unwrapped(condition)):
        demand(condition, text)
