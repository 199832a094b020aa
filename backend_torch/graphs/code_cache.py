"""Cache machine code on disk under a key of its graph; a later process loads it and imports no compiler.

Layer: owns the key, which names everything that the code depends on, and the folder: who may own it, the format of its
entries, and that an entry appears only when it is complete. ``torch_private.inductor_code`` takes code apart and puts
it together.
"""

from __future__ import annotations

import atexit
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
import sys
import tarfile
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import torch

from backend_torch.graphs import graph_forms
from backend_torch.graphs.graph import Graph
from backend_torch.graphs.symbolic import Sizes
from backend_torch.tensors import devices, trace_state
from backend_torch.torch_private import inductor, inductor_code

Tensor = torch.Tensor
log = logging.getLogger("tnp.compile")
_Used = TypeVar("_Used")
_FORM = "3"  # the format of an entry, a part of the key
_FACTS = "facts.json"
_SOURCE = "runner.py"
_UNFINISHED = "unfinished-"
_MEMBER = re.compile(r"([0-9a-f]{64})/(facts\.json|runner\.py|kernel_[0-9]+\.so)")
_STALE = 3600.0  # seconds after which the process that writes an unfinished entry must have been killed


# ---------------------------------------------------------------------------------------------------------------------
# The key


def key(graph: Graph, mode: str | None, options: Mapping[str, Any] | None) -> str | None:
    """Return the name of a graph's machine code; None if a part has no name or caching is off."""
    settings = inductor.changed_settings()
    if settings is None or os.environ.get("TORCHINDUCTOR_FORCE_DISABLE_CACHES") == "1":
        return None
    if any("cache" in name for name in options or ()):
        return None
    try:
        form = graph_forms.form_of(graph), graph_forms.plain(dict(options or {}), {})
    except graph_forms.Unnamed:
        return None
    lines = [f"{form}", *_surroundings(), settings, f"{mode}"]
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()


def _surroundings() -> list[str]:
    """Return what the code depends on beside the graph: versions, the processor, and torch's settings."""
    environment = {
        name: value
        for name, value in os.environ.items()
        if name.startswith(("TORCH", "ATEN_", "INDUCTOR", "CXX", "CC", "OMP_", "MKL_"))
        and name not in ("TORCHINDUCTOR_CACHE_DIR", "TORCH_LOGS")
    }
    deterministic: Any = torch.utils.deterministic
    return [
        machine(),
        f"{torch.get_num_threads()} {torch.get_default_dtype()} {torch.get_float32_matmul_precision()}",
        f"{torch.are_deterministic_algorithms_enabled()} {deterministic.fill_uninitialized_memory}",
        f"{torch.backends.mkldnn.enabled} {torch.backends.mkldnn.deterministic} {sorted(environment.items())}",
    ]


@functools.cache
def machine() -> str:
    """Return what the key holds of this process: the processor, versions, and a digest of the backend's source."""
    facts = [
        _FORM, inductor.source(), torch.__version__, str(torch.version.git_version), sys.version,
        str(sys.implementation.cache_tag), platform.machine(), " ".join(platform.libc_ver()), processor(),
        torch.backends.cpu.get_cpu_capability(),
    ]  # fmt: skip
    return "\n".join(facts)


@functools.cache
def processor() -> str:
    """Return the processor's name and features, as far as the system reports them."""
    names = ("vendor_id", "model name", "flags", "Features", "CPU part")
    return "\n".join([fact for name in names if (fact := devices.cpu_fact(name))]) or platform.processor()


# ---------------------------------------------------------------------------------------------------------------------
# The folder


def folder() -> Path:
    """Return the folder of the cache: :func:`chosen_folder`, or a temporary folder if that one can't be used."""
    place = chosen_folder()
    return _replaced.get(place, place)


_replaced: dict[Path, Path] = {}  # folder that can't be used -> temporary folder


def writable_folder() -> Path:
    """As :func:`folder`, after a look whether a file can be written there."""
    place = folder()
    try:
        place.mkdir(parents=True, exist_ok=True, mode=0o700)
        if _is_trusted(place):
            os.rmdir(tempfile.mkdtemp(prefix=_UNFINISHED, dir=place))
    except OSError as error:
        _instead(chosen_folder(), f"{place} can't be written to: {error}")
    return folder()


def holds(name: str) -> bool:
    """Whether there is an entry under a key."""
    return any((place / name).is_dir() for place in (chosen_folder(), folder()))


def _instead(place: Path, why: str) -> Path:
    """Return a temporary folder for one that can't be used, and warn once; the process removes it when it ends."""
    if place not in _replaced:
        _replaced[place] = Path(tempfile.mkdtemp(prefix="tnp_cache_"))
        atexit.register(shutil.rmtree, _replaced[place], ignore_errors=True)
        text = f"tnp.compile: {why}; code is kept in a temporary folder until this process ends"
        trace_state.warn(text)
    return _replaced[place]


def chosen_folder() -> Path:
    """Return the folder to use: ``TNP_CACHE_DIR``, a subfolder of ``TORCHINDUCTOR_CACHE_DIR``, or the default."""
    given = os.environ.get("TNP_CACHE_DIR")
    if given:
        return Path(given)
    inductors = os.environ.get("TORCHINDUCTOR_CACHE_DIR")
    if inductors and inductors != _inductors_own():
        return Path(inductors) / "tnp"
    home = os.environ.get("XDG_CACHE_HOME")
    with contextlib.suppress(RuntimeError):  # a user without a home directory, as in containers
        return (Path(home) if home else Path.home() / ".cache") / "tnp"
    return Path(tempfile.gettempdir()) / f"tnp_{os.getuid()}"


@functools.cache
def _inductors_own() -> str:
    """Return Inductor's default folder, to which Inductor sets ``TORCHINDUCTOR_CACHE_DIR`` when it is imported."""
    try:
        user = re.sub(r'[\\/:*?"<>|]', "_", getpass.getuser())
    except (KeyError, OSError):  # the user has no name, so Inductor has no default
        return ""
    return os.path.join(tempfile.gettempdir(), f"torchinductor_{user}")


def load(name: str, sizes: Sizes | None = None) -> Callable[[list[Tensor]], Sequence[Tensor]] | None:
    """Return the program stored under a key; None if there is none, or none for the open sizes of this process."""

    def use(source: str, libraries: dict[str, Path], conditions: Any) -> Any:
        if sizes is not None and not sizes.suppose(*conditions):
            return None
        return inductor_code.put_together(source, libraries)

    return _read(name, use)


def kernels(name: str, use: Callable[[Mapping[str, Path]], _Used]) -> _Used | None:
    """Return ``use(libraries)`` of the libraries stored under a key; None if there are none that it can use."""
    return _read(name, lambda source, libraries, conditions: use(libraries))


def _read(name: str, use: Callable[[str, dict[str, Path], Any], _Used]) -> _Used | None:
    """Return ``use(source, libraries, conditions)`` of an entry, or None; remove an entry that can't be used."""
    for place in dict.fromkeys([chosen_folder(), folder()]):  # the first may be readable, if not writeable
        entry = place / name
        try:
            if entry.is_dir() and _is_trusted(place):
                used = use(*_checked(entry))
                log.debug("tnp.compile: machine code comes from %s", entry)
                return used
        except (OSError, AttributeError, TypeError, ValueError, KeyError, ImportError, SyntaxError) as error:
            log.warning("tnp.compile: %s can't be used and is made anew: %s: %s", entry, type(error).__name__, error)
            shutil.rmtree(entry, ignore_errors=True)
    return None


def _checked(entry: Path) -> tuple[str, dict[str, Path], Any]:
    """Return an entry's source, libraries and conditions; ValueError if a file has changed since it was written."""
    facts = json.loads((entry / _FACTS).read_text())
    for name, digest in facts["files"].items():
        if _digest((entry / name).read_bytes()) != digest:
            raise ValueError(f"{name} has changed since it was written")
    libraries = {name: entry / file for name, file in facts["kernels"].items()}
    return (entry / _SOURCE).read_text(), libraries, facts["conditions"]


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def store(name: str, program: Any, graph: Graph) -> bool:
    """Store a program that Inductor made; return whether it could be stored."""
    code = inductor_code.taken_apart(program)
    if code is None:
        return False
    try:
        conditions = None if graph.sizes is None else graph.sizes.conditions()
    except NotImplementedError:
        return False
    inputs = [f"{str(t.dtype).removeprefix('torch.')}{list(t.shape)}" for t in graph.inputs]
    keep(name, code.source, code.kernels, inputs, graph.operations, conditions)
    return True


def keep(
    name: str, source: str, code: Mapping[str, bytes], inputs: list[str], operations: int, conditions: Any = None
) -> dict[str, Path]:
    """Store code with a description of its graph; return the stored libraries by the names of their kernels.

    ``conditions`` are what the code supposes of open sizes.

    An entry appears when it is complete, or not at all.

    Raises
    ------
    OSError
        A temporary folder can't be written to either.
    """
    files = {_SOURCE: source.encode()}
    files.update({f"kernel_{index}.so": data for index, data in enumerate(dict.fromkeys(code.values()))})
    places = {data: file for file, data in files.items()}
    libraries = {kernel: places[data] for kernel, data in code.items()}
    facts = {
        "made": time.time(),
        "torch": torch.__version__,
        "processor": devices.cpu_fact("model name") or platform.processor(),
        "inputs": inputs,
        "operations": operations,
        "kernels": libraries,
        "conditions": conditions,
        "files": {file: _digest(data) for file, data in files.items()},
    }
    files[_FACTS] = json.dumps(facts, indent=1).encode()
    place = writable_folder()
    try:
        _write(place, name, files)
    except OSError as error:  # it is full
        place = _instead(chosen_folder(), f"{place} can't be written to: {error}")
        _write(place, name, files)
    return {kernel: place / name / file for kernel, file in libraries.items()}


def _write(place: Path, name: str, files: Mapping[str, bytes]) -> None:
    """Write an entry under a temporary name, and rename it when it is complete."""
    unfinished = Path(tempfile.mkdtemp(prefix=_UNFINISHED, dir=place))
    try:
        for file, data in files.items():
            (unfinished / file).write_bytes(data)
        with contextlib.suppress(FileExistsError):
            try:
                unfinished.rename(place / name)
            except OSError as error:  # another process has written the entry
                if not (place / name).is_dir():
                    raise
                raise FileExistsError from error
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)


# ---------------------------------------------------------------------------------------------------------------------
# The entries


@dataclass(frozen=True)
class Entry:
    """An entry of the folder: its name, its time, its bytes, and a description of its graph."""

    name: str
    made: float
    size: int
    inputs: list[str]
    operations: int
    torch: str


def entries() -> list[Entry]:
    """Return the readable entries, the oldest first."""
    found = []
    for path in folder().glob(f"*/{_FACTS}"):
        if path.parent.name.startswith(_UNFINISHED):
            continue
        with contextlib.suppress(OSError, ValueError, KeyError):
            facts = json.loads(path.read_text())
            size = sum(file.stat().st_size for file in path.parent.iterdir())
            told = facts["made"], size, facts["inputs"], facts["operations"], facts["torch"]
            found.append(Entry(path.parent.name, *told))
    return sorted(found, key=lambda entry: entry.made)


def prune(seconds: float, size: float) -> int:
    """Remove entries older than ``seconds``, and the oldest ones beyond ``size`` bytes; return their number.

    Unfinished entries of killed processes are removed too.
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
    """Write all entries to an archive; return their number."""
    names = [entry.name for entry in entries()]
    with tarfile.open(path, "w:gz") as archive:
        for name in names:
            archive.add(folder() / name, arcname=name)
    return len(names)


def take_in(path: str) -> int:
    """Add the entries of an archive, whose code will run on demand; return the number of new ones.

    Raises
    ------
    ValueError
        The archive holds something else.
    PermissionError
        The folder is not trusted.
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
    """Whether no other user can write to the folder, whose code this process runs."""
    if not hasattr(os, "getuid"):
        return True
    found = place.stat()
    if found.st_uid in (os.getuid(), 0) and not found.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        return True
    _instead(
        place,
        f"{place} belongs to another user, or others may write to it, so that its code is neither used nor added to: "
        f"give it to user {os.getuid()} with mode 700, or name another folder in TNP_CACHE_DIR",
    )
    return False
