"""Programs compiled ahead of time: machine code in a file, which C++ loads without Python.

Layer: owns what such a file says of its inputs, and that its code runs on such inputs only. torch's AOTInductor owns
the code, and torch::inductor::AOTIModelPackageLoader reads it.
"""

from __future__ import annotations

import json
import zipfile
from collections.abc import Callable, Sequence
from typing import Any

import torch

from backend_torch.graphs.decompositions import TABLE
from backend_torch.graphs.exporting import Program
from backend_torch.tensors import trace_state
from backend_torch.torch_private import functorch, inductor, traces

Tensor = torch.Tensor
_CODE = "/data/aotinductor/model/"


def package(
    exported: Program,
    inputs: Sequence[tuple[str, Tensor]],
    path: str,
    text: str,
    *,
    backend: Any = None,
    mode: str | None = None,
    options: dict[str, Any] | None = None,
) -> None:
    """Compile a program, with names for its inputs, and write its code to a file with a text about it.

    Raises
    ------
    ValueError
        The file's name does not end in ``.pt2``, which torch's loader requires.
    RuntimeError
        There is no C++ compiler, or the program can't be compiled.
    """
    if not path.endswith(".pt2"):
        raise ValueError(f"a package's name ends in .pt2, not as that of {path!r}")
    settings = inductor.options_of(mode, options) if backend in (None, "inductor") else inductor.options_of(None, None)
    facts = {"tnp": text, "torch": torch.__version__, "inputs": str(len(inputs))}
    for index, (name, tensor) in enumerate(inputs):  # words that C++ can read without a parser
        facts[f"input_{index}_name"] = name
        facts[f"input_{index}_dtype"] = str(tensor.dtype).removeprefix("torch.")
        facts[f"input_{index}_device"] = str(tensor.device)
        facts[f"input_{index}_shape"] = " ".join(map(str, tensor.shape))
        facts[f"input_{index}_strides"] = " ".join(map(str, tensor.stride()))
    try:
        inductor.package(exported, path, {**settings, "aot_inductor.metadata": facts}, TABLE)
    except Exception as error:
        lines = [line for line in str(error).splitlines() if line.strip()]
        said = [*lines[:1], *[line for line in lines if "error: " in line][:1]]  # the last is a C++ compiler's
        raise RuntimeError(f"the program can't be packaged: {type(error).__name__}: {said}") from error


def load(path: str) -> tuple[Callable[..., Sequence[Tensor]], list[Tensor], str]:
    """Return the code in a package, its example tensors (without data), and the text.

    Raises
    ------
    ValueError
        The file is not a package, or its code is for another torch or machine.
    """
    facts = _facts(path)
    try:
        run = inductor.packaged(path)
    except Exception as error:
        made = f"torch {facts['torch']} on {facts.get('AOTI_MACHINE')} with {facts.get('AOTI_CPU_ISA')}"
        raise ValueError(f"torch {torch.__version__} can't load the code in {path}, made by {made}: {error}") from error
    with traces.new_fake_mode():
        examples = [_example(facts, f"input_{index}_") for index in range(int(facts["inputs"]))]

    def checked(*tensors: Tensor) -> Sequence[Tensor]:
        if trace_state.is_tracing() or functorch.is_transforming():
            raise NotImplementedError("machine code can't be traced or transformed: call it outside, or use fn.save")
        if torch.is_grad_enabled() and any(tensor.requires_grad for tensor in tensors):
            raise NotImplementedError("machine code has no gradients: detach its arguments, or use fn.save")
        return run(*tensors)

    return checked, examples, facts["tnp"]


def _facts(path: str) -> dict[str, str]:
    """Return the text that :func:`package` wrote about the code."""
    try:
        with zipfile.ZipFile(path) as archive:
            for name in archive.namelist():
                if _CODE in name and name.endswith("_metadata.json"):
                    facts = json.loads(archive.read(name))
                    if "tnp" in facts:
                        return facts
    except (zipfile.BadZipFile, ValueError) as error:
        raise ValueError(f"{path} is no package that fn.package wrote: {type(error).__name__}: {error}") from error
    raise ValueError(f"{path} is no package that fn.package wrote: it holds no machine code for tnp")


def _example(facts: dict[str, str], key: str) -> Tensor:
    sizes, strides = ([int(word) for word in facts[key + what].split()] for what in ("shape", "strides"))
    dtype: torch.dtype = getattr(torch, facts[key + "dtype"])
    return torch.empty_strided(sizes, strides, dtype=dtype, device=facts[key + "device"])
