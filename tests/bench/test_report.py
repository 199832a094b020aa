"""Rows, figures, tables, files and pictures of the bench, from samples that are given."""

from __future__ import annotations

import argparse
import csv
import io
import json
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console

from bench import curves, overhead, plots, report, sigmoid

PAIRS = {"tnp eager": "torch eager"}
SAMPLES = {"NumPy": [1e-6, 2e-6, 4e-6], "tnp eager": [2e-6, 4e-6, 8e-6], "torch eager": [4e-6, 8e-6, 16e-6]}
FACTS = {"cpu": "a processor", "cores": 2, "cuda": None, "python": "3.11", "versions": {"torch": "2.13.0"}}


@pytest.fixture
def rows() -> list[report.Row]:
    first_calls = dict.fromkeys(SAMPLES, 0.25)
    return [row for size in (1, 2**20) for row in report.rows(size, SAMPLES, first_calls, PAIRS)]


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0 s"), (1.5e-6, "1.50 µs"), (12.34e-6, "12.3 µs"), (123.4e-6, "123 µs"), (999.6e-6, "1.00 ms"),
        (30.6e-3, "30.6 ms"), (2.0, "2.00 s"), (345e-9, "345 ns"), (1e-6, "1.00 µs"), (1200, "1200 s"),
    ],
)  # fmt: skip
def test_seconds(value: float, text: str) -> None:
    assert report.seconds(value) == text


@pytest.mark.parametrize(("size", "text"), [(1, "2^0"), (1024, "2^10"), (1000, "1,000"), (2**24, "2^24")])
def test_power(size: int, text: str) -> None:
    assert report.power(size) == text


def test_ratios_are_paired(rows: list[report.Row]) -> None:
    ours = next(row for row in rows if row.curve == "tnp eager")
    assert (ours.ratio_to_numpy, ours.ratio_to_torch) == (2.0, 0.5)
    assert next(row for row in rows if row.curve == "NumPy").ratio_to_torch is None


def test_table_holds_every_figure(rows: list[report.Row]) -> None:
    console = Console(width=100)
    with console.capture() as capture:
        console.print(report.table(rows, "a title"))
    lines = capture.get().splitlines()
    ours = next(line for line in lines if "tnp eager" in line).split()
    assert ours == ["tnp", "eager", "4.00", "µs", "38%", "2.00", "0.500", "250", "ms"]
    assert sum("2^20" in line for line in lines) == 1


def test_files_hold_every_row(tmp_path: Path, rows: list[report.Row]) -> None:
    document = json.loads(report.write_json(tmp_path / "new" / "a.json", rows, FACTS, workload="w").read_text())
    assert document["machine"] == FACTS and document["workload"] == "w"
    assert [row["samples"] for row in document["rows"]] == [row.samples for row in rows]
    with report.write_csv(tmp_path / "a.csv", rows).open() as file:
        read = list(csv.DictReader(file))
    assert [float(row["median"]) for row in read] == [row.steady.median for row in rows]
    assert [row["ratio_to_torch"] for row in read[:3]] == ["", "0.5", ""]


def test_machine_names_what_the_figures_depend_on() -> None:
    facts = report.machine()
    assert facts["cores"] >= 1 and facts["cpu"] and {"numpy", "torch"} <= set(facts["versions"])
    assert facts["cpu"] in report.headline(facts)
    json.dumps(facts)


def test_picture_is_drawn(tmp_path: Path, rows: list[report.Row]) -> None:
    path = plots.sweep(tmp_path / "a.png", rows, "a title", "a footnote")
    assert path.read_bytes().startswith(b"\x89PNG")


def test_every_curve_has_a_style_of_its_own() -> None:
    looks = [str(plots.style(name)) for name in (*plots.STYLES, "tnp eager (cuda)", "torch eager (cuda)")]
    assert len(set(looks)) == len(looks)


def test_sizes_are_parsed() -> None:
    assert sigmoid.parse_sizes("2^10,1,2**3,1024") == [1, 8, 1024]
    for wrong in ("", "x", "2^", "0", "-1"):
        with pytest.raises(argparse.ArgumentTypeError, match="is no size"):
            sigmoid.parse_sizes(wrong)


def test_wrong_answer_aborts() -> None:
    curve = curves.Curve("half", lambda x: lambda: x / 2)
    x = np.ones(3, np.float32)
    assert sigmoid.first_call(curve, curve.prepare(x), x / 2) >= 0.0
    with pytest.raises(SystemExit, match="half is wrong at 3 elements"):
        sigmoid.first_call(curve, curve.prepare(x), x)


def test_overhead_is_the_paired_difference() -> None:
    now = 0.0

    def cost(seconds: float) -> None:
        nonlocal now
        now += seconds

    pair = overhead.Pair("cost(3e-6)", "cost(1e-6)")
    result = overhead.compare(pair, 1, 5, {"cost": cost}, {"cost": cost}, clock=lambda: now)
    assert result.difference == pytest.approx(2e-6) and result.ratio == pytest.approx(3.0)
    assert overhead.above([result]) == [result] and overhead.above([result], target=3e-6) == []


def test_a_pipe_is_wide_enough(rows: list[report.Row]) -> None:
    """Eighty characters, which rich takes for one, cut a table's columns off."""
    pipe = io.StringIO()
    report.console(file=pipe).print(report.table(rows, "a title"))
    assert report.console(file=pipe).width == 120
    assert "…" not in pipe.getvalue()
