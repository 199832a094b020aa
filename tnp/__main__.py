"""``python -m tnp script.py``: a NumPy program as it is, run by tnp; ``python -m tnp cache``: compiled code on disk.

Layer: owns the command line; who gets tnp for ``import numpy`` is ``_dropin``'s.
"""

from __future__ import annotations

import argparse
import atexit
import importlib.machinery
import importlib.util
import itertools
import os
import pkgutil
import runpy
import sys
import types
from collections.abc import Sequence
from typing import Any

import backend_torch
from tnp._program import cache_command, import_hook

_WATCH = os.path.join(os.path.dirname(import_hook.__file__), "hot_functions.py")
_RUNNING = (__file__, import_hook.__file__, _WATCH, runpy.__file__, "<frozen ")
_PACKAGES = tuple([os.path.join(os.path.dirname(file), "") for file in (__file__, backend_torch.__file__)])
_INNER = _RUNNING if os.environ.get("TNP_TRACEBACK") == "full" else (*_RUNNING, *_PACKAGES)


class _Script(importlib.machinery.SourceFileLoader):
    """A program's file, compiled anew each time, as Python does."""

    def get_code(self, fullname: str) -> Any:
        return self.source_to_code(self.get_data(self.path), self.path)


def parser() -> argparse.ArgumentParser:
    """The command line's options."""
    options = argparse.ArgumentParser(
        prog="python -m tnp",
        usage="%(prog)s [--device DEVICE] [--report] [--compile] (script.py | -m module) [arguments ...]"
        " | %(prog)s cache --help",
        description="Run a NumPy program as it is, with tnp for NumPy in its own modules; libraries keep NumPy.",
        allow_abbrev=False,
    )
    options.add_argument("--device", help="where new arrays are made: cpu, cuda, cuda:1 ... (default: cpu)")
    options.add_argument("--report", action="store_true", help="print at exit what ran where, and the time in it")
    options.add_argument(
        "--compile", action="store_true", help="compile functions that take much time in many calls, where it pays"
    )
    options.add_argument("-m", dest="module", nargs=argparse.REMAINDER, help="run a module, as python -m does")
    options.add_argument("program", nargs=argparse.REMAINDER, help="a script, or a folder or zip file with __main__.py")
    return options


def main(arguments: Sequence[str] | None = None) -> None:
    """Run a program; it ends as it would with Python alone."""
    given = sys.argv[1:] if arguments is None else arguments
    if given[:1] == ["cache"] and not os.path.exists("cache"):
        cache_command.main(given[1:])
        return
    options = parser().parse_args(given)
    if not options.module and not options.program:
        parser().error("a script or -m module is needed")
    if options.module is None:
        name, sys.argv = options.program[0], options.program
        if not os.path.exists(name):
            sys.stderr.write(f"{sys.executable}: can't open file {os.path.abspath(name)!r}: no such file\n")
            raise SystemExit(2)
        folder = name if _is_container(name) else os.path.dirname(os.path.realpath(name))
        sys.path[:1] = [] if _is_container(name) else [folder]
        roots = [folder, os.getcwd()]
    else:
        name, sys.argv = options.module[0], options.module
        roots = [os.getcwd()]
    if options.report:
        _watch()
    import_hook.install(roots, options.device, options.compile)
    try:
        _run(name, options.module is not None, options.compile)
    except BaseException:
        _hide_own_frames()
        raise


def _watch() -> None:
    """Count from here on, and print the table when the program has ended."""
    if importlib.util.find_spec("rich") is None:
        parser().error("--report needs rich: pip install rich")
    from tnp._program import report

    import_hook.record = report.watch()
    atexit.register(import_hook.record.print)


def _is_container(path: str) -> bool:
    """Whether Python would look for ``__main__.py`` in there."""
    return os.path.isdir(path) or (not path.endswith((".py", ".pyw")) and pkgutil.get_importer(path) is not None)


def _run(name: str, is_module: bool, compiles: bool) -> None:
    if is_module:
        runpy.run_module(name, run_name="__main__", alter_sys=True)
        return
    del sys.modules["__main__"]
    if _is_container(name):
        sys.path.insert(0, os.path.abspath(name))
        spec = importlib.util.find_spec("__main__")
        if spec is None or spec.loader is None:
            sys.stderr.write(f"{sys.executable}: can't find '__main__' module in {os.path.abspath(name)!r}\n")
            raise SystemExit(1)
        program, loader = importlib.util.module_from_spec(spec), spec.loader
    else:
        path = os.path.abspath(name)
        program, loader = types.ModuleType("__main__"), _loader_of(compiles)("__main__", path)
        program.__dict__.update(__file__=path, __builtins__=sys.modules["builtins"], __cached__=None, __loader__=loader)
    sys.modules["__main__"] = program
    loader.exec_module(program)


def _loader_of(compiles: bool) -> type[importlib.machinery.SourceFileLoader]:
    if not compiles:
        return _Script
    from tnp._program import hot_functions

    return hot_functions.Loader


def _hide_own_frames() -> None:
    """Show the program's own frames only, as if Python ran it; an excepthook of the program's sees them so too."""
    shown = sys.excepthook

    def hook(kind: Any, error: Any, traceback: Any) -> None:
        part = error
        while part is not None:
            part.with_traceback(_without_inner(part.__traceback__))
            part = part.__cause__ or part.__context__
        shown(kind, error, error.__traceback__)

    sys.excepthook = hook


def _without_inner(traceback: Any) -> Any:
    """The traceback without the frames of what runs and imports, and of tnp itself."""
    frames = []
    while traceback is not None:
        if not traceback.tb_frame.f_code.co_filename.startswith(_INNER):
            frames.append(traceback)
        traceback = traceback.tb_next
    for frame, following in itertools.zip_longest(frames, frames[1:]):
        frame.tb_next = following
    return frames[0] if frames else None


if __name__ == "__main__":
    main()
