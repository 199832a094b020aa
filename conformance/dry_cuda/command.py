"""``python -m conformance dry-cuda``: find what CUDA would refuse, by torch's CUDA build, without a GPU."""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from conformance.dry_cuda import build


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the option for a program to run instead of the calls."""
    parser.add_argument(
        "program",
        nargs=argparse.REMAINDER,
        help="a command to run with the stand-in, as in: -- python -m pytest --device cuda (default: each function)",
    )


def main(options: argparse.Namespace) -> int:
    """Build the stand-in and run the program with it; return its exit status, or 2 if it can't be built."""
    if reason := build.why_not():
        print(f"dry-cuda: {reason}", file=sys.stderr)
        return 2
    program = options.program[1:] if options.program[:1] == ["--"] else options.program
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, **build.environment(Path(folder))}
        command = program or [sys.executable, "-m", "conformance.dry_cuda.calls"]
        return subprocess.run(command, env=environment, check=False).returncode
