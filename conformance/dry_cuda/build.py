"""Build libraries that stand in for CUDA's, for the installed torch, and start a process with them."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import torch

SOURCE = Path(__file__).with_name("runtime.cpp")
TORCH = Path(torch.__file__).parent / "lib"
TRITON = TORCH.parents[1] / "triton" / "backends" / "nvidia"
USERS = ("libtorch_cuda.so", "libc10_cuda.so", "libtorch_cuda_linalg.so", "libtorch_python.so", "libcaffe2_nvrtc.so")
"""The libraries of torch that link to CUDA's."""
THEIRS = re.compile(r"(?:__)?cuda[A-Z]\w*|cu[A-Z]\w*|(?:cublas|cusolver|cusparse|cufft|curand|nvrtc)\w*")
"""The libraries that these need, except cuDNN and NCCL."""


def why_not() -> str | None:
    """Return why this torch can't run with the stand-in; None if it can."""
    if torch.version.cuda is None:
        return f"torch {torch.__version__} is no CUDA build"
    if torch.cuda.is_available():
        return "this machine has a GPU: run the tests with --device cuda"
    if not sys.platform.startswith("linux"):
        return "the stand-in is for Linux"
    return None


def environment(folder: Path) -> dict[str, str]:
    """Build the libraries in a folder; return the environment variables for a process that uses them."""
    names = asked_for()
    (compiler,) = {name for name in needed() if name.startswith("libnvrtc.so")}
    made = folder / "runtime.o"
    _run("g++", "-c", "-fPIC", "-w", *_headers(), str(SOURCE), "-o", str(made))
    missing = sorted(names - _symbols(made, "--defined-only"))
    nothing = folder / "nothing.c"
    nothing.write_text("".join(f"int {name}() {{ return 0; }}\n" for name in missing))
    for name in ("libdrycuda.so", "libcuda.so.1", compiler):  # torch opens the last two by their names
        _run(
            "g++",
            "-shared",
            f"-Wl,-soname,{name}",
            str(made),
            "-xc",
            "-fPIC",
            "-w",
            str(nothing),
            "-o",
            str(folder / name),
        )
    preloaded = [str(folder / "libdrycuda.so"), str(folder / compiler)]
    return {"LD_PRELOAD": " ".join(preloaded), "LD_LIBRARY_PATH": str(folder)}


def needed() -> set[str]:
    """Return the libraries that torch's are linked with; which of them needs CUDA's compiler differs."""
    found = _run("readelf", "-d", *map(str, _users()))
    return set(re.findall(r"NEEDED.*\[(.+)\]", found))


def asked_for() -> set[str]:
    """Return the functions of CUDA that torch uses, and Triton, which compiles its driver at the first use."""
    found: set[str] = set()
    for library in _users():
        found |= _symbols(library, "-D", "--undefined-only")
    found |= set(re.findall(r"\w+", (TRITON / "driver.c").read_text()))
    return {name for name in found if THEIRS.fullmatch(name)}


def _users() -> list[Path]:
    return [path for path in (TORCH / name for name in USERS) if path.exists()]


def _symbols(path: Path, *options: str) -> set[str]:
    return {line.split()[-1].partition("@")[0] for line in _run("nm", *options, str(path)).splitlines() if line}


def _headers() -> list[str]:
    """Return the folders of the runtime's headers: CUDA's packages and, for missing ones, Triton's."""
    packages = TORCH.parent.parent
    (own, *_) = sorted(path.parent for path in packages.glob("nvidia/*/include/cuda_runtime_api.h"))
    return [f"-I{own}", "-idirafter", str(TRITON / "include")]


def _run(*command: str) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout
