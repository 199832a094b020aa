"""A loop's C++ as one operation of a graph: Inductor compiles, caches and calls it like its own kernels.

Layer: owns the operator ``tnp::loop`` and its lowering in Inductor. A custom operator would be called through torch's
dispatcher, which takes longer than many loops. Inductor has no public way to call a C++ function.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import torch
from torch.fx import Graph, Node

Tensor = torch.Tensor


def _run(inputs: Sequence[Tensor], source: str, types: str, shapes: Sequence[int], dtypes: str) -> list[Tensor]:
    outputs = _outputs(inputs, source, types, shapes, dtypes)
    _compiled(types, source)(*[tensor.contiguous() for tensor in inputs], *outputs)
    return outputs


@functools.cache
def _compiled(types: str, source: str) -> Any:
    from torch._inductor.codecache import CppPythonBindingsCodeCache

    return CppPythonBindingsCodeCache.load_pybinding(types.split(";"), source)


def _outputs(inputs: Sequence[Tensor], source: str, types: str, shapes: Sequence[int], dtypes: str) -> list[Tensor]:
    return [torch.empty(shape, dtype=dtype) for shape, dtype in _described(shapes, dtypes)]


def _described(shapes: Sequence[int], dtypes: str) -> list[tuple[tuple[int, ...], torch.dtype]]:
    """Return each result's shape and dtype; ``shapes`` lists a result's number of axes before its shape."""
    found, first = [], 0
    for name in dtypes.split(";"):
        last = first + 1 + shapes[first]
        found.append((tuple(shapes[first + 1 : last]), getattr(torch, name)))
        first = last
    return found


_library = torch.library.Library("tnp", "FRAGMENT")
_library.define("loop(Tensor[] inputs, str source, str types, int[] shapes, str dtypes) -> Tensor[]")
_library.impl("loop", _run, "CompositeExplicitAutograd")
torch.library.register_fake("tnp::loop", _outputs, lib=_library)


def call(graph: Graph, inputs: Sequence[Node], source: str, types: Sequence[str], outputs: Sequence[Tensor]) -> Node:
    """Add the call of a loop's function to a graph.

    Parameters
    ----------
    graph : Graph
    inputs : sequence of Node
    source : str
        C++ of a function ``kernel``, which takes a pointer for each input and then one for each output.
    types : sequence of str
        The types of its parameters.
    outputs : sequence of Tensor
        Tensors of the results' shapes and dtypes. Results are in C order.
    """
    _lower()
    shapes = [number for each in outputs for number in (each.dim(), *each.shape)]
    dtypes = ";".join([str(each.dtype).removeprefix("torch.") for each in outputs])
    return graph.call_function(torch.ops.tnp.loop.default, (list(inputs), source, ";".join(types), shapes, dtypes))


@functools.cache
def _lower() -> None:
    """Tell Inductor how to call a loop's function."""
    from torch._inductor import ir
    from torch._inductor.lowering import empty_strided, register_lowering
    from torch._inductor.virtualized import V

    cpu = torch.device("cpu")

    class Call(ir.ExternKernel):
        """Inductor's node for the call, which writes to its last operands."""

        def __init__(self, inputs: list[Any], outputs: list[Any], source: str, types: list[str]) -> None:
            operands = [self.require_contiguous(self.realize_input(each)) for each in inputs] + outputs
            operands = [ir.InputsKernel.unwrap_storage_for_input(each) for each in operands]
            super().__init__(None, ir.NoneLayout(device=cpu), operands, ())
            self.source, self.types = source, types
            self.mutation_outputs = [ir.MutationOutput(ir.NoneLayout(device=cpu), each, self) for each in outputs]
            self.name = V.graph.register_buffer(self)
            V.graph.register_operation(self)

        def codegen(self, wrapper: Any) -> None:
            name = f"cpp_loop_{self.get_name()}"
            wrapper.define_kernel(name, f"async_compile.cpp_pybinding({self.types!r}, r'''{self.source}''')", gpu=False)
            names = [each.codegen_reference() for each in self.inputs]  # type: ignore[union-attr]
            wrapper.writeline(f"{name}({', '.join(names)})")

        def get_outputs(self) -> list[Any]:
            return [self, *self.mutation_outputs]

        def get_device(self) -> torch.device:
            return cpu

        def should_allocate(self) -> bool:
            return False

    def lowered(inputs: Sequence[Any], source: str, types: str, shapes: Sequence[int], dtypes: str) -> list[Any]:
        outputs = []
        for shape, dtype in _described(shapes, dtypes):
            strides = torch.empty(shape, device="meta").stride()
            outputs.append(empty_strided(shape, strides, dtype=dtype, device=cpu))
        Call(list(inputs), outputs, source, types.split(";"))
        return outputs

    register_lowering(torch.ops.tnp.loop.default, type_promotion_kind=None)(lowered)
