"""Corrections of Inductor's passes that write to memory before they have read it, or read it before they write.

Layer: owns which copies stay, what is written to in place, what a loop waits for and what shows its bytes as another
dtype; inductor.py applies the patches while it compiles.
"""

from __future__ import annotations

import dataclasses
import functools
from typing import Any

import torch
from torch.fx import Node

from backend_torch.torch_private.patches import Patches, Undo, replaced_attribute, replaced_item
from backend_torch.torch_private.tensor_internals import storage_of

_ASKS_BOOLS = torch.__version__ < "2.13"


def put(patches: Patches) -> list[Undo]:
    """Make Inductor read memory before it writes to it.

    Inductor replaces a copy by its source, and writes to a part of a tensor in place while it reads another part, even
    if the memory is written to in between (https://github.com/pytorch/pytorch/issues/197829, 198094 and 198131). To
    find views that are read later it calls ``compute_overlapping_tensors``, which takes ``x`` and ``x[1:, 1:]`` for
    disjoint. It also writes by indices in place to a tensor that shows one element at many places
    (https://github.com/pytorch/pytorch/issues/183986).

    On the CPU its scheduler computes loops again to fuse them, and forgets what they wait for: a loop that reads a
    written buffer may then run before the write (https://github.com/pytorch/pytorch/issues/185509, and 177631 before
    torch 2.13). It fuses a loop that reads a tensor at other places with the loop that writes to it, if the tensor was
    written to before: the name of what is read is then that of the earlier write.

    In the place of a copy it takes a view of the same sizes that begins elsewhere in its memory: ``as_strided`` of the
    copy then counts from the wrong element. Gradients of writes in place have such copies.

    A result may take the place of an operand that is a part of a concatenation, whose memory then goes to another
    result although this one is still read (as in https://github.com/pytorch/pytorch/issues/100314).

    Before torch 2.13 it also asks ``torch.iinfo`` for the size of a bool, which raises.
    """
    from torch._inductor import lowering
    from torch._inductor.codegen.wrapper import PythonWrapperCodegen
    from torch._inductor.dependencies import MemoryDep, StarDep, WeakDep
    from torch._inductor.fx_passes import post_grad, reinplace
    from torch._inductor.scheduler import Scheduler, SchedulerNode
    from torch.fx.experimental.symbolic_shapes import statically_known_true

    copies, clone = post_grad.noop_registry, torch.ops.aten.clone.default
    condition, source = copies[clone]
    scatter, theirs = reinplace._generalized_scatter, reinplace.should_reinplace_scatter
    overlapping, again = reinplace.compute_overlapping_tensors, SchedulerNode.recompute_size_and_body

    def in_place(node: Any) -> bool:
        target, value = node.args[:2]
        return not _reads(value, storage_of(target.meta["val"])) and theirs(node)

    def recompute(loop: Any, *args: Any, **kwargs: Any) -> None:
        order = [each for each in loop.read_writes.reads if isinstance(each, (StarDep, WeakDep))]
        again(loop, *args, **kwargs)
        found = functools.reduce(lambda known, each: known.with_read(each), order, loop.read_writes)
        loop.set_read_writes(found.rename(loop.mutation_renames))

    fusable = Scheduler.fusable_weak_dep

    def reads_what_it_writes(scheduler: Any, order: Any, reader: Any, writer: Any) -> bool:
        if not fusable(scheduler, order, reader, writer):
            return False
        names = scheduler.mutation_real_name
        (write,) = [each for each in writer.read_writes.writes if each.name == order.mutating_buf]
        reads = [read for read in reader.read_writes.reads if names.get(read.name, read.name) == names[write.name]]
        return all(isinstance(r, MemoryDep) and (r.index, r.size) == (write.index, write.size) for r in reads)

    alike = post_grad.same_meta

    def same(one: Node, other: Node) -> bool:
        starts = [each.meta["val"].storage_offset() for each in (one, other)] if alike(one, other) else (0, 1)
        return statically_known_true(starts[0] == starts[1])

    reusable = PythonWrapperCodegen.can_reuse

    def can_reuse(code: Any, operand: Any, result: Any = None) -> bool:
        """Whether memory may be used again: in place if there is a result, which then owns it."""
        is_part = result is not None and operand.node is not None and operand.node.get_inputs_that_alias_output()
        return not is_part and reusable(code, operand, result)

    cast = lowering.to_dtype_bitcast

    def shown(x: Any, dtype: torch.dtype, *, copy: bool = False) -> Any:
        own = x.get_dtype()
        if own is dtype or torch.bool not in (own, dtype) or own.itemsize != dtype.itemsize:
            return cast(x, dtype, copy=copy)
        return lowering.to_dtype(x, dtype, copy)  # not by bits: its vector code has a mask for bools

    always = reinplace.inplaceable_ops[torch.ops.aten.index_put.default].extra_check
    by_indices = [
        replaced_item(
            reinplace.inplaceable_ops,
            name,
            dataclasses.replace(reinplace.inplaceable_ops[name], extra_check=patches.either(_is_apart, always)),
        )
        for name in (torch.ops.aten.index_put.default, torch.ops.aten._unsafe_index_put.default)
    ]
    operation = dataclasses.replace(reinplace.inplaceable_ops[scatter], extra_check=patches.either(in_place, theirs))
    return [
        *by_indices,
        replaced_attribute(post_grad, "same_meta", patches.either(same, alike)),
        replaced_item(copies, clone, (patches.either(_never, condition), source)),
        replaced_item(reinplace.inplaceable_ops, scatter, operation),
        replaced_attribute(reinplace, "compute_overlapping_tensors", patches.either(_all_of, overlapping)),
        replaced_attribute(PythonWrapperCodegen, "can_reuse", patches.either(can_reuse, reusable)),
        replaced_attribute(Scheduler, "fusable_weak_dep", patches.either(reads_what_it_writes, fusable)),
        replaced_attribute(SchedulerNode, "recompute_size_and_body", patches.either(recompute, again)),
        *([replaced_attribute(lowering, "to_dtype_bitcast", patches.either(shown, cast))] if _ASKS_BOOLS else []),
    ]


def _is_apart(node: Any) -> bool:
    """Whether an operation writes to a tensor that is not expanded."""
    return 0 not in node.args[0].meta["val"].stride()


def _never(*args: Any, **kwargs: Any) -> bool:
    return False


def _all_of(tensors: list[torch.Tensor], symbolic: bool = False) -> set[int]:
    return set(range(len(tensors)))


def _reads(value: Node, memory: int) -> bool:
    """Whether a value is computed from the contents of a memory; a copy has only the layout of what it replaces."""
    seen, left = {value}, [value]
    while left:
        node = left.pop()
        shown = node.meta.get("val")
        if isinstance(shown, torch.Tensor) and storage_of(shown) == memory:
            return True
        operands = node.all_input_nodes if node.target is not torch.ops.aten.copy.default else [node.args[1]]
        left += [each for each in operands if isinstance(each, Node) and each not in seen]
        seen.update(left)
    return False
