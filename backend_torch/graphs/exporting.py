"""Traced graphs as programs of torch.export: for files, and for ONNX.

Layer: owns what can leave the process. Tensors from outside become the program's own, with their current values.
"""

from __future__ import annotations

import io
import json
import re
import zipfile
from collections.abc import Callable, Sequence
from typing import Any

import torch

from backend_torch.graphs import host_calls, random_inputs
from backend_torch.graphs.decompositions import TABLE
from backend_torch.graphs.graph import Graph
from backend_torch.torch_private.operators import has_kernel

Tensor = torch.Tensor
Program = torch.export.ExportedProgram


class _Module(torch.nn.Module):
    def __init__(self, graph: Graph, more: Sequence[Tensor]) -> None:
        super().__init__()
        self.run = (
            random_inputs.without_generators(graph.module) if random_inputs.is_there(graph.module) else graph.module
        )
        self.captures = self._kept("captured", graph.captures)
        self.more = self._kept("returned", more)

    def _kept(self, name: str, tensors: Sequence[Tensor]) -> list[str]:
        names = [f"{name}_{index}" for index in range(len(tensors))]
        for each, tensor in zip(names, tensors, strict=True):
            self.register_buffer(each, tensor.detach().clone())
        return names

    def forward(self, *tensors: Tensor) -> tuple[Tensor, ...]:
        found = self.run(*tensors, *[getattr(self, name) for name in self.captures])
        found = (*found, *[getattr(self, name).clone() for name in self.more])
        return found or (torch.zeros(()),)  # torch.export.save needs a result


def program(
    graph: Graph,
    inputs: Sequence[Tensor],
    drawing_too: bool = False,
    open_axes: Sequence[Sequence[int]] | None = None,
    more: Sequence[Tensor] = (),
) -> Program:
    """Return the graph as an exported program of its arguments; ``more`` follows its results.

    With ``drawing_too`` it may draw random numbers, from generators that `load` chooses.

    Raises
    ------
    NotImplementedError
        The graph writes to its arguments or to tensors from outside, calls functions of Python, or draws random numbers
        without ``drawing_too``.
    """
    if host_calls.are_there(graph.module):
        raise NotImplementedError(
            "a function that calls back into Python, as pure_callback does, can't be exported: a program has no Python"
        )
    if graph.written:
        raise NotImplementedError("a function that writes to its arguments or to arrays from outside can't be exported")
    if not drawing_too and random_inputs.is_there(graph.module):
        raise NotImplementedError(
            "a function that draws random numbers can be saved (fn.save), but is no program for C++ or ONNX, as its "
            "generator is Python's: draw them outside and pass them in as an argument"
        )
    if open_axes is None:
        return torch.export.export(_Module(graph, more), tuple(inputs), strict=False)
    shapes = tuple([dict.fromkeys(axes, torch.export.Dim.DYNAMIC) for axes in open_axes])
    try:
        return torch.export.export(_Module(graph, more), tuple(inputs), dynamic_shapes=(shapes,), strict=False)
    except (ValueError, RuntimeError) as error:
        raise NotImplementedError(
            "the function can't be saved for all lengths that input_signature leaves open, as it supposes something of "
            f"one; save it for those of arguments: fn.save(path, *arguments). torch says: {error}"
        ) from error


def save(exported: Program, path: str, text: str) -> None:
    """Write a program to a file, with a text about it."""
    torch.export.save(exported, path, extra_files={"tnp.json": text})


def load(
    path: str, generator_of: Callable[[torch.device], torch.Generator]
) -> tuple[Callable[..., Sequence[Tensor]], list[Tensor], str]:
    """Return the program in a file, its example tensors (without data), and the text.

    It draws from the generator of each device.

    Raises
    ------
    ValueError
        The file holds something else, or parts that only an unpickler or an interpreter of code can read.
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
    """Return why torch.export.load must not read a file: it unpickles unknown parts and runs guards.

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
            # torch reads the archive by other code, which may take the other one of two members of a name.
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
        conditions = [_CONDITION.fullmatch(text) for text in model["guards_code"]]
        if not all(conditions) or not all(map(_is_range, model["range_constraints"].items())):
            return "it has conditions that are code"
        return _refused_part(model)
    except Exception as error:  # from any of the readers
        return f"{type(error).__name__}: {error}"


_SYMBOL = r"[su]\d{1,6}"
_LENGTH = re.compile(
    rf"(Symbol\('{_SYMBOL}', positive=True, integer=True\)|Integer\(-?\d{{1,18}}\)"
    r"|(Add|Mul|FloorDiv|Mod|Max|Min)\(|\)|, )+"
)
"""What torch may be given to make an expression of a length of: it runs the text. No powers, which are of any size."""
_CONDITION = re.compile(
    r"(L\['tensors'\]\[\d{1,6}\]\.size\(\)\[\d{1,3}\]|\d{1,18}|\*(?!\*)|[-+%()]|//|[=!<>]=|[<>]|and|or|not| )+"
)
"""What torch may be given to check lengths by, which it runs, too."""


def _is_range(entry: Any) -> bool:
    """Whether an entry says between which numbers a length is."""
    name, limits = entry
    numbers = [limits[key] for key in ("min_val", "max_val")]
    return bool(re.fullmatch(_SYMBOL, name)) and all(n is None or type(n) is int for n in numbers) and len(limits) == 2


_ARITHMETIC = re.compile(r"_operator\.(getitem|add|sub|mul|floordiv|mod|neg)")
_LOOPS = re.compile(r"torch\.ops\.higher_order\.(cond|while_loop|scan|map_impl|associative_scan)")
_OPERATION = re.compile(r"torch\.ops\.(aten|prims|tnp)\.(\w+)\.(\w+)")


def _refused_part(part: Any) -> str | None:
    """Return the first part of a program, at any depth, that does more than compute with tensors."""
    if isinstance(part, list):
        found = map(_refused_part, part)
    elif isinstance(part, dict):
        if "expr_str" in part and not (type(part["expr_str"]) is str and _LENGTH.fullmatch(part["expr_str"])):
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
    if _ARITHMETIC.fullmatch(target) or _LOOPS.fullmatch(target):
        return True
    found = _OPERATION.fullmatch(target)
    if found is None or found[2] == "from_file":  # it reads and creates files
        return False
    space, name, overload = found.groups()
    # Operations outside of the dispatcher are TorchScript's: aten::save writes files.
    return has_kernel(f"{space}::{name}" + ("" if overload == "default" else f".{overload}"))


def to_onnx(exported: Program, path: str, inputs: Sequence[str]) -> None:
    """Write a program as ONNX, which takes torch's optional packages onnx and onnxscript."""
    ours = {operation: function for operation, function in TABLE.items() if operation.namespace == "tnp"}
    exported = exported.run_decompositions(ours)  # ONNX has torch's operations
    torch.onnx.export(exported, (), path, dynamo=True, input_names=list(inputs), external_data=False, verbose=False)
