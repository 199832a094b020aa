"""Find the calls that torch's CUDA build refuses: functions of every dtype, CPU numbers beside arrays, derivatives.

``python -m conformance dry-cuda`` runs this module in a process with the stand-in.
"""

from __future__ import annotations

import contextlib
import functools
import re
import signal
import sys
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy

import tnp
from conformance import samples, trials

REFUSED = re.compile(r"not implemented for '|same device|two devices|different devices|supported for tensor with more")
"""Texts of refusals, by torch and tnp, about dtypes, devices and dimensions. Garbage values may cause other errors."""
DTYPES = ["?", "u1", "i1", "u2", "i2", "u4", "i4", "u8", "i8", "f2", "f4", "f8", "c8", "c16"]
SECONDS = 20
"""The most seconds for a call: a loop that waits for garbage to converge never ends."""
Calls = Iterator[tuple[str, Callable[[], Any]]]


def numbers_beside_arrays() -> Calls:
    """Yield each ufunc of an array and a number (Python's, or a 0-d array on the CPU), and its derivatives."""
    for name in numpy.__all__:
        ufunc = getattr(numpy, name)
        if not isinstance(ufunc, numpy.ufunc) or ufunc.nin != 2 or ufunc.signature is not None:
            continue
        for dtype in DTYPES:
            x = tnp.ones((2, 3), dtype)
            for number in (numpy.ones((), dtype).item(), tnp.ones((), dtype, device="cpu")):
                for first in (True, False):
                    function = _beside(getattr(tnp, name), number, first)
                    said = f"np.{name}({'x, number' if first else 'number, x'}) of {x.dtype}"
                    yield said, functools.partial(function, x)
                    if x.dtype.kind == "f":
                        yield from derivatives(said, function, x)


def _beside(function: Callable[..., Any], number: Any, first: bool) -> Callable[[Any], Any]:
    """Return the function of an array, as first or last operand, and a number."""
    return lambda x: function(x, number) if first else function(number, x)


def every_function() -> Calls:
    """Yield the sample of each function with arrays of each dtype; for float64 also its derivatives."""
    for code in dict.fromkeys(filter(None, samples.samples().values())):
        sample = trials.sample_function(code, tnp)
        arrays = samples.values(tnp)
        for dtype in DTYPES:
            given = {name: arrays[name].astype(dtype) for name in "xyvm"}
            yield f"{code} of {numpy.dtype(dtype)}", functools.partial(sample, **(arrays | given))
        if "x" in code:
            yield from derivatives(
                code, lambda x, sample=sample, arrays=arrays: sample(**(arrays | {"x": x})), arrays["x"]
            )


def derivatives(name: str, function: Callable[[Any], Any], x: Any) -> Calls:
    """Yield a function's gradient and its derivative in forward mode."""

    def total(x: Any) -> Any:
        found = function(x)
        result = found[0] if isinstance(found, tuple) else found
        return tnp.sum(tnp.real(result))

    yield f"gradient of {name}", lambda: tnp.grad(total)(x)
    yield f"jvp of {name}", lambda: tnp.jvp(total, (x,), (x,))


def refusal(call: Callable[[], Any]) -> str | None:
    """Return the refusal of a call by the CUDA build; None if it is not refused."""
    signal.alarm(SECONDS)
    try:
        call()
    except Exception as error:
        return str(error).partition("\n")[0] if REFUSED.search(str(error)) else None
    finally:
        signal.alarm(0)
    return None


def _end(*_: Any) -> None:
    raise TimeoutError


def main() -> int:
    """Print the refused calls; return 1 if there are any."""
    signal.signal(signal.SIGALRM, _end)
    warnings.simplefilter("ignore")
    tnp.set_default_device("cuda")
    tried, refused = 0, 0
    with contextlib.suppress(KeyboardInterrupt):
        for calls in (numbers_beside_arrays(), every_function()):
            for name, call in calls:
                tried += 1
                if (said := refusal(call)) is not None:
                    refused += 1
                    print(f"{name}: {said}", flush=True)
    print(f"{tried} calls, {refused} refused")
    return int(refused > 0)


if __name__ == "__main__":
    sys.exit(main())
