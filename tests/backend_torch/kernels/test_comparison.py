"""Comparison and logic kernels, each loop against NumPy's."""

from __future__ import annotations

import numpy as np
import pytest

from backend_torch.kernels import comparison
from tests.backend_torch.agreement import check, loops

NAMES = [
    "equal", "not_equal", "less", "less_equal", "greater", "greater_equal",
    "logical_and", "logical_or", "logical_xor", "logical_not",
]  # fmt: skip


@pytest.mark.parametrize(("name", "loop"), [(name, loop) for name in NAMES for loop in loops(getattr(np, name))])
def test_loop(name: str, loop: str) -> None:
    check(getattr(np, name), getattr(comparison, name), loop)
