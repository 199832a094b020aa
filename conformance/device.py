"""The option ``--device`` of ``python -m conformance``: where tnp makes arrays, here and in processes that run suites.

As a pytest plugin (``-p conformance.device``) this module sets the device that the environment variable names.
"""

from __future__ import annotations

import argparse
import os
import sys

import pytest

import tnp

VARIABLE = "TNP_CONFORMANCE_DEVICE"


def add_argument(parser: argparse.ArgumentParser) -> None:
    """Add the option ``--device``, whose default is the CPU."""
    parser.add_argument("--device", default="cpu", help="where tnp makes arrays (default: %(default)s)")


def is_absent(name: str) -> bool:
    """Whether this machine lacks a device; if so, say it on standard error."""
    try:
        tnp.device(name)
    except ValueError as error:
        print(f"--device {name}: {error}", file=sys.stderr)
        return True
    return False


def environment(name: str) -> dict[str, str]:
    """Return the environment variable that tells another process of the device."""
    return {} if name == "cpu" else {VARIABLE: name}


def pytest_configure(config: pytest.Config) -> None:
    """Make arrays on the device that the environment names."""
    if name := os.environ.get(VARIABLE):
        tnp.set_default_device(name)
