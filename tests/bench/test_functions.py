"""``python -m bench functions`` and the calls that it measures: that each is right and named, not how fast it is."""

from __future__ import annotations

import json
import warnings
from pathlib import Path

import numpy
import pytest

import tnp
from bench import calls, functions, timing
from bench.__main__ import main
from conformance import coverage

DESCRIBING = """
    amax amin apply_along_axis asanyarray asmatrix bmat broadcast broadcast_shapes matrix row_stack
    busday_count busday_offset can_cast common_type
    concat datetime_as_string deg2rad diag_indices_from dsplit einsum_path errstate format_float_positional
    format_float_scientific from_dlpack fromfile fromiter fromregex fromstring genfromtxt geterr geterrcall
    is_busday iscomplexobj isfortran isrealobj load loadtxt may_share_memory memmap min_scalar_type ndarray
    ndenumerate ndim nditer ogrid permute_dims poly poly1d rad2deg array2string array_repr array_str require
    result_type rollaxis roots save savetxt savez savez_compressed seterr seterrcall shape shares_memory size
    tril_indices_from triu_indices_from vectorize linalg.tensorinv linalg.tensorsolve random.BitGenerator
    random.Generator random.MT19937 random.PCG64 random.PCG64DXSM random.Philox random.RandomState random.SFC64
    random.SeedSequence random.get_state random.random_integers random.ranf random.sample random.seed
    random.set_state
"""
"""Names without a row: they describe arrays, loop over Python calls, make text, or are another's alias."""


def test_each_function_has_a_row() -> None:
    rows = {name.partition(",")[0] for name in calls.CALLS}
    same = {id(getattr(numpy, name)) for name in rows if hasattr(numpy, name)}
    missing = {
        name
        for name, cells in coverage.read().items()
        if cells[0] in coverage.COMPUTED
        and not name.startswith("ndarray.")
        and name not in rows
        and id(getattr(numpy, name, None)) not in same
    }
    assert missing <= set(DESCRIBING.split()), missing - set(DESCRIBING.split())
    assert not set(DESCRIBING.split()) & rows


ROWS = {**calls.CALLS, **calls.ALONG}


@pytest.fixture(scope="module")
def names() -> tuple[dict, dict]:
    arrays = calls.values(100)
    return calls.names(numpy, arrays), calls.names(tnp, arrays)


@pytest.mark.parametrize(
    "function", [pytest.param(n, marks=pytest.mark.host) if n in calls.HOSTS_ALONE else n for n in ROWS]
)
def test_call_does_what_numpy_does(function: str, names: tuple[dict, dict]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        functions.check(function, ROWS[function], *names)


def test_a_wrong_result_is_not_measured(names: tuple[dict, dict]) -> None:
    theirs, ours = names
    with pytest.raises(AssertionError, match="negative"):
        functions.check("negative", "np.negative(x)", theirs, {**ours, "x": ours["y"]})
    with pytest.raises(AssertionError, match="copyto"):
        functions.check("copyto", "np.copyto(o, y)", theirs, {**ours, "y": ours["x"]})


def test_names_of_rows() -> None:
    assert list(calls.chosen(["sort"])) == ["sort", "sort, int64", "sort, axis"]
    assert set(calls.chosen(["fft."])) == set(calls.FFT)
    assert calls.chosen([]) is calls.CALLS
    assert calls.chosen([], size=calls.MANY).keys() == ROWS.keys()
    with pytest.raises(ValueError, match="nothing"):
        calls.chosen(["nothing"])


def test_what_only_the_host_draws_is_no_row_elsewhere() -> None:
    """The first of them ended the run."""
    assert calls.chosen([], "meta").keys() == calls.CALLS.keys() - calls.HOSTS_ALONE
    for name in calls.HOSTS_ALONE:
        with tnp.device("meta"), pytest.raises(NotImplementedError, match="a generator on the CPU"):
            functions.result_of(calls.CALLS[name], {"np": tnp, "n": 3})


def test_functions(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["functions", "--sizes", "100,200", "--only", "where,fft.fft", "--out", str(tmp_path)]) == 0
    rows = json.loads((tmp_path / "functions.json").read_text())["rows"]
    assert {(row["size"], row["function"]) for row in rows} == {
        (size, name) for size in (100, 200) for name in ("where", "where, a number", "where, one argument", "fft.fft")
    }
    assert all(row["ratio"] > 0 and row["numpy"]["rounds"] >= functions.FEWEST for row in rows)
    printed = capsys.readouterr().out
    assert "100 elements, worst first" in printed and "200 elements: " in printed


def test_json_is_all_that_is_printed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["functions", "--sizes", "100", "--only", "add.at", "--json", "--out", str(tmp_path)]) == 0
    assert json.loads(capsys.readouterr().out)["rows"][0]["function"] == "add.at"


def timed(ratio: float, once: float = 1e-3, function: str = "") -> functions.Timed:
    once_each = timing.Summary.of([once]), timing.Summary.of([once * ratio])
    return functions.Timed(functions.CHECKED, function or f"f{ratio}", *once_each, ratio)


@pytest.mark.parametrize(
    ("row", "status"), [(timed(2.9), 0), (timed(3.1), 1), (timed(9.0, 1e-6), 0), (timed(9.0, function="flip"), 0)]
)
def test_check(row: functions.Timed, status: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(functions, "compare", lambda *arguments: row)
    options = ["functions", "--sizes", "100", "--only", "add.at", "--check", "--out", str(tmp_path)]
    assert main(options) == status


def test_worst_come_first_and_are_counted() -> None:
    rows = [timed(1.5), timed(9.0), timed(0.5)]
    assert list(functions.table(rows, functions.CHECKED, 2).columns[0].cells) == ["f9.0", "f1.5"]
    assert functions.summary(rows, functions.CHECKED).startswith(
        "1,000,000 elements: 1 of 3 above 3 times NumPy (1 of them data, not the price of a call or a view), "
        "2 above 1; median 1.50, worst 9.00"
    )
