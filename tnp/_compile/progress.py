"""Messages of ``tnp.compile`` about its work: in Python's logging, and on standard error after a long wait.

Layer: owns the logger ``tnp.compile``, its levels, and the environment variable ``TNP_LOG``. Python's logging writes
warnings to standard error unless the program configures it.
"""

from __future__ import annotations

import contextlib
import logging
import os
import threading
import time
import warnings
from collections.abc import Iterator

log = logging.getLogger("tnp.compile")
PATIENCE = 1.0
"""Seconds of compiling before a message."""
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
    said = threading.Event()

    def say() -> None:
        said.set()
        log.warning("tnp.compile: compiling %s: %s", what, why)

    timer = threading.Timer(PATIENCE, say)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        level = logging.WARNING if said.is_set() else logging.INFO
        log.log(level, "tnp.compile: %s took %.1f s", what, time.perf_counter() - start)
