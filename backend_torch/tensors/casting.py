"""Casting: makes a function of tensors of one dtype take tensors of others.

Layer: owns ``.to``. The caller decides in which dtypes an operation runs.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from backend_torch.tensors import out_of_memory

Function = Callable[..., Any]


def cast(tensor: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    """Return the tensor in ``dtype``: itself if it has it, the real part of a complex tensor if ``dtype`` is real."""
    if tensor.dtype is dtype:
        return tensor
    if tensor.is_complex() and not dtype.is_complex and dtype is not torch.bool:
        tensor = tensor.real  # .to() would warn, but tnp decides by NumPy's rules whether to warn
    try:
        return tensor.to(dtype)
    except RuntimeError as error:
        raise out_of_memory.explained(error) from None


def casting(function: Function, given: tuple[torch.dtype, ...], wanted: tuple[torch.dtype, ...]) -> Function:
    """Make ``function``, which takes ``wanted`` dtypes, take ``given`` ones; equal dtypes add no frame."""
    if given == wanted:
        return function
    if len(given) == 1:
        (only,) = wanted
        return lambda tensor: function(tensor.to(only))
    first, second = wanted
    if given[0] is first:
        return lambda one, other: function(one, other.to(second))
    if given[1] is second:
        return lambda one, other: function(one.to(first), other)
    return lambda one, other: function(one.to(first), other.to(second))
