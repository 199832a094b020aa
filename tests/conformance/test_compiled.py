"""``python -m conformance compiled``: what is tried, and that what differs is found."""

from __future__ import annotations

from typing import Any

import numpy
import pytest

import tnp
from conformance import __main__, compiled, coverage, samples


def results(*patterns: str, backend: str = "eager") -> list[compiled.Result]:
    return list(compiled.run(compiled.cases(patterns, ["float64", "int64"]), backend))


def test_every_function_that_torch_computes_is_tried() -> None:
    native = {name for name, cells in coverage.read().items() if cells[0].startswith("torch")}
    assert {case.name for case in compiled.cases()} == {name for name in native if samples.samples()[name]}
    once = compiled.cases(["arc*", "bitwise_*", "random.[a-d]*"], once=True)
    assert len({case.name for case in once}) == len(once) and {case.dtype for case in once} >= {"int64", "float32"}


def test_outcomes() -> None:
    found = {(result.case.name, result.case.dtype, result.case.edges): result for result in results("floor", "unique")}
    assert {result.outcome for result in found.values()} == {"same", "values"}
    assert found["floor", "int64", True].outcome == "same" and found["unique", "float64", False].outcome == "values"
    assert {result.outcome for result in results("bitwise_and")} == {"same"}
    (refused,) = compiled.run([compiled.Case("invert", "float64", False, "np.invert(x)")], "eager")
    assert refused.outcome == "refused" and "TypeError" in refused.detail


@pytest.mark.parametrize("kind", ["f", "c", "i", "b"])
def test_edges_are_of_the_dtype(kind: str) -> None:
    dtype = {"f": "float32", "c": "complex64", "i": "int64", "b": "bool"}[kind]
    plain, edges = compiled.arrays(dtype, False), compiled.arrays(dtype, True)
    assert plain["x"].dtype == edges["x"].dtype == dtype and plain["i"].dtype == "int64"
    if kind in "fc":
        assert numpy.isnan(edges["x"]).any() and not numpy.isnan(plain["x"]).any()


def test_what_differs_is_found(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """A function that does something else when it is traced, which is what the command is for."""
    from backend_torch.tensors import trace_state

    floor = tnp.floor
    monkeypatch.setattr(tnp, "floor", lambda x: floor(x) + trace_state.is_tracing())
    options = ["compiled", "--backend", "eager", "--functions", "floor,ceil", "--dtypes", "float64"]
    assert __main__.main(options) == 1
    printed = capsys.readouterr().out
    assert "differs: floor, float64: np.floor(x)" in printed and "differs: ceil" not in printed
    monkeypatch.undo()
    assert __main__.main(options) == 0


def test_a_graph_that_is_not_compiled_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    from backend_torch.torch_private import inductor

    compile_it = inductor.compiled

    def fails_on_floor(module: Any, *rest: Any) -> Any:
        if any("floor" in str(node.target) for node in module.graph.nodes):
            raise RuntimeError("no floors today")
        return compile_it(module, *rest)

    monkeypatch.setattr(inductor, "compiled", fails_on_floor)
    cases = [compiled.Case(name, "float64", False, f"np.{name}(x)") for name in ("floor", "negative")]
    found = {result.case.name: result for result in compiled.run(cases, "inductor")}
    assert found["negative"].outcome == "same" and found["floor"].outcome == "not compiled"
    assert "no floors today" in found["floor"].detail
