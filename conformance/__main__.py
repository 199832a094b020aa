"""``python -m conformance``: commands that compare tnp with NumPy and the Array API, and list known differences."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from conformance import array_api, compiled, coverage, device, differences, figures, leaks, libraries, ulp
from conformance.consumers import command as consumers
from conformance.dry_cuda import command as dry_cuda
from conformance.fuzz import run as fuzz
from conformance.numpy_suite import command as numpy_suite


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a subcommand; returns the exit status."""
    parser = argparse.ArgumentParser(prog="python -m conformance", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    command = commands.add_parser("differences", help="where tnp differs from NumPy on purpose")
    command.add_argument("--markdown", action="store_true", help="print the page docs/known-differences.md")
    command = commands.add_parser("numpy", help="run NumPy's own tests; exit 1 on a failure that is no known gap")
    numpy_suite.add_arguments(command)
    command = commands.add_parser("array-api", help="run the Array API suite; exit 1 on a failure that is no known gap")
    array_api.add_arguments(command)
    command = commands.add_parser("fuzz", help="drawn calls on NumPy and tnp; exit 1 on an unexplained disagreement")
    fuzz.add_arguments(command)
    command = commands.add_parser("ulp", help="errors in units in the last place; exit 1 on a missed target")
    ulp.add_arguments(command)
    command = commands.add_parser("compiled", help="compiled results beside eager ones; exit 1 where they differ")
    compiled.add_arguments(command)
    command = commands.add_parser("leaks", help="memory after many calls of each path; exit 1 where it grows")
    leaks.add_arguments(command)
    command = commands.add_parser("libraries", help="libraries' own tests; exit 1 on one that fails on tnp alone")
    libraries.add_arguments(command)
    command = commands.add_parser(
        "consumers", help="SciPy's and scikit-learn's Array API tests; exit 1 on a failure that is no known gap"
    )
    consumers.add_arguments(command)
    command = commands.add_parser(
        "dry-cuda", help="what CUDA refuses, asked of torch's CUDA build where there is no GPU"
    )
    dry_cuda.add_arguments(command)
    commands.add_parser("coverage", help="write docs/coverage.md: what runs each NumPy name, and where")
    commands.add_parser("figures", help="how much is tested, and how much is listed as an exception")
    options = parser.parse_args(arguments)
    if device.is_absent(getattr(options, "device", "cpu")):
        return 2
    if options.command == "coverage":
        return coverage.main()
    if options.command == "figures":
        return figures.main()
    if options.command == "dry-cuda":
        return dry_cuda.main(options)
    if options.command == "ulp":
        return ulp.main(options)
    if options.command == "compiled":
        return compiled.main(options)
    if options.command == "consumers":
        return consumers.main(options)
    if options.command == "libraries":
        return libraries.main(options)
    if options.command == "leaks":
        return leaks.main(options)
    if options.command == "fuzz":
        return fuzz.main(options)
    if options.command == "array-api":
        return array_api.main(options)
    if options.command == "numpy":
        return numpy_suite.main(options)
    entries = differences.load()
    if options.markdown:
        print(differences.markdown(entries), end="")
    else:
        differences.show(entries)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
