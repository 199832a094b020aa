"""The options that several commands of ``python -m bench`` share."""

from __future__ import annotations

import argparse
from pathlib import Path

RESULTS = Path(__file__).parent / "results"


def rounds(text: str) -> int:
    """A number of rounds, at least one."""
    if (number := int(text)) < 1:
        raise argparse.ArgumentTypeError(f"at least one round is needed, not {number}")
    return number


def add_repeats(parser: argparse.ArgumentParser, default: int) -> None:
    """``--repeats``: how many interleaved rounds."""
    parser.add_argument(
        "--repeats", type=rounds, default=default, metavar="N", help="interleaved rounds (default: %(default)s)"
    )


def add_out(parser: argparse.ArgumentParser) -> None:
    """``--out``: where the results go."""
    parser.add_argument(
        "--out", type=Path, default=RESULTS, metavar="DIR", help="where the results are written (default: %(default)s)"
    )


def add_check(parser: argparse.ArgumentParser) -> None:
    """``--check``: a missed target fails."""
    parser.add_argument("--check", action="store_true", help="exit with 1 when the target is missed")
