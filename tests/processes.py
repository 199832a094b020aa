"""Programs of tests in processes of their own that have tnp already: a fork, not a start.

``import tnp`` takes a second or two of processor time, and the tests run many programs. One process imports NumPy,
torch and tnp, or what ``after`` names, and does nothing else; each program runs in a fork of it. At its end threads
are waited for and what `atexit` has runs, but the modules stay, for torch takes a third of a second to tear down;
``torn_down`` does that, too. A test that is about the start, the imports, or what they read from the environment
starts Python itself.
"""

from __future__ import annotations

import atexit
import functools
import gc
import json
import os
import runpy
import signal
import socket
import subprocess
import sys
import threading
import types
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
TNP = "import numpy, torch, tnp"
COMPILERS = f"{TNP}; from torch._inductor import compile_fx"
"""For programs of which what tnp imports does not matter; the import takes a few seconds."""
ENVIRONMENT = {**os.environ, "OMP_NUM_THREADS": "1"}
READ_AT_IMPORT = {
    *("GOMP_SPINCOUNT", "OMP_NUM_THREADS", "OMP_WAIT_POLICY", "THP_MEM_ALLOC_ENABLE"),
    *("TNP_ALLOCATOR", "TNP_LOG", "TNP_NATIVE", "TORCH_LOGS"),
}
"""Variables that a program can't set for itself: the imports have read them."""
LIMIT = 280  # seconds that no program comes near


class Process:
    """As ``subprocess.Popen``: Python with these arguments, in a folder, with more variables in its environment."""

    def __init__(
        self,
        *arguments: str | Path,
        cwd: str | Path = ROOT,
        after: str = TNP,
        torn_down: bool = False,
        **environment: str,
    ) -> None:
        assert not environment.keys() & READ_AT_IMPORT, "the imports have read these variables"
        self.returncode: int | None = None
        self._pipes, ends = zip(*[os.pipe() for _ in range(3)], strict=True)
        read = {name: ENVIRONMENT[name] for name in READ_AT_IMPORT & ENVIRONMENT.keys()}
        variables = {**os.environ, **environment, **read}
        request = json.dumps([[*map(str, arguments)], str(cwd), variables, torn_down]).encode()
        socket.send_fds(_parent(after), [len(request).to_bytes(4, "big")], ends)
        _parent(after).sendall(request)
        for end in ends:
            os.close(end)

    def communicate(self) -> tuple[str, str]:
        """Wait for the end; return the output and the errors."""
        with ThreadPoolExecutor(3) as pool:
            out, err, code = pool.map(lambda pipe: os.fdopen(pipe).read(), self._pipes)
        self.returncode = int(code)
        return out, err


def run(*arguments: str | Path, **options: Any) -> subprocess.CompletedProcess[str]:
    """As ``subprocess.run``: a `Process`, and its end."""
    process = Process(*arguments, **options)
    out, err = process.communicate()
    assert process.returncode is not None
    return subprocess.CompletedProcess(arguments, process.returncode, out, err)


@functools.cache
def _parent(imports: str) -> socket.socket:
    """Start a process that programs are forked from; it ends with this one."""
    ours, theirs = socket.socketpair()
    code = f"{imports}; from tests import processes; processes._serve({theirs.fileno()})"
    subprocess.Popen([sys.executable, "-c", code], cwd=ROOT, env=ENVIRONMENT, stdout=2, pass_fds=[theirs.fileno()])
    theirs.close()
    atexit.register(ours.close)
    return ours


def _serve(requests: int) -> None:
    """Fork for each request: a program, and a process that waits for it and says how it ended."""
    assert len(os.listdir("/proc/self/task")) == 1, "a fork has no threads but its own"
    gc.freeze()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    with socket.socket(fileno=requests) as server:
        while True:
            size, ends, _, _ = socket.recv_fds(server, 4, 3)
            if not size:
                return
            request = json.loads(server.recv(int.from_bytes(size, "big"), socket.MSG_WAITALL))
            if os.fork() == 0:
                break
            for end in ends:
                os.close(end)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    out, err, ended = ends
    program = os.fork()
    if program == 0:
        os.dup2(out, 1)
        os.dup2(err, 2)
    os.close(out)
    os.close(err)
    if program:
        os.write(ended, str(os.waitstatus_to_exitcode(os.waitpid(program, 0)[1])).encode())
        os._exit(0)
    os.close(ended)
    signal.alarm(LIMIT)
    arguments, folder, environment, torn_down = request
    code: object = 0
    try:
        _execute(arguments, folder, environment)
    except SystemExit as stop:
        code = stop.code
    if torn_down:
        sys.exit(code)
    if not isinstance(code, (int, types.NoneType)):
        print(code, file=sys.stderr)
        code = 1
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit((code or 0) & 255)


def _execute(arguments: list[str], folder: str, environment: dict[str, str]) -> None:
    """Be Python with these arguments."""
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    sys.path[1:1] = filter(None, environment.get("PYTHONPATH", "").split(os.pathsep))
    kind, *given = arguments
    try:
        if kind == "-c":
            sys.argv = ["-c", *given[1:]]
            main = sys.modules["__main__"] = types.ModuleType("__main__")
            exec(compile(given[0], "<string>", "exec"), vars(main))
        elif kind == "-m":
            sys.argv, sys.path[0] = given, folder
            runpy.run_module(given[0], run_name="__main__", alter_sys=True)
        else:
            sys.argv, sys.path[0] = arguments, os.path.dirname(os.path.realpath(kind))
            runpy.run_path(kind, run_name="__main__")
    except Exception as error:
        error.__traceback__ = error.__traceback__ and error.__traceback__.tb_next
        sys.excepthook(type(error), error, error.__traceback__)
        sys.exit(1)
