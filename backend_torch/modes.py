"""Modes of torch's dispatcher: how one runs the operation that it was given.

Layer: owns what all modes have to do for an operation to give what it gives outside of them.
"""

from __future__ import annotations

from typing import Any

import torch

_unexcluded = torch._C._SetExcludeDispatchKeyGuard
_CONJUGATE = torch._C.DispatchKey.Conjugate
_NEGATIVE = torch._C.DispatchKey.Negative


def run(func: Any, args: Any, kwargs: Any) -> Any:
    """The operation's result.

    Inside a mode torch leaves out what resolves lazy conjugates and negatives. Operations that make such views in the
    midst of their own steps (``linalg_pinv`` of complex matrices) then take the values without it: wrong results.
    """
    with _unexcluded(_CONJUGATE, False), _unexcluded(_NEGATIVE, False):
        return func(*args, **kwargs) if kwargs else func(*args)
