"""Shutdown: the end of the program waits for the threads that compile.

Layer: owns that wait. Python ends a daemon thread where it next takes the interpreter's lock. Inside torch's C++ code,
where a compiler is most of the time, that aborts the process.
"""

from __future__ import annotations

import contextlib
import functools
import importlib
import threading
import time
from collections.abc import Iterator

PATIENCE = 300.0
"""Seconds that the end of a program waits for these threads, which may themselves wait for something."""
RESPITE = 0.5
"""Further seconds for the threads to release their tensors after the scope ends."""

_changed = threading.Condition()
_under_way: list[threading.Thread] = []
_ends = False


@contextlib.contextmanager
def waited_for() -> Iterator[None]:
    """A scope that this thread completes; a daemon thread never enters it once the program ends."""
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
    """Register `_wait` to run before a compiler's executors end, which is before the callbacks registered earlier."""
    importlib.import_module("concurrent.futures.thread")
    importlib.import_module("concurrent.futures.process")
    with contextlib.suppress(RuntimeError):  # the program is ending already
        threading._register_atexit(_wait)  # type: ignore[attr-defined]


def _wait() -> None:
    global _ends
    with _changed:
        _ends = True
        waits = bool(_under_way)
        _changed.wait_for(lambda: not any(thread.is_alive() for thread in _under_way), PATIENCE)
    if waits:
        time.sleep(RESPITE)
