"""Compiling beside the program: threads that wait for the code, and processes that compile for them.

Layer: owns the processes: their start, the way of a task there and of its outcome back, and their end, which is that of
the program at the latest. ``compile_server`` is what they run.
"""

from __future__ import annotations

import contextlib
import functools
import logging
import os
import pickle
import subprocess
import sys
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import torch

from backend_torch.graphs import code_cache, elementwise_code

if TYPE_CHECKING:
    from concurrent.futures import Future, ThreadPoolExecutor

log = logging.getLogger("tnp.compile")
_PROGRAM = "import sys; sys.path[:] = {path!r}; from backend_torch.graphs import compile_server; compile_server.serve()"


class _Ends(Exception):
    """The program ends, so nobody needs the code."""


@functools.cache
def _threads() -> ThreadPoolExecutor:
    from concurrent.futures import ThreadPoolExecutor

    with contextlib.suppress(RuntimeError):  # the program is ending already
        threading._register_atexit(_end)  # type: ignore[attr-defined]  # before the threads are waited for
    return ThreadPoolExecutor(os.cpu_count() or 1, "tnp.compile")


def in_background(run: Callable[[], Any]) -> Future[Any]:
    """Call a function in another thread, with this thread's choice whether gradients are recorded."""
    is_recording = torch.is_grad_enabled()

    def called() -> Any:
        with torch.set_grad_enabled(is_recording):
            return run()

    return _threads().submit(called)


_idle: list[subprocess.Popen[bytes]] = []
_busy: set[subprocess.Popen[bytes]] = set()
_lock = threading.Lock()
_over = False


def compiled_elsewhere(form: tuple[Any, ...], key: str, mode: str | None, options: dict[str, Any] | None) -> bool:
    """Let another process compile a graph; return whether the code now lies in the cache under its key.

    Raises
    ------
    Exception
        The program ends.
    """
    task = {
        "form": form, "key": key, "mode": mode, "options": options, "folder": f"{code_cache.writable_folder()}",
        "environment": dict(os.environ), "threads": torch.get_num_threads(), "dtype": torch.get_default_dtype(),
        "precision": torch.get_float32_matmul_precision(),
    }  # fmt: skip
    for worker in iter(_taken, None):
        try:
            pickle.dump(task, worker.stdin)  # type: ignore[arg-type]
            worker.stdin.flush()  # type: ignore[union-attr]
            problem = pickle.load(worker.stdout)  # type: ignore[arg-type]
        except (OSError, EOFError, pickle.UnpicklingError):
            with _lock:
                _busy.discard(worker)
            if worker.wait() == 0 and not _over:
                continue  # it had no task for long and ended
            problem = f"the compiler's process ended with {worker.returncode}"
        else:
            with _lock:
                _busy.discard(worker)
                _idle.append(worker)
        if _over:
            raise _Ends
        if problem is not None:
            log.info("tnp.compile: another process can't compile a graph: %s", problem)
        return problem is None
    return False


def _taken() -> subprocess.Popen[bytes] | None:
    """Return a process without a task, started if need be; None where none can be started."""
    with _lock:
        if _over:
            raise _Ends
        worker = _idle.pop() if _idle else _started()
        if worker is not None:
            _busy.add(worker)
        return worker


def _started() -> subprocess.Popen[bytes] | None:
    command = [sys.executable or "", "-c", _PROGRAM.format(path=sys.path)]
    pipe, nowhere = subprocess.PIPE, subprocess.DEVNULL
    try:  # in a session of its own, so that an interrupt of the program from the keyboard does not reach it
        return subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=nowhere, start_new_session=True)
    except OSError as error:
        log.info("tnp.compile: no other process can compile: %s", error)
        return None


def _end() -> None:
    """End all processes; what they have not finished leaves nothing in the cache."""
    global _over
    with _lock:
        _over = True
        for worker in [*_idle, *_busy]:
            worker.kill()
    elementwise_code.end()
    _threads().shutdown(wait=False, cancel_futures=True)
