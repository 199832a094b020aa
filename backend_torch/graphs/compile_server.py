"""The process that compiles for a program: it makes a graph from its form and leaves the code in the cache on disk.

Layer: owns the loop over the tasks of ``compile_workers``, and torch's settings, which are those of the program.
"""

from __future__ import annotations

import os
import pickle
import select
import sys
import warnings
from typing import Any

import torch

from backend_torch.graphs import code_cache, compiling

_IDLE = 60.0  # seconds after which a process without a task ends


def serve() -> None:
    """Compile what comes by the standard input, one task after another, until there is none for long."""
    outcomes = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what a compiler prints is no outcome
    warnings.simplefilter("ignore")  # they would name lines of torch: the program has its own from the trace
    while select.select([sys.stdin.buffer], [], [], _IDLE)[0]:
        try:
            task = pickle.load(sys.stdin.buffer)
        except EOFError:
            return
        try:
            problem = _done(**task)
        except Exception as error:
            problem = f"{type(error).__name__}: {error}"
        pickle.dump(problem, outcomes)
        outcomes.flush()


def _done(
    form: tuple[Any, ...],
    key: str,
    mode: str | None,
    options: dict[str, Any] | None,
    folder: str,
    environment: dict[str, str],
    threads: int,
    dtype: torch.dtype,
    precision: str,
) -> str | None:
    """Compile a graph; return None, or why its code is not in the cache."""
    for name in os.environ.keys() - environment.keys():
        del os.environ[name]
    os.environ.update(environment, TNP_CACHE_DIR=folder)
    torch.set_num_threads(threads)
    torch.set_default_dtype(dtype)
    torch.set_float32_matmul_precision(precision)
    executable = compiling.Executable(compiling.remade(form), mode=mode, options=options)
    if executable.key() != key:
        return "the graph or torch's settings are not the same there"
    executable.compile_for_disk()
    return None if code_cache.holds(key) else "the code needs the process that compiled it"
