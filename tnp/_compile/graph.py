"""The graph of a compiled function as an object: to be read, counted, drawn and handed to other programs.

Layer: owns how a graph is shown; the backend reads it from the trace.
"""

from __future__ import annotations

import importlib
import os
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

import numpy as np

from backend_torch.graphs import exporting, operations
from backend_torch.tensors.dtypes import to_numpy
from tnp._compile import graph_drawing


@dataclass(frozen=True)
class Operation:
    """One operation of a graph.

    Attributes
    ----------
    name : str
        Its name, which no other operation of the graph has.
    op : str
        What it does: torch's name for it, ``"input"`` or ``"output"``.
    inputs, outputs : tuple of str
        Names of the arrays that it reads and makes.
    dtype, shape, device
        Of the first array that it makes; None if there is none.
    attributes : dict
        What it is given beside arrays.
    line : str or None
        File and line of the user's code that it comes from.
    graphs : dict of str to Graph
        The graphs of its branches or of its condition and body.
    """

    name: str
    op: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    dtype: np.dtype | None
    shape: tuple[int, ...] | None
    device: Any
    attributes: Mapping[str, Any]
    line: str | None
    graphs: Mapping[str, Graph]

    def __str__(self) -> str:
        given = [*self.inputs, *[f"{name}={value}" for name, value in self.attributes.items()]]
        made = "" if self.shape is None else f" -> {self.dtype}{list(self.shape)} {self.device}"
        place = "" if self.line is None else f"  # {self.line}"
        return f"{self.name} = {self.op}({', '.join(given)}){made}{place}"


class Graph:
    """The operations of a compiled function for one signature, in their order.

    Iterating gives each :class:`Operation`, ``len(graph)`` their number, ``graph["name"]`` one of them,
    ``graph.count("exp")`` how many are of a kind, and ``str(graph)`` a line for each.
    """

    def __init__(self, steps: Sequence[operations.Step], export: Callable[[], Any] | None = None) -> None:
        self.operations = tuple([_operation(step) for step in steps])
        self._export = export

    def __iter__(self) -> Iterator[Operation]:
        return iter(self.operations)

    def __len__(self) -> int:
        return len(self.operations)

    def __getitem__(self, name: str) -> Operation:
        for operation in self.operations:
            if operation.name == name:
                return operation
        raise KeyError(name)

    def count(self, op: str) -> int:
        """How many operations of a kind there are, in branches and bodies too."""
        return self.counts()[op]

    def counts(self) -> Counter[str]:
        """How many operations of each kind there are, in branches and bodies too."""
        counts = Counter([operation.op for operation in self])
        for operation in self:
            for graph in operation.graphs.values():
                counts += graph.counts()
        return counts

    def __str__(self) -> str:
        return "\n".join(self._lines(""))

    __repr__ = __str__

    def _lines(self, indent: str) -> Iterator[str]:
        for operation in self:
            yield f"{indent}{operation}"
            for name, graph in operation.graphs.items():
                yield f"{indent}  {name}:"
                yield from graph._lines(f"{indent}    ")

    def _boxes(self, prefix: str = "") -> Iterator[graph_drawing.Box]:
        for operation in self:
            lines = [f"{prefix}{operation.name}: {operation.op}"]
            if operation.shape is not None:
                lines.append(f"{operation.dtype}{list(operation.shape)}")
            if operation.line is not None:
                lines.append(os.path.basename(operation.line))
            after = dict.fromkeys([f"{prefix}{name}" for name in self._makers(operation)])
            yield graph_drawing.Box(f"{prefix}{operation.name}", tuple(lines), tuple(after), operation.op)
            for name, graph in operation.graphs.items():
                yield from graph._boxes(f"{prefix}{operation.name}/{name}/")

    def _makers(self, operation: Operation) -> Iterator[str]:
        """The operations that made what one reads; ``x[0]`` may be an input's own name."""
        names = {other.name for other in self}
        for name in operation.inputs:
            yield name if name in names else name.rpartition("[")[0]

    def to_dot(self) -> str:
        """The graph in Graphviz's language."""
        return graph_drawing.dot(self._drawn())

    def to_svg(self) -> str:
        """The graph as a picture."""
        return graph_drawing.svg(self._drawn())

    def _drawn(self) -> list[graph_drawing.Box]:
        return list(self._boxes())

    def to_html(self) -> str:
        """The graph as a page of its own: the picture, and below it the operations as text."""
        return (
            "<!DOCTYPE html>\n<html><head><meta charset='utf-8'><title>graph</title></head><body>\n"
            f"{self.to_svg()}\n<pre>{escape(str(self))}</pre>\n</body></html>\n"
        )

    def to_tensorboard(self, logdir: str | os.PathLike[str]) -> None:
        """Write the graph where TensorBoard shows it on its graph page.

        Parameters
        ----------
        logdir : path
            Directory of the event file, which gets a name of its own.

        Raises
        ------
        ImportError
            The package tensorboard is missing.
        """
        proto = _optional("tensorboard.compat.proto.graph_pb2", "to_tensorboard", "tensorboard")
        event = importlib.import_module("tensorboard.compat.proto.event_pb2")
        writers = importlib.import_module("tensorboard.summary.writer.event_file_writer")
        definition = proto.GraphDef()
        definition.versions.producer = 22
        self._add_to(definition, "")
        writer = writers.EventFileWriter(os.fspath(logdir))
        writer.add_event(event.Event(graph_def=definition.SerializeToString(), wall_time=0))
        writer.close()

    def _add_to(self, definition: Any, prefix: str) -> None:
        for operation in self:
            name = _scoped(prefix + operation.name)
            read = [_scoped(prefix + maker) for maker in dict.fromkeys(self._makers(operation))]
            node = definition.node.add(name=name, op=operation.op, input=read, device=str(operation.device or ""))
            shown = {"dtype": operation.dtype, "shape": operation.shape, "line": operation.line, **operation.attributes}
            for key, value in shown.items():
                if value is not None:
                    node.attr[key].s = str(value).encode()
            for part, graph in operation.graphs.items():
                graph._add_to(definition, f"{name}/{part}/")

    def to_onnx(self, path: str | os.PathLike[str]) -> None:
        """Write the graph as an ONNX model; arrays from outside are stored in it with their present values.

        Parameters
        ----------
        path : path
            The file.

        Raises
        ------
        ImportError
            The package onnx or onnxscript is missing.
        NotImplementedError
            The function writes to its arguments or to arrays from outside, or this is a branch's or a body's graph.
        """
        _optional("onnx", "to_onnx", "onnx")
        _optional("onnxscript", "to_onnx", "onnxscript")
        if self._export is None:
            raise NotImplementedError("a branch or a loop's body can't be exported without what is around it")
        names = [operation.name for operation in self if operation.op == "input"]
        exporting.to_onnx(self._export(), os.fspath(Path(path)), names)


def _scoped(name: str) -> str:
    """A name as TensorFlow allows it: ``x['a'][0]`` is ``x_a_0``."""
    return re.sub(r"[^A-Za-z0-9_./-]+", "_", name).rstrip("_")


def _optional(module: str, method: str, package: str) -> Any:
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise ImportError(f"Graph.{method} needs the package {package}: pip install {package}") from error


def _operation(step: operations.Step) -> Operation:
    first = step.outputs[0] if step.outputs else None
    return Operation(
        name=step.name,
        op=step.op,
        inputs=step.inputs,
        outputs=tuple([value.name for value in step.outputs]),
        dtype=None if first is None else to_numpy[first.dtype],
        shape=None if first is None else first.shape,
        device=None if first is None else first.device,
        attributes=step.attributes,
        line=step.line,
        graphs={name: Graph(inner) for name, inner in step.graphs.items()},
    )
