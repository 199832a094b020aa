"""Traced graphs as programs of torch.export: for files, and for ONNX.

Layer: owns what can leave the process. Tensors from outside become the program's own, with the values they have then.
"""

from __future__ import annotations

import io
import json
import re
import zipfile
from collections.abc import Callable, Sequence
from typing import Any

import torch

from backend_torch.graphs import random_inputs
from backend_torch.graphs.compiling import Graph
from backend_torch.torch_private.operators import has_kernel

Tensor = torch.Tensor
Program = torch.export.ExportedProgram


class _Module(torch.nn.Module):
    def __init__(self, graph: Graph) -> None:
        super().__init__()
        self.run = (
            random_inputs.without_generators(graph.module) if random_inputs.is_there(graph.module) else graph.module
        )
        self.captures = [f"captured_{index}" for index in range(len(graph.captures))]
        for name, tensor in zip(self.captures, graph.captures, strict=True):
            self.register_buffer(name, tensor.detach().clone())

    def forward(self, *tensors: Tensor) -> tuple[Tensor, ...]:
        return self.run(*tensors, *[getattr(self, name) for name in self.captures])


def program(graph: Graph, inputs: Sequence[Tensor], drawing_too: bool = False) -> Program:
    """The graph as an exported program of its arguments.

    With ``drawing_too`` one that draws random numbers, from generators that `load` chooses.

    Raises
    ------
    NotImplementedError
        The graph writes to its arguments or to tensors from outside, or draws random numbers where it may not.
    """
    if graph.written:
        raise NotImplementedError("a function that writes to its arguments or to arrays from outside can't be exported")
    if not drawing_too and random_inputs.is_there(graph.module):
        raise NotImplementedError(
            "a function that draws random numbers can be saved (fn.save), but is no program for C++ or ONNX, as its "
            "generator is Python's: draw them outside and pass them in as an argument"
        )
    return torch.export.export(_Module(graph), tuple(inputs), strict=False)


def save(exported: Program, path: str, text: str) -> None:
    """Write a program to a file, with a text about it."""
    torch.export.save(exported, path, extra_files={"tnp.json": text})


def load(
    path: str, generator_of: Callable[[torch.device], torch.Generator]
) -> tuple[Callable[..., Sequence[Tensor]], list[Tensor], str]:
    """The program in a file, the tensors (without data) that it is for, and the text.

    What it draws comes from the generator of each device.

    Raises
    ------
    ValueError
        The file holds something else, or what only an unpickler or an interpreter of code could read.
    """
    with open(path, "rb") as file:
        data = io.BytesIO(file.read())
    refused = _refused(data)
    if refused is not None:
        raise ValueError(f"{path} is no program that fn.save wrote: {refused}")
    texts = {"tnp.json": ""}
    data.seek(0)
    try:
        exported = torch.export.load(data, extra_files=texts)
    except Exception as error:
        raise ValueError(f"torch {torch.__version__} can't read the program in {path}: {error}") from error
    placeholders = exported.graph_module.graph.find_nodes(op="placeholder")
    users = set(exported.graph_signature.user_inputs)
    values = [node.meta["val"] for node in placeholders if node.name in users]
    module: Any = exported.module()
    random_inputs.set_generators(module, generator_of)
    return module, values, texts["tnp.json"]


_MEMBERS = re.compile(
    r"[^/]*/(data/weights/(weight_\d+|model_weights_config\.json)|data/constants/(tensor_\d+|model_constants_config\.json)"
    r"|models/model\.json|data/sample_inputs/model\.pt|extra/tnp\.json|archive_format|archive_version|version"
    r"|\.data/version|byteorder|\.data/serialization_id)"
)


def _refused(data: io.BytesIO) -> str | None:
    """Why a file is not to be given to torch.export.load, which unpickles what it does not know and runs guards.

    It also calls any function that torch's modules lead to (``torch.os.system``) where an operation should be.
    """
    try:
        with zipfile.ZipFile(data) as archive:
            infos = archive.infolist()
            names = [info.filename for info in infos]
            if any("/data/aotinductor/" in name for name in names):
                return "it is one of fn.package, whose machine code runs with native=True, for those you trust"
            unknown = [name for name in names if not _MEMBERS.fullmatch(name)]
            if unknown:
                return f"it has a member {unknown[0]!r}"
            # torch reads the archive by other code, which may take the other one of two.
            if len(set(names)) < len(names) or len({name.partition("/")[0] for name in names}) > 1:
                return "it has a member twice"
            if any(info.compress_type != zipfile.ZIP_STORED for info in infos):
                return "a member is compressed, to any size"
            members = {name.partition("/")[2]: archive.read(name) for name in names}
        if "extra/tnp.json" not in members:
            return "it says nothing of arrays"
        for name in ("data/weights/model_weights_config.json", "data/constants/model_constants_config.json"):
            if any(entry["use_pickle"] is not False for entry in json.loads(members[name])["config"].values()):
                return "a tensor in it is pickled"
        torch.load(io.BytesIO(members["data/sample_inputs/model.pt"]), weights_only=True)
        model = json.loads(members["models/model.json"])
        if model["guards_code"] or model["range_constraints"]:
            return "it has conditions that are code"
        return _refused_part(model)
    except Exception as error:  # in whichever of the readers
        return f"{type(error).__name__}: {error}"


_LOOPS = re.compile(r"torch\.ops\.higher_order\.(cond|while_loop|scan|map_impl|associative_scan)")
_OPERATION = re.compile(r"torch\.ops\.(aten|prims|tnp)\.(\w+)\.(\w+)")


def _refused_part(part: Any) -> str | None:
    """What there is in a program, however deep, that does anything else than compute with tensors."""
    if isinstance(part, list):
        found = map(_refused_part, part)
    elif isinstance(part, dict):
        if "expr_str" in part:
            return "it has conditions that are code"
        if "as_operator" in part or "as_custom_obj" in part:
            return "it passes objects on"
        for node in part.get("nodes", ()):
            if not _computes(node["target"]):
                return f"it calls {node['target']}"
        found = map(_refused_part, part.values())
    else:
        return None
    return next((reason for reason in found if reason is not None), None)


def _computes(target: str) -> bool:
    """Whether the target of a node is an operation on tensors."""
    if target == "_operator.getitem" or _LOOPS.fullmatch(target):
        return True
    found = _OPERATION.fullmatch(target)
    if found is None or found[2] == "from_file":  # which reads and makes files
        return False
    space, name, overload = found.groups()
    # Others than the dispatcher's are TorchScript's: aten::save writes files.
    return has_kernel(f"{space}::{name}" + ("" if overload == "default" else f".{overload}"))


def to_onnx(exported: Program, path: str, inputs: Sequence[str]) -> None:
    """Write a program as ONNX, which takes torch's optional packages onnx and onnxscript."""
    torch.onnx.export(exported, (), path, dynamo=True, input_names=list(inputs), external_data=False, verbose=False)
