"""``python -m conformance numpy``: run NumPy's own tests and hold the failures against the known gaps."""

from __future__ import annotations

import argparse
import concurrent.futures
import tempfile
import time
from pathlib import Path

import numpy

from conformance import device as on_device
from conformance import numpy_gaps
from conformance.numpy_suite import results, selection
from conformance.numpy_suite.results import Event, Result
from conformance.numpy_suite.selection import NOISE, OUT_OF_SCOPE, Selection
from conformance.numpy_suite.workers import Workers

ERRORS = "Run with NumPy's default error state, seterr(divide='warn', over='warn', invalid='warn'), which tnp has off"
PEERS = "NumPy passes 99 % of the cases, torch._numpy 10.4 % of the cases and 34.5 % of the tests"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of the subcommand."""
    parser.add_argument("--target", default="tnp", help="module to test; the known gaps are tnp's")
    parser.add_argument("--out", type=Path, help="write all results to this JSON file")
    parser.add_argument("-n", type=int, default=2, help="number of processes")
    parser.add_argument("--timeout", type=float, default=240, help="seconds per test")
    parser.add_argument("--memory", type=float, default=8, help="GiB of memory per process; 0 for no limit")
    parser.add_argument(
        "--files", nargs="+", metavar="PART", default=[""], help="only test files with one of these in their path"
    )
    parser.add_argument(
        "--only", default="", metavar="TEXT", help="only tests with this text in file::Class::test[parameters]"
    )
    on_device.add_argument(parser)
    parser.add_argument("--tb", default="no", help="show pytest's output with tracebacks of this style (short, long)")
    parser.add_argument("--clusters", type=int, default=15, help="how many kinds of unexplained failures to list")
    parser.add_argument(
        "--numpy-random", action="store_true", help="lend tests outside of random/ NumPy's random numbers as their data"
    )
    parser.add_argument(
        "--native", action="store_true", help="torch computes what NumPy otherwise does on the memory of CPU arrays"
    )
    parser.add_argument(
        "--update", action="store_true", help="renew noise.txt and out_of_scope.txt from a whole run of NumPy itself"
    )


def main(options: argparse.Namespace) -> int:
    """Run the suite; 1 if a failure is unexplained or a gap passes."""
    partial = options.files != [""] or bool(options.only)
    if options.update and (partial or options.target != "numpy"):
        raise SystemExit("--update takes a whole run of --target numpy")
    suite = Selection()
    start = time.monotonic()
    files = [file for file in suite.files() if any(part in file for part in options.files)]
    with tempfile.TemporaryDirectory(prefix="numpy-suite-") as folder:
        workers = Workers(options, suite, folder)
        with concurrent.futures.ThreadPoolExecutor(options.n) as pool:
            try:
                cases = workers.reference(files)
                jobs = list(selection.batches(files))
                events = [event for part in pool.map(workers.run, jobs) for event in part]
                watched = (
                    [event for part in pool.map(workers.classify, jobs) for event in part] if options.update else []
                )
            finally:
                workers.stop()
        if options.tb != "no":
            print(workers.logs())
    lists = ({}, {}) if options.update else (selection.read_list(NOISE), selection.read_list(OUT_OF_SCOPE))
    found = results.assemble(cases, events, *lists)
    if options.update:
        selection.write_noise(found)
        selection.write_out_of_scope(cases, watched, suite.out_of_scope)
    if options.out:
        results.write_json(options.out, target=options.target, numpy=numpy.__version__, results=found)
    if options.target == "tnp":
        print(f"{ERRORS} by default.")
        if options.native:
            print("Native: NumPy computes nothing over the arrays' memory; random numbers on the CPU stay NumPy's own.")
    print(results.table(found, suite.groups, suite.optional))
    print(f"\nCases out of scope: {results.rules(found)}")
    print(f"For comparison: {PEERS}.")
    print(f"{options.target}, NumPy {numpy.__version__} tests, {time.monotonic() - start:.0f} s")
    _note_unloaded(events)
    return hold(found, options.clusters, partial) if options.target == "tnp" else 0


def hold(found: list[Result], clusters: int, partial: bool) -> int:
    """Hold the results against the known gaps and print what they don't explain; 1 if there is any."""
    by_id = {result["id"]: result for result in results.in_scope(found)}
    outcomes = {case: result["outcome"] in results.PASSED for case, result in by_id.items()}
    report = numpy_gaps.check(numpy_gaps.load(), outcomes)
    print("\nKnown gaps (conformance/numpy_gaps.toml), failing cases by cause:")
    print("\n".join(f"{count:7} {cause}" for cause, count in report.explained.items() if count))
    stale = report.passing if partial else report.passing + report.unmatched
    if report.unexplained:
        print(f"\n{len(report.unexplained)} failures are unexplained:")
        print("\n".join(f"  {case}" for case in numpy_gaps.shortest(report.unexplained, outcomes)))
        print("\nThe most frequent kinds:")
        print(results.clusters((by_id[case] for case in report.unexplained), clusters))
    if stale:
        print("\nNo gaps any more (they pass, or no such case exists); take them out of numpy_gaps.toml:")
        print("\n".join(f"  {pattern}" for pattern in stale))
    return 1 if stale or report.unexplained else 0


def _note_unloaded(events: list[Event]) -> None:
    unloaded = {
        (e.get("file"), e.get("name"), e.get("node")) for e in events if e["event"] in ("unloaded", "uncollected")
    }
    if unloaded:
        print(f"{len(unloaded)} values at the level of modules and classes could not be had.")
