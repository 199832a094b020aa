"""``python -m conformance``: what is proven about tnp, and what is known to differ."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from conformance import differences


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a subcommand; returns the exit status."""
    parser = argparse.ArgumentParser(prog="python -m conformance", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    command = commands.add_parser("differences", help="where tnp differs from NumPy on purpose")
    command.add_argument("--markdown", action="store_true", help="print the page docs/known-differences.md")
    options = parser.parse_args(arguments)
    entries = differences.load()
    if options.markdown:
        print(differences.markdown(entries), end="")
    else:
        differences.show(entries)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
