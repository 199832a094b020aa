"""Messages of ``tnp.compile`` about its work: in Python's logging, and on standard error after a long wait.

Layer: owns the logger ``tnp.compile``, its levels, and the environment variable ``TNP_LOG``. Python's logging writes
warnings to standard error unless the program configures it. A notebook shows one line that changes.
"""

from __future__ import annotations

import contextlib
import logging
import os
import sys
import threading
import time
import warnings
from collections.abc import Iterator
from typing import Any

log = logging.getLogger("tnp.compile")
PATIENCE = 1.0
"""Seconds of compiling before a message."""
_PACE = 1.0  # seconds between two changes of a notebook's line
_LEVELS = {
    "debug": logging.DEBUG,
    "info": logging.INFO,
    "warning": logging.WARNING,
    "off": logging.CRITICAL + 1,
}


def configure(level: str | None) -> None:
    """Log to standard error from the level of ``TNP_LOG`` on; None changes nothing."""
    if level is None:
        return
    if level.lower() not in _LEVELS:
        warnings.warn(f"TNP_LOG is one of {', '.join(_LEVELS)}, not {level!r}", RuntimeWarning, stacklevel=2)
        return
    log.setLevel(_LEVELS[level.lower()])
    if not log.handlers:
        log.addHandler(logging.StreamHandler())
    log.propagate = False


configure(os.environ.get("TNP_LOG"))


class _Line:
    """A line of a notebook's output whose text changes; outside of a notebook there is none."""

    def __init__(self) -> None:
        shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
        self._display = sys.modules["IPython"].display.display if getattr(shell, "kernel", None) else None
        self._handle: Any = None

    def shows(self, text: str) -> bool:
        """Show a text in place of the last one; return whether there is a notebook."""
        if self._display is None:
            return False
        data = {"text/plain": text}
        if self._handle is None:
            self._handle = self._display(data, raw=True, display_id=True)
        else:
            self._handle.update(data, raw=True)
        return True


@contextlib.contextmanager
def told(what: str, why: str) -> Iterator[None]:
    """Report a compile that takes longer than a second: first what is compiled and why, at the end the time.

    Parameters
    ----------
    what : str
        The name of the function.
    why : str
        The reason: the function is new, or something about its arguments.
    """
    start = time.perf_counter()
    line, over, said = _Line(), threading.Event(), threading.Event()

    def say() -> None:
        patience = PATIENCE
        while not over.wait(patience):
            text = f"tnp.compile: compiling {what}: {why}"
            in_notebook = line.shows(f"{text} ... {time.perf_counter() - start:.0f} s")
            if not said.is_set():
                said.set()
                log.log(logging.INFO if in_notebook else logging.WARNING, text)
            patience = _PACE
            if not in_notebook:
                return

    thread = threading.Thread(target=say, name="tnp.compile tells", daemon=True)
    with contextlib.suppress(RuntimeError):  # from Python 3.12 on no thread starts once the interpreter ends
        thread.start()
    try:
        yield
    finally:
        over.set()
        if thread.ident is not None:
            thread.join()
        text = f"tnp.compile: {what} took {time.perf_counter() - start:.1f} s"
        is_long = said.is_set() and not line.shows(text)
        log.log(logging.WARNING if is_long else logging.INFO, text)
