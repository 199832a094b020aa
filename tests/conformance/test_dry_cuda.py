"""``python -m conformance dry-cuda``: where it can run, and what counts as refused."""

from __future__ import annotations

import subprocess
import sys

import numpy
import pytest
import torch

import tnp
from conformance.__main__ import main
from conformance.dry_cuda import build, calls


def raising(error: Exception) -> None:
    raise error


def test_a_torch_that_can_not_be_tried_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    reason = build.why_not()
    if reason is None:  # torch's CUDA build, and no GPU
        program = "import torch; print(torch.ones(2, dtype=torch.uint16, device='cuda').roll(1))"
        command = [sys.executable, "-m", "conformance", "dry-cuda", "--", sys.executable, "-c", program]
        assert "not implemented for 'UInt16'" in subprocess.run(command, capture_output=True, text=True).stderr
    else:
        assert main(["dry-cuda"]) == 2
        assert reason in capsys.readouterr().err
        assert (torch.version.cuda is None) == ("is no CUDA build" in reason)


def test_what_is_refused() -> None:
    said = "\"roll_cuda\" not implemented for 'UInt16'"
    assert calls.refusal(lambda: raising(NotImplementedError(said))) == said
    assert calls.refusal(lambda: tnp.ones(3, device="meta") + tnp.ones(3)).startswith(
        "operands are on different devices"
    )
    assert calls.refusal(lambda: raising(ValueError("what garbage leads to"))) is None


def test_each_function_is_asked_on_each_dtype() -> None:
    asked = [name for name, _ in calls.every_function()]
    for dtype in map(numpy.dtype, calls.DTYPES):
        assert f"np.abs(x) of {dtype}" in asked
    assert "gradient of np.sin(x)" in asked and "jvp of np.sin(x)" in asked
    beside = [name for name, _ in calls.numbers_beside_arrays()]
    assert beside.count("np.gcd(number, x) of int64") == 2 and "gradient of np.power(number, x) of float64" in beside
