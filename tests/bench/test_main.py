"""The commands of ``python -m bench`` from end to end, with few rounds: what they write and print, not how fast."""

from __future__ import annotations

import json
from pathlib import Path

import numpy
import pytest

import tnp
from bench import latency, loops, overhead, small, timing
from bench.__main__ import main

CURVES = ["NumPy", "tnp eager", "torch eager", "tnp compiled"]


def test_sigmoid(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["sigmoid", "--sizes", "1,2^10", "--repeats", "2", "--device", "cpu", "--out", str(tmp_path)]) == 0
    printed = capsys.readouterr().out
    rows = json.loads((tmp_path / "sigmoid.json").read_text())["rows"]
    for size in (1, 1024):
        here = [row for row in rows if row["size"] == size]
        assert [row["curve"] for row in here][: len(CURVES)] == CURVES
        assert all(len(row["samples"]) == 2 and min(row["samples"]) > 0 for row in here)
    for name in ("sigmoid.json", "sigmoid.csv", "sigmoid.png"):
        assert (tmp_path / name).stat().st_size > 0
        assert name in printed
    assert all(curve in printed for curve in CURVES)


def test_overhead(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(overhead, "SIZES", [1])
    assert main(["overhead", "--repeats", "1", "--out", str(tmp_path)]) == 0
    rows = json.loads((tmp_path / "overhead.json").read_text())["rows"]
    assert [row["operation"] for row in rows] == [pair.tnp for pair in overhead.PAIRS]
    printed = capsys.readouterr().out
    assert [pair.tnp for pair in overhead.PAIRS if f" {pair.tnp} " not in printed] == []


@pytest.mark.parametrize(("difference", "status"), [(0.4e-6, 0), (0.6e-6, 1)])
def test_overhead_check(
    difference: float, status: int, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    summary = timing.Summary.of([1e-6])
    result = overhead.Overhead(1, "x + y", summary, summary, difference, 1.5)
    monkeypatch.setattr(overhead, "compare", lambda *arguments: result)
    assert main(["overhead", "--check", "--out", str(tmp_path)]) == status
    assert f"{difference * 1e6:+.2f}" in capsys.readouterr().out


def test_loops(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    jobs = loops.workloads()
    monkeypatch.setattr(loops, "workloads", lambda: [jobs[0], jobs[-1]])
    assert main(["loops", "--repeats", "1", "--out", str(tmp_path)]) == 0
    rows = json.loads((tmp_path / "loops.json").read_text())["rows"]
    assert [row["title"] for row in rows] == [jobs[0].title, jobs[-1].title]
    assert all({"numpy", "tnp"} <= set(row["seconds"]) for row in rows)
    assert all(row["title"] in capsys.readouterr().out for row in rows[:1])


def test_small(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(small, "SIZES", [3])
    monkeypatch.setenv("COLUMNS", "160")  # wide enough that no statement is folded
    assert main(["small", "--repeats", "1", "--out", str(tmp_path)]) == 0
    rows = json.loads((tmp_path / "small.json").read_text())["rows"]
    assert [row["statement"] for row in rows] == small.ELEMENTS + small.ARRAYS
    printed = capsys.readouterr().out
    assert [row["statement"] for row in rows if row["statement"] not in printed] == []


@pytest.mark.parametrize("statement", [*small.ELEMENTS, *small.ARRAYS])
def test_small_statements_do_the_same(statement: str) -> None:
    found = []
    for np in (numpy, tnp):
        names = small.names(np, 5)
        is_expression = " = " not in statement
        result = eval(statement, names) if is_expression else exec(statement, names)
        found.append((numpy.asarray(0.0 if result is None else result), names["x"].tolist(), names["m"].tolist()))
    (expected, *arrays), (result, *ours) = found
    assert ours == arrays
    assert result.dtype == expected.dtype
    numpy.testing.assert_allclose(result, expected, rtol=1e-14)


def test_import(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["import", "--repeats", "1"]) == 0
    assert "import tnp, after it" in capsys.readouterr().out


def test_latency(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Each process gets its own function, unless its caches are to be full; those here compile nothing."""
    told = tmp_path / "told"
    body = f"""
open({str(told)!r}, "a").write("@factor@ ")
found = {{"import": imported - begin, "first call": 0.5, "modules": len(sys.modules) - modules}}
"""
    monkeypatch.setattr(latency, "contestants", lambda: [latency.Contestant("ours", "import math", body)])
    monkeypatch.setattr(latency, "compiles_of_sizes", lambda caches: 1)
    assert main(["latency", "--repeats", "2", "--out", str(tmp_path)]) == 0
    assert told.read_text().split() == ["1.0", "2.0", "1.0", "3.0", "1.0"]
    rows = json.loads((tmp_path / "latency.json").read_text())["rows"]
    expected = [
        (cache, what) for cache in ("empty", "of others", "full") for what in ("import", "first call", "process")
    ]
    assert [(row["cache"], row["what"]) for row in rows] == expected
    assert [len(row["samples"]) for row in rows] == [1] * 3 + [2] * 6
    printed = capsys.readouterr().out
    assert "of others" in printed
    assert "compiles of six sizes" in printed


@pytest.mark.parametrize("arguments", [[], ["nothing"], ["sigmoid", "--sizes", "0"], ["import", "--repeats", "0"]])
def test_bad_arguments_end_with_a_usage_line(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stop:
        main(arguments)
    assert stop.value.code == 2
    assert "usage: python -m bench" in capsys.readouterr().err
