"""Deterministic algorithms: torch's switch, which acts on the whole process.

Layer: owns the switch and its condition: cuBLAS adds in a fixed order only with fixed workspaces, which it reads from
the environment when it starts.
"""

from __future__ import annotations

import os

import torch

_WORKSPACE = "CUBLAS_WORKSPACE_CONFIG"


def mode() -> tuple[bool, bool]:
    """Whether algorithms have to be deterministic, and whether others only cause a warning."""
    return torch.are_deterministic_algorithms_enabled(), torch.is_deterministic_algorithms_warn_only_enabled()


def use(enabled: bool, warn_only: bool) -> None:
    """Turn it on or off."""
    if enabled and torch.version.cuda is not None:
        os.environ.setdefault(_WORKSPACE, ":4096:8")
    torch.use_deterministic_algorithms(enabled, warn_only=warn_only)
