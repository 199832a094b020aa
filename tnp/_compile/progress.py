"""What ``tnp.compile`` says of its work: in Python's logging, and on standard error where somebody waits.

Layer: owns the logger ``tnp.compile``, its levels, and the environment's ``TNP_LOG``. A warning of logging goes to
standard error unless the program says otherwise.
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
"""Seconds of compiling after which somebody is told."""
_LEVELS = {
    "debug": logging.DEBUG,
    "info": logging.INFO,
    "warning": logging.WARNING,
    "off": logging.CRITICAL + 1,
}


def configure(level: str | None) -> None:
    """Log from a level of ``TNP_LOG`` on to standard error; None leaves logging as it is."""
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
    """A scope that compiles a function: after a second it is said what is compiled and why, and then how long it took.

    Parameters
    ----------
    what : str
        The function.
    why : str
        What is new: the function, or something about its arguments.
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
