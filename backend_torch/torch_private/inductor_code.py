"""Save code that Inductor generated, and load it in a process that does not import Inductor.

Layer: owns which code can be saved: a Python class ``Runner`` that calls kernels in shared libraries and operators of
torch. Code that names anything else is refused, so that saved code needs torch alone.
"""

from __future__ import annotations

import ast
import builtins
import importlib.machinery
import importlib.util
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import inf, nan
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import torch

Tensor = torch.Tensor


class _Names:
    """A namespace whose attribute reads Python caches, which it can't for a module with ``__getattr__``."""


TORCH = _Names()
"""The ``torch`` of generated code, which reads dtypes from it: this saves 40 ns for each new array."""

KERNELS: dict[str, Callable[..., Any]] = {}
"""Operation of tnp -> what computes it on the CPU: torch's dispatcher would take 6 us a call."""


class _Operators:
    """Either ``torch.ops`` or its ``tnp``, where some names mean something else."""

    def __init__(self, namespace: Any, replaced: dict[str, Any]) -> None:
        self._namespace = namespace
        self.__dict__.update(replaced)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._namespace, name)


def torch_of_code() -> _Names:
    """Return ``TORCH`` with what torch has now, whose operators call the kernels of tnp."""
    kernels = {name: SimpleNamespace(default=kernel) for name, kernel in KERNELS.items()}
    operators = _Operators(torch.ops, {"tnp": _Operators(torch.ops.tnp, kernels)})
    TORCH.__dict__.update(torch.__dict__, ops=operators)
    return TORCH

_OPERATORS = {"aten", "mkl", "mkldnn"}  # namespaces whose operators are torch's own C++


def _known() -> dict[str, Any]:
    """Return the names that code may use besides its kernels."""
    code_torch = torch_of_code()
    guards: Any = torch._C._dynamo.guards
    return {
        "aten": torch.ops.aten,
        "assert_size_stride": guards.assert_size_stride,
        "device": torch.device,
        "empty_strided": torch.empty_strided,
        "empty_strided_cpu": guards._empty_strided_cpu,
        "extern_kernels": code_torch,
        "inf": inf,
        "nan": nan,
        "reinterpret_tensor": guards._reinterpret_tensor,
        "torch": code_torch,
    }


@dataclass(frozen=True)
class Code:
    """The source of the class ``Runner``, and the shared library of each kernel that it calls."""

    source: str
    kernels: dict[str, bytes]


def taken_apart(program: Any) -> Code | None:
    """Return what to save of a program that Inductor compiled for the CPU; None if running it needs Inductor."""
    names = getattr(program, "__globals__", {})
    parts = getattr(getattr(program, "__self__", None), "partitions", None)  # which torch drops once it has none
    if getattr(program, "__qualname__", "") != "Runner.call" or parts:
        return None
    try:
        tree = ast.parse(Path(names["__file__"]).read_text())
    except (KeyError, OSError):
        return None
    found = [node for node in tree.body if isinstance(node, ast.ClassDef) and node.name == "Runner"]
    if len(found) != 1 or not all(_is_torchs(chain, names) for chain in _chains(found[0])):
        return None
    own = {node.id for node in ast.walk(found[0]) if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load)}
    own |= {node.arg for node in ast.walk(found[0]) if isinstance(node, ast.arg)}
    named = {node.id for node in ast.walk(found[0]) if isinstance(node, ast.Name)}
    kernels = {}
    for name in named - own - _known().keys() - builtins.__dict__.keys():
        library = getattr(getattr(names.get(name), "__self__", None), "__file__", None)
        if library is None or names[name].__name__ != name:
            return None
        kernels[name] = Path(library).read_bytes()
    return Code(ast.unparse(found[0]), kernels)


def _chains(tree: ast.AST) -> Iterator[list[str]]:
    """Yield the dotted names in source code, each in full."""
    inner = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and id(node) not in inner:
            words: list[str] = []
            part: ast.expr = node
            while isinstance(part, ast.Attribute):
                words.insert(0, part.attr)
                part = part.value
            if isinstance(part, ast.Name):
                yield [part.id, *words]


def _is_torchs(chain: Sequence[str], names: Mapping[str, Any]) -> bool:
    """Whether a dotted name means the same in a process that has not imported Inductor."""
    if chain[0] == "extern_kernels":
        there = getattr(names["extern_kernels"], chain[1], None)
        return there is not None and getattr(torch, chain[1], None) is there
    if chain[0] != "torch":
        return True
    if chain[1] == "ops":
        return chain[2] in _OPERATORS or (chain[2] == "tnp" and chain[3] in KERNELS)
    return not chain[1].startswith("_")


def put_together(source: str, libraries: Mapping[str, Path]) -> Callable[[list[Tensor]], Sequence[Tensor]]:
    """Load a program from saved code, whose kernels are in shared libraries.

    Raises
    ------
    ImportError
        A library can't be loaded.
    """
    guards: Any = torch._C._dynamo.guards
    # The kernels' libraries read from this variable how to find a tensor's memory.
    os.environ["_TORCHINDUCTOR_PYOBJECT_TENSOR_DATA_PTR"] = str(guards._torchinductor_pyobject_tensor_data_ptr)
    modules = {path: _module(path) for path in set(libraries.values())}
    names = {**_known(), **{name: getattr(modules[path], name) for name, path in libraries.items()}}
    exec(compile(source, "<machine code of tnp.compile>", "exec"), names)
    program: Callable[[list[Tensor]], Sequence[Tensor]] = names["Runner"]([]).call
    return program


def _module(path: Path) -> ModuleType:
    """Return a library as a module, whose functions are its kernels; Python knows it by the name ``kernel``."""
    loader = importlib.machinery.ExtensionFileLoader(f"{path.parent.name}.{path.stem}.kernel", os.fspath(path))
    spec = importlib.util.spec_from_loader(loader.name, loader)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    loader.exec_module(module)
    return module
