"""``python -m bench compiled-functions`` from end to end, with two functions."""

from __future__ import annotations

import json
from pathlib import Path

import numpy
import pytest

from bench import compiled_functions
from bench.__main__ import main


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["--sizes", "100", "--only", "negative,x[5:-5] = array", "--out", str(tmp_path)]
    assert main(["compiled-functions", *arguments]) == 0
    rows = json.loads((tmp_path / "compiled-functions.json").read_text())["rows"]
    assert [row["function"] for row in rows] == ["negative", "x[5:-5] = array"]
    assert all(row["eager"] > 0 and row["compiled"] > 0 and not row["failed"] for row in rows)
    assert "slower compiled than eager" in capsys.readouterr().out


def test_arrays_are_parameters_and_numbers_are_not() -> None:
    names = {"np": numpy, "x": numpy.arange(3.0), "n": 3, "o": numpy.zeros(3)}
    function, arrays = compiled_functions.as_function("np.sum(x) + n", names)
    assert arrays == ["x"]
    assert function(names["x"]) == 6
    function, arrays = compiled_functions.as_function("o[:2] = x[1:]", names)
    assert (arrays, function(names["o"], names["x"])) == (["o", "x"], None)
    assert names["o"].tolist() == [1, 2, 0]
