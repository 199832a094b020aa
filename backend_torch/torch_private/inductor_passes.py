"""Passes of Inductor's that write to memory before they have read it, as they should be.

Layer: owns which copies stay and what is written to in place; inductor.py puts them in place where it compiles.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import torch
from torch.fx import Node

from backend_torch.torch_private.patches import Patches, Undo, replaced_attribute, replaced_item
from backend_torch.torch_private.tensor_internals import storage_of

VERSION = "1"
"""To be changed with the code: it tells apart what lies in caches on disk."""


def put(patches: Patches) -> list[Undo]:
    """Have Inductor read what is written to afterwards before it is.

    It takes a copy for what is copied, and writes to a part of a tensor in place while it reads another, whatever is
    written to (https://github.com/pytorch/pytorch/issues/197829, 198094 and 198131). Whether other views are read
    later ``compute_overlapping_tensors`` says, for which ``x`` and ``x[1:, 1:]`` have nothing in common.
    """
    from torch._inductor.fx_passes import post_grad, reinplace

    copies, clone = post_grad.noop_registry, torch.ops.aten.clone.default
    condition, source = copies[clone]
    scatter, theirs = reinplace._generalized_scatter, reinplace.should_reinplace_scatter
    overlapping = reinplace.compute_overlapping_tensors

    def in_place(node: Any) -> bool:
        target, value = node.args[:2]
        return not _reads(value, storage_of(target.meta["val"])) and theirs(node)

    operation = dataclasses.replace(reinplace.inplaceable_ops[scatter], extra_check=patches.either(in_place, theirs))
    return [
        replaced_item(copies, clone, (patches.either(_never, condition), source)),
        replaced_item(reinplace.inplaceable_ops, scatter, operation),
        replaced_attribute(reinplace, "compute_overlapping_tensors", patches.either(_all_of, overlapping)),
    ]


def _never(*args: Any, **kwargs: Any) -> bool:
    return False


def _all_of(tensors: list[torch.Tensor], symbolic: bool = False) -> set[int]:
    return set(range(len(tensors)))


def _reads(value: Node, memory: int) -> bool:
    """Whether a value is computed from what lies in a memory."""
    seen, left = {value}, [value]
    while left:
        node = left.pop()
        shown = node.meta.get("val")
        if isinstance(shown, torch.Tensor) and storage_of(shown) == memory:
            return True
        left += [each for each in node.all_input_nodes if each not in seen]
        seen.update(node.all_input_nodes)
    return False
