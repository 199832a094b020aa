"""The coverage table: its samples run on NumPy, its cells are found by trying, and the page is not stale."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy
import pytest

import tnp
from conformance import coverage, samples, trials

SAMPLES = {name: code for name, code in samples.samples().items() if code}
NUMPY = numpy.lib.NumpyVersion(numpy.__version__)
GONE = {"row_stack"} if NUMPY >= "2.5.0" else set()  # what the installed NumPy has no longer, and tnp still has
ROOT = Path(__file__).parents[2]
PAGE = "write it: python -m conformance coverage"


@pytest.mark.parametrize("name", sorted(SAMPLES.keys() - GONE))
def test_sample_runs_on_numpy(name: str) -> None:
    with trials.quiet():
        trials.sample_function(SAMPLES[name], numpy)(**samples.values(numpy))


def test_every_sample_is_of_a_public_name() -> None:
    assert samples.samples().keys() - GONE <= coverage.names().keys()


def test_every_function_has_a_sample() -> None:
    functions = {
        name
        for name, value in coverage.names().items()
        if callable(value) and not isinstance(value, type) and coverage.lookup(name) is not None
    }
    assert not functions - samples.samples().keys()


def test_page_says_what_runs_each_name() -> None:
    page = coverage.read()
    written = {name: columns[0] for name, columns in page.items() if name not in GONE}
    rows = "{row.name: row.run_by for row in coverage.rows(True)}"
    code = f"import json; from conformance import coverage; print(json.dumps({rows}))"
    environment = {**os.environ, **coverage.PLAIN}
    run = subprocess.run([sys.executable, "-c", code], cwd=ROOT, env=environment, capture_output=True, text=True)
    assert json.loads(run.stdout.splitlines()[-1]) == written, PAGE


def test_every_absent_name_has_a_reason() -> None:
    absent = {name for name, cells in coverage.read().items() if cells[0].startswith("absent")}
    assert absent == {name for names in coverage.ABSENT.values() for name in names.split()}


def test_torch_runs_at_least_95_percent_of_the_numeric_functions() -> None:
    table = [coverage.Row(name, *cells) for name, cells in coverage.read().items()]
    functions = coverage.numeric(table)
    assert sum(row.run_by != "NumPy" for row in functions) >= 0.95 * len(functions)
    assert coverage.share(table) in coverage.PATH.read_text(), PAGE


def test_what_is_not_numeric_is_what_the_host_runs() -> None:
    page = coverage.read()
    assert {page[name][0] for listed in coverage.NOT_NUMERIC.values() for name in listed.split()} == {"NumPy"}


@pytest.mark.parametrize(
    "code, by",
    [
        ("x + 1.0", "torch"),
        ("np.sort(x)", "torch, NumPy on the CPU"),
        ("x.tolist()", "NumPy"),
        ("np.asarray(np.asnumpy(x) + 1.0)", "NumPy"),
    ],
)
def test_who_runs_a_call_is_seen(code: str, by: str) -> None:
    assert coverage.run_by("sort", numpy.sort, code) == by


def test_names_that_are_numpys_or_absent() -> None:
    assert coverage.run_by("float64", numpy.float64, None) == "NumPy's own"
    assert coverage.run_by("no_such_name", numpy.sort, None) == "absent: not written yet"


@pytest.mark.parametrize(
    "question, code, answer",
    [
        (coverage.has_gradient, "np.sin(x)", "yes"),
        (coverage.has_gradient, "np.argsort(x)", "-"),
        (coverage.has_gradient, "np.asarray(np.asnumpy(x.copy()) * 2)", "no"),
        (coverage.can_be_batched, "np.sin(x)", "yes"),
        (coverage.can_be_batched, "np.unique(x)", "no"),
        (coverage.can_be_compiled, "np.sin(x)", "yes"),
        (coverage.can_be_compiled, "x if x[0, 0] > 0 else y", "no"),
        (coverage.can_be_traced, "np.sin(x)", "yes"),
        (coverage.can_be_traced, "print(x)", "no"),
    ],
)
def test_questions_are_answered_by_trying(question: Any, code: str, answer: str) -> None:
    assert coverage.tried(question, code) == answer


def test_page_round_trips(tmp_path: Any) -> None:
    rows = [coverage.Row("sin", "torch", "yes", "yes", "yes", "no"), coverage.Row("pi", "NumPy's own")]
    (tmp_path / "page.md").write_text(coverage.markdown(rows))
    assert coverage.read(tmp_path / "page.md") == {row.name: row.cells() for row in rows}
    assert math.isclose(tnp.pi, numpy.pi)
