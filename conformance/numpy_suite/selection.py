"""What of NumPy's tests is run and what counts: suite.toml, and the lists of noise and of cases out of scope."""

from __future__ import annotations

import fnmatch
import sys
import tomllib
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import numpy

from conformance.numpy_suite import results, scope
from conformance.numpy_suite.results import Event, Result

HERE = Path(__file__).resolve().parent
NUMPY = Path(numpy.__file__).parent
NOISE = HERE / "noise.txt"
OUT_OF_SCOPE = HERE / "out_of_scope.txt"
BATCH_SIZE = 150_000  # bytes of test files that run in one process


class Selection:
    """The contents of suite.toml."""

    def __init__(self) -> None:
        suite = tomllib.loads((HERE / "suite.toml").read_text())
        self.skip = {
            file: [name for names in reasons.values() for name in names] for file, reasons in suite.pop("skip").items()
        }
        self.out_of_scope: dict[str, list[str]] = suite.pop("out_of_scope")
        self.excluded = {file for files in suite.pop("excluded").values() for file in files}
        self.groups: dict[str, list[str]] = {name: group["files"] for name, group in suite.items()}
        self.optional = {name for name, group in suite.items() if group.get("optional")}

    def files(self) -> list[str]:
        """The selected files that the installed NumPy has; those it has and suite.toml doesn't mention are named."""
        selected = [file for files in self.groups.values() for file in files]
        parents = {Path(file).parent for file in selected}
        present = {path.relative_to(NUMPY).as_posix() for p in parents for path in (NUMPY / p).glob("test_*.py")}
        for file in sorted(present - set(selected) - self.excluded):
            print(f"note: {file} is not mentioned in suite.toml", file=sys.stderr)
        return [file for file in selected if file in present]


def batches(files: Iterable[str]) -> Iterator[list[str]]:
    """Group the files such that small ones share a process; the largest come first, random/ is kept apart."""
    batch: list[str] = []
    total = 0
    for file in sorted(files, key=lambda f: (f.startswith("random/"), -(NUMPY / f).stat().st_size)):
        size = (NUMPY / file).stat().st_size
        apart = batch and file.startswith("random/") != batch[0].startswith("random/")
        if batch and (apart or total + size > BATCH_SIZE):
            yield batch
            batch, total = [], 0
        batch.append(file)
        total += size
    if batch:
        yield batch


def read_list(path: Path) -> dict[str, str]:
    """A list of cases: the second word of each line to the first."""
    lines = path.read_text().splitlines()
    if f"NumPy {numpy.__version__}" not in lines[0]:
        print(f"note: {path.name} was made with another NumPy than {numpy.__version__}: use --update", file=sys.stderr)
    pairs = (line.split(" ", 1) for line in lines if not line.startswith("#"))
    return {name: word for word, name in pairs}


def write_noise(found: Iterable[Result]) -> None:
    """Write noise.txt anew, from a run of NumPy itself."""
    lines = [
        f"# Cases that NumPy {numpy.__version__} itself does not pass through the harness:",
        "# they fail, or NumPy skips them or expects them to fail.  They never count.",
        *sorted(f"{r['outcome']} {r['id']}" for r in found if r["outcome"] not in results.PASSED),
    ]
    NOISE.write_text("\n".join(lines) + "\n")


def write_out_of_scope(cases: Iterable[Event], events: Sequence[Event], patterns: dict[str, list[str]]) -> None:
    """Write out_of_scope.txt anew, from a run of NumPy itself in which rules applied."""
    rules = {tuple(e["key"]): e["rule"] for e in events if e.get("rule")}
    functions: dict[str, list[tuple[str | None, str]]] = {}
    for case in (case for case in cases if case["selected"]):
        name = results.case_id(case["key"], case["parameters"])
        listed = (rule for rule, globs in patterns.items() if any(fnmatch.fnmatchcase(name, glob) for glob in globs))
        rule = rules.get(tuple(case["key"])) or next(listed, None)
        functions.setdefault(name.partition("[")[0], []).append((rule, name))
    lines = []
    for function, members in functions.items():
        if len({rule for rule, _ in members}) == 1:
            members = [(members[0][0], function)]
        lines += [f"{rule} {name}" for rule, name in members if rule]
    head = [
        f"# Cases of NumPy {numpy.__version__} that are out of scope, with the rule that says so.",
        "# A function without parameters stands for all its cases.  The rules:",
        *(f"#   {rule}: {reason}" for rule, reason in scope.RULES.items()),
    ]
    OUT_OF_SCOPE.write_text("\n".join([*head, *sorted(lines)]) + "\n")
