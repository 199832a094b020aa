"""The known disagreements, as data: which functions, which kind, and why.

Layer: owns ``conformance/fuzz_known.toml``. An entry either names an entry of known_differences.toml or has a reason.
"""

from __future__ import annotations

import fnmatch
import re
import tomllib
from dataclasses import dataclass, field
from pathlib import Path

from conformance import differences
from conformance.fuzz.compare import Disagreement

PATH = Path(__file__).parent.parent / "fuzz_known.toml"


@dataclass(frozen=True)
class Known:
    """A class of known disagreements, and its reason."""

    id: str
    reason: str = ""
    difference: str = ""  # id in known_differences.toml
    functions: list[str] = field(default_factory=lambda: ["*"])
    kinds: list[str] = field(default_factory=lambda: ["*"])
    call: str = ""  # regular expressions
    numpy: str = ""
    tnp: str = ""
    under: list[str] = field(default_factory=lambda: ["numpy"])  # the modes that it holds in

    def covers(self, name: str, call: str, found: Disagreement) -> bool:
        """Whether a disagreement belongs to this class."""
        return (
            any(fnmatch.fnmatchcase(name, pattern) for pattern in self.functions)
            and any(fnmatch.fnmatchcase(found.kind, pattern) for pattern in self.kinds)
            and re.search(self.call, call) is not None
            and re.search(self.numpy, found.numpy) is not None
            and re.search(self.tnp, found.tnp) is not None
        )


def load(path: Path = PATH, under: str = "") -> list[Known]:
    """Read the entries of the file, or those of one mode; raise ValueError for one without a reason."""
    entries = [Known(**entry) for entry in tomllib.loads(path.read_text()).get("known", [])]
    ids = {d.id for d in differences.load()}
    for entry in entries:
        if not entry.reason and entry.difference not in ids:
            raise ValueError(f"{entry.id}: no reason, and no known difference {entry.difference!r}")
    return [entry for entry in entries if not under or under in entry.under]
