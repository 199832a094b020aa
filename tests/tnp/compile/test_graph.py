"""The graph of a compiled function as an object, and what other programs make of it."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy
import pytest

import tnp as np
from tests.oracle import placed

WEIGHT = placed(np, numpy.full(3, 2.0))


@np.compile(backend="eager")
def function(x: Any, *, more: Any) -> Any:
    y = np.exp(x) * WEIGHT
    y = np.fori_loop(0, 3, lambda i, v: v + 1, y)
    return (y + more["a"][0]).sum(axis=0), y.T


LINE = function.__wrapped__.__code__.co_firstlineno + 2
ARGUMENTS: Any = ((placed(np, numpy.arange(3.0)),), {"more": {"a": [placed(np, numpy.ones(3))]}})


@pytest.fixture
def graph() -> Any:
    return function.graph(*ARGUMENTS[0], **ARGUMENTS[1])


def test_operations(graph: Any) -> None:
    assert [operation.op for operation in graph] == ["input"] * 3 + [
        *("exp", "mul", "full", "while_loop", "add", "sum", "permute", "output")
    ]
    assert [operation.name for operation in graph][:3] == ["x", "more['a'][0]", "captured_0"]
    exp, total = graph["exp"], graph["sum_1"]
    assert (exp.inputs, exp.outputs) == (("x",), ("exp",))
    assert (exp.dtype, exp.shape, str(exp.device)) == (numpy.dtype("f8"), (3,), str(WEIGHT.device))
    assert exp.line == f"{__file__}:{LINE}"
    assert (total.shape, total.attributes["dim"]) == ((), [0])
    assert graph["add"].inputs == ("while_loop[1]", "more['a'][0]")
    with pytest.raises(KeyError):
        graph["nothing"]


def test_counts(graph: Any) -> None:
    assert len(graph) == len(list(graph)) == 11
    assert graph.count("add") == 3
    assert graph.counts()["exp"] == 1
    body = graph["while_loop"].graphs["body"]
    assert (len(body), body.count("add")) == (6, 2)
    assert list(graph["while_loop"].graphs) == ["condition", "body"]


def test_text(graph: Any) -> None:
    assert f"exp = exp(x) -> float64[3] {WEIGHT.device}  # {__file__}:{LINE}" in str(graph).splitlines()
    assert "    lt = lt(arg0_1, other=3) -> bool[] cpu" in str(graph)


def test_tracing_for_a_graph_is_a_trace() -> None:
    fresh = np.compile(lambda x: np.cond(x.sum() > 0, lambda: x, lambda: -x), backend="eager")
    assert list(fresh.graph(np.ones(2))["cond"].graphs) == ["true", "false"]
    fresh(np.ones(2))
    assert fresh.cache_info().traces == 1


def test_pictures(graph: Any) -> None:
    dot = graph.to_dot()
    assert dot.startswith("digraph {") and dot.endswith("}")
    assert '"x" -> "exp";' in dot and '"more[\'a\'][0]" -> "add";' in dot
    svg = ElementTree.fromstring(graph.to_svg())
    texts = [element.text for element in svg.iter("{http://www.w3.org/2000/svg}text")]
    assert "exp: exp" in texts and "while_loop/body/add: add" in texts
    boxes = len(graph) + sum(map(len, graph["while_loop"].graphs.values()))
    assert len(list(svg.iter("{http://www.w3.org/2000/svg}rect"))) == boxes
    html = graph.to_html()
    assert graph.to_svg() in html and "http://" not in html.replace("http://www.w3.org/2000/svg", "")


def test_tensorboard(graph: Any, tmp_path: Path) -> None:
    pytest.importorskip("tensorboard")
    from tensorboard.backend.event_processing.event_file_loader import EventFileLoader
    from tensorboard.compat.proto.graph_pb2 import GraphDef

    graph.to_tensorboard(tmp_path)
    (file,) = tmp_path.iterdir()
    (event,) = [event for event in EventFileLoader(str(file)).Load() if event.HasField("graph_def")]
    nodes = {node.name: node for node in GraphDef.FromString(event.graph_def).node}
    assert (nodes["exp"].op, list(nodes["exp"].input), nodes["exp"].attr["shape"].s) == ("exp", ["x"], b"(3,)")
    assert list(nodes["add"].input) == ["while_loop", "more_a_0"]
    assert "while_loop/body/add" in nodes


@pytest.mark.stores
def test_onnx(graph: Any, tmp_path: Path) -> None:
    onnx = pytest.importorskip("onnx")
    pytest.importorskip("onnxscript")
    runtime = pytest.importorskip("onnxruntime")
    graph.to_onnx(tmp_path / "f.onnx")
    onnx.checker.check_model(onnx.load(tmp_path / "f.onnx"))
    session = runtime.InferenceSession(tmp_path / "f.onnx")
    results = session.run(None, {"x": numpy.arange(3.0), "more['a'][0]": numpy.ones(3)})
    for result, expected in zip(results, function(*ARGUMENTS[0], **ARGUMENTS[1]), strict=True):
        numpy.testing.assert_allclose(result, np.asnumpy(expected))
    with pytest.raises(NotImplementedError, match="a branch or a loop's body"):
        graph["while_loop"].graphs["body"].to_onnx(tmp_path / "g.onnx")


@pytest.mark.stores
def test_onnx_of_operations_with_own_derivatives(tmp_path: Path) -> None:
    onnx = pytest.importorskip("onnx")
    pytest.importorskip("onnxscript")
    np.compile(np.linalg.det, backend="eager").graph(np.eye(2)).to_onnx(tmp_path / "f.onnx")
    assert [node.op_type for node in onnx.load(tmp_path / "f.onnx").graph.node] == ["Det"]


def test_onnx_of_what_writes(tmp_path: Path) -> None:
    pytest.importorskip("onnxscript")

    def writes(x: Any) -> Any:
        x += 1
        return x

    with pytest.raises(NotImplementedError, match="writes to its arguments"):
        np.compile(writes).graph(np.ones(2)).to_onnx(tmp_path / "f.onnx")


@pytest.mark.parametrize(("method", "package"), [("to_tensorboard", "tensorboard"), ("to_onnx", "onnx")])
def test_without_the_packages(
    graph: Any, method: str, package: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in [package, *[name for name in sys.modules if name.startswith(f"{package}.")]]:
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(ImportError, match=f"{method} needs the package {package}: pip install {package}"):
        getattr(graph, method)(tmp_path / "f")
