"""Arrays over several processes of this machine, compared with one process; torchrun's own launcher starts some."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import numpy
import pytest
import torch

import tnp as np
from tests import fake_device, oracle, processes
from tests.tnp.distributed import distributed_checks

ROOT = Path(__file__).parents[3]
CHECKS = Path(__file__).with_name("distributed_checks.py")
GROUPS = {
    "arrays": ["axis 0", "axis 1", "empty parts"],
    "dtypes": ["dtypes"],
    "numbers": ["numbers"],
    "written": ["writes"],
    "refused": ["refusals"],
    "differentiated": ["gradients", "compiled"],
    "random": ["random"],
    "grids": ["grids"],
    "counted": ["counts"],
}
OF_A_KIND = {"dtypes", "differentiated"}
"""About kinds of arrays and functions, whatever the number of processes."""
LIMIT = 240  # seconds that no run comes near


def device() -> str:
    """Where the processes compute; the stand-in for an accelerator has no way to talk."""
    return "cpu" if oracle.device in (None, fake_device.NAME) else oracle.device


def possible(count: int) -> int:
    """So many processes, or fewer: each needs an accelerator of its own."""
    return count if device() == "cpu" else min(count, torch.accelerator.device_count())


@pytest.fixture(autouse=True)
def where() -> Iterator[None]:
    """The arrays of this process are where those of the others are."""
    with np.device(device()):
        yield


def launched(count: int, *arguments: str) -> subprocess.CompletedProcess[str]:
    """A program of the checks, run by ``torchrun`` in so many processes."""
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={possible(count)}"]
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": str(ROOT)}
    environment["PYTHONFAULTHANDLER"] = "1"  # where a process that aborts was
    command += [str(CHECKS), device(), *arguments]
    return subprocess.run(command, env=environment, cwd=ROOT, capture_output=True, text=True, timeout=LIMIT)


def together(count: int, *arguments: str) -> list[str]:
    """What the checks print in so many processes, forked from one that has imported them; they must succeed."""
    with socket.socket() as free:
        free.bind(("localhost", 0))
        port = str(free.getsockname()[1])
    group = {"MASTER_ADDR": "localhost", "MASTER_PORT": port, "WORLD_SIZE": str(possible(count))}
    group |= {"TORCHELASTIC_RUN_ID": "tests", "PYTHONPATH": str(ROOT)}  # the first says that there are others
    started = [
        processes.Process(
            CHECKS,
            device(),
            *arguments,
            after="from tests.tnp.distributed import distributed_checks",
            **group,
            RANK=str(rank),
            LOCAL_RANK=str(rank),
        )
        for rank in range(possible(count))
    ]
    printed = [process.communicate() for process in started]
    assert not any(process.returncode for process in started), "".join(err[-3000:] for _, err in printed)
    return [line for out, _ in printed for line in out.splitlines()]


def test_as_one_process(tmp_path: Path, thorough: bool) -> None:
    """Four processes, then two, compute what one does; the two read the four's checkpoint, and then the one does."""
    folder = tmp_path / "step"
    for count, command in (4, "write"), (2, "read"):
        groups = [group for group in GROUPS if thorough or count == 2 or group not in OF_A_KIND]
        lines = together(count, "checked", *groups, "then", command, str(folder))
        expected = [name for group in groups for name in GROUPS[group]]
        assert [line.removeprefix("checked ") for line in lines if line.startswith("checked")] == expected
        assert sorted(path.name for path in tmp_path.iterdir()) == ["step"]  # nothing is left of the writing
    np.distributed.init(device())
    distributed_checks.read(str(folder))


def test_alone_and_without_torchrun() -> None:
    np.distributed.init(device())
    rows = np.distributed.mesh(1, "rows")
    x = np.distributed.shard(np.arange(6.0).reshape(3, 2), rows)
    assert np.distributed.size() == 1 and np.distributed.rank() == 0
    assert np.asarray(1.0).sharding is None and x.sharding == np.distributed.Sharding(rows, (0,))
    assert np.distributed.gather(np.exp(x)).tolist() == np.exp(np.arange(6.0).reshape(3, 2)).tolist()
    with pytest.raises(ValueError, match="2 entries for the 1 dimensions"):
        np.distributed.shard(x, rows, axis=(0, 1))
    with pytest.raises(ValueError, match="different names"):
        np.distributed.mesh((1, 1), ("rows", "rows"))
    with pytest.raises(TypeError, match="float32 and float64 are drawn"):
        np.distributed.Generator(0, rows).random(3, np.int64)
    with pytest.raises(ValueError, match="is empty"):
        np.distributed.Generator(0, rows).integers(3, 3, 2)


def test_ordinary_arrays_are_not_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[object] = []
    monkeypatch.setattr("backend_torch.tensors.memory.is_sharded", lambda tensor: asked.append(tensor) or False)
    x = np.ones((3, 3))
    x += 1
    assert float(np.sum(np.exp(x) @ x.T)) > 0 and not asked


def test_an_unfinished_checkpoint_is_none(tmp_path: Path) -> None:
    (tmp_path / "step").mkdir()
    assert not np.distributed.exists(tmp_path / "step")
    np.distributed.save(tmp_path / "step.former", {"x": np.arange(3)})  # killed after the first of two renamings
    assert np.distributed.exists(tmp_path / "step")
    x = np.zeros(3, np.int64)
    np.distributed.load(tmp_path / "step", {"x": x})
    assert x.tolist() == [0, 1, 2]


def test_a_killed_process_ends_the_job_and_a_restart_goes_on(tmp_path: Path) -> None:
    start = time.monotonic()
    killed = launched(2, "train", str(tmp_path / "killed"), "3")
    assert killed.returncode != 0 and time.monotonic() - start < LIMIT / 2
    assert "SIGKILL" in killed.stderr or "exitcode  : -9" in killed.stderr, killed.stderr[-4000:]
    assert f"rank      : {possible(2) - 1}" in killed.stderr and "trained" not in killed.stdout
    lines = together(2, "train_again", str(tmp_path / "killed"), str(tmp_path / "whole"))
    assert "resumed at 3" in lines
    resumed, uninterrupted = [line for line in lines if line.startswith("trained")]
    assert resumed == uninterrupted  # bit for bit
    np.distributed.init(device())
    alone = distributed_checks.trained(str(tmp_path / "alone"))
    given = [float.fromhex(value) for value in resumed.split()[1:]]
    numpy.testing.assert_allclose(given, np.asnumpy(alone), rtol=1e-12)
