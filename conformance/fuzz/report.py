"""The report of a run: counts, disagreements grouped by cause, refusals with another class; and its printing.

Layer: owns the grouping and the text of the report; nothing is run here.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field

from conformance.fuzz.compare import Disagreement


@dataclass(frozen=True)
class Finding:
    """A disagreement and the call that shows it."""

    index: int
    name: str
    source: str
    found: Disagreement


Groups = list[tuple[tuple[str, ...], list[Finding]]]


@dataclass
class Report:
    """The findings of a run."""

    calls: int = 0
    compared: int = 0  # the calls with outcomes to compare in the mode
    refused: int = 0  # calls that NumPy raises for
    same_class: int = 0  # those for which tnp raises the same class
    succeeded: Counter[str] = field(default_factory=Counter)
    known: Counter[str] = field(default_factory=Counter)
    told: Counter[str] = field(default_factory=Counter)  # warnings that a part of a composition runs in Python
    unexplained: list[Finding] = field(default_factory=list)
    refusals: list[Finding] = field(default_factory=list)  # of another class, known or not, as drawn

    def add(self, other: Report) -> None:
        """Add the counts of another part of the run."""
        self.calls += other.calls
        self.compared += other.compared
        self.refused += other.refused
        self.same_class += other.same_class
        self.succeeded += other.succeeded
        self.known += other.known
        self.told += other.told
        self.unexplained += other.unexplained
        self.refusals += other.refusals

    def causes(self) -> Groups:
        """The disagreements by cause, most frequent first; those of values by function too."""
        return _grouped(self.unexplained)

    @property
    def same_share(self) -> float:
        """Percentage of NumPy's refusals that have the same exception class in tnp."""
        return 100 * self.same_class / self.refused if self.refused else 100.0


def _grouped(findings: Iterable[Finding]) -> Groups:
    groups: dict[tuple[str, ...], list[Finding]] = defaultdict(list)
    for finding in findings:
        cause = finding.found.cause
        groups[cause if len(cause) > 2 and cause[1] else (*cause, finding.name)].append(finding)
    return sorted(groups.items(), key=lambda group: -len(group[1]))


def _show_groups(groups: Groups, examples: int) -> None:
    for _, findings in groups:
        first = min(findings, key=lambda finding: len(finding.source))
        functions = Counter(finding.name for finding in findings)
        most = ", ".join(f"{name} {number}" for name, number in functions.most_common(8))
        print(f"\n{len(findings)} x {first.found.kind}  {first.found.place}  [{most}]")
        shortest = {finding.name: finding for finding in sorted(findings, key=lambda f: -len(f.source))}
        for finding in sorted(shortest.values(), key=lambda f: len(f.source))[:examples]:
            print(f"  {finding.source}")
            print(f"    NumPy  {finding.found.numpy}\n    tnp    {finding.found.tnp}\n    call   {finding.index}")


def show(report: Report, names: set[str], seed: int, seconds: float, examples: int, refusals: bool) -> None:
    """Print what was found, by cause; ``refusals`` prints those of another class too."""
    if refusals:
        print("\nRefusals of another class:")
        _show_groups(_grouped(report.refusals), examples)
        print("\nUnexplained:")
    groups = report.causes()
    _show_groups(groups, examples)
    never = sorted(name for name in names if not report.succeeded[name])
    if never and report.calls > 40 * len(names):
        print(f"\nNumPy accepted no call of: {', '.join(never)}")
    for id_, number in report.known.most_common():
        print(f"known: {number} x {id_}")
    for text, number in report.told.most_common():
        print(f"warned: {number} x {text}")
    known, unexplained = sum(report.known.values()), len(report.unexplained)
    print(
        f"{report.calls} calls of {len(names)} functions in {seconds:.0f} s, seed {seed}; {report.compared} compared; "
        f"refused {report.refused}, of which {report.same_share:.2f} % with the same exception class; "
        f"{known} known disagreements, {unexplained} unexplained of {len(groups)} causes"
    )
