"""Kernels on bits, each loop against NumPy's."""

from __future__ import annotations

import numpy as np
import pytest

from backend_torch.kernels import bits
from tests.backend_torch.agreement import check, loops

NAMES = ["bitwise_and", "bitwise_or", "bitwise_xor", "invert", "left_shift", "right_shift", "bitwise_count"]


@pytest.mark.parametrize(("name", "loop"), [(name, loop) for name in NAMES for loop in loops(getattr(np, name))])
def test_loop(name: str, loop: str) -> None:
    check(getattr(np, name), getattr(bits, name), loop)
