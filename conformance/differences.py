"""The known differences from NumPy, as checked data: read, run and rendered."""

from __future__ import annotations

import contextlib
import io
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

PATH = Path(__file__).with_name("known_differences.toml")

HEADER = """\
# Known differences from NumPy

Written by `python -m conformance differences --markdown` from `conformance/known_differences.toml`. The tests run every
example on NumPy and on tnp and fail when one of them no longer does what stands here.
"""


@dataclass(frozen=True)
class Difference:
    """One place where tnp differs on purpose, with an example that shows it."""

    id: str
    where: str
    numpy: str
    tnp: str
    reason: str
    example: str
    numpy_prints: str
    tnp_prints: str | None = None
    tnp_raises: str | None = None

    def __post_init__(self) -> None:
        if (self.tnp_prints is None) == (self.tnp_raises is None):
            raise ValueError(f"{self.id}: give either tnp_prints or tnp_raises")

    @property
    def tnp_outcome(self) -> str:
        """What the example does on tnp."""
        return self.tnp_prints if self.tnp_prints is not None else f"{self.tnp_raises}"


def load(path: Path = PATH) -> list[Difference]:
    """The entries of the file; an unknown or missing field raises TypeError."""
    return [Difference(**entry) for entry in tomllib.loads(path.read_text())["difference"]]


def run(example: str, xp: Any) -> str:
    """What ``example`` prints with ``np`` bound to ``xp``, or the builtin exception that ends it."""
    printed = io.StringIO()
    try:
        with contextlib.redirect_stdout(printed):
            exec(compile(example, "<example>", "exec"), {"np": xp})
    except Exception as error:
        return next(base.__name__ for base in type(error).__mro__ if base.__module__ == "builtins")
    return printed.getvalue().strip()


def markdown(differences: Iterable[Difference]) -> str:
    """The page ``docs/known-differences.md``."""
    entries = [
        f"## {d.id}\n\n{d.where}: NumPy {d.numpy}; tnp {d.tnp}.\nWhy: {d.reason}.\n\n"
        f"```python\n{d.example.strip()}\n# NumPy: {d.numpy_prints}\n# tnp:   {d.tnp_outcome}\n```\n"
        for d in differences
    ]
    return "\n".join([HEADER, *entries])


def show(differences: Iterable[Difference]) -> None:
    """Print the entries as a table, plain where rich is not installed."""
    try:
        from rich.console import Console
        from rich.table import Table
    except ImportError:
        for d in differences:
            print(f"{d.id}\n  where  {d.where}\n  NumPy  {d.numpy}\n  tnp    {d.tnp}\n  why    {d.reason}")
        return
    table = Table("where", "NumPy", "tnp", "why", title="Known differences from NumPy", show_lines=True)
    for d in differences:
        table.add_row(d.where, d.numpy, d.tnp, d.reason)
    Console().print(table)
