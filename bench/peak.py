"""The peak memory of a call, measured in a process of its own, on Linux.

It is resident memory, so that libraries with their own allocators are measured alike. tnp is told not to keep freed
memory, because memory kept from the call before would hide what a call takes. Other libraries can't be told.
"""

from __future__ import annotations

import importlib
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
IS_KNOWN = Path("/proc/self/clear_refs").exists()
SCRIPT = """
import ast, sys
from bench import peak
module, name, *arguments = ast.literal_eval(sys.argv[1])
print(peak.here(peak.made(module, name, arguments)))
"""


def made(module: str, name: str, arguments: list[Any]) -> Callable[[], Any]:
    """Return the call that a function of a module makes."""
    return getattr(importlib.import_module(module), name)(*arguments)


def here(call: Callable[[], Any]) -> int:
    """Return the most bytes by which this process grows while ``call`` runs a second time."""
    call()
    Path("/proc/self/clear_refs").write_text("5")  # reset the high water mark to the memory that is resident now
    before = _resident("VmHWM")
    call()
    return _resident("VmHWM") - before


def _resident(name: str) -> int:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(f"{name}:"):
            return int(line.split()[1]) * 1024
    raise OSError(f"/proc/self/status does not tell {name}")


def apart(module: str, name: str, *arguments: Any) -> int:
    """Measure the call that ``module.name(*arguments)`` returns, in a fresh process."""
    environment = {**os.environ, "TNP_ALLOCATOR": "system"}
    run = subprocess.run(
        [sys.executable, "-c", SCRIPT, repr((module, name, *arguments))],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    return int(run.stdout.split()[-1])
