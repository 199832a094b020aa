"""The harness: a test module sees the target as NumPy; what cannot be had costs only the tests that need it."""

from __future__ import annotations

import types
from pathlib import Path

import numpy
import pytest

import tnp
from conformance.__main__ import main
from conformance.numpy_suite import results, selection, targets
from conformance.numpy_suite.binding import Binding, is_neutral, public_path
from conformance.numpy_suite.broken import Broken, broken_test, error_in

MODULE = """
import numpy as np
from numpy._core import umath
TABLE = [np.add, np.no_such_function]
class TestThing:
    values = np.no_such_function(3)
"""


def load(tmp_path: Path, pytestconfig: pytest.Config, source: str) -> types.ModuleType:
    path = tmp_path / "test_thing.py"
    path.write_text(source)
    return Binding("tnp").load(path, "numpy.tests.test_thing", pytestconfig)


def test_a_module_sees_the_target(tmp_path: Path, pytestconfig: pytest.Config) -> None:
    module = load(tmp_path, pytestconfig, MODULE)
    assert module.np.add is module.umath.add is tnp.add
    assert module.np.float64 is numpy.float64


def test_what_cannot_be_had_is_a_placeholder(tmp_path: Path, pytestconfig: pytest.Config) -> None:
    module = load(tmp_path, pytestconfig, MODULE)
    assert module.TABLE[0] is tnp.add
    assert isinstance(error_in(module.TABLE), AttributeError)
    assert isinstance(module.TestThing.values, Broken)


def test_every_use_of_a_placeholder_raises_its_error() -> None:
    broken = Broken("x", KeyError("k"))
    for use in (
        lambda: broken + 1,
        lambda: broken(),
        lambda: broken.name,
        lambda: [*broken],
        broken_test("t", KeyError()),
    ):
        with pytest.raises(KeyError):
            use()


def test_names_are_public_neutral_or_private() -> None:
    assert public_path("numpy._core.umath", "add") == "numpy.add"
    assert public_path("numpy", "_private") is None
    assert is_neutral("numpy", "float64")
    assert not is_neutral("numpy", "add")


def test_arrays_are_told_and_read() -> None:
    x = tnp.arange(3)
    assert targets.is_array(x, tnp)
    assert not targets.is_array(numpy.arange(3), tnp)
    assert targets.to_numpy(x).tolist() == [0, 1, 2]


def test_cases_pair_by_parameters_and_else_by_place() -> None:
    def event(place: int, parameters: str | None, **more: str) -> dict[str, object]:
        return {"key": ["a.py", "f", place], "parameters": parameters, **more}

    wanted = [event(0, "x"), event(1, "y")]
    same = [event(0, "y"), event(1, "x")]
    assert [ran["parameters"] for _, ran in results.match(wanted, same) if ran] == ["x", "y"]
    renamed = [event(0, "v"), event(1, "w")]
    assert [ran["parameters"] for _, ran in results.match(wanted, renamed) if ran] == ["v", "w"]
    assert [ran for _, ran in results.match(wanted, [event(0, "x")])][1] is None


@pytest.mark.skipif(numpy.__version__ not in selection.NOISE.read_text(), reason="suite.toml is another NumPy's")
def test_every_selected_file_is_there(capsys: pytest.CaptureFixture[str]) -> None:
    assert len(selection.Selection().files()) > 40
    assert capsys.readouterr().err == "", "suite.toml does not mention these files"


def test_a_run_prints_the_rates(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["numpy", "-n", "1", "--files", "lib/tests/test_packbits", "--only", "test_packbits_empty"]) == 0
    printed = capsys.readouterr().out
    assert "100.0" in printed
    assert "torch._numpy 10.4 %" in printed
