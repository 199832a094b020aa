"""The known differences from NumPy, as data: read the file, run its examples, and write the page."""

from __future__ import annotations

import contextlib
import io
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy

PATH = Path(__file__).with_name("known_differences.toml")

HEADER = """\
# Known differences from NumPy

`python -m conformance differences --markdown` writes this page from `conformance/known_differences.toml`. The tests run
every example on NumPy and on tnp, and fail when an example no longer prints what this page says.

Functions of floats agree with NumPy's to some units in the last place. On some processors that includes the square
root, which NumPy rounds correctly: torch calls a vector library there, which is one unit off for a sixth of float32.
"""


@dataclass(frozen=True)
class Difference:
    """One deliberate difference from NumPy, with an example that shows it."""

    id: str
    where: str
    numpy: str
    tnp: str
    reason: str
    example: str
    on_numpy: str  # what the example prints, or the builtin exception that ends it
    on_tnp: str
    until: str = ""  # from this release on NumPy does the same as tnp

    @property
    def is_past(self) -> bool:
        """Whether the installed NumPy does the same as tnp."""
        return is_past(self.until)


def is_past(release: str) -> bool:
    """Whether the installed NumPy is of this release or a later one."""
    return bool(release) and numpy.lib.NumpyVersion(numpy.__version__) >= release


def load(path: Path = PATH) -> list[Difference]:
    """Read the entries of the file; an unknown or missing field raises TypeError."""
    entries = tomllib.loads(path.read_text())["difference"]
    return [Difference(**{name: text.strip() for name, text in entry.items()}) for entry in entries]


def run(example: str, xp: Any) -> str:
    """Run ``example`` with ``np`` bound to ``xp``; return what it prints, or the builtin exception that ends it."""
    printed = io.StringIO()
    try:
        with contextlib.redirect_stdout(printed):
            exec(compile(example, "<example>", "exec"), {"np": xp})
    except Exception as error:
        return next(base.__name__ for base in type(error).__mro__ if base.__module__ == "builtins")
    return printed.getvalue().strip()


def comment(name: str, outcome: str) -> str:
    """Return an outcome as a Python comment, one line for each of its lines."""
    return "\n".join(f"# {name if number == 0 else '':6} {line}" for number, line in enumerate(outcome.splitlines()))


def markdown(differences: Iterable[Difference]) -> str:
    """Return the page ``docs/known-differences.md``."""
    entries = [
        f"## {d.id}\n\nWhere: {d.where}.\n\n- NumPy{f' before {d.until}' if d.until else ''}: {d.numpy}.\n"
        f"- tnp: {d.tnp}.\n- Why: {d.reason}.\n\n"
        f"```python\n{d.example}\n{comment('NumPy', d.on_numpy)}\n{comment('tnp', d.on_tnp)}\n```\n"
        for d in differences
    ]
    return "\n".join([HEADER, *entries])


def show(differences: Iterable[Difference]) -> None:
    """Print the entries: as a table if rich is installed, else as plain text."""
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
