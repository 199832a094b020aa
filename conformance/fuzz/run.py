"""Run many calls in child processes, so that a crash or a hang is a finding too; then report.

Layer: owns the command ``python -m conformance fuzz``.
"""

from __future__ import annotations

import argparse
import faulthandler
import functools
import itertools
import logging
import math
import multiprocessing
import os
import re
import secrets
import sys
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from typing import Any
from unittest import mock

from conformance.fuzz import branches, compare, compositions, containers, drawing, guards, known, lines, lists, modes
from conformance.fuzz.compare import Disagreement
from conformance.fuzz.modes import Compared
from conformance.fuzz.program import Call
from conformance.fuzz.report import Finding, Report, show
from conformance.fuzz.shrink import shrunk

HANGS_AFTER = 120.0  # seconds without a call finished
NUMPY_HANGS_AFTER = 15.0  # the same on NumPy's side, whose LAPACK does for some matrices with NaN
PART = 500  # calls that are reported together
PROGRAMS = {
    "compositions": compositions,
    "branches": branches,
    "lists": lists,
    "containers": containers,
    "lines": lines,
}  # what is drawn besides calls of a function
_PLACE = re.compile(r"\S+\.py:\d+|<lambda> \S+|\d+")
SHRUNK_A_CAUSE = 2  # examples that are shrunk, per cause and process


@dataclass(frozen=True)
class Settings:
    """The settings of a process."""

    seed: int
    device: str = "cpu"
    patterns: tuple[str, ...] = ()
    under: str = "numpy"  # what is compared: see ``modes``
    backend: str = "eager"  # of tnp.compile
    machine_code: int = 0  # every n-th call goes through inductor instead; 0 for none
    heap: bool = False  # whether memory beside the operands is watched

    def check(self, call: Call, name: str, index: int, turn: Callable[[], None] = lambda: None) -> Compared | None:
        """Return how the two sides disagree about a call; the call's index decides open choices."""
        if not self.heap:
            return self._survived(call, name, index, turn)
        with guards.watch() as is_written:
            by_numpy = False

            def turned() -> None:
                nonlocal by_numpy
                by_numpy = is_written()
                turn()

            compared = self._survived(call, name, index, turned)
            if not is_written():
                return compared
        beside = "writes to memory beside an operand"
        return Compared(Disagreement("heap", *((beside, "") if by_numpy else ("", beside))), True)

    def _survived(self, call: Call, name: str, index: int, turn: Callable[[], None]) -> Compared | None:
        """An outcome that can't even be compared is a finding too, such as a result that has no text."""
        try:
            return self._compared(call, name, index, turn)
        except Exception as error:
            return Compared(Disagreement("uncomparable", "", repr(error)[:200], compare.raised_at(error)), True)

    def _compared(self, call: Call, name: str, index: int, turn: Callable[[], None]) -> Compared | None:
        if self.under == "compiled":
            machine_code = self.machine_code and index % self.machine_code == 0
            return modes.compiled(call, name, self.device, "default" if machine_code else self.backend, turn)
        if self.under == "vmap":
            return modes.vectorised(call, name, self.device, self.batched(index), turn)
        if self.under == "grad":
            return modes.differentiated(call, name, self.device, turn)
        return modes.with_numpy(call, name, self.device, turn)

    def batched(self, index: int) -> str:
        """Return which arrays have an axis of elements."""
        return "first" if index % 3 == 0 else "all"


def run(settings: Settings, start: int, stop: int, begins: Callable[[float], None] = lambda index: None) -> Report:
    """Calls ``start`` to ``stop`` of a seed; ``begins`` is told the index of each, and a half more at tnp's turn."""
    entries = known.load(under=settings.under)
    report = Report()
    seen: Counter[Any] = Counter()
    with warnings.catch_warnings(), compare.np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        for index in range(start, stop):
            begins(index)
            if settings.under in PROGRAMS:
                _run_program(settings, index, report, functools.partial(begins, index + 0.5))
                continue
            target, call = drawing.call(f"{settings.seed}:{index}", settings.patterns)
            compared = settings.check(call, target.name, index, functools.partial(begins, index + 0.5))
            report.calls += 1
            if compared is None:
                continue
            found, accepted = compared.found, compared.accepted
            report.compared += 1
            report.refused += not accepted
            report.same_class += not accepted and found is None
            report.succeeded[target.name] += accepted
            if found is None:
                continue
            if not accepted:
                report.refusals.append(Finding(index, target.name, str(call), found))
            entry = next((e for e in entries if e.covers(target.name, str(call), found)), None)
            if entry is not None:
                report.known[entry.id] += 1
                continue
            cause = (target.name, *found.cause)
            seen[cause] += 1
            if seen[cause] <= SHRUNK_A_CAUSE:
                call, found = _shrunk(call, target.name, index, found, settings, entries)
            source = modes.line(call, settings.under, settings.batched(index))
            report.unexplained.append(Finding(index, target.name, source, found))
    return report


def _run_program(settings: Settings, index: int, report: Report, turn: Callable[[], None]) -> None:
    """A composition of transforms, or a program, instead of a call."""
    turn()
    case = PROGRAMS[settings.under].drawn(f"{settings.seed}:{index}", settings.machine_code, index)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always", RuntimeWarning)
        found = case.disagreement()
    if settings.under == "compositions":
        report.told.update({_PLACE.sub("...", str(each.message)) for each in told if "tnp." in str(each.message)})
    report.calls += 1
    report.compared += 1
    report.succeeded[case.function] += 1
    if found is not None:
        report.unexplained.append(Finding(index, case.function, str(case), found))


def _shrunk(
    call: Call, name: str, index: int, found: Disagreement, settings: Settings, entries: list[known.Known]
) -> tuple[Call, Disagreement]:
    latest = found

    def still(candidate: Call) -> bool:
        nonlocal latest
        try:
            compared = settings.check(candidate, name, index)
        except (IndexError, ValueError, TypeError, SyntaxError):  # the shrunk text is not a valid call
            return False
        other = None if compared is None else compared.found
        if other is None or other.cause != found.cause:
            return False
        if any(entry.covers(name, str(candidate), other) for entry in entries):
            return False
        latest = other
        return True

    return shrunk(call, still), latest


def _work(settings: Settings, start: int, stop: int, progress: Any, pipe: Connection) -> None:
    set_at = -math.inf

    def begins(index: float) -> None:
        nonlocal set_at
        progress.value = index
        now = time.monotonic()
        if now - set_at > 1.0:  # each setting starts a thread: twice a call, it was half of the time
            set_at = now
            faulthandler.dump_traceback_later(HANGS_AFTER / 3)  # where it hangs

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
    idle: float = 0.0  # seconds without a call finished


def _started(settings: Settings, start: int, stop: int) -> _Worker:
    context = multiprocessing.get_context("spawn")
    progress = context.Value("d", -1.0, lock=False)  # before the first call
    receive, send = context.Pipe(duplex=False)
    process = context.Process(target=_work, args=(settings, start, stop, progress, send), daemon=True)
    process.start()
    send.close()
    return _Worker(process, receive, progress, start, stop)


def run_in_processes(settings: Settings, calls: int, processes: int, first: int = 0) -> Iterator[Report]:
    """The parts of the run as they are done; a process that dies or hangs is a finding, and the rest goes on."""
    bounds = [first + calls * i // processes for i in range(processes + 1)]
    workers = [_started(settings, a, b) for a, b in itertools.pairwise(bounds)]
    before = time.monotonic()
    while workers:
        ready = wait([worker.pipe for worker in workers], timeout=1.0)
        now = time.monotonic()
        passed, before = min(now - before, 2.0), now  # what stops this process stops the others too
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
                worker.seen, worker.idle = reached, 0.0
            worker.idle += passed
            is_numpy = reached == int(reached)
            hangs = worker.idle > (NUMPY_HANGS_AFTER if is_numpy and reached >= 0 else HANGS_AFTER)
            if not ended and not hangs:
                continue
            workers.remove(worker)
            worker.process.join(0 if hangs else None)
            if hangs:
                worker.process.kill()
            index = max(int(reached), worker.start)
            if worker.process.exitcode == 1:
                raise RuntimeError(f"the fuzzer itself failed at call {index}: see above")
            if hangs or worker.process.exitcode:
                what = "hangs" if hangs else f"ends with exit status {worker.process.exitcode}"
                # Eager code, the reference of traces and batches, hangs where NumPy's LAPACK does; a crash is tnp's.
                if is_numpy and (hangs or settings.under in ("numpy", "grad")):
                    yield Report(1, known=Counter({f"NumPy itself: the process {what}": 1}))
                else:
                    crash = Disagreement("crash", "", f"the process {what}")
                    drawn = f"drawing.call('{settings.seed}:{index}', {settings.patterns})"
                    yield Report(1, unexplained=[Finding(index, "crash", drawn, crash)])
                again = (worker.start, index), (index + 1, worker.stop)
                workers += [_started(settings, a, b) for a, b in again if a < b]


def add_arguments(command: argparse.ArgumentParser) -> None:
    """The command's options."""
    command.add_argument("--calls", type=int, default=10_000)
    command.add_argument("--seed", type=int, help="a fresh one by default; it is printed")
    command.add_argument("--first", type=int, default=0, help="number of the first call, to go on with a seed")
    command.add_argument("--device", default="cpu")
    under = command.add_mutually_exclusive_group()
    under.add_argument(
        "--under",
        choices=("vmap", "grad", *PROGRAMS),
        help="vectorized_map against the loop; grad against differences; transforms of transforms against plain torch; "
        "compiled programs of branches, views and writes, of lists, of containers and iterators, and of lines without "
        "branches, against NumPy",
    )
    backend = (
        "tnp.compile against eager: 'eager' runs the traced graph, 'default' compiles it, 'inductor' by Inductor alone"
    )
    under.add_argument("--compiled", nargs="?", const="eager", default="", metavar="BACKEND", help=backend)
    command.add_argument(
        "--machine-code",
        type=int,
        default=0,
        metavar="N",
        help="with --compiled, compositions and programs: each N-th by machine code",
    )
    command.add_argument("--functions", default="", help="comma-separated patterns: sum,linalg.*,ndarray.sort,getitem")
    command.add_argument("--heap", action="store_true", help="watch for writes outside of memory, with glibc's checks")
    command.add_argument("--examples", type=int, default=3, help="shrunk calls that are printed for a cause")
    command.add_argument("--refusals", action="store_true", help="print the refusals of another class too")
    command.add_argument("-n", "--processes", type=int, default=2)


def main(options: argparse.Namespace) -> int:
    """Run and report; return 1 if a disagreement is unexplained."""
    seed = secrets.randbelow(10**6) if options.seed is None else options.seed
    patterns = tuple(filter(None, options.functions.split(",")))
    under = "compiled" if options.compiled else options.under or "numpy"
    backend, codes = options.compiled or "eager", options.machine_code
    settings = Settings(seed, options.device, patterns, under, backend, codes, options.heap)
    known.load()  # an error in the file is one, not one for each process
    try:
        environment = guards.environment() if options.heap else {}
    except OSError as error:
        print(error)
        return 2
    if not drawing.targets(patterns):
        print(f"no function matches {options.functions!r}")
        return 2
    print(f"seed {seed}", flush=True)
    start = time.monotonic()
    report = Report()
    processes = max(1, min(options.processes, options.calls))
    stopped = False
    with mock.patch.dict(os.environ, environment):
        try:
            for part in run_in_processes(settings, options.calls, processes, options.first):
                report.add(part)
                for finding in part.unexplained:
                    print(f"unexplained so far: {finding.source}, call {finding.index}", file=sys.stderr, flush=True)
        except KeyboardInterrupt:
            stopped = True
            print("stopped: this is the report of the calls that were done", flush=True)
    names = {target.name for target in drawing.targets(patterns)}
    names = {
        "compositions": set(compositions.FUNCTIONS),
        "branches": set(branches.ARGUMENTS),
        "lists": set(lists.KINDS),
        "containers": containers.NAMES,
        "lines": set(lines.KINDS),
    }.get(under, names)
    show(report, names, seed, time.monotonic() - start, options.examples, options.refusals)
    return 1 if report.unexplained or stopped else 0
