"""``python -m bench compile`` from end to end, with small workloads."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path

import numpy as np
import pytest

from bench import compiled, peers
from bench.__main__ import main


def test_compile(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiled, "ADDITIONS", 70)
    assert main(["compile", "--matrix", "20", "--sizes", "10", "--repeats", "1", "--out", str(tmp_path)]) == 0
    results = json.loads((tmp_path / "compile.json").read_text())["rows"]
    titles = list(dict.fromkeys(result["workload"] for result in results))
    assert [title.split(",")[0] for title in titles] == [
        "10 products of matrices",
        "a call with 8 arrays and a nested result",
        "70 additions of 1",
    ]
    curves = [result["row"]["curve"] for result in results if result["workload"] == titles[2]]
    assert curves[:3] == ["NumPy", "torch eager", "tnp eager"]
    assert {"tnp compiled, unrolled", "tnp compiled, while_loop", "tnp compiled, fori_loop"} <= set(curves)
    assert ("JAX jit, fori_loop" in curves, "TF function, while_loop" in curves) == tuple(
        importlib.util.find_spec(name) is not None for name in peers.NAMES
    )
    printed = capsys.readouterr().out
    assert all(title in printed for title in titles)


def test_a_wrong_result_is_no_contestant() -> None:
    with pytest.raises(AssertionError, match="wrong"):
        compiled.measured(compiled.Workload("title", 1, {"NumPy": lambda: 1.0, "wrong": lambda: 2.0}), 1)


def test_absent_peers_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(peers, "_is_there", lambda name: name == "jax")
    assert peers.note() == "not installed, so without rows: TensorFlow (pip install '.[peers]')\n"
    monkeypatch.setattr(peers, "_is_there", lambda name: True)
    assert peers.note() == ""


@pytest.mark.parametrize("name", peers.NAMES)
def test_peers_run_what_they_are_given(name: str) -> None:
    pytest.importorskip(name)
    call = {"jax": peers.jax_call, "tensorflow": peers.tensorflow_call}[name]
    for dtype in ("float32", "float64"):
        result = np.asarray(call(lambda x, y: x + y * 2, np.ones(3, dtype), np.ones(3, dtype))())
        assert result.dtype == dtype and result.tolist() == [3, 3, 3]
