"""``python -m backend_torch.native.build``: compile the native core for the running Python and torch, once.

Layer: owns the compiler's command. It reads torch's headers and loads nothing of torch, so that an installation can
run it.
"""

from __future__ import annotations

import concurrent.futures
import hashlib
import importlib.machinery
import importlib.util
import os
import platform
import re
import shlex
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path

HERE = Path(__file__).parent
# What is compiled as one: torch's headers take most of the time.
SOURCES = {
    "core": (
        "core",
        "memory",
        "layout",
        "turned",
        "picking",
        "indexing",
        "kernels",
        "recording",
        "host",
        "ufuncs",
        "functions",
        "elements",
        "derived",
        "slots",
        "module",
    ),
    "loops": ("loops",),
}
# Sums that are not fused, integers that wrap round: the loops have the bits of torch's kernels.
FLAGS = "-O3 -std=c++20 -fPIC -fvisibility=hidden -ffp-contract=off -fno-math-errno -fno-trapping-math -fwrapv -w"
KINDS = {
    "": ("core", ""),
    "1": ("sanitized", "-O1 -g -fno-omit-frame-pointer -fsanitize=address,undefined -fno-sanitize-recover=undefined"),
    "thread": ("threaded", "-O1 -g -fno-omit-frame-pointer -fsanitize=thread"),
    "coverage": ("covered", "-O1 --coverage -fprofile-update=atomic"),
}
"""What ``TNP_SANITIZE`` asks for, when it is built and when it is used: how the extension's name begins, more flags."""
COVERED = HERE.parents[1] / "build/coverage/native"
"""Where gcov finds which lines ran: the extension knows the place, and adds to it when a process ends."""
VECTORS = {"x86_64": "-mavx2", "AMD64": "-mavx2"}


def torch_folder() -> Path | None:
    """Where the torch is that this environment has, found without an import."""
    found = importlib.util.find_spec("torch")
    if found is not None and found.origin is not None:
        return Path(found.origin).parent
    folder = Path(sysconfig.get_paths()["purelib"], "torch")  # pip hides it from what it builds in isolation
    return folder if folder.is_dir() else None


def torch_version(folder: Path) -> str:
    """The version of a torch, as its own file says it."""
    found = re.search(r"^__version__ = '(.+)'$", (folder / "version.py").read_text(), re.MULTILINE)
    if found is None:
        raise RuntimeError(f"{folder} has no version")
    return found[1]


def kind() -> tuple[str, str]:
    """How the extension's name begins, and the flags that this kind has beside the others."""
    return KINDS[os.environ.get("TNP_SANITIZE", "")]


def target(version: str) -> Path:
    """The extension of these sources for a version of torch and the running Python."""
    digest = hashlib.sha256()
    for path in sorted([*HERE.glob("*.cpp"), *HERE.glob("*.h"), Path(__file__)]):
        digest.update(path.read_bytes())
    return HERE / f"{kind()[0]}-{version}-{digest.hexdigest()[:8]}{importlib.machinery.EXTENSION_SUFFIXES[0]}"


def build(verbose: bool = False) -> Path:
    """Compile the extension, unless it is there; those of other sources go.

    Raises
    ------
    RuntimeError
        There is no torch, no compiler, or it refuses the sources.
    """
    torch = torch_folder()
    if torch is None:
        raise RuntimeError("torch is not installed")
    made = target(torch_version(torch))
    if made.exists():
        return made
    compiler = shlex.split(os.environ.get("CXX", "g++"))
    flags = [*shlex.split(FLAGS), *shlex.split(VECTORS.get(platform.machine(), ""))]
    name, more = kind()
    flags += shlex.split(more)
    folders = [sysconfig.get_paths()["include"], torch / "include", torch / "include/torch/csrc/api/include"]
    includes = [f"-I{folder}" for folder in folders]
    with tempfile.TemporaryDirectory() as scratch:
        if name == "covered":
            scratch = str(COVERED)
            COVERED.mkdir(parents=True, exist_ok=True)
        objects = [f"{scratch}/{part}.o" for part in SOURCES]

        def compiled(part: str) -> None:
            source = Path(scratch, f"{part}.cpp")
            source.write_text("".join(f'#include "{HERE / each}.cpp"\n' for each in SOURCES[part]))
            _run([*compiler, *flags, *includes, "-c", str(source), "-o", f"{scratch}/{part}.o"], verbose)

        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            list(pool.map(compiled, SOURCES))
        libraries = [f"-L{torch / 'lib'}", "-ltorch_python", "-ltorch_cpu", "-ltorch", "-lc10"]
        _run([*compiler, *flags, "-shared", *objects, *libraries, "-o", f"{scratch}/core.so"], verbose)
        made.with_suffix(".new").write_bytes(Path(scratch, "core.so").read_bytes())
        made.with_suffix(".new").replace(made)  # in one step: another process may be about to load it
    for stale in HERE.glob(f"{name}-{torch_version(torch)}-*{importlib.machinery.EXTENSION_SUFFIXES[0]}"):
        if stale != made:
            stale.unlink(missing_ok=True)
    return made


def _run(command: list[str], verbose: bool) -> None:
    if verbose:
        print(shlex.join(command), file=sys.stderr)
    try:
        done = subprocess.run(command, capture_output=True, text=True)
    except OSError as error:
        raise RuntimeError(f"no compiler: {error}") from None
    if done.returncode:
        raise RuntimeError(f"{command[0]} failed:\n{done.stderr[-4000:]}")


if __name__ == "__main__":
    try:
        print(build(verbose="-v" in sys.argv))
    except RuntimeError as error:
        print(f"the native core is not built, tnp runs without it: {error}", file=sys.stderr)
        sys.exit(1 if "--strict" in sys.argv else 0)
