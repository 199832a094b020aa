"""A plugin of pytest that seeds random numbers: tests that draw without a seed would pass or fail by chance."""

from __future__ import annotations

import random
import sys


def pytest_collectstart() -> None:
    """Let a module that draws its cases draw the same ones in each run."""
    _seed()


def pytest_runtest_setup() -> None:
    """Let a test draw the same numbers in each run, whatever ran before it."""
    _seed()


def _seed() -> None:
    random.seed(0)
    for name in ("numpy", "tnp"):
        if name in sys.modules:
            sys.modules[name].random.seed(0)
