"""Traced graphs as programs of torch.export: for files, and for ONNX.

Layer: owns what can leave the process. Tensors from outside become the program's own, with the values they have then.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch

from backend_torch.compiling import Graph

Tensor = torch.Tensor
Program = torch.export.ExportedProgram


class _Module(torch.nn.Module):
    def __init__(self, graph: Graph) -> None:
        super().__init__()
        self.run = graph.module
        self.captures = [f"captured_{index}" for index in range(len(graph.captures))]
        for name, tensor in zip(self.captures, graph.captures, strict=True):
            self.register_buffer(name, tensor.detach().clone())

    def forward(self, *tensors: Tensor) -> tuple[Tensor, ...]:
        return self.run(*tensors, *[getattr(self, name) for name in self.captures])


def program(graph: Graph, inputs: Sequence[Tensor]) -> Program:
    """The graph as an exported program of its arguments.

    Raises
    ------
    NotImplementedError
        The graph writes to its arguments or to tensors from outside.
    """
    if graph.written:
        raise NotImplementedError("a function that writes to its arguments or to arrays from outside can't be exported")
    return torch.export.export(_Module(graph), tuple(inputs), strict=False)


def save(exported: Program, path: str, text: str) -> None:
    """Write a program to a file, with a text about it."""
    torch.export.save(exported, path, extra_files={"tnp.json": text})


def load(path: str) -> tuple[Callable[..., Sequence[Tensor]], list[Any], str]:
    """The program in a file, the tensors (without data) that it is for, and the text.

    Raises
    ------
    ValueError
        The file holds something else.
    """
    texts = {"tnp.json": ""}
    try:
        exported = torch.export.load(path, extra_files=texts)
    except Exception as error:
        if isinstance(error, OSError):
            raise
        raise ValueError(f"{path} is no program that fn.save wrote, or not one of this torch: {error}") from error
    if not texts["tnp.json"]:
        raise ValueError(f"{path} is a program of torch.export, but not one that fn.save wrote")
    placeholders = exported.graph_module.graph.find_nodes(op="placeholder")
    users = set(exported.graph_signature.user_inputs)
    values = [node.meta["val"] for node in placeholders if node.name in users]
    return exported.module(), values, texts["tnp.json"]


def to_onnx(exported: Program, path: str, inputs: Sequence[str]) -> None:
    """Write a program as ONNX, which takes torch's optional packages onnx and onnxscript."""
    torch.onnx.export(exported, (), path, dynamo=True, input_names=list(inputs), external_data=False, verbose=False)
