"""Machine code on disk, found by the graph that it is of: a later process loads it, and imports no compiler.

Layer: owns the key, which says everything that decides the code, and the folder: whose it has to be, what lies in it,
and that nobody sees half of an entry. How code is taken apart and put together is Inductor's business.
"""

from __future__ import annotations

import contextlib
import functools
import getpass
import hashlib
import json
import logging
import os
import platform
import re
import shutil
import stat
import struct
import sys
import tarfile
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from operator import getitem
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch.fx import Node

from backend_torch.tensors import devices
from backend_torch.torch_private import inductor, inductor_code
from backend_torch.torch_private.operators import OpOverload
from backend_torch.torch_private.tensor_internals import storage_of

if TYPE_CHECKING:
    from backend_torch.graphs.compiling import Graph

Tensor = torch.Tensor
log = logging.getLogger("tnp.compile")
_FORM = "1"  # of an entry; another form is another key
_OPERATORS = {"aten", "prims", "tnp"}  # of others nobody knows the code's version
_FACTS = "facts.json"
_SOURCE = "runner.py"
_UNFINISHED = "unfinished-"
_MEMBER = re.compile(r"([0-9a-f]{64})/(facts\.json|runner\.py|kernel_[0-9]+\.so)")
_STALE = 3600.0  # seconds after which an unfinished entry is of a process that has been killed
_PLAIN = (torch.dtype, torch.device, torch.layout, torch.memory_format)


# ---------------------------------------------------------------------------------------------------------------------
# The key


class _Unnamed(Exception):
    """Part of a graph has no name that means the same in another process."""


def key(graph: Graph, mode: str | None, options: Mapping[str, Any] | None) -> str | None:
    """The name of a graph's machine code; None if the code depends on what can't be named, or is not to be kept."""
    settings = inductor.changed_settings()
    if graph.sizes is not None or settings is None or os.environ.get("TORCHINDUCTOR_FORCE_DISABLE_CACHES") == "1":
        return None
    if any("cache" in name for name in options or ()):
        return None
    try:
        lines = [*_text(graph), *_surroundings(), settings, f"{mode}", _named(dict(options or {}), {})]
    except _Unnamed:
        return None
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()


def _text(graph: Graph) -> Iterator[str]:
    """A graph in words: its inputs and their memory, each operation with what it makes, and what it returns."""
    memory: dict[int, int] = {}
    for tensor in graph.inputs:
        place = memory.setdefault(storage_of(tensor), len(memory))
        yield f"input {_form(tensor)} {tensor.storage_offset()} {place}"
    places: dict[Node, int] = {}
    for node in graph.module.graph.nodes:
        if node.op == "call_function":
            is_operator = isinstance(node.target, OpOverload)
            if node.target.namespace not in _OPERATORS if is_operator else node.target is not getitem:
                raise _Unnamed
            values = node.meta.get("val")
            made = [_form(each) for each in (values if isinstance(values, (list, tuple)) else [values])]
            name = node.target if is_operator else "getitem"
            yield f"{name} {_named(node.args, places)} {_named(node.kwargs, places)} {made}"
        elif node.op != "placeholder" and node.op != "output":
            raise _Unnamed  # a branch, a loop's body or a generator
        places[node] = len(places)
    yield f"results {[places[node] for node in graph.results]} written {sorted(graph.written)}"


def _form(value: Any) -> str:
    if value is None:
        return "None"
    if not isinstance(value, Tensor) or value.device.type != "cpu" or value.layout is not torch.strided:
        raise _Unnamed
    return f"{value.dtype} {tuple(value.shape)} {value.stride()} {value.is_conj()} {value.is_neg()}"


def _named(value: Any, places: Mapping[Node, int]) -> str:
    """An argument of an operation in words; two of them are the same only if the arguments are, to the last bit."""
    if isinstance(value, Node):
        return f"%{places[value]}"
    if value is None or isinstance(value, (bool, int, str)):
        return f"{type(value).__name__}:{value!r}"
    if isinstance(value, float):
        return f"float:{struct.pack('>d', value).hex()}"
    if isinstance(value, complex):
        return f"complex:{struct.pack('>dd', value.real, value.imag).hex()}"
    if isinstance(value, (list, tuple)):
        return f"[{', '.join([_named(each, places) for each in value])}]"
    if isinstance(value, dict):
        return f"{{{', '.join([f'{name}={_named(value[name], places)}' for name in sorted(value)])}}}"
    if isinstance(value, slice):
        return f"slice{_named((value.start, value.stop, value.step), places)}"
    if isinstance(value, _PLAIN):
        return f"{value}"
    raise _Unnamed


def _surroundings() -> list[str]:
    """What decides the code beside the graph: versions, the processor, and torch's state."""
    environment = {
        name: value
        for name, value in os.environ.items()
        if name.startswith(("TORCH", "ATEN_", "INDUCTOR", "CXX", "CC", "OMP_", "MKL_"))
        and name not in ("TORCHINDUCTOR_CACHE_DIR", "TORCH_LOGS")
    }
    deterministic: Any = torch.utils.deterministic
    return [
        _form_of_machine(),
        f"{torch.get_num_threads()} {torch.get_default_dtype()} {torch.get_float32_matmul_precision()}",
        f"{torch.are_deterministic_algorithms_enabled()} {deterministic.fill_uninitialized_memory}",
        f"{torch.backends.mkldnn.enabled} {torch.backends.mkldnn.deterministic} {sorted(environment.items())}",
    ]


@functools.cache
def _form_of_machine() -> str:
    """What stays as it is while a process runs; of tnp its text, as a version is only that of what is released."""
    digest = hashlib.sha256()
    root = Path(__file__).parents[1]
    for path in sorted(root.rglob("*.py")):
        digest.update(f"{path.relative_to(root)} {path.stat().st_size}\n".encode() + path.read_bytes())
    facts = [
        _FORM, digest.hexdigest(), torch.__version__, str(torch.version.git_version), sys.version,
        str(sys.implementation.cache_tag), platform.machine(), " ".join(platform.libc_ver()), processor(),
        torch.backends.cpu.get_cpu_capability(),
    ]  # fmt: skip
    return "\n".join(facts)


@functools.cache
def processor() -> str:
    """The processor's name and all that it can do, as far as the system says."""
    names = ("vendor_id", "model name", "flags", "Features", "CPU part")
    return "\n".join([fact for name in names if (fact := devices.cpu_fact(name))]) or platform.processor()


# ---------------------------------------------------------------------------------------------------------------------
# The folder


def folder() -> Path:
    """Where the code is kept: ``TNP_CACHE_DIR``, or beside Inductor's own cache where that has been given a place."""
    given = os.environ.get("TNP_CACHE_DIR")
    if given:
        return Path(given)
    inductors = os.environ.get("TORCHINDUCTOR_CACHE_DIR")
    if inductors and inductors != _inductors_own():
        return Path(inductors) / "tnp"
    home = os.environ.get("XDG_CACHE_HOME")
    with contextlib.suppress(RuntimeError):  # a user without a home, as in containers
        return (Path(home) if home else Path.home() / ".cache") / "tnp"
    return Path(tempfile.gettempdir()) / f"tnp_{os.getuid()}"


@functools.cache
def _inductors_own() -> str:
    """Where Inductor keeps its code if it is not told: it sets the variable to this when it is imported."""
    try:
        user = re.sub(r'[\\/:*?"<>|]', "_", getpass.getuser())
    except (KeyError, OSError):  # a user without a name, for whom it has to be told
        return ""
    return os.path.join(tempfile.gettempdir(), f"torchinductor_{user}")


def load(name: str) -> Callable[[list[Tensor]], Sequence[Tensor]] | None:
    """The program that is kept under a key; None if there is none."""
    entry = folder() / name
    try:
        if not entry.is_dir() or not _is_trusted(entry.parent):
            return None
        source, libraries = _checked(entry)
        program = inductor_code.put_together(source, libraries)
        log.debug("tnp.compile: machine code comes from %s", entry)
        return program
    except (OSError, ValueError, KeyError, ImportError, SyntaxError) as error:
        log.warning("tnp.compile: %s can't be used and is made anew: %s: %s", entry, type(error).__name__, error)
        shutil.rmtree(entry, ignore_errors=True)
        return None


def _checked(entry: Path) -> tuple[str, dict[str, Path]]:
    """An entry's source and libraries, which hold what they held when they were written; ValueError if not."""
    facts = json.loads((entry / _FACTS).read_text())
    for name, digest in facts["files"].items():
        if _digest((entry / name).read_bytes()) != digest:
            raise ValueError(f"{name} has changed since it was written")
    return (entry / _SOURCE).read_text(), {name: entry / file for name, file in facts["kernels"].items()}


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def store(name: str, program: Any, graph: Graph) -> bool:
    """Keep a program that Inductor made; whether it is kept. An entry comes whole, or not at all."""
    code = inductor_code.taken_apart(program)
    if code is None:
        return False
    files = {_SOURCE: code.source.encode()}
    kernels = {kernel: f"kernel_{index}.so" for index, kernel in enumerate(code.kernels)}
    files.update({kernels[kernel]: data for kernel, data in code.kernels.items()})
    facts = {
        "made": time.time(),
        "torch": torch.__version__,
        "processor": devices.cpu_fact("model name") or platform.processor(),
        "inputs": [f"{str(t.dtype).removeprefix('torch.')}{list(t.shape)}" for t in graph.inputs],
        "operations": sum(node.op == "call_function" for node in graph.module.graph.nodes),
        "kernels": kernels,
        "files": {file: _digest(data) for file, data in files.items()},
    }
    files[_FACTS] = json.dumps(facts, indent=1).encode()
    try:
        place = folder()
        place.mkdir(parents=True, exist_ok=True, mode=0o700)
        if not _is_trusted(place):
            return False
        _write(place, name, files)
    except OSError as error:
        _warn(f"{folder()} can't be written to, so that this code is compiled again in the next process: {error}")
        return False
    return True


def _write(place: Path, name: str, files: Mapping[str, bytes]) -> None:
    """Write an entry beside the others, and then give it its name."""
    unfinished = Path(tempfile.mkdtemp(prefix=_UNFINISHED, dir=place))
    try:
        for file, data in files.items():
            (unfinished / file).write_bytes(data)
        with contextlib.suppress(FileExistsError):
            try:
                unfinished.rename(place / name)
            except OSError as error:  # another process has written the same
                if not (place / name).is_dir():
                    raise
                raise FileExistsError from error
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)


# ---------------------------------------------------------------------------------------------------------------------
# What lies there


@dataclass(frozen=True)
class Entry:
    """An entry of the folder: its name, when it was made, its bytes, and what its graph was."""

    name: str
    made: float
    size: int
    inputs: list[str]
    operations: int
    torch: str


def entries() -> list[Entry]:
    """The entries that can be read, the oldest first."""
    found = []
    for path in folder().glob(f"*/{_FACTS}"):
        with contextlib.suppress(OSError, ValueError, KeyError):
            facts = json.loads(path.read_text())
            size = sum(file.stat().st_size for file in path.parent.iterdir())
            told = facts["made"], size, facts["inputs"], facts["operations"], facts["torch"]
            found.append(Entry(path.parent.name, *told))
    return sorted(found, key=lambda entry: entry.made)


def prune(seconds: float, size: float) -> int:
    """Remove what was made longer ago than ``seconds``, and the oldest until ``size`` bytes are left; how many went.

    What processes that were killed left goes too.
    """
    for path in folder().glob(f"{_UNFINISHED}*"):
        with contextlib.suppress(OSError):
            if time.time() - path.stat().st_mtime > _STALE:
                shutil.rmtree(path, ignore_errors=True)
    kept = entries()
    count, total = len(kept), sum(entry.size for entry in kept)
    while kept and (total > size or time.time() - kept[0].made > seconds):
        total -= kept[0].size
        shutil.rmtree(folder() / kept.pop(0).name)
    return count - len(kept)


def export(path: str) -> int:
    """Write all entries to an archive; how many there are."""
    names = [entry.name for entry in entries()]
    with tarfile.open(path, "w:gz") as archive:
        for name in names:
            archive.add(folder() / name, arcname=name)
    return len(names)


def take_in(path: str) -> int:
    """Add the entries of an archive, whose code is run when it is asked for; how many are new.

    Raises
    ------
    ValueError
        The archive holds something else.
    PermissionError
        The folder is not to be trusted.
    """
    place = folder()
    place.mkdir(parents=True, exist_ok=True, mode=0o700)
    if not _is_trusted(place):
        raise PermissionError(f"{place} belongs to another user, or others may write to it")
    found: dict[str, dict[str, bytes]] = {}
    try:
        with tarfile.open(path) as archive:
            for member in archive.getmembers():
                if member.isdir():
                    continue
                file = archive.extractfile(member)
                part = _MEMBER.fullmatch(member.name)
                if file is None or part is None:
                    raise ValueError(f"{path} holds {member.name!r}, which is no part of an entry")
                found.setdefault(part[1], {})[part[2]] = file.read()
    except tarfile.TarError as error:
        raise ValueError(f"{path} is no archive of tnp's cache: {error}") from error
    for name, files in found.items():
        digests = json.loads(files.get(_FACTS, b'{"files": {}}'))["files"]
        if digests != {file: _digest(data) for file, data in files.items() if file != _FACTS} or not digests:
            raise ValueError(f"{path} is damaged: {name}")
    new = [name for name in found if not (place / name).is_dir()]
    for name in new:
        _write(place, name, found[name])
    return len(new)


def _is_trusted(place: Path) -> bool:
    """Whether nobody else can have written what lies there: its code is run."""
    if not hasattr(os, "getuid"):
        return True
    found = place.stat()
    if found.st_uid in (os.getuid(), 0) and not found.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        return True
    _warn(
        f"{place} belongs to another user, or others may write to it, so that its code is neither used nor added to: "
        f"give it to user {os.getuid()} with mode 700, or name another folder in TNP_CACHE_DIR"
    )
    return False


_warned: set[str] = set()


def _warn(text: str) -> None:
    """Warn once of each thing."""
    if text not in _warned:
        _warned.add(text)
        warnings.warn(f"tnp.compile: {text}", RuntimeWarning, stacklevel=2)
