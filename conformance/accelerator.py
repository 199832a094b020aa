"""Try the samples on an accelerator: on CUDA if this machine has it, else on the stand-in of tests.fake_device.

The stand-in changes its process for good, so the samples run in a process of their own. Copies between CPU and
accelerator are counted.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import torch

import tnp
from conformance import samples, trials

FEW = 64
"""Reads of at most so many bytes are values (a count, a bound, the result of a check), not copies of arrays."""


def device_name() -> str:
    """Return the name of the device on which the samples run."""
    return "CUDA" if torch.cuda.is_available() else "the stand-in for it of tests/fake_device.py"


def ask(codes: dict[str, str]) -> dict[str, str]:
    """Return name -> `how` its sample runs, or - if that can't be tried."""
    process = subprocess.run(
        [sys.executable, "-m", __name__],
        input=json.dumps(codes),
        capture_output=True,
        text=True,
        cwd=Path(__file__).parent.parent,
        check=False,
    )
    if process.returncode:
        raise RuntimeError(process.stderr)
    answers: dict[str, str] = json.loads(process.stdout)
    return answers


def how(code: str, device: str) -> str:
    """Compare a sample on the device with the same on the CPU.

    "yes": equal results, without copies between the two. "waits": the CPU reads a few values on the way. "copies": the
    CPU reads or writes more. "no": another result or an error."""
    for forbid in (True, False):
        try:
            same, moved = _run(code, device, forbid)
        except Exception:
            continue
        if same:
            return "yes" if not moved else "waits" if max(moved) <= FEW else "copies"
    return "no"


def _run(code: str, device: str, forbid: bool) -> tuple[bool, list[int]]:
    """Return whether the results agree and are on the device, and the bytes of each copy."""

    sample = trials.sample_function(code, tnp)
    near = samples.values(tnp)
    far = {name: value.to_device(device) for name, value in near.items()}
    with tnp.transfers(forbid=forbid) as log, tnp.device(device):
        found = trials.leaves(sample(**far))
    wanted = trials.leaves(sample(**near))
    moved = [each.nbytes for each in log]
    if any(tensor.device.type != torch.device(device).type for tensor in found):
        return False, moved
    found = [tensor.cpu() for tensor in found]
    if "random" in code:
        return [(t.shape, t.dtype) for t in found] == [(t.shape, t.dtype) for t in wanted], moved
    return trials.same(found, wanted), moved


def main() -> None:
    """Try the samples in the JSON on standard input; print the answers."""
    device = "cuda"
    if not torch.cuda.is_available():
        from tests import fake_device

        fake_device.prepare()
        device = fake_device.NAME
    answers: dict[str, str] = {}

    with trials.quiet():
        for name, code in json.load(sys.stdin).items():
            answers[name] = how(code, device)
    json.dump(answers, sys.stdout)


if __name__ == "__main__":
    main()
