"""Modes of torch's dispatcher: how one runs the operation that it was given, and what goes on without them.

Layer: owns what all modes have to do for an operation to give what it gives outside of them, and torch's private words
for being on and off.
"""

from __future__ import annotations

from typing import Any

import torch
from torch.utils import _python_dispatch
from torch.utils._mode_utils import no_dispatch as no_dispatch
from torch.utils._python_dispatch import TorchDispatchMode as TorchDispatchMode

number = torch._C._len_torch_dispatch_stack
"""How many modes are on."""
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


def is_innermost(mode: TorchDispatchMode) -> bool:
    """Whether operations go to this mode first."""
    return _python_dispatch._get_current_dispatch_mode() is mode


def leave(mode: TorchDispatchMode) -> bool:
    """Turn off a mode that is the innermost, which alone can be; whether it was. ``enter`` turns it on again."""
    if not is_innermost(mode):
        return False
    _python_dispatch._pop_mode()
    return True


enter = _python_dispatch._push_mode
