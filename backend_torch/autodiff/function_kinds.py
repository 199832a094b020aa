"""Effects of torch's functions on memory: they allocate, write, or only read properties.

Layer: owns the names by which a mode distinguishes them.
"""

from __future__ import annotations

from typing import Any

import torch

Tensor = torch.Tensor

_FACTORIES = frozenset(
    {
        torch.zeros,
        torch.ones,
        torch.empty,
        torch.empty_strided,
        torch.full,
        torch.tensor,
        torch.zeros_like,
        torch.ones_like,
        torch.empty_like,
        torch.full_like,
        torch.clone,
        Tensor.clone,
        Tensor.new_zeros,
        Tensor.new_ones,
        Tensor.new_empty,
        Tensor.new_full,
        torch.ops.aten.lift_fresh.default,
    }
)
"""Functions that allocate memory that a program may write to next."""

COPIES = frozenset({torch.clone, Tensor.clone})

_NO_WRITES = frozenset({"requires_grad_", "detach_", "rename_", "share_memory_", "set_", "retain_grad"})

_QUESTIONS = frozenset(
    {
        "__get__", "dim", "numel", "size", "stride", "storage_offset", "is_contiguous", "is_floating_point",
        "is_complex", "is_conj", "is_neg", "_is_view", "_is_zerotensor",
    }
)  # fmt: skip
"""Functions that read properties of a tensor or make views: most of the calls."""

_WHERE = frozenset({"data_ptr", "untyped_storage"})
"""Questions of where a tensor's memory is."""

PLAIN, FACTORY, WRITE, QUESTION, WHERE = range(5)
"""Kinds of functions; the last two only read properties."""


class _Kinds(dict[Any, int]):
    """A torch function -> whether it allocates, writes to its first argument, only reads properties, or else."""

    def __missing__(self, function: Any) -> int:
        name = getattr(getattr(function, "overloadpacket", function), "__name__", "")  # of mul_.Tensor: mul_
        kind = PLAIN
        if name in _QUESTIONS:
            kind = QUESTION
        elif name in _WHERE:
            kind = WHERE
        elif function in _FACTORIES:
            kind = FACTORY
        elif name in ("__setitem__", "zero_") or (
            name.endswith("_") and not name.endswith("__") and name not in _NO_WRITES
        ):
            kind = WRITE
        elif len(name) > 5 and name.startswith("__i") and name not in ("__invert__", "__index__", "__int__"):
            kind = WRITE
        self[function] = kind
        return kind


kinds = _Kinds()
