"""Modes of torch's dispatcher: how a mode runs the operation that it intercepts, and how modes are turned off.

Layer: owns what every mode must do so that an operation's result is the same as outside the mode, and torch's private
names for turning modes on and off.
"""

from __future__ import annotations

from typing import Any

import torch
from torch.utils import _python_dispatch
from torch.utils._mode_utils import no_dispatch as no_dispatch
from torch.utils._python_dispatch import TorchDispatchMode as TorchDispatchMode

number = torch._C._len_torch_dispatch_stack
"""The number of modes that are on."""
_unexcluded = torch._C._SetExcludeDispatchKeyGuard
_CONJUGATE = torch._C.DispatchKey.Conjugate
_NEGATIVE = torch._C.DispatchKey.Negative


class Watching(TorchDispatchMode):
    """A mode that looks at operations on plain tensors, and leaves their results as they are."""


def only_watch() -> bool:
    """Whether every mode that is on, if any is, only looks at operations."""
    return not number() or all(
        isinstance(mode, Watching) for mode in _python_dispatch._get_current_dispatch_mode_stack()
    )


def run(func: Any, args: Any, kwargs: Any) -> Any:
    """Run an operation inside a mode; return its result.

    Inside a mode torch skips the step that resolves lazy conjugates and negatives. An operation that makes such views
    between its own steps (``linalg_pinv`` of complex matrices) would then compute with the wrong values.
    """
    with _unexcluded(_CONJUGATE, False), _unexcluded(_NEGATIVE, False):
        return func(*args, **kwargs) if kwargs else func(*args)


def is_innermost(mode: TorchDispatchMode) -> bool:
    """Whether operations reach this mode first."""
    return _python_dispatch._get_current_dispatch_mode() is mode


def leave(mode: TorchDispatchMode) -> bool:
    """Turn off a mode if it is the innermost, and return whether it was; ``enter`` turns it on again."""
    if not is_innermost(mode):
        return False
    _python_dispatch._pop_mode()
    return True


enter = _python_dispatch._push_mode
