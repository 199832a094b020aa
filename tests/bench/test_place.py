"""``--device`` of ``python -m bench``: on the stand-in for an accelerator, in a process of its own."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import pytest
import torch

import tnp
from bench import place
from bench.__main__ import main
from tests import processes

ROOT = Path(__file__).parent.parent.parent
SCRIPT = """
import sys
from bench import compiled, overhead, small, transforms
from bench.__main__ import main
from tests import fake_device

fake_device.prepare()
overhead.SIZES, compiled.ADDITIONS, small.SIZES = [3], 5, [3]
small.ELEMENTS = small.ELEMENTS[:2]
transforms.WORKLOADS = transforms.WORKLOADS[3:]
sys.exit(main(sys.argv[1:]))
"""
COMMANDS = {
    "functions": ["--sizes", "100", "--only", "where,fft.fft,linspace,nonzero"],
    "overhead": ["--repeats", "1"],
    "small": ["--repeats", "1"],
    "programs": ["--repeats", "1", "--only", "sieve"],
}


def run(command: str, folder: Path) -> tuple[str, dict[str, Any]]:
    """What a command prints and writes of the stand-in."""
    done = processes.run("-c", SCRIPT, command, "--device", "fake", "--out", folder, *COMMANDS[command])
    assert done.returncode == 0, done.stderr
    return done.stdout, json.loads((folder / f"{command}.json").read_text())


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_on_a_device(command: str, tmp_path: Path) -> None:
    printed, written = run(command, tmp_path)
    assert "; on fake, CPU memory in disguise;" in printed.replace("\n", " ")
    assert written["machine"]["device_name"] == "CPU memory in disguise" and written["rows"]


@pytest.mark.parametrize("command", ["functions", "overhead", "small", "programs", "compile", "transforms", "memory"])
def test_an_absent_device_is_a_usage_error(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stop:
        main([command, "--device", "xpu:7"])
    assert stop.value.code == 2
    assert "--device: device 'xpu:7' is not available here" in capsys.readouterr().err


def test_the_clock_waits_for_the_device(monkeypatch: pytest.MonkeyPatch) -> None:
    waited: list[object] = []
    monkeypatch.setattr(tnp, "synchronize", waited.append)
    place.clock("cpu")()
    assert waited == []
    clock = place.clock("cuda:1")
    assert clock() <= clock() and waited == ["cuda:1"] * 2


def test_a_devices_peak_is_its_allocators(monkeypatch: pytest.MonkeyPatch) -> None:
    class Memory:
        """An allocator whose second call takes less than the first, and that kept memory before."""

        now = highest = 100

        def synchronize(self, device: str) -> None:
            pass

        def reset_peak_memory_stats(self, device: str) -> None:
            self.highest = self.now

        def memory_allocated(self, device: str) -> int:
            return self.now

        def max_memory_allocated(self, device: str) -> int:
            return self.highest

    memory, takes = Memory(), iter([500, 70])
    monkeypatch.setattr(torch, "get_device_module", lambda kind: {"cuda": memory}[kind])

    def call() -> None:
        memory.highest = max(memory.highest, memory.now + next(takes))

    assert place.peak("cuda:0", call) == 70


def test_names() -> None:
    assert place.present("cpu") == "cpu" and place.name("cpu") is None
    with pytest.raises(argparse.ArgumentTypeError, match="is not a device"):
        place.present("nowhere")
