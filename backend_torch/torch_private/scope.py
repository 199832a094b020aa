"""Inductor as tnp has it: what is replaced of it is replaced where it compiles for tnp, and nowhere else.

Layer: owns that scope. vector_code.py and passes.py have what stands in for torch's own; inductor.py compiles there.
"""

from __future__ import annotations

import contextlib
import functools
import threading
from collections.abc import Callable, Iterator
from typing import Any


class _Here(threading.local):
    tailored = False


_here = _Here()


@contextlib.contextmanager
def tailored() -> Iterator[None]:
    """A scope in which `either` is ours, in this thread."""
    before, _here.tailored = _here.tailored, True
    try:
        yield
    finally:
        _here.tailored = before


def either(ours: Callable[..., Any], theirs: Callable[..., Any]) -> Callable[..., Any]:
    """What is called in place of one of torch's functions: ours in the scope, and else theirs."""

    @functools.wraps(theirs)  # Inductor looks for scalar operations by the function's name
    def chosen(*args: Any, **kwargs: Any) -> Any:
        return ours(*args, **kwargs) if _here.tailored else theirs(*args, **kwargs)

    return chosen
