"""``python -m conformance figures``: the number of tests in this tree, and of listed exceptions."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from collections import Counter
from pathlib import Path
from typing import Any

from conformance import differences

ROOT = Path(__file__).parents[1]


def _tests() -> Counter[str]:
    """Count the tests that pytest collects, by the part of the project that they test."""
    command = [sys.executable, "-m", "pytest", "--collect-only", "-q", "--thorough", "tests"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    found: Counter[str] = Counter()
    for line in listed.splitlines():
        if "::" in line:
            path = Path(line.partition("::")[0])
            found[path.parts[1] if len(path.parts) > 2 else "the project as a whole"] += 1
    return found


def _table(path: str) -> dict[str, Any]:
    return tomllib.loads((ROOT / path).read_text())


def _listed(path: str, key: str) -> int:
    """Return the tests that a list of exceptions names, each once."""
    groups = _table(path).values()
    entries = [entry for group in groups for entry in (group if isinstance(group, list) else [group])]
    return len({test for entry in entries if isinstance(entry, dict) for test in entry.get(key, ())})


def figures() -> dict[str, int]:
    """Return what is counted -> how many."""
    tests = _tests()
    sources = [path.read_text() for path in (ROOT / "tests").rglob("test_*.py")]
    return {
        **{f"tests of {part}": number for part, number in tests.most_common()},
        "tests in all": tests.total(),
        "functions over xp that are run on NumPy and on tnp": sum(
            len(re.findall(r"@agrees\b|\bcompare\(", source)) for source in sources
        ),
        "tests that differ from NumPy in more than values": _listed("tests/differences.toml", "tests"),
        "tests that differ when they are compiled": _listed("tests/compiled_gaps.toml", "tests"),
        "known differences from NumPy": len(differences.load()),
        "failures of NumPy's own suite, listed": _listed("conformance/numpy_gaps.toml", "cases"),
        "failures of the Array API suite, listed": _listed("conformance/array_api_gaps.toml", "tests"),
        "explanations that the fuzzer takes": len(_table("conformance/fuzz_known.toml")["known"]),
    }


def main() -> int:
    """Print the figures; returns the exit status."""
    counted = figures()
    for name, number in counted.items():
        print(f"{number:>8,}  {name}")
    return 0
