"""The end of a program, which waits for the threads that compile.

Layer: owns that wait. Python ends a daemon thread where it next takes the interpreter's lock. Amid torch's C++ code, as
in most of what a compiler does, that aborts the process.
"""

from __future__ import annotations

import contextlib
import functools
import importlib
import threading
import time
from collections.abc import Iterator

PATIENCE = 300.0
"""Seconds that the end of a program waits for the others, which might wait for something themselves."""
RESPITE = 0.5
"""Seconds that they have after that to get from the scope's end to where they don't compute: they hold tensors yet."""

_changed = threading.Condition()
_under_way: list[threading.Thread] = []
_ends = False


@contextlib.contextmanager
def waited_for() -> Iterator[None]:
    """A scope that this thread gets to the end of, or, as a daemon when the program ends, never enters."""
    _register()
    thread = threading.current_thread()
    with _changed:
        while _ends and thread.daemon:
            _changed.wait()
        _under_way.append(thread)
    try:
        yield
    finally:
        with _changed:
            _under_way.remove(thread)
            _changed.notify_all()


@functools.cache
def _register() -> None:
    """Have `_wait` called before the executors end that a compiler uses, which is before those registered earlier."""
    importlib.import_module("concurrent.futures.thread")
    importlib.import_module("concurrent.futures.process")
    with contextlib.suppress(RuntimeError):  # the program ends already
        threading._register_atexit(_wait)  # type: ignore[attr-defined]


def _wait() -> None:
    global _ends
    with _changed:
        _ends = True
        waits = bool(_under_way)
        _changed.wait_for(lambda: not any(thread.is_alive() for thread in _under_way), PATIENCE)
    if waits:
        time.sleep(RESPITE)
