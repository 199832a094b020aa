"""``python -m bench transforms`` from end to end, with one round: that all agree, and what is written and printed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from bench import timing, transforms
from bench.__main__ import main


def test_transforms(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transforms, "WORKLOADS", transforms.WORKLOADS[2:])
    assert main(["transforms", "--repeats", "1", "--out", str(tmp_path)]) == 0
    rows = json.loads((tmp_path / "transforms.json").read_text())["rows"]
    assert {row["workload"] for row in rows} == {workload.name for workload in transforms.WORKLOADS}
    printed = capsys.readouterr().out
    assert all(row["contestant"] in printed for row in rows)
    assert printed.count("reached") + printed.count("missed") == 2


def test_targets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    samples = {"a": [2e-6, 2e-6], "b": [1e-6, 1e-6]}
    assert transforms.Target("a", "b", 2.5).reached(samples) == (2.0, True)
    assert transforms.Target("a", None, 1e-6).reached(samples) == (2e-6, False)
    assert transforms.Target("a", "c", 1.0).reached(samples) is None
    workload = transforms.Workload("w", lambda device: iter(()), (transforms.Target("a", "b", 1.0),))
    monkeypatch.setattr(transforms, "WORKLOADS", [workload])
    monkeypatch.setattr(timing, "measure", lambda contestants, repeats, clock: samples)
    assert main(["transforms", "--out", str(tmp_path)]) == 0
    assert main(["transforms", "--check", "--out", str(tmp_path)]) == 1


def test_another_result_is_an_error() -> None:
    calls = [("one", lambda: [1.0]), ("other", lambda: [2.0])]
    with pytest.raises(SystemExit, match="w: other is wrong"):
        transforms.contestants(transforms.Workload("w", lambda device: iter(calls), ()))


def test_peaks_fall_with_the_chunk_and_with_a_checkpoint() -> None:
    jacobian = [size for workload, _, size in transforms.peaks() if workload.startswith("Jacobian")]
    assert jacobian == sorted(jacobian, reverse=True) and jacobian[-1] < jacobian[0] / 2
    kept, checkpoint = [size for workload, _, size in transforms.peaks() if workload.startswith("gradients")]
    assert checkpoint < 0.8 * kept
