"""Running many calls: in processes of their own, so that a crash or a hang is a finding too; then the report.

Layer: owns the command ``python -m conformance fuzz``.
"""

from __future__ import annotations

import argparse
import faulthandler
import functools
import itertools
import logging
import multiprocessing
import secrets
import time
import warnings
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, wait
from typing import Any

from conformance.fuzz import compare, drawing, known
from conformance.fuzz.compare import Disagreement
from conformance.fuzz.program import Call, run_numpy, run_tnp
from conformance.fuzz.shrink import shrunk

HANGS_AFTER = 120.0  # seconds without a call finished
PART = 500  # calls that are reported together
SHRUNK_A_CAUSE = 2  # examples that are shrunk, per cause and process


@dataclass(frozen=True)
class Settings:
    """What a process needs to know."""

    seed: int
    device: str = "cpu"
    compiled: str = ""  # a backend of tnp.compile
    patterns: tuple[str, ...] = ()

    @property
    def transform(self) -> Callable[..., Any] | None:
        """What is done to the function before it is called."""
        if not self.compiled:
            return None
        import tnp

        return lambda function: tnp.compile(function, backend=self.compiled)


@dataclass(frozen=True)
class Finding:
    """A disagreement and the call that shows it."""

    index: int
    name: str
    source: str
    found: Disagreement


@dataclass
class Report:
    """What a run found."""

    calls: int = 0
    refused: int = 0  # calls that NumPy raises for
    same_class: int = 0  # those for which tnp raises the same class
    succeeded: Counter[str] = field(default_factory=Counter)
    known: Counter[str] = field(default_factory=Counter)
    unexplained: list[Finding] = field(default_factory=list)

    def add(self, other: Report) -> None:
        """Count another part of the run in."""
        self.calls += other.calls
        self.refused += other.refused
        self.same_class += other.same_class
        self.succeeded += other.succeeded
        self.known += other.known
        self.unexplained += other.unexplained

    def causes(self) -> list[tuple[tuple[str, ...], list[Finding]]]:
        """The disagreements by cause, most frequent first; those of values by function too."""
        groups: dict[tuple[str, ...], list[Finding]] = defaultdict(list)
        for finding in self.unexplained:
            cause = finding.found.cause
            groups[cause if len(cause) > 2 and cause[1] else (*cause, finding.name)].append(finding)
        return sorted(groups.items(), key=lambda group: -len(group[1]))


def check(
    call: Call, name: str, settings: Settings, numpy_did: Callable[[], None] = lambda: None
) -> tuple[Disagreement | None, bool]:
    """How the two disagree about a call, and whether NumPy accepts it."""
    if call.leaves_unwritten:
        return None, True
    expected = run_numpy(call)
    numpy_did()
    actual = run_tnp(call, settings.device, settings.transform)
    return compare.disagreement(call, name, expected, actual), expected.error is None


def run(settings: Settings, start: int, stop: int, begins: Callable[[float], None] = lambda index: None) -> Report:
    """Calls ``start`` to ``stop`` of a seed; ``begins`` is told the index of each, and a half more at tnp's turn."""
    entries = known.load(compiled=bool(settings.compiled))
    report = Report()
    seen: Counter[Any] = Counter()
    with warnings.catch_warnings(), compare.np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        for index in range(start, stop):
            begins(index)
            target, call = drawing.call(f"{settings.seed}:{index}", settings.patterns)
            found, accepted = check(call, target.name, settings, functools.partial(begins, index + 0.5))
            report.calls += 1
            report.refused += not accepted
            report.same_class += not accepted and found is None
            report.succeeded[target.name] += accepted
            if found is None:
                continue
            entry = next((e for e in entries if e.covers(target.name, str(call), found)), None)
            if entry is not None:
                report.known[entry.id] += 1
                continue
            cause = (target.name, *found.cause)
            seen[cause] += 1
            if seen[cause] <= SHRUNK_A_CAUSE:
                call, found = _shrunk(call, target.name, found, settings, entries)
            report.unexplained.append(Finding(index, target.name, str(call), found))
    return report


def _shrunk(
    call: Call, name: str, found: Disagreement, settings: Settings, entries: list[known.Known]
) -> tuple[Call, Disagreement]:
    latest = found

    def still(candidate: Call) -> bool:
        nonlocal latest
        try:
            other, _ = check(candidate, name, settings)
        except (IndexError, ValueError, TypeError, SyntaxError):  # it is no call any more
            return False
        if other is None or other.cause != found.cause:
            return False
        if any(entry.covers(name, str(candidate), other) for entry in entries):
            return False
        latest = other
        return True

    return shrunk(call, still), latest


def _work(settings: Settings, start: int, stop: int, progress: Any, pipe: Connection) -> None:
    def begins(index: float) -> None:
        progress.value = index
        faulthandler.dump_traceback_later(HANGS_AFTER / 2)  # where it hangs

    logging.disable(logging.ERROR)  # torch's tracer reports what it raises too
    for first in range(start, stop, PART):
        pipe.send(run(settings, first, min(first + PART, stop), begins))
    faulthandler.cancel_dump_traceback_later()
    pipe.close()


@dataclass
class _Worker:
    process: Any
    pipe: Connection
    progress: Any
    start: int  # of the part that it works on
    stop: int
    seen: float = -1.0
    since: float = field(default_factory=time.monotonic)


def _started(settings: Settings, start: int, stop: int) -> _Worker:
    context = multiprocessing.get_context("spawn")
    progress = context.Value("d", start, lock=False)
    receive, send = context.Pipe(duplex=False)
    process = context.Process(target=_work, args=(settings, start, stop, progress, send), daemon=True)
    process.start()
    send.close()
    return _Worker(process, receive, progress, start, stop)


def run_in_processes(settings: Settings, calls: int, processes: int) -> Iterator[Report]:
    """The parts of the run as they are done; a process that dies or hangs is a finding, and the rest goes on."""
    bounds = [calls * i // processes for i in range(processes + 1)]
    workers = [_started(settings, a, b) for a, b in itertools.pairwise(bounds)]
    while workers:
        ready = wait([worker.pipe for worker in workers], timeout=1.0)
        for worker in list(workers):
            ended = False
            if worker.pipe in ready:
                try:
                    part = worker.pipe.recv()
                except EOFError:
                    ended = True
                else:
                    worker.start += part.calls
                    yield part
                    continue
            reached = worker.progress.value
            if reached != worker.seen:
                worker.seen, worker.since = reached, time.monotonic()
            hangs = time.monotonic() - worker.since > HANGS_AFTER
            if not ended and not hangs:
                continue
            workers.remove(worker)
            worker.process.join(0 if hangs else None)
            if hangs:
                worker.process.kill()
            index = int(reached)
            if worker.process.exitcode == 1:
                raise RuntimeError(f"the fuzzer itself failed at call {index}: see above")
            if hangs or worker.process.exitcode:
                what = "hangs" if hangs else f"ends with exit status {worker.process.exitcode}"
                if reached == index:
                    yield Report(1, known=Counter({f"NumPy itself: the process {what}": 1}))
                else:
                    crash = Disagreement("crash", "", f"the process {what}")
                    drawn = f"drawing.call('{settings.seed}:{index}', {settings.patterns})"
                    yield Report(1, unexplained=[Finding(index, "crash", drawn, crash)])
                again = (worker.start, index), (index + 1, worker.stop)
                workers += [_started(settings, a, b) for a, b in again if a < b]


def show(report: Report, settings: Settings, seconds: float, examples: int) -> None:
    """Print what was found, by cause."""
    groups = report.causes()
    for _, findings in groups:
        first = min(findings, key=lambda finding: len(finding.source))
        functions = Counter(finding.name for finding in findings)
        most = ", ".join(f"{name} {number}" for name, number in functions.most_common(8))
        print(f"\n{len(findings)} x {first.found.kind}  {first.found.place}  [{most}]")
        shortest = {finding.name: finding for finding in sorted(findings, key=lambda f: -len(f.source))}
        for finding in sorted(shortest.values(), key=lambda f: len(f.source))[:examples]:
            print(f"  {finding.source}")
            print(f"    NumPy  {finding.found.numpy}\n    tnp    {finding.found.tnp}\n    call   {finding.index}")
    names = {target.name for target in drawing.targets(settings.patterns)}
    never = sorted(name for name in names if not report.succeeded[name])
    if never and report.calls > 40 * len(names):
        print(f"\nNumPy accepted no call of: {', '.join(never)}")
    for id_, number in report.known.most_common():
        print(f"known: {number} x {id_}")
    same = 100 * report.same_class / report.refused if report.refused else 100.0
    explained = sum(report.known.values())
    print(
        f"{report.calls} calls of {len(names)} functions in {seconds:.0f} s, seed {settings.seed}; NumPy refused "
        f"{report.refused}, of which {same:.2f} % with the same exception class; "
        f"{explained} known disagreements, {len(report.unexplained)} unexplained of {len(groups)} causes"
    )


def add_arguments(command: argparse.ArgumentParser) -> None:
    """The command's options."""
    command.add_argument("--calls", type=int, default=10_000)
    command.add_argument("--seed", type=int, help="a fresh one by default; it is printed")
    command.add_argument("--device", default="cpu")
    backend = "through tnp.compile with this backend: 'eager' (default) runs the traced graph, 'inductor' compiles it"
    command.add_argument("--compiled", nargs="?", const="eager", default="", metavar="BACKEND", help=backend)
    command.add_argument("--functions", default="", help="comma-separated patterns: sum,linalg.*,ndarray.sort,getitem")
    command.add_argument("--examples", type=int, default=3, help="shrunk calls that are printed for a cause")
    command.add_argument("-n", "--processes", type=int, default=2)


def main(options: argparse.Namespace) -> int:
    """Run and report; 1 if a disagreement is unexplained."""
    seed = secrets.randbelow(10**6) if options.seed is None else options.seed
    patterns = tuple(filter(None, options.functions.split(",")))
    settings = Settings(seed, options.device, options.compiled, patterns)
    known.load()  # an error in the file is one, not one for each process
    if not drawing.targets(patterns):
        print(f"no function matches {options.functions!r}")
        return 2
    print(f"seed {seed}", flush=True)
    start = time.monotonic()
    report = Report()
    for part in run_in_processes(settings, options.calls, max(1, min(options.processes, options.calls))):
        report.add(part)
    show(report, settings, time.monotonic() - start, options.examples)
    return 1 if report.unexplained else 0
