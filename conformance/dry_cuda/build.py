"""The libraries that stand in for CUDA's, built for the torch that is installed, and a process that has them."""

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
"""The libraries of torch's that ask for CUDA's."""
THEIRS = re.compile(r"(?:__)?cuda[A-Z]\w*|cu[A-Z]\w*|(?:cublas|cusolver|cusparse|cufft|curand|nvrtc)\w*")
"""The names of what they ask for, but for cuDNN and NCCL."""


def why_not() -> str | None:
    """Why this torch can't be tried so; None if it can."""
    if torch.version.cuda is None:
        return f"torch {torch.__version__} is no CUDA build"
    if torch.cuda.is_available():
        return "this machine has a GPU: run the tests with --device cuda"
    if not sys.platform.startswith("linux"):
        return "the stand-in is for Linux"
    return None


def environment(folder: Path) -> dict[str, str]:
    """Build the libraries in a folder; what a process that is to have them finds in its environment."""
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
    """The libraries that torch's are linked with: CUDA's compiler is asked for by one or another of them."""
    found = _run("readelf", "-d", *map(str, _users()))
    return set(re.findall(r"NEEDED.*\[(.+)\]", found))


def asked_for() -> set[str]:
    """The functions of CUDA's that torch uses, and Triton, which compiles its use of them when it is first needed."""
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
    """Where the runtime's headers are: in the packages of CUDA and, what those lack, of Triton."""
    packages = TORCH.parent.parent
    (own, *_) = sorted(path.parent for path in packages.glob("nvidia/*/include/cuda_runtime_api.h"))
    return [f"-I{own}", "-idirafter", str(TRITON / "include")]


def _run(*command: str) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout
